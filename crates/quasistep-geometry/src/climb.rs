//! The normal that separates two round shapes most, from one near it: Newton's method on the sphere of directions.
//!
//! ```text
//! s(n) = min_B n·b − max_A n·a,     grad s = b − a across n,     Hess s = −(bend_a + bend_b) − s   on the tangent plane
//! ```
//!
//! Where `s > 0` there is one maximum, the distance; overlapping shapes may have several.

use crate::ellipsoid::Ellipsoid;
use crate::tube::square;
use quasistep_math::Vec3;

/// Most steps; 4 to 10 are usual, more in the flat middle of a thin shape.
const MAX_STEPS: usize = 80;
/// Shortest part of a step that is tried.
const SHORTEST: f64 = 1e-7;
/// Share of the way to a direction along which a shape has no one farthest point that a step may go: a step across it would
/// be one in the dark.
const ROOM: f64 = 0.9;
/// Rounding of a separation, as a share of the coordinates that it comes from.
const ROUNDING: f64 = 4e-16;

/// A shape with one farthest point along most directions.
pub(crate) trait Round {
    /// The largest `n · p` over its points.
    fn reach(&self, n: Vec3) -> f64;
    /// The point farthest along `n`, and how fast it moves as `n` turns: the second derivatives of the reach along `u` and
    /// `u`, `u` and `w`, `w` and `w`, which are square to `n`.
    fn point(&self, n: Vec3, u: Vec3, w: Vec3) -> (Vec3, [f64; 3]);
    /// Sine of the angle by which `n` may turn before that point jumps.
    fn room(&self, _n: Vec3) -> f64 {
        1.0
    }
}

/// A flat disc.
pub(crate) struct Disc {
    pub centre: Vec3,
    /// Unit.
    pub axis: Vec3,
    pub radius: f64,
}

impl Round for Disc {
    fn reach(&self, n: Vec3) -> f64 {
        n.dot(self.centre) + self.radius * n.cross(self.axis).norm()
    }

    fn point(&self, n: Vec3, u: Vec3, w: Vec3) -> (Vec3, [f64; 3]) {
        // along the axis all points are as far
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
        // crosswise: differences of squares have no digits for a thin one
        let (q, r) = (q.cross(on_ball), r.cross(on_ball));
        let bend = [q.dot(q), q.dot(r), r.dot(r)];
        (self.surface_at(on_ball), bend.map(|b| b / rho))
    }
}

/// A normal and how much it separates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peak {
    pub separation: f64,
    /// Unit, from A to B.
    pub normal: Vec3,
    /// How far the points farthest along it miss one another, sideways, in m: rounding at a maximum.
    pub miss: f64,
    /// Newton's step from here, uphill.
    way: Vec3,
}

impl Peak {
    /// At a unit normal. Where the separation is not concave the sign of a curvature is turned.
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
        // the smaller curvature from the determinant: the difference has no digits for a thin shape
        let large = if mean < 0.0 { mean - spread } else { mean + spread };
        let small = (huu * hww - huw * huw) / large;
        let (k1, k2) = if mean < 0.0 { (small, large) } else { (large, small) };
        let room = ROOM * a.room(n).min(b.room(n));
        let part = |g: f64, k: f64| if g == 0.0 { 0.0 } else { (g / k.abs()).clamp(-room, room) };
        let way = e1 * part(g1, k1) + e2 * part(g2, k2);
        Self { separation, normal: n, miss: gu.hypot(gw), way }
    }

    /// A place uphill; `None` at the top. Separations that differ by less than `rounding` are level.
    fn next(&self, a: &impl Round, b: &impl Round, rounding: f64) -> Option<Self> {
        let mut length = 1.0;
        while length >= SHORTEST {
            let n = (self.normal + self.way * length).try_normalize()?;
            let separation = -b.reach(-n) - a.reach(n);
            if separation > self.separation + rounding {
                return Some(Self::at(a, b, n, separation));
            }
            // near the top the separation is level, but the slope is not
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

/// The local maximum of the separation uphill of a unit normal.
pub(crate) fn climb(a: &impl Round, b: &impl Round, start: Vec3) -> Peak {
    // both ways: one reach may be a difference of much larger numbers
    let size = |shape: &dyn Fn(Vec3) -> f64| shape(start).abs() + shape(-start).abs();
    let rounding = ROUNDING * (size(&|n| a.reach(n)) + size(&|n| b.reach(n)));
    let mut here = Peak::at(a, b, start, -b.reach(-start) - a.reach(start));
    for _ in 0..MAX_STEPS {
        let Some(next) = here.next(a, b, rounding) else { break };
        here = next;
    }
    here
}
