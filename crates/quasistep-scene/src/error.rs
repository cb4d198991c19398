use quasistep_mesh::{Fault, Place};
use std::fmt;
use std::path::Path;

/// What is wrong with a scene, and where: one line, `file:line: key: what was seen; what is valid`.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneError {
    /// The file; empty if the mistake is an argument.
    pub file: String,
    /// The line, from 1, where one can be named.
    pub line: Option<usize>,
    /// The dotted key, or the name of the element.
    pub key: String,
    /// What was seen and what would be valid.
    pub message: String,
}

impl SceneError {
    pub(crate) fn new(
        file: &str,
        line: Option<usize>,
        key: &str,
        message: impl Into<String>,
    ) -> Self {
        // one line, whatever a parser below said
        let message = message.into().replace(['\n', '\r'], " ");
        Self { file: file.to_owned(), line, key: key.to_owned(), message }
    }

    /// What is wrong with a mesh or a point cloud.
    pub(crate) fn in_file(path: &Path, fault: Fault) -> Self {
        let Fault { place, message } = fault;
        let (line, message) = match place {
            Place::Whole => (None, message),
            Place::Line(line) => (Some(line), message),
            Place::Byte(byte) => (None, format!("byte {byte}: {message}")),
        };
        Self::new(&path.display().to_string(), line, "", message)
    }
}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            f.write_str(&self.file)?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for SceneError {}
