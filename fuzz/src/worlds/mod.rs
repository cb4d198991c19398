//! Random worlds, stepped, and judged from what the steps report.
//!
//! | judge | holds | from |
//! |---|---|---|
//! | [`balance`] | forces and torques on every dof add up to what its inertia takes | report, masses, poses |
//! | [`contacts`] | gaps after the step, cones, no force over a gap, friction against slip | report, poses |
//! | `overlaps` | nothing overlaps along the motion | shapes, sampled densely |
//! | `uncertified`, `budget` | the certificate has no complaint; work and CPU time keep to `work_limit` | report, a clock |
//! | `determinism` | a second run has the same bits | – |
//! | [`symmetry`] | other names and another order, another place: the same motion, where there is one answer | – |
//!
//! The last two take longer than the run itself: one world in so many is held to them, as the command line says.
//! Every error of a step is the world's answer or a step given up, by one of the named kinds; they are counted by cause.

pub mod balance;
pub mod contacts;
pub mod symmetry;

use crate::target::Verdict;
use crate::worker::{progress, spent};
use quasistep::{State, StepError, StepInput, StepReport};
use quasistep_model::Kinematics;
use quasistep_scene::Scene;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use testkit::random_worlds::overlap_along;

/// Limit of steps of a world, for files from other sources.
const MOST_STEPS: usize = testkit::worlds::STEPS;
/// Largest number of pairs of shapes that are sampled along their motion.
const MOST_SAMPLED: usize = 30;

/// Limit of CPU time of a step in addition to its solvers' work; the next constant is the time per
/// multiply-add. Both are ten times the values of a slow core. A longer step does something that
/// its budget does not count.
const OUTSIDE: Duration = Duration::from_secs(1);
const MULTIPLY_ADD_NS: u64 = 2;

/// One step, with everything that a judge needs.
pub struct Taken<'a> {
    /// The scene that is stepped.
    pub scene: &'a Scene,
    /// State before the step.
    pub before: &'a State,
    /// Input of the step.
    pub input: &'a StepInput,
    /// Report of the step.
    pub report: &'a StepReport,
    /// Kinematics of all joints before the step.
    pub kin: &'a Kinematics,
}

/// Steps a world and judges every step. With `compare`, a second run and transformed copies of the
/// first step are compared too.
pub fn judge(case: &Value, compare: bool) -> Verdict {
    let mut verdict = Verdict::default();
    let Some(scene) = load(case, &mut verdict) else { return verdict };
    verdict.count("worlds");
    let first = run(&scene, &mut verdict, true);
    if verdict.finding.is_some() || !compare {
        return verdict;
    }
    verdict.count("worlds run twice");
    let again = run(&scene, &mut Verdict::default(), false);
    if first != again {
        let at = first.iter().zip(&again).position(|(a, b)| a != b);
        verdict.blame("two runs differ", format!("from entry {at:?} of their states on"));
    }
    symmetry::judge(case, &scene, &mut verdict);
    verdict
}

/// Loads the scene of a case; a scene that is refused is reported as a finding.
fn load(case: &Value, verdict: &mut Verdict) -> Option<Scene> {
    match Scene::parse(&case.to_string(), "world.yml", "world", Path::new("."), &[]) {
        Ok(scene) => Some(scene),
        Err(error) => {
            verdict
                .blame(format!("refused: {}", without_numbers(&error.message)), error.to_string());
            None
        }
    }
}

