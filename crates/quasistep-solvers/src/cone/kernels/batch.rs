//! Sweeps of the interior point over cones, four of a shape at a time.
//!
//! Vectors over rows are laid out as [`Batches`](crate::cone::batches::Batches) has it: entry `j` of four
//! cones is one [`Lane`].

use super::round::{self, Scaling};
use super::{Simd, kernel, lanes, lanes_mut, multiply};
use crate::cone::batches::{Batch, LIVE, Shape};
use crate::cone::kernels::Lane;
use crate::cone::program::{ConeProgram, LANES, MAX_ROWS, padded};
use crate::cone::second_order;

/// Most entries of round cones that are computed side by side.
const NARROW: usize = LANES;

/// Where the matrix `G = E W Eᵀ` of a cone is: its `k` padded rows.
#[inline(always)]
pub(crate) fn G_at(b_at: u32) -> usize {
    b_at as usize * MAX_ROWS
}

/// Calls a function with the sizes of a batch as constants where they are common ones: contacts with four
/// edges, or six with spin, and round cones.
macro_rules! by_size {
    ($batch:expr, $name:ident, $S:ty, ($($arg:expr),* $(,)?)) => {
        match ($batch.shape.round, $batch.shape.k, $batch.shape.m) {
            (false, 3, 4) => $name::<$S>(false, 3, 4, $($arg),*),
            (false, 4, 6) => $name::<$S>(false, 4, 6, $($arg),*),
            (true, 3, 3) => $name::<$S>(true, 3, 3, $($arg),*),
            (true, 4, 4) => $name::<$S>(true, 4, 4, $($arg),*),
            (round, k, m) => $name::<$S>(round, k as usize, m as usize, $($arg),*),
        }
    };
}

/// Calls a function with rows and lanes of the sides as constants where they are common ones: free bodies, with
/// an arm or a slider, with the ground.
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
    let x = x.as_flattened();
    for l in 0..batch.count as usize {
        let cone = &p.cones[batch.cones[l] as usize];
        let width = cone.width as usize;
        for r in 0..cone.k as usize {
            let mut acc = S::zero();
            for side in p.sides_of(cone) {
                let block = &p.blocks[side.block as usize];
                let at = cone.J_at as usize + r * width + side.column as usize;
                let stride = block.stride as usize;
                acc = multiply::<S>(&p.J[at..at + stride], &x[block.at as usize..][..stride], acc);
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
        // sums first: what is added to memory waits for what was added before
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
    let g = g.as_flattened_mut();
    for l in 0..batch.count as usize {
        let cone = &p.cones[batch.cones[l] as usize];
        let width = cone.width as usize;
        for r in 0..cone.k as usize {
            for side in p.sides_of(cone) {
                let block = &p.blocks[side.block as usize];
                let at = cone.J_at as usize + r * width + side.column as usize;
                let stride = block.stride as usize;
                let to = &mut g[block.at as usize..][..stride];
                super::axpy::<S>(f[r][l], &p.J[at..at + stride], to);
            }
        }
    }
}

/// Entry `j` of `E y`.
#[inline(always)]
fn edge<S: Simd>(E: &[Lane], k: usize, m: usize, y: &[S::V; MAX_ROWS], j: usize) -> S::V {
    let mut u = S::mul(S::load(&E[j]), y[0]);
    for r in 1..k {
        u = S::fma(S::load(&E[r * m + j]), y[r], u);
    }
    u
}

/// The entries of a batch in vectors over rows.
#[inline(always)]
fn own<'a>(v: &'a [Lane], batch: &Batch, m: usize) -> &'a [Lane] {
    &v[batch.at as usize..][..m]
}

#[inline(always)]
fn own_mut<'a>(v: &'a mut [Lane], batch: &Batch, m: usize) -> &'a mut [Lane] {
    &mut v[batch.at as usize..][..m]
}

#[inline(always)]
fn E_of<'a>(E: &'a [Lane], batch: &Batch, round: bool, k: usize, m: usize) -> &'a [Lane] {
    &E[batch.E_at as usize..][..if round { m } else { k * m }]
}

