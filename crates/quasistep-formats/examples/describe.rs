//! Prints the contents of robot and scene files as JSON, for comparison with other readers:
//!
//! `cargo run -p quasistep-formats --example describe -- 3 robot.urdf scene.xml`
//!
//! Prints one JSON object per file, one per line. It has the description (SI units; quaternions
//! `[w, x, y, z]`; a pose is a quaternion and a position). For each of the given number of random
//! configurations it has the coordinates of all joints and the world poses of all links. A file
//! that cannot be read has an `error` instead.

use quasistep_formats::description::{Constraint, Description, Geometry, Joint, Link, Part};
use quasistep_formats::{Format, Options, read};
use quasistep_math::{Pose, Vec3};
use quasistep_model::{BodyDef, JointKind, Model, ModelBuilder, WORLD};
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(configurations) = arguments.next().and_then(|n| n.parse().ok()) else {
        eprintln!("error: give the number of configurations, then files");
        return ExitCode::FAILURE;
    };
    for file in arguments {
        let answer = describe(Path::new(&file), configurations);
        println!("{}", answer.unwrap_or_else(|e| json!({ "error": e.to_string() })));
    }
    ExitCode::SUCCESS
}

fn describe(file: &Path, configurations: u64) -> Result<Value, Box<dyn Error>> {
    let format = Format::of(file).ok_or("the ending tells no format that is read")?;
    let description = read(format, file, &Options::default())?;
    let model = build(&description)?;
    let configurations: Vec<Value> =
        (0..configurations).map(|k| configuration(&description, &model, k)).collect();
    Ok(json!({
        "links": description.links.iter().map(link).collect::<Vec<_>>(),
        "joints": description.joints.iter().map(joint).collect::<Vec<_>>(),
        "groups": description.groups,
        "never_touch": description.never_touch,
        "pairs": description.pairs.iter().map(|pair| json!({
            "parts": pair.parts,
            "friction": [pair.friction.slide, pair.friction.spin, pair.friction.roll],
        })).collect::<Vec<_>>(),
        "constraints": description.constraints.iter().map(constraint).collect::<Vec<_>>(),
        "inactive": description.inactive,
        "gravity": description.gravity,
        "time_step": description.time_step,
        "warnings": description.warnings,
        "configurations": configurations,
    }))
}

/// Kind of a joint; mocap bodies are where the file puts them, as there.
fn kind(joint: &Joint) -> JointKind {
    if joint.prescribed { JointKind::Fixed } else { joint.kind }
}

/// Builds a model of the links and joints; body `k + 1` is the `k`-th link in tree order.
fn build(description: &Description) -> Result<Model, Box<dyn Error>> {
    let mut body_of = vec![WORLD; description.links.len()];
    let mut builder = ModelBuilder::new();
    for &index in &description.tree.order {
        let link = &description.links[index];
        let joint = description.tree.joint_of[index].map(|k| &description.joints[k]);
        body_of[index] = builder.add_body(BodyDef {
            name: format!("link {}", link.name),
            joint_name: joint.map_or(format!("root {}", link.name), |j| j.name.clone()),
            parent: joint.and_then(|j| j.parent).map_or(WORLD, |parent| body_of[parent]),
            X_PF: joint.map_or(Pose::IDENTITY, |j| j.origin),
            joint: joint.map_or(JointKind::Fixed, kind),
            inertia: link.inertial.unwrap_or_default(),
            limits: None,
            mimic: None,
            gravity: 1.0,
        })?;
    }
    Ok(builder.build()?)
}

/// Random joint coordinates, and the link poses there.
fn configuration(description: &Description, model: &Model, seed: u64) -> Value {
    // Knuth's MMIX linear congruential generator
    let mut state = seed;
    let mut signed = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    let mut q = model.neutral_q();
    for body in model.bodies() {
        let own = &mut q[body.q.clone()];
        own.fill_with(&mut signed);
        if matches!(body.joint, JointKind::Ball | JointKind::Free) {
            let length = own[..4].iter().map(|x| x * x).sum::<f64>().sqrt();
            own[..4].iter_mut().for_each(|x| *x /= length);
        }
    }
    let mut kinematics = model.create_kinematics();
    model.kinematics(&q, &mut kinematics);
    let mut poses = vec![Value::Null; description.links.len()];
    let mut coordinates = vec![Value::Null; description.joints.len()];
    for (k, &link) in description.tree.order.iter().enumerate() {
        poses[link] = pose(&kinematics.X_WB[k + 1]);
        if let Some(joint) = description.tree.joint_of[link] {
            coordinates[joint] = json!(q[model.body(k + 1).q.clone()]);
        }
    }
    json!({ "coordinates": coordinates, "poses": poses })
}

