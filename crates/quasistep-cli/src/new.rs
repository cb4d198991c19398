//! `quasistep new`.

use crate::NewArgs;
use crate::failure::Failure;
use quasistep_scene::{Scene, scene_of_model};
use std::io::Write;
use std::path::Path;

pub fn new(arguments: &NewArgs, quiet: bool) -> Result<(), Failure> {
    let out = arguments.out.clone().unwrap_or_else(|| {
        let name = arguments.model.file_name().map_or(Path::new("scene"), Path::new);
        Path::new(name.file_stem().unwrap_or(name.as_os_str())).with_extension("yml")
    });
    let folder = out.parent().unwrap_or(Path::new("."));
    let text = scene_of_model(&arguments.model, folder).map_err(Failure::usage)?;
    // it must be readable where it will stand
    let scene = Scene::parse(&text, &out.display().to_string(), "scene", folder, &[])
        .map_err(Failure::usage)?;
    for warning in &scene.warnings {
        eprintln!("warning: {warning}");
    }
    let fail = |e: std::io::Error| {
        let hint = match e.kind() {
            std::io::ErrorKind::AlreadyExists => {
                "it exists already; give another name with -o".to_owned()
            }
            _ => e.to_string(),
        };
        Failure::usage(format!("{}: {hint}", out.display()))
    };
    std::fs::create_dir_all(folder).map_err(fail)?;
    let mut file = std::fs::File::create_new(&out).map_err(fail)?;
    file.write_all(text.as_bytes()).map_err(fail)?;
    if !quiet {
        println!("wrote {}; next:", out.display());
        println!("  quasistep check {}", out.display());
        println!("  quasistep run {}", out.display());
    }
    Ok(())
}
