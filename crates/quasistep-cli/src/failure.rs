//! How a command ends when it cannot do what was asked.

use std::fmt;
use std::process::ExitCode;

/// One sentence for people and the exit code that goes with it.
#[derive(Debug)]
pub struct Failure {
    text: String,
    code: u8,
}

impl Failure {
    /// The user's mistake: a file, a key or an argument. Nothing was written.
    pub fn usage(text: impl fmt::Display) -> Self {
        Self { text: text.to_string(), code: 2 }
    }

    /// The world's answer: a step could not be solved. What was written stays.
    pub fn world(text: impl fmt::Display) -> Self {
        Self { text: text.to_string(), code: 1 }
    }

    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.text)
    }
}
