//! Signed distance and contact patches of one pair of shapes.

use crate::closest::{self, closest_points, crossing, foot};
use crate::cloud::CloudMemory;
use crate::core::Core;
use crate::ellipsoid::Ellipsoid;
use crate::gjk::{self, Stand};
use crate::line_patch::along_edges;
use crate::patch::Clipper;
use crate::separating_axis::{self, Axis, Features, best_axis};
use crate::shape::Shape;
use crate::tube::Tube;
use crate::{cylinder, cylinder_pair, ellipsoid_pair, half_space, hull_pair, round_patch};
use quasistep_math::{Pose, Vec3};

/// How far two shapes are apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// Signed distance, in m: > 0 apart, < 0 overlapping.
    pub phi: f64,
    /// Witness point on A, world frame, in m.
    pub p_WCa: Vec3,
    /// Witness point on B, world frame, in m.
    pub p_WCb: Vec3,
    /// Unit normal from A into B, world frame.
    pub n_AB_W: Vec3,
}

impl Distance {
    /// From the distance of two cores to that of the shapes around them.
    fn with_radii(self, radius_a: f64, radius_b: f64) -> Self {
        Self {
            phi: self.phi - radius_a - radius_b,
            p_WCa: self.p_WCa + self.n_AB_W * radius_a,
            p_WCb: self.p_WCb - self.n_AB_W * radius_b,
            n_AB_W: self.n_AB_W,
        }
    }
}

/// One point of a contact patch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPoint {
    /// Signed distance at this point along the patch's normal, in m.
    pub phi: f64,
    /// Point on A, world frame, in m.
    pub p_WCa: Vec3,
    /// Point on B, world frame, in m.
    pub p_WCb: Vec3,
    /// Unit normal from A into B, world frame; the same for all points of a patch of flat features, each
    /// point's own for a cloud.
    pub n_AB_W: Vec3,
    /// Identity of the pair of features, the same while they stay in contact, unique in its patch. For a
    /// cloud the index of the point; for two clouds that of A's point, or 2³¹ more than that of B's.
    pub feature: u32,
}

/// Feature of a patch that is a single point.
pub(crate) const SINGLE: u32 = u32::MAX;

/// Signed distance of A and B, apart or overlapping.
///
/// Two half-spaces are never near: `phi` is infinite.
pub fn signed_distance(a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose) -> Distance {
    NarrowPhase::new().signed_distance(a, X_WA, b, X_WB)
}

/// Appends the points where A and B are nearer than `margin`: see [`NarrowPhase::contact_patch`].
pub fn contact_patch(
    a: &Shape,
    X_WA: &Pose,
    b: &Shape,
    X_WB: &Pose,
    margin: f64,
    out: &mut Vec<ContactPoint>,
) {
    NarrowPhase::new().contact_patch(a, X_WA, b, X_WB, margin, out);
}

/// Reusable memory for queries; holds no meaning.
#[derive(Debug, Default)]
pub struct NarrowPhase {
    pub(crate) a: Core,
    pub(crate) b: Core,
    searches: Searches,
    clipper: Clipper,
    pub(crate) clouds: CloudMemory,
}

/// Memory of the searches for an axis and for closest points.
#[derive(Debug, Default)]
pub(crate) struct Searches {
    axis: separating_axis::Memory,
    pub closest: closest::Memory,
    pub hulls: hull_pair::Memory,
}

impl NarrowPhase {
    /// No memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// [`Shape::support`] in memory that is there: that of a cloud takes some.
    pub fn support(&mut self, shape: &Shape, d: Vec3) -> Option<Vec3> {
        match shape {
            Shape::Cloud(cloud) => Some(cloud.support_with(d, &mut self.clouds)),
            _ => shape.support(d),
        }
    }

    /// [`signed_distance`](Self::signed_distance) of two shapes that stand in their order.
    pub(crate) fn distance_in_order(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
    ) -> Distance {
        match (a, b) {
            (Shape::Cloud(_), _) | (_, Shape::Cloud(_)) => self.clouds.distance(a, X_WA, b, X_WB),
            (Shape::HalfSpace, Shape::HalfSpace) => Distance {
                phi: f64::INFINITY,
                p_WCa: X_WA.translation,
                p_WCb: X_WB.translation,
                n_AB_W: X_WA.rotation.rotate(Vec3::Z),
            },
            (Shape::HalfSpace, _) => half_space::distance(X_WA, b, X_WB),
            (_, Shape::HalfSpace) => flip_distance(half_space::distance(X_WB, a, X_WA)),
            (Shape::Ellipsoid { .. }, _) | (_, Shape::Ellipsoid { .. }) => {
                self.ellipsoid_distance(a, X_WA, b, X_WB, f64::INFINITY)
            }
            (Shape::Cylinder { .. }, _) | (_, Shape::Cylinder { .. }) => {
                self.cylinder_distance(a, X_WA, b, X_WB, f64::INFINITY)
            }
            _ => {
                let d = self.cores_distance(a, X_WA, b, X_WB, f64::INFINITY);
                d.unwrap_or_else(|d| d)
            }
        }
    }

