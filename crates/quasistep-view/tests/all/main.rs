//! All tests of this crate are one binary, which is linked once.
#![allow(non_snake_case)] // frames in monogram notation: X_WB

mod bounds;
mod common;
mod mcap;
mod page;
mod plots;
mod stills;
