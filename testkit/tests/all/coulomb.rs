//! Shipped scenes with exact Coulomb friction: they run to the end, and sliding contacts do not
//! separate.

use quasistep::{ContactMode, Tally};
use std::ops::ControlFlow;
use testkit::scene;

/// Duration in s of each scene. The scene of fifty boxes is left out.
const SCENES: [(&str, &str); 11] = [
    ("gripper_2d", ""),
    ("four_bar_gripper", ""),
    ("planar_push", ""),
    ("box_pivot", ""),
    ("pinch", ""),
    ("door", ""),
    ("sphere_spin", ""),
    ("bunny_grasp", "6"),
    ("mug_handle", ""),
    ("iiwa_stacking", ""),
    ("million_points", "1"),
];

/// Largest gap of a loaded contact that did not overlap before: 1 nm, the inconsistency of the rows
/// of a rotating patch.
const CLOSED: f64 = 1e-9;
/// Largest acceptable residual of the balance of forces, in N.
const BALANCE: f64 = 1e-8;

#[test]
fn scenes_run_to_their_end_and_sliding_contacts_stay_closed() {
    for (name, seconds) in SCENES {
        for cone in ["4", "round"] {
            let mut changes = vec![("step.friction", "exact"), ("step.cone", cone)];
            if !seconds.is_empty() {
                changes.push(("step.duration", seconds));
            }
            let scene = scene(name, &changes);
            let mut tally = Tally::default();
            let outcome = scene.run(None, &mut |step| {
                tally.push(step.report);
                let heaviest =
                    step.report.contacts.iter().fold(0.0_f64, |m, c| m.max(c.normal_force));
                for contact in &step.report.contacts {
                    let slides = contact.mode == ContactMode::Slide
                        && contact.normal_force > 1e-9 * heaviest;
                    if slides && contact.phi >= 0.0 {
                        let gap = contact.phi_next;
                        assert!(gap.abs() <= CLOSED, "{name}, {cone}: a gap of {gap} m");
                    }
                }
                ControlFlow::Continue(())
            });
            assert!(outcome.stopped.is_none(), "{name}, {cone}: {:?}", outcome.stopped);
            assert_eq!(tally.steps(), scene.n_steps(), "{name}, {cone}");
            let worst = tally.worst();
            assert!(worst.force_balance <= BALANCE, "{name}, {cone}: {worst:?}");
        }
    }
}
