//! Cartesian stiffness in scene files: reading, commands, and recorded values.

use crate::common::complaint;
use quasistep::{SpringAxes, StepInput, damping_of_ratio};
use quasistep_math::{Pose, Quat, Vec3};
use quasistep_scene::Scene;
use std::path::Path;

fn parse(text: &str) -> Scene {
    Scene::parse(text, "scene.yml", "scene", Path::new("."), &[]).unwrap()
}

const ARM: &str = "
gravity: [0, 0, 0]
step: {size: 0.05, duration: 4}
models:
  arm:
    joints: {'*': {stiffness: 0, damping: 1}}
    bodies:
      base: {joint: [{hinge: j1, axis: [0, 0, 1]}], pose: {xyz: [0, 0, 0.3]}}
      upper: {joint: [{hinge: j2, axis: [0, 1, 0], start: 0.6}], parent: base}
      fore: {joint: [{hinge: j3, axis: [0, 1, 0], start: 1.2}], parent: upper, pose: {xyz: [0, 0, 0.4]}}
      hand:
        joint: [{hinge: j4, axis: [0, 1, 0], start: 1.3}]
        parent: fore
        pose: {xyz: [0, 0, 0.3]}
        shape: {sphere: {radius: 0.03}}
    cartesian_stiffness:
      frame: hand
      at: {xyz: [0, 0, 0.1], rpy: [0, 0, 0.3]}
      stiffness: [300, 300, 500, 10, 10, 10]
      damping_ratio: 0.5
";

#[test]
fn a_spring_is_read_and_holds_its_start() {
    let scene = parse(ARM);
    let system = &scene.system;
    let spring = system.springs().next().unwrap();
    assert_eq!((spring.name.as_str(), spring.axes), ("arm/hand", SpringAxes::Command));
    assert_eq!(spring.frame.body, system.model().body_by_name("arm/hand").unwrap());
    assert_eq!(spring.damping, damping_of_ratio(&spring.stiffness, 0.5));
    assert!((spring.damping[2][2] - 500.0_f64.sqrt()).abs() < 1e-12);
    assert_eq!((system.n_cmd(), system.n_cmd_v()), (4 + 7, 4 + 6));
    assert_eq!(system.command_names()[10], "arm/hand.z");
    assert_eq!(
        system.effort_names()[4..8],
        ["arm/hand.wx", "arm/hand.wy", "arm/hand.wz", "arm/hand.vx"]
    );
    let mut input = StepInput::default();
    scene.sample(1.0, &mut input);
    assert_eq!(input.q_cmd, system.command_at(&scene.start.q));
    assert!(input.v_cmd.iter().all(|v| *v == 0.0));
    let end = scene.run(None, &mut |_| std::ops::ControlFlow::Continue(()));
    let moved = end.state.q.iter().zip(&scene.start.q).map(|(a, b)| (a - b).abs());
    assert!(moved.fold(0.0, f64::max) < 1e-14, "{:?}", end.state.q);
}

