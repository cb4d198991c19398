//! Cartesian stiffness: a spring and a damper between a frame F and the pose C that it is told.
//!
//! ```text
//! e = (log(R_WC R_WFᵀ), p_WC − p_WF)          w = K (e − s h J v) − D J v          J = frame Jacobian, s = 1
//! P += s h² JᵀKJ + h JᵀDJ                     p += h JᵀK e
//! ```
//!
//! `w` is the torque and the force on F at its origin, of the end of the step: the law of impedance controllers, so
//! that at rest it is `K e` exactly, however large the turn between both. Within a step the turn is linearised by `J`,
//! `log(R_C R_Fᵀ)` loses `h ω`; that is exact for a turn about the axis of `e`, and leads to the true equilibrium from
//! anywhere as long as loads hold the frame less than 1.89 rad from its command (there `|1 − (θ/2)(cot(θ/2) + i)| = 1`).
//! [`Integration::Midpoint`](crate::Integration::Midpoint) measures the turn of its second solve where the first one
//! led, and puts the spring at `s` as it does springs of joints.

use crate::error::{StepError, SystemError};
use crate::params::StepParams;
use quasistep_math::{Mat3, Pose, Quat, Vec3, symmetric_eigen};
use quasistep_model::{Frame, Kinematics, Model, SpatialForce, Twist, left_jacobian_inverse};
use std::ops::{Add, Mul, Sub};

/// A symmetric 6 × 6 matrix over a displacement: rows and columns of the translation (N/m), then those of the rotation
/// vector (N·m/rad); N/rad and N·m/m where they cross.
pub type Matrix6 = [[f64; 6]; 6];

/// Entries of a symmetric matrix may differ by this, relative to the largest one: digits that a file prints.
const SYMMETRY_TOLERANCE: f64 = 1e-9;

/// Eigenvalues may be negative by this, relative to the largest entry: rounding of a matrix that was multiplied out.
const EIGENVALUE_TOLERANCE: f64 = 1e-12;

/// A quaternion of a command may be this far from unit length; it is normalised then.
const UNIT_TOLERANCE: f64 = 1e-6;

/// A spring and a damper between a frame and the pose that it is told.
///
/// Its command stands in `q_cmd` behind those of the joints: unit quaternion w, x, y, z, then the position, of C in the
/// world; rates are (ω, velocity), and so is the effort, (torque, force) on the frame at its origin, in the world's axes.
#[derive(Clone, Debug, PartialEq)]
pub struct CartesianSpring {
    /// Name for messages and columns.
    pub name: String,
    /// The frame that is pulled.
    pub frame: Frame,
    /// Stiffness `K`, symmetric positive semidefinite.
    pub stiffness: Matrix6,
    /// Damping `D` against the frame's velocity, symmetric positive semidefinite, in N·s/m and N·m·s/rad.
    pub damping: Matrix6,
    /// Axes of both matrices.
    pub axes: SpringAxes,
}

/// Axes of the matrices of a [`CartesianSpring`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpringAxes {
    /// Those of the command, which are the frame's where it sits on it: the stiffness of a tool.
    #[default]
    Command,
    /// Those of the world.
    World,
}

/// The matrix, made symmetric to the last bit, if it is symmetric and positive semidefinite.
///
/// # Errors
///
/// What is wrong with it, in words.
pub fn positive_semidefinite(m: &Matrix6) -> Result<Matrix6, String> {
    let entries = || (0..6).flat_map(|i| (0..6).map(move |j| (i, j)));
    let scale = entries().fold(0.0_f64, |most, (i, j)| most.max(m[i][j].abs()));
    for (i, j) in entries() {
        let (a, b) = (m[i][j], m[j][i]);
        // written so that a NaN is refused
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

/// `D = 2 ratio √K`: the damping that a mass of 1 kg and an inertia of 1 kg·m² have at this share of the critical one,
/// as impedance controllers state it.
pub fn damping_of_ratio(stiffness: &Matrix6, ratio: f64) -> Matrix6 {
    let (values, vectors) = symmetric_eigen(*stiffness);
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let share = |k: usize| values[k].max(0.0).sqrt() * vectors[k][i] * vectors[k][j];
            2.0 * ratio * (0..6).map(share).sum::<f64>()
        })
    })
}

/// What a frame does or feels: (angular velocity, velocity of its origin) or (torque, force at its origin), in W.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Six(pub Vec3, pub Vec3);

impl Six {
    pub const ZERO: Self = Self(Vec3::ZERO, Vec3::ZERO);

    pub fn dot(self, o: Self) -> f64 {
        self.0.dot(o.0) + self.1.dot(o.1)
    }

    /// Both parts crossed with those of `o`, and added up.
    fn cross(self, o: Self) -> Vec3 {
        self.0.cross(o.0) + self.1.cross(o.1)
    }

