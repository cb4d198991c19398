//! Derivatives of contact points, compared with central differences of the patch.

use crate::common::{Samples, random_hull};
use quasistep_geometry::{
    Choice, ContactMotion, ContactPoint, NarrowPhase, PointCloud, Polytope, Shape,
};
use quasistep_math::{Pose, Quat, Vec3};
use std::sync::Arc;

/// Step of the fourth-order differences: rotation in rad, translation in m.
const STEP: f64 = 1e-4;

fn shapes(s: &mut Samples) -> Vec<(&'static str, Shape)> {
    vec![
        ("sphere", Shape::Sphere { radius: s.between(0.3, 1.0) }),
        (
            "box",
            Shape::Box { half: [s.between(0.3, 1.0), s.between(0.3, 1.0), s.between(0.3, 1.0)] },
        ),
        (
            "capsule",
            Shape::Capsule { radius: s.between(0.2, 0.5), half_length: s.between(0.3, 1.0) },
        ),
        (
            "cylinder",
            Shape::Cylinder { radius: s.between(0.3, 0.8), half_length: s.between(0.3, 1.0) },
        ),
        ("half-space", Shape::HalfSpace),
        ("hull", random_hull(s, 14)),
        ("cloud", random_cloud(s)),
        (
            "ellipsoid",
            Shape::Ellipsoid {
                radii: [s.between(0.2, 1.0), s.between(0.2, 1.0), s.between(0.2, 1.0)],
            },
        ),
    ]
}

/// A cloud of points around the origin, with a radius.
fn random_cloud(s: &mut Samples) -> Shape {
    let points: Vec<Vec3> = (0..30).map(|_| s.vec3(0.7)).collect();
    let cloud = PointCloud::new(&points, None, 0.05, Choice::Nearest { k: 3 });
    Shape::Cloud(Arc::new(cloud.unwrap()))
}

/// The pose `X` after a small motion: rotated by `w` about `p`, translated by `v`.
fn moved(X: &Pose, p: Vec3, w: Vec3, v: Vec3) -> Pose {
    let R = Quat::from_rotation_vector(w);
    Pose::new(R * X.rotation, p + v + R.rotate(X.translation - p))
}

/// The differentiable entries of a point: distance, normal, both witness points.
fn entries(p: &ContactPoint) -> [f64; 10] {
    let (n, a, b) = (p.n_AB_W, p.p_WCa, p.p_WCb);
    [p.phi, n.x, n.y, n.z, a.x, a.y, a.z, b.x, b.y, b.z]
}

fn predicted(m: &ContactMotion, w: Vec3, v: Vec3) -> [f64; 10] {
    let (n, a, b) = (m.n.of(w, v), m.a.of(w, v), m.b.of(w, v));
    let phi = m.phi_turn.dot(w) + m.phi_shift.dot(v);
    [phi, n.x, n.y, n.z, a.x, a.y, a.z, b.x, b.y, b.z]
}

/// Central differences of a point for two step sizes; `None` if the features change or the two
/// results differ.
fn differences(
    narrow: &mut NarrowPhase,
    [a, b]: [&Shape; 2],
    [X_A, X_B]: [&Pose; 2],
    point: &ContactPoint,
    margin: f64,
    w: Vec3,
    v: Vec3,
) -> Option<[f64; 10]> {
    let mut at = |h: f64| {
        let mut out = Vec::new();
        let X = moved(X_B, point.p_WCb, w * h, v * h);
        narrow.contact_patch(a, X_A, b, &X, margin, &mut out);
        out.iter().find(|p| p.feature == point.feature).map(entries)
    };
    let mut of = |h: f64| -> Option<[f64; 10]> {
        let [p, m, pp, mm] = [at(h)?, at(-h)?, at(2.0 * h)?, at(-2.0 * h)?];
        Some(std::array::from_fn(|i| (8.0 * (p[i] - m[i]) - (pp[i] - mm[i])) / (12.0 * h)))
    };
    let (one, other) = (of(STEP)?, of(0.3 * STEP)?);
    let size = one.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
    one.iter().zip(&other).all(|(x, y)| (x - y).abs() < 2e-7 * size).then_some(one)
}

