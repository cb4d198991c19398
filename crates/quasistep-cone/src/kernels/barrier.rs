//! Interior point operations on entries of cones: weights, right-hand sides, directions, steps.

use super::cones::rows_of_group;
use super::round::{self, Four, is_narrow};
use super::views::{Groups, Iterate, Scaled, Step};
use crate::program::ConeData;
use crate::second_order;
use quasistep_linalg::simd::{kernel, lanes, lanes_mut};

kernel! {
    /// `w = z / (s + compliance z)` of edges; `D = W⁻²` of round cones.
    weights(cones: Groups<'_>, at: Iterate<'_, f64>, w: &mut [f64], D: &mut [f64]) {
        let (Groups { p, groups }, Iterate { compliance, s, z, .. }) = (cones, at);
        let compliance = S::splat(compliance);
        let Some(first) = p.cones.first() else { return };
        let mut four = Four::new(first);
        for group in groups {
            for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
                let (at, stride, m) = (cone.at as usize, cone.stride_z as usize, cone.m as usize);
                if is_narrow(cone) {
                    if four.push(cone) {
                        round::write_D::<S>(&four, s, z, D);
                        four.clear();
                    }
                } else if cone.round {
                    let D = &mut D[cone.E_at as usize..][..m * stride];
                    second_order::Scaling::new(&s[at..at + m], &z[at..at + m]).write_D(stride, D);
                } else {
                    let (s, z) = (lanes(&s[at..at + stride]), lanes(&z[at..at + stride]));
                    for ((w, s), z) in lanes_mut(&mut w[at..at + stride]).iter_mut().zip(s).zip(z) {
                        let z = S::load(z);
                        S::store(S::div(z, S::fma(compliance, z, S::load(s))), w);
                    }
                }
            }
        }
        if !four.is_empty() {
            round::write_D::<S>(&four, s, z, D);
        }
    }
}

/// `t += W⁻² v` of a round cone.
#[inline(always)]
fn add_round(cone: &ConeData, D: &[f64], v: &[f64], t: &mut [f64]) {
    let (m, stride) = (cone.m as usize, cone.stride_z as usize);
    for i in 0..m {
        let row = &D[cone.E_at as usize + i * stride..][..m];
        t[i] += row.iter().zip(v).map(|(d, v)| d * v).sum::<f64>();
    }
}

kernel! {
    /// Right-hand side `t` of the corrector. For edges it is `(ds ∘ dz − mu) / (s + compliance z) +
    /// w (s + gap)`. For round cones it is the sum of `z`, the products in the Nesterov–Todd
    /// scaling, and `W⁻² gap`.
    corrector(
        cones: Groups<'_>,
        mu: f64,
        live: &[f64],
        scaled: Scaled<'_, f64>,
        step: Step<'_, f64>,
        t: &mut [f64],
    ) {
        let (Groups { p, groups }, Step { ds, dz }) = (cones, step);
        let Scaled { at: Iterate { compliance, s, z, gap }, w, D } = scaled;
        let Some(first) = p.cones.first() else { return };
        let mut four = Four::new(first);
        for group in groups {
            for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
                let (at, m) = (cone.at as usize, cone.m as usize);
                let all = at..at + cone.stride_z as usize;
                if is_narrow(cone) {
                    if four.push(cone) {
                        round::correct::<S>(&four, mu, scaled, step, t);
                        four.clear();
                    }
                    continue;
                }
                if cone.round {
                    let own = at..at + m;
                    let scaling = second_order::Scaling::new(&s[own.clone()], &z[own.clone()]);
                    let t = &mut t[own.clone()];
                    scaling.corrector(&ds[own.clone()], &dz[own.clone()], mu, t);
                    for (t, z) in t.iter_mut().zip(&z[own.clone()]) {
                        *t += z;
                    }
                    add_round(cone, D, &gap[own], t);
                    continue;
                }
                let t = lanes_mut(&mut t[all.clone()]);
                let (s, z) = (lanes(&s[all.clone()]), lanes(&z[all.clone()]));
                let (gap, w) = (lanes(&gap[all.clone()]), lanes(&w[all.clone()]));
                let (ds, dz) = (lanes(&ds[all.clone()]), lanes(&dz[all.clone()]));
                let live = lanes(&live[all]);
                let (minus_mu, compliance) = (S::splat(-mu), S::splat(compliance));
                for c in 0..t.len() {
                    let aim = S::mul(minus_mu, S::load(&live[c]));
                    let product = S::fma(S::load(&ds[c]), S::load(&dz[c]), aim);
                    let soft = S::fma(compliance, S::load(&z[c]), S::load(&s[c]));
                    let sum = S::add(S::load(&s[c]), S::load(&gap[c]));
                    S::store(S::fma(S::load(&w[c]), sum, S::div(product, soft)), &mut t[c]);
                }
            }
        }
        if !four.is_empty() {
            round::correct::<S>(&four, mu, scaled, step, t);
        }
    }
}

