//! Convex programs over blocks of variables with small cones between them, as contact problems are.
//!
//! ```text
//! min  1/2 xᵀ P x + cᵀ x + Σ_l huber_l(x)     P = blkdiag(P_1, …), each positive semidefinite
//! s.t. s_k = E_k (Σ_side J_k,side x_side − b_k) ∈ K_k        for every cone k
//! ```
//!
//! | symbol     | shape         | meaning                                                          |
//! |------------|---------------|------------------------------------------------------------------|
//! | `P`, `c`   | `n × n`, `n`  | cost in blocks, one for each body or tree; may be singular, or zero |
//! | `J_k`, `b_k` | `k × width`, `k` | rows of a cone over one or two blocks, at most 8 rows         |
//! | `E_k`      | `m_k × k`     | edges of a pyramid, or the diagonal of a round cone              |
//! | `K_k`      | –             | nonnegative orthant, or `s_0 ≥ ‖(s_1, …)‖`: [`Cone`]              |
//! | `huber_l`  | –             | a spring whose force is limited: [`Saturation`]                  |
//! | `x`, `z`   | `n`, `m`      | minimiser; multipliers in the cones, `z_kᵀ s_k = 0`              |
//!
//! ```
//! use quasistep_cone::{Cone, ConeProgram, ConeSolver, Settings, Solution, Status};
//!
//! // a block of 2 kg on a floor, pushed sideways by 3 N·s under a load of 20 N·s, friction 0.5
//! let mut program = ConeProgram::new();
//! program.reset([3]);
//! for i in 0..3 {
//!     program.P(0, i)[i] = 2.0;
//! }
//! program.c(0).copy_from_slice(&[20.0, -3.0, 0.0]);
//! let mut contact = program.push_cone(Cone::Round(&[1.0, 0.5, 0.5]), 3, &[0]);
//! for r in 0..3 {
//!     contact.J(0, r)[r] = 1.0;
//! }
//! let mut solution = Solution::default();
//! ConeSolver::new().solve(&program, None, &Settings::default(), &mut solution);
//! assert_eq!(solution.status, Status::Solved);
//! // it sticks: friction takes the push, and the floor the load
//! assert!(solution.x.iter().all(|v| v.abs() < 1e-9));
//! assert!((solution.z[0] - 20.0).abs() < 1e-8);
//! ```
//!
//! # Engines
//!
//! [`ConeSolver`] tries the engines of this table in order, each where it applies.
//! [`Solution::method`] names the one that found the solution, and [`Settings::methods`] leaves
//! engines out. Every answer passes one check, whichever engine found it.
//!
//! | engine                                          | when                                            | where            |
//! |-------------------------------------------------|-------------------------------------------------|------------------|
//! | Mehrotra interior point, approximate            | [`Settings::accuracy`] > 0 and many variables   | `solver/near.rs` |
//! | semismooth Newton on the augmented Lagrangian   | **a warm step**; cold up to a hundred variables | `newton`         |
//! | interior point with the Nesterov–Todd scaling   | a large cold program, or Newton failed          | `interior`       |
//! | Newton once more, from a cold start             | up to a hundred variables                       | `newton`         |
//! | interior point in units of the cones            | uneven units                                    | `scaled.rs`      |
//! | certificates                                    | there is no solution, or so it seems            | `proof.rs`       |
//! | homogeneous embedding in double-double numbers  | too ill-conditioned for the others; milliseconds | `embedding`     |
//!
//! All share one block-sparse factorisation (crate `quasistep-linalg`). Its minimum-degree order is
//! kept while the graph of blocks and cones does not change (`structure.rs`). Kernels use explicit
//! SIMD (`kernels`). The interior point sweeps over batches of four cones of equal shape
//! (`batches.rs`). Islands, parts of the program that no cone connects, are solved separately
//! (`islands.rs`).
//!
//! # Questions
//!
//! - **Which engine answers a warm step?** Newton's method, from the multipliers and slacks of
//!   [`WarmStart`]: mostly two or three iterations. Then an exact solve on the active set found
//!   gives the last digits and the smallest-norm multipliers (`newton/finish.rs`).
//! - **Where is the stopping rule, and in which unit?** Each engine has its own, relative to the
//!   largest force and speed of an island: `newton/mod.rs`, `interior/mod.rs`. What counts is the
//!   check of every answer in `check.rs`, from the caller's own data, in units of the island's
//!   cones: a row is compared with its own terms and the island's speed, stationarity with its
//!   force. The thresholds are in `tolerances.rs`.
//! - **Where would a new cone be added?** Its shape in [`Cone`] and `ConeProgram::push_cone`
//!   (`program.rs`); its projection and scaling beside `second_order.rs`; then each place that asks
//!   `cone.round`: `kernels`, `check.rs`, `embedding/cones.rs`, `sensitivity`.
//! - **Who ends a long solve?** One [`Settings::work_limit`] for all engines, in multiply-adds
//!   counted from sizes (`quasistep_linalg::budget`). The solve then ends with [`Reason::Work`]. No
//!   clock is read.
//!
//! # What is promised
//!
//! - **A status for every input.** [`Status::Unbounded`] comes with a ray, [`Status::Infeasible`]
//!   with Farkas multipliers, [`Status::GaveUp`] with a [`Reason`]. No numerical value causes a
//!   panic.
//! - **`z` of smallest Euclidean norm** among all optimal multipliers; if the solver ends without
//!   it, [`Solution::dual_is_smallest_norm`] is false.
//! - **Derivatives** of every solution with respect to all data: [`Sensitivity`], with the kinks
//!   where they are one-sided.
//! - **Determinism**: equal inputs and warm starts give equal bits, on any number of threads.
//!
//! This crate knows nothing of friction laws, bodies or time steps.
#![allow(non_snake_case)] // P, A, E, J, H, U are the letters of the literature

mod batches;
mod check;
mod embedding;
pub mod inside;
mod interior;
mod islands;
mod kernels;
mod newton;
mod program;
mod proof;
mod scaled;
mod second_order;
mod sensitivity;
mod sizes;
mod solver;
mod structure;
mod tolerances;
mod units;

pub use program::{Cone, ConeMut, ConeProgram};
pub use quasistep_linalg::{
    Method, Methods, Reason, Residuals, Saturation, Settings, Solution, Status,
};
pub use sensitivity::{
    Barrier, ChangeAt, Kinks, Relaxed, RelaxedStart, Responses, Sensitivity, SensitivityError,
};
pub use solver::{ConeSolver, WarmStart};
