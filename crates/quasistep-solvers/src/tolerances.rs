//! Tolerances of exact friction, active sets and derivatives: what each is a share of, and why. Those of the other engines stand
//! beside them.

// Exact friction.

/// Entry of a sum that a proof says is zero, as a share of its terms; at most 1e-9, from which on a proof of
/// unsupported forces would hold against a spring of that share.
pub(crate) const CANCELS: f64 = 1e-10;
/// What a proof says is larger than zero, as a share of its terms: four digits above [`CANCELS`], so that what does not cancel
/// cannot make up for it.
pub(crate) const CLEAR: f64 = 1e-6;
/// Multiplier that is rounding, as a share of the largest of a proof.
pub(crate) const NO_MULTIPLIER: f64 = 1e-13;
/// Product of a pair, force times rate, that the law allows no more, in units in which both are of moderate size: from it on
/// a search through cases tells apart which of them is zero.
pub(crate) const APART: f64 = 1e-12;

/// Newton's method on Coulomb's law, and its continuation in the penalty.
pub(crate) mod newton_of_friction {
    /// Penalty of a contact, over the stiffness with which the bodies resist it.
    pub(crate) const PENALTY: f64 = 1e5;
    /// Weight of the proximal term, over a curvature of one in scaled variables: it holds variables that nothing resists.
    pub(crate) const PROXIMAL: f64 = 1e-5;
    /// Imbalance at which an equation counts as solved, as a share of the largest term.
    pub(crate) const SOLVED: f64 = 1e-13;
    /// Imbalance, as a share of the largest term, at which an equation that does not shrink any more counts as solved.
    pub(crate) const STALLED: f64 = 1e-9;
    /// Imbalance that is rounding, as a share of the largest force.
    pub(crate) const ROUNDING: f64 = 1e-15;
    /// Imbalance, as a share of the largest term, at which the first equation counts as solved: the next one is another.
    pub(crate) const ROUGH: f64 = 1e-5;
    /// Change of the forces in an update of the multipliers, over the largest force, at which the law may hold: the next update
    /// leaves 1e-5 of it.
    pub(crate) const LITTLE: f64 = 1e-7;
    /// Change of the forces in an update, over the largest force, that is rounding: no more digits will come.
    pub(crate) const REACHED: f64 = 1e-13;
    /// Penalty for fast slips, where the usual one turns rounding of their rates into forces: along the bisector of two edges
    /// of a pyramid, where two of its forces tie, friction is the difference of two such numbers. An update leaves 1e-2 of the
    /// error instead of 1e-5, and a thousandth of the rounding.
    pub(crate) const CALM: f64 = 1e2;
    /// Largest growth of the penalty from one equation to the next.
    pub(crate) const GROWTH: f64 = 10.0;
    /// Imbalance at which an equation with a penalty that is not the usual one counts as solved, over the largest term.
    pub(crate) const SETTLED: f64 = 1e-8;
    /// Shortest share of Newton's step: below it the point is at a corner from which no step leads down.
    pub(crate) const SHORTEST: f64 = 1e-3;
    /// The penalty that sorts out contacts which contradict one another: there a rate of 1e-11 of the speeds, which counts
    /// as contradiction, moves forces by a hundredth of those that such speeds take.
    pub(crate) const LARGEST_PENALTY: f64 = 1e9;
    /// Imbalance over the largest term, for a penalty of one, that rounding of the rates leaves: no equation can be solved to less.
    pub(crate) const NOISE: f64 = 1e-16;
    /// How far forces that drift may be extrapolated, over the largest force: beyond, they run away.
    pub(crate) const FARTHEST: f64 = 10.0;
    /// The first penalty of the continuation: stiffer ones leave equations of heaps unsolved, softer ones take more of them.
    pub(crate) const SOFT: f64 = 100.0;
    /// Imbalance at which an equation on the way to the hardest contacts counts as solved, as a share of the largest term:
    /// the next one is another.
    pub(crate) const PASSED: f64 = 1e-3;
    /// Least growth of the penalty: after a failure its square root is taken.
    pub(crate) const GENTLEST: f64 = 1.5;
    /// Factor of the growth of the penalty after each equation that was easy.
    pub(crate) const RECOVERY: f64 = 1.2;
    /// Penalty below which an equation is no easier: contacts are then a thousand times softer than bodies are heavy.
    pub(crate) const SOFTEST: f64 = 1e-3;
    /// Share of its squared imbalance with which an equation that cannot be solved still gives an update.
    pub(crate) const NEARER: f64 = 0.5;
}

