//! Block-sparse primal-dual interior point method (Mehrotra) for pyramids, plain rows and round
//! cones. It is used for problems that resemble no earlier one, for many blocks, and for variables
//! without cost.
//!
//! ```text
//! P x + c + ∇huber − Aᵀ z = 0,    A x − b − s = 0,    s ∘ z = mu e,    A = E J
//! ```
//!
//! Each iteration solves `(P + Aᵀ W⁻² A) dx = …` twice with one factorisation, in the elimination
//! order of [`Structure`]. `W⁻²` is `z/s` on edges and the Nesterov–Todd scaling on round cones.
//! The number of iterations hardly grows with the problem.
//!
//! The iteration ends near the analytic centre of the solution set. With degenerate rows its error
//! is about 1e-4 of a speed. A crossover or Newton's method adds the last digits.
//!
//! | code            | meaning                                                                 |
//! |-----------------|-------------------------------------------------------------------------|
//! | `gap`           | `A x − b − s`, multiplied by `1 − alpha` in each iteration              |
//! | `pull`          | `P x + c + ∇huber − Aᵀ z`, multiplied by `1 − alpha` in each iteration  |
//! | `t`             | `dz = −t − W⁻² A dx`                                                    |
//! | `over`, `under` | how far the variable of a Huber term is beyond its limit, above and below |

mod goal;
mod gondzio;
mod huber;
mod sizes;
mod start;
mod work;

use crate::batches::{Batches, span, spread};
use crate::kernels::{self, G_at, Isa, Iterate, Lane, Predicted, Products, Reach, Scaled, Step};
use crate::program::ConeProgram;
use crate::sizes::Sizes;
use crate::structure::{Island, Structure};
use crate::tolerances::interior::{PROGRESS, RUNAWAY, SHIFT, SHORTEST, STEP, STEP_MOST};
pub(crate) use goal::Goal;
use huber::HuberTerm;
use quasistep_linalg::aligned::Aligned;
use quasistep_linalg::budget::Budget;
use quasistep_linalg::kernels::max_abs;
use quasistep_linalg::simd::LANES;
use work::Work;

/// Number of iterations without progress after which rounding dominates.
const STALLED: u32 = 2;
/// Largest number of iterations; beyond it an island counts as stalled.
const ITERATIONS: u32 = 60;
/// Exponent of the centring parameter: `sigma = (mu after the predictor / mu before)^CENTER`.
const CENTER: i32 = 5;
const CENTER_ROUND: i32 = 3;

/// Interior point and its memory, shared by all islands. Vectors are over padded `x`, and over rows
/// in the layout of the batches.
#[derive(Debug, Default)]
pub(crate) struct Interior {
    pub x: Vec<f64>,
    /// Multipliers and slacks over padded `z`, written when an iteration ends.
    pub z: Vec<f64>,
    pub s: Vec<f64>,
    /// 1 for every edge predicted active, over padded `z`, written when an iteration ends.
    pub active: Vec<f64>,
    batches: Batches,
    z_in: Vec<Lane>,
    s_in: Vec<Lane>,
    gap: Vec<Lane>,
    dz: Vec<Lane>,
    ds: Vec<Lane>,
    t: Vec<Lane>,
    /// `z/(s + compliance z)` of edges.
    w: Vec<Lane>,
    /// `W⁻²` of round cones.
    D: Vec<Lane>,
    pull: Vec<f64>,
    dx: Vec<f64>,
    H: Aligned,
    W: Aligned,
    products: Products,
    springs: Vec<HuberTerm>,
    sizes: Sizes,
    /// Direction before a Gondzio correction, restored if the correction is rejected.
    last_dx: Vec<f64>,
    last_ds: Vec<Lane>,
    last_dz: Vec<Lane>,
    /// Largest entry of `gap` on the current island.
    largest_gap: f64,
    /// Dual regularisation: displacement of a row per unit of its force, `A x − b + compliance z =
    /// s`.
    compliance: f64,
    /// Whether the current iteration has taken a step.
    stepped: bool,
    /// Largest error among the islands that stalled since [`prepare`](Self::prepare), as a share of
    /// their forces and speeds.
    pub off: f64,
    pub iterations: u32,
    pub budget: Budget,
}

/// Outcome of the iteration on an island.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// The stopping criterion is satisfied.
    Reached,
    /// No more progress. Contains the least error seen, as a share of forces and speeds.
    Stuck(f64),
}

