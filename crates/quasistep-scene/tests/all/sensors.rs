//! Sensors: what instruments on bodies read.

use crate::common::{Folder, parse_with};
use quasistep_record::{Frame, Recording};
use quasistep_scene::Scene;
use std::ops::ControlFlow;

const G: f64 = 9.81;
const LAWS: [&str; 2] = ["exact", "convex"];
const MOTIONS: [&str; 2] = ["quasi_static", "dynamic"];
const SIZES: [&str; 3] = ["0.05", "0.02", "0.005"];

fn parse(text: &str, changes: &[(&str, &str)]) -> Scene {
    parse_with(text, changes).unwrap_or_else(|e| panic!("{changes:?}: {e}"))
}

#[track_caller]
fn run(scene: &Scene) -> Recording {
    let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
    assert_eq!(outcome.stopped, None);
    outcome.recording
}

/// Readings of a sensor in a frame.
#[track_caller]
fn reading(recording: &Recording, frame: &Frame, name: &str) -> Vec<f64> {
    let (_, range) = recording.sensor(name).unwrap_or_else(|| panic!("no sensor `{name}`"));
    frame.sensors[range].to_vec()
}

/// Readings of a sensor in the last frame.
#[track_caller]
fn last(recording: &Recording, name: &str) -> Vec<f64> {
    reading(recording, recording.frames.last().expect("a run has frames"), name)
}

#[track_caller]
fn assert_near(seen: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(seen.len(), want.len());
    let near = seen.iter().zip(want).all(|(a, b)| (a - b).abs() <= tolerance);
    assert!(near, "{seen:?}, expected {want:?} ± {tolerance}");
}

/// Every friction law, motion and step size.
fn everywhere(text: &str, mut check: impl FnMut(&Scene, &str)) {
    for law in LAWS {
        for motion in MOTIONS {
            for size in SIZES {
                let changes =
                    [("step.friction", law), ("step.motion", motion), ("step.size", size)];
                check(&parse(text, &changes), motion);
            }
        }
    }
}

const ARM: &str = "\
step: {duration: 3}
models:
  arm:
    bodies:
      upper: {joint: [{hinge: shoulder, axis: [0, 1, 0], stiffness: 500, damping: 20}], pose: {xyz: [0, 0, 1]}, mass: 2, com: [0.2, 0, 0]}
      wrist: {parent: upper, joint: fixed, pose: {xyz: [0.4, 0, 0]}}
      tool: {parent: wrist, joint: fixed, pose: {xyz: [0.1, 0, -0.05]}, mass: 1}
sensors:
  shoulder: {force_torque: {joint: arm.shoulder}}
  wrist: {force_torque: arm/wrist}
  down: {force_torque: arm/wrist, at: {rpy: [3.141592653589793, 0, 0]}}
  pull: {force_torque: arm/wrist, acts_on: child}
";

/// A tool of 1 kg hangs at a wrist: it pulls down with 9.81 N, and the spring of the shoulder holds
/// the torque that the sensor there reads.
#[test]
fn a_hanging_tool_weighs_what_it_weighs() {
    everywhere(ARM, |scene, motion| {
        let recording = run(scene);
        let end = recording.frames.last().unwrap();
        let angle = end.q[0];
        let wrist = last(&recording, "wrist");
        assert!(angle > 0.01, "springs give way: {angle}");
        // a dynamic arm comes to rest
        let slack = if motion == "dynamic" { 1e-3 } else { 1e-9 };
        // the arm turns about y by the angle, so down is (sin, 0, −cos) in its frame
        let (s, c) = angle.sin_cos();
        let force = [G * s, 0.0, -G * c];
        assert_near(&wrist[..3], &force, slack);
        // torque of the weight at (0.1, 0, −0.05) m from the wrist
        let [px, pz] = [0.1, -0.05];
        assert_near(&wrist[3..], &[0.0, pz * force[0] - px * force[2], 0.0], slack);
        assert_near(&last(&recording, "down")[..3], &[force[0], 0.0, -force[2]], slack);
        let pull: Vec<f64> = wrist.iter().map(|x| -x).collect();
        assert_eq!(last(&recording, "pull"), pull);
        for frame in &recording.frames[1..] {
            let about_axis = reading(&recording, frame, "shoulder")[4];
            // also while a dynamic arm swings
            let scale = 1e-9 * about_axis.abs().max(1.0);
            assert!(
                (about_axis + frame.effort[0]).abs() <= scale,
                "{about_axis} N·m at {} s",
                frame.t
            );
        }
    });
}

