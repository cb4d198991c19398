use crate::{Mat3, Vec3};
use std::ops::Mul;

/// A unit quaternion: a rotation. Components in the order w, x, y, z everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quat {
    /// Scalar part.
    pub w: f64,
    /// Vector part, first component.
    pub x: f64,
    /// Vector part, second component.
    pub y: f64,
    /// Vector part, third component.
    pub z: f64,
}

impl Default for Quat {
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl Quat {
    /// No rotation.
    pub const IDENTITY: Self = Self { w: 1.0, x: 0.0, y: 0.0, z: 0.0 };

    /// The quaternion with these components, as they are.
    #[inline]
    pub const fn new(w: f64, x: f64, y: f64, z: f64) -> Self {
        Self { w, x, y, z }
    }

    /// The components, w first.
    #[inline]
    pub const fn to_array(self) -> [f64; 4] {
        [self.w, self.x, self.y, self.z]
    }

    /// The unit quaternion along `[w, x, y, z]`; `None` if that is zero or not finite.
    pub fn try_normalize(a: [f64; 4]) -> Option<Self> {
        let scale = a.iter().fold(0.0_f64, |m, c| m.max(c.abs()));
        if scale <= 0.0 || !scale.is_finite() || a.iter().any(|c| c.is_nan()) {
            return None;
        }
        let a = a.map(|c| c / scale);
        let norm = (a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + a[3] * a[3]).sqrt();
        Some(Self::new(a[0] / norm, a[1] / norm, a[2] / norm, a[3] / norm))
    }

    /// The rotation by `|rotation_vector|` radians about its direction (exponential map).
    pub fn from_rotation_vector(rotation_vector: Vec3) -> Self {
        let angle = rotation_vector.norm();
        let half = 0.5 * angle;
        // sin(x)/x by its series near zero, where the quotient would be 0/0
        let k = if half < 1e-4 { 0.5 * (1.0 - half * half / 6.0) } else { half.sin() / angle };
        let v = rotation_vector * k;
        Self::new(half.cos(), v.x, v.y, v.z)
    }

    /// The rotation by `angle` radians about the unit vector `axis`.
    pub fn from_axis_angle(axis: Vec3, angle: f64) -> Self {
        let (s, c) = (0.5 * angle).sin_cos();
        Self::new(c, axis.x * s, axis.y * s, axis.z * s)
    }

    /// Roll about x, then pitch about y, then yaw about z, all fixed axes, in radians (URDF `rpy`).
    pub fn from_rpy(rpy: [f64; 3]) -> Self {
        Self::from_axis_angle(Vec3::Z, rpy[2])
            * Self::from_axis_angle(Vec3::Y, rpy[1])
            * Self::from_axis_angle(Vec3::X, rpy[0])
    }

    /// Roll, pitch and yaw that give this rotation by [`from_rpy`](Self::from_rpy), in radians, with
    /// the pitch in [-pi/2, pi/2]. Yaw is 0 where roll and yaw turn about one axis.
    pub fn to_rpy(self) -> [f64; 3] {
        let [r0, r1, r2] = self.to_matrix().rows;
        let cosine = r0.x.hypot(r1.x);
        let pitch = (-r2.x).atan2(cosine);
        // cosines below this are rounding
        if cosine < 1e-8 {
            return [(-r1.z).atan2(r1.y), pitch, 0.0];
        }
        [r2.y.atan2(r2.z), pitch, r1.x.atan2(r0.x)]
    }

    /// The rotation vector (axis times angle, angle in [0, pi]) of this rotation (logarithm).
    pub fn to_rotation_vector(self) -> Vec3 {
        // q and -q are one rotation: take the short way round
        let sign = if self.w < 0.0 { -1.0 } else { 1.0 };
        let v = Vec3::new(self.x, self.y, self.z) * sign;
        let sin_half = v.norm();
        if sin_half < 1e-8 {
            return v * 2.0;
        }
        v * (2.0 * sin_half.atan2(self.w * sign) / sin_half)
    }

    /// The inverse rotation.
    #[inline]
    pub fn inverse(self) -> Self {
        Self::new(self.w, -self.x, -self.y, -self.z)
    }

    /// The rotation matrix.
    pub fn to_matrix(self) -> Mat3 {
        let Self { w, x, y, z } = self;
        Mat3 {
            rows: [
                Vec3::new(
                    1.0 - 2.0 * (y * y + z * z),
                    2.0 * (x * y - w * z),
                    2.0 * (x * z + w * y),
                ),
                Vec3::new(
                    2.0 * (x * y + w * z),
                    1.0 - 2.0 * (x * x + z * z),
                    2.0 * (y * z - w * x),
                ),
                Vec3::new(
                    2.0 * (x * z - w * y),
                    2.0 * (y * z + w * x),
                    1.0 - 2.0 * (x * x + y * y),
                ),
            ],
        }
    }

    /// The rotation whose matrix is `m`, which must be orthonormal with determinant 1.
    pub fn from_matrix(m: &Mat3) -> Self {
        let [r0, r1, r2] = m.rows;
        // divide by the largest component: the others may be near zero
        let squares = [
            1.0 + r0.x + r1.y + r2.z,
            1.0 + r0.x - r1.y - r2.z,
            1.0 - r0.x + r1.y - r2.z,
            1.0 - r0.x - r1.y + r2.z,
        ];
        let largest = (0..4).max_by(|&i, &j| squares[i].total_cmp(&squares[j])).unwrap_or(0);
        let a = match largest {
            0 => [squares[0], r2.y - r1.z, r0.z - r2.x, r1.x - r0.y],
            1 => [r2.y - r1.z, squares[1], r0.y + r1.x, r0.z + r2.x],
            2 => [r0.z - r2.x, r0.y + r1.x, squares[2], r1.z + r2.y],
            _ => [r1.x - r0.y, r0.z + r2.x, r1.z + r2.y, squares[3]],
        };
        Self::try_normalize(a).unwrap_or(Self::IDENTITY)
    }

    /// The vector turned by this rotation.
    #[inline]
    pub fn rotate(self, v: Vec3) -> Vec3 {
        let u = Vec3::new(self.x, self.y, self.z);
        let t = u.cross(v) * 2.0;
        v + t * self.w + u.cross(t)
    }
}

impl Mul for Quat {
    type Output = Self;
    #[inline]
    fn mul(self, o: Self) -> Self {
        Self::new(
            self.w * o.w - self.x * o.x - self.y * o.y - self.z * o.z,
            self.w * o.x + self.x * o.w + self.y * o.z - self.z * o.y,
            self.w * o.y - self.x * o.z + self.y * o.w + self.z * o.x,
            self.w * o.z + self.x * o.y - self.y * o.x + self.z * o.w,
        )
    }
}
