//! Recorded contact problems: many more active rows than variables, and very different units.

use crate::common::Problem;
use quasistep_qp::{Solution, Status};

struct Record {
    problem: Problem,
    /// The solution stored with the problem.
    v: Vec<f64>,
    passive: usize,
}

fn numbers(line: &str) -> Vec<f64> {
    line.split(' ').map(|word| word.parse().expect("a number")).collect()
}

/// Parses the format of `data/README.md`.
fn read(text: &str) -> Vec<Record> {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut records = Vec::new();
    while let Some(head) = lines.next() {
        let head = numbers(head.strip_prefix("problem ").expect("a head"));
        let [n, rows, entries, passive] = [0, 1, 2, 3].map(|k| head[k] as usize);
        let mut problem = Problem { n, P: vec![0.0; n * n], ..Problem::default() };
        for _ in 0..entries {
            let e = numbers(lines.next().expect("an entry"));
            let (i, j) = (e[0] as usize, e[1] as usize);
            problem.P[i * n + j] = e[2];
            problem.P[j * n + i] = e[2];
        }
        problem.c = numbers(lines.next().expect("the cost"));
        for _ in 0..rows {
            let row = numbers(lines.next().expect("a row"));
            let columns: Vec<u32> = row[1..].chunks(2).map(|pair| pair[0] as u32).collect();
            let values: Vec<f64> = row[1..].chunks(2).map(|pair| pair[1]).collect();
            problem.A.push(&columns, &values);
            problem.b.push(row[0]);
        }
        let v = numbers(lines.next().expect("a velocity"));
        records.push(Record { problem, v, passive });
    }
    records
}

fn bunny() -> Vec<Record> {
    read(include_str!("../data/bunny13.txt"))
}

fn stack() -> Vec<Record> {
    read(include_str!("../data/stack69.txt"))
}

fn without_mass(mut record: Record) -> Record {
    let n = record.problem.n;
    for i in 0..record.passive {
        for j in 0..n {
            record.problem.P[i * n + j] = 0.0;
            record.problem.P[j * n + i] = 0.0;
        }
    }
    record
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m, v| m.max(v.abs()))
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

/// Asserts residuals at the level of rounding. Costs are about 1 N·s, velocities below 60 m/s.
fn assert_exact(problem: &Problem, s: &Solution) {
    assert_eq!(s.status, Status::Solved, "{:?}", s.reason);
    assert!(s.dual_is_smallest_norm);
    let size = largest(&s.x).max(largest(&problem.b)).max(1.0);
    let r = s.residuals;
    assert!(r.stationarity <= 1e-13 && r.primal <= 1e-14 * size && r.dual == 0.0, "{r:?}");
    assert!(r.complementarity <= 1e-12, "{r:?}");
}

/// Asserts that several starting points lead to the same solution.
fn assert_same_from_anywhere(problem: &Problem, s: &Solution) {
    let m = problem.b.len() as u32;
    let pushing: Vec<u32> = (0..m).filter(|&i| s.z[i as usize] > 0.0).collect();
    let backwards: Vec<u32> = (0..m).rev().collect();
    for warm in [s.working.clone(), pushing, backwards] {
        let again = problem.solve_from(&warm);
        assert_exact(problem, &again);
        let (dx, dz) = (distance(&s.x, &again.x), distance(&s.z, &again.z));
        assert!(dx <= 1e-10 * largest(&s.x).max(1e-3), "x moved by {dx:e}");
        assert!(dz <= 1e-10, "z moved by {dz:e}");
    }
}

#[test]
fn contact_problems_with_mass_are_solved_to_rounding() {
    for record in bunny().into_iter().chain(stack()) {
        let s = record.problem.solve();
        assert_exact(&record.problem, &s);
        assert_same_from_anywhere(&record.problem, &s);
        // the stored solution comes from an interior point method stopped at 1e-8
        let far = distance(&s.x, &record.v);
        assert!(far <= 1e-5 * largest(&record.v).max(1e-2), "{far:e} from the stored one");
        assert!(record.problem.cost(&s.x) <= record.problem.cost(&record.v) + 1e-8);
    }
}

