//! Units in which all rows and columns are alike.

use crate::lcp::problem::Lcp;
use crate::tolerances::ROUNDING;

/// Sweeps over rows and columns.
const SWEEPS: usize = 4;

/// A problem in units of its own: `w = row w'`, `(x, z) = size column (x', z')`, with factors that are
/// powers of two, so that no digit changes.
#[derive(Debug, Default)]
pub(crate) struct Scaled {
    pub lcp: Lcp,
    pub row: Vec<f64>,
    pub column: Vec<f64>,
    pub size: f64,
}

impl Scaled {
    /// Every row and column of `M` gets a geometric middle of one, and `q` a largest entry of one.
    pub fn fill(&mut self, lcp: &Lcp) {
        let n = lcp.size();
        self.lcp.clone_from(lcp);
        for v in [&mut self.row, &mut self.column] {
            v.clear();
            v.resize(n, 1.0);
        }
        for _ in 0..SWEEPS {
            for i in 0..n {
                let row = &self.lcp.M[i * n..(i + 1) * n];
                let f = middle(row.iter().copied());
                self.row[i] *= f;
                self.lcp.M[i * n..(i + 1) * n].iter_mut().for_each(|v| *v /= f);
            }
            for j in 0..n {
                let f = middle(self.lcp.M.iter().skip(j).step_by(n).copied());
                self.column[j] /= f;
                self.lcp.M.iter_mut().skip(j).step_by(n).for_each(|v| *v /= f);
            }
        }
        let mut largest = 0.0_f64;
        for (q, f) in self.lcp.q.iter_mut().zip(&self.row) {
            *q /= f;
            largest = largest.max(q.abs());
        }
        self.size = if largest > 0.0 { power_of_two(largest) } else { 1.0 };
        self.lcp.q.iter_mut().for_each(|q| *q /= self.size);
    }
}

/// Geometric middle between the largest entry and the least that is not rounding beside it; 1 if all are
/// zero.
fn middle(v: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = v.clone().fold(0.0_f64, |m, v| m.max(v.abs()));
    let counts = v.map(f64::abs).filter(|v| *v > ROUNDING * largest);
    let least = counts.fold(largest, f64::min);
    if largest > 0.0 { power_of_two(least.sqrt() * largest.sqrt()) } else { 1.0 }
}

fn power_of_two(v: f64) -> f64 {
    v.log2().round().clamp(-500.0, 500.0).exp2()
}
