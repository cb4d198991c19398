//! Properties of contact patches.

use crate::common::{Samples, random_hull};
use quasistep_geometry::{ContactPoint, Polytope, Shape, contact_patch, signed_distance};
use quasistep_math::{Pose, Quat, Vec3};
use std::f64::consts::{FRAC_PI_2, PI};
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

/// Checks that points are distinct, that witness points are `phi` apart, and that features are
/// unique.
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
    // a point inside the hull of others would carry no load, unless it is lower
    let deepest = points.iter().map(|p| p.phi).fold(f64::INFINITY, f64::min);
    let Some(n) = points.first().map(|p| p.n_AB_W) else { return };
    let (u, w) = (n.any_orthogonal(), n.cross(n.any_orthogonal()));
    let area = |a: &ContactPoint, b: &ContactPoint, c: &ContactPoint| {
        let (d, e) = (b.p_WCb - a.p_WCb, c.p_WCb - a.p_WCb);
        d.dot(u) * e.dot(w) - d.dot(w) * e.dot(u)
    };
    for p in points.iter().filter(|p| p.phi > deepest) {
        for (a, b, c) in triples(points) {
            let all = area(a, b, c);
            let parts = [area(p, b, c), area(a, p, c), area(a, b, p)].map(|x| x / all);
            if all.abs() > 1e-9 && parts.iter().all(|x| *x > 1e-6) {
                let level = parts[0] * a.phi + parts[1] * b.phi + parts[2] * c.phi;
                assert!(p.phi < level - 1e-10, "{p:?} is amid others and no lower: {points:?}");
            }
        }
    }
}

