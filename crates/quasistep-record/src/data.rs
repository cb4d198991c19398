//! The data of a recording, and what makes it consistent.

use crate::uniqueness::Uniqueness;
use quasistep_math::{Pose, Vec3};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A whole run: what was there, how it is drawn, and one [`Frame`] per step.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// File or name of the scene that ran.
    pub scene: String,
    /// What to call the run on a page.
    pub title: String,
    /// Step size h, in s, > 0.
    pub time_step: f64,
    /// Names `model/link`; entry 0 is `world`.
    pub bodies: Vec<String>,
    /// Names `model/link/shape` of what may touch.
    pub collision_shapes: Vec<String>,
    /// What to draw, each shape fixed to one body.
    pub shapes: Vec<DrawnShape>,
    /// Names of the state columns, one per entry of [`Frame::q`].
    pub coordinates: Vec<String>,
    /// Names of the rates, one per entry of [`Frame::v`]; empty if no velocity is carried from step to
    /// step.
    pub dofs: Vec<String>,
    /// Names of the commanded coordinates, one per entry of [`Frame::q_cmd`].
    pub commands: Vec<String>,
    /// The start (frame 0), then the end of every step.
    pub frames: Vec<Frame>,
    /// How the run ended.
    pub finish: Finish,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It reached its duration.
    Done,
    /// A step could not be taken; the frames up to there are kept.
    Stopped {
        /// What the step said.
        reason: String,
    },
}

/// A shape as it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnShape {
    /// Index into [`Recording::bodies`].
    pub body: usize,
    /// Name of the shape.
    pub name: String,
    /// Pose of the shape's own frame G in its body B.
    pub X_BG: Pose,
    /// Its geometry in G.
    pub geometry: DrawnGeometry,
    /// Red, green, blue, opacity, each from 0 to 1; of one with a paint, its mean.
    pub color: [f32; 4],
    /// What lies over the triangles of a mesh in place of the colour, where it can be drawn.
    pub paint: Option<Paint>,
    /// What it stands for.
    pub role: ShapeRole,
}

/// Colours that differ over a mesh.
#[derive(Clone, Debug, PartialEq)]
pub enum Paint {
    /// Red, green, blue at each vertex, sRGB.
    Vertices(Vec<[u8; 3]>),
    /// A picture.
    Texture {
        /// Where on it each vertex is: u to the right, v down, 0 to 1 across it; it repeats beyond.
        uv: Vec<[f32; 2]>,
        /// The picture; shapes that share one share it in the file, too.
        image: Arc<Image>,
    },
}

/// A picture as the file that it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// `image/png` or `image/jpeg`.
    pub mime: String,
    /// Bytes of the file.
    pub bytes: Vec<u8>,
}

/// Geometry in the shape's own frame G; lengths in m.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum DrawnGeometry {
    /// Ball about the origin.
    Sphere {
        /// Radius.
        radius: f64,
    },
    /// Box about the origin.
    Box {
        /// Half of each edge length.
        half: [f64; 3],
    },
    /// Capsule about the origin, axis z.
    Capsule {
        /// Radius.
        radius: f64,
        /// Half the length of the core segment.
        half_length: f64,
    },
    /// Cylinder about the origin, axis z.
    Cylinder {
        /// Radius.
        radius: f64,
        /// Half the length.
        half_length: f64,
    },
    /// Ellipsoid about the origin.
    Ellipsoid {
        /// Half of each axis.
        radii: [f64; 3],
    },
    /// Solid z ≤ 0, drawn as a large plane with outward normal +z.
    HalfSpace,
    /// Triangles, counter-clockwise seen from outside.
    Mesh {
        /// Corner points.
        vertices: Vec<[f64; 3]>,
        /// Three indices into `vertices` per triangle.
        triangles: Vec<[u32; 3]>,
    },
    /// Dots on a surface.
    Points {
        /// Positions.
        points: Vec<[f32; 3]>,
        /// A unit normal of the surface at each point, for its light; either sign is right. Empty if
        /// nothing is known.
        normals: Vec<[f32; 3]>,
        /// Width of a dot, > 0.
        width: f64,
    },
}

