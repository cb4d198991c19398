//! Scratch memory of queries with clouds.

use super::choose::Chooser;
use crate::distance::ContactPoint;
use quasistep_math::Vec3;

/// A contact point of two clouds, and the indices of the two points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meeting {
    /// Index of A's point and of B's point.
    pub pair: [u32; 2],
    pub point: ContactPoint,
}

/// Scratch memory of queries with clouds; its contents do not affect results.
#[derive(Debug, Default)]
pub(crate) struct CloudMemory {
    pub chooser: Chooser,
    pub(super) planes: Vec<(Vec3, f64)>,
    pub(super) points: Vec<ContactPoint>,
    pub(super) meetings: Vec<Meeting>,
}
