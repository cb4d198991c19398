//! Closed loops and couplings against closed forms, and against equivalent systems without
//! constraints.

use crate::common::{World, actuator, ball, mimic_of, slide, spring};
use quasistep::{
    Cone, Constraint, ConstraintKind, Formulation, FrictionLaw, Inertia, Integration, RestRule,
    Role, State, StepError, StepInput, StepParams, System, SystemDef, Wrench,
};
use quasistep_geometry::Shape;
use quasistep_math::{Mat3, Pose, Quat, Vec3};
use quasistep_model::{BodyInertia, Frame, JointKind, WORLD};

fn hinge() -> JointKind {
    JointKind::Continuous { axis: Vec3::Y }
}

fn at(body: usize, p: [f64; 3]) -> Frame {
    Frame { body, X_BF: Pose::from_translation(p.into()) }
}

fn connect(name: &str, a: Frame, b: Frame) -> Constraint {
    Constraint { name: name.into(), kind: ConstraintKind::Connect { a, b }, switch: None }
}

fn weld(name: &str, a: Frame, b: Frame) -> Constraint {
    Constraint { name: name.into(), kind: ConstraintKind::Weld { a, b }, switch: None }
}

fn with(constraints: Vec<Constraint>) -> impl FnOnce(SystemDef) -> SystemDef {
    move |def| SystemDef { constraints, ..def }
}

/// Inertia of a rod of mass `m` along x, from its joint.
fn rod(m: f64, length: f64) -> BodyInertia {
    let i = m * length * length / 12.0;
    let com = Vec3::new(0.5 * length, 0.0, 0.0);
    BodyInertia { mass: m, com, inertia: Mat3::diagonal([1e-4 * i, i, i]) }
}

/// Step parameters with every formulation, cone and integration.
fn ways(time_step: f64) -> Vec<StepParams> {
    let mut all = Vec::new();
    for cone in [Cone::Pyramid(4), Cone::Round] {
        for inertia in [Inertia::None, Inertia::Mass] {
            for integration in [Integration::Euler, Integration::Midpoint] {
                for formulation in [Formulation::convex(cone), Formulation::exact(cone)] {
                    let params = StepParams { time_step, inertia, ..StepParams::default() };
                    all.push(StepParams { formulation, integration, ..params });
                }
            }
        }
        let formulation = Formulation::dynamic(cone);
        all.push(StepParams { time_step, formulation, ..StepParams::default() });
    }
    all
}

fn words(params: &StepParams) -> String {
    let StepParams { formulation, inertia, integration, .. } = params;
    format!("{formulation:?} {inertia:?} {integration:?}")
}

/// Lengths of crank, coupler, rocker and ground of a four-bar linkage, in m.
const BARS: [f64; 4] = [0.1, 0.25, 0.2, 0.3];

/// A four-bar linkage in the x–z plane. The crank has the given role, the rocker's foot is at x =
/// ground. `close` makes the constraints between the ends of coupler and rocker.
fn four_bar(crank: Role, mass: f64, close: impl FnOnce(usize, usize) -> Vec<Constraint>) -> System {
    let mut world = World::new();
    let [a, b, c, g] = BARS;
    let x = |x: f64| Pose::from_translation(Vec3::new(x, 0.0, 0.0));
    let rod = |l: f64| rod(mass, l);
    let crank = world.placed_body("crank", WORLD, Pose::IDENTITY, hinge(), rod(a), crank);
    let coupler = world.placed_body("coupler", crank, x(a), hinge(), rod(b), Role::Passive);
    let rocker = world.placed_body("rocker", WORLD, x(g), hinge(), rod(c), Role::Passive);
    world.build_with(with(close(coupler, rocker)))
}

fn pin(coupler: usize, rocker: usize) -> Vec<Constraint> {
    vec![connect("pin", at(coupler, [BARS[1], 0.0, 0.0]), at(rocker, [BARS[2], 0.0, 0.0]))]
}

/// Angles of the linkage for a crank angle, with the coupler's relative to the crank, from the
/// linkage's triangles. Hinges rotate about y, so that x turns to −z.
fn assembled(crank: f64) -> [f64; 3] {
    let [a, b, c, g] = BARS;
    // in the plane (x, −z) angles are counterclockwise
    let [x, y] = [a * crank.cos(), a * crank.sin()];
    let (dx, dy) = (g - x, -y);
    let d = dx.hypot(dy);
    let along = (b * b - c * c + d * d) / (2.0 * d);
    let beside = (b * b - along * along).sqrt();
    let (ux, uy) = (dx / d, dy / d);
    let joint = [x + along * ux - beside * uy, y + along * uy + beside * ux];
    let coupler = (joint[1] - y).atan2(joint[0] - x);
    let rocker = joint[1].atan2(joint[0] - g);
    [crank, coupler - crank, rocker]
}

