//! Factorisation `H = L U` of an unsymmetric block matrix with the symmetric pattern of the
//! contacts.
//!
//! Blocks are eliminated in the minimum-degree order of the cone program's own factorisation.
//! Pivoting is restricted to diagonal blocks; the caller checks the solution.

use quasistep_cone::ConeProgram;
use quasistep_cone::inside::Structure;
use quasistep_linalg::aligned::Aligned;
use quasistep_linalg::blocks::lu::{Lu, factor_lu, solve_lu};
use quasistep_linalg::simd::Isa;
use quasistep_linalg::simd::LANES;

/// Factorisation and its memory.
#[derive(Debug, Default)]
pub(crate) struct Factor {
    pub structure: Structure,
    pub lu: Lu,
    /// Units of the variables, and the cost and the contacts' Jacobians in these units.
    pub D: Vec<f64>,
    P: Vec<f64>,
    pub J: Aligned,
    /// Whether `lu` holds a factorisation.
    pub done: bool,
    y: Vec<f64>,
    scratch: Vec<f64>,
}

impl Factor {
    /// Analyses the pattern of a program's contacts. Returns false if a factorisation takes more
    /// than `most` multiply-adds.
    pub fn analyse(&mut self, p: &ConeProgram, most: u64) -> bool {
        self.done = false;
        if !self.structure.update_within(p, most) {
            return false;
        }
        let strides = p.blocks.iter().map(|b| b.stride as usize);
        let largest = strides.max().unwrap_or_default();
        for (v, len) in [
            (&mut self.lu.U, self.structure.H_len),
            (&mut self.lu.L, self.structure.H_len),
            (&mut self.lu.inverses, self.structure.W_len),
        ] {
            v.clear();
            v.resize(len);
        }
        for (v, len) in [(&mut self.y, p.n_padded), (&mut self.scratch, largest * LANES)] {
            v.clear();
            v.resize(len, 0.0);
        }
        true
    }

    /// Scales cost and Jacobians by units `D` of the variables.
    pub fn scale(&mut self, p: &ConeProgram, D: &[f64]) {
        let Self { P, J, .. } = self;
        self.D.clear();
        self.D.extend_from_slice(D);
        P.clear();
        P.resize(p.P.len(), 0.0);
        J.clear();
        J.resize(p.J.len());
        let times = |to: &mut [f64], from: &[f64], D: &[f64]| {
            for ((to, from), D) in to.iter_mut().zip(from).zip(D) {
                *to = from * D;
            }
        };
        for block in &p.blocks {
            let D = &D[block.first as usize..][..block.dim as usize];
            for (i, own) in D.iter().enumerate() {
                let at = (block.P_at + i as u32 * block.stride) as usize;
                times(&mut P[at..], &p.P[at..], D);
                P[at..at + D.len()].iter_mut().for_each(|P| *P *= own);
            }
        }
        for cone in &p.cones {
            for side in p.sides_of(cone) {
                let block = &p.blocks[side.block as usize];
                let D = &D[block.first as usize..][..block.dim as usize];
                for r in 0..cone.k {
                    let at = (cone.J_at + r * cone.width + side.column) as usize;
                    times(&mut J[at..], &p.J[at..], D);
                }
            }
        }
    }

    /// Sets the matrix to the cost, with `hold` added to the diagonal.
    pub fn start(&mut self, p: &ConeProgram, hold: f64) {
        self.done = false;
        self.lu.U.fill(0.0);
        self.lu.L.fill(0.0);
        for panel in &self.structure.panels {
            let block = &p.blocks[panel.block as usize];
            let len = (block.dim * block.stride) as usize;
            let own = &mut self.lu.U[panel.at as usize..][..len];
            own.copy_from_slice(&self.P[block.P_at as usize..][..len]);
            for own in own.iter_mut().step_by(block.stride as usize + 1) {
                *own += hold;
            }
        }
    }

    /// Index in `U` of the diagonal entry of a variable.
    pub fn diagonal(structure: &Structure, p: &ConeProgram, index: u32) -> usize {
        let b = p.block_of(index);
        let panel = &structure.panels[structure.panel_of_block[b] as usize];
        (panel.at + (index - p.blocks[b].first) * (panel.stride() + 1)) as usize
    }

    /// Factorises in place; returns false if a pivot vanishes.
    pub fn factor(&mut self) -> bool {
        let Self { structure, lu, scratch, .. } = self;
        self.done = factor_lu(Isa::detect(), structure.layout(), lu, scratch).is_some();
        self.done
    }

    /// `x ← H⁻¹ x`, in the caller's order of variables.
    pub fn solve(&mut self, p: &ConeProgram, x: &mut [f64]) {
        let Self { structure, lu, y, scratch, .. } = self;
        pad(p, x, y);
        solve_lu(Isa::detect(), structure.layout(), lu, scratch, y);
        for block in &p.blocks {
            let dim = block.dim as usize;
            x[block.first as usize..][..dim].copy_from_slice(&y[block.at as usize..][..dim]);
        }
    }
}

