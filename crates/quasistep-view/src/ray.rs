//! Rays against drawn shapes.
#![allow(non_snake_case)] // frames in monogram notation

use quasistep_math::{Pose, Vec3};
use quasistep_record::{DrawnGeometry, DrawnShape};

/// A ray in the frame of a shape.
#[derive(Clone, Copy)]
pub(crate) struct Ray {
    pub start: Vec3,
    /// Unit vector.
    pub direction: Vec3,
}

/// A drawn shape for ray casting.
pub(crate) struct Solid {
    pub body: usize,
    X_BG: Pose,
    form: Form,
    /// Centre and radius of a ball around the shape, in its own frame; infinite for a plane.
    ball: (Vec3, f64),
}

enum Form {
    Plane,
    Box(Vec3),
    Ellipsoid(Vec3),
    /// Radius, half length.
    Cylinder(f64, f64),
    Capsule(f64, f64),
    Triangles(Vec<[Vec3; 3]>),
    /// Centres, radius.
    Dots(Vec<Vec3>, f64),
}

/// Most dots of a cloud; others are left out, and the rest become wider.
const MOST_DOTS: usize = 2000;

impl Solid {
    /// `None` if the shape lets light through or its geometry is unknown.
    pub fn new(shape: &DrawnShape) -> Option<Self> {
        if shape.color[3] < 0.5 {
            return None;
        }
        let form = match &shape.geometry {
            DrawnGeometry::HalfSpace => Form::Plane,
            DrawnGeometry::Sphere { radius } => {
                Form::Ellipsoid(Vec3::new(*radius, *radius, *radius))
            }
            DrawnGeometry::Ellipsoid { radii } => Form::Ellipsoid((*radii).into()),
            DrawnGeometry::Box { half } => Form::Box((*half).into()),
            DrawnGeometry::Cylinder { radius, half_length } => {
                Form::Cylinder(*radius, *half_length)
            }
            DrawnGeometry::Capsule { radius, half_length } => Form::Capsule(*radius, *half_length),
            DrawnGeometry::Mesh { vertices, triangles } => Form::Triangles(
                triangles.iter().map(|t| t.map(|i| vertices[i as usize].into())).collect(),
            ),
            DrawnGeometry::Points { points, width, .. } => {
                let one_of = points.len().div_ceil(MOST_DOTS).max(1);
                let kept = points.iter().step_by(one_of);
                let wide = |p: &[f32; 3]| Vec3::from(p.map(f64::from));
                Form::Dots(kept.map(wide).collect(), 0.5 * width * (one_of as f64).sqrt())
            }
            _ => return None,
        };
        let around = |points: &mut dyn Iterator<Item = Vec3>, more: f64| {
            let points: Vec<Vec3> = points.collect();
            let sum = points.iter().fold(Vec3::ZERO, |sum, p| sum + *p);
            let middle = sum / points.len().max(1) as f64;
            (middle, points.iter().fold(0.0, |r: f64, p| r.max((*p - middle).norm())) + more)
        };
        let ball = match &form {
            Form::Plane => (Vec3::ZERO, f64::INFINITY),
            Form::Box(half) => (Vec3::ZERO, half.norm()),
            Form::Ellipsoid(radii) => (Vec3::ZERO, radii.max_abs()),
            Form::Cylinder(radius, half_length) => (Vec3::ZERO, radius.hypot(*half_length)),
            Form::Capsule(radius, half_length) => (Vec3::ZERO, radius + half_length),
            Form::Triangles(list) => around(&mut list.iter().flatten().copied(), 0.0),
            Form::Dots(list, radius) => around(&mut list.iter().copied(), *radius),
        };
        Some(Self { body: shape.body, X_BG: shape.X_BG, form, ball })
    }

    /// Number of parts that a ray is tested against.
    pub fn parts(&self) -> usize {
        match &self.form {
            Form::Triangles(list) => list.len(),
            Form::Dots(list, _) => list.len(),
            _ => 1,
        }
    }

    /// Radius of a ball around the shape, in m; infinite for a plane.
    pub fn radius(&self) -> f64 {
        self.ball.1
    }

    /// Distance (m) along a ray, given in the world frame, at which it enters the shape.
    pub fn hit(&self, X_WB: &Pose, ray: Ray) -> Option<f64> {
        let X_GW = (*X_WB * self.X_BG).inverse();
        let start = X_GW.transform_point(ray.start);
        let direction = X_GW.rotation.rotate(ray.direction);
        let (middle, radius) = self.ball;
        let off = start - middle;
        let along = off.dot(direction);
        if off.norm_squared() - along * along > radius * radius {
            return None;
        }
        let (o, d) = (start, direction);
        let first = |[near, far]: [f64; 2]| (near <= far && near > 0.0).then_some(near);
        match &self.form {
            // planes are drawn from their free side only
            Form::Plane => (d.z < -1e-9 && o.z > 0.0).then(|| -o.z / d.z),
            Form::Box(half) => first((0..3).map(|k| slab(o[k], d[k], half[k])).fold(ALL, both)),
            Form::Ellipsoid(radii) => {
                let over = |v: Vec3| Vec3::new(v.x / radii.x, v.y / radii.y, v.z / radii.z);
                first(in_ball(over(o), over(d), 1.0))
            }
            Form::Cylinder(radius, half_length) => first(tube(o, d, *radius, *half_length)),
            Form::Capsule(radius, half_length) => {
                let end = Vec3::Z * *half_length;
                [
                    tube(o, d, *radius, *half_length),
                    in_ball(o - end, d, *radius),
                    in_ball(o + end, d, *radius),
                ]
                .into_iter()
                .filter_map(first)
                .reduce(f64::min)
            }
            Form::Triangles(list) => list.iter().filter_map(|t| triangle(o, d, t)).reduce(f64::min),
            Form::Dots(list, radius) => {
                list.iter().filter_map(|p| first(in_ball(o - *p, d, *radius))).reduce(f64::min)
            }
        }
    }
}

