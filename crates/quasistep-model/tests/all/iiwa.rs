//! A seven-joint arm with a gripper: pose and inertia compared with other engines.
//!
//! Frames and inertias are from RobotLocomotion/models, `iiwa7_no_collision.sdf` and
//! `schunk_wsg_50_with_tip.sdf`, with their rounded angles.
#![allow(clippy::approx_constant)] // the model file rounds pi, and its frames depend on that

use crate::common::def;
use quasistep_math::{Mat3, Pose, Vec3};
use quasistep_model::{BodyDef, BodyInertia, JointKind, Kinematics, Model, ModelBuilder, WORLD};
use std::f64::consts::FRAC_PI_2;

/// Pose of a link at zero joint angles (xyz, rpy) and its joint axis, both in the base frame; then
/// mass, centre of mass and moments.
type Link = ([f64; 3], [f64; 3], Vec3, f64, [f64; 3], [f64; 3]);

/// Angles are 1.5708 for π/2 and 3.14159 for π, as in the model file.
const LINKS: [Link; 7] = {
    let (Y, Z) = (Vec3::Y, Vec3::Z);
    let (a, b) = (1.5708, -3.14159);
    [
        ([0.0, 0.0, 0.1575], [0.0; 3], Z, 2.7025, [0.0, -0.0347, 0.113], [0.0171, 0.0163, 0.006]),
        (
            [0.0, 0.0, 0.3405],
            [a, 0.0, b],
            Y,
            2.7258,
            [0.0, 0.0668, 0.0344],
            [0.017, 0.0061, 0.0162],
        ),
        ([0.0, 0.0, 0.5245], [0.0; 3], Z, 3.175, [0.0, 0.0296, 0.1265], [0.025, 0.0238, 0.0076]),
        (
            [0.0, 0.0, 0.74],
            [a, 0.0, 0.0],
            Vec3::new(0.0, -1.0, 0.0),
            2.73,
            [0.0, 0.067, 0.034],
            [0.017, 0.0061, 0.0162],
        ),
        (
            [0.0, 0.0, 0.924],
            [0.0, 0.0, b],
            Z,
            1.69,
            [0.0001, 0.021, 0.076],
            [0.01, 0.0087, 0.00449],
        ),
        ([0.0, 0.0, 1.1395], [a, 0.0, b], Y, 1.8, [0.0, 0.0026, 0.0005], [0.0051, 0.0049, 0.0035]),
        ([0.0, 0.0, 1.22], [0.0; 3], Z, 0.4, [0.0, 0.0, 0.0294], [0.0004, 0.0004, 0.0005]),
    ]
};

/// Joint angles and finger positions at the start of the stacking command.
const START: [f64; 9] = [
    0.001331629456899106,
    0.7767210468317863,
    -0.0005306443685828117,
    -1.6232657902541858,
    0.0009743943666033765,
    0.7410788960101133,
    -0.0005683919998801215,
    -0.05,
    0.05,
];

fn arm_with_gripper() -> (Model, Kinematics) {
    let mut builder = ModelBuilder::new();
    let mut parent = (WORLD, Pose::IDENTITY);
    for (k, (xyz, rpy, axis, mass, com, moments)) in LINKS.into_iter().enumerate() {
        let X_ML = Pose::from_xyz_rpy(xyz, rpy);
        let joint = JointKind::Revolute { axis: X_ML.rotation.inverse().rotate(axis) };
        let inertia = BodyInertia { mass, com: com.into(), inertia: Mat3::diagonal(moments) };
        let X_PF = parent.1.inverse() * X_ML;
        let body = BodyDef { X_PF, inertia, ..def(&format!("link_{k}"), parent.0, joint) };
        parent = (builder.add_body(body).unwrap(), X_ML);
    }
    let with =
        |mass, moments| BodyInertia { mass, com: Vec3::ZERO, inertia: Mat3::diagonal(moments) };
    let mount = Pose::from_xyz_rpy([0.0, 0.0, 0.114], [FRAC_PI_2, 0.0, FRAC_PI_2]);
    let inertia = with(0.988882, [0.162992, 0.162992, 0.164814]);
    let gripper = BodyDef { X_PF: mount, inertia, ..def("gripper", parent.0, JointKind::Fixed) };
    let gripper = builder.add_body(gripper).unwrap();
    for (name, x, turn) in [("left", -0.0115, 3.141592), ("right", 0.0115, 0.0)] {
        let axis = if name == "left" { -Vec3::X } else { Vec3::X };
        let X_PF = Pose::from_xyz_rpy([x, 0.077133, 0.0], [0.0, turn, 0.0]);
        let inertia = with(0.05, [0.16; 3]);
        let finger = def(name, gripper, JointKind::Prismatic { axis });
        builder.add_body(BodyDef { X_PF, inertia, ..finger }).unwrap();
    }
    let model = builder.build().unwrap();
    let mut kin = model.create_kinematics();
    model.kinematics(&START, &mut kin);
    (model, kin)
}

/// Compares with a MuJoCo file of the same arm, whose frames have 12 digits relative to their
/// parents; they were chained by a separate script.
#[test]
fn the_fingers_are_where_another_model_of_the_arm_puts_them() {
    let (_, kin) = arm_with_gripper();
    let expected = [
        [0.550071095192, -0.060901661924, 0.059193951604],
        [0.549972286894, 0.062098293361, 0.059229120383],
    ];
    for (k, p) in expected.into_iter().enumerate() {
        let error = (kin.X_WB[9 + k].translation - p.into()).norm();
        assert!(error < 1e-11, "finger {k}: {error:e} m");
    }
}

/// Compares with Drake's mass matrix at the start, through the critical damping `D = 2 √(K M_ii)`
/// that a reference simulation computed from it and printed with 12 digits.
#[test]
fn the_inertia_of_the_arm_is_that_of_another_engine() {
    let (model, kin) = arm_with_gripper();
    let stiffness = [800.0, 600.0, 600.0, 600.0, 400.0, 200.0, 200.0];
    let damping = [
        86.6147599126,
        80.8810122468,
        57.0269357576,
        57.3596167421,
        28.7750140677,
        20.7175958961,
        19.6747599731,
    ];
    let n_v = model.n_v();
    let mut M = vec![0.0; n_v * n_v];
    model.mass_matrix(&kin, &mut M);
    for k in 0..7 {
        let D = 2.0 * (stiffness[k] * M[k * n_v + k]).sqrt();
        assert!((D - damping[k]).abs() < 1e-9, "joint {}: {D} against {}", k + 1, damping[k]);
    }
}