/// States and forces of all steps as bits. If `judged`, every step is judged.
fn run(scene: &Scene, verdict: &mut Verdict, judged: bool) -> Vec<u64> {
    let (system, params) = (&scene.system, &scene.params);
    let mut work = system.create_workspace();
    let mut kin = system.model().create_kinematics();
    let mut state = scene.start.clone();
    let mut input = StepInput::default();
    let mut bits = Vec::new();
    for _ in 0..scene.n_steps().min(MOST_STEPS) {
        let before = state.clone();
        scene.sample(quasistep::end_of_step(state.time, params.time_step), &mut input);
        progress();
        let taken = system.step_with(&mut state, &input, params, &mut work).map(drop);
        let most =
            OUTSIDE + Duration::from_nanos(params.work_limit.saturating_mul(MULTIPLY_ADD_NS));
        if judged && spent() > most {
            let text = format!("{:.1?} of CPU, {most:.1?} are allowed", spent());
            verdict.blame("beyond its budget", text);
        }
        if let Err(error) = taken {
            if judged {
                count_error(&error, verdict);
            }
            if state != before {
                verdict.blame("an error changed the state", error.to_string());
            }
            break;
        }
        let report = work.last_report();
        let forces = report.contacts.iter().map(|c| c.normal_force);
        bits.extend(state.q.iter().chain(&report.v).copied().chain(forces).map(f64::to_bits));
        if !judged {
            continue;
        }
        verdict.count("steps");
        progress();
        if report.work > params.work_limit {
            let text = format!("{} multiply-adds of {}", report.work, params.work_limit);
            verdict.blame("beyond its budget", text);
        }
        if let Some(complaint) = report.certificate.complaint() {
            verdict.blame("uncertified", complaint);
        }
        system.model().kinematics(&before.q, &mut kin);
        let taken = Taken { scene, before: &before, input: &input, report, kin: &kin };
        judge_step(&taken, verdict);
        let geoms = system.geoms().len();
        if geoms * geoms <= 2 * MOST_SAMPLED {
            let wrong = overlap_along(system, &before.q, &work, params.max_overlap);
            if let Some(wrong) = wrong {
                verdict.blame("overlap along the motion", wrong);
            }
        }
        if verdict.finding.is_some() {
            break;
        }
    }
    bits
}

fn judge_step(taken: &Taken<'_>, verdict: &mut Verdict) {
    let report = taken.report;
    let numbers = report.v.iter().chain(&report.effort);
    let forces = report.contacts.iter().flat_map(|c| [c.normal_force, c.phi_next]);
    if !numbers.copied().chain(forces).all(f64::is_finite) {
        verdict.blame("not finite", "a speed, a force or a gap of a certified step");
        return;
    }
    if let Some((stand_in, _)) = &report.fallback {
        verdict.count(format!("steps by fallback {}", stand_in.name()));
    } else if report.substeps > 1 {
        // the report contains the last substep's forces, but not its initial state
        verdict.count("steps in substeps");
    } else {
        balance::judge(taken, verdict);
        contacts::judge(taken, verdict);
    }
}

/// Counts an error by its kind, and an inaccurate one by its cause. An error that a valid scene
/// must not cause is a finding.
fn count_error(error: &StepError, verdict: &mut Verdict) {
    let text = error.to_string();
    let kind = match error {
        StepError::Unsupported { .. } => "answer: unsupported".to_owned(),
        StepError::Infeasible { crushed: true, .. } => "answer: crushed".to_owned(),
        StepError::Infeasible { .. } => "answer: infeasible".to_owned(),
        StepError::Jammed { .. } => "answer: jammed".to_owned(),
        StepError::Constraints { .. } => "answer: constraints contradict".to_owned(),
        StepError::Overlap { .. } => "given up: overlap".to_owned(),
        StepError::Undecided { .. } => "given up: undecided".to_owned(),
        StepError::NotSolved { why, .. } => format!("given up: {}", without_numbers(why)),
        _ => {
            verdict.blame("an error of no named kind", text.clone());
            "an error of no named kind".to_owned()
        }
    };
    verdict.count(kind);
    if text.lines().count() != 1 || text.contains("NaN") {
        verdict.blame("an error that people cannot read", text);
    }
}

/// A message without the parts that differ between cases: numbers, and names in backticks.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    for (k, piece) in text.split('`').enumerate() {
        if k % 2 == 1 {
            out.push_str("`…`");
            continue;
        }
        for word in piece.split_inclusive(' ') {
            let number = word.starts_with(|c: char| c.is_ascii_digit() || c == '-');
            out.push_str(if number { "… " } else { word });
        }
    }
    out
}
