//! Of all optimal duals, the one with the smallest Euclidean norm.
//!
//! ```text
//! min 1/2 |z|²   s.t.  Aᵀ z = g,  z ≥ 0      over the rows without slack
//! z = max(0, A y)   where   Aᵀ max(0, A y) = g
//! ```
//!
//! The equation for `y` is piecewise linear: Newton's method with a line search on its convex
//! potential `1/2 |max(0, A y)|² − gᵀ y` ends after finitely many steps.

use crate::dense::{cholesky, cholesky_solve, dot, largest};
use crate::problem::Qp;

/// A row has no slack if it is within this of its bound, relative to the terms of the row; also
/// absolute, in the row's unit.
const NO_SLACK: f64 = 1e-10;
/// The answer must reproduce `g` to this share of its largest entry.
const VERIFIED: f64 = 1e-9;
/// Residual at which Newton's method stops: rounding of a sum of some hundred terms.
const CONVERGED: f64 = 1e-14;
/// Added to the diagonal, relative to the mean: rows are dependent more often than not.
const REGULAR: f64 = 1e-12;
const ROUNDS: usize = 60;

/// Memory of the search.
#[derive(Debug, Default)]
pub(crate) struct SmallestNorm {
    rows: Vec<u32>,
    slope: Vec<f64>,
    trial_slope: Vec<f64>,
    M: Vec<f64>,
    F: Vec<f64>,
    y: Vec<f64>,
    step: Vec<f64>,
    trial: Vec<f64>,
}

impl SmallestNorm {
    /// Replaces `z` by the smallest-norm dual for the gradient `g` at `x`; false, and `z` as it was,
    /// if the answer does not verify.
    pub fn replace(&mut self, qp: &Qp<'_>, x: &[f64], g: &[f64], z: &mut [f64]) -> bool {
        self.rows.clear();
        for i in 0..qp.b.len() {
            let (columns, values) = qp.A.row(i);
            let terms: f64 =
                columns.iter().zip(values).map(|(&c, v)| (v * x[c as usize]).abs()).sum();
            let slack = qp.A.dot(i, x) - qp.b[i];
            if z[i] > 0.0 || slack <= NO_SLACK * (1.0 + terms + qp.b[i].abs()) {
                self.rows.push(i as u32);
            }
        }
        let size = largest(g);
        if self.rows.is_empty() || size == 0.0 {
            z.fill(0.0);
            return true;
        }
        self.newton(qp, g, size);
        // verify on the original rows
        self.F.clear();
        self.F.extend_from_slice(g);
        for (&i, a) in self.rows.iter().zip(&self.slope) {
            qp.A.add_to(i as usize, -a.max(0.0), &mut self.F);
        }
        if !(largest(&self.F) <= VERIFIED * size) {
            return false;
        }
        z.fill(0.0);
        for (&i, a) in self.rows.iter().zip(&self.slope) {
            z[i as usize] = a.max(0.0);
        }
        true
    }

    /// Leaves `y` and `slope = A y`.
    fn newton(&mut self, qp: &Qp<'_>, g: &[f64], size: f64) {
        let n = qp.n;
        self.y.clear();
        self.y.resize(n, 0.0);
        self.slope.clear();
        self.slope.resize(self.rows.len(), 0.0);
        for round in 0..ROUNDS {
            self.M.clear();
            self.M.resize(n * n, 0.0);
            self.F.clear();
            self.F.extend_from_slice(g);
            for (&i, &a) in self.rows.iter().zip(&self.slope) {
                // the first round takes all rows: least squares without signs
                if round > 0 && a <= 0.0 {
                    continue;
                }
                qp.A.add_to(i as usize, -a, &mut self.F);
                let (columns, values) = qp.A.row(i as usize);
                for (&p, v) in columns.iter().zip(values) {
                    let row = &mut self.M[p as usize * n..];
                    for (&q, w) in columns.iter().zip(values) {
                        row[q as usize] += v * w;
                    }
                }
            }
            if round > 0 && largest(&self.F) <= CONVERGED * size {
                return;
            }
            let trace: f64 = (0..n).map(|i| self.M[i * n + i]).sum();
            let shift = REGULAR * (trace / n as f64).max(f64::MIN_POSITIVE);
            for i in 0..n {
                self.M[i * n + i] += shift;
            }
            if !cholesky(&mut self.M, n, 0.0) {
                return;
            }
            self.step.clear();
            self.step.extend_from_slice(&self.F);
            cholesky_solve(&self.M, n, &mut self.step);
            if !self.search(qp, g, round == 0) {
                return;
            }
        }
    }

    /// Moves along `step` as far as the potential falls; false if it does not.
    fn search(&mut self, qp: &Qp<'_>, g: &[f64], first: bool) -> bool {
        let potential = |slope: &[f64], y: &[f64]| {
            0.5 * slope.iter().map(|a| a.max(0.0).powi(2)).sum::<f64>() - dot(g, y)
        };
        let now = potential(&self.slope, &self.y);
        let fall = dot(&self.step, &self.F);
        let mut t = 1.0;
        loop {
            self.trial.clear();
            self.trial.extend(self.y.iter().zip(&self.step).map(|(y, s)| y + t * s));
            self.trial_slope.clear();
            self.trial_slope.extend(self.rows.iter().map(|&i| qp.A.dot(i as usize, &self.trial)));
            // near the end the potential no longer resolves the fall: trust the full step there
            let slack = 1e-14 * now.abs();
            let falls = potential(&self.trial_slope, &self.trial) <= now - 1e-4 * t * fall + slack;
            if first || falls {
                std::mem::swap(&mut self.y, &mut self.trial);
                std::mem::swap(&mut self.slope, &mut self.trial_slope);
                return true;
            }
            t *= 0.5;
            if t < 1e-8 {
                return false;
            }
        }
    }
}
