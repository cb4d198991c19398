//! Sweeps over cones: slacks, forces, and the directional derivative of the augmented Lagrangian's
//! penalty.

use crate::program::{ConeData, ConeProgram, Side};
use crate::second_order;
use crate::second_order::MAX as MAX_ROUND;
use crate::structure::Group;
use quasistep_linalg::simd::LANES;
use quasistep_linalg::simd::{Simd, axpy, kernel, lanes, lanes_mut, multiply};

/// Calls a function with the shape of a group as constants where it is common: with and without
/// spin, blocks of up to 12 variables, one or two lanes of edges. Zero lanes stand for any number.
macro_rules! by_shape {
    ($cones:expr, $fixed:ident, $any:ident, $S:ty, ($($arg:expr),* $(,)?)) => {
        match (
            $cones[0].k,
            $cones[0].width as usize / LANES,
            $cones[0].stride_z as usize / LANES,
        ) {
            (_, _, 0) => $any::<$S>($($arg),*),
            (1, 2, 1) => $fixed::<$S, 1, 2, 1>($($arg),*),
            (3, 2, 1) => $fixed::<$S, 3, 2, 1>($($arg),*),
            (3, 3, 1) => $fixed::<$S, 3, 3, 1>($($arg),*),
            (3, 4, 1) => $fixed::<$S, 3, 4, 1>($($arg),*),
            (3, 5, 1) => $fixed::<$S, 3, 5, 1>($($arg),*),
            (4, 2, 2) => $fixed::<$S, 4, 2, 2>($($arg),*),
            (4, 4, 2) => $fixed::<$S, 4, 4, 2>($($arg),*),
            (1, 2, _) => $fixed::<$S, 1, 2, 0>($($arg),*),
            (3, 2, _) => $fixed::<$S, 3, 2, 0>($($arg),*),
            (3, 3, _) => $fixed::<$S, 3, 3, 0>($($arg),*),
            (3, 4, _) => $fixed::<$S, 3, 4, 0>($($arg),*),
            (3, 5, _) => $fixed::<$S, 3, 5, 0>($($arg),*),
            (4, 2, _) => $fixed::<$S, 4, 2, 0>($($arg),*),
            (4, 4, _) => $fixed::<$S, 4, 4, 0>($($arg),*),
            (4, 5, _) => $fixed::<$S, 4, 5, 0>($($arg),*),
            _ => $any::<$S>($($arg),*),
        }
    };
}

#[inline(always)]
pub(super) fn sides_of<'a>(p: &'a ConeProgram, cones: &[ConeData]) -> &'a [Side] {
    &p.sides[cones[0].first_side as usize..cones[0].last_side as usize]
}

/// The first `K` entries of `v`, each broadcast to all lanes of a vector.
#[inline(always)]
pub(super) fn split<S: Simd, const K: usize>(v: S::V) -> [S::V; K] {
    let all = [S::lane::<0>(v), S::lane::<1>(v), S::lane::<2>(v), S::lane::<3>(v)];
    let mut out = [S::zero(); K];
    out.copy_from_slice(&all[..K]);
    out
}

/// `u = E (J x − b)` of the cones of one group, or `E J x` without `with_b`.
#[inline(always)]
pub(crate) fn rows_of_group<S: Simd>(
    p: &ConeProgram,
    group: &Group,
    x: &[f64],
    with_b: bool,
    u: &mut [f64],
) {
    let cones = &p.cones[group.first_cone as usize..group.last_cone as usize];
    by_shape!(cones, rows_fixed, rows_any, S, (p, cones, x, with_b, u));
}

