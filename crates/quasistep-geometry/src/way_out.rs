//! Shortest shift along allowed directions that ends an overlap, and the contact patch along the
//! normal at which the shapes then touch.
//!
//! ```text
//! min ‖d‖   over d in the span of `ways`,   B + d touches A;      n_AB_W is the normal of that touch
//! ```
//!
//! If the span is all of space, the result is the penetration depth and its normal. In a smaller
//! span that normal may be orthogonal to all allowed directions; then another face is the nearest
//! over which the shapes can leave. Along one direction the shift is exact, found by conservative
//! advancement from outside. In a plane of directions it is the best of several descents. Each
//! descent goes from a shift to the shift along the normal of its touch, which is never longer.
//! Descents start at the nearest faces and at directions all around.

use crate::distance::{ContactPoint, Distance};
use crate::narrow_phase::NarrowPhase;
use crate::patch::FLAT;
use crate::shape::{Pair, Shape};
use quasistep_math::{Pose, Vec3};
use std::f64::consts::FRAC_1_SQRT_2;

/// Shapes this near touch, in m. A shift is preferred to another if it is shorter by more than ten
/// times this.
const TOUCH: f64 = 1e-10;
/// Directions that differ by less than this share of the largest count as parallel.
const SAME_WAY: f64 = 1e-6;
/// Most steps of an advancement, and of a descent.
const MAX_STEPS: usize = 60;
/// Most faces at which descents start.
const MAX_FACES: usize = 4;
/// Unit directions in the plane of the ways at which descents start.
const AROUND: [[f64; 2]; 8] = [
    [1.0, 0.0],
    [-1.0, 0.0],
    [0.0, 1.0],
    [0.0, -1.0],
    [FRAC_1_SQRT_2, FRAC_1_SQRT_2],
    [-FRAC_1_SQRT_2, -FRAC_1_SQRT_2],
    [FRAC_1_SQRT_2, -FRAC_1_SQRT_2],
    [-FRAC_1_SQRT_2, FRAC_1_SQRT_2],
];

/// A shift of B after which it touches A.
#[derive(Clone, Copy)]
struct Exit {
    /// Length of the shift, in m.
    shift: f64,
    /// Unit normal of the touch, from A to B, world frame.
    n_AB_W: Vec3,
    p_WCa: Vec3,
    /// Touching point of B at its present pose, world frame, in m.
    p_WCb: Vec3,
}

impl NarrowPhase {
    /// Patch along allowed directions, for shapes in canonical order; see
    /// [`contact_patch_along`](Self::contact_patch_along).
    pub(crate) fn patch_along_in_order(
        &mut self,
        pair: &Pair<'_>,
        ways: &[Vec3],
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) -> bool {
        let &Pair { a, X_WA, b, X_WB } = pair;
        let has_faces = |s: &Shape| s.is_convex() && !matches!(s, Shape::HalfSpace);
        if !has_faces(a) || !has_faces(b) || self.signed_distance(a, X_WA, b, X_WB).phi >= 0.0 {
            return false;
        }
        let (axes, rank) = span(ways);
        let exit = match axes[..rank] {
            [] => None,
            [u] => {
                let ahead = self.exit(pair, u);
                nearer(ahead, self.exit(pair, -u))
            }
            ref axes => self.descend(pair, axes),
        };
        let Some(exit) = exit else { return false };
        let d = pair.distance(&exit);
        self.fill_cores(pair);
        self.patch_at(pair, &d, margin, out);
        true
    }

    /// The shift along the unit vector `way` that ends the overlap.
    fn exit(&mut self, pair: &Pair<'_>, way: Vec3) -> Option<Exit> {
        let &Pair { a, X_WA, b, X_WB } = pair;
        let mut n_AB_W = way;
        let mut shift = -pair.separation(way);
        for step in 1.. {
            let X = Pose::new(X_WB.rotation, X_WB.translation + way * shift);
            let d = self.signed_distance(a, X_WA, b, &X);
            let along = d.n_AB_W.dot(way);
            // the separating plane touches both shapes
            if d.phi <= TOUCH || along <= 0.0 || step == MAX_STEPS {
                let p_WCb = d.p_WCb - way * shift;
                return Some(Exit { shift, n_AB_W, p_WCa: d.p_WCa, p_WCb });
            }
            n_AB_W = d.n_AB_W;
            shift -= d.phi / along;
        }
        None
    }

