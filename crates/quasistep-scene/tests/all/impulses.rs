//! Impulses of contacts along their own directions: their cones, and their derivatives against products
//! and against central differences.

use crate::common::differences::Random;
use quasistep::{
    ContactImpulses, ContactMode, DerivativeError, Derivatives, InputChange, Mode, OutputChange,
    State, StepInput,
};
use quasistep_scene::Scene;

const RELAXED: Mode = Mode::Smooth { kappa: 1e-3 };

/// Calls `look` at states along the run of a scene with changes, with the next step's input.
fn along(name: &str, set: &[(&str, &str)], mut look: impl FnMut(&Scene, &State, &StepInput)) {
    const POINTS: usize = 4;
    let scene = testkit::scene(name, set);
    let mut work = scene.system.create_workspace();
    let (mut state, mut input) = (scene.start.clone(), StepInput::default());
    let n_steps = scene.n_steps().min(120);
    for k in 0..n_steps {
        scene.sample(state.time + scene.params.time_step, &mut input);
        if (k + 1) % (n_steps / POINTS).max(1) == 0 {
            look(&scene, &state, &input);
        }
        scene.system.step_with(&mut state, &input, &scene.params, &mut work).unwrap();
    }
}

/// A step with its derivatives, which a wedged body has none of between relaxed contacts.
fn differentiate(
    scene: &Scene,
    state: &State,
    input: &StepInput,
    mode: Mode,
) -> Option<Derivatives> {
    let mut d = scene.system.create_derivatives();
    d.set_warm_start(false);
    match scene.system.differentiate(state, input, &scene.params, mode, &mut d) {
        Err(DerivativeError::Program(_)) if mode != Mode::Exact => None,
        done => done.map(|_| Some(d)).unwrap(),
    }
}

fn impulses(scene: &Scene, d: &mut Derivatives) -> ContactImpulses {
    let mut out = ContactImpulses::default();
    d.contact_impulses(&scene.system, &mut out).unwrap();
    out
}

/// Product of the Jacobians with a change of `q` and of the command.
fn times(own: &ContactImpulses, dq: &[f64], du: &[f64]) -> Vec<f64> {
    let dot = |row: &[f64], by: &[f64]| row.iter().zip(by).map(|(a, b)| a * b).sum::<f64>();
    (0..own.impulses.len())
        .map(|row| {
            dot(&own.by_q[row * dq.len()..(row + 1) * dq.len()], dq)
                + dot(&own.by_q_cmd[row * du.len()..(row + 1) * du.len()], du)
        })
        .collect()
}

fn largest(all: &[f64]) -> f64 {
    all.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}

/// Scenes with few contacts, in planes and in space, with springs, prescribed joints, flat contacts,
/// rolling and torsional friction, contacts that give way, and constraints.
const SCENES: [&str; 14] = [
    "ball_in_hand",
    "box_pivot",
    "bunny_grasp",
    "door",
    "gripper_2d",
    "mug_handle",
    "pinch",
    "planar_hand",
    "planar_push",
    "sphere_spin",
    "suction",
    "tool_change",
    "robots/panda_push",
    "robots/peg_in_hole",
];

#[test]
fn jacobians_of_impulses_are_products() {
    let mut random = Random(7);
    for name in SCENES {
        for cone in ["4", "round"] {
            for motion in ["quasi_static", "dynamic"] {
                let set = [("step.cone", cone), ("step.motion", motion)];
                let mut n = 0;
                along(name, &set, |scene, state, input| {
                    let found = differentiate(scene, state, input, RELAXED);
                    let Some(mut d) = found else { return };
                    let own = impulses(scene, &mut d);
                    let (n_v, n_cmd) = (scene.system.model().n_v(), scene.system.n_cmd_v());
                    let (q, q_cmd) = (random.vector(n_v), random.vector(n_cmd));
                    let ours = times(&own, &q, &q_cmd);
                    let mut out = OutputChange::default();
                    let change = InputChange { q, q_cmd, ..InputChange::default() };
                    d.jvp(&scene.system, &change, true, &mut out).unwrap();
                    let size = largest(&out.components).max(1e-12);
                    for (ours, product) in ours.iter().zip(&out.components) {
                        let off = (ours - product).abs() / size;
                        assert!(off < 1e-9, "{name}, {set:?}: {ours} {product}, {off:e}");
                    }
                    // the same impulse in W: its normal part
                    for (k, normal) in out.normal.iter().enumerate() {
                        assert_eq!(*normal, out.components[6 * k]);
                    }
                    n += out.normal.len();
                });
                assert!(n > 0, "{name}: no contact was seen");
            }
        }
    }
}

