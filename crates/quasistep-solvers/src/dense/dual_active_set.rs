//! Goldfarb and Idnani's dual active set on a strictly convex program in scaled variables.
//!
//! ```text
//! min 1/2 xᵀ H x + gᵀ x     s.t.  a_i·x ≥ b_i
//! ```
//!
//! Its letters are in `active_factors`; `u` are the multipliers of the working set, ≥ 0.
//!
//! Every row that enters with `d₂ ≠ 0` raises the dual cost, and only finitely many working sets
//! exist: the method cannot cycle, however degenerate the rows are. Rounding is met by a limit on
//! pivots, a fresh `x` from the factors before an answer is believed, and a threshold of
//! dependence.

#![allow(non_snake_case)] // J and R are the letters of the paper

use crate::Rows;
use crate::active_factors::ActiveFactors;
use crate::budget::Budget;
use crate::kernels::{axpy, cholesky, max_abs, zeros};

/// A warm row nearer to the span than this squared sine makes a poor start.
const WARM_DEPENDENT: f64 = 1e-12;

/// The same for rows that only touch: an error of their bound must not be magnified much.
const TOUCHING_DEPENDENT: f64 = 1e-4;

/// Violation, as a share of the row's own terms, that is taken for zero.
const FEASIBLE: f64 = 1e-13;

/// The same as a share of the largest variable, whose rounding reaches every row. Bodies at rest
/// beside moving ones need it this small.
const FEASIBLE_GLOBAL: f64 = 1e-15;

/// Violations below this share of the largest variable or the bound may be rounding.
const SMALL: f64 = 1e-12;

/// Rows may contradict each other by this share of the largest variable or their bound: digits
/// that measured or computed rows do not have. Such a row is passed over, but only ...
const NOISE: f64 = 1e-10;

/// ... if holding it takes multipliers this many times larger than all others.
const EXPENSIVE: f64 = 10.0;

/// Share of the largest multiplier that is taken for zero.
const NO_MULTIPLIER: f64 = 1e-13;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Solved,
    /// The row contradicts the working set; `r` holds the combination.
    Contradiction {
        row: usize,
    },
    /// Too many pivots, or too much work.
    Pivots,
}

#[derive(Debug, Default)]
pub(crate) struct ActiveSet {
    n: usize,
    pub factors: ActiveFactors,
    /// Row-major factor of `H`, scratch of [`factor`](Self::factor).
    L: Vec<f64>,
    pub working: Vec<u32>,
    pub u: Vec<f64>,
    pub x: Vec<f64>,
    /// Rows the search passes over: those of the working set, and those ignored.
    passed: Vec<bool>,
    keep: Vec<u32>,
    pub pivots: u32,
    pub max_pivots: u32,
    /// Squared sine of the angle to the span of the working set (in the metric of `H⁻¹`) below
    /// which a row depends on it. Rounding leaves about 1e-28, geometry of poor digits 1e-18.
    pub dependent: f64,
    pub budget: Budget,
}

impl ActiveSet {
    /// Starts a problem with an empty working set; `H` is `n × n` row-major with lower envelope
    /// `first`.
    ///
    /// # Errors
    ///
    /// The index of a pivot not above its `least`.
    pub fn factor(
        &mut self,
        n: usize,
        H: &[f64],
        first: &[u32],
        least: impl Fn(usize) -> f64,
        rows: usize,
    ) -> Result<(), usize> {
        self.budget.spend((n * n * (n + 1)) as u64 / 2);
        self.L.clear();
        self.L.extend_from_slice(H);
        cholesky(&mut self.L, n, first, least)?;
        self.factors.start(n, &self.L, first);
        self.start(n, rows);
        Ok(())
    }

    /// Starts a problem with `H = I`.
    pub fn factor_identity(&mut self, n: usize, rows: usize) {
        self.factors.start_identity(n);
        self.start(n, rows);
    }

    fn start(&mut self, n: usize, rows: usize) {
        self.n = n;
        self.working.clear();
        self.u.clear();
        self.passed.clear();
        self.passed.resize(rows, false);
        zeros(&mut self.x, n);
        // room for any working set, so that a pivot never allocates
        self.working.reserve(n);
        self.u.reserve(n + 1);
        self.keep.clear();
        self.keep.reserve(n);
    }