/// A four-bar linkage under a force on its coupler rests where virtual work vanishes: `K (θ_cmd −
/// θ) + F · dp/dθ = 0`, with geometry from the linkage's triangles.
#[test]
fn a_four_bar_rests_where_virtual_work_vanishes() {
    let K = 40.0;
    let (start, force) = (-1.2, Vec3::new(30.0, 0.0, -50.0));
    let p_B = Vec3::new(0.1, 0.0, 0.05);
    for massless in [true, false] {
        let mass = if massless { 0.0 } else { 0.4 };
        let system = four_bar(spring(K), mass, pin);
        for params in ways(0.05) {
            if params.formulation.carries_velocity() {
                continue;
            }
            let mut state = State::at_rest(0.0, assembled(start).to_vec());
            let wrench = Wrench { body: 2, p_B, force_W: force, torque_W: Vec3::ZERO };
            let wrenches = vec![wrench];
            let input = StepInput { q_cmd: vec![start], wrenches, ..StepInput::default() };
            let mut work = system.create_workspace();
            let rule = RestRule { speed: 1e-11, ..RestRule::default() };
            let report = system.settle(&mut state, &input, &params, &rule, &mut work);
            let report = report.unwrap_or_else(|e| panic!("{}: {e}", words(&params))).clone();
            let energy = |theta: f64| {
                let q = assembled(theta);
                let mut kin = system.model().create_kinematics();
                system.model().kinematics(&q, &mut kin);
                let p = kin.X_WB[2].transform_point(p_B);
                let weight = system.model().potential_energy(&kin, params.gravity.into());
                0.5 * K * (theta - start).powi(2) - force.dot(p) + weight
            };
            let (theta, d) = (state.q[0], 1e-4);
            let moment = (energy(theta + d) - energy(theta - d)) / (2.0 * d);
            assert!(moment.abs() < 1e-6, "{}: {moment}", words(&params));
            assert!((theta - start).abs() > 0.02, "it yields: {theta}");
            let q = assembled(theta);
            let off = q.iter().zip(&state.q).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-9, "{}: {off}", words(&params));
            // the row across the plane is dependent
            assert_eq!(report.constraints[0].dependent, 1);
            assert!(report.constraints[0].error < 1e-12);
            // the rocker rotates about its foot, where the moment of weight and pin force must
            // vanish
            let f = report.constraints[0].force_W;
            let mut kin = system.model().create_kinematics();
            system.model().kinematics(&state.q, &mut kin);
            let foot = kin.X_WB[3].translation;
            let weight = Vec3::from(params.gravity) * mass;
            let moment =
                (report.constraints[0].p_W - foot).cross(f) + (kin.p_WBcm[3] - foot).cross(weight);
            assert!(moment.norm() < 1e-9, "{moment:?} under {f:?}");
        }
    }
}

