//! Distance and contact patch of a half-space A and any shape B, from heights above the plane.

use crate::core::Core;
use crate::distance::{ContactPoint, Distance, flip_point, single};
use crate::patch::{Clipper, MAX_POINTS, SAME};
use crate::round_patch::{self, Collector, Flat, on_flat};
use crate::shape::Shape;
use crate::tube::Tube;
use quasistep_math::{Pose, Vec3};

/// Signed distance from the half-space to a shape.
pub(crate) fn distance(X_WA: &Pose, b: &Shape, X_WB: &Pose) -> Distance {
    let n_AB_W = X_WA.rotation.rotate(Vec3::Z);
    let down = X_WB.rotation.inverse().rotate(-n_AB_W);
    // a half-space B has no support point; the caller excludes this case
    let lowest = b.support(down).unwrap_or_default();
    let p_WCb = X_WB.transform_point(lowest);
    let phi = (p_WCb - X_WA.translation).dot(n_AB_W);
    Distance { phi, p_WCa: p_WCb - n_AB_W * phi, p_WCb, n_AB_W }
}

/// Appends the corners or rim points of B that are nearer to the plane than `margin` (m).
pub(crate) fn patch(
    X_WA: &Pose,
    b: &Shape,
    X_WB: &Pose,
    margin: f64,
    core: &mut Core,
    clipper: &mut Clipper,
    out: &mut Vec<ContactPoint>,
) {
    let n_AB_W = X_WA.rotation.rotate(Vec3::Z);
    let start = out.len();
    if matches!(b, Shape::Polytope(_) | Shape::Ellipsoid { .. }) {
        let d = distance(X_WA, b, X_WB);
        // return early: most shapes are far above the plane
        if d.phi >= margin {
            return;
        }
        if matches!(b, Shape::Ellipsoid { .. }) {
            return out.push(single(&d));
        }
    }
    if let Some(tube) = Tube::new(b, X_WB) {
        // with the cylinder as the first shape
        let flat = Flat::Plane(X_WA.translation, n_AB_W);
        on_flat(&tube, &flat, &mut Collector { n_AB_W: -n_AB_W, margin, id: 0, out });
        for point in &mut out[start..] {
            *point = flip_point(*point);
        }
        clipper.reduce(n_AB_W, start, round_patch::MAX_POINTS, out);
        return;
    }
    let mut offer = |p_WCb: Vec3, feature: u32| {
        let phi = (p_WCb - X_WA.translation).dot(n_AB_W);
        if phi < margin {
            let p_WCa = p_WCb - n_AB_W * phi;
            out.push(ContactPoint { phi, p_WCa, p_WCb, n_AB_W, feature });
        }
    };
    if let Shape::Polytope(hull) = b {
        let X_BW = X_WB.rotation.inverse();
        let n_AB_B = X_BW.rotate(n_AB_W);
        let origin = (X_WB.translation - X_WA.translation).dot(n_AB_W);
        for (k, p_B) in hull.vertices().iter().enumerate() {
            // a corner without a downward face is never the lowest
            let looks_down = || {
                let around = hull.faces_around(k as u32).iter();
                around.copied().any(|f| hull.faces()[f as usize].normal().dot(n_AB_B) < -1e-9)
            };
            if origin + p_B.dot(n_AB_B) < margin + SAME && looks_down() {
                offer(X_WB.transform_point(*p_B), k as u32);
            }
        }
        clipper.reduce(n_AB_W, start, MAX_POINTS, out);
        return;
    }
    core.fill(b, X_WB);
    for k in 0..core.points.len() {
        // a corner without a downward face is never the lowest
        let looks_down = !core.is_solid()
            || core
                .faces
                .iter()
                .any(|f| f.normal.dot(n_AB_W) < -1e-9 && core.corners(f).contains(&(k as u32)));
        if looks_down {
            offer(core.points[k] - n_AB_W * core.radius, k as u32);
        }
    }
    clipper.reduce(n_AB_W, start, MAX_POINTS, out);
}
