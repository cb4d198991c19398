//! Random worlds in fast motion, and a check of each step's motion by dense sampling. The check
//! uses shapes and configurations only, no contact rows, margins or substeps.

use crate::hard_problems::Random;
use quasistep::{
    Actuator, Cone, Formulation, Geom, Inertia, PairFriction, Relaxation, Role, State, StepError,
    StepInput, StepParams, Surface, System, SystemDef, Workspace,
};
use quasistep_geometry::{Choice, NarrowPhase, PointCloud, Polytope, Shape};
use quasistep_math::{Mat3, Pose, Quat, Vec3};
use quasistep_model::{BodyDef, BodyInertia, JointKind, ModelBuilder, WORLD};
use std::sync::Arc;

/// Largest speed of commands and initial velocities, in m/s.
const SPEED: f64 = 5.0;
/// Number of steps of each world.
const STEPS: usize = 4;
/// Largest number of samples of a motion. Fewer suffice if samples are closer than a twentieth of
/// the shape's thickness.
const MOST_SAMPLES: usize = 2000;
/// Tolerance for rounding in the check itself, in m.
const ROUNDING: f64 = 1e-7;

/// A world, its initial state, parameters and commands.
pub struct RandomWorld {
    /// The world.
    pub system: System,
    /// Initial state.
    pub start: State,
    /// Step parameters.
    pub params: StepParams,
    /// Commands, one vector for each step.
    pub commands: Vec<Vec<f64>>,
}

/// Result of a world's steps.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// Number of certified steps.
    pub steps: usize,
    /// Number of steps that took substeps; the next field counts their substeps.
    pub with_substeps: usize,
    /// Total number of substeps of all steps.
    pub substeps: usize,
    /// Error of the step that ended the run, if any.
    pub error: Option<StepError>,
    /// Description of a violation in a certified step, if any.
    pub wrong: Option<String>,
}

fn shape(random: &mut Random, size: f64) -> Shape {
    let edge = |random: &mut Random| size * random.between(0.3, 1.0);
    match random.below(7) {
        0 => Shape::Sphere { radius: 0.5 * edge(random) },
        1 => Shape::Box { half: [0.5 * edge(random), 0.5 * edge(random), 0.5 * edge(random)] },
        // a thin plate
        2 => Shape::Box { half: [0.5 * edge(random), 0.5 * edge(random), 0.02 * edge(random)] },
        3 => Shape::Capsule { radius: 0.2 * edge(random), half_length: 0.3 * edge(random) },
        4 => Shape::Cylinder { radius: 0.4 * edge(random), half_length: 0.4 * edge(random) },
        // flat, long or nearly round ellipsoids
        5 => Shape::Ellipsoid {
            radii: [
                0.5 * edge(random),
                0.5 * edge(random),
                0.5 * edge(random) * random.decade(-1.5, 0.0),
            ],
        },
        _ if random.chance(0.8) => {
            let points: Vec<Vec3> = (0..random.count(6, 40))
                .map(|_| Vec3::from(random.direction()) * (0.5 * edge(random)))
                .collect();
            Polytope::from_points(&points).map_or(Shape::Sphere { radius: 0.4 * size }, |hull| {
                Shape::Polytope(Arc::new(hull))
            })
        }
        _ => {
            let normals: Vec<Vec3> = (0..200).map(|_| Vec3::from(random.direction())).collect();
            let points: Vec<Vec3> = normals.iter().map(|n| *n * (0.5 * size)).collect();
            let cloud = PointCloud::new(&points, Some(&normals), 0.0, Choice::default());
            cloud
                .map_or(Shape::Sphere { radius: 0.5 * size }, |cloud| Shape::Cloud(Arc::new(cloud)))
        }
    }
}

fn rotation(random: &mut Random) -> Quat {
    Quat::from_axis_angle(Vec3::from(random.direction()), random.between(0.0, 3.0))
}

/// Inertia of a solid shape, or of something like it for a cloud.
fn inertia(shape: &Shape, size: f64) -> BodyInertia {
    shape.mass_properties(800.0).map_or(
        BodyInertia {
            mass: 500.0 * size.powi(3),
            com: Vec3::ZERO,
            inertia: Mat3::diagonal([50.0 * size.powi(5); 3]),
        },
        |m| BodyInertia { mass: m.mass, com: m.com, inertia: m.inertia },
    )
}

/// Draws what moves a body: nothing if it is not `driven`, else its command or an actuator on its
/// dof.
fn role(random: &mut Random, driven: bool, mass: f64, size: f64) -> Role {
    let stiffness = mass * 9.81 / size * random.decade(0.0, 3.0);
    match driven {
        false => Role::Passive,
        true if random.chance(0.2) => Role::Prescribed,
        true => Role::Actuated(Actuator {
            stiffness: vec![stiffness],
            damping: vec![if random.chance(0.5) { 0.0 } else { 0.1 * stiffness }],
            effort_limit: vec![f64::INFINITY],
            ..Actuator::default()
        }),
    }
}

