//! Tolerances of all engines: what each is a share of, and why. Caps of iterations stand beside their loops.
//!
//! What a constant costs when it is ten times larger or smaller is said where it was measured: on 216 recorded cone programs, on
//! the first 800 hard ones of `testkit`, or on the random and recorded programs with friction of `benches`. Work counts
//! multiply-adds.

// Of all engines.

/// Rounding of a computed number, as a share of its terms, or of the largest number of its kind: some thousand
/// operations of 2e-16.
pub(crate) const ROUNDING: f64 = 1e-12;

/// Forces and speeds up to this, and down to its inverse, need no other unit: products of two of them lose no digit to overflow
/// or to absolute tolerances.
pub(crate) const MODERATE: f64 = 1e4;

/// Largest `|P_ij − P_ji|` of a symmetric cost, as a share of `√(P_ii P_jj)`: sums in another order leave 1e-12.
pub(crate) const SYMMETRIC: f64 = 1e-9;

/// Multipliers above this multiple of the forces of the data are no answer: rows that cannot hold drive them up without end, and
/// beside them nothing balances to a digit.
pub(crate) const DIVERGED: f64 = 1e10;

// Exact friction.

/// Largest entry of a sum that a proof needs to be zero, as a share of the sum's terms. From 1e-9 on a proof of unsupported
/// forces would hold against a spring of that share. Ten times smaller, one proof is lost.
pub(crate) const CANCELS: f64 = 1e-10;
/// Least sum that a proof needs to be positive, as a share of the sum's terms: four digits above [`CANCELS`], so that what does
/// not cancel cannot make up for it. Ten times smaller, a hard problem gets a wrong proof; ten times larger, one gets none.
pub(crate) const CLEAR: f64 = 1e-6;
/// Multiplier that is rounding, as a share of the largest of a proof.
pub(crate) const NO_MULTIPLIER: f64 = 1e-13;
/// Complementarity product, force times rate, above which the search through cases branches on the pair, in units in which
/// both are of moderate size.
pub(crate) const APART: f64 = 1e-12;

/// Newton's method on Coulomb's law, and its continuation in the penalty.
pub(crate) mod newton_of_friction {
    /// Penalty of a contact, over the stiffness with which the bodies resist it.
    pub(crate) const PENALTY: f64 = 1e5;
    /// Residual of the balance at which an equation counts as solved, as a share of the largest term.
    pub(crate) const SOLVED: f64 = 1e-13;
    /// Residual, as a share of the largest term, at which an equation whose residual no longer shrinks counts as solved.
    pub(crate) const STALLED: f64 = 1e-9;
    /// Residual of the balance that is rounding, as a share of the largest force.
    pub(crate) const ROUNDING: f64 = 1e-15;
    /// Residual, as a share of the largest term, at which the first equation counts as solved: the update of the multipliers
    /// changes it anyway.
    pub(crate) const ROUGH: f64 = 1e-5;
    /// Change of the forces in an update of the multipliers, over the largest force, from which on the law is checked: the next
    /// update leaves 1e-5 of it.
    pub(crate) const LITTLE: f64 = 1e-7;
    /// Change of the forces in an update of the multipliers, over the largest force, that is rounding: no more digits will come.
    pub(crate) const REACHED: f64 = 1e-13;
    /// Penalty for fast slips, where the usual one turns rounding of their rates into forces: along the bisector of two edges
    /// of a pyramid, where two of its forces tie, friction is the difference of two such numbers. An update leaves 1e-2 of the
    /// error instead of 1e-5, and a thousandth of the rounding.
    pub(crate) const CALM: f64 = 1e2;
    /// Largest growth of the penalty from one equation to the next.
    pub(crate) const GROWTH: f64 = 10.0;
    /// Residual, over the largest term, at which an equation with another penalty than [`PENALTY`] counts as solved.
    pub(crate) const SETTLED: f64 = 1e-8;
    /// Shortest line-search step, as a share of Newton's: below it the point is at a kink from which no step leads down.
    pub(crate) const SHORTEST: f64 = 1e-3;
    /// Penalty for redundant contacts whose gaps contradict one another. A rate of 1e-11 of the speeds, the most that counts as
    /// contradiction, moves forces there by a hundredth of those that such speeds take.
    pub(crate) const LARGEST_PENALTY: f64 = 1e9;
    /// Residual that rounding of the rates leaves, over the largest term and the penalty: no equation can be solved to less.
    pub(crate) const NOISE: f64 = 1e-16;
    /// Width of the bracket around the point where a contact opens, slips or sticks, as a share of the way there. The next update
    /// goes on from that point, so that no more digits are needed.
    pub(crate) const BRACKET: f64 = 1e-3;
    /// Longest extrapolation of forces that drift from update to update, over the largest force: beyond, they run away.
    pub(crate) const FARTHEST: f64 = 10.0;
    /// First penalty of the continuation, over the stiffness of the bodies: at larger ones equations of heaps stay unsolved, from
    /// smaller ones the continuation takes more equations.
    pub(crate) const SOFT: f64 = 100.0;
    /// Residual, as a share of the largest term, at which an equation of the continuation before the largest penalty counts as
    /// solved: the next equation has another penalty.
    pub(crate) const PASSED: f64 = 1e-3;
    /// Least growth of the penalty from one equation to the next; after each failure the growth falls to its square root.
    pub(crate) const GENTLEST: f64 = 1.5;
    /// Factor by which the growth of the penalty increases after an equation that took few steps.
    pub(crate) const RECOVERY: f64 = 1.2;
    /// First growth of the penalty, and below it the largest, where a homotopy follows the answer: updates cost more there than
    /// the breakpoints between them.
    pub(crate) const GROWTH_BY_HOMOTOPY: f64 = 20.0;
    pub(crate) const GROWTH_BY_HOMOTOPY_MOST: f64 = 30.0;
    /// A homotopy comes nearer to its end only if its parameter falls below this share of its least value so far.
    pub(crate) const HOMOTOPY_NEARER: f64 = 0.99;
    /// Largest parameter of a homotopy that has turned back, over its value at the start.
    pub(crate) const HOMOTOPY_FARTHEST: f64 = 2.0;
    /// Least penalty of the continuation: below it contacts are a thousand times softer than the bodies, and equations get no
    /// easier.
    pub(crate) const SOFTEST: f64 = 1e-3;
    /// An equation that cannot be solved still gives an update of the multipliers if Newton's method has reduced its squared
    /// residual to this share.
    pub(crate) const NEARER: f64 = 0.5;
}

