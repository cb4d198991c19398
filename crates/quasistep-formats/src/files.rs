//! The one door to the file system: whatever a scene was read from, it can be read from again.
//!
//! A scene keeps the bytes of every file that it named, so that it can be made anew where these
//! files are not, or no longer the same: in another process, on another machine, years later.
//! Readers call [`read`] and [`is_file`] and do not know whether a disk or a [`Files`] answers.
//!
//! What follows from bytes alone may also be kept from run to run ([`kept`], [`keep`]), in the user's cache folder. It is
//! no part of a scene: without it all is made again.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Files by the path they were asked for; `None` for one that was looked for and not there.
pub type Files = BTreeMap<PathBuf, Option<Arc<[u8]>>>;

/// Bytes of a file: a cloud of ten million points with normals in double precision has 480 MB.
pub const MOST_BYTES: u64 = 1 << 29;
/// Bytes of a file that is read as text: the robots and scenes in public use have at most 10 MB. A tree of it takes some ten
/// times as much.
pub const MOST_TEXT: u64 = 1 << 26;
/// Bytes of all files of a scene.
const MOST_OF_SCENE: u64 = 1 << 30;

/// What answers.
struct Source {
    /// Files that are known.
    files: Files,
    /// Are others looked for on the disk?
    disk: bool,
    /// Bytes of the files that were read.
    bytes: u64,
}

thread_local! {
    /// Of the scene that this thread reads; `None` between scenes.
    static SOURCE: RefCell<Option<Source>> = const { RefCell::new(None) };
}

/// Reads a scene from these files, and others from the disk if `disk`; hands over all that it named.
pub fn within<T>(files: Files, disk: bool, read: impl FnOnce() -> T) -> (T, Files) {
    /// Puts back what answered before, also when a reader panics.
    struct Restore(Option<Source>);
    impl Drop for Restore {
        fn drop(&mut self) {
            SOURCE.set(self.0.take());
        }
    }
    let restore = Restore(SOURCE.replace(Some(Source { files, disk, bytes: 0 })));
    let result = read();
    let files = SOURCE.take().map(|source| source.files).unwrap_or_default();
    drop(restore);
    (result, files)
}

/// The bytes of a file, of which there are at most [`MOST_BYTES`].
///
/// # Errors
///
/// What the system says; what is no file, as a folder or a pipe; too many bytes.
pub fn read(path: &Path) -> io::Result<Arc<[u8]>> {
    SOURCE.with_borrow_mut(|source| {
        let Some(source) = source else { return from_disk(path, MOST_BYTES).map(Arc::from) };
        match source.files.get(path) {
            Some(Some(bytes)) => Ok(bytes.clone()),
            _ if source.disk => source.take(path),
            _ => Err(io::Error::new(io::ErrorKind::NotFound, "it is not among the scene's files")),
        }
    })
}

impl Source {
    /// Reads a file from the disk, and keeps it.
    fn take(&mut self, path: &Path) -> io::Result<Arc<[u8]>> {
        let bytes: Arc<[u8]> = from_disk(path, MOST_BYTES)?.into();
        self.bytes += bytes.len() as u64;
        if self.bytes > MOST_OF_SCENE {
            return Err(io::Error::other(format!(
                "the files of a scene may have {MOST_OF_SCENE} bytes in all"
            )));
        }
        self.files.insert(path.to_owned(), Some(bytes.clone()));
        Ok(bytes)
    }
}

/// The bytes of a file on the disk, which must be one: a pipe may never end, a device neither.
fn from_disk(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        let what = if about.is_dir() { "it is a folder" } else { "it is a pipe or a device" };
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    let too_long = || io::Error::other(format!("it has more than {most} bytes, which are read"));
    if about.len() > most {
        return Err(too_long());
    }
    let mut bytes = Vec::with_capacity(about.len() as usize + 1);
    // it may have grown, and some files of the system tell no length
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_long()) } else { Ok(bytes) }
}

