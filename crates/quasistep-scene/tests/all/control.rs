//! The `mpc` section: its values and its errors.

use quasistep_scene::{ControlModel, Scene, SceneError};
use std::path::Path;

const ROBOT: &str = "models:
  robot: {joint: [{slide: x, axis: [1, 0, 0], start: 2}, {slide: y, axis: [0, 1, 0]}], mass: 1, shape: {sphere: {radius: 0.1}}}
step: {size: 0.05}
";
const TASK: &str = "mpc: {model: dynamic, inputs: [robot.y], horizon: 5, steps: 7, goal: {robot.y: 3}, weights: {position: 1}";

fn parse(text: &str) -> Result<Scene, SceneError> {
    Scene::parse(text, "scene.yml", "scene", Path::new("."), &[])
}

#[test]
fn numbers_lists_and_names_reach_the_task() {
    let text = format!(
        "{ROBOT}{TASK}, start_velocity: [0, 0.5], bounds: {{position: [[-1, 4], none], velocity: 2, input: 3, soft: 10}}}}\n"
    );
    let control = parse(&text).unwrap().control.unwrap();
    assert_eq!(control.model, ControlModel::Dynamic(vec![1]));
    assert_eq!((control.horizon, control.steps, control.time_step), (5, 7, 0.05));
    assert_eq!(control.goal, [2.0, 3.0], "a dof without a goal is wanted where it starts");
    assert_eq!(control.start_velocity, [0.0, 0.5]);
    assert_eq!(control.weights.position, [1.0, 1.0]);
    assert_eq!(control.weights.final_position, [1.0, 1.0]);
    assert_eq!(control.weights.velocity, [0.0, 0.0]);
    assert_eq!(control.position, [[-1.0, 4.0], [f64::NEG_INFINITY, f64::INFINITY]]);
    assert_eq!(control.velocity, [[-2.0, 2.0]; 2]);
    assert_eq!((control.input, control.soft), (vec![[-3.0, 3.0]], Some(10.0)));
}

#[test]
fn a_goal_may_move() {
    let text = TASK.replace("{robot.y: 3}", "{robot.y: 2 * t}");
    let control = parse(&format!(
        "{ROBOT}{text}, time_step: 0.5, time_limit: 0.02, linearise: along_plan, bounds: {{soft: {{input: 3}}}}}}\n"
    ));
    let control = control.unwrap().control.unwrap();
    // the start, 7 steps, and 5 more for the horizon of the last plan
    assert_eq!(control.trajectory.len(), 13);
    assert_eq!(control.trajectory[3], [2.0, 3.0, 0.0, 2.0]);
    assert_eq!(
        (&control.goal[..], &control.goal_velocity[..]),
        (&[2.0, 12.0][..], &[0.0, 2.0][..])
    );
    assert_eq!((control.time_limit, control.along_plan), (Some(0.02), true));
    assert_eq!(
        (control.soft, control.soft_input, control.soft_input_rate),
        (None, Some(3.0), None)
    );
    let knots = TASK.replace("{robot.y: 3}", "[2, {linear: {t: [0, 1], values: [0, 4]}}]");
    let control = parse(&format!("{ROBOT}{knots}, goal_velocity: 0}}\n")).unwrap().control.unwrap();
    assert_eq!(control.trajectory[10], [2.0, 2.0, 0.0, 0.0], "t = 0.5 s");
    let resting = parse(&format!("{ROBOT}{TASK}}}\n")).unwrap().control.unwrap();
    assert!(resting.trajectory.is_empty());
}

#[test]
fn a_scene_without_the_section_has_no_task() {
    assert!(parse(ROBOT).unwrap().control.is_none());
}

#[test]
fn mistakes_have_a_place() {
    for (tail, place, words) in [
        (", horizn: 4}", "scene.yml:4: mpc", "did you mean `horizon`"),
        (", bounds: {position: [1]}}", "scene.yml:4: mpc.bounds.position", "`robot.x`, `robot.y`"),
        (
            ", bounds: {position: {robot.z: 1}}}",
            "scene.yml:4: mpc.bounds.position.robot.z",
            "unknown dof",
        ),
        (", bounds: {input: [[2, 1]]}}", "scene.yml:4: mpc.bounds.input.0", "[low, high]"),
        (", bounds: {velocity: -1}}", "scene.yml:4: mpc.bounds.velocity", "≥ 0"),
        (", bounds: {soft: 0}}", "scene.yml:4: mpc.bounds.soft", "> 0"),
        (", start_velocity: fast}", "scene.yml:4: mpc.start_velocity", "plain number"),
        (", friction_directions: 3}", "scene.yml:4: mpc.friction_directions", "even"),
        (", time_step: 0}", "scene.yml:4: mpc.time_step", "> 0"),
        (", bounds: {soft: {state: 0}}}", "scene.yml:4: mpc.bounds.soft.state", "> 0"),
        (", time_limit: 0}", "scene.yml:4: mpc.time_limit", "> 0"),
        (", linearise: there}", "scene.yml:4: mpc.linearise", "`along_plan`"),
        (", search: best}", "scene.yml:4: mpc.search", "`local`"),
    ] {
        let error = parse(&format!("{ROBOT}{TASK}{tail}\n")).expect_err(tail).to_string();
        assert!(error.starts_with(place) && error.contains(words), "{error}");
    }
    for (task, words) in [
        ("{model: dynamic, horizon: 5, steps: 1, goal: 0, weights: {}}", "`inputs` is missing"),
        ("{model: dynamic, inputs: [], horizon: 5, steps: 1, goal: 0, weights: {}}", "no input"),
        (
            "{model: dynamic, inputs: [robot.x, robot.x], horizon: 5, steps: 1, goal: 0, weights: {}}",
            "twice",
        ),
        (
            "{model: dynamic, inputs: [robot.x], horizon: 0, steps: 1, goal: 0, weights: {}}",
            "from 1 to",
        ),
        (
            "{model: quasi_dynamic, inputs: [robot.x], horizon: 5, steps: 1, goal: 0, weights: {}}",
            "leave `inputs` out",
        ),
        (
            "{model: dynamic, inputs: [robot.x], horizon: 5, steps: 1, goal: 0, weights: {position: -1}}",
            "≥ 0",
        ),
    ] {
        let error = parse(&format!("{ROBOT}mpc: {task}\n")).expect_err(task).to_string();
        assert!(error.starts_with("scene.yml:4: mpc") && error.contains(words), "{error}");
    }
}
