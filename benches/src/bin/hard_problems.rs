//! Long test of the step solver on hard contact problems:
//!
//! `cargo run --release -p benches --bin hard_problems -- --count 100000`
//!
//! Every solution is verified from the problem's own data and compared with Clarabel's. Prints a
//! table per family. Fails if a solution is wrong, a failure has no reason, or too many problems
//! fail. `--seed` shows one problem.

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use quasistep_cone::Status;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use testkit::hard_problems::{Examiner, Family, HardProblem, Outcome};

/// Solves hard contact problems, proves the answers and compares them with Clarabel's
#[derive(Parser)]
struct Arguments {
    /// How many problems
    #[arg(long, default_value_t = 100_000)]
    count: u64,
    /// Seed of the first
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Threads
    #[arg(long, default_value_t = 2)]
    threads: u64,
    /// Only this problem, in detail
    #[arg(long)]
    seed: Option<u64>,
}

/// Totals over the problems of one family, with separate totals for pyramids and round cones.
#[derive(Default)]
struct Row {
    problems: u64,
    /// Number of problems by status of the cold start.
    ends: [u64; 4],
    warm_gave_up: u64,
    fallbacks: u64,
    wrong: u64,
    residual: f64,
    apart: f64,
    dearer: f64,
    cheaper: f64,
    /// Number of problems for which Clarabel verifiably reaches another status to equal tolerances.
    disputed: u64,
    /// Number of problems that Clarabel left undecided and ours solved.
    undecided: u64,
    solve: [Duration; 2],
    oracle: Duration,
}

impl Row {
    fn add(&mut self, o: &Outcome) {
        self.problems += 1;
        let end = match o.status[0] {
            Status::Solved => 0,
            Status::Unbounded => 1,
            Status::Infeasible => 2,
            Status::GaveUp => 3,
        };
        self.ends[end] += 1;
        self.warm_gave_up += u64::from(o.status[1] == Status::GaveUp);
        self.fallbacks += u64::from(o.method[0].is_fallback());
        self.wrong += u64::from(o.wrong.is_some());
        self.disputed += u64::from(o.disputed);
        if o.wrong.is_none() {
            self.residual = self.residual.max(o.residual);
            self.apart = self.apart.max(o.apart);
            let difference = o.cost_difference.unwrap_or(0.0);
            self.dearer = self.dearer.max(difference);
            self.cheaper = self.cheaper.max(-difference);
        }
        self.undecided += u64::from(o.cost_difference.is_none() && end == 0);
        for k in 0..2 {
            self.solve[k] += o.solve[k];
        }
        self.oracle += o.oracle;
    }
}

#[derive(Default)]
struct Tally {
    rows: BTreeMap<(Family, bool), Row>,
    wrong: BTreeMap<u64, String>,
    gave_up: Vec<u64>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(seed) = arguments.seed {
        return look_at(seed);
    }
    let start = Instant::now();
    let bar = ProgressBar::new(arguments.count);
    bar.set_style(
        ProgressStyle::with_template("{bar:40} {pos}/{len} {per_sec} {eta} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    let next = AtomicU64::new(0);
    let tally = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        for _ in 0..arguments.threads.max(1) {
            scope.spawn(|| {
                let mut examiner = Examiner::new();
                loop {
                    let k = next.fetch_add(1, Ordering::Relaxed);
                    if k >= arguments.count {
                        break;
                    }
                    let problem = HardProblem::from_seed(arguments.first + k);
                    let outcome = examiner.examine(&problem);
                    let mut tally = match tally.lock() {
                        Ok(tally) => tally,
                        Err(poisoned) => poisoned.into_inner(),
                    };
                    tally
                        .rows
                        .entry((problem.family, problem.has_round()))
                        .or_default()
                        .add(&outcome);
                    if outcome.status.contains(&Status::GaveUp) {
                        tally.gave_up.push(problem.seed);
                    }
                    if let Some(why) = outcome.wrong {
                        let name = problem.family.name();
                        bar.println(format!("wrong: {name}, seed {}: {why}", problem.seed));
                        tally.wrong.insert(problem.seed, why);
                        bar.set_message(format!("{} wrong", tally.wrong.len()));
                    }
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    let tally = tally.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    print_table(&tally);
    println!(
        "\n{} problems in {:.0} s: {} wrong, {} without an answer, each with a reason",
        arguments.count,
        start.elapsed().as_secs_f64(),
        tally.wrong.len(),
        tally.gave_up.len(),
    );
    if !tally.gave_up.is_empty() {
        let mut seeds = tally.gave_up.clone();
        seeds.sort_unstable();
        seeds.truncate(20);
        println!("first without an answer: {seeds:?}");
    }
    for (seed, why) in &tally.wrong {
        println!("wrong: --seed {seed}: {why}");
    }
    let mut fine = tally.wrong.is_empty();
    for ((family, round), row) in &tally.rows {
        if !round && row.ends[3] as f64 > family.given_up_at_most() * row.problems as f64 {
            println!("{}: too many without an answer", family.name());
            fine = false;
        }
    }
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print_table(tally: &Tally) {
    println!(
        "| family | cone | problems | solved | unbounded | infeasible | gave up | warm gave up | \
         fallback | wrong | disputed | residual | cold–warm | dearer | cheaper | Clarabel undecided | cold µs | warm µs | \
         Clarabel µs |"
    );
    println!("| --- | --- |{}", " ---: |".repeat(17));
    for ((family, round), r) in &tally.rows {
        let mean = |d: Duration| d.as_secs_f64() * 1e6 / r.problems as f64;
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {:.2} % | {} | {} | {:.0e} | {:.0e} | {:.0e} | \
             {:.0e} | {} | {:.0} | {:.0} | {:.0} |",
            family.name(),
            if *round { "round" } else { "pyramid" },
            r.problems,
            r.ends[0],
            r.ends[1],
            r.ends[2],
            r.ends[3],
            r.warm_gave_up,
            100.0 * r.fallbacks as f64 / r.problems as f64,
            r.wrong,
            r.disputed,
            r.residual,
            r.apart,
            r.dearer,
            r.cheaper,
            r.undecided,
            mean(r.solve[0]),
            mean(r.solve[1]),
            mean(r.oracle),
        );
    }
}

fn look_at(seed: u64) -> ExitCode {
    let problem = HardProblem::from_seed(seed);
    let mut examiner = Examiner::new();
    let outcome = examiner.examine(&problem);
    println!(
        "{}: blocks {:?}, {} cones, {} springs",
        problem.family.name(),
        problem.dims,
        problem.contacts.len(),
        problem.springs.len()
    );
    println!("{outcome:#?}");
    for (start, answer) in
        [("cold", examiner.cold()), ("warm", examiner.warm()), ("near", examiner.near())]
    {
        println!("{start}: {answer:?}");
    }
    if outcome.wrong.is_none() {
        return ExitCode::SUCCESS;
    }
    let small = problem.reduced(&mut |p| {
        let o = examiner.examine(p);
        o.wrong.is_some() && o.method == outcome.method && o.status == outcome.status
    });
    println!("wrong in the same way, with less in it:\n{small:#?}");
    let outcome = examiner.examine(&small);
    println!("{outcome:#?}");
    println!("{:?}", examiner.cold());
    ExitCode::FAILURE
}
