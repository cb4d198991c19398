//! Dynamic steps compared with independent models, and on the shipped scenes.

use quasistep::{ContactReport, State, StepInput, StepParams, StepReport, Tally};
use quasistep_control::{Dynamics, Lcs, PlanStatus, PredictionSettings, point_robot, predict};
use quasistep_friction::{Lcp, LcpOutcome, LcpSolution, LcpSolver};
use quasistep_reproduce::closed_loop::run;
use quasistep_scene::Scene;
use std::ops::ControlFlow;
use testkit::{CONTROLLED_SCENES, SCENES, root, scene};

/// The point robot with all its surfaces within the margin, and parameters of a step with
/// velocities.
fn robot() -> (Scene, StepParams) {
    let scene = scene("point_robot", &[("step.motion", "dynamic")]);
    let params = StepParams { contact_margin: 100.0, ..scene.params.clone() };
    (scene, params)
}

/// One step from `x = (q, v)` under the forces `u`.
fn step(scene: &Scene, params: &StepParams, x: &[f64], u: &[f64]) -> (Vec<f64>, StepReport) {
    let mut state =
        State { time: 0.0, q: x[..2].to_vec(), v: x[2..].to_vec(), attached: Vec::new() };
    let input = StepInput { tau: u.to_vec(), ..StepInput::default() };
    let mut work = scene.system.create_workspace();
    let report = scene.system.step_with(&mut state, &input, params, &mut work).unwrap().clone();
    (state.q.into_iter().chain(state.v).collect(), report)
}

/// Next state `x⁺` of a linear complementarity system, by Lemke's method on all its pairs.
fn roll(lcs: &Lcs, x: &[f64], u: &[f64]) -> Vec<f64> {
    let row = |M: &[f64], i: usize, v: &[f64]| -> f64 {
        M[i * v.len()..][..v.len()].iter().zip(v).map(|(a, b)| a * b).sum()
    };
    let free: Vec<f64> =
        (0..lcs.n_x).map(|i| row(&lcs.A, i, x) + row(&lcs.B, i, u) + lcs.f[i]).collect();
    let g = lcs.n_gamma;
    let mut lcp = Lcp::new();
    lcp.reset(0, g);
    for i in 0..g {
        for j in 0..g {
            let through: f64 =
                (0..lcs.n_x).map(|k| lcs.D[i * lcs.n_x + k] * lcs.C[k * g + j]).sum();
            lcp.row(i)[j] = through + lcs.E[i * g + j];
        }
        lcp.q()[i] = row(&lcs.D, i, &free) + lcs.a[i];
    }
    let mut answer = LcpSolution::default();
    LcpSolver::new().solve(&lcp, &[], &mut answer);
    assert_eq!(answer.outcome, LcpOutcome::Solved);
    (0..lcs.n_x).map(|i| free[i] + row(&lcs.C, i, &answer.z)).collect()
}

fn far(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
}

/// Linear congruential generator: the same samples on every machine, uniform in [-1, 1).
fn uniform(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*seed >> 11) as f64 / (1_u64 << 53) as f64 * 2.0 - 1.0
}

/// MpcNote (6) to (9) with the step's own parameters: states near the slope, the floor, the wall,
/// and in corners.
#[test]
fn the_step_of_the_point_robot_is_that_of_the_note() {
    let (scene, params) = robot();
    let lcs = point_robot::lcs();
    let (mut seed, mut worst, mut touched, mut slid) = (1, 0.0_f64, 0, 0);
    for _ in 0..2000 {
        // between the surfaces: y ≥ −4.4, x ≤ 4.4, x − y ≥ 0.6 √2
        let y = -4.4 + 0.02 * (uniform(&mut seed) + 1.0).powi(2);
        let x = 4.4 - 0.02 * (uniform(&mut seed) + 1.0).powi(2);
        let slope = uniform(&mut seed) > 0.3;
        let along = 0.03 * (uniform(&mut seed) + 1.0);
        let q = if slope { [0.6 * 2.0_f64.sqrt() + along + y, y] } else { [x, y] };
        // the note's bounds: 1 m/s and 1 N
        let x = [q[0], q[1], uniform(&mut seed), uniform(&mut seed)];
        let u = [uniform(&mut seed), uniform(&mut seed)];
        let (next, report) = step(&scene, &params, &x, &u);
        worst = worst.max(far(&next, &roll(&lcs, &x, &u)));
        assert!(report.fallback.is_none());
        touched += usize::from(report.contacts.iter().any(|c| c.normal_force > 1e-9));
        slid += usize::from(
            report.contacts.iter().any(|c| c.normal_force > 1e-9 && c.slip_W.norm() > 1e-6),
        );
    }
    println!("worst {worst:e}, {touched} touch, {slid} slide");
    assert!(touched > 500 && slid > 200 && touched - slid > 200, "{touched} {slid}");
    assert!(worst <= 1e-10, "{worst:e}");
}

