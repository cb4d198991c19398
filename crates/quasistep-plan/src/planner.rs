//! The loop of all planners: improve the commands of the next steps, take one of them, repeat.

use crate::goal::GoalError;
use crate::judge::Claim;
use crate::local::LocalSettings;
use crate::random::Random;
use crate::rollout::World;
use crate::sampling::SamplingSettings;
use crate::search::Search;
use crate::task::{Task, TaskError};
use quasistep::{State, StepError, StepParams, System};
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
    pub(crate) fn horizon(&self) -> usize {
        match self {
            Self::Local(settings) => settings.horizon,
            Self::Sampling(settings) => settings.horizon,
        }
    }

    /// Largest change of a command in a step, in m or rad, and number of steps of the horizon.
    pub(crate) fn step(&self) -> (f64, usize) {
        match self {
            Self::Local(settings) => (settings.region, settings.horizon),
            Self::Sampling(settings) => (settings.deviation, settings.horizon),
        }
    }

    pub(crate) fn seed(&self) -> u64 {
        match self {
            Self::Local(settings) => settings.seed,
            Self::Sampling(settings) => settings.seed,
        }
    }

    /// This planner with other numbers, for another attempt.
    pub(crate) fn varied(&self, random: &mut Random) -> Self {
        let mut factor = |most: f64| most.powf(2.0 * random.unit() - 1.0);
        let horizon = |steps: usize, factor: f64| ((steps as f64 * factor).round() as usize).max(1);
        let mut planner = self.clone();
        match &mut planner {
            Self::Local(own) => {
                own.horizon = horizon(own.horizon, factor(2.0));
                own.region *= factor(2.0);
                let of_kappa = factor(10.0);
                own.kappa.iter_mut().for_each(|kappa| *kappa *= of_kappa);
                own.seed = random.next();
            }
            Self::Sampling(own) => {
                own.horizon = horizon(own.horizon, factor(2.0));
                own.deviation *= factor(2.0);
                own.seed = random.next();
            }
        }
        planner
    }
}

/// When a search ends without its goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Largest number of steps of a plan, ≥ 1.
    pub steps: usize,
    /// Number of steps without progress after which an attempt ends, ≥ 1.
    pub patience: usize,
    /// Number of attempts, ≥ 1. The first starts at the start with the numbers of the planner;
    /// the others start anywhere along the best plan so far, with other numbers. Every fourth one
    /// leads the commands elsewhere first.
    pub attempts: usize,
    /// Time after which the search ends, in s, may be infinite. Other limits end searches at the same
    /// plan on every machine.
    pub time: f64,
    /// Number of steps in which each step of the plan is taken, ≥ 1: planners predict with large
    /// steps, and see what smaller ones make of it.
    pub divisions: usize,
    /// Number of threads for rollouts, ≥ 1. Plans have the same bits for any number.
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 100,
            patience: 10,
            attempts: 30,
            time: f64::INFINITY,
            divisions: 10,
            threads: 1,
        }
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
    /// No progress for [`Limits::patience`] steps in any attempt. The plan ends where it is nearest to
    /// the goal.
    Stalled,
    /// The largest number of steps was taken.
    Steps,
    /// The search took [`Limits::time`].
    Time,
    /// The caller stopped the search.
    Stopped,
    /// A step of the plan has no answer.
    Failed(StepError),
}

/// State of a search, for the caller.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Index of the attempt.
    pub attempt: usize,
    /// Number of steps taken in it.
    pub steps: usize,
    /// Index of the goal that is tried.
    pub goal: usize,
    /// Its error.
    pub error: GoalError,
}

impl Plan {
    /// What this plan claims to do for a task, to be checked; `before` is the command at the start.
    pub fn claim<'a>(&'a self, task: &'a Task, before: &'a [f64]) -> Claim<'a> {
        Claim {
            goals: &task.goals,
            reached: &self.reached,
            before,
            commands: &self.commands,
            q: &self.q,
            bounds: &task.commands,
            rates: &task.rates,
            states: &task.states,
        }
    }
}

/// Work limit of a step in a search, in multiply-adds: some milliseconds.
const WORK: u64 = 20_000_000;

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
    for bound in &task.states {
        let value = start.q[bound.coordinate];
        if !(bound.excess(&start.q) <= 1e-9 * (1.0 + value.abs())) {
            let name = system.model().coordinate_names().swap_remove(bound.coordinate);
            let (what, rule) = (format!("`{name}` at the start"), "within its bounds");
            return Err(TaskError::Number { what, value, rule });
        }
    }
    // a step that is so hard to compute is not worth it
    let limited = StepParams { work_limit: params.work_limit.min(WORK), ..params.clone() };
    let world = World { system, params: &limited, task, threads: limits.threads };
    Ok(Search::new(world, params, limits, look).plan((start, before), planner))
}
