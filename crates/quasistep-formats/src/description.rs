//! Contents of a robot or scene file in any format: links, joints, shapes, drives, collision
//! filters, start values.
//!
//! All quantities are in SI units. Links form trees; several roots are allowed. Names may be
//! scoped, as `arm::hand`. A body with several joints, or with a joint off its origin, becomes a
//! chain: massless links, then a fixed joint to the body's own frame. So every link keeps the frame
//! of its file.

use quasistep_geometry::HeightField;
use quasistep_math::{Pose, Vec3};
use quasistep_model::{BodyInertia, JointKind};
use std::path::PathBuf;
use std::sync::Arc;

/// Contents of a robot or scene file.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// Links, in the order of the file.
    pub links: Vec<Link>,
    /// Joints, in the order of the file.
    pub joints: Vec<Joint>,
    /// Tree structure of the links.
    pub tree: Tree,
    /// Names of the models in the file: every link belongs to one ([`Link::group`]).
    pub groups: Vec<String>,
    /// Pairs of links without collisions, as link indices.
    pub never_touch: Vec<[usize; 2]>,
    /// Pairs of shapes with their own friction. They may collide whatever their masks are.
    pub pairs: Vec<Pair>,
    /// Loop-closing constraints.
    pub constraints: Vec<Constraint>,
    /// Indices of constraints that are off until a command switches them on, ascending.
    pub inactive: Vec<usize>,
    /// Links that pull what touches them.
    pub pads: Vec<Pad>,
    /// Force-torque sensors.
    pub sensors: Vec<ForceSensor>,
    /// Named frames that are no links: sites of MJCF, frames of SDFormat and of model directives.
    pub frames: Vec<NamedFrame>,
    /// Gravitational acceleration, in m/s²; `None` if the file gives none.
    pub gravity: Option<[f64; 3]>,
    /// Time step, in s; `None` if the file gives none.
    pub time_step: Option<f64>,
    /// Number of drives, for formats that define drives.
    pub drives: Option<Drives>,
    /// Step settings, for files of a simulator that solves the same kind of step.
    pub stepping: Option<Stepping>,
    /// Warnings about unusual contents, one sentence each.
    pub warnings: Vec<String>,
}

impl Description {
    /// All names: of links, their shapes, joints, leaders of joints, models, constraints, pads, sensors and frames.
    pub(crate) fn names_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let of_links = self.links.iter_mut().flat_map(|link| {
            let parts = link.visuals.iter_mut().chain(&mut link.collisions);
            std::iter::once(&mut link.name).chain(parts.filter_map(|part| part.name.as_mut()))
        });
        let of_joints = self.joints.iter_mut().flat_map(|joint| {
            let leader = joint.mimic.as_mut().map(|mimic| &mut mimic.joint);
            std::iter::once(&mut joint.name).chain(leader)
        });
        let of_constraints = self.constraints.iter_mut().map(|constraint| match constraint {
            Constraint::Connect { name, .. }
            | Constraint::Weld { name, .. }
            | Constraint::Coupling { name, .. } => name,
        });
        let of_pads = self.pads.iter_mut().map(|pad| &mut pad.name);
        let of_sensors = self.sensors.iter_mut().map(|sensor| &mut sensor.name);
        let of_all = of_links.chain(of_joints).chain(&mut self.groups).chain(of_constraints);
        let of_frames = self.frames.iter_mut().map(|frame| &mut frame.name);
        of_all.chain(of_pads).chain(of_sensors).chain(of_frames)
    }
}

/// A link whose collision shapes pull what touches them: a suction cup or a magnet.
#[derive(Clone, Debug, PartialEq)]
pub struct Pad {
    /// Name of its command.
    pub name: String,
    /// Index of the link.
    pub link: usize,
    /// Largest pull, in N.
    pub pull: f64,
    /// Share of the pull at the start, 0 to 1.
    pub share: f64,
}