/// With soft and stiff springs and dampers on the joints, the prediction's linear complementarity
/// system equals the simulator's step.
#[test]
fn a_prediction_has_the_springs_of_the_step() {
    let (mut seed, mut worst, mut touched, mut slid) = (3, 0.0_f64, 0, 0);
    for (stiffness, damping) in [(0.5, 0.0), (20.0, 3.0), (3000.0, 0.0)] {
        let joint = format!(
            "[{{slide: x, axis: [1, 0, 0], start: 4.1, stiffness: {stiffness}, damping: {damping}}}, \
             {{slide: y, axis: [0, 1, 0], start: -4.3}}]"
        );
        let scene =
            scene("point_robot", &[("models.robot.joint", &joint), ("step.motion", "dynamic")]);
        let params = StepParams { contact_margin: 100.0, ..scene.params.clone() };
        let settings = PredictionSettings {
            time_step: params.time_step,
            max_recovery_speed: params.max_recovery_speed,
            directions: 2,
        };
        let dynamics = Dynamics::Dynamic { driven: vec![0, 1] };
        for _ in 0..400 {
            let x: Vec<f64> = [4.35, -4.38, 0.0, 0.0]
                .iter()
                .zip([0.05, 0.02, 1.0, 1.0])
                .map(|(middle, half)| middle + half * uniform(&mut seed))
                .collect();
            let u = [uniform(&mut seed), uniform(&mut seed)];
            let command = vec![4.1 + 0.2 * uniform(&mut seed)];
            // far from the point of linearisation: nothing rotates in this scene
            let about = [3.0, -3.0];
            let seen = scene.system.linearise(&about, params.gravity, 100.0).unwrap();
            let predicted =
                predict(&scene.system, &seen, &about, &command, &[], &dynamics, (&[], &settings));
            let expected = roll(&predicted.unwrap().lcs, &x, &u);
            let mut state =
                State { time: 0.0, q: x[..2].to_vec(), v: x[2..].to_vec(), attached: Vec::new() };
            let input = StepInput { q_cmd: command, tau: u.to_vec(), ..StepInput::default() };
            let mut work = scene.system.create_workspace();
            let report =
                scene.system.step_with(&mut state, &input, &params, &mut work).unwrap().clone();
            let next: Vec<f64> = state.q.into_iter().chain(state.v).collect();
            worst = worst.max(far(&next, &expected));
            let pushes = |c: &&ContactReport| c.normal_force > 1e-9;
            touched += usize::from(report.contacts.iter().any(|c| pushes(&c)));
            slid +=
                usize::from(report.contacts.iter().filter(pushes).any(|c| c.slip_W.norm() > 1e-6));
        }
    }
    println!("worst {worst:e}, {touched} touch, {slid} slide");
    assert!(touched > 300 && slid > 100, "{touched} {slid}");
    assert!(worst <= 1e-9, "{worst:e}");
}

