//! `<joint>`: a joint between two links.

use super::reader::Reader;
use super::value::{
    DRAKE, MODEL_FRAME, Placed, child, direction, drake, extended, number, placed, some_attribute,
    some_number, text,
};
use crate::description::Drive;
use crate::error::{SceneError, unknown};
use crate::findings::Kind as Finding;
use crate::spot::Spot;
use crate::xml::Xml;
use quasistep_math::Vec3;
use std::f64::consts::TAU;

/// A joint whose ends and frames are still names.
#[derive(Clone, Debug)]
pub(super) struct Joint {
    pub name: String,
    pub spot: Spot,
    pub placed: Placed,
    pub kind: Kind,
    pub parent: String,
    pub child: String,
    /// Axes, as many as the kind has.
    pub axes: Vec<Axis>,
    pub mimic: Option<Mimic>,
    /// Rotor inertia reflected to the joint, in kg or kg·m².
    pub armature: f64,
    pub drive: Option<Drive>,
}

/// Kind of joint.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Fixed,
    Revolute,
    Prismatic,
    Ball,
    Free,
    /// Two hinges in series: a universal joint if their axes are orthogonal.
    TwoHinges,
    /// A hinge and a slide along its axis, which advances by `lead` (m/rad) as the hinge turns.
    Screw {
        lead: f64,
    },
    /// Motion in the x–y plane of the parent's frame; both ends are frames that coincide at q = 0.
    Planar,
    /// A coupling of two hinges: the angle of the child relative to the reference body is −`ratio`
    /// times that of the parent.
    Gearbox {
        ratio: f64,
        reference: String,
    },
}

/// An axis of a joint, with its limits, resistance and spring.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub spot: Spot,
    /// Unit vector.
    pub direction: Vec3,
    /// Name of the frame of the direction; `None` for the joint's frame.
    pub expressed_in: Option<String>,
    /// Position limits, in m or rad; may be infinite.
    pub limits: [f64; 2],
    /// Effort limit, in N or N·m; `None` if unlimited.
    pub effort: Option<f64>,
    pub damping: f64,
    pub friction: f64,
    /// Stiffness, in N/m or N·m/rad, and rest position, in m or rad, of its spring.
    pub spring: Option<[f64; 2]>,
}

/// Mimic relation `q = multiplier × q_leader + offset`.
#[derive(Clone, Debug)]
pub(super) struct Mimic {
    pub leader: String,
    pub spot: Spot,
    pub multiplier: f64,
    pub offset: f64,
}

const TYPES: [&str; 9] = [
    "revolute",
    "continuous",
    "prismatic",
    "ball",
    "fixed",
    "universal",
    "revolute2",
    "gearbox",
    "screw",
];
const READ: [&str; 13] = [
    "parent",
    "child",
    "pose",
    "axis",
    "axis2",
    "gearbox_ratio",
    "gearbox_reference_body",
    "drake:mimic",
    "drake:rotor_inertia",
    "drake:gear_ratio",
    "drake:controller_gains",
    "screw_thread_pitch",
    "thread_pitch",
];
const UNREAD: [&str; 3] = ["physics", "sensor", "frame"];
/// Limits of this size count as unlimited: libsdformat used ±1e16 before it supported infinity.
const NO_LIMIT: f64 = 1e16;
/// A second axis on a joint that has only one.
const SECOND_AXIS: Finding = ("joint", "<axis2> is not read: it has one axis");

