//! Batches: samples are independent of one another.

use crate::common::{World, ball, slide, spring};
use quasistep::{
    BatchInput, BatchKeep, Inertia, Mode, Relaxation, RunDerivatives, SampleError, SampleOutcome,
    State, StepError, StepInput, StepParams, System, Variant, Wrench,
};
use quasistep_math::Vec3;
use quasistep_model::{JointKind, WORLD};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A ball on a floor and a finger that pushes it.
fn push() -> System {
    let mut world = World::new();
    world.floor(0.5);
    let finger = world.body("finger", WORLD, slide(Vec3::X), 0.0, spring(100.0));
    world.shape(finger, ball(0.02), [-0.15, 0.0, 0.1], 0.3);
    let body = world.body("ball", WORLD, JointKind::Free, 1.0, quasistep::Role::Passive);
    world.shape(body, ball(0.1), [0.0; 3], 0.5);
    world.build()
}

fn params() -> StepParams {
    StepParams {
        time_step: 0.05,
        inertia: Inertia::Mass,
        relaxation: Relaxation::Step,
        ..StepParams::default()
    }
}

const N: usize = 9;
const T: usize = 5;

/// Start configurations and commands that differ between samples.
fn samples(system: &System) -> (Vec<f64>, Vec<f64>) {
    let mut q = Vec::new();
    let mut q_cmd = Vec::new();
    for i in 0..N {
        let mut own = system.model().neutral_q();
        own[0] = -0.01 * i as f64;
        own[7] = 0.1;
        q.extend(own);
        q_cmd.extend((0..T).map(|k| 0.02 * (k + 1) as f64 + 0.003 * i as f64));
    }
    (q, q_cmd)
}

fn told<'a>(q: &'a [f64], q_cmd: &'a [f64]) -> BatchInput<'a> {
    BatchInput { n_samples: N, n_steps: T, q, q_cmd, ..BatchInput::default() }
}

fn roll_out(
    input: &BatchInput<'_>,
    system: &System,
    n_threads: usize,
    rows: usize,
) -> (Vec<f64>, Vec<SampleOutcome>) {
    let mut out = vec![0.0; input.n_samples * rows * system.model().n_q()];
    let keep = BatchKeep { report: true, warm: true };
    let outcomes = system.step_batch(input, &params(), keep, n_threads, &mut out, None).unwrap();
    (out, outcomes)
}

#[test]
fn a_sample_has_the_bits_of_a_run_of_its_own() {
    let system = push();
    let (q, q_cmd) = samples(&system);
    let wrench = Wrench { body: 2, p_B: Vec3::ZERO, force_W: Vec3::Y, torque_W: Vec3::ZERO };
    let wrenches = vec![vec![wrench]; T];
    let input = BatchInput {
        n_samples: N,
        n_steps: T,
        q: &q,
        q_cmd: &q_cmd,
        wrenches: &wrenches,
        ..BatchInput::default()
    };
    let n_q = system.model().n_q();
    for n_threads in [1, 2, 5, 64] {
        let (rows, outcomes) = roll_out(&input, &system, n_threads, T);
        let (last, _) = roll_out(&input, &system, n_threads, 1);
        for i in 0..N {
            let mut work = system.create_workspace();
            let mut state = State::at_rest(0.0, q[i * n_q..(i + 1) * n_q].to_vec());
            for k in 0..T {
                let q_cmd = vec![q_cmd[i * T + k]];
                let wrenches = wrenches[k].clone();
                let step = StepInput { q_cmd, wrenches, ..StepInput::default() };
                system.step_with(&mut state, &step, &params(), &mut work).unwrap();
                assert_eq!(state.q, rows[(i * T + k) * n_q..(i * T + k + 1) * n_q]);
            }
            assert_eq!(state.q, last[i * n_q..(i + 1) * n_q]);
            let report = outcomes[i].report.as_ref().unwrap();
            assert!(outcomes[i].error.is_none() && outcomes[i].n_steps == T);
            assert_eq!(report.effort.len(), 1);
            assert_eq!(outcomes[i].warm, work.warm_start());
        }
    }
}