#[test]
fn contact_problems_without_mass_are_solved_to_rounding() {
    let mut unbounded = 0;
    for record in bunny().into_iter().chain(stack()) {
        let record = without_mass(record);
        let s = record.problem.solve();
        if s.status == Status::Unbounded {
            // in the first step of the stack some cubes have no contact yet
            unbounded += 1;
            let n = record.problem.n;
            assert!(s.ray[record.passive..].iter().all(|d| d.abs() <= 1e-12), "the arm is held");
            assert!((0..record.problem.b.len()).all(|i| record.problem.A.dot(i, &s.ray) >= -1e-12));
            let slope: f64 = (0..n).map(|i| record.problem.c[i] * s.ray[i]).sum();
            assert!(slope < -1e-6, "{slope:e}");
            continue;
        }
        assert_exact(&record.problem, &s);
        assert_same_from_anywhere(&record.problem, &s);
    }
    assert_eq!(unbounded, 1);
}

/// A Newton step on the active rows with positive multipliers, by independent code, moves the point
/// by rounding only.
#[test]
fn points_agree_with_a_refinement_on_their_active_rows() {
    for record in bunny().into_iter().chain(stack()) {
        let p = &record.problem;
        let s = p.solve();
        let n = p.n;
        // penalty form of the equalities, refined to the exact solution by multiplier updates
        let active = &s.working;
        let weight = 1e3;
        let mut H = p.P.clone();
        for &i in active {
            let (columns, values) = p.A.row(i as usize);
            for (&a, v) in columns.iter().zip(values) {
                for (&b, w) in columns.iter().zip(values) {
                    H[a as usize * n + b as usize] += weight * v * w;
                }
            }
        }
        let mut x = record.v.clone();
        let mut u = vec![0.0; active.len()];
        for _ in 0..400 {
            // minimise the augmented Lagrangian from the current point
            let mut g = p.c.clone();
            for i in 0..n {
                g[i] += (0..n).map(|j| p.P[i * n + j] * x[j]).sum::<f64>();
            }
            for (&i, u) in active.iter().zip(&u) {
                let slack = p.A.dot(i as usize, &x) - p.b[i as usize];
                p.A.add_to(i as usize, weight * slack - u, &mut g);
            }
            let step = eliminate(H.clone(), n, g);
            for (x, d) in x.iter_mut().zip(&step) {
                *x -= d;
            }
            for (&i, u) in active.iter().zip(&mut u) {
                *u -= weight * (p.A.dot(i as usize, &x) - p.b[i as usize]);
            }
        }
        let far = distance(&s.x, &x);
        assert!(far <= 1e-10 * largest(&s.x).max(1e-3), "{far:e} apart");
    }
}

/// Gaussian elimination with row pivoting.
fn eliminate(mut M: Vec<f64>, n: usize, mut r: Vec<f64>) -> Vec<f64> {
    for k in 0..n {
        let pivot = (k..n)
            .max_by(|a, b| M[a * n + k].abs().total_cmp(&M[b * n + k].abs()))
            .expect("a row is left");
        for j in 0..n {
            M.swap(k * n + j, pivot * n + j);
        }
        r.swap(k, pivot);
        for i in k + 1..n {
            let f = M[i * n + k] / M[k * n + k];
            if f != 0.0 {
                for j in k..n {
                    M[i * n + j] -= f * M[k * n + j];
                }
                r[i] -= f * r[k];
            }
        }
    }
    for k in (0..n).rev() {
        let sum: f64 = (k + 1..n).map(|j| M[k * n + j] * r[j]).sum();
        r[k] = (r[k] - sum) / M[k * n + k];
    }
    r
}
