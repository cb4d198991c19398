//! All tests of this crate are one binary, which is linked once.
#![allow(non_snake_case)] // letters of the papers: P, A, J

mod common;
mod coulomb;
mod coulomb_allocations;
mod exchanges;
mod fence;
mod friction_lcps;
mod gripper;
mod jams;
mod piles;
mod slides;
mod uniqueness;

/// Counts the calls of each thread for the tests of allocations.
#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;
