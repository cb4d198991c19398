//! Constraints with a switch: what is attached is carried, what is released falls.

use crate::common::{Folder, complaint, everywhere, frames, parse, parse_with, place};
use quasistep::{
    Attached, BatchDerivatives, BatchInput, Derivatives, DifferentiateBatch, InputChange, Mode,
    OutputChange, RunDerivatives, State, StepError, StepInput, Tally, Turn,
};
use quasistep_record::Frame;
use quasistep_scene::{RunOptions, Scene};
use std::ops::ControlFlow;

fn at(frames: &[Frame], t: f64) -> &Frame {
    frames.iter().find(|frame| frame.t > t - 1e-9).expect("the run goes on until then")
}

/// A wrist that is moved as told takes a tool of 0.5 kg from the table at 0.2 s, carries it up, to the
/// side and down, and lets go of it 5 mm above the table at 0.8 s. `scale` multiplies lengths, and
/// forces with them.
fn tool(scale: f64) -> String {
    let [wide, thick, tool, margin, overlap] = [0.04, 0.02, 0.06, 0.02, 0.001].map(|x| scale * x);
    let [wrist_z, tool_z, up, low, side] = [0.071, 0.03, 0.05, 0.005, 0.1].map(|x| scale * x);
    let [g, speed] = [-9.81 * scale, 0.1 * scale];
    format!(
        "\
format: 1
gravity: [0, 0, {g}]
step: {{duration: 1.2, contact_margin: {margin}, max_overlap: {overlap}, max_recovery_speed: {speed}}}
models:
  table: {{joint: fixed, friction: 0.5, shape: {{half_space: {{}}}}}}
  wrist:
    joint: [{{slide: x, axis: [1, 0, 0], role: prescribed}}, {{slide: z, axis: [0, 0, 1], role: prescribed}}]
    pose: {{xyz: [0, 0, {wrist_z}]}}
    shape: {{box: {{size: [{wide}, {wide}, {thick}]}}}}
  tool: {{mass: 0.5, friction: 0.5, pose: {{xyz: [0, 0, {tool_z}]}}, shape: {{box: {{size: [{tool}, {tool}, {tool}]}}}}}}
constraints:
  - {{weld: [wrist, tool], name: grip, switch: [0.2, 0.8]}}
commands:
  - {{joint: wrist.z, linear: {{t: [0.2, 0.4, 0.6, 0.7], values: [0, {up}, {up}, {low}]}}}}
  - {{joint: wrist.x, linear: {{t: [0.4, 0.6], values: [0, {side}]}}}}
"
    )
}

/// The wrist feels 4.905 N of tool while it carries it, and nothing before and after; the tool keeps
/// its place at the wrist, and lies on the table in the end.
#[test]
fn a_tool_is_attached_carried_and_released() {
    for scale in [1.0, 1000.0, 0.001] {
        for changes in everywhere() {
            let scene = parse(&tool(scale), &changes);
            let all = frames(&scene);
            let weight = 0.5 * 9.81 * scale;
            let told = |what: &str| format!("{scale} {changes:?}: {what}");
            let (before, first) =
                (at(&all, 0.2), &all[all.iter().position(|f| f.t > 0.2 + 1e-9).unwrap()]);
            assert_eq!(before.effort[2], 0.0, "{}", told("off up to 0.2 s"));
            let jump = (0..3).map(|k| {
                place(&scene, before, "tool/tool")[k] - place(&scene, &all[0], "tool/tool")[k]
            });
            assert!(jump.map(f64::abs).fold(0.0, f64::max) < 1e-9 * scale, "{}", told("no jump"));
            assert!(before.q_cmd[2] == 0.0 && first.q_cmd[2] == 1.0);
            // it goes to the side, at one height
            let carried = at(&all, 0.6);
            assert!(
                (carried.effort[1] - weight).abs() < 1e-6 * scale,
                "{}: {} N",
                told("wrist"),
                carried.effort[1]
            );
            // the drag of the way to the side is no part of the weight
            let held = carried.effort[2];
            assert!(
                held >= weight - 1e-6 * scale && held < 1.01 * weight,
                "{}: {held} N",
                told("grip")
            );
            for frame in all.iter().filter(|frame| frame.t > 0.2 && frame.t < 0.8 + 1e-9) {
                let [a, b] = ["wrist/wrist", "tool/tool"].map(|body| place(&scene, frame, body));
                let off = [a[0] - b[0], a[1] - b[1], a[2] - b[2] - 0.041 * scale];
                assert!(off.iter().all(|x| x.abs() < 1e-9 * scale), "{}: {off:?}", told("held"));
            }
            let last = all.last().unwrap();
            let [x, _, z] = place(&scene, last, "tool/tool");
            assert!((x - 0.1 * scale).abs() < 1e-6 * scale, "{}: {x}", told("x"));
            assert!((z - 0.03 * scale).abs() < 1e-6 * scale, "{}: {z}", told("z"));
            let press: f64 = last.contacts.iter().map(|c| c.normal_force).sum();
            assert!((press - weight).abs() < 1e-5 * scale, "{}: {press} N", told("table"));
            assert!(last.effort[1].abs() < 1e-9 * scale && last.effort[2] == 0.0);
        }
    }
}

