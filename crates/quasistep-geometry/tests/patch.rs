//! Laws of contact patches.
#![allow(missing_docs)]
#![allow(non_snake_case)]

mod common;

use common::{Samples, random_hull};
use quasistep_geometry::{ContactPoint, Polytope, Shape, contact_patch, signed_distance};
use quasistep_math::{Pose, Quat, Vec3};
use std::sync::Arc;

fn patch(a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose, margin: f64) -> Vec<ContactPoint> {
    let mut out = Vec::new();
    contact_patch(a, X_WA, b, X_WB, margin, &mut out);
    out
}

fn at(x: f64, y: f64, z: f64) -> Pose {
    Pose::from_translation(Vec3::new(x, y, z))
}

fn cube(half: f64) -> Shape {
    Shape::Box { half: [half; 3] }
}

fn cube_hull(half: f64) -> Shape {
    let points: Vec<Vec3> = (0..8)
        .map(|i| {
            let c = |k: i32| if i >> k & 1 == 1 { half } else { -half };
            Vec3::new(c(0), c(1), c(2))
        })
        .collect();
    Shape::Polytope(Arc::new(Polytope::from_points(&points).unwrap()))
}

/// Points are apart from one another, witness points span each distance, features are unique.
fn well_formed(points: &[ContactPoint], margin: f64) {
    for (k, p) in points.iter().enumerate() {
        assert!(p.phi < margin);
        assert!((p.p_WCb - p.p_WCa - p.n_AB_W * p.phi).norm() < 1e-9, "{p:?}");
        for q in &points[..k] {
            assert!((p.p_WCb - q.p_WCb).norm() > 1e-9, "a doubled point: {p:?} {q:?}");
            assert_ne!(p.feature, q.feature, "{p:?} {q:?}");
            assert_eq!(p.n_AB_W, q.n_AB_W);
        }
    }
    // no point lies inside the hull of the others, but for the deepest, which always stays
    let deepest = points.iter().map(|p| p.phi).fold(f64::INFINITY, f64::min);
    for (k, p) in points.iter().enumerate().filter(|(_, p)| points.len() > 3 && p.phi > deepest) {
        let u = p.n_AB_W.any_orthogonal();
        let w = p.n_AB_W.cross(u);
        let mut angles: Vec<f64> = points
            .iter()
            .enumerate()
            .filter(|(j, _)| *j != k)
            .map(|(_, q)| {
                let d = q.p_WCb - p.p_WCb;
                d.dot(w).atan2(d.dot(u))
            })
            .collect();
        angles.sort_by(f64::total_cmp);
        let turn = std::f64::consts::TAU;
        let widest = (0..angles.len())
            .map(|i| (angles[(i + 1) % angles.len()] - angles[i]).rem_euclid(turn))
            .fold(0.0, f64::max);
        // seen from a corner, all others lie within half a turn
        assert!(widest >= std::f64::consts::PI - 1e-6, "point {k} of {points:?} is inside");
    }
}

#[test]
fn box_on_box_touches_in_four_points() {
    for (lower, upper) in [
        (cube(0.5), cube(0.3)),
        (cube(0.3), cube(0.5)),
        (cube_hull(0.5), cube(0.3)),
        (cube_hull(0.3), cube_hull(0.5)),
    ] {
        let points = patch(&lower, &Pose::IDENTITY, &upper, &at(0.05, 0.1, 0.8), 0.02);
        assert_eq!(points.len(), 4);
        well_formed(&points, 0.02);
        for p in &points {
            assert!(p.phi.abs() < 1e-12 && (p.n_AB_W - Vec3::Z).norm() < 1e-12);
        }
    }
}

#[test]
fn turned_box_on_box_has_eight_points() {
    let turned = Pose::new(Quat::from_axis_angle(Vec3::Z, 0.7), Vec3::new(0.0, 0.0, 1.0));
    let points = patch(&cube(0.5), &Pose::IDENTITY, &cube(0.5), &turned, 0.02);
    assert_eq!(points.len(), 8);
    well_formed(&points, 0.02);
}

#[test]
fn box_on_plane_has_four_points_in_either_order() {
    let X = Pose::new(Quat::from_axis_angle(Vec3::Z, 0.4), Vec3::new(1.0, 2.0, 0.5));
    let points = patch(&Shape::HalfSpace, &Pose::IDENTITY, &cube(0.5), &X, 0.02);
    assert_eq!(points.len(), 4);
    well_formed(&points, 0.02);
    let flipped = patch(&cube(0.5), &X, &Shape::HalfSpace, &Pose::IDENTITY, 0.02);
    assert_eq!(flipped.len(), 4);
    assert!((flipped[0].n_AB_W + Vec3::Z).norm() < 1e-15);
}

