//! What a run leaves besides its frames.

use crate::spans::Spans;
use crate::summary::Seconds;
use quasistep::{State, Tally};
use quasistep_scene::FactResult;

/// Results of a run, without its frames.
pub struct Course {
    pub state: State,
    pub tally: Tally,
    pub spans: Spans,
    pub seconds: Seconds,
    pub facts: Vec<FactResult>,
    /// Reason for an early end.
    pub stopped: Option<String>,
    pub interrupted: bool,
}
