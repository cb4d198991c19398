//! Sheets: against one box, against the features of their triangles, and derivatives against
//! differences.

use crate::common::{Samples, random_hull};
use crate::height_field::{bodies, check_derivatives, patch};
use quasistep_geometry::{
    Aabb, Choice, ContactPoint, NarrowPhase, PointCloud, Polytope, Shape, Sheet, contact_patch,
    signed_distance,
};
use quasistep_math::{Pose, Quat, Vec3};
use std::sync::Arc;

/// A sheet over a grid of `n` by `n` cells, of edge `size` (m), at the heights `z` (m).
fn sheet(n: usize, size: f64, z: impl Fn(f64, f64) -> f64) -> Shape {
    let at = |k: usize| (k as f64 / n as f64 - 0.5) * size;
    let m = n + 1;
    let corner = |k: usize| (at(k % m), at(k / m));
    let vertices = (0..m * m).map(corner).map(|(x, y)| Vec3::new(x, y, z(x, y))).collect();
    let mut triangles = Vec::new();
    for k in (0..m * n).filter(|k| k % m < n) {
        let [a, b, c, d] = [k, k + 1, k + m + 1, k + m].map(|k| k as u32);
        triangles.extend([[a, b, c], [a, c, d]]);
    }
    Shape::Sheet(Arc::new(Sheet::new(vertices, &triangles).unwrap()))
}

fn random_sheet(s: &mut Samples) -> Shape {
    let (a, b, c) = (s.between(3.0, 9.0), s.between(3.0, 9.0), s.between(0.0, 0.15));
    sheet(8, 1.6, |x, y| c * ((a * x).sin() + (b * y + x).cos()))
}

fn triangles(shape: &Shape) -> Vec<[Vec3; 3]> {
    let Shape::Sheet(sheet) = shape else { panic!("no sheet") };
    sheet.triangles().iter().map(|t| t.map(|k| sheet.vertices()[k as usize])).collect()
}

/// Squared distance of two segments, by all of their four ends and their common perpendicular.
fn segments([p, q]: [Vec3; 2], [r, s]: [Vec3; 2]) -> f64 {
    let to = |x: Vec3, [u, w]: [Vec3; 2]| {
        let t = ((x - u).dot(w - u) / (w - u).norm_squared()).clamp(0.0, 1.0);
        (x - u - (w - u) * t).norm_squared()
    };
    let ends = to(p, [r, s]).min(to(q, [r, s])).min(to(r, [p, q])).min(to(s, [p, q]));
    let n = (q - p).cross(s - r);
    let lies = |a: Vec3, d: Vec3, b: Vec3, e: Vec3| {
        let t = (b - a).cross(e).dot(d.cross(e)) / d.cross(e).norm_squared();
        (0.0..=1.0).contains(&t)
    };
    if lies(p, q - p, r, s - r) && lies(r, s - r, p, q - p) {
        return ends.min((r - p).dot(n).powi(2) / n.norm_squared());
    }
    ends
}

fn point(p: Vec3, [a, b, c]: [Vec3; 3]) -> f64 {
    let n = (b - a).cross(c - a);
    let inner = [(a, b), (b, c), (c, a)].iter().all(|(u, w)| n.dot((*w - *u).cross(p - *u)) >= 0.0);
    let sides = [[a, b], [b, c], [c, a]].map(|side| segments([p, p + n * 1e-12], side));
    let over = if inner { n.dot(p - a).powi(2) / n.norm_squared() } else { f64::INFINITY };
    sides.into_iter().fold(over, f64::min).sqrt()
}

/// Distance of a hull and a triangle that are apart, from all of their features.
fn apart(hull: &Polytope, X: &Pose, t: [Vec3; 3]) -> f64 {
    let corner = |k: u32| X.transform_point(hull.vertices()[k as usize]);
    let mut best = f64::INFINITY;
    for k in 0..hull.vertices().len() as u32 {
        best = best.min(point(corner(k), t));
    }
    let whole = Shape::Polytope(Arc::new(hull.clone()));
    for k in 0..3 {
        let at = Pose::from_translation(t[k]);
        best = best.min(signed_distance(&Shape::Sphere { radius: 0.0 }, &at, &whole, X).phi);
        for edge in hull.edges() {
            let side = [t[k], t[(k + 1) % 3]];
            best = best.min(segments(edge.vertices.map(corner), side).sqrt());
        }
    }
    best
}

