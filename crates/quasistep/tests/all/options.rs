//! Options that reproduce the step of Pang21 (10) literally: scaled passive mass, tangents from the
//! normal, and unbounded margin, recovery and overlap.

use crate::common::{World, ball, slide, spring};
use quasistep::{
    Cone, Derivatives, Formulation, Inertia, InputChange, Mode, OutputChange, Relaxation, Role,
    State, StepInput, StepParams, System, TangentAxes,
};
use quasistep_geometry::Shape;
use quasistep_math::{Mat3, Pose, Vec3};
use quasistep_model::{BodyInertia, JointKind, WORLD};

const FORMULATIONS: [fn(Cone) -> Formulation; 3] = [
    |cone| Formulation::convex(cone),
    |cone| Formulation::exact(cone),
    |cone| Formulation::dynamic(cone),
];

fn params(cone: Cone) -> StepParams {
    StepParams {
        time_step: 0.05,
        inertia: Inertia::Mass,
        relaxation: Relaxation::Step,
        formulation: Formulation::convex(cone),
        ..StepParams::default()
    }
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

fn q_after(system: &System, q: &[f64], q_cmd: &[f64], params: &StepParams) -> Vec<f64> {
    let mut state = State::at_rest(0.0, q.to_vec());
    system.step(&mut state, q_cmd, params, &mut system.create_workspace()).unwrap();
    state.q
}

/// A spring of 40 N/m pushes the first of two blocks of the given masses.
fn pusher(masses: [f64; 2]) -> System {
    let mut world = World::new();
    let finger = world.body("finger", WORLD, slide(Vec3::X), 0.0, spring(40.0));
    let other = world.body("other", WORLD, slide(Vec3::Y), 0.0, spring(70.0));
    world.shape(finger, ball(0.05), [0.0; 3], 0.0);
    world.shape(other, ball(0.05), [0.0, 0.0, 5.0], 0.0);
    for (k, m) in masses.into_iter().enumerate() {
        let block = world.body(&format!("block {k}"), WORLD, slide(Vec3::X), m, Role::Passive);
        world.shape(block, ball(0.05), [0.1, 0.0, 9.0 * k as f64], 0.0);
    }
    world.build()
}

/// `ε M = h² min K / s` for a body on one slide: `(h² K + ε M) v = h K Δq_cmd` after contact, for
/// any mass.
#[test]
fn scaled_mass_is_a_share_of_the_softest_spring() {
    let scaled = StepParams { passive_mass_scale: Some(5.0), ..params(Cone::Round) };
    for masses in [[0.3, 2.0], [20.0, 0.01]] {
        let system = pusher(masses);
        let q = q_after(&system, &[0.0; 4], &[0.06, 0.0], &scaled);
        let want = 0.06 / (1.0 + 1.0 / 5.0);
        assert!(apart(&q, &[want, 0.0, want, 0.0]) < 1e-12, "{q:?}");
        // unscaled mass
        let q = q_after(&system, &[0.0; 4], &[0.06, 0.0], &params(Cone::Round));
        let want = 0.06 / (1.0 + masses[0] / (0.05 * 0.05 * 40.0));
        assert!(apart(&q, &[want, 0.0, want, 0.0]) < 1e-12, "{q:?}");
    }
}

#[test]
fn a_scale_of_mass_without_meaning_is_an_error() {
    let system = pusher([1.0, 1.0]);
    let complaint = |system: &System, params: &StepParams| {
        let n_cmd = system.n_cmd();
        let mut state = State::at_rest(0.0, vec![0.0; system.model().n_q()]);
        let mut work = system.create_workspace();
        system.step(&mut state, &vec![0.0; n_cmd], params, &mut work).unwrap_err().to_string()
    };
    let none = StepParams { inertia: Inertia::None, ..params(Cone::Round) };
    let why = complaint(&system, &StepParams { passive_mass_scale: Some(5.0), ..none });
    assert!(why.contains("`passive_mass_scale` is 5 with inertia none"), "{why}");
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let why = complaint(
            &system,
            &StepParams { passive_mass_scale: Some(scale), ..params(Cone::Round) },
        );
        assert!(why.contains("it must be > 0"), "{why}");
    }
    let mut world = World::new();
    world.body("block", WORLD, slide(Vec3::X), 1.0, Role::Passive);
    let scaled = StepParams { passive_mass_scale: Some(5.0), ..params(Cone::Round) };
    let why = complaint(&world.build(), &scaled);
    assert!(why.contains("no joint has a stiffness"), "{why}");
}

