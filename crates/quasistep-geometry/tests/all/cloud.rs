//! Clouds against every shape: distances compared with point-like balls and a slow reference;
//! selection of points.

use crate::common::{Samples, box_skin, cloud, random_hull, reference};
use quasistep_geometry::{
    Choice, CloudError, ContactPoint, NarrowPhase, PointCloud, Shape, contact_patch,
    signed_distance,
};
use quasistep_math::{Pose, Quat, Vec3};

fn shapes(s: &mut Samples) -> Vec<Shape> {
    vec![
        Shape::HalfSpace,
        Shape::Sphere { radius: s.between(0.1, 0.6) },
        Shape::Box { half: [s.between(0.2, 1.0), s.between(0.2, 1.0), s.between(0.2, 1.0)] },
        Shape::Capsule { radius: s.between(0.1, 0.5), half_length: s.between(0.2, 1.0) },
        Shape::Cylinder { radius: s.between(0.1, 0.5), half_length: s.between(0.2, 1.0) },
        random_hull(s, 12),
        Shape::Ellipsoid { radii: [s.between(0.1, 0.5), s.between(0.1, 1.0), s.between(0.1, 1.0)] },
    ]
}

fn patch(a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose, margin: f64) -> Vec<ContactPoint> {
    let mut out = Vec::new();
    contact_patch(a, X_WA, b, X_WB, margin, &mut out);
    out
}

/// Distances of all points, each as a ball of radius zero, ascending.
fn one_by_one(shape: &Shape, X_WS: &Pose, points: &[Vec3], X_WC: &Pose) -> Vec<f64> {
    let ball = Shape::Sphere { radius: 1e-3 };
    let mut all: Vec<f64> = points
        .iter()
        .map(|p| {
            let X = Pose::from_translation(X_WC.transform_point(*p));
            signed_distance(shape, X_WS, &ball, &X).phi + 1e-3
        })
        .collect();
    all.sort_by(f64::total_cmp);
    all
}

/// A ball's distance is its centre's distance less its radius, outside and inside.
#[test]
fn a_point_is_a_ball_of_no_size() {
    let mut s = Samples::new(31);
    let ball = Shape::Sphere { radius: 1e-3 };
    let mut inside = 0;
    for round in 0..300 {
        for shape in shapes(&mut s) {
            let (X_WS, X_WC) = (s.pose(1.0), s.pose(1.0));
            // some points lie on the axes, edges and faces
            let mut p = s.vec3(0.3 + 0.005 * f64::from(round));
            if round % 3 == 0 {
                p.x = 0.0;
            }
            let one = cloud(&[p], Choice::default());
            let X_WP = Pose::from_translation(X_WC.transform_point(p));
            let d = signed_distance(&shape, &X_WS, &one, &X_WC);
            let want = signed_distance(&shape, &X_WS, &ball, &X_WP);
            assert!((d.phi - want.phi - 1e-3).abs() < 1e-12, "{shape:?}: {d:?} {want:?}");
            assert!((d.n_AB_W - want.n_AB_W).norm() < 1e-6, "{shape:?}: {d:?} {want:?}");
            assert!((d.p_WCb - X_WP.translation).norm() < 1e-12);
            let gap = d.p_WCb - d.p_WCa - d.n_AB_W * d.phi;
            assert!(gap.norm() < 1e-12 && (d.n_AB_W.norm() - 1.0).abs() < 1e-12, "{d:?}");
            inside += u32::from(d.phi < 0.0);
            let slow = match shape {
                Shape::HalfSpace | Shape::Cylinder { .. } | Shape::Ellipsoid { .. } => continue,
                _ => reference(&shape, &X_WS, &ball, &X_WP) + 1e-3,
            };
            assert!((d.phi - slow).abs() < 1e-9, "{shape:?}: {} {slow}", d.phi);
        }
    }
    assert!(inside > 150, "{inside} of 2100 are inside");
}

/// Points on and near corners, edges and faces of a box: the normals must be accurate.
#[test]
fn normals_at_touch_separate() {
    let unit = Shape::Box { half: [0.5; 3] };
    let o = Pose::IDENTITY;
    for (x, y, z) in [(0.5, 0.5, 0.5), (0.5, 0.5, 0.1), (0.5, 0.0, 0.0), (-0.5, 0.2, 0.5)] {
        for nudge in [0.0, 1e-17, 1e-15, 1e-12, -1e-12] {
            let p = Vec3::new(x + nudge, y - nudge, z);
            let d = signed_distance(&unit, &o, &cloud(&[p], Choice::default()), &o);
            assert!(d.phi.abs() < 1e-11, "{d:?}");
            let moved = Pose::from_translation(d.n_AB_W * 1e-3);
            let after = signed_distance(&unit, &o, &cloud(&[p], Choice::default()), &moved);
            assert!(after.phi > 0.5e-3, "{d:?} {after:?}");
        }
    }
}

