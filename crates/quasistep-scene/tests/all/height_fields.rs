//! Height fields: bodies on them move as on one body of the same surface, at every step size.

use crate::common::{Folder, expect, parse_with};
use quasistep::{InputChange, Mode, OutputChange, StepInput};
use quasistep_record::Frame;
use quasistep_scene::Scene;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

#[track_caller]
fn parse(text: &str, changes: &[(&str, &str)]) -> Scene {
    parse_with(text, changes).unwrap_or_else(|e| panic!("{changes:?}: {e}"))
}

#[track_caller]
fn end(scene: &Scene) -> Frame {
    let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
    assert_eq!(outcome.stopped, None);
    outcome.recording.frames.last().expect("a run has frames").clone()
}

/// A field of `n` by `n` cells over `size` (m) with these heights (m).
fn field(n: usize, size: f64, z: impl Fn(f64, f64) -> f64) -> String {
    let at = |k: usize| (k as f64 / n as f64 - 0.5) * size;
    let mut text = format!("{{height_field: {{size: [{size}, {size}], base: {size}, heights: [");
    for row in (0..=n).rev() {
        let heights: Vec<String> = (0..=n).map(|k| z(at(k), at(row)).to_string()).collect();
        let _ = write!(text, "[{}], ", heights.join(", "));
    }
    text + "]}}"
}

/// Sum of the forces on all bodies at contacts with the ground: along z, and of their friction, N.
fn forces(frame: &Frame) -> ([f64; 3], f64) {
    let mut sum = [0.0; 3];
    let mut normal = 0.0;
    for c in &frame.contacts {
        for k in 0..3 {
            sum[k] += c.force_W[k];
        }
        normal += c.normal_force;
    }
    (sum, normal)
}

