//! A warm step takes no memory: once the workspace has grown, nothing is allocated.
#![allow(missing_docs)]

use quasistep::StepInput;
use testkit::{SCENES, scene};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

#[test]
fn a_warm_step_allocates_nothing() {
    for (name, integration) in SCENES.into_iter().flat_map(|s| [(s, "euler"), (s, "midpoint")]) {
        let scene = scene(name, &[("step.integration", integration)]);
        let (system, params) = (&scene.system, &scene.params);
        let mut work = system.create_workspace();
        let mut input = StepInput::default();
        // the first run grows the memory, the second must not
        let mut allocations = 0;
        for _ in 0..2 {
            let mut state = scene.start.clone();
            allocations = 0;
            for k in 1..=scene.n_steps() {
                scene.sample(k as f64 * params.time_step, &mut input);
                let before = counting::calls();
                let step = system.step_with(&mut state, &input, params, &mut work);
                allocations += counting::calls() - before;
                assert!(step.is_ok(), "{name}: {:?}", step.err());
            }
        }
        assert_eq!(allocations, 0, "{name}: allocations in {} warm steps", scene.n_steps());
    }
}
