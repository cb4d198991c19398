//! Transformed copies of a world that must move alike, and the difference of their motions.
//!
//! A [`World`] is a system in editable form, with its initial state and its commands.
//! [`World::run`] runs it after a [`Change`]: bodies and shapes in another order with other names,
//! A and B of every pair exchanged, shifted, rotated, mirrored, or in other units.
//! [`Run::difference`] compares the motions of two runs. Springs of frames and closed loops are not
//! supported.
#![allow(non_snake_case)] // monogram notation of frames

use crate::hard_problems::Random;
use quasistep::{
    FrictionException, Geom, MotionUniqueness, PairFriction, Role, State, StepInput, StepParams,
    StepReport, Surface, System, SystemDef, Wrench,
};
use quasistep_geometry::{Polytope, Shape};
use quasistep_math::{Mat3, Pose, Quat, Vec3};
use quasistep_model::{
    BodyDef, BodyInertia, JointKind, JointResistance, Mimic, ModelBuilder, WORLD,
};
use std::sync::Arc;

/// Transformation of a world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// Order of bodies and shapes drawn from this seed, with other names.
    Order(u64),
    /// Shapes in reverse order, so that A and B of every pair are exchanged.
    Exchanged,
    /// Translation of the whole world, in m.
    Shifted(Vec3),
    /// Factor by which the unit of length is smaller, for all quantities with lengths.
    Lengths(f64),
    /// Factor by which the unit of mass is smaller, for all quantities with masses.
    Masses(f64),
    /// Rotation of the whole world about the origin, gravity included.
    Turned(Quat),
    /// Reflection of the whole world, `y → −y`.
    Mirrored,
}

impl Change {
    /// Whether worlds with friction pyramids, whose edges lie along world axes, move alike too.
    pub fn keeps_pyramids(self) -> bool {
        !matches!(self, Self::Turned(_) | Self::Mirrored)
    }
}

/// A body with its joint, shapes and inputs.
#[derive(Clone, Debug)]
struct Part {
    def: BodyDef,
    resistance: JointResistance,
    role: Role,
    instance: u32,
    q: Vec<f64>,
    /// Velocity at the start; empty if there is none.
    v: Vec<f64>,
    /// For each step the command of its joint; empty if the joint is not driven.
    commands: Vec<Vec<f64>>,
    rates: Vec<Vec<f64>>,
    tau: Vec<Vec<f64>>,
}

/// A world in editable form, with its initial state and commands.
#[derive(Clone, Debug)]
pub struct World {
    /// All bodies; index 0 is the world.
    parts: Vec<Part>,
    geoms: Vec<Geom>,
    friction: Vec<FrictionException>,
    excluded: Vec<(usize, usize)>,
    /// For each step the external wrench on each body.
    wrenches: Vec<Vec<Wrench>>,
    /// Step parameters.
    pub params: StepParams,
}

/// Motion of the bodies in a run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// For each step the pose of each body, in the order and units of the original world.
    pub poses: Vec<Vec<Pose>>,
    /// Number of steps before the first one whose report states that its motion may not be unique.
    pub unique: usize,
    /// Size of the moving bodies, in m of the original world.
    pub size: f64,
    /// Error that ended the run, if any.
    pub stopped: Option<String>,
}