/// Loads of their own: wrenches and generalised forces of each step of each sample, in batches of steps
/// and of derivatives of runs.
#[test]
fn samples_have_loads_of_their_own() {
    let system = push();
    let (q, q_cmd) = samples(&system);
    let (n_q, n_v) = (system.model().n_q(), system.model().n_v());
    let pull = |k: usize| Wrench {
        body: 2,
        p_B: Vec3::ZERO,
        force_W: Vec3::Y * (0.1 * k as f64),
        torque_W: Vec3::ZERO,
    };
    let wrenches: Vec<_> = (0..N * T).map(|k| vec![pull(k); k % 3]).collect();
    let tau: Vec<f64> = (0..N * T * n_v).map(|k| 0.01 * (k as f64).sin()).collect();
    let input = BatchInput { wrenches: &wrenches, tau: &tau, ..told(&q, &q_cmd) };
    let (rows, _) = roll_out(&input, &system, 3, T);
    for i in 0..N {
        let own = i * T..(i + 1) * T;
        let alone = BatchInput {
            n_samples: 1,
            q: &q[i * n_q..(i + 1) * n_q],
            q_cmd: &q_cmd[own.clone()],
            wrenches: &wrenches[own.clone()],
            tau: &tau[own.start * n_v..own.end * n_v],
            ..input.clone()
        };
        let (row, _) = roll_out(&alone, &system, 1, T);
        assert_eq!(row, rows[own.start * n_q..own.end * n_q]);
    }
    let (shared, _) =
        roll_out(&BatchInput { tau: &tau[..T * n_v], ..input.clone() }, &system, 1, T);
    assert!(shared[..T * n_q] == rows[..T * n_q] && shared[T * n_q..] != rows[T * n_q..]);

    let mut along = vec![0.0; rows.len()];
    let out = RunDerivatives { q: &mut along, by: &mut [], matrices: None };
    system.run_derivatives(&input, &[], &params(), Mode::Exact.into(), 2, out).unwrap();
    for (along, row) in along.iter().zip(&rows) {
        assert!((along - row).abs() < 1e-9, "{along} {row}");
    }

    let refused = |input: BatchInput<'_>| {
        let mut out = vec![0.0; rows.len()];
        let keep = BatchKeep::default();
        system.step_batch(&input, &params(), keep, 2, &mut out, None).unwrap_err()
    };
    let short = refused(BatchInput { wrenches: &wrenches[1..], ..input.clone() });
    assert_eq!(short, StepError::Length { what: "wrenches", got: N * T - 1, want: N * T });
    let short = refused(BatchInput { tau: &tau[1..], ..input.clone() });
    assert_eq!(short, StepError::Length { what: "tau", got: N * T * n_v - 1, want: N * T * n_v });
}

#[test]
fn one_row_stands_for_all_samples() {
    let system = push();
    let (q, q_cmd) = samples(&system);
    let n_q = system.model().n_q();
    let one = BatchInput {
        n_samples: 3,
        n_steps: T,
        q: &q[..n_q],
        q_cmd: &q_cmd[..T],
        ..BatchInput::default()
    };
    let (rows, _) = roll_out(&one, &system, 2, T);
    assert_eq!(rows[..T * n_q], rows[T * n_q..2 * T * n_q]);
    assert_eq!(rows[..T * n_q], rows[2 * T * n_q..]);
}

