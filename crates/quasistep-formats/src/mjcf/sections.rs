//! Sections that refer to bodies by name (contact, tendon, equality, actuator), and resolution of
//! these names.
//!
//! An attached model brings the elements of its sections that refer to attached parts. Elements
//! that refer to a replicated part are repeated for each copy.

use super::tree::Element;
use super::world::{Scope, World};
use crate::error::{SceneError, unknown};
use std::collections::BTreeMap;

/// Kind of object to which a name refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Body,
    Geom,
    Joint,
    Site,
    Tendon,
}

/// Attributes whose values are names, and the kind of object named.
const REFERENCES: [(&str, What); 20] = [
    ("body", What::Body),
    ("body1", What::Body),
    ("body2", What::Body),
    ("geom", What::Geom),
    ("geom1", What::Geom),
    ("geom2", What::Geom),
    ("joint", What::Joint),
    ("joint1", What::Joint),
    ("joint2", What::Joint),
    ("jointinparent", What::Joint),
    ("site", What::Site),
    ("site1", What::Site),
    ("site2", What::Site),
    ("sidesite", What::Site),
    ("cranksite", What::Site),
    ("slidersite", What::Site),
    ("refsite", What::Site),
    ("tendon", What::Tendon),
    ("tendon1", What::Tendon),
    ("tendon2", What::Tendon),
];

/// Name lookup of bodies and their parts, and of tendons.
pub(super) struct Names<'w, 'a> {
    pub world: &'w World<'a>,
    /// Tendon indices by name.
    pub tendons: BTreeMap<String, usize>,
}

impl<'w, 'a> Names<'w, 'a> {
    fn has(&self, what: What, name: &str) -> bool {
        match what {
            What::Body => self.world.body_of.contains_key(name),
            What::Geom => self.world.geom_of.contains_key(name),
            What::Joint => self.world.joint_of.contains_key(name),
            What::Site => self.world.sites.contains_key(name),
            What::Tendon => self.tendons.contains_key(name),
        }
    }

    /// Full name of an object in a scope: that of the scope's own copy, or else the only one.
    pub fn resolve(&self, what: What, scope: &Scope, name: &str) -> Option<String> {
        let world_body = what == What::Body && name == "world";
        [scope.name(name), format!("{}{name}", scope.prefix)]
            .into_iter()
            .chain(world_body.then(|| String::from("world")))
            .find(|full| self.has(what, full))
    }

    /// Full name of the object named by an attribute.
    pub fn find(
        &self,
        at: &Element,
        attribute: &str,
        what: What,
        scope: &Scope,
    ) -> Result<String, SceneError> {
        let name = at.text(attribute)?;
        self.resolve(what, scope, name)
            .ok_or_else(|| at.error(self.stranger(attribute, what, name)))
    }

    fn stranger(&self, attribute: &str, what: What, name: &str) -> String {
        fn names<T>(map: &BTreeMap<String, T>) -> Vec<&str> {
            map.keys().map(String::as_str).collect()
        }
        let (word, names) = match what {
            What::Body => ("body", names(&self.world.body_of)),
            What::Geom => ("geom", names(&self.world.geom_of)),
            What::Joint => ("joint", names(&self.world.joint_of)),
            What::Site => ("site", names(&self.world.sites)),
            What::Tendon => ("tendon", names(&self.tendons)),
        };
        format!("{attribute}: {}", unknown(word, name, &names))
    }

    /// Elements of a section in all files, each with the scopes in which it is valid.
    pub fn elements(
        &self,
        section: &'static str,
    ) -> Result<Vec<(&'a Element, &'w Scope)>, SceneError> {
        let mut found = Vec::new();
        for scope in &self.world.scopes {
            for element in self.world.specs[scope.spec].root.in_sections(section) {
                if self.holds(element, scope)? {
                    found.push((element, scope));
                }
            }
        }
        Ok(found)
    }

    fn holds(&self, element: &Element, scope: &Scope) -> Result<bool, SceneError> {
        let mut names = Vec::new();
        references(element, &mut names);
        let known = |scope: &Scope| {
            names.iter().all(|(_, what, name)| self.resolve(*what, scope, name).is_some())
        };
        if !scope.suffix.is_empty() {
            // in a replica: valid if it names a part of this copy
            return Ok(known(scope)
                && names.iter().any(|(_, what, name)| self.has(*what, &scope.name(name))));
        }
        if known(scope) {
            return Ok(true);
        }
        let is_copy = |other: &&Scope| {
            other.spec == scope.spec && other.prefix == scope.prefix && !other.suffix.is_empty()
        };
        if !scope.prefix.is_empty() || self.world.scopes.iter().filter(is_copy).any(known) {
            return Ok(false);
        }
        let lost = names.iter().find(|(_, what, name)| self.resolve(*what, scope, name).is_none());
        match lost {
            Some((attribute, what, name)) => {
                Err(element.error(self.stranger(attribute, *what, name)))
            }
            None => Ok(true),
        }
    }
}

/// Collects the names to which an element and its children refer.
fn references<'e>(element: &'e Element, found: &mut Vec<(&'static str, What, &'e str)>) {
    for (attribute, what) in REFERENCES {
        if let Some(name) =
            element.attribute(attribute).map(str::trim).filter(|name| !name.is_empty())
        {
            found.push((attribute, what, name));
        }
    }
    element.children.iter().for_each(|child| references(child, found));
}
