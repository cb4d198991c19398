//! Mass properties of solids.

use quasistep_math::{Mat3, Vec3};

/// Mass, centre of mass and inertia of a solid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// Mass, in kg.
    pub mass: f64,
    /// Centre of mass in the shape's frame, in m.
    pub com: Vec3,
    /// Inertia about the centre of mass, axes of the shape, in kg·m².
    pub inertia: Mat3,
}
