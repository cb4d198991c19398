//! Branch and bound. Start reading in [`Search::run`].
//!
//! A node is a set of modes for every choice. Its rows have the constraints that all modes of the
//! set imply. So the two children of a node together cover all its modes.
//!
//! A node is closed in three cases: it is infeasible; its lower bound is within the gap of the
//! incumbent; or its minimiser satisfies a mode of each choice, and fixing these modes does not
//! increase the cost. A child starts from its own trial in the strong branching of its parent.

use super::branch::Trial;
use super::problem::{Miqp, bits};
use super::solution::{Hooks, MiqpLimit, MiqpSolution, MiqpStatus};
use super::state::{Open, Origin, Search, solve};
use crate::active_set::{ActiveSet, Begin, End, Limits, Program};
use crate::tolerances::{NO_CURVATURE, NODE_DEPENDENT, NODE_PROXIMAL, PROOF};
use quasistep_linalg::Reason;

impl Search {
    pub fn prepare(&mut self, miqp: &Miqp<'_>) -> Result<(), Reason> {
        let (p, n) = (&mut self.data, miqp.n);
        p.clear(n);
        p.c[..n].copy_from_slice(miqp.c);
        for (i, row) in miqp.P.chunks_exact(n.max(1)).enumerate() {
            p.P_mut(i)[..n].copy_from_slice(row);
        }
        p.push_rows(miqp.A, miqp.b, |_| 1.0);
        // variables without reliable curvature get a proximal term
        let mean = (0..n).map(|i| p.P(i)[i].abs()).sum::<f64>() / n.max(1) as f64;
        let lift = |_, own: f64, pivot: f64| {
            let own = own.abs();
            if pivot > NO_CURVATURE * own {
                return Some(0.0);
            }
            let size = [own, mean, 1.0].into_iter().find(|s| *s > 0.0).unwrap_or(1.0);
            let convex = pivot >= -NO_CURVATURE * own.max(mean);
            convex.then_some(NODE_PROXIMAL * size + (-pivot).max(0.0))
        };
        p.factor(lift).map_err(|_| Reason::NotConvex)
    }

    pub fn run(
        &mut self,
        miqp: &Miqp<'_>,
        hooks: &mut Hooks<'_>,
        out: &mut MiqpSolution,
    ) -> MiqpStatus {
        self.data.budget.start(self.settings.work_limit);
        self.reset(miqp);
        let root = self.solve_root(miqp);
        out.root = root;
        if root < f64::INFINITY && self.limit.is_none() {
            self.propose_at_root(miqp, hooks);
            let mut unprobed = self.settings.probing && self.best.cost == f64::INFINITY;
            if self.settings.probing {
                self.probe(miqp, hooks);
            }
            self.push(root, 0, Origin::Parent);
            while let Some(node) = self.open.pop() {
                self.pop_masks(miqp);
                if node.bound >= self.cutoff() {
                    self.close(node.bound);
                } else if !miqp.choices.is_empty() && self.over(out.nodes, hooks) {
                    self.close(node.bound);
                    break;
                } else {
                    out.nodes += 1;
                    self.explore(miqp, hooks, node, out.nodes);
                }
                if unprobed && self.best.cost < f64::INFINITY && !self.open.is_empty() {
                    unprobed = false;
                    self.begin_again(miqp, hooks, root);
                }
            }
            // depth-first search
            while let Some(node) = self.open.pop() {
                self.close(node.bound);
            }
        } else {
            out.nodes = 1;
            self.close(root);
        }
        out.root_infeasible = root == f64::INFINITY;
        self.write(miqp, out)
    }

    /// Restarts a tree that began without an incumbent, and probes the root with the incumbent
    /// found.
    fn begin_again(&mut self, miqp: &Miqp<'_>, hooks: &mut Hooks<'_>, root: f64) {
        self.open.clear();
        self.open_masks.clear();
        self.proven = f64::INFINITY;
        self.allow_all(miqp);
        self.write_sides(miqp);
        self.probe(miqp, hooks);
        self.push(root, 0, Origin::Parent);
    }

    /// Allows every mode of every choice.
    fn allow_all(&mut self, miqp: &Miqp<'_>) {
        self.masks.clear();
        self.masks.extend((0..miqp.choices.len()).map(|k| miqp.choices.all(k)));
    }

    fn reset(&mut self, miqp: &Miqp<'_>) {
        self.allow_all(miqp);
        self.open.clear();
        self.open_masks.clear();
        self.best.cost = f64::INFINITY;
        self.best.x.clear();
        self.best.modes.clear();
        self.modes.clear();
        self.modes.resize(miqp.choices.len(), 0);
        self.tried.clear();
        self.conflicting.clear();
        self.conflicting.resize(self.data.m(), false);
        self.proven = f64::INFINITY;
        self.first = f64::INFINITY;
        self.limit = None;
        self.qps = 0;
        if self.slots.is_empty() {
            self.slots.push(ActiveSet::default());
        }
        let halves = self.halves.iter_mut().chain(&mut self.best_halves);
        let others = [&mut self.trial, &mut self.fixed].into_iter().chain(halves);
        for node in self.slots.iter_mut().chain(&mut self.waiting).chain(others) {
            node.pivots = 0;
            node.reserve(self.data.n, self.data.m());
        }
    }

