//! Proximal point method around the dual active set, for convex costs that are not strictly convex.
//!
//! ```text
//! x_{k+1} = argmin  f(x) + rho/2 |x − x_k|²_D    s.t.  A x ≥ b,      x_0 = 0
//! ```
//!
//! `D` selects the variables of those diagonal blocks of `P` that are not positive definite. If
//! there are none, a single round with `rho = 0` suffices. Along linear directions the method ends
//! after finitely many rounds. Along curved ones the error decreases by a factor `rho/curvature`
//! per round. Each round starts from the last working set. The solution is then refined on its
//! working set *without* the proximal term. If the minimiser is not unique, the method tends to the
//! one of smallest `|x|_D` as `rho → 0`.
//!
//! R. T. Rockafellar, "Monotone operators and the proximal point algorithm", SIAM J. Control and
//! Optimization 14 (1976) 877–898. Finite termination for polyhedral costs: M. C. Ferris, "Finite
//! termination of the proximal point algorithm", Mathematical Programming 50 (1991) 359–366.

#![allow(non_snake_case)] // P, A, H are the letters of the problem

use crate::active_set::{ActiveSet, Begin, End as SetEnd, Limits, Program, Side};
use crate::tolerances::{
    MODERATE, NO_FORCE, POLISHED_PULL, PROOF, PROXIMAL, PROXIMAL_CONVERGED, PROXIMAL_FALL,
    PROXIMAL_LEAST, PROXIMAL_STALLED, REFINED, SET_DEPENDENT, SINGULAR_PIVOT, STEP_ROUNDING,
    TOUCHING_INDEPENDENT,
};
use quasistep_linalg::Reason;
use quasistep_linalg::kernels::{dot, max_abs, zeros};

pub(super) enum End {
    Solved,
    /// The ray is in [`Proximal::ray`].
    Unbounded,
    /// The Farkas multipliers are in [`Proximal::certificate`].
    Infeasible,
    GaveUp(Reason),
}

#[derive(Debug, Default)]
pub(super) struct Proximal {
    pub set: ActiveSet,
    sides: Vec<Side>,
    /// For each variable, whether it has a proximal term.
    singular: Vec<bool>,
    /// Weight of the proximal term.
    rho: f64,
    warm: Vec<u32>,
    r_d: Vec<f64>,
    r_p: Vec<f64>,
    /// Scaled Farkas multipliers, one per row.
    pub certificate: Vec<f64>,
    /// Scaled step of the last round; zero for variables without a proximal term.
    pub ray: Vec<f64>,
    pub rounds: u32,
}

impl Proximal {
    /// Solves the scaled problem. The solution `x`, `u` and the working set are in `set`.
    pub fn solve(&mut self, p: &mut Program, warm: &[u32], limits: &Limits) -> End {
        self.set.pivots = 0;
        self.rounds = 0;
        self.sides.clear();
        self.sides.resize(p.m(), Side::AtLeast);
        // allocate at the start, not during a solve
        self.certificate.clear();
        self.certificate.reserve(p.m());
        zeros(&mut self.ray, p.c.len());
        self.singular.clear();
        self.singular.extend((0..p.n).map(|i| p.P(i)[i] <= 0.0));
        self.rho = first_rho(p, &self.singular);
        if let Err(reason) = self.factor(p) {
            return End::GaveUp(reason);
        }
        self.set.start(p);
        self.set.add_independent(p, warm.iter().copied(), SET_DEPENDENT);
        for _ in 0..6 {
            match self.converge(p, limits) {
                End::Solved => {}
                other => return other,
            }
            if self.polish(p) {
                break;
            }
            self.set.recenter(p);
        }
        // the caller checks the point against the original data
        End::Solved
    }

    /// Weight of the proximal term in the last round; 0 if there was none.
    pub fn rho(&self) -> f64 {
        if self.singular.contains(&true) { self.rho } else { 0.0 }
    }

    /// Factorises `P + rho D` and marks singular diagonal blocks.
    fn factor(&mut self, p: &mut Program) -> Result<(), Reason> {
        loop {
            let (singular, rho) = (&self.singular, self.rho);
            for (delta, singular) in p.delta.iter_mut().zip(singular) {
                *delta = if *singular { rho } else { 0.0 };
            }
            // if P is convex, pivots of a marked block are at least rho
            let least = |i: usize| if singular[i] { 0.5 * rho } else { SINGULAR_PIVOT };
            match p.factor(|i, _, pivot| (pivot > least(i)).then_some(0.0)) {
                Ok(()) => return Ok(()),
                Err(i) if self.singular[i] => return Err(Reason::NotConvex),
                Err(i) => self.mark(p, i),
            }
        }
    }

    /// Marks the diagonal block of a variable as singular.
    fn mark(&mut self, p: &Program, i: usize) {
        self.singular[i] = true;
        for j in 0..p.n {
            if p.P(i)[j] != 0.0 && !self.singular[j] {
                self.mark(p, j);
            }
        }
    }

