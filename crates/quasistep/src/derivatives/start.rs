//! Start velocity of a dynamic step: velocity-product forces, and impacts with restitution.

use super::change::{InputChange, or_zero, reset, vec3};
use super::loads::add3;
use super::prepared::Derivatives;
use crate::params::StepParams;
use crate::system::System;
use quasistep_math::{Mat3, Vec3};
use quasistep_model::{MotionChange, MotionGradient, SpatialForce, Twist};

/// Product of an inertia, given by six numbers in body axes, with a vector, both in W.
fn inertia_times(dI: &[f64], R: &Mat3, x: Vec3) -> Vec3 {
    let [x, y, z] = (R.transpose() * x).to_array();
    let [xx, yy, zz, xy, xz, yz] = std::array::from_fn(|k| dI[k]);
    let l = [xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z];
    *R * Vec3::from(l)
}

impl Derivatives {
    pub(super) fn collect_start(&mut self, system: &System, params: &StepParams) {
        let Self { start: at, work, .. } = self;
        at.carried = params.formulation.carries_velocity();
        if !at.carried {
            return;
        }
        let (model, kin) = (&system.model, &work.scan.kin);
        at.v.clone_from(&work.load.v_start);
        reset(&mut at.V, model.n_bodies(), Twist::ZERO);
        reset(&mut at.A, model.n_bodies(), Twist::ZERO);
        model.twists(kin, &at.v, &mut at.V);
        model.twist_changes(kin, &at.v, &at.V, &at.v, &mut at.A);
        at.forces.clear();
        let bodies = at.V.iter().zip(&at.A).enumerate();
        at.forces.extend(bodies.map(|(body, (V, A))| model.velocity_force_of(kin, body, V, A)));
    }

    /// Adds the velocity-product forces to the forces on bodies.
    pub(super) fn add_velocity_forces(&mut self, system: &System) {
        if self.start.carried {
            debug_assert_eq!(self.forces.len(), system.model.n_bodies());
            for (force, of_velocity) in self.forces.iter_mut().zip(&self.start.forces) {
                *force += of_velocity.map_or(SpatialForce::ZERO, |f| f.force());
            }
        }
    }

    /// Changes of the velocity at the start (`start`), and of the velocity-product forces on bodies
    /// (`dF`).
    pub(super) fn change_of_start(&mut self, system: &System, change: &InputChange) {
        let Self { scratch: s, work, start: at, time_step: h, .. } = self;
        if !at.carried {
            return;
        }
        let (model, kin) = (&system.model, &work.scan.kin);
        let (n_v, n_bodies) = (model.n_v(), model.n_bodies());
        let own = &mut s.start;
        or_zero(&change.v, n_v, &mut own.v);
        for twists in [&mut own.known, &mut own.dV, &mut own.dA, &mut own.moves] {
            reset(twists, n_bodies, Twist::ZERO);
        }
        model.twists(kin, &own.v, &mut own.moves);
        model.twists(kin, &s.known, &mut own.known);
        own.known.iter_mut().zip(&own.moves).for_each(|(known, start)| *known += *start * -1.0);
        model.twist_changes(kin, &s.a, &s.moves, &at.v, &mut own.dV);
        own.dV.iter_mut().zip(&own.moves).for_each(|(dV, start)| *dV += *start);
        let motion = MotionChange { dq: &s.a, moves: &s.moves, rates: &own.v, dV: &own.dV };
        model.acceleration_changes(kin, &at.v, &at.V, &motion, &mut own.dA);
        for (body, force) in at.forces.iter().enumerate() {
            let Some(force) = force else { continue };
            let R = kin.X_WB[body].rotation.to_matrix();
            let shift =
                if change.com.is_empty() { Vec3::ZERO } else { R * vec3(&change.com, 3 * body) };
            let mut by = force.change(&s.moves[body], shift, &own.dV[body], &own.dA[body]);
            if let Some(dm) = change.mass.get(body) {
                by += force.force() * (dm / model.body(body).inertia.mass);
            }
            if let Some(dI) = change.inertia.get(6 * body..6 * body + 6) {
                by.m_Wo_W += force.change_by_inertia(|x| inertia_times(dI, &R, x));
            }
            s.dF[body] += by * *h;
        }
    }

    /// Transpose, for weights on forces on bodies (`moves`): weights on twists at the start and on
    /// their rates (`start`), and gradients with respect to the motion of bodies (`dF`).
    pub(super) fn gradient_of_start(&mut self, system: &System, out: &mut InputChange) {
        let Self { scratch: s, work, start: at, time_step: h, .. } = self;
        if !at.carried {
            return;
        }
        let (model, kin) = (&system.model, &work.scan.kin);
        let own = &mut s.start;
        for weights in [&mut own.to_V, &mut own.to_A] {
            reset(weights, model.n_bodies(), SpatialForce::ZERO);
        }
        for (body, force) in at.forces.iter().enumerate() {
            let Some(force) = force else { continue };
            let weight = s.moves[body] * *h;
            let ([by_move, by_V, by_A], by_shift) = force.gradient(&weight);
            s.dF[body] += by_move;
            own.to_V[body] += by_V;
            own.to_A[body] += by_A;
            let R = kin.X_WB[body].rotation.to_matrix();
            add3(&mut out.com, 3 * body, R.transpose() * by_shift);
            out.mass[body] += weight.dot(&force.force()) / model.body(body).inertia.mass;
            for (y, x) in force.gradient_by_inertia(weight.w_W) {
                let [y, x] = [y, x].map(|v| (R.transpose() * v).to_array());
                for (k, to) in out.inertia[6 * body..6 * body + 6].iter_mut().enumerate() {
                    let (i, j) = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)][k];
                    *to += if i == j { y[i] * x[i] } else { y[i] * x[j] + y[j] * x[i] };
                }
            }
        }
    }

    /// Transpose, for weights on twists at the start and on their rates (`start`): adds gradients
    /// with respect to configuration and velocity.
    pub(super) fn gradient_of_start_motion(&mut self, system: &System, out: &mut InputChange) {
        let Self { scratch: s, work, start: at, .. } = self;
        if !at.carried {
            return;
        }
        let (model, kin, own) = (&system.model, &work.scan.kin, &mut s.start);
        let mut to =
            MotionGradient { dq: &mut s.a, moves: &mut s.dF, rates: &mut out.v, dV: &mut own.to_V };
        model.gradient_of_acceleration_changes(kin, &at.v, &at.V, &mut own.to_A, &mut to);
        model.gradient_of_twist_changes(kin, &at.v, &mut own.to_V, &mut s.a, &mut s.dF);
        model.add_generalised(kin, &own.to_V, &mut out.v);
    }
}