/// Knots and poses move the frame; a run records commands and forces at its origin.
#[test]
fn what_it_is_told_is_where_it_goes() {
    let knots = "commands: [{spring: arm/hand, knots: [[0, {}], [3, {xyz: [0.5, 0, 0.2]}]], timing: smooth}]\n";
    let scene = parse(&format!("{ARM}{knots}"));
    let end = scene.run(None, &mut |_| std::ops::ControlFlow::Continue(()));
    let mut kin = scene.system.model().create_kinematics();
    scene.system.model().kinematics(&end.state.q, &mut kin);
    let X = scene.system.model().frame_pose(&kin, &scene.system.springs().next().unwrap().frame);
    assert!((X.translation - Vec3::new(0.5, 0.0, 0.2)).norm() < 1e-3, "{X:?}");
    let recording = end.recording;
    let names = ["arm.j1", "arm.j2", "arm.j3", "arm.j4", "arm/hand.x", "arm/hand.y", "arm/hand.z"];
    assert_eq!(recording.commands, names);
    let last = recording.frames.last().unwrap();
    assert_eq!(last.q_cmd[4..], [0.5, 0.0, 0.2]);
    // at rest no force is left; in motion damping makes the frame lag behind
    let most =
        |k: usize| recording.frames[1..].iter().fold(0.0_f64, |m, f| m.max(f.effort[k].abs()));
    assert!(last.effort.iter().all(|f| f.abs() < 0.05) && most(4) > 0.1, "{:?}", last.effort);

    // expressions for the pose and for a coordinate; rates are their derivatives
    let told = "commands:\n  - {spring: arm/hand, pose: {rpy: [0.1, 0.2*t, 0]}}\n  - {joint: arm/hand.z, expr: 0.4 + 0.01*t^2}\n";
    let scene = parse(&format!("{ARM}{told}"));
    let mut input = StepInput::default();
    scene.sample(2.0, &mut input);
    let R = Quat::from_rpy([0.1, 0.4, 0.0]).to_array();
    assert_eq!(input.q_cmd[4..8], R);
    assert!((input.q_cmd[10] - 0.44).abs() < 1e-15 && (input.v_cmd[9] - 0.04).abs() < 1e-15);
    assert!((input.v_cmd[5] - 0.2).abs() < 1e-15, "{:?}", input.v_cmd);

    // mean rates of a midpoint step lead from pose to pose
    let midpoint = ARM.replace("duration: 4", "duration: 4, integration: midpoint");
    let knots =
        "commands: [{spring: arm/hand, knots: [[0, {}], [2, {rpy: [1, 0, 2]}]], timing: smooth}]\n";
    let scene = parse(&format!("{midpoint}{knots}"));
    let mut before = StepInput::default();
    scene.sample(0.95, &mut before);
    scene.sample(1.0, &mut input);
    let pose =
        |q: &[f64]| Pose::new(Quat::new(q[0], q[1], q[2], q[3]), Vec3::new(q[4], q[5], q[6]));
    let (a, b) = (pose(&before.q_cmd[4..]), pose(&input.q_cmd[4..]));
    let w = Vec3::new(input.v_cmd[4], input.v_cmd[5], input.v_cmd[6]);
    let ahead = Quat::from_rotation_vector(w * 0.05) * a.rotation;
    assert!((ahead * b.rotation.inverse()).to_rotation_vector().norm() < 1e-14 && w.norm() > 0.5);
}

/// Static deflection: a force of 6 N at the frame's origin moves it by 6/300 m along x and 6/500 m
/// along z.
#[test]
fn a_load_deflects_the_hand() {
    let facts = "wrenches: [{body: arm/hand, at: [0, 0, 0.1], force: [6, 0, -6]}]
facts:
  - {at: 40, effort: arm/hand.x, value: -6, tolerance: 1.0e-3, source: balance}
  - {at: 40, effort: arm/hand.z, value: 6, tolerance: 1.0e-3, source: balance}
";
    let arm = ARM
        .replace("duration: 4", "duration: 40")
        .replace("at: {xyz", "axes: world\n      at: {xyz");
    let scene = parse(&format!("{arm}{facts}"));
    let system = &scene.system;
    let frame = system.springs().next().unwrap().frame;
    let place = |q: &[f64]| {
        let mut kin = system.model().create_kinematics();
        system.model().kinematics(q, &mut kin);
        system.model().frame_pose(&kin, &frame).translation
    };
    let end = scene.run(None, &mut |_| std::ops::ControlFlow::Continue(()));
    for fact in &scene.facts {
        let result = fact.check(&end.recording, &scene.system);
        assert!(result.ok, "{result:?}");
    }
    let shift = place(&end.state.q) - place(&scene.start.q);
    assert!((shift.x - 0.02).abs() < 1e-5 && (shift.z + 0.012).abs() < 1e-5, "{shift:?}");
}

