//! Sparse programs without contact structure.

use crate::common::{Problem, Samples};
use quasistep_solvers::{
    Reason, RowCone, Rows, Saturation, Settings, Socp, SocpSolver, Solution, Status, WarmStart,
};

struct Sparse {
    P: Rows,
    c: Vec<f64>,
    A: Rows,
    b: Vec<f64>,
    cones: Vec<RowCone>,
    saturations: Vec<Saturation>,
}

impl Sparse {
    fn socp(&self) -> Socp<'_> {
        Socp {
            n: self.c.len(),
            P: &self.P,
            c: &self.c,
            A: &self.A,
            b: &self.b,
            cones: &self.cones,
            saturations: &self.saturations,
        }
    }
    fn solve(&self) -> Solution {
        let mut out = Solution::default();
        SocpSolver::new().solve(&self.socp(), None, &Settings::default(), &mut out);
        out
    }
}

/// Draws a `P` whose blocks have non-adjacent variables: 0 and 3, 1 and 4, ...
fn scattered(s: &mut Samples, n: usize) -> Sparse {
    let half = n / 2;
    let mut P = Rows::new();
    let off: Vec<f64> = (0..half).map(|_| 0.9 * s.signed()).collect();
    for i in 0..n {
        let other = (i + half) % n;
        P.push(&[i as u32, other as u32], &[1.0, off[i % half]]);
    }
    Sparse {
        P,
        c: (0..n).map(|_| s.signed()).collect(),
        A: Rows::new(),
        b: Vec::new(),
        cones: Vec::new(),
        saturations: Vec::new(),
    }
}

fn some_row(s: &mut Samples, n: usize) -> (Vec<u32>, Vec<f64>) {
    let columns: Vec<u32> = (0..3).map(|_| s.below(n) as u32).collect();
    let values = columns.iter().map(|_| s.signed()).collect();
    (columns, values)
}

/// Largest KKT residual, computed from the data alone.
fn violation(p: &Sparse, out: &Solution) -> f64 {
    let mut g = p.c.clone();
    for i in 0..g.len() {
        g[i] += p.P.dot(i, &out.x);
    }
    for spring in &p.saturations {
        let i = spring.index as usize;
        let force = spring.stiffness * (out.x[i] - spring.target);
        g[i] += force.clamp(-spring.limit, spring.limit);
    }
    for (i, z) in out.z.iter().enumerate() {
        p.A.add_to(i, -z, &mut g);
    }
    let mut worst = g.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
    let s: Vec<f64> = (0..p.b.len()).map(|i| p.A.dot(i, &out.x) - p.b[i]).collect();
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let mut first = 0;
    for cone in &p.cones {
        match *cone {
            RowCone::Nonnegative(rows) => {
                for i in first..first + rows {
                    worst = worst.max(-s[i]).max(-out.z[i]).max((s[i] * out.z[i]).abs());
                }
                first += rows;
            }
            RowCone::SecondOrder(k) => {
                let (s, z) = (&s[first..first + k], &out.z[first..first + k]);
                let product: f64 = s.iter().zip(z).map(|(s, z)| s * z).sum();
                worst = worst.max(norm(&s[1..]) - s[0]).max(norm(&z[1..]) - z[0]);
                worst = worst.max(product.abs());
                first += k;
            }
        }
    }
    worst
}

#[test]
fn sparse_and_dense_entries_agree() {
    let mut s = Samples::new(7);
    for _ in 0..50 {
        let n = 2 * (2 + s.below(6));
        let mut p = scattered(&mut s, n);
        let mut dense = Problem { n, P: vec![0.0; n * n], c: p.c.clone(), ..Problem::default() };
        for i in 0..n {
            let (columns, values) = p.P.row(i);
            for (j, v) in columns.iter().zip(values) {
                dense.P[i * n + *j as usize] += v;
            }
        }
        for _ in 0..n + s.below(n) {
            let (columns, values) = some_row(&mut s, n);
            let b = 0.6 * s.uniform() - 0.5;
            p.A.push(&columns, &values);
            p.b.push(b);
            dense.A.push(&columns, &values);
            dense.b.push(b);
        }
        p.cones = vec![RowCone::Nonnegative(p.b.len())];
        if s.below(2) == 0 {
            let spring =
                Saturation { index: s.below(n) as u32, stiffness: 3.0, target: 0.4, limit: 0.5 };
            p.saturations.push(spring);
            dense.saturations.push(spring);
        }
        let (a, b) = (p.solve(), dense.solve());
        assert_eq!(a.status, b.status);
        if a.status == Status::Solved {
            assert!(violation(&p, &a) < 1e-9, "{:e}", violation(&p, &a));
            for (x, y) in a.x.iter().zip(&b.x) {
                assert!((x - y).abs() < 1e-8, "{x} {y}");
            }
            assert_eq!(a.saturated, b.saturated);
        }
    }
}

