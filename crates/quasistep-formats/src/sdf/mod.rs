//! SDFormat 1.2 to 1.12: models, worlds and what they include, with the elements that Drake adds.
//!
//! A file is read in three steps: [`model`] takes elements as they stand, frames as names; [`frames`] finds where every named frame
//! is and what it is on; [`assemble`] makes bodies and connections of them, of which [`crate::mechanism`] makes trees.

mod assemble;
mod constraint;
mod foreign;
mod frames;
mod geometry;
mod joint;
mod library;
mod link;
mod merge;
mod model;
mod value;

use crate::Options;
use crate::description::Description;
use crate::error::SceneError;
use crate::findings::Findings;
use crate::mechanism::Mechanism;
use crate::packages::Places;
use crate::spot::Spot;
pub(crate) use library::Library;
use std::path::Path;

/// What the readers of elements share in one file.
struct Reader<'p, 'f> {
    places: Places<'p>,
    options: &'p Options,
    findings: Findings<'f>,
    /// Of the format, as the file says.
    version: [u32; 2],
}

/// Reads a model or a world from a file.
pub(crate) fn read(path: &Path, options: &Options) -> Result<Description, SceneError> {
    let mut library = Library::new(options);
    let model = library.read(path, 0).map_err(|failure| failure.blame(|why| whole(path, why)))?;
    let mut mechanism = Mechanism::new(path);
    // the scene names the model: its own name is no part of those of links
    assemble::add(&mut mechanism, &model, "")?;
    mechanism.warnings.append(&mut library.warnings);
    mechanism.gravity = library.gravity;
    mechanism.into_description()
}

/// Adds the one model in a file, of any format, as a model instance of this name; `at` is where the file is named.
pub(crate) fn add_instance(
    mechanism: &mut Mechanism,
    library: &mut Library<'_>,
    path: &Path,
    name: &str,
    at: &Spot,
) -> Result<(), SceneError> {
    let model = library.model(path, 0).map_err(|failure| failure.blame(|why| at.error(why)))?;
    assemble::add(mechanism, &model, name)
}

/// A complaint about a file as a whole.
fn whole(path: &Path, why: String) -> SceneError {
    SceneError::new(&path.display().to_string(), None, "", why)
}

/// `[1, 9]` of `1.9`; the newest where nothing is said.
fn version(text: Option<&str>) -> [u32; 2] {
    let part = |part: Option<&str>| part.and_then(|p| p.trim().parse().ok());
    let mut parts = text.unwrap_or_default().split('.');
    match (part(parts.next()), part(parts.next())) {
        (Some(major), Some(minor)) => [major, minor],
        _ => [1, u32::MAX],
    }
}
