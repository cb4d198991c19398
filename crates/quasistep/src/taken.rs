//! Steps that a tolerance tries and keeps.

use crate::report::StepReport;
use crate::state::{State, StepInput, WarmRow};
use quasistep_math::Pose;
use quasistep_model::Kinematics;

/// The time that a step covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// End of the step, in s.
    pub end: f64,
    /// Size of the step, in s.
    pub size: f64,
}

/// A step that was kept.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// State at its end.
    pub state: State,
    /// Input of the step.
    pub input: StepInput,
    /// Its report. The report of the second step has the
    /// [`SizeChoice`](crate::SizeChoice).
    pub report: StepReport,
    /// Poses of all bodies at its end.
    pub X_WB: Vec<Pose>,
}

/// Memory of [`System::step_by_tolerance`].
#[derive(Debug, Default)]
pub(crate) struct SizeWork {
    /// The step of twice the size, and the two steps.
    pub whole: Taken,
    pub halves: [Taken; 2],
    /// Size of the step in `whole`, if it is known before the trial, in s.
    pub known: Option<f64>,
    /// True if the first of the two steps has an answer.
    pub has_first: bool,
    /// Warm start of the first two solves, and the size of the step that left it, in s.
    pub rows: Option<Vec<WarmRow>>,
    pub time_step: Option<f64>,
    /// Displacement, configuration and poses of the middle of the step of twice the size.
    pub way: Vec<f64>,
    pub q: Vec<f64>,
    pub kin: Option<Kinematics>,
}
