//! Closest points of two polyhedra that are apart, over all pairs of features.

use crate::core::{Core, CoreFace};
use quasistep_math::Vec3;

/// Room for rounding, as a share of a distance, and of the coordinates that it comes from.
const ROOM: f64 = 1e-9;
const ROUNDING: f64 = 1e-14;

/// Ends of an edge, and their heights along an axis.
type Line = ([Vec3; 2], [f64; 2]);

/// Reusable memory of a search; holds no meaning.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    all: [Near; 2],
    /// Edges of A and B.
    lines: [Vec<Line>; 2],
}

/// Features of a core that may hold a closest point.
#[derive(Debug, Default)]
pub(crate) struct Near {
    level: Vec<bool>,
    points: Vec<u32>,
    pub faces: Vec<u32>,
    edges: Vec<u32>,
}

impl Near {
    /// Becomes all features.
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

    /// Becomes the features with a corner that is at most `reach` m below the farthest one along `n`.
    pub fn find(&mut self, core: &Core, n: Vec3, reach: f64) {
        let top = core.points.iter().map(|p| p.dot(n)).fold(f64::NEG_INFINITY, f64::max);
        let Self { level, points, faces, edges } = self;
        level.clear();
        level.extend(core.points.iter().map(|p| p.dot(n) >= top - reach));
        let near = |k: &u32| level[*k as usize];
        points.clear();
        points.extend((0..core.points.len() as u32).filter(near));
        faces.clear();
        edges.clear();
        match core.hull() {
            Some(hull) => {
                faces.extend(points.iter().flat_map(|k| hull.faces_around(*k)));
                faces.sort_unstable();
                faces.dedup();
            }
            None => faces.extend(0..core.faces.len() as u32),
        }
        let ends = |k: &u32| core.edges()[*k as usize].vertices.iter().any(near);
        edges.extend((0..core.edges().len() as u32).filter(ends));
    }
}

/// Closest points of A and B over all pairs of features; meaningless if the cores overlap. `None` only if they are farther apart than
/// `enough`.
///
/// Along a unit `axis` from A to B pairs of edges are passed by that are farther apart than the best ones; it may be
/// zero.
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

/// [`closest_points`] over pairs of some features.
pub(crate) fn closest_among(
    a: &Core,
    near_a: &Near,
    b: &Core,
    near_b: &Near,
    axis: Vec3,
    enough: f64,
    memory: &mut Memory,
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
    let points = |core: &'_ Core, near: &Near, k: usize| core.points[near.points[k] as usize];
    for &f in &near_a.faces {
        for k in 0..near_b.points.len() {
            let p = points(b, near_b, k);
            if let Some(foot) = foot(a, &a.faces[f as usize], p, reach) {
                consider(foot, p, &mut reach);
            }
        }
    }
    for &f in &near_b.faces {
        for k in 0..near_a.points.len() {
            let p = points(a, near_a, k);
            if let Some(foot) = foot(b, &b.faces[f as usize], p, reach) {
                consider(p, foot, &mut reach);
            }
        }
    }
    // ends of edges and their heights along the axis
    let Memory { lines, .. } = memory;
    for (list, (core, near)) in lines.iter_mut().zip([(a, near_a), (b, near_b)]) {
        list.clear();
        let line = |ends: [u32; 2]| {
            let ends = ends.map(|k| core.points[k as usize]);
            (ends, ends.map(|p| p.dot(axis)))
        };
        if core.edges().is_empty() {
            list.push(line([0, 0]));
        }
        list.extend(near.edges.iter().map(|&k| line(core.edges()[k as usize].vertices)));
    }
    let [lines_a, lines_b] = &*lines;
    for &([p1, q1], high) in lines_a {
        let high = high[0].max(high[1]);
        for &([p2, q2], low) in lines_b {
            if low[0].min(low[1]) - high > reach {
                continue;
            }
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
