//! Contribution of every method of the solvers, as a table for `docs/solvers.md`:
//!
//! `cargo run --release -p benches --bin methods -- cone`, and `coulomb` for exact friction
//!
//! Each problem is solved with all methods, with each one alone, and without each one. The problems
//! are those of the recorded sequences and of the steps of all scenes, cold and warm, and hard
//! problems, whose solutions are verified from the problem's own data.

use benches::recorded::{Key, Sequence, scene_problems};
use benches::thread_cpu_ns;
use clap::{Parser, ValueEnum};
use quasistep_cone::{ConeProgram, ConeSolver, Methods, Settings, Solution, Status, WarmStart};
use std::fs;
use std::path::{Path, PathBuf};
use testkit::hard_problems::{HardProblem, Natural};

/// Runs every engine alone, without each one, and together
#[derive(Parser)]
struct Arguments {
    /// Whose engines
    driver: Driver,
    /// How many hard problems
    #[arg(long, default_value_t = 20_000)]
    hard: u64,
    /// Every which of the recorded problems and of the steps of scenes
    #[arg(long, default_value_t = 10)]
    every: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Driver {
    /// Cone programs
    Cone,
    /// Exact friction
    Coulomb,
}

/// Source files of the methods of cone programs, in the order of [`Methods::EACH`].
const CODE: [&[&str]; 5] = [
    &["newton"],
    &[
        "interior",
        "batches.rs",
        "kernels/batch.rs",
        "kernels/batch",
        "kernels/barrier.rs",
        "islands.rs",
    ],
    &["scaled.rs"],
    &["proof.rs", "proof"],
    &["embedding"],
];

/// Totals over problems of one kind, for one set of methods.
#[derive(Clone, Copy, Default)]
struct Sum {
    answers: u32,
    wrong: u32,
    /// Number of problems that all methods together solve but this set does not.
    lost: u32,
    ns: u64,
}

/// One kind of problems, with totals for all methods, for each alone, and without each.
struct Suite {
    name: &'static str,
    problems: u32,
    all: Sum,
    alone: [Sum; Methods::EACH.len()],
    without: [Sum; Methods::EACH.len()],
}

impl Suite {
    fn new(name: &'static str) -> Self {
        let each = [Sum::default(); Methods::EACH.len()];
        Self { name, problems: 0, all: Sum::default(), alone: each, without: each }
    }