#[test]
fn mistakes_name_their_line() {
    let at = |key: &str| format!("scene.yml:{{}}: models.arm.cartesian_stiffness{key}:");
    let line = |text: &str, part: &str| 1 + text[..text.find(part).unwrap()].matches('\n').count();
    let wrong = |from: &str, to: &str, key: &str, words: &[&str]| {
        let text = ARM.replacen(from, to, 1);
        assert_ne!(text, ARM);
        let place = at(key).replace("{}", &line(&text, to.trim_start()).to_string());
        complaint(&text, &place, words);
    };
    wrong(
        "stiffness: [300, 300, 500, 10, 10, 10]",
        "stiffness: [300, 300]",
        ".stiffness",
        &["2 entries", "give 6 numbers"],
    );
    wrong("stiffness: [300, 300,", "stiffness: [300, -1,", ".stiffness.1", &["-1", "≥ 0"]);
    let rows = |a: &str, b: &str| {
        format!(
            "stiffness: [[300, {a}, 0, 0, 0, 0], [{b}, 300, 0, 0, 0, 0], [0, 0, 500, 0, 0, 0], [0, 0, 0, 9, 0, 0], [0, 0, 0, 0, 9, 0], [0, 0, 0, 0, 0, 9]]"
        )
    };
    let given = "stiffness: [300, 300, 500, 10, 10, 10]";
    wrong(
        given,
        &rows("5", "4"),
        ".stiffness",
        &["row 1 column 2 is 5 and row 2 column 1 is 4", "symmetric"],
    );
    wrong(
        given,
        &rows("400", "400"),
        ".stiffness",
        &["eigenvalue is -1.000e2", "positive semidefinite"],
    );
    wrong("damping_ratio: 0.5", "damping_ratio: -1", ".damping_ratio", &["-1", "≥ 0"]);
    wrong("damping_ratio: 0.5", "axes: tool", ".axes", &["tool", "frame", "world"]);
    wrong("frame: hand", "frame: hend", ".frame", &["unknown body `hend`", "did you mean `hand`"]);
    let two = "damping_ratio: 0.5\n      damping: [1, 1, 1, 1, 1, 1]";
    let text = ARM.replace("damping_ratio: 0.5", two);
    complaint(&text, "scene.yml:", &["`damping` and `damping_ratio` were seen"]);
    let text = ARM.replace("      frame: hand\n", "");
    complaint(&text, "scene.yml:", &["models.arm.cartesian_stiffness", "frame"]);
    // without the spring, joints need a stiffness
    let text = &ARM[..ARM.find("    cartesian_stiffness").unwrap()];
    complaint(text, "scene.yml:6: models.arm.joints.*.stiffness:", &["0 was seen; it must be > 0"]);
    for (told, words) in [
        ("{spring: arm/hond, pose: {}}", "`arm/hond` is no frame with a `cartesian_stiffness`"),
        ("{spring: arm/hand}", "give one of `pose`, or `knots`"),
        ("{joint: arm/hand, pose: {}}", "no driven free or ball joint"),
        ("{joint: arm/hand.qx, constant: 0}", "part of an orientation"),
    ] {
        let text = format!("{ARM}commands: [{told}]\n");
        complaint(&text, "scene.yml:21: commands.0", &[words]);
    }
    let twice =
        "commands: [{spring: arm/hand, knots: [[0, {}]]}, {joint: arm/hand.x, constant: 0}]\n";
    complaint(&format!("{ARM}{twice}"), "scene.yml:21: commands.1", &["commanded twice"]);
    let twice =
        "commands: [{joint: arm/hand.x, constant: 0}, {spring: arm/hand, knots: [[0, {}]]}]\n";
    complaint(&format!("{ARM}{twice}"), "scene.yml:21: commands.1", &["commanded twice"]);
}
