//! Rows that hold to rounding: from a solution whose active rows hold nearly to one of linearly
//! independent active rows, with the smallest nonnegative multipliers.

use super::Newton;
use super::finish::Round;
use super::work::Work;
use crate::kernels::{self, lanes, lanes_mut};
use crate::tolerances::newton_of_cones::{DEPENDENT, HELD_TO, STALLED, TOUCHING_AT_REST};
use crate::tolerances::{CONTACT_TOUCHING, ROUNDING, SPEED_ROUNDING};
use quasistep_linalg::simd::LANES;

/// Largest number of solves on active sets.
const FINISH_ROUNDS: u32 = 12;
/// Number of these after which slacks above rounding are accepted, up to those that inconsistent
/// rows may have.
const EXACT_ROUNDS: u32 = 6;
/// Largest number of steps of [`Newton::sharpen`].
const SHARPEN_STEPS: u32 = 100;
/// Largest number of active sets of [`Newton::smallest_norm`].
const NORM_ROUNDS: u32 = 8;
/// Largest number of factorisations of a search for an active set. Most searches of grasps succeed
/// within 6; in piles of boxes others take up to 50, or fail after 400. With 8 a step of the stacking
/// arm without dampers (0.4 s) has no answer; with 60 a pile takes twice as long.
const MOST_FACTORS: u32 = 12;
/// Largest number of conjugate gradient iterations.
const BALANCE_ROUNDS: u32 = 16;

/// Slack that is rounding, for variables and offsets up to `size` and the natural speed.
pub(super) fn exact(size: f64, natural: f64) -> f64 {
    (SPEED_ROUNDING * size).max(TOUCHING_AT_REST * natural)
}

impl Newton {
    /// Makes rows hold to rounding that a solution violates by more: `off` is the largest violation.
    /// The solution stays as it is where this fails. `speed` is the largest offset, `natural` the
    /// natural speed.
    pub(super) fn hold_rows(
        &mut self,
        work: &Work<'_>,
        rho: f64,
        speed: f64,
        natural: f64,
        off: f64,
    ) {
        let size = speed.max(kernels::largest(work.isa, work.panels, &self.x));
        if off <= (HELD_TO * size).max(TOUCHING_AT_REST * natural) {
            return;
        }
        for panel in work.panels {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.saved_x[at.clone()].copy_from_slice(&self.x[at]);
        }
        for span in work.spans() {
            self.saved_lambda[span.clone()].copy_from_slice(&self.lambda[span]);
        }
        if self.active_set(work, rho, speed, natural) {
            return;
        }
        for panel in work.panels {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.x[at.clone()].copy_from_slice(&self.saved_x[at]);
        }
        for span in work.spans() {
            self.lambda[span.clone()].copy_from_slice(&self.saved_lambda[span]);
        }
        kernels::slacks(work.isa, work.p, work.groups, &self.x, &mut self.u);
        self.limits_stay(work);
    }

    /// Rows with a negative multiplier leave the active set, violated rows join, until none does.
    /// Returns false if no active set is optimal after a few.
    pub(super) fn active_set(
        &mut self,
        work: &Work<'_>,
        rho: f64,
        speed: f64,
        natural: f64,
    ) -> bool {
        let last = self.factors + MOST_FACTORS;
        for round in 0..FINISH_ROUNDS {
            let mut now = self.round(work, rho, speed);
            if now.left > exact(now.size, natural) {
                let Some((end, steps)) = self.sharpen(work, rho, [speed, natural], now, last)
                else {
                    return false;
                };
                if steps > 1 && round < EXACT_ROUNDS {
                    // solve again without the rounding of these steps
                    for i in work.spans().flatten() {
                        self.lambda[i] = self.w[i] * self.z[i];
                    }
                    continue;
                }
                now = end;
            }
            let Round { size, left, force, .. } = now;
            let slack = (CONTACT_TOUCHING * size).max(TOUCHING_AT_REST * natural);
            // the condition is false for NaN
            if !(left <= slack) {
                return false;
            }
            let least = self.take_forces(work, rho);
            self.start_norm(work);
            let touching = exact(size, natural).max(left);
            let shared = self.smallest_norm(work, rho, force, touching);
            let mut same = self.limits_stay(work);
            for i in work.spans().flatten() {
                let leaves = !shared && least < -ROUNDING * force && !(self.lambda[i] > 0.0);
                if self.w[i] > 0.0 && leaves {
                    (self.w[i], same) = (0.0, false);
                } else if self.w[i] == 0.0 && self.u[i] < -exact(size, natural) {
                    (self.w[i], same) = (1.0, false);
                }
            }
            if same {
                return true;
            }
            if self.factors >= last || !self.factor(work, rho) {
                return false;
            }
        }
        false
    }

