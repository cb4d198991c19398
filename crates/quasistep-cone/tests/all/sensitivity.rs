//! Derivatives compared with central differences and with their transposes; kinks; the relaxed
//! program.

use crate::common::Samples;
use crate::common::patches::{Patches, dot, each_entry, room};
use quasistep_cone::{
    Barrier, Cone, ConeProgram, ConeSolver, Relaxed, RelaxedStart, Saturation, Sensitivity,
    SensitivityError, Settings, Solution, Status,
};

fn convex(kappa: f64) -> Barrier {
    Barrier { kappa, coulomb: false }
}

fn solve(program: &ConeProgram) -> Solution {
    let mut out = Solution::default();
    ConeSolver::new().solve(program, None, &Settings::default(), &mut out);
    out
}

/// Derivative of the program's data along a random direction, by central differences with
/// negligible rounding.
fn change(at: &Patches, seed: u64) -> ConeProgram {
    let mut change = ConeProgram::new();
    change.set_zero_like(&at.program());
    for (h, weight) in [(1e-3, 8.0), (2e-3, -1.0)] {
        let (plus, minus) = (at.moved(seed, h).program(), at.moved(seed, -h).program());
        each_entry(&mut change, [&plus, &minus], |t, a, b| *t += weight * (a - b) / (12.0 * 1e-3));
    }
    change
}

/// `Jᵀ Eᵀ z`.
fn forces(p: &ConeProgram, z: &[f64]) -> Vec<f64> {
    let mut first = vec![0; p.n_blocks() + 1];
    for b in 0..p.n_blocks() {
        first[b + 1] = first[b] + p.c_of(b).len();
    }
    let mut out = vec![0.0; p.n()];
    for cone in 0..p.n_cones() {
        let rows = p.rows_of(cone);
        for r in 0..p.b_of(cone).len() {
            let f: f64 = rows.clone().enumerate().map(|(j, i)| p.E_entry(cone, j, r) * z[i]).sum();
            for (side, b) in p.blocks_of(cone).enumerate() {
                for (to, J) in out[first[b]..].iter_mut().zip(p.J_row(cone, side, r)) {
                    *to += f * J;
                }
            }
        }
    }
    out
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m, v| m.max(v.abs()))
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

/// Fourth-order central difference `[8 (f(h) − f(−h)) − (f(2h) − f(−2h))] / 12h` of each vector.
fn differences(mut f: impl FnMut(f64) -> Option<[Vec<f64>; 3]>, h: f64) -> Option<[Vec<f64>; 3]> {
    let [a, b, c, d] = [f(h)?, f(-h)?, f(2.0 * h)?, f(-2.0 * h)?];
    Some(std::array::from_fn(|k| {
        let entry = |i: usize| (8.0 * (a[k][i] - b[k][i]) - (c[k][i] - d[k][i])) / (12.0 * h);
        (0..a[k].len()).map(entry).collect()
    }))
}

/// Smallest-norm `z` with the same forces, for pyramids: its projection on the span of the columns
/// of `E J`, restricted to rows with positive multipliers. The solver's own `z` agrees to 1e-9 of
/// its size, which differences over 2e-4 amplify to 1e-5.
fn smallest(p: &ConeProgram, z: &[f64]) -> Vec<f64> {
    let pushes: Vec<bool> = z.iter().map(|z| *z > 1e-9).collect();
    let mut first = vec![0; p.n_blocks() + 1];
    for b in 0..p.n_blocks() {
        first[b + 1] = first[b] + p.c_of(b).len();
    }
    let mut columns = vec![vec![0.0; p.m()]; p.n()];
    for cone in 0..p.n_cones() {
        for (j, i) in p.rows_of(cone).enumerate().filter(|(_, i)| pushes[*i]) {
            for r in 0..p.b_of(cone).len() {
                for (side, b) in p.blocks_of(cone).enumerate() {
                    for (k, J) in p.J_row(cone, side, r).iter().enumerate() {
                        columns[first[b] + k][i] += p.E_entry(cone, j, r) * J;
                    }
                }
            }
        }
    }
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for mut column in columns {
        let size = sum(&column, &column).sqrt();
        // twice is enough
        for _ in 0..2 {
            for q in &basis {
                let part = sum(q, &column);
                column.iter_mut().zip(q).for_each(|(c, q)| *c -= part * q);
            }
        }
        let left = sum(&column, &column).sqrt();
        if left > 1e-9 * size {
            basis.push(column.iter().map(|c| c / left).collect());
        }
    }
    let mut out = vec![0.0; p.m()];
    for q in &basis {
        let part = sum(q, z);
        out.iter_mut().zip(q).for_each(|(o, q)| *o += part * q);
    }
    out
}

