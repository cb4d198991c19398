//! `<equality>`: loop closures and coupled joints.

use super::describe::Builder;
use super::read::Read;
use super::sections::{Names, What};
use super::tendon::Tendon;
use super::told::{INACTIVE, OFF, Told};
use super::tree::Element;
use super::world::Scope;
use crate::description::Constraint;
use crate::error::SceneError;
use quasistep_math::{Pose, Quat, Vec3};

/// Adds the constraints of a model.
pub(super) fn add(
    builder: &mut Builder<'_, '_>,
    names: &Names<'_, '_>,
    tendons: &[Tendon],
    told: &mut Told,
) -> Result<(), SceneError> {
    for (k, (element, scope)) in names.elements("equality")?.into_iter().enumerate() {
        let spec = &names.world.specs[scope.spec];
        let at = spec.behind(element, spec.main())?;
        let name = match element.attribute("name").filter(|name| !name.is_empty()) {
            Some(name) => scope.name(name),
            None => format!("{}_{k}", element.tag),
        };
        let off = at.truth("active")? == Some(false);
        let own = name.clone();
        let constraint = match element.tag.as_str() {
            "connect" => connect(builder, names, element, scope, own),
            "weld" => weld(builder, names, element, scope, own),
            "joint" => of_joints(builder, names, element, scope, own),
            "tendon" => of_tendons(builder, names, tendons, element, scope, own),
            _ => continue,
        };
        if off {
            // what is off may be of a kind that is not read
            told.group(if constraint.is_ok() { OFF } else { INACTIVE }, &element.place, &name);
            if constraint.is_err() {
                continue;
            }
            builder.out.inactive.push(builder.out.constraints.len());
        }
        let constraint = constraint?;
        builder.out.constraints.push(constraint);
    }
    Ok(())
}

/// Bodies named by an element; the world if none is named.
fn bodies(
    names: &Names<'_, '_>,
    element: &Element,
    scope: &Scope,
) -> Result<[usize; 2], SceneError> {
    let first = names.find(element, "body1", What::Body, scope)?;
    let second = match element.attribute("body2") {
        Some(_) => names.find(element, "body2", What::Body, scope)?,
        None => String::from("world"),
    };
    let found = [names.world.body_of[&first], names.world.body_of[&second]];
    if found[0] == found[1] {
        return Err(element.error("both bodies are one; an equality is between two"));
    }
    Ok(found)
}

/// Two bodies, and the pose of a frame in each.
type Ends = ([usize; 2], [Pose; 2]);

/// Bodies and poses of the sites named by an element; `None` if it names bodies instead.
fn sites(
    names: &Names<'_, '_>,
    element: &Element,
    scope: &Scope,
) -> Result<Option<Ends>, SceneError> {
    if element.attribute("site1").is_none() {
        return Ok(None);
    }
    let [a, b] = ["site1", "site2"].map(|name| names.find(element, name, What::Site, scope));
    let [a, b] = [names.world.sites[&a?], names.world.sites[&b?]];
    Ok(Some(([a.body, b.body], [a.X_BS, b.X_BS])))
}

/// Link index of a body; `None` for the world.
fn link(builder: &Builder<'_, '_>, body: usize) -> Option<usize> {
    if body == 0 { None } else { builder.link_of[body] }
}

fn connect(
    builder: &Builder<'_, '_>,
    names: &Names<'_, '_>,
    element: &Element,
    scope: &Scope,
    name: String,
) -> Result<Constraint, SceneError> {
    let (bodies, points) = if let Some((bodies, poses)) = sites(names, element, scope)? {
        (bodies, poses.map(|X| X.translation))
    } else {
        let [a, b] = bodies(names, element, scope)?;
        let anchor = Read::plain(element).numbers("anchor")?;
        let anchor =
            Vec3::from(anchor.ok_or_else(|| element.error("the attribute `anchor` is missing"))?);
        let in_world = builder.poses[a].transform_point(anchor);
        ([a, b], [anchor, builder.poses[b].inverse_transform_point(in_world)])
    };
    Ok(Constraint::Connect { name, links: bodies.map(|body| link(builder, body)), points })
}

