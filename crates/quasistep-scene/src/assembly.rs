//! Models of a scene, gathered into bodies, shapes, drives and a start configuration.

use crate::cartesian;
use crate::cloud::CloudReport;
use crate::collisions::{Instance, SelfCollision};
use crate::document::{At, unknown};
use crate::error::SceneError;
use crate::extents::{Extents, bounds};
use crate::friction;
use crate::joints::{self, Link, Settings, chain, fits, joint_pose};
use crate::mass;
use crate::mesh::Textures;
use crate::repeat::Repeat;
use crate::shapes::{self, Piece, cloud_piece, pieces, pose};
use crate::start_velocity::StartVelocity;
use crate::urdf_model;
use quasistep::{CartesianSpring, Geom, Role, Surface};
use quasistep_geometry::Aabb;
use quasistep_math::{Mat3, Pose, Vec3};
use quasistep_model::{BodyDef, BodyInertia, JointKind, Mimic, ModelBuilder, WORLD};
use quasistep_record::{DrawnGeometry, DrawnShape, ShapeRole};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What the models of a scene add up to.
pub(crate) struct Assembly {
    pub builder: ModelBuilder,
    /// One per body, the world first.
    pub roles: Vec<Role>,
    /// Names of bodies, the world first.
    pub bodies: Vec<String>,
    /// Names of joints, in body order.
    pub joints: Vec<String>,
    pub geoms: Vec<Geom>,
    pub drawing: Vec<DrawnShape>,
    /// Start values of bodies' joints that differ from neutral.
    pub start: Vec<(usize, Vec<f64>)>,
    /// Start velocities of bodies' joints, where the scene gives one.
    pub start_velocity: Vec<(usize, Vec<f64>)>,
    pub warnings: Vec<String>,
    pub clouds: Vec<CloudReport>,
    /// Boxes around the bodies added since they were last taken.
    pub extents: Extents,
    /// Models in the order of the scene, after one for the world.
    pub instances: Vec<Instance>,
    /// By body, its place among `instances`.
    pub instance_of: Vec<u32>,
    /// Pairs of bodies that the models' files exclude from contact.
    pub never_touch: Vec<[usize; 2]>,
    /// Are the visuals of robots read? Nobody sees a scene that is read to measure it.
    pub looks: bool,
    /// Textures of meshes read so far.
    pub textures: Textures,
    /// Springs between frames and the poses that they are told.
    pub springs: Vec<CartesianSpring>,
    /// The model at hand has such springs: its joints may have no stiffness of their own.
    held: bool,
    /// Poses of bodies at the start.
    X_WB: Vec<Pose>,
    /// What was made of a file, in a sentence each.
    pub notes: Vec<String>,
}

/// A body about to be added.
pub(crate) struct NewBody<'a> {
    /// `model/link`.
    pub name: String,
    /// `model.joint`.
    pub joint_name: String,
    pub parent: usize,
    pub X_PF: Pose,
    pub kind: JointKind,
    pub inertia: BodyInertia,
    pub limits: Option<[f64; 2]>,
    pub mimic: Option<Mimic>,
    pub gravity: bool,
    /// Effort limit of the model file.
    pub effort: Option<f64>,
    /// Damping and dry friction of the model file, in N·s/m and N or N·m·s/rad and N·m.
    pub resistance: Option<[f64; 2]>,
    pub settings: Settings,
    pub at: &'a At<'a>,
}

/// Keys that every model may have.
const MODEL_KEYS: [&str; 7] =
    ["repeat", "gravity", "parent", "joints", "color", "friction", "cartesian_stiffness"];
/// Keys of a model that is a robot from a URDF file, beside those of every model.
const URDF_KEYS: [&str; 10] = [
    "urdf",
    "srdf",
    "packages",
    "repair",
    "self_collision",
    "collision_mesh",
    "pose",
    "joint",
    "start",
    "start_velocity",
];
/// Keys of a body; a model that is one body has them beside those of every model.
const BODY_KEYS: [&str; 11] = [
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
];

/// Colours of models that name none, told apart by most eyes.
const COLORS: [[f32; 4]; 7] = [
    [0.36, 0.55, 0.75, 1.0],
    [0.90, 0.60, 0.30, 1.0],
    [0.45, 0.68, 0.45, 1.0],
    [0.62, 0.52, 0.75, 1.0],
    [0.80, 0.45, 0.45, 1.0],
    [0.55, 0.70, 0.75, 1.0],
    [0.75, 0.70, 0.45, 1.0],
];
/// Colour of what stands still.
const STILL: [f32; 4] = [0.80, 0.81, 0.83, 1.0];

