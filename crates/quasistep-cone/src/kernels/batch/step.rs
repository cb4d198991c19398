//! Parts of an interior point step: matrices, right-hand sides, directions.

use super::{Cones, G_at, J_times, Rows, by_size, edge, forces_of, take_forces};
use crate::batches::{Batch, LIVE, Shape};
use crate::kernels::round;
use crate::kernels::views::{Iterate, Scaled, Step};
use crate::program::MAX_ROWS;
use crate::second_order;
use quasistep_linalg::simd::{LANES, padded};
use quasistep_linalg::simd::{Lane, Simd, kernel, lanes, lanes_mut};

/// Largest number of entries of a round cone that are kept in registers.
const NARROW: usize = LANES;

/// Entries of round cones, zero beyond the last entry.
#[inline(always)]
fn entries<S: Simd>(v: &[Lane], m: usize) -> [S::V; NARROW] {
    let mut out = [S::zero(); NARROW];
    for i in 0..m.min(NARROW) {
        out[i] = S::load(&v[i]);
    }
    out
}

/// Runs `f` on every cone of a batch separately, on copies of its inputs, and writes the results.
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

/// Entry `i` of `D v`, where `D` has `m` rows.
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

/// Writes `G = E W Eᵀ` of four cones, each row by row, from its upper triangle.
#[inline(always)]
fn write_G<S: Simd>(cones: Cones<'_>, upper: &[[S::V; MAX_ROWS]; MAX_ROWS], G: &mut [f64]) {
    let Cones { p, batch, k, .. } = cones;
    let (all, stride) = (&p.cones[..], padded(k));
    for r in 0..k {
        for first in (0..k).step_by(LANES) {
            let mut row = [S::zero(); LANES];
            for q in first..k.min(first + LANES) {
                row[q - first] = upper[r.min(q)][r.max(q)];
            }
            let rows = S::transpose(row);
            for l in 0..batch.count as usize {
                let at = G_at(all[batch.cones[l] as usize].b_at) + r * stride + first;
                S::store(rows[l], &mut lanes_mut(&mut G[at..])[0]);
            }
        }
    }
}

/// Upper triangle of `E D Eᵀ` of round cones.
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
    /// `G = E W Eᵀ` of some batches. `W` is `w` for edges and `D` for round cones.
    batch_matrices(rows: Rows<'_>, w: &[Lane], D: &[Lane], G: &mut [f64]) {
        for batch in rows.batches {
            by_size!(rows, batch, matrix_of, S, (w, D, G));
        }
    }
}

#[inline(always)]
fn matrix_of<S: Simd>(cones: Cones<'_>, w: &[Lane], D: &[Lane], G: &mut [f64]) {
    let Cones { E, round, k, m, .. } = cones;
    if round {
        write_G::<S>(cones, &scaled::<S>(m, E, cones.D_of(D)), G);
        return;
    }
    let w = cones.own(w);
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
    write_G::<S>(cones, &sums, G);
}

/// Results of the predictor that belong to the rows, and the matrices `G` of the cones.
pub(crate) struct Predicted<'a> {
    pub w: &'a mut [Lane],
    pub D: &'a mut [Lane],
    pub t: &'a mut [Lane],
    pub G: &'a mut [f64],
}

kernel! {
    /// Predictor. For edges `w = z / (s + compliance z)` and `t = w (s + gap)`. For round cones `D
    /// = W⁻²` and `t = z + D gap`. Then the matrices `G = E W Eᵀ`, and `g −= Jᵀ Eᵀ t`.
    batch_predictor(rows: Rows<'_>, at: Iterate<'_, Lane>, out: Predicted<'_>, g: &mut [f64]) {
        let Predicted { w, D, t, G } = out;
        for batch in rows.batches {
            by_size!(rows, batch, predict, S, (at, w, D, t, G, lanes_mut(g)));
        }
    }
}

