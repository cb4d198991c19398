//! Frames on bodies: pose, velocity and Jacobian.
//!
//! ```text
//! X_WF = X_WB X_BF          [ w_WF ]  =  J(q) v          6 rows: angular velocity, then velocity of F's origin,
//!                           [ v_WF ]                     both in W; columns in the order of v
//! ```

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
}
