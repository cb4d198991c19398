//! Block Cholesky factorisation `H = Uᵀ U`.

use super::layout::{Column, Layout, Panel, Term, Update};
use super::wide::{One, Two, Vector};
use crate::simd::{LANES, Simd, axpy, kernel, lanes, lanes_mut, padded};

kernel! {
    /// Factorises `H = Uᵀ U` in place, over the panels `first..last`, and computes the inverses
    /// `U⁻ᵀ` of the diagonal blocks. Returns the first row whose pivot is not above `least`, with
    /// the factorisation incomplete.
    factor(
        s: Layout<'_>,
        first: usize,
        last: usize,
        least: f64,
        H: &mut [f64],
        inverses: &mut [f64],
    ) -> Result<(), u32> {
        for panel in &s.panels[first..last] {
            let dim = panel.dim as usize;
            let (before, U) = H.split_at_mut(panel.at as usize);
            let U = &mut U[..panel.len() as usize];
            // left-looking updates: earlier panels are read repeatedly, only this panel is written
            for update in &s.updates[panel.first_update as usize..panel.last_update as usize] {
                let to = &mut U[(update.at - panel.at) as usize..];
                take::<S, Two<S>>(s, update, before, before, to);
            }
            let columns = &s.columns[panel.first_column as usize..panel.last_column as usize];
            let inverse = &mut inverses[panel.W_at as usize..];
            let failed = match dim {
                1 => factor_fixed::<S, Two<S>, 1, 1>(panel, columns, least, U, inverse),
                2 => factor_fixed::<S, Two<S>, 2, 1>(panel, columns, least, U, inverse),
                3 => factor_fixed::<S, Two<S>, 3, 1>(panel, columns, least, U, inverse),
                6 => factor_fixed::<S, Two<S>, 6, 2>(panel, columns, least, U, inverse),
                7 => factor_fixed::<S, Two<S>, 7, 2>(panel, columns, least, U, inverse),
                8 => factor_fixed::<S, Two<S>, 8, 2>(panel, columns, least, U, inverse),
                9 => factor_fixed::<S, Two<S>, 9, 3>(panel, columns, least, U, inverse),
                _ => factor_any::<S>(panel, columns, least, U, inverse),
            };
            if failed < dim {
                return Err(panel.first_row + failed as u32);
            }
        }
        Ok(())
    }
}

/// `to −= Σ AᵀB` over the terms of an update.
#[inline(always)]
pub(crate) fn take<S: Simd, W: Vector>(
    s: Layout<'_>,
    update: &Update,
    A: &[f64],
    B: &[f64],
    to: &mut [f64],
) {
    let terms = &s.terms[update.first_term as usize..update.last_term as usize];
    match (update.dim as usize, update.stride as usize) {
        (6, 8) => take_six::<W>(A, B, terms, to),
        (dim, 4) => take_any::<S, 1>(A, B, terms, dim, to),
        (dim, 8) => take_any::<S, 2>(A, B, terms, dim, to),
        (dim, 12) => take_any::<S, 3>(A, B, terms, dim, to),
        (dim, stride) => take_wide::<S>(A, B, terms, dim, stride, to),
    }
}

/// `to −= Σ AᵀB` for blocks of six columns, with six or any number of rows.
#[inline(always)]
fn take_six<W: Vector>(A: &[f64], B: &[f64], terms: &[Term], to: &mut [f64]) {
    let mut acc = [W::zero(); 6];
    for term in terms {
        let (A, B) = (&A[term.row as usize..], &B[term.column as usize..]);
        if term.dim == 6 {
            let A: &[f64; 48] = A.first_chunk().expect("six rows");
            let B: &[f64; 48] = B.first_chunk().expect("six rows");
            for k in 0..6 {
                let b = W::load(&B[8 * k..]);
                for i in 0..6 {
                    acc[i] = W::fma(W::splat(A[8 * k + i]), b, acc[i]);
                }
            }
            continue;
        }
        let n = 8 * term.dim as usize;
        let (A, B) = (A[..n].as_chunks::<8>().0, B[..n].as_chunks::<8>().0);
        for (A, B) in A.iter().zip(B) {
            let b = W::load(B);
            for i in 0..6 {
                acc[i] = W::fma(W::splat(A[i]), b, acc[i]);
            }
        }
    }
    let to: &mut [f64; 48] = to.first_chunk_mut().expect("six rows");
    let minus = W::splat(-1.0);
    for i in 0..6 {
        let to = &mut to[8 * i..][..8];
        W::store(W::fma(minus, acc[i], W::load(to)), to);
    }
}

