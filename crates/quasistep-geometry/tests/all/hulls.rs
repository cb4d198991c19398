//! Hulls of 4 to 6000 corners, against loops over all corners.

use crate::common::{Samples, separation};
use quasistep_geometry::{
    ContactPoint, Face, NarrowPhase, Polytope, Shape, contact_patch, signed_distance,
};
use quasistep_math::{Pose, Vec3};
use std::sync::Arc;

/// Numbers of points of which hulls are made.
const SIZES: [usize; 6] = [4, 9, 40, 150, 1000, 6000];
const SCALES: [f64; 3] = [1e-3, 1.0, 1e3];

/// The hull of `n` points of some kind: on an egg, in a box, on a plate or a needle, on a shallow
/// dome whose faces nearly lie in one plane, on a grid, or each of them several times.
fn hull(kind: usize, n: usize, scale: f64, s: &mut Samples) -> Option<Shape> {
    let mut point = || {
        let p = s.vec3(1.0);
        let on_ball = p.try_normalize().unwrap_or(Vec3::X);
        let stretched = |x, y, z| on_ball.component_mul(Vec3::new(x, y, z));
        match kind {
            0 => stretched(1.0, 0.8, 1.3),
            1 => p,
            2 => stretched(1.0, 1.0, 1e-4),
            3 => stretched(1.0, 1e-3, 1e-3),
            4 => Vec3::new(p.x, p.y, -1e-5 * (p.x * p.x + p.y * p.y)),
            _ => Vec3::new((3.0 * p.x).round(), (3.0 * p.y).round(), (3.0 * p.z).round()) / 3.0,
        }
    };
    let mut points: Vec<Vec3> = (0..n).map(|_| point() * scale).collect();
    match kind {
        4 => points.push(Vec3::Z * (-0.5 * scale)),
        5 => points.extend_from_within(..),
        _ => {}
    }
    Polytope::from_points(&points).ok().map(|hull| Shape::Polytope(Arc::new(hull)))
}

fn hulls(s: &mut Samples) -> Vec<(f64, Shape)> {
    let mut all = Vec::new();
    for kind in 0..6 {
        for n in SIZES {
            for scale in SCALES {
                all.extend(hull(kind, n, scale, s).map(|shape| (scale, shape)));
            }
        }
    }
    assert!(all.len() > 95, "{}", all.len());
    all
}

fn polytope(shape: &Shape) -> &Polytope {
    if let Shape::Polytope(hull) = shape { hull } else { panic!("{shape:?}") }
}

/// The first of the farthest corners, also along normals of faces, where many are equally far up to
/// rounding.
#[test]
fn supports_are_the_first_of_the_farthest_corners() {
    let mut s = Samples::new(41);
    for (scale, shape) in hulls(&mut s) {
        let hull = polytope(&shape);
        let n = hull.vertices().len();
        let faces = hull.faces().iter().step_by(1 + hull.faces().len() / 40).map(Face::normal);
        let random: Vec<Vec3> = (0..60).map(|_| s.vec3(1.0)).collect();
        let axes = Vec3::AXES.into_iter().chain(Vec3::AXES.map(|axis| -axis));
        for d in faces.chain(random).chain(axes) {
            let far = (0..n).fold(0, |far, k| {
                if hull.vertices()[k].dot(d) > hull.vertices()[far].dot(d) { k } else { far }
            });
            assert_eq!(hull.support(d), far as u32, "{n} corners of {scale} m along {d:?}");
        }
    }
}

