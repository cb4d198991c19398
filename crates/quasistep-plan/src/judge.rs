//! The check of plans. It takes the commands alone, replays them by the step itself, and measures
//! what comes of them. It shares no code with the planners.

use crate::goal::{Goal, Target};
use crate::task::StateBound;
use quasistep::{State, StepError, StepInput, StepParams, System};
use quasistep_math::Pose;

/// A plan to be checked: what is claimed of it, and the bounds that it must keep.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// Goals, reached one after another.
    pub goals: &'a [Goal],
    /// Indices of the steps that reach them: the number of steps until then.
    pub reached: &'a [usize],
    /// Command before the first step, `n_cmd`.
    pub before: &'a [f64],
    /// Commands at the ends of the steps, `T × n_cmd`.
    pub commands: &'a [f64],
    /// Configurations from the start on, `(T + 1) × n_q`.
    pub q: &'a [f64],
    /// Bounds of every command, in m or rad.
    pub bounds: &'a [[f64; 2]],
    /// Largest rate of every command, in m/s or rad/s.
    pub rates: &'a [f64],
    /// Bounds of coordinates.
    pub states: &'a [StateBound],
}

/// What the check found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Reasons to refuse the plan; none if it holds.
    pub refusals: Vec<Refusal>,
    /// Largest errors of the replay at the goals: angle (rad), distance (m) and joint (m or rad).
    pub errors: [f64; 3],
    /// Largest difference between the planned and the replayed configurations, in m or rad.
    pub difference: f64,
    /// Deepest overlap on the way, in m; that of the start does not count.
    pub overlap: f64,
    /// Largest residual of the force balance, over its scale.
    pub balance: f64,
}

/// A reason to refuse a plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A goal is missed, or not claimed.
    #[error("goal {goal} is missed by {share} times its tolerance")]
    Missed {
        /// Index of the goal.
        goal: usize,
        /// Largest error over its tolerance; infinite if the plan does not claim to reach it.
        share: f64,
    },
    /// A command leaves its bounds.
    #[error("command `{name}` is {value} in step {step}, outside of its bounds")]
    Bound {
        /// Name of the command.
        name: String,
        /// Index of the step.
        step: usize,
        /// Value, in m or rad.
        value: f64,
    },
    /// A command changes too fast.
    #[error("command `{name}` changes by {rate} per second in step {step}, faster than it may")]
    Rate {
        /// Name of the command.
        name: String,
        /// Index of the step.
        step: usize,
        /// Rate, in m/s or rad/s.
        rate: f64,
    },
    /// A joint leaves its limits.
    #[error("joint `{name}` exceeds its limit by {by} in step {step}")]
    Limit {
        /// Name of the dof.
        name: String,
        /// Index of the step.
        step: usize,
        /// Excess, in m or rad.
        by: f64,
    },
    /// A coordinate leaves its bounds.
    #[error("coordinate `{name}` is {value} in step {step}, outside of its bounds")]
    State {
        /// Name of the coordinate.
        name: String,
        /// Index of the step.
        step: usize,
        /// Value, in m or rad.
        value: f64,
    },
    /// Bodies overlap.
    #[error("bodies overlap by {by} m in step {step}")]
    Overlap {
        /// Index of the step.
        step: usize,
        /// Depth, in m.
        by: f64,
    },
    /// A certificate does not hold.
    #[error("the certificate of step {step} does not hold: {why}")]
    Certificate {
        /// Index of the step.
        step: usize,
        /// What of it does not hold.
        why: String,
    },
    /// A step has no answer.
    #[error("step {step} has no answer: {why}")]
    Step {
        /// Index of the step.
        step: usize,
        /// Reason.
        why: StepError,
    },
    /// The planned states are not those to which the commands lead.
    #[error("the plan is {by} off from where its commands lead in step {step}")]
    States {
        /// Index of the step.
        step: usize,
        /// Difference, in m or rad.
        by: f64,
    },
    /// Lists of the claim have lengths that do not fit.
    #[error("{0}")]
    Lengths(&'static str),
}

/// Number of small steps for one of the plan.
const DIVISIONS: usize = 10;
/// Difference between planned and replayed states that counts as none, in m or rad.
const SAME: f64 = 1e-6;
/// Excess of a limit, a bound or a rate that counts as none, as a share of its size or in m or rad.
const SLACK: f64 = 1e-6;

