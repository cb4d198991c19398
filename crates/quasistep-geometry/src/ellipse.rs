//! Directions in which a point is nearest to leaving, or reaching, an ellipse or an ellipsoid.
//!
//! A disc or an ellipsoid seen along a direction is an ellipse: a rim against an edge, an ellipsoid against the side of a
//! cylinder, are this planar problem. With half axes `a ≥ b` and a point `(x, y)`, `x, y ≥ 0`, the feet of its normals are
//! `(a² x/(T + a² − b²), b² y/T)` at the roots of
//!
//! ```text
//! F(T) = (a x/(T + a² − b²))² + (b y/T)² − 1,
//! ```
//!
//! with one term more for an ellipsoid. The root with `T > 0` is the nearest point. For a point inside, the largest
//! root with `T < 0`, if there is one, is the other local minimum of its depth, across the other axes.

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
        normals([self.a, self.b], [self.c2, 0.0], p)
    }
}

/// Outward unit normals of an ellipse or an ellipsoid at the point nearest to `p`, and at the other local minimum of the
/// depth of a point inside, on the far side of the shortest axis.
///
/// Half axes fall from first to last; `falls` are their squares less the last one's.
pub(crate) fn normals<const N: usize>(
    half_axes: [f64; N],
    falls: [f64; N],
    p: [f64; N],
) -> ([f64; N], Option<[f64; N]>) {
    let x = p.map(f64::abs);
    let w: [f64; N] = std::array::from_fn(|i| half_axes[i] * x[i]);
    // of the first so many axes
    let F = |T: f64, count: usize| {
        let (mut value, mut slope) = (0.0, 0.0);
        for i in (0..count).filter(|&i| w[i] > 0.0) {
            let s = w[i] / (T + falls[i]);
            value += s * s;
            slope += s * s / (T + falls[i]);
        }
        (value - 1.0, -2.0 * slope)
    };
    let signed = |n: [f64; N]| std::array::from_fn(|i| n[i] * 1f64.copysign(p[i]));
    let normal = |T: f64| unit(std::array::from_fn(|i| ratio(x[i], T + falls[i])));
    // Any term alone is 1 at its own `w − fall`, and the root of fewer terms is below that of more: F ≥ 0 at all these,
    // so that Newton's method comes down from this side.
    let mut T = w[0] - falls[0];
    for count in 2..=N {
        T = T.max(w[count - 1] - falls[count - 1]);
        for _ in 0..MAX_STEPS {
            if !(T + falls[count - 1] > 0.0) {
                break;
            }
            let (value, slope) = F(T, count);
            let next = T - value / slope;
            if !(next > T) {
                break;
            }
            T = next;
        }
    }
    if !(T > 0.0) {
        // within the evolute's sheet across the shortest axis: two feet, mirrored
        let (s, last) = (|i: usize| ratio(w[i], falls[i]), N - 1);
        let rest = (0..last).fold(1.0, |rest, i| rest - s(i) * s(i));
        let mut n: [f64; N] = std::array::from_fn(|i| s(i) * half_axes[last] / half_axes[i]);
        n[last] = rest.max(0.0).sqrt();
        let n = unit(n);
        let mut mirrored = n;
        mirrored[last] = -n[last];
        return (signed(n), Some(signed(mirrored)));
    }
    // the largest root below zero, from the right
    let across = || {
        let mut T = -w[N - 1];
        for _ in 0..MAX_STEPS {
            if !(T > -falls[N - 2] && T < 0.0) {
                return None;
            }
            let (value, slope) = F(T, N);
            // beyond the lowest point of F without a root
            if !(slope > 0.0) {
                return None;
            }
            let next = T - value / slope;
            if !(next < T) {
                return Some(normal(T));
            }
            T = next;
        }
        None
    };
    (signed(normal(T)), across().map(signed))
}

/// `x / y`; nothing of nothing is nothing.
fn ratio(x: f64, y: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x / y }
}

fn unit<const N: usize>(n: [f64; N]) -> [f64; N] {
    // a foot at T = 1e-300 has parts whose squares are too large
    let largest = n.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let scaled = n.map(|x| x / largest);
    let length = scaled.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > 0.0 {
        scaled.map(|x| x / length)
    } else {
        std::array::from_fn(|i| f64::from(u8::from(i == N - 1)))
    }
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
