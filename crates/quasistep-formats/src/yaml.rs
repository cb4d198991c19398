//! YAML document as a tree with line numbers, so that every message can name a line.

use crate::error::{SceneError, list, unknown};
use crate::spot::Spot;
use saphyr_parser::{Event, Parser, Tag};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A YAML value with its line.
#[derive(Clone, Debug)]
pub struct Node {
    kind: Kind,
    line: usize,
    /// The `--set` option that set this value, if any.
    set_by: Option<String>,
    /// The tag, without `!`, if any.
    tag: Option<String>,
}

#[derive(Clone, Debug)]
enum Kind {
    Scalar(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// Deepest nesting of collections; bounds the use of the stack.
const MAX_DEPTH: usize = 64;

/// Most values of a document; each takes about 200 bytes.
const MAX_VALUES: usize = 2_000_000;

/// A collection being parsed.
struct Open {
    node: Node,
    /// In a map, the key whose value comes next, and its line.
    pending: Option<(String, usize)>,
    /// In a map, the keys so far.
    keys: BTreeSet<String>,
}

impl Open {
    fn new(kind: Kind, line: usize, tag: Option<Cow<'_, Tag>>) -> Self {
        let node = Node { tag: word(tag), ..Node::new(kind, line) };
        Self { node, pending: None, keys: BTreeSet::new() }
    }

    /// Adds an item, a key, or the value of a key. The error is the key and what is wrong.
    fn push(&mut self, mut done: Node, line: usize) -> Result<(), (String, &'static str)> {
        match &mut self.node.kind {
            Kind::List(items) => items.push(done),
            Kind::Map(entries) => {
                if let Some((key, key_line)) = self.pending.take() {
                    // report a block at the line of its key, where users look for it
                    done.line = key_line;
                    entries.push((key, done));
                    return Ok(());
                }
                let Kind::Scalar(text) = done.kind else {
                    return Err((String::new(), "a key that is no plain word was seen"));
                };
                if !self.keys.insert(text.clone()) {
                    return Err((text, "the key is given twice; keep one"));
                }
                self.pending = Some((text, line));
            }
            Kind::Scalar(_) => {}
        }
        Ok(())
    }
}

/// A node with its dotted key and file: the position of a reader in the document.
#[derive(Clone, Debug)]
pub struct At<'a, C = ()> {
    node: &'a Node,
    file: &'a str,
    key: String,
    context: C,
}

/// Rules for numbers in a document: what is allowed besides plain numbers.
pub trait Context: Clone {
    /// Value of a text that is not a plain number; `None` if expressions are not allowed here.
    /// `key` is the dotted key of its position.
    fn value(&self, text: &str, key: &str) -> Option<Result<f64, String>>;

    /// Text that messages add to the key, if any.
    fn label(&self) -> Option<&str>;
}

impl Context for () {
    fn value(&self, _: &str, _: &str) -> Option<Result<f64, String>> {
        None
    }

    fn label(&self) -> Option<&str> {
        None
    }
}

/// The word of a tag `!word`.
fn word(tag: Option<Cow<'_, Tag>>) -> Option<String> {
    tag.filter(|tag| tag.handle == "!").map(|tag| tag.suffix.clone())
}

impl Node {
    fn new(kind: Kind, line: usize) -> Self {
        Self { kind, line, set_by: None, tag: None }
    }

