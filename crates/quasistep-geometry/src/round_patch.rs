//! Contact patches of cylinders on a plane, a face, or another cylinder's cap.
//!
//! Two flat features are in contact where their outlines, seen along the contact normal, overlap.
//! The points are the corners of that region: corners of a face inside a disc, rim points inside a
//! face, and crossings of the outlines. Each has the distance of the two features there, so that a
//! tilted cap keeps its far points.
//!
//! A rim has no corners, so [`RIM_POINTS`] points fixed to the body, and its lowest point,
//! represent it. Their feature numbers stay the same while the body turns. A body that rocks over
//! them tips at `cos(π / RIM_POINTS)` of the slope at which a disc would.

use crate::core::{Core, CoreFace};
use crate::distance::{ContactPoint, Distance, flip_point, single};
use crate::line_patch::{Line, along, facing_edge};
use crate::patch::{Clipper, SAME};
use crate::tube::{LEVEL, Tube, square};
use quasistep_math::Vec3;
use std::f64::consts::FRAC_1_SQRT_2;

/// Number of points that represent a rim, a multiple of 4. This is the least number with at least
/// 98 % of a disc's tipping slope.
const RIM_POINTS: usize = 16;
/// Cosine and sine of the directions of rim points in the first quadrant.
const QUARTER: [[f64; 2]; RIM_POINTS / 4] =
    [[1.0, 0.0], [COS_22_5, SIN_22_5], [FRAC_1_SQRT_2, FRAC_1_SQRT_2], [SIN_22_5, COS_22_5]];
const COS_22_5: f64 = 0.923_879_532_511_286_7;
const SIN_22_5: f64 = 0.382_683_432_365_089_8;
/// Largest number of points of a patch: a whole rim, or arcs of one between the sides of a face.
pub(crate) const MAX_POINTS: usize = 24;

/// Cosine or sine of the tilt (60°) above which a cap, or the side, has no patch.
const STEEP: f64 = 0.5;

// feature numbers: rim points fixed to the body come first, then the rim's lowest point, the point
// of two caps with the widest gap, line ends, face corners, and crossings of the rim; points of the
// upper rim have an offset
const LOWEST: u32 = RIM_POINTS as u32;
const UPPER_RIM: u32 = 0x20;
const OTHER_RIM: u32 = 0x40;
const CUT_LINE: u32 = 0x100;
const CORNER: u32 = 0x1000;
const CUT_RIM: u32 = 0x4000;

/// Cosine of the angle to the contact normal above which a face or cap forms a patch with another
/// part; sine of the angle for a cylinder's side.
const FLAT: f64 = 0.9;

/// Appends the patch of a cylinder A and a core B with distance `d`.
pub(crate) fn with_core(
    tube: &Tube,
    core: &Core,
    d: &Distance,
    margin: f64,
    clipper: &mut Clipper,
    out: &mut Vec<ContactPoint>,
) {
    let (start, n) = (out.len(), d.n_AB_W);
    if let (Some(k), cosine) = core.aligned(-n, -1.0)
        && cosine > FLAT
    {
        let id = (k as u32 & 0x7f) << 24;
        let flat = Flat::Face(core, &core.faces[k]);
        on_flat(tube, &flat, &mut Collector { n_AB_W: n, margin, id, out });
        if is_whole(d, start, out) {
            return clipper.reduce(n, start, MAX_POINTS, out);
        }
    }
    if let Some(edge) = facing_edge(core, -n) {
        if n.dot(tube.axis).abs() > FLAT {
            let id = 1 << 31 | (edge.id & 0xff) << 16;
            line_on_cap(tube, &edge, &mut Collector { n_AB_W: n, margin, id, out });
            if is_whole(d, start, out) {
                return clipper.reduce(n, start, MAX_POINTS, out);
            }
        } else if along(&facing_line(tube, n), &edge, d, margin, out) {
            return;
        }
    }
    out.push(single(d));
}

