//! Simplified hulls with fewer corners, and the exact error of the simplification.

use crate::point::polytope_surface;
use crate::polytope::{PLANAR, Polytope};
use crate::quickhull::{HullError, quickhull};
use quasistep_math::Vec3;

impl Polytope {
    /// Convex hull of a subset of the points (m) such that no point is farther than `tolerance` (m)
    /// outside of it.
    ///
    /// Its corners are corners of the hull of all points, so it lies inside that hull. Also returns
    /// the Hausdorff distance of the two hulls, in m: the distance of the farthest omitted corner,
    /// to rounding. (The distance from a convex set is a convex function, so over the larger hull
    /// it is largest at a corner.)
    ///
    /// # Errors
    ///
    /// See [`HullError`].
    pub fn simplified(points: &[Vec3], tolerance: f64) -> Result<(Self, f64), HullError> {
        let full = Self::from_points(points)?;
        let corners = full.vertices();
        let (low, high) =
            corners.iter().fold((corners[0], corners[0]), |(l, h), p| (l.min(*p), h.max(*p)));
        let extent = (high - low).max_abs();
        // quickhull omits points near a plane; near a sharp edge the distance to the hull may
        // exceed the tolerance
        let mut kept = vec![false; corners.len()];
        for triangle in quickhull(corners, extent, tolerance.max(PLANAR * extent))? {
            for i in triangle.v {
                kept[i as usize] = true;
            }
        }
        for round in 0.. {
            let part: Vec<Vec3> =
                corners.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(p, _)| *p).collect();
            let hull = Self::from_points(&part)?;
            let mut off: Vec<(f64, usize)> = (0..corners.len())
                .map(|k| (polytope_surface(&hull, corners[k]).distance, k))
                .filter(|(distance, _)| *distance > 0.0)
                .collect();
            off.sort_by(|a, b| b.0.total_cmp(&a.0));
            let distance = off.first().map_or(0.0, |worst| worst.0);
            let missing = off.iter().filter(|(distance, k)| *distance > tolerance && !kept[*k]);
            let missing: Vec<usize> = missing.take(1 << round.min(16)).map(|(_, k)| *k).collect();
            if missing.is_empty() {
                return Ok((hull, distance));
            }
            for k in missing {
                kept[k] = true;
            }
        }
        Ok((full, 0.0))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Polytope, Shape, signed_distance};
    use quasistep_math::{Pose, Vec3};

    /// Points of an egg with a pointed end.
    fn egg() -> Vec<Vec3> {
        let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
        let on = |k: usize| {
            let z = 1.0 - (2.0 * k as f64 + 1.0) / 2000.0;
            let (sin, cos) = (golden * k as f64).sin_cos();
            let r = 0.05 * (1.0 - z * z).sqrt();
            Vec3::new(r * cos, r * sin, 0.08 * z)
        };
        (0..2000).map(on).chain([Vec3::new(0.0, 0.0, 0.3)]).collect()
    }

    /// The returned error is the distance of the farthest omitted point; the corners are corners of
    /// the full hull.
    #[test]
    fn a_simpler_hull_is_within_the_tolerance_and_says_how_far() {
        let points = egg();
        let full = Polytope::from_points(&points).unwrap();
        let mut before = full.vertices().len();
        for tolerance in [1e-5, 1e-4, 1e-3, 1e-2] {
            let (hull, error) = Polytope::simplified(&points, tolerance).unwrap();
            assert!(hull.vertices().iter().all(|p| full.vertices().contains(p)));
            assert!(hull.vertices().len() < before, "{} at {tolerance}", hull.vertices().len());
            before = hull.vertices().len();
            // independent check: signed distance of the hull to a small ball
            let shape = Shape::Polytope(hull.into());
            let radius = 1e-9;
            let outside = |p: &Vec3| {
                let ball = Shape::Sphere { radius };
                let X = Pose::from_translation(*p);
                signed_distance(&shape, &Pose::IDENTITY, &ball, &X).phi + radius
            };
            let farthest = points.iter().map(outside).fold(0.0, f64::max);
            assert!((farthest - error).abs() < 1e-12, "{farthest} {error}");
            assert!(error <= tolerance && error > 0.1 * tolerance, "{error} at {tolerance}");
        }
        assert!(before < 40, "{before}");
    }

    #[test]
    fn without_a_tolerance_every_corner_stays() {
        let points = egg();
        let (hull, error) = Polytope::simplified(&points, 0.0).unwrap();
        assert!(error < 1e-15, "{error}");
        let full = Polytope::from_points(&points).unwrap();
        assert_eq!(hull.vertices(), full.vertices());
    }
}
