//! Quadratic programs in which rows choose: branch and bound, without big-M.
//!
//! Start reading in `search.rs`.

mod branch;
mod incumbent;
mod node;
mod problem;
mod rows;
mod search;
mod solver;

pub use problem::{Choices, Miqp, Side};
pub use solver::{Hooks, MiqpLimit, MiqpSettings, MiqpSolution, MiqpSolver, MiqpStatus, Propose};
