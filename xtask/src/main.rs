//! Project tasks. `cargo xtask ci` is what CI runs and what to run before a commit.

mod architecture;
mod circles;
mod cost;
mod fuzz;
mod licences;
mod python;
mod readme;
mod release;
mod robots;
mod setup;
mod site;
mod task;

use cost::measured;
use std::process::ExitCode;
use std::time::Instant;
use task::{Failure, Program, cargo, compile_once, programs};

const HELP: &str = "\
cargo xtask TASK

  ci         set up, then every check below and all tests (what .ci/run calls)
  setup      install what the tests need from Debian: npm, chromium, python3-venv
  lint       formatting, clippy, documentation, architecture, licences
  test       all tests of the Rust crates
  python     build the Python package, install it in a fresh environment, test it
  portable   tests of solvers and geometry without vector instructions, as other machines run them
  ray        the same for a sweep on a local Ray cluster
  torch      the same for steps as functions of PyTorch, which is large
  fuzz [--minutes N] [--cases N] [--seed S] [TARGET...]
             random worlds, files, programs, Python calls and kills, judged; findings are cut down to small files
  fuzz --coverage FORMAT [--minutes N]
             a reader under coverage-guided fuzzing
  readme     run the README's first command and look at what it leaves
  site       build the site of the docs into out/site, with its tutorials run and its links checked
  robots [NAME...]
             fetch the public robots of scenes/robots from PyPI, and run these scenes
  bundle     build the page's program, which packages carry
  release [--publish] [TARGET...]
             build and try all that is published, into target/release-files: wheels, the source distribution,
             archives of the command, crates; with --publish upload them
  pictures   regenerate the pictures of the README and the docs";

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_default();
    let result = match name.as_str() {
        "ci" => ci(),
        "setup" => setup::install(),
        "lint" => lint(),
        "test" => test(),
        "python" => python::test(),
        "fuzz" => fuzz::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        "ray" => python::ray(),
        "torch" => python::torch(),
        "robots" => robots::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        "readme" => readme::run_first_command(),
        "site" => site::build(),
        "portable" => portable(),
        "bundle" => release::bundle().map(drop),
        "release" => release::release(&std::env::args().skip(2).collect::<Vec<_>>()),
        "pictures" => readme::pictures(),
        "" | "help" | "--help" | "-h" => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        other => Err(Failure::new(format!("unknown task `{other}`\n\n{HELP}"))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Runs every check, and prints what each step took, also if one fails.
fn ci() -> Result<(), Failure> {
    let start = Instant::now();
    compile_once();
    let result = every_check();
    cost::print_table(start);
    if result.is_ok() {
        println!("\nall checks passed");
    }
    result
}

fn every_check() -> Result<(), Failure> {
    setup::install()?;
    lint()?;
    test()?;
    let built = programs()?;
    portable_of(&built)?;
    python::test_beside(&built)?;
    fuzz::ci(&built)?;
    python::ray()?;
    site::build()?;
    readme::run_first_command()
}

fn lint() -> Result<(), Failure> {
    cargo(&["fmt", "--all", "--check"]).run("formatting")?;
    cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])
        .run("clippy")?;
    cargo(&["doc", "--workspace", "--no-deps", "--locked"])
        .env("RUSTDOCFLAGS", "-D warnings")
        .run("documentation")?;
    measured("architecture", architecture::check)?;
    measured("circular imports", circles::check)?;
    measured("licences", licences::check)
}

/// Title of a step that runs tests as machines without vector instructions do.
const PORTABLE: &str = "tests without vector instructions";

fn portable() -> Result<(), Failure> {
    let solvers = ["-p", "quasistep-linalg", "-p", "quasistep-qp", "-p", "quasistep-cone"];
    let others = ["-p", "quasistep-friction", "-p", "quasistep-geometry"];
    cargo(&[&["test", "--locked"], &solvers[..], &others[..]].concat())
        .env("QUASISTEP_SIMD", "portable")
        .run(PORTABLE)
}

/// Runs the tests without vector instructions from test programs that are built already. Examples
/// of the documentation are compiled again.
fn portable_of(built: &[Program]) -> Result<(), Failure> {
    let folders = [
        "crates/quasistep-linalg",
        "crates/quasistep-qp",
        "crates/quasistep-cone",
        "crates/quasistep-friction",
        "crates/quasistep-geometry",
    ];
    measured(PORTABLE, || {
        for folder in folders {
            let of_folder = |program: &&Program| program.tests && program.is_of(folder);
            let tests: Vec<&Program> = built.iter().filter(of_folder).collect();
            if tests.is_empty() {
                return Err(Failure::new(format!("no tests of {folder} are built")));
            }
            for program in tests {
                let step = program.step(&[]).inside(&program.folder);
                step.env("QUASISTEP_SIMD", "portable").show(PORTABLE)?;
            }
        }
        // names of examples begin with the path of their file
        let examples = [&["test", "--workspace", "--locked", "--doc", "--"], &folders[..]].concat();
        cargo(&examples).env("QUASISTEP_SIMD", "portable").show(PORTABLE)
    })
}

fn test() -> Result<(), Failure> {
    robots::fetch()?;
    cargo(&["test", "--workspace", "--locked"]).run("tests")
}
