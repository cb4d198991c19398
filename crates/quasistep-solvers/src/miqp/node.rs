//! One node: Goldfarb and Idnani's dual active set on rows with sides.
//!
//! ```text
//! min 1/2 xᵀ(P + Δ)x + (c − Δ x̂)ᵀx     s.t.  a_i·x  ≥, ≤, = or free of  b_i
//! ```
//!
//! Its letters are in `active_factors`; `u` are the multipliers, ≥ 0 but for rows that must be equal.
//!
//! A child's rows demand more than its parent's, never less: the parent's working set and multipliers
//! stay dual feasible, and the child goes on from there. The cost only rises on the way, so a
//! node may be left as soon as its cost passes what is known: that cost is a lower bound.

#![allow(non_snake_case)] // J and R are the letters of the paper

use super::problem::Side;
use super::rows::{Data, FEASIBLE, Violated, worst};
use crate::active_factors::{ActiveFactors, padded};
use crate::kernels::{axpy, dot, max_abs, zeros};

/// Squared sine of the angle to the span of the working set, in the metric of the cost, below which a
/// row depends on it. Rounding leaves about 1e-28.
const DEPENDENT: f64 = 1e-18;

/// Rows that contradict each other by less than this share do so by rounding: one is passed over,
/// which can only lower the cost.
const NOISE: f64 = 1e-9;

/// ... also when holding the row would take multipliers so many times larger than all others.
const EXPENSIVE: f64 = 1e4;

/// Share of the largest multiplier taken for zero.
const NO_MULTIPLIER: f64 = 1e-13;

/// How a node ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// `x` is the minimiser.
    Solved,
    /// The cost passed the cutoff; [`Node::lower`] is a lower bound all the same.
    Cut,
    /// A row contradicts the working set; `r` holds the combination.
    Infeasible { row: u32 },
    /// Too many pivots, or too much work: nothing is known beyond [`Node::lower`] before the call.
    Pivots,
}

/// Where a node begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// From the factors at hand, without the rows that pull.
    Anew,
    /// As its parent's copy: `x` and `u` belong to the factors, and all working rows keep their side.
    Child,
    /// The same, for the bound alone.
    Trial,
}

#[derive(Debug, Default)]
pub(crate) struct Node {
    n: usize,
    pub factors: ActiveFactors,
    pub working: Vec<u32>,
    /// +1 where the row came in as `≥`, −1 as `≤`.
    sign: Vec<f64>,
    pub u: Vec<f64>,
    pub x: Vec<f64>,
    /// Rows of the working set, and those passed over.
    passed: Vec<bool>,
    pub any_passed_over: bool,
    /// Rows that have been in a working set on the way here: the others are looked at only when none
    /// of these is violated.
    awake: Vec<bool>,
    /// Largest variable of any minimiser on the way here: what rounding is measured against. The
    /// present point may be 0.
    pub size: f64,
    /// Cost with the proximal term at `x`, a dual value.
    value: f64,
    /// `c − Δ x̂`.
    g: Vec<f64>,
    center: Vec<f64>,
    /// Rows with a demand that are awake, and those that were not when the solve began.
    near: Vec<u32>,
    far: Vec<u32>,
    pub pivots: u64,
    /// The last solve ended with a minimiser.
    pub ended: bool,
}

impl Node {
    /// The unconstrained minimiser, with an empty working set.
    pub fn start(&mut self, p: &Data) {
        let n = p.n;
        self.n = n;
        self.factors.start(n, &p.L, &p.first);
        self.working.clear();
        self.sign.clear();
        self.u.clear();
        self.passed.clear();
        self.passed.resize(p.m, false);
        self.awake.clear();
        self.awake.resize(p.m, false);
        self.any_passed_over = false;
        self.size = 0.0;
        for v in [&mut self.x, &mut self.center] {
            zeros(v, padded(n));
        }
        self.make_room(p.m);
        self.g.clear();
        self.g.extend_from_slice(&p.c);
        self.value = 0.0;
        self.equality_point(p);
    }

    /// Memory for a problem of this size, so that it does not matter which node a search takes for what.
    pub fn reserve(&mut self, p: &Data) {
        let (n, m) = (p.n, p.m);
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

    /// Room for any working set, so that a pivot never allocates.
    fn make_room(&mut self, m: usize) {
        for v in [&mut self.u, &mut self.sign] {
            v.reserve((self.n + 1).saturating_sub(v.len()));
        }
        for (v, most) in [(&mut self.working, self.n + 1), (&mut self.near, m), (&mut self.far, m)]
        {
            v.reserve(most.saturating_sub(v.len()));
        }
    }

    /// Takes over another node's factors and point.
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
        self.make_room(other.passed.len());
    }

