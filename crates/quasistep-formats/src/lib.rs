//! Files of robots and scenes, each format in a room of its own, behind one door: [`read`].
//!
//! Whatever the format, the result is a [`Description`]: links, joints, shapes, drives, filters, start, all in SI. Every mistake names
//! file, line and key ([`SceneError`]). Files are opened through [`files`] alone.
#![allow(non_snake_case)] // monogram notation: X_WB, p_B

pub mod cache;
pub mod description;
mod directives;
mod error;
pub mod files;
mod filters;
mod findings;
mod inertia;
mod mechanism;
pub mod mesh;
mod mjcf;
mod packages;
mod q_sys;
mod sdf;
mod spot;
mod urdf;
mod xacro;
mod xml;
pub mod yaml;

pub use description::Description;
pub use error::{SceneError, list, list_some, unknown};
pub use packages::Places;
pub use urdf::read_srdf;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A format that [`read`] knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The robots of ROS, also by way of xacro.
    Urdf,
    /// The scenes of MuJoCo.
    Mjcf,
    /// SDFormat: models and worlds of Gazebo and Drake.
    Sdf,
    /// Model directives of Drake.
    Directives,
    /// Systems of pangtao22/quasistatic_simulator.
    QSys,
}

impl Format {
    /// All of them, with the key that names a file of it in a scene.
    pub const KEYS: [(&str, Self); 5] = [
        ("urdf", Self::Urdf),
        ("mjcf", Self::Mjcf),
        ("sdf", Self::Sdf),
        ("directives", Self::Directives),
        ("q_sys", Self::QSys),
    ];

    /// The format of a file, by its ending, or of a YAML file by its keys; `None` for a scene file of ours, and for what none of them is.
    pub fn of(path: &Path) -> Option<Self> {
        let is = |ending: &str| path.extension().is_some_and(|e| e.eq_ignore_ascii_case(ending));
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        match () {
            () if is("urdf") || is("xacro") => Some(Self::Urdf),
            () if is("xml") || is("mjcf") => Some(Self::Mjcf),
            () if is("sdf") || is("world") => Some(Self::Sdf),
            () if name.ends_with(".dmd.yaml") || name.ends_with(".dmd.yml") => {
                Some(Self::Directives)
            }
            () if is("yml") || is("yaml") => Self::of_keys(&files::read_to_string(path).ok()?),
            () => None,
        }
    }

    /// The format of a YAML text, by a key at its root.
    fn of_keys(text: &str) -> Option<Self> {
        let has = |key: &str| {
            let own = |line: &str| line.strip_prefix(key).is_some_and(|l| l.starts_with(':'));
            text.lines().any(own)
        };
        match () {
            () if has(q_sys::OWN_KEY) => Some(Self::QSys),
            () if has("directives") => Some(Self::Directives),
            () => None,
        }
    }

    /// The key that names a file of this format in a scene.
    pub fn key(self) -> &'static str {
        let found = Self::KEYS.iter().find(|(_, format)| *format == self);
        found.map_or("", |(key, _)| key)
    }
}

/// How a file is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Folders of `package://name`.
    pub packages: BTreeMap<String, PathBuf>,
    /// Refuse inertias that no rigid body has instead of repairing them.
    pub refuse_repairs: bool,
    /// The keyframe at which an MJCF model starts; `None`: its first one, if it has any.
    pub keyframe: Option<String>,
    /// An MJCF model may name files anywhere, not in its own package alone.
    pub open_anywhere: bool,
}

/// What a file says is there.
///
/// # Errors
///
/// The first mistake in the file or a file that it names, with file, line and key.
pub fn read(format: Format, path: &Path, options: &Options) -> Result<Description, SceneError> {
    match format {
        Format::Urdf => urdf::read(path, options),
        Format::Mjcf => mjcf::read(path, options),
        Format::Sdf => sdf::read(path, options),
        Format::Directives => directives::read(path, options),
        Format::QSys => q_sys::read(path, options),
    }
}
