//! `quasistep check`.

use crate::CheckArgs;
use crate::failure::Failure;
use quasistep_scene::Scene;

pub fn check(arguments: &CheckArgs, quiet: bool) -> Result<(), Failure> {
    let changes = arguments.changes.pairs()?;
    let scene = Scene::load_with(&arguments.scene, &changes).map_err(Failure::usage)?;
    if !quiet {
        println!("{}", scene.contents());
    }
    for warning in &scene.warnings {
        eprintln!("warning: {warning}");
    }

    // is the step problem well posed at the start? take one step and see
    let first = scene.first_step().map_err(|e| {
        Failure::world(format!("{}: the first step cannot be taken: {e}", scene.name))
    })?;
    if !quiet {
        println!("{}", first.in_words(&scene));
        println!("ok");
    }
    Ok(())
}
