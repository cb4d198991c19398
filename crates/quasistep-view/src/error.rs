use std::path::{Path, PathBuf};

/// A picture could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The file system said no.
    #[error("{}: {source}", file.display())]
    Io {
        /// File or folder in question.
        file: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The recording's parts do not fit each other.
    #[error("cannot draw the recording: {0}")]
    Recording(String),
    /// This build has no viewer page in it.
    #[error(
        "this build has no 3-D page: {0}; install Node.js with npm and build again, or set QUASISTEP_VIEWER_BUNDLE to a built viewer.js"
    )]
    NoBundle(&'static str),
    /// There is no such frame.
    #[error("frame {got} of a recording with {n_frames} frames")]
    Frame {
        /// Frame that was asked for.
        got: usize,
        /// Frames that there are.
        n_frames: usize,
    },
    /// A picture of this size cannot be made.
    #[error("a still of {width} x {height} px; each side must be 1 to 8192 px")]
    Size {
        /// Width asked for, px.
        width: u32,
        /// Height asked for, px.
        height: u32,
    },
    /// The PNG could not be encoded.
    #[error("png: {0}")]
    Png(String),
}

impl ViewError {
    pub(crate) fn io(file: &Path, source: std::io::Error) -> Self {
        Self::Io { file: file.to_owned(), source }
    }
}
