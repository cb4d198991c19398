//! What goes into a step and what comes out of it, as small changes or as gradients.

use super::kinds::DerivativeError;
use crate::system::System;
use quasistep_math::Vec3;

/// A small change of what goes into a step, or a gradient with respect to it. An empty vector is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputChange {
    /// Configuration, on its tangent space, `n_v`: m, rad.
    pub q: Vec<f64>,
    /// Velocity at the start, `n_v`: m/s, rad/s. Of steps that carry it over; others have no derivative here.
    pub v: Vec<f64>,
    /// Command, on its tangent space, [`n_cmd_v`](System::n_cmd_v): m, rad. A pose is turned in W and shifted.
    pub q_cmd: Vec<f64>,
    /// Rate of the command, `n_cmd_v`: m/s, rad/s.
    pub v_cmd: Vec<f64>,
    /// External wrench on each body, six numbers a body: the moment about the origin of its frame in N·m, then the
    /// force in N, in W.
    pub wrench: Vec<f64>,
    /// External generalised force, `n_v`: N, N·m.
    pub tau: Vec<f64>,
    /// Friction `mu`, `mu_spin`, `mu_roll` of each contact of the report. A coefficient of 0 has no rows, and no
    /// derivative here.
    pub friction: Vec<f64>,
    /// Stiffness of each commanded dof, `n_cmd_v`: N/m, N·m/rad. Prescribed dofs and springs of frames have none.
    pub stiffness: Vec<f64>,
    /// Damping of each commanded dof, `n_cmd_v`: N·s/m, N·m·s/rad; none of springs of frames.
    pub damping: Vec<f64>,
    /// Mass of each body, in kg, at fixed centre of mass; the inertia grows with it.
    pub mass: Vec<f64>,
    /// Centre of mass of each body, three numbers a body, in its frame, in m; the inertia about the centre stays.
    pub com: Vec<f64>,
    /// Inertia of each body about its centre of mass, six numbers a body in its axes: xx, yy, zz, xy, xz, yz, in kg·m². Beside
    /// what grows with the mass.
    pub inertia: Vec<f64>,
    /// Compliance of each contact of the report, in m/N. A rigid one has no variable, and no derivative here.
    pub compliance: Vec<f64>,
    /// Support of each body's joint, three numbers a body: its coefficient of friction, its load in N (of a weight, what is added
    /// to it), its spin radius in m. What is 0 has no rows, and no derivative here.
    pub support: Vec<f64>,
    /// Time step, in s, at fixed command.
    pub time_step: f64,
    /// Relaxation time, in s; 0 in a gradient of steps without one.
    pub relaxation: f64,
}

/// A small change of what comes out of a step, or weights on it. An empty vector of weights is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutputChange {
    /// Next configuration, on its tangent space, `n_v`.
    pub q_next: Vec<f64>,
    /// Velocity, `n_v`.
    pub v: Vec<f64>,
    /// Normal impulse of each contact of the report, in N·s.
    pub normal: Vec<f64>,
    /// Impulse of each contact on body B, six numbers a contact, in W: linear in N·s, then angular about the contact
    /// point in N·m·s.
    pub impulse: Vec<f64>,
}

/// Three consecutive entries.
pub(super) fn vec3(v: &[f64], at: usize) -> Vec3 {
    Vec3::new(v[at], v[at + 1], v[at + 2])
}

/// `from`, or zeros if it is empty.
pub(super) fn or_zero(from: &[f64], n: usize, to: &mut Vec<f64>) {
    to.clear();
    if from.is_empty() {
        to.resize(n, 0.0);
    } else {
        to.extend_from_slice(from);
    }
}

pub(super) fn reset<T: Clone>(v: &mut Vec<T>, n: usize, zero: T) {
    v.clear();
    v.resize(n, zero);
}

