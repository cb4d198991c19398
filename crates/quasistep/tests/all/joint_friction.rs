//! Damping and dry friction of joints: laws of one step in every formulation.

use crate::common::{World, ball, slide, spring};
use quasistep::{
    Cone, Derivatives, Formulation, Inertia, InputChange, Integration, Mode, OutputChange,
    Relaxation, Role, State, StepInput, StepParams, StepReport, System,
};
use quasistep_geometry::Shape;
use quasistep_math::Vec3;
use quasistep_model::{JointKind, WORLD};

const CONES: [Cone; 4] = [Cone::Pyramid(4), Cone::Pyramid(6), Cone::Box, Cone::Round];

/// Every formulation without momentum.
fn formulations() -> impl Iterator<Item = Formulation> {
    CONES.into_iter().flat_map(|cone| [Formulation::convex(cone), Formulation::exact(cone)])
}

fn params(formulation: Formulation) -> StepParams {
    StepParams {
        time_step: 0.1,
        gravity: [0.0, 0.0, -10.0],
        formulation,
        inertia: Inertia::None,
        ..StepParams::default()
    }
}

/// One step from `q`: next configuration and report.
fn step(
    system: &System,
    q: &[f64],
    input: &StepInput,
    params: &StepParams,
) -> (Vec<f64>, StepReport) {
    let mut state = State::at_rest(0.0, q.to_vec());
    let mut work = system.create_workspace();
    let report = system.step_with(&mut state, input, params, &mut work);
    let report = report.unwrap_or_else(|e| panic!("{:?}: {e}", params.formulation)).clone();
    (state.q, report)
}

fn command(q_cmd: &[f64], tau: &[f64]) -> StepInput {
    StepInput { q_cmd: q_cmd.to_vec(), tau: tau.to_vec(), ..StepInput::default() }
}

/// A spring of 100 N/m against 3 N of friction drags the slide until the spring force is 3 N, from
/// either side. A weaker spring force does not move it.
#[test]
fn a_spring_stops_where_its_force_is_the_friction() {
    let mut world = World::new();
    let cart = world.body("cart", WORLD, slide(Vec3::X), 0.0, spring(100.0));
    world.resist(cart, 0.0, 3.0, 1);
    let system = world.build();
    for formulation in formulations() {
        for integration in [Integration::Euler, Integration::Midpoint] {
            let params = StepParams { integration, ..params(formulation) };
            for (cmd, q, force) in
                [(1.0, 0.97, -3.0), (-1.0, -0.97, 3.0), (0.02, 0.0, -2.0), (0.0, 0.0, 0.0)]
            {
                let (end, report) = step(&system, &[0.0], &command(&[cmd], &[]), &params);
                assert!((end[0] - q).abs() < 1e-12, "{formulation:?}: {} for {q}", end[0]);
                let friction = report.joint_friction[0].force;
                assert!((friction - force).abs() < 1e-10, "{formulation:?}: {friction} N");
                assert!((report.effort[0] + force).abs() < 1e-10, "{:?}", report.effort);
            }
        }
    }
}

/// A drawer with 5 N of friction and 2 N·s/m of damping: 4.9 N do not move it, 5.1 N move it at
/// (5.1 − 5)/2 m/s.
#[test]
fn a_drawer_moves_as_fast_as_what_is_left_of_the_pull() {
    let mut world = World::new();
    let drawer = world.body("drawer", WORLD, slide(Vec3::X), 4.0, Role::Passive);
    world.resist(drawer, 2.0, 5.0, 1);
    let system = world.build();
    for formulation in formulations() {
        for (pull, v, friction) in
            [(4.9, 0.0, -4.9), (5.1, 0.05, -5.0), (-5.5, -0.25, 5.0), (0.0, 0.0, 0.0)]
        {
            let (_, report) = step(&system, &[0.0], &command(&[], &[pull]), &params(formulation));
            assert!((report.v[0] - v).abs() < 1e-12, "{formulation:?}: {} for {v}", report.v[0]);
            let got = report.joint_friction[0].force;
            assert!((got - friction).abs() < 1e-10, "{formulation:?}: {got} N for {friction}");
        }
        // with mass in the cost: h (F − f) = (m + h d) v
        let massive = StepParams {
            inertia: Inertia::Mass,
            relaxation: Relaxation::Step,
            ..params(formulation)
        };
        let (_, report) = step(&system, &[0.0], &command(&[], &[6.0]), &massive);
        assert!((report.v[0] - 0.1 / 4.2).abs() < 1e-12, "{formulation:?}: {}", report.v[0]);
    }
}

