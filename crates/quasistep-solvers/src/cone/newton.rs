//! Semismooth Newton on the augmented Lagrangian: the solver for problems that resemble the last.
//!
//! ```text
//! f(x) = 1/2 xᵀPx + cᵀx + Σ huber + Σ_k ‖Π_K(z_k − rho u_k)‖² / (2 rho),    u = E (J x − b)
//! ```
//!
//! `rho` is so large that the first minimiser, from `z = 0`, has the right active set and is off by
//! a millionth; from there `z ← Π(z − rho u)` gains six digits a round with the same factor, and ends
//! at the multipliers of smallest norm: those of the first round are `rho E J (x* − x)`, a
//! combination of the active rows. Redundant rows, the rule in contact problems, cost nothing: a
//! singular Gram matrix never appears, only `P + rho Jᵀ Eᵀ D E J`, block-sparse and definite. Many
//! rows may change sides in one iteration, where a pivoting method moves them one by one.
//!
//! | code | meaning                                             |
//! |------|-----------------------------------------------------|
//! | `u`  | slack of every row, `E (J x − b)`                   |
//! | `t`  | `z − rho u`: the multiplier before projection        |
//! | `w`  | 1 where an edge is active; for round cones a marker |
//! | `D`  | derivative of the projection of a round cone        |

use crate::cone::kernels::{self, Isa};
use crate::cone::program::ConeProgram;
use crate::cone::second_order;
use crate::cone::structure::{Group, Island, Panel, Structure};
use crate::qp::Saturation;

/// `rho` over the largest diagonal entry of the cost of an island.
pub(crate) const PENALTY: f64 = 1e8;
/// The same for the last steps where round cones are, each with the imbalance at the end as a share of
/// the largest multiplier.
const PENALTIES_ROUND: [(f64, f64); 2] = [(1e4, 1e-12), (1e6, 1e-10)];
/// Steps of all rounds of multipliers with a small penalty.
const MULTIPLY_ITERATIONS: u32 = 100;
/// Most of such steps.
const SETTLE_STEPS: u32 = 20;
/// Shares of the penalty on the way to the whole of it.
const SOFTER: [f64; 3] = [1e-3, 1e-1, 1.0];
/// Change of the derivative of a round cone, as a share of one, below which it counts as settled: the
/// rounds that follow gain the digits that are left.
const TURN: f64 = 1e-6;
/// Rounding of a sum, as a share of its terms.
const ROUNDING: f64 = 1e-13;
/// Step, as a share of the speeds that the data speak of, that moves nothing.
const STILL: f64 = 1e-15;
/// Iterations that a warm start may take at the whole penalty.
const FEW: u32 = 15;
/// Slacks of active rows, as a share of the impulse over the cost's scale, at the end.
const EXACT: f64 = 1e-12;
/// Rows that contradict one another by less than this share of the same count as touching all
/// alike: the digits of the data end there, and a vertex of such rows means nothing.
const TOUCHING: f64 = 9e-9;
/// Changes of an assembled Hessian before rounding is swept out.
const KEPT_CHANGES: u32 = 8;
/// Rounds before an island counts as stuck.
const ROUNDS: u32 = 60;
/// Rounds of a finish.
const FINISH_ROUNDS: u32 = 8;
/// Rounds of forces towards their balance, and the imbalance that one more round makes nothing of.
const BALANCE_ROUNDS: u32 = 16;
const BALANCED_ENOUGH: f64 = 1e-12;
/// Slack that is rounding where all is at rest, as a share of the speed that the forces would give.
const NOISE: f64 = 1e-16;
/// Contradictions of touching rows where all is at rest, likewise.
const REST: f64 = 5e-13;
/// Force that is nothing, as a share of the largest.
const DRIFT: f64 = 1e-12;
/// Force by which rows that share a load may differ from the smallest norm, likewise.
const SHARED: f64 = 1e-6;
/// The line search is left when the slope is this share of the slope at its start.
const SLOPE: f64 = 1e-3;
/// Diagonal shift on blocks without cost, as a share of the largest diagonal entry of the island.
const SHIFT: f64 = 1e-6;

/// What an assembled Hessian stands for, but for active rows and limited springs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Kept {
    island: usize,
    rho: f64,
    shift: f64,
}

/// How an island's iteration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Solved,
    /// Too many iterations, or a pivot that is not positive.
    GaveUp,
}

