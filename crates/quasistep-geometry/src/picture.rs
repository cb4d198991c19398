//! Projection of discs and ellipsoids along a direction: an ellipse in a plane.

use crate::ellipse::Ellipse;
use crate::tube::LEVEL;
use quasistep_math::Vec3;

/// Outline of a disc or ellipsoid in the projection along a direction.
pub(crate) struct View {
    pub ellipse: Ellipse,
    /// Unit vector along the ellipse's long axis.
    pub u: Vec3,
    /// Unit vector along the ellipse's short axis.
    pub w: Vec3,
}

impl View {
    /// Projection of a disc with the given unit axis and radius along the unit vector `d`.
    pub fn along(d: Vec3, axis: Vec3, radius: f64) -> Self {
        let across = axis.cross(d);
        let u = across.try_normalize().unwrap_or_else(|| d.any_orthogonal());
        // orthogonal to d up to rounding; otherwise a long side would tilt
        let u = (u - d * u.dot(d)).try_normalize().unwrap_or(u);
        let b = radius * axis.dot(d).abs();
        let c2 = radius * radius * across.norm_squared();
        Self { ellipse: Ellipse { a: radius, b, c2 }, u, w: d.cross(u) }
    }

    /// Coordinates of a vector in the projection plane.
    pub fn flat(&self, r: Vec3) -> [f64; 2] {
        [r.dot(self.u), r.dot(self.w)]
    }

    /// World-frame vector of a direction in the projection plane.
    pub fn world(&self, n: [f64; 2]) -> Vec3 {
        self.u * n[0] + self.w * n[1]
    }

    /// Normals of the ellipse towards a point with a radius around it, if they may separate by more
    /// than `best` (m). With `overlap`, the separation is known not to be positive.
    pub fn normals(
        &self,
        at: [f64; 2],
        radius: f64,
        overlap: bool,
        best: f64,
    ) -> impl Iterator<Item = [f64; 2]> {
        let Ellipse { a, b, .. } = self.ellipse;
        let gauge = self.ellipse.gauge(at);
        // lower and upper bound of the point's signed distance from the ellipse: the ellipse scaled
        // by the gauge passes through the point
        let low = (gauge - 1.0) * b;
        let high = if gauge < 1.0 { low } else { at[0].hypot(at[1]) - b };
        let wanted = best + radius;
        let nearest = high > wanted && !(overlap && low > radius + LEVEL);
        // upper bound of the separation at the second minimum: seen from the far side, the point is
        // deeper than its projection onto the long axis
        let across = wanted < 0.0 && (at[0].abs() / a - 1.0) * b > wanted;
        let found = (nearest || across).then(|| self.ellipse.normals(at));
        let first = found.filter(|_| nearest).map(|f| f.0);
        let second = found.filter(|_| across).and_then(|f| f.1);
        first.into_iter().chain(second)
    }
}
