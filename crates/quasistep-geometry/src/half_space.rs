//! Distance and contact patch of a half-space A and any shape B, from heights above the plane.

use crate::core::Core;
use crate::distance::{ContactPoint, Distance, flip_point, single};
use crate::patch::{Clipper, MAX_POINTS, SAME};
use crate::polytope::Polytope;
use crate::round_patch::{self, Collector, Flat, on_flat};
use crate::shape::Shape;
use crate::tube::Tube;
use quasistep_math::{Pose, Vec3};
use std::f64::consts::FRAC_1_SQRT_2;

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
        let seen = X_WB.rotation.inverse();
        let n_AB_B = seen.rotate(n_AB_W);
        let origin = (X_WB.translation - X_WA.translation).dot(n_AB_W);
        let plane = Plane {
            down: -n_AB_B,
            across: [Vec3::X, Vec3::Y].map(|axis| seen.rotate(X_WA.rotation.rotate(axis))),
            reach: margin + SAME - origin,
        };
        let all = plane.corners(hull, &mut clipper.marks, &mut clipper.corners);
        for &k in &clipper.corners {
            // a corner without a downward face is never the lowest
            let mut around = hull.faces_around(k).iter();
            if around.any(|f| hull.faces()[*f as usize].normal().dot(n_AB_B) < -1e-9) {
                offer(X_WB.transform_point(hull.vertices()[k as usize]), k);
            }
        }
        if all {
            clipper.reduce_corners(n_AB_W, start, out);
        } else {
            clipper.spread_out(start, out);
        }
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

/// Most corners of a hull that are compared one by one.
const MOST_CORNERS: usize = 64;
/// Directions in which a hull with more corners is tilted, and tangents of the angles: 5° and 45°.
const AROUND: [[f64; 2]; 8] = [
    [1.0, 0.0],
    [FRAC_1_SQRT_2, FRAC_1_SQRT_2],
    [0.0, 1.0],
    [-FRAC_1_SQRT_2, FRAC_1_SQRT_2],
    [-1.0, 0.0],
    [-FRAC_1_SQRT_2, -FRAC_1_SQRT_2],
    [0.0, -1.0],
    [FRAC_1_SQRT_2, -FRAC_1_SQRT_2],
];
const TILTS: [f64; 2] = [0.087, 1.0];

/// A plane as seen from a hull, in its frame.
struct Plane {
    /// Unit vector towards the plane.
    down: Vec3,
    /// Unit vectors along the plane.
    across: [Vec3; 2],
    /// Corners are near if they are less far along `down` than minus this, in m.
    reach: f64,
}

impl Plane {
    /// Fills `out` with the near corners, ascending, and returns true.
    ///
    /// If they are more than [`MOST_CORNERS`], it has some of the lowest and those that would be the
    /// lowest if the hull were tilted, and the answer is false.
    fn corners(&self, hull: &Polytope, marks: &mut Vec<u64>, out: &mut Vec<u32>) -> bool {
        let low = hull.support(self.down);
        let height = |k: u32| hull.vertices()[k as usize].dot(self.down);
        // corners higher than the scatter of a face's corners may connect lower ones
        let least = height(low) - hull.scatter();
        let mut floor = -self.reach;
        let mut all = true;
        while !hull.level_list((low, self.down, floor.min(least)), MOST_CORNERS, marks, out) {
            all = false;
            // those found began at the lowest one; go on with the lower half
            let middle = out.len() / 2;
            let (_, k, _) =
                out.select_nth_unstable_by(middle, |a, b| height(*b).total_cmp(&height(*a)));
            let lower = height(*k);
            // nothing in between: as many are level
            if lower >= least || lower <= floor {
                out.clear();
                break;
            }
            floor = lower;
        }
        if !all {
            for [x, y] in AROUND {
                let way = self.across[0] * x + self.across[1] * y;
                out.extend(TILTS.map(|tilt| hull.support(self.down + way * tilt)));
            }
            out.push(low);
        }
        out.retain(|k| height(*k) > -self.reach);
        out.sort_unstable();
        out.dedup();
        all
    }
}
