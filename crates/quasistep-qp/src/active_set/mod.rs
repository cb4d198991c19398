//! Goldfarb and Idnani's dual active set method, shared by the small active set, dense programs and
//! the nodes of the branch and bound.
//!
//! ```text
//! min 1/2 xᵀ(P + Δ)x + (c − Δ x̂)ᵀx     s.t.  a_i·x  ≥, ≤, = or free of  b_i
//! ```
//!
//! The notation is that of `factors`; `u` are the multipliers, ≥ 0 except of equalities.
//!
//! Every row that enters with `d₂ ≠ 0` increases the dual cost, and there are finitely many working
//! sets. So the method cannot cycle in exact arithmetic, even with degenerate rows. Four measures
//! limit the effect of rounding. `x` is recomputed from the factors before it is accepted. Linear
//! dependence has a threshold. Pivots have a limit. The feasibility tolerance grows if rows that
//! are equal up to rounding alternate in the working set.
//!
//! A program that adds constraints to another one may start from its working set and multipliers,
//! which stay dual feasible. The dual cost increases monotonically and is a lower bound, so a solve
//! may end as soon as it exceeds a cutoff.

#![allow(non_snake_case)] // J and R follow the paper's notation

mod factors;
pub(crate) mod kernels;
mod program;

pub(crate) use factors::{ActiveFactors, padded};
pub use program::Side;
pub(crate) use program::{Begin, End, Limits, Program};

use crate::tolerances::{
    EXPENSIVE_ROW, HELD_ROUNDING, NO_MULTIPLIER, PROOF, ROW_NOISE, SMALL_VIOLATION, TURNS,
};
use program::{Point, Violated, worst};
use quasistep_linalg::kernels::{axpy, dot, max_abs, zeros};

/// Working set, point and multipliers. A solve starts from the current ones.
#[derive(Debug, Default)]
pub(crate) struct ActiveSet {
    n: usize,
    pub factors: ActiveFactors,
    pub working: Vec<u32>,
    /// +1 for a row that entered as `≥`, −1 for `≤`.
    sign: Vec<f64>,
    pub u: Vec<f64>,
    pub x: Vec<f64>,
    /// For each row, whether it is excluded from pricing: in the working set, or skipped.
    passed: Vec<bool>,
    pub any_passed_over: bool,
    /// For each row, whether it is awake: it was in a working set before. Other rows are priced
    /// only if no awake row is violated.
    awake: Vec<bool>,
    /// Largest variable of all minimisers so far, the reference size of rounding. The current point
    /// may be 0.
    pub size: f64,
    /// Dual cost: the cost including the proximal term at `x`.
    value: f64,
    /// Gradient at zero, `c − Δ x̂`.
    g: Vec<f64>,
    /// Proximal centre `x̂`.
    pub center: Vec<f64>,
    /// Constrained rows: first the awake ones (in a working set before the solve began), then the
    /// others.
    near: Vec<u32>,
    far: Vec<u32>,
    pub pivots: u64,
    /// Whether the last solve ended with a minimiser.
    pub ended: bool,
}

impl ActiveSet {
    /// Starts at the unconstrained minimiser, with an empty working set and the proximal centre at
    /// 0.
    pub fn start(&mut self, p: &Program) {
        self.n = p.n;
        self.awake.clear();
        self.awake.resize(p.m(), false);
        self.size = 0.0;
        for v in [&mut self.x, &mut self.center] {
            zeros(v, padded(p.n));
        }
        self.g.clear();
        self.g.extend_from_slice(&p.c);
        self.refactor(p);
    }

    /// Takes a new factorisation of the cost, with an empty working set.
    pub fn refactor(&mut self, p: &Program) {
        self.factors.start(p.n, &p.L, &p.first);
        self.working.clear();
        self.sign.clear();
        self.u.clear();
        self.passed.clear();
        self.passed.resize(p.m(), false);
        self.any_passed_over = false;
        self.reserve(p.n, p.m());
        self.write_gradient(p);
        self.equality_point(p);
    }

