//! Bodies on round supports: tipping, and friction against rotation.

use crate::common::World;
use quasistep::{
    Cone, Formulation, Inertia, Relaxation, Role, State, StepInput, StepParams, System, Wrench,
};
use quasistep_geometry::{MassProperties, Polytope, Shape};
use quasistep_math::{Quat, Vec3};
use quasistep_model::{BodyInertia, JointKind, WORLD};
use std::f64::consts::PI;
use std::sync::Arc;

const G: f64 = 9.81;

/// Supports for a disc of the given size; their top is at z = 0.
fn floors(size: f64) -> [(Shape, f64); 3] {
    let prism: Vec<Vec3> = (0..14)
        .map(|k| {
            let (sin, cos) = (PI / 3.5 * f64::from(k / 2)).sin_cos();
            Vec3::new(3.0 * cos, 3.0 * sin, f64::from(k % 2) - 0.5) * size
        })
        .collect();
    [
        (Shape::HalfSpace, 0.0),
        (Shape::Box { half: [3.0 * size, 2.0 * size, size] }, -size),
        (Shape::Polytope(Arc::new(Polytope::from_points(&prism).unwrap())), -0.5 * size),
    ]
}

/// A can of one kilogram with equal width and height, rotated by `yaw` about its axis; it tips at a
/// slope of 1.
fn can((floor, top): (Shape, f64), size: f64, yaw: f64, mu: f64) -> (System, State) {
    let can = Shape::Cylinder { radius: size, half_length: size };
    let density = 1.0 / (2.0 * PI * size.powi(3));
    let MassProperties { mass, com, inertia } = can.mass_properties(density).unwrap();
    let inertia = BodyInertia { mass, com, inertia };
    let mut world = World::new();
    world.shape(WORLD, floor, [0.0, 0.0, top], mu);
    let body = world.body_with("can", WORLD, JointKind::Free, inertia, Role::Passive, None);
    world.shape(body, can, [0.0; 3], mu);
    let turn = Quat::from_axis_angle(Vec3::Z, yaw);
    let q = vec![turn.w, turn.x, turn.y, turn.z, 0.0, 0.0, size];
    (world.build(), State::at_rest(0.0, q))
}

/// Scale-free parameters: the time step is `0.1 √(size/g)`.
fn params(size: f64, formulation: Formulation) -> StepParams {
    StepParams {
        time_step: 0.1 * (size / G).sqrt(),
        gravity: [0.0, 0.0, -G],
        contact_margin: 0.1 * size,
        inertia: Inertia::Mass,
        relaxation: Relaxation::Step,
        formulation,
        ..StepParams::default()
    }
}

/// Sine of the angle between the axis of the body and the vertical.
fn tilt(state: &State) -> f64 {
    let turn = Quat::try_normalize([state.q[0], state.q[1], state.q[2], state.q[3]]).unwrap();
    turn.rotate(Vec3::Z).cross(Vec3::Z).norm()
}

/// For any direction of the slope, any rotation and any support, a can stands without rocking at 98
/// % of its tipping slope, and tips beyond it.
#[test]
fn a_can_tips_where_a_disc_does() {
    let round = Cone::Round;
    let formulations = [
        Formulation::convex(Cone::Pyramid(4)),
        Formulation::convex(round),
        Formulation::dynamic(round),
    ];
    for size in [0.01, 0.1, 1.0, 10.0] {
        for (k, floor) in floors(size).into_iter().enumerate() {
            for way in 0..12 {
                // not a multiple of the angle between contact points
                let (sin, cos) = (PI / 6.0 * f64::from(way)).sin_cos();
                let (system, start) = can(floor.clone(), size, 0.1 * f64::from(way), 3.0);
                for (slope, tips) in [(0.97, false), (1.03, true)] {
                    let formulation = formulations[(k + way as usize) % 3];
                    let mut p = params(size, formulation);
                    let g = G / f64::hypot(1.0, slope);
                    p.gravity = [slope * g * cos, slope * g * sin, -g];
                    let mut work = system.create_workspace();
                    let mut state = start.clone();
                    for _ in 0..40 {
                        system.step(&mut state, &[], &p, &mut work).unwrap();
                        let tilt = tilt(&state);
                        let still = tilt < 1e-9;
                        let what = format!("{floor:?}, {size} m, {way}, {formulation:?}: {tilt}");
                        assert!(tips || still, "rocks at {slope} of its slope: {what}");
                    }
                    assert_eq!(tilt(&state) > 1e-3, tips, "{slope} {floor:?} {:?}", state.q);
                }
            }
        }
    }
}

/// The weight rests on a disc, so friction resists rotation with `2/3 mu m g R` at any yaw. With
/// pyramids it acts at the rim, with `mu m g R`.
#[test]
fn a_can_is_held_against_turning_as_a_disc_is() {
    let (size, mu) = (0.1, 0.5);
    for cone in [Cone::Round, Cone::Pyramid(4), Cone::Pyramid(8)] {
        for yaw in [0.0, 0.1, PI / 16.0, PI / 4.0] {
            for floor in floors(size) {
                let (system, start) = can(floor, size, yaw, mu);
                let below = if cone == Cone::Round { 0.999 } else { 0.98 };
                for (share, turns) in [(below, false), (1.001, true)] {
                    let radius = if cone == Cone::Round { 2.0 / 3.0 } else { 1.0 };
                    let torque_W = Vec3::Z * (radius * share * mu * G * size);
                    let wrench = Wrench { body: 1, p_B: Vec3::ZERO, force_W: Vec3::ZERO, torque_W };
                    let input = StepInput { wrenches: vec![wrench], ..StepInput::default() };
                    let mut work = system.create_workspace();
                    let p = params(size, Formulation::convex(cone));
                    let mut state = start.clone();
                    let report = system.step_with(&mut state, &input, &p, &mut work).unwrap();
                    assert_eq!(report.v[2] > 1e-6, turns, "{cone:?} {yaw} {share} {:?}", report.v);
                }
            }
        }
    }
}
