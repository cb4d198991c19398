//! Drake's collision filter groups, independent of the file format.

use crate::error::{SceneError, unknown};
use crate::spot::Spot;
use std::collections::{BTreeMap, BTreeSet};

/// Most excluded pairs (about 100 MB): enough for all pairs of 2000 links.
pub(crate) const MOST_PAIRS: usize = 2_000_000;

/// A filter group. Its members do not collide with members of the groups that it ignores, which may
/// include itself.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub name: String,
    pub spot: Spot,
    /// Indices of member links.
    pub members: Vec<usize>,
    /// Names of groups whose members are members of this group too.
    pub member_groups: Vec<(String, Spot)>,
    pub ignored: Vec<(String, Spot)>,
}

/// Pairs of links without collisions.
///
/// # Errors
///
/// The name of an undefined group.
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
    // groups may be nested: repeat until nothing changes
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