/// Coulomb's law: its check, its proofs, uniqueness of motions and forces.
pub(crate) mod friction {
    /// Acceptable error of a residual, as a share of the terms that it is the sum of; and normal force that counts as zero, as a
    /// share of the largest.
    pub(crate) const TERMS: f64 = 1e-11;
    /// Acceptable error of a residual, as a share of the largest force or speed of all contacts: for residuals whose own terms are
    /// all small.
    pub(crate) const LARGEST: f64 = 1e-13;
    /// Largest normal rate of a closed contact, as a share of the largest speed: redundant contacts contradict one another by the
    /// rounding of poses over the time step.
    pub(crate) const CONTRADICTION: f64 = 1e-11;
    /// Error of a rate where rows contradict one another and no update of the multipliers improves the answer, as a share of the
    /// largest speed: that of the rows of convex programs. And the most that it may be, as a multiple of the rate that counts as
    /// zero: half of what the certificate of a step allows.
    pub(crate) const ROWS: f64 = super::check::TOUCHING_UNEVEN;
    pub(crate) const RESTS: f64 = 500.0;
    /// Rounding of a balance of forces, as a share of its terms; where no contact pushes, as a share of the force that the data
    /// suggest. Without the latter no answer of a body that nothing resists, pushed by one finger, holds.
    pub(crate) const REST: f64 = 1e-15;
    /// Largest multiple of the force or rate that the data suggest with which errors are compared.
    pub(crate) const PROPORTION: f64 = 1e4;
    /// Newton's method starts again from a convex program whose distance from the fixed point is below this share of that of the
    /// last start.
    pub(crate) const NEARER: f64 = 0.1;
    /// Least and largest factor of a step of the fixed point. The largest lets gaps that widen by the same again and again reach
    /// the next change of modes.
    pub(crate) const SLOWEST: f64 = 1e-2;
    pub(crate) const FASTEST: f64 = 1e6;
    /// Squared sine of a difference of steps to newer ones below which it depends on them.
    pub(crate) const SECANTS_ALIKE: f64 = 1e-10;
    /// Least angle of an arc of slip directions that the search through cases still halves, in rad.
    pub(crate) const NARROW: f64 = 1e-6;
    /// Rounding of inner products of a polytope's vertices in Wolfe's algorithm, as a share of the largest.
    pub(crate) const PRODUCT_ROUNDING: f64 = 1e-14;
    /// Distance from a polytope that counts as inside, as a share of its size; and entries of a row of conditions on directions
    /// that count as zero.
    pub(crate) const INSIDE: f64 = 1e-12;
    /// Gap, slip, or distance from the friction limit that counts as zero for uniqueness, as a share of the largest speed or of
    /// the force.
    pub(crate) const NONE: f64 = 1e-9;
    /// Length of the projection of a vector on the cone of free motions that counts as zero, as a share of the vector's length.
    pub(crate) const ZERO_MOTION: f64 = 1e-7;
    /// Length of the projection of a motion or of a change of forces that counts as zero, as a share of the length before.
    pub(crate) const ZERO_EXCHANGE: f64 = 1e-6;
    /// Work of a contact's generator that counts as positive, as a share of the largest among all generators.
    pub(crate) const SHARE: f64 = 1e-3;
    /// Length of a unit row beside the span of others below which it depends on them.
    pub(crate) const DEPENDENT: f64 = 1e-10;
}

