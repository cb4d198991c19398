//! Triangular solves with the block factor.

use super::layout::{Column, Layout, Panel};
use crate::simd::{LANES, Lane, Simd, axpy, by_dim, kernel, lanes, lanes_mut, load, multiply};

kernel! {
    /// `x ← H⁻¹ x` over the panels `first..last`.
    solve(s: Layout<'_>, first: usize, last: usize, H: &[f64], W: &[f64], x: &mut [f64]) {
        for panel in &s.panels[first..last] {
            let columns = &s.columns[panel.first_column as usize..panel.last_column as usize];
            let W = &W[panel.W_at as usize..];
            by_dim!(panel.dim, forward_fixed, forward_any, S, (panel, columns, H, W, x));
        }
        for panel in s.panels[first..last].iter().rev() {
            let columns = &s.columns[panel.first_column as usize..panel.last_column as usize];
            let W = &W[panel.W_at as usize..];
            by_dim!(panel.dim, backward_fixed, backward_any, S, (panel, columns, H, W, x));
        }
    }
}

/// Sums of the lanes of `D` vectors, as `L` vectors.
#[inline(always)]
pub(crate) fn sums<S: Simd, const D: usize, const L: usize>(v: [S::V; D]) -> [S::V; L] {
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

/// Forward substitution of a panel: `x ← W x` on its rows, then `x −= Uᵀ x` on its columns.
#[inline(always)]
fn forward_fixed<S: Simd, const D: usize, const L: usize>(
    panel: &Panel,
    columns: &[Column],
    H: &[f64],
    W: &[f64],
    x: &mut [f64],
) {
    let W = &lanes(W)[..D * L];
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
    take_columns::<S, D>(columns, H, &minus, x);
}

/// `x += Uᵀ y` on the columns right of a panel.
#[inline(always)]
pub(crate) fn take_columns<S: Simd, const D: usize>(
    columns: &[Column],
    U: &[f64],
    y: &[S::V; D],
    x: &mut [f64],
) {
    for column in columns {
        let U = lanes(&U[column.at as usize..]);
        let x = lanes_mut(&mut x[column.x_at as usize..]);
        match column.stride as usize / LANES {
            1 => take_rows::<S, D, 1>(U, y, x),
            2 => take_rows::<S, D, 2>(U, y, x),
            3 => take_rows::<S, D, 3>(U, y, x),
            n => {
                for (r, row) in U.chunks_exact(n).take(D).enumerate() {
                    for (u, x) in row.iter().zip(&mut *x) {
                        S::store(S::fma(y[r], S::load(u), S::load(x)), x);
                    }
                }
            }
        }
    }
}

/// `x += Σ_r y_r U_r` with `N` lanes.
#[inline(always)]
fn take_rows<S: Simd, const D: usize, const N: usize>(U: &[Lane], y: &[S::V; D], x: &mut [Lane]) {
    let (U, x) = (&U[..D * N], &mut x[..N]);
    for n in 0..N {
        let mut acc = S::load(&x[n]);
        for r in 0..D {
            acc = S::fma(y[r], S::load(&U[r * N + n]), acc);
        }
        S::store(acc, &mut x[n]);
    }
}

#[inline(always)]
fn forward_any<S: Simd>(panel: &Panel, columns: &[Column], H: &[f64], _: &[f64], x: &mut [f64]) {
    let (dim, stride, at) = (panel.dim as usize, panel.stride() as usize, panel.x_at as usize);
    let own = &H[panel.at as usize..][..dim * stride];
    // a block without variables has stride zero
    for (r, U) in own.chunks_exact(stride.max(1)).enumerate() {
        let y = x[at + r] / U[r];
        x[at + r] = y;
        for i in r + 1..dim {
            x[at + i] -= y * U[i];
        }
        for c in columns {
            let n = c.stride as usize;
            axpy::<S>(-y, &H[c.at as usize + r * n..][..n], &mut x[c.x_at as usize..][..n]);
        }
    }
}

/// `x ← Wᵀ (x − U x_columns)` on the panel.
#[inline(always)]
fn backward_fixed<S: Simd, const D: usize, const L: usize>(
    panel: &Panel,
    columns: &[Column],
    H: &[f64],
    W: &[f64],
    x: &mut [f64],
) {
    let W = &lanes(W)[..D * L];
    let dots = times_columns::<S, D>(columns, H, x);
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

/// Lanes that sum to `U x` over the columns to the right of a panel.
#[inline(always)]
pub(crate) fn times_columns<S: Simd, const D: usize>(
    columns: &[Column],
    U: &[f64],
    x: &[f64],
) -> [S::V; D] {
    let mut dots = [S::zero(); D];
    for column in columns {
        let U = lanes(&U[column.at as usize..]);
        let x = lanes(&x[column.x_at as usize..]);
        match column.stride as usize / LANES {
            1 => add_rows::<S, D, 1>(U, x, &mut dots),
            2 => add_rows::<S, D, 2>(U, x, &mut dots),
            3 => add_rows::<S, D, 3>(U, x, &mut dots),
            n => {
                for (dot, row) in dots.iter_mut().zip(U.chunks_exact(n)) {
                    for (u, x) in row.iter().zip(x) {
                        *dot = S::fma(S::load(u), S::load(x), *dot);
                    }
                }
            }
        }
    }
    dots
}

/// `dots_r += U_r ∘ x` with `N` lanes.
#[inline(always)]
fn add_rows<S: Simd, const D: usize, const N: usize>(U: &[Lane], x: &[Lane], dots: &mut [S::V; D]) {
    let (U, x) = (&U[..D * N], &x[..N]);
    for n in 0..N {
        let x = S::load(&x[n]);
        for r in 0..D {
            dots[r] = S::fma(S::load(&U[r * N + n]), x, dots[r]);
        }
    }
}

#[inline(always)]
fn backward_any<S: Simd>(panel: &Panel, columns: &[Column], H: &[f64], _: &[f64], x: &mut [f64]) {
    let (dim, stride, at) = (panel.dim as usize, panel.stride() as usize, panel.x_at as usize);
    for r in (0..dim).rev() {
        let U = &H[panel.at as usize + r * stride..][..stride];
        let mut acc = S::zero();
        for c in columns {
            let n = c.stride as usize;
            let x = &x[c.x_at as usize..][..n];
            acc = multiply::<S>(&H[c.at as usize + r * n..][..n], x, acc);
        }
        let mut value = x[at + r] - S::sum(acc);
        for i in r + 1..dim {
            value -= U[i] * x[at + i];
        }
        x[at + r] = value / U[r];
    }
}
