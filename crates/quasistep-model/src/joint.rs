//! The closed set of joints: how many coordinates each has and what they are called.

use quasistep_math::Vec3;

/// How a body moves against its parent. Axes are given in F, unit after [`build`], and the same
/// in M.
///
/// [`build`]: crate::ModelBuilder::build
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JointKind {
    /// M stays on F. No dof.
    Fixed,
    /// Turns about `axis` through F's origin; right-handed angle in rad.
    Revolute {
        /// Direction in F; any length but zero.
        axis: Vec3,
    },
    /// A revolute joint without end stops; its angle counts turns and is never wrapped.
    Continuous {
        /// Direction in F; any length but zero.
        axis: Vec3,
    },
    /// Slides along `axis`, in m.
    Prismatic {
        /// Direction in F; any length but zero.
        axis: Vec3,
    },
    /// Slides in F's xy plane and turns about F's z direction through M's origin: `x, y, theta`.
    Planar,
    /// Turns freely about F's origin: unit quaternion `w, x, y, z` of `R_FM`.
    Ball,
    /// Moves freely: unit quaternion `w, x, y, z` of `R_FM`, then `p_FM` in m.
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

    /// The word for messages.
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

    /// What follows the joint's name in the name of each coordinate, in the order of `q`.
    pub const fn coordinate_suffixes(&self) -> &'static [&'static str] {
        match self {
            Self::Fixed => &[],
            Self::Revolute { .. } | Self::Continuous { .. } | Self::Prismatic { .. } => &[""],
            Self::Planar => &[".x", ".y", ".theta"],
            Self::Ball => &[".qw", ".qx", ".qy", ".qz"],
            Self::Free => &[".qw", ".qx", ".qy", ".qz", ".x", ".y", ".z"],
        }
    }

    /// What follows the joint's name in the name of each rate, in the order of `v`.
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

    /// The axis of a joint that has one.
    pub(crate) fn axis_mut(&mut self) -> Option<&mut Vec3> {
        match self {
            Self::Revolute { axis } | Self::Continuous { axis } | Self::Prismatic { axis } => {
                Some(axis)
            }
            Self::Fixed | Self::Planar | Self::Ball | Self::Free => None,
        }
    }
}
