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

use crate::cone::kernels::{self, Isa};
use crate::cone::program::{ConeData, ConeProgram};
use crate::cone::second_order;
use crate::cone::structure::{Group, Island, Panel, Structure};

/// Iterations without progress after which rounding has taken over.
const STALLED: u32 = 2;
/// Iterations before an island counts as stuck.
const ITERATIONS: u32 = 60;
/// Share of the way to the boundary that a step takes.
const STEP: f64 = 0.995;
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
    /// What a row gives way for a unit of force: `A x − b + give z = s`.
    give: f64,
    pub iterations: u32,
}

/// A spring with limited force as two bounds: `force = k (x − target − over + under)`,
/// `−limit ≤ force ≤ limit`, `over (limit − force) = under (limit + force) = 0`.
#[derive(Clone, Copy, Debug, Default)]
struct Spring {
    /// Padded index of the variable, and where its diagonal entry is in `H`.
    at: u32,
    H_at: u32,
    panel: u32,
    stiffness: f64,
    limit: f64,
    target: f64,
    force: f64,
    over: f64,
    under: f64,
    /// Right sides of the two products.
    t: [f64; 2],
    change: [f64; 3],
}

/// How an island's iteration ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// The mean product is this share of force times speed.
    Reached,
    Stuck,
}

impl Spring {
    fn limited(&self) -> bool {
        self.limit.is_finite() && self.stiffness > 0.0
    }

    /// `limit − force` and `limit + force`: multipliers of `over` and `under`.
    fn margins(&self) -> [f64; 2] {
        [self.limit - self.force, self.limit + self.force]
    }

    /// Stiffness that is left while the bounds push back.
    fn stiffness(&self) -> f64 {
        if !self.limited() {
            return self.stiffness;
        }
        let [a, b] = self.margins();
        1.0 / (1.0 / self.stiffness + self.over / a + self.under / b)
    }

    /// Force that its bounds add at `dx = 0`.
    fn offset(&self) -> f64 {
        if !self.limited() {
            return 0.0;
        }
        let [a, b] = self.margins();
        self.stiffness() * (self.t[0] / a - self.t[1] / b)
    }

    /// Changes of force, over and under for a change of `x`.
    fn changes(&self, dx: f64) -> [f64; 3] {
        if !self.limited() {
            return [self.stiffness * dx, 0.0, 0.0];
        }
        let [a, b] = self.margins();
        let force = self.stiffness() * dx + self.offset();
        [force, (self.over * force - self.t[0]) / a, (-self.under * force - self.t[1]) / b]
    }
}

