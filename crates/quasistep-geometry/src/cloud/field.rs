//! Signed distance to a shape's surface as a field in the frame of a cloud's tree. Evaluated for
//! four points at once; bounded from below for four boxes at once.

#![allow(clippy::inline_always)] // see `quasistep_linalg::simd`

use quasistep_linalg::simd::Simd;
use quasistep_math::{Pose, Vec3};

/// Signed distance field against which a cloud's points are measured. Points are relative to the
/// tree's origin.
pub(crate) trait Field {
    /// True if the field is linear (a plane): the distance grows by exactly as much as a point
    /// moves along the normal.
    const FLAT: bool = false;

    /// Signed distance of four points, in m. Exact where it is less than `below`; elsewhere a lower
    /// bound that is at least `below`. NaN for points with NaN coordinates.
    fn distance<S: Simd>(&self, p: [S::V; 3], below: f64) -> S::V;

    /// Lower bound of the signed distance over each of four boxes, in m.
    fn bound<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V;

    /// Upper bound of the signed distance over each of four boxes, in m. Only used if the field is
    /// not flat.
    fn ceiling<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V;

    /// Outward unit normal at the surface point nearest to `p`, in the tree's frame.
    fn normal(&self, p: Vec3) -> Vec3;
}

/// Transforms points from the tree's frame to the shape's frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Motion {
    /// Pose of the tree's frame C in the shape's frame S.
    X_SC: Pose,
    rows: [[f64; 3]; 3],
    sizes: [[f64; 3]; 3],
}

impl Motion {
    /// From the world poses of the shape and of the cloud, and the tree's origin in the cloud's
    /// frame.
    pub fn new(X_WS: &Pose, X_WC: &Pose, origin: Vec3) -> Self {
        let X_SC = X_WS.inverse() * Pose { translation: X_WC.transform_point(origin), ..*X_WC };
        let rows = X_SC.rotation.to_matrix().rows.map(Vec3::to_array);
        Self { X_SC, rows, sizes: rows.map(|row| row.map(f64::abs)) }
    }

    /// Coordinates of four points in the shape's frame, in m.
    #[inline(always)]
    pub fn coordinates<S: Simd>(&self, p: [S::V; 3]) -> [S::V; 3] {
        let (r, t) = (&self.rows, self.X_SC.translation);
        [
            S::dot(r[0], p, S::splat(t.x)),
            S::dot(r[1], p, S::splat(t.y)),
            S::dot(r[2], p, S::splat(t.z)),
        ]
    }

    /// Half sizes along the shape's axes of boxes with half sizes `half` along the tree's axes, in
    /// m.
    #[inline(always)]
    pub fn reach<S: Simd>(&self, half: [S::V; 3]) -> [S::V; 3] {
        let (r, zero) = (&self.sizes, S::splat(0.0));
        [S::dot(r[0], half, zero), S::dot(r[1], half, zero), S::dot(r[2], half, zero)]
    }

    /// Transforms one point to the shape's frame.
    #[inline]
    pub fn point(&self, p: Vec3) -> Vec3 {
        self.X_SC.transform_point(p)
    }

    /// Rotates a direction from the shape's frame to the tree's frame.
    #[inline]
    pub fn direction(&self, d: Vec3) -> Vec3 {
        self.X_SC.rotation.inverse().rotate(d)
    }
}

/// Signed distance to a plane.
pub(crate) struct PlaneField {
    /// Unit normal in the tree's frame.
    pub normal: Vec3,
    /// Signed distance of the tree's origin to the plane, in m.
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

/// Signed distance to a sphere.
pub(crate) struct BallField {
    /// Centre relative to the tree's origin, in m.
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

/// Absolute coordinates of the corner farthest from the origin, for boxes about `centre`.
#[inline(always)]
pub(super) fn farthest_corner<S: Simd>(centre: [S::V; 3], half: [S::V; 3]) -> [S::V; 3] {
    [
        S::add(S::abs(centre[0]), half[0]),
        S::add(S::abs(centre[1]), half[1]),
        S::add(S::abs(centre[2]), half[2]),
    ]
}

/// Absolute coordinates of the point nearest to the origin, for boxes about `centre`.
#[inline(always)]
pub(super) fn nearest_corner<S: Simd>(centre: [S::V; 3], half: [S::V; 3]) -> [S::V; 3] {
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