/// Appends the patch of two cylinders with distance `d`.
pub(crate) fn of_pair(
    a: &Tube,
    b: &Tube,
    d: &Distance,
    margin: f64,
    clipper: &mut Clipper,
    out: &mut Vec<ContactPoint>,
) {
    let (start, n) = (out.len(), d.n_AB_W);
    let (along_a, along_b) = (n.dot(a.axis), n.dot(b.axis));
    let c = &mut Collector { n_AB_W: n, margin, id: 0, out: &mut *out };
    match (along_a.abs() > FLAT, along_b.abs() > FLAT) {
        (true, true) => cap_on_cap(a, b, c),
        (true, false) if n.cross(b.axis).norm() > FLAT => {
            line_on_cap(a, &facing_line(b, -n), c);
        }
        (false, true) if n.cross(a.axis).norm() > FLAT => {
            c.n_AB_W = -n;
            line_on_cap(b, &facing_line(a, n), c);
            for point in &mut out[start..] {
                *point = flip_point(*point);
            }
        }
        (false, false) if along(&facing_line(a, n), &facing_line(b, -n), d, margin, out) => return,
        _ => {}
    }
    if is_whole(d, start, out) {
        clipper.reduce(n, start, MAX_POINTS, out);
    } else {
        out.push(single(d));
    }
}

/// True if the patch's deepest point has the signed distance; otherwise removes the patch.
fn is_whole(d: &Distance, start: usize, out: &mut Vec<ContactPoint>) -> bool {
    let deepest = out[start..].iter().map(|p| p.phi).fold(f64::INFINITY, f64::min);
    let whole = deepest <= d.phi + SAME;
    if !whole {
        out.truncate(start);
    }
    whole
}

/// The line on a cylinder's side that is farthest along `n`.
fn facing_line(tube: &Tube, n: Vec3) -> Line {
    let out = square(tube.axis, n).unwrap_or(tube.across) * tube.radius;
    Line {
        ends: [tube.cap(-1.0) + out, tube.cap(1.0) + out],
        radius: 0.0,
        round: tube.radius,
        id: 0,
    }
}

/// A flat feature of B.
#[derive(Clone, Copy)]
pub(crate) enum Flat<'a> {
    /// An infinite plane: a point of it (m), and its unit normal towards A.
    Plane(Vec3, Vec3),
    /// A face, with its core.
    Face(&'a Core, &'a CoreFace),
}

/// Collects the points of one patch, with the cylinder as shape A.
pub(crate) struct Collector<'a> {
    pub n_AB_W: Vec3,
    pub margin: f64,
    /// Offset added to each feature number.
    pub id: u32,
    pub out: &'a mut Vec<ContactPoint>,
}

impl Collector<'_> {
    fn push(&mut self, p_WCa: Vec3, phi: f64, id: u32) {
        if phi < self.margin {
            let n_AB_W = self.n_AB_W;
            let p_WCb = p_WCa + n_AB_W * phi;
            self.out.push(ContactPoint { phi, p_WCa, p_WCb, n_AB_W, feature: self.id | id });
        }
    }
}

impl Flat<'_> {
    /// Distance along `n` from `p` to the plane, in m.
    fn beyond(&self, p: Vec3, n: Vec3) -> f64 {
        let (height, normal) = match *self {
            Flat::Plane(origin, normal) => ((origin - p).dot(normal), normal),
            Flat::Face(_, face) => (face.offset - p.dot(face.normal), face.normal),
        };
        height / n.dot(normal)
    }

    /// True if a point of the plane is in the feature, or at most [`SAME`] outside it.
    fn holds(&self, p: Vec3) -> bool {
        let Flat::Face(core, face) = *self else { return true };
        sides(core, face).all(|(u, side, _)| (p - u).dot(side) <= SAME)
    }
}

/// Sides of a face: a corner, the unit normal out of the face in its plane, and the next corner.
fn sides<'a>(core: &'a Core, face: &'a CoreFace) -> impl Iterator<Item = (Vec3, Vec3, Vec3)> {
    let corners = core.corners(face);
    (0..corners.len()).map(move |k| {
        let u = core.points[corners[k] as usize];
        let w = core.points[corners[(k + 1) % corners.len()] as usize];
        (u, (w - u).cross(face.normal).try_normalize().unwrap_or(Vec3::ZERO), w)
    })
}

/// Appends the contact points of a cylinder on a plane or a face.
pub(crate) fn on_flat(tube: &Tube, flat: &Flat<'_>, c: &mut Collector<'_>) {
    let n = c.n_AB_W;
    let along = n.dot(tube.axis);
    let out = square(tube.axis, n);
    let sine = n.cross(tube.axis).norm();
    let upper = if along > 0.0 { UPPER_RIM } else { 0 };
    if along.abs() > STEEP {
        let cap = tube.cap(along);
        for (k, d) in rim_directions(tube).into_iter().enumerate() {
            on_rim(cap + d * tube.radius, upper + k as u32, flat, c);
        }
        if let Flat::Face(core, face) = *flat {
            corners_on_cap(tube, cap, core, face, c);
        }
    }
    let Some(out) = out.filter(|_| tube.radius * sine > LEVEL) else { return };
    let ends = [-1.0, 1.0].map(|sign| tube.cap(sign) + out * tube.radius);
    if sine > STEEP {
        line_on_flat(ends, flat, c);
    } else {
        on_rim(ends[usize::from(along > 0.0)], upper + LOWEST, flat, c);
    }
}

