//! Mixed-integer quadratic programs with disjunctions of rows: branch and bound, without big-M. Here are settings, hooks and
//! answer; start reading in `search.rs`.

mod branch;
mod incumbent;
mod problem;
mod search;

pub use problem::{Choices, Miqp};

use crate::Reason;
use crate::kernels::zeros;
use search::Search;

/// Settings of the branch and bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MiqpSettings {
    /// An answer whose cost is within this of its lower bound is optimal; absolute, in units of
    /// the cost, ≥ 0. Default 1e-9. A relative gap would count a constant of the cost as progress.
    pub absolute_gap: f64,
    /// Most nodes; 0 for no limit (the default). With 1, the root's bound and what the proposals find.
    pub max_nodes: u64,
    /// Whether to solve both halves of every choice at the root, and drop those that cannot hold the best answer. Default true.
    pub probing: bool,
    /// The bound covers answers within this distance of a node's, in every variable without
    /// curvature. Default 1e3, in units of the variables.
    pub reach: f64,
    /// Most work of a search, in multiply-adds as [`MiqpSolution::work`] counts them. Default `u64::MAX`, no
    /// limit.
    pub work_limit: u64,
}

impl Default for MiqpSettings {
    fn default() -> Self {
        Self { absolute_gap: 1e-9, max_nodes: 0, probing: true, reach: 1e3, work_limit: u64::MAX }
    }
}

/// Given a point, writes a mode per choice; false for none.
pub type Propose<'a> = dyn FnMut(&[f64], &mut [u8]) -> bool + 'a;

/// Callbacks and starts of the caller: a clock, good modes, a simulator.
#[derive(Default)]
pub struct Hooks<'a> {
    /// Modes to begin with, one entry per choice; a later start is only tried if those before lead to no answer.
    pub starts: &'a [&'a [u8]],
    /// Called before every node and trial: true stops the search, once it has an answer or its proposals lead to
    /// none. The crate reads no clock.
    pub stop: Option<&'a mut dyn FnMut() -> bool>,
    /// Given a point of a relaxation or a feasible one, writes a mode per choice worth trying;
    /// false for none. It is called again with their answer, as long as the modes change.
    pub propose: Option<&'a mut Propose<'a>>,
}

/// Why a search ended before its proof was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MiqpLimit {
    /// [`Hooks::stop`] returned true.
    Stopped,
    /// [`MiqpSettings::max_nodes`].
    Nodes,
    /// [`MiqpSettings::work_limit`].
    Work,
    /// A node could not be solved; its parent's bound replaces its own.
    Accuracy,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MiqpStatus {
    /// `cost − bound ≤ absolute_gap`.
    Optimal,
    /// A feasible answer with `bound` below it: the search was stopped.
    Feasible(MiqpLimit),
    /// No point satisfies all rows and some mode of every choice;
    /// [`MiqpSolution::conflict`] names inconsistent rows.
    Infeasible,
    /// Stopped before a feasible answer was found; `bound` is valid.
    Unknown(MiqpLimit),
    /// The data are not valid.
    Failed(Reason),
}

/// Answer of a search. Reuse one value: its memory is kept.
#[derive(Clone, Debug)]
pub struct MiqpSolution {
    /// How it ended.
    pub status: MiqpStatus,
    /// Best point found, length `n`; zeros if there is none.
    pub x: Vec<f64>,
    /// Mode of each choice at the best point; empty if there is none.
    pub modes: Vec<u8>,
    /// Cost of the best point; infinite if there is none.
    pub cost: f64,
    /// No feasible point costs less: valid however the search ended. Infinite if infeasible,
    /// `−∞` if nothing is known.
    pub bound: f64,
    /// Cost of the relaxation without choices, a lower bound too.
    pub root: f64,
    /// Cost of the first feasible point.
    pub first: f64,
    /// Largest violation of a row by `x`, rows scaled to length one.
    pub violation: f64,
    /// Nodes taken from the tree, the root included.
    pub nodes: u64,
    /// Quadratic programs solved: nodes, trials, probes and proposals.
    pub qps: u64,
    /// Pivots of all quadratic programs: rows that entered or left a working set.
    pub pivots: u64,
    /// Multiply-adds of all pivots, counted from the problem's sizes: the same number on every machine.
    pub work: u64,
    /// If infeasible, the rows of all Farkas certificates, ascending. If the root is infeasible
    /// already, the rows of its certificate alone.
    pub conflict: Vec<u32>,
    /// Whether the relaxation without choices is infeasible.
    pub root_infeasible: bool,
}

