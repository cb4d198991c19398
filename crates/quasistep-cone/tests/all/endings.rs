//! Programs without a solution, and similar programs that have one.

use crate::common::{Cones, Samples, contact_problem};
use quasistep_cone::{Cone, ConeProgram, ConeSolver, Reason, Settings, Solution, Status};
use quasistep_qp::{Qp, QpSolver, Rows};

fn solve(program: &ConeProgram) -> Solution {
    let mut out = Solution::default();
    ConeSolver::new().solve(program, None, &Settings::default(), &mut out);
    out
}

/// Adds `rowᵀ x ≥ b` on one block.
fn push_row(program: &mut ConeProgram, round: bool, block: u32, row: &[f64], b: f64) {
    let kind = if round { Cone::Round(&[1.0]) } else { Cone::Edges(&[1.0]) };
    let mut to = program.push_cone(kind, 1, &[block]);
    to.J(0, 0).copy_from_slice(row);
    to.b()[0] = b;
}

#[test]
fn ends_without_an_answer_are_proven() {
    // a linear cost without curvature and without rows
    let mut program = ConeProgram::new();
    program.reset([1, 1]);
    program.P(0, 0)[0] = 1.0;
    program.c(1)[0] = 1.0;
    let s = solve(&program);
    assert_eq!(s.status, Status::Unbounded);
    assert!(s.ray[1] < 0.0 && s.ray[0] == 0.0);
    // x ≥ 1 and x ≤ 0
    let mut program = ConeProgram::new();
    program.reset([1]);
    program.P(0, 0)[0] = 1.0;
    push_row(&mut program, false, 0, &[1.0], 1.0);
    push_row(&mut program, false, 0, &[-1.0], 0.0);
    let s = solve(&program);
    assert_eq!(s.status, Status::Infeasible);
    assert!(s.certificate.iter().all(|y| *y > 0.0));
    // an empty program, and NaN or infinite data
    assert_eq!(solve(&ConeProgram::new()).status, Status::Solved);
    let mut program = ConeProgram::new();
    program.reset([1, 2]);
    push_row(&mut program, false, 1, &[1.0, 0.0], 0.0);
    program.c(1)[1] = f64::NAN;
    let s = solve(&program);
    assert_eq!((s.status, s.reason), (Status::GaveUp, Some(Reason::NotFinite)));
}

/// No curvature acts on `x[0]`. Its residual must not count as small relative to the multiplier of
/// a row in other units.
#[test]
fn a_force_on_one_variable_is_not_measured_by_those_on_others() {
    for a in [1e-12, 1e-9, 1e-6, 1.0, 1e9] {
        let mut rows = Rows::new();
        rows.push(&[1], &[a]);
        let qp = Qp { n: 2, P: &[0.0; 4], c: &[1.0, 1.5], A: &rows, b: &[0.23], saturations: &[] };
        let mut out = Solution::default();
        QpSolver::new().solve(&qp, &[], &Settings::default(), &mut out);
        assert_eq!(out.status, Status::Unbounded, "{a:e}: {:?}", out.residuals);
        assert_eq!(out.ray, [-1.0, 0.0], "{a:e}");
        let mut program = ConeProgram::new();
        program.reset([2]);
        program.c(0).copy_from_slice(&[1.0, 1.5]);
        push_row(&mut program, false, 0, &[0.0, a], 0.23);
        let s = solve(&program);
        assert_eq!(s.status, Status::Unbounded, "{a:e}: {:?}", s.residuals);
        assert!(s.ray[0] == -1.0 && s.ray[1] * a >= 0.0 && s.ray[1] * 1.5 < 1.0, "{:?}", s.ray);
    }
}

#[test]
fn an_answer_far_away_is_no_ray() {
    // the cost decreases along x until a row moves y
    for round in [false, true] {
        for slope in [1e-7, 8.9e-9, 2e-9] {
            let mut program = ConeProgram::new();
            program.reset([2]);
            program.c(0)[0] = -1.0;
            push_row(&mut program, round, 0, &[1.0, 0.0], 0.0);
            push_row(&mut program, round, 0, &[0.0, 1.0], 0.0);
            push_row(&mut program, round, 0, &[-slope, -1.0], -1.0);
            let s = solve(&program);
            assert_eq!(s.status, Status::Solved, "round: {round}, slope {slope:e}");
            let far = s.x[0] * slope;
            assert!((far - 1.0).abs() < 1e-8, "round: {round}, slope {slope:e}: {far}");
        }
    }
}