/// What is released is thrown with the speed it has, and falls freely: no energy comes with it.
#[test]
fn what_is_released_falls_freely() {
    let text = "\
format: 1
step: {motion: dynamic, duration: 0.4}
models:
  wrist:
    joint: [{slide: z, axis: [0, 0, 1], role: prescribed}]
    pose: {xyz: [0, 0, 1]}
    shape: {sphere: {radius: 0.01}}
  tool: {mass: 0.5, pose: {xyz: [0, 0.1, 0.95]}, shape: {sphere: {radius: 0.02}}}
constraints: [{weld: [wrist, tool], name: grip, switch: [0, 0.2]}]
commands: [{joint: wrist.z, expr: 0.5*t}]
";
    for law in ["exact", "convex"] {
        for (size, h) in [("0.1", 0.1_f64), ("0.01", 0.01), ("0.001", 0.001)] {
            let scene = parse(text, &[("step.friction", law), ("step.size", size)]);
            let all = frames(&scene);
            let z = |t: f64| place(&scene, at(&all, t), "tool/tool")[2];
            assert!((z(0.2) - 1.05).abs() < 1e-9, "{law} {h}: {}", z(0.2));
            let n = (0.2 / h).round();
            let want = z(0.2) + 0.5 * 0.2 - 9.81 * h * h * n * (n + 1.0) / 2.0;
            assert!((z(0.4) - want).abs() < 1e-8, "{law} {h}: {}, not {want}", z(0.4));
        }
    }
}

/// Two bodies that are welded at different speeds go on together with their momentum, 3/4 of 0.4 m/s.
#[test]
fn what_attaches_at_speed_keeps_the_momentum() {
    let text = "\
format: 1
gravity: [0, 0, 0]
step: {motion: dynamic, duration: 0.4}
models:
  cart: {mass: 3, start_velocity: {linear: [0.4, 0, 0]}, shape: {sphere: {radius: 0.1}}}
  load: {mass: 1, pose: {xyz: [0.5, 0, 0]}, shape: {sphere: {radius: 0.1}}}
constraints: [{weld: [cart, load], name: hook, switch: [0.2]}]
";
    for law in ["exact", "convex"] {
        for size in ["0.1", "0.01", "0.001"] {
            let scene = parse(text, &[("step.friction", law), ("step.size", size)]);
            let last = frames(&scene).pop().unwrap();
            let [a, b] = ["cart/cart", "load/load"].map(|body| place(&scene, &last, body)[0]);
            assert!(
                (a - 0.08 - 0.06).abs() < 1e-9 && (b - 0.56).abs() < 1e-9,
                "{law} {size}: {a} {b}"
            );
        }
    }
}

/// Without inertia nothing balances the weight of a tool that is let go of in the air.
#[test]
fn what_is_released_in_the_air_is_unsupported() {
    for changes in [("step.friction", "exact"), ("step.friction", "convex")] {
        let text = tool(1.0).replace("0.8]", "0.5]");
        let scene = parse(&text, &[changes, ("step.inertia", "none"), ("step.size", "0.01")]);
        let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
        let why = outcome.stopped.expect("it ends").to_string();
        assert!((outcome.state.time - 0.5).abs() < 1e-9, "{}: {why}", outcome.state.time);
        assert!(why.contains("tool"), "{why}");
    }
}

