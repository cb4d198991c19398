//! Plans through contact: commands that bring bodies to goals.
//!
//! A planner improves the commands of the next steps, one of them is taken by the step itself, and
//! the horizon moves on. [`Planner::Local`] solves quadratic programs along rollouts of the relaxed
//! step, whose contacts push before they touch (Pang et al. 2023, Suh et al. 2025).
//! [`Planner::Sampling`] averages random rollouts of the step itself. Both see goals, bounds and
//! costs of one [`Task`], and are called by one function, [`plan()`].
//!
//! This crate reads no files and no clock, and knows no scene. The bits of a plan do not depend on
//! the number of threads.
#![allow(non_snake_case)] // letters of the literature

mod approach;
mod clearance;
mod goal;
mod grasp;
mod horizon;
mod joint_path;
mod judge;
mod local;
mod path_search;
mod planner;
mod random;
mod reach;
mod regrasp;
mod roadmap;
mod rollout;
mod sampling;
mod search;
mod task;
mod task_error;
mod tree;

pub use goal::{Goal, GoalError, JointTarget, PoseTarget, Target};
pub use grasp::{GraspError, GraspSampler, GraspSettings};
pub use joint_path::{JointPath, Moved, PathError, PathSettings, joint_path};
pub use judge::{Claim, Refusal, Verdict, check_plan, check_plan_in};
pub use local::LocalSettings;
pub use planner::{Limits, Plan, PlanEnd, Planner, Progress};
pub use roadmap::Roadmap;
pub use sampling::{Average, SamplingSettings};
pub use search::plan;
pub use task::{StateBound, Task, TaskError};
