//! Block-sparse primal-dual interior point (Mehrotra) for pyramids, plain rows and round cones: the
//! solver for problems that resemble no other, for many bodies, and for bodies without mass.
//!
//! ```text
//! P x + c + ∇huber − Aᵀ z = 0,    A x − b − s = 0,    s ∘ z = mu e,    A = E J
//! ```
//!
//! Each iteration solves `(P + Aᵀ W⁻² A) dx = …` twice with one factor, block by block in the order
//! of [`Structure`]; `W⁻²` is `z/s` on edges and Nesterov and Todd's scaling on round cones. The
//! number of iterations hardly grows with the problem. It ends near the middle of the set of
//! answers, off by 1e-4 of a speed where rows are degenerate: Newton's method finishes what it began.
//!
//! | code       | meaning                                                                 |
//! |------------|-------------------------------------------------------------------------|
//! | `gap`      | `A x − b − s`, shrinks by `1 − alpha` each iteration                      |
//! | `pull`     | `P x + c + ∇huber − Aᵀ z`, likewise                                       |
//! | `t`        | `dz = −t − W⁻² A dx`                                                    |
//! | `over`, `under` | how far a limited spring is stretched beyond its limit, upwards and downwards |

mod sizes;
mod spring;
mod start;
mod work;

use crate::cone::kernels::{self, Isa};
use crate::cone::program::ConeProgram;
use crate::cone::structure::{Island, Structure};
use spring::Spring;
use work::Work;

/// Iterations without progress after which rounding has taken over.
const STALLED: u32 = 2;
/// Iterations before an island counts as stuck.
const ITERATIONS: u32 = 60;
/// Share of the way to the boundary that a step takes.
const STEP: f64 = 0.995;
/// Power of the mean product after the predictor, as a share of that before: the share to aim at.
const CENTER: i32 = 5;
const CENTER_ROUND: i32 = 3;
/// Directions after the corrector's that look for a longer step, what they add to it, and the share of that
/// which must come for another one.
const CENTERINGS: u32 = 2;
/// Numbers in an island's factor from which such directions are cheap beside it.
const LARGE: u32 = 30_000;
const LONGER: f64 = 0.3;
const WORTH: f64 = 0.1;
/// Step that is long enough.
const LONG: f64 = 0.95;
/// Products at the end of the longer step, over the mean that is aimed at: what is below or above is moved.
const PRODUCTS: [f64; 2] = [0.1, 10.0];
/// Diagonal shift towards the last `x`, as a share of the largest diagonal entry of the cost.
const SHIFT: f64 = 1e-9;

/// Memory; vectors over padded `x` and padded `z`, shared by all islands.
#[derive(Debug, Default)]
pub(crate) struct Interior {
    pub x: Vec<f64>,
    pub z: Vec<f64>,
    pub s: Vec<f64>,
    gap: Vec<f64>,
    pull: Vec<f64>,
    dx: Vec<f64>,
    dz: Vec<f64>,
    ds: Vec<f64>,
    t: Vec<f64>,
    /// `z/s` on edges, not 0 on round cones.
    w: Vec<f64>,
    /// `W⁻²` of round cones, laid out like `E`.
    D: Vec<f64>,
    /// 1 on entries of `z` that exist, 0 on padding.
    live: Vec<f64>,
    H: Vec<f64>,
    W: Vec<f64>,
    JS: Vec<f64>,
    GJ: Vec<f64>,
    springs: Vec<Spring>,
    /// A direction to come back to.
    last_dx: Vec<f64>,
    last_ds: Vec<f64>,
    last_dz: Vec<f64>,
    /// What a row gives way for a unit of force: `A x − b + give z = s`.
    give: f64,
    pub iterations: u32,
}

/// How an island's iteration ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// The mean product is this share of force times speed.
    Reached,
    Stuck,
}

