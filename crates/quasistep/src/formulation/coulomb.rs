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
use crate::formulation::problem::{Problem, Program, is_tangent};
use crate::formulation::recover::Answer;
use crate::formulation::{Cone, Where, blame};
use crate::params::StepParams;
use crate::report::{Stage, StepMethod};
use crate::state::WarmRow;
use crate::system::System;
use crate::workspace::Workspace;
use quasistep_solvers::{
    self as solvers, ConeMut, CoulombSettings, CoulombSolution, CoulombSolver, CoulombWarm,
    Friction, FrictionProgram, Outcome, Refutation, Saturation,
};

/// A [`FrictionProgram`] that is told of cones.
#[derive(Debug, Default)]
pub(crate) struct Rubbing {
    pub program: FrictionProgram,
    /// Tangential parts of the edges of the contact at hand.
    directions: Vec<f64>,
}

impl Program for Rubbing {
    const FORCES: bool = true;

    fn reset(&mut self, dims: &[usize]) {
        self.program.reset(dims.iter().copied());
    }

    fn P(&mut self, block: usize, row: usize) -> &mut [f64] {
        self.program.P(block, row)
    }

    fn c(&mut self, block: usize) -> &mut [f64] {
        self.program.c(block)
    }

    fn push_saturation(&mut self, saturation: Saturation) {
        self.program.push_saturation(saturation);
    }

    fn push(&mut self, cone: solvers::Cone<'_>, k: usize, blocks: &[u32]) -> ConeMut<'_> {
        let friction = match cone {
            _ if k == 1 => Friction::None,
            solvers::Cone::Round(E) => Friction::Round(&E[1..]),
            solvers::Cone::Edges(E) => {
                self.directions.clear();
                // an edge is (1, mu d_j)
                self.directions.extend(E.chunks_exact(k).flat_map(|edge| &edge[1..]));
                Friction::Diamond { mu: 1.0, directions: &self.directions, tangents: k - 1 }
            }
        };
        self.program.push_contact(friction, blocks)
    }
}

/// Memory of the formulation: problem, solver, and forces to start from.
#[derive(Debug, Default)]
pub(crate) struct CoulombWork {
    pub problem: Problem<Rubbing>,
    solver: CoulombSolver,
    settings: CoulombSettings,
    pub solution: CoulombSolution,
    /// Rows of the step before, ascending by key.
    pub warm: Vec<WarmRow>,
    /// Rows of the first of two solves.
    warm_mid: Vec<WarmRow>,
    lambda: Vec<f64>,
    u: Vec<f64>,
}

impl CoulombWork {
    /// Keeps the forces of the solution for the next step, ascending by key.
    pub fn remember(&mut self) {
        collect(&self.problem, &self.solution, &mut self.warm);
    }

    /// Forces and rates to start from: of rows that are not known those of an open contact.
    fn start_from(&mut self, place: Where) {
        let Self { problem, warm, warm_mid, lambda, u, .. } = self;
        let known = if place == Where::Start { warm } else { warm_mid };
        lambda.clear();
        u.clear();
        for key in &problem.keys {
            let row = known.binary_search_by_key(key, |row| row.key).ok().map(|k| &known[k]);
            let open = if is_tangent(key) { 0.0 } else { 1.0 };
            lambda.push(row.map_or(0.0, |row| row.impulse));
            u.push(row.map_or(open, |row| row.rate));
        }
    }
}

/// Rows of a solution, ascending by key.
fn collect(problem: &Problem<Rubbing>, solution: &CoulombSolution, rows: &mut Vec<WarmRow>) {
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

/// Stages 4 to 6: assembles the program of one of the step's configurations, solves it, and fills the
/// report.
pub(crate) fn solve(
    system: &System,
    q: &[f64],
    place: Where,
    cone: Cone,
    params: &StepParams,
    work: &mut Workspace,
) -> Result<(), StepError> {
    work.timer.enter(Stage::Assemble); // 4
    let kin = match place {
        Where::Start => &work.scan.kin,
        Where::Middle => {
            let CoulombWork { problem, solution, warm_mid, .. } = &mut work.coulomb;
            collect(problem, solution, warm_mid);
            &work.scan_mid.kin
        }
    };
    let coulomb = &mut work.coulomb;
    coulomb.problem.assemble(system, q, &work.load, &work.contacts, kin, cone, params);
    coulomb.start_from(place);
    let warm = place == Where::Middle || work.warm.is_some() && !coulomb.warm.is_empty();
    work.timer.enter(Stage::Solve); // 5
    let CoulombWork { problem, solver, settings, solution, lambda, u, .. } = coulomb;
    let start = warm.then_some(CoulombWarm { lambda, u, relaxed: None });
    solver.solve(&problem.program.program, start, settings, solution);

    work.timer.enter(Stage::Recover); // 6
    match solution.outcome {
        Outcome::Solved => {}
        Outcome::Unsolvable => return Err(refused(system, &work.contacts, problem, solution)),
        Outcome::Undecided => {
            return Err(StepError::Undecided { convex: solution.convex, pivots: solution.pivots });
        }
        Outcome::GaveUp => {
            return Err(StepError::NotSolved {
                iterations: solution.newton,
                why: solution.reason.map_or("no reason".into(), |reason| reason.to_string()),
            });
        }
    }
    let Workspace { load, contacts, report, .. } = work;
    report.iterations = solution.newton + solution.convex + solution.pivots;
    report.method = StepMethod::Coulomb(solution.method);
    report.smallest_norm = false;
    let answer = Answer {
        system,
        load,
        contacts,
        h: params.time_step,
        accuracy: 0.0,
        x: &solution.x,
        z: &solution.lambda,
        pushes: &problem.pushes,
        keys: &problem.keys,
    };
    let rows_of = |contact| problem.program.program.rows_of(contact);
    answer.write(report, rows_of, |contact, _| solution.boundary_layer[contact]);
    Ok(())
}

/// The proof that there is no next state, with names.
fn refused(
    system: &System,
    contacts: &ContactRows,
    problem: &Problem<Rubbing>,
    solution: &CoulombSolution,
) -> StepError {
    // one weight per multiplier: those of a contact stand at its normal
    let program = &problem.program.program;
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
