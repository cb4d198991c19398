//! Bodies, as they are declared and as they stand in a model.

use crate::{BodyInertia, JointKind};
use quasistep_math::Pose;
use std::ops::Range;

/// `q = multiplier q_leader + offset`: a joint that follows another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mimic {
    /// Index of the body whose joint leads; it has one dof and may itself be a mimic.
    pub body: usize,
    /// Factor on the leader's coordinate.
    pub multiplier: f64,
    /// Added to it, in m or rad.
    pub offset: f64,
}

/// A body and the joint that carries it, as given to [`ModelBuilder::add_body`].
///
/// [`ModelBuilder::add_body`]: crate::ModelBuilder::add_body
#[derive(Clone, Debug, PartialEq)]
pub struct BodyDef {
    /// Unique name, by convention `model/link`.
    pub name: String,
    /// Unique name of the joint, by convention `model.joint`.
    pub joint_name: String,
    /// Index of the parent body, which was added before.
    pub parent: usize,
    /// Pose of the joint's fixed frame F in the parent's frame.
    pub X_PF: Pose,
    /// How the body moves against F.
    pub joint: JointKind,
    /// Mass, centre of mass and rotational inertia.
    pub inertia: BodyInertia,
    /// `[lower, upper]` of the joint's coordinate, in m or rad; one-dof joints only. Infinite ends
    /// are no limit.
    pub limits: Option<[f64; 2]>,
    /// Follow another joint.
    pub mimic: Option<Mimic>,
    /// False if gravity does not act on this body (or is compensated).
    pub gravity: bool,
}

/// What resists the motion of a joint, driven or not: one entry per rate of the joint, or none for no resistance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JointResistance {
    /// Viscous damping `d`, in N·s/m or N·m·s/rad, ≥ 0: the force `−d v`.
    pub damping: Vec<f64>,
    /// Dry friction, in N or N·m, ≥ 0: the largest force against the motion, and the largest that holds at rest.
    pub friction: Vec<f64>,
    /// Inertia of what turns with the joint beside the bodies, a motor's rotor through its gear for one: in kg or kg·m², ≥ 0.
    pub armature: Vec<f64>,
    /// Friction of the surface that a planar joint or a slide moves on.
    pub support: Option<Support>,
}

/// Friction of the surface that a planar joint or a slide moves on, with the ellipsoid of Goyal, Ruina and Papadopoulos (1991)
/// for its limit surface:
///
/// ```text
/// f_x² + f_y² + (m/r)² ≤ (mu N)²         and of all these the force and torque that take the most power from (v_x, v_y, w)
/// ```
///
/// The force acts at the origin of the body; a slide has `|f| ≤ mu N`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Support {
    /// Coefficient `mu`, ≥ 0.
    pub friction: f64,
    /// Normal force `N` on the surface.
    pub load: SupportLoad,
    /// Radius `r` at which friction has its torque against turning, in m, ≥ 0: 2/3 of that of a disc under even pressure; 0 for
    /// none, and of a slide.
    pub spin_radius: f64,
}

/// Normal force on a support.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SupportLoad {
    /// So much, in N, ≥ 0.
    Newtons(f64),
    /// The weight of the body and of what it carries, across the plane or the slide.
    Weight,
}

/// A body of a [`Model`](crate::Model), with the joint that carries it.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Unique name, by convention `model/link`; `world` for body 0.
    pub name: String,
    /// Unique name of the joint, by convention `model.joint`; empty for the world.
    pub joint_name: String,
    /// Index of the parent body, smaller than this body's; 0 for the world.
    pub parent: usize,
    /// Pose of the joint's fixed frame F in the parent's frame.
    pub X_PF: Pose,
    /// How the body moves against F; its axis is unit.
    pub joint: JointKind,
    /// The joint's entries of `q`; empty for fixed and mimic joints.
    pub q: Range<usize>,
    /// The joint's entries of `v`; empty for fixed and mimic joints.
    pub v: Range<usize>,
    /// Mass, centre of mass and rotational inertia.
    pub inertia: BodyInertia,
    /// `[lower, upper]` of the joint's own coordinate, as given.
    pub limits: Option<[f64; 2]>,
    /// The joint that this one follows. Chains are resolved: `mimic.body` has a coordinate of its
    /// own.
    pub mimic: Option<Mimic>,
    /// False if gravity does not act on this body.
    pub gravity: bool,
    /// What resists the joint's motion.
    pub resistance: JointResistance,
    /// The joint's entries of `Kinematics::columns`.
    pub(crate) columns: Range<usize>,
}
