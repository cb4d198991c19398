//! The machine that finds what is wrong: it draws cases from seeds, judges what quasistep makes of them, and cuts what it
//! finds down to small files. `cargo xtask fuzz` runs it.
//!
//! A *case* is plain data (JSON), drawn from a seed by a [`Target`], which also judges it. Cases run in a child process
//! ([`worker`]) that a panic, a hang or too much memory may end; the [`campaign`] around it counts, and [`shrink`]s what it
//! finds. What was found once stands in `fuzz/corpus`, whose files the tests judge again.
#![allow(non_snake_case)] // the letters of the solvers and monogram notation

pub mod campaign;
pub mod files;
pub mod programs;
mod python_calls;
pub mod shrink;
mod target;
pub mod worker;
pub mod worlds;

pub use target::{Finding, TARGETS, Target, Verdict, target};
