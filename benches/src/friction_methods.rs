//! Contribution of each method for exact friction, on the programs of
//! [`friction_suite`](crate::friction_suite): a table for `docs/solvers.md`.

use crate::friction_suite::{Item, suite};
use quasistep_friction::{
    CoulombMethod, CoulombMethods, CoulombSettings, CoulombSolution, CoulombSolver, CoulombWarm,
    Outcome, Refutation,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The methods in the order in which they are tried, with their source files in
/// `crates/quasistep-friction/src`.
const METHODS: [(&str, CoulombMethods, &[&str]); 5] = [
    (
        "Newton's method",
        CoulombMethods::NEWTON,
        &["newton.rs", "newton/finish.rs", "newton/project.rs"],
    ),
    ("penalty continuation", CoulombMethods::CONTINUATION, &["newton/continuation.rs"]),
    (
        "homotopy between answers of the continuation",
        CoulombMethods::HOMOTOPY,
        &["newton/homotopy.rs", "newton/breakpoints.rs", "newton/regions.rs", "products.rs"],
    ),
    (
        "Lemke's method",
        CoulombMethods::LEMKE,
        &["pyramid.rs", "lcp/solver.rs", "lcp/lemke.rs", "lcp/tableau.rs", "lcp/problem.rs"],
    ),
    (
        "search through cases",
        CoulombMethods::CASES,
        &["lcp/cases.rs", "lcp/polyhedron.rs", "jam.rs"],
    ),
];

/// Outcomes of the programs of the suite.
struct Run {
    ends: Vec<End>,
    seconds: f64,
}

#[derive(Clone, Copy)]
struct End {
    outcome: Outcome,
    method: CoulombMethod,
    jammed: bool,
    seconds: f64,
}

fn run(items: &[Item], methods: CoulombMethods) -> Run {
    let settings = CoulombSettings { methods, ..CoulombSettings::default() };
    let (mut solver, mut out) = (CoulombSolver::new(), CoulombSolution::default());
    let mut ends = Vec::new();
    for item in items {
        let warm = item.warm.as_ref().map(|(lambda, u)| CoulombWarm { lambda, u, relaxed: None });
        let start = crate::thread_cpu_ns();
        solver.solve(&item.program, warm, &settings, &mut out);
        ends.push(End {
            outcome: out.outcome,
            method: out.method,
            jammed: matches!(
                out.refutation,
                Some(Refutation::Jammed { .. } | Refutation::JammedRound { .. })
            ),
            seconds: (crate::thread_cpu_ns() - start) as f64 * 1e-9,
        });
    }
    let seconds = ends.iter().map(|end| end.seconds).sum();
    Run { ends, seconds }
}

fn decided(end: &End) -> bool {
    matches!(end.outcome, Outcome::Solved | Outcome::Unsolvable)
}

/// Number of code lines of a file: neither blank nor comment.
fn lines(file: &str) -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/quasistep-friction/src");
    let text = std::fs::read_to_string(root.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
    let code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    text.lines().filter(code).count()
}

/// The table, in Markdown.
pub fn table() -> String {
    let items = suite();
    let all = run(&items, CoulombMethods::ALL);
    let mut text = String::new();
    let mut groups: BTreeMap<&str, ([usize; 4], f64)> = BTreeMap::new();
    for (item, end) in items.iter().zip(&all.ends) {
        let (count, seconds) = groups.entry(item.group).or_default();
        *seconds += end.seconds;
        count[match end.outcome {
            Outcome::Solved => 0,
            Outcome::Unsolvable if end.jammed => 2,
            Outcome::Unsolvable => 1,
            Outcome::Undecided | Outcome::GaveUp => 3,
        }] += 1;
    }
    text += "| programs | solved | refuted by the relaxation | proven to jam | undecided | time |\n|---|---|---|---|---|---|\n";
    for (group, ([solved, refuted, jammed, undecided], seconds)) in &groups {
        let _ = writeln!(
            text,
            "| {group} | {solved} | {refuted} | {jammed} | {undecided} | {seconds:.2} s |"
        );
    }
    text += "\n| method | last to work on | their time | undecided without it | time without it | lines |\n|---|---|---|---|---|---|\n";
    for (name, method, files) in METHODS {
        let own: Vec<&End> = all.ends.iter().filter(|end| ended_by(end, method)).collect();
        let time: f64 = own.iter().map(|end| end.seconds).sum();
        let without = run(&items, CoulombMethods::ALL.without(method));
        let lost = all.ends.iter().zip(&without.ends);
        let lost = lost.filter(|(all, without)| decided(all) && !decided(without)).count();
        let _ = writeln!(
            text,
            "| {name} | {} | {:.0} % | {lost} | {:+.0} % | {} |",
            own.len(),
            100.0 * time / all.seconds,
            100.0 * (without.seconds / all.seconds - 1.0),
            files.iter().map(|file| lines(file)).sum::<usize>(),
        );
    }
    text
}

/// Whether a program was decided by a method.
fn ended_by(end: &End, method: CoulombMethods) -> bool {
    match end.method {
        CoulombMethod::WarmNewton | CoulombMethod::Newton => method == CoulombMethods::NEWTON,
        CoulombMethod::Continuation => method == CoulombMethods::CONTINUATION,
        CoulombMethod::Relaxation => false,
        CoulombMethod::FixedPoint => method == CoulombMethods::FIXED_POINT,
        CoulombMethod::Lemke => method == CoulombMethods::LEMKE,
        CoulombMethod::Cases => method == CoulombMethods::CASES,
    }
}
