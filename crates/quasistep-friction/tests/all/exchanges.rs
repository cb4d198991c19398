//! Non-unique forces: the reported changes of forces, compared with other solutions for the forces
//! at the same motion.

use crate::common::Samples;
use crate::common::friction::{Recipe, Sample, friction_problem};
use quasistep_friction::{CoulombSettings, CoulombSolution, CoulombSolver, Outcome, Uniqueness};
use quasistep_qp::{Qp, QpSolver, Rows, Settings, Solution, Status};

/// Orthogonalises `v` against an orthonormal `basis`; returns the remaining length.
fn rest(v: &mut [f64], basis: &[Vec<f64>]) -> f64 {
    for _ in 0..2 {
        for e in basis {
            let along: f64 = e.iter().zip(&*v).map(|(e, v)| e * v).sum();
            v.iter_mut().zip(e).for_each(|(v, e)| *v -= along * e);
        }
    }
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Generators of the forces that Coulomb's law allows at the motion of `out`: columns over the rows
/// of all contacts, to be combined with weights ≥ 0.
fn allowed(sample: &Sample, out: &CoulombSolution) -> Vec<Vec<f64>> {
    let rows = sample.contacts.iter().flat_map(|c| c.J.iter().zip(&c.b));
    let terms = |J: &[f64]| -> f64 { J.iter().zip(&out.x).map(|(J, x)| (J * x).abs()).sum() };
    let fastest = rows.map(|(J, b)| terms(J) + b.abs()).fold(sample.length, f64::max);
    let mut columns = Vec::new();
    let mut at = 0;
    for contact in &sample.contacts {
        let k = contact.J.len();
        let u = &out.u[at..at + k];
        let work = |edge: &[f64]| -> f64 { edge.iter().zip(&u[1..]).map(|(e, u)| -e * u).sum() };
        let most = contact.edges.iter().map(|edge| work(edge)).fold(f64::NEG_INFINITY, f64::max);
        for edge in &contact.edges {
            if u[0] <= 1e-9 * fastest && work(edge) >= most - 1e-9 * fastest * contact.mu {
                let mut column = vec![0.0; out.lambda.len()];
                column[at] = 1.0;
                column[at + 1..at + k].copy_from_slice(edge);
                columns.push(column);
            }
        }
        at += k;
    }
    columns
}

/// Several forces that are allowed at the motion of `out` with the same resultant, each nearest to
/// a different point. The first is nearest to the forces of `out`.
fn other_forces(sample: &Sample, out: &CoulombSolution, s: &mut Samples) -> Vec<Vec<f64>> {
    let columns = allowed(sample, out);
    let (n, rows) = (columns.len(), out.lambda.len());
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let mut P = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            // columns may be linearly dependent
            P[i * n + j] = dot(&columns[i], &columns[j]) + if i == j { 1e-9 } else { 0.0 };
        }
    }
    let (mut A, mut b) = (Rows::new(), Vec::new());
    for j in 0..n {
        A.push(&[j as u32], &[1.0]);
        b.push(0.0);
    }
    let mut solver = QpSolver::new();
    let mut nearest = |A: &Rows, b: &[f64], to: &[f64]| {
        let c: Vec<f64> = columns.iter().map(|column| -dot(column, to)).collect();
        let mut answer = Solution::default();
        let qp = Qp { n, P: &P, c: &c, A, b, saturations: &[] };
        solver.solve(&qp, &[], &Settings::default(), &mut answer);
        (answer.status == Status::Solved).then(|| {
            let mut lambda = vec![0.0; rows];
            for (column, y) in columns.iter().zip(&answer.x) {
                lambda.iter_mut().zip(column).for_each(|(l, c)| *l += y * c);
            }
            lambda
        })
    };
    // the forces of `out`, corrected for rounding so that they are exactly allowed
    let own = nearest(&A, &b, &out.lambda).expect("no rows but signs");
    let size = own.iter().fold(0.0_f64, |m, l| m.max(l.abs()));
    let all: Vec<u32> = (0..n as u32).collect();
    for i in 0..sample.n {
        let jacobian: Vec<f64> =
            sample.contacts.iter().flat_map(|c| c.J.iter().map(|row| row[i])).collect();
        let row: Vec<f64> = columns.iter().map(|column| dot(&jacobian, column)).collect();
        let sum = dot(&jacobian, &own);
        A.push(&all, &row);
        b.push(sum - 1e-12 * size);
        A.push(&all, &row.iter().map(|v| -v).collect::<Vec<_>>());
        b.push(-sum - 1e-12 * size);
    }
    let mut found = vec![own];
    for _ in 0..6 * rows {
        let to: Vec<f64> = (0..rows).map(|_| 30.0 * size * s.signed()).collect();
        found.extend(nearest(&A, &b, &to));
    }
    assert!(found.len() > 3 * rows, "{} of {}", found.len(), 6 * rows);
    found
}

#[test]
fn exchanges_of_forces_are_what_other_forces_differ_by() {
    let (mut shared, mut unique) = (0, 0);
    for (seed, recipe) in [
        Recipe { massless: 0.2, ..Recipe::PLANAR },
        Recipe { massless: 0.2, bodies: 1, ..Recipe::SPATIAL },
        Recipe { massless: 0.2, contacts: 4, directions: 3, ..Recipe::SPATIAL },
    ]
    .iter()
    .enumerate()
    {
        let mut s = Samples::new(500 + seed as u64);
        for k in 0..100 {
            let sample = friction_problem(&mut s, recipe);
            let mut out = CoulombSolution::default();
            let settings = CoulombSettings::default();
            CoulombSolver::new().solve(&sample.program, None, &settings, &mut out);
            let size = out.lambda.iter().fold(0.0_f64, |m, l| m.max(l.abs()));
            if out.outcome != Outcome::Solved || size < 1e-3 {
                continue;
            }
            let forces = Uniqueness::new().forces(&sample.program, &out);
            assert!(forces.known, "{seed} {k}");
            // a reported change of forces has no resultant
            for e in &forces.exchanges {
                for i in 0..sample.n {
                    let rows = sample.contacts.iter().flat_map(|c| &c.J);
                    let sum: f64 = rows.zip(e).map(|(row, e)| row[i] * e).sum();
                    assert!(sum.abs() < 1e-9, "{seed} {k}: {sum:e}");
                }
            }
            let mut basis: Vec<Vec<f64>> = Vec::new();
            let others = other_forces(&sample, &out, &mut s);
            let own = &others[0];
            for mut other in others[1..].iter().cloned() {
                let long = other.iter().fold(size, |m, l| m.max(l.abs()));
                other.iter_mut().zip(own).for_each(|(o, l)| *o -= l);
                // the difference of two solutions lies in the span of the reported changes
                let mut difference = other.clone();
                let left = rest(&mut difference, &forces.exchanges);
                assert!(left < 1e-5 * long, "{seed} {k}: {left:e} of {long:e}");
                let length = rest(&mut other, &basis);
                if length > 1e-3 * long {
                    for v in &mut other {
                        *v /= length;
                    }
                    basis.push(other);
                }
            }
            assert_eq!(basis.len(), forces.exchanges.len(), "{seed} {k}");
            if basis.is_empty() { unique += 1 } else { shared += 1 }
        }
    }
    eprintln!("{shared} shared, {unique} unique");
    assert!(shared > 20 && unique > 20, "{shared} shared, {unique} unique");
}
