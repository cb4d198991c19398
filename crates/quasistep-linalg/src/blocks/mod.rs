//! Elimination order and factorisations of matrices of blocks.
//!
//! Nothing here knows cones. Panels, columns and updates are indices into flat memory.

// parts of a kernel must be inlined into it, because only the kernel is compiled with its
// instruction set
#![allow(clippy::inline_always)]

pub mod factor;
pub mod layout;
pub mod lu;
pub mod many;
pub mod order;
pub mod solve;
pub mod wide;
