//! Scanned bodies: effect of the choice of contact points on rest.

use crate::common::World;
use quasistep::{Inertia, Relaxation, Role, State, StepInput, StepParams, Wrench};
use quasistep_geometry::{Choice, PointCloud, Shape};
use quasistep_math::{Pose, Quat, Vec3};
use quasistep_model::{JointKind, WORLD};

/// Point cloud of a cube of 0.1 m with `n` by `n` points on each face and noise of up to `noise` m.
fn scanned_cube(n: u32, noise: f64) -> Vec<Vec3> {
    let mut state = 7_u64;
    let mut off = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        noise * (2.0 * (state >> 11) as f64 / (1u64 << 53) as f64 - 1.0)
    };
    let at = |i: u32| 0.05 * (2.0 * f64::from(i) / f64::from(n - 1) - 1.0);
    let mut points = Vec::new();
    for axis in 0..3 {
        for i in 0..n * n {
            for side in [-0.05, 0.05] {
                let mut p = Vec3::ZERO;
                p[axis] = side + off();
                p[(axis + 1) % 3] = at(i % n) + off();
                p[(axis + 2) % 3] = at(i / n) + off();
                points.push(p);
            }
        }
    }
    points
}

/// Rest of a tilted cube of 1 kg, 3 s after its release.
#[derive(Debug)]
struct Rest {
    /// Angle between an axis of the cube and the vertical, in rad.
    tilt: f64,
    /// Largest rotation between two steps in the last second, in rad.
    rocking: f64,
    /// Largest overlap of any point of the cloud in the last second, in m.
    overlap: f64,
}

fn rest(points: &[Vec3], choice: Choice, tilt: Vec3) -> Rest {
    let mut world = World::new();
    world.floor(0.5);
    let cube = world.body("cube", WORLD, JointKind::Free, 1.0, Role::Passive);
    let cloud = PointCloud::new(points, None, 0.0, choice).unwrap();
    world.shape(cube, Shape::Cloud(cloud.into()), [0.0; 3], 0.5);
    let system = world.build();
    let mut q = system.model().neutral_q();
    let start = Quat::from_rotation_vector(tilt);
    let lowest = points.iter().map(|p| start.rotate(*p).z).fold(f64::INFINITY, f64::min);
    q[..4].copy_from_slice(&[start.w, start.x, start.y, start.z]);
    q[6] = -lowest;
    let mut state = State::at_rest(0.0, q);
    let mut work = system.create_workspace();
    let params = StepParams {
        inertia: Inertia::Mass,
        relaxation: Relaxation::Step,
        ..StepParams::default()
    };
    let pose = |q: &[f64]| {
        let rotation = Quat::try_normalize([q[0], q[1], q[2], q[3]]).unwrap();
        Pose::new(rotation, Vec3::new(q[4], q[5], q[6]))
    };
    let (mut rocking, mut overlap, mut last) = (0.0_f64, 0.0_f64, pose(&state.q));
    for step in 0..300 {
        system.step(&mut state, &[], &params, &mut work).unwrap();
        let now = pose(&state.q);
        if step >= 200 {
            let turn = (now.rotation * last.rotation.inverse()).to_rotation_vector().norm();
            let lowest = points.iter().map(|p| now.transform_point(*p).z).fold(0.0, f64::min);
            rocking = rocking.max(turn);
            overlap = overlap.max(-lowest);
        }
        last = now;
    }
    let tilt = [Vec3::X, Vec3::Y, Vec3::Z]
        .map(|axis| last.rotation.rotate(axis).dot(Vec3::Z).abs().min(1.0).acos())
        .into_iter()
        .fold(f64::INFINITY, f64::min);
    Rest { tilt, rocking, overlap }
}

/// Why `Spread` is the default choice. A tilted cube then tips onto its face and rests, whether its
/// scan is exact, noisy, fine or coarse. On its five nearest points it never rests: they lie on one
/// side of its centre, so it tips over them within a step and back in the next.
#[test]
fn a_scanned_cube_rests_on_points_that_span_its_face() {
    // noise in m: none, single precision, and two scanners
    for (n, noise) in [(8, 0.0), (40, 0.0), (40, 1e-7), (40, 1e-5), (40, 1e-4)] {
        let points = scanned_cube(n, noise);
        for tilt in [Vec3::ZERO, Vec3::new(0.01, 0.004, 0.0), Vec3::new(0.05, 0.03, 0.2)] {
            let span = rest(&points, Choice::Spread { k: 5 }, tilt);
            // noise under one edge of the face tilts the cube by this much
            assert!(span.tilt < 1e-9 + 2.0 * noise / 0.05, "{n} {noise} {span:?}");
            // points that differ by a millionth of the cube's size may alternate as contacts
            assert!(span.rocking < 1e-6 && span.overlap < 1e-7, "{n} {noise} {span:?}");
            let near = rest(&points, Choice::Nearest { k: 5 }, tilt);
            assert!(near.rocking > 1e-3 && near.overlap > 1e-4, "{n} {noise} {near:?}");
        }
    }
}

/// A cloud of a cube stands, slides and tips as the box does.
#[test]
fn a_cloud_slides_and_tips_as_its_box_does() {
    let points = scanned_cube(30, 0.0);
    let cloud = PointCloud::new(&points, None, 0.0, Choice::default()).unwrap();
    // weight 9.81 N: slides above mu times the weight, tips above half of it if pushed at the top
    for (force, height) in [(4.7, 0.05), (5.1, 0.05), (6.0, -0.05), (4.0, -0.05)] {
        let [as_cloud, as_box] =
            [Shape::Cloud(cloud.clone().into()), Shape::Box { half: [0.05; 3] }].map(|shape| {
                let mut world = World::new();
                world.floor(0.55);
                let cube = world.body("cube", WORLD, JointKind::Free, 1.0, Role::Passive);
                world.shape(cube, shape, [0.0; 3], 0.55);
                let system = world.build();
                let mut q = system.model().neutral_q();
                q[6] = 0.05;
                let mut state = State::at_rest(0.0, q);
                let mut work = system.create_workspace();
                let params = StepParams {
                    inertia: Inertia::Mass,
                    relaxation: Relaxation::Step,
                    ..StepParams::default()
                };
                let wrench = Wrench {
                    body: cube,
                    p_B: Vec3::new(0.0, 0.0, height),
                    force_W: Vec3::X * force,
                    torque_W: Vec3::ZERO,
                };
                let input = StepInput { wrenches: vec![wrench], ..StepInput::default() };
                for _ in 0..5 {
                    system.step_with(&mut state, &input, &params, &mut work).unwrap();
                }
                state.q
            });
        for (x, y) in as_cloud.iter().zip(&as_box) {
            assert!((x - y).abs() < 1e-7, "{force} {height}: {as_cloud:?} {as_box:?}");
        }
    }
}
