//! Names of the constraints of a plan, for messages.

/// A constraint at one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Constraint {
    /// Lower bound of a state.
    StateLower(usize),
    /// Upper bound of a state.
    StateUpper(usize),
    /// Lower bound of an input.
    InputLower(usize),
    /// Upper bound of an input.
    InputUpper(usize),
    /// Lower bound of the change of an input.
    RateLower(usize),
    /// Upper bound of the change of an input.
    RateUpper(usize),
    /// Upper bound of an impulse, by entry of `gamma`.
    Impulse(usize),
    /// Gap of a contact, or row of a plain pair, by entry of `gamma`. It must be ≥ 0, and 0 while
    /// an impulse acts.
    Contact(usize),
    /// Friction of a contact, by the entry of `gamma` of its normal impulse.
    Friction(usize),
}

impl std::fmt::Display for Constraint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::StateLower(i) => write!(f, "lower bound of state {i}"),
            Self::StateUpper(i) => write!(f, "upper bound of state {i}"),
            Self::InputLower(i) => write!(f, "lower bound of input {i}"),
            Self::InputUpper(i) => write!(f, "upper bound of input {i}"),
            Self::RateLower(i) => write!(f, "lower bound of the change of input {i}"),
            Self::RateUpper(i) => write!(f, "upper bound of the change of input {i}"),
            Self::Impulse(i) => write!(f, "upper bound of impulse {i}"),
            Self::Contact(i) => write!(f, "complementarity of entry {i} of gamma"),
            Self::Friction(i) => write!(f, "friction of the contact with normal impulse {i}"),
        }
    }
}

/// A constraint at a step of the horizon. Inputs and their changes count from step 0, states and
/// impulses from step 1; state 0 is the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AtStep {
    /// Index of the step.
    pub step: usize,
    /// The constraint.
    pub constraint: Constraint,
}

impl std::fmt::Display for AtStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at step {}", self.constraint, self.step)
    }
}

/// A violated soft bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relaxed {
    /// The bound and its step.
    pub at: AtStep,
    /// Size of the violation, > 0, in the unit of the bounded quantity.
    pub amount: f64,
}