    /// [`contact_patch`](Self::contact_patch) of two shapes that stand in their order.
    pub(crate) fn patch_in_order(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) {
        match (a, b) {
            (Shape::Cloud(_), _) | (_, Shape::Cloud(_)) => {
                self.clouds.choose(a, X_WA, b, X_WB, None, margin, out);
            }
            (Shape::HalfSpace, Shape::HalfSpace) => {}
            (Shape::HalfSpace, _) => {
                half_space::patch(X_WA, b, X_WB, margin, &mut self.b, &mut self.clipper, out);
            }
            (_, Shape::HalfSpace) => {
                let start = out.len();
                half_space::patch(X_WB, a, X_WA, margin, &mut self.a, &mut self.clipper, out);
                for point in &mut out[start..] {
                    *point = flip_point(*point);
                }
            }
            _ => {
                let any = |is: fn(&Shape) -> bool| is(a) || is(b);
                let d = if any(|s| matches!(s, Shape::Ellipsoid { .. })) {
                    Ok(self.ellipsoid_distance(a, X_WA, b, X_WB, margin))
                } else if any(|s| matches!(s, Shape::Cylinder { .. })) {
                    Ok(self.cylinder_distance(a, X_WA, b, X_WB, margin))
                } else {
                    self.cores_distance(a, X_WA, b, X_WB, margin)
                };
                if let Ok(d) = d
                    && d.phi < margin
                {
                    self.patch_at(a, X_WA, b, X_WB, &d, margin, out);
                }
            }
        }
    }
}

/// Up to so many corners a search over all features is as fast as one for those that matter.
const SMALL_HULL: usize = 16;

fn is_large(shape: &Shape) -> bool {
    matches!(shape, Shape::Polytope(hull) if hull.vertices().len() > SMALL_HULL)
}

/// Radius around the core of a shape, in m.
fn radius_around(shape: &Shape) -> f64 {
    match shape {
        Shape::Sphere { radius } | Shape::Capsule { radius, .. } => *radius,
        _ => 0.0,
    }
}

impl NarrowPhase {
    /// Signed distance of two shapes that have cores, which are in memory then; of those that are `enough` apart a
    /// lower bound in place of an error.
    fn cores_distance(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        enough: f64,
    ) -> Result<Distance, Distance> {
        let [radius_a, radius_b] = [a, b].map(radius_around);
        let reach = enough + radius_a + radius_b;
        let mut stand = None;
        let by_support = is_large(a) || is_large(b);
        if by_support {
            stand = gjk::stand((a, X_WA), (b, X_WB), reach, TOUCH);
            if let Some(Stand::Beyond { separation, n_AB_W }) = stand {
                let p_WCa = X_WA.translation;
                let p_WCb = p_WCa + n_AB_W * separation;
                let core = Distance { phi: separation, p_WCa, p_WCb, n_AB_W };
                return Err(core.with_radii(radius_a, radius_b));
            }
        }
        self.a.fill(a, X_WA);
        self.b.fill(b, X_WB);
        let core = if by_support {
            hull_pair::distance(&self.a, &self.b, stand, reach, &mut self.searches)
        } else {
            core_distance(&self.a, &self.b, reach, &mut self.searches)
        };
        let d = core.with_radii(radius_a, radius_b);
        if core.phi < reach { Ok(d) } else { Err(d) }
    }

    /// Signed distance of two shapes, at least one of them a cylinder, neither a half-space; may stop
    /// at a lower bound once that exceeds `enough`.
    fn cylinder_distance(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        enough: f64,
    ) -> Distance {
        let (tube, other, X_WO, flipped) = match (Tube::new(a, X_WA), Tube::new(b, X_WB)) {
            (Some(a), Some(b)) => return cylinder_pair::distance(&a, &b, enough),
            (Some(tube), None) => (tube, b, X_WB, false),
            (None, Some(tube)) => (tube, a, X_WA, true),
            (None, None) => unreachable!("the caller matched a cylinder: {a:?}, {b:?}"),
        };
        let d = if let Shape::Sphere { radius } = *other {
            cylinder::point_distance(&tube, X_WO.translation).with_radii(0.0, radius)
        } else {
            self.b.fill(other, X_WO);
            let radius = self.b.radius;
            cylinder::distance(&tube, &self.b, enough + radius).with_radii(0.0, radius)
        };
        if flipped { flip_distance(d) } else { d }
    }

