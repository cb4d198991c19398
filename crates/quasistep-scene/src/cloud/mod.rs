//! Point clouds in scene files: bodies made from scans or depth images.
//!
//! The readers are our own, about a hundred lines each. The formats are simple, and general readers
//! lack what is needed here: every error names its line or byte, no count of a header is trusted
//! before it is checked against the file's length, and a million points are read in well under a
//! second.

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
mod sieve;
#[cfg(test)]
mod tests;

pub(crate) use gather::{FilePoints, MOST_POINTS};
pub(crate) use keys::{Loaded, read};
pub(crate) use mass::{Spread, unit_mass};
pub use report::CloudReport;
