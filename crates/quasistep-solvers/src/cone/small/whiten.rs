//! Whitening: variables in which the cost matrix of every block is the identity, and constraint
//! rows in these variables.

// parts of a kernel must be inlined into it, because only the kernel is compiled with its
// instruction set
#![allow(clippy::inline_always)]

use super::Row;
use crate::cone::blocks::simd::{Lane, Simd, lanes, lanes_mut};
use crate::cone::program::{Block, ConeData, ConeProgram, LANES, MAX_ROWS};
use crate::tolerances::DEFINITE;

/// Inverse Cholesky factors of all blocks, `P = L Lᵀ` with the stiffness of Huber terms in `P`.
/// They are kept while a block's cost does not change.
#[derive(Debug, Default)]
pub(crate) struct Whitening {
    /// Sizes and costs of the blocks to which the inverses belong.
    dims: Vec<u32>,
    P: Vec<f64>,
    springs: Vec<(u32, f64)>,
    /// Index of the first lane of each block's inverse factor.
    first: Vec<u32>,
    /// `L⁻¹` of each block as a square matrix of padded lanes: by columns, and by rows.
    columns: Vec<Lane>,
    rows: Vec<Lane>,
    /// Diagonals of `L⁻¹` in padded layout, and for each block whether it is diagonal.
    diagonals: Vec<Lane>,
    diagonal: Vec<bool>,
    /// Scratch: a block with the stiffness of its Huber terms, then its Cholesky factor.
    H: Vec<f64>,
    /// For each block, whether it is positive definite.
    definite: Vec<bool>,
}

/// Calls a method of [`Whitening`] on a block, with its number of lanes as a constant.
macro_rules! by_lanes {
    ($block:expr, $name:ident, $S:ty, ($own:expr, $k:expr), $a:expr, $to:expr) => {
        match $block.stride as usize / LANES {
            1 => by_lanes!($name, $S, 1, ($own, $k), $a, $to),
            2 => by_lanes!($name, $S, 2, ($own, $k), $a, $to),
            3 => by_lanes!($name, $S, 3, ($own, $k), $a, $to),
            _ => by_lanes!($name, $S, 4, ($own, $k), $a, $to),
        }
    };
    ($name:ident, $S:ty, $L:expr, ($own:expr, $k:expr), $a:expr, $to:expr) => {
        $own.$name::<$S, $L>(
            $k,
            $a.first_chunk().expect("the lanes of a block"),
            $to.first_chunk_mut().expect("the lanes of a block"),
        )
    };
}

impl Whitening {
    /// Factorises the cost of a program; returns false if it is not positive definite.
    pub fn update(&mut self, p: &ConeProgram) -> bool {
        let springs = p.saturations.iter().map(|s| (s.index, s.stiffness));
        let same = self.dims.len() == p.blocks.len()
            && self.dims.iter().zip(&p.blocks).all(|(d, b)| *d == b.dim)
            && self.springs.iter().copied().eq(springs.clone());
        if !same {
            self.dims.clear();
            self.dims.extend(p.blocks.iter().map(|b| b.dim));
            self.springs.clear();
            self.springs.extend(springs);
            self.first.clear();
            let mut end = 0;
            for b in &p.blocks {
                self.first.push(end);
                end += b.stride * b.stride / LANES as u32;
            }
            for v in [&mut self.columns, &mut self.rows] {
                v.clear();
                v.resize(end as usize, [0.0; LANES]);
            }
            for v in [&mut self.definite, &mut self.diagonal] {
                v.clear();
                v.resize(p.blocks.len(), false);
            }
            self.diagonals.clear();
            self.diagonals.resize(p.n_padded / LANES, [0.0; LANES]);
            self.P.clear();
            self.P.resize(p.P.len(), 0.0);
        }
        let mut all = true;
        for (k, b) in p.blocks.iter().enumerate() {
            let at = b.P_at as usize..(b.P_at + b.dim * b.stride) as usize;
            // compare all entries: faster than to stop at the first difference
            let (old, new) = (&self.P[at.clone()], &p.P[at.clone()]);
            let apart = |m, (a, b): (&f64, &f64)| m | (a.to_bits() ^ b.to_bits());
            if !same || old.iter().zip(new).fold(0, apart) != 0 {
                self.definite[k] = self.factor(p, k, b);
                self.P[at.clone()].copy_from_slice(&p.P[at]);
            }
            all &= self.definite[k];
        }
        all
    }

