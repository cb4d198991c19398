//! Flat contacts on an elastic foundation, Winkler 1867: pressure is modulus times depth.

use crate::common::World;
use quasistep::{
    Cone, Formulation, Inertia, InputChange, Mode, OutputChange, Relaxation, Role, State,
    StepInput, StepParams, Surface, System, Wrench,
};
use quasistep_geometry::Shape;
use quasistep_math::{Quat, Vec3};
use quasistep_model::{JointKind, WORLD};
use std::f64::consts::PI;

const G: f64 = 9.81;
const MU: f64 = 0.4;

fn params(formulation: Formulation) -> StepParams {
    StepParams { time_step: 0.02, formulation, inertia: Inertia::None, ..StepParams::default() }
}

fn round() -> StepParams {
    params(Formulation::convex(Cone::Round))
}

/// One kilogram on a foundation, just touching. The origin of its frame is `rest` above the floor.
fn block(shape: Shape, rest: f64, foundation: f64) -> (System, State) {
    let mut world = World::new();
    let floor = Surface { foundation, ..Surface::sliding(MU) };
    world.surface(WORLD, Shape::HalfSpace, [0.0; 3], floor);
    let body = world.body("block", WORLD, JointKind::Free, 1.0, Role::Passive);
    world.shape(body, shape, [0.0; 3], MU);
    (world.build(), State::at_rest(0.0, vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, rest]))
}

fn brick() -> Shape {
    Shape::Box { half: [0.1, 0.05, 0.02] }
}

fn torque(torque_W: Vec3) -> StepInput {
    let wrench = Wrench { body: 1, p_B: Vec3::ZERO, force_W: Vec3::ZERO, torque_W };
    StepInput { wrenches: vec![wrench], ..StepInput::default() }
}

/// State of a block after `n` steps under a torque.
fn rest(system: &System, start: &State, input: &StepInput, params: &StepParams, n: usize) -> State {
    let mut work = system.create_workspace();
    let mut state = start.clone();
    for _ in 0..n {
        system.step_with(&mut state, input, params, &mut work).unwrap();
    }
    state
}

/// A brick and a disc sink by `W/(k A)`, in every formulation and with every cone.
#[test]
fn a_block_sinks_by_its_weight_over_modulus_and_area() {
    let k = 1e7;
    let disc = Shape::Cylinder { radius: 0.08, half_length: 0.02 };
    for (shape, area) in [(brick(), 0.2 * 0.1), (disc, PI * 0.08 * 0.08)] {
        for formulation in [
            Formulation::convex(Cone::Round),
            Formulation::convex(Cone::Pyramid(4)),
            Formulation::exact(Cone::Round),
        ] {
            let (system, start) = block(shape.clone(), 0.02, k);
            let state = rest(&system, &start, &StepInput::default(), &params(formulation), 3);
            let (sunk, want) = (0.02 - state.q[6], G / (k * area));
            assert!((sunk / want - 1.0).abs() < 1e-6, "{formulation:?}: {sunk:e} {want:e}");
        }
    }
}

/// Two foundations in contact act as one with both moduli in series.
#[test]
fn two_foundations_are_in_series() {
    let mut world = World::new();
    let on = |foundation| Surface { foundation, ..Surface::sliding(MU) };
    world.surface(WORLD, Shape::HalfSpace, [0.0; 3], on(2e7));
    let body = world.body("block", WORLD, JointKind::Free, 1.0, Role::Passive);
    world.surface(body, brick(), [0.0; 3], on(1e7));
    let start = State::at_rest(0.0, vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.02]);
    let state = rest(&world.build(), &start, &StepInput::default(), &round(), 3);
    let want = G / 0.02 * (1.0 / 2e7 + 1.0 / 1e7);
    assert!(((0.02 - state.q[6]) / want - 1.0).abs() < 1e-6);
}

