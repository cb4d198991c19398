//! Seeded samples, and friction programs.

pub mod friction;
#[path = "../../../../quasistep-qp/tests/all/common/samples.rs"]
mod samples;

pub use samples::Samples;
