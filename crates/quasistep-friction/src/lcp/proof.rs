//! Certificate that a problem has no solution: cases that cover all possibilities, each with a
//! Farkas certificate.

use crate::lcp::problem::Lcp;
use crate::tolerances::{CANCELS, CLEAR};

/// The variable of a pair that a case fixes at zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PairSide {
    /// `w_i = 0`.
    W,
    /// `z_i = 0`.
    Z,
}

/// One case, and its Farkas certificate.
///
/// `y` has one entry per row of the problem, in the caller's units. Entries are `≥ 0`, except those
/// of equations and of rows with `w_i` fixed at zero, which have any sign. The combination `y` of
/// the rows has zero coefficients of free variables, no positive coefficient of a `z_i` that is not
/// fixed at zero, and a negative constant:
///
/// ```text
/// 0 ≤ yᵀ (0, w) = (Mᵀ y)ᵀ (x, z) + qᵀ y < 0
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Fixed pairs, in the order of branching.
    pub held: Vec<(u32, PairSide)>,
    /// Farkas multipliers, one per row of the problem.
    pub y: Vec<f64>,
}

/// Certificate that a problem has no solution.
///
/// A single case without fixed pairs means that the rows, `w ≥ 0` and `z ≥ 0` alone are
/// inconsistent (Farkas). Otherwise every solution would satisfy one of the cases, each of which is
/// infeasible.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proof {
    /// The cases, in the order of the search.
    pub cases: Vec<Case>,
}

impl Proof {
    /// Whether the cases cover all possibilities and each is infeasible by the data of `lcp`.
    pub fn holds(&self, lcp: &Lcp) -> bool {
        let all: Vec<&Case> = self.cases.iter().collect();
        covers(&all, 0) && self.cases.iter().all(|case| case.contradicts(lcp))
    }
}

/// Whether the cases, which agree on their first `depth` fixed pairs, cover all completions of
/// these pairs.
fn covers(cases: &[&Case], depth: usize) -> bool {
    match cases {
        [] => false,
        [only] if only.held.len() == depth => true,
        [first, ..] => {
            let Some((pair, _)) = first.held.get(depth) else { return false };
            let at = |case: &&Case| case.held.get(depth).copied();
            if cases.iter().any(|case| at(case).is_none_or(|(p, _)| p != *pair)) {
                return false;
            }
            [PairSide::W, PairSide::Z].iter().all(|side| {
                let part: Vec<&Case> =
                    cases.iter().filter(|c| at(c) == Some((*pair, *side))).copied().collect();
                covers(&part, depth + 1)
            })
        }
    }
}

impl Case {
    /// Whether `y` is a Farkas certificate of this case for `lcp`.
    pub fn contradicts(&self, lcp: &Lcp) -> bool {
        let (n, free) = (lcp.size(), lcp.free);
        if self.y.len() != n || !self.y.iter().all(|y| y.is_finite()) {
            return false;
        }
        let held = |pair: usize, side| self.held.contains(&(pair as u32, side));
        for (i, y) in self.y.iter().enumerate().skip(free) {
            if *y < 0.0 && !held(i - free, PairSide::W) {
                return false;
            }
        }
        for j in 0..n {
            let (mut sum, mut terms) = (0.0, 0.0);
            for (i, y) in self.y.iter().enumerate() {
                sum += y * lcp.entry(i, j);
                terms += (y * lcp.entry(i, j)).abs();
            }
            let grows = j < free && sum.abs() > CANCELS * terms;
            let pays = j >= free && !held(j - free, PairSide::Z) && sum > CANCELS * terms;
            if grows || pays {
                return false;
            }
        }
        let (mut constant, mut terms) = (0.0, 0.0);
        for (y, q) in self.y.iter().zip(&lcp.q) {
            constant += y * q;
            terms += (y * q).abs();
        }
        constant < -CLEAR * terms
    }
}
