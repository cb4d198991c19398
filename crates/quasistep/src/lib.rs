//! Quasi-static and quasi-dynamic time-stepping of robots and objects in contact.
//!
//! Robots are driven by position commands through joint springs. Passive objects follow from force
//! balance. Contact and friction are solved as one convex program per step. Only the configuration
//! is carried from step to step, so steps of 0.1 s and more stay stable.
//!
//! Start reading in [`System::step`] (`step.rs`), one short function that lists the stages:
//! kinematics, distance, contact, assemble, solve, recover, integrate, report.
//!
//! ```text
//! min_v  1/2 vᵀ P v − pᵀ v         P = blkdiag( h² K_a + h D_a | M_u or 0 ),  p = h (K_a Δq_cmd + tau)
//! s.t.   max(phi/h, −max_recovery_speed) + (J_n + mu d_j·J_t) v ≥ 0     for every edge j of every contact
//!        q_lower ≤ q + h v ≤ q_upper                                    for every limited joint
//! ```
//!
//! Closed loops and couplings are equality rows `G v = −g/h` beside these ([`Constraint`]).
//!
//! | code      | meaning                                           | Pang21 | unit      |
//! |-----------|---------------------------------------------------|--------|-----------|
//! | `q`, `v`  | configuration, velocity at the end of the step    | q, v   | m, rad, m/s, rad/s |
//! | `h`       | time step                                         | h      | s         |
//! | `q_cmd`   | position command at the end of the step           | q̄_a   | m, rad    |
//! | `phi`     | signed distance, > 0 apart                        | φ      | m         |
//! | `beta`    | impulse along one edge of a friction cone         | β      | N·s       |
//! | `lambda`  | contact impulse on body B, force times `h`        | λ      | N·s       |
//!
//! The normal `n_AB_W` of a contact leaves body A and enters body B; forces are reported on B.
//! This crate does no input or output, prints nothing and owns no clock.
#![allow(non_snake_case)] // the letters of the papers: P, K_a, X_WB, J_n

mod adhesion;
mod anisotropy;
mod area;
mod batch;
mod batch_derivatives;
mod by_tolerance;
mod cartesian;
mod certificate;
mod certify;
mod constraint;
mod contact;
mod deep;
mod derivatives;
mod displacement;
mod distances;
mod drag;
mod error;
mod far_commands;
mod float;
mod formulation;
mod foundation;
mod friction;
mod held;
mod instances;
mod inverse_kinematics;
mod linearise;
mod load;
mod mass_scale;
mod params;
mod part;
mod pressure;
mod pull;
mod report;
mod rest;
mod resting;
mod rotation;
mod row;
mod run_derivatives;
mod scan;
mod seams;
mod sensors;
mod sizes;
mod stand_in;
mod state;
mod statics;
mod step;
mod substeps;
mod sweep;
mod switch;
mod system;
mod system_change;
mod taken;
mod tally;
mod timer;
mod trace;
mod uniqueness;
mod workspace;

pub use adhesion::{AdhesionPad, DEFAULT_REACH};
pub use batch::{BatchInput, BatchKeep, MakeVariant, SampleError, SampleOutcome, Variant};
pub use batch_derivatives::{
    BatchDerivatives, BatchVelocities, DerivativeOutcome, DifferentiateBatch,
};
pub use by_tolerance::InputOf;
pub use cartesian::{
    CartesianSpring, Matrix6, SpringAxes, damping_of_ratio, positive_semidefinite,
};
pub use certificate::Certificate;
pub use constraint::{Closing, NotClosed};
pub use derivatives::{
    ContactImpulses, DerivativeError, Derivatives, InputChange, Kinks, Mode, OutputChange,
    StateRows, StepKinks,
};
pub use distances::Distances;
pub use error::{PairDepth, ParamError, StepError, SystemError};
pub use formulation::{Cone, Formulation, FrictionLaw, Motion};
pub use friction::{Friction, FrictionAxes, FrictionException, PairFriction, Patch, Surface};
pub use held::{Constraint, ConstraintKind, Holds, Switch};
pub use instances::{Instance, on_threads};
pub use inverse_kinematics::{
    Follower, FrameTarget, IkAnswer, IkError, IkSettings, NotReached, Orientation, TooNear,
};
pub use linearise::{LinearContact, Linearisation};
pub use params::{
    Fallback, Inertia, Integration, PrescribedRate, Relaxation, Rotations, StepParams, Substeps,
    TangentAxes,
};
pub use pressure::Taxels;
pub use quasistep_record::{
    DeterminedSum, ForceUniqueness, MotionUniqueness, SharedForce, Uniqueness,
};
pub use report::{
    BodyDrag, ConstraintReport, ContactMode, ContactReport, CoulombMethod, JointForce, LastSubstep,
    Method, SLIP_SPEED_THRESHOLD, SPIN_RATE_THRESHOLD, StepMethod, StepReport, SupportForce,
};
pub use row::RowKey;
pub use run_derivatives::{
    RunDerivatives, RunGradient, RunMatrices, RunMode, RunOutcome, RunOverlap,
};
pub use sensors::{SensedStep, Sensor, SensorKind};
pub use sizes::{SizeChoice, Sizes};
pub use state::{Attached, Checkpoint, State, StepInput, WarmRow, WarmStart, Wrench};
pub use statics::{HeldWrench, RestRule, StaticsError};
pub use step::end_of_step;
pub use system::{Actuator, DampingOn, Geom, Role, System, SystemDef};
pub use system_change::SystemChange;
pub use taken::{Span, Taken};
pub use tally::{Answers, Float, Spread, Tally, Turn, Turned, Unresolved, Worst};
pub use timer::Stage;
pub use workspace::Workspace;
