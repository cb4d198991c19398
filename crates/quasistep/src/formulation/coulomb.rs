//! Exact Coulomb friction: a contact slides with all of its friction against the slip, and does not float.
//!
//! ```text
//! h (K_a (Δq_cmd − h v_a) + tau) + J_nᵀ lambda_n + J_tᵀ lambda_t = 0 or M_u v_u       force balance
//! 0 ≤ lambda_n ⊥ max(phi/h, −max_recovery_speed) + J_n v ≥ 0
//! lambda_t ∈ argmax { −lᵀ J_t v : l ∈ lambda_n F }
//! ```
//!
//! `F` is the hull of `mu d_j` (diamond, Trinkle05 (13)), the square around it (box, (33)) or the disc (4);
//! with `mu_spin` and `mu_roll` torques join it. With pyramids this is Trinkle05's mixed linear
//! complementarity problem (Model-DLC), where every driven joint is prescribed Pang21 (1), with impedances
//! Pang21 (6); with round cones Trinkle05's nonlinear one (Model-DQC). Prescribed motion enters with its
//! ∂ψ/∂t terms through the constant side of every row.
//!
//! A step may have no solution: then the proof is given names. Which one of many is found is left open;
//! [`System::uniqueness`](crate::System::uniqueness) answers whether there are.

use crate::contact::ContactRows;
use crate::error::StepError;
use crate::formulation::problem::{Posed, Problem, is_tangent};
use crate::formulation::recover::Answer;
use crate::formulation::blame;
use crate::report::{StepMethod, StepReport};
use crate::state::WarmRow;
use crate::system::System;
use quasistep_solvers::{
    CoulombSettings, CoulombSolution, CoulombSolver, CoulombWarm, Outcome, Refutation,
};

/// Memory of the formulation: solver, its answer, and forces to start from.
#[derive(Debug, Default)]
pub(crate) struct CoulombWork {
    solver: CoulombSolver,
    settings: CoulombSettings,
    pub solution: CoulombSolution,
    /// Rows of the step before, ascending by key.
    pub warm: Vec<WarmRow>,
    /// Rows of the solve before.
    warm_again: Vec<WarmRow>,
    lambda: Vec<f64>,
    u: Vec<f64>,
}

impl CoulombWork {
    /// Keeps the forces of the answer to `problem` for the next step, ascending by key.
    pub fn remember(&mut self, problem: &Problem) {
        collect(problem, &self.solution, &mut self.warm);
    }

    /// Keeps the forces of the answer to `problem` for another solve.
    pub fn keep_rows(&mut self, problem: &Problem) {
        collect(problem, &self.solution, &mut self.warm_again);
    }

    /// Forces and rates to start from: of rows that are not known those of an open contact.
    fn start_from(&mut self, problem: &Problem, again: bool) {
        let Self { warm, warm_again, lambda, u, .. } = self;
        let known = if again { warm_again } else { warm };
        lambda.clear();
        u.clear();
        for key in &problem.keys {
            let row = known.binary_search_by_key(key, |row| row.key).ok().map(|k| &known[k]);
            let open = if is_tangent(key) { 0.0 } else { 1.0 };
            lambda.push(row.map_or(0.0, |row| row.impulse));
            u.push(row.map_or(open, |row| row.rate));
        }
    }

    /// Stage 5: solves the assembled problem, from the forces of the solve before if `again`, else of the step before if `warm`.
    pub fn solve(
        &mut self,
        problem: &Problem,
        posed: &Posed<'_>,
        again: bool,
        warm: bool,
    ) -> Result<(), StepError> {
        let Posed { system, contacts, .. } = *posed;
        self.start_from(problem, again);
        let warm = again || warm && !self.warm.is_empty();
        let Self { solver, settings, solution, lambda, u, .. } = self;
        let start = warm.then_some(CoulombWarm { lambda, u, relaxed: None });
        solver.solve(&problem.program.friction, start, settings, solution);
        match solution.outcome {
            Outcome::Solved => Ok(()),
            Outcome::Unsolvable => Err(refused(system, contacts, problem, solution)),
            Outcome::Undecided => {
                Err(StepError::Undecided { convex: solution.convex, pivots: solution.pivots })
            }
            Outcome::GaveUp => Err(StepError::NotSolved {
                iterations: solution.newton,
                why: solution.reason.map_or("no reason".into(), |reason| reason.to_string()),
            }),
        }
    }

    /// Stage 6: the answer in the report.
    pub fn recover(&self, problem: &Problem, posed: &Posed<'_>, report: &mut StepReport) {
        let solution = &self.solution;
        report.iterations = solution.newton + solution.convex + solution.pivots;
        report.method = StepMethod::Coulomb(solution.method);
        report.smallest_norm = false;
        let answer = Answer::new(problem, posed, 0.0, &solution.x, &solution.lambda);
        answer.write(report, |contact, _| solution.boundary_layer[contact]);
    }
}

/// Rows of a solution, ascending by key.
fn collect(problem: &Problem, solution: &CoulombSolution, rows: &mut Vec<WarmRow>) {
    rows.clear();
    if solution.outcome != Outcome::Solved {
        return;
    }
    let all = problem.keys.iter().zip(solution.lambda.iter().zip(&solution.u));
    rows.extend(all.map(|(key, (impulse, rate))| WarmRow {
        key: *key,
        impulse: *impulse,
        rate: *rate,
    }));
    rows.sort_unstable_by_key(|row| row.key);
}

/// The proof that there is no next state, with names.
fn refused(
    system: &System,
    contacts: &ContactRows,
    problem: &Problem,
    solution: &CoulombSolution,
) -> StepError {
    // one weight per multiplier: those of a contact stand at its normal
    let program = &problem.program.friction;
    let spread = |weight: &dyn Fn(usize) -> f64| {
        let mut weights = vec![0.0; problem.keys.len()];
        for contact in 0..program.n_contacts() {
            weights[program.rows_of(contact).start] = weight(contact);
        }
        weights
    };
    match &solution.refutation {
        Some(Refutation::Unsupported { direction }) => blame::unsupported(system, direction),
        Some(Refutation::Crushed { weights }) => {
            let weights = spread(&|contact| weights[contact]);
            blame::infeasible(system, contacts, &problem.keys, &weights, true)
        }
        Some(Refutation::Jammed { contacts: jammed, .. }) => {
            let weights = spread(&|contact| f64::from(jammed.contains(&(contact as u32))));
            let (pairs, joints) = blame::blamed(system, contacts, &problem.keys, &weights);
            StepError::Jammed { pairs, joints }
        }
        None => StepError::Undecided { convex: solution.convex, pivots: solution.pivots },
    }
}
