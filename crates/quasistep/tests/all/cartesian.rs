//! Cartesian stiffness of frames: statics and single steps in every formulation, and derivatives.

use crate::common::{World, actuator, ball, slide, spring};
use quasistep::{
    BatchInput, BatchKeep, CartesianSpring, Cone, Derivatives, Formulation, Geom, Inertia,
    InputChange, Integration, Matrix6, Mode, OutputChange, PairFriction, Relaxation, RestRule,
    Role, SpringAxes, State, StepInput, StepParams, Surface, System, SystemDef, Wrench,
    damping_of_ratio, positive_semidefinite,
};
use quasistep_geometry::Shape;
use quasistep_math::{Mat3, Pose, Quat, Vec3};
use quasistep_model::{BodyDef, BodyInertia, Frame, JointKind, ModelBuilder, WORLD};

const NONE: Matrix6 = [[0.0; 6]; 6];

fn formulations() -> impl Iterator<Item = Formulation> {
    [Cone::Pyramid(4), Cone::Round]
        .into_iter()
        .flat_map(|cone| [Formulation::convex(cone), Formulation::exact(cone)])
}

fn params(formulation: Formulation) -> StepParams {
    StepParams { time_step: 0.1, gravity: [0.0; 3], formulation, ..StepParams::default() }
}

fn diagonal(d: [f64; 6]) -> Matrix6 {
    std::array::from_fn(|i| std::array::from_fn(|j| if i == j { d[i] } else { 0.0 }))
}

/// A full stiffness matrix `S A Aᵀ S` with eigenvalues of some 100 N/m and some 10 N·m/rad.
fn coupled() -> Matrix6 {
    let A = |i: usize, j: usize| f64::from(u8::from(i == j)) + 0.3 * ((3 * i + 5 * j) as f64).sin();
    let S = [20.0, 25.0, 22.0, 5.0, 6.0, 4.0];
    let entry = |i: usize, j: usize| S[i] * S[j] * (0..6).map(|k| A(i, k) * A(j, k)).sum::<f64>();
    positive_semidefinite(&std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)))).unwrap()
}

fn spring_at(
    frame: Frame,
    stiffness: &Matrix6,
    damping: &Matrix6,
    axes: SpringAxes,
) -> CartesianSpring {
    let (stiffness, damping) = (*stiffness, *damping);
    CartesianSpring { name: "hand".into(), frame, stiffness, damping, axes }
}

fn with(spring: CartesianSpring) -> impl FnOnce(SystemDef) -> SystemDef {
    move |def| SystemDef { springs: vec![spring], ..def }
}

fn command(X: &Pose) -> Vec<f64> {
    X.rotation.to_array().into_iter().chain(X.translation.to_array()).collect()
}

fn tool() -> Pose {
    Pose::from_xyz_rpy([0.1, -0.05, 0.2], [0.3, -0.2, 0.5])
}

/// A floating massless body with a spring to its tool frame.
fn floating(stiffness: &Matrix6, damping: &Matrix6, axes: SpringAxes) -> System {
    let mut world = World::new();
    let body = world.body("body", WORLD, JointKind::Free, 0.0, Role::Passive);
    let frame = Frame { body, X_BF: tool() };
    world.build_with(with(spring_at(frame, stiffness, damping, axes)))
}

fn frame_pose(system: &System, q: &[f64]) -> Pose {
    let mut kin = system.model().create_kinematics();
    system.model().kinematics(q, &mut kin);
    let frame = system.springs().next().unwrap().frame;
    system.model().frame_pose(&kin, &frame)
}

/// Reference `K e` as (torque, force), for a matrix in axes `R`, computed by components.
fn law(K: &Matrix6, R: Quat, command: &Pose, at: &Pose) -> [f64; 6] {
    let own = |v: Vec3| R.inverse().rotate(v).to_array();
    let turn = (command.rotation * at.rotation.inverse()).to_rotation_vector();
    let e = [own(command.translation - at.translation), own(turn)].concat();
    let w: [f64; 6] = std::array::from_fn(|i| (0..6).map(|j| K[i][j] * e[j]).sum());
    let out = |k: usize| R.rotate(Vec3::new(w[k], w[k + 1], w[k + 2])).to_array();
    let (torque, force) = (out(3), out(0));
    std::array::from_fn(|i| if i < 3 { torque[i] } else { force[i - 3] })
}

