//! Clarabel on cone programs.

use super::Natural;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, NonnegativeConeT, SecondOrderConeT,
    SolverStatus, SupportedConeT,
};

/// Clarabel's result, in natural units.
#[derive(Clone, Debug)]
pub struct Opinion {
    /// Status that Clarabel returned.
    pub status: SolverStatus,
    /// Point or ray, length `n`.
    pub x: Vec<f64>,
    /// Multipliers or certificate, one entry per row.
    pub z: Vec<f64>,
    /// Tolerance that was requested.
    pub tolerance: f64,
}

/// Asks Clarabel for ten digits, and for eight if that fails.
pub fn ask_clarabel(p: &Natural) -> Opinion {
    let first = ask(p, 1e-10);
    let decided = matches!(
        first.status,
        SolverStatus::Solved | SolverStatus::PrimalInfeasible | SolverStatus::DualInfeasible
    );
    if decided { first } else { ask(p, 1e-8) }
}

fn ask(p: &Natural, tolerance: f64) -> Opinion {
    type Triplets = (Vec<usize>, Vec<usize>, Vec<f64>);
    let push = {
        |to: &mut Triplets, i: usize, j: usize, v: f64| {
            if v != 0.0 {
                to.0.push(i);
                to.1.push(j);
                to.2.push(v);
            }
        }
    };
    let (mut P, mut A): (Triplets, Triplets) = Default::default();
    let mut c = p.c.clone();
    for (i, row) in p.P.iter().enumerate() {
        for (j, v) in row.iter().filter(|(j, _)| *j >= i) {
            push(&mut P, i, *j, *v);
        }
    }
    let mut rhs: Vec<f64> = p.b.iter().map(|b| -b).collect();
    for (i, row) in p.A.iter().enumerate() {
        for (j, v) in row {
            push(&mut A, i, *j, -v);
        }
    }
    let mut cones: Vec<SupportedConeT<f64>> = p
        .cones
        .iter()
        .map(|cone| {
            let rows = cone.last - cone.first;
            if cone.round { SecondOrderConeT(rows) } else { NonnegativeConeT(rows) }
        })
        .collect();
    let mut slacks = 0;
    for spring in p.springs.iter().filter(|s| s.stiffness > 0.0) {
        let i = spring.index as usize;
        push(&mut P, i, i, spring.stiffness);
        c[i] -= spring.stiffness * spring.target;
        if spring.limit.is_finite() {
            // 1/2 k (x − target − e⁺ + e⁻)² + limit (e⁺ + e⁻), both slacks ≥ 0
            let at = c.len();
            for (slack, sign) in [(at, -1.0), (at + 1, 1.0)] {
                push(&mut P, i, slack, sign * spring.stiffness);
                push(&mut P, slack, slack, spring.stiffness);
                c.push(spring.limit - sign * spring.stiffness * spring.target);
                push(&mut A, rhs.len(), slack, -1.0);
                rhs.push(0.0);
                slacks += 1;
            }
            push(&mut P, at, at + 1, -spring.stiffness);
        }
    }
    if slacks > 0 {
        cones.push(NonnegativeConeT(slacks));
    }
    let (width, rows) = (c.len(), rhs.len());
    let P = CscMatrix::new_from_triplets(width, width, P.0, P.1, P.2);
    let A = CscMatrix::new_from_triplets(rows, width, A.0, A.1, A.2);
    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .presolve_enable(false)
        .tol_gap_abs(tolerance)
        .tol_gap_rel(tolerance)
        .tol_feas(tolerance)
        .tol_infeas_abs(tolerance)
        .tol_infeas_rel(tolerance)
        .build()
        .expect("valid settings");
    let mut solver = DefaultSolver::new(&P, &c, &A, &rhs, &cones, settings).expect("valid problem");
    solver.solve();
    Opinion {
        status: solver.solution.status,
        x: solver.solution.x[..p.n].to_vec(),
        z: solver.solution.z[..p.b.len()].to_vec(),
        tolerance,
    }
}