/// Bit pattern of the entries of `z` and `s` that are zero.
fn pattern(p: &ConeProgram, s: &Solution) -> Vec<u8> {
    let mut out: Vec<u8> = s.saturated.iter().map(|s| *s as u8).collect();
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    for cone in 0..p.n_cones() {
        let rows = p.rows_of(cone);
        if rows.len() == 3 {
            let (z, s) = (&s.z[rows.clone()], &s.s[rows]);
            out.push(u8::from(z[0] > 1e-7) + 2 * u8::from(norm(s) > 1e-7));
        } else {
            out.extend(rows.map(|i| u8::from(s.z[i] > 1e-9)));
        }
    }
    out
}

#[test]
fn exact_derivatives_are_those_of_central_differences() {
    for round in [false, true] {
        let (mut smooth, mut sliding, mut worst) = (0, 0, [0.0_f64; 3]);
        let mut sensitivity = Sensitivity::new();
        for seed in 0..150 {
            let at = Patches::sample(&mut Samples::new(seed), round);
            let p = at.program();
            let answer = solve(&p);
            if answer.status != Status::Solved {
                continue;
            }
            let Ok(kinks) = sensitivity.exact(&p, &answer) else { panic!("{seed}") };
            if kinks.any() || !answer.dual_is_smallest_norm {
                continue;
            }
            let here = pattern(&p, &answer);
            let of = |h: f64| {
                let p = at.moved(seed + 1, h).program();
                let s = solve(&p);
                let f = forces(&p, &s.z);
                let z = if round { s.z.clone() } else { smallest(&p, &s.z) };
                (pattern(&p, &s) == here).then_some([s.x, f, z])
            };
            let Some(by_differences) = differences(of, 2e-4) else { continue };
            let change = change(&at, seed + 1);
            let (mut dx, mut dz) = (vec![0.0; p.n()], vec![0.0; p.m()]);
            let left = sensitivity.forward(&change, &mut dx, &mut dz).unwrap();
            assert!(left < 1e-9, "{seed}: rows apart by {left:e}");
            // d(Jᵀ Eᵀ z) includes the change of the data
            let mut df = forces(&p, &dz);
            let h = 1e-5;
            let [plus, minus] =
                [h, -h].map(|h| forces(&at.moved(seed + 1, h).program(), &answer.z));
            for (df, (a, b)) in df.iter_mut().zip(plus.iter().zip(&minus)) {
                *df += (a - b) / (2.0 * h);
            }
            for (k, ours) in [dx, df, dz].iter().enumerate() {
                let error = apart(ours, &by_differences[k]) / largest(ours).max(1e-2);
                worst[k] = worst[k].max(error);
            }
            smooth += 1;
            sliding += usize::from(here.contains(&3));
        }
        assert!(smooth >= 80 && (sliding >= 20 || !round), "{smooth}, {sliding}");
        assert!(worst.iter().all(|worst| *worst < 1e-6), "{worst:?}");
    }
}

