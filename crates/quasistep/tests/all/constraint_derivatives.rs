//! Derivatives of steps with closed loops and couplings against differences on the manifold.

use crate::common::{World, ball, slide};
use quasistep::{
    Actuator, Cone, Constraint, ConstraintKind, ContactReport, DampingOn, DerivativeError,
    Derivatives, Formulation, Inertia, InputChange, Mode, OutputChange, PrescribedRate, Relaxation,
    Role, State, StepInput, StepParams, System, SystemDef, Wrench,
};
use quasistep_math::{Mat3, Pose, Quat, Vec3};
use quasistep_model::{BodyInertia, Frame, JointKind, WORLD};

/// Centre of the ball in the coupler's frame.
const BALL: [f64; 3] = [0.28, 0.0, -0.28];

/// A four-bar linkage whose coupler pushes a box over a floor. A second box is welded to the first,
/// a weight is connected to the world at a point, and a sledge is coupled to the crank. The crank
/// may be prescribed.
fn machine(prescribed: bool) -> System {
    let mut world = World::new();
    world.floor(0.3);
    let hinge = JointKind::Continuous { axis: Vec3::Y };
    let x = |x: f64, z: f64| Pose::from_translation(Vec3::new(x, 0.0, z));
    let bar = |length: f64| BodyInertia {
        mass: 0.3,
        com: Vec3::new(0.5 * length, 0.01, 0.0),
        inertia: Mat3::diagonal([1e-4, 6e-4, 7e-4]),
    };
    let drive = Role::Actuated(Actuator {
        stiffness: vec![60.0],
        damping: vec![0.8],
        damping_on: DampingOn::CommandError,
        effort_limit: vec![f64::INFINITY],
    });
    let role = if prescribed { Role::Prescribed } else { drive };
    let passive = Role::Passive;
    let crank = world.placed_body("crank", WORLD, x(-0.3, 0.1), hinge, bar(0.1), role);
    let coupler =
        world.placed_body("coupler", crank, x(0.1, 0.0), hinge, bar(0.25), passive.clone());
    let rocker = world.placed_body("rocker", WORLD, x(0.0, 0.1), hinge, bar(0.2), passive.clone());
    world.resist(rocker, 0.05, 0.0, 1);
    world.shape(coupler, ball(0.03), BALL, 0.4);
    let object = world.body("box", WORLD, JointKind::Free, 0.5, passive.clone());
    world.stool(object, 0.05, 0.5);
    let glued = world.body("glued", WORLD, JointKind::Free, 0.2, passive.clone());
    let bob = world.body("bob", WORLD, JointKind::Free, 0.4, passive.clone());
    world.resist(bob, 0.5, 0.0, 6);
    // coupled to the crank: two drives below their force limits
    let limited = |stiffness: f64, limit: f64| {
        Role::Actuated(Actuator {
            stiffness: vec![stiffness],
            damping: vec![3.0],
            effort_limit: vec![limit],
            ..Actuator::default()
        })
    };
    let sledge = world.body("sledge", WORLD, slide(Vec3::Y), 0.6, limited(30.0, 50.0));
    let other = world.body("other", WORLD, slide(Vec3::Y), 0.6, limited(200.0, 100.0));
    let at = |body: usize, p: [f64; 3]| Frame { body, X_BF: Pose::from_translation(p.into()) };
    let name = |name: &str, kind| Constraint { name: name.into(), kind, switch: None };
    let terms = vec![(crank, 0.1), (sledge, 1.0)];
    let constraints = vec![
        name(
            "pin",
            ConstraintKind::Connect {
                a: at(coupler, [0.25, 0.0, 0.0]),
                b: at(rocker, [0.2, 0.0, 0.0]),
            },
        ),
        name(
            "glue",
            ConstraintKind::Weld {
                a: Frame { body: object, X_BF: glue() },
                b: at(glued, [0.02, 0.0, 0.0]),
            },
        ),
        name(
            "hook",
            ConstraintKind::Connect {
                a: at(WORLD, [1.0, 0.0, 1.0]),
                b: at(bob, [0.05, -0.1, 0.2]),
            },
        ),
        name("tie", ConstraintKind::Coupling { terms, offset: 0.02 }),
        name(
            "twin",
            ConstraintKind::Coupling { terms: vec![(sledge, 2.0), (other, -1.0)], offset: 0.0 },
        ),
    ];
    world.build_with(|def| SystemDef { constraints, ..def })
}

