//! The data of a recording, and checks of its consistency.

use crate::uniqueness::Uniqueness;
use quasistep_math::{Pose, Vec3};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Most readings of one sensor.
const MOST_READINGS: usize = 1 << 20;

/// A whole run: names, drawn shapes, and the [`Frame`]s at the start and after every step.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// File or name of the scene.
    pub scene: String,
    /// Title for display.
    pub title: String,
    /// Step size h, in s, > 0.
    pub time_step: f64,
    /// Names `model/link` of bodies; entry 0 is `world`.
    pub bodies: Vec<String>,
    /// What moves each body. An empty list if it is unknown.
    pub roles: Vec<BodyRole>,
    /// Names `model/link/shape` of collision shapes.
    pub collision_shapes: Vec<String>,
    /// Drawn shapes, each fixed to one body.
    pub shapes: Vec<DrawnShape>,
    /// Named frames on bodies.
    pub named_frames: Vec<NamedFrame>,
    /// Bodies at their goals, if the run had some.
    pub goals: Vec<GoalPose>,
    /// Quantities that tell how the run came nearer to its goals.
    pub curves: Vec<Curve>,
    /// Names of the coordinates, one per entry of [`Frame::q`].
    pub coordinates: Vec<String>,
    /// Units of the coordinates: `m`, `rad`, or empty for parts of a quaternion. An empty list if they are unknown.
    pub units: Vec<String>,
    /// Names of the rates, one per entry of [`Frame::v`]; empty if steps carry no velocity.
    pub dofs: Vec<String>,
    /// Names of the commanded coordinates, one per entry of [`Frame::q_cmd`].
    pub commands: Vec<String>,
    /// Sensors, whose readings are [`Frame::sensors`], one after another.
    pub sensors: Vec<RecordedSensor>,
    /// Frame 0 is the start; frame k is the end of step k.
    pub frames: Vec<Frame>,
    /// How the run ended.
    pub finish: Finish,
}

/// What moves a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyRole {
    /// Nothing: no coordinate moves it.
    Fixed,
    /// Drives of its model.
    Driven,
    /// What touches it.
    Free,
}

/// A named frame F on a body: a frame or site of a model file, a link without shapes, a frame with a spring.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedFrame {
    /// Its name, `model/frame`.
    pub name: String,
    /// Index of its body in [`Recording::bodies`].
    pub body: usize,
    /// Pose of F in its body B.
    pub X_BF: Pose,
}

/// A pose that a body is to have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoalPose {
    /// Index of the body in [`Recording::bodies`].
    pub body: usize,
    /// The pose, in W.
    pub X_WB: Pose,
}

/// A quantity in time that is not of the simulation, such as the cost of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Heading of its plot, with the unit. Curves of one heading share a plot.
    pub title: String,
    /// Name of the quantity.
    pub name: String,
    /// Times, ascending, in s. A value holds until the next time.
    pub times: Vec<f64>,
    /// Values, as many as times.
    pub values: Vec<f64>,
    /// What is drawn dashed beside it, in a word of its heading, such as `goals`; and its values, as
    /// many as times.
    pub beside: Option<(String, Vec<f64>)>,
}

impl Curve {
    fn check(&self) -> Result<(), String> {
        length("values", self.values.len(), self.times.len())?;
        finite("times", &self.times)?;
        finite("values", &self.values)?;
        if let Some((name, values)) = &self.beside {
            length(name, values.len(), self.times.len())?;
            finite(name, values)?;
        }
        Ok(())
    }
}

/// A sensor of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedSensor {
    /// Its name.
    pub name: String,
    /// What it measures.
    pub kind: SensorKind,
    /// Unit of its readings: `N, N·m`, `N`, `Pa` or `m`.
    pub unit: String,
    /// Extents of the array of its readings: `[6]` of a force-torque sensor (fx, fy, fz, tx, ty, tz), `[n, m]` of a
    /// pressure array, none for a single number.
    pub shape: Vec<usize>,
    /// Edges of a pressure array along its two axes, in m; empty for other kinds.
    pub size: Vec<f64>,
}

