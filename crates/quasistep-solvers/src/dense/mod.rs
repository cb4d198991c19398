//! Dense programs: a warm dual active set, and proofs for every way a problem can end.
//!
//! Start reading in `solver.rs`.

mod dual_active_set;
mod equilibrate;
mod proximal;
mod recession;
mod smallest_norm;
pub(crate) mod solver;
