//! Ellipsoids against every shape; each answer is verified.
//!
//! The support points along the normal are `phi` apart, so no smaller distance is possible. The
//! witness points lie in the shapes, `phi` apart, so no larger distance is possible for disjoint
//! shapes. For overlaps, a search over all directions must not find a better normal.

use crate::common::{Samples, dense_search, outside, random_hull, separation};
use quasistep_geometry::{Distance, NarrowPhase, Polytope, Shape, signed_distance};
use quasistep_math::{Pose, Quat, Vec3};
use std::sync::Arc;

/// Required accuracy of every distance, in m.
const TOLERANCE: f64 = 1e-9;

/// Egg-shaped, disc-like and needle-like ellipsoids; `thin` ones have an aspect ratio of 100.
fn ellipsoid(s: &mut Samples, thin: bool) -> Shape {
    let mut radii = [s.between(0.2, 1.0), s.between(0.2, 1.0), s.between(0.2, 1.0)];
    if thin {
        radii[(s.uniform() * 3.0) as usize] = 0.01;
        if s.uniform() < 0.3 {
            radii[(s.uniform() * 3.0) as usize] = s.between(0.01, 0.02);
        }
    }
    Shape::Ellipsoid { radii }
}

fn others(s: &mut Samples, thin: bool) -> Vec<Shape> {
    let n = 5 + (s.uniform() * 12.0) as usize;
    vec![
        Shape::Sphere { radius: s.between(0.1, 0.6) },
        Shape::Box { half: [s.between(0.05, 1.0), s.between(0.2, 1.0), s.between(0.2, 1.0)] },
        Shape::Capsule { radius: s.between(0.05, 0.5), half_length: s.between(0.2, 1.0) },
        random_hull(s, n),
        Shape::Cylinder { radius: s.between(0.05, 0.8), half_length: s.between(0.02, 1.0) },
        ellipsoid(s, thin),
    ]
}

/// The best separation of a dense search and of small-step ascents from surface normals of both
/// shapes, in m.
fn best_of_search(a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose) -> f64 {
    let s = |n: Vec3| separation(a, X_WA, b, X_WB, n);
    let mut best = dense_search(a, X_WA, b, X_WB, 300);
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    for (shape, X, sign) in [(a, X_WA, 1.0), (b, X_WB, -1.0)] {
        let Shape::Ellipsoid { radii } = shape else { continue };
        let mut starts: Vec<(f64, Vec3)> = (0..200)
            .map(|k| {
                let z = 1.0 - (2.0 * f64::from(k) + 1.0) / 200.0;
                let (sin, cos) = (golden * f64::from(k)).sin_cos();
                let r = (1.0 - z * z).sqrt();
                let n = Vec3::new(r * cos / radii[0], r * sin / radii[1], z / radii[2]);
                let n = X.rotation.rotate(n.try_normalize().unwrap()) * sign;
                (s(n), n)
            })
            .collect();
        starts.sort_by(|p, q| q.0.total_cmp(&p.0));
        for (mut value, mut n) in starts.into_iter().take(12) {
            let mut size = 0.05;
            while size > 1e-10 {
                let u = n.any_orthogonal();
                let w = n.cross(u);
                let mut moved = false;
                for way in [u, w, u + w, u - w] {
                    for m in [n + way * size, n - way * size] {
                        let m = m.try_normalize().unwrap();
                        if s(m) > value {
                            (value, n, moved) = (s(m), m, true);
                        }
                    }
                }
                if !moved {
                    size *= 0.5;
                }
            }
            best = best.max(value);
        }
    }
    best
}

/// Verifies the answer, relative to the `size` of the shapes, except for the search over directions
/// in an overlap.
fn proved(a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose, size: f64) -> Distance {
    let d = signed_distance(a, X_WA, b, X_WB);
    let say = || format!("{a:?} at {X_WA:?}\n{b:?} at {X_WB:?}\n{d:?}");
    let most = TOLERANCE * size.min(1.0);
    assert!((d.n_AB_W.norm() - 1.0).abs() < 1e-12, "{}", say());
    let s = separation(a, X_WA, b, X_WB, d.n_AB_W);
    assert!((s - d.phi).abs() < most, "the normal separates by {s}\n{}", say());
    let gap = (d.p_WCb - d.p_WCa - d.n_AB_W * d.phi).norm();
    assert!(gap < most, "witness points miss one another by {gap}\n{}", say());
    let (out_a, out_b) = (outside(a, X_WA, d.p_WCa), outside(b, X_WB, d.p_WCb));
    assert!(out_a < most && out_b < most, "outside: {out_a:.1e}, {out_b:.1e}\n{}", say());
    d
}