    /// Conjugate gradients on the dual with the bounds `lambda ≥ 0`: changes `z` along conjugate
    /// directions until the slacks of the active rows are rounding. A row whose multiplier
    /// `z − rho u` reaches zero leaves the active set. Returns the end and the number of steps, or
    /// `None` if multipliers may grow without limit, or after the factorisation `last_factor`.
    ///
    /// A change of `z` by `dz` changes the slacks of active rows by `S dz`, with
    /// `S = A (P + rho AᵀA)⁻¹ Aᵀ`. Most eigenvalues of `S` are close to `1/rho`. Each smaller one
    /// costs a step; it belongs to nearly dependent rows. Along dependent rows that are inconsistent
    /// the eigenvalue is zero, and the step ends where a row leaves.
    fn sharpen(
        &mut self,
        work: &Work<'_>,
        rho: f64,
        [speed, natural]: [f64; 2],
        mut now: Round,
        last_factor: u32,
    ) -> Option<(Round, u32)> {
        let mut last = f64::INFINITY;
        for step in 1..=SHARPEN_STEPS {
            // the direction is in `saved_z`
            let mut square = 0.0;
            for span in work.spans() {
                for (w, u) in self.w[span.clone()].iter().zip(&self.u[span]) {
                    square += w * u * u;
                }
            }
            let share = square / last;
            for span in work.spans() {
                let [w, u] = [&self.w, &self.u].map(|v| &v[span.clone()]);
                for ((d, w), u) in self.saved_z[span].iter_mut().zip(w).zip(u) {
                    *d = if share > 0.0 { share * *d } else { 0.0 } - w * u;
                }
            }
            self.respond(work);
            let (mut curvature, mut length) = (0.0, 0.0);
            let (mut limit, mut first) = (f64::INFINITY, None);
            for i in work.spans().flatten() {
                if self.w[i] > 0.0 {
                    let (d, rate) = (self.saved_z[i], self.rates[i]);
                    curvature += d * rate;
                    length += d * d;
                    let fall = rho * rate - d;
                    let force = self.z[i] - rho * self.u[i];
                    if fall > 0.0 && force < fall * limit {
                        (limit, first) = ((force / fall).max(0.0), Some(i));
                    }
                }
            }
            let bends = rho * curvature > DEPENDENT * length;
            let whole = if bends { square / curvature } else { f64::INFINITY };
            let leaves = first.filter(|_| limit < whole);
            let along = limit.min(whole);
            let enough = now.left <= exact(now.size, natural);
            if enough && !(bends && leaves.is_none()) {
                return Some((now, step));
            }
            if along.is_infinite() {
                return None;
            }
            for panel in work.panels {
                let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
                self.x[at.clone()].iter_mut().zip(&self.d[at]).for_each(|(x, d)| *x += along * d);
            }
            for span in work.spans() {
                let z = self.z[span.clone()].iter_mut();
                z.zip(&self.saved_z[span]).for_each(|(z, d)| *z += along * d);
            }
            if let Some(i) = leaves {
                (self.w[i], self.z[i]) = (0.0, 0.0);
            }
            let before = now.left;
            now = self.advance(work, along, speed);
            // multipliers have an error of the penalty times the slack; slacks that no longer
            // shrink are rounding
            let settled = rho * now.left <= ROUNDING * now.force || now.left > STALLED * before;
            if now.left <= exact(now.size, natural) && settled || step == SHARPEN_STEPS {
                return Some((now, step));
            }
            last = if leaves.is_some() { f64::INFINITY } else { square };
            if leaves.is_some() && (self.factors >= last_factor || !self.factor(work, rho)) {
                return None;
            }
        }
        None
    }