kernel! {
    /// `dz = −t − W⁻² A dx`, `ds = A dx + gap + compliance dz`. Returns the inverse of the longest
    /// step inside the cones, which is not positive if no cone blocks.
    directions(
        cones: Groups<'_>,
        dx: &[f64],
        scaled: Scaled<'_, f64>,
        t: &[f64],
        ds: &mut [f64],
        dz: &mut [f64],
    ) -> f64 {
        let Groups { p, groups } = cones;
        let Scaled { at: Iterate { compliance, s, z, gap }, w, D } = scaled;
        let (minus, less) = (S::splat(-1.0), S::splat(-compliance));
        // largest ratios so far, as numerators and denominators, to avoid a division per row
        let (mut most_s, mut over_s) = (minus, S::splat(1.0));
        let (mut most_z, mut over_z) = (minus, S::splat(1.0));
        let (mut round, mut rounds) = (-1.0_f64, minus);
        let Some(first) = p.cones.first() else { return round };
        let mut four = Four::new(first);
        for group in groups {
            rows_of_group::<S>(p, group, dx, false, ds);
            for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
                let (at, m) = (cone.at as usize, cone.m as usize);
                let all = at..at + cone.stride_z as usize;
                if is_narrow(cone) {
                    let d = round::rows::<S>(cone, ds);
                    let sum = S::add(round::rows::<S>(cone, t), round::times_D::<S>(cone, D, d));
                    S::store(S::mul(minus, sum), &mut lanes_mut(&mut dz[all.clone()])[0]);
                    let d = S::add(d, round::rows::<S>(cone, gap));
                    S::store(d, &mut lanes_mut(&mut ds[all])[0]);
                    if four.push(cone) {
                        rounds = S::max(round::blocked_by::<S>(&four, s, ds), rounds);
                        rounds = S::max(round::blocked_by::<S>(&four, z, dz), rounds);
                        four.clear();
                    }
                    continue;
                }
                if cone.round {
                    let own = at..at + m;
                    let (ds, dz) = (&mut ds[own.clone()], &mut dz[own.clone()]);
                    dz.fill(0.0);
                    add_round(cone, D, ds, dz);
                    for i in 0..m {
                        dz[i] = -t[at + i] - dz[i];
                        ds[i] += gap[at + i];
                    }
                    round = round
                        .max(second_order::blocked(&s[own.clone()], ds))
                        .max(second_order::blocked(&z[own], dz));
                    continue;
                }
                let (ds, dz) = (lanes_mut(&mut ds[all.clone()]), lanes_mut(&mut dz[all.clone()]));
                let (s, z) = (lanes(&s[all.clone()]), lanes(&z[all.clone()]));
                let (gap, t) = (lanes(&gap[all.clone()]), lanes(&t[all.clone()]));
                let w = lanes(&w[all]);
                for c in 0..ds.len() {
                    // −dz and −ds
                    let a = S::fma(S::load(&w[c]), S::load(&ds[c]), S::load(&t[c]));
                    let d = S::fma(less, a, S::add(S::load(&ds[c]), S::load(&gap[c])));
                    let b = S::mul(minus, d);
                    S::store(S::mul(minus, a), &mut dz[c]);
                    S::store(d, &mut ds[c]);
                    // padding has z = dz = 0, whose ratio never exceeds another
                    let (s, z) = (S::load(&s[c]), S::load(&z[c]));
                    let more = S::fma(S::mul(minus, most_s), s, S::mul(b, over_s));
                    (most_s, over_s) = (S::select(more, b, most_s), S::select(more, s, over_s));
                    let more = S::fma(S::mul(minus, most_z), z, S::mul(a, over_z));
                    (most_z, over_z) = (S::select(more, a, most_z), S::select(more, z, over_z));
                }
            }
        }
        if !four.is_empty() {
            rounds = S::max(round::blocked_by::<S>(&four, s, ds), rounds);
            rounds = S::max(round::blocked_by::<S>(&four, z, dz), rounds);
        }
        let blocked = S::max(S::div(most_s, over_s), S::div(most_z, over_z));
        let blocked = S::max(blocked, rounds);
        S::to_array(blocked).iter().fold(round, |m, b| m.max(*b))
    }
}

kernel! {
    /// `s += alpha ds`, `z += alpha dz`, `gap *= 1 − alpha`; returns `Σ s z`.
    advance(
        cones: Groups<'_>,
        alpha: f64,
        step: Step<'_, f64>,
        s: &mut [f64],
        z: &mut [f64],
        gap: &mut [f64],
    ) -> f64 {
        let (Groups { p, groups }, Step { ds, dz }) = (cones, step);
        let mut total = S::zero();
        let (alpha, left) = (S::splat(alpha), S::splat(1.0 - alpha));
        for group in groups {
            for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
                let all = cone.at as usize..(cone.at + cone.stride_z) as usize;
                let (ds, dz) = (lanes(&ds[all.clone()]), lanes(&dz[all.clone()]));
                let (s, z) = (lanes_mut(&mut s[all.clone()]), lanes_mut(&mut z[all.clone()]));
                let gap = lanes_mut(&mut gap[all]);
                for c in 0..ds.len() {
                    let next_s = S::fma(alpha, S::load(&ds[c]), S::load(&s[c]));
                    let next_z = S::fma(alpha, S::load(&dz[c]), S::load(&z[c]));
                    total = S::fma(next_s, next_z, total);
                    S::store(next_s, &mut s[c]);
                    S::store(next_z, &mut z[c]);
                    S::store(S::mul(left, S::load(&gap[c])), &mut gap[c]);
                }
            }
        }
        S::sum(total)
    }
}
