//! Cylinders against every shape; each answer is verified.
//!
//! The support points along the normal are `phi` apart, so no smaller distance is possible. The
//! witness points lie in the shapes, `phi` apart, so no larger distance is possible for disjoint
//! shapes. For overlaps, a search over all directions must not find a better normal.

use crate::common::{Samples, dense_search, outside, random_hull, separation};
use quasistep_geometry::{Distance, Shape, signed_distance};
use quasistep_math::{Pose, Quat, Vec3};
use std::f64::consts::FRAC_PI_2;

/// Required accuracy of every distance, in m.
const TOLERANCE: f64 = 1e-9;

fn cylinder(s: &mut Samples) -> Shape {
    // coins, cans and rods
    let radius = s.between(0.05, 0.8);
    let half_length = if s.uniform() < 0.3 { s.between(0.01, 0.05) } else { s.between(0.1, 1.0) };
    Shape::Cylinder { radius, half_length }
}

fn others(s: &mut Samples) -> Vec<Shape> {
    let n = 5 + (s.uniform() * 12.0) as usize;
    vec![
        Shape::Sphere { radius: s.between(0.1, 0.6) },
        Shape::Box { half: [s.between(0.05, 1.0), s.between(0.2, 1.0), s.between(0.2, 1.0)] },
        Shape::Capsule { radius: s.between(0.05, 0.5), half_length: s.between(0.2, 1.0) },
        random_hull(s, n),
        cylinder(s),
    ]
}

/// Verifies the answer, except for the search over directions in an overlap. Witness points may be
/// outside the shapes by `sideways` (m).
fn proved(a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose, sideways: f64) -> Distance {
    let d = signed_distance(a, X_WA, b, X_WB);
    let say = || format!("{a:?} at {X_WA:?}\n{b:?} at {X_WB:?}\n{d:?}");
    assert!((d.n_AB_W.norm() - 1.0).abs() < 1e-12, "{}", say());
    let s = separation(a, X_WA, b, X_WB, d.n_AB_W);
    assert!((s - d.phi).abs() < TOLERANCE, "the normal separates by {s}\n{}", say());
    let gap = (d.p_WCb - d.p_WCa - d.n_AB_W * d.phi).norm();
    assert!(gap < TOLERANCE, "witness points miss one another by {gap}\n{}", say());
    let (out_a, out_b) = (outside(a, X_WA, d.p_WCa), outside(b, X_WB, d.p_WCb));
    assert!(out_a < sideways && out_b < sideways, "outside: {out_a}, {out_b}\n{}", say());
    d
}

/// Rotations that make features parallel: quarter turns about axes, with small rotations added.
fn aligned(s: &mut Samples) -> Quat {
    let axis = |s: &mut Samples| Vec3::AXES[(s.uniform() * 3.0) as usize];
    let quarter =
        |s: &mut Samples| Quat::from_axis_angle(axis(s), FRAC_PI_2 * (s.uniform() * 4.0).floor());
    let tilts = [0.0, 0.0, 1e-15, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2];
    let tilt = tilts[(s.uniform() * tilts.len() as f64) as usize];
    let about = if s.uniform() < 0.5 { s.vec3(tilt) } else { axis(s) * tilt };
    let spin = if s.uniform() < 0.3 { s.between(0.0, 6.0) } else { 0.0 };
    Quat::from_rotation_vector(about)
        * quarter(s)
        * quarter(s)
        * Quat::from_axis_angle(Vec3::Z, spin)
}

fn random_pose(s: &mut Samples, degenerate: bool, size: f64) -> Pose {
    if !degenerate {
        return s.pose(size);
    }
    let mut p = s.vec3(size);
    for k in 0..3 {
        if s.uniform() < 0.4 {
            p = p.component_mul(Vec3::new(1.0, 1.0, 1.0) - Vec3::AXES[k]);
        }
    }
    Pose::new(aligned(s), p)
}

fn run(seed: u64, rounds: usize, degenerate: bool) {
    let mut s = Samples::new(seed);
    let mut counts = [0; 3];
    // a normal within 1e-6 of a cap's normal determines the rim point to few digits only; the
    // distance at touch is not affected
    let sideways = if degenerate { 1e-5 } else { TOLERANCE };
    for round in 0..rounds {
        let a = cylinder(&mut s);
        for b in others(&mut s) {
            let size = 0.2 + 1.8 * (round % 10) as f64 / 10.0;
            let X_WA = random_pose(&mut s, degenerate, 0.1);
            let mut X_WB = random_pose(&mut s, degenerate, size);
            let d = proved(&a, &X_WA, &b, &X_WB, sideways);
            let flipped = signed_distance(&b, &X_WB, &a, &X_WA);
            assert!((flipped.phi - d.phi).abs() < TOLERANCE, "{flipped:?} {d:?}");
            counts[usize::from(d.phi < 0.0)] += 1;
            if d.phi < 0.0 {
                let found = dense_search(&a, &X_WA, &b, &X_WB, 600);
                assert!(
                    found < d.phi + TOLERANCE,
                    "{a:?} at {X_WA:?}\n{b:?} at {X_WB:?}\n{d:?}: a search finds {found}"
                );
            }
            // move the pair along the normal until it touches, then by a small nudge
            X_WB.translation -= d.n_AB_W * d.phi;
            let nudges = [0.0, 1e-15, -1e-15, 1e-13, -1e-13, 1e-11, -1e-11, 1e-10, -1e-10];
            let nudge = nudges[(s.uniform() * 9.0) as usize];
            X_WB.translation += d.n_AB_W * nudge;
            let touch = proved(&a, &X_WA, &b, &X_WB, sideways);
            counts[2] += 1;
            // the upper bound is verified by the support points above
            assert!(
                touch.phi > nudge - TOLERANCE,
                "{a:?} at {X_WA:?}\n{b:?} at {X_WB:?}\n{touch:?} at touch, nudged {nudge}"
            );
        }
    }
    assert!(counts.iter().all(|c| *c > rounds), "{counts:?} of {rounds}");
}

#[test]
fn distances_are_proved_in_general_position() {
    run(1, 2500, false);
}

#[test]
fn distances_are_proved_where_features_are_parallel() {
    run(2, 2500, true);
}
