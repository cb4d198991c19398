//! Every setting of a scene is used or refused; none is silently ignored.

use crate::common::{complaint, expect, parse_with, read};

const SLIDER: &str = "models:\n  f: {joint: [{slide: x, axis: [1, 0, 0], stiffness: 10}]}\n";
const BALL: &str = "models:\n  ball: {shape: {sphere: {radius: 0.1}}, mass: 1}\n";

/// An error about a block names the line of its key, not the line below it.
#[test]
fn a_complaint_about_a_block_names_the_line_of_its_key() {
    let text = format!("{BALL}step:\n  size: 0.1\nsteep:\n  size: 0.1\n");
    complaint(&text, "scene.yml:5: steep:", &["did you mean `step`"]);
    complaint(
        "models:\n  ball:\n    shape:\n      ball:\n        radius: 1\n",
        "scene.yml:4: models.ball.shape.ball:",
        &["unknown key `ball`"],
    );
}

#[test]
fn yaml_features_that_would_confuse_are_refused() {
    complaint("models: &m\n  a: {mass: 1}\nfacts: *m\n", "scene.yml:3:", &["alias"]);
    complaint(&format!("{BALL}---\n{BALL}"), "scene.yml:3:", &["second document"]);
    complaint("- models\n", "scene.yml:1:", &["mapping"]);
    // 100 000 brackets must not overflow the stack
    complaint(&format!("models: {}", "[".repeat(100_000)), "scene.yml:1:", &[]);
}

#[test]
fn the_promised_cone_and_formulation_are_checked() {
    for odd in ["3", "0", "-2", "2.5", "4000"] {
        let text = format!("{BALL}step: {{cone: {odd}}}\n");
        complaint(&text, "scene.yml:3: step.cone:", &["even number of edges"]);
    }
    assert!(parse_with(&format!("{BALL}step: {{cone: round}}\n"), &[]).is_ok());
    let text = format!("{BALL}step: {{cone: rond}}\n");
    complaint(&text, "scene.yml:3: step.cone:", &["`rond`", "`round`", "even number"]);
    let text = format!("{BALL}step: {{friction: exakt}}\n");
    complaint(&text, "scene.yml:3: step.friction:", &["`exakt`", "`exact`"]);
    let text = format!("{BALL}step: {{inertia: masss}}\n");
    complaint(&text, "scene.yml:3: step.inertia:", &["did you mean `mass`"]);
}

#[test]
fn a_format_of_the_future_is_refused() {
    assert!(parse_with(&format!("format: 1\n{BALL}"), &[]).is_ok());
    complaint(&format!("format: 2\n{BALL}"), "scene.yml:1: format:", &["`2`", "format 1"]);
}

/// A typing mistake in `--set` is an error, and does not create a new body.
#[test]
fn an_override_changes_what_exists() {
    expect(
        parse_with(BALL, &[("models.bal.mass", "2")]),
        "--set models.bal.mass:",
        &["no model `bal`"],
    );
    expect(
        parse_with(BALL, &[("models.*.joints.*.damping", "0")]),
        "--set models.*.joints.*.damping:",
        &["fits nothing"],
    );
    let scene = parse_with(BALL, &[("models.ball.mass", "2"), ("gravity", "[0, 0, -1]")]).unwrap();
    let model = scene.system.model();
    assert_eq!(model.body(1).inertia.mass, 2.0);
    assert_eq!(scene.params.gravity, [0.0, 0.0, -1.0]);
    // a whole model may be set; list indices start at 0
    let scene = parse_with(SLIDER, &[("models.g", "{mass: 1, joint: ball}")]).unwrap();
    assert_eq!(scene.system.model().n_v(), 4);
    let scene = parse_with(SLIDER, &[("models.f.joint.0.start", "0.25")]).unwrap();
    assert_eq!(scene.start.q, [0.25]);
    expect(
        parse_with(SLIDER, &[("models.f.joint.3.start", "0")]),
        "--set models.f.joint.3.start:",
        &["no index of a list of 1"],
    );
}

#[test]
fn keys_that_a_kind_of_model_does_not_use_are_refused() {
    complaint("models:\n  r: {urdf: r.urdf, mass: 1}\n", "scene.yml:2: models.r.mass:", &[]);
    complaint(
        "models:\n  m:\n    mass: 1\n    bodies: {a: {mass: 1}}\n",
        "scene.yml:3: models.m.mass:",
        &["unknown key `mass`"],
    );
    complaint("models:\n  a/b: {mass: 1}\n", "scene.yml:2: models.a/b:", &["no `/`"]);
    complaint("models:\n  world: {mass: 1}\n", "scene.yml:2: models.world:", &["never moves"]);
}

#[test]
fn a_free_body_starts_in_one_place() {
    complaint(
        "models:\n  a:\n    mass: 1\n    pose: {xyz: [0, 0, 1]}\n    start: {xyz: [0, 0, 2]}\n",
        "scene.yml:4: models.a.pose:",
        &["`pose` and `start`", "give one"],
    );
    let scene = read("models:\n  a: {mass: 1, start: {xyz: [0, 0, 2], quat: [0, 0, 0, 1]}}\n");
    assert_eq!(scene.start.q, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0]);
    complaint(
        "models:\n  a:\n    mass: 1\n    start: {quat: [1, 1, 0, 0]}\n",
        "scene.yml:4: models.a.start.quat:",
        &["length 1.414", "must be 1"],
    );
}

