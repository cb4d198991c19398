//! `<contact>` and MuJoCo's collision filters.

use super::describe::Builder;
use super::geom::friction_of;
use super::sections::{Names, What};
use super::told::{MIXED, Told};
use crate::description::Pair;
use crate::error::SceneError;
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
                if slide != across || roll != roll_across {
                    told.group(
                        MIXED,
                        &element.place,
                        element.attribute("name").unwrap_or("without a name"),
                    );
                }
                let friction =
                    friction_of(&at, [0.5 * (slide + across), spin, 0.5 * (roll + roll_across)])?;
                let parts = [a, b].map(|[body, geom]| {
                    let before = world.bodies[body].geoms[..geom].iter().filter(|g| g.touches);
                    (builder.link_of[body].unwrap_or(0), before.count())
                });
                builder.out.pairs.push(Pair { parts, friction });
            }
            _ => {}
        }
    }
    let link = |body: usize| builder.link_of[body];
    let pairs = never.into_iter().filter_map(|[a, b]| Some([link(a)?, link(b)?]));
    builder.out.never_touch = pairs.collect();
    Ok(())
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
