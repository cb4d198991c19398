//! Closest points of two convex shapes by support functions, after Gilbert, Johnson and Keerthi
//! (1988).
//!
//! Shapes that are a core with a radius are used without the radius. No state is kept between
//! calls, so the answer depends on the poses only.

use crate::shape::Shape;
use quasistep_math::{Pose, Vec3};

/// Most iterations; a few are usual.
const MAX_ROUNDS: usize = 64;
/// Relative accuracy of the distance at which the search ends.
const RELATIVE: f64 = 1e-12;
/// Rounding error of points, relative to their coordinates.
const ROUNDING: f64 = 1e-15;

/// Relative position of two shapes A and B.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stand {
    /// Disjoint by more than asked: `n_AB_W` is a unit normal that separates them by `separation`
    /// (m).
    Beyond { separation: f64, n_AB_W: Vec3 },
    /// Disjoint: `p_WCa` is a point of A, and `p_WCa + way` a point of B, in m. The length of `way`
    /// exceeds the distance by at most `gap` (m).
    Apart { p_WCa: Vec3, way: Vec3, gap: f64 },
    /// Overlapping or touching: `p_W` is a point of A that is at most `off` (m) outside of B.
    Meet { p_W: Vec3, off: f64 },
}

/// A point of A, and the difference to a point of B.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    p_WCa: Vec3,
    /// Vector from A's point to B's point, in m.
    w: Vec3,
}

/// Relative position of two shapes by the GJK algorithm.
///
/// The search ends early once the separation exceeds `enough` (m). Shapes nearer than `touch` (m)
/// count as touching. `None` if the iteration does not converge because of rounding.
pub(crate) fn stand(
    (a, X_WA): (&Shape, &Pose),
    (b, X_WB): (&Shape, &Pose),
    enough: f64,
    touch: f64,
) -> Option<Stand> {
    let first = X_WB.translation - X_WA.translation;
    let first = if first == Vec3::ZERO { Vec3::X } else { first };
    let way_along = |n: Vec3| {
        let (p_WCa, p_WCb) = (support(a, X_WA, n), support(b, X_WB, -n));
        Way { p_WCa, w: p_WCb - p_WCa }
    };
    let mut corners = [way_along(first); 4];
    let mut n = 1;
    let mut nearest = corners[0];
    for _ in 0..MAX_ROUNDS {
        let distance = nearest.w.norm();
        let rounding = ROUNDING * (nearest.p_WCa.max_abs() + distance);
        if distance <= touch.max(rounding) {
            return Some(Stand::Meet { p_W: nearest.p_WCa, off: distance });
        }
        let n_AB_W = nearest.w / distance;
        let apart = |gap| Some(Stand::Apart { p_WCa: nearest.p_WCa, way: nearest.w, gap });
        let next = way_along(n_AB_W);
        let separation = next.w.dot(n_AB_W);
        if separation > enough {
            return Some(Stand::Beyond { separation, n_AB_W });
        }
        let gap = (distance - separation).max(0.0);
        let is_known = corners[..n].iter().any(|c| c.w == next.w);
        if gap <= RELATIVE * distance + rounding || is_known {
            return apart(gap + rounding);
        }
        corners[n] = next;
        n += 1;
        let Some((kept, of)) = closest(&corners[..n]) else {
            return apart(gap);
        };
        let sum = |part: fn(&Way) -> Vec3| {
            (0..n).fold(Vec3::ZERO, |sum, k| sum + part(&corners[k]) * kept[k])
        };
        let found = Way { p_WCa: sum(|way| way.p_WCa), w: of };
        if n == 4 && kept.iter().all(|k| *k > 0.0) {
            return Some(Stand::Meet { p_W: found.p_WCa, off: of.norm() });
        }
        // no progress: the accuracy of rounding is reached
        if found.w.norm_squared() >= nearest.w.norm_squared() {
            return apart(gap);
        }
        nearest = found;
        let mut left = 0;
        for k in 0..n {
            if kept[k] > 0.0 {
                corners[left] = corners[k];
                left += 1;
            }
        }
        n = left;
    }
    None
}

/// Point of a simplex nearest to the origin, as weights of the corners and as a point. The last
/// corner must have a positive weight, because it was just added.
fn closest(corners: &[Way]) -> Option<([f64; 4], Vec3)> {
    let last = corners.len() - 1;
    let mut best: Option<([f64; 4], Vec3, f64)> = None;
    // try every subset of the other corners
    for others in 0..1_u32 << last {
        let mut chosen = [last; 4];
        let mut n = 1;
        for k in (0..last).filter(|k| others >> k & 1 == 1) {
            chosen[n] = k;
            n += 1;
        }
        let p = chosen.map(|k| corners[k].w);
        let Some(weights) = weights(&p[..n]) else { continue };
        let point = (0..n).fold(Vec3::ZERO, |sum, k| sum + p[k] * weights[k]);
        let square = point.norm_squared();
        if best.is_none_or(|(_, _, least)| square < least) {
            let mut all = [0.0; 4];
            for k in 0..n {
                all[chosen[k]] = weights[k];
            }
            best = Some((all, point, square));
        }
    }
    best.map(|(weights, point, _)| (weights, point))
}

/// Barycentric weights of the origin's projection onto the affine hull of the points `p`; `None`
/// unless all are positive.
fn weights(p: &[Vec3]) -> Option<[f64; 4]> {
    let triple = |a: Vec3, b: Vec3, c: Vec3| a.dot(b.cross(c));
    let (all, sum) = match *p {
        [_] => ([1.0, 0.0, 0.0, 0.0], 1.0),
        [a, b] => {
            let d = b - a;
            ([b.dot(d), -a.dot(d), 0.0, 0.0], d.norm_squared())
        }
        [a, b, c] => {
            let n = (b - a).cross(c - a);
            let [x, y, z] = [b.cross(c), c.cross(a), a.cross(b)].map(|v| v.dot(n));
            ([x, y, z, 0.0], n.norm_squared())
        }
        [a, b, c, d] => {
            let all = [triple(b, c, d), -triple(a, c, d), triple(a, b, d), -triple(a, b, c)];
            let volume = triple(b - a, c - a, d - a);
            if volume < 0.0 { (all.map(|x| -x), -volume) } else { (all, volume) }
        }
        _ => return None,
    };
    let is_within = sum > 0.0 && all[..p.len()].iter().all(|x| *x > 0.0);
    // divide by their own sum, which may differ from `sum` by rounding
    let sum: f64 = all.iter().sum();
    is_within.then(|| all.map(|x| x / sum))
}

/// Support point of a shape along `d`, without the radius around its core if it has one.
fn support(shape: &Shape, X: &Pose, d: Vec3) -> Vec3 {
    let own = X.rotation.inverse().rotate(d);
    let sign = |x: f64, size: f64| if x < 0.0 { -size } else { size };
    match shape {
        Shape::Box { half: [x, y, z] } => {
            X.transform_point(Vec3::new(sign(own.x, *x), sign(own.y, *y), sign(own.z, *z)))
        }
        Shape::Capsule { half_length, .. } => {
            X.transform_point(Vec3::Z * sign(own.z, *half_length))
        }
        Shape::Polytope(hull) => X.transform_point(hull.vertices()[hull.support(own) as usize]),
        Shape::Cylinder { .. } | Shape::Ellipsoid { .. } => {
            X.transform_point(shape.support(own).unwrap_or_default())
        }
        Shape::Sphere { .. } | Shape::HalfSpace | Shape::Cloud(_) => X.translation,
    }
}
