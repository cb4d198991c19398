//! Steps with exact friction that have a solution, which is found.

use quasistep_scene::Scene;
use std::ops::ControlFlow;
use std::path::Path;
use testkit::scene;

fn stopped(scene: &Scene) -> Option<String> {
    scene.run(None, &mut |_| ControlFlow::Continue(())).stopped.map(|error| error.to_string())
}

/// Rows of grasped cubes at the middle of a step are inconsistent by more than Newton's method
/// tolerates.
#[test]
fn an_arm_stacks_cubes_with_jacobians_of_the_middle_of_its_steps() {
    for h in ["0.2", "0.1", "0.05"] {
        let scene = scene(
            "iiwa_stacking",
            &[
                ("step.friction", "exact"),
                ("step.cone", "round"),
                ("step.integration", "midpoint"),
                ("step.size", h),
                ("facts", "[]"),
            ],
        );
        assert_eq!(stopped(&scene), None, "h = {h}");
    }
}

const CAN: &str = "
format: 1
title: A can near its tipping slope
gravity: [GX, GY, GZ]
step: {size: 0.01, duration: 1, friction: exact, cone: round, inertia: mass, relaxation: 1}
models:
  floor: {joint: fixed, shape: {half_space: {}}}
  can: {mass: 2, pose: {xyz: [0, 0, HALF]}, shape: {cylinder: {radius: RADIUS, length: LENGTH}}}
friction: {default: 3, rule: minimum}
";

/// A can on a slope stands if the plumb line through its centre meets the floor within its rim. The
/// rim is modelled by points. Beyond their polygon, from 99 % of the tipping slope on, the can
/// tips, and its steps have solutions too.
#[test]
fn every_step_of_a_can_near_its_tipping_slope_has_an_answer() {
    for (radius, length) in [(0.1, 0.5), (0.05, 0.2), (0.03, 0.3)] {
        for share in [0.985, 0.995, 0.999] {
            for towards in [0.3_f64, 1.0] {
                let slope = f64::atan(2.0 * radius / length * share);
                let g = 9.81;
                let values = [
                    ("GX", g * slope.sin() * towards.cos()),
                    ("GY", g * slope.sin() * towards.sin()),
                    ("GZ", -g * slope.cos()),
                    ("HALF", 0.5 * length),
                    ("RADIUS", radius),
                    ("LENGTH", length),
                ];
                let text = values.iter().fold(CAN.to_owned(), |text, (key, value)| {
                    text.replace(key, &value.to_string())
                });
                let scene = Scene::parse(&text, "can.yml", "can", Path::new("."), &[]).unwrap();
                let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
                let run = format!("radius {radius}, length {length}, share {share}, {towards}");
                assert!(outcome.stopped.is_none(), "{run}: {:?}", outcome.stopped);
                let last = outcome.recording.frames.last().unwrap();
                let can = outcome.recording.bodies.iter().position(|b| b == "can/can").unwrap();
                let z = last.X_WB[can].translation.z;
                let stands = (z - 0.5 * length).abs() < 1e-3 * length;
                assert!(stands || share > 0.99, "{run}: {z}");
            }
        }
    }
}
