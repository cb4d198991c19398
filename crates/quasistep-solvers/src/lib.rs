//! Convex quadratic programs with certificates.
//!
//! ```text
//! min_x  1/2 xᵀ P x + cᵀ x + Σ_k huber_k(x_k)      s.t.  s = A x − b ≥ 0,   dual z ≥ 0
//! optimal where  P x + c + ∇huber = Aᵀ z,   z_i s_i = 0
//! ```
//!
//! | letter | meaning                    | shape   |
//! |--------|----------------------------|---------|
//! | `P`    | cost, symmetric, positive semidefinite, may be singular or zero | n × n |
//! | `c`    | linear cost                | n       |
//! | `A`    | rows                       | m × n   |
//! | `b`    | least value of each row    | m       |
//! | `x`    | primal answer              | n       |
//! | `z`    | dual answer                | m       |
//! | `s`    | slack                      | m       |
//!
//! [`QpSolver`] is a dense dual active set (Goldfarb & Idnani 1983), warm-started by a list of rows,
//! inside a proximal-point iteration where `P` is singular, refined on its final working set.
//! Degenerate rows are the rule in contact problems: `x` is unique, `z` is not, and the answer is the
//! `z` of smallest Euclidean norm, so that it depends on the problem alone.
//!
//! Every input gets a [`Status`]; nothing here panics on numbers. This crate knows no contact, no
//! friction and no time step.
#![allow(non_snake_case)] // P, A, H, J, R are the letters of the literature

mod active_set;
mod dense;
mod problem;
mod rows;
mod scaling;
mod smallest_norm;
mod solver;

pub use problem::{Qp, Residuals, Saturation, Solution, Status};
pub use rows::Rows;
pub use solver::{QpSolver, Settings};
