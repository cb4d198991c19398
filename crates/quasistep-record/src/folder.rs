//! The folder of a run: one writer at a time, and the files of the run before are whole until all of the new ones are.

use crate::RecordError;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// File of a run that every other one is drawn from.
const RECORDING: &str = "recording.qsr";
/// The others that a run may leave, beside those in [`PLOTS`].
const OTHERS: [&str; 6] =
    ["summary.json", "states.csv", "contacts.csv", "uniqueness.csv", "mpc.csv", "view.html"];
/// Folder of pictures, `*.svg`.
const PLOTS: &str = "plots";
/// Folder within that of a run where its files are written.
const UNFINISHED: &str = "unfinished";
/// File that is locked while a run writes.
const LOCK: &str = ".lock";

/// The folder of a run that is being written. Files are made in [`place`](Self::place), a folder within it, and moved to
/// where they belong when all are there; without [`publish`](Self::publish) they stay there.
#[derive(Debug)]
pub struct RunFolder {
    dir: PathBuf,
    /// It was not there before.
    is_new: bool,
    /// Locked as long as it is open.
    _lock: File,
}

impl RunFolder {
    /// Makes a folder ready for the files of a run; what a run that was killed left in it is removed.
    ///
    /// # Errors
    ///
    /// [`RecordError::Busy`] while another run writes into it, [`RecordError::Io`] if it cannot be written.
    pub fn open(dir: &Path) -> Result<Self, RecordError> {
        let fail = |path: &Path, e| RecordError::io(path, e);
        let is_new = !dir.exists();
        fs::create_dir_all(dir).map_err(|e| fail(dir, e))?;
        let folder = Self { dir: dir.to_owned(), is_new, _lock: lock(dir)? };
        let place = folder.place();
        remove_files(&place).map_err(|e| fail(&place, e))?;
        fs::create_dir_all(&place).map_err(|e| fail(&place, e))?;
        Ok(folder)
    }

    /// Where the files are made.
    pub fn place(&self) -> PathBuf {
        self.dir.join(UNFINISHED)
    }

    /// Where a run that was killed, or that goes on, has its recording, if there is one in this folder.
    pub fn unfinished(dir: &Path) -> Option<PathBuf> {
        let place = dir.join(UNFINISHED);
        place.join(RECORDING).is_file().then_some(place)
    }

    /// Removes the files of the run before, and moves the new ones to where they belong.
    ///
    /// # Errors
    ///
    /// [`RecordError::Io`]: what could not be moved is where it was made.
    pub fn publish(self) -> Result<(), RecordError> {
        let fail = |path: &Path, e| RecordError::io(path, e);
        let (dir, place) = (&self.dir, self.place());
        // in a folder without a recording such files are somebody else's
        if dir.join(RECORDING).is_file() {
            remove_files(dir).map_err(|e| fail(dir, e))?;
        }
        // the recording first: all others can be made from it
        for name in [RECORDING].iter().chain(&OTHERS) {
            let (from, to) = (place.join(name), dir.join(name));
            if from.is_file() {
                fs::rename(&from, &to).map_err(|e| fail(&to, e))?;
            }
        }
        let (from, to) = (place.join(PLOTS), dir.join(PLOTS));
        let plots = pictures(&from).map_err(|e| fail(&from, e))?;
        if !plots.is_empty() {
            fs::create_dir_all(&to).map_err(|e| fail(&to, e))?;
        }
        for plot in plots {
            let to = to.join(plot.file_name().unwrap_or_default());
            fs::rename(&plot, &to).map_err(|e| fail(&to, e))?;
        }
        Ok(())
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // folders with something in them stay
        let _ = fs::remove_dir(self.place().join(PLOTS));
        let _ = fs::remove_dir(self.place());
        let _ = fs::remove_file(self.dir.join(LOCK));
        if self.is_new {
            let _ = fs::remove_dir(&self.dir);
        }
    }
}

/// Removes the files of a run from a folder, which need not be there; others stay.
fn remove_files(dir: &Path) -> io::Result<()> {
    let files = [RECORDING].iter().chain(&OTHERS).map(|name| dir.join(name));
    for file in files.chain(pictures(&dir.join(PLOTS))?) {
        match fs::remove_file(&file) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
    }
    Ok(())
}

/// The pictures in a folder, which need not be there.
fn pictures(dir: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(dir) {
        Ok(list) => {
            let files: io::Result<Vec<PathBuf>> = list.map(|entry| Ok(entry?.path())).collect();
            let is_picture = |file: &PathBuf| file.extension().is_some_and(|e| e == "svg");
            Ok(files?.into_iter().filter(is_picture).collect())
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}

/// The lock of a folder: it ends with its process, however that ends.
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
            // a file system without locks: nothing tells two runs apart
            Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(e)) => return Err(fail(e)),
        }
        file.set_len(0).and_then(|()| file.write_all(own.as_bytes())).map_err(fail)?;
        // the run before removes the file when it ends: locked here, it may be gone from there
        match fs::read_to_string(&path) {
            Ok(text) if text != own => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            _ => return Ok(file),
        }
    }
}
