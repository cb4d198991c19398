//! Smallest-norm multipliers: among all optimal multipliers those of smallest Euclidean norm.
//!
//! ```text
//! min 1/2 |z|²   s.t.   Bᵀ z = g,  z ≥ 0            B: the rows with zero slack
//! ⇔   z = max(0, B y),   Bᵀ max(0, B y) = g         y: the dual variables
//! ```
//!
//! `Bᵀ max(0, B y) − g` is the gradient of the convex, piecewise quadratic `phi(y) = 1/2 |max(0, B
//! y)|² − gᵀy`. Newton's method with an exact line search minimises it in finitely many steps. The
//! result `z` does not depend on the starting point. A small residual proves the result: `z` is
//! then *exactly* the smallest of all `z ≥ 0` with its own `Bᵀz`.
//!
//! The piecewise quadratic and its finite Newton method: O. L. Mangasarian, "A finite Newton method
//! for classification", Optimization Methods and Software 17 (2002) 913–929.

#![allow(non_snake_case)] // B, D, F, M are the letters of this page

use crate::tolerances::{
    EXACT_SOLVE_FIRST, EXACT_SOLVE_LEAST, EXACT_SOLVE_NEXT, FLAT, NEARLY_PUSHING, NO_MULTIPLIER,
    RIDGE_PIVOT, RIDGES, RIDGES_OF_POLISH, VERIFIED,
};
use quasistep_linalg::Rows;
use quasistep_linalg::budget::{Budget, DENSE};
use quasistep_linalg::kernels::{
    cholesky, dot, max_abs, solve_lower, solve_lower_transposed, zeros,
};

#[derive(Debug, Default)]
pub(crate) struct SmallestNorm {
    /// Rows with zero slack, ascending; set by the caller.
    pub rows: Vec<u32>,
    /// Rows with zero slack, with columns scaled by `D`.
    B: Rows,
    D: Vec<f64>,
    g: Vec<f64>,
    F: Vec<f64>,
    y: Vec<f64>,
    /// `y` before the exact solve.
    saved: Vec<f64>,
    By: Vec<f64>,
    step: Vec<f64>,
    Bs: Vec<f64>,
    M: Vec<f64>,
    first: Vec<u32>,
    pushes: Vec<bool>,
    pub budget: Budget,
    breaks: Vec<(f64, u32)>,
}

impl SmallestNorm {
    /// Replaces the multipliers `z` of the rows in `self.rows` by those of smallest norm with the
    /// same resultant `Aᵀz`, a vector over `n` variables. Returns false, with `z` unchanged, if
    /// that fails.
    pub fn project(&mut self, n: usize, A: &Rows, z: &mut [f64]) -> bool {
        self.prepare(n, A, z);
        let largest = max_abs(&self.g);
        if largest == 0.0 {
            for &i in &self.rows {
                z[i as usize] = 0.0;
            }
            return true;
        }
        // smaller ridges are for rows of very different size
        if RIDGES.iter().any(|ridge| self.newton(n, *ridge, largest)) {
            for (k, &i) in self.rows.iter().enumerate() {
                z[i as usize] = self.By[k].max(0.0);
            }
            return true;
        }
        false
    }

    /// Newton's method from `y = 0`; returns whether the result is verified.
    fn newton(&mut self, n: usize, ridge: f64, largest: f64) -> bool {
        self.y.fill(0.0);
        self.By.fill(0.0);
        self.pushes.fill(true);
        self.F.copy_from_slice(&self.g);
        let mut near = EXACT_SOLVE_FIRST;
        for _ in 0..40 {
            if !self.factor(n, ridge) {
                return false;
            }
            self.newton_step(n);
            for k in 0..self.rows.len() {
                self.Bs[k] = self.B.dot(k, &self.step);
            }
            let t = self.line_search();
            for (y, s) in self.y.iter_mut().zip(&self.step) {
                *y += t * s;
            }
            self.evaluate();
            if max_abs(&self.F) <= near * largest {
                self.saved.clone_from(&self.y);
                if self.polish(n, ridge) && max_abs(&self.F) <= VERIFIED * largest {
                    return true;
                }
                // too early for the exact solve: converge further first
                near *= EXACT_SOLVE_NEXT;
                if near < EXACT_SOLVE_LEAST {
                    return false;
                }
                self.y.clone_from(&self.saved);
                self.evaluate();
            }
        }
        false
    }

