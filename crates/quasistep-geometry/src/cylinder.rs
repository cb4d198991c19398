//! Signed distance of a cylinder and a polyhedral core: a point, a segment, a box or a hull.
//!
//! The signed distance is the largest separation `s(n) = min_B n·b − max_A n·a` over unit normals
//! `n`. The maximum is attained at a pair of features, and each pair has few candidate normals.
//! They are the normal of a cap or face; the common perpendicular of axis and edge; the direction
//! from side or rim to a corner; and, for a rim and an edge, normals of an ellipse
//! ([`crate::ellipse`]).
//!
//! Every candidate is a lower bound, so needless candidates do no harm. Witness points that face
//! one another prove that the best normal has been found (disjoint), or that no separation is
//! positive (overlapping).

use crate::closest::{inside, segments};
use crate::core::{Core, CoreFace};
use crate::distance::Distance;
use crate::picture::View;
use crate::separating_axis::lowest;
use crate::tube::{Facing, LEVEL, Tube, square};
use quasistep_math::Vec3;

/// Sine of an angle that may result from rounding.
const ALIGNED: f64 = 1e-9;
/// A later normal replaces the chosen flat normal only if it separates more by this share of the
/// shapes' size, at most [`MAX_BIAS`]. So rounding does not choose between equally good normals.
const BIAS: f64 = 1e-9;
/// Largest bias, in m.
const MAX_BIAS: f64 = 3e-10;
/// Witness points prove a distance if they are offset across the normal by less than this, in m.
const PROOF: f64 = 1e-10;

/// Largest number of nearly equal flat normals that are kept.
const MAX_EQUALS: usize = 8;

/// The best normal offered so far, and the nearly equal flat ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Best {
    pub separation: f64,
    /// Unit normal from A to B.
    pub normal: Vec3,
    bias: f64,
    /// A separation must exceed this to replace the best, in m.
    bar: f64,
    /// Separations and normals of flat features that are nearly as good as the best, in the order
    /// offered.
    equals: [(f64, Vec3); MAX_EQUALS],
    n_equals: usize,
}

/// Witness points on A and on B, and their offset from the shapes across the normal, in m.
pub(crate) type Witness = (Vec3, Vec3, f64);

impl Best {
    /// No normal yet. `size` is the sum of both shapes' sizes, in m.
    pub fn new(size: f64) -> Self {
        let bias = (BIAS * size).min(MAX_BIAS);
        let none = f64::NEG_INFINITY;
        let equals = [(none, Vec3::Z); MAX_EQUALS];
        Self { separation: none, normal: Vec3::Z, bias, bar: none, equals, n_equals: 0 }
    }

    /// Offers a normal of flat features (a cap, a face, or a side).
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

    /// Chooses among the flat normals that are equal up to rounding: the first whose witness points
    /// face one another.
    ///
    /// If there is one, later normals must separate more by the bias; if there is none, any
    /// increase counts.
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

    /// Offers a normal; it replaces the best if its separation exceeds the bar.
    pub fn offer(&mut self, separation: f64, normal: Vec3) {
        if self.accepts(separation) {
            (self.separation, self.normal, self.bar) = (separation, normal, separation);
        }
    }

    /// True if a normal with this separation (m) would replace the best.
    pub fn accepts(&self, separation: f64) -> bool {
        separation > self.bar
    }
}

/// Signed distance from a cylinder A to a core B, without B's radius. May stop early at a lower
/// bound that exceeds `enough` (m).
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
    // B's witness point lies in A: the shapes overlap
    let overlap = proof.is_some_and(|(_, b, _)| tube.nearest(b).1 <= 0.0);
    // overlapping shapes have no positive separation
    if overlap && !best.accepts(0.0) {
        return (best.normal, best.separation);
    }
    let nearest_corner = offer_corners(tube, core, &separation, &mut best);
    if best.separation > 0.0 && nearest_corner <= best.separation + PROOF {
        return (best.normal, best.separation);
    }
    offer_side_on_edges(tube, core, &separation, &mut best);
    // upper bound of the distance between the rim point and the edge point: the depth of an
    // overlap, or else the distance to the nearest corner
    let reach = (-best.separation).max(if overlap { 0.0 } else { nearest_corner }) + LEVEL;
    offer_rims_on_edges(tube, core, overlap, reach, &separation, &mut best);
    (best.normal, best.separation)
}

/// Offers normals through the corner nearest to the cylinder and the corner nearest to its axis.
/// Returns the signed distance of the first, in m.
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

/// Offers common perpendiculars of the cylinder's axis and the core's edges.
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
            // skip edges that are not on the core's outline seen along the axis
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

/// Unit vector across both directions; `axis` has unit length. Orthogonal to `axis` up to rounding
/// even if the two are nearly parallel.
pub(crate) fn square_to_both(axis: Vec3, d: Vec3) -> Option<Vec3> {
    axis.cross(square(axis, d)?).try_normalize()
}

/// Offers normals at a rim and an edge that come nearer than `reach` (m). `overlap` is true if the
/// shapes are known to share a point.
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
                // valid only if the rim is the farthest part of the cylinder along n
                let shadowed = n.dot(up) < -ALIGNED;
                if !shadowed && best.accepts(here) && faces_edge(core, edge.faces, d, -n) {
                    best.offer(separation(n), n);
                }
            }
        }
    }
}

/// False if a segment stays farther than `reach` (m) from the rim with the given centre, judged by
/// its heights over the cap and distances from the axis.
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

/// True if `n` lies between the normals of the two faces at an edge with direction `d`.
pub(crate) fn faces_edge(core: &Core, faces: [u32; 2], d: Vec3, n: Vec3) -> bool {
    if !core.is_solid() {
        return true;
    }
    let [n1, n2] = faces.map(|f| core.faces[f as usize].normal);
    let turn = if n1.cross(n2).dot(d) < 0.0 { -d } else { d };
    n1.cross(n).dot(turn) >= -ALIGNED && n.cross(n2).dot(turn) >= -ALIGNED
}

/// The support feature of a core along `−n`.
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

/// Witness points along `n` at separation `phi` (m), and their offset from the shapes across `n`,
/// in m. The offset is zero if `phi` is the distance.
fn witness(tube: &Tube, core: &Core, n: Vec3, phi: f64) -> Witness {
    let part = part_against(core, n);
    let shift = n * phi;
    // the point of B's part nearest to a point or line of A
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

/// Closest points of a segment and a face parallel to it.
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
