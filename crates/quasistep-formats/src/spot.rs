//! Position in a file that does not borrow from the parsed document.

use crate::error::SceneError;
use std::sync::Arc;

/// File, line and key of an element.
#[derive(Clone, Debug)]
pub struct Spot {
    pub file: Arc<str>,
    pub line: usize,
    pub key: Arc<str>,
}

impl Spot {
    /// An error at this place.
    pub fn error(&self, message: impl Into<String>) -> SceneError {
        SceneError::new(&self.file, Some(self.line), &self.key, message)
    }

    /// A warning at this place.
    pub fn warning(&self, text: impl std::fmt::Display) -> String {
        format!("{}:{}: {}: {text}", self.file, self.line, self.key)
    }
}
