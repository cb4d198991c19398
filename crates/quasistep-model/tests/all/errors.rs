//! Each invalid model is refused with a message that names the mistake.

use crate::common::def;
use quasistep_math::{Mat3, Pose, Quat, Vec3};
use quasistep_model::{
    BodyDef, BodyInertia, InertiaError, JointKind, Mimic, ModelBuilder, ModelError, PositionLimit,
    WORLD,
};

const HINGE: JointKind = JointKind::Revolute { axis: Vec3::Z };

/// Message for the body `wrong`, added after a hinge `a`. The builder must be unchanged.
fn refused(wrong: BodyDef) -> String {
    let mut builder = ModelBuilder::new();
    builder.add_body(def("a", WORLD, HINGE)).unwrap();
    let message = builder.add_body(wrong).unwrap_err().to_string();
    assert_eq!(builder.n_bodies(), 2);
    builder.add_body(def("b", 1, HINGE)).unwrap();
    message
}

/// Message for bodies that are valid individually but not together.
fn refused_together(bodies: Vec<BodyDef>) -> String {
    let mut builder = ModelBuilder::new();
    for body in bodies {
        builder.add_body(body).unwrap();
    }
    builder.build().unwrap_err().to_string()
}

fn following(name: &str, joint: JointKind, body: usize) -> BodyDef {
    BodyDef { mimic: Some(Mimic { body, multiplier: 1.0, offset: 0.0 }), ..def(name, WORLD, joint) }
}

#[test]
fn names_and_parents_must_fit() {
    assert_eq!(
        refused(def("b", 7, HINGE)),
        "body `test/b`: its parent has index 7, but only 2 bodies exist so far"
    );
    // a body cannot be its own parent
    assert!(refused(def("b", 2, HINGE)).contains("index 2"));
    let same_body = BodyDef { joint_name: "test.other".into(), ..def("a", WORLD, HINGE) };
    assert_eq!(refused(same_body), "two bodies are named `test/a`; names must differ");
    let same_joint = BodyDef { name: "test/other".into(), ..def("a", WORLD, HINGE) };
    assert_eq!(refused(same_joint), "two joints are named `test.a`; names must differ");
    let world = BodyDef { name: "world".into(), ..def("b", WORLD, HINGE) };
    assert_eq!(refused(world), "two bodies are named `world`; names must differ");
}

#[test]
fn an_axis_must_have_a_direction() {
    let zero = JointKind::Prismatic { axis: Vec3::ZERO };
    assert_eq!(
        refused(def("b", 1, zero)),
        "joint `test.b`: axis is (0, 0, 0); it must be finite and not zero"
    );
    let nan = JointKind::Continuous { axis: Vec3::new(0.0, f64::NAN, 1.0) };
    assert!(refused(def("b", 1, nan)).contains("(0, NaN, 1)"));
}

#[test]
fn axes_and_frames_are_normalised() {
    let mut builder = ModelBuilder::new();
    let mut body = def("a", WORLD, JointKind::Revolute { axis: Vec3::new(0.0, -1e-200, 0.0) });
    body.X_PF.rotation = Quat::new(1.0 + 5e-7, 0.0, 0.0, 0.0);
    builder.add_body(body).unwrap();
    let model = builder.build().unwrap();
    assert_eq!(model.body(1).joint, JointKind::Revolute { axis: -Vec3::Y });
    assert_eq!(model.body(1).X_PF, Pose::IDENTITY);
}

#[test]
fn a_frame_must_be_a_pose() {
    let sentence = "joint `test.b`: its frame has a position or rotation that is no pose";
    let at = |X_PF: Pose| BodyDef { X_PF, ..def("b", 1, HINGE) };
    let stretched = Quat::new(1.1, 0.0, 0.0, 0.0);
    assert_eq!(refused(at(Pose::new(stretched, Vec3::ZERO))), sentence);
    assert_eq!(refused(at(Pose::new(Quat::new(f64::NAN, 0.0, 0.0, 0.0), Vec3::ZERO))), sentence);
    assert_eq!(refused(at(Pose::from_translation(Vec3::X * f64::INFINITY))), sentence);
}