fn weld(
    builder: &Builder<'_, '_>,
    names: &Names<'_, '_>,
    element: &Element,
    scope: &Scope,
    name: String,
) -> Result<Constraint, SceneError> {
    let (bodies, poses) = if let Some(ends) = sites(names, element, scope)? {
        ends
    } else {
        let [a, b] = bodies(names, element, scope)?;
        let at = Read::plain(element);
        let anchor = Pose::from_translation(Vec3::from(at.numbers("anchor")?.unwrap_or_default()));
        let [x, y, z, quat @ ..] = at.numbers::<7>("relpose")?.unwrap_or_default();
        let first = match Quat::try_normalize(quat) {
            Some(rotation) => Pose::new(rotation, Vec3::new(x, y, z)),
            // a zero quaternion: keep the relative pose of the file
            None => builder.poses[a].inverse() * builder.poses[b] * anchor,
        };
        ([a, b], [first, anchor])
    };
    // without torque the weld constrains positions only
    if Read::plain(element).number("torquescale")? == Some(0.0) {
        let points = poses.map(|X| X.translation);
        return Ok(Constraint::Connect {
            name,
            links: bodies.map(|body| link(builder, body)),
            points,
        });
    }
    Ok(Constraint::Weld { name, links: bodies.map(|body| link(builder, body)), poses })
}

/// Offset and slope of `polycoef`; an error if higher coefficients are not zero.
fn line(element: &Element) -> Result<[f64; 2], SceneError> {
    let [offset, slope, rest @ ..] =
        Read::plain(element).partly("polycoef", [0.0, 1.0, 0.0, 0.0, 0.0])?;
    if rest != [0.0; 3] {
        return Err(element.error(
            "a polycoef of second or higher order was seen; only offset and slope are read",
        ));
    }
    Ok([offset, slope])
}

/// Coupling `q_1 − q_1ref = offset + slope (q_2 − q_2ref)` of two joints.
fn of_joints(
    builder: &Builder<'_, '_>,
    names: &Names<'_, '_>,
    element: &Element,
    scope: &Scope,
    name: String,
) -> Result<Constraint, SceneError> {
    let [mut offset, slope] = line(element)?;
    let mut terms = Vec::new();
    for (attribute, factor) in [("joint1", 1.0), ("joint2", -slope)] {
        if attribute == "joint2" && element.attribute(attribute).is_none() {
            continue;
        }
        let found = names.find(element, attribute, What::Joint, scope)?;
        let [body, k] = names.world.joint_of[&found];
        let joint = &names.world.bodies[body].joints[k];
        if !joint.kind.is_single() {
            return Err(
                element.error(format!("{attribute}: only hinges and slides have one coordinate"))
            );
        }
        offset += factor * joint.reference;
        terms.push((builder.joint_of[body][k], factor));
    }
    Ok(Constraint::Coupling { name, terms, offset })
}

/// Coupling `L_1 − L_1ref = offset + slope (L_2 − L_2ref)` of two tendons.
fn of_tendons(
    builder: &Builder<'_, '_>,
    names: &Names<'_, '_>,
    tendons: &[Tendon],
    element: &Element,
    scope: &Scope,
    name: String,
) -> Result<Constraint, SceneError> {
    let [mut offset, slope] = line(element)?;
    let mut terms = Vec::new();
    for (attribute, factor) in [("tendon1", 1.0), ("tendon2", -slope)] {
        if attribute == "tendon2" && element.attribute(attribute).is_none() {
            continue;
        }
        let tendon =
            &tendons[names.tendons[&names.find(element, attribute, What::Tendon, scope)?]];
        if tendon.terms.is_empty() {
            return Err(element.error(format!("{attribute}: only tendons of fixed type are read")));
        }
        for ([body, k], c) in &tendon.terms {
            offset += factor * c * names.world.bodies[*body].joints[*k].reference;
        }
        terms.extend(builder.terms(&tendon.terms, factor));
    }
    Ok(Constraint::Coupling { name, terms, offset })
}
