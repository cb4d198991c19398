//! The signed distance to a shape's surface as a field over the frame of a cloud's tree: for four
//! points, and as a lower bound for four boxes of points.

#![allow(clippy::inline_always)] // see `simd`

use super::simd::{LANES, Simd};
use crate::point::{Surface, surface};
use crate::polytope::Polytope;
use crate::shape::Shape;
use quasistep_math::{Pose, Vec3};

/// What a cloud's points are measured against. Points are given from the origin of their tree.
pub(crate) trait Field {
    /// True if the distance grows by as much as a point moves along the normal, whatever the point.
    const FLAT: bool = false;

    /// Signed distance, in m: exact where it is below `below`, elsewhere at least that. NaN for NaN.
    fn distance<S: Simd>(&self, p: [S::V; 3], below: f64) -> S::V;

    /// No point of the boxes is nearer than this, in m.
    fn bound<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V;

    /// No point of the boxes is farther than this, in m. Read only if the field is not flat.
    fn ceiling<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V;

    /// Outward normal of the surface nearest to a point.
    fn normal(&self, p: Vec3) -> Vec3;
}

/// Takes points of a tree to the frame of a shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Motion {
    /// Pose of the tree's frame in the shape's.
    X_SC: Pose,
    rows: [[f64; 3]; 3],
    sizes: [[f64; 3]; 3],
}

impl Motion {
    /// From the poses of the shape and of the cloud whose tree has this origin.
    pub fn new(X_WS: &Pose, X_WC: &Pose, origin: Vec3) -> Self {
        let X_SC = X_WS.inverse() * Pose { translation: X_WC.transform_point(origin), ..*X_WC };
        let rows = X_SC.rotation.to_matrix().rows.map(Vec3::to_array);
        Self { X_SC, rows, sizes: rows.map(|row| row.map(f64::abs)) }
    }

    /// Coordinates in the frame of the shape.
    #[inline(always)]
    fn coordinates<S: Simd>(&self, p: [S::V; 3]) -> [S::V; 3] {
        let (r, t) = (&self.rows, self.X_SC.translation);
        [
            S::dot(r[0], p, S::splat(t.x)),
            S::dot(r[1], p, S::splat(t.y)),
            S::dot(r[2], p, S::splat(t.z)),
        ]
    }

    /// How far boxes reach along the axes of the shape.
    #[inline(always)]
    fn reach<S: Simd>(&self, half: [S::V; 3]) -> [S::V; 3] {
        let (r, zero) = (&self.sizes, S::splat(0.0));
        [S::dot(r[0], half, zero), S::dot(r[1], half, zero), S::dot(r[2], half, zero)]
    }

    /// A point in the frame of the shape.
    #[inline]
    pub fn point(&self, p: Vec3) -> Vec3 {
        self.X_SC.transform_point(p)
    }

    /// A direction of the shape in the frame of the tree.
    #[inline]
    pub fn direction(&self, d: Vec3) -> Vec3 {
        self.X_SC.rotation.inverse().rotate(d)
    }

    fn normal(&self, shape: &Shape, p: Vec3) -> Vec3 {
        // clouds have a field of their own
        self.direction(surface(shape, self.point(p)).map_or(Vec3::Z, |s: Surface| s.normal))
    }
}

/// Heights above a plane.
pub(crate) struct PlaneField {
    /// Unit normal, in the frame of the tree.
    pub normal: Vec3,
    /// Height of the tree's origin, in m.
    pub offset: f64,
}

impl PlaneField {
    pub fn new(X_WS: &Pose, X_WC: &Pose, origin: Vec3) -> Self {
        let n_W = X_WS.rotation.rotate(Vec3::Z);
        let normal = X_WC.rotation.inverse().rotate(n_W);
        Self { normal, offset: (X_WC.transform_point(origin) - X_WS.translation).dot(n_W) }
    }
}

impl Field for PlaneField {
    const FLAT: bool = true;

    #[inline(always)]
    fn distance<S: Simd>(&self, p: [S::V; 3], _: f64) -> S::V {
        S::dot(self.normal.to_array(), p, S::splat(self.offset))
    }

    #[inline(always)]
    fn bound<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V {
        S::dot((-self.normal.abs()).to_array(), half, self.distance::<S>(centre, 0.0))
    }

    #[inline(always)]
    fn ceiling<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V {
        S::dot(self.normal.abs().to_array(), half, self.distance::<S>(centre, 0.0))
    }

    fn normal(&self, _: Vec3) -> Vec3 {
        self.normal
    }
}

/// Distance from a point, less a radius.
pub(crate) struct BallField {
    /// From the origin of the tree, in m.
    pub centre: Vec3,
    pub radius: f64,
}

impl BallField {
    #[inline(always)]
    fn away<S: Simd>(&self, p: [S::V; 3]) -> [S::V; 3] {
        let c = self.centre;
        [S::sub(p[0], S::splat(c.x)), S::sub(p[1], S::splat(c.y)), S::sub(p[2], S::splat(c.z))]
    }
}

