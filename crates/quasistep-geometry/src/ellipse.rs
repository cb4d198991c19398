//! Normals of an ellipse or ellipsoid at the feet of perpendiculars from a point.
//!
//! The projection of a disc or an ellipsoid along a direction is an ellipse. So a rim against an
//! edge, or an ellipsoid against a cylinder's side, is this planar problem. With half axes `a ≥ b`
//! and a point `(x, y)`, `x, y ≥ 0`, the feet of perpendiculars are `(a² x/(T + a² − b²), b² y/T)`
//! at the roots `T` of
//!
//! ```text
//! F(T) = (a x/(T + a² − b²))² + (b y/T)² − 1,
//! ```
//!
//! with one term more for an ellipsoid. The root with `T > 0` is the nearest point. For a point
//! inside, the largest root with `T < 0`, if any, is the other local minimum of the depth, on the
//! far side of the shortest axis.

/// Most Newton steps. The iteration converges monotonically in 4 to 8 steps, except near the cusp
/// of the evolute.
const MAX_STEPS: usize = 60;

/// An ellipse about the origin with its long axis along x; lengths in m.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ellipse {
    /// Half of the long axis, > 0.
    pub a: f64,
    /// Half of the short axis, ≥ 0.
    pub b: f64,
    /// `a² − b²`, given separately because the difference would cancel.
    pub c2: f64,
}

impl Ellipse {
    /// Support function: the largest `n · p` over the ellipse, for a unit direction `n`.
    pub fn reach(&self, n: [f64; 2]) -> f64 {
        (self.a * n[0]).hypot(self.b * n[1])
    }

    /// The gauge of a point: below 1 inside, above 1 outside.
    pub fn gauge(&self, p: [f64; 2]) -> f64 {
        let y = if p[1] == 0.0 { 0.0 } else { p[1] / self.b };
        (p[0] / self.a).hypot(y)
    }

    /// Outward unit normals at the surface point nearest to `p`, and at the other local minimum of
    /// the depth, if any.
    pub fn normals(&self, p: [f64; 2]) -> ([f64; 2], Option<[f64; 2]>) {
        normals([self.a, self.b], [self.c2, 0.0], p)
    }
}

/// Outward unit normals of an ellipse or an ellipsoid at the surface point nearest to `p`. If `p`
/// is inside, also at the other local minimum of its depth, on the far side of the shortest axis.
///
/// `half_axes` are in descending order; `falls` are their squares minus the last one's square.
pub(crate) fn normals<const N: usize>(
    half_axes: [f64; N],
    falls: [f64; N],
    p: [f64; N],
) -> ([f64; N], Option<[f64; N]>) {
    let x = p.map(f64::abs);
    let w: [f64; N] = std::array::from_fn(|i| half_axes[i] * x[i]);
    // value and slope of F with its first `count` terms
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
    // F is convex here. Each term alone is 1 at `T = w − fall`, and adding terms moves the root up.
    // So F ≥ 0 at all these points, and Newton's method converges from this side.
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
        // on the symmetry plane, inside the evolute: two mirrored feet
        let (s, last) = (|i: usize| ratio(w[i], falls[i]), N - 1);
        let rest = (0..last).fold(1.0, |rest, i| rest - s(i) * s(i));
        let mut n: [f64; N] = std::array::from_fn(|i| s(i) * half_axes[last] / half_axes[i]);
        n[last] = rest.max(0.0).sqrt();
        let n = unit(n);
        let mut mirrored = n;
        mirrored[last] = -n[last];
        return (signed(n), Some(signed(mirrored)));
    }
    // search for the largest negative root, from above
    let across = || {
        let mut T = -w[N - 1];
        for _ in 0..MAX_STEPS {
            if !(T > -falls[N - 2] && T < 0.0) {
                return None;
            }
            let (value, slope) = F(T, N);
            // passed the minimum of F without finding a root
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

/// `x / y`, and 0 if `x` is 0.
fn ratio(x: f64, y: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x / y }
}

fn unit<const N: usize>(n: [f64; N]) -> [f64; N] {
    // at roots as small as 1e-300 the squares of components would overflow
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

    /// The normals found give the largest separation among densely sampled tangents, for points
    /// inside and outside.
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
            // no sample is better by more than the spacing of samples allows
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
