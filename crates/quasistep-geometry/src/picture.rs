//! Round shapes seen along a direction: an ellipse in the plane of a picture.

use crate::ellipse::Ellipse;
use crate::tube::LEVEL;
use quasistep_math::Vec3;

/// The outline of a disc or an ellipsoid seen along a direction, and the plane of the picture.
pub(crate) struct View {
    pub ellipse: Ellipse,
    /// Unit, along the long axis.
    pub u: Vec3,
    /// Unit, along the short axis.
    pub w: Vec3,
}

impl View {
    /// Along the unit vector `d`, a disc with this axis.
    pub fn along(d: Vec3, axis: Vec3, radius: f64) -> Self {
        let across = axis.cross(d);
        let u = across.try_normalize().unwrap_or_else(|| d.any_orthogonal());
        // square to d to rounding, or a long side would tilt
        let u = (u - d * u.dot(d)).try_normalize().unwrap_or(u);
        let b = radius * axis.dot(d).abs();
        let c2 = radius * radius * across.norm_squared();
        Self { ellipse: Ellipse { a: radius, b, c2 }, u, w: d.cross(u) }
    }

    /// A vector's place in the picture.
    pub fn flat(&self, r: Vec3) -> [f64; 2] {
        [r.dot(self.u), r.dot(self.w)]
    }

    /// A direction of the picture in the world.
    pub fn world(&self, n: [f64; 2]) -> Vec3 {
        self.u * n[0] + self.w * n[1]
    }

    /// The ellipse's normals at a point with a radius around it that may separate by more than
    /// `best`; with `overlap` none separates at all.
    pub fn normals(
        &self,
        at: [f64; 2],
        radius: f64,
        overlap: bool,
        best: f64,
    ) -> impl Iterator<Item = [f64; 2]> {
        let Ellipse { a, b, .. } = self.ellipse;
        let gauge = self.ellipse.gauge(at);
        // how far the point can be from the ellipse at least and at most, < 0 inside: the ellipse
        // grown or shrunk by the gauge has it on its edge
        let low = (gauge - 1.0) * b;
        let high = if gauge < 1.0 { low } else { at[0].hypot(at[1]) - b };
        let wanted = best + radius;
        let nearest = high > wanted && !(overlap && low > radius + LEVEL);
        // beyond the long axis the point is deeper than at its foot on that axis
        let across = wanted < 0.0 && (at[0].abs() / a - 1.0) * b > wanted;
        let found = (nearest || across).then(|| self.ellipse.normals(at));
        let first = found.filter(|_| nearest).map(|f| f.0);
        let second = found.filter(|_| across).and_then(|f| f.1);
        first.into_iter().chain(second)
    }
}
