//! Long test of certified steps, on random worlds in fast motion:
//!
//! `cargo run --release -p benches --bin swept_worlds -- --count 10000`
//!
//! The motion of every certified step is sampled densely. Prints the outcomes of steps, and fails
//! if a certified step overlaps.

use clap::Parser;
use quasistep::StepError;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;
use testkit::random_worlds::{follow, random_world};

/// Steps random worlds and samples their motion
#[derive(Parser)]
struct Arguments {
    /// How many worlds
    #[arg(long, default_value_t = 10_000)]
    count: u64,
    /// Seed of the first
    #[arg(long, default_value_t = 0)]
    first: u64,
}

fn main() -> ExitCode {
    let Arguments { count, first } = Arguments::parse();
    let (mut steps, mut with_substeps, mut substeps, mut wrong) = (0, 0, 0, 0);
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    let mut slowest = (0.0, 0);
    for seed in first..first + count {
        let begin = Instant::now();
        let course = follow(&random_world(seed));
        let seconds = begin.elapsed().as_secs_f64();
        if seconds > slowest.0 {
            slowest = (seconds, seed);
        }
        steps += course.steps;
        with_substeps += course.with_substeps;
        substeps += course.substeps;
        let end = match &course.error {
            None => "all steps taken",
            Some(StepError::Infeasible { .. }) => "infeasible or crushed",
            Some(StepError::Jammed { .. }) => "jammed",
            Some(StepError::Undecided { .. }) => "undecided",
            Some(StepError::Unsupported { .. }) => "unsupported",
            Some(StepError::Overlap { .. }) => "overlap that no substep avoids",
            Some(StepError::NotSolved { .. }) => "not solved",
            Some(_) => "other",
        };
        *ends.entry(end).or_default() += 1;
        if let Some(why) = course.wrong {
            wrong += 1;
            println!("world {seed}: {why}");
        }
    }
    println!(
        "{count} worlds, {steps} certified steps, {with_substeps} of them in substeps ({substeps} in all)"
    );
    for (end, n) in ends {
        println!("  {end}: {n} worlds ({:.2} %)", 100.0 * n as f64 / count as f64);
    }
    println!("  slowest, with its check: world {} in {:.1} s", slowest.1, slowest.0);
    println!("  certified and wrong: {wrong}");
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
