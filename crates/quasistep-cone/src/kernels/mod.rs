//! Inner loops over cones, groups and panels.
//!
//! Kernels are compiled for two instruction sets; see [`simd`](quasistep_linalg::simd).

// parts of a kernel must be inlined into it, because only the kernel is compiled with its
// instruction set
#![allow(clippy::inline_always)]

mod barrier;
mod batch;
mod cones;
mod hessian;
mod kkt_norms;
mod many;
mod part;
mod round;
mod sizes;
mod tile;
mod touching;
mod views;

pub(crate) use barrier::{advance, corrector, directions, weights};
pub(crate) use batch::step::{
    Centred, Predicted, Reach, batch_advance, batch_corrector, batch_directions, batch_gondzio,
    batch_matrices, batch_predictor,
};
pub(crate) use batch::{G_at, Rows, batch_forces, batch_rows};
pub(crate) use cones::{Line, add_forces, force_power, rates, slacks, subtract_forces, unpad};
pub(crate) use hessian::{Products, Weights, add_cones, add_products, cost_times, start_hessian};
pub(crate) use kkt_norms::{KktNorms, kkt_norms};
pub(crate) use many::{
    Active, FaceMatrices, PressedRows, add_forces_many, add_rows_many, press_many,
};
pub use part::add_part;
pub(crate) use sizes::{advance_variables, all_finite, largest, row_sizes};
pub(crate) use touching::{Allowed, may_cancel, rows_hold, thinnest};
pub(crate) use views::{Groups, Iterate, Scaled, Step};

pub(crate) use crate::second_order::MAX as MAX_ROUND;
pub(crate) use quasistep_linalg::blocks::factor::factor;
pub(crate) use quasistep_linalg::blocks::lu::{Lu, factor_lu, solve_lu};
pub(crate) use quasistep_linalg::blocks::many::{
    Factor, Many, Small, add_product_many, largest_many, solve_lu_many, solve_many,
};
pub(crate) use quasistep_linalg::simd::{Isa, Lane, lanes, lanes_mut};

use crate::structure::Structure;
use quasistep_linalg::blocks;

/// `x ← H⁻¹ x` over the panels `first..last`.
pub(crate) fn solve(
    isa: Isa,
    s: &Structure,
    first: usize,
    last: usize,
    H: &[f64],
    W: &[f64],
    x: &mut [f64],
) {
    blocks::solve::solve(isa, s.layout(), first, last, H, W, x);
}
