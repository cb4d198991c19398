//! Targets `QpSolver`, and `ConeSolver` on programs with one block of variables.
//!
//! Errors are relative to the terms of their sums: a row of the program, or all rows of the cost.

use super::clarabel_answer::Dense;
use super::{entries, terms, times};
use crate::target::Verdict;
use clarabel::solver::SolverStatus;
use quasistep_cone::{Cone, ConeProgram, ConeSolver, Reason, Settings, Solution, Status};
use quasistep_qp::{Qp, QpSolver, Rows};
use serde_json::{Value, json};
use testkit::hard_problems::Random;

/// Acceptable residual of an optimality condition, as a share of its terms.
const OPTIMAL: f64 = 1e-6;
/// Acceptable residual of a ray or Farkas multipliers, as a share of the terms.
const PROOF: f64 = 1e-7;
/// Entry of a point or a ray that is rounding, as a share of the largest entry.
const ROUNDING: f64 = 1e-12;
/// Reference size of a variable near zero, as a share of its typical size by rows and cost.
const ZERO: f64 = 1e-3;
/// Farkas multipliers must exclude every `x` in a box of this size, relative to the largest offset
/// over its row.
const BOX: f64 = 1e3;

/// A quadratic or linear program.
pub fn draw_qp(random: &mut Random) -> Value {
    draw(random, false)
}

/// A program with second-order cones.
pub fn draw_socp(random: &mut Random) -> Value {
    draw(random, true)
}

fn draw(random: &mut Random, round: bool) -> Value {
    let n = random.count(1, 8);
    let rank = if random.chance(0.25) { 0 } else { random.count(1, n + 1) };
    let mut B: Vec<Vec<f64>> = (0..rank).map(|_| entries(n, random)).collect();
    let mut A: Vec<Vec<f64>> =
        (0..random.count(0, 2 * n + 2)).map(|_| entries(n, random)).collect();
    let mut cones = Vec::new();
    if round {
        for _ in 0..random.count(1, 3) {
            let k = random.count(2, 5);
            A.extend((0..k).map(|_| entries(n, random)));
            cones.push(k);
        }
    }
    let plain = A.len() - cones.iter().sum::<usize>();
    // duplicates, and rows that are nearly inconsistent
    if plain > 1 && random.chance(0.2) {
        let sign = if random.chance(0.5) { 1.0 } else { -1.0 };
        A[0] = A[1].iter().map(|a| sign * a).collect();
    }
    // mostly a feasible point
    let x0: Vec<f64> = entries(n, random);
    let mut b: Vec<f64> = A.iter().map(|row| times(row, &x0)).collect();
    let feasible = random.chance(0.8);
    for (i, b) in b.iter_mut().enumerate() {
        let slack = if random.chance(0.4) { 0.0 } else { random.uniform() };
        *b -= if feasible { slack } else { random.signed() };
        // the first row of a cone is its axis, and is enlarged for the others
        let mut first = plain;
        for k in &cones {
            if i == first && feasible {
                *b -= *k as f64;
            }
            first += k;
        }
    }
    let c = if random.chance(0.7) {
        // a cost that some multipliers balance
        let z: Vec<f64> = A.iter().map(|_| random.uniform()).collect();
        let pull = |j: usize| A.iter().zip(&z).map(|(row, z)| row[j] * z).sum::<f64>();
        // a difference that is rounding is set to zero
        (0..n).map(pull).map(|c| if c.abs() < ROUNDING { 0.0 } else { c }).collect()
    } else {
        entries(n, random)
    };
    let mut c: Vec<f64> = c;
    if random.chance(0.3) {
        // scale variables and cost
        let unit: Vec<f64> = (0..n).map(|_| random.decade(-4.0, 4.0)).collect();
        let cost = random.decade(-4.0, 4.0);
        for i in 0..n {
            for row in &mut B {
                row[i] *= cost.sqrt() * unit[i];
            }
            for row in &mut A {
                row[i] *= unit[i];
            }
            c[i] *= cost * unit[i];
        }
    }
    json!({"B": B, "c": c, "A": A, "b": b, "cones": cones})
}

