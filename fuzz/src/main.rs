//! `cargo xtask fuzz`, and the worker process that it starts.

use clap::Parser;
use fuzz::campaign::{self, Plan};
use fuzz::{TARGETS, Target, target, worker};
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Draws cases from seeds, judges what quasistep makes of them, and cuts findings down to small files
#[derive(Parser)]
#[command(name = "cargo xtask fuzz", bin_name = "cargo xtask fuzz")]
struct Arguments {
    /// What is drawn: worlds, files, programs, python; all but the last by default
    targets: Vec<String>,
    /// Wall time of each target; without it a fixed number of cases
    #[arg(long)]
    minutes: Option<f64>,
    /// Number of cases of each target
    #[arg(long)]
    cases: Option<u64>,
    /// Number of steps of worlds, after which no more are drawn
    #[arg(long)]
    steps: Option<u64>,
    /// Compares one case in so many with a second run and with its images; findings always are
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    compare: u64,
    /// First seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Worker processes at a time
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Folder of the findings
    #[arg(long, default_value = "target/fuzz/findings")]
    out: PathBuf,
    /// Interpreter of an environment with the package, for `python`
    #[arg(long, default_value = "python3")]
    interpreter: String,
    /// Judges the case of a finding's file, or a scene, and nothing else
    #[arg(long)]
    replay: Option<PathBuf>,
    /// Prints the case of the first seed, and judges nothing
    #[arg(long)]
    print: bool,
    /// Is a worker process
    #[arg(long, hide = true)]
    worker: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.worker {
        worker::serve();
        return ExitCode::SUCCESS;
    }
    let chosen: Result<Vec<Target>, String> = if arguments.targets.is_empty() {
        Ok(TARGETS.into_iter().filter(|t| t.judge.is_some()).collect())
    } else {
        let find = |name: &String| {
            let names = TARGETS.map(|t| t.name).join(", ");
            target(name).ok_or(format!("no target `{name}`; there are {names}"))
        };
        arguments.targets.iter().map(find).collect()
    };
    let done = chosen.and_then(|chosen| match &arguments.replay {
        Some(file) => replay(file),
        None if arguments.print => {
            for t in &chosen {
                println!("{:#}", (t.draw)(arguments.seed));
            }
            Ok(true)
        }
        None => run(&arguments, &chosen),
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs targets; returns true if nothing was found.
fn run(arguments: &Arguments, chosen: &[Target]) -> Result<bool, String> {
    let own = std::env::current_exe().map_err(|e| format!("this program's own path: {e}"))?;
    let plan = Plan {
        seed: arguments.seed,
        cases: arguments.cases,
        steps: arguments.steps,
        compare: arguments.compare,
        time: arguments.minutes.map(|minutes| Duration::from_secs_f64(60.0 * minutes)),
        jobs: arguments.jobs,
        out: arguments.out.clone(),
        worker: vec![own.display().to_string(), "--worker".into()],
    };
    let mut clean = true;
    for target in chosen {
        let mut plan = plan.clone();
        if target.judge.is_none() {
            let script = concat!(env!("CARGO_MANIFEST_DIR"), "/python_calls.py");
            plan.worker = vec![arguments.interpreter.clone(), "-B".into(), script.into()];
        }
        let failed = |e: std::io::Error| format!("{}: {e}", target.name);
        let outcome = campaign::run(target, &plan).map_err(failed)?;
        println!("\n{}", outcome.table(target));
        for file in campaign::cut_down(target, &plan, &outcome).map_err(failed)? {
            println!("cut down: {}", file.display());
        }
        clean &= outcome.findings.is_empty();
    }
    Ok(clean)
}

/// Judges the case of one file; returns true if nothing is found.
fn replay(file: &std::path::Path) -> Result<bool, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let whole: Value =
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))?;
    let name = whole["target"].as_str().unwrap_or("worlds");
    let target = target(name).ok_or(format!("{}: no target `{name}`", file.display()))?;
    // a scene file is a case itself
    let case = whole.get("case").unwrap_or(&whole);
    worker::keep_panics();
    let verdict = worker::judge(&target, case, true);
    println!("{:#}", verdict.to_json());
    Ok(verdict.finding.is_none())
}
