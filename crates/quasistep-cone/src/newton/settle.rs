//! Last digits in three cases: sliding round cones, a point inside the cones, and a crossover from
//! the end of an interior point to the active set near it.

use super::Start;
use super::finish::Round;
use super::work::Work;
use super::{Newton, ROUNDS};
use crate::kernels::{self, Isa};
use crate::program::ConeProgram;
use crate::structure::{Island, Structure};
use crate::tolerances::newton_of_cones::{
    PENALTIES_ROUND, PENALTY, SOFTER, TOUCHING_AT_REST, WORTH_A_ROUND,
};
use crate::tolerances::{CONTACT_TOUCHING, ROUNDING, SPEED_ROUNDING};

/// Largest number of Newton steps of [`Newton::multiply`].
const MULTIPLY_ITERATIONS: u32 = 100;
/// Largest number of Newton steps of [`Newton::finish_at_penalty`].
const FINISH_STEPS: u32 = 20;
/// Least number of active sets of a crossover that continues where rows are inconsistent.
const MANY_SETS: u32 = 10;
/// Solves for each active set of a crossover.
const CROSSOVER_ROUNDS: u32 = 4;

impl Newton {
    /// Last steps where round cones slide. Their slack is not zero, so their force contains `rho`
    /// times its rounding. A small penalty makes that part small, and the solution does not depend
    /// on the penalty. A larger penalty converges where the small one diverges.
    pub(super) fn finish_round_cones(&mut self, work: &Work<'_>, scale: f64, slack: f64) -> bool {
        for panel in work.panels {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.saved_x[at.clone()].copy_from_slice(&self.x[at]);
        }
        for all in work.spans() {
            self.saved_z[all.clone()].copy_from_slice(&self.lambda[all]);
        }
        for (penalty, balanced) in PENALTIES_ROUND {
            if self.finish_at_penalty(work, penalty * scale, slack, balanced) {
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

    pub(super) fn finish_at_penalty(
        &mut self,
        work: &Work<'_>,
        rho: f64,
        slack: f64,
        balanced: f64,
    ) -> bool {
        for _ in 0..FINISH_STEPS {
            let mut size = work.force();
            for span in work.spans() {
                for i in span {
                    self.z[i] = self.lambda[i];
                    size = size.max(self.lambda[i].abs());
                }
            }
            self.project(work, rho);
            if !self.factor(work, rho) || !self.step(work, rho, true).1 {
                return false;
            }
            let error = self.error(work, rho);
            if error <= slack && self.imbalance(work) <= balanced * size {
                return true;
            }
        }
        false
    }

    /// Refines a point inside the cones near the solution, starting from its own multipliers;
    /// returns whether it converged. `share` is the slack at the end as a multiple of the slack
    /// allowed for active rows.
    #[allow(clippy::too_many_arguments)] // called from one place that lists all arguments
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
        let scale = self.scale(&work);
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
        let slack = (CONTACT_TOUCHING * speed.max(self.x_size(&work)))
            .max(TOUCHING_AT_REST * work.force() / scale);
        self.finish_round_cones(&work, scale, share * slack)
            || self.multiply(&work, PENALTIES_ROUND[0].0 * scale, share * slack)
    }

    /// Method of multipliers with a small penalty and a full minimisation in each round. It is
    /// slower than single steps, but does not diverge.
    pub(super) fn multiply(&mut self, work: &Work<'_>, rho: f64, slack: f64) -> bool {
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
            if !self.minimise(work, rho, false, &mut budget) {
                return false;
            }
            if self.error(work, rho) <= slack && self.imbalance(work) <= PENALTIES_ROUND[0].1 * size
            {
                return true;
            }
        }
        false
    }

    /// Whether [`crossover`](Self::crossover) applies to an island: no round cones, and a cost for
    /// every variable. Without a cost the solution may not be unique, and the least motion is wanted.
    pub fn can_cross(&mut self, isa: Isa, p: &ConeProgram, s: &Structure, island: &Island) -> bool {
        let work = Work::new(isa, p, s, island);
        self.scale(&work);
        !work.round && self.shift == 0.0
    }

    /// Crossover from a point inside the cones, in padded layout, to a solution on an active set.
    /// It tries the active set predicted at the point, then at most `sets` others near it. Returns
    /// false if none of them is optimal.
    #[allow(clippy::too_many_arguments)] // called from one place that lists all arguments
    pub fn crossover(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        island: &Island,
        start: Start<'_>,
        sets: u32,
    ) -> bool {
        let work = Work::new(isa, p, s, island);
        let scale = self.scale(&work);
        let rho = PENALTY * scale;
        self.start(&work, start, scale, rho);
        self.crossover_from(&work, SOFTER[1] * rho, work.speed(), work.force() / scale, sets)
    }

    /// Copies the solution on an island from another solver's memory.
    pub fn take_island(&mut self, from: &Self, p: &ConeProgram, s: &Structure, island: &Island) {
        for panel in &s.panels[island.first_panel as usize..island.last_panel as usize] {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.x[at.clone()].copy_from_slice(&from.x[at]);
        }
        for group in &s.groups[island.first_group as usize..island.last_group as usize] {
            for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
                let at = cone.at as usize..(cone.at + cone.stride_z) as usize;
                self.lambda[at.clone()].copy_from_slice(&from.lambda[at]);
            }
        }
        for (k, panel) in self.spring_panel.iter().enumerate() {
            if (island.first_panel..island.last_panel).contains(panel) {
                self.limited[k] = from.limited[k];
            }
        }
    }

