//! One node: Goldfarb and Idnani's dual active set on rows with sides.
//!
//! ```text
//! min 1/2 xᵀ(P + Δ)x + (c − Δ x̂)ᵀx     s.t.  a_i·x  ≥, ≤, = or free of  b_i
//! ```
//!
//! | here   | paper   | meaning                                                          |
//! |--------|---------|------------------------------------------------------------------|
//! | `J`    | `J`     | `n × n`, `J Jᵀ = (P + Δ)⁻¹`, columns `J₁` (working set) and `J₂` |
//! | `R`    | `R`     | upper triangle, `Jᵀ N = [R; 0]`, column `k` for `sign_k a_k`     |
//! | `d`    | `d`     | `Jᵀ a` of the entering row                                       |
//! | `step` | `z`     | `J₂ d₂`, primal direction                                        |
//! | `r`    | `r`     | `R⁻¹ d₁`, minus the dual direction                               |
//! | `u`    | `u`     | multipliers, ≥ 0 but for rows that must be equal                 |
//!
//! A child's rows demand more than its parent's, never less: the parent's working set and multipliers
//! stay dual feasible, and the child goes on from there. The cost only rises on the way, so a
//! node may be left as soon as its cost passes what is known: that cost is a lower bound.
//!
//! D. Goldfarb and A. Idnani, "A numerically stable dual method for solving strictly convex
//! quadratic programs", Mathematical Programming 27 (1983) 1–33.

#![allow(non_snake_case)] // J and R are the letters of the paper

use super::problem::Side;
use super::rows::Data;
use crate::kernels::{axpy, dot, max_abs, rotate, zeros};

/// Squared sine of the angle to the span of the working set, in the metric of the cost, below which a
/// row depends on it. Rounding leaves about 1e-28.
const DEPENDENT: f64 = 1e-18;

/// Violation of a unit row, as a share of its level and the largest variable, taken for zero.
const FEASIBLE: f64 = 1e-12;

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
    /// Too many pivots: nothing is known beyond [`Node::lower`] before the call.
    Pivots,
}

#[derive(Debug, Default)]
pub(crate) struct Node {
    n: usize,
    J: Vec<f64>,
    R: Vec<f64>,
    pub working: Vec<u32>,
    /// +1 where the row came in as `≥`, −1 as `≤`.
    sign: Vec<f64>,
    pub u: Vec<f64>,
    pub x: Vec<f64>,
    /// Rows of the working set, and those passed over.
    passed: Vec<bool>,
    any_passed_over: bool,
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
    d: Vec<f64>,
    pub r: Vec<f64>,
    step: Vec<f64>,
    t: Vec<f64>,
    w: Vec<f64>,
    pub pivots: u64,
}

impl Node {
    /// The unconstrained minimiser, with an empty working set.
    pub fn start(&mut self, p: &Data) {
        let n = p.n;
        self.n = n;
        self.J.clear();
        self.J.extend_from_slice(&p.J);
        zeros(&mut self.R, n * n);
        self.working.clear();
        self.sign.clear();
        self.u.clear();
        self.passed.clear();
        self.passed.resize(p.m, false);
        self.awake.clear();
        self.awake.resize(p.m, false);
        self.any_passed_over = false;
        self.size = 0.0;
        for v in [&mut self.x, &mut self.d, &mut self.step, &mut self.t, &mut self.center] {
            zeros(v, n);
        }
        // room for any working set, so that a pivot never allocates
        for v in [&mut self.w, &mut self.r, &mut self.u, &mut self.sign] {
            v.clear();
            v.reserve(n + 1);
        }
        self.working.reserve(n + 1);
        self.g.clear();
        self.g.extend_from_slice(&p.c);
        self.value = 0.0;
        self.equality_point(p);
    }

