//! Collects bodies, shapes, drives and start values while the models of a scene are read.

use crate::cloud::CloudReport;
use crate::collisions::{Instance, SelfCollision};
use crate::constraints::Constraints;
use crate::document::At;
use crate::extents::{Extents, bounds};
use crate::joints::{Settings, fit_start, joint_pose};
use crate::mass::MASSLESS;
use crate::model_start::FrameStart;
use crate::names::find_body;
use crate::shapes::Piece;
use quasistep::{AdhesionPad, CartesianSpring, FrictionException, Geom, Role, Sensor, Surface};
use quasistep_formats::description::{Drive, Masks};
use quasistep_formats::mesh::Textures;
use quasistep_formats::{SceneError, unknown};
use quasistep_geometry::Aabb;
use quasistep_math::{Pose, shown};
use quasistep_model::{BodyDef, BodyInertia, JointKind, Mimic, ModelBuilder};
use quasistep_record::{DrawnGeometry, DrawnShape, NamedFrame, ShapeRole};
use std::collections::BTreeMap;

/// Everything collected from the models of a scene.
pub(crate) struct Assembly {
    pub builder: ModelBuilder,
    /// Role of each body's joint, the world first.
    pub roles: Vec<Role>,
    /// Names of bodies, the world first.
    pub bodies: Vec<String>,
    /// Names of joints, in body order.
    pub joints: Vec<String>,
    pub geoms: Vec<Geom>,
    pub drawing: Vec<DrawnShape>,
    /// Body index and start coordinates of joints that do not start at neutral.
    pub start: Vec<(usize, Vec<f64>)>,
    /// Poses of frames at which models start.
    pub frame_starts: Vec<FrameStart>,
    /// Start coordinates of joints by name, which such poses have given; they override all others.
    pub found: BTreeMap<String, Vec<f64>>,
    /// Body index and target (m or rad) of drives that no command sets.
    pub targets: Vec<(usize, f64)>,
    /// Sensors of the model files.
    pub sensors: Vec<Sensor>,
    /// Named frames of the model files.
    pub named_frames: Vec<NamedFrame>,
    /// Body index and torque (N or N·m) of motors that no command sets.
    pub motors: Vec<(usize, f64)>,
    /// Body index and start velocity of joints for which the scene gives one.
    pub start_velocity: Vec<(usize, Vec<f64>)>,
    pub warnings: Vec<String>,
    pub clouds: Vec<CloudReport>,
    /// Bounding boxes of the bodies added since the last call that took them.
    pub extents: Extents,
    /// Collision instances: one for the world, then the models in scene order.
    pub instances: Vec<Instance>,
    /// For each body, its index in `instances`.
    pub instance_of: Vec<u32>,
    /// Pairs of bodies that the models' files exclude from contact.
    pub never_touch: Vec<[usize; 2]>,
    /// Index and collision masks of shapes that have masks, ascending.
    pub masks: Vec<(usize, Masks)>,
    /// Pairs of shapes with their own friction in a model file; they may collide whatever their
    /// masks are.
    pub pairs: Vec<FrictionException>,
    /// True if visuals of robots are read. They are not needed if the scene is only analysed.
    pub looks: bool,
    /// Mesh textures read so far.
    pub textures: Textures,
    /// Cartesian springs between frames and commanded poses.
    pub springs: Vec<CartesianSpring>,
    /// Loop closures and couplings given by the model files.
    pub constraints: Constraints,
    /// Pads, each with its command at the start.
    pub pads: Vec<(AdhesionPad, f64)>,
    /// True if the current model has Cartesian springs, so that its joints may have no stiffness of
    /// their own.
    pub held: bool,
    /// World pose of each body at the start.
    X_WB: Vec<Pose>,
    /// For each body, true if fixed joints hold it to the world.
    still: Vec<bool>,
    /// Notes about how files were processed, one sentence each.
    pub notes: Vec<String>,
    /// Bodies whose hulls fill holes or hollows of their meshes, and the hull's volume as a multiple of
    /// the mesh's.
    pub filled: Vec<(String, f64)>,
    /// Size in m of each body of a file whose unit the scene takes for a metre, and of each other body with an end.
    pub sizes: [BTreeMap<usize, f64>; 2],
}

/// A body about to be added.
pub(crate) struct NewBody<'e, 'a> {
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
    /// Share of gravity that acts on it.
    pub gravity: f64,
    /// Effort limit given by the model file, in N or N·m.
    pub effort: Option<f64>,
    /// Damping, dry friction and armature given by the model file, in N·s/m, N, kg or N·m·s/rad,
    /// N·m, kg·m².
    pub resistance: Option<[f64; 3]>,
    /// Drive given by the model file.
    pub drive: Option<Drive>,
    /// Motor force given by the model file, in N or N·m.
    pub torque: f64,
    pub settings: Settings,
    /// True if the joint moves the surface of the body and not its place.
    pub surface: bool,
    pub at: &'e At<'a>,
}

