//! The problem and its answer.

use crate::Reason;
use crate::lcp::proof::Proof;

/// A mixed linear complementarity problem.
///
/// ```text
/// 0 = M_ff x + M_fz z + q_f             x free
/// w = M_zf x + M_zz z + q_z             0 ≤ w ⊥ z ≥ 0
/// ```
///
/// `M = [M_ff M_fz; M_zf M_zz]` is any square matrix, `M_ff` may be singular, or zero; without free
/// variables this is the standard problem. Built anew for every solve, in the memory of the last one.
///
/// ```
/// use quasistep_solvers::{Lcp, LcpOutcome, LcpSolution, LcpSolver};
///
/// // a weight of 2 N, without mass, on a floor at x = 0: the floor pushes with 2 N
/// let mut lcp = Lcp::new();
/// lcp.reset(1, 1);
/// lcp.row(0)[1] = 1.0;
/// lcp.q()[0] = -2.0;
/// lcp.row(1)[0] = 1.0;
/// let mut solution = LcpSolution::default();
/// LcpSolver::new().solve(&lcp, &[], &mut solution);
/// assert_eq!(solution.outcome, LcpOutcome::Solved);
/// assert_eq!((solution.x[0], solution.z[0]), (0.0, 2.0));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Lcp {
    /// Number of free variables.
    pub(crate) free: usize,
    /// Number of complementary pairs.
    pub(crate) pairs: usize,
    /// Row-major, free variables first.
    pub(crate) M: Vec<f64>,
    pub(crate) q: Vec<f64>,
}

impl Lcp {
    /// A problem without variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts anew with all entries zero.
    pub fn reset(&mut self, free: usize, pairs: usize) {
        let n = free + pairs;
        (self.free, self.pairs) = (free, pairs);
        self.M.clear();
        self.M.resize(n * n, 0.0);
        self.q.clear();
        self.q.resize(n, 0.0);
    }

    /// Row `i` of `M`: equations first, then one row per pair; free variables are the first columns.
    pub fn row(&mut self, i: usize) -> &mut [f64] {
        let n = self.size();
        &mut self.M[i * n..(i + 1) * n]
    }

    /// The constant `q`, equations first.
    pub fn q(&mut self) -> &mut [f64] {
        &mut self.q
    }

    /// Number of free variables.
    pub fn n_free(&self) -> usize {
        self.free
    }

    /// Number of complementary pairs.
    pub fn n_pairs(&self) -> usize {
        self.pairs
    }

    /// Number of rows and columns.
    pub(crate) fn size(&self) -> usize {
        self.free + self.pairs
    }

    pub(crate) fn entry(&self, i: usize, j: usize) -> f64 {
        self.M[i * self.size() + j]
    }

    /// Row `i` of `M v + q`, and the sum of the magnitudes of its terms.
    pub(crate) fn value(&self, i: usize, v: &[f64]) -> (f64, f64) {
        let row = &self.M[i * self.size()..(i + 1) * self.size()];
        let (mut sum, mut terms) = (self.q[i], self.q[i].abs());
        for (a, v) in row.iter().zip(v) {
            sum += a * v;
            terms += (a * v).abs();
        }
        (sum, terms)
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.M.iter().chain(&self.q).all(|v| v.is_finite())
    }
}

/// How a solve ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LcpOutcome {
    /// `x`, `z` and `w` solve the problem.
    Solved,
    /// No `x` and `z` solve it: [`LcpSolution::proof`] says why.
    Unsolvable,
    /// Neither an answer nor a proof that there is none was found. Lemke's method may end on a ray;
    /// unless `M` is copositive-plus, which that of a friction problem is not, that proves nothing.
    Undecided,
    /// The data are not valid; [`LcpSolution::reason`] says why.
    #[default]
    GaveUp,
}

/// The algorithm behind an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LcpMethod {
    /// The given pairs are the active ones: no pivot was needed after them.
    #[default]
    Guess,
    /// Lemke's method from the given pairs.
    WarmLemke,
    /// Lemke's method from the first basis.
    Lemke,
    /// Lemke's method with another covering vector than the first.
    OtherCover,
    /// Lemke's method with every free variable as the difference of two others.
    Split,
    /// Branch and bound on the pairs.
    Cases,
}

/// Worst errors of a solution by the problem's own data, in the caller's units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LcpResiduals {
    /// `|M_ff x + M_fz z + q_f|`.
    pub equations: f64,
    /// Most negative entry of `w` and `z`, as a positive number.
    pub sign: f64,
    /// `|w_i z_i|`.
    pub complementarity: f64,
}

/// Answer of a solve. Reuse one value: its memory is kept.
#[derive(Clone, Debug, Default)]
pub struct LcpSolution {
    /// How it ended.
    pub outcome: LcpOutcome,
    /// Why the solve gave up, or [`Reason::Work`] if the limit of work left the
    /// problem undecided.
    pub reason: Option<Reason>,
    /// Free variables. Zero unless solved.
    pub x: Vec<f64>,
    /// Complementary variables, ≥ 0. Zero unless solved.
    pub z: Vec<f64>,
    /// `M_zf x + M_zz z + q_z`. Zero unless solved.
    pub w: Vec<f64>,
    /// Residuals of `x` and `z`; zero unless solved.
    pub residuals: LcpResiduals,
    /// The algorithm behind the answer.
    pub method: LcpMethod,
    /// Pivots of all attempts: exchanges of a row and a column, those to the first basis included.
    pub pivots: u32,
    /// Most pivots of one attempt.
    pub longest: u32,
    /// Linear programs solved by the search through cases.
    pub cases: u32,
    /// Multiply-adds of pivots, factorisations and products, counted from their sizes: the same number on every machine,
    /// at most [`LcpSolver::work_limit`](crate::LcpSolver::work_limit).
    pub work: u64,
    /// The proof, if unsolvable.
    pub proof: Option<Proof>,
}

impl LcpSolution {
    pub(crate) fn reset(&mut self, lcp: &Lcp) {
        self.outcome = LcpOutcome::GaveUp;
        self.reason = None;
        for (v, n) in [(&mut self.x, lcp.free), (&mut self.z, lcp.pairs), (&mut self.w, lcp.pairs)]
        {
            v.clear();
            v.resize(n, 0.0);
        }
        self.residuals = LcpResiduals::default();
        self.method = LcpMethod::default();
        (self.pivots, self.longest, self.cases, self.work) = (0, 0, 0, 0);
        self.proof = None;
    }
}
