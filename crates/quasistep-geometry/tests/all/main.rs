//! All tests of this crate are one binary, which is linked once.
#![allow(non_snake_case)] // frames in monogram notation: X_WB

mod cloud;
mod cloud_allocations;
mod cloud_pairs;
mod common;
mod cylinder;
mod distance;
mod ellipsoid;
mod exchange;
mod height_field;
mod hulls;
mod motions;
mod patch;
mod sample;
mod sheet;
mod solids;
mod way_out;

/// Counts the calls of each thread for the tests of allocations.
#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;
