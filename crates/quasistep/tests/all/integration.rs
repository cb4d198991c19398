//! Orders of accuracy in time, against closed forms.

use crate::common::{World, actuator, ball, slide, spring};
use quasistep::{
    Actuator, DampingOn, Inertia, Integration, Role, State, StepError, StepInput, StepParams,
    System,
};
use quasistep_geometry::Shape;
use quasistep_math::Vec3;
use quasistep_model::{JointKind, WORLD};

const K: f64 = 800.0;
const D: f64 = 86.0;
const RATE: f64 = K / D;

fn params(integration: Integration, h: f64) -> StepParams {
    StepParams {
        time_step: h,
        gravity: [0.0; 3],
        integration,
        inertia: Inertia::None,
        ..StepParams::default()
    }
}

/// One joint without contacts.
fn joint(role: Role) -> System {
    let mut world = World::new();
    world.body("joint", WORLD, slide(Vec3::X), 0.0, role);
    world.build()
}

/// `q` after `n` steps from time 0 to `t`, with the command `c`.
fn follow(
    system: &System,
    integration: Integration,
    c: &dyn Fn(f64) -> f64,
    t: f64,
    n: u32,
) -> f64 {
    let h = t / f64::from(n);
    let mut state = State::at_rest(0.0, vec![0.0]);
    let mut work = system.create_workspace();
    for k in 1..=n {
        let (start, end) = (c(h * f64::from(k - 1)), c(h * f64::from(k)));
        let input =
            StepInput { q_cmd: vec![end], v_cmd: vec![(end - start) / h], ..StepInput::default() };
        system.step_with(&mut state, &input, &params(integration, h), &mut work).unwrap();
    }
    state.q[0]
}

/// `D dq/dt = K (r t − q)` has the solution `q = r t − r D/K (1 − exp(−K t/D))`, which every step
/// size reproduces.
#[test]
fn midpoint_follows_a_ramp_exactly() {
    let system = joint(actuator(K, D, f64::INFINITY));
    let (r, t) = (0.3, 0.8);
    let want = r * t - r / RATE * (1.0 - (-RATE * t).exp());
    for n in [1, 2, 8, 800] {
        let got = follow(&system, Integration::Midpoint, &|t| r * t, t, n);
        assert!((got - want).abs() < 1e-12, "{n} steps: {got}, not {want}");
    }
    // a force limit that is never reached changes nothing
    let limited = joint(actuator(K, D, 1e3));
    let got = follow(&limited, Integration::Midpoint, &|t| r * t, t, 8);
    assert!((got - want).abs() < 1e-12, "{got}, not {want}");
}

/// A spring with zero or very small damping is at its command at the end of a step, as with Euler.
/// A spring that hardly relaxes within a step still follows its closed form.
#[test]
fn midpoint_knows_the_limits_of_stiff_and_slack() {
    // series of r t − r/k (1 − exp(−k t)) for a slow spring
    let slow = 1e-6 * 0.3 * 0.8 * 0.8 / 2.0;
    for (role, want) in [
        (spring(K), 0.24),
        (actuator(K, 1e-9, f64::INFINITY), 0.24),
        (actuator(1e-6, 1.0, f64::INFINITY), slow),
    ] {
        let got = follow(&joint(role), Integration::Midpoint, &|t| 0.3 * t, 0.8, 4);
        assert!((got / want - 1.0).abs() < 1e-6, "{got}, not {want}");
    }
}

/// `q = A (sin wt − w D/K cos wt + w D/K exp(−K t/D)) / (1 + (w D/K)²)`: halving the step divides the
/// error by 2 with Euler and by 4 with the midpoint.
#[test]
fn orders_on_a_sinusoid() {
    let (A, w, t) = (0.2, 3.0, 1.1);
    let lag = w / RATE;
    let want =
        A * ((w * t).sin() - lag * (w * t).cos() + lag * (-RATE * t).exp()) / (1.0 + lag * lag);
    let system = joint(actuator(K, D, f64::INFINITY));
    let error =
        |integration, n| (follow(&system, integration, &|t| A * (w * t).sin(), t, n) - want).abs();
    for (integration, factor) in [(Integration::Euler, 2.0), (Integration::Midpoint, 4.0)] {
        for n in [16, 32, 64] {
            let ratio = error(integration, n) / error(integration, 2 * n);
            assert!((ratio / factor - 1.0).abs() < 0.1, "{integration:?}, {n}: {ratio}");
        }
    }
    assert!(error(Integration::Midpoint, 16) < 0.1 * error(Integration::Euler, 16));
}

/// Damping on the command error follows a ramp without lag.
#[test]
fn damping_on_the_command_error_follows_without_lag() {
    let system = joint(Role::Actuated(Actuator {
        stiffness: vec![K],
        damping: vec![D],
        effort_limit: vec![f64::INFINITY],
        damping_on: DampingOn::CommandError,
    }));
    let got = follow(&system, Integration::Midpoint, &|t| 0.3 * t, 0.8, 4);
    assert!((got - 0.24).abs() < 1e-13, "{got}");
}

