//! Recorded step problems: warm, cold, and cold to an accuracy of 1e-8. Prints median and p95 in
//! µs, with residuals.
//!
//! `cargo bench -p benches --bench solvers`, or with words that a line must contain: `cargo bench
//! -p benches --bench solvers -- stack69 warm`
#![allow(missing_docs)]

use benches::recorded::{Key, Sequence};
use quasistep_cone::{ConeProgram, ConeSolver, Settings, Solution, Status, WarmStart};
use std::path::Path;
use std::time::Instant;

fn quantile(times: &mut [f64], q: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    times[((times.len() - 1) as f64 * q) as usize]
}

/// Form of the program, start and accuracy of its solver.
struct Case {
    mass: bool,
    round: bool,
    warm: bool,
    accuracy: f64,
}

/// Solves of each program; the fastest counts.
const REPEATS: usize = 5;

/// Solves a sequence and prints the rest of its line.
fn measure(sequence: &Sequence, case: &Case) {
    let (mut times, mut failed, mut fallback) = (Vec::new(), 0, 0);
    let mut iterations = Vec::new();
    let (mut balance, mut rows) = (0.0_f64, 0.0_f64);
    let settings = Settings { accuracy: case.accuracy, ..Settings::default() };
    let mut solver = ConeSolver::new();
    let (mut program, mut out) = (ConeProgram::new(), Solution::default());
    let (mut z, mut s) = (Vec::new(), Vec::new());
    let (mut keys, mut before): (Vec<Key>, Vec<Key>) = Default::default();
    let mut last = Solution::default();
    let mut last_rows: Vec<std::ops::Range<usize>> = Vec::new();
    for t in 0..sequence.len() {
        sequence.build(t, case.mass, case.round, &mut program);
        sequence.keys(t, &mut keys);
        z.clear();
        z.resize(program.m(), 0.0);
        s.clear();
        s.resize(program.m(), 1.0);
        for (i, key) in keys.iter().enumerate() {
            if let Some(j) = before.iter().position(|k| k == key) {
                let to = program.rows_of(i);
                z[to.clone()].copy_from_slice(&last.z[last_rows[j].clone()]);
                s[to].copy_from_slice(&last.s[last_rows[j].clone()]);
            }
        }
        let guess = (case.warm && t > 0 && last.status == Status::Solved)
            .then_some(WarmStart { z: &z, s: &s });
        let mut least = f64::INFINITY;
        for _ in 0..REPEATS {
            let clock = Instant::now();
            solver.solve(&program, guess, &settings, &mut out);
            least = least.min(clock.elapsed().as_secs_f64() * 1e6);
            if out.method.is_fallback() {
                break;
            }
        }
        times.push(least);
        iterations.push(f64::from(out.iterations));
        failed += usize::from(out.status != Status::Solved);
        fallback += usize::from(out.method.is_fallback());
        balance = balance.max(out.residuals.stationarity);
        rows = rows.max(out.residuals.primal);
        std::mem::swap(&mut keys, &mut before);
        last.clone_from(&out);
        last_rows.clear();
        last_rows.extend((0..program.n_cones()).map(|i| program.rows_of(i)));
    }
    println!(
        "{:>10.2}{:>10.2}{:>8}{:>8}{failed:>8}{fallback:>10}{balance:>10.1e}{rows:>10.1e}",
        quantile(&mut times.clone(), 0.5),
        quantile(&mut times, 0.95),
        quantile(&mut iterations.clone(), 0.5),
        quantile(&mut iterations, 0.95),
    );
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded");
    println!(
        "{:<10}{:<10}{:<6}{:>10}{:>10}{:>8}{:>8}{:>8}{:>10}{:>10}{:>10}",
        "sequence",
        "cones",
        "start",
        "median µs",
        "p95 µs",
        "iters",
        "p95",
        "failed",
        "fallback",
        "balance",
        "rows"
    );
    for name in ["bunny13", "stack69", "pile50", "pile200"] {
        let path = folder.join(format!("{name}.npz"));
        if !path.exists() {
            continue;
        }
        let sequence = Sequence::read(&path);
        for (label, mass, round) in
            [("pyramid", true, false), ("massless", false, false), ("round", true, true)]
        {
            for (start, warm, accuracy) in
                [("warm", true, 0.0), ("cold", false, 0.0), ("1e-8", false, 1e-8)]
            {
                if !words.iter().all(|w| [name, label, start].contains(&w.as_str())) {
                    continue;
                }
                let case = Case { mass, round, warm, accuracy };
                print!("{name:<10}{label:<10}{start:<6}");
                measure(&sequence, &case);
            }
        }
    }
}
