//! `<sensor>`: force and torque between a body and its parent. Others are told by name.

use super::describe::Builder;
use super::sections::{Names, What};
use super::told::{SENSORS, Told};
use crate::description::ForceSensor;
use quasistep_math::Pose;

/// Adds the sensors of a model.
pub(super) fn add(builder: &mut Builder<'_, '_>, names: &Names<'_, '_>, told: &mut Told) {
    for scope in &names.world.scopes {
        let own = names.world.specs[scope.spec].root.in_sections("sensor");
        for (k, element) in own.enumerate() {
            let name = match element.attribute("name").filter(|name| !name.is_empty()) {
                Some(name) => scope.name(name),
                None => scope.name(&format!("{}_{k}", element.tag)),
            };
            let measures_force = matches!(element.tag.as_str(), "force" | "torque");
            let cut_off = element.attribute("cutoff").is_some_and(|at| at.trim() != "0");
            let site = element.attribute("site").filter(|_| measures_force && !cut_off);
            let found = site.and_then(|site| names.resolve(What::Site, scope, site));
            let site = found.map(|site| names.world.sites[&site]);
            let link = site.filter(|s| s.body != 0).and_then(|s| builder.link_of[s.body]);
            match (link, site) {
                (Some(link), Some(site)) => {
                    // a copy names parts of its own
                    let known = builder.out.sensors.iter().any(|s| s.name == name);
                    if !known {
                        let (line, pose): (usize, Pose) = (element.place.line, site.X_BS);
                        builder.out.sensors.push(ForceSensor { name, line, link, pose });
                    }
                }
                _ if scope.suffix.is_empty() => told.group(SENSORS, &element.place, &name),
                _ => {}
            }
        }
    }
}
