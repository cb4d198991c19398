//! Properties of patches of overlaps that can be ended along some directions only.

use crate::common::{Samples, random_hull};
use quasistep_geometry::{ContactPoint, NarrowPhase, Shape, signed_distance};
use quasistep_math::{Pose, Quat, Vec3};

fn patch(a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose, ways: &[Vec3]) -> Vec<ContactPoint> {
    let mut out = Vec::new();
    let found = NarrowPhase::new().contact_patch_along(a, X_WA, b, X_WB, ways, 0.02, &mut out);
    assert_eq!(found, !out.is_empty());
    out
}

fn shapes(s: &mut Samples) -> Vec<Shape> {
    vec![
        Shape::Sphere { radius: s.between(0.05, 0.4) },
        Shape::Box { half: [s.between(0.2, 0.6), s.between(0.2, 0.6), s.between(0.2, 0.6)] },
        Shape::Capsule { radius: s.between(0.05, 0.2), half_length: s.between(0.1, 0.5) },
        Shape::Cylinder { radius: s.between(0.1, 0.5), half_length: s.between(0.1, 0.5) },
        random_hull(s, 14),
        Shape::Ellipsoid { radii: [s.between(0.1, 0.5), s.between(0.1, 0.5), s.between(0.1, 0.5)] },
    ]
}

fn moved(X: &Pose, d: Vec3) -> Pose {
    Pose::new(X.rotation, X.translation + d)
}

/// The shortest shift along a unit vector that ends the overlap, in m, by bisection of the
/// distance.
fn shift(a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose, way: Vec3) -> f64 {
    let (mut low, mut high) = (0.0, 4.0);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        let apart = signed_distance(a, X_WA, b, &moved(X_WB, way * middle)).phi >= 0.0;
        *(if apart { &mut high } else { &mut low }) = middle;
    }
    high
}

/// Checks the patch: its deepest point is the separation along its normal, and the shift that it
/// requires is `least` (m).
fn check(
    [a, b]: [&Shape; 2],
    [X_WA, X_WB]: [&Pose; 2],
    points: &[ContactPoint],
    axes: &[Vec3],
    least: f64,
) -> f64 {
    let n = points[0].n_AB_W;
    let phi = points.iter().map(|p| p.phi).fold(f64::INFINITY, f64::min);
    for p in points {
        assert!((p.p_WCb - p.p_WCa - n * p.phi).norm() < 1e-9, "{p:?}");
        assert_eq!(p.n_AB_W, n);
    }
    let along = axes.iter().map(|u| u.dot(n).powi(2)).sum::<f64>().sqrt();
    let way = axes.iter().fold(Vec3::ZERO, |sum, u| sum + *u * u.dot(n)) * (1.0 / along);
    let wanted = -phi / along;
    // shifted by this much, the shapes are apart along the normal
    let after = signed_distance(a, X_WA, b, &moved(X_WB, way * (wanted + 1e-8)));
    assert!(after.phi > -1e-9, "{a:?} {b:?} {after:?}");
    assert!(wanted < least + 1e-7, "{a:?} {b:?} {axes:?}: {wanted} where {least} does");
    wanted
}

/// For every pair of solids and any direction: no shorter shift than the patch's ends the overlap.
#[test]
fn along_a_line_the_shift_is_the_least() {
    let mut s = Samples::new(31);
    for _ in 0..60 {
        for i in 0..6 {
            for j in 0..6 {
                let (a, b) = (shapes(&mut s).swap_remove(i), shapes(&mut s).swap_remove(j));
                let (X_WA, X_WB) = (s.pose(0.1), s.pose(0.3));
                let Some(way) = s.vec3(1.0).try_normalize() else { continue };
                if signed_distance(&a, &X_WA, &b, &X_WB).phi >= -1e-3 {
                    continue;
                }
                let least = [way, -way].map(|u| shift(&a, &X_WA, &b, &X_WB, u));
                // scaled and repeated directions span the same line
                let ways = [way * 0.3, way * -2.0];
                let points = patch(&a, &X_WA, &b, &X_WB, &ways);
                let least = least[0].min(least[1]);
                let wanted = check([&a, &b], [&X_WA, &X_WB], &points, &[way], least);
                assert!(wanted > least - 1e-7, "{a:?} {b:?}: {wanted} < {least}");
            }
        }
    }
}

