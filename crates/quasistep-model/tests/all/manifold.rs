//! Integration and differences on the manifold, with unit quaternions.

use crate::common::{Samples, def, everything, kinds, random_q};
use quasistep_math::{Quat, Vec3};
use quasistep_model::{ConfigurationError, JointKind, Model, ModelBuilder, WORLD};

fn quaternions(model: &Model) -> Vec<std::ops::Range<usize>> {
    let rotating = model.bodies().iter().filter(|b| b.q.len() >= 4);
    rotating.map(|b| b.q.start..b.q.start + 4).collect()
}

#[test]
fn integrating_the_difference_arrives() {
    let s = &mut Samples(21);
    for seed in 0..50 {
        let model = everything(seed);
        let (q0, mut q1) = (random_q(&model, s), random_q(&model, s));
        let mut v = vec![0.0; model.n_v()];
        model.difference(&q0, &q1, &mut v);
        let mut arrived = vec![0.0; model.n_q()];
        model.integrate(&q0, &v, 1.0, &mut arrived);
        for range in quaternions(&model) {
            // q and −q are the same rotation
            let inner: f64 = range.clone().map(|k| arrived[k] * q1[k]).sum();
            q1[range].iter_mut().for_each(|x| *x *= inner.signum());
        }
        for k in 0..model.n_q() {
            assert!((arrived[k] - q1[k]).abs() < 1e-14, "coordinate {k}");
        }
    }
}

#[test]
fn the_difference_of_an_integration_is_its_rate() {
    let s = &mut Samples(22);
    for seed in 0..50 {
        let model = everything(seed);
        // rotations of at most sqrt(3) · 1.8 = 3.12 rad, below π: beyond it the shorter way is
        // another one
        let (q, v, h) = (random_q(&model, s), s.vector(model.n_v()), 1.8);
        let (mut next, mut back) = (vec![0.0; model.n_q()], vec![0.0; model.n_v()]);
        model.integrate(&q, &v, h, &mut next);
        model.difference(&q, &next, &mut back);
        for k in 0..model.n_v() {
            // the logarithm loses accuracy near π
            assert!((back[k] - h * v[k]).abs() < 1e-12, "dof {k}: {} {}", back[k], h * v[k]);
        }
    }
}

/// Rotation rates are expressed in F, not in M: rotating about F's z axis moves M's axes.
#[test]
fn rotation_rates_are_in_the_fixed_frame() {
    let mut builder = ModelBuilder::new();
    builder.add_body(def("b", WORLD, JointKind::Ball)).unwrap();
    let model = builder.build().unwrap();
    // first a quarter turn about x
    let mut q = vec![0.0; 4];
    let quarter = std::f64::consts::FRAC_PI_2;
    model.integrate(&model.neutral_q(), &[quarter, 0.0, 0.0], 1.0, &mut q);
    let mut next = vec![0.0; 4];
    model.integrate(&q, &[0.0, 0.0, quarter], 1.0, &mut next);
    let R_FM = Quat::new(next[0], next[1], next[2], next[3]);
    // M's y axis is along F's z and stays there; M's x axis moves to F's y
    assert!((R_FM.rotate(Vec3::Y) - Vec3::Z).norm() < 1e-15);
    assert!((R_FM.rotate(Vec3::X) - Vec3::Y).norm() < 1e-15);
}

#[test]
fn quaternions_stay_unit_and_continuous_in_sign() {
    let model = everything(23);
    let s = &mut Samples(23);
    let mut q = random_q(&model, s);
    let mut next = vec![0.0; model.n_q()];
    for step in 0..20_000 {
        // step sizes from small to several turns
        let h = if step % 2 == 0 { 0.05 } else { 10.0 };
        model.integrate(&q, &s.vector(model.n_v()), h, &mut next);
        for range in quaternions(&model) {
            let inner: f64 = range.clone().map(|k| q[k] * next[k]).sum();
            let norm: f64 = range.map(|k| next[k] * next[k]).sum::<f64>().sqrt();
            assert!(inner >= 0.0, "step {step}: inner product {inner}");
            assert!((norm - 1.0).abs() < 4.0 * f64::EPSILON, "step {step}: length {norm}");
        }
        std::mem::swap(&mut q, &mut next);
    }
    model.check_q(&q).unwrap();
}

