//! Trinkle05 section 5: a fence pushes a particle over a floor, with exact Coulomb friction.

use quasistep_math::Vec3;
use quasistep_record::{Frame, Recording};
use quasistep_reproduce::reference::{FenceModel, fence_particle};
use std::ops::ControlFlow;
use testkit::scene;

const H: f64 = 0.01;
const G: f64 = 9.81;

fn record(cone: &str, mu2: f64, mu3: f64) -> Recording {
    let (mu2, mu3) = (mu2.to_string(), mu3.to_string());
    let changes = [
        ("step.cone", cone),
        ("friction.pairs.1.mu", mu2.as_str()),
        ("friction.pairs.2.mu", mu3.as_str()),
    ];
    let outcome = scene("fence_particle", &changes).run(None, &mut |_| ControlFlow::Continue(()));
    assert!(outcome.stopped.is_none(), "{cone}, mu2 {mu2}: {:?}", outcome.stopped);
    outcome.recording
}

fn place(recording: &Recording, frame: &Frame) -> Vec3 {
    let q = |name| frame.q[recording.coordinate(name).unwrap()];
    Vec3::new(q("particle.x"), q("particle.y"), q("particle.z"))
}

/// Normal force and friction force of a body on the particle; zero where they are apart.
fn force(recording: &Recording, frame: &Frame, by: &str) -> (f64, Vec3) {
    let name = |i: usize| recording.bodies[i].starts_with(by);
    let of = |c: &&quasistep_record::Contact| name(c.a) || name(c.b);
    frame.contacts.iter().find(of).map_or((0.0, Vec3::ZERO), |c| {
        let sign = if name(c.a) { 1.0 } else { -1.0 };
        (c.normal_force, (c.force_W - c.n_AB_W * c.normal_force) * sign)
    })
}

/// The reference's pyramids have edges along x and y on the floor and along y at the fence. Ours do
/// too, because a contact's first edge lies along the world axis least aligned with its normal.
#[test]
fn every_recording_is_met() {
    for (model, cone, tolerance) in [
        (FenceModel::Dlc4, "4", 1e-9),
        (FenceModel::Dlc8, "8", 1e-9),
        (FenceModel::Dqc, "round", 1e-8),
    ] {
        for rubs in [false, true] {
            let table = fence_particle(model, rubs);
            let steps = table.column("step");
            let columns: Vec<(&str, Vec<f64>)> =
                table.names()[1..].iter().map(|name| (name.as_str(), table.column(name))).collect();
            let recording = record(cone, if rubs { 0.5 } else { 0.0 }, 0.5);
            assert_eq!(recording.frames.len(), 701);
            let mut row = 0;
            for (k, frame) in recording.frames.iter().enumerate().skip(1) {
                if row + 1 < steps.len() && steps[row + 1] == k as f64 {
                    row += 1;
                }
                let p = place(&recording, frame);
                let (cn_fence, fence) = force(&recording, frame, "fence");
                let (cn_floor, floor) = force(&recording, frame, "floor");
                assert!(p.z.abs() <= tolerance && fence.z.abs() <= tolerance);
                assert_eq!(force(&recording, frame, "wall").0, 0.0);
                let ours = [p.x, p.y, cn_fence, cn_floor, fence.y, floor.x, floor.y];
                for ((name, column), ours) in columns.iter().zip(ours) {
                    let off = (ours - column[row]).abs();
                    assert!(off <= tolerance, "{model:?} {rubs} step {k}: {name} off by {off:e}");
                }
            }
            assert_eq!(row + 1, steps.len());
        }
    }
}

/// Simulates the fence, which moves in a straight line within each step from `x_0`. Returns, for
/// each step in which it pushes, the index and the distance.
fn pushes() -> Vec<(usize, f64)> {
    let mut x = 0.6;
    let mut all = Vec::new();
    for k in 0..700 {
        let t = k as f64 * H;
        let face = 0.5 + 0.4 * (t.sin() + H * t.cos());
        if face > x {
            all.push((k + 1, face - x));
            x = face;
        }
    }
    all
}

/// Round cones: in each pushed step the particle moves along the fence as far as friction carries
/// it, `dy = min(mu2 dx, h dy_fence/dt)`, for any friction of the floor.
#[test]
fn a_rubbing_particle_leaves_at_its_friction_angle() {
    for (mu2, mu3) in [(0.0, 0.5), (0.2, 0.5), (0.5, 0.5), (0.9, 0.5), (1.5, 0.5), (3.0, 0.3)] {
        let recording = record("round", mu2, mu3);
        let pushed = pushes();
        let (mut x, mut y) = (0.6, 0.0);
        for (k, dx) in &pushed {
            let dy = (mu2 * dx).min(H);
            x += dx;
            y += dy;
            let frame = &recording.frames[*k];
            let p = place(&recording, frame);
            assert!((p.x - x).abs() < 1e-9 && (p.y - y).abs() < 1e-8, "{mu2}, step {k}: {p:?}");
            let (cn_floor, _) = force(&recording, frame, "floor");
            assert!((cn_floor - G).abs() < 1e-8);
            // the floor's friction opposes (dx, dy) and has the size mu3 m g
            let (cn_fence, _) = force(&recording, frame, "fence");
            let expected = mu3 * G * dx / dx.hypot(dy);
            assert!((cn_fence - expected).abs() < 1e-8, "{mu2}, step {k}: {cn_fence} N");
        }
        let end = place(&recording, recording.frames.last().unwrap());
        assert!((end.x - 0.900_019_87).abs() < 1e-8, "{end:?}");
        let y_end = if mu2 == 3.0 { 0.870_905_041_9 } else { mu2 * (end.x - 0.6) };
        assert!((end.y - y_end).abs() < 1e-8, "mu2 = {mu2}: {end:?}");
    }
}

/// Pyramids: slip along the bisector of two edges of the floor's pyramid is preferred, so that the
/// particle moves at 45° with 4 edges, and at 22.5° or 67.5° with 8.
#[test]
fn a_pyramid_moves_the_particle_along_its_own_angles() {
    for (cone, mu2, y_end) in [
        ("4", 0.0, 0.0),
        ("4", 0.2, 0.300_019_9),
        ("4", 0.9, 0.300_019_9),
        ("4", 1.5, 0.300_019_9),
        ("8", 0.0, 0.0),
        ("8", 0.2, 0.124_272_3),
        ("8", 0.9, 0.124_272_3),
        ("8", 1.5, 0.724_312_0),
    ] {
        let recording = record(cone, mu2, 0.5);
        let end = place(&recording, recording.frames.last().unwrap());
        assert!((end.y - y_end).abs() < 1e-7, "{cone} edges, mu2 = {mu2}: {end:?}");
    }
}

/// The convex step of the same cones lifts the particle off the floor and off the fence. Exact
/// friction does not.
#[test]
fn only_the_convex_step_floats() {
    let exact = record("round", 0.5, 0.5);
    assert!(exact.frames.iter().all(|f| place(&exact, f).z.abs() < 1e-12));
    let scene = scene("fence_particle", &[("step.friction", "convex")]);
    let convex = scene.run(None, &mut |_| ControlFlow::Continue(())).recording;
    let height = convex.frames.iter().map(|f| place(&convex, f).z).fold(0.0, f64::max);
    assert!(height > 1e-3, "{height} m");
}
