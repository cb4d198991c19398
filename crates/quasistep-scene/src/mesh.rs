//! Triangle meshes that models refer to.

use crate::error::SceneError;
use crate::files;
use quasistep_mesh::Fault;
use quasistep_mesh::Want;
pub(crate) use quasistep_mesh::{Mesh, Textures};
use std::io;
use std::path::{Component, Path, PathBuf};

/// How far up a file's folders its package is looked for.
const PACKAGE_DEPTH: usize = 12;

/// Reads the shape of a mesh; the ending of the name, in any case, tells the format.
///
/// # Errors
/// Another ending, a file that is missing or cannot be read in its format, buffers beside it that cannot be read or lie
/// outside of its package, no triangle, or a coordinate that is not finite.
pub(crate) fn read(path: &Path) -> Result<Mesh, SceneError> {
    read_as(Want::Shape, path, &mut Textures::default())
}

/// Reads a mesh with its colours and textures, as [`read`] does.
pub(crate) fn read_looks(path: &Path, textures: &mut Textures) -> Result<Mesh, SceneError> {
    read_as(Want::Looks, path, textures)
}

fn read_as(want: Want, path: &Path, textures: &mut Textures) -> Result<Mesh, SceneError> {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let in_file = |fault| SceneError::in_file(path, fault);
    if !quasistep_mesh::ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)) {
        // the reader's own complaint, before the file is opened
        let nothing = &mut |_: &str| Err(io::ErrorKind::NotFound.into());
        return quasistep_mesh::read(&ending, &[], want, nothing, textures).map_err(in_file);
    }
    let bytes = files::read(path).map_err(|error| {
        in_file(Fault::whole(format!("does not exist or cannot be read: {error}")))
    })?;
    quasistep_mesh::read(&ending, &bytes, want, &mut |beside| reference(path, beside), textures)
        .map_err(in_file)
}

/// The bytes of a file that the mesh at `path` refers to by a relative path.
///
/// A mesh comes from anywhere; what it shows ends up in pages that people pass on. So it sees its own package alone: the
/// nearest folder above it with a `package.xml`, or else the folder above its own.
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
    // steps up from the mesh's own folder, at most
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
        return Err(io::Error::new(io::ErrorKind::NotFound, "there is no such file"));
    }
    files::read(&file)
}