/// Parts of a world under construction.
struct Parts {
    builder: ModelBuilder,
    roles: Vec<Role>,
    geoms: Vec<Geom>,
    q: Vec<f64>,
    /// The last driven body, which may carry the next one in a kinematic chain.
    chain: Option<usize>,
}

impl Parts {
    fn new() -> Self {
        Self {
            builder: ModelBuilder::new(),
            roles: vec![Role::Passive],
            geoms: Vec::new(),
            q: Vec::new(),
            chain: None,
        }
    }

    /// Draws body `k`, free or driven, at its place of a grid.
    fn add_body(&mut self, random: &mut Random, k: usize, size: f64) {
        let shape = shape(random, size);
        let inertia = inertia(&shape, size);
        let place = Vec3::new((k % 3) as f64, (k / 3 % 3) as f64, (k / 9) as f64) * (1.3 * size)
            + Vec3::new(0.0, 0.0, 0.75 * size);
        let axis = Vec3::from(random.direction());
        let driven = k > 0 && random.chance(0.4);
        let joint = match (driven, random.below(3)) {
            (false, _) => JointKind::Free,
            (true, 0) => JointKind::Revolute { axis },
            (true, _) => JointKind::Prismatic { axis },
        };
        let role = role(random, driven, inertia.mass, size);
        let parent = self.chain.filter(|_| driven && random.chance(0.5));
        #[allow(non_snake_case)] // monogram notation
        let X_PF = match (driven, parent) {
            (false, _) => Pose::IDENTITY,
            (true, None) => Pose::new(rotation(random), place),
            (true, Some(_)) => Pose::from_translation(Vec3::from(random.direction()) * size),
        };
        let body = self.builder.add_body(BodyDef {
            name: format!("b{k}/b{k}"),
            joint_name: format!("b{k}"),
            parent: parent.unwrap_or(WORLD),
            X_PF,
            joint,
            inertia,
            limits: None,
            mimic: None,
            gravity: f64::from(!driven),
        });
        let body = body.expect("a body");
        if driven {
            self.q.push(0.0);
            self.chain = Some(body);
        } else {
            self.q.extend(rotation(random).to_array());
            self.q.extend(place.to_array());
        }
        self.roles.push(role);
        self.geoms.push(Geom {
            name: format!("b{k}/b{k}/0"),
            body,
            X_BG: Pose::IDENTITY,
            shape,
            surface: Surface::sliding(random.between(0.0, 1.0)),
        });
    }

    fn add_floor(&mut self) {
        self.geoms.push(Geom {
            name: "floor".into(),
            body: WORLD,
            X_BG: Pose::IDENTITY,
            shape: Shape::HalfSpace,
            surface: Surface::sliding(0.5),
        });
    }

    /// The system, and its configuration at the start.
    fn build(self) -> (System, Vec<f64>) {
        let system = System::new(SystemDef {
            model: self.builder.build().expect("a model"),
            geoms: self.geoms,
            instances: (0..self.roles.len() as u32).collect(),
            roles: self.roles,
            springs: Vec::new(),
            constraints: Vec::new(),
            pads: Vec::new(),
            friction: PairFriction::Minimum,
            friction_exceptions: Vec::new(),
            excluded: Vec::new(),
        });
        (system.expect("a system"), self.q)
    }
}

/// Draws the world of a seed: 2 to 30 bodies of 1 mm to 1 m, some driven, on a floor or in the air;
/// steps of 1 ms to 1 s; discontinuous commands.
///
/// # Panics
///
/// If the world cannot be built, which would be an error of this function.
pub fn random_world(seed: u64) -> RandomWorld {
    let random = &mut Random::new(seed);
    let size = random.decade(-3.0, 0.0);
    let n_bodies = if random.chance(0.7) { random.count(2, 8) } else { random.count(9, 30) };
    let mut parts = Parts::new();
    for k in 0..n_bodies {
        parts.add_body(random, k, size);
    }
    if random.chance(0.8) {
        parts.add_floor();
    }
    let (system, q) = parts.build();
    let cone = if random.chance(0.5) { Cone::Round } else { Cone::Pyramid(4) };
    let time_step = random.decade(-3.0, 0.0);
    // with many bodies, exact friction may search long for forces that do not exist; other tests
    // cover that
    let formulation = match random.below(if n_bodies > 6 { 1 } else { 4 }) {
        3 => Formulation::exact(cone),
        1 => Formulation::dynamic(cone),
        _ => Formulation::convex(cone),
    };
    let mut start = State::at_rest(0.0, q);
    if formulation.carries_velocity() && random.chance(0.7) {
        start.v = random.vector(system.model().n_v());
        start.v.iter_mut().for_each(|v| *v *= SPEED);
    }
    let params = StepParams {
        time_step,
        formulation,
        inertia: Inertia::Mass,
        relaxation: Relaxation::Step,
        ..StepParams::default()
    };
    // no command moves farther in a step than the fastest motion
    let farthest = (SPEED * time_step).min(20.0 * size);
    let far = random.decade(-3.0, 0.0) * farthest;
    let commands = (0..STEPS)
        .map(|_| random.vector(system.n_cmd()).iter().map(|x| x * far).collect())
        .collect();
    RandomWorld { system, start, params, commands }
}

