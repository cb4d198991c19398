//! `joints:` of a model: joint settings by name pattern.

use crate::document::At;
use crate::joints::{KEYS, Settings};
use crate::names::fits;
use quasistep_formats::{SceneError, unknown};
use std::collections::{BTreeMap, BTreeSet};

/// `joints:` of a model: settings by pattern; later ones override earlier ones.
pub(crate) struct Rules<'a> {
    all: Vec<(&'a str, Settings, At<'a>)>,
    /// Index in `all` of each pattern without `*`. A map, because a robot may have thousands of
    /// joints.
    names: BTreeMap<&'a str, usize>,
    /// Indices in `all` of the patterns with `*`, ascending.
    patterns: Vec<usize>,
}

impl<'a> Rules<'a> {
    pub fn read(at: Option<&At<'a>>) -> Result<Self, SceneError> {
        let mut rules = Self { all: Vec::new(), names: BTreeMap::new(), patterns: Vec::new() };
        let entries = at.map_or(Ok(Vec::new()), At::entries)?;
        for (k, (pattern, at)) in entries.into_iter().enumerate() {
            if pattern.contains('*') {
                rules.patterns.push(k);
            } else {
                rules.names.insert(pattern, k);
            }
            rules.all.push((pattern, Settings::read(&at.map(&KEYS)?)?, at));
        }
        Ok(rules)
    }

    /// Indices of the rules that match a joint, ascending.
    fn fitting(&self, joint: &str) -> Vec<usize> {
        let fits = |k: &&usize| fits(self.all[**k].0, joint);
        let mut all: Vec<usize> = self.patterns.iter().filter(fits).copied().collect();
        all.extend(self.names.get(joint));
        all.sort_unstable();
        all
    }

    /// Settings of the joint with this name within its model. Patterns with `*` match only joints
    /// with a dof of their own, so that `*` does not drive fixed and mimic joints.
    pub fn of(&self, joint: &str, own_dof: bool) -> Settings {
        self.fitting(joint)
            .into_iter()
            .map(|k| &self.all[k])
            .filter(|(pattern, ..)| own_dof || !pattern.contains('*'))
            .fold(Settings::default(), |sum, (_, settings, _)| sum.then(settings))
    }

    /// Place of the settings of a joint, for errors.
    pub fn place(&self, joint: &str) -> Option<&At<'a>> {
        self.fitting(joint).last().map(|&k| &self.all[k].2)
    }

    /// Error if a pattern matches no joint.
    pub fn all_used(&self, model: &str, joints: &[String]) -> Result<(), SceneError> {
        if self.all.is_empty() {
            return Ok(());
        }
        let prefix = format!("{model}.");
        // the root joint of a robot or single body has the model's name
        let own: Vec<&str> = joints
            .iter()
            .filter_map(|j| if j == model { Some(model) } else { j.strip_prefix(&prefix) })
            .collect();
        let names: BTreeSet<&str> = own.iter().copied().collect();
        for (pattern, _, at) in &self.all {
            let is_used = names.contains(pattern)
                || pattern.contains('*') && own.iter().any(|j| fits(pattern, j));
            if !is_used {
                return Err(at.error(unknown("joint", pattern, &own)));
            }
        }
        Ok(())
    }
}