// Active sets, branch and bound, derivatives.

/// Rounding of a unit row's slack, as a share of `|b_i| + Σ |a_ij x_j|`, the sizes that cancel in it.
pub(crate) const ROW_ROUNDING: f64 = 1e-13;

/// Rounding of a unit row's slack, as a share of the largest variable, whose rounding reaches every row. Variables near zero
/// beside large ones need it this small.
pub(crate) const ROW_ROUNDING_OF_POINT: f64 = 1e-15;

/// Violation, as a share of the largest variable or of the row's level, below which a row may enter for rounding alone: such
/// entries count towards [`TURNS`].
pub(crate) const SMALL_VIOLATION: f64 = 1e-12;

/// Entries of rows with violations below [`SMALL_VIOLATION`] after which the tolerance of rows doubles: rows that are equal but
/// for rounding take turns in the working set.
pub(crate) const TURNS: u32 = 50;

/// Violation, as a share of the largest variable or of the row's level, by which rows may contradict each other: their data have
/// no more digits. Such a row is passed over if its multiplier is large, see [`EXPENSIVE_ROW`].
pub(crate) const ROW_NOISE: f64 = 1e-10;

/// Multiplier from which on a row that contradicts others by noise is passed over, as a multiple of the largest of all others.
pub(crate) const EXPENSIVE_ROW: f64 = 10.0;

/// Acceptable error of a Farkas certificate or a ray, as a share of the terms that cancel: `Aᵀ y = 0` and `bᵀ y > 0` of the one,
/// `P d = 0` and `A d ≥ 0` of the other.
pub(crate) const PROOF: f64 = 1e-9;

/// Squared sine to the working set above which a weakly active row joins it in the refinement: an error of its level must not be
/// magnified much.
pub(crate) const TOUCHING_INDEPENDENT: f64 = 1e-4;

/// Pivot of a cost with unit diagonal below which its block counts as singular.
pub(crate) const SINGULAR_PIVOT: f64 = 1e-8;

/// First weight of the proximal term of variables without curvature, where scaled variables have a curvature of one: small enough
/// to converge in a few rounds, large enough that rounding over it stays below 1e-10.
pub(crate) const PROXIMAL: f64 = 1e-5;

/// Factor of the weight of the proximal term after rounds that do not converge.
pub(crate) const PROXIMAL_FALL: f64 = 1e-2;

/// Residual on the working set, as a share of the largest term, at which refinement stops: half of the last digit.
pub(crate) const REFINED: f64 = 1e-16;

/// Acceptable residual of stationarity in the last attempt, as a share of the largest force in scaled units; the attempts before
/// ask for [`ROUNDING`].
pub(crate) const BALANCED_AT_LAST: f64 = 1e-8;

/// Acceptable violation, as a share of the largest variable and of the row's level in scaled units: twice [`ROW_NOISE`]; below it
/// that of the last attempt.
pub(crate) const FEASIBLE: f64 = 2e-10;
pub(crate) const FEASIBLE_AT_LAST: f64 = 1e-9;

/// Violation of a row at the last point, over the rounding of its slack, that counts as holding.
pub(crate) const HELD_ROUNDING: f64 = 10.0;

/// Distance from the point, over the largest level of a row, within which Farkas' multipliers must exclude all other points.
pub(crate) const REACH: f64 = 10.0;

/// Change of one variable in a proximal round, as a share of the largest variable, that is rounding.
pub(crate) const STEP_ROUNDING: f64 = 1e-14;

/// Least weight of the proximal term, where scaled variables have a curvature of one.
pub(crate) const PROXIMAL_LEAST: f64 = 1e-10;

/// Step of a proximal round, as a share of the largest variable, at which the method has converged.
pub(crate) const PROXIMAL_CONVERGED: f64 = 1e-13;

/// Step of a proximal round, as a share of the largest variable, at which the method has converged if steps no longer shrink.
pub(crate) const PROXIMAL_STALLED: f64 = 1e-9;

/// Force or multiplier, as a share of the largest, that is rounding: following it lets directions without curvature drift.
pub(crate) const NO_FORCE: f64 = 1e-14;

/// Negative multiplier after refinement, as a share of the largest, that counts as zero.
pub(crate) const POLISHED_PULL: f64 = 1e-10;