/// Memory; vectors over padded `x` and padded `z`, shared by all islands.
#[derive(Debug, Default)]
pub(crate) struct Newton {
    pub x: Vec<f64>,
    pub z: Vec<f64>,
    pub u: Vec<f64>,
    /// `Π(t)`.
    lambda: Vec<f64>,
    rates: Vec<f64>,
    w: Vec<f64>,
    D: Vec<f64>,
    /// `P x + c + ∇huber` plus the proximal term.
    smooth: Vec<f64>,
    Pd: Vec<f64>,
    d: Vec<f64>,
    center: Vec<f64>,
    saved_x: Vec<f64>,
    saved_z: Vec<f64>,
    H: Vec<f64>,
    /// `H` before it was factored, what it was made for, and with which active rows.
    kept_H: Vec<f64>,
    kept: Option<Kept>,
    kept_w: Vec<f64>,
    kept_limited: Vec<bool>,
    kept_changes: u32,
    change: Vec<f64>,
    W: Vec<f64>,
    JS: Vec<f64>,
    GJ: Vec<f64>,
    /// Whether each spring is at its limit: no curvature.
    limited: Vec<bool>,
    /// Padded index of each spring's variable.
    spring_at: Vec<u32>,
    spring_panel: Vec<u32>,
    /// Speeds that the data of the island at hand speak of.
    reference: f64,
    pub iterations: u32,
    pub factors: u32,
}

/// Where to start.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start<'a> {
    /// From the unconstrained minimiser.
    Cold,
    /// Multipliers and slacks of a similar problem, in the layout of `z`, not padded; rows unheard
    /// of have `z = 0`, `s > 0`.
    Warm { z: &'a [f64], s: &'a [f64] },
    /// A point inside the cones near the answer, in padded layout.
    Inside { x: &'a [f64], z: &'a [f64], s: &'a [f64] },
}

impl Newton {
    /// Takes the sizes of a problem.
    pub fn prepare(&mut self, p: &ConeProgram, s: &Structure) {
        for v in [
            &mut self.x,
            &mut self.smooth,
            &mut self.Pd,
            &mut self.d,
            &mut self.center,
            &mut self.saved_x,
        ] {
            v.clear();
            v.resize(p.n_padded, 0.0);
        }
        for v in [
            &mut self.z,
            &mut self.u,
            &mut self.lambda,
            &mut self.rates,
            &mut self.w,
            &mut self.saved_z,
            &mut self.kept_w,
            &mut self.change,
        ] {
            v.clear();
            v.resize(p.m_padded, 0.0);
        }
        if self.D.len() < p.E.len() {
            self.D.resize(p.E.len(), 0.0);
        }
        if self.H.len() < s.H_len {
            self.H.resize(s.H_len, 0.0);
            self.kept_H.resize(s.H_len, 0.0);
        }
        if self.W.len() < s.W_len {
            self.W.resize(s.W_len, 0.0);
        }
        self.limited.clear();
        self.limited.resize(p.saturations.len(), false);
        self.spring_at.clear();
        self.spring_panel.clear();
        for spring in &p.saturations {
            let block = p.blocks.partition_point(|b| b.first <= spring.index) - 1;
            let b = &p.blocks[block];
            self.spring_at.push(b.at + spring.index - b.first);
            self.spring_panel.push(s.panel_of_block[block]);
        }
        self.kept = None;
        (self.iterations, self.factors) = (0, 0);
    }

