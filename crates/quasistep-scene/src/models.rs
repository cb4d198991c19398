//! Entries of `models:`: a robot from a file, a model of several bodies, or one body.

use crate::assembly::{Assembly, Defaults, NewBody};
use crate::cartesian;
use crate::collisions::{Instance, SelfCollision};
use crate::document::{At, Map, is_later_replica, of_replica, pose};
use crate::friction;
use crate::joints::{Link, Settings, chain, coordinates_of, fit_start, joint_pose, start};
use crate::mass::{self, MASSLESS};
use crate::model_start::{self, FrameStart};
use crate::names::check_name;
use crate::repeat::Repeat;
use crate::robot::{self, Entry};
use crate::rules::Rules;
use crate::shapes::{self, Piece, cloud_piece, pieces};
use crate::start_velocity::StartVelocity;
use crate::support::SupportGiven;
use quasistep::{Role, Surface};
use quasistep_formats::Format;
use quasistep_formats::SceneError;
use quasistep_math::{Pose, Vec3};
use quasistep_model::{JointKind, WORLD};
use std::path::Path;

/// Keys of every model.
const MODEL_KEYS: [&str; 7] =
    ["repeat", "gravity", "parent", "joints", "color", "friction", "cartesian_stiffness"];
/// Keys of a body, also valid in a model that is one body.
const BODY_KEYS: [&str; 12] = [
    "shape",
    "shapes",
    "cloud",
    "mass",
    "density",
    "com",
    "inertia",
    "pose",
    "joint",
    "start",
    "start_velocity",
    "support",
];

/// Most bodies or shapes of a scene. Collision filters take one bit per pair, and about a second to
/// compute.
const MOST_PARTS: usize = 20_000;

impl Assembly {
    /// Adds one entry of `models:`, a model or its copies. Paths are relative to `dir`.
    pub fn add_models(
        &mut self,
        name: &str,
        at: &At<'_>,
        dir: &Path,
        surface: Surface,
    ) -> Result<(), SceneError> {
        check_name("model", name, at)?;
        let Some(repeat) = at.entry("repeat") else {
            self.add_model(name, at, dir, surface)?;
            return self.check_size(at);
        };
        for replica in Repeat::read(&repeat)?.replicas(name) {
            let replica = replica?;
            self.add_model(&replica.name, &of_replica(at, &replica), dir, surface)?;
            self.check_size(at)?;
        }
        Ok(())
    }

    fn check_size(&self, at: &At<'_>) -> Result<(), SceneError> {
        for (count, what) in [(self.bodies.len(), "bodies"), (self.geoms.len(), "shapes")] {
            if count > MOST_PARTS {
                return Err(at.error(format!(
                    "{count} {what} were seen up to here; a scene has at most {MOST_PARTS}"
                )));
            }
        }
        Ok(())
    }

    fn add_model(
        &mut self,
        name: &str,
        at: &At<'_>,
        dir: &Path,
        surface: Surface,
    ) -> Result<(), SceneError> {
        let mut keys = MODEL_KEYS.to_vec();
        let mut formats = Format::KEYS.iter().filter(|(key, _)| at.entry(key).is_some());
        let file = formats.next();
        if let Some((key, _)) = file {
            keys.push(key);
            keys.extend(robot::KEYS);
        } else if at.entry("bodies").is_some() {
            keys.extend(["bodies", "self_collision", "pose", "start"]);
        } else {
            keys.extend(BODY_KEYS);
        }
        if name == "world" {
            return Err(
                at.error("a model named `world` was seen; that is the name of what never moves")
            );
        }
        let map = at.map(&keys)?;
        let rules = Rules::read(map.get("joints"))?;
        let color = map.get("color").map(shapes::color).transpose()?;
        let defaults = Defaults {
            surface: friction::surface(&map, surface)?,
            color,
            gravity: match map.get("gravity") {
                // links of a file may have separate values
                Some(at) if file.is_some() && at.is_map() => true,
                Some(at) => at.boolean()?,
                None => true,
            },
        };
        let parent = match map.get("parent") {
            None => WORLD,
            Some(at) => self.body(at)?,
        };
        let self_collision = SelfCollision::read(map.get("self_collision"))?;
        self.instances.push(Instance { name: name.to_owned(), self_collision });
        let first = self.bodies.len();
        self.held = map.get("cartesian_stiffness").is_some();
        let shared = Shared { model: name, dir, rules: &rules, defaults: &defaults };
        if let Some((key, format)) = file {
            robot::add(
                self,
                &Entry {
                    model: name,
                    at: map.need(key)?,
                    format: *format,
                    map: &map,
                    dir,
                    parent,
                    rules: &rules,
                    defaults: &defaults,
                    self_collision,
                },
            )?;
        } else if let Some(bodies) = map.get("bodies") {
            let X_PM = map.get("pose").map(pose).transpose()?;
            self.add_listed(bodies, &shared, parent, X_PM)?;
        } else {
            let joint = name.to_owned();
            let site = Site { link: name, joint, parent, X_PM: None };
            self.add_inline(&site, at, &map, &shared)?;
        }
        if let Some(at) = map.get("cartesian_stiffness") {
            let own = self.bodies[first..].iter().map(|b| b.split_once('/').map_or("", |(_, l)| l));
            let links: Vec<(&str, usize)> = own.zip(first..).collect();
            self.springs.extend(cartesian::read(at, name, &links)?);
        }
        if let Some(at) = map.get("start") {
            self.frame_starts.extend(FrameStart::read(at, name)?);
            if let Some(at) = model_start::postures(&map).filter(|_| file.is_none()) {
                return Err(at.error("a posture was seen at a model without a file that names any"));
            }
        }
        rules.all_used(name, &self.joints)
    }

