//! Hulls, mass properties and the broad phase.

use crate::common::Samples;
use quasistep_geometry::{Aabb, BroadPhase, Face, FaceParts, HullError, Polytope, Shape};
use quasistep_math::{Pose, Vec3};

#[test]
fn hull_of_a_cube_with_clutter_is_the_cube() {
    let mut s = Samples::new(1);
    let mut points = Vec::new();
    for i in 0..8 {
        let c = |k: i32| if i >> k & 1 == 1 { 1.0 } else { -1.0 };
        points.push(Vec3::new(c(0), c(1), c(2)));
    }
    // points inside, on faces, on edges, and duplicates
    for _ in 0..200 {
        points.push(s.vec3(1.0));
        points.push(Vec3::new(1.0, s.between(-1.0, 1.0), s.between(-1.0, 1.0)));
        points.push(Vec3::new(1.0, -1.0, s.between(-1.0, 1.0)));
    }
    points.extend_from_within(0..8);
    let hull = Polytope::from_points(&points).unwrap();
    assert_eq!((hull.vertices().len(), hull.faces().len(), hull.edges().len()), (8, 6, 12));
    assert!(hull.faces().iter().all(|f| f.vertices().len() == 4));
    let m = hull.mass_properties(2.0);
    assert!((m.mass - 16.0).abs() < 1e-12 && m.com.norm() < 1e-12);
    for k in 0..3 {
        assert!((m.inertia.rows[k][k] - 16.0 * 2.0 / 3.0).abs() < 1e-11, "{:?}", m.inertia);
    }
}

/// Euler's formula, outward faces, and no point outside, for hulls of a few to thousands of points.
#[test]
fn hulls_are_closed_and_convex() {
    let mut s = Samples::new(2);
    for n in [4, 5, 10, 50, 300, 3000] {
        let points: Vec<Vec3> =
            (0..n).map(|_| s.vec3(1.0).try_normalize().unwrap() * s.between(0.9, 1.0)).collect();
        let hull = Polytope::from_points(&points).unwrap();
        let (v, e, f) = (hull.vertices().len(), hull.edges().len(), hull.faces().len());
        assert_eq!(v + f, e + 2, "{n} points: {v} corners, {e} edges, {f} faces");
        for face in hull.faces() {
            for p in &points {
                assert!(p.dot(face.normal()) <= face.offset() + 1e-6);
            }
        }
        for edge in hull.edges() {
            assert_ne!(edge.faces[0], edge.faces[1]);
        }
    }
}

/// Solids with flat faces made of many triangles, in single precision as files have them: a prism
/// with many sides, a sphere of rings, a plate with rounded corners, each at three sizes. Faces are
/// closed, at least three of them meet in each corner, no point is outside, and the polytope can be
/// rebuilt from its parts.
#[test]
fn hulls_of_tessellated_solids_have_their_faces() {
    let turn = |k: u32, n: u32| (std::f64::consts::TAU * f64::from(k) / f64::from(n)).sin_cos();
    let ring = |n: u32, r: f64, z: f64| {
        (0..n).map(move |k| Vec3::new(r * turn(k, n).1, r * turn(k, n).0, z))
    };
    let mut s = Samples::new(3);
    for size in [1e-3, 1.0, 1e3] {
        let mut prism: Vec<Vec3> = ring(60, 1.0, -0.5).chain(ring(60, 1.0, 0.5)).collect();
        // random points in the caps, as a mesh has them
        prism.extend((0..2000).map(|_| Vec3::new(s.between(-0.7, 0.7), s.between(-0.7, 0.7), 0.5)));
        let sphere: Vec<Vec3> = (1..40)
            .flat_map(|k| ring(50, turn(k, 80).0, turn(k, 80).1))
            .chain([Vec3::Z, -Vec3::Z])
            .collect();
        let plate: Vec<Vec3> = (0..4)
            .flat_map(|k| {
                let (x, y) = (if k % 2 == 0 { 1.0 } else { -1.0 }, if k < 2 { 1.0 } else { -1.0 });
                ring(32, 0.2, 0.0)
                    .flat_map(move |p| [-0.01, 0.01].map(|z| Vec3::new(p.x + x, p.y + y, z)))
            })
            .collect();
        for (name, points, faces) in
            [("prism", prism, Some(62)), ("sphere", sphere, None), ("plate", plate, Some(38))]
        {
            // single precision, and away from the origin
            let single = |x: f64| f64::from((x * size) as f32);
            let points: Vec<Vec3> =
                points.iter().map(|p| Vec3::new(single(p.x), single(p.y), single(p.z))).collect();
            let hull = Polytope::from_points(&points).unwrap();
            let (v, e, f) = (hull.vertices().len(), hull.edges().len(), hull.faces().len());
            assert_eq!(v + f, e + 2, "{name} of {size} m: {v} corners, {e} edges, {f} faces");
            assert!(faces.is_none_or(|n| n == f), "{name} of {size} m: {f} faces");
            for face in hull.faces() {
                let highest = points.iter().map(|p| p.dot(face.normal()) - face.offset());
                assert!(highest.fold(0.0, f64::max) <= 4e-7 * size, "{name} of {size} m");
            }
            for k in 0..v as u32 {
                assert!(hull.neighbours(k).len() >= 3, "{name} of {size} m");
                assert!(hull.neighbours(k).iter().all(|&j| hull.neighbours(j).contains(&k)));
            }
            let parts = |f: &Face| (f.normal(), f.offset(), f.vertices().to_vec());
            let faces: Vec<_> = hull.faces().iter().map(parts).collect();
            let again = Polytope::from_parts(hull.vertices().to_vec(), faces.clone());
            assert_eq!(again.as_ref(), Ok(&hull), "{name} of {size} m");
            // a missing, reversed or displaced face is detected
            let broken = |change: &dyn Fn(&mut Vec<FaceParts>)| {
                let mut faces = faces.clone();
                change(&mut faces);
                Polytope::from_parts(hull.vertices().to_vec(), faces).is_err()
            };
            assert!(broken(&|faces| faces.truncate(f - 1)));
            assert!(broken(&|faces| faces[0].2.reverse()));
            assert!(broken(&|faces| faces[0].1 += 1e-3 * size));
            assert!(broken(&|faces| faces[0].2[0] = u32::MAX));
            assert!(broken(&|faces| faces[1].0 = -faces[1].0));
        }
    }
}

