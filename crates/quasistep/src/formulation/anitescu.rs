//! Anitescu's convex friction cone: contacts become linear rows of a quadratic program.
//!
//! ```text
//! max(phi_i/h, −max_recovery_speed) + (n_i + mu_i d_ij)ᵀ J_ci v ≥ 0        Pang21 (10b)
//! max(phi_i/h, −max_recovery_speed) + (n_i J_ci ± mu_spin_i n_i W_i) v ≥ 0  Tracy (7)
//! ```
//!
//! and the same for rolling, about two axes across the normal. A round cone couples them all in one
//! ellipsoid: `s_n ≥ ‖(mu s_t, mu_spin s_spin, mu_roll s_roll)‖`.
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
use crate::formulation::edges::WAYS;
use crate::formulation::problem::{Posed, Problem, is_tangent};
use crate::formulation::recover::Answer;
use crate::formulation::blame;
use crate::report::{StepMethod, StepReport};
use crate::row::RowKey;
use crate::state::WarmRow;
use quasistep_solvers::{ConeSolver, Settings, Solution, Status, WarmStart};

/// Motion in a step that is none, in m or rad: what distances are exact to. Rows of a patch contradict
/// one another by the square of its tilt, so that a resting box that is 4e-7 rad askew cannot keep all four
/// corners still; they creep by some 1e-14.
const REST: f64 = 1e-12;

/// Memory of the formulation: solver, its answer, and what it starts from.
#[derive(Debug, Default)]
pub(crate) struct ConvexWork {
    solver: ConeSolver,
    pub settings: Settings,
    pub solution: Solution,
    /// Multipliers and slacks that the solver starts from.
    warm_z: Vec<f64>,
    warm_s: Vec<f64>,
    /// Multipliers and slacks of the solve before in the same step, ascending by key.
    last: Vec<WarmRow>,
}

impl ConvexWork {
    /// Keeps the answer to `problem` for another solve.
    pub fn keep_rows(&mut self, problem: &Problem) {
        let Solution { z, s, .. } = &self.solution;
        self.last.clear();
        let rows = problem.keys.iter().zip(z.iter().zip(s));
        self.last.extend(rows.map(|(key, (z, s))| WarmRow { key: *key, impulse: *z, rate: *s }));
        self.last.sort_unstable_by_key(|row| row.key);
    }

    /// Stage 5: solves the assembled problem, from the rows that are known to be active if there are some: `keys` of the step
    /// before, or if `again` those of the solve before.
    pub fn solve(
        &mut self,
        problem: &Problem,
        posed: &Posed<'_>,
        again: bool,
        keys: Option<&[RowKey]>,
    ) -> Result<(), StepError> {
        let Posed { system, contacts, params, .. } = *posed;
        let Self { solver, settings, solution, warm_z, warm_s, last } = self;
        let keys = keys.filter(|keys| !keys.is_empty());
        if again {
            problem.start_again(last, warm_z, warm_s);
        } else if let Some(keys) = keys {
            problem.start_from(keys, warm_z, warm_s);
        }
        let start = (again || keys.is_some()).then_some(WarmStart { z: warm_z, s: warm_s });
        settings.rest = REST / params.time_step;
        settings.accuracy = params.accuracy;
        solver.solve(&problem.program.convex, start, settings, solution);
        match solution.status {
            Status::Solved => Ok(()),
            Status::Unbounded => Err(blame::unsupported(system, &solution.ray)),
            Status::Infeasible => {
                let keys = &problem.keys;
                Err(blame::infeasible(system, contacts, keys, &solution.certificate, false))
            }
            Status::GaveUp => Err(StepError::NotSolved {
                iterations: solution.iterations,
                why: solution.reason.map_or("no reason".into(), |reason| reason.to_string()),
            }),
        }
    }

    /// Stage 6: the answer in the report.
    pub fn recover(&self, problem: &Problem, posed: &Posed<'_>, report: &mut StepReport) {
        let solution = &self.solution;
        report.iterations = solution.iterations;
        report.method = StepMethod::Convex(solution.method);
        report.smallest_norm = solution.dual_is_smallest_norm;
        let (x, z, accuracy) = (&solution.x, &solution.z, posed.params.accuracy);
        write(problem, posed, accuracy, x, z, report);
    }
}

/// An answer of the convex program, exact or relaxed, in the report.
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

impl Problem {
    /// Multipliers and slacks to start from, given the rows that were loaded: the ones that `keys`
    /// names are loaded, the others idle.
    pub fn start_from(&self, keys: &[RowKey], z: &mut Vec<f64>, s: &mut Vec<f64>) {
        z.clear();
        s.clear();
        for key in &self.keys {
            // a loaded round cone starts as if it stuck: its tangents have neither force nor slip
            let tangent = is_tangent(key);
            let loaded = !tangent && keys.binary_search(key).is_ok();
            z.push(if loaded { 1.0 } else { 0.0 });
            s.push(if loaded || tangent { 0.0 } else { 1.0 });
        }
    }

    /// Multipliers and slacks to start from, given those of a similar problem, ascending by key.
    fn start_again(&self, rows: &[WarmRow], z: &mut Vec<f64>, s: &mut Vec<f64>) {
        z.clear();
        s.clear();
        for key in &self.keys {
            let known = rows.binary_search_by_key(key, |row| row.key).ok().map(|k| &rows[k]);
            let open = if is_tangent(key) { 0.0 } else { 1.0 };
            z.push(known.map_or(0.0, |row| row.impulse));
            s.push(known.map_or(open, |row| row.rate));
        }
    }

    /// Keys of the rows that carry an impulse, of more than the share `accuracy` of the largest, ascending.
    pub fn active_keys(&self, z: &[f64], accuracy: f64, keys: &mut Vec<RowKey>) {
        keys.clear();
        let least = accuracy * z.iter().fold(0.0_f64, |m, z| m.max(*z));
        let loaded = self.keys.iter().zip(z).filter(|(key, z)| **z > least && !is_tangent(key));
        keys.extend(loaded.map(|(key, _)| *key));
        keys.sort_unstable();
    }
}

/// Speed at which the cone lifts a contact with these rates, in m/s: `max_j −mu d_j · v_t`, of a round
/// cone `‖(mu v_t, …)‖`.
fn layer(pushes: &[[f64; WAYS]], rates: [f64; WAYS]) -> f64 {
    let along = |push: &[f64; WAYS]| -> f64 { (1..WAYS).map(|k| push[k] * rates[k]).sum() };
    // only the rows of a round cone have no part along the normal
    if pushes.iter().any(|push| push[0] == 0.0) {
        pushes.iter().map(|push| along(push).powi(2)).sum::<f64>().sqrt()
    } else {
        pushes.iter().map(|push| -along(push)).fold(0.0, f64::max)
    }
}
