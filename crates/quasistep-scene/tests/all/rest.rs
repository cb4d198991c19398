//! Bodies at rest cost nothing: runs in which bodies may rest have the bits of runs that compute
//! everything.

use crate::common::parse_with;
use quasistep::{Certificate, ContactReport, State, StepInput, WarmRow, Wrench};
use quasistep_math::Vec3;
use quasistep_scene::{RunOptions, Scene};
use std::fmt::Write;
use std::ops::ControlFlow;

/// Pairs of boxes on a table, one on the other, in `rows` rows of four. A finger goes along x from
/// 0.1 m before the first row, and pushes the lower boxes of the first file.
fn stacks(rows: usize, step: &str) -> Scene {
    let mut text = format!(
        "\
format: 1
step: {{size: 0.02, duration: 3, {step}}}
models:
  table: {{joint: fixed, friction: 0.5, shape: {{half_space: {{}}}}}}
  finger:
    joint: [{{slide: x, axis: [1, 0, 0], stiffness: 800, start: -0.1}}]
    pose: {{xyz: [0, 0, 0.025]}}
    gravity: false
    friction: 0.2
    shape: {{sphere: {{radius: 0.01}}}}
collisions: {{exclude: [[finger/*, table/*]]}}
commands:
  - {{joint: finger.x, expr: \"-0.1 + 0.1*min(t, 2)\"}}
"
    );
    let mut models = String::new();
    for k in 0..8 * rows {
        let (x, y, z) =
            (0.15 * (k / 8) as f64, 0.2 * (k % 4) as f64, 0.025 + 0.05 * (k / 4 % 2) as f64);
        writeln!(
            models,
            "  box{k}: {{pose: {{xyz: [{x}, {y}, {z}]}}, mass: 0.2, friction: 0.5, shape: {{box: {{size: [0.05, 0.05, 0.05]}}}}}}"
        )
        .unwrap();
    }
    text.insert_str(text.find("collisions").unwrap(), &models);
    parse_with(&text, &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// What a step leaves, without its counts.
#[derive(Debug, PartialEq)]
struct After {
    state: State,
    v: Vec<f64>,
    effort: Vec<f64>,
    contacts: Vec<ContactReport>,
    rows: Vec<WarmRow>,
    certificate: Certificate,
}

/// All steps of a run, each with the number of rows that it solved.
fn steps(scene: &Scene, rest: bool) -> Vec<(After, usize)> {
    let (system, mut state) = (&scene.system, scene.start.clone());
    if scene.params.formulation.carries_velocity() {
        state.v.resize(system.model().n_v(), 0.0);
    }
    let mut work = system.create_workspace();
    work.set_rest(rest);
    let mut input = StepInput::default();
    let mut all = Vec::new();
    for k in 1..=scene.n_steps() {
        scene.sample(k as f64 * scene.params.time_step, &mut input);
        let report = system.step_with(&mut state, &input, &scene.params, &mut work);
        let report = report.unwrap_or_else(|e| panic!("step {k}: {e}")).clone();
        let after = After {
            state: state.clone(),
            v: report.v,
            effort: report.effort,
            contacts: report.contacts,
            rows: work.warm_start().rows,
            certificate: report.certificate,
        };
        all.push((after, report.n_rows));
    }
    all
}

#[track_caller]
fn assert_same_bits(scene: &Scene) -> Vec<usize> {
    let [resting, all] = [true, false].map(|rest| steps(scene, rest));
    for (k, ((a, _), (b, _))) in resting.iter().zip(&all).enumerate() {
        for (n, x, y) in [("q", &a.state.q, &b.state.q), ("state v", &a.state.v, &b.state.v)] {
            let off = x.iter().zip(y).enumerate().find(|(_, (x, y))| x != y);
            assert_eq!(off, None, "{n} after step {}", k + 1);
        }
        assert_eq!(a.contacts.len(), b.contacts.len(), "contacts of step {}", k + 1);
        for (c, d) in a.contacts.iter().zip(&b.contacts) {
            assert_eq!(c, d, "step {}", k + 1);
        }
        for (n, x, y) in [("v", &a.v, &b.v), ("effort", &a.effort, &b.effort)] {
            let off = x.iter().zip(y).enumerate().find(|(_, (x, y))| x != y);
            assert_eq!(off, None, "{n} after step {}", k + 1);
        }
        let off = a.rows.iter().zip(&b.rows).find(|(x, y)| x != y);
        assert_eq!(off, None, "rows after step {}", k + 1);
        assert_eq!(a, b, "step {}", k + 1);
    }
    let rows = resting.iter().zip(&all).map(|(a, b)| (a.1, b.1));
    rows.map(|(own, whole)| 100 * own / whole).collect()
}

#[test]
fn bodies_at_rest_are_left_out_with_exact_friction() {
    for step in
        ["cone: round", "cone: 4", "motion: dynamic", "inertia: none", "integration: midpoint"]
    {
        let shares = assert_same_bits(&stacks(3, step));
        // before the finger arrives all boxes rest, then those that it does not touch
        assert!(shares[4..20].iter().all(|share| *share < 1), "{step}: {shares:?}");
        assert!(shares[30..70].iter().all(|share| *share < 15), "{step}: {shares:?}");
        assert!(shares[80..100].iter().all(|share| (1..35).contains(share)), "{step}: {shares:?}");
    }
}

/// The solver of convex programs chooses its method by the size of the program, so a run without
/// rest has other last digits. Bodies at rest keep their bits.
#[test]
fn bodies_at_rest_are_left_out_with_convex_friction() {
    for step in ["cone: round", "cone: 4", "motion: dynamic"] {
        let scene = stacks(3, &format!("friction: convex, {step}"));
        let [resting, all] = [true, false].map(|rest| steps(&scene, rest));
        // the boxes that the finger does not come near
        let far = scene.system.model().body_by_name("box1/box1").expect("it exists");
        let at = scene.system.model().body(far).q.clone();
        for (k, (a, b)) in resting.iter().zip(&all).enumerate() {
            let close = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-9;
            let (p, q) = (&a.0.state.q, &b.0.state.q);
            assert!(p.iter().zip(q).all(close), "{step}: step {}: {p:?} {q:?}", k + 1);
            if k > 8 {
                let before = &resting[8].0.state.q[at.clone()];
                assert_eq!(&p[at.clone()], before, "{step}: step {}", k + 1);
            }
            if (30..70).contains(&k) {
                assert!(a.1 * 5 < b.1, "{step}: {} of {} rows in step {}", a.1, b.1, k + 1);
            }
        }
    }
}

/// What changes a body at rest wakes it: a load, gravity, a pose set by hand, another body that
/// falls on it from far away within one step.
#[test]
fn bodies_at_rest_wake_by_any_change() {
    let scene = stacks(1, "cone: round");
    let system = &scene.system;
    let box3 = system.model().body_by_name("box3/box3").expect("it exists");
    let wrench = |x: f64| Wrench {
        body: box3,
        p_B: Vec3::ZERO,
        force_W: Vec3::new(x, 0.0, 0.0),
        torque_W: Vec3::ZERO,
    };
    let mut ends = Vec::new();
    for rest in [true, false] {
        let mut work = system.create_workspace();
        work.set_rest(rest);
        let (mut state, mut input) = (scene.start.clone(), StepInput::default());
        let mut params = scene.params.clone();
        let mut all = Vec::new();
        for k in 0..60 {
            scene.sample(0.0, &mut input);
            let at = system.model().body(box3).q.clone();
            match k {
                // half of the friction of 0.2 kg, then twice that
                10..20 => input.wrenches.push(wrench(0.5)),
                20..25 => input.wrenches.push(wrench(2.0)),
                35 => state.q[at.end - 3] += 0.01,
                45 => params.gravity = [0.0, 2.0, -9.81],
                _ => {}
            }
            let report = system.step_with(&mut state, &input, &params, &mut work);
            let report = report.unwrap_or_else(|e| panic!("step {k}: {e}"));
            all.push((state.clone(), report.contacts.clone(), report.n_rows));
        }
        let checkpoint = work.warm_start();
        ends.push((all, checkpoint));
    }
    let [(resting, warm), (all, warm_of_all)] = &ends[..] else { panic!("two runs") };
    for (k, (a, b)) in resting.iter().zip(all).enumerate() {
        assert_eq!((&a.0, &a.1), (&b.0, &b.1), "step {k}");
    }
    assert_eq!(warm, warm_of_all);
    let rows = |k: usize| resting[k].2;
    assert_eq!([rows(8), rows(18), rows(33), rows(58)], [0; 4]);
    assert!([10, 22, 36, 45].map(rows).iter().all(|rows| *rows > 0), "they wake");
    let x = system.model().body(box3).q.end - 3;
    assert!(resting[24].0.q[x] > resting[19].0.q[x] + 1e-3, "it was pushed");
}

/// A run that goes on from a checkpoint while bodies rest has the bits of one that does not stop.
/// A gripper holds a box in the air at rest, and a pad at the ceiling another one. Boxes on a table rest
/// meanwhile. As the vacuum fades, what each holds falls.
#[test]
fn bodies_that_pads_hold_wake_as_the_pull_changes() {
    for step in ["cone: round", "friction: convex", "motion: dynamic"] {
        let mut text = format!(
            "\
format: 1
step: {{size: 0.02, duration: 3, {step}}}
models:
  table: {{joint: fixed, friction: 0.5, shape: {{half_space: {{}}}}}}
  ceiling: {{joint: fixed, pose: {{xyz: [-0.5, 0, 0.31]}}, shape: {{box: {{size: [0.3, 0.1, 0.02]}}}}}}
  gripper:
    joint: [{{slide: z, axis: [0, 0, 1], stiffness: 2000}}]
    pose: {{xyz: [0, 0, 0.31]}}
    gravity: false
    shape: {{box: {{size: [0.04, 0.04, 0.02]}}}}
  a: {{pose: {{xyz: [0, 0, 0.275]}}, mass: 0.2, shape: {{box: {{size: [0.05, 0.05, 0.05]}}}}}}
  b: {{pose: {{xyz: [-0.45, 0, 0.275]}}, mass: 0.2, shape: {{box: {{size: [0.05, 0.05, 0.05]}}}}}}
  c: {{pose: {{xyz: [-0.55, 0, 0.275]}}, mass: 0.2, shape: {{box: {{size: [0.05, 0.05, 0.05]}}}}}}
"
        );
        for k in 0..6 {
            writeln!(
                text,
                "  d{k}: {{pose: {{xyz: [{}, 1, 0.025]}}, mass: 0.2, shape: {{box: {{size: [0.05, 0.05, 0.05]}}}}}}",
                0.2 * f64::from(k)
            )
            .unwrap();
        }
        text.push_str(
            "adhesion:
  cup: {body: gripper, pull: 4}
  magnet: {body: ceiling, pull: 8}
commands:
  - {pad: cup, linear: {t: [1, 2], values: [1, 0.2]}}
  - {pad: magnet, linear: {t: [1.5, 2.5], values: [1, 0.2]}}
",
        );
        let scene = parse_with(&text, &[]).unwrap_or_else(|e| panic!("{e}"));
        let shares = assert_same_bits(&scene);
        assert!(shares[20..48].iter().all(|share| *share < 60), "{step}: {shares:?}");
        assert!(shares[60..70].iter().all(|share| *share < 80), "{step}: {shares:?}");
        let all = steps(&scene, true);
        let height = |k: usize, body: &str| {
            let model = scene.system.model();
            model.pose(&all[k].0.state.q, model.body_by_name(body).unwrap()).translation.z
        };
        for body in ["a/a", "b/b", "c/c"] {
            assert!(height(60, body) > 0.27, "{step}: {body} {}", height(60, body));
            assert!(height(149, body) < 0.03, "{step}: {body} {}", height(149, body));
        }
    }
}

#[test]
fn runs_go_on_from_bodies_at_rest() {
    let scene = stacks(2, "cone: round");
    let (whole, _) =
        scene.run_frames(&RunOptions::default(), None, &mut |_, _| ControlFlow::Continue(()));
    let first = RunOptions { n_steps: Some(40), ..RunOptions::default() };
    let (half, _) = scene.run_frames(&first, None, &mut |_, _| ControlFlow::Continue(()));
    let rest = RunOptions {
        start: Some(half.state),
        warm: Some(&half.warm),
        n_steps: Some(scene.n_steps() - 40),
        ..RunOptions::default()
    };
    let (end, _) = scene.run_frames(&rest, None, &mut |_, _| ControlFlow::Continue(()));
    assert_eq!(end, whole);
}
