//! Inputs and outputs of a step as small changes or gradients.

use super::kinds::DerivativeError;
use crate::formulation::edges::WAYS;
use crate::system::System;
use quasistep_math::Vec3;

/// A small change of a step's inputs, or a gradient with respect to them. An empty vector is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputChange {
    /// Configuration, in its tangent space, `n_v`: m, rad.
    pub q: Vec<f64>,
    /// Velocity at the start, `n_v`: m/s, rad/s. Only for steps that carry velocity.
    pub v: Vec<f64>,
    /// Command, in its tangent space, [`n_cmd_v`](System::n_cmd_v): m, rad. The change of a pose is
    /// a rotation vector in W and a translation, that of a pad a share of its pull.
    pub q_cmd: Vec<f64>,
    /// Rate of the command, `n_cmd_v`: m/s, rad/s.
    pub v_cmd: Vec<f64>,
    /// External wrench on each body, six numbers per body, in W: the moment about the origin of its
    /// frame in N·m, then the force in N.
    pub wrench: Vec<f64>,
    /// External generalised force, `n_v`: N, N·m.
    pub tau: Vec<f64>,
    /// Friction coefficients `mu`, `mu_spin`, `mu_roll` of each contact of the report. A
    /// coefficient of 0 has no rows, so its derivative is zero here.
    pub friction: Vec<f64>,
    /// Stiffness of each commanded dof, `n_cmd_v`: N/m, N·m/rad. Entries of prescribed dofs and
    /// Cartesian springs are not used.
    pub stiffness: Vec<f64>,
    /// Damping of each commanded dof, `n_cmd_v`: N·s/m, N·m·s/rad. Entries of Cartesian springs are
    /// not used.
    pub damping: Vec<f64>,
    /// Mass of each body, in kg, at fixed centre of mass. The inertia scales with the mass.
    pub mass: Vec<f64>,
    /// Centre of mass of each body, three numbers per body, in its frame, in m. The inertia about
    /// the centre of mass is fixed.
    pub com: Vec<f64>,
    /// Inertia of each body about its centre of mass, six numbers per body in its axes: xx, yy, zz,
    /// xy, xz, yz, in kg·m². It adds to the change that follows from the mass.
    pub inertia: Vec<f64>,
    /// Compliance of each contact of the report, in m/N. A rigid contact has no compliance
    /// variable, so its derivative is zero here.
    pub compliance: Vec<f64>,
    /// Support of each body's joint, three numbers per body: friction coefficient, load in N (for a
    /// load by weight, the load added to it), spin radius in m. A value of 0 has no rows, so its
    /// derivative is zero here.
    pub support: Vec<f64>,
    /// Time step, in s, at fixed command.
    pub time_step: f64,
    /// Relaxation time, in s; 0 in a gradient if the step has none.
    pub relaxation: f64,
}

/// A small change of a step's outputs, or weights on them. An empty vector of weights is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutputChange {
    /// Next configuration, in its tangent space, `n_v`: m, rad.
    pub q_next: Vec<f64>,
    /// Velocity, `n_v`: m/s, rad/s.
    pub v: Vec<f64>,
    /// Normal impulse of each contact of the report, in N·s.
    pub normal: Vec<f64>,
    /// Impulse of each contact on body B, with the pull of pads, six numbers per contact, in W: angular
    /// about the contact point in N·m·s, then linear in N·s.
    pub impulse: Vec<f64>,
    /// Impulses of each contact along its own directions, six numbers per contact, as those of
    /// [`ContactImpulses`](super::ContactImpulses).
    pub components: Vec<f64>,
}

/// Three consecutive entries as a vector.
pub(super) fn vec3(v: &[f64], at: usize) -> Vec3 {
    Vec3::new(v[at], v[at + 1], v[at + 2])
}

/// Copies `from` to `to`, or `n` zeros if it is empty.
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
    /// Every vector with its name and its full length.
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

    /// Checks that every vector is empty or has its full length.
    pub(super) fn check(&self, system: &System, n_contacts: usize) -> Result<(), DerivativeError> {
        let mut vectors = self.vectors(system, n_contacts).into_iter();
        vectors.try_for_each(|(what, vector, want)| check_length(what, vector.len(), want))
    }

    /// Sets every vector to zeros of its full length.
    pub(super) fn reset(&mut self, system: &System, n_contacts: usize) {
        let lengths = self.vectors(system, n_contacts).map(|(_, _, n)| n);
        for (vector, n) in self.vectors_mut().into_iter().zip(lengths) {
            reset(vector, n, 0.0);
        }
        self.time_step = 0.0;
        self.relaxation = 0.0;
    }

    /// Adds another gradient with vectors of equal lengths.
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
    /// Checks that every vector is empty or has its full length.
    pub(super) fn check(&self, system: &System, n_contacts: usize) -> Result<(), DerivativeError> {
        let n_v = system.model.n_v();
        check_length("q_next", self.q_next.len(), n_v)?;
        check_length("v", self.v.len(), n_v)?;
        check_length("normal", self.normal.len(), n_contacts)?;
        check_length("impulse", self.impulse.len(), 6 * n_contacts)?;
        check_length("components", self.components.len(), WAYS * n_contacts)
    }

    /// True if there are weights on impulses.
    pub(super) fn weighs_impulses(&self) -> bool {
        !(self.normal.is_empty() && self.impulse.is_empty() && self.components.is_empty())
    }

    /// Weights on the linear and the angular impulse of contact `k`.
    pub(super) fn of_impulse(&self, k: usize) -> (Vec3, Vec3) {
        if self.impulse.is_empty() {
            return (Vec3::ZERO, Vec3::ZERO);
        }
        (vec3(&self.impulse, 6 * k + 3), vec3(&self.impulse, 6 * k))
    }

    /// Adds the weights on the impulses of contact `k` along its own directions.
    pub(super) fn add_components(&self, k: usize, by: &mut [f64; WAYS]) {
        by[0] += self.normal.get(k).copied().unwrap_or(0.0);
        let own = self.components.iter().skip(WAYS * k);
        by.iter_mut().zip(own).for_each(|(by, own)| *by += own);
    }
}
