//! Finds the feature of a shape that contains a witness point.

use super::feature::Feature;
use crate::climb::Round;
use crate::ellipsoid::Ellipsoid;
use crate::pieces::Pieces;
use crate::polytope::{Face, Polytope};
use crate::shape::Shape;
use quasistep_math::{Pose, Vec3};

/// Tolerance for rounding: of the sine of an angle, or of a length relative to the shape's size.
const SAME: f64 = 1e-9;
/// Largest deviation of hull corners from their faces, relative to the shape's size.
const SCATTER: f64 = 1e-7;

/// Feature of a shape at the surface point `p_W`, where the outward unit normal of the contact is
/// `out_W`.
pub(super) fn feature(shape: &Shape, X: &Pose, p_W: Vec3, out_W: Vec3) -> Feature {
    let out = X.rotation.inverse().rotate(out_W);
    let local = X.inverse_transform_point(p_W);
    let world = |f| in_world(X, f);
    match shape {
        Shape::Sphere { radius } => Feature::point(X.translation, *radius),
        Shape::HalfSpace => Feature::plane(p_W, X.rotation.rotate(Vec3::Z)),
        Shape::Capsule { radius, half_length } => {
            let z = (local - out * *radius).z;
            world(if z.abs() < half_length * (1.0 - SAME) {
                Feature::line(Vec3::Z * z, Vec3::Z, Vec3::ZERO, *radius)
            } else {
                Feature::point(Vec3::Z * half_length.copysign(z), *radius)
            })
        }
        Shape::Box { half } => world(of_box(half.to_owned().into(), local, out)),
        Shape::Cylinder { radius, half_length } => {
            world(of_cylinder(*radius, *half_length, local, out))
        }
        Shape::Ellipsoid { .. } => {
            Ellipsoid::new(shape, X).map_or(Feature::point(p_W, 0.0), |e| of_ellipsoid(&e, out_W))
        }
        Shape::Polytope(polytope) => world(of_polytope(polytope, local, out)),
        Shape::HeightField(field) => of_ground(&**field, X, p_W, out_W),
        Shape::Sheet(sheet) => of_ground(&**sheet, X, p_W, out_W),
        // the feature is the cloud's point itself
        Shape::Cloud(cloud) => Feature::point(p_W - out_W * cloud.radius(), cloud.radius()),
    }
}

/// Feature of a shape of many pieces: that of one of them at the point, a plane if there is one.
pub(super) fn of_ground<G: Pieces>(field: &G, X: &Pose, p_W: Vec3, out_W: Vec3) -> Feature {
    let out = X.rotation.inverse().rotate(out_W);
    let local = X.inverse_transform_point(p_W);
    let (mut piece, mut found) = (G::new_piece(), None);
    field.for_each_at(local, field.near(), &mut |at| {
        field.set(&mut piece, at);
        let feature = of_polytope(&piece, local, out);
        if found.is_none() || feature.is_plane() {
            found = Some(feature);
        }
    });
    in_world(X, found.unwrap_or(Feature::point(local, 0.0)))
}

fn in_world(X: &Pose, f: Feature) -> Feature {
    Feature {
        p_W: X.transform_point(f.p_W),
        tangents: f.tangents.map(|t| X.rotation.rotate(t)),
        bends: f.bends.map(|bend| X.rotation.rotate(bend)),
        ..f
    }
}

/// Feature at a rim point of a cylinder's patch: either fixed to the cylinder, or the lowest point
/// of the rim.
pub(super) fn rim_point(
    X: &Pose,
    radius: f64,
    half_length: f64,
    p_W: Vec3,
    lowest: bool,
) -> Feature {
    if lowest {
        let p = X.inverse_transform_point(p_W);
        in_world(X, rim(radius, half_length.copysign(p.z), p))
    } else {
        Feature::point(p_W, 0.0)
    }
}

fn of_box(half: Vec3, p: Vec3, out: Vec3) -> Feature {
    let size = half.max_abs();
    if let Some(k) = (0..3).find(|&k| out.cross(Vec3::AXES[k]).max_abs() <= SAME) {
        return Feature::plane(p, Vec3::AXES[k] * 1f64.copysign(out[k]));
    }
    // the point is on an edge along axis k if the normal is perpendicular to k and the point is not
    // at the edge's end
    let edge = (0..3).find(|&k| out[k].abs() <= SAME && p[k].abs() < half[k] - SAME * size);
    match edge {
        Some(k) => Feature::line(p, Vec3::AXES[k], Vec3::ZERO, 0.0),
        None => Feature::point(p, 0.0),
    }
}

fn of_cylinder(radius: f64, half_length: f64, p: Vec3, out: Vec3) -> Feature {
    let side = Vec3::new(out.x, out.y, 0.0);
    let sine = side.norm();
    if sine <= SAME {
        return Feature::plane(p, Vec3::Z.copysign(out.z));
    }
    if out.z.abs() <= SAME {
        return Feature::line(Vec3::Z * p.z, Vec3::Z, Vec3::ZERO, radius);
    }
    rim(radius, half_length.copysign(out.z), p)
}

