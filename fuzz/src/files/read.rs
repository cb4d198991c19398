//! Reads the files of a case, according to its format.

use super::Files;
use crate::worker::progress;
use quasistep_record::Recording;
use quasistep_scene::{Scene, SceneSource};
use std::path::Path;

/// Outcome of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The file was rejected with a message.
    Refused,
    /// The file was read, and its first step ended with an error.
    Read,
    /// The file was read, and stepped if it is a scene.
    Stepped,
}

impl End {
    /// Text for a table.
    pub fn words(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Read => "read, no step",
            Self::Stepped => "read",
        }
    }
}

/// Reads the files of a format. A `recording` is read directly; every other format has a
/// `scene.yml` that refers to it.
///
/// # Errors
///
/// If an error message is empty or too long.
pub fn read(format: &str, files: &Files) -> Result<End, String> {
    if format == "recording" {
        let bytes = files.values().next().map(Vec::as_slice).unwrap_or_default();
        return match Recording::from_bytes(bytes, Path::new("run.qsr")) {
            Ok(_) => Ok(End::Stepped),
            Err(error) => sentence(&error.to_string(), 1).map(|()| End::Refused),
        };
    }
    let dir = Path::new("pkg");
    let text = files.get("scene.yml").map(|b| String::from_utf8_lossy(b).into_owned());
    let source = SceneSource {
        text: text.unwrap_or_default(),
        file: "scene.yml".into(),
        name: "scene".into(),
        dir: dir.into(),
        changes: Vec::new(),
        files: Some(
            files
                .iter()
                .map(|(name, bytes)| (dir.join(name), Some(bytes.as_slice().into())))
                .collect(),
        ),
    };
    match Scene::from_source(&source) {
        Ok(scene) => {
            progress();
            // planning takes minutes
            if scene.control.is_some() {
                return Ok(End::Read);
            }
            match scene.first_step() {
                Ok(_) => Ok(End::Stepped),
                Err(error) => sentence(&error.to_string(), 1).map(|()| End::Read),
            }
        }
        Err(error) => {
            sentence(&error.to_string(), 1 + error.others.len())?;
            if error.message.is_empty() {
                Err("a complaint without words".into())
            } else {
                Ok(End::Refused)
            }
        }
    }
}

/// Checks the number of lines and words of an error message.
fn sentence(text: &str, lines: usize) -> Result<(), String> {
    if text.lines().count() == lines && !text.trim().is_empty() {
        Ok(())
    } else {
        Err(format!("{} lines in place of {lines}: {text:?}", text.lines().count()))
    }
}
