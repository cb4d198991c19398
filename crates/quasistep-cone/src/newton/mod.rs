//! Semismooth Newton method on the augmented Lagrangian, for problems that resemble the last one.
//!
//! ```text
//! f(x) = 1/2 xᵀPx + cᵀx + Σ huber + Σ_k ‖Π_K(z_k − rho u_k)‖² / (2 rho),    u = E (J x − b)
//! ```
//!
//! The penalty `rho` is so large that the first minimiser, from `z = 0`, has the right active set
//! and a relative error of 1e-6. Each multiplier update `z ← Π(z − rho u)` then gains six digits
//! with the same factorisation. It ends at the smallest-norm multipliers: those of the first update
//! are `rho E J (x* − x)`, a combination of the active rows.
//!
//! Dependent rows are the rule in contact problems. They need no special treatment, because no Gram
//! matrix of the rows appears. The only matrix is `P + rho Jᵀ Eᵀ D E J`, which is block-sparse and
//! positive definite. Many rows may change sides in one iteration, while a pivoting method moves
//! them one by one.
//!
//! | code | meaning                                             |
//! |------|-----------------------------------------------------|
//! | `u`  | slack of every row, `E (J x − b)`                   |
//! | `t`  | `z − rho u`: the multiplier before projection       |
//! | `w`  | 1 for an active edge; a marker for a round cone     |
//! | `D`  | derivative of the projection of a round cone        |
//!
//! This file leads from a starting point to a solution. [`steps`] minimises for given `z`,
//! [`island`] projects slacks to multipliers, [`finish`] and [`settle`] find the last digits, and
//! [`hold`] makes rows hold that are nearly dependent.

mod finish;
mod hold;
mod island;
mod rest;
mod settle;
mod steps;
mod work;

use crate::kernels::{self, Isa, Products};
use crate::program::ConeProgram;
use crate::structure::{Group, Island, Structure};
use crate::tolerances::newton_of_cones::{
    ASTRAY, CENTRE_NEAR, CENTRE_STILL, NOISE_AT_REST, PENALTIES_ROUND, PENALTY_SHIFTED, SHIFT,
    SOFTER, TOUCHING_AT_REST, TURNED,
};
use crate::tolerances::{CONTACT_TOUCHING, SPEED_ROUNDING};
use quasistep_linalg::Saturation;
use quasistep_linalg::aligned::Aligned;
use quasistep_linalg::budget::Budget;
use work::Work;

/// Largest number of iterations of a warm start at the full penalty. Beyond it a continuation from
/// smaller penalties is faster.
const FEW: u32 = 8;
/// Largest number of multiplier updates of an island.
const ROUNDS: u32 = 60;
/// Least number of rows of an island whose warm start is abandoned when many rows change sides.
/// With fewer rows Newton's method still converges.
const TOO_MANY: u32 = 300;

/// Key of an assembled Hessian, in addition to the active rows and the Huber terms at their limits.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Kept {
    island: usize,
    rho: f64,
    shift: f64,
}

/// Outcome of the iteration on an island.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Solved,
    /// Iteration limit reached, or a pivot that is not positive.
    GaveUp,
}

/// How long to go on with a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Abandon a warm start from which many rows change sides.
    Guess,
    #[default]
    Normal,
    /// Search for another active set where multiplier updates converge slowly.
    Insist,
}

