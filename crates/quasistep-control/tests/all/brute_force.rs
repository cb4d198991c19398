//! Plans of small problems against enumeration of all complementarity combinations, without any
//! reduction.

use quasistep_control::{Mpc, MpcSettings, PlanStatus, Problem};
use quasistep_qp::{Qp, QpSolver, Rows, Settings, Solution, Status};
use testkit::random_lcs::{RandomProblem, random_problem};

/// An affine function of `(u_0, gamma_1, u_1, …)`: coefficients and constant.
type Affine = (Vec<f64>, f64);

fn combine(n: usize, parts: &[(f64, &Affine)], constant: f64) -> Affine {
    let mut out = (vec![0.0; n], constant);
    for (factor, (row, value)) in parts {
        out.0.iter_mut().zip(row).for_each(|(o, r)| *o += factor * r);
        out.1 += factor * value;
    }
    out
}

/// The program over the horizon with all of `gamma` and all bounds as explicit rows.
struct Plain {
    n: usize,
    P: Vec<f64>,
    c: Vec<f64>,
    constant: f64,
    /// Rows that must be ≥ 0.
    rows: Vec<Affine>,
    /// Pairs of rows of which one must be 0.
    pairs: Vec<(Affine, Affine)>,
}

impl Plain {
    fn of(problem: &Problem, x0: &[f64]) -> Self {
        let lcs = &problem.models[0];
        let (n_x, n_u, g, N) = (lcs.n_x, lcs.n_u, lcs.n_gamma, problem.horizon);
        let n = N * (n_u + g);
        let mut plain = Self {
            n,
            P: vec![0.0; n * n],
            c: vec![0.0; n],
            constant: 0.0,
            rows: Vec::new(),
            pairs: Vec::new(),
        };
        let unit =
            |k: usize| -> Affine { ((0..n).map(|i| f64::from(u8::from(i == k))).collect(), 0.0) };
        let mut x: Vec<Affine> = x0.iter().map(|v| (vec![0.0; n], *v)).collect();
        for k in 0..=N {
            let cost = &problem.cost;
            let Q = if k == N { &cost.Q_f } else { &cost.Q };
            let goal = &cost.goal[k.min(cost.goal.len() - 1)];
            let off: Vec<Affine> =
                (0..n_x).map(|i| combine(n, &[(1.0, &x[i])], -goal[i])).collect();
            plain.add_square(Q, &off);
            if k == N {
                break;
            }
            let lcs = &problem.models[if problem.models.len() == 1 { 0 } else { k }];
            let u: Vec<Affine> = (0..n_u).map(|j| unit(k * (n_u + g) + j)).collect();
            let gamma: Vec<Affine> = (0..g).map(|j| unit(k * (n_u + g) + n_u + j)).collect();
            plain.add_square(&cost.R, &u);
            let next: Vec<Affine> = (0..n_x)
                .map(|i| {
                    let mut parts: Vec<(f64, &Affine)> = Vec::new();
                    parts.extend(x.iter().enumerate().map(|(j, x)| (lcs.A[i * n_x + j], x)));
                    parts.extend(u.iter().enumerate().map(|(j, u)| (lcs.B[i * n_u + j], u)));
                    parts.extend(gamma.iter().enumerate().map(|(j, g_j)| (lcs.C[i * g + j], g_j)));
                    combine(n, &parts, lcs.f[i])
                })
                .collect();
            for i in 0..g {
                let mut parts: Vec<(f64, &Affine)> = Vec::new();
                parts.extend(next.iter().enumerate().map(|(j, x)| (lcs.D[i * n_x + j], x)));
                parts.extend(gamma.iter().enumerate().map(|(j, g_j)| (lcs.E[i * g + j], g_j)));
                plain.pairs.push((gamma[i].clone(), combine(n, &parts, lcs.a[i])));
            }
            let contacts = lcs.contacts();
            for i in 0..g {
                let free = contacts.iter().any(|c| c.slip == i || c.tangents.contains(&i));
                if let (Some(limit), false) = (problem.bounds.impulse, free) {
                    plain.rows.push(combine(n, &[(-1.0, &gamma[i])], limit));
                }
            }
            let bounds = &problem.bounds;
            for (values, limits) in [(&u, &bounds.input), (&next, &bounds.state)] {
                for (i, value) in values.iter().enumerate() {
                    plain.rows.push(combine(n, &[(1.0, value)], -limits.lower[i]));
                    plain.rows.push(combine(n, &[(-1.0, value)], limits.upper[i]));
                }
            }
            if k > 0 && !bounds.input_rate.lower.is_empty() {
                for j in 0..n_u {
                    let before = unit((k - 1) * (n_u + g) + j);
                    let change = combine(n, &[(1.0, &u[j]), (-1.0, &before)], 0.0);
                    plain.rows.push(combine(n, &[(1.0, &change)], -bounds.input_rate.lower[j]));
                    plain.rows.push(combine(n, &[(-1.0, &change)], bounds.input_rate.upper[j]));
                }
            }
            x = next;
        }
        plain
    }