/// Changes every entry of the data separately, whether or not rows stay dependent.
#[test]
fn adjoints_are_transposes() {
    let mut sensitivity = Sensitivity::new();
    let mut relaxed = Relaxed::default();
    let mut relaxed_too = [0; 2];
    for seed in 0..60 {
        let at = Patches::sample(&mut Samples::new(seed), seed % 2 == 1);
        let p = at.program();
        let answer = solve(&p);
        if answer.status != Status::Solved {
            continue;
        }
        for law in [None, Some(false), Some(true)] {
            if let Some(coulomb) = law {
                let barrier = Barrier { kappa: 1e-3, coulomb };
                let start = Some(RelaxedStart::of(&answer));
                if let Err(why) = sensitivity.smooth(&p, barrier, start, &mut relaxed) {
                    assert!(why == SensitivityError::NotInside && room(&p) < 1e-12, "{seed}");
                    continue;
                }
                relaxed_too[usize::from(coulomb)] += 1;
            } else {
                sensitivity.exact(&p, &answer).unwrap();
            }
            let mut s = Samples::new(seed + 1000);
            let mut change = ConeProgram::new();
            change.set_zero_like(&p);
            let zeros = change.clone();
            each_entry(&mut change, [&p, &zeros], |t, at, _| {
                *t = if at == 0.0 { 0.0 } else { s.signed() };
            });
            // a change of P is symmetric
            for block in 0..p.n_blocks() {
                for i in 0..p.c_of(block).len() {
                    for j in 0..i {
                        change.P(block, i)[j] = change.P_row(block, j)[i];
                    }
                }
            }
            let xbar: Vec<f64> = (0..p.n()).map(|_| s.signed()).collect();
            let zbar: Vec<f64> = (0..p.m()).map(|_| s.signed()).collect();
            let (mut dx, mut dz) = (vec![0.0; p.n()], vec![0.0; p.m()]);
            let left = sensitivity.forward(&change, &mut dx, &mut dz).unwrap();
            let mut gradient = ConeProgram::new();
            sensitivity.adjoint(&xbar, &zbar, &mut gradient).unwrap();
            let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let (one, other) = (sum(&xbar, &dx) + sum(&zbar, &dz), dot(&gradient, &change));
            let terms = largest(&dx).max(largest(&dz)).max(1.0);
            // the largest response to a change of size 1 is the condition number of the system,
            // which amplifies rounding; the residual of least squares adds to it (Golub and Van
            // Loan, Matrix Computations, 5.3.7)
            let size = (p.n() + p.m()) as f64 * terms * terms * (1.0 + left);
            let error = (one - other).abs() / size;
            assert!(error < 1e-13, "{seed} {law:?}: {one} and {other}, {error:e}");
        }
    }
    assert!(relaxed_too.iter().all(|count| *count >= 30), "{relaxed_too:?}");
}

#[test]
fn smooth_derivatives_are_those_of_central_differences() {
    let mut sensitivity = Sensitivity::new();
    let (mut out, mut near) = (Relaxed::default(), Relaxed::default());
    let mut counts = [0; 2];
    for seed in 0..60 {
        let at = Patches::sample(&mut Samples::new(seed), seed % 2 == 1);
        let p = at.program();
        let answer = solve(&p);
        if answer.status != Status::Solved {
            continue;
        }
        for (kappa, coulomb) in [1.0, 1e-1, 1e-2].into_iter().flat_map(|k| [(k, false), (k, true)])
        {
            let barrier = Barrier { kappa, coulomb };
            let kinks =
                match sensitivity.smooth(&p, barrier, Some(RelaxedStart::of(&answer)), &mut out) {
                    Ok(kinks) => kinks,
                    Err(why) => {
                        assert!(why == SensitivityError::NotInside && room(&p) < 1e-12, "{seed}");
                        continue;
                    }
                };
            assert!(out.error < 1e-12 && !kinks.any(), "{seed}: {:e}", out.error);
            let mut other = Sensitivity::new();
            let of = |h: f64| {
                let p = at.moved(seed + 1, h).program();
                other.smooth(&p, barrier, Some(RelaxedStart::of(&answer)), &mut near).ok()?;
                Some([near.x.clone(), near.z.clone(), near.s.clone()])
            };
            let h = (kappa * 1e-2).clamp(1e-6, 2e-4);
            let Some(by_differences) = differences(of, h) else { continue };
            let change = change(&at, seed + 1);
            let (mut dx, mut dz) = (vec![0.0; p.n()], vec![0.0; p.m()]);
            sensitivity.forward(&change, &mut dx, &mut dz).unwrap();
            // if a Huber term reaches or leaves its limit between the points, the differences are
            // invalid
            let limited = |x: &[f64]| -> Vec<bool> {
                let at =
                    |s: &Saturation| s.stiffness * (x[s.index as usize] - s.target).abs() > s.limit;
                p.saturations().iter().map(at).collect()
            };
            if limited(&out.x) != limited(&near.x) {
                continue;
            }
            for (k, ours) in [dx, dz].iter().enumerate() {
                let error = apart(ours, &by_differences[k]) / largest(ours).max(1e-2);
                assert!(error < 1e-6, "{seed} {barrier:?} {k}: {error:e}");
            }
            counts[usize::from(coulomb)] += 1;
        }
    }
    assert!(counts.iter().all(|count| *count >= 60), "{counts:?}");
}

