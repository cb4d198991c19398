//! Runs of shipped scenes.

use crate::figure::{Context, ReproduceError};
use quasistep::{StepInput, Tally};
use quasistep_record::Recording;
use quasistep_scene::Scene;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// A finished run.
pub(crate) struct Run {
    pub recording: Recording,
    pub tally: Tally,
}

/// Runs `scenes/<name>.yml` to its end, with changes as for `--set`.
pub(crate) fn run(
    context: &Context<'_>,
    name: &str,
    changes: &[(&str, &str)],
) -> Result<Run, ReproduceError> {
    let scene = load(name, changes)?;
    let mut tally = Tally::default();
    let outcome = scene.run(Some(context.clock), &mut |step| {
        tally.push(step.report);
        ControlFlow::Continue(())
    });
    match outcome.stopped {
        Some(error) => Err(ReproduceError::Step { scene: name.to_owned(), error }),
        None => Ok(Run { recording: outcome.recording, tally }),
    }
}

/// Reads `scenes/<name>.yml`, with changes as for `--set`.
pub(crate) fn load(name: &str, changes: &[(&str, &str)]) -> Result<Scene, ReproduceError> {
    let changes: Vec<(String, String)> =
        changes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Ok(Scene::load_with(&path(name), &changes)?)
}

/// Runs `scenes/<name>.yml` to its end without warm starts, and returns its statistics.
pub(crate) fn cold(context: &Context<'_>, name: &str) -> Result<Tally, ReproduceError> {
    let scene = Scene::load_with(&path(name), &[])?;
    let mut work = scene.system.create_workspace();
    work.set_clock(Some(context.clock));
    work.set_warm_start(false);
    let (mut state, mut input) = (scene.start.clone(), StepInput::default());
    let mut tally = Tally::default();
    for k in 1..=scene.n_steps() {
        scene.sample(k as f64 * scene.params.time_step, &mut input);
        let report = scene
            .system
            .step_with(&mut state, &input, &scene.params, &mut work)
            .map_err(|error| ReproduceError::Step { scene: name.to_owned(), error })?;
        tally.push(report);
    }
    Ok(tally)
}

/// Path of a scene in `scenes/` of the current folder, or of the source tree from which this
/// program was built.
pub(crate) fn path(name: &str) -> PathBuf {
    let here = PathBuf::from("scenes").join(format!("{name}.yml"));
    if here.is_file() {
        return here;
    }
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenes").join(format!("{name}.yml"))
}
