//! Pang21 Fig. 1, 7, 8: an arm stacks cubes, compared with the ground truth of another engine.

use quasistep::Tally;
use quasistep_record::Recording;
use quasistep_reproduce::measure::{Trajectory, final_distance, integral_error};
use quasistep_reproduce::reference::red_cube;
use std::ops::ControlFlow;
use testkit::scene;

const RED: &str = "red_cube/red_cube";

fn record(changes: &[(&str, &str)]) -> (Recording, Tally) {
    let mut tally = Tally::default();
    let outcome = scene("iiwa_stacking", changes).run(None, &mut |step| {
        tally.push(step.report);
        ControlFlow::Continue(())
    });
    assert!(outcome.stopped.is_none(), "{changes:?}: {:?}", outcome.stopped);
    (outcome.recording, tally)
}

fn errors(recording: &Recording) -> (f64, f64) {
    let ours = Trajectory::of_body(recording, RED).unwrap();
    let truth = Trajectory::of_table(&red_cube());
    (integral_error(&ours, &truth), final_distance(&ours, &truth))
}

#[test]
fn the_scene_has_69_dofs() {
    assert_eq!(scene("iiwa_stacking", &[]).system.model().n_v(), 69);
}

/// With damping, at the paper's step size: err7 ≤ 0.09, the red cube ends within 5 mm of its
/// recorded pose, the other cubes stay within 5 mm of their starts, and every gap row holds to 1e-9
/// m.
#[test]
fn damped_arm_follows_the_ground_truth() {
    let (recording, tally) = record(&[("step.size", "0.1")]);
    let (err7, end) = errors(&recording);
    assert!(err7 <= 0.09, "err7 {err7}");
    assert!(end <= 0.005, "red cube ends {end} m off");
    assert!(tally.worst().penetration <= 1e-9, "{:?}", tally.worst());
    let (first, last) = (&recording.frames[0], recording.frames.last().unwrap());
    for (i, body) in recording.bodies.iter().enumerate().filter(|(_, b)| b.starts_with("cube")) {
        let moved = (last.X_WB[i].translation - first.X_WB[i].translation).norm();
        assert!(moved <= 0.005, "{body} moved {moved} m");
    }
}

/// Second order in time: err7 decreases to the difference of the contact models, even at large
/// steps, and curved motion causes almost no overlap.
#[test]
fn midpoint_follows_the_ground_truth_at_large_steps() {
    for (h, most, overlap) in [("0.4", 0.06, 1e-4), ("0.2", 0.045, 2e-5), ("0.1", 0.035, 2e-6)] {
        let (recording, tally) = record(&[("step.size", h), ("step.integration", "midpoint")]);
        let (err7, end) = errors(&recording);
        assert!(err7 <= most, "h = {h}: err7 {err7}");
        assert!(end <= 0.003, "h = {h}: red cube ends {end} m off");
        let worst = tally.worst();
        assert!(worst.penetration <= 1e-9, "h = {h}: {worst:?}");
        assert!(worst.true_distance >= -overlap, "h = {h}: {worst:?}");
    }
}

#[test]
fn undamped_arm_lags_as_the_quasi_static_model_must() {
    let (recording, _) = record(&[("step.size", "0.1"), ("models.*.joints.*.damping", "0")]);
    let (err7, end) = errors(&recording);
    assert!(err7 <= 0.17, "err7 {err7}");
    assert!(end <= 0.005, "red cube ends {end} m off");
}

#[test]
fn large_steps_stay_stable() {
    for h in ["0.2", "0.4"] {
        let (recording, _) = record(&[("step.size", h)]);
        let (err7, end) = errors(&recording);
        assert!(err7 <= 0.25, "h = {h}: err7 {err7}");
        assert!(end <= 0.015, "h = {h}: red cube ends {end} m off");
    }
}
