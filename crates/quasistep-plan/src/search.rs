//! The search of a planner: improve the commands of the next steps, take one of them, repeat; attempts
//! and new grasps, from states of one tree.

use crate::clearance::reaches;
use crate::goal::Goal;
use crate::local::Local;
use crate::planner::{Limits, Plan, PlanEnd, Planner, Progress};
use crate::random::Random;
use crate::regrasp::Regrasp;
use crate::rollout::{From, World};
use crate::sampling::Sampling;
use crate::task::{Task, TaskError};
use crate::tree::{Node, Tree};
use quasistep::{State, StepError, StepInput, StepParams, System, Workspace};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

mod shortcuts;

/// Share by which the error must fall to count as progress: without new grasps, and with them. A new
/// grasp is better than slow progress.
const PROGRESS: [f64; 2] = [0.01, 0.05];
/// Least share of the way to a goal at which attempts aim, and the share of attempts that aim at the
/// goal itself. With smaller aims attempts creep.
const AIMS: [f64; 2] = [0.2, 0.3];
/// Error of an aim, over its tolerance, at which the next one is taken.
const ARRIVED: f64 = 5.0;
/// Error of a goal, over its tolerance, below which nothing else is aimed at.
const NEAR: f64 = 20.0;
/// Largest number of states of a given tree from which attempts start first.
const STARTS: usize = 4;
/// Number of grasps that are drawn for a new one.
const GRASPS: usize = 8;
/// Number of steps without progress after which the attempt that judges a grasp ends.
const GLANCE: usize = 2;
/// Share of the way to the goal to which a grasp must lead to be taken at once.
const ENOUGH: f64 = 0.5;
/// Number of other grasps to which paths are searched, the best first.
const PATHS: usize = 2;

/// Work limit of a step in a search, in multiply-adds: some milliseconds.
pub const WORK: u64 = 20_000_000;

/// What a planner keeps from one improvement to the next.
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

    /// Improves the commands `u` of the next steps. Returns their cost.
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
    check_start(system, params, (&start.q, before), task)?;
    // a step that is so hard to compute is not worth it
    let limited = StepParams { work_limit: params.work_limit.min(WORK), ..params.clone() };
    let world = World { system, params: &limited, task, threads: limits.threads };
    Ok(Search::new(world, params, limits, look).plan((start, before), planner))
}

/// Checks the task, and that configuration and command at the start are within its bounds.
pub fn check_start(
    system: &System,
    params: &StepParams,
    (q, before): (&[f64], &[f64]),
    task: &Task,
) -> Result<(), TaskError> {
    task.check(system, before, params)?;
    for bound in &task.states {
        let value = q[bound.coordinate];
        if !(bound.excess(q) <= 1e-9 * (1.0 + value.abs())) {
            let name = system.model().coordinate_names().swap_remove(bound.coordinate);
            let (what, rule) = (format!("`{name}` at the start"), "within its bounds");
            return Err(TaskError::Number { what, value, rule });
        }
    }
    Ok(())
}

/// One attempt.
struct Attempt {
    /// Its index.
    index: usize,
    planner: Planner,
    /// Share of the way to a goal at which it aims.
    share: f64,
    /// Number of steps without progress after which it ends.
    patience: usize,
    /// Largest number of steps from the start.
    steps: usize,
}

/// What all attempts of a search share.
pub struct Search<'a> {
    world: World<'a>,
    /// The parameters without the work limit of a search.
    full: &'a StepParams,
    limits: &'a Limits,
    end: Option<Instant>,
    /// Largest distance of a point of each body from its origin, in m.
    reaches: Vec<f64>,
    work: Workspace,
    look: &'a mut dyn FnMut(&Progress) -> ControlFlow<()>,
}

impl<'a> Search<'a> {
    pub fn new(
        world: World<'a>,
        full: &'a StepParams,
        limits: &'a Limits,
        look: &'a mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Self {
        let end = Duration::try_from_secs_f64(limits.time).ok().map(|time| Instant::now() + time);
        Self {
            world,
            full,
            limits,
            end,
            reaches: reaches(world.system),
            work: world.system.create_workspace(),
            look,
        }
    }

