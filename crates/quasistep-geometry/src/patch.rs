//! Contact patches of flat features: the incident face clipped by the sides of the reference face.

use crate::core::Core;
use crate::distance::ContactPoint;
use quasistep_math::Vec3;

/// Largest number of points of a patch: two rectangles have at most eight common corners.
pub(crate) const MAX_POINTS: usize = 8;
/// Cosine of the angle to the contact normal above which a face counts as perpendicular to the
/// normal.
pub(crate) const FLAT: f64 = 1.0 - 1e-10;
/// Margin by which a face of B must be better aligned with the normal than A's face to become the
/// reference.
const PREFER_A: f64 = 1e-6;
/// Points nearer than this coincide, and corners that stand out by less lie on an edge, in m.
pub(crate) const SAME: f64 = 1e-9;
/// Cosine of the angle to the contact normal above which two faces form a patch although neither is
/// perpendicular to the normal: 5°. This happens where a tilted box's side rests on an edge.
const NEARLY: f64 = 0.996;

/// A corner of the polygon being clipped, with the edge that follows it.
#[derive(Clone, Copy, Debug)]
struct Corner {
    p: Vec3,
    /// Feature number of the corner.
    id: u32,
    /// Feature number of the edge to the next corner.
    edge: u32,
}

/// Scratch memory for clipping.
#[derive(Debug, Default)]
pub(crate) struct Clipper {
    polygon: Vec<Corner>,
    next: Vec<Corner>,
    order: Vec<usize>,
    ring: Vec<usize>,
    /// Coordinates of the points in the contact plane, in m.
    places: Vec<[f64; 2]>,
    kept: Vec<ContactPoint>,
    /// For each point, the square of its distance from those kept, in m², and what that counts for
    /// at its height.
    apart: Vec<(f64, f64)>,
    /// Corners of a hull, and marks of them.
    pub corners: Vec<u32>,
    pub marks: Vec<u64>,
}

impl Clipper {
    /// Appends the patch of two cores with contact normal `n_AB_W` and signed distance `phi` (m) of
    /// the shapes. Returns false if no flat features meet, so that a single point is enough.
    pub fn patch(
        &mut self,
        a: &Core,
        b: &Core,
        n_AB_W: Vec3,
        phi: f64,
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) -> bool {
        // only faces that are flat enough by themselves matter, and mostly there are none
        let (mut face_a, mut along_a) = a.aligned(n_AB_W, NEARLY);
        let least = if flatness(a, along_a, n_AB_W) < NEARLY { FLAT } else { NEARLY };
        let (mut face_b, mut along_b) = b.aligned(-n_AB_W, least);
        let exact = along_a.max(along_b) >= FLAT;
        if exact && face_a.is_none() {
            (face_a, along_a) = a.aligned(n_AB_W, -1.0);
        }
        if exact && face_b.is_none() {
            (face_b, along_b) = b.aligned(-n_AB_W, -1.0);
        }
        if !exact && flatness(a, along_a, n_AB_W).min(flatness(b, along_b, n_AB_W)) < NEARLY {
            return false;
        }
        let a_is_reference = (along_a >= FLAT || !exact) && along_a >= along_b - PREFER_A;
        let (reference, face, incident, other) =
            if a_is_reference { (a, face_a, b, face_b) } else { (b, face_b, a, face_a) };
        let Some(face) = face else { return false };
        let face = reference.face(face as u32);
        let normal = face.normal;
        // heights along the reference face's normal; if `exact` it equals the contact normal up to
        // rounding
        let up = match (exact, a_is_reference) {
            (true, _) => normal,
            (false, true) => n_AB_W,
            (false, false) => -n_AB_W,
        };
        // an edge level on a face that it overhangs: the contact normal is still the face's
        let n_AB_W = match (exact && along_a.min(along_b) < FLAT, a_is_reference) {
            (true, true) => normal,
            (true, false) => -normal,
            (false, _) => n_AB_W,
        };
        let per_height = if exact { 1.0 } else { 1.0 / up.dot(normal) };
        self.start_polygon(incident, other, -normal);
        let corners = reference.corners(&face);
        for k in 0..corners.len() {
            let u = reference.point(corners[k]);
            let w = reference.point(corners[(k + 1) % corners.len()]);
            let Some(side) = (w - u).cross(up).try_normalize() else { continue };
            self.clip(side, u.dot(side), k as u32);
        }
        let start = out.len();
        let radii = a.radius + b.radius;
        let offset = face.offset;
        let face_id = (u32::from(a_is_reference) << 31) | ((face.index & 0x7f) << 24);
        let deepest = self
            .polygon
            .iter()
            .map(|c| (c.p.dot(normal) - offset) * per_height - radii)
            .fold(f64::INFINITY, f64::min);
        // clipping removed a corner nearer than all others: the patch does not contain the contact
        if deepest > phi + SAME {
            return false;
        }
        for corner in &self.polygon {
            let height = (corner.p.dot(normal) - offset) * per_height;
            let phi = height - radii;
            if phi >= margin {
                continue;
            }
            let on_face = corner.p - up * height;
            let (pa, pb) = if a_is_reference { (on_face, corner.p) } else { (corner.p, on_face) };
            out.push(ContactPoint {
                phi,
                p_WCa: pa + n_AB_W * a.radius,
                p_WCb: pb - n_AB_W * b.radius,
                n_AB_W,
                feature: face_id | corner.id,
            });
        }
        self.reduce(n_AB_W, start, MAX_POINTS, out);
        out.len() > start
    }