/// The wrist reads twice as much when the gripper carries a box of its own mass; each pad reads 5 N,
/// evenly over the part that touches.
#[test]
fn a_held_box_doubles_what_the_wrist_carries() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/sensors.yml"))
            .expect("the scene is shipped");
    everywhere(&text, |scene, motion| {
        let recording = run(scene);
        let slack = if motion == "dynamic" { 1e-3 } else { 1e-6 };
        let wrist = last(&recording, "wrist");
        assert_near(&wrist[..3], &[0.0, 0.0, 2.0 * 0.7 * G], slack);
        for (name, n) in [("left", 4), ("right", 12)] {
            let pad = last(&recording, name);
            let sum: f64 = pad.iter().sum();
            assert!((sum - 5.0).abs() <= 0.01 + slack, "{name}: {sum} N");
            // the pad is from 0.06 to 0.18 m, the box from 0 to 0.1 m
            let along_z = |k: usize| if name == "left" { k % 12 } else { k / n.min(4) };
            for (k, force) in pad.iter().enumerate() {
                let want = if along_z(k) < 4 { 5.0 / 16.0 } else { 0.0 };
                assert!((force - want).abs() <= 0.02 * want + slack, "{name} {k}: {pad:?}");
            }
        }
    });
}

/// A plate on a pad, pressed with 5 N at `arm` from its centre along x.
fn pressed(scale: f64, arm: f64, edges: [f64; 2]) -> String {
    let [pad, thick, margin, half] = [0.08, 0.01, 0.02, 0.005].map(|x| scale * x);
    let [a, b, arm] = [edges[0], edges[1], arm].map(|x| scale * x);
    format!(
        "\
step: {{duration: 0.2, contact_margin: {margin}}}
gravity: [0, 0, 0]
models:
  pad: {{joint: fixed, pose: {{xyz: [0, 0, -{half}]}}, shape: {{box: {{size: [{pad}, {pad}, {thick}]}}}}}}
  plate: {{mass: 0.1, pose: {{xyz: [0, 0, {half}]}}, shape: {{box: {{size: [{a}, {b}, {thick}]}}}}}}
wrenches: [{{body: plate, at: [{arm}, 0, 0], force: [0, 0, -5]}}]
sensors:
  force: {{pressure: pad, face: +z, taxels: [4, 2], unit: N}}
  pressure: {{pressure: pad, at: {{xyz: [0, 0, {half}]}}, size: [{pad}, {pad}], taxels: [4, 2]}}
  scale: {{force_torque: pad}}
"
    )
}

