//! Cartesian stiffness: a spring and a damper between a frame F and its commanded pose C.
//!
//! ```text
//! e = (log(R_WC R_WFᵀ), p_WC − p_WF)          w = K (e − s h J v) − D J v          J = frame Jacobian, s = 1
//! P += s h² JᵀKJ + h JᵀDJ                     p += h JᵀK e
//! ```
//!
//! `w` is the torque and force on F at its origin, at the end of the step. It is the law of
//! impedance controllers: at rest it equals `K e` exactly, for any angle between F and C.
//!
//! Within a step the rotation error is linearised with `J`: `log(R_C R_Fᵀ)` decreases by `h ω`.
//! This is exact for a rotation about the axis of `e`. Steps converge to the true equilibrium from
//! any start if loads hold the frame less than 1.89 rad from its command, where `|1 −
//! (θ/2)(cot(θ/2) + i)| = 1`.
//!
//! [`Integration::Midpoint`](crate::Integration::Midpoint) measures the rotation error of its
//! second solve at the end of the first solve's motion. It evaluates the spring at `s`, as it does
//! springs of joints.

use crate::error::{StepError, SystemError};
use crate::params::StepParams;
use quasistep_math::{Mat3, Pose, Quat, Vec3, symmetric_eigen};
use quasistep_model::{Frame, Kinematics, Model, SpatialForce, Twist, left_jacobian_inverse};
use std::ops::{Add, Mul, Sub};

/// A symmetric 6 × 6 matrix over a displacement. The first three rows and columns are the
/// translation (N/m), the last three the rotation vector (N·m/rad). Units of the off-diagonal
/// blocks are N/rad and N·m/m.
pub type Matrix6 = [[f64; 6]; 6];

/// Largest difference between mirrored entries of a symmetric matrix, relative to its largest
/// entry. It allows for digits lost when a file is printed.
const SYMMETRY_TOLERANCE: f64 = 1e-9;

/// Most negative eigenvalue that is accepted, relative to the largest entry. It allows for rounding
/// of a matrix product.
const EIGENVALUE_TOLERANCE: f64 = 1e-12;

/// Largest deviation of a commanded quaternion from unit length. Within it, the quaternion is
/// normalised.
const UNIT_TOLERANCE: f64 = 1e-6;

/// A spring and a damper between a frame F and its commanded pose C.
///
/// In `q_cmd` the command follows those of the joints: unit quaternion w, x, y, z of C in the
/// world, then its position (m). The rates are (ω in rad/s, velocity in m/s) in world axes. The
/// effort is (torque in N·m, force in N) on the frame at its origin, in world axes.
#[derive(Clone, Debug, PartialEq)]
pub struct CartesianSpring {
    /// Name in messages and column headers.
    pub name: String,
    /// The frame F on which the spring acts.
    pub frame: Frame,
    /// Stiffness `K`, symmetric positive semidefinite.
    pub stiffness: Matrix6,
    /// Damping `D` against the frame's velocity, symmetric positive semidefinite, in N·s/m and N·m·s/rad.
    pub damping: Matrix6,
    /// Axes in which both matrices are given.
    pub axes: SpringAxes,
}

/// Axes of the matrices of a [`CartesianSpring`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpringAxes {
    /// Axes of the commanded pose C. At zero error these are the frame's own axes, as for the
    /// stiffness of a tool.
    #[default]
    Command,
    /// Axes of the world.
    World,
}

/// Checks that a matrix is symmetric positive semidefinite and returns it exactly symmetric.
///
/// # Errors
///
/// A description of what is wrong with the matrix.
pub fn positive_semidefinite(m: &Matrix6) -> Result<Matrix6, String> {
    let entries = || (0..6).flat_map(|i| (0..6).map(move |j| (i, j)));
    let scale = entries().fold(0.0_f64, |most, (i, j)| most.max(m[i][j].abs()));
    for (i, j) in entries() {
        let (a, b) = (m[i][j], m[j][i]);
        // written so that NaN fails
        if !((a - b).abs() <= SYMMETRY_TOLERANCE * scale && a.is_finite()) {
            return Err(format!(
                "row {} column {} is {a} and row {} column {} is {b}; the matrix must be symmetric",
                i + 1,
                j + 1,
                j + 1,
                i + 1
            ));
        }
    }
    let m: Matrix6 = std::array::from_fn(|i| std::array::from_fn(|j| 0.5 * (m[i][j] + m[j][i])));
    let least = symmetric_eigen(m).0[0];
    if least < -EIGENVALUE_TOLERANCE * scale {
        return Err(format!(
            "its smallest eigenvalue is {least:.3e}; the matrix must be positive semidefinite"
        ));
    }
    Ok(m)
}