/// Sizes of the coordinates of the corner farthest from the middle, in boxes around `centre`.
#[inline(always)]
fn farthest_corner<S: Simd>(centre: [S::V; 3], half: [S::V; 3]) -> [S::V; 3] {
    [
        S::add(S::abs(centre[0]), half[0]),
        S::add(S::abs(centre[1]), half[1]),
        S::add(S::abs(centre[2]), half[2]),
    ]
}

/// Sizes of the coordinates of the point nearest to the middle, in boxes around `centre`.
#[inline(always)]
fn nearest_corner<S: Simd>(centre: [S::V; 3], half: [S::V; 3]) -> [S::V; 3] {
    let zero = S::splat(0.0);
    [
        S::max(zero, S::sub(S::abs(centre[0]), half[0])),
        S::max(zero, S::sub(S::abs(centre[1]), half[1])),
        S::max(zero, S::sub(S::abs(centre[2]), half[2])),
    ]
}

impl Field for BallField {
    #[inline(always)]
    fn distance<S: Simd>(&self, p: [S::V; 3], _: f64) -> S::V {
        S::sub(S::norm(self.away::<S>(p)), S::splat(self.radius))
    }

    #[inline(always)]
    fn bound<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V {
        let d = nearest_corner::<S>(self.away::<S>(centre), half);
        S::sub(S::norm(d), S::splat(self.radius))
    }

    #[inline(always)]
    fn ceiling<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V {
        let d = farthest_corner::<S>(self.away::<S>(centre), half);
        S::sub(S::norm(d), S::splat(self.radius))
    }

    fn normal(&self, p: Vec3) -> Vec3 {
        (p - self.centre).try_normalize().unwrap_or(Vec3::Z)
    }
}

/// A shape that is its own mirror image in its three planes: the distance is a function of the sizes of
/// the coordinates and never falls as one of them grows, so that the corner of a box nearest to the
/// middle gives the exact bound in the shape's frame.
pub(crate) struct MirrorField<'a, const SHAPE: u8> {
    pub shape: &'a Shape,
    pub motion: Motion,
    /// Half edges, or radius and half length in the first and the last.
    pub size: [f64; 3],
}

pub(crate) const BOX: u8 = 0;
pub(crate) const CAPSULE: u8 = 1;
pub(crate) const CYLINDER: u8 = 2;

impl<const SHAPE: u8> MirrorField<'_, SHAPE> {
    /// Signed distance of a point with coordinates of these sizes.
    #[inline(always)]
    fn of_sizes<S: Simd>(&self, q: [S::V; 3]) -> S::V {
        let (zero, size) = (S::splat(0.0), self.size);
        let end = S::sub(q[2], S::splat(size[2]));
        match SHAPE {
            BOX => {
                let d = [S::sub(q[0], S::splat(size[0])), S::sub(q[1], S::splat(size[1])), end];
                let outside = S::norm([S::max(zero, d[0]), S::max(zero, d[1]), S::max(zero, d[2])]);
                S::add(outside, S::min(zero, S::max(d[0], S::max(d[1], d[2]))))
            }
            CAPSULE => S::sub(S::norm([q[0], q[1], S::max(zero, end)]), S::splat(size[0])),
            _ => {
                let flat = S::sqrt(S::fma(q[0], q[0], S::mul(q[1], q[1])));
                let side = S::sub(flat, S::splat(size[0]));
                let outside = S::norm([S::max(zero, side), S::max(zero, end), zero]);
                S::add(outside, S::min(zero, S::max(side, end)))
            }
        }
    }
}

impl<const SHAPE: u8> Field for MirrorField<'_, SHAPE> {
    #[inline(always)]
    fn distance<S: Simd>(&self, p: [S::V; 3], _: f64) -> S::V {
        let q = self.motion.coordinates::<S>(p);
        self.of_sizes::<S>([S::abs(q[0]), S::abs(q[1]), S::abs(q[2])])
    }

    #[inline(always)]
    fn bound<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V {
        let (centre, half) = (self.motion.coordinates::<S>(centre), self.motion.reach::<S>(half));
        self.of_sizes::<S>(nearest_corner::<S>(centre, half))
    }

    #[inline(always)]
    fn ceiling<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V {
        let (centre, half) = (self.motion.coordinates::<S>(centre), self.motion.reach::<S>(half));
        self.of_sizes::<S>(farthest_corner::<S>(centre, half))
    }

    fn normal(&self, p: Vec3) -> Vec3 {
        self.motion.normal(self.shape, p)
    }
}

/// An ellipsoid: its mirror images are itself, so that corners of boxes bound as for a [`MirrorField`]. The distance is the
/// height above the tangent plane whose normal is the gradient of the gauge, or more.
pub(crate) struct EllipsoidField<'a> {
    pub shape: &'a Shape,
    pub motion: Motion,
    pub radii: [f64; 3],
}

