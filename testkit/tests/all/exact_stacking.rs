//! Exact friction in the scene of stacked cubes, with rigid and with compliant pads: the table of
//! `docs/accuracy.md`. `cargo test -p testkit exact_stacking:: -- --nocapture` prints it.

use quasistep_reproduce::measure::{Trajectory, integral_error};
use quasistep_reproduce::reference::red_cube;
use std::ops::ControlFlow;
use testkit::scene;

fn err7(integration: &str, h: &str, friction: &str) -> f64 {
    let changes = [
        ("step.size", h),
        ("step.integration", integration),
        ("step.friction", "exact"),
        ("step.cone", "round"),
        ("step.relaxation", "1"),
        ("friction.default", friction),
    ];
    let scene = scene("iiwa_stacking", &changes);
    let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
    assert!(outcome.stopped.is_none(), "{changes:?}: {:?}", outcome.stopped);
    let ours = Trajectory::of_body(&outcome.recording, "red_cube/red_cube").unwrap();
    integral_error(&ours, &Trajectory::of_table(&red_cube()))
}

/// Prints a row for each step size, and checks that the pads that give have at most this error.
fn check(integration: &str, steps: &[(&str, f64)]) {
    let gives = "{patch: corners, compliance: 1.0e-6}";
    for &(h, most) in steps {
        let rigid = err7(integration, h, "{patch: corners}");
        let gives = err7(integration, h, gives);
        println!("| {integration} | {h} | rigid {rigid:.4} | compliance 1e-6 {gives:.4} |");
        assert!(gives <= most, "{integration}, h = {h}: {gives}");
    }
}

#[test]
fn pads_that_give_hold_the_cube_in_euler_steps() {
    check("euler", &[("0.2", 0.112), ("0.1", 0.075), ("0.05", 0.065)]);
}

#[test]
fn pads_that_give_hold_the_cube_in_short_euler_steps() {
    check("euler", &[("0.02", 0.065)]);
}

#[test]
fn pads_that_give_hold_the_cube_in_midpoint_steps() {
    check("midpoint", &[("0.2", 0.035), ("0.1", 0.030), ("0.05", 0.030)]);
}

#[test]
fn pads_that_give_hold_the_cube_in_short_midpoint_steps() {
    check("midpoint", &[("0.02", 0.030)]);
}
