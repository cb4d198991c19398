//! The output folder of a run. Only one run may write at a time, and the files of the previous run
//! stay until all new ones are complete.

use crate::RecordError;
use crate::run_files::{PLOTS, RECORDING, drawn, move_file, remove, remove_files};
use crate::swap::{self, Swap};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Subfolder in which a run writes its files.
const UNFINISHED: &str = swap::MARK;
/// File that is locked while a run writes.
const LOCK: &str = swap::LOCK;

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

    /// Puts the new files in place of those of the previous run, all at once: whenever this is
    /// interrupted, the folder has all files of one of the two runs. Foreign files stay.
    ///
    /// Folders that cannot be exchanged get the files one by one: those in which someone works, mount
    /// points, folders with subfolders of others, and all on systems without such an exchange. If
    /// that is interrupted, the recording and each other file are whole, of one of the two runs, and
    /// the next call puts the rest in place. For users, an exchanged folder is another one of the
    /// same name: a shell in it sees the former files until it enters it again.
    ///
    /// # Errors
    ///
    /// [`RecordError::Io`]; files that could not be moved stay in [`place`](Self::place).
    pub fn publish(self) -> Result<(), RecordError> {
        match Swap::of(&self.dir) {
            Some(swap) if swap.publish().is_ok() => Ok(()),
            _ => self.replace(),
        }
    }

    /// Moves the new files in place of those of the previous run, one by one.
    fn replace(&self) -> Result<(), RecordError> {
        let fail = |path: &Path, e| RecordError::io(path, e);
        let (dir, place) = (&self.dir, self.place());
        // in a folder without a recording, other files are taken for the user's
        if dir.join(RECORDING).is_file() {
            let new = drawn(&place).map_err(|e| fail(&place, e))?;
            let old = drawn(dir).map_err(|e| fail(dir, e))?;
            let gone = old.iter().filter(|name| !new.contains(name));
            gone.map(|name| dir.join(name))
                .try_for_each(|file| remove(&file).map_err(|e| fail(&file, e)))?;
        }
        move_file(&place, dir, Path::new(RECORDING))?;
        self.settle()
    }

    /// Ends the publication of a run that was killed: exchanges folders, or moves the remaining files
    /// of a run whose recording was already moved.
    fn settle(&self) -> Result<(), RecordError> {
        let (dir, place) = (&self.dir, self.place());
        // an exchange that cannot be ended leaves its files in the subfolder
        if let Some(swap) = Swap::of(dir)
            && swap.is_begun()
            && swap.end().is_err()
        {
            return Ok(());
        }
        if place.join(RECORDING).is_file() || !dir.join(RECORDING).is_file() {
            return Ok(());
        }
        let files = drawn(&place).map_err(|e| RecordError::io(&place, e))?;
        if files.iter().any(|name| name.starts_with(PLOTS)) {
            let to = dir.join(PLOTS);
            fs::create_dir_all(&to).map_err(|e| RecordError::io(&to, e))?;
        }
        files.iter().try_for_each(|name| move_file(&place, dir, name))
    }

    /// Completes the publication of a run that was killed while publishing; does nothing if there
    /// is none.
    ///
    /// # Errors
    ///
    /// [`RecordError::Io`], as for [`publish`](Self::publish).
    pub fn settle_if_free(dir: &Path) -> Result<(), RecordError> {
        let is_moved = dir.join(UNFINISHED).is_dir() && dir.join(RECORDING).is_file();
        if !is_moved && !Swap::of(dir).is_some_and(|swap| swap.is_begun()) {
            return Ok(());
        }
        match lock(dir) {
            Ok(lock) => Self { dir: dir.to_owned(), is_new: false, _lock: lock }.settle(),
            // another run is active, or the folder is read-only
            Err(_) => Ok(()),
        }
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // folders that are not empty stay
        let _ = fs::remove_dir(self.place().join(swap::MARK));
        let _ = fs::remove_dir(self.place().join(PLOTS));
        let _ = fs::remove_dir(self.place());
        let _ = fs::remove_file(self.dir.join(LOCK));
        if self.is_new {
            let _ = fs::remove_dir(&self.dir);
        }
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