/// A force and a torque along each axis deflect the frame by K⁻¹ times the load, to rounding.
/// Covers a diagonal and a full matrix, in axes of the world and of a rotated command, and
/// deflections of a radian.
#[test]
fn deflections_are_those_of_the_matrix() {
    let X_WC = Pose::from_xyz_rpy([0.3, 0.2, 0.5], [0.4, 1.1, -0.7]);
    for K in [diagonal([400.0, 500.0, 600.0, 20.0, 30.0, 40.0]), coupled()] {
        for axes in [SpringAxes::World, SpringAxes::Command] {
            let system = floating(&K, &NONE, axes);
            let R = if axes == SpringAxes::World { Quat::IDENTITY } else { X_WC.rotation };
            for formulation in formulations() {
                for integration in [Integration::Euler, Integration::Midpoint] {
                    let params = StepParams { integration, ..params(formulation) };
                    for axis in 0..6 {
                        let size = if axis < 3 { 30.0 } else { 20.0 };
                        let load: [f64; 6] =
                            std::array::from_fn(|i| if i == axis { size } else { 0.0 });
                        let wrench = Wrench {
                            body: 1,
                            p_B: tool().translation,
                            force_W: Vec3::new(load[0], load[1], load[2]),
                            torque_W: Vec3::new(load[3], load[4], load[5]),
                        };
                        let input = StepInput {
                            q_cmd: command(&X_WC),
                            wrenches: vec![wrench],
                            ..StepInput::default()
                        };
                        let start = command(&(X_WC * tool().inverse()));
                        let mut state = State::at_rest(0.0, start);
                        let mut work = system.create_workspace();
                        let rule =
                            RestRule { speed: 1e-10, max_steps: 2000, ..RestRule::default() };
                        let report =
                            system.settle(&mut state, &input, &params, &rule, &mut work).unwrap();
                        let at = frame_pose(&system, &state.q);
                        let pull = law(&K, R, &X_WC, &at);
                        let want: [f64; 6] =
                            std::array::from_fn(|i| -if i < 3 { load[3 + i] } else { load[i - 3] });
                        for i in 0..6 {
                            assert!((pull[i] - want[i]).abs() < 1e-7, "{pull:?} {want:?}");
                            assert!(
                                (report.effort[i] - want[i]).abs() < 1e-7,
                                "{:?}",
                                report.effort
                            );
                        }
                        // the softer rotation gives a large deflection
                        if K[0][1] == 0.0 && axis == 3 {
                            let turn = at.rotation * X_WC.rotation.inverse();
                            let angle = turn.to_rotation_vector().norm();
                            assert!(angle > 0.45, "{angle}");
                        }
                    }
                }
            }
        }
    }
}

/// Without load one step moves the frame to its command, even from three radians away. With a
/// torque that holds it 1.7 rad off, steps converge to where K e equals that torque.
#[test]
fn large_turns_end_at_the_true_equilibrium() {
    let X_WC = Pose::from_xyz_rpy([0.0, 0.0, 0.4], [0.2, -0.4, 0.3]);
    let K = diagonal([300.0, 300.0, 300.0, 10.0, 10.0, 10.0]);
    let system = floating(&K, &NONE, SpringAxes::World);
    let away = Quat::from_rotation_vector(Vec3::new(1.8, -1.6, 1.8));
    let start = Pose::new(away * X_WC.rotation, Vec3::new(-1.0, 2.0, 0.0)) * tool().inverse();
    let params = params(Formulation::convex(Cone::Pyramid(4)));
    let mut work = system.create_workspace();
    let mut state = State::at_rest(0.0, command(&start));
    for (step, bound) in [(1, 0.2), (2, 1e-9)] {
        system.step(&mut state, &command(&X_WC), &params, &mut work).unwrap();
        let at = frame_pose(&system, &state.q);
        let turn = (X_WC.rotation * at.rotation.inverse()).to_rotation_vector().norm();
        // the tool rotates about the body's origin, so its path is curved: its position is off by
        // the curvature
        assert!(turn < 1e-12 && (step == 1 || (at.translation - X_WC.translation).norm() < bound));
    }
    let torque_W = Vec3::new(12.0, -9.0, 8.0);
    let wrench = Wrench { body: 1, p_B: Vec3::ZERO, force_W: Vec3::ZERO, torque_W };
    let input = StepInput { q_cmd: command(&X_WC), wrenches: vec![wrench], ..StepInput::default() };
    let rule = RestRule { speed: 1e-10, max_steps: 2000, ..RestRule::default() };
    system.settle(&mut state, &input, &params, &rule, &mut work).unwrap();
    let at = frame_pose(&system, &state.q);
    let pull = law(&K, Quat::IDENTITY, &X_WC, &at);
    let off = (Vec3::new(pull[0], pull[1], pull[2]) + torque_W).norm();
    assert!(off < 1e-7, "{pull:?}");
    assert!((at.rotation * X_WC.rotation.inverse()).to_rotation_vector().norm() > 1.69);
}

