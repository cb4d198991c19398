//! Laws of torsional and rolling friction, on systems small enough to solve by hand.

use crate::common::{World, ball, slide};
use quasistep::{
    Cone, ContactMode, Formulation, Friction, FrictionException, Inertia, PairFriction, Relaxation,
    Role, State, StepError, StepInput, StepParams, Surface, System, SystemDef, Wrench,
};
use quasistep_geometry::{Polytope, Shape};
use quasistep_math::Vec3;
use quasistep_model::{JointKind, WORLD};
use std::sync::Arc;

const CONES: [Cone; 3] = [Cone::Pyramid(4), Cone::Pyramid(8), Cone::Round];

fn params(cone: Cone) -> StepParams {
    StepParams {
        time_step: 0.01,
        gravity: [0.0, 0.0, -10.0],
        contact_margin: 0.05,
        inertia: Inertia::Mass,
        relaxation: Relaxation::Step,
        formulation: Formulation::convex(cone),
        ..StepParams::default()
    }
}

/// One kilogram on a floor with the given friction; `rest` is the height of its frame's origin.
fn on_floor(shape: Shape, rest: f64, surface: Surface) -> (System, State) {
    let mut world = World::new();
    world.surface(WORLD, Shape::HalfSpace, [0.0; 3], surface);
    let body = world.body("thing", WORLD, JointKind::Free, 1.0, Role::Passive);
    world.surface(body, shape, [0.0; 3], surface);
    let q = vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, rest];
    (world.build(), State::at_rest(0.0, q))
}

fn wrench(force_W: Vec3, torque_W: Vec3) -> StepInput {
    let wrench = Wrench { body: 1, p_B: Vec3::ZERO, force_W, torque_W };
    StepInput { wrenches: vec![wrench], ..StepInput::default() }
}

/// Tracy §III-A: a ball rests up to the torque `mu_spin m g`. Above, it spins with `phi = mu_spin
/// omega h`.
#[test]
fn a_ball_spins_above_its_torsional_friction_only() {
    let surface = Surface { mu_spin: 0.02, ..Surface::sliding(0.5) };
    for cone in CONES {
        let (system, start) = on_floor(ball(0.1), 0.1, surface);
        let mut work = system.create_workspace();
        let mut state = start.clone();
        // mu_spin m g = 0.2 N·m
        for torque in [0.05, -0.1, 0.1999] {
            let input = wrench(Vec3::ZERO, Vec3::Z * torque);
            let report = system.step_with(&mut state, &input, &params(cone), &mut work).unwrap();
            let contact = &report.contacts[0];
            assert_eq!(contact.mode, ContactMode::Stick);
            assert!((contact.spin_torque + torque).abs() < 1e-9, "{}", contact.spin_torque);
            assert!(report.v.iter().all(|v| v.abs() < 1e-9), "{:?}", report.v);
        }
        let mut state = start;
        let input = wrench(Vec3::ZERO, Vec3::Z * 0.25);
        let mut last = None;
        for _ in 0..60 {
            let report = system.step_with(&mut state, &input, &params(cone), &mut work).unwrap();
            last = Some((report.contacts[0].clone(), report.v[2]));
        }
        let (contact, omega) = last.unwrap();
        // omega = h (tau − mu_spin m g)/I with I = 0.4 m r² = 0.004 kg·m²
        assert!((omega - 0.01 * 0.05 / 0.004).abs() < 1e-8, "{omega}");
        assert!((contact.phi_next - 0.02 * omega * 0.01).abs() < 1e-10, "{}", contact.phi_next);
        assert!((contact.spin_torque + 0.2).abs() < 1e-8, "{}", contact.spin_torque);
        assert!((contact.spin_rate - omega).abs() < 1e-12);
        assert_eq!(contact.mode, ContactMode::Slide);
    }
}

