//! Result of a solve: status, certificates, residuals.

/// Outcome of a solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// `x` and `z` are optimal up to [`Solution::residuals`].
    Solved,
    /// The cost decreases without bound along [`Solution::ray`].
    Unbounded,
    /// No `x` satisfies all rows; [`Solution::certificate`] proves it.
    Infeasible,
    /// No solution and no certificate was found; [`Solution::reason`] gives the cause.
    #[default]
    GaveUp,
}

/// Reason why a solve gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Lengths of the data disagree, a column or a saturation refers to a variable ≥ `n`, or a cone
    /// refers to a block without variables.
    Dimensions,
    /// A NaN or an infinity in the data (only [`Saturation::limit`](crate::Saturation::limit) may be infinite).
    NotFinite,
    /// `P` is not symmetric: `|P_ij − P_ji|` exceeds 1e-9 `√(P_ii P_jj)`.
    NotSymmetric,
    /// `P` has a direction of negative curvature, or a saturation has a negative stiffness or
    /// limit.
    NotConvex,
    /// The limit of pivots was reached.
    Pivots,
    /// [`Settings::work_limit`](crate::Settings::work_limit) was reached.
    Work,
    /// A coefficient of friction is negative.
    NegativeFriction,
    /// The best point found fails the check of [`Solution::residuals`], computed from the original
    /// data.
    Accuracy,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Dimensions => "lengths or indices of the problem disagree",
            Self::NotFinite => "a number in the problem is not finite",
            Self::NotSymmetric => "the cost is not symmetric",
            Self::NotConvex => "the cost is not convex",
            Self::Pivots => "the limit of pivots was reached",
            Self::Work => "the limit of work was reached",
            Self::NegativeFriction => "a coefficient of friction is negative",
            Self::Accuracy => "the best point found leaves forces or gaps out of balance",
        })
    }
}

/// Result of a solve. Reuse one value for several solves: its memory is kept.
#[derive(Clone, Debug, Default)]
pub struct Solution {
    /// Outcome of the solve.
    pub status: Status,
    /// Reason for [`Status::GaveUp`]; else `None`.
    pub reason: Option<Reason>,
    /// Minimiser, length `n`. The crate's documentation defines which one, if it is not unique.
    /// Zero unless solved.
    pub x: Vec<f64>,
    /// Multipliers of the rows, ≥ 0, one per row. Zero unless solved.
    ///
    /// Among all optimal multipliers they have the smallest Euclidean norm, if
    /// [`dual_is_smallest_norm`](Self::dual_is_smallest_norm) is true.
    pub z: Vec<f64>,
    /// Slacks of the rows, one per row: `A x − b`, or `E (J x − b)` of a cone program.
    pub s: Vec<f64>,
    /// If unbounded, a direction `d` of length `n` with `P d = 0`, `A d ≥ 0` and `cᵀd + Σ limit_k
    /// |d_k| < 0`, scaled to a largest entry of 1; else empty.
    pub ray: Vec<f64>,
    /// If infeasible, multipliers `y ≥ 0` of the rows with `Aᵀy = 0` and `bᵀy > 0`, scaled to a
    /// largest entry of 1; else empty.
    pub certificate: Vec<f64>,
    /// KKT residuals of `x` and `z`, computed from the original data; zero unless solved.
    pub residuals: Residuals,
    /// Number of iterations or pivots of all methods. Proximal rounds and repeated solves for
    /// saturations count too.
    pub iterations: u32,
    /// Multiply-adds of factorisations, triangular solves and products with the rows. They are
    /// counted from matrix sizes, so they are the same on every machine. At most
    /// [`Settings::work_limit`](crate::Settings::work_limit).
    pub work: u64,
    /// State of each Huber term. It is 1 if the variable is so far above its target that the force
    /// is `−limit`, −1 if it is so far below that the force is `+limit`, else 0.
    pub saturated: Vec<i8>,
    /// Whether the projection of `z` onto the smallest norm was verified to 1e-11. If not, `z` are
    /// optimal multipliers of a linearly independent working set, which are not unique.
    pub dual_is_smallest_norm: bool,
    /// Working set of a quadratic program: indices of linearly independent active rows, ascending. It is the
    /// best warm start of a similar problem. Empty for a cone program.
    pub working: Vec<u32>,
    /// Algorithm that found the solution.
    pub method: Method,
}

/// Algorithm that found a solution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Dense dual active set, for a quadratic program.
    #[default]
    ActiveSet,
    /// Semismooth Newton method, started from the active set of a similar problem.
    WarmNewton,
    /// Semismooth Newton method, started from the unconstrained minimiser.
    ColdNewton,
    /// Semismooth Newton method, started from the unconstrained minimiser after the warm start
    /// failed.
    RestartedNewton,
    /// Interior point method, finished by a crossover or by Newton's method where that converged.
    InteriorPoint,
    /// Certificate of infeasibility or unboundedness, searched after the methods before failed.
    Proof,
    /// Homogeneous embedding in double-double arithmetic, or a certificate from it, after all other
    /// methods failed.
    Embedding,
}

impl Method {
    /// Whether Newton's method and the interior point failed before this one.
    pub fn is_fallback(self) -> bool {
        matches!(self, Self::Proof | Self::Embedding)
    }
}

/// KKT residuals of a solution in the caller's units; each is the largest over its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Residuals {
    /// Largest `|P x + c + ∇huber − Aᵀ z|` over the variables.
    pub stationarity: f64,
    /// Largest violation of `A x ≥ b`, ≥ 0.
    pub primal: f64,
    /// Largest violation of `z ≥ 0`, ≥ 0.
    pub dual: f64,
    /// Largest `|z_i (A x − b)_i|`.
    pub complementarity: f64,
}
