//! Elements of a file, with included files in place of `<include>`.

use crate::error::SceneError;
use crate::files;
use crate::xml::{Source, Xml};
use quasistep_mesh::shown;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Most elements of a model with its includes; the largest public models have about 20 000.
const MOST_ELEMENTS: usize = 1_000_000;
/// Most included files.
const MOST_FILES: usize = 1000;
/// Deepest nesting of elements; a chain of 100 bodies needs about 100.
const MOST_DEPTH: usize = 200;

/// Position of an element in a file.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub file: Rc<str>,
    pub line: usize,
}

/// An XML element that owns its strings.
#[derive(Clone, Debug)]
pub(super) struct Element {
    pub tag: String,
    pub attributes: Vec<(String, String)>,
    pub children: Vec<Element>,
    pub place: Place,
}

impl Element {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Label for messages: tag and name.
    pub fn label(&self) -> String {
        match self.attribute("name") {
            Some(name) => format!("{} {}", self.tag, shown(name.as_bytes())),
            None => self.tag.clone(),
        }
    }

    pub fn error(&self, message: impl Into<String>) -> SceneError {
        let Place { file, line } = &self.place;
        SceneError::new(file, Some(*line), &self.label(), message)
    }

    /// A required attribute that must not be empty.
    pub fn text(&self, name: &str) -> Result<&str, SceneError> {
        match self.attribute(name).map(str::trim) {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(self.error(format!("the attribute `{name}` is missing"))),
        }
    }

    pub fn children<'s>(&'s self, tag: &'s str) -> impl Iterator<Item = &'s Element> {
        self.children.iter().filter(move |child| child.tag == tag)
    }

    /// True if the options of this root disable the flag `name`.
    pub fn disables(&self, name: &str) -> bool {
        let flags = self.in_sections("option").filter(|e| e.tag == "flag");
        flags.filter_map(|e| e.attribute(name)).last() == Some("disable")
    }

    /// Children of all sections with this tag; a file may have several.
    pub fn in_sections<'s>(&'s self, section: &'s str) -> impl Iterator<Item = &'s Element> {
        self.children(section).flat_map(|s| s.children.iter())
    }
}

/// Reads a file and its includes.
pub(super) struct Reader<'a> {
    /// Folder of the main file, to which include paths are relative.
    folder: &'a Path,
    may_open: &'a dyn Fn(&Path) -> Result<(), String>,
    seen: BTreeSet<PathBuf>,
    n_elements: usize,
}

impl<'a> Reader<'a> {
    pub fn new(folder: &'a Path, may_open: &'a dyn Fn(&Path) -> Result<(), String>) -> Self {
        Self { folder, may_open, seen: BTreeSet::new(), n_elements: 0 }
    }

    /// Reads the root element of a file, with its includes in place.
    pub fn read(&mut self, path: &Path) -> Result<Element, SceneError> {
        self.seen.insert(path.to_owned());
        let file: Rc<str> = path.display().to_string().into();
        let text = files::read_to_string(path)
            .map_err(|e| SceneError::new(&file, None, "", format!("not readable: {e}")))?;
        let source = Source::new(&text, &file);
        let document = source.parse()?;
        self.element(&Xml::new(document.root_element(), &source), path, &file, 0)
    }

    fn element(
        &mut self,
        at: &Xml<'_, '_>,
        path: &Path,
        file: &Rc<str>,
        depth: usize,
    ) -> Result<Element, SceneError> {
        self.n_elements += 1;
        if self.n_elements > MOST_ELEMENTS {
            return Err(at.error(format!("more than {MOST_ELEMENTS} elements; that many are read")));
        }
        if depth > MOST_DEPTH {
            return Err(at.error(format!("nested more than {MOST_DEPTH} deep; that deep is read")));
        }
        let place = Place { file: file.clone(), line: at.line() };
        let mut element = Element {
            tag: at.tag().to_owned(),
            attributes: at.attributes(),
            children: Vec::new(),
            place,
        };
        for child in at.elements() {
            if child.tag() == "include" {
                element.children.extend(self.include(&child, path, depth)?);
            } else {
                element.children.push(self.element(&child, path, file, depth + 1)?);
            }
        }
        Ok(element)
    }

    /// Children of the root of an included file.
    fn include(
        &mut self,
        at: &Xml<'_, '_>,
        from: &Path,
        depth: usize,
    ) -> Result<Vec<Element>, SceneError> {
        let name = at.text("file")?;
        // relative to the main file's folder, or else to the including file's folder
        let near = from.parent().unwrap_or(Path::new("")).join(name);
        let candidates = [self.folder.join(name), near];
        let path = candidates.iter().find(|path| files::is_file(path));
        let path = path.ok_or_else(|| at.error(files::no_file(&candidates[0])))?;
        (self.may_open)(path).map_err(|why| at.error(why))?;
        if self.seen.contains(path) {
            return Err(at.error(format!(
                "{} was included before; a file is included once",
                path.display()
            )));
        }
        if self.seen.len() > MOST_FILES {
            return Err(
                at.error(format!("more than {MOST_FILES} files are included; that many are read"))
            );
        }
        let file: Rc<str> = path.display().to_string().into();
        self.seen.insert(path.clone());
        let text = files::read_to_string(path)
            .map_err(|e| at.error(format!("{} is not readable: {e}", path.display())))?;
        let source = Source::new(&text, &file);
        let document = source.parse()?;
        let root = Xml::new(document.root_element(), &source);
        Ok(self.element(&root, path, &file, depth + 1)?.children)
    }
}
