//! Newton steps with line search until the active set does not change.

use super::work::Work;
use super::{Kept, Newton};
use crate::kernels::{self, Line, Weights, lanes};
use crate::tolerances::newton_of_cones::{
    CRAWL, LINE_SEARCH_SLOPE, MOVED, NO_STEP, SLOPE_ROUNDING,
};
use quasistep_linalg::simd::LANES;

/// Largest number of updates of an assembled Hessian before it is assembled anew, to limit
/// rounding.
const KEPT_CHANGES: u32 = 8;

impl Newton {
    /// Newton's method until the active set does not change. With `linear` the first step is a full
    /// step on the current active set, without line search.
    pub(super) fn minimise(
        &mut self,
        work: &Work<'_>,
        rho: f64,
        linear: bool,
        budget: &mut u32,
    ) -> bool {
        let mut linear = linear;
        loop {
            if *budget == 0 || !self.factor(work, rho) {
                return false;
            }
            *budget -= 1;
            if linear {
                self.lambda_linear(work, rho);
            }
            let (converged, sane) = self.step(work, rho, linear);
            if !sane {
                return false;
            }
            if converged {
                return true;
            }
            linear = false;
        }
    }

    /// Minimises for updated multipliers `z`, with the current factor while the active set does not
    /// change.
    pub(super) fn refine(&mut self, work: &Work<'_>, rho: f64, budget: &mut u32) -> bool {
        self.lambda_linear(work, rho);
        let (converged, sane) = self.step(work, rho, true);
        if !sane {
            return false;
        }
        converged || self.minimise(work, rho, false, budget)
    }

    /// One Newton step with the current factor.
    ///
    /// Returns two flags. The first is true if the active set did not change in a full step, so
    /// that the minimum is reached. The second is true if another step may reach it: all numbers
    /// are finite, and steps are not too short.
    pub(super) fn step(&mut self, work: &Work<'_>, rho: f64, whole: bool) -> (bool, bool) {
        self.iterations += 1;
        if !self.budget.spend(work.counts.solve + 4 * work.counts.rows) {
            return (false, false);
        }
        self.smooth_gradient(work, self.shift);
        for panel in work.panels {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.d[at.clone()].copy_from_slice(&self.smooth[at]);
        }
        kernels::subtract_forces(work.isa, work.p, work.groups, &self.lambda, &mut self.d);
        let (mut slope, mut terms) = (0.0, 0.0);
        for panel in work.panels {
            for i in panel.x_at as usize..(panel.x_at + panel.dim) as usize {
                self.d[i] = -self.d[i];
                self.Pd[i] = self.d[i];
            }
        }
        let (first, last) = work.range;
        kernels::solve(work.isa, work.s, first, last, &self.H, &self.W, &mut self.d);
        for panel in work.panels {
            for i in panel.x_at as usize..(panel.x_at + panel.dim) as usize {
                slope -= self.Pd[i] * self.d[i];
                terms += (self.smooth[i] * self.d[i]).abs();
            }
        }
        if !slope.is_finite() {
            return (false, false);
        }
        kernels::rates(work.isa, work.p, work.groups, &self.d, &mut self.rates);
        // the slope may be rounding of the terms of its sum
        let moves = kernels::largest(work.isa, work.panels, &self.d);
        let whole =
            whole || slope.abs() <= SLOPE_ROUNDING * terms || moves <= NO_STEP * self.reference;
        let tau = if whole { 1.0 } else { self.line_search(work, rho, slope) };
        self.crawled = if tau < CRAWL { self.crawled + 1 } else { 0 };
        if self.crawled > self.patience {
            return (false, false);
        }
        for panel in work.panels {
            for i in panel.x_at as usize..(panel.x_at + panel.dim) as usize {
                self.x[i] += tau * self.d[i];
            }
        }
        for span in work.spans() {
            for (u, rate) in self.u[span.clone()].iter_mut().zip(&self.rates[span]) {
                *u += tau * rate;
            }
        }
        let before = self.turned;
        let changed = self.project(work, rho);
        self.strays = self.turned > before && moves > MOVED * self.reference;
        (tau == 1.0 && !changed, !self.is_lost(work))
    }

