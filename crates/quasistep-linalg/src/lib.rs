//! Block factorisations, SIMD kernels and small dense kernels, and the vocabulary of the solvers.
//!
//! The solvers of quasistep factorise one kind of matrix: a sparse symmetric pattern of small dense
//! blocks, whose pattern stays while its numbers change.
//!
//! ```text
//! H = L Lᵀ  or  H = L U,     H x = f        H of blocks H_ij, `dim_i × dim_j`
//! ```
//!
//! | to read                      | what it has                                                     |
//! |------------------------------|-----------------------------------------------------------------|
//! | [`blocks`]                   | minimum-degree order, layout, `L Lᵀ`, `L U`, solves, many columns |
//! | [`simd`]                     | four lanes of `f64`, chosen at run time; the macro [`kernel`]     |
//! | [`aligned`]                  | memory at the start of a cache line                             |
//! | [`kernels`]                  | `dot`, `axpy`, an envelope Cholesky factorisation                 |
//! | [`Rows`]                     | a sparse matrix, row by row                                     |
//! | [`budget`]                   | the limit of work that the parts of a solve share               |
//! | [`Solution`], [`Settings`]   | what every solver takes and returns                             |
//! | [`tolerances`]               | thresholds that several solvers share                           |
//!
//! Equal inputs give equal bits on one kind of machine. The AVX2 and the portable version of a
//! kernel differ in rounding only. The limit of a solve is a count of multiply-adds
//! ([`Settings::work_limit`]), not a time, so it is the same on every machine.
//!
//! ```
//! use quasistep_linalg::Rows;
//! use quasistep_linalg::kernels::{cholesky, solve_lower, solve_lower_transposed};
//!
//! // 4 x + 2 y = 10, 2 x + 3 y = 9
//! let (mut M, first) = ([4.0, 2.0, 2.0, 3.0], [0, 0]);
//! cholesky(&mut M, 2, &first, |_, pivot| (pivot > 0.0).then_some(pivot)).unwrap();
//! let mut x = [10.0, 9.0];
//! solve_lower(&M, 2, &first, &mut x);
//! solve_lower_transposed(&M, 2, &first, 1, &mut x);
//! assert!((x[0] - 1.5).abs() < 1e-15 && (x[1] - 2.0).abs() < 1e-15);
//!
//! let mut A = Rows::new();
//! A.push(&[1], &[3.0]);
//! assert!((A.dot(0, &x) - 6.0).abs() < 1e-14);
//! ```
//!
//! This crate knows nothing of cones, contacts or active sets.
#![allow(non_snake_case)] // L, H, W, M are the letters of matrices

pub mod aligned;
pub mod blocks;
pub mod budget;
pub mod kernels;
mod rows;
mod saturation;
mod settings;
pub mod simd;
mod solution;
pub mod tolerances;

pub use rows::Rows;
pub use saturation::Saturation;
pub use settings::{Methods, Settings};
pub use solution::{Method, Reason, Residuals, Solution, Status};