#[test]
fn points_without_a_volume_are_refused() {
    let flat: Vec<Vec3> =
        (0..10).map(|k| Vec3::new(f64::from(k % 3), f64::from(k / 3), 0.5)).collect();
    assert!(matches!(Polytope::from_points(&flat), Err(HullError::Flat { .. })));
    let line: Vec<Vec3> = (0..10).map(|k| Vec3::X * f64::from(k)).collect();
    assert!(matches!(Polytope::from_points(&line), Err(HullError::Flat { .. })));
    assert!(matches!(Polytope::from_points(&[Vec3::X; 7]), Err(HullError::Flat { .. })));
    assert!(matches!(Polytope::from_points(&flat[..3]), Err(HullError::TooFew(3))));
    assert!(matches!(Polytope::from_points(&[]), Err(HullError::TooFew(0))));
    let mut bad = flat;
    bad[4].y = f64::NAN;
    assert!(matches!(Polytope::from_points(&bad), Err(HullError::NotFinite { index: 4, .. })));
}

/// A capsule's inertia has the right limits: a ball, and a long rod.
#[test]
fn capsule_inertia_has_the_right_limits() {
    let ball = Shape::Sphere { radius: 0.3 }.mass_properties(700.0).unwrap();
    let short = Shape::Capsule { radius: 0.3, half_length: 1e-9 }.mass_properties(700.0).unwrap();
    assert!((ball.mass - short.mass).abs() < 1e-5);
    assert!((ball.inertia.rows[0].x - short.inertia.rows[0].x).abs() < 1e-6);
    // reference: sum over thin discs
    let (r, l, n) = (0.2, 0.5, 200_000);
    let (mut mass, mut side) = (0.0, 0.0);
    for k in 0..n {
        let z = (f64::from(k) + 0.5) / f64::from(n) * 2.0 * (l + r) - (l + r);
        let beyond = (z.abs() - l).max(0.0);
        let area = std::f64::consts::PI * (r * r - beyond * beyond);
        let slice = area * 2.0 * (l + r) / f64::from(n);
        mass += slice;
        side += slice * ((r * r - beyond * beyond) / 4.0 + z * z);
    }
    let m = Shape::Capsule { radius: r, half_length: l }.mass_properties(1.0).unwrap();
    assert!(
        (m.mass - mass).abs() < 1e-9 && (m.inertia.rows[0].x - side).abs() < 1e-9,
        "{m:?} {mass} {side}"
    );
}

#[test]
fn bad_sizes_are_refused() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(Shape::Sphere { radius: bad }.check().is_err());
        assert!(Shape::Box { half: [1.0, bad, 1.0] }.check().is_err());
        assert!(Shape::Ellipsoid { radii: [1.0, bad, 1.0] }.check().is_err());
        assert!(Shape::Cylinder { radius: 1.0, half_length: bad }.check().is_err());
    }
}

fn scattered(s: &mut Samples, n: usize, size: f64) -> Vec<Aabb> {
    (0..n).map(|_| Shape::Box { half: [s.between(0.1, 0.5); 3] }.aabb(&s.pose(size))).collect()
}

#[test]
fn broad_phase_finds_what_all_pairs_find() {
    let mut s = Samples::new(3);
    for size in [1.0, 3.0, 10.0] {
        let mut boxes = scattered(&mut s, 150, size);
        boxes.push(Shape::HalfSpace.aabb(&Pose::IDENTITY));
        let keep = |i: usize, j: usize| !(i + j).is_multiple_of(7);
        let mut slow = Vec::new();
        for i in 0..boxes.len() {
            for j in i + 1..boxes.len() {
                if boxes[i].near(&boxes[j], 0.05) && keep(i, j) {
                    slow.push((i as u32, j as u32));
                }
            }
        }
        let mut fast = Vec::new();
        BroadPhase::new().pairs(&boxes, 0.05, keep, &mut fast);
        assert_eq!(fast, slow);
    }
}

#[test]
fn a_thousand_bodies_do_not_cost_a_million_tests() {
    let mut s = Samples::new(4);
    let mut boxes = scattered(&mut s, 1000, 30.0);
    boxes.push(Shape::HalfSpace.aabb(&Pose::IDENTITY));
    let mut broad = BroadPhase::new();
    let mut pairs = Vec::new();
    broad.pairs(&boxes, 0.02, |_, _| true, &mut pairs);
    assert!(broad.tests() < 30_000, "{} tests", broad.tests());
}
