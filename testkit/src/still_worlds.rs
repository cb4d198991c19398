//! Random small worlds at rest or nearly so. Bodies lie flush on a table or on one another, are
//! tilted, separated or slightly overlapping, and pushers approach from the side.
#![allow(non_snake_case)] // monogram notation of frames

use crate::hard_problems::Random;
use crate::symmetry::World;
use quasistep::{
    Actuator, Cone, Formulation, Geom, Inertia, Integration, PairFriction, Relaxation, Role, State,
    StepInput, StepParams, Surface, System, SystemDef,
};
use quasistep_geometry::{Polytope, Shape};
use quasistep_math::{Pose, Quat, Vec3};
use quasistep_model::{BodyDef, BodyInertia, JointKind, ModelBuilder, WORLD};
use std::sync::Arc;

/// Number of steps of a world.
const STEPS: usize = 8;

/// Names of the formulations with which a world can be stepped.
pub const FORMULATIONS: [&str; 4] = ["convex", "exact", "dynamic", "midpoint"];

fn shape(random: &mut Random, size: f64) -> Shape {
    let edge = |random: &mut Random| size * random.between(0.3, 1.0);
    match random.below(7) {
        0 => Shape::Sphere { radius: 0.5 * edge(random) },
        1 => Shape::Box { half: [0.5 * size, 0.5 * size, 0.5 * size] },
        2 => Shape::Box { half: [0.5 * edge(random), 0.5 * edge(random), 0.5 * edge(random)] },
        3 => Shape::Capsule { radius: 0.2 * edge(random), half_length: 0.3 * edge(random) },
        4 => Shape::Cylinder { radius: 0.4 * edge(random), half_length: 0.4 * edge(random) },
        5 => Shape::Ellipsoid { radii: [0, 1, 2].map(|_| 0.5 * edge(random)) },
        _ => {
            let points: Vec<Vec3> = (0..random.count(6, 20))
                .map(|_| Vec3::from(random.direction()) * (0.5 * edge(random)))
                .collect();
            Polytope::from_points(&points).map_or(Shape::Sphere { radius: 0.4 * size }, |hull| {
                Shape::Polytope(Arc::new(hull))
            })
        }
    }
}

/// Random orientation: upright with any yaw, on its side, or tilted.
fn rotation(random: &mut Random) -> Quat {
    let angle = if random.chance(0.5) { 0.0 } else { random.between(-3.0, 3.0) };
    let yaw = Quat::from_axis_angle(Vec3::Z, angle);
    match random.below(4) {
        0 => yaw * Quat::from_axis_angle(Vec3::X, std::f64::consts::FRAC_PI_2),
        1 => yaw * Quat::from_axis_angle(Vec3::from(random.direction()), random.between(0.0, 3.0)),
        _ => yaw,
    }
}

/// A body of one shape, on a joint of the world.
struct Part {
    name: String,
    joint: JointKind,
    /// The joint's place in the world.
    X_PF: Pose,
    shape: Shape,
    mu: f64,
    role: Role,
    /// Coordinates of the joint at the start.
    q0: Vec<f64>,
}

/// Parts of a world under construction.
struct Parts {
    builder: ModelBuilder,
    roles: Vec<Role>,
    geoms: Vec<Geom>,
    q: Vec<f64>,
}

impl Parts {
    /// Draws a plane or a table, whose upper side is at height 0.
    fn on_floor(random: &mut Random, size: f64) -> Self {
        let mu = random.pick(&[0.0, 0.3, 0.8]);
        let floor = random.chance(0.5);
        let geom = Geom {
            name: "floor".into(),
            body: WORLD,
            X_BG: Pose::from_translation(if floor { Vec3::ZERO } else { Vec3::Z * -size }),
            shape: if floor {
                Shape::HalfSpace
            } else {
                Shape::Box { half: [5.0 * size, 5.0 * size, size] }
            },
            surface: Surface::sliding(mu),
        };
        Self {
            builder: ModelBuilder::new(),
            roles: vec![Role::Passive],
            geoms: vec![geom],
            q: Vec::new(),
        }
    }

    /// Adds a body. Gravity acts on it if its joint is free.
    fn add(&mut self, part: Part) {
        let Part { name, joint, X_PF, shape, mu, role, q0 } = part;
        let inertia = shape.mass_properties(800.0).expect("a solid");
        let body = self.builder.add_body(BodyDef {
            joint_name: name.clone(),
            name: name.clone(),
            parent: WORLD,
            X_PF,
            joint,
            inertia: BodyInertia { mass: inertia.mass, com: inertia.com, inertia: inertia.inertia },
            limits: None,
            mimic: None,
            gravity: f64::from(joint == JointKind::Free),
        });
        let body = body.expect("a body");
        self.q.extend(q0);
        self.roles.push(role);
        let surface = Surface::sliding(mu);
        self.geoms.push(Geom { name, body, X_BG: Pose::IDENTITY, shape, surface });
    }

