//! A cylinder against a polyhedral core: a point, a segment, a box, a hull.
//!
//! The signed distance is the largest separation `s(n) = min_B n·b − max_A n·a` over unit normals. It
//! is reached on a pair of features, and each pair has few normals: a cap's, a face's, across the side
//! and an edge, from the side or the rim to a corner, and on a rim and an edge those of an ellipse
//! ([`crate::ellipse`]). Every normal offered is a lower bound, so none that is offered needlessly can
//! do harm; a pair of witness points that face one another proves that the best has been found (apart),
//! or that no separation above zero exists (overlapping).

use crate::closest::{inside, segments};
use crate::core::{Core, CoreFace};
use crate::distance::Distance;
use crate::picture::View;
use crate::separating_axis::lowest;
use crate::tube::{Facing, LEVEL, Tube, square};
use quasistep_math::Vec3;

/// Sine of an angle that rounding makes.
const ALIGNED: f64 = 1e-9;
/// A normal must beat the settled one by this share of the shapes' size, at most [`MAX_BIAS`]:
/// rounding must not choose between normals that are equally good.
const BIAS: f64 = 1e-9;
/// In m.
const MAX_BIAS: f64 = 3e-10;
/// Witness points that miss one another by less than this, sideways, prove a distance, in m.
const PROOF: f64 = 1e-10;

/// Most flat normals that are remembered as equals.
const MAX_EQUALS: usize = 8;

/// The best of the normals offered so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Best {
    pub separation: f64,
    /// Unit, from A to B.
    pub normal: Vec3,
    bias: f64,
    /// What a separation must exceed.
    bar: f64,
    /// Normals of flat features that are about as good as the best, in the order offered.
    equals: [(f64, Vec3); MAX_EQUALS],
    n_equals: usize,
}

/// Points on A and on B that face one another, and by how much they miss, sideways.
pub(crate) type Witness = (Vec3, Vec3, f64);

impl Best {
    /// None yet; `size` is that of both shapes together, in m.
    pub fn new(size: f64) -> Self {
        let bias = (BIAS * size).min(MAX_BIAS);
        let none = f64::NEG_INFINITY;
        let equals = [(none, Vec3::Z); MAX_EQUALS];
        Self { separation: none, normal: Vec3::Z, bias, bar: none, equals, n_equals: 0 }
    }

    /// Offers a normal of flat features.
    pub fn offer_flat(&mut self, separation: f64, normal: Vec3) {
        if separation > self.separation + self.bias {
            self.n_equals = 0;
        }
        if separation > self.separation - self.bias && self.n_equals < MAX_EQUALS {
            self.equals[self.n_equals] = (separation, normal);
            self.n_equals += 1;
        }
        self.offer(separation, normal);
    }

    /// Chooses the first of the flat normals that are equal up to rounding and whose features face
    /// one another, by its witness points. From here on others must beat it beyond rounding; where
    /// there is none, every digit counts.
    pub fn choose_flat_normal(
        &mut self,
        witness: impl Fn(Vec3, f64) -> Witness,
    ) -> Option<Witness> {
        for &(separation, normal) in &self.equals[..self.n_equals] {
            if separation > self.separation - self.bias {
                let found = witness(normal, separation);
                if found.2 <= PROOF {
                    (self.separation, self.normal) = (separation, normal);
                    self.bar = separation + self.bias;
                    return Some(found);
                }
            }
        }
        None
    }

    /// Takes a normal that is better than the best.
    pub fn offer(&mut self, separation: f64, normal: Vec3) {
        if self.accepts(separation) {
            (self.separation, self.normal, self.bar) = (separation, normal, separation);
        }
    }

    /// True if a separation would be taken.
    pub fn accepts(&self, separation: f64) -> bool {
        separation > self.bar
    }
}

/// Signed distance from a cylinder A to a core B, without B's radius; may stop at a lower bound once
/// that exceeds `enough`.
pub(crate) fn distance(tube: &Tube, core: &Core, enough: f64) -> Distance {
    let (n_AB_W, phi) = best_normal(tube, core, enough);
    let (p_WCa, p_WCb, _) = witness(tube, core, n_AB_W, phi);
    Distance { phi, p_WCa, p_WCb, n_AB_W }
}

/// Signed distance from a cylinder A to a point B.
pub(crate) fn point_distance(tube: &Tube, p_WCb: Vec3) -> Distance {
    let (n_AB_W, phi) = tube.nearest(p_WCb);
    Distance { phi, p_WCa: p_WCb - n_AB_W * phi, p_WCb, n_AB_W }
}

