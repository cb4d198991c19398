#![allow(non_snake_case)] // P and A follow the notation of the solvers
//! Clarabel as an independent reference for step problems.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus,
};
use quasistep_qp::Qp;

/// Clarabel's solution of a step problem.
#[derive(Clone, Debug)]
pub struct OracleAnswer {
    /// Minimiser, length `n`.
    pub x: Vec<f64>,
    /// Cost at the minimiser, Huber terms included, in J.
    pub cost: f64,
    /// Status that Clarabel returned.
    pub status: SolverStatus,
    /// Tolerance that was requested.
    pub tolerance: f64,
}

/// Cost at `x` (length `n`), Huber terms included, in J.
pub fn cost(qp: &Qp<'_>, x: &[f64]) -> f64 {
    let n = qp.n;
    let mut total = 0.0;
    for i in 0..n {
        let row: f64 = (0..n).map(|j| qp.P[i * n + j] * x[j]).sum();
        total += (0.5 * row + qp.c[i]) * x[i];
    }
    for s in qp.saturations {
        let r = x[s.index as usize] - s.target;
        total += if s.stiffness * r.abs() <= s.limit {
            0.5 * s.stiffness * r * r
        } else {
            s.limit * r.abs() - 0.5 * s.limit * s.limit / s.stiffness
        };
    }
    total
}

/// Solves the problem with the smallest tolerance that Clarabel reaches. On degenerate problems an
/// interior point method may run out of digits; the tolerance is then relaxed. A Huber term is
/// written with two slacks `s± ≥ 0`.
///
/// # Panics
///
/// If Clarabel rejects the settings or the matrices.
pub fn solve(qp: &Qp<'_>) -> OracleAnswer {
    let mut answer = solve_to(qp, 1e-12);
    for tolerance in [1e-10, 1e-8] {
        if answer.status == SolverStatus::Solved {
            break;
        }
        answer = solve_to(qp, tolerance);
    }
    answer
}

fn solve_to(qp: &Qp<'_>, tolerance: f64) -> OracleAnswer {
    let (n, m, k) = (qp.n, qp.b.len(), qp.saturations.len());
    let width = n + 2 * k;
    let mut P = vec![vec![0.0; width]; width];
    let mut c = vec![0.0; width];
    for i in 0..n {
        P[i][..n].copy_from_slice(&qp.P[i * n..(i + 1) * n]);
        c[i] = qp.c[i];
    }
    for (j, s) in qp.saturations.iter().enumerate() {
        // 1/2 k (x − target − s⁺ + s⁻)² + limit (s⁺ + s⁻)
        let a = [(s.index as usize, 1.0), (n + 2 * j, -1.0), (n + 2 * j + 1, 1.0)];
        for (row, left) in a {
            for (column, right) in a {
                P[row][column] += s.stiffness * left * right;
            }
            c[row] -= s.stiffness * s.target * left;
        }
        c[n + 2 * j] += s.limit;
        c[n + 2 * j + 1] += s.limit;
    }
    // rows A x − s = b, s ≥ 0, in Clarabel's form −A x + s = −b
    let mut triplets: (Vec<usize>, Vec<usize>, Vec<f64>) = Default::default();
    let mut rhs = Vec::new();
    for i in 0..m {
        let (columns, values) = qp.A.row(i);
        for (column, value) in columns.iter().zip(values) {
            triplets.0.push(i);
            triplets.1.push(*column as usize);
            triplets.2.push(-value);
        }
        rhs.push(-qp.b[i]);
    }
    for j in 0..2 * k {
        triplets.0.push(m + j);
        triplets.1.push(n + j);
        triplets.2.push(-1.0);
        rhs.push(0.0);
    }
    let A = CscMatrix::new_from_triplets(m + 2 * k, width, triplets.0, triplets.1, triplets.2);
    let mut upper: (Vec<usize>, Vec<usize>, Vec<f64>) = Default::default();
    for i in 0..width {
        for j in i..width {
            if P[i][j] != 0.0 {
                upper.0.push(i);
                upper.1.push(j);
                upper.2.push(P[i][j]);
            }
        }
    }
    let P = CscMatrix::new_from_triplets(width, width, upper.0, upper.1, upper.2);
    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .presolve_enable(false)
        .tol_gap_abs(tolerance)
        .tol_gap_rel(tolerance)
        .tol_feas(tolerance)
        .build()
        .expect("valid settings");
    let cones = [NonnegativeConeT(m + 2 * k)];
    let mut solver = DefaultSolver::new(&P, &c, &A, &rhs, &cones, settings).expect("valid problem");
    solver.solve();
    let x = solver.solution.x[..n].to_vec();
    OracleAnswer { cost: cost(qp, &x), x, status: solver.solution.status, tolerance }
}

/// Sum of the magnitudes of the cost's terms, `|½ xᵀPx| + |cᵀx|` and the Huber terms, in J.
pub fn energy_scale(qp: &Qp<'_>, x: &[f64]) -> f64 {
    let linear: f64 = qp.c.iter().zip(x).map(|(c, x)| (c * x).abs()).sum();
    let quadratic = (cost(qp, x) - qp.c.iter().zip(x).map(|(c, x)| c * x).sum::<f64>()).abs();
    // Clarabel's absolute tolerance is 1e-12 J, so smaller energies are not resolved
    (linear + quadratic).max(1e-4)
}
