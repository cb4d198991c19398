//! Pairs of links that files say never touch: SRDF and Drake's filter groups.

use crate::error::{SceneError, unknown};
use crate::files;
use crate::findings::{Findings, Kind};
use crate::xml::{Source, Xml};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type FindLink<'l> = &'l dyn Fn(&Xml<'_, '_>) -> Result<usize, SceneError>;

/// Pairs of links in Drake's `collision_filter_group`s: members of a group never touch those of the groups
/// that it ignores, itself included where it is named.
pub(super) fn drake_groups(
    root: &Xml<'_, '_>,
    find_link: FindLink<'_>,
) -> Result<Vec<[usize; 2]>, SceneError> {
    let groups_at: Vec<Xml<'_, '_>> = root.children("collision_filter_group").collect();
    let mut members: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for group in &groups_at {
        let own = members.entry(group.text("name")?).or_default();
        for member in group.children("member") {
            own.insert(find_link(&member)?);
        }
    }
    let names: Vec<&str> = members.keys().copied().collect();
    let find_group = |at: &Xml<'_, '_>| -> Result<String, SceneError> {
        let name = at.text("name")?;
        if members.contains_key(name) {
            Ok(name.to_owned())
        } else {
            Err(at.error(unknown("collision filter group", name, &names)))
        }
    };
    // a group may hold the members of others, and those of theirs: as many rounds as groups reach all
    let mut nested: Vec<(&str, String)> = Vec::new();
    for group in &groups_at {
        for member in group.children("member_group") {
            nested.push((group.text("name")?, find_group(&member)?));
        }
    }
    let mut all = members.clone();
    for _ in 0..groups_at.len() {
        let mut changed = false;
        for (group, member) in &nested {
            let more = all[member.as_str()].clone();
            let own = all.entry(group).or_default();
            let before = own.len();
            own.extend(more);
            changed |= own.len() > before;
        }
        if !changed {
            break;
        }
    }
    let mut pairs = BTreeSet::new();
    for group in &groups_at {
        for ignored in group.children("ignored_collision_filter_group") {
            let other = find_group(&ignored)?;
            for &a in &all[group.text("name")?] {
                for &b in &all[other.as_str()] {
                    if a != b {
                        pairs.insert([a.min(b), a.max(b)]);
                    }
                }
            }
        }
    }
    Ok(pairs.into_iter().collect())
}

/// Pairs of links under `disable_collisions` of an SRDF file, and warnings: pairs of links that the robot
/// does not have are left out.
pub fn read_srdf(
    path: &Path,
    link_of: &dyn Fn(&str) -> Option<usize>,
) -> Result<(Vec<[usize; 2]>, Vec<String>), SceneError> {
    let file = path.display().to_string();
    let text = files::read_to_string(path)
        .map_err(|e| SceneError::new(&file, None, "", format!("not readable: {e}")))?;
    let mut source = Source::new(&text, &file);
    source.declare_prefixes();
    let document = source.parse()?;
    let root = Xml::new(document.root_element(), &source);
    if root.tag() != "robot" {
        return Err(
            root.error(format!("<{}> was seen; an SRDF file has <robot> at its root", root.tag()))
        );
    }
    let mut findings = Findings::new(&file);
    let mut pairs = Vec::new();
    for at in root.children("disable_collisions") {
        let names = [at.text("link1")?, at.text("link2")?];
        match names.map(link_of) {
            [Some(a), Some(b)] => pairs.push([a, b]),
            [None, _] => findings.group(UNKNOWN_LINK, at.line(), names[0]),
            [_, None] => findings.group(UNKNOWN_LINK, at.line(), names[1]),
        }
    }
    Ok((pairs, findings.into_warnings()))
}

const UNKNOWN_LINK: Kind = ("link", "in disable_collisions and not in the robot: without effect");
