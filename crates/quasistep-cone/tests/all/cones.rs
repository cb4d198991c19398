//! Cone programs: closed forms, both kinds of cones, warm and cold, compared with the dense solver.

use crate::dense_program::DenseProgram;
use quasistep_cone::{
    Cone, ConeProgram, ConeSolver, Method, Methods, Saturation, Settings, Solution, Status,
    WarmStart,
};

fn solve(program: &ConeProgram, warm: Option<WarmStart<'_>>) -> Solution {
    let mut out = Solution::default();
    ConeSolver::new().solve(program, warm, &Settings::default(), &mut out);
    out
}

/// A block of 2 kg on a floor, with a tangential impulse (fx, fy) and a normal load of 20 N·s.
fn sled(cone: Cone<'_>, k: usize, fx: f64, fy: f64) -> ConeProgram {
    let mut program = ConeProgram::new();
    program.reset([3]);
    for i in 0..3 {
        program.P(0, i)[i] = 2.0;
    }
    program.c(0).copy_from_slice(&[20.0, -fx, -fy]);
    let mut contact = program.push_cone(cone, k, &[0]);
    for r in 0..k {
        contact.J(0, r)[r] = 1.0;
    }
    program
}

#[test]
fn a_round_cone_slides_along_the_push_and_floats() {
    let mu = 0.5;
    for (fx, fy) in [(12.0, 0.0), (7.2, 9.6), (-20.0, 3.0), (0.1, 30.0)] {
        let s = solve(&sled(Cone::Round(&[1.0, mu, mu]), 3, fx, fy), None);
        assert_eq!(s.status, Status::Solved, "{:?}", s.residuals);
        let push = f64::hypot(fx, fy);
        // friction mu z0 balances the load; in the convex relaxation the block lifts by mu times
        // the slip
        let v = (push - mu * 20.0) / (2.0 * (1.0 + mu * mu));
        let expected = [mu * v, v * fx / push, v * fy / push];
        for (x, e) in s.x.iter().zip(expected) {
            assert!((x - e).abs() < 1e-9, "{:?} against {expected:?}", s.x);
        }
        assert!((s.z[0] - f64::hypot(s.z[1], s.z[2])).abs() < 1e-9, "on the cone: {:?}", s.z);
    }
}

#[test]
fn a_round_cone_holds_what_friction_can() {
    let s = solve(&sled(Cone::Round(&[1.0, 0.5, 0.5]), 3, 5.9, -7.9), None);
    assert_eq!(s.status, Status::Solved);
    assert!(s.x.iter().all(|v| v.abs() < 1e-12), "{:?}", s.x);
    assert!((s.z[0] - 20.0).abs() < 1e-9);
}

/// Three supports under a plate without cost, loaded by a torque just below the friction limit. The
/// solution is x = 0. Without any cost only the caller can supply the violation that counts as
/// zero.
#[test]
fn rest_of_what_has_no_mass_is_the_callers_to_judge() {
    let (mu, radius, weight) = (2.0 / 3.0, 1.5, 30.0);
    for share in [0.5, 0.9, 0.99, 0.9997] {
        let mut program = ConeProgram::new();
        program.reset([6]);
        program.c(0).copy_from_slice(&[0.0, 0.0, -share * mu * weight * radius, 0.0, 0.0, weight]);
        for k in 0..3 {
            let (s, c) = (std::f64::consts::TAU / 3.0 * f64::from(k)).sin_cos();
            let (x, y) = (radius * c, radius * s);
            let mut foot = program.push_cone(Cone::Round(&[1.0, mu, mu]), 3, &[0]);
            // rows up, along x, along y: the rate of the support for a rotation about each axis and
            // a translation
            foot.J(0, 0).copy_from_slice(&[y, -x, 0.0, 0.0, 0.0, 1.0]);
            foot.J(0, 1).copy_from_slice(&[0.0, 0.0, -y, 1.0, 0.0, 0.0]);
            foot.J(0, 2).copy_from_slice(&[0.0, 0.0, x, 0.0, 1.0, 0.0]);
        }
        let mut out = Solution::default();
        let settings = Settings { rest: 1e-12, ..Settings::default() };
        ConeSolver::new().solve(&program, None, &settings, &mut out);
        assert_eq!(out.status, Status::Solved, "{share}: {:?}", out.residuals);
        assert!(out.x.iter().all(|v| v.abs() < 1e-12), "{share}: {:?}", out.x);
        let turn: f64 = (0..3)
            .map(|k| {
                let (s, c) = (std::f64::consts::TAU / 3.0 * k as f64).sin_cos();
                mu * radius * (c * out.z[3 * k + 2] - s * out.z[3 * k + 1])
            })
            .sum();
        let torque = share * mu * weight * radius;
        assert!((turn + torque).abs() < 1e-9 * torque, "{share}: {turn} of {torque}");
    }
}

