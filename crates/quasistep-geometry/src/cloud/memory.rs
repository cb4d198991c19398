//! Memory of queries with clouds.

use super::choose::Chooser;
use crate::distance::ContactPoint;
use quasistep_math::Vec3;

/// A chosen point of one cloud and the other's point that it is near.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meeting {
    /// Indices of A's and B's point.
    pub pair: [u32; 2],
    pub point: ContactPoint,
}

/// Reusable memory of queries with clouds; holds no meaning.
#[derive(Debug, Default)]
pub(crate) struct CloudMemory {
    pub chooser: Chooser,
    pub(super) planes: Vec<(Vec3, f64)>,
    pub(super) points: Vec<ContactPoint>,
    pub(super) meetings: Vec<Meeting>,
}