/// A ball pushed at its centre rolls only if its rolling friction cannot hold it. With `p = 0.1 m ×
/// push/(mu_roll m g)`, sliding friction at the foot has the share `push/(mu m g) = p/10`. A
/// pyramid holds up to `p + p/10 = 1`, a round cone up to `√(p² + (p/10)²) = 1`.
#[test]
fn a_ball_rolls_above_its_rolling_friction_only() {
    let surface = Surface { mu_roll: 0.01, ..Surface::sliding(1.0) };
    // push in several directions for a round cone, along an edge for a pyramid
    let round = 1.0 / 1.01_f64.sqrt();
    for (cone, angle, limit) in
        [(Cone::Round, 0.3, round), (Cone::Round, 1.0, round), (Cone::Pyramid(4), 0.0, 1.0 / 1.1)]
    {
        for (push, rolls) in [(0.999 * limit, false), (1.001 * limit, true)] {
            let (system, mut state) = on_floor(ball(0.1), 0.1, surface);
            let mut work = system.create_workspace();
            // tangents of a horizontal floor are x and y, up to a rotation by a right angle
            let direction = Vec3::new(f64::cos(angle), f64::sin(angle), 0.0);
            let input = wrench(direction * push, Vec3::ZERO);
            let report = system.step_with(&mut state, &input, &params(cone), &mut work).unwrap();
            let contact = &report.contacts[0];
            assert_eq!(report.v[0].hypot(report.v[1]) > 1e-6, rolls, "{push}: {:?}", report.v);
            if !rolls {
                // r × push, balanced together with the friction force at the ball's foot
                let held = direction.cross(Vec3::Z) * (0.1 * push);
                assert!((contact.roll_torque_W - held).norm() < 1e-9, "{contact:?}");
                assert!((contact.friction_force_W + direction * push).norm() < 1e-9);
                assert_eq!(contact.mode, ContactMode::Stick);
            }
        }
    }
}

/// Round cones couple slip and spin in an ellipsoid: a side load leaves the share `√(1 − (f/(mu
/// n))²)` of the torsional friction. A pyramid leaves `1 − f/(mu n)`.
#[test]
fn slip_and_spin_share_one_cone() {
    let surface = Surface { mu_spin: 0.02, ..Surface::sliding(0.5) };
    for (cone, share) in [(Cone::Round, 0.8), (Cone::Pyramid(4), 0.4)] {
        for (factor, holds) in [(0.999, true), (1.001, false)] {
            let (system, mut state) = on_floor(ball(0.1), 0.1, surface);
            let mut work = system.create_workspace();
            // a friction force of 0.6 mu m g at the ball's foot, so that it does not roll
            let force = Vec3::X * 3.0;
            let torque = Vec3::Z * (0.2 * share * factor) + (Vec3::Z * -0.1).cross(force);
            let input = wrench(force, torque);
            let report = system.step_with(&mut state, &input, &params(cone), &mut work).unwrap();
            let stuck = report.contacts[0].mode == ContactMode::Stick;
            assert_eq!(stuck, holds, "{cone:?} at {factor}: {:?}", report.v);
        }
    }
}

/// Torsional friction belongs to the pair of surfaces: every shape resists with the same torque.
#[test]
fn every_shape_has_torsional_friction() {
    let cone = vec![
        Vec3::new(0.0, 0.0, -0.1),
        Vec3::new(0.1, 0.0, 0.1),
        Vec3::new(-0.1, 0.1, 0.1),
        Vec3::new(-0.1, -0.1, 0.1),
    ];
    let shapes = [
        ball(0.1),
        Shape::Capsule { radius: 0.05, half_length: 0.05 },
        Shape::Polytope(Arc::new(Polytope::from_points(&cone).unwrap())),
        Shape::Box { half: [0.05, 0.05, 0.1] },
        Shape::Cylinder { radius: 0.05, half_length: 0.1 },
    ];
    // without sliding friction only torsion acts: mu_spin m g
    let surface = Surface { mu_spin: 0.02, ..Surface::default() };
    for shape in shapes {
        for (torque, holds) in [(0.1999, true), (0.2001, false)] {
            let (system, mut state) = on_floor(shape.clone(), 0.1, surface);
            let mut work = system.create_workspace();
            let input = wrench(Vec3::ZERO, Vec3::Z * torque);
            let round = params(Cone::Round);
            let report = system.step_with(&mut state, &input, &round, &mut work).unwrap();
            let spin: f64 = report.contacts.iter().map(|c| c.spin_torque).sum();
            assert_eq!(report.v[2].abs() < 1e-7, holds, "{shape:?} {torque}: {:?}", report.v);
            if holds {
                assert!((spin + torque).abs() < 1e-9, "{shape:?}: {spin}");
            }
        }
    }
}