pub(crate) const MASSLESS: BodyInertia =
    BodyInertia { mass: 0.0, com: Vec3::ZERO, inertia: Mat3::ZERO };

impl Assembly {
    pub fn new(looks: bool) -> Self {
        Self {
            looks,
            builder: ModelBuilder::new(),
            roles: vec![Role::Passive],
            bodies: vec!["world".into()],
            joints: vec![String::new()],
            geoms: Vec::new(),
            drawing: Vec::new(),
            start: Vec::new(),
            start_velocity: Vec::new(),
            warnings: Vec::new(),
            clouds: Vec::new(),
            extents: Extents::default(),
            instances: vec![Instance { name: "world".into(), self_collision: SelfCollision::None }],
            instance_of: vec![0],
            never_touch: Vec::new(),
            textures: Textures::default(),
            springs: Vec::new(),
            held: false,
            X_WB: vec![Pose::IDENTITY],
            notes: Vec::new(),
        }
    }

    /// Adds one entry of `models:`, a model or its copies; paths are relative to `dir`.
    pub fn add_models(
        &mut self,
        name: &str,
        at: &At<'_>,
        dir: &Path,
        surface: Surface,
    ) -> Result<(), SceneError> {
        check_name("model", name, at)?;
        let Some(repeat) = at.entry("repeat") else {
            return self.add_model(name, at, dir, surface);
        };
        for replica in Repeat::read(&repeat)?.replicas(name) {
            let replica = replica?;
            self.add_model(replica.name(), &at.of_replica(&replica), dir, surface)?;
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
        if at.entry("urdf").is_some() {
            keys.extend(URDF_KEYS);
        } else if at.entry("bodies").is_some() {
            keys.extend(["bodies", "self_collision", "pose"]);
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
            gravity: map.get("gravity").map_or(Ok(true), At::boolean)?,
        };
        let parent = match map.get("parent") {
            None => WORLD,
            Some(at) => self.body(at)?,
        };
        self.instances.push(Instance {
            name: name.to_owned(),
            self_collision: SelfCollision::read(map.get("self_collision"))?,
        });
        let first = self.bodies.len();
        self.held = map.get("cartesian_stiffness").is_some();
        if let Some(urdf) = map.get("urdf") {
            urdf_model::add(self, name, urdf, &map, dir, parent, &rules, &defaults)?;
        } else if let Some(bodies) = map.get("bodies") {
            let X_PM = map.get("pose").map(pose).transpose()?;
            let mut own: Vec<(String, usize)> = Vec::new();
            for (link, at) in bodies.entries()? {
                check_name("body", link, &at)?;
                let mut keys = BODY_KEYS.to_vec();
                keys.extend(["parent", "color", "friction"]);
                let body = at.map(&keys)?;
                // the model's pose moves the bodies that sit on the model's own parent
                let (parent, X_PM) = match body.get("parent") {
                    None => (parent, X_PM),
                    Some(p) => match own.iter().find(|(n, _)| p.text().is_ok_and(|t| t == n)) {
                        Some((_, index)) => (*index, None),
                        None => (self.body(p)?, None),
                    },
                };
                let joint = format!("{name}.{link}");
                let site = Site { model: name, link, joint, parent, X_PM };
                let index = self.add_inline(&site, &at, &body, dir, &rules, &defaults)?;
                own.push((link.to_owned(), index));
            }
        } else {
            let joint = name.to_owned();
            let site = Site { model: name, link: name, joint, parent, X_PM: None };
            self.add_inline(&site, at, &map, dir, &rules, &defaults)?;
        }
        if let Some(at) = map.get("cartesian_stiffness") {
            let own = self.bodies[first..].iter().map(|b| b.split_once('/').map_or("", |(_, l)| l));
            let links: Vec<(&str, usize)> = own.zip(first..).collect();
            self.springs.extend(cartesian::read(at, name, &links)?);
        }
        rules.all_used(name, &self.joints)
    }

    /// The body that a key names.
    pub fn body(&self, at: &At<'_>) -> Result<usize, SceneError> {
        let name = at.text()?;
        // `model` alone means its body of the same name
        let found = self.bodies.iter().position(|b| {
            b == name || b.split_once('/').is_some_and(|(m, l)| m == name && l == name)
        });
        found.ok_or_else(|| {
            let names: Vec<&str> = self.bodies.iter().map(String::as_str).collect();
            at.error(format!("{} (bodies above this line)", unknown("body", name, &names)))
        })
    }

    fn add_inline(
        &mut self,
        site: &Site<'_>,
        at: &At<'_>,
        map: &crate::document::Map<'_>,
        dir: &Path,
        rules: &Rules<'_>,
        defaults: &Defaults,
    ) -> Result<usize, SceneError> {
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
            None => vec![Link {
                name: None,
                kind: JointKind::Free,
                settings: Settings::default(),
                at: at.clone(),
            }],
        };
        let n = links.len();
        let last_kind = links[n - 1].kind;
        let inertia = mass::read(at, map, &pieces)?;
        let starts = read_starts(map, n)?;
        let mut velocities = StartVelocity::read_each(map, n)?;
        let mut parent = site.parent;
        for (k, link) in links.into_iter().enumerate() {
            let last = k + 1 == n;
            let joint_name = match link.name {
                Some(name) => format!("{}.{name}", site.model),
                None => site.joint.clone(),
            };
            let prefix = format!("{}.", site.model);
            let short = joint_name.strip_prefix(&prefix).unwrap_or(site.model);
            let mut settings = link.settings.then(&rules.of(short, link.kind.n_v() > 0));
            if settings.start.is_none() {
                settings.start.clone_from(&starts[k]);
            }
            if settings.start_velocity.is_none() {
                settings.start_velocity = velocities[k].take();
            }
            let mut X = if k == 0 { X_PF } else { Pose::IDENTITY };
            match link.kind {
                // a free body's pose is where it starts, not where its joint sits
                JointKind::Free => {
                    if let (Some(_), Some(pose)) = (&settings.start, pose_at) {
                        return Err(pose.error(
                            "`pose` and `start` were seen on a free body; both say where it starts: give one",
                        ));
                    }
                    // a start is in the model's frame, as a pose is
                    if let (Some(start), Some(X_PM)) = (&mut settings.start, site.X_PM) {
                        let X_MB = joint_pose(&link.kind, &fit_start(start, &link.kind, &link.at)?);
                        *start = coordinates_of(&(X_PM * X_MB));
                    }
                    settings.start.get_or_insert(coordinates_of(&X));
                    X = Pose::IDENTITY;
                }
                // so is a planar body's, unless it tilts the plane or a start is given in it
                JointKind::Planar if settings.start.is_none() => {
                    let turn = X.rotation.to_rotation_vector();
                    if turn.x == 0.0 && turn.y == 0.0 {
                        let p = X.translation;
                        settings.start = Some(vec![p.x, p.y, turn.z]);
                        X = Pose::from_translation(Vec3::new(0.0, 0.0, p.z));
                    }
                }
                _ => {}
            }
            let name = if last {
                format!("{}/{}", site.model, site.link)
            } else {
                format!("{}/{}", site.model, link.name.unwrap_or(site.link))
            };
            parent = self.add_body(NewBody {
                name,
                joint_name,
                parent,
                X_PF: X,
                kind: link.kind,
                inertia: if last { inertia } else { MASSLESS },
                limits: None,
                mimic: None,
                gravity: defaults.gravity,
                effort: None,
                resistance: None,
                settings,
                at: &link.at,
            })?;
        }
        let idle = last_kind.n_v() > 0 && self.roles[parent] == Role::Passive;
        // once for all copies of a model: they lack it together
        if inertia.mass == 0.0 && idle && !at.is_later_replica() {
            self.warnings.push(format!(
                "{}: `{}` moves but has no mass; give `mass` or `density`",
                at.place(),
                self.bodies[parent]
            ));
        }
        let still = matches!(last_kind, JointKind::Fixed) && site.parent == WORLD;
        self.add_pieces(parent, pieces, &own, still);
        Ok(parent)
    }

