//! Columns are the derivatives of poses, on the manifold.

use crate::common::{Samples, def, everything, kinds, random_q};
use quasistep_math::{Pose, Vec3};
use quasistep_model::{BodyDef, JointKind, Kinematics, Mimic, Model, ModelBuilder, WORLD};

/// Step of central differences; 1e-5 balances truncation (1e-10) and rounding (1e-11).
const STEP: f64 = 1e-5;

/// Angular velocity of each body and velocity of its point `p_B`, both in W, from central
/// differences of poses along `v`.
fn rates_by_difference(model: &Model, q: &[f64], v: &[f64], p_B: Vec3) -> Vec<(Vec3, Vec3)> {
    let at = |h: f64| {
        let (mut moved, mut kin) = (vec![0.0; model.n_q()], model.create_kinematics());
        model.integrate(q, v, h, &mut moved);
        model.kinematics(&moved, &mut kin);
        kin.X_WB
    };
    let rate = |(after, before): (&Pose, &Pose)| {
        let turned = (after.rotation * before.rotation.inverse()).to_rotation_vector();
        let moved = after.transform_point(p_B) - before.transform_point(p_B);
        (turned / (2.0 * STEP), moved / (2.0 * STEP))
    };
    at(STEP).iter().zip(&at(-STEP)).map(rate).collect()
}

/// Angular velocity of each body and velocity of its point `p_B`, from the Jacobian columns.
fn rates_by_columns(model: &Model, kin: &Kinematics, v: &[f64], p_B: Vec3) -> Vec<(Vec3, Vec3)> {
    let rate = |body: usize| {
        let p_W = kin.X_WB[body].transform_point(p_B);
        let (mut w, mut p_dot) = (Vec3::ZERO, Vec3::ZERO);
        for &k in model.path(body) {
            let column = &kin.columns[k as usize];
            w += column.w_W * v[column.dof as usize];
            p_dot += (column.v_Wo_W + column.w_W.cross(p_W)) * v[column.dof as usize];
        }
        (w, p_dot)
    };
    (0..model.n_bodies()).map(rate).collect()
}

/// Checks all bodies, one dof at a time.
fn check(model: &Model, s: &mut Samples) {
    let q = random_q(model, s);
    let mut kin = model.create_kinematics();
    model.kinematics(&q, &mut kin);
    let p_B = s.vec3();
    for dof in 0..model.n_v() {
        let mut v = vec![0.0; model.n_v()];
        v[dof] = 1.0;
        let expected = rates_by_difference(model, &q, &v, p_B);
        let got = rates_by_columns(model, &kin, &v, p_B);
        for (body, (e, g)) in expected.iter().zip(&got).enumerate() {
            let scale = 1.0 + g.0.norm() + g.1.norm();
            let error = (e.0 - g.0).norm().max((e.1 - g.1).norm());
            let name = &model.body(body).name;
            assert!(error <= 1e-7 * scale, "{name}, dof {dof}: {error:e} of {scale}");
        }
    }
}

#[test]
fn columns_are_derivatives_for_each_joint_on_the_world() {
    let s = &mut Samples(1);
    for joint in kinds(s) {
        let mut builder = ModelBuilder::new();
        builder.add_body(BodyDef { X_PF: s.pose(), ..def("b", WORLD, joint) }).unwrap();
        check(&builder.build().unwrap(), s);
    }
}

#[test]
fn columns_are_derivatives_for_every_pair_of_nested_joints() {
    let s = &mut Samples(2);
    for outer in kinds(s) {
        for inner in kinds(s) {
            let mut builder = ModelBuilder::new();
            builder.add_body(BodyDef { X_PF: s.pose(), ..def("a", WORLD, outer) }).unwrap();
            builder.add_body(BodyDef { X_PF: s.pose(), ..def("b", 1, inner) }).unwrap();
            check(&builder.build().unwrap(), s);
        }
    }
}

#[test]
fn columns_are_derivatives_in_trees_with_mimic_joints() {
    let s = &mut Samples(3);
    for seed in 0..10 {
        check(&everything(seed), s);
    }
}