#[test]
fn a_pyramid_gives_way_along_its_edge() {
    let E = [1.0, 0.5, 0.0, 1.0, 0.0, 0.5, 1.0, -0.5, 0.0, 1.0, 0.0, -0.5];
    let s = solve(&sled(Cone::Edges(&E), 3, 12.0, 0.0), None);
    assert_eq!(s.status, Status::Solved);
    let v = (12.0 - 10.0) / (2.0 * 1.25);
    assert!((s.x[0] - 0.5 * v).abs() < 1e-12 && (s.x[1] - v).abs() < 1e-12, "{:?}", s.x);
    assert!((s.z.iter().sum::<f64>() - (20.0 + v)).abs() < 1e-9, "{:?}", s.z);
}

/// A stack of boxes with four corners between neighbours and four edges per corner: many more rows
/// than variables.
fn tower(n: usize, push: f64) -> ConeProgram {
    let (mu, half) = (0.6, 0.05);
    let E = [1.0, mu, 0.0, 1.0, 0.0, mu, 1.0, -mu, 0.0, 1.0, 0.0, -mu];
    let mut program = ConeProgram::new();
    program.reset((0..n).map(|_| 6));
    for b in 0..n {
        let m = 1.0 + b as f64;
        for i in 0..6 {
            program.P(b, i)[i] = if i < 3 { m * half * half } else { m };
        }
        // weight, and a tangential load on the top box
        program.c(b)[5] = 0.1 * m;
        if b + 1 == n {
            program.c(b)[3] = -push;
        }
        for corner in 0..4 {
            let (x, y) = ([half, -half][corner % 2], [half, -half][corner / 2]);
            let sides: Vec<u32> = if b > 0 { vec![b as u32, b as u32 - 1] } else { vec![0] };
            let mut contact = program.push_cone(Cone::Edges(&E), 3, &sides);
            for side in 0..sides.len() {
                let (sign, z) = if side == 0 { (1.0, -half) } else { (-1.0, half) };
                // v + ω × r along z, x, y
                let rows = [
                    [y, -x, 0.0, 0.0, 0.0, 1.0],
                    [0.0, z, -y, 1.0, 0.0, 0.0],
                    [-z, 0.0, x, 0.0, 1.0, 0.0],
                ];
                for (r, row) in rows.iter().enumerate() {
                    for (J, value) in contact.J(side, r).iter_mut().zip(row) {
                        *J = sign * value;
                    }
                }
            }
        }
    }
    program
}

#[test]
fn a_tower_agrees_with_the_dense_solver() {
    for n in [1, 2, 5, 12] {
        for push in [0.0, 0.02, 0.3, 2.0] {
            let program = tower(n, push);
            let ours = solve(&program, None);
            assert_eq!(ours.status, Status::Solved);
            assert_eq!(ours.method, Method::ColdNewton, "{n} boxes, push {push}");
            let theirs = DenseProgram::solve(&program);
            for (a, b) in ours.x.iter().zip(&theirs.x) {
                assert!((a - b).abs() < 1e-9, "{n} boxes, push {push}: {a} against {b}");
            }
            // the smallest-norm impulses are unique
            let size = theirs.z.iter().fold(0.0_f64, |m, z| m.max(*z));
            for (a, b) in ours.z.iter().zip(&theirs.z) {
                assert!((a - b).abs() < 1e-6 * size, "{n} boxes, push {push}: {a} against {b}");
            }
        }
    }
}