/// Coulomb's law: its check, its proofs, uniqueness of motions and forces.
pub(crate) mod friction {
    /// Error that an answer may have, as a share of the terms that a number is the sum of.
    pub(crate) const TERMS: f64 = 1e-11;
    /// Error that an answer may have, as a share of the largest force or speed of all contacts: what is left where the terms of
    /// one number all cancel.
    pub(crate) const LARGEST: f64 = 1e-13;
    /// Rate of a closed contact, as a share of the largest speed: redundant contacts contradict one another by
    /// what poses are rounded to, over the time step.
    pub(crate) const CONTRADICTION: f64 = 1e-11;
    /// What is left of forces in balance, as a share of their terms.
    pub(crate) const REST: f64 = 1e-15;
    /// Forces and rates, over those that the data suggest, up to which they count in full.
    pub(crate) const PROPORTION: f64 = 1e4;
    /// Forces, over those that the data suggest, that are no answer: beside them nothing balances to a digit.
    pub(crate) const WITHOUT_END: f64 = 1e10;
    /// Angle between the directions of an arc that is not halved any more, in rad.
    pub(crate) const NARROW: f64 = 1e-6;
    /// Sizes of forces and rates that need no other unit: up to so much, and down to its inverse.
    pub(crate) const MODERATE: f64 = 1e4;
    /// Rounding of products of the points, as a share of the largest.
    pub(crate) const PRODUCT_ROUNDING: f64 = 1e-14;
    /// Distance from the polytope that is none, as a share of its size.
    pub(crate) const INSIDE: f64 = 1e-12;
    /// Gap, slip, or distance from the limit of friction that is none, as a share of what it is compared with.
    pub(crate) const NONE: f64 = 1e-9;
    /// Length of a projection that is zero, as a share of the vector's.
    pub(crate) const ZERO_MOTION: f64 = 1e-7;
    /// Length of a motion that is zero, over that of what it is nearest to.
    pub(crate) const ZERO_EXCHANGE: f64 = 1e-6;
    /// Work that is some, as a share of the most.
    pub(crate) const SHARE: f64 = 1e-3;
    /// Rest of a row of length one that others say but for rounding.
    pub(crate) const DEPENDENT: f64 = 1e-10;
}

// Active sets, branch and bound, derivatives.

/// Rounding of a unit row's slack, as a share of `|b_i| + Σ |a_ij x_j|`, the sizes that cancel in it.
pub(crate) const ROW_ROUNDING: f64 = 1e-13;

/// Rounding of a unit row's slack, as a share of the largest variable, whose rounding reaches every row. Bodies at rest
/// beside moving ones need it this small.
pub(crate) const ROW_ROUNDING_OF_POINT: f64 = 1e-15;

/// Violation, as a share of the largest variable or of the row's level, that may be rounding where rows are equal but
/// for it: entries of such rows count as turns.
pub(crate) const SMALL_VIOLATION: f64 = 1e-12;

/// Turns after which the rounding that counts as none doubles.
pub(crate) const TURNS: u32 = 50;

/// Violation, as a share of the largest variable or of the row's level, by which rows may contradict each other: digits
/// that measured or computed rows do not have. Such a row is passed over if it is expensive.
pub(crate) const ROW_NOISE: f64 = 1e-10;

/// Multiplier of a row that is expensive, as a multiple of the largest of all others.
pub(crate) const EXPENSIVE_ROW: f64 = 10.0;