#[test]
fn a_cost_in_small_units_is_a_cost() {
    // the second of the two variables has a unit of its own and no cone; another block may be
    // unbounded
    for round in [false, true] {
        for unit in [1.0, 1e-9, 2.5e-10, 1e-12] {
            for falls in [false, true] {
                let mut program = ConeProgram::new();
                program.reset([2, 1]);
                program.P(0, 0).copy_from_slice(&[1.0, 0.5 / unit]);
                program.P(0, 1).copy_from_slice(&[0.5 / unit, (unit * unit).recip()]);
                program.c(0)[0] = -1.0;
                program.c(1)[0] = if falls { 1e-3 } else { 0.0 };
                push_row(&mut program, round, 0, &[1.0, 0.0], 0.0);
                let s = solve(&program);
                let which = format!("round: {round}, unit {unit:e}, falls: {falls}");
                if falls {
                    assert_eq!(s.status, Status::Unbounded, "{which}");
                    assert_eq!(s.ray, [0.0, 0.0, -1.0], "{which}");
                } else {
                    assert_eq!(s.status, Status::Solved, "{which}");
                    let expected = [4.0 / 3.0, -2.0 / 3.0 * unit, 0.0];
                    for ((x, to), unit) in s.x.iter().zip(expected).zip([1.0, unit, 1.0]) {
                        assert!((x - to).abs() < 1e-12 * unit, "{which}: {:?}", s.x);
                    }
                }
            }
        }
    }
}

#[test]
fn edges_that_cancel_contradict_nothing() {
    // both edges are on the same side of the offset: multipliers that cancel in `E J` carry no
    // force
    for edge in [-0.931_037_079_957_012_9, -0.3, -7.0] {
        let mut program = ConeProgram::new();
        program.reset([2]);
        program.c(0).copy_from_slice(&[0.0, 1.0]);
        let mut cone = program.push_cone(Cone::Edges(&[0.133_874_098_257_321_22, edge]), 1, &[0]);
        cone.J(0, 0)[0] = 0.7;
        cone.b()[0] = 1.679_995_335_894_639_1;
        let s = solve(&program);
        // without a floor the cost is still unbounded
        assert_eq!(s.status, Status::Unbounded, "{edge}: {:?}", s.certificate);
    }
}

#[test]
fn blocks_without_variables_are_in_nobodys_way() {
    for dims in [vec![0], vec![0, 0], vec![0, 2], vec![2, 0], vec![2, 0, 3]] {
        for round in [false, true] {
            let program = |mass: f64, weight: f64, floor: bool| {
                let mut program = ConeProgram::new();
                program.reset(dims.iter().copied());
                for (k, dim) in dims.iter().enumerate() {
                    for i in 0..*dim {
                        program.P(k, i)[i] = mass;
                        program.c(k)[i] = weight;
                    }
                    if floor && *dim > 0 {
                        push_row(&mut program, round, k as u32, &vec![1.0; *dim], 0.0);
                    }
                }
                program
            };
            let s = solve(&program(2.0, 1.0, false));
            assert_eq!(s.status, Status::Solved, "{dims:?}");
            assert!(s.x.iter().all(|x| *x == -0.5), "{dims:?}: {:?}", s.x);
            let s = solve(&program(1.0, 1.0, true));
            assert_eq!(s.status, Status::Solved, "{dims:?}");
            assert!(s.x.iter().all(|x| x.abs() < 1e-12), "{dims:?}: {:?}", s.x);
            let s = solve(&program(0.0, 1.0, false));
            let some = dims.iter().any(|dim| *dim > 0);
            assert_eq!(s.status == Status::Unbounded, some, "{dims:?}: {:?}", s.status);
        }
    }
}

/// One row connects two thousand blocks, and the list of updates of a factorisation would take
/// gigabytes. The factorisation exceeds the limit of work and is not started.
#[test]
fn factors_beyond_the_limit_of_work_are_not_begun() {
    let all: Vec<u32> = (0..2000).collect();
    let mut program = ConeProgram::new();
    program.reset(all.iter().map(|_| 1));
    let mut row = program.push_cone(Cone::Edges(&[1.0]), 1, &all);
    (0..all.len()).for_each(|side| row.J(side, 0)[0] = 1.0);
    let s = solve(&program);
    assert_eq!((s.status, s.reason), (Status::GaveUp, Some(Reason::Work)));
    assert_eq!(s.work, Settings::default().work_limit);
}

/// For any limit of work, the solve ends as without one or with `Reason::Work`. An interrupted solve
/// does not affect later ones.
#[test]
fn a_limit_of_work_is_kept() {
    let mut s = Samples::new(11);
    let (mut solver, mut stopped) = (ConeSolver::new(), 0);
    let (mut out, mut again) = (Solution::default(), Solution::default());
    for k in 0..300 {
        let massless = [0.0, 0.5, 1.0][k % 3];
        let program = contact_problem(&mut s, 1 + k % 4, 2 + k % 9, massless, 1.0).cone_program();
        let mut solve = |work_limit: u64, out: &mut Solution| {
            let settings = Settings { work_limit, ..Settings::default() };
            solver.solve(&program, None, &settings, out);
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
            }
        }
        solve(u64::MAX, &mut again);
        assert_eq!((again.status, &again.x, &again.z), (out.status, &out.x, &out.z));
        assert_eq!(again.work, needed, "sample {k}");
    }
    assert!(stopped > 300, "{stopped}");
}