/// 5 N on a pad are 5 N on its taxels: evenly under a plate that is pressed in its middle, more on
/// one side elsewhere, and on a part of the plate beyond its middle third.
#[test]
fn a_pressed_pad_reads_the_force_where_it_is() {
    let l = 0.04;
    // shares of the four columns along x, of which the plate covers the inner two
    let cases = [
        (0.0, [0.0, 0.5, 0.5, 0.0]),
        // p = f/l² (1 + 12 e x/l²): half ± 3 e/(2 l)
        (l / 8.0, [0.0, 0.3125, 0.6875, 0.0]),
        // a triangle of thrice the distance to the edge: half of the plate
        (l / 3.0, [0.0, 0.0, 1.0, 0.0]),
    ];
    for scale in [1e-3, 1.0, 1e3] {
        for (arm, shares) in cases {
            everywhere(&pressed(scale, arm, [l, l]), |scene, _| {
                let recording = run(scene);
                let force = last(&recording, "force");
                let want: Vec<f64> = shares.iter().flat_map(|s| [2.5 * s, 2.5 * s]).collect();
                assert_near(&force, &want, 1e-5);
                let area = (0.08 * scale).powi(2) / 8.0;
                let pressure: Vec<f64> =
                    last(&recording, "pressure").iter().map(|p| p * area).collect();
                assert_near(&pressure, &force, 1e-9);
                let scale_reads = last(&recording, "scale");
                assert_near(&scale_reads[..3], &[0.0, 0.0, -5.0], 1e-6);
                let moments = &scale_reads[3..];
                assert_near(moments, &[0.0, 5.0 * arm * scale, 0.0], 1e-6 * scale.max(1.0));
            });
        }
    }
}

/// A cylinder that lies on a pad presses along a line, a ball on one taxel.
#[test]
fn lines_and_points_press_on_the_taxels_under_them() {
    let text = pressed(1.0, 0.01, [0.04, 0.04]);
    let cylinder =
        "cylinder: {radius: 0.005, length: 0.06}, pose: {rpy: [0, 1.5707963267948966, 0]}";
    let text = text.replace("taxels: [4, 2]", "taxels: [4, 3]");
    let lying = text.replace("box: {size: [0.04, 0.04, 0.01]}", cylinder);
    everywhere(&lying, |scene, _| {
        // p = f/l (1 + 12 e x/l²) from −l/2 to l/2, over x in columns of 0.02 m
        let (e, l) = (0.01, 0.06);
        let up_to = |x: f64| x / l + 6.0 * e * (x * x - l * l / 4.0) / (l * l * l);
        let cuts = [-0.03, -0.02, 0.0, 0.02, 0.03];
        let want: Vec<f64> =
            cuts.windows(2).flat_map(|x| [0.0, 5.0 * (up_to(x[1]) - up_to(x[0])), 0.0]).collect();
        assert_near(&last(&run(scene), "force"), &want, 1e-4);
    });
    let ball = text
        .replace("box: {size: [0.04, 0.04, 0.01]}", "sphere: {radius: 0.005}")
        .replace("at: [0.01, 0, 0]", "at: [0, 0, 0]")
        .replace(
            "xyz: [0, 0, 0.005]}, shape: {sphere",
            "xyz: [0.01, 0.03, 0.005]}, shape: {sphere",
        );
    everywhere(&ball, |scene, _| {
        let mut want = [0.0; 12];
        want[2 * 3 + 2] = 5.0;
        assert_near(&last(&run(scene), "force"), &want, 1e-6);
    });
}