impl Interior {
    /// Takes the sizes of a problem.
    pub fn prepare(&mut self, p: &ConeProgram, s: &Structure) {
        for v in [&mut self.x, &mut self.pull, &mut self.dx, &mut self.last_dx] {
            v.clear();
            v.resize(p.n_padded, 0.0);
        }
        for v in [
            &mut self.z,
            &mut self.gap,
            &mut self.dz,
            &mut self.ds,
            &mut self.t,
            &mut self.last_dz,
            &mut self.last_ds,
        ] {
            v.clear();
            v.resize(p.m_padded, 0.0);
        }
        for v in [&mut self.s, &mut self.w] {
            v.clear();
            v.resize(p.m_padded, 1.0);
        }
        self.live.clear();
        self.live.resize(p.m_padded, 0.0);
        for cone in &p.cones {
            self.live[cone.at as usize..(cone.at + cone.m) as usize].fill(1.0);
        }
        if self.D.len() < p.E.len() {
            self.D.resize(p.E.len(), 0.0);
        }
        if self.H.len() < s.H_len {
            self.H.resize(s.H_len, 0.0);
        }
        if self.W.len() < s.W_len {
            self.W.resize(s.W_len, 0.0);
        }
        self.springs.clear();
        for spring in &p.saturations {
            let block = p.blocks.partition_point(|b| b.first <= spring.index) - 1;
            let i = spring.index - p.blocks[block].first;
            let panel = s.panel_of_block[block];
            let at = &s.panels[panel as usize];
            self.springs.push(Spring {
                at: p.blocks[block].at + i,
                H_at: at.at + i * (at.width + 1),
                panel,
                stiffness: if spring.limit > 0.0 { spring.stiffness } else { 0.0 },
                limit: spring.limit,
                target: spring.target,
                ..Spring::default()
            });
        }
        self.iterations = 0;
    }

    /// Iterates on one island until the mean product of slack and multiplier is `target` of force
    /// times speed, or nothing moves. The point is in the island's entries of `x`, `s` and `z`. A row gives
    /// way by `give` over the scale of the cost.
    pub fn solve(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        island: &Island,
        target: f64,
        give: f64,
    ) -> Outcome {
        let work = Work::new(isa, p, s, island);
        let scale = self.scale(&work);
        self.give = give / scale;
        if self.start(&work, scale) { self.iterate(&work, scale, target) } else { Outcome::Stuck }
    }