    /// Reads one YAML document.
    pub fn parse(text: &str, file: &str) -> Result<Self, SceneError> {
        let fail = |line: usize, key: &str, message: String| {
            Err(SceneError::new(file, (!file.is_empty()).then_some(line), key, message))
        };
        // the innermost collection is last
        let mut open: Vec<Open> = Vec::new();
        let mut root: Option<Node> = None;
        let mut n_values = 0;
        for event in Parser::new_from_str(text) {
            let (event, span) = match event {
                Ok(pair) => pair,
                Err(e) => {
                    return fail(e.marker().line(), "", format!("not valid YAML: {}", e.info()));
                }
            };
            let line = span.start.line();
            if open.len() > MAX_DEPTH {
                return fail(line, "", format!("nested deeper than {MAX_DEPTH}"));
            }
            n_values += 1;
            if n_values > MAX_VALUES {
                return fail(line, "", format!("more than {MAX_VALUES} keys and values were seen"));
            }
            let done = match event {
                Event::Scalar(value, .., tag) => {
                    Node { tag: word(tag), ..Node::new(Kind::Scalar(value.into_owned()), line) }
                }
                Event::SequenceStart(.., tag) => {
                    open.push(Open::new(Kind::List(Vec::new()), line, tag));
                    continue;
                }
                Event::MappingStart(.., tag) => {
                    open.push(Open::new(Kind::Map(Vec::new()), line, tag));
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                    Some(Open { node, .. }) => node,
                    None => continue,
                },
                Event::Alias(_) => {
                    return fail(
                        line,
                        "",
                        "an alias (`*name`) was seen; write the value out".into(),
                    );
                }
                Event::DocumentStart(_) if root.is_some() => {
                    return fail(
                        line,
                        "",
                        "a second document was seen; one file is one scene".into(),
                    );
                }
                _ => continue,
            };
            let Some(parent) = open.last_mut() else {
                root = Some(done);
                continue;
            };
            if let Err((key, why)) = parent.push(done, line) {
                return fail(line, &key, why.into());
            }
        }
        match root {
            Some(node @ Node { kind: Kind::Map(_), .. }) => Ok(node),
            Some(node) => fail(node.line, "", "a scene file must be a mapping of keys".into()),
            None => fail(1, "", "the file is empty; a scene needs at least `models`".into()),
        }
    }

    /// Replaces the value at a dotted path, as `--set path=value` does. Missing keys are created. A
    /// `*` matches every key of a mapping; at least one must contain the rest of the path.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), SceneError> {
        let origin = format!("--set {path}");
        let fail = |message: String| Err(SceneError::new("", None, &origin, message));
        if path.is_empty() || path.split('.').any(str::is_empty) {
            return fail("the path has an empty part; a path is like `step.size`".into());
        }
        // wrap the value in a mapping, which the parser expects at the root
        let wrapped = Self::parse(&format!("value: {value}"), "");
        let Ok(Self { kind: Kind::Map(mut entries), .. }) = wrapped else {
            return fail(format!("`{value}` is not a YAML value"));
        };
        let Some((_, mut node)) = entries.pop() else {
            return fail(format!("`{value}` is not a YAML value"));
        };
        node.mark(&origin);
        let parts: Vec<&str> = path.split('.').collect();
        if self.set_parts(&parts, &node, &origin)? == 0 {
            return fail("the path fits nothing in this scene; a `*` stands for every key".into());
        }
        Ok(())
    }

    /// Removes the value at a dotted path; false if it does not exist.
    pub fn remove(&mut self, path: &str) -> bool {
        match &mut self.kind {
            Kind::Map(entries) => {
                if let Some(i) = entries.iter().position(|(key, _)| key == path) {
                    entries.remove(i);
                    return true;
                }
                // keys may contain dots
                entries.iter_mut().any(|(key, child)| {
                    let rest = path.strip_prefix(key.as_str()).and_then(|r| r.strip_prefix('.'));
                    rest.is_some_and(|rest| child.remove(rest))
                })
            }
            Kind::List(items) => {
                let (index, rest) = path.split_once('.').unwrap_or((path, ""));
                let Some(i) = index.parse().ok().filter(|i| *i < items.len()) else { return false };
                if rest.is_empty() {
                    items.remove(i);
                    return true;
                }
                items[i].remove(rest)
            }
            Kind::Scalar(_) => false,
        }
    }

    /// Sets the value at a path; returns the number of values replaced or created.
    fn set_parts(
        &mut self,
        parts: &[&str],
        value: &Self,
        origin: &str,
    ) -> Result<usize, SceneError> {
        let [first, ..] = parts else {
            *self = value.clone();
            return Ok(1);
        };
        // a path in place of a cloud's mapping replaces its file and keeps the other keys
        if let (["cloud"], Kind::Map(entries), Kind::Scalar(_)) = (parts, &self.kind, &value.kind)
            && entries.iter().any(|(key, child)| key == "cloud" && child.has("file"))
        {
            return self.set_parts(&["cloud", "file"], value, origin);
        }
        match &mut self.kind {
            Kind::Map(entries) => {
                if *first == "*" {
                    let mut n = 0;
                    for (_, child) in entries.iter_mut() {
                        // with a longer path, `*` matches only children that have the next key
                        let concerned = parts.len() <= 2 || child.has(parts[1]);
                        if concerned {
                            n += child.set_parts(&parts[1..], value, origin)?;
                        }
                    }
                    return Ok(n);
                }
                // keys may contain dots: the longest match wins
                for n in (1..=parts.len()).rev() {
                    let key = parts[..n].join(".");
                    if let Some((_, child)) = entries.iter_mut().find(|(k, _)| *k == key) {
                        return child.set_parts(&parts[n..], value, origin);
                    }
                }
                let mut child =
                    Self { set_by: Some(origin.into()), ..Self::new(Kind::Map(Vec::new()), 0) };
                let n = child.set_parts(&parts[1..], value, origin)?;
                entries.push(((*first).to_owned(), child));
                Ok(n)
            }
            Kind::List(items) => {
                let n = items.len();
                let child = first.parse::<usize>().ok().and_then(|i| items.get_mut(i));
                match child {
                    Some(child) => child.set_parts(&parts[1..], value, origin),
                    None => Err(SceneError::new(
                        "",
                        None,
                        origin,
                        format!("`{first}` is no index of a list of {n}; count from 0"),
                    )),
                }
            }
            Kind::Scalar(text) => Err(SceneError::new(
                "",
                None,
                origin,
                format!("the path goes on after the value `{text}`; leave out `.{first}`"),
            )),
        }
    }

