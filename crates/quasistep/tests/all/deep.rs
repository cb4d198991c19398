//! Deep overlaps: the step uses a face along whose normal something can move.

use crate::common::{World, ball, slide};
use quasistep::{
    Cone, Formulation, Inertia, Integration, Mode, Relaxation, Role, State, StepError, StepInput,
    StepParams, System,
};
use quasistep_geometry::{Polytope, Shape, signed_distance};
use quasistep_math::{Pose, Vec3};
use quasistep_model::{JointKind, WORLD};
use std::sync::Arc;

fn params(formulation: Formulation) -> StepParams {
    StepParams {
        time_step: 0.1,
        gravity: [0.0; 3],
        inertia: Inertia::Mass,
        relaxation: Relaxation::Step,
        formulation,
        ..StepParams::default()
    }
}

fn formulations() -> [Formulation; 4] {
    [
        Formulation::convex(Cone::Pyramid(4)),
        Formulation::convex(Cone::Round),
        Formulation::exact(Cone::Pyramid(4)),
        Formulation::dynamic(Cone::Round),
    ]
}

fn cube(half: f64) -> Shape {
    Shape::Box { half: [half; 3] }
}

fn hull(half: f64) -> Shape {
    let corner = |k: u32, bit: u32| if k >> bit & 1 == 1 { half } else { -half };
    let corners: Vec<Vec3> =
        (0..8).map(|k| Vec3::new(corner(k, 0), corner(k, 1), corner(k, 2))).collect();
    Shape::Polytope(Arc::new(Polytope::from_points(&corners).unwrap()))
}

/// All solid shapes; none extends more than 0.1 m from its centre along an axis.
fn solids() -> Vec<Shape> {
    vec![
        ball(0.1),
        cube(0.1),
        hull(0.1),
        Shape::Capsule { radius: 0.05, half_length: 0.05 },
        Shape::Cylinder { radius: 0.1, half_length: 0.1 },
    ]
}

/// A body on a joint at the origin, with its shape at `p`, and a fixed shape at `at`.
fn world(joint: JointKind, shape: Shape, p: [f64; 3], at: [f64; 3], fixed: Shape) -> System {
    world_with(joint, (shape, p), (fixed, at), 0.5)
}

fn world_with(
    joint: JointKind,
    (shape, p): (Shape, [f64; 3]),
    (fixed, at): (Shape, [f64; 3]),
    mu: f64,
) -> System {
    let mut world = World::new();
    world.shape(WORLD, fixed, at, mu);
    let body = world.body("body", WORLD, joint, 1.0, Role::Passive);
    world.shape(body, shape, p, mu);
    world.build()
}

/// Distance of the pair at a configuration, in m.
fn distance(system: &System, q: &[f64]) -> f64 {
    let X_WB = system.linearise(q, [0.0; 3], 0.0).unwrap().X_WB;
    let [a, b] = [0, 1].map(|k| &system.geoms()[k]);
    let [X_WA, X_WB] = [a, b].map(|g| X_WB[g.body] * g.X_BG);
    signed_distance(&a.shape, &X_WA, &b.shape, &X_WB).phi
}

/// Steps until the pair is separated, and returns the number of steps.
fn part(system: &System, state: &mut State, p: &StepParams) -> Result<usize, StepError> {
    let mut work = system.create_workspace();
    let mut last = None;
    for step in 0..400 {
        if distance(system, &state.q) > -1e-9 {
            return Ok(step);
        }
        last = system.step(state, &[], p, &mut work)?.contacts.first().cloned();
    }
    panic!("still {} m deep at {:?}: {:?}", distance(system, &state.q), state.q, last)
}

