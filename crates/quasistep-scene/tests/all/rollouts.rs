//! Rollouts with the matrices of their steps, against differences of rollouts, chains of steps and
//! batches.

use crate::common::differences::Random;
use crate::common::read;
use quasistep::{
    BatchInput, BatchKeep, ContactImpulses, Mode, RunDerivatives, RunMatrices, RunMode, RunOutcome,
    StepInput, SystemChange,
};
use quasistep_scene::Scene;
use std::path::{Path, PathBuf};

const STEPS: usize = 6;

fn shipped(name: &str, changes: &[(&str, &str)]) -> Scene {
    let changes: Vec<_> = changes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes").join(name);
    Scene::load_with(&path, &changes).unwrap()
}

/// Results of rollouts of one scene.
struct Rolled {
    q: Vec<f64>,
    by_x: Vec<f64>,
    by_q_cmd: Vec<f64>,
    by_parameters: Vec<f64>,
    outcomes: Vec<RunOutcome>,
}

fn roll(
    scene: &Scene,
    (q, v): (&[f64], &[f64]),
    u: &[f64],
    changes: &[SystemChange],
    mode: impl Into<RunMode>,
    threads: usize,
) -> Rolled {
    let (system, n_x) = (&scene.system, scene.system.state_size(&scene.params));
    let n = u.len() / (STEPS * system.n_cmd());
    let rows = n * STEPS;
    let zeros = |width: usize| vec![0.0; rows * width];
    let mut out = Rolled {
        q: zeros(system.model().n_q()),
        by_x: zeros(n_x * n_x),
        by_q_cmd: zeros(n_x * system.n_cmd_v()),
        by_parameters: zeros(n_x * changes.len()),
        outcomes: Vec::new(),
    };
    let input =
        BatchInput { n_samples: n, n_steps: STEPS, q, v, q_cmd: u, ..BatchInput::default() };
    let mut by = zeros(system.model().n_q() * changes.len());
    let to = RunDerivatives {
        q: &mut out.q,
        by: &mut by,
        matrices: Some(RunMatrices {
            by_x: &mut out.by_x,
            by_q_cmd: &mut out.by_q_cmd,
            by_parameters: &mut out.by_parameters,
        }),
    };
    out.outcomes =
        system.run_derivatives(&input, changes, &scene.params, mode.into(), threads, to).unwrap();
    out
}

/// The commands of the scene, with a small random part on every step.
fn commands(scene: &Scene, size: f64, random: &mut Random) -> Vec<f64> {
    let (h, mut input) = (scene.params.time_step, StepInput::default());
    let mut u = Vec::new();
    for k in 1..=STEPS {
        scene.sample(k as f64 * h, &mut input);
        let noise = random.vector(input.q_cmd.len());
        u.extend(input.q_cmd.iter().zip(noise).map(|(u, d)| u + size * d));
    }
    u
}

/// Change of the weighted sum of all states from rollout `a` to rollout `b`.
fn change(scene: &Scene, weights: &[f64], a: &Rolled, b: &Rolled) -> f64 {
    let model = scene.system.model();
    let (n_q, n_v) = (model.n_q(), model.n_v());
    let mut dq = vec![0.0; n_v];
    let mut sum = 0.0;
    for k in 0..STEPS {
        let of = |run: &Rolled| run.q[k * n_q..(k + 1) * n_q].to_vec();
        model.difference(&of(a), &of(b), &mut dq);
        sum += dq.iter().zip(&weights[k * n_v..]).map(|(dq, w)| dq * w).sum::<f64>();
    }
    sum
}

