//! Jacobian matrices against products, for joints and contacts that shipped scenes do not contain:
//! prescribed bodies, commanded free bodies, mimic joints, torsional and rolling friction.

use crate::common::{World, actuator, ball, slide};
use quasistep::{
    Actuator, Cone, Derivatives, Formulation, Inertia, InputChange, Mode, OutputChange,
    PrescribedRate, Relaxation, Role, State, StepInput, StepParams, Surface, System,
};
use quasistep_geometry::Shape;
use quasistep_math::{Pose, Vec3};
use quasistep_model::{BodyDef, BodyInertia, JointKind, Mimic, ModelBuilder, WORLD};

/// Convex and exact friction with this cone, with each derivative mode that differs.
fn laws(cone: Cone) -> [(Formulation, Mode); 3] {
    let (convex, exact) = (Formulation::convex(cone), Formulation::exact(cone));
    [(convex, Mode::Exact), (convex, Mode::Smooth { kappa: 1e-3 }), (exact, Mode::Exact)]
}

/// Normalises the quaternion at the start of `q`.
fn unit(q: &mut [f64]) {
    let length = q[..4].iter().map(|x| x * x).sum::<f64>().sqrt();
    q[..4].iter_mut().for_each(|x| *x /= length);
}

/// Tolerance between products and matrices. In smooth mode both have the rounding of a system with
/// curvatures up to 4e4 apart: `lambda² / kappa` of a contact, about 360 kg for 0.6 N·s, against
/// 0.009 kg m² of the box, times 2.2e-16.
fn allowed(mode: Mode) -> f64 {
    match mode {
        Mode::Smooth { .. } => 1e-11,
        Mode::Exact => 1e-12,
    }
}

fn check(system: &System, d: &mut Derivatives, allowed: f64, what: &str) {
    let (n_v, n_u) = (system.model().n_v(), system.n_cmd_v());
    let (mut by_q, mut by_u) = (vec![f64::NAN; n_v * n_v], vec![f64::NAN; n_v * n_u]);
    d.jacobian(system, &mut by_q, &mut by_u).unwrap();
    let largest = by_q.iter().chain(&by_u).fold(1.0_f64, |m, x| m.max(x.abs()));
    let near = |ours: f64, product: f64, i: usize, j: usize| {
        let off = (ours - product).abs() / largest;
        assert!(off < allowed, "{what}, ({i}, {j}): {ours} {product}, {off:e}");
    };
    let (mut out, mut gradient) = (OutputChange::default(), InputChange::default());
    for j in 0..n_v + n_u {
        let (mut q, mut q_cmd) = (vec![0.0; n_v], vec![0.0; n_u]);
        if j < n_v {
            q[j] = 1.0;
        } else {
            q_cmd[j - n_v] = 1.0;
        }
        let change = InputChange { q, q_cmd, ..InputChange::default() };
        d.jvp(system, &change, false, &mut out).unwrap();
        for (i, product) in out.q_next.iter().enumerate() {
            near(if j < n_v { by_q[i * n_v + j] } else { by_u[i * n_u + j - n_v] }, *product, i, j);
        }
    }
    for i in 0..n_v {
        let mut weights = vec![0.0; n_v];
        weights[i] = 1.0;
        let weights = OutputChange { q_next: weights, ..OutputChange::default() };
        d.vjp(system, &weights, &mut gradient).unwrap();
        for (j, product) in gradient.q.iter().enumerate() {
            near(by_q[i * n_v + j], *product, i, j);
        }
        for (j, product) in gradient.q_cmd.iter().enumerate() {
            near(by_u[i * n_u + j], *product, i, j);
        }
    }
}

