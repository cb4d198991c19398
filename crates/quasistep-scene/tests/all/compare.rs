//! Recorded runs beside the step.

use quasistep_scene::{Compared, Scene};
use std::ops::ControlFlow;
use testkit::scene;

/// Largest differences of steps and of the replay of a run of `recorded`, when `scene` takes them.
fn differences(recorded: &Scene, other: &Scene) -> (f64, f64) {
    let run = recorded.run(None, &mut |_| ControlFlow::Continue(()));
    assert!(run.stopped.is_none());
    let compared =
        other.compare_recording(&run.recording, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(compared.stopped.is_none() && compared.failed == 0 && compared.own_commands);
    assert_eq!(compared.replay.len(), run.recording.frames.len() - 1);
    let most = |rows: &[Vec<f64>]| Compared::largest(rows, &|_| true).map_or(f64::NAN, |at| at.0);
    (most(&compared.steps), most(&compared.replay))
}

#[test]
fn the_same_scene_repeats_its_run() {
    for (name, changes) in [
        ("planar_push", &[][..]),
        ("planar_push", &[("step.friction", "convex")]),
        ("box_pivot", &[]),
        ("fall", &[]),
        ("iiwa_stacking", &[("step.duration", "1")]),
        ("terrain", &[("step.duration", "0.5")]),
    ] {
        let own = scene(name, changes);
        let (steps, replay) = differences(&own, &own);
        assert!(steps < 1e-9 && replay < 1e-15, "{name} {changes:?}: {steps:e}, {replay:e}");
    }
    // steps whose sizes a tolerance chose are taken in these sizes
    let own = scene("planar_push", &[("step.tolerance", "1e-4"), ("step.duration", "1")]);
    let (steps, replay) = differences(&own, &own);
    assert!(steps < 1e-9 && replay < 1e-9, "{steps:e}, {replay:e}");
}

/// A person who pushes a box of twice the friction sees the finger bend back further: each single step differs,
/// and the replay drifts.
#[test]
fn another_scene_does_not() {
    let light = scene("planar_push", &[("step.relaxation", "1")]);
    let rough = scene(
        "planar_push",
        &[
            ("step.relaxation", "1"),
            ("models.box.friction", "0.8"),
            ("models.table.friction", "0.8"),
        ],
    );
    let (steps, replay) = differences(&light, &rough);
    // 3.1 N more friction bend the spring of 800 N/m by 3.9 mm more
    assert!(steps > 1e-4 && replay > 3e-3, "{steps:e}, {replay:e}");
}

#[test]
fn other_recordings_are_refused() {
    let run =
        scene("pinch", &[("step.duration", "0.2")]).run(None, &mut |_| ControlFlow::Continue(()));
    let push = scene("planar_push", &[]);
    let why =
        push.compare_recording(&run.recording, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(why.contains("its coordinates are") && why.contains("finger.x"), "{why}");
}