impl Default for MiqpSolution {
    fn default() -> Self {
        Self {
            status: MiqpStatus::Unknown(MiqpLimit::Stopped),
            x: Vec::new(),
            modes: Vec::new(),
            cost: f64::INFINITY,
            bound: f64::NEG_INFINITY,
            root: f64::NEG_INFINITY,
            first: f64::INFINITY,
            violation: 0.0,
            nodes: 0,
            qps: 0,
            pivots: 0,
            work: 0,
            conflict: Vec::new(),
            root_infeasible: false,
        }
    }
}

impl MiqpSolution {
    /// `cost − bound`, certified; infinite without an answer.
    pub fn gap(&self) -> f64 {
        if self.cost.is_finite() { (self.cost - self.bound).max(0.0) } else { f64::INFINITY }
    }
}

/// Branch and bound for [`Miqp`], and its memory; holds no meaning between calls.
///
/// ```
/// use quasistep_solvers::{Choices, Hooks, Miqp, MiqpSettings, MiqpSolution, MiqpSolver, MiqpStatus, Rows, Side};
///
/// // the point nearest to (2, 1) with x, y ≥ 0 and x y = 0
/// let (mut rows, mut choices) = (Rows::new(), Choices::new());
/// rows.push(&[0], &[1.0]);
/// rows.push(&[1], &[1.0]);
/// choices.push_pair(0, 1);
/// let miqp = Miqp {
///     n: 2, P: &[1.0, 0.0, 0.0, 1.0], c: &[-2.0, -1.0], A: &rows, b: &[0.0, 0.0],
///     sides: &[Side::AtLeast; 2], choices: &choices,
/// };
/// let mut solution = MiqpSolution::default();
/// MiqpSolver::new().solve(&miqp, &MiqpSettings::default(), &mut Hooks::default(), &mut solution);
/// assert_eq!(solution.status, MiqpStatus::Optimal);
/// assert_eq!((solution.x[0], solution.modes[0]), (2.0, 1));
/// ```
#[derive(Debug, Default)]
pub struct MiqpSolver {
    search: Search,
}

impl MiqpSolver {
    /// Empty memory; grows with the largest problem seen.
    pub fn new() -> Self {
        Self::default()
    }

    /// Searches for the best point of `miqp`, and writes everything in `out`.
    ///
    /// Every input gets a status: bad data end in [`MiqpStatus::Failed`]. Allocates nothing once
    /// a problem of this size and depth has been solved.
    pub fn solve(
        &mut self,
        miqp: &Miqp<'_>,
        settings: &MiqpSettings,
        hooks: &mut Hooks<'_>,
        out: &mut MiqpSolution,
    ) {
        let (mut x, mut modes) = (std::mem::take(&mut out.x), std::mem::take(&mut out.modes));
        let mut conflict = std::mem::take(&mut out.conflict);
        zeros(&mut x, miqp.n);
        modes.clear();
        conflict.clear();
        *out = MiqpSolution { x, modes, conflict, ..MiqpSolution::default() };
        if let Err(reason) = miqp.check().and_then(|()| self.search.prepare(miqp)) {
            out.status = MiqpStatus::Failed(reason);
            return;
        }
        self.search.settings = *settings;
        out.status = self.search.run(miqp, hooks, out);
    }
}
