//! Constraints violated at the start are reported, and steps close them at `max_recovery_speed`.

use crate::common::{Folder, complaint, parse_with};
use quasistep::StepReport;
use quasistep_math::Vec3;
use quasistep_scene::Scene;
use std::ops::ControlFlow;

const WELD: &str = "
step: {duration: 12}
models:
  lamp: {mass: 2, pose: {xyz: [0.6, 0, 0.8]}, shape: {sphere: {radius: 0.03}}}
constraints:
  - {weld: [world, lamp], frames: [{rpy: [0, 0, 0.5]}, [0, 0, 0]]}
";

/// Reports of all steps, and coordinates at their ends.
fn follow(scene: &Scene) -> (Vec<StepReport>, Vec<Vec<f64>>) {
    let (mut reports, mut path) = (Vec::new(), vec![scene.start.q.clone()]);
    let outcome = scene.run(None, &mut |step| {
        reports.push(step.report.clone());
        path.push(step.state.q.clone());
        ControlFlow::Continue(())
    });
    assert_eq!(outcome.stopped, None);
    (reports, path)
}

/// Errors of 1 m and 0.5 rad close at 0.1 m/s and 0.1 rad/s, for any step size. The weld's force is
/// at most weight plus drag, `m (g + v/τ)`. With momentum it is the force of accelerating within
/// one step, `m (g + v/h)`.
#[test]
fn a_weld_that_is_far_off_closes_at_the_recovery_speed() {
    for h in ["0.005", "0.02", "0.1"] {
        for (motion, slowing) in [("quasi_static", 1.0), ("dynamic", h.parse::<f64>().unwrap())] {
            let scene = parse_with(WELD, &[("step.size", h), ("step.motion", motion)]).unwrap();
            let told = &scene.warnings[0];
            assert!(
                told.contains("`world-lamp` is off by 1.000")
                    && told.contains("max_recovery_speed"),
                "{told}"
            );
            let h: f64 = h.parse().unwrap();
            let (reports, path) = follow(&scene);
            let place = |q: &[f64]| Vec3::new(q[4], q[5], q[6]);
            let n = (9.9 / h) as usize;
            for k in 0..n {
                let speed = (place(&path[k + 1]) - place(&path[k])).norm() / h;
                assert!((speed - 0.1).abs() < 1e-9, "{h}, {motion}, step {k}: {speed}");
            }
            let turned = |k: usize| 2.0 * path[k][3].atan2(path[k][0]);
            for k in 0..(4.9 / h) as usize {
                let rate = (turned(k + 1) - turned(k)) / h;
                assert!((rate - 0.1).abs() < 1e-9, "{h}, {motion}, step {k}: {rate}");
            }
            let end = path.last().unwrap();
            assert!(place(end).norm() < 1e-9 && (turned(path.len() - 1) - 0.5).abs() < 1e-9);
            let most = reports.iter().map(|r| r.constraints[0].force_W.norm()).fold(0.0, f64::max);
            assert!(most < 2.0 * (9.81 + 0.1 / slowing) + 1e-6, "{h}, {motion}: {most} N");
        }
    }
}

/// An arm on servos whose hand is connected to a point of the world moves there at the recovery
/// speed. Then its servos pull against the connection.
#[test]
fn driven_joints_close_a_connection_in_their_own_time() {
    let text = "<worldbody><site name='hook' pos='0.6 0 0.9'/>
        <body pos='0 0 0.5'><joint name='a' axis='0 1 0'/><geom type='capsule' size='.03' fromto='0 0 0 .5 0 0' mass='1'/>
        <body pos='0.5 0 0'><joint name='b' axis='0 1 0'/><geom type='capsule' size='.03' fromto='0 0 0 .5 0 0' mass='1'/>
          <site name='tip' pos='0.5 0 0'/></body></body></worldbody>
      <equality><connect site1='hook' site2='tip'/></equality>
      <actuator><position joint='a' kp='100' kv='5'/><position joint='b' kp='100' kv='5'/></actuator>
      <keyframe><key qpos='0.2 -0.4' ctrl='0.2 -0.4'/></keyframe>";
    for h in [0.005, 0.02, 0.1] {
        let folder = Folder::new("far-connect");
        folder.file("m.xml", &format!("<mujoco><option timestep='{h}'/>{text}</mujoco>"));
        let changes = [("step.duration".to_owned(), "8".to_owned())];
        let scene = Scene::load_with(&folder.0.join("m.xml"), &changes).unwrap();
        assert_eq!(scene.start.q, [0.2, -0.4]);
        assert!(
            scene.warnings.iter().any(|w| w.contains("connect_0` is off by")),
            "{:?}",
            scene.warnings
        );
        let (reports, _) = follow(&scene);
        let errors: Vec<f64> = reports.iter().map(|report| report.constraints[0].error).collect();
        for pair in errors.windows(2).take_while(|pair| pair[0] > 0.1 * h + 0.05) {
            let speed = (pair[0] - pair[1]) / h;
            assert!((0.09..0.1 + 1e-2).contains(&speed), "{h}: {speed} m/s at {}", pair[0]);
        }
        assert!(errors[errors.len() - 1] < 1e-9, "{h}: {errors:?}");
        let most = reports.iter().map(|r| r.constraints[0].force_W.norm()).fold(0.0, f64::max);
        assert!(most < 1000.0, "{h}: {most} N");
    }
}

/// A constraint that no motion can satisfy is still an error.
#[test]
fn what_no_motion_closes_is_a_mistake() {
    let text = "
models:
  arm: {joint: [{hinge: q, axis: [0, 0, 1], stiffness: 10}], mass: 1}
constraints:
  - {connect: [world, arm], frames: [[1, 0, 0], [0.5, 0, 0]]}
";
    complaint(text, "scene.yml:4: constraints", &["no motion of its joints closes it"]);
}

/// A keyframe moves a mocap body; a body welded to it in the file is off by this and follows.
#[test]
fn a_mocap_body_stands_where_its_keyframe_says() {
    let text = "<mujoco><worldbody><body name='lead' mocap='true' pos='0 0 1'/>
        <body name='part' pos='0 0 1'><freejoint/><geom size='0.05'/></body></worldbody>
      <equality><weld body1='lead' body2='part'/></equality>
      <keyframe><key mpos='0.3 0 1' mquat='1 0 0 0'/></keyframe></mujoco>";
    let folder = Folder::new("far-mocap");
    folder.file("m.xml", text);
    let changes = [("step.duration".to_owned(), "4".to_owned())];
    let scene = Scene::load_with(&folder.0.join("m.xml"), &changes).unwrap();
    assert!(
        scene.warnings.iter().any(|w| w.contains("weld_0` is off by 0.300")),
        "{:?}",
        scene.warnings
    );
    let (reports, path) = follow(&scene);
    let h = scene.params.time_step;
    // behind the pose of the mocap body
    let at = |t: f64| path[(t / h).round() as usize][11];
    assert!(
        (at(1.0) - 0.1).abs() < 1e-9 && (at(4.0) - 0.3).abs() < 1e-9,
        "{} {}",
        at(1.0),
        at(4.0)
    );
    assert!(reports.iter().all(|r| r.constraints[0].force_W.norm() < 10.0));
}