    /// Reserves memory for any working set of a program of this size, so that no pivot allocates,
    /// even after copies from other sets.
    pub fn reserve(&mut self, n: usize, m: usize) {
        self.factors.reserve(n);
        for v in [&mut self.x, &mut self.g, &mut self.center] {
            v.reserve(padded(n).saturating_sub(v.len()));
        }
        for v in [&mut self.u, &mut self.sign] {
            v.reserve((n + 1).saturating_sub(v.len()));
        }
        for v in [&mut self.passed, &mut self.awake] {
            v.reserve(m.saturating_sub(v.len()));
        }
        for (v, most) in [(&mut self.working, n + 1), (&mut self.near, m), (&mut self.far, m)] {
            v.reserve(most.saturating_sub(v.len()));
        }
    }

    /// Copies the factors and point of another active set.
    pub fn copy_from(&mut self, other: &Self) {
        self.n = other.n;
        self.factors.copy_from(&other.factors);
        for (to, from) in [
            (&mut self.sign, &other.sign),
            (&mut self.u, &other.u),
            (&mut self.x, &other.x),
            (&mut self.g, &other.g),
            (&mut self.center, &other.center),
        ] {
            to.clear();
            to.extend_from_slice(from);
        }
        self.working.clear();
        self.working.extend_from_slice(&other.working);
        self.passed.clear();
        self.passed.extend_from_slice(&other.passed);
        self.awake.clear();
        self.awake.extend_from_slice(&other.awake);
        self.any_passed_over = other.any_passed_over;
        self.value = other.value;
        self.size = other.size;
        self.reserve(other.n, other.passed.len());
    }

    /// Lower bound of the cost without the proximal term, over all feasible points whose variables
    /// with a proximal term differ from `x` by at most `reach`.
    ///
    /// With `g` the gradient of the cost, `g + Δ(x − x̂) = Nᵀu`. So for every feasible `y`,
    /// `cost(y) ≥ cost(x) + g·(y − x) ≥ cost(x) − Σ δ_i |x_i − x̂_i| reach`.
    pub fn lower(&self, p: &Program, reach: f64) -> f64 {
        if !p.singular {
            return self.value;
        }
        let mut cost = self.value;
        let mut doubt = 0.0;
        for i in 0..self.n {
            let (delta, center) = (p.delta[i], self.center[i]);
            let moved = self.x[i] - center;
            cost += 0.5 * delta * (center * center - moved * moved);
            doubt += delta * moved.abs();
        }
        cost - reach * doubt
    }

    /// Lower bound on a child's optimal cost from one dual step, which is not taken. The child's
    /// `sides` differ from the solved ones only by additional constraints on `rows`.
    pub fn peek(&mut self, p: &Program, sides: &[Side], rows: &[u32], limits: &Limits) -> f64 {
        let known = self.lower(p, limits.reach);
        self.near.clear();
        self.far.clear();
        self.near.extend(rows.iter().filter(|&&i| sides[i as usize] != Side::Free));
        let Some(Violated { row, sign, slack }) = self.most_violated(p, sides, 1.0) else {
            return known;
        };
        let (free, all) = self.direction(p, row, sign);
        self.factors.solve_r();
        let (t_dual, _) = self.blocking(sides);
        let independent = self.working.len() < self.n && free > limits.dependent * all;
        let t = if independent { t_dual.min(-slack / free) } else { t_dual };
        if t == f64::INFINITY {
            return known;
        }
        let mut dual = self.value - t * slack - 0.5 * t * t * free;
        if p.singular {
            // the bound of `lower` at the end of the step
            self.factors.primal_step();
            let mut doubt = 0.0;
            for i in 0..self.n {
                let center = self.center[i];
                let moved = self.x[i] + t * self.factors.step[i] - center;
                dual += 0.5 * p.delta[i] * (center * center - moved * moved);
                doubt += p.delta[i] * moved.abs();
            }
            dual -= limits.reach * doubt;
        }
        known.max(dual)
    }

    /// Moves the proximal centre to `x`.
    pub fn recenter(&mut self, p: &Program) {
        self.center.copy_from_slice(&self.x);
        self.write_gradient(p);
    }

