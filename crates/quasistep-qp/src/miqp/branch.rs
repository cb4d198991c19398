//! Strong branching: selection of the choice to branch on. Candidates are ordered by the caller's
//! splits. Among equal ranks, the choice whose children raise the lower bound most is taken.

use super::problem::{Miqp, bits};
use super::solution::{Hooks, MiqpLimit};
use super::state::{Pick, Search, solve};
use crate::active_set::{ActiveSet, Begin, End, Program};
use crate::tolerances::{CANDIDATES, HOLDS, LEAST_GAIN};
use quasistep_linalg::kernels::max_abs;

/// Result of strong branching at a node.
pub(super) enum Trial {
    /// Both children of a choice are closed, so the node is closed.
    Closed,
    /// One child of a choice is closed; the node keeps the modes of the other.
    Reduced,
    Stopped,
    Branch {
        choice: usize,
        halves: [u32; 2],
        bounds: [f64; 2],
    },
}

/// Result of one child's trial.
enum Half {
    Open(f64),
    Closed,
}

/// Writes the slacks at a node's point, each over the reference size of its rounding.
pub(super) fn write_shares(data: &Program, node: &ActiveSet, slack: &mut Vec<f64>) {
    let size = max_abs(&node.x).max(node.size);
    data.slacks(&node.x, slack);
    for (s, b) in slack.iter_mut().zip(&data.rows.b) {
        let terms = size + b.abs();
        *s = if terms > 0.0 { *s / terms } else { 0.0 };
    }
}

impl Search {
    /// Writes the scaled slacks at the point of a slot to `slack`.
    pub fn write_slack(&mut self, at: usize) {
        write_shares(&self.data, &self.slots[at], &mut self.slack);
    }

    /// Violation of a mode by the current point: 0 if all its constraints hold.
    pub fn mode_violation(&self, miqp: &Miqp<'_>, choice: usize, mode: usize) -> f64 {
        let demands = miqp.choices.demands(choice, mode);
        let rows = miqp.choices.rows(choice);
        let each =
            rows.iter().zip(demands).map(|(&r, side)| side.violation(self.slack[r as usize]));
        each.fold(0.0, f64::max)
    }

    fn mask_violation(&self, miqp: &Miqp<'_>, choice: usize, mask: u32) -> f64 {
        let rows = miqp.choices.rows(choice).iter().enumerate();
        rows.map(|(k, &r)| miqp.choices.common(choice, mask, k).violation(self.slack[r as usize]))
            .fold(0.0, f64::max)
    }

    /// Lists the choices that the point of a slot violates, best candidates first.
    pub fn find_picks(&mut self, miqp: &Miqp<'_>, at: usize) {
        self.write_slack(at);
        self.picks.clear();
        for choice in 0..self.masks.len() {
            let mask = self.masks[choice];
            let single = mask.is_power_of_two();
            if single || bits(mask).any(|m| self.mode_violation(miqp, choice, m) <= HOLDS) {
                continue;
            }
            let pick = self.split(miqp, choice, mask);
            self.picks.push(pick);
        }
        self.picks.sort_unstable_by(|a, b| {
            (a.rank.cmp(&b.rank))
                .then(b.distance.total_cmp(&a.distance))
                .then(a.choice.cmp(&b.choice))
        });
        self.picks.truncate(CANDIDATES);
    }

    /// The first split both of whose children exclude the current point; else the first one of
    /// whose children does; else any.
    fn split(&self, miqp: &Miqp<'_>, choice: usize, mask: u32) -> Pick {
        let splits = miqp.choices.splits(choice);
        let lowest = mask & mask.wrapping_neg();
        let mut one_sided = None;
        for (rank, &split) in splits.iter().chain([&lowest]).enumerate() {
            let half = mask & split;
            if half == 0 || half == mask {
                continue;
            }
            let (a, b) = (
                self.mask_violation(miqp, choice, half),
                self.mask_violation(miqp, choice, mask & !half),
            );
            if a.min(b) > HOLDS {
                return Pick { choice, half, rank, distance: a.min(b) };
            }
            if one_sided.is_none() && a.max(b) > HOLDS {
                one_sided = Some(Pick { choice, half, rank: splits.len() + 1, distance: a.max(b) });
            }
        }
        one_sided.unwrap_or(Pick { choice, half: lowest, rank: splits.len() + 2, distance: 0.0 })
    }

    /// Picks the most violated choice at a point that satisfies all choices up to the tolerance.
    pub fn find_any_pick(&mut self, miqp: &Miqp<'_>) {
        self.nearest_modes(miqp);
        let worst = (0..self.masks.len())
            .filter(|&c| self.masks[c] & (self.masks[c] - 1) != 0)
            .map(|c| (c, self.mode_violation(miqp, c, self.modes[c] as usize)))
            .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        if let Some((choice, distance)) = worst {
            let half = 1 << self.modes[choice];
            self.picks.push(Pick { choice, half, rank: 0, distance });
        }
    }