/// An arm of seven hinges from (0, 0, 0.3) with the given springs and dampers, and a ball of radius
/// 4 cm as its hand.
struct Arm {
    stiffness: f64,
    damping: f64,
    /// True if the first joint is prescribed.
    prescribed: bool,
    mass: f64,
    floor: bool,
}

const RADIUS: f64 = 0.04;

impl Arm {
    const SOFT: Self =
        Self { stiffness: 0.0, damping: 2.0, prescribed: false, mass: 0.0, floor: false };

    fn build(&self, springs: impl FnOnce(usize) -> Vec<CartesianSpring>) -> System {
        let mut builder = ModelBuilder::new();
        let mut roles = vec![Role::Passive];
        let axes = [Vec3::Z, Vec3::Y, Vec3::Z, Vec3::Y, Vec3::X, Vec3::Y, Vec3::X];
        let mut parent = WORLD;
        for (k, axis) in axes.into_iter().enumerate() {
            let i = 0.01 * self.mass;
            let inertia = BodyInertia {
                mass: self.mass,
                com: Vec3::Z * 0.1,
                inertia: Mat3::diagonal([i; 3]),
            };
            parent = builder
                .add_body(BodyDef {
                    name: format!("arm/l{k}"),
                    joint_name: format!("j{k}"),
                    parent,
                    X_PF: Pose::from_translation(Vec3::new(
                        0.0,
                        0.0,
                        if k == 0 { 0.3 } else { 0.2 },
                    )),
                    joint: JointKind::Revolute { axis },
                    inertia,
                    limits: None,
                    mimic: None,
                    gravity: 1.0,
                })
                .unwrap();
            roles.push(if k == 0 && self.prescribed {
                Role::Prescribed
            } else {
                actuator(self.stiffness, self.damping, f64::INFINITY)
            });
        }
        let surface = Surface::sliding(0.5);
        let shape = Shape::Sphere { radius: RADIUS };
        let mut geoms = vec![Geom {
            name: "hand".into(),
            body: parent,
            X_BG: Pose::from_translation(Vec3::Z * 0.1),
            shape,
            surface,
        }];
        if self.floor {
            let shape = Shape::HalfSpace;
            let X_BG = Pose::IDENTITY;
            geoms.push(Geom { name: "floor".into(), body: WORLD, X_BG, shape, surface });
        }
        System::new(SystemDef {
            model: builder.build().unwrap(),
            geoms,
            instances: (0..roles.len() as u32).collect(),
            roles,
            friction: PairFriction::Minimum,
            friction_exceptions: Vec::new(),
            excluded: Vec::new(),
            springs: springs(parent),
            constraints: Vec::new(),
            pads: Vec::new(),
        })
        .unwrap()
    }

    /// Builds the arm with a spring at the centre of the hand.
    fn held(&self, stiffness: &Matrix6, damping: &Matrix6, axes: SpringAxes) -> System {
        self.build(|body| {
            let frame = Frame { body, X_BF: Pose::from_xyz_rpy([0.0, 0.0, 0.1], [0.2, 0.1, -0.4]) };
            vec![spring_at(frame, stiffness, damping, axes)]
        })
    }
}

/// Bent configuration of the arm with its hand about 0.5 m high.
const BENT: [f64; 7] = [0.3, 0.9, -0.4, 1.1, 0.5, 0.8, -0.2];

/// If the joints have no stiffness, the hand's spring carries all loads: it deflects by K⁻¹ f, a
/// joint's load acts through Jᵀ, and damping keeps the redundant freedom in place.
#[test]
fn an_arm_yields_as_its_hand_does() {
    let K = coupled();
    let system = Arm::SOFT.held(&K, &NONE, SpringAxes::World);
    let q_cmd = system.command_at(&BENT);
    let n = q_cmd.len();
    let X_WC = frame_pose(&system, &BENT);
    assert_eq!(q_cmd[n - 7..], command(&X_WC));
    let force_W = Vec3::new(8.0, -5.0, 11.0);
    let body = system.model().n_bodies() - 1;
    let p_B = system.springs().next().unwrap().frame.X_BF.translation;
    let wrench = Wrench { body, p_B, force_W, torque_W: Vec3::ZERO };
    for formulation in formulations() {
        let input = StepInput {
            q_cmd: q_cmd.clone(),
            wrenches: vec![wrench.clone()],
            ..StepInput::default()
        };
        let mut state = State::at_rest(0.0, BENT.to_vec());
        let (params, mut work) = (params(formulation), system.create_workspace());
        let rule = RestRule { speed: 1e-9, max_steps: 5000, ..RestRule::default() };
        let report = system.settle(&mut state, &input, &params, &rule, &mut work).unwrap();
        let pull = law(&K, Quat::IDENTITY, &X_WC, &frame_pose(&system, &state.q));
        for (k, want) in [0.0, 0.0, 0.0, -8.0, 5.0, -11.0].into_iter().enumerate() {
            assert!((pull[k] - want).abs() < 1e-6, "{formulation:?}: {pull:?}");
            assert!((report.effort[n - 7 + k] - want).abs() < 1e-6, "{:?}", report.effort);
        }
        let joints = report.effort[..n - 7].iter().fold(0.0_f64, |m, f| m.max(f.abs()));
        assert!(joints < 1e-6, "dampers at rest: {joints}");
    }
}