/// Replays the commands of a plan from `start`, in steps of a tenth of the plan's. They must lead to
/// the planned states, reach the goals, keep all bounds and overlap nothing.
pub fn check_plan(
    system: &System,
    params: &StepParams,
    start: &State,
    claim: &Claim<'_>,
) -> Verdict {
    check_plan_in(DIVISIONS, system, params, start, claim)
}

/// [`check_plan`] in other steps: `divisions` of them for one of the plan. Plans lead to their own states in tenths
/// alone; what they reach in others says how much they depend on the step size.
pub fn check_plan_in(
    divisions: usize,
    system: &System,
    params: &StepParams,
    start: &State,
    claim: &Claim<'_>,
) -> Verdict {
    let mut verdict = Verdict::default();
    let (n_u, n_q) = (system.n_cmd(), system.model().n_q());
    let steps = claim.commands.len() / n_u.max(1);
    let fits = claim.commands.len() == steps * n_u
        && claim.q.len() == (steps + 1) * n_q
        && [claim.before.len(), claim.bounds.len(), claim.rates.len()] == [n_u; 3]
        && claim.reached.len() <= claim.goals.len()
        && claim.reached.is_sorted()
        && claim.reached.iter().all(|step| *step <= steps);
    if !fits {
        let why = "the lists of the plan do not fit one another or the system";
        verdict.refusals.push(Refusal::Lengths(why));
        return verdict;
    }
    check_commands(system, params.time_step, claim, &mut verdict);
    replay(divisions.max(1), (system, params), start, claim, &mut verdict);
    for goal in claim.reached.len()..claim.goals.len() {
        verdict.refusals.push(Refusal::Missed { goal, share: f64::INFINITY });
    }
    verdict
}

impl Verdict {
    /// True if the plan holds.
    pub fn holds(&self) -> bool {
        self.refusals.is_empty()
    }
}

/// Bounds and rates of all commands.
fn check_commands(system: &System, h: f64, claim: &Claim<'_>, verdict: &mut Verdict) {
    let n_u = claim.before.len();
    let name = |k: usize| system.command_names().swap_remove(k);
    let mut last = claim.before;
    for (step, u) in claim.commands.chunks_exact(n_u).enumerate() {
        for k in 0..n_u {
            let (value, [lower, upper]) = (u[k], claim.bounds[k]);
            let room = SLACK * (1.0 + value.abs());
            if !(lower - room <= value && value <= upper + room) {
                verdict.refusals.push(Refusal::Bound { name: name(k), step, value });
            }
            let rate = (value - last[k]).abs() / h;
            if !(rate <= claim.rates[k] * (1.0 + SLACK)) {
                verdict.refusals.push(Refusal::Rate { name: name(k), step, rate });
            }
        }
        last = u;
    }
}

