//! Point clouds as bodies: a grasp with and without torsional friction, and the same body as shapes,
//! as a mesh and as a cloud.

use quasistep_math::{Pose, Vec3};
use quasistep_record::Recording;
use quasistep_scene::Scene;
use std::f64::consts::{PI, TAU};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use testkit::scene;

fn record(scene: &Scene) -> Recording {
    let outcome = scene.run(None, &mut |_| ControlFlow::Continue(()));
    assert!(outcome.stopped.is_none(), "{:?}", outcome.stopped);
    outcome.recording
}

/// Largest rotation of a body from its orientation at time `from`, in degrees.
fn swing(recording: &Recording, body: &str, from: f64) -> f64 {
    let b = recording.body(body).unwrap();
    let frames: Vec<_> = recording.frames.iter().filter(|f| f.t >= from - 1e-9).collect();
    let start = frames[0].X_WB[b].rotation;
    let turned =
        |pose: &Pose| (start.inverse() * pose.rotation).to_rotation_vector().norm().to_degrees();
    frames.iter().map(|f| turned(&f.X_WB[b])).fold(0.0, f64::max)
}

/// Tracy Fig. 1: between two plates for 10 s under gravity, the rabbit does not move. Without
/// torsional friction it swings about the contact points.
#[test]
fn torsional_friction_keeps_the_rabbit_from_swinging() {
    for cone in ["4", "round"] {
        let with = record(&scene("bunny_grasp", &[("step.cone", cone)]));
        let turned = swing(&with, "bunny/bunny", 2.0);
        assert!(turned < 0.1, "{cone}: {turned}° with torsional friction");
        let without = [("step.cone", cone), ("friction.pairs.0.mu_spin", "0")];
        let turned = swing(&record(&scene("bunny_grasp", &without)), "bunny/bunny", 2.0);
        assert!(turned > 30.0, "{cone}: {turned}° without");
    }
}

/// A tripod of three balls, pushed over a floor by two balls of which one is off centre. `shape`
/// describes the tripod.
fn pushed_tripod(shape: &str, dir: &std::path::Path) -> Recording {
    let text = format!(
        "step: {{size: 0.02, duration: 2, inertia: mass, cone: round}}
models:
  floor: {{joint: fixed, friction: 0.4, shape: {{half_space: {{}}}}}}
  body:
    mass: 0.5
    inertia: [4.0e-4, 4.0e-4, 6.0e-4]
    com: [0, 0, 0.03]
    friction: 0.4
    {shape}
  pusher:
    joint: [{{slide: x, axis: [1, 0, 0], stiffness: 2000, start: -0.13}}]
    gravity: false
    friction: 0
    shapes:
      - {{sphere: {{radius: 0.015}}, pose: {{xyz: [0, 0.022, 0.03]}}}}
      - {{sphere: {{radius: 0.015}}, pose: {{xyz: [0, -0.02, 0.035]}}}}
collisions: {{exclude: [[pusher, floor]]}}
commands: [{{joint: pusher.x, expr: \"-0.13 + 0.05*t\"}}]
"
    );
    let scene =
        Scene::parse(&text, "tripod.yml", "tripod", dir, &[]).unwrap_or_else(|e| panic!("{e}"));
    record(&scene)
}

const RADIUS: f64 = 0.03;

fn centres() -> [Vec3; 3] {
    [0.0, 1.0, 2.0].map(|k: f64| {
        let (s, c) = (TAU / 3.0 * k + PI).sin_cos();
        Vec3::new(0.05 * c, 0.05 * s, RADIUS)
    })
}

/// The balls as an `.obj` file with one group each, of `2 n` meridians and `n` parallels.
fn meshes(n: usize) -> String {
    let mut text = String::new();
    for (k, centre) in centres().into_iter().enumerate() {
        let first = k * (2 * n * (n - 1) + 2) + 1;
        let _ = writeln!(text, "o ball_{k}");
        let mut vertex = |d: Vec3| {
            let p = centre + d * RADIUS;
            let _ = writeln!(text, "v {} {} {}", p.x, p.y, p.z);
        };
        for i in 1..n {
            let (s, c) = (PI * i as f64 / n as f64).sin_cos();
            for j in 0..2 * n {
                let (t, u) = (PI * j as f64 / n as f64).sin_cos();
                vertex(Vec3::new(s * u, s * t, -c));
            }
        }
        vertex(-Vec3::Z);
        vertex(Vec3::Z);
        let at = |i: usize, j: usize| first + (i - 1) * 2 * n + j % (2 * n);
        let (low, high) = (first + 2 * n * (n - 1), first + 2 * n * (n - 1) + 1);
        for j in 0..2 * n {
            let _ = writeln!(text, "f {low} {} {}", at(1, j + 1), at(1, j));
            let _ = writeln!(text, "f {high} {} {}", at(n - 1, j), at(n - 1, j + 1));
            for i in 1..n - 1 {
                let quad = [at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)];
                let _ = writeln!(text, "f {} {} {} {}", quad[0], quad[1], quad[2], quad[3]);
            }
        }
    }
    text
}

#[test]
fn shapes_mesh_and_cloud_of_one_body_move_alike() {
    let dir = std::env::temp_dir().join(format!("quasistep-tripod-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("tripod.obj"), meshes(16)).unwrap();
    let balls: Vec<String> = centres()
        .iter()
        .map(|c| {
            format!("{{sphere: {{radius: {RADIUS}}}, pose: {{xyz: [{}, {}, {}]}}}}", c.x, c.y, c.z)
        })
        .collect();
    let balls = balls.join(", ");
    let points = 60_000;
    let shapes = pushed_tripod(&format!("shapes: [{balls}]"), &dir);
    let mesh = pushed_tripod("shape: {mesh: {file: tripod.obj, parts: groups}}", &dir);
    let cloud = pushed_tripod(
        &format!("cloud: {{points: 12, sample: {{points: {points}, shapes: [{balls}]}}}}"),
        &dir,
    );
    std::fs::remove_dir_all(&dir).unwrap();

    let body = shapes.body("body/body").unwrap();
    let end = |r: &Recording| r.frames.last().unwrap().X_WB[body];
    assert!((end(&shapes).translation).norm() > 0.03, "it was pushed");
    // spacing of samples on three balls, and of vertices of the mesh
    let sampling = (12.0 * PI * RADIUS * RADIUS / f64::from(points)).sqrt();
    for (name, other, distance) in [("cloud", cloud, sampling), ("mesh", mesh, PI * RADIUS / 16.0)]
    {
        for (a, b) in shapes.frames.iter().zip(&other.frames) {
            let (a, b) = (a.X_WB[body], b.X_WB[body]);
            // distance of the centre and the feet from those of the other run
            let turn = (a.rotation.inverse() * b.rotation).to_rotation_vector().norm();
            let apart = (a.translation - b.translation).norm().max(0.05 * turn);
            eprintln!("{name} {apart:e} {distance:e}");
            assert!(
                apart <= distance,
                "{name}: {apart:.2e} m apart, sampled every {distance:.2e} m"
            );
        }
    }
}