    /// Both parts turned by a small rotation.
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

/// A symmetric matrix over [`Six`]: rotation before translation, as twists are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Blocks([[Mat3; 2]; 2]);

impl Blocks {
    /// From translation before rotation.
    fn new(m: &Matrix6) -> Self {
        let block = |row: usize, column: usize| Mat3 {
            rows: [0, 1, 2].map(|i| Vec3::from([0, 1, 2].map(|j| m[row + i][column + j]))),
        };
        Self([[block(3, 3), block(3, 0)], [block(0, 3), block(0, 0)]])
    }

    /// This quantity in the axes that `R` turns its own into.
    fn in_axes(&self, R: &Mat3) -> Self {
        Self(self.0.map(|row| row.map(|block| *R * block * R.transpose())))
    }

    fn times(&self, v: Six) -> Six {
        let [[a, b], [c, d]] = self.0;
        Six(a * v.0 + b * v.1, c * v.0 + d * v.1)
    }
}

/// A [`CartesianSpring`] of a system, checked.
#[derive(Clone, Debug)]
pub(crate) struct SpringOfFrame {
    pub given: CartesianSpring,
    K: Blocks,
    D: Blocks,
    /// Fastest rate at which it relaxes on its own, in 1/s: infinite without damping.
    rate: f64,
}

impl SpringOfFrame {
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

/// A spring in one step, in the world's axes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pull {
    pub body: usize,
    /// Origin of the frame, in W.
    pub p_WF: Vec3,
    /// `e`, in rad and m, such that `e − s h V` is the error at `s` if the frame moves with `V`.
    pub error: Six,
    /// `s`: where in the step it is evaluated, 1 at its end.
    pub at: f64,
    K: Blocks,
    D: Blocks,
    /// Matrices turn with the command.
    in_command: bool,
    /// Columns of `J`, one per joint column on the way to the frame.
    pub columns: Vec<(usize, Six)>,
}

/// Springs of a step. `start` is the configuration that the step starts from, `kin` the one whose Jacobians it uses; `found`
/// are the rates that the first of two solves has found. Commands stand at the end of `q_cmd` and of their rates `v_cmd`.
///
/// # Errors
///
/// A quaternion that is none.
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
        // the turn is measured where it is known to lead
        let turn = found.map_or(Vec3::ZERO, |v| out.velocity(v).0 * (out.at * h));
        let R_WF = Quat::from_rotation_vector(turn) * X_start.rotation;
        out.error = Six(
            (X_WC.rotation * R_WF.inverse()).to_rotation_vector() + turn,
            X_WC.translation - X_start.translation,
        );
    }
    Ok(())
}

/// What the change of a spring's force is made of, for one weight on its generalised force.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpringGradient {
    /// That by a small motion of the body.
    pub motion: SpatialForce,
    /// That by the body's twist.
    pub twist: SpatialForce,
    /// That by the command, its turn and its shift.
    pub command: Six,
    /// That by the time step, beside that of the impulse of a constant force.
    pub time_step: f64,
}

impl Pull {
    /// Velocity of the frame at rates `v`.
    pub fn velocity(&self, v: &[f64]) -> Six {
        self.columns.iter().fold(Six::ZERO, |sum, (dof, column)| sum + *column * v[*dof])
    }

    /// Torque and force on the frame at its origin when it moves with `V`.
    pub fn wrench(&self, V: Six, h: f64) -> Six {
        self.K.times(self.error - V * (self.at * h)) - self.D.times(V)
    }

    /// Hands each dof and its share of the force of the spring `w` to `add`, in N or N·m.
    pub fn generalised(&self, w: Six, mut add: impl FnMut(usize, f64)) {
        self.columns.iter().for_each(|(dof, column)| add(*dof, column.dot(w)));
    }

    /// Hands entries of `s h² JᵀKJ + h JᵀDJ` to `add`, both triangles.
    pub fn entries(&self, h: f64, mut add: impl FnMut(usize, usize, f64)) {
        for (k, (row, J)) in self.columns.iter().enumerate() {
            let resists = self.resists(*J, h) * h;
            for (l, (column, other)) in self.columns[..=k].iter().enumerate() {
                let entry = other.dot(resists);
                add(*row, *column, entry);
                // both orders of a pair, also when a mimic joint gives them the same dof
                if l != k {
                    add(*column, *row, entry);
                }
            }
        }
    }

    /// `(s h K + D) V`: what the force loses with the velocity.
    fn resists(&self, V: Six, h: f64) -> Six {
        self.K.times(V) * (self.at * h) + self.D.times(V)
    }

    /// The pull at the start of the step, `K e`.
    pub fn pull(&self) -> Six {
        self.K.times(self.error)
    }

    /// The force as one on its body.
    pub fn on_body(&self, V: Six, h: f64) -> SpatialForce {
        let w = self.wrench(V, h);
        SpatialForce::at(self.p_WF, w.1, w.0)
    }

    /// Change of the impulse `h w` on its body as the body moves by `moves`, its twist `V` changes by `dV`, the command by
    /// `dC` and the step by `dh`; the part `dh w` is left out. Of a step with `s = 1`.
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