/// A tool that is accelerated pushes back with its mass times the acceleration in dynamic motion, one
/// that goes round pulls outwards, and one that falls freely weighs nothing.
#[test]
fn dynamic_sensors_read_inertia() {
    let text = "\
step: {motion: dynamic, duration: 1}
models:
  sled: {gravity: false, bodies: {
    sled: {joint: [{slide: x, axis: [1, 0, 0], role: prescribed}]},
    tool: {parent: sled, joint: fixed, mass: 2, pose: {xyz: [0, 0, 0.1]}}}}
  wheel: {gravity: false, bodies: {
    wheel: {joint: [{hinge: turn, axis: [0, 0, 1], role: prescribed}], pose: {xyz: [0, 5, 0]}},
    tool: {parent: wheel, joint: fixed, mass: 2, pose: {xyz: [0.3, 0, 0]}}}}
  lift: {pose: {xyz: [0, 0, 100]}, bodies: {
    cabin: {joint: free, mass: 10, inertia: [1, 1, 1]},
    load: {parent: cabin, joint: fixed, mass: 3, pose: {xyz: [0.2, 0, 0]}}}}
commands:
  - {joint: sled.x, expr: \"1.5*t^2\"}
  - {joint: wheel.turn, expr: \"4*t\"}
sensors:
  sled: {force_torque: sled/tool, at: {xyz: [0, 0, -0.1]}}
  wheel: {force_torque: wheel/tool}
  lift: {force_torque: lift/load}
";
    for size in SIZES {
        let recording = run(&parse(text, &[("step.size", size)]));
        assert_near(&last(&recording, "sled"), &[-6.0, 0.0, 0.0, 0.0, -0.6, 0.0], 1e-9);
        // m w² r outwards
        assert_near(&last(&recording, "wheel")[..3], &[2.0 * 16.0 * 0.3, 0.0, 0.0], 1e-9);
        assert_near(&last(&recording, "lift"), &[0.0; 6], 1e-9);
    }
}

/// A passive hinge exerts no torque: a pendulum that swings against a stop, in divided steps too,
/// reads none about its axis.
#[test]
fn a_free_hinge_feels_no_torque() {
    let text = "\
step: {motion: dynamic, duration: 1.2, substeps: auto}
models:
  stop: {joint: fixed, pose: {xyz: [0, 0, -0.2]}, friction: 0.5, shape: {box: {size: [0.02, 0.1, 0.3]}}}
  pendulum:
    bodies:
      rod: {joint: [{hinge: turn, axis: [0, 1, 0], start: -2}], mass: 1, friction: 0.3,
            shape: {box: {size: [0.04, 0.04, 0.3]}, pose: {xyz: [0, 0, -0.35]}}}
      tip: {parent: rod, joint: fixed, mass: 0.5, pose: {xyz: [0.02, 0, -0.5]}, shape: {sphere: {radius: 0.03}}}
sensors: {hinge: {force_torque: pendulum/rod}, tip: {force_torque: pendulum/tip}}
";
    let mut divided = 0;
    for law in LAWS {
        for size in ["0.1", "0.02", "0.005"] {
            let scene = parse(text, &[("step.friction", law), ("step.size", size)]);
            let outcome = scene.run(None, &mut |step| {
                divided += usize::from(step.report.last_substep.is_some());
                ControlFlow::Continue(())
            });
            assert_eq!(outcome.stopped, None);
            let recording = outcome.recording;
            let mut most = 0.0_f64;
            for frame in &recording.frames[1..] {
                let hinge = reading(&recording, frame, "hinge");
                let scale = hinge.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
                assert!(hinge[4].abs() <= 1e-8 * scale, "{law} {size} at {} s: {hinge:?}", frame.t);
                most = most.max(scale);
            }
            assert!(most > 50.0, "the blow is felt: {most} N");
        }
    }
    assert!(divided > 0, "no step was divided");
}

/// A beam on two supports, a hinge and a pin, loads each with half of its weight.
#[test]
fn closed_loops_carry_their_part() {
    let text = "\
step: {duration: 0.5}
models:
  post: {joint: fixed, pose: {xyz: [1, 0, 0]}}
  beam: {joint: [{hinge: turn, axis: [0, 1, 0]}], mass: 4, com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1]}
constraints: [{connect: [beam, post], at: [1, 0, 0]}]
sensors: {left: {force_torque: beam}, right: {force_torque: post}}
";
    everywhere(text, |scene, _| {
        let recording = run(scene);
        for name in ["left", "right"] {
            let seen = last(&recording, name);
            assert_near(&seen[..3], &[0.0, 0.0, -2.0 * G], 1e-6);
            assert_near(&seen[3..], &[0.0; 3], 1e-6);
        }
    });
}

/// Range finders measure along z to the nearest surface of another body.
#[test]
fn range_finders_see_the_nearest_surface() {
    let text = "\
step: {duration: 0.1, motion: quasi_static}
gravity: [0, 0, 0]
models:
  floor: {joint: fixed, pose: {xyz: [0, 0, -1]}, shape: {half_space: {}}}
  mast: {joint: fixed, pose: {xyz: [0, 0, 0.5]}, shape: {box: {size: [0.2, 0.2, 0.2]}}}
  above: {joint: fixed, pose: {xyz: [0.3, 0, 0]}, shape: {SHAPE}}
sensors:
  x: {proximity: mast, at: {rpy: [0, 1.5707963267948966, 0], xyz: [-1, 0.03, -0.46]}, range: 3}
  down: {proximity: mast, at: {rpy: [3.141592653589793, 0, 0]}, range: 3}
  up: {proximity: mast, range: 3}
  inside: {proximity: above, at: {xyz: [-0.3, 0, 0.5]}, range: 3}
";
    // the ray is at y = 0.03, z = 0.04: 0.05 from the axis along x
    let half = |r: f64| (r * r - 0.05_f64 * 0.05).sqrt();
    let shapes = [
        ("sphere: {radius: 0.13}", 1.3 - half(0.13)),
        ("box: {size: [0.1, 0.1, 0.1]}", 1.25),
        ("box: {size: [0.1, 0.1, 0.1]}, pose: {rpy: [0.7853981633974483, 0, 0]}", 1.25),
        ("cylinder: {radius: 0.13, length: 0.2}", 1.3 - (0.13_f64 * 0.13 - 0.03 * 0.03).sqrt()),
        ("capsule: {radius: 0.05, length: 0.2}", 1.3 - (0.05_f64 * 0.05 - 0.03 * 0.03).sqrt()),
        ("ellipsoid: {radii: [0.26, 0.1, 0.1]}", 1.3 - 0.26 * 0.75_f64.sqrt()),
        ("sphere: {radius: 0.049}", 3.0),
    ];
    for (shape, want) in shapes {
        let recording = run(&parse(&text.replace("SHAPE", shape), &[]));
        assert_near(&last(&recording, "x"), &[want], 1e-9);
        assert_near(&last(&recording, "down"), &[1.5], 1e-9);
        assert_near(&last(&recording, "up"), &[3.0], 0.0);
        assert_near(&last(&recording, "inside"), &[0.0], 0.0);
    }
}

/// Bodies that rest, steps by a tolerance and midpoint steps read the same weight.
#[test]
fn every_kind_of_step_reads_the_weight() {
    let text = "\
step: {duration: 1}
models:
  scale: {joint: fixed, pose: {xyz: [0, 0, 0.05]}, shape: {box: {size: [0.4, 0.4, 0.1]}}}
  box: {mass: 2, pose: {xyz: [0.1, 0, 0.15]}, shape: {box: {size: [0.1, 0.1, 0.1]}}}
sensors: {scale: {force_torque: scale}, pad: {pressure: scale, face: +z, unit: N}}
";
    for changes in [
        &[("step.size", "0.01")][..],
        &[("step.size", "0.1"), ("step.integration", "midpoint")],
        &[("step.tolerance", "1e-4")],
    ] {
        let recording = run(&parse(text, changes));
        assert!(recording.frames[0].sensors.is_empty());
        for frame in &recording.frames[1..] {
            let scale = reading(&recording, frame, "scale");
            assert_near(&scale, &[0.0, 0.0, -2.0 * G, 0.0, 0.2 * G, 0.0], 1e-6);
            assert_near(&reading(&recording, frame, "pad"), &[2.0 * G], 1e-6);
        }
    }
}

/// Force and torque sensors of MJCF read what MuJoCo 4.0.0 reads in the same file at rest, in both of
/// which a load that hangs is held upwards. Others are told by name.
#[test]
fn sensors_of_mujoco_read_the_same() {
    let folder = Folder::new("mjcf-sensors");
    folder.file(
        "m.xml",
        "\
<mujoco>
  <option gravity='0 0 -10'/>
  <worldbody>
    <body name='post' pos='0 0 1'>
      <geom size='0.02' mass='1'/>
      <body name='tool' pos='0.1 0 0' euler='0 90 0'>
        <geom name='load' type='box' size='0.01 0.02 0.03' pos='0.05 0 0.2' mass='2'/>
        <site name='flange' pos='0 0.01 0.02' euler='0 0 90'/>
      </body>
    </body>
    <body name='box' pos='2 0 0.1'><freejoint/><geom type='sphere' size='0.1'/></body>
  </worldbody>
  <sensor>
    <force name='f' site='flange'/>
    <torque name='t' site='flange'/>
    <gyro name='turning' site='flange'/>
    <force name='short' site='flange' cutoff='3'/>
  </sensor>
</mujoco>
",
    );
    let text = "gravity: [0, 0, -10]\nstep: {duration: 0.1}\nmodels: {m: {mjcf: m.xml}}\n\
                sensors: {own: {force_torque: m/tool}}\n";
    let scene = Scene::parse(text, "scene.yml", "scene", &folder.0, &[]).unwrap();
    let recording = run(&scene);
    let names: Vec<&str> = recording.sensors.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["m/f", "m/t", "own"]);
    for name in ["m/f", "m/t"] {
        assert_near(&last(&recording, name), &[0.0, 20.0, 0.0, -3.6, 0.0, -0.2], 1e-9);
    }
    let told = scene.warnings.join("\n");
    assert!(told.contains("sensors `turning`, `short`: no force or torque"), "{told}");
}

