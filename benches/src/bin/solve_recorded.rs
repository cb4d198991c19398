//! Solves recorded step problems on demand, for programs in other languages:
//!
//! `echo stack69 17 1 0 1 5 | cargo run --release -p benches --bin solve_recorded`
//!
//! A line on standard input is `SEQUENCE PROBLEM MASS ROUND WARM REPEATS`, with 0 or 1 for MASS,
//! ROUND and WARM; each is answered by one line of JSON. A warm start is this program's own answer of
//! the problem before, matched by contact.

use benches::recorded::{Key, Sequence};
use benches::thread_cpu_ns;
use quasistep_solvers::{ConeProgram, ConeSolver, Settings, Solution, Status, WarmStart};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Write, stdin, stdout};
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;

/// What is solved: sequence, problem, mass, round cones.
type Problem = (String, usize, bool, bool);

/// An answer with the identities of its contacts and their rows.
struct Answer {
    solution: Solution,
    keys: Vec<Key>,
    rows: Vec<Range<usize>>,
}

#[derive(Default)]
struct Server {
    sequences: BTreeMap<String, Sequence>,
    solver: ConeSolver,
    /// Answers of the latest problem and of the one before it.
    known: Vec<(Problem, Answer)>,
}

/// Least time of a measurement, in ns: shorter solves are repeated within it.
const LEAST_NS: u64 = 50_000;

impl Server {
    fn answer(&mut self, line: &str) -> Result<Value, Box<dyn Error>> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, t, mass, round, warm, repeats] = words[..] else {
            return Err("write SEQUENCE PROBLEM MASS ROUND WARM REPEATS".into());
        };
        let flag = |word: &str| match word {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(format!("`{word}` is neither 0 nor 1")),
        };
        let (t, repeats): (usize, u32) = (t.parse()?, repeats.parse()?);
        let (mass, round, warm) = (flag(mass)?, flag(round)?, flag(warm)?);
        if !self.sequences.contains_key(name) {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("recorded/{name}.npz"));
            if !path.is_file() {
                return Err(format!("there is no sequence `{name}`").into());
            }
            self.sequences.insert(name.to_owned(), Sequence::read(&path));
        }
        let length = self.sequences[name].len();
        if t >= length {
            return Err(format!("`{name}` has {length} problems").into());
        }
        if warm && t > 0 {
            let before = (name.to_owned(), t - 1, mass, round);
            if self.known.iter().all(|(problem, _)| *problem != before) {
                self.solve(before, None, 1);
            }
        }
        let problem = (name.to_owned(), t, mass, round);
        let before = (warm && t > 0).then(|| (name.to_owned(), t - 1, mass, round));
        let (us, warmed) = self.solve(problem, before.as_ref(), repeats.max(1));
        let Answer { solution, .. } = &self.known.last().expect("just solved").1;
        Ok(json!({
            "us": us,
            "warm": warmed,
            "status": format!("{:?}", solution.status),
            "method": format!("{:?}", solution.method),
            "iterations": solution.iterations,
            "x": solution.x,
            "z": solution.z,
        }))
    }

    /// Solves a problem, keeps its answer and returns the least CPU time in µs and whether a warm
    /// start was to be had.
    fn solve(&mut self, problem: Problem, before: Option<&Problem>, repeats: u32) -> (f64, bool) {
        let (name, t, mass, round) = &problem;
        let sequence = &self.sequences[name];
        let (mut program, mut keys) = (ConeProgram::new(), Vec::new());
        sequence.build(*t, *mass, *round, &mut program);
        sequence.keys(*t, &mut keys);
        let rows: Vec<_> = (0..program.n_cones()).map(|i| program.rows_of(i)).collect();

        let last = before.and_then(|b| self.known.iter().find(|(p, _)| p == b)).map(|(_, a)| a);
        let last = last.filter(|a| a.solution.status == Status::Solved);
        let (mut z, mut s) = (vec![0.0; program.m()], vec![1.0; program.m()]);
        if let Some(last) = last {
            for (key, to) in keys.iter().zip(&rows) {
                if let Some(j) = last.keys.iter().position(|k| k == key) {
                    z[to.clone()].copy_from_slice(&last.solution.z[last.rows[j].clone()]);
                    s[to.clone()].copy_from_slice(&last.solution.s[last.rows[j].clone()]);
                }
            }
        }
        let start = last.map(|_| WarmStart { z: &z, s: &s });

        let (mut least, mut loops) = (f64::INFINITY, 1);
        let mut solution = Solution::default();
        let mut done = 0;
        while done < repeats {
            let clock = thread_cpu_ns();
            for _ in 0..loops {
                self.solver.solve(&program, start, &Settings::default(), &mut solution);
            }
            let ns = thread_cpu_ns() - clock;
            if ns < LEAST_NS && loops < 1 << 16 {
                loops *= 2; // too short to be measured: not counted
                continue;
            }
            least = least.min(1e-3 * ns as f64 / f64::from(loops));
            done += 1;
        }
        let warmed = start.is_some();
        self.known.retain(|(p, _)| Some(p) == before);
        self.known.push((problem, Answer { solution, keys, rows }));
        (least, warmed)
    }
}

fn serve() -> Result<(), Box<dyn Error>> {
    let mut server = Server::default();
    for line in stdin().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = server.answer(&line).unwrap_or_else(|e| json!({ "error": e.to_string() }));
        let mut out = stdout().lock();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