    /// Searches for commands from a state; `before` is the command there.
    pub fn plan(&mut self, (start, before): (&State, &[f64]), planner: &Planner) -> Plan {
        let warm = self.work.warm_start();
        let root = From { state: start.clone(), warm, before: before.to_vec() };
        self.go_on(&mut Tree::new(root), &[], planner)
    }

    /// Searches for commands from the states of a tree. New grasps are tried at its `leaves`, too.
    pub fn go_on(&mut self, tree: &mut Tree, leaves: &[usize], planner: &Planner) -> Plan {
        for node in 0..tree.len() {
            self.measure(tree, node);
        }
        for &leaf in leaves {
            tree.note_end(leaf, None);
        }
        let starts = tree.nearest_of_ways(STARTS);
        let mut random = Random::new(planner.seed());
        let (mut best, mut status) = (starts[0], PlanEnd::Stalled);
        let takes_grasps = !self.world.task.grasps.is_empty();
        for index in 0..self.limits.attempts.max(1) {
            let start = starts.get(index).copied();
            let attempt = self.draw_attempt(index, start.is_some(), planner, &mut random);
            let mut origin = None;
            let first = match start {
                Some(start) => start,
                None if takes_grasps && index % 4 != 2 => {
                    let (node, end) = tree.most_promising(self.limits.steps, &mut random);
                    origin = end;
                    self.regrasp(tree, node, &attempt, &mut random).unwrap_or(node)
                }
                None => {
                    let node = tree.anywhere_on_the_way_to(best, &mut random);
                    match index % 4 {
                        2 => self.wander(&attempt.planner, tree, node, &mut random),
                        _ => node,
                    }
                }
            };
            let (nearest, end) = self.attempt(&attempt, tree, first);
            tree.note_end(nearest, origin);
            let ends = matches!(end, PlanEnd::Reached | PlanEnd::Time | PlanEnd::Stopped);
            let is_better = tree.is_nearer(nearest, best) || end == PlanEnd::Reached;
            // a step without an answer ends one attempt, not the search
            match end {
                PlanEnd::Failed(_) if index > 0 => {}
                end if is_better || ends || index == 0 => status = end,
                _ => {}
            }
            if is_better {
                best = nearest;
            }
            if ends {
                break;
            }
        }
        best = match status {
            PlanEnd::Reached => self.shorten(tree, best, planner, &mut random),
            _ => self.replay(tree, best).0,
        };
        tree.plan(best, status, self.full.time_step)
    }

    /// Attempts from the start, or from states of a given tree, have the numbers of the planner; the others
    /// have random ones.
    fn draw_attempt(
        &self,
        index: usize,
        is_given: bool,
        planner: &Planner,
        random: &mut Random,
    ) -> Attempt {
        let Limits { patience, steps, .. } = *self.limits;
        if is_given {
            return Attempt { index, planner: planner.clone(), share: 1.0, patience, steps };
        }
        let planner = planner.varied(random);
        let is_direct = self.world.task.grasps.is_empty() || random.unit() < AIMS[1];
        let share = if is_direct { 1.0 } else { AIMS[0] + (1.0 - AIMS[0]) * random.unit() };
        Attempt { index, planner, share, patience, steps }
    }

    /// Goes on from a node, up to the goals or until nothing helps. Returns the node that is nearest to
    /// its goal.
    fn attempt(&mut self, own: &Attempt, tree: &mut Tree, first: usize) -> (usize, PlanEnd) {
        let World { system, task, .. } = self.world;
        if tree[first].reached == task.goals.len() {
            return self.replay(tree, first);
        }
        let horizon = own.planner.horizon();
        let mut memory = Memory::new(&self.world, own.planner.clone());
        let (mut from, mut at) = (tree[first].from.clone(), first);
        self.work.start_from(Some(&from.warm));
        let n_u = from.before.len();
        let mut u = from.before.repeat(horizon);
        let progress = PROGRESS[usize::from(!task.grasps.is_empty())];
        self.measure(tree, first);
        let mut aim = self.aim(&tree[first], own.share);
        // least error of the aim, the node that had it, and the node that is nearest to the goal
        let (mut least, mut since, mut best) = (f64::INFINITY, first, first);
        let end = loop {
            if self.reaches_goal(tree, at) {
                if tree[at].reached == task.goals.len() {
                    break PlanEnd::Reached;
                }
                (least, best, aim) = (f64::INFINITY, at, self.aim(&tree[at], own.share));
                continue;
            }
            if tree.is_nearer(at, best) {
                best = at;
            }
            let mut error = aim.error(system, &from.state.q).share;
            if error <= ARRIVED && aim != task.goals[tree[at].reached] {
                (least, aim) = (f64::INFINITY, self.aim(&tree[at], own.share));
                error = aim.error(system, &from.state.q).share;
            }
            if error < least * (1.0 - progress) {
                (least, since) = (error, at);
            }
            if let Err(end) = self.look(own.index, tree, at) {
                break end;
            }
            if tree[at].steps - tree[since].steps >= own.patience {
                break PlanEnd::Stalled;
            }
            if tree[at].steps >= own.steps {
                break PlanEnd::Steps;
            }
            memory.improve(&self.world, &from, &aim, &mut u);
            if let Err(why) = self.take(&mut from, &u[..n_u]) {
                break PlanEnd::Failed(why);
            }
            at = tree.push(at, from.clone());
            // the horizon moves on; the last command stays
            u.copy_within(n_u.., 0);
        };
        if end == PlanEnd::Reached { self.replay(tree, at) } else { (best, end) }
    }

