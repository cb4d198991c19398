//! Tolerances of all engines. Each comment gives the reference size and the reason for the value.
//! Iteration limits stand beside their loops.
//!
//! Where a comment reports the effect of a tenfold change, it was measured on 216 recorded cone
//! programs, on the first 800 hard programs of `testkit`, or on the random and recorded friction
//! programs of `benches`. Work counts multiply-adds.

// Tolerances that all engines share.

/// Rounding error of a computed number, as a share of the largest number of its kind or of the
/// terms of its sum: several thousand operations with unit roundoff 2e-16.
pub(crate) const ROUNDING: f64 = 1e-12;

/// Forces and speeds between the inverse of this number and this number are not rescaled: their
/// products neither overflow nor fall below absolute tolerances.
pub(crate) const MODERATE: f64 = 1e4;

/// Largest `|P_ij − P_ji|` of a symmetric cost, as a share of `√(P_ii P_jj)`. Two summation orders
/// of a caller differ by about 1e-12.
pub(crate) const SYMMETRIC: f64 = 1e-9;

/// Multipliers above this multiple of the forces of the data indicate inconsistent rows, whose
/// multipliers diverge. With such multipliers, stationarity has no correct digit.
pub(crate) const DIVERGED: f64 = 1e10;

// Tolerances of exact friction.

/// Largest entry of a sum that must vanish in a certificate, as a share of the sum's terms. With
/// 1e-9 or more, a certificate of unbalanced forces would ignore a stiffness of that relative size.
/// With a tenth, one certificate is lost.
pub(crate) const CANCELS: f64 = 1e-10;
/// Least value of a sum that must be positive in a certificate, as a share of the sum's terms. It
/// is four digits above [`CANCELS`], so that the residual of the equations cannot outweigh it. With
/// a tenth, one hard problem gets a wrong certificate; with ten times the value, one gets none.
pub(crate) const CLEAR: f64 = 1e-6;
/// Multiplier that counts as rounding, as a share of the largest multiplier of the certificate.
pub(crate) const NO_MULTIPLIER: f64 = 1e-13;
/// Complementarity product (force times rate) above which the search through cases branches on a
/// pair. Both factors are scaled to moderate size.
pub(crate) const APART: f64 = 1e-12;

