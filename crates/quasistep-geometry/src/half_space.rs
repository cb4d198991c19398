//! A half-space A against any other shape B: everything follows from heights above its plane.

use crate::core::Core;
use crate::narrow_phase::{ContactPoint, Distance};
use crate::patch::Clipper;
use crate::shape::Shape;
use quasistep_math::{Pose, Vec3};

/// Sine of the tilt below which a cylinder stands on its end rather than on a point of its rim.
const STANDING: f64 = 1e-6;

/// Signed distance from the half-space to a shape.
pub(crate) fn distance(X_WA: &Pose, b: &Shape, X_WB: &Pose) -> Distance {
    let n_AB_W = X_WA.rotation.rotate(Vec3::Z);
    let down = X_WB.rotation.inverse().rotate(-n_AB_W);
    // a half-space has no support; the caller handles it
    let lowest = b.support(down).unwrap_or_default();
    let p_WCb = X_WB.transform_point(lowest);
    let phi = (p_WCb - X_WA.translation).dot(n_AB_W);
    Distance { phi, p_WCa: p_WCb - n_AB_W * phi, p_WCb, n_AB_W }
}

/// Appends the corners (or rim points) of B that are nearer than `margin`.
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
    let mut offer = |p_WCb: Vec3, feature: u32| {
        let phi = (p_WCb - X_WA.translation).dot(n_AB_W);
        if phi < margin {
            let p_WCa = p_WCb - n_AB_W * phi;
            out.push(ContactPoint { phi, p_WCa, p_WCb, n_AB_W, feature });
        }
    };
    if let Shape::Cylinder { radius, half_length } = *b {
        let axis = X_WB.rotation.rotate(Vec3::Z);
        let up = n_AB_W.dot(axis);
        let below = -(n_AB_W - axis * up);
        // four points of each rim; a tilted cylinder's first one is its lowest
        let (first, second) = if below.norm() > STANDING {
            let d = below.try_normalize().unwrap_or(Vec3::X);
            (d, axis.cross(d))
        } else {
            (X_WB.rotation.rotate(Vec3::X), X_WB.rotation.rotate(Vec3::Y))
        };
        for (end, sign) in [(0, -1.0), (4, 1.0)] {
            // an end that looks up has nothing below it but its lowest point
            let looks_down = sign * up < 1e-9;
            let centre = X_WB.translation + axis * (sign * half_length);
            for (k, d) in [first, second, -first, -second].into_iter().enumerate() {
                if k == 0 || (looks_down && up.abs() > 1e-3) {
                    offer(centre + d * radius, end + k as u32);
                }
            }
        }
        return;
    }
    core.fill(b, X_WB);
    for k in 0..core.points.len() {
        // corners that no downward face has are shadowed by others
        let looks_down = !core.is_solid()
            || core
                .faces
                .iter()
                .any(|f| f.normal.dot(n_AB_W) < -1e-9 && core.corners(f).contains(&(k as u32)));
        if looks_down {
            offer(core.points[k] - n_AB_W * core.radius, k as u32);
        }
    }
    clipper.reduce(n_AB_W, start, out);
}
