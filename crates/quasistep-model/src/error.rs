//! Errors in a model or a configuration.

use quasistep_math::Vec3;

/// Mass properties that no rigid body can have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InertiaError {
    /// The mass is negative or not finite.
    #[error("mass is {mass}; it must be a finite number ≥ 0 kg")]
    Mass {
        /// Mass given, in kg.
        mass: f64,
    },
    /// The centre of mass is not finite.
    #[error("centre of mass is ({}, {}, {}); it must be finite, in m", com.x, com.y, com.z)]
    CentreOfMass {
        /// Point given, in m.
        com: Vec3,
    },
    /// An entry of the inertia is infinite or NaN.
    #[error("inertia has an entry that is not a finite number")]
    NotFinite,
    /// The matrix is not symmetric.
    #[error("inertia is not symmetric: entry ({i}, {j}) is {ij}, entry ({j}, {i}) is {ji}")]
    NotSymmetric {
        /// Row of the first entry.
        i: usize,
        /// Column of the first entry.
        j: usize,
        /// First entry, in kg·m².
        ij: f64,
        /// The mirrored entry, in kg·m².
        ji: f64,
    },
    /// The inertia is not zero although the mass is.
    #[error("inertia is not zero but the mass is; give a mass > 0 kg or drop the inertia")]
    Massless,
    /// A principal moment is negative.
    #[error(
        "principal moments of inertia are {}, {} and {} kg·m²; none may be negative",
        moments[0], moments[1], moments[2]
    )]
    NegativeMoment {
        /// Principal moments in kg·m², ascending.
        moments: [f64; 3],
    },
    /// A principal moment exceeds the sum of the other two.
    #[error(
        "principal moments of inertia are {}, {} and {} kg·m²; no body has a moment larger than \
         the sum of the other two",
        moments[0], moments[1], moments[2]
    )]
    Triangle {
        /// Principal moments in kg·m², ascending.
        moments: [f64; 3],
    },
}

