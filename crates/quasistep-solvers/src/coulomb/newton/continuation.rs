//! Penalty continuation: from soft contacts to the hardest, in as small paces as it takes.
//!
//! Every update of the multipliers brings the forces nearer to those of hard contacts, whatever the penalty is, and the
//! larger the penalty the more. So an equation that cannot be solved is not the end: what came near enough to its answer
//! gives an update all the same, and where nothing did the penalty falls, and the next updates come nearer before it grows.
//! Many bodies that rest on one another with more contacts than they need are solved this way.

use super::{
    CALM, FARTHEST, FrictionProgram, GROWTH, LARGEST_PENALTY, LITTLE, NOISE, Newton, PENALTY,
    SETTLED, SOLVED,
};
use crate::tolerances::newton_of_friction::{GENTLEST, NEARER, PASSED, RECOVERY, SOFT, SOFTEST};

/// Most steps, and those for each contact: it may have to change what it does more than once.
const STEPS: u32 = 200;
const STEPS_PER_CONTACT: u32 = 6;
/// Steps of an equation that was easy, after which the penalty may grow.
const EASY: u32 = 5;
/// Share of its squared imbalance with which an equation that cannot be solved still gives an update, and how often in a row.
const UNSOLVED: u32 = 2;
/// Most updates between two extrapolations.
const MOST_WAITING: u32 = 4;
/// Updates with the usual penalty after which the law holds where it will: each leaves 1e-5 of what the last one did.
const ENOUGH: u32 = 2;

impl Newton {
    /// From forces and soft contacts to hard ones, never uphill, and up to contacts so hard that those which contradict
    /// one another sort themselves out.
    pub(super) fn continuation(
        &mut self,
        p: &FrictionProgram,
        lambda: &[f64],
        holds: &mut impl FnMut(&[f64], &[f64], bool) -> bool,
    ) -> bool {
        self.begin(lambda);
        self.last_step = self.steps + STEPS + STEPS_PER_CONTACT * p.contacts.len() as u32;
        self.penalty = SOFT;
        // whether the usual penalty has been tried
        let mut usual = false;
        let mut growth = GROWTH;
        let mut last = f64::INFINITY;
        let (mut drifting, mut wait) = (0, 1);
        let (mut failed, mut unsolved) = (false, 0);
        while self.steps < self.last_step && self.penalty > SOFTEST && !self.work.is_spent() {
            let before = self.steps;
            let hardest = self.penalty >= LARGEST_PENALTY;
            let share = if hardest { SETTLED } else { PASSED }.max(NOISE * self.penalty);
            self.augment(p);
            if self.equation(p, share, true).is_none() {
                (drifting, last) = (0, f64::INFINITY);
                if self.left < NEARER && unsolved < UNSOLVED {
                    unsolved += 1;
                    self.update_multipliers();
                    continue;
                }
                // as far back as it came, and further where that was not enough
                self.x.copy_from_slice(&self.x_c);
                self.penalty /= if failed { GROWTH } else { growth };
                self.factored.clear();
                growth = growth.sqrt().max(GENTLEST);
                (failed, unsolved) = (true, 0);
                continue;
            }
            (failed, unsolved) = (false, 0);
            let (change, force) = self.update_multipliers();
            if self.penalty == PENALTY && !usual {
                // hard enough, unless contacts contradict one another
                usual = true;
                if self.check_law(p, false, holds) {
                    return true;
                }
            }
            if !hardest {
                if self.steps - before <= EASY {
                    let most = if usual { LARGEST_PENALTY } else { PENALTY };
                    self.penalty = (self.penalty * growth).min(most);
                    self.factored.clear();
                    growth = (RECOVERY * growth).min(GROWTH);
                }
                continue;
            }
            let drifts = change > 0.5 * last;
            last = change;
            drifting = if drifts { drifting + 1 } else { 0 };
            // extrapolations may lead from one to the other and back: more and more updates come between them
            if drifting >= wait || change <= LITTLE * force {
                if self.check_law(p, drifts, holds) {
                    return true;
                }
                if !(drifts && self.extrapolate(p, FARTHEST * force / change)) {
                    return false;
                }
                (drifting, last) = (0, f64::INFINITY);
                wait = (2 * wait).min(MOST_WAITING);
            }
        }
        false
    }

    /// Whether the law holds after updates with the usual penalty, where the balance holds to rounding; if it does not,
    /// back to the present multipliers.
    fn check_law(
        &mut self,
        p: &FrictionProgram,
        drifts: bool,
        holds: &mut impl FnMut(&[f64], &[f64], bool) -> bool,
    ) -> bool {
        let penalty = std::mem::replace(&mut self.penalty, PENALTY);
        self.factored.clear();
        self.x_found.copy_from_slice(&self.x);
        self.lambda_found.copy_from_slice(&self.z_c);
        self.a_found.copy_from_slice(&self.a);
        self.drift_found.copy_from_slice(&self.drift);
        for update in 0..2 * ENOUGH {
            if update == ENOUGH {
                self.penalty = CALM;
                self.factored.clear();
            }
            self.augment(p);
            if self.equation(p, SOLVED, true).is_none() {
                break;
            }
            self.update_multipliers();
            self.publish();
            if holds(&self.x, &self.lambda, false) || drifts && holds(&self.x, &self.lambda, true) {
                return true;
            }
        }
        self.x.copy_from_slice(&self.x_found);
        self.x_c.copy_from_slice(&self.x_found);
        self.z_c.copy_from_slice(&self.lambda_found);
        self.a.copy_from_slice(&self.a_found);
        self.drift.copy_from_slice(&self.drift_found);
        self.penalty = penalty;
        self.factored.clear();
        false
    }
}
