//! Supports of joints in scenes, and contacts with undetermined loads.

use crate::common::{parse_with, read};
use quasistep_model::{Support, SupportLoad};

const PUCK: &str = "step: {size: 0.05, duration: 1}
models:
  table: {joint: fixed, shape: {half_space: {}}}
  puck:
    joint: planar
    mass: 1
    pose: {xyz: [0, 0, 0.02]}
    shape: {cylinder: {radius: 0.04, length: 0.04}}
";
const DRAWER: &str = "  drawer:
    mass: 1
    pose: {xyz: [1, 0, 0.05]}
    joint: [{slide: x, axis: [1, 0, 0]}]
    shape: {box: {size: [0.2, 0.1, 0.1]}}
";
const FINGER: &str = "  finger:
    pose: {xyz: [0, 0, 0.02]}
    joint: [{slide: x, axis: [1, 0, 0], stiffness: 800, start: -0.08}]
    shape: {sphere: {radius: 0.01}}
";

/// A planar joint on a floor, with a finger beside it, and a drawer in its rails. The message names
/// both bodies, the joint, and a remedy.
#[test]
fn check_names_contacts_whose_load_is_open() {
    for (tail, law) in [("", "convex"), ("", "exact"), (FINGER, "convex"), (FINGER, "exact")] {
        let scene = parse_with(&format!("{PUCK}{tail}"), &[("step.friction", law)]).unwrap();
        let [told] = &scene.blocked_contacts().unwrap()[..] else { panic!("one of {tail}") };
        for word in [
            "`puck/puck`",
            "`table/table`",
            "`puck`",
            "exclude",
            "support: {friction: 0.5, load: weight, spin_radius",
        ] {
            assert!(told.contains(word), "{told}");
        }
        assert_eq!(told.contains("convex friction"), law == "convex", "{told}");
    }
    let told = read(&format!("{PUCK}{DRAWER}")).blocked_contacts().unwrap();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[1].contains("`drawer/drawer`") && told[1].contains("joint `drawer.x`"),
        "{told:?}"
    );
    assert!(!told[1].contains("spin_radius"), "{told:?}");
}

/// The remedy in the message works: the puck resists forces below its friction and moves beyond.
#[test]
fn what_it_says_helps() {
    let advised = "    support: {friction: 0.5, load: weight, spin_radius: 0.03}
collisions: {exclude: [[puck/puck, table/table]]}
";
    for (force, moves) in [("4.8", false), ("5", true)] {
        for law in ["convex", "exact"] {
            let pushed =
                format!("{PUCK}{advised}wrenches: [{{body: puck, force: [{force}, 0, 0]}}]\n");
            let scene = parse_with(&pushed, &[("step.friction", law)]).unwrap();
            assert!(scene.blocked_contacts().unwrap().is_empty());
            let run = scene.run(None, &mut |_| std::ops::ControlFlow::Continue(()));
            let x = run.recording.frames.last().unwrap().q[0];
            assert_eq!(x > 1e-6, moves, "{law}, {force} N: {x}");
        }
    }
}

#[test]
fn shipped_scenes_leave_no_load_open() {
    for name in testkit::scene_files() {
        let scene = testkit::scene(&name, &[]);
        let told = scene.blocked_contacts().unwrap();
        assert!(told.is_empty(), "{name}: {told:?}");
    }
}

#[test]
fn supports_are_read() {
    let support = |text: &str| {
        let scene = read(&format!("models:\n  a:\n    mass: 1\n{text}\n"));
        scene.system.model().bodies().last().unwrap().resistance.support
    };
    let of = |friction, load, spin_radius| Some(Support { friction, load, spin_radius });
    let own = "    joint: planar\n    support: {friction: 0.3, spin_radius: 0.02, load: 4}";
    assert_eq!(support(own), of(0.3, SupportLoad::Newtons(4.0), 0.02));
    // given under the joint's name, which overrides
    let named = format!(
        "{own}\n    joints: {{a: {{support: {{friction: 0.1, spin_radius: 0, load: weight}}}}}}"
    );
    assert_eq!(support(&named), of(0.1, SupportLoad::Weight, 0.0));
    let slide = "    joint: [{slide: x, axis: [1, 0, 0], support: {friction: 0.2}}]";
    assert_eq!(support(slide), of(0.2, SupportLoad::Weight, 0.0));
}

/// Support values are among the parameters with derivatives; another kind of load, or adding
/// friction, is not.
#[test]
fn runs_have_derivatives_by_supports() {
    let scene = |changes: &[(&str, &str)]| {
        let text = "models:
  puck: {joint: planar, mass: 1, support: {friction: 0.3, spin_radius: 0.02, load: 4}}
";
        parse_with(text, changes).unwrap().system
    };
    let base = scene(&[]);
    let between = |key: &str, less: &str, more: &str| {
        let key = format!("models.puck.support.{key}");
        let [less, more] = [less, more].map(|value| scene(&[(&key, value)]));
        base.change_between(&less, &more, 0.02)
    };
    assert!(between("friction", "0.29", "0.31").is_some());
    assert!(between("load", "3.99", "4.01").is_some());
    assert!(between("spin_radius", "0.01", "0.03").is_some());
    assert!(between("load", "4", "weight").is_none());
}
