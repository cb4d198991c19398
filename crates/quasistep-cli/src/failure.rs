//! Errors that end a command.

use std::fmt;

/// An error message and its exit code.
#[derive(Debug)]
pub struct Failure {
    text: String,
    code: u8,
}

impl Failure {
    /// An error of the user: a file, a key or an argument. Nothing was written.
    pub fn usage(text: impl fmt::Display) -> Self {
        Self { text: text.to_string(), code: 2 }
    }

    /// A step could not be solved. Files written so far are kept.
    pub fn world(text: impl fmt::Display) -> Self {
        Self { text: text.to_string(), code: 1 }
    }

    /// Files could not be written. Those of the last run are unchanged.
    pub fn files(text: impl fmt::Display) -> Self {
        Self { text: text.to_string(), code: 3 }
    }

    /// The user interrupted the command. Files are complete up to that point.
    pub fn interrupted(text: impl fmt::Display) -> Self {
        Self { text: text.to_string(), code: crate::interrupt::EXIT_CODE }
    }

    /// Appends a remark to the message.
    pub fn with(self, remark: &str) -> Self {
        Self { text: format!("{} ({remark})", self.text), ..self }
    }

    pub fn exit_code(&self) -> u8 {
        self.code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.text)
    }
}
