//! How contact points move as one shape moves against the other: derivatives of near points.
//!
//! A is held still, B turns by `w` about `p_WCb` and shifts by `v`, both small and in W:
//!
//! ```text
//! δn = n.turn w + n.shift v,      the same for the points on A and on B,      δphi = phi.turn · w + phi.shift · v
//! ```
//!
//! A motion of both as one moves everything along, so that this is all there is to know.

mod differences;

use crate::narrow_phase::{ContactPoint, NarrowPhase};
use crate::shape::Shape;
use quasistep_math::{Mat3, Pose, Vec3};

/// A linear map from a small motion `(w, v)` to a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MotionMap {
    /// Of the turn, in rad.
    pub turn: Mat3,
    /// Of the shift, in m.
    pub shift: Mat3,
}

impl MotionMap {
    /// Nothing moves.
    pub const ZERO: Self = Self { turn: Mat3::ZERO, shift: Mat3::ZERO };

    /// The image of a turn and a shift.
    #[inline]
    pub fn of(&self, w: Vec3, v: Vec3) -> Vec3 {
        self.turn * w + self.shift * v
    }
}

/// How one [`ContactPoint`] changes as B moves against A: see the head of this module.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContactMotion {
    /// Of the distance: by a turn in m/rad, and by a shift.
    pub phi_turn: Vec3,
    /// Of the distance, by a shift.
    pub phi_shift: Vec3,
    /// Of `n_AB_W`.
    pub n: MotionMap,
    /// Of `p_WCa`.
    pub a: MotionMap,
    /// Of `p_WCb`.
    pub b: MotionMap,
    /// True if the features that meet change with the smallest motion, so that there is no derivative but one to a
    /// side, or none was found.
    pub kink: bool,
}

impl NarrowPhase {
    /// Appends how each of `points`, the patch of A and B at these poses and this margin, changes.
    #[allow(clippy::too_many_arguments)] // two shapes at their poses, and their patch
    pub fn contact_motions(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        margin: f64,
        points: &[ContactPoint],
        out: &mut Vec<ContactMotion>,
    ) {
        differences::contact_motions(self, [a, b], [X_WA, X_WB], margin, points, out);
    }
}
