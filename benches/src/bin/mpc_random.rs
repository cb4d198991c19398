//! Plans for small random systems, and the same problems as files, for solvers that compare.
//!
//! `cargo run --release -p benches --bin mpc_random -- --first 1 --count 10`
//!
//! Prints one JSON object per problem; `--mps` and `--form indicator` write the other files.

use clap::{Parser, ValueEnum};
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
    /// How complementarity is written
    #[arg(long, value_enum, default_value_t = Form::Sos1)]
    form: Form,
    /// Write the problem in MPS instead of LP format
    #[arg(long)]
    mps: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    Sos1,
    BigM,
    Indicator,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let seeds = arguments.first..arguments.first + arguments.count;
    for seed in seeds {
        if let Err(error) = plan(seed, &arguments) {
            eprintln!("error: seed {seed}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn plan(seed: u64, arguments: &Arguments) -> Result<(), ProblemError> {
    let RandomProblem { problem, x0 } = random_problem(seed);
    let mut mpc = Mpc::new(problem, MpcSettings::default())?;
    let plan = mpc.plan(&x0, None)?;
    let integers = match arguments.form {
        Form::Sos1 => Integers::Sos1,
        Form::BigM => Integers::BigM,
        Form::Indicator => Integers::Indicator,
    };
    let file = if arguments.mps {
        mpc.export_mps(&x0, None, integers)?
    } else {
        mpc.export_lp(&x0, None, integers)?
    };
    let line = json!({
        "seed": seed,
        "status": format!("{:?}", plan.status),
        // JSON has no infinity
        "cost": plan.cost.is_finite().then_some(plan.cost),
        "bound": plan.bound.is_finite().then_some(plan.bound),
        "nodes": plan.nodes,
        "file": file,
    });
    println!("{line}");
    Ok(())
}