/// Solves a program by its door.
pub fn judge(case: &Value, verdict: &mut Verdict) {
    let Some(dense) = Dense::of(case) else { return };
    let door = case["door"].as_str().unwrap_or("qp");
    let mut out = Solution::default();
    solve(&dense, door == "socp", &mut out);
    verdict.count(format!(
        "{door}: {}",
        match out.status {
            Status::Solved => "solved".to_owned(),
            Status::Unbounded => "unbounded".to_owned(),
            Status::Infeasible => "infeasible".to_owned(),
            Status::GaveUp => format!("given up: {:?}", out.reason),
        }
    ));
    let wrong = match out.status {
        Status::Solved => not_optimal(&dense, &out).map(|why| ("a wrong answer", why)),
        Status::Unbounded => no_ray(&dense, &out.ray).map(|why| ("a wrong ray", why)),
        Status::Infeasible => no_contradiction(&dense, &out.certificate)
            .map(|why| ("wrong multipliers of Farkas", why)),
        Status::GaveUp => match out.reason {
            Some(Reason::Pivots | Reason::Accuracy) => None,
            // shrinking breaks symmetry, sizes and convexity
            Some(Reason::NotSymmetric | Reason::NotConvex | Reason::NotFinite) => return,
            reason => Some(("given up without a reason", format!("{reason:?}"))),
        },
    };
    if let Some((kind, text)) = wrong {
        verdict.blame(format!("{door}: {kind}"), text);
        return;
    }
    let (status, x) = dense.clarabel();
    let theirs = status == SolverStatus::Solved;
    match out.status {
        Status::GaveUp if theirs => verdict.count(format!("{door}: given up, solved by Clarabel")),
        Status::Unbounded | Status::Infeasible if theirs => {
            verdict.count(format!("{door}: disputed by Clarabel"));
        }
        Status::Solved if theirs => {
            let (own, other) = (dense.cost(&out.x), dense.cost(&x));
            let size = terms(&dense.c, &x).max(terms(&dense.c, &out.x)).max(own.abs()).max(1e-3);
            if own - other > 1e-5 * size {
                // a point that violates its rows may have a lower cost
                verdict.count(format!("{door}: dearer than Clarabel's by 1e-5"));
            }
        }
        _ => {}
    }
}

fn solve(p: &Dense, cones: bool, out: &mut Solution) {
    if cones {
        ConeSolver::new().solve(&one_block(p), None, &Settings::default(), out);
        return;
    }
    let columns: Vec<u32> = (0..p.n as u32).collect();
    let mut A = Rows::new();
    p.A.iter().for_each(|row| A.push(&columns, row));
    let P: Vec<f64> = p.P.concat();
    let qp = Qp { n: p.n, P: &P, c: &p.c, A: &A, b: &p.b, saturations: &[] };
    QpSolver::new().solve(&qp, &[], &Settings::default(), out);
}

/// The program as a cone program with one block. Its rows and their order are the same.
fn one_block(p: &Dense) -> ConeProgram {
    let mut program = ConeProgram::new();
    program.reset([p.n]);
    for (i, row) in p.P.iter().enumerate() {
        program.P(0, i).copy_from_slice(row);
    }
    program.c(0).copy_from_slice(&p.c);
    let ones = [1.0; 8];
    let plain = (0..p.plain()).map(|_| (Cone::Edges(&ones[..1]), 1));
    let round = p.cones.iter().map(|k| (Cone::Round(&ones[..*k]), *k));
    let mut first = 0;
    for (cone, rows) in plain.chain(round) {
        let mut data = program.push_cone(cone, rows, &[0]);
        data.b().copy_from_slice(&p.b[first..first + rows]);
        for r in 0..rows {
            data.J(0, r).copy_from_slice(&p.A[first + r]);
        }
        first += rows;
    }
    program
}

/// Largest violation of a cone by the slacks `s`, relative to the `size` of its rows.
fn outside(p: &Dense, s: &[f64], size: &[f64]) -> f64 {
    let mut worst = 0.0_f64;
    for i in 0..p.plain() {
        worst = worst.max(-s[i] / size[i].max(f64::MIN_POSITIVE));
    }
    let mut first = p.plain();
    for k in &p.cones {
        let rest = s[first + 1..first + k].iter().map(|s| s * s).sum::<f64>().sqrt();
        let terms = size[first..first + k].iter().fold(f64::MIN_POSITIVE, |m, t| m.max(*t));
        worst = worst.max((rest - s[first]) / terms);
        first += k;
    }
    worst
}

/// Typical size of a variable: where rows are equalities, or where its cost alone is minimal.
fn typical(p: &Dense, j: usize) -> f64 {
    let rows = p.A.iter().zip(&p.b).filter(|(row, _)| row[j] != 0.0);
    let least = if p.P[j][j] > 0.0 { (p.c[j] / p.P[j][j]).abs() } else { 0.0 };
    rows.map(|(row, b)| (b / row[j]).abs()).fold(least, f64::max)
}