    /// Adds a body and its drive.
    pub fn add_body(&mut self, new: NewBody<'_>) -> Result<usize, SceneError> {
        let role = match &new.mimic {
            Some(_) if new.settings.is_driven() => {
                return Err(new.at.error(format!(
                    "a drive was seen on `{}`, which mimics another joint; drive that one",
                    new.joint_name
                )));
            }
            Some(_) => Role::Passive,
            None => new.settings.role(&new.kind, new.effort, self.held, new.at)?,
        };
        // of a joint that follows a driven one the file's resistance is left out too
        let led = |m: &Mimic| self.roles.get(m.body).is_some_and(|role| *role == Role::Passive);
        let file = new.resistance.filter(|_| new.mimic.as_ref().is_none_or(led));
        let resistance = new.settings.resistance(&new.kind, &role, file, new.at)?;
        let mut q = None;
        let limits = new.settings.limits.apply(new.limits);
        let n_q = if new.mimic.is_some() { 0 } else { new.kind.n_q() };
        let start = new.settings.start.clone().or_else(|| within(limits?).filter(|_| n_q == 1));
        if let Some(start) = &start {
            let start = fit_start(start, &new.kind, new.at)?;
            if n_q != start.len() {
                return Err(new
                    .at
                    .error("a start value was seen on a joint without a coordinate of its own"));
            }
            q = Some(start.clone());
            self.start.push((self.bodies.len(), start));
        }
        if let Some(velocity) = &new.settings.start_velocity {
            let n_v = if new.mimic.is_some() { 0 } else { new.kind.n_v() };
            let rates = velocity.fit(&new.kind, n_v, new.at)?;
            self.start_velocity.push((self.bodies.len(), rates));
        }
        if let Some(mimic) = &new.mimic {
            let led = self.start.iter().find(|(body, _)| *body == mimic.body);
            let leader = led.and_then(|(_, q)| q.first()).copied().unwrap_or(0.0);
            q = Some(vec![mimic.multiplier * leader + mimic.offset]);
        }
        let X_WP = self.X_WB[new.parent];
        self.X_WB.push(X_WP * new.X_PF * joint_pose(&new.kind, &q.unwrap_or_default()));
        let index = self
            .builder
            .add_body(BodyDef {
                name: new.name.clone(),
                joint_name: new.joint_name.clone(),
                parent: new.parent,
                X_PF: new.X_PF,
                joint: new.kind,
                inertia: new.inertia,
                limits,
                mimic: new.mimic,
                gravity: new.gravity,
            })
            .map_err(|e| new.at.error(e.to_string()))?;
        self.builder.set_resistance(index, resistance).map_err(|e| new.at.error(e.to_string()))?;
        self.instance_of.push(self.instances.len() as u32 - 1);
        self.bodies.push(new.name);
        self.joints.push(new.joint_name);
        self.roles.push(role);
        Ok(index)
    }

