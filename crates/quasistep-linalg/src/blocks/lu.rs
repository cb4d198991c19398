//! Block factorisation `H = L U` of an unsymmetric matrix with symmetric pattern.
//!
//! Upper blocks are laid out like those of `H = Uᵀ U`. Lower blocks are stored transposed in the
//! layout of the upper blocks. Pivoting is restricted to diagonal blocks, whose inverses are
//! stored. `U` holds the blocks to the right of the diagonal. `L` holds the blocks below it, times
//! the inverse.

use super::factor::take;
use super::layout::{Column, Layout, Panel};
use super::solve::{sums, take_columns, times_columns};
use super::wide::{One, Two, Vector};
use crate::aligned::Aligned;
use crate::simd::{LANES, Simd, axpy, by_dim, kernel, lanes, lanes_mut, multiply};

/// Blocks on and right of the diagonal in `U`, blocks below it in `L`, and inverses of the diagonal
/// blocks. A block of `L` is transposed, at the index that its mirror block has in `U`.
#[derive(Debug, Default)]
pub struct Lu {
    /// Blocks on and right of the diagonal.
    pub U: Aligned,
    /// Blocks below the diagonal, transposed.
    pub L: Aligned,
    /// Inverses of the diagonal blocks.
    pub inverses: Aligned,
}

kernel! {
    /// Factorises `H = L U` in place and inverts the diagonal blocks. Returns the sign of the
    /// determinant, or `None` if a pivot vanishes. `scratch` has a lane for every row of the
    /// largest block.
    factor_lu(
        s: Layout<'_>,
        lu: &mut Lu,
        scratch: &mut [f64],
    ) -> Option<i32> {
        let Lu { U, L, inverses } = lu;
        let mut sign = 1;
        for panel in s.panels {
            let (dim, stride) = (panel.dim as usize, panel.stride() as usize);
            let (above, U) = U.split_at_mut(panel.at as usize);
            let (before, L) = L.split_at_mut(panel.at as usize);
            for update in &s.updates[panel.first_update as usize..panel.last_update as usize] {
                let at = (update.at - panel.at) as usize;
                take::<S, Two<S>>(s, update, before, above, &mut U[at..]);
                if at > 0 {
                    take::<S, Two<S>>(s, update, above, before, &mut L[at..]);
                }
            }
            let own = &mut U[..dim * stride];
            let inverse = &mut inverses[panel.W_at as usize..][..dim * stride];
            sign *= match (own.first_chunk_mut(), inverse.first_chunk_mut()) {
                (Some(own), Some(inverse)) if dim == 6 => invert_six::<Two<S>>(own, inverse),
                _ => invert(dim, stride, own, inverse),
            }?;
            let columns = &s.columns[panel.first_column as usize..panel.last_column as usize];
            for column in columns {
                let width = column.stride as usize;
                let to = &mut L[(column.at - panel.at) as usize..][..dim * width];
                match (dim, width) {
                    (6, 8) => times_inverse::<Two<S>, 6>(inverse, stride, to, 8, 0),
                    _ => times_inverse_any::<S>(inverse, stride, dim, to, width, scratch),
                }
            }
        }
        Some(sign)
    }
}

/// Inverts `A` by Gauss–Jordan elimination with row pivoting; returns the sign of the determinant.
/// `A` is overwritten.
#[inline(always)]
fn invert(dim: usize, stride: usize, A: &mut [f64], inverse: &mut [f64]) -> Option<i32> {
    inverse.fill(0.0);
    for r in 0..dim {
        inverse[r * stride + r] = 1.0;
    }
    let mut sign = 1;
    for k in 0..dim {
        let mut pivot = k;
        for r in k + 1..dim {
            if A[r * stride + k].abs() > A[pivot * stride + k].abs() {
                pivot = r;
            }
        }
        let value = A[pivot * stride + k];
        // the condition is true for NaN
        if !(value.abs() > 0.0) || !value.is_finite() {
            return None;
        }
        if value < 0.0 {
            sign = -sign;
        }
        if pivot != k {
            sign = -sign;
            for c in 0..stride {
                A.swap(k * stride + c, pivot * stride + c);
                inverse.swap(k * stride + c, pivot * stride + c);
            }
        }
        let over = value.recip();
        for c in 0..stride {
            A[k * stride + c] *= over;
            inverse[k * stride + c] *= over;
        }
        for r in 0..dim {
            if r == k {
                continue;
            }
            let share = -A[r * stride + k];
            for half in [&mut *A, &mut *inverse] {
                let (head, tail) = half.split_at_mut(r.max(k) * stride);
                let (row, to) = if r > k {
                    (&head[k * stride..][..stride], &mut tail[..stride])
                } else {
                    (&tail[..stride], &mut head[r * stride..][..stride])
                };
                for (to, row) in to.iter_mut().zip(row) {
                    *to += share * row;
                }
            }
        }
    }
    Some(sign)
}