/// Describes a violated optimality condition; `None` if there is none.
fn not_optimal(p: &Dense, out: &Solution) -> Option<String> {
    let (x, z) = (&out.x, &out.z);
    let (mut off, mut scale) = (0.0_f64, 0.0_f64);
    let largest = vec![x.iter().fold(0.0_f64, |m, x| m.max(x.abs())); p.n];
    for j in 0..p.n {
        let pull: Vec<f64> = p.A.iter().map(|row| row[j]).collect();
        let sum = times(&p.P[j], x) + p.c[j] - times(&pull, z);
        off = off.max(sum.abs());
        scale = scale.max(terms(&p.P[j], x) + p.c[j].abs() + terms(&pull, z));
        // without a load, the residual is curvature times rounding
        scale = scale.max(ZERO * terms(&p.P[j], &largest));
    }
    if !(off <= OPTIMAL * scale) {
        return Some(format!("stationarity off by {off:.2e} of {scale:.2e}"));
    }
    let s: Vec<f64> = p.A.iter().zip(&p.b).map(|(row, b)| times(row, x) - b).collect();
    // entries near zero are compared with the variable's typical size
    let zero: Vec<f64> = (0..p.n).map(|j| ZERO * typical(p, j).max(x[j].abs())).collect();
    let size = |(row, b): (&Vec<f64>, &f64)| terms(row, x) + terms(row, &zero) + b.abs();
    let size: Vec<f64> = p.A.iter().zip(&p.b).map(size).collect();
    let violated = outside(p, &s, &size);
    if !(violated <= OPTIMAL) {
        return Some(format!("rows violated by {violated:.2e} of their terms"));
    }
    let largest = z.iter().fold(0.0_f64, |m, z| m.max(z.abs()));
    let signs = outside(p, z, &vec![largest; z.len()]);
    if !(signs <= OPTIMAL) {
        return Some(format!("multipliers of the wrong sign: {signs:.2e} of the largest"));
    }
    let gap: f64 = s.iter().zip(z).map(|(s, z)| s * z).sum();
    let energy: f64 = size.iter().zip(z).map(|(t, z)| t * z.abs()).sum::<f64>() + terms(&p.c, x);
    if !(gap.abs() <= OPTIMAL * energy) {
        return Some(format!("slacks times multipliers are {gap:.2e} of {energy:.2e}"));
    }
    None
}

/// Describes an error in a ray; `None` if it is one.
fn no_ray(p: &Dense, d: &[f64]) -> Option<String> {
    if d.len() != p.n {
        return Some(format!("{} entries in place of {}", d.len(), p.n));
    }
    let largest = d.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
    let (all, zero) = (vec![largest; p.n], vec![ROUNDING / PROOF * largest; p.n]);
    for row in &p.P {
        // as if every entry were as large as the ray's largest
        let (value, size) = (times(row, d), terms(row, &all));
        if !(value.abs() <= PROOF * size) {
            return Some(format!("the cost curves by {value:.2e} along it, of {size:.2e}"));
        }
    }
    let s: Vec<f64> = p.A.iter().map(|row| times(row, d)).collect();
    let size: Vec<f64> = p.A.iter().map(|row| terms(row, d) + terms(row, &zero)).collect();
    let violated = outside(p, &s, &size);
    if !(violated <= PROOF) {
        return Some(format!("it leaves a cone by {violated:.2e} of its terms"));
    }
    let fall = times(&p.c, d);
    (!(fall < 0.0)).then(|| format!("the cost changes by {fall:.2e} along it"))
}

/// Describes an error in Farkas multipliers; `None` if they hold.
fn no_contradiction(p: &Dense, y: &[f64]) -> Option<String> {
    if y.len() != p.b.len() {
        return Some(format!("{} entries in place of {}", y.len(), p.b.len()));
    }
    let largest = y.iter().fold(0.0_f64, |m, y| m.max(y.abs()));
    let signs = outside(p, y, &vec![largest; y.len()]);
    if !(signs <= PROOF) {
        return Some(format!("wrong signs: {signs:.2e} of the largest"));
    }
    let gain = times(&p.b, y);
    let mut open = 0.0;
    for j in 0..p.n {
        let pull: Vec<f64> = p.A.iter().map(|row| row[j]).collect();
        open += times(&pull, y).abs() * BOX.min(1.0 / PROOF) * typical(p, j);
    }
    (!(gain > 0.0 && gain > PROOF * open))
        .then(|| format!("they gain {gain:.2e}, with {open:.2e} left open"))
}
