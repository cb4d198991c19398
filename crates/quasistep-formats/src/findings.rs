//! Warnings about unusual but acceptable contents of a robot file.

use crate::error::{SceneError, list_some, unknown};
use crate::xml::Xml;
use std::collections::BTreeMap;

/// Collects warnings while a file is read. Findings of one kind become one warning.
pub struct Findings<'f> {
    pub file: &'f str,
    warnings: Vec<String>,
    /// For each kind, the first line and the names of the parts.
    grouped: BTreeMap<Kind, (usize, Vec<String>)>,
    ignored: BTreeMap<String, usize>,
}

/// A finding that several parts may share: the noun for the parts, and what was found and done.
pub type Kind = (&'static str, &'static str);

/// A link whose mass is given as 0.
pub const FRAMES: Kind = ("link", "mass 0: taken as frames without inertia");
/// A link with collision shapes and no `<inertial>`.
pub const SHAPES_WITHOUT_MASS: Kind = ("link", "shapes but no <inertial>: taken as massless");
/// A visual whose mesh file is missing.
pub const MISSING_VISUALS: Kind = ("link", "a visual mesh that was not found: not drawn");
/// A box, sphere, cylinder or capsule of size zero.
pub const EMPTY_SHAPES: Kind = ("link", "shapes of size 0: left out");
/// A joint with damping or dry friction. For a driven joint the scene defines both.
pub const DYNAMICS: Kind = (
    "joint",
    "<dynamics> holds where joints are passive; of driven ones give `damping` and `friction` in the scene",
);
/// A fixed joint with `<mimic>`.
pub const FIXED_FOLLOWERS: Kind = ("joint", "<mimic> of a fixed joint: it stays fixed");
/// A revolute or prismatic joint without limits, which URDF requires.
pub const WITHOUT_LIMIT: Kind = ("joint", "no <limit>: it moves without end");
/// A joint whose limit of effort is 0, as many exporters write where none is known.
pub const NO_EFFORT: Kind =
    ("joint", "effort=\"0\" in <limit>: taken as no limit; `effort_limit` in the scene gives one");
/// A joint whose lower and upper limits are equal.
pub const NO_RANGE: Kind = ("joint", "lower and upper limit are the same: it cannot move");

impl<'f> Findings<'f> {
    pub fn new(file: &'f str) -> Self {
        Self { file, warnings: Vec::new(), grouped: BTreeMap::new(), ignored: BTreeMap::new() }
    }

    /// Adds a warning about one line.
    pub fn warn(&mut self, line: usize, text: impl std::fmt::Display) {
        self.warnings.push(format!("{}:{line}: {text}", self.file));
    }

    /// Adds an error as a warning, with what was `done` instead.
    pub fn forgive(&mut self, error: &SceneError, done: &str) {
        self.warnings.push(format!("{error}; {done}"));
    }

    /// Adds one part to a finding that several parts may share.
    pub fn group(&mut self, kind: Kind, line: usize, name: &str) {
        let (_, names) = self.grouped.entry(kind).or_insert_with(|| (line, Vec::new()));
        if names.last().is_none_or(|last| last != name) {
            names.push(name.to_owned());
        }
    }

    /// Counts elements that are not read.
    pub fn ignore<'t>(&mut self, tags: impl Iterator<Item = &'t str>) {
        for tag in tags {
            *self.ignored.entry(tag.to_owned()).or_default() += 1;
        }
    }

    /// Reports child elements that are not read. Elements of the format are counted; for others the
    /// nearest valid name is suggested.
    pub fn others(&mut self, at: &Xml<'_, '_>, read: &[&str], unread: &[&str]) {
        for child in at.elements() {
            let tag = match child.prefix() {
                Some(prefix) => format!("{prefix}:{}", child.tag()),
                None => child.tag().to_owned(),
            };
            if read.contains(&tag.as_str()) {
                continue;
            }
            if child.prefix().is_none() && !unread.contains(&tag.as_str()) {
                self.unknown(&child, read);
            } else {
                *self.ignored.entry(tag).or_default() += 1;
            }
        }
    }

    /// Reports an element that the format does not define.
    pub fn unknown(&mut self, at: &Xml<'_, '_>, valid: &[&str]) {
        // report each unknown name once
        let n = self.ignored.entry(at.tag().to_owned()).or_default();
        *n += 1;
        if *n == 1 {
            self.forgive(&at.error(unknown("element", at.tag(), valid)), "not read");
        }
    }

    /// All warnings, one line each.
    pub fn into_warnings(self) -> Vec<String> {
        let Self { file, mut warnings, grouped, ignored } = self;
        for ((part, kind), (line, names)) in grouped {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let part = match (part, names.len()) {
                (_, 1) => part.to_owned(),
                ("body", _) => "bodies".to_owned(),
                _ => format!("{part}s"),
            };
            warnings.push(format!("{file}:{line}: {part} {}: {kind}", list_some(&names)));
        }
        if !ignored.is_empty() {
            let tags: Vec<String> =
                ignored.iter().map(|(tag, n)| format!("<{tag}> ({n})")).collect();
            warnings.push(format!("{file}: not read: {}", tags.join(", ")));
        }
        warnings
    }
}
