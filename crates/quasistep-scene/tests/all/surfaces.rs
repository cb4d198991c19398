//! Surfaces that move: belts, rollers and turntables carry what lies on them and stay in place.

use crate::common::{parse, parse_with};
use quasistep::{DerivativeError, Mode, StepInput};
use quasistep_scene::Scene;
use std::ops::ControlFlow;

const CONVEYOR: &str = "\
format: 1
step: {size: 0.02, duration: 2}
models:
  belt:
    joint: [{slide: travel, axis: [1, 0, 0], surface: true, role: prescribed}]
    pose: {xyz: [0, 0, 0.05]}
    friction: 0.5
    shape: {box: {size: [2, 0.4, 0.1]}}
  stop: {joint: fixed, pose: {xyz: [-0.4, -0.1, 0.15]}, friction: 0, shape: {box: {size: [0.02, 0.15, 0.1]}}}
  crate: {mass: 0.5, friction: 0.5, pose: {xyz: [-0.6, 0.1, 0.15]}, shape: {box: {size: [0.1, 0.1, 0.1]}}}
  held: {mass: 0.5, friction: 0.5, pose: {xyz: [-0.46, -0.1, 0.15]}, shape: {box: {size: [0.1, 0.1, 0.1]}}}
commands:
  - {joint: belt.travel, expr: \"0.2*t\"}
";

/// The last frame of a run.
#[track_caller]
fn end(scene: &Scene) -> quasistep_record::Frame {
    let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
    assert_eq!(outcome.stopped, None);
    outcome.recording.frames.last().expect("a run has frames").clone()
}

/// Position of the origin of a body along x, y and z, in m.
fn place(scene: &Scene, frame: &quasistep_record::Frame, body: &str) -> [f64; 3] {
    let index = scene.system.model().body_by_name(body).expect("the body exists");
    let p = scene.system.model().pose(&frame.q, index).translation;
    [p.x, p.y, p.z]
}

/// A crate rides 0.4 m in 2 s, one that a stop holds stays and rubs, and the belt's motor pushes with
/// the friction of the latter.
#[test]
fn belts_carry_what_lies_on_them_at_every_step_size() {
    for law in ["exact", "convex"] {
        for motion in ["quasi_static", "dynamic"] {
            for size in ["0.1", "0.02", "0.005"] {
                let changes =
                    [("step.friction", law), ("step.motion", motion), ("step.size", size)];
                let scene = parse(CONVEYOR, &changes);
                let end = end(&scene);
                let [rides, held, belt] =
                    ["crate/crate", "held/held", "belt/belt"].map(|body| place(&scene, &end, body));
                // a dynamic crate slips at first, by v²/(2 mu g) and what a step adds
                let slip =
                    if motion == "dynamic" { 0.0041 + 0.1 * scene.params.time_step } else { 1e-6 };
                assert!(
                    rides[0] <= -0.2 + 1e-6 && rides[0] >= -0.2 - slip,
                    "{changes:?}: {rides:?}"
                );
                // convex friction lifts what slides by h mu v
                let lift = if law == "convex" { 0.5 * 0.2 * scene.params.time_step } else { 0.0 };
                assert!((rides[2] - 0.15).abs() <= 1e-6 + lift, "{changes:?}: {rides:?}");
                assert!((held[0] + 0.46).abs() <= 1e-6 + lift, "{changes:?}: {held:?}");
                assert_eq!(belt, [0.0, 0.0, 0.05]);
                // friction of what is held; of what rides a quasi-static step knows a drag, m v/tau
                let drag = if motion == "dynamic" { 0.0 } else { 0.5 * 0.2 };
                let force = end.effort[0] - drag;
                assert!((force - 0.5 * 0.5 * 9.81).abs() < 1e-3, "{changes:?}: {force} N");
            }
        }
    }
}

/// A plate on two rollers moves at the speed of their rims, also a thousand times larger.
#[test]
fn rollers_push_a_plate() {
    for scale in [1.0, 1000.0] {
        let [r, apart, high, long, thick] = [0.05, 0.2, 0.11, 0.8, 0.02].map(|x| scale * x);
        let text = format!(
            "\
format: 1
step: {{size: 0.02, duration: 1}}
gravity: [0, 0, {gravity}]
models:
  left:
    joint: [{{hinge: turn, axis: [0, 1, 0], surface: true, role: prescribed}}]
    pose: {{xyz: [-{apart}, 0, {r}]}}
    friction: 0.4
    shape: {{cylinder: {{radius: {r}, length: {apart}}}, pose: {{rpy: [1.5707963267948966, 0, 0]}}}}
  right:
    joint: [{{hinge: turn, axis: [0, 1, 0], surface: true, role: prescribed}}]
    pose: {{xyz: [{apart}, 0, {r}]}}
    friction: 0.4
    shape: {{cylinder: {{radius: {r}, length: {apart}}}, pose: {{rpy: [1.5707963267948966, 0, 0]}}}}
  plate: {{mass: 2, friction: 0.4, pose: {{xyz: [0, 0, {high}]}}, shape: {{box: {{size: [{long}, {apart}, {thick}]}}}}}}
commands:
  - {{joint: left.turn, expr: \"2*t\"}}
  - {{joint: right.turn, expr: \"2*t\"}}
",
            gravity = -9.81 * scale,
        );
        let scene = parse(&text, &[("step.contact_margin", &format!("{}", 0.02 * scale))]);
        let plate = place(&scene, &end(&scene), "plate/plate");
        let want = [2.0 * r, 0.0, high];
        for (x, want) in plate.iter().zip(want) {
            assert!((x - want).abs() <= 1e-6 * scale, "{scale}: {plate:?}");
        }
    }
}

#[test]
fn steps_over_moving_surfaces_have_no_derivatives() {
    let scene = parse(CONVEYOR, &[]);
    let mut input = StepInput::default();
    scene.sample(scene.params.time_step, &mut input);
    let mut out = scene.system.create_derivatives();
    let (start, params) = (&scene.start, &scene.params);
    let why = scene.system.differentiate(start, &input, params, Mode::Exact, &mut out).unwrap_err();
    assert!(matches!(&why, DerivativeError::Surface(body) if body == "belt/belt"), "{why}");
}

#[test]
fn mistakes_of_surfaces_are_told() {
    let lamp =
        "  lamp: {parent: belt/belt, joint: fixed, shape: {sphere: {radius: 0.01}}}\n  stop:";
    let child = CONVEYOR.replace("  stop:", lamp);
    let carried = "body `lamp/lamp` is carried by `belt/belt`, whose joint moves its surface";
    for (text, says) in [
        (child, carried),
        (
            CONVEYOR.replace("surface: true", "surface: 3"),
            "models.belt.joint.0.surface: unknown value `3`; valid: `false` or `true`",
        ),
    ] {
        let why = parse_with(&text, &[]).map(|_| ()).unwrap_err().to_string();
        assert!(why.contains(says), "{why}");
    }
}
