//! Derivatives of steps: closed forms, differences, kinks, and the limit of small kappa.

use crate::common::{World, ball, slide, spring};
use quasistep::{
    Actuator, Cone, DampingOn, DerivativeError, Derivatives, Formulation, FrictionLaw, Inertia,
    InputChange, Integration, Mode, OutputChange, Relaxation, Role, State, StateRows, StepInput,
    StepParams, Surface, System,
};
use quasistep_geometry::Shape;
use quasistep_math::{Mat3, Vec3};
use quasistep_model::{BodyInertia, JointKind, WORLD};

fn params(time_step: f64, cone: Cone) -> StepParams {
    StepParams {
        time_step,
        inertia: Inertia::Mass,
        relaxation: Relaxation::Step,
        formulation: Formulation::convex(cone),
        ..StepParams::default()
    }
}

/// A spring of 1 N/m pushes 0.01 kg along a line; both bodies are balls of radius 0.05 m.
fn linear_pusher() -> System {
    let mut world = World::new();
    let a = world.body("pusher", WORLD, slide(Vec3::X), 0.0, spring(1.0));
    let b = world.body("object", WORLD, slide(Vec3::X), 0.01, Role::Passive);
    world.shape(a, ball(0.05), [0.0; 3], 0.0);
    world.shape(b, ball(0.05), [0.0; 3], 0.0);
    world.build()
}