#[test]
fn a_free_body_of_the_world_has_world_rates() {
    let mut builder = ModelBuilder::new();
    builder.add_body(def("ball", WORLD, JointKind::Free)).unwrap();
    let model = builder.build().unwrap();
    let q = random_q(&model, &mut Samples(4));
    let mut kin = model.create_kinematics();
    model.kinematics(&q, &mut kin);
    let origin = kin.X_WB[1].translation;
    assert_eq!(origin, Vec3::new(q[4], q[5], q[6]));
    for (k, axis) in Vec3::AXES.into_iter().enumerate() {
        // exact, because the rotation is the identity
        let (turn, slide) = (kin.columns[k], kin.columns[3 + k]);
        assert_eq!((turn.dof, turn.w_W), (k as u32, axis));
        assert_eq!((slide.dof, slide.w_W, slide.v_Wo_W), (3 + k as u32, Vec3::ZERO, axis));
        // a rotation leaves the body's origin fixed
        assert!((turn.v_Wo_W + turn.w_W.cross(origin)).norm() < 1e-15);
    }
}

#[test]
fn a_path_lists_exactly_the_columns_that_move_a_body_in_ascending_order() {
    let model = everything(5);
    assert!(model.path(WORLD).is_empty());
    let mut next = 0;
    for (i, body) in model.bodies().iter().enumerate().skip(1) {
        let (path, parent) = (model.path(i), model.path(body.parent));
        assert!(path.windows(2).all(|w| w[0] < w[1]));
        assert_eq!(&path[..parent.len()], parent);
        // the joint's own columns follow those of the previous body
        let own: Vec<u32> = (next..next + body.joint.n_v() as u32).collect();
        assert_eq!(&path[parent.len()..], own);
        next += own.len() as u32;
    }
    assert_eq!(model.create_kinematics().columns.len(), next as usize);
}

/// Mimic relation `q = multiplier q_leader + offset` through a chain of two.
#[test]
fn a_mimic_joint_stands_where_its_leader_says() {
    let slide = JointKind::Prismatic { axis: Vec3::X * 4.0 };
    let follow = |body, multiplier, offset| Some(Mimic { body, multiplier, offset });
    let mut builder = ModelBuilder::new();
    builder.add_body(BodyDef { mimic: follow(2, 3.0, 0.25), ..def("a", WORLD, slide) }).unwrap();
    builder.add_body(BodyDef { mimic: follow(3, -2.0, 0.5), ..def("b", WORLD, slide) }).unwrap();
    builder.add_body(def("c", WORLD, slide)).unwrap();
    let model = builder.build().unwrap();
    assert_eq!((model.n_q(), model.n_v(), model.coordinate_names().len()), (1, 1, 1));
    assert_eq!(model.body(1).mimic, follow(3, -6.0, 1.75));
    let mut kin = model.create_kinematics();
    model.kinematics(&[0.125], &mut kin);
    // binary fractions, so the results are exact
    let x: Vec<f64> = kin.X_WB.iter().map(|X| X.translation.x).collect();
    assert_eq!(x, [0.0, 3.0 * 0.25 + 0.25, -2.0 * 0.125 + 0.5, 0.125]);
    let speeds: Vec<f64> = kin.columns.iter().map(|c| c.v_Wo_W.x).collect();
    assert_eq!(speeds, [-6.0, -2.0, 1.0]);
    assert!(kin.columns.iter().all(|c| c.dof == 0));
}

#[test]
fn warm_kinematics_keeps_its_memory_and_its_bits() {
    let model = everything(6);
    let s = &mut Samples(6);
    let (q, other) = (random_q(&model, s), random_q(&model, s));
    let mut kin = model.create_kinematics();
    model.kinematics(&q, &mut kin);
    let first = kin.clone();
    let memory = (kin.X_WB.as_ptr(), kin.columns.as_ptr(), kin.p_WBcm.as_ptr());
    model.kinematics(&other, &mut kin);
    assert_ne!(kin.X_WB, first.X_WB);
    model.kinematics(&q, &mut kin);
    assert_eq!((kin.X_WB.as_ptr(), kin.columns.as_ptr(), kin.p_WBcm.as_ptr()), memory);
    assert_eq!(
        (&kin.X_WB, &kin.columns, &kin.p_WBcm),
        (&first.X_WB, &first.columns, &first.p_WBcm)
    );
}