/// A slider deep in the corner of a box, nearest to the top face, leaves through the side face at
/// the recovery speed until it only touches.
#[test]
fn a_slider_leaves_a_corner_by_the_side_that_it_can() {
    for fixed in [cube(0.5), hull(0.5)] {
        for shape in solids() {
            for formulation in formulations() {
                for integration in [Integration::Euler, Integration::Midpoint] {
                    if formulation.carries_velocity() && integration == Integration::Midpoint {
                        continue;
                    }
                    let p = StepParams { integration, ..params(formulation) };
                    let system = world(
                        slide(Vec3::X),
                        shape.clone(),
                        [0.4, 0.5, 0.1],
                        [0.0; 3],
                        fixed.clone(),
                    );
                    let mut state = State::at_rest(0.0, vec![0.0]);
                    let steps = part(&system, &mut state, &p).unwrap();
                    let wide = -shape.support(-Vec3::X).unwrap().x;
                    let what = format!("{fixed:?} {shape:?} {formulation:?}: {:?}", state.q);
                    assert!((state.q[0] - (0.1 + wide)).abs() < 1e-8, "{what}");
                    // 0.01 m per step
                    assert_eq!(steps, ((0.1 + wide) / 0.01 - 1e-6).ceil() as usize, "{what}");
                }
            }
        }
    }
}

/// A planar body leaves through the nearer of its two side faces, although the top face is nearer:
/// it cannot move up.
#[test]
fn a_planar_body_leaves_in_its_plane() {
    for shape in solids() {
        for formulation in formulations() {
            let system =
                world(JointKind::Planar, shape.clone(), [0.0, 0.0, 0.35], [0.0; 3], cube(0.3));
            let mut state = State::at_rest(0.0, vec![0.15, 0.1, 0.0]);
            part(&system, &mut state, &params(formulation)).unwrap();
            let wide = shape.support(Vec3::X).unwrap().x;
            let what = format!("{shape:?} {formulation:?}: {:?}", state.q);
            // round shapes leave over the edge, along a normal close to the friction cone
            let flat = matches!(shape, Shape::Box { .. } | Shape::Polytope(_));
            assert!(
                state.q[0] > 0.3 && (!flat || (state.q[0] - (0.3 + wide)).abs() < 0.011),
                "{what}"
            );
            assert!((state.q[1] - 0.1).abs() < 0.02 && state.q[2].abs() < 0.2, "{what}");
        }
    }
}

/// An arm swings sideways out of a box, although the nearest face's normal is along the arm or its
/// axis.
#[test]
fn a_hinge_leaves_the_way_it_swings() {
    let hinge = JointKind::Continuous { axis: Vec3::Z };
    for shape in solids() {
        for formulation in formulations() {
            for (fixed, z) in [([1.45, -0.35, 0.0], 0.0), ([1.0, -0.35, -0.45], 0.0)] {
                let system = world(hinge, shape.clone(), [1.0, 0.0, z], fixed, cube(0.5));
                let mut state = State::at_rest(0.0, vec![0.0]);
                part(&system, &mut state, &params(formulation)).unwrap();
                let what = format!("{shape:?} {formulation:?} {fixed:?}: {:?}", state.q);
                assert!(state.q[0] > 0.15 && state.q[0] < 0.5, "{what}");
            }
        }
    }
}

