//! Attributes of an element with the defaults of its class.

use super::tree::Element;
use crate::error::{SceneError, list};
use std::rc::Rc;

/// An element with defaults: attributes that it does not have are taken from its class, innermost
/// first.
#[derive(Clone, Copy)]
pub(super) struct Read<'a> {
    /// Default layers, outermost class first.
    pub defaults: &'a [Rc<Element>],
    pub own: &'a Element,
}

impl<'a> Read<'a> {
    /// The element without defaults.
    pub fn plain(own: &'a Element) -> Self {
        Self { defaults: &[], own }
    }

    pub fn error(&self, message: impl Into<String>) -> SceneError {
        self.own.error(message)
    }

    /// The defaults, outermost first, then the element; later layers override earlier ones.
    pub fn layers(&self) -> impl DoubleEndedIterator<Item = &'a Element> {
        self.defaults.iter().map(|element| &**element).chain([self.own])
    }

    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        self.layers().rev().find_map(|layer| layer.attribute(name))
    }

    /// Up to `most` finite numbers in an attribute of one layer.
    fn numbers_of(
        layer: &Element,
        name: &str,
        most: usize,
    ) -> Result<Option<Vec<f64>>, SceneError> {
        let Some(text) = layer.attribute(name) else { return Ok(None) };
        let values = numbers(text, most).map_err(|why| layer.error(format!("{name}: {why}")))?;
        Ok(Some(values))
    }

    /// Exactly `N` finite numbers.
    pub fn numbers<const N: usize>(&self, name: &str) -> Result<Option<[f64; N]>, SceneError> {
        let Some(layer) = self.layers().rev().find(|layer| layer.attribute(name).is_some()) else {
            return Ok(None);
        };
        let values = Self::numbers_of(layer, name, N)?.unwrap_or_default();
        let n = values.len();
        match <[f64; N]>::try_from(values) {
            Ok(values) => Ok(Some(values)),
            Err(_) if n == 0 => Ok(None),
            Err(_) => Err(layer.error(format!("{name} has {n} numbers; it must have {N}"))),
        }
    }

    pub fn number(&self, name: &str) -> Result<Option<f64>, SceneError> {
        Ok(self.numbers::<1>(name)?.map(|[x]| x))
    }

    /// Up to `N` finite numbers. A layer with fewer numbers overrides the first ones only.
    pub fn partly<const N: usize>(
        &self,
        name: &str,
        mut initial: [f64; N],
    ) -> Result<[f64; N], SceneError> {
        for layer in self.layers() {
            for (to, from) in
                initial.iter_mut().zip(Self::numbers_of(layer, name, N)?.unwrap_or_default())
            {
                *to = from;
            }
        }
        Ok(initial)
    }

    /// All finite numbers of an attribute.
    pub fn all_numbers(&self, name: &str) -> Result<Option<Vec<f64>>, SceneError> {
        let layer = self.layers().rev().find(|layer| layer.attribute(name).is_some());
        layer.map_or(Ok(None), |layer| Self::numbers_of(layer, name, usize::MAX))
    }

    /// A whole number.
    pub fn whole(&self, name: &str) -> Result<Option<i64>, SceneError> {
        let Some(text) = self.attribute(name).map(str::trim).filter(|t| !t.is_empty()) else {
            return Ok(None);
        };
        match text.parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) => {
                Err(self.error(format!("{name}=\"{text}\" was seen; it must be a whole number")))
            }
        }
    }

    /// One of several valid words.
    pub fn word<T: Copy>(&self, name: &str, valid: &[(&str, T)]) -> Result<Option<T>, SceneError> {
        let Some(text) = self.attribute(name).map(str::trim) else { return Ok(None) };
        if let Some((_, value)) = valid.iter().find(|(word, _)| *word == text) {
            return Ok(Some(*value));
        }
        let words: Vec<&str> = valid.iter().map(|(word, _)| *word).collect();
        let seen = quasistep_mesh::shown(text.as_bytes());
        Err(self.error(format!("{name}: {seen} was seen; valid are {}", list(&words))))
    }

    pub fn truth(&self, name: &str) -> Result<Option<bool>, SceneError> {
        self.word(name, &[("true", true), ("false", false)])
    }

    /// Range of a limited quantity; `None` if it is not limited.
    pub fn range(
        &self,
        name: &str,
        limited: &str,
        automatic: bool,
    ) -> Result<Option<[f64; 2]>, SceneError> {
        let range = self.numbers::<2>(name)?.unwrap_or_default();
        let holds = match self
            .word(limited, &[("true", Some(true)), ("false", Some(false)), ("auto", None)])?
        {
            Some(Some(holds)) => holds,
            _ if !automatic && range != [0.0; 2] => {
                return Err(self.error(format!(
                    "{name} was seen without {limited}, and autolimits is false; give {limited}=\"true\" or \"false\""
                )));
            }
            _ => range[0] < range[1],
        };
        Ok(holds.then_some(range))
    }
}

/// Finite numbers separated by blanks.
pub(super) fn numbers(text: &str, most: usize) -> Result<Vec<f64>, String> {
    let mut values = Vec::new();
    for word in text.split_whitespace() {
        match word.parse::<f64>() {
            Ok(x) if x.is_finite() => values.push(x),
            _ => {
                return Err(format!(
                    "{} was seen; it must be a finite number",
                    quasistep_mesh::shown(word.as_bytes())
                ));
            }
        }
        if values.len() > most {
            return Err(format!("more than {most} numbers were seen"));
        }
    }
    Ok(values)
}
