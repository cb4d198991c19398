//! All tests of this crate are one binary, which is linked once.
#![allow(non_snake_case)] // frames in monogram notation: X_WB

mod common;
mod dynamics;
mod errors;
mod frames;
mod iiwa;
mod jacobians;
mod manifold;
mod tangent;
