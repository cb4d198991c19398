//! URDF robots: links, joints and shapes, in SI units. Every error names file and line.
//!
//! Public files often have flaws. Flaws that do not matter (a missing picture, a shape of size
//! zero, an element of another program) become warnings. Others (a broken tree, a missing collision
//! mesh, an invalid number) are errors.

mod filters;
mod joint;
mod link;
mod srdf;
mod tree;

pub use srdf::{Posture, Srdf};
pub(crate) use tree::check_mimics;

use crate::description::{Description, Joint, Link};
use crate::error::{SceneError, unknown};
use crate::files;
use crate::findings::{DYNAMICS, Findings, NO_RANGE};
use crate::packages::Places;
use crate::xml::{Source, Xml};
use crate::{Options, xacro};
use link::{Materials, Reader};
use std::collections::BTreeMap;
use std::path::Path;

/// Child elements of a robot that are read.
const READ: [&str; 4] = ["link", "joint", "material", "collision_filter_group"];
/// Name of the world, which some files use as an undeclared link.
const WORLD_LINK: &str = "world";

/// Reads a robot from a file.
pub(crate) fn read(path: &Path, options: &Options) -> Result<Description, SceneError> {
    let name = path.display().to_string();
    let text = files::read_to_string(path)
        .map_err(|e| SceneError::new(&name, None, "", format!("not readable: {e}")))?;
    let mut source = Source::new(&text, &name);
    let expanded = format!("{name} (expanded)");
    let dir = path.parent().unwrap_or(Path::new("."));
    let places = Places { dir, packages: &options.packages };
    if xacro::is_xacro(&source.text, path) {
        source = Source::new(&xacro::expand(path, &places)?, &expanded);
    }
    source.declare_prefixes();
    parse(&source, &places, options)
}

fn parse(
    source: &Source<'_>,
    places: &Places<'_>,
    options: &Options,
) -> Result<Description, SceneError> {
    let document = source.parse()?;
    let root = Xml::new(document.root_element(), source);
    if root.tag() != "robot" {
        return Err(
            root.error(format!("<{}> was seen; a URDF file has <robot> at its root", root.tag()))
        );
    }
    let mut reader = Reader {
        places: *places,
        options,
        materials: Materials::new(),
        findings: Findings::new(source.file),
    };
    for material in root.children("material") {
        if let Some(color) = link::color(&material)? {
            reader.materials.insert(material.text("name")?.to_owned(), color);
        }
    }
    let mut links: Vec<Link> = Vec::new();
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    for at in root.children("link") {
        let link = link::read(&at, &mut reader)?;
        if index.insert(link.name.clone(), links.len()).is_some() {
            return Err(at.error("a second link of this name was seen; names must differ"));
        }
        links.push(link);
    }
    let joints_at: Vec<Xml<'_, '_>> = root.children("joint").collect();
    let hangs_on_world = |joint: &Xml<'_, '_>| {
        joint.child("parent").is_some_and(|p| p.attribute("link") == Some(WORLD_LINK))
    };
    if let Some(joint) = joints_at.iter().find(|joint| hangs_on_world(joint))
        && !index.contains_key(WORLD_LINK)
    {
        let text =
            format!("no link `{WORLD_LINK}`, which is the parent of a joint: added as a frame");
        reader.findings.warn(joint.line(), text);
        index.insert(WORLD_LINK.to_owned(), links.len());
        links.push(Link { name: WORLD_LINK.to_owned(), ..Link::default() });
    }
    let find_link = |at: &Xml<'_, '_>| -> Result<usize, SceneError> {
        let name = at.text("link")?;
        index.get(name).copied().ok_or_else(|| {
            let names: Vec<&str> = links.iter().map(|l| l.name.as_str()).collect();
            at.error(unknown("link", name, &names))
        })
    };
    let mut joints: Vec<Joint> = Vec::new();
    let mut joint_names: BTreeMap<String, usize> = BTreeMap::new();
    let mut joint_of: BTreeMap<usize, usize> = BTreeMap::new();
    for at in &joints_at {
        let joint = joint::read(at, &find_link, &mut reader)?;
        if joint_names.insert(joint.name.clone(), joints.len()).is_some() {
            return Err(at.error("a second joint of this name was seen; names must differ"));
        }
        if let Some(other) = joint_of.insert(joint.child, joints.len()) {
            return Err(at.error(format!(
                "link `{}` already hangs on joint `{}`: a loop; a link has one parent",
                links[joint.child].name, joints[other].name
            )));
        }
        joints.push(joint);
    }
    let Reader { mut findings, .. } = reader;
    tree::check_mimics(&mut joints, &mut findings)?;
    let tree = tree::of(&root, &links, &joints)?;
    let never_touch = filters::drake_groups(&root, &find_link)?;
    findings.ignore(root.other_tags(&READ));
    for joint in joints.iter().filter(|j| j.damping > 0.0 || j.friction > 0.0) {
        findings.group(DYNAMICS, joint.line, &joint.name);
    }
    for joint in joints.iter().filter(|j| j.mimic.is_none()) {
        if joint.limits.is_some_and(|[lower, upper]| lower >= upper) {
            findings.group(NO_RANGE, joint.line, &joint.name);
        }
    }
    let groups = vec![root.attribute("name").unwrap_or_default().to_owned()];
    let warnings = findings.into_warnings();
    Ok(Description { links, joints, tree, groups, never_touch, warnings, ..Description::default() })
}
