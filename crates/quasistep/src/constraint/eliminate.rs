//! Rows of a group of constraints, solved for as many unknowns as there are independent rows.
//!
//! ```text
//! G x = r          →          x_D + Σ_I A_DI x_I = (T r)_D     for each kept row,      r_k = (T r)_k − … = 0 for the others
//! ```
//!
//! Gauss and Jordan's elimination with complete pivoting: the largest entry is the next pivot, with rows and columns in their
//! units and the caller's preference among columns. A row that is left with nothing above its tolerance depends on those that
//! are kept.

/// Memory of an elimination, and its result.
#[derive(Debug, Default)]
pub(super) struct Elimination {
    /// Rows and columns.
    m: usize,
    n: usize,
    /// `m × (n + 1 + m)`: what is left of `G`, `r` and the identity.
    w: Vec<f64>,
    /// Kept rows and the columns that they are solved for.
    pub pivots: Vec<(usize, usize)>,
    /// Largest entry of each row and, over that, of each column.
    row_unit: Vec<f64>,
    column_unit: Vec<f64>,
    kept: Vec<bool>,
    solved: Vec<bool>,
    /// Copy of the row at hand.
    own: Vec<f64>,
}

impl Elimination {
    /// Forgets everything and starts with `m` zero rows of `n` columns.
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

    /// Right side of a row, before the elimination.
    pub fn r(&mut self, row: usize) -> &mut f64 {
        let at = row * self.width() + self.n;
        &mut self.w[at]
    }

    /// `T r` of a row, after the elimination: of one that was not kept, what the others leave of it.
    pub fn Tr(&self, row: usize) -> f64 {
        self.w[row * self.width() + self.n]
    }

    /// What a column that was not solved for has in a row, after the elimination.
    pub fn A(&self, row: usize, column: usize) -> f64 {
        self.w[row * self.width() + column]
    }

    /// `T` of a row: its share of each original row.
    pub fn T(&self, row: usize) -> &[f64] {
        &self.w[row * self.width() + self.n + 1..][..self.m]
    }

    pub fn is_kept(&self, row: usize) -> bool {
        self.kept[row]
    }

    pub fn is_solved(&self, column: usize) -> bool {
        self.solved[column]
    }

    /// Solves the rows: what is left with a `share` of its largest entry or less depends on others. Columns of a larger
    /// `preference`, > 0, are rather solved for.
    pub fn solve(&mut self, share: f64, preference: impl Fn(usize) -> f64) {
        self.find_units();
        loop {
            let mut best = (0.0, 0, 0);
            for row in (0..self.m).filter(|row| !self.kept[*row]) {
                let least = share * self.row_unit[row];
                for column in 0..self.n {
                    let entry = self.A(row, column).abs();
                    if self.solved[column] || entry <= least {
                        continue;
                    }
                    let size = preference(column) * entry
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
        let Self { m, n, w, row_unit, column_unit, .. } = self;
        let width = *n + 1 + *m;
        row_unit.clear();
        column_unit.clear();
        column_unit.resize(*n, 0.0);
        for row in w.chunks_exact(width) {
            let unit = row[..*n].iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            row_unit.push(unit);
            if unit > 0.0 {
                for (most, x) in column_unit.iter_mut().zip(row) {
                    *most = most.max(x.abs() / unit);
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

    /// Three rows in three unknowns, the third the sum of the others: two are kept, and what is solved for meets them.
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
        e.solve(1e-9, |_| 1.0);
        assert_eq!(e.pivots.len(), 2);
        let free = (0..3).find(|c| !e.is_solved(*c)).unwrap();
        // with the free one at 2, the others follow
        let mut x = [2.0; 3];
        for (row, column) in e.pivots.clone() {
            x[column] = e.Tr(row) - e.A(row, free) * x[free];
        }
        for row in 0..3 {
            let sum: f64 = (0..3).map(|c| G[row][c] * x[c]).sum();
            assert!((sum - r[row]).abs() < 1e-12, "{sum} for {}", r[row]);
        }
        // the row that was left out: nothing is left of it, and its shares of the three say why
        let left = (0..3).find(|row| !e.is_kept(*row)).unwrap();
        assert!(e.Tr(left).abs() < 1e-12);
        for column in 0..3 {
            let sum: f64 = e.T(left).iter().zip(&G).map(|(t, row)| t * row[column]).sum();
            assert!(sum.abs() < 1e-12);
        }
    }

    /// Of two columns with the same entry the one that is preferred follows.
    #[test]
    fn preferred_columns_are_solved_for() {
        let mut e = Elimination::default();
        e.reset(1, 2);
        (*e.G(0, 0), *e.G(0, 1)) = (1.0, -1.0);
        e.solve(1e-9, |column| if column == 1 { 1.0 } else { 0.05 });
        assert_eq!(e.pivots, [(0, 1)]);
    }
}
