//! SDFormat 1.2 to 1.12: models, worlds and includes, with Drake's extensions.
//!
//! A file is read in three steps. [`model`] reads elements, with frames as names. [`frames`]
//! resolves the pose and the carrier of every frame. [`assemble`] makes bodies and connections,
//! from which [`crate::mechanism`] builds trees.

mod assemble;
mod constraint;
mod foreign;
mod frames;
mod geometry;
mod joint;
mod lenient;
mod library;
mod link;
mod merge;
mod model;
mod polyline;
mod reader;
mod value;

use crate::Options;
use crate::description::Description;
use crate::error::SceneError;
use crate::mechanism::Mechanism;
use crate::spot::Spot;
pub(crate) use library::Library;
use std::path::Path;

/// Reads a model or a world from a file.
pub(crate) fn read(path: &Path, options: &Options) -> Result<Description, SceneError> {
    let mut library = Library::new(options);
    let model = library.read(path, 0).map_err(|failure| failure.blame(|why| whole(path, why)))?;
    // a world without models, as a file of lights alone is: a scene in which nothing is
    if model.is_world && model.models.is_empty() && model.links.is_empty() {
        let Library { warnings, gravity, .. } = library;
        return Ok(Description { gravity, warnings, ..Description::default() });
    }
    let mut mechanism = Mechanism::new(path);
    // no prefix: the scene gives the model its name
    assemble::add(&mut mechanism, &model, "")?;
    mechanism.warnings.append(&mut library.warnings);
    mechanism.gravity = library.gravity;
    mechanism.into_description()
}

/// Adds the one model in a file of any format as a model instance with this name; `at` is the place
/// that names the file.
pub(crate) fn add_instance(
    mechanism: &mut Mechanism,
    library: &mut Library<'_>,
    path: &Path,
    name: &str,
    at: &Spot,
) -> Result<(), SceneError> {
    let model = library.model(path, 0).map_err(|failure| failure.blame(|why| at.error(why)))?;
    if model.is_world {
        return Err(at.error(format!("{} has no model", path.display())));
    }
    assemble::add(mechanism, &model, name)
}

/// An error about a file as a whole.
fn whole(path: &Path, why: String) -> SceneError {
    SceneError::new(&path.display().to_string(), None, "", why)
}