#[test]
fn a_warm_start_changes_the_way_and_not_the_answer() {
    let before = solve(&tower(6, 0.3), None);
    let program = tower(6, 0.301);
    let cold = solve(&program, None);
    let warm = solve(&program, Some(WarmStart { z: &before.z, s: &before.s }));
    assert_eq!(warm.method, Method::WarmNewton);
    assert!(warm.iterations < cold.iterations, "{} and {}", warm.iterations, cold.iterations);
    let garbage: Vec<f64> = (0..program.m()).map(|i| f64::from(u8::from(i % 3 == 0))).collect();
    let poor = solve(&program, Some(WarmStart { z: &garbage, s: &garbage }));
    for k in 0..program.n() {
        assert!((warm.x[k] - cold.x[k]).abs() < 1e-10);
        assert!((poor.x[k] - cold.x[k]).abs() < 1e-10);
    }
}

#[test]
fn memory_of_other_programs_changes_nothing() {
    let (mut used, mut out) = (ConeSolver::new(), Solution::default());
    let mut before: Vec<f64> = Vec::new();
    // stacks of varying height, and costs that were used before
    for (k, n) in [5, 1, 3, 12, 2, 5, 4, 1, 5].into_iter().enumerate() {
        let program = tower(n, 0.1 * k as f64);
        let start = vec![1.0; program.m()];
        before.resize(program.m(), 0.5);
        for z in [None, Some(&start), Some(&before)] {
            let warm = z.map(|z| WarmStart { z, s: z });
            used.solve(&program, warm, &Settings::default(), &mut out);
            let fresh = solve(&program, warm);
            assert_eq!((out.status, out.method), (fresh.status, fresh.method));
            assert_eq!((&out.x, &out.z, &out.s), (&fresh.x, &fresh.z, &fresh.s), "program {k}");
        }
        before.clone_from(&out.z);
    }
}

/// Supports of a plate in coinciding places. The active set ends with the smallest-norm
/// multipliers, equal for equal supports, in any unit, from a cold start and from any initial
/// working set.
#[test]
fn feet_in_one_place_share_the_load() {
    let (mu, weight) = (0.5, 12.0);
    let edges = [1.0, mu, 0.0, 1.0, 0.0, mu, 1.0, -mu, 0.0, 1.0, 0.0, -mu];
    // the last two are near the first, but their rows differ
    let feet = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, 1.0), (1.0, -1.0)];
    for unit in [1e-5, 1.0, 1e5] {
        for nudge in [0.0, 1e-3] {
            let mut program = ConeProgram::new();
            program.reset([6]);
            for i in 0..6 {
                program.P(0, i)[i] = if i < 3 { 2.0 } else { 0.3 };
            }
            program.c(0)[0] = weight;
            for (foot, (x, y)) in feet.into_iter().enumerate() {
                let x = if foot > 3 { x + nudge } else { x };
                let mut contact = program.push_cone(Cone::Edges(&edges), 3, &[0]);
                // normal and two tangents of the point (x, y, 0) under the plate
                for (row, values) in [
                    [1.0, 0.0, 0.0, y, -x, 0.0],
                    [0.0, 1.0, 0.0, 0.0, 0.0, -y],
                    [0.0, 0.0, 1.0, 0.0, 0.0, x],
                ]
                .into_iter()
                .enumerate()
                {
                    for (to, value) in contact.J(0, row).iter_mut().zip(values) {
                        *to = unit * value;
                    }
                }
            }
            let cold = solve(&program, None);
            assert_eq!(cold.status, Status::Solved);
            assert!(cold.dual_is_smallest_norm);
            assert!(cold.x.iter().all(|v| v.abs() < 1e-12), "at rest: {:?}", cold.x);
            let size = weight / unit;
            // stationarity and smallest norm: z is in the range of A, so that no other z with the
            // same forces is as small
            let reference = DenseProgram::solve(&program);
            for (z, other) in cold.z.iter().zip(&reference.z) {
                assert!((z - other).abs() < 1e-9 * size, "{z} against {other} of {size}");
            }
            if nudge == 0.0 {
                for row in 0..8 {
                    let (one, other) = (cold.z[row], cold.z[16 + row]);
                    assert!((one - other).abs() < 1e-12 * size, "like feet: {one} and {other}");
                }
            }
            let one_row: Vec<f64> = (0..program.m()).map(|i| f64::from(u8::from(i == 3))).collect();
            for z in [&cold.z, &vec![1.0; program.m()], &one_row] {
                let warm = solve(&program, Some(WarmStart { z, s: z }));
                assert_eq!(warm.status, Status::Solved);
                for (a, b) in warm.z.iter().zip(&cold.z) {
                    assert!((a - b).abs() < 1e-12 * size, "{a} against {b}");
                }
            }
        }
    }
}

