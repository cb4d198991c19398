//! Friction of the support of a planar joint or a slide: the ellipsoid of force and torque of
//! Goyal, Ruina and Papadopoulos (1991), in every formulation.

use crate::common::{World, actuator, ball, slide, spring};
use quasistep::{
    Cone, Derivatives, Formulation, Inertia, InputChange, Integration, Mode, OutputChange, Role,
    State, StepInput, StepParams, StepReport, System, Wrench,
};
use quasistep_geometry::Shape;
use quasistep_math::{Pose, Quat, Vec3};
use quasistep_model::{
    BodyDef, BodyInertia, JointKind, JointResistance, ModelBuilder, Support,
    SupportLoad::{self, Newtons, Weight},
    WORLD,
};

const CONES: [Cone; 4] = [Cone::Round, Cone::Pyramid(4), Cone::Pyramid(6), Cone::Box];
const SIZES: [f64; 4] = [0.005, 0.02, 0.1, 0.2];
/// Friction coefficient, then radius of the support and half the side of the puck, in m.
const MU: f64 = 0.3;
const R: f64 = 0.03;
const HALF: f64 = 0.05;
const G: f64 = 9.81;

/// Every formulation, with several step sizes.
fn all(cones: &[Cone]) -> impl Iterator<Item = StepParams> {
    let make = [Formulation::convex, Formulation::exact, Formulation::dynamic];
    let formulations = cones.iter().flat_map(move |cone| make.map(|make| make(*cone)));
    formulations.flat_map(|formulation| {
        SIZES.map(|time_step| StepParams {
            time_step,
            gravity: [0.0, 0.0, -G],
            formulation,
            inertia: Inertia::Mass,
            ..StepParams::default()
        })
    })
}

/// A square puck on a support, and a finger on a slide along x, `offset` off the puck's middle.
fn puck(mass: f64, load: SupportLoad, finger: Role, mu: f64, offset: f64) -> System {
    let mut world = World::new();
    let puck = world.body("puck", WORLD, JointKind::Planar, mass, Role::Passive);
    world.shape(puck, Shape::Box { half: [HALF; 3] }, [0.0; 3], mu);
    world.support(puck, MU, load, R);
    let finger = world.body("finger", WORLD, slide(Vec3::X), 0.0, finger);
    world.shape(finger, ball(0.01), [-HALF - 0.01, offset, 0.0], mu);
    world.build()
}

/// Runs for the given time with a command or a wrench on body 1. Returns the last report and
/// configuration.
fn run(
    system: &System,
    params: &StepParams,
    seconds: f64,
    command: impl Fn(f64) -> Vec<f64>,
    wrench: Option<[f64; 6]>,
) -> (Vec<f64>, StepReport) {
    let (mut state, mut work) =
        (State::at_rest(0.0, system.model().neutral_q()), system.create_workspace());
    let steps = (seconds / params.time_step).round() as usize;
    let wrenches = wrench.map(|w| Wrench {
        body: 1,
        p_B: Vec3::ZERO,
        force_W: Vec3::new(w[0], w[1], w[2]),
        torque_W: Vec3::new(w[3], w[4], w[5]),
    });
    let mut report = StepReport::default();
    for _ in 0..steps {
        let input = StepInput {
            q_cmd: command(state.time + params.time_step),
            wrenches: wrenches.iter().cloned().collect(),
            ..StepInput::default()
        };
        let done = system.step_with(&mut state, &input, params, &mut work);
        report = done.unwrap_or_else(|e| panic!("{params:?}: {e}")).clone();
    }
    (state.q, report)
}

