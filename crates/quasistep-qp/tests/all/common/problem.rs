//! Dense problems that own their data. The tests of cone programs use them, too.

use super::Samples;
use quasistep_qp::{Qp, QpSolver, Rows, Saturation, Settings, Solution};

#[derive(Clone, Debug, Default)]
pub struct Problem {
    pub n: usize,
    pub P: Vec<f64>,
    pub c: Vec<f64>,
    pub A: Rows,
    pub b: Vec<f64>,
    pub saturations: Vec<Saturation>,
}

impl Problem {
    pub fn new(P: &[&[f64]], c: &[f64], rows: &[(&[f64], f64)]) -> Self {
        let mut problem = Self { n: c.len(), P: P.concat(), c: c.to_vec(), ..Self::default() };
        for (row, b) in rows {
            problem.push(row, *b);
        }
        problem
    }
    pub fn push(&mut self, row: &[f64], b: f64) {
        let columns: Vec<u32> = (0..row.len() as u32).collect();
        self.A.push(&columns, row);
        self.b.push(b);
    }
    pub fn qp(&self) -> Qp<'_> {
        Qp {
            n: self.n,
            P: &self.P,
            c: &self.c,
            A: &self.A,
            b: &self.b,
            saturations: &self.saturations,
        }
    }
    pub fn solve(&self) -> Solution {
        self.solve_from(&[])
    }
    pub fn solve_from(&self, warm: &[u32]) -> Solution {
        let mut out = Solution::default();
        QpSolver::new().solve(&self.qp(), warm, &Settings::default(), &mut out);
        out
    }

    pub fn cost(&self, x: &[f64]) -> f64 {
        let n = self.n;
        (0..n)
            .map(|i| {
                x[i] * (self.c[i] + 0.5 * (0..n).map(|j| self.P[i * n + j] * x[j]).sum::<f64>())
            })
            .sum()
    }
    pub fn transpose_times(&self, z: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.n];
        for (i, z) in z.iter().enumerate() {
            self.A.add_to(i, *z, &mut out);
        }
        out
    }
}

/// Contact-like problem: blocks of six variables, some without curvature, contacts with four edges
/// each, many of them duplicated or dependent. It is scaled by `scale`, and `x = 0` is feasible.
pub fn contact_problem(
    s: &mut Samples,
    bodies: usize,
    contacts: usize,
    massless: f64,
    scale: f64,
) -> Problem {
    let n = 6 * bodies;
    let mut problem = Problem { n, P: vec![0.0; n * n], c: vec![0.0; n], ..Problem::default() };
    for body in 0..bodies {
        let has_mass = s.uniform() >= massless;
        for k in 6 * body..6 * body + 6 {
            problem.P[k * n + k] = if has_mass { scale * (0.01 + s.uniform()) } else { 0.0 };
            problem.c[k] = scale * s.signed();
        }
    }
    for _ in 0..contacts {
        let (a, b) = (s.below(bodies), s.below(bodies + 1));
        let J: Vec<[f64; 3]> = (0..12).map(|_| [s.signed(), s.signed(), s.signed()]).collect();
        let mu = s.uniform();
        let gap = if s.uniform() < 0.7 { 0.0 } else { s.uniform() };
        for edge in [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]] {
            let mut row = vec![0.0; n];
            for k in 0..6 {
                let value = |j: [f64; 3]| j[0] + mu * (edge[0] * j[1] + edge[1] * j[2]);
                row[6 * a + k] += value(J[k]);
                if b < bodies && b != a {
                    row[6 * b + k] -= value(J[6 + k]);
                }
            }
            problem.push(&row, -gap);
            if s.uniform() < 0.2 {
                problem.push(&row, -gap);
            }
        }
    }
    problem
}
