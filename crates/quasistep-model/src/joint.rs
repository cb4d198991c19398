//! Kinds of joints: their coordinates and names.

use quasistep_math::Vec3;

/// Kind of joint between the fixed frame F and the moving frame M. Axes are given in F and have the
/// same components in M. [`build`] normalises them.
///
/// [`build`]: crate::ModelBuilder::build
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JointKind {
    /// No motion of M relative to F; no dof.
    Fixed,
    /// Rotation about `axis` through F's origin; coordinate: right-handed angle in rad.
    Revolute {
        /// Direction in F; any nonzero length.
        axis: Vec3,
    },
    /// A revolute joint without limits. Its angle counts full turns and is not wrapped.
    Continuous {
        /// Direction in F; any nonzero length.
        axis: Vec3,
    },
    /// Translation along `axis`; coordinate in m.
    Prismatic {
        /// Direction in F; any nonzero length.
        axis: Vec3,
    },
    /// Translation in F's xy plane and rotation about F's z axis through M's origin; coordinates
    /// `x, y, theta`.
    Planar,
    /// Rotation about F's origin; coordinates: unit quaternion `w, x, y, z` of `R_FM`.
    Ball,
    /// Any motion; coordinates: unit quaternion `w, x, y, z` of `R_FM`, then `p_FM` in m.
    Free,
}

impl JointKind {
    /// Number of coordinates in `q`.
    pub const fn n_q(&self) -> usize {
        match self {
            Self::Fixed => 0,
            Self::Revolute { .. } | Self::Continuous { .. } | Self::Prismatic { .. } => 1,
            Self::Planar => 3,
            Self::Ball => 4,
            Self::Free => 7,
        }
    }

    /// Number of rates in `v`.
    pub const fn n_v(&self) -> usize {
        match self {
            Self::Fixed => 0,
            Self::Revolute { .. } | Self::Continuous { .. } | Self::Prismatic { .. } => 1,
            Self::Planar | Self::Ball => 3,
            Self::Free => 6,
        }
    }

    /// The kind as a word, for messages.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Revolute { .. } => "revolute",
            Self::Continuous { .. } => "continuous",
            Self::Prismatic { .. } => "prismatic",
            Self::Planar => "planar",
            Self::Ball => "ball",
            Self::Free => "free",
        }
    }

    /// Suffixes that make coordinate names from the joint's name, in the order of `q`.
    pub const fn coordinate_suffixes(&self) -> &'static [&'static str] {
        match self {
            Self::Fixed => &[],
            Self::Revolute { .. } | Self::Continuous { .. } | Self::Prismatic { .. } => &[""],
            Self::Planar => &[".x", ".y", ".theta"],
            Self::Ball => &[".qw", ".qx", ".qy", ".qz"],
            Self::Free => &[".qw", ".qx", ".qy", ".qz", ".x", ".y", ".z"],
        }
    }

    /// Units of the coordinates, in the order of `q`: `m`, `rad`, or empty for parts of a quaternion.
    pub const fn coordinate_units(&self) -> &'static [&'static str] {
        match self {
            Self::Fixed => &[],
            Self::Revolute { .. } | Self::Continuous { .. } => &["rad"],
            Self::Prismatic { .. } => &["m"],
            Self::Planar => &["m", "m", "rad"],
            Self::Ball => &["", "", "", ""],
            Self::Free => &["", "", "", "", "m", "m", "m"],
        }
    }

    /// Suffixes that make rate names from the joint's name, in the order of `v`.
    pub const fn dof_suffixes(&self) -> &'static [&'static str] {
        match self {
            Self::Fixed => &[],
            Self::Revolute { .. } | Self::Continuous { .. } | Self::Prismatic { .. } => &[""],
            Self::Planar => &[".x", ".y", ".theta"],
            Self::Ball => &[".wx", ".wy", ".wz"],
            Self::Free => &[".wx", ".wy", ".wz", ".vx", ".vy", ".vz"],
        }
    }

    /// True if the joint's first four coordinates are a quaternion.
    pub(crate) const fn has_quaternion(&self) -> bool {
        matches!(self, Self::Ball | Self::Free)
    }

    /// The axis of the joint, if it has one.
    pub(crate) fn axis_mut(&mut self) -> Option<&mut Vec3> {
        match self {
            Self::Revolute { axis } | Self::Continuous { axis } | Self::Prismatic { axis } => {
                Some(axis)
            }
            Self::Fixed | Self::Planar | Self::Ball | Self::Free => None,
        }
    }
}
