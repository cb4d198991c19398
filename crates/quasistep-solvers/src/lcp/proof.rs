//! Proof that a problem has no solution: cases that cover everything, each with a Farkas certificate.

use crate::lcp::problem::Lcp;
use crate::tolerances::{CANCELS, CLEAR};

/// The variable of a pair that a case holds at zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PairSide {
    /// `w_i = 0`.
    W,
    /// `z_i = 0`.
    Z,
}

/// One case, and its contradiction.
///
/// `y` has one entry per row of the problem, in the caller's units: of any sign for equations and for rows
/// with `w_i` held at zero, else `≥ 0`. Its combination of the rows has no free variable, no positive
/// coefficient of any `z_i` that the case leaves free to grow, and a negative constant:
///
/// ```text
/// 0 ≤ yᵀ (0, w) = (Mᵀ y)ᵀ (x, z) + qᵀ y < 0
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Pairs held, in the order in which the search split them.
    pub held: Vec<(u32, PairSide)>,
    /// The multipliers.
    pub y: Vec<f64>,
}

/// Proof that a problem has no solution.
///
/// One case without held pairs means that the rows, `w ≥ 0` and `z ≥ 0` alone contradict one another: Farkas'
/// proof. Otherwise every solution would lie in one of the cases, each of which contradicts itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proof {
    /// The cases, in the order of the search.
    pub cases: Vec<Case>,
}

impl Proof {
    /// Whether the cases cover everything and each contradicts itself, from the problem's own numbers.
    pub fn holds(&self, lcp: &Lcp) -> bool {
        let all: Vec<&Case> = self.cases.iter().collect();
        covers(&all, 0) && self.cases.iter().all(|case| case.contradicts(lcp))
    }
}

/// Whether cases that agree on their first `depth` held pairs cover everything that these leave.
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
    /// Whether the combination of the problem's rows contradicts itself.
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
