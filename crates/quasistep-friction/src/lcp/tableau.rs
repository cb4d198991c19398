//! Condensed tableau: basic variables as affine functions of the nonbasic ones.
//!
//! ```text
//! basic_r = q_r + Σ_c T_rc other_c
//! ```
//!
//! Variable `i < N` belongs to row `i` of the problem: `w_i`, or an equation's residual, which is
//! fixed at zero. Variable `N + i` belongs to column `i`: `z_i` or `x_i`. Variable `2 N` is the
//! artificial `z_0` of Lemke's method.

use crate::lcp::problem::Lcp;
use crate::tolerances::lcp::SINGULAR;
use quasistep_linalg::budget::{Budget, TABLEAU};
use quasistep_linalg::kernels::axpy;
use quasistep_linalg::simd::{Isa, LANES, kernel};

/// Number of pivots between refactorisations of the tableau from the problem's own data.
const FRESH: u32 = 40;

#[derive(Debug, Default)]
pub(crate) struct Tableau {
    pub n: usize,
    pub free: usize,
    /// `N × (N + 1)`; the last column initially belongs to `z_0`.
    pub T: Vec<f64>,
    pub q: Vec<f64>,
    pub basic: Vec<u32>,
    pub other: Vec<u32>,
    /// Position of each variable: its row if it is basic, else its column.
    place: Vec<u32>,
    is_basic: Vec<bool>,
    /// Covering vector in the rows of the problem.
    cover: Vec<f64>,
    pub pivots: u32,
    since: u32,
    pub work: Budget,
    wanted: Vec<bool>,
    column: Vec<f64>,
}

impl Tableau {
    /// Sets the tableau of the initial basis, in which all row variables are basic.
    pub fn start(&mut self, lcp: &Lcp) {
        let n = lcp.size();
        (self.n, self.free) = (n, lcp.free);
        self.pivots = 0;
        self.cover.clear();
        self.cover.resize(n, 0.0);
        self.fill(lcp);
    }

    fn fill(&mut self, lcp: &Lcp) {
        let n = self.n;
        self.since = 0;
        self.T.clear();
        for i in 0..n {
            self.T.extend_from_slice(&lcp.M[i * n..(i + 1) * n]);
            self.T.push(self.cover[i]);
        }
        self.q.clone_from(&lcp.q);
        self.basic.clear();
        self.basic.extend(0..n as u32);
        self.other.clear();
        self.other.extend(n as u32..=2 * n as u32);
        self.place.clear();
        self.place.extend((0..n as u32).chain(0..=n as u32));
        self.is_basic.clear();
        self.is_basic.resize(2 * n + 1, false);
        self.is_basic[..n].fill(true);
    }

    pub fn width(&self) -> usize {
        self.n + 1
    }

    pub fn at(&self, r: usize, c: usize) -> f64 {
        self.T[r * (self.n + 1) + c]
    }

    pub fn is_basic(&self, variable: usize) -> bool {
        self.is_basic[variable]
    }

    /// Row of a basic variable, or column of a nonbasic one.
    pub fn place(&self, variable: usize) -> usize {
        self.place[variable] as usize
    }

    /// The complement of a variable: `z_i` of `w_i` and vice versa.
    pub fn complement(&self, variable: usize) -> usize {
        if variable < self.n { variable + self.n } else { variable - self.n }
    }

    /// Whether a variable is unrestricted: `x`, or the residual of a redundant equation.
    pub fn unbounded(&self, variable: usize) -> bool {
        variable < self.free || (variable >= self.n && variable < self.n + self.free)
    }

    /// Exchanges the basic variable of row `r` and the nonbasic variable of column `c`.
    pub fn pivot(&mut self, r: usize, c: usize) {
        let width = self.width();
        self.work.spend(TABLEAU * (self.n * width) as u64);
        let f = self.T[r * width + c].recip();
        let (before, rest) = self.T.split_at_mut(r * width);
        let (row, after) = rest.split_at_mut(width);
        for v in row.iter_mut() {
            *v *= -f;
        }
        row[c] = f;
        let q = -self.q[r] * f;
        self.q[r] = q;
        let (q_before, q_after) = self.q.split_at_mut(r);
        for (rows, values) in [(before, q_before), (after, &mut q_after[1..])] {
            eliminate(Isa::detect(), rows, values, row, q, c);
        }
        let (leaves, enters) = (self.basic[r], self.other[c]);
        (self.basic[r], self.other[c]) = (enters, leaves);
        self.place[enters as usize] = r as u32;
        self.place[leaves as usize] = c as u32;
        self.is_basic[enters as usize] = true;
        self.is_basic[leaves as usize] = false;
        self.pivots += 1;
        self.since += 1;
    }

    /// Principal pivot: exchanges both variables of pair `i`.
    pub fn exchange(&mut self, i: usize) {
        self.pivot(self.place(i), self.place(i + self.n));
    }

