//! `<contact>` and MuJoCo's collision filters.

use super::describe::Builder;
use super::geom::friction_of;
use super::sections::{Names, What};
use super::told::{MIXED, Told};
use super::world::World;
use crate::description::{Friction, Geometry, Pair};
use crate::error::SceneError;
use quasistep_math::Vec3;
use std::collections::{BTreeMap, BTreeSet};

/// Adds body pairs without collisions, and geom pairs with their own friction.
///
/// A body does not collide with its parent unless the parent is fixed to the world. Bodies welded
/// together count as one. Masks filter the remaining pairs.
pub(super) fn add(
    builder: &mut Builder<'_, '_>,
    names: &Names<'_, '_>,
    told: &mut Told,
) -> Result<(), SceneError> {
    let world = names.world;
    let mut never: BTreeSet<[usize; 2]> = BTreeSet::new();
    // bodies with collision shapes, grouped by the body to which they are welded
    let mut welded: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (k, body) in world.bodies.iter().enumerate() {
        if body.geoms.iter().any(|g| g.touches) {
            welded.entry(body.weld).or_default().push(k);
        }
    }
    let root = &world.specs[world.specs.len() - 1].root;
    for (&weld, own) in welded.iter().filter(|_| !root.disables("filterparent")) {
        let parent = world.bodies[world.bodies[weld].parent].weld;
        if weld != 0 && parent != 0 {
            let others = welded.get(&parent).into_iter().flatten();
            never.extend(others.flat_map(|&a| own.iter().map(move |&b| [a.min(b), a.max(b)])));
        }
    }
    for (element, scope) in names.elements("contact")? {
        let spec = &world.specs[scope.spec];
        let at = spec.behind(element, spec.main())?;
        match element.tag.as_str() {
            "exclude" => {
                let [a, b] =
                    ["body1", "body2"].map(|name| names.find(element, name, What::Body, scope));
                let [a, b] = [world.body_of[&a?], world.body_of[&b?]];
                never.insert([a.min(b), a.max(b)]);
            }
            "pair" => {
                let [a, b] =
                    ["geom1", "geom2"].map(|name| names.find(element, name, What::Geom, scope));
                let [a, b] = [world.geom_of[&a?], world.geom_of[&b?]];
                let [slide, across, spin, roll, roll_across] =
                    at.partly("friction", [1.0, 1.0, 0.005, 0.0001, 0.0001])?;
                let mut friction =
                    friction_of(&at, [0.5 * (slide + across), spin, 0.5 * (roll + roll_across)])?;
                let mut of_second = false;
                let mut mixed = roll != roll_across && friction.roll.is_some();
                if slide != across && friction.slide != Some(0.0) {
                    let axes = axes_of_pair(world, [a, b], [slide, across]);
                    mixed |= axes.is_none();
                    if let Some((along, second)) = axes {
                        (friction.along, of_second) = (Some(along), second);
                    }
                }
                if mixed {
                    let name = element.attribute("name").unwrap_or("without a name");
                    told.group(MIXED, &element.place, name);
                }
                let parts = [a, b].map(|[body, geom]| {
                    let before = world.bodies[body].geoms[..geom].iter().filter(|g| g.touches);
                    (builder.link_of[body].unwrap_or(0), before.count())
                });
                builder.out.pairs.push(Pair { parts, friction, of_second });
            }
            _ => {}
        }
    }
    let link = |body: usize| builder.link_of[body];
    let pairs = never.into_iter().filter_map(|[a, b]| Some([link(a)?, link(b)?]));
    builder.out.never_touch = pairs.collect();
    Ok(())
}

/// Coefficients of a pair along the axes of one of its bodies, and whether that is the second; `None`
/// if they do not keep to the axes of a body.
///
/// MuJoCo's first direction is that of the world's y axis in the plane of contact, or of z where the
/// normal is near y. It thus stays with a body that is fixed to the world. On a plane it is that of
/// a capsule's axis.
fn axes_of_pair(
    world: &World<'_>,
    pair: [[usize; 2]; 2],
    [first, second]: [f64; 2],
) -> Option<([f64; 3], bool)> {
    let kind = |[body, geom]: [usize; 2]| world.bodies[body].geoms[geom].geometry.as_ref();
    let is_plane = |at| matches!(kind(at), Some(Geometry::HalfSpace));
    for (at, other) in [(0, 1), (1, 0)] {
        if is_plane(pair[other]) && matches!(kind(pair[at]), Some(Geometry::Capsule { .. })) {
            let [body, geom] = pair[at];
            let axis = world.bodies[body].geoms[geom].X_BG.rotation.rotate(Vec3::Z);
            return Some((Friction::along_axis(axis, first, second)?, at == 1));
        }
    }
    let carrier = pair.iter().position(|[body, _]| *body == 0)?;
    let [body, geom] = pair[carrier];
    // z is across the first direction, unless the plane's normal is near y
    let normal = world.bodies[body].geoms[geom].X_BG.rotation.rotate(Vec3::Z);
    let upright = is_plane(pair[carrier]) && normal.y.abs() >= 0.5;
    let along = if upright { Vec3::Z } else { Vec3::Y };
    Some((Friction::along_axis(along, first, second)?, carrier == 1))
}

/// Geoms named by `<pair>`; they may collide whatever their masks are.
pub(super) fn mark(names: &Names<'_, '_>) -> Result<BTreeSet<[usize; 2]>, SceneError> {
    let mut found = BTreeSet::new();
    for (element, scope) in names.elements("contact")?.into_iter().filter(|(e, _)| e.tag == "pair")
    {
        for attribute in ["geom1", "geom2"] {
            found.insert(names.world.geom_of[&names.find(element, attribute, What::Geom, scope)?]);
        }
    }
    Ok(found)
}
