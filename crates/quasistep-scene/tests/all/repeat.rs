//! `repeat:` makes copies of a model whose numbers are expressions.

use crate::common::{complaint, expect, parse_with, read};
use quasistep_geometry::Shape;
use quasistep_scene::Scene;

/// A ball with this `repeat`, and one more line.
fn balls(repeat: &str, line: &str) -> String {
    format!(
        "models:\n  ball:\n    repeat: {repeat}\n    shape: {{sphere: {{radius: 0.1}}}}\n    {line}\n"
    )
}

fn names(scene: &Scene) -> Vec<&str> {
    scene.system.model().bodies().iter().skip(1).map(|b| b.name.as_str()).collect()
}

fn masses(scene: &Scene) -> Vec<f64> {
    scene.system.model().bodies().iter().skip(1).map(|b| b.inertia.mass).collect()
}

#[test]
fn copies_are_numbered_and_differ_by_their_expressions() {
    let scene = read(
        "models:
  box:
    repeat: {count: 3, let: {edge: 0.1*(1 + i), gap: 0.01}}
    pose: {xyz: [i*(edge + gap), -i, n], rpy: [0, 0, pi*i]}
    density: 1000
    friction: \"if(i, 0.2*i, 1)\"
    color: [i/n, 0, 0]
    shape: {box: {size: [edge, 0.1, 0.1]}}
",
    );
    assert_eq!(names(&scene), ["box_0/box_0", "box_1/box_1", "box_2/box_2"]);
    assert_eq!(scene.system.model().coordinate_names()[7], "box_1.qw");
    let geoms = scene.system.geoms();
    assert_eq!(geoms.iter().map(|g| g.surface.mu).collect::<Vec<_>>(), [1.0, 0.2, 0.4]);
    for (k, mass) in masses(&scene).into_iter().enumerate() {
        let edge = 0.1 * (1.0 + k as f64);
        assert!((mass - 10.0 * edge).abs() < 1e-12, "{mass}");
        assert!(matches!(geoms[k].shape, Shape::Box { half } if half[0] == 0.5 * edge));
        let q = &scene.start.q[7 * k..7 * (k + 1)];
        assert_eq!(q[4..], [k as f64 * (edge + 0.01), -(k as f64), 3.0]);
    }
    // copy 1 is rotated by half a turn
    assert!(scene.start.q[7].abs() < 1e-15 && scene.start.q[10].abs() == 1.0);
    assert_eq!(scene.drawing[2].color, [2.0 / 3.0, 0.0, 0.0, 1.0]);
}

#[test]
fn a_grid_counts_its_places() {
    let scene = read(&balls("{grid: [2, 3]}", "mass: 1 + ix + 10*iy + 100*(i - ix - 2*iy) + n"));
    assert_eq!(masses(&scene), [7.0, 8.0, 17.0, 18.0, 27.0, 28.0]);
    let scene = read(&balls("{grid: [2, 1, 2]}", "mass: 1 + ix + 10*iy + 100*iz"));
    assert_eq!(masses(&scene), [1.0, 2.0, 101.0, 102.0]);
}

