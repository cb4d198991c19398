//! State of the writer: the scene, and what cannot be represented.

use crate::scene::Scene;
use quasistep::System;
use quasistep_model::{JointKind, WORLD};
use std::collections::BTreeMap;

pub(super) struct Writer<'s> {
    pub scene: &'s Scene,
    pub system: &'s System,
    /// Names of things that cannot be represented, by message.
    lost: BTreeMap<&'static str, Vec<String>>,
}

impl<'s> Writer<'s> {
    pub fn new(scene: &'s Scene) -> Self {
        Self { scene, system: &scene.system, lost: BTreeMap::new() }
    }

    pub fn lose(&mut self, what: &'static str, name: &str) {
        self.lost.entry(what).or_default().push(name.to_owned());
    }

    pub fn lost(&self) -> Vec<String> {
        let words = |(what, names): (&&str, &Vec<String>)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("{}: {what}", quasistep_formats::list_some(&names))
        };
        self.lost.iter().map(words).collect()
    }

    /// True if a joint between the world and this body can move.
    pub fn moves(&self, index: usize) -> bool {
        let model = self.system.model();
        let mut at = index;
        while at != WORLD {
            if model.body(at).joint != JointKind::Fixed {
                return true;
            }
            at = model.body(at).parent;
        }
        false
    }
}
