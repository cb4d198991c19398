//! Problems that own their data, seeded samples, and checks of certificates.

pub mod hard;
mod problem;
mod samples;

pub use problem::{Problem, contact_problem};
pub use samples::Samples;
