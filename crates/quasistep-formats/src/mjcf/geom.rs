//! `<geom>`: a shape of a body, with its mass and collision masks.

use super::orientation::{rotation, turn_z_to};
use super::read::Read;
use super::solid::{self, KINDS, Kind, Primitive};
use super::spec::Spec;
use super::told::{NO_MATERIAL, NOT_DRAWN, Told};
use crate::description::{Friction, Geometry, Masks};
use crate::error::{SceneError, unknown};
use quasistep_geometry::HeightField;
use quasistep_math::{Mat3, Pose, Vec3};
use std::sync::Arc;

/// Geoms with less volume (m³), or area (m²) if they are shells, have no mass, as in MuJoCo.
const LEAST_EXTENT: f64 = 1e-14;
/// Smallest distance of the ends of `fromto`, in m.
const LEAST_LENGTH: f64 = 1e-14;
/// Last geom group that is drawn by default.
const LAST_DRAWN_GROUP: i64 = 2;
/// Default colour: red, green, blue, opacity.
const GREY: [f64; 4] = [0.5, 0.5, 0.5, 1.0];

/// Mass, centre of mass and inertia about it, in the body frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weight {
    pub mass: f64,
    pub com: Vec3,
    pub inertia: Mat3,
}

/// A geom.
#[derive(Clone, Debug)]
pub(super) struct Geom {
    pub name: Option<String>,
    /// Geometry; `None` for a visual that cannot be drawn.
    pub geometry: Option<Geometry>,
    /// Pose of the geometry in the body.
    pub X_BG: Pose,
    pub masks: Masks,
    pub friction: Friction,
    /// `None` where the file gives none.
    pub color: Option<[f32; 4]>,
    pub drawn: bool,
    /// True if it may collide with anything.
    pub touches: bool,
    /// Contribution of the geom to the body's mass, if any.
    pub weight: Option<Weight>,
}

impl Geom {
    /// Reads a geom. `X_BS` is the pose of the enclosing frame in the body. `weigh` is true if the
    /// body's inertia comes from its geoms.
    pub fn read(
        at: &Read<'_>,
        name: Option<String>,
        spec: &Spec,
        X_BS: Pose,
        weigh: bool,
        told: &mut Told,
    ) -> Result<Self, SceneError> {
        let kind = at.word("type", &KINDS)?.unwrap_or(Kind::Sphere);
        let masks = Masks { own: bits(at, "contype")?, others: bits(at, "conaffinity")? };
        let group = at.whole("group")?.unwrap_or(0);
        let groups = spec.compiler.inertia_groups;
        let form = form(at, kind, spec)?;
        let weigh = weigh && (groups[0]..=groups[1]).contains(&group);
        let weight = if weigh { weight(at, &form, spec)? } else { None };
        let shown = name.clone().unwrap_or_else(|| String::from("without a name"));
        let (geometry, X_FG) = match &form.shape {
            Shape::Plane => (Some(Geometry::HalfSpace), Pose::IDENTITY),
            Shape::Heights(field) => {
                (Some(Geometry::HeightField(Arc::clone(field))), Pose::IDENTITY)
            }
            Shape::Field => {
                if masks.own != 0 || masks.others != 0 {
                    return Err(at.error(
                        "a distance field that may touch was seen; give a mesh, or contype and conaffinity 0",
                    ));
                }
                told.group(NOT_DRAWN, &at.own.place, &shown);
                (None, Pose::IDENTITY)
            }
            Shape::Primitive(primitive, X_FG) => (Some(geometry_of(*primitive)), *X_FG),
            Shape::Mesh(mesh) => {
                let (geometry, X_FG) =
                    spec.meshes[*mesh].geometry().map_err(|why| at.error(why))?;
                (Some(geometry), X_FG)
            }
        };
        Ok(Self {
            name,
            geometry,
            X_BG: X_BS * form.X_SF * X_FG,
            masks,
            friction: friction(at)?,
            color: color(at, spec, &shown, told)?,
            drawn: group <= LAST_DRAWN_GROUP,
            touches: masks.own != 0 || masks.others != 0,
            weight: weight.map(|w| {
                let R = X_BS.rotation.to_matrix();
                Weight {
                    com: X_BS.transform_point(w.com),
                    inertia: R * w.inertia * R.transpose(),
                    ..w
                }
            }),
        })
    }
}

