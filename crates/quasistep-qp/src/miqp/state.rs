//! Memory of the search, and the solution of one node.

use super::solution::{MiqpLimit, MiqpSettings};
use crate::active_set::{ActiveSet, Begin, End, Limits, Program, Side};
use crate::tolerances::DOUBT;

/// Limit of updates of the proximal centre at one node.
const ROUNDS: usize = 6;

/// Open node. Its masks are the last ones of `open_masks`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub bound: f64,
    /// Slot that holds the parent's factors.
    pub parent: usize,
    /// Where the node's own factors are stored.
    pub from: Origin,
}

/// Where a node's factors are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The parent's factors, in the parent's slot.
    Parent,
    /// The factors of the node's own trial, in the slot after the parent's.
    Slot,
    /// The factors of the node's own trial, in `waiting` at the index of the parent's slot.
    Waiting,
}

/// Incumbent: the best feasible point so far.
#[derive(Debug, Default)]
pub(super) struct Best {
    pub cost: f64,
    pub x: Vec<f64>,
    pub modes: Vec<u8>,
}

/// State and memory of the search.
#[derive(Debug, Default)]
pub(super) struct Search {
    pub settings: MiqpSettings,
    pub data: Program,
    /// Solved nodes by depth. A child starts from its parent's factors.
    pub slots: Vec<ActiveSet>,
    pub trial: ActiveSet,
    /// Both children of the current candidate; the next field holds those of the best candidate so
    /// far.
    pub halves: [ActiveSet; 2],
    pub best_halves: [ActiveSet; 2],
    /// For each depth of the parent, the child that is explored second.
    pub waiting: Vec<ActiveSet>,
    /// Active set of the last problem with fixed modes.
    pub fixed: ActiveSet,
    /// Constraints on the rows at the current node.
    pub sides: Vec<Side>,
    pub trial_sides: Vec<Side>,
    pub fixed_sides: Vec<Side>,
    /// Remaining modes of each choice at the current node.
    pub masks: Vec<u32>,
    pub open: Vec<Open>,
    pub open_masks: Vec<u32>,
    pub best: Best,
    /// Modes being tried.
    pub modes: Vec<u8>,
    pub tried: Vec<u8>,
    /// Slacks of unit rows at the current point, over the reference size of their rounding.
    pub slack: Vec<f64>,
    pub picks: Vec<Pick>,
    /// Children of each choice that were probed at the root: two bits for every split.
    pub probed: Vec<u64>,
    pub conflicting: Vec<bool>,
    /// Least lower bound among closed nodes.
    pub proven: f64,
    pub limit: Option<MiqpLimit>,
    pub first: f64,
    pub qps: u64,
}

/// Candidate choice for branching.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pick {
    pub choice: usize,
    pub half: u32,
    /// Rank of the split in the caller's order.
    pub rank: usize,
    /// Violation of the nearer child by the current point.
    pub distance: f64,
}

/// Proximal point method on a node, until its lower bound nearly equals its cost.
pub(super) fn solve(
    node: &mut ActiveSet,
    data: &Program,
    sides: &[Side],
    begin: Begin,
    limits: &Limits,
    gap: f64,
) -> End {
    let mut end = node.solve(data, sides, begin, limits);
    if data.singular {
        for _ in 0..ROUNDS {
            let doubt = data.cost(&node.x) - node.lower(data, limits.reach);
            if end != End::Solved || doubt <= DOUBT * gap {
                break;
            }
            node.recenter(data);
            end = node.solve(data, sides, Begin::Anew, limits);
        }
    }
    end
}
