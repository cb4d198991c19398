//! Builds a checked model from declared bodies.

use crate::model::{Model, PositionLimit, WORLD};
use crate::{
    Body, BodyDef, BodyInertia, JointKind, JointResistance, Mimic, ModelError, Support, SupportLoad,
};
use quasistep_math::{Pose, Quat};
use std::collections::BTreeSet;

/// Largest deviation of a given rotation from unit length; rotations are normalised.
const UNIT_TOLERANCE: f64 = 1e-6;

/// Collects bodies, parents first. Body 0 is the world; it exists from the start.
#[derive(Clone, Debug)]
pub struct ModelBuilder {
    bodies: Vec<Body>,
    body_names: BTreeSet<String>,
    joint_names: BTreeSet<String>,
}

impl Default for ModelBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl ModelBuilder {
    /// A builder with the world only.
    pub fn new() -> Self {
        let world = Body {
            name: "world".into(),
            joint_name: String::new(),
            parent: WORLD,
            X_PF: Pose::IDENTITY,
            joint: JointKind::Fixed,
            q: 0..0,
            v: 0..0,
            inertia: BodyInertia::default(),
            limits: None,
            mimic: None,
            gravity: 0.0,
            resistance: JointResistance::default(),
            surface: false,
            columns: 0..0,
        };
        Self {
            body_names: BTreeSet::from([world.name.clone()]),
            joint_names: BTreeSet::new(),
            bodies: vec![world],
        }
    }

    /// Number of bodies so far, including the world; this is the index of the next body.
    pub fn n_bodies(&self) -> usize {
        self.bodies.len()
    }

    /// Adds a body and returns its index. The leader of a mimic joint may be added later.
    ///
    /// # Errors
    ///
    /// If the parent is unknown, a name is taken, or the joint, its limits or the inertia are
    /// invalid. The builder is then unchanged.
    pub fn add_body(&mut self, def: BodyDef) -> Result<usize, ModelError> {
        let BodyDef { name, joint_name, parent, X_PF, mut joint, inertia, limits, mimic, gravity } =
            def;
        let index = self.bodies.len();
        if parent >= index {
            return Err(ModelError::UnknownParent { body: name, parent, n: index });
        }
        if self.body_names.contains(&name) {
            return Err(ModelError::DuplicateBody { name });
        }
        if self.joint_names.contains(&joint_name) {
            return Err(ModelError::DuplicateJoint { name: joint_name });
        }
        let Some(X_PF) = checked_pose(&X_PF) else {
            return Err(ModelError::Pose { joint: joint_name });
        };
        if let Some(axis) = joint.axis_mut() {
            let Some(unit) = axis.try_normalize() else {
                return Err(ModelError::Axis { joint: joint_name, axis: *axis });
            };
            *axis = unit;
        }
        if let Err(why) = inertia.check() {
            return Err(ModelError::Inertia { body: name, why });
        }
        if !gravity.is_finite() {
            return Err(ModelError::Gravity { body: name, gravity });
        }
        if let Some([lower, upper]) = limits {
            if joint.n_v() != 1 {
                return Err(ModelError::LimitsOnJoint { joint: joint_name, kind: joint.word() });
            }
            // NaN fails this comparison; an infinite limit is valid on its own side only
            if !(lower <= upper && lower < f64::INFINITY && upper > f64::NEG_INFINITY) {
                return Err(ModelError::Limits { joint: joint_name, lower, upper });
            }
        }
        if let Some(Mimic { multiplier, offset, .. }) = mimic
            && !(multiplier.is_finite() && offset.is_finite())
        {
            return Err(ModelError::MimicNumbers { joint: joint_name, multiplier, offset });
        }
        self.body_names.insert(name.clone());
        self.joint_names.insert(joint_name.clone());
        self.bodies.push(Body {
            name,
            joint_name,
            parent,
            X_PF,
            joint,
            q: 0..0,
            v: 0..0,
            inertia,
            limits,
            mimic,
            gravity,
            resistance: JointResistance::default(),
            surface: false,
            columns: 0..0,
        });
        Ok(index)
    }

    /// Sets the resistance of the joint of a body.
    ///
    /// # Errors
    ///
    /// If a number is negative or not finite; if a list is neither empty nor as long as the joint's
    /// number of rates; if a support is given for a joint that is neither planar nor a slide, or
    /// that is a mimic joint.
    ///
    /// # Panics
    ///
    /// If there is no such body.
    pub fn set_resistance(
        &mut self,
        body: usize,
        resistance: JointResistance,
    ) -> Result<(), ModelError> {
        let body = &mut self.bodies[body];
        for (what, values) in [
            ("damping", &resistance.damping),
            ("friction", &resistance.friction),
            ("armature", &resistance.armature),
        ] {
            let n = body.joint.n_v();
            // this form refuses NaN
            let valid = values.iter().all(|x| *x >= 0.0 && x.is_finite());
            if !valid || !(values.is_empty() || values.len() == n) {
                let joint = body.joint_name.clone();
                return Err(ModelError::Resistance { joint, what, seen: values.clone(), n });
            }
        }
        if let Some(Support { friction, load, spin_radius }) = resistance.support {
            let load = if let SupportLoad::Newtons(load) = load { load } else { 0.0 };
            for (what, seen) in
                [("friction", friction), ("load", load), ("spin_radius", spin_radius)]
            {
                if !(seen >= 0.0 && seen.is_finite()) {
                    return Err(ModelError::Support { joint: body.joint_name.clone(), what, seen });
                }
            }
            let fits = match body.joint {
                JointKind::Planar => true,
                JointKind::Prismatic { .. } => spin_radius == 0.0,
                _ => false,
            };
            if !fits || body.mimic.is_some() {
                let (joint, kind) = (body.joint_name.clone(), body.joint.word());
                return Err(ModelError::SupportOnJoint { joint, kind });
            }
        }
        body.resistance = resistance;
        Ok(())
    }

