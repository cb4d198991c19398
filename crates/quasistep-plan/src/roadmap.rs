//! What searches from one start found, kept for the next goals.

use crate::planner::{Limits, Plan, Planner, Progress};
use crate::rollout::{From, World};
use crate::search::{Search, WORK, check_start};
use crate::task::{Task, TaskError};
use crate::tree::Tree;
use quasistep::{State, StepParams, System, WarmStart};
use std::ops::ControlFlow;

/// States that commands lead to from one start: a tree, each state behind the one before.
///
/// Made once for a start, a roadmap answers later goals from the state that is nearest to each. A search
/// adds what it finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Roadmap {
    /// Time between two commands, in s.
    time_step: f64,
    /// Command at the start.
    before: Vec<f64>,
    /// Index of the node before; the start, node 0, is its own.
    parents: Vec<usize>,
    /// Configurations, row by row.
    q: Vec<f64>,
    /// Commands that lead there, row by row; those of the start first.
    commands: Vec<f64>,
    children: Vec<Vec<usize>>,
}

impl Roadmap {
    /// The start alone; its plans have a command each `time_step` (s).
    pub fn new(q: &[f64], before: &[f64], time_step: f64) -> Self {
        Self {
            time_step,
            before: before.to_vec(),
            parents: vec![0],
            q: q.to_vec(),
            commands: before.to_vec(),
            children: vec![Vec::new()],
        }
    }

    /// A roadmap from its arrays: parents, configurations and commands of all nodes, row by row.
    ///
    /// # Errors
    ///
    /// A text that says what does not fit.
    pub fn from_arrays(
        parents: Vec<usize>,
        q: Vec<f64>,
        commands: Vec<f64>,
        (n_q, n_cmd): (usize, usize),
        time_step: f64,
    ) -> Result<Self, String> {
        let n = parents.len();
        if n == 0 || q.len() != n * n_q || commands.len() != n * n_cmd {
            return Err(format!(
                "{n} nodes, {} numbers of configurations and {} of commands; each node has {n_q} and {n_cmd}",
                q.len(),
                commands.len()
            ));
        }
        let mut children = vec![Vec::new(); n];
        for (node, &parent) in parents.iter().enumerate().skip(1) {
            if parent >= node {
                return Err(format!("node {node} stands behind node {parent}; parents come first"));
            }
            children[parent].push(node);
        }
        if let Some(x) = q.iter().chain(&commands).find(|x| !x.is_finite()) {
            return Err(format!("{x} is no finite number"));
        }
        Ok(Self { time_step, before: commands[..n_cmd].to_vec(), parents, q, commands, children })
    }

    /// Parents, configurations and commands of all nodes.
    pub fn arrays(&self) -> (&[usize], &[f64], &[f64]) {
        (&self.parents, &self.q, &self.commands)
    }

    /// Time between two commands of its plans, in s.
    pub const fn time_step(&self) -> f64 {
        self.time_step
    }

    /// Number of states, the start among them.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// False: it has a start.
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// Configuration and command at the start.
    pub fn start(&self) -> (&[f64], &[f64]) {
        (self.row(0).0, &self.before)
    }

    fn row(&self, node: usize) -> (&[f64], &[f64]) {
        let (n, n_cmd) = (self.len(), self.before.len());
        let n_q = self.q.len() / n;
        (&self.q[node * n_q..(node + 1) * n_q], &self.commands[node * n_cmd..(node + 1) * n_cmd])
    }

    /// Adds the states of a plan, as far as they are new.
    fn add(&mut self, plan: &Plan) {
        let (n_q, n_cmd) = (self.row(0).0.len(), self.before.len());
        let mut at = 0;
        let rows = plan.q.chunks_exact(n_q).skip(1).zip(plan.commands.chunks_exact(n_cmd));
        for (q, command) in rows {
            let same = |child: &&usize| self.row(**child).1 == command;
            if let Some(known) = self.children[at].iter().find(same) {
                at = *known;
                continue;
            }
            let new = self.len();
            self.children[at].push(new);
            self.children.push(Vec::new());
            self.parents.push(at);
            self.q.extend(q);
            self.commands.extend(command);
            at = new;
        }
    }

    /// Searches for commands that bring the system from the start to the goals of the task in turn, as
    /// [`plan`](crate::plan()) does: the first four attempts from the states that are nearest to the first goal, each
    /// on another way. Adds what its attempts reach.
    ///
    /// # Errors
    ///
    /// [`TaskError`] if the task does not fit the system.
    pub fn plan(
        &mut self,
        system: &System,
        params: &StepParams,
        task: &Task,
        planner: &Planner,
        limits: &Limits,
        look: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Plan, TaskError> {
        check_start(system, params, (self.row(0).0, &self.before), task)?;
        if params.time_step != self.time_step {
            let (what, value) =
                ("the time step of a plan on this roadmap".to_owned(), params.time_step);
            return Err(TaskError::Number { what, value, rule: "that of the roadmap" });
        }
        if params.formulation.carries_velocity() {
            return Err(TaskError::Commands(
                "roadmaps hold configurations alone; dynamic steps also start from velocities",
            ));
        }
        let from = |node: usize| {
            let (q, command) = self.row(node);
            let state = State::at_rest(0.0, q.to_vec());
            From { state, warm: WarmStart::default(), before: command.to_vec() }
        };
        let mut tree = Tree::new(from(0));
        for node in 1..self.len() {
            tree.push(self.parents[node], from(node));
        }
        let leaves: Vec<usize> =
            (0..self.len()).filter(|node| self.children[*node].is_empty()).collect();
        let limited = StepParams { work_limit: params.work_limit.min(WORK), ..params.clone() };
        let world = World { system, params: &limited, task, threads: limits.threads };
        let mut search = Search::new(world, params, limits, look);
        let found = search.go_on(&mut tree, &leaves, planner);
        for end in tree.ends_after(leaves.len()) {
            self.add(&tree.plan(end, found.status.clone(), params.time_step));
        }
        self.add(&found);
        Ok(found)
    }
}
