//! Fuzzer of quasistep: it draws cases from seeds, judges the results, and shrinks findings to
//! small files. `cargo xtask fuzz` runs it.
//!
//! A *case* is plain data (JSON), drawn from a seed by a [`Target`], which also judges it. Cases
//! run in a child process ([`worker`]), which a panic, a hang or too much memory may end. The
//! [`campaign`] runs the cases and counts outcomes, and [`shrink`] reduces its findings. Earlier
//! findings are stored in `fuzz/corpus`, whose files the tests judge again.
#![allow(non_snake_case)] // notation of the solvers and monogram notation

pub mod campaign;
pub mod files;
pub mod programs;
mod python_calls;
pub mod shrink;
mod target;
pub mod worker;
pub mod worlds;

pub use target::{Finding, TARGETS, Target, Verdict, target};
