//! Signed distance of an ellipsoid and another solid: a polyhedral core, a cylinder, or an
//! ellipsoid.
//!
//! As in [`crate::cylinder`], the signed distance is the largest separation over unit normals, and
//! every candidate is a lower bound. A face or cap has one normal. For edges and corners of a core,
//! candidates are the roots of [`crate::ellipse`]; these are exact and complete. For a rim or
//! another ellipsoid, candidates are local maxima found by [`crate::climb`].
//!
//! For disjoint shapes there is one local maximum. The same holds for overlaps up to the
//! ellipsoid's smallest radius of curvature: the ellipsoid is then a smaller shape, which is
//! disjoint, offset by a ball of that radius. For deeper overlaps the result is the highest maximum
//! reached from starts at the axes of both shapes and across each pair of axes.

use crate::climb::{Disc, Peak, Round, climb};
use crate::closest::inside;
use crate::core::Core;
use crate::cylinder::{Best, Witness, faces_edge, square_to_both};
use crate::distance::Distance;
use crate::ellipsoid::Ellipsoid;
use crate::separating_axis::lowest;
use crate::tube::{Tube, square};
use quasistep_math::Vec3;

/// Witness points prove a distance if they are offset across the normal by less than this, in m.
const PROOF: f64 = 1e-10;
/// Largest number of starting normals for two ellipsoids.
const MAX_STARTS: usize = 20;

/// Signed distance from an ellipsoid A to a point B.
pub(crate) fn point_distance(a: &Ellipsoid, p_WCb: Vec3) -> Distance {
    let n_AB_W = a.normals(p_WCb).0;
    let phi = a.height(p_WCb, n_AB_W);
    Distance { phi, p_WCa: p_WCb - n_AB_W * phi, p_WCb, n_AB_W }
}

/// Signed distance from an ellipsoid A to a core B, without B's radius. May stop early at a lower
/// bound that exceeds `enough` (m). `hint` is a direction that may separate them.
pub(crate) fn core_distance(
    a: &Ellipsoid,
    core: &Core,
    hint: Option<Vec3>,
    enough: f64,
) -> Distance {
    if let [p] = core.points[..] {
        return point_distance(a, p);
    }
    let size = core.points.first().map_or(0.0, |p| (*p - core.centre).norm());
    let mut best = Best::new(a.radii[0] + size);
    let separation = |n: Vec3| lowest(core, n) - a.reach(n);
    for face in &core.faces {
        best.offer_flat(-face.offset - a.reach(-face.normal), -face.normal);
    }
    if let Some(n) = hint {
        best.offer(separation(n), n);
    }
    if best.separation > enough {
        return along(a, &best);
    }
    let proof = best.choose_flat_normal(|n, s| {
        let p = a.support(n) + n * s;
        let is_on = |f: &&crate::core::CoreFace| f.normal.dot(n) < 0.0 && inside(core, f, p);
        let face = core.faces.iter().filter(|f| f.normal.cross(n).max_abs() <= 1e-9).find(is_on);
        (p, p, if face.is_some() { 0.0 } else { f64::INFINITY })
    });
    if proof.is_some() && best.separation >= -a.least_bend() {
        return along(a, &best);
    }
    let nearest = offer_corners(a, core, &separation, &mut best);
    let is_proved = best.separation >= -a.least_bend() && nearest <= best.separation + PROOF;
    if !is_proved {
        offer_edges(a, core, nearest, &separation, &mut best);
    }
    along(a, &best)
}

/// Witness points along the best normal. A's is its unique support point.
fn along(a: &Ellipsoid, best: &Best) -> Distance {
    let (phi, n_AB_W) = (best.separation, best.normal);
    let p_WCa = a.support(n_AB_W);
    Distance { phi, p_WCa, p_WCb: p_WCa + n_AB_W * phi, n_AB_W }
}

