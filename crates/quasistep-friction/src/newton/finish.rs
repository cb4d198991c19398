//! Multiplier updates until Coulomb's law holds.

use super::{
    CALM, EXTRAPOLATIONS, FARTHEST, FrictionProgram, GROWTH, LARGEST_PENALTY, LITTLE, NOISE,
    Newton, PENALTY, PROXIMAL, REACHED, ROUGH, SETTLED, SOLVED, STIFF_UPDATES, UPDATES,
};
use crate::law::Drift;
use crate::tolerances::newton_of_friction::BRACKET;

impl Newton {
    /// Updates the multipliers until Coulomb's law holds.
    pub(super) fn update(
        &mut self,
        p: &FrictionProgram,
        search: bool,
        holds: &mut impl FnMut(&[f64], &[f64], Drift) -> bool,
    ) -> bool {
        let mut share = ROUGH;
        let (mut last, mut last_held) = (f64::INFINITY, f64::INFINITY);
        let mut extrapolations = 0;
        let (mut calmed, mut stiffened) = (false, false);
        // whether the last update gave a solution that another update would improve
        let mut near = false;
        for _ in 0..UPDATES + EXTRAPOLATIONS {
            let Some(exact) = self.equation(p, share, search) else {
                return near && holds(&self.x_found, &self.lambda_found, Drift::Nothing);
            };
            share = SOLVED;
            let held = (0..self.x.len())
                .map(|j| (PROXIMAL * (self.x[j] - self.x_c[j]) / self.D[j]).abs())
                .fold(0.0, f64::max);
            let (change, force) = self.update_multipliers();
            // drifting forces indicate inconsistent contacts
            let stays = change > 0.5 * last;
            let little = change <= LITTLE * force;
            let drifts = !little && stays;
            let moves = little && held > 0.5 * last_held;
            (last, last_held) = (change, held);
            // the forces have converged: keep the point, and update once more
            if exact && little && !near {
                self.publish();
                self.x_found.copy_from_slice(&self.x);
                self.lambda_found.copy_from_slice(&self.lambda);
                near = true;
            } else if exact && (little || drifts) {
                self.publish();
                let drift = if drifts { Drift::Forces } else { Drift::Nothing };
                if holds(&self.x, &self.lambda, drift) {
                    // neither the forces nor the proximal term change any more
                    let reached = change.max(held) <= REACHED * force;
                    return drifts || reached || self.polish(p, search, holds);
                }
                if near && holds(&self.x_found, &self.lambda_found, Drift::Nothing)
                    || moves && holds(&self.x, &self.lambda, Drift::Motion)
                {
                    return true;
                }
                near = false;
                if little && !calmed {
                    // the forces have converged but the law does not hold: the error is rounding
                    calmed = true;
                    self.set_penalty(p, CALM);
                    last = f64::INFINITY;
                    continue;
                }
                if change <= REACHED * force && held == 0.0 {
                    return false;
                }
                if stays && !stiffened {
                    stiffened = true;
                    self.stiffen(p);
                    last = f64::INFINITY;
                    continue;
                }
                if stays
                    && extrapolations < EXTRAPOLATIONS
                    && self.extrapolate(p, FARTHEST * force / change)
                {
                    extrapolations += 1;
                    last = f64::INFINITY;
                    continue;
                }
                if drifts {
                    return false;
                }
            }
            self.augment(p);
        }
        false
    }

    /// Resolves slightly inconsistent contacts at a much larger penalty, where one update moves the
    /// forces as far as necessary. The next updates remove the rounding of that update.
    pub(super) fn stiffen(&mut self, p: &FrictionProgram) {
        let mut last = f64::INFINITY;
        for _ in 0..STIFF_UPDATES + p.contacts.len() as u32 / 4 {
            if self.penalty < LARGEST_PENALTY {
                self.set_penalty(p, GROWTH * self.penalty);
                last = f64::INFINITY;
            }
            if self.equation(p, SETTLED.max(NOISE * self.penalty), true).is_none() {
                break;
            }
            let (change, force) = self.update_multipliers();
            let hardest = self.penalty >= LARGEST_PENALTY;
            if hardest && change <= LITTLE * force {
                break;
            }
            if !(hardest && change > 0.5 * last) {
                last = change;
                self.augment(p);
            } else if self.extrapolate(p, FARTHEST * force / change) {
                last = f64::INFINITY;
            } else {
                break;
            }
        }
        self.set_penalty(p, PENALTY);
    }

    /// Sets the relative penalty and all parameters that depend on it.
    fn set_penalty(&mut self, p: &FrictionProgram, penalty: f64) {
        self.penalty = penalty;
        self.factored.clear();
        self.augment(p);
    }

    /// One more update, after which the error is rounding. Restores the previous point if Coulomb's
    /// law no longer holds.
    pub(super) fn polish(
        &mut self,
        p: &FrictionProgram,
        search: bool,
        holds: &mut impl FnMut(&[f64], &[f64], Drift) -> bool,
    ) -> bool {
        self.x_found.copy_from_slice(&self.x);
        self.lambda_found.copy_from_slice(&self.lambda);
        self.augment(p);
        if self.equation(p, SOLVED, search).is_some() {
            self.update_multipliers();
            self.publish();
            if holds(&self.x, &self.lambda, Drift::Nothing) {
                return true;
            }
        }
        holds(&self.x_found, &self.lambda_found, Drift::Nothing)
    }

    /// Takes the current point and its forces as the next estimates. Returns the largest change of
    /// a force, and the largest force.
    pub(super) fn update_multipliers(&mut self) -> (f64, f64) {
        self.x_c.copy_from_slice(&self.x);
        let (mut change, mut force) = (0.0_f64, 0.0_f64);
        for ((z, z_c), drift) in self.z.iter().zip(&mut self.z_c).zip(&mut self.drift) {
            *drift = z - *z_c;
            change = change.max(drift.abs());
            force = force.max(z.abs());
            *z_c = *z;
        }
        (change, force)
    }

    /// Extrapolates drifting forces until a contact opens, slips or sticks. Returns false if none
    /// does within `farthest` times their last change.
    pub(super) fn extrapolate(&mut self, p: &FrictionProgram, farthest: f64) -> bool {
        self.augment(p);
        self.project(p);
        let contacts = p.contacts.len();
        self.lasting.clear();
        self.lasting.extend_from_slice(&self.modes[..contacts]);
        let (mut low, mut high) = (0.0, 1.0);
        let mut gone = 0.0;
        let mut go = |this: &mut Self, to: f64| {
            for v in [&mut this.z_c, &mut this.a] {
                quasistep_linalg::kernels::axpy(to - gone, &this.drift, v);
            }
            gone = to;
            this.work.spend(this.cost.rows);
            this.project(p);
            this.modes[..contacts] == this.lasting
        };
        while go(self, high) {
            (low, high) = (high, 2.0 * high);
            if high > farthest {
                return false;
            }
        }
        while high - low > BRACKET * high {
            let middle = 0.5 * (low + high);
            if go(self, middle) { low = middle } else { high = middle }
        }
        go(self, high);
        true
    }

    /// Writes the forces of the last equation in the caller's units, for the check of Coulomb's
    /// law.
    pub(super) fn publish(&mut self) {
        // the check of the law that follows
        self.work.spend(4 * self.cost.rows);
        for ((lambda, unit), z_c) in self.lambda.iter_mut().zip(&self.unit).zip(&self.z_c) {
            *lambda = unit * z_c;
        }
    }
}