/// A prescribed rotation with torsional friction drags the body on it, and needs the corresponding
/// torque.
#[test]
fn a_turntable_drags_by_torsion() {
    let mut world = World::new();
    let surface = Surface { mu_spin: 0.02, ..Surface::default() };
    let table =
        world.body("table", WORLD, JointKind::Continuous { axis: Vec3::Z }, 1.0, Role::Prescribed);
    world.surface(table, Shape::HalfSpace, [0.0; 3], surface);
    let body = world.body("thing", WORLD, JointKind::Free, 1.0, Role::Passive);
    world.surface(body, ball(0.1), [0.0; 3], surface);
    let system = world.build();
    let mut state = State::at_rest(0.0, vec![0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1]);
    let mut work = system.create_workspace();
    let mut turned = 0.0;
    for k in 1..=10 {
        let angle = 0.01 * f64::from(k);
        let report = system.step(&mut state, &[angle], &params(Cone::Round), &mut work).unwrap();
        turned = report.v[3];
        // 1 rad/s would need I omega/h = 0.4 N·m; only 0.2 N·m act, once the ball is on its
        // boundary layer
        assert!(k < 9 || (report.contacts[0].spin_torque.abs() - 0.2).abs() < 2e-3);
        assert!((report.effort[0] - report.contacts[0].spin_torque.abs()).abs() < 1e-9);
    }
    assert!((turned - 0.5).abs() < 5e-3, "{turned}");
}

/// A plate on three feet resists rotation up to `mu m g R` with round cones; axis-aligned pyramids
/// resist less.
#[test]
fn a_plate_on_three_feet_holds_what_round_cones_allow() {
    let holds = |inertia: Inertia, cone: Cone, torque: f64| {
        let mut world = World::new();
        world.floor(2.0 / 3.0);
        let plate = world.body("thing", WORLD, JointKind::Free, 3.0, Role::Passive);
        for k in 0..3 {
            let (s, c) = (std::f64::consts::TAU / 3.0 * f64::from(k)).sin_cos();
            world.shape(plate, ball(0.05), [1.5 * c, 1.5 * s, 0.0], 2.0 / 3.0);
        }
        let system = world.build();
        let mut state = State::at_rest(0.0, vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.05]);
        let params = StepParams { inertia, ..params(cone) };
        let input = wrench(Vec3::ZERO, Vec3::Z * torque);
        match system.step_with(&mut state, &input, &params, &mut system.create_workspace()) {
            Ok(report) => report.v.iter().all(|v| v.abs() < 1e-9),
            // a massless plate that rotates has no next state
            Err(StepError::Unsupported { .. }) => false,
            Err(e) => panic!("{e}"),
        }
    };
    for inertia in [Inertia::Mass, Inertia::None] {
        assert!(holds(inertia, Cone::Round, 29.99) && !holds(inertia, Cone::Round, 30.01));
        assert!(holds(inertia, Cone::Pyramid(4), 20.0) && !holds(inertia, Cone::Pyramid(4), 29.0));
    }
}

/// Without torsional friction there is no row about the normal: the step is bit-identical.
#[test]
fn no_torsion_changes_nothing() {
    for cone in CONES {
        let run = |surface: Surface| {
            let (system, mut state) = on_floor(ball(0.1), 0.1, surface);
            let mut work = system.create_workspace();
            let input = wrench(Vec3::X, Vec3::Z * 0.01);
            let report = system.step_with(&mut state, &input, &params(cone), &mut work).unwrap();
            (report.n_rows, report.v.clone())
        };
        let plain = run(Surface::sliding(0.5));
        assert_eq!(plain, run(Surface { patch_radius: 0.0, ..Surface::sliding(0.5) }));
        let more = run(Surface { patch_radius: 0.01, ..Surface::sliding(0.5) });
        assert_eq!(more.0, plain.0 + if cone == Cone::Round { 1 } else { 2 });
    }
}