/// Tracy III-B: the k smallest distances, for all sizes of clouds and shapes.
#[test]
fn nearest_are_the_k_smallest_distances() {
    let mut s = Samples::new(32);
    for n in [1, 4, 31, 32, 33, 129, 1000, 4000] {
        let points: Vec<Vec3> = (0..n).map(|_| s.vec3(0.7)).collect();
        for shape in shapes(&mut s) {
            for (k, margin) in [(1, 0.3), (5, 0.05), (5, 2.0), (40, 0.1)] {
                let (X_WS, X_WC) = (s.pose(0.7), s.pose(0.7));
                let near = cloud(&points, Choice::Nearest { k });
                let got = patch(&shape, &X_WS, &near, &X_WC, margin);
                let mut want = one_by_one(&shape, &X_WS, &points, &X_WC);
                want.retain(|phi| *phi < margin);
                want.truncate(k as usize);
                assert_eq!(got.len(), want.len(), "{n} {k} {margin} {shape:?}");
                for (p, phi) in got.iter().zip(&want) {
                    assert!((p.phi - phi).abs() < 1e-12, "{n} {k} {shape:?}: {} {phi}", p.phi);
                    // the contact point is the point with the index `feature`
                    let named = X_WC.transform_point(points[p.feature as usize]);
                    assert!((p.p_WCb - named).norm() < 1e-12);
                }
            }
        }
    }
}

/// `Spread` includes the deepest point, and no point twice.
#[test]
fn spread_holds_the_deepest_point() {
    let mut s = Samples::new(33);
    for n in [1, 2, 5, 33, 700, 5000] {
        let points: Vec<Vec3> = (0..n).map(|_| s.vec3(0.5)).collect();
        for shape in shapes(&mut s) {
            for k in [1, 2, 5, 9] {
                let (X_WS, X_WC) = (s.pose(0.6), s.pose(0.6));
                let span = cloud(&points, Choice::Spread { k });
                let got = patch(&shape, &X_WS, &span, &X_WC, 0.2);
                let want = one_by_one(&shape, &X_WS, &points, &X_WC);
                let n_near = want.iter().filter(|phi| **phi < 0.2).count();
                assert!(got.len() <= n_near.min(k as usize));
                assert_eq!(got.is_empty(), n_near == 0);
                let least = got.iter().fold(f64::INFINITY, |m, p| m.min(p.phi));
                // points equally deep to 1e-9 m are interchangeable
                assert!(n_near == 0 || (least - want[0]).abs() < 1.001e-9, "{least} {}", want[0]);
                let d = signed_distance(&shape, &X_WS, &span, &X_WC);
                assert!((d.phi - want[0]).abs() < 1e-12);
                let mut features: Vec<u32> = got.iter().map(|p| p.feature).collect();
                features.sort_unstable();
                features.dedup();
                assert_eq!(features.len(), got.len());
            }
        }
    }
}

#[test]
fn order_of_arguments_only_flips_the_normal() {
    let mut s = Samples::new(34);
    let points: Vec<Vec3> = (0..500).map(|_| s.vec3(0.5)).collect();
    for choice in [Choice::Nearest { k: 5 }, Choice::Spread { k: 5 }] {
        let b = cloud(&points, choice);
        for a in shapes(&mut s) {
            let (X_WA, X_WB) = (s.pose(0.4), s.pose(0.4));
            let there = patch(&a, &X_WA, &b, &X_WB, 0.3);
            let back = patch(&b, &X_WB, &a, &X_WA, 0.3);
            assert_eq!(there.len(), back.len());
            for (p, q) in there.iter().zip(&back) {
                assert_eq!((p.phi, p.p_WCa, p.p_WCb), (q.phi, q.p_WCb, q.p_WCa));
                assert_eq!((p.n_AB_W, p.feature), (-q.n_AB_W, q.feature));
                assert!((p.phi - (p.p_WCb - p.p_WCa).dot(p.n_AB_W)).abs() < 1e-12);
            }
        }
    }
}

