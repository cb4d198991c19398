//! Error of a frame to its target, and its derivative with respect to the joints.
//!
//! ```text
//! e = [ log(R_target R_WFᵀ),  (p_target − p_WF) / length ]          de/dt ≈ −J v,   d(|e|²/2)/dt = −eᵀ J v
//! ```

use super::answer::{IkError, argument};
use super::target::{FrameTarget, Orientation};
use quasistep_math::{Pose, Quat, Vec3};

impl FrameTarget {
    pub(super) fn check(&self) -> Result<(), IkError> {
        let fine = |v: Vec3| v.is_finite() && v.try_normalize().is_some();
        let wrong = match self.orientation {
            _ if self.position.is_some_and(|p| !p.is_finite()) => "a position must be finite",
            Orientation::Free if self.position.is_none() => {
                "give a position, an orientation or both"
            }
            Orientation::Fixed(q) if Quat::try_normalize(q.to_array()).is_none() => {
                "a quaternion must have a direction"
            }
            Orientation::Axis { axis_F, direction_W } if !fine(axis_F) || !fine(direction_W) => {
                "an axis must be finite and have a direction"
            }
            _ => return Ok(()),
        };
        Err(argument("pose", format!("{wrong}; {self} was seen")))
    }

    /// Rotation vector in W that rotates a frame with orientation `R_WF` to its target.
    pub(super) fn rotation_error(&self, R_WF: Quat) -> Vec3 {
        match self.orientation {
            Orientation::Free => Vec3::ZERO,
            Orientation::Fixed(q) => {
                let wanted = Quat::try_normalize(q.to_array()).unwrap_or(q);
                (wanted * R_WF.inverse()).to_rotation_vector()
            }
            Orientation::Axis { axis_F, direction_W } => {
                let (Some(axis_F), Some(wanted)) =
                    (axis_F.try_normalize(), direction_W.try_normalize())
                else {
                    return Vec3::ZERO;
                };
                let seen = R_WF.rotate(axis_F);
                let (cross, cos) = (seen.cross(wanted), seen.dot(wanted));
                // for opposite axes, any half turn will do
                let about = cross.try_normalize().unwrap_or_else(|| seen.any_orthogonal());
                about * cross.norm().atan2(cos)
            }
        }
    }

    /// Component of an angular velocity that changes the task's error.
    pub(super) fn felt(&self, R_WF: Quat, w_W: Vec3) -> Vec3 {
        match self.orientation {
            Orientation::Free => Vec3::ZERO,
            Orientation::Fixed(_) => w_W,
            Orientation::Axis { axis_F, .. } => {
                let axis = R_WF.rotate(axis_F.try_normalize().unwrap_or(Vec3::Z));
                w_W - axis * axis.dot(w_W)
            }
        }
    }

    /// Vector to the target from a frame's origin at `p_WF`, in m.
    pub(super) fn position_error(&self, p_WF: Vec3) -> Vec3 {
        self.position.map_or(Vec3::ZERO, |p| p - p_WF)
    }

    /// Intermediate target at the share `s` of the straight path from the pose `X_WF` to this
    /// target.
    pub(super) fn between(&self, X_WF: &Pose, s: f64) -> Self {
        if s >= 1.0 {
            return self.clone();
        }
        let turned = |share: f64| {
            let about = self.rotation_error(X_WF.rotation) * share;
            Quat::from_rotation_vector(about) * X_WF.rotation
        };
        Self {
            position: self.position.map(|p| X_WF.translation + (p - X_WF.translation) * s),
            orientation: match self.orientation {
                Orientation::Free => Orientation::Free,
                Orientation::Fixed(_) => Orientation::Fixed(turned(s)),
                Orientation::Axis { axis_F, .. } => {
                    Orientation::Axis { axis_F, direction_W: turned(s).rotate(axis_F) }
                }
            },
        }
    }
}