/// Pose of the second box relative to the first.
fn glue() -> Pose {
    let turn = Quat::from_axis_angle(Vec3::new(0.3, 0.5, 0.8), 0.4);
    Pose::new(turn, Vec3::new(0.0, 0.1, 0.03))
}

/// A start with constraint errors of `off` (m and rad), and the box slightly inside the ball that
/// pushes it.
fn start(system: &System, off: f64) -> State {
    let model = system.model();
    let mut q = vec![-1.2, 0.77, -1.9];
    q.extend([1.0, 0.0, 0.0, 0.0, 0.0, 0.012, 0.0499]);
    q.extend([1.0, 0.0, 0.0, 0.0, 0.1, 0.1, 0.1]);
    q.extend(Quat::from_axis_angle(Vec3::new(0.5, 0.3, -0.4), 0.8).to_array());
    q.extend([1.0, 0.0, 0.9]);
    // q1/10 + q2 = 0.02, and twice that
    q.extend([0.14, 0.28]);
    system.close(&mut q).unwrap();
    q[3..10].copy_from_slice(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.012, 0.0499]);
    let bent = |first: usize, last: usize| -> Vec<f64> {
        let by = |k: usize| off * ((k * 7 % 5) as f64 - 2.0);
        (0..model.n_v()).map(|k| if (first..last).contains(&k) { by(k) } else { 0.0 }).collect()
    };
    let mut moved = q.clone();
    model.integrate(&q, &bent(0, 3), 1.0, &mut moved);
    let mut kin = model.create_kinematics();
    model.kinematics(&moved, &mut kin);
    let centre = kin.X_WB[2].transform_point(BALL.into());
    assert!(centre.z > 0.02 && centre.z < 0.08, "{centre:?}");
    moved[7] = centre.x + 0.03 + 0.05 - 1e-4;
    model.kinematics(&moved, &mut kin);
    let X = kin.X_WB[4] * glue() * Pose::from_translation(Vec3::new(-0.02, 0.0, 0.0));
    moved[10..14].copy_from_slice(&X.rotation.to_array());
    moved[14..17].copy_from_slice(&X.translation.to_array());
    q.clone_from(&moved);
    model.integrate(&q, &bent(9, model.n_v()), 1.0, &mut moved);
    State::at_rest(0.0, moved)
}

fn input(system: &System, state: &State) -> StepInput {
    let wrench = Wrench {
        body: 3,
        p_B: Vec3::new(0.1, 0.02, 0.0),
        force_W: Vec3::new(4.0, 0.5, -1.0),
        torque_W: Vec3::new(0.0, 0.2, 0.0),
    };
    let tau = (0..system.model().n_v()).map(|k| 0.02 * (k as f64).sin()).collect();
    let q_cmd = vec![state.q[0] - 0.02, 0.16, 0.3];
    StepInput { q_cmd, v_cmd: vec![-0.3, 0.0, 0.0], wrenches: vec![wrench], tau }
}

fn params(cone: Cone) -> StepParams {
    StepParams {
        time_step: 0.02,
        formulation: Formulation::convex(cone),
        inertia: Inertia::Mass,
        relaxation: Relaxation::Step,
        ..StepParams::default()
    }
}

struct Case {
    system: System,
    state: State,
    input: StepInput,
    params: StepParams,
    mode: Mode,
}

impl Case {
    fn differentiate(&self) -> Derivatives {
        let mut d = self.system.create_derivatives();
        let Self { system, state, input, params, mode } = self;
        system.differentiate(state, input, params, *mode, &mut d).unwrap();
        d
    }

    /// Derivatives with the inputs changed by `s` times `change`.
    fn moved(&self, change: &InputChange, s: f64) -> Derivatives {
        let (mut state, mut input, mut params) =
            (self.state.clone(), self.input.clone(), self.params.clone());
        if !change.q.is_empty() {
            self.system.model().integrate(&self.state.q, &change.q, s, &mut state.q);
        }
        let add = |to: &mut [f64], by: &[f64]| to.iter_mut().zip(by).for_each(|(x, d)| *x += s * d);
        add(&mut input.q_cmd, &change.q_cmd);
        add(&mut input.v_cmd, &change.v_cmd);
        add(&mut input.tau, &change.tau);
        params.time_step += s * change.time_step;
        let system = self.system.clone();
        Self { system, state, input, params, mode: self.mode }.differentiate()
    }
}

fn random(seed: &mut f64, n: usize) -> Vec<f64> {
    let mut draw = || {
        *seed = (*seed * 78.233 + 0.127_f64).fract();
        *seed - 0.5
    };
    (0..n).map(|_| draw()).collect()
}

fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for prescribed in [false, true] {
        for cone in [Cone::Pyramid(4), Cone::Round] {
            for mode in [Mode::Exact, Mode::Smooth { kappa: 1e-4 }] {
                // errors of zero, recovered within the step, and at the bound of the recovery speed
                for off in [0.0, 1e-4, 4e-3] {
                    let system = machine(prescribed);
                    let state = start(&system, off);
                    let input = input(&system, &state);
                    let mut params = params(cone);
                    if off == 1e-4 {
                        params.prescribed_rate = PrescribedRate::Derivative;
                    }
                    if mode == Mode::Exact {
                        let formulation = Formulation::exact(cone);
                        let params = StepParams { formulation, ..params.clone() };
                        let (system, state, input) = (system.clone(), state.clone(), input.clone());
                        all.push(Case { system, state, input, params, mode });
                    }
                    all.push(Case { system, state, input, params, mode });
                }
            }
        }
    }
    all
}

/// Test directions for every input of a step with constraints.
fn directions(case: &Case) -> Vec<(&'static str, InputChange)> {
    let n_v = case.system.model().n_v();
    let mut seed = 0.3;
    vec![
        ("q", InputChange { q: random(&mut seed, n_v), ..InputChange::default() }),
        ("q_cmd", InputChange { q_cmd: vec![1.0, -0.4, 0.7], ..InputChange::default() }),
        ("v_cmd", InputChange { v_cmd: vec![1.0, 0.2, -0.3], ..InputChange::default() }),
        ("tau", InputChange { tau: random(&mut seed, n_v), ..InputChange::default() }),
        ("time_step", InputChange { time_step: 1.0, ..InputChange::default() }),
    ]
}

/// Derivatives of velocities, next configuration and impulses with respect to every input, in both
/// modes, with and without constraint errors.
#[test]
fn derivatives_with_constraints_are_those_of_differences() {
    for case in cases() {
        let mut d = case.differentiate();
        let h = case.params.time_step;
        let Case { system, params, mode, .. } = &case;
        let words = format!("{:?} {mode:?} {:?}", params.formulation, system.roles()[1]);
        // sticking feet share friction by the smallest norm, which is known to few digits with
        // round cones
        let round = params.formulation.cone == Cone::Round;
        let shared = *mode == Mode::Exact && (round || !d.report().smallest_norm);
        let unique = |c: &ContactReport| !shared || c.body_a == 2;
        let loaded = d.report().contacts.iter().any(|c| c.body_b == 4 && c.normal_force > 0.5);
        assert!(loaded, "{words}: the coupler pushes");
        for (name, change) in directions(&case) {
            let mut out = OutputChange::default();
            d.jvp(system, &change, true, &mut out).unwrap();
            let step = match name {
                "q" | "q_cmd" | "time_step" => 1e-6,
                _ => 1e-4,
            };
            let values = |s: f64| -> Vec<f64> {
                let e = case.moved(&change, s * step);
                let mut dq = vec![0.0; system.model().n_v()];
                system.model().difference(d.q_next(), e.q_next(), &mut dq);
                let h = h + s * step * change.time_step;
                let report = e.report();
                let impulses = report.contacts.iter().filter(|c| unique(c)).flat_map(|c| {
                    let f = c.force_W() * h;
                    [h * c.normal_force, f.x, f.y, f.z]
                });
                dq.into_iter().chain(report.v.iter().copied()).chain(impulses).collect()
            };
            let (a, b) = (values(1.0), values(-1.0));
            let want: Vec<f64> = a.iter().zip(&b).map(|(a, b)| (a - b) / (2.0 * step)).collect();
            let kept = |k: &usize| unique(&d.report().contacts[*k]);
            let contacts = (0..out.normal.len()).filter(kept).flat_map(|k| {
                let f = &out.impulse[6 * k + 3..6 * k + 6];
                [out.normal[k], f[0], f[1], f[2]]
            });
            let got: Vec<f64> = out.q_next.iter().chain(&out.v).copied().chain(contacts).collect();
            assert_eq!(got.len(), want.len(), "{words} {name}: the same contacts");
            let size = want.iter().fold(1e-3_f64, |m, x| m.max(x.abs()));
            let error =
                got.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / size;
            assert!(error < 2e-5, "{words} by {name}: {error:e}\n{got:.5?}\n{want:.5?}");
        }
    }
}

