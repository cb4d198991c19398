//! The door `LcpSolver`: answers by their signs and products, claims that there is none by trying every case with Clarabel.

use super::clarabel_answer::Dense;
use super::{entries, gram, numbers, rows, terms, times};
use crate::target::Verdict;
use clarabel::solver::SolverStatus;
use quasistep_solvers::{Lcp, LcpOutcome, LcpSolution, LcpSolver};
use serde_json::{Value, json};
use testkit::hard_problems::Random;

/// Share of its terms that an answer may be off by.
const SHARE: f64 = 1e-7;
/// Most pairs of which every case is tried.
const MOST_PAIRS: usize = 6;

/// A problem: monotone, of friction, or any.
pub fn draw(random: &mut Random) -> Value {
    let (free, pairs) = (random.below(4), random.count(1, 7));
    let n = free + pairs;
    let rank = random.count(1, n);
    let mut M = match random.below(3) {
        0 => vec![vec![0.0; n]; n],
        _ => gram(n, &(0..rank).map(|_| entries(n, random)).collect::<Vec<_>>()),
    };
    match random.below(3) {
        // skew: the cost of a program beside its rows
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
        // one of the two vanishes beside what it is made of
        if !(w <= SHARE * size || z <= SHARE * largest) {
            return Some(format!(
                "pair {} has both, w = {w:.2e} of {size:.2e}, z = {z:.2e}",
                i - free
            ));
        }
    }
    None
}

/// A case that Clarabel solves.
fn solvable(M: &[Vec<f64>], q: &[f64], free: usize) -> Option<String> {
    let n = q.len();
    for case in 0..1_u32 << (n - free) {
        let mut p = Dense { n, P: vec![vec![0.0; n]; n], c: vec![0.0; n], ..Dense::default() };
        for i in 0..n {
            let mut unit = vec![0.0; n];
            unit[i] = 1.0;
            let active = i >= free && case >> (i - free) & 1 == 1;
            // a pair that is active has w = 0 and z ≥ 0; one that is not z = 0 and w ≥ 0
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
        // a point a long way off holds rows that contradict to Clarabel's tolerance
        if status == SolverStatus::Solved && far < 1e4 {
            return Some(format!("case {case:b} has {x:.3?}"));
        }
    }
    None
}