    /// `lambda = z − rho u` on active rows; returns the least, or zero if it is positive.
    fn take_forces(&mut self, work: &Work<'_>, rho: f64) -> f64 {
        let mut least = 0.0_f64;
        for span in work.spans() {
            let [w, z, u] = [&self.w, &self.z, &self.u].map(|v| &v[span.clone()]);
            for (((lambda, w), z), u) in self.lambda[span].iter_mut().zip(w).zip(z).zip(u) {
                *lambda = w * (z - rho * u);
                least = least.min(*lambda);
            }
        }
        least
    }

    /// Sets `lambda` to the multipliers of smallest norm on the rows in `w` that satisfy
    /// stationarity, clipped at zero. Returns the least of them before clipping, or zero if it is
    /// positive.
    ///
    /// At a minimiser `x` the multipliers `z − rho u` satisfy stationarity. They contain `rho` times
    /// the rounding in `u` of inconsistent rows, which the smallest norm removes.
    pub(super) fn balance(&mut self, work: &Work<'_>, rho: f64, force: f64) -> f64 {
        self.take_forces(work, rho);
        self.start_norm(work);
        let balanced = self.least_squares(work, force);
        let mut least = 0.0_f64;
        for i in work.spans().flatten() {
            let own = self.w[i] * if balanced { self.pull[i] } else { self.saved_z[i] };
            least = least.min(own);
            self.lambda[i] = own.max(0.0);
        }
        least
    }

    /// Starts a search for multipliers with the forces of those in `lambda`.
    fn start_norm(&mut self, work: &Work<'_>) {
        for span in work.spans() {
            self.saved_z[span.clone()].copy_from_slice(&self.lambda[span.clone()]);
            self.pull[span].fill(0.0);
        }
    }

    /// Replaces the multipliers in `lambda` by the nonnegative ones of smallest norm that exert the
    /// same forces, on all rows whose slack is at most `slack`; `w` becomes their rows. Returns false
    /// if they were not found; `w` and `lambda` then stay, but for negative multipliers, which
    /// become zero.
    ///
    /// With forces `g = Aᵀ lambda` they are `max(0, A y)`, where `Aᵀ max(0, A y) = g`. This is
    /// Newton's method for `y`, an active set after another, from the rows in `w`.
    pub(super) fn smallest_norm(
        &mut self,
        work: &Work<'_>,
        rho: f64,
        force: f64,
        slack: f64,
    ) -> bool {
        let nothing = ROUNDING * force;
        for span in work.spans() {
            self.saved_w[span.clone()].copy_from_slice(&self.w[span]);
        }
        for round in 0..NORM_ROUNDS {
            if round > 0 && !self.factor(work, rho) {
                break;
            }
            let balanced = self.least_squares(work, force);
            let mut same = true;
            for i in work.spans().flatten() {
                let pushes = if self.w[i] > 0.0 { -nothing } else { nothing };
                let next = self.u[i] <= slack && self.pull[i] > pushes;
                same &= next == (self.w[i] > 0.0);
                self.w[i] = if next { 1.0 } else { 0.0 };
            }
            if same && balanced {
                for i in work.spans().flatten() {
                    self.lambda[i] = (self.w[i] * self.pull[i]).max(0.0);
                }
                return true;
            }
            if same {
                break;
            }
        }
        for span in work.spans() {
            self.w[span.clone()].copy_from_slice(&self.saved_w[span.clone()]);
            let lambda = self.lambda[span.clone()].iter_mut();
            lambda.zip(&self.saved_z[span]).for_each(|(lambda, z)| *lambda = z.max(0.0));
        }
        false
    }

