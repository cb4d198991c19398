//! Transformation of a cloud's points from the file's frame and unit to the body's frame.

use quasistep_math::{Pose, Vec3};

/// One transformation of the whole cloud.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Move {
    Scale(f64),
    Pose(Pose),
    /// Rotates this axis to +z.
    Up(Up),
    Shift(Vec3),
}

/// The axis of the file that points up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Up {
    X,
    Y,
    Z,
    MinusX,
    MinusY,
    MinusZ,
}

impl Up {
    pub const WORDS: [(&str, Self); 6] = [
        ("x", Self::X),
        ("y", Self::Y),
        ("z", Self::Z),
        ("-x", Self::MinusX),
        ("-y", Self::MinusY),
        ("-z", Self::MinusZ),
    ];

    /// Rotates a vector by multiples of 90° about one axis, without rounding.
    fn turn(self, Vec3 { x, y, z }: Vec3) -> Vec3 {
        match self {
            Self::X => Vec3::new(-z, y, x),
            Self::Y => Vec3::new(x, -z, y),
            Self::Z => Vec3::new(x, y, z),
            Self::MinusX => Vec3::new(z, y, -x),
            Self::MinusY => Vec3::new(x, z, -y),
            Self::MinusZ => Vec3::new(x, -y, -z),
        }
    }
}

impl Move {
    pub fn point(&self, p: Vec3) -> Vec3 {
        match self {
            Self::Scale(s) => p * *s,
            Self::Pose(X) => X.transform_point(p),
            Self::Up(up) => up.turn(p),
            Self::Shift(d) => p + *d,
        }
    }

    pub fn direction(&self, n: Vec3) -> Vec3 {
        match self {
            Self::Scale(_) | Self::Shift(_) => n,
            Self::Pose(X) => X.rotation.rotate(n),
            Self::Up(up) => up.turn(n),
        }
    }
}

/// Bounding box of points with a radius, in m; zero if there are no points.
pub(super) fn extent(points: &[Vec3], radius: f64) -> [Vec3; 2] {
    let Some(&first) = points.first() else { return [Vec3::ZERO; 2] };
    let (low, high) =
        points.iter().fold((first, first), |(low, high), p| (low.min(*p), high.max(*p)));
    let reach = Vec3::new(radius, radius, radius);
    [low - reach, high + reach]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_axis_points_up_and_nothing_is_mirrored() {
        let axes = [Vec3::X, Vec3::Y, Vec3::Z, -Vec3::X, -Vec3::Y, -Vec3::Z];
        for ((_, up), axis) in Up::WORDS.into_iter().zip(axes) {
            assert_eq!(up.turn(axis), Vec3::Z);
            assert_eq!(up.turn(Vec3::X).cross(up.turn(Vec3::Y)), up.turn(Vec3::Z));
        }
    }
}
