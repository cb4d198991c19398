//! Twists, spatial forces, and their derivatives by the configuration: second derivatives of the
//! kinematics in closed form.
//!
//! ```text
//! V_B = Σ_k S_k v_k,              δV_B = Σ_k (D_k × S_k) v_k            k in path(B)
//! tau_k = S_k · F_k,              δtau_k = (D_k × S_k) · F_k + S_k · δF_k
//! ```
//!
//! `S_k` is the column of a rate. `F_k` is the sum of the forces on all bodies outboard of it.
//! `D_k` is the twist of the frame that carries the column: the motion of all inboard joints, plus
//! the slides of the column's own joint if the column is a rotation. `D = Σ S δq` with `δq` in
//! tangent coordinates, where `q ⊕ δq` is [`Model::integrate`]. So rotations need no coordinates.
//! All quantities are in W, about the world's origin, so they add up over the tree.

use crate::{Column, Kinematics, Model};
use quasistep_math::Vec3;
use std::ops::{Add, AddAssign, Mul};

/// A spatial velocity or a small displacement. The point at `p_W` moves with `v_Wo_W + w_W × p_W`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Twist {
    /// Angular part in W, in rad/s or rad.
    pub w_W: Vec3,
    /// Linear part in W of the material point at the world's origin, in m/s or m.
    pub v_Wo_W: Vec3,
}

/// A spatial force (wrench), dual to twists.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpatialForce {
    /// Moment about the world's origin in W, in N·m.
    pub m_Wo_W: Vec3,
    /// Force in W, in N.
    pub f_W: Vec3,
}

impl Twist {
    /// The zero twist.
    pub const ZERO: Self = Self { w_W: Vec3::ZERO, v_Wo_W: Vec3::ZERO };

    /// Velocity of the material point at `p_W`.
    #[inline]
    pub fn at(&self, p_W: Vec3) -> Vec3 {
        self.v_Wo_W + self.w_W.cross(p_W)
    }

    /// Motion cross product: the rate of change of the twist `o` if it is carried along with this
    /// twist.
    #[inline]
    pub fn cross(&self, o: &Self) -> Self {
        Self {
            w_W: self.w_W.cross(o.w_W),
            v_Wo_W: self.w_W.cross(o.v_Wo_W) + self.v_Wo_W.cross(o.w_W),
        }
    }

    /// Dual of the cross product: the force `y` with `D · y = (D × self) · force` for every twist
    /// `D`.
    #[inline]
    pub fn cross_dual(&self, force: &SpatialForce) -> SpatialForce {
        SpatialForce {
            m_Wo_W: self.w_W.cross(force.m_Wo_W) + self.v_Wo_W.cross(force.f_W),
            f_W: self.w_W.cross(force.f_W),
        }
    }

    /// Power of a spatial force.
    #[inline]
    pub fn dot(&self, force: &SpatialForce) -> f64 {
        self.w_W.dot(force.m_Wo_W) + self.v_Wo_W.dot(force.f_W)
    }
}

impl SpatialForce {
    /// The zero force.
    pub const ZERO: Self = Self { m_Wo_W: Vec3::ZERO, f_W: Vec3::ZERO };

    /// The spatial force of a force at a point and a torque.
    #[inline]
    pub fn at(p_W: Vec3, f_W: Vec3, torque_W: Vec3) -> Self {
        Self { m_Wo_W: p_W.cross(f_W) + torque_W, f_W }
    }
}

impl Column {
    /// The twist of the outboard bodies at unit rate.
    #[inline]
    pub fn twist(&self) -> Twist {
        Twist { w_W: self.w_W, v_Wo_W: self.v_Wo_W }
    }

    /// True for a rotation; a slide has zero angular velocity.
    #[inline]
    pub fn turns(&self) -> bool {
        self.w_W != Vec3::ZERO
    }
}

macro_rules! arithmetic {
    ($name:ident, $a:ident, $b:ident) => {
        impl Add for $name {
            type Output = Self;
            #[inline]
            fn add(self, o: Self) -> Self {
                Self { $a: self.$a + o.$a, $b: self.$b + o.$b }
            }
        }
        impl AddAssign for $name {
            #[inline]
            fn add_assign(&mut self, o: Self) {
                *self = *self + o;
            }
        }
        impl Mul<f64> for $name {
            type Output = Self;
            #[inline]
            fn mul(self, s: f64) -> Self {
                Self { $a: self.$a * s, $b: self.$b * s }
            }
        }
    };
}
arithmetic!(Twist, w_W, v_Wo_W);
arithmetic!(SpatialForce, m_Wo_W, f_W);

impl Model {
    /// Range in `Kinematics::columns` of the body's own joint.
    pub fn columns_of(&self, body: usize) -> std::ops::Range<usize> {
        self.bodies[body].columns.clone()
    }

