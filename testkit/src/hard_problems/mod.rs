#![allow(non_snake_case)] // P, J and E are the letters of the solvers
//! Contact problems that are hard on purpose, and proofs of the answers to them.
//!
//! A seed makes a problem ([`HardProblem::from_seed`]); [`Examiner::examine`] solves it cold and
//! warm, proves every answer from the problem's own numbers, and asks Clarabel. The short run is a
//! test of this crate, the long one `cargo run --release -p benches --bin hard_problems`.

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

use quasistep_solvers::{Cone, ConeProgram, Saturation};

/// A cone program that owns plain numbers, apart from the solver's layout.
#[derive(Clone, Debug)]
pub struct HardProblem {
    /// What makes it hard.
    pub family: Family,
    /// What it was drawn from.
    pub seed: u64,
    /// Sizes of the blocks.
    pub dims: Vec<usize>,
    /// Cost of every block, `dim × dim` row-major.
    pub P: Vec<Vec<f64>>,
    /// Linear cost, length `n`.
    pub c: Vec<f64>,
    /// Contacts, limits and other cones.
    pub contacts: Vec<Contact>,
    /// Springs with limited force.
    pub springs: Vec<Saturation>,
    /// Natural size of every variable: in these units all numbers are near one, masses apart.
    pub unit: Vec<f64>,
    /// Natural size of the cost.
    pub cost_unit: f64,
}

/// One cone of a [`HardProblem`].
#[derive(Clone, Debug)]
pub struct Contact {
    /// A second-order cone; else rows.
    pub round: bool,
    /// Blocks that it touches.
    pub blocks: Vec<u32>,
    /// Per block the Jacobian, `k × dim` row-major.
    pub J: Vec<Vec<f64>>,
    /// Offset, length `k`.
    pub b: Vec<f64>,
    /// Row-major with `k` columns, or the diagonal of a round cone.
    pub E: Vec<f64>,
    /// Natural size of its slacks.
    pub unit: f64,
}

impl HardProblem {
    /// The problem of a seed; its family is the seed's remainder.
    pub fn from_seed(seed: u64) -> Self {
        let family = Family::ALL[(seed % Family::ALL.len() as u64) as usize];
        family.draw(seed)
    }

    /// Number of variables.
    pub fn n(&self) -> usize {
        self.c.len()
    }

    /// True if any cone is round.
    pub fn has_round(&self) -> bool {
        self.contacts.iter().any(|c| c.round)
    }

    /// First variable of every block.
    pub fn firsts(&self) -> Vec<usize> {
        let mut first = 0;
        let mut firsts = Vec::with_capacity(self.dims.len());
        for dim in &self.dims {
            firsts.push(first);
            first += dim;
        }
        firsts
    }

    /// Writes the problem in the solver's form.
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

    /// A problem that `holds` is true of, with as few cones, springs and blocks as leaving them out
    /// one by one gives.
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

    /// A problem like this one: cost and offsets changed by about `share`.
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
