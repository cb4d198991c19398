//! The block factor `H = L U` of a matrix that is not symmetric, but whose pattern is.
//!
//! Upper blocks are laid out like those of `H = Uᵀ U`, and so are lower ones, transposed. Rows are exchanged within
//! a diagonal block only, whose inverse is kept: `U` holds what is right of it, `L` what is below, times that inverse.

use super::factor::take;
use super::wide::{One, Vector, wide_kernel};
use super::{Simd, axpy, kernel, lanes, lanes_mut, multiply};
use crate::cone::program::{LANES, MAX_ROWS, padded};
use crate::cone::structure::{Column, Panel, Structure, Target};

wide_kernel! {
    /// `H = L U` in place, with the inverses of the diagonal blocks; the sign of the determinant, or nothing if a
    /// pivot vanishes. `scratch` has a lane for every row of the largest block.
    factor_lu(
        s: &Structure,
        U: &mut [f64],
        L: &mut [f64],
        inverses: &mut [f64],
        scratch: &mut [f64],
    ) -> Option<i32> {
        let mut sign = 1;
        for panel in &s.panels {
            let (dim, stride) = (panel.dim as usize, panel.stride() as usize);
            let (above, U) = U.split_at_mut(panel.at as usize);
            let (before, L) = L.split_at_mut(panel.at as usize);
            for update in &s.updates[panel.first_update as usize..panel.last_update as usize] {
                let at = (update.at - panel.at) as usize;
                take::<S, W>(s, update, before, above, &mut U[at..]);
                if at > 0 {
                    take::<S, W>(s, update, above, before, &mut L[at..]);
                }
            }
            let own = &mut U[..dim * stride];
            let inverse = &mut inverses[panel.W_at as usize..][..dim * stride];
            sign *= match (dim, stride) {
                (6, 8) => invert(6, 8, own, inverse),
                _ => invert(dim, stride, own, inverse),
            }?;
            let columns = &s.columns[panel.first_column as usize..panel.last_column as usize];
            for column in columns {
                let width = column.stride as usize;
                let to = &mut L[(column.at - panel.at) as usize..][..dim * width];
                match (dim, width) {
                    (6, 8) => times_inverse::<W, 6>(inverse, stride, to, 8, 0),
                    _ => times_inverse_any::<S>(inverse, stride, dim, to, width, scratch),
                }
            }
        }
        Some(sign)
    }
}

/// The inverse of `A`, which is lost, by Gauss and Jordan with exchanges of rows; the sign of the determinant.
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
        // written so that NaN fails
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

/// The same for all columns.
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
    /// `x ← H⁻¹ x`.
    solve_lu(
        s: &Structure,
        U: &[f64],
        L: &[f64],
        inverses: &[f64],
        scratch: &mut [f64],
        x: &mut [f64],
    ) {
        for panel in &s.panels {
            let columns = &s.columns[panel.first_column as usize..panel.last_column as usize];
            match panel.dim {
                6 => forward::<S>(panel, 6, columns, L, x),
                dim => forward::<S>(panel, dim as usize, columns, L, x),
            }
        }
        for panel in s.panels.iter().rev() {
            let columns = &s.columns[panel.first_column as usize..panel.last_column as usize];
            let inverse = &inverses[panel.W_at as usize..];
            match (panel.dim, panel.stride()) {
                (6, 8) => backward::<S>(panel, 6, columns, U, inverse, scratch, x),
                (dim, _) => backward::<S>(panel, dim as usize, columns, U, inverse, scratch, x),
            }
        }
    }
}

