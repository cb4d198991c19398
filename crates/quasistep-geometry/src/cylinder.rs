//! A ball against a cylinder, exactly.

use crate::narrow_phase::Distance;
use crate::shape::Shape;
use quasistep_math::{Pose, Vec3};

/// Signed distance from a cylinder A to a ball B with this centre, in the world frame.
pub(crate) fn sphere_distance(
    cylinder: &Shape,
    X_WA: &Pose,
    centre: Vec3,
    radius: f64,
) -> Distance {
    let Shape::Cylinder { radius: r, half_length: l } = *cylinder else {
        unreachable!("the caller matched a cylinder, this is {cylinder:?}")
    };
    let p = X_WA.inverse_transform_point(centre);
    let flat = Vec3::new(p.x, p.y, 0.0);
    // on the axis any side is as near as any other
    let out = flat.try_normalize().unwrap_or(Vec3::X);
    let up = if p.z < 0.0 { -Vec3::Z } else { Vec3::Z };
    let (side, end) = (flat.norm() - r, p.z.abs() - l);
    // nearest point of the surface and the outward normal there
    let (surface, normal, distance) = if side > 0.0 && end > 0.0 {
        let rim = out * r + up * l;
        let difference = p - rim;
        (rim, difference.try_normalize().unwrap_or(up), difference.norm())
    } else if side > end {
        (out * r + Vec3::Z * p.z, out, side)
    } else {
        (flat + up * l, up, end)
    };
    let n_AB_W = X_WA.rotation.rotate(normal);
    Distance {
        phi: distance - radius,
        p_WCa: X_WA.transform_point(surface),
        p_WCb: centre - n_AB_W * radius,
        n_AB_W,
    }
}