    /// Moves `pull = A y` to the least squares solution of `Aᵀ A y = Aᵀ saved_z` on the rows in `w`,
    /// by conjugate gradients preconditioned with the factor; returns whether it converged. Only the
    /// few directions that nearly dependent rows constrain weakly take more than two iterations.
    fn least_squares(&mut self, work: &Work<'_>, force: f64) -> bool {
        for span in work.spans() {
            let [w, pull, z] = [&self.w, &self.pull, &self.saved_z].map(|v| &v[span.clone()]);
            for (((lambda, w), pull), z) in self.lambda[span].iter_mut().zip(w).zip(pull).zip(z) {
                *lambda = z - w * pull;
            }
        }
        for panel in work.panels {
            self.Pd[panel.x_at as usize..(panel.x_at + panel.dim) as usize].fill(0.0);
        }
        kernels::add_forces(work.isa, work.p, work.groups, &self.lambda, &mut self.Pd);
        let mut old = f64::INFINITY;
        for _ in 0..BALANCE_ROUNDS {
            let off = kernels::largest(work.isa, work.panels, &self.Pd);
            if !(off > ROUNDING * force) {
                return off.is_finite();
            }
            self.iterations += 1;
            self.budget.spend(work.counts.solve + 2 * work.counts.rows);
            for panel in work.panels {
                let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
                self.smooth[at.clone()].copy_from_slice(&self.Pd[at]);
            }
            let (first, last) = work.range;
            kernels::solve(work.isa, work.s, first, last, &self.H, &self.W, &mut self.smooth);
            let new = work.dot(&self.Pd, &self.smooth);
            let share = new / old;
            for panel in work.panels {
                for i in panel.x_at as usize..(panel.x_at + panel.dim) as usize {
                    self.d[i] = self.smooth[i] + if share > 0.0 { share * self.d[i] } else { 0.0 };
                }
            }
            kernels::rates(work.isa, work.p, work.groups, &self.d, &mut self.rates);
            let mut length = [0.0; LANES];
            for span in work.spans() {
                let [rates, w] = [&self.rates, &self.w].map(|v| lanes(&v[span.clone()]));
                for ((lambda, rates), w) in
                    lanes_mut(&mut self.lambda[span]).iter_mut().zip(rates).zip(w)
                {
                    for l in 0..LANES {
                        lambda[l] = w[l] * rates[l];
                        length[l] += lambda[l] * lambda[l];
                    }
                }
            }
            let length: f64 = length.iter().sum();
            if !(new > 0.0 && length > 0.0) {
                return false;
            }
            for panel in work.panels {
                let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
                self.smooth[at].fill(0.0);
            }
            kernels::add_forces(work.isa, work.p, work.groups, &self.lambda, &mut self.smooth);
            let step = new / length;
            for panel in work.panels {
                for i in panel.x_at as usize..(panel.x_at + panel.dim) as usize {
                    self.Pd[i] -= step * self.smooth[i];
                }
            }
            for span in work.spans() {
                let pull = self.pull[span.clone()].iter_mut();
                pull.zip(&self.rates[span]).for_each(|(pull, rate)| *pull += step * rate);
            }
            old = new;
        }
        false
    }

    /// `d = H⁻¹ Aᵀ saved_z` and `rates = A d`.
    fn respond(&mut self, work: &Work<'_>) {
        self.iterations += 1;
        self.budget.spend(work.counts.solve + 2 * work.counts.rows);
        for panel in work.panels {
            self.d[panel.x_at as usize..(panel.x_at + panel.dim) as usize].fill(0.0);
        }
        kernels::add_forces(work.isa, work.p, work.groups, &self.saved_z, &mut self.d);
        let (first, last) = work.range;
        kernels::solve(work.isa, work.s, first, last, &self.H, &self.W, &mut self.d);
        kernels::rates(work.isa, work.p, work.groups, &self.d, &mut self.rates);
    }
}
