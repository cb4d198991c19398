//! Sensors: what instruments on a mechanism read in a step. A reading is a function of the system,
//! the state at the start of the step, its input and its report. Steps do not depend on sensors.
//!
//! A force-torque sensor cuts the tree between a body and its parent. It reads what the part
//! beyond the cut, the body and all it carries, exerts through the joint:
//!
//! ```text
//! F = Σ_beyond (m g + contact forces + applied wrenches + forces of closed loops − d(momentum)/dt)
//! ```
//!
//! The last term is there where velocities are carried over ([`Motion::Dynamic`](crate::Motion)).
//! Forces of joints act between the two sides of the joint or within one side, so they add
//! nothing: drives, Cartesian stiffness (which joints exert), damping, friction, supports, the drag
//! of the relaxation time, limits, couplings, armature.

use crate::params::{Integration, StepParams};
use crate::pressure::Taxels;
use crate::report::StepReport;
use crate::state::{State, Wrench};
use crate::system::{System, welds};
use quasistep_geometry::{Aabb, NarrowPhase, Shape};
use quasistep_math::{Pose, Vec3};
use quasistep_model::{Frame, Kinematics, Twist, WORLD};

/// An instrument on a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensor {
    /// Name of its readings.
    pub name: String,
    /// What it measures.
    pub kind: SensorKind,
}

/// Kinds of sensors, with what places them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SensorKind {
    /// Force (N) and torque (N·m) that the frame's body and all it carries exert on the parent of the
    /// body, through its joint. Six numbers: force, then torque about the frame's origin, along
    /// the frame's axes.
    ForceTorque {
        /// Frame on the first body beyond the cut.
        frame: Frame,
        /// False for what the part beyond exerts on the parent; true for the opposite, what the
        /// parent exerts on it.
        on_child: bool,
    },
    /// Normal forces or pressures on a rectangular array.
    Pressure(Taxels),
    /// Distance (m) from the frame's origin along its z axis to the nearest shape of another body,
    /// at the end of the step. Zero inside a shape, and `range` if there is none up to there.
    /// Shapes of moving bodies that fixed joints weld to the sensor's body, and point clouds, are
    /// not seen.
    Proximity {
        /// Frame of the ray.
        frame: Frame,
        /// Largest distance measured, in m, > 0.
        range: f64,
    },
}

impl Sensor {
    /// Extents of the array of readings: `[6]`, `[n, m]`, or none for a single number.
    pub fn shape(&self) -> Vec<usize> {
        match &self.kind {
            SensorKind::ForceTorque { .. } => vec![6],
            SensorKind::Pressure(pad) => pad.taxels.to_vec(),
            SensorKind::Proximity { .. } => Vec::new(),
        }
    }
}

/// A step of which sensors are read.
#[derive(Clone, Copy, Debug)]
pub struct SensedStep<'a> {
    /// State at the start of the step.
    pub start: &'a State,
    /// State at its end.
    pub end: &'a State,
    /// Wrenches of its input.
    pub wrenches: &'a [Wrench],
    /// Its report.
    pub report: &'a StepReport,
    /// Its parameters.
    pub params: &'a StepParams,
}

/// A force and a torque about a point, both in W.
#[derive(Clone, Copy, Default)]
struct Load {
    force_W: Vec3,
    torque_W: Vec3,
}

impl Load {
    /// Adds a force and a torque at the arm `p` from the point of this load.
    fn add(&mut self, p: Vec3, force_W: Vec3, torque_W: Vec3) {
        self.force_W += force_W;
        self.torque_W += p.cross(force_W) + torque_W;
    }
}

