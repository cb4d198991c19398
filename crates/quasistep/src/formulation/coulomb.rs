//! Exact Coulomb friction: a contact slides with all of its friction against the slip, and does not float.
//!
//! ```text
//! h (K_a (Δq_cmd − h v_a) + tau) + J_nᵀ lambda_n + J_tᵀ lambda_t = 0 or M_u v_u       force balance
//! 0 ≤ lambda_n ⊥ max(phi/h, −max_recovery_speed) + J_n v ≥ 0
//! lambda_t ∈ argmax { −lᵀ J_t v : l ∈ lambda_n F }
//! ```
//!
//! `F` is the hull of `mu d_j` (diamond, Trinkle05 (13)), the square around it (box, (33)) or the
//! disc (4). With `mu_spin` and `mu_roll` it also contains torques.
//!
//! With pyramids this is Trinkle05's mixed linear complementarity problem (Model-DLC). If every
//! driven joint is prescribed it is Pang21 (1), with impedances Pang21 (6). With round cones it is
//! Trinkle05's nonlinear problem (Model-DQC). Prescribed motion enters with its ∂ψ/∂t terms through
//! the constant side of every row.
//!
//! A step may have no solution: the error then names the bodies and joints in the proof. A step may
//! have several solutions: which one is found is not specified, and
//! [`System::uniqueness`](crate::System::uniqueness) checks for others.

use crate::error::StepError;
use crate::formulation::blame;
use crate::formulation::problem::{Posed, Problem, REST};
use crate::formulation::recover::Answer;
use crate::report::{StepMethod, StepReport};
use crate::state::WarmRow;
use quasistep_friction::{
    CoulombSettings, CoulombSolution, CoulombSolver, CoulombWarm, Outcome, Reason, Refutation,
};

/// Memory of the formulation: solver, solution and warm start.
#[derive(Debug, Default)]
pub(crate) struct CoulombWork {
    solver: CoulombSolver,
    settings: CoulombSettings,
    pub solution: CoulombSolution,
    lambda: Vec<f64>,
    u: Vec<f64>,
}

impl CoulombWork {
    /// Stage 5: solves the assembled program, warm-started from `rows` of a similar one if given.
    /// It may use half of the remaining work; the rest is reserved for fallbacks.
    pub fn solve(
        &mut self,
        problem: &Problem,
        posed: &Posed<'_>,
        rows: Option<&[WarmRow]>,
        work_left: &mut u64,
    ) -> Result<(), StepError> {
        let Self { solver, settings, solution, lambda, u } = self;
        let start = rows.map(|rows| {
            problem.start_from(rows, lambda, u);
            CoulombWarm { lambda, u, relaxed: None }
        });
        settings.work_limit = *work_left / 2;
        settings.rest = REST / posed.params.time_step;
        solver.solve(&problem.program.friction, start, settings, solution);
        *work_left -= solution.work.min(*work_left);
        match solution.outcome {
            Outcome::Solved => Ok(()),
            Outcome::Unsolvable => Err(refused(posed, problem, solution)),
            Outcome::Undecided => Err(undecided(solution)),
            Outcome::GaveUp => Err(StepError::NotSolved {
                iterations: solution.newton,
                why: solution.reason.map_or("no reason".into(), |reason| reason.to_string()),
            }),
        }
    }

    /// Stage 6: writes the solution to the report.
    pub fn recover(&self, problem: &Problem, posed: &Posed<'_>, report: &mut StepReport) {
        let solution = &self.solution;
        report.iterations = solution.newton + solution.convex + solution.pivots;
        report.method = StepMethod::Coulomb(solution.method);
        report.smallest_norm = false;
        let answer = Answer::new(problem, posed, 0.0, &solution.x, &solution.lambda);
        answer.write(report, |contact, _| solution.boundary_layer[contact]);
    }
}

/// Error for a proof that no solution exists, with names.
fn refused(posed: &Posed<'_>, problem: &Problem, solution: &CoulombSolution) -> StepError {
    let Posed { system, contacts, load, .. } = *posed;
    // one weight per multiplier: the weight of a contact is stored at its normal
    let program = &problem.program.friction;
    let spread = |weight: &dyn Fn(usize) -> f64| {
        let mut weights = vec![0.0; problem.keys.len()];
        for contact in 0..program.n_contacts() {
            weights[program.rows_of(contact).start] = weight(contact);
        }
        weights
    };
    match &solution.refutation {
        Some(Refutation::Unsupported { direction }) => {
            blame::unsupported(system, &load.reduction, direction)
        }
        Some(Refutation::Crushed { weights }) => {
            let weights = spread(&|contact| weights[contact]);
            blame::infeasible(system, contacts, &problem.keys, &weights, true)
        }
        Some(
            Refutation::Jammed { contacts: jammed, .. }
            | Refutation::JammedRound { contacts: jammed, .. },
        ) => {
            let weights = spread(&|contact| f64::from(jammed.contains(&(contact as u32))));
            let (pairs, joints) = blame::blamed(system, contacts, &problem.keys, &weights);
            StepError::Jammed { pairs, joints }
        }
        None => undecided(solution),
    }
}

/// Error for a solve that found neither a solution nor a proof.
fn undecided(solution: &CoulombSolution) -> StepError {
    StepError::Undecided {
        convex: solution.convex,
        pivots: solution.pivots,
        work: solution.work,
        limited: solution.reason == Some(Reason::Work),
    }
}