fn pushed(system: &System, u: f64, mode: Mode) -> Derivatives {
    let params = StepParams {
        contact_margin: 0.3,
        relaxation: Relaxation::Step,
        ..params(0.01, Cone::Pyramid(4))
    };
    let mut out = system.create_derivatives();
    let state = State::at_rest(0.0, vec![0.0, 0.2]);
    let input = StepInput { q_cmd: vec![u], ..StepInput::default() };
    system.differentiate(&state, &input, &params, mode, &mut out).unwrap();
    out
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

/// Reference values computed with plain numpy: 10.15/101 and its derivative, and the relaxed step
/// with λ phi = 0.01.
#[test]
fn the_linear_pusher_is_reproduced_exact_and_smooth() {
    let system = linear_pusher();
    let mut d = pushed(&system, 0.15, Mode::Exact);
    assert!(!d.kinks().any());
    assert!(apart(d.q_next(), &[10.15 / 101.0, 10.15 / 101.0 + 0.1]) < 1e-12, "{:?}", d.q_next());
    let (mut by_q, mut by_u) = ([0.0; 4], [0.0; 2]);
    d.jacobian(&system, &mut by_q, &mut by_u).unwrap();
    assert!(apart(&by_u, &[1.0 / 101.0; 2]) < 1e-12, "{by_u:?}");
    // min 1/2 (x1 − u)² + 50 (x2 − y)² with x2 = x1 + 0.1: independent of the pusher's start
    assert!(apart(&by_q, &[0.0, 100.0 / 101.0, 0.0, 100.0 / 101.0]) < 1e-12, "{by_q:?}");

    let mut d = pushed(&system, 0.1, Mode::Smooth { kappa: 1e-2 });
    assert!(apart(d.q_next(), &[0.000496280979, 0.200995037190]) < 1e-9, "{:?}", d.q_next());
    let force = d.report().contacts[0].normal_force;
    assert!((force - 0.099503719021).abs() < 1e-9, "{force}");
    // x1 = u − λ, x2 = y + λ/100, λ (x2 − x1 − 0.1) = kappa: dλ/du = λ/(phi + 1.01 λ)
    let (phi, l) = (d.q_next()[1] - d.q_next()[0] - 0.1, force);
    let dl = l / (phi + 1.01 * l);
    d.jacobian(&system, &mut by_q, &mut by_u).unwrap();
    assert!(apart(&by_u, &[1.0 - dl, dl / 100.0]) < 1e-9, "{by_u:?}");
}

/// A ball of 1 kg touches a block of 1 kg with mu = 1. Reference: a log-barrier step computed with
/// plain numpy, in which each of the two edges has the weight 1/100 on its logarithm (`n_d / t` and
/// `2 / t` in `docs/derivatives.md`).
#[test]
fn the_log_barrier_step_is_reproduced() {
    let mut world = World::new();
    let block = world.body("block", WORLD, slide(Vec3::X), 1.0, Role::Passive);
    let rise = world.body("rise", WORLD, slide(Vec3::Y), 0.0, Role::Passive);
    let object = world.body("ball", rise, slide(Vec3::X), 1.0, Role::Passive);
    world.shape(block, Shape::Box { half: [1.0, 0.5, 1.0] }, [0.0, -0.5, 0.0], 1.0);
    world.shape(object, ball(0.1), [0.0, 0.1, 0.0], 1.0);
    let system = world.build();
    let (h, b) = (0.1, [-0.41669826, -0.46413128, 0.0]);
    let input = StepInput { tau: b.map(|b| b / h).to_vec(), ..StepInput::default() };
    let state = State::at_rest(0.0, vec![0.0; 3]);
    let mut d = system.create_derivatives();
    for (cone, kappa) in [(Cone::Pyramid(2), 2.0 / 100.0), (Cone::Round, 2.0 / 100.0)] {
        let mode = Mode::Smooth { kappa };
        let params = StepParams { relaxation: Relaxation::Step, ..params(h, cone) };
        system.differentiate(&state, &input, &params, mode, &mut d).unwrap();
        let expected = [-0.21737834041, 0.046239703561, -0.19931991959];
        assert!(apart(&d.report().v, &expected) < 1e-9, "{cone}: {:?}", d.report().v);
    }
}

/// Parameters of the system of [`push`].
#[derive(Clone, Copy)]
struct Parameters {
    stiffness: f64,
    damping: f64,
    mass: f64,
    mu: f64,
    /// Friction coefficient of the finger. With friction, finger and floor share the box's weight;
    /// exact friction leaves the split undetermined.
    finger: f64,
    time_step: f64,
    relaxation: f64,
    v_cmd: f64,
    limit: f64,
    compliance: f64,
    com: f64,
    /// Inertia about y and z, added to that of a ball.
    inertia: f64,
    /// True if finger and box start so far apart that the pair is added along the motion.
    joins: bool,
}

const BASE: Parameters = Parameters {
    stiffness: 200.0,
    damping: 3.0,
    mass: 1.3,
    mu: 0.3,
    finger: 0.6,
    time_step: 0.05,
    relaxation: 1.0,
    v_cmd: 0.1,
    limit: f64::INFINITY,
    compliance: 0.0,
    com: 0.0,
    inertia: 0.0,
    joins: false,
};

/// Convex and exact friction with this cone, with each derivative mode that differs, and with
/// carried velocities.
fn laws(cone: Cone) -> [(Formulation, Mode); 4] {
    let (convex, exact) = (Formulation::convex(cone), Formulation::exact(cone));
    let smooth = Mode::Smooth { kappa: 1e-3 };
    let dynamic = Formulation::dynamic(cone);
    [(convex, Mode::Exact), (convex, smooth), (exact, Mode::Exact), (dynamic, Mode::Exact)]
}

impl Parameters {
    /// The parameters with a frictionless finger if friction is exact, so that forces are unique.
    fn unique(self, law: Formulation) -> Self {
        let convex = law.friction == FrictionLaw::Convex;
        Self { finger: if convex { self.finger } else { 0.0 }, ..self }
    }
}

/// A finger pushes a box over a floor, off its middle, so that the box slides and rotates.
fn push(p: &Parameters, formulation: Formulation, mode: Mode) -> (System, Derivatives) {
    let mut world = World::new();
    let role = Role::Actuated(Actuator {
        stiffness: vec![p.stiffness],
        damping: vec![p.damping],
        damping_on: DampingOn::CommandError,
        effort_limit: vec![p.limit],
    });
    let finger = world.body("finger", WORLD, slide(Vec3::X), 0.5, role);
    let i = 0.004 * p.mass;
    let inertia = BodyInertia {
        mass: p.mass,
        com: Vec3::Y * p.com,
        inertia: Mat3::diagonal([i, i + p.inertia, i + p.inertia]),
    };
    let object = world.body_with("box", WORLD, JointKind::Free, inertia, Role::Passive, None);
    let floor = Surface { compliance: p.compliance, ..Surface::sliding(p.mu) };
    world.surface(WORLD, Shape::HalfSpace, [0.0; 3], floor);
    world.shape(finger, ball(0.05), [0.0, 0.03, 0.1], p.finger);
    world.shape(object, Shape::Box { half: [0.1; 3] }, [0.0; 3], 0.9);
    let system = world.build();
    let mut out = system.create_derivatives();
    let mut state = State::at_rest(0.0, vec![-0.16, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1]);
    if formulation.carries_velocity() {
        state.v = vec![0.8, 0.0, 0.0, 0.2, 0.1, 0.02, 0.0];
    }
    let input = StepInput { q_cmd: vec![-0.08], v_cmd: vec![p.v_cmd], ..StepInput::default() };
    let (max_overlap, contact_margin) = if p.joins { (1e-3, 1e-3) } else { (f64::INFINITY, 0.02) };
    let params = params(p.time_step, formulation.cone);
    let relaxation = Relaxation::Time(p.relaxation);
    let params = StepParams { formulation, max_overlap, contact_margin, relaxation, ..params };
    system.differentiate(&state, &input, &params, mode, &mut out).unwrap();
    (system, out)
}

/// Sets a parameter.
type Set = fn(&mut Parameters, f64);

/// Parameters with their names and the values at which derivatives are compared.
const SETS: [(&str, f64, Set); 9] = [
    ("stiffness", BASE.stiffness, |p, x| p.stiffness = x),
    ("damping", BASE.damping, |p, x| p.damping = x),
    ("mass", BASE.mass, |p, x| p.mass = x),
    ("com", 0.01, |p, x| p.com = x),
    ("inertia", 1e-3, |p, x| p.inertia = x),
    ("mu", BASE.mu, |p, x| p.mu = x),
    ("time_step", BASE.time_step, |p, x| p.time_step = x),
    ("relaxation", BASE.relaxation, |p, x| p.relaxation = x),
    ("v_cmd", BASE.v_cmd, |p, x| p.v_cmd = x),
];

/// The change of inputs that is a unit change of the parameter of this name.
fn change_of(name: &str, base: &Parameters, d: &Derivatives) -> InputChange {
    let mut change = InputChange::default();
    match name {
        "stiffness" => change.stiffness = vec![1.0],
        "damping" => change.damping = vec![1.0],
        // the test's inertia scales with the mass, except for the added part
        "mass" => {
            change.mass = vec![0.0, 0.0, 1.0];
            change.inertia = vec![0.0; 18];
            change.inertia[13..15].fill(-base.inertia / base.mass);
        }
        "inertia" => {
            change.inertia = vec![0.0; 18];
            change.inertia[13..15].fill(1.0);
        }
        "com" => change.com = vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        "mu" => {
            let contacts = &d.report().contacts;
            let of_floor = |g: u32| if g == 0 { 1.0 } else { 0.0 };
            change.friction =
                contacts.iter().flat_map(|c| [of_floor(c.geom_a), 0.0, 0.0]).collect();
        }
        "time_step" => change.time_step = 1.0,
        "relaxation" => change.relaxation = 1.0,
        "v_cmd" => change.v_cmd = vec![1.0],
        other => panic!("no parameter is called {other}"),
    }
    change
}

/// Compares the derivatives of a step by each parameter with central differences of fourth order.
fn check_parameters(
    base: &Parameters,
    law: Formulation,
    mode: Mode,
    system: &System,
    d: &mut Derivatives,
) {
    let limit = base.limit;
    for (name, value, set) in SETS {
        let change = change_of(name, base, d);
        let mut out = OutputChange::default();
        d.jvp(system, &change, true, &mut out).unwrap();
        let base_q = d.q_next().to_vec();
        let at = |k: f64| {
            let mut p = *base;
            set(&mut p, value * (1.0 + k * 1e-3));
            let (_, e) = push(&p, law, mode);
            let mut dq = vec![0.0; 7];
            system.model().difference(&base_q, e.q_next(), &mut dq);
            dq
        };
        let [a, b, c, e] = [1.0, -1.0, 2.0, -2.0].map(at);
        let want: Vec<f64> =
            (0..7).map(|i| (8.0 * (a[i] - b[i]) - (c[i] - e[i])) / (12e-3 * value)).collect();
        let size = want.iter().fold(1e-4_f64, |m, x| m.max(x.abs()));
        // the solver's velocities are accurate to 1e-10, which limits `q` to this
        let noise = 1e-11 / (6e-3 * value * size);
        let error = apart(&out.q_next, &want) / size;
        assert!(
            error < 1e-6 + noise,
            "{law:?} {mode:?} {name} limit {limit}: {error:e}\n{:?}\n{want:?}",
            out.q_next
        );
    }
}

#[test]
fn derivatives_by_parameters_are_those_of_differences() {
    let mut compared = [0; 6];
    // 6 N puts the spring at its effort limit
    for (limit, joins) in [(f64::INFINITY, false), (6.0, false), (f64::INFINITY, true)] {
        for cone in [Cone::Pyramid(4), Cone::Pyramid(8), Cone::Box, Cone::Round] {
            for (law, mode) in laws(cone) {
                // the relaxed step has only the pairs within the margin
                if joins && mode != Mode::Exact {
                    continue;
                }
                let base =
                    Parameters { limit, joins, com: 0.01, inertia: 1e-3, ..BASE }.unique(law);
                let (system, mut d) = push(&base, law, mode);
                // with exact friction, the split of the weight among sliding feet and a sticking
                // finger is undetermined
                let dynamic = law.carries_velocity();
                if d.kinks().program.loads > 0 || dynamic && d.kinks().any() {
                    continue;
                }
                // points that touch without force in the first solve may move the centre of
                // friction to one side
                let told = cone != Cone::Round && mode == Mode::Exact;
                assert!(told || !d.kinks().any(), "{law:?} {mode:?} {:?}", d.kinks());
                let kind = usize::from(law.friction == FrictionLaw::Exact) + usize::from(dynamic);
                compared[kind + if joins { 3 } else { 0 }] += 1;
                assert_eq!(d.report().n_joined > 0, joins);
                assert!(d.report().contacts.iter().any(|c| c.geom_a == 1 && c.normal_force > 1.0));
                check_parameters(&base, law, mode, &system, &mut d);
            }
        }
    }
    assert_eq!(compared, [16, 8, 8, 4, 4, 1]);
}

/// The relaxed derivative converges to the exact one in proportion to kappa, and the relaxed step
/// is within its bound.
#[test]
fn smooth_tends_to_exact() {
    let laws = [Formulation::convex, Formulation::exact];
    for (cone, law) in
        [Cone::Pyramid(4), Cone::Round].into_iter().flat_map(|c| laws.map(|law| (c, law(c))))
    {
        // with exact friction rigid corners share a load in many ways, and move the box in as many
        let compliance = if law == Formulation::convex(cone) { 0.0 } else { 1e-4 };
        let at = Parameters { compliance, ..BASE };
        let (system, mut exact) = push(&at, law, Mode::Exact);
        let (mut by_q, mut by_u) = (vec![0.0; 49], vec![0.0; 7]);
        exact.jacobian(&system, &mut by_q, &mut by_u).unwrap();
        let mut errors = Vec::new();
        for kappa in [1e-6, 1e-7, 1e-8] {
            let (_, mut smooth) = push(&at, law, Mode::Smooth { kappa });
            let (mut q, mut u) = (vec![0.0; 49], vec![0.0; 7]);
            smooth.jacobian(&system, &mut q, &mut u).unwrap();
            errors.push(apart(&u, &by_u));
            // mass alone bounds the error: P is at least the box's mass in every translation
            let dv = smooth.report().v[4] - exact.report().v[4];
            assert!(BASE.mass * dv * dv <= smooth.smoothing_bound(), "{cone} {kappa}: {dv}");
            assert_eq!(smooth.smoothing_bound().is_finite(), law == Formulation::convex(cone));
        }
        assert!(
            errors[0] < 1e-3 && errors[1] < 0.2 * errors[0] && errors[2] < 0.2 * errors[1],
            "{law:?}: {errors:?}"
        );
    }
}

/// A person who pushes a box sees it slide, not rise. With exact friction the relaxed step has that
/// too, and friction is mu times the load; with the convex law the box rises with its slip.
#[test]
fn a_relaxed_slide_stays_on_its_support() {
    for (time_step, cone) in
        [0.01, 0.05, 0.2].into_iter().flat_map(|h| [(h, Cone::Pyramid(8)), (h, Cone::Round)])
    {
        let at = Parameters { time_step, ..BASE };
        let mode = Mode::Smooth { kappa: 1e-8 };
        let moved = |law| {
            let (_, d) = push(&at, law, mode);
            let floor = d.report().contacts.iter().filter(|c| c.n_AB_W.z.abs() > 0.9);
            let forces = floor.map(|c| [c.normal_force, c.friction_force_W.norm()]);
            let sum = forces.fold([0.0, 0.0], |sum, f| [sum[0] + f[0], sum[1] + f[1]]);
            (d.report().v[4], d.report().v[6], sum)
        };
        let (slip, rise, [load, friction]) = moved(Formulation::exact(cone));
        assert!(slip > 0.05 && rise.abs() < 1e-4 * slip, "{time_step} {cone}: {slip}, {rise}");
        // the finger rubs on the side of the box, and presses it down by less than a tenth
        assert!((load / (BASE.mass * 9.81) - 1.0).abs() < 0.2, "{load}");
        assert!((friction / (BASE.mu * load) - 1.0).abs() < 0.08, "{time_step} {cone}: {friction}");
        let (slip, rise, _) = moved(Formulation::convex(cone));
        assert!(rise > 0.1 * slip, "{time_step} {cone}: {slip}, {rise}");
    }
}

/// A finger touches exactly, without force. The kink is reported, and the derivative is that of the
/// side on which the finger moves away.
#[test]
fn a_kink_is_flagged_and_has_the_side_that_is_promised() {
    let system = linear_pusher();
    let touch = |u: f64| {
        let params = StepParams { contact_margin: 0.3, ..params(0.01, Cone::Pyramid(4)) };
        let mut out = system.create_derivatives();
        let state = State::at_rest(0.0, vec![0.1, 0.2]);
        let input = StepInput { q_cmd: vec![u], ..StepInput::default() };
        system.differentiate(&state, &input, &params, Mode::Exact, &mut out).unwrap();
        out
    };
    let mut d = touch(0.1);
    assert!(d.kinks().any() && d.kinks().program.rows == 1, "{:?}", d.kinks());
    let (mut by_q, mut by_u) = ([0.0; 4], [0.0; 2]);
    d.jacobian(&system, &mut by_q, &mut by_u).unwrap();
    let away = touch(0.1 - 1e-4);
    let one_sided: Vec<f64> =
        d.q_next().iter().zip(away.q_next()).map(|(a, b)| (a - b) / 1e-4).collect();
    assert!(apart(&by_u, &one_sided) < 1e-9 && apart(&by_u, &[1.0, 0.0]) < 1e-12, "{by_u:?}");
}

/// A frictionless ball exactly above the edge of a box rests if moved one way and rolls off if
/// moved the other way.
#[test]
fn a_ball_exactly_above_an_edge_has_a_kink() {
    let mut world = World::new();
    world.shape(WORLD, Shape::Box { half: [0.2, 0.3, 0.15] }, [0.0; 3], 0.0);
    let free = world.body("ball", WORLD, JointKind::Free, 1.0, Role::Passive);
    world.shape(free, ball(0.05), [0.0; 3], 0.0);
    let system = world.build();
    let step = |x: f64| {
        let mut out = system.create_derivatives();
        let state = State::at_rest(0.0, vec![1.0, 0.0, 0.0, 0.0, x, 0.0, 0.2]);
        let params = params(0.05, Cone::Round);
        let input = StepInput::default();
        system.differentiate(&state, &input, &params, Mode::Exact, &mut out).unwrap();
        out
    };
    let moved = |d: f64| (step(0.2 + d).q_next()[4] - step(0.2).q_next()[4]) / d;
    // inwards the ball moves along; outwards the normal rotates by d / 0.05 m and the weight pushes
    // the ball on
    assert!(
        (moved(-1e-6) - 1.0).abs() < 1e-6 && moved(1e-6) > 1.4,
        "{} {}",
        moved(-1e-6),
        moved(1e-6)
    );
    let (at, beside) = (step(0.2).kinks(), step(0.2 - 1e-6).kinks());
    assert!(at.features == 1 && beside.features == 0, "{at:?} {beside:?}");
    assert!(at.only_of_geometry(), "{at:?}");
}

#[test]
fn misuse_is_an_error() {
    let system = linear_pusher();
    let mut d = system.create_derivatives();
    let mut out = OutputChange::default();
    let early = d.jvp(&system, &InputChange::default(), true, &mut out);
    assert_eq!(early, Err(DerivativeError::NotPrepared));
    let mut d = pushed(&system, 0.15, Mode::Exact);
    let wrong = InputChange { q: vec![0.0; 3], ..InputChange::default() };
    let wrong = d.jvp(&system, &wrong, true, &mut out);
    assert_eq!(wrong, Err(DerivativeError::Length { what: "q", got: 3, want: 2 }));
    let params = StepParams { integration: Integration::Midpoint, ..params(0.01, Cone::Round) };
    let state = State::at_rest(0.0, vec![0.0, 0.2]);
    let input = StepInput { q_cmd: vec![0.0], ..StepInput::default() };
    let midpoint = system.differentiate(&state, &input, &params, Mode::Exact, &mut d);
    assert!(matches!(midpoint, Err(DerivativeError::Formulation { .. })));
}

/// Derivatives with respect to the compliance of floors and to the time step.
#[test]
fn derivatives_by_compliance_are_those_of_differences() {
    let base = Parameters { compliance: 2e-6, ..BASE };
    let cones = [Cone::Pyramid(4), Cone::Round];
    for law in cones.into_iter().flat_map(|cone| [laws(cone)[0].0, laws(cone)[2].0]) {
        let (system, mut d) = push(&base, law, Mode::Exact);
        for by_compliance in [true, false] {
            let (change, step): (_, f64) = if by_compliance {
                let of_floor = |g: u32| if g == 0 { 1.0 } else { 0.0 };
                let compliance = d.report().contacts.iter().map(|c| of_floor(c.geom_a)).collect();
                (InputChange { compliance, ..InputChange::default() }, 4e-9)
            } else {
                (InputChange { time_step: 1.0, ..InputChange::default() }, 2e-5)
            };
            let mut out = OutputChange::default();
            d.jvp(&system, &change, false, &mut out).unwrap();
            let base_q = d.q_next().to_vec();
            let at = |k: f64| {
                let mut p = base;
                *(if by_compliance { &mut p.compliance } else { &mut p.time_step }) += k * step;
                let mut dq = vec![0.0; 7];
                let (_, e) = push(&p, law, Mode::Exact);
                system.model().difference(&base_q, e.q_next(), &mut dq);
                dq
            };
            let (a, b) = (at(1.0), at(-1.0));
            let want: Vec<f64> = (0..7).map(|i| (a[i] - b[i]) / (2.0 * step)).collect();
            let size = want.iter().fold(1e-6_f64, |m, x| m.max(x.abs()));
            let error = apart(&out.q_next, &want) / size;
            assert!(error < 1e-5, "{law:?} {by_compliance}: {error:e}\n{:?}\n{want:?}", out.q_next);
        }
    }
}

/// The centre of friction of the box depends on the loads of a first solve. The transposed product
/// includes this.
#[test]
fn products_with_the_transpose_are_the_same_where_friction_follows_loads() {
    let cones = [Cone::Pyramid(4), Cone::Round];
    for law in cones.into_iter().flat_map(|cone| [laws(cone)[0].0, laws(cone)[2].0]) {
        let (system, mut d) = push(&BASE.unique(law), law, Mode::Exact);
        let (n_v, n_c) = (system.model().n_v(), d.n_contacts());
        let mut next = 0.3;
        let mut random = |n: usize| -> Vec<f64> {
            let mut draw = || {
                next = (next * 78.233 + 0.127_f64).fract();
                next - 0.5
            };
            (0..n).map(|_| draw()).collect()
        };
        for part in 0..6 {
            let mut change = InputChange::default();
            match part {
                0 => change.q = random(n_v),
                1 => change.q_cmd = random(1),
                2 => change.friction = random(3 * n_c),
                3 => change.com = random(9),
                4 => change.inertia = random(18),
                _ => change.mass = random(3),
            }
            let weights = OutputChange { q_next: random(n_v), ..OutputChange::default() };
            let (mut out, mut gradient) = (OutputChange::default(), InputChange::default());
            d.jvp(&system, &change, false, &mut out).unwrap();
            d.vjp(&system, &weights, &mut gradient).unwrap();
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let forward = dot(&weights.q_next, &out.q_next);
            let backward = dot(&gradient.q, &change.q)
                + dot(&gradient.q_cmd, &change.q_cmd)
                + dot(&gradient.friction, &change.friction)
                + dot(&gradient.mass, &change.mass)
                + dot(&gradient.com, &change.com)
                + dot(&gradient.inertia, &change.inertia);
            let size = dot(&out.q_next, &out.q_next).sqrt();
            assert!(
                (forward - backward).abs() < 1e-11 * size.max(1e-3),
                "{law:?} {part}: {forward} {backward}"
            );
        }
    }
}

/// A box slides over a seam. The nearest face of the second slab is its side, so its contact uses
/// the first slab's normal.
#[test]
fn a_box_at_a_seam_follows_differences() {
    let mut world = World::new();
    let slab = || Shape::Box { half: [0.5, 0.5, 0.05] };
    world.shape(WORLD, slab(), [-0.5, 0.0, -0.05], 0.4);
    world.shape(WORLD, slab(), [0.5, 0.0, -0.05], 0.4);
    let block = world.body("box", WORLD, JointKind::Free, 1.0, Role::Passive);
    world.shape(block, Shape::Box { half: [0.1, 0.1, 0.05] }, [0.0; 3], 0.4);
    let pusher = world.body("pusher", WORLD, slide(Vec3::X), 0.0, spring(2000.0));
    world.shape(pusher, ball(0.01), [0.0, 0.0, 0.03], 0.0);
    let system = world.build();
    let model = system.model();
    // use pyramids: they have friction at points, while centres of areas follow loads only to a
    // thousandth
    let params = params(0.01, Cone::Pyramid(4));
    // before the seam; past it by less than the overlap, so that the slab's side is nearer than its
    // top; past it by more
    for (x, depth) in [(-0.103, 1e-6), (-0.1 + 1e-4, 2e-4), (-0.09, 1e-6)] {
        let q = vec![1.0, 0.0, 0.0, 0.0, x, 0.002, 0.05 - depth, x - 0.11];
        let start = State::at_rest(0.0, q.clone());
        let input = StepInput { q_cmd: vec![x - 0.107], ..StepInput::default() };
        let mut d = system.create_derivatives();
        system.differentiate(&start, &input, &params, Mode::Exact, &mut d).unwrap();
        let n = model.n_v();
        let (mut by_q, mut by_u) = (vec![0.0; n * n], vec![0.0; n]);
        d.jacobian(&system, &mut by_q, &mut by_u).unwrap();
        let end = |column: usize, step: f64| {
            let mut at = start.clone();
            let mut v = vec![0.0; n];
            v[column] = step;
            model.integrate(&q, &v, 1.0, &mut at.q);
            let mut work = system.create_workspace();
            system.step_with(&mut at, &input, &params, &mut work).unwrap();
            at.q
        };
        // rotations of a flat contact are kinks
        for column in 3..n {
            let (mut change, step) = (vec![0.0; n], 1e-6);
            model.difference(&end(column, -step), &end(column, step), &mut change);
            for (row, change) in change.iter().enumerate() {
                let (seen, right) = (by_q[row * n + column], change / (2.0 * step));
                assert!(
                    (seen - right).abs() < 1e-5,
                    "x {x}: row {row}, column {column}: {seen}, not {right}"
                );
            }
        }
    }
}

/// Derivatives with respect to all inputs against differences, for a step from `state` with
/// `input`.
fn check_all(system: &System, state: &State, input: &StepInput, params: &StepParams) {
    let n_v = system.model().n_v();
    let mut d = system.create_derivatives();
    let kinks = system.differentiate(state, input, params, Mode::Exact, &mut d).unwrap();
    assert!(!kinks.any(), "{kinks:?}");
    let (mut work, mut out) = (system.create_workspace(), OutputChange::default());
    let base = d.q_next().to_vec();
    let mut gradients = vec![InputChange::default(); n_v];
    for (dof, gradient) in gradients.iter_mut().enumerate() {
        let mut weights = OutputChange { v: vec![0.0; n_v], ..OutputChange::default() };
        weights.v[dof] = 1.0;
        d.vjp(system, &weights, gradient).unwrap();
    }
    // all matrices at once
    let n_cmd = system.n_cmd_v();
    let mut of = [[n_v, n_v, n_cmd]; 2].map(|of| of.map(|columns| vec![0.0; n_v * columns]));
    let [of_q, of_v] =
        of.each_mut().map(|[by_q, by_v, by_q_cmd]| StateRows { by_q, by_v, by_q_cmd });
    d.state_jacobian(system, of_q, of_v).unwrap();
    for (dof, gradient) in gradients.iter().enumerate() {
        let rows = [&gradient.q, &gradient.v, &gradient.q_cmd];
        for (row, matrix) in rows.into_iter().zip(&of[1]) {
            let ours = &matrix[dof * row.len()..(dof + 1) * row.len()];
            assert!(apart(ours, row) < 1e-11, "{dof}: {ours:?}\n{row:?}");
        }
    }
    for input_of in 0..3 {
        for k in 0..n_v {
            let mut unit = vec![0.0; n_v];
            unit[k] = 1.0;
            let mut change = InputChange::default();
            match input_of {
                0 => change.q.clone_from(&unit),
                1 => change.v.clone_from(&unit),
                _ => change.tau.clone_from(&unit),
            }
            d.jvp(system, &change, false, &mut out).unwrap();
            let mut at = |eps: f64| {
                let (mut state, mut input) = (state.clone(), input.clone());
                let by: Vec<f64> = unit.iter().map(|u| eps * u).collect();
                match input_of {
                    0 => system.model().integrate(&state.q.clone(), &by, 1.0, &mut state.q),
                    1 => state.v.iter_mut().zip(&by).for_each(|(v, by)| *v += by),
                    _ => input.tau = by,
                }
                system.step_with(&mut state, &input, params, &mut work).unwrap();
                let mut dq = vec![0.0; n_v];
                system.model().difference(&base, &state.q, &mut dq);
                [dq, state.v].concat()
            };
            let eps = 1e-4;
            let [a, b, c, e] = [eps, -eps, 2.0 * eps, -2.0 * eps].map(&mut at);
            let entry = |i: usize| (8.0 * (a[i] - b[i]) - (c[i] - e[i])) / (12.0 * eps);
            let want: Vec<f64> = (0..2 * n_v).map(entry).collect();
            let ours = [&out.q_next[..], &out.v].concat();
            if let Some(matrix) = of[0].get(input_of).filter(|_| input_of < 2) {
                let column: Vec<f64> = (0..n_v).map(|row| matrix[row * n_v + k]).collect();
                assert!(apart(&column, &out.q_next) < 1e-11, "{input_of} {k}");
            }
            let size = want.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
            assert!(apart(&ours, &want) < 1e-7 * size, "{input_of} {k}: {ours:?}\n{want:?}");
            // transposed products
            let column: Vec<f64> =
                gradients.iter().map(|g| [&g.q, &g.v, &g.tau][input_of][k]).collect();
            assert!(apart(&column, &out.v) < 1e-10 * size, "{input_of} {k}");
        }
    }
}

/// A body tumbles on an arm of a slide, a hinge and a ball joint; another body hits the floor and
/// bounces.
#[test]
fn derivatives_of_motion_carry_its_momentum() {
    let formulation = Formulation::dynamic(Cone::Round);
    let params = StepParams { formulation, ..StepParams::default() };
    let mut world = World::new();
    let inertia = BodyInertia {
        mass: 1.3,
        com: Vec3::new(0.1, -0.2, 0.05),
        inertia: Mat3::diagonal([0.02, 0.05, 0.04]),
    };
    let role = || Role::Passive;
    let along = slide(Vec3::new(0.6, 0.0, 0.8));
    let cart = world.body("cart", WORLD, along, 0.7, spring(30.0));
    world.rotor(cart, 0.4);
    let hinge = JointKind::Revolute { axis: Vec3::Y };
    let arm = world.body_with("arm", cart, hinge, inertia, role(), None);
    world.body_with("hand", arm, JointKind::Ball, inertia, role(), None);
    world.body_with("stone", WORLD, JointKind::Free, inertia, role(), None);
    let system = world.build();
    let mut q = vec![0.1, 0.3, 0.8, 0.6, 0.0, 0.0];
    q.extend([0.6, 0.0, 0.8, 0.0, 0.3, 0.1, 5.0]);
    let v = vec![0.4, 1.5, -0.7, 2.0, 0.9, 3.0, -1.0, 2.0, 0.3, 0.2, -0.5];
    let input = StepInput { q_cmd: vec![0.2], ..StepInput::default() };
    check_all(&system, &State { time: 0.0, q, v, attached: Vec::new() }, &input, &params);

    let mut world = World::new();
    let floor = Surface { restitution: 0.6, ..Surface::sliding(0.3) };
    world.surface(WORLD, Shape::HalfSpace, [0.0; 3], floor);
    let body = world.body_with("ball", WORLD, JointKind::Free, inertia, role(), None);
    let surface = Surface { restitution: 0.6, ..Surface::sliding(0.3) };
    world.surface(body, ball(0.1), [0.02, 0.01, 0.0], surface);
    let system = world.build();
    let q = vec![0.8, 0.6, 0.0, 0.0, 0.0, 0.0, 0.105];
    let v = vec![0.5, 0.2, -0.3, 1.0, 0.3, -2.0];
    let mut state = State { time: 0.0, q, v, attached: Vec::new() };
    check_all(&system, &state, &StepInput::default(), &params);
    let report =
        system.step(&mut state, &[], &params, &mut system.create_workspace()).unwrap().clone();
    assert!(report.contacts[0].rebound > 0.0);
}