/// A finger that pushes 1 kg through its middle at 0.1 m/s needs 0.3 × 9.81 N, plus 0.1 N for the
/// drag of the relaxation time of 1 s, for every step size, law and cone.
#[test]
fn a_push_through_the_middle_takes_the_support_friction() {
    let system = puck(1.0, Weight, actuator(2000.0, 0.0, f64::INFINITY), 0.5, 0.0);
    for params in all(&CONES) {
        let (_, report) = run(&system, &params, 4.0, |t| vec![0.1 * t], None);
        let drag = if params.formulation.carries_velocity() { 0.0 } else { 0.1 };
        let (force, want) = (report.effort[0], MU * G + drag);
        assert!((force - want).abs() < 1e-6, "{params:?}: {force} N");
        let [support] = report.supports[..] else { panic!("{:?}", report.supports) };
        assert!((support.load - G).abs() < 1e-12, "{support:?}");
        assert!((support.force[0] + MU * G).abs() < 1e-8, "{params:?}: {support:?}");
        assert!((report.joint_friction[0].force - support.force[0]).abs() < 1e-12);
        assert!((report.v[0] - 0.1).abs() < 1e-6, "{:?}", report.v);
    }
}

/// A finger with a smaller force does not move the puck.
#[test]
fn a_weaker_push_does_not_move_it() {
    let system = puck(1.0, Weight, actuator(2000.0, 0.0, 2.9), 0.5, 0.0);
    for params in all(&CONES) {
        let (q, report) = run(&system, &params, 1.0, |t| vec![0.1 * t], None);
        assert!(q.iter().all(|q| q.abs() < 1e-9), "{params:?}: {q:?}");
        assert!((report.joint_friction[0].force + 2.9).abs() < 1e-8, "{:?}", report.supports);
    }
}

/// A sticking finger off the middle: the velocity is normal to the ellipsoid, `v ∝ (f_x, f_y,
/// m/r²)`, and the force lies on it. With the contact at `(−a, d)` the puck rotates at `w = −d
/// u/(r² + a² + d²)`.
#[test]
fn a_push_off_the_middle_turns_it_as_the_ellipsoid_says() {
    let (a, u, N) = (HALF, 0.03, 7.0);
    for params in all(&CONES) {
        for d in [0.004, 0.02, -0.035] {
            let system = puck(1e-9, Newtons(N), Role::Prescribed, 5.0, d);
            let h = params.time_step;
            let (_, report) = run(&system, &params, h, |t| vec![u * t], None);
            let w = -d * u / (R * R + a * a + d * d);
            let want = [u + d * w, a * w, w];
            for (got, want) in report.v.iter().zip(want) {
                assert!((got - want).abs() < 1e-6, "{params:?}: {:?} for {want:?}", report.v);
            }
            let [x, y, m] = report.supports[0].force;
            let size = x.hypot(y).hypot(m / R);
            assert!((size - MU * N).abs() < 1e-7, "{size} N");
            let speed = want[0].hypot(want[1]).hypot(R * w);
            for (got, want) in [x, y, m / R].iter().zip([want[0], want[1], R * w]) {
                assert!((got + MU * N * want / speed).abs() < 1e-5, "{params:?}: {:?}", [x, y, m]);
            }
        }
    }
}

/// A torque above `mu N r` rotates the puck; drag or inertia balances the excess.
#[test]
fn a_torque_turns_it_beyond_its_share() {
    let system = puck(1.0, Weight, Role::Prescribed, 0.5, 0.0);
    let bound = MU * G * R;
    for params in all(&CONES) {
        let seconds = 0.2_f64.max(params.time_step);
        let still = |_: f64| vec![-0.5];
        let turn = |share: f64| {
            let torque = Some([0.0, 0.0, 0.0, 0.0, 0.0, share * bound]);
            run(&system, &params, seconds, still, torque)
        };
        let (q, report) = turn(0.99);
        assert!(q[..3].iter().all(|q| q.abs() < 1e-9), "{params:?}: {q:?}");
        assert!((report.joint_friction[2].force + 0.99 * bound).abs() < 1e-8);
        let (_, report) = turn(-1.1);
        assert!((report.joint_friction[2].force - bound).abs() < 1e-8, "{:?}", report.supports);
        // drag I w/τ, or inertia I w/t, equals 0.1 times the bound
        let w = -0.1 * bound / 0.004;
        let w = if params.formulation.carries_velocity() { seconds * w } else { w };
        assert!((report.v[2] - w).abs() < 1e-6 * w.abs(), "{params:?}: {:?} {w}", report.v);
    }
}