/// A hand commanded to 5 mm below the floor presses on it with 5 mm times its stiffness, in every
/// formulation.
#[test]
fn a_hand_presses_with_its_stiffness() {
    let K = diagonal([300.0, 300.0, 800.0, 20.0, 20.0, 20.0]);
    let system = Arm { floor: true, ..Arm::SOFT }.held(&K, &NONE, SpringAxes::World);
    for formulation in formulations() {
        let mut q_cmd = system.command_at(&BENT);
        let n = q_cmd.len();
        let mut state = State::at_rest(0.0, BENT.to_vec());
        let (params, mut work) = (params(formulation), system.create_workspace());
        let top = q_cmd[n - 1];
        let mut force = 0.0;
        for step in 1..=200 {
            q_cmd[n - 1] = (top - 0.01 * f64::from(step)).max(RADIUS - 0.005);
            let report = system.step(&mut state, &q_cmd, &params, &mut work).unwrap();
            force = report.contacts.iter().map(|c| c.normal_force).sum();
        }
        assert!((force - 0.005 * 800.0).abs() < 1e-7, "{formulation:?}: {force}");
    }
}

/// A spring with zero stiffness and damping leaves every formulation bit-identical, with contacts,
/// gravity and mass.
#[test]
fn a_spring_of_zeros_changes_no_bit() {
    let arm = Arm { stiffness: 60.0, mass: 0.5, floor: true, ..Arm::SOFT };
    let (bare, held) = (arm.build(|_| Vec::new()), arm.held(&NONE, &NONE, SpringAxes::Command));
    let dynamic = Formulation::dynamic(Cone::Pyramid(4));
    for formulation in formulations().chain([dynamic]) {
        let carried = formulation.carries_velocity();
        let params = StepParams {
            time_step: if carried { 0.005 } else { 0.1 },
            gravity: [0.0, 0.0, -9.81],
            ..params(formulation)
        };
        let run = |system: &System| {
            let (mut q_cmd, mut work) = (system.command_at(&BENT), system.create_workspace());
            let mut state = State::at_rest(0.0, BENT.to_vec());
            let mut bits = Vec::new();
            for step in 0..40 {
                q_cmd[1] = 0.9 + 0.03 * f64::from(step);
                let report = system.step(&mut state, &q_cmd, &params, &mut work).unwrap();
                bits.extend(state.q.iter().chain(&report.effort[..7]).map(|x| x.to_bits()));
                bits.push(report.contacts.len() as u64);
            }
            bits
        };
        assert_eq!(run(&bare), run(&held), "{formulation:?}");
    }
}

/// Without contact all formulations give the same path, with Cartesian stiffness, joint springs,
/// damping, gravity and a prescribed joint. Every step is certified.
#[test]
fn formulations_agree_along_a_run() {
    for axes in [SpringAxes::World, SpringAxes::Command] {
        for prescribed in [false, true] {
            let arm = Arm { stiffness: 15.0, mass: 0.3, prescribed, ..Arm::SOFT };
            let K = coupled();
            let system = arm.held(&K, &damping_of_ratio(&K, 0.7), axes);
            let run = |formulation, integration| {
                let params =
                    StepParams { integration, gravity: [0.0, 0.0, -9.81], ..params(formulation) };
                let (mut q_cmd, mut work) = (system.command_at(&BENT), system.create_workspace());
                let (n, X) = (q_cmd.len(), frame_pose(&system, &BENT));
                let mut state = State::at_rest(0.0, BENT.to_vec());
                let mut path = Vec::new();
                for step in 0..20 {
                    let t = 0.1 * f64::from(step);
                    q_cmd[0] = 0.3 + 0.1 * t;
                    let turn = Quat::from_rotation_vector(Vec3::new(0.3 * t, -0.2 * t, 0.1));
                    let there = Pose::new(turn * X.rotation, X.translation + Vec3::X * (0.05 * t));
                    q_cmd[n - 7..].copy_from_slice(&command(&there));
                    let report = system.step(&mut state, &q_cmd, &params, &mut work).unwrap();
                    assert!(report.certificate.complaint().is_none());
                    path.extend_from_slice(&state.q);
                    path.extend(report.effort.iter().map(|f| 1e-2 * f));
                }
                path
            };
            for integration in [Integration::Euler, Integration::Midpoint] {
                let first = run(Formulation::convex(Cone::Pyramid(4)), integration);
                for formulation in formulations() {
                    let path = run(formulation, integration);
                    let apart =
                        first.iter().zip(&path).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
                    assert!(apart < 1e-9, "{formulation:?} {integration:?}: {apart:e}");
                }
            }
        }
    }
}

