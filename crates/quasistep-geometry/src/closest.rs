//! Closest points of two polyhedra that are apart, over all pairs of features.

use crate::core::{Core, CoreEdge, CoreFace};
use quasistep_math::Vec3;

/// Room for rounding, as a share of a distance, and of the coordinates that it comes from.
const ROOM: f64 = 1e-9;
const ROUNDING: f64 = 1e-14;
/// A point is an edge of no length.
const POINT: [CoreEdge; 1] = [CoreEdge { ends: [0, 0], faces: [0, 0] }];

/// Reusable memory of a search: heights of the corners of A and B along the axis.
#[derive(Debug, Default)]
pub(crate) struct Heights([Vec<f64>; 2]);

/// Closest points of A and B; meaningless if the cores overlap. `None` only if they are farther apart than
/// `enough`.
///
/// Along a unit `axis` from A to B pairs of edges are passed by that are farther apart than the best ones; it may be
/// zero.
pub(crate) fn closest_points(
    a: &Core,
    b: &Core,
    axis: Vec3,
    enough: f64,
    heights: &mut Heights,
) -> Option<(Vec3, Vec3)> {
    let size = |core: &Core| core.centre.max_abs() + (core.points[0] - core.centre).norm();
    let rounding = ROUNDING * (size(a) + size(b));
    // with room for rounding: pairs just beyond it are looked at for nothing
    let with_room = |distance: f64| distance * (1.0 + ROOM) + rounding;
    let mut reach = with_room(enough);
    let mut best = (f64::INFINITY, Vec3::ZERO, Vec3::ZERO);
    let mut consider = |pa: Vec3, pb: Vec3, reach: &mut f64| {
        let d = (pb - pa).norm_squared();
        // a nearly equal pair does not displace the first one: the same features every time
        if d < best.0 * (1.0 - 1e-12) || best.0.is_infinite() {
            best = (d, pa, pb);
            *reach = reach.min(with_room(d.sqrt()));
        }
    };
    for face in &a.faces {
        for p in &b.points {
            if let Some(foot) = foot(a, face, *p, reach) {
                consider(foot, *p, &mut reach);
            }
        }
    }
    for face in &b.faces {
        for p in &a.points {
            if let Some(foot) = foot(b, face, *p, reach) {
                consider(*p, foot, &mut reach);
            }
        }
    }
    let Heights([of_a, of_b]) = heights;
    for (of, core) in [(&mut *of_a, a), (&mut *of_b, b)] {
        of.clear();
        of.extend(core.points.iter().map(|p| p.dot(axis)));
    }
    let edges_a = if a.edges.is_empty() { &POINT[..] } else { &a.edges };
    let edges_b = if b.edges.is_empty() { &POINT[..] } else { &b.edges };
    for ea in edges_a {
        let [p1, q1] = ea.ends.map(|k| a.points[k as usize]);
        let high = ea.ends.map(|k| of_a[k as usize]);
        let high = high[0].max(high[1]);
        for eb in edges_b {
            let low = eb.ends.map(|k| of_b[k as usize]);
            if low[0].min(low[1]) - high > reach {
                continue;
            }
            let [p2, q2] = eb.ends.map(|k| b.points[k as usize]);
            let (pa, pb) = segments(p1, q1, p2, q2);
            consider(pa, pb, &mut reach);
        }
    }
    best.0.is_finite().then_some((best.1, best.2))
}

/// The foot of `p` in a face, if `p` is outside of it and above it, not higher than `reach`.
pub(crate) fn foot(core: &Core, face: &CoreFace, p: Vec3, reach: f64) -> Option<Vec3> {
    let height = p.dot(face.normal) - face.offset;
    if height < 0.0 || height > reach {
        return None;
    }
    inside(core, face, p).then(|| p - face.normal * height)
}

/// True if `p` is above or below a face, not beside it.
pub(crate) fn inside(core: &Core, face: &CoreFace, p: Vec3) -> bool {
    let corners = core.corners(face);
    let n = corners.len();
    (0..n).all(|k| {
        let u = core.points[corners[k] as usize];
        let w = core.points[corners[(k + 1) % n] as usize];
        face.normal.dot((w - u).cross(p - u)) >= 0.0
    })
}

/// Closest points of two segments, each perhaps of no length.
pub(crate) fn segments(p1: Vec3, q1: Vec3, p2: Vec3, q2: Vec3) -> (Vec3, Vec3) {
    let (d1, d2, r) = (q1 - p1, q2 - p2, p1 - p2);
    let (a, e, f) = (d1.norm_squared(), d2.norm_squared(), d2.dot(r));
    let unit = |x: f64| x.clamp(0.0, 1.0);
    let (s, t) = if a <= 0.0 && e <= 0.0 {
        (0.0, 0.0)
    } else if a <= 0.0 {
        (0.0, unit(f / e))
    } else {
        let c = d1.dot(r);
        if e <= 0.0 {
            (unit(-c / a), 0.0)
        } else {
            let b = d1.dot(d2);
            let determinant = a * e - b * b;
            // parallel: any point will do, take the start
            let s =
                if determinant > 1e-14 * a * e { unit((b * f - c * e) / determinant) } else { 0.0 };
            let t = (b * s + f) / e;
            if t < 0.0 {
                (unit(-c / a), 0.0)
            } else if t > 1.0 {
                (unit((b - c) / a), 1.0)
            } else {
                (s, t)
            }
        }
    };
    (p1 + d1 * s, p2 + d2 * t)
}

/// Where the lines through two segments come closest, kept on the segments.
pub(crate) fn crossing(p1: Vec3, q1: Vec3, p2: Vec3, q2: Vec3) -> (Vec3, Vec3) {
    let (d1, d2, r) = (q1 - p1, q2 - p2, p1 - p2);
    let (a, e, b) = (d1.norm_squared(), d2.norm_squared(), d1.dot(d2));
    let (c, f) = (d1.dot(r), d2.dot(r));
    let determinant = a * e - b * b;
    if determinant <= 0.0 {
        return segments(p1, q1, p2, q2);
    }
    let s = ((b * f - c * e) / determinant).clamp(0.0, 1.0);
    let t = ((a * f - b * c) / determinant).clamp(0.0, 1.0);
    (p1 + d1 * s, p2 + d2 * t)
}