/// Takes the steps of a world and checks the motion of each.
pub fn follow(world: &RandomWorld) -> Course {
    let RandomWorld { system, start, params, commands } = world;
    let mut work = system.create_workspace();
    let mut state = start.clone();
    let mut course = Course::default();
    for q_cmd in commands {
        let before = state.q.clone();
        let input = StepInput { q_cmd: q_cmd.clone(), ..StepInput::default() };
        let substeps = match system.step_with(&mut state, &input, params, &mut work) {
            Ok(report) => report.substeps,
            Err(error) => {
                course.error = Some(error);
                break;
            }
        };
        course.steps += 1;
        course.substeps += substeps as usize;
        course.with_substeps += usize::from(substeps > 1);
        course.wrong = overlap_along(system, &before, &work, params.max_overlap);
        if course.wrong.is_some() {
            break;
        }
    }
    course
}

/// Describes the first pair of shapes whose overlap along the last step's motion exceeds the
/// allowance; `None` if there is none. The step is in `work` and started at `before`.
///
/// Compliant surfaces may overlap as far as the step's contact forces compress them. With substeps
/// their overlap is not limited, because only the last substep's forces are known.
pub fn overlap_along(
    system: &System,
    before: &[f64],
    work: &Workspace,
    max_overlap: f64,
) -> Option<String> {
    let model = system.model();
    let parts: Vec<&[f64]> = work.motion().collect();
    let mut start = before.to_vec();
    let mut q = before.to_vec();
    let mut kin = model.create_kinematics();
    let mut narrow = NarrowPhase::new();
    let geoms = system.geoms();
    let mut limits: Vec<f64> = Vec::new();
    let contacts = &work.last_report().contacts;
    let pressed_in = |i: usize, j: usize| {
        if parts.len() > 1 && [i, j].iter().any(|&k| geoms[k].surface.compliance > 0.0) {
            return f64::INFINITY;
        }
        let of_pair = contacts.iter().filter(|c| (c.geom_a as usize, c.geom_b as usize) == (i, j));
        of_pair.map(|c| c.friction.compliance * c.normal_force).fold(0.0, f64::max)
    };
    let pairs: Vec<(usize, usize)> = (0..geoms.len())
        .flat_map(|i| (i + 1..geoms.len()).map(move |j| (i, j)))
        .filter(|&(i, j)| system.may_touch(i, j))
        .collect();
    for delta in &parts {
        let farthest = delta.iter().map(|d| d.abs()).fold(0.0, f64::max);
        let thinnest = geoms.iter().map(|g| g.shape.thickness()).fold(f64::INFINITY, f64::min);
        let samples = ((20.0 * farthest / thinnest) as usize).clamp(8, MOST_SAMPLES);
        for sample in 0..=samples {
            let s = sample as f64 / samples as f64;
            model.integrate(&start, delta, s, &mut q);
            model.kinematics(&q, &mut kin);
            let poses: Vec<Pose> = geoms.iter().map(|g| kin.X_WB[g.body] * g.X_BG).collect();
            let boxes: Vec<_> =
                geoms.iter().zip(&poses).map(|(g, pose)| g.shape.aabb(pose)).collect();
            let first = limits.is_empty();
            for (k, &(i, j)) in pairs.iter().enumerate() {
                let near = boxes[i].near(&boxes[j], 0.0);
                let phi = if near {
                    narrow
                        .signed_distance(&geoms[i].shape, &poses[i], &geoms[j].shape, &poses[j])
                        .phi
                } else {
                    0.0
                };
                if first {
                    let allowed = max_overlap
                        .min(0.05 * geoms[i].shape.thickness().min(geoms[j].shape.thickness()));
                    // a deep overlap may decrease along a curve, in each part of the motion
                    let deep = phi < -allowed - ROUNDING;
                    let deeper = 2.0_f64.powi(parts.len() as i32);
                    let limit = if deep { deeper * phi } else { -allowed };
                    limits.push(limit - pressed_in(i, j) - ROUNDING);
                } else if !(phi >= limits[k]) {
                    return Some(format!(
                        "{} and {} overlap {:.3e} m deep at {s:.3} of a motion; {:.3e} m are allowed",
                        geoms[i].name, geoms[j].name, -phi, -limits[k]
                    ));
                }
            }
        }
        start.copy_from_slice(&q);
    }
    None
}
