//! The loop of all planners: improve the commands of the next steps, take one of them, repeat.

use crate::goal::{Goal, GoalError};
use crate::judge::Claim;
use crate::local::{Local, LocalSettings};
use crate::random::Random;
use crate::rollout::{From, World};
use crate::sampling::{Sampling, SamplingSettings};
use crate::task::{Task, TaskError};
use quasistep::{State, StepError, StepInput, StepParams, System, Workspace};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

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

    /// Largest change of a command in a step, in m or rad, and number of steps of the horizon.
    fn step(&self) -> (f64, usize) {
        match self {
            Self::Local(settings) => (settings.region, settings.horizon),
            Self::Sampling(settings) => (settings.deviation, settings.horizon),
        }
    }

    fn seed(&self) -> u64 {
        match self {
            Self::Local(settings) => settings.seed,
            Self::Sampling(settings) => settings.seed,
        }
    }

    /// This planner with other numbers, for another attempt.
    fn varied(&self, random: &mut Random) -> Self {
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

/// Share by which the error must fall to count as progress.
const PROGRESS: f64 = 0.01;

enum Memory {
    Local(Box<Local>),
    Sampling(Sampling),
}

impl Memory {
    fn new(world: &World<'_>, planner: Planner) -> Self {
        match planner {
            Planner::Local(settings) => Self::Local(Box::new(Local::new(world, settings))),
            Planner::Sampling(settings) => Self::Sampling(Sampling::new(settings)),
        }
    }

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
    let work = system.create_workspace();
    let root = From { state: start.clone(), warm: work.warm_start(), before: before.to_vec() };
    let end = Duration::try_from_secs_f64(limits.time).ok().map(|time| Instant::now() + time);
    let mut search = Search { world, full: params, limits, end, work, look };
    let mut random = Random::new(planner.seed());
    let mut best = Path {
        errors: vec![task.goals[0].error(system, &start.q)],
        nodes: vec![root],
        reached: Vec::new(),
    };
    let mut status = PlanEnd::Stalled;
    for attempt in 0..limits.attempts.max(1) {
        let (planner, first) = if attempt == 0 {
            (planner.clone(), 0)
        } else {
            (planner.varied(&mut random), best.pick(&mut random))
        };
        let mut path = best.up_to(first);
        if attempt % 4 == 2 {
            search.wander(&planner, &mut path, &mut random);
        }
        let (path, end) = search.attempt(attempt, planner, path);
        let ends = matches!(end, PlanEnd::Reached | PlanEnd::Time | PlanEnd::Stopped);
        let is_better = attempt == 0 || path.is_better(&best) || end == PlanEnd::Reached;
        // a step without an answer ends one attempt, not the search
        match end {
            PlanEnd::Failed(_) if attempt > 0 => {}
            end if is_better || ends => status = end,
            _ => {}
        }
        if is_better {
            best = path;
        }
        if ends {
            break;
        }
    }
    if status != PlanEnd::Reached {
        best = search.replay(&best).0;
    }
    Ok(best.plan(status, params.time_step))
}

/// What all attempts of a search share.
struct Search<'a> {
    world: World<'a>,
    /// The parameters without the work limit of a search.
    full: &'a StepParams,
    limits: &'a Limits,
    end: Option<Instant>,
    work: Workspace,
    look: &'a mut dyn FnMut(&Progress) -> ControlFlow<()>,
}

/// Steps of a plan, from the start on.
struct Path {
    /// States, each with the command that led to it.
    nodes: Vec<From>,
    /// Error of the last goal reached or tried, at each state.
    errors: Vec<GoalError>,
    /// Index of the state that reached each goal in turn.
    reached: Vec<usize>,
}

