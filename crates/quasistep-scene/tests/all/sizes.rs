//! Expressions that use the bounding box of a body, for grippers that adapt to an object.

use quasistep::StepInput;
use quasistep_scene::{Scene, SceneError};
use std::path::Path;

fn parse(text: &str) -> Result<Scene, SceneError> {
    Scene::parse(text, "scene.yml", "scene", Path::new("."), &[])
}

#[track_caller]
fn read(text: &str) -> Scene {
    parse(text).unwrap_or_else(|e| panic!("{e}"))
}

#[track_caller]
fn complaint(text: &str, place: &str, words: &[&str]) {
    let error = parse(text).expect_err("a mistake").to_string();
    assert!(error.starts_with(place), "`{error}` does not start with `{place}`");
    for word in words {
        assert!(error.contains(word), "`{error}` does not say `{word}`");
    }
}

const BOX: &str =
    "models:\n  a: {mass: 1, pose: {xyz: [1, 2, 3]}, shape: {box: {size: [0.2, 0.4, 0.6]}}}\n";

/// Start positions of slides along x, one for each text.
fn values(models: &str, texts: &[&str]) -> Vec<f64> {
    let slides: Vec<String> = texts
        .iter()
        .enumerate()
        .map(|(k, text)| format!("{{slide: s{k}, axis: [1, 0, 0], start: \"{text}\"}}"))
        .collect();
    let scene =
        read(&format!("{models}  probe:\n    mass: 1\n    joint: [{}]\n", slides.join(", ")));
    let n = scene.start.q.len();
    scene.start.q[n - texts.len()..].to_vec()
}

#[track_caller]
fn expect(models: &str, cases: &[(&str, f64)]) {
    let texts: Vec<&str> = cases.iter().map(|(text, _)| *text).collect();
    for ((text, want), got) in cases.iter().zip(values(models, &texts)) {
        assert!((got - want).abs() < 1e-12, "{text} is {got}, expected {want}");
    }
}

#[test]
fn every_side_of_a_box_has_a_name() {
    expect(
        BOX,
        &[
            ("a.min_x", 0.9),
            ("a.max_x", 1.1),
            ("a.min_y", 1.8),
            ("a.max_y", 2.2),
            ("a.min_z", 2.7),
            ("a.max_z", 3.3),
            ("0.5*(a.min_x + a.max_x) - 1e-1", 0.9),
            ("max(a.max_y, a.max_z)/3", 1.1),
        ],
    );
}

/// Boxes are at the start pose of bodies: poses, joints of every kind with their starts, and
/// parents.
#[test]
fn boxes_are_in_the_world_where_bodies_start() {
    let quarter = std::f64::consts::FRAC_PI_2;
    let shape = "shape: {box: {size: [0.2, 0.4, 0.6]}}";
    let of = |body: &str| format!("models:\n  a: {{mass: 1, {body}, {shape}}}\n");
    let sides = |x: f64, y: f64, z: f64| [("a.max_x", x), ("a.max_y", y), ("a.max_z", z)];
    // a quarter turn about z exchanges x and y
    expect(
        &of(&format!("pose: {{xyz: [1, 0, 0], rpy: [0, 0, {quarter}]}}")),
        &sides(1.2, 0.1, 0.3),
    );
    expect(
        &of(&format!("start: {{xyz: [1, 0, 0], rpy: [0, 0, {quarter}]}}")),
        &sides(1.2, 0.1, 0.3),
    );
    expect(&of(&format!("joint: planar, start: [1, 2, {quarter}]")), &sides(1.2, 2.1, 0.3));
    expect(&of(&format!("joint: ball, start: {{rpy: [{quarter}, 0, 0]}}")), &sides(0.1, 0.3, 0.2));
    let chain = format!(
        "joint: [{{slide: x, axis: [2, 0, 0]}}, {{hinge: h, axis: [0, 0, 1]}}], start: [0.5, {quarter}], \
         pose: {{xyz: [0, 0, 1]}}"
    );
    expect(&of(&chain), &sides(0.7, 0.1, 1.3));
    let models = format!(
        "models:\n  g:\n    bodies:\n      hand: {{joint: [{{slide: z, axis: [0, 0, 1], start: 2}}]}}\n      \
         tip: {{parent: hand, joint: fixed, pose: {{xyz: [0, 1, 0]}}, {shape}}}\n"
    );
    expect(&models, &[("g.tip.min_z", 1.7), ("g.tip.max_y", 1.2)]);
}

