//! Friction programs for the evaluation of the solver's methods: steps of the shipped scenes,
//! recorded steps, piles, and random programs, many of which have no solution.

use crate::recorded::Sequence;
use common::Samples;
use common::friction::{Recipe, friction_problem};
use quasistep::StepInput;
use quasistep_friction::FrictionProgram;
use std::path::Path;

#[path = "../../crates/quasistep-friction/tests/all/common/mod.rs"]
#[allow(dead_code, missing_docs, non_snake_case, unreachable_pub)] // it is written for tests
mod common;

/// One program.
pub struct Item {
    /// Origin of the program.
    pub group: &'static str,
    /// The program.
    pub program: FrictionProgram,
    /// Forces and rates of the previous step, if it has as many contacts.
    pub warm: Option<(Vec<f64>, Vec<f64>)>,
}

/// Number of steps kept of each scene, with each cone.
const STEPS: usize = 12;
/// Duration in s of scenes with long runs.
const SECONDS: [(&str, &str); 9] = [
    ("fence_particle", "2"),
    ("box_pivot", "6"),
    ("pile", "0.3"),
    ("ball_in_hand", "2"),
    ("bunny_grasp", "6"),
    ("iiwa_stacking", "4"),
    ("million_points", "0.5"),
    ("robots/drawer", "1"),
    ("robots/panda_push", "2"),
];

/// All programs of the suite.
pub fn suite() -> Vec<Item> {
    let mut items = Vec::new();
    for name in testkit::SCENES {
        for cone in ["4", "round"] {
            scene(name, cone, &mut items);
        }
    }
    recorded(&mut items);
    random(&mut items);
    items
}

fn scene(name: &'static str, cone: &str, items: &mut Vec<Item>) {
    let mut changes = vec![("step.friction", "exact"), ("step.cone", cone)];
    if let Some((_, seconds)) = SECONDS.iter().find(|(scene, _)| *scene == name) {
        changes.push(("step.duration", seconds));
    }
    let scene = testkit::scene(name, &changes);
    let mut work = scene.system.create_workspace();
    let (mut state, mut input) = (scene.start.clone(), StepInput::default());
    let every = scene.n_steps().div_ceil(STEPS);
    let mut before: Option<(Vec<f64>, Vec<f64>)> = None;
    for index in 1..=scene.n_steps() {
        scene.sample(index as f64 * scene.params.time_step, &mut input);
        if scene.system.step_with(&mut state, &input, &scene.params, &mut work).is_err() {
            break;
        }
        let Some((program, out)) = work.last_friction() else { break };
        if index % every == 0 {
            let warm = before.take().filter(|(lambda, _)| lambda.len() == out.lambda.len());
            let group = if cone == "4" { "scenes, pyramids" } else { "scenes, round" };
            items.push(Item { group, program: program.clone(), warm });
        }
        before = Some((out.lambda.clone(), out.u.clone()));
    }
}

fn recorded(items: &mut Vec<Item>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded");
    for (name, group, every) in [
        ("bunny13", "recorded bunny13", 40),
        ("stack69", "recorded stack69", 3),
        ("pile50", "recorded pile50", 6),
    ] {
        let sequence = Sequence::read(&folder.join(format!("{name}.npz")));
        for t in (0..sequence.len()).step_by(every) {
            for (mass, round) in [(true, false), (true, true), (false, false), (false, true)] {
                let mut program = FrictionProgram::new();
                sequence.build_friction(t, mass, round, &mut program);
                items.push(Item { group, program, warm: None });
            }
        }
    }
}

fn random(items: &mut Vec<Item>) {
    let massive = Recipe { massless: 0.0, ..Recipe::SPATIAL };
    let scaled = Recipe { massless: 0.2, decades: 6.0, ..Recipe::SPATIAL };
    for (seed, (group, recipe)) in [
        ("random, in a plane", Recipe::PLANAR),
        ("random, in a plane", Recipe { massless: 1.0, ..Recipe::PLANAR }),
        ("random pyramids", Recipe::SPATIAL),
        ("random pyramids", massive),
        ("random pyramids", scaled),
        ("random round", Recipe { round: true, ..Recipe::SPATIAL }),
        ("random round", Recipe { round: true, ..massive }),
        ("random round", Recipe { round: true, ..scaled }),
    ]
    .into_iter()
    .enumerate()
    {
        let mut s = Samples::new(900 + seed as u64);
        for _ in 0..150 {
            let program = friction_problem(&mut s, &recipe).program;
            items.push(Item { group, program, warm: None });
        }
    }
}