/// Slack, as a share of the terms of its row, below which a row takes part in the smallest-norm multipliers. `x`
/// is good to about 1e-13 of those terms.
pub(crate) const TOUCHING: f64 = 1e-10;

/// Slack, as a share of the largest variable, below which a row takes part in the smallest-norm multipliers: rounding of that
/// variable reaches every row.
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

/// Slack of a row that touches where the dual active set of contacts ends, as a share of the speeds without rows: dependent rows
/// are sorted out later, with more digits.
pub(crate) const PASSED: f64 = 1e-13;

/// Violation of a demand of a mode, as a share of its terms, at which it holds; and multiplier of the wrong sign, as a share of
/// the largest, that counts as zero.
pub(crate) const HOLDS: f64 = 1e-9;

/// Ridges on the unit diagonal of the Hessian of the smallest-norm dual, tried in turn: rows of very different size need the
/// smaller ones. Along directions in which the active rows cannot push a ridge makes long steps, which the line search cuts
/// where new rows become active. Rounding of the residual over the first ridge, 1e-7, stays below [`NEARLY_PUSHING`].
pub(crate) const RIDGES: [f64; 3] = [1e-9, 1e-12, 1e-14];

/// Ridges of the last, exact solve for the smallest norm, as shares of the one that led there, until the matrix has a factor.
pub(crate) const RIDGES_OF_POLISH: [f64; 4] = [1e-3, 1e-2, 1e-1, 1.0];

/// Pivot in the factor for the smallest norm, over the ridge, below which the matrix counts as singular: rounding has eaten
/// the ridge.
pub(crate) const RIDGE_PIVOT: f64 = 0.1;

/// Residual of the smallest-norm dual, as a share of the largest force, at which the exact solve is first tried; factor of that
/// residual after each failure; and residual below which it is not tried again.
pub(crate) const EXACT_SOLVE_FIRST: f64 = 1e-6;
pub(crate) const EXACT_SOLVE_NEXT: f64 = 1e-2;
pub(crate) const EXACT_SOLVE_LEAST: f64 = 1e-13;

/// Slope at the end of a full Newton step for the smallest norm, as a share of that at its start, that counts as zero.
pub(crate) const FLAT: f64 = 1e-9;

/// Rows whose force is above minus this share of the largest take part in the last, exact solve for the smallest norm.
pub(crate) const NEARLY_PUSHING: f64 = 1e-6;

/// Residual, as a share of the largest force, at which multipliers of the smallest norm count as verified.
pub(crate) const VERIFIED: f64 = 1e-11;

/// Fall of the cost, as a share of the optimality gap asked for, after which the local search switches modes once more.
pub(crate) const WORTH_A_SWITCH: f64 = 0.1;

/// Acceptable slack of a node's lower bound from the proximal term, as a share of the optimality gap asked for.
pub(crate) const DOUBT: f64 = 0.01;

/// Candidates of strong branching: choices both halves of which are solved before one is branched on.
pub(crate) const CANDIDATES: usize = 8;

/// Weakly active for a derivative is a row whose multiplier and slack are both below this share of the largest force and of the
/// slack's terms: ten times the violation that the check of an answer allows.
pub(crate) const TIE: f64 = 1e-7;

/// That tolerance with exact friction, whose answers are checked to fewer units of rounding: bodies creep at their friction limit.
pub(crate) const EXACT_TIE: f64 = 1e-9;

/// Largest `rho a H⁻¹ aᵀ` of a row `a` that depends on the active ones: dependent rows have a few, others 1e5 and more.
pub(crate) const HELD: f64 = 300.0;

/// Working sets that are tried from a warm start before the dual active set.
pub(crate) const WARM_SETS: u32 = 3;

/// Working sets that are tried from the end of the dual active set.
pub(crate) const COLD_SETS: u32 = 8;

/// Slack of touching rows of a contact, as a share of the speeds of the data and the answer: rows contradict one another by less,
/// digits that data of the size of poses do not have. Ten times larger, recorded programs take 9 % more work.
pub(crate) const CONTACT_TOUCHING: f64 = 9e-9;

/// Slack of a contact that is rounding, as a share of the speeds without rows: a slack is a difference of those.
pub(crate) const SPEED_ROUNDING_OF_FREE: f64 = 4e-16;

/// Slack of a contact that is rounding, as a share of the speeds of the data and the answer.
pub(crate) const SPEED_ROUNDING: f64 = 1e-12;

/// Squared sine of a row to its working set below which it depends on that set and does not join it from a warm start.
pub(crate) const SET_DEPENDENT: f64 = 1e-12;

/// Squared sine of a row to its working set below which it is orthogonalised twice: what is left is a small difference.
pub(crate) const SMALL_DIFFERENCE: f64 = 1e-2;

