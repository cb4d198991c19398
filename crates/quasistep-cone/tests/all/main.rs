//! All tests of this crate are one binary, which is linked once.
#![allow(non_snake_case)] // letters of the papers: P, A, J

mod allocations;
mod brute_force;
mod common;
mod cones;
#[path = "../../../../testkit/src/dense_program.rs"]
mod dense_program;
mod endings;
mod near;
mod sensitivity;
mod threads;

/// Counts the calls of each thread for the tests of allocations.
#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;
