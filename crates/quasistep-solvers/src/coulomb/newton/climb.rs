//! From soft contacts to the hardest, in as small paces as it takes.
//!
//! Every centre is a step of the method of multipliers: it brings the forces nearer to those of hard contacts
//! whatever the penalty is, and the larger the penalty the more. So an equation that cannot be solved is not the end:
//! what came near enough to its answer is a centre all the same, and where nothing did contacts get softer again, and the
//! next centres come nearer before they harden. Many bodies that rest on one another with more contacts than they need
//! are solved this way: by Newton's method where contacts are soft, then, where their pieces are known, along the line from
//! one answer to the next.

use super::{
    FARTHEST, FrictionProgram, HARDER, HARDEST, LITTLE, NOISE, Newton, PENALTY, SETTLED, SOLVED,
};

/// Most steps, and those for each contact: it may have to change what it does more than once.
const STEPS: u32 = 200;
const STEPS_PER_CONTACT: u32 = 6;
/// Most kinks for each contact.
const KINKS_PER_CONTACT: u32 = 30;
/// The first penalty.
const SOFT: f64 = 100.0;
/// First and largest growth of the penalty where the line from the last answer is followed: centres cost more there than
/// the kinks between them.
const BENT: f64 = 20.0;
const MOST_BENT: f64 = 30.0;
/// Imbalance at which an equation on the way to the hardest contacts counts as solved, as a share of the largest term:
/// the next one is another.
const PASSED: f64 = 1e-3;
/// Kinks on the way to the usual penalty up to which the law may hold there: more come from contacts that contradict one
/// another.
const FEW: u32 = 10;
/// Steps of an equation that was easy, after which contacts may harden.
const EASY: u32 = 5;
/// Least growth of the penalty, and growth of that growth from one pace to the next: a failure takes its square root.
const GENTLEST: f64 = 1.5;
const RECOVERY: f64 = 1.2;
/// Penalty below which an equation is no easier: contacts are then a thousand times softer than bodies are heavy.
const SOFTEST: f64 = 1e-3;
/// Share of its squared imbalance with which an equation that cannot be solved still gives a centre, and how often in a row.
const NEARER: f64 = 0.5;
const UNSOLVED: u32 = 2;
/// Most centres between two jumps.
const MOST_WAITING: u32 = 4;
/// Centres with the usual penalty in which the law holds where it will: each leaves 1e-5 of what the last one did.
const ENOUGH: u32 = 2;

impl Newton {
    /// Like [`harden`](Self::harden), but slower where the way is steep, and up to contacts so hard that those which
    /// contradict one another sort themselves out.
    pub fn climb(
        &mut self,
        p: &FrictionProgram,
        lambda: &[f64],
        holds: &mut impl FnMut(&[f64], &[f64], bool) -> bool,
    ) -> bool {
        self.begin(lambda);
        // whether the usual penalty has been tried
        let mut usual = false;
        let contacts = p.contacts.len() as u32;
        self.budget = self.steps + STEPS + STEPS_PER_CONTACT * contacts;
        let most_kinks = self.kinks + KINKS_PER_CONTACT * contacts;
        let known = self.line.known;
        self.penalty = SOFT;
        let (mut growth, fastest) = if known { (BENT, MOST_BENT) } else { (HARDER, HARDER) };
        let mut last = f64::INFINITY;
        let (mut drifting, mut wait) = (0, 1);
        let (mut failed, mut unsolved) = (false, 0);
        // penalty of the last answer, while there is one to start from, and whether the present rates are its own
        let mut reached = f64::INFINITY;
        let mut rated = false;
        while self.steps < self.budget && self.kinks < most_kinks && self.penalty > SOFTEST {
            let (before, kinks) = (self.steps, self.kinks);
            let settled = if self.penalty < HARDEST { PASSED } else { SETTLED };
            let share = settled.max(NOISE * self.penalty);
            let bent = known && self.penalty >= reached;
            let lost = bent && !self.follow(p, rated);
            if lost {
                // perhaps for what has become of its factors
                self.line.kept = None;
            }
            rated = false;
            let kinks = self.kinks - kinks;
            let there = self.steps;
            if !lost {
                self.augment(p);
            }
            if !lost && self.equation(p, share, true).is_some() {
                unsolved = 0;
            } else if !lost && self.left < NEARER && unsolved < UNSOLVED {
                unsolved += 1;
                self.recentre();
                last = f64::INFINITY;
                continue;
            } else {
                unsolved = 0;
                reached = f64::INFINITY;
                self.x.copy_from_slice(&self.x_c);
                // as far back as it came, and further where that was not enough
                self.penalty /= if failed { HARDER } else { growth };
                failed = true;
                self.factored.clear();
                growth = growth.sqrt().max(GENTLEST);
                (drifting, last) = (0, f64::INFINITY);
                continue;
            }
            let (change, force) = self.recentre();
            reached = self.penalty;
            rated = self.steps == there;
            failed = false;
            if self.penalty == PENALTY && !usual {
                // hard enough, unless contacts contradict one another
                usual = true;
                if kinks <= FEW {
                    if self.settle(p, false, holds) {
                        return true;
                    }
                    rated = false;
                }
            }
            if self.penalty < HARDEST {
                if self.steps - before <= EASY {
                    self.penalty =
                        (self.penalty * growth).min(if usual { HARDEST } else { PENALTY });
                    self.factored.clear();
                    growth = (RECOVERY * growth).min(fastest);
                }
                continue;
            }
            // where contacts still change what they do the next centre may do without
            let drifts = kinks == 0 && change > 0.5 * last;
            last = change;
            drifting = if drifts { drifting + 1 } else { 0 };
            // jumps may lead from one to the other and back: more and more of the way is gone on foot
            if drifting >= wait || change <= LITTLE * force {
                if self.settle(p, drifts, holds) {
                    return true;
                }
                if !(drifts && self.jump(p, FARTHEST * force / change)) {
                    return false;
                }
                rated = false;
                (drifting, last) = (0, f64::INFINITY);
                wait = (2 * wait).min(MOST_WAITING);
            }
        }
        false
    }

    /// The law at centres with the usual penalty, where the balance holds to rounding; if it does not hold, back to the
    /// present centre.
    fn settle(
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
        for _ in 0..ENOUGH {
            self.augment(p);
            if self.equation(p, SOLVED, true).is_none() {
                break;
            }
            self.recentre();
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
