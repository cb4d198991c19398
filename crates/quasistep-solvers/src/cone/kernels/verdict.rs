//! One sweep over an island for everything that an answer is judged by.

use super::cones::{sides_of, split};
use super::hessian::cost_of_panel;
use super::{Lane, Simd, kernel, lanes, lanes_mut};
use crate::cone::program::{ConeData, ConeProgram, LANES, MAX_ROWS};
use crate::cone::structure::{Group, Panel};

/// Extremes over the rows and variables of an island.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extremes {
    /// Of `|u|`, and of `−u`, over all rows.
    pub speed: f64,
    pub outside: f64,
    /// Of `|u|` over rows with a multiplier.
    pub held: f64,
    /// Of the multipliers and their negatives, and of `|z u|`.
    pub push: f64,
    pub pull: f64,
    pub product: f64,
    /// Of `|b|`.
    pub offset: f64,
    /// Largest and least over cones of the largest entry of the Jacobian's first row; rows of nothing
    /// left out.
    pub longest: f64,
    pub shortest: f64,
    /// Least over the sides of all cones, likewise.
    pub thinnest: f64,
    /// Of `|g|` and `|c|`.
    pub imbalance: f64,
    pub force: f64,
    /// Whether all of `u`, `z` and `g` are numbers.
    pub finite: bool,
}

/// [`Extremes`] lane by lane.
struct Tally<S: Simd> {
    speed: S::V,
    outside: S::V,
    held: S::V,
    push: S::V,
    pull: S::V,
    product: S::V,
    offset: S::V,
    /// Zero unless a number is none.
    nothing: S::V,
    longest: f64,
    shortest: f64,
    thinnest: f64,
}

kernel! {
    /// `u = E (J x − b)` and `g = P x + c + springs − Jᵀ Eᵀ z` of an island without round cones, and their
    /// extremes. `springs` may be empty.
    verdict(
        p: &ConeProgram,
        groups: &[Group],
        panels: &[Panel],
        springs: &[f64],
        x: &[f64],
        z: &[f64],
        u: &mut [f64],
        g: &mut [f64],
    ) -> Extremes {
        let none = S::zero();
        let mut t = Tally::<S> {
            speed: none,
            outside: none,
            held: none,
            push: none,
            pull: none,
            product: none,
            offset: none,
            nothing: none,
            longest: 0.0,
            shortest: f64::INFINITY,
            thinnest: f64::INFINITY,
        };
        let mut force = none;
        for panel in panels {
            cost_of_panel::<S>(p, panel, x, g);
            let at = panel.x_at as usize;
            let stride = p.blocks[panel.block as usize].stride as usize;
            for (g, c) in lanes_mut(&mut g[at..at + stride]).iter_mut().zip(lanes(&p.c[at..at + stride])) {
                let c = S::load(c);
                force = S::max(force, S::abs(c));
                S::store(S::add(S::load(g), c), g);
            }
            if !springs.is_empty() {
                super::axpy::<S>(1.0, &springs[at..at + stride], &mut g[at..at + stride]);
            }
        }
        for group in groups {
            let cones = &p.cones[group.first_cone as usize..group.last_cone as usize];
            match (cones[0].k, cones[0].width as usize / LANES) {
                (1, 2) => fixed::<S, 1, 2>(p, cones, x, z, u, g, &mut t),
                (3, 1) => fixed::<S, 3, 1>(p, cones, x, z, u, g, &mut t),
                (3, 2) => fixed::<S, 3, 2>(p, cones, x, z, u, g, &mut t),
                (3, 3) => fixed::<S, 3, 3>(p, cones, x, z, u, g, &mut t),
                (3, 4) => fixed::<S, 3, 4>(p, cones, x, z, u, g, &mut t),
                (3, 5) => fixed::<S, 3, 5>(p, cones, x, z, u, g, &mut t),
                (4, 2) => fixed::<S, 4, 2>(p, cones, x, z, u, g, &mut t),
                (4, 4) => fixed::<S, 4, 4>(p, cones, x, z, u, g, &mut t),
                (4, 5) => fixed::<S, 4, 5>(p, cones, x, z, u, g, &mut t),
                _ => any::<S>(p, cones, x, z, u, g, &mut t),
            }
        }
        for group in groups {
            let (first, last) = (group.first_cone as usize, group.last_cone as usize - 1);
            let last = &p.cones[last];
            let at = p.cones[first].at as usize..(last.at + last.stride_z) as usize;
            for (u, z) in lanes(&u[at.clone()]).iter().zip(lanes(&z[at])) {
                take::<S>(&mut t, S::load(u), S::load(z));
            }
        }
        let mut imbalance = none;
        for panel in panels {
            let at = panel.x_at as usize;
            let stride = p.blocks[panel.block as usize].stride as usize;
            for g in lanes(&g[at..at + stride]) {
                let g = S::load(g);
                imbalance = S::max(imbalance, S::abs(g));
                t.nothing = S::fma(g, none, t.nothing);
            }
        }
        Extremes {
            speed: largest::<S>(t.speed),
            outside: largest::<S>(t.outside),
            held: largest::<S>(t.held),
            push: largest::<S>(t.push),
            pull: largest::<S>(t.pull),
            product: largest::<S>(t.product),
            offset: largest::<S>(t.offset),
            longest: t.longest,
            shortest: t.shortest,
            thinnest: t.thinnest,
            imbalance: largest::<S>(imbalance),
            force: largest::<S>(force),
            finite: S::sum(t.nothing) == 0.0,
        }
    }
}

