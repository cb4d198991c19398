//! Signed distance fields of the convex shapes.

#![allow(clippy::inline_always)] // see `quasistep_linalg::simd`

use super::field::{Field, Motion, farthest_corner, nearest_corner};
use crate::broad_phase::Aabb;
use crate::distance::Surface;
use crate::point::surface;
use crate::polytope::Polytope;
use crate::shape::Shape;
use crate::sheet::Sheet;
use quasistep_linalg::simd::{LANES, Simd};
use quasistep_math::Vec3;

/// Outward unit normal at the surface point of the shape nearest to `p`. Both are in the tree's
/// frame.
fn normal(motion: &Motion, shape: &Shape, p: Vec3) -> Vec3 {
    // a cloud has no surface in this sense; it uses its own field
    motion.direction(surface(shape, motion.point(p)).map_or(Vec3::Z, |s: Surface| s.normal))
}

/// Field of a shape that is symmetric about its three coordinate planes: box, capsule or cylinder.
///
/// The distance depends on the absolute coordinates only and does not decrease with any of them. So
/// the corner of a box nearest to the shape's centre gives an exact bound, if the box is aligned
/// with the shape's axes.
pub(crate) struct MirrorField<'a, const SHAPE: u8> {
    pub shape: &'a Shape,
    pub motion: Motion,
    /// Half edges of a box; otherwise radius first and half length last, in m.
    pub size: [f64; 3],
}

pub(crate) const BOX: u8 = 0;
pub(crate) const CAPSULE: u8 = 1;
pub(crate) const CYLINDER: u8 = 2;

impl<const SHAPE: u8> MirrorField<'_, SHAPE> {
    /// Signed distance of points with absolute coordinates `q`, in m.
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
        normal(&self.motion, self.shape, p)
    }
}

/// Field of an ellipsoid. It is symmetric about its three planes, so box corners bound it as in
/// [`MirrorField`].
///
/// The lower bound is the height above the tangent plane whose normal is the gradient of the gauge.
pub(crate) struct EllipsoidField<'a> {
    pub shape: &'a Shape,
    pub motion: Motion,
    pub radii: [f64; 3],
}

impl EllipsoidField<'_> {
    /// Lower bound of the signed distance of points `q` in the shape's frame, in m.
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
        // the gradient vanishes at the centre; NaN coordinates stay NaN
        let height = S::sub(S::where_above(steep, S::splat(0.0), height), least);
        S::fma(along, S::splat(0.0), height)
    }

    /// Exact signed distance in the lanes set in `wanted`; the other lanes keep `phi`.
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
        normal(&self.motion, self.shape, p)
    }
}

/// Field of a convex polytope: the largest height above a face's plane, or the exact distance where
/// the nearest feature is an edge or a corner.
pub(crate) struct PolytopeField<'a> {
    shape: &'a Shape,
    motion: Motion,
    /// For each face, its unit normal in the tree's frame and the height of the tree's origin above
    /// it, in m.
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
        normal(&self.motion, self.shape, p)
    }
}

/// Field of a height field: exact at each point; a box is bounded by the distance of its centre.
pub(crate) struct GroundField<'a> {
    pub shape: &'a Shape,
    pub motion: Motion,
}

impl Field for GroundField<'_> {
    #[inline(always)]
    fn distance<S: Simd>(&self, p: [S::V; 3], _: f64) -> S::V {
        let p = p.map(S::to_array);
        let mut phi = [0.0; LANES];
        for (l, phi) in phi.iter_mut().enumerate() {
            let q = self.motion.point(Vec3::new(p[0][l], p[1][l], p[2][l]));
            *phi = surface(self.shape, q).map_or(f64::INFINITY, |s| s.distance);
        }
        S::load(&phi)
    }

    #[inline(always)]
    fn bound<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V {
        S::sub(self.distance::<S>(centre, f64::INFINITY), S::norm(half))
    }

    #[inline(always)]
    fn ceiling<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V {
        S::add(self.distance::<S>(centre, f64::INFINITY), S::norm(half))
    }

    fn normal(&self, p: Vec3) -> Vec3 {
        normal(&self.motion, self.shape, p)
    }
}

/// Field of a sheet: exact at each point. It is negative for points that the sheet parts from the
/// middle of the cloud.
pub(crate) struct SheetField<'a> {
    pub sheet: &'a Sheet,
    pub motion: Motion,
    /// In the sheet's frame, in m.
    pub middle: Vec3,
}

impl SheetField<'_> {
    /// Calls `of` with each of four points, in the sheet's frame, and with its number.
    #[inline(always)]
    fn each<S: Simd>(&self, p: [S::V; 3], of: impl Fn(usize, Vec3) -> f64) -> S::V {
        let p = p.map(S::to_array);
        let values: [f64; LANES] =
            std::array::from_fn(|l| of(l, self.motion.point(Vec3::new(p[0][l], p[1][l], p[2][l]))));
        S::load(&values)
    }
}

impl Field for SheetField<'_> {
    #[inline(always)]
    fn distance<S: Simd>(&self, p: [S::V; 3], _: f64) -> S::V {
        self.each::<S>(p, |_, q| self.sheet.surface(q, self.middle).distance)
    }

    #[inline(always)]
    fn bound<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V {
        let radii = S::to_array(S::norm(half));
        self.each::<S>(centre, |l, q| {
            let reach = Aabb { min: q, max: q }.grown(radii[l]);
            let distance = self.sheet.surface(q, q).distance.abs();
            // points of a box are behind the sheet only if it is between them and the middle
            let to_middle = reach.joined(&Aabb { min: self.middle, max: self.middle });
            if self.sheet.is_near(&to_middle) { -distance - radii[l] } else { distance - radii[l] }
        })
    }

    #[inline(always)]
    fn ceiling<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V {
        let radii = S::to_array(S::norm(half));
        self.each::<S>(centre, |l, q| self.sheet.surface(q, q).distance.abs() + radii[l])
    }

    fn normal(&self, p: Vec3) -> Vec3 {
        let q = self.motion.point(p);
        self.motion.direction(self.sheet.surface(q, self.middle).normal)
    }
}