/// For any overlap and any joint, the step has a solution and the overlap ends as long as something
/// can move. A slider moves no farther than the nearer of its two exits if faces are flat.
#[test]
fn no_overlap_that_can_end_is_infeasible() {
    let mut random = 1_u64;
    let mut uniform = || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut opened = 0;
    for sample in 0..600 {
        let pick = |shapes: &mut Vec<Shape>, u: f64| {
            let k = (u * shapes.len() as f64) as usize;
            shapes.swap_remove(k)
        };
        let shape = pick(&mut solids(), uniform());
        let mut fixed = vec![
            cube(0.4),
            hull(0.4),
            Shape::Cylinder { radius: 0.4, half_length: 0.5 },
            Shape::Capsule { radius: 0.3, half_length: 0.2 },
            ball(0.4),
        ];
        let fixed = pick(&mut fixed, uniform());
        // often on an axis, where ties occur
        let mut place = || if uniform() < 0.3 { 0.0 } else { 0.8 * uniform() - 0.4 };
        let p = [place(), place(), place()];
        let axis = Vec3::AXES[sample % 3];
        let joint = match sample / 3 % 4 {
            0 => slide(axis),
            1 => slide((axis + Vec3::AXES[(sample + 1) % 3]).try_normalize().unwrap()),
            2 => JointKind::Planar,
            _ => JointKind::Continuous { axis },
        };
        // place hinges at a distance, across their axis
        let away = if matches!(joint, JointKind::Continuous { .. }) {
            Vec3::AXES[(sample + 1) % 3] * 2.0
        } else {
            Vec3::ZERO
        };
        let at = Vec3::from(p) + away;
        // with friction the pair may wedge
        let pair = ((shape.clone(), at.into()), (fixed.clone(), away.into()));
        let system = world_with(joint, pair.0, pair.1, 0.0);
        let mut state = State::at_rest(0.0, system.model().neutral_q());
        let X_WB = Pose::from_translation(at);
        let depth = signed_distance(&fixed, &Pose::from_translation(away), &shape, &X_WB);
        if depth.phi > -1e-3 {
            continue;
        }
        let what = format!("{sample}: {joint:?} {fixed:?} {shape:?} at {p:?}, {depth:?}");
        let ways: Vec<Vec3> = match joint {
            JointKind::Prismatic { axis } => vec![axis],
            JointKind::Planar => vec![Vec3::X, Vec3::Y],
            _ => vec![axis.cross(away)],
        };
        opened += usize::from(ways.iter().all(|way| way.dot(depth.n_AB_W).abs() < 1e-9));
        let start = state.clone();
        let formulation = formulations()[sample / 12 % 4];
        if let Err(why) = part(&system, &mut state, &params(formulation)) {
            panic!("{what}: {why}");
        }
        let flat = |s: &Shape| matches!(s, Shape::Box { .. } | Shape::Polytope(_));
        if let JointKind::Prismatic { axis } = joint
            && flat(&shape)
            && flat(&fixed)
        {
            let X = |q: f64| Pose::from_translation(at + axis * q);
            let apart =
                |q: f64| signed_distance(&fixed, &Pose::IDENTITY, &shape, &X(q)).phi > -1e-6;
            let moved = state.q[0] - start.q[0];
            let first = depth.n_AB_W.dot(axis).abs() < 1e-9;
            assert!(!first || !apart(-(moved.abs() - 0.011) * moved.signum()), "{what}: {moved}");
        }
    }
    assert!(opened > 60, "{opened}");
}

/// A cart that overlaps its rails by rounding does not leave them over their end.
#[test]
fn what_touches_by_rounding_is_not_opened() {
    let system = world(slide(Vec3::X), ball(0.1), [0.0, 0.0, 0.6 - 1e-14], [0.0; 3], cube(0.5));
    assert!(distance(&system, &[0.0]) < 0.0);
    for formulation in formulations() {
        let mut state = State::at_rest(0.0, vec![0.0]);
        let mut work = system.create_workspace();
        match system.step(&mut state, &[], &params(formulation), &mut work) {
            Ok(report) => assert!((report.contacts[0].n_AB_W - Vec3::Z).norm() < 1e-12),
            Err(StepError::Infeasible { pairs, .. }) => assert!(pairs[0].depth < 1e-13),
            Err(why) => panic!("{why}"),
        }
        assert!(state.q[0].abs() < 1e-12, "{formulation:?} {:?}", state.q);
    }
}

/// Of two equal exits the first is chosen, independently of rounding and of used memory.
#[test]
fn equal_ways_out_are_chosen_alike() {
    let joint = JointKind::Planar;
    let system = world(joint, ball(0.1), [0.0, 0.0, 0.25], [0.0; 3], cube(0.3));
    let run = |noise: f64| {
        let mut state = State::at_rest(0.0, vec![0.2 + noise, 0.2, 0.0]);
        let mut work = system.create_workspace();
        for _ in 0..8 {
            system.step(&mut state, &[], &params(formulations()[0]), &mut work).unwrap();
        }
        state.q
    };
    let q = run(0.0);
    assert!(q[0] > 0.25 && (q[1] - 0.2).abs() < 0.01, "{q:?}");
    for noise in [1e-13, -1e-13] {
        assert!(
            run(noise).iter().zip(&q).all(|(x, y)| (x - y).abs() < 1e-11),
            "{:?} {q:?}",
            run(noise)
        );
    }
}

