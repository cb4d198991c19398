//! What is wrong with a task.

use crate::grasp::GraspError;
use quasistep::StepError;

/// A task that cannot be planned.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// There is no goal, or a goal without targets.
    #[error("goal {0} has no target")]
    Empty(usize),
    /// A number is not what it must be.
    #[error("{what} is {value}; it must be {rule}")]
    Number {
        /// Name of the number.
        what: String,
        /// Its value.
        value: f64,
        /// What it must be.
        rule: &'static str,
    },
    /// A list has the wrong length.
    #[error("{what} has {got} entries; this system has {want} commands")]
    Length {
        /// Name of the list.
        what: &'static str,
        /// Number of entries.
        got: usize,
        /// Number of commands.
        want: usize,
    },
    /// The start is outside of the bounds.
    #[error("command `{name}` starts at {value}, outside of its bounds {lower} to {upper}")]
    Start {
        /// Index of the command.
        index: usize,
        /// Name of the command.
        name: String,
        /// Command at the start.
        value: f64,
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
    },
    /// Commands are quaternions or switches.
    #[error("{0}")]
    Commands(&'static str),
    /// A body that no command can move.
    #[error(
        "goal {}: nothing moves `{body}`: none of its joints is commanded, and nothing that moves may touch it",
        at[0]
    )]
    Unmoved {
        /// Index of the goal, and of the target in it.
        at: [usize; 2],
        /// Name of the body.
        body: String,
    },
    /// A value beyond the limits of a joint.
    #[error("goal {}: `{name}` cannot be {value}: its limits are {lower} to {upper}", at[0])]
    Limit {
        /// Index of the goal, and of the target in it.
        at: [usize; 2],
        /// Name of the coordinate.
        name: String,
        /// Value, in m or rad.
        value: f64,
        /// Lower limit.
        lower: f64,
        /// Upper limit.
        upper: f64,
    },
    /// A pose out of the plane in which a body moves.
    #[error(
        "goal {}: `{body}` moves in a plane, and this pose is {angle} rad and {distance} m out of it",
        at[0]
    )]
    OutOfPlane {
        /// Index of the goal, and of the target in it.
        at: [usize; 2],
        /// Name of the body.
        body: String,
        /// Angle between the pose and the nearest in the plane, in rad.
        angle: f64,
        /// Distance between them, in m.
        distance: f64,
    },
    /// A pose within a body that never moves.
    #[error("goal {}: at this pose `{body}` is {by} m deep in `{other}`, which never moves", at[0])]
    Within {
        /// Index of the goal, and of the target in it.
        at: [usize; 2],
        /// Name of the body.
        body: String,
        /// Name of the body that never moves.
        other: String,
        /// Depth, in m.
        by: f64,
    },
    /// A new grasp that cannot be sampled, or to which no path can lead.
    #[error("grasp {index}: {why}")]
    Grasp {
        /// Index of the grasp.
        index: usize,
        /// What is wrong with it.
        why: GraspError,
    },
    /// Distances at a pose cannot be computed.
    #[error("{0}")]
    Distances(StepError),
}

impl TaskError {
    /// Index of the goal that is wrong, and of the target in it.
    pub fn target(&self) -> Option<[usize; 2]> {
        match self {
            Self::Unmoved { at, .. }
            | Self::Limit { at, .. }
            | Self::OutOfPlane { at, .. }
            | Self::Within { at, .. } => Some(*at),
            _ => None,
        }
    }
}
