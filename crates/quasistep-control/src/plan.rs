//! What comes out: a plan, and how good it is.

use crate::constraint::{AtStep, Relaxed};
use quasistep_solvers::{MiqpLimit, Reason};

/// How a plan came about.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanStatus {
    /// `cost − bound` is within the gap asked for: no plan is better.
    Optimal,
    /// A plan that keeps all constraints, and `bound` below its cost: the search was stopped, or is a
    /// local one.
    Feasible(MiqpLimit),
    /// No plan keeps all constraints; [`Plan::conflict`] says which ones clash.
    Infeasible,
    /// Stopped before a plan was found.
    Unknown(MiqpLimit),
    /// Numbers that cannot be worked with.
    Failed(Reason),
}

/// A plan over the horizon.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How it came about. [`states`](Self::states) and the like are empty without a plan.
    pub status: PlanStatus,
    /// `N + 1` states, the start first.
    pub states: Vec<Vec<f64>>,
    /// `N` inputs; apply the first.
    pub inputs: Vec<Vec<f64>>,
    /// `N` vectors `gamma`, in the order of the model; those of the first step act while the first
    /// input does.
    pub impulses: Vec<Vec<f64>>,
    /// The cost of MpcNote (10), (19), the start's included; what soft bounds cost is in it.
    /// Infinite without a plan.
    pub cost: f64,
    /// No plan costs less: valid for every status. Infinite if infeasible.
    pub bound: f64,
    /// Bound of the relaxation without contact modes.
    pub root: f64,
    /// Cost of the first plan found.
    pub first: f64,
    /// Nodes of the search, the root included.
    pub nodes: u64,
    /// Quadratic programs solved.
    pub qps: u64,
    /// Pivots in all of them.
    pub pivots: u64,
    /// Variables and choices of the program after leaving out what is out of reach.
    pub size: (usize, usize),
    /// Soft bounds that could not be held, in order of time.
    pub relaxed: Vec<Relaxed>,
    /// If infeasible: constraints that clash, in order of time.
    pub conflict: Vec<AtStep>,
    /// Modes per step, one for each contact of [`Lcs::contacts`](crate::Lcs::contacts) and pair of no contact in
    /// the order of `gamma`: of a contact 0, 1 open, 2, 3 sticking, 4, 5 sliding, the second of two for friction
    /// or motion the other way; of a pair 0 where its entry of `gamma` is zero, 1 where its row is.
    pub modes: Vec<Vec<u8>>,
}

/// No plan: what [`Mpc::plan`](crate::Mpc::plan) says of an infeasible problem.
impl Default for Plan {
    fn default() -> Self {
        Self::empty()
    }
}

impl Plan {
    pub(crate) fn empty() -> Self {
        Self {
            status: PlanStatus::Infeasible,
            states: Vec::new(),
            inputs: Vec::new(),
            impulses: Vec::new(),
            cost: f64::INFINITY,
            bound: f64::INFINITY,
            root: f64::INFINITY,
            first: f64::INFINITY,
            nodes: 0,
            qps: 0,
            pivots: 0,
            size: (0, 0),
            relaxed: Vec::new(),
            conflict: Vec::new(),
            modes: Vec::new(),
        }
    }

    /// True if there is a plan to follow.
    pub fn is_usable(&self) -> bool {
        !self.inputs.is_empty()
    }

    /// Certified absolute gap `cost − bound`, ≥ 0; infinite without a plan.
    pub fn gap(&self) -> f64 {
        if self.cost.is_finite() { (self.cost - self.bound).max(0.0) } else { f64::INFINITY }
    }
}
