//! All tests of this crate are one binary, which is linked once, except the one of
//! `cloud_memory.rs`.
#![allow(non_snake_case)] // frames in monogram notation: X_WB

mod adhesion;
mod bounded;
mod cartesian;
mod chosen_sizes;
mod clouds;
mod common;
mod control;
mod derivatives;
mod documentation;
mod far_welds;
mod frame_commands;
mod matrices;
mod meshes;
mod mistakes;
mod mjcf;
mod motion;
mod nothing_ignored;
mod overlaps;
mod public_robots;
mod q_sys;
mod repeat;
mod rest;
mod robots;
mod scenes;
mod sdf_models;
mod sensors;
mod sizes;
mod source;
mod start_velocity;
mod supports;
mod surfaces;
mod to_mjcf;
mod tolerance;
mod torques;
