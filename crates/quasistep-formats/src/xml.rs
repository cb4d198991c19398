//! XML elements with file and line.

use crate::error::SceneError;
use crate::spot::Spot;
use quasistep_math::Pose;
use quasistep_mesh::xml::{check, parse, parse_checked};
use roxmltree::{Document, Error, Node};
use std::sync::Arc;

/// Most namespace prefixes that a file may use without declaring them.
const MOST_PREFIXES: usize = 32;

/// Text of a file without comments, and the start of each line.
pub struct Source<'f> {
    pub file: &'f str,
    shared: Arc<str>,
    pub text: String,
    line_starts: Vec<usize>,
    /// Length and position of the declarations inserted into the root element.
    inserted: (usize, usize),
}

impl<'f> Source<'f> {
    /// Removes comments from a text; line numbers stay the same.
    pub fn new(text: &str, file: &'f str) -> Self {
        let mut kept = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("<!--") {
            kept.push_str(&rest[..start]);
            // an unclosed comment is reported by the parser
            let Some(length) = rest[start..].find("-->") else { break };
            let end = start + length + 3;
            kept.extend(rest[start..end].chars().filter(|c| *c == '\n'));
            rest = &rest[end..];
        }
        kept.push_str(rest);
        let line_starts =
            std::iter::once(0).chain(kept.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { file, shared: file.into(), text: kept, line_starts, inserted: (0, 0) }
    }

    /// Declares prefixes that the text uses without declaration, as many files do for extensions.
    pub fn declare_prefixes(&mut self) {
        if check(&self.text).is_err() {
            return;
        }
        for _ in 0..MOST_PREFIXES {
            let Err(Error::UnknownNamespace(prefix, _)) = parse_checked(&self.text) else {
                return;
            };
            let Some(at) = self.end_of_first_tag_name() else { return };
            let declaration = format!(" xmlns:{prefix}=\"{prefix}\"");
            self.inserted = (at, self.inserted.1 + declaration.len());
            self.text.insert_str(at, &declaration);
        }
    }

    /// Position of the end of the root element's name.
    fn end_of_first_tag_name(&self) -> Option<usize> {
        let is_tag =
            |at: &usize| self.text[at + 1..].starts_with(|c: char| c.is_alphabetic() || c == '_');
        let start = self.text.match_indices('<').map(|(at, _)| at).find(is_tag)?;
        let name = self.text[start..].find(|c: char| c.is_whitespace() || c == '>' || c == '/')?;
        Some(start + name)
    }

    /// Parses the text.
    pub fn parse(&self) -> Result<Document<'_>, SceneError> {
        parse(&self.text).map_err(|(line, message)| {
            SceneError::new(self.file, Some(line), "", format!("not valid XML: {message}"))
        })
    }

    fn line(&self, position: usize) -> usize {
        let (at, length) = self.inserted;
        let position =
            if position > at { position.saturating_sub(length).max(at) } else { position };
        self.line_starts.partition_point(|start| *start <= position)
    }
}

/// An element, with the name of the link or joint to which it belongs.
#[derive(Clone)]
pub struct Xml<'a, 'f> {
    node: Node<'a, 'a>,
    source: &'f Source<'f>,
    key: String,
}

impl<'a, 'f> Xml<'a, 'f> {
    pub fn new(node: Node<'a, 'a>, source: &'f Source<'f>) -> Self {
        Self { node, source, key: label(&node) }
    }

    pub fn error(&self, message: impl Into<String>) -> SceneError {
        SceneError::new(self.source.file, Some(self.line()), &self.key, message)
    }

    pub fn line(&self) -> usize {
        self.source.line(self.node.range().start)
    }

