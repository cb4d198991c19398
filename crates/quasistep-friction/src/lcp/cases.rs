//! Branch and bound on the complementary pairs: which variable of each pair is zero.
//!
//! Without complementarity the problem is a polyhedron. The dense QP solver finds its point nearest
//! to the origin. If both variables of a pair are positive there, the search branches: one of them
//! must be zero. A branch ends with a solution or with Farkas multipliers. So the search either
//! solves the problem or refutes it, unless it reaches its limit.

use crate::lcp::problem::Lcp;
use crate::lcp::proof::{Case, PairSide, Proof};
use crate::lcp::scaling::Scaled;
use crate::tolerances::{APART, NO_MULTIPLIER};
use quasistep_linalg::budget::Budget;
use quasistep_linalg::{Reason, Rows, Settings, Solution, Status};
use quasistep_qp::{Qp, QpSolver};

/// Outcome of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A solution, in [`Cases::v`], with its active pairs in [`Cases::active`].
    Point,
    /// There is no solution; [`Cases::proof`] is complete.
    Nothing,
    /// The limit was reached, or rounding left a case undecided.
    Open,
}

/// Scratch memory of the search.
#[derive(Debug, Default)]
pub(crate) struct Cases {
    solver: QpSolver,
    answer: Solution,
    rows: Rows,
    b: Vec<f64>,
    P: Vec<f64>,
    c: Vec<f64>,
    /// For each row of the QP, the row of the problem and a sign; `None` for bounds of `z`.
    of: Vec<Option<(u32, f64)>>,
    held: Vec<Option<PairSide>>,
    path: Vec<(u32, PairSide)>,
    columns: Vec<u32>,
    values: Vec<f64>,
    pub v: Vec<f64>,
    pub active: Vec<u32>,
    pub proof: Proof,
    pub solved: u32,
    pub work: Budget,
}

impl Cases {
    /// Searches with at most `budget` programs. `original` is the problem in the caller's units, in
    /// which certificates must hold.
    pub fn search(&mut self, original: &Lcp, scaled: &Scaled, budget: u32) -> Found {
        let n = scaled.lcp.size();
        self.held.clear();
        self.held.resize(scaled.lcp.pairs, None);
        self.path.clear();
        self.proof.cases.clear();
        self.solved = 0;
        self.P.clear();
        self.P.resize(n * n, 0.0);
        for i in 0..n {
            self.P[i * n + i] = 1.0;
        }
        self.c.clear();
        self.c.resize(n, 0.0);
        self.branch(original, scaled, budget)
    }

