//! Cloud against cloud: distances of surfaces with normals, of points without.

use crate::common::{Samples, box_skin, cloud};
use quasistep_geometry::{Choice, ContactPoint, PointCloud, Shape, contact_patch, signed_distance};
use quasistep_math::{Pose, Vec3};

/// Points on a sphere along a spiral, and their normals.
fn ball(n: u32, radius: f64) -> (Vec<Vec3>, Vec<Vec3>) {
    let normals: Vec<Vec3> = (0..n)
        .map(|i| {
            let z = 1.0 - 2.0 * (f64::from(i) + 0.5) / f64::from(n);
            let (s, c) = (2.399963229728653 * f64::from(i)).sin_cos();
            let r = (1.0 - z * z).sqrt();
            Vec3::new(r * c, r * s, z)
        })
        .collect();
    (normals.iter().map(|n| *n * radius).collect(), normals)
}

fn with_normals((points, normals): &(Vec<Vec3>, Vec<Vec3>), choice: Choice) -> Shape {
    Shape::Cloud(PointCloud::new(points, Some(normals), 0.0, choice).unwrap().into())
}

fn patch(a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose, margin: f64) -> Vec<ContactPoint> {
    let mut out = Vec::new();
    contact_patch(a, X_WA, b, X_WB, margin, &mut out);
    out
}

/// Two scanned balls, apart and overlapping: the distance of the exact balls, up to the sagitta of
/// the sampling.
#[test]
fn surfaces_of_two_balls_are_as_far_apart_as_the_balls() {
    let mut s = Samples::new(51);
    let (many, few) = (ball(4000, 0.1), ball(500, 0.06));
    let bare = cloud(&few.0, Choice::default());
    let (a, b) = (with_normals(&many, Choice::default()), with_normals(&few, Choice::default()));
    // spacing of the coarser cloud, and the height of a plate of that size above the sphere
    let spacing = 0.06 * (4.0 * std::f64::consts::PI / 500.0_f64).sqrt();
    let sagitta = spacing * spacing / (2.0 * 0.06) + spacing * spacing / (2.0 * 0.1);
    for gap in [0.02, 0.003, 0.0, -0.003, -0.02] {
        for _ in 0..10 {
            let (X_WA, turn) = (s.pose(1.0), s.rotation());
            let way = turn.rotate(Vec3::X);
            let X_WB = Pose::new(s.rotation(), X_WA.translation + way * (0.16 + gap));
            for b in [&b, &bare] {
                let d = signed_distance(&a, &X_WA, b, &X_WB);
                assert!((d.phi - gap).abs() < sagitta, "{} {gap} {sagitta}", d.phi);
                assert!(d.n_AB_W.dot(way) > 0.97, "{d:?} {way:?}");
                let open = d.p_WCb - d.p_WCa - d.n_AB_W * d.phi;
                assert!(open.norm() < 1e-12);
            }
        }
    }
}

/// Exchanging two clouds exchanges the sides of the result and nothing else, whichever has normals.
#[test]
fn order_of_clouds_only_flips_the_normal() {
    let mut s = Samples::new(52);
    let (first, second) = (ball(800, 0.1), ball(500, 0.08));
    for choice in [Choice::Nearest { k: 5 }, Choice::Spread { k: 5 }] {
        let make =
            |ball: &(Vec<Vec3>, Vec<Vec3>)| [with_normals(ball, choice), cloud(&ball.0, choice)];
        for a in make(&first) {
            for b in make(&second) {
                let (X_WA, mut X_WB) = (s.pose(0.1), s.pose(0.1));
                X_WB.translation = X_WA.translation + s.vec3(1.0).try_normalize().unwrap() * 0.178;
                let mut there = patch(&a, &X_WA, &b, &X_WB, 0.02);
                let mut back = patch(&b, &X_WB, &a, &X_WA, 0.02);
                assert_eq!(there.len(), 5);
                assert_eq!(there.len(), back.len());
                let by_phi = |p: &ContactPoint, q: &ContactPoint| p.phi.total_cmp(&q.phi);
                there.sort_by(by_phi);
                back.sort_by(by_phi);
                for (p, q) in there.iter().zip(&back) {
                    assert!((p.phi - q.phi).abs() < 1e-12);
                    assert!((p.p_WCa - q.p_WCb).norm() < 1e-12);
                    assert!((p.n_AB_W + q.n_AB_W).norm() < 1e-9);
                }
            }
        }
    }
}

