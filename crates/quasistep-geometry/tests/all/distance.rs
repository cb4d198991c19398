//! Signed distance compared with a slow reference: apart, touching and overlapping.

use crate::common::{Samples, random_hull, reference};
use quasistep_geometry::{Distance, Shape, signed_distance};
use quasistep_math::{Pose, Quat, Vec3};

/// One shape of each kind that the reference supports. Hulls are small because the reference is
/// slow.
fn shapes(s: &mut Samples) -> Vec<Shape> {
    vec![
        Shape::Sphere { radius: s.between(0.1, 0.6) },
        Shape::Box { half: [s.between(0.2, 1.0), s.between(0.2, 1.0), s.between(0.2, 1.0)] },
        Shape::Capsule { radius: s.between(0.1, 0.5), half_length: s.between(0.2, 1.0) },
        random_hull(s, 6),
    ]
}

fn consistent(d: &Distance) {
    assert!((d.n_AB_W.norm() - 1.0).abs() < 1e-12, "{d:?}");
    let gap = d.p_WCb - d.p_WCa - d.n_AB_W * d.phi;
    assert!(gap.norm() < 1e-9, "witness points do not span the distance: {d:?}, off {gap:?}");
}

#[test]
fn all_pairs_agree_with_the_slow_reference() {
    let mut s = Samples::new(1);
    let mut overlaps = 0;
    for round in 0..60 {
        let (first, second) = (shapes(&mut s), shapes(&mut s));
        for a in &first {
            for b in &second {
                // from far apart to nearly concentric
                let (X_WA, X_WB) = (s.pose(0.2), s.pose(0.3 + 0.04 * f64::from(round)));
                let d = signed_distance(a, &X_WA, b, &X_WB);
                consistent(&d);
                let want = reference(a, &X_WA, b, &X_WB);
                overlaps += usize::from(want < 0.0);
                assert!(
                    (d.phi - want).abs() < 1e-9,
                    "{a:?} at {X_WA:?}, {b:?} at {X_WB:?}: {} against {want}",
                    d.phi
                );
            }
        }
    }
    assert!((200..800).contains(&overlaps), "{overlaps} of 960 overlap");
}

/// A pair moved along its normal by its distance touches exactly; the normal must stay accurate.
#[test]
fn normals_survive_exact_touch() {
    let mut s = Samples::new(2);
    for _ in 0..150 {
        let (first, second) = (shapes(&mut s), shapes(&mut s));
        for a in &first {
            for b in &second {
                let (X_WA, mut X_WB) = (s.pose(0.2), s.pose(2.0));
                let apart = signed_distance(a, &X_WA, b, &X_WB);
                if apart.phi < 0.05 {
                    continue;
                }
                X_WB.translation -= apart.n_AB_W * apart.phi;
                for nudge in [0.0, 1e-15, -1e-15, 1e-12, -1e-12, 1e-10, -1e-10] {
                    let mut X = X_WB;
                    X.translation += apart.n_AB_W * nudge;
                    let touch = signed_distance(a, &X_WA, b, &X);
                    consistent(&touch);
                    assert!(
                        (touch.phi - nudge).abs() < 1e-9,
                        "{a:?} {b:?}: {} at touch",
                        touch.phi
                    );
                    // at corner against corner many normals are valid: the one given must separate
                    // the shapes
                    let mut moved = X;
                    moved.translation += touch.n_AB_W * 1e-3;
                    let after = signed_distance(a, &X_WA, b, &moved).phi;
                    assert!(
                        after > 0.5e-3,
                        "{a:?} {b:?}: normal {:?} separates by {after} only",
                        touch.n_AB_W
                    );
                }
            }
        }
    }
}

#[test]
fn order_of_arguments_only_flips_the_normal() {
    let mut s = Samples::new(3);
    for _ in 0..200 {
        let (first, second) = (shapes(&mut s), shapes(&mut s));
        for a in first
            .iter()
            .chain([&Shape::HalfSpace, &Shape::Cylinder { radius: 0.3, half_length: 0.5 }])
        {
            for b in &second {
                let (X_WA, X_WB) = (s.pose(0.5), s.pose(1.0));
                let (d, e) =
                    (signed_distance(a, &X_WA, b, &X_WB), signed_distance(b, &X_WB, a, &X_WA));
                assert!((d.phi - e.phi).abs() < 1e-9, "{a:?} {b:?}: {} {}", d.phi, e.phi);
                consistent(&d);
                consistent(&e);
            }
        }
    }
}

