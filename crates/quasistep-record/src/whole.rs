//! Atomic replacement of files: written under another name, then renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Replaces a file atomically: writes to a temporary file beside it, then renames it. If writing is
/// interrupted by an error or a signal, the old file stays as it was.
///
/// For a symbolic link the target is replaced. A file that is not regular, such as a pipe, is
/// written directly.
///
/// # Errors
///
/// Errors of the operating system or of `write`; `PermissionDenied` if the existing file is
/// read-only.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let fill = |file: File| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()
    };
    let place = match fs::metadata(path) {
        Ok(there) if !there.is_file() => return fill(File::create(path)?),
        Ok(there) if there.permissions().readonly() => {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
        }
        Ok(_) => fs::canonicalize(path)?,
        Err(_) => path.to_owned(),
    };
    let draft = beside(&place);
    let done = File::create_new(&draft).and_then(fill).and_then(|()| fs::rename(&draft, &place));
    if done.is_err() {
        // report the first error
        let _ = fs::remove_file(&draft);
    }
    done
}

/// A hidden file name in the same folder that no other writer uses.
fn beside(place: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(".{name}.{}-{count}.part", std::process::id()))
}

/// True if a file has the name of a temporary file, so that a killed writer left it.
pub(crate) fn is_draft(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.') && name.ends_with(".part")
}