/// Rounds of refinement of a point of contacts where digits are lost.
pub(crate) const REFINEMENTS: u32 = 2;

/// Slack of a contact that counts as zero after refinement, as a share of the speeds without rows.
pub(crate) const NO_SPEED: f64 = 1e-24;

/// Pivot, as a share of its diagonal entry, above which a block of the cost counts as definite: below, digits are lost
/// that the answer needs.
pub(crate) const DEFINITE: f64 = 1e-10;

/// Pivot of `CᵀC`, which has a diagonal of one and more, below which a row takes no part in the smallest-norm multipliers.
pub(crate) const GRAM_SINGULAR: f64 = 1e-12;

/// Penalty of active rows in the factor for derivatives, over the largest diagonal entry of the cost.
pub(crate) const DERIVATIVE_PENALTY: f64 = 1e5;

/// Motion by loads that the balance leaves open, as a share of what the stiffest variable gives way by, that counts as one.
pub(crate) const LOADS_MOVE: f64 = 1e-9;

/// Pivot in the factor for derivatives that counts as zero, as a share of the largest entry of the cost: the rounding of a sum
/// with the penalty's terms.
pub(crate) const DERIVATIVE_PIVOT: f64 = 1e-12;

/// Change of a derivative in a round of multipliers, as a share of the whole, after which only rounding is left.
pub(crate) const DERIVATIVE_SETTLED: f64 = 1e-15;

/// Change of a derivative in a round of multipliers, as a share of the whole, that rounding may cause.
pub(crate) const DERIVATIVE_ROUNDING: f64 = 1e-13;

/// Change of a dependent row, as a share of its terms, that counts as zero: poses in a stack are known to 1e-12 m, which turns
/// rows by 1e-9.
pub(crate) const ROWS_APART: f64 = 1e-8;

/// Change of a derivative in a round of multipliers, as a share of the whole, below which later rounds gain the same factor as
/// the last one.
pub(crate) const DERIVATIVE_STEADY: f64 = 1e-9;

/// Central-path parameter `kappa` at the start of each attempt on a relaxed program, over the one asked for.
pub(crate) const BARRIER_STARTS: [f64; 4] = [1.0, 1e2, 1e5, 1e9];

/// Factor of `kappa` after a step that is longer than [`BARRIER_LONG`].
pub(crate) const BARRIER_FALL: f64 = 0.2;

/// Step of a relaxed program, as a share of Newton's, from which on `kappa` falls.
pub(crate) const BARRIER_LONG: f64 = 0.3;

/// Shortest step of a relaxed program, as a share of Newton's: below it the attempt has failed.
pub(crate) const BARRIER_SHORTEST: f64 = 1e-12;

/// Complementarity of a second-order cone is measured at least by this share of `s_0 z_0`: its terms cancel near the boundary.
pub(crate) const BARRIER_PRODUCT: f64 = 1e-2;

/// Stationarity of a relaxed program is measured at least by this share of the largest multiplier.
pub(crate) const NATURAL_FORCE: f64 = 1e-3;

/// Share of the way to the boundary that a step of the relaxed program takes.
pub(crate) const BARRIER_STEP: f64 = 0.95;

/// Residuals at which a relaxed program is solved, as shares of the terms of each equation.
pub(crate) const BARRIER_REACHED: f64 = 1e-14;

/// Residuals at which a relaxed program that rounding ends counts as solved, as shares of the terms of each equation.
pub(crate) const BARRIER_GOOD: f64 = 1e-12;

/// Least gain of the bound in a branch that the score of a choice, the product of both gains, counts.
pub(crate) const LEAST_GAIN: f64 = 1e-12;

/// Stiffness that stands for a Huber term's limit in the search for a ray, over the largest force at speed one: the quadratic part
/// of the term then hardly counts.
pub(crate) const STIFF_LIMIT: f64 = 1e4;

