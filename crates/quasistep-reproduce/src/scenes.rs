//! Runs of shipped scenes.

use crate::figure::{Context, ReproduceError};
use quasistep::Tally;
use quasistep_record::Recording;
use quasistep_scene::Scene;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// A finished run.
pub(crate) struct Run {
    pub recording: Recording,
    pub tally: Tally,
}

/// Runs `scenes/<name>.yml` to its end, with `--set`-style changes.
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

/// Reads `scenes/<name>.yml`, with `--set`-style changes.
pub(crate) fn load(name: &str, changes: &[(&str, &str)]) -> Result<Scene, ReproduceError> {
    let changes: Vec<(String, String)> =
        changes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Ok(Scene::load_with(&path(name), &changes)?)
}

/// The scene in the current folder's `scenes/`, or in the checkout this was built from.
pub(crate) fn path(name: &str) -> PathBuf {
    let here = PathBuf::from("scenes").join(format!("{name}.yml"));
    if here.is_file() {
        return here;
    }
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenes").join(format!("{name}.yml"))
}