#[test]
fn a_failing_sample_is_marked_alone() {
    let system = push();
    let (q, mut q_cmd) = samples(&system);
    let (good, _) = roll_out(&told(&q, &q_cmd), &system, 2, T);
    q_cmd[4 * T + 2] = f64::NAN;
    let (rows, outcomes) = roll_out(&told(&q, &q_cmd), &system, 2, T);
    let width = T * system.model().n_q();
    for i in 0..N {
        let failed = outcomes[i].error.is_some();
        assert_eq!(failed, i == 4);
        if !failed {
            assert_eq!(rows[i * width..(i + 1) * width], good[i * width..(i + 1) * width]);
        }
    }
    assert!(matches!(
        &outcomes[4].error,
        Some(SampleError::Step(StepError::Value { what, .. })) if what == "q_cmd"
    ));
    assert_eq!(outcomes[4].n_steps, 2);
    let own = &rows[4 * width..5 * width];
    let kept = 2 * system.model().n_q();
    assert_eq!(own[..kept], good[4 * width..4 * width + kept]);
    assert!(own[kept..].iter().all(|x| x.is_nan()));
    // if only final rows are returned, a failed rollout must return NaN
    let (last, _) = roll_out(&told(&q, &q_cmd), &system, 2, 1);
    let n_q = system.model().n_q();
    assert!(last[4 * n_q..5 * n_q].iter().all(|x| x.is_nan()));
}

#[test]
fn warm_samples_go_on_with_the_bits_of_the_run() {
    let system = push();
    let (q, q_cmd) = samples(&system);
    let whole = told(&q, &q_cmd);
    let (expected, _) = roll_out(&whole, &system, 2, 1);
    let part = |from: usize, to: usize| -> Vec<f64> {
        (0..N).flat_map(|i| q_cmd[i * T + from..i * T + to].to_vec()).collect()
    };
    let (head, tail) = (part(0, 2), part(2, T));
    let first = BatchInput { n_steps: 2, q_cmd: &head, ..whole.clone() };
    let (middle, outcomes) = roll_out(&first, &system, 1, 1);
    let warm: Vec<_> = outcomes.into_iter().map(|o| o.warm).collect();
    let time = 2.0 * params().time_step;
    let second =
        BatchInput { n_steps: T - 2, time, q: &middle, q_cmd: &tail, warm: &warm, ..whole.clone() };
    assert_eq!(roll_out(&second, &system, 3, 1).0, expected);
}

#[test]
fn lengths_are_checked_before_anything_moves() {
    let system = push();
    let (q, q_cmd) = samples(&system);
    let input = told(&q, &q_cmd);
    let mut out = vec![0.0; N * T * system.model().n_q()];
    let run = |input: &BatchInput<'_>, out: &mut [f64]| {
        system.step_batch(input, &params(), BatchKeep::default(), 2, out, None).unwrap_err()
    };
    let short = run(&BatchInput { q: &q[1..], ..input.clone() }, &mut out);
    assert_eq!(short.to_string(), "`q` has 71 entries; this system has 72");
    let short = run(&BatchInput { q_cmd: &q_cmd[1..], ..input.clone() }, &mut out);
    assert!(matches!(short, StepError::Length { what: "q_cmd", got: 44, want: 45 }));
    assert!(matches!(run(&input, &mut out[1..]), StepError::Length { what: "q_out", .. }));
    let bad = StepParams { time_step: 0.0, ..params() };
    let keep = BatchKeep::default();
    assert!(matches!(
        system.step_batch(&input, &bad, keep, 2, &mut out, None),
        Err(StepError::Params(_))
    ));
}

#[test]
fn an_observer_sees_the_end() {
    let system = push();
    let (q, q_cmd) = samples(&system);
    let input = told(&q, &q_cmd);
    let mut out = vec![0.0; N * system.model().n_q()];
    let mut last = 0;
    let mut look = |done| {
        last = done;
        ControlFlow::Continue(())
    };
    let keep = BatchKeep::default();
    system.step_batch(&input, &params(), keep, 2, &mut out, Some(&mut look)).unwrap();
    assert_eq!(last, N);
    assert!(out.iter().all(|x| x.is_finite()));
}

