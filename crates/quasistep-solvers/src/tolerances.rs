//! Tolerances and limits of the solvers: symbol, unit, formula, range, and what fails when one is ten times larger or
//! smaller.

// Interior point, proofs, the test of optimality.

// Newton's methods, exact friction, complementarity problems.

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

/// Linear complementarity problems.
pub(crate) mod complementarity {
    /// Value that is rounding, as a share of its terms.
    pub(crate) const ROUNDING: f64 = 1e-12;
    /// Least entry of the ratio test, as a share of the largest of its column.
    pub(crate) const LEAST: f64 = 1e-9;
    /// Difference of two ratios that is none, as a share of what they are made of.
    pub(crate) const TIE: f64 = 1e-11;
    /// Least pivot, in scaled data whose entries are around one.
    pub(crate) const LEAST_FIRST: f64 = 1e-8;
    /// Least value of a constant that counts, in scaled data whose entries are around one.
    pub(crate) const CONSTANT: f64 = 1e-10;
    /// Error that an answer may have, as a share of the terms of each row.
    pub(crate) const TERMS: f64 = 1e-12;
    /// Error that an answer may have in scaled units, for rows whose terms all but vanish.
    pub(crate) const SCALED: f64 = 1e-15;
}

// Active sets, branch and bound, derivatives.