#[inline(always)]
fn largest<S: Simd>(v: S::V) -> f64 {
    let a = S::to_array(v);
    a[0].max(a[1]).max(a[2].max(a[3]))
}

/// Takes slacks and multipliers of a lane of rows into account.
#[inline(always)]
fn take<S: Simd>(t: &mut Tally<S>, u: S::V, z: S::V) {
    let minus = S::splat(-1.0);
    let size = S::abs(u);
    t.speed = S::max(t.speed, size);
    t.outside = S::max(t.outside, S::mul(minus, u));
    t.held = S::max(t.held, S::where_positive(z, size));
    t.push = S::max(t.push, z);
    t.pull = S::max(t.pull, S::mul(minus, z));
    t.product = S::max(t.product, S::abs(S::mul(z, u)));
    t.nothing = S::fma(S::add(u, z), S::zero(), t.nothing);
}

/// Takes the sizes of a cone's first row into account, side by side.
#[inline(always)]
fn take_lengths<S: Simd>(t: &mut Tally<S>, p: &ConeProgram, cone: &ConeData, J: &[Lane]) {
    let mut all = 0.0_f64;
    for side in p.sides_of(cone) {
        let stride = p.blocks[side.block as usize].stride as usize;
        let mut most = S::zero();
        for J in &J[side.column as usize / LANES..][..stride / LANES] {
            most = S::max(S::abs(S::load(J)), most);
        }
        let most = largest::<S>(most);
        t.thinnest = if most > 0.0 { t.thinnest.min(most) } else { t.thinnest };
        all = all.max(most);
    }
    t.longest = t.longest.max(all);
    t.shortest = if all > 0.0 { t.shortest.min(all) } else { t.shortest };
}

#[inline(always)]
fn fixed<S: Simd, const K: usize, const C: usize>(
    p: &ConeProgram,
    cones: &[ConeData],
    x: &[f64],
    z: &[f64],
    u: &mut [f64],
    g: &mut [f64],
    t: &mut Tally<S>,
) {
    let mut xs = [S::zero(); C];
    let mut out = [S::zero(); C];
    let mut c = 0;
    for side in sides_of(p, cones) {
        let block = &p.blocks[side.block as usize];
        for lane in lanes(&x[block.at as usize..][..block.stride as usize]) {
            xs[c] = S::load(lane);
            c += 1;
        }
    }
    let minus = S::splat(-1.0);
    for cone in cones {
        let J = &lanes(&p.J[cone.J_at as usize..])[..K * C];
        let b = S::load(&lanes(&p.b[cone.b_at as usize..])[0]);
        let mut dots = [S::zero(); LANES];
        for r in 0..K {
            for c in 0..C {
                dots[r] = S::fma(S::load(&J[r * C + c]), xs[c], dots[r]);
            }
        }
        take_lengths::<S>(t, p, cone, J);
        t.offset = S::max(t.offset, S::abs(b));
        let s = split::<S, K>(S::fma(minus, b, S::sums(dots)));
        let per = cone.stride_z as usize / LANES;
        let E = &lanes(&p.E[cone.E_at as usize..])[..K * per];
        let u = &mut lanes_mut(&mut u[cone.at as usize..])[..per];
        let z = &lanes(&z[cone.at as usize..])[..per];
        let mut forces = [S::zero(); LANES];
        let mut pushing = 0;
        for j in 0..per {
            let mut acc = S::zero();
            let push = S::load(&z[j]);
            for r in 0..K {
                let E = S::load(&E[r * per + j]);
                acc = S::fma(s[r], E, acc);
                forces[r] = S::fma(E, push, forces[r]);
            }
            S::store(acc, &mut u[j]);
            pushing |= S::positive_bits(S::abs(push));
        }
        if pushing == 0 {
            continue;
        }
        let f = split::<S, K>(S::mul(minus, S::sums(forces)));
        for r in 0..K {
            for c in 0..C {
                out[c] = S::fma(f[r], S::load(&J[r * C + c]), out[c]);
            }
        }
    }
    let mut c = 0;
    for side in sides_of(p, cones) {
        let block = &p.blocks[side.block as usize];
        for g in lanes_mut(&mut g[block.at as usize..][..block.stride as usize]) {
            S::store(S::add(S::load(g), out[c]), g);
            c += 1;
        }
    }
}