    /// Signed distance of two shapes, at least one of them an ellipsoid, neither a half-space; may stop at a lower bound
    /// once that exceeds `enough`.
    fn ellipsoid_distance(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        enough: f64,
    ) -> Distance {
        let Some(ellipsoid) = Ellipsoid::new(a, X_WA) else {
            return flip_distance(self.ellipsoid_distance(b, X_WB, a, X_WA, enough));
        };
        let radius = radius_around(b);
        let beyond = |enough: f64| match gjk::stand((a, X_WA), (b, X_WB), enough, 0.0) {
            Some(Stand::Beyond { n_AB_W, .. }) => Some(n_AB_W),
            Some(Stand::Apart { way, .. }) => way.try_normalize(),
            Some(Stand::Meet { .. }) | None => None,
        };
        if let Some(other) = Ellipsoid::new(b, X_WB) {
            return ellipsoid_pair::distance(&ellipsoid, &other, enough, || beyond(0.0));
        }
        if let Some(tube) = Tube::new(b, X_WB) {
            return ellipsoid_pair::tube_distance(&ellipsoid, &tube, enough, || beyond(0.0));
        }
        let enough = enough + radius;
        let hint = if is_large(b) { beyond(enough) } else { None };
        self.b.fill(b, X_WB);
        ellipsoid_pair::core_distance(&ellipsoid, &self.b, hint, enough).with_radii(0.0, radius)
    }

    /// Appends the patch along the normal of a distance, nearer than `margin`. The cores of what is no cylinder are in
    /// memory: two as A's and B's, one as B's.
    #[allow(clippy::too_many_arguments)] // two shapes at their poses, and their distance
    pub(crate) fn patch_at(
        &mut self,
        a: &Shape,
        X_WA: &Pose,
        b: &Shape,
        X_WB: &Pose,
        d: &Distance,
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) {
        let is_smooth = |s: &Shape| matches!(s, Shape::Sphere { .. } | Shape::Ellipsoid { .. });
        if is_smooth(a) || is_smooth(b) {
            return out.push(single(d));
        }
        let start = out.len();
        match (Tube::new(a, X_WA), Tube::new(b, X_WB)) {
            (Some(a), Some(b)) => {
                round_patch::of_pair(&a, &b, d, margin, &mut self.clipper, out);
            }
            (Some(tube), None) => {
                round_patch::with_core(&tube, &self.b, d, margin, &mut self.clipper, out);
            }
            (None, Some(tube)) => {
                let d = flip_distance(*d);
                round_patch::with_core(&tube, &self.b, &d, margin, &mut self.clipper, out);
                for point in &mut out[start..] {
                    *point = flip_point(*point);
                }
            }
            (None, None) => {
                let (a, b) = (&self.a, &self.b);
                let found = self.clipper.patch(a, b, d.n_AB_W, d.phi, margin, out);
                if !found && !along_edges(a, b, d, margin, out) {
                    out.push(single(d));
                }
            }
        }
    }
}

pub(crate) fn single(d: &Distance) -> ContactPoint {
    ContactPoint { phi: d.phi, p_WCa: d.p_WCa, p_WCb: d.p_WCb, n_AB_W: d.n_AB_W, feature: SINGLE }
}

pub(crate) fn flip_distance(d: Distance) -> Distance {
    Distance { phi: d.phi, p_WCa: d.p_WCb, p_WCb: d.p_WCa, n_AB_W: -d.n_AB_W }
}

pub(crate) fn flip_point(p: ContactPoint) -> ContactPoint {
    ContactPoint { p_WCa: p.p_WCb, p_WCb: p.p_WCa, n_AB_W: -p.n_AB_W, ..p }
}

/// Below this a difference of witness points is mostly rounding, in m.
pub(crate) const TOUCH: f64 = 1e-9;

/// Signed distance of two cores; may stop at a lower bound once that exceeds `enough`.
pub(crate) fn core_distance(a: &Core, b: &Core, enough: f64, searches: &mut Searches) -> Distance {
    if !a.is_solid() && !b.is_solid() {
        return thin_distance(a, b, enough, &mut searches.closest);
    }
    let axis = best_axis(a, b, enough, &mut searches.axis);
    if axis.separation > enough {
        return at_least(axis.separation, a, axis.normal);
    }
    if axis.separation <= 0.0 {
        return overlap(a, b, &axis);
    }
    // apart: the axis tells the distance if its features really face one another
    if let Some(facing) = facing(a, b, &axis) {
        return facing;
    }
    let Some((p_WCa, p_WCb)) = closest_points(a, b, axis.normal, enough, &mut searches.closest)
    else {
        return at_least(enough, a, axis.normal);
    };
    let difference = p_WCb - p_WCa;
    let distance = difference.norm();
    match difference.try_normalize() {
        // a normal from points this close would be noise; the axis is good to its own error
        Some(n_AB_W) if distance > TOUCH => Distance { phi: distance, p_WCa, p_WCb, n_AB_W },
        _ => {
            let n_AB_W = axis.normal;
            let p_WCb = p_WCa + n_AB_W * axis.separation;
            Distance { phi: axis.separation, p_WCa, p_WCb, n_AB_W }
        }
    }
}

