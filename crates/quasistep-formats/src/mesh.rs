//! Triangle meshes referenced by models.

use crate::cache::{Digest, Key, digest};
use crate::error::SceneError;
use crate::files;
use quasistep_mesh::Fault;
pub use quasistep_mesh::{Mesh, Textures, Want};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Number of parent folders that are searched for the package of a file.
const PACKAGE_DEPTH: usize = 12;

/// Results from fewer input bytes than this are not cached. They are computed in a millisecond or
/// two, about as fast as they are written.
const SMALL: usize = 100_000;

/// Reads the geometry of a mesh. The file extension, in any case, determines the format.
///
/// # Errors
///
/// An unknown extension; a missing or invalid file; buffers beside it that cannot be read or lie
/// outside of its package; no triangle; a coordinate that is not finite.
pub fn read(path: &Path) -> Result<Mesh, SceneError> {
    let ending = ending(path)?;
    parse(path, &ending, &bytes(path)?, Want::Shape, &mut Textures::default(), &mut |_, _| ())
}

/// A computation on a mesh whose result can be cached.
pub struct Recipe<'a> {
    /// Name of the computation.
    pub what: &'a str,
    /// Parameters of the computation, as bytes.
    pub options: &'a [u8],
    /// The parts of the mesh that are read.
    pub want: Want,
    /// If true, the result is cached even for small files.
    pub costly: bool,
}

/// A file referenced by a mesh, and the hash of its contents; `None` if it could not be read.
type Beside = (String, Option<Digest>);

/// Result of `make` for the mesh in a file, from the cache if the same bytes were processed before.
///
/// # Errors
///
/// Errors of [`read`] and of `make`. They are not cached.
pub fn made<T: Serialize + DeserializeOwned, E: From<SceneError>>(
    path: &Path,
    recipe: &Recipe<'_>,
    textures: &mut Textures,
    make: impl FnOnce(Mesh) -> Result<T, E>,
) -> Result<T, E> {
    let ending = ending(path)?;
    let bytes = bytes(path)?;
    let Recipe { what, options, want, costly } = *recipe;
    let key = Key::new(what).with(ending.as_bytes()).with(options).with(&bytes);
    if let Some((beside, result)) = key.find::<(Vec<Beside>, T)>() {
        let now = |name: &str| reference(path, name).ok().map(|bytes| digest(&bytes));
        if beside.iter().all(|(name, was)| *was == now(name)) {
            return Ok(result);
        }
    }
    let mut beside: Vec<Beside> = Vec::new();
    let mut size = bytes.len();
    let mut note = |name: &str, bytes: Option<&[u8]>| {
        size += bytes.map_or(0, <[u8]>::len);
        beside.push((name.to_owned(), bytes.map(digest)));
    };
    let result = make(parse(path, &ending, &bytes, want, textures, &mut note)?)?;
    if costly || size >= SMALL {
        key.keep(&(beside, &result));
    }
    Ok(result)
}

/// The file extension in lower case.
fn ending(path: &Path) -> Result<String, SceneError> {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if quasistep_mesh::ENDINGS.contains(&ending.as_str()) {
        return Ok(ending);
    }
    // an unknown extension is reported before the file is opened
    parse(path, &ending, &[], Want::Shape, &mut Textures::default(), &mut |_, _| ()).map(|_| ending)
}

fn bytes(path: &Path) -> Result<Arc<[u8]>, SceneError> {
    files::read(path).map_err(|error| {
        let message = format!("does not exist or cannot be read: {error}");
        SceneError::in_file(path, Fault::whole(message))
    })
}

/// Parses a mesh; calls `note` for each file referenced by it.
fn parse(
    path: &Path,
    ending: &str,
    bytes: &[u8],
    want: Want,
    textures: &mut Textures,
    note: &mut dyn FnMut(&str, Option<&[u8]>),
) -> Result<Mesh, SceneError> {
    let open = &mut |beside: &str| {
        let result = reference(path, beside);
        note(beside, result.as_deref().ok());
        result
    };
    quasistep_mesh::read(ending, bytes, want, open, textures)
        .map_err(|fault| SceneError::in_file(path, fault))
}

/// The bytes of a file that the mesh at `path` references by a relative path.
///
/// A mesh may come from an untrusted source, and its contents may end up in pages that users share.
/// So it can only reference files in its own package: the nearest folder above it with a
/// `package.xml`, or else the parent of its folder.
fn reference(path: &Path, beside: &str) -> io::Result<Vec<u8>> {
    let refuse = |message: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    let relative = Path::new(beside);
    let plain = |c: Component<'_>| {
        matches!(c, Component::Normal(_) | Component::CurDir | Component::ParentDir)
    };
    if beside.contains("://") || !relative.components().all(plain) {
        return refuse("it is no path relative to the mesh");
    }
    let own = path.parent().unwrap_or(Path::new(""));
    let folders: Vec<&Path> = own.ancestors().take(PACKAGE_DEPTH).collect();
    let package = folders.iter().position(|folder| files::is_file(&folder.join("package.xml")));
    let allowed = package.unwrap_or(1);
    // most levels that the path goes above the mesh's folder
    let mut inside: Vec<&std::ffi::OsStr> = Vec::new();
    let mut up = 0;
    for component in relative.components() {
        match component {
            Component::Normal(name) => inside.push(name),
            Component::ParentDir if inside.pop().is_none() => up += 1,
            _ => {}
        }
    }
    if up > allowed {
        return refuse("it lies outside of the mesh's package");
    }
    let folder = if up == 0 { own } else { folders.get(up).copied().unwrap_or(Path::new("")) };
    let file: PathBuf = folder.join(inside.iter().collect::<PathBuf>());
    if !files::is_file(&file) {
        return Err(io::Error::new(io::ErrorKind::NotFound, files::no_file(&file)));
    }
    files::read(&file).map(|bytes| bytes.to_vec())
}
