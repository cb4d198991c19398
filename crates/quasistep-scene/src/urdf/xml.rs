//! XML elements that know their file and line.

use crate::error::SceneError;
use quasistep_math::Pose;
use roxmltree::Node;

/// An element, with the name of the link or joint it belongs to.
#[derive(Clone)]
pub(crate) struct Xml<'a, 'f> {
    node: Node<'a, 'a>,
    file: &'f str,
    key: String,
}

impl<'a, 'f> Xml<'a, 'f> {
    pub fn new(node: Node<'a, 'a>, file: &'f str) -> Self {
        Self { node, file, key: label(&node) }
    }

    pub fn error(&self, message: impl Into<String>) -> SceneError {
        SceneError::new(self.file, Some(self.line()), &self.key, message)
    }

    pub fn line(&self) -> usize {
        self.node.document().text_pos_at(self.node.range().start).row as usize
    }

    pub fn tag(&self) -> &'a str {
        self.node.tag_name().name()
    }

    /// Child elements with this tag, whatever their namespace.
    pub fn children<'s>(&'s self, tag: &'s str) -> impl Iterator<Item = Xml<'a, 'f>> + 's {
        self.node.children().filter(move |n| n.is_element() && n.tag_name().name() == tag).map(
            |node| Xml { node, file: self.file, key: format!("{} {}", self.key, label(&node)) },
        )
    }

    /// All child elements.
    pub fn elements(&self) -> impl Iterator<Item = Xml<'a, 'f>> + '_ {
        self.node.children().filter(Node::is_element).map(|node| Xml {
            node,
            file: self.file,
            key: format!("{} {}", self.key, label(&node)),
        })
    }

    pub fn child(&self, tag: &str) -> Option<Xml<'a, 'f>> {
        self.children(tag).next()
    }

    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        self.node.attribute(name)
    }

    pub fn text(&self, name: &str) -> Result<&'a str, SceneError> {
        match self.attribute(name).map(str::trim) {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(self.error(format!("the attribute `{name}` is missing"))),
        }
    }

    /// Exactly `N` finite numbers in an attribute; `None` if it is not there.
    pub fn numbers<const N: usize>(&self, name: &str) -> Result<Option<[f64; N]>, SceneError> {
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
        let array = values.try_into().map_err(|_| {
            self.error(format!("{name}=\"{text}\" was seen: {n} numbers; it must have {N}"))
        })?;
        Ok(Some(array))
    }

    /// A number that must be there.
    pub fn number(&self, name: &str) -> Result<f64, SceneError> {
        self.text(name)?;
        Ok(self.numbers::<1>(name)?.map_or(0.0, |[x]| x))
    }

    /// A number > 0 that must be there.
    pub fn positive(&self, name: &str) -> Result<f64, SceneError> {
        let x = self.number(name)?;
        if x > 0.0 { Ok(x) } else { Err(self.error(format!("{name} is {x}; it must be > 0"))) }
    }

    /// `<origin xyz rpy>`, the identity if it is left out.
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
