//! Seeded samples and a slow reference for the signed distance.
//!
//! The reference treats a shape as the convex hull of a few points, offset by a radius. The signed
//! distance of two such hulls is that of the origin to the hull of all differences of their points.
//! For disjoint hulls this is the smallest distance over all pairs of features. For overlapping
//! hulls it is the smallest distance to a supporting plane through three differences.

use quasistep_geometry::{Choice, PointCloud, Polytope, Shape};
use quasistep_math::{Pose, Quat, Vec3};
use std::sync::Arc;

pub struct Samples(u64);

impl Samples {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1))
    }
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
    pub fn between(&mut self, a: f64, b: f64) -> f64 {
        a + (b - a) * self.uniform()
    }
    pub fn vec3(&mut self, size: f64) -> Vec3 {
        Vec3::new(self.between(-size, size), self.between(-size, size), self.between(-size, size))
    }
    pub fn rotation(&mut self) -> Quat {
        Quat::from_rotation_vector(self.vec3(3.0))
    }
    pub fn pose(&mut self, size: f64) -> Pose {
        Pose::new(self.rotation(), self.vec3(size))
    }
}

/// The hull of `n` random points on an ellipsoid.
pub fn random_hull(s: &mut Samples, n: usize) -> Shape {
    let axes = Vec3::new(s.between(0.5, 1.5), s.between(0.5, 1.5), s.between(0.5, 1.5));
    let points: Vec<Vec3> =
        (0..n).map(|_| s.vec3(1.0).try_normalize().unwrap().component_mul(axes)).collect();
    Shape::Polytope(Arc::new(Polytope::from_points(&points).unwrap()))
}

/// Points of the core (m) and the radius around it (m), in the world frame.
pub fn hull_points(shape: &Shape, X: &Pose) -> (Vec<Vec3>, f64) {
    let (local, radius) = match shape {
        Shape::Sphere { radius } => (vec![Vec3::ZERO], *radius),
        Shape::Capsule { radius, half_length } => {
            (vec![Vec3::Z * *half_length, Vec3::Z * -*half_length], *radius)
        }
        Shape::Box { half } => {
            let corner = |i: usize, k: usize| if i >> k & 1 == 1 { half[k] } else { -half[k] };
            ((0..8).map(|i| Vec3::new(corner(i, 0), corner(i, 1), corner(i, 2))).collect(), 0.0)
        }
        Shape::Polytope(p) => (p.vertices().to_vec(), 0.0),
        other => panic!("no reference for {other:?}"),
    };
    (local.iter().map(|p| X.transform_point(*p)).collect(), radius)
}

/// Signed distance of two shapes by the slow reference, in m.
pub fn reference(a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose) -> f64 {
    let (pa, ra) = hull_points(a, X_WA);
    let (pb, rb) = hull_points(b, X_WB);
    let apart = distance(&pa, &pb);
    let core = if apart > 1e-7 { apart } else { -depth(&pa, &pb) };
    core - ra - rb
}

/// Distance of two hulls by Wolfe's nearest-point algorithm, to 1e-13: the point of the hull of
/// differences nearest to the origin.
fn distance(pa: &[Vec3], pb: &[Vec3]) -> f64 {
    let differences: Vec<Vec3> = pb.iter().flat_map(|q| pa.iter().map(move |p| *q - *p)).collect();
    // Wolfe's algorithm: the nearest point as a convex combination of few points
    let mut set = vec![differences[0]];
    let mut x = differences[0];
    for _ in 0..10_000 {
        let far = differences.iter().copied().min_by(|p, q| p.dot(x).total_cmp(&q.dot(x))).unwrap();
        if x.dot(x) - far.dot(x) <= 1e-15 * (1.0 + x.dot(x))
            || set.iter().any(|s| (*s - far).norm() < 1e-15)
        {
            break;
        }
        set.push(far);
        (set, x) = nearest_of_simplex(&set);
        if x.norm() < 1e-12 {
            return 0.0;
        }
    }
    x.norm()
}

/// The point nearest to the origin in the hull of at most four points, and the corners of its face.
fn nearest_of_simplex(points: &[Vec3]) -> (Vec<Vec3>, Vec3) {
    let mut best = (Vec::new(), Vec3::new(f64::INFINITY, 0.0, 0.0));
    // every subset of corners: a point, a segment, a triangle, a tetrahedron
    for mask in 1..(1u32 << points.len()) {
        let subset: Vec<Vec3> =
            (0..points.len()).filter(|i| mask >> i & 1 == 1).map(|i| points[i]).collect();
        let inside = match subset.as_slice() {
            [p] => Some(*p),
            [p, q] => {
                let d = *q - *p;
                let t = -p.dot(d) / d.norm_squared();
                (0.0..=1.0).contains(&t).then(|| *p + d * t)
            }
            [p, q, r] => in_triangle(*p, *q, *r),
            [p, q, r, s] => {
                let volume = (*q - *p).dot((*r - *p).cross(*s - *p));
                let part = |a: Vec3, b: Vec3, c: Vec3| a.dot(b.cross(c)) / volume;
                let inside = volume.abs() > 1e-15
                    && part(*q, *r, *s) >= 0.0
                    && -part(*p, *r, *s) >= 0.0
                    && part(*p, *q, *s) >= 0.0
                    && -part(*p, *q, *r) >= 0.0;
                inside.then_some(Vec3::ZERO)
            }
            _ => None,
        };
        if let Some(x) = inside
            && x.norm_squared() < best.1.norm_squared()
        {
            best = (subset, x);
        }
    }
    best
}

