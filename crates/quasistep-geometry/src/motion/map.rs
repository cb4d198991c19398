//! Derivatives of contact points by a small motion.

use crate::distance::ContactPoint;
use quasistep_math::{Mat3, Vec3};

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

/// How one [`ContactPoint`] changes as B moves against A: see the head of `motion/mod.rs`.
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
    /// True if a corner of a patch stands exactly on an edge of the other face: one way it goes with its body, the
    /// other way with that edge. Here it goes as its name says. Or if two faces lie flat on one another in part, so
    /// that a tilt gives the normal to one of them: here to that of the shape that is looked at first.
    pub on_edge: bool,
    /// True if no closed form is known for this point, and differences of the patch gave the derivative.
    pub by_differences: bool,
}

/// The change of a contact point for one small motion.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    pub phi: f64,
    pub n: Vec3,
    pub a: Vec3,
    pub b: Vec3,
}

impl ContactMotion {
    /// From a linear function of `(w, v)`.
    pub(super) fn of(change: impl Fn(Vec3, Vec3) -> Change) -> Self {
        let turned = Vec3::AXES.map(|w| change(w, Vec3::ZERO));
        let shifted = Vec3::AXES.map(|v| change(Vec3::ZERO, v));
        let row = |c: &[Change; 3]| Vec3::new(c[0].phi, c[1].phi, c[2].phi);
        let map = |of: fn(&Change) -> Vec3| MotionMap {
            turn: Mat3::from_columns([0, 1, 2].map(|k| of(&turned[k]))),
            shift: Mat3::from_columns([0, 1, 2].map(|k| of(&shifted[k]))),
        };
        Self {
            phi_turn: row(&turned),
            phi_shift: row(&shifted),
            n: map(|c| c.n),
            a: map(|c| c.a),
            b: map(|c| c.b),
            ..Self::default()
        }
    }

    /// The motion of a point as B moves against A, from that of B's and A's: as A moves against B.
    pub(super) fn exchanged(&self, point: &ContactPoint) -> Self {
        let motion = Self::of(|w, v| {
            // B stays if everything moves back with it
            let u = v + w.cross(point.p_WCa - point.p_WCb);
            let back = |map: &MotionMap| map.of(-w, -u);
            Change {
                phi: -self.phi_turn.dot(w) - self.phi_shift.dot(u),
                n: w.cross(point.n_AB_W) - back(&self.n),
                a: back(&self.b) + u,
                b: back(&self.a) + v,
            }
        });
        let Self { kink, on_edge, by_differences, .. } = *self;
        Self { kink, on_edge, by_differences, ..motion }
    }
}