    /// Starts the polygon with the incident face, or with the segment or corner if there is none.
    fn start_polygon(&mut self, incident: &Core, face: Option<usize>, towards: Vec3) {
        self.polygon.clear();
        let face = face.map(|k| incident.face(k as u32));
        // a face seen nearly edge on still contributes its near corners
        if let Some(face) = face.filter(|f| f.normal.dot(towards) > 0.0) {
            let corners = incident.corners(&face);
            for (k, &c) in corners.iter().enumerate() {
                self.polygon.push(Corner { p: incident.point(c), id: c, edge: k as u32 });
            }
        } else {
            for (k, p) in incident.points.iter().enumerate() {
                self.polygon.push(Corner { p: *p, id: k as u32, edge: 0 });
            }
        }
    }

    /// Keeps the part of the polygon with `side · p ≤ offset`.
    fn clip(&mut self, side: Vec3, offset: f64, side_id: u32) {
        let n = self.polygon.len();
        // a segment has one edge, a polygon as many as corners
        let n_edges = if n == 2 { 1 } else { n };
        self.next.clear();
        for k in 0..n {
            let here = self.polygon[k];
            let h = here.p.dot(side) - offset;
            if h <= SAME {
                self.next.push(here);
            }
            if k >= n_edges || n == 1 {
                continue;
            }
            let there = self.polygon[(k + 1) % n];
            let g = there.p.dot(side) - offset;
            if (h <= SAME) != (g <= SAME) {
                // a corner that is kept although it is outside, by rounding, is its own crossing
                let p = here.p + (there.p - here.p) * (h / (h - g)).clamp(0.0, 1.0);
                // the new corner is numbered by the edge and the cutting side; where the polygon
                // leaves, its next edge is the side
                let id = 0x10000 | (here.edge & 0x3ff) << 6 | (side_id & 0x3f);
                let leaves = h <= SAME;
                let edge = if leaves && n_edges > 1 { 0x200 | side_id } else { here.edge };
                self.next.push(Corner { p, id, edge });
            }
        }
        std::mem::swap(&mut self.polygon, &mut self.next);
    }