/// Damping matrix `D = 2 ratio √K`.
///
/// `ratio` is the share of critical damping for a mass of 1 kg and an inertia of 1 kg·m², the
/// convention of impedance controllers.
pub fn damping_of_ratio(stiffness: &Matrix6, ratio: f64) -> Matrix6 {
    let (values, vectors) = symmetric_eigen(*stiffness);
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let share = |k: usize| values[k].max(0.0).sqrt() * vectors[k][i] * vectors[k][j];
            2.0 * ratio * (0..6).map(share).sum::<f64>()
        })
    })
}

/// A twist (angular velocity, velocity of the origin) or a wrench (torque, force at the origin), in
/// W.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Six(pub Vec3, pub Vec3);

impl Six {
    pub const ZERO: Self = Self(Vec3::ZERO, Vec3::ZERO);

    pub fn dot(self, o: Self) -> f64 {
        self.0.dot(o.0) + self.1.dot(o.1)
    }

    /// Sum of the cross products of the two angular parts and of the two linear parts.
    fn cross(self, o: Self) -> Vec3 {
        self.0.cross(o.0) + self.1.cross(o.1)
    }

    /// Both parts crossed with a small rotation vector: `by × part`.
    fn turned(self, by: Vec3) -> Self {
        Self(by.cross(self.0), by.cross(self.1))
    }

    pub fn to_array(self) -> [f64; 6] {
        let (a, b) = (self.0.to_array(), self.1.to_array());
        std::array::from_fn(|i| if i < 3 { a[i] } else { b[i - 3] })
    }

    pub fn from_slice(v: &[f64]) -> Self {
        Self(Vec3::new(v[0], v[1], v[2]), Vec3::new(v[3], v[4], v[5]))
    }
}

impl Add for Six {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self(self.0 + o.0, self.1 + o.1)
    }
}

impl Sub for Six {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Self(self.0 - o.0, self.1 - o.1)
    }
}

impl Mul<f64> for Six {
    type Output = Self;
    fn mul(self, s: f64) -> Self {
        Self(self.0 * s, self.1 * s)
    }
}

/// A symmetric 6 × 6 matrix over [`Six`]: the rotation precedes the translation, as in twists.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Blocks([[Mat3; 2]; 2]);

impl Blocks {
    /// Converts from the order translation, rotation.
    fn new(m: &Matrix6) -> Self {
        let block = |row: usize, column: usize| Mat3 {
            rows: [0, 1, 2].map(|i| Vec3::from([0, 1, 2].map(|j| m[row + i][column + j]))),
        };
        Self([[block(3, 3), block(3, 0)], [block(0, 3), block(0, 0)]])
    }

    /// Expresses the matrix in the axes that the rotation `R` maps its own axes to.
    fn in_axes(&self, R: &Mat3) -> Self {
        Self(self.0.map(|row| row.map(|block| *R * block * R.transpose())))
    }

    fn times(&self, v: Six) -> Six {
        let [[a, b], [c, d]] = self.0;
        Six(a * v.0 + b * v.1, c * v.0 + d * v.1)
    }
}

/// A validated [`CartesianSpring`] of a system.
#[derive(Clone, Debug)]
pub(crate) struct SpringOfFrame {
    pub given: CartesianSpring,
    K: Blocks,
    D: Blocks,
    /// Fastest relaxation rate of the spring against its own damper, in 1/s; infinite without
    /// damping.
    rate: f64,
}

impl SpringOfFrame {
    /// This spring in a system that gives its body the index `body`.
    pub fn on(&self, body: usize) -> Self {
        let frame = Frame { body, ..self.given.frame };
        Self { given: CartesianSpring { frame, ..self.given.clone() }, ..self.clone() }
    }

    pub fn new(mut given: CartesianSpring, model: &Model) -> Result<Self, SystemError> {
        let name = given.name.clone();
        let bad = |what: String, seen: String, rule: String| {
            Err(SystemError::Definition { what, seen, rule })
        };
        if given.frame.body >= model.n_bodies() || model.path(given.frame.body).is_empty() {
            let (seen, n) = (given.frame.body, model.n_bodies());
            let rule = format!("one of {n} bodies, and one that moves");
            return bad(format!("frame of spring `{name}`"), format!("body {seen}"), rule);
        }
        for (what, matrix) in [("stiffness", &mut given.stiffness), ("damping", &mut given.damping)]
        {
            match positive_semidefinite(matrix) {
                Ok(symmetric) => *matrix = symmetric,
                Err(why) => {
                    let rule = "give a symmetric positive semidefinite matrix".into();
                    return bad(format!("{what} of spring `{name}`"), why, rule);
                }
            }
        }
        let (values, vectors) = symmetric_eigen(given.stiffness);
        let relaxes = |(k, u): (&f64, &[f64; 6])| {
            let D = &given.damping;
            let resists: f64 =
                (0..6).map(|i| (0..6).map(|j| u[i] * D[i][j] * u[j]).sum::<f64>()).sum();
            if *k <= 0.0 { 0.0 } else { k / resists.max(0.0) }
        };
        let rate = values.iter().zip(&vectors).map(relaxes).fold(0.0, f64::max);
        let (K, D) = (Blocks::new(&given.stiffness), Blocks::new(&given.damping));
        Ok(Self { given, K, D, rate })
    }
}

