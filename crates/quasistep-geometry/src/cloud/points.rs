//! Point clouds.

use super::choice::Choice;
use super::choose::Chooser;
use super::field::{BallField, PlaneField};
use super::tree::Tree;
use crate::broad_phase::Aabb;
use quasistep_linalg::simd::Isa;
use quasistep_math::{Pose, Vec3};

/// Points of a rigid body as a scanner measures them: no mesh, no convex decomposition.
///
/// Each point is a ball of [`PointCloud::radius`], which may be zero. Its contact distance is the
/// signed distance of its centre to the other shape's surface, less the radius. This is exact
/// inside too. The gaps between points are open.
///
/// In a pair of clouds, points of each are measured against the surface that the other's normals
/// describe: a plate in the nearest point's tangent plane, as wide as the spacing of points. Only a
/// cloud with normals has such a surface. If neither has normals, `phi` is the distance of two
/// points less their radii. Without radii it is never negative, so no contact is found once the
/// points have passed through each other.
///
/// Construction takes `O(n log n)` time. A cloud takes 54 bytes a point, and 24 more with normals.
#[derive(Clone, Debug)]
pub struct PointCloud {
    pub(super) points: Vec<Vec3>,
    pub(super) normals: Option<Vec<Vec3>>,
    pub(super) radius: f64,
    pub(super) choice: Choice,
    low: Vec3,
    high: Vec3,
    pub(super) tree: Tree,
    /// Typical distance between neighbouring points, in m; 0 without normals.
    pub(super) spacing: f64,
}

impl PartialEq for PointCloud {
    fn eq(&self, other: &Self) -> bool {
        // the other fields are derived from these
        self.points == other.points
            && self.normals == other.normals
            && self.radius == other.radius
            && self.choice == other.choice
    }
}

/// Input that is not a valid point cloud.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CloudError {
    /// There are no points.
    #[error("0 points were seen; a cloud needs at least 1")]
    Empty,
    /// There are more than [`PointCloud::MAX_POINTS`] points; the number given.
    #[error("{0} points were seen; a cloud may have at most {max}", max = PointCloud::MAX_POINTS)]
    TooMany(usize),
    /// A coordinate is NaN or infinite.
    #[error("point {index} is ({}, {}, {}); every coordinate must be finite", point.x, point.y, point.z)]
    PointNotFinite {
        /// Index of the point.
        index: usize,
        /// Coordinates of the point, in m.
        point: Vec3,
    },
    /// A component of a normal is NaN or infinite.
    #[error("normal {index} is ({}, {}, {}); every component must be finite", normal.x, normal.y, normal.z)]
    NormalNotFinite {
        /// Index of the normal.
        index: usize,
        /// Components of the normal.
        normal: Vec3,
    },
    /// A normal has length zero.
    #[error("normal {index} is zero; it must have a direction")]
    ZeroNormal {
        /// Index of the normal.
        index: usize,
    },
    /// The numbers of points and normals differ.
    #[error("{normals} normals were seen for {points} points; there must be one each, or none")]
    NormalCount {
        /// Number of points.
        points: usize,
        /// Number of normals.
        normals: usize,
    },
    /// The radius of the points (m) is negative, NaN or infinite.
    #[error("radius of the points is {0} m; it must be ≥ 0 and finite")]
    Radius(f64),
    /// The selection rule has `k = 0`.
    #[error("k is 0; at least 1 point per pair must be chosen")]
    NoneChosen,
}

impl PointCloud {
    /// Largest number of points in a cloud.
    pub const MAX_POINTS: usize = (1 << 31) - 1;

    /// Builds a cloud from `points` in m, optional outward `normals` of any length, and the
    /// `radius` of the ball around each point, in m.
    ///
    /// # Errors
    ///
    /// See [`CloudError`].
    pub fn new(
        points: &[Vec3],
        normals: Option<&[Vec3]>,
        radius: f64,
        choice: Choice,
    ) -> Result<Self, CloudError> {
        let Some(first) = points.first() else { return Err(CloudError::Empty) };
        if points.len() > Self::MAX_POINTS {
            return Err(CloudError::TooMany(points.len()));
        }
        if !(radius >= 0.0 && radius.is_finite()) {
            return Err(CloudError::Radius(radius));
        }
        if choice.k() == 0 {
            return Err(CloudError::NoneChosen);
        }
        if let Some(index) = points.iter().position(|p| !p.is_finite()) {
            return Err(CloudError::PointNotFinite { index, point: points[index] });
        }
        let normals = normals.map(|n| unit_normals(n, points.len())).transpose()?;
        let (low, high) =
            points.iter().fold((*first, *first), |(low, high), p| (low.min(*p), high.max(*p)));
        let tree = Tree::new(points, low, high);
        let points = points.to_vec();
        let mut cloud = Self { points, normals, radius, choice, low, high, tree, spacing: 0.0 };
        if cloud.normals.is_some() {
            cloud.spacing = spacing(&cloud);
        }
        Ok(cloud)
    }

