//! Scaling of a dense program with its Huber terms in epigraph form.
//!
//! ```text
//! x = V x̃,   P̃ = V P V,   c̃ = V c,   Ã = R A V,   b̃ = R b
//! ```
//!
//! `V` scales the diagonal of `P̃` to 1. Variables without curvature are scaled by their largest
//! coefficient and by one common factor, so that in rows with both kinds of variables the
//! coefficients have similar size. `R` scales every row of `Ã` to length 1.
//!
//! A Huber term at its limit gets a slack column `s ≥ 0` for each side that is needed: `1/2 k (x −
//! target ∓ s)² + limit s`, the epigraph form of the Huber cost. Each column makes one side of the
//! cost exact; the other side stays above the true cost. So adding columns gives problems with
//! decreasing cost, and the last one has the true cost.

#![allow(non_snake_case)] // P, A, V, R are the letters of the problem

use crate::Qp;
use crate::active_set::Program;
use quasistep_linalg::Reason;
use quasistep_linalg::kernels::zeros;

/// Slack column of a Huber term that is at its limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// Index of the saturation.
    pub saturation: usize,
    /// 1 for `x > target`, −1 for `x < target`.
    pub side: f64,
}

/// Writes the scaled program and the scaling `V`. Slack columns follow the variables, and their
/// rows `s ≥ 0` follow the rows.
pub(super) fn build(
    qp: &Qp<'_>,
    columns: &[Column],
    p: &mut Program,
    V: &mut Vec<f64>,
) -> Result<(), Reason> {
    p.clear(qp.n + columns.len());
    p.c[..qp.n].copy_from_slice(qp.c);
    for (i, row) in qp.P.chunks_exact(qp.n.max(1)).enumerate() {
        p.P_mut(i)[..qp.n].copy_from_slice(row);
    }
    add_springs(qp, columns, p);
    find_units(qp, p, V)?;
    for i in 0..p.n {
        p.c[i] *= V[i];
        for (P, v) in p.P_mut(i).iter_mut().zip(&*V) {
            *P *= V[i] * v;
        }
    }
    p.push_rows(qp.A, qp.b, |i| V[i]);
    for a in qp.n..p.n {
        p.rows.push(&[a as u32], &[1.0], |_| 1.0, 0.0);
    }
    Ok(())
}

/// Adds `1/2 k (x − target − Σ side s)² + limit Σ s` for every Huber term.
fn add_springs(qp: &Qp<'_>, columns: &[Column], p: &mut Program) {
    for (k, s) in qp.saturations.iter().enumerate() {
        let i = s.index as usize;
        p.P_mut(i)[i] += s.stiffness;
        p.c[i] -= s.stiffness * s.target;
        let own = |j: &usize| columns[*j].saturation == k;
        for j in (0..columns.len()).filter(own) {
            let (a, side) = (qp.n + j, columns[j].side);
            p.P_mut(i)[a] -= side * s.stiffness;
            p.P_mut(a)[i] -= side * s.stiffness;
            p.c[a] += s.limit + side * s.stiffness * s.target;
            for l in (0..columns.len()).filter(own) {
                p.P_mut(a)[qp.n + l] += side * columns[l].side * s.stiffness;
            }
        }
    }
}

/// Computes the scaling `V`.
fn find_units(qp: &Qp<'_>, p: &Program, V: &mut Vec<f64>) -> Result<(), Reason> {
    zeros(V, p.n);
    let curved = |i: usize| p.P(i)[i] > 0.0;
    for i in 0..p.n {
        if curved(i) {
            V[i] = 1.0 / p.P(i)[i].sqrt();
        } else if p.P(i).iter().any(|v| *v != 0.0) {
            // in a convex cost, a zero diagonal entry implies a row of zeros
            return Err(Reason::NotConvex);
        }
    }
    // scale the largest coefficient of each variable without curvature to 1
    let rows = || (0..qp.b.len()).map(|r| qp.A.row(r));
    let entries = |(columns, values)| std::iter::zip::<&[u32], &[f64]>(columns, values);
    for (&i, v) in rows().flat_map(entries).filter(|(i, _)| !curved(**i as usize)) {
        V[i as usize] = V[i as usize].max(v.abs());
    }
    for i in (0..p.n).filter(|&i| !curved(i)) {
        V[i] = if V[i] > 0.0 { 1.0 / V[i] } else { 1.0 };
    }
    // common factor: in rows with both kinds of variables, coefficients have similar size
    let (mut log_sum, mut count) = (0.0, 0.0);
    for row in rows() {
        let (mut of_curved, mut of_flat) = (0.0_f64, 0.0_f64);
        for (&i, v) in entries(row) {
            let most = if curved(i as usize) { &mut of_curved } else { &mut of_flat };
            *most = most.max((v * V[i as usize]).abs());
        }
        if of_curved > 0.0 && of_flat > 0.0 {
            log_sum += (of_curved / of_flat).ln();
            count += 1.0;
        }
    }
    if count > 0.0 {
        let factor = f64::exp(log_sum / count);
        (0..p.n).filter(|&i| !curved(i)).for_each(|i| V[i] *= factor);
    }
    Ok(())
}
