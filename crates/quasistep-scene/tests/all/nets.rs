//! Nets of bodies that point connections join: their loops are redundant where they are flat.

use crate::common::{frames, parse_with};
use quasistep_math::Vec3;
use quasistep_record::Frame;
use quasistep_scene::Scene;
use std::fmt::Write;
use std::ops::ControlFlow;

/// A flat square net of `n` × `n` bodies of 10 g, which fall. `rest` is added to its constraints.
fn net(n: usize, pitch: f64, rest: &str) -> String {
    let [half, quarter, overlap, margin] = [0.5, 0.25, 0.02, 0.4].map(|s| s * pitch);
    let g = -196.2 * pitch;
    let mut text = format!(
        "\
format: 1
gravity: [0, 0, {g}]
step: {{duration: 0.16, motion: dynamic, max_overlap: {overlap}, contact_margin: {margin}, max_recovery_speed: {margin}}}
models:
  node:
    repeat: {{grid: [{n}, {n}]}}
    mass: 0.01
    pose: {{xyz: [\"{pitch}*ix\", \"{pitch}*iy\", 0]}}
    shape: {{sphere: {{radius: {quarter}}}}}
constraints:
{rest}"
    );
    for (x, y) in (0..n).flat_map(|y| (0..n).map(move |x| (x, y))) {
        let at = x + n * y;
        for (next, place, inside) in [
            (at + 1, format!("{half}, 0, 0"), x + 1 < n),
            (at + n, format!("0, {half}, 0"), y + 1 < n),
        ] {
            if inside {
                let join = format!("{{connect: [node_{at}, node_{next}], at: [{place}]}}");
                writeln!(text, "  - {join}").expect("strings take all");
            }
        }
    }
    text
}

/// Largest distance between two points that the net joins, in multiples of its pitch.
fn tear(scene: &Scene, frame: &Frame, n: usize, pitch: f64) -> f64 {
    let pose = |x: usize, y: usize| {
        let name = format!("node_{0}/node_{0}", x + n * y);
        frame.X_WB[scene.system.model().body_by_name(&name).expect("a node")]
    };
    let mut most = 0.0_f64;
    for (x, y) in (0..n).flat_map(|y| (0..n).map(move |x| (x, y))) {
        for (dx, dy, way) in [(1, 0, Vec3::X), (0, 1, Vec3::Y)] {
            if x + dx < n && y + dy < n {
                let [a, b] = [pose(x, y), pose(x + dx, y + dy)];
                let arm = way * (0.5 * pitch);
                most = most.max((a.transform_point(arm) - b.transform_point(-arm)).norm());
            }
        }
    }
    most / pitch
}

/// A net that two corners hold falls and swings. It holds together within `max_overlap`, both sides
/// move alike, and it stays within its length of the corners. So it is for nets a thousand times
/// larger and smaller.
#[test]
fn a_net_swings_down_from_its_corners() {
    for (pitch, n) in [(0.05, 4), (0.05, 5), (50.0, 4), (5e-5, 4)] {
        let corners =
            format!("  - {{weld: [world, node_0]}}\n  - {{weld: [world, node_{}]}}\n", n - 1);
        for size in ["0.01", "0.004"] {
            let changes = [("step.size", size)];
            let scene = parse_with(&net(n, pitch, &corners), &changes).unwrap();
            let all = frames(&scene);
            for frame in &all {
                let tear = tear(&scene, frame, n, pitch);
                assert!(tear <= 0.02 * (1.0 + 1e-6), "{n} {pitch} {size} {}: {tear}", frame.t);
            }
            let height = |k: usize| {
                let name = format!("node_{k}/node_{k}");
                let body = scene.system.model().body_by_name(&name).expect("a node");
                all.last().expect("frames").X_WB[body].translation.z / pitch
            };
            let (left, right) = (height(n * (n - 1)), height(n * n - 1));
            let far = (n as f64 - 1.0) * 2.0_f64.sqrt();
            assert!(left < -1.0 && left > -far - 0.2, "{n} {pitch} {size}: {left}");
            assert!((left - right).abs() < 0.1, "{n} {pitch} {size}: {left} {right}");
        }
    }
}

/// What prescribed bodies pull apart is an error that names the constraints.
#[test]
fn a_net_that_is_pulled_apart_is_told() {
    let text = net(3, 0.05, "  - {weld: [puller, node_8]}\n  - {weld: [world, node_0]}\n").replace(
        "constraints:",
        "  puller: {joint: [{slide: x, axis: [1, 0, 0], role: prescribed}], pose: {xyz: [0.1, 0.1, 0]}}
commands: [{joint: puller.x, expr: \"0.1*t\"}]
constraints:",
    );
    let scene = parse_with(&text, &[]).unwrap();
    let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
    let error = outcome.stopped.expect("it cannot go on").to_string();
    assert!(error.contains("constraint"), "{error}");
}