/// Surface feature of an ellipsoid where its normal is `n`; world frame.
fn of_ellipsoid(ellipsoid: &Ellipsoid, n: Vec3) -> Feature {
    let u = n.any_orthogonal();
    let w = n.cross(u);
    // derivatives of the support point by the normal are radii of curvature
    let (p, [uu, uw, ww]) = ellipsoid.point(n, u, w);
    let (sin, cos) = (0.5 * (2.0 * uw).atan2(uu - ww)).sin_cos();
    let tangents = [u * cos + w * sin, w * cos - u * sin];
    let bends = tangents.map(|t| {
        let (_, [radius, ..]) = ellipsoid.point(n, t, n.cross(t));
        n * (-1.0 / radius)
    });
    Feature::surface(p, tangents, bends)
}

/// Rim feature, at the upper or lower rim, through the point `p`.
fn rim(radius: f64, z: f64, p: Vec3) -> Feature {
    let out = Vec3::new(p.x, p.y, 0.0).try_normalize().unwrap_or(Vec3::X);
    Feature::line(out * radius + Vec3::Z * z, Vec3::Z.cross(out), out * (-1.0 / radius), 0.0)
}

fn of_polytope(polytope: &Polytope, p: Vec3, out: Vec3) -> Feature {
    let corner = |v: u32| polytope.vertices()[v as usize];
    let size = polytope.vertices().iter().fold(0.0_f64, |s, v| s.max(v.max_abs()));
    if let Some(face) = polytope.faces().iter().find(|f| is_level(f, out)) {
        return Feature::plane(p, face.normal());
    }
    for edge in polytope.edges() {
        let [u, w] = edge.vertices.map(corner);
        let length = (w - u).norm();
        let along = (w - u) / length;
        let at = (p - u).dot(along);
        let beside = (p - u - along * at).norm();
        let inside = at > SAME * size && at < length - SAME * size;
        if along.dot(out).abs() <= SAME && inside && beside <= SCATTER * size {
            return Feature::line(p, along, Vec3::ZERO, 0.0);
        }
    }
    Feature::point(p, 0.0)
}

/// True if an arbitrarily small motion moves the witness point to another feature with another
/// curvature: from a face to one of its edges, or from an edge or side to its end.
pub(super) fn is_between_features(shape: &Shape, X: &Pose, p_W: Vec3, out_W: Vec3) -> bool {
    let out = X.rotation.inverse().rotate(out_W);
    let p = X.inverse_transform_point(p_W);
    match shape {
        Shape::Capsule { radius, half_length } => {
            let z = (p - out * *radius).z;
            out.z.abs() <= SAME && z.abs() >= half_length * (1.0 - SAME)
        }
        Shape::Box { half } => {
            let half = Vec3::from(half.to_owned());
            let at_end = |k: usize| p[k].abs() >= half[k] - SAME * half.max_abs();
            (0..3).any(|k| out[k].abs() <= SAME && at_end(k))
        }
        Shape::Cylinder { radius, half_length } => {
            let little = SAME * radius.max(*half_length);
            let on_rim = p.x.hypot(p.y) >= radius - little && p.z.abs() >= half_length - little;
            on_rim && (out.x.hypot(out.y) <= SAME || out.z.abs() <= SAME)
        }
        Shape::Polytope(polytope) => is_between_edges(polytope, p, out),
        Shape::HeightField(field) => is_between_pieces(&**field, p, out),
        Shape::Sheet(sheet) => is_between_pieces(&**sheet, p, out),
        Shape::Sphere { .. } | Shape::HalfSpace | Shape::Ellipsoid { .. } | Shape::Cloud(_) => {
            false
        }
    }
}

fn is_between_pieces<G: Pieces>(field: &G, p: Vec3, out: Vec3) -> bool {
    let (mut piece, mut between) = (G::new_piece(), false);
    field.for_each_at(p, field.near(), &mut |at| {
        field.set(&mut piece, at);
        between |= is_between_edges(&piece, p, out);
    });
    between
}

fn is_between_edges(polytope: &Polytope, p: Vec3, out: Vec3) -> bool {
    let corner = |v: u32| polytope.vertices()[v as usize];
    let size = polytope.vertices().iter().fold(0.0_f64, |s, v| s.max(v.max_abs()));
    polytope.edges().iter().any(|edge| {
        let [u, w] = edge.vertices.map(corner);
        let length = (w - u).norm();
        let along = (w - u) / length;
        let at = (p - u).dot(along);
        let nearest = u + along * at.clamp(0.0, length);
        if along.dot(out).abs() > SAME || (p - nearest).norm() > SCATTER * size {
            return false;
        }
        let is_end = at <= SAME * size || at >= length - SAME * size;
        is_end || edge.faces.iter().any(|f| is_level(&polytope.faces()[*f as usize], out))
    })
}

fn is_level(face: &Face, out: Vec3) -> bool {
    face.normal().dot(out) > 0.0 && face.normal().cross(out).max_abs() <= SAME
}

trait CopySign {
    fn copysign(self, sign: f64) -> Self;
}

impl CopySign for Vec3 {
    fn copysign(self, sign: f64) -> Self {
        self * 1f64.copysign(sign)
    }
}