/// A drawer on its rails has the friction `mu N`. On a ramp, N is the component of the weight
/// normal to it.
#[test]
fn a_slide_takes_the_friction_of_its_load() {
    let tilt = 0.2_f64;
    for (angle, load, bound) in [
        (0.0, Weight, MU * 2.0 * G),
        (0.0, Newtons(5.0), MU * 5.0),
        (tilt, Weight, MU * 2.0 * G * tilt.cos()),
    ] {
        let mut world = World::new();
        let X = Pose::new(Quat::from_axis_angle(Vec3::Y, angle), Vec3::ZERO);
        let inertia = BodyInertia { mass: 1.5, ..BodyInertia::default() };
        let kind = slide(Vec3::X);
        let drawer = world.placed_body("drawer", WORLD, X, kind, inertia, Role::Passive);
        // the drawer's content is part of the load
        world.body("cup", drawer, JointKind::Fixed, 0.5, Role::Passive);
        world.support(drawer, MU, load, 0.0);
        let system = world.build();
        let down = 2.0 * G * angle.sin();
        let axis = X.rotation.rotate(Vec3::X);
        for params in all(&CONES) {
            let pull = |force: f64| {
                let f = axis * (force - down);
                run(&system, &params, 0.2, |_| Vec::new(), Some([f.x, f.y, f.z, 0.0, 0.0, 0.0]))
            };
            let (q, report) = pull(0.99 * bound);
            assert!(q[0].abs() < 1e-9, "{params:?}: {q:?}");
            assert!((report.joint_friction[0].force + 0.99 * bound).abs() < 1e-8);
            let (_, report) = pull(bound + 0.4);
            let moved = report.joint_friction[0].force;
            assert!((moved + bound).abs() < 1e-8, "{params:?}: {moved} N");
            // 0.4 N act on 2 kg
            assert!(
                (report.v[0] - 0.2 * if params.formulation.carries_velocity() { 0.2 } else { 1.0 })
                    .abs()
                    < 1e-6
            );
        }
    }
}

/// Supports also act on prescribed joints, in midpoint steps and in substeps.
#[test]
fn prescribed_joints_and_other_steps_rub_too() {
    let mut world = World::new();
    let cart = world.body("cart", WORLD, JointKind::Planar, 1.0, Role::Prescribed);
    world.support(cart, MU, Weight, R);
    let system = world.build();
    for params in all(&CONES) {
        if params.formulation.carries_velocity() {
            continue;
        }
        let go = |t: f64| vec![0.3 * t, -0.4 * t, 0.0];
        let (_, report) = run(&system, &params, params.time_step, go, None);
        assert!((report.effort[0] - 0.6 * MU * G).abs() < 1e-9, "{:?}", report.effort);
        assert!((report.effort[1] + 0.8 * MU * G).abs() < 1e-9, "{:?}", report.effort);
        let (_, report) = run(&system, &params, params.time_step, |_| vec![0.0; 3], None);
        assert_eq!(report.effort, [0.0; 3]);
    }
    let system = puck(1.0, Weight, actuator(2000.0, 0.0, f64::INFINITY), 0.5, 0.0);
    for params in all(&CONES) {
        if params.formulation.carries_velocity() {
            continue;
        }
        let params = StepParams { integration: Integration::Midpoint, ..params };
        let (_, report) = run(&system, &params, 4.0, |t| vec![0.1 * t], None);
        assert!((report.effort[0] - MU * G - 0.1).abs() < 1e-6, "{params:?}: {:?}", report.effort);
    }
    // without gravity there is no load
    for params in all(&CONES) {
        let params = StepParams { gravity: [0.0; 3], ..params };
        let (_, report) = run(&system, &params, 4.0, |t| vec![0.1 * t], None);
        let drag = if params.formulation.carries_velocity() { 0.0 } else { 0.1 };
        assert!((report.effort[0] - drag).abs() < 1e-6, "{params:?}: {:?}", report.effort);
    }
}