    /// Points in the cloud's frame, in m, in the order given.
    /// [`ContactPoint::feature`](crate::ContactPoint::feature) is an index into this list.
    pub fn points(&self) -> &[Vec3] {
        &self.points
    }

    /// Outward unit normals, one per point in the same order; `None` if none were given.
    pub fn normals(&self) -> Option<&[Vec3]> {
        self.normals.as_deref()
    }

    /// Radius of the ball around each point, in m.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// Rule by which contact points are selected.
    pub fn choice(&self) -> Choice {
        self.choice
    }

    /// Heap memory that the cloud holds, in bytes.
    pub fn memory(&self) -> usize {
        let normals = self.normals.as_ref().map_or(0, Vec::len);
        size_of::<Self>() + (self.points.len() + normals) * size_of::<Vec3>() + self.tree.memory()
    }

    /// Axis-aligned bounding box in the world frame, in m. It encloses the rotated local box, so it
    /// may be larger than necessary.
    pub(crate) fn aabb(&self, X_WG: &Pose) -> Aabb {
        let R = X_WG.rotation.to_matrix();
        let centre = X_WG.transform_point((self.low + self.high) * 0.5);
        let half = (self.high - self.low) * 0.5;
        let reach = |i: usize| R.rows[i].abs().dot(half) + self.radius;
        let extent = Vec3::new(reach(0), reach(1), reach(2));
        Aabb { min: centre - extent, max: centre + extent }
    }

    /// Support point along `d`, including the radius.
    pub(crate) fn support(&self, d: Vec3) -> Vec3 {
        self.support_with(d, &mut Chooser::default())
    }

    /// Support point along `d`, including the radius; uses the given scratch memory.
    pub(crate) fn support_with(&self, d: Vec3, chooser: &mut Chooser) -> Vec3 {
        let Some(u) = d.try_normalize() else { return self.points[0] };
        let field = PlaneField { normal: -u, offset: 0.0 };
        let lowest = Choice::Nearest { k: 1 };
        chooser.choose(Isa::detect(), &self.tree, &field, 0.0, lowest, f64::INFINITY);
        let slot = chooser.found.first().map_or(0, |found| found.slot);
        self.points[self.tree.index[slot as usize] as usize] + u * self.radius
    }
}

fn unit_normals(normals: &[Vec3], n_points: usize) -> Result<Vec<Vec3>, CloudError> {
    if normals.len() != n_points {
        return Err(CloudError::NormalCount { points: n_points, normals: normals.len() });
    }
    let unit = |(index, n): (usize, &Vec3)| {
        if !n.is_finite() {
            return Err(CloudError::NormalNotFinite { index, normal: *n });
        }
        n.try_normalize().ok_or(CloudError::ZeroNormal { index })
    };
    normals.iter().enumerate().map(unit).collect()
}

/// Typical spacing of points: the median distance to the eighth neighbour, in m.
fn spacing(cloud: &PointCloud) -> f64 {
    const NEIGHBOURS: usize = 8;
    const SAMPLES: usize = 512;
    let (tree, n) = (&cloud.tree, cloud.points.len());
    let mut chooser = Chooser::default();
    let mut distances: Vec<f64> = (0..n as u32)
        .step_by(n.div_ceil(SAMPLES))
        .filter_map(|slot| {
            let field = BallField { centre: tree.point(slot), radius: 0.0 };
            // one more than wanted: the nearest point is the query point itself
            let choice = Choice::Nearest { k: 1 + NEIGHBOURS as u32 };
            chooser.choose(Isa::detect(), tree, &field, 0.0, choice, f64::INFINITY);
            chooser.found.last().map(|found| found.phi)
        })
        .collect();
    distances.sort_unstable_by(f64::total_cmp);
    distances.get(distances.len() / 2).copied().unwrap_or(0.0)
}
