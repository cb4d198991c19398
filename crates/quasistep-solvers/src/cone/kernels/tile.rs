//! Products of narrow matrices, added to a part of a wide one.

use super::Simd;
use super::wide::{One, Vector};
use crate::cone::program::LANES;

/// A product `AᵀB` with a sign.
pub(super) trait Product: Copy {
    const SIGN: f64;
    /// `acc[i] += Σ_r A[r][row + i] B[r][column ..]` for `I` rows and `C` vectors.
    fn add_to<T: Vector, const I: usize, const C: usize>(
        self,
        row: usize,
        column: usize,
        acc: &mut [[T::V; C]; I],
    );
}

/// Two matrices with rows of the same width.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub A: &'a [f64],
    pub B: &'a [f64],
    pub width: usize,
}

impl Product for Pair<'_> {
    const SIGN: f64 = 1.0;
    #[inline(always)]
    fn add_to<T: Vector, const I: usize, const C: usize>(
        self,
        row: usize,
        column: usize,
        acc: &mut [[T::V; C]; I],
    ) {
        let Self { A, B, width } = self;
        for (A, B) in A.chunks_exact(width).zip(B.chunks_exact(width)) {
            add_row::<T, I, C>(A, B, row, column, acc);
        }
    }
}

/// `acc[i] += A[row + i] B[column ..]`.
#[inline(always)]
fn add_row<T: Vector, const I: usize, const C: usize>(
    A: &[f64],
    B: &[f64],
    row: usize,
    column: usize,
    acc: &mut [[T::V; C]; I],
) {
    let a = &A[row..][..I];
    let from = &B[column..][..C * T::N * LANES];
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

/// `H[i stride ..] += sign Σ_r A[r][row + i] B[r][column ..]` for `I` rows and `C` vectors.
#[inline(always)]
fn tile<T: Vector, P: Product, const I: usize, const C: usize>(
    H: &mut [f64],
    stride: usize,
    product: P,
    row: usize,
    column: usize,
) {
    let mut acc = [[T::zero(); C]; I];
    product.add_to::<T, I, C>(row, column, &mut acc);
    let sign = T::splat(P::SIGN);
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
pub(super) fn add_product<S: Simd, W: Vector, P: Product>(
    H: &mut [f64],
    stride: usize,
    product: P,
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
                tile::<W, P, 6, 2>(H, stride, product, r, k);
                c += 4 * LANES;
                continue;
            }
            match (rows, left > LANES) {
                (6, true) => tile::<W, P, 6, 1>(H, stride, product, r, k),
                (6, false) => tile::<One<S>, P, 6, 1>(H, stride, product, r, k),
                (4, true) => tile::<W, P, 4, 1>(H, stride, product, r, k),
                (4, false) => tile::<One<S>, P, 4, 1>(H, stride, product, r, k),
                (3, true) => tile::<W, P, 3, 1>(H, stride, product, r, k),
                (3, false) => tile::<One<S>, P, 3, 1>(H, stride, product, r, k),
                (2, true) => tile::<W, P, 2, 1>(H, stride, product, r, k),
                (2, false) => tile::<One<S>, P, 2, 1>(H, stride, product, r, k),
                (_, true) => tile::<W, P, 1, 1>(H, stride, product, r, k),
                (_, false) => tile::<One<S>, P, 1, 1>(H, stride, product, r, k),
            }
            c += if left > LANES { 2 * LANES } else { LANES };
        }
        i += rows;
    }
}
