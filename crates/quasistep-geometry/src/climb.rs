//! Local maximum of the separation of two round shapes over unit normals, by Newton's method on the
//! unit sphere.
//!
//! ```text
//! s(n) = min_B n·b − max_A n·a
//! grad s = b − a,                    projected on the plane across n
//! Hess s = −(bend_a + bend_b) − s    on that plane
//! ```
//!
//! Shapes that are apart (`s > 0`) have one maximum, their distance. Overlapping shapes may have
//! several.

use crate::ellipsoid::Ellipsoid;
use crate::tube::square;
use quasistep_math::Vec3;

/// Most Newton steps. 4 to 10 are usual; the flat maximum of a thin shape takes more.
const MAX_STEPS: usize = 80;
/// Smallest factor by which the line search shortens a Newton step.
const SHORTEST: f64 = 1e-7;
/// Largest part of [`Round::room`] that one step may use. The quadratic model does not hold beyond
/// a direction in which the support point jumps.
const ROOM: f64 = 0.9;
/// Rounding error of a separation, as a share of the coordinates from which it is computed.
const ROUNDING: f64 = 4e-16;

/// A convex shape whose support point is unique in almost every direction.
pub(crate) trait Round {
    /// Support function: the largest `n · p` over the points `p` of the shape, in m.
    fn reach(&self, n: Vec3) -> f64;
    /// Support point along `n`, and the second derivatives of the support function along `uu`, `uw`
    /// and `ww`, in m. `u` and `w` are unit vectors across `n`.
    fn point(&self, n: Vec3, u: Vec3, w: Vec3) -> (Vec3, [f64; 3]);
    /// Sine of the angle by which `n` may turn before the support point jumps.
    fn room(&self, _n: Vec3) -> f64 {
        1.0
    }
}

/// A flat disc.
pub(crate) struct Disc {
    pub centre: Vec3,
    /// Unit normal of the disc.
    pub axis: Vec3,
    pub radius: f64,
}

impl Round for Disc {
    fn reach(&self, n: Vec3) -> f64 {
        n.dot(self.centre) + self.radius * n.cross(self.axis).norm()
    }

    fn point(&self, n: Vec3, u: Vec3, w: Vec3) -> (Vec3, [f64; 3]) {
        // along the axis all points of the disc are equally far: no unique support point
        let Some(out) = square(self.axis, n) else { return (self.centre, [0.0; 3]) };
        let t = n.cross(self.axis);
        let (bend, tu, tw) = (self.radius / t.norm().powi(3), t.dot(u), t.dot(w));
        (self.centre + out * self.radius, [bend * tu * tu, bend * tu * tw, bend * tw * tw])
    }

    fn room(&self, n: Vec3) -> f64 {
        n.cross(self.axis).norm()
    }
}

impl Round for Ellipsoid {
    fn reach(&self, n: Vec3) -> f64 {
        Self::reach(self, n)
    }

    fn point(&self, n: Vec3, u: Vec3, w: Vec3) -> (Vec3, [f64; 3]) {
        let [p, q, r] = [n, u, w].map(|v| self.on_ball(v));
        let rho = p.norm();
        let on_ball = p / rho;
        // from cross products: a difference of squares would cancel for a thin ellipsoid
        let (q, r) = (q.cross(on_ball), r.cross(on_ball));
        let bend = [q.dot(q), q.dot(r), r.dot(r)];
        (self.surface_at(on_ball), bend.map(|b| b / rho))
    }
}

/// A normal, its separation, and the Newton step from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peak {
    pub separation: f64,
    /// Unit normal from A to B.
    pub normal: Vec3,
    /// Distance of the two support points across `normal`, in m: zero at a maximum, up to rounding.
    pub miss: f64,
    /// Newton step in the plane across `normal`, uphill.
    way: Vec3,
}

impl Peak {
    /// Evaluates the separation's gradient and Newton step at the unit normal `n`.
    ///
    /// Where the separation is not concave, a positive curvature is replaced by its negative, so
    /// that the step goes uphill.
    fn at(a: &impl Round, b: &impl Round, n: Vec3, separation: f64) -> Self {
        let u = n.any_orthogonal();
        let w = n.cross(u);
        let (pa, bend_a) = a.point(n, u, w);
        let (pb, bend_b) = b.point(-n, u, w);
        let gap = pb - pa;
        let (gu, gw) = (gap.dot(u), gap.dot(w));
        let [huu, huw, hww] = [0, 1, 2].map(|k| bend_a[k] + bend_b[k]);
        let (huu, hww) = (huu + separation, hww + separation);
        let (mean, half) = (0.5 * (huu + hww), 0.5 * (huu - hww));
        let spread = half.hypot(huw);
        let (sin, cos) = (0.5 * huw.atan2(half)).sin_cos();
        let (e1, e2) = (u * cos + w * sin, w * cos - u * sin);
        let (g1, g2) = (gu * cos + gw * sin, gw * cos - gu * sin);
        // smaller eigenvalue from the determinant: a difference would cancel for a thin shape
        let large = if mean < 0.0 { mean - spread } else { mean + spread };
        let small = (huu * hww - huw * huw) / large;
        let (k1, k2) = if mean < 0.0 { (small, large) } else { (large, small) };
        let room = ROOM * a.room(n).min(b.room(n));
        let part = |g: f64, k: f64| if g == 0.0 { 0.0 } else { (g / k.abs()).clamp(-room, room) };
        let way = e1 * part(g1, k1) + e2 * part(g2, k2);
        Self { separation, normal: n, miss: gu.hypot(gw), way }
    }

    /// One Newton step with a line search; `None` if no step increases the separation.
    ///
    /// Separations that differ by less than `rounding` (m) count as equal.
    fn next(&self, a: &impl Round, b: &impl Round, rounding: f64) -> Option<Self> {
        let mut length = 1.0;
        while length >= SHORTEST {
            let n = (self.normal + self.way * length).try_normalize()?;
            let separation = -b.reach(-n) - a.reach(n);
            if separation > self.separation + rounding {
                return Some(Self::at(a, b, n, separation));
            }
            // near the maximum the separation no longer changes, but the gradient still does
            if length == 1.0 && separation >= self.separation - rounding {
                let next = Self::at(a, b, n, separation);
                if next.miss < 0.5 * self.miss {
                    return Some(next);
                }
            }
            length *= 0.25;
        }
        None
    }
}

/// Climbs from the unit normal `start` to a local maximum of the separation.
pub(crate) fn climb(a: &impl Round, b: &impl Round, start: Vec3) -> Peak {
    // in both directions: one value may be small although the coordinates are large
    let size = |shape: &dyn Fn(Vec3) -> f64| shape(start).abs() + shape(-start).abs();
    let rounding = ROUNDING * (size(&|n| a.reach(n)) + size(&|n| b.reach(n)));
    let mut here = Peak::at(a, b, start, -b.reach(-start) - a.reach(start));
    for _ in 0..MAX_STEPS {
        let Some(next) = here.next(a, b, rounding) else { break };
        here = next;
    }
    here
}
