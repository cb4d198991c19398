//! Driver for complementarity problems: the order of attempts, their starting points, and the check
//! of their solutions.

use crate::lcp::cases::{Cases, Found};
use crate::lcp::crash::{Crash, NoBasis};
use crate::lcp::lemke::{End, Lemke};
use crate::lcp::problem::Lcp;
use crate::lcp::scaling::Scaled;
use crate::lcp::solution::{LcpMethod, LcpOutcome, LcpResiduals, LcpSolution};
use crate::lcp::tableau::Tableau;
use crate::tolerances::ROUNDING;
use crate::tolerances::lcp::SCALED;
use quasistep_linalg::budget::Budget;
use quasistep_linalg::{Reason, Settings};

/// Default limit of linear programs in branch and bound.
const CASES: u32 = 600;
/// Number of further covering vectors that are tried.
const COVERS: u32 = 4;

/// Solver for [`Lcp`]s and its memory; contents of the memory do not affect results. Equal problems
/// and hints give equal bits.
///
/// It tries in this order, until one step decides:
///
/// 1. the basis of the pairs that the caller gives as active, which is often the solution;
/// 2. Lemke's method with lexicographic pivoting, from that basis and then from the crash basis. An
///    attempt has at most `3 (free + pairs)` pivots, and bases are refactorised from the problem's
///    own data;
/// 3. Farkas multipliers of the rows without complementarity, which prove that there is no
///    solution;
/// 4. Lemke's method with other covering vectors, and with free variables split in two;
/// 5. branch and bound on the pairs, up to the limit: a solution, or a certificate that there is
///    none.
#[derive(Debug, Default)]
pub struct LcpSolver {
    scaled: Scaled,
    tableau: Tableau,
    crash: Crash,
    lemke: Lemke,
    cases: Cases,
    v: Vec<f64>,
    split: Option<Box<(Lcp, Scaled)>>,
    /// Limit of linear programs in branch and bound. `None` means 600; 1 allows only the
    /// certificate of step 3.
    pub budget: Option<u32>,
    /// Limit of work of one solve, in multiply-adds as counted by [`LcpSolution::work`]. A solve
    /// that needs more ends undecided, with [`Reason::Work`]. `None` means the default of
    /// [`Settings`].
    pub work_limit: Option<u64>,
    work: Budget,
}

impl LcpSolver {
    /// A solver without allocated memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Solves `lcp` and writes the result to `out`. `active` lists pairs that are expected to have
    /// `z_i > 0`, in any order.
    pub fn solve(&mut self, lcp: &Lcp, active: &[u32], out: &mut LcpSolution) {
        self.work.start(self.work_limit.unwrap_or(Settings::default().work_limit));
        self.tableau.work = self.work.clone();
        self.cases.work = self.work.clone();
        self.decide(lcp, active, out);
        out.work = self.work.spent();
        if out.outcome == LcpOutcome::Undecided && self.work.is_spent() {
            out.reason = Some(Reason::Work);
        }
    }

    /// Runs all attempts in order.
    fn decide(&mut self, lcp: &Lcp, active: &[u32], out: &mut LcpSolution) {
        out.reset(lcp);
        if !lcp.is_finite() {
            out.reason = Some(Reason::NotFinite);
            return;
        }
        if !self.scaled.fill(lcp, &self.work) {
            out.outcome = LcpOutcome::Undecided;
            return;
        }
        let warm = !active.is_empty() && self.attempt(lcp, active, 0, out);
        if warm || self.attempt(lcp, &[], 0, out) {
            return;
        }
        let budget = self.budget.unwrap_or(CASES);
        if self.search(lcp, 1, out) {
            return;
        }
        for cover in 1..=COVERS {
            if self.attempt(lcp, if cover % 2 == 0 { active } else { &[] }, cover, out) {
                return;
            }
        }
        if lcp.free > 0 && self.attempt_split(lcp, out) {
            return;
        }
        if budget > 1 && self.search(lcp, budget, out) {
            return;
        }
        let LcpSolution { pivots, longest, cases, .. } = *out;
        out.reset(lcp);
        out.outcome = LcpOutcome::Undecided;
        (out.pivots, out.longest, out.cases) = (pivots, longest, cases);
    }

    /// One run of Lemke's method; returns whether it found a solution.
    fn attempt(&mut self, lcp: &Lcp, active: &[u32], cover: u32, out: &mut LcpSolution) -> bool {
        let Self { scaled, tableau, crash, lemke, .. } = self;
        if !tableau.work.spend((lcp.size() * lcp.size()) as u64) {
            return false;
        }
        tableau.start(&scaled.lcp);
        let first = crash.run(tableau, active);
        let before = tableau.pivots;
        let end = match first {
            Ok(()) => lemke.run(&scaled.lcp, tableau, limit(&scaled.lcp), covering(cover)),
            Err(NoBasis::Contradiction | NoBasis::Unpaired) => End::Stopped,
        };
        let pivots = tableau.pivots;
        out.pivots += pivots;
        out.longest = out.longest.max(pivots);
        if end != End::Solved {
            return false;
        }
        tableau.refine(&scaled.lcp, &mut self.v);
        out.method = match cover {
            0 if pivots == before => LcpMethod::Guess,
            0 if !active.is_empty() => LcpMethod::WarmLemke,
            0 => LcpMethod::Lemke,
            _ => LcpMethod::OtherCover,
        };
        self.accept(lcp, out)
    }