#[test]
fn a_support_that_is_none_is_refused() {
    let set = |joint: JointKind, friction, load, spin_radius| {
        let mut builder = ModelBuilder::new();
        let body = builder
            .add_body(BodyDef {
                name: "puck/puck".into(),
                joint_name: "puck".into(),
                parent: WORLD,
                X_PF: Pose::IDENTITY,
                joint,
                inertia: BodyInertia::default(),
                limits: None,
                mimic: None,
                gravity: 1.0,
            })
            .unwrap();
        let support = Some(Support { friction, load, spin_radius });
        let resistance = JointResistance { support, ..JointResistance::default() };
        builder.set_resistance(body, resistance).map_err(|e| e.to_string())
    };
    let hinge = JointKind::Revolute { axis: Vec3::Z };
    set(JointKind::Planar, 0.0, Weight, 0.0).unwrap();
    set(slide(Vec3::X), 0.3, Newtons(0.0), 0.0).unwrap();
    for (joint, friction, load, radius, word) in [
        (JointKind::Planar, -0.1, Weight, 0.0, "friction -0.1"),
        (JointKind::Planar, f64::NAN, Weight, 0.0, "friction NaN"),
        (JointKind::Planar, 0.3, Newtons(-2.0), 0.0, "load -2"),
        (JointKind::Planar, 0.3, Weight, f64::INFINITY, "spin_radius inf"),
        (slide(Vec3::X), 0.3, Weight, 0.1, "is prismatic"),
        (hinge, 0.3, Weight, 0.0, "is revolute"),
    ] {
        let why = set(joint, friction, load, radius).unwrap_err();
        assert!(why.contains("joint `puck`") && why.contains(word), "{why}");
    }
}

/// A tilting tray with a puck on a support, pushed by a finger, and a drawer: all terms that
/// support derivatives have.
fn tray() -> System {
    let mut world = World::new();
    let hinge = JointKind::Revolute { axis: Vec3::new(0.6, 0.8, 0.0) };
    let tray = world.body("tray", WORLD, hinge, 0.4, spring(60.0));
    let puck = world.body("puck", tray, JointKind::Planar, 0.8, Role::Passive);
    world.shape(puck, Shape::Box { half: [HALF; 3] }, [0.0; 3], 0.4);
    world.body("lid", puck, JointKind::Fixed, 0.2, Role::Passive);
    let finger = world.body("finger", tray, slide(Vec3::X), 0.1, spring(800.0));
    world.shape(finger, ball(0.01), [-HALF - 0.01, 0.012, 0.0], 0.4);
    let drawer = world.body("drawer", tray, slide(Vec3::Y), 0.7, spring(90.0));
    world.support(puck, MU, Weight, R);
    world.support(drawer, 0.1, Weight, 0.0);
    let rod = world.body("rod", tray, slide(Vec3::Y), 0.3, spring(70.0));
    world.support(rod, 0.2, Newtons(3.0), 0.0);
    world.build()
}

/// The system with masses and supports changed by `e` times `change`.
fn rebuilt(system: &System, change: &InputChange, e: f64) -> System {
    let mut builder = ModelBuilder::new();
    let mut bodies = system.model().bodies().to_vec();
    for (k, body) in bodies.iter_mut().enumerate().skip(1) {
        if let Some(dm) = change.mass.get(k) {
            let grown = 1.0 + e * dm / body.inertia.mass;
            body.inertia.mass *= grown;
            body.inertia.inertia = body.inertia.inertia * grown;
        }
        let d = |i: usize| change.support.get(3 * k + i).map_or(0.0, |d| e * d);
        if let Some(support) = &mut body.resistance.support {
            support.friction += d(0);
            if let Newtons(load) = &mut support.load {
                *load += d(1);
            }
            support.spin_radius += d(2);
        }
        let def = BodyDef {
            name: body.name.clone(),
            joint_name: body.joint_name.clone(),
            parent: body.parent,
            X_PF: body.X_PF,
            joint: body.joint,
            inertia: body.inertia,
            limits: None,
            mimic: None,
            gravity: 1.0,
        };
        builder.add_body(def).unwrap();
        builder.set_resistance(k, body.resistance.clone()).unwrap();
    }
    System::new(quasistep::SystemDef {
        model: builder.build().unwrap(),
        geoms: system.geoms().to_vec(),
        roles: system.roles().to_vec(),
        instances: (0..system.model().n_bodies() as u32).collect(),
        friction: quasistep::PairFriction::Minimum,
        friction_exceptions: Vec::new(),
        excluded: Vec::new(),
        springs: Vec::new(),
        constraints: Vec::new(),
        pads: Vec::new(),
    })
    .unwrap()
}

