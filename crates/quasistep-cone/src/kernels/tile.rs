//! Products of narrow matrices, added to a block of a wide matrix.

use crate::structure::Target;
use quasistep_linalg::blocks::wide::{One, Two, Vector};
use quasistep_linalg::simd::LANES;
use quasistep_linalg::simd::Simd;

/// Matrices `A` and `B` of a product `AᵀB`, with the same number of rows and row width.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub A: &'a [f64],
    pub B: &'a [f64],
    pub width: usize,
}

/// `H[i stride ..] += Σ_r A[r][row + i] B[r][column ..]` for `I` rows and one vector of columns.
#[inline(always)]
fn tile<T: Vector, const I: usize>(
    H: &mut [f64],
    stride: usize,
    Pair { A, B, width }: Pair<'_>,
    row: usize,
    column: usize,
) {
    let mut acc = [T::zero(); I];
    for (A, B) in A.chunks_exact(width).zip(B.chunks_exact(width)) {
        let a = &A[row..][..I];
        let b = T::load(&B[column..]);
        for i in 0..I {
            acc[i] = T::fma(T::splat(a[i]), b, acc[i]);
        }
    }
    for i in 0..I {
        let h = &mut H[i * stride..];
        T::store(T::add(acc[i], T::load(h)), h);
    }
}

/// `H += AᵀB` of the target's columns of `A` and `B`. In a diagonal block, entries left of the
/// diagonal may be omitted.
#[inline(always)]
pub(super) fn add_product<S: Simd>(H: &mut [f64], product: Pair<'_>, target: &Target) {
    let Target { row, dim, column, width, at } = *target;
    let [row, dim, column, stride, at] = [row, dim, column, width, at].map(|i| i as usize);
    let (H, upper) = (&mut H[at..], row == column);
    let mut i = 0;
    while i < dim {
        let rows = match dim - i {
            6.. => 6,
            left @ (1..=4) => left,
            _ => 4,
        };
        let mut c = if upper { i / LANES * LANES } else { 0 };
        let H = &mut H[i * stride..];
        while c < stride {
            let wide = stride - c > LANES;
            let (r, k, H) = (row + i, column + c, &mut H[c..]);
            match (rows, wide) {
                (6, true) => tile::<Two<S>, 6>(H, stride, product, r, k),
                (6, false) => tile::<One<S>, 6>(H, stride, product, r, k),
                (4, true) => tile::<Two<S>, 4>(H, stride, product, r, k),
                (4, false) => tile::<One<S>, 4>(H, stride, product, r, k),
                (3, true) => tile::<Two<S>, 3>(H, stride, product, r, k),
                (3, false) => tile::<One<S>, 3>(H, stride, product, r, k),
                (2, true) => tile::<Two<S>, 2>(H, stride, product, r, k),
                (2, false) => tile::<One<S>, 2>(H, stride, product, r, k),
                (_, true) => tile::<Two<S>, 1>(H, stride, product, r, k),
                (_, false) => tile::<One<S>, 1>(H, stride, product, r, k),
            }
            c += if wide { 2 * LANES } else { LANES };
        }
        i += rows;
    }
}