    /// What an attempt leads bodies to: the goal, or a place on the way there at a share of it. Where
    /// the way is long, bodies are turned and moved together.
    fn aim(&self, node: &Node, share: f64) -> Goal {
        let goal = &self.world.task.goals[node.reached];
        if share == 1.0 || node.error.share < NEAR {
            return goal.clone();
        }
        goal.on_the_way(self.world.system, &node.from.state.q, share)
    }

    /// Notes how far a node is from its goal.
    fn measure(&self, tree: &mut Tree, at: usize) {
        let World { system, task, .. } = self.world;
        let node = &mut tree[at];
        let goal = &task.goals[node.reached];
        node.error = goal.error(system, &node.from.state.q);
        node.far = match task.grasps.len() {
            0 => node.error.share,
            _ => goal.way(system, &node.from.state.q, &self.reaches),
        };
    }

    /// Counts the goals that a node reaches, and measures how far it is from the next one.
    fn reaches_goal(&self, tree: &mut Tree, at: usize) -> bool {
        let (before, all) = (tree[at].reached, self.world.task.goals.len());
        while tree[at].reached < all {
            self.measure(tree, at);
            if tree[at].error.share > 1.0 {
                break;
            }
            tree[at].reached += 1;
        }
        tree[at].reached > before
    }

    /// Shows the caller where a search is. The error is a reason to end it.
    fn look(&mut self, attempt: usize, tree: &Tree, at: usize) -> Result<(), PlanEnd> {
        let node = &tree[at];
        let progress =
            Progress { attempt, steps: node.steps, goal: node.reached, error: node.error };
        if (self.look)(&progress).is_break() {
            return Err(PlanEnd::Stopped);
        }
        if self.is_late() { Err(PlanEnd::Time) } else { Ok(()) }
    }