#[test]
fn a_flat_sheet_has_the_contact_points_of_one_box_on_both_sides() {
    for scale in [1e-3, 1.0, 1e3] {
        let flat = sheet(10, 2.0 * scale, |_, _| 0.0);
        let slab = Shape::Box { half: [scale, scale, 0.25 * scale] };
        let mut s = Samples::new(3);
        for k in 0..200 {
            let tilt = [0.0, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.3][k % 9];
            let half = [0; 3].map(|_| s.between(0.02, 0.3) * scale);
            let turn = Quat::from_rotation_vector(Vec3::Z * s.between(-3.0, 3.0));
            let R = Quat::from_rotation_vector(Vec3::new(tilt, 0.4 * tilt, 0.0)) * turn;
            let depth = [0.004, 0.0, -1e-7, -1e-5][k % 4] * scale;
            let block = Shape::Box { half };
            let side = if k % 5 < 2 { -1.0 } else { 1.0 };
            let Aabb { min, max } = block.aabb(&Pose::new(R, Vec3::ZERO));
            let z = if side > 0.0 { depth - min.z } else { -depth - max.z };
            let p = Vec3::new(s.between(-0.4, 0.4) * scale, s.between(-0.4, 0.4) * scale, z);
            let X = Pose::new(R, p);
            let (margin, X_WS) =
                (0.02 * scale, Pose::from_translation(Vec3::Z * (-0.25 * side * scale)));
            let mut want = patch(&slab, &X_WS, &block, &X, margin);
            let mut got = patch(&flat, &Pose::IDENTITY, &block, &X, margin);
            let order = |p: &ContactPoint| [p.p_WCb.x, p.p_WCb.y].map(|x| (x / scale * 1e6) as i64);
            want.sort_by_key(order);
            got.sort_by_key(order);
            assert_eq!(want.len(), got.len(), "case {k}, tilt {tilt}: {want:#?} {got:#?}");
            for (w, g) in want.iter().zip(&got) {
                let apart = (w.p_WCb - g.p_WCb).max_abs().max((w.phi - g.phi).abs());
                assert!(apart < 2e-8 * scale.max(1e-2), "case {k}, tilt {tilt}: {w:?} {g:?}");
                assert!(
                    (w.n_AB_W - g.n_AB_W).max_abs() < 2e-8,
                    "case {k}, tilt {tilt}: {w:?} {g:?}"
                );
            }
        }
    }
}

#[test]
fn round_bodies_on_a_flat_sheet_have_one_normal() {
    let flat = sheet(20, 2.0, |_, _| 0.0);
    let mut s = Samples::new(5);
    for k in 0..300 {
        for body in bodies(&mut s) {
            let R = s.rotation();
            let box_ = body.aabb(&Pose::new(R, Vec3::ZERO));
            let mut p = Vec3::new(s.between(-0.4, 0.4), s.between(-0.4, 0.4), 0.0);
            if k % 3 == 0 {
                // exactly above an inner edge or corner
                p.x = (p.x * 10.0).round() / 10.0;
            }
            let (gap, side) = ([0.01, 0.0, -1e-6][k % 3], if k % 2 == 0 { 1.0 } else { -1.0 });
            p.z = if side > 0.0 { gap - box_.min.z } else { -gap - box_.max.z };
            let points = patch(&flat, &Pose::IDENTITY, &body, &Pose::new(R, p), 0.015);
            let least = points.iter().map(|p| p.phi).fold(1.0, f64::min);
            assert!((least - gap).abs() < 1e-9, "case {k} {body:?}: {least}");
            // an ellipsoid over an edge has a normal between those of both triangles, up to rounding
            let room = if matches!(body, Shape::Ellipsoid { .. }) { 1e-5 } else { 1e-9 };
            for point in points {
                assert!(
                    (point.n_AB_W - Vec3::Z * side).max_abs() < room,
                    "{k} {body:?}: {point:?}"
                );
            }
        }
    }
}

