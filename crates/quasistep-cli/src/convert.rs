//! `quasistep convert`.

use crate::failure::Failure;
use crate::{ConvertArgs, NewArgs, new};
use quasistep_scene::Scene;
use std::path::Path;

pub fn convert(arguments: &ConvertArgs, quiet: bool) -> Result<(), Failure> {
    let ConvertArgs { scene: path, out, changes } = arguments;
    let out = out.clone().unwrap_or_else(|| {
        Path::new(path.file_stem().unwrap_or("scene".as_ref())).with_extension("xml")
    });
    let is = |ending: &str| out.extension().is_some_and(|e| e.eq_ignore_ascii_case(ending));
    if is("yml") || is("yaml") {
        return new::new(&NewArgs { model: Some(path.clone()), out: Some(out) }, quiet);
    }
    if !is("xml") {
        return Err(Failure::usage(format!(
            "{}: its ending says no format; valid: .xml for MJCF, .yml for a scene file",
            out.display()
        )));
    }
    let scene = Scene::load_with(path, &changes.pairs()?).map_err(Failure::usage)?;
    let converted = scene.to_mjcf();
    new::write(&out, &converted.text)?;
    for lost in &converted.lost {
        tell!("warning: {lost}");
    }
    if !quiet {
        say!("wrote {}", out.display());
    }
    Ok(())
}
