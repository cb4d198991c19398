//! `quasistep convert`.

use crate::failure::Failure;
use crate::{ConvertArgs, NewArgs, new};
use quasistep_scene::Scene;
use std::path::Path;

/// Text of a scene file; `None` for a file of models, which has no `models` key.
fn scene_text(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let yaml = path.extension().is_some_and(|e| e == "yml" || e == "yaml");
    let models = text.lines().any(|line| line.starts_with("models:"));
    let json = text.trim_start().starts_with('{') && text.contains("\"models\":");
    (yaml && (models || json)).then_some(text)
}

pub fn convert(arguments: &ConvertArgs, quiet: bool) -> Result<(), Failure> {
    let ConvertArgs { scene: path, out, changes } = arguments;
    let out = out.clone().unwrap_or_else(|| {
        Path::new(path.file_stem().unwrap_or("scene".as_ref())).with_extension("xml")
    });
    let is = |ending: &str| out.extension().is_some_and(|e| e.eq_ignore_ascii_case(ending));
    if is("yml") || is("yaml") {
        if let Some(scene) = scene_text(path) {
            new::write(&out, &quasistep_scene::renew(&scene))?;
            if !quiet {
                say!("wrote {}", out.display());
            }
            return Ok(());
        }
        return new::new(&NewArgs { model: Some(path.clone()), out: Some(out) }, quiet);
    }
    if is("mcap") {
        let recording = if path.is_dir() { path.join("recording.qsr") } else { path.clone() };
        quasistep_view::convert_to_mcap(&recording, &out).map_err(Failure::usage)?;
        if !quiet {
            say!("wrote {}", out.display());
        }
        return Ok(());
    }
    if !is("xml") {
        return Err(Failure::usage(format!(
            "{}: its ending says no format; valid: .xml for MJCF, .yml for a scene file, .mcap for the folder of a run",
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