    fn has(&self, key: &str) -> bool {
        key == "*"
            || matches!(&self.kind, Kind::Map(entries) if entries.iter().any(|(k, _)| k == key))
    }

    fn mark(&mut self, origin: &str) {
        self.set_by = Some(origin.to_owned());
        match &mut self.kind {
            Kind::Scalar(_) => {}
            Kind::List(items) => items.iter_mut().for_each(|n| n.mark(origin)),
            Kind::Map(entries) => entries.iter_mut().for_each(|(_, n)| n.mark(origin)),
        }
    }

    /// The position of the root.
    pub fn at<'a>(&'a self, file: &'a str) -> At<'a> {
        At { node: self, file, key: String::new(), context: () }
    }
}

impl<'a, C: Context> At<'a, C> {
    /// This position in the file, with another context for expressions.
    pub fn within<D>(&self, context: D) -> At<'a, D> {
        At { node: self.node, file: self.file, key: self.key.clone(), context }
    }

    /// The context for numbers.
    pub fn context(&self) -> &C {
        &self.context
    }

    /// An error at this node.
    pub fn error(&self, message: impl Into<String>) -> SceneError {
        let mut message = message.into();
        if let Some(label) = self.context.label() {
            message = format!("{message} (in `{label}`)");
        }
        match &self.node.set_by {
            Some(origin) => SceneError::new("", None, origin, message),
            // a scene without a file has keys only
            None if self.file.is_empty() => SceneError::new("", None, &self.key, message),
            None => SceneError::new(self.file, Some(self.node.line), &self.key, message),
        }
    }

    /// `file:line`, or the `--set` option, for warnings; the key of a scene without a file.
    pub fn place(&self) -> String {
        match &self.node.set_by {
            Some(origin) => origin.clone(),
            None if self.file.is_empty() => self.key.clone(),
            None => format!("{}:{}", self.file, self.node.line),
        }
    }

    /// True if `--set` created this mapping on the way to a value inside it.
    pub fn is_implied(&self) -> bool {
        self.node.set_by.is_some() && self.node.line == 0
    }

    /// The value in a few words, for messages.
    pub fn seen(&self) -> String {
        match &self.node.kind {
            Kind::Scalar(text) if text.is_empty() => "nothing".into(),
            Kind::Scalar(text) => format!("`{text}`"),
            Kind::List(items) => format!("a list of {}", items.len()),
            Kind::Map(_) => "a mapping".into(),
        }
    }

    fn child(&self, key: &str, node: &'a Node) -> Self {
        let full = if self.key.is_empty() { key.to_owned() } else { format!("{}.{key}", self.key) };
        Self { node, file: self.file, key: full, context: self.context.clone() }
    }

    /// The tag, without `!`, if any.
    pub fn tag(&self) -> Option<&'a str> {
        self.node.tag.as_deref()
    }

    /// Position of the node, for messages after the document is dropped.
    pub(crate) fn spot(&self) -> Spot {
        Spot { file: self.file.into(), line: self.node.line, key: self.key.as_str().into() }
    }

    /// True if this is a mapping.
    pub fn is_map(&self) -> bool {
        matches!(self.node.kind, Kind::Map(_))
    }

    /// True if this is a list.
    pub fn is_list(&self) -> bool {
        matches!(self.node.kind, Kind::List(_))
    }

    /// The entries of a mapping with arbitrary keys, in file order.
    pub fn entries(&self) -> Result<Vec<(&'a str, Self)>, SceneError> {
        let Kind::Map(entries) = &self.node.kind else {
            return Err(self.error(format!("{} was seen; give a mapping of names", self.seen())));
        };
        Ok(entries.iter().map(|(k, n)| (k.as_str(), self.child(k, n))).collect())
    }

    /// The value of this key; `None` if this is not a mapping or has no such key.
    pub fn entry(&self, key: &str) -> Option<Self> {
        let Kind::Map(entries) = &self.node.kind else { return None };
        entries.iter().find(|(k, _)| k == key).map(|(k, n)| self.child(k, n))
    }

    /// A mapping in which only these keys are allowed.
    pub fn map(&self, valid: &[&str]) -> Result<Map<'a, C>, SceneError> {
        let entries = self.entries().map_err(|_| {
            self.error(format!("{} was seen; give a mapping with {}", self.seen(), list(valid)))
        })?;
        for (key, at) in &entries {
            if !valid.contains(key) {
                return Err(at.error(unknown("key", key, valid)));
            }
        }
        Ok(Map { at: self.clone(), entries })
    }

    /// The items of a list.
    pub fn list(&self) -> Result<Vec<Self>, SceneError> {
        let Kind::List(items) = &self.node.kind else {
            return Err(self.error(format!("{} was seen; give a list", self.seen())));
        };
        Ok(items.iter().enumerate().map(|(i, n)| self.child(&i.to_string(), n)).collect())
    }

    /// An integer from `least` to `most`.
    pub fn whole(&self, least: u64, most: u64) -> Result<u64, SceneError> {
        let x = self.number("")?;
        if x.fract() == 0.0 && (least as f64..=most as f64).contains(&x) {
            return Ok(x as u64);
        }
        Err(self.error(format!("{x} was seen; give a whole number from {least} to {most}")))
    }

    /// True if the value is empty.
    pub fn is_nothing(&self) -> bool {
        matches!(&self.node.kind, Kind::Scalar(text) if matches!(text.as_str(), "" | "~" | "null"))
    }

    /// A string.
    pub fn text(&self) -> Result<&'a str, SceneError> {
        match &self.node.kind {
            Kind::Scalar(text) if !text.is_empty() => Ok(text),
            _ => Err(self.error(format!("{} was seen; give a text", self.seen()))),
        }
    }

    /// The path of a file. It is relative to `dir`. If `--set` gave it, it is relative to the
    /// current folder, or to `dir` if there is no such file.
    pub fn path(&self, dir: &Path) -> Result<PathBuf, SceneError> {
        let path = Path::new(self.text()?);
        let here = self.node.set_by.is_some() && crate::files::is_file(path);
        Ok(if here { path.to_owned() } else { dir.join(path) })
    }

    /// True if this is a number, or YAML's word for NaN or infinity.
    pub fn reads_as_number(&self) -> bool {
        matches!(&self.node.kind, Kind::Scalar(text) if text.parse::<f64>().is_ok() || is_yaml_nan_or_infinity(text))
    }

    /// A number for messages, with the expression from which it was computed, if any.
    fn shown(&self, x: f64) -> String {
        match &self.node.kind {
            Kind::Scalar(text) if text.parse::<f64>().is_err() => format!("`{text}` = {x}"),
            _ => x.to_string(),
        }
    }

    /// A finite number; `unit` is used in messages.
    pub fn number(&self, unit: &str) -> Result<f64, SceneError> {
        let give = if unit.is_empty() {
            "a plain number".into()
        } else {
            format!("a plain number in {unit}")
        };
        let Kind::Scalar(text) = &self.node.kind else {
            return Err(self.error(format!("{} was seen; give {give}", self.seen())));
        };
        let plain = text.parse::<f64>();
        if plain.is_err() && !(text.is_empty() || is_yaml_nan_or_infinity(text)) {
            match self.context.value(text, &self.key) {
                None => {}
                Some(Ok(x)) if x.is_finite() => return Ok(x),
                Some(Ok(x)) => {
                    return Err(self.error(format!("`{text}` = {x} was seen; it must be finite")));
                }
                Some(Err(why)) => {
                    return Err(self.error(format!("{why}; give {give}, or an expression")));
                }
            }
        }
        match plain {
            Ok(x) if x.is_finite() => Ok(x),
            Ok(_) => Err(self.error(format!("{text} was seen; give {give}, finite"))),
            // YAML's words for NaN and infinity
            Err(_) if is_yaml_nan_or_infinity(text) => {
                Err(self.error(format!("{text} was seen; give {give}, finite")))
            }
            Err(_) if text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) => {
                Err(self.error(format!(
                    "`{text}` was seen; give {give}, without a unit: scenes are in SI"
                )))
            }
            Err(_) => Err(self.error(format!("{} was seen; give {give}", self.seen()))),
        }
    }

    /// A number > 0.
    pub fn positive(&self, unit: &str) -> Result<f64, SceneError> {
        let x = self.number(unit)?;
        if x > 0.0 {
            Ok(x)
        } else {
            let rule = format!("{} was seen; it must be > 0 {unit}", self.shown(x));
            Err(self.error(rule.trim_end()))
        }
    }

    /// A number ≥ 0.
    pub fn non_negative(&self, unit: &str) -> Result<f64, SceneError> {
        let x = self.number(unit)?;
        if x >= 0.0 {
            Ok(x)
        } else {
            let rule = format!("{} was seen; it must be ≥ 0 {unit}", self.shown(x));
            Err(self.error(rule.trim_end()))
        }
    }

    /// A number ≥ 0, or `.inf`.
    pub fn up_to_infinity(&self, unit: &str) -> Result<f64, SceneError> {
        // words of YAML, and of JSON as written by Python
        let infinite = |text: &str| {
            let word = text.trim_start_matches('+').to_ascii_lowercase();
            matches!(word.as_str(), ".inf" | "inf" | "infinity")
        };
        match self.text() {
            Ok(text) if infinite(text) => Ok(f64::INFINITY),
            _ => self.non_negative(unit),
        }
    }

    /// A number > 0, or `.inf`.
    pub fn positive_up_to_infinity(&self, unit: &str) -> Result<f64, SceneError> {
        match self.up_to_infinity(unit)? {
            f64::INFINITY => Ok(f64::INFINITY),
            _ => self.positive(unit),
        }
    }

    /// A list of any number of finite numbers.
    pub fn numbers(&self, unit: &str) -> Result<Vec<f64>, SceneError> {
        self.list()?.iter().map(|item| item.number(unit)).collect()
    }

    /// A list of exactly `N` finite numbers.
    pub fn array<const N: usize>(&self, unit: &str) -> Result<[f64; N], SceneError> {
        let wanted = format!("give {N} numbers in {unit}, as in [{}]", vec!["1"; N].join(", "));
        if !self.is_list() {
            return Err(self.error(format!("{} was seen; {wanted}", self.seen())));
        }
        let values = self.numbers(unit)?;
        let n = values.len();
        values.try_into().map_err(|_| self.error(format!("{n} numbers were seen; {wanted}")))
    }

    /// `true` or `false`.
    pub fn boolean(&self) -> Result<bool, SceneError> {
        match self.text() {
            Ok("true") => Ok(true),
            Ok("false") => Ok(false),
            _ => Err(self.error(format!("{} was seen; give true or false", self.seen()))),
        }
    }

    /// One of several valid words.
    pub fn word<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, SceneError> {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let text = self
            .text()
            .map_err(|_| self.error(format!("{} was seen; give {}", self.seen(), list(&names))))?;
        match choices.iter().find(|(name, _)| *name == text) {
            Some((_, value)) => Ok(*value),
            None => Err(self.error(unknown("value", text, &names))),
        }
    }
}

/// A mapping whose keys were checked.
#[derive(Clone, Debug)]
pub struct Map<'a, C = ()> {
    at: At<'a, C>,
    entries: Vec<(&'a str, At<'a, C>)>,
}

impl<'a, C: Context> Map<'a, C> {
    /// The value of a key, if present.
    pub fn get(&self, key: &str) -> Option<&At<'a, C>> {
        self.entries.iter().find(|(k, _)| *k == key).map(|(_, at)| at)
    }

    /// The value of a required key.
    pub fn need(&self, key: &str) -> Result<&At<'a, C>, SceneError> {
        self.get(key).ok_or_else(|| self.at.error(format!("`{key}` is missing; it must be given")))
    }

    /// Keys that are present.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.entries.iter().map(|(k, _)| *k)
    }

    /// An error about the mapping as a whole.
    pub fn error(&self, message: impl Into<String>) -> SceneError {
        self.at.error(message)
    }
}

fn is_yaml_nan_or_infinity(text: &str) -> bool {
    let word = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    matches!(word.as_str(), ".nan" | ".inf")
}