/// In a plane of directions: no shift in a hundred sampled directions is shorter.
#[test]
fn in_a_plane_the_shift_is_the_least() {
    let mut s = Samples::new(32);
    let mut worst = 0.0_f64;
    for _ in 0..6 {
        for i in 0..6 {
            for j in 0..6 {
                let (a, b) = (shapes(&mut s).swap_remove(i), shapes(&mut s).swap_remove(j));
                let (X_WA, X_WB) = (s.pose(0.1), s.pose(0.3));
                let turn = s.pose(0.1).rotation;
                let [u, w] = [Vec3::X, Vec3::Y].map(|axis| turn.rotate(axis));
                if signed_distance(&a, &X_WA, &b, &X_WB).phi >= -1e-3 {
                    continue;
                }
                let least = (0..100).fold(f64::INFINITY, |least, k| {
                    let (sin, cos) = (f64::from(k) * std::f64::consts::TAU / 100.0).sin_cos();
                    least.min(shift(&a, &X_WA, &b, &X_WB, u * cos + w * sin))
                });
                let points = patch(&a, &X_WA, &b, &X_WB, &[u, u + w * 0.1]);
                let wanted = check([&a, &b], [&X_WA, &X_WB], &points, &[u, w], least);
                worst = worst.max(1.0 - wanted / least);
            }
        }
    }
    // sampled directions are 3.6° apart
    assert!(worst < 0.05, "{worst}");
}

/// A ball in a corner of a box, nearest to the top. If it may move along x only, it leaves by the x
/// side; if it may move along x and y, by the nearer of the two sides.
#[test]
fn a_corner_has_a_face_for_each_way() {
    let (a, b) = (Shape::Box { half: [0.5; 3] }, Shape::Sphere { radius: 0.1 });
    let X_WB = Pose::from_translation(Vec3::new(0.3, 0.4, 0.45));
    let (x, y, z) = (Vec3::X, Vec3::Y, Vec3::Z);
    for (ways, n, phi) in [
        (vec![x], x, -0.3),
        (vec![-y * 3.0], y, -0.2),
        (vec![x, y], y, -0.2),
        (vec![x + z], z, -0.15),
        (vec![x, y, z], z, -0.15),
    ] {
        let points = patch(&a, &Pose::IDENTITY, &b, &X_WB, &ways);
        assert_eq!(points.len(), 1);
        assert!((points[0].n_AB_W - n).norm() < 1e-12, "{ways:?} {points:?}");
        assert!((points[0].phi - phi).abs() < 1e-12, "{ways:?} {points:?}");
        let back = patch(&b, &X_WB, &a, &Pose::IDENTITY, &ways);
        assert!((back[0].n_AB_W + n).norm() < 1e-12, "{ways:?} {back:?}");
    }
    assert!(patch(&a, &Pose::IDENTITY, &b, &X_WB, &[]).is_empty());
    let apart = Pose::from_translation(Vec3::new(0.0, 0.0, 0.7));
    assert!(patch(&a, &Pose::IDENTITY, &b, &apart, &[x]).is_empty());
    assert!(patch(&Shape::HalfSpace, &Pose::IDENTITY, &b, &Pose::IDENTITY, &[x]).is_empty());
}

/// Exactly between two exits the first is chosen, and rounding does not change that.
#[test]
fn rounding_does_not_choose_between_equals() {
    let mut s = Samples::new(33);
    let cube = Shape::Box { half: [0.5; 3] };
    for b in [Shape::Sphere { radius: 0.1 }, Shape::Box { half: [0.1; 3] }] {
        let centre = Vec3::new(0.4, 0.4, 0.45);
        for ways in [vec![Vec3::X, Vec3::Y], vec![Vec3::X - Vec3::Y]] {
            let steady = patch(&cube, &Pose::IDENTITY, &b, &Pose::from_translation(centre), &ways);
            for _ in 0..50 {
                let X =
                    Pose::new(Quat::from_rotation_vector(s.vec3(1e-14)), centre + s.vec3(1e-12));
                let points = patch(&cube, &Pose::IDENTITY, &b, &X, &ways);
                assert_eq!(points.len(), steady.len());
                for (p, q) in points.iter().zip(&steady) {
                    assert_eq!(p.feature, q.feature);
                    assert!((p.n_AB_W - q.n_AB_W).norm() < 1e-9, "{p:?} {q:?}");
                }
            }
        }
    }
}
