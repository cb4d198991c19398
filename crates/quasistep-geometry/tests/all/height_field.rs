//! Height fields: against single boxes, against their own prisms, and derivatives against
//! differences.

use crate::common::{Samples, random_hull};
use quasistep_geometry::{
    Choice, ContactMotion, ContactPoint, HeightField, NarrowPhase, PointCloud, Polytope, Shape,
    signed_distance,
};
use quasistep_math::{Pose, Quat, Vec3};
use std::sync::Arc;

fn field(n: [usize; 2], size: [f64; 2], z: impl Fn(f64, f64) -> f64) -> Shape {
    let at = |k: usize, i: usize| (i as f64 / (n[k] - 1) as f64 - 0.5) * size[k];
    let heights = (0..n[0] * n[1]).map(|k| z(at(0, k % n[0]), at(1, k / n[0]))).collect();
    Shape::HeightField(Arc::new(HeightField::new(n, size, heights, 0.5).unwrap()))
}

fn random_field(s: &mut Samples) -> Shape {
    let (a, b, c) = (s.between(3.0, 9.0), s.between(3.0, 9.0), s.between(0.0, 0.15));
    field([9, 12], [1.6, 2.2], |x, y| c * ((a * x).sin() + (b * y + x).cos()))
}

/// The prisms of a field, as polytopes of their corners.
fn prisms(shape: &Shape) -> Vec<Shape> {
    let Shape::HeightField(field) = shape else { panic!("no height field") };
    let (corners, triangles) = field.mesh(1000);
    let low = corners.iter().map(|p| p.z).fold(f64::INFINITY, f64::min);
    let [nx, ny] = field.n();
    let ground = &triangles[..2 * (nx - 1) * (ny - 1)];
    let prism = |t: &[u32; 3]| {
        let top = t.map(|k| corners[k as usize]);
        let points = [top, top.map(|p| Vec3 { z: low, ..p })].concat();
        Shape::Polytope(Arc::new(Polytope::from_points(&points).unwrap()))
    };
    ground.iter().map(prism).collect()
}

pub(crate) fn patch(
    a: &Shape,
    X_WA: &Pose,
    b: &Shape,
    X_WB: &Pose,
    margin: f64,
) -> Vec<ContactPoint> {
    let mut out = Vec::new();
    NarrowPhase::new().contact_patch(a, X_WA, b, X_WB, margin, &mut out);
    out
}

pub(crate) fn bodies(s: &mut Samples) -> Vec<Shape> {
    let mut size = || s.between(0.05, 0.3);
    let mut all = vec![
        Shape::Sphere { radius: size() },
        Shape::Box { half: [size(), size(), size()] },
        Shape::Capsule { radius: size(), half_length: size() },
        Shape::Cylinder { radius: size(), half_length: size() },
        Shape::Ellipsoid { radii: [size(), size(), size()] },
    ];
    let Shape::Polytope(hull) = random_hull(s, 12) else { return all };
    let small: Vec<Vec3> = hull.vertices().iter().map(|v| *v * 0.2).collect();
    all.push(Shape::Polytope(Arc::new(Polytope::from_points(&small).unwrap())));
    all
}

#[test]
fn a_flat_field_has_the_contact_points_of_one_box() {
    let ground = field([11, 11], [2.0, 2.0], |_, _| 0.0);
    let slab = Shape::Box { half: [1.0, 1.0, 0.25] };
    let X_WS = Pose::from_translation(Vec3::Z * -0.25);
    let mut s = Samples::new(3);
    for k in 0..200 {
        let tilt = [0.0, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.3][k % 9];
        let half = [s.between(0.02, 0.3), s.between(0.02, 0.3), s.between(0.02, 0.3)];
        let turn = Quat::from_rotation_vector(Vec3::Z * s.between(-3.0, 3.0));
        let R = Quat::from_rotation_vector(Vec3::new(tilt, 0.4 * tilt, 0.0)) * turn;
        let depth = [0.004, 0.0, -1e-7, -1e-5][k % 4];
        let block = Shape::Box { half };
        let low = block.aabb(&Pose::new(R, Vec3::ZERO)).min.z;
        let p = Vec3::new(s.between(-0.4, 0.4), s.between(-0.4, 0.4), depth - low);
        let X = Pose::new(R, p);
        let margin = 0.02;
        let mut want = patch(&slab, &X_WS, &block, &X, margin);
        let mut got = patch(&ground, &Pose::IDENTITY, &block, &X, margin);
        let order = |p: &ContactPoint| ((p.p_WCb.x * 1e6) as i64, (p.p_WCb.y * 1e6) as i64);
        want.sort_by_key(order);
        got.sort_by_key(order);
        assert_eq!(want.len(), got.len(), "case {k}, tilt {tilt}: {want:#?} {got:#?}");
        for (w, g) in want.iter().zip(&got) {
            let apart = (w.p_WCb - g.p_WCb).max_abs().max((w.n_AB_W - g.n_AB_W).max_abs());
            let apart = apart.max((w.phi - g.phi).abs());
            assert!(apart < 2e-8, "case {k}, tilt {tilt}, depth {depth}: {w:?} {g:?}");
        }
    }
}

