//! Values of SDFormat elements: numbers, words and poses. Reserved names.

use crate::error::SceneError;
pub(super) use crate::mechanism::MODEL_FRAME;
use crate::xml::Xml;
use quasistep_math::{Pose, Quat, Vec3};

/// Prefix of Drake's elements.
pub(super) const DRAKE: &str = "drake";
/// Name of the world.
pub(super) const WORLD: &str = "world";
/// Separator of scoped names.
pub(super) const SCOPE: &str = "::";

/// A pose, and the name of the frame in which it is given; `None` for the default frame of its
/// element.
#[derive(Clone, Debug, Default)]
pub(super) struct Placed {
    pub pose: Pose,
    pub relative_to: Option<String>,
}

/// Child elements with this tag and the parent's prefix. Children of Drake's elements are Drake's
/// too.
pub(super) fn own<'a, 'f, 's>(
    at: &'s Xml<'a, 'f>,
    tag: &'s str,
) -> impl Iterator<Item = Xml<'a, 'f>> + 's {
    let prefix = at.prefix();
    at.children(tag).filter(move |child| child.prefix() == prefix)
}

/// The first of the [`own`] child elements.
pub(super) fn child<'a, 'f>(at: &Xml<'a, 'f>, tag: &str) -> Option<Xml<'a, 'f>> {
    own(at, tag).next()
}

/// Child elements with this tag and Drake's prefix.
pub(super) fn drake<'a, 'f, 's>(
    at: &'s Xml<'a, 'f>,
    tag: &'s str,
) -> impl Iterator<Item = Xml<'a, 'f>> + 's {
    at.children(tag).filter(|child| child.prefix() == Some(DRAKE))
}

/// Nonempty text.
pub(super) fn text<'a>(at: &Xml<'a, '_>) -> Result<&'a str, SceneError> {
    match at.content() {
        "" => Err(at.error("nothing was seen; a text is missing")),
        text => Ok(text),
    }
}

/// An attribute that is neither missing nor empty; an empty one means the default.
pub(super) fn some_attribute(at: &Xml<'_, '_>, name: &str) -> Option<String> {
    at.attribute(name).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// All numbers of an element; infinite ones are checked by the caller.
fn numbers(at: &Xml<'_, '_>) -> Result<Vec<f64>, SceneError> {
    let text = at.content();
    let word = |word: &str| match word.parse::<f64>() {
        Ok(x) if !x.is_nan() => Ok(x),
        _ => Err(at.error(format!("`{}` was seen; it is no number", short(word)))),
    };
    text.split_whitespace().map(word).collect()
}

/// The beginning of a text, for messages.
fn short(text: &str) -> String {
    const MOST: usize = 40;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST).chain(['…']).collect()
}

/// Exactly `N` finite numbers.
pub(super) fn array<const N: usize>(at: &Xml<'_, '_>) -> Result<[f64; N], SceneError> {
    let values = numbers(at)?;
    if values.iter().any(|x| !x.is_finite()) {
        return Err(at.error(format!("`{}` was seen; numbers must be finite", short(at.content()))));
    }
    let n = values.len();
    values.try_into().map_err(|_| at.error(format!("{n} numbers were seen; give {N}")))
}

/// One number, which may be infinite.
pub(super) fn extended(at: &Xml<'_, '_>) -> Result<f64, SceneError> {
    match numbers(at)?.as_slice() {
        &[x] => Ok(x),
        other => Err(at.error(format!("{} numbers were seen; give one", other.len()))),
    }
}

/// A finite number.
pub(super) fn number(at: &Xml<'_, '_>) -> Result<f64, SceneError> {
    array::<1>(at).map(|[x]| x)
}

/// A number ≥ 0.
pub(super) fn non_negative(at: &Xml<'_, '_>) -> Result<f64, SceneError> {
    let x = number(at)?;
    if x >= 0.0 { Ok(x) } else { Err(at.error(format!("{x} was seen; it must be ≥ 0"))) }
}

/// The number ≥ 0 in a child element, if it is there.
pub(super) fn some_non_negative(
    at: Option<&Xml<'_, '_>>,
    tag: &str,
) -> Result<Option<f64>, SceneError> {
    at.and_then(|at| child(at, tag)).map(|at| non_negative(&at)).transpose()
}

/// The number in a child element, if it is there.
pub(super) fn some_number(at: Option<&Xml<'_, '_>>, tag: &str) -> Result<Option<f64>, SceneError> {
    at.and_then(|at| child(at, tag)).map(|at| number(&at)).transpose()
}

/// The boolean value of an element or attribute with this text.
pub(super) fn boolean(at: &Xml<'_, '_>, text: &str) -> Result<bool, SceneError> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        other => Err(at.error(format!("`{}` was seen; give true or false", short(other)))),
    }
}

/// The boolean value of a child element, if present and not empty.
pub(super) fn some_boolean(at: &Xml<'_, '_>, tag: &str) -> Result<Option<bool>, SceneError> {
    match child(at, tag) {
        Some(at) if !at.content().is_empty() => boolean(&at, at.content()).map(Some),
        _ => Ok(None),
    }
}

/// A nonzero vector, normalised.
pub(super) fn direction(at: &Xml<'_, '_>) -> Result<Vec3, SceneError> {
    let given = Vec3::from(array::<3>(at)?);
    given.try_normalize().ok_or_else(|| {
        at.error(format!("`{}` was seen; it must have a direction", short(at.content())))
    })
}

/// The `<pose>` of an element; the identity if missing.
pub(super) fn placed(of: &Xml<'_, '_>) -> Result<Placed, SceneError> {
    let Some(at) = child(of, "pose") else { return Ok(Placed::default()) };
    // files up to version 1.6 use `frame`
    let relative_to = some_attribute(&at, "relative_to").or_else(|| some_attribute(&at, "frame"));
    Ok(Placed { pose: pose(&at)?, relative_to })
}

fn pose(at: &Xml<'_, '_>) -> Result<Pose, SceneError> {
    if at.content().is_empty() {
        return Ok(Pose::IDENTITY);
    }
    let degrees = match at.attribute("degrees") {
        Some(text) => boolean(at, text)?,
        None => false,
    };
    match at.attribute("rotation_format").map_or("euler_rpy", str::trim) {
        "euler_rpy" => {
            let [x, y, z, roll, pitch, yaw] = array::<6>(at)?;
            let unit = if degrees { 1f64.to_radians() } else { 1.0 };
            Ok(Pose::from_xyz_rpy([x, y, z], [roll, pitch, yaw].map(|angle| angle * unit)))
        }
        "quat_xyzw" if degrees => {
            Err(at.error("`degrees` was seen beside `quat_xyzw`; a quaternion has no unit"))
        }
        "quat_xyzw" => {
            let [x, y, z, qx, qy, qz, qw] = array::<7>(at)?;
            let rotation = Quat::try_normalize([qw, qx, qy, qz])
                .ok_or_else(|| at.error("a quaternion of length 0 was seen"))?;
            Ok(Pose::new(rotation, Vec3::new(x, y, z)))
        }
        other => {
            Err(at.error(crate::unknown("rotation_format", other, &["euler_rpy", "quat_xyzw"])))
        }
    }
}