/// Compares with central differences of fourth order, at steps whose contacts stay.
fn check_differences(name: &str, set: &[(&str, &str)], mode: Mode) -> usize {
    let (mut random, mut compared) = (Random(11), 0);
    along(name, set, |scene, state, input| {
        let Some(mut d) = differentiate(scene, state, input, mode) else { return };
        if d.kinks().any() {
            return;
        }
        let own = impulses(scene, &mut d);
        let model = scene.system.model();
        let (dq, du) = (random.vector(model.n_v()), random.vector(scene.system.n_cmd_v()));
        for (dq, du) in [(dq.clone(), vec![0.0; du.len()]), (vec![0.0; dq.len()], du)] {
            let ours = times(&own, &dq, &du);
            let at = |size: f64| {
                let (mut moved, mut told) = (state.clone(), input.clone());
                model.integrate(&state.q, &dq, size, &mut moved.q);
                told.q_cmd.iter_mut().zip(&du).for_each(|(u, du)| *u += size * du);
                let there = impulses(scene, &mut differentiate(scene, &moved, &told, mode)?);
                let key = |c: &quasistep::ContactReport| (c.geom_a, c.geom_b, c.feature);
                let same = own.contacts.iter().map(key).eq(there.contacts.iter().map(key));
                same.then_some(there.impulses)
            };
            let error = |eps: f64| {
                let [a, b, c, d] = [1.0, -1.0, 2.0, -2.0].map(|k| at(k * eps));
                let (Some(a), Some(b), Some(c), Some(d)) = (a, b, c, d) else { return None };
                let want = |i: usize| (8.0 * (a[i] - b[i]) - (c[i] - d[i])) / (12.0 * eps);
                let off = (0..ours.len()).map(|i| (ours[i] - want(i)).abs()).fold(0.0, f64::max);
                Some(off / largest(&ours).max(1e-3 * scene.params.time_step))
            };
            let errors = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7].into_iter().filter_map(error);
            let Some(least) = errors.reduce(f64::min) else { continue };
            assert!(least < 1e-6, "{name}, {set:?}, {mode:?}: {least:e}");
            compared += 1;
        }
    });
    compared
}

#[test]
fn jacobians_of_relaxed_impulses_are_differences() {
    for name in ["ball_in_hand", "box_pivot", "gripper_2d", "pinch", "planar_hand", "planar_push"] {
        for cone in ["4", "round"] {
            for motion in ["quasi_static", "dynamic"] {
                let set = [("step.cone", cone), ("step.motion", motion)];
                let compared = check_differences(name, &set, RELAXED);
                assert!(compared >= 4, "{name}, {set:?}: {compared} compared");
            }
        }
    }
}

/// Steps whose impulses are unique.
#[test]
fn jacobians_of_exact_impulses_are_differences() {
    for name in ["ball_in_hand", "gripper_2d", "sphere_spin"] {
        for friction in ["exact", "convex"] {
            for cone in ["4", "round"] {
                let set = [("step.cone", cone), ("step.friction", friction)];
                let compared = check_differences(name, &set, Mode::Exact);
                assert!(compared >= 2, "{name}, {set:?}: {compared} compared");
            }
        }
    }
}

