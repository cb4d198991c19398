//! Settings, callbacks and solution of a search.

use quasistep_linalg::Reason;

/// Settings of the branch and bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MiqpSettings {
    /// Absolute optimality gap, in units of the cost, ≥ 0: a point whose cost exceeds the lower
    /// bound by at most this is optimal. Default 1e-9. (A relative gap would depend on an additive
    /// constant of the cost.)
    pub absolute_gap: f64,
    /// Limit of nodes; 0 means no limit (the default). With 1 the search computes the root's bound
    /// and tries the proposals only.
    pub max_nodes: u64,
    /// Whether to solve both children of every choice at the root, and drop those that cannot
    /// contain the optimum. Default true.
    pub probing: bool,
    /// Radius of validity of the lower bound: it covers points whose variables without curvature
    /// differ from a node's minimiser by at most this. Default 1e3, in units of the variables.
    pub reach: f64,
    /// Limit of work of a search, in multiply-adds as counted by [`MiqpSolution::work`]. Default
    /// `u64::MAX`, no limit.
    pub work_limit: u64,
}

impl Default for MiqpSettings {
    fn default() -> Self {
        Self { absolute_gap: 1e-9, max_nodes: 0, probing: true, reach: 1e3, work_limit: u64::MAX }
    }
}

/// Callback that receives a point (length `n`) and writes a mode for every choice; returns false if
/// it has no proposal.
pub type Propose<'a> = dyn FnMut(&[f64], &mut [u8]) -> bool + 'a;

/// Callbacks and starting modes of the caller.
#[derive(Default)]
pub struct Hooks<'a> {
    /// Starting modes, one entry per choice. A later start is tried only if the earlier ones are
    /// infeasible.
    pub starts: &'a [&'a [u8]],
    /// Called before every node and trial; true stops the search. It takes effect once there is an
    /// incumbent, or once the proposals have failed to give one. The crate reads no clock.
    pub stop: Option<&'a mut dyn FnMut() -> bool>,
    /// Proposal heuristic. It receives a relaxed or feasible point and writes a mode worth trying
    /// for every choice, or returns false. It is called again at the resulting point while the
    /// modes change.
    pub propose: Option<&'a mut Propose<'a>>,
}

/// Reason why a search ended before optimality was proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MiqpLimit {
    /// [`Hooks::stop`] returned true.
    Stopped,
    /// [`MiqpSettings::max_nodes`] was reached.
    Nodes,
    /// [`MiqpSettings::work_limit`] was reached.
    Work,
    /// A node could not be solved; its parent's bound is used instead.
    Accuracy,
}

/// Outcome of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MiqpStatus {
    /// The incumbent is optimal: `cost − bound ≤ absolute_gap`.
    Optimal,
    /// A feasible point was found, but the search ended before it was proved optimal.
    Feasible(MiqpLimit),
    /// No point satisfies all rows and one mode of every choice. [`MiqpSolution::conflict`] lists
    /// inconsistent rows.
    Infeasible,
    /// The search ended before a feasible point was found; `bound` is valid.
    Unknown(MiqpLimit),
    /// The data are invalid.
    Failed(Reason),
}

/// Result of a search. Reuse one value for several searches: its memory is kept.
#[derive(Clone, Debug)]
pub struct MiqpSolution {
    /// Outcome of the search.
    pub status: MiqpStatus,
    /// Best feasible point found, length `n`; zeros if there is none.
    pub x: Vec<f64>,
    /// Mode of each choice at the best point; empty if there is none.
    pub modes: Vec<u8>,
    /// Cost of the best point; infinite if there is none.
    pub cost: f64,
    /// Lower bound of the cost of all feasible points, valid for every outcome. Infinite if
    /// infeasible, `−∞` if nothing is known.
    pub bound: f64,
    /// Cost of the relaxation without choices, which is also a lower bound.
    pub root: f64,
    /// Cost of the first feasible point found.
    pub first: f64,
    /// Largest violation of a row by `x`, for rows scaled to length one.
    pub violation: f64,
    /// Number of nodes taken from the tree, including the root.
    pub nodes: u64,
    /// Number of quadratic programs solved: nodes, trials, probes and proposals.
    pub qps: u64,
    /// Number of pivots of all quadratic programs: rows that entered or left a working set.
    pub pivots: u64,
    /// Multiply-adds of all pivots, counted from matrix sizes, so they are the same on every
    /// machine.
    pub work: u64,
    /// If infeasible, the rows of all Farkas certificates, ascending. If the root relaxation is
    /// infeasible, only the rows of its certificate.
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
    /// Proved optimality gap `cost − bound`; infinite without a feasible point.
    pub fn gap(&self) -> f64 {
        if self.cost.is_finite() { (self.cost - self.bound).max(0.0) } else { f64::INFINITY }
    }
}
