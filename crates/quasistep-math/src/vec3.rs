use std::ops::{Add, AddAssign, Div, Index, IndexMut, Mul, Neg, Sub, SubAssign};

/// A vector with three components, in the frame and unit that its name says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vec3 {
    /// First component.
    pub x: f64,
    /// Second component.
    pub y: f64,
    /// Third component.
    pub z: f64,
}

impl Vec3 {
    /// The zero vector.
    pub const ZERO: Self = Self::new(0.0, 0.0, 0.0);
    /// The first axis.
    pub const X: Self = Self::new(1.0, 0.0, 0.0);
    /// The second axis.
    pub const Y: Self = Self::new(0.0, 1.0, 0.0);
    /// The third axis.
    pub const Z: Self = Self::new(0.0, 0.0, 1.0);
    /// The three axes, in order.
    pub const AXES: [Self; 3] = [Self::X, Self::Y, Self::Z];

    /// The vector with these components.
    #[inline]
    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Self { x, y, z }
    }

    /// The components, in order.
    #[inline]
    pub const fn to_array(self) -> [f64; 3] {
        [self.x, self.y, self.z]
    }

    /// Inner product.
    #[inline]
    pub fn dot(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    /// Cross product, right-handed.
    #[inline]
    pub fn cross(self, other: Self) -> Self {
        Self::new(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )
    }

    /// Square of the Euclidean length.
    #[inline]
    pub fn norm_squared(self) -> f64 {
        self.dot(self)
    }

    /// Euclidean length.
    #[inline]
    pub fn norm(self) -> f64 {
        self.norm_squared().sqrt()
    }

    /// The unit vector along this one; `None` if its length is zero or not finite.
    #[inline]
    pub fn try_normalize(self) -> Option<Self> {
        // scale first: squares of tiny or huge components would under- or overflow
        let scale = self.max_abs();
        if scale <= 0.0 || !scale.is_finite() {
            return None;
        }
        let scaled = self / scale;
        Some(scaled / scaled.norm())
    }

    /// Largest absolute component; NaN if any component is NaN.
    #[inline]
    pub fn max_abs(self) -> f64 {
        let (x, y, z) = (self.x.abs(), self.y.abs(), self.z.abs());
        if x.is_nan() || y.is_nan() || z.is_nan() { f64::NAN } else { x.max(y).max(z) }
    }

    /// Componentwise absolute value.
    #[inline]
    pub fn abs(self) -> Self {
        Self::new(self.x.abs(), self.y.abs(), self.z.abs())
    }

    /// Componentwise product.
    #[inline]
    pub fn component_mul(self, other: Self) -> Self {
        Self::new(self.x * other.x, self.y * other.y, self.z * other.z)
    }

    /// Componentwise minimum.
    #[inline]
    pub fn min(self, other: Self) -> Self {
        Self::new(self.x.min(other.x), self.y.min(other.y), self.z.min(other.z))
    }

    /// Componentwise maximum.
    #[inline]
    pub fn max(self, other: Self) -> Self {
        Self::new(self.x.max(other.x), self.y.max(other.y), self.z.max(other.z))
    }

    /// True if no component is infinite or NaN.
    #[inline]
    pub fn is_finite(self) -> bool {
        self.x.is_finite() && self.y.is_finite() && self.z.is_finite()
    }

    /// A unit vector orthogonal to this unit vector, the same for the same input.
    ///
    /// It is the world axis least aligned with `self`, projected; near ties fall to z, x, y in
    /// this order, so that rounding noise on an axis-aligned normal cannot swap the axes.
    pub fn any_orthogonal(self) -> Self {
        let axis = self.least_aligned_axis();
        (axis - self * self.dot(axis)).try_normalize().unwrap_or(axis)
    }

    /// The world axis that [`any_orthogonal`](Self::any_orthogonal) projects.
    pub fn least_aligned_axis(self) -> Self {
        let score = [self.x.abs() + 0.01, self.y.abs() + 0.02, self.z.abs()];
        if score[2] <= score[0] && score[2] <= score[1] {
            Self::Z
        } else if score[0] <= score[1] {
            Self::X
        } else {
            Self::Y
        }
    }
}

impl From<[f64; 3]> for Vec3 {
    #[inline]
    fn from(a: [f64; 3]) -> Self {
        Self::new(a[0], a[1], a[2])
    }
}

impl From<Vec3> for [f64; 3] {
    #[inline]
    fn from(v: Vec3) -> Self {
        v.to_array()
    }
}

impl Index<usize> for Vec3 {
    type Output = f64;
    #[inline]
    fn index(&self, i: usize) -> &f64 {
        match i {
            0 => &self.x,
            1 => &self.y,
            2 => &self.z,
            _ => panic!("component {i} of a vector of 3"),
        }
    }
}

impl IndexMut<usize> for Vec3 {
    #[inline]
    fn index_mut(&mut self, i: usize) -> &mut f64 {
        match i {
            0 => &mut self.x,
            1 => &mut self.y,
            2 => &mut self.z,
            _ => panic!("component {i} of a vector of 3"),
        }
    }
}

impl Add for Vec3 {
    type Output = Self;
    #[inline]
    fn add(self, o: Self) -> Self {
        Self::new(self.x + o.x, self.y + o.y, self.z + o.z)
    }
}

impl Sub for Vec3 {
    type Output = Self;
    #[inline]
    fn sub(self, o: Self) -> Self {
        Self::new(self.x - o.x, self.y - o.y, self.z - o.z)
    }
}

impl Neg for Vec3 {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self::new(-self.x, -self.y, -self.z)
    }
}

impl Mul<f64> for Vec3 {
    type Output = Self;
    #[inline]
    fn mul(self, s: f64) -> Self {
        Self::new(self.x * s, self.y * s, self.z * s)
    }
}

impl Mul<Vec3> for f64 {
    type Output = Vec3;
    #[inline]
    fn mul(self, v: Vec3) -> Vec3 {
        v * self
    }
}

impl Div<f64> for Vec3 {
    type Output = Self;
    #[inline]
    fn div(self, s: f64) -> Self {
        Self::new(self.x / s, self.y / s, self.z / s)
    }
}

impl AddAssign for Vec3 {
    #[inline]
    fn add_assign(&mut self, o: Self) {
        *self = *self + o;
    }
}

impl SubAssign for Vec3 {
    #[inline]
    fn sub_assign(&mut self, o: Self) {
        *self = *self - o;
    }
}