/// Without normals: the distance of the nearest points less the radii, never negative.
#[test]
fn points_without_normals_have_the_distance_of_points() {
    let mut s = Samples::new(53);
    let choice = Choice::Nearest { k: 3 };
    for _ in 0..30 {
        let first: Vec<Vec3> = (0..150).map(|_| s.vec3(0.2)).collect();
        let second: Vec<Vec3> = (0..90).map(|_| s.vec3(0.2)).collect();
        let (X_WA, X_WB) = (s.pose(0.2), s.pose(0.2));
        let mut want = f64::INFINITY;
        for p in &first {
            for q in &second {
                want = want.min((X_WA.transform_point(*p) - X_WB.transform_point(*q)).norm());
            }
        }
        let (a, b) = (cloud(&first, choice), cloud(&second, choice));
        let d = signed_distance(&a, &X_WA, &b, &X_WB);
        assert!((d.phi - want).abs() < 1e-12 && d.phi >= 0.0, "{} {want}", d.phi);
        let balls = |points: &[Vec3], radius| {
            Shape::Cloud(PointCloud::new(points, None, radius, choice).unwrap().into())
        };
        let d = signed_distance(&balls(&first, 0.05), &X_WA, &balls(&second, 0.01), &X_WB);
        assert!((d.phi - (want - 0.06)).abs() < 1e-12);
        assert!((d.p_WCb - d.p_WCa - d.n_AB_W * d.phi).norm() < 1e-12);
    }
}

/// A pair of mutually nearest points is one contact.
#[test]
fn mutual_neighbours_count_once() {
    let o = Pose::IDENTITY;
    let points = [Vec3::ZERO, Vec3::X, Vec3::Y];
    let X = Pose::from_translation(Vec3::Z * 0.01);
    for choice in [Choice::Nearest { k: 8 }, Choice::Spread { k: 8 }] {
        let c = cloud(&points, choice);
        let got = patch(&c, &o, &c, &X, 0.02);
        assert_eq!(got.len(), 3, "{got:?}");
        let normals = [Vec3::Z; 3];
        let up = PointCloud::new(&points, Some(&normals), 0.0, choice).unwrap();
        let got = patch(&Shape::Cloud(up.into()), &o, &c, &X, 0.02);
        assert_eq!(got.len(), 3, "{got:?}");
        assert!(got.iter().all(|p| (p.phi - 0.01).abs() < 1e-15 && p.n_AB_W == Vec3::Z));
    }
}

/// A scanned box on a scanned box: the patch of two flat faces, spanned by points of both clouds whose
/// features differ.
#[test]
fn boxes_on_boxes_span_their_common_face() {
    let skin = |n: u32, half: f64| {
        let points = box_skin(n, [half; 3]);
        let normals: Vec<Vec3> = points
            .iter()
            .enumerate()
            .map(|(i, _)| {
                let axis = i / (2 * (n * n) as usize);
                Vec3::AXES[axis] * if i % 2 == 0 { -1.0 } else { 1.0 }
            })
            .collect();
        (points, normals)
    };
    let (a, b) = (skin(31, 0.05), skin(20, 0.03));
    let choice = Choice::Spread { k: 6 };
    let (a, b) = (with_normals(&a, choice), with_normals(&b, choice));
    let X_WB = Pose::from_translation(Vec3::new(0.003, -0.002, 0.0801));
    let got = patch(&a, &Pose::IDENTITY, &b, &X_WB, 0.01);
    let mut features: Vec<u32> = got.iter().map(|p| p.feature).collect();
    features.sort_unstable();
    features.dedup();
    assert_eq!(features.len(), got.len());
    let touching: Vec<&ContactPoint> = got.iter().filter(|p| p.phi < 2e-4).collect();
    let (mut low, mut high) = (Vec3::X * 9.0 + Vec3::Y * 9.0, Vec3::X * -9.0 + Vec3::Y * -9.0);
    for p in &touching {
        assert!((p.phi - 1e-4).abs() < 1e-12 && (p.n_AB_W - Vec3::Z).norm() < 1e-12, "{p:?}");
        (low, high) = (low.min(p.p_WCb), high.max(p.p_WCb));
    }
    assert!(high.x - low.x > 0.055 && high.y - low.y > 0.055, "{got:?}");
}

/// Beside a plate a point is outside, even if it is below the plate's plane; under the plate it is
/// inside.
#[test]
fn beside_a_surface_is_outside() {
    let n = 21;
    let plate: Vec<Vec3> =
        (0..n * n).map(|i| Vec3::new(f64::from(i % n), f64::from(i / n), 0.0) * 0.01).collect();
    let normals = vec![Vec3::Z; plate.len()];
    let plate = with_normals(&(plate, normals), Choice::default());
    let o = Pose::IDENTITY;
    let phi = |x: f64, z: f64| {
        let one = cloud(&[Vec3::new(x, 0.1, z)], Choice::default());
        signed_distance(&plate, &o, &one, &o).phi
    };
    assert!((phi(0.1, 0.03) - 0.03).abs() < 1e-12);
    assert!((phi(0.1, -0.03) + 0.03).abs() < 1e-12);
    assert!(phi(0.4, -0.01) > 0.15 && phi(0.4, 0.01) > 0.15);
}