impl System {
    /// Readings of sensors in a step, sensor by sensor, arrays row by row.
    ///
    /// Forces are those of the step or, if it was divided, of its last substep. Frames and points are
    /// where the step balances forces: at its start, or with
    /// [`Integration::Midpoint`] in its middle.
    ///
    /// # Panics
    ///
    /// If a state, a body or a shape is not one of this system.
    pub fn read_sensors(&self, sensors: &[Sensor], step: &SensedStep<'_>) -> Vec<f64> {
        let Balanced { kin, v, size } = self.balanced(step);
        let mut readings = Vec::new();
        let mut at_end = None;
        for Sensor { kind, .. } in sensors {
            match kind {
                SensorKind::ForceTorque { frame, on_child } => {
                    let X_WF = self.model.frame_pose(&kin, frame);
                    let load =
                        self.load_beyond(frame.body, X_WF.translation, step, (&kin, &v, size));
                    let sign = if *on_child { -1.0 } else { 1.0 };
                    let inverse = X_WF.rotation.inverse();
                    for vector_W in [load.force_W, load.torque_W] {
                        readings.extend((inverse.rotate(vector_W) * sign).to_array());
                    }
                }
                SensorKind::Pressure(pad) => {
                    let X_WF = self.model.frame_pose(&kin, &pad.frame);
                    pad.read(&X_WF, &step.report.contacts, &mut readings);
                }
                SensorKind::Proximity { frame, range } => {
                    let kin = at_end.get_or_insert_with(|| {
                        let mut kin = self.model.create_kinematics();
                        self.model.kinematics(&step.end.q, &mut kin);
                        kin
                    });
                    readings.push(self.distance_along_ray(frame, *range, kin));
                }
            }
        }
        readings
    }

    /// Where the step balances its forces.
    fn balanced(&self, step: &SensedStep<'_>) -> Balanced {
        let SensedStep { start, report, params, .. } = *step;
        let (q, v, size) = match &report.last_substep {
            None => (&start.q, &start.v, report.time_step),
            Some(part) => (&part.q, &part.v, part.size),
        };
        let mut q = q.clone();
        if params.integration == Integration::Midpoint {
            let from = q.clone();
            self.model.integrate(&from, &report.v, 0.5 * size, &mut q);
        }
        let mut kin = self.model.create_kinematics();
        self.model.kinematics(&q, &mut kin);
        Balanced { kin, v: v.clone(), size }
    }

    /// Sum of the forces on a body and all it carries, and of their torques about `p_WF`. Forces
    /// of joints are left out, inertia is part of it.
    fn load_beyond(
        &self,
        body: usize,
        p_WF: Vec3,
        step: &SensedStep<'_>,
        (kin, v, size): (&Kinematics, &[f64], f64),
    ) -> Load {
        let SensedStep { wrenches, report, params, .. } = *step;
        let bodies = self.model.bodies();
        let mut beyond = vec![false; bodies.len()];
        beyond[body] = true;
        for i in body + 1..bodies.len() {
            beyond[i] = beyond[bodies[i].parent];
        }
        let mut load = Load::default();
        for i in (1..bodies.len()).filter(|i| beyond[*i]) {
            let weight_W = Vec3::from(params.gravity) * bodies[i].weight_mass();
            load.add(kin.p_WBcm[i] - p_WF, weight_W, Vec3::ZERO);
        }
        for wrench in wrenches.iter().filter(|wrench| beyond[wrench.body]) {
            let p_W = kin.X_WB[wrench.body].transform_point(wrench.p_B);
            load.add(p_W - p_WF, wrench.force_W, wrench.torque_W);
        }
        for c in &report.contacts {
            for ((body, sign), p_WC) in [(c.body_a, -1.0), (c.body_b, 1.0)].into_iter().zip(c.p_WC)
            {
                if beyond[body as usize] {
                    load.add(p_WC - p_WF, c.net_force_W() * sign, c.torque_W() * sign);
                }
            }
        }
        let sign = |a: usize, b: usize| f64::from(beyond[b]) - f64::from(beyond[a]);
        for (held, c) in self.constraints.iter().zip(&report.constraints) {
            if let Some([a, b]) = held.frames() {
                let sign = sign(a.body, b.body);
                load.add(c.p_W - p_WF, c.force_W * sign, c.torque_W * sign);
            }
        }
        if params.formulation.carries_velocity() {
            self.add_inertia(&mut load, p_WF, &beyond, (kin, v, size), &report.v);
        }
        load
    }

