//! Included files, read with bounds on depth, number and size.

use super::model::{self, Model};
use super::reader::{Reader, version};
use super::value::{array, boolean, child, own, placed, some_boolean, text};
use super::{foreign, lenient, merge};
use crate::error::SceneError;
use crate::findings::Findings;
use crate::packages::Places;
use crate::xml::{Source, Xml};
use crate::{Format, Options, files};
use std::path::{Path, PathBuf};

/// Most levels of included files; real files have about five.
const MOST_DEEP: usize = 32;
/// Most files read for one model, counting repeats; a warehouse has some hundred shelves.
const MOST_FILES: usize = 10_000;
/// Most bytes of all files, counting repeats: 100 shelves of 1 MB.
const MOST_BYTES: usize = 100 << 20;
/// Child elements of a file that are not read.
const UNREAD: [&str; 2] = ["light", "actor"];
/// Child elements of an include that are read.
const INCLUDE_READ: [&str; 6] = ["uri", "name", "pose", "static", "placement_frame", "merge"];

/// Files being read, and limits.
pub(crate) struct Library<'o> {
    pub options: &'o Options,
    /// Files being read, outermost first.
    open: Vec<PathBuf>,
    files: usize,
    bytes: usize,
    pub warnings: Vec<String>,
    /// Gravity of the world, in m/s², if given.
    pub gravity: Option<[f64; 3]>,
}

impl<'o> Library<'o> {
    pub fn new(options: &'o Options) -> Self {
        Self { options, open: Vec::new(), files: 0, bytes: 0, warnings: Vec::new(), gravity: None }
    }

    /// Reads the one model in a file of any supported format; of a file with lights alone, a world
    /// without models.
    pub(super) fn model(&mut self, path: &Path, depth: usize) -> Result<Model, Failure> {
        let found = match Format::of(path) {
            Some(Format::Sdf) | None => self.read(path, depth)?,
            Some(format) => {
                self.budget(path, 0).map_err(Failure::NotRead)?;
                let mut description = crate::read(format, path, self.options)?;
                self.warnings.append(&mut description.warnings);
                return foreign::model(description, path).map_err(Failure::Scene);
            }
        };
        if !found.is_world || found.models.is_empty() {
            return Ok(found);
        }
        let mut models = found.models;
        match (models.pop(), models.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => Err(Failure::NotRead(format!("{} has not exactly one model", path.display()))),
        }
    }

    /// Reads the model or world in an SDFormat file.
    pub(super) fn read(&mut self, path: &Path, depth: usize) -> Result<Model, Failure> {
        let name = path.display().to_string();
        if self.open.iter().any(|open| open == path) {
            let names: Vec<String> = self.open.iter().map(|p| p.display().to_string()).collect();
            return Err(Failure::NotRead(format!(
                "{name} includes itself, by way of {}",
                names.join(", ")
            )));
        }
        let text = files::read_to_string(path)
            .map_err(|e| Failure::NotRead(format!("{name} is not readable: {e}")))?;
        self.budget(path, text.len()).map_err(Failure::NotRead)?;
        self.open.push(path.to_owned());
        let model = self.parse(&text, &name, path, depth)?;
        self.open.pop();
        Ok(model)
    }

    /// Counts a file against the limits.
    fn budget(&mut self, path: &Path, bytes: usize) -> Result<(), String> {
        self.files += 1;
        self.bytes += bytes;
        let path = path.display();
        if self.open.len() >= MOST_DEEP {
            return Err(format!("{path}: files are nested deeper than {MOST_DEEP}"));
        }
        if self.files > MOST_FILES || self.bytes > MOST_BYTES {
            let most = MOST_BYTES >> 20;
            return Err(format!("{path}: more than {MOST_FILES} files or {most} MB are included"));
        }
        Ok(())
    }