    pub fn tag(&self) -> &'a str {
        self.node.tag_name().name()
    }

    /// Child elements with this tag, in any namespace.
    pub fn children<'s>(&'s self, tag: &'s str) -> impl Iterator<Item = Xml<'a, 'f>> + 's {
        self.node.children().filter(move |n| n.is_element() && n.tag_name().name() == tag).map(
            |node| Xml { node, source: self.source, key: format!("{} {}", self.key, label(&node)) },
        )
    }

    /// All child elements.
    pub fn elements(&self) -> impl Iterator<Item = Xml<'a, 'f>> + '_ {
        self.node.children().filter(Node::is_element).map(|node| Xml {
            node,
            source: self.source,
            key: format!("{} {}", self.key, label(&node)),
        })
    }

    /// Tags of child elements that are not in `known`.
    pub fn other_tags<'s>(&'s self, known: &'s [&str]) -> impl Iterator<Item = &'a str> + 's {
        let elements = self.node.children().filter(Node::is_element);
        elements.map(|n| n.tag_name().name()).filter(|tag| !known.contains(tag))
    }

    pub fn child(&self, tag: &str) -> Option<Xml<'a, 'f>> {
        self.children(tag).next()
    }

    /// Namespace prefix of the tag, if any.
    pub fn prefix(&self) -> Option<&'a str> {
        let namespace = self.node.tag_name().namespace()?;
        self.node.lookup_prefix(namespace).filter(|prefix| !prefix.is_empty())
    }

    /// The text content, trimmed.
    pub fn content(&self) -> &'a str {
        self.node.text().unwrap_or_default().trim()
    }

    /// Position of the element, for messages after the document is dropped.
    pub fn spot(&self) -> Spot {
        Spot { file: self.source.shared.clone(), line: self.line(), key: self.key.as_str().into() }
    }

    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        self.node.attribute(name)
    }

    /// Names and values of all attributes, in the order of the file.
    pub fn attributes(&self) -> Vec<(String, String)> {
        let all = self.node.attributes();
        all.map(|a| (a.name().to_owned(), a.value().to_owned())).collect()
    }

    pub fn text(&self, name: &str) -> Result<&'a str, SceneError> {
        match self.attribute(name).map(str::trim) {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(self.error(format!("the attribute `{name}` is missing"))),
        }
    }

    /// Finite numbers in an attribute, with a count in `valid`; `None` if the attribute is missing.
    pub fn some_numbers(
        &self,
        name: &str,
        valid: std::ops::RangeInclusive<usize>,
    ) -> Result<Option<Vec<f64>>, SceneError> {
        let Some(text) = self.attribute(name) else { return Ok(None) };
        let mut values = Vec::new();
        for word in text.split_whitespace() {
            match word.parse::<f64>() {
                Ok(x) if x.is_finite() => values.push(x),
                _ => {
                    return Err(self.error(format!(
                        "{name}=\"{text}\" was seen; `{word}` is no finite number"
                    )));
                }
            }
        }
        let n = values.len();
        if valid.contains(&n) {
            return Ok(Some(values));
        }
        Err(self.error(format!(
            "{name}=\"{text}\" was seen: {n} numbers; it must have {}",
            valid.end()
        )))
    }

    /// Exactly `N` finite numbers in an attribute; `None` if the attribute is missing.
    pub fn numbers<const N: usize>(&self, name: &str) -> Result<Option<[f64; N]>, SceneError> {
        Ok(self.some_numbers(name, N..=N)?.and_then(|values| values.try_into().ok()))
    }

    /// A required number.
    pub fn number(&self, name: &str) -> Result<f64, SceneError> {
        self.text(name)?;
        Ok(self.numbers::<1>(name)?.map_or(0.0, |[x]| x))
    }

    /// A required number ≥ 0.
    pub fn non_negative(&self, name: &str) -> Result<f64, SceneError> {
        let x = self.number(name)?;
        if x >= 0.0 { Ok(x) } else { Err(self.error(format!("{name} is {x}; it must be ≥ 0"))) }
    }

    /// Reads `<origin xyz rpy>`; the identity if missing.
    pub fn origin(&self) -> Result<Pose, SceneError> {
        let Some(origin) = self.child("origin") else { return Ok(Pose::IDENTITY) };
        let xyz = origin.numbers("xyz")?.unwrap_or_default();
        let rpy = origin.numbers("rpy")?.unwrap_or_default();
        Ok(Pose::from_xyz_rpy(xyz, rpy))
    }
}

fn label(node: &Node<'_, '_>) -> String {
    match node.attribute("name") {
        Some(name) => format!("{} `{name}`", node.tag_name().name()),
        None => node.tag_name().name().to_owned(),
    }
}