/// A hand on a rotating arm holds a box between two fingers.
fn carousel() -> (System, State) {
    let mut world = World::new();
    let turn = JointKind::Revolute { axis: Vec3::Z };
    let arm = world.body("arm", WORLD, turn, 0.0, Role::Prescribed);
    let left = world.body("left", arm, slide(Vec3::Y), 0.0, actuator(1000.0, 20.0, f64::INFINITY));
    let right =
        world.body("right", arm, slide(-Vec3::Y), 0.0, actuator(1000.0, 20.0, f64::INFINITY));
    let cube = world.body("cube", WORLD, JointKind::Free, 0.5, Role::Passive);
    let pad = Shape::Box { half: [0.02, 0.01, 0.02] };
    world.shape(left, pad.clone(), [0.5, -0.04, 0.0], 1.0);
    world.shape(right, pad, [0.5, 0.04, 0.0], 1.0);
    world.shape(cube, Shape::Box { half: [0.03; 3] }, [0.0; 3], 1.0);
    let system = world.build();
    let mut q = system.model().neutral_q();
    let cube_q = system.model().body(cube).q.clone();
    q[cube_q.start + 4] = 0.5;
    (system, State::at_rest(0.0, q))
}

/// Rotates the carousel by a radian in `n` steps of `1/n` s. Returns how far the box has moved in
/// the hand, and the deepest overlap on the way, in m.
fn drift(integration: Integration, n: u32) -> (f64, f64) {
    let (system, start) = carousel();
    let h = 1.0 / f64::from(n);
    let p = params(integration, h);
    let mut state = start;
    let mut work = system.create_workspace();
    let mut overlap = 0.0_f64;
    for k in 1..=n {
        let angle = h * f64::from(k);
        let report = system.step(&mut state, &[angle, 0.01, 0.01], &p, &mut work).unwrap();
        assert_eq!(report.certificate.complaint(), None);
        assert!(report.certificate.penetration <= 1e-9);
        overlap = overlap.max(-report.certificate.true_distance);
    }
    let q = &state.q[state.q.len() - 3..];
    let (s, c) = 1f64.sin_cos();
    ((q[0] - 0.5 * c).hypot(q[1] - 0.5 * s), overlap)
}

/// A held box must follow its arc. With Euler it moves along tangents and leaves a circle of radius
/// `r` at the speed `h w² r/2`, half as fast with half the step. With the midpoint rule half the step
/// leaves a quarter of the drift.
#[test]
fn orders_of_the_drift_in_a_moving_hand() {
    for (integration, least) in [(Integration::Euler, 1.8), (Integration::Midpoint, 3.6)] {
        for n in [8, 16, 32] {
            let (coarse, fine) = (drift(integration, n).0, drift(integration, 2 * n).0);
            assert!(coarse / fine > least, "{integration:?}, {n}: {coarse} {fine}");
        }
    }
    let (euler, midpoint) = (drift(Integration::Euler, 16), drift(Integration::Midpoint, 16));
    assert!((euler.0 / (0.5 * 0.5 / 16.0) - 1.0).abs() < 0.02, "{euler:?}");
    assert!(midpoint.0 < 0.01 * euler.0, "{euler:?} {midpoint:?}");
    assert!(midpoint.1 < 0.6 * euler.1, "{euler:?} {midpoint:?}");
}

/// With the warm start off, a step has the same bits with a fresh and a used workspace. The state
/// is unchanged if a step has no solution.
#[test]
fn midpoint_keeps_the_laws_of_a_step() {
    let (system, start) = carousel();
    let p = params(Integration::Midpoint, 0.05);
    let run = |work: &mut quasistep::Workspace| {
        let mut state = start.clone();
        for k in 1..=10 {
            let angle = 0.05 * f64::from(k);
            system.step(&mut state, &[angle, 0.01, 0.01], &p, work).unwrap();
        }
        state
    };
    let mut work = system.create_workspace();
    work.set_warm_start(false);
    let first = run(&mut work);
    assert_eq!(first, run(&mut work));
    let warm = run(&mut system.create_workspace());
    for (a, b) in first.q.iter().zip(&warm.q) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }

    // after release, the massless box has no next state
    let mut state = start.clone();
    let falling = StepParams { gravity: [0.0, 0.0, -10.0], ..p.clone() };
    state.q[1] = -0.1;
    state.q[2] = -0.1;
    let apart = state.clone();
    let open = system.step(&mut state, &[0.0, -0.1, -0.1], &falling, &mut work);
    assert!(matches!(open, Err(StepError::Unsupported { .. })), "{open:?}");
    assert_eq!(state, apart);
}

/// A damped finger with its command below the floor lands and rests on it. Distance and force
/// follow the closed form at every step, without overlap.
#[test]
fn a_damped_finger_lands_and_stays() {
    let mut world = World::new();
    let finger = world.body("finger", WORLD, slide(-Vec3::Z), 0.0, actuator(K, D, f64::INFINITY));
    world.shape(finger, ball(0.1), [0.0; 3], 0.0);
    world.floor(0.5);
    let system = world.build();
    let p = StepParams {
        inertia: Inertia::None,
        contact_margin: 0.5,
        ..params(Integration::Midpoint, 0.05)
    };
    let mut state = State::at_rest(0.0, vec![-0.2]);
    let mut work = system.create_workspace();
    for k in 1..=20 {
        let report = system.step(&mut state, &[0.0], &p, &mut work).unwrap();
        // in free motion the distance to the command decays; after landing the spring pushes with K
        // times its remaining stretch
        let free = -0.2 * (-RATE * 0.05 * f64::from(k)).exp();
        let want = free.min(-0.1);
        let landing = free > -0.1 && -0.2 * (-RATE * 0.05 * f64::from(k - 1)).exp() < -0.1;
        assert!((state.q[0] - want).abs() < 1e-12, "{k}: {} {want}", state.q[0]);
        if want > -0.1 - 1e-12 && !landing {
            assert!((report.contacts[0].normal_force - K * 0.1).abs() < 1e-8);
        }
        assert!(report.certificate.true_distance > -1e-12);
    }
}
