//! Gauss–Jordan elimination of the rows of a group of constraints.
//!
//! ```text
//! G x = r          →          x_D + Σ_I A_DI x_I = (T r)_D     for each kept row,      r_k = (T r)_k − … = 0 for the others
//! ```
//!
//! Pivoting is complete: the next pivot is the largest entry, with rows and columns scaled to their
//! units and columns weighted by the caller's preference. A row whose remaining entries are within
//! the tolerance depends on the rows that are kept.

use quasistep_linalg::kernels::{cholesky, solve_lower, solve_lower_transposed};

/// Memory of an elimination, and its result.
#[derive(Debug, Default)]
pub(super) struct Elimination {
    /// Rows and columns.
    m: usize,
    n: usize,
    /// Remaining `G`, right-hand side `r` and row transformation `T`, `m × (n + 1 + m)`.
    w: Vec<f64>,
    /// Kept rows, each with its pivot column.
    pub pivots: Vec<(usize, usize)>,
    /// Scale and preference of each column.
    scales: Vec<f64>,
    preferences: Vec<f64>,
    /// Scales: largest entry of each row, then largest scaled entry of each column.
    row_unit: Vec<f64>,
    column_unit: Vec<f64>,
    kept: Vec<bool>,
    solved: Vec<bool>,
    /// Copy of the current row.
    own: Vec<f64>,
}

impl Elimination {
    /// Clears the memory and starts with `m` zero rows of `n` columns.
    pub fn reset(&mut self, m: usize, n: usize) {
        (self.m, self.n) = (m, n);
        let width = self.width();
        self.w.clear();
        self.w.resize(m * width, 0.0);
        for row in 0..m {
            self.w[row * width + n + 1 + row] = 1.0;
        }
        self.pivots.clear();
        for (flags, n) in [(&mut self.kept, m), (&mut self.solved, n)] {
            flags.clear();
            flags.resize(n, false);
        }
    }

    fn width(&self) -> usize {
        self.n + 1 + self.m
    }

    /// Entry of `G`, before the elimination.
    pub fn G(&mut self, row: usize, column: usize) -> &mut f64 {
        let at = row * self.width() + column;
        &mut self.w[at]
    }

    /// Right-hand side of a row, before the elimination.
    pub fn r(&mut self, row: usize) -> &mut f64 {
        let at = row * self.width() + self.n;
        &mut self.w[at]
    }

    /// `T r` of a row, after the elimination. For a dependent row it is the residual that the kept
    /// rows leave.
    pub fn Tr(&self, row: usize) -> f64 {
        self.w[row * self.width() + self.n]
    }

    /// The least change of the right-hand sides for which the dependent rows agree with the kept
    /// ones, where `weight` divides the change of a row: `W² T_kᵀ μ` with `T_k (r + W² T_kᵀ μ) = 0`.
    pub fn least_change(&self, weight: impl Fn(usize) -> f64) -> Vec<f64> {
        let dependent: Vec<usize> = (0..self.m).filter(|row| !self.kept[*row]).collect();
        let weights: Vec<f64> = (0..self.m).map(|row| weight(row).powi(2)).collect();
        let n = dependent.len();
        // each dependent row has an entry of its own in T, so the matrix is regular
        let mut M = vec![0.0; n * n];
        for (i, a) in dependent.iter().enumerate() {
            for (j, b) in dependent[..=i].iter().enumerate() {
                let terms = self.T(*a).iter().zip(self.T(*b)).zip(&weights);
                M[i * n + j] = terms.map(|((a, b), weight)| a * b * weight).sum();
            }
        }
        let mut mu: Vec<f64> = dependent.iter().map(|row| -self.Tr(*row)).collect();
        let first = vec![0; n];
        let factored = cholesky(&mut M, n, &first, |_, pivot| (pivot > 0.0).then_some(pivot));
        debug_assert!(factored.is_ok());
        solve_lower(&M, n, &first, &mut mu);
        solve_lower_transposed(&M, n, &first, n - 1, &mut mu);
        let mut change = vec![0.0; self.m];
        for (row, mu) in dependent.iter().zip(&mu) {
            let terms = change.iter_mut().zip(self.T(*row)).zip(&weights);
            terms.for_each(|((x, t), weight)| *x += weight * t * mu);
        }
        change
    }

    /// Adds a change of the right-hand sides to the `T r` of all rows.
    pub fn add_to_r(&mut self, change: &[f64]) {
        let (n, width) = (self.n, self.width());
        for row in self.w.chunks_exact_mut(width) {
            let (left, T) = row.split_at_mut(n + 1);
            left[n] += T.iter().zip(change).map(|(t, x)| t * x).sum::<f64>();
        }
    }

    /// Entry of a non-pivot column in a row, after the elimination.
    pub fn A(&self, row: usize, column: usize) -> f64 {
        self.w[row * self.width() + column]
    }