/// Newton's method on cone programs. The natural speed is the largest force over the largest diagonal entry of the cost.
pub(crate) mod newton_of_cones {
    /// Penalty of rows, over the largest diagonal entry of the cost of an island. Ten times larger, residuals of recorded programs
    /// are up to 20 times as large, ten times smaller 100 times.
    pub(crate) const PENALTY: f64 = 1e8;
    /// Penalty continuation, as shares of the whole penalty: where rows are soft many of them change sides in one step.
    pub(crate) const SOFTER: [f64; 3] = [1e-3, 1e-1, 1.0];
    /// Penalties of the last steps where round cones slide, over the largest diagonal entry of the cost, each with the residual of
    /// stationarity at the end, as a share of the largest multiplier: forces hold the rounding of rates times the penalty.
    pub(crate) const PENALTIES_ROUND: [(f64, f64); 2] = [(1e4, 1e-12), (1e6, 1e-10)];
    /// Slack of active rows that is rounding where all speeds are zero, as a share of the natural speed.
    pub(crate) const NOISE_AT_REST: f64 = 1e-16;
    /// Slack by which touching rows may contradict one another where all speeds are zero, as a share of the natural speed.
    pub(crate) const TOUCHING_AT_REST: f64 = 5e-13;
    /// Proximal term of islands with a variable without cost, as a share of the largest diagonal entry of the cost.
    pub(crate) const SHIFT: f64 = 1e-7;
    /// Largest penalty beside a proximal term, over the largest diagonal entry of the cost: at a larger one more rows that
    /// contradict one another have to be sorted out.
    pub(crate) const PENALTY_SHIFTED: f64 = 1e7;
    /// Distance of the proximal centre from the point, as a share of the speeds, at which it has converged.
    pub(crate) const CENTRE_STILL: f64 = 1e-11;
    /// Distance of the proximal centre from the point, as a share of the speeds, that suffices where rows contradict one another.
    pub(crate) const CENTRE_NEAR: f64 = 1e-9;
    /// Line-search step, as a share of Newton's, that counts as short: such steps let only few rows change sides.
    pub(crate) const CRAWL: f64 = 1e-3;
    /// Share of all rows that change sides in a step from a warm start, from which on the interior point takes over.
    pub(crate) const TURNED: f64 = 0.3;
    /// Share of all rows that change sides in a step, more of them than in the step before, from which on a warm start is given up:
    /// near the answer every step turns fewer. On recorded and simulated piles the starts that converged turned below 0.01 so, the
    /// others above 0.03.
    pub(crate) const ASTRAY: f64 = 0.02;
    /// Step, as a share of the speeds, up to which it may turn more rows than the step before without being counted as diverging.
    pub(crate) const MOVED: f64 = 1e-6;
    /// Change of an entry of a round cone's projection derivative, which is at most one, below which the derivative counts as
    /// constant: rounds of multipliers gain the digits that are left. Ten times smaller, hard problems take 3 % more work.
    pub(crate) const TURN: f64 = 1e-6;
    /// Slope of the cost along a step that is rounding, as a share of its terms.
    pub(crate) const SLOPE_ROUNDING: f64 = 1e-13;
    /// Step, as a share of the speeds, that moves nothing.
    pub(crate) const NO_STEP: f64 = 1e-15;
    /// Slope at which the line search ends, as a share of that at its start: Newton's next step corrects the rest.
    pub(crate) const LINE_SEARCH_SLOPE: f64 = 1e-3;
    /// Largest slack of active rows, as a share of that in the round before, up to which another round of multipliers pays.
    pub(crate) const WORTH_A_ROUND: f64 = 0.1;
    /// Forces that rows may keep for contradicting one another, as a share of the largest force: by so much they differ from the
    /// smallest-norm multipliers.
    pub(crate) const SHARED: f64 = 1e-6;
    /// Slack at the end of a polish in units of the contacts, as a share of [`CONTACT_TOUCHING`](super::CONTACT_TOUCHING).
    pub(crate) const POLISHED: f64 = 0.1;
}