    /// Adds the shapes of a body.
    pub fn add_pieces(
        &mut self,
        body: usize,
        pieces: Vec<Piece>,
        defaults: &Defaults,
        still: bool,
    ) {
        self.measure(body, &pieces);
        let fallback = if still { STILL } else { COLORS[self.geoms.len() % COLORS.len()] };
        for (k, piece) in pieces.into_iter().enumerate() {
            let name = match piece.name {
                Some(name) => format!("{}/{name}", self.bodies[body]),
                None => format!("{}/{k}", self.bodies[body]),
            };
            let color = piece.color.or(defaults.color).unwrap_or(fallback);
            if piece.visible {
                let role = if piece.collides { ShapeRole::Both } else { ShapeRole::Visual };
                self.draw(body, &name, piece.X_BG, piece.drawn, color, role);
            } else if piece.collides {
                self.draw(body, &name, piece.X_BG, piece.drawn, color, ShapeRole::Collision);
            }
            if let Some(mut report) = piece.cloud {
                report.body.clone_from(&self.bodies[body]);
                self.clouds.push(report);
            }
            if piece.collides {
                let surface = piece.friction.over(defaults.surface);
                self.geoms.push(Geom { name, body, X_BG: piece.X_BG, shape: piece.shape, surface });
            }
        }
    }

    /// Notes the box around a body's collision shapes where it starts.
    fn measure(&mut self, body: usize, pieces: &[Piece]) {
        let boxes = pieces
            .iter()
            .filter(|piece| piece.collides)
            .map(|piece| bounds(&piece.shape, &(self.X_WB[body] * piece.X_BG)));
        let both = |a: Aabb, b: Aabb| Aabb { min: a.min.min(b.min), max: a.max.max(b.max) };
        if let Some(all) = boxes.reduce(both) {
            self.extents.add(&self.bodies[body], &all);
        }
    }

    /// Adds something to look at.
    pub fn draw(
        &mut self,
        body: usize,
        name: &str,
        X_BG: Pose,
        geometry: DrawnGeometry,
        color: [f32; 4],
        role: ShapeRole,
    ) {
        let name = name.to_owned();
        self.drawing.push(DrawnShape { body, name, X_BG, geometry, color, paint: None, role });
    }
}

/// What holds for all bodies of a model unless they say otherwise.
pub(crate) struct Defaults {
    pub surface: Surface,
    pub color: Option<[f32; 4]>,
    pub gravity: bool,
}

struct Site<'a> {
    model: &'a str,
    link: &'a str,
    joint: String,
    parent: usize,
    /// Pose of the model in the parent, where it has one beside its bodies'.
    X_PM: Option<Pose>,
}