/// A dynamic step of a mass on a Cartesian spring and damper: m (v⁺ − v) = h (k (c − x − h v⁺) − d v⁺).
#[test]
fn momentum_meets_the_spring_at_the_end_of_the_step() {
    let mut world = World::new();
    let cart = world.body("cart", WORLD, slide(Vec3::X), 2.0, Role::Passive);
    let (k, d, m, h, c) = (50.0, 3.0, 2.0, 0.01, 0.2);
    let frame = Frame::of_body(cart);
    let along = |x: f64| diagonal([x, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let system = world.build_with(with(spring_at(frame, &along(k), &along(d), SpringAxes::World)));
    let params = StepParams { time_step: h, ..params(Formulation::dynamic(Cone::Pyramid(4))) };
    let mut work = system.create_workspace();
    let mut state = State::at_rest(0.0, vec![0.0]);
    let (mut x, mut v) = (0.0, 0.0);
    for _ in 0..200 {
        let q_cmd = command(&Pose::from_translation(Vec3::new(c, 0.0, 0.0)));
        let report = system.step(&mut state, &q_cmd, &params, &mut work).unwrap();
        v = (m * v + h * k * (c - x)) / (m + h * h * k + h * d);
        x += h * v;
        assert!((state.q[0] - x).abs() < 1e-13 && (state.v[0] - v).abs() < 1e-12);
        assert!((report.effort[3] - (k * (c - x) - d * v)).abs() < 1e-11, "{:?}", report.effort);
    }
    assert!((x - c).abs() < 0.05);
}

/// Midpoint steps of a damped spring are of second order, Euler steps of first order, for a loaded
/// arm that its command rotates and translates.
#[test]
fn midpoint_is_of_second_order() {
    let K = coupled();
    let D = damping_of_ratio(&K, 2.0);
    for (axes, joints) in [(SpringAxes::World, 0.0), (SpringAxes::Command, 5.0)] {
        let arm = Arm { stiffness: joints, damping: 4.0, mass: 0.2, ..Arm::SOFT };
        let system = arm.held(&K, &D, axes);
        let X = frame_pose(&system, &BENT);
        let end = |n: u32, integration| {
            let h = 1.0 / f64::from(n);
            let formulation = Formulation::convex(Cone::Pyramid(4));
            let params = StepParams {
                integration,
                time_step: h,
                gravity: [0.0, 0.0, -9.81],
                ..params(formulation)
            };
            let (mut q_cmd, mut work) = (system.command_at(&BENT), system.create_workspace());
            let m = q_cmd.len();
            let mut state = State::at_rest(0.0, BENT.to_vec());
            let (w, p) = (Vec3::new(0.5, -0.4, 0.3), Vec3::new(0.1, 0.2, -0.1));
            for step in 1..=n {
                let t = h * f64::from(step);
                let there = Pose::new(
                    Quat::from_rotation_vector(w * t) * X.rotation,
                    X.translation + p * t,
                );
                q_cmd[m - 7..].copy_from_slice(&command(&there));
                let mut v_cmd = vec![0.0; system.n_cmd_v()];
                v_cmd[m - 7..].copy_from_slice(&[w.x, w.y, w.z, p.x, p.y, p.z]);
                let input = StepInput { q_cmd: q_cmd.clone(), v_cmd, ..StepInput::default() };
                system.step_with(&mut state, &input, &params, &mut work).unwrap();
            }
            state.q
        };
        let apart =
            |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
        for (integration, least, most) in
            [(Integration::Euler, 1.7, 2.4), (Integration::Midpoint, 3.5, 4.6)]
        {
            let runs: Vec<Vec<f64>> = [20, 40, 80].map(|n| end(n, integration)).into();
            let ratio = apart(&runs[0], &runs[1]) / apart(&runs[1], &runs[2]);
            assert!((least..most).contains(&ratio), "{integration:?} {axes:?}: {ratio}");
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A hand near the floor whose command is some hundredths of a radian away.
struct Told {
    system: System,
    state: State,
    input: StepInput,
    params: StepParams,
    /// Commanded pose of the hand, and its position in the command vector.
    there: Pose,
    at: usize,
}

impl Told {
    fn new(axes: SpringAxes, prescribed: bool, floor: bool) -> Self {
        let K = coupled();
        let arm = Arm { stiffness: 12.0, damping: 0.5, prescribed, floor, ..Arm::SOFT };
        let system = Arm { mass: 0.4, ..arm }.held(&K, &damping_of_ratio(&K, 0.3), axes);
        let mut q = BENT.to_vec();
        // lower the hand to just above the floor
        q[1] = 1.45;
        let lower = |q: &[f64]| frame_pose(&system, q).translation.z;
        for _ in 0..60 {
            q[1] += 0.5 * (lower(&q) - RADIUS - 0.001);
        }
        let X = frame_pose(&system, &q);
        assert!((X.translation.z - RADIUS - 0.001).abs() < 1e-6, "{X:?}");
        let turn = Quat::from_rotation_vector(Vec3::new(0.03, -0.04, 0.02));
        let there = Pose::new(turn * X.rotation, X.translation + Vec3::new(0.015, -0.01, -0.01));
        let mut q_cmd = system.command_at(&q);
        let at = q_cmd.len() - 7;
        q_cmd[0] += 0.02;
        q_cmd[at..].copy_from_slice(&command(&there));
        let n = system.model().n_v();
        let tau: Vec<f64> = (0..n).map(|k| 0.3 * (1.0 + k as f64).cos()).collect();
        let input = StepInput { q_cmd, tau, ..StepInput::default() };
        let params = StepParams {
            inertia: Inertia::Mass,
            relaxation: Relaxation::Step,
            gravity: [0.0, 0.0, -3.0],
            ..params(Formulation::convex(Cone::Round))
        };
        Self { state: State::at_rest(0.0, q), system, input, params, there, at }
    }

    /// Next configuration with the inputs changed by `by * change`.
    fn moved(
        &self,
        change: &InputChange,
        by: f64,
        mode: Mode,
        memory: &mut Derivatives,
    ) -> Vec<f64> {
        let (mut state, mut input) = (self.state.clone(), self.input.clone());
        change.q.iter().zip(&mut state.q).for_each(|(d, q)| *q += by * d);
        if !change.q_cmd.is_empty() {
            let joints = change.q_cmd.iter().zip(&mut input.q_cmd[..self.at]);
            joints.for_each(|(d, u)| *u += by * d);
            let own = &change.q_cmd[self.at..];
            let turn = Vec3::new(own[0], own[1], own[2]) * by;
            let shift = Vec3::new(own[3], own[4], own[5]) * by;
            let X = Pose::new(
                Quat::from_rotation_vector(turn) * self.there.rotation,
                self.there.translation + shift,
            );
            input.q_cmd[self.at..].copy_from_slice(&command(&X));
        }
        change.tau.iter().zip(&mut input.tau).for_each(|(d, t)| *t += by * d);
        let time_step = self.params.time_step + by * change.time_step;
        let params = StepParams { time_step, ..self.params.clone() };
        self.system.differentiate(&state, &input, &params, mode, memory).unwrap();
        memory.q_next().to_vec()
    }

    /// Unit changes of all inputs, each with its column of the Jacobian matrices if it has one.
    fn changes(&self, d: &mut Derivatives) -> Vec<(InputChange, Option<Vec<f64>>)> {
        let (n, m) = (self.system.model().n_v(), self.system.n_cmd_v());
        let (mut by_q, mut by_cmd) = (vec![0.0; n * n], vec![0.0; n * m]);
        d.jacobian(&self.system, &mut by_q, &mut by_cmd).unwrap();
        let unit =
            |n: usize, at: usize| (0..n).map(|k| f64::from(u8::from(k == at))).collect::<Vec<_>>();
        let mut changes = Vec::new();
        for k in 0..n {
            let column = (0..n).map(|i| by_q[i * n + k]).collect();
            changes.push((InputChange { q: unit(n, k), ..InputChange::default() }, Some(column)));
            changes.push((InputChange { tau: unit(n, k), ..InputChange::default() }, None));
        }
        for k in 0..m {
            let column = (0..n).map(|i| by_cmd[i * m + k]).collect();
            let q_cmd = unit(m, k);
            changes.push((InputChange { q_cmd, ..InputChange::default() }, Some(column)));
        }
        changes.push((InputChange { time_step: 1.0, ..InputChange::default() }, None));
        changes
    }
}

/// Derivatives with respect to all inputs against finite differences on the manifold:
/// Jacobian-vector products, their transposes and matrices. The hand is on the floor and off it,
/// with and without a prescribed joint.
#[test]
fn derivatives_are_those_of_differences() {
    for (axes, prescribed, floor) in [
        (SpringAxes::World, false, false),
        (SpringAxes::Command, false, false),
        (SpringAxes::World, true, true),
        (SpringAxes::Command, true, true),
    ] {
        let told = Told::new(axes, prescribed, floor);
        let system = &told.system;
        let n = system.model().n_v();
        for mode in [Mode::Exact, Mode::Smooth { kappa: 1e-3 }] {
            let (mut d, mut d2) = (system.create_derivatives(), system.create_derivatives());
            d.set_warm_start(false);
            d2.set_warm_start(false);
            let kinks = system.differentiate(&told.state, &told.input, &told.params, mode, &mut d);
            assert!(!kinks.unwrap().any());
            let pushed = d.report().contacts.iter().any(|c| c.normal_force > 0.1);
            assert_eq!(pushed, floor);
            let w: Vec<f64> = (0..n).map(|k| (1.0 + k as f64).sin()).collect();
            let weights = OutputChange { q_next: w.clone(), ..OutputChange::default() };
            let mut g = InputChange::default();
            d.vjp(system, &weights, &mut g).unwrap();
            let e = 1e-4;
            for (change, column) in told.changes(&mut d) {
                let mut by = OutputChange::default();
                d.jvp(system, &change, false, &mut by).unwrap();
                // fourth-order differences, so that only the solver's rounding remains
                let [a, b, c, f] =
                    [e, -e, 2.0 * e, -2.0 * e].map(|by| told.moved(&change, by, mode, &mut d2));
                for i in 0..n {
                    let want = (8.0 * (a[i] - b[i]) - (c[i] - f[i])) / (12.0 * e);
                    let got = by.q_next[i];
                    assert!(
                        (got - want).abs() < 2e-8 * (1.0 + want.abs()),
                        "{axes:?} {mode:?} {change:?}: {got} {want}"
                    );
                }
                for (a, b) in column.iter().flatten().zip(&by.q_next) {
                    assert!((a - b).abs() < 1e-10 * (1.0 + a.abs()), "{change:?}: {a} {b}");
                }
                let (left, right) = (
                    dot(&w, &by.q_next),
                    dot(&g.q, &change.q)
                        + dot(&g.q_cmd, &change.q_cmd)
                        + dot(&g.tau, &change.tau)
                        + g.time_step * change.time_step,
                );
                assert!((left - right).abs() < 1e-10 * (1.0 + left.abs()), "{change:?}");
            }
        }
    }
}

/// Each sample of a batch has its own spring commands; results are bit-identical to single runs.
#[test]
fn batches_have_springs() {
    let system = Arm::SOFT.held(&coupled(), &NONE, SpringAxes::Command);
    let params = params(Formulation::convex(Cone::Pyramid(4)));
    let (n, steps) = (3, 4);
    let mut q_cmd = Vec::new();
    for sample in 0..n {
        for step in 0..steps {
            let mut row = system.command_at(&BENT);
            *row.last_mut().unwrap() += 0.01 * f64::from(step) - 0.02 * f64::from(sample);
            q_cmd.extend(row);
        }
    }
    let (n_samples, n_steps) = (n as usize, steps as usize);
    let input = BatchInput { n_samples, n_steps, q: &BENT, q_cmd: &q_cmd, ..BatchInput::default() };
    let mut out = vec![0.0; n_samples * BENT.len()];
    let keep = BatchKeep::default();
    system.step_batch(&input, &params, keep, 2, &mut out, None).unwrap();
    for sample in 0..n_samples {
        let (mut state, mut work) = (State::at_rest(0.0, BENT.to_vec()), system.create_workspace());
        for step in 0..n_steps {
            let row = &q_cmd[(sample * n_steps + step) * system.n_cmd()..][..system.n_cmd()];
            system.step(&mut state, row, &params, &mut work).unwrap();
        }
        assert_eq!(state.q, out[sample * BENT.len()..][..BENT.len()]);
        assert_ne!(state.q, BENT);
    }
}

/// Invalid springs are refused with name, value and rule.
#[test]
fn impossible_springs_are_refused() {
    let refuse = |change: &dyn Fn(&mut CartesianSpring), words: &[&str]| {
        let mut world = World::new();
        let body = world.body("cart", WORLD, slide(Vec3::X), 1.0, spring(100.0));
        let mut given = spring_at(Frame::of_body(body), &NONE, &NONE, SpringAxes::World);
        change(&mut given);
        let error = System::new(with(given)(world.def())).unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    refuse(
        &|s| s.stiffness[0][3] = 5.0,
        &["stiffness of spring `hand`", "row 1 column 4 is 5", "row 4 column 1 is 0", "symmetric"],
    );
    refuse(
        &|s| s.damping[2][2] = -4.0,
        &["damping of spring `hand`", "eigenvalue is -4.000e0", "positive semidefinite"],
    );
    refuse(
        &|s| (s.stiffness[0][1], s.stiffness[1][0]) = (1.0, 1.0),
        &["eigenvalue is -1.000e0", "positive semidefinite"],
    );
    refuse(&|s| s.stiffness[1][1] = f64::NAN, &["row 2 column 2 is NaN"]);
    refuse(&|s| s.frame.body = WORLD, &["frame of spring `hand`", "body 0", "moves"]);
    refuse(&|s| s.frame.body = 7, &["frame of spring `hand`", "body 7"]);

    // a joint without stiffness that no Cartesian spring holds
    let mut world = World::new();
    let first = world.body("first", WORLD, slide(Vec3::X), 1.0, spring(0.0));
    world.body("second", WORLD, slide(Vec3::X), 1.0, spring(0.0));
    let along = diagonal([10.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let given = spring_at(Frame::of_body(first), &along, &NONE, SpringAxes::World);
    let error = System::new(with(given)(world.def())).unwrap_err().to_string();
    assert!(error.contains("joint `second`: stiffness 0; it must be > 0"), "{error}");

    let system = floating(&coupled(), &NONE, SpringAxes::World);
    let mut work = system.create_workspace();
    let start = command(&Pose::IDENTITY);
    let mut fails = |q_cmd: &[f64]| {
        let mut state = State::at_rest(0.0, start.clone());
        let params = params(Formulation::convex(Cone::Round));
        let error = system.step(&mut state, q_cmd, &params, &mut work).unwrap_err().to_string();
        assert_eq!(state.q, start);
        error
    };
    assert_eq!(fails(&[]), "`q_cmd` has 0 entries; this system has 7");
    let error = fails(&[2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert!(error.contains("quaternion of spring `hand` has length 2"), "{error}");
}

/// The damping of a ratio is symmetric, and its square is (2 ratio)² K.
#[test]
fn damping_of_a_ratio_squares_to_the_stiffness() {
    let K = coupled();
    let D = damping_of_ratio(&K, 0.5);
    for i in 0..6 {
        for j in 0..6 {
            let square: f64 = (0..6).map(|k| D[i][k] * D[k][j]).sum();
            assert!((square - K[i][j]).abs() < 1e-10 * K[0][0], "{i} {j}: {square}");
        }
    }
}

/// A fallback with springs in place of prescribed motion keeps the Cartesian springs.
#[test]
fn fallbacks_keep_the_spring() {
    let mut world = World::new();
    let wall = world.body("wall", WORLD, slide(Vec3::X), 0.0, Role::Prescribed);
    let hand = world.body("hand", WORLD, slide(Vec3::X), 1.0, Role::Passive);
    let stop = world.body("stop", WORLD, JointKind::Fixed, 0.0, Role::Passive);
    world.shape(wall, ball(0.1), [0.0; 3], 0.5);
    world.shape(hand, ball(0.1), [0.25, 0.0, 0.0], 0.5);
    world.shape(stop, ball(0.1), [0.5, 0.0, 0.0], 0.5);
    let along = diagonal([50.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let system =
        world.build_with(with(spring_at(Frame::of_body(hand), &along, &NONE, SpringAxes::World)));
    let params = StepParams {
        fallback: quasistep::Fallback::Impedance,
        contact_margin: 1.0,
        ..params(Formulation::exact(Cone::Pyramid(4)))
    };
    let mut work = system.create_workspace();
    let mut state = State::at_rest(0.0, vec![0.0, 0.0]);
    let mut q_cmd = vec![0.3];
    q_cmd.extend(command(&Pose::IDENTITY));
    let report = system.step(&mut state, &q_cmd, &params, &mut work).unwrap();
    assert!(report.fallback.is_some());
    assert_eq!(report.effort.len(), 7);
    let pull = report.effort[4];
    assert!((pull + 50.0 * state.q[1]).abs() < 1e-9 && pull < -1.0, "{pull} {:?}", state.q);
}