impl Interior {
    /// Takes the sizes of a problem.
    pub fn prepare(&mut self, p: &ConeProgram, s: &Structure) {
        for v in [&mut self.x, &mut self.pull, &mut self.dx] {
            v.clear();
            v.resize(p.n_padded, 0.0);
        }
        for v in [&mut self.z, &mut self.gap, &mut self.dz, &mut self.ds, &mut self.t] {
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
    /// times speed, or nothing moves. The point is in the island's entries of `x`, `s` and `z`.
    pub fn solve(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        island: &Island,
        target: f64,
        give: f64,
    ) -> Outcome {
        let work = Work {
            isa,
            p,
            s,
            panels: &s.panels[island.first_panel as usize..island.last_panel as usize],
            groups: &s.groups[island.first_group as usize..island.last_group as usize],
            range: (island.first_panel as usize, island.last_panel as usize),
        };
        let degree = self.degree(&work);
        let scale = self.scale(&work);
        self.give = give / scale;
        if !self.start(&work, scale) {
            return Outcome::Stuck;
        }
        let shift = SHIFT * scale;
        let (force, speed) = (self.force(&work), Self::speed(&work));
        let speed = speed.max(force / scale);
        let mut mu = self.products(&work, 0.0) / degree;
        let mut best = f64::INFINITY;
        let mut since = 0;
        for _ in 0..ITERATIONS {
            let size = self.size(&work);
            let (gap, pull) = (self.largest_gap(&work), work.largest(&self.pull));
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
            if !self.factor(&work, shift) {
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
            let alpha = self.direction(&work).min(1.0);
            let ahead = self.products(&work, alpha) / degree;
            let center = (ahead / mu).clamp(0.0, 1.0).powi(3);
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
            let alpha = (STEP * self.direction(&work)).min(1.0);
            // written so that NaN ends here, with the point still good
            if !(alpha > 1e-6 && work.sum(&self.dx).is_finite()) {
                return Outcome::Stuck;
            }
            mu = self.advance(&work, alpha, shift) / degree;
        }
        Outcome::Stuck
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
        let mut total = kernels::products(
            work.isa,
            work.p,
            work.groups,
            alpha,
            &self.s,
            &self.z,
            &self.ds,
            &self.dz,
        );
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
        kernels::advance(
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
        self.products(work, 0.0)
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

    /// The point of least squares between cost and cones, pushed inside the cones.
    fn start(&mut self, work: &Work<'_>, scale: f64) -> bool {
        let p = work.p;
        for cone in work.cones() {
            let at = cone.at as usize;
            let stride = cone.stride_z as usize;
            self.w[at..at + stride].fill(scale);
            if cone.round {
                let D = &mut self.D[cone.E_at as usize..][..cone.k as usize * stride];
                D.fill(0.0);
                for i in 0..cone.m as usize {
                    D[i * stride + i] = scale;
                }
            }
        }
        for spring in self.springs.iter_mut().filter(|s| work.has(s.panel)) {
            // as if without limit
            (spring.over, spring.under, spring.force) = (0.0, 0.0, 0.0);
        }
        for panel in work.panels {
            self.x[panel.x_at as usize..(panel.x_at + panel.dim) as usize].fill(0.0);
        }
        if !self.factor(work, SHIFT * scale) {
            return false;
        }
        kernels::slacks(work.isa, p, work.groups, &self.x, &mut self.gap);
        for cone in work.cones() {
            for i in cone.at as usize..(cone.at + cone.stride_z) as usize {
                self.t[i] = scale * self.gap[i];
            }
        }
        for panel in work.panels {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.x[at.clone()].iter_mut().zip(&p.c[at]).for_each(|(x, c)| *x = -c);
        }
        for spring in self.springs.iter().filter(|s| work.has(s.panel)) {
            self.x[spring.at as usize] += spring.stiffness * spring.target;
        }
        kernels::subtract_forces(work.isa, p, work.groups, &self.t, &mut self.x);
        let (first, last) = work.range;
        kernels::solve(work.isa, work.s, first, last, &self.H, &self.W, &mut self.x);
        kernels::slacks(work.isa, p, work.groups, &self.x, &mut self.gap);
        // s = A x − b and z = −scale s, each moved into the cones
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for cone in work.cones() {
            let u = &self.gap[cone.at as usize..][..cone.m as usize];
            if cone.round {
                let norm = second_order::norm(&u[1..]);
                (least, most) = (least.min(u[0] - norm), most.max(u[0] + norm));
            } else {
                (least, most) = u.iter().fold((least, most), |(l, m), u| (l.min(*u), m.max(*u)));
            }
        }
        if least > most {
            // no cones
            (least, most) = (1.0, -1.0);
        }
        let reach = least.abs().max(most.abs()).max(Self::speed(work)).max(1e-300);
        let mut up = (-1.5 * least).max(1e-4 * reach);
        let mut down = (1.5 * most).max(1e-4 * reach);
        let (mut dot, mut sum_s, mut sum_z) = (0.0, 0.0, 0.0);
        for cone in work.cones() {
            for i in 0..cone.m as usize {
                let e = if cone.round && i > 0 { 0.0 } else { 1.0 };
                let u = self.gap[cone.at as usize + i];
                let (s, z) = (u + e * up, -u + e * down);
                dot += s * z;
                sum_s += e * s;
                sum_z += e * z;
            }
        }
        if sum_s > 0.0 && sum_z > 0.0 {
            up += 0.5 * dot / sum_z;
            down += 0.5 * dot / sum_s;
        }
        for cone in work.cones() {
            for i in 0..cone.stride_z as usize {
                let at = cone.at as usize + i;
                if i >= cone.m as usize {
                    (self.s[at], self.z[at], self.gap[at]) = (1.0, 0.0, 0.0);
                    continue;
                }
                let e = if cone.round && i > 0 { 0.0 } else { 1.0 };
                let u = self.gap[at];
                self.s[at] = u + e * up;
                self.z[at] = scale * (-u + e * down);
                self.gap[at] = u - self.s[at];
                if !cone.round {
                    self.gap[at] += self.give * self.z[at];
                }
                (self.ds[at], self.dz[at]) = (0.0, 0.0);
            }
        }
        // limited springs at rest, with room on both sides
        kernels::cost_times(work.isa, p, work.panels, &self.x, &mut self.pull);
        for panel in work.panels {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.pull[at.clone()].iter_mut().zip(&p.c[at]).for_each(|(pull, c)| *pull += c);
        }
        for spring in self.springs.iter_mut().filter(|s| work.has(s.panel)) {
            let stretch = self.x[spring.at as usize] - spring.target;
            if spring.limited() {
                let room = reach.max(spring.limit / spring.stiffness);
                spring.over = stretch.max(0.0) + room;
                spring.under = (-stretch).max(0.0) + room;
                spring.force = 0.0;
            } else {
                spring.force = spring.stiffness * stretch;
            }
            spring.change = [0.0; 3];
            self.pull[spring.at as usize] += spring.force;
        }
        kernels::subtract_forces(work.isa, p, work.groups, &self.z, &mut self.pull);
        true
    }

    /// Number of products: one for an edge or a round cone, two for a limited spring.
    fn degree(&self, work: &Work<'_>) -> f64 {
        let cones: u32 = work.cones().map(|c| if c.round { 1 } else { c.m }).sum();
        let springs = self.springs.iter().filter(|s| work.has(s.panel) && s.limited()).count();
        (f64::from(cones) + 2.0 * springs as f64).max(1.0)
    }

    /// Largest diagonal entry of the cost.
    fn scale(&self, work: &Work<'_>) -> f64 {
        let mut largest = 0.0_f64;
        for panel in work.panels {
            let block = &work.p.blocks[panel.block as usize];
            for i in 0..block.dim {
                let at = block.at + i;
                let springs = self.springs.iter().filter(|s| s.at == at).map(|s| s.stiffness);
                let diagonal = block.P_at + i * (block.stride + 1);
                largest = largest.max(work.p.P[diagonal as usize] + springs.sum::<f64>());
            }
        }
        if largest > 0.0 { largest } else { 1.0 }
    }

    /// Largest entry of the linear cost, springs included.
    fn force(&self, work: &Work<'_>) -> f64 {
        let mut force = work.largest(&work.p.c);
        for (spring, data) in self.springs.iter().zip(&work.p.saturations) {
            if work.has(spring.panel) {
                force = force.max(data.gradient(0.0).abs());
            }
        }
        if force > 0.0 { force } else { 1.0 }
    }

    /// Largest offset of a row.
    fn speed(work: &Work<'_>) -> f64 {
        let offsets =
            work.cones().flat_map(|c| &work.p.b[c.b_at as usize..(c.b_at + c.k) as usize]);
        offsets.fold(0.0, |m, b| m.max(b.abs()))
    }

    fn size(&self, work: &Work<'_>) -> f64 {
        work.largest(&self.x)
    }

    fn largest_gap(&self, work: &Work<'_>) -> f64 {
        let gaps =
            work.cones().flat_map(|c| &self.gap[c.at as usize..(c.at + c.stride_z) as usize]);
        gaps.fold(0.0, |m, g| m.max(g.abs()))
    }
}

/// What one island's iteration reads.
struct Work<'a> {
    isa: Isa,
    p: &'a ConeProgram,
    s: &'a Structure,
    panels: &'a [Panel],
    groups: &'a [Group],
    range: (usize, usize),
}

impl<'a> Work<'a> {
    fn cones(&self) -> impl Iterator<Item = &'a ConeData> {
        let p = self.p;
        self.groups.iter().flat_map(move |g| &p.cones[g.first_cone as usize..g.last_cone as usize])
    }

    fn largest(&self, x: &[f64]) -> f64 {
        let entries =
            self.panels.iter().flat_map(|p| &x[p.x_at as usize..(p.x_at + p.dim) as usize]);
        entries.fold(0.0, |m, v| m.max(v.abs()))
    }

    /// Sum of magnitudes likewise; NaN and infinities show in it.
    fn sum(&self, x: &[f64]) -> f64 {
        let entries =
            self.panels.iter().flat_map(|p| &x[p.x_at as usize..(p.x_at + p.dim) as usize]);
        entries.map(|v| v.abs()).sum()
    }

    fn has(&self, panel: u32) -> bool {
        (self.range.0..self.range.1).contains(&(panel as usize))
    }
}
