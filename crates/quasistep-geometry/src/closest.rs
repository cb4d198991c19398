//! Closest points of two disjoint convex polyhedra, by a search over pairs of features (corners,
//! edges, faces).

use crate::core::{Core, CoreFace};
use quasistep_math::Vec3;

/// Allowance for rounding, as a share of a distance.
const ROOM: f64 = 1e-9;
const ROUNDING: f64 = 1e-14;
/// A length that is a smaller share of another counts as far less.
const FAR_BELOW: f64 = 1e-8;

/// Below this distance (m) a point on a steep edge counts as the edge's upper end. It is far below
/// the tolerance of 1e-9 m.
const STEEP: f64 = 1e-13;

/// An edge: its end points, and a bounding ball.
#[derive(Clone, Copy, Debug)]
struct Line {
    ends: [Vec3; 2],
    /// Smallest and largest coordinate of the ends along the search axis, in m.
    heights: [f64; 2],
    middle: Vec3,
    half_length: f64,
}

/// Scratch memory of a search; its contents do not affect results.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    all: [Near; 2],
    /// Edges of A and B.
    lines: [Vec<Line>; 2],
}

/// Features of a core that may contain a closest point.
#[derive(Debug, Default)]
pub(crate) struct Near {
    /// For each selected corner, whether it is an end of a selected edge.
    held: Vec<bool>,
    /// Edges of the selected corners.
    around: Vec<u32>,
    marks: Vec<u64>,
    pub points: Vec<u32>,
    pub faces: Vec<u32>,
    edges: Vec<u32>,
}

impl Near {
    /// Selects all features of the core.
    fn all(&mut self, core: &Core) {
        for (list, n) in [
            (&mut self.points, core.points.len()),
            (&mut self.faces, core.faces.len()),
            (&mut self.edges, core.edges().len()),
        ] {
            list.clear();
            list.extend(0..n as u32);
        }
    }

    /// Selects the corners at most `reach` (m) below the farthest corner along `n`, and their faces.
    ///
    /// The closest point is at most `gap` (m) below the farthest corner. If that is far less than
    /// `reach`, a face with only one of these corners cannot hold it, and is left out.
    pub fn find(&mut self, core: &Core, n: Vec3, reach: f64, gap: f64) {
        let Self { marks, points, faces, edges, .. } = self;
        core.near_corners(n, reach, marks, points);
        edges.clear();
        faces.clear();
        let Some(hull) = core.hull() else {
            return faces.extend(0..core.faces.len() as u32);
        };
        for &k in &*points {
            faces.extend_from_slice(hull.faces_around(k));
        }
        faces.sort_unstable();
        let (least, mut kept) = (if gap <= FAR_BELOW * reach { 2 } else { 1 }, 0);
        let mut k = 0;
        while k < faces.len() {
            let corners = faces[k..].iter().take_while(|f| **f == faces[k]).count();
            if corners >= least {
                faces[kept] = faces[k];
                kept += 1;
            }
            k += corners;
        }
        faces.truncate(kept);
    }

    /// Selects edges with a selected corner.
    ///
    /// On an edge that falls away steeply the closest point coincides with the edge's upper end, so
    /// one selected edge per such corner is enough.
    pub fn find_edges(&mut self, core: &Core, n: Vec3, gap: f64) {
        let Self { held, around, points, edges, .. } = self;
        held.clear();
        held.resize(points.len(), false);
        around.clear();
        if let Some(hull) = core.hull() {
            for &k in &*points {
                around.extend_from_slice(hull.edges_around(k));
            }
            around.sort_unstable();
            around.dedup();
        } else {
            around.extend(0..core.edges().len() as u32);
        }
        // edges with both ends near come first; they make steep edges at the same corners needless
        for wanted in [2, 1] {
            for &k in &*around {
                let ends = core.edges()[k as usize].vertices;
                let at = ends.map(|v| points.binary_search(&v).ok());
                if at.iter().flatten().count() != wanted {
                    continue;
                }
                if let ([Some(upper), None] | [None, Some(upper)], [u, w]) =
                    (at, ends.map(|v| core.point(v)))
                {
                    let falls = (u - w).dot(n).abs();
                    if held[upper] && gap * (u - w).norm() <= STEEP * falls {
                        continue;
                    }
                }
                for end in at.into_iter().flatten() {
                    held[end] = true;
                }
                edges.push(k);
            }
        }
        edges.sort_unstable();
    }

    /// The ends of the segment between the selected corners, if there are at most two.
    pub fn segment(&self, core: &Core) -> Option<[Vec3; 2]> {
        match self.points[..] {
            [p] => Some([core.point(p); 2]),
            [p, q] => Some([p, q].map(|k| core.point(k))),
            _ => None,
        }
    }
}

