//! Integration of rotations over a step.
//!
//! ```text
//! exponential:   R_next = exp(h w) R
//! linear:        Q_next = (Q + h/2 w Q) / ‖Q + h/2 w Q‖ = exp(s(θ) h w) Q,      s = 2 atan(θ/2) / θ,   θ = ‖h w‖
//! ```
//!
//! The linear rule is the exponential of a smaller angle, by `θ³/12` to first order. All
//! derivatives use this form.

use crate::params::{Rotations, StepParams};
use crate::system::System;
use quasistep_math::{Mat3, Vec3};
use quasistep_model::JointKind;

/// Rotation angle below which both rules agree to the last digit, in rad.
const SMALL: f64 = 1e-8;

/// `s(θ)` and the derivative of `s(θ) θ` with respect to `θ`.
fn shares(theta: f64) -> [f64; 2] {
    if theta < SMALL {
        return [1.0, 1.0];
    }
    [2.0 * (0.5 * theta).atan() / theta, 1.0 / (1.0 + 0.25 * theta * theta)]
}

/// Matrix that maps the change of `u = h w` to the change of `s(θ) u`.
fn change(u: Vec3) -> Mat3 {
    let theta = u.norm();
    let [across, along] = shares(theta);
    let mut map = Mat3::diagonal([across; 3]);
    if theta >= SMALL {
        let axis = u * (1.0 / theta);
        map = map + Mat3::outer(axis, axis) * (along - across);
    }
    map
}

fn turn(v: &[f64], first: usize) -> Vec3 {
    Vec3::new(v[first], v[first + 1], v[first + 2])
}

impl System {
    /// Rates `w'` such that `q ⊕ h w'` is the next configuration for the rates `v`.
    pub(crate) fn followed<'a>(
        &self,
        v: &'a [f64],
        params: &StepParams,
        memory: &'a mut Vec<f64>,
    ) -> &'a [f64] {
        if params.rotations == Rotations::Exponential {
            return v;
        }
        memory.clear();
        memory.extend_from_slice(v);
        for first in self.turning() {
            let [share, _] = shares(params.time_step * turn(v, first).norm());
            memory[first..first + 3].iter_mut().for_each(|w| *w *= share);
        }
        memory
    }

    /// First dof of each joint with a quaternion.
    fn turning(&self) -> impl Iterator<Item = usize> {
        let bodies = self.model.bodies().iter();
        let turns = |joint: &JointKind| matches!(joint, JointKind::Ball | JointKind::Free);
        bodies.filter(move |body| turns(&body.joint) && !body.v.is_empty()).map(|body| body.v.start)
    }

    /// Maps the change of `h v` to the change of `h w'`, in place. The map is symmetric, so it is
    /// its own transpose.
    pub(crate) fn follow_change(&self, v: &[f64], params: (Rotations, f64), hdv: &mut [f64]) {
        let (rotations, h) = params;
        if rotations == Rotations::Exponential {
            return;
        }
        for first in self.turning() {
            let changed = change(turn(v, first) * h) * turn(hdv, first);
            hdv[first..first + 3].copy_from_slice(&changed.to_array());
        }
    }

    /// Applies the map of [`follow_change`](Self::follow_change) to the three dofs from `first` on.
    pub(crate) fn followed_turn(
        v: &[f64],
        first: usize,
        (rotations, h): (Rotations, f64),
    ) -> Option<Mat3> {
        (rotations == Rotations::Linear).then(|| change(turn(v, first) * h))
    }
}
