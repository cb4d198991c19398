//! Where a cost falls without end: a direction that no row and no curvature stops.
//!
//! The projection of `−c` onto the recession cone,
//!
//! ```text
//! min 1/2 |d|² + cᵀd     s.t.  A d ≥ 0,  P d = 0
//! ```
//!
//! is zero if and only if the cost is bounded below on a feasible set (Moreau's decomposition:
//! `cᵀd = −|d|²`). In scaled variables with `|c| = 1`.

use crate::Rows;
use crate::dense::dual_active_set::{ActiveSet, Outcome};
use crate::dense::equilibrate::Scaled;
use crate::kernels::{dot, max_abs, zeros};

/// Length of the projection of the unit cost below which the cost counts as bounded.
const NO_RAY: f64 = 1e-8;

#[derive(Debug, Default)]
pub(crate) struct Recession {
    pub set: ActiveSet,
    rows: Rows,
    b: Vec<f64>,
    g: Vec<f64>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Recession {
    /// The direction found, in scaled variables.
    pub fn ray(&self) -> &[f64] {
        &self.set.x
    }

    /// Looks for a direction in the variables marked `singular`.
    pub fn find(&mut self, p: &Scaled, singular: &[bool]) -> bool {
        let n = p.n;
        zeros(&mut self.g, n);
        for i in (0..n).filter(|&i| singular[i]) {
            self.g[i] = p.c[i];
        }
        let largest = max_abs(&self.g);
        if largest == 0.0 {
            return false;
        }
        self.g.iter_mut().for_each(|g| *g /= largest);
        let norm = dot(&self.g, &self.g).sqrt();
        self.g.iter_mut().for_each(|g| *g /= norm);
        self.build(p, singular);
        let m = self.rows.len();
        zeros(&mut self.b, m);
        self.set.factor_identity(n, m);
        self.set.pivots = 0;
        self.set.dependent = 1e-18;
        self.set.max_pivots = 500 + 50 * (n + m) as u32;
        loop {
            match self.set.solve(&self.rows, &self.g, &self.b) {
                Outcome::Solved => break,
                Outcome::Pivots => return false,
                // d = 0 satisfies all rows: only rounding contradicts
                Outcome::Contradiction { row } => self.set.ignore(row),
            }
        }
        let d = &self.set.x;
        dot(d, d).sqrt() > NO_RAY && self.holds(p)
    }

    fn build(&mut self, p: &Scaled, singular: &[bool]) {
        self.rows.clear();
        let pick = |c: u32| f64::from(u8::from(singular[c as usize]));
        for i in 0..p.b.len() {
            let (columns, values) = p.A.row(i);
            self.rows.push_scaled(columns, values, pick);
        }
        for i in (0..p.n).filter(|&i| singular[i]) {
            let (from, row) = p.curvature_row(i);
            if row.is_empty() {
                continue;
            }
            for sign in [1.0, -1.0] {
                self.columns.clear();
                self.values.clear();
                self.columns.extend((from..from + row.len()).map(|c| c as u32));
                self.values.extend(row.iter().map(|v| sign * v));
                self.rows.push(&self.columns, &self.values);
            }
        }
    }

    /// `P d = 0` and `A d ≥ 0` to 1e-9, for the largest entry of `d` as unit.
    fn holds(&self, p: &Scaled) -> bool {
        let d = &self.set.x;
        let unit = 1e-9 * max_abs(d);
        (0..p.n).all(|i| p.curvature(i, d).abs() <= unit)
            && (0..p.b.len()).all(|i| p.A.dot(i, d) >= -unit)
            && dot(&p.c, d) < 0.0
    }
}
