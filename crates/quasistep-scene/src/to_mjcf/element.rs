//! XML output: indented elements with attributes.

use quasistep_math::Pose;
use std::fmt::Write as _;

/// An element of an XML file.
#[derive(Clone, Debug)]
pub(super) struct Element {
    tag: &'static str,
    attributes: Vec<(&'static str, String)>,
    pub children: Vec<Element>,
}

impl Element {
    pub fn new(tag: &'static str) -> Self {
        Self { tag, attributes: Vec::new(), children: Vec::new() }
    }

    pub fn is_body(&self) -> bool {
        self.tag == "body"
    }

    /// False for a section without children.
    pub fn is_whole(&self) -> bool {
        let sections = ["asset", "contact", "tendon", "equality", "actuator"];
        !(self.children.is_empty() && sections.contains(&self.tag))
    }

    /// Adds an attribute.
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.set(name, value);
        self
    }

    /// Adds an attribute that is a list of numbers.
    pub fn numbers(self, name: &'static str, values: impl IntoIterator<Item = f64>) -> Self {
        let words: Vec<String> = values.into_iter().map(|x| x.to_string()).collect();
        self.with(name, words.join(" "))
    }

    #[allow(clippy::needless_pass_by_value)] // a number or a text, as `with` takes it
    pub fn set(&mut self, name: &'static str, value: impl ToString) {
        self.attributes.push((name, value.to_string()));
    }

    /// Writes the element as text, one element per line.
    pub fn write(&self, depth: usize, text: &mut String) {
        let indent = "  ".repeat(depth);
        let _ = write!(text, "{indent}<{}", self.tag);
        for (name, value) in &self.attributes {
            let _ = write!(text, " {name}=\"{}\"", escaped(value));
        }
        if self.children.is_empty() {
            text.push_str("/>\n");
            return;
        }
        text.push_str(">\n");
        for child in &self.children {
            child.write(depth + 1, text);
        }
        let _ = writeln!(text, "{indent}</{}>", self.tag);
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// Adds a pose to an element.
pub(super) fn placed(element: Element, X: &Pose) -> Element {
    element.numbers("pos", X.translation.to_array()).numbers("quat", X.rotation.to_array())
}
