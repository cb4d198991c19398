//! Document of a COLLADA file: elements by id, and sources of numbers.

use crate::{Fault, shown};
use quasistep_math::Vec3;
use roxmltree::Node;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The document, and its elements by id.
pub(super) struct Dae<'a> {
    pub by_id: BTreeMap<&'a str, Node<'a, 'a>>,
    root: Node<'a, 'a>,
    /// Sources read so far.
    sources: RefCell<BTreeMap<Node<'a, 'a>, Rc<Source>>>,
}

/// Groups of numbers.
#[derive(Debug, Default)]
pub(super) struct Source {
    values: Vec<f64>,
    stride: usize,
    offset: usize,
}

impl Source {
    /// Group `k` with `N` numbers, if it exists.
    pub fn group<const N: usize>(&self, k: u32) -> Option<[f64; N]> {
        let start = self.stride.saturating_mul(k as usize).saturating_add(self.offset);
        self.values.get(start..)?.first_chunk().copied()
    }

    pub fn position(&self, k: u32) -> Vec3 {
        self.group(k).map_or(Vec3::ZERO, Vec3::from)
    }
}

impl<'a> Dae<'a> {
    pub fn new(root: Node<'a, 'a>) -> Self {
        let named = root.descendants().filter_map(|node| Some((node.attribute("id")?, node)));
        Self { by_id: named.collect(), root, sources: RefCell::default() }
    }

    /// Length of the file's unit, in m.
    pub fn unit(&self) -> Result<f64, Fault> {
        let unit = self.root.child("asset").and_then(|asset| asset.child("unit"));
        let Some((unit, word)) = unit.and_then(|unit| Some((unit, unit.attribute("meter")?)))
        else {
            return Ok(1.0);
        };
        let metre: f64 = word.trim().parse().unwrap_or(f64::NAN);
        if metre > 0.0 && metre.is_finite() {
            Ok(metre)
        } else {
            Err(at(unit, format!("meter=\"{word}\" was seen; it must be > 0")))
        }
    }

    /// Element to which an attribute `#id` of a node refers.
    pub fn target(&self, node: Node<'a, 'a>, attribute: &str) -> Option<Node<'a, 'a>> {
        self.by_id.get(node.attribute(attribute)?.strip_prefix('#')?).copied()
    }

    pub fn need(&self, node: Node<'a, 'a>, attribute: &str) -> Result<Node<'a, 'a>, Fault> {
        self.target(node, attribute).ok_or_else(|| {
            let (tag, value) = (node.tag_name().name(), node.attribute(attribute).unwrap_or(""));
            at(node, format!("{attribute}=\"{value}\" was seen in <{tag}>; it must be # and the id of something in this file"))
        })
    }

    /// Reads the source named by an input; sources are shared.
    pub fn source(&self, input: Node<'a, 'a>) -> Result<Rc<Source>, Fault> {
        let node = self.need(input, "source")?;
        if let Some(known) = self.sources.borrow().get(&node) {
            return Ok(known.clone());
        }
        let array = node
            .child("float_array")
            .ok_or_else(|| at(node, "a source without <float_array> was seen"))?;
        let accessor = node.child("technique_common").and_then(|t| t.child("accessor"));
        let number = |name: &str, default: usize| {
            let word = accessor.and_then(|a| a.attribute(name));
            word.and_then(|word| word.trim().parse().ok()).unwrap_or(default)
        };
        let no_number = |word: &str| at(array, format!("{} is no number", shown(word.as_bytes())));
        let words = array.text().unwrap_or_default().split_ascii_whitespace();
        let values = words
            .map(|word| word.parse().map_err(|_| no_number(word)))
            .collect::<Result<_, _>>()?;
        let (stride, offset) = (number("stride", 1).max(1), number("offset", 0));
        let source = Rc::new(Source { values, stride, offset });
        self.sources.borrow_mut().insert(node, source.clone());
        Ok(source)
    }
}

/// Exactly `N` numbers in an element.
pub(super) fn floats<const N: usize>(node: Node<'_, '_>) -> Result<[f64; N], Fault> {
    let values: Option<Vec<f64>> = node
        .text()
        .unwrap_or_default()
        .split_ascii_whitespace()
        .map(|word| word.parse().ok())
        .collect();
    values.and_then(|values| values.try_into().ok()).ok_or_else(|| {
        at(
            node,
            format!("<{}> holds `{}`; {N} numbers are needed", node.tag_name().name(), short(node)),
        )
    })
}

/// Beginning of an element's text, for messages.
pub(super) fn short(node: Node<'_, '_>) -> String {
    node.text().unwrap_or_default().trim().chars().take(40).collect()
}

pub(super) fn at(node: Node<'_, '_>, message: impl Into<String>) -> Fault {
    Fault::line(node.document().text_pos_at(node.range().start).row as usize, message)
}

/// Access to child elements by tag, ignoring namespaces.
pub(super) trait Elements<'a>: Sized {
    fn has_tag_name_of(&self, tag: &str) -> bool;
    fn elements(&self, tag: &'static str) -> impl Iterator<Item = Self>;
    fn child(&self, tag: &'static str) -> Option<Self>;
}

impl<'a> Elements<'a> for Node<'a, 'a> {
    fn has_tag_name_of(&self, tag: &str) -> bool {
        self.is_element() && self.tag_name().name() == tag
    }

    fn elements(&self, tag: &'static str) -> impl Iterator<Item = Self> {
        self.children().filter(move |node| node.has_tag_name_of(tag))
    }

    fn child(&self, tag: &'static str) -> Option<Self> {
        self.elements(tag).next()
    }
}
