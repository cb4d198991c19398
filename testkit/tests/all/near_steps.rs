//! `step.accuracy`: approximate steps of scenes with many degrees of freedom.

use quasistep::{ContactMode, Derivatives, StepInput, StepParams, StepReport, Workspace};
use quasistep_cone::Residuals;
use quasistep_scene::Scene;
use std::path::Path;
use testkit::scene;

/// From every state of the pile's run, the step to 1e-8 is certified, has the accuracy asked for,
/// and takes fewer iterations than the exact one.
#[test]
fn steps_to_an_accuracy_are_near_the_exact_ones() {
    const ACCURACY: f64 = 1e-8;
    for cone in ["4", "round"] {
        // areas depend on forces, which are not unique where bodies share loads, so point contacts
        // are used
        let corners = ("friction.default.patch", "corners");
        let scene = scene("pile", &[("step.friction", "convex"), ("step.cone", cone), corners]);
        let (system, exact) = (&scene.system, &scene.params);
        let near = StepParams { accuracy: ACCURACY, ..exact.clone() };
        let [mut work, mut near_work] = [(); 2].map(|()| system.create_workspace());
        let mut state = scene.start.clone();
        let mut input = StepInput::default();
        let (mut iterations, mut near_iterations, mut compared) = (0, 0, 0);
        // falling boxes add contacts and cause substeps, so that both runs solve several programs
        let one_program = |report: &StepReport| report.substeps == 1 && report.n_joined == 0;
        for k in 1..=scene.n_steps() / 2 {
            let said = |e: quasistep::StepError| format!("{cone}, step {k}: {e}");
            scene.sample(k as f64 * exact.time_step, &mut input);
            let report = system
                .step_with(&mut state.clone(), &input, &near, &mut near_work)
                .unwrap_or_else(|e| panic!("{}", said(e)));
            near_iterations += report.iterations;
            let (near_loaded, near_one) = (count_loaded(report), one_program(report));
            let report = system
                .step_with(&mut state, &input, exact, &mut work)
                .unwrap_or_else(|e| panic!("{}", said(e)));
            iterations += report.iterations;
            if !(near_one && one_program(report)) {
                continue;
            }
            compared += 1;
            // with redundant contacts the analytic centre of the solutions has forces at all of
            // them
            let loaded = count_loaded(report);
            assert!(near_loaded >= loaded, "{cone}, step {k}: {near_loaded} of {loaded}");

            let (apart, open) = energy_apart(&near_work, &work);
            assert!(apart <= open, "{cone}, step {k}: {apart:e} J, residuals leave {open:e}");
        }
        assert!(2 * near_iterations < iterations, "{cone}: {near_iterations} of {iterations}");
        assert!(2 * compared > scene.n_steps() / 2, "{cone}: {compared} steps compared");
    }
}

fn count_loaded(report: &StepReport) -> usize {
    report.contacts.iter().filter(|c| c.mode != ContactMode::Separate).count()
}

/// Squared distance `dᵀ P d` of an approximate solution from the exact one, and its upper bound
/// from the residuals: `zᵀs + |g|∞ ‖d‖₁ + |outside| ‖z_exact‖₁`, in J. The bound follows from the
/// convexity of the cost.
fn energy_apart(near: &Workspace, exact: &Workspace) -> (f64, f64) {
    let program = near.last_problem();
    let (near, exact) = (near.last_solution(), exact.last_solution());
    let d: Vec<f64> = near.x.iter().zip(&exact.x).map(|(a, b)| a - b).collect();
    // the blade's three dofs, then six of each box
    let mut apart = 0.0;
    let mut first = 0;
    for block in 0..=(d.len() - 3) / 6 {
        let dim = if block == 0 { 3 } else { 6 };
        let d = &d[first..first + dim];
        for (i, d_i) in d.iter().enumerate() {
            apart += d_i * program.P_row(block, i).iter().zip(d).map(|(p, d)| p * d).sum::<f64>();
        }
        first += dim;
    }
    assert_eq!(first, d.len());
    let sum = |values: &[f64]| values.iter().map(|x| x.abs()).sum::<f64>();
    let products: f64 = near.z.iter().zip(&near.s).map(|(z, s)| z * s).sum();
    let Residuals { stationarity, primal, .. } = near.residuals;
    // the exact solution has rounding too: its own products and residual are about 1e-10 of the
    // cost
    let rounding = 1e-10 * near.z.iter().zip(&near.s).map(|(z, s)| (z * s).abs()).sum::<f64>()
        + exact.residuals.primal * sum(&near.z)
        + exact.residuals.stationarity * sum(&d);
    (apart, products + stationarity * sum(&d) + primal * sum(&exact.z) + rounding)
}

/// Derivatives are those of the exact step, whatever its accuracy.
#[test]
fn derivatives_have_all_digits_whatever_a_step_may_be_off_by() {
    let scene = scene("pile", &[("step.friction", "convex")]);
    let mut input = StepInput::default();
    scene.sample(scene.params.time_step, &mut input);
    let next = |accuracy| {
        let params = StepParams { accuracy, ..scene.params.clone() };
        let mut out: Derivatives = scene.system.create_derivatives();
        let mode = quasistep::Mode::Exact;
        scene.system.differentiate(&scene.start, &input, &params, mode, &mut out).expect("solved");
        out.report().v.clone()
    };
    assert_eq!(next(0.0), next(1e-7));
}

/// A slide is commanded 30 m further. Its spring has 2e5 N in the data and almost none at the
/// solution, to which the stationarity residual must be compared. The slide pushes a row of boxes,
/// or nothing while balls fall.
#[test]
fn a_command_far_away_does_not_hide_other_forces() {
    const BODIES: usize = 7;
    let head = "gravity: [0, 0, -9.81]
step: {size: 0.01, duration: 0.3, friction: convex, cone: 4, relaxation: step, contact_margin: 0.02, accuracy: 1.0e-8}
commands: [{joint: slide.x, constant: 30}]
models:
  floor: {joint: fixed, friction: 0.5, shape: {half_space: {}}}
  slide:
    joint: [{slide: x, axis: [1, 0, 0], stiffness: 7110}]
    gravity: false
    friction: 0.5
    pose: {xyz: [-1.1, 0, 0.6]}
    shape: {box: {size: [1, 1, 1]}}
";
    let row = |i| {
        format!(
            "  b{i}: {{mass: 1, friction: 0.5, pose: {{xyz: [{i}, 0, 0.3]}}, shape: {{box: {{size: [0.9, 0.6, 0.6]}}}}}}\n"
        )
    };
    let fall = |i| {
        format!(
            "  b{i}: {{mass: 1, pose: {{xyz: [{i}, 9, 5]}}, shape: {{sphere: {{radius: 0.2}}}}}}\n"
        )
    };
    let texts = [(0..BODIES).map(row).collect::<String>(), (0..BODIES).map(fall).collect()];
    for text in texts.map(|bodies| format!("{head}{bodies}")) {
        let scene = Scene::parse(&text, "scene.yml", "scene", Path::new("."), &[]).unwrap();
        let (mut state, mut work) = (scene.start.clone(), scene.system.create_workspace());
        let mut input = StepInput::default();
        for k in 1..=scene.n_steps() {
            scene.sample(k as f64 * scene.params.time_step, &mut input);
            if let Err(e) = scene.system.step_with(&mut state, &input, &scene.params, &mut work) {
                panic!("step {k}: {e}");
            }
        }
    }
}