/// Each of several dofs has its own friction. On a hinge under gravity, friction balances the
/// weight.
#[test]
fn friction_holds_what_gravity_would_turn() {
    let mut world = World::new();
    let hinge = JointKind::Revolute { axis: Vec3::Y };
    let arm = world.body("arm", WORLD, hinge, 0.0, Role::Passive);
    let tip = world.body("tip", arm, slide(Vec3::X), 2.0, Role::Passive);
    world.resist(arm, 0.0, 9.0, 1);
    world.resist(tip, 0.0, 1.0, 1);
    let system = world.build();
    for formulation in formulations() {
        // 2 kg at 0.4 m: 8 N·m about +y, which friction balances
        let (end, report) = step(&system, &[0.0, 0.4], &command(&[], &[]), &params(formulation));
        assert!((end[0].abs()).max((end[1] - 0.4).abs()) < 1e-12, "{formulation:?}: {end:?}");
        assert!((report.joint_friction[0].force + 8.0).abs() < 1e-9, "{:?}", report.joint_friction);
        assert!(report.joint_friction[1].force.abs() < 1e-9, "{:?}", report.joint_friction);
        // at 0.5 m only mass or a damper resists the excess torque
        let massive = StepParams {
            inertia: Inertia::Mass,
            relaxation: Relaxation::Step,
            ..params(formulation)
        };
        let (end, report) = step(&system, &[0.0, 0.5], &command(&[], &[]), &massive);
        assert!(end[0] > 1e-3, "{formulation:?}: {end:?}");
        assert!((report.joint_friction[0].force + 9.0).abs() < 1e-9, "{:?}", report.joint_friction);
    }
}

/// The follower rotates three times as fast: its 2 N·m and 0.5 N·m·s/rad are 6 N·m and 4.5
/// N·m·s/rad at the leader.
#[test]
fn a_follower_resists_its_leader() {
    use quasistep_model::{BodyDef, BodyInertia, JointResistance, Mimic, ModelBuilder};
    let mut builder = ModelBuilder::new();
    let mut add = |name: &str, mimic| {
        let def = BodyDef {
            name: format!("{name}/body"),
            joint_name: name.into(),
            parent: WORLD,
            X_PF: quasistep_math::Pose::IDENTITY,
            joint: JointKind::Revolute { axis: Vec3::Z },
            inertia: BodyInertia::default(),
            limits: None,
            mimic,
            gravity: 1.0,
        };
        builder.add_body(def).unwrap()
    };
    let leader = add("leader", None);
    let follower = add("follower", Some(Mimic { body: leader, multiplier: -3.0, offset: 0.1 }));
    let resistance = |damping: f64, friction: f64| JointResistance {
        damping: vec![damping],
        friction: vec![friction],
        armature: vec![0.5 * damping.abs()],
        support: None,
    };
    builder.set_resistance(leader, resistance(1.0, 0.25)).unwrap();
    builder.set_resistance(follower, resistance(0.5, 2.0)).unwrap();
    for bad in [resistance(-1.0, 0.0), resistance(0.0, f64::NAN), resistance(f64::INFINITY, 0.0)] {
        builder.set_resistance(leader, bad).unwrap_err();
    }
    let wrong = JointResistance { damping: vec![1.0; 2], ..JointResistance::default() };
    let why = builder.set_resistance(leader, wrong).unwrap_err().to_string();
    assert!(why.contains("joint `leader`: its damping is [1.0, 1.0]"), "{why}");
    let model = builder.build().unwrap();
    assert_eq!((model.damping(), model.friction()), (&[5.5][..], &[6.25][..]));
}