impl World {
    /// Converts a system driven by these inputs, one for each step.
    ///
    /// # Panics
    ///
    /// If it has springs of frames or constraints.
    pub fn new(system: &System, start: &State, params: &StepParams, inputs: &[StepInput]) -> Self {
        assert!(system.springs().len() == 0 && system.constraints().len() == 0);
        let model = system.model();
        let part = |index: usize| {
            let body = model.body(index).clone();
            let commanded = system.commanded();
            // commands of this joint in each step
            let slices = |all: fn(&StepInput) -> &[f64],
                          width: fn(&quasistep_model::Body) -> usize| {
                let before = commanded.iter().take_while(|b| **b < index);
                let from: usize = before.map(|b| width(model.body(*b))).sum();
                let n = if commanded.contains(&index) { width(&body) } else { 0 };
                let cut = |input| all(input).get(from..from + n).unwrap_or_default().to_vec();
                inputs.iter().map(cut).collect::<Vec<_>>()
            };
            Part {
                commands: slices(|i| &i.q_cmd, |b| b.q.len()),
                rates: slices(|i| &i.v_cmd, |b| b.v.len()),
                tau: inputs
                    .iter()
                    .map(|i| i.tau.get(body.v.clone()).unwrap_or_default().to_vec())
                    .collect(),
                q: start.q[body.q.clone()].to_vec(),
                v: start.v.get(body.v.clone()).unwrap_or_default().to_vec(),
                resistance: body.resistance,
                role: system.roles()[index].clone(),
                instance: index as u32,
                def: BodyDef {
                    name: body.name,
                    joint_name: body.joint_name,
                    parent: body.parent,
                    X_PF: body.X_PF,
                    joint: body.joint,
                    inertia: body.inertia,
                    limits: body.limits,
                    mimic: body.mimic,
                    gravity: body.gravity,
                },
            }
        };
        let n = system.geoms().len();
        let pairs = || (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
        let friction = pairs().filter(|&(i, j)| system.may_touch(i, j)).map(|(i, j)| {
            let f = system.friction(i, j);
            FrictionException {
                pair: (i, j),
                mu: Some(f.mu),
                axes: f.axes,
                mu_spin: (f.spin_is_given || f.mu_spin > 0.0).then_some(f.mu_spin),
                mu_roll: Some(f.mu_roll),
                patch_radius: None,
                patch: Some(f.patch),
                restitution: Some(f.restitution),
                compliance: Some(f.compliance),
                foundation: Some(f.foundation),
            }
        });
        let plain = |geom: &Geom| Geom { surface: Surface::default(), ..geom.clone() };
        Self {
            parts: (0..model.n_bodies()).map(part).collect(),
            geoms: system.geoms().iter().map(plain).collect(),
            friction: friction.collect(),
            excluded: pairs().filter(|&(i, j)| !system.may_touch(i, j)).collect(),
            wrenches: inputs.iter().map(|i| i.wrenches.clone()).collect(),
            params: params.clone(),
        }
    }

    /// Runs the world after `change`.
    ///
    /// # Panics
    ///
    /// If the transformed world is not a valid system.
    pub fn run(&self, change: Option<Change>) -> Run {
        self.run_with(change, &mut |_, _| {})
    }

    /// Like [`run`](Self::run), and calls a function after each step.
    pub fn run_with(
        &self,
        change: Option<Change>,
        see: &mut dyn FnMut(&System, &StepReport),
    ) -> Run {
        let map = Map::of(change);
        let mut told = self.mapped(&map);
        let order = told.reorder(change);
        let (system, start, inputs) = told.assemble();
        let model = system.model();
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(now, then)| place[*then] = now);
        let mut work = system.create_workspace();
        let mut kin = model.create_kinematics();
        let mut state = start;
        let mut run = Run { size: self.size(), ..Run::default() };
        let mut unique = true;
        for input in &inputs {
            let proven = match system.step_with(&mut state, input, &told.params, &mut work) {
                Ok(report) => {
                    see(&system, report);
                    report.uniqueness.as_ref().is_none_or(|u| u.motion == MotionUniqueness::Unique)
                }
                Err(error) => {
                    let text = format!("{error:?}");
                    run.stopped = text.split([' ', '(']).next().map(str::to_owned);
                    break;
                }
            };
            unique &= proven;
            run.unique += usize::from(unique);
            model.kinematics(&state.q, &mut kin);
            run.poses.push(place.iter().map(|body| map.back(&kin.X_WB[*body])).collect());
        }
        run
    }

    /// Largest size of a shape, in m.
    fn size(&self) -> f64 {
        let finite = self.geoms.iter().filter(|g| !matches!(g.shape, Shape::HalfSpace));
        finite.map(|g| g.shape.reach()).fold(0.0, f64::max)
    }