/// A fully loaded block tilts by `M/(k I)`, `I = b a³/12`. Above `M = W a/6` it lifts partly: the
/// pressure is a triangle of length `l = 3 (a/2 − M/W)` and depth `2 W/(k b l)` at the edge. Above
/// `W a/2` it falls.
#[test]
fn a_block_tilts_as_on_winklers_foundation() {
    let (k, a, b) = (1e7, 0.2, 0.1);
    let (system, start) = block(brick(), 0.02, k);
    let tilt = |share: f64| {
        let input = torque(Vec3::Y * (share * G * a));
        let state = rest(&system, &start, &input, &round(), 40);
        2.0 * state.q[2].atan2(state.q[0])
    };
    let uniform = |share: f64| share * G * a / (k * b * a.powi(3) / 12.0);
    for share in [0.02, 0.1, 0.16] {
        let (seen, want) = (tilt(share), uniform(share));
        // the centre of mass, 2 cm high, moves with the tilt: W h/(k I) = 3e-4
        assert!((seen / want - 1.0).abs() < 3e-4, "{share}: {seen:e} {want:e}");
    }
    for share in [0.2, 0.25, 0.3] {
        let length = 3.0 * (0.5 - share) * a;
        let want = 2.0 * G / (k * b * length) / length;
        let seen = tilt(share);
        assert!((seen / want - 1.0).abs() < 0.06, "{share}: {seen:e} {want:e}");
    }
}

/// On a very stiff foundation a block tips at `W a/2`, as a rigid one does.
#[test]
fn a_block_on_a_stiff_foundation_tips_where_a_rigid_one_does() {
    for foundation in [0.0, 1e12] {
        let (system, start) = block(brick(), 0.02, foundation);
        for (share, falls) in [(0.4999, false), (0.5001, true)] {
            let input = torque(Vec3::Y * (share * G * 0.2));
            let params =
                StepParams { inertia: Inertia::Mass, relaxation: Relaxation::Step, ..round() };
            let state = rest(&system, &start, &input, &params, 5);
            assert_eq!(state.q[2] > 1e-6, falls, "{foundation:e} {share}: {:?}", state.q);
        }
    }
}

/// Spin torques `mu W 0.3826 a` of a square and `mu W 2/3 R` of a disc, within 1 %: the points
/// reproduce the limit surface of uniform pressure.
#[test]
fn areas_resist_spinning_as_under_uniform_pressure() {
    let square = (Shape::Box { half: [0.05, 0.05, 0.02] }, 0.3826 * 0.1);
    let disc = (Shape::Cylinder { radius: 0.05, half_length: 0.02 }, 2.0 / 3.0 * 0.05);
    for (shape, radius) in [square, disc] {
        for formulation in [Formulation::convex(Cone::Round), Formulation::exact(Cone::Round)] {
            let params = StepParams {
                inertia: Inertia::Mass,
                relaxation: Relaxation::Step,
                ..params(formulation)
            };
            let (system, start) = block(shape.clone(), 0.02, 1e7);
            let start = rest(&system, &start, &StepInput::default(), &params, 20);
            let turns = |share: f64| {
                let input = torque(Vec3::Z * (share * MU * G * radius));
                let state = rest(&system, &start, &input, &params, 3);
                state.q[3].abs() > 1e-7
            };
            assert!(!turns(0.99) && turns(1.01), "{formulation:?} {radius}");
        }
    }
}

/// A brick overhangs another one, tilted and pushed: contact points slide over its face and the
/// areas that they carry change.
fn overhang(foundation: f64) -> (System, State, StepInput) {
    let mut world = World::new();
    let on = |foundation| Surface { foundation, ..Surface::sliding(MU) };
    world.surface(WORLD, brick(), [0.0, 0.0, -0.02], on(foundation));
    let body = world.body("block", WORLD, JointKind::Free, 1.0, Role::Passive);
    world.surface(body, Shape::Box { half: [0.06, 0.04, 0.02] }, [0.0; 3], on(0.0));
    let turn = Quat::from_rotation_vector(Vec3::new(1e-5, -2e-5, 0.3)).to_array();
    let q = [&turn[..], &[0.07, 0.02, 0.02 - 2e-5]].concat();
    let push = Wrench {
        body: 1,
        p_B: Vec3::new(0.01, 0.0, 0.0),
        force_W: Vec3::new(4.5, 1.0, 0.0),
        torque_W: Vec3::new(0.01, 0.02, 0.01),
    };
    let input = StepInput { wrenches: vec![push], ..StepInput::default() };
    (world.build(), State::at_rest(0.0, q), input)
}