/// Two points that are tied together make a hinge: the door that is put there turns about the line
/// through them, by the torque over the drag or the inertia.
#[test]
fn a_hinge_is_assembled_on_the_go() {
    let text = "\
format: 1
gravity: [0, 0, 0]
step: {duration: 0.6}
models:
  frame: {joint: fixed, pose: {xyz: [0, 0, 1]}, shape: {box: {size: [0.02, 0.02, 1]}}}
  door: {mass: 2, pose: {xyz: [0.3, 0, 1]}, shape: {box: {size: [0.5, 0.03, 0.8]}}}
constraints:
  - {connect: [frame, door], at: [0, 0, 0.3], name: upper, switch: [0.2]}
  - {connect: [frame, door], at: [0, 0, -0.3], name: lower, switch: [0.2]}
wrenches: [{body: door, torque: [0, 0, \"0.05*step(t-0.205)\"]}]
";
    for changes in everywhere() {
        let scene = parse(text, &changes);
        let all = frames(&scene);
        let (start, last) = (&all[0], all.last().unwrap());
        let index = scene.system.model().body_by_name("door/door").unwrap();
        let turn = last.X_WB[index].rotation.to_rotation_vector();
        assert!(turn.z > 1e-3 && turn.x.abs() + turn.y.abs() < 1e-9, "{changes:?}: {turn:?}");
        // 0.3 m from the line all the time, up to the arc of the last step
        let h: f64 = changes[2].1.parse().unwrap();
        let arc = 0.3 * (2.0 * turn.z * h / 0.4).powi(2) + 1e-9;
        let [x, y, z] = place(&scene, last, "door/door");
        let off = [x - 0.3 * turn.z.cos(), y - 0.3 * turn.z.sin(), z - 1.0];
        assert!(off.iter().all(|d| d.abs() < arc), "{changes:?}: {off:?}, {}", turn.z);
        assert_eq!(place(&scene, at(&all, 0.2), "door/door"), place(&scene, start, "door/door"));
    }
}

/// A clutch: what two wheels have turned when it engages stays between them.
#[test]
fn a_clutch_holds_the_sum_that_it_finds() {
    let text = "\
format: 1
gravity: [0, 0, 0]
step: {duration: 0.4, size: 0.01}
models:
  motor: {joint: [{hinge: q, axis: [0, 0, 1], role: prescribed}]}
  wheel: {joint: [{hinge: q, axis: [0, 0, 1], damping: 0.1}]}
constraints: [{coupling: {motor.q: 1, wheel.q: -1}, name: clutch, switch: [0.2]}]
commands: [{joint: motor.q, expr: 2*t}]
";
    for motion in ["quasi_static", "dynamic"] {
        let scene = parse(
            text,
            &[
                ("step.motion", motion),
                ("models.wheel.mass", "1"),
                ("models.wheel.inertia", "[1, 1, 0.01]"),
            ],
        );
        let all = frames(&scene);
        let last = all.last().unwrap();
        assert!((last.q[0] - 0.8).abs() < 1e-12 && (last.q[1] - 0.4).abs() < 1e-9, "{:?}", last.q);
        assert_eq!(at(&all, 0.2).q[1], 0.0);
    }
}

/// Frames that are given are drawn together, at `max_recovery_speed` at the most.
#[test]
fn given_frames_are_drawn_together() {
    let text =
        tool(1.0).replace("name: grip,", "name: grip, frames: [[0, 0, -0.01], [0, 0, 0.02]],");
    let scene = parse(&text, &[("step.size", "0.01")]);
    let all = frames(&scene);
    let gap = |t: f64| {
        let [a, b] = ["wrist/wrist", "tool/tool"].map(|body| place(&scene, at(&all, t), body)[2]);
        a - b - 0.03
    };
    assert!((gap(0.2) - 0.011).abs() < 1e-9, "{}", gap(0.2));
    assert!((gap(0.3) - 0.001).abs() < 1e-6, "{}", gap(0.3));
    assert!(gap(0.5).abs() < 1e-9, "{}", gap(0.5));
}

/// A magnet takes what is within its reach: not at 1 s, when it is switched on 20 mm away, but when it
/// has come within 5 mm.
#[test]
fn a_magnet_attaches_within_its_reach() {
    let text = "\
format: 1
step: {duration: 2.5, size: 0.05}
models:
  table: {joint: fixed, shape: {half_space: {}}}
  magnet: {joint: [{slide: z, axis: [0, 0, 1], role: prescribed}], pose: {xyz: [0, 0, 0.09]}, shape: {box: {size: [0.02, 0.02, 0.02]}}}
  plate: {mass: 0.1, pose: {xyz: [0, 0, 0.03]}, shape: {box: {size: [0.06, 0.06, 0.06]}}}
constraints: [{weld: [magnet, plate], name: coil, switch: [0.5], within: 0.005}]
commands: [{joint: magnet.z, linear: {t: [1, 1.5, 2], values: [0, -0.016, 0.04]}}]
";
    for motion in ["quasi_static", "dynamic"] {
        let scene = parse(text, &[("step.motion", motion)]);
        let mut tally = Tally::default();
        let outcome = scene.run(None, &mut |step| {
            tally.push(step.report);
            ControlFlow::Continue(())
        });
        assert_eq!(outcome.stopped, None);
        let turns: Vec<_> = tally.turned().iter().map(|own| (own.turn, own.time)).collect();
        let [(Turn::Missed, missed), (Turn::Attached, found)] = turns.as_slice() else {
            panic!("{turns:?}")
        };
        assert!((missed - 0.5).abs() < 1e-9 && *found > 1.4 && *found <= 1.5, "{turns:?}");
        let last = outcome.recording.frames.last().unwrap();
        // the magnet rises from where it took the plate
        let rise = 0.04 + 0.016 * (found - 1.0) / 0.5;
        let z = place(&scene, last, "plate/plate")[2];
        assert!((z - 0.03 - rise).abs() < 1e-9, "{motion}: {z}");
        assert!((last.effort[1] - 0.981).abs() < 1e-6, "{motion}: {} N", last.effort[1]);
    }
}

/// A tool that is pressed on the table and on the wrist can be attached and released there.
#[test]
fn what_is_pressed_can_be_attached() {
    let text = tool(1.0)
        .replace(
            "{slide: z, axis: [0, 0, 1], role: prescribed}",
            "{slide: z, axis: [0, 0, 1], stiffness: 1000}",
        )
        .replace(
            "t: [0.2, 0.4, 0.6, 0.7], values: [0, 0.05, 0.05, 0.005]",
            "t: [0, 0.1, 0.8, 1], values: [0, -0.011, -0.011, 0.05]",
        )
        .replace("  - {joint: wrist.x, linear: {t: [0.4, 0.6], values: [0, 0.1]}}\n", "");
    for law in ["exact", "convex"] {
        let scene = parse(&text, &[("step.friction", law), ("step.size", "0.01")]);
        let all = frames(&scene);
        for t in [0.2, 0.5, 0.8] {
            let frame = at(&all, t);
            let press: f64 =
                frame.contacts.iter().filter(|c| c.a == 1).map(|c| c.normal_force).sum();
            assert!((press - 14.905).abs() < 1e-5, "{law} {t}: {press} N");
        }
        let z = place(&scene, all.last().unwrap(), "tool/tool")[2];
        assert!((z - 0.03).abs() < 1e-6, "{law}: {z}");
        // welded to the table, it stays there while the wrist rises
        let fixed = text
            .replace("weld: [wrist, tool]", "weld: [table, tool]")
            .replace("[0.2, 0.8]", "[0.2]");
        let scene = parse(&fixed, &[("step.friction", law), ("step.size", "0.01")]);
        let z = place(&scene, frames(&scene).last().unwrap(), "tool/tool")[2];
        assert!((z - 0.03).abs() < 1e-6, "{law}: {z}");
    }
}

/// A run that goes on from the middle, with what is attached there, has the bits of the whole run, and
/// the frames of runs are those of steps of all bodies.
#[test]
fn a_run_goes_on_with_what_is_attached() {
    for motion in ["quasi_static", "dynamic"] {
        let scene = parse(&tool(1.0), &[("step.motion", motion), ("step.size", "0.01")]);
        let whole = scene.run(None, &mut |_| ControlFlow::Continue(()));
        let half = RunOptions { duration: Some(0.5), ..RunOptions::default() };
        let first = scene.run_with(&half, None, &mut |_| ControlFlow::Continue(()));
        assert!(matches!(first.state.attached[..], [Some(Attached::Frame(_))]));
        let rest = RunOptions {
            start: Some(first.state.clone()),
            warm: Some(&first.warm),
            duration: Some(0.7),
            ..RunOptions::default()
        };
        let second = scene.run_with(&rest, None, &mut |_| ControlFlow::Continue(()));
        assert_eq!(second.state, whole.state, "{motion}");
        assert_eq!(second.recording.frames.last(), whole.recording.frames.last());

        let (mut state, mut work) = (scene.start.clone(), scene.system.create_workspace());
        let mut input = StepInput::default();
        for frame in &whole.recording.frames[1..] {
            scene.sample(quasistep::end_of_step(state.time, 0.01), &mut input);
            scene.system.step_with(&mut state, &input, &scene.params, &mut work).unwrap();
            let off = state.q.iter().zip(&frame.q).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-9, "{motion}, {} s: {off}", frame.t);
        }
    }
}

/// Steps that choose their size end where a switch turns.
#[test]
fn chosen_steps_end_at_switches() {
    let text = tool(1.0)
        .replace("step: {", "step: {tolerance: 1.0e-4, ")
        .replace("switch: [0.2, 0.8]", "switch: [0.2137, 0.8]");
    for motion in ["quasi_static", "dynamic"] {
        let scene = parse(&text, &[("step.motion", motion)]);
        let all = frames(&scene);
        let on: Vec<&Frame> = all.iter().skip(1).filter(|frame| frame.q_cmd[2] > 0.5).collect();
        let before = all.iter().rposition(|frame| frame.t < on[0].t).unwrap();
        assert!((all[before].t - 0.2137).abs() < 1e-9, "{motion}: {}", all[before].t);
        assert!((on.last().unwrap().t - 0.8).abs() < 1e-9);
        let z = place(&scene, all.last().unwrap(), "tool/tool")[2];
        assert!((z - 0.03).abs() < 1e-6, "{motion}: {z}");
    }
}

/// Derivatives of the step in which a weld attaches, and of one while it holds, are those of finite
/// differences of the same steps.
#[test]
fn steps_of_attached_bodies_have_derivatives() {
    let text = tool(1.0).replace("role: prescribed", "stiffness: 800");
    for motion in ["quasi_static", "dynamic"] {
        let scene = parse(&text, &[("step.motion", motion), ("step.size", "0.01")]);
        let half = RunOptions { duration: Some(0.3), ..RunOptions::default() };
        let held = scene.run_with(&half, None, &mut |_| ControlFlow::Continue(())).state;
        let found = State { attached: Vec::new(), ..held.clone() };
        for start in [held, found] {
            check_derivatives(&scene, &start);
        }
    }
}

/// A batch of derivatives has those of each of its samples: of one whose tool is held 1 cm beside where
/// it is now, to which it is pulled back, and of one that holds nothing.
#[test]
fn batches_of_derivatives_begin_with_what_is_attached() {
    let text = tool(1.0).replace("role: prescribed", "stiffness: 800");
    let scene = parse(&text, &[("step.size", "0.01")]);
    let half = RunOptions { duration: Some(0.3), ..RunOptions::default() };
    let held = scene.run_with(&half, None, &mut |_| ControlFlow::Continue(())).state;
    let (system, n_v) = (&scene.system, scene.system.model().n_v());
    let mut beside = held.clone();
    system.model().integrate(
        &held.q,
        &[vec![0.0; n_v - 3], vec![0.01, 0.0, 0.0]].concat(),
        1.0,
        &mut beside.q,
    );
    let samples = [beside.clone(), State { attached: Vec::new(), ..beside }, held];
    let mut input = StepInput::default();
    scene.sample(quasistep::end_of_step(samples[0].time, 0.01), &mut input);
    let (n_q, n_u) = (samples[0].q.len(), system.n_cmd_v());
    let q: Vec<f64> = samples.iter().flat_map(|s| s.q.clone()).collect();
    let v_cmd = input.v_cmd.repeat(3);
    let attached: Vec<_> = samples.iter().map(|s| s.attached.clone()).collect();
    let mut out = [n_q, n_v * n_v, n_v * n_u].map(|width| vec![0.0; 3 * width]);
    let mut differentiate = |attached: &[Vec<Option<Attached>>]| {
        let given = DifferentiateBatch {
            n_samples: 3,
            time: samples[0].time,
            q: &q,
            v: &[],
            attached,
            q_cmd: &input.q_cmd,
            v_cmd: &v_cmd,
            wrenches: &[],
            tau: &input.tau,
            mode: Mode::Exact,
            weights: None,
            v_weights: &[],
        };
        let [q_next, by_q, by_q_cmd] = out.each_mut().map(|all| &mut all[..]);
        let rows = BatchDerivatives { q_next, by_q, by_q_cmd, velocities: None, impulses: None };
        let ends = system.differentiate_batch(&given, &scene.params, 2, rows, None)?;
        assert!(ends.iter().all(Result::is_ok), "{ends:?}");
        Ok::<_, StepError>(out.clone())
    };
    let [q_next, by_q, by_u] = differentiate(&attached).unwrap();
    for (k, start) in samples.iter().enumerate() {
        let mut own = system.create_derivatives();
        own.set_warm_start(false);
        system.differentiate(start, &input, &scene.params, Mode::Exact, &mut own).unwrap();
        let (mut one_q, mut one_u) = (vec![0.0; n_v * n_v], vec![0.0; n_v * n_u]);
        own.jacobian(system, &mut one_q, &mut one_u).unwrap();
        assert_eq!(q_next[k * n_q..][..n_q], *own.q_next(), "sample {k}");
        assert_eq!(by_q[k * n_v * n_v..][..n_v * n_v], one_q[..], "sample {k}");
        assert_eq!(by_u[k * n_v * n_u..][..n_v * n_u], one_u[..], "sample {k}");
    }
    // what is held beside its place moves there, at `max_recovery_speed`
    let x = |k: usize| q_next[k * n_q + n_q - 3];
    let closed = x(1) - x(0);
    assert!((x(1) - x(2) - 0.01).abs() < 1e-9, "{} {}", x(1), x(2));
    assert!(closed > 5e-4 && closed <= 1e-3, "{closed}");
    // one for all
    let [all, ..] = differentiate(&attached[..1]).unwrap();
    assert_eq!(all[n_q..2 * n_q], all[..n_q]);
    let error = differentiate(&attached[..2]).unwrap_err().to_string();
    assert!(error.contains("`attached` has 2 entries"), "{error}");
}

fn check_derivatives(scene: &Scene, start: &State) {
    let (system, n_v) = (&scene.system, scene.system.model().n_v());
    let mut input = StepInput::default();
    scene.sample(quasistep::end_of_step(start.time, 0.01), &mut input);
    let mut d: Derivatives = system.create_derivatives();
    system.differentiate(start, &input, &scene.params, Mode::Exact, &mut d).unwrap();
    let mut after = start.clone();
    system.step_with(&mut after, &input, &scene.params, &mut system.create_workspace()).unwrap();
    assert_eq!(d.attached(), after.attached);
    let mut out = OutputChange::default();
    for k in 0..n_v + 2 {
        let mut change = InputChange {
            q: vec![0.0; n_v],
            q_cmd: vec![0.0; system.n_cmd_v()],
            ..InputChange::default()
        };
        let (mut along, mut told) = (vec![0.0; n_v], vec![0.0; system.n_cmd()]);
        if k < n_v {
            (change.q[k], along[k]) = (1.0, 1.0);
        } else {
            (change.q_cmd[k - n_v], told[k - n_v]) = (1.0, 1.0);
        }
        d.jvp(system, &change, false, &mut out).unwrap();
        let by = 1e-6;
        let stepped = |sign: f64| {
            let mut state = start.clone();
            system.model().integrate(&start.q, &along, sign * by, &mut state.q);
            let mut input = input.clone();
            input.q_cmd.iter_mut().zip(&told).for_each(|(u, d)| *u += sign * by * d);
            let mut work = system.create_workspace();
            system.step_with(&mut state, &input, &scene.params, &mut work).unwrap();
            state.q
        };
        let mut difference = vec![0.0; n_v];
        system.model().difference(&stepped(-1.0), &stepped(1.0), &mut difference);
        for (dof, (a, b)) in out.q_next.iter().zip(&difference).enumerate() {
            let want = b / (2.0 * by);
            assert!(
                (a - want).abs() < 1e-5 * (1.0 + want.abs()),
                "by {k}, dof {dof}: {a}, not {want}"
            );
        }
    }
}

/// A run that begins with what is attached has derivatives by the mass of the tool: its spring gives way
/// by g/K per kg. One in which it attaches later has none, and says so.
#[test]
fn runs_that_begin_attached_have_derivatives() {
    let text = tool(1.0).replace("role: prescribed}]", "stiffness: 800}]");
    let with = |mass: &str| parse(&text, &[("models.tool.mass", mass), ("step.size", "0.02")]);
    let (scene, less, more) = (with("0.5"), with("0.4999"), with("0.5001"));
    let change = scene.system.change_between(&less.system, &more.system, 2e-4).unwrap();
    let (rows, n_q) = (12, scene.start.q.len());
    let own = |k: usize| [0.02 * k.min(5) as f64, 0.01 * k.min(5) as f64, 1.0];
    let u: Vec<f64> = (0..rows).flat_map(own).collect();
    let input = BatchInput {
        n_samples: 1,
        n_steps: rows,
        q: &scene.start.q,
        q_cmd: &u,
        ..BatchInput::default()
    };
    let (mut q, mut by) = (vec![0.0; rows * n_q], vec![0.0; rows * n_q]);
    let out = RunDerivatives { q: &mut q, by: &mut by, matrices: None };
    let changes = std::slice::from_ref(&change);
    let ends = scene
        .system
        .run_derivatives(&input, changes, &scene.params, Mode::Exact.into(), 1, out)
        .unwrap();
    assert_eq!(ends[0].error, None);
    let run = |scene: &Scene| {
        let commands = Some((&u[..], &[][..]));
        let options = RunOptions { commands, n_steps: Some(rows), ..RunOptions::default() };
        scene.run_with(&options, None, &mut |_| ControlFlow::Continue(())).state.q
    };
    let (a, b) = (run(&less), run(&more));
    let last = &by[(rows - 1) * n_q..];
    for k in 0..n_q {
        let want = (b[k] - a[k]) / 2e-4;
        assert!((last[k] - want).abs() < 1e-6, "{k}: {}, not {want}", last[k]);
    }
    assert!((last[1] + 9.81 / 800.0).abs() < 1e-3, "{}", last[1]);
    // let go of and taken again, it is found where its mass has let it sink
    let u: Vec<f64> = (0..rows).flat_map(|k| [0.0, 0.01, f64::from(u8::from(k != 5))]).collect();
    let input = BatchInput {
        n_samples: 1,
        n_steps: rows,
        q: &scene.start.q,
        q_cmd: &u,
        ..BatchInput::default()
    };
    let (mut q, mut by) = (vec![0.0; rows * n_q], vec![0.0; rows * n_q]);
    let out = RunDerivatives { q: &mut q, by: &mut by, matrices: None };
    let ends = scene
        .system
        .run_derivatives(&input, &[change], &scene.params, Mode::Exact.into(), 1, out)
        .unwrap();
    let why = ends[0].error.as_ref().unwrap().to_string();
    assert!(why.contains("`grip` attaches within the run"), "{why}");
}

/// Equalities of MuJoCo that are not active hold when their switch is turned on: with `relpose`, the
/// weld draws the part to it.
#[test]
fn an_inactive_equality_is_switched_on() {
    let case = "\
<mujoco model=\"changer\"><worldbody>
<body name=\"hand\" pos=\"0 0 0.5\"><joint name=\"lift\" type=\"slide\" axis=\"0 0 1\" damping=\"10\"/>
 <geom type=\"box\" size=\"0.02 0.02 0.01\" mass=\"0.2\"/></body>
<body name=\"part\" pos=\"0 0 0.03\"><freejoint/><geom type=\"box\" size=\"0.05 0.05 0.03\" mass=\"0.4\"/></body>
<geom type=\"plane\" size=\"1 1 0.1\"/>
</worldbody>
<equality><weld name=\"grip\" body1=\"hand\" body2=\"part\" active=\"false\"/></equality>
<actuator><position name=\"z\" joint=\"lift\" kp=\"2000\"/></actuator></mujoco>
";
    let folder = Folder::new("inactive");
    folder.file("changer.xml", case);
    let path = folder.0.join("changer.xml");
    let text = format!(
        "format: 1\nstep: {{duration: 1}}\nmodels: {{m: {{mjcf: {}}}}}\ncommands: [{{joint: m.lift, expr: 0.1*t}}, {{switch: m.grip, expr: step(t - 0.5)}}]\n",
        path.display()
    );
    for size in ["0.1", "0.01"] {
        let scene = parse(&text, &[("step.size", size), ("step.motion", "quasi_static")]);
        let all = frames(&scene);
        let z = |t: f64| place(&scene, at(&all, t), "m/part")[2];
        assert!((z(0.4) - 0.03).abs() < 1e-9, "{}", z(0.4));
        // as far below the hand as in the file
        let hand = place(&scene, all.last().unwrap(), "m/hand")[2];
        assert!((hand - z(1.0) - 0.47).abs() < 1e-6, "{size}: {hand} {}", z(1.0));
        assert!(
            scene.notes.iter().chain(&scene.warnings).any(|w| w.contains("until a command")),
            "{:?} {:?}",
            scene.warnings,
            scene.notes
        );
    }
}

/// A body that is led along poses, in the scene or in a file, pushes a box over the table: it is where it
/// is told, and needs mu m g.
#[test]
fn a_led_body_pushes() {
    let folder = Folder::new("led");
    folder.file("poses.csv", "t,x,y,z,w,i,j,k\n0,0,0,0.03,1,0,0,0\n1,0.1,0,0.03,1,0,0,0\n");
    let in_file = format!(
        "{{file: {}, columns: [x, y, z, w, i, j, k]}}",
        folder.0.join("poses.csv").display()
    );
    let text = |knots: &str| {
        format!("\
format: 1
step: {{duration: 1, relaxation: 100}}
models:
  table: {{joint: fixed, friction: 0.5, shape: {{half_space: {{}}}}}}
  lead: {{pose: {{xyz: [0, 0, 0.03]}}, joints: {{lead: {{role: prescribed}}}}, friction: 0, shape: {{sphere: {{radius: 0.02}}}}}}
  box: {{mass: 0.5, friction: 0.5, pose: {{xyz: [0.051, 0, 0.03]}}, shape: {{box: {{size: [0.06, 0.06, 0.06]}}}}}}
commands: [{{joint: lead, knots: {knots}}}]
")
    };
    for knots in ["[[0, {}], [1, {xyz: [0.1, 0, 0.03]}]]", in_file.as_str()] {
        for changes in everywhere() {
            let scene = parse(&text(knots), &changes);
            let all = frames(&scene);
            let last = all.last().unwrap();
            assert!((place(&scene, last, "lead/lead")[0] - 0.1).abs() < 1e-12, "{changes:?}");
            let x = place(&scene, last, "box/box")[0];
            assert!((x - 0.15).abs() < 1e-5, "{changes:?}: {x}");
            let push = last.effort[0];
            assert!((push - 0.5 * 0.5 * 9.81).abs() < 1e-3, "{changes:?}: {push} N");
        }
    }
    let wrong = text("[[0, {}], [1, {xyz: [0.1, 0, 0.03]}]]");
    complaint(
        &wrong.replace("joint: lead, knots", "joint: box, knots"),
        "scene.yml:",
        &["driven free joint", "lead"],
    );
    complaint(
        &text(&in_file.replace(", w, i, j, k]", "]")[..].replace("[x, y, z]", "[x, y]")),
        "scene.yml:",
        &["three, x, y and z"],
    );
}

/// A mocap body of MuJoCo stays until it is told to move; what is welded to it follows, and hangs on it
/// with its weight.
#[test]
fn a_mocap_body_leads_what_is_welded_to_it() {
    let folder = Folder::new("mocap");
    folder.file("m.xml", "<mujoco><worldbody><body name='lead' mocap='true' pos='0 0 1'/>
        <body name='part' pos='0 0 0.9'><freejoint/><geom size='0.05' mass='0.4'/></body></worldbody>
      <equality><weld body1='lead' body2='part'/></equality></mujoco>");
    let text = format!(
        "format: 1\nstep: {{duration: 1}}\nmodels: {{m: {{mjcf: {}}}}}\n",
        folder.0.join("m.xml").display()
    );
    let moved = "commands: [{joint: m.lead, knots: [[0, {}], [0.5, {xyz: [0.2, 0, 1.1], rpy: [0, 0, 1]}]]}]\n";
    for (commands, end) in [("", [0.0, 0.0, 0.9]), (moved, [0.2, 0.0, 1.0])] {
        for changes in everywhere() {
            let scene = parse(&format!("{text}{commands}"), &changes);
            let last = frames(&scene).pop().unwrap();
            let part = place(&scene, &last, "m/part");
            let off = part.iter().zip(end).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-9, "{changes:?}: {part:?}");
            assert!((last.effort[2] - 0.4 * 9.81).abs() < 1e-6, "{changes:?}: {:?}", last.effort);
        }
    }
}

#[test]
fn mistakes_of_switches_are_told() {
    let text = tool(1.0);
    let wrong = |from: &str, to: &str| text.replace(from, to);
    let grip = "switch: [0.2, 0.8]";
    for (text, words) in [
        (wrong(grip, "switch: [0.8, 0.2]"), "time 0.2 follows 0.8"),
        (wrong(grip, "switch: [0.2, 0.2]"), "must ascend"),
        (wrong(grip, "switch: yes"), "`on` or `off`"),
        (wrong(grip, "within: 0.01"), "a `switch` attaches"),
        (wrong(grip, "switch: off, within: -1"), "-1"),
        (
            wrong(
                "weld: [wrist, tool], name: grip, switch: [0.2, 0.8]",
                "weld: [world, tool], switch: off, within: 0.01",
            ),
            "without shapes",
        ),
        (format!("{text}  - {{switch: grap, constant: 1}}\n"), "`grap`"),
        (format!("{text}  - {{switch: grip, constant: 1}}\n"), "told twice"),
        (format!("{text}  - {{switch: grip, pose: {{xyz: [0, 0, 0]}}}}\n"), "pose"),
        (format!("{text}  - {{joint: grip, constant: 1}}\n"), "`grip`"),
        (
            wrong(grip, "").replace("name: grip, ", "name: grip")
                + "  - {switch: grip, constant: 1}\n",
            "`grip`",
        ),
    ] {
        assert!(parse_with(&text, &[]).is_err(), "{words}");
        complaint(&text, "scene.yml:", &[words]);
    }
}

/// A state with what another system holds is refused.
#[test]
fn a_state_of_other_switches_is_refused() {
    let scene = parse(&tool(1.0), &[]);
    let mut state = State { attached: vec![None, None], ..scene.start.clone() };
    let mut work = scene.system.create_workspace();
    let told = scene.system.command_at(&state.q);
    let why = scene.system.step(&mut state, &told, &scene.params, &mut work).map(drop);
    assert_eq!(why, Err(StepError::Length { what: "attached", got: 2, want: 1 }));
}
