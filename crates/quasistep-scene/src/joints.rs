//! Joints in a scene file: kinds, drives, limits and start values.

use crate::document::{At, pose, rounded_rotation};
use crate::names::check_name;
use crate::start_velocity::StartVelocity;
use crate::support::SupportGiven;
use quasistep::{Actuator, DampingOn, Role};
use quasistep_formats::description::Drive;
use quasistep_formats::{SceneError, list};
use quasistep_math::{Pose, Quat, Vec3};
use quasistep_model::{JointKind, JointResistance};

/// Settings of a joint; later ones override earlier ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    role: Option<RoleWord>,
    stiffness: Option<Vec<f64>>,
    /// Error to report if the stiffness is 0, which is allowed only for joints held by a Cartesian
    /// spring.
    no_stiffness: Option<SceneError>,
    damping: Option<Vec<f64>>,
    damping_on: Option<DampingOn>,
    friction: Option<Vec<f64>>,
    pub support: Option<SupportGiven>,
    armature: Option<Vec<f64>>,
    effort_limit: Limit<f64>,
    pub limits: Limit<[f64; 2]>,
    pub start: Option<Vec<f64>>,
    pub start_velocity: Option<StartVelocity>,
}

/// Setting that overrides a limit of the model file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Limit<T> {
    /// Keep the limit of the file.
    #[default]
    Keep,
    /// `none`: remove the limit.
    Drop,
    /// Use this limit.
    Set(T),
}

