//! Geometric scaling of rows and columns to similar size.

use crate::lcp::problem::Lcp;
use crate::tolerances::ROUNDING;
use quasistep_linalg::budget::Budget;

/// Number of sweeps over rows and columns.
const SWEEPS: usize = 4;

/// Scaled problem with `w = row w'`, `(x, z) = size column (x', z')`. All factors are powers of
/// two, so that scaling does not round.
#[derive(Debug, Default)]
pub(crate) struct Scaled {
    pub lcp: Lcp,
    pub row: Vec<f64>,
    pub column: Vec<f64>,
    pub size: f64,
    /// Largest and least entry of each column, without entries that are rounding.
    largest: Vec<f64>,
    least: Vec<f64>,
}

impl Scaled {
    /// Scales every row and column of `M` so that the geometric mean of its largest and least entry
    /// is 1, and `q` to a largest entry of 1. Returns false if the budget `work` is spent.
    pub fn fill(&mut self, lcp: &Lcp, work: &Budget) -> bool {
        let n = lcp.size();
        // three passes over all entries for the rows, three for the columns
        if !work.spend((6 * SWEEPS * n * n) as u64) {
            return false;
        }
        // the derived `clone_from` would allocate
        (self.lcp.free, self.lcp.pairs) = (lcp.free, lcp.pairs);
        self.lcp.M.clone_from(&lcp.M);
        self.lcp.q.clone_from(&lcp.q);
        for v in [&mut self.row, &mut self.column] {
            v.clear();
            v.resize(n, 1.0);
        }
        for _ in 0..SWEEPS {
            for (i, unit) in self.row.iter_mut().enumerate() {
                let row = &mut self.lcp.M[i * n..(i + 1) * n];
                let largest = row.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
                let least = row.iter().fold(largest, |m, v| lesser(m, *v, largest));
                let f = middle(largest, least);
                *unit *= f;
                for v in row {
                    *v /= f;
                }
            }
            self.scale_columns();
        }
        let mut largest = 0.0_f64;
        for (q, f) in self.lcp.q.iter_mut().zip(&self.row) {
            *q /= f;
            largest = largest.max(q.abs());
        }
        self.size = if largest > 0.0 { power_of_two(largest) } else { 1.0 };
        self.lcp.q.iter_mut().for_each(|q| *q /= self.size);
        true
    }

    /// Scales all columns in one pass, row by row in the order of memory.
    fn scale_columns(&mut self) {
        let Self { lcp, column, largest, least, .. } = self;
        let n = column.len();
        largest.clear();
        largest.resize(n, 0.0);
        for row in (0..n).map(|i| &lcp.M[i * n..(i + 1) * n]) {
            largest.iter_mut().zip(row).for_each(|(m, v)| *m = m.max(v.abs()));
        }
        least.clone_from(largest);
        for row in (0..n).map(|i| &lcp.M[i * n..(i + 1) * n]) {
            let all = least.iter_mut().zip(row).zip(&*largest);
            all.for_each(|((m, v), largest)| *m = lesser(*m, *v, *largest));
        }
        let factors = largest;
        for (f, (least, unit)) in factors.iter_mut().zip(least.iter().zip(column)) {
            *f = middle(*f, *least);
            *unit /= *f;
        }
        for i in 0..n {
            let row = &mut lcp.M[i * n..(i + 1) * n];
            row.iter_mut().zip(&*factors).for_each(|(v, f)| *v /= f);
        }
    }
}

/// The smaller of `least` and `|v|`; `v` is ignored if it is rounding relative to `largest`.
fn lesser(least: f64, v: f64, largest: f64) -> f64 {
    if v.abs() > ROUNDING * largest { least.min(v.abs()) } else { least }
}

/// Geometric mean of the largest and the least entry; 1 if all are zero.
fn middle(largest: f64, least: f64) -> f64 {
    if largest > 0.0 { power_of_two(least.sqrt() * largest.sqrt()) } else { 1.0 }
}

fn power_of_two(v: f64) -> f64 {
    v.log2().round().clamp(-500.0, 500.0).exp2()
}
