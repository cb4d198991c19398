//! State of the readers of one file.

use crate::Options;
use crate::findings::Findings;
use crate::packages::Places;

/// State shared by the element readers of one file.
pub(super) struct Reader<'p, 'f> {
    pub places: Places<'p>,
    pub options: &'p Options,
    pub findings: Findings<'f>,
    /// Format version of the file: major, minor.
    pub version: [u32; 2],
}

/// Parses a version: `[1, 9]` for `1.9`; the newest if missing.
pub(super) fn version(text: Option<&str>) -> [u32; 2] {
    let part = |part: Option<&str>| part.and_then(|p| p.trim().parse().ok());
    let mut parts = text.unwrap_or_default().split('.');
    match (part(parts.next()), part(parts.next())) {
        (Some(major), Some(minor)) => [major, minor],
        _ => [1, u32::MAX],
    }
}
