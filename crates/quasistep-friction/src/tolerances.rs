//! Tolerances. Each comment gives the reference size and the reason for the value. Iteration limits
//! stand beside their loops.
//!
//! Where a comment reports the effect of a tenfold change, it was measured on the random and
//! recorded friction programs of `benches`. Work counts multiply-adds.

pub(crate) use quasistep_linalg::tolerances::{CLEAR, DIVERGED, MODERATE, NO_MULTIPLIER, ROUNDING};

/// Largest entry of a sum that must vanish in a certificate, as a share of the sum's terms. With
/// 1e-9 or more, a certificate of unbalanced forces would ignore a stiffness of that relative size.
/// With a tenth, one certificate is lost.
pub(crate) const CANCELS: f64 = 1e-10;

/// Complementarity product (force times rate) above which the search through cases branches on a
/// pair. Both factors are scaled to moderate size.
pub(crate) const APART: f64 = 1e-12;

/// Weight of the proximal term of a variable, where scaled variables have curvature 1.
pub(crate) const PROXIMAL: f64 = 1e-5;

/// Semismooth Newton method for Coulomb friction, and its continuation in the penalty.
pub(crate) mod newton_of_friction {
    /// Factor of the least residual so far below which a new residual counts as progress.
    pub(crate) const PROGRESS: f64 = 0.9;
    /// Jacobian entry that is rounding, as a share of the largest of its contact. Such a variable
    /// counts as untouched by the contact.
    pub(crate) const BY_CHANCE: f64 = 1e-15;
    /// Penalty parameter of a cone, over the stiffness with which the cost resists motion of its
    /// rows.
    pub(crate) const PENALTY: f64 = 1e5;
    /// Residual of stationarity at which a Newton solve has converged, as a share of the largest
    /// term.
    pub(crate) const SOLVED: f64 = 1e-13;
    /// Residual at which a Newton solve that makes no more progress counts as converged, as a share
    /// of the largest term.
    pub(crate) const STALLED: f64 = 1e-9;
    /// Residual of stationarity that is rounding, as a share of the largest force.
    pub(crate) const ROUNDING: f64 = 1e-15;
    /// Residual at which the first Newton solve counts as converged, as a share of the largest
    /// term. It need not be smaller, because the multiplier update follows.
    pub(crate) const ROUGH: f64 = 1e-5;
    /// Change of the forces in a multiplier update, over the largest force, below which Coulomb's
    /// law is checked. The next update reduces the change to 1e-5 of itself.
    pub(crate) const LITTLE: f64 = 1e-7;
    /// Change of the forces in a multiplier update, over the largest force, that is rounding:
    /// further updates gain no digits.
    pub(crate) const REACHED: f64 = 1e-13;
    /// Penalty parameter for fast slip, where the usual one amplifies rounding of rates into
    /// forces. On a pyramid this happens for slip along the bisector of two edges, where friction
    /// depends on a difference of two rates. With this penalty an update leaves 1e-2 of the error
    /// instead of 1e-5, and the rounding of forces is a thousand times smaller.
    pub(crate) const CALM: f64 = 1e2;
    /// Largest growth factor of the penalty parameter in one continuation step.
    pub(crate) const GROWTH: f64 = 10.0;
    /// Residual, over the largest term, at which a Newton solve with a penalty other than
    /// [`PENALTY`] counts as converged.
    pub(crate) const SETTLED: f64 = 1e-8;
    /// Shortest line-search step, as a share of Newton's step. Below it the residual has no descent
    /// along Newton's direction: the point is a nonsmooth local minimum.
    pub(crate) const SHORTEST: f64 = 1e-3;
    /// Penalty parameter for linearly dependent rows with inconsistent offsets. An inconsistency of
    /// 1e-11 of the speeds, the largest allowed, changes forces by a hundredth of the forces at
    /// those speeds.
    pub(crate) const LARGEST_PENALTY: f64 = 1e9;
    /// Residual that rounding of the rates causes, over the largest term and the penalty parameter.
    /// No Newton solve can reach less.
    pub(crate) const NOISE: f64 = 1e-16;
    /// Width of the bracket around a breakpoint (a cone opens, slips or sticks), as a share of the
    /// distance to it. More digits are not needed: the next multiplier update starts from that
    /// point.
    pub(crate) const BRACKET: f64 = 1e-3;
    /// Longest extrapolation of multipliers that drift from update to update, over the largest
    /// force. Longer extrapolations diverge.
    pub(crate) const FARTHEST: f64 = 10.0;
    /// First penalty parameter of the continuation, over the stiffness of the cost. With larger
    /// values Newton's method fails on large programs; smaller values need more continuation steps.
    pub(crate) const SOFT: f64 = 100.0;
    /// Residual, as a share of the largest term, at which a Newton solve of the continuation counts
    /// as converged before the largest penalty is reached.
    pub(crate) const PASSED: f64 = 1e-3;
    /// Least growth factor of the penalty parameter in one continuation step. Each failure replaces
    /// the factor by its square root, but by no less than this.
    pub(crate) const GENTLEST: f64 = 1.5;
    /// Factor by which the growth of the penalty parameter increases after a Newton solve of few
    /// steps.
    pub(crate) const RECOVERY: f64 = 1.2;
    /// First growth factor of the penalty parameter where a homotopy follows the solution; the next
    /// constant is the largest. The factor is large because multiplier updates cost more there than
    /// the breakpoints between them.
    pub(crate) const GROWTH_BY_HOMOTOPY: f64 = 20.0;
    pub(crate) const GROWTH_BY_HOMOTOPY_MOST: f64 = 30.0;
    /// Share of the homotopy parameter's least value so far below which a new value counts as
    /// progress.
    pub(crate) const HOMOTOPY_NEARER: f64 = 0.99;
    /// Largest homotopy parameter after the path has turned back, over its value at the start.
    pub(crate) const HOMOTOPY_FARTHEST: f64 = 2.0;
    /// Least penalty parameter of the continuation, over the stiffness of the cost. Smaller values
    /// make Newton solves no easier.
    pub(crate) const SOFTEST: f64 = 1e-3;
    /// Share of the squared residual below which a failed Newton solve is still followed by a
    /// multiplier update.
    pub(crate) const NEARER: f64 = 0.5;
}

