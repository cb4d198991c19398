//! The command: its difference from the configuration, the rates of prescribed dofs, and the
//! resulting twists.

use super::change::{InputChange, reset};
use super::constraint::{self, Moves};
use super::prepared::Derivatives;
use crate::system::System;
use quasistep_model::Twist;

impl Derivatives {
    /// Computes changes of the command (`b`), of its difference from the configuration (`c`) and of
    /// known rates (`known`), over dofs.
    pub(super) fn change_of_command(&mut self, system: &System, change: &InputChange) {
        let (model, h, dh) = (&system.model, self.time_step, change.time_step);
        let n_v = model.n_v();
        let Self { scratch: s, work, .. } = self;
        reset(&mut s.b, n_v, 0.0);
        if !change.q_cmd.is_empty() {
            for (dof, cmd) in system.commanded_dofs() {
                s.b[dof] = change.q_cmd[cmd];
            }
        }
        reset(&mut s.c, n_v, 0.0);
        model.difference_change(&self.q, &self.q_target, &s.a, &s.b, &mut s.c);
        reset(&mut s.known, n_v, 0.0);
        for (dof, cmd) in system.commanded_dofs().filter(|(dof, _)| system.is_prescribed(*dof)) {
            s.known[dof] = if self.constants.secant {
                (s.c[dof] - work.report.v[dof] * dh) / h
            } else {
                change.v_cmd.get(cmd).copied().unwrap_or(0.0)
            };
        }
    }

    /// Transpose of the command's change. Inputs are weights on known rates (`known`, and as
    /// motions of bodies in `forces`), on the difference (`c`) and on the command (`b`).
    pub(super) fn gradient_of_command(&mut self, system: &System, out: &mut InputChange) {
        let (model, h) = (&system.model, self.time_step);
        let n_v = model.n_v();
        let Self { scratch: s, work, .. } = self;
        for (dof, cmd) in system.commanded_dofs().filter(|(dof, _)| system.is_prescribed(*dof)) {
            let by = s.known[dof] + s.forces[dof];
            if self.constants.secant {
                s.c[dof] += by / h;
                out.time_step -= by * work.report.v[dof] / h;
            } else {
                out.v_cmd[cmd] += by;
            }
        }
        reset(&mut s.d, n_v, 0.0);
        reset(&mut s.forces, n_v, 0.0);
        model.difference_gradient(&self.q, &self.q_target, &s.c, &mut s.forces, &mut s.d);
        s.a.iter_mut().zip(&s.forces).for_each(|(a, f)| *a += f);
        s.b.iter_mut().zip(&s.d).for_each(|(b, d)| *b += d);
        for (dof, cmd) in system.commanded_dofs() {
            out.q_cmd[cmd] = s.b[dof];
        }
    }

    /// Changes of the twists of bodies at fixed unknown rates: at the rates of the step (`dV`) and,
    /// if impulses are requested, at the least-norm rates (`dV2`). Then the changes of dependent
    /// dofs' rates (`ties`).
    pub(super) fn change_of_twists(&mut self, system: &System, dh: f64, impulses: bool) {
        let (model, h) = (&system.model, self.time_step);
        let (n_v, n_bodies) = (model.n_v(), model.n_bodies());
        let Self { scratch: s, work, constraints, .. } = self;
        let kin = &work.scan.kin;
        for twists in [&mut s.dV, &mut s.dV2] {
            reset(twists, n_bodies, Twist::ZERO);
        }
        model.twist_changes(kin, &s.a, &s.moves, &work.report.v, &mut s.dV);
        model.twists(kin, &s.known, &mut s.dV2);
        s.dV.iter_mut().zip(&s.dV2).for_each(|(d, k)| *d += *k);
        reset(&mut s.ties, n_v, 0.0);
        if !constraints.is_empty() {
            let (V, dV) = (&self.V, &s.dV);
            let m = Moves { dq: &s.a, bodies: &s.moves, V, dV, known: &s.known };
            constraint::rate_changes(constraints, &m, Some((h, dh)), &mut s.rates);
            work.load.reduction.add_rates(&s.rates, &mut s.ties);
        }
        if impulses {
            model.twist_changes(kin, &s.a, &s.moves, &self.w, &mut s.dV2);
        }
    }

    /// Transpose of the twists' change, for weights on the step's twists (`dF2`) and on the
    /// least-norm twists (`to_W`).
    pub(super) fn gradient_of_twists(&mut self, system: &System, impulses: bool) {
        let model = &system.model;
        let Self { scratch: s, work, .. } = self;
        let kin = &work.scan.kin;
        if impulses {
            model.gradient_of_twist_changes(kin, &self.w, &mut s.to_W, &mut s.a, &mut s.dF);
        }
        model.gradient_of_twist_changes(kin, &work.report.v, &mut s.dF2, &mut s.a, &mut s.dF);
        // known rates move bodies too
        reset(&mut s.forces, model.n_v(), 0.0);
        model.add_generalised(kin, &s.dF2, &mut s.forces);
    }
}
