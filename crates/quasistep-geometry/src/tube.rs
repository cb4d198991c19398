//! A cylinder in the world frame: support function, and the part that faces a direction.

use crate::shape::Shape;
use quasistep_math::{Pose, Vec3};

/// Height difference below which all points of a cap or line count as support points, in m.
pub(crate) const LEVEL: f64 = 5e-10;

/// A solid cylinder; lengths in m.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tube {
    pub centre: Vec3,
    /// Unit vector along the axis.
    pub axis: Vec3,
    /// Unit vector across the axis, fixed to the body.
    pub across: Vec3,
    pub radius: f64,
    pub half_length: f64,
}

/// Support feature of a cylinder along a direction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Facing {
    /// A point of a rim, in m.
    Rim(Vec3),
    /// A line on the side, from the lower rim to the upper rim.
    Side(Vec3, Vec3),
    /// A whole cap; its centre.
    Cap(Vec3),
}

/// Unit vector along the component of `v` across the unit vector `axis`. Orthogonal to `axis` up to
/// rounding even if `v` is nearly parallel to it; `None` if it is parallel.
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

    /// Support function: the largest `n · p` over the cylinder, in m.
    pub fn reach(&self, n: Vec3) -> f64 {
        // sine from the cross product: 1 − cos² would cancel near the axis
        n.dot(self.centre)
            + self.half_length * n.dot(self.axis).abs()
            + self.radius * n.cross(self.axis).norm()
    }

    /// Support feature along `n`.
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

    /// Centre of the upper cap if `along` is positive, otherwise of the lower cap.
    pub fn cap(&self, along: f64) -> Vec3 {
        self.centre + self.axis * self.half_length.copysign(along)
    }

    /// Outward unit normal at the surface point nearest to `p`, and the signed distance in m. On
    /// the axis any of the equally near normals is returned.
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

    /// Centre and outward unit normal of the lower rim, then of the upper rim.
    pub fn rims(&self) -> [(Vec3, Vec3); 2] {
        let half = self.axis * self.half_length;
        [(self.centre - half, -self.axis), (self.centre + half, self.axis)]
    }
}