/// Offers normals through corners; returns the signed distance of the nearest corner, in m.
fn offer_corners(
    a: &Ellipsoid,
    core: &Core,
    separation: &impl Fn(Vec3) -> f64,
    best: &mut Best,
) -> f64 {
    let mut nearest = (f64::INFINITY, Vec3::Z);
    for p in &core.points {
        if a.at_least(*p) < nearest.0 {
            let n = a.normals(*p).0;
            let distance = a.height(*p, n);
            if distance < nearest.0 {
                nearest = (distance, n);
            }
        }
    }
    // the separation from all corners is at most the distance of any of them
    best.offer(separation(nearest.1), nearest.1);
    if best.separation < 0.0 {
        for p in &core.points {
            if !best.accepts(a.most_across(*p)) {
                continue;
            }
            if let Some(n) = a.normals(*p).1.filter(|n| best.accepts(a.height(*p, *n))) {
                best.offer(separation(n), n);
            }
        }
    }
    nearest.0
}

/// Offers normals across edges, from the ellipsoid's outline in the projection along each edge.
/// `nearest` is an upper bound of the distance, in m.
fn offer_edges(
    a: &Ellipsoid,
    core: &Core,
    nearest: f64,
    separation: &impl Fn(Vec3) -> f64,
    best: &mut Best,
) {
    let overlap = nearest <= 0.0;
    for edge in core.edges() {
        let [p, q] = edge.vertices.map(|k| core.points[k as usize]);
        if !overlap && best.separation > 0.0 {
            // skip: the edge lies beyond a plane that is farther than a known point of B
            let n = best.normal;
            if a.height(p, n).min(a.height(q, n)) > nearest + PROOF {
                continue;
            }
        }
        if core.is_solid() {
            // upper bound of the separation over normals between those of the two faces: minus the
            // centre's depth under the nearer face, minus the smallest half axis
            let depths = edge.faces.map(|f| {
                let face = &core.faces[f as usize];
                face.offset - face.normal.dot(a.centre)
            });
            let depth = depths[0].min(depths[1]);
            if depth > 0.0 && !best.accepts(-depth - a.radii[2]) {
                continue;
            }
        }
        let Some(d) = (q - p).try_normalize() else { continue };
        let view = a.view(d);
        let at = view.flat(p - a.centre);
        for flat in view.normals(at, 0.0, overlap, best.separation) {
            let n = view.world(flat);
            let here = flat[0] * at[0] + flat[1] * at[1] - view.ellipse.reach(flat);
            if best.accepts(here) && faces_edge(core, edge.faces, d, -n) {
                best.offer(separation(n), n);
            }
        }
    }
}

