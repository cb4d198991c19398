use std::path::{Path, PathBuf};

/// Error of writing or reading a recording or a table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// Error of the file system.
    #[error("{}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The file is not a recording, or a part of it is damaged.
    #[error("{}: not a recording: {problem}", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// The problem, with its byte offset.
        problem: String,
    },
    /// The file has another version of this format.
    #[error("{}: recording version {got}; this program reads versions {least} to {want}; run the scene again", file.display())]
    Version {
        /// The file.
        file: PathBuf,
        /// Version in the file.
        got: u64,
        /// The supported version.
        want: u64,
        /// Oldest version that this program reads.
        least: u64,
    },
    /// Another run is writing into the folder.
    #[error("{}: another run, process {by}, writes into it; give each run a folder of its own", dir.display())]
    Busy {
        /// The folder.
        dir: PathBuf,
        /// Process id of the other run.
        by: String,
    },
    /// The parts of the recording are inconsistent.
    #[error("{}: inconsistent recording: {problem}", file.display())]
    Inconsistent {
        /// The file.
        file: PathBuf,
        /// The inconsistent part, with the value seen and the value expected.
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
