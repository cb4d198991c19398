//! Steps end within their limit of work in every world, with a solution or with an error message.

use quasistep::{StepError, StepInput, StepParams};
use quasistep_scene::Scene;
use std::path::PathBuf;

fn world(name: &str) -> Scene {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/{name}.yml"));
    Scene::load_with(&file, &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// Work of every step, and the error that ended the run, if any.
fn run(scene: &Scene, work_limit: u64) -> (Vec<u64>, Option<StepError>) {
    let params = StepParams { work_limit, ..scene.params.clone() };
    let mut work = scene.system.create_workspace();
    let (mut state, mut input) = (scene.start.clone(), StepInput::default());
    let mut steps = Vec::new();
    for index in 1..=scene.n_steps() {
        scene.sample(index as f64 * params.time_step, &mut input);
        match scene.system.step_with(&mut state, &input, &params, &mut work) {
            Ok(report) => steps.push(report.work),
            Err(error) => return (steps, Some(error)),
        }
    }
    (steps, None)
}

/// Without a limit, steps of these worlds took from 18 s to more than a minute.
#[test]
fn steps_of_hard_worlds_end_within_their_work() {
    for name in ["tree_of_twenty_links", "pile_of_thirty"] {
        let scene = world(name);
        for limit in [100_000_000, 1_000_000_000] {
            let start = std::time::Instant::now();
            let (steps, end) = run(&scene, limit);
            eprintln!("{name}, {limit:e}: {steps:?} {end:?}, {:?}", start.elapsed());
            assert!(steps.iter().all(|work| *work <= limit), "{name}: {steps:?} of {limit}");
            // an end without a solution has a certificate, or reports that the search was cut short
            assert!(
                matches!(
                    end,
                    None | Some(StepError::Infeasible { .. } | StepError::Undecided { .. })
                ),
                "{name}, {limit}: {end:?}"
            );
        }
    }
}

/// Work is reproducible, and a limit that is just sufficient changes nothing.
#[test]
fn work_is_counted_alike_every_time() {
    for (name, changes) in [
        ("gripper_2d", vec![("step.friction", "exact")]),
        ("planar_push", vec![("step.uniqueness", "true"), ("step.friction", "exact")]),
        ("pinch", vec![]),
    ] {
        let scene = testkit::scene(name, &changes);
        let (steps, end) = run(&scene, u64::MAX);
        assert_eq!(end, None, "{name}");
        assert!(steps.iter().any(|work| *work > 0), "{name}");
        assert_eq!(run(&scene, u64::MAX).0, steps, "{name}");
        let most = steps.iter().max().copied().unwrap_or_default();
        // a single program may use at most half of the remaining work
        let (limited, end) = run(&scene, 2 * most + 2);
        assert_eq!((limited, end), (steps, None), "{name}");
        let (_, end) = run(&scene, most / 100);
        assert!(matches!(end, Some(StepError::Undecided { limited: true, .. })), "{name}: {end:?}");
    }
}
