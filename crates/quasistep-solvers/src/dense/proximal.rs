//! From strictly convex to convex: the proximal point method around the dual active set.
//!
//! ```text
//! x_{k+1} = argmin  f(x) + rho/2 |x − x_k|²_D    s.t.  A x ≥ b,      x_0 = 0
//! ```
//!
//! `D` picks the variables of those diagonal blocks of `P` that are not positive definite; without
//! any, one round with `rho = 0` is all. On linear directions the method ends after finitely many
//! rounds, on curved ones it converges by a factor `rho/curvature` per round, and the working set
//! of one round starts the next. The answer is then refined on its working set *without* the
//! proximal term. Of a flat set of minimisers it picks the one that tends to the smallest `|x|_D`
//! as `rho → 0`.
//!
//! R. T. Rockafellar, "Monotone operators and the proximal point algorithm", SIAM J. Control and
//! Optimization 14 (1976) 877–898; finite end on polyhedral costs: M. C. Ferris, "Finite
//! termination of the proximal point algorithm", Mathematical Programming 50 (1991) 359–366.

#![allow(non_snake_case)] // P, A, H are the letters of the problem

use crate::Reason;
use crate::budget::Budget;
use crate::dense::dual_active_set::{ActiveSet, Outcome};
use crate::dense::equilibrate::Scaled;
use crate::dense::recession::Recession;
use crate::kernels::{max_abs, zeros};

/// Pivot of the unit-diagonal `P` below which a block counts as singular.
const SINGULAR: f64 = 1e-8;

/// First weight of the proximal term, relative to unit curvature: small enough to converge in a
/// few rounds, large enough that rounding over `rho` stays below 1e-10.
const RHO: f64 = 1e-5;

/// Step of a round, as a share of the largest variable, at which the method has converged.
const CONVERGED: f64 = 1e-13;

/// The same as a force: below this share of the largest it is rounding, and following it would
/// let flat directions drift.
const NO_FORCE: f64 = 1e-14;

/// The same where rounding lets the step shrink no more.
const STALLED: f64 = 1e-9;

pub(crate) enum End {
    Solved,
    /// The direction is in [`Proximal::ray`].
    Unbounded,
    /// The multipliers are in [`Proximal::certificate`].
    Infeasible,
    GaveUp(Reason),
}

#[derive(Debug, Default)]
pub(crate) struct Proximal {
    pub set: ActiveSet,
    recession: Recession,
    H: Vec<f64>,
    /// Per variable: true where the proximal term acts.
    singular: Vec<bool>,
    rho: f64,
    center: Vec<f64>,
    g: Vec<f64>,
    r_d: Vec<f64>,
    r_p: Vec<f64>,
    /// Scaled Farkas multipliers, one per row.
    pub certificate: Vec<f64>,
    pub rounds: u32,
}

impl Proximal {
    /// Counts its work with that of others.
    pub fn share(&mut self, budget: &Budget) {
        self.set.budget = budget.clone();
        self.recession.set.budget = budget.clone();
    }

    /// Solves the scaled problem; `x`, `u` and the working set are left in `set`.
    pub fn solve(&mut self, p: &Scaled, warm: &[u32], dependent: f64, max_pivots: u32) -> End {
        self.set.pivots = 0;
        self.set.max_pivots = max_pivots;
        self.set.dependent = dependent;
        self.rounds = 0;
        // rarely used, but never the cause of an allocation in the middle of a run
        self.certificate.clear();
        self.certificate.reserve(p.b.len());
        self.singular.clear();
        self.singular.extend((0..p.n).map(|i| p.P[i * p.n + i] <= 0.0));
        self.rho = first_rho(p, &self.singular);
        if let Err(reason) = self.factor(p) {
            return End::GaveUp(reason);
        }
        self.set.warm(&p.A, warm);
        zeros(&mut self.center, p.n);
        for _ in 0..6 {
            match self.converge(p) {
                End::Solved => {}
                other => return other,
            }
            if self.polish(p) {
                return End::Solved;
            }
            self.center.copy_from_slice(&self.set.x);
        }
        // the caller checks what there is by the original data
        End::Solved
    }

    /// The scaled ray, after [`End::Unbounded`].
    pub fn ray(&self) -> &[f64] {
        self.recession.ray()
    }

    /// Weight of the proximal term of the last round; 0 if there was none.
    pub fn rho(&self) -> f64 {
        if self.is_singular() { self.rho } else { 0.0 }
    }

    fn is_singular(&self) -> bool {
        self.singular.contains(&true)
    }

    /// Factors `P + rho D`, marking singular blocks on the way.
    fn factor(&mut self, p: &Scaled) -> Result<(), Reason> {
        let n = p.n;
        loop {
            self.H.clear();
            self.H.extend_from_slice(&p.P);
            for i in 0..n {
                if self.singular[i] {
                    self.H[i * n + i] += self.rho;
                }
            }
            // a pivot of a marked block is at least rho if P is convex
            let (singular, rho) = (&self.singular, self.rho);
            let least = |i: usize| if singular[i] { 0.5 * rho } else { SINGULAR };
            match self.set.factor(n, &self.H, &p.first, least, p.b.len()) {
                Ok(()) => return Ok(()),
                Err(i) if self.singular[i] => return Err(Reason::NotConvex),
                Err(i) => self.mark(p, i),
            }
        }
    }

    fn mark(&mut self, p: &Scaled, i: usize) {
        for j in 0..p.n {
            self.singular[j] |= p.block[j] == p.block[i];
        }
    }