/// A step with a used workspace, even after a failed step, is bit-identical to one with a fresh
/// workspace.
#[test]
fn opened_pairs_leave_nothing_behind() {
    let mut world = World::new();
    world.shape(WORLD, cube(0.5), [0.0; 3], 0.5);
    let body = world.body("body", WORLD, slide(Vec3::X), 1.0, Role::Passive);
    world.shape(body, ball(0.1), [0.4, 0.5, 0.1], 0.5);
    let wall = world.body("wall", WORLD, slide(Vec3::X), 0.0, Role::Prescribed);
    world.shape(wall, cube(0.1), [0.6, 0.5, 0.1], 0.5);
    let system = world.build();
    let p = params(formulations()[0]);
    let mut work = system.create_workspace();
    let mut state = State::at_rest(0.0, vec![0.0, 0.0]);
    // a wall blocks the exit
    let closed = system.step(&mut state, &[-0.02], &p, &mut work);
    assert!(matches!(closed, Err(StepError::Infeasible { .. })), "{closed:?}");
    for command in [0.1, 0.2, 0.3] {
        let mut fresh = state.clone();
        system.step(&mut fresh, &[command], &p, &mut system.create_workspace()).unwrap();
        work.set_warm_start(true);
        system.step(&mut state, &[command], &p, &mut work).unwrap();
        assert_eq!(state, fresh);
    }
    assert!(state.q[0] > 0.029);
}

/// If no face opens the overlap, the crushed pair is reported: the floor has only one face.
#[test]
fn what_cannot_be_opened_is_named() {
    let system = world(slide(Vec3::X), ball(0.1), [0.0; 3], [0.0; 3], Shape::HalfSpace);
    let mut state = State::at_rest(0.0, vec![0.0]);
    let mut work = system.create_workspace();
    let Err(StepError::Infeasible { pairs, .. }) =
        system.step(&mut state, &[], &params(formulations()[0]), &mut work)
    else {
        panic!("the ball cannot leave the floor")
    };
    assert!((pairs[0].depth - 0.1).abs() < 1e-12, "{pairs:?}");
}

/// Derivatives with respect to a slider's position follow the face that the step uses. Checked
/// against differences, with full recovery of the overlap and at the bound.
#[test]
fn derivatives_follow_the_face_that_is_taken() {
    // as deep below the face along y, but not exactly at the edge, where there is a kink
    let at = [0.4, 0.5 - 1e-6, 0.1];
    let system = world(slide(Vec3::X), ball(0.1), at, [0.0; 3], cube(0.5));
    let p = params(formulations()[0]);
    let next = |q: f64| {
        let mut state = State::at_rest(0.0, vec![q]);
        system.step(&mut state, &[], &p, &mut system.create_workspace()).unwrap();
        state.q[0]
    };
    // full recovery, then recovery at the speed bound
    for (q, slope) in [(0.195, 0.0), (0.1, 1.0)] {
        let mut d = system.create_derivatives();
        let state = State::at_rest(0.0, vec![q]);
        let input = StepInput::default();
        let kinks = system.differentiate(&state, &input, &p, Mode::Exact, &mut d).unwrap();
        assert!(!kinks.any(), "{kinks:?}");
        assert!((d.q_next()[0] - next(q)).abs() < 1e-12);
        let by_differences = (next(q + 1e-5) - next(q - 1e-5)) / 2e-5;
        assert!((by_differences - slope).abs() < 1e-6, "{by_differences}");
        let mut by_q = [0.0];
        d.jacobian(&system, &mut by_q, &mut []).unwrap();
        assert!((by_q[0] - slope).abs() < 1e-9, "{by_q:?}");
    }
}