    /// `step = M⁻¹ F`.
    fn newton_step(&mut self, n: usize) {
        self.step.clear();
        self.step.extend_from_slice(&self.F);
        solve_lower(&self.M, n, &self.first, &mut self.step);
        solve_lower_transposed(&self.M, n, &self.first, n - 1, &mut self.step);
    }

    /// Solves `Bᵀ B y = g` exactly over the rows with positive or nearly zero force, dropping rows
    /// whose force becomes negative. Writes the forces to `By`, zeros elsewhere, and the residual
    /// to `F`.
    fn polish(&mut self, n: usize, ridge: f64) -> bool {
        let top = self.By.iter().fold(0.0_f64, |m, v| m.max(*v));
        for (pushes, v) in self.pushes.iter_mut().zip(&self.By) {
            *pushes = *v > -NEARLY_PUSHING * top;
        }
        for _ in 0..30 {
            // null directions of these rows do not affect By: a small ridge does no harm
            if !RIDGES_OF_POLISH.iter().any(|f| self.factor(n, f * ridge)) {
                return false;
            }
            self.y.fill(0.0);
            self.F.copy_from_slice(&self.g);
            let mut last = f64::INFINITY;
            for _ in 0..8 {
                self.newton_step(n);
                for (y, s) in self.y.iter_mut().zip(&self.step) {
                    *y += s;
                }
                self.F.copy_from_slice(&self.g);
                for k in 0..self.rows.len() {
                    self.By[k] = 0.0;
                    if self.pushes[k] {
                        let v = self.B.dot(k, &self.y);
                        self.By[k] = v;
                        self.B.add_to(k, -v, &mut self.F);
                    }
                }
                let error = max_abs(&self.F);
                if !(error <= 0.5 * last) {
                    break;
                }
                last = error;
            }
            let mut pulls = false;
            for k in 0..self.rows.len() {
                if self.pushes[k] && self.By[k] < -NO_MULTIPLIER * top {
                    self.pushes[k] = false;
                    pulls = true;
                }
            }
            if !pulls {
                self.F.copy_from_slice(&self.g);
                for k in 0..self.rows.len() {
                    if self.By[k] > 0.0 {
                        self.B.add_to(k, -self.By[k], &mut self.F);
                    }
                }
                return true;
            }
        }
        false
    }

    /// Computes scaled rows, resultant and envelope of `M`. Starts at `y = 0` with all rows active.
    fn prepare(&mut self, n: usize, A: &Rows, z: &[f64]) {
        zeros(&mut self.D, n);
        zeros(&mut self.g, n);
        zeros(&mut self.y, n);
        self.first.clear();
        self.first.extend(0..n as u32);
        for &i in &self.rows {
            let (columns, values) = A.row(i as usize);
            let least = columns.iter().copied().min().unwrap_or(0);
            for (&c, v) in columns.iter().zip(values) {
                self.D[c as usize] += v * v;
                self.first[c as usize] = self.first[c as usize].min(least);
            }
            A.add_to(i as usize, z[i as usize], &mut self.g);
        }
        for (D, g) in self.D.iter_mut().zip(&mut self.g) {
            *D = if *D > 0.0 { 1.0 / D.sqrt() } else { 0.0 };
            *g *= *D;
        }
        self.B.clear();
        self.B.reserve_like(A);
        for &i in &self.rows {
            let (columns, values) = A.row(i as usize);
            self.B.push_scaled(columns, values, |c| self.D[c as usize]);
        }
        let m = self.rows.len();
        // reserve for any choice of rows, so that a later solve of this size allocates nothing
        for v in [&mut self.By, &mut self.Bs] {
            v.clear();
            v.reserve(A.len());
            v.resize(m, 0.0);
        }
        self.breaks.clear();
        self.breaks.reserve(A.len());
        self.pushes.clear();
        self.pushes.reserve(A.len());
        self.pushes.resize(m, true);
        self.saved.clear();
        self.saved.extend_from_slice(&self.y);
        self.step.clear();
        self.step.extend_from_slice(&self.y);
        self.F.clear();
        self.F.extend_from_slice(&self.g);
    }

