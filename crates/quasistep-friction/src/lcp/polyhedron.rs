//! Polyhedron: its point nearest to the origin, or a Farkas certificate that it is empty.

use crate::tolerances::{CANCELS, CLEAR, NO_MULTIPLIER};
use quasistep_linalg::budget::Budget;
use quasistep_linalg::{Reason, Rows, Settings, Solution, Status};
use quasistep_qp::{Qp, QpSolver};

/// Rows `A v = b` and `A v ≥ b`. The first `free` variables are unrestricted, the others are `≥ 0`.
#[derive(Debug, Default)]
pub(crate) struct Polyhedron {
    pub free: usize,
    pub columns: usize,
    /// The rows; missing entries at their ends are zero.
    A: Vec<Vec<f64>>,
    b: Vec<f64>,
    equal: Vec<bool>,
}

/// Result of [`Polyhedron::nearest`].
#[derive(Debug)]
pub(crate) enum Nearest {
    /// The nearest point.
    Point(Vec<f64>),
    /// The polyhedron is empty; Farkas multipliers of the rows, up to rounding.
    Refuted(Vec<f64>),
    /// The limit of work was reached, or rounding left it undecided.
    Unknown,
}

impl Polyhedron {
    /// A polyhedron without rows.
    pub fn new(free: usize, columns: usize) -> Self {
        Self { free, columns, ..Self::default() }
    }

    /// Adds a variable `≥ 0`, and returns its index.
    pub fn push_column(&mut self) -> usize {
        self.columns += 1;
        self.columns - 1
    }

    /// Adds a row of zeros, an equation or a lower bound, and returns its index.
    pub fn push_row(&mut self, b: f64, equal: bool) -> usize {
        self.A.push(Vec::new());
        self.b.push(b);
        self.equal.push(equal);
        self.A.len() - 1
    }

    /// Adds `v` to an entry.
    pub fn add(&mut self, row: usize, column: usize, v: f64) {
        let row = &mut self.A[row];
        row.resize(row.len().max(column + 1), 0.0);
        row[column] += v;
    }

    /// Adds `b` to the right-hand side of a row.
    pub fn add_constant(&mut self, row: usize, b: f64) {
        self.b[row] += b;
    }

    /// Whether `y` is a Farkas certificate: `yᵀA` is zero for free variables and at most zero for
    /// the others, and `yᵀb > 0`.
    pub fn is_refuted_by(&self, y: &[f64]) -> bool {
        if y.len() != self.A.len() {
            return false;
        }
        let signs =
            y.iter().zip(&self.equal).all(|(y, equal)| y.is_finite() && (*equal || *y >= 0.0));
        let mut sums = vec![(0.0, 0.0); self.columns];
        let (mut value, mut size) = (0.0, 0.0);
        for ((row, b), y) in self.A.iter().zip(&self.b).zip(y) {
            value += y * b;
            size += (y * b).abs();
            for ((sum, terms), A) in sums.iter_mut().zip(row) {
                *sum += y * A;
                *terms += (y * A).abs();
            }
        }
        let cancels = |(j, (sum, terms)): (usize, &(f64, f64))| {
            *sum <= CANCELS * terms && (j >= self.free || *sum >= -CANCELS * terms)
        };
        signs && value > CLEAR * size && sums.iter().enumerate().all(cancels)
    }

    /// Finds the point nearest to the origin.
    pub fn nearest(&self, solver: &mut QpSolver, budget: &Budget) -> Nearest {
        let n = self.columns;
        let (mut rows, mut b, mut of) = (Rows::new(), Vec::new(), Vec::new());
        for (i, row) in self.A.iter().enumerate() {
            let columns: Vec<u32> =
                (0..row.len() as u32).filter(|j| row[*j as usize] != 0.0).collect();
            for sign in [1.0, -1.0].into_iter().take(1 + usize::from(self.equal[i])) {
                let values: Vec<f64> = columns.iter().map(|j| sign * row[*j as usize]).collect();
                rows.push(&columns, &values);
                b.push(sign * self.b[i]);
                of.push((i, sign));
            }
        }
        for j in self.free..n {
            rows.push(&[j as u32], &[1.0]);
            b.push(0.0);
        }
        let (mut P, c) = (vec![0.0; n * n], vec![0.0; n]);
        P.iter_mut().step_by(n + 1).for_each(|diagonal| *diagonal = 1.0);
        let qp = Qp { n, P: &P, c: &c, A: &rows, b: &b, saturations: &[] };
        let settings = Settings { work_limit: budget.left(), ..Settings::default() };
        let mut answer = Solution::default();
        solver.solve(&qp, &[], &settings, &mut answer);
        budget.spend(answer.work + u64::from(answer.reason == Some(Reason::Work)));
        match answer.status {
            Status::Solved => Nearest::Point(answer.x),
            Status::Infeasible => {
                let mut y = vec![0.0; self.A.len()];
                for ((i, sign), value) in of.iter().zip(&answer.certificate) {
                    y[*i] += sign * value;
                }
                let largest = y.iter().fold(0.0_f64, |m, y| m.max(y.abs()));
                for (y, equal) in y.iter_mut().zip(&self.equal) {
                    if y.abs() <= NO_MULTIPLIER * largest || (!equal && *y < 0.0) {
                        *y = 0.0;
                    }
                }
                Nearest::Refuted(y)
            }
            Status::Unbounded | Status::GaveUp => Nearest::Unknown,
        }
    }
}
