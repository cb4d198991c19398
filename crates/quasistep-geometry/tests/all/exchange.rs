//! A pair has the same distance and patch whichever shape is A.

use crate::common::{Samples, random_hull};
use quasistep_geometry::{Choice, ContactPoint, NarrowPhase, PointCloud, Shape};
use quasistep_math::{Pose, Quat, Vec3};
use std::sync::Arc;

const KINDS: usize = 7;
const MARGIN: f64 = 0.3;

fn shape(s: &mut Samples, kind: usize) -> Shape {
    let size = |s: &mut Samples| s.between(0.3, 1.0);
    match kind {
        0 => Shape::Sphere { radius: size(s) },
        1 => Shape::Capsule { radius: size(s), half_length: size(s) },
        2 => Shape::Ellipsoid { radii: [size(s), size(s), size(s)] },
        3 => Shape::Cylinder { radius: size(s), half_length: size(s) },
        4 => Shape::Box { half: [size(s), size(s), size(s)] },
        5 => random_hull(s, 14),
        _ => {
            let points: Vec<Vec3> = (0..60).filter_map(|_| s.vec3(1.0).try_normalize()).collect();
            let normals = points.clone();
            let cloud = PointCloud::new(&points, Some(&normals), 0.0, Choice::default());
            Shape::Cloud(Arc::new(cloud.unwrap()))
        }
    }
}

/// An aligned, nearly aligned, lying or random rotation.
fn rotation(s: &mut Samples) -> Quat {
    let level = Quat::from_axis_angle(Vec3::Z, s.between(-3.0, 3.0));
    let tilt = 10.0_f64.powf(s.between(-9.0, -2.0));
    match (4.0 * s.uniform()) as usize {
        0 => level,
        1 => level * Quat::from_rotation_vector(s.vec3(tilt)),
        2 => level * Quat::from_axis_angle(Vec3::X, std::f64::consts::FRAC_PI_2),
        _ => s.rotation(),
    }
}

/// A pair that touches, overlaps or is slightly apart along a direction, which is often vertical.
fn pair(s: &mut Samples, kinds: [usize; 2]) -> [(Shape, Pose); 2] {
    let a = shape(s, kinds[0]);
    // identical shapes are ordered by their relative pose only
    let b = if kinds[0] == kinds[1] && s.uniform() < 0.5 { a.clone() } else { shape(s, kinds[1]) };
    let X_WA = Pose::new(rotation(s), s.vec3(2.0));
    let way = if s.uniform() < 0.5 { Vec3::Z } else { s.vec3(1.0).try_normalize().unwrap() };
    let way = X_WA.rotation.rotate(way);
    let mut X_WB = Pose::new(X_WA.rotation * rotation(s), X_WA.translation);
    let reach = |shape: &Shape, X: &Pose, d: Vec3| {
        X.rotation.rotate(shape.support(X.rotation.inverse().rotate(d)).unwrap()).dot(d)
    };
    let aside = s.vec3(0.1);
    let gap = if s.uniform() < 0.3 { 0.0 } else { s.between(-0.1, 0.1) };
    let apart = reach(&a, &X_WA, way) + reach(&b, &X_WB, -way) + gap;
    X_WB.translation += way * apart + aside - way * way.dot(aside);
    [(a, X_WA), (b, X_WB)]
}

fn patch(narrow: &mut NarrowPhase, [a, b]: [&(Shape, Pose); 2], margin: f64) -> Vec<ContactPoint> {
    let mut out = Vec::new();
    narrow.contact_patch(&a.0, &a.1, &b.0, &b.1, margin, &mut out);
    out
}

#[test]
fn the_patch_of_b_and_a_is_that_of_a_and_b() {
    let (s, mut narrow, mut several) = (&mut Samples::new(5), NarrowPhase::new(), 0);
    for sample in 0..3000 {
        let kinds = [sample % KINDS, sample / KINDS % KINDS];
        let [a, b] = pair(s, kinds);
        let d = narrow.signed_distance(&a.0, &a.1, &b.0, &b.1);
        let e = narrow.signed_distance(&b.0, &b.1, &a.0, &a.1);
        assert_eq!((d.phi, d.p_WCa, d.p_WCb), (e.phi, e.p_WCb, e.p_WCa), "{kinds:?}: {a:?} {b:?}");
        assert_eq!(d.n_AB_W, -e.n_AB_W);
        let (ours, theirs) =
            (patch(&mut narrow, [&a, &b], MARGIN), patch(&mut narrow, [&b, &a], MARGIN));
        assert_eq!(ours.len(), theirs.len(), "{kinds:?}: {a:?} {b:?}");
        several += usize::from(ours.len() > 1);
        if kinds == [6, 6] {
            // features of two clouds are numbered by A and B, so they differ
            continue;
        }
        for (p, q) in ours.iter().zip(&theirs) {
            let flipped = (q.phi, q.p_WCb, q.p_WCa, -q.n_AB_W, q.feature);
            assert_eq!((p.phi, p.p_WCa, p.p_WCb, p.n_AB_W, p.feature), flipped, "{kinds:?}");
        }
    }
    assert!(several > 500, "{several} patches of several points");
}