/// `Some(true)` if a feature number is the lowest point of a rim, `Some(false)` if it is a rim
/// point fixed to the cylinder, `None` for other features.
pub(crate) fn is_lowest_of_rim(feature: u32) -> Option<bool> {
    let (line, low) = (feature >> 31 == 1, feature & 0xff_ffff & !UPPER_RIM);
    (!line && low <= LOWEST).then_some(low == LOWEST)
}

/// Unit directions from the axis to the points that represent a rim.
fn rim_directions(tube: &Tube) -> [Vec3; RIM_POINTS] {
    let (x, y) = (tube.across, tube.axis.cross(tube.across));
    let quarters = [(x, y), (y, -x), (-x, -y), (-y, x)];
    std::array::from_fn(|k| {
        let (u, w) = quarters[k / QUARTER.len()];
        let [cos, sin] = QUARTER[k % QUARTER.len()];
        u * cos + w * sin
    })
}

fn on_rim(p_WCa: Vec3, id: u32, flat: &Flat<'_>, c: &mut Collector<'_>) {
    let phi = flat.beyond(p_WCa, c.n_AB_W);
    if flat.holds(p_WCa + c.n_AB_W * phi) {
        c.push(p_WCa, phi, id);
    }
}

/// Appends the ends of a line on the cylinder's side, clipped by the flat feature's sides.
fn line_on_flat(ends: [Vec3; 2], flat: &Flat<'_>, c: &mut Collector<'_>) {
    let on = ends.map(|p| p + c.n_AB_W * flat.beyond(p, c.n_AB_W));
    let mut cuts = [(0.0, LOWEST), (1.0, UPPER_RIM + LOWEST)];
    if let Flat::Face(core, face) = *flat {
        for (k, (u, side, _)) in sides(core, face).enumerate() {
            let [h0, h1] = on.map(|p| (p - u).dot(side));
            if h0 > SAME && h1 > SAME {
                return;
            }
            let (at, id) = (h0 / (h0 - h1), CUT_LINE + 2 * k as u32);
            if h0 > SAME && at > cuts[0].0 {
                cuts[0] = (at, id);
            } else if h1 > SAME && at < cuts[1].0 {
                cuts[1] = (at, id + 1);
            }
        }
    }
    if cuts[0].0 > cuts[1].0 {
        return;
    }
    for (at, id) in cuts {
        let p = ends[0] + (ends[1] - ends[0]) * at;
        c.push(p, flat.beyond(p, c.n_AB_W), id);
    }
}

/// Appends corners of a face over a cap, and crossings of the face's sides with the rim.
fn corners_on_cap(tube: &Tube, cap: Vec3, core: &Core, face: &CoreFace, c: &mut Collector<'_>) {
    let n = c.n_AB_W;
    let r2 = tube.radius * tube.radius;
    // project onto the cap's plane along the contact normal
    let shadow = |v: Vec3| v + n * ((cap - v).dot(tube.axis) / n.dot(tube.axis));
    for (k, (u, _, w)) in sides(core, face).enumerate() {
        let (p, q) = (shadow(u), shadow(w));
        if (p - cap).norm() <= tube.radius + SAME {
            c.push(p, (u - p).dot(n), CORNER + k as u32);
        }
        // solve |p + t d − cap| = r for t
        let (d, r) = (q - p, p - cap);
        let (a, b) = (d.norm_squared(), d.dot(r));
        let root = b * b - a * (r.norm_squared() - r2);
        if !(root > 0.0) {
            continue;
        }
        for (i, sign) in [-1.0, 1.0].into_iter().enumerate() {
            let t = (sign * root.sqrt() - b) / a;
            if t > 0.0 && t < 1.0 {
                let on_cap = p + d * t;
                let phi = (u + (w - u) * t - on_cap).dot(n);
                c.push(on_cap, phi, CUT_RIM + 2 * k as u32 + i as u32);
            }
        }
    }
}

