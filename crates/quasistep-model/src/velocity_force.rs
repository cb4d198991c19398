//! How the force of velocities, `−C(q, v) v`, changes with the configuration and the velocity.
//!
//! ```text
//! A_B = Σ_k (C_k × S_k) v_k,      F_B = −dp_B/dt = −(I A + V ×* I V),       tau = Σ_B J_Bᵀ F_B
//! ```
//!
//! `C_k` is the velocity of the frame that carries column `S_k`, `A_B` the rate of the twist `V_B` at constant rates, and
//! `p_B` the momentum: `A` is [`Model::twist_changes`] along the motion itself, and `F` [`Model::momentum_changes`] along it.

use crate::{Column, Kinematics, Model, SpatialForce, Twist};
use quasistep_math::{Mat3, Vec3};

/// A small change of the configuration and of the rates of all joints.
#[derive(Clone, Copy, Debug)]
pub struct MotionChange<'a> {
    /// Of the configuration on its tangent space, length `n_v`, and the body twists that it is.
    pub dq: &'a [f64],
    /// See there.
    pub moves: &'a [Twist],
    /// Of the rates, length `n_v`, and all that it changes of the twists of bodies.
    pub rates: &'a [f64],
    /// See there.
    pub dV: &'a [Twist],
}

/// Gradients with respect to the parts of a [`MotionChange`].
#[derive(Debug)]
pub struct MotionGradient<'a> {
    /// By `dq`.
    pub dq: &'a mut [f64],
    /// By `moves`.
    pub moves: &'a mut [SpatialForce],
    /// By `rates`.
    pub rates: &'a mut [f64],
    /// By `dV`.
    pub dV: &'a mut [SpatialForce],
}

/// The force of velocities on one body, to be differentiated. Made by [`Model::velocity_force_of`].
#[derive(Clone, Copy, Debug)]
pub struct BodyVelocityForce {
    /// Inertia about the centre of mass, world axes, in kg·m².
    I_W: Mat3,
    /// Centre of mass in the world, in m, and its velocity and acceleration.
    c: Vec3,
    u: Vec3,
    a: Vec3,
    /// Mass in kg.
    m: f64,
    /// Angular velocity and acceleration in the world.
    w: Vec3,
    alpha: Vec3,
}

impl Model {
    /// The force of velocities on a body with the twist `V` that changes at the rate `A`; `None` without mass.
    pub fn velocity_force_of(
        &self,
        kin: &Kinematics,
        body: usize,
        V: &Twist,
        A: &Twist,
    ) -> Option<BodyVelocityForce> {
        let inertia = &self.bodies[body].inertia;
        if inertia.mass == 0.0 {
            return None;
        }
        let R = kin.X_WB[body].rotation.to_matrix();
        let (c, w) = (kin.p_WBcm[body], V.w_W);
        let u = V.at(c);
        Some(BodyVelocityForce {
            I_W: R * inertia.inertia * R.transpose(),
            c,
            u,
            a: A.at(c) + w.cross(u),
            m: inertia.mass,
            w,
            alpha: A.w_W,
        })
    }

    /// `δA_B` of every body with the twists `V` at `rates`.
    pub fn acceleration_changes(
        &self,
        kin: &Kinematics,
        rates: &[f64],
        V: &[Twist],
        change: &MotionChange<'_>,
        out: &mut [Twist],
    ) {
        out[0] = Twist::ZERO;
        for (i, body) in self.bodies.iter().enumerate().skip(1) {
            let parent = body.parent;
            let mut sum = out[parent];
            let mut add = |column: &Column, [C, D, dC]: [Twist; 3]| {
                let (S, dof) = (column.twist(), column.dof as usize);
                let dS = D.cross(&S);
                sum += (dC.cross(&S) + C.cross(&dS)) * rates[dof];
                sum += C.cross(&S) * change.rates[dof];
            };
            // turns are carried by the slides of their joint, too
            let of_parent = [V[parent], change.moves[parent], change.dV[parent]];
            let mut slid = of_parent;
            let columns = &kin.columns[body.columns.clone()];
            for column in columns.iter().filter(|c| !c.turns()) {
                add(column, of_parent);
                let (S, dof) = (column.twist(), column.dof as usize);
                slid[0] += S * rates[dof];
                slid[1] += S * change.dq[dof];
                slid[2] += of_parent[1].cross(&S) * rates[dof] + S * change.rates[dof];
            }
            columns.iter().filter(|c| c.turns()).for_each(|column| add(column, slid));
            out[i] = sum;
        }
    }

