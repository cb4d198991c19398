//! Sweeps of the interior point over cones, in batches of four cones of equal shape.
//!
//! Vectors over rows have the layout of [`Batches`](crate::batches::Batches): entry `j` of
//! four cones is one [`Lane`].

pub(super) mod step;

use crate::batches::Batch;
use crate::program::{ConeProgram, MAX_ROWS};
use quasistep_linalg::simd::LANES;
use quasistep_linalg::simd::{Lane, Simd, axpy, kernel, lanes, lanes_mut, multiply};

/// Index of the first entry of a cone's matrix `G = E W Eᵀ`, `k` padded rows, from its index in the
/// padded `b`.
#[inline(always)]
pub(crate) fn G_at(b_at: u32) -> usize {
    b_at as usize * MAX_ROWS
}

/// Batches of a program, with the matrices `E` and offsets `b` of their cones.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub p: &'a ConeProgram,
    pub batches: &'a [Batch],
    pub E: &'a [Lane],
    pub b: &'a [Lane],
}

/// Cones of one batch, and their sizes.
#[derive(Clone, Copy)]
struct Cones<'a> {
    p: &'a ConeProgram,
    batch: &'a Batch,
    E: &'a [Lane],
    round: bool,
    k: usize,
    m: usize,
}

impl<'a> Rows<'a> {
    #[inline(always)]
    fn of(self, batch: &'a Batch, round: bool, k: usize, m: usize) -> Cones<'a> {
        let E = &self.E[batch.E_at as usize..][..if round { m } else { k * m }];
        Cones { p: self.p, batch, E, round, k, m }
    }
}

impl Cones<'_> {
    /// Entries of the batch in a vector over rows.
    #[inline(always)]
    fn own<'v>(&self, v: &'v [Lane]) -> &'v [Lane] {
        &v[self.batch.at as usize..][..self.m]
    }

    #[inline(always)]
    fn own_mut<'v>(&self, v: &'v mut [Lane]) -> &'v mut [Lane] {
        &mut v[self.batch.at as usize..][..self.m]
    }

    /// Entries of the batch in the matrices of round cones.
    #[inline(always)]
    fn D_of<'v>(&self, D: &'v [Lane]) -> &'v [Lane] {
        &D[self.batch.D_at as usize..][..self.m * self.m]
    }
}

/// Calls a function with the sizes of a batch as constants where they are common: four edges, six
/// edges with spin, and round cones.
macro_rules! by_size {
    ($rows:expr, $batch:expr, $name:ident, $S:ty, ($($arg:expr),* $(,)?)) => {
        match ($batch.shape.round, $batch.shape.k, $batch.shape.m) {
            (false, 3, 4) => $name::<$S>($rows.of($batch, false, 3, 4), $($arg),*),
            (false, 4, 6) => $name::<$S>($rows.of($batch, false, 4, 6), $($arg),*),
            (true, 3, 3) => $name::<$S>($rows.of($batch, true, 3, 3), $($arg),*),
            (true, 4, 4) => $name::<$S>($rows.of($batch, true, 4, 4), $($arg),*),
            (round, k, m) => $name::<$S>($rows.of($batch, round, k as usize, m as usize), $($arg),*),
        }
    };
}

use by_size;

/// Calls a function with the numbers of rows and of lanes of the blocks as constants where they are
/// common: six variables with six, with a few more, with one to four, or alone.
macro_rules! by_sides {
    ($batch:expr, $fixed:ident, $any:ident, $S:ty, ($($arg:expr),* $(,)?)) => {
        match ($batch.shape.k, $batch.shape.sides) {
            (3, Some([2, 2])) => $fixed::<$S, 3, 2, 2>($($arg),*),
            (3, Some([2, 0])) => $fixed::<$S, 3, 2, 0>($($arg),*),
            (3, Some([2, 3])) => $fixed::<$S, 3, 2, 3>($($arg),*),
            (3, Some([3, 2])) => $fixed::<$S, 3, 3, 2>($($arg),*),
            (3, Some([2, 1])) => $fixed::<$S, 3, 2, 1>($($arg),*),
            (3, Some([1, 2])) => $fixed::<$S, 3, 1, 2>($($arg),*),
            (4, Some([2, 2])) => $fixed::<$S, 4, 2, 2>($($arg),*),
            _ => $any::<$S>($($arg),*),
        }
    };
}