#[test]
fn several_joints_have_one_start_each() {
    let joints = "[{slide: x, axis: [1, 0, 0]}, {slide: z, axis: [0, 0, 1]}]";
    let scene = read(&format!("models:\n  a: {{mass: 1, joint: {joints}, start: [0.5, -2]}}\n"));
    assert_eq!(scene.start.q, [0.5, -2.0]);
    complaint(
        &format!("models:\n  a:\n    mass: 1\n    joint: {joints}\n    start: [1]\n"),
        "scene.yml:5: models.a.start:",
        &["1 start values", "2 slides and hinges"],
    );
    complaint(
        "models:\n  a:\n    mass: 1\n    joint: planar\n    start: [1, 2]\n",
        "scene.yml:",
        &["2 start values", "has 3"],
    );
}

#[test]
fn friction_and_colour_of_one_body_are_used() {
    let scene = read(
        "models:
  m:
    friction: 0.2
    color: [1, 0, 0]
    bodies:
      a: {mass: 1, shape: {sphere: {radius: 1}}}
      b: {mass: 1, shape: {sphere: {radius: 1}}, friction: 0.9, color: [0, 1, 0, 0.5]}
",
    );
    let geoms = scene.system.geoms();
    assert_eq!((geoms[0].surface.mu, geoms[1].surface.mu), (0.2, 0.9));
    assert_eq!(scene.drawing[0].color, [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(scene.drawing[1].color, [0.0, 1.0, 0.0, 0.5]);
    complaint(
        "models:\n  m:\n    bodies:\n      a: {mass: 1, friction: -1}\n",
        "scene.yml:4: models.m.bodies.a.friction:",
        &["-1", "≥ 0"],
    );
    complaint(
        "models:\n  m: {mass: 1, color: [255, 0, 0]}\n",
        "scene.yml:2: models.m.color:",
        &["255", "each 0 to 1"],
    );
}

#[test]
fn an_effort_limit_without_a_drive_is_refused() {
    complaint(
        "models:\n  f:\n    mass: 1\n    joint: [{slide: x, axis: [1, 0, 0], effort_limit: 5}]\n",
        "scene.yml:4: models.f.joint.0:",
        &["passive", "give `stiffness` too"],
    );
    complaint(
        "models:\n  f: {mass: 1, joint: fixed, joints: {f: {stiffness: 5}}}\n",
        "scene.yml:2: models.f.joint:",
        &["fixed joint"],
    );
}

#[test]
fn each_coordinate_has_one_command() {
    let wrong = |commands: &str, place: &str, words: &[&str]| {
        complaint(
            &format!(
                "models:\n  g: {{mass: 1, joints: {{g: {{role: prescribed}}}}}}\ncommands:\n{commands}"
            ),
            place,
            words,
        );
    };
    wrong(
        "  - {joint: g.x, constant: 1}\n  - {joint: g.x, constant: 2}\n",
        "scene.yml:5: commands.1:",
        &["`g.x` is commanded twice"],
    );
    wrong(
        "  - {joint: g.x, constant: 1}\n  - {joint: g, pose: {xyz: [0, 0, t]}}\n",
        "scene.yml:5: commands.1.pose.xyz:",
        &["`g.x` is commanded twice"],
    );
    wrong(
        "  - {joint: g, pose: {rpy: [0, 0, t]}}\n  - {joint: g, pose: {rpy: [0, 0, t]}}\n",
        "scene.yml:5: commands.1.pose.rpy:",
        &["commanded twice"],
    );
    wrong(
        "  - {joint: g.qw, constant: 1}\n",
        "scene.yml:4: commands.0.joint:",
        &["part of an orientation", "pose"],
    );
    wrong(
        "  - {joint: g.x, constant: 1, linear: {t: [0], values: [0]}}\n",
        "scene.yml:4: commands.0:",
        &["2 kinds of command"],
    );
    wrong(
        "  - {joint: g, pose: {xyz: [0, 0]}}\n",
        "scene.yml:4: commands.0.pose.xyz:",
        &["2 values", "give 3"],
    );
}

/// An expression that is not finite at some step is found before the run.
#[test]
fn expressions_are_finite_at_every_step() {
    let text = format!(
        "step: {{size: 0.1, duration: 2}}\n{SLIDER}commands:\n  - {{joint: f.x, expr: \"log(1.55-t)\"}}\n"
    );
    complaint(&text, "scene.yml:5: commands.0.expr:", &["NaN", "t = 1.6 s", "finite"]);
    let text = format!(
        "step: {{size: 0.1}}\n{BALL}wrenches:\n  - {{body: ball, force: [0, 0, \"1/(t-0.5)\"]}}\n"
    );
    complaint(&text, "scene.yml:5: wrenches.0.force.2:", &["inf", "t = 0.5 s"]);
}

#[test]
fn wrenches_name_bodies_and_push() {
    let text = format!("{BALL}wrenches:\n  - {{body: bell, force: [0, 0, 1]}}\n");
    complaint(&text, "scene.yml:4: wrenches.0.body:", &["unknown body `bell`", "`ball/ball`"]);
    let text = format!("{BALL}wrenches:\n  - {{body: ball}}\n");
    complaint(&text, "scene.yml:4: wrenches.0:", &["`force`", "`torque`"]);
    let text = format!("{BALL}wrenches:\n  - {{body: ball, force: [0, 1]}}\n");
    complaint(&text, "scene.yml:4: wrenches.0.force:", &["2 values", "give 3"]);
}

#[test]
fn cubic_segments_follow_one_another() {
    let cubic = |segments: &str| {
        parse_with(
            &format!("{SLIDER}commands:\n  - joint: f.x\n    cubic:\n      segments: {segments}\n"),
            &[],
        )
    };
    assert!(cubic("[{t: [0, 1], values: [0, 1]}, {t: [1, 2], values: [1, 0]}]").is_ok());
    expect(cubic("[]"), "scene.yml:5: commands.0.cubic:", &["no segments"]);
    expect(
        cubic("[{t: [0, 1], values: [0, 1]}, {t: [0.5, 2], values: [1, 0]}]"),
        "scene.yml:5: commands.0.cubic:",
        &["segment 1 ends at 1 s", "segment 2 starts at 0.5 s"],
    );
}

#[test]
fn patterns_that_fit_nothing_are_refused() {
    let text = format!("{BALL}collisions: {{exclude: [[ball, flor]]}}\n");
    complaint(&text, "scene.yml:3: collisions.exclude.0.1:", &["`flor`"]);
    let text = format!("{BALL}friction: {{pairs: [{{a: bal/*, b: \"*\", mu: 1}}]}}\n");
    complaint(&text, "scene.yml:3: friction.pairs.0.a:", &["`bal/*`"]);
    let text = format!("{BALL}friction: {{default: -0.5}}\n");
    complaint(&text, "scene.yml:3: friction.default:", &["-0.5", "≥ 0"]);
    let text = format!("{BALL}friction: {{default: {{mu: 1, spin: 0.1}}}}\n");
    complaint(&text, "scene.yml:3: friction.default.spin:", &["`mu_spin`"]);
    let text = format!("{BALL}friction: {{default: {{mu_roll: -1}}}}\n");
    complaint(&text, "scene.yml:3: friction.default.mu_roll:", &["-1", "≥ 0 m"]);
    let text = format!("{BALL}friction: {{pairs: [{{a: ball, b: \"*\"}}]}}\n");
    complaint(&text, "scene.yml:3: friction.pairs.0:", &["`patch_radius`"]);
    let text = format!("{BALL}friction: {{default: {{patch_radius: 1, spin_radius: 1}}}}\n");
    complaint(&text, "scene.yml:3: friction.default.spin_radius:", &["`patch_radius`", "one of"]);
    let text = format!("{BALL}friction: {{default: {{restitution: 1.5}}}}\n");
    complaint(&text, "scene.yml:3: friction.default.restitution:", &["1.5", "0 to 1"]);
    let text = format!("{BALL}friction: {{default: {{patch: edges}}}}\n");
    complaint(&text, "scene.yml:3: friction.default.patch:", &["edges", "`corners`"]);
}

/// A fact about a body that does not exist is an error.
#[test]
fn facts_speak_of_what_exists() {
    let fact = |fact: &str| parse_with(&format!("{BALL}facts:\n  - {{{fact}}}\n"), &[]);
    let rest = "value: 0, tolerance: 1, source: own";
    expect(
        fact(&format!("at: 1, normal_force: [ball, flor], {rest}")),
        "scene.yml:4: facts.0.normal_force.1:",
        &["unknown body `flor`"],
    );
    expect(
        fact(&format!("at: 1, coordinate: ball.xx, {rest}")),
        "scene.yml:4: facts.0.coordinate:",
        &["unknown coordinate `ball.xx`", "`ball.x`"],
    );
    expect(
        fact("at: 1, height: ball/ball, value: 0, source: own"),
        "scene.yml:4: facts.0:",
        &["`tolerance` is missing"],
    );
    expect(
        fact("at: 1, height: ball/ball, value: 0, tolerance: 1"),
        "scene.yml:4: facts.0:",
        &["`source` is missing"],
    );
}

#[test]
fn what_looks_odd_is_a_warning() {
    let warning = |text: &str| read(text).warnings.join("; ");
    assert!(warning(BALL).is_empty());
    let massless = warning("models:\n  a: {shape: {sphere: {radius: 1}}}\n");
    assert!(massless.contains("scene.yml:2") && massless.contains("no mass"), "{massless}");
    let outside = warning(
        "models:\n  a: {mass: 1, joint: [{slide: x, axis: [1, 0, 0], limits: [0, 1], start: 2}]}\n",
    );
    assert!(outside.contains("`a.x` starts at 2") && outside.contains("[0, 1]"), "{outside}");
}
