//! Settings, result and errors of inverse kinematics.

use super::target::{FrameTarget, Orientation};
use crate::error::{StepError, quoted};
use crate::system::{Role, System};
use quasistep_model::Frame;
use std::fmt;

/// Settings of inverse kinematics. Plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct IkSettings {
    /// Bodies whose joints may move. Default `None`: every driven joint between the world and the
    /// frame. Passive joints never move.
    pub joints: Option<Vec<usize>>,
    /// Bounds of dofs in addition to the model's limits, in m or rad; the tighter bound holds.
    /// Default none.
    pub limits: Vec<(usize, [f64; 2])>,
    /// Smallest permitted distance, in m, ≥ 0, of pairs that may touch and whose bodies the joints
    /// move relative to one another. Default `None`: distances are not computed.
    pub avoid: Option<f64>,
    /// Largest distance of the frame's origin from its target, in m, > 0. Default `None`: 1e-6 m,
    /// or 1e-6 times the length of the moving chain if that is less.
    pub position_tolerance: Option<f64>,
    /// Largest angle of the frame's axes to those of the target, in rad, > 0. Default 1e-6.
    pub rotation_tolerance: f64,
    /// Largest number of starts of the search, ≥ 1. Default 100. The first start is `q0`; further
    /// starts are spread evenly within the limits and are the same in every call.
    pub attempts: u32,
}

impl Default for IkSettings {
    fn default() -> Self {
        Self {
            joints: None,
            limits: Vec::new(),
            avoid: None,
            position_tolerance: None,
            rotation_tolerance: 1e-6,
            attempts: 100,
        }
    }
}

/// Result of inverse kinematics: a configuration at which the frame is at its target.
#[derive(Clone, Debug, PartialEq)]
pub struct IkAnswer {
    /// The configuration. Entries of joints that may not move are those of `q0`.
    pub q: Vec<f64>,
    /// Distance of the frame's origin from its target, in m.
    pub position_error: f64,
    /// Angle of the frame's axes to those of the target, in rad.
    pub rotation_error: f64,
    /// Number of starts that were tried, 1 if the search from `q0` succeeded.
    pub attempts: u32,
}

/// Two bodies whose distance is at or below the smallest permitted one.
#[derive(Clone, Debug, PartialEq)]
pub struct TooNear {
    /// Body A, `model/link`.
    pub a: String,
    /// Body B, `model/link`.
    pub b: String,
    /// Signed distance of the two bodies, in m; negative is an overlap.
    pub distance: f64,
    /// The smallest permitted distance, in m.
    pub avoid: f64,
}

/// A target that was not reached, and the nearest configuration found.
#[derive(Clone, Debug, PartialEq)]
pub struct NotReached {
    /// Body of the frame, `model/link`.
    pub frame: String,
    /// The target.
    pub target: FrameTarget,
    /// Index of the target on its path, and the number of targets.
    pub point: Option<(usize, usize)>,
    /// The configuration nearest to the target found within limits.
    pub q: Vec<f64>,
    /// Distance of the frame's origin from its target at `q`, in m.
    pub position_error: f64,
    /// Angle of the frame's axes to those of the target at `q`, in rad.
    pub rotation_error: f64,
    /// Names of joints at a limit at `q`.
    pub at_limit: Vec<String>,
    /// True if no joint motion reduces the error at `q`, even without limits: the arm is stretched,
    /// or folded.
    pub singular: bool,
    /// A pair whose distance at `q` is at most `avoid`.
    pub too_near: Option<TooNear>,
    /// Number of dofs that may move.
    pub n_dofs: usize,
    /// The joint that would have to jump to continue the path, and the size of the jump, in m or
    /// rad.
    pub jump: Option<(String, f64)>,
}

/// Error of inverse kinematics.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum IkError {
    /// Caller's mistake: an argument does not fit this system.
    #[error(transparent)]
    Argument(StepError),
    /// The target was not reached.
    #[error("{0}")]
    NotReached(Box<NotReached>),
}

pub(super) fn argument(what: &str, why: String) -> IkError {
    IkError::Argument(StepError::Value { what: what.into(), why })
}

impl fmt::Display for NotReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` does not reach {}", self.frame, self.target)?;
        if let Some((index, n)) = self.point {
            write!(f, ", point {index} of {n} (counted from 0)")?;
        }
        if let Some((joint, by)) = &self.jump {
            return write!(f, " without a jump: `{joint}` would have to move by {by:.3} at once");
        }
        let (p, r) = (self.position_error, self.rotation_error);
        write!(f, ": the nearest found is {p:.3e} m and {r:.3e} rad off")?;
        if !self.at_limit.is_empty() {
            write!(f, ", with {} at the limit", quoted(&self.at_limit))?;
        }
        if self.singular {
            write!(f, ", where no motion of the joints brings it nearer (stretched or singular)")?;
        }
        if let Some(TooNear { a, b, distance, avoid }) = &self.too_near {
            write!(f, "; `{a}` and `{b}` are {distance:.3e} m apart there, `avoid` is {avoid} m")?;
        }
        // position and orientation are six numbers
        if self.n_dofs < 6 && matches!(self.target.orientation, Orientation::Fixed(_)) {
            write!(
                f,
                "; with {} dofs that may move not every orientation can be reached: `orientation: free` lets the frame turn (in Python, give a position alone)",
                self.n_dofs
            )?;
        }
        Ok(())
    }
}

impl IkSettings {
    pub(super) fn check(&self, system: &System, frame: &Frame, q0: &[f64]) -> Result<(), IkError> {
        let model = system.model();
        let (got, want) = (q0.len(), model.n_q());
        if got != want {
            return Err(IkError::Argument(StepError::Length { what: "q0", got, want }));
        }
        model.check_q(q0).map_err(|e| argument("q0", e.to_string()))?;
        if frame.body >= model.n_bodies() {
            let why = format!("body {} of {}", frame.body, model.n_bodies());
            return Err(argument("frame", why));
        }
        for (what, value) in [
            ("position_tolerance", self.position_tolerance.unwrap_or(1.0)),
            ("rotation_tolerance", self.rotation_tolerance),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(argument(what, format!("it is {value}; it must be > 0")));
            }
        }
        if self.attempts == 0 {
            return Err(argument("attempts", "it is 0; it must be ≥ 1".into()));
        }
        if let Some(avoid) = self.avoid
            && !(avoid >= 0.0 && avoid.is_finite())
        {
            return Err(argument("avoid", format!("it is {avoid}; it must be ≥ 0 m")));
        }
        for &(dof, [lower, upper]) in &self.limits {
            if dof >= model.n_v() || lower.is_nan() || upper.is_nan() || lower > upper {
                let why = format!("[{lower}, {upper}] of dof {dof}; the lower limit comes first");
                return Err(argument("limits", why));
            }
        }
        for &body in self.joints.iter().flatten() {
            let driven = body < model.n_bodies() && system.roles()[body] != Role::Passive;
            if !driven {
                let names: Vec<String> =
                    system.commanded().iter().map(|&b| model.body(b).joint_name.clone()).collect();
                let seen = model.bodies().get(body).map_or("–", |b| b.joint_name.as_str());
                let why = format!("`{seen}` is not driven; driven are {}", quoted(&names));
                return Err(argument("joints", why));
            }
        }
        Ok(())
    }
}