#[test]
fn limits_must_be_in_order() {
    let limited = |l: [f64; 2]| BodyDef { limits: Some(l), ..def("b", 1, HINGE) };
    assert_eq!(
        refused(limited([1.0, -1.0])),
        "joint `test.b`: limits are [1, -1]; lower must be ≤ upper"
    );
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    for wrong in [[nan, 1.0], [0.0, nan], [inf, inf], [-inf, -inf]] {
        assert!(refused(limited(wrong)).contains("lower must be ≤ upper"), "{wrong:?}");
    }
    for (joint, kind) in [
        (JointKind::Fixed, "fixed"),
        (JointKind::Planar, "planar"),
        (JointKind::Ball, "ball"),
        (JointKind::Free, "free"),
    ] {
        assert_eq!(
            refused(BodyDef { limits: Some([0.0, 1.0]), ..def("b", 1, joint) }),
            format!("joint `test.b` is {kind}; only joints with one dof have position limits")
        );
    }
}

#[test]
fn a_body_must_be_physically_possible() {
    let ok = BodyInertia { mass: 1.0, com: Vec3::X, inertia: Mat3::diagonal([1.0, 2.0, 3.0]) };
    assert_eq!(ok.check(), Ok(()));
    assert_eq!(BodyInertia::default().check(), Ok(()));
    assert_eq!(BodyInertia { inertia: Mat3::ZERO, ..ok }.check(), Ok(()), "a point mass");

    let say = |inertia: BodyInertia| refused(BodyDef { inertia, ..def("b", 1, HINGE) });
    assert_eq!(
        say(BodyInertia { mass: -2.0, ..ok }),
        "body `test/b`: mass is -2; it must be a finite number ≥ 0 kg"
    );
    for mass in [f64::NAN, f64::INFINITY] {
        assert!(say(BodyInertia { mass, ..ok }).contains("finite number ≥ 0 kg"));
    }
    assert!(say(BodyInertia { com: Vec3::X * f64::NAN, ..ok }).contains("centre of mass is (NaN"));
    let inertia = Mat3::diagonal([1.0, f64::INFINITY, 1.0]);
    assert!(say(BodyInertia { inertia, ..ok }).contains("not a finite number"));
    assert!(say(BodyInertia { mass: 0.0, ..ok }).contains("not zero but the mass is"));

    let mut skew = Mat3::diagonal([1.0, 2.0, 2.0]);
    skew.rows[0].y = 0.1;
    assert_eq!(
        say(BodyInertia { inertia: skew, ..ok }),
        "body `test/b`: inertia is not symmetric: entry (0, 1) is 0.1, entry (1, 0) is 0"
    );
    let inertia = Mat3::diagonal([2.0, -1.0, 2.0]);
    assert_eq!(
        say(BodyInertia { inertia, ..ok }),
        "body `test/b`: principal moments of inertia are -1, 2 and 2 kg·m²; none may be negative"
    );
    let inertia = Mat3::diagonal([3.5, 1.0, 2.0]);
    assert_eq!(
        say(BodyInertia { inertia, ..ok }),
        "body `test/b`: principal moments of inertia are 1, 2 and 3.5 kg·m²; no body has a moment \
         larger than the sum of the other two"
    );
}

/// Principal moments are checked: a matrix with a valid diagonal may still be invalid.
#[test]
fn moments_are_taken_about_principal_axes() {
    // principal moments 0.1 and 1.9 in the xy plane, 1.0 about z
    let inertia = Mat3::symmetric([1.0, 1.0, 1.0, 0.9, 0.0, 0.0]);
    let body = BodyInertia { mass: 1.0, com: Vec3::ZERO, inertia };
    let Err(InertiaError::Triangle { moments }) = body.check() else {
        panic!("{:?}", body.check())
    };
    for (got, expected) in moments.iter().zip([0.1, 1.0, 1.9]) {
        assert!((got - expected).abs() < 1e-15);
    }
}

#[test]
fn mimic_joints_and_their_leaders_have_one_dof() {
    assert_eq!(
        refused_together(vec![def("a", WORLD, JointKind::Ball), following("b", HINGE, 1)]),
        "joint `test.b` (revolute) mimics `test.a` (ball); both must have one dof"
    );
    assert_eq!(
        refused_together(vec![def("a", WORLD, HINGE), following("b", JointKind::Planar, 1)]),
        "joint `test.b` (planar) mimics `test.a` (revolute); both must have one dof"
    );
    assert_eq!(
        refused_together(vec![def("a", WORLD, JointKind::Fixed), following("b", HINGE, 1)]),
        "joint `test.b` (revolute) mimics `test.a` (fixed); both must have one dof"
    );
    assert_eq!(
        refused_together(vec![following("b", HINGE, WORLD)]),
        "joint `test.b` (revolute) mimics `world` (fixed); both must have one dof"
    );
    assert_eq!(
        refused_together(vec![following("b", HINGE, 9)]),
        "joint `test.b` mimics the joint of body 9, but there are 2 bodies"
    );
    let mut endless = following("b", HINGE, 1);
    endless.mimic = Some(Mimic { body: 1, multiplier: f64::INFINITY, offset: 0.0 });
    assert_eq!(
        refused(endless),
        "joint `test.b`: mimic multiplier is inf and offset 0; both must be finite"
    );
}