/// Newton solver and its memory. Vectors are over padded `x` and padded `z`, shared by all islands.
#[derive(Debug, Default)]
pub(crate) struct Newton {
    pub x: Vec<f64>,
    pub z: Vec<f64>,
    pub u: Vec<f64>,
    /// Projected multipliers `Π(t)`.
    pub lambda: Vec<f64>,
    rates: Vec<f64>,
    /// Smallest-norm multipliers `A y` before projection.
    pull: Vec<f64>,
    w: Vec<f64>,
    D: Vec<f64>,
    /// Gradient `P x + c + ∇huber`, plus that of the proximal term.
    smooth: Vec<f64>,
    Pd: Vec<f64>,
    d: Vec<f64>,
    center: Vec<f64>,
    saved_x: Vec<f64>,
    saved_z: Vec<f64>,
    saved_w: Vec<f64>,
    saved_lambda: Vec<f64>,
    /// Cholesky factor, and the key of its matrix.
    H: Aligned,
    assembled: Option<Kept>,
    kept_limited: Vec<bool>,
    /// Matrix of the factor, valid if `kept`, and the active rows `kept_w` with which it was
    /// assembled.
    kept_H: Aligned,
    kept: bool,
    kept_w: Vec<f64>,
    kept_changes: u32,
    change: Vec<f64>,
    /// For each panel of the factor, whether a changed row made it outdated.
    stale: Vec<bool>,
    W: Aligned,
    products: Products,
    /// For each Huber term, whether it is in its linear part, without curvature.
    limited: Vec<bool>,
    /// For each Huber term, the padded index of its variable.
    spring_at: Vec<u32>,
    spring_panel: Vec<u32>,
    /// Reference speed of the current island's data: the larger of the largest offset and the
    /// natural speed.
    reference: f64,
    /// Largest number of consecutive short steps of a minimisation; `crawled` counts them.
    pub patience: u32,
    pub effort: Effort,
    /// Weight of the proximal term; zero if every variable has a cost.
    shift: f64,
    crawled: u32,
    /// Number of rows that changed sides in the last step. `strays` is true if there were more than
    /// in the step before.
    turned: f64,
    strays: bool,
    pub iterations: u32,
    pub factors: u32,
    pub budget: Budget,
}

/// Starting point of the iteration.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start<'a> {
    /// Start at the unconstrained minimiser.
    Cold,
    /// Start from multipliers and slacks of a similar problem, in the layout of `z`, not padded.
    /// New rows have `z = 0`, `s > 0`.
    Warm { z: &'a [f64], s: &'a [f64] },
    /// Start from a point inside the cones near the solution, in padded layout.
    Inside { x: &'a [f64], z: &'a [f64], s: &'a [f64] },
    /// Start from a point near the solution and a predicted active set (1 for every active edge),
    /// in padded layout. No round cones.
    Predicted { x: &'a [f64], active: &'a [f64] },
}

impl Newton {
    /// Allocates memory for a program.
    pub fn prepare(&mut self, p: &ConeProgram, s: &Structure) {
        for v in [&mut self.x, &mut self.smooth, &mut self.Pd, &mut self.d, &mut self.center] {
            v.clear();
            v.resize(p.n_padded, 0.0);
        }
        for v in [&mut self.z, &mut self.lambda, &mut self.w] {
            v.clear();
            v.resize(p.m_padded, 0.0);
        }
        // written before they are read, including the padding
        self.saved_x.resize(p.n_padded, 0.0);
        for v in [
            &mut self.u,
            &mut self.rates,
            &mut self.pull,
            &mut self.saved_z,
            &mut self.saved_w,
            &mut self.saved_lambda,
            &mut self.kept_w,
            &mut self.change,
        ] {
            v.resize(p.m_padded, 0.0);
        }
        if self.D.len() < p.E.len() {
            self.D.resize(p.E.len(), 0.0);
        }
        if self.H.len() < s.H_len {
            self.H.resize(s.H_len);
            self.kept_H.resize(s.H_len);
        }
        if self.W.len() < s.W_len {
            self.W.resize(s.W_len);
        }
        self.stale.resize(s.panels.len(), false);
        self.limited.clear();
        self.limited.resize(p.saturations.len(), false);
        self.spring_at.clear();
        self.spring_panel.clear();
        for spring in &p.saturations {
            let block = p.block_of(spring.index);
            let b = &p.blocks[block];
            self.spring_at.push(b.at + spring.index - b.first);
            self.spring_panel.push(s.panel_of_block[block]);
        }
        self.assembled = None;
        self.patience = u32::MAX;
        self.effort = Effort::Normal;
        self.turned = 0.0;
        (self.iterations, self.factors) = (0, 0);
    }

