//! A cylinder in the world frame: how far it reaches, and which part of it faces a direction.

use crate::shape::Shape;
use quasistep_math::{Pose, Vec3};

/// Points of a cap or a line that stand back by less than this face a direction too, in m.
pub(crate) const LEVEL: f64 = 5e-10;

/// A solid cylinder; lengths in m.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tube {
    pub centre: Vec3,
    /// Unit.
    pub axis: Vec3,
    /// Unit, across the axis and fixed to the body.
    pub across: Vec3,
    pub radius: f64,
    pub half_length: f64,
}

/// The part of a cylinder that is farthest along a direction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Facing {
    /// A point of a rim.
    Rim(Vec3),
    /// A line on the side, from the lower rim to the upper one.
    Side(Vec3, Vec3),
    /// A whole cap, by its centre.
    Cap(Vec3),
}

/// The unit vector along the part of `v` across a unit axis: square to it to rounding, even if `v`
/// nearly lies along it; `None` if there is no such part.
pub(crate) fn square(axis: Vec3, v: Vec3) -> Option<Vec3> {
    let out = (v - axis * v.dot(axis)).try_normalize()?;
    (out - axis * out.dot(axis)).try_normalize()
}

impl Tube {
    /// A cylinder at a pose; `None` for any other shape.
    pub fn new(shape: &Shape, X: &Pose) -> Option<Self> {
        let Shape::Cylinder { radius, half_length } = *shape else { return None };
        Some(Self {
            centre: X.translation,
            axis: X.rotation.rotate(Vec3::Z),
            across: X.rotation.rotate(Vec3::X),
            radius,
            half_length,
        })
    }

    /// The largest `n · p` over its points.
    pub fn reach(&self, n: Vec3) -> f64 {
        // the sine from the cross product: 1 − cos² has no digits left near the axis
        n.dot(self.centre)
            + self.half_length * n.dot(self.axis).abs()
            + self.radius * n.cross(self.axis).norm()
    }

    /// The part that is farthest along `n`.
    pub fn facing(&self, n: Vec3) -> Facing {
        let along = n.dot(self.axis);
        let sine = (n - self.axis * along).norm();
        let Some(out) = square(self.axis, n).filter(|_| self.radius * sine > LEVEL) else {
            return Facing::Cap(self.cap(along));
        };
        if self.half_length * along.abs() <= LEVEL {
            let side = self.centre + out * self.radius;
            let half = self.axis * self.half_length;
            return Facing::Side(side - half, side + half);
        }
        Facing::Rim(self.cap(along) + out * self.radius)
    }

    /// Centre of the cap on the side of the sign of `along`.
    pub fn cap(&self, along: f64) -> Vec3 {
        self.centre + self.axis * self.half_length.copysign(along)
    }

    /// Outward unit normal of its surface nearest to `p`, and the distance; any of the equals on
    /// the axis.
    pub fn nearest(&self, p: Vec3) -> (Vec3, f64) {
        let r = p - self.centre;
        let along = r.dot(self.axis);
        let flat = r - self.axis * along;
        let out = square(self.axis, flat).unwrap_or(self.across);
        let up = if along < 0.0 { -self.axis } else { self.axis };
        let (side, end) = (flat.norm() - self.radius, along.abs() - self.half_length);
        if side > 0.0 && end > 0.0 {
            ((out * side + up * end).try_normalize().unwrap_or(up), side.hypot(end))
        } else if side > end {
            (out, side)
        } else {
            (up, end)
        }
    }

    /// Rims as centre and outward normal: the lower one, then the upper one.
    pub fn rims(&self) -> [(Vec3, Vec3); 2] {
        let half = self.axis * self.half_length;
        [(self.centre - half, -self.axis), (self.centre + half, self.axis)]
    }
}
