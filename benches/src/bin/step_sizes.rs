//! What a tolerance chooses, and whether its error is true:
//!
//! `cargo run --release -p benches --bin step_sizes -- scenes/planar_push.yml scenes/door.yml`
//!
//! For every pair of steps the true local error is measured: how far it is from many small steps
//! from the same state. Runs are compared with a tight one at common times. Prints one JSON object
//! for each scene and tolerance.

use clap::Parser;
use quasistep::{
    Integration, SizeChoice, Span, State, StepInput, StepParams, System, WarmStart, Workspace,
};
use quasistep_math::Pose;
use quasistep_scene::{RunOptions, Scene};
use serde_json::{Value, json};
use std::error::Error;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Number of times at which runs are compared.
const TIMES: usize = 20;

/// Measures the errors of steps that choose their size
#[derive(Parser)]
struct Arguments {
    /// Scene files
    #[arg(required = true)]
    scenes: Vec<PathBuf>,
    /// Tolerances, in m
    #[arg(long, value_delimiter = ',', default_value = "1e-2,1e-3,1e-4,1e-5")]
    tolerances: Vec<f64>,
    /// Tolerance of the run that others are compared with, in m
    #[arg(long, default_value = "1e-6")]
    tight: f64,
    /// Number of small steps in a pair
    #[arg(long, default_value = "64")]
    parts: usize,
    /// Take midpoint steps
    #[arg(long)]
    midpoint: bool,
    /// Also print every pair of steps: end (s), size (s), error, true error (m), rejected sizes
    #[arg(long)]
    list: bool,
    /// Replace a value of the scene files by its dotted path; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    changes: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    for path in &arguments.scenes {
        if let Err(error) = measure(path, &arguments) {
            eprintln!("error: {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn measure(path: &Path, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let load = |tolerance: f64| -> Result<Scene, Box<dyn Error>> {
        let mut changes = vec![("step.tolerance".to_owned(), tolerance.to_string())];
        for change in &arguments.changes {
            let (key, value) = change.split_once('=').ok_or("write --set KEY=VALUE")?;
            changes.push((key.to_owned(), value.to_owned()));
        }
        if arguments.midpoint {
            changes.push(("step.integration".into(), "midpoint".into()));
        }
        Ok(Scene::load_with(path, &changes)?)
    };
    let tight = ends(&load(arguments.tight)?)?;
    for &tolerance in &arguments.tolerances {
        let scene = load(tolerance)?;
        let seen = watch(&scene, arguments)?;
        let own = ends(&scene)?;
        let far = tight.iter().zip(&own).map(|(a, b)| scene.system.displacement(a, b));
        let far = far.fold(0.0, f64::max);
        println!("{}", summary(&scene, tolerance, &seen, far, arguments.list));
    }
    Ok(())
}

/// A pair of steps.
struct Pair {
    span: Span,
    error: f64,
    truth: f64,
    rejected: u32,
    resolved: bool,
}

fn summary(scene: &Scene, tolerance: f64, pairs: &[Pair], far: f64, list: bool) -> Value {
    // an error far below the tolerance cannot be missed
    let told: Vec<&Pair> = pairs.iter().filter(|p| p.truth > 0.01 * tolerance).collect();
    let seen = told.iter().filter(|p| p.error >= 0.5 * p.truth).count();
    let within = pairs.iter().filter(|p| p.truth <= tolerance || !p.resolved).count();
    let sizes = pairs.iter().map(|p| p.span.size);
    json!({
        "scene": scene.name,
        "midpoint": scene.params.integration == Integration::Midpoint,
        "tolerance_m": tolerance,
        "pairs": pairs.len(),
        "rejected": pairs.iter().map(|p| p.rejected).sum::<u32>(),
        "unresolved": pairs.iter().filter(|p| !p.resolved).count(),
        "min_s": sizes.clone().fold(f64::INFINITY, f64::min),
        "max_s": sizes.fold(0.0, f64::max),
        "pairs_with_error": told.len(),
        "at_least_half_seen": seen as f64 / told.len().max(1) as f64,
        "at_least_half_seen_of_all": (pairs.len() - told.len() + seen) as f64 / pairs.len().max(1) as f64,
        "within_tolerance_or_listed": within as f64 / pairs.len().max(1) as f64,
        "largest_true_error_m": pairs.iter().filter(|p| p.resolved).map(|p| p.truth).fold(0.0, f64::max),
        "from_converged_m": far,
        "list": list.then(|| pairs.iter().map(|p| {
            json!([p.span.end, p.span.size, p.error, p.truth, p.rejected])
        }).collect::<Vec<_>>()),
    })
}

/// Poses at equal times of a run.
fn ends(scene: &Scene) -> Result<Vec<Vec<Pose>>, Box<dyn Error>> {
    let every = scene.duration / TIMES as f64;
    let options = RunOptions { every: Some(every), ..RunOptions::default() };
    let mut all = Vec::new();
    let (_, stopped) = scene.run_frames(&options, None, &mut |frame, _| {
        let k = (frame.t / every).round();
        if (frame.t - k * every).abs() < 1e-9 * every {
            all.push(frame.X_WB);
        }
        ControlFlow::Continue(())
    });
    stopped.map_or(Ok(all), |error| Err(error.into()))
}

/// Runs a scene and measures the true error of every pair of steps. Each pair is a run of its own,
/// which goes on from the one before.
fn watch(scene: &Scene, arguments: &Arguments) -> Result<Vec<Pair>, Box<dyn Error>> {
    let end = scene.duration;
    let (mut from, mut warm) = (scene.start.clone(), WarmStart::default());
    let mut work = scene.system.create_workspace();
    let mut pairs = Vec::new();
    while end - from.time > 1e-9 * end {
        let options = RunOptions {
            start: Some(from.clone()),
            warm: Some(&warm),
            duration: Some(end - from.time),
            ..RunOptions::default()
        };
        let mut last = None;
        let outcome = scene.run_with(&options, None, &mut |step| {
            last = Some((step.report.choice, step.report.time_step));
            ControlFlow::Break(())
        });
        let Some((Some(choice), size)) = last else {
            return Err(outcome.stopped.map_or("no step was taken".into(), Box::from));
        };
        let to = outcome.state;
        let span = Span { end: to.time, size };
        work.start_from(Some(&warm));
        let truth = truth(scene, &from, span, arguments.parts, &mut work)
            .map_or(f64::NAN, |q| distance(&scene.system, &q, &to.q));
        let SizeChoice { error, rejected, resolved } = choice;
        pairs.push(Pair { span, error, truth, rejected, resolved });
        (from, warm) = (to, outcome.warm);
    }
    Ok(pairs)
}

/// Configuration after `parts` small steps that cover a pair of steps.
fn truth(
    scene: &Scene,
    from: &State,
    span: Span,
    parts: usize,
    work: &mut Workspace,
) -> Option<Vec<f64>> {
    let h = 2.0 * span.size / parts as f64;
    let params = StepParams { time_step: h, sizes: None, ..scene.params.clone() };
    let mut state = from.clone();
    let mut input = StepInput::default();
    for k in 1..=parts {
        let t = if k == parts { span.end } else { from.time + k as f64 * h };
        scene.sample_for(&params, t, &mut input);
        scene.system.step_with(&mut state, &input, &params, work).ok()?;
    }
    Some(state.q)
}

fn distance(system: &System, a: &[f64], b: &[f64]) -> f64 {
    let poses = |q: &[f64]| {
        let mut kin = system.model().create_kinematics();
        system.model().kinematics(q, &mut kin);
        kin.X_WB
    };
    system.displacement(&poses(a), &poses(b))
}