    /// Solves both children of the best candidates, from the factors of a slot.
    pub fn try_out(
        &mut self,
        miqp: &Miqp<'_>,
        hooks: &mut Hooks<'_>,
        at: usize,
        bound: f64,
    ) -> Trial {
        let mut branch = Trial::Closed;
        let mut best = f64::NEG_INFINITY;
        let mut reduced = false;
        for k in 0..self.picks.len() {
            let pick = self.picks[k];
            if self.stopped(hooks) {
                return Trial::Stopped;
            }
            let mask = self.masks[pick.choice];
            let halves = [pick.half, mask & !pick.half];
            let mut bounds = [bound; 2];
            let mut closed = [false; 2];
            for h in 0..2 {
                match self.try_half(miqp, at, pick.choice, halves[h]) {
                    Half::Open(lower) => bounds[h] = lower.max(bound),
                    Half::Closed => closed[h] = true,
                }
                std::mem::swap(&mut self.trial, &mut self.halves[h]);
            }
            match closed {
                [true, true] => return Trial::Closed,
                [false, false] => {}
                _ => {
                    self.masks[pick.choice] = halves[usize::from(closed[0])];
                    reduced = true;
                    continue;
                }
            }
            let gain = |b: f64| (b - bound).max(LEAST_GAIN);
            let score = gain(bounds[0]) * gain(bounds[1]);
            if score > best {
                best = score;
                std::mem::swap(&mut self.halves, &mut self.best_halves);
                branch = Trial::Branch { choice: pick.choice, halves, bounds };
            }
        }
        if reduced { Trial::Reduced } else { branch }
    }

    /// Solves one child of a choice, from the factors of a slot.
    fn try_half(&mut self, miqp: &Miqp<'_>, at: usize, choice: usize, mask: u32) -> Half {
        self.trial_sides.clear();
        self.trial_sides.extend_from_slice(&self.sides);
        for (k, &row) in miqp.choices.rows(choice).iter().enumerate() {
            let side = &mut self.trial_sides[row as usize];
            *side = side.and(miqp.choices.common(choice, mask, k));
        }
        let cutoff = self.cutoff();
        if cutoff < f64::INFINITY {
            let rows = miqp.choices.rows(choice);
            let limits = self.limits(cutoff);
            let lower = self.slots[at].peek(&self.data, &self.trial_sides, rows, &limits);
            if lower >= cutoff {
                self.close(lower);
                return Half::Closed;
            }
        }
        self.qps += 1;
        self.trial.copy_from(&self.slots[at]);
        let limits = self.limits(cutoff);
        let (data, sides) = (&self.data, &self.trial_sides);
        let gap = self.settings.absolute_gap;
        let end = solve(&mut self.trial, data, sides, Begin::Trial, &limits, gap);
        let lower = self.trial.lower(&self.data, self.settings.reach);
        match end {
            End::Solved if lower < cutoff => Half::Open(lower),
            End::Solved | End::Cut => {
                self.close(lower);
                Half::Closed
            }
            End::Infeasible { row } => {
                self.note_conflict(|s| &s.trial, row);
                Half::Closed
            }
            End::Pivots => Half::Open(f64::NEG_INFINITY),
        }
    }

    /// Probing: tries every child of every choice at the root, and removes the modes of those that
    /// are closed, until the root's own bound closes it.
    ///
    /// Children farthest from the root's point come first: they are most likely to close, and the
    /// remaining modes move the root's point so that others close sooner. Children that contain the
    /// incumbent come last, because their cost does not exceed the incumbent's.
    pub fn probe(&mut self, miqp: &Miqp<'_>, hooks: &mut Hooks<'_>) {
        if self.best.cost == f64::INFINITY {
            return;
        }
        self.probed.clear();
        self.probed.resize(self.masks.len(), 0);
        self.write_slack(0);
        while let Some((choice, split, half)) = self.next_half(miqp) {
            if self.stopped(hooks) {
                return;
            }
            self.probed[choice] |= split;
            if let Half::Closed = self.try_half(miqp, 0, choice, half) {
                self.masks[choice] &= !half;
                self.write_sides(miqp);
                if self.mask_violation(miqp, choice, self.masks[choice]) <= HOLDS {
                    // this child does not exclude the root's point
                    continue;
                }
                if let End::Infeasible { row } = self.solve_proximal(0, Begin::Child, f64::INFINITY)
                {
                    self.note_conflict(|s| &s.slots[0], row);
                    return;
                }
                if self.slots[0].lower(&self.data, self.settings.reach) >= self.cutoff() {
                    return;
                }
                self.write_slack(0);
            }
        }
    }

    /// The child to probe next: its choice, its bit in `probed`, its modes.
    fn next_half(&self, miqp: &Miqp<'_>) -> Option<(usize, u64, u32)> {
        self.furthest_half(miqp, false).or_else(|| self.furthest_half(miqp, true))
    }

    /// The child not yet probed that the root's point violates most. Only children that contain the
    /// incumbent are considered if `best`, else only the others.
    fn furthest_half(&self, miqp: &Miqp<'_>, best: bool) -> Option<(usize, u64, u32)> {
        // a child that the root's point satisfies has the root's cost
        let mut furthest = HOLDS;
        let mut pick = None;
        for (choice, &mask) in self.masks.iter().enumerate() {
            for (k, &split) in miqp.choices.splits(choice).iter().enumerate().take(32) {
                for (half, bit) in [(mask & split, 1 << (2 * k)), (mask & !split, 2 << (2 * k))] {
                    let holds_best = half & (1 << self.best.modes[choice]) != 0;
                    let known = holds_best != best || self.probed[choice] & bit != 0;
                    if half == 0 || half == mask || known {
                        continue;
                    }
                    let distance = self.mask_violation(miqp, choice, half);
                    if distance > furthest {
                        furthest = distance;
                        pick = Some((choice, bit, half));
                    }
                }
            }
        }
        pick
    }

    /// Marks the search as inexact, because a node could not be solved.
    pub fn inaccurate(&mut self) {
        let spent = self.data.budget.is_spent();
        let why = if spent { MiqpLimit::Work } else { MiqpLimit::Accuracy };
        self.limit = self.limit.or(Some(why));
    }
}