/// Signed distance from an ellipsoid A to a cylinder B. May stop early at a lower bound that
/// exceeds `enough` (m). `apart` searches for a direction that separates them.
pub(crate) fn tube_distance(
    a: &Ellipsoid,
    tube: &Tube,
    enough: f64,
    apart: impl FnOnce() -> Option<Vec3>,
) -> Distance {
    let mut best = Best::new(a.radii[0] + tube.radius + tube.half_length);
    let separation = |n: Vec3| -tube.reach(-n) - a.reach(n);
    let between = tube.centre - a.centre;
    let cap = if tube.axis.dot(between) < 0.0 { -tube.axis } else { tube.axis };
    best.offer_flat(separation(cap), cap);
    let view = a.view(tube.axis);
    for flat in view.normals(view.flat(between), tube.radius, false, f64::NEG_INFINITY) {
        let n = square(tube.axis, view.world(flat)).unwrap_or(tube.across);
        best.offer_flat(separation(n), n);
    }
    if best.separation > enough {
        return along(a, &best);
    }
    let witness = |n: Vec3, s: f64| -> Witness {
        let p = a.support(n) + n * s;
        (p, p, tube.nearest(p).1.max(0.0))
    };
    let proof = best.choose_flat_normal(witness);
    if proof.is_some() && best.separation >= -a.least_bend() {
        return along(a, &best);
    }
    let mut starts = Starts::new(between);
    starts.offer(best.normal);
    for axis in a.axes {
        starts.offer(axis);
        starts.offer_across(tube.axis, axis);
    }
    let (nearest, across) = a.normals(tube.centre);
    starts.offer(nearest);
    if let Some(n) = across {
        starts.offer(n);
    }
    starts.offer(tube.nearest(a.centre).0);
    let rims = tube.rims().map(|(centre, up)| Disc { centre, axis: up, radius: tube.radius });
    let all = |n: Vec3| starts.list[..starts.n].iter().copied().chain([n]);
    let highest = |n: Vec3| {
        let higher = |x: Vec3, y: Vec3| if separation(y) > separation(x) { y } else { x };
        all(n).fold(n, higher)
    };
    let first = highest(best.normal);
    let climb_rims = |from: Vec3, best: &mut Best| {
        for rim in &rims {
            let n = climb(a, rim, from).normal;
            best.offer(separation(n), n);
        }
        witness(best.normal, best.separation).2 <= PROOF
    };
    if climb_rims(first, &mut best) && best.separation >= -a.least_bend() {
        return along(a, &best);
    }
    if let Some(n) = apart() {
        climb_rims(n, &mut best);
    } else {
        for n in all(first) {
            climb_rims(n, &mut best);
        }
    }
    along(a, &best)
}

/// Signed distance of two ellipsoids. May stop early at a lower bound that exceeds `enough` (m).
/// `apart` searches for a direction that separates them.
pub(crate) fn distance(
    a: &Ellipsoid,
    b: &Ellipsoid,
    enough: f64,
    apart: impl FnOnce() -> Option<Vec3>,
) -> Distance {
    let separation = |n: Vec3| -Round::reach(b, -n) - a.reach(n);
    let mut best = Best::new(a.radii[0] + b.radii[0]);
    let mut starts = Starts::new(b.centre - a.centre);
    starts.offer(b.centre - a.centre);
    starts.offer(a.normals(b.centre).0);
    starts.offer(b.normals(a.centre).0);
    for axis in a.axes.into_iter().chain(b.axes) {
        starts.offer(axis);
    }
    for u in a.axes {
        for w in b.axes {
            starts.offer_across(u, w);
        }
    }
    let starts = &starts.list[..starts.n];
    for n in starts {
        best.offer(separation(*n), *n);
    }
    if best.separation > enough {
        return along(a, &best);
    }
    let take = |best: &mut Best, peak: &Peak| best.offer(peak.separation, peak.normal);
    let first = climb(a, b, best.normal);
    take(&mut best, &first);
    if first.separation >= -a.least_bend() - b.least_bend() && first.miss <= PROOF {
        return along(a, &best);
    }
    if let Some(n) = apart() {
        take(&mut best, &climb(a, b, n));
    } else {
        for n in starts {
            take(&mut best, &climb(a, b, *n));
        }
    }
    along(a, &best)
}

/// Starting normals of local searches. Both shapes are symmetric about their centres, so directions
/// towards B's centre separate at least as much as their opposites.
struct Starts {
    towards: Vec3,
    list: [Vec3; MAX_STARTS],
    n: usize,
}

impl Starts {
    fn new(towards: Vec3) -> Self {
        Self { towards, list: [Vec3::ZERO; MAX_STARTS], n: 0 }
    }

    /// Adds a direction of any nonzero length.
    fn offer(&mut self, n: Vec3) {
        let Some(n) = n.try_normalize() else { return };
        self.list[self.n] = if n.dot(self.towards) < 0.0 { -n } else { n };
        self.n += 1;
    }

    fn offer_across(&mut self, u: Vec3, w: Vec3) {
        if let Some(n) = square_to_both(u, w) {
            self.offer(n);
        }
    }
}