    fn parse(
        &mut self,
        text: &str,
        name: &str,
        path: &Path,
        depth: usize,
    ) -> Result<Model, SceneError> {
        let mut source = Source::new(&lenient::strict(text), name);
        source.declare_prefixes();
        let document = source.parse()?;
        let root = Xml::new(document.root_element(), &source);
        // <gazebo> is the root of files up to version 1.2
        if root.tag() != "sdf" && root.tag() != "gazebo" {
            let seen = root.tag();
            return Err(
                root.error(format!("<{seen}> was seen; an SDFormat file has <sdf> at its root"))
            );
        }
        let dir = path.parent().unwrap_or(Path::new("."));
        let places = Places { dir, packages: &self.options.packages };
        let mut reader = Reader {
            places,
            options: self.options,
            findings: Findings::new(name),
            version: version(root.attribute("version")),
        };
        let mut found: Vec<Xml<'_, '_>> =
            root.elements().filter(|e| e.tag() == "model" || e.tag() == "world").collect();
        let included: Vec<Xml<'_, '_>> = own(&root, "include").collect();
        found.extend(included);
        reader.findings.others(&root, &["model", "world", "include"], &UNREAD);
        let model = match found.as_slice() {
            [one] if one.tag() == "include" => {
                let mut holder = Model::new(String::new(), root.spot());
                self.include(&mut holder, one, depth, &mut reader)?;
                holder.models.pop().ok_or_else(|| {
                    one.error("no model came of it: it is merged, or of lights alone")
                })
            }
            [one] => {
                let is_world = one.tag() == "world";
                // gravity of an included world is ignored
                if is_world
                    && self.open.len() == 1
                    && let Some(at) = child(one, "gravity")
                {
                    self.gravity = Some(array::<3>(&at)?);
                }
                model::read(one, is_world, depth, &mut reader, &mut |into, at, depth, reader| {
                    self.include(into, at, depth, reader)
                })
            }
            // a light or an actor: nothing to simulate
            [] if root.elements().any(|e| UNREAD.contains(&e.tag())) => {
                let mut nothing = Model::new(String::new(), root.spot());
                nothing.is_world = true;
                Ok(nothing)
            }
            other => {
                Err(root
                    .error(format!("{} models and worlds were seen; a file has one", other.len())))
            }
        }?;
        self.warnings.extend(reader.findings.into_warnings());
        Ok(model)
    }

    /// Reads an `<include>` into the model around it.
    fn include(
        &mut self,
        into: &mut Model,
        at: &Xml<'_, '_>,
        depth: usize,
        reader: &mut Reader<'_, '_>,
    ) -> Result<(), SceneError> {
        let uri = child(at, "uri").ok_or_else(|| at.error("<uri> is missing"))?;
        let path = locate(&reader.places, text(&uri)?).map_err(|why| uri.error(why))?;
        let mut model = self.model(&path, depth + 1).map_err(|f| f.blame(|why| uri.error(why)))?;
        if model.is_world {
            return Ok(());
        }
        if let Some(name) = child(at, "name") {
            text(&name)?.clone_into(&mut model.name);
        }
        // a pose in the include overrides that of the file
        if child(at, "pose").is_some() {
            model.placed = placed(at)?;
        }
        if let Some(frame) = child(at, "placement_frame") {
            if child(at, "pose").is_none() {
                return Err(
                    frame.error("<placement_frame> was seen; give the <pose> of this frame too")
                );
            }
            model.placement_frame = Some(text(&frame)?.to_owned());
        }
        if let Some(is_static) = some_boolean(at, "static")? {
            model.is_static = is_static;
        }
        reader.findings.others(at, &INCLUDE_READ, &["plugin", "experimental:params"]);
        let merges = at.attribute("merge").map(|text| boolean(at, text)).transpose()?;
        if merges == Some(true) {
            return merge::merge(into, model, at);
        }
        model.spot = at.spot();
        into.models.push(model);
        Ok(())
    }
}

/// Reason why a file was not read.
pub(crate) enum Failure {
    /// The file is missing or of the wrong kind; the message is reported at the place that names
    /// the file.
    NotRead(String),
    /// A mistake in the file.
    Scene(SceneError),
}

impl Failure {
    /// Converts to an error; `blame` makes one from a message about the file as a whole.
    pub fn blame(self, blame: impl FnOnce(String) -> SceneError) -> SceneError {
        match self {
            Self::NotRead(why) => blame(why),
            Self::Scene(error) => error,
        }
    }
}

impl From<SceneError> for Failure {
    fn from(error: SceneError) -> Self {
        Self::Scene(error)
    }
}

/// The file named by an include: a file, or the one listed in a folder's `model.config`.
pub(super) fn locate(places: &Places<'_>, uri: &str) -> Result<PathBuf, String> {
    let whole = places.find(uri);
    let Err(why) = whole else { return whole };
    let folder = uri.trim_end_matches('/');
    let Ok(config) = places.find(&format!("{folder}/model.config")) else {
        return places.find(&format!("{folder}/model.sdf")).map_err(|_| why);
    };
    let text = files::read_to_string(&config).map_err(|e| e.to_string())?;
    let document = quasistep_mesh::xml::parse(&text).map_err(|(_, message)| message)?;
    let version_of = |node: &roxmltree::Node<'_, '_>| version(node.attribute("version"));
    let sdf = document.root_element().children().filter(|n| n.has_tag_name("sdf"));
    let newest = sdf.max_by_key(version_of).and_then(|n| n.text());
    let name = newest.ok_or_else(|| format!("{} names no <sdf>", config.display()))?;
    places.find(&format!("{folder}/{}", name.trim()))
}