/// Gradients by start, commands and mass agree with differences of whole rollouts, of the step
/// itself and of the relaxed one.
#[test]
fn gradients_of_rollouts_agree_with_differences() {
    let cases = [
        ("planar_push.yml", "models.box.mass", 0.8, "0.05"),
        ("ball_in_hand.yml", "", 0.0, "0.02"),
        ("planar_pusher.yml", "", 0.0, "0.05"),
    ];
    for (name, key, value, h) in cases {
        let with = |factor: f64| {
            let mass = format!("{}", value * factor);
            let own = [("step.size", h), (key, mass.as_str())];
            shipped(name, if value > 0.0 { &own } else { &own[..1] })
        };
        let (scene, random) = (with(1.0), &mut Random(7));
        let by = 1e-3 * value;
        let changes: Vec<SystemChange> = (value > 0.0)
            .then(|| {
                let [less, more] = [-0.5, 0.5].map(|side| with(1.0 + 1e-3 * side).system);
                scene.system.change_between(&less, &more, by).unwrap()
            })
            .into_iter()
            .collect();
        let model = scene.system.model();
        let (n_v, n_rate) = (model.n_v(), scene.system.n_cmd_v());
        let start = (&scene.start.q[..], &scene.start.v[..]);
        let u = commands(&scene, 1e-4, random);
        let weights = random.vector(STEPS * n_v);
        for mode in [Mode::Exact, Mode::Smooth { kappa: 1e-4 }] {
            let mut base = roll(&scene, start, &u, &changes, mode, 1);
            assert_eq!(base.outcomes[0].error, None, "{name}");
            let matrices = RunMatrices {
                by_x: &mut base.by_x,
                by_q_cmd: &mut base.by_q_cmd,
                by_parameters: &mut base.by_parameters,
            };
            let gradient = matrices.gradient(&weights, n_v);
            let (dq, du) = (random.vector(n_v), random.vector(STEPS * n_rate));
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let at = |eps: f64, what: usize| {
                let (mut q, mut u) = (scene.start.q.clone(), u.clone());
                match what {
                    0 => model.integrate(&scene.start.q, &dq, eps, &mut q),
                    _ => u.iter_mut().zip(&du).for_each(|(u, du)| *u += eps * du),
                }
                change(&scene, &weights, &base, &roll(&scene, (&q, start.1), &u, &[], mode, 1))
            };
            let ours = [dot(&gradient.x, &dq), dot(&gradient.q_cmd, &du)];
            for (what, ours) in ours.into_iter().enumerate() {
                let error = [1e-4, 1e-5, 1e-6, 1e-7].map(|eps| {
                    let want = (at(eps, what) - at(-eps, what)) / (2.0 * eps);
                    (ours - want).abs() / (1e-3 + want.abs())
                });
                let best = error.into_iter().fold(f64::INFINITY, f64::min);
                assert!(
                    best < 1e-5,
                    "{name} {mode:?} {what}: {error:?} {:?}",
                    base.outcomes[0].kinks
                );
            }
            if let Some(ours) = gradient.parameters.first() {
                let [a, b] = [-0.01, 0.01]
                    .map(|side| roll(&with(1.0 + 0.01 * side), start, &u, &[], mode, 1));
                let want = change(&scene, &weights, &a, &b) / (2e-4 * value);
                assert!(
                    (ours - want).abs() < 1e-4 * (1e-3 + want.abs()),
                    "{name} {mode:?}: {ours}, {want}"
                );
            }
        }
    }
}

/// A rollout ends where a batch of steps does, has the same bits for any number of threads, and
/// reports the contacts that carry the weight.
#[test]
fn rollouts_are_those_of_a_batch() {
    let scene = shipped("planar_push.yml", &[]);
    let random = &mut Random(3);
    let u: Vec<f64> = (0..5).flat_map(|_| commands(&scene, 1e-3, random)).collect();
    let start = (&scene.start.q[..], &scene.start.v[..]);
    let mode = RunMode { mode: Mode::Exact, contacts: true, impulses: false };
    let ours = roll(&scene, start, &u, &[], mode, 1);
    let again = roll(&scene, start, &u, &[], mode, 3);
    assert_eq!((&ours.q, &ours.by_x, &ours.by_q_cmd), (&again.q, &again.by_x, &again.by_q_cmd));
    let input =
        BatchInput { n_samples: 5, n_steps: STEPS, q: start.0, q_cmd: &u, ..BatchInput::default() };
    let mut q = vec![0.0; ours.q.len()];
    let keep = BatchKeep::default();
    scene.system.step_batch(&input, &scene.params, keep, 1, &mut q, None).unwrap();
    let off = q.iter().zip(&ours.q).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(off < 1e-9, "{off}");
    for outcome in &ours.outcomes {
        assert_eq!(outcome.contacts.len(), STEPS);
        let weight: f64 = outcome.contacts[STEPS - 1]
            .iter()
            .filter(|c| c.n_AB_W.z.abs() > 0.5)
            .map(|c| c.normal_force)
            .sum();
        let mass: f64 =
            scene.system.model().bodies().iter().map(|b| b.inertia.mass).fold(0.0, f64::max);
        assert!((weight / 9.81 - mass).abs() < 1e-6 * mass, "{weight} N, {mass} kg");
    }
}

