//! Commands of runs as joint trajectories.

use quasistep_record::Trajectory;
use quasistep_scene::Scene;
use serde_json::Value;
use std::ops::ControlFlow;

fn trajectory(
    name: &str,
    duration: &str,
    model: Option<&str>,
) -> (Scene, Result<Trajectory, String>) {
    let scene = testkit::scene(name, &[("step.duration", duration)]);
    let run = scene.run(None, &mut |_| ControlFlow::Continue(()));
    let found = scene.trajectory(&run.recording, model);
    (scene, found)
}

/// A controller that holds the commands through the same springs feels the efforts of the run.
#[test]
fn efforts_are_those_of_the_springs() {
    let (scene, found) = trajectory("planar_push", "2", None);
    let found = found.unwrap();
    assert_eq!(found.joint_names, ["x", "y"]);
    assert_eq!(found.stiffness, [Some(800.0), Some(800.0)]);
    assert_eq!(found.times.len(), 40);
    let run = scene.run(None, &mut |_| ControlFlow::Continue(()));
    for (k, frame) in run.recording.frames[1..].iter().enumerate() {
        for joint in 0..2 {
            let spring = 800.0 * (found.positions[k][joint] - frame.q[joint]);
            assert!((spring - found.efforts[k][joint]).abs() < 1e-9, "{k}: {spring}");
        }
        assert!((found.times[k] - frame.t).abs() < 1e-12);
    }
    // the push of 3.139 N, friction of the box
    assert!((found.efforts[39][0] - 0.4 * 7.848).abs() < 0.2, "{:?}", found.efforts[39]);
}

#[test]
fn models_are_taken_apart() {
    let (_, found) = trajectory("iiwa_stacking", "1", Some("arm"));
    let found = found.unwrap();
    assert_eq!(found.joint_names.len(), 7);
    assert_eq!(found.joint_names[0], "iiwa_joint_1");
    let (_, found) = trajectory("suction", "0.2", None);
    let found = found.unwrap();
    assert!(!found.joint_names.is_empty() && !found.left_out.is_empty(), "{found:?}");
    let (_, found) = trajectory("iiwa_stacking", "0.2", Some("hand"));
    let why = found.unwrap_err();
    assert!(
        why.contains("no joint of the model `hand`") && why.contains("arm.iiwa_joint_1"),
        "{why}"
    );
}

/// The cubic between two points stays between them, so a robot does not push further than was planned.
#[test]
fn splines_do_not_overshoot() {
    let (_, found) = trajectory("iiwa_stacking", "3", None);
    let found = found.unwrap();
    let n = found.times.len();
    let mut moving = 0;
    for k in 1..n {
        let h = found.times[k] - found.times[k - 1];
        for joint in 0..found.joint_names.len() {
            let (a, b) = (found.positions[k - 1][joint], found.positions[k][joint]);
            let (va, vb) = (h * found.velocities[k - 1][joint], h * found.velocities[k][joint]);
            moving += usize::from(va != 0.0);
            for part in 1..10 {
                let s = f64::from(part) / 10.0;
                let (s2, s3) = (s * s, s * s * s);
                let x = (2.0 * s3 - 3.0 * s2 + 1.0) * a
                    + (s3 - 2.0 * s2 + s) * va
                    + (3.0 * s2 - 2.0 * s3) * b
                    + (s3 - s2) * vb;
                assert!(x >= a.min(b) - 1e-12 && x <= a.max(b) + 1e-12, "{k} {joint}: {a} {x} {b}");
            }
        }
    }
    assert!(moving > n, "{moving}");
    assert!(found.velocities[n - 1].iter().all(|v| *v == 0.0));
}

#[test]
fn files_have_the_fields_of_ros() {
    let (_, found) = trajectory("planar_push", "2", None);
    let found = found.unwrap();
    let json: Value = serde_json::from_str(&found.to_json()).unwrap();
    let points = json["joint_trajectory"]["points"].as_array().unwrap();
    assert_eq!(points.len(), 40);
    assert_eq!(points[20]["time_from_start"], serde_json::json!({"sec": 1, "nanosec": 50_000_000}));
    assert_eq!(points[20]["positions"], serde_json::json!(found.positions[20]));
    assert_eq!(json["stiffness"], serde_json::json!([800.0, 800.0]));
    let yaml = found.to_yaml();
    for line in [
        "  joint_names: [\"x\",\"y\"]",
        "    time_from_start: {sec: 1, nanosec: 50000000}",
        "stiffness: [800.0,800.0]",
    ] {
        assert!(yaml.lines().any(|own| own == line), "{line}\n{yaml}");
    }
}
