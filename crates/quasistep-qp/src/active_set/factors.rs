//! Factorisation of a working set, and the vectors of a pivot.
//!
//! ```text
//! J Jᵀ = H⁻¹        Jᵀ N = [R; 0]        N: the rows of the working set, as columns
//! ```
//!
//! | here   | paper | meaning                                                    |
//! |--------|-------|------------------------------------------------------------|
//! | `J`    | `J`   | `n × n`, columns `J₁` (one per working row) and `J₂`       |
//! | `R`    | `R`   | upper triangle                                             |
//! | `d`    | `d`   | `Jᵀ a` of the entering row                                 |
//! | `step` | `z`   | `J₂ d₂`, primal direction                                  |
//! | `r`    | `r`   | `R⁻¹ d₁`, the negative dual direction                      |
//!
//! D. Goldfarb and A. Idnani, "A numerically stable dual method for solving strictly convex
//! quadratic programs", Mathematical Programming 27 (1983) 1–33. A row enters by one Householder
//! reflection instead of the paper's sequence of Givens rotations. The factors are equal, with half
//! the arithmetic.

#![allow(non_snake_case)] // J and R follow the paper's notation

use super::kernels;
use quasistep_linalg::kernels::{dot, solve_lower_transposed, zeros};
use quasistep_linalg::simd::Isa;
use quasistep_linalg::simd::LANES;

#[derive(Debug, Default)]
pub(crate) struct ActiveFactors {
    isa: Isa,
    n: usize,
    /// Number of rows in the working set.
    q: usize,
    /// Distance between columns: `n` rounded up to whole lanes. Vectors over the variables are
    /// padded with zeros to this length.
    stride: usize,
    J: Vec<f64>,
    R: Vec<f64>,
    pub d: Vec<f64>,
    pub step: Vec<f64>,
    pub r: Vec<f64>,
    t: Vec<f64>,
    w: Vec<f64>,
}

/// `n` rounded up to whole lanes.
pub(crate) fn padded(n: usize) -> usize {
    n.next_multiple_of(LANES)
}

impl ActiveFactors {
    /// Starts with an empty working set for `H = L Lᵀ`, `L` from
    /// [`cholesky`](quasistep_linalg::kernels::cholesky).
    pub fn start(&mut self, n: usize, L: &[f64], first: &[u32]) {
        self.clear(n);
        for j in 0..n {
            let column = &mut self.J[j * self.stride..j * self.stride + n];
            column[j] = 1.0;
            solve_lower_transposed(L, n, first, j, column);
        }
    }

    fn clear(&mut self, n: usize) {
        (self.n, self.q, self.stride) = (n, 0, padded(n));
        zeros(&mut self.J, n * self.stride);
        zeros(&mut self.R, n * self.stride);
        self.make_room();
    }

    /// Allocates memory for `n` variables and any working set.
    pub fn reserve(&mut self, n: usize) {
        let stride = padded(n);
        let sizes = [n * stride, n * stride, stride, stride, stride, n + 1, n + 1];
        let all = [
            &mut self.J,
            &mut self.R,
            &mut self.d,
            &mut self.step,
            &mut self.t,
            &mut self.r,
            &mut self.w,
        ];
        for (v, size) in all.into_iter().zip(sizes) {
            v.reserve(size.saturating_sub(v.len()));
        }
    }

    fn make_room(&mut self) {
        for v in [&mut self.d, &mut self.step, &mut self.t] {
            zeros(v, self.stride);
        }
        // room for any working set, so that no pivot allocates
        for v in [&mut self.r, &mut self.w] {
            v.clear();
            v.reserve(self.n + 1);
        }
    }

    /// Copies the factors of another working set.
    pub fn copy_from(&mut self, other: &Self) {
        (self.n, self.q, self.stride) = (other.n, other.q, other.stride);
        self.J.clear();
        self.J.extend_from_slice(&other.J);
        // columns beyond the working set are written before they are read
        self.R.resize(self.n * self.stride, 0.0);
        let used = self.q * self.stride;
        self.R[..used].copy_from_slice(&other.R[..used]);
        self.make_room();
    }

    /// Writes `d = Jᵀ a`, where the row is `a` in the whole lanes from index `from` on and zero
    /// elsewhere. Returns `|d₂|²` and `|d|²`.
    pub fn direction(&mut self, from: usize, a: &[f64]) -> (f64, f64) {
        kernels::columns_times(self.isa, &self.J, self.stride, from, a, &mut self.d[..self.n]);
        let (d1, d2) = self.d[..self.n].split_at(self.q);
        let (bound, free) = (dot(d1, d1), dot(d2, d2));
        (free, free + bound)
    }