/// The normal impulse that a contact needs for its other impulses.
fn needed(impulse: &[f64], cone: &[f64]) -> f64 {
    let share = |(way, c): (usize, &f64)| {
        let part = impulse[1 + way];
        // nothing acts along directions that do not resist
        assert!(*c > 0.0 || part == 0.0, "{impulse:?} {cone:?}");
        if *c > 0.0 { part / c } else { 0.0 }
    };
    cone.iter().enumerate().map(share).map(|x| x * x).sum::<f64>().sqrt()
}

/// Impulses are in their cones. Contacts that slide are on them: to rounding in exact steps; in
/// relaxed steps as far as the power of friction exceeds `kappa`. With `λ_0 s_0 − |λ_t| |s_t| / mu =
/// kappa` along the axis of the cone, `|s_t| = mu slip` and `P = λ_0 |s_t| / kappa`, the share `r` of
/// the cone that is used satisfies `r / (1 − r²) = P`.
#[test]
fn impulses_are_in_cones_that_bind_where_contacts_slide() {
    let (mut slid, mut relaxed) = (0, 0);
    for name in SCENES {
        for (friction, cone) in [("exact", "round"), ("exact", "4"), ("convex", "round")] {
            let set = [("step.friction", friction), ("step.cone", cone)];
            along(name, &set, |scene, state, input| {
                for kappa in [None, Some(1e-3), Some(1e-7)] {
                    let mode = kappa.map_or(Mode::Exact, |kappa| Mode::Smooth { kappa });
                    let Some(mut d) = differentiate(scene, state, input, mode) else { continue };
                    let own = impulses(scene, &mut d);
                    let normals = own.impulses.iter().step_by(6);
                    let most = normals.fold(0.0, |m: f64, n| m.max(*n));
                    let cones = own.impulses.chunks(6).zip(own.cones.chunks(5));
                    for ((impulse, c), contact) in cones.zip(&own.contacts) {
                        let (normal, needed) = (impulse[0], needed(impulse, c));
                        assert!(normal >= 0.0 && needed <= normal + 1e-9 * most, "{name}, {set:?}");
                        // point contacts with friction along tangents alone
                        if cone != "round" || c[0] == 0.0 || c[2..] != [0.0; 3] {
                            continue;
                        }
                        let (share, power) =
                            (needed / normal, normal * c[0] * contact.slip_W.norm());
                        match kappa {
                            None if contact.mode == ContactMode::Slide && normal > 1e-3 * most => {
                                slid += 1;
                                assert!((share - 1.0).abs() < 1e-6, "{name}, {set:?}: {share}");
                            }
                            Some(kappa) if power > 1e-3 * kappa => {
                                relaxed += 1;
                                let p = power / kappa;
                                let want = ((1.0 + 4.0 * p * p).sqrt() - 1.0) / (2.0 * p);
                                assert!(
                                    (share - want).abs() < 1e-6,
                                    "{name}, {set:?}: {share} {want}"
                                );
                            }
                            _ => {}
                        }
                    }
                }
            });
        }
    }
    assert!(slid > 10 && relaxed > 50, "{slid} contacts slid, {relaxed} in relaxed steps");
}

/// Forces in the report are impulses along the axes, over the time of the step.
#[test]
fn impulses_along_axes_are_forces() {
    for name in ["ball_in_hand", "gripper_2d", "planar_push", "sphere_spin"] {
        for mode in [Mode::Exact, RELAXED] {
            along(name, &[("step.cone", "round")], |scene, state, input| {
                let Some(mut d) = differentiate(scene, state, input, mode) else { return };
                let own = impulses(scene, &mut d);
                for (k, contact) in own.contacts.iter().enumerate() {
                    let (impulse, axes) = (&own.impulses[6 * k..], &own.axes[15 * k..]);
                    let sum =
                        |i: usize| (0..3).map(|way| impulse[way] * axes[3 * way + i]).sum::<f64>();
                    let force = contact.force_W() * scene.params.time_step;
                    let off = (0..3).map(|i| (sum(i) - force[i]).abs()).fold(0.0, f64::max);
                    assert!(off < 1e-9 * (1e-3 + force.norm()), "{name}: {off:e}");
                }
            });
        }
    }
}
