//! Mass, centre of mass and inertia of a body in a scene file: given, or computed from its shapes.

use crate::cloud::{Spread, unit_mass};
use crate::document::{At, Map};
use crate::shapes::{Piece, Weight};
use quasistep_formats::SceneError;
use quasistep_geometry::{MassProperties, PointCloud, Shape};
use quasistep_math::{Mat3, Vec3};
use quasistep_model::BodyInertia;

/// Mass properties of a body without mass.
pub(crate) const MASSLESS: BodyInertia =
    BodyInertia { mass: 0.0, com: Vec3::ZERO, inertia: Mat3::ZERO };

/// Reads mass, centre of mass and inertia of a body defined in the scene.
pub(crate) fn read(
    at: &At<'_>,
    map: &Map<'_>,
    pieces: &[Piece],
) -> Result<BodyInertia, SceneError> {
    let com = map.get("com").map(|a| a.array::<3>("m")).transpose()?;
    let given = map.get("inertia").map(read_moments).transpose()?;
    let mut inertia = match (map.get("mass"), map.get("density")) {
        (Some(_), Some(d)) => {
            return Err(d.error("`mass` and `density` were seen; give one of them"));
        }
        (None, Some(d)) => {
            let density = d.positive("kg/m³")?;
            if spread_over_points(pieces) {
                return Err(d.error(
                    "a density was seen on a cloud whose mass is in its points; give `mass`",
                ));
            }
            if pieces.iter().any(is_area) {
                return Err(d.error(
                    "a density in kg/m³ was seen on a surface without thickness; give `mass`, which is spread evenly \
                     over its area",
                ));
            }
            inertia_of(pieces, density, d)?.ok_or_else(|| {
                d.error("a density was seen on a body without volume; give `mass`")
            })?
        }
        (Some(m), None) => {
            let mass = m.positive("kg")?;
            if spread_over_points(pieces) && pieces.iter().filter(|p| p.collides).count() > 1 {
                return Err(m.error(
                    "a cloud whose mass is in its points was seen beside other collision shapes; \
                     give `inertia_from: hull`",
                ));
            }
            let spread =
                pieces.iter().filter(|p| p.collides && !matches!(p.weight, Weight::Nothing));
            if pieces.iter().any(is_area)
                && !spread.clone().all(is_area)
                && (com.is_none() || given.is_none())
            {
                return Err(m.error(
                    "a surface without thickness was seen beside solid shapes; give `com` and `inertia` too, for \
                     nothing says how much of the mass is in it",
                ));
            }
            match inertia_of(pieces, 1.0, m)? {
                Some(unit) => {
                    let scale = mass / unit.mass;
                    BodyInertia { mass, com: unit.com, inertia: unit.inertia * scale }
                }
                // a point mass: correct for bodies that do not rotate
                None => BodyInertia { mass, com: Vec3::ZERO, inertia: Mat3::ZERO },
            }
        }
        (None, None) => {
            if let Some(extra) = map.get("inertia").or(map.get("com")) {
                return Err(extra.error("given without `mass`; give the mass in kg too"));
            }
            return Ok(MASSLESS);
        }
    };
    if let Some(com) = com {
        inertia.com = com.into();
    }
    if let Some(moments) = given {
        inertia.inertia = moments;
    }
    inertia.check().map_err(|e| map.get("inertia").unwrap_or(at).error(e.to_string()))?;
    Ok(inertia)
}

fn read_moments(at: &At<'_>) -> Result<Mat3, SceneError> {
    let values = at.numbers("kg·m²")?;
    match *values.as_slice() {
        [xx, yy, zz] => Ok(Mat3::diagonal([xx, yy, zz])),
        [xx, yy, zz, xy, xz, yz] => Ok(Mat3::symmetric([xx, yy, zz, xy, xz, yz])),
        _ => Err(at.error(format!(
            "{} numbers were seen; give [ixx, iyy, izz] or [ixx, iyy, izz, ixy, ixz, iyz] in kg·m²",
            values.len()
        ))),
    }
}

/// True if a collision shape is a cloud with its mass spread over its points.
fn spread_over_points(pieces: &[Piece]) -> bool {
    let spread = |piece: &Piece| match piece.weight {
        Weight::OfCloud(spread) => Some(spread),
        _ => None,
    };
    pieces.iter().any(|piece| piece.collides && spread(piece) == Some(Spread::Points))
}

/// True if the mass of a collision shape is spread over an area.
fn is_area(piece: &Piece) -> bool {
    piece.collides && matches!(piece.weight, Weight::OfArea(_))
}

/// Mass properties of several shapes at one density, in kg/m³. `None` if no shape has a volume.
/// `at` is the place to report.
fn inertia_of(
    pieces: &[Piece],
    density: f64,
    at: &At<'_>,
) -> Result<Option<BodyInertia>, SceneError> {
    let mut mass = 0.0;
    let mut moment = Vec3::ZERO;
    let mut parts = Vec::new();
    for piece in pieces {
        let own = match (&piece.weight, &piece.shape) {
            (Weight::OfShape, shape) if piece.collides => shape.mass_properties(density),
            (Weight::OfCloud(spread), Shape::Cloud(cloud)) if piece.collides => {
                Some(of_cloud(cloud, *spread, density, at)?)
            }
            (Weight::OfArea(_), _) if !piece.collides => None,
            (Weight::Given(unit) | Weight::OfArea(unit), _) => Some(MassProperties {
                mass: unit.mass * density,
                com: unit.com,
                inertia: unit.inertia * density,
            }),
            _ => None,
        };
        let Some(m) = own else { continue };
        let R = piece.X_BG.rotation.to_matrix();
        let com = piece.X_BG.transform_point(m.com);
        mass += m.mass;
        moment += com * m.mass;
        parts.push((m.mass, com, R * m.inertia * R.transpose()));
    }
    if mass <= 0.0 {
        return Ok(None);
    }
    let com = moment / mass;
    let mut inertia = Mat3::ZERO;
    for (m, c, I) in parts {
        // parallel axis theorem, to the common centre of mass
        let r = c - com;
        let shift = Mat3::IDENTITY * r.norm_squared() + Mat3::outer(r, r) * -1.0;
        inertia = inertia + I + shift * m;
    }
    Ok(Some(BodyInertia { mass, com, inertia }))
}

fn of_cloud(
    cloud: &PointCloud,
    spread: Spread,
    density: f64,
    at: &At<'_>,
) -> Result<MassProperties, SceneError> {
    let unit = unit_mass(cloud, spread).map_err(|e| {
        at.error(format!(
            "the cloud has no hull to hold a mass: {e}; give `inertia_from: points` at the cloud"
        ))
    })?;
    let (mass, inertia) = (unit.mass * density, unit.inertia * density);
    Ok(MassProperties { mass, inertia, ..unit })
}
