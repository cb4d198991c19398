//! Laws of one step, on systems small enough to solve by hand.

use crate::common::{World, actuator, ball, slide, spring};
use quasistep::{
    Cone, ContactMode, Formulation, Inertia, PrescribedRate, Relaxation, Role, State, StepError,
    StepInput, StepParams, Surface, Wrench,
};
use quasistep_geometry::Shape;
use quasistep_math::Vec3;
use quasistep_model::{JointKind, WORLD};

fn params(h: f64) -> StepParams {
    StepParams {
        time_step: h,
        gravity: [0.0, 0.0, -10.0],
        contact_margin: 0.5,
        inertia: Inertia::None,
        ..StepParams::default()
    }
}

fn massive(h: f64) -> StepParams {
    StepParams { inertia: Inertia::Mass, relaxation: Relaxation::Step, ..params(h) }
}

/// A peg of 20 mm moves down between walls 20.2 mm apart and touches neither. Convex friction holds
/// it between them, and the report marks these contacts. With exact friction it follows its
/// command.
#[test]
fn contacts_that_push_for_convex_friction_alone_are_marked() {
    let half = Vec3::new(0.01, 0.01, 0.05);
    let mut world = World::new();
    for side in [-1.0, 1.0] {
        world.shape(WORLD, Shape::Box { half: half.to_array() }, [side * 0.0201, 0.0, 0.0], 0.5);
    }
    let peg = world.body("peg", WORLD, slide(Vec3::Z), 0.1, spring(1000.0));
    world.shape(peg, Shape::Box { half: half.to_array() }, [0.0, 0.0, 0.01], 0.5);
    let system = world.build();
    for h in [0.02, 0.05, 0.2] {
        for (formulation, held) in
            [(Formulation::convex(Cone::Round), true), (Formulation::exact(Cone::Round), false)]
        {
            let params = StepParams { formulation, gravity: [0.0; 3], ..params(h) };
            let mut state = State::at_rest(0.0, vec![0.0]);
            let mut work = system.create_workspace();
            let report = system.step(&mut state, &[-0.02], &params, &mut work).unwrap();
            let marked = report.contacts.iter().filter(|c| c.artificial).count();
            let loaded = report.contacts.iter().filter(|c| c.normal_force > 0.0).count();
            assert_eq!((marked > 0, loaded > 0), (held, held), "h = {h}");
            assert_eq!(marked, loaded, "h = {h}");
            assert_eq!((state.q[0] + 0.02).abs() < 1e-9, !held, "h = {h}: {}", state.q[0]);
        }
    }
}

/// The linear pusher: k = 1 N/m, object of 0.01 kg, h = 0.01 s, gap phi = x2 − x1 − 0.1 with
/// x = (0, 0.2), command 0.15. One active row: x1 = 10.15/101, x2 = x1 + 0.1.
#[test]
fn pusher_meets_its_object_where_the_closed_form_says() {
    let mut world = World::new();
    let pusher = world.body("pusher", WORLD, slide(Vec3::X), 0.0, spring(1.0));
    let object = world.body("object", WORLD, slide(Vec3::X), 0.01, Role::Passive);
    world.shape(pusher, ball(0.05), [0.0; 3], 0.0);
    world.shape(object, ball(0.05), [0.0; 3], 0.0);
    let system = world.build();
    let mut state = State::at_rest(0.0, vec![0.0, 0.2]);
    let mut work = system.create_workspace();
    system.step(&mut state, &[0.15], &massive(0.01), &mut work).unwrap();
    assert!((state.q[0] - 10.15 / 101.0).abs() < 1e-12, "{:?}", state.q);
    assert!((state.q[1] - 10.15 / 101.0 - 0.1).abs() < 1e-12, "{:?}", state.q);
}