/// A finger on two slides pushes a free block and a passive arm of two hinges, whose mass matrix
/// changes as it folds.
fn arm_and_block(scale: [f64; 3]) -> (System, Vec<f64>, Vec<f64>) {
    let mut world = World::new();
    let [stiffness, mass, mu] = scale;
    let lift = world.body("lift", WORLD, slide(Vec3::Z), 0.0, spring(90.0));
    let finger = world.body("finger", lift, slide(Vec3::X), 0.0, spring(stiffness));
    world.shape(finger, ball(0.05), [0.0, 0.0, 0.4], 0.6);
    let bar = |m: f64| BodyInertia {
        mass: m,
        com: Vec3::new(0.0, 0.02, 0.15),
        inertia: Mat3::diagonal([m * 0.01, m * 0.008, m * 0.003]),
    };
    let hinge = |axis| JointKind::Revolute { axis };
    let upper = world.body_with("upper", WORLD, hinge(Vec3::Y), bar(mass), Role::Passive, None);
    let lower = world.body_with(
        "lower",
        upper,
        hinge(Vec3::new(0.1, 1.0, 0.0).try_normalize().unwrap()),
        bar(0.5),
        Role::Passive,
        None,
    );
    world.shape(lower, ball(0.06), [0.108, 0.0, 0.39], mu);
    let inertia = BodyInertia {
        mass: 0.7,
        com: Vec3::new(0.01, 0.0, -0.01),
        inertia: Mat3::diagonal([0.9, 0.4, 0.6]),
    };
    let block = world.body_with("block", WORLD, JointKind::Free, inertia, Role::Passive, None);
    world.shape(block, Shape::Box { half: [0.1; 3] }, [0.0; 3], mu);
    let system = world.build();
    let turned = Pose::from_xyz_rpy([0.20, 0.01, 0.42], [0.2, -0.1, 0.3]);
    let mut q = vec![0.0, 0.0, 0.02, -0.03];
    q.extend(turned.rotation.to_array());
    q.extend(turned.translation.to_array());
    (system, q, vec![0.03, 0.07])
}

/// Stiffness of the finger, mass of the upper bar and friction of [`arm_and_block`].
const SCALE: [f64; 3] = [60.0, 0.4, 0.5];

/// Derivatives of the step of [`arm_and_block`] at `q`.
fn differentiated(
    system: &System,
    q: &[f64],
    q_cmd: &[f64],
    params: &StepParams,
    mode: Mode,
) -> Derivatives {
    let state = State::at_rest(0.0, q.to_vec());
    let input = StepInput { q_cmd: q_cmd.to_vec(), ..StepInput::default() };
    let mut d = system.create_derivatives();
    d.set_warm_start(false);
    system.differentiate(&state, &input, params, mode, &mut d).unwrap();
    d
}

/// Unit changes of the configuration, then of stiffness, mass and time step, each with its name and
/// the central difference of fourth order of `q_next`.
fn differences(mode: Mode, params: &StepParams) -> Vec<(String, InputChange, Vec<f64>)> {
    const EPS: f64 = 1e-5;
    let (system, q, q_cmd) = arm_and_block(SCALE);
    let n_v = system.model().n_v();
    let next = differentiated(&system, &q, &q_cmd, params, mode).q_next().to_vec();
    let difference = |moved: &dyn Fn(f64) -> Derivatives| -> Vec<f64> {
        let [a, b, c, e] = [EPS, -EPS, 2.0 * EPS, -2.0 * EPS].map(|x| {
            let mut dq = vec![0.0; n_v];
            system.model().difference(&next, moved(x).q_next(), &mut dq);
            dq
        });
        (0..n_v).map(|i| (8.0 * (a[i] - b[i]) - (c[i] - e[i])) / (12.0 * EPS)).collect()
    };
    let mut changes = Vec::new();
    for k in 0..n_v {
        let mut unit = vec![0.0; n_v];
        unit[k] = 1.0;
        let want = difference(&|x| {
            let mut q_moved = vec![0.0; q.len()];
            system.model().integrate(&q, &unit, x, &mut q_moved);
            differentiated(&system, &q_moved, &q_cmd, params, mode)
        });
        changes.push((format!("q {k}"), InputChange { q: unit, ..Default::default() }, want));
    }
    for (k, name) in ["stiffness", "mass", "time step"].into_iter().enumerate() {
        let want = difference(&|x| {
            let (mut scale, mut params) = (SCALE, params.clone());
            if k < 2 {
                scale[k] += x;
            } else {
                params.time_step += x;
            }
            differentiated(&arm_and_block(scale).0, &q, &q_cmd, &params, mode)
        });
        let mut change = InputChange::default();
        match k {
            0 => change.stiffness = vec![0.0, 1.0],
            1 => change.mass = vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
            _ => change.time_step = 1.0,
        }
        changes.push((name.into(), change, want));
    }
    changes
}

