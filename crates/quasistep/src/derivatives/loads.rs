//! Forces on bodies other than contacts: weight, wrenches and Cartesian springs.

use super::change::{InputChange, reset, vec3};
use super::prepared::Derivatives;
use crate::cartesian::Six;
use crate::load::Drive;
use crate::params::{PrescribedRate, StepParams};
use crate::system::System;
use quasistep_math::Vec3;
use quasistep_model::SpatialForce;

/// Adds a vector to three consecutive entries.
pub(super) fn add3(to: &mut [f64], at: usize, by: Vec3) {
    to[at..at + 3].iter_mut().zip(by.to_array()).for_each(|(to, by)| *to += by);
}

impl Derivatives {
    /// Collects input data that derivatives keep fixed, and the loads on bodies: `per_h`, and their
    /// impulses in a step.
    pub(super) fn collect_loads(
        &mut self,
        system: &System,
        input: &Drive<'_>,
        params: &StepParams,
    ) {
        let (model, h) = (&system.model, params.time_step);
        let (work, kin) = (&self.work, &self.work.scan.kin);
        self.constants.gravity = params.gravity;
        self.constants.secant = params.prescribed_rate == PrescribedRate::Secant;
        reset(&mut self.forces, model.n_bodies(), SpatialForce::ZERO);
        let weight = Vec3::from(params.gravity);
        for (body, force) in model.bodies().iter().zip(&mut self.forces) {
            force.f_W = weight * body.weight_mass();
        }
        for (force, p) in self.forces.iter_mut().zip(&kin.p_WBcm) {
            force.m_Wo_W = p.cross(force.f_W);
        }
        self.constants.wrenches.clear();
        for wrench in input.wrenches {
            let p_W = kin.X_WB[wrench.body].transform_point(wrench.p_B);
            self.constants.wrenches.push((wrench.body, p_W, wrench.force_W));
            self.forces[wrench.body] += SpatialForce::at(p_W, wrench.force_W, wrench.torque_W);
        }
        for spring in &work.load.cartesian {
            let V = self.V[spring.body];
            let V_F = Six(V.w_W, V.at(spring.p_WF));
            self.forces[spring.body] += spring.on_body(V_F, h);
        }
        self.add_velocity_forces(system);
        self.constants.tau.clear();
        self.constants.tau.extend_from_slice(input.tau);
        self.per_h.clone_from(&self.forces);
        self.forces.iter_mut().for_each(|f| *f = *f * h);
    }

    /// Changes of all forces on bodies, including contacts and constraints (`dF`), as generalised
    /// forces (`d`).
    pub(super) fn change_of_loads(&mut self, system: &System, change: &InputChange) {
        let (model, h, dh) = (&system.model, self.time_step, change.time_step);
        let Self { scratch: s, work, .. } = self;
        let kin = &work.scan.kin;
        let g = Vec3::from(self.constants.gravity);
        for (i, body) in model.bodies().iter().enumerate() {
            let p = kin.p_WBcm[i];
            let mut f = SpatialForce::ZERO;
            if body.gravity != 0.0 {
                f.m_Wo_W = s.moves[i].at(p).cross(g) * (h * body.weight_mass());
                if let Some(dm) = change.mass.get(i) {
                    f += SpatialForce::at(p, g * (h * body.gravity * dm), Vec3::ZERO);
                }
                if !change.com.is_empty() {
                    let dp = kin.X_WB[i].rotation.rotate(vec3(&change.com, 3 * i));
                    f.m_Wo_W += dp.cross(g * (h * body.weight_mass()));
                }
            }
            if !change.wrench.is_empty() {
                let (m, by) = (vec3(&change.wrench, 6 * i), vec3(&change.wrench, 6 * i + 3));
                f += SpatialForce::at(kin.X_WB[i].translation, by * h, m * h);
            }
            s.dF[i] += f + self.per_h[i] * dh;
        }
        for (body, p_W, force) in &self.constants.wrenches {
            s.dF[*body].m_Wo_W += s.moves[*body].at(*p_W).cross(*force) * h;
        }
        for (pull, at) in work.load.cartesian.iter().zip(system.rates_of_springs()) {
            let commanded = change.q_cmd.get(at).map_or(Six::ZERO, Six::from_slice);
            let b = pull.body;
            s.dF[b] += pull.change(s.moves[b], self.V[b], s.dV[b], commanded, h, dh);
        }
        model.gather(&mut s.dF);
        reset(&mut s.d, model.n_v(), 0.0);
        model.add_turned_generalised(kin, &s.a, &s.moves, &self.gathered, &mut s.d);
        model.add_generalised(kin, &s.dF, &mut s.d);
    }

    /// Transpose of the loads' change, for weights on generalised forces (`d`). Computes weights on
    /// forces on bodies (`moves`), and gradients with respect to the motion of bodies (`dF`) and to
    /// their twists (`dF2`).
    pub(super) fn gradient_of_loads(&mut self, system: &System, out: &mut InputChange) {
        let (model, h) = (&system.model, self.time_step);
        let Self { scratch: s, work, .. } = self;
        let kin = &work.scan.kin;
        model.twists(kin, &s.d, &mut s.moves);
        model.gradient_of_turned_generalised(kin, &s.d, &self.gathered, &mut s.a, &mut s.dF);
        let g = Vec3::from(self.constants.gravity);
        for (i, body) in model.bodies().iter().enumerate() {
            let (p, by) = (kin.p_WBcm[i], s.moves[i]);
            if body.gravity != 0.0 {
                out.mass[i] += by.at(p).dot(g) * (h * body.gravity);
                let y = g.cross(by.w_W) * (h * body.weight_mass());
                s.dF[i] += SpatialForce::at(p, y, Vec3::ZERO);
                add3(&mut out.com, 3 * i, kin.X_WB[i].rotation.inverse().rotate(y));
            }
            out.wrench[6 * i..6 * i + 3].copy_from_slice(&(by.w_W * h).to_array());
            let origin = kin.X_WB[i].translation;
            out.wrench[6 * i + 3..6 * i + 6].copy_from_slice(&(by.at(origin) * h).to_array());
            out.time_step += by.dot(&self.per_h[i]);
        }
        for (body, p_W, force) in &self.constants.wrenches {
            let y = force.cross(s.moves[*body].w_W) * h;
            s.dF[*body] += SpatialForce::at(*p_W, y, Vec3::ZERO);
        }
        for (pull, at) in work.load.cartesian.iter().zip(system.rates_of_springs()) {
            let gradient = pull.gradient(s.moves[pull.body], self.V[pull.body], h);
            s.dF[pull.body] += gradient.motion;
            s.dF2[pull.body] += gradient.twist;
            out.q_cmd[at].copy_from_slice(&gradient.command.to_array());
            out.time_step += gradient.time_step;
        }
    }
}