/// Pang21 §IV-A.2: a body sliding at speed `v_t` floats `h mu |v_t|` high.
#[test]
fn sliding_body_rides_on_the_boundary_layer() {
    let (h, mu, speed) = (0.01, 0.5, 0.2);
    let mut world = World::new();
    world.floor(mu);
    let height = world.body("height", WORLD, slide(Vec3::Z), 0.0, Role::Passive);
    let sled = world.body("sled", height, slide(Vec3::X), 1.0, Role::Prescribed);
    world.shape(sled, ball(0.1), [0.0; 3], 1.0);
    let system = world.build();
    let mut state = State::at_rest(0.0, vec![0.1, 0.0]);
    let params = StepParams { formulation: Formulation::convex(Cone::Round), ..params(h) };
    let mut work = system.create_workspace();
    for k in 1..=5 {
        let x = speed * h * f64::from(k);
        let report = system.step(&mut state, &[x], &params, &mut work).unwrap();
        let contact = &report.contacts[0];
        assert_eq!(contact.mode, ContactMode::Slide);
        assert!((contact.phi_next - h * mu * speed).abs() < 1e-12, "{}", contact.phi_next);
        assert!((contact.normal_force - 10.0).abs() < 1e-9);
        assert!(!contact.artificial);
        // the prescribed motion must overcome the drag on the sled
        assert!((report.effort[0] - mu * 10.0).abs() < 1e-9, "{:?}", report.effort);
    }
}

/// Without a contact the damped spring moves by `K Δq / (K + D/h)`.
#[test]
fn damping_slows_a_free_joint() {
    let (h, K, D) = (0.1, 800.0, 86.0);
    let mut world = World::new();
    world.body("joint", WORLD, slide(Vec3::X), 0.0, actuator(K, D, f64::INFINITY));
    let system = world.build();
    let mut state = State::at_rest(0.0, vec![0.0]);
    let mut work = system.create_workspace();
    system.step(&mut state, &[0.3], &params(h), &mut work).unwrap();
    assert!((state.q[0] - K * 0.3 / (K + D / h)).abs() < 1e-12);
}

/// A spring saturates at its effort limit.
#[test]
fn effort_limit_saturates_the_spring() {
    for (limit, want, saturated) in
        [(f64::INFINITY, 100.0, false), (30.0, 30.0, true), (150.0, 100.0, false)]
    {
        let mut world = World::new();
        let finger =
            world.body("finger", WORLD, slide(-Vec3::Z), 0.0, actuator(1000.0, 0.0, limit));
        world.shape(finger, ball(0.1), [0.0; 3], 0.0);
        world.floor(0.5);
        let system = world.build();
        let mut state = State::at_rest(0.0, vec![-0.1]);
        let mut work = system.create_workspace();
        // command 0.1 m below the floor: 1000 N/m × 0.1 m
        let report = system.step(&mut state, &[0.0], &params(0.01), &mut work).unwrap();
        assert!((report.contacts[0].normal_force - want).abs() < 1e-7, "{:?}", report.contacts[0]);
        assert!((report.effort[0] - want).abs() < 1e-7, "{:?}", report.effort);
        assert_eq!(!report.saturated.is_empty(), saturated);
    }
}

/// A joint limit acts within the step and reports its force.
#[test]
fn position_limit_holds_and_reports_its_force() {
    let mut world = World::new();
    world.limited_body("joint", WORLD, slide(Vec3::X), 0.0, spring(1000.0), Some([-0.1, 0.1]));
    let system = world.build();
    let mut state = State::at_rest(0.0, vec![0.0]);
    let mut work = system.create_workspace();
    let report = system.step(&mut state, &[0.15], &params(0.01), &mut work).unwrap();
    assert_eq!(report.limits.len(), 1);
    assert!((report.limits[0].force + 50.0).abs() < 1e-9, "{:?}", report.limits);
    assert!((state.q[0] - 0.1).abs() < 1e-12);
}

/// Tracy (13): motion starts from rest at each step, so a falling body gains `h g` of speed.
#[test]
fn unsupported_body_with_mass_falls_one_step_of_gravity() {
    let mut world = World::new();
    world.body("stone", WORLD, JointKind::Free, 2.0, Role::Passive);
    let system = world.build();
    let mut state = State::at_rest(0.0, system.model().neutral_q());
    let mut work = system.create_workspace();
    let report = system.step(&mut state, &[], &massive(0.1), &mut work).unwrap();
    assert!((report.v[5] + 1.0).abs() < 1e-12, "{:?}", report.v);
    assert!((state.q[6] + 0.1).abs() < 1e-12);
}

