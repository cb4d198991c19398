//! Mixed linear complementarity problem.

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
/// use quasistep_friction::{Lcp, LcpOutcome, LcpSolution, LcpSolver};
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
