//! Access to all files of a scene, so that the scene can be rebuilt later from memory.
//!
//! A scene keeps the bytes of every file that it read. It can then be rebuilt where these files are
//! missing or have changed: in another process, on another machine, or later. Readers call [`read`]
//! and [`is_file`], which use the disk or a [`Files`] in memory.
//!
//! Results that depend on file contents only may also be cached between runs ([`kept`], [`keep`]),
//! in the user's cache folder. The cache is not part of a scene.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of files by the path requested; `None` for a file that was looked for and does not exist.
pub type Files = BTreeMap<PathBuf, Option<Arc<[u8]>>>;

/// Largest file, in bytes. A cloud of ten million points with normals in double precision has 480
/// MB.
pub const MOST_BYTES: u64 = 1 << 29;
/// Largest text file, in bytes. Public robots and scenes have at most 10 MB. The parsed tree takes
/// about ten times the size of the text.
pub const MOST_TEXT: u64 = 1 << 26;
/// Most bytes of all files of a scene.
const MOST_OF_SCENE: u64 = 1 << 30;

/// Source of the files of one scene.
struct Source {
    /// Files read so far, or given.
    files: Files,
    /// True if other files are read from disk.
    disk: bool,
    /// Total size of the files read, in bytes.
    bytes: u64,
}

thread_local! {
    /// Source for the scene that this thread reads; `None` outside of [`within`].
    static SOURCE: RefCell<Option<Source>> = const { RefCell::new(None) };
}

/// Runs `read` with these files, and with files from disk if `disk` is true. Also returns all files
/// that were used.
pub fn within<T>(files: Files, disk: bool, read: impl FnOnce() -> T) -> (T, Files) {
    /// Restores the previous source, also if the reader panics.
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
/// Errors of the operating system; a path that is not a regular file; a file that is too large.
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
    /// Reads a file from disk and stores its bytes in `files`.
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

/// Reads a regular file from disk. Pipes and devices are refused, because they may never end.
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
    // limit the read too: a file may have grown, and some special files report no length
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_long()) } else { Ok(bytes) }
}

/// Data made outside of the scene, such as the output of a program. It is stored as a file of the
/// given name, so that the scene can be rebuilt without calling `make`.
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

/// The current working directory; an empty path if unknown.
pub fn current_dir() -> PathBuf {
    let path = made_text("$PWD", || std::env::current_dir().map(PathBuf::into_os_string));
    path.unwrap_or_default().into()
}

fn made_text(name: &str, make: impl FnOnce() -> io::Result<OsString>) -> Option<OsString> {
    let bytes = made(name, || make().map(OsString::into_encoded_bytes));
    String::from_utf8(bytes.ok()?).ok().map(OsString::from)
}

/// The text of a file of at most [`MOST_TEXT`] bytes.
///
/// # Errors
///
/// Errors of [`read`]; text that is not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let bytes = read(path)?;
    if bytes.len() as u64 > MOST_TEXT {
        let problem = format!("it has {} bytes; of a text {MOST_TEXT} are read", bytes.len());
        return Err(io::Error::other(problem));
    }
    String::from_utf8(bytes.to_vec())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// True if the path is an existing file.
pub fn is_file(path: &Path) -> bool {
    SOURCE.with_borrow_mut(|source| {
        let Some(source) = source else { return path.is_file() };
        match source.files.get(path) {
            Some(known) => known.is_some(),
            None if source.disk && path.is_file() => {
                // an unreadable file exists too; its reader will report the error
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

/// Message about a path for which [`is_file`] is false: it does not exist, or is not a regular
/// file.
pub fn no_file(path: &Path) -> String {
    let name = path.display();
    match read(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            format!("the file {name} cannot be read: {error}")
        }
        _ => format!("the file {name} does not exist"),
    }
}

/// The cache folder: the environment variable `QUASISTEP_CACHE` (`off` disables the cache), else
/// `quasistep` in the system's cache folder. Debug builds, whose algorithms change from build to
/// build, use no cache unless the variable names a folder.
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

/// The cached bytes of this name; `None` if missing or unreadable.
pub fn kept(name: &str) -> Option<Vec<u8>> {
    from_disk(&cache_folder()?.join(name), MOST_BYTES).ok()
}

/// Stores bytes under a name if the cache folder is writable. The write is atomic for readers.
pub fn keep(name: &str, bytes: &[u8]) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let Some(folder) = cache_folder() else { return };
    // concurrent writers store the same bytes, so it does not matter which rename is last
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let draft = folder.join(format!("{name}.{}-{count}.new", std::process::id()));
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&draft, bytes))
        .and_then(|()| std::fs::rename(&draft, folder.join(name)));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
}
