//! Errors of constraints and their rows at one configuration.

use crate::held::Held;
use quasistep_math::{Quat, Vec3};
use quasistep_model::{Kinematics, Model, Twist};

/// Largest number of rows of a constraint.
pub(crate) const MOST_ROWS: usize = 6;

impl Held {
    /// Error `g` in the order of the rows: for frames three numbers in m along the world's axes,
    /// then three in rad; for a coupling one number in its own unit.
    pub fn error(&self, model: &Model, kin: &Kinematics, q: &[f64]) -> [f64; MOST_ROWS] {
        let mut error = [0.0; MOST_ROWS];
        let Some(frames) = self.frames() else {
            let sum: f64 = self.terms.iter().map(|(_, at, c)| c * q[*at]).sum();
            error[0] = sum - self.offset;
            return error;
        };
        let [X_WA, X_WB] = frames.map(|frame| model.frame_pose(kin, frame));
        let shift = X_WB.translation - X_WA.translation;
        error[..3].copy_from_slice(&shift.to_array());
        if self.turns() {
            let turn = turn_between(X_WA.rotation, X_WB.rotation);
            error[3..].copy_from_slice(&turn.to_array());
        }
        error
    }

    /// Calls `each` with row, dof and entry of all nonzero entries of the constraint's rows.
    pub fn entries(
        &self,
        model: &Model,
        kin: &Kinematics,
        mut each: impl FnMut(usize, usize, f64),
    ) {
        let p_W = self.place(model, kin);
        for (column, sign) in self.columns(model) {
            let column = &kin.columns[column];
            let (dof, rate) = (column.dof as usize, rate(&column.twist(), p_W));
            for (row, entry) in rate.into_iter().take(self.rows.len()).enumerate() {
                each(row, dof, sign * entry);
            }
        }
        for (dof, c) in self.terms() {
            each(0, dof, c);
        }
    }
}

/// Magnitudes of an error: translation in m (or a coupling's unit), and rotation in rad.
pub(crate) fn size(error: &[f64; MOST_ROWS]) -> [f64; 2] {
    let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    [norm(&error[..3]), norm(&error[3..])]
}

/// Rates of the rows of frames for the twist of B relative to A.
fn rate(twist: &Twist, p_W: Vec3) -> [f64; MOST_ROWS] {
    let (v, w) = (twist.at(p_W).to_array(), twist.w_W.to_array());
    [v[0], v[1], v[2], w[0], w[1], w[2]]
}

/// Rotation vector from one orientation to another, in W.
pub(super) fn turn_between(from: Quat, to: Quat) -> Vec3 {
    (to * from.inverse()).to_rotation_vector()
}

/// Share of an error of size `size` that a step of `h` recovers, at a speed of at most `most` (m/s
/// or rad/s).
pub(crate) fn recovered(size: f64, h: f64, most: f64) -> f64 {
    if size > h * most { h * most / size } else { 1.0 }
}