/// The drive of a prescribed joint includes the joint's friction and damping.
#[test]
fn a_prescribed_joint_works_against_its_friction() {
    let mut world = World::new();
    let cart = world.body("cart", WORLD, slide(Vec3::X), 1.0, Role::Prescribed);
    world.resist(cart, 2.0, 3.0, 1);
    let system = world.build();
    for formulation in formulations() {
        let (_, report) = step(&system, &[0.0], &command(&[-0.05], &[]), &params(formulation));
        assert!((report.effort[0] + 4.0).abs() < 1e-12, "{:?}", report.effort);
        assert_eq!(report.joint_friction[0].force, 3.0);
        let (_, report) = step(&system, &[0.0], &command(&[0.0], &[]), &params(formulation));
        assert_eq!((report.effort[0], report.joint_friction[0].force), (0.0, 0.0));
    }
}

/// A pusher on a spring of 200 N/m moves a sled with 4 N of friction: it presses with 4 N, and lags
/// by 0.02 m.
#[test]
fn what_is_pushed_presses_back_with_its_friction() {
    let mut world = World::new();
    let pusher = world.body("pusher", WORLD, slide(Vec3::X), 0.0, spring(200.0));
    let sled = world.body("sled", WORLD, slide(Vec3::X), 1.0, Role::Passive);
    world.shape(pusher, ball(0.05), [0.0; 3], 0.5);
    world.shape(sled, ball(0.05), [0.0; 3], 0.5);
    world.resist(sled, 0.0, 4.0, 1);
    let system = world.build();
    for formulation in formulations() {
        let params = StepParams { contact_margin: 0.3, ..params(formulation) };
        let (q, report) = step(&system, &[0.0, 0.15], &command(&[0.1], &[]), &params);
        assert!(
            (q[0] - 0.08).abs() < 1e-11 && (q[1] - 0.18).abs() < 1e-11,
            "{formulation:?}: {q:?}"
        );
        assert!((report.contacts[0].normal_force - 4.0).abs() < 1e-9, "{:?}", report.contacts);
        // a force below the friction does not move the sled
        let (q, report) = step(&system, &[0.0, 0.1], &command(&[0.015], &[]), &params);
        assert!(q[0].abs() < 1e-11 && (q[1] - 0.1).abs() < 1e-11, "{formulation:?}: {q:?}");
        assert!((report.joint_friction[0].force + 3.0).abs() < 1e-9, "{:?}", report.joint_friction);
    }
}

/// A coasting cart of 2 kg slows down by `h f / m` per step, stops, and stays at rest.
#[test]
fn a_cart_coasts_to_a_stop() {
    let mut world = World::new();
    let cart = world.body("cart", WORLD, slide(Vec3::X), 2.0, Role::Passive);
    world.resist(cart, 0.0, 3.0, 1);
    let system = world.build();
    for cone in CONES {
        let params = StepParams { time_step: 0.01, ..params(Formulation::dynamic(cone)) };
        let mut work = system.create_workspace();
        let mut state = State::at_rest(0.0, vec![0.0]);
        state.v = vec![0.1];
        for k in 1..=12 {
            system.step(&mut state, &[], &params, &mut work).unwrap();
            let v = (0.1 - 0.015 * f64::from(k)).max(0.0);
            assert!((state.v[0] - v).abs() < 1e-13, "step {k}: {} for {v}", state.v[0]);
        }
    }
}