#[test]
fn slightly_tilted_box_keeps_its_far_corners() {
    let tilted = Pose::new(Quat::from_axis_angle(Vec3::Y, 0.01), Vec3::new(0.0, 0.0, 0.505));
    for floor in [Shape::HalfSpace, Shape::Box { half: [2.0, 2.0, 1.0] }] {
        let X = if matches!(floor, Shape::HalfSpace) { Pose::IDENTITY } else { at(0.0, 0.0, -1.0) };
        let points = patch(&floor, &X, &cube(0.5), &tilted, 0.02);
        assert_eq!(points.len(), 4, "{floor:?}");
        let spread = points.iter().map(|p| p.phi).fold(f64::NEG_INFINITY, f64::max)
            - points.iter().map(|p| p.phi).fold(f64::INFINITY, f64::min);
        assert!((spread - 0.01).abs() < 1e-4, "{spread}");
    }
}

#[test]
fn capsule_on_box_and_plane_has_its_two_ends() {
    let lying = Pose::new(
        Quat::from_axis_angle(Vec3::X, std::f64::consts::FRAC_PI_2),
        Vec3::new(0.0, 0.0, 0.1),
    );
    let capsule = Shape::Capsule { radius: 0.1, half_length: 0.3 };
    let on_plane = patch(&Shape::HalfSpace, &Pose::IDENTITY, &capsule, &lying, 0.02);
    let on_box = patch(&cube(0.5), &at(0.0, 0.0, -0.5), &capsule, &lying, 0.02);
    for points in [on_plane, on_box] {
        assert_eq!(points.len(), 2);
        well_formed(&points, 0.02);
        assert!(points.iter().all(|p| p.phi.abs() < 1e-12));
    }
    // longer than the box: cut at its edges
    let long = Shape::Capsule { radius: 0.1, half_length: 2.0 };
    let points = patch(&cube(0.5), &at(0.0, 0.0, -0.5), &long, &lying, 0.02);
    assert_eq!(points.len(), 2);
    assert!(points.iter().all(|p| (p.p_WCa.y.abs() - 0.5).abs() < 1e-9), "{points:?}");
}

#[test]
fn cylinder_on_plane_stands_on_four_points_and_lies_on_two() {
    let cylinder = Shape::Cylinder { radius: 0.2, half_length: 0.5 };
    let standing = patch(&Shape::HalfSpace, &Pose::IDENTITY, &cylinder, &at(0.0, 0.0, 0.5), 0.02);
    assert_eq!(standing.len(), 4);
    well_formed(&standing, 0.02);
    let lying = Pose::new(
        Quat::from_axis_angle(Vec3::X, std::f64::consts::FRAC_PI_2),
        Vec3::new(0.0, 0.0, 0.2),
    );
    let points = patch(&Shape::HalfSpace, &Pose::IDENTITY, &cylinder, &lying, 0.02);
    assert_eq!(points.len(), 2);
    assert!(points.iter().all(|p| p.phi.abs() < 1e-12));
}

/// A box that rests on a box trembles by rounding; normal and features must not notice.
#[test]
fn noise_changes_neither_normal_nor_features() {
    let mut s = Samples::new(7);
    let rest = at(0.03, -0.02, 0.075);
    let (lower, upper) = (cube(0.04), Shape::Box { half: [0.035; 3] });
    let steady = patch(&lower, &Pose::IDENTITY, &upper, &rest, 0.02);
    assert_eq!(steady.len(), 4);
    for size in [1e-15, 1e-13, 1e-12, 1e-10] {
        for _ in 0..200 {
            let turn = Quat::from_rotation_vector(s.vec3(size));
            let X = Pose::new(turn, rest.translation + s.vec3(size));
            let points = patch(&lower, &Pose::IDENTITY, &upper, &X, 0.02);
            assert_eq!(points.len(), steady.len());
            for (p, q) in points.iter().zip(&steady) {
                assert_eq!(p.feature, q.feature, "noise {size}");
                assert!((p.n_AB_W - q.n_AB_W).norm() < 1e-9);
                assert!((p.p_WCb - q.p_WCb).norm() < 1e-7);
            }
        }
    }
}

/// The deepest point of a patch is the signed distance, for every pair without a cylinder.
#[test]
fn the_deepest_point_is_the_signed_distance() {
    let mut s = Samples::new(8);
    for _ in 0..400 {
        let mut shapes = vec![
            Shape::Sphere { radius: 0.4 },
            cube(s.between(0.3, 0.6)),
            Shape::Capsule { radius: 0.2, half_length: 0.5 },
            random_hull(&mut s, 12),
        ];
        let b = shapes.swap_remove((s.uniform() * 4.0) as usize);
        shapes.push(Shape::HalfSpace);
        for a in &shapes {
            let (X_WA, X_WB) = (s.pose(0.1), s.pose(1.2));
            let d = signed_distance(a, &X_WA, &b, &X_WB);
            let points = patch(a, &X_WA, &b, &X_WB, 0.3);
            assert_eq!(points.is_empty(), d.phi >= 0.3, "{a:?} {b:?} {d:?}");
            well_formed(&points, 0.3);
            if let Some(deepest) = points.iter().map(|p| p.phi).reduce(f64::min) {
                assert!((deepest - d.phi).abs() < 1e-9, "{a:?} {b:?}: {deepest} against {}", d.phi);
            }
        }
    }
}