    fn write_gradient(&mut self, p: &Program) {
        for i in 0..self.n {
            self.g[i] = p.c[i] - p.delta[i] * self.center[i];
        }
    }

    /// Size of a row's multiplier if its sign is wrong for `side`, else 0. If positive, dropping
    /// the constraint would decrease the cost.
    pub fn pull(&self, row: u32, side: Side) -> f64 {
        let Some(k) = self.working.iter().position(|&i| i == row) else { return 0.0 };
        // gradient of the cost along the row
        let push = self.sign[k] * self.u[k];
        if push > 0.0 && !side.below_forbidden() {
            push
        } else if push < 0.0 && !side.above_forbidden() {
            -push
        } else {
            0.0
        }
    }

    /// Adds rows to an empty working set, each if its squared sine to the span of the set is above
    /// `least`. Their multipliers are undetermined until the next solve with [`Begin::Anew`].
    pub fn add_independent(&mut self, p: &Program, rows: impl Iterator<Item = u32>, least: f64) {
        for row in rows.map(|row| row as usize) {
            if self.working.len() == self.n {
                return;
            }
            if row < self.passed.len() && !self.passed[row] {
                let (free, all) = self.direction(p, row, 1.0);
                if free > least * all {
                    self.factors.primal_step();
                    self.add(row, 1.0, free, 0.0);
                }
            }
        }
    }

    /// Solves for `sides`, starting from the current factors.
    pub fn solve(&mut self, p: &Program, sides: &[Side], begin: Begin, limits: &Limits) -> End {
        let end = self.pivot_to_end(p, sides, begin, limits);
        self.ended = end == End::Solved;
        end
    }

    fn pivot_to_end(&mut self, p: &Program, sides: &[Side], begin: Begin, limits: &Limits) -> End {
        let last = self.pivots + limits.max_pivots;
        // a lower bound does not need a recomputed point
        let bound_only = begin == Begin::Trial;
        let mut fresh = bound_only;
        if begin == Begin::Anew {
            for k in (0..self.working.len()).rev() {
                let side = sides[self.working[k] as usize];
                if self.sign[k] > 0.0 && !side.below_forbidden()
                    || self.sign[k] < 0.0 && !side.above_forbidden()
                {
                    self.drop(k);
                }
            }
        }
        if self.any_passed_over {
            self.passed.fill(false);
            self.working.iter().for_each(|&i| self.passed[i as usize] = true);
            self.any_passed_over = false;
        }
        if begin == Begin::Anew {
            self.dual_feasible_point(p, sides);
            fresh = true;
        }
        self.list_rows(sides, !self.awake.contains(&true));
        // number of entries of rows whose violation may be rounding
        let mut small_entries = 0_u32;
        loop {
            if self.value > limits.cutoff && self.lower(p, limits.reach) > limits.cutoff {
                return End::Cut;
            }
            let patience = f64::from(1u32 << (small_entries / TURNS).min(16));
            match self.most_violated(p, sides, patience) {
                None if fresh => {
                    self.size = self.size.max(max_abs(&self.x));
                    return End::Solved;
                }
                None => {
                    // the point is a sum of steps: recompute it before it is accepted
                    self.dual_feasible_point(p, sides);
                    fresh = true;
                    self.pivots += 1;
                }
                Some(wanted) => {
                    fresh = bound_only;
                    let level = p.rows.b[wanted.row].abs();
                    small_entries +=
                        u32::from(wanted.slack > -SMALL_VIOLATION * (max_abs(&self.x) + level));
                    if let Some(end) = self.enter(p, sides, wanted, limits, last) {
                        return end;
                    }
                }
            }
            if self.pivots > last || !p.budget.spend(p.pricing_work()) {
                return End::Pivots;
            }
        }
    }

    /// Lists the constrained rows, those that were in a working set before (awake rows) first. With
    /// `all`, every row counts as awake.
    fn list_rows(&mut self, sides: &[Side], all: bool) {
        self.near.clear();
        self.far.clear();
        for (i, (side, awake)) in sides.iter().zip(&self.awake).enumerate() {
            if *side != Side::Free {
                if all || *awake { &mut self.near } else { &mut self.far }.push(i as u32);
            }
        }
    }

