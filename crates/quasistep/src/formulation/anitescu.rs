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
use crate::formulation::blame;
use crate::formulation::edges::WAYS;
use crate::formulation::problem::{Problem, Program, is_tangent};
use crate::formulation::recover::Answer;
use crate::formulation::{Cone, Where};
use crate::params::StepParams;
use crate::report::{Stage, StepMethod};
use crate::system::System;
use crate::workspace::{RowKey, Workspace};
use quasistep_solvers::{self as solvers, ConeMut, ConeProgram, Saturation, Status, WarmStart};

/// Motion in a step that is none, in m or rad: what distances are exact to. Rows of a patch contradict
/// one another by the square of its tilt, so that a resting box that is 4e-7 rad askew cannot keep all four
/// corners still; they creep by some 1e-14.
const REST: f64 = 1e-12;

impl Program for ConeProgram {
    const FORCES: bool = false;

    fn reset(&mut self, dims: &[usize]) {
        ConeProgram::reset(self, dims.iter().copied());
    }

    fn P(&mut self, block: usize, row: usize) -> &mut [f64] {
        ConeProgram::P(self, block, row)
    }

    fn c(&mut self, block: usize) -> &mut [f64] {
        ConeProgram::c(self, block)
    }

    fn push_saturation(&mut self, saturation: Saturation) {
        ConeProgram::push_saturation(self, saturation);
    }

    fn push(&mut self, cone: solvers::Cone<'_>, k: usize, blocks: &[u32]) -> ConeMut<'_> {
        self.push_cone(cone, k, blocks)
    }
}

impl Problem<ConeProgram> {
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

    /// Keys of the rows that carry an impulse, of more than the share `accuracy` of the largest, ascending.
    pub fn active_keys(&self, z: &[f64], accuracy: f64, keys: &mut Vec<RowKey>) {
        keys.clear();
        let least = accuracy * z.iter().fold(0.0_f64, |m, z| m.max(*z));
        let loaded = self.keys.iter().zip(z).filter(|(key, z)| **z > least && !is_tangent(key));
        keys.extend(loaded.map(|(key, _)| *key));
        keys.sort_unstable();
    }
}

/// Stages 4 to 6: assembles the program of one of the step's configurations, solves it, from what is
/// known of it if `warm`, and fills the report.
pub(crate) fn solve(
    system: &System,
    q: &[f64],
    place: Where,
    cone: Cone,
    params: &StepParams,
    warm: bool,
    work: &mut Workspace,
) -> Result<(), StepError> {
    work.timer.enter(Stage::Assemble); // 4
    let (kin, keys) = match place {
        Where::Start => (&work.scan.kin, work.warm.as_deref().filter(|keys| !keys.is_empty())),
        Where::Middle => {
            work.problem.active_keys(&work.solution.z, params.accuracy, &mut work.warm_mid);
            (&work.scan_mid.kin, Some(work.warm_mid.as_slice()))
        }
    };
    work.problem.assemble(system, q, &work.load, &work.contacts, kin, cone, params);
    let start = keys.filter(|_| warm).map(|keys| {
        work.problem.start_from(keys, &mut work.warm_z, &mut work.warm_s);
        WarmStart { z: &work.warm_z, s: &work.warm_s }
    });
    work.timer.enter(Stage::Solve); // 5
    work.settings.rest = REST / params.time_step;
    work.settings.accuracy = params.accuracy;
    work.solver.solve(&work.problem.program, start, &work.settings, &mut work.solution);

    work.timer.enter(Stage::Recover); // 6
    let solution = &work.solution;
    match solution.status {
        Status::Solved => {}
        Status::Unbounded => return Err(blame::unsupported(system, &solution.ray)),
        Status::Infeasible => {
            let (contacts, keys) = (&work.contacts, &work.problem.keys);
            return Err(blame::infeasible(system, contacts, keys, &solution.certificate, false));
        }
        Status::GaveUp => {
            return Err(StepError::NotSolved {
                iterations: solution.iterations,
                why: solution.reason.map_or("no reason".into(), |reason| reason.to_string()),
            });
        }
    }
    work.report.iterations = solution.iterations;
    work.report.method = StepMethod::Convex(solution.method);
    work.report.smallest_norm = solution.dual_is_smallest_norm;
    work.report.fallback = None;
    let Workspace { problem, load, contacts, report, .. } = work;
    let answer = Answer {
        system,
        load,
        contacts,
        h: params.time_step,
        accuracy: params.accuracy,
        x: &solution.x,
        z: &solution.z,
        pushes: &problem.pushes,
        keys: &problem.keys,
    };
    let rows_of = |contact| problem.program.rows_of(contact);
    answer.write(report, rows_of, |contact, rates| {
        layer(&problem.pushes[problem.program.rows_of(contact)], rates)
    });
    Ok(())
}

/// Speed at which the cone lifts a contact with these rates, in m/s: `max_j −mu d_j · v_t`, of a round
/// cone `‖(mu v_t, …)‖`.
pub(crate) fn layer(pushes: &[[f64; WAYS]], rates: [f64; WAYS]) -> f64 {
    let along = |push: &[f64; WAYS]| -> f64 { (1..WAYS).map(|k| push[k] * rates[k]).sum() };
    // only the rows of a round cone have no part along the normal
    if pushes.iter().any(|push| push[0] == 0.0) {
        pushes.iter().map(|push| along(push).powi(2)).sum::<f64>().sqrt()
    } else {
        pushes.iter().map(|push| -along(push)).fold(0.0, f64::max)
    }
}
