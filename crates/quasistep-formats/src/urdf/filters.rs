//! Pairs of links without collisions: SRDF and Drake's filter groups.

use crate::error::SceneError;
use crate::files;
use crate::filters::{self, Group};
use crate::findings::{Findings, Kind};
use crate::spot::Spot;
use crate::xml::{Source, Xml};
use std::path::Path;

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

/// Pairs of links in `disable_collisions` of an SRDF file, and warnings. Pairs with links that the
/// robot does not have are left out.
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
