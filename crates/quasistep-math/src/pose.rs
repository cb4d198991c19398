use crate::{Quat, Vec3};
use std::ops::Mul;

/// Position and orientation of one frame in another: `X_WB` takes coordinates in B to W.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pose {
    /// Orientation.
    pub rotation: Quat,
    /// Position of the origin, in m.
    pub translation: Vec3,
}

impl Pose {
    /// The frame itself.
    pub const IDENTITY: Self = Self { rotation: Quat::IDENTITY, translation: Vec3::ZERO };

    /// The pose with this orientation and origin.
    pub const fn new(rotation: Quat, translation: Vec3) -> Self {
        Self { rotation, translation }
    }

    /// A shift without rotation.
    pub const fn from_translation(translation: Vec3) -> Self {
        Self { rotation: Quat::IDENTITY, translation }
    }

    /// Origin in m and fixed-axis roll, pitch, yaw in rad, as in URDF.
    pub fn from_xyz_rpy(xyz: [f64; 3], rpy: [f64; 3]) -> Self {
        Self { rotation: Quat::from_rpy(rpy), translation: xyz.into() }
    }

    /// The pose of the other frame in this one.
    #[inline]
    pub fn inverse(&self) -> Self {
        let rotation = self.rotation.inverse();
        Self { rotation, translation: -rotation.rotate(self.translation) }
    }

    /// Coordinates of a point, taken from the inner frame to the outer one.
    #[inline]
    pub fn transform_point(&self, p: Vec3) -> Vec3 {
        self.rotation.rotate(p) + self.translation
    }

    /// Coordinates of a point, taken from the outer frame to the inner one.
    #[inline]
    pub fn inverse_transform_point(&self, p: Vec3) -> Vec3 {
        self.rotation.inverse().rotate(p - self.translation)
    }
}

impl Mul for Pose {
    type Output = Self;
    #[inline]
    fn mul(self, o: Self) -> Self {
        Self {
            rotation: self.rotation * o.rotation,
            translation: self.transform_point(o.translation),
        }
    }
}
