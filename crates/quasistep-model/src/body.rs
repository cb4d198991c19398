//! Bodies: their declaration, and their form in a model.

use crate::{BodyInertia, JointKind};
use quasistep_math::Pose;
use std::ops::Range;

/// A mimic joint: `q = multiplier q_leader + offset`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mimic {
    /// Index of the body whose joint leads. That joint has one dof and may be a mimic joint itself.
    pub body: usize,
    /// Factor on the leader's coordinate.
    pub multiplier: f64,
    /// Offset, in m or rad.
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
    /// Index of the parent body, which must have been added before.
    pub parent: usize,
    /// Pose of the joint's fixed frame F in the parent body's frame.
    pub X_PF: Pose,
    /// Kind of joint between F and the body.
    pub joint: JointKind,
    /// Mass, centre of mass and rotational inertia.
    pub inertia: BodyInertia,
    /// Position limits `[lower, upper]`, in m or rad; one-dof joints only. Infinite values mean no
    /// limit.
    pub limits: Option<[f64; 2]>,
    /// The joint that this joint follows, if it is a mimic joint.
    pub mimic: Option<Mimic>,
    /// Share of gravity that acts on this body: 1 all of it, 0 none, as where it is compensated;
    /// negative where the body is lifted.
    pub gravity: f64,
}

/// Resistance of a joint, driven or not. Each list has one entry per rate of the joint, or none for
/// zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JointResistance {
    /// Viscous damping `d`, in N·s/m or N·m·s/rad, ≥ 0: the force `−d v`.
    pub damping: Vec<f64>,
    /// Dry friction, in N or N·m, ≥ 0: the largest friction force, in motion and at rest.
    pub friction: Vec<f64>,
    /// Inertia of parts that turn with the joint in addition to the bodies, such as a motor's rotor
    /// through its gear, in kg or kg·m², ≥ 0.
    pub armature: Vec<f64>,
    /// Friction of the surface that a planar joint or a slide moves on.
    pub support: Option<Support>,
}

/// Friction of the surface on which a planar joint or a slide moves. Its limit surface is the
/// ellipsoid of Goyal, Ruina and Papadopoulos (1991):
///
/// ```text
/// f_x² + f_y² + (m/r)² ≤ (mu N)²
/// ```
///
/// The friction force and torque are those in the ellipsoid that dissipate the most power at the
/// velocity (v_x, v_y, w). The force acts at the body's origin. For a slide, `|f| ≤ mu N`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Support {
    /// Coefficient of friction `mu`, ≥ 0.
    pub friction: f64,
    /// Normal force `N` on the surface.
    pub load: SupportLoad,
    /// Effective radius `r` of friction torque, in m, ≥ 0. For a disc under uniform pressure it is
    /// 2/3 of the disc's radius. 0 means no torque, and is required for a slide.
    pub spin_radius: f64,
}

/// Normal force on a support.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SupportLoad {
    /// A given force, in N, ≥ 0.
    Newtons(f64),
    /// The weight of the body and of all it carries, normal to the plane or slide.
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
    /// Pose of the joint's fixed frame F in the parent body's frame.
    pub X_PF: Pose,
    /// Kind of joint between F and the body; its axis has unit length.
    pub joint: JointKind,
    /// Range of the joint's coordinates in `q`; empty for fixed and mimic joints.
    pub q: Range<usize>,
    /// Range of the joint's rates in `v`; empty for fixed and mimic joints.
    pub v: Range<usize>,
    /// Mass, centre of mass and rotational inertia.
    pub inertia: BodyInertia,
    /// Limits `[lower, upper]` of the joint's own coordinate as given, in m or rad.
    pub limits: Option<[f64; 2]>,
    /// The joint that this joint follows, if it is a mimic joint. Chains are resolved: the joint of
    /// `mimic.body` has its own coordinate.
    pub mimic: Option<Mimic>,
    /// Share of gravity that acts on this body: 1 all of it, 0 none.
    pub gravity: f64,
    /// Resistance of the joint.
    pub resistance: JointResistance,
    /// True if the joint moves the surface of the body and not its place, as the drums of a
    /// conveyor do: see [`ModelBuilder::set_surface`](crate::ModelBuilder::set_surface).
    pub surface: bool,
    /// Range of the joint's columns in `Kinematics::columns`.
    pub(crate) columns: Range<usize>,
}

impl Body {
    /// The mass that gravity pulls at, in kg: the body's, times its share of gravity.
    pub fn weight_mass(&self) -> f64 {
        self.gravity * self.inertia.mass
    }
}