/// `to −= Σ AᵀB` with `dim` columns of `A`, whose rows are padded, and `L` lanes of `B`.
#[inline(always)]
fn take_any<S: Simd, const L: usize>(
    A: &[f64],
    B: &[f64],
    terms: &[Term],
    dim: usize,
    to: &mut [f64],
) {
    let stride = padded(dim);
    let to = &mut lanes_mut(to)[..dim * L];
    for term in terms {
        let rows = term.dim as usize;
        let A = &A[term.row as usize..][..rows * stride];
        let B = &lanes(&B[term.column as usize..])[..rows * L];
        for (i, to) in to.chunks_exact_mut(L).enumerate() {
            let mut acc = [S::zero(); L];
            for (A, B) in A.chunks_exact(stride).zip(B.chunks_exact(L)) {
                let a = S::splat(-A[i]);
                for l in 0..L {
                    acc[l] = S::fma(a, S::load(&B[l]), acc[l]);
                }
            }
            for l in 0..L {
                S::store(S::add(acc[l], S::load(&to[l])), &mut to[l]);
            }
        }
    }
}

/// `to −= Σ AᵀB` with any number of columns.
#[inline(always)]
fn take_wide<S: Simd>(
    A: &[f64],
    B: &[f64],
    terms: &[Term],
    dim: usize,
    stride: usize,
    to: &mut [f64],
) {
    for term in terms {
        let (rows, across) = (term.dim as usize, padded(dim));
        let A = &A[term.row as usize..][..rows * across];
        let B = &B[term.column as usize..][..rows * stride];
        for (A, B) in A.chunks_exact(across).zip(B.chunks_exact(stride)) {
            for (a, to) in A[..dim].iter().zip(to.chunks_exact_mut(stride)) {
                axpy::<S>(-a, B, to);
            }
        }
    }
}

/// Factorises a panel of `D` rows whose diagonal block has `L` lanes. Returns the row whose pivot
/// failed, or `D`.
#[inline(always)]
fn factor_fixed<S: Simd, W: Vector, const D: usize, const L: usize>(
    panel: &Panel,
    columns: &[Column],
    least: f64,
    U: &mut [f64],
    inverse_out: &mut [f64],
) -> usize {
    let (own, right) = U.split_at_mut(D * L * LANES);
    let inverse_out = &mut lanes_mut(inverse_out)[..D * L];
    // the diagonal block, next to the identity matrix
    let mut rows = [[S::zero(); L]; D];
    let mut inverse = [[S::zero(); L]; D];
    for r in 0..D {
        let row = &lanes(own)[r * L..][..L];
        for l in 0..L {
            rows[r][l] = S::load(&row[l]);
        }
        let mut unit = [0.0; LANES];
        unit[r % LANES] = 1.0;
        inverse[r][r / LANES] = S::load(&unit);
    }
    // square roots come last, so that a row waits only for the division of the row before
    let (minus, mut pivots) = (S::splat(-1.0), [0.0; D]);
    for r in 0..D {
        let pivot = lane_at::<S>(rows[r][r / LANES], r % LANES);
        pivots[r] = S::first(pivot);
        let over = S::div(minus, pivot);
        for q in r + 1..D {
            let factor = S::mul(lane_at::<S>(rows[r][q / LANES], q % LANES), over);
            for l in q / LANES..L {
                rows[q][l] = S::fma(factor, rows[r][l], rows[q][l]);
            }
            for l in 0..=r / LANES {
                inverse[q][l] = S::fma(factor, inverse[r][l], inverse[q][l]);
            }
        }
    }
    for r in 0..D {
        // the condition is true for NaN
        if !(pivots[r] > least) {
            return r;
        }
    }
    for r in 0..D {
        let scale = S::splat(1.0 / pivots[r].sqrt());
        let row = &mut lanes_mut(own)[r * L..][..L];
        for l in 0..L {
            S::store(S::mul(rows[r][l], scale), &mut row[l]);
            S::store(S::mul(inverse[r][l], scale), &mut inverse_out[r * L + l]);
        }
    }
    // blocks to the right: the inverse times the blocks
    let inverse: &[f64] = inverse_out.as_flattened();
    let first = panel.at as usize + D * L * LANES;
    for column in columns {
        let to = &mut right[column.at as usize - first..];
        if column.stride == 8 {
            let to = &mut to[..D * 8];
            times_inverse::<W, D>(inverse, L * LANES, to, 8, 0);
            continue;
        }
        let stride = column.stride as usize;
        for c in (0..stride).step_by(LANES) {
            times_inverse::<One<S>, D>(inverse, L * LANES, to, stride, c);
        }
    }
    D
}

