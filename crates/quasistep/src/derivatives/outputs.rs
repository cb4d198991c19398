//! Outputs of a step from the program's solution: velocity, next configuration and impulses.

use super::change::{InputChange, OutputChange, or_zero, reset};
use super::prepared::{Constants, Derivatives};
use crate::formulation::edges::WAYS;
use crate::system::System;

impl Derivatives {
    /// Velocity and next configuration, from the solution (`dx`) and from known changes (`known`,
    /// `ties`, `b`).
    pub(super) fn change_of_velocity(&mut self, system: &System, dh: f64, out: &mut OutputChange) {
        let (model, h) = (&system.model, self.time_step);
        let n_v = model.n_v();
        let Self { scratch: s, work, .. } = self;
        let v = &work.report.v;
        out.v.clear();
        out.v.extend(
            system.variable_of_dof.iter().zip(&s.known).map(|(variable, known)| {
                variable.map_or(*known, |variable| s.dx[variable as usize])
            }),
        );
        let reduction = &work.load.reduction;
        reduction.follow(&mut out.v);
        reduction.followers.iter().for_each(|f| out.v[f.dof] += s.ties[f.dof]);
        reset(&mut s.d, n_v, 0.0);
        for ((hdv, dv), v) in s.d.iter_mut().zip(&out.v).zip(v) {
            *hdv = h * dv + v * dh;
        }
        reset(&mut out.q_next, n_v, 0.0);
        let Constants { rotations, followed, .. } = &self.constants;
        system.follow_change(v, (*rotations, h), &mut s.d);
        model.integrate_change(followed, h, &s.a, &s.d, &mut out.q_next);
        for (dof, _) in system.commanded_dofs().filter(|(dof, _)| system.is_prescribed(*dof)) {
            out.q_next[dof] = s.b[dof];
        }
    }

    /// Transpose, for weights on velocity and next configuration: weights on the solution (`dx`)
    /// and on known changes (`known`, `ties`), and gradients with respect to the configuration
    /// (`a`) and the command (`b`).
    pub(super) fn gradient_of_velocity(
        &mut self,
        system: &System,
        weights: &OutputChange,
        places: &[(f64, Vec<f64>)],
        out: &mut InputChange,
    ) {
        let (model, h) = (&system.model, self.time_step);
        let n_v = model.n_v();
        let Self { scratch: s, work, .. } = self;
        let v = &work.report.v;
        or_zero(&weights.q_next, n_v, &mut s.dx);
        for (dof, _) in system.commanded_dofs().filter(|(dof, _)| system.is_prescribed(*dof)) {
            s.b[dof] += s.dx[dof];
            s.dx[dof] = 0.0;
        }
        let Constants { rotations, followed, .. } = &self.constants;
        model.integrate_gradient(followed, h, &s.dx, &mut s.a, &mut s.d);
        system.follow_change(v, (*rotations, h), &mut s.d);
        out.time_step += s.d.iter().zip(v).map(|(d, v)| d * v).sum::<f64>();
        // `d`: weights on v
        s.d.iter_mut().for_each(|d| *d *= h);
        for (share, weights) in places {
            self.gradient_of_place(system, *share, weights, out);
        }
        let Self { scratch: s, work, .. } = self;
        if !weights.v.is_empty() {
            s.d.iter_mut().zip(&weights.v).for_each(|(d, w)| *d += w);
        }
        reset(&mut s.ties, n_v, 0.0);
        let reduction = &work.load.reduction;
        reduction.followers.iter().for_each(|f| s.ties[f.dof] = s.d[f.dof]);
        reduction.gather(&mut s.d);
        reset(&mut s.dx, self.x.len(), 0.0);
        for (dof, variable) in system.variable_of_dof.iter().enumerate() {
            match variable {
                Some(variable) => s.dx[*variable as usize] = s.d[dof],
                None => s.known[dof] = s.d[dof],
            }
        }
    }

    /// Rates by which the configuration is integrated; prescribed dofs go straight to their
    /// command.
    pub(super) fn rates(&self, system: &System) -> Vec<f64> {
        let (mut rates, ways) = (self.constants.followed.clone(), &self.work.load.dq_cmd);
        for (dof, _) in system.commanded_dofs().filter(|(dof, _)| system.is_prescribed(*dof)) {
            rates[dof] = ways[dof] / self.time_step;
        }
        rates
    }