    /// Lemke's method with free variables split as `x = p − m`, where `p` and `m` belong to
    /// additional pairs. It needs no crash basis.
    fn attempt_split(&mut self, lcp: &Lcp, out: &mut LcpSolution) -> bool {
        if self.work.is_spent() {
            return false;
        }
        let mut memory = self.split.take().unwrap_or_default();
        let (twice, twice_scaled) = &mut *memory;
        let (n, free) = (lcp.size(), lcp.free);
        twice.reset(0, n + free);
        let place = |i: usize| if i < free { i } else { i + free };
        for i in 0..n {
            let (q, to) = (lcp.q[i], place(i));
            twice.q()[to] = q;
            for j in 0..n {
                let v = lcp.entry(i, j);
                twice.row(to)[place(j)] = v;
                if j < free {
                    twice.row(to)[j + free] = -v;
                }
            }
            if i < free {
                twice.q()[i + free] = -q;
                let width = n + free;
                let (upper, lower) = twice.M.split_at_mut((i + free) * width);
                for (lower, upper) in lower[..width].iter_mut().zip(&upper[i * width..]) {
                    *lower = -upper;
                }
            }
        }
        let enough = twice_scaled.fill(twice, &self.work);
        let mut solved = false;
        for cover in if enough { 0..2 } else { 0..0 } {
            let t = &mut self.tableau;
            t.start(&twice_scaled.lcp);
            let end =
                self.lemke.run(&twice_scaled.lcp, t, limit(&twice_scaled.lcp), covering(cover));
            out.pivots += t.pivots;
            if end != End::Solved {
                continue;
            }
            t.refine(&twice_scaled.lcp, &mut self.v);
            let value = |j: usize| self.v[j] * twice_scaled.size * twice_scaled.column[j];
            let point: Vec<f64> = (0..n)
                .map(|j| if j < free { value(j) - value(j + free) } else { value(j + free) })
                .enumerate()
                .map(|(j, v)| v / (self.scaled.size * self.scaled.column[j]))
                .collect();
            // if these pairs give a basis of the original problem, it is more accurate
            let active: Vec<u32> = (0..lcp.pairs as u32)
                .filter(|k| self.tableau.is_basic(n + 3 * free + *k as usize))
                .collect();
            solved = self.attempt(lcp, &active, 0, out) || {
                self.v = point;
                self.accept(lcp, out)
            };
            if solved {
                out.method = LcpMethod::Split;
                break;
            }
        }
        self.split = Some(memory);
        solved
    }

    /// Branch and bound with at most `budget` programs; returns whether the problem is decided.
    fn search(&mut self, lcp: &Lcp, budget: u32, out: &mut LcpSolution) -> bool {
        let found = self.cases.search(lcp, &self.scaled, budget);
        out.cases += self.cases.solved;
        match found {
            Found::Nothing => {
                let LcpSolution { pivots, longest, cases, .. } = *out;
                out.reset(lcp);
                out.outcome = LcpOutcome::Unsolvable;
                out.method = LcpMethod::Cases;
                out.proof = Some(std::mem::take(&mut self.cases.proof));
                (out.pivots, out.longest, out.cases) = (pivots, longest, cases);
                true
            }
            Found::Point => {
                // if the active pairs give a basis, it is more accurate than the point
                let active = std::mem::take(&mut self.cases.active);
                let mut solved = self.attempt(lcp, &active, 0, out);
                if !solved {
                    self.v.clone_from(&self.cases.v);
                    solved = self.accept(lcp, out);
                }
                self.cases.active = active;
                out.method = LcpMethod::Cases;
                solved
            }
            Found::Open => false,
        }
    }

    /// Checks `v`, a point in scaled units, against the problem's own data; accepts it and returns
    /// true if it is a solution.
    fn accept(&mut self, lcp: &Lcp, out: &mut LcpSolution) -> bool {
        let (free, n) = (lcp.free, lcp.size());
        let scaled = &self.scaled;
        for (j, v) in self.v.iter_mut().enumerate() {
            *v *= scaled.size * scaled.column[j];
            if j >= free && *v < 0.0 {
                // negative values are rounding; the residuals below are computed with zero
                *v = 0.0;
            }
        }
        let v = &self.v;
        let mut r = LcpResiduals::default();
        for i in 0..n {
            let (value, terms) = lcp.value(i, v);
            let rounding = ROUNDING * terms + SCALED * scaled.size * scaled.row[i];
            if !(value.abs() <= f64::MAX) {
                return false;
            }
            if i < free {
                r.equations = r.equations.max(value.abs());
                if value.abs() > rounding {
                    return false;
                }
                continue;
            }
            r.sign = r.sign.max(-value);
            r.complementarity = r.complementarity.max((value * v[i]).abs());
            if value < -rounding || (v[i] > 0.0 && value > rounding) {
                return false;
            }
            out.w[i - free] = value;
        }
        out.x.copy_from_slice(&v[..free]);
        out.z.copy_from_slice(&v[free..]);
        out.residuals = r;
        out.outcome = LcpOutcome::Solved;
        true
    }
}

/// Limit of pivots of one attempt.
fn limit(lcp: &Lcp) -> u32 {
    3 * lcp.size() as u32
}

/// Covering vector of an attempt: all ones; then ones in rows with negative `q`; then pseudorandom
/// numbers in [1/2, 2].
fn covering(cover: u32) -> impl FnMut(usize, f64) -> f64 {
    let mut seed = u64::from(cover).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    move |_, q| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let random = (seed >> 11) as f64 / (1_u64 << 53) as f64;
        match cover {
            0 => 1.0,
            1 => f64::from(u8::from(q < 0.0)),
            _ => 4f64.powf(random - 0.5),
        }
    }
}