    /// The shortest shift in the span of orthonormal axes that ends the overlap.
    fn descend(&mut self, pair: &Pair<'_>, axes: &[Vec3]) -> Option<Exit> {
        let shadow = |n: Vec3| axes.iter().fold(Vec3::ZERO, |sum, axis| sum + *axis * axis.dot(n));
        // faces of both shapes, sorted by the shift that their own plane requires
        let mut faces: Vec<(f64, Vec3)> = Vec::new();
        for (sign, shape, X) in [(1.0, pair.a, pair.X_WA), (-1.0, pair.b, pair.X_WB)] {
            shape.for_each_face(|normal| {
                let n = X.rotation.rotate(normal) * sign;
                let way = shadow(n);
                if way.norm() > SAME_WAY {
                    faces.push((-pair.separation(n) / way.norm(), way));
                }
            });
        }
        faces.sort_by(|x, y| x.0.total_cmp(&y.0));
        let around = AROUND.map(|[x, y]| axes[0] * x + axes[1] * y);
        // rounding may change the order of faces, so at a tie the fixed directions come first
        let starts = around.into_iter().chain(faces.iter().take(MAX_FACES).map(|face| face.1));
        let mut best = None;
        for start in starts {
            let mut here = self.exit(pair, start.try_normalize()?)?;
            for _ in 0..MAX_STEPS {
                let Some(way) = shadow(here.n_AB_W).try_normalize() else { break };
                let Some(next) = self.exit(pair, way) else { break };
                if !is_nearer(&next, &here) {
                    break;
                }
                here = next;
            }
            best = nearer(best, Some(here));
        }
        best
    }
}

/// True if shift `one` is shorter than shift `than` by more than rounding.
fn is_nearer(one: &Exit, than: &Exit) -> bool {
    one.shift < than.shift - 10.0 * TOUCH
}

fn nearer(first: Option<Exit>, second: Option<Exit>) -> Option<Exit> {
    match (first, second) {
        (Some(first), Some(second)) if !is_nearer(&second, &first) => Some(first),
        (first, second) => second.or(first),
    }
}

impl Pair<'_> {
    /// Separation of the shapes along the unit normal `n`, in m; negative for an overlap.
    fn separation(&self, n: Vec3) -> f64 {
        lowest(self.b, self.X_WB, n) + lowest(self.a, self.X_WA, -n)
    }

    /// The distance along the normal of an exit, at the present poses.
    fn distance(&self, exit: &Exit) -> Distance {
        let Exit { n_AB_W: n, mut p_WCa, mut p_WCb, .. } = *exit;
        let phi = self.separation(n);
        let mut has_face = false;
        let X = self.X_WA;
        self.a.for_each_face(|m| has_face |= X.rotation.rotate(m).cross(n).max_abs() <= 1e-9);
        if has_face {
            p_WCb += n * (lowest(self.b, self.X_WB, n) - p_WCb.dot(n));
            p_WCa = p_WCb - n * phi;
        } else {
            p_WCa -= n * (lowest(self.a, self.X_WA, -n) + p_WCa.dot(n));
            p_WCb = p_WCa + n * phi;
        }
        Distance { phi, p_WCa, p_WCb, n_AB_W: n }
    }
}

/// The least `n · p` over a shape, in m.
fn lowest(shape: &Shape, X: &Pose, n: Vec3) -> f64 {
    let p = shape.support(X.rotation.inverse().rotate(-n)).unwrap_or_default();
    X.transform_point(p).dot(n)
}

impl Shape {
    /// The outward unit normal of a flat face along the unit vector `n`, up to an angle of 1.4e-5
    /// rad, in the shape's frame. `None` if there is no such face. A half-space has none.
    pub fn face_along(&self, n: Vec3) -> Option<Vec3> {
        let mut found = None;
        self.for_each_face(|normal| {
            if found.is_none() && normal.dot(n) >= FLAT {
                found = Some(normal);
            }
        });
        found
    }

    /// Calls `offer` with the outward unit normal of each flat face, in the shape's frame. A
    /// half-space has none.
    pub fn for_each_face(&self, mut offer: impl FnMut(Vec3)) {
        let mut both = |axis: Vec3| {
            offer(axis);
            offer(-axis);
        };
        match self {
            Self::Box { .. } => Vec3::AXES.into_iter().for_each(both),
            Self::Cylinder { .. } => both(Vec3::Z),
            Self::Polytope(polytope) => polytope.faces().iter().for_each(|f| offer(f.normal())),
            Self::Sphere { .. }
            | Self::Capsule { .. }
            | Self::Ellipsoid { .. }
            | Self::HalfSpace
            | Self::HeightField(_)
            | Self::Sheet(_)
            | Self::Cloud(_) => {}
        }
    }
}

/// Orthonormal axes of the span of the ways, the longest way first, and their number.
fn span(ways: &[Vec3]) -> ([Vec3; 3], usize) {
    let mut axes = [Vec3::ZERO; 3];
    let least = SAME_WAY * ways.iter().fold(0.0_f64, |most, way| most.max(way.norm()));
    for rank in 0..3 {
        let rest = |way: &Vec3| {
            // orthogonalise twice, to remove the rounding that the first pass leaves
            let once = |v: Vec3| axes[..rank].iter().fold(v, |v, u| v - *u * u.dot(v));
            once(once(*way))
        };
        let longest = ways.iter().map(rest).fold(Vec3::ZERO, |longest, v| {
            if v.norm() > longest.norm() * (1.0 + SAME_WAY) { v } else { longest }
        });
        match longest.try_normalize() {
            Some(axis) if longest.norm() > least => axes[rank] = axis,
            _ => return (axes, rank),
        }
    }
    (axes, 3)
}
