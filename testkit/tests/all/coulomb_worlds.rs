//! Exact Coulomb friction with no solution, many solutions, or one, and the report in each case.

use quasistep::{
    Fallback, ForceUniqueness, MotionUniqueness, SharedForce, StepError, Tally, Uniqueness,
};
use quasistep_scene::Scene;
use std::ops::ControlFlow;
use std::path::Path;
use testkit::scene;

/// The gripper with prescribed fingers, Pang21 (1).
const PRESCRIBED: [(&str, &str); 4] = [
    ("step.friction", "exact"),
    ("models.gripper.bodies.carriage.joint", "[{slide: y, axis: [0, 0, 1], role: prescribed}]"),
    (
        "models.gripper.bodies.left.joint",
        "[{slide: x_l, axis: [1, 0, 0], role: prescribed, start: -0.1}]",
    ),
    (
        "models.gripper.bodies.right.joint",
        "[{slide: x_r, axis: [1, 0, 0], role: prescribed, start: 0.1}]",
    ),
];

/// Fingers that touch the ball without force and are driven by springs, Pang21 (6).
const SPRINGS: [(&str, &str); 3] = [
    ("step.friction", "exact"),
    ("models.gripper.bodies.left.joint.0.start", "-0.1"),
    ("models.gripper.bodies.right.joint.0.start", "0.1"),
];

/// Commands: the fingers close by 5 mm, or rise along the ball at 0.2 m/s.
const SQUEEZE: &str = "[{joints: [gripper.x_l, gripper.x_r], constant: [-0.095, 0.095]}]";
const GRAZE: &str = "[{joints: [gripper.x_l, gripper.x_r], constant: [-0.1, 0.1]}, {joint: gripper.y, expr: 0.2*t}]";

fn gripper(drives: &[(&str, &str)], commands: &str) -> Scene {
    let mut changes = drives.to_vec();
    changes.extend([("commands", commands), ("facts", "[]"), ("step.duration", "0.01")]);
    scene("gripper_2d", &changes)
}

/// Names of the bodies A of contacts in the first step.
fn bodies_a(scene: &Scene, contacts: &[SharedForce]) -> Vec<String> {
    let report = scene.first_step().unwrap().report;
    let body = |c: &SharedForce| report.contacts[c.contact].body_a as usize;
    contacts.iter().map(|c| scene.system.model().body(body(c)).name.clone()).collect()
}

fn first_uniqueness(scene: &Scene) -> Uniqueness {
    let mut first = None;
    scene.uniqueness(&mut |_, answer| first = first.take().or(answer)).unwrap();
    first.unwrap()
}

fn stopped(scene: &Scene) -> StepError {
    scene.run(None, &mut |_| ControlFlow::Continue(())).stopped.expect("no step can be taken")
}

/// Prescribed fingers that close on a ball leave it no room: Pang21 (1) has no solution.
#[test]
fn a_prescribed_grasp_crushes_the_ball_and_names_the_pairs() {
    let error = stopped(&gripper(&PRESCRIBED, SQUEEZE));
    let StepError::Infeasible { pairs, crushed: true, .. } = &error else { panic!("{error}") };
    let mut named: Vec<(&str, &str)> = pairs.iter().map(|p| (p.a.as_str(), p.b.as_str())).collect();
    named.sort_unstable();
    assert_eq!(named, [("gripper/left", "ball/ball"), ("gripper/right", "ball/ball")]);
    let text = error.to_string();
    assert!(text.starts_with("crushed:"), "{text}");
    assert!(text.contains("`gripper/left` and `ball/ball` touch"), "{text}");
}

/// Fingers that touch the ball and rise may exert any friction force up to its weight: Pang21 (1)
/// has many solutions.
#[test]
fn a_prescribed_graze_has_many_forces() {
    let scene = gripper(&PRESCRIBED, GRAZE);
    let answer = first_uniqueness(&scene);
    let ForceUniqueness::Shared { contacts, .. } = &answer.forces else { panic!("{answer}") };
    let bodies = bodies_a(&scene, contacts);
    let fingers = || contacts.iter().zip(&bodies).filter(|(_, a)| a.starts_with("gripper"));
    assert_eq!(fingers().count(), 2, "{answer}");
    assert!(fingers().all(|(c, _)| !c.normal_is_unique), "{answer}");
    assert!(
        answer.to_string().contains("force between `gripper/left` and `ball/ball`"),
        "{answer}"
    );
}