fn unit(n: usize, at: usize) -> Vec<f64> {
    (0..n).map(|k| f64::from(u8::from(k == at))).collect()
}

/// Unit changes of each input of the tray's step, one at a time.
fn changes(system: &System) -> Vec<InputChange> {
    // bodies: tray 1, puck 2, lid 3, finger 4, drawer 5, rod 6
    let (n, m) = (system.model().n_v(), system.n_cmd_v());
    let n_bodies = system.model().n_bodies();
    let mut changes = vec![InputChange { time_step: 1.0, ..InputChange::default() }];
    for k in 0..n {
        changes.push(InputChange { q: unit(n, k), ..InputChange::default() });
        changes.push(InputChange { tau: unit(n, k), ..InputChange::default() });
    }
    for k in 0..m {
        changes.push(InputChange { q_cmd: unit(m, k), ..InputChange::default() });
    }
    for k in 1..n_bodies {
        changes.push(InputChange { mass: unit(n_bodies, k), ..InputChange::default() });
    }
    // friction and spin radius of the puck; friction of the drawer; friction and load of the rod
    for at in [6, 8, 15, 18, 19] {
        changes.push(InputChange { support: unit(3 * n_bodies, at), ..InputChange::default() });
    }
    changes
}

/// State and inputs of the tray's step that is differentiated.
fn tray_step() -> (State, StepInput) {
    let state = State::at_rest(0.0, vec![0.15, 0.0, 0.0, 0.0, 0.0001, 0.01, 0.0]);
    let input = StepInput {
        q_cmd: vec![0.25, 0.012, 0.1, -0.08],
        tau: vec![0.0, 0.0, 0.05, 0.01, 0.0, 0.0, 0.0],
        ..StepInput::default()
    };
    (state, input)
}

/// Next configuration and sum of normal impulses of the tray's step, with all inputs changed by
/// `eps` times `change`.
fn tray_after(
    system: &System,
    change: &InputChange,
    eps: f64,
    params: &StepParams,
    mode: Mode,
) -> (Vec<f64>, f64) {
    let add = |to: &mut Vec<f64>, by: &[f64]| {
        to.iter_mut().zip(by).for_each(|(to, by)| *to += eps * by);
    };
    let (mut state, mut input) = tray_step();
    add(&mut state.q, &change.q);
    add(&mut input.q_cmd, &change.q_cmd);
    add(&mut input.tau, &change.tau);
    let time_step = params.time_step + eps * change.time_step;
    let params = StepParams { time_step, ..params.clone() };
    let system = rebuilt(system, change, eps);
    let mut there = system.create_derivatives();
    system.differentiate(&state, &input, &params, mode, &mut there).unwrap();
    let normal: f64 = there.report().contacts.iter().map(|c| c.normal_force).sum();
    (there.q_next().to_vec(), normal * time_step)
}

