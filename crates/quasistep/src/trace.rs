//! Record of the motions that a step tried, for its derivatives.

use crate::scan::Meeting;
use crate::state::State;

/// All motions that a step tried, in order, for its derivatives.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub motions: Vec<Tried>,
    /// Start of the next motion: index of an earlier motion and the share up to which it is
    /// followed, or `None` for the start of the step.
    pub before: Option<(usize, f64)>,
    /// Remaining time of the step at that point, in s.
    pub left: f64,
}

/// One motion that a step tried.
#[derive(Clone, Debug)]
pub(crate) struct Tried {
    pub from: State,
    pub q_cmd: Vec<f64>,
    pub before: Option<(usize, f64)>,
    /// Remaining time of the step at the start of the motion, and the motion's duration, in s.
    pub left: f64,
    pub size: f64,
    /// Largest speed at which the motion opens overlaps, in m/s.
    pub max_recovery_speed: f64,
    /// Pairs that were added to the program.
    pub meetings: Vec<Meeting>,
}

impl Trace {
    /// Records that the last motion is followed up to `share` of it, with `left` seconds of the
    /// step remaining.
    pub fn follow(&mut self, share: f64, left: f64) {
        (self.before, self.left) = (Some((self.motions.len() - 1, share)), left);
    }
}