impl<'e, 'a> NewBody<'e, 'a> {
    /// A body with no optional properties.
    pub fn new(
        name: String,
        joint_name: String,
        parent: usize,
        kind: JointKind,
        at: &'e At<'a>,
    ) -> Self {
        Self {
            name,
            joint_name,
            parent,
            X_PF: Pose::IDENTITY,
            kind,
            inertia: MASSLESS,
            limits: None,
            mimic: None,
            gravity: 1.0,
            effort: None,
            resistance: None,
            drive: None,
            torque: 0.0,
            settings: Settings::default(),
            surface: false,
            at,
        }
    }
}

/// Most bodies listed whose hulls fill something.
const MOST_FILLED: usize = 4;

/// Default colours of models, distinguishable by most people.
const COLORS: [[f32; 4]; 7] = [
    [0.36, 0.55, 0.75, 1.0],
    [0.90, 0.60, 0.30, 1.0],
    [0.45, 0.68, 0.45, 1.0],
    [0.62, 0.52, 0.75, 1.0],
    [0.80, 0.45, 0.45, 1.0],
    [0.55, 0.70, 0.75, 1.0],
    [0.75, 0.70, 0.45, 1.0],
];
/// Colour of fixed bodies.
const STILL: [f32; 4] = [0.80, 0.81, 0.83, 1.0];

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
            frame_starts: Vec::new(),
            found: BTreeMap::new(),
            targets: Vec::new(),
            sensors: Vec::new(),
            named_frames: Vec::new(),
            motors: Vec::new(),
            start_velocity: Vec::new(),
            warnings: Vec::new(),
            clouds: Vec::new(),
            extents: Extents::default(),
            instances: vec![Instance { name: "world".into(), self_collision: SelfCollision::None }],
            instance_of: vec![0],
            never_touch: Vec::new(),
            masks: Vec::new(),
            pairs: Vec::new(),
            textures: Textures::default(),
            springs: Vec::new(),
            constraints: Constraints::default(),
            pads: Vec::new(),
            held: false,
            X_WB: vec![Pose::IDENTITY],
            still: vec![true],
            notes: Vec::new(),
            filled: Vec::new(),
            sizes: Default::default(),
        }
    }

    /// A note about hulls that fill holes or hollows of their meshes, the fullest first.
    pub fn filled_in_words(&self) -> Option<String> {
        let mut filled = self.filled.clone();
        filled.sort_by(|a, b| b.1.total_cmp(&a.1));
        let of = |(body, times): &(String, f64)| format!("{body} ({times:.2} times)");
        let named: Vec<String> = filled.iter().take(MOST_FILLED).map(of).collect();
        let more = match filled.len().saturating_sub(MOST_FILLED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        (!named.is_empty()).then(|| {
            format!(
                "hulls have more volume than their meshes, whose holes and hollows they fill: {}{more}; \
                 `collision_mesh: split`, of a shape `parts: split`, keeps them open",
                named.join(", ")
            )
        })
    }

    /// A warning about bodies whose files are in millimetres, as it seems: they are larger than what a robot handles, and
    /// than all else in the scene.
    pub fn millimetres_in_words(&self) -> Vec<String> {
        /// Least size of such a body, in m, and as a multiple of the largest other body.
        const LEAST: [f64; 2] = [5.0, 20.0];
        let [unscaled, others] = &self.sizes;
        let other = others.values().copied().fold(0.0, f64::max);
        let large = unscaled.iter().filter(|(_, size)| **size > LEAST[0].max(LEAST[1] * other));
        let words = large.map(|(body, size)| {
            format!(
                "`{}` is {size:.0} m large; if its file is in millimetres, `scale: 0.001` makes it {:.3} m",
                self.bodies[*body],
                1e-3 * size
            )
        });
        words.collect()
    }

    /// Index of the body named by a key.
    pub fn body(&self, at: &At<'_>) -> Result<usize, SceneError> {
        let name = at.text()?;
        let found = find_body(name, self.bodies.iter().map(String::as_str));
        let index = found.and_then(|found| self.bodies.iter().position(|b| b == found));
        index.ok_or_else(|| {
            let names: Vec<&str> = self.bodies.iter().map(String::as_str).collect();
            at.error(format!("{} (bodies above this line)", unknown("body", name, &names)))
        })
    }

    /// Adds a body and its drive.
    pub fn add_body(&mut self, new: NewBody<'_, '_>) -> Result<usize, SceneError> {
        let role = match &new.mimic {
            Some(_) if new.settings.is_driven() => {
                return Err(new.at.error(format!(
                    "a drive was seen on `{}`, which mimics another joint; drive that one",
                    new.joint_name
                )));
            }
            Some(_) => Role::Passive,
            None => {
                new.settings.role(&new.kind, new.effort, new.drive.as_ref(), self.held, new.at)?
            }
        };
        // joints that mimic a driven joint do not keep the file's resistance either
        let led = |m: &Mimic| self.roles.get(m.body).is_some_and(|role| *role == Role::Passive);
        let holds = role == Role::Passive || new.settings.keeps(new.drive.as_ref());
        let file = new.resistance.map(|[damping, friction, armature]| {
            let keeps = holds && new.mimic.as_ref().is_none_or(led);
            if keeps { [damping, friction, armature] } else { [0.0, 0.0, armature] }
        });
        let resistance =
            new.settings.resistance(&new.kind, &role, file, new.mimic.is_some(), new.at)?;
        let mut q = None;
        let limits = new.settings.limits.apply(new.limits);
        let n_q = if new.mimic.is_some() { 0 } else { new.kind.n_q() };
        let given = self.found.get(&new.joint_name).or(new.settings.start.as_ref()).cloned();
        let start = given.or_else(|| within(limits?).filter(|_| n_q == 1));
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
        if let (Role::Actuated(_), Some(target)) = (&role, new.drive.and_then(|d| d.target)) {
            self.targets.push((self.bodies.len(), target));
        }
        if new.torque != 0.0 && role != Role::Prescribed && new.mimic.is_none() {
            self.motors.push((self.bodies.len(), new.torque));
        }
        let X_WP = self.X_WB[new.parent];
        let q = q.filter(|_| !new.surface).unwrap_or_default();
        self.still.push(new.kind == JointKind::Fixed && self.still[new.parent]);
        self.X_WB.push(X_WP * new.X_PF * joint_pose(&new.kind, &q));
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
        if new.surface {
            self.builder.set_surface(index).map_err(|e| new.at.error(e.to_string()))?;
        }
        self.instance_of.push(self.instances.len() as u32 - 1);
        self.bodies.push(new.name);
        self.joints.push(new.joint_name);
        self.roles.push(role);
        Ok(index)
    }

    /// Colour of the next shapes of a body if nothing gives one.
    pub fn fallback_color(&self, body: usize) -> [f32; 4] {
        if self.still[body] { STILL } else { COLORS[self.geoms.len() % COLORS.len()] }
    }

    /// Adds shapes to a body.
    pub fn add_pieces(&mut self, body: usize, pieces: Vec<Piece>, defaults: &Defaults) {
        self.measure(body, &pieces);
        let fallback = self.fallback_color(body);
        for (k, piece) in pieces.into_iter().enumerate() {
            let name = match piece.name {
                Some(name) => format!("{}/{}", self.bodies[body], shown(&name)),
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

    /// Adds the bounding box of a body's collision shapes at its start pose to `extents`.
    fn measure(&mut self, body: usize, pieces: &[Piece]) {
        let is_unscaled = pieces.iter().any(|piece| piece.unscaled);
        let boxes = pieces
            .iter()
            .filter(|piece| piece.collides)
            .map(|piece| bounds(&piece.shape, &(self.X_WB[body] * piece.X_BG)));
        let both = |a: Aabb, b: Aabb| Aabb { min: a.min.min(b.min), max: a.max.max(b.max) };
        if let Some(all) = boxes.reduce(both) {
            self.extents.add(&self.bodies[body], &all);
            let size = (all.max - all.min).to_array().into_iter().fold(0.0, f64::max);
            if size.is_finite() {
                self.sizes[usize::from(!is_unscaled)].insert(body, size);
            }
        }
    }

    /// Adds a drawn shape.
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

/// Defaults for all bodies of a model.
pub(crate) struct Defaults {
    pub surface: Surface,
    pub color: Option<[f32; 4]>,
    pub gravity: bool,
}

/// Default start of a joint whose limits exclude 0: their middle, or the finite limit. `None` if 0
/// is allowed.
fn within([lower, upper]: [f64; 2]) -> Option<Vec<f64>> {
    if lower <= 0.0 && upper >= 0.0 {
        return None;
    }
    let middle = 0.5 * (lower + upper);
    let only = if lower.is_finite() { lower } else { upper };
    Some(vec![if middle.is_finite() { middle } else { only }])
}
