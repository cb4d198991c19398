//! Poses of all bodies and the spatial column of every joint rate, at one configuration.

use crate::rigid_inertia::RigidInertia;
use crate::{Body, JointKind, Model, WORLD};
use quasistep_math::{Pose, Quat, Vec3};

/// Spatial velocity of all bodies outboard of a joint at unit rate of one dof.
///
/// The material point at `p_W` moves with `v_Wo_W + w_W × p_W`. The column of a mimic joint has its
/// leader's dof and is scaled by the multiplier. So a path may have several columns of one dof.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Column {
    /// Index of the dof in `v`.
    pub dof: u32,
    /// Angular velocity in W, in rad/s per unit rate.
    pub w_W: Vec3,
    /// Velocity in W of the material point at the world's origin, in m/s per unit rate.
    pub v_Wo_W: Vec3,
}

/// Quantities that depend on `q` only. Filled by [`Model::kinematics`].
#[derive(Clone, Debug, Default)]
pub struct Kinematics {
    /// Pose of each body in the world.
    pub X_WB: Vec<Pose>,
    /// One column per rate of each joint, mimic joints included, in the order of the bodies.
    pub columns: Vec<Column>,
    /// Centre of mass of each body in W, in m.
    pub p_WBcm: Vec<Vec3>,
    /// Inertia of each body together with all bodies that it carries, at this configuration.
    pub(crate) composite: Vec<RigidInertia>,
}

impl Model {
    /// Memory for [`kinematics`](Self::kinematics), sized for this model.
    pub fn create_kinematics(&self) -> Kinematics {
        let n = self.n_bodies();
        Kinematics {
            X_WB: vec![Pose::IDENTITY; n],
            columns: vec![Column::default(); self.n_columns],
            p_WBcm: vec![Vec3::ZERO; n],
            composite: vec![RigidInertia::default(); n],
        }
    }

    /// Computes poses, columns and centres of mass at `q` (length `n_q`).
    ///
    /// Quaternions are normalised. Allocates only if `out` was made for another model.
    ///
    /// # Panics
    ///
    /// If `q` is shorter than `n_q`.
    pub fn kinematics(&self, q: &[f64], out: &mut Kinematics) {
        let n = self.n_bodies();
        out.X_WB.resize(n, Pose::IDENTITY);
        out.columns.resize(self.n_columns, Column::default());
        out.p_WBcm.resize(n, Vec3::ZERO);
        out.composite.resize(n, RigidInertia::default());
        out.X_WB[0] = Pose::IDENTITY;
        out.p_WBcm[0] = Vec3::ZERO;
        out.composite[0] = RigidInertia::default();
        for (i, body) in self.bodies.iter().enumerate().skip(1) {
            let X_WF = out.X_WB[body.parent] * body.X_PF;
            let (leader, scale, offset) = leader(&self.bodies, body);
            let X_WB = place(body, &X_WF, &q[leader.q.clone()], scale, offset);
            let columns = &mut out.columns[body.columns.clone()];
            fill_columns(body, &X_WF, X_WB.translation, leader.v.start as u32, scale, columns);
            out.X_WB[i] = X_WB;
            out.p_WBcm[i] = X_WB.transform_point(body.inertia.com);
            out.composite[i] = RigidInertia::of_body(&body.inertia, &X_WB);
        }
        for i in (1..n).rev() {
            let parent = self.bodies[i].parent;
            out.composite[parent] = out.composite[parent].weld(&out.composite[i]);
        }
    }
}

impl Model {
    /// Pose `X_WB` of one body at `q` (length `n_q`), in time proportional to the number of its
    /// ancestors. The result has the same bits as that of [`kinematics`](Self::kinematics).
    ///
    /// # Panics
    ///
    /// If `q` is shorter than `n_q` or there is no such body.
    pub fn pose(&self, q: &[f64], body: usize) -> Pose {
        if body == WORLD {
            return Pose::IDENTITY;
        }
        let body = &self.bodies[body];
        let X_WF = self.pose(q, body.parent) * body.X_PF;
        let (leader, scale, offset) = leader(&self.bodies, body);
        place(body, &X_WF, &q[leader.q.clone()], scale, offset)
    }

