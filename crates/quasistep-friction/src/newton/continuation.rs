//! Penalty continuation from small to large penalty parameters, with adaptive growth.
//!
//! Every multiplier update decreases the error of the forces, at any penalty, and the more the
//! larger the penalty is. If an equation cannot be solved, a point near its solution still gives an
//! update. Otherwise the penalty decreases, and further updates decrease the error before the
//! penalty grows again.
//!
//! At small penalties equations are solved by Newton's method. At larger ones a homotopy leads from
//! one solution to the next, if the linear pieces of the friction law are tabulated. Large programs
//! with many dependent contacts are solved this way.

use super::{
    CALM, FARTHEST, FrictionProgram, GROWTH, LARGEST_PENALTY, LITTLE, MANY_CONTACTS, NOISE, Newton,
    PENALTY, SETTLED, SOLVED,
};
use crate::law::Drift;
use crate::tolerances::newton_of_friction::{
    GENTLEST, GROWTH_BY_HOMOTOPY, GROWTH_BY_HOMOTOPY_MOST, NEARER, PASSED, RECOVERY, SOFT, SOFTEST,
};

/// Largest number of Newton steps. The next constant is the number added for each contact, whose
/// mode may change more than once.
const STEPS: u32 = 200;
const STEPS_PER_CONTACT: u32 = 6;
/// Largest number of breakpoints of homotopies, per contact.
const BREAKPOINTS_PER_CONTACT: u32 = 30;
/// Largest number of breakpoints on the way to [`PENALTY`] after which Coulomb's law is checked
/// there. More breakpoints indicate inconsistent contacts.
const FEW: u32 = 10;
/// Largest number of Newton steps of an equation after which the growth of the penalty increases.
const EASY: u32 = 5;
/// Largest number of consecutive equations that give an update without being solved.
const UNSOLVED: u32 = 2;
/// Largest number of updates between two extrapolations.
const MOST_WAITING: u32 = 4;
/// Number of updates with [`PENALTY`] before Coulomb's law is checked. Each reduces the error to
/// 1e-5 of itself.
const ENOUGH: u32 = 2;

/// Growth of the penalty from one equation to the next.
struct Pace {
    growth: f64,
    fastest: f64,
    /// Whether the last equation was not solved.
    failed: bool,
}

impl Pace {
    fn new(by_homotopy: bool) -> Self {
        let (growth, fastest) = if by_homotopy {
            (GROWTH_BY_HOMOTOPY, GROWTH_BY_HOMOTOPY_MOST)
        } else {
            (GROWTH, GROWTH)
        };
        Self { growth, fastest, failed: false }
    }

    /// The smaller penalty after a failure. It undoes the last growth, and more if the smaller
    /// penalty failed too.
    fn back(&mut self, penalty: f64) -> f64 {
        let by = if self.failed { GROWTH } else { self.growth };
        self.failed = true;
        self.growth = self.growth.sqrt().max(GENTLEST);
        penalty / by
    }

    /// The larger penalty after an equation that took few steps.
    fn on(&mut self, penalty: f64, most: f64) -> f64 {
        let next = (penalty * self.growth).min(most);
        self.growth = (RECOVERY * self.growth).min(self.fastest);
        next
    }
}

impl Newton {
    /// Continuation with line search from given forces and small penalties, up to
    /// [`LARGEST_PENALTY`], which resolves inconsistent contacts.
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
        let mut pace = Pace::new(known);
        let mut last = f64::INFINITY;
        let (mut drifting, mut wait) = (0, 1);
        let mut unsolved = 0;
        // penalty of the last solution, infinite if there is none to start from; and whether the
        // current rates belong to it
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
                self.penalty = pace.back(self.penalty);
                self.go_back(lost);
                (drifting, last) = (0, f64::INFINITY);
                continue;
            }
            let (change, force) = self.update_multipliers();
            reached = self.penalty;
            rated = self.steps == there;
            pace.failed = false;
            if self.penalty == PENALTY && !usual {
                // the usual penalty suffices unless contacts are inconsistent
                usual = true;
                if breakpoints <= FEW && self.check_law(p, false, holds) {
                    return true;
                }
                rated &= breakpoints > FEW;
            }
            if self.penalty < LARGEST_PENALTY {
                if self.steps - before <= EASY {
                    let most = if usual { LARGEST_PENALTY } else { PENALTY };
                    self.penalty = pace.on(self.penalty, most);
                    self.factored.clear();
                }
                continue;
            }
            // forces of contacts that still change their modes do not drift
            let drifts = breakpoints == 0 && change > 0.5 * last;
            last = change;
            drifting = if drifts { drifting + 1 } else { 0 };
            // back off: wait longer between extrapolations, because they may cycle
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

    /// Returns to the last solution after an equation that was not solved.
    fn go_back(&mut self, lost: bool) {
        if lost {
            // the factors of the homotopy may have lost digits
            self.homotopy.kept = None;
        }
        self.x.copy_from_slice(&self.x_c);
        self.factored.clear();
    }

    /// Whether Coulomb's law holds after updates with [`PENALTY`], at which stationarity holds up
    /// to rounding. If not, the current multipliers are restored.
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
        // with many contacts, the way to the largest penalty takes longer than all steps before it
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
