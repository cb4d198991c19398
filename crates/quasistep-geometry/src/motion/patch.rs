//! Derivatives of the corners of a patch of flat features. A corner is one of the incident face,
//! the cut of its edge by a side of the reference face, or a corner of the reference face.
//!
//! Each is a point `p` that moves with one body, or slides along its edge or plane as the other
//! body's side pushes it. Its distance is the height of `p` over the reference face along the
//! contact normal.

use super::map::{Change, ContactMotion};
use crate::core::{Core, CoreFace};
use crate::distance::ContactPoint;
use crate::patch::{FLAT, SAME};
use quasistep_math::Vec3;

/// A corner reconstructed from its feature number must agree with the contact point to this, in m.
pub(super) const HERE: f64 = 1e-7;
/// Speeds below this, for a motion of size 1, count as zero up to rounding.
const STILL: f64 = 1e-6;

/// Construction of a patch corner.
enum Corner {
    /// A corner of the incident core.
    Incident,
    /// The cut of an incident edge with direction `along` by a side of the reference face, given by
    /// its two corners.
    Cut { along: Vec3, side: [Vec3; 2] },
    /// The point of the incident plane over a corner of the reference face; `incident` is that
    /// plane's normal.
    Reference { corner: Vec3, incident: Vec3 },
}

/// A patch corner with the quantities that define it.
struct Flat {
    corner: Corner,
    /// The point on the incident core, in m.
    p: Vec3,
    /// Unit normal of the reference face.
    m: Vec3,
    /// Unit direction along which heights are measured, out of the reference.
    up: Vec3,
    exact: bool,
    height: f64,
    /// True if A is the reference.
    a_is_reference: bool,
    /// Up to two sides of the reference face on which the point lies.
    level: [Option<[Vec3; 2]>; 2],
}

/// Velocity field of a body that rotates by `w` about `p` and translates by `v`.
#[derive(Clone, Copy)]
struct Field {
    w: Vec3,
    v: Vec3,
    p: Vec3,
}

impl Field {
    fn at(&self, q: Vec3) -> Vec3 {
        self.v + self.w.cross(q - self.p)
    }
}

/// Derivatives of a corner of the patch of two cores, given the normal's derivative. `None` if the
/// point is not such a corner.
pub(super) fn motion(
    a: &Core,
    b: &Core,
    point: &ContactPoint,
    d_normal: impl Fn(Vec3, Vec3) -> Vec3,
) -> Option<ContactMotion> {
    let flat = Flat::find(a, b, point)?;
    let change = |w, v| flat.change([a.radius, b.radius], point, w, v, d_normal(w, v));
    let motion = ContactMotion::of(change);
    let on_edge = flat.level.iter().flatten().any(|side| {
        let leaves = |w, v| flat.crossing(*side, point, w, v, d_normal(w, v)).abs() > STILL;
        Vec3::AXES.iter().any(|axis| leaves(*axis, Vec3::ZERO) || leaves(Vec3::ZERO, *axis))
    });
    Some(ContactMotion { on_edge, ..motion })
}

