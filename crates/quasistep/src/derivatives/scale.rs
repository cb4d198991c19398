//! Derivatives of the scale of passive mass, tree by tree.
//!
//! ```text
//! δ(ε M v) = ε δ(M v) + ε M v δ log ε
//! ε = h/τ:               δ log ε = δh/h − δτ/τ
//! ε = h² K / (s M_kk):   δ log ε = 2 δh/h + δK/K − δM_kk/M_kk
//! ```
//!
//! Here `M_kk = e · M e`, with the unit rate `e` of one dof in each tree. Its change is twice that
//! of the kinetic energy at the rates `e`. The dof with the largest entry and the softest spring
//! are kept fixed; if several are equal, the first is used.

use super::change::{InputChange, reset};
use crate::system::System;

/// Scale of passive mass in a step.
#[derive(Clone, Debug, Default)]
pub(super) struct ScaleAt {
    /// False if mass is not scaled; then only `of_body` is read.
    pub on: bool,
    /// `ε` of each body's tree; 1 if mass is not scaled.
    pub of_body: Vec<f64>,
    /// `∂ log ε/∂h`, in 1/s.
    pub log_by_h: f64,
    /// `∂ log ε/∂τ`, in 1/s; 0 without a relaxation time.
    pub log_by_relaxation: f64,
    /// `ε M v` of the passive dofs, over dofs, in N·s or N·m·s.
    pub impulse: Vec<f64>,
    /// `∂ log ε/∂q` of the tree of each dof, in 1/rad or 1/m.
    pub log_by_q: Vec<f64>,
    /// `∂ log ε/∂m` of the tree of each body, in 1/kg.
    pub log_by_mass: Vec<f64>,
    /// Index of the softest spring among the commanded dofs, and its stiffness.
    pub softest: Option<(usize, f64)>,
    /// `δ log ε`, or a weight on it, per tree.
    log: Vec<f64>,
}

impl ScaleAt {
    /// Subtracts the change of the scaled mass from the balance `d` of each dof, for a change of
    /// the inputs; empty vectors are zero.
    pub fn change(
        &mut self,
        system: &System,
        trees: &[usize],
        change: &InputChange,
        d: &mut [f64],
    ) {
        let at = |of: &[f64], k: usize| of.get(k).copied().unwrap_or(0.0);
        let stiffness = self.softest.map_or(0.0, |(cmd, K)| at(&change.stiffness, cmd) / K);
        let all = self.log_by_h * change.time_step
            + self.log_by_relaxation * change.relaxation
            + stiffness;
        reset(&mut self.log, 1 + trees.iter().max().copied().unwrap_or(0), all);
        for (dof, by) in self.log_by_q.iter().enumerate() {
            self.log[trees[system.body_of_dof[dof]]] += by * at(&change.q, dof);
        }
        for (body, by) in self.log_by_mass.iter().enumerate() {
            self.log[trees[body]] += by * at(&change.mass, body);
        }
        for (dof, d) in d.iter_mut().enumerate() {
            *d -= self.impulse[dof] * self.log[trees[system.body_of_dof[dof]]];
        }
    }

    /// Transpose of [`change`](Self::change), for weights `d` on the balance of each dof: adds to
    /// the gradient, and to `to_q` for the configuration.
    pub fn gradient(
        &mut self,
        system: &System,
        trees: &[usize],
        d: &[f64],
        to: &mut InputChange,
        to_q: &mut [f64],
    ) {
        reset(&mut self.log, 1 + trees.iter().max().copied().unwrap_or(0), 0.0);
        for (dof, d) in d.iter().enumerate() {
            self.log[trees[system.body_of_dof[dof]]] -= self.impulse[dof] * d;
        }
        for (dof, by) in self.log_by_q.iter().enumerate() {
            to_q[dof] += by * self.log[trees[system.body_of_dof[dof]]];
        }
        for (body, by) in self.log_by_mass.iter().enumerate() {
            to.mass[body] += by * self.log[trees[body]];
        }
        let all: f64 = self.log.iter().sum();
        to.time_step += self.log_by_h * all;
        to.relaxation += self.log_by_relaxation * all;
        if let Some((cmd, K)) = self.softest {
            to.stiffness[cmd] += all / K;
        }
    }

    /// `∂(−ε M v)/∂ log ε · ∂ log ε/∂q` of two dofs of one tree.
    pub fn entry(&self, row: usize, column: usize) -> f64 {
        -self.impulse[row] * self.log_by_q[column]
    }
}