impl Interior {
    /// Allocates memory for a program.
    pub fn prepare(&mut self, p: &ConeProgram, s: &Structure) {
        for v in [&mut self.x, &mut self.pull, &mut self.dx, &mut self.last_dx] {
            v.clear();
            v.resize(p.n_padded, 0.0);
        }
        // padding has multiplier zero and a positive slack
        for (v, padding) in [(&mut self.z, 0.0), (&mut self.s, 1.0), (&mut self.active, 0.0)] {
            v.clear();
            v.resize(p.m_padded, padding);
        }
        self.batches.fill(p, s);
        self.z_in.clear();
        self.z_in.resize(self.batches.rows, [0.0; LANES]);
        self.s_in.clear();
        self.s_in.resize(self.batches.rows, [1.0; LANES]);
        // written before they are read
        for v in [
            &mut self.gap,
            &mut self.dz,
            &mut self.ds,
            &mut self.t,
            &mut self.w,
            &mut self.last_dz,
            &mut self.last_ds,
        ] {
            v.resize(self.batches.rows, [0.0; LANES]);
        }
        self.D.resize(self.batches.D_len, [0.0; LANES]);
        let G_len = G_at(p.b.len() as u32);
        if self.products.G.len() < G_len {
            self.products.G.resize(G_len, 0.0);
        }
        if self.H.len() < s.H_len {
            self.H.resize(s.H_len);
        }
        if self.W.len() < s.W_len {
            self.W.resize(s.W_len);
        }
        self.springs.clear();
        for spring in &p.saturations {
            let block = p.block_of(spring.index);
            let i = spring.index - p.blocks[block].first;
            let panel = s.panel_of_block[block];
            let at = &s.panels[panel as usize];
            self.springs.push(HuberTerm {
                at: p.blocks[block].at + i,
                H_at: at.at + i * (at.stride() + 1),
                panel,
                stiffness: if spring.limit > 0.0 { spring.stiffness } else { 0.0 },
                limit: spring.limit,
                target: spring.target,
                ..HuberTerm::default()
            });
        }
        self.iterations = 0;
        self.off = 0.0;
    }

    /// Iterates on one island until `goal` is reached or progress ends. The last iterate is in the
    /// island's entries of `x`, `s` and `z`. The compliance of rows is `compliance` over the scale
    /// of the cost.
    pub fn solve(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        island: &Island,
        goal: Goal,
        compliance: f64,
    ) -> Outcome {
        let batches = std::mem::take(&mut self.batches);
        let work = Work::new(isa, p, s, island, &batches);
        let scale = self.scale(p, work.panels);
        self.compliance = compliance / scale;
        let started = self.start(&work, scale);
        self.stepped = false;
        let end =
            if started { self.iterate(&work, scale, goal) } else { Outcome::Stuck(f64::INFINITY) };
        if let Outcome::Stuck(error) = end {
            self.off = self.off.max(error);
        }
        self.write_rows(&work);
        self.write_active(&work, if self.stepped { None } else { Some(scale) });
        self.batches = batches;
        end
    }

    /// Copies the iterate of an island from another solver's memory.
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

    /// Continues from the iterate where [`solve`](Self::solve) ended.
    pub fn go_on(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        island: &Island,
        goal: Goal,
        compliance: f64,
    ) -> Outcome {
        let batches = std::mem::take(&mut self.batches);
        let work = Work::new(isa, p, s, island, &batches);
        let scale = self.scale(p, work.panels);
        self.compliance = compliance / scale;
        // another island may have been solved in between
        let gap = self.gap[span(work.batches)].as_flattened();
        self.largest_gap = max_abs(gap);
        self.stepped = false;
        let end = self.iterate(&work, scale, goal);
        self.write_rows(&work);
        if self.stepped {
            self.write_active(&work, None);
        }
        self.batches = batches;
        end
    }

    /// Writes slacks and multipliers in the order of the program.
    fn write_rows(&mut self, work: &Work<'_>) {
        spread(work.p, work.batches, &self.s_in, &mut self.s);
        spread(work.p, work.batches, &self.z_in, &mut self.z);
    }

    /// Predicts the active edges by Tapia's indicators. Near the solution multipliers of active
    /// edges stay while their slacks vanish, so `dz / z > ds / s` for the last step, in any units.
    /// If there was no step, `scale` compares slacks with multipliers.
    fn write_active(&mut self, work: &Work<'_>, scale: Option<f64>) {
        if work.round {
            // the prediction is only used without round cones
            return;
        }
        let Self { s_in, z_in, ds, dz, t, .. } = self;
        for i in span(work.batches) {
            for l in 0..LANES {
                let (s, z) = (s_in[i][l], z_in[i][l]);
                let active = match scale {
                    None => s * dz[i][l] > z * ds[i][l],
                    Some(scale) => z > scale * s,
                };
                t[i][l] = if active { 1.0 } else { 0.0 };
            }
        }
        spread(work.p, work.batches, t, &mut self.active);
    }

