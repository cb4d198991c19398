//! `<link>`: inertia and shapes.

use crate::Options;
use crate::description::{Friction, Geometry, Link, Part};
use crate::error::SceneError;
use crate::findings::{EMPTY_SHAPES, FRAMES, Findings, MISSING_VISUALS, SHAPES_WITHOUT_MASS};
use crate::inertia;
use crate::packages::Places;
use crate::xml::Xml;
use quasistep_math::{Mat3, Vec3};
use quasistep_model::BodyInertia;
use std::collections::BTreeMap;

/// Colours of materials by name: red, green, blue, opacity.
pub(super) type Materials = BTreeMap<String, [f32; 4]>;

/// State shared by the readers of links and joints.
pub(super) struct Reader<'p, 'f> {
    pub places: Places<'p>,
    pub options: &'p Options,
    pub materials: Materials,
    pub findings: Findings<'f>,
}

/// Use of a shape: visual or collision.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Look,
    Collide,
}

pub(super) fn read(at: &Xml<'_, '_>, reader: &mut Reader<'_, '_>) -> Result<Link, SceneError> {
    let name = at.text("name")?.to_owned();
    let inertial_at = at.child("inertial");
    let inertial = match &inertial_at {
        None => None,
        Some(inertial_at) => inertial(inertial_at, &name, reader)?,
    };
    let visuals = parts(at, &name, Purpose::Look, reader)?;
    let collisions = parts(at, &name, Purpose::Collide, reader)?;
    if inertial_at.is_none() && !collisions.is_empty() {
        reader.findings.group(SHAPES_WITHOUT_MASS, at.line(), &name);
    }
    reader.findings.ignore(at.other_tags(&["inertial", "visual", "collision"]));
    Ok(Link { name, line: at.line(), inertial, visuals, collisions, ..Link::default() })
}

fn inertial(
    at: &Xml<'_, '_>,
    link: &str,
    reader: &mut Reader<'_, '_>,
) -> Result<Option<BodyInertia>, SceneError> {
    let missing = |tag: &str| at.error(format!("<{tag}> is missing"));
    let mass = at.child("mass").ok_or_else(|| missing("mass"))?.non_negative("value")?;
    if mass == 0.0 {
        reader.findings.group(FRAMES, at.line(), link);
        return Ok(None);
    }
    let moments = at.child("inertia").ok_or_else(|| missing("inertia"))?;
    let [xx, yy, zz] = [moments.number("ixx")?, moments.number("iyy")?, moments.number("izz")?];
    let product = |name: &str| -> Result<f64, SceneError> {
        Ok(moments.numbers::<1>(name)?.map_or(0.0, |[x]| x))
    };
    let local = Mat3::symmetric([xx, yy, zz, product("ixy")?, product("ixz")?, product("iyz")?]);
    let X = at.origin()?;
    let R = X.rotation.to_matrix();
    let given = BodyInertia { mass, com: X.translation, inertia: R * local * R.transpose() };
    inertia::possible(given, &moments, link, reader.options, &mut reader.findings).map(Some)
}

fn parts(
    link_at: &Xml<'_, '_>,
    link: &str,
    purpose: Purpose,
    reader: &mut Reader<'_, '_>,
) -> Result<Vec<Part>, SceneError> {
    let tag = if purpose == Purpose::Look { "visual" } else { "collision" };
    let mut parts = Vec::new();
    for at in link_at.children(tag) {
        let Some(geometry) = geometry(&at, link, purpose, reader)? else { continue };
        let material = at.child("material");
        let own = material.as_ref().map(color).transpose()?.flatten();
        let color = own.or_else(|| {
            let name = material.as_ref()?.attribute("name")?;
            reader.materials.get(name).copied()
        });
        let proximity = at.child("proximity_properties");
        let mu = proximity.and_then(|p| p.child("mu_dynamic").or_else(|| p.child("mu_static")));
        let slide = mu.map(|mu| mu.non_negative("value")).transpose()?;
        parts.push(Part {
            color,
            friction: Friction { slide, ..Friction::default() },
            ..Part::new(at.origin()?, geometry)
        });
    }
    Ok(parts)
}

