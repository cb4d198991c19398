//! Canonical order of the two shapes of a pair.
//!
//! Where features of both shapes are equally good, the first shape's are used, for instance as the
//! reference face. The result must not depend on which shape the caller passes as A. So every pair
//! is first ordered: by kind, then the larger shape first. Between equal shapes, the position of
//! the other one along [`WEIGHTS`] in a shape's own frame decides. This depends on how bodies carry
//! their shapes only, not on the world's axes or units.
//!
//! Clouds keep the caller's order, which the feature numbers of two clouds refer to. So do height
//! fields and sheets, whose pieces are ordered one by one.

use crate::distance::{ContactPoint, Distance, flip_distance, flip_point};
use crate::narrow_phase::NarrowPhase;
use crate::shape::{Pair, Shape};
use quasistep_math::{Pose, Vec3};
use std::cmp::Ordering;

/// Direction in a shape's frame that orders two equal shapes. No two axes, and no edges of a grid,
/// have the same component along it.
const WEIGHTS: Vec3 = Vec3::new(1.0, std::f64::consts::SQRT_2, 1.732_050_807_568_877_2);

/// True if B comes before A in the canonical order.
pub(crate) fn is_exchanged(a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose) -> bool {
    if !a.is_convex() || !b.is_convex() {
        return false;
    }
    let by_pose = || {
        let apart = X_WB.translation - X_WA.translation;
        let seen = |X: &Pose, other: Vec3| X.rotation.inverse().rotate(other).dot(WEIGHTS);
        seen(X_WA, apart).total_cmp(&seen(X_WB, -apart))
    };
    compare(a, b).then_with(by_pose) == Ordering::Less
}

/// Order of two shapes by kind and size; `Less` if A comes after B.
fn compare(a: &Shape, b: &Shape) -> Ordering {
    let larger =
        |a: &[f64; 3], b: &[f64; 3]| first_of(a.iter().zip(b).map(|(x, y)| x.total_cmp(y)));
    if let (Shape::Polytope(a), Shape::Polytope(b)) = (a, b) {
        if std::sync::Arc::ptr_eq(a, b) {
            return Ordering::Equal;
        }
        let (a, b) = (a.vertices(), b.vertices());
        let corners = a.iter().zip(b).map(|(p, q)| larger(&p.to_array(), &q.to_array()));
        return a.len().cmp(&b.len()).then_with(|| first_of(corners));
    }
    let ((kind_a, size_a), (kind_b, size_b)) = (measure(a), measure(b));
    kind_a.cmp(&kind_b).then_with(|| larger(&size_a, &size_b))
}

/// The first ordering that is not `Equal`.
fn first_of(mut orders: impl Iterator<Item = Ordering>) -> Ordering {
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Rank of the kind, and the sizes, in m.
fn measure(shape: &Shape) -> (u8, [f64; 3]) {
    match *shape {
        Shape::Sphere { radius } => (0, [radius, 0.0, 0.0]),
        Shape::Capsule { radius, half_length } => (1, [radius, half_length, 0.0]),
        Shape::Ellipsoid { radii } => (2, radii),
        Shape::Cylinder { radius, half_length } => (3, [radius, half_length, 0.0]),
        Shape::Polytope(_) => (4, [0.0; 3]),
        Shape::Box { half } => (5, half),
        Shape::HalfSpace => (6, [0.0; 3]),
        Shape::HeightField(_) => (7, [0.0; 3]),
        Shape::Sheet(_) => (8, [0.0; 3]),
        Shape::Cloud(_) => (9, [0.0; 3]),
    }
}

impl NarrowPhase {
    /// Signed distance of A and B, in m: > 0 apart, < 0 overlapping. Witness points are on A and on
    /// B.
    pub fn signed_distance(&mut self, a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose) -> Distance {
        self.distance_within(a, X_WA, b, X_WB, f64::INFINITY)
    }

    /// As [`signed_distance`](Self::signed_distance); may stop early at a lower bound of at least `enough` (m),
    /// with points that are not on the shapes.
    pub fn distance_within(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        enough: f64,
    ) -> Distance {
        if is_exchanged(a, X_WA, b, X_WB) {
            return flip_distance(self.distance_in_order(b, X_WB, a, X_WA, enough));
        }
        self.distance_in_order(a, X_WA, b, X_WB, enough)
    }

    /// Appends the contact points of A and B with distances below `margin` (m).
    ///
    /// Two flat features give the corners of their common patch, each with its own distance along
    /// the shared normal. Parallel lines, or a line on a flat feature, give two points. Anything
    /// else gives one. The smallest `phi` of a patch is the signed distance. Clouds give the points
    /// of their [`Choice`](crate::Choice); the smallest `phi` is accurate to 1e-9 m. Exchanging A
    /// and B gives the same points with their roles exchanged.
    pub fn contact_patch(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) {
        if is_exchanged(a, X_WA, b, X_WB) {
            let start = out.len();
            self.patch_in_order(b, X_WB, a, X_WA, margin, out);
            out[start..].iter_mut().for_each(|point| *point = flip_point(*point));
        } else {
            self.patch_in_order(a, X_WA, b, X_WB, margin, out);
        }
    }

    /// Appends the contact points of B over the flat face of A with outward unit normal `n_AB_W`,
    /// with distances below `margin` (m) along that normal. Appends nothing if B is beside the
    /// face, however near.
    ///
    /// Returns false if A has no such face.
    #[expect(
        clippy::too_many_arguments,
        reason = "shapes and poses as in all functions of this type"
    )]
    pub fn contact_patch_over(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        n_AB_W: Vec3,
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) -> bool {
        // use the face's own normal, exact to the last digit, for patches and derivatives
        let normal = a.face_along(X_WA.rotation.inverse().rotate(n_AB_W));
        let Some(n) = normal.map(|n| X_WA.rotation.rotate(n)) else { return false };
        let pair = Pair { a, X_WA, b, X_WB };
        if is_exchanged(a, X_WA, b, X_WB) {
            let start = out.len();
            self.patch_over_in_order(&pair.exchanged(), -n, margin, out);
            out[start..].iter_mut().for_each(|point| *point = flip_point(*point));
        } else {
            self.patch_over_in_order(&pair, n, margin, out);
        }
        true
    }

    /// Appends the patch of two overlapping shapes along the normal of the shortest shift of B that
    /// ends the overlap, among shifts in the span of `ways`.
    ///
    /// Returns false and appends nothing if there is none: for half-spaces (one normal only), for
    /// clouds (a normal per point), for shapes that do not overlap, and if all `ways` are zero.
    #[expect(
        clippy::too_many_arguments,
        reason = "shapes and poses as in all functions of this type"
    )]
    pub fn contact_patch_along(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        ways: &[Vec3],
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) -> bool {
        let pair = Pair { a, X_WA, b, X_WB };
        if !is_exchanged(a, X_WA, b, X_WB) {
            return self.patch_along_in_order(&pair, ways, margin, out);
        }
        let start = out.len();
        let ways: Vec<Vec3> = ways.iter().map(|way| -*way).collect();
        let found = self.patch_along_in_order(&pair.exchanged(), &ways, margin, out);
        out[start..].iter_mut().for_each(|point| *point = flip_point(*point));
        found
    }
}
