//! One step of the system: a small linear complementarity problem by Lemke's method.

#![allow(non_snake_case)] // M is the letter of the literature

/// `0 ≤ z ⊥ M z + q ≥ 0`, with memory.
///
/// Lemke's method ends with an answer for contacts with friction (copositive plus matrices, up to
/// degeneracy); where it ends on a ray there is none for the caller to roll out, and no harm is done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lcp {
    /// `n × (2n + 2)` row-major: `w`, `z`, the artificial variable, the right-hand side.
    table: Vec<f64>,
    basis: Vec<usize>,
    pub z: Vec<f64>,
}

/// A pivot below this share of its column is taken for zero.
const NO_PIVOT: f64 = 1e-11;

impl Lcp {
    /// Writes `z`; false if there is a ray instead. `M` is `n × n` row-major.
    pub fn solve(&mut self, n: usize, M: &[f64], q: &[f64]) -> bool {
        self.z.clear();
        self.z.resize(n, 0.0);
        if q.iter().all(|v| *v >= 0.0) {
            return true;
        }
        let width = 2 * n + 2;
        let (artificial, right) = (2 * n, 2 * n + 1);
        self.table.clear();
        self.table.resize(n * width, 0.0);
        self.basis.clear();
        self.basis.extend(0..n);
        for i in 0..n {
            let row = &mut self.table[i * width..(i + 1) * width];
            row[i] = 1.0;
            for j in 0..n {
                row[n + j] = -M[i * n + j];
            }
            row[artificial] = -1.0;
            row[right] = q[i];
        }
        // the artificial variable enters where q is least
        let mut leave = (0..n).fold(0, |best, i| if q[i] < q[best] { i } else { best });
        let mut enter = artificial;
        for _ in 0..50 + 20 * n {
            self.pivot(n, leave, enter);
            let left = std::mem::replace(&mut self.basis[leave], enter);
            if left == artificial {
                for (i, &b) in self.basis.iter().enumerate() {
                    if (n..2 * n).contains(&b) {
                        self.z[b - n] = self.table[i * width + right].max(0.0);
                    }
                }
                return true;
            }
            // the complement of what left
            enter = if left < n { left + n } else { left - n };
            match self.ratio(n, enter) {
                Some(row) => leave = row,
                None => return false,
            }
        }
        false
    }

    fn pivot(&mut self, n: usize, row: usize, column: usize) {
        let width = 2 * n + 2;
        let pivot = self.table[row * width + column];
        self.table[row * width..(row + 1) * width].iter_mut().for_each(|v| *v /= pivot);
        for i in (0..n).filter(|i| *i != row) {
            let factor = self.table[i * width + column];
            if factor != 0.0 {
                for k in 0..width {
                    self.table[i * width + k] -= factor * self.table[row * width + k];
                }
            }
        }
    }

    /// Row that blocks the entering column; the artificial variable leaves whenever it can, other
    /// ties go by lexicographic order of the rows of the inverse basis.
    fn ratio(&self, n: usize, column: usize) -> Option<usize> {
        let width = 2 * n + 2;
        let at = |i: usize, k: usize| self.table[i * width + k];
        let size = (0..n).fold(0.0_f64, |m, i| m.max(at(i, column).abs()));
        let mut pick: Option<usize> = None;
        for i in 0..n {
            if at(i, column) <= NO_PIVOT * size {
                continue;
            }
            let Some(best) = pick else {
                pick = Some(i);
                continue;
            };
            let (here, there) = (
                at(i, 2 * n + 1).max(0.0) / at(i, column),
                at(best, 2 * n + 1).max(0.0) / at(best, column),
            );
            let tie = (here - there).abs() <= 1e-14 * here.abs().max(there.abs());
            let better = if !tie {
                here < there
            } else if self.basis[i] == 2 * n || self.basis[best] == 2 * n {
                self.basis[i] == 2 * n
            } else {
                (0..n)
                    .map(|k| at(i, k) / at(i, column) - at(best, k) / at(best, column))
                    .find(|d| *d != 0.0)
                    .is_some_and(|d| d < 0.0)
            };
            if better {
                pick = Some(i);
            }
        }
        pick
    }
}
