//! Friction pyramids as a mixed linear complementarity problem: Trinkle05 (24)–(26), Pang21 (1) and
//! (6).
//!
//! ```text
//! 0 = P x + c + ∇huber − Σ_i J_n,iᵀ lambda_n,i − Σ_ij (J_t,iᵀ e_ij) beta_ij
//! 0 ≤ lambda_n ⊥ u_n ≥ 0
//! 0 ≤ beta_j   ⊥ e_jᵀ u_t + gamma ≥ 0            e_j = mu d_j, the vertices of F
//! 0 ≤ gamma    ⊥ lambda_n − Σ_j beta_j ≥ 0       gamma = mu sigma
//! ```
//!
//! The papers' `lambda_f` is `mu beta`, and their slip multiplier `sigma` is `gamma / mu`. A Huber
//! term adds two pairs. Their variables `p` and `m` are the distances beyond its limits: `0 ≤ p ⊥
//! limit − k (x − target − p + m) ≥ 0` and `0 ≤ m ⊥ limit + k (x − target − p + m) ≥ 0`.

use crate::contact::{Contact, Shape};
use crate::lcp::problem::Lcp;
use crate::program::FrictionProgram;
use crate::relaxation::Units;
use crate::tolerances::friction::NONE;

/// Whether every friction set is a polytope.
pub(crate) fn is_polyhedral(p: &FrictionProgram) -> bool {
    p.contacts.iter().all(|c| c.shape != Shape::Round)
}

/// Vertices that are directions: all but 0.
pub(crate) fn directions<'a>(
    p: &'a FrictionProgram,
    contact: &'a Contact,
) -> impl Iterator<Item = &'a [f64]> {
    let tangents = contact.tangents().max(1);
    p.vertices_of(contact).chunks_exact(tangents).filter(|v| v.iter().any(|v| *v != 0.0))
}

/// Writes the index of the first pair of every contact and, last, the number of all contacts'
/// pairs. Pairs of Huber terms follow.
fn first_pairs(p: &FrictionProgram, firsts: &mut Vec<u32>) {
    firsts.clear();
    let mut pairs = 0;
    for contact in &p.contacts {
        firsts.push(pairs);
        let count = directions(p, contact).count() as u32;
        pairs += 1 + if count > 0 { count + 1 } else { 0 };
    }
    firsts.push(pairs);
}

/// Number of rows of the problem; writes the index of the first pair of every contact to `firsts`.
pub(crate) fn size(p: &FrictionProgram, firsts: &mut Vec<u32>) -> usize {
    first_pairs(p, firsts);
    p.n() + firsts[p.contacts.len()] as usize + 2 * limited(p).count()
}

/// Huber terms with a positive stiffness and a finite limit.
fn limited(p: &FrictionProgram) -> impl Iterator<Item = &quasistep_linalg::Saturation> {
    p.cones.saturations.iter().filter(|s| s.stiffness > 0.0 && s.limit.is_finite())
}

/// Writes the problem in `units`, and the index of the first pair of every contact to `firsts`.
///
/// With `x = length x'` and `beta = force beta'`, stationarity over `force` and rates over
/// `length`, Jacobians do not change.
pub(crate) fn write(p: &FrictionProgram, units: Units, lcp: &mut Lcp, firsts: &mut Vec<u32>) {
    let n = p.n();
    let Units { force, length } = units;
    let softness = length / force;
    first_pairs(p, firsts);
    let of_contacts = firsts[p.contacts.len()] as usize;
    lcp.reset(n, of_contacts + 2 * limited(p).count());
    for (k, block) in p.cones.blocks.iter().enumerate() {
        let (first, at) = (block.first as usize, block.at as usize);
        for i in 0..block.dim as usize {
            let row = &mut lcp.row(first + i)[first..first + block.dim as usize];
            row.iter_mut().zip(p.cones.P_row(k, i)).for_each(|(to, P)| *to = P * softness);
            lcp.q()[first + i] = p.cones.c[at + i] / force;
        }
    }
    for (i, contact) in p.contacts.iter().enumerate() {
        let normal = n + firsts[i] as usize;
        add_row(p, length, lcp, i, 0, 1.0, normal);
        let gamma = n + firsts[i + 1] as usize - 1;
        for (j, v) in directions(p, contact).enumerate() {
            let at = normal + 1 + j;
            for (t, (v, unit)) in v.iter().zip(p.units_of(contact)).enumerate() {
                add_row(p, length, lcp, i, t + 1, v * unit, at);
            }
            lcp.row(at)[gamma] = 1.0;
            lcp.row(gamma)[at] = -1.0;
        }
        if gamma > normal {
            lcp.row(gamma)[normal] = 1.0;
        }
    }
    let mut at = n + of_contacts;
    for spring in &p.cones.saturations {
        let (i, k) = (spring.index as usize, spring.stiffness * softness);
        let (target, limit) = (spring.target / length, spring.limit / force);
        lcp.row(i)[i] += k;
        lcp.q()[i] -= k * target;
        if k > 0.0 && spring.limit.is_finite() {
            for sign in [1.0, -1.0] {
                lcp.row(i)[at] = -sign * k;
                lcp.row(at)[i] = -sign * k;
                lcp.q()[at] = limit + sign * k * target;
                at += 1;
            }
            let (plus, minus) = (at - 2, at - 1);
            for (row, own, other) in [(plus, plus, minus), (minus, minus, plus)] {
                lcp.row(row)[own] = k;
                lcp.row(row)[other] = -k;
            }
        }
    }
}