    /// Solves one island. The solution is in its entries of `x`, `z` and `u`. `penalty` is a
    /// multiple of the largest diagonal entry of the cost.
    #[allow(clippy::too_many_arguments)] // called from one place that lists all arguments
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
        let scale = self.scale(&work);
        let (round, singular) = (work.round, self.shift > 0.0);
        let rho = if singular { penalty.min(PENALTY_SHIFTED) } else { penalty } * scale;
        let warm = !matches!(start, Start::Cold);
        self.start(&work, start, scale, rho);
        let (speed, natural) = (work.speed(), work.force() / scale);
        if let Start::Warm { z, .. } = start
            && self.rests(&work, z, rho, [speed, natural])
        {
            return End::Solved;
        }
        self.reference = speed.max(natural);
        self.crawled = 0;
        // no step precedes the first
        self.turned = f64::INFINITY;

        let mut budget = max_iterations;
        // smaller penalties first: many rows change sides in one step, and rows that are
        // inconsistent by rounding still share their force
        let mut stages = if singular || round { &SOFTER[..] } else { &SOFTER[..2] };
        let mut few = FEW.min(budget);
        budget -= few;
        let first = rho * stages[stages.len() - 1];
        let converged = warm && self.minimise(&work, first, true, &mut few);
        budget += few;
        if converged {
            stages = &[];
        } else if warm && self.is_lost(&work) {
            return End::GaveUp;
        }
        for (k, stage) in stages.iter().enumerate() {
            self.project(&work, stage * rho);
            if !self.minimise(&work, stage * rho, k > 0, &mut budget) {
                return End::GaveUp;
            }
        }
        // without a cost the proximal iterations below lead to the least motion
        if !round && (!singular || self.effort == Effort::Insist) {
            if self.finish(&work, first, speed, natural) {
                return End::Solved;
            }
            self.z.iter_mut().for_each(|z| *z = 0.0);
            self.project(&work, rho);
            if !self.minimise(&work, rho, false, &mut budget) {
                return End::GaveUp;
            }
        }
        // method of multipliers; the factor stays valid while the active set does not change
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            let error = self.error(&work, rho);
            let x_size = self.x_size(&work);
            let moved = if singular { self.moved(&work) } else { 0.0 };
            let still = moved <= CENTRE_STILL * speed.max(x_size);
            let calm = moved <= CENTRE_NEAR * speed.max(x_size);
            let stuck = !(error <= 0.5 * best) && calm;
            let near = best < f64::INFINITY
                && calm
                && error <= (CONTACT_TOUCHING * speed.max(x_size)).max(TOUCHING_AT_REST * natural);
            best = best.min(error);
            let exact = error <= (SPEED_ROUNDING * speed.max(x_size)).max(NOISE_AT_REST * natural);
            if exact && still || near {
                let slack = (CONTACT_TOUCHING * speed.max(x_size)).max(TOUCHING_AT_REST * natural);
                let [(penalty, balanced), _] = PENALTIES_ROUND;
                if round && !self.finish_at_penalty(&work, penalty * scale, slack, balanced) {
                    return End::GaveUp;
                }
                return End::Solved;
            }
            for group in work.groups {
                self.take_multipliers(p, group, stuck);
            }
            self.take_center(&work);
            if !self.refine(&work, rho, &mut budget) {
                return End::GaveUp;
            }
        }
        End::GaveUp
    }

    /// Whether the last step changed so many rows that the warm start is useless.
    fn is_lost(&self, work: &Work<'_>) -> bool {
        let most = if self.strays { ASTRAY } else { TURNED };
        // the number of changed rows is mostly too small for any program: count all rows only if it
        // is not
        self.effort == Effort::Guess && self.turned > most * f64::from(TOO_MANY) && {
            let rows: u32 = work.cones().map(|cone| cone.m).sum();
            rows >= TOO_MANY && self.turned > most * f64::from(rows)
        }
    }

    /// Multiplier update `z ← lambda` on a group.
    ///
    /// Multipliers of inconsistent rows change by the same amount each round until one is zero. If
    /// `far`, they are extrapolated until the first multiplier of the group is zero.
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
                // the row that limits the factor ends at zero up to rounding
                self.z[i] = (self.lambda[i] + factor * drift).max(0.0);
                if cone.round && factor == 0.0 {
                    self.z[i] = self.lambda[i];
                }
            }
        }
    }

    /// Residual of the last multiplier update, as a slack: `max |lambda − z| / rho`. On an active
    /// edge it is the slack, on an inactive edge the former multiplier over `rho`.
    fn error(&self, work: &Work<'_>, rho: f64) -> f64 {
        let mut error = 0.0_f64;
        for span in work.spans() {
            for i in span {
                error = error.max((self.lambda[i] - self.z[i]).abs());
            }
        }
        error / rho
    }

    /// Largest distance of the point from the proximal centre.
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
        kernels::largest(work.isa, work.panels, &self.x)
    }

    /// Computes the point of an island with least squared violation, without regard to the cost.
    /// The violations are in the multipliers.
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
        (self.reference, self.shift) = (work.speed(), SHIFT * scale);
        let mut budget = max_iterations;
        for _ in 0..ROUNDS {
            if !self.minimise(&work, 1.0, false, &mut budget)
                || self.moved(&work) <= SPEED_ROUNDING * self.x_size(&work)
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

    /// Current solution: `x` and multipliers, padded.
    pub fn answer_mut(&mut self) -> (&mut [f64], &mut [f64]) {
        (&mut self.x, &mut self.lambda)
    }

    /// Copies a solution of another method, in padded layout.
    pub fn adopt(&mut self, p: &ConeProgram, x: &[f64], z: &[f64]) {
        self.x.copy_from_slice(x);
        self.lambda.copy_from_slice(z);
        self.find_limits(p);
    }

    /// Finds the Huber terms that are at their limits at the current solution.
    pub fn find_limits(&mut self, p: &ConeProgram) {
        for (k, spring) in p.saturations.iter().enumerate() {
            let stretch = self.x[self.spring_at[k] as usize] - spring.target;
            self.limited[k] = spring.stiffness * stretch.abs() > spring.limit;
        }
    }

    /// Resets the solution on an island to zero.
    pub fn clear(&mut self, s: &Structure, island: &Island) {
        for panel in &s.panels[island.first_panel as usize..island.last_panel as usize] {
            let at = panel.x_at as usize..(panel.x_at + panel.dim) as usize;
            self.x[at.clone()].fill(0.0);
            self.center[at].fill(0.0);
        }
        for (first, end) in &s.spans[island.first_span as usize..island.last_span as usize] {
            let rows = *first as usize..*end as usize;
            self.z[rows.clone()].fill(0.0);
            self.w[rows].fill(0.0);
        }
        for (k, limited) in self.limited.iter_mut().enumerate() {
            if (island.first_panel..island.last_panel).contains(&self.spring_panel[k]) {
                *limited = false;
            }
        }
    }

    /// Padded index of the variable of Huber term `k`.
    pub fn spring_at(&self, k: usize) -> usize {
        self.spring_at[k] as usize
    }

    /// State of a Huber term: 1 at its limit above the target, −1 at its limit below, else 0.
    pub fn saturated(&self, k: usize, spring: &Saturation) -> i8 {
        if !self.limited[k] {
            return 0;
        }
        if self.x[self.spring_at[k] as usize] > spring.target { 1 } else { -1 }
    }

    /// Multipliers after the last projection, padded.
    pub fn multipliers(&self) -> &[f64] {
        &self.lambda
    }
}