#[test]
fn motions_of_every_pair_are_those_of_differences() {
    let mut narrow = NarrowPhase::new();
    let mut failures: Vec<String> = Vec::new();
    for i in 0..8 {
        for j in 0..8 {
            if i == 4 && j == 4 {
                continue;
            }
            let mut s = Samples::new(100 * i + j);
            let (mut smooth, mut kinks, mut unsure, mut worst) = (0, 0, 0, 0.0_f64);
            let mut by_differences = 0;
            let mut names = ("", "");
            for sample in 0..400 {
                let (name_a, a) = shapes(&mut s).swap_remove(i as usize);
                let (name_b, b) = shapes(&mut s).swap_remove(j as usize);
                names = (name_a, name_b);
                let X_A = s.pose(0.5);
                let mut X_B = s.pose(1.0);
                if sample % 2 == 1 {
                    // a quarter turn about some axis, with a small rotation added
                    let quarter = |s: &mut Samples| {
                        let axis = Vec3::AXES[(3.0 * s.uniform()) as usize];
                        Quat::from_axis_angle(axis, std::f64::consts::FRAC_PI_2)
                    };
                    let spin = Quat::from_axis_angle(Vec3::Z, s.between(-3.0, 3.0));
                    let tilt = Quat::from_rotation_vector(s.vec3(0.04));
                    X_B.rotation = X_A.rotation * tilt * spin * quarter(&mut s) * quarter(&mut s);
                    X_B.translation = X_A.transform_point(s.vec3(0.5) + Vec3::Z * 3.0);
                }
                let d = narrow.signed_distance(&a, &X_A, &b, &X_B);
                // move the pair to a small gap or overlap along the normal
                let goal = s.between(-0.05, 0.1);
                X_B.translation -= d.n_AB_W * (d.phi - goal);
                let margin = 0.3;
                let (mut points, mut motions) = (Vec::new(), Vec::new());
                narrow.contact_patch(&a, &X_A, &b, &X_B, margin, &mut points);
                narrow.contact_motions(&a, &X_A, &b, &X_B, margin, &points, &mut motions);
                assert_eq!(points.len(), motions.len());
                let (w, v) = (s.vec3(1.0), s.vec3(1.0));
                for (point, motion) in points.iter().zip(&motions) {
                    if motion.kink {
                        kinks += 1;
                        continue;
                    }
                    let Some(want) =
                        differences(&mut narrow, [&a, &b], [&X_A, &X_B], point, margin, w, v)
                    else {
                        unsure += 1;
                        continue;
                    };
                    smooth += 1;
                    by_differences += usize::from(motion.by_differences);
                    let got = predicted(motion, w, v);
                    let size = want.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
                    let error =
                        got.iter().zip(&want).fold(0.0_f64, |m, (x, y)| m.max((x - y).abs()))
                            / size;
                    // skip points whose derivative was itself a finite difference
                    if !motion.by_differences {
                        worst = worst.max(error);
                    }
                }
            }
            let bad = worst > 1e-6 || kinks > smooth / 8 || unsure > smooth || smooth < 100;
            if bad {
                let line = format!(
                    "{names:?}: {smooth} smooth, {by_differences} by differences, {kinks} kinks, \
                     {unsure} unsure, worst {worst:.1e}"
                );
                failures.push(line);
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Large hulls, whose distance alone does not list their corners: edges that cross, with the other
/// points of their patch.
#[test]
fn large_hulls_move_as_differences_say() {
    let mut narrow = NarrowPhase::new();
    let corner = |k: usize| {
        let angle = std::f64::consts::TAU * (k / 2) as f64 / 60.0;
        Vec3::new(
            0.5 * angle.cos(),
            0.5 * angle.sin(),
            if k.is_multiple_of(2) { 0.3 } else { -0.3 },
        )
    };
    let points: Vec<Vec3> = (0..120).map(corner).collect();
    let disc = Shape::Polytope(Arc::new(Polytope::from_points(&points).unwrap()));
    let mut s = Samples::new(9);
    let (mut smooth, mut worst) = (0, 0.0_f64);
    for _ in 0..300 {
        let X_A = Pose::new(Quat::from_rotation_vector(s.vec3(0.05)), Vec3::ZERO);
        let mut X_B = Pose::new(
            Quat::from_rotation_vector(s.vec3(0.05) + Vec3::Z),
            Vec3::new(s.between(-0.4, 0.4), s.between(-0.4, 0.4), 1.0),
        );
        let d = narrow.signed_distance(&disc, &X_A, &disc, &X_B);
        X_B.translation -= d.n_AB_W * (d.phi - s.between(1e-3, 5e-3));
        let margin = 0.05;
        let (mut points, mut motions) = (Vec::new(), Vec::new());
        narrow.contact_patch(&disc, &X_A, &disc, &X_B, margin, &mut points);
        narrow.contact_motions(&disc, &X_A, &disc, &X_B, margin, &points, &mut motions);
        let (w, v) = (s.vec3(1.0), s.vec3(1.0));
        for (point, motion) in points.iter().zip(&motions) {
            let shapes = [&disc; 2];
            let want = differences(&mut narrow, shapes, [&X_A, &X_B], point, margin, w, v);
            if let (Some(want), false) = (want, motion.kink || motion.by_differences) {
                let got = predicted(motion, w, v);
                let size = want.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
                let off = got.iter().zip(&want).fold(0.0_f64, |m, (x, y)| m.max((x - y).abs()));
                (smooth, worst) = (smooth + 1, worst.max(off / size));
            }
        }
    }
    assert!(smooth > 100 && worst < 1e-6, "{smooth} {worst:.1e}");
}

/// Nearly parallel edges and capsules, and capsules that overhang a face: both ends of the shared
/// stretch. The normal turns a thousand times faster than the bodies, so differences use steps of
/// 1e-7 m and less instead of 1e-4 m.
#[test]
fn lines_along_one_another_move_as_differences_say() {
    let mut narrow = NarrowPhase::new();
    let turned = |angle: f64| Quat::from_axis_angle(Vec3::Y, angle);
    let edge = (Shape::Box { half: [0.2, 0.3, 0.2] }, turned(std::f64::consts::FRAC_PI_4));
    let rod = (
        Shape::Capsule { radius: 0.1, half_length: 0.25 },
        Quat::from_axis_angle(Vec3::X, std::f64::consts::FRAC_PI_2),
    );
    let slab = (Shape::Box { half: [0.2, 0.15, 0.2] }, Quat::IDENTITY);
    let mut s = Samples::new(5);
    let (mut ends, mut worst) = (0, 0.0_f64);
    let lines = [(&edge, &edge), (&edge, &rod), (&rod, &edge), (&rod, &rod)];
    for (a, b) in lines.into_iter().chain([(&slab, &rod), (&rod, &slab)]) {
        for _ in 0..100 {
            let X_A = Pose::new(a.1, Vec3::ZERO);
            let tilt = Quat::from_rotation_vector(s.vec3(0.02));
            let side = Vec3::new(0.0, s.between(-0.1, 0.1), 1.0);
            let mut X_B = Pose::new(tilt * b.1, side);
            let d = narrow.signed_distance(&a.0, &X_A, &b.0, &X_B);
            X_B.translation -= d.n_AB_W * (d.phi - s.between(1e-3, 5e-3));
            let margin = 0.05;
            let (mut points, mut motions) = (Vec::new(), Vec::new());
            narrow.contact_patch(&a.0, &X_A, &b.0, &X_B, margin, &mut points);
            narrow.contact_motions(&a.0, &X_A, &b.0, &X_B, margin, &points, &mut motions);
            let (w, v) = (s.vec3(1.0), s.vec3(1.0));
            for (point, motion) in points.iter().zip(&motions) {
                assert!(!motion.by_differences && !motion.kink, "{point:?}");
                let mut at = |h: f64| {
                    let mut out = Vec::new();
                    let X = moved(&X_B, point.p_WCb, w * h, v * h);
                    narrow.contact_patch(&a.0, &X_A, &b.0, &X, margin, &mut out);
                    out.iter().find(|p| p.feature == point.feature).map(entries)
                };
                let got = predicted(motion, w, v);
                let mut best = f64::INFINITY;
                for h in [1e-5, 1e-6, 1e-7] {
                    let (Some(p), Some(m)) = (at(h), at(-h)) else { continue };
                    let want: [f64; 10] = std::array::from_fn(|i| (p[i] - m[i]) / (2.0 * h));
                    let size = want.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
                    let error =
                        got.iter().zip(&want).fold(0.0_f64, |m, (x, y)| m.max((x - y).abs()));
                    best = best.min(error / size);
                }
                ends += 1;
                worst = worst.max(best);
            }
        }
    }
    // rounding of 1e-16 m divided by a step of 1e-7, and of normals across a gap of 1 mm
    assert!(ends > 1100 && worst < 1e-6, "{ends}, {worst:e}");
}

/// Exactly parallel lines are a kink: all their points are nearest, and after a rotation either end
/// is. Central differences would average both sides.
#[test]
fn parallel_lines_are_a_kink() {
    let mut narrow = NarrowPhase::new();
    let cube = Shape::Box { half: [0.2, 0.3, 0.2] };
    let rod = Shape::Capsule { radius: 0.1, half_length: 0.25 };
    let X_A = Pose::new(Quat::from_axis_angle(Vec3::Y, std::f64::consts::FRAC_PI_4), Vec3::ZERO);
    let lying = Quat::from_axis_angle(Vec3::X, std::f64::consts::FRAC_PI_2);
    let X_B = Pose::new(lying, Vec3::new(0.0, 0.0, 0.2 * 2f64.sqrt() + 0.101));
    let (mut points, mut motions) = (Vec::new(), Vec::new());
    narrow.contact_patch(&cube, &X_A, &rod, &X_B, 0.02, &mut points);
    narrow.contact_motions(&cube, &X_A, &rod, &X_B, 0.02, &points, &mut motions);
    assert_eq!(points.len(), 2);
    assert!(motions.iter().all(|m| m.kink), "{motions:?}");
}

/// A ball exactly above an edge is a kink: moved one way its normal stays that of the face, moved
/// the other way it turns about the edge.
#[test]
fn a_ball_exactly_above_an_edge_is_a_kink() {
    let mut narrow = NarrowPhase::new();
    let ball = Shape::Sphere { radius: 0.1 };
    let half = [0.2, 0.3, 0.15];
    let corners: Vec<Vec3> = (0..8)
        .map(|k| Vec3::from([0, 1, 2].map(|j| if k >> j & 1 == 1 { half[j] } else { -half[j] })))
        .collect();
    let cube = Shape::Box { half };
    let hull = Shape::Polytope(Arc::new(Polytope::from_points(&corners).unwrap()));
    let tube = Shape::Cylinder { radius: 0.2, half_length: 0.15 };
    let rod = Shape::Capsule { radius: 0.05, half_length: 0.1 };
    // ball centre, and a direction that leaves the feature on one side and stays on it on the other
    let edge = (Vec3::new(0.2, 0.03, 0.25), Vec3::X);
    let corner = (Vec3::new(0.2, 0.3, 0.25), Vec3::new(1.0, 2.0, 0.0));
    let end_of_edge = (Vec3::new(0.2 + 0.06, 0.3, 0.15 + 0.08), Vec3::Y);
    let rim = (Vec3::new(0.12, 0.16, 0.25), Vec3::new(3.0, 4.0, 0.0));
    let end_of_rod = (Vec3::new(0.15, 0.0, 0.1), Vec3::Z);
    let cases = [
        (&cube, edge),
        (&cube, corner),
        (&cube, end_of_edge),
        (&hull, edge),
        (&hull, corner),
        (&hull, end_of_edge),
        (&tube, rim),
        (&rod, end_of_rod),
    ];
    let X_A = Pose::new(Quat::from_axis_angle(Vec3::Y, 0.4), Vec3::new(0.3, -0.2, 0.1));
    for (shape, (centre, off)) in cases {
        for (shift, expected) in [(0.0, true), (1e-6, false), (-1e-6, false)] {
            let X_B = Pose::new(Quat::IDENTITY, X_A.transform_point(centre + off * shift));
            for swapped in [false, true] {
                let (mut a, mut b) = ((shape, X_A), (&ball, X_B));
                if swapped {
                    std::mem::swap(&mut a, &mut b);
                }
                let (mut points, mut motions) = (Vec::new(), Vec::new());
                narrow.contact_patch(a.0, &a.1, b.0, &b.1, 0.02, &mut points);
                narrow.contact_motions(a.0, &a.1, b.0, &b.1, 0.02, &points, &mut motions);
                assert_eq!(motions.len(), 1);
                assert_eq!(motions[0].kink, expected, "{shape:?} {centre:?} {shift}");
            }
        }
    }
}

/// A box edge lies level, or nearly so, on a narrower face. Rotated about the normal it is nearest
/// to one of the face's sides, and its normal stays the face's to 1e-5 rad.
#[test]
fn an_edge_level_on_a_face_that_it_juts_over_moves_as_differences_say() {
    let mut narrow = NarrowPhase::new();
    let finger = Shape::Box { half: [0.01, 0.008, 0.02] };
    let cube = Shape::Box { half: [0.05, 0.06, 0.025] };
    let mut s = Samples::new(9);
    let (mut compared, mut worst) = (0, 0.0_f64);
    for turned in [0.0, 1e-12, 1e-9, 1e-7, 2e-6, 2e-3] {
        // tilted by 5 mrad against the cube's upper edge
        let lean = Quat::from_rotation_vector(Vec3::new(0.0, 0.005, turned));
        let X_A = Pose::new(lean, Vec3::new(-0.0605, 0.0, 0.02));
        let (mut points, mut motions) = (Vec::new(), Vec::new());
        narrow.contact_patch(&finger, &X_A, &cube, &Pose::IDENTITY, 1e-3, &mut points);
        narrow.contact_motions(&finger, &X_A, &cube, &Pose::IDENTITY, 1e-3, &points, &mut motions);
        assert!(points.len() >= 2, "{points:?}");
        let (w, v) = (s.vec3(1.0), s.vec3(1.0));
        for (point, motion) in points.iter().zip(&motions) {
            assert!(!motion.by_differences && !motion.kink && !motion.on_edge, "{point:?}");
            let mut at = |h: f64| {
                let mut out = Vec::new();
                let X = moved(&Pose::IDENTITY, point.p_WCb, w * h, v * h);
                narrow.contact_patch(&finger, &X_A, &cube, &X, 1e-3, &mut out);
                entries(out.iter().find(|p| p.feature == point.feature).unwrap())
            };
            let (p, m) = (at(1e-6), at(-1e-6));
            let got = predicted(motion, w, v);
            for i in 0..10 {
                worst = worst.max((got[i] - (p[i] - m[i]) / 2e-6).abs());
            }
            compared += 1;
        }
    }
    assert!(compared >= 12 && worst < 1e-6, "{compared}, {worst:e}");
}

/// A level square of points has four equally near points, so the choice of the fifth is a tie; a
/// tilted one has no tie.
#[test]
fn ties_of_a_choice_are_told() {
    let mut narrow = NarrowPhase::new();
    let at = |i: i32, j: i32| Vec3::new(0.01 * f64::from(i), 0.01 * f64::from(j), 0.0);
    let points: Vec<Vec3> = (-5..=5).flat_map(|i| (-5..=5).map(move |j| at(i, j))).collect();
    let mut s = Samples::new(3);
    for choice in [Choice::Nearest { k: 5 }, Choice::Spread { k: 5 }] {
        let cloud = Shape::Cloud(Arc::new(PointCloud::new(&points, None, 0.0, choice).unwrap()));
        let level = Pose::from_translation(Vec3::new(0.0, 0.0, 1e-3));
        let mut tied =
            |X: &Pose| narrow.choice_is_tied(&Shape::HalfSpace, &Pose::IDENTITY, &cloud, X, 0.02);
        assert!(tied(&level), "{choice:?}");
        let mut count = 0;
        for _ in 0..50 {
            count += i32::from(tied(&Pose::new(
                Quat::from_rotation_vector(s.vec3(0.1)),
                level.translation,
            )));
        }
        assert!(count <= 5, "{choice:?}: {count} of 50");
        let ball = Shape::Sphere { radius: 0.1 };
        assert!(!narrow.choice_is_tied(&Shape::HalfSpace, &Pose::IDENTITY, &ball, &level, 0.02));
    }
}

/// A selection reported as not tied stays the same under motions of a nanometre.
#[test]
fn choices_that_are_not_tied_stay() {
    let mut narrow = NarrowPhase::new();
    let mut s = Samples::new(8);
    let plate = Shape::Box { half: [0.3, 0.3, 0.1] };
    let rod = Shape::Capsule { radius: 0.2, half_length: 0.3 };
    let (mut free, mut tied) = (0, 0);
    for sample in 0..400 {
        let points: Vec<Vec3> = (0..60).map(|_| s.vec3(0.3)).collect();
        let choice = if sample % 2 == 0 { Choice::default() } else { Choice::Nearest { k: 4 } };
        let cloud = Shape::Cloud(Arc::new(PointCloud::new(&points, None, 0.0, choice).unwrap()));
        let other = [&Shape::HalfSpace, &plate, &rod][sample % 3];
        let mut X = s.pose(0.1);
        let d = narrow.signed_distance(other, &Pose::IDENTITY, &cloud, &X);
        X.translation -= d.n_AB_W * (d.phi - 1e-4);
        if narrow.choice_is_tied(other, &Pose::IDENTITY, &cloud, &X, 0.1) {
            tied += 1;
            continue;
        }
        free += 1;
        let mut chosen = |X: &Pose| {
            let mut out = Vec::new();
            narrow.contact_patch(other, &Pose::IDENTITY, &cloud, X, 0.1, &mut out);
            let mut features: Vec<u32> = out.iter().map(|p| p.feature).collect();
            features.sort_unstable();
            features
        };
        let here = chosen(&X);
        for _ in 0..10 {
            let moved = moved(&X, X.translation, s.vec3(1e-9), s.vec3(1e-9));
            assert_eq!(here, chosen(&moved), "{other:?} {choice:?}");
        }
    }
    assert!(free > 350 && tied < 50, "{free} free, {tied} tied");
}