    /// Draws 2 to 5 bodies in one or two piles. Each body is placed on the highest point of the one
    /// below.
    fn add_piles(&mut self, random: &mut Random, size: f64) {
        let n_bodies = random.count(2, 5);
        let mut tops = [0.0, 0.0];
        for k in 0..n_bodies {
            let pile = random.below(2);
            let (shape, turn) = (shape(random, size), rotation(random));
            let box_around = shape.aabb(&Pose::new(turn, Vec3::ZERO));
            let gap = random.pick(&[0.0, 0.0, 0.002, -0.002]) * size;
            let aside = random.pick(&[0.0, 0.1]) * size;
            let at = Vec3::new(
                (pile as f64) * 1.2 * size + aside * random.signed(),
                aside * random.signed(),
                tops[pile] + gap - box_around.min.z,
            );
            tops[pile] = at.z + box_around.max.z;
            self.add(Part {
                name: format!("b{k}"),
                joint: JointKind::Free,
                X_PF: Pose::IDENTITY,
                shape,
                mu: random.pick(&[0.3, 0.8]),
                role: Role::Passive,
                q0: turn.to_array().into_iter().chain(at.to_array()).collect(),
            });
        }
    }

    /// Draws up to two pushers. They come from different sides, because the normal of coinciding
    /// shapes is arbitrary.
    fn add_pushers(&mut self, random: &mut Random, size: f64) {
        let n_pushers = random.below(3);
        let first_side = random.below(3);
        for k in 0..n_pushers {
            let (way, at) = match (first_side + k) % 3 {
                0 => (Vec3::X, Vec3::new(-1.3 * size, 0.0, 0.4 * size)),
                1 => (-Vec3::X, Vec3::new(2.5 * size, 0.1 * size * random.signed(), 0.4 * size)),
                _ => (Vec3::Y, Vec3::new(0.0, -1.3 * size, 0.5 * size)),
            };
            let radius = 0.15 * size;
            let shape = match random.below(3) {
                0 => Shape::Sphere { radius },
                1 => Shape::Box { half: [radius; 3] },
                _ => Shape::Capsule { radius: 0.5 * radius, half_length: radius },
            };
            let role = if random.chance(0.2) {
                Role::Prescribed
            } else {
                let stiffness = 800.0 * size * size * 9.81 * random.decade(0.0, 2.0);
                Role::Actuated(Actuator {
                    stiffness: vec![stiffness],
                    damping: vec![0.0],
                    effort_limit: vec![f64::INFINITY],
                    ..Actuator::default()
                })
            };
            let turn = if random.chance(0.5) { rotation(random) } else { Quat::IDENTITY };
            self.add(Part {
                name: format!("p{k}"),
                joint: JointKind::Prismatic { axis: turn.inverse().rotate(way) },
                X_PF: Pose::new(turn, at),
                shape,
                mu: 0.5,
                role,
                q0: vec![0.0],
            });
        }
    }

    /// The system, and its configuration at the start.
    fn build(self) -> (System, Vec<f64>) {
        let system = System::new(SystemDef {
            model: self.builder.build().expect("a model"),
            instances: (0..self.roles.len() as u32).collect(),
            geoms: self.geoms,
            roles: self.roles,
            springs: Vec::new(),
            constraints: Vec::new(),
            pads: Vec::new(),
            friction: PairFriction::default(),
            friction_exceptions: Vec::new(),
            excluded: Vec::new(),
        });
        (system.expect("a system"), self.q)
    }
}

fn params(time_step: f64, formulation: &str, cone: Cone) -> StepParams {
    StepParams {
        time_step,
        formulation: match formulation {
            "exact" => Formulation::exact(cone),
            "dynamic" => Formulation::dynamic(cone),
            _ => Formulation::convex(cone),
        },
        inertia: Inertia::Mass,
        relaxation: Relaxation::Step,
        integration: if formulation == "midpoint" {
            Integration::Midpoint
        } else {
            Integration::Euler
        },
        uniqueness: matches!(formulation, "exact" | "dynamic"),
        ..StepParams::default()
    }
}

/// Draws the world of a seed: 2 to 5 bodies of 1 cm to 1 m in one or two piles on a plane or a
/// table, and up to two moving pushers. `formulation` is one of [`FORMULATIONS`].
///
/// # Panics
///
/// If the world cannot be built, which would be an error of this function.
pub fn still_world(seed: u64, formulation: &str, cone: Cone) -> World {
    let random = &mut Random::new(seed);
    let size = random.decade(-2.0, 0.0);
    let h = random.pick(&[0.01, 0.05]);
    let mut parts = Parts::on_floor(random, size);
    parts.add_piles(random, size);
    parts.add_pushers(random, size);
    let (system, q) = parts.build();
    let step = 0.05 * size;
    let input = |k: usize| StepInput {
        q_cmd: (0..system.n_cmd()).map(|_| step * (k + 1) as f64).collect(),
        ..StepInput::default()
    };
    let inputs: Vec<StepInput> = (0..STEPS).map(input).collect();
    let start = State {
        time: 0.0,
        q,
        v: if formulation == "dynamic" { vec![0.0; system.model().n_v()] } else { Vec::new() },
        attached: Vec::new(),
    };
    World::new(&system, &start, &params(h, formulation, cone), &inputs)
}
