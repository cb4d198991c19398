//! Velocity-dependent forces in the equations of motion: Coriolis, centrifugal and gyroscopic.
//!
//! ```text
//! V_B = Σ_k S_k v_k         A_B = Σ_k (dS_k/dt) v_k         tau = −Σ_B J_Bᵀ ( m a_cm,  I α + ω × I ω )
//! ```
//!
//! `A_B` is the spatial acceleration at constant `v`. It comes from the motion of the columns
//! `S_k`: they turn with the parent of their joint, and the centre of a rotation moves.

use crate::{Kinematics, Model};
use quasistep_math::Vec3;

/// Spatial velocity of a body, and its time derivative at constant joint rates; both in W. The
/// material point at `p_W` moves with `v_Wo_W + w_W × p_W`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BodyMotion {
    /// Angular velocity, in rad/s.
    pub w_W: Vec3,
    /// Velocity of the material point at the world's origin, in m/s.
    pub v_Wo_W: Vec3,
    /// Time derivative of `w_W`, in rad/s².
    pub alpha_W: Vec3,
    /// Time derivative of the vector `v_Wo_W`, in m/s². This is not the acceleration of a material
    /// point.
    pub a_Wo_W: Vec3,
}

impl BodyMotion {
    /// Velocity of the material point at `p_W`, in m/s.
    pub fn velocity(&self, p_W: Vec3) -> Vec3 {
        self.v_Wo_W + self.w_W.cross(p_W)
    }

    /// Acceleration of the material point at `p_W`, in m/s².
    pub fn acceleration(&self, p_W: Vec3) -> Vec3 {
        self.a_Wo_W + self.alpha_W.cross(p_W) + self.w_W.cross(self.velocity(p_W))
    }
}

impl Model {
    /// Computes the motion of every body at constant rates `v` (length `n_v`).
    ///
    /// # Panics
    ///
    /// If `v` is shorter than `n_v`.
    pub fn motions(&self, kin: &Kinematics, v: &[f64], out: &mut Vec<BodyMotion>) {
        out.clear();
        out.push(BodyMotion::default());
        for (i, body) in self.bodies.iter().enumerate().skip(1) {
            let parent = out[body.parent];
            let mut motion = parent;
            let columns = &kin.columns[body.columns.clone()];
            for column in columns {
                let rate = v[column.dof as usize];
                motion.w_W += column.w_W * rate;
                motion.v_Wo_W += column.v_Wo_W * rate;
            }
            // M's origin, the centre of the joint's rotation, moves with the body
            let p_WM = kin.X_WB[i].translation;
            let v_WM = motion.velocity(p_WM);
            for column in columns {
                let rate = v[column.dof as usize];
                let turning = parent.w_W.cross(column.w_W);
                motion.alpha_W += turning * rate;
                motion.a_Wo_W += if column.w_W == Vec3::ZERO {
                    parent.w_W.cross(column.v_Wo_W) * rate
                } else {
                    (v_WM.cross(column.w_W) + p_WM.cross(turning)) * rate
                };
            }
            out.push(motion);
        }
    }

    /// Adds the velocity-dependent generalised force `−C(q, v) v`: Coriolis, centrifugal and
    /// gyroscopic. `v` and `tau` have length `n_v`; `tau` is in N and N·m. `motions` is scratch
    /// memory; afterwards it holds the result of [`motions`](Self::motions).
    ///
    /// # Panics
    ///
    /// If `v` or `tau` are shorter than `n_v`.
    pub fn velocity_force(
        &self,
        kin: &Kinematics,
        v: &[f64],
        motions: &mut Vec<BodyMotion>,
        tau: &mut [f64],
    ) {
        self.motions(kin, v, motions);
        for (i, body) in self.bodies.iter().enumerate().skip(1) {
            if body.inertia.mass == 0.0 {
                continue;
            }
            let (motion, p_Wcm) = (&motions[i], kin.p_WBcm[i]);
            let R = kin.X_WB[i].rotation.to_matrix();
            let I_W = R * body.inertia.inertia * R.transpose();
            let force_W = motion.acceleration(p_Wcm) * -body.inertia.mass;
            let torque_W = (I_W * motion.alpha_W + motion.w_W.cross(I_W * motion.w_W)) * -1.0;
            self.add_wrench(kin, i, p_Wcm, force_W, torque_W, tau);
        }
    }
}
