//! Small problems, compared with a search over all sets of active rows.

use crate::common::{Cones, Problem, Samples};
use quasistep_cone::Status;

/// Solves `M x = r` (row-major, square) by Gauss–Jordan elimination with full pivoting. If `M` is
/// singular, returns one solution if there is any.
fn gauss(mut M: Vec<f64>, n: usize, mut r: Vec<f64>) -> Option<Vec<f64>> {
    let size = M.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let mut free_rows: Vec<usize> = (0..n).collect();
    let mut free_columns: Vec<usize> = (0..n).collect();
    let mut pivots = Vec::new();
    while let Some((i, j)) = free_rows
        .iter()
        .flat_map(|&i| free_columns.iter().map(move |&j| (i, j)))
        .max_by(|a, b| M[a.0 * n + a.1].abs().total_cmp(&M[b.0 * n + b.1].abs()))
    {
        if M[i * n + j].abs() <= 1e-11 * size {
            break;
        }
        free_rows.retain(|k| *k != i);
        free_columns.retain(|k| *k != j);
        pivots.push((i, j));
        for k in (0..n).filter(|k| *k != i) {
            let f = M[k * n + j] / M[i * n + j];
            for l in 0..n {
                M[k * n + l] -= f * M[i * n + l];
            }
            r[k] -= f * r[i];
        }
    }
    if free_rows.iter().any(|&i| r[i].abs() > 1e-9) {
        return None;
    }
    let mut x = vec![0.0; n];
    for (i, j) in pivots {
        x[j] = r[i] / M[i * n + j];
    }
    Some(x)
}

/// Minimises with the rows `set` as equalities: returns `x` and their multipliers.
fn equalities(p: &Problem, rows: &[Vec<f64>], set: &[usize]) -> Option<(Vec<f64>, Vec<f64>)> {
    let (n, q) = (p.n, set.len());
    let N = n + q;
    let mut K = vec![0.0; N * N];
    let mut r = vec![0.0; N];
    for i in 0..n {
        K[i * N..i * N + n].copy_from_slice(&p.P[i * n..(i + 1) * n]);
        r[i] = -p.c[i];
    }
    for (k, &row) in set.iter().enumerate() {
        for i in 0..n {
            K[i * N + n + k] = -rows[row][i];
            K[(n + k) * N + i] = rows[row][i];
        }
        r[n + k] = p.b[row];
    }
    let x = gauss(K, N, r)?;
    Some((x[..n].to_vec(), x[n..].to_vec()))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Draws a problem with few distinct coefficients and many rows through one point, so that most
/// samples are degenerate.
fn sample(s: &mut Samples) -> (Problem, Vec<Vec<f64>>) {
    let n = 1 + s.below(3);
    let m = s.below(8);
    let mut p = Problem { n, P: vec![0.0; n * n], c: vec![0.0; n], ..Problem::default() };
    for _ in 0..n + 2 {
        let g: Vec<f64> = (0..n).map(|_| s.signed()).collect();
        for i in 0..n {
            for j in 0..n {
                p.P[i * n + j] += g[i] * g[j];
            }
        }
    }
    for i in 0..n {
        p.P[i * n + i] += 0.05;
        p.c[i] = 2.0 * s.signed();
    }
    let rows: Vec<Vec<f64>> =
        (0..m).map(|_| (0..n).map(|_| s.below(5) as f64 - 2.0).collect()).collect();
    for row in &rows {
        let b = if s.uniform() < 0.6 { 0.0 } else { -(s.below(3) as f64) };
        p.push(row, b);
    }
    (p, rows)
}

fn subsets(m: usize) -> impl Iterator<Item = Vec<usize>> {
    (0u32..1 << m).map(move |bits| (0..m).filter(|i| bits >> i & 1 == 1).collect())
}

#[test]
fn minimisers_agree_with_every_set_tried() {
    let mut s = Samples::new(31);
    for k in 0..400 {
        let (p, rows) = sample(&mut s);
        let best = subsets(rows.len())
            .filter_map(|set| equalities(&p, &rows, &set))
            .filter(|(x, u)| {
                u.iter().all(|u| *u >= -1e-9)
                    && rows.iter().zip(&p.b).all(|(row, b)| dot(row, x) >= b - 1e-9)
            })
            .map(|(x, _)| x)
            .next()
            .expect("one of the sets is right");
        for ours in p.solve_by_all() {
            // x = 0 is feasible and P is positive definite
            assert_eq!(ours.status, Status::Solved, "sample {k}");
            for (a, b) in ours.x.iter().zip(&best) {
                // the reference eliminates without iterative refinement
                assert!((a - b).abs() <= 1e-9, "sample {k}: {:?} against {best:?}", ours.x);
            }
        }
    }
}

#[test]
fn smallest_multipliers_agree_with_every_support_tried() {
    let mut s = Samples::new(32);
    let mut chosen = 0;
    for k in 0..400 {
        let (p, rows) = sample(&mut s);
        let ours = p.solve();
        let touching: Vec<usize> =
            (0..rows.len()).filter(|&i| dot(&rows[i], &ours.x) - p.b[i] < 1e-9).collect();
        let n = p.n;
        let mut g = Vec::new();
        p.qp().gradient(&ours.x, &mut g);
        // on its support the smallest-norm z is unconstrained: z = B y with BᵀB y = g
        let mut smallest: Option<Vec<f64>> = None;
        for set in subsets(touching.len()) {
            let mut M = vec![0.0; n * n];
            for &t in &set {
                let row = &rows[touching[t]];
                for i in 0..n {
                    for j in 0..n {
                        M[i * n + j] += row[i] * row[j];
                    }
                }
            }
            let Some(y) = gauss(M, n, g.clone()) else { continue };
            let mut z = vec![0.0; rows.len()];
            for &t in &set {
                z[touching[t]] = dot(&rows[touching[t]], &y);
            }
            if z.iter().all(|z| *z >= -1e-10)
                && smallest.as_ref().is_none_or(|best| dot(&z, &z) < dot(best, best))
            {
                smallest = Some(z);
            }
        }
        let smallest = smallest.expect("some support balances");
        chosen += usize::from(touching.len() > n);
        for ours in p.solve_by_all() {
            assert!(ours.dual_is_smallest_norm, "sample {k}");
            for (a, b) in ours.z.iter().zip(&smallest) {
                assert!((a - b).abs() <= 1e-8, "sample {k}: {:?} against {smallest:?}", ours.z);
            }
        }
    }
    assert!(chosen >= 100, "only {chosen} samples left a choice");
}
