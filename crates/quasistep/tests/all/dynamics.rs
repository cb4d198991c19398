//! Laws of the dynamic step, which carries velocities.

use crate::common::{World, actuator, ball, mimic_of, slide, spring};
use quasistep::{
    Cone, Fallback, Formulation, Inertia, Integration, Relaxation, Role, State, StepError,
    StepInput, StepParams, Surface, System, Wrench,
};
use quasistep_geometry::Shape;
use quasistep_math::Vec3;
use quasistep_model::{JointKind, WORLD};

const G: f64 = 9.81;

fn dynamic(h: f64) -> StepParams {
    StepParams {
        time_step: h,
        formulation: Formulation::dynamic(Cone::Pyramid(4)),
        ..StepParams::default()
    }
}

fn round(h: f64) -> StepParams {
    StepParams { formulation: Formulation::dynamic(Cone::Round), ..dynamic(h) }
}

fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} instead of {b}");
}

/// Configuration of a free body at a point.
fn at(p: [f64; 3]) -> Vec<f64> {
    vec![1.0, 0.0, 0.0, 0.0, p[0], p[1], p[2]]
}

/// A box of 0.2 × 0.2 × 0.1 m on a floor.
fn block(mu: f64) -> System {
    let mut world = World::new();
    world.floor(mu);
    let body = world.body("block", WORLD, JointKind::Free, 2.0, Role::Passive);
    world.shape(body, Shape::Box { half: [0.1, 0.1, 0.05] }, [0.0; 3], mu);
    world.build()
}

/// Free fall after `k` steps: `v_k = −g k h`, `z_k = z_0 − g h² k (k + 1)/2`.
#[test]
fn free_fall_has_its_exact_discrete_value() {
    let mut world = World::new();
    world.body("stone", WORLD, JointKind::Free, 3.0, Role::Passive);
    let system = world.build();
    let (mut state, mut work) =
        (State::at_rest(0.0, at([1.0, 2.0, 50.0])), system.create_workspace());
    let h = 0.01;
    for k in 1..=200 {
        system.step(&mut state, &[], &dynamic(h), &mut work).unwrap();
        let k = f64::from(k);
        close(state.v[5], -G * k * h, 1e-13);
        close(state.q[6], 50.0 - G * h * h * k * (k + 1.0) / 2.0, 1e-13);
    }
    assert_eq!(&state.v[..5], [0.0; 5]);
}

#[test]
fn a_dropped_ball_comes_to_rest_where_it_lands() {
    let mut world = World::new();
    world.floor(0.5);
    let body = world.body("ball", WORLD, JointKind::Free, 1.0, Role::Passive);
    world.shape(body, ball(0.1), [0.0; 3], 0.5);
    let system = world.build();
    for p in [dynamic(0.01), round(0.01)] {
        let mut state = State::at_rest(0.0, at([0.0, 0.0, 0.4]));
        let mut work = system.create_workspace();
        let (mut landed, mut lowest) = (false, f64::INFINITY);
        for _ in 0..100 {
            let report = system.step(&mut state, &[], &p, &mut work).unwrap();
            landed |= report.contacts.iter().any(|c| c.normal_force > 0.0);
            lowest = lowest.min(state.q[6]);
        }
        assert!(landed && lowest >= 0.1 - 1e-12, "{lowest}");
        close(state.q[6], 0.1, 1e-12);
        assert!(state.v.iter().all(|v| v.abs() < 1e-11), "{:?}", state.v);
        close(work_force(&system, &mut state, &p), G, 1e-9);
    }
}

/// Normal force in one further step.
fn work_force(system: &System, state: &mut State, p: &StepParams) -> f64 {
    let mut work = system.create_workspace();
    let report = system.step(state, &[], p, &mut work).unwrap();
    report.contacts.iter().map(|c| c.normal_force).sum()
}

