//! Inertia of bodies: given, or summed over their geoms.

use super::geom::Weight;
use super::orientation::rotation;
use super::read::Read;
use super::spec::{FromGeom, Spec};
use super::told::{NO_MASS, REPAIRED, Told};
use super::tree::{Element, Place};
use crate::error::SceneError;
use quasistep_math::{Mat3, Pose, Quat, Vec3};
use quasistep_model::BodyInertia;

/// Geoms with less mass than this (kg) do not contribute, as in MuJoCo.
const LEAST_MASS: f64 = 1e-14;

/// Inertia of a body, from `<inertial>` or its geoms. `X_PB` is its pose in the parent.
pub(super) fn of_body(
    body: &Element,
    inertial: Option<&Element>,
    weights: &[Weight],
    X_PB: Pose,
    spec: &Spec,
) -> Result<BodyInertia, SceneError> {
    let heavy: Vec<Weight> = weights.iter().copied().filter(|w| w.mass > LEAST_MASS).collect();
    let mut inertia = match inertial {
        _ if !heavy.is_empty() => together(&heavy),
        Some(element) => given(element, spec)?,
        // MuJoCo places the least mass of a body without geoms at the parent's origin
        None if spec.compiler.inertia_from_geom == FromGeom::Never
            || spec.compiler.least[0] == 0.0 =>
        {
            BodyInertia::default()
        }
        None => BodyInertia { com: X_PB.translation, ..BodyInertia::default() },
    };
    let [least_mass, least_moment] = spec.compiler.least;
    inertia.mass = inertia.mass.max(least_mass);
    let (moments, axes) = inertia.inertia.symmetric_eigen();
    let mut corrected = moments.map(|m| m.max(least_moment));
    if corrected[0] + corrected[1] < corrected[2] && spec.compiler.balance {
        corrected = [corrected.iter().sum::<f64>() / 3.0; 3];
    }
    if corrected != moments {
        inertia.inertia = axes
            .iter()
            .zip(corrected)
            .fold(Mat3::ZERO, |sum, (axis, moment)| sum + Mat3::outer(*axis, *axis) * moment);
    }
    if inertia.mass < 0.0 || corrected[0] < -1e-6 * corrected[2].abs() {
        return Err(body.error("a negative mass or moment of inertia was seen; both must be ≥ 0"));
    }
    Ok(inertia)
}

/// Mass, centre of mass and inertia of several parts together.
fn together(parts: &[Weight]) -> BodyInertia {
    let mass: f64 = parts.iter().map(|w| w.mass).sum();
    let com = parts.iter().fold(Vec3::ZERO, |sum, w| sum + w.com * w.mass) / mass;
    let mut inertia = Mat3::ZERO;
    for part in parts {
        // parallel axis theorem, to the common centre of mass
        let r = part.com - com;
        let shift = Mat3::IDENTITY * r.norm_squared() + Mat3::outer(r, r) * -1.0;
        inertia = inertia + part.inertia + shift * part.mass;
    }
    BodyInertia { mass, com, inertia }
}

/// Reads `<inertial>`.
fn given(element: &Element, spec: &Spec) -> Result<BodyInertia, SceneError> {
    let at = Read::plain(element);
    let missing = |name: &str| element.error(format!("the attribute `{name}` is missing"));
    let com = Vec3::from(at.numbers("pos")?.ok_or_else(|| missing("pos"))?);
    let mass = at.number("mass")?.ok_or_else(|| missing("mass"))?;
    let R: Quat = rotation(&at, &spec.compiler)?;
    let R = R.to_matrix();
    let local = match (at.numbers::<6>("fullinertia")?, at.numbers::<3>("diaginertia")?) {
        (Some(_), Some(_)) => {
            return Err(element.error("diaginertia and fullinertia were seen; give one of them"));
        }
        (Some(full), None) => Mat3::symmetric(full),
        (None, diagonal) => Mat3::diagonal(diagonal.unwrap_or_default()),
    };
    let inertia = R * local * R.transpose();
    Ok(BodyInertia { mass, com, inertia: (inertia + inertia.transpose()) * 0.5 })
}

/// Replaces an impossible inertia of the body with this name by the nearest possible one; an error
/// if `refuse`.
pub(super) fn repair(
    inertia: &mut BodyInertia,
    place: &Place,
    name: &str,
    refuse: bool,
    told: &mut Told,
) -> Result<(), SceneError> {
    if inertia.mass == 0.0 && inertia.inertia != Mat3::ZERO {
        told.group(NO_MASS, place, name);
        *inertia = BodyInertia::default();
    }
    let Err(why) = inertia.check() else { return Ok(()) };
    let repaired = inertia.nearest_possible();
    if refuse || repaired.check().is_err() {
        let why = format!("{why}; `balanceinertia` evens it out");
        return Err(SceneError::new(&place.file, Some(place.line), name, why));
    }
    told.group(REPAIRED, place, name);
    *inertia = repaired;
    Ok(())
}
