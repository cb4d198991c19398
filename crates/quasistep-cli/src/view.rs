//! `quasistep view`.

use crate::failure::Failure;
use quasistep_record::Recording;
use std::path::{Path, PathBuf};

pub fn view(dir: &Path, quiet: bool) -> Result<(), Failure> {
    let path = dir.join("recording.json");
    if !path.is_file() {
        return Err(Failure::usage(format!(
            "{}: no recording.json in it; give a folder that `quasistep run` wrote",
            dir.display()
        )));
    }
    let recording = Recording::read(&path).map_err(Failure::usage)?;
    let page = write_pictures(dir, &recording)?;
    if !quiet {
        println!("open the picture:");
        println!("{}", page.display());
    }
    Ok(())
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