/// Distances of pairs at poses from deep overlap to far apart. The separation along the normal, from
/// all corners, is the distance. Apart this proves it, if the witness points are on the shapes. In
/// an overlap no axis out of the normals of all faces and of many random ones is better.
#[test]
fn distances_are_proven_by_all_corners() {
    let mut s = Samples::new(42);
    let mut narrow = NarrowPhase::new();
    let (mut apart, mut overlaps) = (0, 0);
    for case in 0..1200 {
        let scale = SCALES[case % 3];
        let mut one = || loop {
            let (kind, n) = ((s.uniform() * 6.0) as usize, SIZES[(s.uniform() * 5.2) as usize]);
            if let Some(shape) = hull(kind, n, scale, &mut s) {
                break (shape, (2..=4).contains(&kind));
            }
        };
        let ((a, a_is_thin), (b, b_is_thin)) = (one(), one());
        let X_WA = s.pose(scale);
        let mut X_WB = Pose::new(s.rotation(), X_WA.translation + s.vec3(2.0 * scale));
        let first = narrow.signed_distance(&a, &X_WA, &b, &X_WB);
        let gaps = [None, Some(0.3), Some(1e-3), Some(1e-7), Some(0.0), Some(-1e-7), Some(-1e-3)];
        if let Some(gap) = gaps[case % 7] {
            X_WB.translation += first.n_AB_W * (gap * scale - first.phi);
        }
        let d = narrow.signed_distance(&a, &X_WA, &b, &X_WB);
        let along = |n: Vec3| separation(&a, &X_WA, &b, &X_WB, n);
        let room = 1e-9 * scale.max(1.0);
        // corners of merged faces deviate from their planes by some 1e-7 of the extent
        let scatter = 1e-6 * scale;
        let thin = a_is_thin || b_is_thin;
        // and rounding turns the direction between near points
        let turned = if d.phi > 0.0 { 4e-15 * scale / d.phi * scale } else { 0.0 };
        let proven = if thin { scatter } else { room } + turned;
        if thin && d.phi.abs() < scatter {
            continue;
        }
        assert!(
            (along(d.n_AB_W) - d.phi).abs() <= proven,
            "case {case}: {d:?} {}",
            along(d.n_AB_W)
        );
        let witness = d.p_WCb - d.p_WCa - d.n_AB_W * d.phi;
        assert!(witness.norm() <= room, "case {case}: {d:?}");
        for (shape, X, p_W) in [(&a, &X_WA, d.p_WCa), (&b, &X_WB, d.p_WCb)] {
            let p = X.inverse_transform_point(p_W);
            let outside = polytope(shape).faces().iter().map(|f| f.normal().dot(p) - f.offset());
            assert!(outside.fold(0.0, f64::max) <= scatter, "case {case}: {d:?}");
        }
        if d.phi > 0.0 {
            apart += 1;
            continue;
        }
        overlaps += 1;
        let of = |shape: &Shape, X: &Pose, sign: f64| -> Vec<Vec3> {
            let faces = polytope(shape).faces();
            faces.iter().map(|f| X.rotation.rotate(f.normal()) * sign).collect()
        };
        let random = (0..300).map(|_| s.vec3(1.0).try_normalize().unwrap_or(Vec3::X));
        for n in of(&a, &X_WA, 1.0).into_iter().chain(of(&b, &X_WB, -1.0)).chain(random) {
            // of faces of the tiniest size the normals are noise
            assert!(
                along(n) <= d.phi + 1e-6 * scale,
                "case {case}: {d:?}, {} along {n:?}",
                along(n)
            );
        }
    }
    assert!(apart > 300 && overlaps > 200, "{apart} {overlaps}");
}

/// Memory that has seen other hulls and poses gives the same bits as fresh memory.
#[test]
fn history_does_not_matter() {
    let mut s = Samples::new(43);
    let floor = Shape::HalfSpace;
    let shapes: Vec<Shape> =
        [(0, 9), (0, 40), (0, 150), (1, 1000), (4, 1000), (5, 1000), (0, 3540)]
            .into_iter()
            .filter_map(|(kind, n)| hull(kind, n, 0.1, &mut s))
            .chain([Shape::Box { half: [0.1, 0.05, 0.02] }, Shape::Sphere { radius: 0.05 }])
            .chain([Shape::Capsule { radius: 0.02, half_length: 0.1 }, floor])
            .collect();
    let mut used = NarrowPhase::new();
    let bits = |points: &[ContactPoint]| -> Vec<u64> {
        let of = |p: &ContactPoint| {
            let vectors = [p.p_WCa, p.p_WCb, p.n_AB_W].map(Vec3::to_array).concat();
            vectors
                .into_iter()
                .chain([p.phi])
                .map(f64::to_bits)
                .chain([u64::from(p.feature)])
                .collect::<Vec<u64>>()
        };
        points.iter().flat_map(of).collect()
    };
    let mut with_points = 0;
    for case in 0..6000 {
        let mut pick = || &shapes[(s.uniform() * shapes.len() as f64) as usize];
        let (a, b) = (pick(), pick());
        let X_WA = s.pose(0.1);
        let mut X_WB = Pose::new(s.rotation(), X_WA.translation + s.vec3(0.3));
        let gap = [0.1, 0.01, 1e-6, 0.0, 0.0, -1e-6, -0.005, f64::NAN][case % 8];
        let first = signed_distance(a, &X_WA, b, &X_WB);
        if gap.is_finite() && first.phi.is_finite() {
            X_WB.translation += first.n_AB_W * (gap - first.phi);
        }
        let (mut warm, mut cold) = (Vec::new(), Vec::new());
        used.contact_patch(a, &X_WA, b, &X_WB, 0.02, &mut warm);
        contact_patch(a, &X_WA, b, &X_WB, 0.02, &mut cold);
        assert_eq!(bits(&warm), bits(&cold), "case {case}: {warm:?} {cold:?}");
        let of_used = used.signed_distance(a, &X_WA, b, &X_WB);
        let fresh = signed_distance(a, &X_WA, b, &X_WB);
        assert_eq!(format!("{of_used:?}"), format!("{fresh:?}"), "case {case}");
        with_points += usize::from(!cold.is_empty());
    }
    assert!(with_points > 3000, "{with_points}");
}