    /// Writes the primal direction `step = J₂ d₂`.
    pub fn primal_step(&mut self) {
        self.step.fill(0.0);
        let d2 = &self.d[self.q..self.n];
        kernels::add_columns(self.isa, &self.J, self.stride, self.q, d2, &mut self.step);
    }

    /// Writes the negative dual direction `r = R⁻¹ d₁`.
    pub fn solve_r(&mut self) {
        self.r.clear();
        self.r.extend_from_slice(&self.d[..self.q]);
        kernels::solve_upper(self.isa, &self.R, self.stride, &mut self.r);
    }

    /// Adds the row whose `d` and `step` are known to the working set; `free` is `|d₂|²`.
    pub fn add(&mut self, free: f64) {
        let (n, q, stride) = (self.n, self.q, self.stride);
        let d_q = self.d[q];
        // reflect d₂ onto its first entry, with the sign that avoids cancellation
        let alpha = if d_q > 0.0 { -free.sqrt() } else { free.sqrt() };
        let beta = free - alpha * d_q;
        if q + 1 < n && beta > 0.0 {
            // w = J₂ v with v = d₂ − alpha e₁
            let first = [-alpha];
            kernels::add_columns(self.isa, &self.J, stride, q, &first, &mut self.step);
            self.d[q] = d_q - alpha;
            let (d2, w) = (&self.d[q..n], &self.step);
            kernels::add_to_columns(self.isa, &mut self.J, stride, q, d2, -1.0 / beta, w);
            self.d[q] = alpha;
        }
        self.R[q * stride..=q * stride + q].copy_from_slice(&self.d[..=q]);
        self.q += 1;
    }

    /// Removes the `k`-th row from the working set.
    pub fn drop(&mut self, k: usize) {
        let (q, stride) = (self.q, self.stride);
        for j in k..q - 1 {
            // column j + 1 moves to j, with one entry below the diagonal
            self.R.copy_within((j + 1) * stride..(j + 1) * stride + j + 2, j * stride);
        }
        for j in k..q - 1 {
            let (a, b) = (self.R[j * stride + j], self.R[j * stride + j + 1]);
            let norm = (a * a + b * b).sqrt();
            if norm == 0.0 {
                continue;
            }
            let (c, s) = (a / norm, b / norm);
            for l in j..q - 1 {
                let (x, y) = (self.R[l * stride + j], self.R[l * stride + j + 1]);
                self.R[l * stride + j] = c * x + s * y;
                self.R[l * stride + j + 1] = c * y - s * x;
            }
            let (left, right) = self.J.split_at_mut((j + 1) * stride);
            kernels::rotate(self.isa, &mut left[j * stride..], &mut right[..stride], c, s);
        }
        self.q -= 1;
    }

    /// Moves `x` and `u` by the Newton step for the equality-constrained problem on the working
    /// set. It cancels the residuals `sign r_d` (of `−H x − g + Nᵀu`) and `r_p` (of `b − N x`).
    /// `r_d` has `n` entries or is padded.
    pub fn correct(
        &mut self,
        sign: f64,
        r_d: &[f64],
        r_p: impl Iterator<Item = f64>,
        x: &mut [f64],
        u: &mut [f64],
    ) {
        self.w.clear();
        self.w.extend(r_p);
        kernels::solve_upper_transposed(self.isa, &self.R, self.stride, &mut self.w);
        // t = Jᵀ r_d
        self.step.fill(0.0);
        self.step.iter_mut().zip(&r_d[..self.n]).for_each(|(s, r)| *s = sign * r);
        let (t, n) = (&mut self.t, self.n);
        kernels::columns_times(self.isa, &self.J, self.stride, 0, &self.step, &mut t[..n]);
        for ((d, w), t) in self.d.iter_mut().zip(&self.w).zip(&mut *t) {
            *d = w - *t;
            *t = *w;
        }
        // x += J [w; t₂]
        self.step.fill(0.0);
        kernels::add_columns(self.isa, &self.J, self.stride, 0, &t[..n], &mut self.step);
        x.iter_mut().zip(&self.step).for_each(|(x, s)| *x += s);
        self.solve_r();
        u.iter_mut().zip(&self.r).for_each(|(u, r)| *u += r);
    }
}
