//! Files that are whole at any moment: written beside their place, and moved there.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Writes a file beside its place and moves it there: a writer that is stopped, by an error or a signal, leaves the old
/// file as it was.
///
/// A link's target is replaced, not the link. What is no regular file, as a pipe, is written as it stands.
///
/// # Errors
///
/// What the system or `write` says; `PermissionDenied` for a file that is there and may not be written.
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
        // the first error is the one to tell
        let _ = fs::remove_file(&draft);
    }
    done
}

/// A hidden name in the same folder that no other writer uses.
fn beside(place: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(".{name}.{}-{count}.part", std::process::id()))
}

/// Whether a file has such a name: what a writer that was killed has left.
pub(crate) fn is_draft(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.') && name.ends_with(".part")
}
