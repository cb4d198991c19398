//! Reads a point file of any supported format.

use super::gather::{FilePoints, Gather, Options};
use quasistep_formats::SceneError;
use quasistep_mesh::{Fault, ply};
use std::path::Path;

/// Supported file extensions.
const ENDINGS: [&str; 9] = ["ply", "pcd", "xyz", "txt", "csv", "asc", "pts", "obj", "npy"];

/// Reads a cloud. The file extension, in any case, determines the format.
///
/// # Errors
///
/// An unknown extension; a missing, truncated or inconsistent file; no point; a coordinate that is
/// not finite, unless these are dropped; a normal of length zero.
pub(crate) fn read(path: &Path, options: Options) -> Result<FilePoints, SceneError> {
    let file = path.display().to_string();
    let complain = |message: String| SceneError::new(&file, None, "", message);
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if !ENDINGS.contains(&ending.as_str()) {
        let valid = ENDINGS.map(|e| format!(".{e}")).join(", ");
        return Err(complain(format!("ending '.{ending}' is no point format; valid are {valid}")));
    }
    let bytes = quasistep_formats::files::read(path)
        .map_err(|error| complain(format!("does not exist or cannot be read: {error}")))?;
    parse(&bytes, &ending, options).map_err(|fault| SceneError::in_file(path, fault))
}

/// Reads a cloud from the bytes of a file.
pub(super) fn parse(bytes: &[u8], ending: &str, options: Options) -> Result<FilePoints, Fault> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Fault::whole("is empty; points are needed"));
    }
    let mut gather = Gather::new(options);
    match ending {
        "ply" => ply::read(bytes, &mut gather)?,
        "pcd" => super::pcd::read(bytes, &mut gather)?,
        "npy" => super::npy::read(bytes, &mut gather)?,
        "obj" => super::columns::read_obj(bytes, &mut gather)?,
        _ => super::columns::read_xyz(bytes, ending == "pts", &mut gather)?,
    }
    gather.finish()
}
