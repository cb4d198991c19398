//! What a scene was read from: enough to make it again, anywhere, with the same bits.

use std::path::PathBuf;
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