kernel! {
    /// `u = E (J x − b)` of some batches.
    batch_rows(p: &ConeProgram, batches: &[Batch], E: &[Lane], b: &[Lane], x: &[f64], u: &mut [Lane]) {
        for batch in batches {
            by_size!(batch, rows_of, S, (p, batch, E, b, lanes(x), u));
        }
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn rows_of<S: Simd>(
    round: bool,
    k: usize,
    m: usize,
    p: &ConeProgram,
    batch: &Batch,
    E: &[Lane],
    b: &[Lane],
    x: &[Lane],
    u: &mut [Lane],
) {
    let mut y = J_times::<S>(p, batch, x);
    let b = &b[batch.b_at as usize..][..k];
    for r in 0..k {
        y[r] = S::sub(y[r], S::load(&b[r]));
    }
    let (E, u) = (E_of(E, batch, round, k, m), own_mut(u, batch, m));
    for j in 0..m {
        let value = if round { S::mul(S::load(&E[j]), y[j]) } else { edge::<S>(E, k, m, &y, j) };
        S::store(value, &mut u[j]);
    }
}

kernel! {
    /// `g −= Jᵀ Eᵀ t` over some batches.
    batch_forces(p: &ConeProgram, batches: &[Batch], E: &[Lane], t: &[Lane], g: &mut [f64]) {
        for batch in batches {
            by_size!(batch, forces_of, S, (p, batch, E, t, lanes_mut(g)));
        }
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn forces_of<S: Simd>(
    round: bool,
    k: usize,
    m: usize,
    p: &ConeProgram,
    batch: &Batch,
    E: &[Lane],
    t: &[Lane],
    g: &mut [Lane],
) {
    let (E, t) = (E_of(E, batch, round, k, m), own(t, batch, m));
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

/// Entries of round cones, zero beyond the last.
#[inline(always)]
fn entries<S: Simd>(v: &[Lane], m: usize) -> [S::V; NARROW] {
    let mut out = [S::zero(); NARROW];
    for i in 0..m.min(NARROW) {
        out[i] = S::load(&v[i]);
    }
    out
}

/// Runs `f` on every cone of a batch by itself, on copies of what it reads; writes what it returns.
#[inline(always)]
fn each<const N: usize>(
    batch: &Batch,
    m: usize,
    from: [&[Lane]; N],
    mut f: impl FnMut(usize, [[f64; MAX_ROWS]; N]),
) {
    for l in 0..batch.count as usize {
        let mut v = [[0.0; MAX_ROWS]; N];
        for (v, from) in v.iter_mut().zip(from) {
            for i in 0..m {
                v[i] = from[i][l];
            }
        }
        f(l, v);
    }
}

/// Entry `i` of `D v` with `D` of `m` rows.
#[inline(always)]
fn D_times<S: Simd>(D: &[Lane], m: usize, v: &[Lane], i: usize) -> S::V {
    let mut sum = S::mul(S::load(&D[i * m]), S::load(&v[0]));
    for j in 1..m {
        sum = S::fma(S::load(&D[i * m + j]), S::load(&v[j]), sum);
    }
    sum
}

/// `D = W⁻²` of round cones.
#[inline(always)]
fn write_D<S: Simd>(batch: &Batch, m: usize, s: &[Lane], z: &[Lane], D: &mut [Lane]) {
    if m <= NARROW {
        round::scale::<S>(m, &entries::<S>(s, m), &entries::<S>(z, m), D);
        return;
    }
    each(batch, m, [s, z], |l, [s, z]| {
        let mut flat = [0.0; MAX_ROWS * MAX_ROWS];
        let stride = padded(m);
        second_order::Scaling::new(&s[..m], &z[..m]).write_D(stride, &mut flat[..m * stride]);
        for i in 0..m {
            for j in 0..m {
                D[i * m + j][l] = flat[i * stride + j];
            }
        }
    });
}

/// Writes `G = E W Eᵀ` of four cones, each row by row, from what is not below the diagonal.
#[inline(always)]
fn write_G<S: Simd>(
    p: &ConeProgram,
    batch: &Batch,
    k: usize,
    upper: &[[S::V; MAX_ROWS]; MAX_ROWS],
    G: &mut [f64],
) {
    let stride = padded(k);
    for r in 0..k {
        for first in (0..k).step_by(LANES) {
            let mut row = [S::zero(); LANES];
            for q in first..k.min(first + LANES) {
                row[q - first] = upper[r.min(q)][r.max(q)];
            }
            let rows = S::transpose(row);
            for l in 0..batch.count as usize {
                let at = G_at(p.cones[batch.cones[l] as usize].b_at) + r * stride + first;
                S::store(rows[l], &mut lanes_mut(&mut G[at..])[0]);
            }
        }
    }
}

/// `E D Eᵀ` of round cones, not below the diagonal.
#[inline(always)]
fn scaled<S: Simd>(m: usize, E: &[Lane], D: &[Lane]) -> [[S::V; MAX_ROWS]; MAX_ROWS] {
    let mut out = [[S::zero(); MAX_ROWS]; MAX_ROWS];
    for r in 0..m {
        for q in r..m {
            let unit = S::mul(S::load(&E[r]), S::load(&E[q]));
            out[r][q] = S::mul(unit, S::load(&D[r * m + q]));
        }
    }
    out
}

kernel! {
    /// `G = E W Eᵀ` of some batches, `W` being `w` on edges and `D` on round cones.
    batch_matrices(p: &ConeProgram, batches: &[Batch], E: &[Lane], w: &[Lane], D: &[Lane], G: &mut [f64]) {
        for batch in batches {
            by_size!(batch, matrix_of, S, (p, batch, E, w, D, G));
        }
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn matrix_of<S: Simd>(
    round: bool,
    k: usize,
    m: usize,
    p: &ConeProgram,
    batch: &Batch,
    E: &[Lane],
    w: &[Lane],
    D: &[Lane],
    G: &mut [f64],
) {
    let E = E_of(E, batch, round, k, m);
    if round {
        let D = &D[batch.D_at as usize..][..m * m];
        write_G::<S>(p, batch, k, &scaled::<S>(m, E, D), G);
        return;
    }
    let w = own(w, batch, m);
    let mut sums = [[S::zero(); MAX_ROWS]; MAX_ROWS];
    for j in 0..m {
        let w = S::load(&w[j]);
        for r in 0..k {
            let weighed = S::mul(w, S::load(&E[r * m + j]));
            for q in r..k {
                sums[r][q] = S::fma(weighed, S::load(&E[q * m + j]), sums[r][q]);
            }
        }
    }
    write_G::<S>(p, batch, k, &sums, G);
}

kernel! {
    /// What the step towards the answer is made of: `w = z / (s + give z)` and `t = w (s + gap)` of edges,
    /// `D = W⁻²` and `t = z + D gap` of round cones, the matrices `G = E W Eᵀ`, and `g −= Jᵀ Eᵀ t`.
    batch_predictor(
        p: &ConeProgram,
        batches: &[Batch],
        E: &[Lane],
        give: f64,
        s: &[Lane],
        z: &[Lane],
        gap: &[Lane],
        w: &mut [Lane],
        D: &mut [Lane],
        t: &mut [Lane],
        G: &mut [f64],
        g: &mut [f64],
    ) {
        for batch in batches {
            by_size!(batch, predict, S, (p, batch, E, give, s, z, gap, w, D, t, G, lanes_mut(g)));
        }
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn predict<S: Simd>(
    round: bool,
    k: usize,
    m: usize,
    p: &ConeProgram,
    batch: &Batch,
    E: &[Lane],
    give: f64,
    s: &[Lane],
    z: &[Lane],
    gap: &[Lane],
    w: &mut [Lane],
    D: &mut [Lane],
    t: &mut [Lane],
    G: &mut [f64],
    g: &mut [Lane],
) {
    let E = E_of(E, batch, round, k, m);
    let s = own(s, batch, m);
    let z = own(z, batch, m);
    let gap = own(gap, batch, m);
    let t = own_mut(t, batch, m);
    let mut f = [S::zero(); MAX_ROWS];
    if round {
        let D = &mut D[batch.D_at as usize..][..m * m];
        write_D::<S>(batch, m, s, z, D);
        for i in 0..m {
            let value = S::add(S::load(&z[i]), D_times::<S>(D, m, gap, i));
            S::store(value, &mut t[i]);
            f[i] = S::mul(S::load(&E[i]), value);
        }
        write_G::<S>(p, batch, k, &scaled::<S>(m, E, D), G);
    } else {
        let w = own_mut(w, batch, m);
        let give = S::splat(give);
        let mut sums = [[S::zero(); MAX_ROWS]; MAX_ROWS];
        for j in 0..m {
            let (s, z) = (S::load(&s[j]), S::load(&z[j]));
            let weight = S::div(z, S::fma(give, z, s));
            let value = S::mul(weight, S::add(s, S::load(&gap[j])));
            S::store(weight, &mut w[j]);
            S::store(value, &mut t[j]);
            for r in 0..k {
                let e = S::load(&E[r * m + j]);
                f[r] = S::fma(e, value, f[r]);
                let weighed = S::mul(weight, e);
                for q in r..k {
                    sums[r][q] = S::fma(weighed, S::load(&E[q * m + j]), sums[r][q]);
                }
            }
        }
        write_G::<S>(p, batch, k, &sums, G);
    }
    take_forces::<S>(p, batch, &f, g);
}

kernel! {
    /// `t = (ds ∘ dz − mu) / (s + give z) + w (s + gap)` of edges; of round cones `z`, the products of the scaled
    /// cone, and `D gap`. And `g −= Jᵀ Eᵀ t`.
    batch_corrector(
        p: &ConeProgram,
        batches: &[Batch],
        E: &[Lane],
        give: f64,
        mu: f64,
        s: &[Lane],
        z: &[Lane],
        gap: &[Lane],
        w: &[Lane],
        D: &[Lane],
        ds: &[Lane],
        dz: &[Lane],
        t: &mut [Lane],
        g: &mut [f64],
    ) {
        for batch in batches {
            by_size!(batch, correct, S, (p, batch, E, give, mu, s, z, gap, w, D, ds, dz, t, lanes_mut(g)));
        }
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn correct<S: Simd>(
    round: bool,
    k: usize,
    m: usize,
    p: &ConeProgram,
    batch: &Batch,
    E: &[Lane],
    give: f64,
    mu: f64,
    s: &[Lane],
    z: &[Lane],
    gap: &[Lane],
    w: &[Lane],
    D: &[Lane],
    ds: &[Lane],
    dz: &[Lane],
    t: &mut [Lane],
    g: &mut [Lane],
) {
    let E = E_of(E, batch, round, k, m);
    let s = own(s, batch, m);
    let z = own(z, batch, m);
    let gap = own(gap, batch, m);
    let w = own(w, batch, m);
    let ds = own(ds, batch, m);
    let dz = own(dz, batch, m);
    let t = own_mut(t, batch, m);
    let mut f = [S::zero(); MAX_ROWS];
    if round {
        let D = &D[batch.D_at as usize..][..m * m];
        if m <= NARROW {
            let s = entries::<S>(s, m);
            let z = entries::<S>(z, m);
            let ds = entries::<S>(ds, m);
            let dz = entries::<S>(dz, m);
            let products = Scaling::<S>::new(&s, &z).corrector(mu, &z, &ds, &dz);
            for i in 0..m {
                S::store(products[i], &mut t[i]);
            }
        } else {
            each(batch, m, [s, z, ds, dz], |l, [s, z, ds, dz]| {
                let mut out = [0.0; MAX_ROWS];
                second_order::Scaling::new(&s[..m], &z[..m]).corrector(
                    &ds[..m],
                    &dz[..m],
                    mu,
                    &mut out[..m],
                );
                for i in 0..m {
                    t[i][l] = out[i];
                }
            });
        }
        let live = S::load(&LIVE[batch.count as usize]);
        for i in 0..m {
            let more = S::add(S::load(&z[i]), D_times::<S>(D, m, gap, i));
            let value = S::where_positive(live, S::add(S::load(&t[i]), more));
            S::store(value, &mut t[i]);
            f[i] = S::mul(S::load(&E[i]), value);
        }
    } else {
        let aim = S::mul(S::splat(-mu), S::load(&LIVE[batch.count as usize]));
        let give = S::splat(give);
        for j in 0..m {
            let (s, z) = (S::load(&s[j]), S::load(&z[j]));
            let product = S::fma(S::load(&ds[j]), S::load(&dz[j]), aim);
            let soft = S::fma(give, z, s);
            let sum = S::add(s, S::load(&gap[j]));
            let value = S::fma(S::load(&w[j]), sum, S::div(product, soft));
            S::store(value, &mut t[j]);
            for r in 0..k {
                f[r] = S::fma(S::load(&E[r * m + j]), value, f[r]);
            }
        }
    }
    take_forces::<S>(p, batch, &f, g);
}

kernel! {
    /// Moves the right side `t` so that the products at the end of a longer step come out between the bounds:
    /// Gondzio's correctors. Round cones are left as they are. And `g −= Jᵀ Eᵀ t`.
    batch_center(
        p: &ConeProgram,
        batches: &[Batch],
        E: &[Lane],
        give: f64,
        alpha: f64,
        bounds: [f64; 2],
        s: &[Lane],
        z: &[Lane],
        ds: &[Lane],
        dz: &[Lane],
        t: &mut [Lane],
        g: &mut [f64],
    ) {
        let (low, high, minus) = (S::splat(bounds[0]), S::splat(bounds[1]), S::splat(-1.0));
        let (alpha, give) = (S::splat(alpha), S::splat(give));
        for batch in batches {
            let Shape { round, m, .. } = batch.shape;
            let m = m as usize;
            let live = S::load(&LIVE[batch.count as usize]);
            if !round {
                let t = own_mut(t, batch, m);
                let s = own(s, batch, m);
                let z = own(z, batch, m);
                let ds = own(ds, batch, m);
                let dz = own(dz, batch, m);
                for j in 0..m {
                    let (s, z) = (S::load(&s[j]), S::load(&z[j]));
                    let product =
                        S::mul(S::fma(alpha, S::load(&ds[j]), s), S::fma(alpha, S::load(&dz[j]), z));
                    // what lies above `high` comes down by `high` at the most
                    let below = S::max(S::fma(minus, product, low), S::zero());
                    let above = S::max(S::fma(minus, high, product), S::zero());
                    let less = S::mul(minus, S::max(S::mul(minus, above), S::mul(minus, high)));
                    let change = S::mul(live, S::fma(minus, below, less));
                    let soft = S::fma(give, z, s);
                    S::store(S::add(S::load(&t[j]), S::div(change, soft)), &mut t[j]);
                }
            }
            by_size!(batch, forces_of, S, (p, batch, E, t, lanes_mut(g)));
        }
    }
}

/// How far a direction goes, and what it does to the products.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// Inverse of the longest step inside, or a negative number.
    pub blocked: f64,
    /// `Σ (s dz + z ds)` and `Σ ds dz`.
    pub cross: f64,
    pub square: f64,
}

kernel! {
    /// `dz = −t − W⁻² A dx`, `ds = A dx + gap + give dz`.
    batch_directions(
        p: &ConeProgram,
        batches: &[Batch],
        E: &[Lane],
        give: f64,
        dx: &[f64],
        s: &[Lane],
        z: &[Lane],
        gap: &[Lane],
        t: &[Lane],
        w: &[Lane],
        D: &[Lane],
        ds: &mut [Lane],
        dz: &mut [Lane],
    ) -> Reach {
        let (minus, one, none) = (S::splat(-1.0), S::splat(1.0), S::zero());
        let mut tally = Tally::<S> {
            most_s: minus, over_s: one, most_z: minus, over_z: one, round: minus, cross: none, square: none,
        };
        for batch in batches {
            by_size!(batch, direct, S, (p, batch, E, give, lanes(dx), s, z, gap, t, w, D, ds, dz, &mut tally));
        }
        let Tally { most_s, over_s, most_z, over_z, round, cross, square } = tally;
        let blocked = S::max(S::div(most_s, over_s), S::div(most_z, over_z));
        let blocked = S::to_array(S::max(blocked, round));
        Reach {
            blocked: blocked.iter().fold(-1.0, |m: f64, b| m.max(*b)),
            cross: S::sum(cross),
            square: S::sum(square),
        }
    }
}

/// Largest ratios so far, as numerators and denominators: no division per row. Those of round cones, and sums.
struct Tally<S: Simd> {
    most_s: S::V,
    over_s: S::V,
    most_z: S::V,
    over_z: S::V,
    round: S::V,
    cross: S::V,
    square: S::V,
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn direct<S: Simd>(
    round: bool,
    k: usize,
    m: usize,
    p: &ConeProgram,
    batch: &Batch,
    E: &[Lane],
    give: f64,
    dx: &[Lane],
    s: &[Lane],
    z: &[Lane],
    gap: &[Lane],
    t: &[Lane],
    w: &[Lane],
    D: &[Lane],
    ds: &mut [Lane],
    dz: &mut [Lane],
    tally: &mut Tally<S>,
) {
    let y = J_times::<S>(p, batch, dx);
    let E = E_of(E, batch, round, k, m);
    let s = own(s, batch, m);
    let z = own(z, batch, m);
    let gap = own(gap, batch, m);
    let t = own(t, batch, m);
    let w = own(w, batch, m);
    let (ds, dz) = (own_mut(ds, batch, m), own_mut(dz, batch, m));
    let minus = S::splat(-1.0);
    if round {
        let D = &D[batch.D_at as usize..][..m * m];
        for i in 0..m {
            S::store(S::mul(S::load(&E[i]), y[i]), &mut ds[i]);
        }
        for i in 0..m {
            let sum = S::add(S::load(&t[i]), D_times::<S>(D, m, ds, i));
            S::store(S::mul(minus, sum), &mut dz[i]);
        }
        for i in 0..m {
            let d = S::add(S::load(&ds[i]), S::load(&gap[i]));
            S::store(d, &mut ds[i]);
            let (s, z, e) = (S::load(&s[i]), S::load(&z[i]), S::load(&dz[i]));
            tally.cross = S::fma(s, e, S::fma(z, d, tally.cross));
            tally.square = S::fma(d, e, tally.square);
        }
        if m <= NARROW {
            let s = entries::<S>(s, m);
            let z = entries::<S>(z, m);
            let ds = entries::<S>(&*ds, m);
            let dz = entries::<S>(&*dz, m);
            // cones that are none stand still at the tip of the dual cone
            let live = S::load(&LIVE[batch.count as usize]);
            let far = S::max(round::blocked::<S>(&s, &ds), round::blocked::<S>(&z, &dz));
            tally.round = S::max(S::select(live, far, minus), tally.round);
        } else {
            let mut most = -1.0_f64;
            each(batch, m, [s, z, &*ds, &*dz], |_, [s, z, ds, dz]| {
                most = most.max(second_order::blocked(&s[..m], &ds[..m]));
                most = most.max(second_order::blocked(&z[..m], &dz[..m]));
            });
            tally.round = S::max(S::splat(most), tally.round);
        }
        return;
    }
    let less = S::splat(-give);
    for j in 0..m {
        let rate = edge::<S>(E, k, m, &y, j);
        let (s, z) = (S::load(&s[j]), S::load(&z[j]));
        // minus dz and minus ds
        let a = S::fma(S::load(&w[j]), rate, S::load(&t[j]));
        let d = S::fma(less, a, S::add(rate, S::load(&gap[j])));
        let (b, e) = (S::mul(minus, d), S::mul(minus, a));
        S::store(e, &mut dz[j]);
        S::store(d, &mut ds[j]);
        tally.cross = S::fma(s, e, S::fma(z, d, tally.cross));
        tally.square = S::fma(d, e, tally.square);
        // cones that are none: z = dz = 0 is no more than any ratio
        let more = S::fma(S::mul(minus, tally.most_s), s, S::mul(b, tally.over_s));
        tally.most_s = S::select(more, b, tally.most_s);
        tally.over_s = S::select(more, s, tally.over_s);
        let more = S::fma(S::mul(minus, tally.most_z), z, S::mul(a, tally.over_z));
        tally.most_z = S::select(more, a, tally.most_z);
        tally.over_z = S::select(more, z, tally.over_z);
    }
}

kernel! {
    /// `s += alpha ds`, `z += alpha dz`, `gap *= 1 − alpha`; returns `Σ s z`.
    batch_advance(
        alpha: f64,
        ds: &[Lane],
        dz: &[Lane],
        s: &mut [Lane],
        z: &mut [Lane],
        gap: &mut [Lane],
    ) -> f64 {
        let mut total = S::zero();
        let (alpha, left) = (S::splat(alpha), S::splat(1.0 - alpha));
        let all = s.iter_mut().zip(z).zip(gap).zip(ds.iter().zip(dz));
        for (((s, z), gap), (ds, dz)) in all {
            let next_s = S::fma(alpha, S::load(ds), S::load(s));
            let next_z = S::fma(alpha, S::load(dz), S::load(z));
            total = S::fma(next_s, next_z, total);
            S::store(next_s, s);
            S::store(next_z, z);
            S::store(S::mul(left, S::load(gap)), gap);
        }
        S::sum(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cone::batches::{Batches, spread};
    use crate::cone::kernels::{self, Isa};
    use crate::cone::program::Cone;
    use crate::cone::structure::Structure;

    fn wave(seed: f64, i: usize) -> f64 {
        (seed + 1.7 * i as f64).sin()
    }

    /// Cones of all shapes over blocks of 6, 6, 9, 2 and 13 variables, some shapes once, some six times.
    fn program() -> ConeProgram {
        let mut p = ConeProgram::new();
        p.reset([6, 6, 9, 2, 13]);
        let sides: [&[u32]; 9] =
            [&[0, 1], &[0], &[1, 2], &[2, 0], &[0, 3], &[3, 1], &[4, 1], &[0, 1, 2], &[4]];
        let mut seed = 0.3;
        for copy in 0..6 {
            for (n, sides) in sides.iter().enumerate() {
                for (round, k, m) in [
                    (false, 3, 4),
                    (false, 4, 6),
                    (false, 1, 1),
                    (true, 3, 3),
                    (true, 4, 4),
                    (true, 6, 6),
                ] {
                    if (n + k + m) % 3 == copy % 3 {
                        continue;
                    }
                    seed += 0.61;
                    let E: Vec<f64> = (0..if round { m } else { k * m })
                        .map(|i| if i % k == 0 { 1.0 } else { wave(seed, i) })
                        .collect();
                    let cone = if round { Cone::Round(&E) } else { Cone::Edges(&E) };
                    let mut cone = p.push_cone(cone, k, sides);
                    for side in 0..sides.len() {
                        for r in 0..k {
                            for (i, J) in cone.J(side, r).iter_mut().enumerate() {
                                *J = wave(seed + 3.1 * side as f64, 17 * r + i);
                            }
                        }
                    }
                    for (i, b) in cone.b().iter_mut().enumerate() {
                        *b = wave(seed, 5 + i);
                    }
                }
            }
        }
        p
    }

    /// A number for every entry of `z`, in both layouts; inside the cones if asked for.
    fn point(p: &ConeProgram, batches: &[Batch], seed: f64, inside: bool) -> (Vec<f64>, Vec<Lane>) {
        // padding: room
        let mut flat = vec![if inside { 1.0 } else { 0.0 }; p.m_padded];
        for (c, cone) in p.cones.iter().enumerate() {
            let own = &mut flat[cone.at as usize..][..cone.m as usize];
            own.iter_mut().enumerate().for_each(|(i, v)| *v = wave(seed + c as f64, i));
            if inside && cone.round {
                own[0] = 0.1 + second_order::norm(&own[1..]);
            } else if inside {
                own.iter_mut().for_each(|v| *v = 0.1 + v.abs());
            }
        }
        let end = batches.last().map_or(0, |b| b.at + b.shape.m) as usize;
        let mut lanes = vec![[if inside { 1.0 } else { 0.0 }; LANES]; end];
        for batch in batches {
            for j in 0..batch.shape.m as usize {
                for l in 0..batch.count as usize {
                    let cone = &p.cones[batch.cones[l] as usize];
                    lanes[batch.at as usize + j][l] = flat[cone.at as usize + j];
                }
                for l in batch.count as usize..LANES {
                    lanes[batch.at as usize + j][l] = f64::from(u8::from(inside && j == 0));
                }
            }
        }
        (flat, lanes)
    }

    /// Multipliers of cones that are none are zero.
    fn without_force(batches: &[Batch], v: &mut [Lane]) {
        for batch in batches {
            for entry in &mut v[batch.at as usize..][..batch.shape.m as usize] {
                entry[batch.count as usize..].fill(0.0);
            }
        }
    }

    #[track_caller]
    fn assert_near(p: &ConeProgram, batches: &[Batch], got: &[Lane], expected: &[f64]) {
        let mut flat = vec![0.0; p.m_padded];
        spread(p, batches, got, &mut flat);
        for cone in &p.cones {
            for i in cone.at as usize..(cone.at + cone.m) as usize {
                let (a, b) = (flat[i], expected[i]);
                assert!((a - b).abs() <= 1e-11 * (1.0 + b.abs()), "{cone:?} {i}: {a} {b}");
            }
        }
    }

    #[test]
    fn batches_are_as_cone_by_cone() {
        let p = program();
        let mut structure = Structure::default();
        structure.update(&p);
        assert_eq!(structure.islands.len(), 1);
        let mut all = Batches::default();
        all.fill(&p, &structure);
        let batches = all.of(&structure.islands[0]);
        assert_eq!(batches.iter().map(|b| b.count as usize).sum::<usize>(), p.cones.len());
        let groups = &structure.groups;
        let (s, s_in) = point(&p, batches, 0.9, true);
        let (mut z, mut z_in) = point(&p, batches, 2.3, true);
        without_force(batches, &mut z_in);
        for cone in &p.cones {
            z[(cone.at + cone.m) as usize..(cone.at + cone.stride_z) as usize].fill(0.0);
        }
        let (gap, gap_in) = point(&p, batches, 3.1, false);
        let mut x = vec![0.0; p.n_padded];
        for block in &p.blocks {
            for i in block.at as usize..(block.at + block.dim) as usize {
                x[i] = wave(0.4, i);
            }
        }
        let give = 0.03;
        for isa in [Isa::Portable, Isa::detect()] {
            let (mut u, mut w, mut D) =
                (vec![0.0; p.m_padded], vec![1.0; p.m_padded], vec![0.0; p.E.len()]);
            kernels::slacks(isa, &p, groups, &x, &mut u);
            let mut u_in = vec![[0.0; LANES]; all.rows];
            batch_rows(isa, &p, batches, &all.E, &all.b, &x, &mut u_in);
            assert_near(&p, batches, &u_in, &u);

            // towards the answer
            kernels::weights(isa, &p, groups, give, &s, &z, &mut w, &mut D);
            let mut t = vec![0.0; p.m_padded];
            for cone in &p.cones {
                let (at, m, stride) = (cone.at as usize, cone.m as usize, cone.stride_z as usize);
                for i in 0..m {
                    t[at + i] = if cone.round {
                        let D = &D[cone.E_at as usize + i * stride..][..m];
                        z[at + i] + D.iter().zip(&gap[at..]).map(|(d, g)| d * g).sum::<f64>()
                    } else {
                        w[at + i] * (s[at + i] + gap[at + i])
                    };
                }
            }
            let mut g = x.clone();
            kernels::subtract_forces(isa, &p, groups, &t, &mut g);
            let mut w_in = vec![[0.0; LANES]; all.rows];
            let mut D_in = vec![[0.0; LANES]; all.D_len];
            let mut t_in = vec![[0.0; LANES]; all.rows];
            let mut G = vec![0.0; G_at(p.b.len() as u32)];
            let mut g_in = x.clone();
            batch_predictor(
                isa, &p, batches, &all.E, give, &s_in, &z_in, &gap_in, &mut w_in, &mut D_in,
                &mut t_in, &mut G, &mut g_in,
            );
            assert_near(&p, batches, &t_in, &t);
            assert!(g.iter().zip(&g_in).all(|(a, b)| (a - b).abs() <= 1e-10 * (1.0 + a.abs())));
            let mut again = vec![0.0; G.len()];
            batch_matrices(isa, &p, batches, &all.E, &w_in, &D_in, &mut again);
            assert!(G.iter().zip(&again).all(|(a, b)| (a - b).abs() <= 1e-12 * (1.0 + a.abs())));

            // the matrix, in the blocks of the factor
            let mut H = [vec![0.0; structure.H_len], vec![0.0; structure.H_len]];
            let (mut JS, mut GJ) = (Vec::new(), Vec::new());
            let targets = &structure.targets;
            kernels::add_products(isa, &p, groups, targets, &G, &mut JS, &mut GJ, &mut H[0]);
            let mut products = kernels::Products::default();
            kernels::add_cones(isa, &p, groups, targets, 1.0, &w, &D, &mut products, &mut H[1]);
            let largest = H[1].iter().fold(0.0_f64, |m, h| m.max(h.abs()));
            assert!(H[0].iter().zip(&H[1]).all(|(a, b)| (a - b).abs() <= 1e-12 * largest));

            // a direction
            let (mut ds, mut dz) = (vec![0.0; p.m_padded], vec![0.0; p.m_padded]);
            let blocked = kernels::directions(
                isa, &p, groups, give, &x, &s, &z, &gap, &t, &w, &D, &mut ds, &mut dz,
            );
            let (mut ds_in, mut dz_in) =
                (vec![[0.0; LANES]; all.rows], vec![[0.0; LANES]; all.rows]);
            let reach = batch_directions(
                isa, &p, batches, &all.E, give, &x, &s_in, &z_in, &gap_in, &t_in, &w_in, &D_in,
                &mut ds_in, &mut dz_in,
            );
            assert_near(&p, batches, &ds_in, &ds);
            assert_near(&p, batches, &dz_in, &dz);
            assert!((reach.blocked - blocked).abs() <= 1e-9 * blocked.abs());
            let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let (cross, square) = (sum(&s, &dz) + sum(&z, &ds), sum(&ds, &dz));
            assert!((reach.cross - cross).abs() <= 1e-9 * cross.abs());
            assert!((reach.square - square).abs() <= 1e-9 * square.abs());

            // back to the middle
            let mut live = vec![0.0; p.m_padded];
            for cone in &p.cones {
                live[cone.at as usize..][..cone.m as usize].fill(1.0);
            }
            kernels::corrector(
                isa, &p, groups, give, 0.2, &s, &z, &gap, &w, &D, &live, &ds, &dz, &mut t,
            );
            batch_corrector(
                isa, &p, batches, &all.E, give, 0.2, &s_in, &z_in, &gap_in, &w_in, &D_in, &ds_in,
                &dz_in, &mut t_in, &mut g_in,
            );
            assert_near(&p, batches, &t_in, &t);
            let left = batch_advance(
                isa,
                0.1,
                &ds_in,
                &dz_in,
                &mut s_in.clone(),
                &mut z_in.clone(),
                &mut gap_in.clone(),
            );
            let next = |v: &[f64], d: &[f64]| {
                v.iter().zip(d).map(|(v, d)| v + 0.1 * d).collect::<Vec<_>>()
            };
            let expected = sum(&next(&s, &ds), &next(&z, &dz));
            assert!((left - expected).abs() <= 1e-9 * expected.abs());
        }
    }
}
