//! Every case: a search through which variable of each pair is zero.
//!
//! Without complementarity a problem is a polyhedron. Its point nearest to the origin is found by the dense
//! QP solver; where both variables of a pair are positive there, the search splits: one of them must be
//! zero. A branch ends with a solution or with Farkas' multipliers, so that the whole either solves the
//! problem or refutes it, if it ends within its budget.

use crate::QpSolver;
use crate::budget::Budget;
use crate::lcp::polyhedron::{Nearest, Polyhedron};
use crate::lcp::problem::{Case, Lcp, PairSide, Proof, Scaled};
use crate::tolerances::APART;

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A point, in [`Cases::v`], with its active pairs in [`Cases::active`].
    Point,
    /// [`Cases::proof`] covers everything.
    Nothing,
    /// The budget ended, or numbers were too close to call.
    Open,
}

/// Memory of the search.
#[derive(Debug, Default)]
pub(crate) struct Cases {
    solver: QpSolver,
    held: Vec<Option<PairSide>>,
    path: Vec<(u32, PairSide)>,
    pub v: Vec<f64>,
    pub active: Vec<u32>,
    pub proof: Proof,
    pub solved: u32,
    pub work: Budget,
}

/// A problem without complementarity, but for the pairs that are held.
fn polyhedron(lcp: &Lcp, held: &[Option<PairSide>]) -> Polyhedron {
    let (n, free) = (lcp.size(), lcp.free);
    let mut at = Polyhedron::new(free, n);
    for i in 0..n {
        let row = at.push_row(-lcp.q[i], i < free || held[i - free] == Some(PairSide::W));
        for j in (0..n).filter(|j| *j < free || held[j - free] != Some(PairSide::Z)) {
            if lcp.entry(i, j) != 0.0 {
                at.add(row, j, lcp.entry(i, j));
            }
        }
    }
    at
}

impl Cases {
    /// Searches with at most `budget` programs; `original` is the problem in the caller's units, in which
    /// proofs must hold.
    pub fn search(&mut self, original: &Lcp, scaled: &Scaled, budget: u32) -> Found {
        self.held.clear();
        self.held.resize(scaled.lcp.pairs, None);
        self.path.clear();
        self.proof.cases.clear();
        self.solved = 0;
        self.branch(original, scaled, budget)
    }

    fn branch(&mut self, original: &Lcp, scaled: &Scaled, budget: u32) -> Found {
        if self.solved >= budget || self.work.is_spent() {
            return Found::Open;
        }
        let lcp = &scaled.lcp;
        self.solved += 1;
        let (point, infeasible) =
            match polyhedron(lcp, &self.held).nearest(&mut self.solver, &self.work) {
                Nearest::Point(point) => (point, false),
                Nearest::Refuted(y) if self.refute(original, scaled, &y) => return Found::Nothing,
                // too close to call as it is; a deeper case may be clearer
                Nearest::Refuted(_) => (vec![0.0; lcp.size()], true),
                Nearest::Unknown => return Found::Open,
            };
        let mut split = self.worst(lcp, &point, if infeasible { -1.0 } else { APART });
        if split.is_none() {
            if self.settle(lcp, &point) {
                return Found::Point;
            }
            // products that look like zero are not: the largest of them
            split = self.worst(lcp, &point, -1.0);
        }
        let Some(k) = split else { return Found::Open };
        let side = nearer(lcp, k, &point).0;
        let mut open = false;
        let other = if side == PairSide::W { PairSide::Z } else { PairSide::W };
        for side in [side, other] {
            self.held[k] = Some(side);
            self.path.push((k as u32, side));
            let found = self.branch(original, scaled, budget);
            self.path.pop();
            self.held[k] = None;
            match found {
                Found::Point => return Found::Point,
                Found::Open => open = true,
                Found::Nothing => {}
            }
        }
        if open { Found::Open } else { Found::Nothing }
    }

    /// The pair that is not held with the largest product above `least` at a point.
    fn worst(&self, lcp: &Lcp, point: &[f64], least: f64) -> Option<usize> {
        let (mut worst, mut most) = (None, least);
        for k in (0..lcp.pairs).filter(|k| self.held[*k].is_none()) {
            let product = nearer(lcp, k, point).1;
            if product > most {
                (worst, most) = (Some(k), product);
            }
        }
        worst
    }

    /// Holds every pair on the side that is nearer to zero; true if there is a point then, in `v`.
    fn settle(&mut self, lcp: &Lcp, point: &[f64]) -> bool {
        let side = |k: usize| self.held[k].unwrap_or_else(|| nearer(lcp, k, point).0);
        let held: Vec<_> = (0..lcp.pairs).map(|k| Some(side(k))).collect();
        self.solved += 1;
        let nearest = polyhedron(lcp, &held).nearest(&mut self.solver, &self.work);
        let Nearest::Point(v) = nearest else { return false };
        self.v = v;
        self.active.clear();
        for (k, side) in held.iter().enumerate() {
            if *side == Some(PairSide::Z) {
                self.v[lcp.free + k] = 0.0;
            } else {
                self.active.push(k as u32);
            }
        }
        true
    }

    /// Takes multipliers of the scaled rows as a case, if it contradicts itself by the original data.
    fn refute(&mut self, original: &Lcp, scaled: &Scaled, y: &[f64]) -> bool {
        let y = y.iter().zip(&scaled.row).map(|(y, row)| y / row).collect();
        let case = Case { held: self.path.clone(), y };
        let holds = case.contradicts(original);
        if holds {
            self.proof.cases.push(case);
        }
        holds
    }
}

/// Which side of a pair is nearer to zero at a point, and the product of both.
fn nearer(lcp: &Lcp, k: usize, point: &[f64]) -> (PairSide, f64) {
    let i = lcp.free + k;
    let z = point[i].max(0.0);
    let w = lcp.value(i, point).0.max(0.0);
    (if z > w { PairSide::W } else { PairSide::Z }, z * w)
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
        let mut held = vec![None; lcp.pairs];
        for (pair, side) in &self.held {
            let Some(held) = held.get_mut(*pair as usize) else { return false };
            *held = Some(*side);
        }
        polyhedron(lcp, &held).is_refuted_by(&self.y)
    }
}
