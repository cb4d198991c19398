use std::path::{Path, PathBuf};

/// A recording or a table could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file system said no.
    #[error("{}: {source}", file.display())]
    Io {
        /// File in question.
        file: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is no recording, or a part of it is spoilt.
    #[error("{}: not a recording: {problem}", file.display())]
    Malformed {
        /// File in question.
        file: PathBuf,
        /// What was seen, and at which byte.
        problem: String,
    },
    /// The file is a recording of another version of this format.
    #[error("{}: recording version {got}; this program reads version {want}; run the scene again", file.display())]
    Version {
        /// File in question.
        file: PathBuf,
        /// Version in the file.
        got: u64,
        /// The version that can be read.
        want: u64,
    },
    /// Another run writes into the folder.
    #[error("{}: another run, process {by}, writes into it; give each run a folder of its own", dir.display())]
    Busy {
        /// The folder.
        dir: PathBuf,
        /// Number of the process.
        by: String,
    },
    /// The parts of the recording do not fit each other.
    #[error("{}: inconsistent recording: {problem}", file.display())]
    Inconsistent {
        /// File in question.
        file: PathBuf,
        /// Which part, what was seen, what was expected.
        problem: String,
    },
}

impl RecordError {
    pub(crate) fn io(file: &Path, source: std::io::Error) -> Self {
        Self::Io { file: file.to_owned(), source }
    }

    pub(crate) fn malformed(file: &Path, problem: &impl ToString) -> Self {
        Self::Malformed { file: file.to_owned(), problem: problem.to_string() }
    }

    pub(crate) fn inconsistent(file: &Path, problem: impl Into<String>) -> Self {
        Self::Inconsistent { file: file.to_owned(), problem: problem.into() }
    }
}
