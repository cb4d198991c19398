//! Model-predictive control that decides itself when to touch, stick and slide.
//!
//! The prediction is a linear complementarity system ([`Lcs`], MpcNote (7) and (9)); the plan is the
//! *global* optimum over all contact modes, with its proof, or the best one found in the time given
//! and a certified gap. No big-M, no commercial solver.
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
//! 1. [`Lcs::contacts`] recognises Coulomb contacts: two impulses and six modes instead of four pairs.
//! 2. Intervals show which contacts cannot be touched at which step (`reach.rs`); they are left out.
//! 3. The horizon becomes a quadratic program on inputs and impulses with choices (`horizon.rs`).
//! 4. The last plan's modes, one step on, begin the search, or those that its inputs lead to when rolled out through the
//!    system (`rollout.rs`); inputs of the first nodes are rolled out as well.
//! 5. [`quasistep_solvers::MiqpSolver`] branches on the sign of friction, then contact, then sticking.
//!
//! # On a scene
//!
//! [`predict`] makes the system from a [`quasistep::System`] about one configuration, [`ClosedLoop`] plans,
//! moves the scene, and plans again. This crate knows no file and no clock.

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
