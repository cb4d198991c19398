//! Set of algorithms that a solver may use.

/// A set of the algorithms of [`ConeSolver`](crate::ConeSolver). Each can be left out.
///
/// With fewer algorithms more programs end without a solution, but none with a wrong one: the same
/// check applies to the solutions of all algorithms.
/// [`Settings::methods`](crate::Settings::methods) selects a set.
///
/// ```
/// use quasistep_solvers::Methods;
///
/// let set = Methods::ALL.without(Methods::PROOF);
/// assert!(set.contains(Methods::NEWTON) && !set.contains(Methods::PROOF));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Methods(u8);

impl Methods {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// Dual active set for small programs.
    pub const ACTIVE_SET: Self = Self(1);
    /// Semismooth Newton method on the augmented Lagrangian, started from a warm start or from the
    /// unconstrained minimiser.
    pub const NEWTON: Self = Self(1 << 1);
    /// Interior point method in the caller's units, finished by Newton's method.
    pub const INTERIOR_POINT: Self = Self(1 << 2);
    /// Interior point method in units of the cones, finished by Newton's method.
    pub const SCALED_INTERIOR_POINT: Self = Self(1 << 3);
    /// Dense dual active set with a proximal term.
    pub const DENSE: Self = Self(1 << 4);
    /// Certificates of infeasibility and unboundedness, from auxiliary programs.
    pub const PROOF: Self = Self(1 << 5);
    /// Homogeneous embedding in double-double arithmetic.
    pub const EMBEDDING: Self = Self(1 << 6);
    /// All algorithms.
    pub const ALL: Self = Self((1 << 7) - 1);

    /// Each algorithm's name and its one-element set.
    pub const EACH: [(&'static str, Self); 7] = [
        ("active set", Self::ACTIVE_SET),
        ("Newton", Self::NEWTON),
        ("interior point", Self::INTERIOR_POINT),
        ("scaled interior point", Self::SCALED_INTERIOR_POINT),
        ("dense active set", Self::DENSE),
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