/// On a slope of 30°, made by rotating gravity, a sliding block has `a = g (sin − mu cos)`.
#[test]
fn a_block_on_a_slope_has_coulombs_deceleration_and_sticks_in_the_cone() {
    let (s, c) = 30.0_f64.to_radians().sin_cos();
    let gravity = [G * s, 0.0, -G * c];
    for (mu, speed) in [(0.3, 0.2), (0.8, 1.0), (0.8, 0.0)] {
        for p in [dynamic(0.005), round(0.005)] {
            let p = StepParams { gravity, ..p };
            let system = block(mu);
            let mut state = State::at_rest(0.0, at([0.0, 0.0, 0.05]));
            state.v = vec![0.0, 0.0, 0.0, speed, 0.0, 0.0];
            let mut work = system.create_workspace();
            let mut wanted = speed;
            for _ in 0..150 {
                system.step(&mut state, &[], &p, &mut work).unwrap();
                wanted = (wanted + p.time_step * G * (s - mu * c)).max(0.0);
                close(state.v[3], wanted, 1e-9);
                close(state.q[6], 0.05, 1e-10);
            }
            assert_eq!(wanted == 0.0, mu > s / c);
        }
    }
}

/// A block on a moving belt accelerates with `mu g` until it has the belt's speed.
#[test]
fn a_belt_drags_a_block_up_to_its_speed() {
    let mut world = World::new();
    let belt = world.body("belt", WORLD, slide(Vec3::X), 0.0, Role::Prescribed);
    world.shape(belt, Shape::Box { half: [50.0, 1.0, 0.5] }, [0.0, 0.0, -0.5], 0.4);
    let body = world.body("block", WORLD, JointKind::Free, 2.0, Role::Passive);
    world.shape(body, Shape::Box { half: [0.1, 0.1, 0.05] }, [0.0; 3], 0.4);
    let system = world.build();
    let (h, speed) = (0.01, 1.5);
    let mut state = State::at_rest(0.0, [vec![0.0], at([0.0, 0.0, 0.05])].concat());
    let mut work = system.create_workspace();
    let mut wanted = 0.0_f64;
    for k in 1..=100 {
        let u = [speed * h * f64::from(k)];
        let report = system.step(&mut state, &u, &dynamic(h), &mut work).unwrap();
        wanted = (wanted + h * 0.4 * G).min(speed);
        close(state.v[4], wanted, 1e-9);
        // the belt has no mass of its own: its effort is the friction
        let pull = if wanted < speed { 0.4 * 2.0 * G } else { 0.0 };
        if wanted < speed {
            close(report.effort[0], pull, 1e-8);
        }
    }
    assert_eq!(wanted, speed);
}

/// Balls of many speeds in a closed bin: no step adds energy.
#[test]
fn contact_never_adds_energy() {
    let mut world = World::new();
    world.floor(0.6);
    for k in 0..6 {
        let body = world.body(
            &format!("ball{k}"),
            WORLD,
            JointKind::Free,
            0.5 + f64::from(k),
            Role::Passive,
        );
        world.shape(body, ball(0.1), [0.0; 3], 0.3 + 0.1 * f64::from(k));
    }
    let system = world.build();
    let mut state = State::default();
    for k in 0..6 {
        let x = f64::from(k);
        state.q.extend(at([0.07 * x.sin(), 0.05 * x.cos(), 0.15 + 0.25 * x]));
        state.v.extend([3.0 * x.cos(), x, -2.0, 0.3 - 0.1 * x, 0.2 * x.sin(), -1.0]);
    }
    let mass: Vec<f64> = (0..6).map(|k| 0.5 + f64::from(k)).collect();
    let energy = |state: &State| -> f64 {
        (0..6)
            .map(|k| {
                let (v, z) = (&state.v[6 * k..], state.q[7 * k + 6]);
                let turning: f64 = v[..3].iter().map(|w| w * w).sum();
                let moving: f64 = v[3..6].iter().map(|w| w * w).sum();
                // `World` assigns the inertia of balls of radius 0.1 m
                mass[k] * (0.5 * moving + 0.5 * 0.4 * 0.01 * turning + G * z)
            })
            .sum()
    };
    let mut work = system.create_workspace();
    let (mut before, mut hits) = (energy(&state), 0);
    for _ in 0..300 {
        let report = system.step(&mut state, &[], &round(0.005), &mut work).unwrap();
        hits += report.contacts.iter().filter(|c| c.normal_force > 0.0).count();
        assert!(
            report.certificate.true_distance >= -1e-10,
            "a ball is nowhere nearer than linearised"
        );
        let after = energy(&state);
        assert!(after <= before + 1e-9, "{before} J became {after} J");
        before = after;
    }
    assert!(hits > 300, "{hits}");
}

