//! Derivatives of contact points by small motions.

use crate::distance::ContactPoint;
use quasistep_math::{Mat3, Vec3};

/// Linear map from a small motion (rotation `w`, translation `v`) to a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MotionMap {
    /// Derivative by the rotation `w`, per rad.
    pub turn: Mat3,
    /// Derivative by the translation `v`, per m.
    pub shift: Mat3,
}

impl MotionMap {
    /// The zero map.
    pub const ZERO: Self = Self { turn: Mat3::ZERO, shift: Mat3::ZERO };

    /// Applies the map to a rotation `w` (rad) and a translation `v` (m).
    #[inline]
    pub fn of(&self, w: Vec3, v: Vec3) -> Vec3 {
        self.turn * w + self.shift * v
    }
}

/// Derivatives of one [`ContactPoint`] as B moves relative to A: B rotates by `w` about its witness
/// point and translates by `v`, while A is held fixed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContactMotion {
    /// Derivative of `phi` by the rotation, in m/rad.
    pub phi_turn: Vec3,
    /// Derivative of `phi` by the translation, dimensionless.
    pub phi_shift: Vec3,
    /// Derivative of `n_AB_W`.
    pub n: MotionMap,
    /// Derivative of `p_WCa`.
    pub a: MotionMap,
    /// Derivative of `p_WCb`.
    pub b: MotionMap,
    /// True if an arbitrarily small motion changes the features in contact. Then only one-sided
    /// derivatives exist, and these are one of them, or none was found.
    pub kink: bool,
    /// True if the derivative of a patch point depends on the direction of the motion, in two
    /// cases. First, a corner lies exactly on an edge of the other face: it moves with its body or
    /// with that edge; here it moves as its feature says. Second, two faces partly cover one
    /// another: after a rotation the normal is that of either face; here it is that of the shape
    /// that comes first.
    pub on_edge: bool,
    /// True if the derivatives come from finite differences, because no closed form is known for
    /// this point.
    pub by_differences: bool,
}

/// Change of a contact point for one small motion.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    pub phi: f64,
    pub n: Vec3,
    pub a: Vec3,
    pub b: Vec3,
}

impl ContactMotion {
    /// Builds the derivatives from a function that is linear in `(w, v)`.
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

    /// Derivatives as A moves relative to B, from those as B moves relative to A.
    pub(crate) fn exchanged(&self, point: &ContactPoint) -> Self {
        let motion = Self::of(|w, v| {
            // moving everything back leaves B fixed
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