    /// Row of `T`: coefficients of the original rows.
    pub fn T(&self, row: usize) -> &[f64] {
        &self.w[row * self.width() + self.n + 1..][..self.m]
    }

    pub fn is_kept(&self, row: usize) -> bool {
        self.kept[row]
    }

    pub fn is_solved(&self, column: usize) -> bool {
        self.solved[column]
    }

    /// Eliminates. A row counts as dependent if its remaining entries are at most `share` of its
    /// largest original entry, with entries measured in the `scale` of their columns. Columns with a
    /// larger `preference` (> 0) are preferred as pivots.
    pub fn solve(
        &mut self,
        share: f64,
        scale: impl Fn(usize) -> f64,
        preference: impl Fn(usize) -> f64,
    ) {
        self.scales.clear();
        self.scales.extend((0..self.n).map(scale));
        self.preferences.clear();
        self.preferences.extend((0..self.n).map(preference));
        self.find_units();
        loop {
            let mut best = (0.0, 0, 0);
            for row in (0..self.m).filter(|row| !self.kept[*row]) {
                let least = share * self.row_unit[row];
                for column in 0..self.n {
                    let entry = self.scales[column] * self.A(row, column).abs();
                    if self.solved[column] || entry <= least {
                        continue;
                    }
                    let size = self.preferences[column] * entry
                        / (self.row_unit[row] * self.column_unit[column]);
                    if size > best.0 {
                        best = (size, row, column);
                    }
                }
            }
            let (size, row, column) = best;
            if size == 0.0 {
                break;
            }
            self.pivot(row, column);
        }
    }

    fn find_units(&mut self) {
        let Self { m, n, w, scales, row_unit, column_unit, .. } = self;
        let width = *n + 1 + *m;
        row_unit.clear();
        column_unit.clear();
        column_unit.resize(*n, 0.0);
        for row in w.chunks_exact(width) {
            let sizes = || row.iter().zip(&*scales).map(|(x, scale)| scale * x.abs());
            let unit = sizes().fold(0.0, f64::max);
            row_unit.push(unit);
            if unit > 0.0 {
                for (most, size) in column_unit.iter_mut().zip(sizes()) {
                    *most = most.max(size / unit);
                }
            }
        }
    }

    fn pivot(&mut self, row: usize, column: usize) {
        let width = self.width();
        self.kept[row] = true;
        self.solved[column] = true;
        self.pivots.push((row, column));
        let pivot = self.w[row * width + column];
        let own = &mut self.w[row * width..(row + 1) * width];
        for x in own.iter_mut() {
            *x /= pivot;
        }
        own[column] = 1.0;
        self.own.clear();
        self.own.extend_from_slice(own);
        for other in (0..self.m).filter(|other| *other != row) {
            let to = &mut self.w[other * width..(other + 1) * width];
            let by = to[column];
            if by == 0.0 {
                continue;
            }
            to.iter_mut().zip(&self.own).for_each(|(x, own)| *x -= by * own);
            to[column] = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three rows in three unknowns, the third the sum of the others: two rows are kept, and the
    /// solution satisfies all three.
    #[test]
    fn dependent_rows_are_found_with_their_shares() {
        let G = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.5], [5.0, 7.0, 9.5]];
        let r = [1.0, 2.0, 3.0];
        let mut e = Elimination::default();
        e.reset(3, 3);
        for row in 0..3 {
            for column in 0..3 {
                *e.G(row, column) = G[row][column];
            }
            *e.r(row) = r[row];
        }
        e.solve(1e-9, |_| 1.0, |_| 1.0);
        assert_eq!(e.pivots.len(), 2);
        let free = (0..3).find(|c| !e.is_solved(*c)).unwrap();
        // set the free unknown to 2 and solve for the others
        let mut x = [2.0; 3];
        for (row, column) in e.pivots.clone() {
            x[column] = e.Tr(row) - e.A(row, free) * x[free];
        }
        for row in 0..3 {
            let sum: f64 = (0..3).map(|c| G[row][c] * x[c]).sum();
            assert!((sum - r[row]).abs() < 1e-12, "{sum} for {}", r[row]);
        }
        // the dependent row vanishes, and its coefficients express the dependence
        let left = (0..3).find(|row| !e.is_kept(*row)).unwrap();
        assert!(e.Tr(left).abs() < 1e-12);
        for column in 0..3 {
            let sum: f64 = e.T(left).iter().zip(&G).map(|(t, row)| t * row[column]).sum();
            assert!(sum.abs() < 1e-12);
        }
    }

    /// Of two columns with equal entries, the preferred one becomes the pivot.
    #[test]
    fn preferred_columns_are_solved_for() {
        let mut e = Elimination::default();
        e.reset(1, 2);
        (*e.G(0, 0), *e.G(0, 1)) = (1.0, -1.0);
        e.solve(1e-9, |_| 1.0, |column| if column == 1 { 1.0 } else { 0.05 });
        assert_eq!(e.pivots, [(0, 1)]);
    }
}
