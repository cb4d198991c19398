//! The problem as the inner solver sees it: saturations spelled out, all units alike.
//!
//! ```text
//! x = V x̃,   P̃ = V P V,   c̃ = V c,   Ã = R A V,   b̃ = R b
//! ```
//! `V` makes the diagonal of `P̃` one. Variables without curvature are scaled by their largest
//! coefficient, with one common factor that lets them share rows with curved ones on equal terms.
//! `R` makes every row of `Ã` a unit vector.
//!
//! A saturated spring gets a slack column `s ≥ 0` per side that is needed,
//! `1/2 k (x − target ∓ s)² + limit s`: the epigraph form of the Huber cost. Each such column
//! makes one side of the cost exact and leaves the other above the true cost, so that the
//! problems form a falling sequence with the true one at its end.

#![allow(non_snake_case)] // P, A, V, R are the letters of the problem

use crate::kernels::{dot, zeros};
use crate::{Qp, Reason, Rows};

/// Slack column of a spring that carries its limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// Which saturation.
    pub saturation: usize,
    /// 1 for `x > target`, −1 for `x < target`.
    pub side: f64,
}

/// Scaled copy of a problem, with its slack columns after the variables and their rows `s ≥ 0`
/// after the rows.
#[derive(Debug, Default)]
pub(crate) struct Scaled {
    /// Variables and slack columns.
    pub n: usize,
    /// Rows of the caller; `b.len()` counts those of the slack columns too.
    pub rows: usize,
    /// `n × n` row-major.
    pub P: Vec<f64>,
    pub c: Vec<f64>,
    pub A: Rows,
    pub b: Vec<f64>,
    /// `V`.
    pub variable: Vec<f64>,
    /// `R`.
    pub row: Vec<f64>,
    /// Smallest variable that `P` couples to this one.
    pub block: Vec<u32>,
    /// First and one past the last non-zero of each row of `P`.
    span: Vec<(u32, u32)>,
    /// First non-zero of each row of `P` up to its diagonal.
    pub first: Vec<u32>,
}

impl Scaled {
    /// Fills the copy; `columns` are the slack columns to append.
    pub fn build(&mut self, qp: &Qp<'_>, columns: &[Column]) -> Result<(), Reason> {
        let n = qp.n + columns.len();
        self.n = n;
        self.rows = qp.b.len();
        zeros(&mut self.P, n * n);
        zeros(&mut self.c, n);
        self.c[..qp.n].copy_from_slice(qp.c);
        for i in 0..qp.n {
            self.P[i * n..i * n + qp.n].copy_from_slice(&qp.P[i * qp.n..(i + 1) * qp.n]);
        }
        self.springs(qp, columns);
        self.blocks();
        self.scale_variables(qp)?;
        self.scale_rows(qp);
        Ok(())
    }

    /// Adds `1/2 k (x − target − Σ side s)² + limit Σ s` for every spring.
    fn springs(&mut self, qp: &Qp<'_>, columns: &[Column]) {
        let n = self.n;
        for (k, s) in qp.saturations.iter().enumerate() {
            let i = s.index as usize;
            self.P[i * n + i] += s.stiffness;
            self.c[i] -= s.stiffness * s.target;
            let own = |j: usize| columns[j].saturation == k;
            for j in (0..columns.len()).filter(|&j| own(j)) {
                let (a, side) = (qp.n + j, columns[j].side);
                self.P[i * n + a] -= side * s.stiffness;
                self.P[a * n + i] -= side * s.stiffness;
                self.c[a] += s.limit + side * s.stiffness * s.target;
                for l in (0..columns.len()).filter(|&l| own(l)) {
                    self.P[a * n + qp.n + l] += side * columns[l].side * s.stiffness;
                }
            }
        }
    }

    /// Finds the blocks of `P` and the extent of its rows.
    fn blocks(&mut self) {
        let n = self.n;
        self.block.clear();
        self.block.extend(0..n as u32);
        self.span.clear();
        self.first.clear();
        for i in 0..n {
            let row = &self.P[i * n..(i + 1) * n];
            let from = row.iter().position(|v| *v != 0.0).unwrap_or(i);
            let to = row.iter().rposition(|v| *v != 0.0).map_or(i, |k| k + 1);
            self.span.push((from as u32, to.max(from) as u32));
            self.first.push(from.min(i) as u32);
            for j in from..i {
                if row[j] != 0.0 {
                    let (a, b) = (self.root(i), self.root(j));
                    self.block[a.max(b)] = a.min(b) as u32;
                }
            }
        }
        for i in 0..n {
            // parents precede their children, so one hop reaches the root
            self.block[i] = self.block[self.block[i] as usize];
        }
    }

