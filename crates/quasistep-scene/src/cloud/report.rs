//! What became of a cloud's file.

use std::fmt;

/// A point cloud of a scene: what its file held and what the options made of it.
#[derive(Clone, Debug, PartialEq)]
pub struct CloudReport {
    /// The body, `model/link`.
    pub body: String,
    /// The file as it was opened.
    pub file: String,
    /// Points in the file.
    pub n_read: usize,
    /// Left out because a number is not finite (`drop_invalid`).
    pub n_invalid: usize,
    /// Left out as outliers (`outliers`).
    pub n_outliers: usize,
    /// Left out by thinning (`voxel`).
    pub n_thinned: usize,
    /// Points that make contact.
    pub n_points: usize,
    /// Points that are drawn: fewer where a picture could not show them all.
    pub n_drawn: usize,
    /// Whether the points have normals.
    pub has_normals: bool,
    /// Length in m of one unit of the file.
    pub scale: f64,
    /// Lowest corner of the box around the points and their radius, in the body's frame, in m.
    pub low: [f64; 3],
    /// Highest corner.
    pub high: [f64; 3],
    /// Number in the file, from 0, of each point that makes contact.
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
