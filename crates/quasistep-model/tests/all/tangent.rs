//! Jacobians of differences and integrations, and gradients of yaw, against central differences.

use crate::common::{Samples, everything, random_q};
use quasistep_math::{Quat, Vec3};
use quasistep_model::{Frame, Model};

/// Step of central differences, in rad and m: the cube root of rounding.
const STEP: f64 = 1e-5;

/// The angles of rotations: at zero, of common size, and just below the cut at π.
const ANGLES: [f64; 4] = [0.0, 1e-9, 1.0, std::f64::consts::PI - 1e-6];

/// Derivative of `f` by each tangent coordinate, `rows × n_v`.
fn central(model: &Model, step: f64, f: impl Fn(&[f64]) -> Vec<f64>) -> Vec<Vec<f64>> {
    let at = |dof: usize, size: f64| {
        let mut change = vec![0.0; model.n_v()];
        change[dof] = size;
        f(&change)
    };
    let column = |dof| {
        let (ahead, behind) = (at(dof, step), at(dof, -step));
        ahead.iter().zip(behind).map(|(a, b)| (a - b) / (2.0 * step)).collect()
    };
    (0..model.n_v()).map(column).collect()
}

fn assert_close(what: &str, matrix: &[f64], columns: &[Vec<f64>], tolerance: f64) {
    let n_v = columns.len();
    for (dof, column) in columns.iter().enumerate() {
        for (row, want) in column.iter().enumerate() {
            let got = matrix[row * n_v + dof];
            assert!((got - want).abs() < tolerance, "{what} ({row}, {dof}): {got}, not {want}");
        }
    }
}

fn moved(model: &Model, q: &[f64], v: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; model.n_q()];
    model.integrate(q, v, 1.0, &mut out);
    out
}

/// Random rates that turn every joint with a quaternion by `angle`.
fn rates(model: &Model, s: &mut Samples, angle: f64) -> Vec<f64> {
    let mut v = s.vector(model.n_v());
    for body in model.bodies().iter().filter(|body| body.q.len() >= 4) {
        let turn = &mut v[body.v.start..body.v.start + 3];
        let size = turn.iter().map(|x| x * x).sum::<f64>().sqrt();
        for x in turn {
            *x *= angle / size;
        }
    }
    v
}

/// Quaternions of another length are the same rotations.
fn scaled(model: &Model, q: &[f64], by: f64) -> Vec<f64> {
    let mut q = q.to_vec();
    for body in model.bodies().iter().filter(|body| body.q.len() >= 4) {
        for x in &mut q[body.q.start..body.q.start + 4] {
            *x *= by;
        }
    }
    q
}

#[test]
fn jacobians_are_those_of_central_differences() {
    let s = &mut Samples(41);
    for angle in ANGLES {
        // the way of a difference changes at π: stay on one side
        let step = if angle > 3.0 { 3e-7 } else { STEP };
        let tolerance = 1e-15 / step + 1e-9;
        for seed in 0..5 {
            let model = everything(seed);
            let n = model.n_v() * model.n_v();
            let (mut by_a, mut by_b) = (vec![0.0; n], vec![0.0; n]);
            let (q0, v) = (random_q(&model, s), rates(&model, s, angle));
            let q1 = moved(&model, &q0, &v);
            let difference = |q0: &[f64], q1: &[f64]| {
                let mut out = vec![0.0; model.n_v()];
                model.difference(q0, q1, &mut out);
                out
            };
            model.difference_jacobians(
                &scaled(&model, &q0, 2.0),
                &scaled(&model, &q1, -0.3),
                &mut by_a,
                &mut by_b,
            );
            let of_start = |d: &[f64]| difference(&moved(&model, &q0, d), &q1);
            let of_end = |d: &[f64]| difference(&q0, &moved(&model, &q1, d));
            assert_close("by q0", &by_a, &central(&model, step, of_start), 8.0 * tolerance);
            assert_close("by q1", &by_b, &central(&model, step, of_end), 8.0 * tolerance);

            model.integrate_jacobians(&v, 1.0, &mut by_a, &mut by_b);
            let of_q = |d: &[f64]| difference(&q1, &moved(&model, &moved(&model, &q0, d), &v));
            let of_v = |d: &[f64]| {
                let sum: Vec<f64> = v.iter().zip(d).map(|(v, d)| v + d).collect();
                difference(&q1, &moved(&model, &q0, &sum))
            };
            assert_close("by q", &by_a, &central(&model, step, of_q), 8.0 * tolerance);
            assert_close("by v", &by_b, &central(&model, step, of_v), 8.0 * tolerance);
        }
    }
}

#[test]
fn yaw_is_the_turn_about_the_axis_and_has_its_gradient() {
    let s = &mut Samples(42);
    for seed in 0..10 {
        let model = everything(seed);
        let mut kin = model.create_kinematics();
        let q = random_q(&model, s);
        let axis = s.vec3();
        let axis = axis * (1.0 / axis.norm());
        for body in 1..model.n_bodies() {
            let mut gradient = vec![0.0; model.n_v()];
            model.kinematics(&q, &mut kin);
            let frame = Frame { body, X_BF: s.pose() };
            let yaw = model.frame_yaw(&kin, &frame, axis, &mut gradient);
            // what is left without the turn about the axis turns about a perpendicular one
            let R = model.frame_pose(&kin, &frame).rotation;
            let swing = R * Quat::from_axis_angle(axis, yaw).inverse();
            assert!(swing.to_rotation_vector().dot(axis).abs() < 1e-12, "body {body}");
            let columns = central(&model, STEP, |d| {
                let mut kin = model.create_kinematics();
                model.kinematics(&moved(&model, &q, d), &mut kin);
                let mut unused = vec![0.0; model.n_v()];
                let change = model.frame_yaw(&kin, &frame, axis, &mut unused) - yaw;
                let turns = (change / std::f64::consts::TAU).round();
                vec![change - turns * std::f64::consts::TAU]
            });
            let size = gradient.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
            assert_close("yaw", &gradient, &columns, 1e-7 * size.powi(3));
        }
    }
}

#[test]
fn yaw_of_turns_about_z_is_their_angle_and_of_a_body_upside_down_open() {
    let model = everything(0);
    let free =
        model.bodies().iter().position(|body| body.q.len() == 7 && body.parent == 0).unwrap();
    let mut kin = model.create_kinematics();
    let mut gradient = vec![0.0; model.n_v()];
    model.kinematics(&model.neutral_q(), &mut kin);
    let R_WB = model.frame_pose(&kin, &Frame::of_body(free)).rotation;
    for angle in [-3.0, -1e-9, 0.0, 1e-9, 1.0, std::f64::consts::PI - 1e-6] {
        let R_BF = R_WB.inverse() * Quat::from_axis_angle(Vec3::Z, angle);
        let X_BF = quasistep_math::Pose::new(R_BF, Vec3::ZERO);
        let yaw = model.frame_yaw(&kin, &Frame { body: free, X_BF }, Vec3::Z, &mut gradient);
        assert!((yaw - angle).abs() < 1e-14, "{yaw}, not {angle}");
    }
    // a half turn about x, without rounding
    kin.X_WB[free].rotation = Quat::new(0.0, 1.0, 0.0, 0.0);
    assert!(model.frame_yaw(&kin, &Frame::of_body(free), Vec3::Z, &mut gradient).is_nan());
}