    /// Writes the constraints that the current masks imply to `sides`.
    pub fn write_sides(&mut self, miqp: &Miqp<'_>) {
        self.sides.clear();
        self.sides.extend_from_slice(miqp.sides);
        for (choice, &mask) in self.masks.iter().enumerate() {
            for (k, &row) in miqp.choices.rows(choice).iter().enumerate() {
                let side = &mut self.sides[row as usize];
                *side = side.and(miqp.choices.common(choice, mask, k));
            }
        }
    }

    /// Solves the relaxation in slot 0 and returns its lower bound; infinite if it is infeasible.
    fn solve_root(&mut self, miqp: &Miqp<'_>) -> f64 {
        self.write_sides(miqp);
        self.slots[0].start(&self.data);
        self.fixed.copy_from(&self.slots[0]);
        let end = self.solve_proximal(0, Begin::Anew, f64::INFINITY);
        match end {
            End::Infeasible { row } => {
                self.note_conflict(|s| &s.slots[0], row);
                f64::INFINITY
            }
            End::Pivots => {
                self.inaccurate();
                f64::NEG_INFINITY
            }
            _ => {
                self.fixed.copy_from(&self.slots[0]);
                self.slots[0].lower(&self.data, self.settings.reach)
            }
        }
    }

    /// Proximal point method in slot `at` for `sides`, until the proximal term hardly affects the
    /// lower bound.
    pub fn solve_proximal(&mut self, at: usize, begin: Begin, cutoff: f64) -> End {
        self.qps += 1;
        let limits = self.limits(cutoff);
        let node = &mut self.slots[at];
        solve(node, &self.data, &self.sides, begin, &limits, self.settings.absolute_gap)
    }

    pub fn limits(&self, cutoff: f64) -> Limits {
        Limits {
            dependent: NODE_DEPENDENT,
            cutoff,
            reach: self.settings.reach,
            max_pivots: self.data.most_pivots(),
        }
    }

    pub fn cutoff(&self) -> f64 {
        self.best.cost - self.settings.absolute_gap
    }

    /// Records the lower bound of a closed node.
    pub fn close(&mut self, bound: f64) {
        self.proven = self.proven.min(bound);
    }

    /// Marks the rows of an active set's Farkas certificate.
    pub fn note_conflict(&mut self, set: impl Fn(&Self) -> &ActiveSet, row: u32) {
        let mut conflicting = std::mem::take(&mut self.conflicting);
        let set = set(self);
        let largest = quasistep_linalg::kernels::max_abs(&set.factors.r);
        for (i, factor) in set.contradiction(row) {
            conflicting[i as usize] |= i == row || factor.abs() > PROOF * largest;
        }
        self.conflicting = conflicting;
    }

    fn push(&mut self, bound: f64, parent: usize, from: Origin) {
        self.open.push(Open { bound, parent, from });
        self.open_masks.extend_from_slice(&self.masks);
    }

    fn pop_masks(&mut self, miqp: &Miqp<'_>) {
        let from = self.open_masks.len() - miqp.choices.len();
        self.masks.copy_from_slice(&self.open_masks[from..]);
        self.open_masks.truncate(from);
    }

    pub fn stopped(&mut self, hooks: &mut Hooks<'_>) -> bool {
        if self.data.budget.is_spent() {
            self.limit = Some(MiqpLimit::Work);
        } else if self.limit.is_none() && hooks.stop.as_mut().is_some_and(|stop| stop()) {
            self.limit = Some(MiqpLimit::Stopped);
        }
        matches!(self.limit, Some(MiqpLimit::Stopped | MiqpLimit::Work))
    }

    fn over(&mut self, nodes: u64, hooks: &mut Hooks<'_>) -> bool {
        if self.settings.max_nodes > 0 && nodes >= self.settings.max_nodes {
            self.limit = Some(MiqpLimit::Nodes);
            return true;
        }
        self.stopped(hooks)
    }