    /// Factorises a block; returns false if it is not positive definite.
    fn factor(&mut self, p: &ConeProgram, k: usize, b: &Block) -> bool {
        let (n, stride) = (b.dim as usize, b.stride as usize);
        let H = &mut self.H;
        H.clear();
        H.extend_from_slice(&p.P[b.P_at as usize..][..n * stride]);
        for spring in &p.saturations {
            if (b.first..b.first + b.dim).contains(&spring.index) {
                H[(spring.index - b.first) as usize * (stride + 1)] += spring.stiffness;
            }
        }
        let at = self.first[k] as usize..self.first[k] as usize + stride * stride / LANES;
        let columns = self.columns[at.clone()].as_flattened_mut();
        let rows = self.rows[at].as_flattened_mut();
        for i in 0..n {
            let diagonal = H[i * stride + i];
            for j in 0..=i {
                let mut sum = H[i * stride + j];
                for k in 0..j {
                    sum -= H[i * stride + k] * H[j * stride + k];
                }
                if j < i {
                    H[i * stride + j] = sum * rows[j * stride + j];
                } else if sum > DEFINITE * diagonal {
                    H[i * stride + i] = sum.sqrt();
                } else {
                    return false;
                }
            }
            // row i of the inverse from the rows before it
            let pivot = 1.0 / H[i * stride + i];
            for j in 0..=i {
                let mut sum = if i == j { 1.0 } else { 0.0 };
                for k in j..i {
                    sum -= H[i * stride + k] * rows[k * stride + j];
                }
                rows[i * stride + j] = sum * pivot;
                columns[j * stride + i] = sum * pivot;
            }
        }
        let off = |i: usize| (0..i).all(|j| rows[i * stride + j] == 0.0);
        self.diagonal[k] = (0..n).all(off);
        for i in 0..n {
            self.diagonals.as_flattened_mut()[b.at as usize + i] = rows[i * (stride + 1)];
        }
        true
    }

    /// Computes `to = L⁻¹ a` on block `k`, which has `L` lanes.
    #[inline(always)]
    pub fn forth<S: Simd, const L: usize>(&self, k: usize, a: &[Lane; L], to: &mut [Lane; L]) {
        let M = &self.columns[self.first[k] as usize..][..L * L * LANES];
        let a = a.as_flattened();
        let mut out = [S::zero(); L];
        for j in 0..L * LANES {
            let s = S::splat(a[j]);
            for l in j / LANES..L {
                out[l] = S::fma(s, S::load(&M[j * L + l]), out[l]);
            }
        }
        for l in 0..L {
            S::store(out[l], &mut to[l]);
        }
    }

    /// `L⁻¹ Jᵀ` for the `K` rows of a Jacobian and one block. The block is given by its index, its
    /// variables, its first lane, and its number of lanes `L`.
    #[inline(always)]
    pub fn jacobian<S: Simd, const L: usize, const C: usize, const K: usize>(
        &self,
        (k, dim, at): (usize, usize, usize),
        J: &[f64],
        width: usize,
        to: &mut [[Lane; C]; K],
    ) {
        let mut out = [[S::zero(); L]; K];
        if let Some(diagonal) = self.diagonal(k, at) {
            for r in 0..K {
                let J = &lanes(&J[r * width..])[..L];
                for l in 0..L {
                    out[r][l] = S::mul(S::load(&diagonal[l]), S::load(&J[l]));
                }
            }
        } else {
            let M = &self.columns[self.first[k] as usize..][..L * L * LANES];
            for first in 0..L {
                let end = dim.min((first + 1) * LANES);
                for j in first * LANES..end {
                    for l in first..L {
                        let column = S::load(&M[j * L + l]);
                        for r in 0..K {
                            out[r][l] = S::fma(S::splat(J[r * width + j]), column, out[r][l]);
                        }
                    }
                }
            }
        }
        for r in 0..K {
            for l in 0..L {
                S::store(out[r][l], &mut to[r][at + l]);
            }
        }
    }

    /// Diagonal of the inverse factor of the block that starts at lane `at`, if the block is diagonal.
    #[inline(always)]
    pub fn diagonal(&self, k: usize, at: usize) -> Option<&[Lane]> {
        self.diagonal[k].then(|| &self.diagonals[at..])
    }

    /// `to = L⁻ᵀ a` on block `k`.
    #[inline(always)]
    fn back<S: Simd, const L: usize>(&self, k: usize, a: &[Lane; L], to: &mut [Lane; L]) {
        let M = &self.rows[self.first[k] as usize..][..L * L * LANES];
        let a = a.as_flattened();
        let mut out = [S::zero(); L];
        for j in 0..L * LANES {
            let s = S::splat(a[j]);
            for l in 0..=j / LANES {
                out[l] = S::fma(s, S::load(&M[j * L + l]), out[l]);
            }
        }
        for l in 0..L {
            S::store(out[l], &mut to[l]);
        }
    }

    /// `x = L⁻ᵀ a` on all blocks.
    #[inline(always)]
    pub fn back_all<S: Simd>(&self, p: &ConeProgram, a: &[Lane], x: &mut [f64]) {
        let x = lanes_mut(x);
        for (k, b) in p.blocks.iter().enumerate() {
            let at = b.at as usize / LANES;
            by_lanes!(b, back, S, (self, k), &a[at..], &mut x[at..]);
        }
    }