    fn mapped(&self, map: &Map) -> Self {
        let friction = |f: &FrictionException| FrictionException {
            mu_spin: f.mu_spin.map(|x| x * map.length),
            mu_roll: f.mu_roll.map(|x| x * map.length),
            compliance: f.compliance.map(|x| x / map.mass),
            foundation: f.foundation.map(|x| x * map.mass / map.length.powi(2)),
            ..*f
        };
        let geom = |geom: &Geom| Geom {
            X_BG: if geom.body == WORLD { map.world(&geom.X_BG) } else { map.local(&geom.X_BG) },
            shape: map.shape(&geom.shape),
            ..geom.clone()
        };
        let wrench = |w: &Wrench| Wrench {
            body: w.body,
            p_B: map.vector(w.p_B),
            force_W: map.turn.rotate(map.vector(w.force_W)) * map.mass,
            torque_W: map.turn.rotate(map.axial(w.torque_W)) * (map.mass * map.length.powi(2)),
        };
        let p = &self.params;
        let gravity = map.turn.rotate(map.vector(p.gravity.into()));
        Self {
            parts: self.parts.iter().map(|part| self.mapped_part(part, map)).collect(),
            geoms: self.geoms.iter().map(geom).collect(),
            friction: self.friction.iter().map(friction).collect(),
            excluded: self.excluded.clone(),
            wrenches: self.wrenches.iter().map(|all| all.iter().map(wrench).collect()).collect(),
            params: StepParams {
                contact_margin: p.contact_margin * map.length,
                max_overlap: p.max_overlap * map.length,
                max_recovery_speed: p.max_recovery_speed * map.length,
                fallback_stiffness: p.fallback_stiffness * map.mass,
                gravity: gravity.to_array(),
                ..p.clone()
            },
        }
    }

    fn mapped_part(&self, part: &Part, map: &Map) -> Part {
        let Part { def, resistance, role, .. } = part;
        let dofs = dofs(&def.joint);
        // units of dofs: N/m or N·m/rad, kg or kg·m², N or N·m
        let unit = |k: usize| map.mass * if dofs[k] { map.length.powi(2) } else { 1.0 };
        let force = |k: usize| map.mass * if dofs[k] { map.length.powi(2) } else { map.length };
        let scaled = |values: &[f64], unit: &dyn Fn(usize) -> f64| -> Vec<f64> {
            values.iter().enumerate().map(|(k, x)| x * unit(k)).collect()
        };
        let length = |joint: &JointKind| match joint {
            JointKind::Prismatic { .. } => map.length,
            _ => 1.0,
        };
        // coordinates place a free body of the world; other bodies are placed by their frame
        let is_root = def.parent == WORLD && def.name != "world";
        let by_q = is_root && def.joint == JointKind::Free && def.X_PF == Pose::IDENTITY;
        let X_PF = if is_root && !by_q { map.world(&def.X_PF) } else { map.local(&def.X_PF) };
        let q = |q: &Vec<f64>| map.q(&def.joint, q, by_q);
        let v = |v: &Vec<f64>| map.v(&def.joint, v, by_q);
        let role = match role {
            Role::Actuated(a) => {
                let mut a = a.clone();
                a.stiffness = scaled(&a.stiffness, &unit);
                a.damping = scaled(&a.damping, &unit);
                a.effort_limit = scaled(&a.effort_limit, &force);
                Role::Actuated(a)
            }
            other => other.clone(),
        };
        let own = length(&def.joint);
        let BodyInertia { mass, com, inertia } = def.inertia;
        Part {
            def: BodyDef {
                X_PF,
                joint: map.joint(&def.joint),
                inertia: BodyInertia {
                    mass: mass * map.mass,
                    com: map.vector(com),
                    inertia: map.inertia(&inertia),
                },
                limits: def.limits.map(|limits| limits.map(|x| x * own)),
                mimic: def.mimic.map(|m| Mimic {
                    multiplier: m.multiplier * own / length(&self.parts[m.body].def.joint),
                    offset: m.offset * own,
                    ..m
                }),
                ..def.clone()
            },
            resistance: JointResistance {
                damping: scaled(&resistance.damping, &unit),
                friction: scaled(&resistance.friction, &force),
                armature: scaled(&resistance.armature, &unit),
                support: None,
            },
            role,
            q: q(&part.q),
            v: v(&part.v),
            commands: part.commands.iter().map(q).collect(),
            rates: part.rates.iter().map(v).collect(),
            tau: part.tau.iter().map(|tau| map.tau(&def.joint, tau, by_q)).collect(),
            ..part.clone()
        }
    }