/// Two balls in free space keep their momentum and move together after an inelastic collision.
#[test]
fn a_hit_keeps_momentum_and_does_not_bounce() {
    let mut world = World::new();
    for name in ["a", "b"] {
        let body = world.body(name, WORLD, JointKind::Free, 1.0, Role::Passive);
        world.shape(body, ball(0.1), [0.0; 3], 0.5);
    }
    let system = world.build();
    let mut state = State::at_rest(0.0, [at([0.0; 3]), at([0.5, 0.05, 0.0])].concat());
    state.v = vec![0.0, 0.0, 1.0, 2.0, 0.0, 0.1, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0];
    let p = StepParams { gravity: [0.0; 3], ..round(0.01) };
    let momentum = |s: &State| {
        let mut sum = [0.0; 6];
        for k in 0..2 {
            let (q, v) = (&s.q[7 * k + 4..7 * k + 7], &s.v[6 * k..6 * k + 6]);
            let linear = Vec3::new(v[3], v[4], v[5]);
            let spin = Vec3::new(v[0], v[1], v[2]) * (0.4 * 0.01);
            let about = Vec3::new(q[0], q[1], q[2]).cross(linear) + spin;
            for i in 0..3 {
                sum[i] += linear[i];
                sum[3 + i] += about[i];
            }
        }
        sum
    };
    let before = momentum(&state);
    let mut work = system.create_workspace();
    let (mut hit, mut apart) = (false, Vec3::ZERO);
    for _ in 0..30 {
        let start =
            Vec3::new(state.q[11] - state.q[4], state.q[12] - state.q[5], state.q[13] - state.q[6]);
        let report = system.step(&mut state, &[], &p, &mut work).unwrap();
        let now = momentum(&state);
        for i in 0..3 {
            close(now[i], before[i], 1e-12);
        }
        // contact points lie halfway between the surfaces, so angular momentum is conserved to
        // first order
        for i in 3..6 {
            assert!((now[i] - before[i]).abs() < 1e-2, "{now:?} {before:?}");
        }
        if report.contacts.iter().any(|c| c.normal_force > 0.0) {
            (hit, apart) = (true, start);
        }
    }
    assert!(hit && apart != Vec3::ZERO);
}

/// A mass on a damped spring follows implicit Euler steps, and stiff ones decay.
#[test]
fn springs_and_dampers_are_implicit() {
    for (K, D) in [(50.0, 0.7), (1e9, 0.0), (1e3, 1e6)] {
        let mut world = World::new();
        let m = 0.8;
        world.body("cart", WORLD, slide(Vec3::X), m, actuator(K, D, f64::INFINITY));
        let system = world.build();
        let (h, target) = (0.02, 0.3);
        let mut state = State { time: 0.0, q: vec![-0.1], v: vec![1.5], attached: Vec::new() };
        let (mut x, mut v) = (-0.1, 1.5);
        let mut work = system.create_workspace();
        for _ in 0..50 {
            system.step(&mut state, &[target], &dynamic(h), &mut work).unwrap();
            v = (m * v + h * K * (target - x)) / (m + h * D + h * h * K);
            x += h * v;
            close(state.v[0], v, 1e-9);
            close(state.q[0], x, 1e-11);
        }
    }
}