    /// Removes duplicate points, from index `start` on, and keeps at most `most` others: the
    /// deepest one, then those farthest from the points kept. A flat patch keeps only corners of
    /// its convex hull. Under a rounded body low inner points carry load too, so there higher
    /// points count less.
    pub fn reduce(&mut self, n_AB_W: Vec3, start: usize, most: usize, out: &mut Vec<ContactPoint>) {
        let near = |p: &ContactPoint, q: &ContactPoint| (p.p_WCb - q.p_WCb).max_abs() <= SAME;
        self.reduce_by(near, n_AB_W, (start, most), out);
    }

    /// As [`reduce`](Self::reduce), for the corners of a hull, which are distinct.
    pub fn reduce_corners(&mut self, n_AB_W: Vec3, start: usize, out: &mut Vec<ContactPoint>) {
        self.reduce_by(|_, _| false, n_AB_W, (start, MAX_POINTS), out);
    }

    /// Keeps of many distinct points, from index `start` on, the deepest one, then those farthest
    /// from the points kept; see [`reduce`](Self::reduce).
    pub fn spread_out(&mut self, start: usize, out: &mut Vec<ContactPoint>) {
        self.kept.clear();
        self.kept.extend(out.drain(start..));
        if self.kept.len() > MAX_POINTS {
            self.keep_farthest(MAX_POINTS);
        }
        out.extend_from_slice(&self.kept);
    }

    /// Of points whose distances vary linearly, from index `start` on, keeps the corners of their
    /// convex hull in the contact plane.
    pub fn reduce_flat(&mut self, n_AB_W: Vec3, start: usize, out: &mut Vec<ContactPoint>) {
        self.kept.clear();
        if out.len() > start + 1 {
            // askew to axes: many points of a grid have one coordinate, up to rounding
            let (u, w) = (n_AB_W.any_orthogonal(), n_AB_W.cross(n_AB_W.any_orthogonal()));
            self.find_ring(n_AB_W, u * 0.8 + w * 0.6, &out[start..]);
            self.ring.sort_unstable();
            self.ring.dedup();
            self.kept.extend(self.ring.iter().map(|k| out[start + k]));
            // one point twice: of a common edge
            if let [one, other] = self.kept[..]
                && (one.p_WCb - other.p_WCb).max_abs() <= SAME
            {
                self.kept.pop();
            }
            out.truncate(start);
            out.extend_from_slice(&self.kept);
        }
    }

    fn reduce_by(
        &mut self,
        near: impl Fn(&ContactPoint, &ContactPoint) -> bool,
        n_AB_W: Vec3,
        (start, most): (usize, usize),
        out: &mut Vec<ContactPoint>,
    ) {
        if out.len() - start <= 1 {
            return;
        }
        let flat = is_flat(n_AB_W, &out[start..]);
        if flat {
            self.find_ring(n_AB_W, n_AB_W.any_orthogonal(), &out[start..]);
            let points = &out[start..];
            let deepest = (0..points.len())
                .fold(0, |best, k| if points[k].phi < points[best].phi - SAME { k } else { best });
            self.ring.push(deepest);
            self.ring.sort_unstable();
        }
        self.kept.clear();
        for (k, point) in out[start..].iter().enumerate() {
            let wanted = !flat || self.ring.binary_search(&k).is_ok();
            if wanted && !self.kept.iter().any(|other| near(other, point)) {
                self.kept.push(*point);
            }
        }
        if self.kept.len() > most {
            self.keep_farthest(most);
        }
        out.truncate(start);
        out.extend_from_slice(&self.kept);
    }

