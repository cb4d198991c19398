//! The output folder of a run. Only one run may write at a time, and the files of the previous run
//! stay until all new ones are complete.

use crate::RecordError;
use crate::whole::is_draft;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file from which all other files of a run are made.
const RECORDING: &str = "recording.qsr";
/// Other files that a run may write, in addition to those in [`PLOTS`].
const OTHERS: [&str; 6] =
    ["summary.json", "states.csv", "contacts.csv", "uniqueness.csv", "mpc.csv", "view.html"];
/// Folder of plots, `*.svg`.
const PLOTS: &str = "plots";
/// Subfolder in which a run writes its files.
const UNFINISHED: &str = "unfinished";
/// File that is locked while a run writes.
const LOCK: &str = ".lock";

/// The folder of a run that is being written. Files are written in [`place`](Self::place), a
/// subfolder, and moved to the folder when all are complete. Without [`publish`](Self::publish)
/// they stay in the subfolder.
#[derive(Debug)]
pub struct RunFolder {
    dir: PathBuf,
    /// True if this call created the folder.
    is_new: bool,
    /// Lock file; locked while open.
    _lock: File,
}

impl RunFolder {
    /// Prepares a folder for the files of a run, and removes unfinished files of a run that was
    /// killed.
    ///
    /// # Errors
    ///
    /// [`RecordError::Busy`] while another run is writing into it; [`RecordError::Io`] if it cannot
    /// be written.
    pub fn open(dir: &Path) -> Result<Self, RecordError> {
        let fail = |path: &Path, e| RecordError::io(path, e);
        let is_new = !dir.exists();
        fs::create_dir_all(dir).map_err(|e| fail(dir, e))?;
        let folder = Self { dir: dir.to_owned(), is_new, _lock: lock(dir)? };
        let place = folder.place();
        folder.settle()?;
        remove_files(&place).map_err(|e| fail(&place, e))?;
        fs::create_dir_all(&place).map_err(|e| fail(&place, e))?;
        Ok(folder)
    }

    /// The subfolder in which files are written.
    pub fn place(&self) -> PathBuf {
        self.dir.join(UNFINISHED)
    }

    /// Path of the recording of a killed or active run in this folder, if there is one.
    pub fn unfinished(dir: &Path) -> Option<PathBuf> {
        let place = dir.join(UNFINISHED);
        place.join(RECORDING).is_file().then_some(place)
    }

    /// Removes the files of the previous run, and moves the new ones to the folder.
    ///
    /// If this is interrupted at any time, the folder has a complete recording of one of the two
    /// runs. Files of the other run beside it are removed by the next call.
    ///
    /// # Errors
    ///
    /// [`RecordError::Io`]; files that could not be moved stay in [`place`](Self::place).
    pub fn publish(self) -> Result<(), RecordError> {
        let fail = |path: &Path, e| RecordError::io(path, e);
        let (dir, place) = (&self.dir, self.place());
        // remove the recording last: in a folder without one, the other files are taken for the
        // user's
        if dir.join(RECORDING).is_file() {
            remove_drawn(dir).map_err(|e| fail(dir, e))?;
        }
        move_file(&place, dir, Path::new(RECORDING))?;
        self.settle()
    }

    /// Moves the remaining files of a run whose recording was already moved.
    fn settle(&self) -> Result<(), RecordError> {
        let (dir, place) = (&self.dir, self.place());
        if place.join(RECORDING).is_file() || !dir.join(RECORDING).is_file() {
            return Ok(());
        }
        for name in OTHERS {
            move_file(&place, dir, Path::new(name))?;
        }
        let plots = pictures(&place.join(PLOTS)).map_err(|e| RecordError::io(&place, e))?;
        if !plots.is_empty() {
            let to = dir.join(PLOTS);
            fs::create_dir_all(&to).map_err(|e| RecordError::io(&to, e))?;
        }
        plots.iter().try_for_each(|plot| {
            move_file(&place, dir, &Path::new(PLOTS).join(plot.file_name().unwrap_or_default()))
        })
    }

    /// Completes the publication of a run that was killed while publishing; does nothing if there
    /// is none.
    ///
    /// # Errors
    ///
    /// [`RecordError::Io`], as for [`publish`](Self::publish).
    pub fn settle_if_free(dir: &Path) -> Result<(), RecordError> {
        if !dir.join(UNFINISHED).is_dir() || !dir.join(RECORDING).is_file() {
            return Ok(());
        }
        match lock(dir) {
            Ok(lock) => Self { dir: dir.to_owned(), is_new: false, _lock: lock }.settle(),
            // another run is active, or the folder is read-only
            Err(_) => Ok(()),
        }
    }
}

/// Moves a file from one folder to another, if it exists.
fn move_file(place: &Path, dir: &Path, name: &Path) -> Result<(), RecordError> {
    let (from, to) = (place.join(name), dir.join(name));
    if from.is_file() {
        fs::rename(&from, &to).map_err(|e| RecordError::io(&to, e))?;
    }
    Ok(())
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // folders that are not empty stay
        let _ = fs::remove_dir(self.place().join(PLOTS));
        let _ = fs::remove_dir(self.place());
        let _ = fs::remove_file(self.dir.join(LOCK));
        if self.is_new {
            let _ = fs::remove_dir(&self.dir);
        }
    }
}

/// Removes the files of a run, and drafts of writers that were killed, from a folder. Other files
/// stay. The folder may be missing.
fn remove_files(dir: &Path) -> io::Result<()> {
    remove_drawn(dir)?;
    for folder in [dir, &dir.join(PLOTS)] {
        entries(folder)?.iter().filter(|file| is_draft(file)).try_for_each(|file| remove(file))?;
    }
    remove(&dir.join(RECORDING))
}

/// Removes all files of a run except its recording.
fn remove_drawn(dir: &Path) -> io::Result<()> {
    let files = OTHERS.iter().map(|name| dir.join(name));
    files.chain(pictures(&dir.join(PLOTS))?).try_for_each(|file| remove(&file))
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// The plots in a folder, which may be missing.
fn pictures(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = entries(dir)?;
    files.retain(|file| file.extension().is_some_and(|e| e == "svg"));
    Ok(files)
}

/// The entries of a folder, which may be missing.
fn entries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(dir) {
        Ok(list) => list.map(|entry| Ok(entry?.path())).collect(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}

/// Locks a folder. The lock ends with the process, however it ends.
fn lock(dir: &Path) -> Result<File, RecordError> {
    let path = dir.join(LOCK);
    let fail = |e| RecordError::io(dir, e);
    let own = format!("{}\n", std::process::id());
    loop {
        let mut options = OpenOptions::new();
        let open = options.read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = open.map_err(fail)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let by = fs::read_to_string(&path).unwrap_or_default().trim().to_owned();
                return Err(RecordError::Busy { dir: dir.to_owned(), by });
            }
            // on a file system without locks, concurrent runs are not detected
            Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(e)) => return Err(fail(e)),
        }
        file.set_len(0).and_then(|()| file.write_all(own.as_bytes())).map_err(fail)?;
        // the previous run removes the file when it ends, so the file locked here may no longer be
        // the one in the folder
        match fs::read_to_string(&path) {
            Ok(text) if text != own => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            _ => return Ok(file),
        }
    }
}
