//! Which shape of a pair is looked at first.
//!
//! Where features of both shapes are equally good, one side's are taken: a face of the first before a face of the second as the
//! one that others are clipped against, for instance. Who is A and who is B must not matter for that. So every question about a pair
//! is asked in an order that follows from the shapes: by kind, then the larger one, and of two that are alike the one from which the
//! other stands in the greater direction of [`WEIGHTS`]. The last hangs on how bodies carry their shapes, and on nothing
//! else: not on the world's axes, nor on units. Clouds stand in the order that they are given in, which the features of
//! their points tell.

use crate::distance::{ContactPoint, Distance, flip_distance, flip_point};
use crate::narrow_phase::NarrowPhase;
use crate::patch::FLAT;
use crate::shape::Shape;
use crate::way_out::for_each_face;
use quasistep_math::{Pose, Vec3};
use std::cmp::Ordering;

/// Direction in a shape's frame along which two shapes of a kind and size are told apart: no two axes, nor edges of a grid, are
/// alike along it.
const WEIGHTS: Vec3 = Vec3::new(1.0, std::f64::consts::SQRT_2, 1.732_050_807_568_877_2);

/// True if B comes before A.
pub(crate) fn is_exchanged(a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose) -> bool {
    if matches!(a, Shape::Cloud(_)) || matches!(b, Shape::Cloud(_)) {
        return false;
    }
    let by_pose = || {
        let apart = X_WB.translation - X_WA.translation;
        let seen = |X: &Pose, other: Vec3| X.rotation.inverse().rotate(other).dot(WEIGHTS);
        seen(X_WA, apart).total_cmp(&seen(X_WB, -apart))
    };
    compare(a, b).then_with(by_pose) == Ordering::Less
}

/// Less if A comes after B.
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

/// The first difference.
fn first_of(mut orders: impl Iterator<Item = Ordering>) -> Ordering {
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Number of the kind, and the sizes, in m.
fn measure(shape: &Shape) -> (u8, [f64; 3]) {
    match *shape {
        Shape::Sphere { radius } => (0, [radius, 0.0, 0.0]),
        Shape::Capsule { radius, half_length } => (1, [radius, half_length, 0.0]),
        Shape::Ellipsoid { radii } => (2, radii),
        Shape::Cylinder { radius, half_length } => (3, [radius, half_length, 0.0]),
        Shape::Polytope(_) => (4, [0.0; 3]),
        Shape::Box { half } => (5, half),
        Shape::HalfSpace => (6, [0.0; 3]),
        Shape::Cloud(_) => (7, [0.0; 3]),
    }
}

impl NarrowPhase {
    /// Signed distance of A and B, apart or overlapping.
    pub fn signed_distance(&mut self, a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose) -> Distance {
        if is_exchanged(a, X_WA, b, X_WB) {
            return flip_distance(self.distance_in_order(b, X_WB, a, X_WA));
        }
        self.distance_in_order(a, X_WA, b, X_WB)
    }

    /// Appends the points where A and B are nearer than `margin`.
    ///
    /// Flat on flat gives the corners of the common patch, each with its own distance along the
    /// shared normal; lines that lie along one another, or on something flat, give two points;
    /// anything else gives one. The smallest `phi` of a patch is the signed distance. Clouds give the
    /// points of their [`Choice`](crate::Choice), whose smallest `phi` is that to 1e-9 m. The points of B and A
    /// are those of A and B.
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

    /// Appends what of B is over the flat face of A with the outward normal `n_AB_W`, nearer than `margin` along that normal:
    /// nothing where B is beside the face, however near it is.
    ///
    /// False if A has no such face.
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
        // to the last digit that of the face, which patches and their derivatives are about
        let mut normal = None;
        for_each_face(a, |n| {
            let n = X_WA.rotation.rotate(n);
            if normal.is_none() && n.dot(n_AB_W) >= FLAT {
                normal = Some(n);
            }
        });
        let Some(n) = normal else { return false };
        if is_exchanged(a, X_WA, b, X_WB) {
            let start = out.len();
            self.patch_over_in_order(b, X_WB, a, X_WA, -n, margin, out);
            out[start..].iter_mut().for_each(|point| *point = flip_point(*point));
        } else {
            self.patch_over_in_order(a, X_WA, b, X_WB, n, margin, out);
        }
        true
    }

    /// Appends the patch of two overlapping shapes along the normal at which the least shift of B, along
    /// directions in the span of `ways`, ends the overlap.
    ///
    /// False, and nothing is appended, if there is none: for a half-space, which has one normal, for a cloud, whose points
    /// have their own, for shapes that do not overlap, and for ways that are none.
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
        if !is_exchanged(a, X_WA, b, X_WB) {
            return self.patch_along_in_order(a, X_WA, b, X_WB, ways, margin, out);
        }
        let start = out.len();
        let ways: Vec<Vec3> = ways.iter().map(|way| -*way).collect();
        let found = self.patch_along_in_order(b, X_WB, a, X_WA, &ways, margin, out);
        out[start..].iter_mut().for_each(|point| *point = flip_point(*point));
        found
    }
}
