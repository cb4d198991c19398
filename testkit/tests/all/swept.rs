//! Certified steps have no overlap along their motion: fast motion in random worlds, sampled
//! densely.

use quasistep::{StepError, StepParams, Substeps};
use quasistep_scene::RunOptions;
use std::ops::ControlFlow;
use testkit::random_worlds::{follow, random_world};
use testkit::scene;

/// Long version: `cargo run --release -p benches --bin swept_worlds -- --count 10000`.
#[test]
fn no_certified_step_overlaps_along_its_motion() {
    let (mut steps, mut substeps) = (0, 0);
    for seed in 0..120 {
        let course = follow(&random_world(seed));
        assert_eq!(course.wrong, None, "world {seed}");
        steps += course.steps;
        substeps += course.substeps;
    }
    // guards against worlds that end at once or never reach a contact, which would test nothing
    assert!(steps > 300, "{steps} steps");
    assert!(substeps > steps + 50, "{substeps} substeps in {steps} steps");
}

/// The scene of the documentation, with steps of up to twice the time in which the finger reaches
/// the box.
#[test]
fn a_finger_pushes_a_box_at_any_size_of_step() {
    for formulation in ["convex", "exact"] {
        for size in ["0.05", "0.1", "0.2", "0.25", "0.3", "0.4", "1"] {
            let what = format!("{formulation}, steps of {size} s");
            let changes = [("step.size", size), ("step.friction", formulation)];
            let scene = scene("tunnel", &changes);
            let (mut worst, mut layer) = (0.0_f64, 0.0_f64);
            let outcome = scene.run(None, &mut |step| {
                worst = worst.min(step.report.certificate.true_distance);
                let layers = step.report.contacts.iter().map(|c| c.boundary_layer);
                layer = layers.fold(layer, f64::max);
                ControlFlow::Continue(())
            });
            assert!(outcome.stopped.is_none(), "{what}: {:?}", outcome.stopped);
            assert!(worst >= -scene.params.max_overlap - 1e-9, "{what}: {worst}");
            let last = &outcome.recording.frames.last().unwrap().q;
            let (box_x, finger) = (last[4], last[7]);
            // a box that floats tilts, and is pushed at another point
            let near = if formulation == "exact" { 0.002 } else { 0.025 };
            assert!((box_x - finger - 0.07).abs() < near, "{what}: {box_x} after {finger}");
            let height = last[6] - 0.05;
            assert!(height > -1e-3 && height < layer.max(1e-3) + 0.025, "{what}: {height}");
            let never = scene.run_with(
                &RunOptions {
                    params: Some(StepParams { substeps: Substeps::Never, ..scene.params.clone() }),
                    ..RunOptions::default()
                },
                None,
                &mut |_| ControlFlow::Continue(()),
            );
            match never.stopped {
                // any pair that touches may have rows
                None => {}
                Some(StepError::Overlap { ref pair, time, size, .. }) => {
                    assert!(time > 0.0 && size > 0.0 && !pair.a.is_empty(), "{what}");
                }
                Some(other) => panic!("{what}: {other}"),
            }
        }
    }
}
