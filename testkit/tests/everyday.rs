//! First scenes of a new user: boxes, balls, cans and capsules, pushed, squeezed, stacked and
//! pressed. Every formulation, cone and inertia takes their steps, or reports that nothing supports
//! a body.
#![allow(missing_docs)]

use quasistep::{StepError, StepInput};
use quasistep_scene::Scene;
use std::path::Path;
use testkit::everyday;

/// Formulation, inertia, integration and step of each run.
const WAYS: [[&str; 4]; 7] = [
    ["convex", "none", "euler", "0.05"],
    ["convex", "mass", "euler", "0.05"],
    ["convex", "mass", "midpoint", "0.05"],
    ["exact", "none", "euler", "0.05"],
    ["exact", "mass", "euler", "0.05"],
    ["exact", "mass", "midpoint", "0.05"],
    ["dynamic", "", "euler", "0.01"],
];
const CONES: [&str; 4] = ["round", "4", "8", "box"];

/// Runs that end undecided. Without mass, a pyramid of eight edges lets the pushed box turn until
/// it slides along an edge, with forces that are rounding. Between finger and wall the box slides
/// on five areas at once.
const UNDECIDED: [&str; 2] = ["push_box exact none euler 8", "wall dynamic  euler round"];

/// Runs a scene; returns the error that ended it, unless a body had no support.
fn end(
    path: &Path,
    [formulation, inertia, integration, step]: [&str; 4],
    cone: &str,
) -> Option<String> {
    let all = [
        testkit::law(formulation)[0],
        testkit::law(formulation)[1],
        ("step.inertia", inertia),
        ("step.integration", integration),
        ("step.size", step),
        ("step.cone", cone),
    ];
    let changes: Vec<(String, String)> = all
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let scene = Scene::load_with(path, &changes).unwrap_or_else(|e| panic!("{e}"));
    let (mut state, mut work) = (scene.start.clone(), scene.system.create_workspace());
    let mut input = StepInput::default();
    for k in 1..=scene.n_steps() {
        scene.sample(k as f64 * scene.params.time_step, &mut input);
        match scene.system.step_with(&mut state, &input, &scene.params, &mut work) {
            Ok(_) => {}
            Err(StepError::Unsupported { .. }) if inertia == "none" => return None,
            Err(error) => return Some(format!("step {k}: {error}")),
        }
    }
    None
}

#[test]
fn first_scenes_run_whatever_the_formulation() {
    let files = everyday::files();
    let mut failed = Vec::new();
    for path in &files {
        let name = path.file_stem().expect("a name").to_string_lossy();
        for (way, cone) in WAYS.into_iter().flat_map(|way| CONES.map(|cone| (way, cone))) {
            let run = format!("{name} {} {} {} {cone}", way[0], way[1], way[2]);
            if let Some(error) = end(path, way, cone)
                && !UNDECIDED.contains(&run.as_str())
            {
                failed.push(format!("{run}: {error}"));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Steps of worlds of any size, mass and friction, with exact friction and no fallback. A run may
/// also end with a tunnelling error, which names a remedy.
#[test]
fn exact_steps_are_found_at_any_size() {
    let (mut steps, mut undecided) = (0, Vec::new());
    for seed in 0..520 {
        let (name, text, mut changes) = everyday::world(seed);
        changes.push(("step.fallback".into(), "none".into()));
        let scene = Scene::parse(&text, &name, &name, Path::new("."), &changes)
            .unwrap_or_else(|e| panic!("{e}"));
        let (mut state, mut work) = (scene.start.clone(), scene.system.create_workspace());
        let mut input = StepInput::default();
        for k in 1..=scene.n_steps() {
            scene.sample(k as f64 * scene.params.time_step, &mut input);
            steps += 1;
            match scene.system.step_with(&mut state, &input, &scene.params, &mut work) {
                Ok(_) => {}
                Err(StepError::Overlap { .. }) => break,
                Err(error) => {
                    undecided.push(format!("{name}: step {k}: {error}"));
                    break;
                }
            }
        }
    }
    assert!(steps > 20_000 && undecided.len() * 2000 <= steps, "{steps}: {undecided:#?}");
}