    /// Writes `d = Jᵀ a`; returns `|d₂|²` and `|d|²`.
    fn direction(&mut self, rows: &Rows, i: usize) -> (f64, f64) {
        let (columns, values) = rows.row(i);
        self.factors.sparse_direction(columns, values)
    }

    /// Appends the row whose `d` and `step` are known, with multiplier `u`.
    fn add(&mut self, row: usize, free: f64, u: f64) {
        self.factors.add(free);
        self.working.push(row as u32);
        self.u.push(u);
        self.passed[row] = true;
    }

    fn drop(&mut self, k: usize) {
        self.factors.drop(k);
        let row = self.working.remove(k);
        self.u.remove(k);
        self.passed[row as usize] = false;
    }

    /// Puts rows into the working set as far as they are independent; then the multipliers are
    /// unknown until the next solve.
    pub fn warm(&mut self, rows: &Rows, wanted: &[u32]) {
        for &row in wanted {
            let row = row as usize;
            if self.working.len() == self.n {
                break;
            }
            if row < self.passed.len() && !self.passed[row] {
                let (free, all) = self.direction(rows, row);
                if free > WARM_DEPENDENT * all {
                    self.factors.primal_step();
                    self.add(row, free, 0.0);
                }
            }
        }
    }

    /// No row is ignored any more.
    pub fn forgive(&mut self) {
        self.passed.fill(false);
        for &row in &self.working {
            self.passed[row as usize] = true;
        }
    }

    /// Lets the search pass over a row although it may be violated.
    pub fn ignore(&mut self, row: usize) {
        self.passed[row] = true;
    }

    /// Working set by value, to survive a new [`factor`](Self::factor).
    pub fn take_working(&mut self) -> Vec<u32> {
        self.keep.clear();
        self.keep.extend_from_slice(&self.working);
        std::mem::take(&mut self.keep)
    }

    /// Returns the memory of [`take_working`](Self::take_working).
    pub fn give_back(&mut self, working: Vec<u32>) {
        self.keep = working;
    }

    /// Moves `x` and `u` by the Newton step of the working set's equalities that cancels the
    /// residuals `r_d` (of `−H x − g + Nᵀu`) and `r_p` (of `b − N x`).
    pub fn correct(&mut self, r_d: &[f64], r_p: &[f64]) {
        self.factors.correct(r_d, r_p, &mut self.x, &mut self.u);
    }

    /// `x` and `u` of the working set taken as equalities, from the factors alone.
    fn equality_point(&mut self, g: &[f64], b: &[f64]) {
        let levels = self.working.iter().map(|&i| b[i as usize]);
        self.factors.equality_point(g, levels, &mut self.x, &mut self.u);
    }

    /// [`equality_point`](Self::equality_point), without the rows that pull.
    fn dual_feasible_point(&mut self, g: &[f64], b: &[f64]) {
        loop {
            self.equality_point(g, b);
            let zero = NO_MULTIPLIER * max_abs(&self.u);
            let before = self.working.len();
            for k in (0..before).rev() {
                if self.u[k] < -zero {
                    self.pivots += 1;
                    self.budget.spend(4 * (self.n * self.n) as u64);
                    self.drop(k);
                }
            }
            if self.working.len() == before {
                return;
            }
        }
    }

    /// The most violated row and its slack.
    fn most_violated(&self, rows: &Rows, b: &[f64], patience: f64) -> Option<(usize, f64)> {
        let global = patience * FEASIBLE_GLOBAL * max_abs(&self.x);
        let mut pick = None;
        let mut worst = -global;
        for i in 0..b.len() {
            if !self.passed[i] {
                let s = rows.dot(i, &self.x) - b[i];
                if s < worst && s < -global - patience * FEASIBLE * self.terms(rows, b, i) {
                    worst = s;
                    pick = Some((i, s));
                }
            }
        }
        pick
    }

    /// True if no row that is not ignored is violated by more than a few times the rounding of its
    /// slack.
    pub fn rows_hold(&self, rows: &Rows, b: &[f64]) -> bool {
        let global = 10.0 * FEASIBLE_GLOBAL * max_abs(&self.x);
        (0..b.len()).filter(|&i| !self.passed[i]).all(|i| {
            let s = rows.dot(i, &self.x) - b[i];
            // written so that NaN fails
            s >= 0.0 || s >= -global - 10.0 * FEASIBLE * self.terms(rows, b, i)
        })
    }

