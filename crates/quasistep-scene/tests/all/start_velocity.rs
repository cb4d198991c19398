//! Scenes that start with a velocity, and runs that continue it.

use quasistep_record::Recording;
use quasistep_scene::{Scene, SceneError};
use std::ops::ControlFlow;
use std::path::Path;

const PUCK: &str = "
step: {size: 0.01, duration: 0.1, motion: dynamic}
gravity: [0, 0, 0]
models:
  puck: {mass: 1, shape: {sphere: {radius: 0.1}}, start_velocity: {linear: [1, 2, 3], angular: [0, 0, 4]}}
  arm:
    joint: [{slide: x, axis: [1, 0, 0]}, {hinge: turn, axis: [0, 0, 1], start_velocity: 0.5}]
    mass: 1
    shape: {box: {size: [0.1, 0.1, 0.1]}, pose: {xyz: [9, 0, 0]}}
    start_velocity: [0.25, 7]
";

fn parse(text: &str, changes: &[(&str, &str)]) -> Result<Scene, SceneError> {
    let changes: Vec<_> = changes.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    Scene::parse(text, "scene.yml", "scene", Path::new("."), &changes)
}

#[test]
fn velocities_are_those_of_joints_and_free_bodies() {
    let scene = parse(PUCK, &[]).unwrap();
    // a joint's own value overrides that of its body
    assert_eq!(scene.start.v, [0.0, 0.0, 4.0, 1.0, 2.0, 3.0, 0.25, 0.5]);
    assert!(scene.warnings.is_empty(), "{:?}", scene.warnings);
}

#[test]
fn a_run_records_the_velocities_of_its_states() {
    let scene = parse(PUCK, &[]).unwrap();
    let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
    assert!(outcome.stopped.is_none());
    let recording = outcome.recording;
    assert_eq!(recording.dofs.len(), 8);
    assert_eq!(recording.frames[0].v, scene.start.v);
    assert_eq!(recording.frames[10].v, outcome.state.v);
    // no force acts on the puck
    assert!((recording.frames[10].q[6] - 0.3).abs() < 1e-12);
    let bytes = recording.to_bytes().unwrap();
    assert_eq!(Recording::from_bytes(&bytes, Path::new("x")).unwrap(), recording);
}

/// Formulations without velocity state still run, from rest, and warn that the value is ignored.
#[test]
fn other_formulations_warn_and_start_from_rest() {
    let scene =
        parse(PUCK, &[("step.friction", "exact"), ("step.motion", "quasi_static")]).unwrap();
    assert!(scene.warnings.iter().any(|w| w.contains("`start_velocity` is not read")));
    let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
    assert!(outcome.recording.dofs.is_empty() && outcome.state.v.is_empty());
    assert_eq!(outcome.state.q, scene.start.q);
    assert!(outcome.recording.frames[10].v.is_empty());
}

#[test]
fn velocities_that_do_not_fit_are_named() {
    let refused = |change: (&str, &str), words: &[&str]| {
        let error = parse(PUCK, &[change]).expect_err("a mistake").to_string();
        for word in words {
            assert!(error.contains(word), "`{error}` does not say `{word}`");
        }
    };
    refused(("models.puck.start_velocity", "[1, 2]"), &["2 start velocities", "free", "6 dofs"]);
    refused(("models.puck.start_velocity", "{linear: [1, .nan, 0]}"), &["m/s", "finite"]);
    refused(("models.arm.start_velocity", "[1, 2, 3]"), &["3 velocities", "2 slides and hinges"]);
    refused(("models.arm.start_velocity", "{linear: [1, 0, 0]}"), &["start_velocity"]);
    refused(("models.puck.joint", "fixed"), &["fixed"]);
    refused(("step.integration", "midpoint"), &["step.integration", "euler"]);
}