/// A body that cannot rotate has no torsional rows.
#[test]
fn a_body_on_slides_has_no_torsion() {
    let mut world = World::new();
    let surface = Surface { mu_spin: 0.02, mu_roll: 0.02, ..Surface::sliding(0.5) };
    world.surface(WORLD, Shape::HalfSpace, [0.0; 3], surface);
    let body = world.body("z", WORLD, slide(Vec3::Z), 1.0, Role::Passive);
    world.surface(body, ball(0.1), [0.0; 3], surface);
    let system = world.build();
    let mut state = State::at_rest(0.0, vec![0.1]);
    let mut work = system.create_workspace();
    let report = system.step(&mut state, &[], &params(Cone::Pyramid(4)), &mut work).unwrap();
    assert_eq!(report.n_rows, 1);
    assert_eq!(report.contacts[0].spin_torque, 0.0);
}

/// A patch radius gives the torque of uniform pressure on a disc: `∫ mu p r dA = 2/3 mu N R`.
#[test]
fn coefficients_of_a_pair_follow_from_its_surfaces() {
    let system = |exceptions: Vec<FrictionException>| {
        let mut world = World::new();
        let floor = Surface { mu_spin: 1e-3, mu_roll: 2e-3, ..Surface::sliding(0.4) };
        world.surface(WORLD, Shape::HalfSpace, [0.0; 3], floor);
        let body = world.body("thing", WORLD, JointKind::Free, 1.0, Role::Passive);
        let pad = Surface { patch_radius: 0.03, ..Surface::sliding(0.6) };
        world.surface(body, ball(0.1), [0.0; 3], pad);
        world.build_with(|def| SystemDef {
            friction: PairFriction::ArithmeticMean,
            friction_exceptions: exceptions,
            ..def
        })
    };
    let close = |friction: Friction, want: [f64; 3]| {
        let got = [friction.mu, friction.mu_spin, friction.mu_roll];
        assert!(got.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-15), "{got:?} {want:?}");
    };
    close(system(vec![]).friction(0, 1), [0.5, 0.01, 2e-3]);
    let pair = FrictionException { pair: (1, 0), ..FrictionException::default() };
    let sliding = FrictionException { mu: Some(0.9), ..pair };
    close(system(vec![sliding]).friction(1, 0), [0.9, 0.018, 2e-3]);
    let spinning = FrictionException { mu_spin: Some(5e-3), mu_roll: Some(0.0), ..pair };
    close(system(vec![spinning]).friction(1, 0), [0.5, 5e-3, 0.0]);
    close(system(vec![sliding, spinning]).friction(1, 0), [0.9, 5e-3, 0.0]);
    let patch = FrictionException { patch_radius: Some(0.3), ..pair };
    close(system(vec![spinning, patch]).friction(1, 0), [0.5, 0.1, 0.0]);
}

#[test]
fn an_impossible_coefficient_is_refused_by_name() {
    for (exception, word) in [
        (FrictionException { mu_spin: Some(-1.0), ..Default::default() }, "mu_spin -1"),
        (FrictionException { mu_roll: Some(f64::NAN), ..Default::default() }, "mu_roll NaN"),
    ] {
        let mut world = World::new();
        world.floor(0.5);
        let body = world.body("thing", WORLD, JointKind::Free, 1.0, Role::Passive);
        world.shape(body, ball(0.1), [0.0; 3], 0.5);
        let exception = FrictionException { pair: (0, 1), ..exception };
        let def = world.def();
        let def = SystemDef { friction_exceptions: vec![exception], ..def };
        let message = System::new(def).unwrap_err().to_string();
        assert!(message.contains(word) && message.contains("≥ 0"), "{message}");
    }
}

/// Spin torque of a flat body of weight 1 N, divided by `mu`, in m: the mean distance of its area
/// from its centre.
fn spin_radius(shapes: &[(Shape, [f64; 3])], formulation: Formulation) -> f64 {
    spin_radius_on(0.0, shapes, formulation)
}

