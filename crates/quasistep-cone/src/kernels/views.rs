//! Values that kernels take together. `T` is a number of a padded vector over rows, or a lane of a
//! batch.

use crate::program::ConeProgram;
use crate::structure::Group;

/// Cones of some groups of a program.
#[derive(Clone, Copy)]
pub(crate) struct Groups<'a> {
    pub p: &'a ConeProgram,
    pub groups: &'a [Group],
}

/// Iterate of the interior point.
#[derive(Clone, Copy)]
pub(crate) struct Iterate<'a, T> {
    /// Displacement of a row per unit of its force.
    pub compliance: f64,
    pub s: &'a [T],
    pub z: &'a [T],
    /// Residual `A x − b − s` of the rows.
    pub gap: &'a [T],
}

/// Iterate with its matrices `W⁻²`: `w` of edges, `D` of round cones.
#[derive(Clone, Copy)]
pub(crate) struct Scaled<'a, T> {
    pub at: Iterate<'a, T>,
    pub w: &'a [T],
    pub D: &'a [T],
}

/// Direction of the slacks and multipliers.
#[derive(Clone, Copy)]
pub(crate) struct Step<'a, T> {
    pub ds: &'a [T],
    pub dz: &'a [T],
}
