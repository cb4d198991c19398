//! A robot of another format included as a model in SDFormat.

use super::joint::{Axis, Joint, Kind, Mimic};
use super::link::{Link, Shape};
use super::model::Model;
use super::value::{Placed, WORLD};
use crate::description::{self, Constraint, Description, Part};
use crate::error::SceneError;
use crate::spot::Spot;
use quasistep_math::{Pose, Vec3};
use quasistep_model::JointKind;
use std::path::Path;
use std::sync::Arc;

/// Converts the description of a robot to a model.
pub(super) fn model(description: Description, path: &Path) -> Result<Model, SceneError> {
    let file: Arc<str> = path.display().to_string().into();
    let spot = |line: usize, what: &str, name: &str| Spot {
        file: file.clone(),
        line,
        key: format!("{what} `{name}`").into(),
    };
    let name = description.groups.first().cloned().unwrap_or_default();
    let mut model = Model::new(name.clone(), spot(1, "robot", &name));
    let X_ML = poses(&description);
    let names: Vec<String> = description.links.iter().map(|link| link.name.clone()).collect();
    let end = |link: Option<usize>| link.map_or(WORLD, |link| &names[link]).to_owned();
    for (link, pose) in description.links.into_iter().zip(X_ML) {
        // URDF files use the world as a link
        if link.name == WORLD {
            continue;
        }
        let spot = spot(link.line, "link", &link.name);
        let shape = |part: Part| Shape { part, relative_to: None, spot: spot.clone() };
        let visuals = link.visuals.into_iter().map(shape).collect();
        let collisions = link.collisions.into_iter().map(shape).collect();
        model.links.push(Link {
            name: link.name,
            placed: Placed { pose, relative_to: None },
            inertial: link.inertial,
            compensated: link.compensated,
            self_collide: None,
            visuals,
            collisions,
            spot,
        });
    }
    for joint in &description.joints {
        let spot = spot(joint.line, "joint", &joint.name);
        let ends = [joint.parent, Some(joint.child)].map(end);
        model.joints.push(converted(joint, spot, ends));
    }
    let pairs = description.never_touch.iter();
    model.apart = pairs.map(|pair| pair.map(|link| names[link].clone())).collect();
    match description.constraints.first() {
        None => Ok(model),
        Some(
            Constraint::Connect { name, .. }
            | Constraint::Weld { name, .. }
            | Constraint::Coupling { name, .. },
        ) => {
            Err(model.spot.error(format!("the constraint `{name}` cannot be part of another file")))
        }
    }
}

/// A joint in SDFormat, with its parent and child by name.
fn converted(joint: &description::Joint, spot: Spot, [parent, child]: [String; 2]) -> Joint {
    let (kind, direction) = match joint.kind {
        JointKind::Fixed => (Kind::Fixed, None),
        JointKind::Revolute { axis } | JointKind::Continuous { axis } => {
            (Kind::Revolute, Some(axis))
        }
        JointKind::Prismatic { axis } => (Kind::Prismatic, Some(axis)),
        JointKind::Ball => (Kind::Ball, None),
        JointKind::Planar => (Kind::Planar, None),
        JointKind::Free => (Kind::Free, None),
    };
    let none = [f64::NEG_INFINITY, f64::INFINITY];
    let axes = direction.map(|direction| Axis {
        spot: spot.clone(),
        direction: direction.try_normalize().unwrap_or(Vec3::Z),
        expressed_in: None,
        limits: joint.limits.unwrap_or(none),
        effort: joint.effort,
        damping: joint.damping,
        friction: joint.friction,
        spring: None,
    });
    let mimic = joint.mimic.as_ref().map(|mimic| Mimic {
        leader: mimic.joint.clone(),
        spot: Spot { line: mimic.line, ..spot.clone() },
        multiplier: mimic.multiplier,
        offset: mimic.offset,
    });
    Joint {
        name: joint.name.clone(),
        placed: Placed::default(),
        kind,
        parent,
        child,
        axes: axes.into_iter().collect(),
        mimic,
        armature: joint.armature,
        drive: joint.drive,
        spot,
    }
}

/// Pose of each link in the robot's frame, at neutral joint positions.
fn poses(description: &Description) -> Vec<Pose> {
    let mut X_ML = vec![Pose::IDENTITY; description.links.len()];
    for &link in &description.tree.order {
        let Some(k) = description.tree.joint_of[link] else { continue };
        let joint = &description.joints[k];
        X_ML[link] = joint.parent.map_or(Pose::IDENTITY, |parent| X_ML[parent]) * joint.origin;
    }
    X_ML
}
