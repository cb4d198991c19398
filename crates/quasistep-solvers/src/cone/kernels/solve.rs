//! Solving with the block factor.

use super::{Simd, axpy, by_dim, kernel, lanes, lanes_mut, load, multiply};
use crate::cone::program::LANES;
use crate::cone::structure::{Column, Panel, Structure};

kernel! {
    /// `x ← H⁻¹ x` over the panels `first..last`.
    solve(s: &Structure, first: usize, last: usize, H: &[f64], W: &[f64], x: &mut [f64]) {
        for panel in &s.panels[first..last] {
            let columns = &s.columns[panel.first_column as usize..panel.last_column as usize];
            let U = &H[panel.at as usize..][..(panel.dim * panel.width) as usize];
            let W = &W[panel.W_at as usize..];
            by_dim!(panel.dim, forward_fixed, forward_any, S, (panel, columns, U, W, x));
        }
        for panel in s.panels[first..last].iter().rev() {
            let columns = &s.columns[panel.first_column as usize..panel.last_column as usize];
            let U = &H[panel.at as usize..][..(panel.dim * panel.width) as usize];
            let W = &W[panel.W_at as usize..];
            by_dim!(panel.dim, backward_fixed, backward_any, S, (panel, columns, U, W, x));
        }
    }
}

/// Sums of the lanes of `D` vectors, as `L` vectors.
#[inline(always)]
fn sums<S: Simd, const D: usize, const L: usize>(v: [S::V; D]) -> [S::V; L] {
    let mut out = [S::zero(); L];
    for l in 0..L {
        let mut four = [S::zero(); LANES];
        for i in 0..LANES {
            if l * LANES + i < D {
                four[i] = v[l * LANES + i];
            }
        }
        out[l] = S::sums(four);
    }
    out
}

/// `x ← W x` on the panel, then off its columns what that takes.
#[inline(always)]
fn forward_fixed<S: Simd, const D: usize, const L: usize>(
    panel: &Panel,
    columns: &[Column],
    U: &[f64],
    W: &[f64],
    x: &mut [f64],
) {
    let width = panel.width as usize / LANES;
    let (U, W) = (&lanes(U)[..D * width], &lanes(W)[..D * L]);
    let own = &mut lanes_mut(&mut x[panel.x_at as usize..])[..L];
    let b = load::<S, L>(own.as_flattened(), 1);
    let mut dots = [S::zero(); D];
    for r in 0..D {
        for l in 0..=r / LANES {
            dots[r] = S::fma(S::load(&W[r * L + l]), b[l], dots[r]);
        }
    }
    let y = sums::<S, D, L>(dots);
    let mut flat = [[0.0; LANES]; L];
    for l in 0..L {
        S::store(y[l], &mut flat[l]);
        own[l] = flat[l];
    }
    let mut minus = [S::zero(); D];
    for r in 0..D {
        minus[r] = S::splat(-flat[r / LANES][r % LANES]);
    }
    for column in columns {
        let x = lanes_mut(&mut x[column.x_at as usize..][..column.stride as usize]);
        let from = column.at as usize / LANES;
        for (c, x) in x.iter_mut().enumerate() {
            let mut acc = S::load(x);
            for r in 0..D {
                acc = S::fma(minus[r], S::load(&U[r * width + from + c]), acc);
            }
            S::store(acc, x);
        }
    }
}

#[inline(always)]
fn forward_any<S: Simd>(panel: &Panel, columns: &[Column], U: &[f64], _: &[f64], x: &mut [f64]) {
    let (dim, width, at) = (panel.dim as usize, panel.width as usize, panel.x_at as usize);
    for r in 0..dim {
        let U = &U[r * width..][..width];
        let y = x[at + r] / U[r];
        x[at + r] = y;
        for i in r + 1..dim {
            x[at + i] -= y * U[i];
        }
        for c in columns {
            let to = &mut x[c.x_at as usize..][..c.stride as usize];
            axpy::<S>(-y, &U[c.at as usize..][..c.stride as usize], to);
        }
    }
}

/// `x ← Wᵀ (x − U x_columns)` on the panel.
#[inline(always)]
fn backward_fixed<S: Simd, const D: usize, const L: usize>(
    panel: &Panel,
    columns: &[Column],
    U: &[f64],
    W: &[f64],
    x: &mut [f64],
) {
    let width = panel.width as usize / LANES;
    let (U, W) = (&lanes(U)[..D * width], &lanes(W)[..D * L]);
    let mut dots = [S::zero(); D];
    for column in columns {
        let x = lanes(&x[column.x_at as usize..][..column.stride as usize]);
        let from = column.at as usize / LANES;
        for (c, x) in x.iter().enumerate() {
            let x = S::load(x);
            for r in 0..D {
                dots[r] = S::fma(S::load(&U[r * width + from + c]), x, dots[r]);
            }
        }
    }
    let own = &mut lanes_mut(&mut x[panel.x_at as usize..])[..L];
    let taken = sums::<S, D, L>(dots);
    let minus = S::splat(-1.0);
    let mut flat = [[0.0; LANES]; L];
    for l in 0..L {
        S::store(S::fma(minus, taken[l], S::load(&own[l])), &mut flat[l]);
    }
    let mut out = [S::zero(); L];
    for r in 0..D {
        let t = S::splat(flat[r / LANES][r % LANES]);
        for l in 0..=r / LANES {
            out[l] = S::fma(t, S::load(&W[r * L + l]), out[l]);
        }
    }
    for l in 0..L {
        S::store(out[l], &mut own[l]);
    }
}

#[inline(always)]
fn backward_any<S: Simd>(panel: &Panel, columns: &[Column], U: &[f64], _: &[f64], x: &mut [f64]) {
    let (dim, width, at) = (panel.dim as usize, panel.width as usize, panel.x_at as usize);
    for r in (0..dim).rev() {
        let U = &U[r * width..][..width];
        let mut acc = S::zero();
        for c in columns {
            let x = &x[c.x_at as usize..][..c.stride as usize];
            acc = multiply::<S>(&U[c.at as usize..][..c.stride as usize], x, acc);
        }
        let mut value = x[at + r] - S::sum(acc);
        for i in r + 1..dim {
            value -= U[i] * x[at + i];
        }
        x[at + r] = value / U[r];
    }
}