    /// Solves a problem with every set of methods. The solution of all methods together is in
    /// `out`.
    fn run(
        &mut self,
        solver: &mut ConeSolver,
        program: &ConeProgram,
        warm: Option<WarmStart<'_>>,
        natural: Option<&Natural>,
        out: &mut Solution,
    ) {
        self.problems += 1;
        let mut solve = |methods: Methods, sum: &mut Sum, out: &mut Solution| {
            let settings = Settings { methods, ..Settings::default() };
            let clock = thread_cpu_ns();
            solver.solve(program, warm, &settings, out);
            sum.ns += thread_cpu_ns() - clock;
            let answered = out.status != Status::GaveUp;
            sum.answers += u32::from(answered);
            let proven = natural.is_none_or(|natural| natural.prove(out).is_ok());
            sum.wrong += u32::from(answered && !proven);
            answered
        };
        let answered = solve(Methods::ALL, &mut self.all, out);
        let mut other = Solution::default();
        for (k, (_, engine)) in Methods::EACH.into_iter().enumerate() {
            let sets = [
                (Methods::NONE.with(engine), &mut self.alone[k]),
                (Methods::ALL.without(engine), &mut self.without[k]),
            ];
            for (methods, sum) in sets {
                let also = solve(methods, sum, &mut other);
                sum.lost += u32::from(answered && !also);
                // two certificates of one problem that contradict each other
                sum.wrong += u32::from(answered && also && other.status != out.status);
            }
        }
    }
}

/// Solves consecutive problems, cold and warm from the previous solution.
fn run_sequence(
    suite: &mut Suite,
    length: usize,
    mut build: impl FnMut(usize, &mut ConeProgram, &mut Vec<Key>),
) {
    let (mut solver, mut program) = (ConeSolver::new(), ConeProgram::new());
    let (mut out, mut last) = (Solution::default(), Solution::default());
    let (mut keys, mut before, mut rows) = (Vec::new(), Vec::<Key>::new(), Vec::new());
    for t in 0..length {
        build(t, &mut program, &mut keys);
        suite.run(&mut solver, &program, None, None, &mut out);
        if last.status == Status::Solved {
            let (mut z, mut s) = (vec![0.0; program.m()], vec![1.0; program.m()]);
            for (i, key) in keys.iter().enumerate() {
                if let Some(j) = before.iter().position(|k| k == key) {
                    let from: &std::ops::Range<usize> = &rows[j];
                    let to = program.rows_of(i);
                    if to.len() == from.len() {
                        z[to.clone()].copy_from_slice(&last.z[from.clone()]);
                        s[to].copy_from_slice(&last.s[from.clone()]);
                    }
                }
            }
            suite.run(&mut solver, &program, Some(WarmStart { z: &z, s: &s }), None, &mut out);
        }
        last.clone_from(&out);
        rows = (0..program.n_cones()).map(|i| program.rows_of(i)).collect();
        std::mem::swap(&mut keys, &mut before);
    }
}

fn recorded(every: usize) -> Suite {
    let mut suite = Suite::new("recorded");
    for name in ["bunny13", "stack69", "pile50"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded");
        let sequence = Sequence::read(&folder.join(format!("{name}.npz")));
        for (mass, round) in [(true, false), (false, false), (true, true)] {
            run_sequence(&mut suite, sequence.len() / every, |t, program, keys| {
                sequence.build(t * every, mass, round, program);
                sequence.keys(t * every, keys);
            });
        }
    }
    suite
}

fn scenes(every: usize) -> Suite {
    let mut suite = Suite::new("scenes");
    for name in testkit::SCENES {
        let problems = scene_problems(name, every);
        run_sequence(&mut suite, problems.len(), |t, program, keys| {
            program.clone_from(&problems[t]);
            // contacts mostly keep their order
            keys.clear();
            keys.extend((0..program.n_cones()).map(|i| (i as i64, 0, 0)));
        });
    }
    suite
}

fn hard(count: u64) -> Suite {
    let mut suite = Suite::new("hard");
    let (mut solver, mut program) = (ConeSolver::new(), ConeProgram::new());
    let mut out = Solution::default();
    for seed in 0..count {
        let problem = HardProblem::from_seed(seed);
        problem.fill(&mut program);
        let natural = Natural::new(&problem);
        suite.run(&mut solver, &program, None, Some(&natural), &mut out);
    }
    suite
}

/// Number of lines of the files below a path that are neither blank nor comment.
fn lines(path: &Path) -> usize {
    if let Ok(folder) = fs::read_dir(path) {
        let mut inside: Vec<PathBuf> = folder.flatten().map(|entry| entry.path()).collect();
        inside.sort();
        return inside.iter().map(|path| lines(path)).sum();
    }
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//")).count()
}

fn print(suites: &[Suite]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/quasistep-cone/src");
    for suite in suites {
        let Sum { answers, wrong, ns, .. } = suite.all;
        println!(
            "\n{}: {} problems, {answers} answered, {wrong} wrong, {:.0} µs each\n",
            suite.name,
            suite.problems,
            1e-3 * ns as f64 / f64::from(suite.problems.max(1))
        );
        println!(
            "| engine | lines | answers alone | wrong | lost without it | wrong | time without it |"
        );
        println!("| --- |{}", " ---: |".repeat(6));
        for (k, (name, _)) in Methods::EACH.into_iter().enumerate() {
            let code: usize = CODE[k].iter().map(|path| lines(&source.join(path))).sum();
            let (alone, without) = (suite.alone[k], suite.without[k]);
            println!(
                "| {name} | {code} | {} | {} | {} | {} | {:.2} × |",
                alone.answers,
                alone.wrong,
                without.lost,
                without.wrong,
                without.ns as f64 / ns as f64,
            );
        }
    }
}

fn main() {
    let Arguments { driver, hard: count, every } = Arguments::parse();
    let every = every.max(1);
    match driver {
        Driver::Cone => print(&[recorded(every), scenes(every), hard(count)]),
        Driver::Coulomb => print!("{}", benches::friction_methods::table()),
    }
}
