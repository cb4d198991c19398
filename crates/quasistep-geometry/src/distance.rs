//! How far two shapes are apart, and where they touch.

use quasistep_math::Vec3;

/// How far two shapes are apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// Signed distance, in m: > 0 apart, < 0 overlapping.
    pub phi: f64,
    /// Witness point on A, world frame, in m.
    pub p_WCa: Vec3,
    /// Witness point on B, world frame, in m.
    pub p_WCb: Vec3,
    /// Unit normal from A into B, world frame.
    pub n_AB_W: Vec3,
}

impl Distance {
    /// From the distance of two cores to that of the shapes around them.
    pub(crate) fn with_radii(self, radius_a: f64, radius_b: f64) -> Self {
        Self {
            phi: self.phi - radius_a - radius_b,
            p_WCa: self.p_WCa + self.n_AB_W * radius_a,
            p_WCb: self.p_WCb - self.n_AB_W * radius_b,
            n_AB_W: self.n_AB_W,
        }
    }
}

/// One point of a contact patch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPoint {
    /// Signed distance at this point along the patch's normal, in m.
    pub phi: f64,
    /// Point on A, world frame, in m.
    pub p_WCa: Vec3,
    /// Point on B, world frame, in m.
    pub p_WCb: Vec3,
    /// Unit normal from A into B, world frame; the same for all points of a patch of flat features, each
    /// point's own for a cloud.
    pub n_AB_W: Vec3,
    /// Identity of the pair of features, the same while they stay in contact, unique in its patch. For a
    /// cloud the index of the point; for two clouds that of A's point, or 2³¹ more than that of B's.
    pub feature: u32,
}

impl ContactPoint {
    /// The point as B and A have it.
    #[must_use]
    pub fn flipped(self) -> Self {
        Self { p_WCa: self.p_WCb, p_WCb: self.p_WCa, n_AB_W: -self.n_AB_W, ..self }
    }
}

/// Feature of a patch that is a single point.
pub(crate) const SINGLE: u32 = u32::MAX;

/// Below this a difference of witness points is mostly rounding, in m.
pub(crate) const TOUCH: f64 = 1e-9;

pub(crate) fn single(d: &Distance) -> ContactPoint {
    ContactPoint { phi: d.phi, p_WCa: d.p_WCa, p_WCb: d.p_WCb, n_AB_W: d.n_AB_W, feature: SINGLE }
}

pub(crate) fn flip_distance(d: Distance) -> Distance {
    Distance { phi: d.phi, p_WCa: d.p_WCb, p_WCb: d.p_WCa, n_AB_W: -d.n_AB_W }
}

pub(crate) fn flip_point(p: ContactPoint) -> ContactPoint {
    p.flipped()
}