/// The relaxed solution satisfies the error bound of the duality gap, and tends to the exact one.
#[test]
fn smooth_tends_to_exact_within_the_bound() {
    let mut sensitivity = Sensitivity::new();
    let mut out = Relaxed::default();
    let (mut followed, mut bounded) = (0, 0);
    for seed in 0..60 {
        let at = Patches::sample(&mut Samples::new(seed), seed % 2 == 1);
        let p = at.program();
        let answer = solve(&p);
        if answer.status != Status::Solved {
            continue;
        }
        for kappa in [10.0, 1e-1, 1e-3, 1e-5, 1e-7] {
            if let Err(why) =
                sensitivity.smooth(&p, convex(kappa), Some(RelaxedStart::of(&answer)), &mut out)
            {
                // slack and force of a round cone are then within 1e-7 of its boundary, which
                // leaves no digits for 1e-12
                let rounding = seed % 2 == 1 && kappa < 1e-6;
                let none = why == SensitivityError::NotInside && (rounding || room(&p) < 1e-12);
                assert!(none, "{seed} {kappa}");
                continue;
            }
            bounded += 1;
            let d: Vec<f64> = out.x.iter().zip(&answer.x).map(|(a, b)| a - b).collect();
            let (mut size, mut first) = (0.0, 0);
            for block in 0..p.n_blocks() {
                let dim = p.c_of(block).len();
                for i in 0..dim {
                    for j in 0..dim {
                        size += d[first + i] * p.P_row(block, i)[j] * d[first + j];
                    }
                }
                first += dim;
            }
            // the bound is an equality for one cone at its apex, up to the rounding of x
            assert!(size <= 1.00001 * kappa * p.n_cones() as f64, "{seed} {kappa}: {size}");
            for cone in 0..p.n_cones() {
                let product: f64 = p.rows_of(cone).map(|i| out.z[i] * out.s[i]).sum();
                // cancellation for round cones
                assert!((product / kappa - 1.0).abs() < 1e-6, "{seed} {kappa}: {product}");
            }
        }
        // the derivative tends to the exact one too, away from kinks
        let change = change(&at, seed + 1);
        let (mut dx, mut dz) = (vec![0.0; p.n()], vec![0.0; p.m()]);
        if sensitivity.forward(&change, &mut dx, &mut dz).is_err() {
            continue;
        }
        let relaxed = dx.clone();
        if !sensitivity.exact(&p, &answer).unwrap().any() {
            sensitivity.forward(&change, &mut dx, &mut dz).unwrap();
            let error = apart(&dx, &relaxed) / largest(&dx).max(1e-2);
            followed += usize::from(error < 1e-3);
        }
    }
    assert!(followed >= 15 && bounded >= 120, "{followed}, {bounded}");
}

/// One contact with two edges, each with a log barrier of weight 1/100, computed independently with
/// numpy. The round cone of two dimensions gives the same result.
#[test]
fn the_log_barrier_step_is_reproduced() {
    let expected = [-0.21737834041, 0.046239703561, -0.19931991959];
    for cone in [Cone::Edges(&[1.0, 1.0, 1.0, -1.0]), Cone::Round(&[1.0, 1.0])] {
        let mut program = ConeProgram::new();
        program.reset([3]);
        for i in 0..3 {
            program.P(0, i)[i] = 1.0;
        }
        program.c(0).copy_from_slice(&[0.41669826, 0.46413128, 0.0]);
        let mut contact = program.push_cone(cone, 2, &[0]);
        contact.J(0, 0).copy_from_slice(&[0.0, 1.0, 0.0]);
        contact.J(0, 1).copy_from_slice(&[-1.0, 0.0, 1.0]);
        let mut out = Relaxed::default();
        Sensitivity::new().smooth(&program, convex(0.02), None, &mut out).unwrap();
        assert!(apart(&out.x, &expected) < 1e-9, "{:?}", out.x);
    }
}

