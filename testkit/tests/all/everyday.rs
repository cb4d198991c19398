//! First scenes of a new user: boxes, balls, cans and capsules, pushed, squeezed, stacked and
//! pressed. Every formulation, cone and inertia takes their steps, or reports that nothing supports
//! a body.

use quasistep::{InputChange, Mode, OutputChange, State, StepError, StepInput};
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

/// Steps of worlds of any size, mass and friction, with exact friction and no fallback. Dominoes and
/// chains tumble along the limit of their overlaps.
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
                Err(error @ StepError::Overlap { .. }) => panic!("{name}: step {k}: {error}"),
                Err(error) => {
                    undecided.push(format!("{name}: step {k}: {error}"));
                    break;
                }
            }
        }
    }
    assert!(steps > 20_000 && undecided.len() * 2000 <= steps, "{steps}: {undecided:#?}");
}

/// The step in which the massless peg leaves an edge of its hole: shorter times do not shorten its
/// travel, which is limited instead. Derivatives by the commands in the plane of its motion are those
/// of central differences. Across that plane two points of the edge exchange their loads within a
/// difference.
#[test]
fn derivatives_of_a_step_of_limited_travel_are_those_of_differences() {
    const STEP: usize = 54;
    const IN_PLANE: [usize; 3] = [0, 2, 4];
    const EPS: f64 = 1e-6;
    let set = [("step.motion", "dynamic"), ("step.size", "0.01")];
    let set = set.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let path = testkit::root().join("testkit/tests/everyday/peg.yml");
    let scene = Scene::load_with(&path, &set).unwrap_or_else(|e| panic!("{e}"));
    let system = &scene.system;
    let mut state = scene.start.clone();
    let mut input = StepInput::default();
    let step = |state: &mut State, input: &StepInput| {
        let mut work = system.create_workspace();
        let report = system.step_with(state, input, &scene.params, &mut work);
        report.unwrap_or_else(|e| panic!("{e}")).substeps
    };
    for k in 1..=STEP {
        scene.sample(k as f64 * scene.params.time_step, &mut input);
        if k < STEP {
            step(&mut state, &input);
        }
    }
    assert_eq!(step(&mut state.clone(), &input), 2);
    let mut d = system.create_derivatives();
    let kinks = system.differentiate(&state, &input, &scene.params, Mode::Exact, &mut d);
    assert!(!kinks.unwrap().any());
    let (mut change, mut out) = (InputChange::default(), OutputChange::default());
    for dof in IN_PLANE {
        change.q_cmd = vec![0.0; system.n_cmd_v()];
        change.q_cmd[dof] = 1.0;
        d.jvp(system, &change, false, &mut out).unwrap();
        let at = |sign: f64| {
            let (mut state, mut input) = (state.clone(), input.clone());
            input.q_cmd[dof] += sign * EPS;
            step(&mut state, &input);
            state
        };
        let (plus, minus) = (at(1.0), at(-1.0));
        for k in IN_PLANE {
            for (ours, plus, minus) in
                [(out.q_next[k], plus.q[k], minus.q[k]), (out.v[k], plus.v[k], minus.v[k])]
            {
                let want = (plus - minus) / (2.0 * EPS);
                assert!((ours - want).abs() < 1e-6 * want.abs().max(1.0), "{ours} is not {want}");
            }
        }
    }
}
