//! `<link>`: inertia and shapes.

use super::Places;
use super::xml::Xml;
use crate::error::SceneError;
use crate::files;
use quasistep_math::{Mat3, Pose, Vec3};
use quasistep_model::BodyInertia;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A rigid part of a robot.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub name: String,
    pub line: usize,
    /// About the centre of mass, in the axes of the link.
    pub inertial: Option<BodyInertia>,
    pub visuals: Vec<Part>,
    pub collisions: Vec<Part>,
}

/// A shape of a link.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub origin: Pose,
    pub geometry: Geometry,
    pub color: Option<[f32; 4]>,
    pub friction: Option<f64>,
}

/// Geometry of a shape; cylinders and capsules along z.
#[derive(Clone, Debug)]
pub(crate) enum Geometry {
    Box { half: [f64; 3] },
    Sphere { radius: f64 },
    Cylinder { radius: f64, half_length: f64 },
    Capsule { radius: f64, half_length: f64 },
    Mesh { path: PathBuf, scale: [f64; 3] },
}

type Materials = BTreeMap<String, [f32; 4]>;

pub(super) fn read(
    at: &Xml<'_, '_>,
    places: &Places<'_>,
    materials: &Materials,
) -> Result<Link, SceneError> {
    let parts = |tag: &str| -> Result<Vec<Part>, SceneError> {
        at.children(tag).map(|part| self::part(&part, places, materials)).collect()
    };
    Ok(Link {
        name: at.text("name")?.to_owned(),
        line: at.line(),
        inertial: at.child("inertial").map(|i| inertial(&i)).transpose()?,
        visuals: parts("visual")?,
        collisions: parts("collision")?,
    })
}

fn inertial(at: &Xml<'_, '_>) -> Result<BodyInertia, SceneError> {
    let missing = |tag: &str| at.error(format!("<{tag}> is missing"));
    let mass_at = at.child("mass").ok_or_else(|| missing("mass"))?;
    let mass = mass_at.number("value")?;
    if mass <= 0.0 {
        return Err(mass_at.error(format!(
            "a mass of {mass} kg was seen; it must be > 0, or leave <inertial> out"
        )));
    }
    let moments = at.child("inertia").ok_or_else(|| missing("inertia"))?;
    let [xx, yy, zz] = [moments.number("ixx")?, moments.number("iyy")?, moments.number("izz")?];
    let product = |name: &str| -> Result<f64, SceneError> {
        Ok(moments.numbers::<1>(name)?.map_or(0.0, |[x]| x))
    };
    let local = Mat3::symmetric([xx, yy, zz, product("ixy")?, product("ixz")?, product("iyz")?]);
    let X = at.origin()?;
    let R = X.rotation.to_matrix();
    let inertia = BodyInertia { mass, com: X.translation, inertia: R * local * R.transpose() };
    inertia.check().map_err(|e| moments.error(e.to_string()))?;
    Ok(inertia)
}

fn part(at: &Xml<'_, '_>, places: &Places<'_>, materials: &Materials) -> Result<Part, SceneError> {
    let geometry_at = at.child("geometry").ok_or_else(|| at.error("<geometry> is missing"))?;
    let color = match at.child("material") {
        None => None,
        Some(material) => match color(&material)? {
            Some(color) => Some(color),
            None => material.attribute("name").and_then(|name| materials.get(name)).copied(),
        },
    };
    let friction = at.child("proximity_properties").and_then(|p| {
        let value = p.child("mu_dynamic").or_else(|| p.child("mu_static"));
        value.map(|v| {
            let mu = v.number("value")?;
            if mu >= 0.0 {
                Ok(mu)
            } else {
                Err(v.error(format!("friction {mu} was seen; it must be ≥ 0")))
            }
        })
    });
    Ok(Part {
        origin: at.origin()?,
        geometry: geometry(&geometry_at, places)?,
        color,
        friction: friction.transpose()?,
    })
}

fn geometry(at: &Xml<'_, '_>, places: &Places<'_>) -> Result<Geometry, SceneError> {
    let Some(shape) = at.elements().next() else {
        return Err(
            at.error("<geometry> is empty; it holds a box, sphere, cylinder, capsule or mesh")
        );
    };
    let half_length = || Ok::<f64, SceneError>(0.5 * shape.positive("length")?);
    match shape.tag() {
        "box" => {
            let size: [f64; 3] = shape
                .numbers("size")?
                .ok_or_else(|| shape.error("the attribute `size` is missing"))?;
            if size.iter().any(|s| *s <= 0.0) {
                return Err(shape.error(format!("size {size:?} was seen; every edge must be > 0")));
            }
            Ok(Geometry::Box { half: size.map(|s| 0.5 * s) })
        }
        "sphere" => Ok(Geometry::Sphere { radius: shape.positive("radius")? }),
        "cylinder" => Ok(Geometry::Cylinder {
            radius: shape.positive("radius")?,
            half_length: half_length()?,
        }),
        "capsule" => {
            Ok(Geometry::Capsule { radius: shape.positive("radius")?, half_length: half_length()? })
        }
        "mesh" => {
            let scale = shape.numbers("scale")?.unwrap_or([1.0; 3]);
            Ok(Geometry::Mesh { path: locate(&shape, places)?, scale })
        }
        other => Err(shape.error(crate::document::unknown(
            "geometry",
            other,
            &["box", "sphere", "cylinder", "capsule", "mesh"],
        ))),
    }
}

/// The file that a mesh names: `package://`, `file://` or relative to the robot's folder.
fn locate(at: &Xml<'_, '_>, places: &Places<'_>) -> Result<PathBuf, SceneError> {
    let name = at.text("filename")?;
    let path = if let Some(rest) = name.strip_prefix("package://") {
        let (package, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let Some(folder) = places.packages.get(package) else {
            return Err(at.error(format!(
                "{name} was seen; say where the package is: `packages: {{{package}: folder}}` beside `urdf`"
            )));
        };
        folder.join(rest)
    } else {
        places.dir.join(name.strip_prefix("file://").unwrap_or(name))
    };
    if files::is_file(&path) {
        Ok(path)
    } else {
        Err(at.error(format!("the mesh file {} does not exist", path.display())))
    }
}

/// The colour of a `<material>`, if it gives one.
pub(super) fn color(material: &Xml<'_, '_>) -> Result<Option<[f32; 4]>, SceneError> {
    let Some(color) = material.child("color") else { return Ok(None) };
    let rgba: [f64; 4] =
        color.numbers("rgba")?.ok_or_else(|| color.error("the attribute `rgba` is missing"))?;
    Ok(Some(rgba.map(|c| c.clamp(0.0, 1.0) as f32)))
}

/// Unit of an axis attribute: x if it is left out, as URDF says.
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