/// A Cartesian spring in one step, in world axes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pull {
    pub body: usize,
    /// Origin of the frame, in W.
    pub p_WF: Vec3,
    /// `e`, in rad and m. If the frame moves with twist `V`, the error at `s` is `e − s h V`.
    pub error: Six,
    /// `s`: point of the step at which the spring is evaluated, 1 at its end.
    pub at: f64,
    K: Blocks,
    D: Blocks,
    /// True if the matrices rotate with the command.
    in_command: bool,
    /// Columns of the frame Jacobian `J`: for each joint column on the path to the frame, its dof
    /// and twist.
    pub columns: Vec<(usize, Six)>,
}

/// Evaluates all Cartesian springs of a step.
///
/// `start` is the configuration at the start of the step; `kin` has the kinematics whose Jacobians
/// are used. `found` holds the generalised velocity of the first solve when this is the second of
/// two. Spring commands stand at the end of `q_cmd` and of its rates `v_cmd`.
///
/// # Errors
///
/// A commanded quaternion does not have unit length.
pub(crate) fn springs_at(
    springs: &[SpringOfFrame],
    model: &Model,
    (q_cmd, v_cmd): (&[f64], &[f64]),
    params: &StepParams,
    (start, kin): (&Kinematics, &Kinematics),
    found: Option<&[f64]>,
    out: &mut Vec<Pull>,
) -> Result<(), StepError> {
    let h = params.time_step;
    out.resize_with(springs.len(), Pull::default);
    let first_q = q_cmd.len() - 7 * springs.len();
    let first_v = v_cmd.len().saturating_sub(6 * springs.len());
    for (k, (spring, out)) in springs.iter().zip(out).enumerate() {
        let own = &q_cmd[first_q + 7 * k..][..7];
        let norm = own[..4].iter().map(|c| c * c).sum::<f64>().sqrt();
        let unit = Quat::try_normalize([own[0], own[1], own[2], own[3]])
            .filter(|_| (norm - 1.0).abs() <= UNIT_TOLERANCE);
        let Some(unit) = unit else {
            let name = &spring.given.name;
            let why = format!("the quaternion of spring `{name}` has length {norm}; it must be 1");
            return Err(StepError::Value { what: "q_cmd".into(), why });
        };
        let frame = &spring.given.frame;
        let (X_start, X) = (model.frame_pose(start, frame), model.frame_pose(kin, frame));
        out.at = params.integration.spring_at(spring.rate, 1.0, h);
        let mut X_WC = Pose::new(unit, Vec3::new(own[4], own[5], own[6]));
        if !v_cmd.is_empty() && out.at < 1.0 {
            let back = Six::from_slice(&v_cmd[first_v + 6 * k..]) * ((out.at - 1.0) * h);
            X_WC.rotation = Quat::from_rotation_vector(back.0) * X_WC.rotation;
            X_WC.translation += back.1;
        }
        let R_WC = X_WC.rotation.to_matrix();
        (out.K, out.D) = match spring.given.axes {
            SpringAxes::World => (spring.K, spring.D),
            SpringAxes::Command => (spring.K.in_axes(&R_WC), spring.D.in_axes(&R_WC)),
        };
        out.in_command = spring.given.axes == SpringAxes::Command;
        (out.body, out.p_WF) = (frame.body, X.translation);
        out.columns.clear();
        out.columns.extend(model.path(frame.body).iter().map(|&index| {
            let column = &kin.columns[index as usize];
            (column.dof as usize, Six(column.w_W, column.twist().at(X.translation)))
        }));
        // measure the rotation error at the end of the first solve's motion
        let turn = found.map_or(Vec3::ZERO, |v| out.velocity(v).0 * (out.at * h));
        let R_WF = Quat::from_rotation_vector(turn) * X_start.rotation;
        out.error = Six(
            (X_WC.rotation * R_WF.inverse()).to_rotation_vector() + turn,
            X_WC.translation - X_start.translation,
        );
    }
    Ok(())
}

/// Gradient of a weighted generalised force of a spring with respect to its inputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpringGradient {
    /// Gradient with respect to a small motion of the body.
    pub motion: SpatialForce,
    /// Gradient with respect to the body's twist.
    pub twist: SpatialForce,
    /// Gradient with respect to the command: rotation and translation.
    pub command: Six,
    /// Derivative with respect to the time step, without the term of the impulse of a constant force.
    pub time_step: f64,
}