/// With springs, Pang21 (6), the same commands have exactly one solution each.
#[test]
fn impedances_have_exactly_one_answer() {
    // 5 mm at 1000 N/m from each side
    let scene = gripper(&SPRINGS, SQUEEZE);
    let recording = scene.run(None, &mut |_| ControlFlow::Continue(())).recording;
    let forces: Vec<f64> = recording.frames[1].contacts.iter().map(|c| c.normal_force).collect();
    for expected in [5.0, 5.0, 10.0] {
        assert!(forces.iter().any(|f| (f - expected).abs() < 1e-9), "{forces:?}");
    }
    assert_eq!(first_uniqueness(&scene).motion, MotionUniqueness::Unique);
    let answer = first_uniqueness(&gripper(&SPRINGS, GRAZE));
    assert_eq!(answer.motion, MotionUniqueness::Unique);
    assert_eq!(answer.forces, ForceUniqueness::Unique);
}

/// Two fingers on one joint share friction in any ratio; only its sum on the ball is unique.
#[test]
fn fingers_on_one_joint_share_friction_in_any_split() {
    let changes = [("step.friction", "exact"), ("step.duration", "0.05"), ("facts", "[]")];
    let mut last = None;
    let scene = scene("gripper_2d", &changes);
    scene.uniqueness(&mut |_, answer| last = answer).unwrap();
    let answer = last.unwrap();
    assert_eq!(answer.motion, MotionUniqueness::Unique);
    let ForceUniqueness::Shared { contacts, sums, joints } = &answer.forces else {
        panic!("{answer}")
    };
    assert!(joints.is_empty());
    let mut named = bodies_a(&scene, contacts);
    named.sort_unstable();
    assert_eq!(named, ["gripper/left", "gripper/right"]);
    assert!(contacts.iter().all(|c| c.normal_is_unique), "{answer}");
    assert_eq!(sums.len(), 1);
    let body = scene.system.model().body_by_name("ball/ball");
    assert_eq!((Some(sums[0].body), sums[0].axes.as_str()), (body, "z"));
}

/// Trinkle05 section 5: without friction the particle may be anywhere on the floor between fence
/// and wall. With friction its position is unique at every step.
#[test]
fn friction_makes_the_particle_s_motion_the_only_one() {
    for cone in ["4", "8", "round"] {
        let rubs = scene("fence_particle", &[("step.cone", cone)]);
        rubs.uniqueness(&mut |t, answer| {
            let answer = answer.unwrap();
            assert_eq!(answer.motion, MotionUniqueness::Unique, "{cone} at {t}: {answer}");
        })
        .unwrap();
        let glides = scene("fence_particle", &[("step.cone", cone), ("friction.pairs.2.mu", "0")]);
        let particle = glides.system.model().body_by_name("particle/particle").unwrap();
        glides
            .uniqueness(&mut |t, answer| {
                let answer = answer.unwrap();
                let MotionUniqueness::Free { bodies, direction } = &answer.motion else {
                    panic!("{cone} at {t}: {answer}")
                };
                assert_eq!(bodies, &[particle]);
                assert!(direction.iter().all(|(dof, _)| dof != "particle.z"), "{answer}");
                // the fence pushes while it is in contact
                let pushed = t > 0.255 && t < 1.575;
                assert_eq!(direction.iter().any(|(dof, _)| dof == "particle.x"), !pushed, "{t}");
            })
            .unwrap();
    }
}

const PARTICLE: &str = "
format: 1
title: A loaded particle
gravity: [0, 0, -10]
step: {size: 0.01, duration: 0.01, friction: exact, cone: round, inertia: none}
models:
  floor: {joint: fixed, shape: {half_space: {}}}
  particle:
    joint: [{slide: x, axis: [1, 0, 0]}, {slide: y, axis: [0, 1, 0]}, {slide: z, axis: [0, 0, 1]}]
    mass: 1
    shape: {sphere: {radius: 0.02}, pose: {xyz: [0, 0, 0.02]}}
friction: {default: 0.5}
wrenches: [{body: particle, force: [FX, 0, FZ]}]
";

fn particle(fx: &str, fz: &str, changes: &[(&str, &str)]) -> Scene {
    let text = PARTICLE.replace("FX", fx).replace("FZ", fz);
    let changes: Vec<(String, String)> =
        changes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Scene::parse(&text, "particle.yml", "particle", Path::new("."), &changes).unwrap()
}