/// What a sensor measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SensorKind {
    /// Force and torque through a body.
    ForceTorque,
    /// Normal forces or pressures on an array.
    Pressure,
    /// Distance to the nearest shape along a ray.
    Proximity,
}

impl RecordedSensor {
    /// Number of its readings in a frame.
    pub fn len(&self) -> usize {
        self.shape.iter().fold(1, |n, extent| n.saturating_mul(*extent))
    }

    /// True for an array without entries, which no sensor has.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Names of its readings: `wrist.fx`, `pad.0.3` (taxel 0 along x, 3 along y), `range`.
    pub fn columns(&self) -> Vec<String> {
        let name = &self.name;
        match (self.kind, &self.shape[..]) {
            (SensorKind::ForceTorque, _) => {
                ["fx", "fy", "fz", "tx", "ty", "tz"].map(|x| format!("{name}.{x}")).to_vec()
            }
            (_, [n, m]) => (0..n * m).map(|k| format!("{name}.{}.{}", k / m, k % m)).collect(),
            _ => vec![name.clone()],
        }
    }

    fn check(&self) -> Result<(), String> {
        let (dims, n_edges) = match self.kind {
            SensorKind::ForceTorque => (self.shape == [6], 0),
            SensorKind::Pressure => (self.shape.len() == 2 && !self.is_empty(), 2),
            SensorKind::Proximity => (self.shape.is_empty(), 0),
        };
        if !dims || self.len() > MOST_READINGS {
            return Err(format!(
                "readings of shape {:?}, which its kind does not have",
                self.shape
            ));
        }
        length("edges", self.size.len(), n_edges)?;
        positive("edge", &self.size)
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It reached its duration.
    Done,
    /// A step failed; frames before it are kept.
    Stopped {
        /// Message of the failed step.
        reason: String,
    },
}

/// A drawn shape.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnShape {
    /// Index of its body in [`Recording::bodies`].
    pub body: usize,
    /// Name of the shape.
    pub name: String,
    /// Pose of the shape's frame G in its body B.
    pub X_BG: Pose,
    /// Geometry in frame G.
    pub geometry: DrawnGeometry,
    /// Red, green, blue and opacity, from 0 to 1. For a shape with a paint, its mean colour.
    pub color: [f32; 4],
    /// Texture or vertex colours of a mesh, which replace `color` where they can be drawn.
    pub paint: Option<Paint>,
    /// Whether it is a visual or a collision shape.
    pub role: ShapeRole,
}

/// Colours that vary over a mesh.
#[derive(Clone, Debug, PartialEq)]
pub enum Paint {
    /// Red, green, blue of each vertex, in sRGB.
    Vertices(Vec<[u8; 3]>),
    /// A texture image.
    Texture {
        /// Texture coordinates of each vertex: u to the right, v down, from 0 to 1 across the
        /// image, repeating beyond.
        uv: Vec<[f32; 2]>,
        /// The image. Shapes that share an image also share it in the file.
        image: Arc<Image>,
    },
}

/// An encoded image file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// MIME type: `image/png` or `image/jpeg`.
    pub mime: String,
    /// Contents of the file.
    pub bytes: Vec<u8>,
}

/// Geometry in the shape's frame G; lengths in m.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum DrawnGeometry {
    /// Ball centred at the origin.
    Sphere {
        /// Radius, in m.
        radius: f64,
    },
    /// Box centred at the origin.
    Box {
        /// Half of each edge, in m.
        half: [f64; 3],
    },
    /// Capsule centred at the origin, along z.
    Capsule {
        /// Radius, in m.
        radius: f64,
        /// Half of the core segment's length, in m.
        half_length: f64,
    },
    /// Cylinder centred at the origin, along z.
    Cylinder {
        /// Radius, in m.
        radius: f64,
        /// Half of its length, in m.
        half_length: f64,
    },
    /// Ellipsoid centred at the origin.
    Ellipsoid {
        /// Half of each axis, in m.
        radii: [f64; 3],
    },
    /// Half-space z ≤ 0, drawn as a large plane with outward normal +z.
    HalfSpace,
    /// Triangles, counter-clockwise seen from outside.
    Mesh {
        /// Vertices, in m.
        vertices: Vec<[f64; 3]>,
        /// Indices of the corners of each triangle in `vertices`.
        triangles: Vec<[u32; 3]>,
    },
    /// Dots on a surface, for point clouds.
    Points {
        /// Positions, in m.
        points: Vec<[f32; 3]>,
        /// Unit normal at each point, of either sign, for lighting. Empty if unknown.
        normals: Vec<[f32; 3]>,
        /// Width of a dot, in m, > 0.
        width: f64,
    },
}