const ALL: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];
const NONE: [f64; 2] = [f64::INFINITY, f64::NEG_INFINITY];

fn both(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0].max(b[0]), a[1].min(b[1])]
}

/// Where |o + t d| ≤ half.
fn slab(o: f64, d: f64, half: f64) -> [f64; 2] {
    if d.abs() < 1e-12 {
        return if o.abs() <= half { ALL } else { NONE };
    }
    let (a, b) = ((-half - o) / d, (half - o) / d);
    [a.min(b), a.max(b)]
}

/// Where o + t d lies in a ball around the origin; d may have any length.
fn in_ball(o: Vec3, d: Vec3, radius: f64) -> [f64; 2] {
    roots(d.norm_squared(), o.dot(d), o.norm_squared() - radius * radius)
}

/// Where a t² + 2 b t + c ≤ 0, for a ≥ 0.
fn roots(a: f64, b: f64, c: f64) -> [f64; 2] {
    if a < 1e-18 {
        return if c <= 0.0 { ALL } else { NONE };
    }
    let inside = b * b - a * c;
    if inside < 0.0 {
        return NONE;
    }
    let root = inside.sqrt();
    [(-b - root) / a, (-b + root) / a]
}

/// Where o + t d lies in a cylinder along z.
fn tube(o: Vec3, d: Vec3, radius: f64, half_length: f64) -> [f64; 2] {
    let (flat_o, flat_d) = (Vec3::new(o.x, o.y, 0.0), Vec3::new(d.x, d.y, 0.0));
    both(in_ball(flat_o, flat_d, radius), slab(o.z, d.z, half_length))
}

/// Möller and Trumbore's intersection with a triangle, from either side.
fn triangle(o: Vec3, d: Vec3, [a, b, c]: &[Vec3; 3]) -> Option<f64> {
    let (e, f) = (*b - *a, *c - *a);
    let p = d.cross(f);
    let volume = e.dot(p);
    if volume == 0.0 {
        return None;
    }
    let s = o - *a;
    let u = s.dot(p) / volume;
    let q = s.cross(e);
    let v = d.dot(q) / volume;
    let t = f.dot(q) / volume;
    (u >= 0.0 && v >= 0.0 && u + v <= 1.0 && t > 0.0).then_some(t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quasistep_record::ShapeRole;

    fn solid(geometry: DrawnGeometry) -> Solid {
        let shape = DrawnShape {
            body: 1,
            name: "shape".into(),
            X_BG: Pose::from_translation(Vec3::X),
            geometry,
            color: [1.0; 4],
            paint: None,
            role: ShapeRole::Both,
        };
        Solid::new(&shape).unwrap()
    }

    /// Rays along x, from 5 m in front of shapes whose middle is at x = 1 m, in a frame turned by a
    /// quarter about z.
    #[test]
    fn rays_end_at_surfaces() {
        let tetrahedron = DrawnGeometry::Mesh {
            vertices: vec![
                [-0.5, -1.0, -1.0],
                [-0.5, 1.0, -1.0],
                [-0.5, 0.0, 1.0],
                [0.5, 0.0, 0.0],
            ],
            triangles: vec![[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]],
        };
        let cases = [
            (DrawnGeometry::Sphere { radius: 0.5 }, 0.5, 0.49),
            (DrawnGeometry::Ellipsoid { radii: [0.3, 1.0, 2.0] }, 0.3, 1.9),
            (DrawnGeometry::Box { half: [0.2, 0.5, 0.4] }, 0.2, 0.39),
            (DrawnGeometry::Cylinder { radius: 0.4, half_length: 0.7 }, 0.4, 0.69),
            (DrawnGeometry::Capsule { radius: 0.4, half_length: 0.7 }, 0.4, 1.09),
            (tetrahedron, 0.5, 0.9),
            (
                DrawnGeometry::Points { points: vec![[0.0; 3]], normals: vec![], width: 0.2 },
                0.1,
                0.09,
            ),
        ];
        let turned = Pose::new(
            quasistep_math::Quat::from_axis_angle(Vec3::Z, std::f64::consts::FRAC_PI_2),
            Vec3::ZERO,
        );
        for (geometry, reach, high) in cases {
            let what = format!("{geometry:?}");
            let solid = solid(geometry);
            let hit = |z: f64| {
                let start = Vec3::new(0.0, -5.0, z);
                solid.hit(&turned, Ray { start, direction: Vec3::Y })
            };
            let distance = hit(0.0).unwrap();
            assert!((distance - (6.0 - reach)).abs() < 1e-9, "{what}: {distance}");
            assert!(hit(high).is_some() && hit(1.2 * high + 0.2).is_none(), "{what}");
            let away = Ray { start: Vec3::new(0.0, -5.0, 0.0), direction: -Vec3::Y };
            assert!(solid.hit(&turned, away).is_none(), "{what} behind the eye");
        }
        let floor = solid(DrawnGeometry::HalfSpace);
        let down = |z: f64| floor.hit(&turned, Ray { start: Vec3::Z * z, direction: -Vec3::Z });
        assert_eq!((down(2.0), down(-1.0)), (Some(2.0), None));
    }
}
