//! `<link>`: inertia and shapes.

use super::geometry::{self, Purpose};
use super::reader::Reader;
use super::value::{
    Placed, array, boolean, child, drake, non_negative, number, placed, some_boolean,
    some_non_negative, some_number,
};
use crate::description::{Friction, Part};
use crate::error::SceneError;
use crate::findings::{FRAMES, Kind};
use crate::inertia;
use crate::spot::Spot;
use crate::xml::Xml;
use quasistep_math::{Mat3, Pose, Vec3};
use quasistep_model::BodyInertia;
use std::f64::consts::PI;

/// A link whose shapes may be given in other frames.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub name: String,
    pub spot: Spot,
    pub placed: Placed,
    pub inertial: Option<BodyInertia>,
    pub compensated: f64,
    pub self_collide: Option<bool>,
    pub visuals: Vec<Shape>,
    pub collisions: Vec<Shape>,
}

/// A shape; `None` as frame means that its pose is given in the link's frame.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub part: Part,
    pub relative_to: Option<String>,
    pub spot: Spot,
}

/// Child elements of a link that are read.
const READ: [&str; 7] =
    ["pose", "inertial", "visual", "collision", "gravity", "self_collide", "kinematic"];
/// Child elements of a link that do not affect the modelled motion.
const UNREAD: [&str; 11] = [
    "audio_sink",
    "audio_source",
    "battery",
    "enable_wind",
    "frame",
    "light",
    "must_be_base_link",
    "particle_emitter",
    "projector",
    "sensor",
    "velocity_decay",
];
/// A link without `<inertial>` gets the format's default.
const USUAL_INERTIA: Kind =
    ("link", "no <inertial>: 1 kg and moments of 1 kg·m², as the format says");
const KINEMATIC: Kind = ("link", "<kinematic> is not read: forces move it");
/// Direction-dependent friction.
const TWO_FRICTIONS: Kind = (
    "link",
    "<mu> and <mu2> differ, and <fdir1> is not along an axis of the link: the smaller one is taken",
);

pub(super) fn read(at: &Xml<'_, '_>, reader: &mut Reader<'_, '_>) -> Result<Link, SceneError> {
    let name = at.text("name")?.to_owned();
    if drake(at, "deformable_properties").next().is_some() {
        return Err(at.error("<drake:deformable_properties> was seen; links must be rigid"));
    }
    let inertial = if let Some(at) = child(at, "inertial") {
        inertial(&at, &name, reader)?
    } else {
        reader.findings.group(USUAL_INERTIA, at.line(), &name);
        Some(BodyInertia { mass: 1.0, com: Vec3::ZERO, inertia: Mat3::IDENTITY })
    };
    if some_boolean(at, "kinematic")? == Some(true) {
        reader.findings.group(KINEMATIC, at.line(), &name);
    }
    let visuals = shapes(at, &name, Purpose::Look, reader)?;
    let collisions = shapes(at, &name, Purpose::Collide, reader)?;
    reader.findings.others(at, &READ, &UNREAD);
    Ok(Link {
        spot: at.spot(),
        placed: placed(at)?,
        inertial,
        compensated: if some_boolean(at, "gravity")? == Some(false) { 1.0 } else { 0.0 },
        self_collide: some_boolean(at, "self_collide")?,
        visuals,
        collisions,
        name,
    })
}

fn inertial(
    at: &Xml<'_, '_>,
    link: &str,
    reader: &mut Reader<'_, '_>,
) -> Result<Option<BodyInertia>, SceneError> {
    if at.attribute("auto").is_some_and(|text| boolean(at, text) == Ok(true)) {
        return Err(at.error(
            "auto=\"true\" was seen; give <mass> and <inertia>: they are not computed from shapes",
        ));
    }
    let mass = child(at, "mass").map_or(Ok(1.0), |at| non_negative(&at))?;
    if mass == 0.0 {
        reader.findings.group(FRAMES, at.line(), link);
        return Ok(None);
    }
    let placed = placed(at)?;
    if let Some(frame) = &placed.relative_to {
        let text = format!("link `{link}`: <inertial> is given in `{frame}`: taken in the link");
        reader.findings.warn(at.line(), text);
    }
    let moments_at = child(at, "inertia");
    let moment = |tag: &str, usual: f64| match moments_at.as_ref().and_then(|m| child(m, tag)) {
        Some(at) => number(&at),
        None => Ok(usual),
    };
    let local = Mat3::symmetric([
        moment("ixx", 1.0)?,
        moment("iyy", 1.0)?,
        moment("izz", 1.0)?,
        moment("ixy", 0.0)?,
        moment("ixz", 0.0)?,
        moment("iyz", 0.0)?,
    ]);
    let Pose { rotation, translation } = placed.pose;
    let R = rotation.to_matrix();
    let given = BodyInertia { mass, com: translation, inertia: R * local * R.transpose() };
    let place = moments_at.as_ref().unwrap_or(at);
    inertia::possible(given, place, link, reader.options, &mut reader.findings).map(Some)
}

