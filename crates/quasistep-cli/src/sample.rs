//! `quasistep sample`.

use crate::SampleArgs;
use crate::failure::Failure;
use crate::scale::{MANY_POINTS, confirm};
use crate::wait::Wait;
use quasistep_scene::{Scene, write_ply};

pub fn sample(arguments: &SampleArgs, quiet: bool) -> Result<(), Failure> {
    let n = usize::try_from(arguments.points).unwrap_or(usize::MAX);
    confirm(n, MANY_POINTS, "points", arguments.yes)?;
    let _wait = Wait::new("sampling", quiet);
    let scene = Scene::load_with(&arguments.scene, &[]).map_err(Failure::usage)?;
    let samples = scene.sample_body(&arguments.body, n).map_err(Failure::usage)?;
    let file = arguments.out.clone().unwrap_or_else(|| {
        let name = arguments.body.rsplit('/').next().unwrap_or("cloud");
        format!("{name}.ply").into()
    });
    let comment =
        format!("{} points of {} of {}, in m", arguments.points, arguments.body, scene.name);
    write_ply(&file, &samples, &comment).map_err(Failure::usage)?;
    if !quiet {
        say!("{} points with normals in {}", samples.points.len(), file.display());
    }
    Ok(())
}