/// A stool with a box welded to its side, pulled over a floor, moves as one body in every
/// formulation.
#[test]
fn a_welded_pair_is_one_body() {
    let of_mass = |m: f64| {
        let i = m * (0.08_f64.powi(2) * 2.0) / 12.0;
        BodyInertia { mass: m, com: Vec3::ZERO, inertia: Mat3::diagonal([i, i, i]) }
    };
    let cube = Shape::Box { half: [0.04; 3] };
    let side = Pose::new(Quat::from_axis_angle(Vec3::Z, 0.5), Vec3::new(0.09, 0.0, 0.0));
    let build = |welded: bool| {
        let mut world = World::new();
        world.floor(0.2);
        let (passive, free) = (Role::Passive, JointKind::Free);
        let one = world.body_with("one", WORLD, free, of_mass(0.7), passive.clone(), None);
        world.resist(one, 3.0, 0.0, 6);
        world.stool(one, 0.04, 0.2);
        let (parent, X_PF, joint) =
            if welded { (WORLD, Pose::IDENTITY, free) } else { (one, side, JointKind::Fixed) };
        let two = world.placed_body("two", parent, X_PF, joint, of_mass(0.2), passive);
        world.shape(two, cube.clone(), [0.0, 0.0, 0.03], 0.5);
        if !welded {
            return world.build();
        }
        let (a, b) = (Frame { body: one, X_BF: side }, Frame::of_body(two));
        world.build_with(with(vec![weld("glue", a, b)]))
    };
    let (pair, single) = (build(true), build(false));
    for params in ways(0.02) {
        let one = vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.04];
        let turn = Quat::from_axis_angle(Vec3::Z, 0.5).to_array();
        let two = [&turn[..], &[0.09, 0.0, 0.04]].concat();
        let mut a = State::at_rest(0.0, [&one[..], &two].concat());
        let mut b = State::at_rest(0.0, one);
        let (mut work_a, mut work_b) = (pair.create_workspace(), single.create_workspace());
        let (p_B, force_W) = (Vec3::new(0.0, 0.02, -0.03), Vec3::new(3.0, 0.5, 0.0));
        let wrench = Wrench { body: 1, p_B, force_W, torque_W: Vec3::ZERO };
        let input = StepInput { wrenches: vec![wrench], ..StepInput::default() };
        // in each step the second box drifts from its circle about the first, and the next step
        // recovers it
        let (mut drift, mut force) = (0.0, 0.0_f64);
        for step in 1..=40 {
            let of_pair = pair.step_with(&mut a, &input, &params, &mut work_a);
            let of_pair = of_pair.unwrap_or_else(|e| panic!("{} {step}: {e}", words(&params)));
            drift += of_pair.constraints[0].error;
            force = force.max(of_pair.constraints[0].force_W.norm());
            single.step_with(&mut b, &input, &params, &mut work_b).unwrap();
            let off = a.q[..7].iter().zip(&b.q).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-9 + drift, "{} step {step}: {off:e} {drift:e}", words(&params));
        }
        assert!(drift < 1e-4, "{}: {drift:e}", words(&params));
        // the weld carries at least the box's weight
        assert!(b.q[4] > 0.01 && force > 1.9, "it was pulled: {:?}, glue {force} N", b.q);
    }
}

/// A coupling `q1 + 2 q2 = 0.1` of two slides equals a mimic joint with `q1 = −2 q2 + 0.1`, to
/// rounding, with dry friction and a load on the follower.
#[test]
fn a_coupling_is_a_mimic_joint() {
    let build = |coupled: bool| {
        let mut world = World::new();
        let driven = world.body("driven", WORLD, slide(Vec3::X), 0.5, actuator(300.0, 3.0, 40.0));
        // massless: in a quasi-dynamic step a passive joint has inertia, but a follower of a driven
        // joint has none
        let follower = world.body("follower", WORLD, slide(Vec3::X), 0.0, Role::Passive);
        world.resist(follower, 0.0, 0.3, 1);
        world.shape(follower, ball(0.03), [0.0; 3], 0.3);
        let load = world.body("load", WORLD, slide(Vec3::X), 0.6, Role::Passive);
        world.resist(load, 4.0, 1.0, 1);
        world.shape(load, Shape::Box { half: [0.05; 3] }, [-0.09, 0.0, 0.0], 0.5);
        let terms = vec![(follower, 1.0), (driven, 2.0)];
        let kind = ConstraintKind::Coupling { terms, offset: 0.1 };
        if coupled {
            world.build_with(with(vec![Constraint { name: "tie".into(), kind, switch: None }]))
        } else {
            let mut def = world.def();
            def.model = mimic_of(&def.model, follower, driven, -2.0, 0.1);
            System::new(def).unwrap()
        }
    };
    let (coupled, mimic) = (build(true), build(false));
    for params in ways(0.02) {
        let mut a = State::at_rest(0.0, vec![0.05, 0.0, 0.0]);
        let mut b = State::at_rest(0.0, vec![0.05, 0.0]);
        let (mut work_a, mut work_b) = (coupled.create_workspace(), mimic.create_workspace());
        for step in 1..=40 {
            let command = [0.05 + 0.002 * f64::from(step)];
            let report = coupled.step(&mut a, &command, &params, &mut work_a);
            let report = report.unwrap_or_else(|e| panic!("{} {step}: {e}", words(&params)));
            let (error, effort) = (report.constraints[0].error, report.effort[0]);
            assert!(error < 1e-12);
            let other = mimic.step(&mut b, &command, &params, &mut work_b).unwrap();
            let free = [a.q[0], a.q[2]];
            let off = free.iter().zip(&b.q).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            // to the solvers' accuracy
            assert!(off < 1e-10, "{} step {step}: {off:e}", words(&params));
            assert!((effort - other.effort[0]).abs() < 1e-6, "{effort} {}", other.effort[0]);
        }
        assert!(b.q[1] < -0.05, "{}: the load was pushed: {:?}", words(&params), b.q);
    }
}