/// Bodies from which no model can be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The parent has not been added.
    #[error("body `{body}`: its parent has index {parent}, but only {n} bodies exist so far")]
    UnknownParent {
        /// Name of the body.
        body: String,
        /// Index given.
        parent: usize,
        /// Number of bodies added before, including the world.
        n: usize,
    },
    /// Two bodies share a name.
    #[error("two bodies are named `{name}`; names must differ")]
    DuplicateBody {
        /// The name.
        name: String,
    },
    /// Resistance of a joint that is negative, not finite, or not one number per rate.
    #[error(
        "joint `{joint}`: its {what} is {seen:?}; it must be finite, ≥ 0, and one number for each of its {n} rates"
    )]
    Resistance {
        /// Name of the joint.
        joint: String,
        /// `damping`, `friction` or `armature`.
        what: &'static str,
        /// Numbers given; damping in N·s/m or N·m·s/rad, friction in N or N·m, armature in kg or
        /// kg·m².
        seen: Vec<f64>,
        /// Number of rates of the joint.
        n: usize,
    },
    /// A parameter of a support is negative or not finite.
    #[error("joint `{joint}`: its support has {what} {seen}; it must be finite and ≥ 0")]
    Support {
        /// Name of the joint.
        joint: String,
        /// `friction`, `load` or `spin_radius`.
        what: &'static str,
        /// The number given; `load` in N, `spin_radius` in m.
        seen: f64,
    },
    /// A support on a joint that cannot have one.
    #[error(
        "joint `{joint}` is {kind} and has a support; planar joints and slides that follow no other joint may have one, with a `spin_radius` if they are planar"
    )]
    SupportOnJoint {
        /// Name of the joint.
        joint: String,
        /// Kind of that joint.
        kind: &'static str,
    },
    /// A joint that cannot move a surface.
    #[error(
        "joint `{joint}` is {kind} and moves a surface; slides and hinges that follow no other joint may"
    )]
    SurfaceOnJoint {
        /// Name of the joint.
        joint: String,
        /// Kind of that joint.
        kind: &'static str,
    },
    /// A body on a joint that moves a surface and no place.
    #[error(
        "body `{body}` is carried by `{carrier}`, whose joint moves its surface and not its place; give it another parent"
    )]
    OnSurface {
        /// Name of the body.
        body: String,
        /// Name of the body with the surface.
        carrier: String,
    },
    /// Two joints share a name.
    #[error("two joints are named `{name}`; names must differ")]
    DuplicateJoint {
        /// The name.
        name: String,
    },
    /// The pose of the joint frame is invalid.
    #[error("joint `{joint}`: its frame has a position or rotation that is no pose")]
    Pose {
        /// Name of the joint.
        joint: String,
    },
    /// The axis is zero or not finite.
    #[error(
        "joint `{joint}`: axis is ({}, {}, {}); it must be finite and not zero",
        axis.x, axis.y, axis.z
    )]
    Axis {
        /// Name of the joint.
        joint: String,
        /// Axis given.
        axis: Vec3,
    },
    /// The share of gravity is not finite.
    #[error("body `{body}`: its share of gravity is {gravity}; it must be finite")]
    Gravity {
        /// Name of the body.
        body: String,
        /// Share given.
        gravity: f64,
    },
    /// The mass properties are impossible.
    #[error("body `{body}`: {why}")]
    Inertia {
        /// Name of the body.
        body: String,
        /// The rule that is violated.
        #[source]
        why: InertiaError,
    },
    /// Limits are NaN, or the lower one exceeds the upper one.
    #[error("joint `{joint}`: limits are [{lower}, {upper}]; lower must be ≤ upper")]
    Limits {
        /// Name of the joint.
        joint: String,
        /// Lower limit given, in m or rad.
        lower: f64,
        /// Upper limit given, in m or rad.
        upper: f64,
    },
    /// Limits on a joint that does not have exactly one dof.
    #[error("joint `{joint}` is {kind}; only joints with one dof have position limits")]
    LimitsOnJoint {
        /// Name of the joint.
        joint: String,
        /// Kind of that joint.
        kind: &'static str,
    },
    /// The leader of a mimic joint does not exist.
    #[error("joint `{joint}` mimics the joint of body {leader}, but there are {n} bodies")]
    UnknownLeader {
        /// Mimic joint.
        joint: String,
        /// Index given.
        leader: usize,
        /// Number of bodies, including the world.
        n: usize,
    },
    /// A mimic joint or its leader does not have exactly one dof.
    #[error("joint `{joint}` ({kind}) mimics `{leader}` ({leader_kind}); both must have one dof")]
    MimicKind {
        /// Mimic joint.
        joint: String,
        /// Kind of the mimic joint.
        kind: &'static str,
        /// Name of the leading joint; `world` if body 0 was given.
        leader: String,
        /// Kind of the leading joint.
        leader_kind: &'static str,
    },
    /// Multiplier or offset is not finite.
    #[error(
        "joint `{joint}`: mimic multiplier is {multiplier} and offset {offset}; both must be finite"
    )]
    MimicNumbers {
        /// Mimic joint.
        joint: String,
        /// Multiplier given.
        multiplier: f64,
        /// Offset given, in m or rad.
        offset: f64,
    },
    /// A mimic joint follows itself, directly or through others.
    #[error("joint `{joint}` mimics `{leader}`, which leads back to it; one joint must lead")]
    MimicLoop {
        /// A joint of the loop.
        joint: String,
        /// The joint it mimics.
        leader: String,
    },
    /// The limits of a mimic joint and of its leader exclude each other.
    #[error(
        "no position of joint `{leader}` keeps joint `{joint}`, which mimics it, within [{lower}, \
         {upper}]"
    )]
    MimicLimits {
        /// Mimic joint.
        joint: String,
        /// Name of its leader.
        leader: String,
        /// Lower limit of the mimic joint.
        lower: f64,
        /// Upper limit of the mimic joint.
        upper: f64,
    },
}

/// A vector that is not a configuration of this model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigurationError {
    /// Wrong number of entries.
    #[error("{got} entries; this model has {want} coordinates")]
    Length {
        /// Length given.
        got: usize,
        /// Length expected, `n_q`.
        want: usize,
    },
    /// An entry is infinite or NaN.
    #[error("`{coordinate}` is {value}; it must be a finite number")]
    NotFinite {
        /// Name of the coordinate.
        coordinate: String,
        /// Value given.
        value: f64,
    },
    /// A quaternion does not have unit length.
    #[error("the quaternion of `{joint}` has length {norm}; it must be 1")]
    NotUnit {
        /// Name of the joint.
        joint: String,
        /// Length of the quaternion.
        norm: f64,
    },
}
