//! Signed distance and contact points of a pair of shapes.

use quasistep_math::Vec3;

/// Signed distance of two shapes A and B, with witness points.
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
    /// Distance of two rounded shapes from the distance of their cores; radii in m.
    pub(crate) fn with_radii(self, radius_a: f64, radius_b: f64) -> Self {
        Self {
            phi: self.phi - radius_a - radius_b,
            p_WCa: self.p_WCa + self.n_AB_W * radius_a,
            p_WCb: self.p_WCb - self.n_AB_W * radius_b,
            n_AB_W: self.n_AB_W,
        }
    }
}

/// One point of a contact patch between shapes A and B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPoint {
    /// Signed distance at this point along the patch's normal, in m.
    pub phi: f64,
    /// Point on A, world frame, in m.
    pub p_WCa: Vec3,
    /// Point on B, world frame, in m.
    pub p_WCb: Vec3,
    /// Unit normal from A into B, world frame. All points of a patch of flat features share it;
    /// each point of a cloud has its own.
    pub n_AB_W: Vec3,
    /// Number of the pair of features. It is unique in its patch and stays the same while the two
    /// features stay in contact. For a cloud it is the index of the point. For two clouds it is the
    /// index of A's point, or 2³¹ plus the index of B's point.
    pub feature: u32,
}

impl ContactPoint {
    /// The contact point with A and B exchanged.
    #[must_use]
    pub fn flipped(self) -> Self {
        Self { p_WCa: self.p_WCb, p_WCb: self.p_WCa, n_AB_W: -self.n_AB_W, ..self }
    }
}

/// Signed distance of a point to a shape's surface, and the normal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Surface {
    /// Signed distance, in m: < 0 inside.
    pub distance: f64,
    /// Outward unit normal at the nearest point of the surface, in the shape's frame.
    pub normal: Vec3,
}

/// Feature number of the point of a one-point patch.
pub(crate) const SINGLE: u32 = u32::MAX;

/// Witness points nearer than this give a normal dominated by rounding, in m.
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
