//! Every sample ends with a status that is verified from the sample's own data.

use crate::common::Samples;
use crate::common::hard::{Recipe, Sample, hard_problem, prove};
use quasistep_qp::{QpSolver, Reason, Settings, Solution, Status};

/// Solves `count` samples and verifies each outcome. Returns how many were solved, unbounded and
/// infeasible, and how many solutions had smallest-norm multipliers.
fn verdicts(seed: u64, count: usize, recipe: &Recipe) -> [usize; 4] {
    let mut s = Samples::new(seed);
    let mut seen = [0; 4];
    // one solver for all samples: a solution must not depend on earlier solves
    let mut solver = QpSolver::new();
    let mut out = Solution::default();
    for k in 0..count {
        let Sample { problem, planted, unit } = hard_problem(&mut s, recipe);
        solver.solve(&problem.qp(), &[], &Settings::default(), &mut out);
        if let Err(why) = prove(&problem, &unit, &out) {
            panic!("sample {k} of {recipe:?} is {:?}: {why}", out.status);
        }
        let again = problem.solve();
        assert_eq!((out.status, &out.x, &out.z), (again.status, &again.x, &again.z), "sample {k}");
        seen[match out.status {
            Status::Solved => 0,
            Status::Unbounded => 1,
            _ => 2,
        }] += 1;
        seen[3] += usize::from(out.dual_is_smallest_norm);
        if let Some(x0) = planted {
            assert_eq!(out.status, Status::Solved, "sample {k} of {recipe:?}");
            let (ours, best) = (problem.qp().cost(&out.x), problem.qp().cost(&x0));
            let terms: f64 = x0.iter().zip(&problem.c).map(|(x, c)| (x * c).abs()).sum();
            assert!((ours - best).abs() <= 1e-9 * (1.0 + terms), "sample {k}: {ours} not {best}");
        }
    }
    seen
}

/// For any limit of work, the solve ends with a valid solution or with `Reason::Work`. An
/// interrupted solve does not affect later ones.
#[test]
fn a_limit_of_work_is_kept() {
    let mut s = Samples::new(11);
    let (mut solver, mut stopped) = (QpSolver::new(), 0);
    let (mut out, mut again) = (Solution::default(), Solution::default());
    for k in 0..300 {
        let recipe = Recipe { n: 20, flat: [0.0, 0.5, 1.0][k % 3], decades: 3.0, ..PLAIN };
        let Sample { problem, unit, .. } =
            hard_problem(&mut s, &Recipe { planted: k % 2 == 0, ..recipe });
        let mut solve = |work_limit: u64, out: &mut Solution| {
            let settings = Settings { work_limit, ..Settings::default() };
            solver.solve(&problem.qp(), &[], &settings, out);
            assert!(out.work <= work_limit);
        };
        solve(u64::MAX, &mut out);
        let needed = out.work;
        assert!(needed > 0, "sample {k}");
        for limit in [0, needed / 3, needed.saturating_sub(1), needed] {
            solve(limit, &mut again);
            if again.status == Status::GaveUp {
                let spent = again.reason == Some(Reason::Work) && limit < needed;
                assert!(spent || out.status == Status::GaveUp, "sample {k}: {:?}", again.reason);
                stopped += usize::from(spent);
            } else {
                prove(&problem, &unit, &again).unwrap_or_else(|why| panic!("sample {k}: {why}"));
            }
        }
        solve(u64::MAX, &mut again);
        assert_eq!((again.status, &again.x, &again.z), (out.status, &out.x, &out.z));
        assert_eq!(again.work, needed, "sample {k}");
    }
    assert!(stopped > 300, "{stopped}");
}

const PLAIN: Recipe = Recipe { n: 12, decades: 0.0, flat: 0.0, planted: true, springs: 0.0 };

#[test]
fn planted_optima_are_found() {
    // degenerate vertices, duplicates, redundant rows, slots and wedges, singular costs
    for (seed, n) in [(1, 5), (2, 12), (3, 30)] {
        let [solved, _, _, smallest] = verdicts(seed, 400, &Recipe { n, ..PLAIN });
        assert_eq!((solved, smallest), (400, 400));
    }
}

#[test]
fn planted_optima_of_massless_variables_are_found() {
    for (seed, flat) in [(4, 0.3), (5, 1.0)] {
        let [solved, _, _, smallest] = verdicts(seed, 400, &Recipe { flat, n: 20, ..PLAIN });
        assert_eq!(solved, 400);
        assert!(smallest >= 396, "{smallest}");
    }
}

#[test]
fn unbounded_and_infeasible_problems_are_proven() {
    for (seed, n, flat) in [(6, 5, 0.5), (7, 12, 0.3), (8, 30, 0.3), (9, 12, 1.0)] {
        let recipe = Recipe { n, flat, planted: false, ..PLAIN };
        let [solved, unbounded, infeasible, _] = verdicts(seed, 400, &recipe);
        assert!(solved >= 10 && unbounded >= 50 && infeasible >= 50, "{recipe:?}");
    }
}

#[test]
fn springs_with_limits_keep_every_promise() {
    let recipe = Recipe { n: 8, flat: 0.3, springs: 0.5, ..PLAIN };
    assert_eq!(verdicts(10, 400, &recipe)[0], 400);
    let [solved, unbounded, infeasible, _] =
        verdicts(11, 400, &Recipe { planted: false, ..recipe });
    assert!(solved >= 50 && unbounded >= 20 && infeasible >= 50);
}

/// Units of variables and weights of rows that differ by up to a factor of a million.
#[test]
fn units_do_not_matter() {
    for (seed, decades) in [(12, 1.0), (13, 2.0), (14, 3.0)] {
        let recipe = Recipe { decades, flat: 0.3, ..PLAIN };
        assert_eq!(verdicts(seed, 300, &recipe)[0], 300);
    }
}

/// Any initial working set leads to the same solution.
#[test]
fn warm_starts_change_nothing_but_time() {
    let mut s = Samples::new(15);
    let mut compared = 0;
    for k in 0..400 {
        let Sample { mut problem, unit, .. } = hard_problem(&mut s, &PLAIN);
        let (n, m) = (problem.n, problem.b.len() as u32);
        for i in 0..n {
            // positive definite, so that x is unique
            problem.P[i * n + i] += 0.01;
        }
        let cold = problem.solve();
        assert_eq!(cold.status, Status::Solved, "sample {k}");
        assert!(cold.dual_is_smallest_norm, "sample {k}");
        let random: Vec<u32> = (0..m).filter(|_| s.uniform() < 0.4).collect();
        let backwards: Vec<u32> = (0..m).rev().collect();
        for warm in [cold.working.clone(), random, backwards, vec![m, m + 1, u32::MAX]] {
            let again = problem.solve_from(&warm);
            assert_eq!(again.status, Status::Solved, "sample {k} from {warm:?}");
            for (a, b) in cold.x.iter().zip(&again.x) {
                assert!((a - b).abs() <= 1e-10, "sample {k}: x {a} or {b}");
            }
            for (a, b) in cold.z.iter().zip(&again.z) {
                assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "sample {k}: z {a} or {b}");
            }
            compared += unit.len();
        }
    }
    assert!(compared > 4000);
}