#[inline(always)]
fn rows_fixed<S: Simd, const K: usize, const C: usize, const PER: usize>(
    p: &ConeProgram,
    cones: &[ConeData],
    x: &[f64],
    with_b: bool,
    u: &mut [f64],
) {
    let mut xs = [S::zero(); C];
    let mut c = 0;
    for side in sides_of(p, cones) {
        let block = &p.blocks[side.block as usize];
        for lane in lanes(&x[block.at as usize..][..block.stride as usize]) {
            xs[c] = S::load(lane);
            c += 1;
        }
    }
    let sign = S::splat(if with_b { -1.0 } else { 0.0 });
    // cones are contiguous in memory; index them, because iterator adapters are not compiled with
    // the kernel's instructions
    let first = &cones[0];
    let per = lanes_of_edges::<PER>(first);
    let n = cones.len();
    let J = &lanes(&p.J[first.J_at as usize..])[..n * K * C];
    let E = &lanes(&p.E[first.E_at as usize..])[..n * K * per];
    let b = &lanes(&p.b[first.b_at as usize..])[..n];
    let u = &mut lanes_mut(&mut u[first.at as usize..])[..n * per];
    for i in 0..n {
        let J = &J[i * K * C..][..K * C];
        let E = &E[i * K * per..][..K * per];
        let mut dots = [S::zero(); LANES];
        for c in 0..C {
            for r in 0..K {
                dots[r] = S::fma(S::load(&J[r * C + c]), xs[c], dots[r]);
            }
        }
        let s = split::<S, K>(S::fma(sign, S::load(&b[i]), S::sums(dots)));
        let u = &mut u[i * per..][..per];
        for j in 0..per {
            let mut acc = S::zero();
            for r in 0..K {
                acc = S::fma(s[r], S::load(&E[r * per + j]), acc);
            }
            S::store(acc, &mut u[j]);
        }
    }
}

/// Number of lanes of a cone's edges: the constant `PER`, unless that is zero.
#[inline(always)]
fn lanes_of_edges<const PER: usize>(cone: &ConeData) -> usize {
    if PER == 0 { cone.stride_z as usize / LANES } else { PER }
}

#[inline(always)]
pub(super) fn rows_any<S: Simd>(
    p: &ConeProgram,
    cones: &[ConeData],
    x: &[f64],
    with_b: bool,
    u: &mut [f64],
) {
    for cone in cones {
        let (k, stride_z, width) = (cone.k as usize, cone.stride_z as usize, cone.width as usize);
        let u = &mut u[cone.at as usize..][..stride_z];
        u.fill(0.0);
        for r in 0..k {
            let mut acc = S::zero();
            for side in p.sides_of(cone) {
                let block = &p.blocks[side.block as usize];
                let at = cone.J_at as usize + r * width + side.column as usize;
                let stride = block.stride as usize;
                let x = &x[block.at as usize..][..stride];
                acc = multiply::<S>(&p.J[at..at + stride], x, acc);
            }
            let s = S::sum(acc) - if with_b { p.b[cone.b_at as usize + r] } else { 0.0 };
            axpy::<S>(s, &p.E[cone.E_at as usize + r * stride_z..][..stride_z], u);
        }
    }
}

kernel! {
    /// `u = E (J x − b)` of all cones of some groups.
    slacks(p: &ConeProgram, groups: &[Group], x: &[f64], u: &mut [f64]) {
        for group in groups {
            rows_of_group::<S>(p, group, x, true, u);
        }
    }
}

kernel! {
    /// Copies a padded `z` to an unpadded one.
    unpad(p: &ConeProgram, from: &[f64], to: &mut [f64]) {
        for cone in &p.cones {
            let mut to = &mut to[cone.first as usize..];
            for from in lanes(&from[cone.at as usize..][..cone.stride_z as usize]) {
                // copy whole lanes; the next cone overwrites the excess
                let Some((head, tail)) = std::mem::take(&mut to).split_first_chunk_mut() else {
                    break;
                };
                S::store(S::load(from), head);
                to = tail;
            }
        }
        // the last cones have no room for whole lanes
        let near = p.cones.iter().rev().take_while(|c| (c.first + c.stride_z) as usize > p.m);
        for cone in near {
            let m = cone.m as usize;
            to[cone.first as usize..][..m].copy_from_slice(&from[cone.at as usize..][..m]);
        }
    }
}

kernel! {
    /// `u = E J d` of all cones of some groups.
    rates(p: &ConeProgram, groups: &[Group], d: &[f64], u: &mut [f64]) {
        for group in groups {
            rows_of_group::<S>(p, group, d, false, u);
        }
    }
}

kernel! {
    /// `g −= Jᵀ Eᵀ z` over all cones of some groups.
    subtract_forces(p: &ConeProgram, groups: &[Group], z: &[f64], g: &mut [f64]) {
        for group in groups {
            let cones = &p.cones[group.first_cone as usize..group.last_cone as usize];
            by_shape!(cones, forces_fixed, forces_any, S, (p, cones, -1.0, z, g));
        }
    }
}

kernel! {
    /// `g += Jᵀ Eᵀ z` over all cones of some groups.
    add_forces(p: &ConeProgram, groups: &[Group], z: &[f64], g: &mut [f64]) {
        for group in groups {
            let cones = &p.cones[group.first_cone as usize..group.last_cone as usize];
            by_shape!(cones, forces_fixed, forces_any, S, (p, cones, 1.0, z, g));
        }
    }
}

