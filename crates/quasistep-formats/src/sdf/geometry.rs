//! `<geometry>`: shapes and their poses.

use super::polyline;
use super::reader::Reader;
use super::value::{array, child, direction, non_negative, text};
use crate::description::Geometry;
use crate::error::{SceneError, list};
use crate::findings::{EMPTY_SHAPES, MISSING_VISUALS};
use crate::xml::Xml;
use quasistep_math::{Pose, Quat, Vec3};

/// Supported geometry elements.
const READ: [&str; 8] =
    ["box", "sphere", "cylinder", "capsule", "ellipsoid", "plane", "mesh", "polyline"];
/// Geometry elements of the format that are not supported.
const UNREAD: [&str; 3] = ["cone", "heightmap", "image"];

/// Use of a shape: visual or collision.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Look,
    Collide,
}

/// A shape and its pose in the frame of its element; a plane is rotated to its normal.
pub(super) type Shape = (Geometry, Pose);

/// Reads the geometry of a visual or collision: one shape, or the convex parts of polylines. Empty if
/// it is missing or of size zero, or if the mesh of a visual is missing.
pub(super) fn read(
    part: &Xml<'_, '_>,
    link: &str,
    purpose: Purpose,
    reader: &mut Reader<'_, '_>,
) -> Result<Vec<Shape>, SceneError> {
    // missing geometry counts as <empty/>
    let Some(at) = child(part, "geometry") else { return Ok(Vec::new()) };
    let is_shape = |at: &Xml<'_, '_>| READ.contains(&at.tag()) || UNREAD.contains(&at.tag());
    let Some(shape) = at.elements().find(is_shape) else {
        if child(&at, "empty").is_none() && at.elements().next().is_some() {
            reader.findings.unknown(&at, &READ);
        }
        return Ok(Vec::new());
    };
    if UNREAD.contains(&shape.tag()) {
        let error = shape.error(format!(
            "<{}> was seen, which is not supported; valid: {}",
            shape.tag(),
            list(&READ)
        ));
        if purpose == Purpose::Collide {
            return Err(error);
        }
        reader.findings.forgive(&error, "not drawn");
        return Ok(Vec::new());
    }
    let shapes = if shape.tag() == "polyline" {
        let prisms = polyline::read(&at)?;
        prisms.into_iter().map(|points| (Geometry::Points(points), Pose::IDENTITY)).collect()
    } else {
        let Some(one) = of(&shape, link, purpose, reader)? else { return Ok(Vec::new()) };
        if extent(&one.0) > 0.0 { vec![one] } else { Vec::new() }
    };
    if shapes.is_empty() {
        reader.findings.group(EMPTY_SHAPES, part.line(), link);
    }
    Ok(shapes)
}

fn of(
    at: &Xml<'_, '_>,
    link: &str,
    purpose: Purpose,
    reader: &mut Reader<'_, '_>,
) -> Result<Option<Shape>, SceneError> {
    // missing lengths have the format's defaults; children of Drake's shapes have no prefix
    let length = |tag: &str, usual: f64| at.child(tag).map_or(Ok(usual), |at| non_negative(&at));
    let sides = |tag: &str, usual: f64| -> Result<[f64; 3], SceneError> {
        let Some(at) = at.child(tag) else { return Ok([usual; 3]) };
        let sides = array::<3>(&at)?;
        match sides.iter().find(|s| **s < 0.0) {
            Some(s) => Err(at.error(format!("{s} was seen; every length must be ≥ 0"))),
            None => Ok(sides),
        }
    };
    let geometry = match at.tag() {
        "box" => Geometry::Box { half: sides("size", 1.0)?.map(|s| 0.5 * s) },
        "sphere" => Geometry::Sphere { radius: length("radius", 1.0)? },
        "cylinder" => Geometry::Cylinder {
            radius: length("radius", 1.0)?,
            half_length: 0.5 * length("length", 1.0)?,
        },
        "capsule" => {
            let (radius, length) = (length("radius", 0.5)?, length("length", 1.0)?);
            // a capsule of length zero is a sphere
            if length == 0.0 {
                Geometry::Sphere { radius }
            } else {
                Geometry::Capsule { radius, half_length: 0.5 * length }
            }
        }
        // Drake's ellipsoid has elements a, b and c
        "ellipsoid" if at.child("a").is_some() => {
            Geometry::Ellipsoid { radii: [length("a", 1.0)?, length("b", 1.0)?, length("c", 1.0)?] }
        }
        "ellipsoid" => Geometry::Ellipsoid { radii: sides("radii", 1.0)? },
        "plane" => {
            let normal = at.child("normal").map_or(Ok(Vec3::Z), |at| direction(&at))?;
            return Ok(Some((Geometry::HalfSpace, Pose::new(turn_z_to(normal), Vec3::ZERO))));
        }
        _ => return Ok(mesh(at, link, purpose, reader)?.map(|mesh| (mesh, Pose::IDENTITY))),
    };
    Ok(Some((geometry, Pose::IDENTITY)))
}

fn mesh(
    at: &Xml<'_, '_>,
    link: &str,
    purpose: Purpose,
    reader: &mut Reader<'_, '_>,
) -> Result<Option<Geometry>, SceneError> {
    if let Some(part) = at.child("submesh") {
        let name = part.child("name").map_or("", |name| name.content());
        let text = format!("link `{link}`: of a mesh only its part `{name}` is meant: all is read");
        reader.findings.warn(part.line(), text);
    }
    let scale = at.child("scale").map_or(Ok([1.0; 3]), |at| array::<3>(&at))?;
    let uri = at.child("uri").ok_or_else(|| at.error("<uri> is missing"))?;
    match reader.places.find(text(&uri)?) {
        Ok(path) => Ok(Some(Geometry::Mesh { path, scale })),
        Err(_) if purpose == Purpose::Look => {
            reader.findings.group(MISSING_VISUALS, uri.line(), link);
            Ok(None)
        }
        Err(why) => Err(uri.error(why)),
    }
}

/// Smallest dimension of a shape, in m; infinite for meshes, whose size is in their file.
fn extent(shape: &Geometry) -> f64 {
    match shape {
        Geometry::Box { half: sides } | Geometry::Ellipsoid { radii: sides } => {
            sides.iter().copied().fold(f64::INFINITY, f64::min)
        }
        Geometry::Sphere { radius } | Geometry::Capsule { radius, .. } => *radius,
        Geometry::Cylinder { radius, half_length } => radius.min(*half_length),
        Geometry::HalfSpace
        | Geometry::Mesh { .. }
        | Geometry::Points(_)
        | Geometry::HeightField(_) => f64::INFINITY,
    }
}

/// A rotation that takes z to the unit vector `z`.
fn turn_z_to(z: Vec3) -> Quat {
    if (z - Vec3::Z).norm() < 1e-12 {
        return Quat::IDENTITY;
    }
    let x = z.any_orthogonal();
    Quat::from_matrix(&quasistep_math::Mat3::from_columns([x, z.cross(x), z]))
}