impl EllipsoidField<'_> {
    /// At most the signed distance of points of the shape's frame.
    #[inline(always)]
    fn at_least<S: Simd>(&self, q: [S::V; 3]) -> S::V {
        let r = self.radii;
        let slope = [
            S::mul(q[0], S::splat(1.0 / (r[0] * r[0]))),
            S::mul(q[1], S::splat(1.0 / (r[1] * r[1]))),
            S::mul(q[2], S::splat(1.0 / (r[2] * r[2]))),
        ];
        let reach = S::norm([
            S::mul(slope[0], S::splat(r[0])),
            S::mul(slope[1], S::splat(r[1])),
            S::mul(slope[2], S::splat(r[2])),
        ]);
        let along = S::fma(q[0], slope[0], S::fma(q[1], slope[1], S::mul(q[2], slope[2])));
        let steep = S::norm(slope);
        let least = S::splat(r[0].min(r[1]).min(r[2]));
        let height = S::add(S::div(S::sub(along, reach), steep), least);
        // the centre has no slope; of no number there is no distance
        let height = S::sub(S::where_above(steep, S::splat(0.0), height), least);
        S::fma(along, S::splat(0.0), height)
    }

    /// The signed distance of those points that are set in `wanted`; `phi` for the others.
    #[inline(always)]
    fn exactly<S: Simd>(&self, q: [S::V; 3], wanted: u32, phi: S::V) -> S::V {
        if wanted == 0 {
            return phi;
        }
        let mut phi = S::to_array(phi);
        let q = [S::to_array(q[0]), S::to_array(q[1]), S::to_array(q[2])];
        for l in 0..LANES {
            if wanted >> l & 1 == 1 {
                let p = Vec3::new(q[0][l], q[1][l], q[2][l]);
                phi[l] = surface(self.shape, p).map_or(f64::INFINITY, |s| s.distance);
            }
        }
        S::load(&phi)
    }
}

impl Field for EllipsoidField<'_> {
    #[inline(always)]
    fn distance<S: Simd>(&self, p: [S::V; 3], below: f64) -> S::V {
        let q = self.motion.coordinates::<S>(p);
        let phi = self.at_least::<S>(q);
        self.exactly::<S>(q, S::above(S::splat(below), phi), phi)
    }

    #[inline(always)]
    fn bound<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V {
        let (centre, half) = (self.motion.coordinates::<S>(centre), self.motion.reach::<S>(half));
        self.at_least::<S>(nearest_corner::<S>(centre, half))
    }

    #[inline(always)]
    fn ceiling<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V {
        let (centre, half) = (self.motion.coordinates::<S>(centre), self.motion.reach::<S>(half));
        let corner = farthest_corner::<S>(centre, half);
        self.exactly::<S>(corner, (1 << LANES) - 1, corner[0])
    }

    fn normal(&self, p: Vec3) -> Vec3 {
        self.motion.normal(self.shape, p)
    }
}

/// A convex polytope: the highest of its planes, and the exact distance where that is not it.
pub(crate) struct PolytopeField<'a> {
    shape: &'a Shape,
    motion: Motion,
    /// Normals in the frame of the tree, and heights of its origin.
    planes: &'a [(Vec3, f64)],
}

impl<'a> PolytopeField<'a> {
    pub fn new(
        shape: &'a Shape,
        polytope: &Polytope,
        motion: Motion,
        planes: &'a mut Vec<(Vec3, f64)>,
    ) -> Self {
        planes.clear();
        let origin = motion.point(Vec3::ZERO);
        planes.extend(
            polytope
                .faces()
                .iter()
                .map(|f| (motion.direction(f.normal()), origin.dot(f.normal()) - f.offset())),
        );
        Self { shape, motion, planes }
    }
}

impl Field for PolytopeField<'_> {
    #[inline(always)]
    fn distance<S: Simd>(&self, p: [S::V; 3], below: f64) -> S::V {
        let mut highest = S::splat(f64::NEG_INFINITY);
        for (n, offset) in self.planes {
            highest = S::max(highest, S::dot(n.to_array(), p, S::splat(*offset)));
        }
        let outside = S::above(highest, S::splat(0.0)) & S::above(S::splat(below), highest);
        if outside == 0 {
            return highest;
        }
        let mut phi = S::to_array(highest);
        let p = [S::to_array(p[0]), S::to_array(p[1]), S::to_array(p[2])];
        for l in 0..LANES {
            if outside >> l & 1 == 1 {
                let q = self.motion.point(Vec3::new(p[0][l], p[1][l], p[2][l]));
                phi[l] = surface(self.shape, q).map_or(f64::INFINITY, |s| s.distance);
            }
        }
        S::load(&phi)
    }

    #[inline(always)]
    fn bound<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V {
        let mut highest = S::splat(f64::NEG_INFINITY);
        for (n, offset) in self.planes {
            let height = S::dot(n.to_array(), centre, S::splat(*offset));
            let lowest = S::dot((-n.abs()).to_array(), half, height);
            highest = S::max(highest, lowest);
        }
        highest
    }

    #[inline(always)]
    fn ceiling<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V {
        S::add(self.distance::<S>(centre, f64::INFINITY), S::norm(half))
    }

    fn normal(&self, p: Vec3) -> Vec3 {
        self.motion.normal(self.shape, p)
    }
}
