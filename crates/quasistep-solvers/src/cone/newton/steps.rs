//! One Newton step, and steps until the active set stays.

use super::work::Work;
use super::{CRAWL, Kept, Newton};
use crate::cone::kernels;

/// Rounding of a sum, as a share of its terms.
const ROUNDING: f64 = 1e-13;
/// Step, as a share of the speeds that the data speak of, that moves nothing.
const STILL: f64 = 1e-15;
/// Changes of an assembled Hessian before rounding is swept out.
const KEPT_CHANGES: u32 = 8;
/// The line search is left when the slope is this share of the slope at its start.
const SLOPE: f64 = 1e-3;

impl Newton {
    /// Newton's method until the active set stays. `linear` says that the first step is to be taken
    /// whole with the active set at hand, whatever it does to the cost.
    pub(super) fn minimise(
        &mut self,
        work: &Work<'_>,
        rho: f64,
        shift: f64,
        linear: bool,
        budget: &mut u32,
    ) -> bool {
        let mut linear = linear;
        loop {
            if *budget == 0 || !self.factor(work, rho, shift) {
                return false;
            }
            *budget -= 1;
            if linear {
                self.lambda_linear(work, rho);
            }
            let (settled, sane) = self.step(work, rho, shift, linear);
            if !sane {
                return false;
            }
            if settled {
                return true;
            }
            linear = false;
        }
    }

    /// A minimiser for new `z`, with the factor at hand while the active set stays.
    pub(super) fn refine(
        &mut self,
        work: &Work<'_>,
        rho: f64,
        shift: f64,
        budget: &mut u32,
    ) -> bool {
        self.lambda_linear(work, rho);
        let (settled, sane) = self.step(work, rho, shift, true);
        if !sane {
            return false;
        }
        settled || self.minimise(work, rho, shift, false, budget)
    }

    /// One Newton step with the factor at hand. Returns whether the active set stayed through a
    /// whole step, so that the minimum is reached, and whether another one may lead there: all numbers are
    /// finite, and steps do not crawl.
    pub(super) fn step(
        &mut self,
        work: &Work<'_>,
        rho: f64,
        shift: f64,
        whole: bool,
    ) -> (bool, bool) {
        self.iterations += 1;
        self.smooth_gradient(work, shift);
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
        // what is left of the slope may be rounding of the terms that it is the sum of
        let moves = work.largest(&self.d);
        let whole = whole || slope.abs() <= ROUNDING * terms || moves <= STILL * self.reference;
        let tau = if whole { 1.0 } else { self.line_search(work, rho, shift, slope) };
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
        let changed = self.project(work, rho);
        (tau == 1.0 && !changed, !self.is_lost(work))
    }

    /// Largest entry of `P x + c + ∇huber − Jᵀ Eᵀ lambda`.
    pub(super) fn imbalance(&mut self, work: &Work<'_>, shift: f64) -> f64 {
        self.smooth_gradient(work, shift);
        for panel in work.panels {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.d[at.clone()].copy_from_slice(&self.smooth[at]);
        }
        kernels::subtract_forces(work.isa, work.p, work.groups, &self.lambda, &mut self.d);
        work.largest(&self.d)
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

    /// Assembles and factors `P + rho Jᵀ Eᵀ D E J`. Where few edges changed sides, only theirs is new.
    pub(super) fn factor(&mut self, work: &Work<'_>, rho: f64, shift: f64) -> bool {
        self.factors += 1;
        let same = !work.round
            && self.kept == Some(Kept { island: work.range.0, rho, shift })
            && self.kept_changes < KEPT_CHANGES
            && self.kept_limited == self.limited;
        // rho goes in by way of w and D: they hold shares of it
        let Self { kept_w, change, kept_H, limited, .. } = self;
        if same {
            self.kept_changes += 1;
            for span in work.spans() {
                for i in span {
                    change[i] = self.w[i] - kept_w[i];
                }
            }
        } else {
            kernels::start_hessian(work.isa, work.p, work.panels, shift, kept_H);
            for (k, spring) in work.p.saturations.iter().enumerate() {
                if work.has(self.spring_panel[k]) && !limited[k] {
                    let panel = &work.s.panels[self.spring_panel[k] as usize];
                    let i = (self.spring_at[k] - panel.x_at) as usize;
                    let diagonal = panel.at as usize + i * (panel.stride() as usize + 1);
                    kept_H[diagonal] += spring.stiffness;
                }
            }
            self.kept = Some(Kept { island: work.range.0, rho, shift });
            self.kept_changes = 0;
            self.kept_limited.clone_from(limited);
        }
        kernels::add_cones(
            work.isa,
            work.p,
            work.groups,
            &work.s.targets,
            rho,
            if same { change } else { &self.w },
            &self.D,
            &mut self.products,
            kept_H,
        );
        for all in work.spans() {
            kept_w[all.clone()].copy_from_slice(&self.w[all]);
        }
        let start = work.panels.first().map_or(0, |panel| panel.at as usize);
        let end = work.panels.last().map_or(0, |p| (p.at + p.len()) as usize);
        self.H[start..end].copy_from_slice(&kept_H[start..end]);
        let (first, last) = work.range;
        kernels::factor(work.isa, work.s, first, last, 0.0, &mut self.H, &mut self.W).is_ok()
    }

    /// Step length along `d` where the slope of the cost is nearly zero.
    pub(super) fn line_search(&mut self, work: &Work<'_>, rho: f64, shift: f64, slope: f64) -> f64 {
        kernels::cost_times(work.isa, work.p, work.panels, &self.d, &mut self.Pd);
        let (mut linear, mut quadratic) = (0.0, 0.0);
        for panel in work.panels {
            for i in panel.x_at as usize..(panel.x_at + panel.dim) as usize {
                linear += self.smooth[i] * self.d[i];
                quadratic += self.d[i] * (self.Pd[i] + shift * self.d[i]);
            }
        }
        // slope of the whole cost at tau, and its derivative
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
            let (z, u, rates) = (&self.z, &self.u, &self.rates);
            let [power, power_bend] =
                kernels::force_power(work.isa, work.p, work.groups, rho, tau, z, u, rates);
            [value - power, bend - power_bend]
        };
        let enough = SLOPE * slope.abs();
        let [mut f, mut bend] = at(1.0);
        if f <= enough {
            return 1.0;
        }
        // the slope is monotone and piecewise linear: Newton's method, kept inside a bracket, ends
        // on the root's own piece
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
