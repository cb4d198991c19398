//! Lemke's method with lexicographic pivoting.
//!
//! C. E. Lemke, "Bimatrix equilibrium points and mathematical programming", Management Science 11
//! (1965) 681–689; R. W. Cottle, J.-S. Pang, R. E. Stone, "The Linear Complementarity Problem"
//! (1992), section 4.4 and, for the lexicographic order, 4.9.
//!
//! The method starts from any complementary basis. It perturbs the variables that are basic there,
//! so that no basis can repeat.

use crate::lcp::problem::Lcp;
use crate::lcp::tableau::Tableau;
use crate::tolerances::ROUNDING;
use crate::tolerances::lcp::{ENTRY, LEXICOGRAPHIC_TIE, TIE, WEAK};

/// Outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The basis solves the problem.
    Solved,
    /// The path ends on a secondary ray, which is no certificate for the matrices of friction
    /// problems.
    Ray,
    /// The limit of pivots was reached, or a basis is singular up to rounding.
    Stopped,
}

/// Scratch memory of an attempt.
#[derive(Debug, Default)]
pub(crate) struct Lemke {
    /// Variables that are basic at the start; their perturbation breaks ties.
    first: Vec<u32>,
    terms: Vec<f64>,
    d: Vec<f64>,
}

impl Lemke {
    /// Runs from the complementary basis of `t`. The covering vector has the entries `cover(i)` in
    /// the rows of `t`.
    pub fn run(
        &mut self,
        lcp: &Lcp,
        t: &mut Tableau,
        limit: u32,
        mut cover: impl FnMut(usize, f64) -> f64,
    ) -> End {
        let n = t.n;
        if !t.refresh(lcp) {
            return End::Stopped;
        }
        self.snap(lcp, t);
        if nonnegative(t) {
            return End::Solved;
        }
        self.d.clear();
        for r in 0..n {
            let held = !t.unbounded(t.basic[r] as usize);
            self.d.push(if held { cover(r, t.q[r]) } else { 0.0 });
        }
        t.set_cover(lcp, &self.d);
        self.first.clone_from(&t.basic);
        let z0 = 2 * n;
        // z_0 enters in the row with the largest ratio
        let Some(r) = self.leaving(t, t.place(z0), true) else { return End::Stopped };
        let mut driving = t.complement(t.basic[r] as usize);
        t.pivot(r, t.place(z0));
        loop {
            // work of recomputing the terms of all rows; the pivot counts separately
            if t.pivots >= limit || !t.work.spend((n * t.width()) as u64) || !t.refresh(lcp) {
                return End::Stopped;
            }
            self.snap(lcp, t);
            let c = t.place(driving);
            let Some(r) = self.leaving(t, c, false) else { return End::Ray };
            let leaves = t.basic[r] as usize;
            t.pivot(r, c);
            if leaves == z0 {
                return if t.refactor(lcp) { End::Solved } else { End::Stopped };
            }
            driving = t.complement(leaves);
        }
    }

    /// Sets values that are rounding to zero.
    fn snap(&mut self, lcp: &Lcp, t: &mut Tableau) {
        t.terms(lcp, &mut self.terms);
        for (q, terms) in t.q.iter_mut().zip(&self.terms) {
            if q.abs() <= ROUNDING * terms {
                *q = 0.0;
            }
        }
    }

    /// Ratio test: the row whose basic variable reaches zero first as the variable of column `c`
    /// increases. If `covers`, for the entry of `z_0`, the row that reaches zero last.
    fn leaving(&self, t: &Tableau, c: usize, covers: bool) -> Option<usize> {
        let z0 = 2 * t.n;
        let largest = (0..t.n).fold(0.0_f64, |m, r| m.max(t.at(r, c).abs()));
        let mut best: Option<usize> = None;
        for r in 0..t.n {
            if t.unbounded(t.basic[r] as usize) {
                continue;
            }
            let a = if covers { t.at(r, c) } else { -t.at(r, c) };
            if !(a > ENTRY * largest) || !(a > 0.0) {
                continue;
            }
            let Some(b) = best else {
                best = Some(r);
                continue;
            };
            let a_b = t.at(b, c).abs();
            let difference = t.q[r] * a_b - t.q[b] * a;
            let tie = TIE * (self.terms[r] * a_b + self.terms[b] * a);
            let first = if difference.abs() > tie {
                difference < 0.0
            } else if !covers && (t.basic[r] as usize == z0 || t.basic[b] as usize == z0) {
                // z_0 leaves in any tie, because the basis is then a solution
                t.basic[r] as usize == z0
            } else {
                self.lexicographic(t, r, b, a, a_b)
            };
            if first {
                best = Some(r);
            }
        }
        best
    }

    /// Whether the perturbed ratio of row `r` is below that of row `b`.
    fn lexicographic(&self, t: &Tableau, r: usize, b: usize, a: f64, a_b: f64) -> bool {
        for v in &self.first {
            let v = *v as usize;
            let part = |row: usize| {
                if t.is_basic(v) {
                    f64::from(u8::from(t.place(v) == row))
                } else {
                    -t.at(row, t.place(v))
                }
            };
            let (x, y) = (part(r) * a_b, part(b) * a);
            if (x - y).abs() > LEXICOGRAPHIC_TIE * x.abs().max(y.abs()).max(WEAK * a.max(a_b)) {
                return x < y;
            }
        }
        false
    }
}

fn nonnegative(t: &Tableau) -> bool {
    (0..t.n).all(|r| t.q[r] >= 0.0 || t.unbounded(t.basic[r] as usize))
}