/// Gradients of each entry of `q_next`.
fn gradients(system: &System, d: &mut Derivatives) -> Vec<InputChange> {
    let n_v = system.model().n_v();
    let of = |i: usize| {
        let mut weights = vec![0.0; n_v];
        weights[i] = 1.0;
        let mut gradient = InputChange::default();
        let weights = OutputChange { q_next: weights, ..OutputChange::default() };
        d.vjp(system, &weights, &mut gradient).unwrap();
        gradient
    };
    (0..n_v).map(of).collect()
}

/// Jacobian-vector products, matrices and transposed products against differences of steps.
fn check_derivatives(mode: Mode, params: &StepParams, what: &str) {
    let params = &StepParams { max_overlap: f64::INFINITY, ..params.clone() };
    let (system, q, q_cmd) = arm_and_block(SCALE);
    let mut d = differentiated(&system, &q, &q_cmd, params, mode);
    let loaded = d.report().contacts.iter().filter(|c| c.normal_force > 0.1).count();
    assert!(loaded >= 2, "{what}: {:?}", d.report().contacts);
    let n_v = system.model().n_v();
    let (mut by_q, mut by_u) = (vec![0.0; n_v * n_v], vec![0.0; n_v * 2]);
    d.jacobian(&system, &mut by_q, &mut by_u).unwrap();
    let gradients = gradients(&system, &mut d);
    for (k, (name, change, want)) in differences(mode, params).iter().enumerate() {
        let mut out = OutputChange::default();
        d.jvp(&system, change, false, &mut out).unwrap();
        let size = want.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
        let off = apart(&out.q_next, want) / size;
        assert!(off < 2e-6, "{what}, {name}: {off:e}\n{:?}\n{want:?}", out.q_next);
        for (i, (got, g)) in out.q_next.iter().zip(&gradients).enumerate() {
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let transpose = dot(&g.q, &change.q)
                + dot(&g.stiffness, &change.stiffness)
                + dot(&g.mass, &change.mass)
                + g.time_step * change.time_step;
            assert!(
                (transpose - got).abs() < 1e-9 * size,
                "{what}, {name}, {i}: {transpose} {got}"
            );
            if k < n_v {
                let entry = by_q[i * n_v + k];
                assert!((entry - got).abs() < 1e-9 * size, "{what}, {name}, {i}: {entry} {got}");
            }
        }
    }
}

#[test]
fn derivatives_know_the_scale_of_mass() {
    for mode in [Mode::Exact, Mode::Smooth { kappa: 1e-3 }] {
        for cone in [Cone::Pyramid(4), Cone::Round] {
            for scale in [None, Some(0.7), Some(5.0)] {
                let params = StepParams { passive_mass_scale: scale, ..params(cone) };
                check_derivatives(mode, &params, &format!("{mode:?} {cone} {scale:?}"));
            }
        }
    }
}

#[test]
fn derivatives_know_tangents_that_follow_the_normal() {
    for mode in [Mode::Exact, Mode::Smooth { kappa: 1e-3 }] {
        for cone in [Cone::Pyramid(2), Cone::Pyramid(4), Cone::Pyramid(6), Cone::Box] {
            let params = StepParams { tangents: TangentAxes::Normal, ..params(cone) };
            check_derivatives(mode, &params, &format!("{mode:?} {cone}"));
        }
    }
}