/// Number of drives of a model, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drives {
    /// Drives that control a position or velocity: servos, dampers, and bodies moved by mocap.
    pub positions: usize,
    /// Drives that apply a force: motors.
    pub forces: usize,
}

/// Step settings of the simulator for which the file was written; it solves the convex program of
/// Pang21 (10).
#[derive(Clone, Debug, PartialEq)]
pub struct Stepping {
    /// Number of edges of the friction pyramids; `None` for round cones.
    pub edges: Option<u32>,
    /// Distance below which a pair makes contact constraints, in m; may be infinite.
    pub contact_margin: Option<f64>,
    /// True if passive bodies have inertia in the step.
    pub has_mass: bool,
    /// Ratio of `h² K` of the softest spring to the scaled mass of passive bodies; `None` if masses
    /// are not scaled.
    pub mass_scale: Option<f64>,
}

impl Default for Stepping {
    fn default() -> Self {
        Self { edges: None, contact_margin: None, has_mass: true, mass_scale: None }
    }
}

/// A rigid link.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// Name, unique in the description.
    pub name: String,
    /// Line in the file.
    pub line: usize,
    /// Index among [`Description::groups`].
    pub group: usize,
    /// Mass, centre of mass and inertia about it, in the link's axes; `None` for a massless frame.
    pub inertial: Option<BodyInertia>,
    /// Share of the link's weight that is carried for it: 0 none, 1 all, more where it is lifted.
    pub compensated: f64,
    /// Visual shapes.
    pub visuals: Vec<Part>,
    /// Collision shapes.
    pub collisions: Vec<Part>,
}

/// A shape of a link.
#[derive(Clone, Debug)]
pub struct Part {
    /// Name, if it has one.
    pub name: Option<String>,
    /// Pose in the link frame.
    pub origin: Pose,
    /// Geometry of the shape.
    pub geometry: Geometry,
    /// Red, green, blue, opacity, each from 0 to 1.
    pub color: Option<[f32; 4]>,
    /// Friction coefficients given by the file.
    pub friction: Friction,
    /// Collision bit masks; `None` if the shape may collide with all others.
    pub masks: Option<Masks>,
}

impl Part {
    /// A shape with the given pose and geometry and no other properties.
    pub fn new(origin: Pose, geometry: Geometry) -> Self {
        Self {
            name: None,
            origin,
            geometry,
            color: None,
            friction: Friction::default(),
            masks: None,
        }
    }
}

/// Collision bit masks of MJCF. Two shapes may collide if the `contype` of one and the
/// `conaffinity` of the other share a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Masks {
    /// `contype`.
    pub own: u32,
    /// `conaffinity`.
    pub others: u32,
}

impl Masks {
    /// True if shapes with these masks may collide.
    pub fn allow(self, other: Self) -> bool {
        self.own & other.others != 0 || other.own & self.others != 0
    }
}

/// Friction coefficients of a surface; `None` where the file gives none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Friction {
    /// Coefficient of sliding friction.
    pub slide: Option<f64>,
    /// Coefficients of sliding friction along x, y and z of the link, > 0, in place of `slide`.
    pub along: Option<[f64; 3]>,
    /// Coefficient of torsional friction, in m.
    pub spin: Option<f64>,
    /// Coefficient of rolling friction, in m.
    pub roll: Option<f64>,
}

impl Friction {
    /// Coefficients along x, y and z: `mu` along a direction, `across` on the axes across it. `None`
    /// unless the direction is along an axis, within rounding, and both coefficients are > 0.
    pub fn along_axis(direction: Vec3, mu: f64, across: f64) -> Option<[f64; 3]> {
        let [x, y, z] = direction.try_normalize()?.to_array().map(f64::abs);
        let k = [x, y, z].iter().position(|c| *c > 1.0 - 1e-6)?;
        let mut along = [across; 3];
        along[k] = mu;
        (mu > 0.0 && across > 0.0).then_some(along)
    }
}

