//! Signed distance and contact patches of one pair of shapes.

use crate::closest::{closest_points, crossing, foot};
use crate::cloud::CloudMemory;
use crate::core::Core;
use crate::patch::Clipper;
use crate::separating_axis::{Axis, Features, best_axis};
use crate::shape::Shape;
use crate::{cylinder, half_space};
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
    a: Core,
    b: Core,
    clipper: Clipper,
    clouds: CloudMemory,
}

impl NarrowPhase {
    /// No memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Signed distance of A and B, apart or overlapping.
    pub fn signed_distance(&mut self, a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose) -> Distance {
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
            (Shape::Sphere { radius }, Shape::Cylinder { .. }) => {
                flip_distance(cylinder::sphere_distance(b, X_WB, X_WA.translation, *radius))
            }
            (Shape::Cylinder { .. }, Shape::Sphere { radius }) => {
                cylinder::sphere_distance(a, X_WA, X_WB.translation, *radius)
            }
            _ => {
                self.a.fill(a, X_WA);
                self.b.fill(b, X_WB);
                with_radii(core_distance(&self.a, &self.b, f64::INFINITY), &self.a, &self.b)
            }
        }
    }

    /// Appends the points where A and B are nearer than `margin`.
    ///
    /// Flat on flat gives the corners of the common patch, each with its own distance along the
    /// shared normal; anything else gives one point. The smallest `phi` of a patch is the signed
    /// distance (of cylinders lying or standing on a half-space: to 1e-6 of the radius). Clouds give the
    /// points of their [`Choice`](crate::Choice), whose smallest `phi` is the signed distance to 1e-9 m.
    pub fn contact_patch(
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
            (Shape::Sphere { .. }, _) | (_, Shape::Sphere { .. }) => {
                let d = self.signed_distance(a, X_WA, b, X_WB);
                if d.phi < margin {
                    out.push(single(&d));
                }
            }
            _ => {
                self.a.fill(a, X_WA);
                self.b.fill(b, X_WB);
                let reach = margin + self.a.radius + self.b.radius;
                let core = core_distance(&self.a, &self.b, reach);
                if core.phi >= reach {
                    return;
                }
                let d = with_radii(core, &self.a, &self.b);
                let found = self.clipper.patch(&self.a, &self.b, d.n_AB_W, d.phi, margin, out);
                if !found {
                    out.push(single(&d));
                }
            }
        }
    }
}

pub(crate) fn single(d: &Distance) -> ContactPoint {
    ContactPoint { phi: d.phi, p_WCa: d.p_WCa, p_WCb: d.p_WCb, n_AB_W: d.n_AB_W, feature: SINGLE }
}

fn flip_distance(d: Distance) -> Distance {
    Distance { phi: d.phi, p_WCa: d.p_WCb, p_WCb: d.p_WCa, n_AB_W: -d.n_AB_W }
}

fn flip_point(p: ContactPoint) -> ContactPoint {
    ContactPoint { p_WCa: p.p_WCb, p_WCb: p.p_WCa, n_AB_W: -p.n_AB_W, ..p }
}

/// From the distance of two cores to that of the shapes around them.
fn with_radii(core: Distance, a: &Core, b: &Core) -> Distance {
    let n = core.n_AB_W;
    Distance {
        phi: core.phi - a.radius - b.radius,
        p_WCa: core.p_WCa + n * a.radius,
        p_WCb: core.p_WCb - n * b.radius,
        n_AB_W: n,
    }
}

/// Below this a difference of witness points is mostly rounding, in m.
const TOUCH: f64 = 1e-9;

/// Signed distance of two cores; may stop at a lower bound once that exceeds `enough`.
fn core_distance(a: &Core, b: &Core, enough: f64) -> Distance {
    if !a.is_solid() && !b.is_solid() {
        return thin_distance(a, b);
    }
    let axis = best_axis(a, b, enough);
    if axis.separation > enough {
        let (p_WCa, n_AB_W) = (a.centre, axis.normal);
        let p_WCb = p_WCa + n_AB_W * axis.separation;
        return Distance { phi: axis.separation, p_WCa, p_WCb, n_AB_W };
    }
    if axis.separation <= 0.0 {
        return overlap(a, b, &axis);
    }
    // apart: the axis tells the distance if its features really face one another
    if let Some(facing) = facing(a, b, &axis) {
        return facing;
    }
    let (p_WCa, p_WCb) = closest_points(a, b);
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

/// Witness points of an overlap or a touch.
fn overlap(a: &Core, b: &Core, axis: &Axis) -> Distance {
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
            let [p1, q1] = a.edges[i as usize].ends.map(|k| a.points[k as usize]);
            let [p2, q2] = b.edges[j as usize].ends.map(|k| b.points[k as usize]);
            let (p_WCa, _) = crossing(p1, q1, p2, q2);
            Distance { phi, p_WCa, p_WCb: p_WCa + n_AB_W * phi, n_AB_W }
        }
    }
}

/// The distance along a face's normal, if a nearest corner stands above that face.
fn facing(a: &Core, b: &Core, axis: &Axis) -> Option<Distance> {
    let (phi, n_AB_W) = (axis.separation, axis.normal);
    match axis.features {
        Features::FaceOfA(k) => {
            let p_WCb = extreme(b, -n_AB_W);
            foot(a, &a.faces[k as usize], p_WCb).map(|_| Distance {
                phi,
                p_WCa: p_WCb - n_AB_W * phi,
                p_WCb,
                n_AB_W,
            })
        }
        Features::FaceOfB(k) => {
            let p_WCa = extreme(a, n_AB_W);
            foot(b, &b.faces[k as usize], p_WCa).map(|_| Distance {
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
fn thin_distance(a: &Core, b: &Core) -> Distance {
    let (p_WCa, p_WCb) = closest_points(a, b);
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
    let n_AB_W = if n_AB_W.dot(b.centre - a.centre) < 0.0 { -n_AB_W } else { n_AB_W };
    let phi = difference.dot(n_AB_W);
    Distance { phi, p_WCa, p_WCb: p_WCa + n_AB_W * phi, n_AB_W }
}