/// Shape of a geom.
enum Shape<'a> {
    Plane,
    Heights(&'a Arc<HeightField>),
    Field,
    /// A primitive, and its pose in the geom frame. The pose differs from identity only if it is
    /// fitted to a mesh.
    Primitive(Primitive, Pose),
    Mesh(&'a str),
}

struct Form<'a> {
    shape: Shape<'a>,
    /// Pose of the geom frame in the enclosing frame.
    X_SF: Pose,
}

fn form<'a>(at: &Read<'a>, kind: Kind, spec: &'a Spec) -> Result<Form<'a>, SceneError> {
    let mut size = at.partly("size", [0.0; 3])?;
    let pos = Vec3::from(at.partly("pos", [0.0; 3])?);
    let mut X_SF = Pose::new(rotation(at, &spec.compiler)?, pos);
    let mesh = at.attribute("mesh").filter(|name| !name.is_empty());
    let fromto = at.numbers::<6>("fromto")?;
    if let Some([a, b, c, d, e, f]) = fromto {
        let (from, to) = (Vec3::new(a, b, c), Vec3::new(d, e, f));
        let along = from - to;
        let length = along.norm();
        if !matches!(kind, Kind::Capsule | Kind::Cylinder | Kind::Ellipsoid | Kind::Box)
            || mesh.is_some()
        {
            return Err(
                at.error("fromto was seen; it is for a capsule, cylinder, ellipsoid or box")
            );
        }
        if length < LEAST_LENGTH || pos != Vec3::ZERO {
            return Err(at.error("fromto was seen with `pos`, or between points at one place"));
        }
        X_SF = Pose::new(turn_z_to(along / length), (from + to) * 0.5);
        size = match kind {
            Kind::Capsule | Kind::Cylinder => [size[0], 0.5 * length, 0.0],
            _ => [size[0], size[0], 0.5 * length],
        };
    }
    let asset = |name: &str| {
        spec.meshes.get(name).ok_or_else(|| {
            let names: Vec<&str> = spec.meshes.keys().map(String::as_str).collect();
            at.error(unknown("mesh", name, &names))
        })
    };
    let shape = match (kind, mesh) {
        (Kind::Plane, None) => Shape::Plane,
        (Kind::HeightField, _) => Shape::Heights(heights(at, spec)?),
        (Kind::DistanceField, _) => Shape::Field,
        (Kind::Mesh, Some(name)) => {
            asset(name)?;
            Shape::Mesh(name)
        }
        (Kind::Mesh, None) => return Err(at.error("type=\"mesh\" was seen without `mesh`")),
        (kind, Some(name)) => {
            let factor = at.number("fitscale")?.unwrap_or(1.0);
            let fit = asset(name)?.fit(kind, spec.compiler.fit_boxes, factor);
            let (primitive, X_FG) = fit.map_err(|why| at.error(format!("mesh `{name}`: {why}")))?;
            Shape::Primitive(primitive, X_FG)
        }
        (kind, None) => Shape::Primitive(primitive(at, kind, size)?, Pose::IDENTITY),
    };
    if let Shape::Primitive(primitive, _) = &shape
        && !(primitive.extent(solid::Spread::Surface) > 0.0)
    {
        return Err(at.error("a size of 0 was seen; every size must be > 0 m"));
    }
    Ok(Form { shape, X_SF })
}

/// The height field that a geom names.
fn heights<'a>(at: &Read<'a>, spec: &'a Spec) -> Result<&'a Arc<HeightField>, SceneError> {
    let name = at.attribute("hfield").unwrap_or_default();
    spec.fields.get(name).ok_or_else(|| {
        let names: Vec<&str> = spec.fields.keys().map(String::as_str).collect();
        at.error(unknown("hfield", name, &names))
    })
}

fn primitive(at: &Read<'_>, kind: Kind, size: [f64; 3]) -> Result<Primitive, SceneError> {
    let (n, primitive) = match kind {
        Kind::Sphere => (1, Primitive::Sphere { radius: size[0] }),
        Kind::Capsule => (2, Primitive::Capsule { radius: size[0], half: size[1] }),
        Kind::Cylinder => (2, Primitive::Cylinder { radius: size[0], half: size[1] }),
        Kind::Ellipsoid => (3, Primitive::Ellipsoid { radii: size }),
        _ => (3, Primitive::Box { half: size }),
    };
    match size[..n].iter().find(|s| !(**s > 0.0)) {
        None => Ok(primitive),
        Some(s) => Err(at.error(format!("size {s} was seen; each of {n} sizes must be > 0 m"))),
    }
}