#[inline(always)]
fn any<S: Simd>(
    p: &ConeProgram,
    cones: &[ConeData],
    x: &[f64],
    z: &[f64],
    u: &mut [f64],
    g: &mut [f64],
    t: &mut Tally<S>,
) {
    super::cones::rows_any::<S>(p, cones, x, true, u);
    super::cones::forces_any::<S>(p, cones, -1.0, z, g);
    for cone in cones {
        take_lengths::<S>(t, p, cone, lanes(&p.J[cone.J_at as usize..][..cone.width as usize]));
        for b in lanes(&p.b[cone.b_at as usize..][..(cone.k as usize).next_multiple_of(LANES)]) {
            t.offset = S::max(t.offset, S::abs(S::load(b)));
        }
    }
}

/// What the slacks of rows may be: a share of the row's terms, and one of its size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    pub of_terms: f64,
    pub by_size: f64,
}

kernel! {
    /// Whether every row of an island holds to what is allowed, from below and, with a multiplier, from
    /// above. The slacks are in `u`.
    rows_hold(
        p: &ConeProgram,
        groups: &[Group],
        allowed: Allowed,
        x: &[f64],
        z: &[f64],
        u: &[f64],
    ) -> bool {
        let minus = S::splat(-1.0);
        let mut beyond = S::zero();
        let by_size = S::splat(allowed.by_size);
        for group in groups {
            for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
                let (k, width) = (cone.k as usize, cone.width as usize);
                let per = cone.stride_z as usize / LANES;
                let (mut sums, mut entries) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
                for r in 0..k {
                    let (mut acc, mut most) = (S::zero(), S::zero());
                    for side in p.sides_of(cone) {
                        let block = &p.blocks[side.block as usize];
                        let (at, stride) = (r * width + side.column as usize, block.stride as usize);
                        let J = &p.J[cone.J_at as usize + at..][..stride];
                        for (J, x) in lanes(J).iter().zip(lanes(&x[block.at as usize..])) {
                            let J = S::abs(S::load(J));
                            acc = S::fma(J, S::abs(S::load(x)), acc);
                            most = S::max(most, J);
                        }
                    }
                    entries[r] = largest::<S>(most);
                    sums[r] = allowed.of_terms * (S::sum(acc) + p.b[cone.b_at as usize + r].abs());
                }
                let E = &lanes(&p.E[cone.E_at as usize..])[..k * per];
                let u = &lanes(&u[cone.at as usize..])[..per];
                let z = &lanes(&z[cone.at as usize..])[..per];
                // a lever arm of friction is no reason for more
                for r in 1..k {
                    entries[r] = entries[r].min(entries[0]);
                }
                for j in 0..per {
                    let (mut terms, mut own) = (S::zero(), S::zero());
                    for r in 0..k {
                        let E = S::abs(S::load(&E[r * per + j]));
                        terms = S::max(terms, S::mul(S::splat(sums[r]), E));
                        own = S::max(own, S::mul(S::splat(entries[r]), E));
                    }
                    let slack = S::load(&u[j]);
                    let held = S::where_positive(S::load(&z[j]), slack);
                    let off = S::max(S::mul(minus, slack), held);
                    beyond = S::max(beyond, S::fma(minus, S::fma(by_size, own, terms), off));
                }
            }
        }
        S::positive_bits(beyond) == 0
    }
}
