//! A warm step allocates nothing once the workspace has grown.

use quasistep::{CoulombMethod, StepInput, StepMethod};
use testkit::{SCENES, scene};

#[test]
fn a_warm_euler_step_allocates_nothing() {
    check(("step.integration", "euler"));
}

#[test]
fn a_warm_midpoint_step_allocates_nothing() {
    check(("step.integration", "midpoint"));
}

#[test]
fn a_warm_dynamic_step_allocates_nothing() {
    check(("step.motion", "dynamic"));
}

/// Switches cost a copy of the system where they turn, and nothing while what is attached is carried.
#[test]
fn a_step_with_something_attached_allocates_nothing() {
    let scene = scene("tool_change", &[]);
    let (system, params) = (&scene.system, &scene.params);
    let mut work = system.create_workspace();
    let mut input = StepInput::default();
    let mut steps = 0;
    // the first run grows the memory
    for measured in [false, true] {
        let mut state = scene.start.clone();
        work.start_from(None);
        while state.time < 2.7 {
            scene.sample(quasistep::end_of_step(state.time, params.time_step), &mut input);
            let before = counting::calls();
            system.step_with(&mut state, &input, params, &mut work).unwrap();
            // carried in the air, to the side and down
            if measured && state.time > 1.5 {
                assert_eq!(counting::calls() - before, 0, "{} s", state.time);
                assert!(state.attached[0].is_some());
                steps += 1;
            }
        }
    }
    assert!(steps > 50);
}

/// Steps all scenes with this setting, and counts what the calling thread allocates.
fn check(way: (&str, &str)) {
    for name in SCENES {
        let scene = scene(name, &[way]);
        let (system, params) = (&scene.system, &scene.params);
        let mut work = system.create_workspace();
        let mut input = StepInput::default();
        // the first run grows the memory, the second should not; if it does, it took other methods
        // because its warm start was the end of the first; the third run starts like the second and
        // takes the same methods
        let mut allocations = 0;
        let mut end = None;
        for run in 0..3 {
            if run == 2 && allocations == 0 {
                break;
            }
            if run > 0 {
                let end = end.get_or_insert_with(|| work.warm_start());
                work.start_from(Some(&*end));
            }
            let mut state = scene.start.clone();
            // a velocity is part of the state, not of the step
            state.v.resize(system.model().n_v(), 0.0);
            allocations = 0;
            for k in 1..=scene.n_steps() {
                scene.sample(k as f64 * params.time_step, &mut input);
                let before = counting::calls();
                let step = system.step_with(&mut state, &input, params, &mut work);
                let taken = counting::calls() - before;
                let report = step.unwrap_or_else(|why| panic!("{name}: {why}"));
                // where Newton's method fails, a certificate is searched for, which allocates
                let searched = matches!(
                    report.method,
                    StepMethod::Coulomb(CoulombMethod::Lemke | CoulombMethod::Cases)
                );
                allocations += if searched { 0 } else { taken };
            }
        }
        assert!(
            allocations == 0,
            "{name}, {}: {allocations} allocations in {} warm steps",
            way.1,
            scene.n_steps()
        );
    }
}