/// Cases apart, overlapping and nearly touching; all lengths are multiplied by `size`.
fn run(seed: u64, rounds: usize, thin: bool, size: f64, parallel: bool) {
    let mut s = Samples::new(seed);
    let mut counts = [0; 2];
    let place = |s: &mut Samples, reach: f64| {
        let X = s.pose(reach * size);
        if !parallel {
            return X;
        }
        let tilts = [0.0, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3];
        let tilt = tilts[(s.uniform() * tilts.len() as f64) as usize];
        let quarter = Quat::from_axis_angle(
            Vec3::AXES[(s.uniform() * 3.0) as usize],
            std::f64::consts::FRAC_PI_2,
        );
        let flat = Vec3::new(1.0, 1.0, 1.0) - Vec3::AXES[(s.uniform() * 3.0) as usize];
        Pose::new(
            Quat::from_rotation_vector(s.vec3(tilt)) * quarter,
            X.translation.component_mul(flat),
        )
    };
    for round in 0..rounds {
        let a = scaled(&ellipsoid(&mut s, thin), size);
        for b in others(&mut s, thin) {
            let b = scaled(&b, size);
            let reach = 0.2 + 1.8 * (round % 10) as f64 / 10.0;
            let X_WA = place(&mut s, 0.1);
            let X_WB = place(&mut s, reach);
            let d = proved(&a, &X_WA, &b, &X_WB, size);
            let say = || format!("{a:?} at {X_WA:?}\n{b:?} at {X_WB:?}\n{d:?}");
            let flipped = signed_distance(&b, &X_WB, &a, &X_WA);
            assert!((flipped.phi - d.phi).abs() < TOLERANCE * size.min(1.0), "{flipped:?} {d:?}");
            counts[usize::from(d.phi < 0.0)] += 1;
            if d.phi < 0.0 {
                let found = best_of_search(&a, &X_WA, &b, &X_WB);
                assert!(found < d.phi + TOLERANCE * size, "{}: a search finds {found}", say());
            }
            let nudges = [0.0, 1e-15, -1e-15, 1e-13, -1e-13, 1e-11, -1e-11, 1e-7, -1e-7];
            let nudge = nudges[(s.uniform() * 9.0) as usize] * size;
            let mut X = X_WB;
            X.translation -= d.n_AB_W * (d.phi - nudge);
            let touch = proved(&a, &X_WA, &b, &X, size);
            assert!(
                touch.phi > nudge - TOLERANCE * size.min(1.0),
                "{} \n{touch:?} at touch, nudged {nudge}",
                say()
            );
        }
    }
    assert!(counts.iter().all(|c| *c > rounds / 4), "{counts:?} of {rounds}");
}

fn scaled(shape: &Shape, size: f64) -> Shape {
    match shape {
        Shape::Sphere { radius } => Shape::Sphere { radius: radius * size },
        Shape::Box { half } => Shape::Box { half: half.map(|h| h * size) },
        Shape::Capsule { radius, half_length } => {
            Shape::Capsule { radius: radius * size, half_length: half_length * size }
        }
        Shape::Cylinder { radius, half_length } => {
            Shape::Cylinder { radius: radius * size, half_length: half_length * size }
        }
        Shape::Ellipsoid { radii } => Shape::Ellipsoid { radii: radii.map(|r| r * size) },
        Shape::Polytope(hull) => {
            let points: Vec<Vec3> = hull.vertices().iter().map(|p| *p * size).collect();
            Shape::Polytope(Arc::new(Polytope::from_points(&points).unwrap()))
        }
        other => panic!("{other:?} has no size"),
    }
}

#[test]
fn distances_are_proved_in_general_position() {
    run(1, 60, false, 1.0, false);
}

#[test]
fn thin_ones_are_proved() {
    run(2, 40, true, 1.0, false);
}

