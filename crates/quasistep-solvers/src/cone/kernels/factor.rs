//! The block factor `H = Uᵀ U`.

use super::tile::{Run, add_product};
use super::wide::{One, Vector, wide_kernel};
use super::{Simd, axpy, lanes, lanes_mut};
use crate::cone::program::LANES;
use crate::cone::structure::{Panel, Structure};

wide_kernel! {
    /// `H = Uᵀ U` in place, over the panels `first..last`, with the inverses `U⁻ᵀ` of the diagonal
    /// blocks; returns the first row whose pivot is not above `least`, with the factor unfinished.
    factor(
        s: &Structure,
        first: usize,
        last: usize,
        least: f64,
        H: &mut [f64],
        inverses: &mut [f64],
    ) -> Result<(), u32> {
        for panel in &s.panels[first..last] {
            let (dim, width) = (panel.dim as usize, panel.width as usize);
            let (before, own) = H.split_at_mut(panel.at as usize);
            let U = &mut own[..dim * width];
            // what the panels before take off it: they are read again and again, it alone is written
            for update in &s.updates[panel.first_update as usize..panel.last_update as usize] {
                let from = update.first_source as usize;
                let panels = &s.panels[from..from + update.sources as usize];
                add_product::<S, W, _>(
                    &mut U[update.at as usize..],
                    width,
                    Run { panels, U: before },
                    update.row as usize,
                    dim,
                    update.from as usize,
                    update.width as usize,
                    update.row == update.from,
                );
            }
            let inverse = &mut inverses[panel.W_at as usize..];
            let failed = match dim {
                1 => factor_fixed::<S, W, 1, 1>(panel, least, U, inverse),
                2 => factor_fixed::<S, W, 2, 1>(panel, least, U, inverse),
                3 => factor_fixed::<S, W, 3, 1>(panel, least, U, inverse),
                6 => factor_fixed::<S, W, 6, 2>(panel, least, U, inverse),
                7 => factor_fixed::<S, W, 7, 2>(panel, least, U, inverse),
                8 => factor_fixed::<S, W, 8, 2>(panel, least, U, inverse),
                9 => factor_fixed::<S, W, 9, 3>(panel, least, U, inverse),
                _ => factor_any::<S>(panel, least, U, inverse),
            };
            if failed < dim {
                return Err(panel.first_row + failed as u32);
            }
        }
        Ok(())
    }
}

/// Factors a panel of `D` rows whose diagonal block has `L` lanes; returns the row that failed, or `D`.
#[inline(always)]
fn factor_fixed<S: Simd, W: Vector, const D: usize, const L: usize>(
    panel: &Panel,
    least: f64,
    U: &mut [f64],
    inverse_out: &mut [f64],
) -> usize {
    let width = panel.width as usize;
    let U = &mut U[..D * width];
    let inverse_out = &mut lanes_mut(inverse_out)[..D * L];
    // the diagonal block, with the unit matrix beside it
    let mut rows = [[S::zero(); L]; D];
    let mut inverse = [[S::zero(); L]; D];
    for r in 0..D {
        let row = &lanes(&U[r * width..])[..L];
        for l in 0..L {
            rows[r][l] = S::load(&row[l]);
        }
        let mut unit = [0.0; LANES];
        unit[r % LANES] = 1.0;
        inverse[r][r / LANES] = S::load(&unit);
    }
    // square roots come last: a row waits for the division of the one before, and for nothing else
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
        // written so that NaN fails
        if !(pivots[r] > least) {
            return r;
        }
    }
    for r in 0..D {
        let scale = S::splat(1.0 / pivots[r].sqrt());
        let row = &mut lanes_mut(&mut U[r * width..])[..L];
        for l in 0..L {
            S::store(S::mul(rows[r][l], scale), &mut row[l]);
            S::store(S::mul(inverse[r][l], scale), &mut inverse_out[r * L + l]);
        }
    }
    // what is right of it: the inverse times what was there
    let inverse: &[f64] = inverse_out.as_flattened();
    let mut c = L * LANES;
    while c + W::N * LANES <= width {
        times_inverse::<W, D>(inverse, L * LANES, U, width, c);
        c += W::N * LANES;
    }
    if c < width {
        times_inverse::<One<S>, D>(inverse, L * LANES, U, width, c);
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

/// Every lane is lane `i`.
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
fn factor_any<S: Simd>(panel: &Panel, least: f64, U: &mut [f64], W: &mut [f64]) -> usize {
    let (dim, width) = (panel.dim as usize, panel.width as usize);
    let stride = dim.next_multiple_of(LANES);
    let W = &mut W[..dim * stride];
    W.fill(0.0);
    for r in 0..dim {
        let (head, tail) = U.split_at_mut((r + 1) * width);
        let row = &mut head[r * width..];
        let pivot = row[r];
        // written so that NaN fails
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
            axpy::<S>(
                -row[q],
                &row[from..],
                &mut tail[(q - r - 1) * width + from..][..width - from],
            );
            axpy::<S>(-row[q], inverse, &mut below[(q - r - 1) * stride..][..stride]);
        }
    }
    dim
}