    /// Reorders bodies and shapes; returns the original index of each body.
    fn reorder(&mut self, change: Option<Change>) -> Vec<usize> {
        let n = self.parts.len();
        let mut bodies: Vec<usize> = (0..n).collect();
        let mut geoms: Vec<usize> = (0..self.geoms.len()).collect();
        match change {
            Some(Change::Order(seed)) => {
                let random = &mut Random::new(seed);
                // any body whose parent is already placed
                let mut left: Vec<usize> = (1..n).collect();
                bodies.truncate(1);
                while !left.is_empty() {
                    let ready = |k: &usize| bodies.contains(&self.parts[left[*k]].def.parent);
                    let ready: Vec<usize> = (0..left.len()).filter(ready).collect();
                    bodies.push(left.remove(random.pick(&ready)));
                }
                for k in (1..geoms.len()).rev() {
                    geoms.swap(k, random.below(k + 1));
                }
            }
            Some(Change::Exchanged) => geoms.reverse(),
            _ => return bodies,
        }
        let mut body_now = vec![0; n];
        bodies.iter().enumerate().for_each(|(now, then)| body_now[*then] = now);
        let mut geom_now = vec![0; geoms.len()];
        geoms.iter().enumerate().for_each(|(now, then)| geom_now[*then] = now);
        let parts = bodies.iter().map(|then| {
            let mut part = self.parts[*then].clone();
            part.def.parent = body_now[part.def.parent];
            if let Some(mimic) = &mut part.def.mimic {
                mimic.body = body_now[mimic.body];
            }
            if matches!(change, Some(Change::Order(_))) && *then != WORLD {
                part.def.name = format!("{}th", n - then);
                part.def.joint_name = format!("{}th joint", n - then);
            }
            part
        });
        let parts: Vec<Part> = parts.collect();
        self.parts = parts;
        self.geoms = geoms.iter().map(|then| self.geoms[*then].clone()).collect();
        self.geoms.iter_mut().for_each(|g| g.body = body_now[g.body]);
        let pair = |(i, j): (usize, usize)| (geom_now[i], geom_now[j]);
        self.friction.iter_mut().for_each(|f| f.pair = pair(f.pair));
        self.excluded.iter_mut().for_each(|e| *e = pair(*e));
        self.wrenches.iter_mut().flatten().for_each(|w| w.body = body_now[w.body]);
        bodies
    }

    fn assemble(&self) -> (System, State, Vec<StepInput>) {
        let mut builder = ModelBuilder::new();
        for part in &self.parts[1..] {
            let body = builder.add_body(part.def.clone()).expect("a body");
            builder.set_resistance(body, part.resistance.clone()).expect("a joint");
        }
        let system = System::new(SystemDef {
            model: builder.build().expect("a model"),
            geoms: self.geoms.clone(),
            roles: self.parts.iter().map(|p| p.role.clone()).collect(),
            instances: self.parts.iter().map(|p| p.instance).collect(),
            friction: PairFriction::Minimum,
            friction_exceptions: self.friction.clone(),
            excluded: self.excluded.clone(),
            springs: Vec::new(),
            constraints: Vec::new(),
            pads: Vec::new(),
        });
        let gather =
            |part: fn(&Part) -> &Vec<f64>| self.parts.iter().flat_map(part).copied().collect();
        let start =
            State { time: 0.0, q: gather(|p| &p.q), v: gather(|p| &p.v), attached: Vec::new() };
        let inputs = (0..self.wrenches.len()).map(|k| {
            let gather = |part: fn(&Part) -> &Vec<Vec<f64>>| {
                self.parts.iter().flat_map(|p| part(p)[k].iter()).copied().collect()
            };
            StepInput {
                q_cmd: gather(|p| &p.commands),
                v_cmd: gather(|p| &p.rates),
                tau: gather(|p| &p.tau),
                wrenches: self.wrenches[k].clone(),
            }
        });
        (system.expect("a system"), start, inputs.collect())
    }
}