/// A spring of 1 N/m pushes 0.01 kg in steps of 0.01 s: exact and relaxed positions in closed form.
#[test]
fn the_linear_pusher_is_reproduced_with_its_derivative() {
    // in displacements: the inertia of the object is m/h² = 100 N/m, the gap 0.1 m
    let pusher = |u: f64| {
        let mut program = ConeProgram::new();
        program.reset([2]);
        program.P(0, 0)[0] = 1.0;
        program.P(0, 1)[1] = 100.0;
        program.c(0)[0] = -u;
        let mut contact = program.push_cone(Cone::Edges(&[1.0]), 1, &[0]);
        contact.J(0, 0).copy_from_slice(&[-1.0, 1.0]);
        contact.b()[0] = -0.1;
        program
    };
    let program = pusher(0.15);
    let answer = solve(&program);
    assert!(apart(&answer.x, &[10.15 / 101.0, 10.15 / 101.0 - 0.1]) < 1e-12, "{:?}", answer.x);
    let mut sensitivity = Sensitivity::new();
    assert!(!sensitivity.exact(&program, &answer).unwrap().any());
    let mut by_u = ConeProgram::new();
    by_u.set_zero_like(&program);
    by_u.c(0)[0] = -1.0;
    let (mut dx, mut dz) = ([0.0; 2], [0.0]);
    sensitivity.forward(&by_u, &mut dx, &mut dz).unwrap();
    assert!(apart(&dx, &[1.0 / 101.0; 2]) < 1e-12 && (dz[0] - 100.0 / 101.0).abs() < 1e-9);
    let mut out = Relaxed::default();
    sensitivity.smooth(&pusher(0.1), convex(1e-2), None, &mut out).unwrap();
    assert!(apart(&out.x, &[0.000496280979, 0.000995037190]) < 1e-9, "{:?}", out.x);
    assert!((out.z[0] - 0.099503719021).abs() < 1e-9);
}

/// A mass with zero gap and zero force has a kink with the documented one-sided derivative. Misuse
/// gives errors.
#[test]
fn kinks_are_flagged_and_misuse_is_an_error() {
    let mut program = ConeProgram::new();
    program.reset([1]);
    program.P(0, 0)[0] = 2.0;
    program.push_cone(Cone::Edges(&[1.0]), 1, &[0]).J(0, 0)[0] = 1.0;
    let answer = solve(&program);
    let mut sensitivity = Sensitivity::new();
    let mut by_c = ConeProgram::new();
    by_c.set_zero_like(&program);
    by_c.c(0)[0] = 1.0;
    let (mut dx, mut dz) = ([0.0], [0.0]);
    let early = sensitivity.forward(&by_c, &mut dx, &mut dz);
    assert!(early.is_err(), "nothing was prepared");
    let kinks = sensitivity.exact(&program, &answer).unwrap();
    assert!(kinks.any() && kinks.rows == 1, "{kinks:?}");
    sensitivity.forward(&by_c, &mut dx, &mut dz).unwrap();
    assert!((dx[0] + 0.5).abs() < 1e-14 && dz[0] == 0.0, "the row is idle: {dx:?}");
    let wrong = sensitivity.forward(&by_c, &mut [], &mut dz);
    assert_eq!(wrong, Err(SensitivityError::Dimensions));
    let none = sensitivity.exact(&program, &Solution::default());
    assert_eq!(none, Err(SensitivityError::NotSolved));
    let mut out = Relaxed::default();
    let bad = sensitivity.smooth(&program, convex(f64::NAN), None, &mut out);
    assert_eq!(bad, Err(SensitivityError::Dimensions));
}

/// Two active rows that differ by a millionth. Multiplier updates converge too slowly for so small
/// an angle. The returned residual of the rows reveals it.
#[test]
fn nearly_dependent_rows_are_told() {
    for (share, settles) in [(1e-1, true), (1e-3, true), (1e-6, false)] {
        let mut program = ConeProgram::new();
        program.reset([2]);
        for i in 0..2 {
            program.P(0, i)[i] = 1.0;
        }
        program.c(0).copy_from_slice(&[2.0, share]);
        for row in [[1.0, 0.0], [1.0, share]] {
            program.push_cone(Cone::Edges(&[1.0]), 1, &[0]).J(0, 0).copy_from_slice(&row);
        }
        let answer = Solution {
            x: vec![0.0; 2],
            z: vec![1.0; 2],
            s: vec![0.0; 2],
            status: Status::Solved,
            dual_is_smallest_norm: true,
            ..Solution::default()
        };
        let mut sensitivity = Sensitivity::new();
        sensitivity.exact(&program, &answer).unwrap();
        let mut change = ConeProgram::new();
        change.set_zero_like(&program);
        change.c(0).copy_from_slice(&[0.3, -1.0]);
        let (mut dx, mut dz) = ([0.0; 2], [0.0; 2]);
        let left = sensitivity.forward(&change, &mut dx, &mut dz).unwrap();
        // if converged, both rows are active and forces move nothing; otherwise the residual is
        // amplified by the inverse of the angle
        assert_eq!(largest(&dx) < 1e-11 / share, settles, "{share}: {dx:?}");
        assert_eq!(left < 1e-9, settles, "{share}: {left:e}");
    }
}
