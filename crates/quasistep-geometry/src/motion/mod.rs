//! Derivatives of contact points as one shape moves relative to the other.
//!
//! A is held fixed. B rotates by `w` (rad) about `p_WCb` and translates by `v` (m), both small and
//! in the world frame:
//!
//! ```text
//! δn = n.turn w + n.shift v      (likewise for the points on A and on B)
//! δphi = phi_turn · w + phi_shift · v
//! ```
//!
//! A common motion of A and B carries all points along, so this relative motion determines
//! everything.

mod differences;
mod feature;
mod find;
mod line;
pub(crate) mod map;
mod patch;

use crate::distance::{ContactPoint, SINGLE, flip_point};
use crate::narrow_phase::NarrowPhase;
use crate::pair_order::is_exchanged;
use crate::pieces::Pieces;
use crate::round_patch::is_lowest_of_rim;
use crate::shape::{Pair, Shape};
use map::ContactMotion;
use quasistep_math::{Pose, Vec3};

impl NarrowPhase {
    /// Appends the derivatives of each of `points`, which must be the patch of A and B at these
    /// poses and this margin.
    #[expect(
        clippy::too_many_arguments,
        reason = "shapes and poses as in all functions of this type"
    )]
    pub fn contact_motions(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        margin: f64,
        points: &[ContactPoint],
        out: &mut Vec<ContactMotion>,
    ) {
        let start = out.len();
        if a.is_ground_to(b) || b.is_ground_to(a) {
            self.motions_on_ground([a, b], [X_WA, X_WB], margin, points, out);
        } else if is_exchanged(a, X_WA, b, X_WB) {
            let flipped: Vec<ContactPoint> = points.iter().map(|p| flip_point(*p)).collect();
            self.motions_in_order([b, a], [X_WB, X_WA], margin, &flipped, out);
            for (motion, point) in out[start..].iter_mut().zip(points) {
                *motion = motion.exchanged(point);
            }
        } else {
            self.motions_in_order([a, b], [X_WA, X_WB], margin, points, out);
        }
    }

    /// Derivatives of the patch of two shapes, one of them of many pieces and the other no cloud; see
    /// [`contact_motions`](Self::contact_motions).
    fn motions_on_ground(
        &mut self,
        [a, b]: [&Shape; 2],
        [X_WA, X_WB]: [&Pose; 2],
        margin: f64,
        points: &[ContactPoint],
        out: &mut Vec<ContactMotion>,
    ) {
        let flipped = !a.has_pieces();
        let (ground, X_WG, other, X_WO) =
            if flipped { (b, X_WB, a, X_WA) } else { (a, X_WA, b, X_WB) };
        match ground {
            Shape::HeightField(field) => {
                let pair = Pair { a: &**field, X_WA: X_WG, b: other, X_WB: X_WO };
                self.ground_motions(&pair, flipped, margin, points, out);
            }
            Shape::Sheet(sheet) => {
                let pair = Pair { a: &**sheet, X_WA: X_WG, b: other, X_WB: X_WO };
                self.ground_motions(&pair, flipped, margin, points, out);
            }
            _ => {}
        }
    }

    /// Derivatives of the patch of two shapes in canonical order; see
    /// [`contact_motions`](Self::contact_motions).
    fn motions_in_order(
        &mut self,
        shapes: [&Shape; 2],
        poses: [&Pose; 2],
        margin: f64,
        points: &[ContactPoint],
        out: &mut Vec<ContactMotion>,
    ) {
        let start = out.len();
        let ([a, b], [X_WA, X_WB]) = (shapes, poses);
        self.a.fill(a, X_WA);
        self.b.fill(b, X_WB);
        for point in points {
            let closed = self.motion_of(shapes, poses, point);
            let Some(motion) = closed else {
                out.truncate(start);
                differences::contact_motions(self, shapes, poses, margin, points, out);
                return;
            };
            let kink = motion.kink || is_between_features(shapes, poses, point);
            out.push(ContactMotion { kink, ..motion });
        }
    }

    /// Appends the derivatives of each of `points`, which
    /// [`contact_patch_along`](Self::contact_patch_along) found at these poses. If the normal is
    /// not that of a face it depends on the allowed directions too; such points get no derivative
    /// and are marked as kinks.
    pub fn contact_motions_along(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        points: &[ContactPoint],
        out: &mut Vec<ContactMotion>,
    ) {
        if is_exchanged(a, X_WA, b, X_WB) {
            let start = out.len();
            let flipped: Vec<ContactPoint> = points.iter().map(|p| flip_point(*p)).collect();
            self.contact_motions_along(b, X_WB, a, X_WA, &flipped, out);
            for (motion, point) in out[start..].iter_mut().zip(points) {
                *motion = motion.exchanged(point);
            }
            return;
        }
        self.a.fill(a, X_WA);
        self.b.fill(b, X_WB);
        for point in points {
            let of_face = find::feature(a, X_WA, point.p_WCa, point.n_AB_W).is_plane()
                || find::feature(b, X_WB, point.p_WCb, -point.n_AB_W).is_plane();
            let motion = of_face.then(|| self.motion_of([a, b], [X_WA, X_WB], point)).flatten();
            out.push(motion.unwrap_or(ContactMotion { kink: true, ..ContactMotion::default() }));
        }
    }

    /// True if A or B is a cloud and a motion of 1e-8 m or less may change which of its points are
    /// selected. Contact forces may then jump.
    pub fn choice_is_tied(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        margin: f64,
    ) -> bool {
        let any = [a, b].iter().any(|shape| matches!(shape, Shape::Cloud(_)));
        any && self.clouds.choice_is_tied(a, X_WA, b, X_WB, margin)
    }

    /// Closed-form derivatives, if known; the cores must be in memory.
    fn motion_of(
        &mut self,
        [a, b]: [&Shape; 2],
        [X_WA, X_WB]: [&Pose; 2],
        point: &ContactPoint,
    ) -> Option<ContactMotion> {
        let single = |pa: Vec3, pb: Vec3, n: Vec3| {
            [find::feature(a, X_WA, pa, n), find::feature(b, X_WB, pb, -n)]
        };
        let [on_a, on_b] = single(point.p_WCa, point.p_WCb, point.n_AB_W);
        if is_single(a, b, point) {
            return Some(feature::motion(&on_a, &on_b, point));
        }
        match (a, b) {
            (Shape::Cylinder { radius, half_length }, _) if on_b.is_plane() => {
                let lowest = is_lowest_of_rim(point.feature)?;
                let rim = find::rim_point(X_WA, *radius, *half_length, point.p_WCa, lowest);
                return Some(feature::motion(&rim, &on_b, point));
            }
            (_, Shape::Cylinder { radius, half_length }) if on_a.is_plane() => {
                let lowest = is_lowest_of_rim(point.feature)?;
                let rim = find::rim_point(X_WB, *radius, *half_length, point.p_WCb, lowest);
                return Some(feature::motion(&on_a, &rim, point));
            }
            _ => {}
        }
        if self.a.points.is_empty() || self.b.points.is_empty() {
            return None;
        }
        let n = point.n_AB_W;
        let owner = patch::owner(&self.a, &self.b, n);
        match owner {
            patch::Owner::A => self.flat_motion(point, owner, |_, _| Vec3::ZERO),
            patch::Owner::B => self.flat_motion(point, owner, |w, _| w.cross(n)),
            patch::Owner::Both => {
                let motion = self.flat_motion(point, owner, |_, _| Vec3::ZERO)?;
                Some(ContactMotion { on_edge: true, ..motion })
            }
            patch::Owner::Other => {
                // the normal is that of the nearest features, which belong to another point of the
                // patch
                let d = self.signed_distance(a, X_WA, b, X_WB);
                // which may have placed large hulls without their lists
                self.a.fill(a, X_WA);
                self.b.fill(b, X_WB);
                let nearest = crate::distance::single(&d);
                let [on_a, on_b] = single(d.p_WCa, d.p_WCb, d.n_AB_W);
                let whole = feature::motion(&on_a, &on_b, &nearest);
                if whole.kink || (d.n_AB_W - n).max_abs() > 1e-9 {
                    return None;
                }
                let shift = point.p_WCb - nearest.p_WCb;
                self.flat_motion(point, owner, |w, v| {
                    // a rotation about this point also translates the nearest point
                    whole.n.of(w, v - w.cross(shift))
                })
            }
        }
    }

    /// Derivatives of a patch corner or of a line's end, given the normal's derivative.
    fn flat_motion(
        &self,
        point: &ContactPoint,
        owner: patch::Owner,
        d_normal: impl Fn(Vec3, Vec3) -> Vec3,
    ) -> Option<ContactMotion> {
        let of_lines = owner == patch::Owner::Other;
        patch::motion(&self.a, &self.b, point, &d_normal)
            .or_else(|| line::motion(&self.a, &self.b, point, of_lines, &d_normal))
    }
}