#[test]
fn round_bodies_on_a_flat_field_have_one_normal() {
    let ground = field([21, 21], [2.0, 2.0], |_, _| 0.0);
    let mut s = Samples::new(5);
    for k in 0..300 {
        for body in bodies(&mut s) {
            let R = s.rotation();
            let low = body.aabb(&Pose::new(R, Vec3::ZERO)).min.z;
            let mut p = Vec3::new(s.between(-0.4, 0.4), s.between(-0.4, 0.4), 0.0);
            if k % 3 == 0 {
                // exactly above an inner edge or corner
                p.x = (p.x * 10.0).round() / 10.0;
            }
            p.z = [0.01, 0.0, -1e-6][k % 3] - low;
            let points = patch(&ground, &Pose::IDENTITY, &body, &Pose::new(R, p), 0.015);
            assert!(!points.is_empty(), "case {k}: {body:?}");
            let least = points.iter().map(|p| p.phi).fold(1.0, f64::min);
            assert!((least - [0.01, 0.0, -1e-6][k % 3]).abs() < 1e-9, "{body:?}: {least}");
            for point in points {
                assert!((point.n_AB_W - Vec3::Z).max_abs() < 1e-9, "{k} {body:?}: {point:?}");
            }
        }
    }
}

#[test]
fn distances_are_those_of_the_nearest_prism() {
    let mut s = Samples::new(7);
    for _ in 0..60 {
        let ground = random_field(&mut s);
        let parts = prisms(&ground);
        let X_WG = s.pose(0.3);
        for body in bodies(&mut s) {
            let X = X_WG * Pose::new(s.rotation(), s.vec3(1.2) + Vec3::Z * 0.8);
            let all = parts.iter().map(|part| signed_distance(part, &X_WG, &body, &X).phi);
            let want = all.fold(f64::INFINITY, f64::min);
            let got = signed_distance(&ground, &X_WG, &body, &X);
            if want > 0.0 {
                assert!((got.phi - want).abs() < 1e-9, "{body:?}: {} {want}", got.phi);
                let back = signed_distance(&body, &X, &ground, &X_WG);
                assert!((back.n_AB_W + got.n_AB_W).max_abs() < 1e-9 && back.phi == got.phi);
                let margin = want + 0.02;
                let least = patch(&ground, &X_WG, &body, &X, margin);
                let least = least.iter().map(|p| p.phi).fold(f64::INFINITY, f64::min);
                assert!((least - want).abs() < 1e-9, "{body:?}: {least} {want}");
            } else {
                assert!(got.phi < 0.0, "{body:?}: {} {want}", got.phi);
            }
        }
    }
}

#[test]
fn clouds_have_the_distances_of_their_points() {
    let mut s = Samples::new(9);
    for _ in 0..30 {
        let ground = random_field(&mut s);
        let parts = prisms(&ground);
        let points: Vec<Vec3> = (0..40).map(|_| s.vec3(0.3)).collect();
        let cloud = PointCloud::new(&points, None, 0.01, Choice::Nearest { k: 40 }).unwrap();
        let X = Pose::new(s.rotation(), s.vec3(0.5) + Vec3::Z * 0.6);
        let near = patch(&ground, &Pose::IDENTITY, &Shape::Cloud(Arc::new(cloud)), &X, 0.4);
        let mut count = 0;
        for point in &near {
            let ball = Shape::Sphere { radius: 0.01 };
            let at = Pose::from_translation(X.transform_point(points[point.feature as usize]));
            let all =
                parts.iter().map(|part| signed_distance(part, &Pose::IDENTITY, &ball, &at).phi);
            let want = all.fold(f64::INFINITY, f64::min);
            if want > -0.01 {
                assert!((point.phi - want).abs() < 1e-9, "{} {want}", point.phi);
                count += 1;
            }
        }
        assert!(count > 0 || near.is_empty());
    }
}