#[test]
fn distances_are_those_of_the_nearest_triangle() {
    let mut s = Samples::new(7);
    let mut count = 0;
    for _ in 0..60 {
        let ground = random_sheet(&mut s);
        let X_WG = s.pose(0.3);
        let parts: Vec<[Vec3; 3]> =
            triangles(&ground).iter().map(|t| t.map(|p| X_WG.transform_point(p))).collect();
        for body in bodies(&mut s) {
            let side = if s.between(0.0, 1.0) < 0.5 { -0.8 } else { 0.8 };
            let X = X_WG * Pose::new(s.rotation(), s.vec3(1.2) + Vec3::Z * side);
            let of = |t: &[Vec3; 3]| match &body {
                Shape::Sphere { radius } => point(X.translation, *t) - radius,
                Shape::Capsule { radius, half_length } => {
                    let ends = [-1.0, 1.0].map(|z| X.transform_point(Vec3::Z * (z * half_length)));
                    let sides =
                        [[0, 1], [1, 2], [2, 0]].map(|[i, j]| segments(ends, [t[i], t[j]]).sqrt());
                    let ends = ends.map(|end| point(end, *t));
                    sides.into_iter().chain(ends).fold(f64::INFINITY, f64::min) - radius
                }
                Shape::Box { half: [x, y, z] } => {
                    let points: Vec<Vec3> = (0..8)
                        .map(|k| [x, y, z].map(|h| *h).map(|h| (h, k)))
                        .map(|[x, y, z]| {
                            let sign =
                                |bit: u32, k: u32| if k >> bit & 1 == 1 { 1.0 } else { -1.0 };
                            Vec3::new(x.0 * sign(0, x.1), y.0 * sign(1, y.1), z.0 * sign(2, z.1))
                        })
                        .collect();
                    apart(&Polytope::from_points(&points).unwrap(), &X, *t)
                }
                Shape::Polytope(hull) => apart(hull, &X, *t),
                _ => f64::NAN,
            };
            let got = signed_distance(&ground, &X_WG, &body, &X);
            let want = parts.iter().map(of).fold(f64::INFINITY, f64::min);
            if got.phi > 0.0 && want.is_finite() {
                assert!((got.phi - want).abs() < 1e-9, "{body:?}: {} {want}", got.phi);
                count += 1;
            }
            if got.phi > 0.0 {
                let back = signed_distance(&body, &X, &ground, &X_WG);
                assert!((back.n_AB_W + got.n_AB_W).max_abs() < 1e-9 && back.phi == got.phi);
                let near = patch(&ground, &X_WG, &body, &X, got.phi + 0.02);
                let least = near.iter().map(|p| p.phi).fold(f64::INFINITY, f64::min);
                assert!((least - got.phi).abs() < 1e-9, "{body:?}: {least} {}", got.phi);
            }
        }
    }
    assert!(count > 100, "{count}");
}

/// Where a body overlaps one triangle, its depth is that in a plate of a millionth of its size.
#[test]
fn overlaps_with_a_triangle_are_those_with_a_thin_plate() {
    let mut s = Samples::new(8);
    for k in 0..2000 {
        let [a, b, c] = [0; 3].map(|_| s.vec3(1.0));
        let n = (b - a).cross(c - a).try_normalize().unwrap();
        if (b - a).cross(c - a).norm() < 0.2 {
            continue;
        }
        let one = Sheet::new(vec![a, b, c], &[[0, 1, 2]]).unwrap();
        let one = Shape::Sheet(Arc::new(one));
        let thin = 1e-5;
        let plate = [a, b, c].map(|p| [p + n * thin, p - n * thin]).concat();
        let plate = Shape::Polytope(Arc::new(Polytope::from_points(&plate).unwrap()));
        let hull = random_hull(&mut s, 30);
        for body in bodies(&mut s).into_iter().chain([hull]) {
            let X = Pose::new(s.rotation(), (a + b + c) / 3.0 + s.vec3(0.3));
            let [got, want] =
                [&one, &plate].map(|shape| signed_distance(shape, &Pose::IDENTITY, &body, &X));
            assert!((got.phi - want.phi).abs() < 3.0 * thin, "case {k} {body:?}: {got:?} {want:?}");
            assert!(
                (got.p_WCb - got.p_WCa - got.n_AB_W * got.phi).norm() < 1e-9,
                "{body:?} {got:?}"
            );
        }
    }
}