/// For each dof of a joint, whether it is a rotation.
fn dofs(joint: &JointKind) -> &'static [bool] {
    match joint {
        JointKind::Fixed => &[],
        JointKind::Revolute { .. } | JointKind::Continuous { .. } => &[true],
        JointKind::Prismatic { .. } => &[false],
        JointKind::Planar => &[false, false, true],
        JointKind::Ball => &[true; 3],
        JointKind::Free => &[true, true, true, false, false, false],
    }
}

/// Effect of a change on the numbers of a world: reflection and scaling everywhere, then rotation
/// and translation of the world frame.
struct Map {
    mirror: bool,
    length: f64,
    mass: f64,
    turn: Quat,
    shift: Vec3,
}

impl Map {
    fn of(change: Option<Change>) -> Self {
        let mut map =
            Self { mirror: false, length: 1.0, mass: 1.0, turn: Quat::IDENTITY, shift: Vec3::ZERO };
        match change {
            Some(Change::Shifted(by)) => map.shift = by,
            Some(Change::Lengths(by)) => map.length = by,
            Some(Change::Masses(by)) => map.mass = by,
            Some(Change::Turned(by)) => map.turn = by,
            Some(Change::Mirrored) => map.mirror = true,
            Some(Change::Order(_) | Change::Exchanged) | None => {}
        }
        map
    }

    fn sign(&self) -> f64 {
        if self.mirror { -1.0 } else { 1.0 }
    }

    fn vector(&self, v: Vec3) -> Vec3 {
        Vec3::new(v.x, self.sign() * v.y, v.z) * self.length
    }

    /// Maps an axial vector, without the scale of length.
    fn axial(&self, a: Vec3) -> Vec3 {
        Vec3::new(self.sign() * a.x, a.y, self.sign() * a.z)
    }

    fn rotation(&self, q: Quat) -> Quat {
        Quat::new(q.w, self.sign() * q.x, q.y, self.sign() * q.z)
    }

    fn local(&self, X: &Pose) -> Pose {
        Pose::new(self.rotation(X.rotation), self.vector(X.translation))
    }

    fn world(&self, X: &Pose) -> Pose {
        Pose::new(self.turn, self.shift) * self.local(X)
    }

    /// Inverse of [`world`](Self::world).
    fn back(&self, X: &Pose) -> Pose {
        let X = Pose::new(self.turn, self.shift).inverse() * *X;
        let p = self.vector(X.translation) * (1.0 / self.length.powi(2));
        Pose::new(self.rotation(X.rotation), p)
    }

    fn inertia(&self, m: &Mat3) -> Mat3 {
        let s = self.mass * self.length.powi(2);
        let [a, b, c] = m.rows;
        let sign = self.sign();
        let flip = |v: Vec3, k: f64| Vec3::new(v.x * s, v.y * s * k, v.z * s);
        Mat3 { rows: [flip(a, sign), flip(b, sign) * sign, flip(c, sign)] }
    }

    fn joint(&self, joint: &JointKind) -> JointKind {
        let mirrored = |v: Vec3| Vec3::new(v.x, self.sign() * v.y, v.z);
        match *joint {
            JointKind::Revolute { axis } => JointKind::Revolute { axis: self.axial(axis) },
            JointKind::Continuous { axis } => JointKind::Continuous { axis: self.axial(axis) },
            JointKind::Prismatic { axis } => JointKind::Prismatic { axis: mirrored(axis) },
            other => other,
        }
    }