/// Coulomb's law: check of solutions, certificates, uniqueness of motions and forces.
pub(crate) mod friction {
    /// Acceptable error of a residual, as a share of the terms of its sum. Also the normal force
    /// that counts as zero, as a share of the largest.
    pub(crate) const TERMS: f64 = 1e-11;
    /// Acceptable error of a residual, as a share of the largest force or speed over all cones. It
    /// applies where all terms of the residual are small.
    pub(crate) const LARGEST: f64 = 1e-13;
    /// Largest normal rate of a closed contact, as a share of the largest speed. Dependent rows are
    /// inconsistent by the caller's rounding of gaps, divided by the time step.
    pub(crate) const CONTRADICTION: f64 = 1e-11;
    /// Acceptable rate error, as a share of the largest speed, where rows are inconsistent and
    /// multiplier updates make no progress: as for rows of convex programs. The next constant
    /// bounds it as a multiple of the rate that counts as zero: half of what the caller's check of
    /// a step allows.
    pub(crate) const ROWS: f64 = 1e-9;
    pub(crate) const RESTS: f64 = 500.0;
    /// Rounding error of stationarity, as a share of its terms. Where all contact forces vanish, it
    /// is a share of the force that the data suggest; otherwise a block without cost under a single
    /// cone would have no acceptable solution.
    pub(crate) const REST: f64 = 1e-15;
    /// Errors are compared with at most this multiple of the force or rate that the data suggest.
    pub(crate) const PROPORTION: f64 = 1e4;
    /// Newton's method restarts from a convex program of the fixed-point iteration whose residual
    /// is below this share of that at the last start.
    pub(crate) const NEARER: f64 = 0.1;
    /// Smallest step factor of the fixed-point iteration; the next constant is the largest. The
    /// largest lets a linear drift of the iterates reach the next change of modes.
    pub(crate) const SLOWEST: f64 = 1e-2;
    pub(crate) const FASTEST: f64 = 1e6;
    /// Squared sine of a secant to the span of newer secants below which it counts as linearly
    /// dependent.
    pub(crate) const SECANTS_ALIKE: f64 = 1e-10;
    /// Least angle (rad) of an arc of slip directions that the search through cases still bisects.
    pub(crate) const NARROW: f64 = 1e-6;
    /// Rounding error of inner products of vertices in Wolfe's minimum-norm-point algorithm, as a
    /// share of the largest product.
    pub(crate) const PRODUCT_ROUNDING: f64 = 1e-14;
    /// Distance from a polytope that counts as zero, as a share of the polytope's size. Also the
    /// entry of a row of conditions on directions that counts as zero.
    pub(crate) const INSIDE: f64 = 1e-12;
    /// Gap or slip that counts as zero in uniqueness tests, as a share of the largest speed. Also
    /// the distance from the friction limit, as a share of the force.
    pub(crate) const NONE: f64 = 1e-9;
    /// Length of a vector's projection on the cone of free motions that counts as zero, as a share
    /// of the vector's length.
    pub(crate) const ZERO_MOTION: f64 = 1e-7;
    /// Length of a projected motion or change of forces that counts as zero, as a share of its
    /// length before the projection.
    pub(crate) const ZERO_EXCHANGE: f64 = 1e-6;
    /// Power of a cone's generator that counts as positive, as a share of the largest power among
    /// all generators.
    pub(crate) const SHARE: f64 = 1e-3;
    /// Length of a unit row's component across the span of other rows, below which the row counts
    /// as linearly dependent.
    pub(crate) const DEPENDENT: f64 = 1e-10;
}

/// For a derivative, a contact is at a kink if its force is below this share of the largest force,
/// or its rate below this share of the rate's terms. It is smaller than for cone programs, because
/// these solutions are checked more strictly and slow slip occurs at the friction limit.
pub(crate) const EXACT_TIE: f64 = 1e-9;

/// Linear complementarity problems, in scaled data whose entries are about 1.
pub(crate) mod lcp {
    /// Acceptable error of a row in scaled units where its terms nearly vanish.
    pub(crate) const SCALED: f64 = 1e-15;
    /// Least entry that the ratio test divides by, as a share of the largest of its column.
    pub(crate) const ENTRY: f64 = 1e-9;
    /// Difference of two ratios that counts as a tie, as a share of their terms.
    pub(crate) const TIE: f64 = 1e-11;
    /// Difference of two perturbed ratios in the lexicographic order that counts as a tie, as a share of the larger one.
    pub(crate) const LEXICOGRAPHIC_TIE: f64 = 1e-10;
    /// Pivot of the crash basis below which 2 × 2 pivots are tried. Also the least size with which
    /// perturbed ratios are compared, as a share of the pivot entries.
    pub(crate) const WEAK: f64 = 1e-3;
    /// Least pivot on the way to the crash basis.
    pub(crate) const PIVOT: f64 = 1e-8;
    /// Least constant of an equation without variables that makes it inconsistent.
    pub(crate) const CONSTANT: f64 = 1e-10;
    /// Largest pivot at which a basis counts as singular.
    pub(crate) const SINGULAR: f64 = 1e-13;
}