/// `joints:` of a model: settings by pattern, later ones override earlier ones.
pub(crate) struct Rules<'a> {
    all: Vec<(&'a str, Settings, At<'a>)>,
    /// By pattern without a `*` its place in `all`: a robot may have thousands.
    names: BTreeMap<&'a str, usize>,
    /// Places of the patterns with a `*`, ascending.
    patterns: Vec<usize>,
}

impl<'a> Rules<'a> {
    fn read(at: Option<&At<'a>>) -> Result<Self, SceneError> {
        let mut rules = Self { all: Vec::new(), names: BTreeMap::new(), patterns: Vec::new() };
        let entries = at.map_or(Ok(Vec::new()), At::entries)?;
        for (k, (pattern, at)) in entries.into_iter().enumerate() {
            if pattern.contains('*') {
                rules.patterns.push(k);
            } else {
                rules.names.insert(pattern, k);
            }
            rules.all.push((pattern, Settings::read(&at.map(&joints::KEYS)?)?, at));
        }
        Ok(rules)
    }

    /// Places of the rules that fit a joint, ascending.
    fn fitting(&self, joint: &str) -> Vec<usize> {
        let fits = |k: &&usize| fits(self.all[**k].0, joint);
        let mut all: Vec<usize> = self.patterns.iter().filter(fits).copied().collect();
        all.extend(self.names.get(joint));
        all.sort_unstable();
        all
    }

    /// What they say of the joint with this name within its model. A pattern with a `*` speaks of
    /// joints with a dof of their own only, so that `*` does not drive fixed and mimic joints.
    pub fn of(&self, joint: &str, own_dof: bool) -> Settings {
        self.fitting(joint)
            .into_iter()
            .map(|k| &self.all[k])
            .filter(|(pattern, ..)| own_dof || !pattern.contains('*'))
            .fold(Settings::default(), |sum, (_, settings, _)| sum.then(settings))
    }

    /// Where a joint with this name is spoken of, for complaints.
    pub fn place(&self, joint: &str) -> Option<&At<'a>> {
        self.fitting(joint).last().map(|&k| &self.all[k].2)
    }

    /// A pattern that fits no joint is a mistake.
    fn all_used(&self, model: &str, joints: &[String]) -> Result<(), SceneError> {
        if self.all.is_empty() {
            return Ok(());
        }
        let prefix = format!("{model}.");
        // the joint on which a robot or a single body sits has the model's name
        let own: Vec<&str> = joints
            .iter()
            .filter_map(|j| if j == model { Some(model) } else { j.strip_prefix(&prefix) })
            .collect();
        let names: BTreeSet<&str> = own.iter().copied().collect();
        for (pattern, _, at) in &self.all {
            let is_used = names.contains(pattern)
                || pattern.contains('*') && own.iter().any(|j| fits(pattern, j));
            if !is_used {
                return Err(at.error(unknown("joint", pattern, &own)));
            }
        }
        Ok(())
    }
}

fn read_pieces(
    map: &crate::document::Map<'_>,
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

/// Start of a joint whose limits exclude 0: their middle, or the only one there is.
fn within([lower, upper]: [f64; 2]) -> Option<Vec<f64>> {
    if lower <= 0.0 && upper >= 0.0 {
        return None;
    }
    let middle = 0.5 * (lower + upper);
    let only = if lower.is_finite() { lower } else { upper };
    Some(vec![if middle.is_finite() { middle } else { only }])
}

/// `start:` of a body on `n` joints: of its joint, or one number for each of several.
fn read_starts(
    map: &crate::document::Map<'_>,
    n: usize,
) -> Result<Vec<Option<Vec<f64>>>, SceneError> {
    let Some(at) = map.get("start") else { return Ok(vec![None; n]) };
    if n == 1 {
        return Ok(vec![Some(joints::start(at)?)]);
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

/// Coordinates of a free joint in this pose.
pub(crate) fn coordinates_of(X: &Pose) -> Vec<f64> {
    X.rotation.to_array().into_iter().chain(X.translation.to_array()).collect()
}

pub(crate) fn check_name(what: &str, name: &str, at: &At<'_>) -> Result<(), SceneError> {
    if name.is_empty() || name.contains(['/', '.', '*', ',']) {
        return Err(at.error(format!(
            "the {what} name `{name}` was seen; a name has no `/`, `.`, `*` or `,`"
        )));
    }
    if at.is_implied() {
        return Err(at.error(format!("there is no {what} `{name}`; name one of the scene's")));
    }
    Ok(())
}

/// A start value as coordinates of this kind of joint.
fn fit_start(start: &[f64], kind: &JointKind, at: &At<'_>) -> Result<Vec<f64>, SceneError> {
    let n = kind.n_q();
    // a pose given to a ball joint is its orientation
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
    Ok(start.to_vec())
}
