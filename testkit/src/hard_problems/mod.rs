#![allow(non_snake_case)] // P, J and E follow the notation of the solvers
//! Hard contact problems, and verification of their solutions.
//!
//! [`HardProblem::from_seed`] draws a problem. [`Examiner::examine`] solves it cold and warm,
//! verifies every solution from the problem's own data, and compares with Clarabel. A short run is
//! a test of this crate; the long one is `cargo run --release -p benches --bin hard_problems`.

mod examine;
mod families;
mod natural;
mod oracle;
mod random;

pub use examine::{Examiner, Outcome, WORST_RESIDUAL};
pub use families::Family;
pub use natural::{Cones, Natural, Proof};
pub use oracle::{Opinion, ask_clarabel};
pub use random::Random;

use quasistep_cone::{Cone, ConeProgram, Saturation};

/// Cone program as plain numbers, independent of the solver's layout.
#[derive(Clone, Debug)]
pub struct HardProblem {
    /// Family of the problem: what makes it hard.
    pub family: Family,
    /// Seed from which it was drawn.
    pub seed: u64,
    /// Numbers of variables of the blocks.
    pub dims: Vec<usize>,
    /// Cost of every block, `dim × dim` row-major.
    pub P: Vec<Vec<f64>>,
    /// Linear cost, length `n`.
    pub c: Vec<f64>,
    /// Cones: contacts, joint limits and others.
    pub contacts: Vec<Contact>,
    /// Huber terms.
    pub springs: Vec<Saturation>,
    /// Natural size of every variable. In these units all numbers, except masses, are near 1.
    pub unit: Vec<f64>,
    /// Natural size of the cost.
    pub cost_unit: f64,
}

/// One cone of a [`HardProblem`].
#[derive(Clone, Debug)]
pub struct Contact {
    /// Whether it is a second-order cone; otherwise plain rows.
    pub round: bool,
    /// Indices of its blocks.
    pub blocks: Vec<u32>,
    /// Jacobian for each block, `k × dim` row-major.
    pub J: Vec<Vec<f64>>,
    /// Offset, length `k`.
    pub b: Vec<f64>,
    /// `E`, row-major with `k` columns, or the diagonal for a round cone.
    pub E: Vec<f64>,
    /// Natural size of its slacks.
    pub unit: f64,
}

impl HardProblem {
    /// Draws the problem of a seed. Its family is the seed modulo the number of families.
    pub fn from_seed(seed: u64) -> Self {
        let family = Family::ALL[(seed % Family::ALL.len() as u64) as usize];
        family.draw(seed)
    }

    /// Number of variables.
    pub fn n(&self) -> usize {
        self.c.len()
    }

    /// Whether some cone is round.
    pub fn has_round(&self) -> bool {
        self.contacts.iter().any(|c| c.round)
    }

    /// Index of the first variable of every block.
    pub fn firsts(&self) -> Vec<usize> {
        let mut first = 0;
        let mut firsts = Vec::with_capacity(self.dims.len());
        for dim in &self.dims {
            firsts.push(first);
            first += dim;
        }
        firsts
    }

    /// Writes the problem to a solver's program.
    pub fn fill(&self, program: &mut ConeProgram) {
        program.reset(self.dims.iter().copied());
        for (block, first) in self.firsts().into_iter().enumerate() {
            let dim = self.dims[block];
            for i in 0..dim {
                program.P(block, i).copy_from_slice(&self.P[block][i * dim..(i + 1) * dim]);
            }
            program.c(block).copy_from_slice(&self.c[first..first + dim]);
        }
        for contact in &self.contacts {
            let cone =
                if contact.round { Cone::Round(&contact.E) } else { Cone::Edges(&contact.E) };
            let k = contact.b.len();
            let mut to = program.push_cone(cone, k, &contact.blocks);
            for (side, block) in contact.blocks.iter().enumerate() {
                let dim = self.dims[*block as usize];
                for r in 0..k {
                    to.J(side, r).copy_from_slice(&contact.J[side][r * dim..(r + 1) * dim]);
                }
            }
            to.b().copy_from_slice(&contact.b);
        }
        for spring in &self.springs {
            program.push_saturation(*spring);
        }
    }

    /// Reduces the problem while `holds` stays true, by leaving out cones, Huber terms and blocks
    /// one by one.
    pub fn reduced(&self, holds: &mut dyn FnMut(&Self) -> bool) -> Self {
        let mut best = self.clone();
        loop {
            let mut smaller = false;
            let mut attempt = |candidate: Self, best: &mut Self| {
                let better = holds(&candidate);
                if better {
                    *best = candidate;
                    smaller = true;
                }
            };
            for k in (0..best.contacts.len()).rev() {
                let mut candidate = best.clone();
                candidate.contacts.remove(k);
                attempt(candidate, &mut best);
            }
            for k in (0..best.springs.len()).rev() {
                let mut candidate = best.clone();
                candidate.springs.remove(k);
                attempt(candidate, &mut best);
            }
            for block in (0..best.dims.len()).rev() {
                if best.contacts.iter().any(|c| c.blocks.contains(&(block as u32))) {
                    continue;
                }
                attempt(best.without_block(block), &mut best);
            }
            for k in 0..best.contacts.len() {
                let contact = &best.contacts[k];
                for row in (0..contact.E.len() / contact.b.len()).rev() {
                    let mut candidate = best.clone();
                    let contact = &mut candidate.contacts[k];
                    let width = contact.b.len();
                    if !contact.round && contact.E.len() > (row + 1).max(2) * width - 1 {
                        contact.E.drain(row * width..(row + 1) * width);
                        attempt(candidate, &mut best);
                    }
                }
            }
            if !smaller {
                return best;
            }
        }
    }

    fn without_block(&self, block: usize) -> Self {
        let mut p = self.clone();
        let first = self.firsts()[block];
        let variables = first..first + self.dims[block];
        p.dims.remove(block);
        p.P.remove(block);
        p.c.drain(variables.clone());
        p.unit.drain(variables.clone());
        p.springs.retain(|s| !variables.contains(&(s.index as usize)));
        for spring in &mut p.springs {
            if spring.index as usize >= variables.end {
                spring.index -= variables.len() as u32;
            }
        }
        for b in p.contacts.iter_mut().flat_map(|c| &mut c.blocks) {
            if *b as usize > block {
                *b -= 1;
            }
        }
        p
    }

    /// A similar problem, with cost and offsets changed by about `share`.
    pub fn perturbed(&self, share: f64, random: &mut Random) -> Self {
        let mut like = self.clone();
        for c in &mut like.c {
            *c *= 1.0 + share * random.signed();
        }
        for contact in &mut like.contacts {
            for b in &mut contact.b {
                *b *= 1.0 + share * random.signed();
            }
        }
        like
    }
}
