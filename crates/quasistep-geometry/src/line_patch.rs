//! Contact patches of nearly parallel lines: edges, capsules and sides of cylinders.

use crate::core::Core;
use crate::distance::{ContactPoint, Distance, single};
use crate::patch::SAME;
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
    let mut best: Option<usize> = None;
    let mut high = f64::NEG_INFINITY;
    for (k, edge) in core.edges().iter().enumerate() {
        let height = |i: u32| core.points[i as usize].dot(n);
        let [p, q] = edge.vertices;
        // ties: the first edge wins
        if height(p) > high + SAME && height(q) > high + SAME {
            high = height(p).min(height(q));
            best = Some(k);
        }
    }
    let k = best?;
    let ends = core.edges()[k].vertices.map(|i| core.points[i as usize]);
    Some(Line { ends, radius: core.radius, round: core.radius, id: k as u32 })
}

/// Contact patch of the facing edges of two cores; see [`along`].
pub(crate) fn along_edges(
    a: &Core,
    b: &Core,
    d: &Distance,
    margin: f64,
    out: &mut Vec<ContactPoint>,
) -> bool {
    match (facing_edge(a, d.n_AB_W), facing_edge(b, -d.n_AB_W)) {
        (Some(edge_a), Some(edge_b)) => along(&edge_a, &edge_b, d, margin, out),
        _ => false,
    }
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
    let steep = |d: Vec3| d.dot(n).abs() > CROSSING * d.norm();
    if u.cross(w).norm() > CROSSING || steep(da) || steep(db) {
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
