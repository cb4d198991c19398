//! Inertia of rigid assemblies.

use crate::BodyInertia;
use quasistep_math::{Mat3, Pose, Vec3};

/// Mass properties of a rigid assembly, in world axes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RigidInertia {
    pub mass: f64,
    pub p_Wcm: Vec3,
    /// Inertia about the centre of mass, in kg·m². About the world's origin, small bodies far away
    /// would lose their digits.
    pub I_cm_W: Mat3,
}

impl RigidInertia {
    pub fn of_body(inertia: &BodyInertia, X_WB: &Pose) -> Self {
        let mut I_cm_W = Mat3::ZERO;
        if inertia.inertia != Mat3::ZERO {
            let R = X_WB.rotation.to_matrix();
            I_cm_W = R * inertia.inertia * R.transpose();
        }
        Self { mass: inertia.mass, p_Wcm: X_WB.transform_point(inertia.com), I_cm_W }
    }

    /// Both assemblies combined into one (parallel axis theorem).
    pub fn weld(&self, other: &Self) -> Self {
        if other.mass == 0.0 {
            return *self;
        }
        if self.mass == 0.0 {
            return *other;
        }
        let mass = self.mass + other.mass;
        let d = other.p_Wcm - self.p_Wcm;
        let reduced = self.mass * other.mass / mass;
        let steiner = Mat3::diagonal([d.norm_squared(); 3]) + Mat3::outer(d, d) * -1.0;
        Self {
            mass,
            p_Wcm: self.p_Wcm + d * (other.mass / mass),
            I_cm_W: self.I_cm_W + other.I_cm_W + steiner * reduced,
        }
    }
}
