//! The loop of all planners: improve the commands of the next steps, take one of them, repeat.

use crate::goal::{Goal, GoalError};
use crate::local::{Local, LocalSettings};
use crate::rollout::{From, World};
use crate::sampling::{Sampling, SamplingSettings};
use crate::task::{Task, TaskError};
use quasistep::{State, StepError, StepInput, StepParams, System, Workspace};
use std::ops::ControlFlow;

/// Which planner, and its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum Planner {
    /// Quadratic programs along relaxed rollouts.
    Local(LocalSettings),
    /// Averages of random rollouts.
    Sampling(SamplingSettings),
}

impl Planner {
    fn horizon(&self) -> usize {
        match self {
            Self::Local(settings) => settings.horizon,
            Self::Sampling(settings) => settings.horizon,
        }
    }
}

/// When a search ends without its goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest number of steps of a plan, ≥ 1.
    pub steps: usize,
    /// Number of steps without progress after which the search ends, ≥ 1.
    pub patience: usize,
    /// Number of steps in which each step of the plan is taken, ≥ 1: planners predict with large
    /// steps, and see what smaller ones make of it.
    pub divisions: usize,
    /// Number of threads for rollouts, ≥ 1. Plans have the same bits for any number.
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 100, patience: 10, divisions: 10, threads: 1 }
    }
}

/// Commands that were found, and where they lead.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// How the search ended.
    pub status: PlanEnd,
    /// Time step, in s.
    pub time_step: f64,
    /// Commands at the ends of the steps, `T × n_cmd`.
    pub commands: Vec<f64>,
    /// Configurations from the start on, `(T + 1) × n_q`.
    pub q: Vec<f64>,
    /// Index of the step that reached each goal in turn.
    pub reached: Vec<usize>,
    /// Error of the last goal reached or tried, after each step, from the start on.
    pub errors: Vec<GoalError>,
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PlanEnd {
    /// All goals were reached.
    Reached,
    /// No progress for [`Limits::patience`] steps. The plan ends where it is nearest to the goal.
    Stalled,
    /// The largest number of steps was taken.
    Steps,
    /// The caller stopped the search.
    Stopped,
    /// A step of the plan has no answer.
    Failed(StepError),
}

/// State of a search, for the caller.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Number of steps taken.
    pub steps: usize,
    /// Index of the goal that is tried.
    pub goal: usize,
    /// Its error.
    pub error: GoalError,
}

/// Work limit of a step in a search, in multiply-adds: some milliseconds.
const WORK: u64 = 20_000_000;

/// Share by which the error must fall to count as progress.
const PROGRESS: f64 = 0.01;

enum Memory {
    Local(Box<Local>),
    Sampling(Sampling),
}

impl Memory {
    fn improve(&mut self, world: &World<'_>, from: &From, goal: &Goal, u: &mut [f64]) -> f64 {
        match self {
            Self::Local(own) => own.improve(world, from, goal, u),
            Self::Sampling(own) => own.improve(world, from, goal, u),
        }
    }
}

/// Searches for commands that bring the system from `start` to the goals of the task in turn.
/// `before` is the command at the start. `look` is called after every step, and may stop the search;
/// the best plan so far is returned.
///
/// # Errors
///
/// [`TaskError`] if the task does not fit the system.
pub fn plan(
    system: &System,
    params: &StepParams,
    (start, before): (&State, &[f64]),
    task: &Task,
    planner: &Planner,
    limits: &Limits,
    look: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Plan, TaskError> {
    task.check(system, before, params)?;
    // a step that is so hard to compute is not worth it
    let limited = StepParams { work_limit: params.work_limit.min(WORK), ..params.clone() };
    let params = &limited;
    let world = World { system, params, task, threads: limits.threads };
    let mut memory = match planner {
        Planner::Local(settings) => Memory::Local(Box::new(Local::new(&world, settings.clone()))),
        Planner::Sampling(settings) => Memory::Sampling(Sampling::new(settings.clone())),
    };
    let mut work = system.create_workspace();
    let mut from = From { state: start.clone(), warm: work.warm_start(), before: before.to_vec() };
    let n_u = before.len();
    let mut u = before.repeat(planner.horizon());
    let mut plan = Plan {
        status: PlanEnd::Steps,
        time_step: params.time_step,
        commands: Vec::new(),
        q: start.q.clone(),
        reached: Vec::new(),
        errors: vec![task.goals[0].error(system, &start.q)],
    };
    // least error of the present goal, and the step that had it
    let (mut best, mut best_at) = (plan.errors[0].share, 0);
    loop {
        let steps = plan.errors.len() - 1;
        let goal = &task.goals[plan.reached.len()];
        let error = goal.error(system, &from.state.q);
        if error.share < best * (1.0 - PROGRESS) {
            (best, best_at) = (error.share, steps);
        }
        if error.share <= 1.0 {
            plan.reached.push(steps);
            let Some(next) = task.goals.get(plan.reached.len()) else {
                plan.status = PlanEnd::Reached;
                return Ok(plan);
            };
            (best, best_at) = (next.error(system, &from.state.q).share, steps);
            continue;
        }
        let progress = Progress { steps, goal: plan.reached.len(), error };
        if look(&progress).is_break() {
            plan.status = PlanEnd::Stopped;
            break;
        }
        if steps - best_at >= limits.patience {
            plan.status = PlanEnd::Stalled;
            break;
        }
        if steps == limits.steps {
            break;
        }
        memory.improve(&world, &from, goal, &mut u);
        if let Err(why) = take(system, params, limits.divisions, &mut from, &u[..n_u], &mut work) {
            plan.status = PlanEnd::Failed(why);
            break;
        }
        from.before.copy_from_slice(&u[..n_u]);
        plan.commands.extend_from_slice(&u[..n_u]);
        plan.q.extend_from_slice(&from.state.q);
        plan.errors.push(goal.error(system, &from.state.q));
        // the horizon moves on
        u.copy_within(n_u.., 0);
        // the last command stays
    }
    plan.cut(best_at, n_u, start.q.len());
    Ok(plan)
}

/// Takes a step of a plan in several smaller ones, commands on straight lines.
fn take(
    system: &System,
    params: &StepParams,
    divisions: usize,
    from: &mut From,
    u: &[f64],
    work: &mut Workspace,
) -> Result<(), StepError> {
    let time_step = params.time_step / divisions as f64;
    let params = StepParams { time_step, ..params.clone() };
    let mut input = StepInput::default();
    for k in 1..=divisions {
        let share = k as f64 / divisions as f64;
        let on_line = |(last, u): (&f64, &f64)| last + share * (u - last);
        input.q_cmd.clear();
        input.q_cmd.extend(from.before.iter().zip(u).map(on_line));
        system.step_with(&mut from.state, &input, &params, work)?;
    }
    from.warm = work.warm_start();
    Ok(())
}

impl Plan {
    /// Keeps the first `steps` steps: those up to where the plan is nearest to its goal.
    fn cut(&mut self, steps: usize, n_u: usize, n_q: usize) {
        self.commands.truncate(steps * n_u);
        self.q.truncate((steps + 1) * n_q);
        self.errors.truncate(steps + 1);
    }
}
