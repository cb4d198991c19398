//! Exact signed distance of a point to a shape's surface.

use crate::distance::{Surface, TOUCH};
use crate::ellipsoid::Ellipsoid;
use crate::polytope::{Face, Polytope};
use crate::shape::Shape;
use quasistep_math::{Pose, Vec3};

/// Distance and normal for a point `p` in the shape's frame. `None` for a cloud, which has no
/// surface.
pub(crate) fn surface(shape: &Shape, p: Vec3) -> Option<Surface> {
    Some(match shape {
        Shape::HalfSpace => Surface { distance: p.z, normal: Vec3::Z },
        Shape::Sphere { radius } => around(p, *radius),
        Shape::Capsule { radius, half_length } => {
            around(p - Vec3::Z * p.z.clamp(-half_length, *half_length), *radius)
        }
        Shape::Box { half } => box_surface(Vec3::from(*half), p),
        Shape::Cylinder { radius, half_length } => cylinder_surface(*radius, *half_length, p),
        Shape::Ellipsoid { .. } => {
            let ellipsoid = Ellipsoid::new(shape, &Pose::IDENTITY)?;
            let normal = ellipsoid.normals(p).0;
            Surface { distance: ellipsoid.height(p, normal), normal }
        }
        Shape::Polytope(polytope) => polytope_surface(polytope, p),
        Shape::HeightField(field) => field.surface(p),
        Shape::Sheet(sheet) => sheet.surface(p, p),
        Shape::Cloud(_) => return None,
    })
}

/// Distance and normal for a core with a radius; `d` is the vector from the core's nearest point.
fn around(d: Vec3, radius: f64) -> Surface {
    Surface { distance: d.norm() - radius, normal: d.try_normalize().unwrap_or(Vec3::Z) }
}

fn box_surface(half: Vec3, p: Vec3) -> Surface {
    let over = p.abs() - half;
    let axis = (1..3).fold(0, |a, k| if over[k] > over[a] { k } else { a });
    let sign = |x: f64| if x < 0.0 { -1.0 } else { 1.0 };
    let outside = Vec3::new(
        over.x.max(0.0) * sign(p.x),
        over.y.max(0.0) * sign(p.y),
        over.z.max(0.0) * sign(p.z),
    );
    let distance = outside.norm();
    match outside.try_normalize() {
        // nearly touching points give a noisy normal; the face's normal is accurate
        Some(normal) if distance > TOUCH => Surface { distance, normal },
        _ => Surface { distance: over[axis], normal: Vec3::AXES[axis] * sign(p[axis]) },
    }
}

fn cylinder_surface(radius: f64, half_length: f64, p: Vec3) -> Surface {
    let flat = Vec3::new(p.x, p.y, 0.0);
    // on the axis all directions are equally near
    let out = flat.try_normalize().unwrap_or(Vec3::X);
    let up = if p.z < 0.0 { -Vec3::Z } else { Vec3::Z };
    let (side, end) = (flat.norm() - radius, p.z.abs() - half_length);
    if side > 0.0 && end > 0.0 {
        let rim = out * side + up * end;
        let distance = rim.norm();
        if distance > TOUCH {
            return Surface { distance, normal: rim / distance };
        }
    }
    if side > end {
        Surface { distance: side, normal: out }
    } else {
        Surface { distance: end, normal: up }
    }
}

/// Distance and normal for a point `p` in the polytope's frame.
pub(crate) fn polytope_surface(polytope: &Polytope, p: Vec3) -> Surface {
    let mut face = Surface { distance: f64::NEG_INFINITY, normal: Vec3::Z };
    for f in polytope.faces() {
        let height = p.dot(f.normal()) - f.offset();
        if height > face.distance {
            face = Surface { distance: height, normal: f.normal() };
        }
    }
    // inside, or projecting inside the nearest face
    let foot = p - face.normal * face.distance;
    let above = |f: &Face| foot.dot(f.normal()) > f.offset() && f.normal() != face.normal;
    if face.distance <= 0.0 || !polytope.faces().iter().any(above) {
        return face;
    }
    let corner = |v: u32| polytope.vertices()[v as usize];
    let mut away = Vec3::new(f64::INFINITY, 0.0, 0.0);
    for edge in polytope.edges() {
        let [u, w] = edge.vertices.map(corner);
        let (along, from) = (w - u, p - u);
        let t = (from.dot(along) / along.norm_squared()).clamp(0.0, 1.0);
        let apart = from - along * t;
        if apart.norm_squared() < away.norm_squared() {
            away = apart;
        }
    }
    let distance = away.norm();
    match away.try_normalize() {
        Some(normal) if distance > TOUCH => Surface { distance, normal },
        _ => face,
    }
}
