//! Planners, their limits, and the plans that come of them.

use crate::goal::GoalError;
use crate::judge::Claim;
use crate::local::LocalSettings;
use crate::random::Random;
use crate::sampling::SamplingSettings;
use crate::task::Task;
use quasistep::StepError;

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
    /// Number of tries to lead to the goals in fewer steps, once they are reached.
    pub shortcuts: usize,
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
            shortcuts: 0,
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
