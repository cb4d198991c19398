//! A run taken up again from what it keeps between steps, in fresh memory: the same bits at every step, with exact
//! friction as without.
#![allow(missing_docs)]

use quasistep::StepInput;
use testkit::scene;

/// Takes every step twice: in the memory of the run, and in fresh memory from a checkpoint.
fn resumes(name: &str, changes: &[(&str, &str)]) {
    let scene = scene(name, changes);
    let mut work = scene.system.create_workspace();
    let mut state = scene.start.clone();
    let mut input = StepInput::default();
    for index in 1..=scene.n_steps() {
        let at = format!("{name} {changes:?}, step {index}");
        scene.sample(index as f64 * scene.params.time_step, &mut input);
        let saved = work.checkpoint(&state);
        let handed_on = work.warm_start();
        let went = scene.system.step_with(&mut state, &input, &scene.params, &mut work).cloned();
        let mut fresh = scene.system.create_workspace();
        fresh.resume(&saved);
        let mut again = saved.state.clone();
        let other = scene.system.step_with(&mut again, &input, &scene.params, &mut fresh).cloned();
        assert_eq!((&state, &went), (&again, &other), "{at}");
        // the same by the warm start alone, in memory that has seen another step
        let mut used = scene.system.create_workspace();
        let _ = scene.system.step_with(&mut scene.start.clone(), &input, &scene.params, &mut used);
        used.start_from(Some(&handed_on));
        let mut again = saved.state;
        let other = scene.system.step_with(&mut again, &input, &scene.params, &mut used).cloned();
        assert_eq!((&state, &went), (&again, &other), "{at}");
    }
}

#[test]
fn every_step_resumes_with_the_same_bits() {
    for (name, duration) in [
        ("fence_particle", "2"),
        ("gripper_2d", "0.35"),
        ("planar_push", "4"),
        ("box_pivot", "1"),
        ("sphere_spin", "0.3"),
    ] {
        for (formulation, cone) in [("anitescu", "4"), ("coulomb", "4"), ("coulomb", "round")] {
            resumes(
                name,
                &[
                    ("step.formulation", formulation),
                    ("step.cone", cone),
                    ("step.duration", duration),
                    ("facts", "[]"),
                ],
            );
        }
    }
}