/// What is made from outside of the scene, the output of a program for one, under a name of its own:
/// kept as if it were a file of this name.
pub fn made(name: &str, make: impl FnOnce() -> io::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
    let path = Path::new(name);
    let known = SOURCE.with_borrow(|source| {
        let Some(Source { files, disk, .. }) = source else { return None };
        match files.get(path) {
            Some(known) => Some(known.clone()),
            None => (!disk).then_some(None),
        }
    });
    match known {
        Some(Some(bytes)) => return Ok(bytes.to_vec()),
        Some(None) => return Err(io::ErrorKind::NotFound.into()),
        None => {}
    }
    let made = make();
    let kept = made.as_ref().ok().map(|bytes| Arc::from(bytes.as_slice()));
    SOURCE.with_borrow_mut(|source| {
        if let Some(source) = source {
            source.files.insert(path.to_owned(), kept);
        }
    });
    made
}

/// The value of an environment variable, if it is set.
pub fn environment(name: &str) -> Option<OsString> {
    made_text(&format!("${name}"), || {
        std::env::var_os(name).ok_or_else(|| io::ErrorKind::NotFound.into())
    })
}

/// The folder at which relative paths start; empty if it is not known.
pub fn current_dir() -> PathBuf {
    let path = made_text("$PWD", || std::env::current_dir().map(PathBuf::into_os_string));
    path.unwrap_or_default().into()
}

fn made_text(name: &str, make: impl FnOnce() -> io::Result<OsString>) -> Option<OsString> {
    let bytes = made(name, || make().map(OsString::into_encoded_bytes));
    String::from_utf8(bytes.ok()?).ok().map(OsString::from)
}

/// The text of a file, of which there are at most [`MOST_TEXT`] bytes.
///
/// # Errors
///
/// As of [`read`]; what is not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let bytes = read(path)?;
    if bytes.len() as u64 > MOST_TEXT {
        let problem = format!("it has {} bytes; of a text {MOST_TEXT} are read", bytes.len());
        return Err(io::Error::other(problem));
    }
    String::from_utf8(bytes.to_vec())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// True if there is such a file.
pub fn is_file(path: &Path) -> bool {
    SOURCE.with_borrow_mut(|source| {
        let Some(source) = source else { return path.is_file() };
        match source.files.get(path) {
            Some(known) => known.is_some(),
            None if source.disk && path.is_file() => {
                // one that cannot be read is left to the reader's complaint
                let _ = source.take(path);
                true
            }
            None => {
                source.files.insert(path.to_owned(), None);
                false
            }
        }
    })
}

/// What is wrong with a path where [`is_file`] finds none, in words: nothing is there, or something that is no file.
pub fn no_file(path: &Path) -> String {
    let name = path.display();
    match read(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            format!("the file {name} cannot be read: {error}")
        }
        _ => format!("the file {name} does not exist"),
    }
}

/// Where things are kept from run to run: the variable `QUASISTEP_CACHE`, `off` for nowhere; else `quasistep` in the
/// folder that the system has for this. Debug builds, whose makers change from build to build, keep nothing unless
/// the variable names a folder.
fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|f| !f.is_empty()).map(PathBuf::from);
    if let Some(own) = folder("QUASISTEP_CACHE") {
        return (own != Path::new("off")).then_some(own);
    }
    if cfg!(debug_assertions) {
        return None;
    }
    let common = if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        folder("HOME").map(|home| home.join("Library/Caches"))
    } else {
        // a relative path is invalid by the XDG specification
        let given = folder("XDG_CACHE_HOME").filter(|f| f.is_absolute());
        given.or_else(|| folder("HOME").map(|home| home.join(".cache")))
    };
    common.map(|common| common.join("quasistep"))
}

/// What was kept under a name; `None` if it is not there or cannot be read.
pub fn kept(name: &str) -> Option<Vec<u8>> {
    from_disk(&cache_folder()?.join(name), MOST_BYTES).ok()
}

/// Keeps bytes under a name, if there is a place that can be written. A reader sees all of them or none.
pub fn keep(name: &str, bytes: &[u8]) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let Some(folder) = cache_folder() else { return };
    // of threads and processes that write at the same time the last one wins; their bytes are the same
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let draft = folder.join(format!("{name}.{}-{count}.new", std::process::id()));
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&draft, bytes))
        .and_then(|()| std::fs::rename(&draft, folder.join(name)));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
}
