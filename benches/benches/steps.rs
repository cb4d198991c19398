//! One step of every shipped scene: µs per stage over the whole run with residuals, then the step
//! at the middle of the run repeatedly.
//!
//! `cargo bench -p benches`
#![allow(missing_docs)]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use quasistep::{Stage, StepInput, Tally};
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::time::Instant;

/// Wall time in ns; benches run alone on the machine.
fn wall_ns() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

fn stages(_: &mut Criterion) {
    print!("{:<16}{:>8}{:>9}{:>9}", "scene", "steps", "step µs", "p95");
    for stage in Stage::ALL {
        print!("{:>11}", stage.name());
    }
    println!("{:>12}{:>12}", "balance N", "gap m");
    for name in testkit::SCENES {
        let scene = testkit::scene(name, &[]);
        let mut tally = Tally::default();
        let outcome = scene.run(Some(wall_ns), &mut |step| {
            tally.push(step.report);
            ControlFlow::Continue(())
        });
        assert!(outcome.stopped.is_none(), "{name}: {:?}", outcome.stopped);
        let step = tally.step_us();
        print!("{name:<16}{:>8}{:>9.1}{:>9.1}", tally.steps(), step.median, step.p95);
        for stage in Stage::ALL {
            print!("{:>11.2}", tally.stage_us(stage).median);
        }
        let worst = tally.worst();
        println!("{:>12.1e}{:>12.1e}", worst.force_balance, worst.penetration);
    }
}

/// Steady state: memory and warm start are those of a run at its middle.
fn steps(criterion: &mut Criterion) {
    for name in testkit::SCENES {
        let scene = testkit::scene(name, &[]);
        let (system, params) = (&scene.system, &scene.params);
        let mut work = system.create_workspace();
        let mut state = scene.start.clone();
        let mut input = StepInput::default();
        let half = scene.n_steps() / 2;
        for _ in 0..half {
            scene.sample(state.time + params.time_step, &mut input);
            system.step_with(&mut state, &input, params, &mut work).expect("a shipped scene steps");
        }
        scene.sample(state.time + params.time_step, &mut input);
        criterion.bench_function(&format!("{name}/step"), |b| {
            b.iter_batched_ref(
                || state.clone(),
                |s| {
                    let report = system.step_with(s, &input, params, &mut work);
                    report.expect("a shipped scene steps").time
                },
                BatchSize::SmallInput,
            );
        });
    }
}

criterion_group!(benches, stages, steps);
criterion_main!(benches);