/// `J x` of four cones, row by row.
#[inline(always)]
fn J_times<S: Simd>(p: &ConeProgram, batch: &Batch, x: &[Lane]) -> [S::V; MAX_ROWS] {
    by_sides!(batch, J_times_fixed, J_times_any, S, (p, batch, x))
}

#[inline(always)]
fn J_times_fixed<S: Simd, const K: usize, const A: usize, const B: usize>(
    p: &ConeProgram,
    batch: &Batch,
    x: &[Lane],
) -> [S::V; MAX_ROWS] {
    let all = lanes(&p.J);
    let width = A + B;
    let mut dots = [[S::zero(); LANES]; K];
    for l in 0..LANES {
        let J = &all[batch.J[l] as usize..][..K * width];
        let (a, b) = (&x[batch.x[l][0] as usize..][..A], &x[batch.x[l][1] as usize..][..B]);
        for r in 0..K {
            let mut acc = S::zero();
            for c in 0..A {
                acc = S::fma(S::load(&J[r * width + c]), S::load(&a[c]), acc);
            }
            for c in 0..B {
                acc = S::fma(S::load(&J[r * width + A + c]), S::load(&b[c]), acc);
            }
            dots[r][l] = acc;
        }
    }
    let mut out = [S::zero(); MAX_ROWS];
    for r in 0..K {
        out[r] = S::sums(dots[r]);
    }
    out
}

#[inline(always)]
fn J_times_any<S: Simd>(p: &ConeProgram, batch: &Batch, x: &[Lane]) -> [S::V; MAX_ROWS] {
    let mut flat = [[0.0; LANES]; MAX_ROWS];
    let (J, x) = (&p.J[..], x.as_flattened());
    for l in 0..batch.count as usize {
        let cone = &p.cones[batch.cones[l] as usize];
        let width = cone.width as usize;
        for r in 0..cone.k as usize {
            let mut acc = S::zero();
            for side in p.sides_of(cone) {
                let block = &p.blocks[side.block as usize];
                let at = cone.J_at as usize + r * width + side.column as usize;
                let stride = block.stride as usize;
                acc = multiply::<S>(&J[at..at + stride], &x[block.at as usize..][..stride], acc);
            }
            flat[r][l] = S::sum(acc);
        }
    }
    let mut out = [S::zero(); MAX_ROWS];
    for r in 0..batch.shape.k as usize {
        out[r] = S::load(&flat[r]);
    }
    out
}

/// `g −= Jᵀ f` of four cones.
#[inline(always)]
fn take_forces<S: Simd>(p: &ConeProgram, batch: &Batch, f: &[S::V; MAX_ROWS], g: &mut [Lane]) {
    let mut minus = [[0.0; LANES]; MAX_ROWS];
    for r in 0..batch.shape.k as usize {
        S::store(S::sub(S::zero(), f[r]), &mut minus[r]);
    }
    by_sides!(batch, take_fixed, take_any, S, (p, batch, &minus, g));
}