/// An arm of three driven and two passive joints, all with friction, touches a floor. While no
/// contact slips all formulations agree, and every step is certified.
#[test]
fn formulations_agree_along_a_run() {
    let build = || {
        let mut world = World::new();
        let mut parent = WORLD;
        let axes = [Vec3::Z, Vec3::Y, Vec3::X, Vec3::Y, Vec3::Z];
        for (k, axis) in axes.into_iter().enumerate() {
            let joint = JointKind::Revolute { axis };
            let role = if k < 3 { spring(50.0) } else { Role::Passive };
            parent = world.body(&format!("j{k}"), parent, joint, 0.3, role);
            let extended = world.body(&format!("e{k}"), parent, slide(Vec3::X), 0.2, spring(900.0));
            world.resist(parent, 0.2 + 0.1 * k as f64, 0.4, 1);
            world.resist(extended, 0.0, 0.5, 1);
            parent = extended;
        }
        world.build()
    };
    let system = build();
    let n = system.model().n_v();
    let run = |formulation| {
        let params = params(formulation);
        let (mut work, mut path) = (system.create_workspace(), Vec::new());
        let mut state = State::at_rest(0.0, (0..n).map(|k| 0.1 + 0.05 * k as f64).collect());
        for step in 0..20 {
            let t = 0.1 * f64::from(step);
            let q_cmd: Vec<f64> = (0..system.n_cmd()).map(|k| 0.3 * (t + k as f64).sin()).collect();
            system.step(&mut state, &q_cmd, &params, &mut work).unwrap();
            path.extend_from_slice(&state.q);
        }
        path
    };
    let first = run(Formulation::convex(Cone::Pyramid(4)));
    assert!(first.iter().any(|q| q.abs() > 0.2));
    for formulation in formulations() {
        let path = run(formulation);
        let apart = first.iter().zip(&path).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(apart < 1e-9, "{formulation:?}: {apart:e}");
    }
}

/// An arm with a hand that pushes a box. All joints have damping and friction.
fn arm_and_box() -> System {
    let mut world = World::new();
    let arm = world.body("arm", WORLD, JointKind::Revolute { axis: Vec3::Y }, 0.0, spring(40.0));
    let hand = world.body("hand", arm, slide(Vec3::X), 0.5, spring(300.0));
    let object = world.body("box", WORLD, JointKind::Planar, 1.0, Role::Passive);
    world.shape(hand, ball(0.05), [0.3, 0.0, 0.0], 0.6);
    world.shape(object, Shape::Box { half: [0.1; 3] }, [0.45, 0.02, 0.0], 0.9);
    world.resist(arm, 0.3, 0.05, 1);
    world.resist(hand, 0.2, 8.0, 1);
    world.resist(object, 1.5, 0.7, 3);
    world.build()
}

/// Derivatives of the arm's step, with its inputs changed by `eps` times `change`.
fn differentiated(
    system: &System,
    change: &InputChange,
    eps: f64,
    params: &StepParams,
    mode: Mode,
) -> Derivatives {
    let mut q = [0.01, 0.005, 0.0, 0.0, 0.0];
    let mut cmd = [0.05, 0.09];
    let mut tau = [0.0, 0.3, 0.1, 0.2, 0.05];
    let add = |to: &mut [f64], by: &[f64]| {
        to.iter_mut().zip(by).for_each(|(to, by)| *to += eps * by);
    };
    add(&mut q, &change.q);
    add(&mut cmd, &change.q_cmd);
    add(&mut tau, &change.tau);
    let time_step = params.time_step + eps * change.time_step;
    let params = StepParams { time_step, ..params.clone() };
    let mut d = system.create_derivatives();
    d.set_warm_start(false);
    let state = State::at_rest(0.0, q.to_vec());
    system.differentiate(&state, &command(&cmd, &tau), &params, mode, &mut d).unwrap();
    d
}

