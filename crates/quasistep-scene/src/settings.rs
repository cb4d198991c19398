//! The numbers of a scene that can be changed by their dotted keys.

use crate::document::{At, Node, Numbers};
use crate::scene::{Scene, change};

/// A number of a scene file, or the number that holds without one.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Dotted key, as `--set` reads it.
    pub key: String,
    /// The value as it is written.
    pub value: String,
}

/// Sections whose numbers do not change what a step does, or change it in time.
const LEFT_OUT: [&str; 8] =
    ["format", "commands", "wrenches", "output", "sensors", "mpc", "plan", "facts"];

impl Scene {
    /// Plain numbers of the scene, with its changes: size of steps, friction and masses first, then the
    /// others in the order of the file. Sections of commands, sensors, plans and facts are left out.
    pub fn settings(&self) -> Vec<Setting> {
        let source = self.source();
        let mut found = Vec::new();
        if let Ok(mut node) = Node::parse(&source.text, "")
            && change(&mut node, &source.changes, &[]).is_ok()
        {
            let root = node.at("").within(Numbers::default());
            for (key, at) in root.entries().unwrap_or_default() {
                if !LEFT_OUT.contains(&key) {
                    collect(key, &at, &mut found);
                }
            }
        }
        let step = Setting { key: "step.size".into(), value: self.params.time_step.to_string() };
        let friction = Setting { key: "friction.default".into(), value: "0.5".into() };
        for usual in [step, friction] {
            let inside = format!("{}.", usual.key);
            let is_told = |s: &Setting| s.key == usual.key || s.key.starts_with(&inside);
            if !found.iter().any(is_told) {
                found.push(usual);
            }
        }
        let rank = |setting: &Setting| {
            let (section, last) = (setting.key.split('.').next(), setting.key.rsplit('.').next());
            match (section, last) {
                (Some("step"), Some("size")) => 0,
                (Some("friction"), _) => 1,
                (_, Some("mass")) => 2,
                (Some("step"), _) | (_, Some("friction")) => 3,
                _ => 4,
            }
        };
        found.sort_by_key(rank);
        found
    }
}

/// Adds the numbers at a key and below it.
fn collect(key: &str, at: &At<'_>, found: &mut Vec<Setting>) {
    let below: Vec<(String, At<'_>)> = if at.is_map() {
        let entries = at.entries().unwrap_or_default();
        entries.into_iter().map(|(name, child)| (name.to_owned(), child)).collect()
    } else if at.is_list() {
        at.list()
            .unwrap_or_default()
            .into_iter()
            .enumerate()
            .map(|(k, child)| (k.to_string(), child))
            .collect()
    } else {
        if let (true, Ok(text)) = (at.reads_as_number(), at.text()) {
            found.push(Setting { key: key.to_owned(), value: text.to_owned() });
        }
        return;
    };
    for (name, child) in below {
        collect(&format!("{key}.{name}"), &child, found);
    }
}
