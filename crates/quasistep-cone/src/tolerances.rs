//! Tolerances. Each comment gives the reference size and the reason for the value. Iteration limits
//! stand beside their loops.
//!
//! Where a comment reports the effect of a tenfold change, it was measured on 216 recorded cone
//! programs or on the first 800 hard programs of `testkit`. Work counts multiply-adds.

pub(crate) use quasistep_linalg::tolerances::{
    CLEAR, DIVERGED, MODERATE, NO_FORCE, NO_MULTIPLIER, PROOF, ROUNDING,
};

/// For a derivative, a row is weakly active if its multiplier is below this share of the largest
/// force and its slack below this share of the slack's terms. It is ten times the violation that
/// the check of a solution allows.
pub(crate) const TIE: f64 = 1e-7;

/// Largest `rho a H⁻¹ aᵀ` of a row `a` in the span of the active rows. Dependent rows have values
/// of a few, independent rows 1e5 and more.
pub(crate) const HELD: f64 = 300.0;

/// Slack of active rows at the end of Newton's method, as a share of the speeds of the data and the
/// solution. It allows for rows that are inconsistent by rounding of the caller's data. With ten
/// times the value, recorded programs take 9 % more work.
pub(crate) const CONTACT_TOUCHING: f64 = 9e-9;

/// Slack that is rounding in the finish of Newton's method, as a share of the speeds of the data
/// and the solution.
pub(crate) const SPEED_ROUNDING: f64 = 1e-12;

/// Rounds of iterative refinement of a solution where digits are lost.
pub(crate) const REFINEMENTS: u32 = 2;

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
    /// Slack of active rows after one multiplier update above which a second one follows, as a share
    /// of the speeds of the data and the solution. One update leaves a share of the initial error,
    /// 1e-5 where rows are nearly dependent.
    pub(crate) const NOISE: f64 = 1e-14;
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
    /// Violation of a row at the solution of an active set above which another active set is
    /// searched, as a share of the speeds of the data and the solution. Callers know positions to
    /// about 1e-12 m, so dependent rows may be inconsistent by this in a step of 0.01 s.
    pub(crate) const HELD_TO: f64 = 1e-10;
    /// Curvature of the dual along a direction, times the penalty and as a share of the direction's
    /// squared length, below which the direction belongs to dependent rows.
    pub(crate) const DEPENDENT: f64 = 1e-9;
    /// Slack of active rows after a step on the dual, as a share of that before, above which it is
    /// rounding.
    pub(crate) const STALLED: f64 = 0.1;
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
    /// Share of its offset by which each row is relaxed. Dependent rows contradict one another by
    /// the rounding of the data, which 32 digits would resolve. With ten times the value, or a
    /// tenth, as many hard programs have no answer; without it two more.
    pub(crate) const LOOSE: f64 = 1e-14;
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
