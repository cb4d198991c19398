//! Which methods the solver of programs with exact friction may use.

/// A set of methods of [`CoulombSolver`](crate::CoulombSolver), to see what each is worth: the convex relaxation
/// with its proofs, and the check of every answer, belong to all of them.
///
/// ```
/// use quasistep_solvers::CoulombMethods;
///
/// let all_but_lemke = CoulombMethods::ALL.without(CoulombMethods::LEMKE);
/// assert!(all_but_lemke.has(CoulombMethods::NEWTON) && !all_but_lemke.has(CoulombMethods::LEMKE));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoulombMethods(u8);

impl CoulombMethods {
    /// None of them.
    pub const NONE: Self = Self(0);
    /// Newton's method on the law, from a similar answer and from the relaxation.
    pub const NEWTON: Self = Self(1);
    /// Newton's method with penalties that grow from soft contacts to hard ones.
    pub const CONTINUATION: Self = Self(1 << 1);
    /// The piecewise linear homotopy between two answers of the continuation, for pyramids.
    pub const HOMOTOPY: Self = Self(1 << 2);
    /// The fixed point over convex programs with shifted gaps, each finished by Newton's method.
    pub const FIXED_POINT: Self = Self(1 << 3);
    /// Lemke's method, for pyramids.
    pub const LEMKE: Self = Self(1 << 4);
    /// The search through all cases of a complementarity problem, for pyramids: an answer or a proof.
    pub const CASES: Self = Self(1 << 5);
    /// All of them.
    pub const ALL: Self = Self((1 << 6) - 1);

    /// Whether all of `others` are in the set.
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// The set with `others`.
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// The set without `others`.
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }
}

impl Default for CoulombMethods {
    fn default() -> Self {
        Self::ALL
    }
}
