//! Pairs of links without collisions: Drake's filter groups.

use crate::error::SceneError;
use crate::filters::{self, Group};
use crate::spot::Spot;
use crate::xml::Xml;

type FindLink<'l> = &'l dyn Fn(&Xml<'_, '_>) -> Result<usize, SceneError>;

/// Pairs of links excluded by Drake's `collision_filter_group`s. Members of a group do not collide
/// with members of the groups that it ignores, which may include itself.
pub(super) fn drake_groups(
    root: &Xml<'_, '_>,
    find_link: FindLink<'_>,
) -> Result<Vec<[usize; 2]>, SceneError> {
    let mut groups = Vec::new();
    for at in root.children("collision_filter_group") {
        if at.attribute("ignore") == Some("true") {
            continue;
        }
        let named = |tag: &str| -> Result<Vec<(String, Spot)>, SceneError> {
            at.children(tag).map(|at| Ok((at.text("name")?.to_owned(), at.spot()))).collect()
        };
        groups.push(Group {
            name: at.text("name")?.to_owned(),
            spot: at.spot(),
            members: at.children("member").map(|at| find_link(&at)).collect::<Result<_, _>>()?,
            member_groups: named("member_group")?,
            ignored: named("ignored_collision_filter_group")?,
        });
    }
    Ok(filters::apart(&groups)?.into_iter().collect())
}
