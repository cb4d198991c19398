//! All tests of this crate are one binary, which is linked once.
#![allow(non_snake_case)] // letters of the papers: P, A, J

mod allocations;
mod answers;
mod brute_force;
mod common;
mod cones;
mod coulomb;
mod coulomb_allocations;
mod endings;
mod exchanges;
mod fence;
mod friction_lcps;
mod gripper;
mod hard;
mod jams;
mod miqp;
mod miqp_allocations;
mod near;
mod oracle;
mod piles;
mod recorded;
mod sensitivity;
mod slides;
mod socp;
mod threads;
mod uniqueness;

/// Counts the calls of each thread for the tests of allocations.
#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;
