//! Runs the fuzzer, and coverage-guided fuzzing of readers.

use crate::python;
use crate::task::{Failure, Program, cargo, command, root};

/// Version of cargo-fuzz. It runs LLVM's libFuzzer on stable Rust, without sanitizers, which need a
/// nightly compiler and are of no use without `unsafe`.
const CARGO_FUZZ: &str = "0.13.2";

/// Default number of kills of each kind.
const KILLS: u64 = 50;

/// `cargo xtask fuzz [OPTION]... [TARGET]...`
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    if let Some(at) = arguments.iter().position(|a| a == "--coverage") {
        let format = arguments
            .get(at + 1)
            .ok_or_else(|| Failure::new("say which format: --coverage urdf"))?;
        let minutes = value(arguments, "--minutes")?.unwrap_or(5.0);
        return coverage(format, minutes);
    }
    let (kills, others): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| *argument == "kills");
    if !kills.is_empty() {
        python::kills(value(arguments, "--cases")?.map_or(KILLS, |count| count as u64))?;
        if others
            .iter()
            .all(|argument| argument.starts_with('-') || argument.parse::<f64>().is_ok())
        {
            return Ok(());
        }
    }
    let mut all = vec!["run", "--quiet", "--locked", "-p", "fuzz", "--"];
    all.extend(others.iter().map(|argument| argument.as_str()));
    let interpreter;
    if arguments.iter().any(|a| a == "python") && !arguments.iter().any(|a| a == "--interpreter") {
        interpreter = python::with_package()?;
        all.extend(["--interpreter", &interpreter]);
    }
    cargo(&all).run("random cases")
}

/// The part that `ci` runs: a fixed number of cases from the first seed on. There are few worlds,
/// because in some worlds the motion is known to depend on the order of models.
pub fn ci(built: &[Program]) -> Result<(), Failure> {
    let fuzzer = built.iter().find(|program| program.is_of("fuzz") && !program.tests);
    let fuzzer = fuzzer.ok_or_else(|| Failure::new("the fuzzer is not built"))?;
    fuzzer.step(&["worlds", "--cases", "24"]).run("random worlds")?;
    fuzzer.step(&["files", "programs"]).run("random files and programs")
}

fn value(arguments: &[String], name: &str) -> Result<Option<f64>, Failure> {
    let Some(at) = arguments.iter().position(|a| a == name) else { return Ok(None) };
    let number = arguments.get(at + 1).and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| Failure::new(format!("{name}: a number is needed")))
}

/// Runs libFuzzer on the seeds of a format, guided by the reader's coverage.
fn coverage(format: &str, minutes: f64) -> Result<(), Failure> {
    let tools = root().join("target/tools");
    let program = tools.join("bin/cargo-fuzz");
    if !program.is_file() {
        let to = tools.display().to_string();
        cargo(&["install", "cargo-fuzz", "--version", CARGO_FUZZ, "--locked", "--root", &to])
            .run("installation of cargo-fuzz")?;
    }
    let corpus = root().join("target/fuzz/corpus").join(format);
    std::fs::create_dir_all(&corpus)
        .map_err(|e| Failure::new(format!("{}: {e}", corpus.display())))?;
    let (corpus, time) =
        (corpus.display().to_string(), format!("-max_total_time={}", 60.0 * minutes));
    let artifacts = format!("-artifact_prefix={}/", root().join("target/fuzz").display());
    let run = ["run", "--sanitizer", "none", "--fuzz-dir", "fuzz/coverage", "--target-dir"];
    let mut all = run.map(str::to_owned).to_vec();
    let target = root().join("target/coverage").display().to_string();
    all.extend([target, "reader".into(), corpus.clone()]);
    // a file of some kB takes a millisecond; ten seconds count as a hang, a gigabyte as excessive
    // memory
    let limits = ["--", "-timeout=10", "-rss_limit_mb=1024", "-max_len=20000"];
    all.extend(limits.map(str::to_owned));
    all.extend([time, artifacts]);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    command(&program.display().to_string(), &all)
        .env("QUASISTEP_FORMAT", format)
        .env("QUASISTEP_CORPUS", &corpus)
        .run(&format!("coverage-guided fuzzing of {format}"))
}
