//! Exact Coulomb friction compared with the convex step on every shipped scene, with both cones:
//! medians over a whole run, alternating between the formulations, and the methods that solved the
//! exact steps.
//!
//! `cargo bench -p benches --bench coulomb`, for some scenes with their names after `--`
#![allow(missing_docs)]

use quasistep::{CoulombMethod, Stage, Tally};
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::time::Instant;

/// Number of runs of each formulation; the smallest median counts.
const RUNS: usize = 3;

/// Wall time in ns; benches run alone on the machine.
fn wall_ns() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

struct Seen {
    step: f64,
    solve: f64,
    tally: Tally,
    finished: bool,
}

fn run(name: &str, formulation: &str, cone: &str) -> Seen {
    let scene = testkit::scene(name, &[("step.friction", formulation), ("step.cone", cone)]);
    let mut tally = Tally::default();
    let outcome = scene.run(Some(wall_ns), &mut |step| {
        tally.push(step.report);
        ControlFlow::Continue(())
    });
    Seen {
        step: tally.step_us().median,
        solve: tally.stage_us(Stage::Solve).median,
        tally,
        finished: outcome.stopped.is_none(),
    }
}

fn main() {
    // `cargo test` starts benches too, to test that they run
    if std::env::args().any(|a| a == "--test") {
        return;
    }
    println!(
        "{:<16}{:>6}{:>11}{:>11}{:>7}{:>12}{:>11}{:>7}   newton, continuation, lemke, cases",
        "scene", "cone", "convex µs", "exact µs", "ratio", "its solve", "its solve", "ratio"
    );
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let shown = |name: &str| wanted.is_empty() || wanted.iter().any(|a| a == name);
    for name in testkit::SCENES.into_iter().filter(|name| shown(name)) {
        for cone in ["4", "round"] {
            let mut best: [Option<Seen>; 2] = [None, None];
            for _ in 0..RUNS {
                for (best, formulation) in best.iter_mut().zip(["convex", "exact"]) {
                    let seen = run(name, formulation, cone);
                    if best.as_ref().is_none_or(|b| seen.step < b.step) {
                        *best = Some(seen);
                    }
                }
            }
            let [Some(convex), Some(exact)] = best else { continue };
            let count = |method| exact.tally.coulomb_steps(method);
            let newton = count(CoulombMethod::WarmNewton) + count(CoulombMethod::Newton);
            let rest = [CoulombMethod::Continuation, CoulombMethod::Lemke, CoulombMethod::Cases]
                .map(count);
            let end = if exact.finished { "" } else { "   stopped" };
            println!(
                "{name:<16}{cone:>6}{:>11.1}{:>11.1}{:>7.2}{:>12.1}{:>11.1}{:>7.2}   {newton} {rest:?}{end}",
                convex.step,
                exact.step,
                exact.step / convex.step,
                convex.solve,
                exact.solve,
                exact.solve / convex.solve,
            );
        }
    }
}
