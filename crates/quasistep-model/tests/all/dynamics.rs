//! Consistency of forces, energy and inertia.

use crate::common::{Samples, def, everything, random_q};
use quasistep_math::{Mat3, Vec3};
use quasistep_model::{BodyDef, BodyInertia, JointKind, Kinematics, Model, ModelBuilder, WORLD};

fn kinematics(model: &Model, q: &[f64]) -> Kinematics {
    let mut kin = model.create_kinematics();
    model.kinematics(q, &mut kin);
    kin
}

fn moved(model: &Model, q: &[f64], v: &[f64], h: f64) -> Kinematics {
    let mut next = vec![0.0; model.n_q()];
    model.integrate(q, v, h, &mut next);
    kinematics(model, &next)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn mass_matrix(model: &Model, kin: &Kinematics) -> Vec<f64> {
    // nonzero on entry: the function must overwrite it
    let mut M = vec![7.0; model.n_v() * model.n_v()];
    model.mass_matrix(kin, &mut M);
    M
}

/// `M = Σ m J_vᵀ J_v + J_wᵀ I J_w`, summed over bodies with dense Jacobians, without composite
/// bodies.
#[test]
fn mass_matrix_is_the_sum_over_bodies() {
    for seed in 0..10 {
        let model = everything(seed);
        let kin = kinematics(&model, &random_q(&model, &mut Samples(seed + 100)));
        let n_v = model.n_v();
        let mut expected = vec![0.0; n_v * n_v];
        for (i, body) in model.bodies().iter().enumerate().skip(1) {
            let (mut J_w, mut J_v) = (vec![Vec3::ZERO; n_v], vec![Vec3::ZERO; n_v]);
            for &k in model.path(i) {
                let column = &kin.columns[k as usize];
                J_w[column.dof as usize] += column.w_W;
                J_v[column.dof as usize] += column.v_Wo_W + column.w_W.cross(kin.p_WBcm[i]);
            }
            let R = kin.X_WB[i].rotation.to_matrix();
            let I_W = R * body.inertia.inertia * R.transpose();
            for a in 0..n_v {
                for b in 0..n_v {
                    expected[a * n_v + b] +=
                        body.inertia.mass * J_v[a].dot(J_v[b]) + J_w[a].dot(I_W * J_w[b]);
                }
            }
        }
        let M = mass_matrix(&model, &kin);
        let scale = expected.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        for a in 0..n_v {
            for b in 0..n_v {
                let k = a * n_v + b;
                // rounding of some hundred terms of size up to `scale`
                assert!((M[k] - expected[k]).abs() < 1e-13 * scale, "({a}, {b})");
                assert_eq!(M[k].to_bits(), M[b * n_v + a].to_bits(), "symmetry of ({a}, {b})");
            }
        }
    }
}

/// `½ vᵀ M v` is the kinetic energy of bodies, with velocities from central differences of poses.
#[test]
fn mass_matrix_gives_the_kinetic_energy() {
    let s = &mut Samples(11);
    // balances truncation and rounding
    let h = 1e-5;
    for seed in 0..10 {
        let model = everything(seed);
        let (q, v) = (random_q(&model, s), s.vector(model.n_v()));
        let kin = kinematics(&model, &q);
        let (after, before) = (moved(&model, &q, &v, h), moved(&model, &q, &v, -h));
        let mut energy = 0.0;
        for (i, body) in model.bodies().iter().enumerate() {
            let speed = (after.p_WBcm[i] - before.p_WBcm[i]) / (2.0 * h);
            let turned = after.X_WB[i].rotation * before.X_WB[i].rotation.inverse();
            let w_W = turned.to_rotation_vector() / (2.0 * h);
            let w_B = kin.X_WB[i].rotation.inverse().rotate(w_W);
            let BodyInertia { mass, inertia, .. } = body.inertia;
            energy += 0.5 * mass * speed.norm_squared() + 0.5 * w_B.dot(inertia * w_B);
        }
        let M = mass_matrix(&model, &kin);
        let n_v = model.n_v();
        let Mv: Vec<f64> = (0..n_v).map(|a| dot(&M[a * n_v..(a + 1) * n_v], &v)).collect();
        let got = 0.5 * dot(&v, &Mv);
        assert!((got - energy).abs() < 1e-7 * energy, "{got} against {energy} J");
    }
}

#[test]
fn gravity_is_minus_the_gradient_of_potential_energy() {
    let s = &mut Samples(12);
    let h = 1e-5;
    for seed in 0..10 {
        let model = everything(seed);
        let (q, g) = (random_q(&model, s), s.vec3() * 10.0);
        let mut tau = vec![0.0; model.n_v()];
        model.gravity_force(&kinematics(&model, &q), g, &mut tau);
        let scale = tau.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
        for dof in 0..model.n_v() {
            let mut v = vec![0.0; model.n_v()];
            v[dof] = 1.0;
            let energy = |h: f64| model.potential_energy(&moved(&model, &q, &v, h), g);
            let slope = (energy(h) - energy(-h)) / (2.0 * h);
            assert!((tau[dof] + slope).abs() < 1e-7 * scale, "dof {dof}: {} {slope}", tau[dof]);
        }
    }
}

#[test]
fn gravity_acts_by_its_share_and_adds_to_what_is_there() {
    let inertia = BodyInertia { mass: 2.0, com: Vec3::X, inertia: Mat3::IDENTITY };
    let mut builder = ModelBuilder::new();
    for (name, gravity) in [("heavy", 1.0), ("floating", 0.0), ("half", 0.5)] {
        let body = def(name, WORLD, JointKind::Free);
        builder.add_body(BodyDef { inertia, gravity, ..body }).unwrap();
    }
    let model = builder.build().unwrap();
    let mut tau = vec![1.0; 18];
    let kin = kinematics(&model, &model.neutral_q());
    model.gravity_force(&kin, Vec3::new(0.0, 0.0, -10.0), &mut tau);
    // weight 20 N at x = 1 m: torque x × (−z) = +y
    let mut expected = vec![1.0; 18];
    (expected[1], expected[5]) = (21.0, -19.0);
    (expected[13], expected[17]) = (11.0, -9.0);
    assert_eq!(tau, expected);
    assert_eq!(model.potential_energy(&kin, Vec3::new(-3.0, 0.0, 0.0)), 9.0);
}

/// Power equality `tauᵀ v = f · ṗ + t · w`, with velocities from central differences.
#[test]
fn a_wrench_has_the_same_power_in_joint_and_world_space() {
    let s = &mut Samples(13);
    let h = 1e-5;
    for seed in 0..10 {
        let model = everything(seed);
        let (q, v) = (random_q(&model, s), s.vector(model.n_v()));
        let kin = kinematics(&model, &q);
        let (after, before) = (moved(&model, &q, &v, h), moved(&model, &q, &v, -h));
        for body in 0..model.n_bodies() {
            let (p_B, force, torque) = (s.vec3(), s.vec3(), s.vec3());
            let mut tau = vec![0.0; model.n_v()];
            let p_W = kin.X_WB[body].transform_point(p_B);
            model.add_wrench(&kin, body, p_W, force, torque, &mut tau);
            let [X1, X0] = [&after, &before].map(|k| k.X_WB[body]);
            let p_dot = (X1.transform_point(p_B) - X0.transform_point(p_B)) / (2.0 * h);
            let w = (X1.rotation * X0.rotation.inverse()).to_rotation_vector() / (2.0 * h);
            let (joint, world) = (dot(&tau, &v), force.dot(p_dot) + torque.dot(w));
            let scale = 1.0 + p_dot.norm() + w.norm();
            assert!((joint - world).abs() < 1e-7 * scale, "{joint} against {world} W");
        }
    }
}

/// A cube of 1 g and 1 cm at a distance of 1 km: parallel axis terms of 1e3 kg·m² must not bury its
/// inertia of 1.7e-8 kg·m².
#[test]
fn small_bodies_keep_their_inertia_far_from_the_origin() {
    let moment = 1e-3 * 1e-4 / 6.0;
    let inertia = BodyInertia { mass: 1e-3, com: Vec3::ZERO, inertia: Mat3::diagonal([moment; 3]) };
    let mut builder = ModelBuilder::new();
    builder.add_body(BodyDef { inertia, ..def("cube", WORLD, JointKind::Free) }).unwrap();
    let model = builder.build().unwrap();
    let mut q = model.neutral_q();
    q[4..].copy_from_slice(&[1000.0, 300.0, -700.0]);
    let M = mass_matrix(&model, &kinematics(&model, &q));
    for k in 0..6 {
        let expected = if k < 3 { moment } else { 1e-3 };
        assert!((M[k * 6 + k] - expected).abs() < 1e-12 * expected);
    }
}

/// Velocities and accelerations of body points agree with first and second differences.
#[test]
fn motions_are_those_of_points_on_the_bodies() {
    // second differences of metres over (1e-4 s)² have a rounding error of about 1e-6 m/s²
    const STEP: f64 = 1e-4;
    for seed in 0..10 {
        let model = everything(seed);
        let mut samples = Samples(seed + 200);
        let q = random_q(&model, &mut samples);
        let v: Vec<f64> = (0..model.n_v()).map(|_| samples.next()).collect();
        let here = kinematics(&model, &q);
        let [before, after] = [-STEP, STEP].map(|h| moved(&model, &q, &v, h));
        let mut motions = Vec::new();
        model.motions(&here, &v, &mut motions);
        for body in 1..model.n_bodies() {
            for p_B in [Vec3::ZERO, Vec3::X, Vec3::new(0.3, -0.4, 0.5)] {
                let [a, p, b] =
                    [&before, &here, &after].map(|kin| kin.X_WB[body].transform_point(p_B));
                let velocity = (b - a) * (0.5 / STEP);
                let acceleration = ((b - p) - (p - a)) * (1.0 / (STEP * STEP));
                let scale = 1.0 + acceleration.norm();
                assert!((motions[body].velocity(p) - velocity).norm() < 1e-6 * scale);
                let error = (motions[body].acceleration(p) - acceleration).norm();
                assert!(error < 1e-5 * scale, "seed {seed}, body {body}: off by {error:e}");
            }
        }
    }
}

/// `vᵀ (−C v) = −1/2 vᵀ (dM/dt) v`: velocity-dependent forces do no work except through changes of
/// inertia.
#[test]
fn velocity_forces_keep_the_kinetic_energy() {
    const STEP: f64 = 1e-5;
    for seed in 0..10 {
        let model = everything(seed);
        let mut samples = Samples(seed + 300);
        let q = random_q(&model, &mut samples);
        let v: Vec<f64> = (0..model.n_v()).map(|_| samples.next()).collect();
        let energy = |kin: &Kinematics| {
            let M = mass_matrix(&model, kin);
            let Mv: Vec<f64> = M.chunks(model.n_v()).map(|row| dot(row, &v)).collect();
            0.5 * dot(&v, &Mv)
        };
        let [before, after] = [-STEP, STEP].map(|h| energy(&moved(&model, &q, &v, h)));
        let mut tau = vec![0.0; model.n_v()];
        model.velocity_force(&kinematics(&model, &q), &v, &mut Vec::new(), &mut tau);
        let wanted = -(after - before) / (2.0 * STEP);
        let error = (dot(&v, &tau) - wanted).abs();
        // rounding of central differences of an energy E: E 1e-16/1e-5
        assert!(error < 1e-7 * (1.0 + before.abs() + wanted.abs()), "seed {seed}: {error:e}");
    }
}

/// Euler's equations of a body that rotates freely about its centre of mass:
/// `I dw/dt + w × I w = 0`.
#[test]
fn a_free_body_feels_its_gyroscopic_torque() {
    let mut builder = ModelBuilder::new();
    let inertia =
        BodyInertia { mass: 2.0, inertia: Mat3::diagonal([1.0, 2.0, 2.5]), ..Default::default() };
    let body = BodyDef { inertia, ..def("body", WORLD, JointKind::Free) };
    builder.add_body(body).unwrap();
    let model = builder.build().unwrap();
    let v = [3.0, -1.0, 2.0, 0.5, 0.6, 0.7];
    let mut tau = [0.0; 6];
    let q = model.neutral_q();
    model.velocity_force(&kinematics(&model, &q), &v, &mut Vec::new(), &mut tau);
    // −w × I w with I w = (3, −2, 5)
    let wanted = Vec3::new(3.0, -1.0, 2.0).cross(Vec3::new(3.0, -2.0, 5.0)) * -1.0;
    for k in 0..3 {
        assert!((tau[k] - wanted[k]).abs() < 1e-14 && tau[3 + k].abs() < 1e-14);
    }
}
