//! Torque commands: motions and contact forces they cause, their syntax, and mistakes.

use crate::common::{complaint, expect, parse_with, read};
use quasistep::StepInput;
use quasistep_scene::{RunOutcome, Scene};
use std::ops::ControlFlow;

const STEPS: [&str; 3] = ["0.005", "0.02", "0.1"];

#[track_caller]
fn scene(text: &str, h: &str, changes: &[(&str, &str)]) -> Scene {
    let all: Vec<(&str, &str)> = [("step.size", h)].iter().chain(changes).copied().collect();
    parse_with(text, &all).unwrap_or_else(|e| panic!("{e}"))
}

#[track_caller]
fn run(scene: &Scene) -> RunOutcome {
    let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
    assert_eq!(outcome.stopped, None);
    outcome
}

/// Coordinate 0 at the end of the run.
fn end(scene: &Scene) -> f64 {
    run(scene).state.q[0]
}

/// A hinge about z with a damper and a rod of mass 3 kg and length 0.5 m.
const MOTOR: &str = "
step: {duration: 2}
models:
  arm:
    joint: [{hinge: q, axis: [0, 0, 1], damping: 4}]
    mass: 3
    com: [0.25, 0, 0]
    inertia: [0.001, 0.0625, 0.0625]
    shape: {box: {size: [0.5, 0.01, 0.01]}, collision: false}
commands:
  - {joint: arm.q, torque: 2}
";

/// Law of motion `d v = tau`. With drag by a relaxation time it is `(d + M/τ) v = tau`; with
/// momentum, `M dv/dt = tau − d v`.
#[test]
fn a_motor_on_a_damped_joint_turns_at_torque_over_damping() {
    let M = 3.0 * 0.25 * 0.25 + 0.0625;
    for h in STEPS {
        let free = end(&scene(MOTOR, h, &[("step.inertia", "none")]));
        assert!((free - 2.0 / 4.0 * 2.0).abs() < 1e-9, "{h}: {free}");
        let dragged = end(&scene(MOTOR, h, &[]));
        assert!((dragged - 2.0 / (4.0 + M) * 2.0).abs() < 1e-9, "{h}: {dragged}");
        let dynamic = run(&scene(MOTOR, h, &[("step.motion", "dynamic")]));
        assert!((dynamic.state.v[0] - 0.5).abs() < 1e-6, "{h}: {:?}", dynamic.state.v);
    }
}

/// A torque on a lever of 0.5 m that rests against a wall presses with `tau/l`, for any step size.
#[test]
fn a_torque_presses_a_wall() {
    let text = "
gravity: [0, 0, 0]
friction: {default: 0}
step: {duration: 1}
models:
  wall: {joint: fixed, pose: {xyz: [0.5, 0.07, 0]}, shape: {box: {size: [0.2, 0.1, 0.2]}}}
  arm:
    joint: [{hinge: q, axis: [0, 0, 1]}]
    mass: 1
    shape: {sphere: {radius: 0.02}, pose: {xyz: [0.5, 0, 0]}}
commands:
  - {joint: arm.q, torque: 2}
facts:
  - {at: 1, normal_force: [arm, wall], value: 4, tolerance: 1.0e-6, source: torque over lever}
  - {at: 1, effort: arm.q, value: 2, tolerance: 1.0e-12, source: as told}
";
    for h in STEPS {
        for motion in ["quasi_static", "dynamic"] {
            let scene = scene(text, h, &[("step.motion", motion)]);
            for fact in &scene.facts {
                let result = fact.check(&run(&scene).recording, &scene.system);
                assert!(result.ok, "{h}, {motion}: {}", result.text);
            }
        }
    }
}

/// Torque and spring add up: at rest `K (q_cmd − q) + tau = 0`. The recorded effort is their sum.
#[test]
fn torque_and_position_add_up() {
    let text = "
step: {duration: 3}
models:
  arm: {joint: [{slide: x, axis: [1, 0, 0], stiffness: 50, damping: 5}, {slide: y, axis: [0, 1, 0]}], mass: 1}
commands:
  - {joint: arm.x, constant: 0.1}
  - {joint: arm.x, torque: 2}
  - {joint: arm.y, torque: 0}
";
    for h in STEPS {
        let outcome = run(&scene(text, h, &[]));
        assert!((outcome.state.q[0] - (0.1 + 2.0 / 50.0)).abs() < 1e-6, "{:?}", outcome.state.q);
        let (names, last) = (&outcome.recording.commands, outcome.recording.frames.last().unwrap());
        assert_eq!(names, &["arm.x", "arm.y"]);
        assert!(last.effort[0].abs() < 1e-4 && last.effort[1] == 0.0, "{:?}", last.effort);
        assert_eq!(last.q_cmd, [0.1, outcome.state.q[1]]);
    }
}

