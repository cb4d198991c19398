//! How the scale of passive mass changes, tree by tree.
//!
//! ```text
//! ε = h² K / (s M_kk),      δ(ε M v) = ε δ(M v) + ε M v δ log ε,      δ log ε = 2 δh/h + δK/K − δM_kk/M_kk
//! ```
//!
//! `M_kk = e · M e` with the unit rate `e` of one dof in each tree, and its change is that of twice the kinetic energy
//! at the rates `e`. Which dof has the largest entry, and which spring is the softest, does not change; of equal ones it is
//! the first.

use super::Derivatives;
use super::chain::reset;
use crate::system::System;
use quasistep_model::{SpatialForce, Twist};

/// The scale of passive mass at a step.
#[derive(Clone, Debug, Default)]
pub(super) struct ScaleAt {
    /// False where mass is as it is; nothing else is then read but `of_body`.
    pub on: bool,
    /// `ε` of each body's tree; 1 where mass is as it is.
    pub of_body: Vec<f64>,
    /// `ε M v` of the passive dofs, over dofs, in N·s or N·m·s.
    pub impulse: Vec<f64>,
    /// `∂ log ε/∂q` of the tree of each dof, in 1/rad or 1/m.
    log_by_q: Vec<f64>,
    /// `∂ log ε/∂m` of the tree of each body, in 1/kg.
    log_by_mass: Vec<f64>,
    /// Place of the softest spring among the commanded dofs, and its stiffness.
    softest: Option<(usize, f64)>,
    /// `δ log ε`, or a weight on it, per tree.
    log: Vec<f64>,
}

impl Derivatives {
    /// Scales the momenta at hand as the step's program does, and finds how the scale changes.
    pub(super) fn collect_mass_scales(&mut self, system: &System) {
        let (model, kin) = (&system.model, &self.work.scan.kin);
        let (n_v, n_bodies) = (model.n_v(), model.n_bodies());
        let scales = &self.work.problem.mass_scales.of_block;
        let trees = &self.matrices.trees;
        let at = &mut self.scale;
        at.on = !scales.is_empty();
        reset(&mut at.of_body, n_bodies, 1.0);
        if !at.on {
            self.momenta_gathered.clone_from(&self.momenta);
            model.gather(&mut self.momenta_gathered);
            return;
        }
        let of = |body: usize| {
            trees.blocks[trees.of_body[body]]
                .map(|(block, _)| scales[block])
                .filter(|s| s.largest > 0.0)
        };
        let mut e = vec![0.0; n_v];
        for (body, factor) in at.of_body.iter_mut().enumerate() {
            let Some(scale) = of(body) else { continue };
            *factor = scale.factor;
            e[scale.dof] = 1.0;
            self.momenta[body] = self.momenta[body] * scale.factor;
        }
        self.momenta_gathered.clone_from(&self.momenta);
        model.gather(&mut self.momenta_gathered);
        reset(&mut at.impulse, n_v, 0.0);
        model.add_generalised(kin, &self.momenta_gathered, &mut at.impulse);
        for dof in (0..n_v).filter(|&dof| !system.is_passive(dof)) {
            at.impulse[dof] = 0.0;
        }
        at.softest =
            system.softest_spring().and_then(|(K, dof)| trees.cmd_of_dof[dof].map(|cmd| (cmd, K)));

        // −δ(V · p)/M_kk, with p the momenta of the twists V at the rates e
        let (mut V, mut p) = (vec![Twist::ZERO; n_bodies], vec![SpatialForce::ZERO; n_bodies]);
        model.twists(kin, &e, &mut V);
        model.momenta(kin, &V, &mut p);
        reset(&mut at.log_by_mass, n_bodies, 0.0);
        let mut weights = vec![Twist::ZERO; n_bodies];
        let (mut to_moves, mut to_twists) = (vec![SpatialForce::ZERO; n_bodies], p.clone());
        for body in 0..n_bodies {
            let by = of(body).map_or(0.0, |scale| -1.0 / scale.largest);
            weights[body] = V[body] * by;
            to_twists[body] = p[body] * by;
            let mass = model.body(body).inertia.mass;
            if mass > 0.0 {
                at.log_by_mass[body] = by * V[body].dot(&p[body]) / mass;
            }
        }
        reset(&mut at.log_by_q, n_v, 0.0);
        model.gradient_of_momentum_changes(kin, &V, &weights, &mut to_moves, &mut to_twists);
        model.gradient_of_twist_changes(kin, &e, &mut to_twists, &mut at.log_by_q, &mut to_moves);
        model.gather(&mut to_moves);
        model.add_generalised(kin, &to_moves, &mut at.log_by_q);
    }
}

impl ScaleAt {
    /// Takes the change of the scale off the balance `d` of each dof, for a change of the inputs; empty vectors are zero.
    pub fn change(
        &mut self,
        system: &System,
        trees: &[usize],
        change: &super::InputChange,
        h: f64,
        d: &mut [f64],
    ) {
        let at = |of: &[f64], k: usize| of.get(k).copied().unwrap_or(0.0);
        let stiffness = self.softest.map_or(0.0, |(cmd, K)| at(&change.stiffness, cmd) / K);
        let all = 2.0 * change.time_step / h + stiffness;
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

    /// The transpose, for weights `d` on the balance of each dof: adds to the gradient, that by `q` to `to_q`.
    pub fn gradient(
        &mut self,
        system: &System,
        trees: &[usize],
        d: &[f64],
        h: f64,
        to: &mut super::InputChange,
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
        to.time_step += 2.0 * all / h;
        if let Some((cmd, K)) = self.softest {
            to.stiffness[cmd] += all / K;
        }
    }

    /// `∂(−ε M v)/∂ log ε · ∂ log ε/∂q` of two dofs of one tree.
    pub fn entry(&self, row: usize, column: usize) -> f64 {
        -self.impulse[row] * self.log_by_q[column]
    }
}
