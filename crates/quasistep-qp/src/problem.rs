//! Quadratic program: cost, gradient, residuals, and the check of its data.

#![allow(non_snake_case)] // P and A are the letters of quadratic programming

use crate::tolerances::SYMMETRIC;
use quasistep_linalg::kernels::dot;
use quasistep_linalg::{Reason, Residuals, Rows, Saturation};

/// A convex quadratic program, borrowed from its owner.
///
/// ```text
/// min  1/2 xᵀ P x + cᵀ x + Σ_k huber_k(x)     s.t.   s = A x − b ≥ 0,     dual z ≥ 0
/// P x + c + Σ_k ∇huber_k = Aᵀ z               z_i s_i = 0
/// ```
///
/// Units are the caller's. With costs in `J` and `x_i` in `u_i`, `P_ij` is in `J/(u_i u_j)`, and
/// `z_i` in `J` per unit of row `i`.
#[derive(Clone, Copy, Debug)]
pub struct Qp<'a> {
    /// Number of variables `n`; may be 0.
    pub n: usize,
    /// `n × n` row-major, symmetric, positive semidefinite; may be zero.
    pub P: &'a [f64],
    /// Linear cost, length `n`.
    pub c: &'a [f64],
    /// Matrix of the constraint rows; its columns are below `n`.
    pub A: &'a Rows,
    /// Lower bounds of the rows `A x`, length `A.len()`.
    pub b: &'a [f64],
    /// Huber terms, added to `P`. Several may act on one variable.
    pub saturations: &'a [Saturation],
}

impl Qp<'_> {
    /// Value of the cost at `x`, Huber terms included.
    pub fn cost(&self, x: &[f64]) -> f64 {
        let mut total = 0.0;
        for i in 0..self.n {
            total += x[i] * (0.5 * dot(&self.P[i * self.n..(i + 1) * self.n], x) + self.c[i]);
        }
        total + self.saturations.iter().map(|s| s.cost(x[s.index as usize])).sum::<f64>()
    }

    /// Writes the gradient `P x + c + ∇huber` at `x` to `g`; both have length `n`.
    pub fn gradient(&self, x: &[f64], g: &mut Vec<f64>) {
        g.clear();
        g.extend_from_slice(self.c);
        for i in 0..self.n {
            g[i] += dot(&self.P[i * self.n..(i + 1) * self.n], x);
        }
        for s in self.saturations {
            g[s.index as usize] += s.gradient(x[s.index as usize]);
        }
    }

    /// KKT residuals of any pair `x` (length `n`) and `z` (one per row). On return `g` holds `P x +
    /// c + ∇huber − Aᵀz`.
    pub fn residuals(&self, x: &[f64], z: &[f64], g: &mut Vec<f64>) -> Residuals {
        self.gradient(x, g);
        let mut r = Residuals::default();
        for i in 0..self.b.len() {
            let s = self.A.dot(i, x) - self.b[i];
            r.primal = r.primal.max(-s);
            r.dual = r.dual.max(-z[i]);
            r.complementarity = r.complementarity.max((s * z[i]).abs());
            if z[i] != 0.0 {
                self.A.add_to(i, -z[i], g);
            }
        }
        r.stationarity = quasistep_linalg::kernels::max_abs(g);
        r
    }

    /// Checks sizes, finiteness and symmetry, but not whether `P` is semidefinite.
    pub(crate) fn check(&self) -> Result<(), Reason> {
        let n = self.n;
        let fits = n.checked_mul(n) == Some(self.P.len())
            && self.c.len() == n
            && self.A.len() == self.b.len()
            && self.A.fits(n)
            && self.saturations.iter().all(|s| (s.index as usize) < n);
        if !fits {
            return Err(Reason::Dimensions);
        }
        let finite = |v: &[f64]| v.iter().all(|v| v.is_finite());
        let springs = self
            .saturations
            .iter()
            .all(|s| s.stiffness.is_finite() && s.target.is_finite() && !s.limit.is_nan());
        if !(finite(self.P) && finite(self.c) && finite(self.b) && self.A.is_finite() && springs) {
            return Err(Reason::NotFinite);
        }
        if self.saturations.iter().any(|s| s.stiffness < 0.0 || s.limit < 0.0) {
            return Err(Reason::NotConvex);
        }
        for i in 0..n {
            if self.P[i * n + i] < 0.0 {
                return Err(Reason::NotConvex);
            }
            for j in 0..i {
                let (a, b) = (self.P[i * n + j], self.P[j * n + i]);
                // relative to the diagonal, because |P_ij| ≤ √(P_ii P_jj) in a convex cost
                if a != b {
                    let scale = self.P[i * n + i].sqrt() * self.P[j * n + j].sqrt();
                    if (a - b).abs() > SYMMETRIC * scale {
                        return Err(Reason::NotSymmetric);
                    }
                }
            }
        }
        Ok(())
    }
}