/// Appends the contact points of two caps.
fn cap_on_cap(a: &Tube, b: &Tube, c: &mut Collector<'_>) {
    let n = c.n_AB_W;
    let (cap_a, cap_b) = (a.cap(n.dot(a.axis)), b.cap(-n.dot(b.axis)));
    let to_plane = |p: Vec3, cap: Vec3, axis: Vec3| p + n * ((cap - p).dot(axis) / n.dot(axis));
    let on_a = |p: Vec3| to_plane(p, cap_a, a.axis);
    let on_b = |p: Vec3| to_plane(p, cap_b, b.axis);
    let within = |p: Vec3, cap: Vec3, radius: f64| (p - cap).norm() <= radius + SAME;
    let mut offer = |pa: Vec3, pb: Vec3, id: u32| c.push(pa, (pb - pa).dot(n), id);
    // direction in which the gap opens fastest, if it opens beyond rounding
    let slope = b.axis * n.dot(b.axis).signum() - a.axis * n.dot(a.axis).signum();
    let slope = slope - n * slope.dot(n);
    let tilted = slope.norm() * a.radius.max(b.radius) > LEVEL;
    let apart = (cap_b - cap_a) - n * (cap_b - cap_a).dot(n);
    let a_inside = apart.norm() + a.radius <= b.radius + SAME;
    if !a_inside {
        for (k, d) in rim_directions(b).into_iter().enumerate() {
            let pb = cap_b + d * b.radius;
            if within(on_a(pb), cap_a, a.radius) {
                offer(on_a(pb), pb, OTHER_RIM + k as u32);
            }
        }
    }
    let b_inside = !a_inside && apart.norm() + b.radius <= a.radius + SAME;
    if !b_inside {
        for (k, d) in rim_directions(a).into_iter().enumerate() {
            let pa = cap_a + d * a.radius;
            if within(on_b(pa), cap_b, b.radius) {
                offer(pa, on_b(pa), k as u32);
            }
        }
    }
    if tilted {
        for sign in [1.0, -1.0] {
            if let Some(d) = square(a.axis, slope * sign) {
                let pa = cap_a + d * a.radius;
                if within(on_b(pa), cap_b, b.radius) {
                    offer(pa, on_b(pa), LOWEST + u32::from(sign > 0.0));
                }
            }
            if let Some(d) = square(b.axis, slope * sign) {
                let pb = cap_b + d * b.radius;
                if within(on_a(pb), cap_a, a.radius) {
                    offer(on_a(pb), pb, OTHER_RIM + LOWEST + u32::from(sign > 0.0));
                }
            }
        }
    }
    if !a_inside && !b_inside {
        // crossings of the two rims
        let length = apart.norm();
        let along = (length * length + a.radius * a.radius - b.radius * b.radius) / (2.0 * length);
        let half = (a.radius * a.radius - along * along).max(0.0).sqrt();
        if let Some(u) = square(a.axis, apart) {
            let w = a.axis.cross(u);
            for (i, sign) in [-1.0, 1.0].into_iter().enumerate() {
                let pa = cap_a + u * along + w * (sign * half);
                offer(pa, on_b(pa), CUT_RIM + i as u32);
            }
        }
    }
}

/// Appends the ends of a line of B on a cap of A.
fn line_on_cap(tube: &Tube, line: &Line, c: &mut Collector<'_>) {
    let Line { ends: line, radius, .. } = *line;
    let n = c.n_AB_W;
    let cap = tube.cap(n.dot(tube.axis));
    let shadow = line.map(|v| v + n * ((cap - v).dot(tube.axis) / n.dot(tube.axis)));
    let (d, r) = (shadow[1] - shadow[0], shadow[0] - cap);
    let (a, b) = (d.norm_squared(), d.dot(r));
    let root = b * b - a * (r.norm_squared() - tube.radius * tube.radius);
    if !(root > 0.0 && a > 0.0) {
        return;
    }
    let cuts = [-1.0, 1.0].map(|sign| (sign * root.sqrt() - b) / a);
    // a crossing that coincides with an end up to rounding is the end
    let slack = SAME / a.sqrt();
    let first = if cuts[0] > slack { (cuts[0], CUT_RIM) } else { (0.0, LOWEST) };
    let last =
        if cuts[1] < 1.0 - slack { (cuts[1], CUT_RIM + 1) } else { (1.0, UPPER_RIM + LOWEST) };
    if first.0 > last.0 {
        return;
    }
    for (t, id) in [first, last] {
        let pa = shadow[0] + d * t;
        let pb = line[0] + (line[1] - line[0]) * t;
        c.push(pa, (pb - pa).dot(n) - radius, id);
    }
}