    /// Poses `X_WB` of all bodies at `q` (length `n_q`), in body order. The result has the same
    /// bits as that of [`kinematics`](Self::kinematics).
    ///
    /// # Panics
    ///
    /// If `q` is shorter than `n_q` or `X_WB` shorter than `n_bodies`.
    pub fn poses(&self, q: &[f64], X_WB: &mut [Pose]) {
        X_WB[WORLD] = Pose::IDENTITY;
        for (i, body) in self.bodies.iter().enumerate().skip(1) {
            let X_WF = X_WB[body.parent] * body.X_PF;
            let (leader, scale, offset) = leader(&self.bodies, body);
            X_WB[i] = place(body, &X_WF, &q[leader.q.clone()], scale, offset);
        }
    }
}

/// The body whose coordinate moves this body's joint, and the multiplier and offset; the body
/// itself if it is not a mimic joint.
fn leader<'a>(bodies: &'a [Body], body: &'a Body) -> (&'a Body, f64, f64) {
    match body.mimic {
        Some(m) => (&bodies[m.body], m.multiplier, m.offset),
        None => (body, 1.0, 0.0),
    }
}

/// `X_WB` from `X_WF`; the coordinate of a one-dof joint is `scale q + offset`. A joint that moves a
/// surface leaves its body in place.
fn place(body: &Body, X_WF: &Pose, q: &[f64], scale: f64, offset: f64) -> Pose {
    if body.surface {
        return *X_WF;
    }
    match body.joint {
        JointKind::Fixed => *X_WF,
        JointKind::Revolute { axis } | JointKind::Continuous { axis } => {
            let angle = scale * q[0] + offset;
            let rotation = X_WF.rotation * Quat::from_axis_angle(axis, angle);
            Pose::new(rotation, X_WF.translation)
        }
        JointKind::Prismatic { axis } => {
            let shift = axis * (scale * q[0] + offset);
            Pose::new(X_WF.rotation, X_WF.transform_point(shift))
        }
        JointKind::Planar => {
            let rotation = Quat::from_axis_angle(Vec3::Z, q[2]);
            *X_WF * Pose::new(rotation, Vec3::new(q[0], q[1], 0.0))
        }
        JointKind::Ball => Pose::new(X_WF.rotation * unit(q), X_WF.translation),
        JointKind::Free => *X_WF * Pose::new(unit(q), Vec3::new(q[4], q[5], q[6])),
    }
}

/// The first four entries normalised. A zero or NaN vector stays as it is, so that the result shows
/// the error.
pub(crate) fn unit(q: &[f64]) -> Quat {
    let a = [q[0], q[1], q[2], q[3]];
    Quat::try_normalize(a).unwrap_or(Quat::new(a[0], a[1], a[2], a[3]))
}

/// Computes the columns of one joint. Rates are expressed in F; rotations are about M's origin at
/// `p_WM`.
fn fill_columns(
    body: &Body,
    X_WF: &Pose,
    p_WM: Vec3,
    first_dof: u32,
    scale: f64,
    columns: &mut [Column],
) {
    let turn = |axis: Vec3| {
        let w_W = X_WF.rotation.rotate(axis) * scale;
        // v_Wo + w × p_WM = 0: M's origin does not move
        (w_W, p_WM.cross(w_W))
    };
    let slide = |axis: Vec3| (Vec3::ZERO, X_WF.rotation.rotate(axis) * scale);
    let mut set = |k: usize, (w_W, v_Wo_W): (Vec3, Vec3)| {
        columns[k] = Column { dof: first_dof + k as u32, w_W, v_Wo_W };
    };
    match body.joint {
        JointKind::Fixed => {}
        JointKind::Revolute { axis } | JointKind::Continuous { axis } => set(0, turn(axis)),
        JointKind::Prismatic { axis } => set(0, slide(axis)),
        JointKind::Planar => {
            set(0, slide(Vec3::X));
            set(1, slide(Vec3::Y));
            set(2, turn(Vec3::Z));
        }
        JointKind::Ball => {
            for (k, axis) in Vec3::AXES.into_iter().enumerate() {
                set(k, turn(axis));
            }
        }
        JointKind::Free => {
            for (k, axis) in Vec3::AXES.into_iter().enumerate() {
                set(k, turn(axis));
                set(3 + k, slide(axis));
            }
        }
    }
}
