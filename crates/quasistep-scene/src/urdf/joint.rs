//! `<joint>`: how a link hangs on its parent.

use super::link::{Link, axis};
use super::xml::Xml;
use crate::error::SceneError;
use quasistep_math::{Pose, Vec3};

/// A joint between two links.
#[derive(Clone, Debug)]
pub(crate) struct Joint {
    pub name: String,
    pub line: usize,
    pub kind: JointType,
    /// Indices of links.
    pub parent: usize,
    pub child: usize,
    /// Pose of the joint's frame in the parent link.
    pub origin: Pose,
    /// In m or rad.
    pub limits: Option<[f64; 2]>,
    /// In N or N·m.
    pub effort: Option<f64>,
    pub mimic: Option<MimicOf>,
    /// Has `<dynamics>` with damping or friction.
    pub damped: bool,
}

/// Kind of a joint; axes in its own frame.
#[derive(Clone, Debug)]
pub(crate) enum JointType {
    Fixed,
    Revolute { axis: Vec3 },
    Continuous { axis: Vec3 },
    Prismatic { axis: Vec3 },
    Planar { axis: Vec3 },
    Floating,
}

/// `q = multiplier × leader + offset`.
#[derive(Clone, Debug)]
pub(crate) struct MimicOf {
    pub joint: String,
    pub line: usize,
    pub multiplier: f64,
    pub offset: f64,
}

const TYPES: [&str; 6] = ["fixed", "revolute", "continuous", "prismatic", "planar", "floating"];

pub(super) fn read(at: &Xml<'_, '_>, links: &[Link]) -> Result<Joint, SceneError> {
    let kind = match at.text("type")? {
        "fixed" => JointType::Fixed,
        "revolute" => JointType::Revolute { axis: axis(at)? },
        "continuous" => JointType::Continuous { axis: axis(at)? },
        "prismatic" => JointType::Prismatic { axis: axis(at)? },
        "planar" => JointType::Planar { axis: axis(at)? },
        "floating" => JointType::Floating,
        other => return Err(at.error(crate::document::unknown("joint type", other, &TYPES))),
    };
    let mut origin = at.origin()?;
    if let JointType::Planar { axis } = &kind {
        // the model's planar joint moves in the x–y plane of its frame: turn z onto the axis
        origin.rotation = origin.rotation * turn_z_to(*axis);
    }
    let link = |tag: &str| -> Result<usize, SceneError> {
        let end = at.child(tag).ok_or_else(|| at.error(format!("<{tag}> is missing")))?;
        let name = end.text("link")?;
        let names: Vec<&str> = links.iter().map(|l| l.name.as_str()).collect();
        names
            .iter()
            .position(|n| *n == name)
            .ok_or_else(|| end.error(crate::document::unknown("link", name, &names)))
    };
    let moves = matches!(kind, JointType::Revolute { .. } | JointType::Prismatic { .. });
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
            return Err(at.error("<limit> is missing; a revolute or prismatic joint has one (use `continuous` for none)"));
        }
        _ => None,
    };
    let effort = match &limit {
        Some(limit) => limit.numbers::<1>("effort")?.map(|[e]| e),
        None => None,
    };
    if let (Some(e), Some(limit)) = (effort, &limit)
        && e < 0.0
    {
        return Err(limit.error(format!("effort {e} was seen; it must be ≥ 0")));
    }
    let mimic = match at.child("mimic") {
        None => None,
        Some(mimic) => Some(MimicOf {
            joint: mimic.text("joint")?.to_owned(),
            line: mimic.line(),
            multiplier: mimic.numbers::<1>("multiplier")?.map_or(1.0, |[x]| x),
            offset: mimic.numbers::<1>("offset")?.map_or(0.0, |[x]| x),
        }),
    };
    let damped = match at.child("dynamics") {
        None => false,
        Some(dynamics) => {
            let value = |name: &str| dynamics.numbers::<1>(name);
            [value("damping")?, value("friction")?].into_iter().flatten().any(|[x]| x != 0.0)
        }
    };
    Ok(Joint {
        name: at.text("name")?.to_owned(),
        line: at.line(),
        kind,
        parent: link("parent")?,
        child: link("child")?,
        origin,
        limits,
        effort,
        mimic,
        damped,
    })
}

/// A rotation that takes z to this direction.
fn turn_z_to(axis: Vec3) -> quasistep_math::Quat {
    let z = axis.try_normalize().unwrap_or(Vec3::Z);
    if (z - Vec3::Z).norm() < 1e-12 {
        return quasistep_math::Quat::IDENTITY;
    }
    let x = z.any_orthogonal();
    quasistep_math::Quat::from_matrix(&quasistep_math::Mat3::from_columns([x, z.cross(x), z]))
}
