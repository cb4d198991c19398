//! What is odd in a robot's file without being wrong, and what was done about it.

use crate::document::list_some;
use crate::error::SceneError;
use std::collections::BTreeMap;

/// Collects oddities while a file is read; each kind becomes one warning.
pub(crate) struct Findings<'f> {
    pub file: &'f str,
    warnings: Vec<String>,
    /// By what was found: where first, and the names.
    grouped: BTreeMap<&'static str, (usize, Vec<String>)>,
    ignored: BTreeMap<String, usize>,
}

/// A link whose mass is given as 0.
pub(crate) const FRAMES: &str = "mass 0: taken as frames without inertia";
/// A link with collision shapes and no `<inertial>`.
pub(crate) const SHAPES_WITHOUT_MASS: &str = "shapes but no <inertial>: taken as massless";
/// A visual whose mesh is not there.
pub(crate) const MISSING_VISUALS: &str = "a visual mesh that was not found: not drawn";

impl<'f> Findings<'f> {
    pub fn new(file: &'f str) -> Self {
        Self { file, warnings: Vec::new(), grouped: BTreeMap::new(), ignored: BTreeMap::new() }
    }

    /// Something at one place.
    pub fn warn(&mut self, line: usize, text: impl std::fmt::Display) {
        self.warnings.push(format!("{}:{line}: {text}", self.file));
    }

    /// What an error would say, were it not about something that a robot can do without.
    pub fn forgive(&mut self, error: &SceneError, done: &str) {
        self.warnings.push(format!("{error}; {done}"));
    }

    /// Something that many links of a robot have in common.
    pub fn group(&mut self, kind: &'static str, line: usize, name: &str) {
        let (_, names) = self.grouped.entry(kind).or_insert_with(|| (line, Vec::new()));
        if names.last().is_none_or(|last| last != name) {
            names.push(name.to_owned());
        }
    }

    /// Elements that nothing here reads.
    pub fn ignore<'t>(&mut self, tags: impl Iterator<Item = &'t str>) {
        for tag in tags {
            *self.ignored.entry(tag.to_owned()).or_default() += 1;
        }
    }

    /// All of it, a line each.
    pub fn into_warnings(self) -> Vec<String> {
        let Self { file, mut warnings, grouped, ignored } = self;
        for (kind, (line, names)) in grouped {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let links = if names.len() == 1 { "link" } else { "links" };
            warnings.push(format!("{file}:{line}: {links} {}: {kind}", list_some(&names)));
        }
        if !ignored.is_empty() {
            let tags: Vec<String> =
                ignored.iter().map(|(tag, n)| format!("<{tag}> ({n})")).collect();
            warnings.push(format!("{file}: not read: {}", tags.join(", ")));
        }
        warnings
    }
}
