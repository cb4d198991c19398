//! Elimination order and factorisations of matrices of blocks, with the SIMD layer that they use.
//!
//! Nothing here knows cones. Panels, columns and updates are indices into flat memory.

// parts of a kernel must be inlined into it, because only the kernel is compiled with its
// instruction set
#![allow(clippy::inline_always)]

pub(crate) mod aligned;
pub(crate) mod factor;
pub(crate) mod layout;
pub(crate) mod lu;
pub(crate) mod many;
pub(crate) mod order;
pub(crate) mod simd;
pub(crate) mod solve;
pub(crate) mod wide;