/// A spring at its effort limit pushes with a constant force.
#[test]
fn an_effort_limit_is_a_constant_force() {
    let mut world = World::new();
    world.body("cart", WORLD, slide(Vec3::X), 2.0, actuator(1e4, 0.0, 3.0));
    let system = world.build();
    let mut state = State::at_rest(0.0, vec![0.0]);
    let mut work = system.create_workspace();
    for k in 1..=20 {
        let report = system.step(&mut state, &[1.0], &dynamic(0.01), &mut work).unwrap();
        assert_eq!(report.saturated, [0]);
        close(report.effort[0], 3.0, 1e-10);
        close(state.v[0], 0.015 * f64::from(k), 1e-10);
    }
}

/// A joint limit stops a cart that runs into it, with the required force.
#[test]
fn a_joint_limit_stops_a_cart() {
    let mut world = World::new();
    world.limited_body("cart", WORLD, slide(Vec3::X), 2.0, Role::Passive, Some([-1.0, 0.1]));
    let system = world.build();
    let mut state = State { time: 0.0, q: vec![0.0], v: vec![3.0], attached: Vec::new() };
    let mut work = system.create_workspace();
    for _ in 0..20 {
        system.step(&mut state, &[], &dynamic(0.01), &mut work).unwrap();
        assert!(state.q[0] <= 0.1 + 1e-12);
    }
    close(state.q[0], 0.1, 1e-12);
    assert!(state.v[0].abs() < 1e-10);
}

/// If only passive bodies have mass, the dynamic step from rest equals the quasi-dynamic one.
#[test]
fn from_rest_it_is_the_quasi_dynamic_step_of_exact_friction() {
    let mut world = World::new();
    world.floor(0.5);
    let pusher = world.body("pusher", WORLD, slide(Vec3::X), 0.0, spring(2000.0));
    world.shape(pusher, ball(0.05), [-0.16, 0.0, 0.06], 0.5);
    let body = world.body("block", WORLD, JointKind::Free, 2.0, Role::Passive);
    world.shape(body, Shape::Box { half: [0.1, 0.1, 0.05] }, [0.0; 3], 0.5);
    let system = world.build();
    let start = State::at_rest(0.0, [vec![0.0], at([0.0, 0.01, 0.05])].concat());
    for cone in [Cone::Pyramid(4), Cone::Pyramid(8), Cone::Round] {
        for (h, u) in [(0.1, 0.05), (0.01, 0.05), (0.01, 0.5)] {
            let mut after = Vec::new();
            for formulation in [Formulation::dynamic(cone), Formulation::exact(cone)] {
                let p = StepParams {
                    time_step: h,
                    formulation,
                    inertia: Inertia::Mass,
                    relaxation: Relaxation::Step,
                    ..dynamic(h)
                };
                let (mut state, mut work) = (start.clone(), system.create_workspace());
                system.step(&mut state, &[u], &p, &mut work).unwrap();
                assert_eq!(state.v.is_empty(), !formulation.carries_velocity());
                after.push(state.q);
            }
            assert_ne!(after[0], start.q);
            assert_eq!(after[0], after[1], "{cone:?}, {h} s");
        }
    }
}