fn best_normal(tube: &Tube, core: &Core, enough: f64) -> (Vec3, f64) {
    let reach = core.points.first().map_or(0.0, |p| (*p - core.centre).norm());
    let mut best = Best::new(tube.radius + tube.half_length + reach);
    let separation = |n: Vec3| lowest(core, n) - tube.reach(n);
    for n in [tube.axis, -tube.axis] {
        best.offer_flat(separation(n), n);
    }
    for face in &core.faces {
        best.offer_flat(-face.offset - tube.reach(-face.normal), -face.normal);
    }
    if best.separation > enough {
        return (best.normal, best.separation);
    }
    let proof = best.choose_flat_normal(|n, s| witness(tube, core, n, s));
    if proof.is_some() && best.separation >= 0.0 {
        return (best.normal, best.separation);
    }
    // a point of both
    let overlap = proof.is_some_and(|(_, b, _)| tube.nearest(b).1 <= 0.0);
    // nothing separates two that overlap
    if overlap && !best.accepts(0.0) {
        return (best.normal, best.separation);
    }
    let nearest_corner = offer_corners(tube, core, &separation, &mut best);
    if best.separation > 0.0 && nearest_corner <= best.separation + PROOF {
        return (best.normal, best.separation);
    }
    offer_side_on_edges(tube, core, &separation, &mut best);
    // points on a rim and an edge are at most this far apart: in an overlap the depth, else also the
    // distance of any two points
    let reach = (-best.separation).max(if overlap { 0.0 } else { nearest_corner }) + LEVEL;
    offer_rims_on_edges(tube, core, overlap, reach, &separation, &mut best);
    (best.normal, best.separation)
}

/// Normals through the corner nearest to the cylinder and the one nearest to its axis; returns the
/// distance of the first.
fn offer_corners(
    tube: &Tube,
    core: &Core,
    separation: &impl Fn(Vec3) -> f64,
    best: &mut Best,
) -> f64 {
    let (mut near, mut axial) = ((f64::INFINITY, Vec3::Z), (f64::INFINITY, Vec3::Z));
    for p in &core.points {
        let (n, distance) = tube.nearest(*p);
        if distance < near.0 {
            near = (distance, n);
        }
        let r = *p - tube.centre;
        let flat = r - tube.axis * r.dot(tube.axis);
        if flat.norm() < axial.0 {
            axial = (flat.norm(), square(tube.axis, flat).unwrap_or(tube.across));
        }
    }
    best.offer(separation(near.1), near.1);
    best.offer(separation(axial.1), axial.1);
    near.0
}

/// Normals across the cylinder's axis and an edge.
fn offer_side_on_edges(
    tube: &Tube,
    core: &Core,
    separation: &impl Fn(Vec3) -> f64,
    best: &mut Best,
) {
    for edge in core.edges() {
        let [p, q] = edge.vertices.map(|k| core.points[k as usize]);
        let n = if core.is_solid() {
            let [n1, n2] = edge.faces.map(|f| core.faces[f as usize].normal);
            // the edge is part of the outline seen along the axis
            if n1.dot(tube.axis) * n2.dot(tube.axis) >= 0.0 {
                continue;
            }
            let Some(n) = square_to_both(tube.axis, q - p) else { continue };
            if n.dot(n1 + n2) > 0.0 { -n } else { n }
        } else {
            let Some(n) = square_to_both(tube.axis, q - p) else { continue };
            if n.dot(p - tube.centre) < 0.0 { -n } else { n }
        };
        if best.accepts(n.dot(p - tube.centre) - tube.radius) {
            best.offer(separation(n), n);
        }
    }
}

/// The unit normal of two directions, the first one of unit length: square to it to rounding, even if
/// they are nearly parallel.
pub(crate) fn square_to_both(axis: Vec3, d: Vec3) -> Option<Vec3> {
    axis.cross(square(axis, d)?).try_normalize()
}

/// Normals on a rim and an edge that come nearer than `reach`; `overlap` is true if a point of both
/// shapes is known.
fn offer_rims_on_edges(
    tube: &Tube,
    core: &Core,
    overlap: bool,
    reach: f64,
    separation: &impl Fn(Vec3) -> f64,
    best: &mut Best,
) {
    let rims = tube.rims();
    for edge in core.edges() {
        let [p, q] = edge.vertices.map(|k| core.points[k as usize]);
        let near = rims.map(|(centre, _)| may_meet_rim(tube, centre, reach, p, q));
        let Some(d) = (q - p).try_normalize().filter(|_| near != [false; 2]) else { continue };
        let view = View::along(d, tube.axis, tube.radius);
        for (k, (centre, up)) in rims.into_iter().enumerate() {
            if !near[k] {
                continue;
            }
            let at = view.flat(p - centre);
            for flat in view.normals(at, 0.0, overlap, best.separation) {
                let n = view.world(flat);
                let here = flat[0] * at[0] + flat[1] * at[1] - view.ellipse.reach(flat);
                // the other rim is farther along n
                let shadowed = n.dot(up) < -ALIGNED;
                if !shadowed && best.accepts(here) && faces_edge(core, edge.faces, d, -n) {
                    best.offer(separation(n), n);
                }
            }
        }
    }
}