/// Spin radius, in m, of a flat body on a foundation with the given modulus, in N/m³; 0 for rigid
/// contact.
fn spin_radius_on(foundation: f64, shapes: &[(Shape, [f64; 3])], formulation: Formulation) -> f64 {
    let mu = 0.4;
    let resists = |torque: f64| {
        let mut world = World::new();
        world.floor(mu);
        let body = world.body("flat", WORLD, JointKind::Free, 1.0 / 9.81, Role::Passive);
        for (shape, p) in shapes {
            let surface = Surface { foundation, ..Surface::sliding(mu) };
            world.surface(body, shape.clone(), *p, surface);
        }
        let system = world.build();
        let params = StepParams {
            formulation,
            inertia: Inertia::Mass,
            relaxation: Relaxation::Step,
            contact_margin: 0.005,
            ..StepParams::default()
        };
        let mut state = State::at_rest(0.0, vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.01]);
        let torque_W = Vec3::Z * (torque * mu);
        let wrench = Wrench { body, p_B: Vec3::ZERO, force_W: Vec3::ZERO, torque_W };
        let input = StepInput { wrenches: vec![wrench], ..StepInput::default() };
        let mut work = system.create_workspace();
        let report = system.step_with(&mut state, &input, &params, &mut work).unwrap();
        report.v[2] < 1e-7
    };
    let (mut holds, mut turns) = (0.0, 1.0);
    for _ in 0..30 {
        let middle = 0.5 * (holds + turns);
        *(if resists(middle) { &mut holds } else { &mut turns }) = middle;
    }
    holds
}

/// Closed forms for uniform pressure: `2/3 R` for a disc, `0.3826 a` for a square, about half the
/// distance of two bars.
#[test]
fn areas_resist_spinning_as_under_uniform_pressure() {
    let disc = [(Shape::Cylinder { radius: 0.05, half_length: 0.01 }, [0.0; 3])];
    let square = [(Shape::Box { half: [0.045, 0.045, 0.01] }, [0.0; 3])];
    for formulation in [Formulation::convex(Cone::Round), Formulation::exact(Cone::Round)] {
        let of_disc = spin_radius(&disc, formulation);
        assert!((of_disc / (2.0 / 3.0 * 0.05) - 1.0).abs() < 0.01, "{formulation:?} {of_disc}");
        let of_square = spin_radius(&square, formulation);
        assert!((of_square / (0.3826 * 0.09) - 1.0).abs() < 0.01, "{formulation:?} {of_square}");
        // two bars: half the load at 0.04 m each, plus the spin radius of each bar's own area
        let bars =
            [-0.04, 0.04].map(|x| (Shape::Box { half: [0.005, 0.005, 0.01] }, [x, 0.0, 0.0]));
        let of_bars = spin_radius(&bars, formulation);
        let want = 0.04_f64.hypot(0.3826 * 0.01);
        assert!((of_bars / want - 1.0).abs() < 0.01, "{formulation:?} {of_bars} {want}");
    }
}

/// A ring made of parts has the spin radius `2/3 (R³ − r³)/(R² − r²)`. For a thin ring each part is
/// one area. For a wide ring the pressure within a part matters, which a foundation models.
#[test]
fn a_ring_of_parts_resists_spinning_as_a_ring() {
    let n = 12;
    for (outer, inner, foundation) in
        [(0.05_f64, 0.045_f64, 0.0), (0.05, 0.045, 1e9), (0.05, 0.02, 1e9)]
    {
        let part = |k: i32| {
            let corner = |r: f64, k: i32, z: f64| {
                let angle = std::f64::consts::TAU * f64::from(k) / f64::from(n);
                Vec3::new(r * angle.cos(), r * angle.sin(), z)
            };
            // polygons with the areas of both circles
            let wide = std::f64::consts::TAU / f64::from(n);
            let stretch = (wide / wide.sin()).sqrt();
            let corners: Vec<Vec3> = [outer, inner]
                .into_iter()
                .flat_map(|r| [(r, k), (r, k + 1)])
                .flat_map(|(r, k)| [-0.01, 0.01].map(|z| corner(stretch * r, k, z)))
                .collect();
            (Shape::Polytope(Arc::new(Polytope::from_points(&corners).unwrap())), [0.0; 3])
        };
        let parts: Vec<_> = (0..n).map(part).collect();
        let want = 2.0 / 3.0 * (outer.powi(3) - inner.powi(3)) / (outer.powi(2) - inner.powi(2));
        for formulation in [Formulation::convex(Cone::Round), Formulation::exact(Cone::Round)] {
            let seen = spin_radius_on(foundation, &parts, formulation);
            assert!((seen / want - 1.0).abs() < 0.01, "{outer} {inner}: {seen} {want}");
        }
    }
}