fn geometry_of(primitive: Primitive) -> Geometry {
    match primitive {
        Primitive::Sphere { radius } => Geometry::Sphere { radius },
        Primitive::Capsule { radius, half } => Geometry::Capsule { radius, half_length: half },
        Primitive::Cylinder { radius, half } => Geometry::Cylinder { radius, half_length: half },
        Primitive::Ellipsoid { radii } => Geometry::Ellipsoid { radii },
        Primitive::Box { half } => Geometry::Box { half },
    }
}

/// Mass and inertia of a geom in the enclosing frame, from `mass` or `density`.
fn weight(at: &Read<'_>, form: &Form<'_>, spec: &Spec) -> Result<Option<Weight>, SceneError> {
    let hollow = at.truth("shellinertia")?.unwrap_or(false);
    let (extent, moments, X_FC) = match &form.shape {
        Shape::Plane | Shape::Heights(_) | Shape::Field => return Ok(None),
        Shape::Primitive(primitive, X_FG) => {
            let spread = if hollow { solid::Spread::Surface } else { solid::Spread::Volume };
            (primitive.extent(spread), primitive.moments(spread), *X_FG)
        }
        Shape::Mesh(name) => {
            if hollow {
                return Err(at.error(
                    "shellinertia was seen on a mesh; give inertia=\"shell\" at its asset",
                ));
            }
            let found = spec.meshes[*name].properties();
            let found = found.map_err(|why| at.error(format!("mesh `{name}`: {why}")))?;
            (found.extent, found.moments, found.X_MC)
        }
    };
    let density = at.number("density")?.unwrap_or(1000.0);
    let mass = match at.number("mass")? {
        Some(_) if extent <= LEAST_EXTENT => 0.0,
        Some(mass) => mass,
        None => density * extent,
    };
    if mass < 0.0 {
        return Err(at.error(format!("mass {mass} kg was seen; it must be ≥ 0")));
    }
    let X_SC = form.X_SF * X_FC;
    let R = X_SC.rotation.to_matrix();
    let inertia = R * Mat3::diagonal(moments.map(|m| mass * m)) * R.transpose();
    Ok(Some(Weight { mass, com: X_SC.translation, inertia }))
}

/// Bits of a collision mask.
fn bits(at: &Read<'_>, name: &str) -> Result<u32, SceneError> {
    let value = at.whole(name)?.unwrap_or(1);
    i32::try_from(value)
        .map(|bits| bits as u32)
        .or_else(|_| u32::try_from(value))
        .map_err(|_| at.error(format!("{name} is {value}; it must have 32 bits")))
}

/// Friction coefficients of the kinds that `condim` enables.
fn friction(at: &Read<'_>) -> Result<Friction, SceneError> {
    let given = at.partly("friction", [1.0, 0.005, 0.0001])?;
    if let Some(f) = given.iter().find(|f| **f < 0.0) {
        return Err(at.error(format!("friction {f} was seen; it must be ≥ 0")));
    }
    friction_of(at, given)
}

/// Sliding, torsional and rolling friction of the kinds that `condim` enables.
pub(super) fn friction_of(
    at: &Read<'_>,
    [slide, spin, roll]: [f64; 3],
) -> Result<Friction, SceneError> {
    let none = Friction::default();
    let dimensions = at.whole("condim")?.unwrap_or(3);
    match dimensions {
        1 => Ok(Friction { slide: Some(0.0), ..none }),
        3 => Ok(Friction { slide: Some(slide), ..none }),
        4 => Ok(Friction { slide: Some(slide), spin: Some(spin), ..none }),
        6 => Ok(Friction { slide: Some(slide), spin: Some(spin), roll: Some(roll), ..none }),
        other => Err(at.error(format!("condim {other} was seen; valid are 1, 3, 4 and 6"))),
    }
}

/// Colour of a geom; `None` for the grey that MuJoCo takes where the file gives none.
fn color(
    at: &Read<'_>,
    spec: &Spec,
    name: &str,
    told: &mut Told,
) -> Result<Option<[f32; 4]>, SceneError> {
    let own = at.partly("rgba", GREY)?;
    if own != GREY {
        return Ok(Some(own.map(|c| c.clamp(0.0, 1.0) as f32)));
    }
    if let Some(material) = at.attribute("material").filter(|m| !m.is_empty()) {
        if let Some(color) = spec.materials.get(material) {
            return Ok(Some(*color));
        }
        told.group(NO_MATERIAL, &at.own.place, name);
    }
    Ok(None)
}
