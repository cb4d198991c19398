//! The problem in scaled variables, with saturated springs as extra columns.
//!
//! Variables are scaled so that `P` has a unit diagonal (or, where it has none, columns of `A` have
//! unit entries), rows so that they have unit norm: tolerances then mean the same for a gram and a
//! tonne. A spring at its limit becomes its epigraph, exact by convexity:
//!
//! ```text
//! 1/2 k (x − target − s⁺ + s⁻)² + limit (s⁺ + s⁻),   s± ≥ 0
//! ```

use crate::problem::Qp;
use crate::rows::Rows;

/// Memory of a scaled problem.
#[derive(Debug, Default)]
pub(crate) struct Scaled {
    /// Number of variables, extra columns included.
    pub n: usize,
    pub P: Vec<f64>,
    pub c: Vec<f64>,
    pub A: Rows,
    pub b: Vec<f64>,
    /// `x = scale · x_scaled`.
    pub scale: Vec<f64>,
    /// `z = row_scale · z_scaled`.
    pub row_scale: Vec<f64>,
    values: Vec<f64>,
    column_size: Vec<f64>,
}

impl Scaled {
    /// Fills this from a problem; springs with `at_limit` get extra columns.
    pub fn update(&mut self, qp: &Qp<'_>, at_limit: &[bool]) {
        let extra = 2 * at_limit.iter().filter(|f| **f).count();
        let (n, m) = (qp.n, qp.b.len());
        let width = n + extra;
        self.n = width;
        self.P.clear();
        self.P.resize(width * width, 0.0);
        self.c.clear();
        self.c.resize(width, 0.0);
        for i in 0..n {
            self.P[i * width..i * width + n].copy_from_slice(&qp.P[i * n..(i + 1) * n]);
            self.c[i] = qp.c[i];
        }
        let mut at = n;
        for (s, &limited) in qp.saturations.iter().zip(at_limit) {
            let i = s.index as usize;
            if limited {
                let columns = [(i, 1.0), (at, -1.0), (at + 1, 1.0)];
                for (row, left) in columns {
                    for (column, right) in columns {
                        self.P[row * width + column] += s.stiffness * left * right;
                    }
                    self.c[row] -= s.stiffness * s.target * left;
                }
                self.c[at] += s.limit;
                self.c[at + 1] += s.limit;
                at += 2;
            } else {
                self.P[i * width + i] += s.stiffness;
                self.c[i] -= s.stiffness * s.target;
            }
        }

        self.column_size.clear();
        self.column_size.resize(width, 0.0);
        for r in 0..m {
            let (columns, values) = qp.A.row(r);
            for (&c, v) in columns.iter().zip(values) {
                let size = &mut self.column_size[c as usize];
                *size = size.max(v.abs());
            }
        }
        self.scale.clear();
        for i in 0..width {
            let p = self.P[i * width + i];
            let size = if p > 0.0 { p.sqrt() } else { self.column_size[i] };
            self.scale.push(if size > 0.0 { 1.0 / size } else { 1.0 });
        }
        for i in 0..width {
            self.c[i] *= self.scale[i];
            for j in 0..width {
                self.P[i * width + j] *= self.scale[i] * self.scale[j];
            }
        }
        self.A.clear();
        self.b.clear();
        self.row_scale.clear();
        for r in 0..m {
            let (columns, values) = qp.A.row(r);
            self.values.clear();
            self.values
                .extend(columns.iter().zip(values).map(|(&c, v)| v * self.scale[c as usize]));
            let norm = self.values.iter().map(|v| v * v).sum::<f64>().sqrt();
            let s = if norm > 0.0 { 1.0 / norm } else { 1.0 };
            self.values.iter_mut().for_each(|v| *v *= s);
            self.A.push(columns, &self.values);
            self.b.push(qp.b[r] * s);
            self.row_scale.push(s);
        }
        for k in n..width {
            self.A.push(&[k as u32], &[1.0]);
            self.b.push(0.0);
            self.row_scale.push(1.0);
        }
    }
}