    fn add_square(&mut self, M: &[f64], values: &[Affine]) {
        let m = values.len();
        for i in 0..m {
            for j in 0..m {
                let weight = M[i * m + j];
                let ((a, a0), (b, b0)) = (&values[i], &values[j]);
                self.constant += weight * a0 * b0;
                for p in 0..self.n {
                    self.c[p] += weight * (a[p] * b0 + b[p] * a0);
                    for q in 0..self.n {
                        self.P[p * self.n + q] += weight * (a[p] * b[q] + b[p] * a[q]);
                    }
                }
            }
        }
    }

    /// Smallest cost over all `2^pairs` combinations; infinite if none is feasible.
    fn least(&self) -> f64 {
        let columns: Vec<u32> = (0..self.n as u32).collect();
        let mut solver = QpSolver::new();
        let mut best = f64::INFINITY;
        for combination in 0u32..1 << self.pairs.len() {
            let (mut A, mut b) = (Rows::new(), Vec::new());
            let mut push = |(row, constant): &Affine, sign: f64| {
                A.push(&columns, &row.iter().map(|v| sign * v).collect::<Vec<_>>());
                b.push(-sign * constant);
            };
            self.rows.iter().for_each(|row| push(row, 1.0));
            for (k, (gamma, row)) in self.pairs.iter().enumerate() {
                push(gamma, 1.0);
                push(row, 1.0);
                push(if combination >> k & 1 == 0 { gamma } else { row }, -1.0);
            }
            let qp = Qp { n: self.n, P: &self.P, c: &self.c, A: &A, b: &b, saturations: &[] };
            let mut out = Solution::default();
            solver.solve(&qp, &[], &Settings::default(), &mut out);
            match out.status {
                Status::Solved => best = best.min(qp.cost(&out.x) + self.constant),
                Status::Infeasible => {}
                other => panic!("reference: {other:?}, {:?}", out.reason),
            }
        }
        best
    }
}

#[test]
fn plans_agree_with_every_combination_of_pairs() {
    let (mut optimal, mut infeasible, mut contacts) = (0, 0, 0);
    let mut seed = 0;
    while optimal + infeasible < 400 {
        seed += 1;
        let RandomProblem { problem, x0 } = random_problem(seed);
        if problem.horizon * problem.models[0].n_gamma > 8 {
            continue;
        }
        let least = Plain::of(&problem, &x0).least();
        let n_contacts = problem.models[0].contacts().len();
        let mut mpc = Mpc::new(problem, MpcSettings::default()).unwrap();
        let plan = mpc.plan(&x0, None).unwrap();
        if least == f64::INFINITY {
            assert_eq!(plan.status, PlanStatus::Infeasible, "seed {seed}");
            assert!(!plan.conflict.is_empty(), "seed {seed}: no reason given");
            infeasible += 1;
            continue;
        }
        assert_eq!(plan.status, PlanStatus::Optimal, "seed {seed}: least cost {least}");
        // both solvers satisfy rows to about 1e-9, for numbers of size 10
        assert!((plan.cost - least).abs() < 1e-7, "seed {seed}: {} against {least}", plan.cost);
        assert!(plan.bound <= least + 1e-7, "seed {seed}: {} against {least}", plan.bound);
        optimal += 1;
        contacts += usize::from(n_contacts > 0);
    }
    assert!(infeasible > 10 && contacts > 100, "{infeasible} infeasible, {contacts} with contacts");
}