    fn branch(&mut self, original: &Lcp, scaled: &Scaled, budget: u32) -> Found {
        if self.solved >= budget || self.work.is_spent() {
            return Found::Open;
        }
        let lcp = &scaled.lcp;
        self.build(lcp);
        let n = lcp.size();
        let mut answer = std::mem::take(&mut self.answer);
        self.nearest(n, &mut answer);
        self.answer = answer;
        match self.answer.status {
            Status::Infeasible => {
                if self.refute(original, scaled) {
                    return Found::Nothing;
                }
                // undecided because of rounding: branch further
                self.answer.x.clear();
                self.answer.x.resize(n, 0.0);
            }
            Status::Solved => {}
            Status::Unbounded | Status::GaveUp => return Found::Open,
        }
        let infeasible = self.answer.status == Status::Infeasible;
        // branch on the pair with the largest product
        let (mut split, mut largest) = (None, if infeasible { -1.0 } else { APART });
        for k in (0..lcp.pairs).filter(|k| self.held[*k].is_none()) {
            let product = self.larger(lcp, k).1;
            if product > largest {
                (split, largest) = (Some(k), product);
            }
        }
        if split.is_none() && !infeasible {
            if self.round_pairs(lcp) {
                return Found::Point;
            }
            // all products are nearly zero, but the point is no solution: branch on the largest
            for k in (0..lcp.pairs).filter(|k| self.held[*k].is_none()) {
                let product = self.larger(lcp, k).1;
                if split.is_none() || product > largest {
                    (split, largest) = (Some(k), product);
                }
            }
        }
        let Some(k) = split else { return Found::Open };
        let side = self.larger(lcp, k).0;
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

    /// The variable of a pair that is smaller at the last point, and the product of both.
    fn larger(&self, lcp: &Lcp, k: usize) -> (PairSide, f64) {
        let i = lcp.free + k;
        let z = self.answer.x[i].max(0.0);
        let w = lcp.value(i, &self.answer.x).0.max(0.0);
        (if z > w { PairSide::W } else { PairSide::Z }, z * w)
    }

    /// Rounding heuristic: fixes the smaller variable of every pair at zero. Returns true if that
    /// is feasible, with the point in `v`. Otherwise the last point stays in `answer`.
    fn round_pairs(&mut self, lcp: &Lcp) -> bool {
        let held = self.held.clone();
        for k in 0..lcp.pairs {
            if self.held[k].is_none() {
                self.held[k] = Some(self.larger(lcp, k).0);
            }
        }
        self.build(lcp);
        let n = lcp.size();
        let mut answer = Solution::default();
        self.nearest(n, &mut answer);
        let found = answer.status == Status::Solved;
        if found {
            self.v.clone_from(&answer.x);
            self.refine(n, &mut answer);
            self.active.clear();
            let held = self.held.iter().enumerate().filter(|(_, side)| **side == Some(PairSide::W));
            self.active.extend(held.map(|(k, _)| k as u32));
            for (k, side) in self.held.iter().enumerate() {
                if *side == Some(PairSide::Z) {
                    self.v[lcp.free + k] = 0.0;
                }
            }
        }
        self.held = held;
        found
    }

    /// Iterative refinement: adds the smallest correction to `v` that satisfies the rows, computed
    /// in units of the largest violation.
    fn refine(&mut self, n: usize, answer: &mut Solution) {
        let mut largest = 0.0_f64;
        for (r, b) in self.b.iter_mut().enumerate() {
            *b -= self.rows.dot(r, &self.v);
            largest = largest.max(*b);
        }
        if !(largest > 0.0) {
            return;
        }
        self.b.iter_mut().for_each(|b| *b /= largest);
        self.nearest(n, answer);
        if answer.status == Status::Solved {
            for (v, d) in self.v.iter_mut().zip(&answer.x) {
                *v += largest * d;
            }
        }
    }

    /// Finds the point of the current polyhedron that is nearest to the origin.
    fn nearest(&mut self, n: usize, answer: &mut Solution) {
        let qp = Qp { n, P: &self.P, c: &self.c, A: &self.rows, b: &self.b, saturations: &[] };
        let settings = Settings { work_limit: self.work.left(), ..Settings::default() };
        self.solver.solve(&qp, &[], &settings, answer);
        self.work.spend(answer.work + u64::from(answer.reason == Some(Reason::Work)));
        self.solved += 1;
    }

    /// Writes the polyhedron of the current case as rows `A v ≥ b`.
    fn build(&mut self, lcp: &Lcp) {
        let (n, free) = (lcp.size(), lcp.free);
        self.rows.clear();
        self.b.clear();
        self.of.clear();
        for i in 0..n {
            let held = if i < free { Some(PairSide::W) } else { self.held[i - free] };
            self.columns.clear();
            self.values.clear();
            for j in 0..n {
                let gone = j >= free && self.held[j - free] == Some(PairSide::Z);
                if lcp.entry(i, j) != 0.0 && !gone {
                    self.columns.push(j as u32);
                    self.values.push(lcp.entry(i, j));
                }
            }
            self.rows.push(&self.columns, &self.values);
            self.b.push(-lcp.q[i]);
            self.of.push(Some((i as u32, 1.0)));
            if held == Some(PairSide::W) {
                self.values.iter_mut().for_each(|v| *v = -*v);
                self.rows.push(&self.columns, &self.values);
                self.b.push(lcp.q[i]);
                self.of.push(Some((i as u32, -1.0)));
            }
            if i >= free && held != Some(PairSide::Z) {
                self.rows.push(&[i as u32], &[1.0]);
                self.b.push(0.0);
                self.of.push(None);
            }
        }
    }

    /// Adds the Farkas multipliers of the infeasible program to the proof; returns whether they
    /// hold for the original data.
    fn refute(&mut self, original: &Lcp, scaled: &Scaled) -> bool {
        let mut y = vec![0.0; original.size()];
        for (of, value) in self.of.iter().zip(&self.answer.certificate) {
            if let Some((i, sign)) = of {
                y[*i as usize] += sign * value;
            }
        }
        let largest = y.iter().fold(0.0_f64, |m, y| m.max(y.abs()));
        for (k, y) in y.iter_mut().enumerate() {
            let free = k < original.free || self.held[k - original.free] == Some(PairSide::W);
            if y.abs() <= NO_MULTIPLIER * largest || (!free && *y < 0.0) {
                *y = 0.0;
            }
            *y /= scaled.row[k];
        }
        let case = Case { held: self.path.clone(), y };
        let holds = case.contradicts(original);
        if holds {
            self.proof.cases.push(case);
        }
        holds
    }
}
