//! Planners and their judge on scenes with contact.
#![allow(non_snake_case)] // X_WG, J

mod goals;
mod grasps;
mod joint_paths;
mod judge;
mod plans;
mod regrasps;

use quasistep::{State, System};
use quasistep_math::{Pose, Quat, Vec3};
use quasistep_model::Frame;
use quasistep_plan::{Goal, PoseTarget, Target, Task};
use quasistep_scene::Scene;

/// A finger on two slides and a box that rubs on its support.
fn pusher() -> Scene {
    testkit::scene(
        "planar_pusher",
        &[
            ("gravity", "[0, 0, -9.81]"),
            ("models.box.support", "{friction: 0.3, spin_radius: 0.046, load: weight}"),
            ("step.relaxation", "1"),
            ("step.size", "0.1"),
            ("step.contact_margin", "0.1"),
        ],
    )
}

fn body(system: &System, name: &str) -> usize {
    system.model().body_by_name(name).unwrap()
}

/// The goal that moves a body by a way in the plane and a turn about z, from where it is at `q`.
fn moved(system: &System, q: &[f64], name: &str, (x, y, turn): (f64, f64, f64)) -> Goal {
    let body = body(system, name);
    let X = system.model().pose(q, body);
    let X_WG = Pose {
        translation: X.translation + Vec3::new(x, y, 0.0),
        rotation: Quat::from_axis_angle(Vec3::new(0.0, 0.0, 1.0), turn) * X.rotation,
    };
    let frame = Frame::of_body(body);
    let target = PoseTarget { frame, X_WG, counts: [true; 6], angle: 0.05, distance: 0.005 };
    Goal { targets: vec![Target::Pose(target)] }
}

/// A task within wide bounds.
fn task(system: &System, goals: Vec<Goal>) -> Task {
    let n = system.n_cmd();
    let (commands, rates) = (vec![[-1.0, 1.0]; n], vec![0.5; n]);
    Task {
        goals,
        commands,
        rates,
        effort: 0.1,
        at_end: 100.0,
        states: Vec::new(),
        grasps: Vec::new(),
    }
}

fn start(scene: &Scene) -> (State, Vec<f64>) {
    let state = scene.start.clone();
    let command = scene.system.command_at(&state.q);
    (state, command)
}
