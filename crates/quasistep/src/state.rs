use crate::row::RowKey;
use quasistep_math::{Pose, Quat, Vec3};

/// State of a simulation: all that must be saved to continue a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Time, in s.
    pub time: f64,
    /// Configuration `q`, length `n_q`, in m, rad and unit quaternions (w, x, y, z).
    pub q: Vec<f64>,
    /// Velocity, length `n_v`, in m/s and rad/s. [`Motion::Dynamic`](crate::Motion::Dynamic)
    /// carries it from step to step; empty means rest. Quasi-static steps start from rest and leave
    /// it empty.
    pub v: Vec<f64>,
    /// What each [switched constraint](crate::Switch) holds, in the order of their commands; `None`
    /// while it is off. Empty means that all are off.
    pub attached: Vec<Option<Attached>>,
}

/// What a [switched constraint](crate::Switch) holds while it is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Attached {
    /// Pose of the held frame in body B.
    Frame(Pose),
    /// Sum of a coupling, in its unit.
    Sum(f64),
}

impl Attached {
    /// Length of [`to_numbers`](Self::to_numbers).
    pub const N: usize = 8;

    /// Numbers in files and arrays: 1 and the pose (unit quaternion w, x, y, z, position in m), or 1
    /// and the sum. All are 0 if nothing is attached.
    pub fn to_numbers(attached: Option<Self>) -> [f64; Self::N] {
        let mut all = [0.0; Self::N];
        match attached {
            None => return all,
            Some(Self::Frame(X)) => {
                all[1..5].copy_from_slice(&X.rotation.to_array());
                all[5..].copy_from_slice(&X.translation.to_array());
            }
            Some(Self::Sum(sum)) => all[1] = sum,
        }
        all[0] = 1.0;
        all
    }

    /// Reads [`to_numbers`](Self::to_numbers) of a coupling or of another constraint. `None` if the
    /// numbers are not of that kind.
    #[allow(clippy::option_option)] // nothing attached, or not readable
    pub fn from_numbers(all: &[f64; Self::N], is_coupling: bool) -> Option<Option<Self>> {
        const UNIT: f64 = 1e-6;
        let &[on, w, x, y, z, a, b, c] = all;
        if on == 0.0 {
            return Some(None);
        }
        let norm = (w * w + x * x + y * y + z * z).sqrt();
        let finite = all.iter().all(|x| x.is_finite());
        match (on == 1.0 && finite, is_coupling) {
            (true, true) => Some(Some(Self::Sum(w))),
            (true, false) if (norm - 1.0).abs() <= UNIT => {
                Some(Some(Self::Frame(Pose::new(Quat::new(w, x, y, z), Vec3::new(a, b, c)))))
            }
            _ => None,
        }
    }
}

impl State {
    /// State at `time` (s) with configuration `q` and zero velocity.
    pub fn at_rest(time: f64, q: Vec<f64>) -> Self {
        Self { time, q, v: Vec::new(), attached: Vec::new() }
    }
}

/// Inputs of one step. All values are those at the end of the step, `t + h`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepInput {
    /// Position command, length [`System::n_cmd`](crate::System::n_cmd), in m, rad or unit
    /// quaternions. First the `q` entries of all commanded (actuated or prescribed) joints, in body
    /// order. Then the pose of each [`CartesianSpring`](crate::CartesianSpring) in W (unit
    /// quaternion w, x, y, z, position). Then, for each [`AdhesionPad`](crate::AdhesionPad), the share of its pull, 0
    /// to 1. Then, for each constraint with a [`Switch`](crate::Switch), a number above 0.5 if it is on.
    pub q_cmd: Vec<f64>,
    /// Rates of the command, length [`System::n_cmd_v`](crate::System::n_cmd_v), in m/s or rad/s;
    /// empty means zero. First the rates of the commanded joints' dofs, then (angular velocity,
    /// velocity) of each spring's pose, then one number for each pad and switch, which is not read.
    ///
    /// Read only by damping on the command error (rate at the end of the step), by
    /// [`Integration::Midpoint`](crate::Integration::Midpoint) (mean rate over the step; zero means
    /// a command that jumped at the start) and by
    /// [`PrescribedRate::Derivative`](crate::PrescribedRate::Derivative).
    pub v_cmd: Vec<f64>,
    /// External wrenches on bodies.
    pub wrenches: Vec<Wrench>,
    /// External generalised force on every dof, length `n_v`, in N or N·m, constant over the step;
    /// empty means zero. It adds to springs and wrenches, and models force-controlled motors.
    pub tau: Vec<f64>,
}

/// An external force and torque on a body, constant over the step.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrench {
    /// Index of the body.
    pub body: usize,
    /// Point of application, in the body's frame, in m.
    pub p_B: Vec3,
    /// Force, in the world frame, in N.
    pub force_W: Vec3,
    /// Torque, in the world frame, in N·m.
    pub torque_W: Vec3,
}

/// A [`State`] with its warm start. A run resumed from it has the same bits.
///
/// A run resumed from a bare `State` agrees to the solver's tolerance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// The state.
    pub state: State,
    /// Warm start of the next step.
    pub warm: WarmStart,
}

/// Warm start of a step: rows of the step before, for its solver, and its size, if a tolerance
/// chooses sizes. Any system accepts any warm start; rows that it does not have are ignored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WarmStart {
    /// Warm-start rows, ascending by key.
    pub rows: Vec<WarmRow>,
    /// Size of the step that left the rows, in s. A step of another size scales their impulses.
    pub time_step: Option<f64>,
    /// Size of the next step, in s; `None` for the largest. Read by
    /// [`System::step_by_tolerance`](crate::System::step_by_tolerance).
    pub next_size: Option<f64>,
}

/// Warm-start values of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmRow {
    /// Identity of the row.
    pub key: RowKey,
    /// Impulse of the row, in N·s, or N·m·s for a rotational joint.
    pub impulse: f64,
    /// Rate of the row, in m/s, or rad/s for a rotational joint.
    pub rate: f64,
}