impl Flat {
    fn find(a: &Core, b: &Core, point: &ContactPoint) -> Option<Self> {
        let (n, id) = (point.n_AB_W, point.feature);
        let a_is_reference = id >> 31 == 1;
        let (reference, incident, out) = if a_is_reference { (a, b, n) } else { (b, a, -n) };
        let (face, along) = reference.aligned(out, -1.0);
        let face = face.filter(|k| *k as u32 & 0x7f == id >> 24 & 0x7f)?;
        let face = &reference.faces[face];
        let m = face.normal;
        let exact = along >= FLAT;
        let up = if exact { m } else { out };
        let inner = incident.aligned(-out, -1.0).0.map(|k| &incident.faces[k]);
        let inner = inner.filter(|f| f.normal.dot(m) < 0.0);
        let corners = reference.corners(face);
        let origin = reference.points[*corners.first()? as usize];
        let sides = |k: usize| {
            let ends = [corners.get(k)?, &corners[(k + 1) % corners.len()]];
            Some(ends.map(|c| reference.points[*c as usize]))
        };
        let low = id & 0xff_ffff;
        let (corner, p) = if low < 0x1_0000 {
            (Corner::Incident, *incident.points.get(low as usize)?)
        } else if low >> 16 == 1 {
            let (edge, k) = (low >> 6 & 0x3ff, (low & 0x3f) as usize);
            let side = sides(k)?;
            if edge < 0x200 {
                cut(incident, inner, edge as usize, side, up)?
            } else {
                // two sides of the reference: the point is over their common corner
                let corner = shared(side, sides((edge & 0x1ff) as usize)?)?;
                let (inner, incident) = (inner?.normal, inner?.offset);
                let p = corner + up * ((incident - corner.dot(inner)) / up.dot(inner));
                (Corner::Reference { corner, incident: inner }, p)
            }
        } else {
            return None;
        };
        let is_level = |[u, q]: &[Vec3; 2]| {
            let side = (*q - *u).cross(up).try_normalize();
            side.is_some_and(|side| (p - *u).dot(side).abs() <= SAME)
        };
        let mut level = (0..corners.len()).filter_map(sides).filter(is_level);
        let level = std::array::from_fn(|_| level.next());
        let height = (p - origin).dot(m) / up.dot(m);
        let there =
            if a_is_reference { point.p_WCb + n * b.radius } else { point.p_WCa - n * a.radius };
        ((p - there).max_abs() <= HERE).then_some(Self {
            corner,
            p,
            m,
            up,
            exact,
            height,
            a_is_reference,
            level,
        })
    }

    /// Velocity fields of the reference and of the incident body, and the rate at which `up` turns.
    fn fields(&self, point: &ContactPoint, w: Vec3, v: Vec3, dn: Vec3) -> (Field, Field, Vec3) {
        let still = Field { w: Vec3::ZERO, v: Vec3::ZERO, p: Vec3::ZERO };
        let moves = Field { w, v, p: point.p_WCb };
        let (reference, incident) =
            if self.a_is_reference { (still, moves) } else { (moves, still) };
        let out = if self.a_is_reference { dn } else { -dn };
        let dup = if self.exact { reference.w.cross(self.m) } else { out };
        (reference, incident, dup)
    }

    /// Speed at which the point leaves a side of the reference on which it lies. It is zero if the
    /// point is cut by that side, and if the contact normal follows that corner and edge.
    fn crossing(&self, [u, q]: [Vec3; 2], point: &ContactPoint, w: Vec3, v: Vec3, dn: Vec3) -> f64 {
        let (reference, incident, dup) = self.fields(point, w, v, dn);
        let dp = self.moved(&reference, &incident, dup);
        let side = (q - u).cross(self.up);
        let turned = (q - u).cross(dup - reference.w.cross(self.up)).dot(self.p - u);
        (side.dot(dp - reference.at(self.p)) + turned) / side.norm()
    }

    /// Velocity of the point on the incident core.
    fn moved(&self, reference: &Field, incident: &Field, dup: Vec3) -> Vec3 {
        let (p, up) = (self.p, self.up);
        match self.corner {
            Corner::Incident => incident.at(p),
            Corner::Cut { along, side: [u, q] } => {
                let side = (q - u).cross(up);
                // constraint side · (p − u) = 0; the side moves with the reference, except for its
                // direction `up`
                let turned = (q - u).cross(dup - reference.w.cross(up)).dot(p - u);
                let relative = incident.at(p) - reference.at(p);
                incident.at(p) - along * ((side.dot(relative) + turned) / side.dot(along))
            }
            Corner::Reference { corner, incident: normal } => {
                let carried = reference.at(corner) + dup * (p - corner).dot(up);
                let relative = incident.at(p) - carried;
                carried + up * (normal.dot(relative) / normal.dot(up))
            }
        }
    }