/// Inverts a matrix of six rows by Gauss–Jordan elimination. Rows are permuted only at the end.
#[inline(always)]
fn invert_six<W: Vector>(A: &mut [f64; 48], inverse: &mut [f64; 48]) -> Option<i32> {
    let mut sign = 1;
    let (mut row_of, mut taken) = ([0; 6], [false; 6]);
    for k in 0..6 {
        let (mut pivot, mut largest) = (0, -1.0);
        for r in 0..6 {
            let size = A[8 * r + k].abs();
            if !taken[r] && size > largest {
                (pivot, largest) = (r, size);
            }
        }
        let value = A[8 * pivot + k];
        // the condition is true for NaN
        if !(largest > 0.0) || !value.is_finite() {
            return None;
        }
        if value < 0.0 {
            sign = -sign;
        }
        // sign of the permutation: one transposition for every earlier row that is not used yet
        for r in 0..pivot {
            if !taken[r] {
                sign = -sign;
            }
        }
        taken[pivot] = true;
        row_of[k] = pivot;
        // a column of the inverse replaces the eliminated column
        let (mut unit, mut others) = ([0.0; 8], [1.0; 8]);
        (unit[k], others[k]) = (1.0, 0.0);
        let (unit, others) = (W::load(&unit), W::load(&others));
        let row = W::fma(W::load(&A[8 * pivot..]), others, unit);
        let row = W::mul(W::splat(value.recip()), row);
        for r in 0..6 {
            if r != pivot {
                let share = W::splat(-A[8 * r + k]);
                let rest = W::mul(W::load(&A[8 * r..]), others);
                W::store(W::fma(share, row, rest), &mut A[8 * r..]);
            }
        }
        W::store(row, &mut A[8 * pivot..]);
    }
    for k in 0..6 {
        let (from, to) = (&A[8 * row_of[k]..], &mut inverse[8 * k..]);
        for j in 0..6 {
            to[row_of[j]] = from[j];
        }
        to[6] = 0.0;
        to[7] = 0.0;
    }
    Some(sign)
}

/// `B[..][c ..] ← inverseᵀ B[..][c ..]`, for the columns of one vector.
#[inline(always)]
fn times_inverse<T: Vector, const D: usize>(
    inverse: &[f64],
    stride: usize,
    B: &mut [f64],
    width: usize,
    c: usize,
) {
    let mut old = [T::zero(); D];
    for r in 0..D {
        old[r] = T::load(&B[r * width + c..]);
    }
    for r in 0..D {
        let mut acc = T::mul(T::splat(inverse[r]), old[0]);
        for q in 1..D {
            acc = T::fma(T::splat(inverse[q * stride + r]), old[q], acc);
        }
        T::store(acc, &mut B[r * width + c..]);
    }
}

/// `B ← inverseᵀ B` for any number of rows and columns.
#[inline(always)]
fn times_inverse_any<S: Simd>(
    inverse: &[f64],
    stride: usize,
    dim: usize,
    B: &mut [f64],
    width: usize,
    scratch: &mut [f64],
) {
    for c in (0..width).step_by(LANES) {
        match dim {
            1 => times_inverse::<One<S>, 1>(inverse, stride, B, width, c),
            2 => times_inverse::<One<S>, 2>(inverse, stride, B, width, c),
            3 => times_inverse::<One<S>, 3>(inverse, stride, B, width, c),
            6 => times_inverse::<One<S>, 6>(inverse, stride, B, width, c),
            7 => times_inverse::<One<S>, 7>(inverse, stride, B, width, c),
            8 => times_inverse::<One<S>, 8>(inverse, stride, B, width, c),
            9 => times_inverse::<One<S>, 9>(inverse, stride, B, width, c),
            _ => {
                let old = &mut lanes_mut(scratch)[..dim];
                for (old, row) in old.iter_mut().zip(B.chunks_exact(width)) {
                    *old = lanes(&row[c..])[0];
                }
                for (r, row) in B.chunks_exact_mut(width).enumerate() {
                    let mut acc = S::zero();
                    for (q, old) in old.iter().enumerate() {
                        acc = S::fma(S::splat(inverse[q * stride + r]), S::load(old), acc);
                    }
                    S::store(acc, &mut lanes_mut(&mut row[c..])[0]);
                }
            }
        }
    }
}