/// Gap of a proof that rows contradict each other, as a share of the terms that cancel in it, and sum of rows that should
/// vanish in it, as a share of their weights.
pub(crate) const PROOF: f64 = 1e-9;

/// Squared sine above which a row of a warm start joins the working set.
pub(crate) const WARM_INDEPENDENT: f64 = 1e-12;

/// Squared sine above which a row that only touches joins the working set: an error of its level must not be magnified
/// much.
pub(crate) const TOUCHING_INDEPENDENT: f64 = 1e-4;

/// Pivot of a cost with unit diagonal below which its block counts as singular.
pub(crate) const SINGULAR_PIVOT: f64 = 1e-8;

/// First weight of the proximal term, relative to unit curvature: small enough to converge in a few rounds, large enough
/// that rounding over it stays below 1e-10.
pub(crate) const PROXIMAL: f64 = 1e-5;

/// Step of a variable in a proximal round, as a share of the largest variable, that is rounding.
pub(crate) const STEP_ROUNDING: f64 = 1e-14;

/// Weight of the proximal term that is not made smaller.
pub(crate) const PROXIMAL_LEAST: f64 = 1e-10;

/// Step of a proximal round, as a share of the largest variable, at which the method has converged.
pub(crate) const PROXIMAL_CONVERGED: f64 = 1e-13;

/// Step of a proximal round, as a share of the largest variable, that is good enough where rounding lets it shrink no
/// more.
pub(crate) const PROXIMAL_STALLED: f64 = 1e-9;

/// Force, as a share of the largest, that is rounding: following it would let flat directions drift.
pub(crate) const NO_FORCE: f64 = 1e-14;

/// Multiplier below zero after refinement, as a share of the largest, that is none.
pub(crate) const POLISHED_PULL: f64 = 1e-10;

/// Curvature and slopes of rows along a ray, as shares of its largest entry, that are none.
pub(crate) const RAY: f64 = 1e-9;

/// Slack, as a share of the terms of its row, below which a row takes part in the multipliers of the smallest norm. `x`
/// is good to about 1e-13 of those terms.
pub(crate) const TOUCHING: f64 = 1e-10;

/// Slack below which a row takes part in the multipliers of the smallest norm, as a share of the largest variable, whose
/// rounding reaches every row.
pub(crate) const TOUCHING_OF_POINT: f64 = 1e-12;

/// Squared sine below which a row of a node depends on the working set: see `Limits::dependent`.
pub(crate) const NODE_DEPENDENT: f64 = 1e-18;

/// Pivot of the cost of a branch and bound, as a share of its diagonal entry, below which there is no curvature to rely on.
pub(crate) const NO_CURVATURE: f64 = 1e-9;

/// Curvature given to a variable without, as a share of its diagonal entry.
pub(crate) const NODE_PROXIMAL: f64 = 1e-7;

/// Squared sine below which a whitened row of a contact depends on the working set: see `Limits::dependent`.
pub(crate) const CONTACT_DEPENDENT: f64 = 1e-10;

/// Pivots of contacts beyond two for every variable after which another method is quicker.
pub(crate) const COLD_PIVOTS: u64 = 50;

/// Slack of dependent rows that may be rounding, as a share of the speeds without rows: what touches is found later,
/// with more digits.
pub(crate) const PASSED: f64 = 1e-13;

/// Violation of a demand of a mode, as a share of its terms, at which it holds.
pub(crate) const HOLDS: f64 = 1e-9;

/// Added to the unit diagonal of the matrix that gives multipliers of the smallest norm, the smaller ones where rows of
/// very different size meet: directions in which the present rows cannot push become long steps, which the line search
/// cuts where new rows start to push. Rounding of the residual over the first ridge, 1e-7, stays below
/// [`NEARLY_PUSHING`].
pub(crate) const RIDGES: [f64; 3] = [1e-9, 1e-12, 1e-14];

/// Rows whose force is above minus this share of the largest take part in the last, exact solve for the smallest norm.
pub(crate) const NEARLY_PUSHING: f64 = 1e-6;

/// Residual, as a share of the largest force, at which multipliers of the smallest norm count as verified.
pub(crate) const VERIFIED: f64 = 1e-11;