#[test]
fn aligned_ones_are_proved() {
    run(3, 25, false, 1.0, true);
    run(4, 25, true, 1.0, true);
}

#[test]
fn sizes_do_not_matter() {
    for (k, size) in [1e-4, 1e-2, 1e3].into_iter().enumerate() {
        run(5 + k as u64, 12, false, size, false);
        run(8 + k as u64, 12, true, size, false);
    }
}

/// Equal radii make a sphere: distance, points and normal agree with it to rounding, wherever they
/// are unique.
#[test]
fn equal_radii_are_a_sphere() {
    let mut s = Samples::new(11);
    let mut narrow = NarrowPhase::new();
    for _ in 0..300 {
        let radius = s.between(0.1, 0.6);
        let (egg, ball) = (Shape::Ellipsoid { radii: [radius; 3] }, Shape::Sphere { radius });
        for b in others(&mut s, false).into_iter().chain([Shape::HalfSpace]) {
            let (X_A, X_B) = (s.pose(0.3), s.pose(1.2));
            let [d, want] = [&egg, &ball].map(|a| narrow.signed_distance(a, &X_A, &b, &X_B));
            assert!((d.phi - want.phi).abs() < 1e-14, "{b:?}: {d:?}, of a ball {want:?}");
            // deep inside, other normals may be nearly as good
            if want.phi > -0.05 {
                let off = (d.p_WCa - want.p_WCa).max_abs().max((d.p_WCb - want.p_WCb).max_abs());
                assert!(off < 1e-13, "{b:?}: {d:?}, of a ball {want:?}");
                assert!((d.n_AB_W - want.n_AB_W).max_abs() < 1e-12);
            }
            let mut patch = Vec::new();
            narrow.contact_patch(&egg, &X_A, &b, &X_B, want.phi + 1e-3, &mut patch);
            assert_eq!(patch.len(), 1, "{b:?}: {patch:?}");
            assert!((patch[0].phi - want.phi).abs() < 1e-14);
        }
    }
}

/// Closed forms: on a plane, tip against tip, a point inside and outside.
#[test]
fn closed_forms_hold() {
    let [a, b, c] = [0.5, 0.3, 0.2];
    let egg = Shape::Ellipsoid { radii: [a, b, c] };
    let at = |x: f64, y: f64, z: f64| Pose::from_translation(Vec3::new(x, y, z));
    let turn = Quat::from_axis_angle(Vec3::Y, 0.7);
    let on_plane =
        signed_distance(&Shape::HalfSpace, &at(0.0, 0.0, 0.0), &egg, &Pose::new(turn, Vec3::Z));
    let reach = (a * 0.7f64.sin()).hypot(c * 0.7f64.cos());
    assert!((on_plane.phi - (1.0 - reach)).abs() < 1e-15);
    let tips = signed_distance(&egg, &at(0.0, 0.0, 0.0), &egg, &at(1.25, 0.0, 0.0));
    assert!((tips.phi - 0.25).abs() < 1e-15 && (tips.n_AB_W - Vec3::X).norm() < 1e-15);
    // concentric: the exit is along the shortest axis
    let within = signed_distance(&egg, &at(0.0, 0.0, 0.0), &egg, &at(0.0, 0.0, 0.0));
    assert!((within.phi + 2.0 * c).abs() < 1e-15 && within.n_AB_W.z.abs() > 1.0 - 1e-15);
    // a ball off the centre, inside the centre of curvature of the long tip: the nearest surface
    // point is that tip
    let ball = Shape::Sphere { radius: 0.01 };
    let tip = signed_distance(&egg, &at(0.0, 0.0, 0.0), &ball, &at(a - 0.5 * c * c / a, 0.0, 0.0));
    assert!((tip.phi + 0.5 * c * c / a + 0.01).abs() < 1e-15, "{tip:?}");
    assert!((tip.n_AB_W - Vec3::X).norm() < 1e-15);
    // mass: compared with the ball of which the ellipsoid is a linear image
    let m = egg.mass_properties(1000.0).unwrap();
    let volume = 4.0 / 3.0 * std::f64::consts::PI * a * b * c;
    assert!((m.mass - 1000.0 * volume).abs() < 1e-12);
    assert!((m.inertia.rows[0].x - 0.2 * m.mass * (b * b + c * c)).abs() < 1e-14);
}
