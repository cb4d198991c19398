//! What a scene was read from: enough to make it again, anywhere, with the same bits.

use crate::error::SceneError;
use crate::files;
use crate::model_file;
use crate::scene::Scene;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Text, changes and files of a scene. Plain data: travels between processes and machines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SceneSource {
    /// The scene file's text.
    pub text: String,
    /// What complaints call the file; empty for a scene that is none.
    pub file: String,
    /// Name of the scene.
    pub name: String,
    /// Folder at which paths start.
    pub dir: PathBuf,
    /// Values replaced by their dotted keys, in order.
    pub changes: Vec<(String, String)>,
    /// Every file that the scene names, as it was when the scene was read (`None` within for one that
    /// was looked for and not there); `None` as a whole for a scene that has not been read yet: its
    /// files are on the disk.
    pub files: Option<Vec<SceneFile>>,
}

/// Path of a file, as the scene asked for it, and its bytes.
pub type SceneFile = (PathBuf, Option<Arc<[u8]>>);

impl SceneSource {
    /// A scene file and changes to it; the files that it names stay on the disk. The file of a robot
    /// (`.urdf`, `.xacro`) stands for the scene that [`scene_of_model`](crate::scene_of_model) writes.
    ///
    /// # Errors
    ///
    /// If the scene file cannot be read, or the robot's has a mistake.
    pub fn read(path: &Path, changes: &[(String, String)]) -> Result<Self, SceneError> {
        let file = path.display().to_string();
        let dir = path.parent().unwrap_or(Path::new(".")).to_owned();
        let text = if model_file::is_model(path) {
            model_file::scene_of_model(path, &dir)?
        } else {
            files::read_to_string(path).map_err(|e| {
                SceneError::new(&file, None, "", format!("the scene file is not readable: {e}"))
            })?
        };
        let name = path.file_stem().and_then(|s| s.to_str()).unwrap_or("scene").to_owned();
        Ok(Self { text, file, name, dir, changes: changes.to_vec(), files: None })
    }
}

impl SceneSource {
    /// Was it read from the file of a robot rather than of a scene?
    pub fn is_model(&self) -> bool {
        model_file::is_model(Path::new(&self.file))
    }
}

impl Scene {
    /// What this scene was read from.
    pub fn source(&self) -> &SceneSource {
        &self.source
    }

    /// Makes a scene from its source. If the source has its files, no other is opened.
    ///
    /// # Errors
    ///
    /// As [`Scene::load_with`].
    pub fn from_source(source: &SceneSource) -> Result<Self, SceneError> {
        Self::make(source, source.files.is_none())
    }

    /// The same scene after replacing more values by their dotted keys, as `--set` does. A file that
    /// it has read already is not read again.
    ///
    /// # Errors
    ///
    /// As [`Scene::load_with`].
    pub fn with_changes(&self, changes: &[(String, String)]) -> Result<Self, SceneError> {
        let mut source = self.source().clone();
        source.changes.extend_from_slice(changes);
        Self::make(&source, true)
    }

    fn make(source: &SceneSource, disk: bool) -> Result<Self, SceneError> {
        let SceneSource { text, file, name, dir, changes, files } = source;
        let known = files.iter().flatten().cloned().collect();
        let (scene, files) =
            files::within(known, disk, || Self::read(text, file, name, dir, changes, true));
        let mut scene = scene?;
        let files = Some(files.into_iter().collect());
        scene.source = Arc::new(SceneSource { files, ..source.clone() });
        Ok(scene)
    }
}