/// Derivatives of a point of a shape of many pieces and another shape, from the features at its
/// witness points alone.
pub(crate) fn motion_alone<G: Pieces>(
    pair: &Pair<'_, G, Shape>,
    point: &ContactPoint,
) -> ContactMotion {
    let &Pair { a: field, X_WA, b, X_WB } = pair;
    let on_a = find::of_ground(field, X_WA, point.p_WCa, point.n_AB_W);
    let on_b = find::feature(b, X_WB, point.p_WCb, -point.n_AB_W);
    feature::motion(&on_a, &on_b, point)
}

/// True for a single point that an arbitrarily small motion moves to another feature of a shape.
/// Always false if a shape is a half-space: then every corner is a contact point that moves with
/// its shape.
fn is_between_features(
    [a, b]: [&Shape; 2],
    [X_WA, X_WB]: [&Pose; 2],
    point: &ContactPoint,
) -> bool {
    let n = point.n_AB_W;
    is_single(a, b, point)
        && ![a, b].iter().any(|shape| matches!(shape, Shape::HalfSpace))
        && (find::is_between_features(a, X_WA, point.p_WCa, n)
            || find::is_between_features(b, X_WB, point.p_WCb, -n))
}

/// True for a point whose normal follows from the features at its own witness points.
fn is_single(a: &Shape, b: &Shape, point: &ContactPoint) -> bool {
    let any = |is: fn(&Shape) -> bool| is(a) || is(b);
    let has_normals = |s: &Shape| matches!(s, Shape::Cloud(cloud) if cloud.normals().is_some());
    match (a, b) {
        // with normals the surface is a plate of the other cloud
        (Shape::Cloud(_), Shape::Cloud(_)) => !has_normals(a) && !has_normals(b),
        (Shape::Cloud(_), _) | (_, Shape::Cloud(_)) => true,
        _ => {
            point.feature == SINGLE
                || any(|s| matches!(s, Shape::Sphere { .. } | Shape::Ellipsoid { .. }))
                || any(|s| matches!(s, Shape::HalfSpace))
                    && !any(|s| matches!(s, Shape::Cylinder { .. }))
        }
    }
}
