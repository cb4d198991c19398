//! Flat and open meshes are sheets: bodies rest on both sides of them, and nothing goes through.

use crate::common::differences::{Random, Step};
use crate::common::{Folder, expect};
use quasistep::Mode;
use quasistep_record::Frame;
use quasistep_scene::{Scene, SceneError};
use std::f64::consts::{FRAC_PI_2, TAU};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

/// Laws, of motion and of friction.
const LAWS: [[(&str, &str); 2]; 4] = [
    [("step.friction", "exact"), ("step.cone", "round")],
    [("step.friction", "convex"), ("step.cone", "round")],
    [("step.friction", "exact"), ("step.cone", "4")],
    [("step.motion", "dynamic"), ("step.cone", "round")],
];
const SIZES: [&str; 3] = ["0.05", "0.01", "0.002"];

/// An .obj file of a grid of `n` by `m` cells, whose corners `place` puts at (u, v), both from 0 to 1.
fn grid([n, m]: [usize; 2], place: impl Fn(f64, f64) -> [f64; 3]) -> String {
    let mut text = String::new();
    for k in 0..(n + 1) * (m + 1) {
        let [x, y, z] = place((k % (n + 1)) as f64 / n as f64, (k / (n + 1)) as f64 / m as f64);
        let _ = writeln!(text, "v {x} {y} {z}");
    }
    for k in (0..(n + 1) * m).filter(|k| k % (n + 1) < n) {
        let [a, b, c, d] = [k + 1, k + 2, k + n + 3, k + n + 2];
        let _ = writeln!(text, "f {a} {b} {c}\nf {a} {c} {d}");
    }
    text
}

/// A level square of edge `size` (m) of two triangles.
fn plate(size: f64) -> String {
    grid([1, 1], |u, v| [(u - 0.5) * size, (v - 0.5) * size, 0.0])
}

/// A ring about z of radii and heights, the surface of a cone between them.
fn cone([r, z]: [f64; 2], [s, w]: [f64; 2]) -> String {
    grid([24, 4], |u, v| {
        let (sin, cos) = (TAU * u).sin_cos();
        let radius = r + (s - r) * v;
        [radius * cos, radius * sin, z + (w - z) * v]
    })
}

/// A half sphere of radius 0.3 m that is open above, with its lowest point at the origin.
fn bowl() -> String {
    grid([24, 12], |u, v| {
        let ((sin, cos), (high, low)) = ((TAU * u).sin_cos(), (FRAC_PI_2 * v).sin_cos());
        [0.3 * high * cos, 0.3 * high * sin, 0.3 - 0.3 * low]
    })
}

fn load(name: &str, mesh: &str, text: &str, changes: &[(&str, &str)]) -> Result<Scene, SceneError> {
    let folder = Folder::new(name);
    folder.file("sheet.obj", mesh);
    let changes: Vec<(String, String)> =
        changes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Scene::parse(text, "scene.yml", "scene", Path::new(&folder.0), &changes)
}

#[track_caller]
fn end(name: &str, mesh: &str, text: &str, changes: &[(&str, &str)]) -> Frame {
    let scene = load(name, mesh, text, changes).unwrap_or_else(|e| panic!("{changes:?}: {e}"));
    let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
    assert_eq!(outcome.stopped, None, "{changes:?}");
    outcome.recording.frames.last().expect("a run has frames").clone()
}

/// Sum of the forces at all contacts on the second body of each, N, and of the normal forces, N.
fn forces(frame: &Frame) -> ([f64; 3], f64) {
    let mut sum = [0.0; 3];
    for c in &frame.contacts {
        for (k, sum) in sum.iter_mut().enumerate() {
            *sum += c.force_W[k];
        }
    }
    (sum, frame.contacts.iter().map(|c| c.normal_force).sum())
}

