//! Systems of the simulator pangtao22/quasistatic_simulator, `q_sys/*.yml`: directives, objects,
//! robot stiffness, and step settings.
//!
//! Quantities that its step ignores are left out of the description: joint and effort limits,
//! damping, dry friction, rotor inertia, and the weight of robots. Surfaces without given friction
//! have a coefficient of 1, as in Drake.

mod params;

use crate::description::{Description, Drive};
use crate::directives::{self, Instance};
use crate::error::{SceneError, unknown};
use crate::packages::Places;
use crate::yaml::{At, Node};
use crate::{Options, files};
use std::collections::BTreeMap;
use std::path::Path;

/// A key that only this format has.
pub(crate) const OWN_KEY: &str = "model_directive";
/// Friction coefficient of a surface that gives none.
const FRICTION: f64 = 1.0;

/// Reads a system.
pub(crate) fn read(path: &Path, options: &Options) -> Result<Description, SceneError> {
    let file = path.display().to_string();
    let text = files::read_to_string(path)
        .map_err(|e| SceneError::new(&file, None, "", format!("the file is not readable: {e}")))?;
    let root = Node::parse(&text, &file)?;
    let map = root.at(&file).map(&[OWN_KEY, "robots", "objects", "quasistatic_sim_params"])?;
    let places =
        Places { dir: path.parent().unwrap_or(Path::new(".")), packages: &options.packages };
    let find = |at: &At<'_>| places.find(at.text()?).map_err(|why| at.error(why));
    // sorted by name, as that simulator numbers them
    let mut objects = BTreeMap::new();
    let listed = map.get("objects").filter(|at| !at.is_nothing());
    for at in listed.map_or(Ok(Vec::new()), At::list)? {
        let own = at.map(&["name", "file"])?;
        let (name, at) = (own.need("name")?, own.need("file")?);
        let instance = Instance { name: name.text()?, path: find(at)?, spot: at.spot() };
        if objects.insert(instance.name, instance).is_some() {
            return Err(name.error("a second object of this name was seen; names must differ"));
        }
    }
    let at = map.need(OWN_KEY)?;
    let mut system = directives::read_after(path, options, objects.values(), (&find(at)?, at))?;
    let names: Vec<&str> = objects.keys().copied().collect();
    for joint in &mut system.joints {
        (joint.limits, joint.effort, joint.drive) = (None, None, None);
        (joint.damping, joint.friction, joint.armature) = (0.0, 0.0, 0.0);
    }
    for part in system.links.iter_mut().flat_map(|link| &mut link.collisions) {
        part.friction.slide.get_or_insert(FRICTION);
    }
    let mut driven = Vec::new();
    for at in map.need("robots")?.list()? {
        let own = at.map(&["name", "Kp"])?;
        let name = own.need("name")?;
        let group = group_of(&system, name)?;
        if names.contains(&name.text()?) || driven.contains(&group) {
            return Err(
                name.error("this model was seen before; one is either a robot or an object, once")
            );
        }
        drive(&mut system, group, own.need("Kp")?)?;
        driven.push(group);
    }
    for joint in system.joints.iter().filter(|joint| joint.kind.n_v() > 0) {
        let group = system.links[joint.child].group;
        let name = system.groups[group].as_str();
        if !driven.contains(&group) && !names.contains(&name) {
            return Err(map.need("robots")?.error(format!(
                "the model `{name}` has a joint `{}` and is neither among `robots` nor among `objects`",
                joint.name
            )));
        }
    }
    params::read(map.get("quasistatic_sim_params"), &mut system)?;
    stand_alone(&mut system);
    Ok(system)
}

/// Makes each link a collision group of its own. Then only links connected by a joint are excluded
/// as neighbours, not links connected to something welded to them.
fn stand_alone(system: &mut Description) {
    system.groups = system.links.iter().map(|link| link.name.clone()).collect();
    for (k, link) in system.links.iter_mut().enumerate() {
        link.group = k;
    }
}

/// Group index of the model with this name.
fn group_of(system: &Description, name: &At<'_>) -> Result<usize, SceneError> {
    let text = name.text()?;
    let groups = &system.groups;
    groups.iter().position(|group| group == text).ok_or_else(|| {
        let names: Vec<&str> = groups.iter().map(String::as_str).collect();
        name.error(unknown("model", text, &names))
    })
}

/// Sets joint stiffness of a robot and removes its weight.
fn drive(system: &mut Description, group: usize, at: &At<'_>) -> Result<(), SceneError> {
    let joints = joints_of(system, group);
    if let Some(&k) = joints.iter().find(|&&k| system.joints[k].kind.n_v() > 1) {
        let name = &system.joints[k].name;
        return Err(
            at.error(format!("the joint `{name}` has several dofs; robots have hinges and slides"))
        );
    }
    let stiffness = at.list()?;
    if stiffness.len() != joints.len() {
        let (seen, wanted) = (stiffness.len(), joints.len());
        return Err(at.error(format!("{seen} numbers were seen; the robot has {wanted} joints")));
    }
    for (k, at) in joints.into_iter().zip(stiffness) {
        let stiffness = at.positive("N/m or N·m/rad")?;
        system.joints[k].drive =
            Some(Drive { stiffness, damping: 0.0, effort: None, target: None });
    }
    for link in system.links.iter_mut().filter(|link| link.group == group) {
        link.compensated = 1.0;
    }
    Ok(())
}

/// Joints of a model that have dofs, depth first: the order of Drake's velocities.
fn joints_of(system: &Description, group: usize) -> Vec<usize> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); system.links.len()];
    let mut open = Vec::new();
    for (k, joint) in system.joints.iter().enumerate() {
        match joint.parent {
            Some(parent) => children[parent].push(k),
            None => open.push(k),
        }
    }
    let standing = |link: &usize| system.tree.joint_of[*link].is_none();
    for link in (0..system.links.len()).filter(standing) {
        open.extend(&children[link]);
    }
    open.reverse();
    let mut found = Vec::new();
    while let Some(k) = open.pop() {
        let joint = &system.joints[k];
        if system.links[joint.child].group == group && joint.kind.n_v() > 0 && joint.mimic.is_none()
        {
            found.push(k);
        }
        open.extend(children[joint.child].iter().rev());
    }
    found
}
