//! SRDF: pairs of links without collisions, and postures (`group_state`).

use crate::description::{Description, Joint};
use crate::error::{SceneError, unknown};
use crate::files;
use crate::findings::{Findings, Kind};
use crate::xml::{Source, Xml};
use quasistep_model::JointKind;
use std::collections::BTreeMap;
use std::path::Path;

const UNKNOWN_LINK: Kind = ("link", "in disable_collisions and not in the robot: without effect");
const UNKNOWN_JOINT: Kind = ("joint", "in group_state and not in the robot: without effect");

/// What an SRDF file says of a robot.
#[derive(Clone, Debug, Default)]
pub struct Srdf {
    /// Pairs of links in `disable_collisions`, as link indices.
    pub never_touch: Vec<[usize; 2]>,
    /// Postures, in the order of the file. Several groups may have one of the same name.
    pub postures: Vec<Posture>,
    /// Warnings about names that the robot does not have, one sentence each.
    pub warnings: Vec<String>,
}

/// A `group_state`: start coordinates of some joints.
#[derive(Clone, Debug)]
pub struct Posture {
    /// Its name.
    pub name: String,
    /// Joint index and coordinates.
    pub joints: Vec<(usize, Vec<f64>)>,
}

impl Srdf {
    /// Reads an SRDF file of this robot. Links and joints that the robot does not have are left out.
    ///
    /// # Errors
    ///
    /// The first mistake in the file, with file, line and key.
    pub fn read(path: &Path, robot: &Description) -> Result<Self, SceneError> {
        let file = path.display().to_string();
        let text = files::read_to_string(path)
            .map_err(|e| SceneError::new(&file, None, "", format!("not readable: {e}")))?;
        let mut source = Source::new(&text, &file);
        source.declare_prefixes();
        let document = source.parse()?;
        let root = Xml::new(document.root_element(), &source);
        if root.tag() != "robot" {
            return Err(root.error(format!(
                "<{}> was seen; an SRDF file has <robot> at its root",
                root.tag()
            )));
        }
        let links = robot.links.iter().map(|link| link.name.as_str());
        let links: BTreeMap<&str, usize> = links.zip(0..).collect();
        let joints = robot.joints.iter().map(|joint| joint.name.as_str());
        let joints: BTreeMap<&str, usize> = joints.zip(0..).collect();
        let mut findings = Findings::new(&file);
        let mut srdf = Self::default();
        for at in root.children("disable_collisions") {
            let names = [at.text("link1")?, at.text("link2")?];
            match names.map(|name| links.get(name)) {
                [Some(a), Some(b)] => srdf.never_touch.push([*a, *b]),
                [None, _] => findings.group(UNKNOWN_LINK, at.line(), names[0]),
                [_, None] => findings.group(UNKNOWN_LINK, at.line(), names[1]),
            }
        }
        for state in root.children("group_state") {
            let mut posture = Posture { name: state.text("name")?.to_owned(), joints: Vec::new() };
            for at in state.children("joint") {
                let name = at.text("name")?;
                let Some(k) = joints.get(name) else {
                    findings.group(UNKNOWN_JOINT, at.line(), name);
                    continue;
                };
                let values = coordinates(&at, &robot.joints[*k])?;
                posture.joints.extend(values.map(|values| (*k, values)));
            }
            srdf.postures.push(posture);
        }
        srdf.warnings = findings.into_warnings();
        Ok(srdf)
    }

    /// Starts the robot's joints in the postures of this name.
    ///
    /// # Errors
    ///
    /// A message with the names that there are.
    pub fn take_posture(&self, name: &str, robot: &mut Description) -> Result<(), String> {
        let mut postures = self.postures.iter().filter(|posture| posture.name == name).peekable();
        if postures.peek().is_none() {
            let mut names: Vec<&str> = self.postures.iter().map(|p| p.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            return Err(unknown("posture", name, &names));
        }
        for (joint, values) in postures.flat_map(|posture| &posture.joints) {
            robot.joints[*joint].start = Some(values.clone());
        }
        Ok(())
    }
}

/// Start coordinates of a joint; `None` for one without coordinates of its own.
fn coordinates(at: &Xml<'_, '_>, joint: &Joint) -> Result<Option<Vec<f64>>, SceneError> {
    let text = at.text("value")?;
    let values: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    let values = values.ok().filter(|values| values.iter().all(|x| x.is_finite()));
    let n = joint.kind.n_q();
    if n == 0 || joint.mimic.is_some() {
        return Ok(None);
    }
    let Some(mut values) = values.filter(|values| values.len() == n) else {
        let word = joint.kind.word();
        return Err(at.error(format!("value: `{text}` was seen; a {word} joint takes {n} numbers")));
    };
    // x y z and the quaternion x y z w, as in ROS
    if joint.kind == JointKind::Free {
        values.rotate_left(3);
        values[..4].rotate_right(1);
    }
    Ok(Some(values))
}