    fn iterate(&mut self, work: &Work<'_>, scale: f64, goal: Goal) -> Outcome {
        let degree = self.degree(work);
        let shift = SHIFT * scale;
        let power = if work.round { CENTER_ROUND } else { CENTER };
        let (force, speed) = (self.force(work), Self::speed(work));
        let speed = speed.max(force / scale);
        let mut sum = self.sum_of_products(work);
        let [mut size, mut pull] =
            [&self.x, &self.pull].map(|v| kernels::largest(work.isa, work.panels, v));
        let mut best = f64::INFINITY;
        let mut since = 0;
        for _ in 0..ITERATIONS {
            let mu = sum / degree;
            let gap = self.largest_gap;
            // an increase of the residual means that rounding dominates
            let now = (mu / (force * speed)).max(gap / speed).max(pull / force);
            if !mu.is_finite() {
                return Outcome::Stuck(best);
            }
            let sizes = [force, speed, scale];
            if now <= goal.mean
                || (pull <= goal.each * force && self.each_within(work, goal.each, sizes))
            {
                return Outcome::Reached;
            }
            if now < PROGRESS * best {
                (best, since) = (now, 0);
            } else {
                since += 1;
            }
            if since > STALLED || !now.is_finite() || size > RUNAWAY * speed {
                return Outcome::Stuck(best);
            }
            self.iterations += 1;
            self.predict(work);
            if !self.factor(work, shift) {
                return Outcome::Stuck(best);
            }
            let reach = self.direction(work);
            let ahead = self.products_ahead(work, sum, &reach, longest(&reach).min(1.0)) / degree;
            let aim = mu * (ahead / mu).clamp(0.0, 1.0).powi(power);
            // corrector: second-order terms of the predictor, and centring
            for spring in self.springs.iter_mut().filter(|s| work.has(s.panel) && s.limited()) {
                let [a, b] = spring.margins();
                let [force, over, under] = spring.change;
                spring.t =
                    [spring.over * a - over * force - aim, spring.under * b + under * force - aim];
            }
            self.start_direction(work);
            let Self { s_in: s, z_in: z, gap, w, D, ds, dz, t, dx, compliance, .. } = self;
            let scaled = Scaled { at: Iterate { compliance: *compliance, s, z, gap }, w, D };
            kernels::batch_corrector(work.isa, work.rows, aim, scaled, Step { ds, dz }, t, dx);
            let longest = self.gondzio_correction(work, aim);
            let share = if work.round { STEP } else { (1.0 - aim / mu).clamp(STEP, STEP_MOST) };
            let alpha = (share * longest).min(1.0);
            // the condition is true for NaN, which ends the iteration with the last iterate intact
            if !(alpha > SHORTEST && kernels::all_finite(work.isa, work.panels, &self.dx)) {
                return Outcome::Stuck(best);
            }
            [size, pull] = kernels::advance_variables(
                work.isa,
                work.panels,
                alpha,
                shift,
                &self.dx,
                &mut self.x,
                &mut self.pull,
            );
            sum = self.advance(work, alpha);
        }
        Outcome::Stuck(best)
    }

    /// Matrices and right-hand sides of the predictor, the affine-scaling direction.
    fn predict(&mut self, work: &Work<'_>) {
        for spring in self.springs.iter_mut().filter(|s| work.has(s.panel)) {
            let [a, b] = spring.margins();
            spring.t = [spring.over * a, spring.under * b];
        }
        self.start_direction(work);
        let Self { s_in: s, z_in: z, gap, w, D, t, dx, compliance, products, .. } = self;
        let at = Iterate { compliance: *compliance, s, z, gap };
        let out = Predicted { w, D, t, G: &mut products.G };
        kernels::batch_predictor(work.isa, work.rows, at, out, dx);
    }

    /// Writes the right-hand side without the rows' terms to the direction: residual of
    /// stationarity and Huber terms.
    fn start_direction(&mut self, work: &Work<'_>) {
        for panel in work.panels {
            for i in panel.x_at as usize..(panel.x_at + panel.dim) as usize {
                self.dx[i] = -self.pull[i];
            }
        }
        for spring in self.springs.iter().filter(|s| work.has(s.panel)) {
            self.dx[spring.at as usize] -= spring.offset();
        }
    }

