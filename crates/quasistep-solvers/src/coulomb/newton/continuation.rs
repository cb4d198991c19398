//! Penalty continuation: from soft contacts to the hardest, with an adaptive growth of the penalty.
//!
//! Every update of the multipliers brings the forces nearer to those of hard contacts, whatever the penalty is, and the
//! larger the penalty the more. So an equation that cannot be solved is not the end: a point near enough to its answer
//! still gives an update; else the penalty falls, and the next updates come nearer before it grows.
//! Many bodies that rest on one another with more contacts than they need are solved this way: by Newton's method where
//! contacts are soft, then, where the pieces of their law are known, by a homotopy from one answer to the next.

use super::{
    CALM, FARTHEST, FrictionProgram, GROWTH, LARGEST_PENALTY, LITTLE, MANY_CONTACTS, NOISE, Newton,
    PENALTY, SETTLED, SOLVED,
};
use crate::coulomb::law::Drift;
use crate::tolerances::newton_of_friction::{
    GENTLEST, GROWTH_BY_HOMOTOPY, GROWTH_BY_HOMOTOPY_MOST, NEARER, PASSED, RECOVERY, SOFT, SOFTEST,
};

/// Most Newton steps; below, those in addition for each contact, which may change its mode more than once.
const STEPS: u32 = 200;
const STEPS_PER_CONTACT: u32 = 6;
/// Most breakpoints of homotopies for each contact.
const BREAKPOINTS_PER_CONTACT: u32 = 30;
/// Most breakpoints on the way to [`PENALTY`] after which the law is checked there: more come from contacts that
/// contradict one another.
const FEW: u32 = 10;
/// Most steps of an equation after which the penalty grows.
const EASY: u32 = 5;
/// Most consecutive equations that give an update without being solved.
const UNSOLVED: u32 = 2;
/// Most updates between two extrapolations.
const MOST_WAITING: u32 = 4;
/// Updates with [`PENALTY`] before the law is checked: each leaves 1e-5 of the error before it.
const ENOUGH: u32 = 2;

impl Newton {
    /// Continuation from given forces and soft contacts with a line search, up to [`LARGEST_PENALTY`], where contacts that contradict
    /// one another are resolved.
    pub(super) fn continuation(
        &mut self,
        p: &FrictionProgram,
        lambda: &[f64],
        holds: &mut impl FnMut(&[f64], &[f64], Drift) -> bool,
    ) -> bool {
        self.begin(lambda);
        // whether the usual penalty has been tried
        let mut usual = false;
        let contacts = p.contacts.len() as u32;
        self.last_step = self.steps + STEPS + STEPS_PER_CONTACT * contacts;
        let most_breakpoints = self.breakpoints + BREAKPOINTS_PER_CONTACT * contacts;
        let known = self.homotopy.known;
        self.penalty = SOFT;
        let (mut growth, fastest) =
            if known { (GROWTH_BY_HOMOTOPY, GROWTH_BY_HOMOTOPY_MOST) } else { (GROWTH, GROWTH) };
        let mut last = f64::INFINITY;
        let (mut drifting, mut wait) = (0, 1);
        let (mut failed, mut unsolved) = (false, 0);
        // penalty of the last answer, while there is one to start from, and whether the present rates are its own
        let mut reached = f64::INFINITY;
        let mut rated = false;
        while self.steps < self.last_step
            && self.breakpoints < most_breakpoints
            && self.penalty > SOFTEST
            && !self.work.is_spent()
        {
            let (before, breakpoints) = (self.steps, self.breakpoints);
            let settled = if self.penalty < LARGEST_PENALTY { PASSED } else { SETTLED };
            let share = settled.max(NOISE * self.penalty);
            let bent = known && self.penalty >= reached;
            let lost = bent && !self.follow(p, rated);
            if lost {
                // its factors may have lost their digits
                self.homotopy.kept = None;
            }
            rated = false;
            let breakpoints = self.breakpoints - breakpoints;
            let there = self.steps;
            if !lost {
                self.augment(p);
            }
            if !lost && self.equation(p, share, true).is_some() {
                unsolved = 0;
            } else if !lost && self.left < NEARER && unsolved < UNSOLVED {
                unsolved += 1;
                self.update_multipliers();
                last = f64::INFINITY;
                continue;
            } else {
                unsolved = 0;
                reached = f64::INFINITY;
                self.x.copy_from_slice(&self.x_c);
                // back by the last growth, and further if that failed too
                self.penalty /= if failed { GROWTH } else { growth };
                failed = true;
                self.factored.clear();
                growth = growth.sqrt().max(GENTLEST);
                (drifting, last) = (0, f64::INFINITY);
                continue;
            }
            let (change, force) = self.update_multipliers();
            reached = self.penalty;
            rated = self.steps == there;
            failed = false;
            if self.penalty == PENALTY && !usual {
                // the usual penalty suffices unless contacts contradict one another
                usual = true;
                if breakpoints <= FEW {
                    if self.check_law(p, false, holds) {
                        return true;
                    }
                    rated = false;
                }
            }
            if self.penalty < LARGEST_PENALTY {
                if self.steps - before <= EASY {
                    self.penalty =
                        (self.penalty * growth).min(if usual { LARGEST_PENALTY } else { PENALTY });
                    self.factored.clear();
                    growth = (RECOVERY * growth).min(fastest);
                }
                continue;
            }
            // forces of contacts that still change their modes do not drift
            let drifts = breakpoints == 0 && change > 0.5 * last;
            last = change;
            drifting = if drifts { drifting + 1 } else { 0 };
            // extrapolations may cycle: more and more updates come between them
            if drifting >= wait || change <= LITTLE * force {
                if self.check_law(p, drifts, holds) {
                    return true;
                }
                if !(drifts && self.extrapolate(p, FARTHEST * force / change)) {
                    return false;
                }
                rated = false;
                (drifting, last) = (0, f64::INFINITY);
                wait = (2 * wait).min(MOST_WAITING);
            }
        }
        false
    }

    /// Whether the law holds after updates with [`PENALTY`], at which the balance holds to rounding; if not, restores the present
    /// multipliers.
    fn check_law(
        &mut self,
        p: &FrictionProgram,
        drifts: bool,
        holds: &mut impl FnMut(&[f64], &[f64], Drift) -> bool,
    ) -> bool {
        let penalty = std::mem::replace(&mut self.penalty, PENALTY);
        self.factored.clear();
        self.x_found.copy_from_slice(&self.x);
        self.lambda_found.copy_from_slice(&self.z_c);
        self.a_found.copy_from_slice(&self.a);
        self.drift_found.copy_from_slice(&self.drift);
        // among many contacts the way to the largest penalty, which resolves contradictions, takes longer than all before it
        let many = p.contacts.len() > MANY_CONTACTS;
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
            if holds(&self.x, &self.lambda, Drift::Nothing)
                || drifts && holds(&self.x, &self.lambda, Drift::Forces)
                || many && update + 1 == ENOUGH && holds(&self.x, &self.lambda, Drift::Rows)
            {
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