/// Use of a drawn shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShapeRole {
    /// Visual shape only.
    Visual,
    /// Collision shape of a body that has separate visual shapes.
    Collision,
    /// Collision shape that is also drawn as visual.
    Both,
}

/// State and results at the end of a step; frame 0 is the start.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Time, in s; frame k is at k h.
    pub t: f64,
    /// World pose of every body.
    pub X_WB: Vec<Pose>,
    /// Configuration, one entry per name of [`Recording::coordinates`]; m, rad, or dimensionless
    /// for quaternions.
    pub q: Vec<f64>,
    /// Velocity with which the next step begins, one entry per name of [`Recording::dofs`]; m/s or
    /// rad/s.
    pub v: Vec<f64>,
    /// Commands of the step that ends at this frame, one entry per name of [`Recording::commands`];
    /// m, rad, or dimensionless for quaternions. Empty in frame 0.
    pub q_cmd: Vec<f64>,
    /// Drive force of each commanded coordinate in the step that ends at this frame, in N or N·m.
    /// Empty in frame 0.
    pub effort: Vec<f64>,
    /// Readings of [`Recording::sensors`] in the step that ends at this frame. Empty in frame 0.
    pub sensors: Vec<f64>,
    /// Contacts of the step that ends at this frame. Empty in frame 0.
    pub contacts: Vec<Contact>,
    /// Uniqueness of the step's solution, if the run checked it. `None` in frame 0.
    pub uniqueness: Option<Uniqueness>,
}

/// One contact point of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Index of body A in [`Recording::bodies`].
    pub a: usize,
    /// Index of body B in [`Recording::bodies`].
    pub b: usize,
    /// Contact point at the start of the step, in W, in m.
    pub p_W: Vec3,
    /// Unit normal from A into B, in W.
    pub n_AB_W: Vec3,
    /// Signed distance before the step, in m; < 0 overlapping.
    pub phi: f64,
    /// Signed distance after the step by the step's linearisation, in m.
    pub phi_next: f64,
    /// Normal force, in N, ≥ 0: that with which the surfaces press one another.
    pub normal_force: f64,
    /// Total force on B, in W, in N: friction and normal force, less the pull of pads.
    pub force_W: Vec3,
    /// Torque on B about the normal, in N·m.
    pub spin: f64,
    /// Rolling friction torque on B, orthogonal to the normal, in W, in N·m.
    pub roll_W: Vec3,
    /// Contact mode in the step.
    pub mode: Mode,
    /// Friction coefficient of the pair.
    pub mu: f64,
    /// Identity of the contact point.
    pub key: ContactKey,
}

/// Identity of a contact point. It stays the same from step to step while the same features are in
/// contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContactKey {
    /// Index of A's shape in [`Recording::collision_shapes`].
    pub shape_a: usize,
    /// Index of B's shape in [`Recording::collision_shapes`].
    pub shape_b: usize,
    /// Number of the pair of features, given by the geometry.
    pub feature: u32,
}

/// Contact mode over a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Separating: no force.
    Separate,
    /// Sticking: force without slip.
    Stick,
    /// Sliding: force with slip.
    Slide,
}

impl Mode {
    /// The three modes in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Separate, Self::Stick, Self::Slide];

    /// The name used in `contacts.csv`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Separate => "separate",
            Self::Stick => "stick",
            Self::Slide => "slide",
        }
    }
}

