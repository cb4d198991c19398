//! Commands of frames: joints move them along straight lines, and errors report where that becomes
//! impossible.

use crate::common::{complaint, parse_with};
use quasistep::StepInput;
use quasistep_math::{Pose, Quat, Vec3};
use quasistep_scene::Scene;

/// Six hinges; the axes of the last three meet in a wrist. The hand is 0.1 m beyond it.
const ARM: &str = "models:
  arm:
    gravity: false
    joints: {\"*\": {stiffness: 100, limits: [-3, 3]}}
    bodies:
      a: {joint: [{hinge: j1, axis: [0, 0, 1]}], pose: {xyz: [0, 0, 0.2]}}
      b: {joint: [{hinge: j2, axis: [0, 1, 0], start: 0.4}], parent: a}
      c: {joint: [{hinge: j3, axis: [0, 1, 0], start: 1.2}], parent: b, pose: {xyz: [0, 0, 0.4]}}
      d: {joint: [{hinge: j4, axis: [0, 0, 1], start: 0.2}], parent: c, pose: {xyz: [0, 0, 0.4]}}
      e: {joint: [{hinge: j5, axis: [0, 1, 0], start: 0.9}], parent: d}
      hand: {joint: [{hinge: j6, axis: [0, 0, 1]}], parent: e}
  lift: {joint: [{slide: z, axis: [0, 0, 1], stiffness: 10}]}
commands:
";

/// World pose of the tip, 0.1 m beyond the hand, with joints at their commands for time `t` (s).
fn tip(scene: &Scene, t: f64) -> Pose {
    let (system, mut input) = (&scene.system, StepInput::default());
    scene.sample(t, &mut input);
    let model = system.model();
    let mut q = scene.start.q.clone();
    let commanded = system.commanded().iter().flat_map(|&b| model.body(b).q.clone());
    for (i, x) in commanded.zip(&input.q_cmd) {
        q[i] = *x;
    }
    let mut kin = model.create_kinematics();
    model.kinematics(&q, &mut kin);
    kin.X_WB[model.body_by_name("arm/hand").unwrap()] * Pose::from_translation(Vec3::Z * 0.1)
}

fn angle(a: &Pose, b: &Pose) -> f64 {
    (a.rotation * b.rotation.inverse()).to_rotation_vector().norm()
}

#[test]
fn a_frame_goes_straight_from_knot_to_knot_within_its_tolerance() {
    for (tolerance, timing) in [(1e-3, "linear"), (1e-5, "linear"), (1e-5, "smooth")] {
        let text = format!(
            "{ARM}  - {{frame: arm/hand, at: {{xyz: [0, 0, 0.1]}}, tolerance: {tolerance}, timing: {timing}, \
             knots: [[1, {{}}], [2, {{xyz: [0.45, 0.2, 0.3]}}], [4, {{xyz: [0.5, -0.1, 0.4], rpy: [3, 0.2, 0.4]}}]]}}\n"
        );
        let scene = parse_with(&text, &[]).unwrap();
        let start = tip(&scene, 0.0);
        let first = Pose::new(start.rotation, Vec3::new(0.45, 0.2, 0.3));
        let second = Pose::from_xyz_rpy([0.5, -0.1, 0.4], [3.0, 0.2, 0.4]);
        let turn = (second.rotation * first.rotation.inverse()).to_rotation_vector();
        let eased = |s: f64| if timing == "smooth" { s * s * (3.0 - 2.0 * s) } else { s };
        for k in 0..=500 {
            let t = 5.0 * f64::from(k) / 500.0;
            let want = if t <= 2.0 {
                let s = eased((t - 1.0).clamp(0.0, 1.0));
                let way = first.translation - start.translation;
                Pose::new(start.rotation, start.translation + way * s)
            } else {
                let s = eased(((t - 2.0) / 2.0).min(1.0));
                let way = second.translation - first.translation;
                let rotation = Quat::from_rotation_vector(turn * s) * first.rotation;
                Pose::new(rotation, first.translation + way * s)
            };
            let X = tip(&scene, t);
            let off = (X.translation - want.translation).norm();
            // between the sampled points the deviation may be slightly larger
            assert!(off <= 1.2 * tolerance, "t = {t}: {off} m off");
            assert!(angle(&X, &want) <= 1.2 * tolerance, "t = {t}: {} rad off", angle(&X, &want));
        }
    }
}

#[test]
fn an_arm_carries_its_tool() {
    let tool = "  tool: {parent: arm/hand, joint: fixed, pose: {xyz: [0, 0, 0.1]}}\ncommands:\n";
    let text = format!(
        "{}  - {{frame: tool, knots: [[0, {{}}], [1, {{xyz: [0.45, 0.2, 0.3]}}]]}}\n",
        ARM.replace("commands:\n", tool)
    );
    let scene = parse_with(&text, &[]).unwrap();
    let X = tip(&scene, 1.0);
    assert!((X.translation - Vec3::new(0.45, 0.2, 0.3)).norm() < 1e-5);
}

#[test]
fn other_joints_keep_their_own_commands() {
    let text = format!(
        "{ARM}  - {{joint: lift.z, expr: 0.1*t}}\n  - {{joint: arm.j6, constant: 0.3}}\n  \
         - {{frame: arm/hand, orientation: free, joints: [arm.j1, arm.j2, arm.j3], \
         knots: [[0, {{}}], [1, {{xyz: [0.4, 0.2, 0.4]}}]]}}\n"
    );
    let scene = parse_with(&text, &[]).unwrap();
    let mut input = StepInput::default();
    scene.sample(1.0, &mut input);
    let q0 = &scene.start.q;
    assert_eq!((input.q_cmd[3], input.q_cmd[4]), (q0[3], q0[4]));
    assert_eq!((input.q_cmd[5], input.q_cmd[6]), (0.3, 0.1));
    let hand = tip(&scene, 1.0) * Pose::from_translation(Vec3::Z * -0.1);
    assert!((hand.translation - Vec3::new(0.4, 0.2, 0.4)).norm() < 1e-5);
}

/// The tip reaches 0.9 m from the shoulder, and the wrist, which moves in a straight line, reaches
/// 0.8 m.
#[test]
fn a_line_that_leaves_the_reach_ends_when_it_does() {
    let knots =
        |x: f64| format!("knots: [[0, {{}}], [10, {{xyz: [{x}, 0, 0.2]}}]], orientation: free");
    let text = |x: f64| format!("{ARM}  - {{frame: arm/d, {}}}\n", knots(x));
    // the start is taken from a scene whose line ends within reach
    let scene = parse_with(&text(0.7), &[]).unwrap();
    let model = scene.system.model();
    let mut kin = model.create_kinematics();
    model.kinematics(&scene.start.q, &mut kin);
    let p = kin.X_WB[model.body_by_name("arm/d").unwrap()].translation - Vec3::Z * 0.2;
    let way = Vec3::X * 1.5 - p;
    // solve |p + s way| = 0.8 for s
    let (a, b, c) = (way.dot(way), p.dot(way), p.dot(p) - 0.64);
    let s = (-b + (b * b - a * c).sqrt()) / a;
    let error = parse_with(&text(1.5), &[]).unwrap_err().to_string();
    let t = error.split("at t = ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let t: f64 = t.parse().unwrap();
    assert!((t - 10.0 * s).abs() <= 0.02, "{t} and {}: {error}", 10.0 * s);
    assert!(error.contains("stretched"), "{error}");
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_key() {
    let entry = |rest: &str| format!("{ARM}  - {{frame: arm/hand, {rest}}}\n");
    let at = |key: &str| format!("scene.yml:14: commands.0.{key}:");
    complaint(
        &entry("knots: [[0, {}], [2, {xyz: [1.5, 0, 0.3]}]]"),
        &at("knots.1"),
        &["at t = ", "`arm/hand` does not reach [", "the nearest found is"],
    );
    complaint(
        &entry("knots: [[0, {xyz: [0.3, 0, 0.3]}]]"),
        &at("knots.0"),
        &["the frame starts at [", "leave its pose out"],
    );
    complaint(&entry("knots: []"), &at("knots"), &["no knots"]);
    complaint(&entry("knots: [[0, {}], [0, {}]]"), &at("knots.1.0"), &["must ascend"]);
    complaint(&entry("knots: [[0]]"), &at("knots.0"), &["[t, {xyz"]);
    complaint(&entry("knots: [[0, {}]], timing: cubic"), &at("timing"), &["linear", "smooth"]);
    complaint(&entry("knots: [[0, {}]], joints: [arm.j7]"), &at("joints.0"), &["`arm.j6`"]);
    complaint(&entry("knots: [[0, {}]], joints: [lift.z]"), &at("frame"), &["no driven joint"]);
    complaint(&entry("knot: [[0, {}]]"), &at("knot"), &["did you mean `knots`"]);
    complaint(
        &format!("{}  - {{joint: arm.j2, constant: 0}}\n", entry("knots: [[0, {}]]")),
        "scene.yml:15: commands.1:",
        &["`arm.j2` is commanded twice"],
    );
    let other = ARM.replace("lift", "lift2");
    complaint(
        &format!("{other}  - {{frame: lift2, knots: [[0, {{}}], [1, {{xyz: [0.1, 0, 0]}}]]}}\n"),
        "scene.yml:14: commands.0.knots.1:",
        &["`lift2/lift2` does not reach"],
    );
    complaint(
        &format!("{ARM}  - {{frame: arm/hnd, knots: [[0, {{}}]]}}\n"),
        &at("frame"),
        &["`arm/hand`"],
    );
}
