//! Random programs for every solver, judged from their own data.
//!
//! | target | drawn | check of a solution | check without a solution |
//! |---|---|---|---|
//! | `qp`, `socp` | dense convex programs with 1 to 8 variables, rank deficiency, duplicates, scales | optimality conditions; Clarabel's cost | rays, Farkas multipliers |
//! | `cone` | the contact problems of [`testkit::hard_problems`] | their verification, and Clarabel | their verification, and Clarabel |
//! | `lcp` | friction problems, monotone, random | signs, products, equations | every case, by Clarabel |
//! | `coulomb` | masses and contacts between them | balance, gaps, cones, dissipation | weights, directions |
//! | `miqp` | programs with some choices | every combination, by Clarabel | every combination, by Clarabel |
//!
//! Programs without a result are counted by the reason, and separately those that Clarabel solves.

mod choices;
mod clarabel_answer;
mod convex;
mod friction;
mod hard;
mod lcp;

use crate::target::Verdict;
use serde_json::Value;
use testkit::hard_problems::Random;

/// Targets of the solvers, with the functions that draw and judge their cases.
type Door = (&'static str, fn(&mut Random) -> Value, fn(&Value, &mut Verdict));
const DOORS: [Door; 6] = [
    ("qp", convex::draw_qp, convex::judge),
    ("socp", convex::draw_socp, convex::judge),
    ("cone", hard::draw, hard::judge),
    ("lcp", lcp::draw, lcp::judge),
    ("coulomb", friction::draw, friction::judge),
    ("miqp", choices::draw, choices::judge),
];

/// Draws the program of a seed. Its target is the seed modulo the number of targets.
pub fn draw(seed: u64) -> Value {
    let (name, draw, _) = DOORS[(seed % DOORS.len() as u64) as usize];
    let mut case = draw(&mut Random::new(seed));
    case["door"] = Value::from(name);
    case
}

/// Solves a program and judges the result.
pub fn judge(case: &Value) -> Verdict {
    let mut verdict = Verdict::default();
    if let Some((_, _, judge)) = DOORS.iter().find(|door| case["door"] == door.0) {
        judge(case, &mut verdict);
    }
    verdict
}

/// Numbers of a JSON array; empty if it is none.
fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

/// Rows of numbers, each cut or padded with zeros to length `n`.
fn rows(value: &Value, n: usize) -> Vec<Vec<f64>> {
    let all = value.as_array().into_iter().flatten();
    all.map(|row| {
        let mut row = numbers(row);
        row.resize(n, 0.0);
        row
    })
    .collect()
}

fn times(row: &[f64], x: &[f64]) -> f64 {
    row.iter().zip(x).map(|(a, x)| a * x).sum()
}

fn terms(row: &[f64], x: &[f64]) -> f64 {
    row.iter().zip(x).map(|(a, x)| (a * x).abs()).sum()
}

/// `BᵀB`, so that the cost is convex for any `B`, also after shrinking.
fn gram(n: usize, B: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let entry = |i: usize, j: usize| B.iter().map(|b| b[i] * b[j]).sum::<f64>();
    (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
}

/// Random row of numbers: integers, which are often dependent, sparse numbers, or any.
fn entries(n: usize, random: &mut Random) -> Vec<f64> {
    let kind = random.below(3);
    (0..n)
        .map(|_| match kind {
            0 => random.below(5) as f64 - 2.0,
            1 if random.chance(0.6) => 0.0,
            _ => random.signed(),
        })
        .collect()
}
