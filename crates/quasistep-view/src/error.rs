use std::path::{Path, PathBuf};

/// Error of making a page, plot or still.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// Error of the file system.
    #[error("{}: {source}", file.display())]
    Io {
        /// The file or folder.
        file: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The recording is inconsistent.
    #[error("cannot draw the recording: {0}")]
    Recording(String),
    /// This build does not contain the viewer program.
    #[error(
        "this build has no 3-D page: {0}; install Node.js with npm and build again, or set QUASISTEP_VIEWER_BUNDLE to a built viewer.js"
    )]
    NoBundle(&'static str),
    /// The frame does not exist.
    #[error("frame {got} of a recording with {n_frames} frames")]
    Frame {
        /// Frame index requested.
        got: usize,
        /// Number of frames of the recording.
        n_frames: usize,
    },
    /// The size of the picture is zero or too large.
    #[error("a still of {width} x {height} px; each side must be 1 to 8192 px")]
    Size {
        /// Width requested, in px.
        width: u32,
        /// Height requested, in px.
        height: u32,
    },
    /// The file of a moving picture has another ending.
    #[error("{}: the file must end in .gif; the button `Video` of a page saves WebM", file.display())]
    VideoName {
        /// The file.
        file: PathBuf,
    },
    /// An MCAP file cannot be read.
    #[error("{}: {problem}", file.display())]
    Mcap {
        /// The file.
        file: PathBuf,
        /// The problem.
        problem: String,
    },
    /// Error of PNG encoding.
    #[error("png: {0}")]
    Png(String),
}

impl ViewError {
    pub(crate) fn io(file: &Path, source: std::io::Error) -> Self {
        Self::Io { file: file.to_owned(), source }
    }
}
