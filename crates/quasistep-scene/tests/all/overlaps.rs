//! Scenes that start with overlaps: what `check` prints, and how they end.

use quasistep_scene::Scene;
use std::ops::ControlFlow;
use std::path::Path;

/// Two sliders deep in the corners of a block, one nearest to its top and one to its side, and a
/// ball far away.
const CORNERS: &str = "
step: {size: 0.1, duration: 4}
gravity: [0, 0, 0]
models:
  block: {joint: fixed, shape: {box: {size: [1, 1, 1]}}}
  one:
    joint: [{slide: x, axis: [1, 0, 0]}]
    mass: 1
    shape: {sphere: {radius: 0.1}, pose: {xyz: [0.4, 0, 0.45]}}
  other:
    joint: [{slide: z, axis: [0, 0, 1]}]
    mass: 1
    shape: {box: {size: [0.2, 0.2, 0.2]}, pose: {xyz: [0, -0.48, -0.4]}}
  far: {mass: 1, pose: {xyz: [5, 0, 0]}, shape: {sphere: {radius: 0.1}}}
";

#[test]
fn deep_sliders_leave_and_check_names_them() {
    for formulation in ["convex", "exact", "dynamic"] {
        let (friction, motion) = match formulation {
            "dynamic" => ("exact", "dynamic"),
            friction => (friction, "quasi_static"),
        };
        let changes =
            [("step.friction".into(), friction.into()), ("step.motion".into(), motion.into())];
        let scene = Scene::parse(CORNERS, "scene.yml", "scene", Path::new("."), &changes).unwrap();
        let words = scene.first_step().unwrap().in_words(&scene);
        let at = |text: &str| words.find(text).unwrap_or_else(|| panic!("no {text} in {words}"));
        // the depth is that below the nearest face
        let (first, second) = (at("1.500e-1 m deep"), at("1.200e-1 m deep"));
        assert!(first < second, "{words}");
        assert!(!words.contains("far") && !words.contains("nearest"), "{words}");
        let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
        assert!(outcome.stopped.is_none(), "{:?}", outcome.stopped);
        // with momentum they continue at the recovery speed, 0.1 m/s
        let way = if formulation == "dynamic" { 0.4 } else { 0.2 };
        assert!((outcome.state.q[0] - way).abs() < 1e-8, "{:?}", outcome.state.q);
        assert!((outcome.state.q[1] + way).abs() < 1e-8, "{:?}", outcome.state.q);
    }
}
