//! Products with the Jacobians of all contacts.

#![allow(clippy::inline_always)] // parts of a kernel must be compiled with its instruction set

use crate::contact::Contact;
use quasistep_cone::ConeProgram;
use quasistep_cone::inside::ConeData;
use quasistep_linalg::simd::LANES;
use quasistep_linalg::simd::{Simd, kernel, lanes};

kernel! {
    /// `u = J x − b` of all contacts.
    rows_times(p: &ConeProgram, contacts: &[Contact], x: &[f64], u: &mut [f64]) {
        for (contact, cone) in contacts.iter().zip(&p.cones) {
            let u = &mut u[contact.rows()];
            match u.len() {
                3 => times::<S, 3, false>(p, cone, 0, x, u),
                4 => times::<S, 4, false>(p, cone, 0, x, u),
                k => {
                    for r in 0..k {
                        times::<S, 1, false>(p, cone, r, x, &mut u[r..]);
                    }
                }
            }
            for (u, b) in u.iter_mut().zip(&p.b[cone.b_at as usize..]) {
                *u -= b;
            }
        }
    }
}

kernel! {
    /// `u = J x` of all contacts. For contacts that are not `whole` only the normal row is
    /// computed; their other entries are set to 0.
    whole_rows_times(
        p: &ConeProgram,
        contacts: &[Contact],
        whole: &[bool],
        x: &[f64],
        u: &mut [f64],
    ) {
        for ((contact, cone), whole) in contacts.iter().zip(&p.cones).zip(whole) {
            let u = &mut u[contact.rows()];
            match u.len() {
                _ if !whole => {
                    times::<S, 1, false>(p, cone, 0, x, u);
                    u[1..].fill(0.0);
                }
                3 => times::<S, 3, false>(p, cone, 0, x, u),
                4 => times::<S, 4, false>(p, cone, 0, x, u),
                k => {
                    for r in 0..k {
                        times::<S, 1, false>(p, cone, r, x, &mut u[r..]);
                    }
                }
            }
        }
    }
}

kernel! {
    /// Sums of the magnitudes of the terms of `u = J x − b`.
    terms_of_rows(p: &ConeProgram, contacts: &[Contact], x: &[f64], u: &mut [f64]) {
        for (contact, cone) in contacts.iter().zip(&p.cones) {
            let u = &mut u[contact.rows()];
            match u.len() {
                3 => times::<S, 3, true>(p, cone, 0, x, u),
                4 => times::<S, 4, true>(p, cone, 0, x, u),
                k => {
                    for r in 0..k {
                        times::<S, 1, true>(p, cone, r, x, &mut u[r..]);
                    }
                }
            }
            for (u, b) in u.iter_mut().zip(&p.b[cone.b_at as usize..]) {
                *u += b.abs();
            }
        }
    }
}

kernel! {
    /// `g += s Jᵀ lambda` of all contacts.
    add_rows(
        p: &ConeProgram,
        contacts: &[Contact],
        s: f64,
        lambda: &[f64],
        g: &mut [f64],
    ) {
        for (contact, cone) in contacts.iter().zip(&p.cones) {
            let lambda = &lambda[contact.rows()];
            if lambda.iter().all(|lambda| *lambda == 0.0) {
                continue;
            }
            match lambda.len() {
                3 => add::<S, 3>(p, cone, 0, s, lambda, g),
                4 => add::<S, 4>(p, cone, 0, s, lambda, g),
                k => {
                    for r in 0..k {
                        add::<S, 1>(p, cone, r, s, &lambda[r..], g);
                    }
                }
            }
        }
    }
}

/// `K` rows of a cone's Jacobian, from row `row` on, times `x`. With `TERMS`, the sums of the
/// terms' magnitudes instead.
#[inline(always)]
pub(super) fn times<S: Simd, const K: usize, const TERMS: bool>(
    p: &ConeProgram,
    cone: &ConeData,
    row: usize,
    x: &[f64],
    u: &mut [f64],
) {
    let width = cone.width as usize;
    let J = &p.J[cone.J_at as usize + row * width..][..K * width];
    let mut sums = [S::zero(); K];
    for side in p.sides_of(cone) {
        let block = &p.blocks[side.block as usize];
        let x = &x[block.first as usize..];
        for c in (0..block.stride as usize).step_by(LANES) {
            // a lane may extend into the next block, where the row is padded with zeros
            let mut end = [0.0; LANES];
            let x = x[c..].first_chunk().unwrap_or_else(|| {
                end[..x.len() - c].copy_from_slice(&x[c..]);
                &end
            });
            let x = S::load(x);
            for r in 0..K {
                let J = &lanes(&J[r * width + side.column as usize + c..])[0];
                let J = S::load(J);
                sums[r] = if TERMS {
                    S::add(S::abs(S::mul(J, x)), sums[r])
                } else {
                    S::fma(J, x, sums[r])
                };
            }
        }
    }
    if K == 1 {
        u[0] = S::sum(sums[0]);
        return;
    }
    let mut four = [S::zero(); LANES];
    four[..K].copy_from_slice(&sums);
    u[..K].copy_from_slice(&S::to_array(S::sums(four))[..K]);
}

/// `g += s Jᵀ lambda` for `K` rows of a cone's Jacobian, from row `row` on.
#[inline(always)]
fn add<S: Simd, const K: usize>(
    p: &ConeProgram,
    cone: &ConeData,
    row: usize,
    s: f64,
    lambda: &[f64],
    g: &mut [f64],
) {
    let width = cone.width as usize;
    let J = &p.J[cone.J_at as usize + row * width..][..K * width];
    for side in p.sides_of(cone) {
        let block = &p.blocks[side.block as usize];
        let g = &mut g[block.first as usize..];
        for c in (0..block.stride as usize).step_by(LANES) {
            let mut sum = S::zero();
            for r in 0..K {
                let J = &lanes(&J[r * width + side.column as usize + c..])[0];
                sum = S::fma(S::splat(s * lambda[r]), S::load(J), sum);
            }
            if let Some(g) = g[c..].first_chunk_mut() {
                S::store(S::add(S::load(g), sum), g);
            } else {
                for (g, sum) in g[c..].iter_mut().zip(S::to_array(sum)) {
                    *g += sum;
                }
            }
        }
    }
}