    fn change(&self, radii: [f64; 2], point: &ContactPoint, w: Vec3, v: Vec3, dn: Vec3) -> Change {
        let (reference, incident, dup) = self.fields(point, w, v, dn);
        let (p, m, up) = (self.p, self.m, self.up);
        let dp = self.moved(&reference, &incident, dup);
        // the height follows from height up · m = m · (p − origin)
        let rise = m.dot(dp - reference.at(p));
        let lean = (dup - reference.w.cross(up)).dot(m);
        let dheight = (rise - self.height * lean) / up.dot(m);
        let foot = dp - dup * self.height - up * dheight;
        let (a, b) = if self.a_is_reference { (foot, dp) } else { (dp, foot) };
        Change { phi: dheight, n: dn, a: a + dn * radii[0], b: b - dn * radii[1] }
    }
}

/// Intersection of an edge of the incident core with a side of the reference face.
fn cut(
    incident: &Core,
    face: Option<&CoreFace>,
    edge: usize,
    side: [Vec3; 2],
    up: Vec3,
) -> Option<(Corner, Vec3)> {
    let ends = match face {
        Some(face) => {
            let corners = incident.corners(face);
            [*corners.get(edge)?, corners[(edge + 1) % corners.len()]]
        }
        None if incident.points.len() == 2 => [0, 1],
        None => return None,
    };
    let [e, f] = ends.map(|k| incident.points[k as usize]);
    let along = f - e;
    let across = (side[1] - side[0]).cross(up);
    let p = e + along * ((side[0] - e).dot(across) / along.dot(across));
    p.is_finite().then_some((Corner::Cut { along, side }, p))
}

/// The corner that two sides of a face share, if any.
fn shared(one: [Vec3; 2], other: [Vec3; 2]) -> Option<Vec3> {
    one.into_iter().find(|p| other.contains(p))
}

/// The body whose flat face defines the normal of a patch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Owner {
    A,
    B,
    /// Both, and the faces cover one another only in part: after a rotation either face may define
    /// it.
    Both,
    /// Neither: other features define the normal.
    Other,
}

/// A face counts as covering another one if the other's corners stand out by less than this share
/// of its size.
const LARGER: f64 = 1e-3;

/// The body whose face defines the normal. If two faces are parallel it is the one that covers the
/// other, so that the normal follows it in a small rotation.
pub(super) fn owner(a: &Core, b: &Core, n: Vec3) -> Owner {
    let level = |core: &Core, out: Vec3| {
        let (face, _) = core.aligned(out, -1.0);
        let face = face.map(|k| &core.faces[k])?;
        (face.normal.cross(out).max_abs() <= 1e-9).then_some(*face)
    };
    match (level(a, n), level(b, -n)) {
        (Some(on_a), Some(on_b)) => {
            let b_fits = stands_out(b, &on_b, a, &on_a) <= LARGER;
            let a_fits = stands_out(a, &on_a, b, &on_b) <= LARGER;
            match (a_fits, b_fits) {
                (false, true) => Owner::A,
                (true, false) => Owner::B,
                _ => Owner::Both,
            }
        }
        (Some(_), None) => Owner::A,
        (None, Some(_)) => Owner::B,
        (None, None) => Owner::Other,
    }
}

/// How far corners of a face stand out beyond another face, as a share of the latter's size.
fn stands_out(core: &Core, face: &CoreFace, other: &Core, of: &CoreFace) -> f64 {
    let ring = other.corners(of);
    let corner = |k: u32| other.points[k as usize];
    let (mut most, mut size) = (0.0_f64, 0.0_f64);
    for (k, &c) in ring.iter().enumerate() {
        let (u, w) = (corner(c), corner(ring[(k + 1) % ring.len()]));
        size = size.max((w - u).norm());
        let Some(side) = (w - u).cross(of.normal).try_normalize() else { continue };
        for &p in core.corners(face) {
            most = most.max((core.points[p as usize] - u).dot(side));
        }
    }
    most / size
}
