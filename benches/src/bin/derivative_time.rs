//! CPU time of derivatives relative to that of the step itself, on shipped scenes:
//!
//! `cargo run --release -p benches --bin derivative_time -- scenes/pinch.yml scenes/iiwa_stacking.yml`
//!
//! Steps have convex friction, with `--exact` exact friction, with `--dynamic` also velocities
//! carried over. Each time is the median of alternating repetitions at ten places of the run, in
//! µs, and the table gives the median over the places.
//!
//! `step` starts cold, as `prepare` does, which includes the step. `matrix` is ∂q_next/∂(q, u)
//! after `prepare`; `gradient` is one product with its transpose. `all / step` is (prepare − step +
//! matrix)/step, the cost of derivatives relative to the step itself.

use benches::thread_cpu_ns;
use clap::Parser;
use quasistep::{Formulation, InputChange, Integration, Mode, OutputChange, StepInput};
use quasistep_scene::Scene;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints the CPU time of derivatives as a table
#[derive(Parser)]
struct Arguments {
    /// Scene files
    scenes: Vec<PathBuf>,
    /// Of the relaxed step with this kappa, in J
    #[arg(long)]
    kappa: Option<f64>,
    /// Of steps with exact friction
    #[arg(long)]
    exact: bool,
    /// Of steps with exact friction and velocities carried over, of a hundredth of a second at most
    #[arg(long)]
    dynamic: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mode = arguments.kappa.map_or(Mode::Exact, |kappa| Mode::Smooth { kappa });
    println!(
        "| scene | dofs | contacts | step | prepare | matrix | gradient | matrix / step | all / step |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for path in &arguments.scenes {
        if let Err(error) = time(path, mode, &arguments) {
            eprintln!("error: {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// CPU time of one call, in µs.
fn once(f: impl FnOnce() -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let start = thread_cpu_ns();
    f()?;
    Ok((thread_cpu_ns() - start) as f64 / 1e3)
}

fn median(mut v: Vec<f64>) -> f64 {
    v.sort_unstable_by(f64::total_cmp);
    v.get(v.len() / 2).copied().unwrap_or(f64::NAN)
}

fn time(path: &std::path::Path, mode: Mode, how: &Arguments) -> Result<(), Box<dyn Error>> {
    const PLACES: usize = 10;
    const REPETITIONS: usize = 15;
    let mut scene = Scene::load(path)?;
    let cone = scene.params.formulation.cone;
    scene.params.formulation = match how {
        Arguments { dynamic: true, .. } => Formulation::dynamic(cone),
        Arguments { exact: true, .. } => Formulation::exact(cone),
        _ => Formulation::convex(cone),
    };
    if how.dynamic {
        scene.params.time_step = scene.params.time_step.min(0.01);
    }
    scene.params.integration = Integration::Euler;
    let (system, params) = (&*scene.system, &scene.params);
    let n_steps = scene.n_steps().min(200);
    let (mut work, mut cold) = (system.create_workspace(), system.create_workspace());
    cold.set_warm_start(false);
    let mut d = system.create_derivatives();
    d.set_warm_start(false);
    let (mut input, mut state) = (StepInput::default(), scene.start.clone());
    let n_v = system.model().n_v();
    let (mut by_q, mut by_u) = (vec![0.0; n_v * n_v], vec![0.0; n_v * system.n_cmd_v()]);
    let weights = OutputChange { q_next: vec![1.0; n_v], ..OutputChange::default() };
    let mut gradient = InputChange::default();
    let mut rows: Vec<[f64; 5]> = Vec::new();
    for k in 0..n_steps {
        scene.sample(state.time + params.time_step, &mut input);
        if (k + 1) % (n_steps / PLACES).max(1) == 0 {
            let mut from = state.clone();
            let mut times: [Vec<f64>; 4] = Default::default();
            for _ in 0..REPETITIONS {
                from.clone_from(&state);
                let turns = [
                    once(|| {
                        system.step_with(&mut from, &input, params, &mut cold)?;
                        Ok(())
                    })?,
                    once(|| {
                        system.differentiate(&state, &input, params, mode, &mut d)?;
                        Ok(())
                    })?,
                    once(|| Ok(d.jacobian(system, &mut by_q, &mut by_u)?))?,
                    once(|| Ok(d.vjp(system, &weights, &mut gradient)?))?,
                ];
                times.iter_mut().zip(turns).for_each(|(times, time)| times.push(time));
            }
            let [step, prepare, matrix, transpose] = times.map(median);
            rows.push([step, prepare, matrix, transpose, d.n_contacts() as f64]);
        }
        system.step_with(&mut state, &input, params, &mut work)?;
    }
    let [step, prepare, matrix, transpose, contacts] =
        [0, 1, 2, 3, 4].map(|column| median(rows.iter().map(|r| r[column]).collect()));
    println!(
        "| {} | {n_v} | {contacts} | {step:.1} | {prepare:.1} | {matrix:.1} | {transpose:.1} | {:.2} | {:.2} |",
        scene.name,
        matrix / step,
        (prepare - step + matrix) / step
    );
    Ok(())
}