impl Pull {
    /// Twist of the frame at the generalised velocity `v`.
    pub fn velocity(&self, v: &[f64]) -> Six {
        self.columns.iter().fold(Six::ZERO, |sum, (dof, column)| sum + *column * v[*dof])
    }

    /// Torque and force on the frame at its origin when it moves with twist `V`.
    pub fn wrench(&self, V: Six, h: f64) -> Six {
        self.K.times(self.error - V * (self.at * h)) - self.D.times(V)
    }

    /// Calls `add` with each dof and the generalised force (N or N·m) that the wrench `w` exerts on
    /// it.
    pub fn generalised(&self, w: Six, mut add: impl FnMut(usize, f64)) {
        self.columns.iter().for_each(|(dof, column)| add(*dof, column.dot(w)));
    }

    /// Calls `add` for every entry of `s h² JᵀKJ + h JᵀDJ`, both triangles.
    pub fn entries(&self, h: f64, mut add: impl FnMut(usize, usize, f64)) {
        for (k, (row, J)) in self.columns.iter().enumerate() {
            let resists = self.resists(*J, h) * h;
            for (l, (column, other)) in self.columns[..=k].iter().enumerate() {
                let entry = other.dot(resists);
                add(*row, *column, entry);
                // both orders of a pair are added, even if a mimic joint maps both columns to one
                // dof
                if l != k {
                    add(*column, *row, entry);
                }
            }
        }
    }

    /// `(s h K + D) V`: decrease of the force due to the twist `V`.
    fn resists(&self, V: Six, h: f64) -> Six {
        self.K.times(V) * (self.at * h) + self.D.times(V)
    }

    /// Wrench of the spring at the start of the step, `K e`.
    pub fn pull(&self) -> Six {
        self.K.times(self.error)
    }

    /// The spring's wrench as a spatial force on its body.
    pub fn on_body(&self, V: Six, h: f64) -> SpatialForce {
        let w = self.wrench(V, h);
        SpatialForce::at(self.p_WF, w.1, w.0)
    }

    /// Change of the impulse `h w` on the body, for a step with `s = 1`.
    ///
    /// The body moves by `moves`, its twist `V` changes by `dV`, the command by `dC` and the time
    /// step by `dh`. The term `dh w` is left out.
    pub fn change(
        &self,
        moves: Twist,
        V: Twist,
        dV: Twist,
        dC: Six,
        h: f64,
        dh: f64,
    ) -> SpatialForce {
        let p = self.p_WF;
        let (dp, V_F) = (moves.at(p), Six(V.w_W, V.at(p)));
        let dV_F = Six(dV.w_W, dV.at(p) + V.w_W.cross(dp));
        let E = left_jacobian_inverse(self.error.0);
        let de = Six(E * dC.0 - E.transpose() * moves.w_W, dC.1 - dp);
        let w = self.wrench(V_F, h);
        let mut dw = self.K.times(de - dV_F * h - V_F * dh) - self.D.times(dV_F);
        if self.in_command {
            let stretch = self.error - V_F * h;
            dw = dw + w.turned(dC.0) - self.K.times(stretch.turned(dC.0))
                + self.D.times(V_F.turned(dC.0));
        }
        let mut change = SpatialForce::at(p, dw.1, dw.0) * h;
        change.m_Wo_W += dp.cross(w.1) * h;
        change
    }

    /// The transpose of [`change`](Self::change), for a weight `y` on the impulse.
    pub fn gradient(&self, y: Twist, V: Twist, h: f64) -> SpringGradient {
        let p = self.p_WF;
        let V_F = Six(V.w_W, V.at(p));
        let w = self.wrench(V_F, h);
        let g = Six(y.w_W, y.at(p)) * h;
        let by_stretch = self.K.times(g);
        let by_velocity = (by_stretch * h + self.D.times(g)) * -1.0;
        let E = left_jacobian_inverse(self.error.0);
        let by_turn = E * by_stretch.0 * -1.0;
        let by_shift = w.1.cross(g.0) - by_stretch.1 + by_velocity.1.cross(V.w_W);
        let mut by_command = Six(E.transpose() * by_stretch.0, by_stretch.1);
        if self.in_command {
            let stretch = self.error - V_F * h;
            by_command.0 += w.cross(g) - stretch.cross(by_stretch) + V_F.cross(self.D.times(g));
        }
        SpringGradient {
            motion: SpatialForce::at(p, by_shift, by_turn),
            twist: SpatialForce::at(p, by_velocity.1, by_velocity.0),
            command: by_command,
            time_step: -by_stretch.dot(V_F),
        }
    }
}
