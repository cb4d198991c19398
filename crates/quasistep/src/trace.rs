//! What a step tried, for its derivatives.

use crate::scan::Meeting;
use crate::state::State;

/// Every motion that a step tried, in order, for its derivatives.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub motions: Vec<Tried>,
    /// What the next one starts from the end of: a motion and how far it is followed, or the start of the step.
    pub before: Option<(usize, f64)>,
    /// What is left of the step then, in s.
    pub left: f64,
}

/// One motion that a step tried.
#[derive(Clone, Debug)]
pub(crate) struct Tried {
    pub from: State,
    pub q_cmd: Vec<f64>,
    pub before: Option<(usize, f64)>,
    /// What is left of the step at its start, and the time that it takes, in s.
    pub left: f64,
    pub size: f64,
    /// Pairs that joined its program.
    pub meetings: Vec<Meeting>,
}

impl Trace {
    /// The last motion is followed for a share of it; `left` seconds are then left of the step.
    pub fn follow(&mut self, share: f64, left: f64) {
        (self.before, self.left) = (Some((self.motions.len() - 1, share)), left);
    }
}