#[test]
fn derivatives_are_those_of_differences() {
    let k = 2e7;
    for cone in [Cone::Round, Cone::Pyramid(4)] {
        let params = StepParams {
            inertia: Inertia::Mass,
            relaxation: Relaxation::Step,
            ..params(Formulation::convex(cone))
        };
        let (system, start, input) = overhang(k);
        let mut d = system.create_derivatives();
        let kinks = system.differentiate(&start, &input, &params, Mode::Exact, &mut d).unwrap();
        assert!(!kinks.any(), "{cone}: {kinks:?}");
        let pushing = d.report().contacts.iter().filter(|c| c.normal_force > 0.0).count();
        assert!(pushing > 6, "{pushing}");
        let base = d.q_next().to_vec();
        let next = |system: &System, state: &State| {
            let mut e = system.create_derivatives();
            system.differentiate(state, &input, &params, Mode::Exact, &mut e).unwrap();
            let mut dq = vec![0.0; 6];
            system.model().difference(&base, e.q_next(), &mut dq);
            dq
        };
        let compare = |out: &[f64], more: &[f64], less: &[f64], per: f64, what: &str| {
            let want: Vec<f64> = more.iter().zip(less).map(|(a, b)| (a - b) * per).collect();
            let size = want.iter().fold(1e-9_f64, |m, x| m.max(x.abs()));
            let error = out.iter().zip(&want).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
            assert!(error < 1e-5 * size, "{cone} {what}: {error:e}\n{out:?}\n{want:?}");
        };
        let (mut by_q, mut by_u) = (vec![0.0; 36], Vec::new());
        d.jacobian(&system, &mut by_q, &mut by_u).unwrap();
        for dof in 0..6 {
            let at = |step: f64| {
                let mut v = [0.0; 6];
                v[dof] = step;
                let mut q = start.q.clone();
                system.model().integrate(&start.q, &v, 1.0, &mut q);
                next(&system, &State::at_rest(0.0, q))
            };
            let column: Vec<f64> = (0..6).map(|row| by_q[6 * row + dof]).collect();
            let step = 1e-8;
            compare(&column, &at(step), &at(-step), 0.5 / step, &format!("dof {dof}"));
            // transposed products
            let (mut out, mut gradient) = (OutputChange::default(), InputChange::default());
            let mut unit = vec![0.0; 6];
            unit[dof] = 1.0;
            let change = InputChange { q: unit.clone(), ..InputChange::default() };
            d.jvp(&system, &change, false, &mut out).unwrap();
            let weights = vec![0.3, -0.2, 0.5, 1.0, -0.7, 0.4];
            let forward: f64 = weights.iter().zip(&out.q_next).map(|(a, b)| a * b).sum();
            d.vjp(
                &system,
                &OutputChange { q_next: weights, ..OutputChange::default() },
                &mut gradient,
            )
            .unwrap();
            assert!((gradient.q[dof] - forward).abs() < 1e-10, "{forward} {}", gradient.q[dof]);
        }
        // change of the modulus: the compliance of every point is 1/(k a)
        let own: Vec<f64> = d.report().contacts.iter().map(|c| c.friction.compliance).collect();
        let change = InputChange {
            compliance: own.iter().map(|c| -c / k).collect(),
            ..InputChange::default()
        };
        let mut out = OutputChange::default();
        d.jvp(&system, &change, false, &mut out).unwrap();
        let at = |k: f64| next(&overhang(k).0, &start);
        compare(&out.q_next, &at(k * 1.0001), &at(k * 0.9999), 0.5 / (1e-4 * k), "modulus");
    }
}
