//! The last digits where round cones slide, and those of a point inside the cones.

use super::work::Work;
use super::{Newton, ROUNDS};
use super::{PENALTIES_ROUND, REST, SHIFT, TOUCHING};
use crate::cone::kernels::{self, Isa};
use crate::cone::program::ConeProgram;
use crate::cone::structure::{Island, Structure};

/// Steps of all rounds of multipliers with a small penalty.
const MULTIPLY_ITERATIONS: u32 = 100;
/// Most of such steps.
const SETTLE_STEPS: u32 = 20;

impl Newton {
    /// Last steps where round cones slide: their slack is no zero, and `rho` times its rounding is in
    /// their force. A small penalty has small rounding, and the answer is the same for any; a larger one
    /// still works where the steps of the small one lead away.
    pub(super) fn settle_round(
        &mut self,
        work: &Work<'_>,
        scale: f64,
        shift: f64,
        slack: f64,
    ) -> bool {
        for panel in work.panels {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.saved_x[at.clone()].copy_from_slice(&self.x[at]);
        }
        for all in work.spans() {
            self.saved_z[all.clone()].copy_from_slice(&self.lambda[all]);
        }
        for (penalty, balanced) in PENALTIES_ROUND {
            if self.settle_with(work, penalty * scale, shift, slack, balanced) {
                return true;
            }
            for panel in work.panels {
                let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
                self.x[at.clone()].copy_from_slice(&self.saved_x[at]);
            }
            for all in work.spans() {
                self.lambda[all.clone()].copy_from_slice(&self.saved_z[all]);
            }
            kernels::slacks(work.isa, work.p, work.groups, &self.x, &mut self.u);
        }
        false
    }

    pub(super) fn settle_with(
        &mut self,
        work: &Work<'_>,
        rho: f64,
        shift: f64,
        slack: f64,
        balanced: f64,
    ) -> bool {
        for _ in 0..SETTLE_STEPS {
            let mut size = work.force();
            for span in work.spans() {
                for i in span {
                    self.z[i] = self.lambda[i];
                    size = size.max(self.lambda[i].abs());
                }
            }
            self.project(work, rho);
            if !self.factor(work, rho, shift) || !self.step(work, rho, shift, true).1 {
                return false;
            }
            let error = self.error(work, rho);
            if error <= slack && self.imbalance(work, shift) <= balanced * size {
                return true;
            }
        }
        false
    }

    /// Digits for a point inside the cones near the answer, from its own multipliers; true if they came.
    /// `share` is the slack at the end over that of touching rows.
    #[allow(clippy::too_many_arguments)] // one caller, which lists what it tries
    pub fn polish(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        island: &Island,
        x: &[f64],
        z: &[f64],
        share: f64,
    ) -> bool {
        let work = Work::new(isa, p, s, island);
        let (scale, singular) = self.scale(&work);
        for panel in work.panels {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.x[at.clone()].copy_from_slice(&x[at]);
        }
        for all in work.spans() {
            self.lambda[all.clone()].copy_from_slice(&z[all]);
        }
        self.take_center(&work);
        kernels::slacks(isa, p, work.groups, &self.x, &mut self.u);
        let speed = work.speed();
        let slack = (TOUCHING * speed.max(self.x_size(&work))).max(REST * work.force() / scale);
        let shift = if singular { SHIFT * scale } else { 0.0 };
        self.settle_round(&work, scale, shift, share * slack)
            || self.multiply(&work, PENALTIES_ROUND[0].0 * scale, shift, share * slack)
    }

    /// Rounds of the method of multipliers with a small penalty, each down to its minimum: slower than
    /// single steps, and they lead nowhere else.
    pub(super) fn multiply(&mut self, work: &Work<'_>, rho: f64, shift: f64, slack: f64) -> bool {
        let mut budget = MULTIPLY_ITERATIONS;
        for _ in 0..ROUNDS {
            let mut size = work.force();
            for span in work.spans() {
                for i in span {
                    self.z[i] = self.lambda[i];
                    size = size.max(self.lambda[i].abs());
                }
            }
            self.take_center(work);
            self.project(work, rho);
            if !self.minimise(work, rho, shift, false, &mut budget) {
                return false;
            }
            if self.error(work, rho) <= slack
                && self.imbalance(work, shift) <= PENALTIES_ROUND[0].1 * size
            {
                return true;
            }
        }
        false
    }
}
