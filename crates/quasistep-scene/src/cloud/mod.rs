//! Point clouds in scene files: bodies straight from what a scanner or a depth camera saw.
//!
//! Readers of our own, about a hundred lines each: the formats are simple, and what matters here
//! (every complaint with its line or byte, no number of a header believed before it is held against
//! the file's length, a million points in well under a second) is what general readers leave open.

mod columns;
mod file;
mod gather;
mod keys;
mod look;
mod mass;
mod neighbours;
mod npy;
mod pcd;
mod place;
mod report;
mod sampled;
mod sieve;
#[cfg(test)]
mod tests;

pub(crate) use keys::{Loaded, read};
pub(crate) use mass::{Spread, unit_mass};
pub use report::CloudReport;