/// The pose `X` after a small motion: rotated by `w` about `p`, translated by `v`.
fn moved(X: &Pose, p: Vec3, w: Vec3, v: Vec3) -> Pose {
    let R = Quat::from_rotation_vector(w);
    Pose::new(R * X.rotation, p + v + R.rotate(X.translation - p))
}

fn entries(p: &ContactPoint) -> [f64; 10] {
    let (n, a, b) = (p.n_AB_W, p.p_WCa, p.p_WCb);
    [p.phi, n.x, n.y, n.z, a.x, a.y, a.z, b.x, b.y, b.z]
}

fn predicted(m: &ContactMotion, w: Vec3, v: Vec3) -> [f64; 10] {
    let (n, a, b) = (m.n.of(w, v), m.a.of(w, v), m.b.of(w, v));
    let phi = m.phi_turn.dot(w) + m.phi_shift.dot(v);
    [phi, n.x, n.y, n.z, a.x, a.y, a.z, b.x, b.y, b.z]
}

#[test]
fn derivatives_are_those_of_differences() {
    check_derivatives(random_field, 11);
}

/// Compares derivatives of the contact points of random bodies on random ground with differences.
pub(crate) fn check_derivatives(random_ground: fn(&mut Samples) -> Shape, seed: u64) {
    let mut s = Samples::new(seed);
    let step = 1e-5;
    let (mut compared, mut skipped) = (0, 0);
    for k in 0..40 {
        let ground = random_ground(&mut s);
        let X_WG = s.pose(0.3);
        for body in bodies(&mut s) {
            let R = s.rotation();
            let p = Vec3::new(s.between(-0.5, 0.5), s.between(-0.5, 0.5), 0.9);
            let d = signed_distance(&ground, &Pose::IDENTITY, &body, &Pose::new(R, p));
            let lower = d.n_AB_W * (d.phi - [0.01, -1e-4][k % 2]);
            let X = X_WG * Pose::new(R, p - lower);
            let pair = if k % 4 < 2 {
                [(&ground, X_WG), (&body, X)]
            } else {
                [(&body, X), (&ground, X_WG)]
            };
            let [(a, X_WA), (b, X_WB)] = pair;
            let points = patch(a, &X_WA, b, &X_WB, 0.03);
            let mut motions = Vec::new();
            NarrowPhase::new().contact_motions(a, &X_WA, b, &X_WB, 0.03, &points, &mut motions);
            assert_eq!(points.len(), motions.len());
            for (point, motion) in points.iter().zip(&motions) {
                if motion.kink || motion.on_edge {
                    skipped += 1;
                    continue;
                }
                for axis in Vec3::AXES {
                    for (w, v) in [(axis, Vec3::ZERO), (Vec3::ZERO, axis)] {
                        let want = predicted(motion, w, v);
                        let at = |sign: f64| {
                            let X = moved(&X_WB, point.p_WCb, w * (sign * step), v * (sign * step));
                            let near = patch(a, &X_WA, b, &X, 0.03);
                            near.iter().find(|p| p.feature == point.feature).map(entries)
                        };
                        let (Some(plus), Some(minus)) = (at(1.0), at(-1.0)) else {
                            skipped += 1;
                            continue;
                        };
                        for i in 0..10 {
                            let got = (plus[i] - minus[i]) / (2.0 * step);
                            let error = (got - want[i]).abs();
                            assert!(
                                error < 2e-3 * (1.0 + want[i].abs()),
                                "case {k} {body:?}: entry {i} of {point:?}: {got} {}",
                                want[i]
                            );
                        }
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared > 3000 && skipped < compared / 3, "{compared} {skipped}");
}

#[test]
fn bad_heights_are_told() {
    let new = |n, size, heights: &[f64], base| {
        HeightField::new(n, size, heights.to_vec(), base).unwrap_err().to_string()
    };
    let z = [0.0; 4];
    assert!(new([1, 4], [1.0, 1.0], &z, 1.0).contains("at least 2 × 2"));
    assert!(new([2, 3], [1.0, 1.0], &z, 1.0).contains("4 heights for 3 rows of 2"));
    assert!(new([2, 2], [1.0, 0.0], &z, 1.0).contains("size along y is 0 m"));
    assert!(new([2, 2], [1.0, 1.0], &z, -1.0).contains("base is -1 m"));
    let bad = [0.0, 0.0, f64::NAN, 0.0];
    assert!(new([2, 2], [1.0, 1.0], &bad, 1.0).contains("height NaN in row 1, column 0"));
}
