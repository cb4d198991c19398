//! Errors of goals.

use crate::{moved, pusher};
use quasistep_plan::{JointTarget, Target};

/// The error is the angle and the distance by which a body is off; a joint's is its own.
#[test]
fn errors_are_angles_and_distances() {
    let scene = pusher();
    let (system, q) = (&scene.system, &scene.start.q);
    let mut goal = moved(system, q, "box/box", (0.03, 0.04, -2.5));
    let error = goal.error(system, q);
    assert!(
        (error.angle - 2.5).abs() < 1e-12 && (error.distance - 0.05).abs() < 1e-12,
        "{error:?}"
    );
    assert!((error.share - 50.0).abs() < 1e-9, "{error:?}");
    // a component that does not count adds nothing
    let Target::Pose(pose) = &mut goal.targets[0] else { panic!() };
    pose.counts = [true, true, false, true, false, true];
    let error = goal.error(system, q);
    assert!(error.angle < 1e-12 && (error.distance - 0.03).abs() < 1e-12, "{error:?}");
    let joint = JointTarget { coordinate: 0, dof: 0, value: q[0] + 0.02, tolerance: 0.1 };
    goal.targets = vec![Target::Joint(joint)];
    let error = goal.error(system, q);
    assert!((error.joint - 0.02).abs() < 1e-15 && (error.share - 0.2).abs() < 1e-12, "{error:?}");
}