    /// Solves for `dx`, which holds the right-hand side on entry, then for `ds` and `dz`.
    fn direction(&mut self, work: &Work<'_>) -> Reach {
        self.budget.spend(work.counts.solve + 3 * work.counts.rows);
        let (first, last) = work.range;
        kernels::solve(work.isa, work.s, first, last, &self.H, &self.W, &mut self.dx);
        let Self { s_in: s, z_in: z, gap, w, D, ds, dz, t, dx, compliance, .. } = self;
        let scaled = Scaled { at: Iterate { compliance: *compliance, s, z, gap }, w, D };
        let mut reach = kernels::batch_directions(work.isa, work.rows, dx, scaled, t, ds, dz);
        for spring in self.springs.iter_mut().filter(|s| work.has(s.panel)) {
            spring.change = spring.changes(self.dx[spring.at as usize]);
            if spring.limited() {
                let [force, over, under] = spring.change;
                let [a, b] = spring.margins();
                for ratio in [force / a, -force / b, -over / spring.over, -under / spring.under] {
                    reach.blocked = reach.blocked.max(ratio);
                }
            }
        }
        reach
    }

    /// Sum of the complementarity products, Huber terms included.
    fn sum_of_products(&self, work: &Work<'_>) -> f64 {
        let rows = span(work.batches);
        let (s, z) = (&self.s_in[rows.clone()], &self.z_in[rows]);
        let rows = s.as_flattened().iter().zip(z.as_flattened()).map(|(s, z)| s * z);
        rows.sum::<f64>() + self.spring_products(work, 0.0)
    }

    /// Sum of the complementarity products after a step of `alpha`; `sum` is the current sum.
    fn products_ahead(&self, work: &Work<'_>, sum: f64, reach: &Reach, alpha: f64) -> f64 {
        let springs = self.spring_products(work, alpha) - self.spring_products(work, 0.0);
        sum + alpha * (reach.cross + alpha * reach.square) + springs
    }

    /// Complementarity products of Huber terms after a step of `alpha`.
    fn spring_products(&self, work: &Work<'_>, alpha: f64) -> f64 {
        let mut total = 0.0;
        for spring in self.springs.iter().filter(|s| work.has(s.panel) && s.limited()) {
            let [force, over, under] = spring.change.map(|c| alpha * c);
            let [a, b] = spring.margins();
            total += (spring.over + over) * (a - force) + (spring.under + under) * (b + force);
        }
        total
    }

    /// Takes the step of rows and Huber terms; returns the sum of the products.
    fn advance(&mut self, work: &Work<'_>, alpha: f64) -> f64 {
        for spring in self.springs.iter_mut().filter(|s| work.has(s.panel)) {
            spring.force += alpha * spring.change[0];
            spring.over += alpha * spring.change[1];
            spring.under += alpha * spring.change[2];
            spring.change = [0.0; 3];
        }
        let rows = span(work.batches);
        self.stepped = true;
        self.largest_gap *= (1.0 - alpha).abs();
        let total = kernels::batch_advance(
            work.isa,
            alpha,
            &self.ds[rows.clone()],
            &self.dz[rows.clone()],
            &mut self.s_in[rows.clone()],
            &mut self.z_in[rows.clone()],
            &mut self.gap[rows],
        );
        total + self.spring_products(work, 0.0)
    }

    /// Assembles and factors `P + Aᵀ W⁻² A + shift` from the matrices `G` of all cones.
    fn factor(&mut self, work: &Work<'_>, shift: f64) -> bool {
        if !self.budget.spend(work.counts.factor + 3 * work.counts.rows) {
            return false;
        }
        kernels::start_hessian(work.isa, work.p, work.panels, shift, &mut self.H);
        for spring in self.springs.iter().filter(|s| work.has(s.panel)) {
            self.H[spring.H_at as usize] += spring.stiffness();
        }
        let Work { isa, p, s, groups, .. } = *work;
        kernels::add_products(isa, p, groups, &s.targets, &mut self.products, &mut self.H);
        let (first, last) = work.range;
        kernels::factor(work.isa, work.s.layout(), first, last, 0.0, &mut self.H, &mut self.W)
            .is_ok()
    }
}

/// Longest step that stays inside all cones.
fn longest(reach: &Reach) -> f64 {
    1.0 / reach.blocked.max(SHORTEST)
}

#[cfg(test)]
mod tests;
