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
mod feature;
mod find;

use crate::narrow_phase::{ContactPoint, NarrowPhase, SINGLE};
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

/// The change of a contact point for one small motion.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    phi: f64,
    n: Vec3,
    a: Vec3,
    b: Vec3,
}

impl ContactMotion {
    /// From a linear function of `(w, v)`.
    fn of(change: impl Fn(Vec3, Vec3) -> Change) -> Self {
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
            kink: false,
        }
    }
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
        let start = out.len();
        for point in points {
            let closed = point_motion([a, b], [X_WA, X_WB], point);
            let Some(motion) = closed else {
                out.truncate(start);
                differences::contact_motions(self, [a, b], [X_WA, X_WB], margin, points, out);
                return;
            };
            out.push(motion);
        }
    }
}

/// In closed form, where there is one.
fn point_motion(
    [a, b]: [&Shape; 2],
    [X_WA, X_WB]: [&Pose; 2],
    point: &ContactPoint,
) -> Option<ContactMotion> {
    if matches!(a, Shape::Cloud(_)) || matches!(b, Shape::Cloud(_)) {
        return None;
    }
    let feature_a = find::feature(a, X_WA, point.p_WCa, point.n_AB_W)?;
    let feature_b = find::feature(b, X_WB, point.p_WCb, -point.n_AB_W)?;
    let alone = point.feature == SINGLE;
    let ball = matches!(a, Shape::Sphere { .. }) || matches!(b, Shape::Sphere { .. });
    let cylinder = |s: &Shape| matches!(s, Shape::Cylinder { .. });
    let on_plane = matches!(a, Shape::HalfSpace) && !cylinder(b)
        || matches!(b, Shape::HalfSpace) && !cylinder(a);
    (alone || ball || on_plane).then(|| feature::motion(&feature_a, &feature_b, point))
}
