//! Pang21 Fig. 2, 5 and 6: the 2-D gripper against recorded numbers of another solver.

use quasistep_record::{Contact, Frame, Mode, Recording};
use quasistep_reproduce::reference::{Gripper, Table, gripper_2d};
use std::ops::ControlFlow;
use testkit::scene;

fn record(changes: &[(&str, &str)]) -> Recording {
    let outcome = scene("gripper_2d", changes).run(None, &mut |_| ControlFlow::Continue(()));
    assert!(outcome.stopped.is_none(), "{:?}", outcome.stopped);
    outcome.recording
}

/// Contact of the ball with a body whose name ends with `other`, and its sign: +1 if the ball is B.
fn contact<'a>(recording: &'a Recording, frame: &'a Frame, other: &str) -> (&'a Contact, f64) {
    let name = |i: usize| recording.bodies[i].as_str();
    let found = frame.contacts.iter().find(|c| {
        (name(c.a).starts_with("ball") && name(c.b).ends_with(other))
            || (name(c.b).starts_with("ball") && name(c.a).ends_with(other))
    });
    let c = found.unwrap_or_else(|| panic!("no contact with {other} at t = {}", frame.t));
    (c, if name(c.b).starts_with("ball") { 1.0 } else { -1.0 })
}

/// Compares every numeric column to 1e-9 m and 1e-6 N. Fingers on one joint share friction in any
/// ratio unless the smallest-norm forces are requested; with `shared` only the sum is compared.
fn compare(recording: &Recording, table: &Table, shared: bool) {
    const METRE: f64 = 1e-9;
    const NEWTON: f64 = 1e-6;
    let h = recording.time_step;
    assert_eq!(recording.frames.len(), table.len() + 1);
    let coordinate = |name: &str| {
        recording.coordinates.iter().position(|c| c == name).unwrap_or_else(|| panic!("{name}"))
    };
    let close = |k: usize, what: &str, got: f64, want: f64, tolerance: f64| {
        assert!((got - want).abs() <= tolerance, "row {k}, {what}: {got} against {want}");
    };
    for k in 0..table.len() {
        let frame = &recording.frames[k + 1];
        let column = |name: &str| table.column(name)[k];
        for (ours, theirs) in [
            ("ball.x_c", "xc"),
            ("ball.y_c", "yc"),
            ("gripper.x_l", "xl"),
            ("gripper.x_r", "xr"),
            ("gripper.y", "y"),
        ] {
            close(k, theirs, frame.q[coordinate(ours)], column(theirs), METRE);
        }
        let mut fingers = 0.0;
        for (i, other) in ["left", "right", "ground"].iter().enumerate() {
            let (c, sign) = contact(recording, frame, other);
            let i = i + 1;
            close(k, "phi", c.phi_next, column(&format!("phi{i}")), METRE);
            close(k, "cn", c.normal_force, column(&format!("cn{i}")), NEWTON);
            // friction on the ball: along world z at the fingers, along x on the floor
            let friction = (c.force_W - c.n_AB_W * c.normal_force) * sign;
            let along = if i == 3 { friction.x } else { friction.z };
            let recorded = column(&format!("cf{i}"));
            if shared && i < 3 {
                fingers += along - recorded;
                assert!(along.abs() <= 0.5 * c.normal_force + NEWTON);
            } else {
                close(k, "cf", along, recorded, NEWTON);
            }
            let vn = (c.phi_next - c.phi) / h;
            close(k, "vn", vn, column(&format!("vn{i}")), METRE / h);
            let want = table.text(&format!("mode{i}"))[k];
            let got = match c.mode {
                Mode::Separate => "sep",
                Mode::Stick => "stick",
                Mode::Slide => "slide",
            };
            // at vanishing slip the mode depends on the recording's own threshold; ours is 1e-6 m/s
            let slip = column(&format!("vt{i}")).abs();
            if !(1e-7..1e-5).contains(&slip) {
                assert_eq!(got, want, "row {k}, mode of contact {i}");
            }
        }
        close(k, "cf1 + cf2", fingers, 0.0, NEWTON);
    }
}

#[test]
fn massless_ball_follows_the_recording() {
    compare(&record(&[]), &gripper_2d(Gripper::QpPeerKnots), false);
}

#[test]
fn ball_with_mass_follows_the_recording() {
    compare(&record(&[("step.inertia", "mass")]), &gripper_2d(Gripper::QpPeerKnotsMass), false);
}

/// Exact Coulomb friction, Pang21 (6), on the same scene. Round cones give the same result, because
/// every contact of this planar problem has two edges.
#[test]
fn exact_friction_follows_the_recordings() {
    for (stop, inertia, recorded) in [
        ("0.23", "none", Gripper::LcpPeerKnots),
        ("0.23", "mass", Gripper::LcpPeerKnotsMass),
        ("0.24", "none", Gripper::LcpStopAt024),
        ("0.24", "mass", Gripper::LcpStopAt024Mass),
    ] {
        let knots = format!("[0, 0.08, {stop}, 0.35]");
        // the same speed until the later stop
        let low = if stop == "0.24" { "-0.032" } else { "-0.03" };
        let values = format!(
            "[[-0.106, 0.106, 0], [-0.09, 0.09, 0], [-0.09, 0.09, {low}], [-0.09, 0.09, {low}]]"
        );
        for cone in ["2", "round"] {
            let recording = record(&[
                ("step.friction", "exact"),
                ("step.cone", cone),
                ("step.inertia", inertia),
                ("commands.0.linear.t", &knots),
                ("commands.0.linear.values", &values),
            ]);
            compare(&recording, &gripper_2d(recorded), true);
        }
    }
}

/// Contact begins at 0.03 s and the first sliding step ends at 0.14 s. After the command stops at
/// 0.23 s, the slip speed falls to a third in each step.
#[test]
fn modes_change_when_the_paper_says() {
    let recording = record(&[]);
    let mode_at = |k: usize| contact(&recording, &recording.frames[k], "left").0.mode;
    assert_eq!(mode_at(3), Mode::Separate);
    assert_eq!(mode_at(4), Mode::Stick);
    assert!(contact(&recording, &recording.frames[3], "left").0.phi_next.abs() < 1e-12);
    assert_eq!(mode_at(13), Mode::Stick);
    assert_eq!(mode_at(14), Mode::Slide);
    let z = recording.coordinates.iter().position(|c| c == "gripper.y").unwrap();
    let speed = |k: usize| (recording.frames[k].q[z] - recording.frames[k - 1].q[z]).abs();
    for k in 24..32 {
        let ratio = speed(k - 1) / speed(k);
        assert!(k == 24 || (ratio - 3.0).abs() < 1e-3, "step {k}: {ratio}");
    }
}
