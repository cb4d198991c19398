//! Inverse kinematics and paths: reached poses, limits, posture, distances, and unreachable
//! targets.

use quasistep::{
    Actuator, Follower, FrameTarget, Geom, IkError, IkSettings, Orientation, PairFriction, Role,
    Surface, System, SystemDef,
};
use quasistep_geometry::Shape;
use quasistep_math::{Pose, Quat, Vec3};
use quasistep_model::{BodyDef, BodyInertia, Frame, JointKind, ModelBuilder, WORLD};

/// A linear congruential generator, which gives the same samples on every machine.
struct Samples(u64);

impl Samples {
    /// Uniform in 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

struct Arm {
    system: System,
    hand: Frame,
    limits: Vec<[f64; 2]>,
}

/// Hinges in a row: axis, offset from the hinge before (times `size`), limits. The hand is at `tip`
/// from the last hinge.
fn arm(joints: &[(Vec3, Vec3, f64)], tip: Vec3, size: f64, obstacles: &[(Vec3, f64)]) -> Arm {
    let mut builder = ModelBuilder::new();
    let mut roles = vec![Role::Passive];
    let mut geoms = Vec::new();
    let mut geom = |name: &str, body: usize, p: Vec3, radius: f64| {
        geoms.push(Geom {
            name: format!("{name}/shape"),
            body,
            X_BG: Pose::from_translation(p * size),
            shape: Shape::Sphere { radius: radius * size },
            surface: Surface::default(),
        });
    };
    let mut parent = WORLD;
    for (k, (axis, shift, limit)) in joints.iter().enumerate() {
        parent = builder
            .add_body(BodyDef {
                name: format!("arm/link{k}"),
                joint_name: format!("arm.j{k}"),
                parent,
                X_PF: Pose::from_translation(*shift * size),
                joint: JointKind::Revolute { axis: *axis },
                inertia: BodyInertia::default(),
                limits: Some([-limit, *limit]),
                mimic: None,
                gravity: 0.0,
            })
            .unwrap();
        roles.push(Role::Actuated(Actuator {
            stiffness: vec![100.0],
            damping: vec![0.0],
            effort_limit: vec![f64::INFINITY],
            ..Actuator::default()
        }));
    }
    geom("hand", parent, tip, 0.05);
    for (k, (p, radius)) in obstacles.iter().enumerate() {
        geom(&format!("obstacle{k}"), WORLD, *p, *radius);
    }
    let model = builder.build().unwrap();
    let system = System::new(SystemDef {
        model,
        geoms,
        instances: vec![0; roles.len()],
        roles,
        friction: PairFriction::default(),
        friction_exceptions: Vec::new(),
        excluded: Vec::new(),
        springs: Vec::new(),
        constraints: Vec::new(),
        pads: Vec::new(),
    })
    .unwrap();
    let hand = Frame { body: parent, X_BF: Pose::from_translation(tip * size) };
    Arm { system, hand, limits: joints.iter().map(|j| [-j.2, j.2]).collect() }
}

/// An arm with the proportions and limits of a common seven-joint arm (iiwa 7).
fn seven(size: f64, obstacles: &[(Vec3, f64)]) -> Arm {
    let (z, y) = (Vec3::Z, Vec3::Y);
    let up = |h: f64| Vec3::new(0.0, 0.0, h);
    let joints = [
        (z, up(0.15), 2.967),
        (y, up(0.19), 2.094),
        (z, up(0.21), 2.967),
        (y * -1.0, up(0.19), 2.094),
        (z, up(0.21), 2.967),
        (y, up(0.19), 2.094),
        (z, up(0.081), 3.054),
    ];
    arm(&joints, up(0.045), size, obstacles)
}

fn pose(arm: &Arm, q: &[f64]) -> Pose {
    let mut kin = arm.system.model().create_kinematics();
    arm.system.model().kinematics(q, &mut kin);
    arm.system.model().frame_pose(&kin, &arm.hand)
}

fn random_q(arm: &Arm, s: &mut Samples) -> Vec<f64> {
    arm.limits.iter().map(|[a, b]| a + s.next() * (b - a)).collect()
}

fn check(arm: &Arm, target: &FrameTarget, q: &[f64], size: f64) {
    let X = pose(arm, q);
    if let Some(p) = target.position {
        assert!(
            (X.translation - p).norm() <= 1e-6 * size.min(1.0),
            "{:?} and {p:?}",
            X.translation
        );
    }
    if let Orientation::Fixed(R) = target.orientation {
        assert!((R * X.rotation.inverse()).to_rotation_vector().norm() <= 1e-6);
    }
    for (x, [a, b]) in q.iter().zip(&arm.limits) {
        assert!(a <= x && x <= b, "{x} is not in [{a}, {b}]");
    }
}

/// Poses of random configurations within limits are all reached from one start.
#[test]
fn seven_joints_of_any_size_reach_what_they_can() {
    for size in [1e-3, 1.0, 1e3] {
        let arm = seven(size, &[]);
        let s = &mut Samples(5);
        let q0 = [0.0, 0.5, 0.0, -1.2, 0.0, 0.8, 0.0];
        let n = 300;
        let (mut reached, mut first) = (0, 0);
        for _ in 0..n {
            let target = FrameTarget::from(pose(&arm, &random_q(&arm, s)));
            let settings = IkSettings::default();
            match arm.system.inverse_kinematics(&arm.hand, &target, &q0, &settings) {
                Ok(answer) => {
                    check(&arm, &target, &answer.q, size);
                    reached += 1;
                    first += u32::from(answer.attempts == 1);
                }
                Err(IkError::NotReached(not)) => println!("size {size}: {not}"),
                Err(other) => panic!("{other}"),
            }
        }
        println!("size {size}: {reached} of {n}, {first} from the first start");
        assert!(reached * 100 >= n * 99, "size {size}: {reached} of {n}");
    }
}

#[test]
fn arms_of_two_and_three_joints_in_a_plane_reach_positions_and_poses() {
    let link = Vec3::X;
    let two = [(Vec3::Z, Vec3::ZERO, 3.0), (Vec3::Z, link, 2.8)];
    let three = [(Vec3::Z, Vec3::ZERO, 3.0), (Vec3::Z, link, 2.8), (Vec3::Z, link * 0.8, 2.8)];
    let s = &mut Samples(7);
    for (joints, with_axes) in [(&two[..], false), (&three[..], true), (&three[..], false)] {
        let arm = arm(joints, link * 0.5, 1.0, &[]);
        for _ in 0..200 {
            let X = pose(&arm, &random_q(&arm, s));
            let mut target = FrameTarget::from(X);
            if !with_axes {
                target.orientation = Orientation::Free;
            }
            let q0 = vec![0.3; joints.len()];
            let settings = IkSettings::default();
            let answer = arm.system.inverse_kinematics(&arm.hand, &target, &q0, &settings);
            check(&arm, &target, &answer.unwrap().q, 1.0);
        }
    }
}

/// Of the configurations that reach a pose, the result is the nearest to the start: its
/// displacement is orthogonal to the null motion of the hand.
#[test]
fn a_redundant_arm_stays_near_its_posture() {
    let arm = seven(1.0, &[]);
    let q0 = vec![0.2, 0.5, -0.1, -1.2, 0.3, 0.8, 0.1];
    let here = FrameTarget::from(pose(&arm, &q0));
    let settings = IkSettings::default();
    let stay = arm.system.inverse_kinematics(&arm.hand, &here, &q0, &settings).unwrap();
    assert_eq!(stay.q, q0);

    let mut X = pose(&arm, &q0);
    X.translation += Vec3::new(0.1, -0.15, 0.05);
    let q = arm.system.inverse_kinematics(&arm.hand, &X.into(), &q0, &settings).unwrap().q;
    let mut kin = arm.system.model().create_kinematics();
    arm.system.model().kinematics(&q, &mut kin);
    let mut J = vec![0.0; 42];
    arm.system.model().frame_jacobian(&kin, &arm.hand, &mut J);
    // null vector by cofactors: J times it is zero for any J
    let minor = |skip: usize| {
        let mut m: Vec<Vec<f64>> = J
            .chunks(7)
            .map(|row| (0..7).filter(|k| *k != skip).map(|k| row[k]).collect())
            .collect();
        let mut det = 1.0;
        for c in 0..6 {
            let p = (c..6).max_by(|a, b| m[*a][c].abs().total_cmp(&m[*b][c].abs())).unwrap();
            if p != c {
                m.swap(p, c);
                det = -det;
            }
            det *= m[c][c];
            for r in c + 1..6 {
                let f = m[r][c] / m[c][c];
                for k in c..6 {
                    m[r][k] -= f * m[c][k];
                }
            }
        }
        if skip.is_multiple_of(2) { det } else { -det }
    };
    let null: Vec<f64> = (0..7).map(minor).collect();
    let norm = |x: &[f64]| x.iter().map(|a| a * a).sum::<f64>().sqrt();
    let away: Vec<f64> = q.iter().zip(&q0).map(|(a, b)| a - b).collect();
    let along = away.iter().zip(&null).map(|(a, b)| a * b).sum::<f64>() / norm(&null);
    assert!(norm(&away) < 1.0 && along.abs() < 1e-5, "{along} of {}", norm(&away));
}

#[test]
fn one_axis_or_no_position_may_be_asked_for() {
    let arm = seven(1.0, &[]);
    let q0 = vec![0.2, 0.5, -0.1, -1.2, 0.3, 0.8, 0.1];
    let (axis_F, direction_W) = (Vec3::Z, Vec3::new(0.0, 0.0, -2.0));
    let p = Vec3::new(0.5, 0.1, 0.3);
    let axis = Orientation::Axis { axis_F, direction_W };
    let target = FrameTarget { position: Some(p), orientation: axis };
    let settings = IkSettings::default();
    let q = arm.system.inverse_kinematics(&arm.hand, &target, &q0, &settings).unwrap().q;
    let X = pose(&arm, &q);
    assert!((X.translation - p).norm() < 1e-6);
    assert!((X.rotation.rotate(axis_F) + Vec3::Z).norm() < 2e-6);

    let R = Quat::from_rpy([3.0, 0.2, 1.0]);
    let target = FrameTarget { position: None, orientation: Orientation::Fixed(R) };
    let q = arm.system.inverse_kinematics(&arm.hand, &target, &q0, &settings).unwrap().q;
    assert!((pose(&arm, &q).rotation * R.inverse()).to_rotation_vector().norm() < 1e-6);
}

#[test]
fn what_is_returned_keeps_its_distance_and_an_error_names_the_pair() {
    let at = Vec3::new(0.45, 0.0, 0.4);
    let arm = seven(1.0, &[(at, 0.1)]);
    let q0 = vec![0.2, 0.5, -0.1, -1.2, 0.3, 0.8, 0.1];
    let avoid = 0.02;
    let settings = IkSettings { avoid: Some(avoid), ..IkSettings::default() };
    let distance = |q: &[f64]| (pose(&arm, q).translation - at).norm() - 0.15;
    let s = &mut Samples(9);
    let (mut kept, mut refused) = (0, 0);
    for _ in 0..60 {
        // a target in front of the obstacle or beside it, within reach
        let shift = Vec3::new(0.5 * s.next(), s.next() - 0.5, s.next() - 0.5) * 0.6;
        let target = FrameTarget { position: Some(at + shift), orientation: Orientation::Free };
        match arm.system.inverse_kinematics(&arm.hand, &target, &q0, &settings) {
            Ok(answer) => {
                assert!(distance(&answer.q) >= avoid, "{}", distance(&answer.q));
                kept += 1;
            }
            Err(IkError::NotReached(not)) => {
                assert!(shift.norm() < 0.15 + avoid + 1e-6, "{not}");
                let pair = not.too_near.as_ref().unwrap();
                assert_eq!((pair.a.as_str(), pair.b.as_str()), ("arm/link6", "world"), "{not}");
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(kept > 30 && refused > 5, "{kept} kept, {refused} refused");
}

#[test]
fn a_target_out_of_reach_is_an_error_with_the_nearest_configuration() {
    let arm = seven(1.0, &[]);
    let q0 = vec![0.2, 0.5, -0.1, -1.2, 0.3, 0.8, 0.1];
    // the shoulder is 0.34 m high, and the arm reaches 0.926 m from there
    let target =
        FrameTarget { position: Some(Vec3::new(2.0, 0.0, 0.34)), orientation: Orientation::Free };
    let settings = IkSettings { attempts: 3, ..IkSettings::default() };
    let error = arm.system.inverse_kinematics(&arm.hand, &target, &q0, &settings).unwrap_err();
    let IkError::NotReached(not) = &error else { panic!("{error}") };
    let reach = 0.21 + 0.19 + 0.21 + 0.19 + 0.081 + 0.045;
    assert!((not.position_error - (2.0 - reach)).abs() < 1e-3, "{error}");
    assert!(not.singular && not.at_limit.is_empty(), "{error}");
    assert!(error.to_string().starts_with("`arm/link6` does not reach [2.0000, 0.0000, 0.3400] m"));

    let limited = IkSettings { limits: vec![(1, [3.0, 4.0])], ..IkSettings::default() };
    let error = arm.system.inverse_kinematics(&arm.hand, &target, &q0, &limited).unwrap_err();
    assert!(error.to_string().contains("limits: none of [3, 4] is within"), "{error}");
    let error = arm.system.inverse_kinematics(&arm.hand, &target, &q0[..3], &settings).unwrap_err();
    assert!(error.to_string().contains("`q0` has 3 entries"), "{error}");
}

#[test]
fn a_path_is_continuous_straight_and_comes_back() {
    let arm = seven(1.0, &[]);
    let q0 = vec![0.2, 0.5, -0.1, -1.2, 0.3, 0.8, 0.1];
    let X0 = pose(&arm, &q0);
    let n = 80;
    // out and back along a line, with rotation
    let targets: Vec<FrameTarget> = (0..=n)
        .map(|k| {
            let s = (std::f64::consts::PI * f64::from(k) / f64::from(n)).sin();
            let turn = Quat::from_axis_angle(Vec3::Z, 0.5 * s);
            Pose::new(turn * X0.rotation, X0.translation + Vec3::new(-0.1, 0.3, -0.1) * s).into()
        })
        .collect();
    let settings = IkSettings::default();
    let path = arm.system.follow(&arm.hand, &targets, 1, &q0, &settings).unwrap();
    assert_eq!(path.len(), targets.len());
    for (q, target) in path.iter().zip(&targets) {
        check(&arm, target, q, 1.0);
    }
    for pair in path.windows(2) {
        let step = pair[0].iter().zip(&pair[1]).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(step < 0.1, "a joint moves by {step}");
    }
    // the same path given by its ends and sampled
    let ends = [targets[0].clone(), targets[n as usize / 2].clone()];
    let half = arm.system.follow(&arm.hand, &ends, 20, &q0, &settings).unwrap();
    assert_eq!(half.len(), 21);
    for (k, q) in half.iter().enumerate() {
        let s = k as f64 / 20.0;
        let turn = Quat::from_axis_angle(Vec3::Z, 0.5 * s);
        let X = Pose::new(turn * X0.rotation, X0.translation + Vec3::new(-0.1, 0.3, -0.1) * s);
        check(&arm, &X.into(), q, 1.0);
    }
    let back = path[n as usize].iter().zip(&q0).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
    assert!(back < 1e-5, "{back} off after the way back");
}

#[test]
fn a_path_that_leaves_the_reach_names_the_point() {
    let arm = seven(1.0, &[]);
    let q0 = vec![0.2, 0.5, -0.1, -1.2, 0.3, 0.8, 0.1];
    let X0 = pose(&arm, &q0);
    let shoulder = Vec3::new(0.0, 0.0, 0.34);
    let targets: Vec<FrameTarget> = (0..20)
        .map(|k| FrameTarget {
            position: Some(X0.translation + Vec3::X * (0.05 * f64::from(k))),
            orientation: Orientation::Free,
        })
        .collect();
    let far = |t: &FrameTarget| (t.position.unwrap() - shoulder).norm() > 0.926;
    let first = targets.iter().position(far).unwrap();
    let settings = IkSettings::default();
    let error = arm.system.follow(&arm.hand, &targets, 1, &q0, &settings).unwrap_err();
    let IkError::NotReached(not) = &error else { panic!("{error}") };
    assert_eq!(not.point, Some((first, 20)), "{error}");
    // the follower's configuration is unchanged after an error
    let mut follower = Follower::new(&arm.system, &arm.hand, &q0, &settings).unwrap();
    assert!(follower.go_to(&targets[19]).is_err());
    assert_eq!(follower.pose(), X0);
}
