//! Rows of convex steps hold at the solution, in grasps of two scans by different fingers. Many
//! contacts of a cloud are active at once, and their gaps are slightly inconsistent.

use quasistep::StepInput;
use quasistep_cone::{ConeSolver, Settings, Solution, Status};
use testkit::dense_program::DenseProgram;
use testkit::scene;

/// Violation that is rounding, as a share of the largest speed or offset.
const ROUNDING: f64 = 1e-12;
/// Acceptable violation where the smallest-norm multipliers of all active rows would be negative at
/// the exact point, as a share of the largest speed or offset.
const LARGEST: f64 = 1e-9;

#[test]
fn rows_of_grasps_hold_to_rounding() {
    let mug: [(&str, &str); 4] = [
        ("models.bunny.cloud.file", "models/clouds/mug.ply"),
        ("models.bunny.cloud.points", "12"),
        ("models.hand.bodies.left.shape", "{capsule: {radius: 0.006, length: 0.03}}"),
        ("models.hand.bodies.right.shape", "{sphere: {radius: 0.01}}"),
    ];
    for changes in [&[][..], &mug] {
        let scene = scene("bunny_grasp", changes);
        let (mut state, mut work) = (scene.start.clone(), scene.system.create_workspace());
        let (mut input, mut dense) = (StepInput::default(), DenseProgram::default());
        let (mut solver, mut cold) = (ConeSolver::new(), Solution::default());
        let (mut checked, mut off, mut most_rows) = (0, 0, 0);
        for k in 1..=scene.n_steps() {
            scene.sample(k as f64 * scene.params.time_step, &mut input);
            if let Err(e) = scene.system.step_with(&mut state, &input, &scene.params, &mut work) {
                panic!("{changes:?}, step {k}: {e}");
            }
            let program = work.last_problem();
            solver.solve(program, None, &Settings::default(), &mut cold);
            assert_eq!(cold.status, Status::Solved, "{changes:?}, step {k}");
            dense.fill(program);
            let qp = dense.qp();
            for answer in [work.last_solution(), &cold] {
                let speed = answer.x.iter().chain(qp.b).fold(0.0_f64, |m, x| m.max(x.abs()));
                let least = (0..qp.b.len()).map(|i| qp.A.dot(i, &answer.x) - qp.b[i]);
                let least = least.fold(0.0_f64, f64::min);
                off += usize::from(least < -ROUNDING * speed);
                assert!(least >= -LARGEST * speed, "{changes:?}, step {k}: {least:e} of {speed:e}");
                checked += 1;
            }
            most_rows = most_rows.max(qp.b.len());
        }
        println!(
            "{changes:?}: {off} of {checked} answers of up to {most_rows} rows beyond rounding"
        );
        assert!(20 * off <= checked, "{changes:?}: {off} of {checked}");
        assert!(checked > scene.n_steps(), "{checked} answers of {} steps", scene.n_steps());
    }
}