/// Off the columns of a panel what its part of `x` takes.
#[inline(always)]
fn forward<S: Simd>(panel: &Panel, dim: usize, columns: &[Column], L: &[f64], x: &mut [f64]) {
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
fn backward<S: Simd>(
    panel: &Panel,
    dim: usize,
    columns: &[Column],
    U: &[f64],
    inverse: &[f64],
    scratch: &mut [f64],
    x: &mut [f64],
) {
    for column in columns {
        let width = column.stride as usize;
        let rows = &U[column.at as usize..][..dim * width];
        for (r, row) in rows.chunks_exact(width).enumerate() {
            let sum = product::<S>(row, &x[column.x_at as usize..][..width]);
            x[panel.x_at as usize + r] -= sum;
        }
    }
    let stride = padded(dim);
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

kernel! {
    /// `H += Jᵀ G J` of one contact with `k` rows, at the targets of its group; what is beyond a block's columns gets
    /// zeros.
    add_part(
        targets: &[Target],
        k: usize,
        G: &[[f64; MAX_ROWS]; MAX_ROWS],
        J: &[f64],
        U: &mut [f64],
        L: &mut [f64],
    ) {
        match k {
            1 => add_rows::<S, 1>(targets, G, J, U, L),
            2 => add_rows::<S, 2>(targets, G, J, U, L),
            3 => add_rows::<S, 3>(targets, G, J, U, L),
            4 => add_rows::<S, 4>(targets, G, J, U, L),
            5 => add_rows::<S, 5>(targets, G, J, U, L),
            6 => add_rows::<S, 6>(targets, G, J, U, L),
            7 => add_rows::<S, 7>(targets, G, J, U, L),
            _ => add_rows::<S, 8>(targets, G, J, U, L),
        }
    }
}

#[inline(always)]
fn add_rows<S: Simd, const K: usize>(
    targets: &[Target],
    G: &[[f64; MAX_ROWS]; MAX_ROWS],
    J: &[f64],
    U: &mut [f64],
    L: &mut [f64],
) {
    let width = J.len() / K;
    for target in targets {
        let (dim, stride) = (target.dim as usize, target.width as usize);
        let place = target.at as usize..target.at as usize + dim * stride;
        for c in (0..stride).step_by(LANES) {
            // a lane of the columns of G J, and of Gᵀ J
            let mut upper = [S::zero(); K];
            let mut lower = [S::zero(); K];
            for s in 0..K {
                let J = S::load(&lanes(&J[s * width + target.column as usize + c..])[0]);
                for r in 0..K {
                    upper[r] = S::fma(S::splat(G[r][s]), J, upper[r]);
                    lower[r] = S::fma(S::splat(G[s][r]), J, lower[r]);
                }
            }
            // a diagonal block is the upper one alone
            let parts = [(&mut *U, upper), (&mut *L, lower)];
            let count = if target.row == target.column { 1 } else { 2 };
            for (H, lane) in parts.into_iter().take(count) {
                for (r, H) in H[place.clone()].chunks_exact_mut(stride).enumerate() {
                    let H = &mut lanes_mut(&mut H[c..])[0];
                    let mut sum = S::load(H);
                    for s in 0..K {
                        let J = J[s * width + target.row as usize + r];
                        sum = S::fma(S::splat(J), lane[s], sum);
                    }
                    S::store(sum, H);
                }
            }
        }
    }
}

kernel! {
    /// `H ← D H D + hold I`, with `D` of padded entries.
    scale_lu(s: &Structure, D: &[f64], hold: f64, U: &mut [f64], L: &mut [f64]) {
        for panel in &s.panels {
            let (dim, stride) = (panel.dim as usize, panel.stride() as usize);
            let rows = &D[panel.x_at as usize..][..dim];
            let scale = |H: &mut [f64], width: usize, columns: &[f64]| {
                for (row, D) in H.chunks_exact_mut(width).zip(rows) {
                    for (H, other) in row.iter_mut().zip(columns) {
                        *H *= D * other;
                    }
                }
            };
            let own = &mut U[panel.at as usize..][..dim * stride];
            scale(own, stride, &D[panel.x_at as usize..][..stride]);
            for r in 0..dim {
                own[r * stride + r] += hold;
            }
            let columns = &s.columns[panel.first_column as usize..panel.last_column as usize];
            for column in columns {
                let width = column.stride as usize;
                let place = column.at as usize..column.at as usize + dim * width;
                let D = &D[column.x_at as usize..][..width];
                scale(&mut U[place.clone()], width, D);
                scale(&mut L[place], width, D);
            }
        }
    }
}
