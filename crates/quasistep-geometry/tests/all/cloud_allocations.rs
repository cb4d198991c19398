//! Queries with clouds do not allocate once their scratch memory is large enough.

use crate::common::{Samples, cloud, random_hull};
use quasistep_geometry::{Choice, ContactPoint, NarrowPhase, PointCloud, Shape};
use quasistep_math::{Pose, Vec3};

#[test]
fn warm_queries_allocate_nothing() {
    let mut s = Samples::new(61);
    let points: Vec<Vec3> = (0..5000).map(|_| s.vec3(0.5)).collect();
    let normals: Vec<Vec3> = (0..5000).map(|_| s.vec3(1.0)).collect();
    let up = PointCloud::new(&points[..500], Some(&normals[..500]), 0.0, Choice::default());
    let others = [
        Shape::HalfSpace,
        Shape::Sphere { radius: 0.3 },
        Shape::Box { half: [0.2, 0.3, 0.4] },
        Shape::Capsule { radius: 0.2, half_length: 0.4 },
        Shape::Cylinder { radius: 0.2, half_length: 0.4 },
        Shape::Ellipsoid { radii: [0.1, 0.2, 0.4] },
        random_hull(&mut s, 20),
        cloud(&points[..800], Choice::Nearest { k: 3 }),
        Shape::Cloud(up.unwrap().into()),
    ];
    let clouds = [cloud(&points, Choice::default()), cloud(&points, Choice::Nearest { k: 5 })];
    let poses: Vec<[Pose; 2]> = (0..20).map(|_| [s.pose(0.4), s.pose(0.4)]).collect();
    let mut narrow = NarrowPhase::new();
    let mut out: Vec<ContactPoint> = Vec::new();
    let mut calls = [0; 2];
    for round in &mut calls {
        let before = counting::calls();
        for [X_WA, X_WB] in &poses {
            for a in &others {
                for b in &clouds {
                    out.clear();
                    narrow.contact_patch(a, X_WA, b, X_WB, 0.05, &mut out);
                    let _ = narrow.signed_distance(b, X_WB, a, X_WA);
                }
            }
        }
        *round = counting::calls() - before;
    }
    assert!(calls[0] > 0, "memory grows at first");
    assert_eq!(calls[1], 0);
}