    /// Change of the configuration at a share of the motion, from the change `dv` of the velocity
    /// and from results of the last product (`a`, `c`).
    pub(super) fn change_of_place(
        &self,
        system: &System,
        share: f64,
        dv: &[f64],
        dh: f64,
        to: &mut Vec<f64>,
    ) {
        let (h, s, v) = (self.time_step, &self.scratch, &self.work.report.v);
        let mut hdv: Vec<f64> = dv.iter().zip(v).map(|(dv, v)| h * dv + v * dh).collect();
        system.follow_change(v, (self.constants.rotations, h), &mut hdv);
        for (dof, _) in system.commanded_dofs().filter(|(dof, _)| system.is_prescribed(*dof)) {
            hdv[dof] = s.c[dof];
        }
        for d in &mut hdv {
            *d *= share;
        }
        reset(to, hdv.len(), 0.0);
        system.model.integrate_change(&self.rates(system), share * h, &s.a, &hdv, to);
    }

    /// Transpose of [`change_of_place`](Self::change_of_place): adds weights on the velocity (`d`),
    /// and gradients with respect to the configuration (`a`) and the command's displacement (`c`).
    fn gradient_of_place(
        &mut self,
        system: &System,
        share: f64,
        weights: &[f64],
        out: &mut InputChange,
    ) {
        let h = self.time_step;
        let (mut dq, mut d) = (vec![0.0; weights.len()], vec![0.0; weights.len()]);
        let rates = self.rates(system);
        system.model.integrate_gradient(&rates, share * h, weights, &mut dq, &mut d);
        let Self { scratch: s, work, constants, .. } = self;
        for (dof, _) in system.commanded_dofs().filter(|(dof, _)| system.is_prescribed(*dof)) {
            s.c[dof] += share * std::mem::take(&mut d[dof]);
        }
        let v = &work.report.v;
        system.follow_change(v, (constants.rotations, h), &mut d);
        out.time_step += share * d.iter().zip(v).map(|(d, v)| d * v).sum::<f64>();
        s.a.iter_mut().zip(&dq).for_each(|(a, dq)| *a += dq);
        s.d.iter_mut().zip(&d).for_each(|(to, d)| *to += share * h * d);
    }

    /// Impulses of contacts from multipliers (`dz`), pushes (`push`) and frames (`frames`); skipped
    /// unless requested.
    pub(super) fn change_of_impulses(&mut self, impulses: bool, out: &mut OutputChange) {
        let Self { scratch: s, work, .. } = self;
        out.normal.clear();
        out.impulse.clear();
        out.components.clear();
        if !impulses {
            return;
        }
        for (contact, frame) in self.contacts.iter().zip(&s.frames) {
            let mut dlambda = [0.0; WAYS];
            for r in contact.rows.clone() {
                for way in 0..WAYS {
                    dlambda[way] +=
                        s.dz[r] * work.problem.pushes[r][way] + self.z[r] * s.push[r][way];
                }
            }
            let ((f, m), (df, dm)) = (contact.force(&dlambda), contact.force_change(frame));
            out.normal.push(dlambda[0]);
            out.impulse.extend((m + dm).to_array());
            out.impulse.extend((f + df).to_array());
            // a unit of a multiplier turns with the radius of an area
            dlambda[3] += frame.spin * contact.lambda[3];
            out.components.extend(dlambda);
        }
    }

    /// Transpose: weights on multipliers (`dz`) for weights on impulses.
    pub(super) fn gradient_of_impulses(&mut self, weights: &OutputChange) {
        let Self { scratch: s, work, .. } = self;
        reset(&mut s.dz, self.z.len(), 0.0);
        for (k, contact) in self.contacts.iter().enumerate() {
            let (f, m) = weights.of_impulse(k);
            let mut by = contact.along(f, m);
            weights.add_components(k, &mut by);
            for r in contact.rows.clone() {
                s.dz[r] = (0..WAYS).map(|w| by[w] * work.problem.pushes[r][w]).sum();
            }
        }
    }
}
