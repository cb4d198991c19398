//! Tolerances. Each comment gives the reference size and the reason for the value. Iteration limits
//! stand beside their loops.
//!
//! Scaled data have a cost of unit diagonal, and rows of length 1.

pub(crate) use quasistep_linalg::tolerances::{MODERATE, NO_FORCE, NO_MULTIPLIER, PROOF, ROUNDING};

/// Largest `|P_ij − P_ji|` of a symmetric cost, as a share of `√(P_ii P_jj)`. Two summation orders
/// of a caller differ by about 1e-12.
pub(crate) const SYMMETRIC: f64 = 1e-9;

/// Rounding error of a unit row's slack, as a share of `|b_i| + Σ |a_ij x_j|`, the terms that
/// cancel in it.
pub(crate) const ROW_ROUNDING: f64 = 1e-13;

/// Rounding error of a unit row's slack, as a share of the largest variable, whose rounding affects
/// every row. It must be this small if some variables are near zero and others large.
pub(crate) const ROW_ROUNDING_OF_POINT: f64 = 1e-15;

/// Violation below which a row may enter the working set because of rounding alone, as a share of
/// the largest variable or of the row's level. Such entries count towards [`TURNS`].
pub(crate) const SMALL_VIOLATION: f64 = 1e-12;

/// Number of entries of rows with violations below [`SMALL_VIOLATION`] after which the feasibility
/// tolerance doubles. Rows that are equal up to rounding would otherwise cycle in the working set.
pub(crate) const TURNS: u32 = 50;

/// Inconsistency of rows that is attributed to rounding of their data, as a share of the largest
/// variable or of the row's level. A row inconsistent by less is dropped if its multiplier is
/// large; see [`EXPENSIVE_ROW`].
pub(crate) const ROW_NOISE: f64 = 1e-10;

/// Multiplier above which a row that is inconsistent by at most [`ROW_NOISE`] is dropped, as a
/// multiple of the largest other multiplier.
pub(crate) const EXPENSIVE_ROW: f64 = 10.0;

/// Squared sine of a weakly active row to the span of the working set above which the row joins the
/// working set in the refinement. At smaller angles an error of its level would be magnified too
/// much.
pub(crate) const TOUCHING_INDEPENDENT: f64 = 1e-4;

/// Pivot, for a cost with unit diagonal, below which its block counts as singular.
pub(crate) const SINGULAR_PIVOT: f64 = 1e-8;

/// First weight of the proximal term of variables without curvature, where scaled variables have
/// curvature 1. It is small enough to converge in a few rounds. It is large enough that rounding
/// divided by it stays below 1e-10.
pub(crate) const PROXIMAL: f64 = 1e-5;

/// Factor of the proximal weight after rounds that do not converge.
pub(crate) const PROXIMAL_FALL: f64 = 1e-2;

/// Residual on the working set at which iterative refinement stops, as a share of the largest term:
/// half the unit roundoff.
pub(crate) const REFINED: f64 = 1e-16;

/// Acceptable residual of stationarity in the last attempt, as a share of the largest force in
/// scaled units. Earlier attempts must reach [`ROUNDING`].
pub(crate) const BALANCED_AT_LAST: f64 = 1e-8;

/// Acceptable violation in scaled units, as a share of the largest variable and of the row's level:
/// twice [`ROW_NOISE`]. The next constant applies in the last attempt.
pub(crate) const FEASIBLE: f64 = 2e-10;
pub(crate) const FEASIBLE_AT_LAST: f64 = 1e-9;

/// Violation of a row at the last point that counts as feasible, as a multiple of the rounding
/// error of its slack.
pub(crate) const HELD_ROUNDING: f64 = 10.0;

/// Distance from the point within which Farkas multipliers must exclude every feasible point, as a
/// multiple of the largest level of a row.
pub(crate) const REACH: f64 = 10.0;

/// Change of a variable in a proximal round that is rounding, as a share of the largest variable.
pub(crate) const STEP_ROUNDING: f64 = 1e-14;

/// Least weight of the proximal term, where scaled variables have curvature 1.
pub(crate) const PROXIMAL_LEAST: f64 = 1e-10;

/// Step of a proximal round at which the proximal point method has converged, as a share of the
/// largest variable.
pub(crate) const PROXIMAL_CONVERGED: f64 = 1e-13;

