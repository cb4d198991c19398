//! Generalised forces and inertia: gravity, wrenches, mass matrix, potential energy.
//!
//! ```text
//! tau = Σ_B J_Bᵀ m_B g          M = Σ_B J_Bᵀ I_B J_B + diag(armature)          V = −Σ_B m_B g · p_WBcm
//! ```
//!
//! The mass matrix is computed by the composite rigid body algorithm. The entry of two columns on
//! one path uses the inertia of all bodies outboard of the outer column, so each pair is visited
//! once.

use crate::rigid_inertia::RigidInertia;
use crate::{Kinematics, Model};
use quasistep_math::Vec3;

impl Model {
    /// Adds the generalised force of gravity, `Σ Jᵀ m g` where a body feels its
    /// [share](crate::Body::gravity) of `g`.
    ///
    /// `g` is the gravitational acceleration in W, in m/s². `tau` has length `n_v`, in N and N·m.
    ///
    /// # Panics
    ///
    /// If `tau` is shorter than `n_v`.
    pub fn gravity_force(&self, kin: &Kinematics, g: Vec3, tau: &mut [f64]) {
        for (i, body) in self.bodies.iter().enumerate().skip(1) {
            let weight_W = g * body.weight_mass();
            if weight_W != Vec3::ZERO {
                self.add_wrench(kin, i, kin.p_WBcm[i], weight_W, Vec3::ZERO, tau);
            }
        }
    }

    /// Adds the generalised force of a force `f_W` (N) at the point `p_W` (m) and a torque (N·m) on
    /// `body`, all in W. `tau` has length `n_v`, in N and N·m.
    ///
    /// # Panics
    ///
    /// If there is no such body or `tau` is shorter than `n_v`.
    pub fn add_wrench(
        &self,
        kin: &Kinematics,
        body: usize,
        p_W: Vec3,
        force_W: Vec3,
        torque_W: Vec3,
        tau: &mut [f64],
    ) {
        for &index in self.path(body) {
            let column = &kin.columns[index as usize];
            let velocity = column.v_Wo_W + column.w_W.cross(p_W);
            tau[column.dof as usize] += velocity.dot(force_W) + column.w_W.dot(torque_W);
        }
    }

    /// Gravitational potential energy `−Σ m g · p_WBcm` in J, where a body feels its
    /// [share](crate::Body::gravity) of `g`. It is zero if all centres of mass are at the world's origin.
    pub fn potential_energy(&self, kin: &Kinematics, g: Vec3) -> f64 {
        let bodies = self.bodies.iter().zip(&kin.p_WBcm);
        bodies.map(|(body, p_Wcm)| -body.weight_mass() * g.dot(*p_Wcm)).sum()
    }

    /// Writes the mass matrix `M(q)`, `n_v × n_v`, row-major: kinetic energy is `½ vᵀ M v`, in J.
    ///
    /// The matrix is exactly symmetric and positive semidefinite. A dof that moves no mass has a
    /// zero row.
    ///
    /// # Panics
    ///
    /// If `out` does not have `n_v²` entries.
    pub fn mass_matrix(&self, kin: &Kinematics, out: &mut [f64]) {
        let n_v = self.n_v;
        assert_eq!(out.len(), n_v * n_v, "entries of a mass matrix with n_v = {n_v}");
        out.fill(0.0);
        self.mass_entries(kin, |row, column, entry| out[row * n_v + column] += entry);
    }

    /// Calls `add` with every contribution `(row, column, value)` to the mass matrix `M(q)`, in
    /// both triangles, including armature. Only dofs of one tree share entries, so the caller may
    /// store diagonal blocks.
    pub fn mass_entries(&self, kin: &Kinematics, mut add: impl FnMut(usize, usize, f64)) {
        for (i, body) in self.bodies.iter().enumerate().skip(1) {
            let RigidInertia { mass, p_Wcm, I_cm_W } = kin.composite[i];
            if body.columns.is_empty() || mass == 0.0 {
                continue;
            }
            let path = self.path(i);
            for k in body.columns.clone() {
                let column = &kin.columns[k];
                // linear and angular momentum of the outboard bodies at unit rate, about their
                // centre of mass
                let momentum = (column.v_Wo_W + column.w_W.cross(p_Wcm)) * mass;
                let spin = I_cm_W * column.w_W;
                for other in path.iter().map(|&index| index as usize).take_while(|&o| o <= k) {
                    let c = &kin.columns[other];
                    let entry = (c.v_Wo_W + c.w_W.cross(p_Wcm)).dot(momentum) + c.w_W.dot(spin);
                    let (row, col) = (column.dof as usize, c.dof as usize);
                    add(row, col, entry);
                    // both orders of a pair, also if a mimic joint gives both columns the same dof
                    if other != k {
                        add(col, row, entry);
                    }
                }
            }
        }
        for (dof, &armature) in self.armature.iter().enumerate().filter(|(_, a)| **a > 0.0) {
            add(dof, dof, armature);
        }
    }
}