/// Used scratch memory gives the same bits as fresh memory.
#[test]
fn used_memory_gives_the_same_bits() {
    let mut s = Samples::new(35);
    let clouds: Vec<Shape> = [40, 900, 20_000]
        .map(|n| {
            let points: Vec<Vec3> = (0..n).map(|_| s.vec3(0.5)).collect();
            cloud(&points, Choice::default())
        })
        .into();
    let mut used = NarrowPhase::new();
    for _ in 0..40 {
        for b in &clouds {
            for a in shapes(&mut s) {
                let (X_WA, X_WB) = (s.pose(0.4), s.pose(0.4));
                let mut out = Vec::new();
                used.contact_patch(&a, &X_WA, b, &X_WB, 0.1, &mut out);
                assert_eq!(out, patch(&a, &X_WA, b, &X_WB, 0.1));
            }
        }
    }
}

/// A point radius reduces every distance by itself.
#[test]
fn radius_makes_points_balls() {
    let mut s = Samples::new(36);
    let points: Vec<Vec3> = (0..300).map(|_| s.vec3(0.5)).collect();
    let choice = Choice::Nearest { k: 5 };
    let balls = Shape::Cloud(PointCloud::new(&points, None, 0.02, choice).unwrap().into());
    for shape in shapes(&mut s) {
        let (X_WS, X_WC) = (s.pose(0.8), s.pose(0.8));
        let bare = patch(&shape, &X_WS, &cloud(&points, choice), &X_WC, 0.12);
        let thick = patch(&shape, &X_WS, &balls, &X_WC, 0.10);
        assert_eq!(bare.len(), thick.len());
        for (p, q) in bare.iter().zip(&thick) {
            assert!((p.phi - 0.02 - q.phi).abs() < 1e-12 && p.feature == q.feature);
            assert!((q.p_WCb - (p.p_WCb - p.n_AB_W * 0.02)).norm() < 1e-12);
        }
    }
}

/// No point, one point, copies of one point, collinear points and coplanar points.
#[test]
fn few_and_degenerate_points_are_fine() {
    let floor = Shape::HalfSpace;
    let at = |z: f64| Pose::from_translation(Vec3::new(0.0, 0.0, z));
    let o = Pose::IDENTITY;
    let count = |points: &[Vec3], choice, z: f64| {
        patch(&floor, &o, &cloud(points, choice), &at(z), 0.01).len()
    };
    let (span, near) = (Choice::Spread { k: 5 }, Choice::Nearest { k: 5 });
    let two = [Vec3::ZERO, Vec3::new(0.3, 0.0, 0.5)];
    for choice in [span, near] {
        assert_eq!(count(&two, choice, 0.02), 0);
        assert_eq!(count(&two, choice, 0.005), 1);
        assert_eq!(count(&two[..1], choice, 0.0), 1);
        // a point exactly at the margin is excluded
        assert_eq!(count(&two, choice, 0.01), 0);
    }
    // `Spread` selects one of several copies; `Nearest` selects all
    let copies = [Vec3::new(0.1, 0.2, 0.0); 50];
    assert_eq!((count(&copies, span, 0.0), count(&copies, near, 0.0)), (1, 5));
    let line: Vec<Vec3> = (0..200).map(|i| Vec3::new(0.001 * f64::from(i), 0.0, 0.0)).collect();
    let ends = patch(&floor, &o, &cloud(&line, span), &o, 0.01);
    let mut features: Vec<u32> = ends.iter().map(|p| p.feature).collect();
    features.sort_unstable();
    assert_eq!(features, [0, 199], "the ends of a line are all of it");
    let plane: Vec<Vec3> = (0..2500)
        .map(|i| Vec3::new(0.001 * f64::from(i % 50), 0.002 * f64::from(i / 50), 0.0))
        .collect();
    let mut corners: Vec<u32> =
        patch(&floor, &o, &cloud(&plane, span), &o, 0.01).iter().map(|p| p.feature).collect();
    corners.sort_unstable();
    assert_eq!(corners, [0, 49, 2450, 2499], "the corners of a rectangle are all of it");
}