    /// Sets the column of `z_0`, which must be nonbasic, to `d` in the rows of the current basis.
    pub fn set_cover(&mut self, lcp: &Lcp, d: &[f64]) {
        let (n, width) = (self.n, self.width());
        let c = self.place(2 * n);
        // with all nonbasic variables zero and the basic ones equal to d, the covering vector is w
        // − M z
        self.cover.clear();
        self.cover.resize(n, 0.0);
        for r in 0..n {
            self.T[r * width + c] = d[r];
            let v = self.basic[r] as usize;
            if v < n {
                self.cover[v] += d[r];
            } else if d[r] != 0.0 {
                for i in 0..n {
                    self.cover[i] -= lcp.entry(i, v - n) * d[r];
                }
            }
        }
    }

    /// Recomputes the tableau if many pivots were made since the last time; returns false if its
    /// basis is singular.
    pub fn refresh(&mut self, lcp: &Lcp) -> bool {
        self.since < FRESH || self.refactor(lcp)
    }

    /// Recomputes the tableau of the current basis from the problem's own data; returns false if
    /// the basis is singular.
    pub fn refactor(&mut self, lcp: &Lcp) -> bool {
        let (n, width) = (self.n, self.width());
        let pivots = self.pivots;
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.clone_from(&self.is_basic);
        self.fill(lcp);
        let mut done = true;
        loop {
            if !self.work.spend((n * width) as u64) {
                done = false;
                break;
            }
            // largest pivot among the rows that leave and the columns that enter
            let (mut best, mut at) = (0.0_f64, (0, 0));
            let mut left = false;
            for r in 0..n {
                if wanted[self.basic[r] as usize] {
                    continue;
                }
                left = true;
                let row = &self.T[r * width..(r + 1) * width];
                for (c, v) in row.iter().enumerate() {
                    if v.abs() > best && wanted[self.other[c] as usize] {
                        (best, at) = (v.abs(), (r, c));
                    }
                }
            }
            if !left {
                break;
            }
            if !(best > SINGULAR) {
                done = false;
                break;
            }
            self.pivot(at.0, at.1);
        }
        self.wanted = wanted;
        self.pivots = pivots;
        self.since = 0;
        done
    }

    /// Reference size of the rounding of each basic row: `Σ_i |∂basic_r/∂q_i| |q_i|`.
    pub fn terms(&mut self, lcp: &Lcp, terms: &mut Vec<f64>) {
        let size = |v: &u32| lcp.q.get(*v as usize).map_or(0.0, |q| q.abs());
        self.column.clear();
        self.column.extend(self.other.iter().map(size));
        terms.clear();
        terms.extend(self.basic.iter().map(size));
        add_sizes(Isa::detect(), &self.T, &self.column, terms);
    }

    /// `∂basic_r/∂q_i`.
    pub fn sensitivity(&self, r: usize, i: usize) -> f64 {
        if self.is_basic[i] {
            f64::from(u8::from(self.place(i) == r))
        } else {
            -self.at(r, self.place(i))
        }
    }

    /// Iterative refinement of `q` on the current basis, against the problem's own rows. Writes the
    /// values of all columns of the problem to `v`. `z_0` must be nonbasic.
    pub fn refine(&mut self, lcp: &Lcp, v: &mut Vec<f64>) {
        let n = self.n;
        for round in 0..4 {
            self.work.spend(2 * (n * n) as u64);
            v.clear();
            v.resize(n, 0.0);
            for r in 0..n {
                let b = self.basic[r] as usize;
                if b >= n && b < 2 * n {
                    v[b - n] = self.q[r];
                }
            }
            if round == 3 {
                break;
            }
            self.column.clear();
            for i in 0..n {
                let w = if self.is_basic[i] { self.q[self.place(i)] } else { 0.0 };
                self.column.push(lcp.value(i, v).0 - w);
            }
            for r in 0..n {
                let correction: f64 = (0..n)
                    .filter(|i| self.column[*i] != 0.0)
                    .map(|i| self.sensitivity(r, i) * self.column[i])
                    .sum();
                self.q[r] += correction;
            }
        }
    }
}

kernel! {
    /// Adds `v row` to each of the `rows` and `v q` to its value, where `v` is its entry in column
    /// `c`, which `row` replaces.
    eliminate(rows: &mut [f64], values: &mut [f64], row: &[f64], q: f64, c: usize) {
        for (to, value) in rows.chunks_exact_mut(row.len()).zip(values) {
            let v = to[c];
            if v != 0.0 {
                to[c] = 0.0;
                axpy(v, row, to);
                *value += v * q;
            }
        }
    }
}

kernel! {
    /// `sum_r += Σ_c |T_rc| size_c`.
    add_sizes(T: &[f64], sizes: &[f64], sums: &mut [f64]) {
        let (whole, rest) = sizes.as_chunks::<LANES>();
        for (row, sum) in T.chunks_exact(sizes.len()).zip(sums) {
            let (own, own_rest) = row.as_chunks::<LANES>();
            let mut lanes = [0.0; LANES];
            for (v, size) in own.iter().zip(whole) {
                for (sum, (v, size)) in lanes.iter_mut().zip(v.iter().zip(size)) {
                    *sum += v.abs() * size;
                }
            }
            *sum += lanes.iter().sum::<f64>();
            *sum += own_rest.iter().zip(rest).map(|(v, size)| v.abs() * size).sum::<f64>();
        }
    }
}