/// A pair of collision shapes with its own friction.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Link index, and index among its collision shapes, of each shape.
    pub parts: [(usize, usize); 2],
    /// Friction coefficients of the pair.
    pub friction: Friction,
    /// True if coefficients along axes are along those of the second shape's link.
    pub of_second: bool,
}

/// Geometry of a shape, in its own frame. Cylinders and capsules are along z. Lengths are in m.
#[derive(Clone, Debug)]
pub enum Geometry {
    /// The half-space below the plane z = 0.
    HalfSpace,
    /// A box.
    Box {
        /// Half edges, in m.
        half: [f64; 3],
    },
    /// A sphere.
    Sphere {
        /// Radius, in m.
        radius: f64,
    },
    /// A cylinder.
    Cylinder {
        /// Radius, in m.
        radius: f64,
        /// Half of its length, in m.
        half_length: f64,
    },
    /// A cylinder with half spheres on its ends.
    Capsule {
        /// Radius, in m.
        radius: f64,
        /// Half of the cylindrical part's length, in m.
        half_length: f64,
    },
    /// An ellipsoid.
    Ellipsoid {
        /// Half axes, in m.
        radii: [f64; 3],
    },
    /// A mesh file.
    Mesh {
        /// Path of the file.
        path: PathBuf,
        /// Length of the mesh's unit along x, y and z, in m.
        scale: [f64; 3],
    },
    /// The convex hull of points, in m.
    Points(Vec<Vec3>),
    /// Ground below heights on a grid.
    HeightField(Arc<HeightField>),
}

/// A joint between two links, or between a link and the base of the whole description.
#[derive(Clone, Debug)]
pub struct Joint {
    /// Name, unique in the description.
    pub name: String,
    /// Line in the file.
    pub line: usize,
    /// Kind of joint, with axes in the joint frame.
    pub kind: JointKind,
    /// Index of the parent link; `None` for the base on which the whole stands, for example the
    /// world.
    pub parent: Option<usize>,
    /// Index of the child link, whose frame coincides with the joint frame at neutral q.
    pub child: usize,
    /// Pose of the joint frame in the parent link.
    pub origin: Pose,
    /// Lower and upper position limit, in m or rad.
    pub limits: Option<[f64; 2]>,
    /// Effort limit of its drive, in N or N·m.
    pub effort: Option<f64>,
    /// The joint that this joint mimics.
    pub mimic: Option<MimicOf>,
    /// Viscous damping, in N·s/m or N·m·s/rad.
    pub damping: f64,
    /// Dry friction, in N or N·m.
    pub friction: f64,
    /// Inertia of parts that turn with the joint, such as a motor's rotor, in kg or kg·m².
    pub armature: f64,
    /// Spring or position drive of the joint.
    pub drive: Option<Drive>,
    /// True for a joint that follows its command exactly, whatever force that takes.
    pub prescribed: bool,
    /// Force of its motors at the start in addition to the drive, in N or N·m.
    pub torque: f64,
    /// Start coordinates, as many as the joint kind has; `None` for the neutral position.
    pub start: Option<Vec<f64>>,
    /// Start velocity, one number per dof, in m/s or rad/s; `None` for zero.
    pub velocity: Option<Vec<f64>>,
}

impl Joint {
    /// A joint with the given ends and no other properties.
    pub fn new(
        name: String,
        kind: JointKind,
        parent: Option<usize>,
        child: usize,
        origin: Pose,
    ) -> Self {
        Self {
            name,
            line: 0,
            kind,
            parent,
            child,
            origin,
            limits: None,
            effort: None,
            mimic: None,
            damping: 0.0,
            friction: 0.0,
            armature: 0.0,
            drive: None,
            prescribed: false,
            torque: 0.0,
            start: None,
            velocity: None,
        }
    }
}