/// A chain of equal rods hangs from both ends. The horizontal force is equal in all links, the end
/// pins carry half the weight each, and the slope of a rod is the load below its middle divided by
/// the horizontal force.
#[test]
fn a_chain_that_is_pinned_at_both_ends_hangs_as_statics_says() {
    const N: usize = 5;
    let (l, m) = (0.1, 0.2);
    let mut world = World::new();
    let mut parent = WORLD;
    for k in 0..N {
        let X_PF = Pose::from_translation(Vec3::X * if k == 0 { 0.0 } else { l });
        let name = format!("rod{k}");
        parent = world.placed_body(&name, parent, X_PF, hinge(), rod(m, l), Role::Passive);
        world.resist(parent, 1.0, 0.0, 1);
    }
    let span = 0.35;
    let pin = connect("end", at(parent, [l, 0.0, 0.0]), at(WORLD, [span, 0.0, 0.0]));
    let system = world.build_with(with(vec![pin]));
    // start as a sagging arc: positive angles about y point downwards
    let mut q: Vec<f64> = vec![0.9];
    q.extend(vec![-1.8 / (N as f64 - 1.0); N - 1]);
    let closing = system.close(&mut q).unwrap().unwrap();
    assert!(closing.before > 1e-3 && closing.after < 1e-12, "{closing:?}");
    let ways = ways(0.1).into_iter().filter(|p| p.formulation.friction == FrictionLaw::Convex);
    for params in ways.filter(|p| p.formulation.cone == Cone::Round) {
        let mut state = State::at_rest(0.0, q.clone());
        let mut work = system.create_workspace();
        let rule = RestRule { speed: 1e-10, max_steps: 5000, ..RestRule::default() };
        let report = system.settle(&mut state, &StepInput::default(), &params, &rule, &mut work);
        let report = report.unwrap_or_else(|e| panic!("{}: {e}", words(&params)));
        // force on body B, here the world
        let f = report.constraints[0].force_W * -1.0;
        let weight = m * 9.81;
        let half = 0.5 * N as f64 * weight;
        assert!((f.z - half).abs() < 1e-7 && f.y == 0.0, "{f:?} {half}");
        let mut slope = 0.0;
        for k in 0..N {
            slope += state.q[k];
            let below = half - (k as f64 + 0.5) * weight;
            let tan = below / f.x;
            assert!((slope.tan() - tan).abs() < 1e-7, "{}: rod {k}", words(&params));
        }
        let reached: f64 = {
            let (mut angle, mut x) = (0.0, 0.0);
            for k in 0..N {
                angle += state.q[k];
                x += l * f64::cos(angle);
            }
            x
        };
        assert!((reached - span).abs() < 1e-9, "{reached}");
    }
}

/// A parallelogram with three cranks has one redundant closure, and a weld in a plane three
/// dependent rows. They are detected, and the linkage moves as with a single closure.
#[test]
fn what_depends_is_told_and_changes_nothing() {
    let build = |spare: bool| {
        let mut world = World::new();
        let (l, m) = (0.2, 0.3);
        let mut crank = |x: f64, role: Role| {
            let X = Pose::from_translation(Vec3::new(x, 0.0, 0.0));
            world.placed_body(&format!("crank{x}"), WORLD, X, hinge(), rod(m, l), role)
        };
        let first = crank(0.0, actuator(200.0, 2.0, 50.0));
        let (second, third) = (crank(0.3, Role::Passive), crank(0.6, Role::Passive));
        let X = Pose::from_translation(Vec3::X * l);
        let bar = rod(2.0 * m, 0.6);
        let bar = world.placed_body("bar", first, X, hinge(), bar, Role::Passive);
        let mut all = vec![connect("far", at(bar, [0.6, 0.0, 0.0]), at(third, [l, 0.0, 0.0]))];
        if spare {
            all.push(connect("middle", at(bar, [0.3, 0.0, 0.0]), at(second, [l, 0.0, 0.0])));
        } else {
            let terms = vec![(second, 1.0), (first, -1.0)];
            let kind = ConstraintKind::Coupling { terms, offset: 0.0 };
            all.push(Constraint { name: "along".into(), kind, switch: None });
        }
        world.build_with(with(all))
    };
    let (both, one) = (build(true), build(false));
    for params in ways(0.02) {
        let start = vec![-0.5, -0.5, -0.5, 0.5];
        let (mut a, mut b) = (State::at_rest(0.0, start.clone()), State::at_rest(0.0, start));
        let (mut work_a, mut work_b) = (both.create_workspace(), one.create_workspace());
        for step in 1..=60 {
            let command = [-0.5 - 0.02 * f64::from(step)];
            let report = both.step(&mut a, &command, &params, &mut work_a);
            let report = report.unwrap_or_else(|e| panic!("{} {step}: {e}", words(&params)));
            let dependent: u32 = report.constraints.iter().map(|c| c.dependent).sum();
            // two rows across the plane, and one of the four within it
            assert_eq!(dependent, 3, "{} {step}", words(&params));
            let error = report.constraints.iter().map(|c| c.error).fold(0.0, f64::max);
            assert!(error < 2e-4, "{} {step}: {error}", words(&params));
            one.step(&mut b, &command, &params, &mut work_b).unwrap();
            let off = a.q.iter().zip(&b.q).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-3, "{} {step}: {off:e}", words(&params));
        }
        assert!(a.q[0] < -1.2, "{}: it moved to {:?}", words(&params), a.q);
    }
}