/// A body is wedged in a slot that is too narrow: recovery would have to push it both ways.
#[test]
fn where_recovery_contradicts_itself_the_step_without_it_stands_in() {
    let depth = 1e-3;
    let mut world = World::new();
    for side in [-1.0, 1.0] {
        let x = side * (0.6 - depth);
        world.shape(WORLD, Shape::Box { half: [0.5, 1.0, 1.0] }, [x, 0.0, 0.0], 0.5);
    }
    let body = world.body("peg", WORLD, JointKind::Free, 1.0, Role::Passive);
    world.shape(body, ball(0.1), [0.0; 3], 0.5);
    let system = world.build();
    for p in [dynamic(0.01), round(0.01)] {
        let mut state = State::at_rest(0.0, at([0.0; 3]));
        state.v = vec![0.0, 0.0, 0.0, 0.4, 0.0, 0.0];
        let mut work = system.create_workspace();
        let report = system.step(&mut state, &[], &p, &mut work).unwrap();
        // v_x ≥ r from one wall and −v_x ≥ r from the other, with r = max_recovery_speed > 0
        let (stand_in, why) = report.fallback.as_ref().unwrap();
        assert_eq!(*stand_in, Fallback::WithoutRecovery);
        let StepError::Infeasible { pairs, crushed: true, .. } = why else { panic!("{why:?}") };
        assert_eq!(pairs.len(), 1);
        close(pairs[0].depth, depth, 1e-9);
        assert!(report.certificate.penetration <= 1e-12);
        // neither overlap got deeper
        close(state.q[4], 0.0, 1e-12);
        assert!(state.v[3].abs() < 1e-12);
        // if one wall only overlaps, recovery is feasible and no fallback is taken
        let mut free = State::at_rest(0.0, at([-0.3, 5.0, 0.0]));
        let report = system.step(&mut free, &[], &p, &mut work).unwrap();
        assert!(report.fallback.is_none());
    }
}

/// If prescribed motion crushes a body, the fallback fails too: the error says so and the state is
/// unchanged.
#[test]
fn crushing_stays_an_error() {
    let mut world = World::new();
    world.floor(0.5);
    let press = world.body("press", WORLD, slide(Vec3::Z), 0.0, Role::Prescribed);
    world.shape(press, Shape::Box { half: [1.0, 1.0, 0.1] }, [0.0, 0.0, 0.301], 0.5);
    let body = world.body("ball", WORLD, JointKind::Free, 1.0, Role::Passive);
    world.shape(body, ball(0.1), [0.0; 3], 0.5);
    let system = world.build();
    let start = State::at_rest(0.0, [vec![0.0], at([0.0, 0.0, 0.1])].concat());
    let (mut state, mut work) = (start.clone(), system.create_workspace());
    let error = system.step(&mut state, &[-0.05], &dynamic(0.01), &mut work).unwrap_err();
    assert!(matches!(error, StepError::Infeasible { crushed: true, .. }), "{error}");
    assert_eq!(state, start);
}

/// Torsional friction on the floor reduces the rate of a spinning ball by `mu_spin g h m/I` per
/// step, until it rests.
#[test]
fn torsional_friction_stops_a_spin() {
    let mut world = World::new();
    let surface = Surface { mu_spin: 0.002, ..Surface::sliding(0.5) };
    world.surface(WORLD, Shape::HalfSpace, [0.0; 3], surface);
    let body = world.body("ball", WORLD, JointKind::Free, 3.0, Role::Passive);
    world.surface(body, ball(0.1), [0.0; 3], surface);
    let system = world.build();
    for p in [dynamic(0.01), round(0.01)] {
        let mut state = State::at_rest(0.0, at([0.0, 0.0, 0.1]));
        state.v = vec![0.0, 0.0, 2.0, 0.0, 0.0, 0.0];
        let (mut work, mut wanted) = (system.create_workspace(), 2.0_f64);
        for _ in 0..60 {
            system.step(&mut state, &[], &p, &mut work).unwrap();
            wanted = (wanted - p.time_step * 0.002 * G / (0.4 * 0.01)).max(0.0);
            close(state.v[2], wanted, 1e-9);
        }
        assert_eq!(wanted, 0.0);
    }
}

