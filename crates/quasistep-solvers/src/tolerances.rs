//! Tolerances and limits of the solvers: symbol, unit, formula, range, and what fails when one is ten times larger or
//! smaller.

// Interior point, proofs, the test of optimality.

// Newton's methods, exact friction, complementarity problems.

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

/// Share of the largest multiplier that is taken for zero.
pub(crate) const NO_MULTIPLIER: f64 = 1e-13;

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
pub(crate) const DERIVATIVE_ROUNDING: f64 = 1e-10;

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
