//! All tests of this crate are one binary, which is linked once.
#![allow(non_snake_case)] // letters of the papers: P, A, J

mod allocations;
mod answers;
mod common;
mod hard;
mod miqp;
mod miqp_allocations;
mod oracle;
mod recorded;

/// Counts the calls of each thread for the tests of allocations.
#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;