/// Semismooth Newton method for Coulomb friction, and its continuation in the penalty.
pub(crate) mod newton_of_friction {
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
    pub(crate) const ROWS: f64 = super::check::TOUCHING_UNEVEN;
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

// Tolerances of active sets, branch and bound, and derivatives.

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

/// Acceptable residual of a Farkas certificate (`Aᵀ y = 0`, `bᵀ y > 0`) or a ray (`P d = 0`, `A d ≥
/// 0`), as a share of the terms that cancel.
pub(crate) const PROOF: f64 = 1e-9;

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

/// Force or multiplier that is rounding, as a share of the largest. Minimising along a gradient of
/// this size would let variables without curvature drift.
pub(crate) const NO_FORCE: f64 = 1e-14;

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

/// Squared sine of a whitened row to the span of the working set below which the row counts as
/// dependent, in the small active set. See `Limits::dependent`.
pub(crate) const CONTACT_DEPENDENT: f64 = 1e-10;

/// Number of pivots of the small active set, beyond two for every variable, after which another
/// method is faster.
pub(crate) const COLD_PIVOTS: u64 = 50;

/// Slack of an active row at the end of the small dual active set, as a share of the slacks at the
/// unconstrained minimiser. Dependent rows are resolved later with more digits.
pub(crate) const PASSED: f64 = 1e-13;

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

/// For a derivative, a row is weakly active if its multiplier is below this share of the largest
/// force and its slack below this share of the slack's terms. It is ten times the violation that
/// the check of a solution allows.
pub(crate) const TIE: f64 = 1e-7;

/// Threshold for weakly active rows with exact friction. It is smaller than [`TIE`], because these
/// solutions are checked more strictly and slow slip occurs at the friction limit.
pub(crate) const EXACT_TIE: f64 = 1e-9;

/// Largest `rho a H⁻¹ aᵀ` of a row `a` in the span of the active rows. Dependent rows have values
/// of a few, independent rows 1e5 and more.
pub(crate) const HELD: f64 = 300.0;

/// Number of working sets tried from a warm start before the dual active set.
pub(crate) const WARM_SETS: u32 = 3;

/// Number of working sets tried from the end of the dual active set.
pub(crate) const COLD_SETS: u32 = 8;

/// Slack of active rows in the small active set, as a share of the speeds of the data and the
/// solution. It allows for rows that are inconsistent by rounding of the caller's data. With ten
/// times the value, recorded programs take 9 % more work.
pub(crate) const CONTACT_TOUCHING: f64 = 9e-9;

/// Slack that is rounding in the small active set, as a share of the slacks at the unconstrained
/// minimiser, from which it is computed as a difference.
pub(crate) const SPEED_ROUNDING_OF_FREE: f64 = 4e-16;

/// Slack that is rounding in the small active set, as a share of the speeds of the data and the
/// solution.
pub(crate) const SPEED_ROUNDING: f64 = 1e-12;

/// Squared sine of a row to the span of its working set below which it counts as dependent and does
/// not join from a warm start.
pub(crate) const SET_DEPENDENT: f64 = 1e-12;

/// Squared sine of a row to the span of its working set below which it is orthogonalised twice,
/// because of cancellation.
pub(crate) const SMALL_DIFFERENCE: f64 = 1e-2;

/// Rounds of iterative refinement in the small active set where digits are lost.
pub(crate) const REFINEMENTS: u32 = 2;

/// Slack that counts as zero after refinement in the small active set, as a share of the slacks at
/// the unconstrained minimiser.
pub(crate) const NO_SPEED: f64 = 1e-24;

/// Pivot, as a share of its diagonal entry, above which a block of the cost counts as positive
/// definite. With smaller pivots the solution loses digits.
pub(crate) const DEFINITE: f64 = 1e-10;

/// Pivot of `CᵀC`, whose diagonal is at least 1, below which a row takes no part in the
/// smallest-norm multipliers.
pub(crate) const GRAM_SINGULAR: f64 = 1e-12;

/// Penalty parameter of active rows in the factorisation for derivatives, over the largest diagonal
/// entry of the cost.
pub(crate) const DERIVATIVE_PENALTY: f64 = 1e5;

/// Component of a motion under loads along the null space of the stationarity equations that counts
/// as nonzero, as a share of the displacement of the stiffest variable.
pub(crate) const LOADS_MOVE: f64 = 1e-9;

/// Pivot in the factorisation for derivatives that counts as zero, as a share of the largest entry
/// of the cost: rounding of a sum with the penalty's terms.
pub(crate) const DERIVATIVE_PIVOT: f64 = 1e-12;

/// Change of a derivative in a multiplier update, as a share of the whole, after which only
/// rounding remains.
pub(crate) const DERIVATIVE_SETTLED: f64 = 1e-15;

/// Change of a derivative in a multiplier update, as a share of the whole, that rounding may cause.
pub(crate) const DERIVATIVE_ROUNDING: f64 = 1e-13;

/// Change of a dependent row that counts as zero, as a share of its terms. Callers know positions
/// to about 1e-12 m, which turns rows by about 1e-9.
pub(crate) const ROWS_APART: f64 = 1e-8;

/// Change of a derivative in a multiplier update, as a share of the whole, below which the updates
/// converge linearly with the last observed factor.
pub(crate) const DERIVATIVE_STEADY: f64 = 1e-9;

/// Central-path parameter `kappa` at the start of each attempt on a relaxed program, over the
/// `kappa` asked for.
pub(crate) const BARRIER_STARTS: [f64; 4] = [1.0, 1e2, 1e5, 1e9];

/// Factor of `kappa` after a step that is longer than [`BARRIER_LONG`].
pub(crate) const BARRIER_FALL: f64 = 0.2;

/// Step on a relaxed program, as a share of Newton's step, from which on `kappa` decreases.
pub(crate) const BARRIER_LONG: f64 = 0.3;

/// Shortest step on a relaxed program, as a share of Newton's step. Below it the attempt has
/// failed.
pub(crate) const BARRIER_SHORTEST: f64 = 1e-12;

/// Complementarity of a second-order cone is measured relative to at least this share of `s_0 z_0`,
/// because its terms cancel near the boundary.
pub(crate) const BARRIER_PRODUCT: f64 = 1e-2;

/// Stationarity of a relaxed program is measured relative to at least this share of the largest
/// multiplier.
pub(crate) const NATURAL_FORCE: f64 = 1e-3;

/// Fraction of the distance to the boundary of the cones that a step on the relaxed program takes.
pub(crate) const BARRIER_STEP: f64 = 0.95;

/// Residuals at which a relaxed program has converged, as shares of the terms of each equation.
pub(crate) const BARRIER_REACHED: f64 = 1e-14;

/// Residuals at which a relaxed program counts as converged if rounding stops progress, as shares
/// of the terms of each equation.
pub(crate) const BARRIER_GOOD: f64 = 1e-12;

/// Lower limit of the increase of the bound in each child that enters the branching score, the
/// product of both increases.
pub(crate) const LEAST_GAIN: f64 = 1e-12;

/// Stiffness that represents a Huber term in the search for a ray, over the largest force at unit
/// speed. It is so large that the quadratic part of the term is negligible.
pub(crate) const STIFF_LIMIT: f64 = 1e4;

/// Semismooth Newton method for cone programs. The natural speed is the largest force over the
/// largest diagonal entry of the cost.
pub(crate) mod newton_of_cones {
    /// Penalty parameter of rows, over the largest diagonal entry of the cost of an island. With
    /// ten times the value, residuals of recorded programs are up to 20 times as large; with a
    /// tenth, 100 times.
    pub(crate) const PENALTY: f64 = 1e8;
    /// Penalties of the continuation, as shares of the full penalty. With small penalties many rows
    /// may change sides in one step.
    pub(crate) const SOFTER: [f64; 3] = [1e-3, 1e-1, 1.0];
    /// Penalty parameters of the last steps where round cones slide, over the largest diagonal
    /// entry of the cost. Each is paired with the residual of stationarity at the end, as a share
    /// of the largest multiplier. The residual grows with the penalty, because multipliers contain
    /// the rounding of slacks times the penalty.
    pub(crate) const PENALTIES_ROUND: [(f64, f64); 2] = [(1e4, 1e-12), (1e6, 1e-10)];
    /// Slack of active rows that is rounding where all speeds are zero, as a share of the natural
    /// speed.
    pub(crate) const NOISE_AT_REST: f64 = 1e-16;
    /// Inconsistency of active rows that is allowed where all speeds are zero, as a share of the
    /// natural speed.
    pub(crate) const TOUCHING_AT_REST: f64 = 5e-13;
    /// Weight of the proximal term on islands with a variable without cost, as a share of the
    /// largest diagonal entry of the cost.
    pub(crate) const SHIFT: f64 = 1e-7;
    /// Largest penalty parameter together with a proximal term, over the largest diagonal entry of
    /// the cost. A larger one makes Newton's method resolve more inconsistent rows.
    pub(crate) const PENALTY_SHIFTED: f64 = 1e7;
    /// Distance of the proximal centre from the point at which the proximal point method has
    /// converged, as a share of the speeds.
    pub(crate) const CENTRE_STILL: f64 = 1e-11;
    /// Distance of the proximal centre from the point that is accepted where rows are inconsistent,
    /// as a share of the speeds.
    pub(crate) const CENTRE_NEAR: f64 = 1e-9;
    /// Line-search step that counts as short, as a share of Newton's step. Such steps let only few
    /// rows change sides.
    pub(crate) const CRAWL: f64 = 1e-3;
    /// Fraction of all rows that change sides in one step from a warm start, from which on the
    /// interior point takes over.
    pub(crate) const TURNED: f64 = 0.3;
    /// Fraction of all rows that change sides in one step from which on a warm start is abandoned,
    /// if more rows change than in the step before. Near the solution every step changes fewer
    /// rows. On recorded and simulated programs the converging starts stayed below 0.01, the others
    /// exceeded 0.03.
    pub(crate) const ASTRAY: f64 = 0.02;
    /// Step, as a share of the speeds, up to which an increase of the number of rows that change
    /// sides does not count as divergence.
    pub(crate) const MOVED: f64 = 1e-6;
    /// Change of an entry of a round cone's projection derivative (at most 1) below which the
    /// derivative counts as constant. Multiplier updates then gain the remaining digits. With a
    /// tenth, hard problems take 3 % more work.
    pub(crate) const TURN: f64 = 1e-6;
    /// Slope of the cost along a step that is rounding, as a share of its terms.
    pub(crate) const SLOPE_ROUNDING: f64 = 1e-13;
    /// Step that counts as zero, as a share of the speeds.
    pub(crate) const NO_STEP: f64 = 1e-15;
    /// Slope at which the line search ends, as a share of the slope at its start. Newton's next
    /// step corrects the rest.
    pub(crate) const LINE_SEARCH_SLOPE: f64 = 1e-3;
    /// Largest slack of active rows, as a share of that in the last multiplier update, up to which
    /// another update is made.
    pub(crate) const WORTH_A_ROUND: f64 = 0.1;
    /// Difference from the smallest-norm multipliers that inconsistent rows may have, as a share of
    /// the largest force.
    pub(crate) const SHARED: f64 = 1e-6;
    /// Slack at the end of a polish in units of the cones, as a share of
    /// [`CONTACT_TOUCHING`](super::CONTACT_TOUCHING).
    pub(crate) const POLISHED: f64 = 0.1;
}

/// Interior point method for cone programs.
pub(crate) mod interior {
    /// Fraction of the distance to the boundary that a step takes. The next constant applies where
    /// the predictor removes almost all of the complementarity gap, but not to round cones and the
    /// embedding. With steps of a tenth of the distance, the work triples and 6 solutions are lost,
    /// in the embedding 37.
    pub(crate) const STEP: f64 = 0.99;
    pub(crate) const STEP_MOST: f64 = 0.9999;
    /// Weight of the proximal term towards the last iterate, as a share of the largest diagonal
    /// entry of the cost. With ten times the value hard problems take 3 % more work, with a tenth 8
    /// %.
    pub(crate) const SHIFT: f64 = 1e-9;
    /// Factor of the least residual of the central-path equations so far below which a new residual
    /// counts as progress.
    pub(crate) const PROGRESS: f64 = 0.9;
    /// Largest variable, over the speeds of the data, from which on the iterates diverge, which
    /// indicates a program without solution.
    pub(crate) const RUNAWAY: f64 = 1e12;
    /// Shortest step, as a share of Newton's step; a shorter one is caused by rounding. The inverse
    /// is the step length where no cone blocks.
    pub(crate) const SHORTEST: f64 = 1e-6;
    /// Weight of an edge's residual in the least squares of the starting point, as a share of the
    /// least curvature of the cost that the cone moves against. The next constant applies to round
    /// cones. Of all values between 1e-4 and 10 these take the fewest iterations on recorded
    /// problems. With a tenth, hard problems take 7 % more work, and residuals of round cones are
    /// up to 5 times as large.
    pub(crate) const SOFT: f64 = 0.03;
    pub(crate) const SOFT_ROUND: f64 = 0.1;
    /// Shift of the starting slacks, over their largest violation. It exceeds 1, so that all are
    /// inside their cones. With a tenth, 8 solutions are lost.
    pub(crate) const ROOM: f64 = 1.1;
    /// Shift of the starting multipliers, over their largest violation. It exceeds 1, so that all
    /// are inside their cones. With ten times the value one solution is lost, with a tenth 8.
    pub(crate) const PUSH: f64 = 1.5;
    /// Least slack and multiplier at the start, as a share of the largest.
    pub(crate) const INSIDE: f64 = 1e-4;
    /// Increase of the step length that each Gondzio correction aims at.
    pub(crate) const GONDZIO_ADD: f64 = 0.3;
    /// Fraction of [`GONDZIO_ADD`] that a correction must gain for another one to follow.
    pub(crate) const GONDZIO_GAIN: f64 = 0.1;
    /// Step length from which on no Gondzio correction is made.
    pub(crate) const GONDZIO_ENOUGH: f64 = 0.92;
    /// Lower and upper bound of complementarity products, over their target, between which Gondzio
    /// corrections leave them unchanged.
    pub(crate) const GONDZIO_PRODUCTS: [f64; 2] = [0.1, 10.0];
    /// Complementarity gap at which the crossover to an active set is tried: the mean product of
    /// slack and multiplier, as a share of force times speed. The next constant applies to the
    /// second try. With a tenth, recorded programs take 7 % more work; with ten times the value,
    /// residuals are up to twice as large.
    pub(crate) const PRODUCT: f64 = 1e-14;
    pub(crate) const PRODUCT_LEAST: f64 = 1e-18;
    /// Complementarity gap at which the iteration in units of the cones ends: the mean product, as
    /// a share of force times speed. With ten times the value, hard problems take 3 % more work.
    pub(crate) const PRODUCT_IN_UNITS: f64 = 1e-13;
    /// Complementarity gap at which an approximate solution is first checked, as a share of the
    /// accuracy asked for. The next constant is the factor of that gap after each failed check.
    pub(crate) const PRODUCT_FIRST: f64 = 0.3;
    pub(crate) const PRODUCT_NEXT: f64 = 0.1;
    /// Fraction of the accuracy asked for at which the interior point's own residuals end it. The
    /// remainder allows for rounding between its residuals and those of the written solution.
    pub(crate) const WITHIN: f64 = 0.9;
    /// Compliance of rows, over the inverse of the largest diagonal entry of the cost: a dual
    /// regularisation, which selects the smallest-norm multipliers. With ten times the value or a
    /// tenth, hard problems take 4 % more work.
    pub(crate) const COMPLIANCE: f64 = 1e-7;
    /// Residual of a stalled interior point, as a share of forces and speeds, from which on a
    /// program with a variable without cost is tested for infeasibility and unboundedness.
    pub(crate) const LOST: f64 = 1e-6;
}

/// Homogeneous self-dual embedding in double-double arithmetic.
pub(crate) mod embedding {
    /// Residuals at which the embedding has converged, as shares of the largest offset and force.
    /// They are below the resolution of `f64`. With ten times the value one solution is lost.
    pub(crate) const SOLVED: f64 = 1e-17;
    /// Residuals of a Farkas certificate or a ray before it is rounded to `f64`, relative to the
    /// quantity that must be positive.
    pub(crate) const PROVEN: f64 = 1e-11;
    /// Diagonal regularisation of the cost, corrected by iterative refinement. With ten times the
    /// value or a tenth, one solution is lost and two are gained.
    pub(crate) const SHIFT: f64 = 1e-22;
    /// Least pivot, as a share of its diagonal entry: the rounding of 32 digits.
    pub(crate) const LEAST_PIVOT: f64 = 1e-30;
    /// Multiplier below which its row may be inactive, as a share of its slack.
    pub(crate) const IDLE: f64 = 1e-3;
}

/// Units of variables and rows that equilibrate the cones of an island.
pub(crate) mod units {
    /// Least ratio of a block's largest Jacobian entry to the largest entry of all blocks at which
    /// all rows count as given in one unit. With ten times the value, programs take 3 to 4 % more
    /// work.
    pub(crate) const ALIKE: f64 = 0.3;
    /// Jacobian entry that is rounding, as a share of the largest of its block. Such a variable
    /// counts as untouched by the cone.
    pub(crate) const BY_CHANCE: f64 = 1e-15;
    /// Ratio of the largest to the least unit of an island's rows up to which they count as even.
    /// Even rows are allowed the same inconsistency as rows in one unit. With ten times the value
    /// or a tenth, hard problems take 4 % more work; with a tenth, residuals are up to 3 times as
    /// large.
    pub(crate) const EVEN: f64 = 30.0;
}

/// Check of a cone program's solution, in units of the island's cones. The island's speed is its
/// largest variable or offset. Its force is the largest of cost, Huber terms and multipliers.
pub(crate) mod check {
    /// Acceptable violation of a row, as a share of the largest of its terms `|E_jr| (|b_r| + Σ |J_ri x_i|)`.
    pub(crate) const ROW: f64 = 1e-8;
    /// Acceptable violation of a row, as a share of the island's speed. Dependent rows may be
    /// inconsistent by this much.
    pub(crate) const TOUCHING: f64 = 1e-8;
    /// Value of [`TOUCHING`] for islands whose rows have uneven units, which are known only
    /// roughly.
    pub(crate) const TOUCHING_UNEVEN: f64 = 1e-9;
    /// Violation that counts as zero on an island without cost, as a share of its force over the
    /// largest diagonal entry of the program's cost. Such an island has no natural speed of its
    /// own.
    pub(crate) const ISLAND_WITHOUT_COST: f64 = 2e-12;
    /// Violation that counts as zero in a program without cost, in the caller's unit, because there
    /// is no reference speed.
    pub(crate) const AT_REST_WITHOUT_COST: f64 = 1e-18;
    /// Error of a round cone's multiplier, `‖z_1‖ ≤ (1 + CONE) z_0`.
    pub(crate) const CONE: f64 = 1e-9;
    /// Multiplier that counts as zero, as a share of the island's force. Its slack may have any
    /// value.
    pub(crate) const IDLE: f64 = 1e-8;
    /// Product `|u z|` that counts as zero, as a share of the island's force times its speed.
    pub(crate) const PRODUCT: f64 = 1e-14;
    /// Ratio of an edge's largest entry of `E J` to the largest sum of magnitudes of its terms,
    /// below which the edge counts as cancelling. The size of a cancelling edge is that entry.
    pub(crate) const CANCELLED: f64 = 0.1;
    /// Acceptable residual of stationarity, as a share of the island's force. For a variable
    /// without cones it is a share of the variable's own terms.
    pub(crate) const BALANCE: f64 = 3e-9;
    /// Rounding error of stationarity of a variable without cones, as a share of the forces on its
    /// block, each over the root of its curvature. The variable's own force may be much smaller.
    pub(crate) const BALANCE_ROUNDING: f64 = 1e-14;
    /// Limit of the multipliers that count in the reference force, as a multiple of the forces of
    /// cost and Huber terms. Also the limit of the cost's terms, as a multiple of their sum,
    /// because these terms grow without bound along directions of small curvature.
    pub(crate) const FORCE_RATIO: f64 = 1e5;
    /// Ratio of the largest to the least normal row up to which the quick check of an island
    /// applies, which works in the caller's units.
    pub(crate) const QUICK_SPREAD: f64 = 1e3;
    /// Acceptable residual of stationarity in the quick check, as a share of the largest force in
    /// the caller's units.
    pub(crate) const QUICK_BALANCE: f64 = 1e-11;
    /// Acceptable violation of a row in the quick check, as a share of the speeds times the least
    /// over the largest normal row.
    pub(crate) const QUICK_TOUCHING: f64 = 5e-10;
    /// Acceptable violation of a row in the quick check where the normal rows are of like size (see
    /// [`QUICK_ALIKE`]), as a share of the offsets.
    pub(crate) const QUICK_TOUCHING_ALIKE: f64 = 4e-9;
    /// Ratio of the least to the largest normal row of each block from which on rows count as being
    /// of like size, so that their units make no difference.
    pub(crate) const QUICK_ALIKE: f64 = 0.5;
    /// Fraction of [`ROW`] that the quick check allows, because it adds terms in another order.
    pub(crate) const QUICK_SHARE: f64 = 0.999;
    /// Largest ratio of the quick check's speed (the largest slack or offset) to the speed of the
    /// full check.
    pub(crate) const QUICK_SPEED: f64 = 10.0;
}

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
