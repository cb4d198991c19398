//! Model-predictive control that chooses contact modes (open, stick, slide) by itself.
//!
//! The prediction is a linear complementarity system ([`Lcs`], MpcNote (7) and (9)). The plan is
//! the *global* optimum over all contact modes, with a proof, or the best plan found in the given
//! time with a certified gap. Neither big-M nor a commercial solver is needed.
//!
//! ```
//! use quasistep_control::{Mpc, MpcSettings, PlanStatus, point_robot};
//!
//! let mut mpc = Mpc::new(point_robot::problem(5), MpcSettings::default())?;
//! let plan = mpc.plan(&point_robot::START, None)?;
//! assert_eq!(plan.status, PlanStatus::Optimal);
//! // MpcNote, Figure 4: 156
//! assert!((plan.cost - 155.9047).abs() < 1e-4 && plan.gap() <= 1e-9);
//! // one step on, from where the last plan leads
//! let next = mpc.plan(&plan.states[1], Some(&plan))?;
//! # Ok::<(), quasistep_control::ProblemError>(())
//! ```
//!
//! # How
//!
//! 1. [`Lcs::contacts`] detects Coulomb contacts: two impulses and six modes instead of four pairs.
//! 2. Interval arithmetic finds contacts that cannot act at a step (`reach.rs`); they are left out.
//! 3. The horizon becomes a quadratic program on inputs and impulses with discrete modes
//!    (`horizon.rs`).
//! 4. The search starts from the last plan's modes, shifted by one step, or from the modes of a
//!    rollout of its inputs (`rollout.rs`). Inputs of the first nodes are rolled out as well.
//! 5. [`quasistep_qp::MiqpSolver`] branches on the sign of friction, then contact, then
//!    sticking.
//!
//! # On a scene
//!
//! [`predict`] builds the system from a [`quasistep::System`] about one configuration.
//! [`ClosedLoop`] plans, moves the scene, and plans again. This crate reads no files and no clock.

mod along_plan;
mod closed_loop;
mod constraint;
mod error;
mod export;
mod horizon;
mod lcs;
mod mpc;
mod outlook;
mod plan;
pub mod point_robot;
mod prediction;
mod problem;
mod reach;
mod rollout;

pub use closed_loop::{ClosedLoop, LoopContact, LoopError, LoopStep, Moved, Task};
pub use constraint::{AtStep, Constraint, Relaxed};
pub use error::ProblemError;
pub use export::{FileFormat, Integers};
pub use lcs::{CoulombContact, Lcs};
pub use mpc::{Mpc, MpcSettings, Search};
pub use outlook::Outlook;
pub use plan::{Plan, PlanStatus};
pub use prediction::{
    ContactEntries, Dynamics, Prediction, PredictionError, PredictionSettings, geometric_stiffness,
    predict,
};
pub use problem::{Bounds, Cost, Hardness, Limits, Problem};
