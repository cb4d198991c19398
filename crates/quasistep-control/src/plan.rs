//! Result of a search: a plan, and its optimality gap.

use crate::constraint::{AtStep, Relaxed};
use quasistep_qp::{MiqpLimit, Reason};

/// Outcome of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanStatus {
    /// The plan is optimal: `cost − bound` is within the requested gap.
    Optimal,
    /// The plan satisfies all constraints, but its cost exceeds `bound`: the search was stopped, or
    /// is local.
    Feasible(MiqpLimit),
    /// No plan satisfies all constraints; [`Plan::conflict`] lists the conflicting ones.
    Infeasible,
    /// The search was stopped before a plan was found.
    Unknown(MiqpLimit),
    /// The search failed for numerical reasons.
    Failed(Reason),
}

/// A plan over the horizon.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Outcome of the search. Without a plan, [`states`](Self::states), inputs, impulses and modes
    /// are empty.
    pub status: PlanStatus,
    /// `N + 1` states, beginning with the start state.
    pub states: Vec<Vec<f64>>,
    /// `N` inputs, of which the first is to be applied.
    pub inputs: Vec<Vec<f64>>,
    /// `N` vectors `gamma`, in the order of the model. The first acts during the first step, with
    /// the first input.
    pub impulses: Vec<Vec<f64>>,
    /// Cost of MpcNote (10), (19), including the start and the price of violated soft bounds.
    /// Infinite without a plan.
    pub cost: f64,
    /// Lower bound on the cost of any plan, valid for every status. Infinite if infeasible.
    pub bound: f64,
    /// Lower bound from the relaxation without contact modes.
    pub root: f64,
    /// Cost of the first plan found.
    pub first: f64,
    /// Number of nodes of the search, including the root.
    pub nodes: u64,
    /// Number of quadratic programs solved.
    pub qps: u64,
    /// Number of pivots in all quadratic programs.
    pub pivots: u64,
    /// Number of variables and of choices in the program, without contacts that cannot act.
    pub size: (usize, usize),
    /// Violated soft bounds, in order of time.
    pub relaxed: Vec<Relaxed>,
    /// If infeasible: the conflicting constraints, in order of time.
    pub conflict: Vec<AtStep>,
    /// Modes per step: one for each contact of [`Lcs::contacts`](crate::Lcs::contacts), then one
    /// for each plain pair, in the order of `gamma`. For a contact 0 and 1 are open, 2 and 3
    /// sticking, 4 and 5 sliding; odd numbers have the opposite sign of friction or motion. For a
    /// pair 0 means that its entry of `gamma` is zero, 1 that its row is zero.
    pub modes: Vec<Vec<u8>>,
}

/// No plan, as [`Mpc::plan`](crate::Mpc::plan) returns for an infeasible problem.
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

    /// True if the plan can be followed.
    pub fn is_usable(&self) -> bool {
        !self.inputs.is_empty()
    }

    /// Certified absolute gap `cost − bound`, ≥ 0; infinite without a plan.
    pub fn gap(&self) -> f64 {
        if self.cost.is_finite() { (self.cost - self.bound).max(0.0) } else { f64::INFINITY }
    }
}
