//! Signed distance of two cores, by a search over all pairs of features.

use crate::closest::{self, closest_points, crossing, foot};
use crate::core::Core;
use crate::distance::{Distance, TOUCH};
use crate::separating_axis::{self, Axis, Features, best_axis};
use quasistep_math::Vec3;

/// Scratch memory of the searches for an axis and for closest points; its contents do not affect
/// results.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    axis: separating_axis::Memory,
    pub closest: closest::Memory,
}

/// Signed distance of two cores. May stop early at a lower bound that exceeds `enough` (m).
pub(crate) fn core_distance(a: &Core, b: &Core, enough: f64, memory: &mut Memory) -> Distance {
    if !a.is_solid() && !b.is_solid() {
        return thin_distance(a, b, enough, &mut memory.closest);
    }
    let axis = best_axis(a, b, enough, &mut memory.axis);
    if axis.separation > enough {
        return at_least(axis.separation, a, axis.normal);
    }
    if axis.separation <= 0.0 {
        return overlap(a, b, &axis);
    }
    // disjoint: the axis gives the distance if its features face one another
    if let Some(facing) = facing(a, b, &axis) {
        return facing;
    }
    let Some((p_WCa, p_WCb)) = closest_points(a, b, axis.normal, enough, &mut memory.closest)
    else {
        return at_least(enough, a, axis.normal);
    };
    let difference = p_WCb - p_WCa;
    let distance = difference.norm();
    match difference.try_normalize() {
        // nearly touching points give a noisy normal; the separating axis is accurate
        Some(n_AB_W) if distance > TOUCH => Distance { phi: distance, p_WCa, p_WCb, n_AB_W },
        _ => {
            let n_AB_W = axis.normal;
            let p_WCb = p_WCa + n_AB_W * axis.separation;
            Distance { phi: axis.separation, p_WCa, p_WCb, n_AB_W }
        }
    }
}

/// A result whose `phi` is a lower bound of the distance; the witness points are placed on A.
pub(crate) fn at_least(phi: f64, a: &Core, n_AB_W: Vec3) -> Distance {
    let p_WCa = a.centre;
    Distance { phi, p_WCa, p_WCb: p_WCa + n_AB_W * phi, n_AB_W }
}

/// Witness points of overlapping or touching cores along the axis of least overlap.
pub(crate) fn overlap(a: &Core, b: &Core, axis: &Axis) -> Distance {
    let (phi, n_AB_W) = (axis.separation, axis.normal);
    match axis.features {
        Features::FaceOfA(_) => {
            let p_WCb = b.extreme(-n_AB_W);
            Distance { phi, p_WCa: p_WCb - n_AB_W * phi, p_WCb, n_AB_W }
        }
        Features::FaceOfB(_) => {
            let p_WCa = a.extreme(n_AB_W);
            Distance { phi, p_WCa, p_WCb: p_WCa + n_AB_W * phi, n_AB_W }
        }
        Features::Edges(i, j) => {
            let [p1, q1] = a.edges()[i as usize].vertices.map(|k| a.point(k));
            let [p2, q2] = b.edges()[j as usize].vertices.map(|k| b.point(k));
            let (p_WCa, _) = crossing(p1, q1, p2, q2);
            Distance { phi, p_WCa, p_WCb: p_WCa + n_AB_W * phi, n_AB_W }
        }
    }
}

/// The distance along a face's normal, if a nearest corner projects inside that face.
pub(crate) fn facing(a: &Core, b: &Core, axis: &Axis) -> Option<Distance> {
    let (phi, n_AB_W) = (axis.separation, axis.normal);
    match axis.features {
        Features::FaceOfA(k) => {
            let p_WCb = b.extreme(-n_AB_W);
            foot(a, &a.face(k), p_WCb, f64::INFINITY).map(|_| Distance {
                phi,
                p_WCa: p_WCb - n_AB_W * phi,
                p_WCb,
                n_AB_W,
            })
        }
        Features::FaceOfB(k) => {
            let p_WCa = a.extreme(n_AB_W);
            foot(b, &b.face(k), p_WCa, f64::INFINITY).map(|_| Distance {
                phi,
                p_WCa,
                p_WCb: p_WCa + n_AB_W * phi,
                n_AB_W,
            })
        }
        Features::Edges(..) => None,
    }
}

/// Distance of cores without volume (points and segments); they have no penetration depth.
fn thin_distance(a: &Core, b: &Core, enough: f64, heights: &mut closest::Memory) -> Distance {
    let between = b.centre - a.centre;
    let axis = between.try_normalize().unwrap_or(Vec3::ZERO);
    let Some((p_WCa, p_WCb)) = closest_points(a, b, axis, enough, heights) else {
        return at_least(enough, a, axis);
    };
    let difference = p_WCb - p_WCa;
    let distance = difference.norm();
    if let Some(n_AB_W) = difference.try_normalize()
        && distance > TOUCH
    {
        return Distance { phi: distance, p_WCa, p_WCb, n_AB_W };
    }
    // the segments touch: any normal across both will do
    let direction = |core: &Core| match core.points[..] {
        [p, q] => (q - p).try_normalize(),
        _ => None,
    };
    let n_AB_W = match (direction(a), direction(b)) {
        (Some(u), Some(w)) if u.cross(w).norm() > 1e-9 => {
            u.cross(w).try_normalize().unwrap_or(Vec3::Z)
        }
        (Some(u), _) | (None, Some(u)) => u.any_orthogonal(),
        (None, None) => Vec3::Z,
    };
    let n_AB_W = if n_AB_W.dot(between) < 0.0 { -n_AB_W } else { n_AB_W };
    let phi = difference.dot(n_AB_W);
    Distance { phi, p_WCa, p_WCb: p_WCa + n_AB_W * phi, n_AB_W }
}
