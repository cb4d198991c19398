//! A held body does not creep: the convex step has no soft constraints that would let it.

use std::ops::ControlFlow;
use testkit::scene;

/// The drift from t = 1 s to 60 s is at most 1e-9 m at every step size.
#[test]
fn a_pinched_body_stays_where_it_is_for_a_minute() {
    for h in ["0.01", "0.1", "0.4"] {
        let scene = scene("pinch", &[("step.size", h), ("step.duration", "60")]);
        let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
        assert!(outcome.stopped.is_none(), "h = {h}: {:?}", outcome.stopped);
        let recording = &outcome.recording;
        let held = recording.bodies.iter().position(|b| b.starts_with("held/")).unwrap();
        let start = recording.frames.iter().find(|f| f.t >= 1.0 - 1e-9).unwrap();
        for frame in recording.frames.iter().filter(|f| f.t >= start.t) {
            let drift = (frame.X_WB[held].translation - start.X_WB[held].translation).norm();
            assert!(drift <= 1e-9, "h = {h}, t = {}: {drift:e} m", frame.t);
        }
    }
}