/// `Q + h/2 w Q`, normalised, for a body that a torque rotates by 2 rad in a step.
#[test]
fn linear_rotations_add_the_rate_of_the_quaternion() {
    let mut world = World::new();
    let inertia =
        BodyInertia { mass: 1.0, com: Vec3::ZERO, inertia: Mat3::diagonal([0.02, 0.03, 0.04]) };
    let body = world.body_with("body", WORLD, JointKind::Free, inertia, Role::Passive, None);
    let system = world.build();
    let wrench = quasistep::Wrench {
        body,
        p_B: Vec3::ZERO,
        force_W: Vec3::ZERO,
        torque_W: Vec3::new(10.0, -20.0, 15.0),
    };
    let input = StepInput { wrenches: vec![wrench], ..StepInput::default() };
    let start = Pose::from_xyz_rpy([0.0; 3], [0.3, -0.2, 0.5]).rotation;
    let mut q = start.to_array().to_vec();
    q.extend([0.0; 3]);
    let params = StepParams { rotations: quasistep::Rotations::Linear, ..params(Cone::Round) };
    let mut state = State::at_rest(0.0, q);
    let mut work = system.create_workspace();
    let report = system.step_with(&mut state, &input, &params, &mut work).unwrap();
    let w: Vec<f64> = report.v[..3].iter().map(|w| 0.5 * params.time_step * w).collect();
    assert!(w.iter().any(|w| w.abs() > 0.3), "{w:?}");
    let rate = (quasistep_math::Quat::new(0.0, w[0], w[1], w[2]) * start).to_array();
    let sum: Vec<f64> = start.to_array().iter().zip(rate).map(|(a, b)| a + b).collect();
    let norm = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
    let want: Vec<f64> = sum.iter().map(|x| x / norm).collect();
    assert!(apart(&state.q[..4], &want) < 1e-14, "{:?} {want:?}", state.q);
}

#[test]
fn derivatives_know_linear_rotations() {
    for mode in [Mode::Exact, Mode::Smooth { kappa: 1e-3 }] {
        let rotations = quasistep::Rotations::Linear;
        let params = StepParams { time_step: 0.2, rotations, ..params(Cone::Pyramid(4)) };
        check_derivatives(mode, &params, &format!("{mode:?}"));
    }
}

#[test]
fn derivatives_know_bounds_at_infinity() {
    for mode in [Mode::Exact, Mode::Smooth { kappa: 1e-3 }] {
        let params = StepParams {
            contact_margin: f64::INFINITY,
            max_recovery_speed: f64::INFINITY,
            max_overlap: f64::INFINITY,
            passive_mass_scale: Some(5.0),
            tangents: TangentAxes::Normal,
            ..params(Cone::Pyramid(4))
        };
        check_derivatives(mode, &params, &format!("{mode:?}"));
    }
}

/// A block of weight `w` on a floor with friction `mu` is dragged in the direction `angle` of the
/// plane, by a slide along this direction or by one of two slides. Returns the friction force
/// against the motion.
fn drag(formulation: Formulation, axes: TangentAxes, angle: f64, one_line: bool) -> f64 {
    let mut world = World::new();
    let along = Vec3::new(angle.cos(), angle.sin(), 0.0);
    let drive = world.body("drive", WORLD, slide(along), 0.0, spring(200.0));
    let mut carrier = drive;
    if !one_line {
        let across = Vec3::Z.cross(along);
        carrier = world.body("across", carrier, slide(across), 0.0, spring(1e6));
    }
    let block = world.body("block", carrier, slide(Vec3::Z), 2.0, Role::Passive);
    world.floor(0.5);
    world.shape(block, ball(0.1), [0.0, 0.0, 0.1], 0.5);
    let system = world.build();
    let params = StepParams { formulation, tangents: axes, ..params(Cone::Round) };
    let q_cmd: &[f64] = if one_line { &[0.3] } else { &[0.3, 0.0] };
    let mut state = State::at_rest(0.0, vec![0.0; system.model().n_q()]);
    let mut work = system.create_workspace();
    let report = system.step(&mut state, q_cmd, &params, &mut work).unwrap();
    -report.contacts[0].friction_force_W.dot(along) / report.contacts[0].normal_force
}

/// Along a line, the edge of the inscribed square with the largest friction acts: `mu max(|cos|,
/// |sin|)`. The slide's joint carries the force across the line.
#[test]
fn edges_that_follow_the_normal_do_not_turn_with_the_motion() {
    let angle = 0.6_f64;
    let square = 0.5 * angle.cos().max(angle.sin());
    for make in FORMULATIONS {
        for (cone, of_normal) in [(Cone::Pyramid(4), square), (Cone::Round, 0.5)] {
            let law = make(cone);
            let moved = drag(law, TangentAxes::Motion, angle, true);
            assert!((moved - 0.5).abs() < 1e-9, "{law:?}: {moved}");
            let fixed = drag(law, TangentAxes::Normal, angle, true);
            assert!((fixed - of_normal).abs() < 1e-9, "{law:?}: {fixed} {of_normal}");
        }
    }
    // if motion in the plane is possible, both options use world axes: edges at 0° and 90°
    for axes in [TangentAxes::Motion, TangentAxes::Normal] {
        let held = drag(Formulation::convex(Cone::Pyramid(4)), axes, angle, false);
        assert!((held - square).abs() < 1e-3, "{axes:?}: {held}");
    }
}