/// Reads the geometry of a shape. `None` if its size is zero, or if the mesh of a visual is
/// missing.
fn geometry(
    part: &Xml<'_, '_>,
    link: &str,
    purpose: Purpose,
    reader: &mut Reader<'_, '_>,
) -> Result<Option<Geometry>, SceneError> {
    let at = part.child("geometry").ok_or_else(|| part.error("<geometry> is missing"))?;
    let Some(shape) = at.elements().next() else {
        let error =
            at.error("<geometry> is empty; it holds a box, sphere, cylinder, capsule or mesh");
        if purpose == Purpose::Collide {
            return Err(error);
        }
        reader.findings.forgive(&error, "not drawn");
        return Ok(None);
    };
    let length = |name: &str| shape.non_negative(name);
    let (geometry, smallest) = match shape.tag() {
        "box" => {
            let size: [f64; 3] = shape
                .numbers("size")?
                .ok_or_else(|| shape.error("the attribute `size` is missing"))?;
            if size.iter().any(|s| *s < 0.0) {
                return Err(shape.error(format!("size {size:?} was seen; every edge must be ≥ 0")));
            }
            let smallest = size.into_iter().fold(f64::INFINITY, f64::min);
            (Geometry::Box { half: size.map(|s| 0.5 * s) }, smallest)
        }
        "sphere" => {
            let radius = length("radius")?;
            (Geometry::Sphere { radius }, radius)
        }
        "cylinder" => {
            let (radius, length) = (length("radius")?, length("length")?);
            (Geometry::Cylinder { radius, half_length: 0.5 * length }, radius.min(length))
        }
        "capsule" => {
            let (radius, length) = (length("radius")?, length("length")?);
            // a capsule of length zero is a sphere
            if length == 0.0 {
                (Geometry::Sphere { radius }, radius)
            } else {
                (Geometry::Capsule { radius, half_length: 0.5 * length }, radius)
            }
        }
        "mesh" => {
            let scale = match shape.some_numbers("scale", 1..=3)?.as_deref() {
                None => [1.0; 3],
                Some(&[all]) => {
                    let text = format!("link `{link}`: scale=\"{all}\": taken for x, y and z");
                    reader.findings.warn(shape.line(), text);
                    [all; 3]
                }
                Some(&[x, y, z]) => [x, y, z],
                _ => return Err(shape.error("two scales were seen; give three, for x, y and z")),
            };
            match reader.places.find(shape.text("filename")?) {
                Ok(path) => (Geometry::Mesh { path, scale }, f64::INFINITY),
                Err(_) if purpose == Purpose::Look => {
                    reader.findings.group(MISSING_VISUALS, shape.line(), link);
                    return Ok(None);
                }
                Err(why) => return Err(shape.error(why)),
            }
        }
        other => {
            return Err(shape.error(crate::error::unknown(
                "geometry",
                other,
                &["box", "sphere", "cylinder", "capsule", "mesh"],
            )));
        }
    };
    if smallest > 0.0 {
        return Ok(Some(geometry));
    }
    reader.findings.group(EMPTY_SHAPES, shape.line(), link);
    Ok(None)
}

/// The colour of a `<material>`, if it gives one.
pub(super) fn color(material: &Xml<'_, '_>) -> Result<Option<[f32; 4]>, SceneError> {
    let Some(color) = material.child("color") else { return Ok(None) };
    let rgba: [f64; 4] =
        color.numbers("rgba")?.ok_or_else(|| color.error("the attribute `rgba` is missing"))?;
    Ok(Some(rgba.map(|c| c.clamp(0.0, 1.0) as f32)))
}

/// Direction of an axis; x if missing, as URDF specifies.
pub(super) fn axis(at: &Xml<'_, '_>) -> Result<Vec3, SceneError> {
    let Some(axis) = at.child("axis") else { return Ok(Vec3::X) };
    let xyz: [f64; 3] =
        axis.numbers("xyz")?.ok_or_else(|| axis.error("the attribute `xyz` is missing"))?;
    let v = Vec3::from(xyz);
    if v.try_normalize().is_none() {
        return Err(axis.error("xyz=\"0 0 0\" was seen; an axis must have a direction"));
    }
    Ok(v)
}