#[test]
fn second_order_cones_of_all_sizes() {
    let mut s = Samples::new(8);
    let (mut solved, mut solver, mut out) = (0, SocpSolver::new(), Solution::default());
    for _ in 0..60 {
        let n = 2 * (3 + s.below(8));
        let mut p = scattered(&mut s, n);
        for _ in 0..=s.below(4) {
            let k = 1 + s.below(8);
            for row in 0..k {
                let (columns, values) = some_row(&mut s, n);
                p.A.push(&columns, &values);
                // the point 0 is strictly feasible
                p.b.push(if row == 0 { -1.0 } else { 0.1 * s.signed() });
            }
            p.cones.push(RowCone::SecondOrder(k));
        }
        solver.solve(&p.socp(), None, &Settings::default(), &mut out);
        assert_eq!(out.status, Status::Solved, "{:?}", out.reason);
        assert!(violation(&p, &out) < 1e-8, "{:e}", violation(&p, &out));
        let (z, slack, x) = (out.z.clone(), out.s.clone(), out.x.clone());
        let warm = WarmStart { z: &z, s: &slack };
        solver.solve(&p.socp(), Some(warm), &Settings::default(), &mut out);
        for (a, b) in out.x.iter().zip(&x) {
            assert!((a - b).abs() < 1e-7, "{a} {b}");
        }
        solved += 1;
    }
    assert_eq!(solved, 60);
}

#[test]
fn proofs_are_in_the_callers_order() {
    // variables 0 and 2 share a block; 1 has no cost and is unbounded
    let mut P = Rows::new();
    P.push(&[0, 2], &[2.0, 1.0]);
    P.push(&[], &[]);
    P.push(&[0, 2], &[1.0, 2.0]);
    let mut p = Sparse {
        P,
        c: vec![0.0, 1.0, 0.0],
        A: Rows::new(),
        b: vec![],
        cones: vec![],
        saturations: vec![],
    };
    let out = p.solve();
    assert_eq!(out.status, Status::Unbounded);
    assert!(out.ray[1] < 0.0 && out.ray[0].abs() < 1e-12 && out.ray[2].abs() < 1e-12);
    // x_0 ≥ 1 and −x_0 ≥ 0
    p.c[1] = 0.0;
    p.A.push(&[0], &[1.0]);
    p.A.push(&[0], &[-1.0]);
    p.b = vec![1.0, 0.0];
    p.cones = vec![RowCone::Nonnegative(2)];
    let out = p.solve();
    assert_eq!(out.status, Status::Infeasible);
    assert!((out.certificate[0] - out.certificate[1]).abs() < 1e-9 && out.certificate[0] > 0.0);
}

#[test]
fn data_that_do_not_fit_have_a_reason() {
    let mut s = Samples::new(9);
    let good = scattered(&mut s, 4);
    let bad = |change: &dyn Fn(&mut Sparse)| {
        let mut p = Sparse {
            P: good.P.clone(),
            c: good.c.clone(),
            A: Rows::new(),
            ..scattered(&mut Samples::new(9), 4)
        };
        change(&mut p);
        let out = p.solve();
        assert_eq!(out.status, Status::GaveUp);
        out.reason.expect("a reason")
    };
    assert_eq!(bad(&|p| p.cones.push(RowCone::Nonnegative(1))), Reason::Dimensions);
    assert_eq!(bad(&|p| p.b.push(0.0)), Reason::Dimensions);
    assert_eq!(bad(&|p| p.P.push(&[0], &[1.0])), Reason::Dimensions);
    assert_eq!(
        bad(&|p| {
            for _ in 0..9 {
                p.A.push(&[0], &[1.0]);
                p.b.push(0.0);
            }
            p.cones.push(RowCone::SecondOrder(9));
        }),
        Reason::Dimensions
    );
    assert_eq!(bad(&|p| p.c[0] = f64::NAN), Reason::NotFinite);
}
