//! All tests of this crate are one binary, which is linked once.

mod commands;
mod common;
mod files;
mod kills;
mod mpc;
mod plan;