/// Adds `f` times a row of a contact to row `at` of the problem, and its transpose to column `at`
/// of the stationarity rows.
fn add_row(
    p: &FrictionProgram,
    length: f64,
    lcp: &mut Lcp,
    contact: usize,
    row: usize,
    f: f64,
    at: usize,
) {
    if f == 0.0 {
        return;
    }
    lcp.q()[at] -= f * p.b(contact, row) / length;
    for (first, J) in p.row(contact, row) {
        for (k, J) in J.iter().enumerate() {
            if *J != 0.0 {
                lcp.row(at)[first + k] += f * J;
                lcp.row(first + k)[at] -= f * J;
            }
        }
    }
}

/// Indices of the pairs that are active at given forces and rates.
pub(crate) fn active_pairs(
    p: &FrictionProgram,
    firsts: &[u32],
    x: &[f64],
    lambda: &[f64],
    u: &[f64],
    active: &mut Vec<u32>,
) {
    active.clear();
    let force = p.contacts.iter().fold(0.0_f64, |m, c| m.max(lambda[c.first as usize]));
    let largest = u.iter().fold(0.0_f64, |m, u| m.max(u.abs()));
    for (i, contact) in p.contacts.iter().enumerate() {
        let at = contact.first as usize;
        if lambda[at] <= NONE * force {
            continue;
        }
        let normal = firsts[i];
        active.push(normal);
        let last = firsts[i + 1] - 1;
        if last == normal {
            continue;
        }
        let units = p.units_of(contact);
        let tangents = at + 1..at + contact.k as usize;
        let (lambda_t, u_t) = (&lambda[tangents.clone()], &u[tangents]);
        let along = |v: &[f64], of: &[f64], power: i32| -> f64 {
            v.iter().zip(of).zip(units).map(|((v, w), m)| v * w * m.powi(power)).sum()
        };
        let h = directions(p, contact).map(|v| -along(v, u_t, 1)).fold(0.0, f64::max);
        if h > NONE * largest {
            active.push(last);
            for (j, v) in directions(p, contact).enumerate() {
                if -along(v, u_t, 1) >= h - NONE * largest {
                    active.push(normal + 1 + j as u32);
                    break;
                }
            }
            continue;
        }
        // sticking contact: directions near its friction force, at most as many as determine it
        let first = active.len();
        for (j, v) in directions(p, contact).enumerate() {
            let pull: f64 = v.iter().zip(lambda_t).map(|(v, l)| v * l).sum();
            if pull > NONE * force && active.len() - first < contact.tangents() {
                active.push(normal + 1 + j as u32);
            }
        }
        for j in 0..last - normal - 1 {
            if active.len() - first < contact.tangents() && !active.contains(&(normal + 1 + j)) {
                active.push(normal + 1 + j);
            }
        }
    }
    let mut at = firsts[p.contacts.len()];
    for spring in limited(p) {
        let force = spring.stiffness * (x[spring.index as usize] - spring.target);
        if force > spring.limit {
            active.push(at);
        } else if force < -spring.limit {
            active.push(at + 1);
        }
        at += 2;
    }
}

/// Converts multipliers of the problem's rows in `units` to the caller's units, up to a common
/// factor.
pub(crate) fn rows_in_units(p: &FrictionProgram, units: Units, firsts: &[u32], y: &mut [f64]) {
    let Units { force, length } = units;
    for (i, contact) in p.contacts.iter().enumerate() {
        let last = firsts[i + 1] as usize - usize::from(directions(p, contact).next().is_some());
        for y in &mut y[p.n()..][firsts[i] as usize..last] {
            *y *= force / length;
        }
    }
}

/// Computes the contact forces of a solution of the problem.
pub(crate) fn forces(p: &FrictionProgram, firsts: &[u32], z: &[f64], lambda: &mut [f64]) {
    for (i, contact) in p.contacts.iter().enumerate() {
        let at = contact.first as usize;
        let normal = firsts[i] as usize;
        lambda[contact.rows()].fill(0.0);
        lambda[at] = z[normal];
        for (j, v) in directions(p, contact).enumerate() {
            for (t, (v, unit)) in v.iter().zip(p.units_of(contact)).enumerate() {
                lambda[at + 1 + t] += v * unit * z[normal + 1 + j];
            }
        }
    }
}

/// The contact to which a pair belongs; `None` for a pair of a Huber term.
pub(crate) fn contact_of(firsts: &[u32], pair: u32) -> Option<u32> {
    let contacts = firsts.len() - 1;
    (pair < firsts[contacts]).then(|| firsts.partition_point(|f| *f <= pair) as u32 - 1)
}