#[test]
fn mimic_joints_must_not_follow_themselves() {
    assert_eq!(
        refused_together(vec![following("a", HINGE, 1)]),
        "joint `test.a` mimics `test.a`, which leads back to it; one joint must lead"
    );
    // `a` leads into the loop of `b` and `c` but is not part of it
    let message = refused_together(vec![
        following("a", HINGE, 2),
        following("b", HINGE, 3),
        following("c", HINGE, 2),
    ]);
    let (bc, cb) = ("`test.b` mimics `test.c`", "`test.c` mimics `test.b`");
    assert!(message.contains(bc) || message.contains(cb), "{message}");
}

#[test]
fn limits_of_a_mimic_joint_tighten_those_of_its_leader() {
    let slide = JointKind::Prismatic { axis: Vec3::X };
    let leader = || BodyDef { limits: Some([0.0, 1.0]), ..def("a", WORLD, slide) };
    let follower = |multiplier: f64, offset: f64, limits: [f64; 2]| BodyDef {
        mimic: Some(Mimic { body: 2, multiplier, offset }),
        limits: Some(limits),
        ..def("b", WORLD, slide)
    };
    let limits = |body: BodyDef| {
        let mut builder = ModelBuilder::new();
        builder.add_body(def("free", WORLD, JointKind::Free)).unwrap();
        builder.add_body(leader()).unwrap();
        builder.add_body(body).unwrap();
        builder.build().map(|m| m.limits().to_vec())
    };
    let one = |lower, upper| Ok(vec![PositionLimit { dof: 6, q_index: 7, lower, upper, body: 2 }]);
    // limits on −2 q: −1.5 ≤ −2 q ≤ 0.5
    assert_eq!(limits(follower(-2.0, 0.0, [-1.5, 0.5])), one(0.0, 0.75));
    // limits on 4 q − 2: −1 ≤ 4 q − 2 ≤ 1
    assert_eq!(limits(follower(4.0, -2.0, [-1.0, 1.0])), one(0.25, 0.75));
    assert_eq!(limits(follower(1.0, 0.0, [f64::NEG_INFINITY, f64::INFINITY])), one(0.0, 1.0));
    assert_eq!(limits(follower(0.0, 0.5, [0.0, 1.0])), one(0.0, 1.0));
    let impossible = |multiplier, offset| {
        let result = limits(follower(multiplier, offset, [2.0, 3.0]));
        matches!(result, Err(ModelError::MimicLimits { .. }))
    };
    assert!(impossible(1.0, 0.0) && impossible(0.0, 0.5));
    assert_eq!(
        limits(follower(1.0, 0.0, [2.0, 3.0])).unwrap_err().to_string(),
        "no position of joint `test.a` keeps joint `test.b`, which mimics it, within [2, 3]"
    );
}

#[test]
fn only_limited_coordinates_are_listed() {
    let mut builder = ModelBuilder::new();
    let limited = |name: &str, limits| BodyDef { limits, ..def(name, WORLD, HINGE) };
    let inf = f64::INFINITY;
    builder.add_body(limited("none", None)).unwrap();
    builder.add_body(limited("endless", Some([-inf, inf]))).unwrap();
    builder.add_body(limited("one_sided", Some([-inf, 2.0]))).unwrap();
    builder.add_body(limited("locked", Some([1.0, 1.0]))).unwrap();
    let model = builder.build().unwrap();
    let expected = [(2, -inf, 2.0, 3), (3, 1.0, 1.0, 4)];
    let expected = expected.map(|(k, lower, upper, body)| PositionLimit {
        dof: k,
        q_index: k,
        lower,
        upper,
        body,
    });
    assert_eq!(model.limits(), expected);
}