#[allow(non_snake_case)] // monogram notation: X_WB
fn pose(X: &Pose) -> Value {
    json!({ "quat": X.rotation.to_array(), "xyz": X.translation.to_array() })
}

fn link(link: &Link) -> Value {
    let inertial = link.inertial.map(|own| {
        json!({
            "mass": own.mass,
            "com": own.com.to_array(),
            "inertia": own.inertia.rows.map(Vec3::to_array),
        })
    });
    json!({
        "name": link.name,
        "group": link.group,
        "inertial": inertial,
        "weightless": link.compensated == 1.0,
        "visuals": link.visuals.iter().map(part).collect::<Vec<_>>(),
        "collisions": link.collisions.iter().map(part).collect::<Vec<_>>(),
    })
}

fn part(part: &Part) -> Value {
    let geometry = match &part.geometry {
        Geometry::HalfSpace => json!({ "type": "half_space" }),
        Geometry::Box { half } => json!({ "type": "box", "half": half }),
        Geometry::Sphere { radius } => json!({ "type": "sphere", "radius": radius }),
        Geometry::Cylinder { radius, half_length } => {
            json!({ "type": "cylinder", "radius": radius, "half_length": half_length })
        }
        Geometry::Capsule { radius, half_length } => {
            json!({ "type": "capsule", "radius": radius, "half_length": half_length })
        }
        Geometry::Ellipsoid { radii } => json!({ "type": "ellipsoid", "radii": radii }),
        Geometry::Mesh { path, scale } => {
            json!({ "type": "mesh", "path": path.display().to_string(), "scale": scale })
        }
        Geometry::Points(points) => {
            let points: Vec<[f64; 3]> = points.iter().map(|p| p.to_array()).collect();
            json!({ "type": "points", "points": points })
        }
        Geometry::HeightField(field) => json!({
            "type": "height_field",
            "n": field.n(),
            "size": field.size(),
            "base": field.base(),
            "heights": field.heights(),
        }),
    };
    json!({
        "name": part.name,
        "pose": pose(&part.origin),
        "geometry": geometry,
        "color": part.color,
        "friction": [part.friction.slide, part.friction.spin, part.friction.roll],
        "masks": part.masks.map(|m| [m.own, m.others]),
    })
}

fn joint(joint: &Joint) -> Value {
    let axis = match joint.kind {
        JointKind::Revolute { axis }
        | JointKind::Continuous { axis }
        | JointKind::Prismatic { axis } => Some(axis.to_array()),
        _ => None,
    };
    json!({
        "name": joint.name,
        "kind": kind(joint).word(),
        "axis": axis,
        "parent": joint.parent,
        "child": joint.child,
        "origin": pose(&joint.origin),
        "limits": joint.limits,
        "effort": joint.effort,
        "mimic": joint.mimic.as_ref().map(|m| json!([m.joint, m.multiplier, m.offset])),
        "damping": joint.damping,
        "friction": joint.friction,
        "armature": joint.armature,
        "drive": joint.drive.map(|d| json!({
            "stiffness": d.stiffness,
            "damping": d.damping,
            "effort": d.effort,
            "target": d.target,
        })),
        "start": joint.start,
    })
}

fn constraint(constraint: &Constraint) -> Value {
    match constraint {
        Constraint::Connect { name, links, points } => json!({
            "type": "connect", "name": name, "links": links,
            "points": points.map(Vec3::to_array),
        }),
        Constraint::Weld { name, links, poses } => json!({
            "type": "weld", "name": name, "links": links,
            "poses": poses.each_ref().map(pose),
        }),
        Constraint::Coupling { name, terms, offset } => json!({
            "type": "coupling", "name": name, "terms": terms, "offset": offset,
        }),
    }
}
