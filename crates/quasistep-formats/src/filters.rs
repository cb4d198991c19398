//! Drake's collision filter groups, by whatever file they are told.

use crate::error::{SceneError, unknown};
use crate::spot::Spot;
use std::collections::{BTreeMap, BTreeSet};

/// Pairs that a file may tell, some 100 MB: of 2000 links all.
pub(crate) const MOST_PAIRS: usize = 2_000_000;

/// Links that never touch those of the groups that it ignores, itself included where it is named.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub name: String,
    pub spot: Spot,
    /// Indices of links.
    pub members: Vec<usize>,
    /// Groups whose members are members too.
    pub member_groups: Vec<(String, Spot)>,
    pub ignored: Vec<(String, Spot)>,
}

/// Pairs of links that never touch.
///
/// # Errors
///
/// A group that is not there.
pub(crate) fn apart(groups: &[Group]) -> Result<BTreeSet<[usize; 2]>, SceneError> {
    let mut members: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for group in groups {
        members.entry(&group.name).or_default().extend(&group.members);
    }
    let names: Vec<&str> = members.keys().copied().collect();
    for (name, spot) in groups.iter().flat_map(|g| g.member_groups.iter().chain(&g.ignored)) {
        if !members.contains_key(name.as_str()) {
            return Err(spot.error(unknown("collision filter group", name, &names)));
        }
    }
    // a group may hold the members of others, and those of theirs: as many rounds as groups reach all
    for _ in 0..groups.len() {
        let mut changed = false;
        for group in groups {
            for (member, _) in &group.member_groups {
                let more = members[member.as_str()].clone();
                let own = members.entry(&group.name).or_default();
                let before = own.len();
                own.extend(more);
                changed |= own.len() > before;
            }
        }
        if !changed {
            break;
        }
    }
    let mut pairs = BTreeSet::new();
    for group in groups {
        for (other, _) in &group.ignored {
            for &a in &members[group.name.as_str()] {
                for &b in members[other.as_str()].iter().filter(|&&b| b != a) {
                    pairs.insert([a.min(b), a.max(b)]);
                }
                if pairs.len() > MOST_PAIRS {
                    return Err(group.spot.error(format!("more than {MOST_PAIRS} pairs of links follow; leave out links without shapes")));
                }
            }
        }
    }
    Ok(pairs)
}