/// An accelerating prescribed base moves a passive body through the mass matrix (`M_up`), and needs
/// its own force.
#[test]
fn prescribed_joints_push_through_the_mass_matrix() {
    let mut world = World::new();
    let base = world.body("base", WORLD, slide(Vec3::X), 3.0, Role::Prescribed);
    world.body("slider", base, slide(Vec3::X), 2.0, Role::Passive);
    let system = world.build();
    let (h, p) = (0.01, StepParams { gravity: [0.0; 3], ..dynamic(0.01) });
    let mut state = State::at_rest(0.0, vec![0.0, 0.0]);
    let mut work = system.create_workspace();
    let mut u = 0.0;
    for k in 1..=10 {
        u += h * 0.2 * f64::from(k);
        let report = system.step(&mut state, &[u], &p, &mut work).unwrap();
        // a free slider stays at rest in the world, so the base needs only the force for its own
        // mass
        close(state.q[0] + state.q[1], 0.0, 1e-12);
        close(report.effort[0], 3.0 * 0.2 / h, 1e-9);
    }
}

/// A free body rotating about a non-principal axis keeps its angular momentum to first order in
/// `h`.
#[test]
fn gyroscopic_torque_keeps_the_angular_momentum() {
    let system = {
        let mut world = World::new();
        // two balls held off the hub, in directions that are not orthogonal
        let body = world.body("hub", WORLD, JointKind::Free, 1.0, Role::Passive);
        world.body("a", body, slide(Vec3::X), 1.0, Role::Prescribed);
        world.body("b", body, slide(Vec3::new(0.6, 0.8, 0.0)), 2.0, Role::Prescribed);
        world.build()
    };
    let drift = |h: f64| {
        let p = StepParams { gravity: [0.0; 3], ..dynamic(h) };
        let u = [0.5, -0.4];
        let mut state = State::at_rest(0.0, [at([0.0; 3]), u.to_vec()].concat());
        state.v = vec![1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let momentum = |state: &State| {
            let linear = system.linearise(&state.q, [0.0; 3], 0.0).unwrap();
            let n = linear.n_v;
            // rows of the hub's rates: force and torque on the whole body about the hub's origin
            let of = |i: usize| (0..n).map(|j| linear.mass[i * n + j] * state.v[j]).sum::<f64>();
            let (L, P) = (Vec3::new(of(0), of(1), of(2)), Vec3::new(of(3), of(4), of(5)));
            L + Vec3::new(state.q[4], state.q[5], state.q[6]).cross(P)
        };
        let before = momentum(&state);
        let mut work = system.create_workspace();
        for _ in 0..(1.0 / h).round() as usize {
            system.step(&mut state, &u, &p, &mut work).unwrap();
        }
        (momentum(&state) - before).norm() / before.norm()
    };
    let (coarse, fine) = (drift(2e-3), drift(1e-3));
    assert!(coarse < 0.03, "{coarse}");
    assert!((coarse / fine - 2.0).abs() < 0.1, "{coarse} and {fine}");
}

/// A massless dof is quasi-static: it moves to its force balance.
#[test]
fn a_dof_without_mass_is_quasi_static() {
    let mut world = World::new();
    let body = world.body("pad", WORLD, slide(Vec3::X), 0.0, spring(1000.0));
    let system = world.build();
    let wrench = Wrench { body, p_B: Vec3::ZERO, force_W: Vec3::X * 5.0, torque_W: Vec3::ZERO };
    let mut state = State { time: 0.0, q: vec![0.3], v: vec![7.0], attached: Vec::new() };
    let input = StepInput { q_cmd: vec![0.1], wrenches: vec![wrench], ..StepInput::default() };
    let mut work = system.create_workspace();
    system.step_with(&mut state, &input, &dynamic(0.01), &mut work).unwrap();
    close(state.q[0], 0.105, 1e-12);
}

#[test]
fn a_checkpoint_resumes_with_the_same_bits() {
    let mut world = World::new();
    world.floor(0.5);
    let pusher = world.body("pusher", WORLD, slide(Vec3::X), 0.3, actuator(500.0, 5.0, 20.0));
    world.shape(pusher, ball(0.05), [-0.2, 0.0, 0.06], 0.5);
    for k in 0..2 {
        let body = world.body(&format!("block{k}"), WORLD, JointKind::Free, 1.0, Role::Passive);
        world.shape(body, Shape::Box { half: [0.1, 0.1, 0.05] }, [0.0; 3], 0.5);
    }
    let system = world.build();
    let mut state =
        State::at_rest(0.0, [vec![0.0], at([0.0, 0.0, 0.05]), at([0.02, 0.0, 0.16])].concat());
    let mut work = system.create_workspace();
    let mut saved = None;
    let u = |k: usize| [0.01 * k as f64];
    for k in 0..40 {
        if k == 15 {
            saved = Some(work.checkpoint(&state));
        }
        system.step(&mut state, &u(k), &dynamic(0.01), &mut work).unwrap();
    }
    let saved = saved.unwrap();
    assert!(saved.state.v.iter().any(|v| *v != 0.0));
    let mut fresh = system.create_workspace();
    fresh.resume(&saved);
    let mut resumed = saved.state;
    for k in 15..40 {
        system.step(&mut resumed, &u(k), &dynamic(0.01), &mut fresh).unwrap();
    }
    assert_eq!(resumed, state);
}

#[test]
fn velocities_that_do_not_fit_are_refused() {
    let system = block(0.5);
    let mut work = system.create_workspace();
    let start = State::at_rest(0.0, at([0.0, 0.0, 0.05]));
    let mut short = State { v: vec![0.0; 5], ..start.clone() };
    let error = system.step(&mut short, &[], &dynamic(0.01), &mut work).unwrap_err();
    assert_eq!(error.to_string(), "`v` has 5 entries; this system has 6");
    let mut nan = State { v: vec![0.0, 0.0, f64::NAN, 0.0, 0.0, 0.0], ..start.clone() };
    let error = system.step(&mut nan, &[], &dynamic(0.01), &mut work).unwrap_err().to_string();
    assert!(error.contains("state v") && error.contains("entry 2"), "{error}");
    let midpoint = StepParams { integration: Integration::Midpoint, ..dynamic(0.01) };
    let error = system.step(&mut start.clone(), &[], &midpoint, &mut work).unwrap_err().to_string();
    assert!(error.contains("`integration`") && error.contains("euler"), "{error}");
}

/// Quasi-static formulations start from rest and do not carry a velocity.
#[test]
fn other_steps_forget_the_velocity() {
    let system = block(0.5);
    let p = StepParams {
        inertia: Inertia::Mass,
        relaxation: Relaxation::Step,
        ..StepParams::default()
    };
    let mut moving = State::at_rest(0.0, at([0.0, 0.0, 0.05]));
    let mut resting = moving.clone();
    moving.v = vec![0.0, 0.0, 0.0, 3.0, 0.0, 0.0];
    for state in [&mut moving, &mut resting] {
        system.step(state, &[], &p, &mut system.create_workspace()).unwrap();
    }
    assert_eq!(moving, resting);
}

/// A ball with restitution e rises to e² of its height, and comes to rest.
#[test]
fn a_ball_bounces_to_the_square_of_its_restitution() {
    for e in [0.5, 0.8, 1.0] {
        let mut world = World::new();
        world.floor(0.5);
        let body = world.body("ball", WORLD, JointKind::Free, 1.0, Role::Passive);
        let surface = Surface { restitution: e, ..Surface::sliding(0.5) };
        world.surface(body, ball(0.1), [0.0; 3], surface);
        let system = world.build();
        let h = 1e-3;
        let mut state = State::at_rest(0.0, at([0.0, 0.0, 0.6]));
        let mut work = system.create_workspace();
        let (mut bounced, mut highest) = (false, 0.0_f64);
        let fall = (2.0 * 0.5 / G).sqrt();
        for _ in 0..(fall * (1.0 + 1.5 * e) / h) as usize {
            let report = system.step(&mut state, &[], &round(h), &mut work).unwrap();
            bounced |= report.contacts.iter().any(|c| c.rebound > 0.0);
            highest = highest.max(if bounced { state.q[6] - 0.1 } else { 0.0 });
        }
        assert!((highest - 0.5 * e * e).abs() < 0.01, "{e}: {highest}");
        if e < 1.0 {
            for _ in 0..8000 {
                system.step(&mut state, &[], &round(h), &mut work).unwrap();
            }
            assert!(state.v.iter().all(|v| v.abs() < 1e-9), "{e}: {:?}", state.v);
        }
    }
}

/// A tumbling box with full restitution on a floor gains no energy in any impact.
#[test]
fn impacts_of_a_tumbling_box_gain_no_energy() {
    let mut world = World::new();
    world.floor(0.5);
    let body = world.body("block", WORLD, JointKind::Free, 2.0, Role::Passive);
    let surface = Surface { restitution: 1.0, ..Surface::sliding(0.5) };
    world.surface(body, Shape::Box { half: [0.1, 0.1, 0.05] }, [0.0; 3], surface);
    let system = world.build();
    let (h, mut bounces) = (2e-3, 0);
    for k in 0..12 {
        let spin = f64::from(k);
        let mut state = State::at_rest(0.0, at([0.0, 0.0, 0.4]));
        state.v = vec![3.0 - spin, 0.7 * spin, 1.0, 0.5, -0.3, -1.0];
        let mut work = system.create_workspace();
        let energy = |state: &State| {
            let mut kin = system.model().create_kinematics();
            system.model().kinematics(&state.q, &mut kin);
            let mut mass = vec![0.0; 36];
            system.model().mass_matrix(&kin, &mut mass);
            let moving = (0..6).flat_map(|i| (0..6).map(move |j| (i, j)));
            let kinetic: f64 =
                moving.map(|(i, j)| 0.5 * mass[6 * i + j] * state.v[i] * state.v[j]).sum();
            kinetic + 2.0 * G * state.q[6]
        };
        for _ in 0..500 {
            let before = energy(&state);
            let report = system.step(&mut state, &[], &round(h), &mut work).unwrap();
            if report.contacts.iter().any(|c| c.rebound > 0.0) {
                bounces += 1;
                // gravity adds less than m g h |v| of energy per step
                let slack = 2.0 * G * h * 4.0;
                assert!(energy(&state) <= before + slack, "{k}: {before} {}", energy(&state));
            }
        }
    }
    assert!(bounces > 20, "{bounces}");
}

/// Rotors: a slide of mass `m` with armature `a` accelerates as one of mass `m + a`. A follower
/// that is `r` times as fast adds `r² (m + a)`.
#[test]
fn armature_is_inertia_of_the_joint() {
    let (m, a, force, h) = (0.5, 0.3, 2.0, 0.01);
    let mut world = World::new();
    let leader = world.body("leader", WORLD, slide(Vec3::X), m, Role::Passive);
    let follower = world.body("follower", WORLD, slide(Vec3::X), m, Role::Passive);
    world.rotor(leader, a);
    world.rotor(follower, a);
    let mut def = world.def();
    let alone = System::new(def.clone()).unwrap();
    def.model = mimic_of(&def.model, follower, leader, -3.0, 0.0);
    let geared = System::new(def).unwrap();
    let dynamic = Formulation::dynamic(Cone::Round);
    for params in [
        StepParams {
            time_step: h,
            inertia: Inertia::Mass,
            relaxation: Relaxation::Step,
            ..StepParams::default()
        },
        StepParams { time_step: h, formulation: dynamic, ..StepParams::default() },
    ] {
        for (system, n, mass) in [(&alone, 2, m + a), (&geared, 1, (m + a) * 10.0)] {
            let mut state = State::at_rest(0.0, vec![0.0; n]);
            let mut tau = vec![0.0; n];
            tau[0] = force;
            let input = StepInput { tau, ..StepInput::default() };
            let mut work = system.create_workspace();
            let report = system.step_with(&mut state, &input, &params, &mut work).unwrap();
            assert!((report.v[0] - h * force / mass).abs() < 1e-14, "{:?} {mass}", report.v);
        }
    }
    close(geared.model().armature()[0], a * 10.0, 1e-15);
}
