//! Tracy Fig. 3: the spun ball against recorded numbers of another solver.

use quasistep_record::Mode;
use quasistep_reproduce::reference::{TORSION_STEPS, torsion};
use std::ops::ControlFlow;
use testkit::scene;

/// Compares every column, with pyramids and with round cones. The recording's friction torque
/// opposes the spin.
#[test]
fn every_column_follows_the_recording() {
    const TOLERANCE: f64 = 1e-8;
    for h in TORSION_STEPS {
        for hold in [false, true] {
            let table = torsion(h, hold);
            for cone in ["4", "8", "round"] {
                let duration = if hold { "2" } else { "1" };
                let h = h.to_string();
                let changes =
                    [("step.size", h.as_str()), ("step.duration", duration), ("step.cone", cone)];
                let outcome =
                    scene("sphere_spin", &changes).run(None, &mut |_| ControlFlow::Continue(()));
                assert!(outcome.stopped.is_none(), "{:?}", outcome.stopped);
                let recording = &outcome.recording;
                assert_eq!(recording.frames.len(), table.len() + 1);
                let ball = recording.body("ball/ball").unwrap();
                let mut theta = 0.0;
                for k in 0..table.len() {
                    let (before, frame) = (&recording.frames[k], &recording.frames[k + 1]);
                    let turn = before.X_WB[ball].rotation.inverse() * frame.X_WB[ball].rotation;
                    let turn = turn.to_rotation_vector().z;
                    theta += turn;
                    let contact = &frame.contacts[0];
                    let height = frame.X_WB[ball].translation.z - 0.1;
                    for (name, got) in [
                        ("t_end", frame.t),
                        ("phi_m", height),
                        ("phi_m", contact.phi_next),
                        ("theta_z_rad", theta),
                        ("omega_z_rad_s", turn / recording.time_step),
                        ("normal_force_N", contact.normal_force),
                        ("friction_torque_Nm", -contact.spin),
                    ] {
                        let want = table.column(name)[k];
                        let wrong = (got - want).abs();
                        assert!(wrong <= TOLERANCE, "h = {h}, {cone}, row {k}, {name}: {wrong:e}");
                    }
                }
            }
        }
    }
}

/// The ball rests up to a torque of `mu_spin m g`, and then spins steadily at `phi = mu_spin omega
/// h`.
#[test]
fn the_ball_rests_until_its_friction_gives_way() {
    let outcome = scene("sphere_spin", &[]).run(None, &mut |_| ControlFlow::Continue(()));
    let recording = &outcome.recording;
    let ball = recording.body("ball/ball").unwrap();
    for frame in &recording.frames[1..] {
        let spins = frame.X_WB[ball].rotation.to_rotation_vector().z.abs() > 1e-12;
        // 0.05 m · 1 kg · 9.81 m/s² = 0.4905 N·m, reached at 0.4905 s
        assert_eq!(spins, frame.t > 0.4905, "at {} s", frame.t);
        assert_eq!(frame.contacts[0].mode == Mode::Slide, spins);
    }
}