    /// Fills `ring` with the corners of the points' convex hull in the contact plane, in any order.
    /// Points are taken in their order along `u`.
    fn find_ring(&mut self, n: Vec3, u: Vec3, points: &[ContactPoint]) {
        let w = n.cross(u);
        let Self { order, ring, places, .. } = self;
        places.clear();
        places.extend(points.iter().map(|p| [p.p_WCb.dot(u), p.p_WCb.dot(w)]));
        order.clear();
        order.extend(0..points.len());
        order.sort_unstable_by(|&i, &j| {
            let (a, b) = (places[i], places[j]);
            a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])).then(i.cmp(&j))
        });
        // true if the middle point lies on the outer side of the line through the other two, beyond
        // rounding
        let stands_out = |i: usize, j: usize, k: usize| {
            let [a, b, c] = [i, j, k].map(|k| places[k]);
            let [dx, dy] = [c[0] - a[0], c[1] - a[1]];
            let [ex, ey] = [b[0] - a[0], b[1] - a[1]];
            let length = (dx * dx + dy * dy).sqrt();
            if length <= SAME {
                return ex * ex + ey * ey > SAME * SAME;
            }
            dy * ex - dx * ey > SAME * length
        };
        ring.clear();
        for pass in 0..2 {
            let (floor, m) = (ring.len(), order.len());
            for step in 0..m {
                let k = order[if pass == 0 { step } else { m - 1 - step }];
                while let [.., i, j] = ring[floor..]
                    && !stands_out(i, j, k)
                {
                    ring.pop();
                }
                ring.push(k);
            }
            // the last point of this half is the first of the other half
            ring.pop();
        }
    }

    fn keep_farthest(&mut self, most: usize) {
        let deepest = (0..self.kept.len()).fold(0, |best, k| {
            if self.kept[k].phi < self.kept[best].phi - SAME { k } else { best }
        });
        self.kept.swap(0, deepest);
        let low = self.kept[0].phi;
        let high = self.kept.iter().map(|p| p.phi).fold(low, f64::max);
        let Self { kept, apart, .. } = self;
        // if all heights are equal up to rounding they are ignored
        let height = |phi: f64| if high - low > SAME { (phi - low) / (high - low) } else { 0.0 };
        apart.clear();
        apart.extend(kept.iter().map(|p| (f64::INFINITY, (1.0 - height(p.phi)).powi(2))));
        for have in 1..most {
            let last = kept[have - 1].p_WCb;
            for (apart, point) in apart[have..].iter_mut().zip(&kept[have..]) {
                apart.0 = apart.0.min((last - point.p_WCb).norm_squared());
            }
            let spread = |k: usize| apart[k].0 * apart[k].1;
            let next = (have..kept.len()).fold(have, |best, k| {
                if spread(k) > spread(best) * (1.0 + 1e-9) { k } else { best }
            });
            kept.swap(have, next);
            apart.swap(have, next);
        }
        self.kept.truncate(most);
    }
}

/// True if the distances of a patch's points vary linearly, as between two planes.
pub(crate) fn is_flat(n: Vec3, points: &[ContactPoint]) -> bool {
    // fit a plane through the first point and the two that span the largest triangle
    let first = points[0];
    let place = |p: &ContactPoint| {
        let r = p.p_WCb - first.p_WCb;
        r - n * r.dot(n)
    };
    let farthest = |measure: &dyn Fn(&ContactPoint) -> f64| {
        points.iter().fold(first, |far, p| if measure(p) > measure(&far) { *p } else { far })
    };
    let second = farthest(&|p| place(p).norm_squared());
    let Some(u) = place(&second).try_normalize() else { return true };
    let w = n.cross(u);
    let third = farthest(&|p| place(p).dot(w).abs());
    let slope_u = (second.phi - first.phi) / place(&second).dot(u);
    let across = place(&third).dot(w);
    let rest = third.phi - first.phi - slope_u * place(&third).dot(u);
    let slope_w = if across.abs() > SAME { rest / across } else { 0.0 };
    points.iter().all(|p| {
        let r = place(p);
        (first.phi + slope_u * r.dot(u) + slope_w * r.dot(w) - p.phi).abs() <= SAME
    })
}

/// Cosine of the angle between a core's flat feature and the plane across `n`. The feature is the
/// best face (with cosine `along`), or the segment.
fn flatness(core: &Core, along: f64, n: Vec3) -> f64 {
    match core.points[..] {
        [p, q] => (q - p).try_normalize().map_or(along, |u| u.cross(n).norm()),
        _ => along,
    }
}
