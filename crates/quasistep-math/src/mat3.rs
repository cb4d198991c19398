use crate::Vec3;
use std::ops::{Add, Mul};

/// A 3 × 3 matrix, stored as its three rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mat3 {
    /// The rows, top to bottom.
    pub rows: [Vec3; 3],
}

impl Mat3 {
    /// The zero matrix.
    pub const ZERO: Self = Self { rows: [Vec3::ZERO; 3] };
    /// The identity.
    pub const IDENTITY: Self = Self { rows: Vec3::AXES };

    /// The diagonal matrix with these entries.
    pub const fn diagonal(d: [f64; 3]) -> Self {
        Self {
            rows: [Vec3::new(d[0], 0.0, 0.0), Vec3::new(0.0, d[1], 0.0), Vec3::new(0.0, 0.0, d[2])],
        }
    }

    /// The symmetric matrix with `[xx, yy, zz, xy, xz, yz]`.
    pub const fn symmetric(m: [f64; 6]) -> Self {
        Self {
            rows: [
                Vec3::new(m[0], m[3], m[4]),
                Vec3::new(m[3], m[1], m[5]),
                Vec3::new(m[4], m[5], m[2]),
            ],
        }
    }

    /// The matrix with these columns.
    pub fn from_columns(c: [Vec3; 3]) -> Self {
        Self { rows: c }.transpose()
    }

    /// Column `j`.
    #[inline]
    pub fn column(&self, j: usize) -> Vec3 {
        Vec3::new(self.rows[0][j], self.rows[1][j], self.rows[2][j])
    }

    /// The transpose.
    #[inline]
    pub fn transpose(&self) -> Self {
        Self { rows: [self.column(0), self.column(1), self.column(2)] }
    }

    /// `a bᵀ`.
    pub fn outer(a: Vec3, b: Vec3) -> Self {
        Self { rows: [b * a.x, b * a.y, b * a.z] }
    }

    /// Sum of the diagonal.
    pub fn trace(&self) -> f64 {
        self.rows[0].x + self.rows[1].y + self.rows[2].z
    }

    /// Determinant.
    pub fn determinant(&self) -> f64 {
        self.rows[0].dot(self.rows[1].cross(self.rows[2]))
    }

    /// Eigenvalues (ascending) and unit eigenvectors of a symmetric matrix, by Jacobi rotations.
    pub fn symmetric_eigen(&self) -> ([f64; 3], [Vec3; 3]) {
        let (values, vectors) = symmetric_eigen(self.rows.map(Vec3::to_array));
        (values, vectors.map(Vec3::from))
    }
}

/// Eigenvalues (ascending) and unit eigenvectors of a symmetric matrix of any size, by Jacobi rotations.
pub fn symmetric_eigen<const N: usize>(mut a: [[f64; N]; N]) -> ([f64; N], [[f64; N]; N]) {
    let mut v: [[f64; N]; N] =
        std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    let pairs = || (0..N).flat_map(|p| (p + 1..N).map(move |q| (p, q)));
    // quadratic convergence: a small matrix is diagonal to rounding after a handful of sweeps
    for _ in 0..30 {
        let off = pairs().fold(0.0, |sum, (p, q)| sum + a[p][q].abs());
        if off == 0.0 || !off.is_finite() {
            break;
        }
        for (p, q) in pairs() {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
            let t = if theta == 0.0 { 1.0 } else { t };
            let c = 1.0 / t.hypot(1.0);
            let s = t * c;
            for row in &mut a {
                let (x, y) = (row[p], row[q]);
                row[p] = c * x - s * y;
                row[q] = s * x + c * y;
            }
            for k in 0..N {
                let (x, y) = (a[p][k], a[q][k]);
                a[p][k] = c * x - s * y;
                a[q][k] = s * x + c * y;
            }
            a[p][q] = 0.0;
            a[q][p] = 0.0;
            for row in &mut v {
                let (x, y) = (row[p], row[q]);
                row[p] = c * x - s * y;
                row[q] = s * x + c * y;
            }
        }
    }
    let mut order: [usize; N] = std::array::from_fn(|i| i);
    order.sort_by(|&i, &j| a[i][i].total_cmp(&a[j][j]));
    (order.map(|i| a[i][i]), order.map(|i| v.map(|row| row[i])))
}

impl Mul<Vec3> for Mat3 {
    type Output = Vec3;
    #[inline]
    fn mul(self, v: Vec3) -> Vec3 {
        Vec3::new(self.rows[0].dot(v), self.rows[1].dot(v), self.rows[2].dot(v))
    }
}

impl Mul for Mat3 {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        let t = o.transpose();
        Self { rows: self.rows.map(|r| t * r) }
    }
}

impl Mul<f64> for Mat3 {
    type Output = Self;
    fn mul(self, s: f64) -> Self {
        Self { rows: self.rows.map(|r| r * s) }
    }
}

impl Add for Mat3 {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self {
            rows: [self.rows[0] + o.rows[0], self.rows[1] + o.rows[1], self.rows[2] + o.rows[2]],
        }
    }
}