impl<T: Copy> Limit<T> {
    fn read(
        at: Option<&At<'_>>,
        value: impl Fn(&At<'_>) -> Result<T, SceneError>,
    ) -> Result<Self, SceneError> {
        match at {
            None => Ok(Self::Keep),
            Some(at) if matches!(at.text(), Ok("none")) => Ok(Self::Drop),
            Some(at) => value(at).map(Self::Set),
        }
    }

    /// The resulting limit, given that of the model file.
    pub fn apply(self, file: Option<T>) -> Option<T> {
        match self {
            Self::Keep => file,
            Self::Drop => None,
            Self::Set(limit) => Some(limit),
        }
    }

    /// This setting, overridden by `other` unless that is `Keep`.
    fn then(self, other: Self) -> Self {
        if matches!(other, Self::Keep) { self } else { other }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RoleWord {
    Passive,
    Actuated,
    Prescribed,
}

/// Valid keys of joint settings.
pub(crate) const KEYS: [&str; 11] = [
    "role",
    "stiffness",
    "damping",
    "damping_on",
    "friction",
    "support",
    "armature",
    "effort_limit",
    "limits",
    "start",
    "start_velocity",
];

impl Settings {
    /// Reads the settings from a mapping that may have other keys too.
    pub fn read(map: &crate::document::Map<'_>) -> Result<Self, SceneError> {
        let words = [
            ("passive", RoleWord::Passive),
            ("actuated", RoleWord::Actuated),
            ("prescribed", RoleWord::Prescribed),
        ];
        let damping_words =
            [("velocity", DampingOn::Velocity), ("command_error", DampingOn::CommandError)];
        Ok(Self {
            role: map.get("role").map(|at| at.word(&words)).transpose()?,
            // 0 is refused later, if the joint does not allow it
            stiffness: per_dof(map, "stiffness", "N/m or N·m/rad", |at, unit| {
                if at.number(unit)? == 0.0 { Ok(0.0) } else { at.positive(unit) }
            })?,
            no_stiffness: per_dof(map, "stiffness", "N/m or N·m/rad", At::positive).err(),
            damping: per_dof(map, "damping", "N·s/m or N·m·s/rad", At::non_negative)?,
            damping_on: map.get("damping_on").map(|at| at.word(&damping_words)).transpose()?,
            friction: per_dof(map, "friction", "N or N·m", At::non_negative)?,
            support: map.get("support").map(SupportGiven::read).transpose()?,
            armature: per_dof(map, "armature", "kg or kg·m²", At::non_negative)?,
            effort_limit: Limit::read(map.get("effort_limit"), |at| at.positive("N or N·m"))?,
            limits: Limit::read(map.get("limits"), limits)?,
            start: map.get("start").map(start).transpose()?,
            start_velocity: map.get("start_velocity").map(StartVelocity::read).transpose()?,
        })
    }

    /// These settings, overridden by those that `other` gives.
    pub fn then(mut self, other: &Self) -> Self {
        self.role = other.role.or(self.role);
        if other.stiffness.is_some() {
            self.stiffness.clone_from(&other.stiffness);
            self.no_stiffness.clone_from(&other.no_stiffness);
        }
        self.damping = other.damping.clone().or(self.damping);
        self.damping_on = other.damping_on.or(self.damping_on);
        self.friction = other.friction.clone().or(self.friction);
        self.support = other.support.clone().or(self.support);
        self.armature = other.armature.clone().or(self.armature);
        self.effort_limit = self.effort_limit.then(other.effort_limit);
        self.limits = self.limits.then(other.limits);
        self.start = other.start.clone().or(self.start);
        self.start_velocity = other.start_velocity.clone().or(self.start_velocity);
        self
    }

    /// True if the settings ask for a drive.
    pub fn is_driven(&self) -> bool {
        self.stiffness.is_some() || self.role.is_some_and(|role| role != RoleWord::Passive)
    }

    /// True if the joint keeps the drive of its model file.
    pub fn keeps(&self, drive: Option<&Drive>) -> bool {
        self.stiffness.is_none() && drive.is_some()
    }

    /// Resistance of a joint with these settings and this role. `file` has damping, friction and
    /// armature of the model file, without those that a drive of the scene replaces. `follows` is
    /// true if the joint mimics another one.
    pub fn resistance(
        &self,
        kind: &JointKind,
        role: &Role,
        file: Option<[f64; 3]>,
        follows: bool,
        at: &At<'_>,
    ) -> Result<JointResistance, SceneError> {
        let n = kind.n_v();
        let [damping, friction, armature] = file.unwrap_or_default();
        let own = |given: &Option<Vec<f64>>, file: f64, what| {
            let values = match given {
                Some(_) if n == 0 => {
                    return Err(at.error(format!(
                        "{what} was seen on a {} joint; only moving joints have it",
                        kind.word()
                    )));
                }
                Some(values) => spread(values, n, what, at)?,
                None => vec![file; n],
            };
            // all zero means no resistance: store an empty list
            Ok(if values.iter().all(|x| *x == 0.0) { Vec::new() } else { values })
        };
        let of_drive = matches!(role, Role::Actuated(_));
        Ok(JointResistance {
            damping: own(if of_drive { &None } else { &self.damping }, damping, "damping")?,
            friction: own(&self.friction, friction, "friction")?,
            armature: own(&self.armature, armature, "armature")?,
            support: self.support.as_ref().map(|s| s.fit(kind, follows)).transpose()?,
        })
    }

    /// Makes the joint one that follows its command, unless the settings say otherwise.
    pub fn follow_command(&mut self) {
        if self.stiffness.is_none() {
            self.role.get_or_insert(RoleWord::Prescribed);
        }
    }

    /// Role and drive of a joint with these settings. `effort` and `drive` are given by the model
    /// file. Joints held by Cartesian springs may have no stiffness of their own.
    pub fn role(
        &self,
        kind: &JointKind,
        effort: Option<f64>,
        drive: Option<&Drive>,
        held: bool,
        at: &At<'_>,
    ) -> Result<Role, SceneError> {
        let n = kind.n_v();
        let word = match self.role {
            Some(word) => word,
            None if self.stiffness.is_some() || drive.is_some() => RoleWord::Actuated,
            None => RoleWord::Passive,
        };
        if word == RoleWord::Passive {
            if self.stiffness.is_some() && self.role.is_some() {
                return Err(
                    at.error("a stiffness was seen on a passive joint; leave one of them out")
                );
            }
            if matches!(self.effort_limit, Limit::Set(_)) {
                return Err(at.error(
                    "`effort_limit` was seen on a passive joint; it belongs to a drive: give `stiffness` too",
                ));
            }
            return Ok(Role::Passive);
        }
        if n == 0 {
            return Err(at.error(format!(
                "a drive was seen on a {} joint; only moving joints have one",
                kind.word()
            )));
        }
        if word == RoleWord::Prescribed {
            return Ok(Role::Prescribed);
        }
        let from_file = drive.map(|drive| vec![drive.stiffness]);
        let Some(stiffness) = self.stiffness.as_ref().or(from_file.as_ref()) else {
            return Err(at.error(
                "an actuated joint without `stiffness` was seen; give it in N/m or N·m/rad, > 0",
            ));
        };
        if let (Some(error), false) = (&self.no_stiffness, held) {
            return Err(error.clone());
        }
        let stiffness = spread(stiffness, n, "stiffness", at)?;
        let damping = match &self.damping {
            Some(given) => given.as_slice(),
            None => &[drive.map_or(0.0, |drive| drive.damping)],
        };
        let damping = spread(damping, n, "damping", at)?;
        // an effort of 0 in URDF files means no limit
        let limit =
            self.effort_limit.apply(drive.and_then(|d| d.effort).or(effort.filter(|e| *e > 0.0)));
        Ok(Role::Actuated(Actuator {
            stiffness,
            damping,
            damping_on: self.damping_on.unwrap_or_default(),
            effort_limit: vec![limit.unwrap_or(f64::INFINITY); n],
        }))
    }
}

/// One value for each of `n` dofs.
fn spread(values: &[f64], n: usize, what: &str, at: &At<'_>) -> Result<Vec<f64>, SceneError> {
    match values {
        [one] => Ok(vec![*one; n]),
        all if all.len() == n => Ok(all.to_vec()),
        all => Err(at.error(format!(
            "{} values of {what} were seen; give one, or one for each of {n} dofs",
            all.len()
        ))),
    }
}

/// One number for all dofs of a joint, or a list with one number per dof.
fn per_dof<'a>(
    map: &crate::document::Map<'a>,
    key: &str,
    unit: &str,
    check: fn(&At<'a>, &str) -> Result<f64, SceneError>,
) -> Result<Option<Vec<f64>>, SceneError> {
    let Some(at) = map.get(key) else { return Ok(None) };
    let items = if at.is_list() { at.list()? } else { vec![at.clone()] };
    items.iter().map(|item| check(item, unit)).collect::<Result<_, _>>().map(Some)
}

fn limits(at: &At<'_>) -> Result<[f64; 2], SceneError> {
    let [lower, upper] = at.array::<2>("m or rad")?;
    if lower > upper {
        return Err(at.error(format!("[{lower}, {upper}] was seen; the lower limit comes first")));
    }
    Ok([lower, upper])
}

/// Start coordinates of a joint from a number, a list, or a pose.
pub(crate) fn start(at: &At<'_>) -> Result<Vec<f64>, SceneError> {
    if at.is_map() {
        return Ok(coordinates_of(&pose(at)?));
    }
    if at.is_list() { at.numbers("m or rad") } else { Ok(vec![at.number("m or rad")?]) }
}

/// Coordinates of a free joint at this pose.
pub(crate) fn coordinates_of(X: &Pose) -> Vec<f64> {
    X.rotation.to_array().into_iter().chain(X.translation.to_array()).collect()
}

/// Start value converted to coordinates of this kind of joint.
pub(crate) fn fit_start(
    start: &[f64],
    kind: &JointKind,
    at: &At<'_>,
) -> Result<Vec<f64>, SceneError> {
    let n = kind.n_q();
    // of a pose, a ball joint takes the orientation only
    if matches!(kind, JointKind::Ball) && start.len() == 7 {
        return Ok(start[..4].to_vec());
    }
    if start.len() != n {
        return Err(at.error(format!(
            "{} start values were seen; a {} joint has {n}{}",
            start.len(),
            kind.word(),
            if n > 3 { ", given as {xyz, rpy}" } else { "" }
        )));
    }
    let mut start = start.to_vec();
    if let (JointKind::Ball | JointKind::Free, Some(turn)) = (kind, start.first_chunk_mut::<4>())
        && let Some(unit) = rounded_rotation(*turn).map(Quat::to_array)
        // one that is exact up to rounding keeps its digits
        && unit.iter().zip(&*turn).any(|(a, b)| (a - b).abs() > 1e-9)
    {
        *turn = unit;
    }
    Ok(start)
}

/// Pose of frame M in frame F of a joint at coordinates `q`; at neutral if `q` is empty.
pub(crate) fn joint_pose(kind: &JointKind, q: &[f64]) -> Pose {
    let unit = |axis: &Vec3| axis.try_normalize().unwrap_or(Vec3::ZERO);
    match (kind, q) {
        (JointKind::Revolute { axis } | JointKind::Continuous { axis }, &[angle]) => {
            Pose::new(Quat::from_axis_angle(unit(axis), angle), Vec3::ZERO)
        }
        (JointKind::Prismatic { axis }, &[x]) => Pose::from_translation(unit(axis) * x),
        (JointKind::Planar, &[x, y, theta]) => {
            Pose::new(Quat::from_axis_angle(Vec3::Z, theta), Vec3::new(x, y, 0.0))
        }
        (JointKind::Ball, &[w, x, y, z]) => Pose::new(Quat::new(w, x, y, z), Vec3::ZERO),
        (JointKind::Free, &[w, x, y, z, px, py, pz]) => {
            Pose::new(Quat::new(w, x, y, z), Vec3::new(px, py, pz))
        }
        _ => Pose::IDENTITY,
    }
}

/// One joint of a chain: its name, kind, and inline settings.
#[derive(Clone, Debug)]
pub(crate) struct Link<'a> {
    /// Name; `None` for the joint named after its body.
    pub name: Option<&'a str>,
    pub kind: JointKind,
    pub settings: Settings,
    /// True if the joint moves the surface of the body and not its place.
    pub surface: bool,
    pub at: At<'a>,
}

impl<'a> Link<'a> {
    /// The joint named after its body, without settings.
    pub fn of_body(kind: JointKind, at: &At<'a>) -> Self {
        Self { name: None, kind, settings: Settings::default(), surface: false, at: at.clone() }
    }
}

/// Words for joints that need a name and an axis.
const WITH_AXIS: [&str; 5] = ["slide", "hinge", "prismatic", "revolute", "continuous"];

/// Reads `joint:`, which is a word, a slide or hinge, or a list of these from the parent outwards.
pub(crate) fn chain<'a>(at: &At<'a>) -> Result<Vec<Link<'a>>, SceneError> {
    if at.is_map() {
        return Ok(vec![link(at)?]);
    }
    if !at.is_list() {
        if let Some(word) = at.text().ok().filter(|word| WITH_AXIS.contains(word)) {
            return Err(at.error(format!(
                "`{word}` was seen; a joint with an axis is `{{slide: x, axis: [1, 0, 0]}}` or `{{hinge: x, axis: [1, 0, 0]}}`"
            )));
        }
        let kind = at.word(&[("fixed", 0), ("free", 1), ("planar", 2), ("ball", 3)])?;
        let kind = match kind {
            0 => JointKind::Fixed,
            1 => JointKind::Free,
            2 => JointKind::Planar,
            _ => JointKind::Ball,
        };
        return Ok(vec![Link::of_body(kind, at)]);
    }
    let items = at.list()?;
    if items.is_empty() {
        return Err(at.error("an empty list was seen; give slides and hinges, or `fixed`"));
    }
    items.iter().map(link).collect()
}

fn link<'a>(at: &At<'a>) -> Result<Link<'a>, SceneError> {
    let mut keys = vec!["slide", "hinge", "axis", "surface"];
    keys.extend(KEYS);
    let map = at.map(&keys)?;
    for name in [map.get("slide"), map.get("hinge")].into_iter().flatten() {
        check_name("joint", name.text()?, name)?;
    }
    let axis_at = map.need("axis")?;
    let axis = Vec3::from(axis_at.array::<3>("direction")?);
    if axis.try_normalize().is_none() {
        return Err(axis_at.error("[0, 0, 0] was seen; an axis must have a direction"));
    }
    let (name, kind) = match (map.get("slide"), map.get("hinge")) {
        (Some(name), None) => (name.text()?, JointKind::Prismatic { axis }),
        (None, Some(name)) => (name.text()?, JointKind::Revolute { axis }),
        _ => return Err(at.error(format!("give one of {}", list(&["slide", "hinge"])))),
    };
    let surface = match map.get("surface") {
        Some(at) => at.word(&[("false", false), ("true", true)])?,
        None => false,
    };
    Ok(Link { name: Some(name), kind, settings: Settings::read(&map)?, surface, at: at.clone() })
}