    /// Takes over another node's factors and point.
    pub fn copy_from(&mut self, other: &Self) {
        let (n, q) = (other.n, other.working.len());
        self.n = n;
        self.J.clear();
        self.J.extend_from_slice(&other.J);
        // columns beyond the working set are written before they are read
        self.R.resize(n * n, 0.0);
        self.R[..q * n].copy_from_slice(&other.R[..q * n]);
        for (to, from) in [
            (&mut self.sign, &other.sign),
            (&mut self.u, &other.u),
            (&mut self.x, &other.x),
            (&mut self.g, &other.g),
            (&mut self.center, &other.center),
        ] {
            to.clear();
            to.reserve(n + 1);
            to.extend_from_slice(from);
        }
        self.working.clear();
        self.working.reserve(n + 1);
        self.working.extend_from_slice(&other.working);
        self.passed.clear();
        self.passed.extend_from_slice(&other.passed);
        self.awake.clear();
        self.awake.extend_from_slice(&other.awake);
        self.any_passed_over = other.any_passed_over;
        self.value = other.value;
        self.size = other.size;
        self.d.resize(n, 0.0);
        self.step.resize(n, 0.0);
        self.t.resize(n, 0.0);
        for v in [&mut self.w, &mut self.r] {
            v.clear();
            v.reserve(n + 1);
        }
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

    /// A lower bound for a child that demands `sides`, from one dual step, which is not taken.
    pub fn peek(&mut self, p: &Data, sides: &[Side], reach: f64) -> f64 {
        let known = self.lower(p, reach);
        let Some((row, sign, slack)) = self.most_violated(p, sides) else { return known };
        let (free, all) = self.direction(p, row, sign);
        self.solve_r();
        let (t_dual, _) = self.blocking(sides);
        let independent = self.working.len() < self.n && free > DEPENDENT * all;
        let t = if independent { t_dual.min(-slack / free) } else { t_dual };
        if t == f64::INFINITY {
            return known;
        }
        let mut dual = self.value - t * slack - 0.5 * t * t * free;
        if p.singular {
            // as in `lower`, where the step leads
            self.primal_step();
            let mut doubt = 0.0;
            for i in 0..self.n {
                let center = self.center[i];
                let moved = self.x[i] + t * self.step[i] - center;
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
    ///
    /// `go_on` is true where `x` and `u` belong to the factors and all working rows keep their side:
    /// a child of the node whose copy this is.
    pub fn solve(
        &mut self,
        p: &Data,
        sides: &[Side],
        go_on: bool,
        cutoff: f64,
        reach: f64,
        max_pivots: u64,
    ) -> End {
        let last = self.pivots + max_pivots;
        let mut fresh = false;
        if !go_on {
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
        if !go_on {
            self.dual_feasible_point(p, sides);
            fresh = true;
        }
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
                Some((row, sign, slack)) => {
                    fresh = false;
                    if let Some(end) = self.enter(p, sides, row, sign, slack, last) {
                        return end;
                    }
                }
            }
            if self.pivots > last {
                return End::Pivots;
            }
        }
    }

    /// The most violated row, the side it is wanted on, and its slack towards that side, < 0.
    fn most_violated(&self, p: &Data, sides: &[Side]) -> Option<(usize, f64, f64)> {
        self.worst_of(p, sides, true).or_else(|| self.worst_of(p, sides, false))
    }

    fn worst_of(&self, p: &Data, sides: &[Side], awake: bool) -> Option<(usize, f64, f64)> {
        let global = FEASIBLE * max_abs(&self.x).max(self.size);
        let mut worst = 0.0;
        let mut pick = None;
        for (i, side) in sides.iter().enumerate() {
            if *side == Side::Free || self.passed[i] || self.awake[i] != awake {
                continue;
            }
            let s = p.slack(i, &self.x);
            let (sign, slack) = match side {
                Side::AtLeast => (1.0, s),
                Side::AtMost => (-1.0, -s),
                _ => (if s < 0.0 { 1.0 } else { -1.0 }, -s.abs()),
            };
            if slack < worst && slack < -global - FEASIBLE * p.b[i].abs() {
                worst = slack;
                pick = Some((i, sign, slack));
            }
        }
        pick
    }

    /// Brings one violated row into the working set, dropping those that block it.
    fn enter(
        &mut self,
        p: &Data,
        sides: &[Side],
        row: usize,
        sign: f64,
        mut slack: f64,
        last: u64,
    ) -> Option<End> {
        let mut u_row = 0.0;
        loop {
            self.pivots += 1;
            if self.pivots > last {
                return Some(End::Pivots);
            }
            let (free, all) = self.direction(p, row, sign);
            self.solve_r();
            let (t_dual, leaves) = self.blocking(sides);
            let independent = self.working.len() < self.n && free > DEPENDENT * all;
            let t_primal = if independent { (-slack).max(0.0) / free } else { f64::INFINITY };
            let t = t_dual.min(t_primal);
            let noise = NOISE * (max_abs(&self.x).max(self.size) + p.b[row].abs());
            let pointless = t > EXPENSIVE * max_abs(&self.g).max(max_abs(&self.u));
            if t == f64::INFINITY && self.contradicts(p, row, sign) {
                return Some(End::Infeasible { row: row as u32 });
            }
            if t == f64::INFINITY || pointless && slack > -noise {
                self.passed[row] = true;
                self.any_passed_over = true;
                return None;
            }
            axpy(-t, &self.r, &mut self.u);
            if independent {
                self.primal_step();
                axpy(t, &self.step, &mut self.x);
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

    /// True if a row that is the combination `r` of working rows wants more than they allow: by
    /// Farkas, and by more than rounding. Levels are compared, for `x` may be far off.
    fn contradicts(&self, p: &Data, row: usize, sign: f64) -> bool {
        let (mut margin, mut terms) = (sign * p.b[row], p.b[row].abs());
        for (k, &i) in self.working.iter().enumerate() {
            let level = self.r[k] * self.sign[k] * p.b[i as usize];
            margin -= level;
            terms += level.abs();
        }
        margin > NOISE * terms
    }

    /// How far the dual can go, and the place of the row that stops it; ties go to the lowest row.
    fn blocking(&self, sides: &[Side]) -> (f64, usize) {
        let zero = NO_MULTIPLIER * max_abs(&self.r);
        let (mut t, mut leaves) = (f64::INFINITY, 0);
        for k in 0..self.working.len() {
            if self.r[k] > zero && sides[self.working[k] as usize] != Side::Equal {
                let t_k = self.u[k].max(0.0) / self.r[k];
                if t_k < t || (t_k == t && self.working[k] < self.working[leaves]) {
                    (t, leaves) = (t_k, k);
                }
            }
        }
        (t, leaves)
    }

    /// Writes `d = sign Jᵀ a`; returns `|d₂|²` and `|d|²`.
    fn direction(&mut self, p: &Data, i: usize, sign: f64) -> (f64, f64) {
        let (n, q) = (self.n, self.working.len());
        let (columns, a) = p.row(i);
        for (j, d) in self.d.iter_mut().enumerate() {
            *d = sign * dot(a, &self.J[j * n + columns.start..j * n + columns.end]);
        }
        let bound = dot(&self.d[..q], &self.d[..q]);
        let free = dot(&self.d[q..], &self.d[q..]);
        (free, free + bound)
    }

    fn primal_step(&mut self) {
        let (n, q) = (self.n, self.working.len());
        self.step.fill(0.0);
        for j in q..n {
            if self.d[j] != 0.0 {
                axpy(self.d[j], &self.J[j * n..(j + 1) * n], &mut self.step);
            }
        }
    }

    /// `r = R⁻¹ v` for the first entries of `v = self.d`.
    fn solve_r(&mut self) {
        let (n, q) = (self.n, self.working.len());
        self.r.clear();
        self.r.extend_from_slice(&self.d[..q]);
        for k in (0..q).rev() {
            let value = self.r[k] / self.R[k * n + k];
            self.r[k] = value;
            axpy(-value, &self.R[k * n..k * n + k], &mut self.r[..k]);
        }
    }

    /// Appends the row whose `d` and `step` are known by one Householder reflection.
    fn add(&mut self, row: usize, sign: f64, free: f64, u: f64) {
        let (n, q) = (self.n, self.working.len());
        let d_q = self.d[q];
        // reflect d₂ onto its first entry, with the sign that avoids cancellation
        let alpha = if d_q > 0.0 { -free.sqrt() } else { free.sqrt() };
        let beta = free - alpha * d_q;
        if q + 1 < n && beta > 0.0 {
            // w = J₂ v with v = d₂ − alpha e₁
            axpy(-alpha, &self.J[q * n..(q + 1) * n], &mut self.step);
            self.d[q] = d_q - alpha;
            for j in q..n {
                if self.d[j] != 0.0 {
                    axpy(-self.d[j] / beta, &self.step, &mut self.J[j * n..(j + 1) * n]);
                }
            }
            self.d[q] = alpha;
        }
        self.R[q * n..=q * n + q].copy_from_slice(&self.d[..=q]);
        self.working.push(row as u32);
        self.sign.push(sign);
        self.u.push(u);
        self.passed[row] = true;
        self.awake[row] = true;
    }

    fn drop(&mut self, k: usize) {
        let (n, q) = (self.n, self.working.len());
        let row = self.working.remove(k);
        self.sign.remove(k);
        self.u.remove(k);
        self.passed[row as usize] = false;
        for j in k..q - 1 {
            // column j + 1 moves to j and has one entry below the diagonal
            self.R.copy_within((j + 1) * n..(j + 1) * n + j + 2, j * n);
        }
        for j in k..q - 1 {
            let (a, b) = (self.R[j * n + j], self.R[j * n + j + 1]);
            let norm = (a * a + b * b).sqrt();
            if norm == 0.0 {
                continue;
            }
            let (c, s) = (a / norm, b / norm);
            for l in j..q - 1 {
                let (x, y) = (self.R[l * n + j], self.R[l * n + j + 1]);
                self.R[l * n + j] = c * x + s * y;
                self.R[l * n + j + 1] = c * y - s * x;
            }
            let (left, right) = self.J.split_at_mut((j + 1) * n);
            rotate(&mut left[j * n..], &mut right[..n], c, s);
        }
    }

    /// `x`, `u` and the cost of the working set taken as equalities, from the factors alone.
    fn equality_point(&mut self, p: &Data) {
        let (n, q) = (self.n, self.working.len());
        for j in 0..n {
            self.t[j] = dot(&self.J[j * n..(j + 1) * n], &self.g);
        }
        // w = R⁻ᵀ b
        self.w.clear();
        self.w.extend(self.working.iter().zip(&self.sign).map(|(&i, s)| s * p.b[i as usize]));
        for k in 0..q {
            let sum = self.w[k] - dot(&self.R[k * n..k * n + k], &self.w[..k]);
            self.w[k] = sum / self.R[k * n + k];
        }
        self.x.fill(0.0);
        for j in 0..n {
            let s = if j < q { self.w[j] } else { -self.t[j] };
            axpy(s, &self.J[j * n..(j + 1) * n], &mut self.x);
        }
        for k in 0..q {
            self.d[k] = self.w[k] + self.t[k];
        }
        self.solve_r();
        self.u.clear();
        self.u.extend_from_slice(&self.r);
        // (P + Δ) x + g = N u, so the cost is 1/2 (g·x + u·b)
        let rows = self.working.iter().zip(&self.sign).zip(&self.u);
        let pull: f64 = rows.map(|((&i, s), u)| s * u * p.b[i as usize]).sum();
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