/// Copies `x` to the padded layout.
fn pad(p: &ConeProgram, x: &[f64], to: &mut [f64]) {
    for block in &p.blocks {
        let dim = block.dim as usize;
        to[block.at as usize..][..dim].copy_from_slice(&x[block.first as usize..][..dim]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Friction;
    use crate::hessian;
    use crate::hessian::Part;
    use crate::program::FrictionProgram;

    /// Pseudorandom numbers between −1 and 1.
    fn numbers(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
        }
    }

    /// Contacts of one to four rows between blocks of these sizes, and one contact on a single
    /// block.
    fn program(next: &mut impl FnMut() -> f64) -> FrictionProgram {
        let dims = [6_usize, 7, 3, 9, 1, 6, 13, 6, 2];
        let pairs = [[0_u32, 1], [1, 3], [2, 3], [4, 5], [5, 0], [6, 7], [7, 1], [3, 6], [5, 7]];
        let mu = [0.5, 0.4, 0.1];
        let frictions = [Friction::None, Friction::Round(&mu[..2]), Friction::Round(&mu)];
        let mut p = FrictionProgram::new();
        p.reset(dims);
        for (b, dim) in dims.into_iter().enumerate() {
            for i in 0..dim {
                for (j, P) in p.P(b, i).iter_mut().enumerate() {
                    // unsymmetric, with small diagonal entries that require pivoting
                    *P = next() + if (i + 1) % dim == j { 20.0 } else { 0.0 };
                }
            }
        }
        let blocks = pairs.iter().map(|pair| &pair[..]).chain([&[8][..]]);
        for (i, blocks) in blocks.enumerate() {
            let mut contact = p.push_contact(frictions[i % 3], blocks);
            for side in 0..blocks.len() {
                for r in 0..contact.b().len() {
                    contact.J(side, r).iter_mut().for_each(|J| *J = next());
                }
            }
        }
        p
    }

    #[test]
    fn blocks_of_every_size_are_solved_for() {
        let mut next = numbers(7);
        let p = program(&mut next);
        let n = p.n();
        let mut factor = Factor::default();
        factor.analyse(&p.cones, u64::MAX);
        for _ in 0..3 {
            let (hold, rho) = (0.5, [1.5, 0.7]);
            let D: Vec<f64> = (0..n).map(|_| 1.0 + 0.5 * next()).collect();
            let matrices: Vec<Vec<f64>> =
                p.contacts.iter().map(|c| (0..c.k * c.k).map(|_| next()).collect()).collect();
            // the second contact is open
            let part = |i: usize| (i != 1).then(|| Part { matrix: &matrices[i], rho });
            factor.scale(&p.cones, &D);
            hessian::assemble(&p, &mut factor, hold, &[], part);
            dense(&p, &D, hold, &matrices, rho, &mut next, &mut factor);
        }
    }

    /// Compares a solution with the known solution of the dense matrix.
    fn dense(
        p: &FrictionProgram,
        D: &[f64],
        hold: f64,
        matrices: &[Vec<f64>],
        rho: [f64; 2],
        next: &mut impl FnMut() -> f64,
        factor: &mut Factor,
    ) {
        let n = p.n();
        let mut H = vec![vec![0.0; n]; n];
        for (b, block) in p.cones.blocks.iter().enumerate() {
            for i in 0..block.dim as usize {
                let at = block.first as usize;
                H[at + i][at..at + block.dim as usize].copy_from_slice(p.cones.P_row(b, i));
            }
        }
        for (i, contact) in p.contacts.iter().enumerate().filter(|(i, _)| *i != 1) {
            let k = contact.k as usize;
            let unit = |r: usize| if r == 0 { 1.0 } else { p.units_of(contact)[r - 1] };
            for r in 0..k {
                for s in 0..k {
                    let G = unit(r) * matrices[i][r * k + s] * rho[usize::from(s > 0)] * unit(s);
                    for (to, a) in p.row(i, r) {
                        for (from, b) in p.row(i, s) {
                            for (i, a) in a.iter().enumerate() {
                                for (j, b) in b.iter().enumerate() {
                                    H[to + i][from + j] += a * G * b;
                                }
                            }
                        }
                    }
                }
            }
        }
        for i in 0..n {
            for j in 0..n {
                H[i][j] *= D[i] * D[j];
            }
            H[i][i] += hold;
        }
        let x: Vec<f64> = (0..n).map(|_| next()).collect();
        let mut b: Vec<f64> =
            H.iter().map(|row| row.iter().zip(&x).map(|(H, x)| H * x).sum()).collect();
        assert!(factor.factor());
        factor.solve(&p.cones, &mut b);
        for (b, x) in b.iter().zip(&x) {
            assert!((b - x).abs() < 1e-11, "{b} for {x}");
        }
    }
}
