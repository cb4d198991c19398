//! Commands over time, and runs that follow them.

use quasistep::{Cone, Formulation, Inertia, StepInput};
use quasistep_math::{Pose, Quat, Vec3};
use quasistep_record::Finish;
use quasistep_scene::{RunOutcome, Scene};
use std::ops::ControlFlow;
use std::path::Path;

#[track_caller]
fn read(text: &str) -> Scene {
    Scene::parse(text, "scene.yml", "scene", Path::new("."), &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn sample(scene: &Scene, t: f64) -> StepInput {
    let mut input = StepInput::default();
    scene.sample(t, &mut input);
    input
}

fn run(scene: &Scene) -> RunOutcome {
    scene.run(None, &mut |_| ControlFlow::Continue(()))
}

/// The rate of an orientation command is the angular velocity in world axes, compared with central
/// differences of the command. Their error is about 1e-9.
#[test]
fn rate_of_a_pose_command_is_its_derivative() {
    let scene = read(
        "models:
  plate: {mass: 1, joints: {plate: {role: prescribed}}}
commands:
  - {joint: plate, pose: {xyz: [t, \"0.2*sin(3*t)\", 1], rpy: [\"0.4*t\", \"0.3*cos(2*t)\", \"t^2\"]}}
",
    );
    let d = 1e-5;
    let rotation =
        |t: f64| Quat::try_normalize(std::array::from_fn(|k| sample(&scene, t).q_cmd[k])).unwrap();
    for t in [0.0, 0.3, 0.9, 1.7] {
        let got = sample(&scene, t).v_cmd;
        // R(t + d) = exp(2 d w) R(t − d) with w in world axes
        let turn = (rotation(t + d) * rotation(t - d).inverse()).to_rotation_vector();
        let want = turn * (0.5 / d);
        let got_w = Vec3::new(got[0], got[1], got[2]);
        assert!((got_w - want).norm() < 1e-8, "t = {t}: {got_w:?} against {want:?}");
        assert!((got[4] - 0.6 * (3.0 * t).cos()).abs() < 1e-14);
        assert_eq!((got[3], got[5]), (1.0, 0.0));
    }
}

#[test]
fn a_free_or_planar_joint_that_is_told_nothing_stays() {
    let scene = read(
        "models:
  a: {mass: 1, pose: {xyz: [1, 2, 3], rpy: [0, 0, 0.4]}, joints: {a: {role: prescribed}}}
  b: {mass: 1, joint: planar, pose: {xyz: [1, 2, 3], rpy: [0, 0, 0.4]}, joints: {b: {stiffness: [5, 6, 7]}}}
",
    );
    let input = sample(&scene, 4.0);
    assert_eq!(input.q_cmd, scene.start.q);
    assert_eq!(input.v_cmd, [0.0; 9]);
    // both are in the same place: coordinates of a planar joint are those of the world
    let b = &scene.start.q[7..];
    assert!((b[0] - 1.0).abs() + (b[1] - 2.0).abs() + (b[2] - 0.4).abs() < 1e-15, "{b:?}");
    let model = scene.system.model();
    let mut kin = model.create_kinematics();
    model.kinematics(&scene.start.q, &mut kin);
    let (a, b) = (model.body_by_name("a/a").unwrap(), model.body_by_name("b/b").unwrap());
    assert!((kin.X_WB[a].translation - kin.X_WB[b].translation).norm() < 1e-15);
    let turned = (kin.X_WB[a].rotation.inverse() * kin.X_WB[b].rotation).to_rotation_vector();
    assert!(turned.norm() < 1e-15);
}

/// A tilted pose of a planar joint defines its plane; a start is given in that plane.
#[test]
fn a_planar_joint_may_lie_in_any_plane() {
    let scene = read(
        "models:
  wall: {mass: 1, joint: planar, pose: {xyz: [0, 0, 1], rpy: [1.5707963267948966, 0, 0]}, start: [2, 3, 0]}
",
    );
    assert_eq!(scene.start.q, [2.0, 3.0, 0.0]);
    let model = scene.system.model();
    let mut kin = model.create_kinematics();
    model.kinematics(&scene.start.q, &mut kin);
    // a quarter turn about x turns the plane's y to the world's z
    assert!((kin.X_WB[1].translation - Vec3::new(2.0, 0.0, 4.0)).norm() < 1e-14);
}

#[test]
fn tables_are_commands() {
    let folder = std::env::temp_dir().join(format!("quasistep-tables-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("k.csv"), "time, a, b\n0, 0, 1\n\n1, 2, 1\n3, 2, 5\n").unwrap();
    let scene = |csv: &str| {
        let text = format!(
            "models:\n  f: {{joint: [{{slide: x, axis: [1, 0, 0], stiffness: 1}}, {{slide: y, axis: [0, 1, 0], stiffness: 1}}]}}\ncommands:\n  - {{joints: [f.x, f.y], csv: {csv}}}\n"
        );
        Scene::parse(&text, "scene.yml", "scene", &folder, &[])
    };
    let good = scene("{file: k.csv, t: time, columns: [a, b]}").unwrap();
    assert_eq!(sample(&good, 0.5).q_cmd, [1.0, 1.0]);
    assert_eq!(sample(&good, 2.0).v_cmd, [0.0, 2.0]);
    assert_eq!(sample(&good, 9.0).q_cmd, [2.0, 5.0]);
    let error = scene("{file: k.csv, t: time, columns: [a, c]}").unwrap_err().to_string();
    assert!(
        error.starts_with("scene.yml:4: commands.0.csv.columns.1: unknown column `c`"),
        "{error}"
    );
    let error = scene("{file: k.csv, t: time, columns: [a]}").unwrap_err().to_string();
    assert!(error.contains("1 values were seen for 2 joints"), "{error}");
    let error = scene("{file: k.csv, columns: [a, b]}").unwrap_err().to_string();
    assert!(error.contains("unknown column `t`"), "{error}");
    std::fs::write(folder.join("k.csv"), "t,a,b\n0,0,1\n1,x,1\n").unwrap();
    let error = scene("{file: k.csv, columns: [a, b]}").unwrap_err().to_string();
    assert!(error.contains("k.csv:3: ") && error.contains("`x` was seen in column `a`"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn step_keys_become_parameters() {
    let scene = read(
        "gravity: [0, 0, -10]
step: {size: 0.05, duration: 0.35, friction: convex, cone: 8, inertia: mass, contact_margin: 0.1, max_recovery_speed: 0.2}
models:
  a: {mass: 1}
",
    );
    let p = &scene.params;
    assert_eq!((p.time_step, p.contact_margin, p.max_recovery_speed), (0.05, 0.1, 0.2));
    assert_eq!(p.formulation, Formulation::convex(Cone::Pyramid(8)));
    assert_eq!((p.inertia, p.gravity), (Inertia::Mass, [0.0, 0.0, -10.0]));
    // 0.35/0.05 is 6.999… in floating point: seven steps
    assert_eq!(scene.n_steps(), 7);
    let scene = read("step: {size: 0.1, duration: 0.25}\nmodels:\n  a: {mass: 1}\n");
    assert_eq!(scene.n_steps(), 3);
}

/// A block on the floor is pulled by a spring: Coulomb's and Hooke's law. The floor carries the
/// weight, 20 N. The spring pulls with 1000 N/m times 4 mm = 4 N, less than the 10 N that friction
/// can hold, so nothing moves.
const HELD: &str = "
gravity: [0, 0, -10]
step: {size: 0.1, duration: 0.5, cone: 2, inertia: none}
models:
  floor: {joint: fixed, shape: {half_space: {}}}
  block:
    joint: [{slide: z, axis: [0, 0, 1], start: 0.1}, {slide: x, axis: [1, 0, 0], stiffness: 1000}]
    mass: 2
    shape: {sphere: {radius: 0.1}}
commands:
  - {joint: block.x, constant: 0.004}
facts:
  - {count: dofs, value: 2, source: two slides}
  - {count: bodies, value: 3, source: a block on two slides and a floor}
  - {count: steps, value: 5, source: 0.5 s in steps of 0.1 s}
  - {count: contacts, value: 1, tolerance: 0, source: a sphere touches a plane in one point}
  - {at: 0.5, normal_force: [floor, block], value: 20, tolerance: 1.0e-9, source: m g}
  - {at: 0.5, friction_force: [block, floor], value: 4, tolerance: 1.0e-9, source: k x}
  - {at: 0.5, effort: block.x, value: 4, tolerance: 1.0e-9, source: k x}
  - {at: 0.5, coordinate: block.x, value: 0, tolerance: 1.0e-12, source: friction holds it}
  - {at: 0.5, gap: [floor, block], value: 0, tolerance: 1.0e-12, source: it rests}
  - {at: 0.5, height: block/block, value: 0.1, tolerance: 1.0e-12, source: the radius}
  - {at: 0.5, tilt: block/block, value: 0, tolerance: 0, source: slides do not turn}
  - {at: 0.5, mode: [floor, block], value: stick, source: 4 N < 10 N}
  - {from: 0.1, to: 0.5, drift: block/block, value: 0, tolerance: 1.0e-12, source: it sticks}
";

#[test]
fn facts_hold_where_they_are_true() {
    let scene = read(HELD);
    let outcome = run(&scene);
    assert!(outcome.stopped.is_none(), "{:?}", outcome.stopped);
    assert_eq!(outcome.recording.finish, Finish::Done);
    assert_eq!(scene.facts.len(), 13);
    for fact in &scene.facts {
        let result = fact.check(&outcome.recording, &scene.system);
        assert!(result.ok, "{}", result.text);
    }
}

/// Every kind of fact fails if its number is wrong, and reports both numbers.
#[test]
fn facts_fail_where_they_are_wrong() {
    let outcome = run(&read(HELD));
    let wrong = HELD.replace("value: ", "value: 77").replace("value: 77stick", "value: slide");
    let scene = read(&wrong);
    for fact in &scene.facts {
        let result = fact.check(&outcome.recording, &scene.system);
        assert!(!result.ok, "{}", result.text);
        assert!(result.text.contains("77") || result.text.contains("slide"), "{}", result.text);
        assert!(result.text.contains(&fact.source), "{}", result.text);
    }
    // a time without a recorded frame is a failure
    let late = read(&HELD.replace("at: 0.5, height", "at: 0.55, height"));
    let failed =
        late.facts.iter().filter(|f| !f.check(&outcome.recording, &late.system).ok).count();
    assert_eq!(failed, 1);
}

/// A ball in the air has no quasi-static next state: the run ends, names the ball, and keeps the
/// start.
#[test]
fn a_run_that_cannot_go_on_keeps_what_it_has() {
    let scene = read(
        "step: {inertia: none}\nmodels:\n  ball: {mass: 1, pose: {xyz: [0, 0, 1]}, shape: {sphere: {radius: 0.1}}}\n",
    );
    let outcome = run(&scene);
    let why = outcome.stopped.expect("no support").to_string();
    assert!(why.contains("ball"), "{why}");
    assert_eq!(outcome.recording.frames.len(), 1);
    assert_eq!(outcome.recording.finish, Finish::Stopped { reason: why });
    assert_eq!(outcome.state, scene.start);
}

#[test]
fn an_observer_may_stop_a_run() {
    let scene = read(HELD);
    let outcome = scene.run(None, &mut |step| {
        if step.index == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(outcome.recording.frames.len(), 3);
    assert!((outcome.state.time - 0.2).abs() < 1e-15);
}

/// `pose` of a model moves its bodies together: those on the model's parent, with all that they
/// carry.
#[test]
fn pose_of_a_model_of_bodies_moves_them_as_one() {
    let bodies = "
      rail: {joint: fixed, pose: {xyz: [0.1, 0, 0]}}
      cart: {parent: rail, joint: [{slide: x, axis: [1, 0, 0], stiffness: 9, start: 0.2}]}
      ball: {mass: 1, pose: {xyz: [0, 0.3, 0], rpy: [0, 0, 0.5]}}
      cube: {mass: 1, start: {xyz: [0, 0.4, 0], rpy: [0.2, 0, 0]}}
      disc: {mass: 1, joint: planar, pose: {xyz: [0.5, 0, 0], rpy: [0, 0, 0.3]}}
      coin: {mass: 1, joint: planar, start: [0.5, 0.1, 0.3]}
      elsewhere: {parent: post, joint: fixed, pose: {xyz: [0, 0, 1]}}
";
    let scene = |pose: &str| {
        read(&format!("models:\n  post: {{joint: fixed}}\n  m:\n    {pose}\n    bodies:{bodies}"))
    };
    let poses = |scene: &Scene| {
        let model = scene.system.model();
        let mut kin = model.create_kinematics();
        model.kinematics(&scene.start.q, &mut kin);
        kin.X_WB
    };
    let plain = poses(&scene("gravity: true"));
    // a rotation in the plane, which does not tilt planar joints, and one out of it
    for rpy in [[0.0, 0.0, 1.1], [0.4, -0.3, 1.1]] {
        let X_WM = Pose::new(Quat::from_rpy(rpy), Vec3::new(1.0, 2.0, 3.0));
        let moved = poses(&scene(&format!("pose: {{xyz: [1, 2, 3], rpy: {rpy:?}}}")));
        let last = plain.len() - 1;
        for (body, (X_WB, X_MB)) in moved.iter().zip(&plain).enumerate().skip(2) {
            let want = if body == last { *X_MB } else { X_WM * *X_MB };
            assert!((X_WB.translation - want.translation).norm() < 1e-15, "body {body}: {X_WB:?}");
            let turn = (X_WB.rotation * want.rotation.inverse()).to_rotation_vector();
            assert!(turn.norm() < 1e-15, "body {body}: {X_WB:?}");
        }
    }
}
