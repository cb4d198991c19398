//! Tolerances of all engines: what each is a share of, and why. Caps of iterations stand beside their loops, tolerances of the
//! check of cone programs in `cone/check.rs`.
//!
//! What a constant costs when it is ten times larger or smaller is said where it was measured: on 216 recorded cone programs, on
//! the first 800 hard ones of `testkit`, or on the random and recorded programs with friction of `benches`. Work counts multiply-adds.

// Of all engines.

/// What is rounding in a computed number, as a share of its terms, or of the largest number of its kind: some thousand
/// operations of 2e-16.
pub(crate) const ROUNDING: f64 = 1e-12;

/// Sizes of forces and speeds that need no other unit: up to so much, and down to its inverse. Products of two of them lose no
/// digit to overflow or to absolute tolerances.
pub(crate) const MODERATE: f64 = 1e4;

/// Difference of two entries of a cost that should be one, as a share of the diagonal: sums in another order leave 1e-12.
pub(crate) const SYMMETRIC: f64 = 1e-9;

// Exact friction.

/// Entry of a sum that a proof says is zero, as a share of its terms; at most 1e-9, from which on a proof of
/// unsupported forces would hold against a spring of that share. Ten times smaller, one proof is lost.
pub(crate) const CANCELS: f64 = 1e-10;
/// What a proof says is larger than zero, as a share of its terms: four digits above [`CANCELS`], so that what does not cancel
/// cannot make up for it. Ten times smaller, a hard problem gets a proof that is wrong; ten times larger, one gets none.
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
    /// Bracket of the point where a contact opens, slips or sticks, as a share of the way there: a next update goes on from it.
    pub(crate) const BRACKET: f64 = 1e-3;
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
    /// First and largest growth of the penalty where a homotopy leads from the last answer on: updates cost more there than the
    /// breakpoints between them.
    pub(crate) const GROWTH_BY_HOMOTOPY: f64 = 20.0;
    pub(crate) const GROWTH_BY_HOMOTOPY_MOST: f64 = 30.0;
    /// Share of what was left of a homotopy that counts as nearer to its end.
    pub(crate) const HOMOTOPY_NEARER: f64 = 0.99;
    /// How far a homotopy may turn back, over its whole length.
    pub(crate) const HOMOTOPY_FARTHEST: f64 = 2.0;
    /// Penalty below which an equation is no easier: contacts are then a thousand times softer than bodies are heavy.
    pub(crate) const SOFTEST: f64 = 1e-3;
    /// Share of its squared imbalance with which an equation that cannot be solved still gives an update.
    pub(crate) const NEARER: f64 = 0.5;
}