    /// Adds the bodies that a model lists. `X_PM` is the pose of the model in body `parent`.
    fn add_listed(
        &mut self,
        bodies: &At<'_>,
        shared: &Shared<'_>,
        parent: usize,
        X_PM: Option<Pose>,
    ) -> Result<(), SceneError> {
        let mut own: Vec<(String, usize)> = Vec::new();
        for (link, at) in bodies.entries()? {
            check_name("body", link, &at)?;
            let mut keys = BODY_KEYS.to_vec();
            keys.extend(["parent", "color", "friction"]);
            let body = at.map(&keys)?;
            // the model's pose applies to bodies attached to the model's parent
            let (parent, X_PM) = match body.get("parent") {
                None => (parent, X_PM),
                Some(p) => match own.iter().find(|(n, _)| p.text().is_ok_and(|t| t == n)) {
                    Some((_, index)) => (*index, None),
                    None => (self.body(p)?, None),
                },
            };
            let joint = format!("{}.{link}", shared.model);
            let site = Site { link, joint, parent, X_PM };
            let index = self.add_inline(&site, &at, &body, shared)?;
            own.push((link.to_owned(), index));
        }
        Ok(())
    }

    fn add_inline(
        &mut self,
        site: &Site<'_>,
        at: &At<'_>,
        map: &Map<'_>,
        shared: &Shared<'_>,
    ) -> Result<usize, SceneError> {
        let &Shared { model, dir, rules, defaults } = shared;
        let own = Defaults {
            surface: friction::surface(map, defaults.surface)?,
            color: map.get("color").map(shapes::color).transpose()?.or(defaults.color),
            gravity: defaults.gravity,
        };
        let pieces = read_pieces(map, dir, &mut self.notes)?;
        let pose_at = map.get("pose");
        let X_MF = pose_at.map(pose).transpose()?.unwrap_or_default();
        let X_PF = site.X_PM.map_or(X_MF, |X_PM| X_PM * X_MF);
        let links = match map.get("joint") {
            Some(at) => chain(at)?,
            None => vec![Link::of_body(JointKind::Free, at)],
        };
        let n = links.len();
        let last_kind = links[n - 1].kind;
        let inertia = mass::read(at, map, &pieces)?;
        let starts = read_starts(map, n)?;
        let mut velocities = StartVelocity::read_each(map, n)?;
        let mut support = map.get("support").map(|at| SupportGiven::of_one(at, n)).transpose()?;
        let mut parent = site.parent;
        for (k, link) in links.into_iter().enumerate() {
            let last = k + 1 == n;
            let joint_name = match link.name {
                Some(name) => format!("{model}.{name}"),
                None => site.joint.clone(),
            };
            let prefix = format!("{model}.");
            let short = joint_name.strip_prefix(&prefix).unwrap_or(model);
            let mut settings = link.settings.then(&rules.of(short, link.kind.n_v() > 0));
            if settings.start.is_none() {
                settings.start.clone_from(&starts[k]);
            }
            if settings.start_velocity.is_none() {
                settings.start_velocity = velocities[k].take();
            }
            settings.support = settings.support.or(support.take());
            let X = if k == 0 { X_PF } else { Pose::IDENTITY };
            let X_PF = start_at(X, link.kind, &link.at, &mut settings, site.X_PM, pose_at)?;
            let name = if last {
                format!("{}/{}", model, site.link)
            } else {
                format!("{}/{}", model, link.name.unwrap_or(site.link))
            };
            parent = self.add_body(NewBody {
                X_PF,
                inertia: if last { inertia } else { MASSLESS },
                gravity: f64::from(defaults.gravity),
                settings,
                surface: link.surface,
                ..NewBody::new(name, joint_name, parent, link.kind, &link.at)
            })?;
        }
        let idle = last_kind.n_v() > 0 && self.roles[parent] == Role::Passive;
        // warn once for all copies of a model
        if inertia.mass == 0.0 && idle && !is_later_replica(at) {
            self.warnings.push(format!(
                "{}: `{}` moves but has no mass; give `mass` or `density`",
                at.place(),
                self.bodies[parent]
            ));
        }
        self.add_pieces(parent, pieces, &own);
        Ok(parent)
    }
}

