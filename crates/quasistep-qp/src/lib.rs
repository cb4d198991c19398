//! Dense convex quadratic programs, and programs with disjunctions of rows, with certificates.
//!
//! ```text
//! min  1/2 xᵀ P x + cᵀ x + Σ_k huber_k(x)     s.t.   s = A x − b ≥ 0
//! ```
//!
//! | symbol    | shape   | meaning                                                             |
//! |-----------|---------|---------------------------------------------------------------------|
//! | `P`       | `n × n` | symmetric, positive *semi*definite: may be singular, or zero          |
//! | `c`       | `n`     | linear cost                                                           |
//! | `A`, `b`  | `m × n` | sparse [`Rows`] and their least values; any degeneracy is allowed     |
//! | `huber_k` | –       | a spring whose force is limited: [`Saturation`]                       |
//! | `x`       | `n`     | minimiser                                                             |
//! | `z`       | `m`     | multipliers ≥ 0: `P x + c + ∇huber = Aᵀ z`, `z_i s_i = 0`             |
//!
//! ```
//! use quasistep_qp::{Qp, QpSolver, Rows, Settings, Solution, Status};
//!
//! // a weight of 2 N above a floor at x = 0, without mass: min 2 x  s.t.  x ≥ 0
//! let mut floor = Rows::new();
//! floor.push(&[0], &[1.0]);
//! let qp = Qp { n: 1, P: &[0.0], c: &[2.0], A: &floor, b: &[0.0], saturations: &[] };
//! let mut solution = Solution::default();
//! QpSolver::new().solve(&qp, &[], &Settings::default(), &mut solution);
//! assert_eq!(solution.status, Status::Solved);
//! assert!(solution.x[0].abs() < 1e-15 && (solution.z[0] - 2.0).abs() < 1e-15);
//! ```
//!
//! # Which entry
//!
//! | problem                                      | call                     | method, and where to begin to read |
//! |----------------------------------------------|--------------------------|------------------------------------|
//! | QP with a dense cost                         | [`Qp`], [`QpSolver`]     | Goldfarb and Idnani's dual active set in a proximal point method: `dense/mod.rs` |
//! | QP with disjunctions: complementarity, modes | [`Miqp`], [`MiqpSolver`] | branch and bound on modes: `miqp/search.rs` |
//!
//! Both stand on one dual active set (`active_set/mod.rs`), which starts from any working set. Nodes
//! of the branch and bound start from the parent's factors. The bound of [`MiqpSolver`] is valid
//! whenever it stops, and it needs no big-M.
//!
//! # What is promised
//!
//! - **A status for every input.** [`Status::Unbounded`] comes with a ray, [`Status::Infeasible`]
//!   with a Farkas certificate, [`Status::GaveUp`] with a [`Reason`]. No numerical value causes a
//!   panic.
//! - **A unique `x`** is refined on its active set with the problem's own data. If `x` is not
//!   unique (the cost is flat along a direction that no active row blocks), the result is the
//!   minimiser nearest to 0 in scaled variables, up to about 1e-5 of its norm. A variable with
//!   curvature is scaled so that its diagonal entry of `P`, Huber terms included, is 1; one without
//!   curvature by its largest coefficient in `A`. Only variables of singular diagonal blocks of `P`
//!   count in the norm.
//! - **Rows hold** to about 1e-13 of their terms. The exception are rows that are inconsistent by
//!   less than about 1e-8 of the variables' size, so that satisfying them would need huge
//!   multipliers. Such an inconsistency counts as an error of the data, and one of these rows stays
//!   violated by it. Every solution is checked against the caller's own data before it is reported
//!   as solved: each row and each variable is compared with its own terms.
//! - **`z` of smallest Euclidean norm** among all optimal multipliers, in the caller's units. It is
//!   unique, equal for equal rows, and independent of the warm start. If the solver ends without
//!   it, [`Solution::dual_is_smallest_norm`] is false.
//! - **Determinism**: equal inputs and warm starts give equal bits. `x` and `z` depend on the warm
//!   start by rounding only.
//!
//! This crate knows nothing of cones, contacts or time steps.
#![allow(non_snake_case)] // P, A are the letters of the literature

mod active_set;
mod dense;
mod miqp;
mod problem;
mod tolerances;

pub use active_set::Side;
pub use dense::QpSolver;
pub use miqp::{
    Choices, Hooks, Miqp, MiqpLimit, MiqpSettings, MiqpSolution, MiqpSolver, MiqpStatus, Propose,
};
pub use problem::Qp;
pub use quasistep_linalg::{
    Method, Reason, Residuals, Rows, Saturation, Settings, Solution, Status,
};
