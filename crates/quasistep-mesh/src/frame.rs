//! Affine transforms of scene graphs.

use quasistep_math::{Mat3, Vec3};

/// The map `x → linear x + shift`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Affine {
    pub linear: Mat3,
    pub shift: Vec3,
}

impl Affine {
    pub const IDENTITY: Self = Self { linear: Mat3::IDENTITY, shift: Vec3::ZERO };

    /// From the upper three rows of a 4 × 4 matrix.
    pub fn from_rows(rows: [[f64; 4]; 3]) -> Self {
        let linear = Mat3 { rows: rows.map(|[x, y, z, _]| Vec3::new(x, y, z)) };
        Self { linear, shift: rows.map(|row| row[3]).into() }
    }

    pub fn linear(linear: Mat3) -> Self {
        Self { linear, ..Self::IDENTITY }
    }

    pub fn shift(shift: Vec3) -> Self {
        Self { shift, ..Self::IDENTITY }
    }

    /// Composition: applies `other` first, then `self`.
    pub fn after(&self, other: &Self) -> Self {
        Self { linear: self.linear * other.linear, shift: self.apply(other.shift) }
    }

    pub fn apply(&self, p: Vec3) -> Vec3 {
        self.linear * p + self.shift
    }

    /// True if the determinant is negative, so that the orientation of triangles is reversed.
    pub fn mirrors(&self) -> bool {
        self.linear.determinant() < 0.0
    }
}
