//! Statics: rest and the largest held wrench, against closed forms.

use crate::common::{World, slide, spring};
use quasistep::{
    Cone, Formulation, Inertia, Relaxation, RestRule, Role, State, StaticsError, StepError,
    StepInput, StepParams, System, Wrench,
};
use quasistep_geometry::Shape;
use quasistep_math::Vec3;
use quasistep_model::{JointKind, WORLD};

const G: f64 = 9.81;

fn params() -> StepParams {
    StepParams {
        time_step: 0.1,
        inertia: Inertia::Mass,
        relaxation: Relaxation::Step,
        formulation: Formulation::convex(Cone::Round),
        ..StepParams::default()
    }
}

/// A block of 0.1 kg between two pads on slides.
fn pinch() -> System {
    pinch_above(1.0, None)
}

/// A pinch whose lengths are scaled and whose springs have the forces of [`pinch`]; above a floor (m at scale 1).
fn pinch_above(scale: f64, floor: Option<f64>) -> System {
    let mut world = World::new();
    let at = |size: [f64; 3]| size.map(|x| scale * x);
    let pad = Shape::Box { half: at([0.01, 0.02, 0.02]) };
    for (name, x) in [("left", -0.05), ("right", 0.05)] {
        let body = world.body(name, WORLD, slide(Vec3::X), 0.0, spring(1000.0 / scale));
        world.shape(body, pad.clone(), at([x, 0.0, 0.0]), 0.5);
    }
    let block = world.body("block", WORLD, JointKind::Free, 0.1, Role::Passive);
    world.shape(block, Shape::Box { half: at([0.04, 0.02, 0.03]) }, [0.0; 3], 0.5);
    if let Some(depth) = floor {
        world.shape(
            WORLD,
            Shape::Box { half: at([0.5, 0.5, 0.1]) },
            at([0.0, 0.0, -depth - 0.1]),
            0.5,
        );
    }
    world.build()
}

fn start(system: &System) -> State {
    State::at_rest(0.0, system.model().neutral_q())
}

/// Both pads are commanded 4 mm into the block: 4 N each.
fn squeeze() -> StepInput {
    StepInput { q_cmd: vec![0.004, -0.004], ..StepInput::default() }
}

#[test]
fn effort_at_rest_is_the_springs_and_forces_balance() {
    let (system, rule) = (pinch(), RestRule::default());
    let mut state = start(&system);
    let mut work = system.create_workspace();
    let report =
        system.settle(&mut state, &squeeze(), &params(), &rule, &mut work).unwrap().clone();
    // certified to 1e-7 of the largest force
    assert!((report.effort[0] - 4.0).abs() < 1e-6 && (report.effort[1] + 4.0).abs() < 1e-6);
    let lift: f64 = report.contacts.iter().map(|c| c.force_W().z.abs()).sum();
    assert!((lift - 0.1 * G).abs() < 1e-6, "{lift}");
    assert!(report.v.iter().all(|v| v.abs() <= rule.speed));
    assert_eq!(state.time, 0.0);
}

/// Friction of two pads carries 2 mu f_n = 4 N; the weight is part of the load.
#[test]
fn a_pinch_holds_what_its_friction_carries() {
    let (system, rule) = (pinch(), RestRule::default());
    let mut work = system.create_workspace();
    let body = system.model().body_by_name("block/body").unwrap();
    for (direction, expected) in [(Vec3::Z, 4.0 + 0.1 * G), (-Vec3::Z, 4.0 - 0.1 * G)] {
        let wrench = Wrench { body, p_B: Vec3::ZERO, force_W: direction, torque_W: Vec3::ZERO };
        let answer = system
            .largest_wrench(
                &start(&system),
                &squeeze(),
                &wrench,
                100.0,
                1e-5,
                &params(),
                &rule,
                &mut work,
            )
            .unwrap();
        // a held block may creep at up to 1e-8 m/s, which changes the force by 1e-8 N
        assert!(answer.held <= expected + 1e-4 && expected - 1e-4 <= answer.lost, "{answer:?}");
        assert!(answer.lost - answer.held <= 1e-5 * answer.lost);
        let held = &answer.q[2 + 4..];
        assert!(held.iter().all(|x| x.abs() < 1e-6), "a sticking grasp does not move: {held:?}");
    }
}

