//! Loads a scene from a file, from text, or from the source of another scene.

use crate::mistakes;
use crate::model_file::{MOTION, blame_model, scene_of_model};
use crate::scene::Scene;
use crate::source::SceneSource;
use quasistep::{State, System};
use quasistep_formats::files;
use quasistep_formats::{Format, SceneError};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Loads the system and the start state of a scene file.
///
/// # Errors
///
/// The first mistake in the file, or in a file that it references, with file, line and key.
pub fn load(path: impl AsRef<Path>) -> Result<(Arc<System>, State), SceneError> {
    let scene = Scene::load(path)?;
    Ok((scene.system, scene.start))
}

impl SceneSource {
    /// Source of a scene file with changes. Referenced files stay on disk. For a robot file
    /// (`.urdf`, `.xacro`) the source is the scene written by
    /// [`scene_of_model`](crate::scene_of_model).
    ///
    /// # Errors
    ///
    /// If the scene file cannot be read, or the robot file has a mistake.
    pub fn read(path: &Path, changes: &[(String, String)]) -> Result<Self, SceneError> {
        let file = path.display().to_string();
        let dir = path.parent().unwrap_or(Path::new(".")).to_owned();
        let text = if Format::of(path).is_some() {
            scene_of_model(path, &dir)?
        } else {
            files::read_to_string(path).map_err(|e| {
                let is_shipped = path.starts_with("scenes") && e.kind() == ErrorKind::NotFound;
                let help = "; `quasistep examples` writes the scenes of the documentation into the folder `scenes`";
                let help = if is_shipped { help } else { "" };
                SceneError::new(&file, None, "", format!("the scene file is not readable: {e}{help}"))
            })?
        };
        let name = path.file_stem().and_then(|s| s.to_str()).unwrap_or("scene").to_owned();
        Ok(Self { text, file, name, dir, changes: changes.to_vec(), files: None })
    }
}

impl SceneSource {
    /// True if the source was made from a robot file.
    pub fn is_model(&self) -> bool {
        Format::of(Path::new(&self.file)).is_some()
    }
}

impl Scene {
    /// Loads a scene file.
    ///
    /// # Errors
    ///
    /// The first mistake in the file, or in a file that it references, with file, line and key.
    /// Further mistakes in the scene file are its [`others`](SceneError::others).
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SceneError> {
        Self::load_with(path.as_ref(), &[])
    }

    /// Loads a scene file after replacing values by their dotted keys, as `--set` does.
    ///
    /// # Errors
    ///
    /// The first mistake in the file, a referenced file or a change, with file, line and key.
    pub fn load_with(path: &Path, changes: &[(String, String)]) -> Result<Self, SceneError> {
        Self::from_source(&SceneSource::read(path, changes)?)
    }

    /// Reads a scene from text. `file` is the file name in messages; paths are relative to `dir`.
    ///
    /// # Errors
    ///
    /// As [`load_with`](Self::load_with).
    pub fn parse(
        text: &str,
        file: &str,
        name: &str,
        dir: &Path,
        changes: &[(String, String)],
    ) -> Result<Self, SceneError> {
        Self::from_source(&SceneSource {
            text: text.to_owned(),
            file: file.to_owned(),
            name: name.to_owned(),
            dir: dir.to_owned(),
            changes: changes.to_vec(),
            files: None,
        })
    }

    /// Source from which this scene can be rebuilt.
    pub fn source(&self) -> &SceneSource {
        &self.source
    }

    /// Builds a scene from its source. If the source contains its files, no other file is opened.
    ///
    /// # Errors
    ///
    /// As [`Scene::load_with`].
    pub fn from_source(source: &SceneSource) -> Result<Self, SceneError> {
        let (disk, begun) = (source.files.is_none(), Instant::now());
        Self::make(source, disk, &[]).map_err(|first| {
            let again = |without: &[String]| Self::make(source, disk, without).err();
            mistakes::all(first, begun, &again)
        })
    }

    /// This scene after replacing more values by their dotted keys, as `--set` does. Files already
    /// read are not read again.
    ///
    /// # Errors
    ///
    /// As [`Scene::load_with`].
    pub fn with_changes(&self, changes: &[(String, String)]) -> Result<Self, SceneError> {
        let mut source = self.source().clone();
        source.changes.extend_from_slice(changes);
        Self::make(&source, true, &[])
    }

    fn make(source: &SceneSource, disk: bool, without: &[String]) -> Result<Self, SceneError> {
        let SceneSource { text, file, name, dir, changes, files } = source;
        let known = files.iter().flatten().cloned().collect();
        let is_model = source.is_model();
        // no one has seen the lines of a scene that this crate wrote
        let cited = if is_model { "" } else { file };
        let (scene, files) = files::within(known, disk, || {
            Self::read(text, cited, name, dir, changes, without, true)
        });
        let mut scene = scene.map_err(|e| if is_model { blame_model(e, file) } else { e })?;
        let is_told = changes.iter().any(|(key, _)| key == "step" || key == "step.motion");
        if scene.system.model().n_v() == 0 {
            scene.motion_told =
                Some("nothing in it can move: all of it is fixed to the world".into());
        } else if is_model && !is_told {
            let why = text.lines().find_map(|line| line.strip_prefix(MOTION));
            scene.motion_told = why.map(|why| format!("motion: dynamic, {why}"));
        }
        if is_model {
            scene.commands_told = scene.without_commands(text, changes, file);
        }
        let files = Some(files.into_iter().collect());
        scene.source = Arc::new(SceneSource { files, ..source.clone() });
        Ok(scene)
    }

    /// What becomes of the drives of a model's file that nothing commands; `None` without any.
    fn without_commands(
        &self,
        text: &str,
        changes: &[(String, String)],
        file: &str,
    ) -> Option<String> {
        let is_told = text.lines().any(|line| line.starts_with("commands:"))
            || changes.iter().any(|(key, _)| key.split('.').next() == Some("commands"));
        let words = match self.system.commanded().len() {
            0 => return None,
            1 => "its drive holds where the file starts it".to_owned(),
            n => format!("its {n} drives hold where the file starts them"),
        };
        (!is_told).then(|| {
            format!(
                "no commands: {words}; `quasistep new {file}` writes a scene to add `commands` to, `--live` has sliders"
            )
        })
    }
}
