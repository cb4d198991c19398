//! Frames on bodies: pose, velocity and Jacobian.
//!
//! ```text
//! X_WF = X_WB X_BF          [ w_WF ]  =  J(q) v          6 rows: angular velocity, then velocity of F's origin,
//!                           [ v_WF ]                     both in W; columns in the order of v
//! ```
//!
//! The yaw about an axis is the angle `ψ` of the rotation about it in `R_WF = swing · turn(axis, ψ)`, where
//! the axis of the swing is perpendicular: `ψ = 2 atan2(axis·u, w)` for the unit quaternion `(w, u)`.

use crate::{Kinematics, Model, Twist};
use quasistep_math::{Pose, Vec3};

/// A frame F fixed to body B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Index of the body; 0 is the world.
    pub body: usize,
    /// Pose of F in the body's frame.
    pub X_BF: Pose,
}

impl Frame {
    /// The body frame itself.
    pub const fn of_body(body: usize) -> Self {
        Self { body, X_BF: Pose::IDENTITY }
    }

    /// The frame with the same axes whose origin is at `p_F`, in m.
    pub fn at(&self, p_F: Vec3) -> Self {
        Self { X_BF: self.X_BF * Pose::from_translation(p_F), ..*self }
    }
}

impl Model {
    /// Pose `X_WF` of a frame.
    ///
    /// # Panics
    ///
    /// If there is no such body.
    pub fn frame_pose(&self, kin: &Kinematics, frame: &Frame) -> Pose {
        kin.X_WB[frame.body] * frame.X_BF
    }

    /// Writes the Jacobian of a frame, `6 × n_v`, row-major: `J v` is the angular velocity of F (rows 0 to 2,
    /// rad/s), then the velocity of its origin (rows 3 to 5, m/s), both in W. Its transpose takes a torque and a
    /// force at the origin, in W, to generalised forces.
    ///
    /// # Panics
    ///
    /// If there is no such body, or `J` does not have `6 n_v` entries.
    pub fn frame_jacobian(&self, kin: &Kinematics, frame: &Frame, J: &mut [f64]) {
        let n_v = self.n_v();
        assert_eq!(J.len(), 6 * n_v, "entries of a frame's Jacobian with n_v = {n_v}");
        J.fill(0.0);
        let p_WF = self.frame_pose(kin, frame).translation;
        for &index in self.path(frame.body) {
            let column = &kin.columns[index as usize];
            let v_WF = column.v_Wo_W + column.w_W.cross(p_WF);
            let entries = [column.w_W.to_array(), v_WF.to_array()].concat();
            for (row, entry) in entries.into_iter().enumerate() {
                J[row * n_v + column.dof as usize] += entry;
            }
        }
    }

    /// Angular velocity of a frame (rad/s) and velocity of its origin (m/s), both in W, at rates `v` (length `n_v`).
    ///
    /// # Panics
    ///
    /// If there is no such body, or `v` is shorter than `n_v`.
    pub fn frame_velocity(&self, kin: &Kinematics, frame: &Frame, v: &[f64]) -> [Vec3; 2] {
        let mut twist = Twist::ZERO;
        for &index in self.path(frame.body) {
            let column = &kin.columns[index as usize];
            let rate = v[column.dof as usize];
            twist.w_W += column.w_W * rate;
            twist.v_Wo_W += column.v_Wo_W * rate;
        }
        [twist.w_W, twist.at(self.frame_pose(kin, frame).translation)]
    }

    /// Yaw of a frame about the unit vector `axis_W`, in (−π, π] rad, and its gradient by tangent
    /// coordinates (length `n_v`). NaN where a half turn about a perpendicular axis leaves it open.
    ///
    /// # Panics
    ///
    /// If there is no such body, or `gradient` does not have `n_v` entries.
    pub fn frame_yaw(
        &self,
        kin: &Kinematics,
        frame: &Frame,
        axis_W: Vec3,
        gradient: &mut [f64],
    ) -> f64 {
        assert_eq!(gradient.len(), self.n_v(), "entries of the gradient of a yaw");
        gradient.fill(0.0);
        let R_WF = self.frame_pose(kin, frame).rotation;
        // q and −q are one rotation
        let sign = if R_WF.w < 0.0 { -1.0 } else { 1.0 };
        let (w, u) = (R_WF.w * sign, Vec3::new(R_WF.x, R_WF.y, R_WF.z) * sign);
        let s = u.dot(axis_W);
        let size = w * w + s * s;
        // the quaternion of a half turn is known to rounding
        let open = size < f64::EPSILON * f64::EPSILON;
        let slope = (axis_W * (w * w) + u.cross(axis_W) * w + u * s) * (1.0 / size);
        for &index in self.path(frame.body) {
            let column = &kin.columns[index as usize];
            gradient[column.dof as usize] += if open { f64::NAN } else { slope.dot(column.w_W) };
        }
        if open { f64::NAN } else { 2.0 * s.atan2(w) }
    }
}