/// A block that a person pulls out of the pads and down to a floor was not held, though it comes to rest there. Pulled on
/// a floor that it touches from the start, it is held by the floor.
#[test]
fn what_slips_out_and_rests_elsewhere_was_not_held() {
    let (convex, exact) = (Formulation::convex(Cone::Round), Formulation::exact(Cone::Round));
    for (scale, time_step, formulation) in [
        (1e-3, 0.1, convex),
        (1.0, 0.1, convex),
        (1.0, 0.02, convex),
        (1.0, 0.1, exact),
        (1.0, 0.02, exact),
        (1e3, 0.1, convex),
    ] {
        for (depth, expected) in
            [(None, 4.0 - 0.981), (Some(0.06), 4.0 - 0.981), (Some(0.03), 50.0)]
        {
            let system = pinch_above(scale, depth);
            let mut work = system.create_workspace();
            let body = system.model().body_by_name("block/body").unwrap();
            let wrench = Wrench { body, p_B: Vec3::ZERO, force_W: -Vec3::Z, torque_W: Vec3::ZERO };
            let input =
                StepInput { q_cmd: vec![0.004 * scale, -0.004 * scale], ..StepInput::default() };
            let params = StepParams {
                time_step,
                formulation,
                contact_margin: 0.01 * scale,
                max_overlap: 1e-3 * scale,
                ..params()
            };
            let rule = RestRule { speed: 1e-8 * scale, ..RestRule::default() };
            let ask = |rule: &RestRule, work: &mut _| {
                let from = start(&system);
                system
                    .largest_wrench(&from, &input, &wrench, 50.0, 1e-4, &params, rule, work)
                    .unwrap()
                    .held
            };
            let held = ask(&rule, &mut work);
            assert!((held - expected).abs() < 1e-2, "{scale} {time_step} {depth:?}: {held}");
            if depth == Some(0.06) {
                let anywhere = RestRule { slip: f64::INFINITY, ..rule };
                assert_eq!(ask(&anywhere, &mut work), 50.0, "at rest on the floor, {scale}");
            }
        }
    }
}

#[test]
fn what_is_held_for_ever_has_no_bound() {
    let (system, rule) = (pinch(), RestRule::default());
    let mut work = system.create_workspace();
    // the springs deflect with the load
    let wrench = Wrench { body: 1, p_B: Vec3::ZERO, force_W: -Vec3::X, torque_W: Vec3::ZERO };
    let mut far = squeeze();
    far.q_cmd[0] = -0.5;
    let mut alone = start(&system);
    alone.q[0] = -0.5;
    let mut floor = params();
    floor.gravity = [0.0; 3];
    let answer =
        system.largest_wrench(&alone, &far, &wrench, 10.0, 1e-3, &floor, &rule, &mut work).unwrap();
    assert_eq!((answer.held, answer.lost), (10.0, f64::INFINITY));
    assert!((answer.q[0] + 0.5 + 10.0 / 1000.0).abs() < 1e-9);
}

#[test]
fn what_falls_is_not_at_rest_and_the_state_stays() {
    let mut world = World::new();
    world.body("ball", WORLD, JointKind::Free, 1.0, Role::Passive);
    let system = world.build();
    let mut state = start(&system);
    let before = state.clone();
    let mut work = system.create_workspace();
    let rule = RestRule { max_steps: 3, ..RestRule::default() };
    let error =
        system.settle(&mut state, &StepInput::default(), &params(), &rule, &mut work).unwrap_err();
    let StaticsError::NotAtRest { steps: 3, dof, speed } = &error else { panic!("{error}") };
    // each step starts from rest: speed g h
    assert!(dof == "ball.vz" && (speed - G * 0.1).abs() < 1e-9, "{error}");
    assert_eq!(state, before);
}

#[test]
fn rules_are_checked() {
    let (system, mut work) = (pinch(), pinch().create_workspace());
    let wrench = Wrench { body: 1, p_B: Vec3::ZERO, force_W: Vec3::X, torque_W: Vec3::ZERO };
    for (rule, most) in [
        (RestRule { speed: f64::NAN, ..RestRule::default() }, 1.0),
        (RestRule { max_steps: 0, ..RestRule::default() }, 1.0),
        (RestRule { slip: 0.0, ..RestRule::default() }, 1.0),
        (RestRule::default(), -1.0),
    ] {
        let state = start(&system);
        let answer = system.largest_wrench(
            &state,
            &squeeze(),
            &wrench,
            most,
            1e-3,
            &params(),
            &rule,
            &mut work,
        );
        assert!(matches!(answer, Err(StaticsError::Step(StepError::Params(_)))), "{answer:?}");
    }
}
