//! Variables in which the cost of every block is the unit matrix.

use crate::cone::kernels::{Lane, Simd, lanes, lanes_mut};
use crate::cone::program::{Block, ConeProgram, LANES};

/// The inverse of every block's factor, `P = L Lᵀ` with springs in `P`: kept while the cost is the same.
#[derive(Debug, Default)]
pub(crate) struct Whitening {
    /// What this was made for.
    dims: Vec<u32>,
    P: Vec<f64>,
    springs: Vec<(u32, f64)>,
    /// `L⁻¹` of each block, `dim × stride`: by columns, and by rows.
    columns: Vec<f64>,
    rows: Vec<f64>,
    /// `P + diag(springs)`, then its factor: scratch.
    H: Vec<f64>,
    /// Whether the cost is definite; the largest entry of its diagonal.
    pub definite: bool,
    pub scale: f64,
}

/// Pivot, as a share of its diagonal entry, above which a block counts as definite: below, digits are lost
/// that the answer needs.
const DEFINITE: f64 = 1e-10;

/// Calls a method of [`Whitening`] with the lanes of a block as a constant.
macro_rules! by_lanes {
    ($name:ident, $S:ty, $whitening:expr, $block:expr, $a:expr, $to:expr) => {
        match $block.stride as usize / LANES {
            1 => $whitening.$name::<$S, 1>($block, $a.first_chunk().expect("a lane"), $to),
            2 => $whitening.$name::<$S, 2>($block, $a.first_chunk().expect("2 lanes"), $to),
            3 => $whitening.$name::<$S, 3>($block, $a.first_chunk().expect("3 lanes"), $to),
            _ => $whitening.$name::<$S, 4>($block, $a.first_chunk().expect("4 lanes"), $to),
        }
    };
}
pub(crate) use by_lanes;

impl Whitening {
    /// Takes the cost of a program; what is known already is kept.
    pub fn update(&mut self, p: &ConeProgram) {
        let same = self.P == p.P
            && self.dims.len() == p.blocks.len()
            && self.dims.iter().zip(&p.blocks).all(|(d, b)| *d == b.dim)
            && self.springs.len() == p.saturations.len()
            && self
                .springs
                .iter()
                .zip(&p.saturations)
                .all(|(k, s)| k.0 == s.index && k.1 == s.stiffness);
        if same {
            return;
        }
        self.P.clone_from(&p.P);
        self.dims.clear();
        self.dims.extend(p.blocks.iter().map(|b| b.dim));
        self.springs.clear();
        self.springs.extend(p.saturations.iter().map(|s| (s.index, s.stiffness)));
        for v in [&mut self.columns, &mut self.rows] {
            v.clear();
            v.resize(p.P.len(), 0.0);
        }
        self.H.clone_from(&p.P);
        for spring in &p.saturations {
            let b = &p.blocks[p.blocks.partition_point(|b| b.first <= spring.index) - 1];
            let i = (spring.index - b.first) as usize;
            self.H[b.P_at as usize + i * (b.stride as usize + 1)] += spring.stiffness;
        }
        self.scale = 0.0;
        for b in &p.blocks {
            for i in 0..b.dim as usize {
                self.scale = self.scale.max(self.H[b.P_at as usize + i * (b.stride as usize + 1)]);
            }
        }
        self.definite = p.blocks.iter().all(|b| self.factor(b));
    }

    /// False if the block is not definite.
    fn factor(&mut self, b: &Block) -> bool {
        let (n, stride) = (b.dim as usize, b.stride as usize);
        let at = b.P_at as usize..b.P_at as usize + n * stride;
        let H = &mut self.H[at.clone()];
        let (columns, rows) = (&mut self.columns[at.clone()], &mut self.rows[at]);
        for i in 0..n {
            let diagonal = H[i * stride + i];
            for j in 0..=i {
                let mut sum = H[i * stride + j];
                for k in 0..j {
                    sum -= H[i * stride + k] * H[j * stride + k];
                }
                if j < i {
                    H[i * stride + j] = sum / H[j * stride + j];
                } else if sum > DEFINITE * diagonal {
                    H[i * stride + i] = sum.sqrt();
                } else {
                    return false;
                }
            }
            // row i of the inverse from those before it
            for j in 0..=i {
                let mut sum = if i == j { 1.0 } else { 0.0 };
                for k in j..i {
                    sum -= H[i * stride + k] * rows[k * stride + j];
                }
                rows[i * stride + j] = sum / H[i * stride + i];
                columns[j * stride + i] = rows[i * stride + j];
            }
        }
        true
    }

    /// `to = L⁻¹ a` on one block, which has `L` lanes.
    #[inline(always)]
    pub fn forth<S: Simd, const L: usize>(&self, b: &Block, a: &[Lane; L], to: &mut [Lane]) {
        times::<S, L>(&self.columns[b.P_at as usize..], b, a, to);
    }

    /// `to = L⁻ᵀ a` on one block.
    #[inline(always)]
    pub fn back<S: Simd, const L: usize>(&self, b: &Block, a: &[Lane; L], to: &mut [Lane]) {
        times::<S, L>(&self.rows[b.P_at as usize..], b, a, to);
    }

    /// `x = L⁻ᵀ a` on all blocks.
    #[inline(always)]
    pub fn back_all<S: Simd>(&self, p: &ConeProgram, a: &[Lane], x: &mut [f64]) {
        for b in &p.blocks {
            let at = b.at as usize / LANES;
            let x = &mut lanes_mut(&mut x[b.at as usize..])[..b.stride as usize / LANES];
            by_lanes!(back, S, self, b, &a[at..], x);
        }
    }

    /// `to = L⁻¹ a` on all blocks.
    #[inline(always)]
    pub fn forth_all<S: Simd>(&self, p: &ConeProgram, a: &[f64], to: &mut [Lane]) {
        for b in &p.blocks {
            let at = b.at as usize / LANES;
            let to = &mut to[at..at + b.stride as usize / LANES];
            by_lanes!(forth, S, self, b, lanes(&a[b.at as usize..]), to);
        }
    }
}

/// `to = M a` with `M` by columns.
#[inline(always)]
fn times<S: Simd, const L: usize>(M: &[f64], b: &Block, a: &[Lane; L], to: &mut [Lane]) {
    let a = a.as_flattened();
    let M = lanes(M);
    let mut out = [S::zero(); L];
    for j in 0..b.dim as usize {
        let s = S::splat(a[j]);
        let column = &M[j * L..][..L];
        for l in 0..L {
            out[l] = S::fma(s, S::load(&column[l]), out[l]);
        }
    }
    for l in 0..L {
        S::store(out[l], &mut to[l]);
    }
}