/// Coulomb's law: its check, its proofs, uniqueness of motions and forces.
pub(crate) mod friction {
    /// Error that an answer may have, as a share of the terms that a number is the sum of; force of a contact that is none, as a
    /// share of the largest.
    pub(crate) const TERMS: f64 = 1e-11;
    /// Error that an answer may have, as a share of the largest force or speed of all contacts: what is left where the terms of
    /// one number all cancel.
    pub(crate) const LARGEST: f64 = 1e-13;
    /// Rate of a closed contact, as a share of the largest speed: redundant contacts contradict one another by
    /// what poses are rounded to, over the time step.
    pub(crate) const CONTRADICTION: f64 = 1e-11;
    /// What is left of forces in balance, as a share of their terms; or of the force that the data suggest, where no contact
    /// pushes: rounding. Without the latter no answer of a body that nothing resists, pushed by one finger, holds.
    pub(crate) const REST: f64 = 1e-15;
    /// Forces and rates, over those that the data suggest, up to which they count in full.
    pub(crate) const PROPORTION: f64 = 1e4;
    /// Forces, over those that the data suggest, that are no answer: beside them nothing balances to a digit.
    pub(crate) const WITHOUT_END: f64 = 1e10;
    /// Angle between the directions of an arc that is not halved any more, in rad.
    pub(crate) const NARROW: f64 = 1e-6;
    /// Rounding of products of the points, as a share of the largest.
    pub(crate) const PRODUCT_ROUNDING: f64 = 1e-14;
    /// Distance from the polytope that is none, as a share of its size; entries of a row of directions that say nothing.
    pub(crate) const INSIDE: f64 = 1e-12;
    /// Gap, slip, or distance from the limit of friction that is none, as a share of what it is compared with.
    pub(crate) const NONE: f64 = 1e-9;
    /// Length of a projection that is zero, as a share of the vector's.
    pub(crate) const ZERO_MOTION: f64 = 1e-7;
    /// Length of a motion or of a change of forces that is zero, over that of what it is nearest to.
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

/// Error of a proof that a program has no answer, as a share of the terms that cancel in it: sums of rows that should vanish, the
/// gap that is left, curvature and slopes of rows along a ray.
pub(crate) const PROOF: f64 = 1e-9;

/// Squared sine above which a row that only touches joins the working set: an error of its level must not be magnified
/// much.
pub(crate) const TOUCHING_INDEPENDENT: f64 = 1e-4;

/// Pivot of a cost with unit diagonal below which its block counts as singular.
pub(crate) const SINGULAR_PIVOT: f64 = 1e-8;

/// First weight of the proximal term, which holds variables that nothing resists, over a curvature of one in scaled variables:
/// small enough to converge in a few rounds, large enough that rounding over it stays below 1e-10.
pub(crate) const PROXIMAL: f64 = 1e-5;

/// Factor of the weight of the proximal term after rounds that do not converge.
pub(crate) const PROXIMAL_FALL: f64 = 1e-2;

/// Error of a point on its working set, as a share of the largest term, that no refinement makes smaller: half of the last digit.
pub(crate) const REFINED: f64 = 1e-16;

/// Imbalance of an answer, as a share of the largest force in scaled units, that is accepted at last: [`ROUNDING`] before.
pub(crate) const BALANCED_AT_LAST: f64 = 1e-8;

/// Acceptable violation, as a share of the largest variable and of the row's level in scaled units: twice [`ROW_NOISE`]. And
/// what is accepted at last.
pub(crate) const FEASIBLE: f64 = 2e-10;
pub(crate) const FEASIBLE_AT_LAST: f64 = 1e-9;

/// Violation of a row of the last point, over the rounding of its slack, that still is rounding.
pub(crate) const HELD_ROUNDING: f64 = 10.0;

/// Size of the variables beside the largest level of a row, beyond which a contradiction of rows is none.
pub(crate) const REACH: f64 = 10.0;

/// Step of a variable in a proximal round, as a share of the largest variable, that is rounding.
pub(crate) const STEP_ROUNDING: f64 = 1e-14;

/// Weight of the proximal term that is not made smaller.
pub(crate) const PROXIMAL_LEAST: f64 = 1e-10;

/// Step of a proximal round, as a share of the largest variable, at which the method has converged.
pub(crate) const PROXIMAL_CONVERGED: f64 = 1e-13;

/// Step of a proximal round, as a share of the largest variable, that is good enough where rounding lets it shrink no
/// more.
pub(crate) const PROXIMAL_STALLED: f64 = 1e-9;

/// Force or multiplier, as a share of the largest, that is rounding: following it would let flat directions drift.
pub(crate) const NO_FORCE: f64 = 1e-14;

/// Multiplier below zero after refinement, as a share of the largest, that is none.
pub(crate) const POLISHED_PULL: f64 = 1e-10;

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

/// Violation of a demand of a mode, as a share of its terms, at which it holds; multiplier, as a share of the largest, that does
/// not pull at it.
pub(crate) const HOLDS: f64 = 1e-9;

/// Added to the unit diagonal of the matrix that gives multipliers of the smallest norm, the smaller ones where rows of
/// very different size meet: directions in which the present rows cannot push become long steps, which the line search
/// cuts where new rows start to push. Rounding of the residual over the first ridge, 1e-7, stays below
/// [`NEARLY_PUSHING`].
pub(crate) const RIDGES: [f64; 3] = [1e-9, 1e-12, 1e-14];

/// The ridges of the last, exact solve, as shares of the one that led there, until the matrix has a factor.
pub(crate) const RIDGES_OF_POLISH: [f64; 4] = [1e-3, 1e-2, 1e-1, 1.0];

/// Pivot of that matrix, over the ridge, below which it counts as singular: rounding has eaten the ridge.
pub(crate) const RIDGE_PIVOT: f64 = 0.1;

/// Residual of multipliers of the smallest norm, as a share of the largest force, at which the exact solve is tried first; its
/// factor for every try that fails; and that at which no more are made.
pub(crate) const NEAR_FIRST: f64 = 1e-6;
pub(crate) const NEAR_NEXT: f64 = 1e-2;
pub(crate) const NEAR_LEAST: f64 = 1e-13;

/// Slope at the end of a whole step towards the smallest norm, as a share of that at its start, that is none.
pub(crate) const FLAT: f64 = 1e-9;

/// Rows whose force is above minus this share of the largest take part in the last, exact solve for the smallest norm.
pub(crate) const NEARLY_PUSHING: f64 = 1e-6;

/// Residual, as a share of the largest force, at which multipliers of the smallest norm count as verified.
pub(crate) const VERIFIED: f64 = 1e-11;

/// Fall of the cost, as a share of the gap asked for, for which the modes of a point are switched again.
pub(crate) const WORTH_A_SWITCH: f64 = 0.1;

/// Share of the gap asked for by which the bound of a node may be off for want of curvature.
pub(crate) const DOUBT: f64 = 0.01;

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

/// Slack of touching rows of a contact, as a share of the speeds of the data and the answer: rows contradict one another by less,
/// digits that data of the size of poses do not have. Ten times larger, recorded programs take 9 % more work.
pub(crate) const CONTACT_TOUCHING: f64 = 9e-9;

/// Slack of a contact that is rounding, as a share of the speeds without rows, of which slacks are differences.
pub(crate) const SPEED_ROUNDING_OF_FREE: f64 = 4e-16;

/// Slack of a contact that is rounding, as a share of the speeds of the data and the answer.
pub(crate) const SPEED_ROUNDING: f64 = 1e-12;

/// Squared remainder of a row, as a share of its own square, below which it depends on the rows of its set, and does not join a
/// working set from a warm start.
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

/// `kappa` at the start of each try of a relaxed program, over the one asked for.
pub(crate) const BARRIER_STARTS: [f64; 4] = [1.0, 1e2, 1e5, 1e9];

/// Factor of `kappa` after a step that is longer than [`BARRIER_LONG`].
pub(crate) const BARRIER_FALL: f64 = 0.2;

/// Step of a relaxed program, as a share of the whole, that is long enough for a smaller `kappa`.
pub(crate) const BARRIER_LONG: f64 = 0.3;

/// Step of a relaxed program, as a share of the whole, from which on it goes nowhere.
pub(crate) const BARRIER_SHORTEST: f64 = 1e-12;

/// Share of the product of the first entries of a round cone's force and slack by which its error is measured at least: the other
/// terms cancel near the boundary.
pub(crate) const BARRIER_PRODUCT: f64 = 1e-2;

/// Share of the largest multiplier by which the balance of a relaxed program is measured at least.
pub(crate) const NATURAL_FORCE: f64 = 1e-3;

/// Share of the way to the boundary that a step of the relaxed program takes.
pub(crate) const BARRIER_STEP: f64 = 0.95;

/// Errors of a relaxed program, as shares of the terms of each equation, at which it is solved.
pub(crate) const BARRIER_REACHED: f64 = 1e-14;

/// Errors of a relaxed program, as shares of the terms of each equation, that are good enough where rounding ends it.
pub(crate) const BARRIER_GOOD: f64 = 1e-12;

/// Smallest gain of a half of a choice that counts in a product of two.
pub(crate) const LEAST_GAIN: f64 = 1e-12;

/// Stiffness of springs that stand for limits of force in the search for a ray, over the largest force at speed one: so small a
/// stretch is none.
pub(crate) const STIFF_LIMIT: f64 = 1e4;

/// Newton's method of cone programs. Natural speeds are those that the forces would give the bodies: force over the largest
/// diagonal entry of the cost.
pub(crate) mod newton_of_cones {
    /// Penalty of rows, over the largest diagonal entry of the cost of an island. Ten times larger, residuals of recorded programs
    /// are up to 20 times as large, ten times smaller 100 times.
    pub(crate) const PENALTY: f64 = 1e8;
    /// Shares of the penalty on the way to the whole of it: many rows change sides together where rows are soft.
    pub(crate) const SOFTER: [f64; 3] = [1e-3, 1e-1, 1.0];
    /// Penalties for the last steps where round cones slide, over the largest diagonal entry of the cost, each with the imbalance
    /// at the end as a share of the largest multiplier: rounding of rates times the penalty is in the forces.
    pub(crate) const PENALTIES_ROUND: [(f64, f64); 2] = [(1e4, 1e-12), (1e6, 1e-10)];
    /// Slack of active rows that is rounding where all is at rest, as a share of the natural speed.
    pub(crate) const NOISE_AT_REST: f64 = 1e-16;
    /// Slack by which touching rows may contradict one another where all is at rest, as a share of the natural speed.
    pub(crate) const TOUCHING_AT_REST: f64 = 5e-13;
    /// Diagonal shift of islands with such entries, as a share of the largest one.
    pub(crate) const SHIFT: f64 = 1e-7;
    /// Largest penalty beside that shift: where rows contradict one another a stiffer one leaves more of them to be sorted out.
    pub(crate) const PENALTY_SHIFTED: f64 = 1e7;
    /// Distance of the proximal centre from the point, as a share of the speeds, at which it has converged.
    pub(crate) const CENTRE_STILL: f64 = 1e-11;
    /// Distance of the proximal centre from the point, as a share of the speeds, that is good enough where rows contradict one
    /// another.
    pub(crate) const CENTRE_NEAR: f64 = 1e-9;
    /// Step, as a share of Newton's, that is short: many rows are in each other's way, and each such step lets only few of them
    /// change sides.
    pub(crate) const CRAWL: f64 = 1e-3;
    /// Share of all rows that a step from a warm start turns, from which it is left for the interior point.
    pub(crate) const TURNED: f64 = 0.3;
    /// Share of all rows from which a warm start is left after a step that turns more of them than the one before: near the answer
    /// every step turns fewer. On recorded and simulated piles starts that led somewhere turned below 0.01 so, those that led
    /// nowhere above 0.03.
    pub(crate) const ASTRAY: f64 = 0.02;
    /// Step, as a share of the speeds, up to which one that turns more rows than the one before does not count as such.
    pub(crate) const MOVED: f64 = 1e-6;
    /// Change of the derivative of a round cone, as a share of one, below which it counts as settled: the rounds that follow
    /// gain the digits that are left. Ten times smaller, hard problems take 3 % more work.
    pub(crate) const TURN: f64 = 1e-6;
    /// Slope of the cost along a step that is rounding, as a share of its terms.
    pub(crate) const SLOPE_ROUNDING: f64 = 1e-13;
    /// Step, as a share of the speeds, that moves nothing.
    pub(crate) const NO_STEP: f64 = 1e-15;
    /// Slope, as a share of that at its start, at which the line search ends: Newton's next step corrects the rest.
    pub(crate) const LINE_SEARCH_SLOPE: f64 = 1e-3;
    /// Largest slack of active rows, as a share of that in the round before, after which another round pays.
    pub(crate) const WORTH_A_ROUND: f64 = 0.1;
    /// Forces that rows take up for contradicting one another, as a share of the largest, up to which they may stay: by so much
    /// rows that share a load differ from the smallest norm.
    pub(crate) const SHARED: f64 = 1e-6;
    /// Slack at the end of a polish in units of the contacts, as a share of that of touching rows.
    pub(crate) const POLISHED: f64 = 0.1;
}

/// The interior point of cone programs.
pub(crate) mod interior {
    /// Share of the way to the boundary that a step takes, and the most of it where the predictor gets almost all products down:
    /// their mean falls by what is left of the way. Round cones and the embedding keep to the first. Steps of a tenth of the
    /// way cost 3 times the work and 6 answers, in the embedding 37 answers.
    pub(crate) const STEP: f64 = 0.99;
    pub(crate) const STEP_MOST: f64 = 0.9999;
    /// Diagonal shift towards the last point, as a share of the largest diagonal entry of the cost. Ten times larger or smaller,
    /// hard problems take 3 or 8 % more work.
    pub(crate) const SHIFT: f64 = 1e-9;
    /// Error, as a share of the least so far, that counts as progress.
    pub(crate) const PROGRESS: f64 = 0.9;
    /// Largest variable over the speeds of the data from which on the point runs away: a program without an answer.
    pub(crate) const RUNAWAY: f64 = 1e12;
    /// Shortest step, as a share of the whole: below it rounding has taken over. A step that nothing blocks counts as its inverse.
    pub(crate) const SHORTEST: f64 = 1e-6;
    /// Weight of an edge's slack at the start, as a share of the least mass that its contact moves, and that of a round cone's:
    /// between 1e-4 and 10 the ones with the fewest iterations on recorded problems. Ten times smaller, hard problems take 7 %
    /// more work, and residuals of round cones are up to 5 times as large.
    pub(crate) const SOFT: f64 = 0.03;
    pub(crate) const SOFT_ROUND: f64 = 0.1;
    /// Slacks at the start, over the largest overlap: more than one, so that all are inside. At a tenth 8 answers are lost.
    pub(crate) const ROOM: f64 = 1.1;
    /// Multipliers at the start, over the largest one below zero: more than one, so that all are inside. Ten times larger one
    /// answer is lost, at a tenth 8.
    pub(crate) const PUSH: f64 = 1.5;
    /// Least slack and multiplier at the start, as a share of the largest.
    pub(crate) const INSIDE: f64 = 1e-4;
    /// What Gondzio's corrections add to the step, the share of that which must come for another one, and the step that is
    /// long enough without.
    pub(crate) const LONGER: f64 = 0.3;
    pub(crate) const WORTH: f64 = 0.1;
    pub(crate) const LONG: f64 = 0.92;
    /// Products that Gondzio's corrections leave, over the mean that is aimed at: those below or above are moved.
    pub(crate) const PRODUCTS: [f64; 2] = [0.1, 10.0];
    /// Mean product, as a share of force times speed, at which the rows that carry force are tried, or Newton's method has to
    /// find out which round cones slide; and that where they were not yet clear. Ten times smaller, recorded programs take 7 % more
    /// work; ten times larger, residuals are up to twice as large.
    pub(crate) const PRODUCT: f64 = 1e-14;
    pub(crate) const PRODUCT_LEAST: f64 = 1e-18;
    /// Mean product at the end in units of the contacts, as a share of force times speed. Ten times larger, hard problems take 3 %
    /// more work.
    pub(crate) const PRODUCT_IN_UNITS: f64 = 1e-13;
    /// Mean product, as a share of the accuracy asked for, at which the point is first asked whether it is near enough, and the
    /// factor of that for every time that it is not.
    pub(crate) const PRODUCT_FIRST: f64 = 0.3;
    pub(crate) const PRODUCT_NEXT: f64 = 0.1;
    /// Share of the accuracy within which everything is when the point ends without being asked: the rest is for rounding between
    /// its numbers and those of the answer.
    pub(crate) const WITHIN: f64 = 0.9;
    /// Compliance of rows, over the inverse of the largest diagonal entry of the cost: with it the answer is the one of the smallest
    /// forces. Ten times larger or smaller, hard problems take 4 % more work.
    pub(crate) const COMPLIANCE: f64 = 1e-7;
    /// Error of an end, as a share of forces and speeds, from which a program that lacks costs may well have no answer.
    pub(crate) const LOST: f64 = 1e-6;
    /// Spread of the contacts' units up to which rows of a patch may contradict one another as much as in the caller's. Ten times
    /// larger or smaller, hard problems take 4 % more work; smaller, residuals are up to 3 times as large.
    pub(crate) const EVEN: f64 = 30.0;
}

/// The homogeneous embedding in twice the digits.
pub(crate) mod embedding {
    /// Errors of an answer, as shares of the largest offset and force: `f64` has no more digits. Ten times larger one answer is lost.
    pub(crate) const SOLVED: f64 = 1e-17;
    /// Errors of a proof before it is rounded to `f64`, as shares of what it proves.
    pub(crate) const PROVEN: f64 = 1e-11;
    /// Diagonal shift of the cost, taken back by refinement. Ten times larger or smaller, one answer is lost and two are won.
    pub(crate) const SHIFT: f64 = 1e-22;
    /// Least pivot, as a share of its diagonal entry: the rounding of 32 digits.
    pub(crate) const LEAST_PIVOT: f64 = 1e-30;
    /// Multiplier, as a share of its slack, below which it may be that of an idle row.
    pub(crate) const IDLE: f64 = 1e-3;
}

/// Units in which contacts are alike.
pub(crate) mod units {
    /// Least of the largest entries that a body has at its contacts, as a share of the largest of all, where all rows come in
    /// one unit: some direction of a free body always has more. Ten times larger, programs take 3 to 4 % more work.
    pub(crate) const ALIKE: f64 = 0.3;
    /// Entry that is there by chance, as a share of the largest of its body: no contact touches such a variable.
    pub(crate) const BY_CHANCE: f64 = 1e-15;
}

/// Linear complementarity, in scaled data whose entries are around one.
pub(crate) mod lcp {
    /// Error of an answer in scaled units, for rows whose terms all but vanish.
    pub(crate) const SCALED: f64 = 1e-15;
    /// Least entry of the ratio test, as a share of the largest of its column.
    pub(crate) const ENTRY: f64 = 1e-9;
    /// Difference of two ratios that is none, as a share of what they are made of.
    pub(crate) const TIE: f64 = 1e-11;
    /// Difference of two perturbed ratios that is none, as a share of the larger one.
    pub(crate) const LEXICOGRAPHIC_TIE: f64 = 1e-10;
    /// Pivot, or part of a ratio, that is weak.
    pub(crate) const WEAK: f64 = 1e-3;
    /// Least pivot of the first basis.
    pub(crate) const PIVOT: f64 = 1e-8;
    /// Least constant of an equation without variables that counts as a contradiction.
    pub(crate) const CONSTANT: f64 = 1e-10;
    /// Largest pivot of a basis that is singular.
    pub(crate) const SINGULAR: f64 = 1e-13;
}
