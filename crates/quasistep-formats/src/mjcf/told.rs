//! Warnings about unusual but acceptable contents of a model.

use super::tree::Place;
use crate::error::list_some;
use std::collections::BTreeMap;

/// Most names stored per warning; fewer are shown.
const MOST_NAMES: usize = 100;

/// A finding that several parts may share: the noun for the parts, and what was found and done.
pub(super) type Kind = (&'static str, &'static str);

pub(super) const SPRINGS: Kind =
    ("joint", "a spring of a ball or free joint: left out, its damper holds");
pub(super) const CURVED: Kind =
    ("joint", "stiffness or damping that is no constant: its first number is taken");
pub(super) const CONES: Kind = ("joint", "range of a ball joint: left out");
pub(super) const NO_MASS: Kind = ("body", "moments of inertia without mass: taken as frames");
pub(super) const REPAIRED: Kind =
    ("body", "no rigid body has its moments of inertia: taken as the nearest possible ones");
pub(super) const MOCAP: Kind =
    ("body", "mocap: it stays where the file puts it until a command of its joint moves it");
pub(super) const NO_MATERIAL: Kind = ("geom", "its material is not in the file: grey");
pub(super) const NOT_DRAWN: Kind = ("geom", "a distance field that touches nothing: not drawn");
pub(super) const BODY_PLUGINS: Kind = ("body", "a plugin: its forces are left out");
pub(super) const SKINS: Kind = ("skin", "not drawn");
pub(super) const SENSORS: Kind = (
    "sensor",
    "no force or torque at a site, or one that is cut off: left out; `sensors` in a scene has others",
);
pub(super) const SPATIAL: Kind =
    ("tendon", "a spatial tendon without a force of its own: left out");
pub(super) const WITH_DRIVES: Kind =
    ("joint", "a spring beside a position actuator: one drive with the sum of both");
pub(super) const UNEVEN: Kind =
    ("actuator", "a force range that is not even about 0: its smaller end holds for both sides");
pub(super) const FORCES: Kind =
    ("actuator", "its force is no spring, damper or motor: left out; its joint stays passive");
pub(super) const SPEEDS: Kind = (
    "actuator",
    "commands a speed: taken as a damper and the force of its control at the start; its joint stays passive",
);
pub(super) const NO_PULL: Kind = (
    "actuator",
    "acts on the contacts of a body, and pulls at no control from 0 on in proportion to it: left out",
);
pub(super) const SCALED: Kind = (
    "actuator",
    "its joint is told in rad or m; in MuJoCo the control is something else times that",
);
pub(super) const NO_JOINT: Kind = ("actuator", "acts on no hinge, slide or fixed tendon: left out");
pub(super) const OFF: Kind =
    ("equality", "active=\"false\": off until a command of `switch` turns it on");
pub(super) const INACTIVE: Kind = ("equality", "active=\"false\": left out");
pub(super) const ATTACHED_KEYS: Kind = ("key", "of an attached model: left out");
pub(super) const OTHER_KEYS: Kind = ("key", "another keyframe than that of the start: left out");
pub(super) const LONG_TURNS: Kind =
    ("key", "qpos has a quaternion whose length is not 1, by more than 1e-4: normalised");
pub(super) const MIXED: Kind = (
    "pair",
    "friction along two directions that are no axes of a body, or two rolling frictions: their mean is taken",
);

/// Collects warnings while a model is read. Findings of one kind become one warning.
#[derive(Default)]
pub(super) struct Told {
    plain: Vec<String>,
    grouped: BTreeMap<Kind, (Place, usize, Vec<String>)>,
}

impl Told {
    /// Adds a warning about one place.
    pub fn warn(&mut self, place: &Place, text: &str) {
        self.plain.push(format!("{}:{}: {text}", place.file, place.line));
    }

    /// Adds one part to a finding that several parts may share.
    pub fn group(&mut self, kind: Kind, place: &Place, name: &str) {
        let (_, n, names) =
            self.grouped.entry(kind).or_insert_with(|| (place.clone(), 0, Vec::new()));
        *n += 1;
        if names.len() < MOST_NAMES {
            names.push(name.to_owned());
        }
    }

    /// All warnings, one line each.
    pub fn into_warnings(self) -> Vec<String> {
        let Self { mut plain, grouped } = self;
        for ((part, kind), (place, n, names)) in grouped {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let s = if n == 1 { "" } else { "s" };
            plain.push(format!(
                "{}:{}: {part}{s} {}: {kind}",
                place.file,
                place.line,
                list_some(&names)
            ));
        }
        plain
    }
}
