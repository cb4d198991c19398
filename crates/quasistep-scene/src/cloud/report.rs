//! Report on a cloud's file.

use std::fmt;

/// Report on a point cloud: contents of its file and results of the options.
#[derive(Clone, Debug, PartialEq)]
pub struct CloudReport {
    /// Name of the body, `model/link`.
    pub body: String,
    /// Path of the file as opened.
    pub file: String,
    /// Number of points in the file.
    pub n_read: usize,
    /// Number of points left out because a coordinate is not finite (`drop_invalid`).
    pub n_invalid: usize,
    /// Number of points left out as outliers (`outliers`).
    pub n_outliers: usize,
    /// Number of points left out by thinning (`voxel`).
    pub n_thinned: usize,
    /// Number of contact points of the cloud.
    pub n_points: usize,
    /// Number of points drawn; smaller for large clouds.
    pub n_drawn: usize,
    /// Whether the points have normals.
    pub has_normals: bool,
    /// Length in m of one unit of the file.
    pub scale: f64,
    /// Smallest corner of the bounding box of the points with their radius, in the body's frame, in
    /// m.
    pub low: [f64; 3],
    /// Largest corner of that bounding box, in the body's frame, in m.
    pub high: [f64; 3],
    /// For each point of the cloud, its index in the file, from 0.
    pub rows: Vec<u32>,
}

impl fmt::Display for CloudReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { body, file, n_points, n_read, .. } = self;
        let size: [f64; 3] = std::array::from_fn(|i| self.high[i] - self.low[i]);
        write!(f, "{body}: {n_points} ")?;
        if n_points != n_read {
            write!(f, "of {n_read} ")?;
        }
        write!(f, "points of {file}")?;
        let normals = if self.has_normals { "with" } else { "without" };
        write!(f, " {normals} normals, {:.4} x {:.4} x {:.4} m", size[0], size[1], size[2])?;
        if self.scale != 1.0 {
            write!(f, ", {:.6} m to a unit of the file", self.scale)?;
        }
        for (n, what) in [
            (self.n_invalid, "not finite"),
            (self.n_outliers, "outliers"),
            (self.n_thinned, "thinned"),
        ] {
            if n > 0 {
                write!(f, ", {n} {what}")?;
            }
        }
        if self.n_drawn > 0 && self.n_drawn < self.n_points {
            write!(f, ", {} drawn", self.n_drawn)?;
        }
        Ok(())
    }
}