/// A finger pushes a box on a floor; with `turning`, both surfaces have torsional and rolling
/// friction.
fn push(finger: JointKind, role: Role, cone: Cone, rate: PrescribedRate, turning: bool) {
    let mut world = World::new();
    let pusher = world.body("finger", WORLD, finger, 0.5, role);
    let object = world.body("box", WORLD, JointKind::Free, 1.3, Role::Passive);
    let surface = if turning {
        Surface { mu: 0.4, mu_spin: 0.01, mu_roll: 0.003, patch_radius: 0.0, ..Surface::default() }
    } else {
        Surface::sliding(0.4)
    };
    world.surface(WORLD, Shape::HalfSpace, [0.0; 3], surface);
    world.surface(pusher, ball(0.05), [0.0, 0.03, 0.1], surface);
    world.surface(object, Shape::Box { half: [0.1; 3] }, [0.0; 3], surface);
    let system = world.build();
    let model = system.model();
    let (mut q, free) = (vec![0.0; model.n_q()], finger == JointKind::Free);
    // a rotated finger, and a box rotated slightly about the vertical
    if free {
        q[..7].copy_from_slice(&[0.98, 0.1, -0.12, 0.05, -0.16, 0.01, 0.0]);
        unit(&mut q);
    } else {
        q[0] = -0.158;
    }
    let n = q.len();
    q[n - 7..].copy_from_slice(&[0.999, 0.0, 0.0, 0.02, 0.0, 0.0, 0.1]);
    unit(&mut q[n - 7..]);
    let mut q_cmd = q[..if free { 7 } else { 1 }].to_vec();
    if free {
        q_cmd.copy_from_slice(&[0.978, 0.085, -0.1, 0.065, -0.145, 0.012, 0.001]);
        unit(&mut q_cmd);
    } else {
        q_cmd[0] = -0.15;
    }
    let input = StepInput { v_cmd: vec![0.1; system.n_cmd_v()], q_cmd, ..StepInput::default() };
    let params = StepParams {
        time_step: 0.05,
        inertia: Inertia::Mass,
        relaxation: Relaxation::Step,
        prescribed_rate: rate,
        max_overlap: 0.005,
        ..StepParams::default()
    };
    let mut d = system.create_derivatives();
    for (formulation, mode) in laws(cone) {
        let params = StepParams { formulation, ..params.clone() };
        let what = format!("{finger:?} {formulation:?} {rate:?} {mode:?} turning {turning}");
        let state = State::at_rest(0.0, q.clone());
        system
            .differentiate(&state, &input, &params, mode, &mut d)
            .unwrap_or_else(|e| panic!("{what}: {e}"));
        check(&system, &mut d, allowed(mode), &what);
    }
}

#[test]
fn prescribed_bodies() {
    for rate in [PrescribedRate::Secant, PrescribedRate::Derivative] {
        for cone in [Cone::Pyramid(4), Cone::Round] {
            push(slide(Vec3::X), Role::Prescribed, cone, rate, false);
            push(JointKind::Free, Role::Prescribed, cone, rate, false);
        }
    }
}

#[test]
fn free_bodies_under_command() {
    let role = Role::Actuated(Actuator {
        stiffness: vec![20.0, 30.0, 40.0, 200.0, 300.0, 400.0],
        damping: vec![0.1, 0.2, 0.3, 1.0, 2.0, 3.0],
        effort_limit: vec![f64::INFINITY, f64::INFINITY, 1.0, f64::INFINITY, 2.0, f64::INFINITY],
        ..Actuator::default()
    });
    for cone in [Cone::Pyramid(8), Cone::Box, Cone::Round] {
        push(JointKind::Free, role.clone(), cone, PrescribedRate::Secant, false);
    }
}

#[test]
fn spin_and_rolling() {
    for cone in [Cone::Pyramid(4), Cone::Round] {
        let role = actuator(200.0, 3.0, f64::INFINITY);
        push(slide(Vec3::X), role, cone, PrescribedRate::Secant, true);
    }
}

