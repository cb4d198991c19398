//! Target `LcpSolver`: solutions are checked by signs and products, certificates by solving every
//! case with Clarabel.

use super::clarabel_answer::Dense;
use super::{entries, gram, numbers, rows, terms, times};
use crate::target::Verdict;
use clarabel::solver::SolverStatus;
use quasistep_friction::{Lcp, LcpOutcome, LcpSolution, LcpSolver};
use serde_json::{Value, json};
use testkit::hard_problems::Random;

/// Acceptable error of a solution, as a share of its terms.
const SHARE: f64 = 1e-7;
/// Largest number of pairs for which every case is tried.
const MOST_PAIRS: usize = 6;

/// Draws a problem: monotone, a friction problem, or random.
pub fn draw(random: &mut Random) -> Value {
    let (free, pairs) = (random.below(4), random.count(1, 7));
    let n = free + pairs;
    let rank = random.count(1, n);
    let mut M = match random.below(3) {
        0 => vec![vec![0.0; n]; n],
        _ => gram(n, &(0..rank).map(|_| entries(n, random)).collect::<Vec<_>>()),
    };
    match random.below(3) {
        // skew-symmetric part: the optimality conditions of a program
        0 => {
            for i in 0..n {
                for j in 0..i {
                    let a = random.signed();
                    M[i][j] += a;
                    M[j][i] -= a;
                }
            }
        }
        1 => {
            for row in &mut M {
                row.iter_mut().zip(entries(n, random)).for_each(|(m, a)| *m += a);
            }
        }
        _ => {}
    }
    let scale = if random.chance(0.3) { random.decade(-6.0, 6.0) } else { 1.0 };
    let q: Vec<f64> = entries(n, random).iter().map(|q| scale * q).collect();
    json!({"free": free, "M": M, "q": q})
}

/// Solves a problem.
pub fn judge(case: &Value, verdict: &mut Verdict) {
    let q = numbers(&case["q"]);
    let n = q.len();
    let M = rows(&case["M"], n);
    let free = case["free"].as_u64().unwrap_or(0) as usize;
    if M.len() != n || free >= n {
        return;
    }
    let mut lcp = Lcp::new();
    lcp.reset(free, n - free);
    lcp.q().copy_from_slice(&q);
    M.iter().enumerate().for_each(|(i, row)| lcp.row(i).copy_from_slice(row));
    let mut out = LcpSolution::default();
    LcpSolver::new().solve(&lcp, &[], &mut out);
    verdict.count(format!("lcp: {:?}", out.outcome).to_lowercase());
    match out.outcome {
        LcpOutcome::Solved => {
            if let Some(why) = wrong(&M, &q, free, &out) {
                verdict.blame("lcp: a wrong answer", why);
            }
        }
        LcpOutcome::Unsolvable if n - free <= MOST_PAIRS => {
            if let Some(why) = solvable(&M, &q, free) {
                verdict.blame("lcp: called unsolvable", why);
            }
        }
        LcpOutcome::GaveUp => {
            verdict.blame("lcp: given up", format!("{:?}", out.reason));
        }
        _ => {}
    }
}

fn wrong(M: &[Vec<f64>], q: &[f64], free: usize, out: &LcpSolution) -> Option<String> {
    let v: Vec<f64> = out.x.iter().chain(&out.z).copied().collect();
    let largest = v.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    for i in 0..q.len() {
        let (w, size) = (times(&M[i], &v) + q[i], terms(&M[i], &v) + q[i].abs());
        let z = v[i];
        if i < free {
            if !(w.abs() <= SHARE * size) {
                return Some(format!("equation {i} is off by {w:.2e} of {size:.2e}"));
            }
            continue;
        }
        if !(w >= -SHARE * size && z >= -SHARE * largest) {
            return Some(format!("pair {} has w = {w:.2e} of {size:.2e}, z = {z:.2e}", i - free));
        }
        // one of both must be zero relative to its terms
        if !(w <= SHARE * size || z <= SHARE * largest) {
            return Some(format!(
                "pair {} has both, w = {w:.2e} of {size:.2e}, z = {z:.2e}",
                i - free
            ));
        }
    }
    None
}

/// Description of a case that Clarabel can solve; `None` if there is none.
fn solvable(M: &[Vec<f64>], q: &[f64], free: usize) -> Option<String> {
    let n = q.len();
    for case in 0..1_u32 << (n - free) {
        let mut p = Dense { n, P: vec![vec![0.0; n]; n], c: vec![0.0; n], ..Dense::default() };
        for i in 0..n {
            let mut unit = vec![0.0; n];
            unit[i] = 1.0;
            let active = i >= free && case >> (i - free) & 1 == 1;
            // an active pair has w = 0 and z ≥ 0; another has z = 0 and w ≥ 0
            if i < free || active {
                p.E.push(M[i].clone());
                p.e.push(-q[i]);
            } else {
                p.A.push(M[i].clone());
                p.b.push(-q[i]);
            }
            if i >= free {
                if active {
                    p.A.push(unit);
                    p.b.push(0.0);
                } else {
                    p.E.push(unit);
                    p.e.push(0.0);
                }
            }
        }
        let (status, x) = p.clarabel();
        let far = x.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        // distant points may satisfy inconsistent rows to Clarabel's tolerance
        if status == SolverStatus::Solved && far < 1e4 {
            return Some(format!("case {case:b} has {x:.3?}"));
        }
    }
    None
}