#[test]
fn shapes_of_a_body_count_together_if_they_touch() {
    let models = "models:\n  a:\n    mass: 1\n    shapes:\n      - {sphere: {radius: 0.1}}\n      \
                  - {sphere: {radius: 0.1}, pose: {xyz: [1, 0, 0]}}\n      \
                  - {sphere: {radius: 9}, collision: false}\n";
    expect(models, &[("a.min_x", -0.1), ("a.max_x", 1.1)]);
}

#[test]
fn copies_and_their_neighbours_may_use_them() {
    let models = "models:\n  a: {mass: 1, repeat: {count: 3}, pose: {xyz: [i, 0, 0]}, shape: {sphere: {radius: 0.1}}}\n";
    expect(models, &[("a_2.max_x", 2.1)]);
    let text = format!(
        "{BOX}  b: {{mass: 1, repeat: {{count: 2}}, joint: [{{slide: x, axis: [1, 0, 0], start: a.max_x + i}}]}}\n"
    );
    let q = read(&text).start.q;
    assert!((q[7] - 1.1).abs() < 1e-15 && (q[8] - 2.1).abs() < 1e-15, "{q:?}");
}

#[test]
fn commands_and_wrenches_may_use_them() {
    let text = format!(
        "{BOX}  f: {{joint: [{{slide: x, axis: [1, 0, 0], role: prescribed}}, {{slide: y, axis: [0, 1, 0], role: prescribed}}]}}\n\
         commands:\n  - {{joint: f.x, expr: a.min_x - 0.1*t}}\n  - {{joint: f.y, constant: a.max_z}}\n\
         wrenches:\n  - {{body: a, force: [\"a.max_y*t\", 0, 0], at: [0, 0, a.max_x]}}\n"
    );
    let scene = read(&text);
    let mut input = StepInput::default();
    scene.sample(2.0, &mut input);
    assert!((input.q_cmd[0] - 0.7).abs() < 1e-12 && (input.q_cmd[1] - 3.3).abs() < 1e-12);
    assert!((input.wrenches[0].force_W.x - 4.4).abs() < 1e-12);
    assert!((input.wrenches[0].p_B.z - 1.1).abs() < 1e-12);
}

#[test]
fn mistakes_are_named() {
    complaint(
        &format!("{BOX}  b: {{mass: a.max_q}}\n"),
        "scene.yml:3: models.b.mass:",
        &["unknown name `a.max_q`", "did you mean `a.max_x`"],
    );
    // errors: a half-space is unbounded, a later body is not known yet, and a body cannot use its
    // own size
    for text in [
        "models:\n  a: {joint: fixed, shape: {half_space: {}}}\n  b: {mass: a.max_x}\n",
        "models:\n  x: {mass: 1}\n  b: {mass: a.max_x}\n  a: {mass: 1, shape: {sphere: {radius: 1}}}\n",
        "models:\n  x: {mass: 1}\n  b: {mass: b.max_x, shape: {sphere: {radius: 1}}}\n",
    ] {
        complaint(text, "scene.yml:3: models.b.mass:", &["unknown name"]);
    }
    complaint(
        &format!("{BOX}  b: {{mass: -a.max_x}}\n"),
        "scene.yml:3: models.b.mass:",
        &["> 0 kg"],
    );
    complaint(
        &format!("{BOX}  b: {{mass: a.max_x/0}}\n"),
        "scene.yml:3: models.b.mass:",
        &["finite"],
    );
    complaint(
        &format!("{BOX}step: {{size: a.max_x}}\n"),
        "scene.yml:3: step.size:",
        &["plain number"],
    );
    // numbers without body names stay plain
    complaint(&format!("{BOX}  b: {{mass: 1 + 1}}\n"), "scene.yml:3: models.b.mass:", &["unit"]);
    complaint(
        &format!("{BOX}commands: [{{joint: f, expr: a.max_q}}]\n"),
        "scene.yml:3: commands.0.joint:",
        &["unknown joint"],
    );
}