/// Step of a proximal round at which the method counts as converged if steps no longer decrease, as
/// a share of the largest variable.
pub(crate) const PROXIMAL_STALLED: f64 = 1e-9;

/// Negative multiplier after refinement that counts as zero, as a share of the largest.
pub(crate) const POLISHED_PULL: f64 = 1e-10;

/// Slack below which a row takes part in the smallest-norm multipliers, as a share of the terms of
/// its row. Slacks are accurate to about 1e-13 of those terms.
pub(crate) const TOUCHING: f64 = 1e-10;

/// Slack below which a row takes part in the smallest-norm multipliers, as a share of the largest
/// variable, whose rounding affects every row.
pub(crate) const TOUCHING_OF_POINT: f64 = 1e-12;

/// Squared sine of a row to the span of the working set below which the row counts as dependent, in
/// nodes of the branch and bound. See `Limits::dependent`.
pub(crate) const NODE_DEPENDENT: f64 = 1e-18;

/// Pivot of the cost in branch and bound, as a share of its diagonal entry, below which the
/// direction counts as without curvature.
pub(crate) const NO_CURVATURE: f64 = 1e-9;

/// Curvature added to a variable without curvature in branch and bound, as a share of its diagonal
/// entry.
pub(crate) const NODE_PROXIMAL: f64 = 1e-7;

/// Violation of a mode's constraint that counts as feasible, as a share of its terms. Also the
/// multiplier of the wrong sign that counts as zero, as a share of the largest.
pub(crate) const HOLDS: f64 = 1e-9;

/// Ridges added to the unit diagonal of the Hessian of the smallest-norm dual, tried in turn. Rows
/// of very different size need the smaller ones. Along null directions of the active rows a ridge
/// makes long steps, which the line search shortens where new rows become active. The rounding of
/// the residual divided by the first ridge, 1e-7, stays below [`NEARLY_PUSHING`].
pub(crate) const RIDGES: [f64; 3] = [1e-9, 1e-12, 1e-14];

/// Ridges of the final exact solve for the smallest norm, as shares of the ridge that preceded it.
/// They are tried in turn until the Cholesky factorisation succeeds.
pub(crate) const RIDGES_OF_POLISH: [f64; 4] = [1e-3, 1e-2, 1e-1, 1.0];

/// Pivot in the factorisation for the smallest norm, over the ridge, below which the matrix counts
/// as singular: rounding exceeds the ridge.
pub(crate) const RIDGE_PIVOT: f64 = 0.1;

/// Residual of the smallest-norm dual, as a share of the largest force, at which the exact solve is
/// first tried. The next constants are the factor of that residual after each failure, and the
/// residual below which the exact solve is not tried again.
pub(crate) const EXACT_SOLVE_FIRST: f64 = 1e-6;
pub(crate) const EXACT_SOLVE_NEXT: f64 = 1e-2;
pub(crate) const EXACT_SOLVE_LEAST: f64 = 1e-13;

/// Slope at the end of a full Newton step for the smallest norm that counts as zero, as a share of
/// the slope at its start.
pub(crate) const FLAT: f64 = 1e-9;

/// Rows whose multiplier is above minus this share of the largest take part in the final exact
/// solve for the smallest norm.
pub(crate) const NEARLY_PUSHING: f64 = 1e-6;

/// Residual, as a share of the largest force, at which smallest-norm multipliers count as verified.
pub(crate) const VERIFIED: f64 = 1e-11;

/// Decrease of the cost that makes the local search switch modes once more, as a share of the
/// optimality gap asked for.
pub(crate) const WORTH_A_SWITCH: f64 = 0.1;

/// Acceptable error of a node's lower bound from the proximal term, as a share of the optimality
/// gap asked for.
pub(crate) const DOUBT: f64 = 0.01;

/// Number of candidates of strong branching: disjunctions both children of which are solved before
/// branching.
pub(crate) const CANDIDATES: usize = 8;

/// Squared sine of a row to the span of its working set below which it counts as dependent and does
/// not join from a warm start.
pub(crate) const SET_DEPENDENT: f64 = 1e-12;

/// Lower limit of the increase of the bound in each child that enters the branching score, the
/// product of both increases.
pub(crate) const LEAST_GAIN: f64 = 1e-12;