    /// `V_B` of every body for `rates` (length `n_v`), one entry per body.
    ///
    /// # Panics
    ///
    /// If `rates` is shorter than `n_v` or `out` than the number of bodies.
    pub fn twists(&self, kin: &Kinematics, rates: &[f64], out: &mut [Twist]) {
        out[0] = Twist::ZERO;
        for (i, body) in self.bodies.iter().enumerate().skip(1) {
            let mut twist = out[body.parent];
            for column in &kin.columns[body.columns.clone()] {
                twist += column.twist() * rates[column.dof as usize];
            }
            out[i] = twist;
        }
    }

    /// Calls `each` with every column of a joint, and the twist of the frame that carries it.
    fn carried(
        &self,
        kin: &Kinematics,
        body: usize,
        parent: Twist,
        dq: &[f64],
        mut each: impl FnMut(&Column, Twist),
    ) {
        let columns = &kin.columns[self.bodies[body].columns.clone()];
        let slides = columns.iter().filter(|c| !c.turns());
        let slid = slides.fold(parent, |sum, c| sum + c.twist() * dq[c.dof as usize]);
        for column in columns {
            each(column, if column.turns() { slid } else { parent });
        }
    }

    /// Change `δV_B` of every body's twist at fixed `rates`, for a change `dq` of the configuration
    /// (length `n_v`). `moves` are the body twists of `dq`.
    ///
    /// # Panics
    ///
    /// As [`twists`](Self::twists).
    pub fn twist_changes(
        &self,
        kin: &Kinematics,
        dq: &[f64],
        moves: &[Twist],
        rates: &[f64],
        out: &mut [Twist],
    ) {
        out[0] = Twist::ZERO;
        for (i, body) in self.bodies.iter().enumerate().skip(1) {
            let mut change = out[body.parent];
            self.carried(kin, i, moves[body.parent], dq, |column, by| {
                change += by.cross(&column.twist()) * rates[column.dof as usize];
            });
            out[i] = change;
        }
    }

    /// Transpose of [`twist_changes`](Self::twist_changes): adds the gradient of
    /// `Σ_B δV_B · weights_B` to `to_dq` and `to_moves`. Each entry of `weights` becomes the sum
    /// over all bodies that the body carries.
    pub fn gradient_of_twist_changes(
        &self,
        kin: &Kinematics,
        rates: &[f64],
        weights: &mut [SpatialForce],
        to_dq: &mut [f64],
        to_moves: &mut [SpatialForce],
    ) {
        self.gather(weights);
        for i in 1..self.bodies.len() {
            let weight = weights[i];
            self.carried_dual(
                kin,
                i,
                |c| c.twist().cross_dual(&weight) * rates[c.dof as usize],
                to_dq,
                to_moves,
            );
        }
    }

    /// Transpose of `carried`: adds the `force` on the frame of each column of a joint to the
    /// joint's slides and to the parent.
    fn carried_dual(
        &self,
        kin: &Kinematics,
        body: usize,
        force: impl Fn(&Column) -> SpatialForce,
        to_dq: &mut [f64],
        to_moves: &mut [SpatialForce],
    ) {
        let columns = &kin.columns[self.bodies[body].columns.clone()];
        let turned =
            columns.iter().filter(|c| c.turns()).fold(SpatialForce::ZERO, |sum, c| sum + force(c));
        let mut to_parent = turned;
        for column in columns.iter().filter(|c| !c.turns()) {
            to_dq[column.dof as usize] += column.twist().dot(&turned);
            to_parent += force(column);
        }
        to_moves[self.bodies[body].parent] += to_parent;
    }

    /// Sums forces over subtrees: each entry becomes the force on a body and all that it carries.
    pub fn gather(&self, forces: &mut [SpatialForce]) {
        for i in (1..self.bodies.len()).rev() {
            let force = forces[i];
            forces[self.bodies[i].parent] += force;
        }
    }

    /// Adds the generalised force of `gathered` subtree forces to `out` (length `n_v`).
    pub fn add_generalised(&self, kin: &Kinematics, gathered: &[SpatialForce], out: &mut [f64]) {
        for (i, body) in self.bodies.iter().enumerate().skip(1) {
            for column in &kin.columns[body.columns.clone()] {
                out[column.dof as usize] += column.twist().dot(&gathered[i]);
            }
        }
    }

    /// Adds to `out` the change of the generalised force of constant `gathered` subtree forces, for
    /// a change `dq` of the configuration. `moves` are the body twists of `dq`.
    pub fn add_turned_generalised(
        &self,
        kin: &Kinematics,
        dq: &[f64],
        moves: &[Twist],
        gathered: &[SpatialForce],
        out: &mut [f64],
    ) {
        for (i, body) in self.bodies.iter().enumerate().skip(1) {
            self.carried(kin, i, moves[body.parent], dq, |column, by| {
                out[column.dof as usize] += by.cross(&column.twist()).dot(&gathered[i]);
            });
        }
    }

