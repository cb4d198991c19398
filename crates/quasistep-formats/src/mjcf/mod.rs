//! MJCF, the model format of MuJoCo.
//!
//! A file is read in the order of MuJoCo's compiler. First come includes and default classes
//! ([`tree`], [`spec`], [`read`]), then assets ([`mesh`]), bodies with joints and geoms ([`world`])
//! and inertia from geoms ([`inertia`]). Then come the sections that refer to these by name
//! ([`sections`]): tendons, actuators, equalities, contact. [`describe`] converts the result to
//! links and joints. An element with an effect that cannot be represented is an error. An element
//! without an effect, or one that a quasi-static model can omit, is a warning ([`told`]).

mod actuator;
mod contact;
mod describe;
mod equality;
mod geom;
mod height_field;
mod inertia;
mod joint;
mod keyframe;
mod masses;
mod mesh;
mod orientation;
mod read;
mod sections;
mod sensor;
mod solid;
mod spec;
mod tendon;
mod told;
mod tree;
mod words;
mod world;

use crate::Options;
use crate::description::Description;
use crate::error::SceneError;
use describe::Builder;
use sections::Names;
use spec::Spec;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use told::{SKINS, Told};
use world::{Body, World};

/// Reads a model with all its includes.
pub(crate) fn read(path: &Path, options: &Options) -> Result<Description, SceneError> {
    let may_open = |file: &Path| may_open(path, file, options);
    let mut specs = Vec::new();
    Spec::load(path, &may_open, &mut specs, &mut BTreeSet::new())?;
    let mut world = World::read(&specs)?;
    let mut told = std::mem::take(&mut world.told);
    for spec in &specs {
        for (place, text) in words::strangers(&spec.root) {
            told.warn(&place, &text);
        }
        deformable(spec, &mut told)?;
    }
    for Body { inertia, place, name, .. } in &mut world.bodies {
        inertia::repair(inertia, place, name, options.refuse_repairs, &mut told)?;
    }
    masses::springs(&mut world);
    let touching = contact::mark(&Names { world: &world, tendons: BTreeMap::new() })?;
    let off = specs[specs.len() - 1].root.disables("contact");
    for (body, own) in world.bodies.iter_mut().enumerate() {
        for (k, geom) in own.geoms.iter_mut().enumerate() {
            geom.touches = !off && (geom.touches || touching.contains(&[body, k]));
        }
    }
    let start = keyframe::read(&world, options.keyframe.as_deref(), &mut told)?;
    let mut names = Names { world: &world, tendons: BTreeMap::new() };
    let tendons = tendon::read(&mut names, &mut told)?;
    let controls = start.controls.as_deref().unwrap_or_default();
    let actuators = actuator::read(&names, controls, &mut told)?;
    let pulls = actuator::pulls(&names, controls, &mut told)?;
    let mut builder = Builder::new(&world, &tendons, &actuators, &start, &mut told)?;
    equality::add(&mut builder, &names, &tendons, &mut told)?;
    contact::add(&mut builder, &names, &mut told)?;
    builder.pads(pulls);
    sensor::add(&mut builder, &names, &mut told);
    let mut description = builder.finish(&actuators)?;
    description.warnings = told.into_warnings();
    Ok(description)
}

/// Error for deformable bodies, which affect the motion; warning for skins, which are only visual.
fn deformable(spec: &Spec, told: &mut Told) -> Result<(), SceneError> {
    let sections = ["deformable", "asset"];
    for element in sections.iter().flat_map(|section| spec.root.in_sections(section)) {
        match element.tag.as_str() {
            "flex" => {
                return Err(element.error("a body that bends was seen; only rigid ones are read"));
            }
            "skin" => told.group(
                SKINS,
                &element.place,
                element.attribute("name").unwrap_or("without a name"),
            ),
            _ => {}
        }
    }
    Ok(())
}

/// Checks whether a model may open this file: one in its own folder or below, or within the parent
/// folders that belong to its package.
///
/// # Errors
///
/// The reason why not.
fn may_open(model: &Path, file: &Path, options: &Options) -> Result<(), String> {
    if options.open_anywhere {
        return Ok(());
    }
    let own = model.parent().unwrap_or(Path::new(""));
    let inside = file.strip_prefix(own).ok();
    let up = inside.map(|path| {
        // number of levels that the path climbs above the model's folder
        let mut depth = 0_i32;
        path.components().fold(0, |most, component| {
            depth += match component {
                Component::Normal(_) => 1,
                Component::ParentDir => -1,
                _ => 0,
            };
            most.max(-depth)
        })
    });
    match up {
        Some(up) if up <= MOST_UP => Ok(()),
        _ => Err(format!(
            "{} lies outside of the model's package; `open_anywhere` allows it",
            file.display()
        )),
    }
}

/// Most parent folders of a model that may belong to its package; public models need up to five.
const MOST_UP: i32 = 6;
