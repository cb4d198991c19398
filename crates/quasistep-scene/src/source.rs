//! Source of a scene: everything needed to rebuild it with identical bits.

use std::path::PathBuf;
use std::sync::Arc;

/// Text, changes and files of a scene. Plain data that can be sent to other processes and machines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SceneSource {
    /// The scene file's text.
    pub text: String,
    /// File name in messages; empty if the scene has no file.
    pub file: String,
    /// Name of the scene.
    pub name: String,
    /// Folder to which paths are relative.
    pub dir: PathBuf,
    /// Dotted keys and the values that replace theirs, in order.
    pub changes: Vec<(String, String)>,
    /// All files used when the scene was read; a file that was looked for and missing has `None` as
    /// bytes. The outer `None` means that the scene was not read yet and its files are on disk.
    pub files: Option<Vec<SceneFile>>,
}

/// Path of a file as the scene asked for it, and its bytes.
pub type SceneFile = (PathBuf, Option<Arc<[u8]>>);