/// Choices that are tried out before one is branched on.
pub(crate) const CANDIDATES: usize = 8;

/// Multiplier and slack, as shares of the largest force and of the terms of a slack, below which both count as zero for a
/// derivative: ten times what rows of a patch may contradict one another by in an answer.
pub(crate) const TIE: f64 = 1e-7;

/// `rho A H⁻¹ Aᵀ` of a row: a few where it is a combination of held ones, 1e5 and more where not.
pub(crate) const HELD: f64 = 300.0;

/// Sets of rows that are tried from a warm start before the dual active set.
pub(crate) const WARM_SETS: u32 = 3;

/// Sets of rows that are tried from where the dual active set ends.
pub(crate) const COLD_SETS: u32 = 8;

/// Slack of touching rows of a contact, as a share of the speeds of the data and the answer: rows contradict one another
/// by less.
pub(crate) const CONTACT_TOUCHING: f64 = 9e-9;

/// Slack of a contact that is rounding, as a share of the speeds without rows, of which slacks are differences.
pub(crate) const SPEED_ROUNDING_OF_FREE: f64 = 4e-16;

/// Slack of a contact that is rounding, as a share of the speeds of the data and the answer.
pub(crate) const SPEED_ROUNDING: f64 = 1e-12;

/// Squared remainder of a row, as a share of its own square, below which it depends on the rows of its set.
pub(crate) const SET_DEPENDENT: f64 = 1e-12;

/// Squared remainder of a row, as a share of its own square, below which it is freed of the others twice: it is a small
/// difference.
pub(crate) const SMALL_DIFFERENCE: f64 = 1e-2;

/// Rounds of refinement of a point of contacts where digits are lost.
pub(crate) const REFINEMENTS: u32 = 2;

/// Slack of a contact that is nothing after refinement, as a share of the speeds without rows.
pub(crate) const NO_SPEED: f64 = 1e-24;

/// Pivot, as a share of its diagonal entry, above which a block of the cost counts as definite: below, digits are lost
/// that the answer needs.
pub(crate) const DEFINITE: f64 = 1e-10;

/// Pivot of `CᵀC` below which a row takes no part in the multipliers of the smallest norm.
pub(crate) const GRAM_SINGULAR: f64 = 1e-12;

/// Penalty of rows that stay, over the largest diagonal entry of the cost, for derivatives.
pub(crate) const DERIVATIVE_PENALTY: f64 = 1e5;

/// Pivot, as a share of the largest entry of the cost, that counts as none for derivatives: the rounding of a sum with the
/// penalty's terms.
pub(crate) const DERIVATIVE_PIVOT: f64 = 1e-12;

/// Change of a derivative, as a share of the whole, after which rounding is all that is left.
pub(crate) const DERIVATIVE_SETTLED: f64 = 1e-15;

/// Change of a derivative, as a share of the whole, that rounding may be the cause of.
pub(crate) const DERIVATIVE_ROUNDING: f64 = 1e-13;

/// Change of a row, as a share of its terms, that rows which are combinations of others may have: poses of bodies at rest
/// on one another are known to 1e-12 m, which turns rows by 1e-9.
pub(crate) const ROWS_APART: f64 = 1e-8;

/// Change of a derivative, as a share of the whole, below which the changes of rounds fall as they did in the last one.
pub(crate) const DERIVATIVE_STEADY: f64 = 1e-9;

/// Share of the way to the boundary that a step of the relaxed program takes.
pub(crate) const BARRIER_STEP: f64 = 0.95;

/// Errors of a relaxed program, as shares of the terms of each equation, at which it is solved.
pub(crate) const BARRIER_REACHED: f64 = 1e-14;

/// Errors of a relaxed program, as shares of the terms of each equation, that are good enough where rounding ends it.
pub(crate) const BARRIER_GOOD: f64 = 1e-12;

/// Smallest gain of a half of a choice that counts in a product of two.
pub(crate) const LEAST_GAIN: f64 = 1e-12;