/// The transpose has the same products: wᵀ (D c) = (Dᵀ w)ᵀ c, with D c = `by`.
fn check_transpose(system: &System, d: &mut Derivatives, change: &InputChange, by: &OutputChange) {
    let wave = |n: usize| -> Vec<f64> { (0..n).map(|k| (1.0 + k as f64).sin()).collect() };
    let weights = OutputChange {
        q_next: wave(by.q_next.len()),
        normal: wave(by.normal.len()),
        ..OutputChange::default()
    };
    let mut g = InputChange::default();
    d.vjp(system, &weights, &mut g).unwrap();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let left = dot(&weights.q_next, &by.q_next) + dot(&weights.normal, &by.normal);
    let right = dot(&g.q, &change.q)
        + dot(&g.q_cmd, &change.q_cmd)
        + dot(&g.tau, &change.tau)
        + dot(&g.mass, &change.mass)
        + dot(&g.support, &change.support)
        + g.time_step * change.time_step;
    assert!((left - right).abs() < 1e-9 * (1.0 + left.abs()), "{change:?}: {left} {right}");
}

/// Compares the products with each change with central differences, products of the transpose and
/// columns of the matrices.
fn check_tray(system: &System, changes: &[InputChange], params: &StepParams, mode: Mode) {
    const EPS: f64 = 1e-5;
    let formulation = params.formulation;
    let (n, m) = (system.model().n_v(), system.n_cmd_v());
    let (state, input) = tray_step();
    let mut d = system.create_derivatives();
    d.set_warm_start(false);
    system.differentiate(&state, &input, params, mode, &mut d).unwrap();
    if mode == Mode::Exact {
        assert!(d.report().contacts.iter().any(|c| c.normal_force > 0.1));
        for dof in [1, 3, 5, 6] {
            assert!(d.report().v[dof].abs() > 1e-4, "{formulation:?}: {:?}", d.report().v);
        }
    }
    let (mut by_q, mut by_cmd) = (vec![0.0; n * n], vec![0.0; n * m]);
    d.jacobian(system, &mut by_q, &mut by_cmd).unwrap();
    for change in changes {
        let mut by = OutputChange::default();
        d.jvp(system, change, true, &mut by).unwrap();
        let ends = [EPS, -EPS].map(|eps| tray_after(system, change, eps, params, mode));
        for (k, got) in by.q_next.iter().enumerate() {
            let want = (ends[0].0[k] - ends[1].0[k]) / (2.0 * EPS);
            assert!(
                (got - want).abs() < 1e-6 * (1.0 + want.abs()),
                "{mode:?} {formulation:?} {change:?}: {got} {want}"
            );
        }
        let normal: f64 = by.normal.iter().sum();
        let want = (ends[0].1 - ends[1].1) / (2.0 * EPS);
        assert!(
            (normal - want).abs() < 1e-5 * (1.0 + want.abs()),
            "{mode:?} {formulation:?} {change:?}: {normal} {want}"
        );
        check_transpose(system, &mut d, change, &by);
        for (of, matrix, n) in [(&change.q, &by_q, n), (&change.q_cmd, &by_cmd, m)] {
            if let Some(k) = of.iter().position(|x| *x == 1.0) {
                for (i, by) in by.q_next.iter().enumerate() {
                    let entry = matrix[i * n + k];
                    assert!((entry - by).abs() < 1e-9 * (1.0 + by.abs()), "{entry} {by}");
                }
            }
        }
    }
}

/// Derivatives with respect to all inputs, including supports, against differences of steps; also
/// the transpose and the matrices.
#[test]
fn derivatives_are_those_of_differences() {
    let system = tray();
    let changes = changes(&system);
    let laws = [
        (Formulation::convex(Cone::Round), Mode::Exact),
        (Formulation::convex(Cone::Pyramid(4)), Mode::Exact),
        (Formulation::exact(Cone::Round), Mode::Exact),
        (Formulation::exact(Cone::Pyramid(4)), Mode::Exact),
        (Formulation::convex(Cone::Round), Mode::Smooth { kappa: 1e-3 }),
        (Formulation::convex(Cone::Pyramid(4)), Mode::Smooth { kappa: 1e-3 }),
    ];
    for (formulation, mode) in laws {
        let params = StepParams {
            time_step: 0.1,
            gravity: [0.0, 0.0, -G],
            formulation,
            inertia: Inertia::Mass,
            ..StepParams::default()
        };
        check_tray(&system, &changes, &params, mode);
    }
}