/// An unsupported massless body has no determined speed: the error names it.
#[test]
fn unsupported_body_without_mass_is_named_and_the_state_stays() {
    let mut world = World::new();
    world.floor(0.5);
    world.body("held", WORLD, slide(Vec3::X), 1.0, spring(100.0));
    world.body("stone", WORLD, slide(Vec3::Z), 2.0, Role::Passive);
    let system = world.build();
    let before = State::at_rest(0.25, vec![0.0, 3.0]);
    let mut state = before.clone();
    let mut work = system.create_workspace();
    let error = system.step(&mut state, &[0.1], &params(0.1), &mut work);
    match error {
        Err(StepError::Unsupported { bodies, direction }) => {
            assert_eq!(bodies, ["stone/body"]);
            assert_eq!(direction.len(), 1);
            assert!(direction[0].1 < 0.0, "it falls: {direction:?}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(state, before);
}

/// Two walls close on a body between them: no motion is feasible, and the pairs are named.
#[test]
fn crushed_body_is_an_error_that_names_the_pairs() {
    let mut world = World::new();
    let left = world.body("left", WORLD, slide(Vec3::X), 0.0, Role::Prescribed);
    let right = world.body("right", WORLD, slide(Vec3::X), 0.0, Role::Prescribed);
    let egg = world.body("egg", WORLD, slide(Vec3::X), 1.0, Role::Passive);
    for body in [left, right, egg] {
        world.shape(body, ball(0.1), [0.0; 3], 0.0);
    }
    let system = world.build();
    let mut state = State::at_rest(0.0, vec![-0.2, 0.2, 0.0]);
    let before = state.clone();
    let mut work = system.create_workspace();
    let error = system.step(&mut state, &[-0.19, 0.19], &params(0.01), &mut work);
    match error {
        Err(StepError::Infeasible { pairs, .. }) => {
            let names: Vec<_> = pairs.iter().map(|p| (p.a.as_str(), p.b.as_str())).collect();
            assert!(names.contains(&("left/body", "egg/body")), "{names:?}");
            assert!(names.contains(&("right/body", "egg/body")), "{names:?}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(state, before);
}

/// Overlaps separate at `max_recovery_speed` for any depth.
#[test]
fn overlap_recovers_at_a_bounded_speed() {
    let mut world = World::new();
    world.floor(0.5);
    let stone = world.body("stone", WORLD, slide(Vec3::Z), 1.0, Role::Passive);
    world.shape(stone, ball(0.1), [0.0; 3], 0.5);
    let system = world.build();
    let mut state = State::at_rest(0.0, vec![0.07]);
    let mut work = system.create_workspace();
    let p = StepParams { max_recovery_speed: 0.2, ..params(0.1) };
    system.step(&mut state, &[], &p, &mut work).unwrap();
    assert!((state.q[0] - 0.09).abs() < 1e-12, "{:?}", state.q);
    system.step(&mut state, &[], &p, &mut work).unwrap();
    assert!((state.q[0] - 0.1).abs() < 1e-12, "{:?}", state.q);
}

/// A prescribed lift reports the weight that it carries.
#[test]
fn prescribed_joint_reports_the_force_it_needs() {
    let mut world = World::new();
    let hand = world.body("hand", WORLD, slide(Vec3::Z), 0.5, Role::Prescribed);
    world.shape(hand, Shape::Box { half: [0.2, 0.2, 0.05] }, [0.0; 3], 0.5);
    let load = world.body("load", WORLD, JointKind::Free, 2.0, Role::Passive);
    world.shape(load, Shape::Box { half: [0.1, 0.1, 0.1] }, [0.0; 3], 0.5);
    let system = world.build();
    let mut q = system.model().neutral_q();
    let z = system.model().body(load).q.end - 1;
    q[z] = 0.15;
    let mut state = State::at_rest(0.0, q);
    let mut work = system.create_workspace();
    for k in 1..=5 {
        let lift = 0.01 * f64::from(k);
        let report = system.step(&mut state, &[lift], &params(0.1), &mut work).unwrap();
        assert!((report.effort[0] - 25.0).abs() < 1e-8, "{:?}", report.effort);
        assert_eq!(report.contacts.len(), 4);
    }
    assert!((state.q[z] - 0.2).abs() < 1e-9, "{:?}", state.q);
}

/// A prescribed joint is exactly at its command after every step, for any rate of the step.
#[test]
fn prescribed_pose_is_met_exactly() {
    let mut world = World::new();
    let hand = world.body("hand", WORLD, JointKind::Free, 0.0, Role::Prescribed);
    world.shape(hand, ball(0.1), [0.0; 3], 0.5);
    let system = world.build();
    for prescribed_rate in [PrescribedRate::Secant, PrescribedRate::Derivative] {
        let p = StepParams { prescribed_rate, ..params(0.1) };
        let mut state = State::at_rest(0.0, system.model().neutral_q());
        let mut work = system.create_workspace();
        for k in 1..=40 {
            let angle = 0.1 * f64::from(k);
            // the command's quaternion changes its sign half way; that of the state does not
            let sign = if k > 20 { -1.0 } else { 1.0 };
            let (s, c) = (0.5 * angle).sin_cos();
            let command = [sign * c, 0.0, 0.0, sign * s, 0.01 * f64::from(k), 0.0, 0.0];
            system.step(&mut state, &command, &p, &mut work).unwrap();
            for (got, want) in state.q.iter().zip([c, 0.0, 0.0, s, 0.01 * f64::from(k), 0.0, 0.0]) {
                assert!((got - want).abs() < 1e-15, "{:?}", state.q);
            }
        }
    }
}

/// A wrench enters the force balance as a force at its point of application and a torque.
#[test]
fn wrench_tips_a_block_only_beyond_its_edge() {
    let mut world = World::new();
    world.floor(1.0);
    let block = world.body("block", WORLD, JointKind::Free, 1.0, Role::Passive);
    world.shape(block, Shape::Box { half: [0.1, 0.1, 0.1] }, [0.0; 3], 1.0);
    let system = world.build();
    let mut q = system.model().neutral_q();
    q[6] = 0.1;
    let start = State::at_rest(0.0, q);
    // weight 10 N, half width 0.1 m, pushed at the top at 0.2 m: it tips at 5 N and slides at 10 N
    for (force, tips) in [(4.9, false), (5.1, true)] {
        let mut state = start.clone();
        let wrench = Wrench {
            body: block,
            p_B: Vec3::new(0.0, 0.0, 0.1),
            force_W: Vec3::X * force,
            torque_W: Vec3::ZERO,
        };
        let input = StepInput { wrenches: vec![wrench], ..StepInput::default() };
        let mut work = system.create_workspace();
        let report = system.step_with(&mut state, &input, &massive(0.01), &mut work).unwrap();
        assert_eq!(report.v[1].abs() > 1e-6, tips, "force {force}: {:?}", report.v);
    }
}

/// Pyramids with more edges approach the round cone from inside: friction along a diagonal
/// increases.
#[test]
fn pyramids_with_more_edges_hold_more_along_a_diagonal() {
    let holds = |cone: Cone, force: f64| {
        let mut world = World::new();
        world.floor(0.5);
        let height = world.body("height", WORLD, slide(Vec3::Z), 0.0, Role::Passive);
        let x = world.body("x", height, slide(Vec3::X), 0.0, Role::Passive);
        let y = world.body("y", x, slide(Vec3::Y), 1.0, Role::Passive);
        world.shape(y, ball(0.1), [0.0; 3], 0.5);
        let system = world.build();
        let mut state = State::at_rest(0.0, vec![0.1, 0.0, 0.0]);
        let push = Wrench {
            body: y,
            p_B: Vec3::ZERO,
            force_W: (Vec3::X + Vec3::Y) * (force / 2f64.sqrt()),
            torque_W: Vec3::ZERO,
        };
        let input = StepInput { wrenches: vec![push], ..StepInput::default() };
        let p = StepParams { formulation: Formulation::convex(cone), ..massive(0.01) };
        let mut work = system.create_workspace();
        let report = system.step_with(&mut state, &input, &p, &mut work).unwrap();
        report.contacts[0].mode == ContactMode::Stick
    };
    // mu m g = 5 N; a square with corners on the axes has 5/√2 along the diagonal
    let square = Cone::Pyramid(4);
    assert!(holds(square, 3.5) && !holds(square, 3.6));
    let octagon = Cone::Pyramid(8);
    assert!(holds(octagon, 4.99) && !holds(octagon, 5.01));
    assert!(holds(Cone::Round, 4.999) && !holds(Cone::Round, 5.001));
    // a hexagon has an edge at 60°; its side towards 45° is at 5 cos 30° / cos 15°
    let hexagon = 5.0 * 30f64.to_radians().cos() / 15f64.to_radians().cos();
    let six = Cone::Pyramid(6);
    assert!(holds(six, hexagon - 0.01) && !holds(six, hexagon + 0.01));
}

/// A normal off the axes has rounding components along the tangents, which must not act as
/// friction.
#[test]
fn without_friction_balls_slide_off_one_another_under_every_cone() {
    let mut world = World::new();
    world.shape(WORLD, ball(0.1), [0.0; 3], 0.0);
    let falling = world.body("falling", WORLD, JointKind::Free, 1.0, Role::Passive);
    world.shape(falling, ball(0.05), [0.0; 3], 0.7);
    let system = world.build();
    for cone in [Cone::Round, Cone::Pyramid(4), Cone::Box] {
        for formulation in [Formulation::convex(cone), Formulation::exact(cone)] {
            let params = StepParams { formulation, ..massive(0.01) };
            for k in 0..20 {
                let n = Vec3::new(0.3 + 0.01 * f64::from(k), 0.2, 1.0).try_normalize().unwrap();
                let p = n * 0.15;
                let mut state = State::at_rest(0.0, vec![1.0, 0.0, 0.0, 0.0, p.x, p.y, p.z]);
                let mut work = system.create_workspace();
                let report = system.step(&mut state, &[], &params, &mut work).unwrap();
                assert!((report.contacts[0].normal_force - 10.0 * n.z).abs() < 1e-9);
            }
        }
    }
}

/// A massless ball resists no motion: one finger pushes it without force, and without friction the
/// rounding of its lever arm does not rotate it.
#[test]
fn a_ball_without_mass_gives_way_to_a_finger_under_every_law() {
    for mu in [0.0, 0.5] {
        let mut world = World::new();
        let axis = Vec3::new(0.8, 0.5, 0.3).try_normalize().unwrap();
        let finger = world.body("finger", WORLD, slide(axis), 0.0, spring(100.0));
        world.shape(finger, ball(0.04), [0.1, 0.08, 0.03], mu);
        let free = world.body("ball", WORLD, JointKind::Free, 0.0, Role::Passive);
        world.shape(free, ball(0.05), [0.0; 3], mu);
        let system = world.build();
        for cone in [Cone::Round, Cone::Pyramid(4)] {
            for formulation in [Formulation::convex(cone), Formulation::exact(cone)] {
                let params = StepParams { formulation, gravity: [0.0; 3], ..params(0.05) };
                let start = vec![0.0, 1.0, 0.0, 0.0, 0.0, 0.3, 0.2, 0.1];
                let mut state = State::at_rest(0.0, start);
                let mut work = system.create_workspace();
                for k in 1..=40 {
                    let command = [0.01 * f64::from(k)];
                    let report = system.step(&mut state, &command, &params, &mut work).unwrap();
                    assert!(report.contacts.iter().all(|c| c.normal_force < 1e-9));
                }
                assert!((state.q[0] - 0.4).abs() < 1e-9 && state.q[5] > 0.4, "{:?}", state.q);
                assert!(mu > 0.0 || (state.q[1] - 1.0).abs() < 1e-12, "{:?}", state.q);
            }
        }
    }
}

#[test]
fn near_pairs_are_those_of_the_linearisation() {
    let (system, state) = stack();
    let linear = system.linearise(&state.q, [0.0; 3], 0.5).unwrap();
    let pairs = system.near_pairs(&state.q, 0.5).unwrap();
    assert!(pairs.len() > 1);
    for (bodies, distance) in &pairs {
        let of_pair = linear
            .contacts
            .iter()
            .filter(|c| [c.geom_a, c.geom_b].map(|geom| system.geoms()[geom].body) == *bodies);
        assert_eq!(of_pair.map(|c| c.phi).reduce(f64::min), Some(*distance));
    }
    let points = |bodies: &[usize; 2]| pairs.iter().any(|(pair, _)| pair == bodies);
    let body = |geom: usize| system.geoms()[geom].body;
    assert!(linear.contacts.iter().all(|c| points(&[body(c.geom_a), body(c.geom_b)])));
    assert!(system.near_pairs(&state.q[1..], 0.5).is_err());
}

/// With the warm start off, a step has the same bits with a fresh and a used workspace. A convex
/// step has one solution for any warm start. An exact step may have several: here friction at the
/// finger may lift the cubes or press them down.
#[test]
fn a_workspace_has_no_meaning() {
    let (system, start) = stack();
    let run = |formulation: Formulation, work: &mut quasistep::Workspace| {
        let p = StepParams { formulation, ..massive(0.05) };
        let mut state = start.clone();
        for k in 0..10 {
            system.step(&mut state, &[0.02 * f64::from(k)], &p, work).unwrap();
        }
        state
    };
    let mut used = system.create_workspace();
    used.set_warm_start(false);
    let exact = Formulation::exact(Cone::Round);
    assert_eq!(run(exact, &mut used), run(exact, &mut used));
    let convex = Formulation::convex(Cone::Round);
    let first = run(convex, &mut used);
    assert_eq!(first, run(convex, &mut used));
    let with_warm_start = run(convex, &mut system.create_workspace());
    for (a, b) in first.q.iter().zip(&with_warm_start.q) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
}

/// A run resumed from a checkpoint has the same bits.
#[test]
fn a_checkpoint_resumes_with_the_same_bits() {
    let (system, start) = stack();
    let p = massive(0.05);
    let mut state = start;
    let mut work = system.create_workspace();
    let mut saved = None;
    for k in 0..20 {
        if k == 8 {
            saved = Some(work.checkpoint(&state));
        }
        system.step(&mut state, &[0.02 * f64::from(k)], &p, &mut work).unwrap();
    }
    let saved = saved.unwrap();
    let mut fresh = system.create_workspace();
    fresh.resume(&saved);
    let mut resumed = saved.state;
    for k in 8..20 {
        system.step(&mut resumed, &[0.02 * f64::from(k)], &p, &mut fresh).unwrap();
    }
    assert_eq!(resumed, state);
}

/// Invalid numbers are refused by name, and the state is unchanged.
#[test]
fn bad_input_is_refused() {
    let (system, start) = stack();
    let mut work = system.create_workspace();
    let mut state = start.clone();
    let p = massive(0.05);
    let mut attempt = |state: &mut State, q_cmd: &[f64], p: &StepParams| {
        system.step(state, q_cmd, p, &mut work).map(|_| ()).unwrap_err().to_string()
    };
    assert!(attempt(&mut state, &[], &p).contains("`q_cmd` has 0 entries; this system has 1"));
    assert!(attempt(&mut state, &[f64::NAN], &p).contains("q_cmd"));
    let nan_step = StepParams { time_step: f64::NAN, ..p.clone() };
    assert!(attempt(&mut state, &[0.0], &nan_step).contains("time_step"));
    let odd = StepParams { formulation: Formulation::convex(Cone::Pyramid(5)), ..p.clone() };
    assert!(attempt(&mut state, &[0.0], &odd).contains("even number of edges"));
    assert_eq!(state, start);
    let mut broken = start.clone();
    broken.q[0] = f64::INFINITY;
    assert!(attempt(&mut broken, &[0.0], &p).contains("state q"));
}

/// A pusher and a stack of three boxes.
fn stack() -> (quasistep::System, State) {
    let mut world = World::new();
    world.floor(0.5);
    let pusher = world.body("pusher", WORLD, slide(Vec3::X), 0.0, spring(500.0));
    world.shape(pusher, ball(0.05), [-0.16, 0.0, 0.1], 0.5);
    for k in 0..3 {
        let cube = world.body(&format!("cube{k}"), WORLD, JointKind::Free, 1.0, Role::Passive);
        world.shape(cube, Shape::Box { half: [0.1, 0.1, 0.1] }, [0.0; 3], 0.5);
    }
    let system = world.build();
    let mut q = system.model().neutral_q();
    for k in 0..3 {
        let z = system.model().body(2 + k).q.end - 1;
        q[z] = 0.1 + 0.2 * k as f64;
    }
    (system, State::at_rest(0.0, q))
}

/// A box on a compliant floor sinks by compliance times load at each corner, with equal loads. The
/// rigid floor is the limit.
#[test]
fn a_floor_that_gives_way_sinks_by_compliance_times_load() {
    for formulation in [
        Formulation::convex(Cone::Round),
        Formulation::exact(Cone::Round),
        Formulation::dynamic(Cone::Round),
    ] {
        let mut world = World::new();
        let compliance = 1e-6;
        let floor = Surface { compliance, ..Surface::sliding(0.5) };
        world.surface(WORLD, Shape::HalfSpace, [0.0; 3], floor);
        let body = world.body("box", WORLD, JointKind::Free, 2.0, Role::Passive);
        world.shape(body, Shape::Box { half: [0.1, 0.1, 0.05] }, [0.0; 3], 0.5);
        let system = world.build();
        let params = StepParams {
            formulation,
            inertia: Inertia::Mass,
            relaxation: Relaxation::Step,
            ..StepParams::default()
        };
        let mut state = State::at_rest(0.0, vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.05]);
        let mut work = system.create_workspace();
        for _ in 0..400 {
            let report = system.step(&mut state, &[], &params, &mut work).unwrap();
            let loads: Vec<f64> = report.contacts.iter().map(|c| c.normal_force).collect();
            assert!(loads.iter().all(|f| (f - loads[0]).abs() < 1e-9 * loads[0]), "{loads:?}");
        }
        let sunk = 0.05 - state.q[6];
        let want = compliance * 2.0 * 9.81 / 4.0;
        assert!((sunk - want).abs() < 1e-3 * want, "{formulation:?}: {sunk:e} {want:e}");
    }
}

/// A plate that rises at constant speed carries the weight of a body on it and the drag `M v/τ` of
/// its relaxation. A free body falls at `g τ`. Both hold for every step size; with `h = τ` the step
/// is that of Tracy (13).
#[test]
fn small_steps_converge_to_one_motion() {
    let (m, speed, tau) = (0.2, 0.1, 1.0);
    for h in [0.2, 0.05, 0.005] {
        let params = StepParams {
            inertia: Inertia::Mass,
            relaxation: Relaxation::Time(tau),
            contact_margin: 0.02,
            ..params(h)
        };
        let mut world = World::new();
        let plate = world.body("plate", WORLD, slide(Vec3::Z), 0.0, Role::Prescribed);
        let load = world.body("load", WORLD, slide(Vec3::Z), m, Role::Passive);
        world.body("stone", WORLD, slide(Vec3::Z), m, Role::Passive);
        world.shape(plate, Shape::Box { half: [0.2, 0.2, 0.05] }, [0.0, 0.0, -0.05], 0.5);
        world.shape(load, ball(0.1), [0.0; 3], 0.5);
        let system = world.build();
        let mut state = State::at_rest(0.0, vec![0.0, 0.1, 50.0]);
        let mut work = system.create_workspace();
        for k in 1..=3 {
            let report =
                system.step(&mut state, &[speed * h * f64::from(k)], &params, &mut work).unwrap();
            let carried = report.contacts[0].normal_force;
            assert!((carried - m * (10.0 + speed / tau)).abs() < 1e-9, "{h}: {carried}");
            assert!((report.v[2] + 10.0 * tau).abs() < 1e-9, "{h}: {}", report.v[2]);
        }
        let tracy = StepParams { relaxation: Relaxation::Step, ..params.clone() };
        let same = StepParams { relaxation: Relaxation::Time(h), ..params };
        let [a, b] = [tracy, same].map(|params| {
            let mut state = State::at_rest(0.0, vec![0.0, 0.1, 50.0]);
            system.step(&mut state, &[0.0], &params, &mut work).unwrap();
            state.q
        });
        assert_eq!(a, b);
    }
}

/// A relaxation time must be positive.
#[test]
fn a_relaxation_time_is_positive() {
    for tau in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let params = StepParams { relaxation: Relaxation::Time(tau), ..params(0.1) };
        assert!(params.check().unwrap_err().to_string().contains("relaxation"), "{tau}");
    }
}