/// A box that a frictionless finger pushes and turns, on ground of the given shape. All lengths are
/// times `scale`.
fn pushed(ground: &str, scale: f64) -> String {
    let m = |x: f64| (x * scale).to_string();
    format!(
        "\
format: 1
step: {{size: 0.01, duration: 0.5, contact_margin: {}, max_overlap: {}, max_recovery_speed: {}}}
models:
  ground: {{joint: fixed, friction: 0.5, {ground}}}
  box:
    mass: 2
    friction: 0.5
    pose: {{xyz: [{}, {}, {}], rpy: [0, 0, 0.2]}}
    shape: {{box: {{size: [{}, {}, {}]}}}}
  finger:
    joint: [{{slide: x, axis: [1, 0.2, 0], role: prescribed}}]
    friction: 0
    pose: {{xyz: [{}, 0, {}]}}
    shape: {{sphere: {{radius: {}}}}}
commands:
  - {{joint: finger.x, expr: \"{}*t\"}}
",
        m(0.02),
        m(0.001),
        m(0.1),
        m(-0.6),
        m(0.03),
        m(0.1),
        m(0.3),
        m(0.2),
        m(0.2),
        m(-0.8),
        m(0.05),
        m(0.04),
        m(0.9),
    )
}

/// A box slides over 400 cells of a level field exactly as over one slab, without a bump.
#[test]
fn a_box_slides_over_a_level_field_as_over_one_box() {
    for scale in [0.001, 1.0, 1000.0] {
        let size = 2.0 * scale;
        let ground = format!("shape: {}", field(20, size, |_, _| 0.0));
        let low = -0.5 * scale;
        let slab = format!(
            "pose: {{xyz: [0, 0, {low}]}}, shape: {{box: {{size: [{size}, {size}, {scale}]}}}}"
        );
        for changes in [
            [("step.size", "0.1"), ("step.friction", "exact")],
            [("step.size", "0.01"), ("step.friction", "exact")],
            [("step.size", "0.001"), ("step.friction", "exact")],
            [("step.size", "0.01"), ("step.friction", "convex")],
            [("step.size", "0.01"), ("step.motion", "dynamic")],
            [("step.size", "0.01"), ("step.cone", "4")],
        ] {
            let [own, want] = [&ground, &slab].map(|shape| {
                let frame = end(&parse(&pushed(shape, scale), &changes));
                (frame.q.clone(), forces(&frame))
            });
            for (a, b) in own.0.iter().zip(&want.0) {
                assert!((a - b).abs() < 1e-6 * scale.max(1e-3), "{scale} {changes:?}: {a} {b}");
            }
            assert!((own.1.1 - want.1.1).abs() < 1e-4, "{scale} {changes:?}: {own:?} {want:?}");
        }
    }
}

/// On an incline a box stays below the slope of friction, and slides above it.
#[test]
fn inclines_hold_what_friction_holds() {
    for (slope, slides) in [(0.45, false), (0.55, true)] {
        let angle = f64::atan(slope);
        let z = 0.1 / angle.cos() + 0.03 * slope;
        let text = format!(
            "\
format: 1
step: {{size: 0.01, duration: 0.5}}
models:
  ground: {{joint: fixed, friction: 0.5, shape: {}}}
  box: {{mass: 2, friction: 0.5, pose: {{xyz: [0.03, 0.02, {z}], rpy: [0, {}, 0]}}, shape: {{box: {{size: [0.3, 0.2, 0.2]}}}}}}
",
            field(16, 3.0, |x, _| slope * x),
            -angle,
        );
        for size in ["0.1", "0.01", "0.001"] {
            for friction in ["exact", "convex"] {
                let scene = parse(&text, &[("step.size", size), ("step.friction", friction)]);
                let frame = end(&scene);
                let travel = 0.03 - frame.q[4];
                assert_eq!(travel > 0.01, slides, "{slope} {size} {friction}: {travel}");
                assert!(slides || travel.abs() < 1e-6, "{slope} {size} {friction}: {travel}");
            }
        }
    }
}

/// A ball in a valley presses on both sides: the forces add up to its weight.
#[test]
fn a_ball_in_a_valley_is_carried_by_both_sides() {
    let slope: f64 = 0.4;
    let text = format!(
        "\
format: 1
step: {{size: 0.01, duration: 1}}
models:
  ground: {{joint: fixed, friction: 0.5, shape: {}}}
  ball: {{mass: 3, friction: 0.5, pose: {{xyz: [0, 0.03, 0.1087]}}, shape: {{sphere: {{radius: 0.1}}}}}}
",
        field(10, 1.0, |x, _| slope * x.abs()),
    );
    for size in ["0.1", "0.01", "0.001"] {
        for changes in
            [("step.friction", "exact"), ("step.friction", "convex"), ("step.motion", "dynamic")]
        {
            let scene = parse(&text, &[("step.size", size), changes]);
            let frame = end(&scene);
            let (sum, normal) = forces(&frame);
            let weight = 3.0 * 9.81;
            // without friction both sides press with mg / (2 cos)
            let most = weight * (1.0 + slope * slope).sqrt();
            assert!((sum[2] - weight).abs() < 1e-3 * weight, "{size} {changes:?}: {sum:?}");
            assert!(normal <= most * 1.001, "{size} {changes:?}: {normal} {most}");
            let height = 0.1 * (1.0 + slope * slope).sqrt();
            assert!((frame.q[6] - height).abs() < 1e-3, "{size} {changes:?}: {:?}", frame.q);
        }
    }
}

/// A box that slides down a roof of many cells, and across its foot onto level ground, moves as on
/// two convex bodies of the same surface, within 1 % of its travel: at the foot it hits the ground.
#[test]
fn ridges_and_feet_of_slopes_are_those_of_convex_bodies() {
    let scene = |ground: &str| {
        format!(
            "\
format: 1
step: {{size: 0.01, duration: 1.2, motion: dynamic}}
models:
  ground: {{joint: fixed, friction: 0.1, {ground}}}
  box: {{mass: 2, friction: 0.1, pose: {{xyz: [0.07, 0.02, 0.54], rpy: [0, 0.4636, 0]}}, shape: {{box: {{size: [0.2, 0.1, 0.1]}}}}}}
"
        )
    };
    let own = format!("shape: {}", field(16, 4.0, |x, _| (0.5 - 0.5 * x.abs()).max(0.0)));
    let roof = "shapes: [{points: [[-1, -2, 0], [1, -2, 0], [0, -2, 0.5], [-1, 2, 0], [1, 2, 0], [0, 2, 0.5]]}, \
                {box: {size: [4, 4, 1]}, pose: {xyz: [0, 0, -0.5]}}]";
    for friction in ["exact", "convex"] {
        for size in ["0.01", "0.001"] {
            let changes = [("step.friction", friction), ("step.size", size)];
            let [own, want] =
                [own.as_str(), roof].map(|ground| end(&parse(&scene(ground), &changes)).q);
            assert!(want[4] > 0.8, "it slid down: {want:?}");
            for (a, b) in own.iter().zip(&want) {
                assert!((a - b).abs() < 0.01 * want[4], "{changes:?}: {own:?} {want:?}");
            }
        }
    }
}

/// Derivatives of a step on uneven ground are those of differences.
#[test]
fn steps_on_uneven_ground_have_derivatives() {
    let text = format!(
        "\
format: 1
step: {{size: 0.01, duration: 1, friction: convex, cone: 4}}
models:
  ground: {{joint: fixed, friction: 0.5, shape: {}}}
  ball: {{mass: 3, friction: 0.5, pose: {{xyz: [0.013, 0.031, 0.112]}}, shape: {{sphere: {{radius: 0.1}}}}}}
  push: {{joint: [{{slide: x, axis: [1, 0, 0], stiffness: 500}}], pose: {{xyz: [-0.15, 0.03, 0.12]}}, mass: 0.2, gravity: false, friction: 0.2, shape: {{sphere: {{radius: 0.05}}}}}}
commands:
  - {{joint: push.x, expr: \"0.2*t\"}}
",
        field(10, 1.0, |x, y| 0.05 * (5.0 * x).sin() + 0.04 * (6.0 * y + x).cos() - 0.04),
    );
    let scene = parse(&text, &[]);
    let system = &scene.system;
    let mut work = system.create_workspace();
    let mut state = scene.start.clone();
    let mut input = StepInput::default();
    for k in 1..=20 {
        scene.sample(f64::from(k) * scene.params.time_step, &mut input);
        system.step_with(&mut state, &input, &scene.params, &mut work).unwrap();
    }
    let mut out = system.create_derivatives();
    system.differentiate(&state, &input, &scene.params, Mode::Exact, &mut out).unwrap();
    let base = out.q_next().to_vec();
    let n_v = system.model().n_v();
    let unit = |k: usize| (0..n_v).map(|i| f64::from(u8::from(i == k))).collect::<Vec<f64>>();
    let mut largest = 0.0_f64;
    for k in 0..n_v {
        let change = InputChange { q: unit(k), ..InputChange::default() };
        let mut got = OutputChange::default();
        out.jvp(system, &change, false, &mut got).unwrap();
        let eps = 1e-6;
        let [plus, minus] = [eps, -eps].map(|step| {
            let mut moved = state.clone();
            system.model().integrate(&state.q, &unit(k), step, &mut moved.q);
            system
                .step_with(&mut moved, &input, &scene.params, &mut system.create_workspace())
                .unwrap();
            let mut dq = vec![0.0; n_v];
            system.model().difference(&base, &moved.q, &mut dq);
            dq
        });
        for i in 0..n_v {
            let want = (plus[i] - minus[i]) / (2.0 * eps);
            let off = (got.q_next[i] - want).abs();
            assert!(off < 1e-4, "dof {i} by {k}: {} {want}", got.q_next[i]);
            largest = if i == k { largest } else { largest.max(want.abs()) };
        }
    }
    assert!(largest > 0.1, "dofs depend on one another: {largest}");
}

#[test]
fn bad_height_fields_are_told() {
    let folder = Folder::new("heights");
    folder.file("text.png", "no picture");
    let at = "models.g.shape.height_field";
    for (shape, place, says) in [
        ("heights: [[0, 0], [0]]", ".heights.1:", "row 1 has 1 heights; the first row has 2"),
        ("heights: [[0, 0]]", ".heights:", "1 × 2 heights; give at least 2 × 2"),
        ("heights: [[0, 0], [0, .nan]]", ".heights.1.1:", "finite"),
        ("heights: [[0, 0], [0, 0]], base: 0", ".base:", "it must be > 0 m"),
        ("heights: [[0, 0], [0, 0]], height: 1", ".height:", "height is for an image"),
        ("image: none.png, height: 1", ".image:", "does not exist"),
        ("image: text.png, height: 1", ".image:", "is no PNG picture"),
        ("image: text.png", ":", "`height` is missing"),
        ("base: 1", ":", "give one of `heights`"),
    ] {
        let text = format!(
            "format: 1\nmodels:\n  g: {{joint: fixed, shape: {{height_field: {{size: [1, 1], {shape}}}}}}}\n"
        );
        let scene = Scene::parse(&text, "scene.yml", "scene", Path::new(&folder.0), &[]);
        expect(scene, &format!("scene.yml:3: {at}{place}"), &[says]);
    }
    let moving = "format: 1\nmodels:\n  g: {mass: 1, inertia: [1, 1, 1], shape: {height_field: {size: [1, 1], heights: [[0, 0], [0, 0]]}}}\n";
    expect(parse_with(moving, &[]), "scene.yml:2:", &["on body `g/g`, which moves"]);
}
