//! Pads that pull what touches them: suction cups and magnets hold, rub, peel off and let go.

use crate::common::differences::{Random, Step};
use crate::common::{Folder, complaint, everywhere, frames, parse, parse_with, place};
use quasistep::Mode;
use quasistep_record::Frame;
use quasistep_scene::Scene;

/// The last frame of a run.
#[track_caller]
fn end(scene: &Scene) -> Frame {
    frames(scene).pop().expect("a run has frames")
}

/// A box of 0.2 kg under a pad that moves up. `scale` multiplies lengths, and forces with them.
fn hanging(scale: f64, pull: f64) -> String {
    let [wide, half, pad_z, margin, reach, overlap] =
        [0.04, 0.01, 0.06, 0.02, 0.002, 0.001].map(|x| scale * x);
    let [g, speed, pull] = [-9.81 * scale, 0.1 * scale, pull * scale];
    format!(
        "\
format: 1
gravity: [0, 0, {g}]
step: {{duration: 0.4, contact_margin: {margin}, max_overlap: {overlap}, max_recovery_speed: {speed}}}
models:
  pad:
    joint: [{{slide: z, axis: [0, 0, 1], role: prescribed}}]
    pose: {{xyz: [0, 0, {pad_z}]}}
    friction: 0.5
    shape: {{box: {{size: [{wide}, {wide}, {half}]}}}}
  box: {{mass: 0.2, friction: 0.5, pose: {{xyz: [0, 0, {box_z}]}}, shape: {{box: {{size: [{box_size}, {box_size}, {box_size}]}}}}}}
adhesion:
  cup: {{body: pad, pull: {pull}, reach: {reach}}}
commands:
  - {{joint: pad.z, expr: \"{speed}*t\"}}
",
        box_size = 0.06 * scale,
        box_z = pad_z - half / 2.0 - 0.03 * scale,
    )
}

/// A box that weighs 1.96 N hangs on a pad that pulls with 3 N, rises with it, and the sensor in its
/// arm feels the weight. With 1.5 N it stays behind.
#[test]
fn a_pad_carries_what_weighs_less_than_its_pull() {
    for scale in [1.0, 1000.0, 0.001] {
        for changes in everywhere() {
            let scene = parse(&hanging(scale, 3.0), &changes);
            let frame = end(&scene);
            let z = place(&scene, &frame, "box/box")[2];
            let want = scale * (0.025 + 0.04);
            assert!((z - want).abs() < 1e-6 * scale, "{scale} {changes:?}: {z}, not {want}");
            // what is carried at 0.1 m/s has a drag of 0.1/9.81 of its weight
            let drag = if changes[1].1 == "dynamic" { 0.0 } else { 0.2 * 0.1 };
            let weight = scale * (0.2 * 9.81 + drag);
            let arm = frame.effort[0];
            assert!((arm - weight).abs() < 1e-6 * scale, "{scale} {changes:?}: {arm} N");
            assert!((frame.effort[1] - 3.0 * scale).abs() < 1e-12 * scale);
            let presses: f64 = frame.contacts.iter().map(|c| c.normal_force).sum();
            let net: f64 = frame.contacts.iter().map(|c| c.force_W.z).sum();
            assert!((presses - (3.0 * scale - weight)).abs() < 1e-6 * scale, "{presses} N");
            // on the box, which is body B or A
            let sign = if frame.contacts[0].b == 1 { -1.0 } else { 1.0 };
            assert!((sign * net - weight).abs() < 1e-6 * scale, "{net} N");

            let scene = parse(&hanging(scale, 1.5), &changes);
            let frame = end(&scene);
            let z = place(&scene, &frame, "box/box")[2];
            assert!(z < scale * (0.025 - 0.02), "{scale} {changes:?}: {z}");
            assert!(frame.effort[0].abs() < 1e-9 * scale, "{changes:?}: {} N", frame.effort[0]);
        }
    }
}

/// Switched off, the pad goes on without the box, which falls as a box without a pad does.
#[test]
fn a_pad_that_is_switched_off_lets_go() {
    let text = hanging(1.0, 3.0);
    for changes in everywhere() {
        for command in ["expr: \"step(0.2 - t)\"", "linear: {t: [0.2, 0.3], values: [0.9, 0]}"] {
            let scene = parse(&format!("{text}  - {{pad: cup, {command}}}\n"), &changes);
            let all = frames(&scene);
            let held = all.iter().find(|frame| frame.t > 0.2 - 1e-9).unwrap();
            assert!((place(&scene, held, "box/box")[2] - 0.045).abs() < 1e-6, "{changes:?}");
            let last = all.last().unwrap();
            assert!(place(&scene, last, "box/box")[2] < 0.0, "{changes:?}");
            assert!(place(&scene, last, "pad/pad")[2] > 0.0999, "{changes:?}");
            assert_eq!(last.effort[1], 0.0);
        }
    }
}

/// A box of 0.5 kg on a pad at a wall: `mu P` holds its weight of 4.905 N or lets it slide down, and a
/// pusher that presses on it with `N` adds `mu N`.
#[test]
fn a_pad_at_a_wall_rubs_with_its_pull_and_the_push() {
    let text = |pull: f64, push: f64| {
        format!(
            "\
format: 1
step: {{duration: 0.2}}
models:
  pad: {{joint: fixed, friction: 0.5, pose: {{xyz: [-0.01, 0, 0]}}, shape: {{box: {{size: [0.02, 0.2, 0.2]}}}}}}
  box: {{mass: 0.5, friction: 0.5, pose: {{xyz: [0.05, 0, 0]}}, shape: {{box: {{size: [0.1, 0.1, 0.1]}}}}}}
wrenches: [{{body: box, force: [{push}, 0, 0]}}]
adhesion:
  magnet: {{body: pad, pull: {pull}, reach: 0.05}}
"
        )
    };
    for changes in everywhere() {
        for (pull, push) in [(10.0, 0.0), (6.0, -4.0), (14.0, 4.0)] {
            let scene = parse(&text(pull, push), &changes);
            let z = place(&scene, &end(&scene), "box/box")[2];
            assert!(z.abs() < 1e-6, "{changes:?} {pull} {push}: {z}");
        }
        for (pull, push) in [(9.6, 0.0), (5.6, -4.0), (13.6, 4.0)] {
            let scene = parse(&text(pull, push), &changes);
            let frame = end(&scene);
            let [x, _, z] = place(&scene, &frame, "box/box");
            // 0.105 N are left to move 0.5 kg: 0.21 m/s at once, or 0.21 m/s²
            let h = scene.params.time_step;
            let want =
                if changes[1].1 == "dynamic" { -0.21 * 0.2 * (0.2 + h) / 2.0 } else { -0.21 * 0.2 };
            // convex friction lifts what slides by h mu v, and drags it off by that at first
            let lift = if changes[0].1 == "convex" { 0.5 * 0.21 * h } else { 0.0 };
            assert!((z - want).abs() < 1e-4 + lift, "{changes:?} {pull} {push}: {z}, not {want}");
            let rubs: f64 = frame.contacts.iter().map(|c| c.force_W.z.abs()).sum();
            assert!((rubs - 0.5 * (pull - push)).abs() < 1e-3 + lift, "{changes:?}: {rubs} N");
            assert!((x - 0.05).abs() < 1e-6 + lift, "{changes:?}: {x}");
        }
    }
}

/// A bar hangs on a pad of 40 mm, with its centre of mass beside it: it peels off where its weight
/// times the distance to the far edge of the pad is more than the pull times half of the pad. The cup
/// leaks then, and the bar falls.
#[test]
fn a_lever_peels_off_at_the_edge_of_the_pad() {
    let text = |pull: f64| {
        format!(
            "\
format: 1
step: {{duration: 0.5}}
models:
  pad: {{joint: fixed, friction: 0.8, pose: {{xyz: [0, 0, 0.01]}}, shape: {{box: {{size: [0.04, 0.04, 0.02]}}}}}}
  bar: {{mass: 0.2, com: [0.12, 0, 0], friction: 0.8, pose: {{xyz: [0, 0, -0.01]}}, shape: {{box: {{size: [0.3, 0.06, 0.02]}}}}}}
adhesion:
  cup: {{body: pad, pull: {pull}, seal: true}}
"
        )
    };
    // it turns about the far edge, 140 mm from 1.962 N and 20 mm from the pull: 13.73 N
    for changes in everywhere() {
        let scene = parse(&text(13.8), &changes);
        let z = place(&scene, &end(&scene), "bar/bar")[2];
        assert!((z + 0.01).abs() < 1e-6, "{changes:?}: {z}");
        let scene = parse(&text(13.0), &changes);
        let z = place(&scene, &end(&scene), "bar/bar")[2];
        assert!(z < -0.1, "{changes:?}: {z}");
    }
}

/// Two boxes side by side under one pad share its pull.
#[test]
fn boxes_under_one_pad_share_its_pull() {
    let text = |pull: f64| {
        format!(
            "\
format: 1
step: {{duration: 0.2}}
models:
  pad: {{joint: fixed, pose: {{xyz: [0, 0, 0.01]}}, shape: {{box: {{size: [0.2, 0.05, 0.02]}}}}}}
  left: {{mass: 0.1, pose: {{xyz: [-0.05, 0, -0.02]}}, shape: {{box: {{size: [0.04, 0.04, 0.04]}}}}}}
  right: {{mass: 0.1, pose: {{xyz: [0.05, 0, -0.02]}}, shape: {{box: {{size: [0.04, 0.04, 0.04]}}}}}}
adhesion:
  magnet: {{body: pad, pull: {pull}}}
"
        )
    };
    for changes in everywhere() {
        for (pull, holds) in [(2.0, true), (1.9, false)] {
            let scene = parse(&text(pull), &changes);
            let frame = end(&scene);
            for body in ["left/left", "right/right"] {
                let z = place(&scene, &frame, body)[2];
                assert_eq!((z + 0.02).abs() < 1e-6, holds, "{changes:?} {pull}: {z}");
            }
        }
    }
}

const CASE: &str = "\
<mujoco model=\"suction\"><worldbody>
<body name=\"cup\" pos=\"0 0 0.27\"><joint name=\"lift\" type=\"slide\" axis=\"0 0 1\" damping=\"10\"/>
 <geom name=\"pad\" type=\"cylinder\" size=\"0.02 0.01\" mass=\"0.2\" friction=\"0.8 0.005 0.0001\"/></body>
<body name=\"part\" pos=\"0 0 0.23\"><freejoint/><geom type=\"box\" size=\"0.05 0.05 0.03\" mass=\"0.4\"/></body>
<geom type=\"plane\" size=\"1 1 0.1\" pos=\"0 0 0.2\"/>
</worldbody>
<actuator><position name=\"z\" joint=\"lift\" kp=\"2000\" ctrlrange=\"0 0.2\"/><adhesion name=\"vac\" body=\"cup\" ctrlrange=\"0 1\" gain=\"20\"/></actuator>
<keyframe><key name=\"up\" qpos=\"0 0 0 0.23 1 0 0 0\" ctrl=\"0.1 1\"/></keyframe></mujoco>
";

/// MuJoCo's adhesion: the cup lifts 0.4 kg by 0.1 m with 20 N of suction, less what its spring gives
/// way under 0.6 kg, and with 3 N it does not. A dynamic cup is told to rise slowly: a spring of
/// 200 N would tear it off.
#[test]
fn an_adhesion_actuator_lifts_its_part() {
    let slowly = "commands: [{joint: m.lift, expr: \"min(0.1*t, 0.1)\"}]\n";
    for (gain, rises) in [("20", 0.1), ("3", 0.0)] {
        let folder = Folder::new("adhesion");
        folder.file("suction.xml", &CASE.replace("gain=\"20\"", &format!("gain=\"{gain}\"")));
        for (motion, commands) in [("quasi_static", ""), ("dynamic", slowly)] {
            let text = format!(
                "format: 1\nstep: {{duration: 2.5}}\nmodels: {{m: {{mjcf: {}}}}}\n{commands}",
                folder.0.join("suction.xml").display()
            );
            for size in ["0.1", "0.01", "0.001"] {
                let changes = [("step.motion", motion), ("step.size", size)];
                let scene = parse(&text, &changes);
                assert_eq!(scene.warnings, [""; 0]);
                let pad = &scene.system.pads()[0];
                assert_eq!((pad.name.as_str(), pad.pull), ("m.vac", gain.parse().unwrap()));
                let z = place(&scene, &end(&scene), "m/part")[2];
                let sags = if rises > 0.0 { 0.6 * 9.81 / 2000.0 } else { 0.0 };
                let want = 0.23 + rises - sags;
                assert!((z - want).abs() < 1e-5, "{changes:?}, {gain} N: {z}, not {want}");
            }
        }
    }
}

#[test]
fn mistakes_of_pads_are_told() {
    let text = hanging(1.0, 3.0);
    let wrong = |from: &str, to: &str| text.replace(from, to);
    let cup = "cup: {body: pad, pull: 3, reach: 0.002}";
    for (text, words) in [
        (wrong(cup, "cup: {body: pat, pull: 3}"), "`pat`"),
        (wrong(cup, "cup: {body: world, pull: 3}"), "a body without shapes"),
        (wrong(cup, "cup: {body: pad}"), "give `pull` (N), or `pressure` (Pa) and `area` (m²)"),
        (wrong(cup, "cup: {body: pad, pull: 3, area: 1}"), "give `pull` (N)"),
        (wrong(cup, "cup: {body: pad, pull: -3}"), "-3"),
        (wrong(cup, "cup: {body: pad, pull: 3, shapes: [lip]}"), "`lip`"),
        (format!("{text}  - {{pad: cop, constant: 1}}\n"), "`cop`"),
        (format!("{text}  - {{pad: cup, expr: \"5*t\"}}\n"), "from 0, off, to 1"),
        (format!("{text}  - {{joint: cup, constant: 1}}\n"), "`cup`"),
    ] {
        assert!(parse_with(&text, &[]).is_err(), "{words}");
        complaint(&text, "scene.yml:", &[words]);
    }
}

/// A sprung pad carries a body, which a wrench pushes aside.
fn carried(shape: &str, radius: f64) -> String {
    format!(
        "\
format: 1
step: {{size: 0.02}}
models:
  pad:
    joint: [{{slide: x, axis: [1, 0, 0], stiffness: 800}}, {{hinge: turn, axis: [0, 1, 0], stiffness: 5}}, {{slide: z, axis: [0, 0, 1], stiffness: 900}}]
    mass: 0.1
    friction: 0.6
    shape: {{box: {{size: [0.1, 0.08, 0.02]}}}}
  body: {{mass: 0.3, friction: 0.6, pose: {{xyz: [0.004, 0.003, {z}]}}, shape: {{{shape}}}}}
wrenches: [{{body: body, at: [0, 0, 0.01], force: [0.3, -0.2, 0.4], torque: [0.001, 0.002, 0.001]}}]
adhesion:
  cup: {{body: pad, pull: 9}}
commands:
  - {{joint: pad.z, expr: \"0.05*t\"}}
  - {{joint: pad.x, expr: \"0.03*t\"}}
  - {{pad: cup, expr: \"0.5 + 0.1*t\"}}
",
        z = -0.01 - radius,
    )
}

/// Derivatives of steps under a pull are those of differences: by the configuration, the velocity,
/// the command of joints and of the pad, forces and the time step. Both products and the matrices
/// agree.
#[test]
fn steps_with_pads_have_derivatives() {
    let kappa = Mode::Smooth { kappa: 1e-3 };
    let laws = [
        ("friction: convex, cone: 4", Mode::Exact),
        ("friction: convex", Mode::Exact),
        ("friction: convex", kappa),
        ("friction: exact", Mode::Exact),
        ("friction: exact, motion: dynamic", Mode::Exact),
        ("friction: exact, relaxation: step", Mode::Exact),
    ];
    let lying = "pose: {rpy: [0, 1.5707963267948966, 0]}";
    let capsule = format!("capsule: {{radius: 0.02, length: 0.04}}, {lying}");
    let shapes = [
        ("sphere: {radius: 0.03}", 0.03, true),
        (&capsule, 0.02, true),
        // four points of a face come apart by changes of the configuration
        ("box: {size: [0.05, 0.04, 0.04]}", 0.02, false),
    ];
    let mut random = Random(88172645463325252);
    let mut compared = 0;
    for ((law, mode), (shape, radius, moves)) in laws.iter().flat_map(|l| shapes.map(|s| (*l, s))) {
        let text = carried(shape, radius).replace("size: 0.02}", &format!("size: 0.02, {law}}}"));
        let step = Step::new(parse(&text, &[]), mode, moves, &mut random);
        let pull: f64 = step.own.report().contacts.iter().map(|c| c.pull).sum();
        assert!((pull - 9.0 * 0.51).abs() < 1e-9, "{law} {shape}: {pull} N");
        let at = format!("{law} {mode:?} {shape}");
        compared += step.check(&at, moves || mode == kappa, &mut random);
    }
    assert!(compared >= 80, "{compared}");
}
