//! Directions in which a point is nearest to leaving, or reaching, an ellipse.
//!
//! A disc seen along a direction is an ellipse: a rim against an edge, and a rim against the side of
//! another cylinder, are this planar problem. With half axes `a ≥ b` and a point `(x, y)`, `x, y ≥ 0`,
//! the feet of its normals are `(a² x/(T + a² − b²), b² y/T)` at the roots of
//!
//! ```text
//! F(T) = (a x/(T + a² − b²))² + (b y/T)² − 1.
//! ```
//!
//! The root with `T > 0` is the nearest point. For a point inside, the largest root with `T < 0`, if
//! there is one, is the other local minimum of its depth, across the long axis.

/// Steps of Newton's method; it converges from one side and takes 4 to 8 but near the evolute's cusp.
const MAX_STEPS: usize = 60;

/// An ellipse about the origin, long axis along x.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ellipse {
    /// Half of the long axis, > 0.
    pub a: f64,
    /// Half of the short axis, ≥ 0.
    pub b: f64,
    /// `a² − b²`, given apart because the difference would lose its digits.
    pub c2: f64,
}

impl Ellipse {
    /// How far the ellipse reaches along a unit direction.
    pub fn reach(&self, n: [f64; 2]) -> f64 {
        (self.a * n[0]).hypot(self.b * n[1])
    }

    /// The gauge of a point: below 1 inside, above 1 outside.
    pub fn gauge(&self, p: [f64; 2]) -> f64 {
        let y = if p[1] == 0.0 { 0.0 } else { p[1] / self.b };
        (p[0] / self.a).hypot(y)
    }

    /// Outward unit normals at the nearest point, and at the other local minimum of the depth.
    pub fn normals(&self, p: [f64; 2]) -> ([f64; 2], Option<[f64; 2]>) {
        let Self { a, b, c2 } = *self;
        let (x, y) = (p[0].abs(), p[1].abs());
        let F = |T: f64| {
            let (s, t) = (a * x / (T + c2), b * y / T);
            (s * s + t * t - 1.0, -2.0 * (s * s / (T + c2) + t * t / T))
        };
        let signed = |n: [f64; 2]| [n[0].copysign(p[0]), n[1] * 1f64.copysign(p[1])];
        // either term alone is 1 there, so F ≥ 0: Newton's method comes down from this side
        let mut T = (b * y).max(a * x - c2);
        if !(T > 0.0) {
            // on the long axis, between the centres of curvature: two feet, mirrored
            let s = if c2 > 0.0 { (x / c2 * a).min(1.0) } else { 0.0 };
            let n = unit([s * b / a, (1.0 - s * s).sqrt()]);
            return (signed(n), Some(signed([n[0], -n[1]])));
        }
        for _ in 0..MAX_STEPS {
            let (value, slope) = F(T);
            let next = T - value / slope;
            if !(next > T) {
                break;
            }
            T = next;
        }
        let nearest = unit([x / (T + c2), y / T]);
        (signed(nearest), self.across(x, y, F).map(signed))
    }

    /// The normal at the local minimum across the long axis, for `x, y ≥ 0`.
    fn across(&self, x: f64, y: f64, F: impl Fn(f64) -> (f64, f64)) -> Option<[f64; 2]> {
        let mut T = -self.b * y;
        for _ in 0..MAX_STEPS {
            if !(T > -self.c2 && T < 0.0) {
                return None;
            }
            let (value, slope) = F(T);
            // beyond the lowest point of F without a root
            if !(slope > 0.0) {
                return None;
            }
            let next = T - value / slope;
            if !(next < T) {
                return Some(unit([x / (T + self.c2), y / T]));
            }
            T = next;
        }
        None
    }
}

fn unit(n: [f64; 2]) -> [f64; 2] {
    let length = n[0].hypot(n[1]);
    if length > 0.0 { [n[0] / length, n[1] / length] } else { [0.0, 1.0] }
}

#[cfg(test)]
mod tests {
    use super::Ellipse;
    use std::f64::consts::TAU;

    /// Depth below tangents, densely sampled: the normals found are its best, inside and outside.
    #[test]
    fn normals_are_those_of_the_best_tangents() {
        let mut seen_across = 0;
        for i in 0..4000_u32 {
            let u = |k: u32| f64::from((i * 7919 + k * 104_729) % 10_007) / 10_007.0;
            let b = [0.0, 1e-9, 0.05, 0.4, 0.8, 1.0][i as usize % 6];
            let e = Ellipse { a: 1.0, b, c2: 1.0 - b * b };
            let p = [3.0 * u(1) - 1.5, (3.0 * u(2) - 1.5) * [1.0, 0.2, 1e-6, 0.0][i as usize % 4]];
            let s = |n: [f64; 2]| n[0] * p[0] + n[1] * p[1] - e.reach(n);
            let best = (0..2000)
                .map(|k| {
                    let (y, x) = (f64::from(k) / 2000.0 * TAU).sin_cos();
                    s([x, y])
                })
                .fold(f64::NEG_INFINITY, f64::max);
            let (n, across) = e.normals(p);
            assert!((n[0].hypot(n[1]) - 1.0).abs() < 1e-12);
            assert!(s(n) >= best - 1e-12, "{p:?} b {b}: {} against {best}", s(n));
            // not better than the samples by more than their spacing allows
            assert!(s(n) <= best + 1e-2, "{p:?} b {b}: {} against {best}", s(n));
            if let Some(m) = across.filter(|_| e.gauge(p) < 0.99 && b > 0.01) {
                seen_across += 1;
                let near = |t: f64| {
                    let (sin, cos) = t.sin_cos();
                    s([m[0] * cos - m[1] * sin, m[1] * cos + m[0] * sin])
                };
                assert!(s(m) >= near(1e-4).max(near(-1e-4)), "{p:?} b {b}: no local minimum");
            }
        }
        assert!(seen_across > 100, "{seen_across}");
    }
}