    fn is_late(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Takes the steps to a node again from the start, as those who follow a plan do. Where a motion is
    /// sensitive, states differ by more than the tolerance of steps. Returns the last node, which is
    /// before the first goal that is missed.
    fn replay(&mut self, tree: &mut Tree, last: usize) -> (usize, PlanEnd) {
        let limited = std::mem::replace(&mut self.world.params, self.full);
        let again = self.follow(tree, last);
        self.world.params = limited;
        again
    }

    fn follow(&mut self, tree: &mut Tree, last: usize) -> (usize, PlanEnd) {
        let World { system, .. } = self.world;
        let (mut from, mut at) = (tree[0].from.clone(), 0);
        self.work = system.create_workspace();
        for node in tree.way_to(last).into_iter().skip(1) {
            let command = tree[node].from.before.clone();
            if let Err(why) = self.take(&mut from, &command) {
                return (at, PlanEnd::Failed(why));
            }
            at = tree.push(at, from.clone());
            self.measure(tree, at);
            while tree[at].reached < tree[node].reached {
                self.measure(tree, at);
                if tree[at].error.share > 1.0 {
                    return (at, PlanEnd::Stalled);
                }
                tree[at].reached += 1;
            }
        }
        (at, PlanEnd::Reached)
    }

    /// Leads all commands on straight lines to random ones, as far away as a few horizons lead. Ends at a
    /// step that has no answer, or that leaves bounds.
    fn wander(
        &mut self,
        planner: &Planner,
        tree: &mut Tree,
        first: usize,
        random: &mut Random,
    ) -> usize {
        let World { task, params, .. } = self.world;
        let (step, horizon) = planner.step();
        let from = &tree[first].from;
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
        let of_step =
            |k: usize| from.before.iter().zip(&change).map(move |(u, du)| u + k as f64 * du);
        let commands: Vec<f64> = (1..=steps as usize).flat_map(of_step).collect();
        self.lead(tree, first, &commands)
    }

    /// Takes given commands from a node, up to one that reaches all goals, a step that has no answer, or one
    /// that leaves bounds. Returns the last node.
    fn lead(&mut self, tree: &mut Tree, first: usize, commands: &[f64]) -> usize {
        let task = self.world.task;
        let (mut from, mut at) = (tree[first].from.clone(), first);
        self.work.start_from(Some(&from.warm));
        for u in commands.chunks_exact(from.before.len()) {
            let is_taken = self.take(&mut from, u).is_ok();
            let leaves = |q: &[f64]| task.states.iter().any(|bound| bound.excess(q) > 0.0);
            if !is_taken || tree[at].steps >= self.limits.steps || leaves(&from.state.q) {
                break;
            }
            at = tree.push(at, from.clone());
            if self.reaches_goal(tree, at) && tree[at].reached == task.goals.len() {
                break;
            }
        }
        at
    }

    /// Leads the joints from a node to a new grasp: the first that leads half of the way to the goal, else
    /// the best of some. Returns the last node; none if no way to a grasp is found.
    fn regrasp(
        &mut self,
        tree: &mut Tree,
        node: usize,
        attempt: &Attempt,
        random: &mut Random,
    ) -> Option<usize> {
        let patience = GLANCE.min(attempt.patience);
        let glance = Attempt { patience, planner: attempt.planner.clone(), ..*attempt };
        let divisions = self.limits.divisions;
        let mut regrasp = Regrasp::new(self.world, tree[node].from.clone(), random);
        let mut others = Vec::new();
        let mut drawn = 0;
        while drawn < GRASPS {
            if self.is_late() {
                return None;
            }
            let more = self.limits.threads.clamp(1, GRASPS - drawn);
            let grasps: Vec<From> = (0..more).filter_map(|_| regrasp.draw()).collect();
            drawn += more;
            let left = self.glance(&glance, &tree[node], &grasps);
            for (grasp, left) in grasps.into_iter().zip(left) {
                if left > 1.0 - PROGRESS[0] {
                    continue;
                }
                if left > ENOUGH {
                    others.push((left, grasp));
                } else if let Some(commands) = regrasp.commands(&grasp, divisions, random.next()) {
                    return Some(self.lead(tree, node, &commands));
                }
            }
        }
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut best = others.into_iter().take(PATHS);
        let commands =
            best.find_map(|(_, grasp)| regrasp.commands(&grasp, divisions, random.next()))?;
        Some(self.lead(tree, node, &commands))
    }

    /// Share of the way from a node to its goal that attempts from grasps leave, each in a thread.
    fn glance(&self, attempt: &Attempt, node: &Node, grasps: &[From]) -> Vec<f64> {
        let Self { full, limits, end, ref reaches, .. } = *self;
        let world = World { threads: 1, ..self.world };
        let left = |grasp: &From| {
            let mut look = |_: &Progress| ControlFlow::Continue(());
            let (work, reaches) = (world.system.create_workspace(), reaches.clone());
            let mut search = Search { world, full, limits, end, reaches, work, look: &mut look };
            let mut placed = Tree::new(grasp.clone());
            placed[0].reached = node.reached;
            let (end, _) = search.attempt(attempt, &mut placed, 0);
            let Node { reached, far, .. } = placed[end];
            if reached > node.reached { 0.0 } else { far / node.far }
        };
        match grasps {
            [grasp] => vec![left(grasp)],
            _ => std::thread::scope(|scope| {
                let spawn = |grasp| scope.spawn(move || left(grasp));
                let threads: Vec<_> = grasps.iter().map(spawn).collect();
                threads.into_iter().map(|own| own.join().expect("no thread panics")).collect()
            }),
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