/// Counterexample to Trinkle05 (32): a load of exactly mu m g satisfies it, but the particle may
/// slide along the load. With a smaller load it stays.
#[test]
fn a_load_at_the_friction_limit_leaves_the_motion_open() {
    let scene = particle("5", "0", &[]);
    let answer = first_uniqueness(&scene);
    let MotionUniqueness::Free { bodies, direction } = &answer.motion else { panic!("{answer}") };
    assert_eq!(bodies, &[scene.system.model().body_by_name("particle/particle").unwrap()]);
    assert_eq!(direction, &[("particle.x".to_owned(), 1.0)], "{answer}");
    let answer = first_uniqueness(&particle("4.9", "0", &[]));
    assert_eq!(answer.motion, MotionUniqueness::Unique);
}

/// A load above mu m g, or above the weight, accelerates the particle. The error reports the
/// direction.
#[test]
fn what_is_pulled_away_is_named_with_its_direction() {
    for (fx, fz, dof) in [("5.1", "0", "particle.x +"), ("0", "10.1", "particle.z +")] {
        let error = stopped(&particle(fx, fz, &[]));
        let StepError::Unsupported { bodies, .. } = &error else { panic!("{error}") };
        assert_eq!(bodies, &["particle/particle"]);
        let text = error.to_string();
        assert!(text.starts_with("unsupported:") && text.contains(dof), "{text}");
    }
}

/// Runs to the end; returns the number of steps that used the fallback, and the recording.
fn stand_ins(scene: &Scene, fallback: Fallback) -> (usize, quasistep_record::Recording) {
    let mut tally = Tally::default();
    let outcome = scene.run(None, &mut |step| {
        if let Some((which, why)) = &step.report.fallback {
            assert_eq!(*which, fallback);
            assert!(!why.to_string().is_empty());
        }
        tally.push(step.report);
        ControlFlow::Continue(())
    });
    assert!(outcome.stopped.is_none(), "{:?}", outcome.stopped);
    (tally.stand_ins(), outcome.recording)
}

/// If prescribed fingers would crush the ball, springs in their place squeeze it: 5 mm at 500 N/m.
#[test]
fn springs_stand_in_for_prescribed_motion_that_crushes() {
    let mut drives = PRESCRIBED.to_vec();
    drives.extend([("step.fallback", "impedance"), ("step.fallback_stiffness", "500")]);
    let (count, recording) = stand_ins(&gripper(&drives, SQUEEZE), Fallback::Impedance);
    assert_eq!(count, 1);
    let frame = &recording.frames[1];
    let fingers: Vec<f64> = frame.contacts.iter().map(|c| c.normal_force).collect();
    for expected in [2.5, 2.5, 10.0] {
        assert!(fingers.iter().any(|f| (f - expected).abs() < 1e-9), "{fingers:?}");
    }
    let left = recording.coordinate("gripper.x_l").unwrap();
    assert!((frame.q[left] + 0.1).abs() < 1e-12, "the finger stops at the ball");
}

/// Other fallbacks keep prescribed motion and gaps, so inconsistent gaps remain an error. Springs
/// have no effect if nothing is prescribed.
#[test]
fn fallbacks_that_do_not_help_leave_the_error_as_it_is() {
    for fallback in ["convex", "proximal"] {
        let mut drives = PRESCRIBED.to_vec();
        drives.push(("step.fallback", fallback));
        let error = stopped(&gripper(&drives, SQUEEZE));
        assert!(matches!(error, StepError::Infeasible { .. }), "{fallback}: {error}");
    }
    for fallback in ["convex", "impedance"] {
        let error = stopped(&particle("0", "10.1", &[("step.fallback", fallback)]));
        assert!(matches!(error, StepError::Unsupported { .. }), "{fallback}: {error}");
    }
}

/// A particle pulled along the floor by more than friction moves by its inertia, `h² (F − mu m g) /
/// m` from rest in each step. One that is pulled upwards leaves the floor.
#[test]
fn the_proximal_step_moves_what_nothing_supports_by_its_inertia() {
    let changes = [("step.fallback", "proximal"), ("step.duration", "0.03")];
    let h = 0.01_f64;
    for (fx, fz, name, step) in
        [("6", "0", "particle.x", h * h * 1.0), ("0", "12", "particle.z", h * h * 2.0)]
    {
        let (count, recording) = stand_ins(&particle(fx, fz, &changes), Fallback::Proximal);
        assert_eq!(count, 3);
        let at = recording.coordinate(name).unwrap();
        for (k, frame) in recording.frames.iter().enumerate() {
            assert!((frame.q[at] - step * k as f64).abs() < 1e-12, "{name}: {:?}", frame.q);
        }
    }
}