    /// Adds `−d(momentum)/dt` of the bodies beyond, as the dynamic step has it: the change of
    /// velocity over the step at the poses of its start, and the acceleration of the velocity that
    /// it starts with.
    fn add_inertia(
        &self,
        load: &mut Load,
        p_WF: Vec3,
        beyond: &[bool],
        (kin, v, size): (&Kinematics, &[f64], f64),
        v_next: &[f64],
    ) {
        let mut start = v.to_vec();
        start.resize(self.model.n_v(), 0.0); // empty means rest
        let rates: Vec<f64> = v_next.iter().zip(&start).map(|(b, a)| (b - a) / size).collect();
        let mut gained = vec![Twist::ZERO; beyond.len()];
        self.model.twists(kin, &rates, &mut gained);
        let mut motions = Vec::new();
        self.model.motions(kin, &start, &mut motions);
        for (i, body) in self.model.bodies().iter().enumerate() {
            if i == WORLD || !beyond[i] || body.inertia.mass == 0.0 {
                continue;
            }
            let (motion, gained, p_Wcm) = (&motions[i], &gained[i], kin.p_WBcm[i]);
            let R = kin.X_WB[i].rotation.to_matrix();
            let I_W = R * body.inertia.inertia * R.transpose();
            let acceleration = motion.acceleration(p_Wcm) + gained.at(p_Wcm);
            let spin = I_W * (motion.alpha_W + gained.w_W) + motion.w_W.cross(I_W * motion.w_W);
            load.add(p_Wcm - p_WF, acceleration * -body.inertia.mass, spin * -1.0);
        }
    }

    /// Distance from a frame's origin along its z axis to the nearest shape of another body, at most
    /// `range`, in m.
    fn distance_along_ray(&self, frame: &Frame, range: f64, kin: &Kinematics) -> f64 {
        let X_WF = self.model.frame_pose(kin, frame);
        let (p, d) = (X_WF.translation, X_WF.rotation.rotate(Vec3::Z));
        let end = p + d * range;
        let along = Aabb { min: p.min(end), max: p.max(end) };
        let weld = welds(&self.model);
        let mut narrow = NarrowPhase::new();
        let mut nearest = range;
        for geom in &self.geoms {
            let own = weld[geom.body] == weld[frame.body] && weld[geom.body] != WORLD;
            if own || geom.body == frame.body || matches!(geom.shape, Shape::Cloud(_)) {
                continue;
            }
            let X_WG = kin.X_WB[geom.body] * geom.X_BG;
            if geom.shape.aabb(&X_WG).near(&along, 0.0) {
                nearest = hit(&mut narrow, (p, d), (&geom.shape, &X_WG), nearest);
            }
        }
        nearest
    }
}

/// What [`System::balanced`] returns.
struct Balanced {
    kin: Kinematics,
    /// Velocity at the start, empty for rest.
    v: Vec<f64>,
    /// Duration over which forces act, in s.
    size: f64,
}

/// Distance along a ray (point, unit direction) to a shape, at most `range`.
///
/// The distance to a convex shape is a convex function along the ray, so Newton's method from the
/// origin approaches its first zero from one side. A slope that is not negative means that the ray
/// misses the shape.
fn hit(
    narrow: &mut NarrowPhase,
    (p, d): (Vec3, Vec3),
    (shape, X_WG): (&Shape, &Pose),
    range: f64,
) -> f64 {
    const POINT: Shape = Shape::Sphere { radius: 0.0 };
    const MOST: usize = 1000;
    let mut t = 0.0;
    for _ in 0..MOST {
        let place = Pose::from_translation(p + d * t);
        let distance = narrow.signed_distance(&POINT, &place, shape, X_WG);
        if distance.phi <= 1e-12 * range {
            return t;
        }
        // a sphere of this radius is free, whatever the shape
        let slope = if shape.is_convex() { distance.n_AB_W.dot(d) } else { 1.0 };
        if slope <= f64::EPSILON {
            return range;
        }
        t += distance.phi / slope;
        if t >= range {
            return range;
        }
    }
    // a ray that grazes a curved surface
    t
}