    /// The transpose: adds the gradient of `Σ_B δA_B · weights_B`; `weights` becomes the sum over everything that each body
    /// carries.
    pub fn gradient_of_acceleration_changes(
        &self,
        kin: &Kinematics,
        rates: &[f64],
        V: &[Twist],
        weights: &mut [SpatialForce],
        to: &mut MotionGradient<'_>,
    ) {
        self.gather(weights);
        for (i, body) in self.bodies.iter().enumerate().skip(1) {
            let (parent, g) = (body.parent, weights[i]);
            let columns = &kin.columns[body.columns.clone()];
            let slides = || columns.iter().filter(|c| !c.turns());
            let slid = slides().fold(V[parent], |sum, c| sum + c.twist() * rates[c.dof as usize]);
            // gradients by what carries slides, and turns: by its motion, and by its twist
            let mut by = [[SpatialForce::ZERO; 2]; 2];
            for column in columns {
                let (S, dof) = (column.twist(), column.dof as usize);
                let (C, by) =
                    if column.turns() { (slid, &mut by[1]) } else { (V[parent], &mut by[0]) };
                by[0] += S.cross_dual(&C.cross_dual(&g)) * -rates[dof];
                by[1] += S.cross_dual(&g) * rates[dof];
                to.rates[dof] += C.cross(&S).dot(&g);
            }
            let [mut of_parent, turned] = by;
            for column in slides() {
                let (S, dof) = (column.twist(), column.dof as usize);
                to.dq[dof] += S.dot(&turned[0]);
                to.rates[dof] += S.dot(&turned[1]);
                of_parent[0] += S.cross_dual(&turned[1]) * rates[dof];
            }
            to.moves[parent] += of_parent[0] + turned[0];
            to.dV[parent] += of_parent[1] + turned[1];
        }
    }
}

impl BodyVelocityForce {
    /// The force.
    pub fn force(&self) -> SpatialForce {
        let Self { I_W, c, a, m, w, alpha, .. } = *self;
        SpatialForce::at(c, a * -m, (w.cross(I_W * w) + I_W * alpha) * -1.0)
    }

    /// Its change as the body moves, its centre of mass beside that by `shift`, its twist changes by `dV` and the rate of that
    /// by `dA`.
    pub fn change(&self, moves: &Twist, shift: Vec3, dV: &Twist, dA: &Twist) -> SpatialForce {
        let Self { I_W, c, u, a, m, w, alpha } = *self;
        let (d, dw) = (moves.w_W, dV.w_W);
        let dc = moves.at(c) + shift;
        let du = dV.at(c) + w.cross(dc);
        let da = dA.at(c) + alpha.cross(dc) + dw.cross(u) + w.cross(du);
        let turned = |x: Vec3| d.cross(I_W * x) - I_W * d.cross(x);
        let torque =
            dw.cross(I_W * w) + w.cross(I_W * dw + turned(w)) + I_W * dA.w_W + turned(alpha);
        SpatialForce::at(c, da * -m, (dc.cross(a) * m + torque) * -1.0)
    }

    /// The gradients of `change · weight` by the motion, by `dV` and by `dA`, and by the shift.
    pub fn gradient(&self, weight: &Twist) -> ([SpatialForce; 3], Vec3) {
        let Self { I_W, c, u, a, m, w, alpha } = *self;
        let (y, by_a) = (weight.w_W * -1.0, weight.at(c) * -m);
        let by_u = by_a.cross(w);
        let by_c = a.cross(y) * m + by_a.cross(alpha) + by_u.cross(w);
        let z = y.cross(w);
        let turned = |y: Vec3, x: Vec3| (I_W * x).cross(y) - x.cross(I_W * y);
        let by_dV = u.cross(by_a) + (I_W * w).cross(y) + I_W * z;
        let by_move = turned(z, w) + turned(y, alpha);
        let at = |f: Vec3, torque: Vec3| SpatialForce::at(c, f, torque);
        ([at(by_c, by_move), at(by_u, by_dV), at(by_a, I_W * y)], by_c)
    }

    /// Its change with the inertia about the centre of mass, which changes by `dI(x)` for a vector `x`, in world axes.
    pub fn change_by_inertia(&self, dI: impl Fn(Vec3) -> Vec3) -> Vec3 {
        (self.w.cross(dI(self.w)) + dI(self.alpha)) * -1.0
    }

    /// The gradient of that for a weight on the torque: the sum of `y · dI x` over these pairs `(y, x)`.
    pub fn gradient_by_inertia(&self, weight: Vec3) -> [(Vec3, Vec3); 2] {
        [(self.w.cross(weight), self.w), (weight * -1.0, self.alpha)]
    }
}