/// An arm on a planar base, with a mimic joint, and a heavy passive door.
fn arm_and_door() -> System {
    let mut builder = ModelBuilder::new();
    let mut add = |name: &str, parent, joint, at: [f64; 3], mimic| {
        builder
            .add_body(BodyDef {
                name: format!("a/{name}"),
                joint_name: name.into(),
                parent,
                X_PF: Pose::from_translation(at.into()),
                joint,
                inertia: BodyInertia {
                    mass: 0.7,
                    com: Vec3::new(0.1, 0.02, 0.03),
                    inertia: quasistep_math::Mat3::diagonal([0.01, 0.02, 0.025]),
                },
                limits: None,
                mimic,
                gravity: 0.8,
            })
            .unwrap()
    };
    let turn = |axis| JointKind::Revolute { axis };
    let base = add("base", WORLD, JointKind::Planar, [0.0; 3], None);
    let upper = add("upper", base, turn(Vec3::Y), [0.0, 0.0, 0.2], None);
    let follow = Some(Mimic { body: upper, multiplier: -0.7, offset: 0.1 });
    let fore = add("fore", upper, turn(Vec3::Z), [0.3, 0.0, 0.0], follow);
    let tip = add("tip", fore, turn(Vec3::Y), [0.2, 0.0, 0.0], None);
    let swing = add("swing", WORLD, turn(Vec3::Y), [0.62, 0.0, 0.6], None);
    let leaf = add("leaf", swing, JointKind::Ball, [0.0, 0.0, -0.2], None);
    let springs = |n: usize| {
        Role::Actuated(Actuator {
            stiffness: vec![300.0; n],
            damping: vec![1.0; n],
            effort_limit: vec![f64::INFINITY; n],
            ..Actuator::default()
        })
    };
    let model = builder.build().unwrap();
    let mut roles = vec![Role::Passive; model.n_bodies()];
    roles[base] = springs(3);
    roles[upper] = springs(1);
    // without contact at the tip, inertia couples with the rotations inboard of it
    let mut def = World::new().def();
    let geom = |body, shape, at: [f64; 3], k: usize| quasistep::Geom {
        name: format!("shape{k}"),
        body,
        X_BG: Pose::from_translation(at.into()),
        shape,
        surface: Surface::sliding(0.3),
    };
    def.geoms =
        vec![geom(tip, ball(0.05), [0.1, 0.0, 0.0], 0), geom(leaf, ball(0.1), [0.1, 0.0, -0.2], 1)];
    def.instances = vec![0; roles.len()];
    (def.model, def.roles) = (model, roles);
    System::new(def).unwrap()
}

/// The arm pushes the door open.
#[test]
fn joints_that_carry_and_follow_others() {
    let system = arm_and_door();
    let mut q = vec![0.0; system.model().n_q()];
    q[..3].copy_from_slice(&[0.02, 0.01, 0.1]);
    q[3] = 0.1;
    q[4] = 0.05;
    q[5] = 0.1;
    q[6..10].copy_from_slice(&[0.99, 0.05, 0.1, -0.02]);
    unit(&mut q[6..10]);
    let mut q_cmd = q[..4].to_vec();
    q_cmd[0] += 0.03;
    q_cmd[2] -= 0.015;
    let input = StepInput { q_cmd, ..StepInput::default() };
    for cone in [Cone::Pyramid(4), Cone::Round] {
        let params = StepParams {
            time_step: 0.1,
            contact_margin: 0.5,
            max_overlap: f64::INFINITY,
            inertia: Inertia::Mass,
            relaxation: Relaxation::Step,
            ..StepParams::default()
        };
        for (formulation, mode) in laws(cone) {
            let params = StepParams { formulation, ..params.clone() };
            let mut d = system.create_derivatives();
            let state = State::at_rest(0.0, q.clone());
            system.differentiate(&state, &input, &params, mode, &mut d).unwrap();
            assert!(d.n_contacts() > 0);
            check(&system, &mut d, allowed(mode), &format!("{formulation:?} {mode:?}"));
        }
    }
}