/// False if a segment stays farther than `reach` from the rim about `centre`, by heights over the cap
/// and distances from the axis.
fn may_meet_rim(tube: &Tube, centre: Vec3, reach: f64, p: Vec3, q: Vec3) -> bool {
    let (rp, rq) = (p - centre, q - centre);
    let (hp, hq) = (rp.dot(tube.axis), rq.dot(tube.axis));
    if hp.min(hq) > reach || hp.max(hq) < -reach {
        return false;
    }
    let (fp, fq) = (rp - tube.axis * hp, rq - tube.axis * hq);
    let inner = (tube.radius - reach).max(0.0);
    if fp.norm_squared().max(fq.norm_squared()) < inner * inner {
        return false;
    }
    let d = fq - fp;
    let length = d.norm_squared();
    let t = if length > 0.0 { (-fp.dot(d) / length).clamp(0.0, 1.0) } else { 0.0 };
    let outer = tube.radius + reach;
    (fp + d * t).norm_squared() <= outer * outer
}

/// True if `n` lies between the normals of an edge's faces.
pub(crate) fn faces_edge(core: &Core, faces: [u32; 2], d: Vec3, n: Vec3) -> bool {
    if !core.is_solid() {
        return true;
    }
    let [n1, n2] = faces.map(|f| core.faces[f as usize].normal);
    let turn = if n1.cross(n2).dot(d) < 0.0 { -d } else { d };
    n1.cross(n).dot(turn) >= -ALIGNED && n.cross(n2).dot(turn) >= -ALIGNED
}

/// The part of a core that faces against `n`.
enum Part<'a> {
    Face(&'a CoreFace),
    Edge(Vec3, Vec3),
}

fn part_against(core: &Core, n: Vec3) -> Part<'_> {
    if let Some(face) =
        core.faces.iter().find(|f| f.normal.dot(n) < 0.0 && f.normal.cross(n).max_abs() <= ALIGNED)
    {
        return Part::Face(face);
    }
    let level = lowest(core, n) + LEVEL;
    let mut low = core.points.iter().filter(|p| p.dot(n) <= level);
    let first = low.next().copied().unwrap_or(core.centre);
    let apart = |p: &Vec3| (*p - first).norm_squared();
    let last = low.fold(first, |far, p| if apart(p) > apart(&far) { *p } else { far });
    Part::Edge(first, last)
}

/// Points of the cylinder and the core that face one another along `n`, `phi` apart, and how far they
/// miss the shapes sideways: zero if `phi` is the distance.
fn witness(tube: &Tube, core: &Core, n: Vec3, phi: f64) -> Witness {
    let part = part_against(core, n);
    let shift = n * phi;
    // of B, opposite a point or a line of A
    let nearest = |p: Vec3, q: Vec3| match part {
        Part::Edge(e, f) => segments(p, q, e, f),
        Part::Face(face) => nearest_on_face(core, face, p, q),
    };
    match tube.facing(n) {
        Facing::Rim(a) => {
            let a_shifted = a + shift;
            let (_, b) = nearest(a_shifted, a_shifted);
            (a, a_shifted, (b - a_shifted).norm())
        }
        Facing::Side(p, q) => {
            let (a, b) = nearest(p + shift, q + shift);
            (b - shift, b, (b - a).norm())
        }
        Facing::Cap(centre) => {
            let (a, b) = nearest(centre + shift, centre + shift);
            (b - shift, b, ((b - a).norm() - tube.radius).max(0.0))
        }
    }
}

/// Nearest points of a segment and a face that it is level with.
fn nearest_on_face(core: &Core, face: &CoreFace, p: Vec3, q: Vec3) -> (Vec3, Vec3) {
    let middle = (p + q) * 0.5;
    for a in [middle, p, q] {
        if inside(core, face, a) {
            return (a, a - face.normal * (a.dot(face.normal) - face.offset));
        }
    }
    let corners = core.corners(face);
    let mut best = (f64::INFINITY, p, p);
    for (k, &corner) in corners.iter().enumerate() {
        let next = corners[(k + 1) % corners.len()];
        let (u, w) = (core.points[corner as usize], core.points[next as usize]);
        let (a, b) = segments(p, q, u, w);
        let d = (b - a).norm_squared();
        if d < best.0 {
            best = (d, a, b);
        }
    }
    (best.1, best.2)
}