pub(super) fn read(at: &Xml<'_, '_>, reader: &mut Reader<'_, '_>) -> Result<Joint, SceneError> {
    let name = at.text("name")?.to_owned();
    let word = at.text("type")?;
    let (kind, tags): (Kind, &[&str]) = match word {
        "fixed" => (Kind::Fixed, &[]),
        "revolute" | "continuous" => (Kind::Revolute, &["axis"]),
        "prismatic" => (Kind::Prismatic, &["axis"]),
        "ball" => (Kind::Ball, &[]),
        "universal" | "revolute2" => (Kind::TwoHinges, &["axis", "axis2"]),
        "gearbox" => (gearbox(at)?, &["axis", "axis2"]),
        "screw" => (Kind::Screw { lead: lead(at)? }, &["axis"]),
        other => return Err(at.error(unknown("joint type", other, &TYPES))),
    };
    let end = |tag: &str| -> Result<String, SceneError> {
        let end = child(at, tag).ok_or_else(|| at.error(format!("<{tag}> is missing")))?;
        // files up to version 1.2 use an attribute
        some_attribute(&end, "link").map_or_else(|| text(&end).map(str::to_owned), Ok)
    };
    let mut axes = Vec::new();
    for tag in tags {
        let axis_at = child(at, tag).ok_or_else(|| at.error(format!("<{tag}> is missing")))?;
        let mut axis = axis(&axis_at, reader)?;
        if word == "continuous" {
            axis.limits = [f64::NEG_INFINITY, f64::INFINITY];
        }
        axes.push(axis);
    }
    if kind == Kind::Ball
        && let Some(own) = child(at, "axis")
    {
        // Drake reads the damping of a ball joint from an axis element
        axes.push(axis(&own, reader)?);
    }
    if tags.len() < 2 && child(at, "axis2").is_some() {
        reader.findings.group(SECOND_AXIS, at.line(), &name);
    }
    let mimic = mimic(at)?;
    let (armature, drive) = actuator(at, axes.first().and_then(|a| a.effort))?;
    reader.findings.others(at, &READ, &UNREAD);
    Ok(Joint {
        spot: at.spot(),
        placed: placed(at)?,
        parent: end("parent")?,
        child: end("child")?,
        kind,
        axes,
        mimic,
        armature,
        drive,
        name,
    })
}

/// Reads a `<drake:joint>`, whose ends are frames.
pub(super) fn read_drake(
    at: &Xml<'_, '_>,
    reader: &mut Reader<'_, '_>,
) -> Result<Joint, SceneError> {
    let name = at.text("name")?.to_owned();
    match at.text("type")? {
        "planar" => {}
        other => return Err(at.error(unknown("type of <drake:joint>", other, &["planar"]))),
    }
    let end = |tag: &str| -> Result<String, SceneError> {
        let end = child(at, tag).ok_or_else(|| at.error(format!("<{DRAKE}:{tag}> is missing")))?;
        Ok(text(&end)?.to_owned())
    };
    let damped = match child(at, "damping") {
        Some(at) => super::value::array::<3>(&at)?.iter().any(|d| *d != 0.0),
        None => false,
    };
    if damped {
        reader.findings.group(PLANAR_DAMPING, at.line(), &name);
    }
    Ok(Joint {
        spot: at.spot(),
        placed: Placed::default(),
        kind: Kind::Planar,
        parent: end("parent")?,
        child: end("child")?,
        axes: Vec::new(),
        mimic: None,
        armature: 0.0,
        drive: None,
        name,
    })
}

const PLANAR_DAMPING: Finding = ("joint", "<drake:damping> of a planar joint is not read");

fn axis(at: &Xml<'_, '_>, reader: &mut Reader<'_, '_>) -> Result<Axis, SceneError> {
    let xyz = child(at, "xyz");
    let mut expressed_in = xyz.as_ref().and_then(|xyz| some_attribute(xyz, "expressed_in"));
    // axes are in the model frame: in files up to version 1.4 always, later up to 1.6 if the
    // element says so
    let in_model = match child(at, "use_parent_model_frame") {
        Some(at) => super::value::boolean(&at, at.content())?,
        None => reader.version < [1, 5],
    };
    if in_model && reader.version < [1, 7] {
        expressed_in.get_or_insert_with(|| MODEL_FRAME.to_owned());
    }
    let limit = child(at, "limit");
    let end = |tag: &str, none: f64| -> Result<f64, SceneError> {
        let Some(at) = limit.as_ref().and_then(|limit| child(limit, tag)) else { return Ok(none) };
        Ok(Some(extended(&at)?).filter(|x| x.abs() < NO_LIMIT).unwrap_or(none))
    };
    let limits = [end("lower", f64::NEG_INFINITY)?, end("upper", f64::INFINITY)?];
    if limits[0] > limits[1] {
        let at = limit.as_ref().unwrap_or(at);
        return Err(at.error(format!("lower {} is above upper {}", limits[0], limits[1])));
    }
    let effort = end("effort", f64::INFINITY)?;
    let dynamics = child(at, "dynamics");
    let of = |tag: &str| some_number(dynamics.as_ref(), tag).map(|x| x.unwrap_or(0.0));
    let at_least_0 = |tag: &str| match of(tag)? {
        x if x < 0.0 => Err(at.error(format!("<{tag}> is {x}; it must be ≥ 0"))),
        x => Ok(x),
    };
    let stiffness = at_least_0("spring_stiffness")?;
    Ok(Axis {
        spot: at.spot(),
        direction: xyz.map_or(Ok(Vec3::Z), |at| direction(&at))?,
        expressed_in,
        limits,
        // −1 means unlimited
        effort: (effort.is_finite() && effort >= 0.0).then_some(effort),
        damping: at_least_0("damping")?,
        friction: at_least_0("friction")?,
        spring: (stiffness > 0.0).then_some([stiffness, of("spring_reference")?]),
    })
}