    /// Stationarity residual: largest entry of `P x + c + ∇huber − Jᵀ Eᵀ lambda`.
    pub(super) fn imbalance(&mut self, work: &Work<'_>) -> f64 {
        self.smooth_gradient(work, self.shift);
        for panel in work.panels {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.d[at.clone()].copy_from_slice(&self.smooth[at]);
        }
        kernels::subtract_forces(work.isa, work.p, work.groups, &self.lambda, &mut self.d);
        kernels::largest(work.isa, work.panels, &self.d)
    }

    /// `smooth = P x + c + ∇huber + shift (x − center)`.
    pub(super) fn smooth_gradient(&mut self, work: &Work<'_>, shift: f64) {
        kernels::cost_times(work.isa, work.p, work.panels, &self.x, &mut self.smooth);
        for panel in work.panels {
            for i in panel.x_at as usize..(panel.x_at + panel.dim) as usize {
                self.smooth[i] += work.p.c[i] + shift * (self.x[i] - self.center[i]);
            }
        }
        for (k, spring) in work.p.saturations.iter().enumerate() {
            if work.has(self.spring_panel[k]) {
                let at = self.spring_at[k] as usize;
                self.smooth[at] += spring.gradient(self.x[at]);
            }
        }
    }

    /// Assembles and factorises `P + rho Jᵀ Eᵀ D E J`. If few edges changed sides, only the blocks
    /// that they affect are updated.
    pub(super) fn factor(&mut self, work: &Work<'_>, rho: f64) -> bool {
        self.factors += 1;
        if !self.budget.spend(work.counts.factor) {
            self.assembled = None;
            return false;
        }
        let stands_for = Some(Kept { island: work.range.0, rho, shift: self.shift });
        let again =
            !work.round && self.assembled == stands_for && self.kept_limited == self.limited;
        self.assembled = None;
        let factored = if again && self.kept && self.kept_changes < KEPT_CHANGES {
            self.factor_changes(work, rho)
        } else {
            self.factor_all(work, rho, again)
        };
        if factored {
            self.assembled = stands_for;
        }
        factored
    }

    /// Assembles and factorises the whole matrix. A copy is kept only if rows changed `again`,
    /// because most warm starts need one factor.
    fn factor_all(&mut self, work: &Work<'_>, rho: f64, again: bool) -> bool {
        let Self { kept_H, H, limited, shift, .. } = self;
        let to = if again { &mut *kept_H } else { &mut *H };
        kernels::start_hessian(work.isa, work.p, work.panels, *shift, to);
        for (k, spring) in work.p.saturations.iter().enumerate() {
            if work.has(self.spring_panel[k]) && !limited[k] {
                let panel = &work.s.panels[self.spring_panel[k] as usize];
                let i = (self.spring_at[k] - panel.x_at) as usize;
                let diagonal = panel.at as usize + i * (panel.stride() as usize + 1);
                to[diagonal] += spring.stiffness;
            }
        }
        // w and D contain the factors of rho
        let weights = Weights { rho, w: &self.w, D: &self.D };
        let Work { isa, p, s, groups, .. } = *work;
        kernels::add_cones(isa, p, groups, &s.targets, weights, &mut self.products, to);
        if again {
            let start = work.panels.first().map_or(0, |panel| panel.at as usize);
            let end = work.panels.last().map_or(0, |p| (p.at + p.len()) as usize);
            H[start..end].copy_from_slice(&kept_H[start..end]);
            for all in work.spans() {
                self.kept_w[all.clone()].copy_from_slice(&self.w[all]);
            }
        }
        (self.kept, self.kept_changes) = (again, 0);
        self.kept_limited.clone_from(limited);
        let (first, last) = work.range;
        kernels::factor(work.isa, work.s.layout(), first, last, 0.0, H, &mut self.W).is_ok()
    }