    /// `|b_i| + Σ |a_ij x_j|`: what rounding of the slack is measured against.
    fn terms(&self, rows: &Rows, b: &[f64], i: usize) -> f64 {
        let (columns, values) = rows.row(i);
        let sum: f64 =
            columns.iter().zip(values).map(|(&c, v)| (v * self.x[c as usize]).abs()).sum();
        b[i].abs() + sum
    }

    /// Solves for gradient `g` from the present working set.
    pub fn solve(&mut self, rows: &Rows, g: &[f64], b: &[f64]) -> Outcome {
        let force = max_abs(g);
        self.dual_feasible_point(g, b);
        let mut fresh = true;
        // rows that are equal but for rounding take turns: every 50 entries with a violation of
        // rounding's size double what counts as none
        let mut small_entries = 0;
        loop {
            let patience = f64::from(1u32 << (small_entries / 50).min(16));
            match self.most_violated(rows, b, patience) {
                None if fresh => return Outcome::Solved,
                None => {
                    // believe no answer that was only reached by adding up steps
                    self.dual_feasible_point(g, b);
                    fresh = true;
                    self.pivots += 1;
                }
                Some((row, slack)) => {
                    fresh = false;
                    if slack > -SMALL * (max_abs(&self.x) + b[row].abs()) {
                        small_entries += 1;
                    }
                    let outcome = self.enter(rows, b, row, slack, force);
                    if outcome != Outcome::Solved {
                        return outcome;
                    }
                }
            }
            let work = rows.entries() + (self.n * self.n) as u64;
            if self.pivots > self.max_pivots || !self.budget.spend(work) {
                return Outcome::Pivots;
            }
        }
    }

    /// Brings one violated row into the working set, dropping those that block it.
    fn enter(&mut self, rows: &Rows, b: &[f64], row: usize, mut slack: f64, force: f64) -> Outcome {
        let mut u_row = 0.0;
        loop {
            self.pivots += 1;
            if self.pivots > self.max_pivots || !self.budget.spend(4 * (self.n * self.n) as u64) {
                return Outcome::Pivots;
            }
            let (free, all) = self.direction(rows, row);
            self.factors.solve_r();
            let (t_dual, leaves) = self.blocking();
            let independent = self.working.len() < self.n && free > self.dependent * all;
            let t_primal = if independent { (-slack).max(0.0) / free } else { f64::INFINITY };
            let t = t_dual.min(t_primal);
            if t == f64::INFINITY {
                return Outcome::Contradiction { row };
            }
            let noise = NOISE * (max_abs(&self.x) + b[row].abs());
            if t > EXPENSIVE * force.max(max_abs(&self.u)) && slack > -noise {
                self.ignore(row);
                return Outcome::Solved;
            }
            axpy(-t, &self.factors.r, &mut self.u);
            u_row += t;
            if independent {
                self.factors.primal_step();
                axpy(t, &self.factors.step, &mut self.x);
            }
            if t_primal <= t_dual {
                self.add(row, free, u_row);
                return Outcome::Solved;
            }
            self.drop(leaves);
            slack = rows.dot(row, &self.x) - b[row];
        }
    }

    /// How far the dual can go, and the place of the row that stops it; ties go to the lowest row.
    fn blocking(&self) -> (f64, usize) {
        let zero = NO_MULTIPLIER * max_abs(&self.factors.r);
        let (mut t, mut leaves) = (f64::INFINITY, 0);
        for k in 0..self.working.len() {
            let r = self.factors.r[k];
            if r > zero {
                let t_k = self.u[k].max(0.0) / r;
                if t_k < t || (t_k == t && self.working[k] < self.working[leaves]) {
                    (t, leaves) = (t_k, k);
                }
            }
        }
        (t, leaves)
    }

    /// Fills the working set up with independent rows that have no slack at `x`, multiplier 0.
    pub fn add_touching(&mut self, rows: &Rows, b: &[f64]) {
        let global = FEASIBLE_GLOBAL * max_abs(&self.x);
        for row in 0..b.len() {
            if self.working.len() == self.n {
                return;
            }
            if !self.passed[row] {
                let slack = rows.dot(row, &self.x) - b[row];
                if slack <= global + FEASIBLE * self.terms(rows, b, row) {
                    let (free, all) = self.direction(rows, row);
                    if free > TOUCHING_DEPENDENT * all {
                        self.factors.primal_step();
                        self.add(row, free, 0.0);
                    }
                }
            }
        }
    }
}