/// A rod leans on a belt that drags its tip under its hinge. Slip presses the tip into the belt
/// faster than normal force lifts it, and sticking would move the tip below the belt.
const ROD: &str = "
format: 1
title: A rod that jams
step: {size: 0.01, duration: 0.01, friction: exact, cone: 2, inertia: none}
models:
  belt:
    joint: [{slide: x, axis: [1, 0, 0], role: prescribed}]
    shape: {box: {size: [4, 1, 0.1]}, pose: {xyz: [0, 0, -0.05]}}
  rod:
    pose: {xyz: [0, 0, 0.4587912809451864]}
    joint: [{hinge: lean, axis: [0, 1, 0], start: 0.5}]
    mass: 1
    com: [0, 0, -0.25]
    inertia: [0.02, 0.02, 0.001]
    shape: {sphere: {radius: 0.02}, pose: {xyz: [0, 0, -0.5]}}
friction: {default: MU}
commands: [{joint: belt.x, expr: 0.1*t}]
";

fn rod(mu: &str, changes: &[(&str, &str)]) -> Scene {
    let changes: Vec<(String, String)> =
        changes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Scene::parse(&ROD.replace("MU", mu), "rod.yml", "rod", Path::new("."), &changes).unwrap()
}

#[test]
fn a_rod_that_jams_is_named_and_gives_way_to_fallbacks() {
    let error = stopped(&rod("1", &[]));
    let StepError::Jammed { pairs, .. } = &error else { panic!("{error}") };
    assert_eq!(pairs.len(), 1);
    let text = error.to_string();
    assert!(
        text.starts_with("jammed:") && text.contains("`belt/belt` and `rod/rod` touch"),
        "{text}"
    );
    // friction below the tangent of the lean: the tip slides and there is a solution
    assert_eq!(stand_ins(&rod("0.4", &[]), Fallback::None).0, 0);
    // the cones of the convex step are inconsistent in the same way, with and without mass
    for fallback in ["convex", "proximal"] {
        let error = stopped(&rod("1", &[("step.fallback", fallback)]));
        assert!(matches!(error, StepError::Jammed { .. }), "{fallback}: {error}");
    }
    // a belt on a spring stops at the rod
    let (count, recording) =
        stand_ins(&rod("1", &[("step.fallback", "impedance")]), Fallback::Impedance);
    assert_eq!(count, 1);
    let belt = recording.coordinate("belt.x").unwrap();
    assert!(recording.frames[1].q[belt].abs() < 1e-12, "{:?}", recording.frames[1].q);
}

/// The jammed rod on a joint that also lets it lean sideways, and a belt that also drags it
/// sideways: a jam in three dimensions.
const ROD_IN_SPACE: [(&str, &str); 3] = [
    (
        "models.rod.joint",
        "[{hinge: lean, axis: [0, 1, 0], start: 0.5}, {hinge: side, axis: [1, 0, 0]}]",
    ),
    (
        "models.belt.joint",
        "[{slide: x, axis: [1, 0, 0], role: prescribed}, {slide: y, axis: [0, 1, 0], role: prescribed}]",
    ),
    ("commands", "[{joint: belt.x, expr: 0.1*t}, {joint: belt.y, expr: 0.03*t}]"),
];

/// Round cones that slip along a line have a linear complementarity problem, whose certificate
/// proves the jam. In three dimensions every direction of slip is refuted.
#[test]
fn round_cones_that_jam_end_in_words_too() {
    for space in [false, true] {
        let rod = |mu: &str, more: &[(&str, &str)]| {
            let mut changes = vec![("step.cone", "round")];
            changes.extend(if space { &ROD_IN_SPACE[..] } else { &[] });
            changes.extend_from_slice(more);
            rod(mu, &changes)
        };
        let error = stopped(&rod("1", &[]));
        let text = error.to_string();
        let StepError::Jammed { pairs, .. } = &error else { panic!("{text}") };
        assert_eq!(pairs.len(), 1);
        assert!(text.contains("`belt/belt` and `rod/rod` touch"), "{text}");
        // friction below the tangent of the lean, and a belt that drags the tip away from under the
        // hinge
        assert_eq!(stand_ins(&rod("0.4", &[]), Fallback::None).0, 0);
        let outwards = if space {
            "[{joint: belt.x, expr: -0.1*t}, {joint: belt.y, expr: 0.03*t}]"
        } else {
            "[{joint: belt.x, expr: -0.1*t}]"
        };
        assert_eq!(stand_ins(&rod("1", &[("commands", outwards)]), Fallback::None).0, 0);
        // with springs in place of the prescribed motion, the belt stops at the rod
        let springs = rod("1", &[("step.fallback", "impedance")]);
        assert_eq!(stand_ins(&springs, Fallback::Impedance).0, 1);
    }
}