impl Recording {
    /// Checks that the parts are consistent: lengths, indices, finite numbers.
    ///
    /// # Errors
    ///
    /// A message that names the inconsistent part, with the value seen and the value expected.
    pub fn check(&self) -> Result<(), String> {
        if !(self.time_step > 0.0 && self.time_step.is_finite()) {
            return Err(format!("the time step is {}; it must be > 0 s", self.time_step));
        }
        if self.bodies.first().map(String::as_str) != Some("world") {
            return Err(format!(
                "body 0 is `{}`; it must be `world`",
                self.bodies.first().map_or("missing", String::as_str)
            ));
        }
        if !self.units.is_empty() {
            length("units", self.units.len(), self.coordinates.len())?;
        }
        for sensor in &self.sensors {
            sensor.check().map_err(|e| format!("sensor `{}`: {e}", sensor.name))?;
        }
        for shape in &self.shapes {
            self.check_shape(shape).map_err(|e| format!("shape `{}`: {e}", shape.name))?;
        }
        if !self.roles.is_empty() {
            length("roles", self.roles.len(), self.bodies.len())?;
        }
        for f in &self.named_frames {
            self.check_pose(f.body, &f.X_BF).map_err(|e| format!("frame `{}`: {e}", f.name))?;
        }
        for GoalPose { body, X_WB } in &self.goals {
            self.check_pose(*body, X_WB).map_err(|e| format!("the goal of body {body}: {e}"))?;
        }
        for curve in &self.curves {
            curve.check().map_err(|e| format!("curve `{}`: {e}", curve.name))?;
        }
        for (k, frame) in self.frames.iter().enumerate() {
            self.check_frame(k, frame).map_err(|e| format!("frame {k}: {e}"))?;
        }
        Ok(())
    }

    /// Checks the body of something, and its pose.
    fn check_pose(&self, body: usize, X: &Pose) -> Result<(), String> {
        if body >= self.bodies.len() {
            return Err(format!("body {body} of {}", self.bodies.len()));
        }
        finite("pose", &pose_to_array(X))
    }

    fn check_shape(&self, shape: &DrawnShape) -> Result<(), String> {
        self.check_pose(shape.body, &shape.X_BG)?;
        if shape.color.iter().any(|c| !(0.0..=1.0).contains(c)) {
            return Err(format!("color {:?}; each part must be 0 to 1", shape.color));
        }
        if let Some(paint) = &shape.paint {
            check_paint(paint, &shape.geometry)?;
        }
        match &shape.geometry {
            DrawnGeometry::Sphere { radius } => positive("radius", &[*radius]),
            DrawnGeometry::Box { half } => positive("half edges", half),
            DrawnGeometry::Capsule { radius, half_length } => {
                positive("radius", &[*radius])?;
                // a capsule of length zero is a sphere
                if *half_length >= 0.0 && half_length.is_finite() {
                    Ok(())
                } else {
                    Err(format!("half length {half_length}; it must be ≥ 0 m"))
                }
            }
            DrawnGeometry::Cylinder { radius, half_length } => {
                positive("radius and half length", &[*radius, *half_length])
            }
            DrawnGeometry::Ellipsoid { radii } => positive("radii", radii),
            DrawnGeometry::HalfSpace => Ok(()),
            DrawnGeometry::Mesh { vertices, triangles } => {
                finite("vertices", vertices.as_flattened())?;
                match triangles.as_flattened().iter().find(|&&i| i as usize >= vertices.len()) {
                    Some(i) => Err(format!("triangle corner {i} of {} vertices", vertices.len())),
                    None => Ok(()),
                }
            }
            DrawnGeometry::Points { points, normals, width } => {
                positive("width", &[*width])?;
                if !normals.is_empty() {
                    length("normals", normals.len(), points.len())?;
                }
                for (what, list) in [("points", points), ("normals", normals)] {
                    if let Some(v) = list.as_flattened().iter().find(|v| !v.is_finite()) {
                        return Err(format!("{what} holds {v}; every number must be finite"));
                    }
                }
                Ok(())
            }
        }
    }