/// What all bodies of a model have in common.
struct Shared<'a> {
    model: &'a str,
    /// Folder of relative paths.
    dir: &'a Path,
    rules: &'a Rules<'a>,
    defaults: &'a Defaults,
}

struct Site<'a> {
    link: &'a str,
    joint: String,
    parent: usize,
    /// Pose of the model in its parent, if it is applied in addition to the bodies' poses.
    X_PM: Option<Pose>,
}

/// Converts the pose `X` of a body to the start of its joint, if it is one; returns the pose of the
/// joint. `at` is the joint in the file, `X_PM` the pose of its model, and `given` the pose as the
/// file gives it.
fn start_at(
    X: Pose,
    kind: JointKind,
    at: &At<'_>,
    settings: &mut Settings,
    X_PM: Option<Pose>,
    given: Option<&At<'_>>,
) -> Result<Pose, SceneError> {
    match kind {
        // the pose of a free body is its start, not the pose of its joint
        JointKind::Free => {
            if let (Some(_), Some(pose)) = (&settings.start, given) {
                return Err(pose.error(
                    "`pose` and `start` were seen on a free body; both say where it starts: give one",
                ));
            }
            // like a pose, a start is in the model's frame
            if let (Some(start), Some(X_PM)) = (&mut settings.start, X_PM) {
                let X_MB = joint_pose(&kind, &fit_start(start, &kind, at)?);
                *start = coordinates_of(&(X_PM * X_MB));
            }
            settings.start.get_or_insert(coordinates_of(&X));
            return Ok(Pose::IDENTITY);
        }
        // so is the pose of a planar body, unless it tilts the plane or there is a start
        JointKind::Planar if settings.start.is_none() => {
            let turn = X.rotation.to_rotation_vector();
            if turn.x == 0.0 && turn.y == 0.0 {
                let p = X.translation;
                settings.start = Some(vec![p.x, p.y, turn.z]);
                return Ok(Pose::from_translation(Vec3::new(0.0, 0.0, p.z)));
            }
        }
        _ => {}
    }
    Ok(X)
}

fn read_pieces(
    map: &Map<'_>,
    dir: &Path,
    notes: &mut Vec<String>,
) -> Result<Vec<Piece>, SceneError> {
    let shapes = map.get("shape").or(map.get("shapes"));
    if let Some(cloud) = map.get("cloud") {
        return match shapes {
            None => Ok(vec![cloud_piece(cloud, dir)?]),
            Some(at) => Err(at.error(
                "`cloud` and other shapes were seen; give all of them, the cloud too, in `shapes`",
            )),
        };
    }
    match (map.get("shape"), map.get("shapes")) {
        (Some(_), Some(at)) => Err(at.error("`shape` and `shapes` were seen; give one of them")),
        (Some(one), None) => pieces(one, dir, notes),
        (None, Some(all)) => {
            let mut every = Vec::new();
            for at in all.list()? {
                every.extend(pieces(&at, dir, notes)?);
            }
            Ok(every)
        }
        (None, None) => Ok(Vec::new()),
    }
}

/// `start:` of a body with `n` joints: that of its one joint, or one number for each.
fn read_starts(map: &Map<'_>, n: usize) -> Result<Vec<Option<Vec<f64>>>, SceneError> {
    let Some(at) = model_start::of_joint(map) else { return Ok(vec![None; n]) };
    if n == 1 {
        return Ok(vec![Some(start(at)?)]);
    }
    let values = at.numbers("m or rad")?;
    if values.len() != n {
        return Err(at.error(format!(
            "{} start values were seen for {n} slides and hinges; give one for each",
            values.len()
        )));
    }
    Ok(values.into_iter().map(|x| Some(vec![x])).collect())
}