/// An upright edge of a box that meets the edge of a sheet does so where both cross, and a wall meets
/// it along the sheet's edge, no farther.
#[test]
fn edges_of_a_sheet_are_edges() {
    let flat = sheet(4, 2.0, |_, _| 0.0);
    let block = Shape::Box { half: [0.2, 0.2, 0.3] };
    let turned = Quat::from_rotation_vector(Vec3::Z * std::f64::consts::FRAC_PI_4);
    for gap in [0.01, 0.0, -1e-5] {
        let far = 0.2 * std::f64::consts::SQRT_2;
        let X = Pose::new(turned, Vec3::new(1.0 + far + gap, 0.3, 0.1));
        let points = patch(&flat, &Pose::IDENTITY, &block, &X, 0.02);
        for p in &points {
            assert!((p.n_AB_W - Vec3::X).max_abs() < 1e-9 && (p.phi - gap).abs() < 1e-9, "{p:?}");
            assert!((p.p_WCa - Vec3::new(1.0, 0.3, 0.0)).max_abs() < 2e-5, "{gap}: {p:?}");
        }
        assert!(!points.is_empty(), "{gap}");
        let X = Pose::from_translation(Vec3::new(1.2 + gap, 0.95, 0.1));
        let points = patch(&flat, &Pose::IDENTITY, &block, &X, 0.02);
        let [low, high] =
            [f64::min, f64::max].map(|pick| points.iter().map(|p| p.p_WCb.y).reduce(pick).unwrap());
        assert!((low - 0.75).abs() < 1e-9 && (high - 1.0).abs() < 1e-9, "{points:?}");
        for p in &points {
            assert!((p.n_AB_W - Vec3::X).max_abs() < 1e-9 && (p.phi - gap).abs() < 1e-9, "{p:?}");
        }
    }
}

/// On both sides of a roof: a ridge seen from outside, a valley from inside.
#[test]
fn folds_are_ridges_and_valleys() {
    let slope: f64 = 0.5;
    let roof = sheet(2, 2.0, |x, _| -slope * x.abs());
    let ball = Shape::Sphere { radius: 0.1 };
    let at = |z: f64| {
        patch(&roof, &Pose::IDENTITY, &ball, &Pose::from_translation(Vec3::new(0.0, 0.1, z)), 0.01)
    };
    let above = at(0.1);
    assert_eq!(above.len(), 1, "{above:?}");
    assert!((above[0].n_AB_W - Vec3::Z).max_abs() < 1e-9 && above[0].phi.abs() < 1e-9);
    let below = at(-0.1 * (1.0 + slope * slope).sqrt());
    assert_eq!(below.len(), 2, "{below:?}");
    for p in below {
        assert!(p.phi.abs() < 1e-9 && (p.n_AB_W.x.abs() - slope / 1.25_f64.sqrt()).abs() < 1e-9);
        assert!(p.n_AB_W.z < 0.0, "{p:?}");
    }
}