/// The interior point of cone programs.
pub(crate) mod interior {
    /// Share of the way to the boundary that a step takes, and below it the share where the predictor removes almost all of the
    /// complementarity gap. Round cones and the embedding keep to the first. Steps of a tenth of the way cost 3 times the work
    /// and 6 answers, in the embedding 37 answers.
    pub(crate) const STEP: f64 = 0.99;
    pub(crate) const STEP_MOST: f64 = 0.9999;
    /// Proximal term towards the last iterate, as a share of the largest diagonal entry of the cost. Ten times larger or smaller,
    /// hard problems take 3 or 8 % more work.
    pub(crate) const SHIFT: f64 = 1e-9;
    /// Largest error of the central path's equations, as a share of the least so far, that counts as progress.
    pub(crate) const PROGRESS: f64 = 0.9;
    /// Largest variable, over the speeds of the data, from which on the iterates diverge: the program has no answer.
    pub(crate) const RUNAWAY: f64 = 1e12;
    /// Shortest step, as a share of Newton's: below it rounding has taken over. The inverse is the length of a step that nothing
    /// blocks.
    pub(crate) const SHORTEST: f64 = 1e-6;
    /// Weight of an edge's gap in the starting point's least squares, as a share of the least inertia that the contact moves, and
    /// below it that of a round cone's: of all between 1e-4 and 10 these take the fewest iterations on recorded problems. Ten times
    /// smaller, hard problems take 7 % more work, and residuals of round cones are up to 5 times as large.
    pub(crate) const SOFT: f64 = 0.03;
    pub(crate) const SOFT_ROUND: f64 = 0.1;
    /// Shift of the starting slacks, over the largest violation: above one, so that all are inside their cones. At a tenth 8
    /// answers are lost.
    pub(crate) const ROOM: f64 = 1.1;
    /// Shift of the starting multipliers, over the largest violation of theirs: above one, so that all are inside their cones. Ten
    /// times larger one answer is lost, at a tenth 8.
    pub(crate) const PUSH: f64 = 1.5;
    /// Least slack and multiplier at the start, as a share of the largest.
    pub(crate) const INSIDE: f64 = 1e-4;
    /// Step length that one of Gondzio's corrections tries to add.
    pub(crate) const GONDZIO_ADD: f64 = 0.3;
    /// Share of [`GONDZIO_ADD`] that a correction must gain for another one to follow.
    pub(crate) const GONDZIO_GAIN: f64 = 0.1;
    /// Step length from which on no Gondzio correction is made.
    pub(crate) const GONDZIO_ENOUGH: f64 = 0.92;
    /// Complementarity products over their target, between which Gondzio's corrections leave them as they are.
    pub(crate) const GONDZIO_PRODUCTS: [f64; 2] = [0.1, 10.0];
    /// Complementarity gap, the mean product of slack and multiplier as a share of force times speed, at which the crossover to an
    /// active set is tried, and below it that of the second try. Ten times smaller, recorded programs take 7 % more work; ten times
    /// larger, residuals are up to twice as large.
    pub(crate) const PRODUCT: f64 = 1e-14;
    pub(crate) const PRODUCT_LEAST: f64 = 1e-18;
    /// Complementarity gap, the mean product as a share of force times speed, at the end in units of the contacts. Ten times larger,
    /// hard problems take 3 % more work.
    pub(crate) const PRODUCT_IN_UNITS: f64 = 1e-13;
    /// Complementarity gap, as a share of the accuracy asked for, at which an approximate answer is first checked, and below it the
    /// factor of that gap after each check that fails.
    pub(crate) const PRODUCT_FIRST: f64 = 0.3;
    pub(crate) const PRODUCT_NEXT: f64 = 0.1;
    /// Share of the accuracy asked for at which all of the interior point's own residuals end it at once: the rest is for rounding
    /// between its numbers and those of the answer.
    pub(crate) const WITHIN: f64 = 0.9;
    /// Compliance of rows, over the inverse of the largest diagonal entry of the cost: a dual regularisation, which selects the
    /// smallest-norm multipliers. Ten times larger or smaller, hard problems take 4 % more work.
    pub(crate) const COMPLIANCE: f64 = 1e-7;
    /// Error of an interior point that got stuck, as a share of forces and speeds, from which on a program with a variable without
    /// cost may well have no answer.
    pub(crate) const LOST: f64 = 1e-6;
}

/// The homogeneous embedding in twice the digits.
pub(crate) mod embedding {
    /// Residuals at which the embedding has an answer, as shares of the largest offset and force: `f64` has no more digits. Ten times
    /// larger one answer is lost.
    pub(crate) const SOLVED: f64 = 1e-17;
    /// Errors of a Farkas certificate or a ray before it is rounded to `f64`, as shares of what it proves.
    pub(crate) const PROVEN: f64 = 1e-11;
    /// Diagonal shift of the cost, taken back by refinement. Ten times larger or smaller, one answer is lost and two are won.
    pub(crate) const SHIFT: f64 = 1e-22;
    /// Least pivot, as a share of its diagonal entry: the rounding of 32 digits.
    pub(crate) const LEAST_PIVOT: f64 = 1e-30;
    /// Multiplier, as a share of its slack, below which its row may be inactive.
    pub(crate) const IDLE: f64 = 1e-3;
}

/// Units of variables and rows in which the contacts of an island are alike.
pub(crate) mod units {
    /// Least of the blocks' largest Jacobian entries, as a share of the largest of all, where all rows come in one unit: some
    /// direction of a free body always has more. Ten times larger, programs take 3 to 4 % more work.
    pub(crate) const ALIKE: f64 = 0.3;
    /// Jacobian entry that is rounding, as a share of the largest of its block: no contact touches such a variable.
    pub(crate) const BY_CHANCE: f64 = 1e-15;
    /// Largest over least unit of an island's rows up to which they count as even, so that rows of a patch may contradict one
    /// another as much as where all have one unit. Ten times larger or smaller, hard problems take 4 % more work; smaller,
    /// residuals are up to 3 times as large.
    pub(crate) const EVEN: f64 = 30.0;
}

