//! `<joint>`: a joint between a link and its parent.

use super::link::{Reader, axis};
use crate::description::{Joint, MimicOf};
use crate::error::SceneError;
use crate::findings::{FIXED_FOLLOWERS, NO_EFFORT, WITHOUT_LIMIT};
use crate::xml::Xml;
use quasistep_math::Vec3;
use quasistep_model::JointKind;

const TYPES: [&str; 6] = ["fixed", "revolute", "continuous", "prismatic", "planar", "floating"];

/// Reads a joint; `link` returns the index of the link that an element names.
pub(super) fn read(
    at: &Xml<'_, '_>,
    link: &dyn Fn(&Xml<'_, '_>) -> Result<usize, SceneError>,
    reader: &mut Reader<'_, '_>,
) -> Result<Joint, SceneError> {
    let name = at.text("name")?;
    let mut kind = match at.text("type")? {
        "fixed" => JointKind::Fixed,
        "revolute" => JointKind::Revolute { axis: axis(at)? },
        "continuous" => JointKind::Continuous { axis: axis(at)? },
        "prismatic" => JointKind::Prismatic { axis: axis(at)? },
        "planar" => JointKind::Planar,
        "floating" => JointKind::Free,
        other => return Err(at.error(crate::error::unknown("joint type", other, &TYPES))),
    };
    let mut origin = at.origin()?;
    if kind == JointKind::Planar {
        // the planar joint of the model moves in its x–y plane: rotate z onto the axis
        origin.rotation = origin.rotation * turn_z_to(axis(at)?);
    }
    let end =
        |tag: &str| link(&at.child(tag).ok_or_else(|| at.error(format!("<{tag}> is missing")))?);
    let moves = matches!(kind, JointKind::Revolute { .. } | JointKind::Prismatic { .. });
    let limit = at.child("limit");
    let limits = match &limit {
        Some(limit) if moves => {
            let value = |name: &str| -> Result<f64, SceneError> {
                Ok(limit.numbers::<1>(name)?.map_or(0.0, |[x]| x))
            };
            let (lower, upper) = (value("lower")?, value("upper")?);
            if lower > upper {
                return Err(limit.error(format!("lower {lower} is above upper {upper}")));
            }
            Some([lower, upper])
        }
        None if moves => {
            reader.findings.group(WITHOUT_LIMIT, at.line(), name);
            if let JointKind::Revolute { axis } = kind {
                kind = JointKind::Continuous { axis };
            }
            None
        }
        _ => None,
    };
    let at_least_0 = |element: &Option<Xml<'_, '_>>, name: &str| match element {
        Some(element) if element.attribute(name).is_some() => element.non_negative(name).map(Some),
        _ => Ok(None),
    };
    let dynamics = at.child("dynamics");
    let mimic = match at.child("mimic") {
        Some(mimic) if matches!(kind, JointKind::Fixed) => {
            reader.findings.group(FIXED_FOLLOWERS, mimic.line(), name);
            None
        }
        Some(mimic) => Some(MimicOf {
            joint: mimic.text("joint")?.to_owned(),
            line: mimic.line(),
            multiplier: mimic.numbers::<1>("multiplier")?.map_or(1.0, |[x]| x),
            offset: mimic.numbers::<1>("offset")?.map_or(0.0, |[x]| x),
        }),
        None => None,
    };
    let effort = at_least_0(&limit, "effort")?;
    if effort == Some(0.0) && kind.n_v() > 0 && mimic.is_none() {
        reader.findings.group(NO_EFFORT, limit.as_ref().unwrap_or(at).line(), name);
    }
    reader.findings.ignore(at.other_tags(&READ));
    let (parent, child) = (end("parent")?, end("child")?);
    Ok(Joint {
        line: at.line(),
        limits,
        effort,
        mimic,
        damping: at_least_0(&dynamics, "damping")?.unwrap_or(0.0),
        friction: at_least_0(&dynamics, "friction")?.unwrap_or(0.0),
        ..Joint::new(name.to_owned(), kind, Some(parent), child, origin)
    })
}

/// Child elements of a joint that are read.
const READ: [&str; 7] = ["origin", "parent", "child", "axis", "limit", "dynamics", "mimic"];

/// A rotation that takes z to the unit vector `axis`.
fn turn_z_to(axis: Vec3) -> quasistep_math::Quat {
    let z = axis.try_normalize().unwrap_or(Vec3::Z);
    if (z - Vec3::Z).norm() < 1e-12 {
        return quasistep_math::Quat::IDENTITY;
    }
    let x = z.any_orthogonal();
    quasistep_math::Quat::from_matrix(&quasistep_math::Mat3::from_columns([x, z.cross(x), z]))
}