    /// The most violated row of the list. Rows that were in a working set before (awake rows) are
    /// priced first.
    fn most_violated(&self, p: &Program, sides: &[Side], patience: f64) -> Option<Violated> {
        let point = Point { x: &self.x, size: max_abs(&self.x).max(self.size) };
        [&self.near, &self.far]
            .into_iter()
            .find_map(|list| worst(p.isa, &p.rows, sides, list, &self.passed, point, patience))
    }

    /// Adds a violated row to the working set, dropping the rows that block it.
    fn enter(
        &mut self,
        p: &Program,
        sides: &[Side],
        wanted: Violated,
        limits: &Limits,
        last: u64,
    ) -> Option<End> {
        let Violated { row, sign, mut slack } = wanted;
        let mut u_row = 0.0;
        loop {
            self.pivots += 1;
            if self.pivots > last || !p.budget.spend(p.pivot_work()) {
                return Some(End::Pivots);
            }
            let (free, all) = self.direction(p, row, sign);
            self.factors.solve_r();
            let (t_dual, leaves) = self.blocking(sides);
            let independent = self.working.len() < self.n && free > limits.dependent * all;
            let t_primal = if independent { (-slack).max(0.0) / free } else { f64::INFINITY };
            let t = t_dual.min(t_primal);
            let noise = ROW_NOISE * (max_abs(&self.x).max(self.size) + p.rows.b[row].abs());
            let pointless = t > EXPENSIVE_ROW * max_abs(&self.g).max(max_abs(&self.u));
            if t == f64::INFINITY && self.contradicts(p, sides, wanted, limits.reach) {
                return Some(End::Infeasible { row: row as u32 });
            }
            if t == f64::INFINITY || pointless && slack > -noise {
                self.passed[row] = true;
                self.any_passed_over = true;
                return None;
            }
            axpy(-t, &self.factors.r, &mut self.u);
            if independent {
                self.factors.primal_step();
                axpy(t, &self.factors.step, &mut self.x);
                self.value += t * free * (0.5 * t + u_row);
            }
            u_row += t;
            if t_primal <= t_dual {
                self.add(row, sign, free, u_row);
                return None;
            }
            self.drop(leaves);
            slack = sign * p.slack(row, &self.x);
        }
    }

    /// Checks a Farkas certificate. Returns true if no point within `reach` of `x` satisfies the
    /// row and the working set, allowing for rounding of each row, and if the certificate excludes
    /// all other points up to rounding.
    ///
    /// With `a = Σ r_k a_k + e`, and `r_k ≤ 0` for rows that are not equalities, points that
    /// satisfy the working set have `a·y ≤ Σ r_k b_k + e·y` (Farkas). The comparison uses levels,
    /// because `x` may be far away. Many levels are differences of numbers as large as `size`, so
    /// they are accurate only relative to `size`. Without this allowance nodes that contain the
    /// optimum would be closed.
    fn contradicts(&mut self, p: &Program, sides: &[Side], wanted: Violated, reach: f64) -> bool {
        let Violated { row, sign, .. } = wanted;
        let size = max_abs(&self.x).max(self.size);
        let rest = &mut self.factors.step;
        rest.fill(0.0);
        let mut weight = 0.0;
        let mut add = |i: usize, factor: f64| {
            p.add_row(i, factor, rest);
            weight += factor.abs();
            (factor * p.rows.b[i], factor.abs() * (size + p.rows.b[i].abs()))
        };
        let (mut margin, mut terms) = add(row, sign);
        for (k, &i) in self.working.iter().enumerate() {
            let r = self.factors.r[k];
            // a factor that is positive by rounding proves nothing: count its row in the remainder
            if r < 0.0 || sides[i as usize] == Side::Equal {
                let (level, own) = add(i as usize, -r * self.sign[k]);
                margin += level;
                terms += own;
            }
        }
        let sum: f64 = rest.iter().map(|v| v.abs()).sum();
        max_abs(rest) <= PROOF * weight && margin > PROOF * terms + sum * (size + reach)
    }

