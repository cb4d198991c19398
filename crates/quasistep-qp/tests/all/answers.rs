//! Solutions in closed form, and certificates of problems without a solution.

use crate::common::{Problem, Samples, contact_problem};
use quasistep_qp::{Saturation, Status};

#[track_caller]
fn close(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= tolerance, "{got:?} against {want:?}");
    }
}

#[test]
fn without_rows_the_minimum_is_free() {
    let s = Problem::new(&[&[2.0, 0.0], &[0.0, 4.0]], &[-2.0, 4.0], &[]).solve();
    assert_eq!(s.status, Status::Solved);
    close(&s.x, &[1.0, -1.0], 1e-14);
}

#[test]
fn projection_onto_a_corner() {
    let P: &[&[f64]] = &[&[1.0, 0.0], &[0.0, 1.0]];
    let s = Problem::new(P, &[1.0, 2.0], &[(&[1.0, 0.0], 0.0), (&[0.0, 1.0], 0.0)]).solve();
    close(&s.x, &[0.0, 0.0], 1e-15);
    close(&s.z, &[1.0, 2.0], 1e-14);
}

#[test]
fn linear_programs_are_solved_exactly() {
    // min −x − y, x + 2y ≤ 4, 3x + y ≤ 6, x, y ≥ 0: the vertex (1.6, 1.2)
    let Z: &[&[f64]] = &[&[0.0, 0.0], &[0.0, 0.0]];
    let rows: &[(&[f64], f64)] =
        &[(&[-1.0, -2.0], -4.0), (&[-3.0, -1.0], -6.0), (&[1.0, 0.0], 0.0), (&[0.0, 1.0], 0.0)];
    let s = Problem::new(Z, &[-1.0, -1.0], rows).solve();
    assert_eq!(s.status, Status::Solved);
    close(&s.x, &[1.6, 1.2], 1e-12);
    close(&s.z, &[0.4, 0.2, 0.0, 0.0], 1e-12);
}

#[test]
fn nothing_at_all_is_solved() {
    let s = Problem::default().solve();
    assert_eq!(s.status, Status::Solved);
    // 0 ≥ −1 holds, 0 ≥ 1 does not
    let mut empty_row = Problem { n: 1, P: vec![1.0], c: vec![0.0], ..Problem::default() };
    empty_row.A.push(&[], &[]);
    empty_row.b.push(-1.0);
    assert_eq!(empty_row.solve().status, Status::Solved);
    empty_row.A.push(&[], &[]);
    empty_row.b.push(1.0);
    assert_eq!(empty_row.solve().status, Status::Infeasible);
}

/// A linear cost without curvature or rows is unbounded; a bound makes it solvable.
#[test]
fn unbounded_problems_come_with_a_ray() {
    let mut problem =
        Problem::new(&[&[0.0, 0.0], &[0.0, 1.0]], &[10.0, -1.0], &[(&[0.0, 1.0], 0.0)]);
    let s = problem.solve();
    assert_eq!(s.status, Status::Unbounded);
    // P d = 0, A d ≥ 0, decreasing cost
    assert!(s.ray[0] < 0.0 && s.ray[1].abs() < 1e-6 * s.ray[0].abs(), "{:?}", s.ray);
    problem.push(&[1.0, 0.0], -3.0);
    let held = problem.solve();
    assert_eq!(held.status, Status::Solved);
    close(&held.x, &[-3.0, 1.0], 1e-12);
    close(&held.z, &[0.0, 10.0], 1e-12);
}

#[test]
fn contradictions_come_with_a_proof() {
    let P: &[&[f64]] = &[&[1.0, 0.0], &[0.0, 1.0]];
    // x ≥ 1, y ≥ 1, x + y ≤ 1
    let problem = Problem::new(
        P,
        &[0.0, 0.0],
        &[(&[1.0, 0.0], 1.0), (&[0.0, 1.0], 1.0), (&[-1.0, -1.0], -1.0)],
    );
    let s = problem.solve();
    assert_eq!(s.status, Status::Infeasible);
    assert!(s.certificate.iter().all(|y| *y >= 0.0));
    close(&problem.transpose_times(&s.certificate), &[0.0, 0.0], 1e-12);
    let margin: f64 = s.certificate.iter().zip(&problem.b).map(|(y, b)| y * b).sum();
    assert!(margin > 0.1, "{margin}");
}