    /// Proximal rounds until the step is zero up to rounding.
    fn converge(&mut self, p: &mut Program, limits: &Limits) -> End {
        let mut last = f64::INFINITY;
        for round in 0..100 {
            self.rounds += 1;
            let max_pivots = limits.max_pivots.saturating_sub(self.set.pivots);
            let limits = Limits { max_pivots, ..*limits };
            match self.set.solve(p, &self.sides, Begin::Anew, &limits) {
                SetEnd::Infeasible { row } => {
                    zeros(&mut self.certificate, p.m());
                    for (i, y) in self.set.contradiction(row) {
                        self.certificate[i as usize] += y.max(0.0);
                    }
                    return End::Infeasible;
                }
                SetEnd::Pivots => return End::GaveUp(Reason::Pivots),
                SetEnd::Solved | SetEnd::Cut => {}
            }
            if !p.singular {
                break;
            }
            let rounding = STEP_ROUNDING * max_abs(&self.set.x);
            for i in (0..p.n).filter(|&i| self.singular[i]) {
                let step = self.set.x[i] - self.set.center[i];
                self.ray[i] = if step.abs() > rounding { step } else { 0.0 };
            }
            self.set.recenter(p);
            let step = max_abs(&self.ray);
            let size = max_abs(&self.set.x);
            let force = max_abs(&p.c).max(max_abs(&self.set.u));
            if step <= PROXIMAL_CONVERGED * size || self.rho * step <= NO_FORCE * force {
                break;
            }
            if round >= 2 && step > 0.5 * last {
                if step <= PROXIMAL_STALLED * size {
                    break;
                }
                if self.falls_without_end(p) {
                    return End::Unbounded;
                }
                if self.rho <= PROXIMAL_LEAST {
                    break;
                }
                self.rho *= PROXIMAL_FALL;
                self.warm.clone_from(&self.set.working);
                if let Err(reason) = self.factor(p) {
                    return End::GaveUp(reason);
                }
                self.set.refactor(p);
                self.set.add_independent(p, self.warm.iter().copied(), SET_DEPENDENT);
                last = f64::INFINITY;
                continue;
            }
            last = step;
        }
        End::Solved
    }

    /// Whether the last step is a ray: the cost decreases along it, without curvature, and no row
    /// blocks it.
    ///
    /// If the cost is unbounded, the steps of the proximal point method tend to a negative multiple
    /// of the smallest-norm element in the closure of the subgradients' range, which is such a
    /// direction.
    fn falls_without_end(&self, p: &Program) -> bool {
        let d = &self.ray;
        let unit = PROOF * max_abs(d);
        (0..p.n).all(|i| dot(p.P(i), d).abs() <= unit)
            && (0..p.m()).all(|i| p.slack(i, d) + p.rows.b[i] >= -unit)
            && dot(&p.c, d) < 0.0
    }

    /// Refines `x` and `u` on the working set without the proximal term. Returns false if a row
    /// becomes violated or a multiplier negative.
    fn polish(&mut self, p: &Program) -> bool {
        let Self { set, r_d, r_p, warm, .. } = self;
        if p.singular {
            // weakly active rows fix directions that no other row fixes
            let (x, size) = (&set.x, max_abs(&set.x));
            let touches = |i: usize| p.slack(i, x) <= p.rounding(i, x, size);
            warm.clear();
            warm.extend((0..p.m()).filter(|&i| touches(i)).map(|i| i as u32));
            set.add_independent(p, warm.iter().copied(), TOUCHING_INDEPENDENT);
        }
        let mut last = f64::INFINITY;
        for _ in 0..6 {
            r_d.clear();
            let mut size_d = max_abs(&p.c).max(max_abs(&set.u));
            for i in 0..p.n {
                let Px = dot(p.P(i), &set.x);
                size_d = size_d.max(Px.abs());
                r_d.push(-p.c[i] - Px);
            }
            r_d.resize(p.c.len(), 0.0);
            r_p.clear();
            r_p.reserve(p.n);
            let mut size_p = max_abs(&set.x);
            for (&row, u) in set.working.iter().zip(&set.u) {
                let row = row as usize;
                p.add_row(row, *u, r_d);
                r_p.push(-p.slack(row, &set.x));
                size_p = size_p.max(p.rows.b[row].abs());
            }
            let error = (max_abs(r_d) / size_d.max(f64::MIN_POSITIVE))
                .max(max_abs(r_p) / size_p.max(f64::MIN_POSITIVE));
            if error <= REFINED || error > 0.5 * last {
                break;
            }
            last = error;
            if max_abs(r_d) <= NO_FORCE * size_d {
                // rounding divided by rho would only move variables along flat directions
                r_d.fill(0.0);
            }
            set.factors.correct(1.0, r_d, r_p.iter().copied(), &mut set.x, &mut set.u);
        }
        let pull = POLISHED_PULL * max_abs(&set.u);
        set.rows_hold(p) && set.u.iter().all(|u| *u >= -pull)
    }
}

/// Proximal weight `rho` of the first round, which balances cost and distance.
fn first_rho(p: &Program, singular: &[bool]) -> f64 {
    let mut force = 0.0_f64;
    let mut distance = max_abs(&p.rows.b);
    for (c, singular) in p.c.iter().zip(singular) {
        let most = if *singular { &mut force } else { &mut distance };
        *most = most.max(c.abs());
    }
    let balance = if force > 0.0 && distance > 0.0 { force / distance } else { 1.0 };
    PROXIMAL * balance.clamp(MODERATE.recip(), MODERATE)
}