/// Closest points of A and B, in m, over all pairs of features.
///
/// `axis` is a unit vector from A to B, or zero. Along it, pairs of edges are skipped if they are
/// farther apart than the best pair so far. `None` only if the cores are farther apart than
/// `enough` (m). The result is meaningless if the cores overlap.
pub(crate) fn closest_points(
    a: &Core,
    b: &Core,
    axis: Vec3,
    enough: f64,
    memory: &mut Memory,
) -> Option<(Vec3, Vec3)> {
    let mut all = std::mem::take(&mut memory.all);
    all[0].all(a);
    all[1].all(b);
    let found = closest_among(a, &all[0], b, &all[1], axis, enough, memory);
    memory.all = all;
    found
}

/// Closest points of A and B over the selected features only; see [`closest_points`].
pub(crate) fn closest_among(
    a: &Core,
    near_a: &Near,
    b: &Core,
    near_b: &Near,
    axis: Vec3,
    enough: f64,
    memory: &mut Memory,
) -> Option<(Vec3, Vec3)> {
    let size = |core: &Core| core.centre.max_abs() + core.size();
    let rounding = ROUNDING * (size(a) + size(b));
    // enlarged for rounding: a slightly farther pair is searched in vain, but none is missed
    let with_room = |distance: f64| distance * (1.0 + ROOM) + rounding;
    let mut reach = with_room(enough);
    let mut best = (f64::INFINITY, Vec3::ZERO, Vec3::ZERO);
    let mut consider = |pa: Vec3, pb: Vec3, reach: &mut f64| {
        let d = (pb - pa).norm_squared();
        // a nearly equal pair does not replace the first: rounding must not change the features
        if d < best.0 * (1.0 - 1e-12) || best.0.is_infinite() {
            best = (d, pa, pb);
            *reach = reach.min(with_room(d.sqrt()));
        }
    };
    let points = |core: &'_ Core, near: &Near, k: usize| core.point(near.points[k]);
    for &f in &near_a.faces {
        for k in 0..near_b.points.len() {
            let p = points(b, near_b, k);
            if let Some(foot) = foot(a, &a.face(f), p, reach) {
                consider(foot, p, &mut reach);
            }
        }
    }
    for &f in &near_b.faces {
        for k in 0..near_a.points.len() {
            let p = points(a, near_a, k);
            if let Some(foot) = foot(b, &b.face(f), p, reach) {
                consider(p, foot, &mut reach);
            }
        }
    }
    // for every edge, its ends and its range along the axis
    let Memory { lines, .. } = memory;
    for (list, (core, near)) in lines.iter_mut().zip([(a, near_a), (b, near_b)]) {
        list.clear();
        let line = |ends: [u32; 2]| {
            let [p, q] = ends.map(|k| core.point(k));
            let [g, h] = [p.dot(axis), q.dot(axis)];
            Line {
                ends: [p, q],
                heights: [g.min(h), g.max(h)],
                middle: (p + q) * 0.5,
                half_length: (q - p).norm() * 0.5,
            }
        };
        if core.edges().is_empty() {
            list.push(line([0, 0]));
        }
        list.extend(near.edges.iter().map(|&k| line(core.edges()[k as usize].vertices)));
    }
    let [lines_a, lines_b] = &*lines;
    for one in lines_a {
        for other in lines_b {
            let far = one.half_length + other.half_length + reach;
            if other.heights[0] - one.heights[1] > reach
                || (other.middle - one.middle).norm_squared() > far * far
            {
                continue;
            }
            let ([p1, q1], [p2, q2]) = (one.ends, other.ends);
            let (pa, pb) = segments(p1, q1, p2, q2);
            consider(pa, pb, &mut reach);
        }
    }
    best.0.is_finite().then_some((best.1, best.2))
}

/// Orthogonal projection of `p` onto a face, if `p` lies above the face by at most `reach` (m) and
/// projects inside it.
pub(crate) fn foot(core: &Core, face: &CoreFace, p: Vec3, reach: f64) -> Option<Vec3> {
    let height = p.dot(face.normal) - face.offset;
    if height < 0.0 || height > reach {
        return None;
    }
    inside(core, face, p).then(|| p - face.normal * height)
}

/// True if the orthogonal projection of `p` onto the face's plane lies in the face.
pub(crate) fn inside(core: &Core, face: &CoreFace, p: Vec3) -> bool {
    let corners = core.corners(face);
    let n = corners.len();
    n > 2
        && (0..n).all(|k| {
            let u = core.point(corners[k]);
            let w = core.point(corners[(k + 1) % n]);
            face.normal.dot((w - u).cross(p - u)) >= 0.0
        })
}

/// Closest points of two segments; either may have length zero.
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
            // parallel segments: any point will do, take the start
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

/// Closest points of the lines through two segments, clamped to the segments.
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