/// A finger that rotates a flat body pushes it about the centre given by the ellipsoidal limit
/// surface (Lynch, Maekawa and Tanie 1992): `ω/v = r/(c² + r²)` for a push along the normal at an
/// offset `r` from the centre of friction. Low friction keeps the centre of pressure nearly fixed.
#[test]
fn a_pushed_square_turns_about_the_centre_of_the_limit_surface() {
    let square = (Shape::Box { half: [0.045, 0.045, 0.01] }, 0.045, 0.3826 * 0.09);
    for (shape, reach, c) in [square] {
        for r in [0.005, 0.015, 0.03] {
            let mut world = World::new();
            world.floor(0.02);
            let role = Role::Prescribed;
            let finger = world.body("finger", WORLD, slide(Vec3::X), 0.1, role);
            world.shape(finger, ball(0.005), [-reach - 0.005, r, 0.002], 0.0);
            let body = world.body("flat", WORLD, JointKind::Free, 1.0, Role::Passive);
            world.surface(body, shape.clone(), [0.0; 3], Surface::sliding(0.02));
            let system = world.build();
            let params = StepParams {
                time_step: 1e-3,
                formulation: Formulation::exact(Cone::Round),
                contact_margin: 0.004,
                inertia: Inertia::None,
                ..StepParams::default()
            };
            let mut state = State::at_rest(0.0, vec![0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.01]);
            let mut work = system.create_workspace();
            let report = system.step(&mut state, &[1e-5], &params, &mut work).unwrap();
            // the finger moves at 0.01 m/s and, without friction, slides along the side
            let (turn, want) = (-report.v[3] / 0.01, r / (c * c + r * r));
            assert!((turn / want - 1.0).abs() < 0.01, "{r}: {turn} {want}");
        }
    }
}

/// A coefficient `mu_spin` of 0 means that none is given: a flat contact then has the torque of its
/// area.
#[test]
fn no_torsional_friction_of_a_pair_is_that_of_its_area() {
    let square = Shape::Box { half: [0.045, 0.045, 0.01] };
    let mut turns = Vec::new();
    for own in [None, Some(0.0), Some(0.3)] {
        let mut world = World::new();
        world.floor(0.4);
        let body = world.body("flat", WORLD, JointKind::Free, 1.0, Role::Passive);
        world.shape(body, square.clone(), [0.0; 3], 0.4);
        let pair = FrictionException { pair: (0, 1), mu_spin: own, ..FrictionException::default() };
        let system = world.build_with(|def| SystemDef { friction_exceptions: vec![pair], ..def });
        let params = StepParams {
            inertia: Inertia::Mass,
            relaxation: Relaxation::Step,
            ..StepParams::default()
        };
        let mut state = State::at_rest(0.0, vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.01]);
        let torque_W = Vec3::Z * 0.5;
        let wrench = Wrench { body, p_B: Vec3::ZERO, force_W: Vec3::X, torque_W };
        let input = StepInput { wrenches: vec![wrench], ..StepInput::default() };
        let mut work = system.create_workspace();
        let report = system.step_with(&mut state, &input, &params, &mut work).unwrap();
        turns.push(report.v[2]);
    }
    assert!(turns[0] > 1e-3 && turns[0] == turns[1] && turns[2].abs() < 1e-9, "{turns:?}");
}