    fn shape(&self, shape: &Shape) -> Shape {
        let s = self.length;
        match shape {
            Shape::Sphere { radius } => Shape::Sphere { radius: s * radius },
            Shape::Box { half } => Shape::Box { half: half.map(|x| s * x) },
            Shape::Capsule { radius, half_length } => {
                Shape::Capsule { radius: s * radius, half_length: s * half_length }
            }
            Shape::Cylinder { radius, half_length } => {
                Shape::Cylinder { radius: s * radius, half_length: s * half_length }
            }
            Shape::Ellipsoid { radii } => Shape::Ellipsoid { radii: radii.map(|x| s * x) },
            Shape::Polytope(hull) if self.mirror || s != 1.0 => {
                let points: Vec<Vec3> = hull.vertices().iter().map(|p| self.vector(*p)).collect();
                Shape::Polytope(Arc::new(Polytope::from_points(&points).expect("a hull")))
            }
            Shape::Cloud(_) => {
                assert!(!self.mirror && s == 1.0, "clouds keep their size and sense");
                shape.clone()
            }
            other => other.clone(),
        }
    }

    fn q(&self, joint: &JointKind, q: &[f64], by_q: bool) -> Vec<f64> {
        let quat = |q: &[f64]| self.rotation(Quat::new(q[0], q[1], q[2], q[3]));
        match (joint, q) {
            (_, []) => Vec::new(),
            (JointKind::Prismatic { .. }, _) => vec![q[0] * self.length],
            (JointKind::Planar, _) => {
                let sign = self.sign();
                vec![q[0] * self.length, sign * q[1] * self.length, sign * q[2]]
            }
            (JointKind::Ball, _) => quat(q).to_array().to_vec(),
            (JointKind::Free, _) => {
                let X = Pose::new(Quat::new(q[0], q[1], q[2], q[3]), Vec3::new(q[4], q[5], q[6]));
                let X = if by_q { self.world(&X) } else { self.local(&X) };
                X.rotation.to_array().into_iter().chain(X.translation.to_array()).collect()
            }
            _ => q.to_vec(),
        }
    }

    fn v(&self, joint: &JointKind, v: &[f64], by_q: bool) -> Vec<f64> {
        let turn = if by_q { self.turn } else { Quat::IDENTITY };
        let three = |v: &[f64]| Vec3::new(v[0], v[1], v[2]);
        match (joint, v) {
            (_, []) => Vec::new(),
            (JointKind::Prismatic { .. } | JointKind::Planar, _) => self.q(joint, v, by_q),
            (JointKind::Ball, _) => self.axial(three(v)).to_array().to_vec(),
            (JointKind::Free, _) => {
                let w = turn.rotate(self.axial(three(v)));
                let v = turn.rotate(self.vector(three(&v[3..])));
                w.to_array().into_iter().chain(v.to_array()).collect()
            }
            _ => v.to_vec(),
        }
    }

    /// Maps generalised forces: like velocities, times the scale of mass, and for rotations also
    /// the square of the scale of length.
    fn tau(&self, joint: &JointKind, tau: &[f64], by_q: bool) -> Vec<f64> {
        let mut out = self.v(joint, tau, by_q);
        for (x, turns) in out.iter_mut().zip(dofs(joint)) {
            *x *= self.mass * if *turns { self.length.powi(2) } else { 1.0 };
        }
        out
    }
}

impl Run {
    /// Largest difference between the poses of the bodies in two runs, as a share of the world's
    /// size or in rad, up to the first step in which it exceeds `most`; and that step. Only steps
    /// with unique motion in both runs count.
    pub fn difference(&self, other: &Self, most: f64) -> (f64, Option<usize>) {
        let n = self.unique.min(other.unique);
        let mut worst = 0.0_f64;
        for (step, (a, b)) in self.poses.iter().zip(&other.poses).take(n).enumerate() {
            for (x, y) in a.iter().zip(b).skip(1) {
                let shift = (x.translation - y.translation).norm() / self.size;
                let turn = (x.rotation.inverse() * y.rotation).to_rotation_vector().norm();
                worst = worst.max(shift).max(turn);
            }
            if !(worst <= most) {
                return (worst, Some(step));
            }
        }
        (worst, None)
    }
}