/// Far from the origin a cloud is as accurate as its coordinates. Coordinates that are NaN or
/// overflow give no contact and no panic.
#[test]
fn huge_and_missing_numbers_do_no_harm() {
    let far = Vec3::new(1e7, -2e7, 3e7);
    let points: Vec<Vec3> = box_skin(12, [0.1, 0.1, 0.1]).iter().map(|p| *p + far).collect();
    let X = Pose::from_translation(-far + Vec3::Z * 0.1);
    let floor = Shape::HalfSpace;
    let got = patch(&floor, &Pose::IDENTITY, &cloud(&points, Choice::default()), &X, 0.01);
    assert_eq!(got.len(), 4);
    assert!(got.iter().all(|p| p.phi.abs() < 1e-8), "{got:?}");

    let mut s = Samples::new(37);
    for size in [1e150, 1e200, 1e307] {
        let points: Vec<Vec3> = (0..100).map(|_| s.vec3(size)).collect();
        let wild = cloud(&points, Choice::default());
        for shape in shapes(&mut s) {
            let _ = signed_distance(&shape, &s.pose(1.0), &wild, &s.pose(1.0));
            patch(&shape, &s.pose(1.0), &wild, &s.pose(1.0), 0.1);
        }
    }
    let few = cloud(&[Vec3::ZERO, Vec3::X], Choice::default());
    for bad in [f64::NAN, f64::INFINITY] {
        let X = Pose::from_translation(Vec3::new(bad, 0.0, 0.0));
        let mut others = shapes(&mut s);
        others.push(few.clone());
        for shape in others {
            assert!(
                patch(&shape, &X, &few, &Pose::IDENTITY, 0.1).is_empty()
                    || shape == Shape::HalfSpace
            );
            let _ = signed_distance(&few, &X, &shape, &Pose::IDENTITY);
        }
    }
}

/// The bounding box contains all points with their radius, and the support point is the farthest of
/// them.
#[test]
fn box_and_support_hold_all_points() {
    let mut s = Samples::new(38);
    for _ in 0..50 {
        let points: Vec<Vec3> = (0..200).map(|_| s.vec3(0.5)).collect();
        let made = PointCloud::new(&points, None, 0.05, Choice::default()).unwrap();
        let shape = Shape::Cloud(made.into());
        assert!(shape.check().is_ok() && shape.mass_properties(1000.0).is_none());
        let (X, d) = (s.pose(2.0), s.vec3(1.0));
        let aabb = shape.aabb(&X);
        let reach = Vec3::new(0.05, 0.05, 0.05) * (1.0 - 1e-9);
        let far = points.iter().map(|p| p.dot(d)).fold(f64::NEG_INFINITY, f64::max);
        let support = shape.support(d).unwrap();
        assert!((support.dot(d) - far - 0.05 * d.norm()).abs() < 1e-12);
        for p in &points {
            let p = X.transform_point(*p);
            assert_eq!(aabb.min.min(p - reach), aabb.min);
            assert_eq!(aabb.max.max(p + reach), aabb.max);
        }
    }
}

#[test]
fn bad_clouds_are_refused_by_index() {
    let (p, n) = ([Vec3::ZERO, Vec3::X], [Vec3::Z, Vec3::Z * 3.0]);
    let make = |points: &[Vec3], normals: Option<&[Vec3]>, radius, k| {
        PointCloud::new(points, normals, radius, Choice::Nearest { k })
    };
    let kept = make(&p, Some(&n), 0.0, 5).unwrap();
    assert_eq!((kept.points(), kept.normals().unwrap()), (&p[..], &[Vec3::Z; 2][..]));
    assert_eq!(make(&[], None, 0.0, 5), Err(CloudError::Empty));
    assert_eq!(make(&p, None, -1.0, 5), Err(CloudError::Radius(-1.0)));
    assert!(matches!(make(&p, None, f64::NAN, 5), Err(CloudError::Radius(_))));
    assert_eq!(make(&p, None, 0.0, 0), Err(CloudError::NoneChosen));
    let bad = [Vec3::ZERO, Vec3::new(0.0, f64::NAN, 0.0)];
    assert!(matches!(make(&bad, None, 0.0, 5), Err(CloudError::PointNotFinite { index: 1, .. })));
    let e = make(&p, Some(&[Vec3::Z, bad[1]]), 0.0, 5);
    assert!(matches!(e, Err(CloudError::NormalNotFinite { index: 1, .. })));
    let e = make(&p, Some(&[Vec3::Z, Vec3::ZERO]), 0.0, 5);
    assert_eq!(e, Err(CloudError::ZeroNormal { index: 1 }));
    let e = make(&p, Some(&n[..1]), 0.0, 5);
    assert_eq!(e, Err(CloudError::NormalCount { points: 2, normals: 1 }));
    assert_eq!(
        e.unwrap_err().to_string(),
        "1 normals were seen for 2 points; there must be one each, or none"
    );
}

/// Area of the convex hull of points in the plane z = 0, in m².
fn area(points: &[ContactPoint]) -> f64 {
    let p: Vec<[f64; 2]> = points.iter().map(|c| [c.p_WCa.x, c.p_WCa.y]).collect();
    let mut doubled: f64 = 0.0;
    for i in 0..p.len() {
        for j in 0..p.len() {
            let side = |k: usize| {
                (p[j][0] - p[i][0]) * (p[k][1] - p[i][1])
                    - (p[j][1] - p[i][1]) * (p[k][0] - p[i][0])
            };
            // an edge of the hull has all other points on its left
            if i != j && (0..p.len()).all(|k| side(k) >= -1e-12) {
                doubled += p[i][0] * p[j][1] - p[j][0] * p[i][1];
            }
        }
    }
    0.5 * doubled
}

