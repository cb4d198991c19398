//! Friction of joints: its pressing force, and the spin radius of a support.

use super::change::InputChange;
use super::prepared::{Derivatives, SupportAt};
use crate::params::StepParams;
use crate::row::RowKey;
use crate::system::System;
use quasistep_model::{JointKind, WORLD};

impl SupportAt {
    /// True if the load depends on the configuration.
    pub fn turns(&self, system: &System) -> bool {
        self.load.per_mass > 0.0 && system.model.body(self.body).parent != WORLD
    }

    /// Bodies whose weight is part of the load, and the derivative of the load by their mass, in
    /// N/kg.
    fn carried<'a>(&'a self, system: &'a System) -> impl Iterator<Item = (usize, f64)> + 'a {
        let (model, per_mass) = (&system.model, self.load.per_mass);
        let carried = (self.body..model.n_bodies()).filter(|b| model.is_carried(*b, self.body));
        let shares = carried.map(move |b| (b, per_mass * model.body(b).gravity));
        shares.filter(|(_, by_mass)| *by_mass != 0.0)
    }
}

impl Derivatives {
    /// Collects all supports with friction.
    pub(super) fn collect_supports(&mut self, system: &System, params: &StepParams) {
        let Self { supports, work, .. } = self;
        let (model, keys) = (&system.model, &work.problem.keys);
        let slides = system.friction_dofs.iter().map(|dof| system.body_of_dof[*dof]);
        let planes = slides.clone().map(|_| false).chain(system.planes.iter().map(|_| true));
        let bodies = slides.chain(system.planes.iter().copied());
        supports.clear();
        for ((body, of_plane), own) in bodies.zip(planes).zip(system.block_of_variable.len()..) {
            let mu = system.mu_of_support(body);
            // dry friction of a planar joint's dofs is not friction of a support
            let of_slide = matches!(model.body(body).joint, JointKind::Prismatic { .. });
            if mu == 0.0 || !(of_plane || of_slide) {
                continue;
            }
            let mine = |key: &RowKey| matches!(key, RowKey::Support { body: b, .. } if *b as usize == body);
            let first = keys.iter().position(mine).unwrap_or(keys.len());
            let n = keys[first..].iter().take_while(|key| mine(key)).count();
            let load = model.support_load(&work.scan.kin, body, params.gravity.into());
            supports.push(SupportAt { body, own, mu, load, rows: first..first + n });
        }
    }

    /// Changes of the forces on the pressing variables (`forces`).
    pub(super) fn change_of_pressing(&mut self, system: &System, change: &InputChange) {
        let (h, dh) = (self.time_step, change.time_step);
        let Self { scratch: s, work, supports, .. } = self;
        // the pressing variable has the cost h tau_f for dry friction, h mu N for a support
        let bounds = system.friction_dofs.iter().map(|dof| work.load.friction[*dof]);
        let bounds = bounds.chain(work.load.planes.iter().copied());
        let pressing = s.forces.iter_mut().skip(system.block_of_variable.len());
        for (d, bound) in pressing.zip(bounds) {
            *d = -dh * bound;
        }
        for support in supports.iter() {
            let given = |k: usize| change.support.get(3 * support.body + k).copied().unwrap_or(0.0);
            let of_mass = (support.carried(system))
                .filter_map(|(b, by_mass)| Some(by_mass * change.mass.get(b)?))
                .sum::<f64>();
            let of_turn = support.load.by_turn.dot(s.moves[support.body].w_W);
            let dN = given(1) + of_mass + of_turn;
            s.forces[support.own] -= h * (given(0) * support.load.load + support.mu * dN);
        }
    }

    /// Transpose of [`change_of_pressing`](Self::change_of_pressing): adds gradients with respect
    /// to the motion of bodies (`dF`).
    pub(super) fn gradient_of_pressing(&mut self, system: &System, out: &mut InputChange) {
        let h = self.time_step;
        let Self { scratch: s, work, supports, .. } = self;
        let bounds = system.friction_dofs.iter().map(|dof| work.load.friction[*dof]);
        let bounds = bounds.chain(work.load.planes.iter().copied());
        let pressing = s.forces.iter().skip(system.block_of_variable.len());
        out.time_step -= pressing.zip(bounds).map(|(by, bound)| by * bound).sum::<f64>();
        for support in supports.iter() {
            let by = -h * s.forces[support.own];
            let first = 3 * support.body;
            out.support[first] += by * support.load.load;
            out.support[first + 1] += by * support.mu;
            for (b, by_mass) in support.carried(system) {
                out.mass[b] += by * support.mu * by_mass;
            }
            s.dF[support.body].m_Wo_W += support.load.by_turn * (by * support.mu);
        }
    }

    /// Changes of the rotational rows (`rows`, at the least-norm rates `turn`) and of their
    /// generalised forces (`d`).
    pub(super) fn change_of_supports(&mut self, system: &System, change: &InputChange) {
        for (row, theta, per_radius, body) in self.turning_rows(system) {
            let d = per_radius * change.support.get(3 * body + 2).copied().unwrap_or(0.0);
            let Self { scratch: s, work, w, z, .. } = self;
            s.rows[row] += d * work.report.v[theta];
            s.d[theta] += d * z[row];
            if let Some(turn) = s.turn.get_mut(row) {
                *turn += d * w[theta];
            }
        }
    }

    pub(super) fn gradient_of_supports(&mut self, system: &System, out: &mut InputChange) {
        for (row, theta, per_radius, body) in self.turning_rows(system) {
            let Self { scratch: s, work, w, z, .. } = self;
            let turned = s.turn.get(row).map_or(0.0, |turn| turn * w[theta]);
            let by = s.rows[row] * work.report.v[theta] + s.d[theta] * z[row] + turned;
            out.support[3 * body + 2] += per_radius * by;
        }
    }

    /// Rows that resist the rotation of planar joints: row index, rotational dof, push per metre of
    /// the radius, body.
    fn turning_rows(&self, system: &System) -> Vec<(usize, usize, f64, usize)> {
        let pushes = &self.work.problem.supports;
        let first = self.work.problem.keys.len() - pushes.len();
        let mut found = Vec::new();
        for support in &self.supports {
            let radius = system.spin_radius(support.body);
            let theta = system.model.body(support.body).v.start + 2;
            for row in support.rows.clone().filter(|row| pushes[row - first][2] != 0.0) {
                found.push((row, theta, pushes[row - first][2] / radius, support.body));
            }
        }
        found
    }
}
