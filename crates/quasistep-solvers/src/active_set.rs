//! Goldfarb & Idnani's dual active set (1983) on a strictly convex program, in scaled variables.
//!
//! ```text
//! min 1/2 xᵀ H x + gᵀ x   s.t.  a_i·x ≥ b_i,      H = P + rho I
//! ```
//!
//! `J Jᵀ = H⁻¹` and `Jᵀ N = [R; 0]` for the rows `N` of the working set, kept by Givens rotations.
//! Starting from the minimiser over the working set as equalities, with multipliers `u ≥ 0`, the most
//! violated row enters while rows whose multiplier would turn negative leave.

use crate::dense::{axpy, cholesky, dot, largest, rotate_columns};
use crate::rows::Rows;

/// Squared sine of the angle to the working set's span below which a row depends on it.
const DEPENDENT: f64 = 1e-18;

/// A pivot of the Cholesky factor below this share of its diagonal entry is no curvature but rounding.
const DEFINITE: f64 = 1e-12;
/// A row enters the warm working set only with at least this squared sine: near dependence costs
/// digits, and the row can still enter later if it must.
const WARM_INDEPENDENT: f64 = 1e-8;

/// How a solve over the rows ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    Solved,
    /// This row contradicts the working set; [`ActiveSet::contradiction`] has the multipliers.
    Infeasible {
        row: u32,
    },
    GaveUp,
}

#[derive(Debug, Default)]
pub(crate) struct ActiveSet {
    n: usize,
    /// Column-major `n × n`.
    J: Vec<f64>,
    /// Upper triangle, column-major `n × n`; the working set's columns.
    R: Vec<f64>,
    pub working: Vec<u32>,
    pub u: Vec<f64>,
    pub x: Vec<f64>,
    in_working: Vec<bool>,
    /// `Jᵀ a` of the row at hand.
    d: Vec<f64>,
    r: Vec<f64>,
    z: Vec<f64>,
    t: Vec<f64>,
    w: Vec<f64>,
    pub pivots: u32,
}

impl ActiveSet {
    /// Factors `H` (row-major, overwritten); false if it is not positive definite.
    pub fn factor(&mut self, n: usize, H: &mut [f64], rows: usize) -> bool {
        self.n = n;
        self.working.clear();
        self.u.clear();
        self.in_working.clear();
        self.in_working.resize(rows, false);
        self.x.clear();
        self.x.resize(n, 0.0);
        self.d.resize(n, 0.0);
        self.z.resize(n, 0.0);
        self.t.resize(n, 0.0);
        self.R.clear();
        self.R.resize(n * n, 0.0);
        self.J.clear();
        self.J.resize(n * n, 0.0);
        self.pivots = 0;
        if !cholesky(H, n, DEFINITE) {
            return false;
        }
        // J = L⁻ᵀ: column j of J solves Lᵀ y = e_j
        for j in 0..n {
            let column = &mut self.J[j * n..(j + 1) * n];
            column[j] = 1.0 / H[j * n + j];
            for i in (0..j).rev() {
                let mut sum = 0.0;
                for k in i + 1..=j {
                    sum += H[k * n + i] * column[k];
                }
                column[i] = -sum / H[i * n + i];
            }
        }
        true
    }

    fn jt_row(&mut self, rows: &Rows, i: u32) {
        let n = self.n;
        let (columns, values) = rows.row(i as usize);
        for j in 0..n {
            let column = &self.J[j * n..(j + 1) * n];
            self.d[j] = columns.iter().zip(values).map(|(&c, v)| v * column[c as usize]).sum();
        }
    }

    /// `r = R⁻¹ d₁`.
    fn solve_r(&mut self) {
        let (n, q) = (self.n, self.working.len());
        self.r.clear();
        self.r.extend_from_slice(&self.d[..q]);
        for k in (0..q).rev() {
            let value = self.r[k] / self.R[k * n + k];
            self.r[k] = value;
            for i in 0..k {
                self.r[i] -= self.R[k * n + i] * value;
            }
        }
    }