/// Impulses along a relaxed rollout are those of single steps at the states on its way.
#[test]
fn impulses_of_a_rollout_are_those_of_its_steps() {
    let scene = shipped("planar_hand.yml", &[]);
    let (system, mode) = (&scene.system, Mode::Smooth { kappa: 1e-3 });
    let u = commands(&scene, 1e-2, &mut Random(5));
    let start = (&scene.start.q[..], &scene.start.v[..]);
    let mode_of_run = RunMode { mode, contacts: false, impulses: true };
    let rolled = roll(&scene, start, &u, &[], mode_of_run, 1);
    let outcome = &rolled.outcomes[0];
    assert_eq!(outcome.impulses.len(), STEPS);
    let (n_q, n_u) = (start.0.len(), system.n_cmd());
    let mut state = scene.start.clone();
    for (k, ours) in outcome.impulses.iter().enumerate() {
        let input = StepInput { q_cmd: u[k * n_u..(k + 1) * n_u].to_vec(), ..StepInput::default() };
        let mut d = system.create_derivatives();
        system.differentiate(&state, &input, &scene.params, mode, &mut d).unwrap();
        let mut own = ContactImpulses::default();
        d.contact_impulses(system, &mut own).unwrap();
        assert!(own.contacts.len() > 1 && own.impulses.iter().any(|z| z.abs() > 1e-6));
        for (ours, own) in [
            (&ours.impulses, &own.impulses),
            (&ours.by_q, &own.by_q),
            (&ours.by_q_cmd, &own.by_q_cmd),
        ] {
            let size = own.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            let off = own.iter().zip(ours).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(ours.len() == own.len() && off < 1e-6 * size, "{k} {off} of {size}");
        }
        state.q.copy_from_slice(&rolled.q[k * n_q..(k + 1) * n_q]);
    }
}

/// A relaxed rollout starts each step from the last one, and ends where steps that start afresh do.
#[test]
fn warm_and_cold_relaxed_steps_agree() {
    for (name, kappa) in
        [("planar_push.yml", 1e-3), ("pinch.yml", 1e-5), ("ball_in_hand.yml", 1e-4)]
    {
        let scene = shipped(name, &[]);
        let random = &mut Random(11);
        let u = commands(&scene, 1e-3, random);
        let start = (&scene.start.q[..], &scene.start.v[..]);
        let ours = roll(&scene, start, &u, &[], Mode::Smooth { kappa }, 1);
        assert_eq!(ours.outcomes[0].error, None, "{name}");
        let mut own = scene.system.create_derivatives();
        own.set_warm_start(false);
        let mut state = scene.start.clone();
        let n_cmd = scene.system.n_cmd();
        for k in 0..STEPS {
            let q_cmd = u[k * n_cmd..(k + 1) * n_cmd].to_vec();
            let input = StepInput { q_cmd, ..StepInput::default() };
            let mode = Mode::Smooth { kappa };
            scene.system.differentiate(&state, &input, &scene.params, mode, &mut own).unwrap();
            state.q.copy_from_slice(own.q_next());
            let of = &ours.q[k * state.q.len()..(k + 1) * state.q.len()];
            let off = of.iter().zip(&state.q).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-9, "{name}, step {k}: {off}");
        }
    }
}

/// A ball that is pushed at a thin plate stops before it in small steps. In steps longer than the
/// margin the relaxed ball goes through, and the rollout says where.
#[test]
fn a_relaxed_rollout_that_tunnels_says_so() {
    let scene = |margin: &str| {
        read(&format!(
            "gravity: [0, 0, 0]
step: {{size: 0.1, friction: convex, contact_margin: {margin}}}
models:
  ball: {{joint: [{{slide: x, axis: [1, 0, 0], stiffness: 100}}], mass: 1, shape: {{sphere: {{radius: 0.05}}}}}}
  plate: {{joint: fixed, pose: {{xyz: [0.3, 0, 0]}}, shape: {{box: {{size: [0.01, 1, 1]}}}}}}
friction: {{default: 0.3}}
"
        ))
    };
    for (margin, through) in [("0.01", true), ("0.5", false)] {
        let scene = scene(margin);
        let u: Vec<f64> = (1..=STEPS).map(|k| 0.4 * k as f64).collect();
        let ours = roll(&scene, (&[0.0], &[]), &u, &[], Mode::Smooth { kappa: 1e-6 }, 1);
        assert_eq!(ours.outcomes[0].error, None);
        let end = ours.q[STEPS - 1];
        let found = ours.outcomes[0].overlap;
        if through {
            let found = found.expect("the ball goes through the plate");
            assert!(end > 0.35, "{end}");
            assert_eq!((found.step, found.geoms), (0, [0, 1]));
            assert!(found.phi < -1e-4 && found.share > 0.0, "{found:?}");
        } else {
            assert!(found.is_none() && end < 0.245, "{end}, {found:?}");
        }
        // the step itself stops at the plate, whatever the margin
        let exact = roll(&scene, (&[0.0], &[]), &u, &[], Mode::Exact, 1);
        assert!((exact.q[STEPS - 1] - 0.245).abs() < 1e-6, "{:?}", exact.q);
    }
}