    /// Longest dual step, and the index of the working row that blocks it. Ties are broken by the
    /// lowest row number.
    fn blocking(&self, sides: &[Side]) -> (f64, usize) {
        let zero = NO_MULTIPLIER * max_abs(&self.factors.r);
        let (mut t, mut leaves) = (f64::INFINITY, 0);
        for (k, (&r, &u)) in self.factors.r.iter().zip(&self.u).enumerate() {
            if r > zero && sides[self.working[k] as usize] != Side::Equal {
                let t_k = u.max(0.0) / r;
                if t_k < t || (t_k == t && self.working[k] < self.working[leaves]) {
                    (t, leaves) = (t_k, k);
                }
            }
        }
        (t, leaves)
    }

    /// Writes `d = sign Jᵀ a`; returns `|d₂|²` and `|d|²`.
    fn direction(&mut self, p: &Program, i: usize, sign: f64) -> (f64, f64) {
        let (from, a, sense) = p.rows.row(i);
        let lengths = self.factors.direction(from, a);
        if sense * sign < 0.0 {
            self.factors.d.iter_mut().for_each(|d| *d = -*d);
        }
        lengths
    }

    /// Adds the row whose `d` and `step` are known to the working set; `free` is `|d₂|²`.
    fn add(&mut self, row: usize, sign: f64, free: f64, u: f64) {
        self.factors.add(free);
        self.working.push(row as u32);
        self.sign.push(sign);
        self.u.push(u);
        self.passed[row] = true;
        if !std::mem::replace(&mut self.awake[row], true) && !self.far.is_empty() {
            self.near.push(row as u32);
        }
    }

    fn drop(&mut self, k: usize) {
        self.factors.drop(k);
        let row = self.working.remove(k);
        self.sign.remove(k);
        self.u.remove(k);
        self.passed[row as usize] = false;
    }

    /// Recomputes `x`, `u` and the cost with the working set as equalities, from the factors alone.
    fn equality_point(&mut self, p: &Program) {
        let level = |(&i, s): (&u32, &f64)| s * p.rows.b[i as usize];
        let levels = self.working.iter().zip(&self.sign).map(level);
        self.x.fill(0.0);
        self.u.clear();
        self.u.resize(self.working.len(), 0.0);
        self.factors.correct(-1.0, &self.g, levels.clone(), &mut self.x, &mut self.u);
        // (P + Δ) x + g = N u, so the cost is 1/2 (g·x + u·b)
        let pull: f64 = levels.zip(&self.u).map(|(level, u)| u * level).sum();
        self.value = 0.5 * (dot(&self.g, &self.x) + pull);
    }

    /// Drops rows with a multiplier of the wrong sign, then computes
    /// [`equality_point`](Self::equality_point).
    fn dual_feasible_point(&mut self, p: &Program, sides: &[Side]) {
        loop {
            self.equality_point(p);
            let zero = NO_MULTIPLIER * max_abs(&self.u);
            let before = self.working.len();
            for k in (0..before).rev() {
                if self.u[k] < -zero && sides[self.working[k] as usize] != Side::Equal {
                    self.pivots += 1;
                    p.budget.spend(p.pivot_work());
                    self.drop(k);
                }
            }
            if self.working.len() == before {
                return;
            }
        }
    }

    /// Whether no row is violated by more than a few times the rounding of its slack. Skipped rows
    /// are not tested.
    pub fn rows_hold(&self, p: &Program) -> bool {
        let size = max_abs(&self.x);
        let holds = |i| p.slack(i, &self.x) >= -HELD_ROUNDING * p.rounding(i, &self.x, size);
        (0..p.m()).filter(|&i| !self.passed[i]).all(holds)
    }

    /// Farkas certificate of [`End::Infeasible`]: rows with factors, which are ≥ 0 except of
    /// equalities.
    pub fn contradiction(&self, row: u32) -> impl Iterator<Item = (u32, f64)> {
        let working = self.working.iter().zip(&self.sign).zip(&self.factors.r);
        std::iter::once((row, 1.0)).chain(working.map(|((&i, sign), r)| (i, -r * sign)))
    }
}