    /// Factorises `M = Σ B_k B_kᵀ + ridge I` over the rows with positive force.
    fn factor(&mut self, n: usize, ridge: f64) -> bool {
        if !self.budget.spend(DENSE * (n * n * n) as u64 / 6 + self.B.entries()) {
            return false;
        }
        zeros(&mut self.M, n * n);
        for k in (0..self.rows.len()).filter(|&k| self.pushes[k]) {
            let (columns, values) = self.B.row(k);
            for (&c, v) in columns.iter().zip(values) {
                let row = &mut self.M[c as usize * n..=c as usize * (n + 1)];
                for (&l, w) in columns.iter().zip(values) {
                    if l <= c {
                        row[l as usize] += v * w;
                    }
                }
            }
        }
        for i in 0..n {
            self.M[i * (n + 1)] += ridge;
        }
        cholesky(&mut self.M, n, &self.first, |_, pivot| {
            (pivot > RIDGE_PIVOT * ridge).then_some(pivot)
        })
        .is_ok()
    }

    /// Computes `B y`, the rows with positive force, and the residual `F = g − Bᵀ max(0, B y)`.
    fn evaluate(&mut self) {
        self.F.copy_from_slice(&self.g);
        for k in 0..self.rows.len() {
            let v = self.B.dot(k, &self.y);
            self.By[k] = v;
            self.pushes[k] = v > 0.0;
            if v > 0.0 {
                self.B.add_to(k, -v, &mut self.F);
            }
        }
    }

    /// Slope of `phi` at `y + t step`.
    fn slope(&self, t: f64, down: f64) -> f64 {
        let mut sum = -down;
        for (y, s) in self.By.iter().zip(&self.Bs) {
            let v = y + t * s;
            if v > 0.0 {
                sum += v * s;
            }
        }
        sum
    }

    /// The `t > 0` at which `phi` is least along `step`.
    fn line_search(&mut self) -> f64 {
        let down = dot(&self.g, &self.step);
        let start = self.slope(0.0, down);
        if start >= 0.0 {
            // rounding: take a full step; the residual decides later
            return 1.0;
        }
        if self.slope(1.0, down).abs() <= FLAT * start.abs() {
            return 1.0;
        }
        // the slope increases, and is linear between breakpoints where the force of a row changes
        // its sign
        self.breaks.clear();
        for (k, (y, s)) in self.By.iter().zip(&self.Bs).enumerate() {
            let t = -y / s;
            if t > 0.0 && t.is_finite() {
                self.breaks.push((t, k as u32));
            }
        }
        self.breaks.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (mut low, mut high) = (0, self.breaks.len());
        // first breakpoint with a nonnegative slope
        while low < high {
            let middle = low.midpoint(high);
            if self.slope(self.breaks[middle].0, down) < 0.0 {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let t0 = if low == 0 { 0.0 } else { self.breaks[low - 1].0 };
        let s0 = if low == 0 { start } else { self.slope(t0, down) };
        let t1 = self.breaks.get(low).map_or(2.0 * t0 + 1.0, |b| b.0);
        let s1 = self.slope(t1, down);
        if s1 > s0 { t0 - s0 * (t1 - t0) / (s1 - s0) } else { t1 }
    }
}