    /// Adds the row whose `Jᵀ a` is in `d`.
    fn add(&mut self, row: u32) {
        let (n, q) = (self.n, self.working.len());
        // rotate d[q..] onto its first entry
        for j in (q + 1..n).rev() {
            let (a, b) = (self.d[j - 1], self.d[j]);
            if b == 0.0 {
                continue;
            }
            let norm = a.hypot(b);
            let (c, s) = (a / norm, b / norm);
            self.d[j - 1] = norm;
            self.d[j] = 0.0;
            rotate_columns(&mut self.J, n, j - 1, c, s);
        }
        for i in 0..=q {
            self.R[q * n + i] = self.d[i];
        }
        self.working.push(row);
        self.in_working[row as usize] = true;
    }

    fn drop(&mut self, k: usize) {
        let (n, q) = (self.n, self.working.len());
        let row = self.working.remove(k);
        self.u.remove(k);
        self.in_working[row as usize] = false;
        for j in k..q - 1 {
            // column j + 1 moves to j and has one entry below the diagonal
            for i in 0..=j + 1 {
                self.R[j * n + i] = self.R[(j + 1) * n + i];
            }
        }
        for j in k..q - 1 {
            let (a, b) = (self.R[j * n + j], self.R[j * n + j + 1]);
            let norm = a.hypot(b);
            if norm == 0.0 {
                continue;
            }
            let (c, s) = (a / norm, b / norm);
            for l in j..q - 1 {
                let (x, y) = (self.R[l * n + j], self.R[l * n + j + 1]);
                self.R[l * n + j] = c * x + s * y;
                self.R[l * n + j + 1] = c * y - s * x;
            }
            rotate_columns(&mut self.J, n, j, c, s);
        }
    }

    /// Multipliers `r` of the last contradiction, one per row of the working set: the row minus
    /// `Σ r_k` of theirs vanishes.
    pub fn contradiction(&self) -> &[f64] {
        &self.r
    }

    /// Puts rows into the working set as far as they are independent; multipliers are then unknown.
    pub fn warm(&mut self, rows: &Rows, wanted: &[u32]) {
        for &row in wanted {
            if self.working.len() == self.n {
                break;
            }
            if (row as usize) < self.in_working.len() && !self.in_working[row as usize] {
                self.jt_row(rows, row);
                let all: f64 = self.d.iter().map(|d| d * d).sum();
                let free: f64 = self.d[self.working.len()..].iter().map(|d| d * d).sum();
                if free > WARM_INDEPENDENT * all {
                    self.add(row);
                    self.u.push(0.0);
                }
            }
        }
    }

    /// `x` and `u` for the working set as equalities: exact for gradient `g`.
    pub fn equality_point(&mut self, g: &[f64], b: &[f64]) {
        let (n, q) = (self.n, self.working.len());
        // t = Jᵀ g
        for j in 0..n {
            self.t[j] = dot(&self.J[j * n..(j + 1) * n], g);
        }
        // w = R⁻ᵀ b_W
        let mut w = std::mem::take(&mut self.w);
        w.clear();
        w.resize(q, 0.0);
        for k in 0..q {
            let mut sum = b[self.working[k] as usize];
            for i in 0..k {
                sum -= self.R[k * n + i] * w[i];
            }
            w[k] = sum / self.R[k * n + k];
        }
        self.x.fill(0.0);
        for j in 0..n {
            let s = if j < q { w[j] } else { -self.t[j] };
            axpy(s, &self.J[j * n..(j + 1) * n], &mut self.x);
        }
        for k in 0..q {
            self.d[k] = w[k] + self.t[k];
        }
        self.w = w;
        self.solve_r();
        self.u.clear();
        self.u.extend_from_slice(&self.r);
    }