#[inline(always)]
fn predict<S: Simd>(
    cones: Cones<'_>,
    at: Iterate<'_, Lane>,
    w: &mut [Lane],
    D: &mut [Lane],
    t: &mut [Lane],
    G: &mut [f64],
    g: &mut [Lane],
) {
    let Cones { p, batch, E, round, k, m } = cones;
    let Iterate { compliance, s, z, gap } = at;
    let (s, z, gap, t) = (cones.own(s), cones.own(z), cones.own(gap), cones.own_mut(t));
    let mut f = [S::zero(); MAX_ROWS];
    if round {
        let D = &mut D[batch.D_at as usize..][..m * m];
        write_D::<S>(batch, m, s, z, D);
        for i in 0..m {
            let value = S::add(S::load(&z[i]), D_times::<S>(D, m, gap, i));
            S::store(value, &mut t[i]);
            f[i] = S::mul(S::load(&E[i]), value);
        }
        write_G::<S>(cones, &scaled::<S>(m, E, D), G);
    } else {
        let w = cones.own_mut(w);
        let compliance = S::splat(compliance);
        let mut sums = [[S::zero(); MAX_ROWS]; MAX_ROWS];
        for j in 0..m {
            let (s, z) = (S::load(&s[j]), S::load(&z[j]));
            let weight = S::div(z, S::fma(compliance, z, s));
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
        write_G::<S>(cones, &sums, G);
    }
    take_forces::<S>(p, batch, &f, g);
}

kernel! {
    /// Corrector. For edges `t = (ds ∘ dz − mu) / (s + compliance z) + w (s + gap)`. For round
    /// cones `t` is `z` plus the products in the Nesterov–Todd scaling plus `D gap`. Then `g −= Jᵀ
    /// Eᵀ t`.
    batch_corrector(
        rows: Rows<'_>,
        mu: f64,
        scaled: Scaled<'_, Lane>,
        step: Step<'_, Lane>,
        t: &mut [Lane],
        g: &mut [f64],
    ) {
        for batch in rows.batches {
            by_size!(rows, batch, correct, S, (mu, scaled, step, t, lanes_mut(g)));
        }
    }
}

#[inline(always)]
fn correct<S: Simd>(
    cones: Cones<'_>,
    mu: f64,
    scaled: Scaled<'_, Lane>,
    step: Step<'_, Lane>,
    t: &mut [Lane],
    g: &mut [Lane],
) {
    let Cones { p, batch, E, round, k, m } = cones;
    let Scaled { at: Iterate { compliance, s, z, gap }, w, D } = scaled;
    let (s, z, gap) = (cones.own(s), cones.own(z), cones.own(gap));
    let (ds, dz) = (cones.own(step.ds), cones.own(step.dz));
    let (w, t) = (cones.own(w), cones.own_mut(t));
    let mut f = [S::zero(); MAX_ROWS];
    if round {
        let D = cones.D_of(D);
        if m <= NARROW {
            let s = entries::<S>(s, m);
            let z = entries::<S>(z, m);
            let ds = entries::<S>(ds, m);
            let dz = entries::<S>(dz, m);
            let products = round::Scaling::<S>::new(&s, &z).corrector(mu, &z, &ds, &dz);
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
        let compliance = S::splat(compliance);
        for j in 0..m {
            let (s, z) = (S::load(&s[j]), S::load(&z[j]));
            let product = S::fma(S::load(&ds[j]), S::load(&dz[j]), aim);
            let soft = S::fma(compliance, z, s);
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

/// Bounds of the products after a step of `alpha`.
#[derive(Clone, Copy)]
pub(crate) struct Centred {
    pub alpha: f64,
    pub low: f64,
    pub high: f64,
}

kernel! {
    /// Gondzio correction. Changes the right-hand side `t` of edges so that their products after a
    /// step of `alpha` lie between the bounds, then `g −= Jᵀ Eᵀ t`. Round cones keep their `t`.
    batch_gondzio(
        rows: Rows<'_>,
        aim: Centred,
        at: Iterate<'_, Lane>,
        step: Step<'_, Lane>,
        t: &mut [Lane],
        g: &mut [f64],
    ) {
        let Centred { alpha, low, high } = aim;
        let (low, high, minus) = (S::splat(low), S::splat(high), S::splat(-1.0));
        let (alpha, compliance) = (S::splat(alpha), S::splat(at.compliance));
        for batch in rows.batches {
            let Shape { round, k, m, .. } = batch.shape;
            let (k, m) = (k as usize, m as usize);
            let live = S::load(&LIVE[batch.count as usize]);
            if !round {
                let cones = rows.of(batch, round, k, m);
                let (s, z, t) = (cones.own(at.s), cones.own(at.z), cones.own_mut(t));
                let (ds, dz) = (cones.own(step.ds), cones.own(step.dz));
                for j in 0..m {
                    let (s, z) = (S::load(&s[j]), S::load(&z[j]));
                    let product =
                        S::mul(S::fma(alpha, S::load(&ds[j]), s), S::fma(alpha, S::load(&dz[j]), z));
                    // a product above `high` is lowered by at most `high`
                    let below = S::max(S::fma(minus, product, low), S::zero());
                    let above = S::max(S::fma(minus, high, product), S::zero());
                    let less = S::mul(minus, S::max(S::mul(minus, above), S::mul(minus, high)));
                    let change = S::mul(live, S::fma(minus, below, less));
                    let soft = S::fma(compliance, z, s);
                    S::store(S::add(S::load(&t[j]), S::div(change, soft)), &mut t[j]);
                }
            }
            by_size!(rows, batch, forces_of, S, (t, lanes_mut(g)));
        }
    }
}

/// Longest step along a direction, and the coefficients of the complementarity products along it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// Inverse of the longest step inside the cones; not positive if no cone blocks.
    pub blocked: f64,
    /// `Σ (s dz + z ds)`; the next field is `Σ ds dz`.
    pub cross: f64,
    pub square: f64,
}

kernel! {
    /// `dz = −t − W⁻² A dx`, `ds = A dx + gap + compliance dz`.
    batch_directions(
        rows: Rows<'_>,
        dx: &[f64],
        scaled: Scaled<'_, Lane>,
        t: &[Lane],
        ds: &mut [Lane],
        dz: &mut [Lane],
    ) -> Reach {
        let (minus, one, none) = (S::splat(-1.0), S::splat(1.0), S::zero());
        let mut tally = Tally::<S> {
            most_s: minus, over_s: one, most_z: minus, over_z: one, round: minus, cross: none, square: none,
        };
        for batch in rows.batches {
            by_size!(rows, batch, direct, S, (lanes(dx), scaled, t, ds, dz, &mut tally));
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

/// Largest ratios `−ds / s` and `−dz / z` of edges so far, as numerators and denominators to avoid
/// a division per row. Also the largest ratio of round cones, and the sums of [`Reach`].
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
fn direct<S: Simd>(
    cones: Cones<'_>,
    dx: &[Lane],
    scaled: Scaled<'_, Lane>,
    t: &[Lane],
    ds: &mut [Lane],
    dz: &mut [Lane],
    tally: &mut Tally<S>,
) {
    let Cones { p, batch, E, round, k, m } = cones;
    let Scaled { at: Iterate { compliance, s, z, gap }, w, D } = scaled;
    let y = J_times::<S>(p, batch, dx);
    let (s, z, gap) = (cones.own(s), cones.own(z), cones.own(gap));
    let (t, w) = (cones.own(t), cones.own(w));
    let (ds, dz) = (cones.own_mut(ds), cones.own_mut(dz));
    let minus = S::splat(-1.0);
    if round {
        let D = cones.D_of(D);
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
            // padding keeps z = 0
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
    let less = S::splat(-compliance);
    for j in 0..m {
        let rate = edge::<S>(E, k, m, &y, j);
        let (s, z) = (S::load(&s[j]), S::load(&z[j]));
        // −dz and −ds
        let a = S::fma(S::load(&w[j]), rate, S::load(&t[j]));
        let d = S::fma(less, a, S::add(rate, S::load(&gap[j])));
        let (b, e) = (S::mul(minus, d), S::mul(minus, a));
        S::store(e, &mut dz[j]);
        S::store(d, &mut ds[j]);
        tally.cross = S::fma(s, e, S::fma(z, d, tally.cross));
        tally.square = S::fma(d, e, tally.square);
        // padding has z = dz = 0, whose ratio never exceeds another
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
