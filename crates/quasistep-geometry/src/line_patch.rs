//! Contact patches of nearly parallel lines: edges, capsules and sides of cylinders.

use crate::core::Core;
use crate::distance::{ContactPoint, Distance, single};
use crate::patch::SAME;
use crate::polytope::{MOST_SEEN, Polytope};
use quasistep_math::Vec3;

/// Sine of the angle above which two lines count as crossing instead of parallel.
const CROSSING: f64 = 0.05;

/// An edge, or the axis of a rounded edge, of a shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub ends: [Vec3; 2],
    /// Distance of the surface from the line, in m.
    pub radius: f64,
    /// Radius of curvature of the surface across the line, in m; zero for a sharp edge.
    pub round: f64,
    /// Index among the lines of its shape.
    pub id: u32,
}

/// The edge of a core that is farthest along `n`, judged by its lower end. `None` if the core is a
/// point.
pub(crate) fn facing_edge(core: &Core, n: Vec3) -> Option<Line> {
    let mut best: Option<u32> = None;
    let mut high = f64::NEG_INFINITY;
    // ties: the first edge wins
    let mut offer = |k: u32, low: f64| {
        if low > high + SAME {
            (best, high) = (Some(k), low);
        } else if low >= high - SAME {
            (best, high) = (best.map(|first| first.min(k)), high.max(low));
        }
    };
    let mut seen = [0; MOST_SEEN];
    let corners = core.hull().and_then(|hull| top_corners(core, hull, core.in_hull(n), &mut seen));
    if let (Some(hull), Some(corners)) = (core.hull(), corners) {
        let d = core.in_hull(n);
        let height = |i: u32| hull.vertices()[i as usize].dot(d);
        for &c in corners {
            for (k, other) in hull.edges_around(c).iter().zip(hull.neighbours(c)) {
                offer(*k, height(c).min(height(*other)));
            }
        }
    } else {
        for (edge, k) in core.edges().iter().zip(0..) {
            let [p, q] = edge.vertices.map(|i| core.point(i).dot(n));
            offer(k, p.min(q));
        }
    }
    let k = best?;
    let ends = core.edges()[k as usize].vertices.map(|i| core.point(i));
    Some(Line { ends, radius: core.radius, round: core.radius, id: k })
}

/// Corners of a hull at least as high along `d` as the lower end of the edge that is farthest along
/// `d`. Only the farthest corner is higher, up to rounding, for others would be connected by an edge
/// that is farther. `None` if there are too many.
fn top_corners<'a>(
    core: &Core,
    hull: &Polytope,
    d: Vec3,
    seen: &'a mut [u32; MOST_SEEN],
) -> Option<&'a [u32]> {
    let top = core.top(hull, d);
    let height = |k: &u32| hull.vertices()[*k as usize].dot(d);
    let second = hull.neighbours(top).iter().map(height).fold(f64::NEG_INFINITY, f64::max);
    hull.level_with(top, d, second - SAME - hull.scatter(), seen)
}

/// True if a line is far from perpendicular to the contact normal.
fn is_steep(line: &Line, n: Vec3) -> bool {
    let d = line.ends[1] - line.ends[0];
    d.dot(n).abs() > CROSSING * d.norm()
}

/// Contact patch of the facing edges of two cores; see [`along`].
pub(crate) fn along_edges(
    a: &Core,
    b: &Core,
    d: &Distance,
    margin: f64,
    out: &mut Vec<ContactPoint>,
) -> bool {
    // mostly the first edge is too steep
    let level = |core: &Core, n: Vec3| facing_edge(core, n).filter(|edge| !is_steep(edge, n));
    if let Some(edge_a) = level(a, d.n_AB_W)
        && let Some(edge_b) = level(b, -d.n_AB_W)
    {
        return along(&edge_a, &edge_b, d, margin, out);
    }
    false
}

/// Appends both ends of the stretch that two lines share, each with its own distance. Also appends
/// the nearest points if they are nearer than both ends. Returns false if the lines cross or do not
/// overlap along their length.
///
/// Where the lines are not quite parallel they are offset sideways at the ends. The offset
/// increases the distance, and each contact point lies half of it away from either line.
pub(crate) fn along(
    a: &Line,
    b: &Line,
    nearest: &Distance,
    margin: f64,
    out: &mut Vec<ContactPoint>,
) -> bool {
    let n = nearest.n_AB_W;
    let flat = |v: Vec3| v - n * v.dot(n);
    let (da, db) = (a.ends[1] - a.ends[0], b.ends[1] - b.ends[0]);
    let (Some(u), Some(w)) = (flat(da).try_normalize(), flat(db).try_normalize()) else {
        return false;
    };
    if u.cross(w).norm() > CROSSING || is_steep(a, n) || is_steep(b, n) {
        return false;
    }
    // coordinate along u and index of each end, lower end first
    let span = |line: &Line| {
        let s = line.ends.map(|p| (p - a.ends[0]).dot(u));
        if s[0] <= s[1] { [(s[0], 0), (s[1], 1)] } else { [(s[1], 1), (s[0], 0)] }
    };
    let (sa, sb) = (span(a), span(b));
    // ties: the end of A is taken
    let low = if sb[0].0 > sa[0].0 + SAME { (sb[0].0, 2 + sb[0].1) } else { sa[0] };
    let high = if sb[1].0 < sa[1].0 - SAME { (sb[1].0, 2 + sb[1].1) } else { sa[1] };
    if !(high.0 - low.0 > SAME) {
        return false;
    }
    let at = |line: &Line, s: f64| {
        let d = line.ends[1] - line.ends[0];
        line.ends[0] + d * ((s - (line.ends[0] - a.ends[0]).dot(u)) / d.dot(u))
    };
    let radii = a.radius + b.radius;
    let start = out.len();
    for (s, end) in [low, high] {
        let (pa, pb) = (at(a, s), at(b, s));
        let gap = (pb - pa).dot(n) - radii;
        let beside = flat(pb - pa);
        // both surfaces curve away from the lines, as circles whose centres are this far apart
        let apart = a.round + b.round + gap.max(0.0);
        let phi = gap + (apart.hypot(beside.norm()) - apart);
        if phi < margin {
            let p_WCa = pa + n * a.radius + beside * 0.5;
            let feature = 0x8000 | (a.id & 0xff) << 16 | (b.id & 0xff) << 24 | end as u32;
            out.push(ContactPoint { phi, p_WCa, p_WCb: p_WCa + n * phi, n_AB_W: n, feature });
        }
    }
    let deepest = out[start..].iter().map(|p| p.phi).fold(f64::INFINITY, f64::min);
    if deepest > nearest.phi + SAME {
        out.push(single(nearest));
    }
    true
}
