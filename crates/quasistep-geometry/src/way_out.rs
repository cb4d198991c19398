//! Overlaps of which it is known along which directions the shapes can be moved apart: the least shift that does it, and
//! the patch along the normal where they then touch.
//!
//! ```text
//! min ‖d‖   over d in the span of `ways`,   B + d touches A;      n_AB_W is the normal of that touch
//! ```
//!
//! Where the span is all of space this is the depth of the overlap and its normal. In a smaller one the overlap's own normal
//! may be square to all ways; another face, farther off, is then the nearest that the shapes can be moved over. Along one
//! direction the shift is exact: conservative advancement from outside, of which every step is a plane between the
//! shapes. Across two directions it is the least of descents, each from a shift to the one along that touch's
//! normal, which is never longer; they start at the nearest faces and at directions all around.

use crate::distance::{ContactPoint, Distance};
use crate::narrow_phase::NarrowPhase;
use crate::shape::Shape;
use quasistep_math::{Pose, Vec3};
use std::f64::consts::FRAC_1_SQRT_2;

/// Shapes this near touch, in m; a shift must be shorter by ten times as much to be preferred.
const TOUCH: f64 = 1e-10;
/// Ways that differ by less than this share of the largest are one.
const SAME_WAY: f64 = 1e-6;
/// Most planes of an advancement, and most steps of a descent.
const MAX_STEPS: usize = 60;
/// Faces at which descents start.
const MAX_FACES: usize = 4;
/// Directions at which descents start, in the plane of the ways.
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

/// Two shapes at their poses.
#[derive(Clone, Copy)]
struct Pair<'a> {
    a: (&'a Shape, &'a Pose),
    b: (&'a Shape, &'a Pose),
}

/// A shift of B after which it touches A.
#[derive(Clone, Copy)]
struct Exit {
    /// In m.
    shift: f64,
    /// Of the touch, from A to B.
    n_AB_W: Vec3,
    p_WCa: Vec3,
    /// On B as it stands now.
    p_WCb: Vec3,
}

impl NarrowPhase {
    /// [`contact_patch_along`](Self::contact_patch_along) of two shapes that stand in their order.
    pub(crate) fn patch_along_in_order(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        ways: &[Vec3],
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) -> bool {
        let has_faces = |s: &Shape| !matches!(s, Shape::HalfSpace | Shape::Cloud(_));
        if !has_faces(a) || !has_faces(b) || self.signed_distance(a, X_WA, b, X_WB).phi >= 0.0 {
            return false;
        }
        let pair = Pair { a: (a, X_WA), b: (b, X_WB) };
        let (axes, rank) = span(ways);
        let exit = match axes[..rank] {
            [] => None,
            [u] => {
                let ahead = self.exit(&pair, u);
                nearer(ahead, self.exit(&pair, -u))
            }
            ref axes => self.descend(&pair, axes),
        };
        let Some(exit) = exit else { return false };
        let d = pair.distance(&exit);
        self.fill_cores(a, X_WA, b, X_WB);
        self.patch_at(a, X_WA, b, X_WB, &d, margin, out);
        true
    }

    /// The shift along a unit vector that ends the overlap.
    fn exit(&mut self, pair: &Pair<'_>, way: Vec3) -> Option<Exit> {
        let ((a, X_WA), (b, X_WB)) = (pair.a, pair.b);
        let mut n_AB_W = way;
        let mut shift = -pair.separation(way);
        for step in 1.. {
            let X = Pose::new(X_WB.rotation, X_WB.translation + way * shift);
            let d = self.signed_distance(a, X_WA, b, &X);
            let along = d.n_AB_W.dot(way);
            // the plane between the shapes touches both
            if d.phi <= TOUCH || along <= 0.0 || step == MAX_STEPS {
                let p_WCb = d.p_WCb - way * shift;
                return Some(Exit { shift, n_AB_W, p_WCa: d.p_WCa, p_WCb });
            }
            n_AB_W = d.n_AB_W;
            shift -= d.phi / along;
        }
        None
    }

    /// The least shift in the span of orthonormal axes.
    fn descend(&mut self, pair: &Pair<'_>, axes: &[Vec3]) -> Option<Exit> {
        let shadow = |n: Vec3| axes.iter().fold(Vec3::ZERO, |sum, axis| sum + *axis * axis.dot(n));
        // the faces of either that planes of their own put nearest
        let mut faces: Vec<(f64, Vec3)> = Vec::new();
        for (sign, (shape, X)) in [(1.0, pair.a), (-1.0, pair.b)] {
            for_each_face(shape, |normal| {
                let n = X.rotation.rotate(normal) * sign;
                let way = shadow(n);
                if way.norm() > SAME_WAY {
                    faces.push((-pair.separation(n) / way.norm(), way));
                }
            });
        }
        faces.sort_by(|x, y| x.0.total_cmp(&y.0));
        let around = AROUND.map(|[x, y]| axes[0] * x + axes[1] * y);
        // rounding may change the order of faces: of equals they come last
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

/// True if a shift is shorter beyond rounding: the first of equals is taken.
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
    /// How far a direction separates the shapes: negative is an overlap.
    fn separation(&self, n: Vec3) -> f64 {
        lowest(self.b, n) + lowest(self.a, -n)
    }

    /// The distance along the normal of an exit, as the shapes stand now.
    fn distance(&self, exit: &Exit) -> Distance {
        let Exit { n_AB_W: n, mut p_WCa, mut p_WCb, .. } = *exit;
        let phi = self.separation(n);
        let (shape, X) = self.a;
        let mut has_face = false;
        for_each_face(shape, |m| has_face |= X.rotation.rotate(m).cross(n).max_abs() <= 1e-9);
        if has_face {
            p_WCb += n * (lowest(self.b, n) - p_WCb.dot(n));
            p_WCa = p_WCb - n * phi;
        } else {
            p_WCa -= n * (lowest(self.a, -n) + p_WCa.dot(n));
            p_WCb = p_WCa + n * phi;
        }
        Distance { phi, p_WCa, p_WCb, n_AB_W: n }
    }
}

/// The least `n · p` over a shape.
fn lowest((shape, X): (&Shape, &Pose), n: Vec3) -> f64 {
    let p = shape.support(X.rotation.inverse().rotate(-n)).unwrap_or_default();
    X.transform_point(p).dot(n)
}

/// Outward normals of a shape's flat faces, in its own frame.
pub(crate) fn for_each_face(shape: &Shape, mut offer: impl FnMut(Vec3)) {
    let mut both = |axis: Vec3| {
        offer(axis);
        offer(-axis);
    };
    match shape {
        Shape::Box { .. } => Vec3::AXES.into_iter().for_each(both),
        Shape::Cylinder { .. } => both(Vec3::Z),
        Shape::Polytope(polytope) => polytope.faces().iter().for_each(|f| offer(f.normal())),
        Shape::Sphere { .. }
        | Shape::Capsule { .. }
        | Shape::Ellipsoid { .. }
        | Shape::HalfSpace
        | Shape::Cloud(_) => {}
    }
}

/// Orthonormal axes of what the ways span, and how many: the longest first.
fn span(ways: &[Vec3]) -> ([Vec3; 3], usize) {
    let mut axes = [Vec3::ZERO; 3];
    let least = SAME_WAY * ways.iter().fold(0.0_f64, |most, way| most.max(way.norm()));
    for rank in 0..3 {
        let rest = |way: &Vec3| {
            // twice: the first leaves a share of rounding of what it takes away
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
