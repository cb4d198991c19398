//! Plans for small random systems, and the same problems as files, for solvers that compare.
//!
//! `cargo run --release -p benches --bin mpc_random -- --first 1 --count 10`
//!
//! Prints one JSON object per problem.

use clap::Parser;
use quasistep_control::{Integers, Mpc, MpcSettings, ProblemError};
use serde_json::json;
use std::process::ExitCode;
use testkit::random_lcs::{RandomProblem, random_problem};

/// Plans for random systems and prints them as JSON with the problem in LP format
#[derive(Parser)]
struct Arguments {
    /// First seed
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// Number of problems
    #[arg(long, default_value_t = 10)]
    count: u64,
    /// Write complementarity with big-M instead of SOS1
    #[arg(long)]
    big_m: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let seeds = arguments.first..arguments.first + arguments.count;
    for seed in seeds {
        if let Err(error) = plan(seed, arguments.big_m) {
            eprintln!("error: seed {seed}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn plan(seed: u64, big_m: bool) -> Result<(), ProblemError> {
    let RandomProblem { problem, x0 } = random_problem(seed);
    let mut mpc = Mpc::new(problem, MpcSettings::default())?;
    let plan = mpc.plan(&x0, None)?;
    let integers = if big_m { Integers::BigM } else { Integers::Sos1 };
    let line = json!({
        "seed": seed,
        "status": format!("{:?}", plan.status),
        // JSON has no infinity
        "cost": plan.cost.is_finite().then_some(plan.cost),
        "bound": plan.bound.is_finite().then_some(plan.bound),
        "nodes": plan.nodes,
        "lp": mpc.export_lp(&x0, None, integers)?,
    });
    println!("{line}");
    Ok(())
}
