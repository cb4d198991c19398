//! `quasistep new`.

use crate::NewArgs;
use crate::failure::Failure;
use crate::say;
use quasistep_record::write_whole;
use quasistep_scene::{FIRST_SCENE, Scene, first_scene_of_model};
use std::io::Write;
use std::path::Path;

pub fn new(arguments: &NewArgs, quiet: bool) -> Result<(), Failure> {
    let out = arguments.out.clone().unwrap_or_else(|| {
        let name = arguments.model.as_deref().and_then(Path::file_stem);
        Path::new(name.unwrap_or("scene".as_ref())).with_extension("yml")
    });
    let folder = out.parent().unwrap_or(Path::new("."));
    let text = match &arguments.model {
        Some(model) => first_scene_of_model(model, folder).map_err(Failure::usage)?,
        None => FIRST_SCENE.to_owned(),
    };
    // check that the scene can be read from its new place; a mistake is the model's, since the
    // scene is not written then
    let cited = arguments.model.as_deref().unwrap_or(&out).display().to_string();
    let scene = Scene::parse(&text, &cited, "scene", folder, &[]).map_err(Failure::usage)?;
    say::warnings(&scene.warnings);
    if let Some(told) = scene.motion_told.as_ref().filter(|_| !quiet) {
        say!("  {told}");
    }
    write(&out, &text)?;
    if !quiet {
        say!("wrote {}; next:", out.display());
        say!("  quasistep check {}", out.display());
        say!("  quasistep run {}", out.display());
    }
    Ok(())
}

/// Writes a file that must not exist yet, and creates the folders above it.
pub fn write(out: &Path, text: &str) -> Result<(), Failure> {
    let fail = |e: std::io::Error| {
        let hint = match e.kind() {
            std::io::ErrorKind::AlreadyExists => {
                "it exists already; give another name with -o".to_owned()
            }
            _ => e.to_string(),
        };
        Failure::usage(format!("{}: {hint}", out.display()))
    };
    if out.symlink_metadata().is_ok() {
        return Err(fail(std::io::ErrorKind::AlreadyExists.into()));
    }
    std::fs::create_dir_all(out.parent().unwrap_or(Path::new("."))).map_err(fail)?;
    write_whole(out, |file| file.write_all(text.as_bytes())).map_err(fail)
}