/// A lower bound of the distance from A.
pub(crate) fn at_least(phi: f64, a: &Core, n_AB_W: Vec3) -> Distance {
    let p_WCa = a.centre;
    Distance { phi, p_WCa, p_WCb: p_WCa + n_AB_W * phi, n_AB_W }
}

/// Witness points of an overlap or a touch.
pub(crate) fn overlap(a: &Core, b: &Core, axis: &Axis) -> Distance {
    let (phi, n_AB_W) = (axis.separation, axis.normal);
    match axis.features {
        Features::FaceOfA(_) => {
            let p_WCb = extreme(b, -n_AB_W);
            Distance { phi, p_WCa: p_WCb - n_AB_W * phi, p_WCb, n_AB_W }
        }
        Features::FaceOfB(_) => {
            let p_WCa = extreme(a, n_AB_W);
            Distance { phi, p_WCa, p_WCb: p_WCa + n_AB_W * phi, n_AB_W }
        }
        Features::Edges(i, j) => {
            let [p1, q1] = a.edges()[i as usize].vertices.map(|k| a.points[k as usize]);
            let [p2, q2] = b.edges()[j as usize].vertices.map(|k| b.points[k as usize]);
            let (p_WCa, _) = crossing(p1, q1, p2, q2);
            Distance { phi, p_WCa, p_WCb: p_WCa + n_AB_W * phi, n_AB_W }
        }
    }
}

/// The distance along a face's normal, if a nearest corner stands above that face.
pub(crate) fn facing(a: &Core, b: &Core, axis: &Axis) -> Option<Distance> {
    let (phi, n_AB_W) = (axis.separation, axis.normal);
    match axis.features {
        Features::FaceOfA(k) => {
            let p_WCb = extreme(b, -n_AB_W);
            foot(a, &a.faces[k as usize], p_WCb, f64::INFINITY).map(|_| Distance {
                phi,
                p_WCa: p_WCb - n_AB_W * phi,
                p_WCb,
                n_AB_W,
            })
        }
        Features::FaceOfB(k) => {
            let p_WCa = extreme(a, n_AB_W);
            foot(b, &b.faces[k as usize], p_WCa, f64::INFINITY).map(|_| Distance {
                phi,
                p_WCa,
                p_WCb: p_WCa + n_AB_W * phi,
                n_AB_W,
            })
        }
        Features::Edges(..) => None,
    }
}

/// The first corner that is farthest along `n`, to rounding.
fn extreme(core: &Core, n: Vec3) -> Vec3 {
    let mut best = core.points[0];
    for p in &core.points[1..] {
        if p.dot(n) > best.dot(n) + 1e-12 * (1.0 + best.dot(n).abs()) {
            best = *p;
        }
    }
    best
}

/// Points and segments against one another: no volume, so no depth.
fn thin_distance(a: &Core, b: &Core, enough: f64, heights: &mut closest::Memory) -> Distance {
    let between = b.centre - a.centre;
    let axis = between.try_normalize().unwrap_or(Vec3::ZERO);
    let Some((p_WCa, p_WCb)) = closest_points(a, b, axis, enough, heights) else {
        return at_least(enough, a, axis);
    };
    let difference = p_WCb - p_WCa;
    let distance = difference.norm();
    if let Some(n_AB_W) = difference.try_normalize()
        && distance > TOUCH
    {
        return Distance { phi: distance, p_WCa, p_WCb, n_AB_W };
    }
    // they meet: the normal is any direction across both
    let direction = |core: &Core| match core.points[..] {
        [p, q] => (q - p).try_normalize(),
        _ => None,
    };
    let n_AB_W = match (direction(a), direction(b)) {
        (Some(u), Some(w)) if u.cross(w).norm() > 1e-9 => {
            u.cross(w).try_normalize().unwrap_or(Vec3::Z)
        }
        (Some(u), _) | (None, Some(u)) => u.any_orthogonal(),
        (None, None) => Vec3::Z,
    };
    let n_AB_W = if n_AB_W.dot(between) < 0.0 { -n_AB_W } else { n_AB_W };
    let phi = difference.dot(n_AB_W);
    Distance { phi, p_WCa, p_WCb: p_WCa + n_AB_W * phi, n_AB_W }
}
