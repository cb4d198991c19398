//! Incumbents: QPs with fixed modes, the caller's proposals, and local search.

use super::branch::write_shares;
use super::problem::{Miqp, bits};
use super::solution::Hooks;
use super::state::{Search, solve};
use crate::active_set::{Begin, End};
use crate::tolerances::{HOLDS, WORTH_A_SWITCH};
use quasistep_linalg::kernels::max_abs;

/// Limit of consecutive proposals.
const PROPOSALS: usize = 20;

/// Limit of passes of the local search at a point.
const SWITCHES: usize = 20;

impl Search {
    /// Tries the caller's starts until one is feasible. If none is, tries proposals at the
    /// relaxation and at the resulting points.
    pub fn propose_at_root(&mut self, miqp: &Miqp<'_>, hooks: &mut Hooks<'_>) {
        for start in hooks.starts {
            let fits = start.len() == self.modes.len()
                && start.iter().enumerate().all(|(c, &m)| (m as usize) < miqp.choices.modes(c));
            if fits && !self.enough(hooks) {
                self.modes.copy_from_slice(start);
                self.improve(miqp, hooks);
            }
            if self.best.cost < f64::INFINITY {
                return;
            }
        }
        self.write_slack(0);
        self.nearest_modes(miqp);
        self.improve(miqp, hooks);
        self.propose_from(miqp, hooks, 0);
    }

    /// Asks the caller for modes at the point of a slot, and tries them.
    pub fn propose_from(&mut self, miqp: &Miqp<'_>, hooks: &mut Hooks<'_>, at: usize) {
        let Some(propose) = hooks.propose.as_mut() else { return };
        if propose(&self.slots[at].x[..miqp.n], &mut self.modes) && self.modes_fit(miqp) {
            self.improve(miqp, hooks);
        }
    }

    /// Whether to stop. A search without incumbent still looks for the first one.
    fn enough(&mut self, hooks: &mut Hooks<'_>) -> bool {
        self.stopped(hooks) && self.best.cost < f64::INFINITY
    }

    fn modes_fit(&self, miqp: &Miqp<'_>) -> bool {
        self.modes.iter().enumerate().all(|(c, &m)| (m as usize) < miqp.choices.modes(c))
    }

    /// Solves with fixed `modes`, asks the caller for better modes at the solution, and repeats
    /// while they change.
    fn improve(&mut self, miqp: &Miqp<'_>, hooks: &mut Hooks<'_>) {
        for _ in 0..PROPOSALS {
            if self.modes == self.tried || self.enough(hooks) {
                return;
            }
            self.tried.clear();
            self.tried.extend_from_slice(&self.modes);
            let before = self.best.cost;
            let Some(cost) = self.try_modes(miqp) else { return };
            let better = cost < before;
            if better {
                self.switch(miqp, hooks);
            }
            let Some(propose) = hooks.propose.as_mut() else { return };
            let x = if better { &self.best.x } else { &self.fixed.x };
            if !propose(&x[..miqp.n], &mut self.modes) || !self.modes_fit(miqp) {
                return;
            }
        }
    }

    /// Solves with fixed `modes`, and keeps the point if it is the best so far. `None` if it is
    /// infeasible or cannot be the best.
    fn try_modes(&mut self, miqp: &Miqp<'_>) -> Option<f64> {
        self.write_fixed_sides(miqp);
        self.qps += 1;
        // no cutoff, because the next proposal starts from the solution
        let limits = self.limits(f64::INFINITY);
        let (data, sides) = (&self.data, &self.fixed_sides);
        let end =
            solve(&mut self.fixed, data, sides, Begin::Anew, &limits, self.settings.absolute_gap);
        if end != End::Solved || self.fixed.any_passed_over && !self.fixed_holds() {
            return None;
        }
        let cost = self.data.cost(&self.fixed.x);
        self.first = if self.first.is_finite() { self.first } else { cost };
        if cost < self.best.cost {
            self.best.cost = cost;
            self.best.x.clear();
            self.best.x.extend_from_slice(&self.fixed.x);
            self.best.modes.clear();
            self.best.modes.extend_from_slice(&self.modes);
        }
        Some(cost)
    }

    /// Whether the point with fixed modes satisfies all rows, including skipped ones.
    fn fixed_holds(&self) -> bool {
        let (x, b) = (&self.fixed.x, &self.data.rows.b);
        let size = max_abs(x).max(self.fixed.size);
        let violation = |i: usize| self.fixed_sides[i].violation(self.data.slack(i, x));
        (0..self.data.m()).all(|i| violation(i) <= HOLDS * (size + b[i].abs()))
    }

    /// Local search over neighbouring modes: modes that the incumbent satisfies too, without a
    /// constraint whose multiplier has the wrong sign.
    fn switch(&mut self, miqp: &Miqp<'_>, hooks: &mut Hooks<'_>) {
        for _ in 0..SWITCHES {
            if self.stopped(hooks) || !self.write_switched(miqp) {
                break;
            }
            let before = self.best.cost;
            let cost = self.try_modes(miqp);
            if cost.is_none_or(|cost| cost >= before - WORTH_A_SWITCH * self.settings.absolute_gap)
            {
                break;
            }
        }
        // restore factors and modes of the incumbent
        self.modes.copy_from_slice(&self.best.modes);
    }

    /// Writes `modes` without the constraints whose multipliers have the wrong sign, if another
    /// mode allows that. Returns false if none does.
    fn write_switched(&mut self, miqp: &Miqp<'_>) -> bool {
        write_shares(&self.data, &self.fixed, &mut self.slack);
        let largest = max_abs(&self.fixed.u);
        let mut changed = false;
        for choice in 0..self.modes.len() {
            let mode = self.modes[choice] as usize;
            let rows = miqp.choices.rows(choice);
            let mut best = 0.0;
            for other in bits(miqp.choices.all(choice)).filter(|&m| m != mode) {
                if self.mode_violation(miqp, choice, other) > HOLDS {
                    continue;
                }
                // multipliers of constraints that the other mode does not impose
                let mut pull = 0.0;
                for (k, &row) in rows.iter().enumerate() {
                    let demand = miqp.choices.demands(choice, other)[k];
                    let side = miqp.sides[row as usize].and(demand);
                    pull += self.fixed.pull(row, side);
                }
                if pull > best && pull > HOLDS * largest {
                    best = pull;
                    self.modes[choice] = other as u8;
                    changed = true;
                }
            }
        }
        changed
    }

    /// Fixes the modes that a node's minimiser satisfies; returns whether that closes the node.
    pub fn finish_leaf(&mut self, miqp: &Miqp<'_>, at: usize) -> bool {
        self.nearest_modes(miqp);
        self.tried.clear();
        self.tried.extend_from_slice(&self.modes);
        let lower = self.slots[at].lower(&self.data, self.settings.reach);
        if let Some(cost) = self.try_modes(miqp) {
            return cost <= lower + self.settings.absolute_gap;
        }
        // as equalities the rows are inconsistent by rounding; if every choice is decided, the
        // node's own point is the solution
        let decided = self.masks.iter().all(|m| m & (m - 1) == 0);
        if decided {
            self.inaccurate();
        }
        decided
    }
}
