//! Cone programs over blocks of variables, whose block structure is analysed once and kept while it
//! does not change.

mod batches;
pub(crate) mod blocks;
mod check;
mod embedding;
pub(crate) mod interior;
mod islands;
pub(crate) mod kernels;
pub(crate) mod newton;
pub(crate) mod program;
mod proof;
mod scaled;
pub(crate) mod second_order;
pub(crate) mod sensitivity;
mod sizes;
mod small;
pub(crate) mod solver;
pub(crate) mod structure;
mod units;