/// Of a hull near a plane, the lowest corner is a contact point, and where the hull is tilted a
/// little another point is nearly the lowest one, however many corners it has.
#[test]
fn points_over_a_plane_hold_a_hull_that_tilts() {
    let mut s = Samples::new(44);
    let plane = Pose::IDENTITY;
    for (scale, shape) in hulls(&mut s) {
        let hull = polytope(&shape);
        let rotation = s.rotation();
        let heights = |up: Vec3| hull.vertices().iter().map(move |v| v.dot(up));
        let up = rotation.inverse().rotate(Vec3::Z);
        let lowest = heights(up).fold(f64::INFINITY, f64::min);
        let X = Pose::new(rotation, Vec3::Z * (0.1 * scale - lowest));
        let mut points = Vec::new();
        contact_patch(&Shape::HalfSpace, &plane, &shape, &X, 0.3 * scale, &mut points);
        assert!((1..=8).contains(&points.len()), "{points:?}");
        let first = points.iter().map(|p| p.phi).fold(f64::INFINITY, f64::min);
        assert!((first - 0.1 * scale).abs() <= 1e-12 * scale.max(1.0), "{first}");
        for p in &points {
            let corner = X.inverse_transform_point(p.p_WCb);
            let at = hull.vertices()[p.feature as usize];
            assert!((corner - at).norm() <= 1e-12 * scale.max(1.0), "{p:?}");
            assert!(p.phi < 0.3 * scale && (p.p_WCb.z - p.phi).abs() <= 1e-12 * scale.max(1.0));
        }
        for _ in 0..20 {
            let tilted = (up + s.vec3(0.03)).try_normalize().unwrap_or(up);
            let all = heights(tilted).fold(f64::INFINITY, f64::min);
            let kept = points.iter().map(|p| hull.vertices()[p.feature as usize].dot(tilted));
            let kept = kept.fold(f64::INFINITY, f64::min);
            assert!(
                kept - all <= 0.02 * scale,
                "{} corners: {}",
                hull.vertices().len(),
                kept - all
            );
        }
    }
}

/// Rings of many corners at one height, above a point and as the base of a prism: their points go
/// all around.
#[test]
fn points_of_level_rings_go_all_around() {
    for tip in [None, Some(-0.01), Some(-1e-9)] {
        let ring = |z: f64| {
            (0..300).map(move |k| {
                let (sin, cos) = (std::f64::consts::TAU * f64::from(k) / 300.0).sin_cos();
                Vec3::new(cos, sin, z) * 0.1
            })
        };
        let tip = tip.map(|z| Vec3::Z * z);
        let points: Vec<Vec3> = ring(0.0).chain(ring(0.3)).chain(tip).collect();
        let shape = Shape::Polytope(Arc::new(Polytope::from_points(&points).unwrap()));
        let X = Pose::from_translation(Vec3::Z * 0.011);
        let mut points = Vec::new();
        contact_patch(&Shape::HalfSpace, &Pose::IDENTITY, &shape, &X, 0.02, &mut points);
        assert!(points.len() <= 8);
        for k in 0..8 {
            let (sin, cos) = (std::f64::consts::TAU * f64::from(k) / 8.0).sin_cos();
            let far = points.iter().map(|p| p.p_WCb.dot(Vec3::new(cos, sin, 0.0)));
            // of the tip and eight directions at most one of the latter is left out
            assert!(far.fold(0.0, f64::max) > 0.07, "{points:?}");
        }
    }
}

/// Memory may be read by several threads.
#[test]
fn memory_is_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<NarrowPhase>();
}