/// Huber terms reach their limits, compared with solutions by hand in one variable.
#[test]
fn huber_costs_saturate() {
    let spring = |limit: f64| Saturation { index: 0, stiffness: 10.0, target: 1.0, limit };
    let solve = |limit: f64, load: f64, wall: Option<f64>| {
        let mut problem = Problem::new(&[&[1.0]], &[-load], &[]);
        problem.saturations.push(spring(limit));
        if let Some(wall) = wall {
            problem.push(&[-1.0], -wall);
        }
        problem.solve()
    };
    // x − load + 10 (x − 1) = 0
    let free = solve(100.0, 0.0, None);
    close(&free.x, &[10.0 / 11.0], 1e-14);
    assert_eq!(free.saturated, [0]);
    // x − load − 2 = 0 with the Huber term at its limit below the target
    let limited = solve(2.0, -3.0, None);
    close(&limited.x, &[-1.0], 1e-12);
    assert_eq!(limited.saturated, [-1]);
    // at its limit above the target: x − load + 2 = 0
    let above = solve(2.0, 8.0, None);
    close(&above.x, &[6.0], 1e-12);
    assert_eq!(above.saturated, [1]);
    // an active bound at 0.5: its multiplier is the limit 2 of the Huber term less the cost's own
    // 0.5
    let pressed = solve(2.0, 0.0, Some(0.5));
    close(&pressed.x, &[0.5], 1e-13);
    close(&pressed.z, &[1.5], 1e-12);
    assert_eq!(pressed.saturated, [-1]);
}

/// Four supports under one load: the multipliers are the smallest-norm ones.
#[test]
fn duals_are_the_smallest_that_balance() {
    let P: &[&[f64]] = &[&[1.0]];
    let row: (&[f64], f64) = (&[1.0], 0.0);
    let s = Problem::new(P, &[8.0], &[row, row, row, row]).solve();
    assert!(s.dual_is_smallest_norm);
    close(&s.z, &[2.0; 4], 1e-12);
    // supports at −2, −1, 1, 2 under a load at 0.5: z = a + b p, zero where that is negative
    let zero: &[&[f64]] = &[&[0.0, 0.0], &[0.0, 0.0]];
    let feet = [-2.0, -1.0, 1.0, 2.0];
    let rows: Vec<[f64; 2]> = feet.iter().map(|p| [1.0, *p]).collect();
    let rows: Vec<(&[f64], f64)> = rows.iter().map(|r| (r.as_slice(), 0.0)).collect();
    let s = Problem::new(zero, &[4.0, 2.0], &rows).solve();
    assert_eq!(s.status, Status::Solved);
    close(&s.z, &feet.map(|p| 1.0 + 0.2 * p), 1e-10);
    let s = Problem::new(zero, &[4.0, 7.0], &rows).solve();
    // a + b p over the supports at 1 and 2 and perhaps −1: 4 = Σ z, 7 = Σ p z
    assert!(s.z[0] == 0.0 && (s.z.iter().sum::<f64>() - 4.0).abs() < 1e-10, "{:?}", s.z);
    let moment: f64 = s.z.iter().zip(feet).map(|(z, p)| z * p).sum();
    assert!((moment - 7.0).abs() < 1e-10);
}

#[test]
fn numbers_that_are_none_end_in_giving_up() {
    for bad in [f64::NAN, f64::INFINITY] {
        let mut problem = Problem::new(&[&[1.0]], &[0.0], &[(&[1.0], 0.0)]);
        problem.c[0] = bad;
        assert_eq!(problem.solve().status, Status::GaveUp);
        problem.c[0] = 0.0;
        problem.b[0] = bad;
        assert_eq!(problem.solve().status, Status::GaveUp);
        problem.b[0] = 0.0;
        problem.push(&[bad], 0.0);
        assert_eq!(problem.solve().status, Status::GaveUp);
    }
    // lengths that do not match
    let mut problem = Problem::new(&[&[1.0]], &[0.0], &[(&[1.0], 0.0)]);
    problem.b.push(0.0);
    assert_eq!(problem.solve().status, Status::GaveUp);
}

/// A second solve gives the same bits, and every warm start leads to the same solution.
#[test]
fn answers_do_not_depend_on_the_warm_start() {
    let mut s = Samples::new(11);
    for _ in 0..60 {
        let problem = contact_problem(&mut s, 5, 12, 0.0, 1.0);
        let cold = problem.solve();
        assert_eq!(cold.status, Status::Solved);
        assert_eq!(cold.x, problem.solve().x);
        let m = problem.b.len() as u32;
        let active: Vec<u32> = (0..m).filter(|&i| cold.z[i as usize] > 0.0).collect();
        let random: Vec<u32> = (0..m).filter(|_| s.uniform() < 0.3).collect();
        for warm in [active, random, (0..m).collect(), vec![m + 7]] {
            let again = problem.solve_from(&warm);
            assert_eq!(again.status, Status::Solved);
            close(&again.x, &cold.x, 1e-9);
            close(&again.z, &cold.z, 1e-7);
        }
    }
}

/// Thousands of redundant rows slow a solve down but do not make it fail.
#[test]
fn redundant_rows_do_no_harm() {
    let mut s = Samples::new(12);
    let mut problem = contact_problem(&mut s, 2, 4, 0.0, 1.0);
    let small = problem.solve();
    let (rows, m) = (problem.A.clone(), problem.b.len());
    for k in 0..3000 {
        let (columns, values) = rows.row(k % m);
        problem.A.push(columns, values);
        problem.b.push(problem.b[k % m]);
    }
    let large = problem.solve();
    assert_eq!(large.status, Status::Solved);
    close(&large.x, &small.x, 1e-9);
}