fn shapes(
    link_at: &Xml<'_, '_>,
    link: &str,
    purpose: Purpose,
    reader: &mut Reader<'_, '_>,
) -> Result<Vec<Shape>, SceneError> {
    let tag = if purpose == Purpose::Look { "visual" } else { "collision" };
    let mut shapes = Vec::new();
    // <drake:visual> is a visual for Drake only
    for at in link_at.children(tag) {
        let parts = geometry::read(&at, link, purpose, reader)?;
        if parts.is_empty() {
            continue;
        }
        let Placed { pose, relative_to } = placed(&at)?;
        let (color, friction) = match purpose {
            Purpose::Look => (color(&at)?, Friction::default()),
            Purpose::Collide => {
                let X = relative_to.is_none().then_some(&pose);
                (None, friction(&at, link, X, reader)?)
            }
        };
        for (geometry, X) in parts {
            let name = at.attribute("name").map(str::to_owned);
            let part = Part { name, color, friction, ..Part::new(pose * X, geometry) };
            shapes.push(Shape { part, relative_to: relative_to.clone(), spot: at.spot() });
        }
    }
    Ok(shapes)
}

/// Colour of a visual, if given.
fn color(at: &Xml<'_, '_>) -> Result<Option<[f32; 4]>, SceneError> {
    let Some(material) = child(at, "material") else { return Ok(None) };
    let Some(diffuse) = child(&material, "diffuse").or_else(|| child(&material, "ambient")) else {
        return Ok(None);
    };
    let opaque = 1.0 - some_non_negative(Some(at), "transparency")?.unwrap_or(0.0);
    let [r, g, b, a] = match diffuse.content().split_whitespace().count() {
        3 => {
            let [r, g, b] = array::<3>(&diffuse)?;
            [r, g, b, 1.0]
        }
        _ => array::<4>(&diffuse)?,
    };
    Ok(Some([r, g, b, a * opaque].map(|c| c.clamp(0.0, 1.0) as f32)))
}

/// Friction that Gazebo does not bound, which it is told by a negative number. At 100, contacts
/// slide only where forces lean less than half a degree out of the surface.
const UNBOUNDED: f64 = 100.0;
const NEGATIVE_FRICTION: Kind =
    ("link", "<mu> or <mu2> is negative, which means unbounded friction: taken as 100");

/// Friction of a collision: from Drake's elements, or else from ODE's.
/// Friction of a collision shape at the pose `X_LG` in its link, if its frame is that of the link.
fn friction(
    at: &Xml<'_, '_>,
    link: &str,
    X_LG: Option<&Pose>,
    reader: &mut Reader<'_, '_>,
) -> Result<Friction, SceneError> {
    let surface = child(at, "surface").and_then(|surface| child(&surface, "friction"));
    let told = drake(at, "proximity_properties").next();
    let mut by_axes = None;
    let mut mu = some_non_negative(told.as_ref(), "mu_dynamic")?;
    if mu.is_none() {
        mu = some_non_negative(told.as_ref(), "mu_static")?;
    }
    if mu.is_none() {
        let ode = surface.as_ref().and_then(|at| child(at, "ode"));
        let mut of_ode = |tag: &str| -> Result<Option<f64>, SceneError> {
            let mu = some_number(ode.as_ref(), tag)?;
            if mu.is_some_and(|mu| mu < 0.0) {
                reader.findings.group(NEGATIVE_FRICTION, at.line(), link);
                return Ok(Some(UNBOUNDED));
            }
            Ok(mu)
        };
        mu = of_ode("mu")?;
        let across = of_ode("mu2")?;
        if let (Some(along), Some(across)) = (mu, across)
            && along != across
        {
            let first = ode.as_ref().and_then(|at| child(at, "fdir1"));
            let first = first.map(|at| array::<3>(&at)).transpose()?.map(Vec3::from);
            by_axes = first.zip(X_LG).and_then(|(first, X)| {
                Friction::along_axis(X.rotation.rotate(first), along, across)
            });
            if by_axes.is_none() {
                reader.findings.group(TWO_FRICTIONS, at.line(), link);
            }
        }
        mu = mu.into_iter().chain(across).reduce(f64::min);
    }
    // torque = 3 π / 16 × coefficient × patch radius × normal force
    let torsional = surface.as_ref().and_then(|at| child(at, "torsional"));
    let coefficient = some_non_negative(torsional.as_ref(), "coefficient")?;
    let radius = some_non_negative(torsional.as_ref(), "patch_radius")?;
    let spin = coefficient.zip(radius).map(|(c, r)| 3.0 * PI / 16.0 * c * r);
    let spin = spin.filter(|spin| *spin > 0.0);
    Ok(Friction { slide: mu, along: by_axes, spin, roll: None })
}
