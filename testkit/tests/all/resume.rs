//! A run resumed from a checkpoint in fresh memory gives the same bits at every step, with convex
//! and with exact friction.

use quasistep::{State, StepInput, WarmStart};
use quasistep_scene::RunOptions;
use std::ops::ControlFlow;
use testkit::scene;

/// Takes every step twice: in the memory of the run, and in fresh memory from a checkpoint.
fn resumes(name: &str, changes: &[(&str, &str)]) {
    let scene = scene(name, changes);
    let mut work = scene.system.create_workspace();
    let mut state = scene.start.clone();
    let mut input = StepInput::default();
    for index in 1..=scene.n_steps() {
        let at = format!("{name} {changes:?}, step {index}");
        scene.sample(index as f64 * scene.params.time_step, &mut input);
        let saved = work.checkpoint(&state);
        let handed_on = work.warm_start();
        let went = scene.system.step_with(&mut state, &input, &scene.params, &mut work).cloned();
        let mut fresh = scene.system.create_workspace();
        fresh.resume(&saved);
        let mut again = saved.state.clone();
        let other = scene.system.step_with(&mut again, &input, &scene.params, &mut fresh).cloned();
        assert_eq!((&state, &went), (&again, &other), "{at}");
        // the warm start alone suffices, in memory that has solved another step
        let mut used = scene.system.create_workspace();
        let _ = scene.system.step_with(&mut scene.start.clone(), &input, &scene.params, &mut used);
        used.start_from(Some(&handed_on));
        let mut again = saved.state;
        let other = scene.system.step_with(&mut again, &input, &scene.params, &mut used).cloned();
        assert_eq!((&state, &went), (&again, &other), "{at}");
    }
}

#[test]
fn every_step_resumes_with_the_same_bits() {
    for (name, duration) in [
        ("fence_particle", "2"),
        ("gripper_2d", "0.35"),
        ("planar_push", "4"),
        ("box_pivot", "1"),
        ("sphere_spin", "0.3"),
    ] {
        for (formulation, cone) in [("convex", "4"), ("exact", "4"), ("exact", "round")] {
            resumes(
                name,
                &[
                    ("step.friction", formulation),
                    ("step.cone", cone),
                    ("step.duration", duration),
                    ("facts", "[]"),
                ],
            );
        }
    }
}

/// A run in two parts, the second from the end of the first, has the frames of the whole run, bit
/// for bit. Returns the largest number of substeps of a step.
fn goes_on(name: &str, changes: &[(&str, &str)], n_steps: usize) -> u32 {
    let scene = scene(name, changes);
    let run = |start: Option<(&State, &WarmStart)>, n_steps: usize| {
        let options = RunOptions {
            start: start.map(|(state, _)| state.clone()),
            warm: start.map(|(_, warm)| warm),
            n_steps: Some(n_steps),
            ..RunOptions::default()
        };
        let mut substeps = 0;
        let outcome = scene.run_with(&options, None, &mut |step| {
            substeps = substeps.max(step.report.substeps);
            ControlFlow::Continue(())
        });
        (outcome, substeps)
    };
    let (whole, substeps) = run(None, n_steps);
    assert!(whole.recording.frames.len() > 2, "{name} {changes:?}: {:?}", whole.stopped);
    for parts in [n_steps / 3, n_steps / 2] {
        let (first, _) = run(None, parts);
        let (rest, _) = run(Some((&first.state, &first.warm)), n_steps - parts);
        let frames = &whole.recording.frames[parts.min(whole.recording.frames.len() - 1)..];
        let at = format!("{name} {changes:?} after {parts} steps");
        assert_eq!(rest.recording.frames.len(), frames.len(), "{at}");
        // drives and contacts of the previous step are not part of a start
        for (went, again) in frames.iter().zip(&rest.recording.frames).skip(1) {
            assert!(went == again, "{at}: they differ at t = {} s", went.t);
        }
        assert_eq!((&rest.state, &rest.warm), (&whole.state, &whole.warm), "{at}");
    }
    substeps
}

#[test]
fn runs_go_on_with_the_same_bits() {
    let formulations: [&[(&str, &str)]; 6] = [
        &[("step.friction", "convex"), ("step.cone", "round")],
        &[("step.friction", "convex"), ("step.cone", "4")],
        &[("step.friction", "convex"), ("step.integration", "midpoint")],
        &[("step.friction", "exact"), ("step.cone", "round")],
        &[("step.friction", "exact"), ("step.cone", "4")],
        &[("step.motion", "dynamic"), ("step.size", "0.005")],
    ];
    for name in ["gripper_2d", "planar_push", "four_bar_gripper", "tunnel", "bunny_grasp", "pinch"]
    {
        for changes in formulations {
            let changes: Vec<_> = changes.iter().copied().chain([("facts", "[]")]).collect();
            goes_on(name, &changes, 24);
        }
    }
    // steps with substeps
    for (name, formulation, size) in
        [("tunnel", "convex", "0.25"), ("pebble", "exact", "0.1"), ("pebble", "dynamic", "0.1")]
    {
        let [friction, motion] = testkit::law(formulation);
        let changes = [friction, motion, ("step.size", size), ("facts", "[]")];
        assert!(goes_on(name, &changes, 12) > 1, "{name} {formulation}");
    }
}
