//! Target pose of a frame.

use quasistep_math::{Pose, Quat, Vec3};
use std::fmt;

/// Target pose of a frame, in the world.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameTarget {
    /// Target position of the frame's origin, in m; `None` for any position.
    pub position: Option<Vec3>,
    /// Target orientation of the frame's axes.
    pub orientation: Orientation,
}

/// Target orientation of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Orientation {
    /// Any orientation.
    Free,
    /// The frame has this rotation `R_WF`.
    Fixed(Quat),
    /// One axis of the frame points along a direction; rotation about it is free.
    Axis {
        /// The axis, in the frame; any nonzero length.
        axis_F: Vec3,
        /// The direction, in the world; any nonzero length.
        direction_W: Vec3,
    },
}

impl From<Pose> for FrameTarget {
    fn from(X: Pose) -> Self {
        Self { position: Some(X.translation), orientation: Orientation::Fixed(X.rotation) }
    }
}

impl fmt::Display for FrameTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |x: f64| if x.abs() < 1e6 { format!("{x:.4}") } else { format!("{x:.4e}") };
        let three = |v: Vec3| format!("[{}, {}, {}]", number(v.x), number(v.y), number(v.z));
        let place = self.position.map(|p| format!("{} m", three(p)));
        let axes = match self.orientation {
            Orientation::Free => None,
            Orientation::Fixed(q) => {
                Some(format!("the quaternion [{:.4}, {:.4}, {:.4}, {:.4}]", q.w, q.x, q.y, q.z))
            }
            Orientation::Axis { axis_F, direction_W } => {
                Some(format!("its axis {} along {}", three(axis_F), three(direction_W)))
            }
        };
        f.write_str(&place.into_iter().chain(axes).collect::<Vec<_>>().join(" with "))
    }
}
