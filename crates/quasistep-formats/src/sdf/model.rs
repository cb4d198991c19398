//! `<model>` and `<world>`: links, joints, frames and nested models.

use super::constraint::{self, Closure};
use super::joint::{self, Joint};
use super::link::{self, Link};
use super::reader::Reader;
use super::value::{Placed, boolean, drake, own, placed, some_attribute, some_boolean, text};
use crate::error::SceneError;
use crate::findings::Kind as Finding;
use crate::spot::Spot;
use crate::xml::Xml;

/// Deepest nesting of models; real files have about five.
const MOST_DEEP: usize = 64;

/// A model or a world whose frames are still names.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub name: String,
    pub spot: Spot,
    pub is_world: bool,
    pub placed: Placed,
    /// The frame of the model to which the pose `placed` applies; `None` for the model's own frame.
    pub placement_frame: Option<String>,
    /// The link that carries the model's frame; `None` for the first link.
    pub canonical_link: Option<String>,
    pub is_static: bool,
    pub self_collide: Option<bool>,
    pub links: Vec<Link>,
    pub joints: Vec<Joint>,
    pub frames: Vec<Frame>,
    pub models: Vec<Model>,
    pub filters: Vec<Filter>,
    pub closures: Vec<Closure>,
    /// Pairs of links without collisions.
    pub apart: Vec<[String; 2]>,
}

/// A frame attached to a link or another frame; `attached_to` is `None` for the model's frame.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub name: String,
    pub spot: Spot,
    pub placed: Placed,
    pub attached_to: Option<String>,
}

/// A `<drake:collision_filter_group>`.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pub name: String,
    pub spot: Spot,
    pub members: Vec<(String, Spot)>,
    pub member_groups: Vec<(String, Spot)>,
    pub ignored: Vec<(String, Spot)>,
}

impl Model {
    pub fn new(name: String, spot: Spot) -> Self {
        Self {
            name,
            spot,
            is_world: false,
            placed: Placed::default(),
            placement_frame: None,
            canonical_link: None,
            is_static: false,
            self_collide: None,
            links: Vec::new(),
            joints: Vec::new(),
            frames: Vec::new(),
            models: Vec::new(),
            filters: Vec::new(),
            closures: Vec::new(),
            apart: Vec::new(),
        }
    }
}

/// Child elements of a model that are read.
const READ: [&str; 16] = [
    "pose",
    "static",
    "self_collide",
    "link",
    "joint",
    "frame",
    "model",
    "include",
    "drake:joint",
    "drake:collision_filter_group",
    "drake:ball_constraint",
    "drake:tendon_constraint",
    "drake:distance_constraint",
    "drake:linear_bushing_rpy",
    "drake:linear_spring_damper",
    "gravity",
];
const UNREAD: [&str; 6] =
    ["allow_auto_disable", "enable_wind", "gripper", "plugin", "sensor", "velocity_decay"];
/// Further child elements of a world that are not read.
const WORLD_UNREAD: [&str; 20] = [
    "actor",
    "atmosphere",
    "audio",
    "gui",
    "light",
    "magnetic_field",
    "particle_emitter",
    "physics",
    "plugin",
    "population",
    "projector",
    "road",
    "scene",
    "sensor",
    "spherical_coordinates",
    "state",
    "sun",
    "wind",
    "name",
    "ignition:gui",
];
/// Drake's elements that connect bodies by forces.
const FORCES: [&str; 3] = ["distance_constraint", "linear_bushing_rpy", "linear_spring_damper"];
const UNTOLD_FORCES: Finding = (
    "model",
    "distance constraints, bushings or spring-dampers of Drake are not read: their forces are missing",
);

/// Reads an `<include>` into the model of this depth around it.
pub(super) type Include<'i> =
    dyn FnMut(&mut Model, &Xml<'_, '_>, usize, &mut Reader<'_, '_>) -> Result<(), SceneError> + 'i;

/// Reads a `<model>`, or a `<world>` if `is_world`.
pub(super) fn read(
    at: &Xml<'_, '_>,
    is_world: bool,
    depth: usize,
    reader: &mut Reader<'_, '_>,
    include: &mut Include<'_>,
) -> Result<Model, SceneError> {
    if depth > MOST_DEEP {
        return Err(at.error(format!("models are nested deeper than {MOST_DEEP}")));
    }
    let name = at.text("name")?;
    if name.is_empty() || name == "world" || name.starts_with("__") {
        return Err(at.error(format!("the name `{name}` was seen; it is reserved")));
    }
    let mut model = Model::new(name.to_owned(), at.spot());
    model.is_world = is_world;
    if !is_world {
        model.placed = placed(at)?;
        model.placement_frame = some_attribute(at, "placement_frame");
        model.canonical_link = some_attribute(at, "canonical_link");
        model.is_static = some_boolean(at, "static")? == Some(true);
        model.self_collide = some_boolean(at, "self_collide")?;
    }
    for element in at.elements() {
        match (element.prefix(), element.tag()) {
            (None, "link") if !is_world => model.links.push(link::read(&element, reader)?),
            (None, "joint") => model.joints.push(joint::read(&element, reader)?),
            (None, "frame") => model.frames.push(frame(&element)?),
            (None, "model") => {
                let nested = read(&element, false, depth + 1, reader, include)?;
                model.models.push(nested);
            }
            (None, "include") => include(&mut model, &element, depth, reader)?,
            _ => {}
        }
    }
    for at in drake(at, "joint") {
        model.joints.push(joint::read_drake(&at, reader)?);
    }
    for at in drake(at, "collision_filter_group") {
        model.filters.extend(filter(&at)?);
    }
    model.closures.extend(constraint::read(at, reader)?);
    if FORCES.iter().any(|tag| drake(at, tag).next().is_some()) {
        reader.findings.group(UNTOLD_FORCES, at.line(), name);
    }
    reader.findings.others(at, &READ, if is_world { &WORLD_UNREAD } else { &UNREAD });
    Ok(model)
}

/// Reads a `<frame>`. In files up to version 1.6 some frames have no meaning.
fn frame(at: &Xml<'_, '_>) -> Result<Frame, SceneError> {
    Ok(Frame {
        name: at.text("name")?.to_owned(),
        spot: at.spot(),
        placed: placed(at)?,
        attached_to: some_attribute(at, "attached_to"),
    })
}

fn filter(at: &Xml<'_, '_>) -> Result<Option<Filter>, SceneError> {
    if let Some(ignore) = at.attribute("ignore")
        && boolean(at, ignore)?
    {
        return Ok(None);
    }
    let named = |tag: &str| -> Result<Vec<(String, Spot)>, SceneError> {
        own(at, tag).map(|at| Ok((text(&at)?.to_owned(), at.spot()))).collect()
    };
    Ok(Some(Filter {
        name: at.text("name")?.to_owned(),
        spot: at.spot(),
        members: named("member")?,
        member_groups: named("member_group")?,
        ignored: named("ignored_collision_filter_group")?,
    }))
}
