//! `quasistep view`.

use crate::failure::Failure;
use quasistep_record::Recording;
use quasistep_scene::Scene;
use std::path::{Path, PathBuf};

pub fn view(what: &Path, out: Option<&Path>, quiet: bool) -> Result<(), Failure> {
    let page = if what.is_file() { start_of(what, out)? } else { finished(what, out)? };
    if !quiet {
        println!("open the picture:");
        println!("{}", page.display());
    }
    Ok(())
}

/// The page and the plots of a finished run, anew.
fn finished(dir: &Path, out: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = dir.join("recording.json");
    if !path.is_file() {
        return Err(Failure::usage(format!(
            "{}: no recording.json in it; give a folder that `quasistep run` wrote, a scene file or a robot's file",
            dir.display()
        )));
    }
    let recording = Recording::read(&path).map_err(Failure::usage)?;
    write_pictures(out.unwrap_or(dir), &recording)
}

/// The page of a scene as it starts.
fn start_of(file: &Path, out: Option<&Path>) -> Result<PathBuf, Failure> {
    let scene = Scene::load(file).map_err(Failure::usage)?;
    for warning in &scene.warnings {
        eprintln!("warning: {warning}");
    }
    let mut recording = scene.empty_recording(&scene.params);
    recording.frames.push(scene.frame(&scene.start, None));
    let dir = out.map_or_else(|| Path::new("out").join(&scene.name), Path::to_path_buf);
    let page = dir.join("start.html");
    std::fs::create_dir_all(&dir).map_err(|e| Failure::usage(format!("{}: {e}", dir.display())))?;
    quasistep_view::write_page(&recording, &page).map_err(Failure::usage)?;
    Ok(page)
}

/// Writes `view.html` and `plots/` into `dir`; the path of the page.
pub fn write_pictures(dir: &Path, recording: &Recording) -> Result<PathBuf, Failure> {
    write_plots(dir, recording)?;
    let page = dir.join("view.html");
    quasistep_view::write_page(recording, &page).map_err(Failure::usage)?;
    Ok(page)
}

/// Writes `plots/` into `dir`.
pub fn write_plots(dir: &Path, recording: &Recording) -> Result<(), Failure> {
    quasistep_view::write_plots(recording, &dir.join("plots")).map_err(Failure::usage)?;
    Ok(())
}