    /// Makes the joint of a body move its surface: the belt of a conveyor, a turntable, a track. The
    /// body stays where the joint has it at zero. At a contact its material moves as if the joint
    /// carried it, along the surface. The coordinate is the travel of the surface, in m or rad.
    ///
    /// # Errors
    ///
    /// If the joint is neither a slide nor a hinge, or follows another joint.
    ///
    /// # Panics
    ///
    /// If there is no such body.
    pub fn set_surface(&mut self, body: usize) -> Result<(), ModelError> {
        let body = &mut self.bodies[body];
        if body.joint.n_v() != 1 || body.mimic.is_some() {
            let (joint, kind) = (body.joint_name.clone(), body.joint.word());
            return Err(ModelError::SurfaceOnJoint { joint, kind });
        }
        body.surface = true;
        Ok(())
    }

    /// Assigns the entries of `q` and `v` in body order, and resolves mimic joints.
    ///
    /// # Errors
    ///
    /// If a joint that moves a surface carries a body; if a mimic joint has no leader with one dof,
    /// follows itself, or has limits that its leader
    /// cannot satisfy.
    pub fn build(self) -> Result<Model, ModelError> {
        let mut bodies = self.bodies;
        if let Some(carried) = bodies.iter().find(|body| bodies[body.parent].surface) {
            let carrier = bodies[carried.parent].name.clone();
            return Err(ModelError::OnSurface { body: carried.name.clone(), carrier });
        }
        let resolved = (0..bodies.len())
            .map(|i| resolve_mimic(&bodies, i))
            .collect::<Result<Vec<_>, ModelError>>()?;
        for (body, mimic) in bodies.iter_mut().zip(resolved) {
            body.mimic = mimic;
        }
        assemble(bodies)
    }
}

impl Model {
    /// The model of some bodies of this one, with numbers equal to the bit. `keeps` says for each
    /// body whether it stays: the world does, and a body stays with its parent and with the joint
    /// that it follows.
    ///
    /// # Panics
    ///
    /// If a body that stays needs one that does not.
    pub fn part(&self, keeps: &[bool]) -> Self {
        let place = places(keeps);
        let own = self.bodies.iter().zip(keeps).filter(|(_, keeps)| **keeps);
        let mut bodies: Vec<Body> = own.map(|(body, _)| body.clone()).collect();
        for body in &mut bodies {
            let new = |old: usize| place[old].expect("the body stays");
            body.parent = new(body.parent);
            body.mimic = body.mimic.map(|mimic| Mimic { body: new(mimic.body), ..mimic });
        }
        // limits of mimic joints did not contradict those of their leaders before
        assemble(bodies).expect("these bodies formed a model")
    }
}

/// For each index that is kept, its place among those kept.
fn places(keeps: &[bool]) -> Vec<Option<usize>> {
    let mut next = 0..;
    keeps.iter().map(|keeps| keeps.then(|| next.next()).flatten()).collect()
}

/// Lays out the coordinates of bodies whose mimic joints are resolved.
fn assemble(mut bodies: Vec<Body>) -> Result<Model, ModelError> {
    let (mut n_q, mut n_v, mut n_columns) = (0, 0, 0);
    for body in &mut bodies {
        let own = if body.mimic.is_some() { (0, 0) } else { (body.joint.n_q(), body.joint.n_v()) };
        body.q = n_q..n_q + own.0;
        body.v = n_v..n_v + own.1;
        body.columns = n_columns..n_columns + body.joint.n_v();
        (n_q, n_v, n_columns) = (body.q.end, body.v.end, body.columns.end);
    }
    let limits = collect_limits(&bodies)?;
    let [damping, friction, armature] = collect_resistance(&bodies, n_v);
    let (path_start, paths) = collect_paths(&bodies);
    let surfaces = bodies.iter().filter(|body| body.surface);
    Ok(Model {
        surface_dofs: surfaces.map(|body| body.v.start as u32).collect(),
        bodies,
        n_q,
        n_v,
        n_columns,
        limits,
        damping,
        friction,
        armature,
        path_start,
        paths,
    })
}