kernel! {
    /// `x ← H⁻¹ x` from the factor of [`factor_lu`].
    solve_lu(s: Layout<'_>, lu: &Lu, scratch: &mut [f64], x: &mut [f64]) {
        let Lu { U, L, inverses } = lu;
        for panel in s.panels {
            let own = &x[panel.x_at as usize..][..panel.dim as usize];
            // the right-hand side of a single cone has few nonzero panels
            if own.iter().all(|x| *x == 0.0) {
                continue;
            }
            let columns = &s.columns[panel.first_column as usize..panel.last_column as usize];
            by_dim!(panel.dim, forward_fixed, forward_any, S, (panel, columns, L, x));
        }
        for panel in s.panels.iter().rev() {
            let columns = &s.columns[panel.first_column as usize..panel.last_column as usize];
            let inverse = &inverses[panel.W_at as usize..];
            by_dim!(
                panel.dim, backward_fixed, backward_any, S,
                (panel, columns, U, inverse, scratch, x)
            );
        }
    }
}

/// Forward substitution: subtracts the panel's contribution from `x` at the panel's columns.
#[inline(always)]
fn forward_fixed<S: Simd, const D: usize, const N: usize>(
    panel: &Panel,
    columns: &[Column],
    L: &[f64],
    x: &mut [f64],
) {
    let mut minus = [S::zero(); D];
    for (minus, x) in minus.iter_mut().zip(&x[panel.x_at as usize..]) {
        *minus = S::splat(-x);
    }
    take_columns::<S, D>(columns, L, &minus, x);
}

#[inline(always)]
fn forward_any<S: Simd>(panel: &Panel, columns: &[Column], L: &[f64], x: &mut [f64]) {
    let dim = panel.dim as usize;
    for column in columns {
        let width = column.stride as usize;
        let rows = &L[column.at as usize..][..dim * width];
        for (r, row) in rows.chunks_exact(width).enumerate() {
            let share = -x[panel.x_at as usize + r];
            axpy::<S>(share, row, &mut x[column.x_at as usize..][..width]);
        }
    }
}

/// `x ← inverse (x − U x)` on the panel.
#[inline(always)]
fn backward_fixed<S: Simd, const D: usize, const N: usize>(
    panel: &Panel,
    columns: &[Column],
    U: &[f64],
    inverse: &[f64],
    _: &mut [f64],
    x: &mut [f64],
) {
    let taken = sums::<S, D, N>(times_columns::<S, D>(columns, U, x));
    let own = &mut lanes_mut(&mut x[panel.x_at as usize..])[..N];
    let inverse = &lanes(inverse)[..D * N];
    let mut rest = [S::zero(); N];
    for n in 0..N {
        rest[n] = S::sub(S::load(&own[n]), taken[n]);
    }
    let mut dots = [S::zero(); D];
    for r in 0..D {
        for n in 0..N {
            dots[r] = S::fma(S::load(&inverse[r * N + n]), rest[n], dots[r]);
        }
    }
    let result = sums::<S, D, N>(dots);
    for n in 0..N {
        S::store(result[n], &mut own[n]);
    }
}

#[inline(always)]
fn backward_any<S: Simd>(
    panel: &Panel,
    columns: &[Column],
    U: &[f64],
    inverse: &[f64],
    scratch: &mut [f64],
    x: &mut [f64],
) {
    let (dim, stride) = (panel.dim as usize, panel.stride() as usize);
    for column in columns {
        let width = column.stride as usize;
        let rows = &U[column.at as usize..][..dim * width];
        for (r, row) in rows.chunks_exact(width).enumerate() {
            let sum = product::<S>(row, &x[column.x_at as usize..][..width]);
            x[panel.x_at as usize + r] -= sum;
        }
    }
    let own = &mut x[panel.x_at as usize..][..stride];
    let result = &mut scratch[..stride];
    result.fill(0.0);
    for (result, row) in result.iter_mut().zip(inverse.chunks_exact(stride)).take(dim) {
        *result = product::<S>(row, own);
    }
    own.copy_from_slice(result);
}

#[inline(always)]
fn product<S: Simd>(a: &[f64], b: &[f64]) -> f64 {
    S::sum(multiply::<S>(a, b, S::zero()))
}