    /// Takes over the point of an island.
    pub fn take_island(&mut self, from: &Self, p: &ConeProgram, s: &Structure, island: &Island) {
        for panel in &s.panels[island.first_panel as usize..island.last_panel as usize] {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.x[at.clone()].copy_from_slice(&from.x[at]);
        }
        for group in &s.groups[island.first_group as usize..island.last_group as usize] {
            for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
                let at = cone.at as usize..(cone.at + cone.stride_z) as usize;
                self.z[at.clone()].copy_from_slice(&from.z[at.clone()]);
                self.s[at.clone()].copy_from_slice(&from.s[at]);
            }
        }
    }

    /// Goes on from the point where [`solve`](Self::solve) ended.
    pub fn go_on(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        island: &Island,
        target: f64,
        give: f64,
    ) -> Outcome {
        let work = Work::new(isa, p, s, island);
        let scale = self.scale(&work);
        self.give = give / scale;
        self.iterate(&work, scale, target)
    }

    fn iterate(&mut self, work: &Work<'_>, scale: f64, target: f64) -> Outcome {
        let p = work.p;
        let degree = self.degree(work);
        let shift = SHIFT * scale;
        let power = if work.round { CENTER_ROUND } else { CENTER };
        let (force, speed) = (self.force(work), Self::speed(work));
        let speed = speed.max(force / scale);
        let mut mu = self.products(work, 0.0) / degree;
        let mut best = f64::INFINITY;
        let mut since = 0;
        for _ in 0..ITERATIONS {
            let size = self.size(work);
            let (gap, pull) = (self.largest_gap(work), work.largest(&self.pull));
            // a step back means that rounding has taken over
            let now = (mu / (force * speed)).max(gap / speed).max(pull / force);
            if !mu.is_finite() {
                return Outcome::Stuck;
            }
            if now <= target {
                return Outcome::Reached;
            }
            if now < 0.9 * best {
                (best, since) = (now, 0);
            } else {
                since += 1;
            }
            if since > STALLED || !now.is_finite() || size > 1e12 * speed {
                return Outcome::Stuck;
            }
            self.iterations += 1;
            kernels::weights(
                work.isa,
                p,
                work.groups,
                self.give,
                &self.s,
                &self.z,
                &mut self.w,
                &mut self.D,
            );
            if !self.factor(work, shift) {
                return Outcome::Stuck;
            }
            // predictor: straight at the answer
            kernels::predictor(
                work.isa,
                p,
                work.groups,
                &self.s,
                &self.z,
                &self.gap,
                &self.w,
                &self.D,
                &mut self.t,
            );
            for spring in self.springs.iter_mut().filter(|s| work.has(s.panel)) {
                let [a, b] = spring.margins();
                spring.t = [spring.over * a, spring.under * b];
            }
            let alpha = self.direction(work).min(1.0);
            let ahead = self.products(work, alpha) / degree;
            let center = (ahead / mu).clamp(0.0, 1.0).powi(power);
            // corrector: what the predictor's products left out, and back to the middle
            kernels::corrector(
                work.isa,
                p,
                work.groups,
                self.give,
                center * mu,
                &self.s,
                &self.z,
                &self.gap,
                &self.w,
                &self.D,
                &self.live,
                &self.ds,
                &self.dz,
                &mut self.t,
            );
            for spring in self.springs.iter_mut().filter(|s| work.has(s.panel) && s.limited()) {
                let [a, b] = spring.margins();
                let [force, over, under] = spring.change;
                spring.t = [
                    spring.over * a - over * force - center * mu,
                    spring.under * b + under * force - center * mu,
                ];
            }
            let longest = self.lengthen(work, center * mu);
            let alpha = (STEP * longest).min(1.0);
            // written so that NaN ends here, with the point still good
            if !(alpha > 1e-6 && work.sum(&self.dx).is_finite()) {
                return Outcome::Stuck;
            }
            mu = self.advance(work, alpha, shift) / degree;
        }
        Outcome::Stuck
    }

    /// The corrector's direction, or one that lets a longer step by moving the products that end it:
    /// Gondzio's. Returns its longest step inside.
    fn lengthen(&mut self, work: &Work<'_>, aim: f64) -> f64 {
        let mut longest = self.direction(work);
        let large = work.panels.iter().map(|panel| panel.dim * panel.width).sum::<u32>() >= LARGE;
        for _ in 0..if large && !work.round { CENTERINGS } else { 0 } {
            if longest >= LONG {
                break;
            }
            let ahead = (longest + LONGER).min(1.0);
            kernels::center(
                work.isa,
                work.p,
                work.groups,
                self.give,
                ahead,
                PRODUCTS.map(|share| share * aim),
                &self.s,
                &self.z,
                &self.ds,
                &self.dz,
                &self.live,
                &mut self.t,
            );
            self.keep_direction();
            let next = self.direction(work);
            // written so that NaN comes back
            if !(next >= longest) {
                self.keep_direction();
                for spring in &mut self.springs {
                    spring.change = spring.last_change;
                }
                break;
            }
            let enough = next >= longest + WORTH * (ahead - longest);
            longest = next;
            if !enough {
                break;
            }
        }
        longest
    }

    /// Puts the direction at hand away and the one put away in its place.
    fn keep_direction(&mut self) {
        std::mem::swap(&mut self.dx, &mut self.last_dx);
        std::mem::swap(&mut self.ds, &mut self.last_ds);
        std::mem::swap(&mut self.dz, &mut self.last_dz);
        for spring in &mut self.springs {
            spring.last_change = spring.change;
        }
    }

    /// Solves for `dx`, `ds`, `dz` with the right side in `t`; returns the longest step inside.
    fn direction(&mut self, work: &Work<'_>) -> f64 {
        for panel in work.panels {
            for i in panel.x_at as usize..(panel.x_at + panel.dim) as usize {
                self.dx[i] = -self.pull[i];
            }
        }
        for spring in self.springs.iter().filter(|s| work.has(s.panel)) {
            self.dx[spring.at as usize] -= spring.offset();
        }
        kernels::subtract_forces(work.isa, work.p, work.groups, &self.t, &mut self.dx);
        let (first, last) = work.range;
        kernels::solve(work.isa, work.s, first, last, &self.H, &self.W, &mut self.dx);
        let mut blocked = kernels::directions(
            work.isa,
            work.p,
            work.groups,
            self.give,
            &self.dx,
            &self.s,
            &self.z,
            &self.gap,
            &self.t,
            &self.w,
            &self.D,
            &mut self.ds,
            &mut self.dz,
        );
        for spring in self.springs.iter_mut().filter(|s| work.has(s.panel)) {
            spring.change = spring.changes(self.dx[spring.at as usize]);
            if spring.limited() {
                let [force, over, under] = spring.change;
                let [a, b] = spring.margins();
                for ratio in [force / a, -force / b, -over / spring.over, -under / spring.under] {
                    blocked = blocked.max(ratio);
                }
            }
        }
        1.0 / blocked.max(1e-6)
    }

    /// Sum of the products after a step of `alpha`.
    fn products(&self, work: &Work<'_>, alpha: f64) -> f64 {
        let total = kernels::products(
            work.isa,
            work.p,
            work.groups,
            alpha,
            &self.s,
            &self.z,
            &self.ds,
            &self.dz,
        );
        total + self.spring_products(work, alpha)
    }

    /// What limited springs add to that.
    fn spring_products(&self, work: &Work<'_>, alpha: f64) -> f64 {
        let mut total = 0.0;
        for spring in self.springs.iter().filter(|s| work.has(s.panel) && s.limited()) {
            let [force, over, under] = spring.change.map(|c| alpha * c);
            let [a, b] = spring.margins();
            total += (spring.over + over) * (a - force) + (spring.under + under) * (b + force);
        }
        total
    }

    /// Takes the step; returns the sum of the products.
    fn advance(&mut self, work: &Work<'_>, alpha: f64, shift: f64) -> f64 {
        for panel in work.panels {
            for i in panel.x_at as usize..(panel.x_at + panel.dim) as usize {
                self.x[i] += alpha * self.dx[i];
                self.pull[i] = (1.0 - alpha) * self.pull[i] - alpha * shift * self.dx[i];
            }
        }
        for spring in self.springs.iter_mut().filter(|s| work.has(s.panel)) {
            spring.force += alpha * spring.change[0];
            spring.over += alpha * spring.change[1];
            spring.under += alpha * spring.change[2];
            spring.change = [0.0; 3];
        }
        let total = kernels::advance(
            work.isa,
            work.p,
            work.groups,
            alpha,
            &self.ds,
            &self.dz,
            &mut self.s,
            &mut self.z,
            &mut self.gap,
        );
        total + self.spring_products(work, 0.0)
    }

    fn factor(&mut self, work: &Work<'_>, shift: f64) -> bool {
        kernels::start_hessian(work.isa, work.p, work.panels, shift, &mut self.H);
        for spring in self.springs.iter().filter(|s| work.has(s.panel)) {
            self.H[spring.H_at as usize] += spring.stiffness();
        }
        kernels::add_cones(
            work.isa,
            work.p,
            work.groups,
            &work.s.targets,
            1.0,
            &self.w,
            &self.D,
            &mut self.JS,
            &mut self.GJ,
            &mut self.H,
        );
        let (first, last) = work.range;
        kernels::factor(work.isa, work.s, first, last, 0.0, &mut self.H, &mut self.W).is_ok()
    }
}
