//! What a file of a robot or scene says is there, whatever its format: links, joints, shapes, drives, filters, start.
//!
//! Everything is SI. Links hang on one another as trees; several roots are allowed. Names may be scoped, as `arm::hand`.
//! A body that hangs on several joints, or whose joint sits off its origin, is a chain: links without mass, then a fixed joint to
//! the body's own frame. So every link has the pose that its format gives it.

use quasistep_math::{Pose, Vec3};
use quasistep_model::{BodyInertia, JointKind};
use std::path::PathBuf;

/// What a file says is there.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// In the order of the file.
    pub links: Vec<Link>,
    /// In the order of the file.
    pub joints: Vec<Joint>,
    /// How links hang together.
    pub tree: Tree,
    /// Names of the models in the file: every link belongs to one ([`Link::group`]).
    pub groups: Vec<String>,
    /// Pairs of links that never touch.
    pub never_touch: Vec<[usize; 2]>,
    /// Pairs of shapes with a surface of their own; they may touch whatever masks say.
    pub pairs: Vec<Pair>,
    /// Loops that close the trees.
    pub constraints: Vec<Constraint>,
    /// Acceleration of free fall, in m/s².
    pub gravity: Option<[f64; 3]>,
    /// Time step that the file gives, in s.
    pub time_step: Option<f64>,
    /// How many drives it has, where the format says so.
    pub drives: Option<Drives>,
    /// How it is stepped, where the file is one of a simulator with steps like ours.
    pub stepping: Option<Stepping>,
    /// What is odd without being wrong, a sentence each.
    pub warnings: Vec<String>,
}

/// What drives a model, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drives {
    /// Those that hold a place or a speed: servos, dampers, bodies that are led.
    pub positions: usize,
    /// Those that command a force: motors.
    pub forces: usize,
}

/// How the simulator that a file was written for steps it: the convex program of Pang21 (10).
#[derive(Clone, Debug, PartialEq)]
pub struct Stepping {
    /// Edges of friction pyramids; `None`: round cones.
    pub edges: Option<u32>,
    /// Pairs nearer than this have rows, in m, up to infinity.
    pub contact_margin: Option<f64>,
    /// Passive bodies resist with their mass.
    pub has_mass: bool,
    /// By how much `h² K` of the softest spring is larger than their scaled mass; `None`: the mass as it is.
    pub mass_scale: Option<f64>,
}

impl Default for Stepping {
    fn default() -> Self {
        Self { edges: None, contact_margin: None, has_mass: true, mass_scale: None }
    }
}

/// A rigid part.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// Unique in the description.
    pub name: String,
    /// Line of the file.
    pub line: usize,
    /// Index among [`Description::groups`].
    pub group: usize,
    /// About the centre of mass, in the axes of the link; `None` for a frame.
    pub inertial: Option<BodyInertia>,
    /// It does not feel gravity.
    pub weightless: bool,
    /// What is looked at.
    pub visuals: Vec<Part>,
    /// What touches.
    pub collisions: Vec<Part>,
}

/// A shape of a link.
#[derive(Clone, Debug)]
pub struct Part {
    /// Name, if it has one.
    pub name: Option<String>,
    /// Pose in the link.
    pub origin: Pose,
    /// What it is.
    pub geometry: Geometry,
    /// Red, green, blue, opacity, each from 0 to 1.
    pub color: Option<[f32; 4]>,
    /// What the file says of its friction.
    pub friction: Friction,
    /// Bits that say whom it may touch; `None`: everybody.
    pub masks: Option<Masks>,
}

impl Part {
    /// A shape of which nothing else is said.
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

/// Bits of MJCF's collision filter: two shapes may touch if the type of one and the affinity of the other share a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Masks {
    /// `contype`.
    pub own: u32,
    /// `conaffinity`.
    pub others: u32,
}

impl Masks {
    /// May shapes with these bits touch?
    pub fn allow(self, other: Self) -> bool {
        self.own & other.others != 0 || other.own & self.others != 0
    }
}

/// Friction of a surface, where the file gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Friction {
    /// Coefficient of sliding.
    pub slide: Option<f64>,
    /// Of turning about the normal, in m.
    pub spin: Option<f64>,
    /// Of rolling, in m.
    pub roll: Option<f64>,
}

/// Two shapes that the file names together.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Link and index among its collision shapes.
    pub parts: [(usize, usize); 2],
    /// What it says of their friction.
    pub friction: Friction,
}