/// Unit changes of each input, with the column of the matrices by `q` and by the command.
fn unit_changes(system: &System, d: &mut Derivatives) -> Vec<(InputChange, Option<Vec<f64>>)> {
    let (n, m) = (system.model().n_v(), system.n_cmd_v());
    let (mut by_q, mut by_cmd) = (vec![0.0; n * n], vec![0.0; n * m]);
    d.jacobian(system, &mut by_q, &mut by_cmd).unwrap();
    let unit = |n: usize, at: usize| (0..n).map(|k| f64::from(u8::from(k == at))).collect();
    let mut all = Vec::new();
    for k in 0..n {
        let column = (0..n).map(|i| by_q[i * n + k]).collect();
        all.push((InputChange { q: unit(n, k), ..InputChange::default() }, Some(column)));
        all.push((InputChange { tau: unit(n, k), ..InputChange::default() }, None));
    }
    for k in 0..m {
        let column = (0..n).map(|i| by_cmd[i * m + k]).collect();
        all.push((InputChange { q_cmd: unit(m, k), ..InputChange::default() }, Some(column)));
    }
    all.push((InputChange { time_step: 1.0, ..InputChange::default() }, None));
    all
}

/// The transpose has the same products: wᵀ (D c) = (Dᵀ w)ᵀ c, with D c = `by_change`.
fn check_transpose(system: &System, d: &mut Derivatives, change: &InputChange, by_change: &[f64]) {
    let w: Vec<f64> = (0..by_change.len()).map(|k| (1.0 + k as f64).sin()).collect();
    let weights = OutputChange { q_next: w.clone(), ..OutputChange::default() };
    let mut g = InputChange::default();
    d.vjp(system, &weights, &mut g).unwrap();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let left = dot(&w, by_change);
    let right = dot(&g.q, &change.q)
        + dot(&g.q_cmd, &change.q_cmd)
        + dot(&g.tau, &change.tau)
        + g.time_step * change.time_step;
    assert!((left - right).abs() < 1e-9 * (1.0 + left.abs()), "{left} {right}");
}

/// Compares the products with all unit changes with central differences, columns of the matrices
/// and products of the transpose.
fn check_derivatives(system: &System, params: &StepParams, mode: Mode) {
    const EPS: f64 = 1e-6;
    let mut d = differentiated(system, &InputChange::default(), 0.0, params, mode);
    assert!(d.report().contacts.iter().any(|c| c.normal_force > 0.1));
    if mode == Mode::Exact {
        let moves = |f: &&quasistep::JointForce| d.report().v[f.dof as usize].abs() > 1e-6;
        let moving = d.report().joint_friction.iter().filter(moves).count();
        assert!((1..5).contains(&moving), "{:?}", d.report().v);
    }
    for (change, column) in unit_changes(system, &mut d) {
        let mut by = OutputChange::default();
        d.jvp(system, &change, true, &mut by).unwrap();
        let by = by.q_next;
        let ends = [EPS, -EPS]
            .map(|eps| differentiated(system, &change, eps, params, mode).q_next().to_vec());
        for (k, got) in by.iter().enumerate() {
            let want = (ends[0][k] - ends[1][k]) / (2.0 * EPS);
            assert!(
                (got - want).abs() < 2e-6 * (1.0 + want.abs()),
                "{mode:?} {}: {change:?}: {by:?} {ends:?} {want}",
                params.formulation.cone
            );
        }
        for (a, b) in column.iter().flatten().zip(&by) {
            assert!((a - b).abs() < 1e-9 * (1.0 + a.abs()), "{column:?} {by:?}");
        }
        check_transpose(system, &mut d, &change, &by);
    }
}

/// Derivatives of a step with sticking and moving joints, against differences of steps.
#[test]
fn derivatives_are_those_of_differences() {
    let system = arm_and_box();
    for mode in [Mode::Exact, Mode::Smooth { kappa: 1e-3 }] {
        for cone in [Cone::Pyramid(4), Cone::Round] {
            let params = StepParams {
                inertia: Inertia::Mass,
                relaxation: Relaxation::Step,
                ..params(Formulation::convex(cone))
            };
            check_derivatives(&system, &params, mode);
        }
    }
}
