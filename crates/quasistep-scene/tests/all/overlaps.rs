//! Scenes that start with overlaps: what `check` prints, and how they end.

use crate::common::{everywhere, frames, parse, place};
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

/// A finger pushes a block as wide as `size` by three of its widths.
fn pushed(size: f64) -> String {
    let [margin, speed, half, start, thick, radius] =
        [0.02, 0.1, 0.5, -1.5, 0.5, 0.51].map(|x| x * size);
    let (g, rate) = (-9.81 * size, 3.5 * size);
    format!(
        "\
gravity: [0, 0, {g}]
step: {{duration: 1, contact_margin: {margin}, max_recovery_speed: {speed}}}
models:
  floor: {{joint: fixed, friction: 0.5, shape: {{half_space: {{}}}}}}
  block: {{mass: 1, pose: {{xyz: [0, 0, {half}]}}, shape: {{box: {{size: [{size}, {size}, {size}]}}}}}}
  finger:
    joint: [{{slide: x, axis: [1, 0, 0], role: prescribed}}]
    pose: {{xyz: [{start}, 0, {thick}]}}
    shape: {{sphere: {{radius: {radius}}}}}
commands: [{{joint: finger.x, expr: \"{rate}*t\"}}]
collisions: {{exclude: [[finger, floor]]}}
"
    )
}

/// Blocks of 80 m move as blocks of a metre do, although `max_overlap` is not told.
#[test]
fn large_worlds_move_as_ordinary_ones() {
    for changes in everywhere() {
        // a thousand steps say no more than a hundred
        if changes[2].1 == "0.001" {
            continue;
        }
        let run = |size: f64| {
            let scene = parse(&pushed(size), &changes);
            assert_eq!(scene.params.max_overlap, 0.001 * size);
            let all = frames(&scene);
            let of = |f| place(&scene, f, "block/block").map(|x| x / size);
            all.iter().map(of).collect::<Vec<_>>()
        };
        let small = run(1.0);
        let way = small.last().unwrap()[0];
        // convex friction throws up what starts to slide in a dynamic run
        assert!((2.9..3.3).contains(&way), "{changes:?}: {way}");
        for (a, b) in small.iter().zip(run(80.0)) {
            let off = (0..3).map(|k| (a[k] - b[k]).abs()).fold(0.0, f64::max);
            assert!(off < 1e-6, "{changes:?}: {a:?} {b:?}");
        }
    }
    // bodies thinner than a metre keep a millimetre, whatever else is there
    let mixed = pushed(80.0).replace("radius: 40.8", "radius: 0.4");
    assert_eq!(parse(&mixed, &[]).params.max_overlap, 0.001);
}

/// A seesaw of 4 mm with boxes of 0.4 mm, of which two are in one another at the start.
const SEESAW: &str = "
step: {size: 0.001, duration: 0.006, friction: convex, inertia: none}
models:
  g: {joint: fixed, friction: 0.5, shape: {half_space: {}}}
  pl:
    joint: [{hinge: h, axis: [0, 1, 0], limits: [-0.3, 0.3]}]
    mass: 0.001
    pose: {xyz: [0, 0, 0.0005]}
    shape: {box: {size: [0.004, 0.001, 0.0001]}}
  b0: {mass: 7.490668473189033e-05, friction: 0.3, pose: {xyz: [0.0009555856459280685, 0, 0.00075]}, shape: {box: {size: [0.0004, 0.0004, 0.0004]}}}
  b1: {mass: 0.08835764234873753, friction: 1, pose: {xyz: [-0.0012, 0, 0.00075]}, shape: {box: {size: [0.0004, 0.0004, 0.0004]}}}
  b2: {mass: 0.0005249196875897338, friction: 0, pose: {xyz: [0.0012, 0, 0.00075]}, shape: {box: {size: [0.0004, 0.0004, 0.0004]}}}
";

/// Bodies that move along the limit of an overlap do not creep: 256 motions were not enough.
#[test]
fn bodies_at_the_limit_of_an_overlap_move_on() {
    let scene = parse(SEESAW, &[]);
    let mut most = 0;
    let outcome = scene.run(None, &mut |step| {
        most = most.max(step.report.substeps);
        ControlFlow::Continue(())
    });
    assert_eq!(outcome.stopped, None);
    assert!(most > 1 && most < 60, "{most} substeps");
    let last = outcome.recording.frames.last().expect("a run has frames");
    // the heavy box holds its end of the seesaw down; no box is in the floor
    let heights = ["b0/b0", "b1/b1", "b2/b2"].map(|body| place(&scene, last, body)[2]);
    assert!(heights.iter().all(|z| *z > 1.9e-4), "{heights:?}");
    assert!(heights[1] < heights[0], "{heights:?}");
}