/// Contradictory constraints give an error with their names; the state is unchanged.
#[test]
fn constraints_that_contradict_one_another_are_named() {
    let mut world = World::new();
    let a = world.body("a", WORLD, slide(Vec3::X), 1.0, Role::Passive);
    let b = world.body("b", WORLD, slide(Vec3::X), 1.0, Role::Prescribed);
    let couple = |name: &str, offset: f64| {
        let kind = ConstraintKind::Coupling { terms: vec![(a, 1.0), (b, -1.0)], offset };
        Constraint { name: name.into(), kind, switch: None }
    };
    let system = world.build_with(with(vec![couple("first", 0.0), couple("second", 0.1)]));
    let mut state = State::at_rest(0.0, vec![0.0, 0.0]);
    let before = state.clone();
    let params = StepParams::default();
    let mut work = system.create_workspace();
    let error = system.step(&mut state, &[0.0], &params, &mut work).unwrap_err();
    let StepError::Constraints { names, .. } = &error else { panic!("{error}") };
    assert_eq!(*names, ["first", "second"]);
    assert_eq!(state, before);
    let error = system.close(&mut [0.0, 0.0]).unwrap_err();
    assert_eq!(error.names, ["first", "second"]);
}

/// Two prescribed and coupled joints: commands that agree with the coupling move them, others give
/// an error with names.
#[test]
fn prescribed_motion_must_agree_with_constraints() {
    let system = four_bar(Role::Prescribed, 0.2, |coupler, rocker| {
        let mut all = pin(coupler, rocker);
        let terms = vec![(1, 1.0)];
        all.push(Constraint {
            name: "stop".into(),
            kind: ConstraintKind::Coupling { terms, offset: -1.2 },
            switch: None,
        });
        all
    });
    let mut state = State::at_rest(0.0, assembled(-1.2).to_vec());
    let params = StepParams::default();
    let mut work = system.create_workspace();
    system.step(&mut state, &[-1.2], &params, &mut work).unwrap();
    let error = system.step(&mut state, &[-1.1], &params, &mut work).unwrap_err();
    let StepError::Constraints { names, why } = &error else { panic!("{error}") };
    assert_eq!(*names, ["stop"], "{why}");
}

/// A prescribed crank drives the linkage, and its effort satisfies virtual work.
#[test]
fn a_prescribed_crank_leads_the_linkage() {
    let mass = 0.4;
    let system = four_bar(Role::Prescribed, mass, pin);
    for params in ways(0.01).into_iter().filter(|p| !p.formulation.carries_velocity()) {
        if params.inertia == Inertia::Mass {
            continue;
        }
        let mut state = State::at_rest(0.0, assembled(-1.2).to_vec());
        let mut work = system.create_workspace();
        let mut effort = 0.0;
        for step in 1..=200 {
            let command = [-1.2 + 0.004 * f64::from(step.min(190))];
            effort = system.step(&mut state, &command, &params, &mut work).unwrap().effort[0];
        }
        let q = assembled(state.q[0]);
        let off = q.iter().zip(&state.q).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-9, "{off}");
        let weight = |theta: f64| {
            let mut kin = system.model().create_kinematics();
            system.model().kinematics(&assembled(theta), &mut kin);
            system.model().potential_energy(&kin, params.gravity.into())
        };
        let (theta, d) = (state.q[0], 1e-4);
        let moment = (weight(theta + d) - weight(theta - d)) / (2.0 * d);
        assert!((effort - moment).abs() < 1e-6, "{effort} {moment}");
    }
}