    /// Transpose of [`add_turned_generalised`](Self::add_turned_generalised): adds the gradient of
    /// `Σ_k weights_k δtau_k` to `to_dq` and `to_moves`.
    pub fn gradient_of_turned_generalised(
        &self,
        kin: &Kinematics,
        weights: &[f64],
        gathered: &[SpatialForce],
        to_dq: &mut [f64],
        to_moves: &mut [SpatialForce],
    ) {
        for i in 1..self.bodies.len() {
            let force = gathered[i];
            self.carried_dual(
                kin,
                i,
                |c| c.twist().cross_dual(&force) * weights[c.dof as usize],
                to_dq,
                to_moves,
            );
        }
    }

    /// Momentum of every body for the twists `V`, about the world's origin, in N·m·s and N·s.
    pub fn momenta(&self, kin: &Kinematics, V: &[Twist], out: &mut [SpatialForce]) {
        for i in 0..self.bodies.len() {
            let (I_W, c) = (self.inertia_W(kin, i), kin.p_WBcm[i]);
            let l = V[i].at(c) * self.bodies[i].inertia.mass;
            out[i] = SpatialForce { m_Wo_W: c.cross(l) + I_W * V[i].w_W, f_W: l };
        }
    }

    /// Change of every body's momentum, for a displacement `moves` and a change `dV` of its twist
    /// `V`.
    pub fn momentum_changes(
        &self,
        kin: &Kinematics,
        moves: &[Twist],
        V: &[Twist],
        dV: &[Twist],
        out: &mut [SpatialForce],
    ) {
        for i in 0..self.bodies.len() {
            let (I_W, c) = (self.inertia_W(kin, i), kin.p_WBcm[i]);
            let (m, d, w) = (self.bodies[i].inertia.mass, moves[i].w_W, V[i].w_W);
            let dc = moves[i].at(c);
            let (l, dl) = (V[i].at(c) * m, (dV[i].at(c) + w.cross(dc)) * m);
            let turn = d.cross(I_W * w) - I_W * d.cross(w) + I_W * dV[i].w_W;
            out[i] = SpatialForce { m_Wo_W: dc.cross(l) + c.cross(dl) + turn, f_W: dl };
        }
    }

    /// Transpose of [`momentum_changes`](Self::momentum_changes): adds the gradient of
    /// `Σ_B δmomentum_B · weights_B` to `to_moves` and `to_dV`.
    pub fn gradient_of_momentum_changes(
        &self,
        kin: &Kinematics,
        V: &[Twist],
        weights: &[Twist],
        to_moves: &mut [SpatialForce],
        to_dV: &mut [SpatialForce],
    ) {
        for i in 0..self.bodies.len() {
            let [by_move, by_twist] = self.momentum_of(kin, i, V[i]).gradient(&weights[i]);
            to_moves[i] += by_move;
            to_dV[i] += by_twist;
        }
    }

    /// Momentum of a body with the twist `V` (rad/s, m/s, about the world's origin), in a form that
    /// can be differentiated.
    pub fn momentum_of(&self, kin: &Kinematics, body: usize, V: Twist) -> BodyMomentum {
        let (I_W, c) = (self.inertia_W(kin, body), kin.p_WBcm[body]);
        let m = self.bodies[body].inertia.mass;
        BodyMomentum { I_W, c, m, w: V.w_W, l: V.at(c) * m }
    }

    /// A body's inertia about its centre of mass, in world axes.
    fn inertia_W(&self, kin: &Kinematics, body: usize) -> quasistep_math::Mat3 {
        let inertia = self.bodies[body].inertia.inertia;
        if inertia == quasistep_math::Mat3::ZERO {
            return inertia;
        }
        let R = kin.X_WB[body].rotation.to_matrix();
        R * inertia * R.transpose()
    }
}

/// A body's momentum about the world's origin in world axes (N·m·s and N·s), in a form that can be
/// differentiated. Made by [`Model::momentum_of`].
#[derive(Clone, Copy, Debug)]
pub struct BodyMomentum {
    /// Inertia about the centre of mass in world axes, in kg·m².
    I_W: quasistep_math::Mat3,
    /// Centre of mass in the world, in m.
    c: Vec3,
    /// Mass, in kg.
    m: f64,
    /// Angular velocity in world axes, in rad/s.
    w: Vec3,
    /// Linear momentum, in N·s.
    l: Vec3,
}

impl BodyMomentum {
    /// Gradients of `δmomentum · weight` in world axes, about the world's origin. The first is by a
    /// small displacement of the body with its mass (rad, m); the second is by the body's twist
    /// (rad/s, m/s).
    pub fn gradient(&self, weight: &Twist) -> [SpatialForce; 2] {
        let Self { I_W, c, m, w, l } = *self;
        // expands weight · (dc × l + c × dl + turn, dl)
        let (a, b) = (weight.w_W, weight.v_Wo_W);
        let by_dl = (a.cross(c) + b) * m;
        let by_dc = l.cross(a) + by_dl.cross(w);
        let by_turn = (I_W * w).cross(a) - w.cross(I_W * a);
        [
            SpatialForce { m_Wo_W: c.cross(by_dc) + by_turn, f_W: by_dc },
            SpatialForce { m_Wo_W: c.cross(by_dl) + I_W * a, f_W: by_dl },
        ]
    }
}