/// The mimic relation of a joint: `<drake:mimic>`, or `<mimic>` of an axis.
fn mimic(at: &Xml<'_, '_>) -> Result<Option<Mimic>, SceneError> {
    if let Some(own) = drake(at, "mimic").next() {
        return Ok(Some(Mimic {
            leader: own.text("joint")?.to_owned(),
            spot: own.spot(),
            multiplier: own.numbers::<1>("multiplier")?.map_or(1.0, |[x]| x),
            offset: own.numbers::<1>("offset")?.map_or(0.0, |[x]| x),
        }));
    }
    let Some(own) = child(at, "axis").and_then(|axis| child(&axis, "mimic")) else {
        return Ok(None);
    };
    let of = |tag: &str| some_number(Some(&own), tag);
    let multiplier = of("multiplier")?.unwrap_or(1.0);
    // q = multiplier × (leader − reference) + offset
    let reference = of("reference")?.unwrap_or(0.0);
    Ok(Some(Mimic {
        leader: own.text("joint")?.to_owned(),
        spot: own.spot(),
        multiplier,
        offset: of("offset")?.unwrap_or(0.0) - multiplier * reference,
    }))
}

/// Reflected rotor inertia, and controller gains. A joint with an effort limit of 0 has no
/// actuator.
fn actuator(at: &Xml<'_, '_>, effort: Option<f64>) -> Result<(f64, Option<Drive>), SceneError> {
    if effort == Some(0.0) {
        return Ok((0.0, None));
    }
    let of = |tag: &str, usual: f64| drake(at, tag).next().map_or(Ok(usual), |at| number(&at));
    let (rotor, ratio) = (of("rotor_inertia", 0.0)?, of("gear_ratio", 1.0)?);
    if rotor < 0.0 {
        return Err(at.error(format!("<{DRAKE}:rotor_inertia> is {rotor}; it must be ≥ 0")));
    }
    let Some(gains) = drake(at, "controller_gains").next() else {
        return Ok((rotor * ratio * ratio, None));
    };
    let (stiffness, damping) = (gains.non_negative("p")?, gains.non_negative("d")?);
    let drive = Drive { stiffness, damping, effort, target: None };
    Ok((rotor * ratio * ratio, (stiffness > 0.0).then_some(drive)))
}

/// Advance of a screw along its axis, in m/rad.
fn lead(at: &Xml<'_, '_>) -> Result<f64, SceneError> {
    // m per revolution of a right-handed thread
    if let Some(pitch) = some_number(Some(at), "screw_thread_pitch")? {
        return Ok(pitch / TAU);
    }
    // rad/m of a left-handed thread, as Gazebo Classic reads it
    match some_number(Some(at), "thread_pitch")? {
        None => Ok(1.0 / TAU),
        Some(0.0) => {
            Err(at.error("<thread_pitch> is 0; it is the angle (rad) for an advance of 1 m"))
        }
        Some(pitch) => Ok(-1.0 / pitch),
    }
}

fn gearbox(at: &Xml<'_, '_>) -> Result<Kind, SceneError> {
    let missing = |tag: &str| at.error(format!("<{tag}> is missing"));
    let ratio = child(at, "gearbox_ratio").ok_or_else(|| missing("gearbox_ratio"))?;
    let tag = "gearbox_reference_body";
    let reference = child(at, tag).ok_or_else(|| missing(tag))?;
    Ok(Kind::Gearbox { ratio: number(&ratio)?, reference: text(&reference)?.to_owned() })
}