#[test]
fn mistakes_of_sensors_are_told() {
    let text = "\
models:
  pad: {joint: fixed, shapes: [{name: a, box: {size: [1, 1, 1]}}, {name: b, sphere: {radius: 1}}]}
  bare: {mass: 1}
sensors: {s: SENSOR}
facts: [{at: 1, sensor: s.fx, value: 0, tolerance: 1, source: here}]
";
    for (sensor, says) in [
        ("{force_torque: world}", "sensors.s.force_torque: the world was seen"),
        ("{force_torque: pat}", "unknown body `pat`; valid: `world`, `pad/pad` or `bare/bare`"),
        ("{force_torque: {joint: pat}}", "unknown joint `pat`"),
        (
            "{force_torque: pad, range: 1}",
            "sensors.s.range: a `force_torque` sensor does not have it",
        ),
        ("{at: {}}", "sensors.s: a sensor is one of"),
        ("{force_torque: pad, proximity: pad}", "sensors.s: a sensor is one of"),
        ("{proximity: pad}", "range"),
        ("{proximity: pad, range: 0}", "sensors.s.range: 0 was seen; it must be > 0"),
        ("{pressure: bare, size: [1, 1]}", "a body without a collision shape was seen"),
        ("{pressure: pad, size: [1, 0]}", "0 was seen; both edges must be > 0 m"),
        ("{pressure: pad, face: +x}", "the body has several shapes; add `shape`"),
        ("{pressure: pad, face: +x, shape: b}", "the shape `b` is no box"),
        ("{pressure: pad, face: x, shape: a}", "unknown value `x`"),
        ("{pressure: pad, face: +x, shape: c}", "unknown collision shape `c`"),
        ("{pressure: pad, face: +x, shape: a, size: [1, 1]}", "it was seen beside `face`"),
        ("{pressure: pad, size: [1, 1], taxels: [0, 1]}", "sensors.s.taxels.0"),
        ("{pressure: pad, size: [1, 1], taxels: 4}", "sensors.s.taxels"),
        ("{pressure: pad, size: [1, 1], unit: bar}", "unknown value `bar`"),
        ("{proximity: pad, range: 1}", "facts.0.sensor: unknown reading `s.fx`; valid: `s`"),
    ] {
        let why = match parse_with(&text.replace("SENSOR", sensor), &[]) {
            Ok(_) => panic!("{sensor} is read"),
            Err(why) => why.to_string(),
        };
        assert!(why.contains(says), "{sensor}: {why}");
    }
}