/// The distance of a half-space is the least height of the other shape's points.
#[test]
fn half_space_sees_the_lowest_point() {
    let mut s = Samples::new(4);
    for _ in 0..300 {
        let mut all = shapes(&mut s);
        all.push(Shape::Cylinder { radius: s.between(0.1, 0.5), half_length: s.between(0.1, 0.8) });
        all.push(Shape::Ellipsoid { radii: [0.1, s.between(0.1, 0.8), 0.5] });
        for b in &all {
            let (X_WA, X_WB) = (s.pose(0.5), s.pose(1.0));
            let d = signed_distance(&Shape::HalfSpace, &X_WA, b, &X_WB);
            consistent(&d);
            let n = X_WA.rotation.rotate(Vec3::Z);
            let down = X_WB.rotation.inverse().rotate(-n);
            let lowest = X_WB.transform_point(b.support(down).unwrap());
            assert!((d.phi - (lowest - X_WA.translation).dot(n)).abs() < 1e-12);
            // no point of the shape is lower
            for _ in 0..20 {
                let p = X_WB.transform_point(b.support(s.vec3(1.0)).unwrap());
                assert!((p - X_WA.translation).dot(n) >= d.phi - 1e-12);
            }
        }
    }
    let far =
        signed_distance(&Shape::HalfSpace, &Pose::IDENTITY, &Shape::HalfSpace, &Pose::IDENTITY);
    assert_eq!(far.phi, f64::INFINITY);
}

/// A ball against a cylinder, in each region: beside, above an end, at a rim, inside.
#[test]
fn ball_and_cylinder_agree_by_region() {
    let cylinder = Shape::Cylinder { radius: 0.5, half_length: 1.0 };
    let ball = Shape::Sphere { radius: 0.25 };
    let phi = |x: f64, z: f64| {
        let X = Pose::from_translation(Vec3::new(x, 0.0, z));
        let d = signed_distance(&cylinder, &Pose::IDENTITY, &ball, &X);
        consistent(&d);
        d.phi
    };
    assert!((phi(1.0, 0.3) - 0.25).abs() < 1e-15);
    assert!((phi(0.2, 1.5) - 0.25).abs() < 1e-15);
    assert!((phi(0.8, 1.4) - 0.25).abs() < 1e-15);
    assert!((phi(0.4, 0.0) + 0.35).abs() < 1e-15);
    assert!((phi(0.0, 0.9) + 0.35).abs() < 1e-15);
    assert!((phi(0.0, 0.0) + 0.75).abs() < 1e-15);
}

/// Aligned and coincident placements, where several axes are equally good and features are
/// parallel.
#[test]
fn degenerate_placements_are_exact() {
    let unit = Shape::Box { half: [0.5; 3] };
    let at = |x: f64, y: f64, z: f64| Pose::from_translation(Vec3::new(x, y, z));
    let phi = |a: &Shape, X: Pose, b: &Shape, Y: Pose| {
        let d = signed_distance(a, &X, b, &Y);
        consistent(&d);
        d
    };
    let o = Pose::IDENTITY;
    // face on face, edge on edge, corner on corner; touching and apart
    let face = phi(&unit, o, &unit, at(0.0, 0.0, 1.0));
    assert!(face.phi.abs() < 1e-15 && (face.n_AB_W - Vec3::Z).norm() < 1e-15);
    assert!((phi(&unit, o, &unit, at(0.3, -0.2, 1.25)).phi - 0.25).abs() < 1e-15);
    assert!((phi(&unit, o, &unit, at(1.3, 1.4, 0.0)).phi - 0.5).abs() < 1e-12);
    assert!((phi(&unit, o, &unit, at(1.2, 1.2, 1.1)).phi - 0.3).abs() < 1e-12);
    assert!(phi(&unit, o, &unit, at(1.0, 1.0, 1.0)).phi.abs() < 1e-15);
    // one inside the other
    assert!((phi(&unit, o, &unit, o).phi + 1.0).abs() < 1e-15);
    let ball = Shape::Sphere { radius: 0.1 };
    assert!((phi(&unit, o, &ball, o).phi + 0.6).abs() < 1e-15);
    assert!((phi(&unit, o, &ball, at(0.5, 0.0, 0.0)).phi + 0.1).abs() < 1e-15);
    assert!((phi(&ball, o, &ball, o).phi + 0.2).abs() < 1e-15);
    // parallel, crossing and collinear capsules
    let capsule = Shape::Capsule { radius: 0.1, half_length: 0.5 };
    assert!((phi(&capsule, o, &capsule, at(0.3, 0.0, 0.2)).phi - 0.1).abs() < 1e-15);
    assert!((phi(&capsule, o, &capsule, at(0.0, 0.0, 1.5)).phi - 0.3).abs() < 1e-15);
    assert!((phi(&capsule, o, &capsule, o).phi + 0.2).abs() < 1e-15);
    let across = Pose::new(Quat::from_axis_angle(Vec3::X, 1.5), Vec3::ZERO);
    assert!((phi(&capsule, o, &capsule, across).phi + 0.2).abs() < 1e-15);
}
