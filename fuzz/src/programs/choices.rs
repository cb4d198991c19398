//! Target `MiqpSolver`: few choices, so that Clarabel can solve all combinations.

use super::clarabel_answer::Dense;
use super::{entries, times};
use crate::target::Verdict;
use clarabel::solver::SolverStatus;
use quasistep_qp::{
    Choices, Hooks, Miqp, MiqpSettings, MiqpSolution, MiqpSolver, MiqpStatus, Rows, Side,
};
use serde_json::{Value, json};
use testkit::hard_problems::Random;

/// Acceptable difference of costs, as a share of their terms.
const SHARE: f64 = 1e-5;
/// Largest number of combinations that Clarabel solves.
const MOST: usize = 64;

/// Draws a positive definite program and pairs of rows, of which one must be an equality.
pub fn draw(random: &mut Random) -> Value {
    let n = random.count(1, 5);
    let mut B: Vec<Vec<f64>> = (0..n).map(|_| entries(n, random)).collect();
    // positive definite, because of the multiple of the identity below
    B.extend((0..n).map(|i| (0..n).map(|j| if i == j { 0.3 } else { 0.0 }).collect()));
    let rows = random.count(2, 10);
    let A: Vec<Vec<f64>> = (0..rows).map(|_| entries(n, random)).collect();
    let b = entries(rows, random);
    let pairs: Vec<[usize; 2]> =
        (0..random.count(1, 5)).map(|_| [random.below(rows), random.below(rows)]).collect();
    let sides: Vec<usize> = (0..rows).map(|_| usize::from(random.chance(0.7))).collect();
    json!({"B": B, "c": entries(n, random), "A": A, "b": b, "sides": sides, "pairs": pairs})
}

/// Solves a program and compares it with all combinations.
pub fn judge(case: &Value, verdict: &mut Verdict) {
    let Some(p) = Dense::of(case) else { return };
    let m = p.b.len();
    let mut sides: Vec<bool> = super::numbers(&case["sides"]).iter().map(|s| *s != 0.0).collect();
    sides.resize(m, false);
    let pairs: Vec<[usize; 2]> = case["pairs"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|pair| Some([pair[0].as_u64()? as usize, pair[1].as_u64()? as usize]))
        .collect();
    if pairs.iter().flatten().any(|row| *row >= m) || 1 << pairs.len().min(20) > MOST {
        return;
    }
    let columns: Vec<u32> = (0..p.n as u32).collect();
    let (mut A, mut choices) = (Rows::new(), Choices::new());
    p.A.iter().for_each(|row| A.push(&columns, row));
    for [a, b] in &pairs {
        choices.push_pair(*a as u32, *b as u32);
    }
    let own: Vec<Side> =
        sides.iter().map(|s| if *s { Side::AtLeast } else { Side::Free }).collect();
    let P = p.P.concat();
    let miqp = Miqp { n: p.n, P: &P, c: &p.c, A: &A, b: &p.b, sides: &own, choices: &choices };
    let mut out = MiqpSolution::default();
    MiqpSolver::new().solve(&miqp, &MiqpSettings::default(), &mut Hooks::default(), &mut out);
    let word = format!("miqp: {:?}", out.status).to_lowercase();
    verdict.count(word);
    let best = least_cost(&p, &sides, &pairs);
    match out.status {
        MiqpStatus::Optimal => {
            let off = violation(&p, &sides, &pairs, &out.x);
            if !(off <= 1e-6) {
                verdict.blame("miqp: an answer violates its rows", format!("by {off:.2e}"));
            }
            let size = p.c.iter().zip(&out.x).map(|(c, x)| (c * x).abs()).sum::<f64>() + 1.0;
            if !(out.cost <= best + SHARE * size) {
                let text = format!("cost {}, a combination has {best}", out.cost);
                verdict.blame("miqp: called optimal", text);
            }
        }
        // Clarabel satisfies rows only to its tolerance, so inconsistencies of that size are not
        // judged
        MiqpStatus::Infeasible if best.is_finite() => verdict.count("miqp: disputed by Clarabel"),
        MiqpStatus::Failed(reason) => verdict.count(format!("miqp: failed, {reason:?}")),
        _ => {}
    }
}

/// Least cost over all combinations; infinite if all are infeasible.
fn least_cost(p: &Dense, sides: &[bool], pairs: &[[usize; 2]]) -> f64 {
    let mut best = f64::INFINITY;
    for combination in 0..1_usize << pairs.len() {
        let mut one = Dense { A: Vec::new(), b: Vec::new(), cones: Vec::new(), ..p.clone() };
        for (row, _) in sides.iter().enumerate().filter(|(_, demanded)| **demanded) {
            one.A.push(p.A[row].clone());
            one.b.push(p.b[row]);
        }
        for (k, pair) in pairs.iter().enumerate() {
            let row = pair[combination >> k & 1];
            one.E.push(p.A[row].clone());
            one.e.push(p.b[row]);
        }
        let (status, x) = one.clarabel();
        if status == SolverStatus::Solved {
            best = best.min(p.cost(&x));
        }
    }
    best
}

/// Largest violation of a row or a choice.
fn violation(p: &Dense, sides: &[bool], pairs: &[[usize; 2]], x: &[f64]) -> f64 {
    let s: Vec<f64> = p.A.iter().zip(&p.b).map(|(row, b)| times(row, x) - b).collect();
    let rows = s.iter().zip(sides).map(|(s, demanded)| if *demanded { -s } else { 0.0 });
    let choices = pairs.iter().map(|[a, b]| s[*a].abs().min(s[*b].abs()));
    rows.chain(choices).fold(0.0, f64::max)
}
