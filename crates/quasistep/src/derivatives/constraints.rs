//! Dependent dofs of constraints, and the constraint forces.

use super::change::{InputChange, reset};
use super::constraint::{
    ConstraintAt, Moves, Weights, add_force_changes, add_forces, add_rows,
    gradient_of_force_changes, gradient_of_rate_changes, rate_changes,
};
use super::prepared::{Derivatives, TIE};
use crate::system::System;
use quasistep_model::SpatialForce;

impl Derivatives {
    /// Adds `s P x` to `to`, both over dofs, for all blocks with dependent dofs.
    pub(super) fn add_cost(&self, system: &System, s: f64, x: &[f64], to: &mut [f64]) {
        let whole = self.work.problem.whole();
        let mut last = None;
        for follower in &self.work.load.reduction.followers {
            let block = follower.block;
            if last.replace(block) == Some(block) {
                continue;
            }
            let dofs = self.matrices.trees.variables_of_block(system, block);
            for (row, dof) in dofs.iter().enumerate() {
                let P = whole.P_row(block, row).iter().zip(dofs);
                to[*dof] += s * P.map(|(P, dof)| P * x[*dof]).sum::<f64>();
            }
        }
        // springs below their force limit
        let stiff = self.springs.iter().filter(|spring| spring.limits && spring.limited.is_none());
        for spring in stiff {
            to[spring.dof] += s * self.time_step.powi(2) * spring.stiffness * x[spring.dof];
        }
    }

    /// Collects constraints with their impulses at the solution, which follow from the force
    /// balance of dependent dofs. Adds them to the impulses on bodies.
    pub(super) fn collect_constraints(&mut self, system: &System, most: f64) {
        self.constraints.clear();
        self.springs.clear();
        if system.constraints.is_empty() {
            return;
        }
        let work = &self.work;
        let (whole, reduction, v) = (work.problem.whole(), &work.load.reduction, &work.report.v);
        let mut balance = vec![0.0; v.len()];
        self.add_cost(system, 1.0, v, &mut balance);
        let mut pushed = vec![0.0; v.len()];
        add_forces(whole, reduction, &self.z, &mut pushed);
        for follower in &reduction.followers {
            let c = whole.c_of(follower.block)[follower.at];
            let springs = whole.saturations().iter().filter(|s| s.index == follower.variable);
            let pull = springs.map(|s| s.gradient(v[follower.dof]));
            balance[follower.dof] += c + pull.sum::<f64>() - pushed[follower.dof];
        }
        let mut mu = Vec::new();
        reduction.multipliers(&balance, &mut mu);
        let mut recovery = 0;
        for (k, held) in system.constraints.iter().enumerate() {
            let at = ConstraintAt::new(held, reduction, k, &mu, self.found.contains(&k));
            for (error, bound) in at.error.iter().zip([most * self.time_step; 2]) {
                recovery += u32::from((error.norm() / bound - 1.0).abs() <= TIE);
            }
            let [a, b] = at.bodies;
            let force = SpatialForce::at(at.p[1], at.force, at.torque);
            self.forces[b] += force;
            self.forces[a] += force * -1.0;
            self.constraints.push(at);
        }
        self.kinks.recovery += recovery;
    }

    /// Changes of constraint forces on bodies (`dF`), and of rows of contacts and limits due to
    /// dependent dofs (`rows`, and at the least-norm rates `turn`).
    pub(super) fn change_of_constraints(&mut self, system: &System, impulses: bool) {
        let Self { scratch: s, work, constraints, .. } = self;
        let reduction = &work.load.reduction;
        add_force_changes(constraints, &s.moves, &mut s.dF);
        if reduction.is_empty() {
            return;
        }
        let whole = work.problem.whole();
        add_rows(whole, reduction, &s.ties, &mut s.rows);
        if impulses {
            let (V, dV) = (&self.W, &s.dV2);
            let m = Moves { dq: &s.a, bodies: &s.moves, V, dV, known: &s.known };
            rate_changes(constraints, &m, None, &mut s.rates);
            reset(&mut s.forces, system.model.n_v(), 0.0);
            reduction.add_rates(&s.rates, &mut s.forces);
            add_rows(whole, reduction, &s.forces, &mut s.turn);
        }
    }

    /// Subtracts the change of the cost's gradient due to dependent dofs (`P · ties`) from the force
    /// changes (`d`). Then moves the force changes of dependent dofs to the independent ones.
    pub(super) fn change_of_followers(&mut self, system: &System) {
        if self.constraints.is_empty() {
            return;
        }
        let mut d = std::mem::take(&mut self.scratch.d);
        self.add_cost(system, -1.0, &self.scratch.ties, &mut d);
        self.work.load.reduction.gather(&mut d);
        self.scratch.d = d;
    }

    /// Gradient with respect to the inputs of the constraint rows. Weights are on the velocities of
    /// dependent dofs (`scratch.ties`) and on the program's rows and forces, also in the scratch
    /// memory.
    pub(super) fn gradient_of_constraints(&mut self, system: &System, out: &mut InputChange) {
        if self.constraints.is_empty() {
            return;
        }
        let (mut y, d) = (std::mem::take(&mut self.scratch.ties), &self.scratch.d);
        let mut pulled = vec![0.0; y.len()];
        self.add_cost(system, -1.0, d, &mut pulled);
        let reduction = &self.work.load.reduction;
        for follower in &reduction.followers {
            y[follower.dof] += pulled[follower.dof];
        }
        add_forces(self.work.problem.whole(), reduction, &self.scratch.rows, &mut y);
        reduction.multipliers(&y, &mut self.scratch.rates);
        self.scratch.ties = y;
        let Self { scratch: s, constraints, V, .. } = self;
        let mut to = Weights {
            motion: &mut s.dF,
            dq: &mut s.a,
            twist: &mut s.dF2,
            known: &mut s.known,
            time_step: &mut out.time_step,
        };
        gradient_of_rate_changes(constraints, V, Some(self.time_step), &s.rates, &mut to);
        gradient_of_force_changes(constraints, &s.moves, &mut s.dF);
    }

    /// Transpose for weights on the rows at the least-norm rates (`turn`): gradients with respect
    /// to changes of their twists (`to_W`) and to the motion of bodies.
    pub(super) fn gradient_of_turned_constraints(&mut self, impulses: bool) {
        if self.constraints.is_empty() || !impulses {
            return;
        }
        let Self { scratch: s, constraints, W, work, .. } = self;
        let mut y = vec![0.0; s.ties.len()];
        let reduction = &work.load.reduction;
        add_forces(work.problem.whole(), reduction, &s.turn, &mut y);
        reduction.multipliers(&y, &mut s.rates);
        let mut nothing = 0.0;
        let mut to = Weights {
            motion: &mut s.dF,
            dq: &mut s.a,
            twist: &mut s.to_W,
            known: &mut s.known,
            time_step: &mut nothing,
        };
        gradient_of_rate_changes(constraints, W, None, &s.rates, &mut to);
    }
}
