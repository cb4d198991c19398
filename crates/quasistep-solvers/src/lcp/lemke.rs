//! Lemke's method with lexicographic pivoting.
//!
//! C. E. Lemke, "Bimatrix equilibrium points and mathematical programming", Management Science 11 (1965)
//! 681–689; R. W. Cottle, J.-S. Pang, R. E. Stone, "The Linear Complementarity Problem" (1992), section 4.4
//! and, for the lexicographic order, 4.9. It starts from any complementary basis: the perturbation is that
//! of the variables basic there, so that no basis can come back.
//!
//! The first basis has all free variables in it, and those pairs that are thought to be active: by principal pivots only, of one
//! pair or of two, so that every basis on the way is complementary. Two at once are what a body without curvature needs: it
//! enters together with a contact that holds it.

use crate::lcp::problem::Lcp;
use crate::lcp::tableau::Tableau;
use crate::tolerances::complementarity::{CONSTANT, LEAST, LEAST_FIRST, ROUNDING, TIE};

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The basis solves the problem.
    Solved,
    /// A ray, which proves nothing for the matrices of friction.
    Ray,
    /// Too many pivots, or a basis that is singular to rounding.
    Stopped,
}

/// Memory of an attempt.
#[derive(Debug, Default)]
pub(crate) struct Lemke {
    /// Variables basic at the start: their perturbation decides ties.
    first: Vec<u32>,
    terms: Vec<f64>,
    d: Vec<f64>,
}

impl Lemke {
    /// Runs from the complementary basis of `t`, with the covering vector `cover(i)` in its rows.
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
        // z_0 enters where the cover is stretched most
        let Some(r) = self.leaving(t, t.place(z0), true) else { return End::Stopped };
        let mut driving = t.complement(t.basic[r] as usize);
        t.pivot(r, t.place(z0));
        loop {
            // terms of all rows, beside those of the pivot itself
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
        self.terms.clear();
        for r in 0..t.n {
            let terms = t.terms(lcp, r);
            if t.q[r].abs() <= ROUNDING * terms {
                t.q[r] = 0.0;
            }
            self.terms.push(terms);
        }
    }

    /// Row that the variable of column `c` drives to zero first; for the entry of `z_0` the one that it
    /// lifts to zero last.
    fn leaving(&self, t: &Tableau, c: usize, covers: bool) -> Option<usize> {
        let z0 = 2 * t.n;
        let largest = (0..t.n).fold(0.0_f64, |m, r| m.max(t.at(r, c).abs()));
        let mut best: Option<usize> = None;
        for r in 0..t.n {
            if t.unbounded(t.basic[r] as usize) {
                continue;
            }
            let a = if covers { t.at(r, c) } else { -t.at(r, c) };
            if !(a > LEAST * largest) || !(a > 0.0) {
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
                // an answer ends the method, whatever the perturbation says
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
            if (x - y).abs() > 1e-10 * x.abs().max(y.abs()).max(1e-3 * a.max(a_b)) {
                return x < y;
            }
        }
        false
    }
}

fn nonnegative(t: &Tableau) -> bool {
    (0..t.n).all(|r| t.q[r] >= 0.0 || t.unbounded(t.basic[r] as usize))
}

/// Why there is no first basis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoBasis {
    /// An equation without variables, `0 = 1`.
    Contradiction,
    /// An equation that no pair of rows can hold.
    Unpaired,
}

/// Memory of the search.
#[derive(Debug, Default)]
pub(crate) struct Crash {
    pending: Vec<usize>,
    left: Vec<usize>,
}

impl Crash {
    /// Brings `t`, at its first basis, to one with all free variables basic, and as many of `hints` as fit.
    pub fn run(&mut self, t: &mut Tableau, hints: &[u32]) -> Result<(), NoBasis> {
        let (n, free) = (t.n, t.free);
        self.pending.clear();
        self.pending.extend(0..free);
        self.pending.extend(hints.iter().map(|h| free + *h as usize).filter(|h| *h < n));
        self.pending.sort_unstable();
        self.pending.dedup();
        self.exchange_all(t);
        // free variables that are left look for any partner
        let left = &mut self.left;
        left.clear();
        left.extend((0..free).filter(|i| t.is_basic(*i)));
        while !left.is_empty() {
            let mut best = (LEAST_FIRST, 0, 0);
            for (k, &i) in left.iter().enumerate() {
                for j in free..n {
                    if t.is_basic(j) {
                        let size = measure(t, i, j);
                        if size > best.0 {
                            best = (size, k, j);
                        }
                    }
                }
            }
            let (size, k, j) = best;
            if size == LEAST_FIRST {
                break;
            }
            exchange_two(t, left[k], j);
            left.swap_remove(k);
            // a variable may enter alone now
            left.retain(|&i| {
                let alone = t.at(t.place(i), t.place(i + n)).abs() > LEAST_FIRST;
                if alone {
                    t.exchange(i);
                }
                !alone
            });
        }
        for &i in left.iter() {
            let r = t.place(i);
            let held = (0..t.width()).any(|c| {
                // neither the residuals of equations, which are zero, nor z_0
                let v = t.other[c] as usize;
                v >= free && v < 2 * n && t.at(r, c).abs() > LEAST_FIRST
            });
            if held {
                return Err(NoBasis::Unpaired);
            }
            if t.q[r].abs() > CONSTANT {
                return Err(NoBasis::Contradiction);
            }
        }
        Ok(())
    }

    /// Exchanges pending pairs, alone or two at a time, the largest pivots first.
    fn exchange_all(&mut self, t: &mut Tableau) {
        let n = t.n;
        loop {
            let (mut size, mut at) = (LEAST_FIRST, None);
            for (k, &i) in self.pending.iter().enumerate() {
                let own = t.at(t.place(i), t.place(i + n)).abs();
                if own > size {
                    (size, at) = (own, Some((k, k)));
                }
            }
            // two at a time only where nothing enters alone with a good pivot
            if size < 1e-3 {
                let pending = self.pending.len() as u64;
                if !t.work.spend(pending * pending) {
                    return;
                }
                for (k, &i) in self.pending.iter().enumerate() {
                    for (l, &j) in self.pending[..k].iter().enumerate() {
                        let both = measure(t, i, j);
                        if both > size {
                            (size, at) = (both, Some((k, l)));
                        }
                    }
                }
            }
            let Some((k, l)) = at else { return };
            let i = self.pending[k];
            if k == l {
                t.exchange(i);
                self.pending.swap_remove(k);
            } else {
                exchange_two(t, i, self.pending[l]);
                // the later one first
                self.pending.swap_remove(k);
                self.pending.swap_remove(l);
            }
        }
    }
}

/// Geometric middle of the two pivots that bring pairs `i` and `j` in.
fn measure(t: &Tableau, i: usize, j: usize) -> f64 {
    let (ri, rj, ci, cj) = (t.place(i), t.place(j), t.place(i + t.n), t.place(j + t.n));
    let (a, b) = (t.at(ri, cj), t.at(rj, ci));
    if a.abs() <= LEAST_FIRST {
        return 0.0;
    }
    (a * b - t.at(ri, ci) * t.at(rj, cj)).abs().sqrt()
}

fn exchange_two(t: &mut Tableau, i: usize, j: usize) {
    t.pivot(t.place(i), t.place(j + t.n));
    t.pivot(t.place(j), t.place(i + t.n));
}