    fn root(&self, mut i: usize) -> usize {
        while self.block[i] as usize != i {
            i = self.block[i] as usize;
        }
        i
    }

    fn scale_variables(&mut self, qp: &Qp<'_>) -> Result<(), Reason> {
        let n = self.n;
        zeros(&mut self.variable, n);
        let mut flat = false;
        for i in 0..n {
            let p = self.P[i * n + i];
            if p > 0.0 {
                self.variable[i] = 1.0 / p.sqrt();
            } else {
                flat = true;
                // a zero on the diagonal of a convex cost empties its row
                let (from, to) = self.span[i];
                if from < to {
                    return Err(Reason::NotConvex);
                }
            }
        }
        if flat {
            self.scale_flat(qp);
        }
        for i in 0..n {
            let v = self.variable[i];
            self.c[i] *= v;
            let (from, to) = (self.span[i].0 as usize, self.span[i].1 as usize);
            for j in from..to {
                self.P[i * n + j] *= v * self.variable[j];
            }
        }
        Ok(())
    }

    /// Scales of the variables without curvature.
    fn scale_flat(&mut self, qp: &Qp<'_>) {
        let n = self.n;
        // the largest coefficient of each becomes 1, kept as a negative mark until all are known
        for r in 0..qp.b.len() {
            let (columns, values) = qp.A.row(r);
            for (&c, v) in columns.iter().zip(values) {
                let c = c as usize;
                if self.P[c * n + c] <= 0.0 {
                    self.variable[c] = self.variable[c].min(-v.abs());
                }
            }
        }
        for i in 0..n {
            if self.P[i * n + i] <= 0.0 {
                let largest = -self.variable[i];
                self.variable[i] = if largest > 0.0 { 1.0 / largest } else { 1.0 };
            }
        }
        // common factor: rows that touch both kinds see coefficients of one size
        let mut log_sum = 0.0;
        let mut count = 0.0;
        for r in 0..qp.b.len() {
            let (columns, values) = qp.A.row(r);
            let (mut curved, mut flat) = (0.0_f64, 0.0_f64);
            for (&c, v) in columns.iter().zip(values) {
                let c = c as usize;
                let size = (v * self.variable[c]).abs();
                if self.P[c * n + c] > 0.0 {
                    curved = curved.max(size);
                } else {
                    flat = flat.max(size);
                }
            }
            if curved > 0.0 && flat > 0.0 {
                log_sum += (curved / flat).ln();
                count += 1.0;
            }
        }
        if count > 0.0 {
            let factor = (log_sum / count).exp();
            for i in 0..n {
                if self.P[i * n + i] <= 0.0 {
                    self.variable[i] *= factor;
                }
            }
        }
    }

    fn scale_rows(&mut self, qp: &Qp<'_>) {
        self.A.clear();
        self.b.clear();
        self.row.clear();
        for r in 0..qp.b.len() {
            let (columns, values) = qp.A.row(r);
            let variable = &self.variable;
            self.A.push_scaled(columns, values, |c| variable[c as usize]);
            let norm = self.A.row(r).1.iter().map(|v| v * v).sum::<f64>().sqrt();
            let s = if norm > 0.0 { 1.0 / norm } else { 1.0 };
            self.A.scale_row(r, s);
            self.b.push(qp.b[r] * s);
            self.row.push(s);
        }
        for a in qp.n..self.n {
            self.A.push(&[a as u32], &[1.0]);
            self.b.push(0.0);
            self.row.push(1.0 / self.variable[a]);
        }
    }

    /// `P̃_i · x̃`.
    #[inline]
    pub fn curvature(&self, i: usize, x: &[f64]) -> f64 {
        let (from, to) = (self.span[i].0 as usize, self.span[i].1 as usize);
        dot(&self.P[i * self.n + from..i * self.n + to], &x[from..to])
    }

    /// `Σ_j |P̃_ij x̃_j|`: what rounding of the curvature is measured against.
    pub fn curvature_terms(&self, i: usize, x: &[f64]) -> f64 {
        let (from, row) = self.curvature_row(i);
        row.iter().zip(&x[from..]).map(|(p, x)| (p * x).abs()).sum()
    }

    /// Row `i` of `P̃`, from its first non-zero, and that place.
    pub fn curvature_row(&self, i: usize) -> (usize, &[f64]) {
        let (from, to) = (self.span[i].0 as usize, self.span[i].1 as usize);
        (from, &self.P[i * self.n + from..i * self.n + to])
    }

    /// Slack of row `i` at `x̃`.
    #[inline]
    pub fn slack(&self, i: usize, x: &[f64]) -> f64 {
        self.A.dot(i, x) - self.b[i]
    }
}