#[test]
fn a_limited_spring_lets_go() {
    // a spring of 100 N·s/m to a target 1 m away with limit 3 N·s: the block stops where forces
    // balance
    let mut program = ConeProgram::new();
    program.reset([1]);
    program.P(0, 0)[0] = 1.0;
    program.push_saturation(Saturation { index: 0, stiffness: 100.0, target: 10.0, limit: 3.0 });
    let s = solve(&program, None);
    assert_eq!((s.status, s.saturated[0]), (Status::Solved, -1));
    assert_eq!(s.method, Method::ColdNewton);
    assert!((s.x[0] - 3.0).abs() < 1e-12, "{:?}", s.x);
}

#[test]
fn what_rests_but_for_rounding_is_balanced_also_where_nothing_pushes() {
    // cones act on the first five variables; the sixth has no linear cost, and its terms are
    // rounding
    #[rustfmt::skip]
    let P = [
        28.0, 23.0, 2.0, -5.0, -17.0, -4.0,
        23.0, 35.0, 12.0, 7.0, -2.0, -8.0,
        2.0, 12.0, 14.0, -2.0, 9.0, 1.0,
        -5.0, 7.0, -2.0, 28.0, 2.0, -14.0,
        -17.0, -2.0, 9.0, 2.0, 32.0, 11.0,
        -4.0, -8.0, 1.0, -14.0, 11.0, 14.0,
    ];
    let push = 0.065_807_681_799_740_72;
    let mut program = ConeProgram::new();
    program.reset([6]);
    for i in 0..6 {
        program.P(0, i).copy_from_slice(&P[6 * i..6 * (i + 1)]);
    }
    program.c(0).copy_from_slice(&[push, -2.0 * push, -2.0 * push, push, 0.0, 0.0]);
    for row in [[-1.0, 0.0, 0.0, -2.0, 0.0, 0.0], [1.0, -2.0, -2.0, 1.0, 0.0, 0.0]] {
        program.push_cone(Cone::Edges(&[1.0]), 1, &[0]).J(0, 0).copy_from_slice(&row);
    }
    let mut cone = program.push_cone(Cone::Edges(&[1.0, 1e-3, 1.0, -1e-3]), 2, &[0]);
    cone.J(0, 0).copy_from_slice(&[-1.0, 2.0, 1.0, 0.0, 0.0, 0.0]);
    cone.J(0, 1).copy_from_slice(&[1.0, 0.0, 0.0, -1.0, -1.0, 0.0]);
    let s = solve(&program, None);
    assert_eq!(s.status, Status::Solved);
    assert!(s.x.iter().all(|x| x.abs() < 1e-15), "{:?}", s.x);
}

/// Each engine works alone in a new solver: none needs memory that only another one prepares.
#[test]
fn engines_work_alone_in_a_new_solver() {
    let edges = [1.0, 0.5, 0.0, 1.0, 0.0, 0.5, 1.0, -0.5, 0.0, 1.0, 0.0, -0.5];
    let mut solved = 0;
    for cone in [Cone::Edges(&edges), Cone::Round(&[1.0, 0.5, 0.5])] {
        let program = sled(cone, 3, 5.9, -7.9);
        let all = solve(&program, None);
        for (name, methods) in Methods::EACH {
            let settings = Settings { methods, ..Settings::default() };
            let mut out = Solution::default();
            ConeSolver::new().solve(&program, None, &settings, &mut out);
            if out.status == Status::Solved {
                solved += 1;
                for (x, other) in out.x.iter().zip(&all.x) {
                    assert!((x - other).abs() < 1e-9, "{name}: {:?}, {:?}", out.x, all.x);
                }
            }
        }
    }
    // proofs have no solution
    assert_eq!(solved, 8);
}