/// Replays in smaller steps, commands on straight lines. The commands count: where they lead elsewhere than
/// planned, the goals are looked for there.
fn replay(
    divisions: usize,
    (system, params): (&System, &StepParams),
    start: &State,
    claim: &Claim<'_>,
    verdict: &mut Verdict,
) {
    let n_u = claim.before.len();
    let time_step = params.time_step / divisions as f64;
    let params = StepParams { time_step, ..params.clone() };
    let (mut state, mut work) = (start.clone(), system.create_workspace());
    let mut off = vec![0.0; system.model().n_v()];
    let (mut next, mut is_as_planned) = (0, true);
    let mut last = claim.before;
    for step in 0..=claim.commands.len() / n_u {
        while claim.reached.get(next) == Some(&step) {
            check_goal(system, &claim.goals[next], next, &state.q, verdict);
            next += 1;
        }
        let Some(u) = claim.commands.get(step * n_u..(step + 1) * n_u) else { break };
        for k in 1..=divisions {
            let share = k as f64 / divisions as f64;
            let q_cmd = last.iter().zip(u).map(|(last, u)| last + share * (u - last)).collect();
            let input = StepInput { q_cmd, ..StepInput::default() };
            if let Err(why) = system.step_with(&mut state, &input, &params, &mut work) {
                verdict.refusals.push(Refusal::Step { step, why });
                return;
            }
            let report = work.last_report();
            let certificate = &report.certificate;
            verdict.overlap = verdict.overlap.max(-certificate.true_distance);
            verdict.balance =
                verdict.balance.max(certificate.force_balance / certificate.force_scale.max(1e-12));
            if let Some(why) = certificate.complaint() {
                verdict.refusals.push(Refusal::Certificate { step, why });
            }
            let allowed = params.max_overlap;
            if allowed.is_finite() && certificate.true_distance < -2.0 * allowed {
                verdict.refusals.push(Refusal::Overlap { step, by: -certificate.true_distance });
            }
        }
        check_limits(system, step, &state.q, verdict);
        for bound in claim.states {
            let (value, [lower, upper]) = (state.q[bound.coordinate], bound.within);
            let room = SLACK * (1.0 + value.abs());
            if !(lower - room <= value && value <= upper + room) {
                let name = system.model().coordinate_names().swap_remove(bound.coordinate);
                verdict.refusals.push(Refusal::State { name, step, value });
            }
        }
        let planned = &claim.q[(step + 1) * state.q.len()..(step + 2) * state.q.len()];
        system.model().difference(planned, &state.q, &mut off);
        let by = off.iter().fold(0.0_f64, |most, d| larger(most, d.abs()));
        verdict.difference = larger(verdict.difference, by);
        if !(by <= SAME) && is_as_planned {
            verdict.refusals.push(Refusal::States { step, by });
            is_as_planned = false;
        }
        last = u;
    }
}

fn check_limits(system: &System, step: usize, q: &[f64], verdict: &mut Verdict) {
    for limit in system.model().limits() {
        let value = q[limit.q_index as usize];
        let by = (limit.lower - value).max(value - limit.upper);
        if by > SLACK * (1.0 + value.abs()) {
            let name = system.model().dof_names().swap_remove(limit.dof as usize);
            verdict.refusals.push(Refusal::Limit { name, step, by });
        }
    }
}

/// Errors of a configuration at a goal: the angle of the relative rotation by its matrix.
fn check_goal(system: &System, goal: &Goal, index: usize, q: &[f64], verdict: &mut Verdict) {
    let mut share = 0.0_f64;
    for target in &goal.targets {
        match target {
            Target::Pose(target) => {
                let X_WF = system.model().pose(q, target.frame.body) * target.frame.X_BF;
                let (angle, distance) = apart(&X_WF, &target.X_WG, target.counts);
                verdict.errors[0] = verdict.errors[0].max(angle);
                verdict.errors[1] = verdict.errors[1].max(distance);
                share = larger(larger(share, angle / target.angle), distance / target.distance);
            }
            Target::Joint(target) => {
                let error = (q[target.coordinate] - target.value).abs();
                verdict.errors[2] = verdict.errors[2].max(error);
                share = larger(share, error / target.tolerance);
            }
        }
    }
    if !(share <= 1.0) {
        verdict.refusals.push(Refusal::Missed { goal: index, share });
    }
}

/// The larger of two numbers; NaN if one of them is, so that it is refused.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// Angle (rad) and distance (m) between two poses, by the components that count.
fn apart(X: &Pose, Y: &Pose, counts: [bool; 6]) -> (f64, f64) {
    let R = (X.rotation * Y.rotation.inverse()).to_matrix().rows;
    // of R − Rᵀ: twice the axis times the sine of the angle
    let twice = [R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]];
    let sine = 0.5 * twice.iter().map(|a| a * a).sum::<f64>().sqrt();
    let angle = sine.atan2(0.5 * (R[0][0] + R[1][1] + R[2][2] - 1.0));
    let of_axis = |i: usize| if sine > 0.0 { 0.5 * twice[i] / sine } else { 0.0 };
    let turn = if counts[..3] == [true; 3] {
        angle
    } else {
        (0..3).filter(|i| counts[*i]).map(|i| (angle * of_axis(i)).powi(2)).sum::<f64>().sqrt()
    };
    let way = (X.translation - Y.translation).to_array();
    let distance = (0..3).filter(|i| counts[3 + i]).map(|i| way[i] * way[i]).sum::<f64>().sqrt();
    (turn, distance)
}