    pub(crate) fn check_frame(&self, k: usize, frame: &Frame) -> Result<(), String> {
        length("poses", frame.X_WB.len(), self.bodies.len())?;
        length("coordinates", frame.q.len(), self.coordinates.len())?;
        length("rates", frame.v.len(), self.dofs.len())?;
        let n_cmd = if k == 0 { 0 } else { self.commands.len() };
        length("commands", frame.q_cmd.len(), n_cmd)?;
        length("efforts", frame.effort.len(), n_cmd)?;
        let n_read = if k == 0 { 0 } else { self.n_readings() };
        length("readings of sensors", frame.sensors.len(), n_read)?;
        if k == 0 {
            length("contacts", frame.contacts.len(), 0)?;
            length("answers on uniqueness", usize::from(frame.uniqueness.is_some()), 0)?;
        }
        if let Some(uniqueness) = &frame.uniqueness {
            uniqueness.check(self.bodies.len(), frame.contacts.len())?;
        }
        finite("time", &[frame.t])?;
        for X_WB in &frame.X_WB {
            finite("a pose", &pose_to_array(X_WB))?;
        }
        finite("q", &frame.q)?;
        finite("v", &frame.v)?;
        finite("q_cmd", &frame.q_cmd)?;
        finite("effort", &frame.effort)?;
        finite("sensors", &frame.sensors)?;
        for (i, c) in frame.contacts.iter().enumerate() {
            if c.a >= self.bodies.len() || c.b >= self.bodies.len() {
                let (a, b, n) = (c.a, c.b, self.bodies.len());
                return Err(format!("contact {i} is between bodies {a} and {b} of {n}"));
            }
            let n = self.collision_shapes.len();
            let ContactKey { shape_a, shape_b, .. } = c.key;
            if shape_a >= n || shape_b >= n {
                return Err(format!(
                    "contact {i} is between shapes {shape_a} and {shape_b} of {n}"
                ));
            }
            let numbers = [c.phi, c.phi_next, c.normal_force, c.spin, c.mu];
            let vectors = [c.p_W, c.n_AB_W, c.force_W, c.roll_W].map(Vec3::to_array);
            finite("a contact", &numbers)?;
            finite("a contact", vectors.as_flattened())?;
        }
        Ok(())
    }
}

fn check_paint(paint: &Paint, geometry: &DrawnGeometry) -> Result<(), String> {
    let DrawnGeometry::Mesh { vertices, .. } = geometry else {
        return Err("a paint; only meshes have one".to_owned());
    };
    match paint {
        Paint::Vertices(colors) => length("colors", colors.len(), vertices.len()),
        Paint::Texture { uv, image } => {
            if !["image/png", "image/jpeg"].contains(&image.mime.as_str()) {
                return Err(format!(
                    "a picture `{}`; it must be image/png or image/jpeg",
                    image.mime
                ));
            }
            if let Some(u) = uv.as_flattened().iter().find(|u| !u.is_finite()) {
                return Err(format!("uv holds {u}; every number must be finite"));
            }
            length("uv", uv.len(), vertices.len())
        }
    }
}

/// The pose as `qw, qx, qy, qz, x, y, z`, as stored in the file.
pub(crate) fn pose_to_array(X: &Pose) -> [f64; 7] {
    let (q, p) = (X.rotation, X.translation);
    [q.w, q.x, q.y, q.z, p.x, p.y, p.z]
}

fn length(what: &str, got: usize, want: usize) -> Result<(), String> {
    if got == want { Ok(()) } else { Err(format!("{got} {what}; expected {want}")) }
}

fn finite(what: &str, values: &[f64]) -> Result<(), String> {
    match values.iter().find(|v| !v.is_finite()) {
        Some(v) => Err(format!("{what} holds {v}; every number must be finite")),
        None => Ok(()),
    }
}

fn positive(what: &str, values: &[f64]) -> Result<(), String> {
    match values.iter().find(|v| !(**v > 0.0 && v.is_finite())) {
        Some(v) => Err(format!("{what} {v}; it must be > 0 m")),
        None => Ok(()),
    }
}