    /// Solves one island; the answer is in its entries of `x`, `z` and `u`. `penalty` is relative to
    /// the scale of the cost, [`PENALTY`] if all is well.
    #[allow(clippy::too_many_arguments)] // one caller, which lists what it tries
    pub fn solve(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        island: &Island,
        start: Start<'_>,
        penalty: f64,
        max_iterations: u32,
    ) -> End {
        let work = Work::new(isa, p, s, island);
        let (scale, singular) = self.scale(&work);
        let round = work.round;
        let rho = penalty * scale;
        let shift = if singular { SHIFT * scale } else { 0.0 };
        let warm = !matches!(start, Start::Cold);
        self.start(&work, start, scale, rho);
        let (speed, natural) = (work.speed(), work.force() / scale);
        self.reference = speed.max(natural);

        let mut budget = max_iterations;
        // softer penalties first: many rows change sides together there, and rows that contradict one
        // another by rounding still share their force
        let mut stages = if singular || round { &SOFTER[..] } else { &SOFTER[..2] };
        let mut few = FEW.min(budget);
        budget -= few;
        let first = rho * stages[stages.len() - 1];
        let settled = warm && self.minimise(&work, first, shift, true, &mut few);
        budget += few;
        if settled {
            stages = &[];
        }
        for (k, stage) in stages.iter().enumerate() {
            self.project(&work, stage * rho);
            if !self.minimise(&work, stage * rho, shift, k > 0, &mut budget) {
                return End::GaveUp;
            }
        }
        if !(singular || round) {
            if self.finish(&work, first, speed, natural) {
                return End::Solved;
            }
            self.z.iter_mut().for_each(|z| *z = 0.0);
            self.project(&work, rho);
            if !self.minimise(&work, rho, shift, false, &mut budget) {
                return End::GaveUp;
            }
        }
        // rounds with z; the factor stays while the active set does
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            let error = self.error(&work, rho);
            let x_size = self.x_size(&work);
            let moved = if singular { self.moved(&work) } else { 0.0 };
            let still = moved <= 1e-11 * speed.max(x_size);
            let stuck = !(error <= 0.5 * best) && still;
            let near = (stuck || best < f64::INFINITY && still)
                && error <= (TOUCHING * speed.max(x_size)).max(REST * natural);
            best = best.min(error);
            let exact = error <= (EXACT * speed.max(x_size)).max(NOISE * natural);
            if exact && still || near {
                let slack = (TOUCHING * speed.max(x_size)).max(REST * natural);
                let [(penalty, balanced), _] = PENALTIES_ROUND;
                if round && !self.settle_with(&work, penalty * scale, shift, slack, balanced) {
                    return End::GaveUp;
                }
                return End::Solved;
            }
            for group in work.groups {
                self.take_multipliers(p, group, stuck);
            }
            self.take_center(&work);
            if !self.refine(&work, rho, shift, &mut budget) {
                return End::GaveUp;
            }
        }
        End::GaveUp
    }

    /// From the first minimiser to the answer on its active set: the active rows to zero, or as near as
    /// they let one another, then forces that balance. False if a row or a spring changes sides.
    ///
    /// With `lambda = −rho u` of the minimiser, `dx = −H⁻¹ rho Aᵀ u` is the round with `z = lambda`. Its
    /// forces `lambda − rho u` would take up what contradictions of rounding are left in `u`; a further
    /// solve leaves those out. `speed` is that of the data, `natural` what the forces would give.
    fn finish(&mut self, work: &Work<'_>, rho: f64, speed: f64, natural: f64) -> bool {
        let mut best = f64::INFINITY;
        for _ in 0..FINISH_ROUNDS {
            for span in work.spans() {
                for i in span {
                    self.z[i] = self.lambda[i];
                    self.lambda[i] -= self.w[i] * rho * self.u[i];
                }
            }
            self.iterations += 1;
            self.smooth_gradient(work, 0.0);
            self.solve_for_imbalance(work);
            let mut size = speed;
            for panel in work.panels {
                for i in panel.x_at as usize..(panel.x_at + panel.dim) as usize {
                    self.x[i] += self.d[i];
                    size = size.max(self.x[i].abs());
                }
            }
            let (mut left, mut least, mut force) = (0.0_f64, 0.0_f64, 0.0_f64);
            for span in work.spans() {
                for i in span {
                    self.u[i] += self.rates[i];
                    left = left.max(self.w[i] * self.u[i].abs());
                    least = least.min(self.u[i]);
                    force = force.max(self.z[i]);
                }
            }
            let force = force.max(work.force());
            let slack = (TOUCHING * size).max(REST * natural);
            // written so that NaN fails
            if !(left <= slack) && left <= 0.1 * best {
                best = left;
                // the same set of rows, from the forces that they have now
                self.take_linear(work, rho);
                continue;
            }
            let limits_hold = work.p.saturations.iter().enumerate().all(|(k, spring)| {
                let stretch = self.x[self.spring_at[k] as usize] - spring.target;
                !work.has(self.spring_panel[k])
                    || self.limited[k] == (spring.stiffness * stretch.abs() > spring.limit)
            });
            if !(left <= slack && least >= -slack && limits_hold) {
                return false;
            }
            let below = if rho * left <= SHARED * force {
                self.take_linear(work, rho)
            } else {
                self.balance(work, rho, force)
            };
            if below >= -DRIFT * force {
                return true;
            }
            // rows that would pull let go
            best = f64::INFINITY;
            for span in work.spans() {
                for i in span {
                    self.w[i] = if self.lambda[i] > 0.0 { 1.0 } else { 0.0 };
                }
            }
            if !self.factor(work, rho, 0.0) {
                return false;
            }
        }
        false
    }

    /// `lambda = z − rho u` on active rows, not below zero; returns the least before that.
    fn take_linear(&mut self, work: &Work<'_>, rho: f64) -> f64 {
        let mut below = 0.0_f64;
        for span in work.spans() {
            let [w, z, u] = [&self.w, &self.z, &self.u].map(|v| &v[span.clone()]);
            for (((lambda, w), z), u) in self.lambda[span].iter_mut().zip(w).zip(z).zip(u) {
                let force = w * (z - rho * u);
                below = below.min(force);
                *lambda = force.max(0.0);
            }
        }
        below
    }

    /// The forces nearest to `z` that balance, into `lambda`; returns the least before none is below zero.
    ///
    /// Where `x` minimises, `z − rho u` balances; of `−rho u` only the part that the bodies feel is wanted:
    /// conjugate gradients on `Aᵀ A y = −rho Aᵀ u`, with the factor at hand as preconditioner. It is the
    /// inverse up to the few directions that rows near dependence leave weak. The right side is made from
    /// rows, so that what no row carries is not in it.
    fn balance(&mut self, work: &Work<'_>, rho: f64, force: f64) -> f64 {
        for span in work.spans() {
            for i in span {
                self.lambda[i] = -self.w[i] * rho * self.u[i];
            }
        }
        for panel in work.panels {
            self.Pd[panel.x_at as usize..(panel.x_at + panel.dim) as usize].fill(0.0);
        }
        kernels::add_forces(work.isa, work.p, work.groups, &self.lambda, &mut self.Pd);
        let mut old = f64::INFINITY;
        for _ in 0..BALANCE_ROUNDS {
            if !(work.largest(&self.Pd) > BALANCED_ENOUGH * force) {
                break;
            }
            self.iterations += 1;
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
                    self.smooth[i] = 0.0;
                }
            }
            kernels::rates(work.isa, work.p, work.groups, &self.d, &mut self.rates);
            let mut length = 0.0;
            for span in work.spans() {
                for i in span {
                    self.rates[i] *= self.w[i];
                    length += self.rates[i] * self.rates[i];
                }
            }
            if !(new > 0.0 && length > 0.0) {
                break;
            }
            kernels::add_forces(work.isa, work.p, work.groups, &self.rates, &mut self.smooth);
            let step = new / length;
            for panel in work.panels {
                for i in panel.x_at as usize..(panel.x_at + panel.dim) as usize {
                    self.Pd[i] -= step * self.smooth[i];
                }
            }
            for span in work.spans() {
                for i in span {
                    self.z[i] += step * self.rates[i];
                }
            }
            old = new;
        }
        let mut below = 0.0_f64;
        for span in work.spans() {
            for i in span {
                let force = self.w[i] * self.z[i];
                below = below.min(force);
                self.lambda[i] = force.max(0.0);
            }
        }
        below
    }

    /// `d = −H⁻¹ (smooth − Aᵀ lambda)` and `rates = A d`.
    fn solve_for_imbalance(&mut self, work: &Work<'_>) {
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

    /// Last steps where round cones slide: their slack is no zero, and `rho` times its rounding is in
    /// their force. A small penalty has small rounding, and the answer is the same for any; a larger one
    /// still works where the steps of the small one lead away.
    fn settle_round(&mut self, work: &Work<'_>, scale: f64, shift: f64, slack: f64) -> bool {
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

    fn settle_with(
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
    fn multiply(&mut self, work: &Work<'_>, rho: f64, shift: f64, slack: f64) -> bool {
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

    /// `z ← lambda` on a group. Rows that contradict one another drift, each round by the same
    /// amount, until one lets go: if `far`, goes straight to where the first of the group does.
    fn take_multipliers(&mut self, p: &ConeProgram, group: &Group, far: bool) {
        let cones = &p.cones[group.first_cone as usize..group.last_cone as usize];
        let mut factor = f64::INFINITY;
        if far && cones.iter().all(|c| !c.round) {
            for cone in cones {
                for i in cone.at as usize..(cone.at + cone.stride_z) as usize {
                    let drift = self.lambda[i] - self.z[i];
                    if drift < 0.0 && self.lambda[i] > 0.0 {
                        factor = factor.min(-self.lambda[i] / drift);
                    }
                }
            }
        }
        if factor.is_infinite() {
            factor = 0.0;
        }
        for cone in cones {
            for i in cone.at as usize..(cone.at + cone.stride_z) as usize {
                let drift = self.lambda[i] - self.z[i];
                // the row that sets the factor ends at zero up to rounding
                self.z[i] = (self.lambda[i] + factor * drift).max(0.0);
                if cone.round && factor == 0.0 {
                    self.z[i] = self.lambda[i];
                }
            }
        }
    }

    /// Largest diagonal entry of the cost, and whether a diagonal entry is nothing beside it.
    fn scale(&self, work: &Work<'_>) -> (f64, bool) {
        let (mut largest, mut least) = (0.0_f64, f64::INFINITY);
        for panel in work.panels {
            let block = &work.p.blocks[panel.block as usize];
            for i in 0..block.dim as usize {
                let mut d = work.p.P[block.P_at as usize + i * (block.stride as usize + 1)];
                for (k, spring) in work.p.saturations.iter().enumerate() {
                    if self.spring_at[k] as usize == block.at as usize + i {
                        d += spring.stiffness;
                    }
                }
                largest = largest.max(d);
                least = least.min(d);
            }
        }
        if largest > 0.0 { (largest, least <= 1e-12 * largest) } else { (1.0, true) }
    }

    /// Fills `w`, `D` and the point to start from.
    fn start(&mut self, work: &Work<'_>, start: Start<'_>, scale: f64, rho: f64) {
        match start {
            Start::Inside { x, z, s } => {
                for panel in work.panels {
                    let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
                    self.x[at.clone()].copy_from_slice(&x[at]);
                }
                for cone in work.cones() {
                    let (at, m) = (cone.at as usize, cone.m as usize);
                    let (z, s) = (&z[at..at + m], &s[at..at + m]);
                    if cone.round {
                        let t = &mut self.lambda[at..at + m];
                        second_order::complement(z, s, scale, rho, t);
                        let stride = cone.stride_z as usize;
                        let D = &mut self.D[cone.E_at as usize..][..m * stride];
                        self.w[at] = second_order::project_derivative(t, stride, D);
                    } else {
                        for i in 0..m {
                            self.w[at + i] = if z[i] > scale * s[i] { 1.0 } else { 0.0 };
                        }
                    }
                }
                for (k, spring) in work.p.saturations.iter().enumerate() {
                    if work.has(self.spring_panel[k]) {
                        let stretch = self.x[self.spring_at[k] as usize] - spring.target;
                        self.limited[k] = spring.stiffness * stretch.abs() > spring.limit;
                    }
                }
                kernels::slacks(work.isa, work.p, work.groups, &self.x, &mut self.u);
            }
            Start::Warm { z, s } => {
                for cone in work.cones() {
                    let (at, from, m) = (cone.at as usize, cone.first as usize, cone.m as usize);
                    let (z, s) = (&z[from..from + m], &s[from..from + m]);
                    if cone.round {
                        let t = &mut self.lambda[at..at + m];
                        for i in 0..m {
                            t[i] = z[i] - rho * s[i];
                        }
                        let stride = cone.stride_z as usize;
                        let D = &mut self.D[cone.E_at as usize..][..m * stride];
                        self.w[at] = second_order::project_derivative(t, stride, D);
                    } else {
                        for i in 0..m {
                            self.w[at + i] = if z[i] > 0.0 { 1.0 } else { 0.0 };
                        }
                    }
                }
                // u at x = 0
                kernels::slacks(work.isa, work.p, work.groups, &self.x, &mut self.u);
            }
            Start::Cold => {
                kernels::slacks(work.isa, work.p, work.groups, &self.x, &mut self.u);
                self.project(work, rho);
            }
        }
    }

    /// Newton's method until the active set stays. `linear` says that the first step is to be taken
    /// whole with the active set at hand, whatever it does to the cost.
    fn minimise(
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
    fn refine(&mut self, work: &Work<'_>, rho: f64, shift: f64, budget: &mut u32) -> bool {
        self.lambda_linear(work, rho);
        let (settled, sane) = self.step(work, rho, shift, true);
        if !sane {
            return false;
        }
        settled || self.minimise(work, rho, shift, false, budget)
    }

    /// One Newton step with the factor at hand. Returns whether the active set stayed through a
    /// whole step, so that the minimum is reached, and whether all numbers are finite.
    fn step(&mut self, work: &Work<'_>, rho: f64, shift: f64, whole: bool) -> (bool, bool) {
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
        (tau == 1.0 && !changed, true)
    }

    /// Largest entry of `P x + c + ∇huber − Jᵀ Eᵀ lambda`.
    fn imbalance(&mut self, work: &Work<'_>, shift: f64) -> f64 {
        self.smooth_gradient(work, shift);
        for panel in work.panels {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.d[at.clone()].copy_from_slice(&self.smooth[at]);
        }
        kernels::subtract_forces(work.isa, work.p, work.groups, &self.lambda, &mut self.d);
        work.largest(&self.d)
    }

    /// `smooth = P x + c + ∇huber + shift (x − center)`.
    fn smooth_gradient(&mut self, work: &Work<'_>, shift: f64) {
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
    fn factor(&mut self, work: &Work<'_>, rho: f64, shift: f64) -> bool {
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
                    let diagonal = panel.at as usize + i * panel.width as usize + i;
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
            &mut self.JS,
            &mut self.GJ,
            kept_H,
        );
        for all in work.spans() {
            kept_w[all.clone()].copy_from_slice(&self.w[all]);
        }
        let start = work.panels.first().map_or(0, |panel| panel.at as usize);
        let end = work.panels.last().map_or(0, |p| (p.at + p.dim * p.width) as usize);
        self.H[start..end].copy_from_slice(&kept_H[start..end]);
        let (first, last) = work.range;
        kernels::factor(work.isa, work.s, first, last, 0.0, &mut self.H, &mut self.W).is_ok()
    }

    /// `lambda = D (z − rho u)`: the projection as its derivative sees it. At the point where the
    /// derivative was taken they are the same.
    fn lambda_linear(&mut self, work: &Work<'_>, rho: f64) {
        if !work.round {
            for span in work.spans() {
                let [w, z, u] = [&self.w, &self.z, &self.u].map(|v| &v[span.clone()]);
                for (((lambda, w), z), u) in self.lambda[span].iter_mut().zip(w).zip(z).zip(u) {
                    *lambda = w * (z - rho * u);
                }
            }
            return;
        }
        for cone in work.cones() {
            let (at, m, stride) = (cone.at as usize, cone.m as usize, cone.stride_z as usize);
            if cone.round {
                for i in 0..m {
                    let row = &self.D[cone.E_at as usize + i * stride..][..m];
                    self.lambda[at + i] =
                        (0..m).map(|j| row[j] * (self.z[at + j] - rho * self.u[at + j])).sum();
                }
            } else {
                for i in at..at + stride {
                    self.lambda[i] = self.w[i] * (self.z[i] - rho * self.u[i]);
                }
            }
        }
    }

    /// `lambda = Π(z − rho u)` with its derivative; true if an edge changed sides, a round cone
    /// turned, or a spring came to or off its limit.
    fn project(&mut self, work: &Work<'_>, rho: f64) -> bool {
        let mut changed = false;
        if !work.round {
            for span in work.spans() {
                let [z, u] = [&self.z, &self.u].map(|v| &v[span.clone()]);
                let (lambda, w) = (&mut self.lambda[span.clone()], &mut self.w[span]);
                let mut turned = 0.0;
                for (((z, u), lambda), w) in z.iter().zip(u).zip(lambda).zip(w) {
                    let t = z - rho * u;
                    let active = if t > 0.0 { 1.0 } else { 0.0 };
                    *lambda = t.max(0.0);
                    turned += (*w - active) * (*w - active);
                    *w = active;
                }
                changed |= turned != 0.0;
            }
        }
        for cone in work.cones().filter(|_| work.round) {
            let (at, m, stride) = (cone.at as usize, cone.m as usize, cone.stride_z as usize);
            if cone.round {
                let mut t = [0.0; kernels::MAX_ROUND];
                let t = &mut t[..m];
                for i in 0..m {
                    t[i] = self.z[at + i] - rho * self.u[at + i];
                }
                second_order::project(t, &mut self.lambda[at..at + m]);
                let D = &mut self.D[cone.E_at as usize..][..m * stride];
                let corner = D[0];
                let old = self.w[at];
                self.w[at] = second_order::project_derivative(t, stride, D);
                let same = corner == D[0] && (D[0] != 0.5 || (old - self.w[at]).abs() <= TURN);
                changed |= !same;
            } else {
                let z = &self.z[at..at + stride];
                let u = &self.u[at..at + stride];
                let lambda = &mut self.lambda[at..at + stride];
                let w = &mut self.w[at..at + stride];
                for i in 0..stride {
                    let t = z[i] - rho * u[i];
                    let active = if t > 0.0 { 1.0 } else { 0.0 };
                    lambda[i] = t.max(0.0);
                    changed |= w[i] != active;
                    w[i] = active;
                }
            }
        }
        for (k, spring) in work.p.saturations.iter().enumerate() {
            if work.has(self.spring_panel[k]) {
                let force = spring.stiffness * (self.x[self.spring_at[k] as usize] - spring.target);
                let limited = force.abs() > spring.limit;
                changed |= limited != self.limited[k];
                self.limited[k] = limited;
            }
        }
        changed
    }

    /// Step length along `d` where the slope of the cost is nearly zero.
    fn line_search(&mut self, work: &Work<'_>, rho: f64, shift: f64, slope: f64) -> f64 {
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

    /// What the last round changed, as a slack: `|lambda − z| / rho`. On an active edge it is the
    /// slack that is left, on an idle one the multiplier that went.
    fn error(&self, work: &Work<'_>, rho: f64) -> f64 {
        let mut error = 0.0_f64;
        for span in work.spans() {
            for i in span {
                error = error.max((self.lambda[i] - self.z[i]).abs());
            }
        }
        error / rho
    }

    /// How far the proximal centre is behind.
    fn moved(&self, work: &Work<'_>) -> f64 {
        let mut moved = 0.0_f64;
        for panel in work.panels {
            for i in panel.x_at as usize..(panel.x_at + panel.dim) as usize {
                moved = moved.max((self.x[i] - self.center[i]).abs());
            }
        }
        moved
    }

    fn x_size(&self, work: &Work<'_>) -> f64 {
        let mut size = 0.0_f64;
        for panel in work.panels {
            for i in panel.x_at as usize..(panel.x_at + panel.dim) as usize {
                size = size.max(self.x[i].abs());
            }
        }
        size
    }

    /// The point of an island that violates its rows least, whatever the cost; the violations are the
    /// multipliers.
    pub fn least_violation(
        &mut self,
        isa: Isa,
        p: &ConeProgram,
        s: &Structure,
        island: &Island,
        max_iterations: u32,
    ) {
        let work = Work::new(isa, p, s, island);
        let mut scale = 0.0_f64;
        for cone in work.cones() {
            let J = &p.J[cone.J_at as usize..][..(cone.k * cone.width) as usize];
            scale = J.iter().fold(scale, |m, v| m.max(v * v));
        }
        self.start(&work, Start::Cold, 1.0, 1.0);
        self.reference = work.speed();
        let mut budget = max_iterations;
        for _ in 0..ROUNDS {
            if !self.minimise(&work, 1.0, SHIFT * scale, false, &mut budget)
                || self.moved(&work) <= EXACT * self.x_size(&work)
            {
                break;
            }
            self.take_center(&work);
        }
    }

    fn take_center(&mut self, work: &Work<'_>) {
        for panel in work.panels {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.center[at.clone()].copy_from_slice(&self.x[at]);
        }
    }

    /// The answer at hand, `x` and multipliers.
    pub fn answer_mut(&mut self) -> (&mut [f64], &mut [f64]) {
        (&mut self.x, &mut self.lambda)
    }

    /// Takes over an answer of another algorithm, in padded layout.
    pub fn adopt(&mut self, p: &ConeProgram, x: &[f64], z: &[f64]) {
        self.x.copy_from_slice(x);
        self.lambda.copy_from_slice(z);
        for (k, spring) in p.saturations.iter().enumerate() {
            let stretch = self.x[self.spring_at[k] as usize] - spring.target;
            self.limited[k] = spring.stiffness * stretch.abs() > spring.limit;
        }
    }

    /// Forgets what was found on an island.
    pub fn clear(&mut self, p: &ConeProgram, s: &Structure, island: &Island) {
        for panel in &s.panels[island.first_panel as usize..island.last_panel as usize] {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.x[at.clone()].fill(0.0);
            self.center[at].fill(0.0);
        }
        for group in &s.groups[island.first_group as usize..island.last_group as usize] {
            for cone in &p.cones[group.first_cone as usize..group.last_cone as usize] {
                let at = cone.at as usize..(cone.at + cone.stride_z) as usize;
                self.z[at.clone()].fill(0.0);
                self.w[at].fill(0.0);
            }
        }
        for (k, limited) in self.limited.iter_mut().enumerate() {
            if (island.first_panel..island.last_panel).contains(&self.spring_panel[k]) {
                *limited = false;
            }
        }
    }

    /// Padded index of a spring's variable.
    pub fn spring_at(&self, k: usize) -> usize {
        self.spring_at[k] as usize
    }

    /// What a spring does at the end.
    pub fn saturated(&self, k: usize, spring: &Saturation) -> i8 {
        if !self.limited[k] {
            return 0;
        }
        if self.x[self.spring_at[k] as usize] > spring.target { 1 } else { -1 }
    }

    /// Multipliers after the last projection.
    pub fn multipliers(&self) -> &[f64] {
        &self.lambda
    }
}

/// What one island's iteration reads.
struct Work<'a> {
    isa: Isa,
    p: &'a ConeProgram,
    s: &'a Structure,
    panels: &'a [Panel],
    groups: &'a [Group],
    spans: &'a [(u32, u32)],
    round: bool,
    range: (usize, usize),
}

impl<'a> Work<'a> {
    fn new(isa: Isa, p: &'a ConeProgram, s: &'a Structure, island: &Island) -> Self {
        Self {
            isa,
            p,
            s,
            panels: &s.panels[island.first_panel as usize..island.last_panel as usize],
            groups: &s.groups[island.first_group as usize..island.last_group as usize],
            spans: &s.spans[island.first_span as usize..island.last_span as usize],
            round: island.round,
            range: (island.first_panel as usize, island.last_panel as usize),
        }
    }

    /// Ranges of the island's entries in a padded `z`.
    fn spans(&self) -> impl Iterator<Item = std::ops::Range<usize>> + use<'a> {
        self.spans.iter().map(|(first, end)| *first as usize..*end as usize)
    }

    fn cones(&self) -> impl Iterator<Item = &'a crate::cone::program::ConeData> {
        let p = self.p;
        self.groups.iter().flat_map(move |g| &p.cones[g.first_cone as usize..g.last_cone as usize])
    }

    /// Largest magnitude among the island's entries of a padded vector.
    fn largest(&self, x: &[f64]) -> f64 {
        let entries =
            self.panels.iter().flat_map(|p| &x[p.x_at as usize..(p.x_at + p.dim) as usize]);
        entries.fold(0.0, |m, v| m.max(v.abs()))
    }

    /// Sum of products over the island's entries of two padded vectors.
    fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        let entries = self.panels.iter().flat_map(|p| p.x_at as usize..(p.x_at + p.dim) as usize);
        entries.map(|i| a[i] * b[i]).sum()
    }

    /// Largest offset of a row: the speeds that the data speak of.
    fn speed(&self) -> f64 {
        let offsets =
            self.cones().flat_map(|c| &self.p.b[c.b_at as usize..(c.b_at + c.k) as usize]);
        offsets.fold(0.0, |m, b| m.max(b.abs()))
    }

    /// Largest entry of the linear cost, springs included. Not of the multipliers: those grow without
    /// end where rows contradict one another.
    fn force(&self) -> f64 {
        let mut force = 0.0_f64;
        for panel in self.panels {
            for c in &self.p.c[panel.x_at as usize..(panel.x_at + panel.dim) as usize] {
                force = force.max(c.abs());
            }
        }
        self.p.saturations.iter().fold(force, |f, s| f.max(s.gradient(0.0).abs()))
    }

    fn has(&self, panel: u32) -> bool {
        (self.range.0..self.range.1).contains(&(panel as usize))
    }
}
