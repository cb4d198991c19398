use crate::row::RowKey;
use quasistep_math::Vec3;

/// All that must be saved to continue a run: nothing else is remembered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Time, in s.
    pub time: f64,
    /// Configuration `q`, length `n_q`, in m, rad and unit quaternions (w, x, y, z).
    pub q: Vec<f64>,
    /// Velocity, length `n_v`, in m/s and rad/s: what
    /// [`Motion::Dynamic`](crate::Motion::Dynamic) carries from step to step.
    /// Empty is rest. Quasi-static steps start from rest and leave it empty.
    pub v: Vec<f64>,
}

impl State {
    /// The state at `time` (in s) in which nothing moves.
    pub fn at_rest(time: f64, q: Vec<f64>) -> Self {
        Self { time, q, v: Vec::new() }
    }
}

/// What drives one step. Everything is taken at the end of the step, `t + h`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepInput {
    /// Position command: the `q` entries of all commanded (actuated or prescribed) joints, in body
    /// order, then the pose of each [`CartesianSpring`](crate::CartesianSpring) in W (unit quaternion w, x, y, z, position);
    /// length [`System::n_cmd`](crate::System::n_cmd), in m, rad or unit quaternions.
    pub q_cmd: Vec<f64>,
    /// Rates of the same joints' dofs, then (angular velocity, velocity) of the same poses, length
    /// [`System::n_cmd_v`](crate::System::n_cmd_v), in m/s or rad/s; empty means zero. Read only
    /// by damping on the command error (rate at the end of the step), by
    /// [`Integration::Midpoint`](crate::Integration::Midpoint) (mean rate over the step; zero is a
    /// command that jumped at its start) and by
    /// [`PrescribedRate::Derivative`](crate::PrescribedRate::Derivative).
    pub v_cmd: Vec<f64>,
    /// External wrenches on bodies.
    pub wrenches: Vec<Wrench>,
    /// External generalised force on every dof, length `n_v`, in N or N·m, constant over the step, beside
    /// springs and wrenches: motors that are driven by force. Empty means zero.
    pub tau: Vec<f64>,
}

/// A force and a torque on a body, constant over the step.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrench {
    /// Index of the body.
    pub body: usize,
    /// Point of attack, in the body's frame, in m.
    pub p_B: Vec3,
    /// Force, in the world frame, in N.
    pub force_W: Vec3,
    /// Torque, in the world frame, in N·m.
    pub torque_W: Vec3,
}

/// A [`State`] with the warm start: resumes with the same bits.
///
/// A bare `State` resumes too, to the solver's tolerance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// The state.
    pub state: State,
    /// Rows of the step that led to it, ascending by key.
    pub rows: Vec<WarmRow>,
}

/// What a step may start its solver from, for speed: rows of the step before. Any system can start from any
/// of them; those that name no row of its own are passed over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WarmStart {
    /// Ascending by key.
    pub rows: Vec<WarmRow>,
}

/// One row of a step: what the next one starts from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmRow {
    /// Which row.
    pub key: RowKey,
    /// Its impulse, in N·s, or N·m·s of a joint.
    pub impulse: f64,
    /// Its rate, in m/s, or rad/s of a joint.
    pub rate: f64,
}