fn in_triangle(p: Vec3, q: Vec3, r: Vec3) -> Option<Vec3> {
    let n = (q - p).cross(r - p);
    let size = n.norm_squared();
    if size < 1e-30 {
        return None;
    }
    let foot = n * (p.dot(n) / size);
    let side = |a: Vec3, b: Vec3| n.dot((b - a).cross(foot - a)) >= 0.0;
    (side(p, q) && side(q, r) && side(r, p)).then_some(foot)
}

/// Depth of the origin in the hull of differences: the nearest supporting plane through three of
/// them. Zero if the hull is flat.
fn depth(pa: &[Vec3], pb: &[Vec3]) -> f64 {
    let differences: Vec<Vec3> = pb.iter().flat_map(|q| pa.iter().map(move |p| *q - *p)).collect();
    let mut best = f64::INFINITY;
    let n = differences.len();
    for i in 0..n {
        for j in i + 1..n {
            for k in j + 1..n {
                let (p, q, r) = (differences[i], differences[j], differences[k]);
                let Some(normal) = (q - p).cross(r - p).try_normalize() else { continue };
                if (q - p).cross(r - p).norm() < 1e-10 {
                    continue;
                }
                for normal in [normal, -normal] {
                    let offset = p.dot(normal);
                    if offset < best && differences.iter().all(|d| d.dot(normal) <= offset + 1e-12)
                    {
                        best = offset.max(0.0);
                    }
                }
            }
        }
    }
    if best.is_finite() { best } else { 0.0 }
}

/// A cloud of these points, without normals and with radius zero.
pub fn cloud(points: &[Vec3], choice: Choice) -> Shape {
    Shape::Cloud(Arc::new(PointCloud::new(points, None, 0.0, choice).unwrap()))
}

/// `n` by `n` points on each face of a box.
pub fn box_skin(n: u32, half: [f64; 3]) -> Vec<Vec3> {
    let at = |i: u32| 2.0 * f64::from(i) / f64::from(n - 1) - 1.0;
    let mut points = Vec::new();
    for axis in 0..3 {
        for i in 0..n * n {
            for side in [-1.0, 1.0] {
                let mut p = Vec3::ZERO;
                p[axis] = side;
                p[(axis + 1) % 3] = at(i % n);
                p[(axis + 2) % 3] = at(i / n);
                points.push(p.component_mul(half.into()));
            }
        }
    }
    points
}

/// Separation of two shapes along a unit normal, from their support points, in m.
pub fn separation(a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose, n: Vec3) -> f64 {
    let far = |shape: &Shape, X: &Pose, n: Vec3| {
        let p = shape.support(X.rotation.inverse().rotate(n)).unwrap();
        X.transform_point(p).dot(n)
    };
    -far(b, X_WB, -n) - far(a, X_WA, n)
}

/// The largest separation over unit normals, in m, from dense samples that are refined around the
/// best one. It is a lower bound and does not rely on features.
pub fn dense_search(a: &Shape, X_WA: &Pose, b: &Shape, X_WB: &Pose, samples: usize) -> f64 {
    let s = |n: Vec3| separation(a, X_WA, b, X_WB, n);
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let mut seen: Vec<(f64, Vec3)> = (0..samples)
        .map(|k| {
            let z = 1.0 - (2.0 * k as f64 + 1.0) / samples as f64;
            let (sin, cos) = (golden * k as f64).sin_cos();
            let r = (1.0 - z * z).sqrt();
            let n = Vec3::new(r * cos, r * sin, z);
            (s(n), n)
        })
        .collect();
    seen.sort_by(|p, q| q.0.total_cmp(&p.0));
    let mut starts: Vec<(f64, Vec3)> = Vec::new();
    let spacing = (8.0 / samples as f64).sqrt();
    for (value, n) in seen {
        if starts.iter().all(|(_, m)| (*m - n).norm() > 2.0 * spacing) {
            starts.push((value, n));
        }
        if starts.len() == 5 {
            break;
        }
    }
    let mut best = f64::NEG_INFINITY;
    for (mut value, mut n) in starts {
        let mut size = spacing;
        while size > 1e-11 {
            let (u, centre) = (n.any_orthogonal(), n);
            let w = n.cross(u);
            for i in -4..=4 {
                for j in -4..=4 {
                    let m = centre + (u * f64::from(i) + w * f64::from(j)) * (size / 4.0);
                    let m = m.try_normalize().unwrap();
                    if s(m) > value {
                        (value, n) = (s(m), m);
                    }
                }
            }
            size *= 0.5;
        }
        best = best.max(value);
    }
    best
}

/// Distance of a point from a shape, in m; zero inside. A lower bound for hulls.
pub fn outside(shape: &Shape, X: &Pose, p_W: Vec3) -> f64 {
    let p = X.inverse_transform_point(p_W);
    match shape {
        Shape::Sphere { radius } => (p.norm() - radius).max(0.0),
        Shape::Box { half } => (p.abs() - Vec3::from(*half)).max(Vec3::ZERO).norm(),
        Shape::Capsule { radius, half_length } => {
            let on = Vec3::Z * p.z.clamp(-half_length, *half_length);
            ((p - on).norm() - radius).max(0.0)
        }
        Shape::Cylinder { radius, half_length } => {
            (p.x.hypot(p.y) - radius).max(0.0).hypot((p.z.abs() - half_length).max(0.0))
        }
        Shape::Ellipsoid { radii } => {
            // first-order estimate: gauge excess divided by its gradient
            let over = |v: Vec3| Vec3::new(v.x / radii[0], v.y / radii[1], v.z / radii[2]);
            let gauge = over(p).norm();
            ((gauge - 1.0) * gauge / over(over(p)).norm()).max(0.0)
        }
        Shape::Polytope(hull) => {
            hull.faces().iter().map(|f| f.normal().dot(p) - f.offset()).fold(0.0, f64::max)
        }
        other => panic!("no reference for {other:?}"),
    }
}
