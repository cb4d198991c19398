//! Comparison with Clarabel, an independent interior point solver, on seeded degenerate problems.

use crate::common::{Problem, Samples, contact_problem};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus,
};
use quasistep_qp::Status;

fn clarabel(problem: &Problem, scale: f64) -> (SolverStatus, Vec<f64>) {
    let (n, m) = (problem.n, problem.b.len());
    let mut upper: (Vec<usize>, Vec<usize>, Vec<f64>) = Default::default();
    for i in 0..n {
        for j in i..n {
            if problem.P[i * n + j] != 0.0 {
                upper.0.push(i);
                upper.1.push(j);
                upper.2.push(problem.P[i * n + j] / scale);
            }
        }
    }
    let mut entries: (Vec<usize>, Vec<usize>, Vec<f64>) = Default::default();
    for i in 0..m {
        let (columns, values) = problem.A.row(i);
        for (c, v) in columns.iter().zip(values) {
            entries.0.push(i);
            entries.1.push(*c as usize);
            entries.2.push(-v);
        }
    }
    let P = CscMatrix::new_from_triplets(n, n, upper.0, upper.1, upper.2);
    let A = CscMatrix::new_from_triplets(m, n, entries.0, entries.1, entries.2);
    let b: Vec<f64> = problem.b.iter().map(|b| -b).collect();
    // its absolute tolerances assume a cost near 1
    let c: Vec<f64> = problem.c.iter().map(|c| c / scale).collect();
    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .tol_gap_abs(1e-11)
        .tol_gap_rel(1e-11)
        .tol_feas(1e-11)
        .build()
        .unwrap();
    let mut solver = DefaultSolver::new(&P, &c, &A, &b, &[NonnegativeConeT(m)], settings).unwrap();
    solver.solve();
    (solver.solution.status, solver.solution.x.clone())
}

/// Compares status and cost, and the point if the cost is positive definite.
fn compare(seed: u64, count: usize, massless: f64, scale: f64) -> [usize; 2] {
    let mut s = Samples::new(seed);
    let mut seen = [0, 0];
    for k in 0..count {
        let bodies = 1 + s.below(6);
        let contacts = 1 + s.below(4 * bodies);
        let problem = contact_problem(&mut s, bodies, contacts, massless, scale);
        let ours = problem.solve();
        let (status, x) = clarabel(&problem, scale);
        match ours.status {
            Status::Solved => {
                seen[0] += 1;
                assert!(
                    matches!(
                        status,
                        SolverStatus::Solved
                            | SolverStatus::AlmostSolved
                            | SolverStatus::InsufficientProgress
                    ),
                    "problem {k}: ours is solved, Clarabel says {status:?}"
                );
                let (mine, its) = (problem.cost(&ours.x), problem.cost(&x));
                let size =
                    problem.c.iter().zip(&ours.x).map(|(c, x)| (c * x).abs()).sum::<f64>() + scale;
                assert!(
                    (mine - its).abs() <= 1e-7 * size,
                    "problem {k}: cost {mine} against {its}"
                );
                let r = ours.residuals;
                assert!(
                    r.stationarity <= 1e-8 * size && r.primal <= 1e-8 && r.dual <= 0.0,
                    "problem {k}: {r:?}"
                );
                if massless == 0.0 {
                    for (a, b) in ours.x.iter().zip(&x) {
                        // the error of an interior point's x is the root of its gap
                        assert!(
                            (a - b).abs() <= 1e-4 * (1.0 + a.abs()),
                            "problem {k}: {a} against {b}"
                        );
                    }
                }
            }
            Status::Unbounded => {
                seen[1] += 1;
                // Clarabel may be undecided; the ray checked below suffices, unless Clarabel found
                // a solution
                assert!(
                    !matches!(status, SolverStatus::Solved | SolverStatus::AlmostSolved),
                    "problem {k}: ours is unbounded, Clarabel says {status:?}"
                );
                let n = problem.n;
                let d = &ours.ray;
                let length = d.iter().map(|x| x * x).sum::<f64>().sqrt();
                for i in 0..n {
                    let curvature: f64 = (0..n).map(|j| problem.P[i * n + j] * d[j]).sum();
                    assert!(
                        curvature.abs() <= 1e-5 * length * scale.max(1e-12),
                        "problem {k}: {curvature}"
                    );
                }
                assert!((0..problem.b.len()).all(|i| problem.A.dot(i, d) >= -1e-5 * length));
                assert!(problem.c.iter().zip(d).map(|(c, d)| c * d).sum::<f64>() < 0.0);
            }
            other => panic!("problem {k} ended as {other:?}; Clarabel says {status:?}"),
        }
    }
    seen
}

#[test]
fn degenerate_problems_with_mass_agree() {
    assert_eq!(compare(21, 250, 0.0, 1.0), [250, 0]);
}

#[test]
fn problems_with_massless_bodies_agree() {
    let [solved, unbounded] = compare(22, 250, 0.5, 1.0);
    assert!(solved >= 50 && unbounded >= 50, "{solved} solved, {unbounded} unbounded");
}

#[test]
fn tiny_and_huge_scales_agree() {
    compare(23, 60, 0.0, 1e-6);
    compare(24, 60, 0.0, 1e6);
}
