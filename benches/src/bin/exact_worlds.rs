//! Counts how often steps with exact friction end without a solution, in random worlds or in worlds
//! of everyday objects:
//!
//! `cargo run --release -p benches --bin exact_worlds -- --seeds 400 --set step.cone=round`
//!
//! `cargo run --release -p benches --bin exact_worlds -- --everyday --seeds 728`
//!
//! Prints the number of steps for each outcome, with their CPU time, and the methods that solved
//! them.

use clap::Parser;
use quasistep::{StepError, StepInput};
use quasistep_scene::Scene;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use testkit::everyday;
use testkit::worlds::world;

/// Steps random worlds, or scenes, with exact friction and counts how steps end
#[derive(Parser)]
struct Arguments {
    /// Scene files instead of random worlds
    scenes: Vec<PathBuf>,
    /// Everyday objects of 1 mm to 100 m and 1 g to 10 t instead of random worlds: 26 kinds in turn, cones, friction, relaxation
    /// times and step sizes at random
    #[arg(long)]
    everyday: bool,
    /// First seed
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Number of worlds
    #[arg(long, default_value_t = 200)]
    seeds: u64,
    /// Replace a value of every world by its dotted path; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    changes: Vec<String>,
    /// Name every world that ends without an answer
    #[arg(long)]
    names: bool,
}

fn main() {
    let arguments = Arguments::parse();
    let changes: Vec<(String, String)> = ["step.friction=exact", "step.fallback=none"]
        .into_iter()
        .chain(arguments.changes.iter().map(String::as_str))
        .filter_map(|change| change.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let mut ends: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut run = |name: &str, scene: Result<Scene, String>| {
        let scene = match scene {
            Ok(scene) => scene,
            Err(error) => {
                if arguments.names {
                    println!("{name}: {error}");
                }
                ends.entry("no scene".into()).or_default().0 += 1;
                return;
            }
        };
        let (mut state, mut work) = (scene.start.clone(), scene.system.create_workspace());
        let mut input = StepInput::default();
        for k in 1..=scene.n_steps() {
            scene.sample(k as f64 * scene.params.time_step, &mut input);
            let start = benches::thread_cpu_ns();
            let end = scene.system.step_with(&mut state, &input, &scene.params, &mut work);
            let failed = end.is_err();
            let end = match end {
                Ok(report) => format!("solved by {:?}", report.method),
                Err(error) => {
                    if arguments.names {
                        println!("{name}: step {k}: {error}");
                    }
                    match error {
                        StepError::Undecided { limited: true, .. } => "undecided: work".into(),
                        StepError::Undecided { .. } => "undecided".into(),
                        error => {
                            let text = error.to_string();
                            text.split([':', ' ']).next().unwrap_or_default().to_owned()
                        }
                    }
                }
            };
            let entry = ends.entry(end).or_default();
            entry.0 += 1;
            entry.1 += benches::thread_cpu_ns() - start;
            if failed {
                break;
            }
        }
    };
    for path in &arguments.scenes {
        let scene = Scene::load_with(path, &changes).map_err(|e| e.to_string());
        run(&path.display().to_string(), scene);
    }
    let seeds = if arguments.scenes.is_empty() { arguments.seeds } else { 0 };
    for seed in arguments.first..arguments.first + seeds {
        let (name, text, mut all) = if arguments.everyday {
            everyday::world(seed)
        } else {
            (format!("world {seed}"), world(seed).to_string(), Vec::new())
        };
        all.extend_from_slice(&changes);
        let scene = Scene::parse(&text, &name, &name, Path::new("."), &all);
        run(&name, scene.map_err(|e| e.to_string()));
    }
    for (end, (steps, ns)) in &ends {
        println!("{steps:8} {:10.3} s  {end}", *ns as f64 * 1e-9);
    }
}
