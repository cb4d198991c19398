//! Mixed linear complementarity problem and its solution.

use crate::Reason;
use crate::lcp::proof::Proof;

/// A mixed linear complementarity problem.
///
/// ```text
/// 0 = M_ff x + M_fz z + q_f             x free
/// w = M_zf x + M_zz z + q_z             0 ≤ w ⊥ z ≥ 0
/// ```
///
/// `M = [M_ff M_fz; M_zf M_zz]` is any square matrix; `M_ff` may be singular, or zero. Without free
/// variables this is the standard problem. It is rebuilt for every solve in the memory of the last
/// one.
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
    /// Matrix `M`, row-major, columns of free variables first.
    pub(crate) M: Vec<f64>,
    pub(crate) q: Vec<f64>,
}

impl Lcp {
    /// A problem without variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Resets to a problem of these sizes with all entries zero.
    pub fn reset(&mut self, free: usize, pairs: usize) {
        let n = free + pairs;
        (self.free, self.pairs) = (free, pairs);
        self.M.clear();
        self.M.resize(n * n, 0.0);
        self.q.clear();
        self.q.resize(n, 0.0);
    }

    /// Row `i` of `M`, of length `free + pairs`. Equations come first, then one row per pair.
    /// Columns of free variables come first.
    pub fn row(&mut self, i: usize) -> &mut [f64] {
        let n = self.size();
        &mut self.M[i * n..(i + 1) * n]
    }

    /// Constant `q`, length `free + pairs`, equations first.
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

/// Outcome of a solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LcpOutcome {
    /// `x`, `z` and `w` solve the problem up to [`LcpSolution::residuals`].
    Solved,
    /// There is no solution; [`LcpSolution::proof`] proves it.
    Unsolvable,
    /// Neither a solution nor a certificate that there is none was found. Lemke's method may end on
    /// a ray, which is a certificate only if `M` is copositive-plus. The matrix of a friction
    /// problem is not.
    Undecided,
    /// The data are invalid; [`LcpSolution::reason`] gives the cause.
    #[default]
    GaveUp,
}

/// Algorithm that found a solution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LcpMethod {
    /// The basis of the pairs given as active, without further pivots.
    #[default]
    Guess,
    /// Lemke's method from the pairs given as active.
    WarmLemke,
    /// Lemke's method from the crash basis.
    Lemke,
    /// Lemke's method with another covering vector.
    OtherCover,
    /// Lemke's method with every free variable as the difference of two nonnegative ones.
    Split,
    /// Branch and bound on the complementary pairs.
    Cases,
}

/// Residuals of a solution by the problem's own data, in the caller's units. Each is the largest
/// over its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LcpResiduals {
    /// Largest `|M_ff x + M_fz z + q_f|`.
    pub equations: f64,
    /// Largest violation of `w ≥ 0` and `z ≥ 0`, ≥ 0.
    pub sign: f64,
    /// Largest `|w_i z_i|`.
    pub complementarity: f64,
}

/// Result of a solve. Reuse one value for several solves: its memory is kept.
#[derive(Clone, Debug, Default)]
pub struct LcpSolution {
    /// Outcome of the solve.
    pub outcome: LcpOutcome,
    /// Reason for [`LcpOutcome::GaveUp`]; or [`Reason::Work`] if the work limit left the problem
    /// undecided.
    pub reason: Option<Reason>,
    /// Free variables, one entry each. Zero unless solved.
    pub x: Vec<f64>,
    /// Complementary variables, ≥ 0, one per pair. Zero unless solved.
    pub z: Vec<f64>,
    /// `M_zf x + M_zz z + q_z`, one entry per pair. Zero unless solved.
    pub w: Vec<f64>,
    /// Residuals of `x` and `z`; zero unless solved.
    pub residuals: LcpResiduals,
    /// Algorithm that found the solution.
    pub method: LcpMethod,
    /// Number of pivots (exchanges of a row and a column) of all attempts, including those to the
    /// crash basis.
    pub pivots: u32,
    /// Largest number of pivots of one attempt.
    pub longest: u32,
    /// Number of linear programs solved by branch and bound.
    pub cases: u32,
    /// Multiply-adds of pivots, factorisations and products. They are counted from matrix sizes, so
    /// they are the same on every machine. At most
    /// [`LcpSolver::work_limit`](crate::LcpSolver::work_limit).
    pub work: u64,
    /// Certificate that there is no solution, if unsolvable.
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
