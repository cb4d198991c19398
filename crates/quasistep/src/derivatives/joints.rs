//! Effects along single dofs: limits, springs, dampers and external generalised forces.

use super::change::InputChange;
use super::contacts::{is_at_bound, is_bounded};
use super::prepared::{Derivatives, LimitAt, SpringAt};
use crate::formulation::problem::limit_unit;
use crate::params::StepParams;
use crate::row::RowKey;
use crate::system::{DampingOn, Role, System};

impl Derivatives {
    /// Collects all joint limits with rows.
    pub(super) fn collect_limits(&mut self, system: &System, params: &StepParams) {
        let h = params.time_step;
        self.limits.clear();
        for (row, key) in self.work.problem.keys.iter().enumerate() {
            let (index, sign) = match key {
                RowKey::LowerLimit { limit } => (*limit, 1.0),
                RowKey::UpperLimit { limit } => (*limit, -1.0),
                RowKey::Contact { .. } | RowKey::JointFriction { .. } | RowKey::Support { .. } => {
                    continue;
                }
            };
            let limit = &system.model.limits()[index as usize];
            let q = self.q[limit.q_index as usize];
            let gap = if sign > 0.0 { q - limit.lower } else { limit.upper - q };
            let (mut per_gap, mut per_h) = (1.0 / h, -gap / (h * h));
            if is_bounded(gap, params) {
                (per_gap, per_h) = (0.0, 0.0);
            }
            self.kinks.recovery += u32::from(is_at_bound(gap, params));
            let unit = limit_unit(gap, params);
            let (sign, per_h) = (unit * sign, unit * per_h);
            self.limits.push(LimitAt { row, dof: limit.dof as usize, sign, per_gap, per_h });
        }
    }

    /// Collects the springs of actuated dofs, and which of them are at their force limit.
    pub(super) fn collect_springs(&mut self, system: &System, h: f64) {
        let (load, v, sensitivity) = (&self.work.load, &self.work.report.v, &self.sensitivity);
        self.springs.clear();
        let mut saturation = 0;
        // limited springs are stored in the order of the dofs
        let mut is_limited = || {
            saturation += 1;
            sensitivity.is_limited(saturation - 1)
        };
        for (dof, cmd) in self.matrices.trees.cmd_of_dof.iter().enumerate() {
            let Some(cmd) = *cmd else { continue };
            let body = system.body_of_dof[dof];
            let k = dof - system.model.body(body).v.start;
            let Role::Actuated(actuator) = &system.roles[body] else { continue };
            let (K, D, limit) =
                (actuator.stiffness[k], actuator.damping[k], actuator.effort_limit[k]);
            let stretch = load.dq_cmd[dof] - h * v[dof];
            let on_error = actuator.damping_on == DampingOn::CommandError;
            let mut spring = SpringAt {
                dof,
                cmd,
                stiffness: K,
                damping: D,
                stretch,
                rate: if on_error { load.v_cmd[dof] } else { 0.0 } - v[dof],
                on_error,
                limits: limit.is_finite() && K > 0.0,
                limited: None,
            };
            if spring.limits && is_limited() {
                spring.limited = Some(limit.copysign(stretch));
            }
            self.springs.push(spring);
        }
    }

    /// Changes of the rows of joint limits (`rows`).
    pub(super) fn change_of_limits(&mut self, dh: f64) {
        let s = &mut self.scratch;
        for limit in &self.limits {
            s.rows[limit.row] = limit.sign * limit.per_gap * s.a[limit.dof] + limit.per_h * dh;
        }
    }

    pub(super) fn gradient_of_limits(&mut self, out: &mut InputChange) {
        let s = &mut self.scratch;
        for limit in &self.limits {
            let by = s.rows[limit.row];
            s.a[limit.dof] += by * limit.sign * limit.per_gap;
            out.time_step += by * limit.per_h;
        }
    }

    /// Changes of external generalised forces on dofs (`d`).
    pub(super) fn change_of_tau(&mut self, change: &InputChange) {
        let (h, dh, d) = (self.time_step, change.time_step, &mut self.scratch.d);
        d.iter_mut().zip(&change.tau).for_each(|(d, tau)| *d += h * tau);
        d.iter_mut().zip(&self.constants.tau).for_each(|(d, tau)| *d += dh * tau);
    }

    pub(super) fn gradient_of_tau(&mut self, out: &mut InputChange) {
        let (h, d) = (self.time_step, &self.scratch.d);
        out.tau.iter_mut().zip(d).for_each(|(tau, by)| *tau = h * by);
        out.time_step += self.constants.tau.iter().zip(d).map(|(tau, by)| tau * by).sum::<f64>();
    }

    /// Changes of the forces of dampers of joints on dofs (`d`).
    pub(super) fn change_of_damping(&mut self, system: &System, dh: f64) {
        let Self { scratch: s, work, .. } = self;
        for (dof, (d, damping)) in s.d.iter_mut().zip(system.model.damping()).enumerate() {
            *d -= dh * damping * work.report.v[dof];
        }
    }

    pub(super) fn gradient_of_damping(&mut self, system: &System, out: &mut InputChange) {
        let Self { scratch: s, work, .. } = self;
        for (dof, (by, damping)) in s.d.iter().zip(system.model.damping()).enumerate() {
            out.time_step -= by * damping * work.report.v[dof];
        }
    }

    /// Changes of the forces of drives on dofs (`d`).
    pub(super) fn change_of_springs(&mut self, change: &InputChange) {
        let (h, dh) = (self.time_step, change.time_step);
        let Self { scratch: s, work, .. } = self;
        for spring in &self.springs {
            let at = |v: &[f64]| v.get(spring.cmd).copied().unwrap_or(0.0);
            let rate = if spring.on_error { at(&change.v_cmd) } else { 0.0 };
            s.d[spring.dof] += (h * at(&change.damping) + dh * spring.damping) * spring.rate
                + h * spring.damping * rate;
            s.d[spring.dof] += if let Some(force) = spring.limited {
                dh * force
            } else {
                // h K (Δq_cmd − h v)
                let stretch = s.c[spring.dof] - work.report.v[spring.dof] * dh;
                (h * at(&change.stiffness) + dh * spring.stiffness) * spring.stretch
                    + h * spring.stiffness * stretch
            };
        }
    }

    /// Transpose of the springs' change: weights on the command's difference from the configuration
    /// go to `c`.
    pub(super) fn gradient_of_springs(&mut self, out: &mut InputChange) {
        let h = self.time_step;
        let Self { scratch: s, work, .. } = self;
        for spring in &self.springs {
            let (by, cmd) = (s.d[spring.dof], spring.cmd);
            out.damping[cmd] += by * h * spring.rate;
            out.time_step += by * spring.damping * spring.rate;
            if spring.on_error {
                out.v_cmd[cmd] += by * h * spring.damping;
            }
            if let Some(force) = spring.limited {
                out.time_step += by * force;
            } else {
                let by_stretch = by * h * spring.stiffness;
                out.stiffness[cmd] += by * h * spring.stretch;
                out.time_step +=
                    by * spring.stiffness * spring.stretch - by_stretch * work.report.v[spring.dof];
                s.c[spring.dof] += by_stretch;
            }
        }
    }
}