impl Search<'_> {
    /// Goes on from the end of a path, up to the goals or until nothing helps. Returns the path up to
    /// where it is nearest to its goal.
    fn attempt(&mut self, attempt: usize, planner: Planner, mut path: Path) -> (Path, PlanEnd) {
        let World { system, task, .. } = self.world;
        let horizon = planner.horizon();
        let mut memory = Memory::new(&self.world, planner);
        let mut from = path.nodes[path.nodes.len() - 1].clone();
        self.work.start_from(Some(&from.warm));
        let n_u = from.before.len();
        let mut u = from.before.repeat(horizon);
        // least error of the present goal, and the state that had it
        let (mut best, mut best_at) = (f64::INFINITY, path.nodes.len() - 1);
        let end = loop {
            let steps = path.nodes.len() - 1;
            let goal = &task.goals[path.reached.len()];
            let error = goal.error(system, &from.state.q);
            path.errors[steps] = error;
            if error.share < best * (1.0 - PROGRESS) {
                (best, best_at) = (error.share, steps);
            }
            if error.share <= 1.0 {
                path.reached.push(steps);
                if path.reached.len() == task.goals.len() {
                    break PlanEnd::Reached;
                }
                (best, best_at) = (f64::INFINITY, steps);
                continue;
            }
            let progress = Progress { attempt, steps, goal: path.reached.len(), error };
            if (self.look)(&progress).is_break() {
                break PlanEnd::Stopped;
            }
            if self.end.is_some_and(|end| Instant::now() >= end) {
                break PlanEnd::Time;
            }
            if steps - best_at >= self.limits.patience {
                break PlanEnd::Stalled;
            }
            if steps >= self.limits.steps {
                break PlanEnd::Steps;
            }
            memory.improve(&self.world, &from, goal, &mut u);
            if let Err(why) = self.take(&mut from, &u[..n_u]) {
                break PlanEnd::Failed(why);
            }
            path.nodes.push(from.clone());
            path.errors.push(error);
            // the horizon moves on; the last command stays
            u.copy_within(n_u.., 0);
        };
        if end == PlanEnd::Reached { self.replay(&path) } else { (path.up_to(best_at), end) }
    }

    /// Takes the steps of a path again from the start, as those who follow it do. Where a motion is
    /// sensitive, states differ by more than the tolerance of steps. Returns the path up to where it misses a goal.
    fn replay(&mut self, path: &Path) -> (Path, PlanEnd) {
        let World { system, task, .. } = self.world;
        let limited = std::mem::replace(&mut self.world.params, self.full);
        let again = self.follow(path, system, task);
        self.world.params = limited;
        again
    }

    fn follow(&mut self, path: &Path, system: &System, task: &Task) -> (Path, PlanEnd) {
        let mut from = path.nodes[0].clone();
        self.work = system.create_workspace();
        let mut again = path.up_to(0);
        for (step, node) in path.nodes.iter().enumerate().skip(1) {
            if let Err(why) = self.take(&mut from, &node.before) {
                return (again, PlanEnd::Failed(why));
            }
            again.nodes.push(from.clone());
            let goal = &task.goals[again.reached.len()];
            again.errors.push(goal.error(system, &from.state.q));
            while path.reached.get(again.reached.len()) == Some(&step) {
                if task.goals[again.reached.len()].error(system, &from.state.q).share > 1.0 {
                    return (again, PlanEnd::Stalled);
                }
                again.reached.push(step);
            }
        }
        (again, PlanEnd::Reached)
    }

    /// Leads all commands on straight lines to random ones, as far away as a few horizons lead. Ends at a
    /// step that has no answer, or that leaves bounds.
    fn wander(&mut self, planner: &Planner, path: &mut Path, random: &mut Random) {
        let World { task, params, .. } = self.world;
        let (step, horizon) = planner.step();
        let mut from = path.nodes[path.nodes.len() - 1].clone();
        let steps = (horizon as f64 * (0.5 + 1.5 * random.unit())).ceil();
        let per_step = |k: usize, last: f64, random: &mut Random| {
            let [lower, upper] = task.commands[k];
            let most = step.min(task.rates[k] * params.time_step);
            let goal = (last + steps * most * (2.0 * random.unit() - 1.0))
                .clamp(lower.min(last), upper.max(last));
            (goal - last) / steps
        };
        let change: Vec<f64> =
            from.before.iter().enumerate().map(|(k, last)| per_step(k, *last, random)).collect();
        self.work.start_from(Some(&from.warm));
        for _ in 0..steps as usize {
            let u: Vec<f64> = from.before.iter().zip(&change).map(|(u, du)| u + du).collect();
            let is_taken = self.take(&mut from, &u).is_ok();
            let is_long = path.nodes.len() > self.limits.steps;
            if !is_taken
                || is_long
                || task.states.iter().any(|bound| bound.excess(&from.state.q) > 0.0)
            {
                return;
            }
            path.errors.push(path.errors[path.errors.len() - 1]);
            path.nodes.push(from.clone());
        }
    }

    /// Takes a step of a plan in several smaller ones, commands on straight lines.
    fn take(&mut self, from: &mut From, u: &[f64]) -> Result<(), StepError> {
        let Self { world, limits, work, .. } = self;
        let time_step = world.params.time_step / limits.divisions as f64;
        let params = StepParams { time_step, ..world.params.clone() };
        let mut input = StepInput::default();
        for k in 1..=limits.divisions {
            let share = k as f64 / limits.divisions as f64;
            let on_line = |(last, u): (&f64, &f64)| last + share * (u - last);
            input.q_cmd.clear();
            input.q_cmd.extend(from.before.iter().zip(u).map(on_line));
            world.system.step_with(&mut from.state, &input, &params, work)?;
        }
        from.warm = work.warm_start();
        from.before.copy_from_slice(u);
        Ok(())
    }
}

impl Path {
    /// The first states, up to one with its index.
    fn up_to(&self, last: usize) -> Self {
        Self {
            nodes: self.nodes[..=last].to_vec(),
            errors: self.errors[..=last].to_vec(),
            reached: self.reached.iter().copied().filter(|at| *at <= last).collect(),
        }
    }

    /// A state from which to try again: the start, or any.
    fn pick(&self, random: &mut Random) -> usize {
        if random.unit() < 0.5 { 0 } else { (random.unit() * self.nodes.len() as f64) as usize }
    }

    fn is_better(&self, other: &Self) -> bool {
        let rank = |path: &Self| (path.reached.len(), -path.errors[path.errors.len() - 1].share);
        rank(self) > rank(other)
    }

    fn plan(&self, status: PlanEnd, time_step: f64) -> Plan {
        Plan {
            status,
            time_step,
            commands: self.nodes[1..].iter().flat_map(|node| node.before.iter().copied()).collect(),
            q: self.nodes.iter().flat_map(|node| node.state.q.iter().copied()).collect(),
            reached: self.reached.clone(),
            errors: self.errors.clone(),
        }
    }
}
