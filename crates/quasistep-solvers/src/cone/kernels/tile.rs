//! Products of narrow matrices, added to a part of a wide one.

use super::Simd;
use super::wide::{One, Vector};
use crate::cone::program::LANES;

/// `AᵀB` of two matrices with `count` rows of the same width.
#[derive(Clone, Copy)]
pub(super) struct Product<'a> {
    pub A: &'a [f64],
    pub B: &'a [f64],
    pub width: usize,
    pub count: usize,
    pub sign: f64,
}

/// `H[i stride ..] += sign Σ_r A[r][row + i] B[r][column ..]` for `I` rows and `C` vectors.
#[inline(always)]
fn tile<T: Vector, const I: usize, const C: usize>(
    H: &mut [f64],
    stride: usize,
    product: Product<'_>,
    row: usize,
    column: usize,
) {
    let mut acc = [[T::zero(); C]; I];
    let Product { A, B, width, count, sign } = product;
    let (A, B) = (&A[..count * width], &B[..count * width]);
    for r in 0..count {
        let a = &A[r * width + row..][..I];
        let from = &B[r * width + column..][..C * T::N * LANES];
        let mut b = [T::zero(); C];
        for c in 0..C {
            b[c] = T::load(&from[c * T::N * LANES..]);
        }
        for i in 0..I {
            let a = T::splat(a[i]);
            for c in 0..C {
                acc[i][c] = T::fma(a, b[c], acc[i][c]);
            }
        }
    }
    let sign = T::splat(sign);
    for i in 0..I {
        let h = &mut H[i * stride..][..C * T::N * LANES];
        for c in 0..C {
            let h = &mut h[c * T::N * LANES..];
            T::store(T::fma(sign, acc[i][c], T::load(h)), h);
        }
    }
}

/// `H += sign AᵀB`, of its rows the columns `row ..row + dim` of `A`, of its columns `column ..column +
/// n_columns` of `B`. With `upper`, entries left of the diagonal may be left out.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) fn add_product<S: Simd, W: Vector>(
    H: &mut [f64],
    stride: usize,
    product: Product<'_>,
    row: usize,
    dim: usize,
    column: usize,
    n_columns: usize,
    upper: bool,
) {
    let mut i = 0;
    while i < dim {
        let rows = match dim - i {
            6.. => 6,
            left @ (1..=4) => left,
            _ => 4,
        };
        let mut c = if upper { i / LANES * LANES } else { 0 };
        let H = &mut H[i * stride..];
        while c < n_columns {
            let left = n_columns - c;
            let (r, k, H) = (row + i, column + c, &mut H[c..]);
            if W::ROOMY && rows == 6 && left >= 4 * LANES {
                tile::<W, 6, 2>(H, stride, product, r, k);
                c += 4 * LANES;
                continue;
            }
            match (rows, left > LANES) {
                (6, true) => tile::<W, 6, 1>(H, stride, product, r, k),
                (6, false) => tile::<One<S>, 6, 1>(H, stride, product, r, k),
                (4, true) => tile::<W, 4, 1>(H, stride, product, r, k),
                (4, false) => tile::<One<S>, 4, 1>(H, stride, product, r, k),
                (3, true) => tile::<W, 3, 1>(H, stride, product, r, k),
                (3, false) => tile::<One<S>, 3, 1>(H, stride, product, r, k),
                (2, true) => tile::<W, 2, 1>(H, stride, product, r, k),
                (2, false) => tile::<One<S>, 2, 1>(H, stride, product, r, k),
                (_, true) => tile::<W, 1, 1>(H, stride, product, r, k),
                (_, false) => tile::<One<S>, 1, 1>(H, stride, product, r, k),
            }
            c += if left > LANES { 2 * LANES } else { LANES };
        }
        i += rows;
    }
}