/// Geometry of a shape; cylinders and capsules along z; lengths in m.
#[derive(Clone, Debug)]
pub enum Geometry {
    /// All below the plane z = 0.
    HalfSpace,
    /// A box by its half edges.
    Box {
        /// Half edges.
        half: [f64; 3],
    },
    /// A sphere.
    Sphere {
        /// Radius.
        radius: f64,
    },
    /// A cylinder.
    Cylinder {
        /// Radius.
        radius: f64,
        /// Half of its length.
        half_length: f64,
    },
    /// A cylinder with half spheres on its ends.
    Capsule {
        /// Radius.
        radius: f64,
        /// Half of the cylinder's length.
        half_length: f64,
    },
    /// An ellipsoid.
    Ellipsoid {
        /// Half axes.
        radii: [f64; 3],
    },
    /// The surface in a file.
    Mesh {
        /// The file.
        path: PathBuf,
        /// Its unit along x, y and z, in m.
        scale: [f64; 3],
    },
    /// The convex hull of points.
    Points(Vec<Vec3>),
}

/// A joint between two links, or between a link and what the whole stands on.
#[derive(Clone, Debug)]
pub struct Joint {
    /// Unique in the description.
    pub name: String,
    /// Line of the file.
    pub line: usize,
    /// Axes in the joint's own frame.
    pub kind: JointKind,
    /// Index of a link; `None`: what the whole stands on, the world for one.
    pub parent: Option<usize>,
    /// Index of the link whose frame moves with the joint: the joint's frame where q is neutral.
    pub child: usize,
    /// Pose of the joint's frame in the parent.
    pub origin: Pose,
    /// In m or rad.
    pub limits: Option<[f64; 2]>,
    /// Largest force of what drives it, in N or N·m.
    pub effort: Option<f64>,
    /// The joint that it follows.
    pub mimic: Option<MimicOf>,
    /// Viscous damping, in N·s/m or N·m·s/rad.
    pub damping: f64,
    /// Dry friction, in N or N·m.
    pub friction: f64,
    /// Inertia of what turns with it, a motor's rotor for one, in kg or kg·m².
    pub armature: f64,
    /// A spring of the joint, or a drive to a position.
    pub drive: Option<Drive>,
    /// Force of its motors at the start, beside the drive, in N or N·m.
    pub torque: f64,
    /// Coordinates at the start, as many as its kind has; `None`: neutral.
    pub start: Option<Vec<f64>>,
    /// Velocity at the start, one number per dof, in m/s or rad/s; `None`: rest.
    pub velocity: Option<Vec<f64>>,
}

impl Joint {
    /// A joint of which nothing else is said.
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
            torque: 0.0,
            start: None,
            velocity: None,
        }
    }
}

/// `q = multiplier × leader + offset`.
#[derive(Clone, Debug)]
pub struct MimicOf {
    /// Name of the leader.
    pub joint: String,
    /// Line of the file.
    pub line: usize,
    /// Factor, in units of the follower per unit of the leader.
    pub multiplier: f64,
    /// In m or rad.
    pub offset: f64,
}

/// A spring and damper between a joint and the position that it is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drive {
    /// In N/m or N·m/rad, > 0.
    pub stiffness: f64,
    /// In N·s/m or N·m·s/rad.
    pub damping: f64,
    /// Largest force, in N or N·m.
    pub effort: Option<f64>,
    /// Where it pulls to if no command tells it, in m or rad; `None`: to the start.
    pub target: Option<f64>,
}

/// An equality between links or joints that closes a loop. `None` as a link is what the whole stands on.
#[derive(Clone, Debug)]
pub enum Constraint {
    /// A point of one link stays on a point of another one.
    Connect {
        /// Name for people.
        name: String,
        /// The two links.
        links: [Option<usize>; 2],
        /// The point in each, in m.
        points: [Vec3; 2],
    },
    /// A frame of one link stays on a frame of another one.
    Weld {
        /// Name for people.
        name: String,
        /// The two links.
        links: [Option<usize>; 2],
        /// The frame in each.
        poses: [Pose; 2],
    },
    /// A sum of coordinates stays what it is: `Σ c q = offset`.
    Coupling {
        /// Name for people.
        name: String,
        /// Joints of one dof and their factors.
        terms: Vec<(usize, f64)>,
        /// In units of the first term.
        offset: f64,
    },
}

/// Links from the roots outwards.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Indices of links, parents first, each tree in turn.
    pub order: Vec<usize>,
    /// By link, the joint on which it hangs; `None`: it stands as the scene says.
    pub joint_of: Vec<Option<usize>>,
}

impl Tree {
    /// Orders links by their joints, of which each link is the child of one at most.
    ///
    /// # Errors
    ///
    /// A link that is part of a loop.
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