/// Why `Spread` is the default: a scanned box flat on the floor, in exact and in single precision.
/// The five nearest of 6000 points span a small part of the patch; `Spread` spans nearly all of it.
/// Solver errors do not change its selection: up to 1e-9 rad for a perfect face, less for a rough
/// one.
#[test]
fn spread_spans_what_nearest_does_not() {
    let mut s = Samples::new(39);
    let (floor, o) = (Shape::HalfSpace, Pose::IDENTITY);
    for (noise, rounding) in [(0.0, 1e-9), (1e-8, 1e-12)] {
        let points: Vec<Vec3> =
            box_skin(32, [0.05, 0.05, 0.05]).iter().map(|p| *p + s.vec3(noise)).collect();
        let [span, near] = [Choice::Spread { k: 5 }, Choice::Nearest { k: 5 }]
            .map(|choice| cloud(&points, choice));
        let mut scraps = 0;
        for round in 0..20 {
            let turn = Quat::from_axis_angle(Vec3::Z, 0.3 * f64::from(round));
            let mut tilted = |angle: f64| {
                let tilt = Quat::from_rotation_vector(s.vec3(angle));
                Pose::new(tilt * turn, Vec3::new(0.0, 0.0, 0.05))
            };
            let features = |X: &Pose| {
                let got = patch(&floor, &o, &span, X, 0.02);
                assert!(area(&got) > 0.0099 * 0.99, "{} of 0.01", area(&got));
                let mut features: Vec<u32> = got.iter().map(|p| p.feature).collect();
                features.sort_unstable();
                features
            };
            assert_eq!(features(&tilted(rounding)), features(&tilted(rounding)));
            let scrap = area(&patch(&floor, &o, &near, &tilted(1e-9), 0.02));
            scraps += u32::from(scrap < 0.005);
        }
        assert!(scraps > 10, "{scraps} of 20");
    }
}

/// A box tilted about an edge: points opposite to the edge are selected, not five along it.
#[test]
fn spread_sees_what_comes_next() {
    let mut s = Samples::new(40);
    // coordinates in single precision, then with scanner noise, where the edge itself is not
    // straight
    for (noise, fewest, least) in [(1e-8, 2, 0.009), (1e-5, 1, 0.004)] {
        let points: Vec<Vec3> =
            box_skin(32, [0.05, 0.05, 0.05]).iter().map(|p| *p + s.vec3(noise)).collect();
        let X = Pose::new(Quat::from_axis_angle(Vec3::Y, 0.05), Vec3::new(0.0, 0.0, 0.0525));
        let b = cloud(&points, Choice::default());
        let got = patch(&Shape::HalfSpace, &Pose::IDENTITY, &b, &X, 0.02);
        let low = got.iter().filter(|p| p.phi < 1e-3).count();
        let opposite = got.iter().filter(|p| (p.phi - 0.005).abs() < 1e-3).count();
        assert!(low >= 2 && opposite >= fewest, "{got:?}");
        assert!(area(&got) > least, "{}", area(&got));
        let near = patch(
            &Shape::HalfSpace,
            &Pose::IDENTITY,
            &cloud(&points, Choice::Nearest { k: 5 }),
            &X,
            0.02,
        );
        assert!(near.iter().all(|p| p.phi < 1e-3) && area(&near) < 1e-4, "{near:?}");
    }
}

/// The far side of a finger in a handle is selected, although it is straight behind the near side.
#[test]
fn spread_sees_both_sides_of_a_finger() {
    let ring: Vec<Vec3> = (0..4000)
        .map(|i| {
            let (s, c) = (0.001 * std::f64::consts::TAU * f64::from(i % 1000)).sin_cos();
            Vec3::new(0.0102 * c, 0.0102 * s, 0.002 * f64::from(i / 1000))
        })
        .collect();
    let finger = Shape::Capsule { radius: 0.01, half_length: 0.05 };
    let X = Pose::from_translation(Vec3::new(1e-6, 0.0, 0.0));
    let handle = cloud(&ring, Choice::default());
    let got = patch(&finger, &X, &handle, &Pose::IDENTITY, 0.002);
    let n = got[0].n_AB_W;
    let least = got.iter().fold(1.0_f64, |m, p| m.min(p.n_AB_W.dot(n)));
    assert!(least < -0.5, "{got:?}");
}
