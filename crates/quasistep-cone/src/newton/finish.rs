//! Last digits: from the first minimiser of the augmented Lagrangian to the solution on its active
//! set.

use super::work::Work;
use super::{Effort, Newton};
use crate::kernels::{self, lanes, lanes_mut};
use crate::tolerances::newton_of_cones::{NOISE, NOISE_AT_REST, TOUCHING_AT_REST, WORTH_A_ROUND};
use crate::tolerances::{CONTACT_TOUCHING, ROUNDING, SPEED_ROUNDING};
use quasistep_linalg::kernels::larger;
use quasistep_linalg::simd::LANES;

/// Largest number of solves on active sets.
const FINISH_ROUNDS: u32 = 8;

/// Residuals after a solve on the active rows.
pub(super) struct Round {
    /// Largest variable or offset.
    pub size: f64,
    /// Largest slack magnitude of an active row.
    pub left: f64,
    /// Least slack of any row, at most zero.
    pub least: f64,
    /// Largest force before the solve: multipliers, cost and Huber terms.
    pub force: f64,
}

impl Newton {
    /// Computes the solution on the active set of the first minimiser: least squares on the active
    /// rows, then multipliers that satisfy stationarity. Returns false if a row or a Huber term
    /// changes sides.
    ///
    /// With `lambda = −rho u` of the minimiser, `dx = −H⁻¹ rho Aᵀ u` is the multiplier update with
    /// `z = lambda`. Its forces `lambda − rho u` contain `rho` times the rounding in `u` of
    /// inconsistent rows. A further solve removes this part. `speed` is the largest offset,
    /// `natural` the natural speed.
    pub(super) fn finish(&mut self, work: &Work<'_>, rho: f64, speed: f64, natural: f64) -> bool {
        let mut best = f64::INFINITY;
        for round in 0..FINISH_ROUNDS {
            let Round { size, left, least, force } = self.round(work, rho, speed);
            let slack = (CONTACT_TOUCHING * size).max(TOUCHING_AT_REST * natural);
            // the condition is false for NaN
            let exact = (NOISE * size).max(NOISE_AT_REST * natural);
            // the first round leaves a share of the initial error, 1e-5 where rows are nearly
            // dependent; after a second round the result does not depend on the start; more rounds
            // would move nearly dependent rows apart
            if round == 0 && left > exact || !(left <= slack) && left <= WORTH_A_ROUND * best {
                best = left;
                // keep the active set and update its multipliers
                self.take_linear(work, rho);
                continue;
            }
            let limits_hold = (0..work.p.saturations.len()).all(|k| {
                !work.has(self.spring_panel[k]) || self.limited[k] == self.is_limited(work, k)
            });
            if !(left <= slack) {
                // where rows are small beside the penalty, updates converge slowly
                return self.effort == Effort::Insist
                    && left.is_finite()
                    && self.active_set(work, rho, speed, natural);
            }
            if !(least >= -slack && limits_hold) {
                return false;
            }
            let below = self.balance(work, rho, force);
            if below >= -ROUNDING * force {
                let exact = (SPEED_ROUNDING * size).max(TOUCHING_AT_REST * natural);
                self.smallest_norm(work, rho, force, left.max(exact));
                self.hold_rows(work, rho, speed, natural, left.max(-least));
                return true;
            }
            // rows with a negative multiplier leave the active set
            best = f64::INFINITY;
            for span in work.spans() {
                for i in span {
                    self.w[i] = if self.lambda[i] > 0.0 { 1.0 } else { 0.0 };
                }
            }
            if !self.factor(work, rho) {
                return false;
            }
        }
        false
    }

    /// One solve on the active rows. Updates `x` and `u`; `z` receives the multipliers before the
    /// solve. `speed` is the largest offset.
    pub(super) fn round(&mut self, work: &Work<'_>, rho: f64, speed: f64) -> Round {
        for span in work.spans() {
            let [w, u] = [&self.w, &self.u].map(|v| &v[span.clone()]);
            let (z, lambda) = (&mut self.z[span.clone()], &mut self.lambda[span]);
            z.copy_from_slice(lambda);
            for ((lambda, w), u) in lambda.iter_mut().zip(w).zip(u) {
                *lambda -= w * rho * u;
            }
        }
        self.iterations += 1;
        self.smooth_gradient(work, 0.0);
        self.solve_for_imbalance(work);
        for panel in work.panels {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.x[at.clone()].iter_mut().zip(&self.d[at]).for_each(|(x, d)| *x += d);
        }
        self.advance(work, 1.0, speed)
    }

    /// Adds `step` times `rates` to `u`, and measures the result.
    pub(super) fn advance(&mut self, work: &Work<'_>, step: f64, speed: f64) -> Round {
        let size = speed.max(kernels::largest(work.isa, work.panels, &self.x));
        // one maximum per lane, so that no operation waits for the last
        let mut most = [[0.0; LANES]; 3];
        for span in work.spans() {
            let [w, z, rates] = [&self.w, &self.z, &self.rates].map(|v| lanes(&v[span.clone()]));
            let u = lanes_mut(&mut self.u[span]);
            for (((u, rates), w), z) in u.iter_mut().zip(rates).zip(w).zip(z) {
                for l in 0..LANES {
                    u[l] += step * rates[l];
                    most[0][l] = larger(most[0][l], w[l] * u[l].abs());
                    most[1][l] = larger(most[1][l], -u[l]);
                    most[2][l] = larger(most[2][l], z[l]);
                }
            }
        }
        let [left, below, force] = most.map(|m| m.iter().fold(0.0, |m: f64, v| m.max(*v)));
        Round { size, left, least: -below, force: force.max(work.force()) }
    }

    /// Whether the Huber term `k` is at its limit.
    pub(super) fn is_limited(&self, work: &Work<'_>, k: usize) -> bool {
        let spring = &work.p.saturations[k];
        let stretch = self.x[self.spring_at[k] as usize] - spring.target;
        spring.stiffness * stretch.abs() > spring.limit
    }

    /// `lambda = max(0, z − rho u)` on active rows; returns the least `z − rho u`, or zero if it is
    /// positive.
    pub(super) fn take_linear(&mut self, work: &Work<'_>, rho: f64) -> f64 {
        let mut below = [0.0; LANES];
        for span in work.spans() {
            let [w, z, u] = [&self.w, &self.z, &self.u].map(|v| lanes(&v[span.clone()]));
            let lambda = lanes_mut(&mut self.lambda[span]);
            for (((lambda, w), z), u) in lambda.iter_mut().zip(w).zip(z).zip(u) {
                for l in 0..LANES {
                    let force = w[l] * (z[l] - rho * u[l]);
                    below[l] = larger(below[l], -force);
                    lambda[l] = larger(0.0, force);
                }
            }
        }
        -below.iter().fold(0.0, |m: f64, v| m.max(*v))
    }

    /// `d = −H⁻¹ (smooth − Aᵀ lambda)` and `rates = A d`.
    pub(super) fn solve_for_imbalance(&mut self, work: &Work<'_>) {
        self.budget.spend(work.counts.solve + 2 * work.counts.rows);
        for panel in work.panels {
            for i in panel.x_at as usize..(panel.x_at + panel.dim) as usize {
                self.d[i] = -self.smooth[i];
            }
        }
        kernels::add_forces(work.isa, work.p, work.groups, &self.lambda, &mut self.d);
        let (first, last) = work.range;
        kernels::solve(work.isa, work.s, first, last, &self.H, &self.W, &mut self.d);
        kernels::rates(work.isa, work.p, work.groups, &self.d, &mut self.rates);
    }
}