    /// Active-set iterations from the rows in `w`: rows with a negative multiplier leave, violated
    /// rows join, until no row does. Returns false after `most` sets.
    ///
    /// A row leaves because of its multiplier, not because of the sign of its slack. So rounding in
    /// the slacks of rows with negligible force changes nothing, unlike in a minimisation. Each set
    /// starts from zero multipliers and so ends at those of smallest norm.
    fn crossover_from(
        &mut self,
        work: &Work<'_>,
        rho: f64,
        speed: f64,
        natural: f64,
        most: u32,
    ) -> bool {
        if !self.restart_forces(work, rho) {
            return false;
        }
        let (mut best, mut sets) = (f64::INFINITY, 0);
        for _ in 0..CROSSOVER_ROUNDS * (most + 1) {
            let Round { size, left, least, force } = self.round(work, rho, speed);
            let slack = (CONTACT_TOUCHING * size).max(TOUCHING_AT_REST * natural);
            if !left.is_finite() {
                return false;
            }
            let touching = left <= slack;
            if !touching && left <= WORTH_A_ROUND * best {
                best = left;
                self.take_linear(work, rho);
                continue;
            }
            if !touching && most < MANY_SETS {
                // crossover failed: active rows are inconsistent; the caller retries from a more
                // accurate point
                return false;
            }
            let below =
                if touching { self.balance(work, rho, force) } else { self.take_linear(work, rho) };
            let mut same = self.limits_stay(work);
            if below < -ROUNDING * force {
                for span in work.spans() {
                    for i in span {
                        if self.w[i] > 0.0 && !(self.lambda[i] > 0.0) {
                            (self.w[i], same) = (0.0, false);
                        }
                    }
                }
            }
            if least < -slack {
                for span in work.spans() {
                    for i in span {
                        if self.w[i] == 0.0 && self.u[i] < -slack {
                            (self.w[i], same) = (1.0, false);
                        }
                    }
                }
            }
            if same && touching {
                let exact = (SPEED_ROUNDING * size).max(TOUCHING_AT_REST * natural);
                self.smallest_norm(work, rho, force, left.max(exact));
                self.hold_rows(work, rho, speed, natural, left.max(-least));
                return true;
            }
            if !same {
                sets += 1;
                best = f64::INFINITY;
                if sets > most || !self.restart_forces(work, rho) {
                    return false;
                }
            }
        }
        false
    }

    /// Sets all multipliers to zero, and factorises for the rows in `w`.
    fn restart_forces(&mut self, work: &Work<'_>, rho: f64) -> bool {
        for span in work.spans() {
            self.lambda[span].fill(0.0);
        }
        self.factor(work, rho)
    }

    /// Updates which Huber terms are at their limits; returns true if none changed.
    pub(super) fn limits_stay(&mut self, work: &Work<'_>) -> bool {
        let mut same = true;
        for k in 0..work.p.saturations.len() {
            if work.has(self.spring_panel[k]) {
                let limited = self.is_limited(work, k);
                same &= limited == self.limited[k];
                self.limited[k] = limited;
            }
        }
        same
    }
}