#[test]
fn clouds_are_on_the_side_of_their_middle() {
    let mut s = Samples::new(9);
    let mut behind = 0;
    for _ in 0..30 {
        let ground = random_sheet(&mut s);
        let parts = triangles(&ground);
        let points: Vec<Vec3> = (0..200).map(|_| s.rotation().rotate(Vec3::X * 0.3)).collect();
        let cloud = PointCloud::new(&points, None, 0.01, Choice::Nearest { k: 200 }).unwrap();
        let side = if s.between(0.0, 1.0) < 0.5 { -1.0 } else { 1.0 };
        let X = Pose::new(
            s.rotation(),
            Vec3::new(s.between(-0.3, 0.3), s.between(-0.3, 0.3), 0.4 * side),
        );
        let near = patch(&ground, &Pose::IDENTITY, &Shape::Cloud(Arc::new(cloud)), &X, 0.4);
        assert!(!near.is_empty());
        let (low, high) =
            points.iter().fold((points[0], points[0]), |(l, h), p| (l.min(*p), h.max(*p)));
        let middle = X.transform_point((low + high) * 0.5);
        for found in &near {
            let p = X.transform_point(points[found.feature as usize]);
            let distance = parts.iter().map(|t| point(p, *t)).fold(f64::INFINITY, f64::min);
            let crossed = parts.iter().filter(|[a, b, c]| {
                let n = (*b - *a).cross(*c - *a);
                let t = n.dot(*a - p) / n.dot(middle - p);
                let q = p + (middle - p) * t;
                let inner = [(a, b), (b, c), (c, a)]
                    .iter()
                    .all(|(u, w)| n.dot((**w - **u).cross(q - **u)) >= 0.0);
                (0.0..=1.0).contains(&t) && inner
            });
            let sign = if crossed.count() % 2 == 1 { -1.0 } else { 1.0 };
            behind += usize::from(sign < 0.0);
            assert!(
                (found.phi - (sign * distance - 0.01)).abs() < 1e-9,
                "{} {sign} {distance}",
                found.phi
            );
        }
    }
    assert!(behind > 20, "{behind}");
}

#[test]
fn derivatives_are_those_of_differences() {
    check_derivatives(random_sheet, 18);
}

#[test]
fn a_free_triangle_lies_on_a_plane_at_its_corners() {
    let flat = sheet(1, 2.0, |_, _| 0.0);
    let X = Pose::new(Quat::from_rotation_vector(Vec3::Y * 0.01), Vec3::Z * 0.01);
    let mut points = Vec::new();
    contact_patch(&Shape::HalfSpace, &Pose::IDENTITY, &flat, &X, 0.05, &mut points);
    assert_eq!(points.len(), 4, "{points:?}");
    for p in &points {
        let corner = X.inverse_transform_point(p.p_WCb);
        assert!((corner.x.abs() - 1.0).abs() < 1e-12 && (corner.y.abs() - 1.0).abs() < 1e-12);
        assert!((p.n_AB_W - Vec3::Z).max_abs() < 1e-12 && (p.phi - p.p_WCb.z).abs() < 1e-12);
    }
    let d = NarrowPhase::new().signed_distance(&flat, &X, &Shape::HalfSpace, &Pose::IDENTITY);
    assert!((d.phi - points.iter().map(|p| p.phi).fold(1.0, f64::min)).abs() < 1e-12);
}

/// Area, centre and inertia of a rectangle of 2 m by 2 m: mass/12 (a² + b²).
#[test]
fn a_plate_has_the_inertia_of_its_area() {
    let Shape::Sheet(plate) = sheet(3, 2.0, |_, _| 0.5) else { panic!("no sheet") };
    let of = plate.area_properties();
    assert!((of.mass - 4.0).abs() < 1e-12 && (of.com - Vec3::Z * 0.5).max_abs() < 1e-12);
    let want = [4.0 / 3.0, 4.0 / 3.0, 8.0 / 3.0];
    for i in 0..3 {
        for j in 0..3 {
            let want = if i == j { want[i] } else { 0.0 };
            assert!((of.inertia.rows[i][j] - want).abs() < 1e-12, "{:?}", of.inertia);
        }
    }
}

#[test]
fn bad_sheets_are_told() {
    let new = |vertices: &[Vec3], triangles: &[[u32; 3]]| {
        Sheet::new(vertices.to_vec(), triangles).unwrap_err().to_string()
    };
    assert!(new(&[Vec3::ZERO], &[[0, 0, 1]]).contains("there are 1 vertices"));
    assert!(new(&[Vec3::ZERO, Vec3::X, Vec3::X * 2.0], &[[0, 1, 2]]).contains("has an area"));
    assert!(new(&[], &[]).contains("has an area"));
    assert!(new(&[Vec3::X * f64::NAN], &[]).contains("finite"));
}