#[inline(always)]
fn forces_fixed<S: Simd, const K: usize, const C: usize, const PER: usize>(
    p: &ConeProgram,
    cones: &[ConeData],
    sign: f64,
    z: &[f64],
    g: &mut [f64],
) {
    let mut out = [S::zero(); C];
    let sign = S::splat(sign);
    // cones are contiguous in memory
    let first = &cones[0];
    let per = lanes_of_edges::<PER>(first);
    let n = cones.len();
    let J = &lanes(&p.J[first.J_at as usize..])[..n * K * C];
    let E = &lanes(&p.E[first.E_at as usize..])[..n * K * per];
    let z = &lanes(&z[first.at as usize..])[..n * per];
    for i in 0..n {
        let z = &z[i * per..][..per];
        if z.iter().all(|z| *z == [0.0; LANES]) {
            continue;
        }
        let J = &J[i * K * C..][..K * C];
        let E = &E[i * K * per..][..K * per];
        let mut dots = [S::zero(); LANES];
        for r in 0..K {
            for j in 0..per {
                dots[r] = S::fma(S::load(&E[r * per + j]), S::load(&z[j]), dots[r]);
            }
        }
        let f = split::<S, K>(S::mul(sign, S::sums(dots)));
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
pub(super) fn forces_any<S: Simd>(
    p: &ConeProgram,
    cones: &[ConeData],
    sign: f64,
    z: &[f64],
    g: &mut [f64],
) {
    for cone in cones {
        let (k, stride_z, width) = (cone.k as usize, cone.stride_z as usize, cone.width as usize);
        let z = &z[cone.at as usize..][..stride_z];
        if z.iter().all(|z| *z == 0.0) {
            continue;
        }
        for r in 0..k {
            let E = &p.E[cone.E_at as usize + r * stride_z..][..stride_z];
            let f = sign * S::sum(multiply::<S>(E, z, S::zero()));
            for side in p.sides_of(cone) {
                let block = &p.blocks[side.block as usize];
                let at = cone.J_at as usize + r * width + side.column as usize;
                let stride = block.stride as usize;
                axpy::<S>(f, &p.J[at..at + stride], &mut g[block.at as usize..][..stride]);
            }
        }
    }
}

/// Multipliers, slacks, and rates of the slacks along a direction.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    pub z: &'a [f64],
    pub u: &'a [f64],
    pub rates: &'a [f64],
}

kernel! {
    /// `Σ Π(z − rho (u + tau rates)) · rates` over all cones of some groups, and its derivative
    /// with respect to `tau`.
    force_power(
        p: &ConeProgram,
        groups: &[Group],
        rho: f64,
        tau: f64,
        line: Line<'_>,
    ) -> [f64; 2] {
        let Line { z, u, rates } = line;
        let (mut power, mut bend) = (S::zero(), S::zero());
        let (none, minus_rho, along) = (S::zero(), S::splat(-rho), S::splat(tau));
        let mut round = [0.0; 2];
        for group in groups {
            for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
                let (at, stride) = (cone.at as usize, cone.stride_z as usize);
                let (z, u, rates) = (&z[at..at + stride], &u[at..at + stride], &rates[at..at + stride]);
                if cone.round {
                    let m = cone.m as usize;
                    let (mut t, mut projected) = ([0.0; MAX_ROUND], [0.0; MAX_ROUND]);
                    second_order::by_rows!(m, m, {
                        for i in 0..m {
                            t[i] = z[i] - rho * S::fma1(tau, rates[i], u[i]);
                        }
                        second_order::project(&t[..m], &mut projected[..m]);
                        for i in 0..m {
                            round[0] += projected[i] * rates[i];
                        }
                        round[1] += second_order::derivative_form(&t[..m], &rates[..m]);
                    });
                } else {
                    for ((z, u), r) in lanes(z).iter().zip(lanes(u)).zip(lanes(rates)) {
                        let rate = S::load(r);
                        let t = S::fma(minus_rho, S::fma(along, rate, S::load(u)), S::load(z));
                        power = S::fma(S::max(t, none), rate, power);
                        bend = S::fma(S::where_positive(t, rate), rate, bend);
                    }
                }
            }
        }
        [S::sum(power) + round[0], -rho * (S::sum(bend) + round[1])]
    }
}
