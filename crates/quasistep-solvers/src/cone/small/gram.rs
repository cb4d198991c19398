//! `CᵀC` of few columns and its inverse, in whole lanes.

use super::LANES;
use crate::cone::kernels::{Lane, Simd};

/// Pivot of `CᵀC` below which a row takes no part.
const SINGULAR: f64 = 1e-12;

/// Products of four columns with another, all of as many lanes.
#[inline(always)]
pub(super) fn products<S: Simd>(four: &[Lane], other: &[Lane]) -> S::V {
    let n = other.len();
    let (first, last) = four.split_at(2 * n);
    let ((a, b), (c, d)) = (first.split_at(n), last.split_at(n));
    let mut dots = [S::zero(); LANES];
    for ((((a, b), c), d), v) in a.iter().zip(b).zip(c).zip(d).zip(other) {
        let v = S::load(v);
        dots[0] = S::fma(S::load(a), v, dots[0]);
        dots[1] = S::fma(S::load(b), v, dots[1]);
        dots[2] = S::fma(S::load(c), v, dots[2]);
        dots[3] = S::fma(S::load(d), v, dots[3]);
    }
    S::sums(dots)
}

/// `M = CᵀC` of `W` lanes, from the columns of `C`, of `n` lanes each.
#[inline(always)]
pub(super) fn gram<S: Simd, const W: usize>(
    columns: &[Lane],
    n: usize,
    rank: usize,
    M: &mut [Lane],
) {
    for (k, row) in M.chunks_exact_mut(W).take(rank).enumerate() {
        let own = &columns[k * n..][..n];
        for (w, out) in row.iter_mut().enumerate() {
            let four = &columns[w * LANES * n..][..LANES * n];
            S::store(products::<S>(four, own), out);
        }
    }
}

/// `M ← M⁻¹` of a definite matrix, by Gauss and Jordan's method. Where a pivot is nothing, row and column
/// become zero: that row of `Q` takes no part.
#[inline(always)]
pub(super) fn invert<S: Simd, const W: usize>(M: &mut [Lane], rank: usize) {
    let M = &mut M[..rank * W];
    for lane in 0..W {
        for at in 0..LANES.min(rank.saturating_sub(lane * LANES)) {
            let k = lane * LANES + at;
            let pivot = M[k * W + lane][at];
            let singular = pivot <= SINGULAR;
            let inverse = if singular { 0.0 } else { 1.0 / pivot };
            let mut unit = [0.0; LANES];
            unit[at] = 1.0;
            let unit = S::load(&unit);
            let scale = S::splat(inverse);
            let mut row = [S::zero(); W];
            for c in 0..W {
                row[c] = S::mul(scale, S::load(&M[k * W + c]));
            }
            // column k of the others becomes minus itself over the pivot: one more in this lane
            let old = row[lane];
            let one = S::splat(if singular { 1.0 } else { inverse });
            row[lane] = S::fma(one, unit, old);
            for other in M.chunks_exact_mut(W) {
                let factor = S::splat(-other[lane][at]);
                for c in 0..W {
                    S::store(S::fma(factor, row[c], S::load(&other[c])), &mut other[c]);
                }
            }
            let corner = S::splat(if singular { 0.0 } else { inverse - 1.0 });
            row[lane] = S::fma(corner, unit, old);
            for c in 0..W {
                S::store(row[c], &mut M[k * W + c]);
            }
        }
    }
}

/// `M v`.
#[inline(always)]
pub(super) fn apply<S: Simd, const W: usize>(M: &[Lane], rank: usize, v: &[Lane; W]) -> [Lane; W] {
    let mut out = [S::zero(); W];
    for (M, v) in M.chunks_exact(W).zip(&v.as_flattened()[..rank]) {
        let s = S::splat(*v);
        for c in 0..W {
            out[c] = S::fma(s, S::load(&M[c]), out[c]);
        }
    }
    let mut flat = [[0.0; LANES]; W];
    for c in 0..W {
        S::store(out[c], &mut flat[c]);
    }
    flat
}