    /// Moves `x`, `u` by the correction that cancels the residuals `r_d` (stationarity) and `r_p`
    /// (rows of the working set).
    pub fn correct(&mut self, r_d: &[f64], r_p: &[f64]) {
        let (n, q) = (self.n, self.working.len());
        for j in 0..n {
            self.t[j] = dot(&self.J[j * n..(j + 1) * n], r_d);
        }
        let mut w = std::mem::take(&mut self.w);
        w.clear();
        w.resize(q, 0.0);
        for k in 0..q {
            let mut sum = r_p[k];
            for i in 0..k {
                sum -= self.R[k * n + i] * w[i];
            }
            w[k] = sum / self.R[k * n + k];
        }
        for j in 0..n {
            let s = if j < q { w[j] } else { self.t[j] };
            axpy(s, &self.J[j * n..(j + 1) * n], &mut self.x);
        }
        for k in 0..q {
            self.d[k] = w[k] - self.t[k];
        }
        self.w = w;
        self.solve_r();
        for k in 0..q {
            self.u[k] += self.r[k];
        }
    }

    /// Solves from the present working set for gradient `g`.
    pub fn solve(&mut self, rows: &Rows, g: &[f64], b: &[f64], tolerance: f64) -> Outcome {
        let n = self.n;
        let m = b.len();
        loop {
            self.equality_point(g, b);
            let worst = (0..self.working.len())
                .filter(|&k| self.u[k] < 0.0)
                .min_by(|&i, &j| self.u[i].total_cmp(&self.u[j]));
            match worst {
                Some(k) => {
                    self.pivots += 1;
                    self.drop(k);
                }
                None => break,
            }
        }
        // far more than any problem of ours needs; a cycle would run into it
        let limit = self.pivots + 200 + 20 * (n + m) as u32;
        loop {
            // most violated row
            let mut pick: Option<(usize, f64)> = None;
            // on the way to infinity a row is known to the rounding of its large terms only
            let tolerance = tolerance * (1.0 + 1e-3 * largest(&self.x));
            for i in 0..m {
                if self.in_working[i] {
                    continue;
                }
                let s = rows.dot(i, &self.x) - b[i];
                if s < -tolerance && pick.is_none_or(|(_, best)| s < best) {
                    pick = Some((i, s));
                }
            }
            let Some((p, mut s)) = pick else { return Outcome::Solved };
            let mut u_p = 0.0;
            loop {
                self.pivots += 1;
                if self.pivots > limit {
                    return Outcome::GaveUp;
                }
                self.jt_row(rows, p as u32);
                self.solve_r();
                let q = self.working.len();
                let all: f64 = self.d.iter().map(|d| d * d).sum();
                let free: f64 = self.d[q..].iter().map(|d| d * d).sum();
                let mut t1 = f64::INFINITY;
                let mut leave = usize::MAX;
                for k in 0..q {
                    // below rounding of R⁻¹ d a multiplier does not really fall
                    if self.r[k] > 1e-12 {
                        let t = self.u[k].max(0.0) / self.r[k];
                        if t < t1
                            || (t == t1
                                && leave != usize::MAX
                                && self.working[k] < self.working[leave])
                        {
                            t1 = t;
                            leave = k;
                        }
                    }
                }
                let t2 = if free > DEPENDENT * all { -s / free } else { f64::INFINITY };
                let t = t1.min(t2);
                if t.is_infinite() {
                    return Outcome::Infeasible { row: p as u32 };
                }
                for k in 0..q {
                    self.u[k] -= t * self.r[k];
                }
                u_p += t;
                if t2.is_finite() {
                    self.z.fill(0.0);
                    for j in q..n {
                        let dj = self.d[j];
                        axpy(dj, &self.J[j * n..(j + 1) * n], &mut self.z);
                    }
                    axpy(t, &self.z, &mut self.x);
                }
                if t == t2 {
                    self.add(p as u32);
                    self.u.push(u_p);
                    break;
                }
                self.drop(leave);
                s = rows.dot(p, &self.x) - b[p];
                if s >= 0.0 {
                    // the row came to hold by rounding: take it with what it carries
                    s = -1e-300;
                }
            }
        }
    }
}