/// The check of an answer of a cone program, in units of the island's contacts. Its speed is the largest variable or offset of the
/// island, its force the largest of cost, Huber terms and contacts.
pub(crate) mod check {
    /// Acceptable violation of a row, as a share of the largest of its terms `|E_jr| (|b_r| + Σ |J_ri x_i|)`.
    pub(crate) const ROW: f64 = 1e-8;
    /// Acceptable violation of a row, as a share of the island's speed: rows of a patch contradict one another by so much.
    pub(crate) const TOUCHING: f64 = 1e-8;
    /// [`TOUCHING`] of islands whose rows have uneven units, which are known only roughly.
    pub(crate) const TOUCHING_UNEVEN: f64 = 1e-9;
    /// Violation that counts as zero in an island without cost, as a share of its force over the largest diagonal entry of the
    /// program's cost: the island has no natural speed of its own.
    pub(crate) const ISLAND_WITHOUT_COST: f64 = 2e-12;
    /// Violation that counts as zero in a program without cost, in the caller's unit: there is nothing to compare it with.
    pub(crate) const AT_REST_WITHOUT_COST: f64 = 1e-18;
    /// Error of a round cone's multiplier, `‖z_1‖ ≤ (1 + CONE) z_0`.
    pub(crate) const CONE: f64 = 1e-9;
    /// Multiplier that counts as zero, as a share of the island's force: its slack may be any.
    pub(crate) const IDLE: f64 = 1e-8;
    /// Product `|u z|` that counts as zero, as a share of the island's force times its speed.
    pub(crate) const PRODUCT: f64 = 1e-14;
    /// Edge of `E J` that cancels: its largest entry over that of the sums of magnitudes. Below it the entry is the edge's size.
    pub(crate) const CANCELLED: f64 = 0.1;
    /// Residual of stationarity, as a share of the island's force; of the variable's own terms where no contact touches it.
    pub(crate) const BALANCE: f64 = 3e-9;
    /// Residual of stationarity that is rounding of a variable without contacts, as a share of the forces on its block, each over
    /// the root of its curvature: the variable may have hardly any force of its own.
    pub(crate) const BALANCE_ROUNDING: f64 = 1e-14;
    /// Contact forces count at most as this multiple of the forces of cost and Huber terms; and the terms of the cost at most as
    /// this multiple of their sum: along a direction of small curvature they grow without end.
    pub(crate) const FORCE_RATIO: f64 = 1e5;
    /// Largest over least normal row up to which the quick test of an island applies, which works in the caller's units.
    pub(crate) const QUICK_SPREAD: f64 = 1e3;
    /// Residual of stationarity in the quick test, as a share of the largest force in the caller's units.
    pub(crate) const QUICK_BALANCE: f64 = 1e-11;
    /// Violation of a row in the quick test, as a share of the speeds times the least over the largest normal row.
    pub(crate) const QUICK_TOUCHING: f64 = 5e-10;
    /// Violation of a row in the quick test where the normal rows are alike, see [`QUICK_ALIKE`], as a share of the offsets.
    pub(crate) const QUICK_TOUCHING_ALIKE: f64 = 4e-9;
    /// Least over largest normal row, body by body, from which on rows are alike: their units make no difference.
    pub(crate) const QUICK_ALIKE: f64 = 0.5;
    /// Share of [`ROW`] that the quick test allows: it adds terms in another order.
    pub(crate) const QUICK_SHARE: f64 = 0.999;
    /// Largest ratio of the quick test's speed, the largest slack or offset, to that of the whole check.
    pub(crate) const QUICK_SPEED: f64 = 10.0;
}

/// Linear complementarity, in scaled data whose entries are around one.
pub(crate) mod lcp {
    /// Acceptable error of a row in scaled units where its terms all but vanish.
    pub(crate) const SCALED: f64 = 1e-15;
    /// Least entry that the ratio test divides by, as a share of the largest of its column.
    pub(crate) const ENTRY: f64 = 1e-9;
    /// Difference of two ratios that counts as a tie, as a share of their terms.
    pub(crate) const TIE: f64 = 1e-11;
    /// Difference of two perturbed ratios in the lexicographic order that counts as a tie, as a share of the larger one.
    pub(crate) const LEXICOGRAPHIC_TIE: f64 = 1e-10;
    /// Pivot of the first basis below which two pairs at once are tried; and least size with which perturbed ratios are compared,
    /// as a share of the pivot entries.
    pub(crate) const WEAK: f64 = 1e-3;
    /// Least pivot on the way to the first basis.
    pub(crate) const PIVOT: f64 = 1e-8;
    /// Least constant of an equation without variables that counts as a contradiction.
    pub(crate) const CONSTANT: f64 = 1e-10;
    /// Largest pivot of a basis that is singular.
    pub(crate) const SINGULAR: f64 = 1e-13;
}
