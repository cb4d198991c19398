//! All tests of this crate are one binary, which is linked once.
#![allow(non_snake_case)] // frames in monogram notation: X_WB

mod batch;
mod cartesian;
mod clouds;
mod common;
mod constraint_derivatives;
mod constraints;
mod deep;
mod derivative_matrices;
mod derivatives;
mod dynamics;
mod foundation;
mod integration;
mod inverse_kinematics;
mod joint_friction;
mod laws;
mod options;
mod standing;
mod statics;
mod support;
mod torsion;