/// `U[..][c ..] ← L U[..][c ..]` with a lower triangle `L`, for the columns of one vector.
#[inline(always)]
fn times_inverse<T: Vector, const D: usize>(
    L: &[f64],
    stride: usize,
    U: &mut [f64],
    width: usize,
    c: usize,
) {
    let mut old = [T::zero(); D];
    for r in 0..D {
        old[r] = T::load(&U[r * width + c..]);
    }
    for r in 0..D {
        let L = &L[r * stride..][..D];
        let mut acc = T::mul(T::splat(L[0]), old[0]);
        for q in 1..=r {
            acc = T::fma(T::splat(L[q]), old[q], acc);
        }
        T::store(acc, &mut U[r * width + c..]);
    }
}

/// Broadcasts lane `i` to every lane.
#[inline(always)]
fn lane_at<S: Simd>(v: S::V, i: usize) -> S::V {
    match i {
        0 => S::lane::<0>(v),
        1 => S::lane::<1>(v),
        2 => S::lane::<2>(v),
        _ => S::lane::<3>(v),
    }
}

#[inline(always)]
fn factor_any<S: Simd>(
    panel: &Panel,
    columns: &[Column],
    least: f64,
    U: &mut [f64],
    W: &mut [f64],
) -> usize {
    let (dim, stride) = (panel.dim as usize, panel.stride() as usize);
    let (own, right) = U.split_at_mut(dim * stride);
    let W = &mut W[..dim * stride];
    W.fill(0.0);
    for r in 0..dim {
        let (head, tail) = own.split_at_mut((r + 1) * stride);
        let row = &mut head[r * stride..];
        let pivot = row[r];
        // the condition is true for NaN
        if !(pivot > least) {
            return r;
        }
        let scale = 1.0 / pivot.sqrt();
        row[r / LANES * LANES..].iter_mut().for_each(|u| *u *= scale);
        let (done, below) = W.split_at_mut((r + 1) * stride);
        let inverse = &mut done[r * stride..];
        inverse[r] += 1.0;
        for w in inverse.iter_mut() {
            *w *= scale;
        }
        for q in r + 1..dim {
            let from = q / LANES * LANES;
            let to = &mut tail[(q - r - 1) * stride + from..][..stride - from];
            axpy::<S>(-row[q], &row[from..], to);
            axpy::<S>(-row[q], inverse, &mut below[(q - r - 1) * stride..][..stride]);
        }
    }
    // blocks to the right: the inverse times the blocks, in place from the last row
    let first = panel.at as usize + dim * stride;
    for column in columns {
        let width = column.stride as usize;
        let block = &mut right[column.at as usize - first..][..dim * width];
        for r in (0..dim).rev() {
            let (head, tail) = block.split_at_mut(r * width);
            let (row, inverse) = (&mut tail[..width], &W[r * stride..][..=r]);
            for u in row.iter_mut() {
                *u *= inverse[r];
            }
            for (w, head) in inverse[..r].iter().zip(head.chunks_exact(width)) {
                axpy::<S>(*w, head, row);
            }
        }
    }
    dim
}