/// Every step of a closed loop that another program proved optimal is reproduced.
#[test]
fn every_step_of_the_reference_follows_from_the_one_before() {
    let (scene, params) = robot();
    let file = root().join("crates/quasistep-control/tests/data/mpc_N5_final.csv");
    let text = std::fs::read_to_string(file).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split(',').collect()).collect();
    let numbers = |row: &[&str], names: &[&str]| -> Vec<f64> {
        let at = |name: &&str| rows[0].iter().position(|h| h == name).unwrap();
        names.iter().map(|name| row[at(name)].parse().unwrap()).collect()
    };
    let h = params.time_step;
    let (mut state, mut force) = (0.0_f64, 0.0_f64);
    for pair in rows[1..].windows(2) {
        let x = numbers(&pair[0], &["q1", "q2", "v1", "v2"]);
        let (next, report) = step(&scene, &params, &x, &numbers(&pair[0], &["u1", "u2"]));
        state = state.max(far(&next, &numbers(&pair[1], &["q1", "q2", "v1", "v2"])));
        let floor = report.contacts.iter().find(|c| c.n_AB_W.y.abs() > 0.99).unwrap();
        let b = numbers(&pair[0], &["c2", "beta3", "beta4"]);
        let ours = [floor.normal_force * h, floor.friction_force_W.x.abs() * h];
        force = force.max(far(&ours, &[b[0], (b[1] - b[2]).abs()]));
    }
    println!("state off by {state:e}, impulses by {force:e}");
    assert!(state <= 1e-9 && force <= 1e-8, "{state:e} {force:e}");
}

/// The plan's model and the simulator agree step by step.
#[test]
fn the_point_robot_under_control_moves_as_planned() {
    let scene = scene("point_robot", &[("mpc.steps", "90")]);
    let section = scene.control.as_ref().unwrap();
    let run = run(&scene, section, || 0, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(run.stopped.is_none(), "{:?}", run.stopped);
    assert_eq!(run.recording.dofs, run.dofs);
    let mut hit = false;
    for step in &run.steps {
        assert_eq!(step.plan.status, PlanStatus::Optimal);
        let off = far(&step.plan.states[1], &step.x_next);
        assert!(off <= 1e-10, "{off:e}");
        hit |= step.moved[0].report.contacts.iter().any(|c| c.normal_force > 1e-6);
    }
    assert!(hit && run.worst_prediction_error().2 <= 1e-10);
}

/// Shipped scenes with their own step sizes run to their end with dynamics. Two are left out: fifty
/// falling boxes, for which exact friction has no solution without dynamics either, and a million
/// points, for time.
#[test]
fn scenes_run_to_their_end() {
    for name in SCENES.into_iter().chain(CONTROLLED_SCENES) {
        if ["pile", "million_points"].contains(&name) {
            continue;
        }
        for cone in ["4", "round"] {
            let changes = [("step.motion", "dynamic"), ("step.cone", cone)];
            let scene = scene(name, &changes);
            assert!(scene.params.formulation.carries_velocity());
            let mut tally = Tally::default();
            let outcome = scene.run(None, &mut |step| {
                assert_eq!(step.state.v, step.report.v);
                tally.push(step.report);
                ControlFlow::Continue(())
            });
            assert!(outcome.stopped.is_none(), "{name}, {cone}: {:?}", outcome.stopped);
            assert_eq!(tally.steps(), scene.n_steps(), "{name}, {cone}");
            assert!(tally.worst().penetration <= 1e-9, "{name}, {cone}: {:?}", tally.worst());
            outcome.recording.check().unwrap();
            println!(
                "{name}, {cone}: {} steps, {} without recovery",
                tally.steps(),
                tally.without_recovery()
            );
        }
    }
}

/// A peg in a slot that is 2 mm too narrow: every step of the run is reported as using the
/// fallback.
#[test]
fn steps_without_recovery_are_counted() {
    let text = "
step: {size: 0.01, duration: 0.1, motion: dynamic}
models:
  left: {joint: fixed, pose: {xyz: [-0.599, 0, 0]}, shape: {box: {size: [1, 2, 2]}}}
  right: {joint: fixed, pose: {xyz: [0.599, 0, 0]}, shape: {box: {size: [1, 2, 2]}}}
  peg: {mass: 1, shape: {sphere: {radius: 0.1}}}
";
    let here = std::path::Path::new(".");
    let scene = Scene::parse(text, "slot.yml", "slot", here, &[]).unwrap();
    let mut tally = Tally::default();
    let outcome = scene.run(None, &mut |step| {
        let (_, why) = step.report.fallback.as_ref().unwrap();
        assert!(why.to_string().starts_with("crushed"), "{why}");
        tally.push(step.report);
        ControlFlow::Continue(())
    });
    assert!(outcome.stopped.is_none(), "{:?}", outcome.stopped);
    assert_eq!((tally.steps(), tally.stand_ins(), tally.without_recovery()), (10, 10, 10));
}