fn checked_pose(X: &Pose) -> Option<Pose> {
    let a = X.rotation.to_array();
    let norm = a.iter().map(|c| c * c).sum::<f64>().sqrt();
    // this form refuses NaN
    if !((norm - 1.0).abs() <= UNIT_TOLERANCE && X.translation.is_finite()) {
        return None;
    }
    Quat::try_normalize(a).map(|rotation| Pose::new(rotation, X.translation))
}

/// Follows a chain of mimic joints to the joint that has its own coordinate.
fn resolve_mimic(bodies: &[Body], index: usize) -> Result<Option<Mimic>, ModelError> {
    let mut follower = &bodies[index];
    let Some(mut mimic) = follower.mimic else { return Ok(None) };
    for _ in 0..bodies.len() {
        let Some(leader) = bodies.get(mimic.body) else {
            return Err(ModelError::UnknownLeader {
                joint: follower.joint_name.clone(),
                leader: mimic.body,
                n: bodies.len(),
            });
        };
        if follower.joint.n_v() != 1 || leader.joint.n_v() != 1 {
            let is_world = mimic.body == WORLD;
            return Err(ModelError::MimicKind {
                joint: follower.joint_name.clone(),
                kind: follower.joint.word(),
                leader: if is_world { leader.name.clone() } else { leader.joint_name.clone() },
                leader_kind: leader.joint.word(),
            });
        }
        let Some(next) = leader.mimic else { return Ok(Some(mimic)) };
        // compose: q = m (m' q' + o') + o
        mimic = Mimic {
            body: next.body,
            multiplier: mimic.multiplier * next.multiplier,
            offset: mimic.multiplier * next.offset + mimic.offset,
        };
        follower = leader;
    }
    // more links than joints: the last joint reached is on a loop
    Err(ModelError::MimicLoop {
        joint: follower.joint_name.clone(),
        leader: bodies[mimic.body].joint_name.clone(),
    })
}

/// One limit per dof. Limits of mimic joints are converted to their leader's coordinate and
/// intersected with its limits.
fn collect_limits(bodies: &[Body]) -> Result<Vec<PositionLimit>, ModelError> {
    let unlimited = [f64::NEG_INFINITY, f64::INFINITY];
    let mut bounds: Vec<[f64; 2]> = bodies
        .iter()
        .map(|b| b.limits.filter(|_| b.mimic.is_none()).unwrap_or(unlimited))
        .collect();
    for body in bodies {
        let (Some(mimic), Some([lower, upper])) = (body.mimic, body.limits) else { continue };
        let Mimic { multiplier: m, offset, body: leader } = mimic;
        let [a, b] = if m == 0.0 {
            // multiplier 0: the joint stays at its offset, so its limits hold always or never
            if lower <= offset && offset <= upper { unlimited } else { [1.0, -1.0] }
        } else {
            let ends = [(lower - offset) / m, (upper - offset) / m];
            if m > 0.0 { ends } else { [ends[1], ends[0]] }
        };
        let [lowest, highest] = bounds[leader];
        bounds[leader] = [lowest.max(a), highest.min(b)];
        if bounds[leader][0] > bounds[leader][1] {
            return Err(ModelError::MimicLimits {
                joint: body.joint_name.clone(),
                leader: bodies[leader].joint_name.clone(),
                lower,
                upper,
            });
        }
    }
    let limited = bodies.iter().zip(&bounds).enumerate().filter(|(_, (_, b))| **b != unlimited);
    Ok(limited
        .map(|(index, (body, &[lower, upper]))| PositionLimit {
            dof: body.v.start as u32,
            q_index: body.q.start as u32,
            lower,
            upper,
            body: index,
        })
        .collect())
}

/// Damping, dry friction and armature of each dof, including those of its mimic joints.
fn collect_resistance(bodies: &[Body], n_v: usize) -> [Vec<f64>; 3] {
    let [mut damping, mut friction, mut armature] = [const { Vec::new() }; 3];
    for all in [&mut damping, &mut friction, &mut armature] {
        all.resize(n_v, 0.0);
    }
    for body in bodies {
        let (first, m) = match &body.mimic {
            Some(mimic) => (bodies[mimic.body].v.start, mimic.multiplier),
            None => (body.v.start, 1.0),
        };
        for (k, d) in body.resistance.damping.iter().enumerate() {
            damping[first + k] += m * m * d;
        }
        for (k, f) in body.resistance.friction.iter().enumerate() {
            friction[first + k] += m.abs() * f;
        }
        for (k, a) in body.resistance.armature.iter().enumerate() {
            armature[first + k] += m * m * a;
        }
    }
    [damping, friction, armature]
}

/// For each body, the columns that move it, ascending; returned as one list and the start of each
/// part.
fn collect_paths(bodies: &[Body]) -> (Vec<u32>, Vec<u32>) {
    let mut path_start = vec![0_u32];
    let mut paths: Vec<u32> = Vec::new();
    for (index, body) in bodies.iter().enumerate() {
        if index != WORLD {
            // a parent precedes its children, so its list is complete
            let parent = path_start[body.parent] as usize..path_start[body.parent + 1] as usize;
            paths.extend_from_within(parent);
            paths.extend(body.columns.clone().map(|c| c as u32));
        }
        path_start.push(paths.len() as u32);
    }
    (path_start, paths)
}
