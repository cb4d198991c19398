//! Elementary experiments with known results at any step size: `docs/quasi-static.md`. `cargo test
//! -p testkit first_physics:: -- --nocapture` prints its table.

use quasistep_scene::RunOutcome;
use std::ops::ControlFlow;
use testkit::scene;

const SIZES: [&str; 5] = ["0.005", "0.02", "0.05", "0.1", "0.2"];
const G: f64 = 9.81;

fn run(name: &str, changes: &[(&str, &str)]) -> RunOutcome {
    let outcome = scene(name, changes).run(None, &mut |_| ControlFlow::Continue(()));
    assert!(outcome.stopped.is_none(), "{name} {changes:?}: {:?}", outcome.stopped);
    outcome
}

#[test]
fn bodies_fall_weigh_and_slide_as_they_should_at_any_step_size() {
    println!(
        "| h, s | the ball lies after, s | drive that lifts 0.2 kg, N | way down the slope, m |"
    );
    println!("|---|---|---|---|");
    for h in SIZES {
        // the body falls 0.95 m at g tau and never rises
        let fall = run("fall", &[("step.size", h)]);
        let heights: Vec<f64> = fall.recording.frames.iter().map(|f| f.q[6]).collect();
        assert!(heights.windows(2).all(|w| w[1] <= w[0] + 1e-12), "h = {h}: {heights:?}");
        let landed = heights.iter().position(|z| (z - 0.05).abs() < 1e-9).unwrap();
        let landed = fall.recording.frames[landed].t;
        let size: f64 = h.parse().unwrap();
        assert!(landed >= 0.95 / G - 1e-9 && landed < 0.95 / G + 2.0 * size, "h = {h}: {landed}");

        // force: its weight, plus drag at 0.1 m/s
        let lift = run("lift", &[("step.size", h)]);
        let drive = lift.recording.frames.last().unwrap().effort[0];
        assert!((drive - 0.2 * (G + 0.1)).abs() < 1e-6, "h = {h}: {drive} N");

        // x along the level; time 0.4 s in whole steps
        let slope = run("slope", &[("step.size", h)]);
        let way = (slope.state.q[4] - 0.017_101_007_166_283_4) / 20_f64.to_radians().cos();
        let speed = G * (20_f64.to_radians().sin() - 0.2 * 20_f64.to_radians().cos());
        assert!((way - 0.4 * speed).abs() < 1e-6, "h = {h}: {way} m");
        println!("| {h} | {landed:.3} | {drive:.4} | {way:.4} |");
    }
}