/// Gradients are the transpose of the products, and the matrices have the same columns.
#[test]
fn gradients_with_constraints_are_the_transpose() {
    for case in cases() {
        let mut d = case.differentiate();
        let system = &case.system;
        let (n_v, n_c) = (system.model().n_v(), d.n_contacts());
        let mut seed = 0.7;
        for outputs in 0..5 {
            let mut weights = OutputChange::default();
            match outputs {
                0 => weights.q_next = random(&mut seed, n_v),
                1 => weights.v = random(&mut seed, n_v),
                2 => weights.normal = random(&mut seed, n_c),
                3 => weights.impulse = random(&mut seed, 6 * n_c),
                _ => weights.components = random(&mut seed, 6 * n_c),
            }
            let mut gradient = InputChange::default();
            d.vjp(system, &weights, &mut gradient).unwrap();
            let mut changes = directions(&case);
            let n_bodies = system.model().n_bodies();
            let wrench = random(&mut seed, 6 * n_bodies);
            changes.push(("wrench", InputChange { wrench, ..InputChange::default() }));
            let mass = random(&mut seed, n_bodies);
            changes.push(("mass", InputChange { mass, ..InputChange::default() }));
            let friction = random(&mut seed, 3 * n_c);
            changes.push(("friction", InputChange { friction, ..InputChange::default() }));
            for (name, change) in changes {
                let mut out = OutputChange::default();
                d.jvp(system, &change, true, &mut out).unwrap();
                let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                let forward = dot(&weights.q_next, &out.q_next)
                    + dot(&weights.v, &out.v)
                    + dot(&weights.normal, &out.normal)
                    + dot(&weights.impulse, &out.impulse)
                    + dot(&weights.components, &out.components);
                let backward = dot(&gradient.q, &change.q)
                    + dot(&gradient.q_cmd, &change.q_cmd)
                    + dot(&gradient.v_cmd, &change.v_cmd)
                    + dot(&gradient.tau, &change.tau)
                    + dot(&gradient.wrench, &change.wrench)
                    + dot(&gradient.mass, &change.mass)
                    + dot(&gradient.friction, &change.friction)
                    + gradient.time_step * change.time_step;
                let size = 1.0 + forward.abs();
                assert!(
                    (forward - backward).abs() < 1e-8 * size,
                    "{name} {outputs}: {forward} {backward}"
                );
            }
        }
        let (mut by_q, mut by_u) = (vec![0.0; n_v * n_v], vec![0.0; 3 * n_v]);
        d.jacobian(system, &mut by_q, &mut by_u).unwrap();
        let (_, change) = &directions(&case)[0];
        let mut out = OutputChange::default();
        d.jvp(system, change, false, &mut out).unwrap();
        for (row, want) in by_q.chunks_exact(n_v).zip(&out.q_next) {
            let got: f64 = row.iter().zip(&change.q).map(|(a, b)| a * b).sum();
            assert!((got - want).abs() < 1e-9 * (1.0 + want.abs()), "{got} {want}");
        }
    }
}

/// A coupled drive at its effort limit has no derivatives, and the error names it.
#[test]
fn a_limited_drive_in_a_loop_is_told() {
    let mut world = World::new();
    let drive = |limit: f64| {
        Role::Actuated(Actuator {
            stiffness: vec![100.0],
            damping: vec![1.0],
            effort_limit: vec![limit],
            ..Actuator::default()
        })
    };
    let a = world.body("a", WORLD, slide(Vec3::X), 1.0, drive(0.5));
    let b = world.body("b", WORLD, slide(Vec3::X), 1.0, drive(f64::INFINITY));
    let kind = ConstraintKind::Coupling { terms: vec![(a, 1.0), (b, -1.0)], offset: 0.0 };
    let constraints = vec![Constraint { name: "pair".into(), kind, switch: None }];
    let system = world.build_with(|def| SystemDef { constraints, ..def });
    let state = State { time: 0.0, q: vec![0.0; 2], v: Vec::new(), attached: Vec::new() };
    let params = params(Cone::Pyramid(4));
    let mut d = system.create_derivatives();
    let mut told = |command: f64| {
        let input =
            StepInput { q_cmd: vec![command; 2], v_cmd: vec![0.0; 2], ..StepInput::default() };
        system.differentiate(&state, &input, &params, Mode::Exact, &mut d).err()
    };
    assert_eq!(told(0.001), None);
    assert_eq!(told(1.0), Some(DerivativeError::Limited("a".into())));
}
