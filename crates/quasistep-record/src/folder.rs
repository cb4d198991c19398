//! The folder of a run: one writer at a time, and the files of the run before are whole until all of the new ones are.

use crate::RecordError;
use crate::whole::is_draft;
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
        folder.settle()?;
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

    /// Removes the files of the run before, and moves the new ones to where they belong. Whenever this is stopped, the folder
    /// has the recording of one of the two, whole, and no file of the other one beside it that the next call would leave.
    ///
    /// # Errors
    ///
    /// [`RecordError::Io`]: what could not be moved is where it was made.
    pub fn publish(self) -> Result<(), RecordError> {
        let fail = |path: &Path, e| RecordError::io(path, e);
        let (dir, place) = (&self.dir, self.place());
        // in a folder without a recording such files are somebody else's: it goes last
        if dir.join(RECORDING).is_file() {
            remove_drawn(dir).map_err(|e| fail(dir, e))?;
        }
        move_file(&place, dir, Path::new(RECORDING))?;
        self.settle()
    }

    /// Moves what stands with a recording that was moved already.
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

    /// Ends what a run that was killed while it published has left to do; nothing, if there is none.
    ///
    /// # Errors
    ///
    /// [`RecordError::Io`] as of [`publish`](Self::publish).
    pub fn settle_if_free(dir: &Path) -> Result<(), RecordError> {
        if !dir.join(UNFINISHED).is_dir() || !dir.join(RECORDING).is_file() {
            return Ok(());
        }
        match lock(dir) {
            Ok(lock) => Self { dir: dir.to_owned(), is_new: false, _lock: lock }.settle(),
            // a run that goes on, or a folder that is only read
            Err(_) => Ok(()),
        }
    }
}

/// Moves a file from one folder to another, if it is there.
fn move_file(place: &Path, dir: &Path, name: &Path) -> Result<(), RecordError> {
    let (from, to) = (place.join(name), dir.join(name));
    if from.is_file() {
        fs::rename(&from, &to).map_err(|e| RecordError::io(&to, e))?;
    }
    Ok(())
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

/// Removes the files of a run from a folder, which need not be there, and what writers that were killed left of them; others
/// stay.
fn remove_files(dir: &Path) -> io::Result<()> {
    remove_drawn(dir)?;
    for folder in [dir, &dir.join(PLOTS)] {
        entries(folder)?.iter().filter(|file| is_draft(file)).try_for_each(|file| remove(file))?;
    }
    remove(&dir.join(RECORDING))
}

/// Removes all files of a run but its recording.
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

/// The pictures in a folder, which need not be there.
fn pictures(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = entries(dir)?;
    files.retain(|file| file.extension().is_some_and(|e| e == "svg"));
    Ok(files)
}

/// What is in a folder, which need not be there.
fn entries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(dir) {
        Ok(list) => list.map(|entry| Ok(entry?.path())).collect(),
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
