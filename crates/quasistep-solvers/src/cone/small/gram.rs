//! `CᵀC` of few columns and its inverse, in whole lanes.

use super::LANES;
use crate::cone::kernels::{Lane, Simd};

/// Pivot of `CᵀC` below which a row takes no part.
const SINGULAR: f64 = 1e-12;

/// `M = CᵀC`, with `W` lanes of `C` lanes.
#[inline(always)]
pub(super) fn gram<S: Simd, const C: usize, const W: usize>(
    coefficients: &[Lane],
    count: usize,
    rank: usize,
    M: &mut [Lane],
) {
    let mut k = 0;
    while k < rank {
        let mut acc = [[S::zero(); W]; 2];
        for row in coefficients.chunks_exact(C).take(count) {
            let row = &row[..W.min(C)];
            let pair =
                [S::splat(row[k / LANES][k % LANES]), S::splat(row[k / LANES][k % LANES + 1])];
            for c in 0..W.min(C) {
                let v = S::load(&row[c]);
                acc[0][c] = S::fma(pair[0], v, acc[0][c]);
                acc[1][c] = S::fma(pair[1], v, acc[1][c]);
            }
        }
        let M = &mut M[k * W..][..2 * W];
        for c in 0..W {
            S::store(acc[0][c], &mut M[c]);
            S::store(acc[1][c], &mut M[W + c]);
        }
        k += 2;
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
