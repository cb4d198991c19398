//! The files of a run by name: which there are, and how they are moved and removed.

use crate::RecordError;
use crate::whole::is_draft;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file from which all other files of a run are made.
pub(crate) const RECORDING: &str = "recording.qsr";
/// Other files that a run may write, in addition to those in [`PLOTS`].
const OTHERS: [&str; 7] = [
    "summary.json",
    "states.csv",
    "contacts.csv",
    "sensors.csv",
    "uniqueness.csv",
    "mpc.csv",
    "view.html",
];
/// Folder of plots, `*.svg`.
pub(crate) const PLOTS: &str = "plots";
/// Moves a file from one folder to another, if it exists.
pub(crate) fn move_file(place: &Path, dir: &Path, name: &Path) -> Result<(), RecordError> {
    let (from, to) = (place.join(name), dir.join(name));
    if from.is_file() {
        fs::rename(&from, &to).map_err(|e| RecordError::io(&to, e))?;
    }
    Ok(())
}

/// Removes the files of a run, and drafts of writers that were killed, from a folder. Other files
/// stay. The folder may be missing.
pub(crate) fn remove_files(dir: &Path) -> io::Result<()> {
    remove_drawn(dir)?;
    for folder in [dir, &dir.join(PLOTS)] {
        entries(folder)?.iter().filter(|file| is_draft(file)).try_for_each(|file| remove(file))?;
    }
    remove(&dir.join(RECORDING))
}

/// Removes all files of a run except its recording.
fn remove_drawn(dir: &Path) -> io::Result<()> {
    drawn(dir)?.iter().try_for_each(|name| remove(&dir.join(name)))
}

/// Names, within its folder, of all files that a run has there except its recording.
pub(crate) fn drawn(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let files = OTHERS.iter().map(PathBuf::from).filter(|name| dir.join(name).is_file());
    let plots = pictures(&dir.join(PLOTS))?;
    let plots =
        plots.iter().filter_map(|path| path.file_name()).map(|name| Path::new(PLOTS).join(name));
    Ok(files.chain(plots).collect())
}

/// True if a folder entry of this name is a file of a run, or the draft of one.
pub(crate) fn is_of_run(name: &Path) -> bool {
    name == Path::new(RECORDING)
        || OTHERS.iter().any(|other| name == Path::new(other))
        || is_draft(name)
}

pub(crate) fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// The plots in a folder, which may be missing.
pub(crate) fn pictures(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = entries(dir)?;
    files.retain(|file| file.extension().is_some_and(|e| e == "svg"));
    Ok(files)
}

/// The entries of a folder, which may be missing.
pub(crate) fn entries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(dir) {
        Ok(list) => list.map(|entry| Ok(entry?.path())).collect(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}
