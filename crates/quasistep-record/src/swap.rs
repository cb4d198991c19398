//! Exchange of a run's folder with one that has the new files, which takes no time: at every moment
//! all files are of one run.
//!
//! | # | what is done | interrupted behind it |
//! |---|---|---|
//! | 1 | a mark, an empty folder, is made in the subfolder of the new files | the run counts as killed |
//! | 2 | the subfolder is moved beside the folder, as `.NAME.unfinished` | old files; `end` goes on |
//! | 3 | files of others and the lock get a second name in it | old files; `end` goes on |
//! | 4 | the two folders are exchanged | new files; `end` goes on |
//! | 5 | the old files, which have no mark, are removed | new files |

use crate::run_files::{PLOTS, entries, is_of_run, remove, remove_files};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Subfolder in which a run writes its files, and the mark of new files within it.
pub(crate) const MARK: &str = "unfinished";
/// File that is locked while a run writes.
pub(crate) const LOCK: &str = ".lock";

/// A folder, and the one beside it with which it is exchanged.
pub(crate) struct Swap {
    dir: PathBuf,
    beside: PathBuf,
}

impl Swap {
    /// `None` for a folder that cannot be exchanged: one without a name, one in which this process
    /// works, and all on systems without an exchange.
    pub fn of(dir: &Path) -> Option<Self> {
        let dir = fs::canonicalize(dir).ok()?;
        let mut name = OsStr::new(".").to_owned();
        name.push(dir.file_name()?);
        name.push(".");
        name.push(MARK);
        let works_here = std::env::current_dir().map_or(true, |here| here.starts_with(&dir));
        let can_exchange = cfg!(any(target_os = "linux", target_vendor = "apple"));
        (can_exchange && !works_here).then(|| Self { beside: dir.with_file_name(name), dir })
    }

    /// True if an exchange was interrupted.
    pub fn is_begun(&self) -> bool {
        self.beside.is_dir()
    }

    /// Exchanges the folder with its subfolder of new files. After an error all is as before.
    pub fn publish(&self) -> io::Result<()> {
        self.foreign()?;
        let place = self.dir.join(MARK);
        fs::create_dir_all(place.join(MARK))?;
        fs::rename(&place, &self.beside)?;
        self.end()
    }

    /// Ends an exchange that was begun. After an error all is as before it began.
    pub fn end(&self) -> io::Result<()> {
        if self.beside.join(MARK).is_dir()
            && let Err(error) = self.exchange()
        {
            self.undo()?;
            return Err(error);
        }
        let _ = fs::remove_dir(self.dir.join(MARK));
        // what cannot be removed now is removed before the next run
        let _ = self.clear();
        Ok(())
    }

    /// Names of the files of others in the folder. An error if there is something else of others: a
    /// subfolder has no second name.
    fn foreign(&self) -> io::Result<Vec<PathBuf>> {
        let mut names = Vec::new();
        for path in entries(&self.dir)?.into_iter().chain(entries(&self.dir.join(PLOTS))?) {
            let name = path.strip_prefix(&self.dir).unwrap_or(&path).to_owned();
            let is_plot = name.starts_with(PLOTS) && name != Path::new(PLOTS);
            let is_own = if is_plot {
                name.extension().is_some_and(|e| e == "svg" || e == "part")
            } else {
                is_of_run(&name) || [PLOTS, MARK, LOCK].iter().any(|own| name == Path::new(own))
            };
            if is_own {
                continue;
            }
            if is_plot || !fs::symlink_metadata(&path)?.is_file() {
                return Err(io::ErrorKind::Unsupported.into());
            }
            names.push(name);
        }
        Ok(names)
    }

    fn exchange(&self) -> io::Result<()> {
        let foreign = self.foreign()?;
        for name in foreign.iter().map(PathBuf::as_path).chain([Path::new(LOCK)]) {
            let second = self.beside.join(name);
            if self.dir.join(name).exists() && !second.exists() {
                fs::hard_link(self.dir.join(name), second)?;
            }
        }
        fs::set_permissions(&self.beside, fs::metadata(&self.dir)?.permissions())?;
        exchange(&self.dir, &self.beside)
    }

    /// Moves the new files back to the subfolder.
    fn undo(&self) -> io::Result<()> {
        for name in self.foreign()?.iter().map(PathBuf::as_path).chain([Path::new(LOCK)]) {
            remove(&self.beside.join(name))?;
        }
        fs::remove_dir(self.beside.join(MARK))?;
        fs::rename(&self.beside, self.dir.join(MARK))
    }

    /// Removes the old files. A file of others that came while folders were exchanged moves to the
    /// folder.
    fn clear(&self) -> io::Result<()> {
        remove_files(&self.beside)?;
        let _ = fs::remove_dir(self.beside.join(PLOTS));
        for path in entries(&self.beside)? {
            let there = self.dir.join(path.file_name().unwrap_or_default());
            if there.exists() { remove(&path)? } else { fs::rename(&path, &there)? }
        }
        fs::remove_dir(&self.beside)
    }
}

/// Exchanges two folders in one operation of the file system.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
