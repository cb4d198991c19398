//! Names for the demands of a plan, for people.

/// A demand at one step.
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
    /// Lower bound of an input's change.
    RateLower(usize),
    /// Upper bound of an input's change.
    RateUpper(usize),
    /// Upper bound of an impulse, by entry of `gamma`.
    Impulse(usize),
    /// A gap, or the row of a plain pair, by entry of `gamma`: it must stay open, or closed while
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

/// A constraint at a step of the horizon: inputs and their changes from 0, states and impulses
/// from 1; the start is state 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AtStep {
    /// The step.
    pub step: usize,
    /// What must hold there.
    pub constraint: Constraint,
}

impl std::fmt::Display for AtStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at step {}", self.constraint, self.step)
    }
}

/// A soft bound that could not be held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relaxed {
    /// Which.
    pub at: AtStep,
    /// By how much it is violated, > 0, in its own unit.
    pub amount: f64,
}