/// A box of 0.2 kg on a level square of two triangles weighs 1.962 N. A finger pushes it over their
/// common edge, and it rubs with mu times that, as on a slab. Lengths are times `scale`.
#[test]
fn a_box_slides_over_a_plate_of_two_triangles_as_over_a_slab() {
    for scale in [0.001, 1.0, 1000.0] {
        let m = |x: f64| (x * scale).to_string();
        let text = |ground: &str| {
            format!(
                "\
format: 1
step: {{size: 0.01, duration: 0.4, contact_margin: {}, max_overlap: {}, max_recovery_speed: {}}}
models:
  ground: {{joint: fixed, friction: 0.5, {ground}}}
  box: {{mass: 0.2, friction: 0.5, pose: {{xyz: [{}, {}, {}]}}, shape: {{box: {{size: [{}, {}, {}]}}}}}}
  finger:
    joint: [{{slide: x, axis: [1, 0, 0], role: prescribed}}]
    friction: 0
    pose: {{xyz: [{}, {}, {}]}}
    shape: {{sphere: {{radius: {}}}}}
commands:
  - {{joint: finger.x, expr: \"{}*t\"}}
",
                m(0.02), m(0.001), m(0.1), m(-0.15), m(0.05), m(0.05), m(0.2), m(0.3), m(0.1),
                m(-0.3), m(0.05), m(0.05), m(0.05), m(0.9),
            )
        };
        let slab = format!(
            "pose: {{xyz: [0, 0, {}]}}, shape: {{box: {{size: [{}, {}, {}]}}}}",
            m(-0.5),
            m(2.0),
            m(2.0),
            m(1.0)
        );
        for law in LAWS {
            for size in SIZES {
                let changes = [law[0], law[1], ("step.size", size)];
                let sheet = text("shape: {mesh: {file: sheet.obj}}");
                let own = end("slide", &plate(2.0 * scale), &sheet, &changes);
                let want = end("slide", &plate(1.0), &text(&slab), &changes);
                for (a, b) in own.q.iter().zip(&want.q) {
                    assert!((a - b).abs() < 1e-6 * scale.max(1e-3), "{scale} {changes:?}: {a} {b}");
                }
                // the finger has moved it, over the edge y = x
                assert!(own.q[4] > own.q[5] + 0.01 * scale, "{scale} {changes:?}: {:?}", own.q);
                let on_ground = |frame: &Frame| {
                    let (mut pressed, mut rubbed) = (0.0, 0.0);
                    for c in frame.contacts.iter().filter(|c| c.n_AB_W.z.abs() > 0.9) {
                        pressed += c.normal_force;
                        rubbed += c.force_W.x;
                    }
                    [pressed, rubbed.abs()]
                };
                let [forces, of_slab] = [&own, &want].map(on_ground);
                for (a, b) in forces.into_iter().zip(of_slab) {
                    assert!((a - b).abs() < 1e-4, "{scale} {changes:?}: {forces:?} {of_slab:?}");
                }
                // at 900 m/s convex friction throws it up by `h mu v`, from the slab as well
                if scale < 1000.0 || law[0].1 != "convex" {
                    let [pressed, rubbed] = forces;
                    assert!((pressed - 1.962).abs() < 1e-4, "{scale} {changes:?}: {forces:?}");
                    assert!((rubbed / 0.981 - 1.0).abs() < 0.01, "{scale} {changes:?}: {forces:?}");
                }
            }
        }
    }
}

/// With gravity upwards a box, a ball, a capsule, a hull and a cloud press against a sheet from below
/// with their weight, as they do from above.
#[test]
fn bodies_press_from_both_sides() {
    let corners = "[[-0.1, -0.1, -0.1], [0.1, -0.1, -0.1], [0, 0.1, -0.1], [-0.1, -0.1, 0.1], [0.1, -0.1, 0.1], [0, 0.1, 0.1]]";
    let shapes = [
        "shape: {box: {size: [0.2, 0.2, 0.2]}}".to_owned(),
        "shape: {sphere: {radius: 0.1}}".to_owned(),
        "shape: {capsule: {radius: 0.1, length: 0.1}, pose: {rpy: [1.5707963267948966, 0, 0]}}"
            .to_owned(),
        format!("shape: {{points: {corners}}}"),
        "cloud: {sample: {points: 2000, shapes: [{box: {size: [0.2, 0.2, 0.2]}}]}, radius: 0.001}"
            .to_owned(),
        "cloud: cube.csv".to_owned(),
    ];
    for (k, shape) in shapes.iter().enumerate() {
        for side in [1.0, -1.0] {
            let text = format!(
                "\
format: 1
gravity: [0, 0, {}]
step: {{size: 0.01, duration: 0.3}}
models:
  ground: {{joint: fixed, friction: 0.5, shape: {{mesh: {{file: sheet.obj}}}}}}
  body: {{mass: 0.2, friction: 0.5, pose: {{xyz: [0.02, 0.02, {}]}}, {shape}}}
",
                -9.81 * side,
                0.103 * side,
            );
            for law in LAWS {
                for size in SIZES {
                    let folder = Folder::new("sides");
                    folder.file("sheet.obj", &plate(2.0));
                    let sign = |k: u32, bit: u32| if k >> bit & 1 == 1 { 0.1 } else { -0.1 };
                    let cube: Vec<String> = (0..8)
                        .map(|k| format!("{}, {}, {}", sign(k, 0), sign(k, 1), sign(k, 2)))
                        .collect();
                    folder.file("cube.csv", &cube.join("\n"));
                    let changes = [law[0], law[1], ("step.size", size)]
                        .map(|(k, v)| (k.to_owned(), v.to_owned()));
                    let scene =
                        Scene::parse(&text, "scene.yml", "scene", Path::new(&folder.0), &changes)
                            .unwrap();
                    let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
                    assert_eq!(outcome.stopped, None);
                    let frame = outcome.recording.frames.last().unwrap();
                    let (sum, _) = forces(frame);
                    let what =
                        format!("shape {k}, side {side}, {changes:?}: {sum:?} {:?}", frame.q);
                    assert!((sum[2] - 1.962 * side).abs() < 1e-3, "{what}");
                    assert!((frame.q[6] * side - 0.1).abs() < 2e-3, "{what}");
                }
            }
        }
    }
}

/// A ball lies at the bottom of a bowl and not on its lid; a small ball falls through a funnel, a
/// larger one rests in it.
#[test]
fn bowls_and_funnels_are_hollow() {
    let text = |z: f64, radius: f64| {
        format!(
            "\
format: 1
step: {{size: 0.01, duration: 3, motion: dynamic}}
models:
  ground: {{joint: fixed, friction: 0.3, shape: {{mesh: {{file: sheet.obj}}}}}}
  ball: {{mass: 0.2, friction: 0.3, pose: {{xyz: [0.02, 0.01, {z}]}}, shape: {{sphere: {{radius: {radius}}}}}}}
"
        )
    };
    for size in ["0.02", "0.005"] {
        for friction in ["exact", "convex"] {
            let changes = [("step.size", size), ("step.friction", friction)];
            let frame = end("bowl", &bowl(), &text(0.12, 0.1), &changes);
            // the bottom ring of triangles is 5.1 mm above the lowest point at most
            assert!(frame.q[6] > 0.0999 && frame.q[6] < 0.106, "{changes:?}: {:?}", frame.q);
            let (sum, _) = forces(&frame);
            assert!((sum[2] - 1.962).abs() < 0.05, "{changes:?}: {sum:?}");
            let funnel = cone([0.05, 0.0], [0.3, 0.25]);
            let small = end("funnel", &funnel, &text(0.25, 0.03), &changes);
            assert!(small.q[6] < -1.0, "{changes:?}: {:?}", small.q);
            let large = end("funnel", &funnel, &text(0.25, 0.1), &changes);
            // it touches the cone of 45° at its radius times √2 above the apex
            let height = 0.1 * 2f64.sqrt() - 0.05;
            assert!((large.q[6] - height).abs() < 2e-3, "{changes:?}: {:?} {height}", large.q);
        }
    }
}

/// Whatever the step size, what is shot at a sheet does not get to its other side, from above or from
/// below, over an edge between triangles or beside it; nor does a sheet that falls on a fixed body.
#[test]
fn nothing_goes_through_a_sheet() {
    let shapes = [
        "sphere: {radius: 0.02}",
        "box: {size: [0.1, 0.06, 0.004]}",
        "capsule: {radius: 0.005, length: 0.1}",
        "cylinder: {radius: 0.02, length: 0.01}",
        "points: [[0, 0, 0.03], [0.03, 0, -0.01], [-0.02, 0.02, -0.01], [-0.02, -0.02, -0.01]]",
        "cloud: {sample: {points: 500, shapes: [{sphere: {radius: 0.03}}]}}",
    ];
    for (k, shape) in shapes.iter().enumerate() {
        for side in [1.0, -1.0] {
            for x in [0.0, 0.2] {
                let text = format!(
                    "\
format: 1
gravity: [0, 0, 0]
step: {{size: 0.1, duration: 0.2, motion: dynamic}}
models:
  ground: {{joint: fixed, shape: {{mesh: {{file: sheet.obj}}}}}}
  shot:
    mass: 0.2
    pose: {{xyz: [{x}, 0, {}], rpy: [0.3, 0.2, 0.1]}}
    start_velocity: {{linear: [1, 0.5, {}], angular: [3, -2, 5]}}
    shape: {{{shape}}}
",
                    0.3 * side,
                    -20.0 * side
                );
                for size in ["0.1", "0.02", "0.003"] {
                    let changes = [("step.size", size)];
                    let frame = end("shot", &plate(2.0), &text, &changes);
                    let z = frame.q[6] * side;
                    assert!(z > -0.002 && z < 0.3, "shape {k}, side {side}, {x}, {size}: {z}");
                }
            }
        }
    }
    let falling = "\
format: 1
step: {size: 0.1, duration: 0.6, motion: dynamic}
models:
  post: {joint: fixed, shape: {sphere: {radius: 0.05}}}
  sheet: {mass: 0.2, pose: {xyz: [0, 0, 0.4]}, start_velocity: {linear: [0, 0, -10], angular: [0, 0, 0]}, shape: {mesh: {file: sheet.obj}}}
";
    for size in ["0.1", "0.02", "0.003"] {
        let frame = end(
            "falls",
            &grid([2, 2], |u, v| [u - 0.5, v - 0.5, 0.0]),
            falling,
            &[("step.size", size)],
        );
        assert!((frame.q[6] - 0.05).abs() < 0.003, "{size}: {:?}", frame.q);
    }
}

/// A free sheet of 0.3 kg lies on the floor with a box of 0.2 kg on it: the floor carries both. Its
/// inertia is that of its area.
#[test]
fn a_free_sheet_lies_and_carries() {
    let text = "\
format: 1
step: {size: 0.01, duration: 0.3}
models:
  floor: {joint: fixed, friction: 0.5, shape: {half_space: {}}}
  sheet: {mass: 0.3, friction: 0.5, pose: {xyz: [0, 0, 0.001]}, shape: {mesh: {file: sheet.obj}}}
  box: {mass: 0.2, friction: 0.5, pose: {xyz: [0.1, 0.2, 0.054]}, shape: {box: {size: [0.1, 0.1, 0.1]}}}
collisions: {exclude: [[floor, box]]}
";
    for law in LAWS {
        for size in SIZES {
            let frame = end("free", &plate(1.0), text, &[law[0], law[1], ("step.size", size)]);
            let on = |z: f64| {
                frame
                    .contacts
                    .iter()
                    .filter(|c| c.n_AB_W.z * z > 0.9)
                    .map(|c| c.normal_force)
                    .sum::<f64>()
            };
            // both pairs have their normals upwards, from the body named first
            let all = on(1.0) + on(-1.0);
            assert!((all - 9.81 * (0.5 + 0.2)).abs() < 2e-3, "{law:?} {size}: {all}");
            assert!(
                frame.q[6].abs() < 1e-3 && (frame.q[13] - 0.05).abs() < 2e-3,
                "{law:?} {size}: {:?}",
                frame.q
            );
        }
    }
    let scene = load("free", &plate(1.0), text, &[]).unwrap();
    let body = scene.system.model().body(2);
    let inertia = body.inertia.inertia;
    for (k, want) in [0.3 / 12.0, 0.3 / 12.0, 0.3 / 6.0].into_iter().enumerate() {
        assert!((inertia.rows[k][k] - want).abs() < 1e-15, "{inertia:?}");
    }
}

/// A fold is a roof from above and a gutter from below; a ball in it touches both sides.
#[test]
fn a_ball_in_a_gutter_is_carried_by_both_sides() {
    let slope: f64 = 0.4;
    let text = "\
format: 1
step: {size: 0.01, duration: 1}
models:
  ground: {joint: fixed, friction: 0.5, shape: {mesh: {file: sheet.obj}}}
  ball: {mass: 3, friction: 0.5, pose: {xyz: [0.02, 0.03, 0.12]}, shape: {sphere: {radius: 0.1}}}
";
    let gutter = grid([2, 3], |u, v| [u - 0.5, v - 0.5, slope * (u - 0.5).abs()]);
    for size in ["0.02", "0.005"] {
        for law in LAWS {
            let changes = [law[0], law[1], ("step.size", size)];
            let frame = end("gutter", &gutter, text, &changes);
            let (sum, normal) = forces(&frame);
            let weight = 3.0 * 9.81;
            let most = weight * (1.0 + slope * slope).sqrt();
            assert!((sum[2] - weight).abs() < 2e-3 * weight, "{changes:?}: {sum:?}");
            assert!(normal <= most * 1.002, "{changes:?}: {normal} {most}");
            let height = 0.1 * (1.0 + slope * slope).sqrt();
            assert!((frame.q[6] - height).abs() < 1e-3, "{changes:?}: {:?}", frame.q);
        }
    }
}

/// Derivatives of a step with contact between a ball and a free sheet on posts are those of differences.
#[test]
fn steps_with_sheets_have_derivatives() {
    let text = "\
format: 1
step: {size: 0.01, duration: 1, friction: convex, cone: 4}
models:
  ground: {joint: fixed, friction: 0.5, shape: {mesh: {file: sheet.obj}}}
  ball: {mass: 3, friction: 0.5, pose: {xyz: [0.013, 0.031, 0.112]}, shape: {sphere: {radius: 0.1}}}
  push: {joint: [{slide: x, axis: [1, 0, 0], stiffness: 500}], pose: {xyz: [-0.15, 0.03, 0.12]}, mass: 0.2, gravity: false, friction: 0.2, shape: {sphere: {radius: 0.05}}}
commands:
  - {joint: push.x, expr: \"0.2*t\"}
";
    let wavy = grid([9, 9], |u, v| {
        let (x, y) = (u - 0.5, v - 0.5);
        [x, y, 0.05 * (5.0 * x).sin() + 0.04 * (6.0 * y + x).cos() - 0.04]
    });
    let mut random = Random(3);
    for mode in [Mode::Exact, Mode::Smooth { kappa: 1e-3 }] {
        let scene = load("differentiate", &wavy, text, &[]).unwrap();
        assert!(Step::new(scene, mode, true, &mut random).check("wavy", true, &mut random) > 3);
    }
}

/// What stands where says what becomes of a mesh: solids stay hulls, `parts` overrides, MJCF keeps
/// MuJoCo's hull unless it is flat, SDFormat's scenery is as open as its mesh.
#[test]
fn open_meshes_are_told_and_chosen() {
    let body = |parts: &str| {
        format!(
            "format: 1\nmodels:\n  g: {{joint: fixed, shape: {{mesh: {{file: sheet.obj{parts}}}}}}}\n"
        )
    };
    let kind = |mesh: &str, parts: &str| {
        let scene = load("kinds", mesh, &body(parts), &[]).unwrap_or_else(|e| panic!("{e}"));
        (scene.outline(), scene.notes.join("\n"))
    };
    let (outline, notes) = kind(&bowl(), "");
    assert!(outline.contains("sheet of 552 triangles"), "{outline}");
    assert!(
        notes
            .contains("scene.yml:3: sheet.obj is an open sheet of 552 triangles without thickness"),
        "{notes}"
    );
    assert!(kind(&bowl(), ", parts: hull").0.contains("hull of"));
    assert!(kind(&plate(1.0), "").0.contains("sheet of 2 triangles"));
    let box_ = |lid: f64| {
        // a closed box, of which `lid` of the top is missing
        let mut text = String::new();
        for k in 0..8 {
            let _ = writeln!(text, "v {} {} {}", k & 1, k >> 1 & 1, k >> 2);
        }
        text += "f 1 3 4 2\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n";
        let _ = writeln!(text, "v {lid} 0 1\nv {lid} 1 1\nf 9 6 8 10");
        text + if lid > 0.0 { "" } else { "f 5 9 10 7\n" }
    };
    let (outline, notes) = kind(&box_(0.0), "");
    assert!(outline.contains("hull of 8 points") && notes.is_empty(), "{outline} {notes}");
    let (outline, notes) = kind(&box_(0.2), "");
    assert!(outline.contains("hull of 8 points"), "{outline}");
    assert!(notes.contains("its surface is open over 3.3 % of its area"), "{notes}");
    assert!(kind(&box_(0.9), "").0.contains("sheet of"));
    assert!(kind(&box_(0.0), ", parts: surface").1.contains("a closed sheet"));

    let folder = Folder::new("formats");
    folder.file("plate.obj", &plate(1.0));
    folder.file("bowl.obj", &bowl());
    let ball = "<body name='b' pos='0 0 1'><freejoint/><geom size='0.1' mass='1'/></body>";
    for (mesh, own) in [("plate", "sheet of 2 triangles"), ("bowl", "hull of")] {
        folder.file(
            "m.xml",
            &format!(
                "<mujoco><asset><mesh name='p' file='{mesh}.obj'/></asset><worldbody>\
                 <geom type='mesh' mesh='p'/>{ball}</worldbody></mujoco>"
            ),
        );
        let text = "format: 1\nmodels:\n  m: {mjcf: m.xml}\n";
        let scene = Scene::parse(text, "scene.yml", "scene", Path::new(&folder.0), &[]).unwrap();
        assert!(scene.outline().contains(own), "{}", scene.outline());
    }
    let sdf = |is_static: bool| {
        format!(
            "<sdf version='1.9'><model name='m'><static>{is_static}</static><link name='l'><inertial><mass>1</mass>\
             <inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial><collision name='c'><geometry><mesh>\
             <uri>bowl.obj</uri></mesh></geometry></collision></link></model></sdf>"
        )
    };
    for (is_static, given, own) in [
        (true, "", "sheet of 552"),
        (false, "", "hull of"),
        (false, ", collision_mesh: surface", "sheet of 552"),
        (true, ", collision_mesh: hull", "hull of"),
    ] {
        folder.file("m.sdf", &sdf(is_static));
        let text = format!("format: 1\nmodels:\n  m: {{sdf: m.sdf{given}}}\n");
        let scene = Scene::parse(&text, "scene.yml", "scene", Path::new(&folder.0), &[]).unwrap();
        assert!(scene.outline().contains(own), "{is_static} {given}: {}", scene.outline());
    }
}

#[test]
fn bad_sheets_are_told() {
    let shape = "shape: {mesh: {file: sheet.obj";
    for (body, place, says) in [
        (
            format!("density: 1000, {shape}}}}}"),
            "models.g.density:",
            "give `mass`, which is spread evenly over its area",
        ),
        (
            format!("mass: 1, {shape}, parts: hull}}}}"),
            "models.g.shape.mesh.file:",
            "the points are flat",
        ),
        (
            format!("mass: 1, {shape}, parts: surface, simplify: 0.1}}}}"),
            "models.g.shape.mesh.simplify:",
            "corners of hulls",
        ),
        (
            format!("mass: 1, {shape}, parts: shell}}}}"),
            "models.g.shape.mesh.parts:",
            "surface (a sheet without thickness)",
        ),
        (
            "mass: 1, shapes: [{mesh: {file: sheet.obj}}, {sphere: {radius: 1}}]".to_owned(),
            "models.g.mass:",
            "give `com` and `inertia` too",
        ),
    ] {
        let text = format!("format: 1\nmodels:\n  g: {{{body}}}\n");
        expect(load("bad", &plate(1.0), &text, &[]), &format!("scene.yml:3: {place}"), &[says]);
    }
    let two = format!(
        "format: 1\nmodels:\n  g: {{joint: fixed, {shape}}}}}}}\n  h: {{mass: 1, {shape}}}}}}}\n"
    );
    expect(
        load("bad", &plate(1.0), &two, &[]),
        "scene.yml:2:",
        &["`g/g` and `h/h`", "may touch", "collisions: exclude"],
    );
    assert!(
        load("bad", &plate(1.0), &format!("{two}collisions: {{exclude: [[g, h]]}}\n"), &[]).is_ok()
    );
}