/// Mimic relation `q = multiplier × q_leader + offset`.
#[derive(Clone, Debug)]
pub struct MimicOf {
    /// Name of the leading joint.
    pub joint: String,
    /// Line in the file.
    pub line: usize,
    /// Factor, in units of the follower per unit of the leader.
    pub multiplier: f64,
    /// Offset, in m or rad.
    pub offset: f64,
}

/// A spring and damper between a joint and its commanded position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drive {
    /// Stiffness, in N/m or N·m/rad, > 0.
    pub stiffness: f64,
    /// Damping, in N·s/m or N·m·s/rad.
    pub damping: f64,
    /// Effort limit, in N or N·m.
    pub effort: Option<f64>,
    /// Target position without a command, in m or rad; `None` for the start position.
    pub target: Option<f64>,
}

/// An equality constraint between links or joints that closes a loop. `None` in place of a link is
/// the base on which the whole stands.
#[derive(Clone, Debug)]
pub enum Constraint {
    /// A point of one link coincides with a point of another.
    Connect {
        /// Name for messages.
        name: String,
        /// The two links.
        links: [Option<usize>; 2],
        /// The point in each link's frame, in m.
        points: [Vec3; 2],
    },
    /// A frame of one link coincides with a frame of another.
    Weld {
        /// Name for messages.
        name: String,
        /// The two links.
        links: [Option<usize>; 2],
        /// Pose of the frame in each link.
        poses: [Pose; 2],
    },
    /// A linear equation of joint coordinates: `Σ c q = offset`.
    Coupling {
        /// Name for messages.
        name: String,
        /// Index of each one-dof joint, and its factor c.
        terms: Vec<(usize, f64)>,
        /// Offset, in units of the first term.
        offset: f64,
    },
}

/// A sensor of the force and torque by which a link, with all it carries, is held: what the parent of
/// the link exerts on it.
#[derive(Clone, Debug)]
pub struct ForceSensor {
    /// Name, unique in the description.
    pub name: String,
    /// Line in the file.
    pub line: usize,
    /// Index of the link.
    pub link: usize,
    /// Pose of the frame of its readings in the link.
    pub pose: Pose,
}

/// A named frame on a link.
#[derive(Clone, Debug)]
pub struct NamedFrame {
    /// Its name.
    pub name: String,
    /// Index of the link; `None` for what the description stands on.
    pub link: Option<usize>,
    /// Pose of the frame in the link.
    pub pose: Pose,
}

/// Tree structure of links.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Indices of links, parents before children, one tree after the other.
    pub order: Vec<usize>,
    /// For each link, the index of the joint to its parent; `None` for a root, which the scene
    /// places.
    pub joint_of: Vec<Option<usize>>,
}

impl Tree {
    /// Orders links by their joints. Each link must be the child of at most one joint.
    ///
    /// # Errors
    ///
    /// The index of a link that is part of a loop.
    pub fn new(n_links: usize, joints: &[Joint]) -> Result<Self, usize> {
        let mut joint_of: Vec<Option<usize>> = vec![None; n_links];
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); n_links];
        for (k, joint) in joints.iter().enumerate() {
            joint_of[joint.child] = Some(k);
            if let Some(parent) = joint.parent {
                children[parent].push(joint.child);
            }
        }
        let is_root = |link: usize| joint_of[link].is_none_or(|k| joints[k].parent.is_none());
        let mut order = Vec::with_capacity(n_links);
        let mut reached = vec![false; n_links];
        for root in (0..n_links).filter(|&link| is_root(link)) {
            let mut next = order.len();
            order.push(root);
            reached[root] = true;
            while next < order.len() {
                for &child in &children[order[next]] {
                    reached[child] = true;
                    order.push(child);
                }
                next += 1;
            }
        }
        match reached.iter().position(|r| !r) {
            None => Ok(Self { order, joint_of }),
            Some(lost) => Err(lost),
        }
    }
}