    /// Solves one node. Closes it, or pushes its two children on the stack, the better one on top.
    fn explore(&mut self, miqp: &Miqp<'_>, hooks: &mut Hooks<'_>, node: Open, number: u64) {
        let Open { mut bound, parent, from } = node;
        let at = parent + 1;
        self.make_slot(at);
        match from {
            Origin::Slot => {}
            Origin::Waiting => std::mem::swap(&mut self.slots[at], &mut self.waiting[parent]),
            Origin::Parent => {
                let (above, below) = self.slots.split_at_mut(at);
                below[0].copy_from(&above[parent]);
            }
        }
        loop {
            self.write_sides(miqp);
            match self.solve_proximal(at, Begin::Child, self.cutoff()) {
                End::Solved => {}
                End::Cut => {
                    return self.close(self.slots[at].lower(&self.data, self.settings.reach));
                }
                End::Infeasible { row } => return self.note_conflict(|s| &s.slots[at], row),
                End::Pivots => {
                    self.inaccurate();
                    return self.close(bound);
                }
            }
            bound = bound.max(self.slots[at].lower(&self.data, self.settings.reach));
            if bound >= self.cutoff() {
                return self.close(bound);
            }
            self.find_picks(miqp, at);
            if self.picks.is_empty() {
                if self.finish_leaf(miqp, at) || bound >= self.cutoff() {
                    return self.close(bound);
                }
                self.find_any_pick(miqp);
                if self.picks.is_empty() {
                    self.inaccurate();
                    return self.close(bound);
                }
            } else if number.is_power_of_two() || self.best.cost == f64::INFINITY {
                // the optimum is mostly found at the first nodes
                self.propose_from(miqp, hooks, at);
                if bound >= self.cutoff() {
                    return self.close(bound);
                }
            }
            match self.try_out(miqp, hooks, at, bound) {
                Trial::Closed => return,
                Trial::Reduced => {}
                Trial::Stopped => return self.close(bound),
                Trial::Branch { choice, halves, bounds } => {
                    let better = usize::from(bounds[1] < bounds[0]);
                    for (half, from) in [(1 - better, Origin::Waiting), (better, Origin::Slot)] {
                        let from =
                            if self.keep_half(at, half, from) { from } else { Origin::Parent };
                        self.masks[choice] = halves[half];
                        self.push(bounds[half].max(bound), at, from);
                    }
                    return;
                }
            }
        }
    }

    fn make_slot(&mut self, at: usize) {
        grow(&mut self.slots, at, &self.data);
    }

    /// Moves one of `best_halves`, a child of slot `at`, to its storage; returns false if its trial
    /// was not solved.
    fn keep_half(&mut self, at: usize, half: usize, to: Origin) -> bool {
        self.make_slot(at + 1);
        grow(&mut self.waiting, at, &self.data);
        let node = &mut self.best_halves[half];
        let place =
            if to == Origin::Slot { &mut self.slots[at + 1] } else { &mut self.waiting[at] };
        std::mem::swap(node, place);
        place.ended
    }

    fn write(&mut self, miqp: &Miqp<'_>, out: &mut MiqpSolution) -> MiqpStatus {
        out.qps = self.qps;
        out.work = self.data.budget.spent();
        let halves = self.halves.iter().chain(&self.best_halves);
        let others = [&self.trial, &self.fixed].into_iter().chain(halves);
        let nodes = self.slots.iter().chain(&self.waiting).chain(others);
        out.pivots = nodes.map(|node| node.pivots).sum();
        out.first = self.first;
        out.bound = self.proven.min(self.best.cost);
        if self.best.cost < f64::INFINITY {
            out.cost = self.best.cost;
            out.x.copy_from_slice(&self.best.x[..self.data.n]);
            out.modes.extend_from_slice(&self.best.modes);
            self.modes.copy_from_slice(&self.best.modes);
            self.write_fixed_sides(miqp);
            out.violation = (0..self.data.m())
                .map(|i| self.fixed_sides[i].violation(self.data.slack(i, &self.best.x)))
                .fold(0.0, f64::max);
            return match self.limit {
                _ if out.cost - out.bound <= self.settings.absolute_gap => MiqpStatus::Optimal,
                Some(limit) => MiqpStatus::Feasible(limit),
                None => MiqpStatus::Feasible(MiqpLimit::Accuracy),
            };
        }
        match self.limit {
            Some(limit) => MiqpStatus::Unknown(limit),
            None if self.proven < f64::INFINITY => MiqpStatus::Unknown(MiqpLimit::Accuracy),
            None => {
                let rows = (0..self.data.m() as u32).filter(|&i| self.conflicting[i as usize]);
                out.conflict.extend(rows);
                MiqpStatus::Infeasible
            }
        }
    }

    /// Writes the constraints of one mode per choice to `sides`.
    pub fn write_fixed_sides(&mut self, miqp: &Miqp<'_>) {
        self.fixed_sides.clear();
        self.fixed_sides.extend_from_slice(miqp.sides);
        for (choice, &mode) in self.modes.iter().enumerate() {
            let demands = miqp.choices.demands(choice, mode as usize);
            for (&row, &demand) in miqp.choices.rows(choice).iter().zip(demands) {
                let side = &mut self.fixed_sides[row as usize];
                *side = side.and(demand);
            }
        }
    }

    /// Finds the mode of each mask that the current point violates least, the lowest among equals.
    pub fn nearest_modes(&mut self, miqp: &Miqp<'_>) {
        for choice in 0..self.masks.len() {
            let mut least = f64::INFINITY;
            for mode in bits(self.masks[choice]) {
                let v = self.mode_violation(miqp, choice, mode);
                if v < least {
                    least = v;
                    self.modes[choice] = mode as u8;
                }
            }
        }
    }
}

/// Extends `nodes` so that index `at` exists.
fn grow(nodes: &mut Vec<ActiveSet>, at: usize, data: &Program) {
    while nodes.len() <= at {
        let mut node = ActiveSet::default();
        node.reserve(data.n, data.m());
        nodes.push(node);
    }
}