    /// Updates the factor after some edges changed sides: adds their cones' terms, and refactorises
    /// only the blocks that they affect.
    fn factor_changes(&mut self, work: &Work<'_>, rho: f64) -> bool {
        self.kept_changes += 1;
        let Self { kept_w, change, kept_H, H, stale, .. } = self;
        for span in work.spans() {
            for i in span {
                change[i] = self.w[i] - kept_w[i];
            }
        }
        let (first, last) = work.range;
        stale.clear();
        stale.resize(last - first, false);
        for (g, group) in work.groups.iter().enumerate() {
            let (a, b) = (group.first_cone as usize, group.last_cone as usize - 1);
            let (a, b) = (&work.p.cones[a], &work.p.cones[b]);
            let rows = a.at as usize..(b.at + b.stride_z) as usize;
            if lanes(&change[rows]).iter().all(|row| *row == [0.0; LANES]) {
                continue;
            }
            let weights = Weights { rho, w: change, D: &self.D };
            let Work { isa, p, s, .. } = *work;
            let own = &work.groups[g..=g];
            kernels::add_cones(isa, p, own, &s.targets, weights, &mut self.products, kept_H);
            for side in work.p.sides_of(a) {
                stale[work.s.panel_of_block[side.block as usize] as usize - first] = true;
            }
        }
        for all in work.spans() {
            kept_w[all.clone()].copy_from_slice(&self.w[all]);
        }
        let mut k = 0;
        while k < stale.len() {
            let from = k;
            while k < stale.len() && stale[k] {
                let panel = &work.panels[k];
                let own = panel.at as usize..(panel.at + panel.len()) as usize;
                H[own.clone()].copy_from_slice(&kept_H[own]);
                for column in
                    &work.s.columns[panel.first_column as usize..panel.last_column as usize]
                {
                    stale[column.panel as usize - first] = true;
                }
                k += 1;
            }
            if k > from {
                let run = (first + from, first + k);
                let W = &mut self.W;
                if kernels::factor(work.isa, work.s.layout(), run.0, run.1, 0.0, H, W).is_err() {
                    return false;
                }
            }
            k += 1;
        }
        true
    }

    /// Exact line search: step length along `d` at which the slope of the cost is nearly zero.
    pub(super) fn line_search(&mut self, work: &Work<'_>, rho: f64, slope: f64) -> f64 {
        kernels::cost_times(work.isa, work.p, work.panels, &self.d, &mut self.Pd);
        let (mut linear, mut quadratic) = (0.0, 0.0);
        for panel in work.panels {
            for i in panel.x_at as usize..(panel.x_at + panel.dim) as usize {
                linear += self.smooth[i] * self.d[i];
                quadratic += self.d[i] * (self.Pd[i] + self.shift * self.d[i]);
            }
        }
        // slope of the augmented Lagrangian at tau, and its derivative
        let at = |tau: f64| {
            let (mut value, mut bend) = (linear + tau * quadratic, quadratic);
            for (k, spring) in work.p.saturations.iter().enumerate() {
                if work.has(self.spring_panel[k]) {
                    let i = self.spring_at[k] as usize;
                    let x = self.x[i] + tau * self.d[i];
                    value += self.d[i] * (spring.gradient(x) - spring.gradient(self.x[i]));
                    if spring.stiffness * (x - spring.target).abs() < spring.limit {
                        bend += spring.stiffness * self.d[i] * self.d[i];
                    }
                }
            }
            let line = Line { z: &self.z, u: &self.u, rates: &self.rates };
            let [power, power_bend] =
                kernels::force_power(work.isa, work.p, work.groups, rho, tau, line);
            [value - power, bend - power_bend]
        };
        let enough = LINE_SEARCH_SLOPE * slope.abs();
        let [mut f, mut bend] = at(1.0);
        if f <= enough {
            return 1.0;
        }
        // the slope is monotone and piecewise linear: Newton's method within a bracket ends on the
        // root's own piece
        let (mut lo, mut hi, mut tau) = (0.0, 1.0, 1.0);
        for _ in 0..40 {
            if f > 0.0 {
                hi = tau;
            } else {
                lo = tau;
            }
            let next = tau - f / bend;
            tau = if next > lo && next < hi { next } else { 0.5 * (lo + hi) };
            [f, bend] = at(tau);
            if f.abs() <= enough || !f.is_finite() {
                break;
            }
        }
        tau
    }
}
