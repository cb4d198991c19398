//! `<joint>`: how a link hangs on its parent.

use super::Reader;
use super::findings::FIXED_FOLLOWERS;
use super::link::axis;
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
    /// Viscous damping, in N·s/m or N·m·s/rad.
    pub damping: f64,
    /// Dry friction, in N or N·m.
    pub friction: f64,
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

/// Reads a joint; `link` gives the index of the link that an element names.
pub(super) fn read(
    at: &Xml<'_, '_>,
    link: &dyn Fn(&Xml<'_, '_>) -> Result<usize, SceneError>,
    reader: &mut Reader<'_, '_>,
) -> Result<Joint, SceneError> {
    let name = at.text("name")?;
    let kind = match at.text("type")? {
        "fixed" => JointType::Fixed,
        "revolute" => JointType::Revolute { axis: axis(at)? },
        "continuous" => JointType::Continuous { axis: axis(at)? },
        "prismatic" => JointType::Prismatic { axis: axis(at)? },
        "planar" => JointType::Planar { axis: axis(at)? },
        "floating" => JointType::Floating,
        other => return Err(at.error(crate::error::unknown("joint type", other, &TYPES))),
    };
    let mut origin = at.origin()?;
    if let JointType::Planar { axis } = &kind {
        // the model's planar joint moves in the x–y plane of its frame: turn z onto the axis
        origin.rotation = origin.rotation * turn_z_to(*axis);
    }
    let end =
        |tag: &str| link(&at.child(tag).ok_or_else(|| at.error(format!("<{tag}> is missing")))?);
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
    let at_least_0 = |element: &Option<Xml<'_, '_>>, name: &str| match element {
        Some(element) if element.attribute(name).is_some() => element.non_negative(name).map(Some),
        _ => Ok(None),
    };
    let dynamics = at.child("dynamics");
    let mimic = match at.child("mimic") {
        Some(mimic) if matches!(kind, JointType::Fixed) => {
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
    reader.findings.ignore(at.other_tags(&READ));
    Ok(Joint {
        name: name.to_owned(),
        line: at.line(),
        kind,
        parent: end("parent")?,
        child: end("child")?,
        origin,
        limits,
        effort: at_least_0(&limit, "effort")?,
        mimic,
        damping: at_least_0(&dynamics, "damping")?.unwrap_or(0.0),
        friction: at_least_0(&dynamics, "friction")?.unwrap_or(0.0),
    })
}

/// Elements of a joint that are read.
const READ: [&str; 7] = ["origin", "parent", "child", "axis", "limit", "dynamics", "mimic"];

/// A rotation that takes z to this direction.
fn turn_z_to(axis: Vec3) -> quasistep_math::Quat {
    let z = axis.try_normalize().unwrap_or(Vec3::Z);
    if (z - Vec3::Z).norm() < 1e-12 {
        return quasistep_math::Quat::IDENTITY;
    }
    let x = z.any_orthogonal();
    quasistep_math::Quat::from_matrix(&quasistep_math::Mat3::from_columns([x, z.cross(x), z]))
}
