//! `quasistep view`.

use crate::failure::Failure;
use crate::output::{open, read_for_pictures, tell_end, write_page, write_plots, write_tables};
use crate::say;
use crate::wait::Wait;
use quasistep_record::{Recording, RunFolder};
use quasistep_scene::Scene;
use quasistep_view::{Camera, StillOptions, Video};
use std::path::{Path, PathBuf};

/// Files of a run besides its page and plots.
pub struct Files<'a> {
    /// True for tables.
    pub csv: bool,
    /// File of the moving picture.
    pub video: Option<&'a Path>,
}

pub fn view(
    what: &Path,
    out: Option<&Path>,
    files: &Files<'_>,
    open_it: bool,
    quiet: bool,
) -> Result<(), Failure> {
    if let Some(video) = files.video {
        Video::check_name(video).map_err(|e| Failure::usage(format!("--video {e}")))?;
    }
    let page = if what.is_file() {
        for (option, is_given, made) in
            [("--csv", files.csv, "tables"), ("--video", files.video.is_some(), "moving pictures")]
        {
            if is_given {
                return Err(Failure::usage(format!(
                    "{option}: {} is no folder of a run; {made} are of runs",
                    what.display()
                )));
            }
        }
        start_of(what, out, quiet)?
    } else {
        finished(what, out, files, quiet)?
    };
    if !quiet {
        say!("open the picture:");
        say!("{}", page.display());
    }
    if open_it {
        open(&page);
    }
    Ok(())
}

/// Writes page and plots of a run again. A folder without a finished run shows an unfinished one.
fn finished(
    dir: &Path,
    out: Option<&Path>,
    files: &Files<'_>,
    quiet: bool,
) -> Result<PathBuf, Failure> {
    RunFolder::settle_if_free(dir).map_err(Failure::files)?;
    let unfinished = RunFolder::unfinished(dir);
    let is_finished = dir.join("recording.qsr").is_file();
    if let Some(place) = unfinished.as_ref().filter(|_| !quiet) {
        let which = if is_finished { "a later run into this folder" } else { "the run" };
        say!("{which} goes on, or was killed; its files are in {}", place.display());
    }
    let dir = match &unfinished {
        Some(place) if !is_finished => place,
        _ => dir,
    };
    let path = dir.join("recording.qsr");
    if !path.is_file() {
        return Err(Failure::usage(format!(
            "{}: no recording.qsr in it; give a folder that `quasistep run` wrote, a scene file or a robot's file",
            dir.display()
        )));
    }
    let recording = read_for_pictures(&path, quiet)?;
    if !quiet {
        tell_end(&recording);
    }
    let dir = out.unwrap_or(dir);
    write_plots(dir, &recording, quiet)?;
    if files.csv {
        write_tables(dir, &path, quiet)?;
    }
    if let Some(video) = files.video {
        write_video(&recording, video, quiet)?;
    }
    let page = dir.join("view.html");
    write_page(&recording, &page, quiet)?;
    Ok(page)
}

/// Writes a run as a moving picture from the page's first view.
fn write_video(recording: &Recording, file: &Path, quiet: bool) -> Result<(), Failure> {
    let [width, height] = Video::SIZE.map(f64::from);
    let drawing = Wait::new("drawing the moving picture", quiet);
    let camera = Camera::first(recording, width / height);
    let options = StillOptions::default();
    let made = quasistep_view::write_gif(recording, &camera, Video::SIZE, &options, file)
        .map_err(Failure::files)?;
    drop(drawing);
    if !quiet {
        let faster = if made.speed > 1.0 {
            format!(", {:.1} times as fast", made.speed)
        } else {
            String::new()
        };
        say!("moving picture in {}{faster}", file.display());
    }
    Ok(())
}

/// Writes the page of a scene at its start.
fn start_of(file: &Path, out: Option<&Path>, quiet: bool) -> Result<PathBuf, Failure> {
    let reading = Wait::new("reading the scene", quiet);
    let scene = Scene::load(file).map_err(Failure::usage)?;
    drop(reading);
    say::warnings(&scene.warnings);
    if let Some(told) = scene.motion_told.as_ref().filter(|_| !quiet) {
        say!("{}: {told}", scene.name);
    }
    let mut recording = scene.empty_recording(&scene.params);
    recording.frames.push(scene.frame(&scene.start, None));
    let dir = out.map_or_else(|| Path::new("out").join(&scene.name), Path::to_path_buf);
    let page = dir.join("start.html");
    std::fs::create_dir_all(&dir).map_err(|e| Failure::usage(format!("{}: {e}", dir.display())))?;
    write_page(&recording, &page, quiet)?;
    Ok(page)
}
