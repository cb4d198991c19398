//! All tests of this crate are one binary, which is linked once.
#![allow(non_snake_case)] // letters of the papers

mod brute_force;
mod plans;
mod point_robot;
