//! Anitescu's convex friction cone: contacts become linear rows of a quadratic program.
//!
//! ```text
//! max(phi_i/h, −max_recovery_speed) + (n_i + mu_i d_ij)ᵀ J_ci v ≥ 0        Pang21 (10b)
//! max(phi_i/h, −max_recovery_speed) + (n_i J_ci ± mu_spin_i n_i W_i) v ≥ 0  Tracy (7)
//! ```
//!
//! Rolling has analogous rows about two axes across the normal. A round cone couples all of them in
//! one ellipsoid: `s_n ≥ ‖(mu s_t, mu_spin s_spin, mu_roll s_roll)‖`.
//!
//! | here   | paper   | meaning                                      | unit |
//! |--------|---------|----------------------------------------------|------|
//! | `A`    | n + μ d | cone rows, one per edge                      | –, m |
//! | `b`    | −φ/h    | least allowed approach speed                 | m/s  |
//! | `z`    | β       | impulse along each edge (dual of the program)| N·s  |
//!
//! Exact in sticking; sliding bodies float `h mu |v_t|` high, the "boundary layer" of
//! Pang21 §IV-A.2. Tests pin that gap; it is not a bug to fix here.

use crate::error::StepError;
use crate::formulation::blame;
use crate::formulation::edges::WAYS;
use crate::formulation::problem::{Posed, Problem, REST};
use crate::formulation::recover::Answer;
use crate::report::{StepMethod, StepReport};
use crate::state::WarmRow;
use quasistep_cone::{ConeSolver, Reason, Settings, Solution, Status, WarmStart};

/// Memory of the formulation: solver, solution and warm start.
#[derive(Debug, Default)]
pub(crate) struct ConvexWork {
    solver: ConeSolver,
    pub settings: Settings,
    pub solution: Solution,
    /// Warm-start multipliers and slacks.
    warm_z: Vec<f64>,
    warm_s: Vec<f64>,
}

impl ConvexWork {
    /// Stage 5: solves the assembled program, warm-started from `rows` of a similar one if given.
    /// It may use half of the remaining work; the rest is reserved for fallbacks.
    pub fn solve(
        &mut self,
        problem: &Problem,
        posed: &Posed<'_>,
        rows: Option<&[WarmRow]>,
        work_left: &mut u64,
    ) -> Result<(), StepError> {
        let Posed { system, contacts, load, params, .. } = *posed;
        let Self { solver, settings, solution, warm_z, warm_s } = self;
        let start = rows.map(|rows| {
            problem.start_from(rows, warm_z, warm_s);
            WarmStart { z: warm_z, s: warm_s }
        });
        settings.rest = REST / params.time_step;
        settings.accuracy = params.accuracy;
        settings.work_limit = *work_left / 2;
        solver.solve(&problem.program.convex, start, settings, solution);
        *work_left -= solution.work.min(*work_left);
        match solution.status {
            Status::Solved => Ok(()),
            Status::Unbounded => Err(blame::unsupported(system, &load.reduction, &solution.ray)),
            Status::Infeasible => {
                let keys = &problem.keys;
                Err(blame::infeasible(system, contacts, keys, &solution.certificate, false))
            }
            Status::GaveUp if solution.reason == Some(Reason::Work) => Err(StepError::Undecided {
                convex: 1,
                pivots: 0,
                work: solution.work,
                limited: true,
            }),
            Status::GaveUp => Err(StepError::NotSolved {
                iterations: solution.iterations,
                why: solution.reason.map_or("no reason".into(), |reason| reason.to_string()),
            }),
        }
    }

    /// Multipliers and slacks with which the assembled program is warm-started from `rows`.
    pub fn start_from(&mut self, problem: &Problem, rows: &[WarmRow]) -> WarmStart<'_> {
        problem.start_from(rows, &mut self.warm_z, &mut self.warm_s);
        WarmStart { z: &self.warm_z, s: &self.warm_s }
    }

    /// Stage 6: writes the solution to the report.
    pub fn recover(&self, problem: &Problem, posed: &Posed<'_>, report: &mut StepReport) {
        let solution = &self.solution;
        report.iterations = solution.iterations;
        report.method = StepMethod::Convex(solution.method);
        report.smallest_norm = solution.dual_is_smallest_norm;
        let (x, z, accuracy) = (&solution.x, &solution.z, posed.params.accuracy);
        write(problem, posed, accuracy, x, z, report);
    }
}

/// Writes a solution of the convex program, exact or relaxed, to the report.
pub(crate) fn write(
    problem: &Problem,
    posed: &Posed<'_>,
    accuracy: f64,
    x: &[f64],
    z: &[f64],
    report: &mut StepReport,
) {
    Answer::new(problem, posed, accuracy, x, z).write(report, |contact, rates| {
        layer(&problem.pushes[problem.program.rows_of(contact)], rates)
    });
}

/// Speed at which the cone lifts a contact with the given rates, in m/s: `max_j −mu d_j · v_t` for
/// a pyramid, `‖(mu v_t, …)‖` for a round cone.
fn layer(pushes: &[[f64; WAYS]], rates: [f64; WAYS]) -> f64 {
    let along = |push: &[f64; WAYS]| -> f64 { (1..WAYS).map(|k| push[k] * rates[k]).sum() };
    // only tangent rows of a round cone have no normal component
    if pushes.iter().any(|push| push[0] == 0.0) {
        pushes.iter().map(|push| along(push).powi(2)).sum::<f64>().sqrt()
    } else {
        pushes.iter().map(|push| -along(push)).fold(0.0, f64::max)
    }
}
