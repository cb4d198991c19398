//! What can be wrong with a model or a configuration, in words for the person who wrote it.

use quasistep_math::Vec3;

/// No rigid body has these mass properties.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InertiaError {
    /// The mass is negative or not a number.
    #[error("mass is {mass}; it must be a finite number ≥ 0 kg")]
    Mass {
        /// Mass seen, in kg.
        mass: f64,
    },
    /// The centre of mass is not a point.
    #[error("centre of mass is ({}, {}, {}); it must be finite, in m", com.x, com.y, com.z)]
    CentreOfMass {
        /// Point seen.
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
        /// Its mirror image.
        ji: f64,
    },
    /// Inertia without mass.
    #[error("inertia is not zero but the mass is; give a mass > 0 kg or drop the inertia")]
    Massless,
    /// A principal moment is negative.
    #[error(
        "principal moments of inertia are {}, {} and {} kg·m²; none may be negative",
        moments[0], moments[1], moments[2]
    )]
    NegativeMoment {
        /// Principal moments, ascending.
        moments: [f64; 3],
    },
    /// A principal moment exceeds the sum of the other two.
    #[error(
        "principal moments of inertia are {}, {} and {} kg·m²; no body has a moment larger than \
         the sum of the other two",
        moments[0], moments[1], moments[2]
    )]
    Triangle {
        /// Principal moments, ascending.
        moments: [f64; 3],
    },
}

/// A model cannot be built from these bodies.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The parent was not added before.
    #[error("body `{body}`: its parent has index {parent}, but only {n} bodies exist so far")]
    UnknownParent {
        /// Body concerned.
        body: String,
        /// Index given.
        parent: usize,
        /// Bodies added before it, the world included.
        n: usize,
    },
    /// Two bodies share a name.
    #[error("two bodies are named `{name}`; names must differ")]
    DuplicateBody {
        /// The name.
        name: String,
    },
    /// What resists a joint is negative, not a number, or not one for each of its rates.
    #[error(
        "joint `{joint}`: its {what} is {seen:?}; it must be finite, ≥ 0, and one number for each of its {n} rates"
    )]
    Resistance {
        /// Joint concerned.
        joint: String,
        /// `damping`, `friction` or `armature`.
        what: &'static str,
        /// Numbers given, in N·s/m or N·m·s/rad, in N or N·m, in kg or kg·m².
        seen: Vec<f64>,
        /// Rates of the joint.
        n: usize,
    },
    /// A support that is none.
    #[error("joint `{joint}`: its support has {what} {seen}; it must be finite and ≥ 0")]
    Support {
        /// Joint concerned.
        joint: String,
        /// `friction`, `load` or `spin_radius`.
        what: &'static str,
        /// The number, in N or m.
        seen: f64,
    },
    /// A support of a joint that cannot have it.
    #[error(
        "joint `{joint}` is {kind} and has a support; planar joints and slides that follow no other joint may have one, with a `spin_radius` if they are planar"
    )]
    SupportOnJoint {
        /// Joint concerned.
        joint: String,
        /// Its kind.
        kind: &'static str,
    },
    /// Two joints share a name.
    #[error("two joints are named `{name}`; names must differ")]
    DuplicateJoint {
        /// The name.
        name: String,
    },
    /// The joint's frame is not a pose.
    #[error("joint `{joint}`: its frame has a position or rotation that is no pose")]
    Pose {
        /// Joint concerned.
        joint: String,
    },
    /// The axis gives no direction.
    #[error(
        "joint `{joint}`: axis is ({}, {}, {}); it must be finite and not zero",
        axis.x, axis.y, axis.z
    )]
    Axis {
        /// Joint concerned.
        joint: String,
        /// Axis seen.
        axis: Vec3,
    },
    /// The mass properties are impossible.
    #[error("body `{body}`: {why}")]
    Inertia {
        /// Body concerned.
        body: String,
        /// The rule that is broken.
        #[source]
        why: InertiaError,
    },
    /// Limits are in the wrong order or not numbers.
    #[error("joint `{joint}`: limits are [{lower}, {upper}]; lower must be ≤ upper")]
    Limits {
        /// Joint concerned.
        joint: String,
        /// Lower limit seen.
        lower: f64,
        /// Upper limit seen.
        upper: f64,
    },
    /// Limits on a joint that does not have exactly one dof.
    #[error("joint `{joint}` is {kind}; only joints with one dof have position limits")]
    LimitsOnJoint {
        /// Joint concerned.
        joint: String,
        /// Its kind.
        kind: &'static str,
    },
    /// The leader of a mimic joint does not exist.
    #[error("joint `{joint}` mimics the joint of body {leader}, but there are {n} bodies")]
    UnknownLeader {
        /// Mimic joint.
        joint: String,
        /// Index given.
        leader: usize,
        /// Number of bodies, the world included.
        n: usize,
    },
    /// A mimic joint or its leader does not have exactly one dof.
    #[error("joint `{joint}` ({kind}) mimics `{leader}` ({leader_kind}); both must have one dof")]
    MimicKind {
        /// Mimic joint.
        joint: String,
        /// Its kind.
        kind: &'static str,
        /// Joint that should lead; `world` if body 0 was named.
        leader: String,
        /// Its kind.
        leader_kind: &'static str,
    },
    /// Multiplier or offset is not a number.
    #[error(
        "joint `{joint}`: mimic multiplier is {multiplier} and offset {offset}; both must be finite"
    )]
    MimicNumbers {
        /// Mimic joint.
        joint: String,
        /// Multiplier seen.
        multiplier: f64,
        /// Offset seen.
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
    /// The limits of a mimic joint and of the joint it follows exclude each other.
    #[error(
        "no position of joint `{leader}` keeps joint `{joint}`, which mimics it, within [{lower}, \
         {upper}]"
    )]
    MimicLimits {
        /// Mimic joint.
        joint: String,
        /// The joint it follows.
        leader: String,
        /// Lower limit of the mimic joint.
        lower: f64,
        /// Upper limit of the mimic joint.
        upper: f64,
    },
}

/// A vector is no configuration of this model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigurationError {
    /// Wrong number of entries.
    #[error("{got} entries; this model has {want} coordinates")]
    Length {
        /// Entries seen.
        got: usize,
        /// `n_q`.
        want: usize,
    },
    /// An entry is infinite or NaN.
    #[error("`{coordinate}` is {value}; it must be a finite number")]
    NotFinite {
        /// Name of the coordinate.
        coordinate: String,
        /// Value seen.
        value: f64,
    },
    /// A quaternion is not unit.
    #[error("the quaternion of `{joint}` has length {norm}; it must be 1")]
    NotUnit {
        /// Joint concerned.
        joint: String,
        /// Length seen.
        norm: f64,
    },
}
