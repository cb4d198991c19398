//! CPU time of stepping a scene, without loading it or writing files:
//!
//! `cargo run --release -p benches --bin step_time -- scenes/pinch.yml --set step.size=0.05`
//!
//! Prints one JSON object. The time of a step includes sampling the commands, as a controller
//! would; with `--set step.tolerance=1e-3` also the frames of a run.

use clap::Parser;
use quasistep::{State, StepInput};
use quasistep_scene::{RunOptions, Scene, SceneSource};
use serde_json::{Value, json};
use std::error::Error;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

/// Steps a scene and prints the CPU time of it as JSON
#[derive(Parser)]
struct Arguments {
    /// Scene file
    scene: PathBuf,
    /// Replace a value of the scene file by its dotted path; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    changes: Vec<String>,
    /// Also print the poses of this body: rows of t, qw, qx, qy, qz, x, y, z
    #[arg(long, value_name = "MODEL/LINK")]
    body: Option<String>,
    /// Also print the states: rows of t and q
    #[arg(long)]
    states: bool,
    /// Also put this many boxes of 5 cm on the floor, beside one another from x = 1.5 m on
    #[arg(long, value_name = "N", default_value_t = 0)]
    boxes: usize,
    /// Compute bodies at rest in each step, which runs leave out
    #[arg(long)]
    without_rest: bool,
}

fn main() -> ExitCode {
    match time_steps(&Arguments::parse()) {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn time_steps(arguments: &Arguments) -> Result<Value, Box<dyn Error>> {
    let mut changes = Vec::new();
    for change in &arguments.changes {
        let (key, value) = change.split_once('=').ok_or("write --set KEY=VALUE")?;
        changes.push((key.to_owned(), value.to_owned()));
    }
    let mut source = SceneSource::read(&arguments.scene, &changes)?;
    add_boxes(&mut source.text, arguments.boxes)?;
    let scene = Scene::from_source(&source)?;
    let (system, h) = (&scene.system, scene.params.time_step);
    let chosen = scene.params.sizes.is_some();
    let rest = !arguments.without_rest;
    let (states, mut step_ns) =
        if chosen { by_tolerance(&scene)? } else { of_one_size(&scene, rest)? };
    let simulated = states.last().map_or(0.0, |state| state.time);

    let mut poses = Value::Null;
    if let Some(body) = &arguments.body {
        let model = system.model();
        let index = model.bodies().iter().position(|b| b.name == *body);
        let index = index.ok_or_else(|| format!("there is no body `{body}`"))?;
        let mut kin = model.create_kinematics();
        let rows = states.iter().map(|s| {
            model.kinematics(&s.q, &mut kin);
            let pose = &kin.X_WB[index];
            let ([qw, qx, qy, qz], p) = (pose.rotation.to_array(), pose.translation);
            [s.time, qw, qx, qy, qz, p.x, p.y, p.z]
        });
        poses = rows.collect::<Vec<_>>().into();
    }
    let rows = states.iter().filter(|_| arguments.states);
    let rows: Vec<Vec<f64>> = rows.map(|s| [&[s.time], s.q.as_slice()].concat()).collect();
    let total: u64 = step_ns.iter().sum();
    step_ns.sort_unstable();
    Ok(json!({
        "scene": scene.name,
        "quasistep": env!("CARGO_PKG_VERSION"),
        "steps": step_ns.len(),
        "step_size_s": (!chosen).then_some(h),
        "simulated_s": simulated,
        "cpu_ns": { "total": total, "median": step_ns.get(step_ns.len() / 2) },
        "poses": poses,
        "states": rows,
    }))
}

/// Adds boxes on a floor at z = 0 to the models of a scene.
fn add_boxes(text: &mut String, count: usize) -> Result<(), Box<dyn Error>> {
    let models = "\nmodels:\n";
    let at = text.find(models).ok_or("the scene has no line `models:`")? + models.len();
    let row = (count as f64).sqrt().ceil() as usize;
    let boxes = (0..count).map(|k| {
        let (x, y) = (1.5 + 0.1 * (k / row) as f64, 0.1 * (k % row) as f64);
        format!(
            "  resting_{k}: {{mass: 0.2, friction: 0.5, pose: {{xyz: [{x}, {y}, 0.025]}}, shape: {{box: {{size: [0.05, 0.05, 0.05]}}}}}}\n"
        )
    });
    text.insert_str(at, &boxes.collect::<String>());
    Ok(())
}

/// States of a run, and the CPU time of each step, in ns.
type Timed = (Vec<State>, Vec<u64>);

fn of_one_size(scene: &Scene, rest: bool) -> Result<Timed, Box<dyn Error>> {
    let (system, h) = (&scene.system, scene.params.time_step);
    let mut work = system.create_workspace();
    work.set_rest(rest);
    let mut input = StepInput::default();
    let mut state = scene.start.clone();
    let mut states = vec![state.clone()];
    let mut step_ns = Vec::with_capacity(scene.n_steps());
    for index in 1..=scene.n_steps() {
        let start = process_cpu_ns();
        scene.sample(index as f64 * h, &mut input);
        system.step_with(&mut state, &input, &scene.params, &mut work)?;
        step_ns.push(process_cpu_ns() - start);
        states.push(state.clone());
    }
    Ok((states, step_ns))
}

/// Steps that choose their size. The first of every two has the time of all that were tried, and of
/// the frames of both.
fn by_tolerance(scene: &Scene) -> Result<Timed, Box<dyn Error>> {
    let mut states = vec![scene.start.clone()];
    let mut step_ns = Vec::new();
    let mut last = process_cpu_ns();
    let (_, stopped) = scene.run_frames(&RunOptions::default(), None, &mut |_, step| {
        let now = process_cpu_ns();
        if let Some(step) = step {
            states.push(step.state.clone());
            step_ns.push(now - last);
        }
        last = now;
        ControlFlow::Continue(())
    });
    stopped.map_or(Ok((states, step_ns)), |error| Err(error.into()))
}

/// CPU time that this process has used, in ns, including other threads.
#[cfg(unix)]
fn process_cpu_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Wall time since the first call, in ns, where CPU time is not available.
#[cfg(not(unix))]
fn process_cpu_ns() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