    /// Proximal rounds until the step vanishes.
    fn converge(&mut self, p: &Scaled) -> End {
        let mut last = f64::INFINITY;
        for round in 0..100 {
            self.rounds += 1;
            self.set.forgive();
            self.g.clear();
            self.g.extend_from_slice(&p.c);
            for i in 0..p.n {
                if self.singular[i] {
                    self.g[i] -= self.rho * self.center[i];
                }
            }
            let mut ignored = 0;
            loop {
                match self.set.solve(&p.A, &self.g, &p.b) {
                    Outcome::Solved => break,
                    Outcome::Pivots => return End::GaveUp(Reason::Pivots),
                    Outcome::Contradiction { row } => {
                        if self.proves_infeasible(p, row) {
                            return End::Infeasible;
                        }
                        // a dependent row, off by rounding: the final check has the last word
                        ignored += 1;
                        if ignored > p.b.len() {
                            return End::GaveUp(Reason::Accuracy);
                        }
                        self.set.ignore(row);
                    }
                }
            }
            if !self.is_singular() {
                return End::Solved;
            }
            let mut step = 0.0_f64;
            for i in 0..p.n {
                if self.singular[i] {
                    step = step.max((self.set.x[i] - self.center[i]).abs());
                }
            }
            self.center.copy_from_slice(&self.set.x);
            let size = max_abs(&self.set.x);
            let force = max_abs(&p.c).max(max_abs(&self.set.u));
            if step <= CONVERGED * size || self.rho * step <= NO_FORCE * force {
                return End::Solved;
            }
            if round >= 2 && step > 0.5 * last {
                if step <= STALLED * size {
                    return End::Solved;
                }
                if self.recession.find(p, &self.singular) {
                    return End::Unbounded;
                }
                if self.rho <= 1e-10 {
                    return End::Solved;
                }
                self.rho *= 1e-2;
                let working = self.set.take_working();
                let result = self.factor(p);
                self.set.warm(&p.A, &working);
                self.set.give_back(working);
                if let Err(reason) = result {
                    return End::GaveUp(reason);
                }
                last = f64::INFINITY;
                continue;
            }
            last = step;
        }
        End::Solved
    }

    /// Refines `x` and `u` on the working set without the proximal term; false if that breaks a
    /// row or turns a multiplier.
    fn polish(&mut self, p: &Scaled) -> bool {
        if self.is_singular() {
            // rows that merely touch hold directions in which nothing else does
            self.set.add_touching(&p.A, &p.b);
        }
        let mut last = f64::INFINITY;
        for _ in 0..6 {
            let set = &self.set;
            self.r_d.clear();
            let mut size_d = 0.0_f64;
            for i in 0..p.n {
                let Px = p.curvature(i, &set.x);
                size_d = size_d.max(Px.abs()).max(p.c[i].abs());
                self.r_d.push(-p.c[i] - Px);
            }
            self.r_p.clear();
            self.r_p.reserve(p.n);
            let mut size_p = max_abs(&set.x);
            for (k, &row) in set.working.iter().enumerate() {
                let row = row as usize;
                p.A.add_to(row, set.u[k], &mut self.r_d);
                self.r_p.push(-p.slack(row, &set.x));
                size_p = size_p.max(p.b[row].abs());
            }
            size_d = size_d.max(max_abs(&set.u));
            let error = (max_abs(&self.r_d) / size_d.max(f64::MIN_POSITIVE))
                .max(max_abs(&self.r_p) / size_p.max(f64::MIN_POSITIVE));
            if error <= 1e-16 || error > 0.5 * last {
                break;
            }
            last = error;
            if max_abs(&self.r_d) <= NO_FORCE * size_d {
                // rounding over rho would only stir flat directions
                self.r_d.fill(0.0);
            }
            self.set.correct(&self.r_d, &self.r_p);
        }
        let set = &self.set;
        let pull = 1e-10 * max_abs(&set.u);
        set.rows_hold(&p.A, &p.b) && set.u.iter().all(|u| *u >= -pull)
    }

    /// Farkas' lemma on `row` and the working set: `Aᵀy = 0` and `bᵀy > 0`.
    ///
    /// The gap must be more than rounding of its terms, than the noise of bounds, and than what an
    /// imperfect `Aᵀy` gives to points ten times as far away as the present one.
    fn proves_infeasible(&mut self, p: &Scaled, row: usize) -> bool {
        zeros(&mut self.certificate, p.b.len());
        self.certificate[row] = 1.0;
        for (&i, r) in self.set.working.iter().zip(&self.set.factors.r) {
            self.certificate[i as usize] = (-r).max(0.0);
        }
        zeros(&mut self.r_d, p.n);
        let (mut gap, mut terms, mut weight) = (0.0, 0.0, 0.0);
        for (i, &y) in self.certificate.iter().enumerate() {
            if y > 0.0 {
                gap += p.b[i] * y;
                terms += (p.b[i] * y).abs();
                weight += y;
                p.A.add_to(i, y, &mut self.r_d);
            }
        }
        let spread: f64 = self.r_d.iter().map(|v| v.abs()).sum();
        let far = 10.0 * max_abs(&self.set.x).max(max_abs(&p.b));
        max_abs(&self.r_d) <= 1e-9 * weight
            && gap > 1e-9 * terms
            && gap > 1e-10 * weight * max_abs(&p.b)
            && gap > spread * far
    }
}

/// `rho` of the first round, so that the proximal term balances cost and distances alike.
fn first_rho(p: &Scaled, singular: &[bool]) -> f64 {
    let mut force = 0.0_f64;
    let mut distance = max_abs(&p.b);
    for i in 0..p.n {
        if singular[i] {
            force = force.max(p.c[i].abs());
        } else {
            distance = distance.max(p.c[i].abs());
        }
    }
    if force > 0.0 && distance > 0.0 { RHO * (force / distance).clamp(1e-4, 1e4) } else { RHO }
}