    /// `to = L⁻¹ a` on all blocks.
    #[inline(always)]
    pub fn forth_all<S: Simd>(&self, p: &ConeProgram, a: &[f64], to: &mut [Lane]) {
        let a = lanes(a);
        for (k, b) in p.blocks.iter().enumerate() {
            let at = b.at as usize / LANES;
            by_lanes!(b, forth, S, (self, k), &a[at..], &mut to[at..]);
        }
    }
}

/// Whitened rows of one cone with a Jacobian of `K` rows, and their offsets.
#[inline(always)]
pub(super) fn rows_of_cone<'a, S: Simd, const C: usize, const K: usize>(
    whitening: &Whitening,
    p: &ConeProgram,
    cone: &ConeData,
    rows: impl Iterator<Item = ((&'a mut [Lane; C], &'a mut f64), &'a Row)>,
) {
    let stride_z = cone.stride_z as usize;
    let E = &p.E[cone.E_at as usize..][..K * stride_z];
    let b: &[f64; K] = p.b[cone.b_at as usize..].first_chunk().expect("a lane at least");
    let mut whitened = [[[0.0; LANES]; C]; K];
    let width = cone.width as usize;
    let J = &p.J[cone.J_at as usize..][..K * width];
    for side in p.sides_of(cone) {
        let block = &p.blocks[side.block as usize];
        let J = &J[side.column as usize..];
        let (at, dim) = (block.at as usize / LANES, block.dim as usize);
        let own = (side.block as usize, dim, at);
        match block.stride as usize / LANES {
            1 => whitening.jacobian::<S, 1, C, K>(own, J, width, &mut whitened),
            2 => whitening.jacobian::<S, 2, C, K>(own, J, width, &mut whitened),
            3 => whitening.jacobian::<S, 3, C, K>(own, J, width, &mut whitened),
            _ => whitening.jacobian::<S, 4, C, K>(own, J, width, &mut whitened),
        }
    }
    for ((to, offset), row) in rows {
        let (mut a, mut sum) = ([S::zero(); C], 0.0);
        for r in 0..K {
            let e = E[r * stride_z + row.edge as usize];
            sum += e * b[r];
            let e = S::splat(e);
            for c in 0..C {
                a[c] = S::fma(e, S::load(&whitened[r][c]), a[c]);
            }
        }
        *offset = sum;
        for c in 0..C {
            S::store(a[c], &mut to[c]);
        }
    }
}

/// `to = L⁻¹ a` of a row `a = Jᵀ e`, and its offset `e·b`.
#[inline(always)]
pub(super) fn whitened_row<S: Simd, const C: usize>(
    whitening: &Whitening,
    p: &ConeProgram,
    row: Row,
    to: &mut [Lane; C],
) -> f64 {
    let cone = &p.cones[row.cone as usize];
    let (k, stride_z) = (cone.k as usize, cone.stride_z as usize);
    let E = &p.E[cone.E_at as usize..][..k * stride_z];
    let b = &p.b[cone.b_at as usize..][..k];
    let (mut e, mut offset) = ([0.0; MAX_ROWS], 0.0);
    for r in 0..k {
        e[r] = E[r * stride_z + row.edge as usize];
        offset += e[r] * b[r];
    }
    *to = [[0.0; LANES]; C];
    let J = lanes(&p.J[cone.J_at as usize..]);
    let width = cone.width as usize / LANES;
    for side in p.sides_of(cone) {
        let block = &p.blocks[side.block as usize];
        let J = &J[side.column as usize / LANES..];
        let to = &mut to[block.at as usize / LANES..];
        let (e, side) = (&e[..k], (side.block as usize, block.at as usize / LANES));
        match block.stride as usize / LANES {
            1 => side_of_row::<S, 1>(whitening, side, e, J, width, to),
            2 => side_of_row::<S, 2>(whitening, side, e, J, width, to),
            3 => side_of_row::<S, 3>(whitening, side, e, J, width, to),
            _ => side_of_row::<S, 4>(whitening, side, e, J, width, to),
        }
    }
    offset
}

/// Part of a whitened row that belongs to one block of `L` lanes, which is given by its index and
/// first lane.
#[inline(always)]
fn side_of_row<S: Simd, const L: usize>(
    whitening: &Whitening,
    (block, at): (usize, usize),
    e: &[f64],
    J: &[Lane],
    width: usize,
    to: &mut [Lane],
) {
    let mut a = [S::zero(); L];
    for (r, e) in e.iter().enumerate() {
        let e = S::splat(*e);
        let J = &J[r * width..][..L];
        for l in 0..L {
            a[l] = S::fma(e, S::load(&J[l]), a[l]);
        }
    }
    if let Some(diagonal) = whitening.diagonal(block, at) {
        for l in 0..L {
            S::store(S::mul(S::load(&diagonal[l]), a[l]), &mut to[l]);
        }
        return;
    }
    let mut flat = [[0.0; LANES]; L];
    for l in 0..L {
        S::store(a[l], &mut flat[l]);
    }
    whitening.forth::<S, L>(block, &flat, to.first_chunk_mut().expect("the lanes of a block"));
}