/// What a drawn shape stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShapeRole {
    /// For the eye only.
    Visual,
    /// Makes contact, and something else is drawn for the eye.
    Collision,
    /// Makes contact and is drawn.
    Both,
}

/// The world at the end of a step (frame 0: at the start).
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Time, in s; frame k is at k h.
    pub t: f64,
    /// Pose of every body in the world.
    pub X_WB: Vec<Pose>,
    /// Configuration, one entry per name of [`Recording::coordinates`]; m, rad or –.
    pub q: Vec<f64>,
    /// Velocity that the next step begins with, one per name of [`Recording::dofs`]; m/s or rad/s.
    pub v: Vec<f64>,
    /// Commands of the step that ended here, one per name of [`Recording::commands`]; m, rad or –.
    /// Empty in frame 0.
    pub q_cmd: Vec<f64>,
    /// Force of the drive of each commanded coordinate over that step, in N or N·m. Empty in frame 0.
    pub effort: Vec<f64>,
    /// Contacts of the step that ended here. Empty in frame 0.
    pub contacts: Vec<Contact>,
    /// Whether that step's answer was the only one, if the run asked. None in frame 0.
    pub uniqueness: Option<Uniqueness>,
}

/// One contact point of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Body A, index into [`Recording::bodies`].
    pub a: usize,
    /// Body B.
    pub b: usize,
    /// Contact point in the world, m, where it was measured: at the start of the step.
    pub p_W: Vec3,
    /// Unit normal, leaves A and enters B.
    pub n_AB_W: Vec3,
    /// Signed distance before the step, m; negative overlaps.
    pub phi: f64,
    /// Signed distance after the step as the step's linearisation sees it, m.
    pub phi_next: f64,
    /// Force along the normal, ≥ 0, N.
    pub normal_force: f64,
    /// Whole force on B, N.
    pub force_W: Vec3,
    /// Torque on B about the normal, N·m.
    pub spin: f64,
    /// Torque on B across the normal, of rolling friction, N·m.
    pub roll_W: Vec3,
    /// What the contact did.
    pub mode: Mode,
    /// Friction coefficient of the pair.
    pub mu: f64,
    /// Which point it is.
    pub key: ContactKey,
}

/// What a contact point is called: the same from step to step as long as the same features touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContactKey {
    /// Shape of A, index into [`Recording::collision_shapes`].
    pub shape_a: usize,
    /// Shape of B.
    pub shape_b: usize,
    /// Pair of features of both, as named by the geometry.
    pub feature: u32,
}

/// What a contact did over a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// No force.
    Separate,
    /// Force without slip.
    Stick,
    /// Force with slip.
    Slide,
}

impl Mode {
    /// The three modes, in order.
    pub const ALL: [Self; 3] = [Self::Separate, Self::Stick, Self::Slide];

    /// The word used in `contacts.csv`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Separate => "separate",
            Self::Stick => "stick",
            Self::Slide => "slide",
        }
    }
}

impl Recording {
    /// Checks that the parts fit each other: lengths, body indices, finite numbers.
    ///
    /// # Errors
    ///
    /// A sentence that says which part does not fit, with what was seen and what was expected.
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
        if let Some(name) = self.commands.iter().find(|c| !self.coordinates.contains(c)) {
            return Err(format!("command `{name}` is not among the coordinates"));
        }
        for shape in &self.shapes {
            self.check_shape(shape).map_err(|e| format!("shape `{}`: {e}", shape.name))?;
        }
        for (k, frame) in self.frames.iter().enumerate() {
            self.check_frame(k, frame).map_err(|e| format!("frame {k}: {e}"))?;
        }
        Ok(())
    }

    fn check_shape(&self, shape: &DrawnShape) -> Result<(), String> {
        if shape.body >= self.bodies.len() {
            return Err(format!("body {} of {}", shape.body, self.bodies.len()));
        }
        finite("pose", &pose_to_array(&shape.X_BG))?;
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
                // a capsule of length zero is a ball
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

/// `qw, qx, qy, qz, x, y, z`, the order of the file.
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
