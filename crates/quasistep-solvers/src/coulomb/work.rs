//! The convex program that a solution with exact friction minimises at its own normal forces:
//! Trinkle05 (29) and (36).
//!
//! ```text
//! min  1/2 xᵀ P x + cᵀ x + ∇huber + Σ_i lambda_n,i h_i(u_t,i)      s.t.   u_n ≥ 0
//! ```
//!
//! `h` is the dissipation per normal force: `mu |u_t|` for a disc, (29); `mu (|u_1| + |u_2|)` for
//! the box, (36); `mu max_j −d_jᵀ u_t` for the diamond.
//!
//! Theorem 1: a solution of the friction program is optimal here at its own `lambda_n`. Conversely,
//! an optimum whose multipliers of `u_n ≥ 0` equal `lambda_n` solves the friction program. So
//! solutions are fixed points of the map from `lambda_n` to these multipliers. This crate does not
//! iterate that map, which need not contract: for a pushed block its slope is `−mu²`.

use crate::budget::Budget;
use crate::coulomb::contact::Shape;
use crate::coulomb::law::support;
use crate::coulomb::program::FrictionProgram;
use crate::coulomb::relaxation::Relaxation;
use crate::{ConeMut, Friction, Status};

/// Solver of (29) and its memory.
#[derive(Debug, Default)]
pub struct LeastWork {
    program: FrictionProgram,
    relaxation: Relaxation,
    /// Least value of the cost stated above.
    pub cost: f64,
    /// Minimiser, length `n`.
    pub x: Vec<f64>,
    /// Forces in the rows of the program. Normal forces are the multipliers of `u_n ≥ 0`; friction
    /// forces belong to the given normal forces.
    pub lambda: Vec<f64>,
}

impl LeastWork {
    /// A solver without allocated memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Solves (29) for `p` at the normal forces `lambda_n`, one per contact, into `self`. Unless it
    /// returns [`Status::Solved`], the last solution is kept.
    pub fn solve(&mut self, p: &FrictionProgram, lambda_n: &[f64]) -> Status {
        if lambda_n.len() != p.contacts.len() || p.check().is_err() {
            return Status::GaveUp;
        }
        self.build(p, lambda_n);
        self.relaxation.start(&self.program, None, false, 0.0, &Budget::default());
        let Relaxation { answer, lambda: forces, .. } = &self.relaxation;
        if answer.status != Status::Solved {
            return answer.status;
        }
        self.x.clear();
        self.x.extend_from_slice(&answer.x[..p.n()]);
        self.lambda.clear();
        let mut forces = forces.iter();
        for (contact, lambda_n) in p.contacts.iter().zip(lambda_n) {
            self.lambda.extend(forces.next());
            if *lambda_n > 0.0 && contact.tangents() > 0 {
                // the auxiliary contact has a normal force of 1
                let friction = forces.by_ref().skip(1).take(contact.tangents());
                self.lambda.extend(friction.map(|force| lambda_n * force));
            }
            self.lambda.resize(contact.rows().end, 0.0);
        }
        self.cost = p.work(&self.x, lambda_n);
        Status::Solved
    }

    /// Builds the program whose relaxation is (29), in epigraph form. Every contact becomes one
    /// without friction. A contact with friction adds a second one on a variable `tau ≥ lambda_n
    /// h(u_t)` of cost 1. The normal force scales its rows, so that all epigraph variables have
    /// cost 1.
    fn build(&mut self, p: &FrictionProgram, lambda_n: &[f64]) {
        let q = &mut self.program;
        let rubs = |i: &usize| lambda_n[*i] > 0.0 && p.contacts[*i].tangents() > 0;
        let works = (0..p.contacts.len()).filter(rubs).count();
        let dims = p.cones.blocks.iter().map(|b| b.dim as usize);
        q.reset(dims.chain(std::iter::repeat_n(1, works)));
        for (k, block) in p.cones.blocks.iter().enumerate() {
            let at = block.at as usize;
            for i in 0..block.dim as usize {
                q.P(k, i).copy_from_slice(p.cones.P_row(k, i));
            }
            q.c(k).copy_from_slice(&p.cones.c[at..at + block.dim as usize]);
        }
        for spring in &p.cones.saturations {
            q.push_saturation(*spring);
        }
        let (mut work, mut directions) = (p.cones.blocks.len(), Vec::new());
        for (i, contact) in p.contacts.iter().enumerate() {
            let mut blocks: Vec<u32> =
                p.cones.sides_of(p.cone_of(i)).iter().map(|side| side.block).collect();
            let copy = |to: &mut ConeMut<'_>, row: usize, f: f64| {
                to.b()[row] = f * p.b(i, row);
                for (side, (_, J)) in p.row(i, row).enumerate() {
                    to.J(side, row).iter_mut().zip(J).for_each(|(to, J)| *to = f * J);
                }
            };
            copy(&mut q.push_contact(Friction::None, &blocks), 0, 1.0);
            if !rubs(&i) {
                continue;
            }
            let (tangents, units) = (contact.tangents(), p.units_of(contact));
            let friction = if contact.shape == Shape::Round {
                Friction::Round(units)
            } else {
                directions.clear();
                let vertices = p.vertices_of(contact).chunks_exact(tangents);
                directions
                    .extend(vertices.flat_map(|v| v.iter().zip(units).map(|(v, unit)| v * unit)));
                Friction::Diamond { mu: 1.0, directions: &directions, tangents }
            };
            q.c(work)[0] = 1.0;
            blocks.push(work as u32);
            work += 1;
            let mut pressed = q.push_contact(friction, &blocks);
            pressed.J(blocks.len() - 1, 0)[0] = 1.0;
            (1..=tangents).for_each(|row| copy(&mut pressed, row, lambda_n[i]));
        }
    }
}

impl FrictionProgram {
    /// Cost of (29) at `x`, with normal forces `lambda_n`, one per contact: quadratic and linear
    /// cost, Huber terms, and dissipation.
    pub fn work(&self, x: &[f64], lambda_n: &[f64]) -> f64 {
        let mut g = vec![0.0; self.n()];
        let mut u = vec![0.0; self.rows];
        // 1/2 xᵀ (P x + 2 c): gradient without Huber terms, and c once more
        let mut cost = 0.0;
        for (k, block) in self.cones.blocks.iter().enumerate() {
            let (first, at) = (block.first as usize, block.at as usize);
            let x = &x[first..first + block.dim as usize];
            for i in 0..block.dim as usize {
                let Px: f64 = self.cones.P_row(k, i).iter().zip(x).map(|(a, b)| a * b).sum();
                g[first + i] = 0.5 * Px + self.cones.c[at + i];
            }
        }
        cost += g.iter().zip(x).map(|(g, x)| g * x).sum::<f64>();
        cost += self.cones.saturations.iter().map(|s| s.cost(x[s.index as usize])).sum::<f64>();
        self.rates(x, &mut u);
        for (contact, lambda_n) in self.contacts.iter().zip(lambda_n) {
            let rows = contact.rows();
            cost += lambda_n * support(self, contact, &u[rows.start + 1..rows.end]);
        }
        cost
    }
}
