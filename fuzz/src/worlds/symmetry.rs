//! The first step of a world must not depend on names, order, or position, if its motion is unique.
//!
//! The motion of a convex step is unique with inertia on every passive dof. Other worlds are
//! counted as "not unique" and not compared. Later steps amplify rounding, and so do substeps,
//! whose lengths depend on comparisons of numbers. Their differences are only counted.

use crate::target::Verdict;
use crate::worker::progress;
use quasistep::{Certificate, FrictionLaw, Inertia, StepInput};
use quasistep_math::Pose;
use quasistep_scene::Scene;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Acceptable difference of poses, as a share of displacements and body sizes.
const SHARE: f64 = 1e-6;

/// Result of the first step of a world.
struct First {
    /// Poses of all bodies after the step, by name.
    poses: BTreeMap<String, Pose>,
    in_substeps: bool,
    /// Displacement (m) of the lightest body under the largest force that the certificate neglects.
    /// It matters because masses span six decades.
    loose: f64,
}

/// Compares the first step of a world with that of its transformed copies.
pub fn judge(case: &Value, scene: &Scene, verdict: &mut Verdict) {
    let unique = scene.params.formulation.friction == FrictionLaw::Convex
        && scene.params.inertia == Inertia::Mass
        && scene
            .system
            .model()
            .bodies()
            .iter()
            .skip(1)
            .all(|b| b.v.is_empty() || b.inertia.mass > 0.0);
    if !unique {
        verdict.count("worlds whose answer may not be unique");
        return;
    }
    let Some(own) = first_step(scene) else { return };
    for (what, image, offset) in [
        ("other names and another order", renamed(case), [0.0; 3]),
        ("another place", shifted(case, scene), shift_of(scene)),
    ] {
        progress();
        let (Some(image), is_renamed) = (image, what.starts_with("other")) else { continue };
        let parsed = Scene::parse(&image.to_string(), "world.yml", "world", Path::new("."), &[]);
        let theirs = match parsed {
            Ok(scene) => first_step(&scene),
            Err(error) => {
                verdict.blame(format!("refused with {what}"), error.to_string());
                return;
            }
        };
        let Some(theirs) = theirs else {
            verdict.count(format!("solved only without {what}"));
            continue;
        };
        verdict.count(format!("worlds compared with {what}"));
        let name = |name: &str| if is_renamed { rename(name) } else { name.to_owned() };
        let Some(text) = differs(scene, &own, &theirs, &name, offset) else { continue };
        if own.in_substeps || theirs.in_substeps {
            verdict.count(format!("substeps that move otherwise with {what}"));
        } else {
            verdict.blame(format!("another motion with {what}"), text);
            return;
        }
    }
}

fn first_step(scene: &Scene) -> Option<First> {
    let mut state = scene.start.clone();
    let mut input = StepInput::default();
    scene.sample(quasistep::end_of_step(state.time, scene.params.time_step), &mut input);
    let mut work = scene.system.create_workspace();
    let report = scene.system.step_with(&mut state, &input, &scene.params, &mut work).ok()?;
    let in_substeps = report.substeps > 1;
    let h = scene.params.time_step;
    let left = Certificate::RELATIVE_TOLERANCE * report.certificate.force_scale * h * h;
    let model = scene.system.model();
    let mut kin = model.create_kinematics();
    model.kinematics(&state.q, &mut kin);
    let moving = model.bodies().iter().filter(|b| !b.v.is_empty());
    let lightest = moving.map(|b| b.inertia.mass).fold(f64::INFINITY, f64::min);
    let poses = model.bodies().iter().map(|b| b.name.clone()).zip(kin.X_WB).collect();
    Some(First { poses, in_substeps, loose: left / lightest })
}

fn differs(
    scene: &Scene,
    own: &First,
    theirs: &First,
    name: &dyn Fn(&str) -> String,
    offset: [f64; 3],
) -> Option<String> {
    let model = scene.system.model();
    let mut kin = model.create_kinematics();
    model.kinematics(&scene.start.q, &mut kin);
    let mut scale = size(scene);
    for (body, start) in model.bodies().iter().zip(&kin.X_WB) {
        scale = scale.max((own.poses[&body.name].translation - start.translation).norm());
    }
    for body in model.bodies().iter().skip(1) {
        let (a, b) = (own.poses.get(&body.name)?, theirs.poses.get(&name(&body.name))?);
        let far = (a.translation + offset.into() - b.translation).norm();
        let turned = (a.rotation.inverse() * b.rotation).to_rotation_vector().norm() * size(scene);
        if !(far.max(turned) <= SHARE * scale + own.loose) {
            return Some(format!(
                "{}: {far:.2e} m and {turned:.2e} m apart, of {scale:.2e} m",
                body.name
            ));
        }
    }
    None
}

/// Thickness of the largest shape, in m.
pub(super) fn size(scene: &Scene) -> f64 {
    let sizes = scene.system.geoms().iter().map(|g| g.shape.thickness());
    sizes.filter(|s| s.is_finite()).fold(0.0, f64::max)
}

/// Maps letters and digits so that the sorting order is reversed; models then change their order.
fn rename(body: &str) -> String {
    let (model, link) = body.split_once('/').unwrap_or((body, ""));
    let new = rename_model(model);
    let link = if link == model { &new } else { link };
    if body.contains('/') { format!("{new}/{link}") } else { new }
}

fn rename_model(model: &str) -> String {
    let turned = |c: char| match c {
        '0'..='9' => char::from(b'9' - (c as u8 - b'0')),
        'a'..='z' => char::from(b'z' - (c as u8 - b'a')),
        _ => c,
    };
    format!("m_{}", model.chars().map(turned).collect::<String>())
}

/// The world with its models in another order; `None` if one model is attached to another, or if
/// other parts refer to models by name.
fn renamed(case: &Value) -> Option<Value> {
    let models = case["models"].as_object()?;
    if models.values().any(|m| m.get("parent").is_some()) || case.get("constraints").is_some() {
        return None;
    }
    let mut image = case.clone();
    let new: Map<String, Value> =
        models.iter().map(|(name, model)| (rename_model(name), model.clone())).collect();
    image["models"] = Value::Object(new);
    for command in image.get_mut("commands").and_then(Value::as_array_mut).into_iter().flatten() {
        let joint = command["joint"].as_str()?;
        let (model, joint) = joint.split_once('.')?;
        command["joint"] = json!(format!("{}.{joint}", rename_model(model)));
    }
    Some(image)
}

/// Translation in m: several times the world's size, by numbers that cause rounding.
fn shift_of(scene: &Scene) -> [f64; 3] {
    let s = size(scene);
    [3.7 * s, -2.3 * s, 1.1 * s]
}

/// The translated world; `None` if some part has an absolute position.
fn shifted(case: &Value, scene: &Scene) -> Option<Value> {
    let mut image = case.clone();
    if case.get("constraints").is_some() {
        return None;
    }
    for model in image.get_mut("models")?.as_object_mut()?.values_mut() {
        let xyz: Vec<f64> = model["pose"]["xyz"]
            .as_array()
            .map_or_else(|| vec![0.0; 3], |xyz| xyz.iter().filter_map(Value::as_f64).collect());
        if xyz.len() != 3 || model.get("parent").is_some() || model.get("start").is_some() {
            return None;
        }
        let there: Vec<f64> = xyz.iter().zip(shift_of(scene)).map(|(x, d)| x + d).collect();
        model["pose"]["xyz"] = json!(there);
    }
    Some(image)
}
