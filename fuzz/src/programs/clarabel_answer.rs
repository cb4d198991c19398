//! Clarabel on small dense programs.

use super::{rows, times};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, NonnegativeConeT, SecondOrderConeT,
    SolverStatus, SupportedConeT, ZeroConeT,
};

/// Tolerance that Clarabel is asked for.
const TOLERANCE: f64 = 1e-9;

/// Program `min 1/2 xᵀPx + cᵀx` with `E x = e`, `A x ≥ b`. The last rows of `A` are in second-order
/// cones of these sizes.
#[derive(Clone, Debug, Default)]
pub struct Dense {
    pub n: usize,
    pub P: Vec<Vec<f64>>,
    pub c: Vec<f64>,
    pub E: Vec<Vec<f64>>,
    pub e: Vec<f64>,
    pub A: Vec<Vec<f64>>,
    pub b: Vec<f64>,
    pub cones: Vec<usize>,
}

impl Dense {
    /// Reads a case with `B` of the cost `BᵀB`, `c`, `A`, `b` and `cones`; `None` if their sizes do
    /// not match.
    pub fn of(case: &serde_json::Value) -> Option<Self> {
        let c = super::numbers(&case["c"]);
        let n = c.len();
        let P = super::gram(n, &rows(&case["B"], n));
        let (A, b) = (rows(&case["A"], n), super::numbers(&case["b"]));
        let cones: Vec<usize> =
            super::numbers(&case["cones"]).into_iter().map(|k| k as usize).collect();
        let fits = A.len() == b.len() && cones.iter().sum::<usize>() <= b.len();
        let fits = fits && cones.iter().all(|k| (1..=8).contains(k));
        (fits && n > 0).then_some(Self { n, P, c, A, b, cones, ..Self::default() })
    }

    /// Number of rows that are not part of a second-order cone.
    pub fn plain(&self) -> usize {
        self.b.len() - self.cones.iter().sum::<usize>()
    }

    /// Value of the cost.
    pub fn cost(&self, x: &[f64]) -> f64 {
        let quadratic: f64 = self.P.iter().zip(x).map(|(row, x_i)| x_i * times(row, x)).sum();
        0.5 * quadratic + times(&self.c, x)
    }

    /// Clarabel's status and point.
    ///
    /// # Panics
    ///
    /// If Clarabel rejects the sizes.
    pub fn clarabel(&self) -> (SolverStatus, Vec<f64>) {
        let mut all = (Vec::new(), Vec::new(), Vec::new());
        let constraints = self.E.iter().chain(&self.A).enumerate();
        for (i, row) in constraints {
            for (j, a) in row.iter().enumerate().filter(|(_, a)| **a != 0.0) {
                all.0.push(i);
                all.1.push(j);
                all.2.push(-a);
            }
        }
        let m = self.e.len() + self.b.len();
        let A = CscMatrix::new_from_triplets(m, self.n, all.0, all.1, all.2);
        let mut upper = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..self.n {
            for j in i..self.n {
                upper.0.push(i);
                upper.1.push(j);
                upper.2.push(self.P[i][j]);
            }
        }
        let P = CscMatrix::new_from_triplets(self.n, self.n, upper.0, upper.1, upper.2);
        let rhs: Vec<f64> = self.e.iter().chain(&self.b).map(|b| -b).collect();
        let mut cones: Vec<SupportedConeT<f64>> = Vec::new();
        if !self.e.is_empty() {
            cones.push(ZeroConeT(self.e.len()));
        }
        if self.plain() > 0 {
            cones.push(NonnegativeConeT(self.plain()));
        }
        cones.extend(self.cones.iter().map(|k| SecondOrderConeT(*k)));
        let settings = DefaultSettingsBuilder::default()
            .verbose(false)
            .presolve_enable(false)
            .tol_gap_abs(TOLERANCE)
            .tol_gap_rel(TOLERANCE)
            .tol_feas(TOLERANCE)
            .build()
            .expect("valid settings");
        let mut solver =
            DefaultSolver::new(&P, &self.c, &A, &rhs, &cones, settings).expect("a valid program");
        solver.solve();
        (solver.solution.status, solver.solution.x.clone())
    }
}