/// Pyramids with two edges have the directions of the y–z plane: `x × n`.
#[test]
fn two_edges_lie_in_the_yz_plane() {
    let law = Formulation::convex(Cone::Pyramid(2));
    let along_y = drag(law, TangentAxes::Normal, std::f64::consts::FRAC_PI_2, true);
    assert!((along_y - 0.5).abs() < 1e-9, "{along_y}");
    let along_x = drag(law, TangentAxes::Normal, 0.0, true);
    assert!(along_x.abs() < 1e-9, "{along_x}");
}

/// Pang21 (10b): `phi/h + J v ≥ 0` for any `phi`. Balls that overlap by 4 cm are apart after one
/// step, and a ball 3 m away has a row.
#[test]
fn without_bounds_a_step_is_the_rows_alone() {
    let mut world = World::new();
    for k in 0..3 {
        let body = world.body(&format!("ball {k}"), WORLD, slide(Vec3::X), 1.0, Role::Passive);
        world.shape(body, ball(0.05), [0.0; 3], 0.0);
        assert_eq!(body, k + 1);
    }
    let system = world.build();
    for make in &FORMULATIONS[..2] {
        let bounded = StepParams { formulation: make(Cone::Round), ..params(Cone::Round) };
        let unbounded = StepParams {
            contact_margin: f64::INFINITY,
            max_recovery_speed: f64::INFINITY,
            max_overlap: f64::INFINITY,
            ..bounded.clone()
        };
        let start = [0.0, 0.06, 3.0];
        let q = q_after(&system, &start, &[], &bounded);
        // 0.1 m/s for 0.05 s, shared by two equal masses
        assert!(apart(&q, &[-0.0025, 0.0625, 3.0]) < 1e-9, "{q:?}");
        let q = q_after(&system, &start, &[], &unbounded);
        assert!(apart(&q, &[-0.02, 0.08, 3.0]) < 1e-9, "{q:?}");
        let mut work = system.create_workspace();
        let mut state = State::at_rest(0.0, start.to_vec());
        let report = system.step(&mut state, &[], &unbounded, &mut work).unwrap();
        assert_eq!(report.contacts.len(), 3);
        // a wrench drives the far ball through the other two; rows hold for any speed
        let wrench = quasistep::Wrench {
            body: 3,
            p_B: Vec3::ZERO,
            force_W: Vec3::new(-2000.0, 0.0, 0.0),
            torque_W: Vec3::ZERO,
        };
        let input = StepInput { wrenches: vec![wrench], ..StepInput::default() };
        let mut state = State::at_rest(0.0, vec![0.0, 0.1, 3.0]);
        let report = system.step_with(&mut state, &input, &unbounded, &mut work).unwrap();
        assert_eq!((report.substeps, report.n_joined), (1, 0));
        assert!(state.q[2] >= state.q[1] + 0.1 - 1e-9, "{:?}", state.q);
    }
}

/// Rows of linearised gaps alone, as in the papers: a box that rotates by 1 rad about an axis below
/// the floor penetrates it, and no step is divided.
#[test]
fn overlap_without_bound_is_never_cut() {
    let mut world = World::new();
    let lift = world.body("lift", WORLD, slide(Vec3::Z), 0.0, spring(1e5));
    let turn = world.body("turn", lift, JointKind::Revolute { axis: Vec3::Y }, 0.0, spring(1e3));
    world.floor(0.0);
    world.shape(turn, Shape::Box { half: [0.2, 0.2, 0.1] }, [0.0, 0.0, 0.4], 0.0);
    let system = world.build();
    let mut work = system.create_workspace();
    let mut steps = |max_overlap: f64| {
        let mut state = State::at_rest(0.0, vec![-0.29, 0.0]);
        let params = StepParams { max_overlap, contact_margin: 1.0, ..params(Cone::Round) };
        let report = system.step(&mut state, &[-0.29, 1.0], &params, &mut work).unwrap();
        (report.substeps, report.certificate.true_distance)
    };
    let (one, deep) = steps(f64::INFINITY);
    let (many, shallow) = steps(1e-3);
    assert!(one == 1 && deep < -0.005, "{one} {deep}");
    assert!(many > 1 && shallow > -1e-3 - 1e-9, "{many} {shallow}");
}
