//! A scene's world as plain numbers, for comparisons with other engines:
//!
//! `cargo run --release -p benches --bin world -- scenes/door.yml --step 0.01 --step 0.002`
//!
//! Prints one JSON object: bodies, joints, shapes, drives, pairs that may touch, and the initial
//! state. For each step size it contains the command at the end of every step, and for each random
//! configuration the results of the model. Units are SI; quaternions are `[w, x, y, z]`; a pose is
//! a quaternion and a position.

#![allow(non_snake_case)] // monogram notation: X_BG, and M, J

use clap::Parser;
use quasistep::{DampingOn, Geom, Role, StepInput, System};
use quasistep_geometry::Shape;
use quasistep_math::{Pose, Vec3};
use quasistep_model::{Frame, JointKind, Model};
use quasistep_scene::Scene;
use serde_json::{Value, json};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use testkit::random_lcs::Stream;

/// Prints a scene's world as JSON
#[derive(Parser)]
struct Arguments {
    /// Scene file
    scene: PathBuf,
    /// Sample the commands at this step size, in s; may be repeated
    #[arg(long = "step", value_name = "H")]
    steps: Vec<f64>,
    /// Random configurations at which poses, Jacobians, mass matrix and gravity forces are printed
    #[arg(long, value_name = "N", default_value_t = 0)]
    configurations: usize,
}