#[inline(always)]
fn take_fixed<S: Simd, const K: usize, const A: usize, const B: usize>(
    p: &ConeProgram,
    batch: &Batch,
    f: &[Lane; MAX_ROWS],
    g: &mut [Lane],
) {
    let all = lanes(&p.J);
    let width = A + B;
    for l in 0..batch.count as usize {
        let J = &all[batch.J[l] as usize..][..K * width];
        let (mut a, mut b) = ([S::zero(); A], [S::zero(); B]);
        for r in 0..K {
            let f = S::splat(f[r][l]);
            for c in 0..A {
                a[c] = S::fma(f, S::load(&J[r * width + c]), a[c]);
            }
            for c in 0..B {
                b[c] = S::fma(f, S::load(&J[r * width + A + c]), b[c]);
            }
        }
        // add sums to memory once: each access would wait for the last
        let to = &mut g[batch.x[l][0] as usize..][..A];
        for c in 0..A {
            S::store(S::add(S::load(&to[c]), a[c]), &mut to[c]);
        }
        let to = &mut g[batch.x[l][1] as usize..][..B];
        for c in 0..B {
            S::store(S::add(S::load(&to[c]), b[c]), &mut to[c]);
        }
    }
}

#[inline(always)]
fn take_any<S: Simd>(p: &ConeProgram, batch: &Batch, f: &[Lane; MAX_ROWS], g: &mut [Lane]) {
    let (J, g) = (&p.J[..], g.as_flattened_mut());
    for l in 0..batch.count as usize {
        let cone = &p.cones[batch.cones[l] as usize];
        let width = cone.width as usize;
        for r in 0..cone.k as usize {
            for side in p.sides_of(cone) {
                let block = &p.blocks[side.block as usize];
                let at = cone.J_at as usize + r * width + side.column as usize;
                let stride = block.stride as usize;
                let to = &mut g[block.at as usize..][..stride];
                axpy::<S>(f[r][l], &J[at..at + stride], to);
            }
        }
    }
}

/// Entry `j` of `E y`, for four cones.
#[inline(always)]
fn edge<S: Simd>(E: &[Lane], k: usize, m: usize, y: &[S::V; MAX_ROWS], j: usize) -> S::V {
    let mut u = S::mul(S::load(&E[j]), y[0]);
    for r in 1..k {
        u = S::fma(S::load(&E[r * m + j]), y[r], u);
    }
    u
}

kernel! {
    /// `u = E (J x − b)` of some batches.
    batch_rows(rows: Rows<'_>, x: &[f64], u: &mut [Lane]) {
        for batch in rows.batches {
            by_size!(rows, batch, rows_of, S, (rows.b, lanes(x), u));
        }
    }
}

#[inline(always)]
fn rows_of<S: Simd>(cones: Cones<'_>, b: &[Lane], x: &[Lane], u: &mut [Lane]) {
    let Cones { p, batch, E, round, k, m } = cones;
    let mut y = J_times::<S>(p, batch, x);
    let b = &b[batch.b_at as usize..][..k];
    for r in 0..k {
        y[r] = S::sub(y[r], S::load(&b[r]));
    }
    let u = cones.own_mut(u);
    for j in 0..m {
        let value = if round { S::mul(S::load(&E[j]), y[j]) } else { edge::<S>(E, k, m, &y, j) };
        S::store(value, &mut u[j]);
    }
}

kernel! {
    /// `g −= Jᵀ Eᵀ t` over some batches.
    batch_forces(rows: Rows<'_>, t: &[Lane], g: &mut [f64]) {
        for batch in rows.batches {
            by_size!(rows, batch, forces_of, S, (t, lanes_mut(g)));
        }
    }
}

#[inline(always)]
fn forces_of<S: Simd>(cones: Cones<'_>, t: &[Lane], g: &mut [Lane]) {
    let Cones { p, batch, E, round, k, m } = cones;
    let t = cones.own(t);
    let mut f = [S::zero(); MAX_ROWS];
    for j in 0..m {
        let t = S::load(&t[j]);
        if round {
            f[j] = S::mul(S::load(&E[j]), t);
        } else {
            for r in 0..k {
                f[r] = S::fma(S::load(&E[r * m + j]), t, f[r]);
            }
        }
    }
    take_forces::<S>(p, batch, &f, g);
}

#[cfg(test)]
mod tests;