/// A model of several bodies with drives, children and rules can be copied.
#[test]
fn whole_models_are_copied() {
    let scene = read(
        "models:
  hand:
    repeat: {count: 2}
    joints: {\"*\": {stiffness: 100*(i + 1)}}
    bodies:
      palm: {joint: [{slide: x, axis: [1, 0, 0], start: 0.1*i}]}
      finger: {parent: palm, joint: [{hinge: bend, axis: [0, i, 1], limits: [-1, i]}], shape: {sphere: {radius: 0.1}}}
  tool: {parent: hand_1/finger, joint: fixed, shape: {sphere: {radius: 0.1}}}
  part: {mass: 1, shape: {sphere: {radius: 0.1}}}
commands:
  - {joint: hand_1.bend, constant: 0.5}
collisions: {exclude: [[hand_*, hand_*]]}
friction: {pairs: [{a: hand_*, b: part, mu: 0.9}]}
facts:
  - {count: bodies, value: 6, source: \"two hands of two bodies, a tool, a part\"}
",
    );
    assert_eq!(
        names(&scene),
        ["hand_0/palm", "hand_0/finger", "hand_1/palm", "hand_1/finger", "tool/tool", "part/part"]
    );
    assert_eq!(scene.start.q[..4], [0.0, 0.0, 0.1, 0.0]);
    let quasistep::Role::Actuated(actuator) = &scene.system.roles()[3] else { panic!("a drive") };
    assert_eq!(actuator.stiffness, [200.0]);
    assert_eq!(scene.system.model().limits()[1].upper, 1.0);
    assert!(scene.system.friction(0, 3).mu == 0.9 && scene.system.friction(1, 3).mu == 0.9);
    assert!(!scene.system.may_touch(0, 1));
}

#[test]
fn the_count_is_set_from_the_command_line() {
    let text = balls("{count: 2}", "mass: 1 + i");
    let set = |key: &str, value: &str| parse_with(&text, &[(key, value)]);
    let scene = set("models.ball.repeat.count", "1000").unwrap();
    assert_eq!(scene.system.model().n_v(), 6000);
    assert_eq!(masses(&scene)[999], 1000.0);
    assert_eq!(masses(&set("models.ball.mass", "n - i").unwrap()), [2.0, 1.0]);
    let one = parse_with(
        "models: {a: {mass: 1, shape: {sphere: {radius: 1}}}}\n",
        &[("models.a.repeat.count", "2")],
    );
    assert_eq!(names(&one.unwrap()), ["a_0/a_0", "a_1/a_1"]);
    expect(
        set("models.ball.repeat.count", "1e9"),
        "--set models.ball.repeat.count:",
        &["1000000000 was seen", "from 1 to 10000"],
    );
    expect(set("models.bal.repeat.count", "3"), "--set models.bal", &["there is no model `bal`"]);
    expect(set("models.ball_1.mass", "3"), "--set models.ball_1", &["there is no model `ball_1`"]);
    expect(set("models.ball.mass", "i"), "--set models.ball.mass:", &["`i` = 0", "(in `ball_0`)"]);
}

#[test]
fn random_numbers_are_those_of_their_seed_place_and_copy() {
    let drawn = |repeat: &str, line: &str| masses(&read(&balls(repeat, line)));
    let line = "mass: random(2, 3)";
    let first = drawn("{count: 100, seed: 5}", line);
    assert!(first.iter().all(|m| (2.0..3.0).contains(m)));
    // the mean of 100 draws has a standard deviation of 0.029
    let mean = first.iter().sum::<f64>() / 100.0;
    assert!((mean - 2.5).abs() < 0.1, "{mean}");
    let mut distinct = first.clone();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    assert_eq!(distinct.len(), 100);
    // random values do not depend on the number of copies or on other lines, but on the seed
    assert_eq!(drawn("{count: 100, seed: 5}", line), first);
    assert_eq!(
        drawn("{count: 7, seed: 5}", &format!("{line}\n    friction: random(0, 1)")),
        first[..7]
    );
    assert_ne!(drawn("{count: 7, seed: 6}", line), first[..7]);
    assert_eq!(drawn("{count: 7, seed: 0}", line), drawn("{count: 7}", line));
    // two calls in one expression give two numbers; a name has one value
    let spread = drawn("{count: 50}", "mass: 1 + abs(random(0, 1) - random(0, 1))");
    assert!(spread.iter().all(|m| *m > 1.0));
    let same = drawn("{count: 50, let: {r: \"random(0, 1)\"}}", "mass: 1 + abs(r - r)");
    assert!(same.iter().all(|m| *m == 1.0));
    // the first number, computed by SplitMix64 in another language: a change would alter all scenes
    assert_eq!(first[0], 2.006450166181623);
}

#[test]
fn mistakes_in_a_repeat_are_named() {
    let wrong = |repeat: &str, key: &str, words: &[&str]| {
        let place = format!("scene.yml:3: models.ball.repeat{key}:");
        complaint(&balls(repeat, "mass: 1"), &place, words);
    };
    wrong("{cuont: 3}", ".cuont", &["unknown key `cuont`", "did you mean `count`", "`grid`"]);
    wrong("3", "", &["`3` was seen", "`count`"]);
    wrong("{seed: 3}", "", &["neither `count` nor `grid`"]);
    wrong("{count: 3, grid: [1]}", ".grid", &["`count` and `grid`", "one of them"]);
    for bad in ["0", "-1", "2.5", "10001", "1e300"] {
        wrong(&format!("{{count: {bad}}}"), ".count", &["whole number from 1 to 10000"]);
        wrong(&format!("{{grid: [1, {bad}]}}"), ".grid.1", &["whole number from 1 to 10000"]);
    }
    wrong("{count: n}", ".count", &["`n` was seen", "plain number"]);
    wrong("{count: nan}", ".count", &["nan", "finite"]);
    wrong("{grid: [100, 100, 2]}", ".grid", &["20000 copies", "at most 10000"]);
    wrong("{grid: []}", ".grid", &["0 numbers", "along x"]);
    wrong("{grid: [1, 1, 1, 1]}", ".grid", &["4 numbers"]);
    wrong("{count: 1, seed: -1}", ".seed", &["whole number from 0"]);
    wrong("{count: 1, let: 3}", ".let", &["`3` was seen", "mapping"]);
    wrong("{count: 1, let: {i: 3}}", ".let.i", &["meaning of its own"]);
    wrong("{count: 1, let: {sin: 3}}", ".let.sin", &["meaning of its own"]);
    wrong("{count: 1, let: {a b: 3}}", ".let.a b", &["`a b`", "letters, digits"]);
    wrong("{count: 2, let: {a: b, b: 1}}", ".let.a", &["unknown name `b`", "`i`", "(in `ball_0`)"]);
    wrong("{count: 2, let: {a: 1/(i - 1)}}", ".let.a", &["= inf", "finite", "(in `ball_1`)"]);
}

#[test]
fn mistakes_in_an_expression_of_a_copy_are_named() {
    let wrong = |line: &str, key: &str, words: &[&str]| {
        let place = format!("scene.yml:5: models.ball.{key}:");
        complaint(&balls("{count: 3}", line), &place, words);
    };
    wrong("mass: 2 - i", "mass", &["`2 - i` = 0 was seen", "> 0 kg", "(in `ball_2`)"]);
    wrong("mass: 1/i", "mass", &["`1/i` = inf", "finite", "(in `ball_0`)"]);
    wrong("mass: 1 + j", "mass", &["unknown name `j`", "`i`", "`n`", "`random`"]);
    wrong("mass: 1 + ix", "mass", &["unknown name `ix`"]);
    wrong("mass: 1 + t", "mass", &["unknown name `t`"]);
    wrong("mass: 5 kg", "mass", &["column 3", "plain number in kg"]);
    wrong("mass: random(1)", "mass", &["`random` takes 2 arguments"]);
    wrong("mass: nan", "mass", &["nan", "finite"]);
    wrong("maas: 1", "maas", &["did you mean `mass`"]);
    wrong("pose: {xyz: [0, i, mod(i, 2)]}", "pose.xyz.2", &["the end was seen", "`)`"]);
    wrong("friction: -i", "friction", &["`-i` = -1", "≥ 0", "(in `ball_1`)"]);
    // a text value is not an expression
    wrong("parent: i", "parent", &["unknown body `i`"]);
    // a model without `repeat` has no expressions
    complaint(
        "models:\n  a: {mass: 1 + 1}\n",
        "scene.yml:2: models.a.mass:",
        &["`1 + 1`", "plain"],
    );
}

#[test]
fn names_of_copies_are_taken() {
    let text = format!("{}  ball_1: {{mass: 1}}\n", balls("{count: 3}", "mass: 1"));
    complaint(&text, "scene.yml:6: models.ball_1:", &["ball_1"]);
    let text = format!("{}  b: {{parent: ball, mass: 1}}\n", balls("{count: 3}", "mass: 1"));
    complaint(&text, "scene.yml:6: models.b.parent:", &["unknown body `ball`", "ball_0"]);
}

/// Copies without mass give one warning, not one each.
#[test]
fn a_warning_about_all_copies_is_given_once() {
    assert_eq!(read(&balls("{count: 5}", "gravity: true")).warnings.len(), 1);
}

/// An error that lists valid names is cut short among a thousand bodies.
#[test]
fn long_lists_of_names_are_cut() {
    let text = format!(
        "{}wrenches:\n  - {{body: ball_10000, force: [0, 0, 1]}}\n",
        balls("{count: 1000}", "mass: 1")
    );
    let error = parse_with(&text, &[]).expect_err("a mistake").to_string();
    assert!(error.contains("the nearest of 1001") && error.contains("`ball_1/ball_1`"), "{error}");
    assert!(error.len() < 500, "{error}");
}