fn check_length(what: &'static str, got: usize, want: usize) -> Result<(), DerivativeError> {
    if got == 0 || got == want { Ok(()) } else { Err(DerivativeError::Length { what, got, want }) }
}

impl InputChange {
    /// Every vector with its name and its length where it is not empty.
    fn vectors(&self, system: &System, n_contacts: usize) -> [(&'static str, &[f64], usize); 14] {
        let (n_v, n_cmd, n_bodies) =
            (system.model.n_v(), system.n_cmd_v(), system.model.n_bodies());
        [
            ("q", &self.q, n_v),
            ("v", &self.v, n_v),
            ("q_cmd", &self.q_cmd, n_cmd),
            ("v_cmd", &self.v_cmd, n_cmd),
            ("wrench", &self.wrench, 6 * n_bodies),
            ("tau", &self.tau, n_v),
            ("friction", &self.friction, 3 * n_contacts),
            ("stiffness", &self.stiffness, n_cmd),
            ("damping", &self.damping, n_cmd),
            ("mass", &self.mass, n_bodies),
            ("com", &self.com, 3 * n_bodies),
            ("inertia", &self.inertia, 6 * n_bodies),
            ("compliance", &self.compliance, n_contacts),
            ("support", &self.support, 3 * n_bodies),
        ]
    }

    /// The vectors in the order of [`vectors`](Self::vectors).
    fn vectors_mut(&mut self) -> [&mut Vec<f64>; 14] {
        [
            &mut self.q,
            &mut self.v,
            &mut self.q_cmd,
            &mut self.v_cmd,
            &mut self.wrench,
            &mut self.tau,
            &mut self.friction,
            &mut self.stiffness,
            &mut self.damping,
            &mut self.mass,
            &mut self.com,
            &mut self.inertia,
            &mut self.compliance,
            &mut self.support,
        ]
    }

    /// That every vector is empty or has its length.
    pub(super) fn check(&self, system: &System, n_contacts: usize) -> Result<(), DerivativeError> {
        let mut vectors = self.vectors(system, n_contacts).into_iter();
        vectors.try_for_each(|(what, vector, want)| check_length(what, vector.len(), want))
    }

    /// Zeros, every vector at its full length.
    pub(super) fn reset(&mut self, system: &System, n_contacts: usize) {
        let lengths = self.vectors(system, n_contacts).map(|(_, _, n)| n);
        for (vector, n) in self.vectors_mut().into_iter().zip(lengths) {
            reset(vector, n, 0.0);
        }
        self.time_step = 0.0;
        self.relaxation = 0.0;
    }

    /// Adds another gradient of the lengths of this one.
    pub(super) fn add(&mut self, system: &System, n_contacts: usize, other: &Self) {
        let others = other.vectors(system, n_contacts);
        for (to, (_, from, _)) in self.vectors_mut().into_iter().zip(others) {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        }
        self.time_step += other.time_step;
        self.relaxation += other.relaxation;
    }
}

impl OutputChange {
    /// That every vector is empty or has its length.
    pub(super) fn check(&self, system: &System, n_contacts: usize) -> Result<(), DerivativeError> {
        let n_v = system.model.n_v();
        check_length("q_next", self.q_next.len(), n_v)?;
        check_length("v", self.v.len(), n_v)?;
        check_length("normal", self.normal.len(), n_contacts)?;
        check_length("impulse", self.impulse.len(), 6 * n_contacts)
    }

    /// True if there are weights on impulses.
    pub(super) fn weighs_impulses(&self) -> bool {
        !(self.normal.is_empty() && self.impulse.is_empty())
    }

    /// Weights on the linear and the angular impulse of contact `k`.
    pub(super) fn of_impulse(&self, k: usize) -> (Vec3, Vec3) {
        if self.impulse.is_empty() {
            return (Vec3::ZERO, Vec3::ZERO);
        }
        (vec3(&self.impulse, 6 * k), vec3(&self.impulse, 6 * k + 3))
    }
}