    /// A lower bound of the cost without the proximal term over all points of this node that are
    /// no further than `reach` from `x`, in every variable that has a proximal term.
    ///
    /// With `g` the gradient of the cost, `g + Δ(x − x̂) = Nᵀu`; so for every feasible `y`,
    /// `cost(y) ≥ cost(x) + g·(y − x) ≥ cost(x) − Σ δ_i |x_i − x̂_i| reach`.
    pub fn lower(&self, p: &Data, reach: f64) -> f64 {
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

    /// A lower bound for a child that demands `sides`, more than this node on `rows` alone, from one dual step, which is
    /// not taken.
    pub fn peek(&mut self, p: &Data, sides: &[Side], rows: &[u32], reach: f64) -> f64 {
        let known = self.lower(p, reach);
        self.near.clear();
        self.far.clear();
        self.near.extend(rows.iter().filter(|&&i| sides[i as usize] != Side::Free));
        let Some(Violated { row, sign, slack }) = self.most_violated(p, sides) else {
            return known;
        };
        let (free, all) = self.direction(p, row, sign);
        self.factors.solve_r();
        let (t_dual, _) = self.blocking(sides);
        let independent = self.working.len() < self.n && free > DEPENDENT * all;
        let t = if independent { t_dual.min(-slack / free) } else { t_dual };
        if t == f64::INFINITY {
            return known;
        }
        let mut dual = self.value - t * slack - 0.5 * t * t * free;
        if p.singular {
            // as in `lower`, where the step leads
            self.factors.primal_step();
            let mut doubt = 0.0;
            for i in 0..self.n {
                let center = self.center[i];
                let moved = self.x[i] + t * self.factors.step[i] - center;
                dual += 0.5 * p.delta[i] * (center * center - moved * moved);
                doubt += p.delta[i] * moved.abs();
            }
            dual -= reach * doubt;
        }
        known.max(dual)
    }

    /// Moves the proximal centre to `x`.
    pub fn recenter(&mut self, p: &Data) {
        self.center.copy_from_slice(&self.x);
        for i in 0..self.n {
            self.g[i] = p.c[i] - p.delta[i] * self.center[i];
        }
    }

    /// How hard a row pulls at `x` against `side`: its multiplier where that side would let go.
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

    /// Solves for `sides`, from the factors at hand.
    pub fn solve(
        &mut self,
        p: &Data,
        sides: &[Side],
        begin: Begin,
        cutoff: f64,
        reach: f64,
        max_pivots: u64,
    ) -> End {
        let end = self.pivot_to_end(p, sides, begin, cutoff, reach, max_pivots);
        self.ended = end == End::Solved;
        end
    }

    fn pivot_to_end(
        &mut self,
        p: &Data,
        sides: &[Side],
        begin: Begin,
        cutoff: f64,
        reach: f64,
        max_pivots: u64,
    ) -> End {
        let last = self.pivots + max_pivots;
        let work = p.pivot_work();
        // a bound needs no better point than one reached by adding up steps
        let bound_only = begin == Begin::Trial;
        let mut fresh = bound_only;
        if begin == Begin::Anew {
            for k in (0..self.working.len()).rev() {
                if !allowed(sides[self.working[k] as usize], self.sign[k]) {
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
        self.list_rows(sides);
        loop {
            if self.value > cutoff && self.lower(p, reach) > cutoff {
                return End::Cut;
            }
            match self.most_violated(p, sides) {
                None if fresh => {
                    self.size = self.size.max(max_abs(&self.x));
                    return End::Solved;
                }
                None => {
                    // believe no answer that was only reached by adding up steps
                    self.dual_feasible_point(p, sides);
                    fresh = true;
                }
                Some(wanted) => {
                    fresh = bound_only;
                    if let Some(end) = self.enter(p, sides, wanted, reach, last) {
                        return end;
                    }
                }
            }
            if self.pivots > last || !p.budget.spend(work) {
                return End::Pivots;
            }
        }
    }

    /// Sorts the rows with a demand by whether they are awake.
    fn list_rows(&mut self, sides: &[Side]) {
        self.near.clear();
        self.far.clear();
        for (i, (side, awake)) in sides.iter().zip(&self.awake).enumerate() {
            if *side != Side::Free {
                if *awake { &mut self.near } else { &mut self.far }.push(i as u32);
            }
        }
    }

    /// The most violated row of those listed, awake ones first.
    fn most_violated(&self, p: &Data, sides: &[Side]) -> Option<Violated> {
        let least = FEASIBLE * max_abs(&self.x).max(self.size);
        [&self.near, &self.far]
            .into_iter()
            .find_map(|list| worst(p.isa, &p.rows, sides, list, &self.passed, &self.x, least))
    }

    /// Brings one violated row into the working set, dropping those that block it.
    fn enter(
        &mut self,
        p: &Data,
        sides: &[Side],
        wanted: Violated,
        reach: f64,
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
            let independent = self.working.len() < self.n && free > DEPENDENT * all;
            let t_primal = if independent { (-slack).max(0.0) / free } else { f64::INFINITY };
            let t = t_dual.min(t_primal);
            let noise = NOISE * (max_abs(&self.x).max(self.size) + p.rows.b[row].abs());
            let pointless = t > EXPENSIVE * max_abs(&self.g).max(max_abs(&self.u));
            if t == f64::INFINITY && self.contradicts(p, sides, wanted, reach) {
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

    /// True if no point within `reach` of `x` gives a row all it wants while the working rows hold, though each of
    /// them is off by what counts as rounding.
    ///
    /// With `a = Σ r_k a_k + e`, and `r_k ≤ 0` where a row is not an equality, points that hold the working rows have
    /// `a·y ≤ Σ r_k b_k + e·y` (Farkas). Levels are compared, for `x` may be far off. Many of them
    /// are differences of numbers as large as the point is, so 0 is only as good as `size` lets it be; taken
    /// at its word it closes nodes that hold the best answer.
    fn contradicts(&mut self, p: &Data, sides: &[Side], wanted: Violated, reach: f64) -> bool {
        let Violated { row, sign, .. } = wanted;
        let size = max_abs(&self.x).max(self.size);
        let rest = &mut self.factors.step;
        rest.fill(0.0);
        let mut add = |i: usize, factor: f64| {
            let (from, a, sense) = p.rows.row(i);
            axpy(sense * factor, a, &mut rest[from..from + a.len()]);
            (factor * p.rows.b[i], factor.abs() * (size + p.rows.b[i].abs()))
        };
        let (mut margin, mut terms) = add(row, sign);
        for (k, &i) in self.working.iter().enumerate() {
            let r = self.factors.r[k];
            // what is positive by rounding proves nothing, and is left to the rest
            if r < 0.0 || sides[i as usize] == Side::Equal {
                let (level, own) = add(i as usize, -r * self.sign[k]);
                margin += level;
                terms += own;
            }
        }
        let rest: f64 = self.factors.step.iter().map(|v| v.abs()).sum();
        margin > NOISE * terms + rest * (size + reach)
    }

    /// How far the dual can go, and the place of the row that stops it; ties go to the lowest row.
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
    fn direction(&mut self, p: &Data, i: usize, sign: f64) -> (f64, f64) {
        let (from, a, sense) = p.rows.row(i);
        let lengths = self.factors.direction(from, a);
        if sense * sign < 0.0 {
            self.factors.d.iter_mut().for_each(|d| *d = -*d);
        }
        lengths
    }

    /// Appends the row whose `d` and `step` are known.
    fn add(&mut self, row: usize, sign: f64, free: f64, u: f64) {
        self.factors.add(free);
        self.working.push(row as u32);
        self.sign.push(sign);
        self.u.push(u);
        self.passed[row] = true;
        if !std::mem::replace(&mut self.awake[row], true) {
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

    /// `x`, `u` and the cost of the working set taken as equalities, from the factors alone.
    fn equality_point(&mut self, p: &Data) {
        let level = |(&i, s): (&u32, &f64)| s * p.rows.b[i as usize];
        let levels = self.working.iter().zip(&self.sign).map(level);
        self.factors.equality_point(&self.g, levels.clone(), &mut self.x, &mut self.u);
        // (P + Δ) x + g = N u, so the cost is 1/2 (g·x + u·b)
        let pull: f64 = levels.zip(&self.u).map(|(level, u)| u * level).sum();
        self.value = 0.5 * (dot(&self.g, &self.x) + pull);
    }

    /// [`equality_point`](Self::equality_point), without the rows that pull.
    fn dual_feasible_point(&mut self, p: &Data, sides: &[Side]) {
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
}

/// True if a row that came in with this sign may stay.
fn allowed(side: Side, sign: f64) -> bool {
    if sign > 0.0 { side.below_forbidden() } else { side.above_forbidden() }
}
