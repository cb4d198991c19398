//! All tests of this crate are one binary, which is linked once.

mod commands;
mod common;
mod compare;
mod examples;
mod files;
mod first_views;
mod kills;
mod live;
mod mpc;
mod plan;