/// Angles are not wrapped: a command three turns away is three turns away.
#[test]
fn one_dof_angles_are_not_wrapped() {
    let mut builder = ModelBuilder::new();
    builder.add_body(def("wheel", WORLD, JointKind::Continuous { axis: Vec3::Z })).unwrap();
    let model = builder.build().unwrap();
    let (mut v, mut q) = ([0.0], [0.0]);
    model.difference(&[0.5], &[20.5], &mut v);
    model.integrate(&[0.5], &v, 1.0, &mut q);
    assert_eq!((v, q), ([20.0], [20.5]));
}

#[test]
fn the_neutral_configuration_is_valid_and_puts_frames_on_frames() {
    let mut builder = ModelBuilder::new();
    let s = &mut Samples(24);
    let mut poses = Vec::new();
    for (k, joint) in kinds(s).into_iter().enumerate() {
        let mut body = def(&format!("b{k}"), WORLD, joint);
        body.X_PF = s.pose();
        poses.push(body.X_PF);
        builder.add_body(body).unwrap();
    }
    let model = builder.build().unwrap();
    let q = model.neutral_q();
    model.check_q(&q).unwrap();
    let mut kin = model.create_kinematics();
    model.kinematics(&q, &mut kin);
    for (X_WB, X_WF) in kin.X_WB[1..].iter().zip(&poses) {
        let turned = (X_WB.rotation * X_WF.rotation.inverse()).to_rotation_vector();
        assert!(turned.norm() < 1e-15 && (X_WB.translation - X_WF.translation).norm() < 1e-15);
    }
}

#[test]
fn coordinates_and_dofs_are_named_after_their_joint() {
    let mut builder = ModelBuilder::new();
    builder.add_body(def("arm", WORLD, JointKind::Revolute { axis: Vec3::Z })).unwrap();
    builder.add_body(def("plate", 1, JointKind::Fixed)).unwrap();
    builder.add_body(def("puck", WORLD, JointKind::Planar)).unwrap();
    builder.add_body(def("wrist", 1, JointKind::Ball)).unwrap();
    builder.add_body(def("box", WORLD, JointKind::Free)).unwrap();
    let model = builder.build().unwrap();
    let join = |names: Vec<String>| names.join(" ").replace("test.", "");
    assert_eq!(
        join(model.coordinate_names()),
        "arm puck.x puck.y puck.theta wrist.qw wrist.qx wrist.qy wrist.qz \
         box.qw box.qx box.qy box.qz box.x box.y box.z"
    );
    let [m, rad, none] = ["m", "rad", ""];
    let units = [&[rad, m, m, rad][..], &[none; 8], &[m; 3]].concat();
    assert_eq!(model.coordinate_units(), units);
    assert_eq!(
        join(model.dof_names()),
        "arm puck.x puck.y puck.theta wrist.wx wrist.wy wrist.wz \
         box.wx box.wy box.wz box.vx box.vy box.vz"
    );
    assert_eq!((model.n_q(), model.n_v(), model.n_bodies()), (15, 13, 6));
    assert_eq!(model.body_by_name("test/puck"), Some(3));
    assert_eq!(model.joint_by_name("test.puck"), Some(3));
    assert_eq!((model.body_by_name("world"), model.joint_by_name("")), (Some(WORLD), None));
    assert_eq!((model.body(5).q.clone(), model.body(5).v.clone()), (8..15, 7..13));
}

#[test]
fn a_wrong_configuration_is_refused_by_name() {
    let model = everything(25);
    let good = model.neutral_q();
    assert_eq!(
        model.check_q(&good[1..]),
        Err(ConfigurationError::Length { got: good.len() - 1, want: good.len() })
    );
    let mut q = good.clone();
    q[5] = f64::NAN;
    let message = model.check_q(&q).unwrap_err().to_string();
    assert_eq!(message, "`test.b1.y` is NaN; it must be a finite number");
    let mut q = good.clone();
    q[0] = 1.001;
    let message = model.check_q(&q).unwrap_err().to_string();
    assert_eq!(message, "the quaternion of `test.b1` has length 1.001; it must be 1");
    // a quaternion printed with seven digits is accepted
    q[0] = 1.0 - 4e-7;
    assert_eq!(model.check_q(&q), Ok(()));
}
