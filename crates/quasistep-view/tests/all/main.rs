//! All tests of this crate are one binary, which is linked once.
#![allow(non_snake_case)] // frames in monogram notation: X_WB

mod bounds;
mod common;
mod mcap;
mod page;
mod page_controls;
mod plots;
mod stills;
