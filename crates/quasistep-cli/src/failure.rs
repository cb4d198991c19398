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

    /// The files could not be written: those of the run before are as they were.
    pub fn files(text: impl fmt::Display) -> Self {
        Self { text: text.to_string(), code: 3 }
    }

    /// The user asked for the end: the files up to there are whole.
    pub fn interrupted(text: impl fmt::Display) -> Self {
        Self { text: text.to_string(), code: crate::interrupt::EXIT_CODE }
    }

    /// With a remark behind it.
    pub fn with(self, remark: &str) -> Self {
        Self { text: format!("{} ({remark})", self.text), ..self }
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