#[test]
fn torques_are_told_as_positions_are() {
    let scene = read(
        "
models:
  a: {joint: [{hinge: x, axis: [1, 0, 0], damping: 1}, {hinge: y, axis: [0, 1, 0], damping: 1}, {hinge: z, axis: [0, 0, 1], damping: 1}]}
  puck: {joint: planar, mass: 1, inertia: [1, 1, 1]}
  ball: {mass: 1}
commands:
  - {joint: a.x, torque: \"3*t\"}
  - joints: [a.y, a.z]
    torque: {linear: {t: [0, 2], values: [[0, 1], [4, -1]]}}
  - {joints: [puck.y, puck.theta, ball.z], torque: [1, \"-t\", 9.81]}
",
    );
    let mut input = StepInput::default();
    scene.sample(0.5, &mut input);
    let names = scene.system.model().dof_names();
    let told: Vec<(&str, f64)> =
        names.iter().map(String::as_str).zip(input.tau).filter(|(_, tau)| *tau != 0.0).collect();
    let wanted = [
        ("a.x", 1.5),
        ("a.y", 1.0),
        ("a.z", 0.5),
        ("puck.y", 1.0),
        ("puck.theta", -0.5),
        ("ball.vz", 9.81),
    ];
    assert_eq!(told, wanted);
}

#[test]
fn mistakes_are_told() {
    let models = "models:
  a: {joint: [{slide: x, axis: [1, 0, 0], role: prescribed}, {slide: y, axis: [0, 1, 0]}]}
  b: {joint: [{slide: x, axis: [1, 0, 0], stiffness: 10}]}
  ball: {mass: 1}
commands:
  - ";
    let tell = |command: &str, words: &[&str]| {
        complaint(&format!("{models}{command}"), "scene.yml:6: commands", words);
    };
    tell("{joint: a.x, torque: 1}", &["`a.x` is prescribed", "passive and actuated"]);
    tell("{joint: a.z, torque: 1}", &["a.z", "a.y", "ball.x"]);
    tell("{joint: ball.qx, torque: 1}", &["part of an orientation", "`wrenches`"]);
    tell("{joint: b.x, torque: none}", &["none"]);
    tell("{joint: b.x, torque: 1, constant: 1}", &["constant"]);
    tell(
        "{joint: a.y, torque: 1}",
        &["nothing resists the torque on `a.y`", "`damping`", "`stiffness`", "motion: dynamic"],
    );
    tell("{joints: [b.x, b.x], torque: 1}", &["`b.x` has two torques"]);
    tell("{joint: ball.z, constant: 1}", &["`ball.z` is passive", "`torque`"]);
    let none = [("step.inertia", "none")];
    expect(
        parse_with(&format!("{models}{{joint: ball.z, torque: 1}}"), &none),
        "scene.yml:6: commands",
        &["`ball.z`", "inertia: mass"],
    );
}

/// A command of 1e12 times the scene's size leaves only three digits of precision.
#[test]
fn commands_that_lose_digits_are_mistakes() {
    let text = |command: &str| {
        format!(
            "models:
  b: {{mass: 1, shape: {{box: {{size: [0.1, 0.1, 0.1]}}}}}}
  f:
    joint: [{{slide: x, axis: [1, 0, 0], stiffness: 1000}}, {{hinge: q, axis: [0, 0, 1], stiffness: 1}}]
    shape: {{sphere: {{radius: 0.02}}}}
commands:
  - {command}"
        )
    };
    for far in [
        "{joint: f.x, constant: 1.0e+16}",
        "{joint: f.x, constant: -1.0e+11}",
        "{joint: f.x, expr: 1e11*t}",
        "{joint: f.x, linear: {t: [0, 1], values: [0, 1.0e+16]}}",
        "{joint: f.q, constant: 1.0e+12}",
    ] {
        let words = ["digits are lost", if far.contains("f.q") { "1.0e12" } else { "8.7e10 m" }];
        complaint(&text(far), "scene.yml:7: commands", &words);
    }
    let scene = read(&text("{joint: f.x, constant: 1.0e+10}"));
    let mut input = StepInput::default();
    scene.sample(0.0, &mut input);
    input.q_cmd[0] = 1e16;
    let mut work = scene.system.create_workspace();
    let mut state = scene.start.clone();
    let error = scene.system.step_with(&mut state, &input, &scene.params, &mut work).unwrap_err();
    assert!(error.to_string().contains("entry 0, `f.x`, is 1e16"), "{error}");
}