/// Two coupled drives share a load until one reaches its force limit: `Σ clamp(K (u − x), limit) =
/// F`.
#[test]
fn coupled_drives_share_a_load_up_to_their_limits() {
    let mut world = World::new();
    let a = world.body("a", WORLD, slide(Vec3::X), 1.0, actuator(100.0, 1.0, 5.0));
    let b = world.body("b", WORLD, slide(Vec3::X), 1.0, actuator(100.0, 1.0, 2.0));
    let kind = ConstraintKind::Coupling { terms: vec![(a, 1.0), (b, 2.0)], offset: 0.0 };
    let system =
        world.build_with(with(vec![Constraint { name: "tie".into(), kind, switch: None }]));
    for params in ways(0.05) {
        // the force acts on `a`; a + 2 b = 0, so F = K x + K x / 4, or F = K x + 2 N / 2 with b at
        // its limit
        for (force, x) in [(2.5, 0.02), (-2.5, -0.02), (5.5, 0.045)] {
            let mut state = State::at_rest(0.0, vec![0.0, 0.0]);
            let tau = vec![force, 0.0];
            let input = StepInput { q_cmd: vec![0.0; 2], tau, ..StepInput::default() };
            let mut work = system.create_workspace();
            let rule = RestRule { speed: 1e-12, max_steps: 100_000, ..RestRule::default() };
            let report = system.settle(&mut state, &input, &params, &rule, &mut work).unwrap();
            let saturated = usize::from(force > 5.0);
            assert_eq!(report.saturated.len(), saturated, "{}", words(&params));
            let off = (state.q[0] - x).abs().max((state.q[1] + 0.5 * x).abs());
            assert!(off < 1e-9, "{}: {:?} for {x}", words(&params), state.q);
        }
    }
}

/// With three limited drives in one coupling, one of them would depend on two others, which is an
/// error.
#[test]
fn a_limited_drive_cannot_follow_two() {
    let mut world = World::new();
    let mut drive =
        |name: &str| world.body(name, WORLD, slide(Vec3::X), 1.0, actuator(100.0, 1.0, 5.0));
    let terms = ["a", "b", "c"].map(|name| (drive(name), 1.0)).to_vec();
    let kind = ConstraintKind::Coupling { terms, offset: 0.0 };
    let system =
        world.build_with(with(vec![Constraint { name: "tie".into(), kind, switch: None }]));
    let mut state = State::at_rest(0.0, vec![0.0; 3]);
    let mut work = system.create_workspace();
    let error = system.step(&mut state, &[0.0; 3], &StepParams::default(), &mut work);
    let text = error.unwrap_err().to_string();
    assert!(text.contains("`tie`") && text.contains("`a`, `b`, `c`"), "{text}");
}

/// Invalid constraints are refused by name.
#[test]
fn impossible_constraints_are_refused() {
    let refused = |constraint: Constraint| {
        let mut world = World::new();
        world.body("a", WORLD, slide(Vec3::X), 1.0, Role::Passive);
        world.body("ball", WORLD, JointKind::Ball, 1.0, Role::Passive);
        let def = SystemDef { constraints: vec![constraint], ..world.def() };
        System::new(def).unwrap_err().to_string()
    };
    let coupling = |terms: Vec<(usize, f64)>| Constraint {
        name: "tie".into(),
        kind: ConstraintKind::Coupling { terms, offset: 0.0 },
        switch: None,
    };
    for (constraint, word) in [
        (connect("tie", Frame::of_body(7), Frame::of_body(1)), "body 7"),
        (connect("tie", Frame::of_body(1), at(1, [0.1, 0.0, 0.0])), "no joint moves"),
        (weld("tie", Frame::of_body(1), at(WORLD, [f64::NAN, 0.0, 0.0])), "finite"),
        (coupling(vec![]), "no joint"),
        (coupling(vec![(2, 1.0)]), "one dof"),
        (coupling(vec![(1, f64::INFINITY)]), "finite"),
        (coupling(vec![(0, 1.0)]), "body 0"),
    ] {
        let text = refused(constraint);
        assert!(text.contains("`tie`") && text.contains(word), "{text}");
    }
}