fn main() -> ExitCode {
    match world(&Arguments::parse()) {
        Ok(world) => {
            println!("{world}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn world(arguments: &Arguments) -> Result<Value, Box<dyn Error>> {
    let scene = Scene::load_with(&arguments.scene, &[])?;
    let system = &scene.system;
    let bodies: Vec<Value> =
        (1..system.model().n_bodies()).map(|k| body(system.model(), k)).collect();
    let geoms = system.geoms().iter().map(geom).collect::<Result<Vec<_>, _>>()?;
    let n = geoms.len();
    let all = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
    let pairs: Vec<Value> = all
        .filter(|&(a, b)| system.may_touch(a, b))
        .map(|(a, b)| json!([a, b, system.friction(a, b).mu]))
        .collect();
    let commands: Vec<Value> = (arguments.steps.iter())
        .map(|&h| json!({ "step_size_s": h, "q_cmd": commands(&scene, h) }))
        .collect();
    let configurations: Vec<Value> =
        (0..arguments.configurations).map(|k| configuration(&scene, k)).collect();
    let finite = |x: f64| if x.is_finite() { json!(x) } else { Value::Null };
    let limits: Vec<Value> = (system.model().limits().iter())
        .map(|l| json!([l.q_index, finite(l.lower), finite(l.upper)]))
        .collect();
    Ok(json!({
        "name": scene.name,
        "duration_s": scene.duration,
        "gravity": scene.params.gravity,
        "coordinates": system.model().coordinate_names(),
        "start": scene.start.q,
        "limits": limits,
        "bodies": bodies,
        "drives": drives(system),
        "geoms": geoms,
        "pairs": pairs,
        "commands": commands,
        "configurations": configurations,
    }))
}

/// The `k`-th random configuration, with poses and frame Jacobians of all bodies but the world (`6
/// × n_v`, angular velocity first), the mass matrix (`n_v × n_v`, kg, kg·m, kg·m²) and the forces
/// of gravity (N, N·m). All joints move; free and planar joints turn and shift by up to 1 rad and 1
/// m from their start.
fn configuration(scene: &Scene, k: usize) -> Value {
    let model = scene.system.model();
    let base = scene.random_configuration(k);
    let mut random = Stream::new(k as u64);
    let mut v = vec![0.0; model.n_v()];
    for body in model.bodies().iter().filter(|body| body.joint.n_v() > 1) {
        v[body.v.clone()].fill_with(|| random.signed());
    }
    let mut q = base.clone();
    model.integrate(&base, &v, 1.0, &mut q);
    let mut kin = model.create_kinematics();
    model.kinematics(&q, &mut kin);
    let n_v = model.n_v();
    let mut J = vec![0.0; 6 * n_v];
    let bodies: Vec<Value> = (1..model.n_bodies())
        .map(|body| {
            model.frame_jacobian(&kin, &Frame::of_body(body), &mut J);
            json!({ "pose": pose(&kin.X_WB[body]), "jacobian": J })
        })
        .collect();
    let (mut M, mut tau) = (vec![0.0; n_v * n_v], vec![0.0; n_v]);
    model.mass_matrix(&kin, &mut M);
    model.gravity_force(&kin, Vec3::from(scene.params.gravity), &mut tau);
    json!({ "q": q, "bodies": bodies, "mass_matrix": M, "gravity_force": tau })
}

/// Commands at the end of each step of size `h` (s), one row per step.
fn commands(scene: &Scene, h: f64) -> Vec<Vec<f64>> {
    let n = (scene.duration / h - 1e-9).ceil() as usize;
    let mut input = StepInput::default();
    let mut at = |t: f64| {
        scene.sample(t, &mut input);
        input.q_cmd.clone()
    };
    (1..=n).map(|k| at(k as f64 * h)).collect()
}

fn pose(X: &Pose) -> Value {
    json!({ "quat": X.rotation.to_array(), "xyz": X.translation.to_array() })
}

/// A body with the resistance of its joint's dofs, in N·s/m, N·m·s/rad, N and N·m.
fn body(model: &Model, index: usize) -> Value {
    let body = model.body(index);
    let joint = match body.joint {
        JointKind::Fixed => json!({ "type": "fixed" }),
        JointKind::Revolute { axis } | JointKind::Continuous { axis } => {
            json!({ "type": "hinge", "axis": axis.to_array() })
        }
        JointKind::Prismatic { axis } => json!({ "type": "slide", "axis": axis.to_array() }),
        JointKind::Planar => json!({ "type": "planar" }),
        JointKind::Ball => json!({ "type": "ball" }),
        JointKind::Free => json!({ "type": "free" }),
    };
    let inertia = &body.inertia;
    json!({
        "name": body.name,
        "parent": body.parent,
        "pose": pose(&body.X_PF),
        "joint_name": body.joint_name,
        "joint": joint,
        "q": [body.q.start, body.q.end],
        "v": [body.v.start, body.v.end],
        "joint_damping": model.damping()[body.v.clone()],
        "joint_friction": model.friction()[body.v.clone()],
        "mimic": body.mimic.map(|m| json!([m.body, m.multiplier, m.offset])),
        "mass": inertia.mass,
        "com": inertia.com.to_array(),
        "inertia": inertia.inertia.rows.map(Vec3::to_array),
        "gravity": body.gravity != 0.0,
    })
}

fn geom(geom: &Geom) -> Result<Value, String> {
    let shape = match &geom.shape {
        Shape::Sphere { radius } => json!({ "type": "sphere", "size": [radius] }),
        Shape::Box { half } => json!({ "type": "box", "size": half }),
        Shape::Capsule { radius, half_length } => {
            json!({ "type": "capsule", "size": [radius, half_length] })
        }
        Shape::Cylinder { radius, half_length } => {
            json!({ "type": "cylinder", "size": [radius, half_length] })
        }
        Shape::Ellipsoid { radii } => json!({ "type": "ellipsoid", "size": radii }),
        Shape::HalfSpace => json!({ "type": "plane" }),
        Shape::Polytope(hull) => {
            let vertices: Vec<[f64; 3]> = hull.vertices().iter().map(|v| v.to_array()).collect();
            json!({ "type": "mesh", "vertices": vertices })
        }
        _ => return Err(format!("{}: this shape has no counterpart elsewhere", geom.name)),
    };
    Ok(json!({ "name": geom.name, "body": geom.body, "pose": pose(&geom.X_BG), "shape": shape }))
}

/// Drives in the order of the commands.
fn drives(system: &System) -> Vec<Value> {
    let finite = |x: f64| if x.is_finite() { json!(x) } else { Value::Null };
    let entry = |&body: &usize| {
        let joint = &system.model().body(body).joint_name;
        match &system.roles()[body] {
            Role::Actuated(a) => json!({
                "joint": joint,
                "stiffness": a.stiffness,
                "damping": a.damping,
                "on_command_error": a.damping_on == DampingOn::CommandError,
                "effort_limit": a.effort_limit.iter().map(|&e| finite(e)).collect::<Vec<_>>(),
            }),
            _ => json!({ "joint": joint, "prescribed": true }),
        }
    };
    system.commanded().iter().map(entry).collect()
}
