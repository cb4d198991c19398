//! Solves recorded step problems on demand, for programs in other languages:
//!
//! `echo stack69 17 1 0 1 5 | cargo run --release -p benches --bin solve_recorded`
//!
//! A line on standard input is `SEQUENCE PROBLEM MASS ROUND WARM REPEATS [ACCURACY]`, with 0 or 1
//! for MASS, ROUND and WARM. Each line is answered by one line of JSON. A warm start is this
//! program's own solution of the previous problem, matched by contact. ACCURACY, 0 if omitted, is
//! that of `Settings`; an approximate solve starts cold.
//!
//! A sequence `scene:NAME` contains the problems of every tenth step of a shipped scene, unchanged
//! and cold. Steps at which a Huber term is at its limit are left out. `length SEQUENCE` prints the
//! number of problems, and `data scene:NAME PROBLEM` the data of one.

use benches::recorded::{Key, Sequence, scene_problems};
use benches::thread_cpu_ns;
use quasistep_cone::{ConeProgram, ConeSolver, Settings, Solution, Status, WarmStart};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Write, stdin, stdout};
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;
use testkit::dense_program::DenseProgram;

/// Sequence, problem, mass, round cones.
type Problem = (String, usize, bool, bool);

/// Solution with the identities of its contacts and their rows.
struct Answer {
    solution: Solution,
    keys: Vec<Key>,
    rows: Vec<Range<usize>>,
}

#[derive(Default)]
struct Server {
    sequences: BTreeMap<String, Sequence>,
    scenes: BTreeMap<String, Vec<ConeProgram>>,
    solver: ConeSolver,
    /// Solutions of the last problem and of the one before it.
    known: Vec<(Problem, Answer)>,
}

/// Least time of a measurement, in ns: shorter solves are repeated within it.
const LEAST_NS: u64 = 50_000;

impl Server {
    fn answer(&mut self, line: &str) -> Result<Value, Box<dyn Error>> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["length", name] => {
                self.load(name)?;
                let length =
                    self.scenes.get(name).map_or_else(|| self.sequences[name].len(), Vec::len);
                return Ok(json!({ "length": length }));
            }
            ["data", name, t] => {
                self.load(name)?;
                let scene = self.scenes.get(name).ok_or("data are of scenes only")?;
                return Ok(data(scene.get(t.parse::<usize>()?).ok_or("no such problem")?));
            }
            _ => {}
        }
        let (words, accuracy) = words.split_at(words.len().min(6));
        let (&[name, t, mass, round, warm, repeats], [] | [_]) = (words, accuracy) else {
            return Err("write SEQUENCE PROBLEM MASS ROUND WARM REPEATS [ACCURACY]".into());
        };
        let accuracy: f64 = accuracy.first().map_or(Ok(0.0), |word| word.parse())?;
        let flag = |word: &str| match word {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(format!("`{word}` is neither 0 nor 1")),
        };
        let (t, repeats): (usize, u32) = (t.parse()?, repeats.parse()?);
        let (mass, round, warm) = (flag(mass)?, flag(round)?, flag(warm)?);
        self.load(name)?;
        let scene = self.scenes.get(name);
        let length = scene.map_or_else(|| self.sequences[name].len(), Vec::len);
        if t >= length {
            return Err(format!("`{name}` has {length} problems").into());
        }
        if scene.is_some() && (!mass || round || warm) {
            return Err("the problems of a scene are solved as they are, and cold".into());
        }
        if accuracy > 0.0 && warm {
            return Err("an answer to less than all digits starts cold".into());
        }
        if warm && t > 0 {
            let before = (name.to_owned(), t - 1, mass, round);
            if self.known.iter().all(|(problem, _)| *problem != before) {
                self.solve(before, None, 1, 0.0);
            }
        }
        let problem = (name.to_owned(), t, mass, round);
        let before = (warm && t > 0).then(|| (name.to_owned(), t - 1, mass, round));
        let (us, warmed) = self.solve(problem, before.as_ref(), repeats.max(1), accuracy);
        let Answer { solution, .. } = &self.known.last().expect("just solved").1;
        let answer = json!({
            "us": us,
            "warm": warmed,
            "status": format!("{:?}", solution.status),
            "method": format!("{:?}", solution.method),
            "iterations": solution.iterations,
            "x": solution.x,
            "z": solution.z,
        });
        if accuracy > 0.0 {
            // an approximate solution is no warm start of the next problem
            self.known.pop();
        }
        Ok(answer)
    }

    /// Reads a sequence or runs a scene, once.
    fn load(&mut self, name: &str) -> Result<(), Box<dyn Error>> {
        if let Some(scene) = name.strip_prefix("scene:") {
            if !testkit::SCENES.contains(&scene) {
                return Err(format!("there is no scene `{scene}`").into());
            }
            self.scenes.entry(name.to_owned()).or_insert_with(|| scene_problems(scene, 10));
        } else if !self.sequences.contains_key(name) {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("recorded/{name}.npz"));
            if !path.is_file() {
                return Err(format!("there is no sequence `{name}`").into());
            }
            self.sequences.insert(name.to_owned(), Sequence::read(&path));
        }
        Ok(())
    }

    /// Solves a problem and stores its solution. Returns the least CPU time in µs, and whether a
    /// warm start was available.
    fn solve(
        &mut self,
        problem: Problem,
        before: Option<&Problem>,
        repeats: u32,
        accuracy: f64,
    ) -> (f64, bool) {
        let (name, t, mass, round) = &problem;
        let (mut program, mut keys) = (ConeProgram::new(), Vec::new());
        if let Some(scene) = self.scenes.get(name) {
            program.clone_from(&scene[*t]);
        } else {
            let sequence = &self.sequences[name];
            sequence.build(*t, *mass, *round, &mut program);
            sequence.keys(*t, &mut keys);
        }
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

        let settings = Settings { accuracy, ..Settings::default() };
        let (mut least, mut loops) = (f64::INFINITY, 1);
        let mut solution = Solution::default();
        let mut done = 0;
        while done < repeats {
            let clock = thread_cpu_ns();
            for _ in 0..loops {
                self.solver.solve(&program, start, &settings, &mut solution);
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

/// `min 1/2 vᵀPv + qᵀv, A v ≥ c` with the springs in the cost; matrices as rows, columns and values.
fn data(program: &ConeProgram) -> Value {
    let mut flat = DenseProgram::default();
    flat.fill(program);
    let qp = flat.qp();
    let (mut cost, mut q) = (qp.P.to_vec(), qp.c.to_vec());
    for spring in qp.saturations {
        let i = spring.index as usize;
        cost[i * qp.n + i] += spring.stiffness;
        q[i] -= spring.stiffness * spring.target;
    }
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..qp.A.len() {
        let (c, v) = qp.A.row(i);
        rows.extend(c.iter().map(|_| i));
        columns.extend_from_slice(c);
        values.extend_from_slice(v);
    }
    json!({ "n": qp.n, "P": cost, "q": q, "rows": rows, "columns": columns, "values": values, "c": qp.b })
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
