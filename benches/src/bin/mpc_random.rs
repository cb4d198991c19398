//! Plans for small random systems. The problems are also written as numbers and as files, for
//! comparison with other solvers.
//!
//! `cargo run --release -p benches --bin mpc_random -- --first 1 --count 10`
//!
//! Prints one JSON object per problem: its matrices and bounds, and our plan. With `--form sos1`,
//! `big-m` or `indicator`, the problem is also written as an LP file, with `--mps` as MPS.

#![allow(non_snake_case)] // notation of MpcNote

use clap::{Parser, ValueEnum};
use quasistep_control::{Integers, Lcs, Limits, Mpc, MpcSettings, Plan, Problem, ProblemError};
use serde_json::{Value, json};
use std::process::ExitCode;
use testkit::random_lcs::{RandomProblem, larger_problem, random_problem, soft_problem};

/// Plans for random systems and prints both as JSON
#[derive(Parser)]
struct Arguments {
    /// First seed
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// Number of problems
    #[arg(long, default_value_t = 10)]
    count: u64,
    /// Which systems
    #[arg(long, value_enum, default_value_t = Kind::Small)]
    kind: Kind,
    /// Write the problem as a file too, with complementarity like this
    #[arg(long, value_enum)]
    form: Option<Form>,
    /// Write the file in MPS instead of LP format
    #[arg(long, requires = "form")]
    mps: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Small,
    Larger,
    Soft,
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
    let RandomProblem { problem, x0 } = match arguments.kind {
        Kind::Small => random_problem(seed),
        Kind::Larger => larger_problem(seed),
        Kind::Soft => soft_problem(seed),
    };
    let numbers = numbers(&problem, &x0);
    let mut mpc = Mpc::new(problem, MpcSettings::default())?;
    let plan = mpc.plan(&x0, None)?;
    let integers = arguments.form.map(|form| match form {
        Form::Sos1 => Integers::Sos1,
        Form::BigM => Integers::BigM,
        Form::Indicator => Integers::Indicator,
    });
    let file = integers.map(|integers| {
        if arguments.mps {
            mpc.export_mps(&x0, None, integers)
        } else {
            mpc.export_lp(&x0, None, integers)
        }
    });
    let line = json!({
        "seed": seed,
        "problem": numbers,
        "plan": answer(&plan),
        "file": file.transpose()?,
    });
    println!("{line}");
    Ok(())
}

/// All that a problem is made of; matrices row by row.
fn numbers(problem: &Problem, x0: &[f64]) -> Value {
    let models = (0..problem.horizon).map(|k| {
        let model = &problem.models[k % problem.models.len()];
        let Lcs { A, B, C, D, E, f, a, n_gamma, .. } = model;
        let bounded = bounded_impulses(model);
        json!({
            "A": A, "B": B, "C": C, "D": D, "E": E, "f": f, "a": a, "n_gamma": n_gamma, "bounded": bounded,
        })
    });
    // JSON has no infinity
    let limits = |l: &Limits| json!({"lower": l.lower, "upper": l.upper});
    json!({
        "x0": x0,
        "models": models.collect::<Vec<_>>(),
        "Q": problem.cost.Q,
        "Q_f": problem.cost.Q_f,
        "R": problem.cost.R,
        "goal": problem.cost.goal,
        "state": limits(&problem.bounds.state),
        "input": limits(&problem.bounds.input),
        "input_rate": limits(&problem.bounds.input_rate),
        "impulse": problem.bounds.impulse,
    })
}

/// Indices of the entries of `gamma` to which
/// [`Bounds::impulse`](quasistep_control::Bounds::impulse) applies.
fn bounded_impulses(lcs: &Lcs) -> Vec<usize> {
    let mut bounded: Vec<usize> = (0..lcs.n_gamma).collect();
    for contact in lcs.contacts() {
        bounded.retain(|j| !contact.tangents.contains(j) && *j != contact.slip);
    }
    bounded
}

/// A plan as JSON; infinite numbers become null.
fn answer(plan: &Plan) -> Value {
    let finite = |v: f64| v.is_finite().then_some(v);
    json!({
        "status": format!("{:?}", plan.status),
        "cost": finite(plan.cost),
        "bound": finite(plan.bound),
        "nodes": plan.nodes,
        "size": plan.size,
        "states": plan.states,
        "inputs": plan.inputs,
        "impulses": plan.impulses,
        "relaxed": plan.relaxed.len(),
    })
}
