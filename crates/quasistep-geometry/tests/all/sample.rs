//! Sampled points lie on the surface, are evenly spread, and have the number wanted.

use quasistep_geometry::{
    Polytope, SampleError, Samples, Shape, sample_surface, sample_triangles, signed_distance,
};
use quasistep_math::{Pose, Vec3};
use std::sync::Arc;

fn shapes() -> Vec<Shape> {
    let tetrahedron =
        [Vec3::ZERO, Vec3::new(0.3, 0.0, 0.0), Vec3::new(0.0, 0.2, 0.0), Vec3::new(0.0, 0.1, 0.25)];
    vec![
        Shape::Sphere { radius: 0.1 },
        Shape::Capsule { radius: 0.05, half_length: 0.1 },
        Shape::Cylinder { radius: 0.05, half_length: 0.1 },
        Shape::Box { half: [0.05, 0.1, 0.2] },
        Shape::Ellipsoid { radii: [0.05, 0.2, 0.1] },
        Shape::Polytope(Arc::new(Polytope::from_points(&tetrahedron).unwrap())),
    ]
}

fn pose() -> Pose {
    Pose::from_xyz_rpy([0.1, -0.2, 0.3], [0.4, 0.5, 0.6])
}

fn distance(shape: &Shape, X_BG: &Pose, p: Vec3) -> f64 {
    let radius = 1e-6;
    let ball = Shape::Sphere { radius };
    signed_distance(shape, X_BG, &ball, &Pose::from_translation(p)).phi + radius
}

#[test]
fn points_lie_on_the_surface_and_normals_leave_it() {
    for shape in shapes() {
        let samples = sample_surface(&[(shape.clone(), pose())], 500).unwrap();
        assert_eq!((samples.points.len(), samples.normals.len()), (500, 500));
        for (p, n) in samples.points.iter().zip(&samples.normals) {
            assert!(distance(&shape, &pose(), *p).abs() < 1e-12, "{shape:?}");
            assert!((n.norm() - 1.0).abs() < 1e-12);
            let step = 1e-4;
            let out = distance(&shape, &pose(), *p + *n * step);
            assert!((out - step).abs() < 1e-9, "{shape:?}: {out}");
        }
    }
}

/// Largest distance of a surface point to the nearest sample, in units of `√(area/n)`; a square
/// grid has 0.71. Surface points are taken from a set of samples ten times as dense.
fn widest_hole(samples: &Samples, dense: &Samples, spacing: f64) -> f64 {
    let nearest =
        |p: &Vec3| samples.points.iter().map(|s| (*s - *p).norm()).fold(f64::INFINITY, f64::min);
    dense.points.iter().map(|p| nearest(p) / spacing).fold(0.0, f64::max)
}

/// Area of an ellipsoid as the sum of small triangles, in m².
fn ellipsoid_area(radii: [f64; 3]) -> f64 {
    use std::f64::consts::{PI, TAU};
    let n = 400;
    let at = |i: i32, j: i32| {
        let (st, ct) = (PI * f64::from(i) / f64::from(n)).sin_cos();
        let (sp, cp) = (TAU * f64::from(j) / f64::from(n)).sin_cos();
        Vec3::new(st * cp, st * sp, ct).component_mul(radii.into())
    };
    let triangle = |a: Vec3, b: Vec3, c: Vec3| 0.5 * (b - a).cross(c - a).norm();
    let cells = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
    cells.fold(0.0, |sum, (i, j)| {
        let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
        sum + triangle(a, b, c) + triangle(a, c, d)
    })
}

#[test]
fn points_are_spread_evenly() {
    let area = [
        4.0 * std::f64::consts::PI * 0.01,
        std::f64::consts::TAU * 0.05 * 0.3,
        std::f64::consts::TAU * 0.05 * 0.25,
        8.0 * (0.05 * 0.1 + 0.1 * 0.2 + 0.05 * 0.2),
        ellipsoid_area([0.05, 0.2, 0.1]),
    ];
    for (shape, area) in shapes().into_iter().zip(area) {
        let parts = [(shape.clone(), Pose::IDENTITY)];
        let samples = sample_surface(&parts, 1000).unwrap();
        let dense = sample_surface(&parts, 10_000).unwrap();
        let hole = widest_hole(&samples, &dense, (area / 1000.0).sqrt());
        // a random set has holes of about 1.7 units
        assert!(hole < 1.3, "{shape:?}: {hole}");
    }
}

#[test]
fn hidden_points_are_left_out_and_replaced() {
    let ball = |x: f64| (Shape::Sphere { radius: 0.1 }, Pose::from_translation(Vec3::X * x));
    let parts = [ball(0.0), ball(0.1)];
    let samples = sample_surface(&parts, 992).unwrap();
    assert_eq!(samples.points.len(), 992);
    for p in &samples.points {
        let inside = parts.iter().map(|(s, X)| distance(s, X, *p)).fold(f64::INFINITY, f64::min);
        assert!(inside.abs() < 1e-8, "{inside}");
    }
    // two balls with centres one radius apart expose three quarters of their surfaces
    let left = samples.points.iter().filter(|p| p.x < 0.05).count();
    assert!((left as f64 - 496.0).abs() < 15.0, "{left}");
    assert_eq!(samples, sample_surface(&parts, 992).unwrap());
}

#[test]
fn triangles_get_points_by_their_area() {
    let vertices =
        [Vec3::ZERO, Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 1.0, 0.0), Vec3::new(-3.0, 0.0, 0.0)];
    let samples = sample_triangles(&vertices, &[[0, 1, 2], [0, 2, 3]], 4000).unwrap();
    let right = samples.points.iter().filter(|p| p.x > 0.0).count();
    assert!((right as f64 - 1000.0).abs() <= 1.0, "{right}");
    for (p, n) in samples.points.iter().zip(&samples.normals) {
        assert!(p.z == 0.0 && p.y >= 0.0 && p.x + p.y <= 1.0 && n.z == 1.0);
        assert!(-p.x / 3.0 + p.y <= 1.0 + 1e-12);
    }
}

#[test]
fn what_has_no_surface_is_refused() {
    let none = |result: Result<Samples, SampleError>| {
        assert!(matches!(result, Err(SampleError::NoSurface(_))), "{result:?}");
    };
    none(sample_surface(&[], 10));
    none(sample_surface(&[(Shape::HalfSpace, Pose::IDENTITY)], 10));
    none(sample_triangles(&[Vec3::ZERO; 3], &[[0, 1, 2]], 10));
    // a ball inside another one has no exposed surface, but the outer one has
    let parts = [
        (Shape::Sphere { radius: 0.1 }, Pose::IDENTITY),
        (Shape::Sphere { radius: 0.2 }, Pose::IDENTITY),
    ];
    let samples = sample_surface(&parts, 100).unwrap();
    assert!(samples.points.iter().all(|p| (p.norm() - 0.2).abs() < 1e-12));
    assert_eq!(sample_surface(&parts, 0).unwrap(), Samples::default());
}