/// A batch that takes seconds is stopped after a tenth; samples that did not begin are marked.
#[test]
fn an_observer_can_stop() {
    let system = push();
    let (q, q_cmd) = samples(&system);
    let n_q = system.model().n_q();
    let n_samples = 100_000;
    let input = BatchInput { n_samples, q: &q[..n_q], q_cmd: &q_cmd[..T], ..told(&q, &q_cmd) };
    let mut out = vec![0.0; n_samples * n_q];
    let mut look = |_| ControlFlow::Break(());
    let outcomes = system
        .step_batch(&input, &params(), BatchKeep::default(), 2, &mut out, Some(&mut look))
        .unwrap();
    let stopped = |o: &SampleOutcome| o.error == Some(SampleError::Stopped);
    assert!(outcomes.iter().any(stopped));
    for (outcome, row) in outcomes.iter().zip(out.chunks(n_q)) {
        assert_eq!(outcome.n_steps, if stopped(outcome) { 0 } else { T });
        assert_eq!(row[0].is_nan(), stopped(outcome));
    }
}

#[test]
fn an_empty_batch_and_a_batch_without_steps_are_no_mistake() {
    let system = push();
    let (q, _) = samples(&system);
    let keep = BatchKeep::default();
    let none = BatchInput { n_samples: 0, n_steps: T, ..BatchInput::default() };
    assert!(system.step_batch(&none, &params(), keep, 2, &mut [], None).unwrap().is_empty());
    let still = BatchInput { n_samples: N, n_steps: 0, q: &q, ..BatchInput::default() };
    let outcomes = system.step_batch(&still, &params(), keep, 2, &mut [], None).unwrap();
    assert!(outcomes.iter().all(|o| o.n_steps == 0 && o.error.is_none()));
}

#[test]
fn samples_may_live_in_systems_of_their_own() {
    let shared = push();
    let (q, q_cmd) = samples(&shared);
    let keep = BatchKeep { report: true, warm: true };
    let input = told(&q, &q_cmd);
    let own_params = |i: usize| StepParams { time_step: 0.02 + 0.01 * i as f64, ..params() };
    let make = |i: usize| match i {
        4 => Err(SampleError::Variant("no such system".into())),
        5 => {
            let mut world = World::new();
            world.floor(0.5);
            Ok(Variant {
                system: Arc::new(world.build()),
                params: params(),
                wrenches: Vec::new(),
                tau: Vec::new(),
            })
        }
        _ => {
            let wrenches = Vec::new();
            Ok(Variant {
                system: Arc::new(push()),
                params: own_params(i),
                wrenches,
                tau: Vec::new(),
            })
        }
    };
    let width = T * shared.model().n_q();
    let mut reference: Option<Vec<f64>> = None;
    for n_threads in [1, 3] {
        let mut out = vec![0.0; N * width];
        let outcomes =
            shared.step_varied_batch(&input, &make, keep, n_threads, &mut out, None).unwrap();
        for (i, outcome) in outcomes.iter().enumerate() {
            let rows = &out[i * width..(i + 1) * width];
            if let 4 | 5 = i {
                assert!(matches!(outcome.error, Some(SampleError::Variant(_))));
                assert!(rows.iter().all(|v| v.is_nan()) && outcome.n_steps == 0);
                continue;
            }
            let alone = BatchInput {
                n_samples: 1,
                q: &q[i * shared.model().n_q()..(i + 1) * shared.model().n_q()],
                q_cmd: &q_cmd[i * T..(i + 1) * T],
                ..input.clone()
            };
            let mut own = vec![0.0; width];
            shared.step_batch(&alone, &own_params(i), keep, 1, &mut own, None).unwrap();
            assert_eq!(rows, own);
        }
        let finite: Vec<f64> = out.into_iter().filter(|v| !v.is_nan()).collect();
        match &reference {
            None => reference = Some(finite),
            Some(reference) => assert_eq!(&finite, reference),
        }
    }
}
