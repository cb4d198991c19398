//! Predictions of a scene against its geometry, the matrices of MpcNote, and the simulator.
#![allow(missing_docs)]
#![allow(non_snake_case)] // letters of MpcNote

use quasistep::Linearisation;
use quasistep_control::{
    Dynamics, PredictionError, PredictionSettings, geometric_stiffness, point_robot, predict,
};
use quasistep_reproduce::closed_loop::{LoopRun, outlook, run};
use quasistep_scene::Scene;
use std::ops::ControlFlow;
use std::path::PathBuf;

fn scene(name: &str, changes: &[(&str, &str)]) -> Scene {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenes/{name}.yml"));
    let changes: Vec<(String, String)> =
        changes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Scene::load_with(&path, &changes).unwrap()
}

fn closed_loop(scene: &Scene) -> LoopRun {
    let section = scene.control.as_ref().unwrap();
    run(scene, section, || 0, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn settings(time_step: f64) -> PredictionSettings {
    PredictionSettings { time_step, max_recovery_speed: 0.1, directions: 4 }
}

fn look(scene: &Scene, q: &[f64]) -> Linearisation {
    scene.system.linearise(q, scene.params.gravity, 10.0).unwrap()
}

/// A configuration of the hand with a rotated box and both fingers off its middle.
const HELD: [f64; 7] = [-0.08, 0.013, 0.081, -0.017, 0.003, -0.002, 0.2];

/// The system predicted from the scene equals the hand-written one of MpcNote (6) to (9), at any
/// configuration.
#[test]
fn the_point_robot_of_the_scene_is_that_of_the_note() {
    let scene = scene("point_robot", &[]);
    let hand = point_robot::lcs();
    for q in [[-2.0, -4.0], [3.0, -4.4], [1.0, -1.5]] {
        let dynamics = Dynamics::Dynamic { driven: vec![0, 1] };
        let ours = predict(
            &scene.system,
            &look(&scene, &q),
            &q,
            &[],
            &[],
            &dynamics,
            (&[], &settings(0.1)),
        );
        let ours = ours.unwrap().lcs;
        assert_eq!((ours.n_x, ours.n_u, ours.n_gamma), (4, 2, 12));
        assert_eq!(ours.contacts(), hand.contacts());
        let parts = [
            (&ours.A, &hand.A),
            (&ours.B, &hand.B),
            (&ours.C, &hand.C),
            (&ours.D, &hand.D),
            (&ours.E, &hand.E),
            (&ours.f, &hand.f),
            (&ours.a, &hand.a),
        ];
        for (ours, hand) in parts {
            assert_eq!(ours.len(), hand.len());
            for (x, y) in ours.iter().zip(hand) {
                // rounding of numbers up to 5 and of the half-spaces' rotations
                assert!((x - y).abs() < 1e-14, "{x} {y}");
            }
        }
    }
}

/// `J_n` is the gradient of the distance.
#[test]
fn the_normal_jacobian_is_the_gradient_of_the_distance() {
    let scene = scene("planar_hand", &[]);
    let here = look(&scene, &HELD);
    assert!(here.contacts.len() >= 2);
    let nudge = 1e-6;
    for dof in 0..HELD.len() {
        let at = |offset: f64| {
            let mut q = HELD;
            q[dof] += offset;
            look(&scene, &q)
        };
        let (below, above) = (at(-nudge), at(nudge));
        for (i, contact) in here.contacts.iter().enumerate() {
            let slope = (above.contacts[i].phi - below.contacts[i].phi) / (2.0 * nudge);
            // rounding of distances of 0.1 m divided by the finite difference step
            assert!((slope - contact.J_n[dof]).abs() < 1e-9, "{slope} {}", contact.J_n[dof]);
        }
    }
}

/// Invalid configurations are refused by name.
#[test]
fn nonsense_is_not_linearised() {
    let scene = scene("planar_hand", &[]);
    let refuse = |q: &[f64], margin: f64, word: &str| {
        let error = scene.system.linearise(q, [0.0; 3], margin).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    };
    refuse(&HELD[..6], 1.0, "q");
    refuse(&[f64::NAN; 7], 1.0, "q");
    refuse(&HELD, f64::NAN, "margin");
    refuse(&HELD, -1.0, "margin");
}

/// The geometric stiffness of normal impulses is a Hessian, so it is symmetric. That of tangential
/// impulses is nonzero.
#[test]
fn the_stiffness_of_normal_impulses_is_a_hessian() {
    let scene = scene("planar_hand", &[]);
    let here = look(&scene, &HELD);
    let n = HELD.len();
    let impulses: Vec<[f64; 3]> =
        (0..here.contacts.len()).map(|i| [1.0 + i as f64, 0.0, 0.0]).collect();
    let G = geometric_stiffness(&scene.system, &here, &HELD, &impulses, 10.0).unwrap();
    let size = G.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
    // an impulse of 1 N·s whose lever arm changes by one metre per metre
    assert!(size > 0.5, "{size}");
    for i in 0..n {
        for j in 0..n {
            // rounding of Jacobians divided by two micrometres
            assert!((G[i * n + j] - G[j * n + i]).abs() < 1e-8, "{i} {j}");
        }
    }
    // a finger that slides along the face by s changes the moment on the box by c s
    let finger = here.contacts.iter().find(|c| c.J_n[0] != 0.0 && c.J_n[6] != 0.0).unwrap();
    let along = [finger.tangents_W[0].x, finger.tangents_W[0].y];
    let index = here.contacts.iter().position(|c| std::ptr::eq(c, finger)).unwrap();
    let torque = G[6 * n] * along[0] + G[6 * n + 1] * along[1];
    assert!((torque.abs() - impulses[index][0]).abs() < 1e-7, "{torque}");
}

/// A prediction and a simulator step of equal duration agree while contacts stick or are open.
#[test]
fn without_slip_the_simulator_does_what_was_predicted() {
    let scene = scene("planar_hand", &[("step.size", "0.1"), ("mpc.steps", "12")]);
    let run = closed_loop(&scene);
    let slides = |step: &quasistep_control::LoopStep| {
        let report = &step.moved[0].report;
        let planned = step.contacts.iter().any(|c| c.normal > 0.0 && c.slip > 1e-9);
        planned || report.contacts.iter().any(|c| c.mode == quasistep::ContactMode::Slide)
    };
    let calm: Vec<_> = run.steps.iter().filter(|s| !slides(s)).collect();
    assert!(calm.len() >= 4, "{} steps without slip", calm.len());
    let touching = calm.iter().any(|s| s.contacts.iter().any(|c| c.normal > 1e-3));
    assert!(touching, "a step without slip that presses");
    for step in calm {
        // tolerances of both solvers
        let (dof, error) = step.prediction_error();
        assert!(error < 1e-7, "dof {dof}: {error}");
    }
}

/// Two fingers move the box to its goal pose. The simulator's steps are smaller than the planned
/// ones.
#[test]
fn the_hand_brings_the_box_to_its_pose() {
    let run = closed_loop(&scene("planar_hand", &[]));
    assert!(run.stopped.is_none());
    assert_eq!((run.steps.len(), run.proven()), (30, 30));
    assert_eq!(run.recording.frames.len(), 61);
    for i in 4..7 {
        let error = (run.x_end[i] - run.goal[i]).abs();
        assert!(error < 1e-4, "{}: {error}", run.dofs[i]);
    }
}

/// One finger pushes a box to a pose, sticking and sliding. This requires plans that model the
/// change of lever arms.
#[test]
fn the_pusher_brings_the_box_near_its_pose() {
    let errors = |lever_arms: &str| -> (Vec<f64>, LoopRun) {
        let changes = [("mpc.lever_arms", lever_arms), ("mpc.linearise", "here")];
        let run = closed_loop(&scene("planar_pusher", &changes));
        assert!(run.stopped.is_none());
        assert_eq!(run.proven(), run.steps.len());
        ((2..5).map(|i| (run.x_end[i] - run.goal[i]).abs()).collect(), run)
    };
    let (moving, run) = errors("moving");
    // remaining error of a finger that can only push: docs/control.md
    assert!(moving[0] < 0.004 && moving[1] < 0.004 && moving[2] < 0.01, "{moving:?}");
    let modes: Vec<_> =
        run.recording.frames.iter().flat_map(|f| &f.contacts).map(|c| c.mode).collect();
    for mode in [quasistep_record::Mode::Stick, quasistep_record::Mode::Slide] {
        assert!(modes.iter().filter(|m| **m == mode).count() > 5, "{mode:?}");
    }
    let (fixed, _) = errors("fixed");
    assert!(fixed[1] > 0.05 && fixed[2] > 0.2, "{fixed:?}");
}

/// Plans linearised along the last plan model the rotation of faces, so the finger ends nearer to
/// its goal.
#[test]
fn plans_linearised_along_the_last_one_end_nearer() {
    let off = |linearise: &str| -> f64 {
        // plans do not model the floating of the convex step
        let changes = [
            ("mpc.goal.box.theta", "0"),
            ("mpc.linearise", linearise),
            ("step.friction", "convex"),
        ];
        let run = closed_loop(&scene("planar_pusher", &changes));
        assert!(run.stopped.is_none());
        assert_eq!(run.proven(), run.steps.len());
        (run.x_end[2] - run.goal[2]).hypot(run.x_end[3] - run.goal[3])
    };
    let (here, along) = (off("here"), off("along_plan"));
    assert!(along < 0.5 * here && along < 0.004, "{along} against {here}");
}

/// The task of Hogan and Rodriguez (2016): a finger pushes a box with support friction around two
/// circles. It sticks, and slides to either side. Each plan is proven optimal.
#[test]
fn a_pusher_follows_a_figure_of_eight() {
    let run = closed_loop(&scene("pusher_slider_eight", &[]));
    assert!(run.stopped.is_none());
    assert_eq!((run.steps.len(), run.proven()), (377, 377));
    let (mut sum, mut modes) = (0.0, [0; 4]);
    for (k, step) in run.steps.iter().enumerate() {
        let wanted = &run.trajectory[k + 1];
        sum += (step.x_next[0] - wanted[0]).powi(2) + (step.x_next[1] - wanted[1]).powi(2);
        let contact = &step.contacts[0];
        modes[match contact.tangents[..] {
            _ if contact.normal < 1e-9 => 0,
            _ if contact.slip < 1e-6 => 1,
            [plus, minus] if plus > minus => 2,
            _ => 3,
        }] += 1;
    }
    let rms = (sum / 377.0).sqrt();
    assert!(rms < 1e-3, "{rms} m");
    // modes open, stick, slide to either side: it mostly sticks
    assert!(modes[1] > 300 && modes[2] > 0 && modes[3] > 0, "{modes:?}");
}

/// At the given rates, a plan's support has the force and torque of the ellipsoid: a body under
/// this load keeps its rates.
#[test]
fn a_support_in_a_plan_has_its_force_at_the_rates_of_the_plan() {
    let scene = scene("pusher_slider_eight", &[]);
    let (v, r, bound) = ([0.04, -0.02, 0.9], 0.0344, 0.35 * 1.05 * 9.81);
    let q = [0.0, 0.0, 0.3, -0.1, 0.0];
    let dynamics = Dynamics::Dynamic { driven: vec![0, 1, 2] };
    let rates = [v[0], v[1], v[2], 0.0, 0.0];
    let at = look(&scene, &q);
    let how = (&rates[..], &settings(0.1));
    let lcs = predict(&scene.system, &at, &q, &q[3..], &[], &dynamics, how).unwrap().lcs;
    let speed = v[0].hypot(v[1]).hypot(r * v[2]);
    let u = [v[0], v[1], r * r * v[2]].map(|along| bound * along / speed);
    let x: Vec<f64> = q.into_iter().chain(rates).collect();
    for (row, v) in v.iter().enumerate() {
        let row = 5 + row;
        let next: f64 = (0..10).map(|k| lcs.A[row * 10 + k] * x[k]).sum::<f64>()
            + (0..3).map(|k| lcs.B[row * 3 + k] * u[k]).sum::<f64>()
            + lcs.f[row];
        assert!((next - v).abs() < 1e-12, "{next} {v}");
    }
}

/// MpcNote (19): a robot that starts on its goal trajectory needs no force to stay on it.
#[test]
fn a_wanted_trajectory_is_followed() {
    let changes = [
        ("mpc.goal", "{robot.x: -2 + 0.5 * t, robot.y: -3}"),
        ("mpc.start_velocity", "[0.5, 0]"),
        ("models.robot.joint.1.start", "-3"),
        ("mpc.steps", "20"),
    ];
    let run = closed_loop(&scene("point_robot", &changes));
    assert_eq!((run.steps.len(), run.proven()), (20, 20));
    // 20 steps of 0.1 s at 0.5 m/s; costs are proven to 1e-9, inputs have the weight 10
    assert!((run.x_end[0] + 1.0).abs() < 1e-4 && (run.x_end[1] + 3.0).abs() < 1e-4);
    assert!(run.costs().iter().all(|cost| *cost < 1e-8), "{:?}", run.costs());
    assert_eq!(run.trajectory.len(), 26);
}

/// If no time is left, a search still returns a usable plan, with a lower bound below its cost.
#[test]
fn no_time_still_gives_plans() {
    fn late() -> u64 {
        static NOW: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        NOW.fetch_add(1_000_000_000, std::sync::atomic::Ordering::Relaxed)
    }
    let scene = scene("point_robot", &[("mpc.time_limit", "0.001"), ("mpc.steps", "90")]);
    let section = scene.control.as_ref().unwrap();
    let run = run(&scene, section, late, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(run.steps.len(), 90);
    assert!(run.proven() < 90, "steps near the floor take more than one program");
    for step in &run.steps {
        assert!(step.plan.bound <= step.plan.cost + 1e-9 && step.plan.bound.is_finite());
    }
}

#[test]
fn demands_that_clash_are_named_as_the_scene_does() {
    let scene = scene("point_robot", &[("mpc.start_velocity", "[1.5, 0]")]);
    let why = closed_loop(&scene).stopped.unwrap().to_string();
    assert!(why.contains("upper bound of velocity of `robot.x` at the start"), "{why}");
    let outlook = outlook(&scene, scene.control.as_ref().unwrap()).unwrap();
    assert_eq!(outlook.sizes, [4, 2, 12]);
    assert_eq!(outlook.outside, ["the upper bound of velocity of `robot.x` at the start by 0.5"]);
}

#[test]
fn what_cannot_be_planned_is_named() {
    let predict_in = |scene: &Scene, dynamics: &Dynamics| {
        let here = look(scene, &scene.start.q);
        let held = vec![0.0; if dynamics.carries_velocity() { scene.system.n_cmd() } else { 0 }];
        predict(&scene.system, &here, &scene.start.q, &held, &[], dynamics, (&[], &settings(0.1)))
    };
    // a free box has orientations as coordinates
    let error = predict_in(&scene("planar_push", &[]), &Dynamics::QuasiDynamic).unwrap_err();
    assert!(matches!(error, PredictionError::Orientation { .. }), "{error}");
    let robot = scene("point_robot", &[]);
    assert_eq!(predict_in(&robot, &Dynamics::QuasiDynamic), Err(PredictionError::NoInput));
    let beyond = Dynamics::Dynamic { driven: vec![7] };
    assert_eq!(predict_in(&robot, &beyond), Err(PredictionError::Input { dof: 7 }));
    let hand = scene("planar_hand", &[]);
    let pushed = Dynamics::Dynamic { driven: vec![0] };
    let here = look(&hand, &hand.start.q);
    let error =
        predict(&hand.system, &here, &hand.start.q, &[1.0], &[], &pushed, (&[], &settings(0.1)));
    assert_eq!(error, Err(PredictionError::Command { got: 1, want: 4 }));
    // the fingers have springs and no mass, which is permitted; a slide with neither is refused
    assert!(predict_in(&hand, &Dynamics::Dynamic { driven: vec![0] }).is_ok());
    let slides = "[{slide: x, axis: [1, 0, 0], start: -0.13}, {slide: y, axis: [0, 1, 0]}]";
    let loose = scene("planar_hand", &[("models.left.joint", slides)]);
    let error = predict_in(&loose, &Dynamics::Dynamic { driven: vec![0] }).unwrap_err();
    assert_eq!(error, PredictionError::Massless { dof: "left.x".into() });
}
