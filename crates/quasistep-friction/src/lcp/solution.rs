//! Solution of a mixed linear complementarity problem.

use crate::lcp::problem::Lcp;
use crate::lcp::proof::Proof;
use quasistep_linalg::Reason;

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