fn triples(
    p: &[ContactPoint],
) -> impl Iterator<Item = (&ContactPoint, &ContactPoint, &ContactPoint)> {
    (0..p.len())
        .flat_map(move |i| (0..i).flat_map(move |j| (0..j).map(move |k| (&p[i], &p[j], &p[k]))))
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

/// A capsule overhangs the edge of a box, like a peg held between two pads. Tilted either way it
/// touches that edge or the box's face. It keeps both ends of the shared stretch, each with its own
/// distance.
#[test]
fn tilted_capsule_that_juts_over_an_edge_keeps_both_ends() {
    let capsule = Shape::Capsule { radius: 0.1, half_length: 0.3 };
    for tilt in [-0.03, -1e-3, -1e-4, -2e-5, -1e-6, 0.0, 1e-6, 2e-5, 1e-4, 1e-3, 0.03_f64] {
        // along x: the left end above the middle of the box, the right one 0.1 m beyond the box
        let turn = Quat::from_rotation_vector(Vec3::Y * (FRAC_PI_2 + tilt));
        let X = Pose { rotation: turn, translation: Vec3::new(0.3, 0.02, 0.101) };
        let points = patch(&cube(0.5), &at(0.0, 0.0, -0.5), &capsule, &X, 0.05);
        assert_eq!(points.len(), 2, "{tilt}: {points:?}");
        well_formed(&points, 0.05);
        let d = signed_distance(&cube(0.5), &at(0.0, 0.0, -0.5), &capsule, &X);
        let [low, high] = if tilt < 0.0 { [0.0, 0.5] } else { [0.5, 0.0] };
        for (x, is_nearest) in [(low, true), (high, false)] {
            let point = points.iter().find(|p| (p.p_WCb.x - x).abs() < 0.01).unwrap();
            // height of the axis above the face there less the radius, to second order in the tilt
            let height = 0.101 - (x - 0.3) * tilt - 0.1;
            assert!((point.phi - height).abs() < 0.2 * tilt * tilt + 1e-12, "{tilt}: {point:?}");
            assert!(!is_nearest || (point.phi - d.phi).abs() < 1e-12, "{tilt}: {point:?}, {d:?}");
        }
    }
}

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

/// The deepest point of a patch is the signed distance, for every pair.
#[test]
fn the_deepest_point_is_the_signed_distance() {
    let mut s = Samples::new(8);
    for _ in 0..400 {
        let mut shapes = vec![
            Shape::Sphere { radius: 0.4 },
            cube(s.between(0.3, 0.6)),
            Shape::Capsule { radius: 0.2, half_length: 0.5 },
            random_hull(&mut s, 12),
            Shape::Cylinder { radius: s.between(0.1, 0.6), half_length: s.between(0.02, 0.8) },
            Shape::Ellipsoid { radii: [s.between(0.1, 0.6), s.between(0.1, 0.6), 0.3] },
        ];
        let b = shapes.swap_remove((s.uniform() * 6.0) as usize);
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

fn can(radius: f64, half_length: f64) -> Shape {
    Shape::Cylinder { radius, half_length }
}

/// Pose of a shape whose axis lies along y at height `z`, in m.
fn lying(z: f64) -> Pose {
    Pose::new(Quat::from_axis_angle(Vec3::X, FRAC_PI_2), Vec3::new(0.0, 0.0, z))
}

fn spread(points: &[ContactPoint]) -> f64 {
    let far =
        |p: &ContactPoint| points.iter().map(|q| (q.p_WCb - p.p_WCb).norm()).fold(0.0, f64::max);
    points.iter().map(far).fold(0.0, f64::max)
}

fn least(points: &[ContactPoint]) -> f64 {
    points.iter().map(|p| p.phi).fold(f64::INFINITY, f64::min)
}

/// A standing cylinder has points around its whole rim: on a plane, a box, a hull, a larger
/// cylinder and an equal one. It tips at no less than 98 % of a disc's tipping slope.
#[test]
fn standing_cylinder_has_points_around_its_rim() {
    let above = at(0.0, 0.0, 0.5);
    let floors = [
        (Shape::HalfSpace, Pose::IDENTITY),
        (cube(1.0), at(0.0, 0.0, -1.0)),
        (cube_hull(1.0), at(0.0, 0.0, -1.0)),
        (can(0.5, 0.3), at(0.0, 0.0, -0.3)),
        (can(0.2, 0.3), at(0.0, 0.0, -0.3)),
    ];
    for (floor, X) in floors {
        for points in [
            patch(&floor, &X, &can(0.2, 0.5), &above, 0.02),
            patch(&can(0.2, 0.5), &above, &floor, &X, 0.02),
        ] {
            assert_eq!(points.len(), 16, "{floor:?}: {points:?}");
            well_formed(&points, 0.02);
            let mut ways: Vec<f64> = points.iter().map(|p| p.p_WCb.y.atan2(p.p_WCb.x)).collect();
            ways.sort_by(f64::total_cmp);
            ways.push(ways[0] + 2.0 * PI);
            assert!(ways.windows(2).all(|w| ((w[1] - w[0]) / 2.0).cos() > 0.98), "{ways:?}");
            for p in &points {
                assert!(p.phi.abs() < 1e-14, "{floor:?} {p:?}");
                assert!((p.p_WCb.x.hypot(p.p_WCb.y) - 0.2).abs() < 1e-14);
                assert!(p.n_AB_W.cross(Vec3::Z).norm() < 1e-15);
            }
        }
    }
}

/// A cylinder tilted on its rim has its lowest point to rounding, and all rim points within the
/// margin.
#[test]
fn tilted_cylinder_keeps_its_lowest_point_and_its_rim() {
    let mut s = Samples::new(21);
    for _ in 0..300 {
        let tilt = 10f64.powf(s.between(-9.0, -0.3));
        let way = s.between(0.0, 6.3);
        let turn = Quat::from_axis_angle(Vec3::new(way.cos(), way.sin(), 0.0), tilt);
        let X = Pose::new(turn, Vec3::new(0.0, 0.0, 0.55));
        for (floor, X_WA) in [(Shape::HalfSpace, Pose::IDENTITY), (cube(2.0), at(0.0, 0.0, -2.0))] {
            let d = signed_distance(&floor, &X_WA, &can(0.2, 0.5), &X);
            assert!((d.phi - (0.55 - 0.5 * tilt.cos() - 0.2 * tilt.sin())).abs() < 1e-12);
            let points = patch(&floor, &X_WA, &can(0.2, 0.5), &X, d.phi + 0.02);
            well_formed(&points, d.phi + 0.02);
            assert!((least(&points) - d.phi).abs() < 1e-9, "{tilt}: {} {}", least(&points), d.phi);
            // rim points fixed to the body that are within the margin
            let within = (0..16)
                .filter(|k| {
                    let (sin, cos) = (PI / 8.0 * f64::from(*k)).sin_cos();
                    X.transform_point(Vec3::new(0.2 * cos, 0.2 * sin, -0.5)).z < d.phi + 0.02
                })
                .count();
            assert!(points.len() >= within.max(1), "{tilt}: {} of {within}", points.len());
            assert!(points.len() <= within + 1);
        }
    }
}

/// A lying cylinder has the two ends of its contact line, cut where the floor ends.
#[test]
fn lying_cylinder_has_the_two_ends_of_its_line() {
    let short = can(0.1, 0.3);
    let floors = [
        (Shape::HalfSpace, Pose::IDENTITY, 0.6),
        (cube(0.5), at(0.0, 0.0, -0.5), 0.6),
        (cube_hull(0.5), at(0.0, 0.0, -0.5), 0.6),
        (cube(0.2), at(0.0, 0.0, -0.2), 0.4),
        (can(0.5, 0.2), at(0.0, 0.0, -0.2), 0.6),
        (can(0.2, 0.2), at(0.0, 0.0, -0.2), 0.4),
        // on another cylinder, a capsule, and the edge of a box
        (can(0.5, 0.2), lying(-0.5), 0.4),
        (Shape::Capsule { radius: 0.5, half_length: 0.2 }, lying(-0.5), 0.4),
        (
            Shape::Box { half: [0.2; 3] },
            Pose::new(
                Quat::from_axis_angle(Vec3::Y, FRAC_PI_2 / 2.0),
                Vec3::new(0.0, 0.0, -0.2 * 2f64.sqrt()),
            ),
            0.4,
        ),
    ];
    for (floor, X_WA, length) in floors {
        for tilt in [0.0, 1e-12, 1e-6, 1e-3] {
            let X = Pose::new(Quat::from_axis_angle(Vec3::X, tilt), Vec3::ZERO) * lying(0.1);
            let points = patch(&floor, &X_WA, &short, &X, 0.02);
            assert_eq!(points.len(), 2, "{floor:?} tilt {tilt}: {points:?}");
            well_formed(&points, 0.02);
            let d = signed_distance(&floor, &X_WA, &short, &X);
            assert!((least(&points) - d.phi).abs() < 1e-9, "{floor:?} tilt {tilt}");
            assert!((spread(&points) - length).abs() < 3e-3 * tilt.max(1e-9) / 1e-3, "{points:?}");
        }
    }
}

/// A cap over the end of a box: rim points over the box, and crossings of the box's edge with the
/// rim.
#[test]
fn cap_is_cut_by_a_face_and_a_face_by_a_cap() {
    // the box covers the part with x < 0.1 of a cap of radius 0.2
    let half_off =
        patch(&cube(1.0), &at(-0.9, 0.0, -1.0), &can(0.2, 0.5), &at(0.0, 0.0, 0.5), 0.02);
    well_formed(&half_off, 0.02);
    // eleven of the sixteen rim points, those from 67.5°, and two crossings
    assert_eq!(half_off.len(), 13, "{half_off:?}");
    let cut = half_off.iter().filter(|p| (p.p_WCa.x - 0.1).abs() < 1e-12).count();
    assert_eq!(cut, 2);
    assert!(half_off.iter().all(|p| p.phi.abs() < 1e-14 && p.p_WCa.x < 0.1 + 1e-12));
    // a small box on a large cap gives the box's corners
    let corners = patch(&can(0.5, 0.5), &at(0.0, 0.0, -0.5), &cube(0.1), &at(0.1, 0.0, 0.1), 0.02);
    well_formed(&corners, 0.02);
    assert_eq!(corners.len(), 4);
    // partly overlapping caps: five and three rim points inside the other cap, and two crossings
    let lens = patch(&can(0.5, 0.5), &at(0.0, 0.0, -0.5), &can(0.4, 0.5), &at(0.6, 0.0, 0.5), 0.02);
    well_formed(&lens, 0.02);
    assert_eq!(lens.len(), 10, "{lens:?}");
    let crossing = |p: &&ContactPoint| {
        (p.p_WCa.x.hypot(p.p_WCa.y) - 0.5).abs() < 1e-12
            && ((p.p_WCa.x - 0.6).hypot(p.p_WCa.y) - 0.4).abs() < 1e-12
    };
    assert_eq!(lens.iter().filter(crossing).count(), 2);
}

/// Parallel lines give two points: capsules, box edges, and one of each.
#[test]
fn parallel_lines_touch_in_two_points() {
    let rod = Shape::Capsule { radius: 0.1, half_length: 0.3 };
    let on_edge =
        |z: f64| Pose::new(Quat::from_axis_angle(Vec3::Y, FRAC_PI_2 / 2.0), Vec3::new(0.0, 0.0, z));
    let reach = 0.2 * 2f64.sqrt();
    let lower = [(rod.clone(), lying(-0.1), 0.4), (cube(0.2), on_edge(-reach), 0.4)];
    let upper = [
        (Shape::Capsule { radius: 0.1, half_length: 0.2 }, lying(0.1)),
        (cube(0.2), on_edge(reach)),
    ];
    for (a, X_WA, length) in &lower {
        for (b, X_WB) in &upper {
            for noise in [0.0, 1e-13, 1e-10, 1e-4] {
                let X_WB = Pose::new(
                    Quat::from_axis_angle(Vec3::Z, noise) * X_WB.rotation,
                    X_WB.translation,
                );
                let points = patch(a, X_WA, b, &X_WB, 0.02);
                assert!(matches!(points.len(), 2 | 3), "{a:?} {b:?} noise {noise}: {points:?}");
                let d = signed_distance(a, X_WA, b, &X_WB);
                assert!((least(&points) - d.phi).abs() < 1e-9);
                assert!((spread(&points) - length).abs() < 1e-3, "{points:?}");
            }
        }
    }
    // crossed at a right angle: one point
    let across = Pose::new(Quat::from_axis_angle(Vec3::Y, FRAC_PI_2), Vec3::new(0.0, 0.0, 0.1));
    assert_eq!(patch(&rod, &lying(-0.1), &rod, &across, 0.02).len(), 1);
}

/// A cylinder or capsule whose pose changes by rounding keeps its points and their features.
#[test]
fn noise_does_not_change_the_features_of_round_patches() {
    let mut s = Samples::new(22);
    let can = can(0.04, 0.05);
    let rests = [
        (Shape::HalfSpace, Pose::IDENTITY, at(0.0, 0.0, 0.05)),
        (Shape::HalfSpace, Pose::IDENTITY, lying(0.04)),
        (cube(0.1), at(0.01, 0.0, -0.1), at(0.0, 0.0, 0.05)),
        (cube(0.1), at(0.08, 0.0, -0.1), at(0.0, 0.0, 0.05)),
        (cube(0.1), at(0.01, 0.0, -0.1), lying(0.04)),
        (cube(0.02), at(0.0, 0.0, -0.02), lying(0.04)),
        (can.clone(), at(0.0, 0.0, -0.05), at(0.0, 0.0, 0.05)),
        (can.clone(), at(0.0, 0.0, -0.05), at(0.03, 0.0, 0.05)),
        (can.clone(), at(0.0, 0.0, -0.05), lying(0.04)),
        (can.clone(), lying(-0.04), lying(0.04)),
        (Shape::Capsule { radius: 0.04, half_length: 0.05 }, lying(-0.04), lying(0.04)),
    ];
    for (floor, X_WA, rest) in rests {
        let named = |X: &Pose| {
            let mut points = patch(&floor, &X_WA, &can, X, 0.02);
            points.sort_by_key(|p| p.feature);
            points
        };
        let steady = named(&rest);
        assert!(steady.len() >= 2, "{floor:?} {steady:?}");
        for size in [1e-15, 1e-13, 1e-12, 1e-11, 1e-10] {
            for _ in 0..100 {
                let turn = Quat::from_rotation_vector(s.vec3(size)) * rest.rotation;
                let points = named(&Pose::new(turn, rest.translation + s.vec3(size)));
                assert_eq!(
                    points.len(),
                    steady.len(),
                    "{floor:?} noise {size}: {steady:?} {points:?}"
                );
                for (p, q) in points.iter().zip(&steady) {
                    assert_eq!(p.feature, q.feature, "{floor:?} noise {size}");
                    // a shift of 1e-10 m turns the normal of two cans 0.08 m apart by 2e-9
                    assert!(
                        (p.n_AB_W - q.n_AB_W).norm() < 5e-9,
                        "{floor:?} noise {size}: {p:?} {q:?}"
                    );
                    assert!(
                        (p.p_WCb - q.p_WCb).norm() < 1e-7,
                        "{floor:?} noise {size}: {p:?} {q:?}"
                    );
                }
            }
        }
    }
}

/// A bowl's underside: a ring of low corners inside a ring of higher ones. Both rings may carry
/// load.
#[test]
fn rounded_underside_keeps_its_low_points() {
    let mut corners = Vec::new();
    for k in 0..6 {
        let (sin, cos) = (f64::from(k) * FRAC_PI_2 * 4.0 / 6.0).sin_cos();
        corners.push(Vec3::new(0.05 * cos, 0.05 * sin, 0.0));
        corners.push(Vec3::new(0.1 * cos, 0.1 * sin, 0.015));
        corners.push(Vec3::new(0.1 * cos, 0.1 * sin, 0.1));
    }
    let bowl = Shape::Polytope(Arc::new(Polytope::from_points(&corners).unwrap()));
    let turn = Quat::from_axis_angle(Vec3::X, 1e-3);
    let X = Pose::new(turn, Vec3::new(0.0, 0.0, 1e-3));
    let points = patch(&Shape::HalfSpace, &Pose::IDENTITY, &bowl, &X, 0.02);
    assert_eq!(points.len(), 8);
    well_formed(&points, 0.02);
    let low = points.iter().filter(|p| p.phi < 2e-3).count();
    assert!(low >= 4, "{low} low points: {points:?}");
}

/// Rim points are fixed to the body: they keep their features while it turns, slides, tilts or
/// overhangs an edge.
#[test]
fn points_of_a_rim_go_with_the_body() {
    let mut s = Samples::new(23);
    let can = can(0.2, 0.5);
    let mut places: [Option<Vec3>; 16] = [None; 16];
    let mut seen = 0;
    for k in 0..300 {
        let tilt = s.vec3(if k % 2 == 0 { 0.0 } else { 1e-3 });
        let turn =
            Quat::from_rotation_vector(tilt) * Quat::from_axis_angle(Vec3::Z, s.between(-9.0, 9.0));
        let X = Pose::new(turn, s.vec3(0.2) * 0.01 + Vec3::new(s.between(-0.3, 0.3), 0.0, 0.5));
        for (floor, X_WA) in [(Shape::HalfSpace, Pose::IDENTITY), (cube(0.5), at(-0.5, 0.0, -0.5))]
        {
            for p in patch(&floor, &X_WA, &can, &X, 0.05) {
                let low = (p.feature & 0xff_ffff) as usize;
                let Some(place) = places.get_mut(low) else { continue };
                let here = X.inverse_transform_point(p.p_WCb);
                let there = *place.get_or_insert(here);
                assert!((here - there).norm() < 1e-12, "{floor:?} {low}: {here:?} {there:?}");
                seen += 1;
            }
        }
    }
    assert!(seen > 5000 && places.iter().all(Option::is_some), "{seen} {places:?}");
}

/// Corners on the edge of the reference face, up to rounding.
#[test]
fn points_stay_on_both_shapes_where_corners_lie_on_edges() {
    let mut samples = Samples::new(11);
    let half = 0.025;
    for _ in 0..2000 {
        // corners are a nanometre outside an edge, which is the tolerance of the clipping
        let off = 1e-9 * (1.0 + samples.between(-1e-3, 1e-3));
        let turn = Quat::from_axis_angle(Vec3::X, samples.between(-1e-10, 1e-10));
        let X_WB = Pose::new(turn, Vec3::new(2.0 * half, off, 0.0));
        let points = patch(&cube(half), &Pose::IDENTITY, &cube(half), &X_WB, 0.01);
        assert!(points.len() >= 2, "{off} {turn:?}");
        for p in points {
            assert!(p.p_WCa.max_abs() < 4.0 * half && p.phi > -1e-3, "{off} {turn:?}: {p:?}");
        }
    }
}

/// Edges that are parallel up to rounding: their common normal has few digits.
#[test]
fn boxes_that_lie_on_one_another_touch_whatever_the_rounding_of_their_turn() {
    let plank = Shape::Box { half: [0.5, 0.5, 0.05] };
    let cube = Shape::Box { half: [0.1, 0.1, 0.05] };
    let X_WA = Pose::new(
        Quat::new(1.0, 1.0571033953448638e-18, -4.144523192084313e-18, 6.69297821471401e-20),
        Vec3::new(0.5, 9.394676802119252e-21, -0.05),
    );
    let X_WB = Pose::new(
        Quat::new(1.0, -7.471959059466629e-18, -1.3795100088457948e-17, -1.5706609888441471e-9),
        Vec3::new(0.16478799999999996, -4.921822815059441e-10, 0.05),
    );
    assert_eq!(patch(&plank, &X_WA, &cube, &X_WB, 0.02).len(), 4);
    let mut samples = Samples::new(12);
    for k in 0..20000 {
        let small = |samples: &mut Samples, size: f64| size * samples.between(-1.0, 1.0);
        let turn = 10_f64.powf(samples.between(-12.0, -6.0));
        let q = |samples: &mut Samples, z: f64| {
            Quat::new(1.0, small(samples, 2e-17), small(samples, 2e-17), z)
        };
        let z = small(&mut samples, turn);
        let X_WA = Pose::new(q(&mut samples, 0.0), Vec3::new(0.5, 0.0, -0.05));
        let at = Vec3::new(
            samples.between(0.1, 0.9),
            small(&mut samples, 1e-9),
            0.05 + small(&mut samples, 1e-17),
        );
        let X_WB = Pose::new(q(&mut samples, z), at);
        let points = patch(&plank, &X_WA, &cube, &X_WB, 0.02);
        assert_eq!(points.len(), 4, "{k}: {X_WA:?} {X_WB:?}");
    }
}
