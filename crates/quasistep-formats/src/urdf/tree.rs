//! Tree structure of links, and checks of mimic joints.

use crate::description::{Joint, Link, Tree};
use crate::error::{SceneError, unknown};
use crate::findings::Findings;
use crate::xml::Xml;
use std::collections::BTreeMap;

/// Orders links from the root outwards. Every link except one root must be the child of one joint.
pub(super) fn of(at: &Xml<'_, '_>, links: &[Link], joints: &[Joint]) -> Result<Tree, SceneError> {
    let mut is_child = vec![false; links.len()];
    for joint in joints {
        // a second parent was already refused by the joint reader
        is_child[joint.child] = true;
    }
    let mut roots = (0..links.len()).filter(|&l| !is_child[l]);
    match (roots.next(), roots.next()) {
        (None, _) if links.is_empty() => {
            return Err(at.error("no <link> was seen; a robot has at least one"));
        }
        (None, _) => {
            return Err(
                at.error("every link has a parent: the joints form a loop; open it at one joint")
            );
        }
        (Some(_), None) => {}
        (Some(first), Some(second)) => {
            return Err(at.error(format!(
                "links `{}` and `{}` have no parent; a robot has one root: connect them by a joint",
                links[first].name, links[second].name
            )));
        }
    }
    Tree::new(links.len(), joints).map_err(|lost| {
        at.error(format!(
            "link `{}` is part of a loop of joints; open it at one joint",
            links[lost].name
        ))
    })
}

/// Checks that every mimic joint names an existing joint and that mimic relations have no cycle.
/// Limits of a follower that would leave its leader no range are dropped.
pub(crate) fn check_mimics(
    joints: &mut [Joint],
    findings: &mut Findings<'_>,
) -> Result<(), SceneError> {
    let index: BTreeMap<&str, usize> =
        joints.iter().enumerate().map(|(k, j)| (j.name.as_str(), k)).collect();
    let mut dropped = Vec::new();
    for (k, joint) in joints.iter().enumerate() {
        let Some(own) = &joint.mimic else { continue };
        let key = format!("joint `{}` mimic", joint.name);
        let fail =
            |message: String| Err(SceneError::new(findings.file, Some(own.line), &key, message));
        // invariant: q of the first joint = scale × q of joint `at` + offset
        let (mut at, mut scale, mut offset) = (k, 1.0, 0.0);
        // a cycle that this joint only leads to is reported by its members
        for _ in 0..joints.len() {
            let Some(mimic) = &joints[at].mimic else { break };
            let Some(&leader) = index.get(mimic.joint.as_str()) else {
                let names: Vec<&str> = joints.iter().map(|j| j.name.as_str()).collect();
                return fail(unknown("joint", &mimic.joint, &names));
            };
            if leader == k {
                return fail(format!("`{}` leads back to itself; one joint must lead", joint.name));
            }
            (scale, offset) = (scale * mimic.multiplier, scale * mimic.offset + offset);
            at = leader;
        }
        let (Some([lower, upper]), Some(leader)) = (joint.limits, joints[at].limits) else {
            continue;
        };
        let ends = leader.map(|q| scale * q + offset);
        let (least, most) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        if least.max(lower) >= most.min(upper) && most > least {
            dropped.push(k);
        }
    }
    for k in dropped {
        let joint = &mut joints[k];
        joint.limits = None;
        if let Some(mimic) = &joint.mimic {
            let text = format!(
                "joint `{}`: its limits leave its leader `{}` no range: dropped, the leader's hold",
                joint.name, mimic.joint
            );
            findings.warn(mimic.line, text);
        }
    }
    Ok(())
}
