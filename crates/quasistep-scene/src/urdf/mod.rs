//! URDF robots: links, joints, shapes; everything is SI and every complaint names file and line.

mod joint;
mod link;
mod xml;

pub(crate) use joint::{Joint, JointType};
pub(crate) use link::{Geometry, Link};

use crate::document::unknown;
use crate::error::SceneError;
use crate::files;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use xml::Xml;

/// A robot as its file says.
#[derive(Clone, Debug)]
pub(crate) struct Urdf {
    pub links: Vec<Link>,
    /// In document order.
    pub joints: Vec<Joint>,
    /// Index of the link that is no joint's child.
    pub root: usize,
    pub warnings: Vec<String>,
}

/// Where files named in a robot are found.
pub(crate) struct Places<'a> {
    /// Folder of the robot's file.
    pub dir: &'a Path,
    /// Folders of `package://name`.
    pub packages: &'a BTreeMap<String, PathBuf>,
}

/// Reads a robot from a file.
pub(crate) fn read(path: &Path, packages: &BTreeMap<String, PathBuf>) -> Result<Urdf, SceneError> {
    let name = path.display().to_string();
    let text = files::read_to_string(path)
        .map_err(|e| SceneError::new(&name, None, "", format!("not readable: {e}")))?;
    let dir = path.parent().unwrap_or(Path::new("."));
    parse(&text, &name, &Places { dir, packages })
}

/// Reads a robot from text; `file` is named in complaints.
pub(crate) fn parse(text: &str, file: &str, places: &Places<'_>) -> Result<Urdf, SceneError> {
    let is_xacro = Path::new(file).extension().is_some_and(|e| e.eq_ignore_ascii_case("xacro"));
    if is_xacro || text.contains("<xacro:") {
        let line = text.lines().position(|l| l.contains("<xacro:")).map_or(1, |k| k + 1);
        return Err(SceneError::new(
            file,
            Some(line),
            "",
            "xacro was seen; expand it first with `xacro file.xacro > file.urdf`",
        ));
    }
    // many files use Drake's tags without declaring their prefix
    let declared: String;
    let text = if text.contains("<drake:") && !text.contains("xmlns:drake") {
        declared = text.replacen("<robot", "<robot xmlns:drake=\"http://drake.mit.edu\"", 1);
        &declared
    } else {
        text
    };
    let document = roxmltree::Document::parse(text).map_err(|e| {
        SceneError::new(file, Some(e.pos().row as usize), "", format!("not valid XML: {e}"))
    })?;
    let root = Xml::new(document.root_element(), file);
    if root.tag() != "robot" {
        return Err(
            root.error(format!("<{}> was seen; a URDF file has <robot> at its root", root.tag()))
        );
    }
    let mut materials = BTreeMap::new();
    for material in root.children("material") {
        if let Some(color) = link::color(&material)? {
            materials.insert(material.text("name")?.to_owned(), color);
        }
    }
    let mut links: Vec<Link> = Vec::new();
    for at in root.children("link") {
        let link = link::read(&at, places, &materials)?;
        if links.iter().any(|l| l.name == link.name) {
            return Err(at.error("a second link of this name was seen; names must differ"));
        }
        links.push(link);
    }
    let mut joints: Vec<Joint> = Vec::new();
    for at in root.children("joint") {
        let joint = joint::read(&at, &links)?;
        if joints.iter().any(|j| j.name == joint.name) {
            return Err(at.error("a second joint of this name was seen; names must differ"));
        }
        if let Some(other) = joints.iter().find(|j| j.child == joint.child) {
            return Err(at.error(format!(
                "link `{}` already hangs on joint `{}`: a loop; a link has one parent",
                links[joint.child].name, other.name
            )));
        }
        joints.push(joint);
    }
    check_mimics(&joints, file)?;
    let root_link = find_root(&root, &links, &joints)?;
    let mut warnings: Vec<String> = links
        .iter()
        .filter(|l| l.inertial.is_none() && !l.collisions.is_empty())
        .map(|l| {
            format!(
                "{file}:{}: link `{}` has shapes but no <inertial>; it is taken as massless",
                l.line, l.name
            )
        })
        .collect();
    // one line for all joints: damping belongs to the drives of the scene
    if let Some(joint) = joints.iter().find(|j| j.damped) {
        warnings.push(format!(
            "{file}:{}: <dynamics> of joint `{}` (and others) is not used; give `damping` in the scene",
            joint.line, joint.name
        ));
    }
    Ok(Urdf { links, joints, root: root_link, warnings })
}

/// Every mimic joint names a joint that exists and is not itself led by it.
fn check_mimics(joints: &[Joint], file: &str) -> Result<(), SceneError> {
    let names: Vec<&str> = joints.iter().map(|j| j.name.as_str()).collect();
    for joint in joints {
        let Some(own) = &joint.mimic else { continue };
        let key = format!("joint `{}` mimic", joint.name);
        let fail = |message: String| Err(SceneError::new(file, Some(own.line), &key, message));
        let mut at = joint;
        // as many leaders as joints: a loop
        for _ in 0..=joints.len() {
            let Some(mimic) = &at.mimic else { break };
            let Some(leader) = joints.iter().find(|j| j.name == mimic.joint) else {
                return fail(unknown("joint", &mimic.joint, &names));
            };
            if leader.name == joint.name {
                return fail(format!("`{}` leads back to itself; one joint must lead", joint.name));
            }
            at = leader;
        }
    }
    Ok(())
}

/// The one link without a parent, from which every other can be reached.
fn find_root(at: &Xml<'_, '_>, links: &[Link], joints: &[Joint]) -> Result<usize, SceneError> {
    let roots: Vec<usize> =
        (0..links.len()).filter(|&l| joints.iter().all(|j| j.child != l)).collect();
    match roots.as_slice() {
        [] if links.is_empty() => Err(at.error("no <link> was seen; a robot has at least one")),
        [] => {
            Err(at.error("every link has a parent: the joints form a loop; open it at one joint"))
        }
        [root] => {
            let mut reached = vec![*root];
            let mut next = 0;
            while next < reached.len() {
                let parent = reached[next];
                reached.extend(joints.iter().filter(|j| j.parent == parent).map(|j| j.child));
                next += 1;
            }
            match (0..links.len()).find(|l| !reached.contains(l)) {
                None => Ok(*root),
                Some(lost) => Err(at.error(format!(
                    "link `{}` is part of a loop of joints; open it at one joint",
                    links[lost].name
                ))),
            }
        }
        [first, second, ..] => Err(at.error(format!(
            "links `{}` and `{}` have no parent; a robot has one root: connect them by a joint",
            links[*first].name, links[*second].name
        ))),
    }
}
