//! The problem as the nodes read it: unit rows, dense over the columns they span, and a factor.

#![allow(non_snake_case)] // P, L and J are the letters of the literature

use super::problem::Miqp;
use crate::kernels::{dot, solve_lower_transposed, zeros};
use crate::qp::Reason;

/// A pivot of the cost below this share of its diagonal entry carries no curvature to rely on.
const NO_CURVATURE: f64 = 1e-9;

/// Curvature given to such a variable, as a share of its diagonal entry.
const PROXIMAL: f64 = 1e-7;

/// Rows of length one, and the cost `1/2 xᵀ(P + Δ)x + (c − Δ x̂)ᵀx` with `Δ = diag(delta) ≥ 0`.
#[derive(Debug, Default)]
pub(crate) struct Data {
    pub n: usize,
    pub m: usize,
    /// `m × n` row-major.
    a: Vec<f64>,
    /// Columns `from..to` outside of which a row is zero.
    span: Vec<(u32, u32)>,
    pub b: Vec<f64>,
    /// Length of each row before scaling; 1 for a row of zeros.
    pub length: Vec<f64>,
    /// `n × n`, without Δ.
    P: Vec<f64>,
    pub c: Vec<f64>,
    pub delta: Vec<f64>,
    /// Some entry of `delta` is not zero: the cost alone does not place every variable.
    pub singular: bool,
    /// `L⁻ᵀ` of `P + Δ = L Lᵀ`, column-major.
    pub J: Vec<f64>,
    L: Vec<f64>,
    first: Vec<u32>,
}

impl Data {
    /// # Errors
    ///
    /// [`Reason::NotConvex`] where `P` has a direction of negative curvature.
    pub fn build(&mut self, p: &Miqp<'_>) -> Result<(), Reason> {
        let (n, m) = (p.n, p.A.len());
        (self.n, self.m) = (n, m);
        zeros(&mut self.a, m * n);
        self.span.clear();
        self.b.clear();
        self.length.clear();
        for i in 0..m {
            let row = &mut self.a[i * n..(i + 1) * n];
            p.A.add_to(i, 1.0, row);
            let length = dot(row, row).sqrt();
            let length = if length > 0.0 && length.is_finite() { length } else { 1.0 };
            for v in row.iter_mut() {
                *v /= length;
            }
            let from = row.iter().position(|v| *v != 0.0).unwrap_or(0);
            let to = row.iter().rposition(|v| *v != 0.0).map_or(from, |k| k + 1);
            self.span.push((from as u32, to as u32));
            self.length.push(length);
            self.b.push(p.b[i] / length);
        }
        self.P.clear();
        self.P.extend_from_slice(p.P);
        self.c.clear();
        self.c.extend_from_slice(p.c);
        self.factor()
    }

    fn factor(&mut self) -> Result<(), Reason> {
        let n = self.n;
        zeros(&mut self.delta, n);
        self.singular = false;
        self.L.clear();
        self.L.extend_from_slice(&self.P);
        let diagonal = (0..n).map(|i| self.P[i * n + i].abs());
        let mean = diagonal.sum::<f64>() / n.max(1) as f64;
        for i in 0..n {
            let (done, rest) = self.L.split_at_mut(i * n);
            let row = &mut rest[..=i];
            let mut pivot = row[i];
            for j in 0..i {
                let L_j = &done[j * n..=j * n + j];
                let v = (row[j] - dot(&row[..j], &L_j[..j])) / L_j[j];
                row[j] = v;
                pivot -= v * v;
            }
            let own = self.P[i * n + i].abs();
            if pivot <= NO_CURVATURE * own {
                if pivot < -NO_CURVATURE * own.max(mean) || !pivot.is_finite() {
                    return Err(Reason::NotConvex);
                }
                let size = [own, mean, 1.0].into_iter().find(|s| *s > 0.0).unwrap_or(1.0);
                self.delta[i] = PROXIMAL * size;
                self.singular = true;
                pivot = pivot.max(0.0) + self.delta[i];
            }
            row[i] = pivot.sqrt();
        }
        self.first.clear();
        self.first.resize(n, 0);
        zeros(&mut self.J, n * n);
        for j in 0..n {
            let column = &mut self.J[j * n..(j + 1) * n];
            column[j] = 1.0;
            solve_lower_transposed(&self.L, n, &self.first, j, column);
        }
        Ok(())
    }

    /// Entries of row `i`, and the columns they stand in.
    #[inline]
    pub fn row(&self, i: usize) -> (std::ops::Range<usize>, &[f64]) {
        let (from, to) = self.span[i];
        let columns = from as usize..to as usize;
        (columns.clone(), &self.a[i * self.n + columns.start..i * self.n + columns.end])
    }

    /// `a_i·x − b_i` of the scaled row.
    #[inline]
    pub fn slack(&self, i: usize, x: &[f64]) -> f64 {
        let (columns, a) = self.row(i);
        dot(a, &x[columns]) - self.b[i]
    }

    /// `1/2 xᵀPx + cᵀx`, without the proximal term.
    pub fn cost(&self, x: &[f64]) -> f64 {
        (0..self.n)
            .map(|i| x[i] * (0.5 * dot(&self.P[i * self.n..(i + 1) * self.n], x) + self.c[i]))
            .sum()
    }
}
