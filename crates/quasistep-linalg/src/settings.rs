//! Settings of a solve, and the set of algorithms that a solver may use.

/// Settings of the solvers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Limit of work of one solve, in multiply-adds as counted by
    /// [`Solution::work`](crate::Solution::work). A solve that needs more ends with
    /// [`Reason::Work`](crate::Reason::Work).
    ///
    /// The default 5e9 takes about a second on one core. For comparison, a cold start of the largest
    /// recorded program (200 boxes, round cones) takes 6e8.
    pub work_limit: u64,
    /// Absolute primal tolerance: violation of a row that counts as zero, in the unit that all rows
    /// of the program share. Keep 0 (the default) if they do not share one.
    ///
    /// `ConeSolver` uses it where all speeds and costs are zero, so that there is no reference size
    /// for a violation.
    pub rest: f64,
    /// Largest number of threads; 0 (the default) and 1 mean no parallelism.
    ///
    /// `ConeSolver` uses them for the interior point on islands of 100 cones and more. An island is a set of blocks that no cone connects to other blocks. Results do not
    /// depend on the number of threads. A solve on several threads allocates.
    pub threads: u32,
    /// Relative KKT tolerance of an approximate solution. 0 (the default) asks for an exact active
    /// set, all digits and the smallest-norm multipliers.
    ///
    /// On every island, stationarity and dual residuals are shares of its largest force, primal
    /// residuals of its largest speed, and complementarity products of both. The speed is at least
    /// that force over the largest curvature. Stationarity also holds with every force divided by
    /// the root of its variable's curvature, so it does not depend on the units of variables.
    ///
    /// `ConeSolver` uses it for more than 32 variables, or 100 with a warm start. It then returns the interior point's last iterate, near the analytic centre of the
    /// solution set. This is faster, but the iterate is a poor warm start. Where rows are
    /// degenerate, speeds have far fewer correct digits than the balance of forces. If the interior
    /// point does not reach the tolerance, an exact solution is computed instead.
    pub accuracy: f64,
    /// Algorithms that `ConeSolver` may use; all of them by default.
    pub methods: Methods,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            work_limit: 5_000_000_000,
            rest: 0.0,
            threads: 0,
            accuracy: 0.0,
            methods: Methods::ALL,
        }
    }
}

/// A set of the algorithms of `ConeSolver`. Each can be left out.
///
/// With fewer algorithms more programs end without a solution, but none with a wrong one: the same
/// check applies to the solutions of all algorithms. [`Settings::methods`] selects a set.
///
/// ```
/// use quasistep_linalg::Methods;
///
/// let set = Methods::ALL.without(Methods::PROOF);
/// assert!(set.contains(Methods::NEWTON) && !set.contains(Methods::PROOF));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Methods(u8);

impl Methods {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// Semismooth Newton method on the augmented Lagrangian, started from a warm start or from the
    /// unconstrained minimiser.
    pub const NEWTON: Self = Self(1);
    /// Interior point method in the caller's units, finished by Newton's method.
    pub const INTERIOR_POINT: Self = Self(1 << 1);
    /// Interior point method in units of the cones, finished by Newton's method.
    pub const SCALED_INTERIOR_POINT: Self = Self(1 << 2);
    /// Certificates of infeasibility and unboundedness, from auxiliary programs.
    pub const PROOF: Self = Self(1 << 3);
    /// Homogeneous embedding in double-double arithmetic.
    pub const EMBEDDING: Self = Self(1 << 4);
    /// All algorithms.
    pub const ALL: Self = Self((1 << 5) - 1);

    /// Each algorithm's name and its one-element set.
    pub const EACH: [(&'static str, Self); 5] = [
        ("Newton", Self::NEWTON),
        ("interior point", Self::INTERIOR_POINT),
        ("scaled interior point", Self::SCALED_INTERIOR_POINT),
        ("proofs", Self::PROOF),
        ("embedding", Self::EMBEDDING),
    ];

    /// Whether all of `engines` are in the set.
    pub const fn contains(self, engines: Self) -> bool {
        self.0 & engines.0 == engines.0
    }

    /// The union of the set and `engines`.
    #[must_use]
    pub const fn with(self, engines: Self) -> Self {
        Self(self.0 | engines.0)
    }

    /// The set without `engines`.
    #[must_use]
    pub const fn without(self, engines: Self) -> Self {
        Self(self.0 & !engines.0)
    }
}
