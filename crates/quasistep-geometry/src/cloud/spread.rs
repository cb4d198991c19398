//! Selection of points that span a contact patch.
//!
//! On a dense scan the nearest points are neighbours, and five neighbours act like one point: a
//! body that rests on them can tilt until other points penetrate. A body is held by the convex hull
//! of its contact points. So a point matters if it lies outside the hull of the points selected so
//! far, and more so the farther out and the deeper it is. Let `d` be its distance to that hull in
//! the contact plane, and `delta` its height above the deepest point. The next point selected is
//! the one with the largest gain
//!
//! ```text
//! d √d / (delta + softness)
//! ```
//!
//! `delta / d` is the tilt at which the point touches. The factor `√d` prefers the farther of two
//! points that touch together. So resting points (`delta` = 0) come first, the widest ones before
//! others. Points opposite to a lower edge follow. Points inside the hull have no gain, so fewer
//! than `k` points may be selected. Directions in which the hull is narrow count more.
//!
//! Where the other surface is not flat, `d` includes the distance of a point's surface from the
//! contact plane. For example, the far side of a finger in a handle is as far away as the finger is
//! thick.

#![allow(clippy::inline_always)] // see `quasistep_linalg::simd`

use quasistep_linalg::simd::{LANES, Portable, Simd};
use quasistep_math::Vec3;

/// Distances that differ by less than this count as equal, in m.
pub(crate) const SAME: f64 = 1e-9;
/// Height difference at which resting points count as level, as a share of the cloud's half
/// diagonal. Solver errors are smaller. With a larger value the selected points of a scan would
/// change with its roughness.
const SOFTNESS: f64 = 1e-6;
/// Least distance from the hull at which a point is selected, as a share of the cloud's half
/// diagonal.
const LEAST: f64 = 1e-4;

/// Width scale, as a share of the cloud's half diagonal. Where the patch is this wide, the gain of
/// widening it further in that direction is halved.
const WIDE: f64 = 0.1;

/// A line `normal · (a, b) = offset` that bounds the selected points in the contact plane. Scaled
/// by the weight of widening the patch beyond it.
#[derive(Clone, Copy, Debug)]
struct Side {
    normal: [f64; 2],
    offset: f64,
}

/// The points selected so far, in coordinates of the contact plane at the first one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patch {
    origin: Vec3,
    /// Unit contact normal.
    n: Vec3,
    /// Unit axis of the contact plane.
    u: Vec3,
    w: Vec3,
    pub deepest: f64,
    softness: f64,
    least: f64,
    wide: f64,
    corners: Vec<[f64; 2]>,
    /// Height above the contact plane of the surface at each selected point, in m.
    lifts: Vec<f64>,
    sides: Vec<Side>,
    ring: Vec<usize>,
}

impl Patch {
    /// Starts a patch at the point `first` of a cloud, with its contact normal and the deepest
    /// point's distance, in m.
    pub fn start(&mut self, first: Vec3, normal: Vec3, deepest: f64, half_diagonal: f64) {
        self.origin = first;
        self.n = normal;
        self.u = normal.any_orthogonal();
        self.w = normal.cross(self.u);
        self.deepest = deepest;
        // a cloud of one point has no size
        self.softness = (SOFTNESS * half_diagonal).max(SAME);
        self.least = (LEAST * half_diagonal).max(SAME);
        self.wide = (WIDE * half_diagonal).max(SAME);
        self.corners.clear();
        self.corners.push([0.0; 2]);
        self.lifts.clear();
        self.lifts.push(0.0);
        self.enclose();
    }

    /// This patch, with all gains as if points were deeper and farther out by `by` (m).
    pub fn shifted(&self, by: f64) -> Self {
        let mut to = self.clone();
        to.deepest += by;
        to.least -= by;
        to
    }

    /// Adds a selected point `p` with distance `phi`, in m.
    pub fn add(&mut self, p: Vec3, phi: f64) {
        let d = p - self.origin;
        self.corners.push([d.dot(self.u), d.dot(self.w)]);
        self.lifts.push(d.dot(self.n) - (phi - self.deepest));
        self.enclose();
    }

    /// Recomputes the bounding lines of the hull. At sharp corners extra lines are added, so that
    /// the largest height above a line is at least 0.7 of the distance to the hull.
    fn enclose(&mut self) {
        self.sides.clear();
        ring(&self.corners, &mut self.ring);
        let (corners, ring, wide) = (&self.corners, &self.ring, self.wide);
        let mut push = |normal: [f64; 2], p: [f64; 2]| {
            let along = |p: &[f64; 2]| normal[0] * p[0] + normal[1] * p[1];
            let offset = along(&p);
            let width = corners.iter().fold(0.0, |w, c| f64::max(w, offset - along(c)));
            // widen a long patch before lengthening it
            let scale = wide / (wide + width);
            self.sides.push(Side { normal: normal.map(|x| scale * x), offset: scale * offset });
        };
        let m = ring.len();
        // one point has no bounding lines
        if m < 2 {
            return;
        }
        let edge = |i: usize| {
            let (p, q) = (corners[ring[i % m]], corners[ring[(i + 1) % m]]);
            let (x, y) = (q[0] - p[0], q[1] - p[1]);
            let scale = 1.0 / (x * x + y * y).sqrt();
            [x * scale, y * scale]
        };
        let first = edge(0);
        let mut after = first;
        for i in 0..m {
            let before = after;
            after = if i + 1 < m { edge(i + 1) } else { first };
            push([before[1], -before[0]], corners[ring[i]]);
            // at a sharp corner, add a line between the normals of its two edges
            let cosine = before[0] * after[0] + before[1] * after[1];
            if cosine < 0.0 {
                let between = [before[0] - after[0], before[1] - after[1]];
                let scale = 1.0 / (between[0] * between[0] + between[1] * between[1]).sqrt();
                push(between.map(|x| x * scale), corners[ring[(i + 1) % m]]);
            }
        }
    }

    /// Coordinates of points along the contact plane's axes and its normal, in m.
    #[inline(always)]
    pub fn coordinates<S: Simd>(&self, p: [S::V; 3]) -> [S::V; 3] {
        let (o, zero) = (self.origin, S::splat(0.0));
        let x = S::sub(p[0], S::splat(o.x));
        let y = S::sub(p[1], S::splat(o.y));
        let z = S::sub(p[2], S::splat(o.z));
        let a = S::dot(self.u.to_array(), [x, y, z], zero);
        let b = S::dot(self.w.to_array(), [x, y, z], zero);
        [a, b, S::dot(self.n.to_array(), [x, y, z], zero)]
    }

    /// Weights `1 / (delta + softness)` of points at height `delta` (m) above the deepest point.
    #[inline(always)]
    pub fn weights<S: Simd>(&self, delta: S::V) -> S::V {
        let delta = S::max(S::splat(0.0), delta);
        S::div(S::splat(1.0), S::add(delta, S::splat(self.softness)))
    }

    /// Gain of points at `(a, b)` in the contact plane with the given weights. `lift` is the height
    /// of the surface above the contact plane there, in m.
    #[inline(always)]
    pub fn gain<S: Simd>(&self, flat: bool, a: S::V, b: S::V, lift: S::V, weight: S::V) -> S::V {
        let mut d = self.beyond::<S>(a, b, None);
        if !flat {
            d = S::max(d, self.apart::<S>(lift));
        }
        self.worth::<S>(d, weight)
    }

    /// Gain of one point `p` with distance `phi`, in m.
    pub fn gain_of(&self, p: Vec3, phi: f64) -> f64 {
        let delta = [phi - self.deepest; LANES];
        let [a, b, height] =
            self.coordinates::<Portable>([[p.x; LANES], [p.y; LANES], [p.z; LANES]]);
        let weight = self.weights::<Portable>(delta);
        self.gain::<Portable>(false, a, b, Portable::sub(height, delta), weight)[0]
    }

    /// Upper bound of the gain of all points in boxes whose points have distances of at least `phi`
    /// (m). `ceiling` is an upper bound of their distances; it is needed if the field is not flat.
    #[inline(always)]
    pub fn bound<S: Simd>(
        &self,
        phi: S::V,
        ceiling: Option<S::V>,
        centre: [S::V; 3],
        half: [S::V; 3],
    ) -> S::V {
        let (zero, delta) = (S::splat(0.0), S::sub(phi, S::splat(self.deepest)));
        let [a, b, height] = self.coordinates::<S>(centre);
        let reach_a = S::dot(self.u.abs().to_array(), half, zero);
        let reach_b = S::dot(self.w.abs().to_array(), half, zero);
        let mut d = self.beyond::<S>(a, b, Some([reach_a, reach_b]));
        if let Some(ceiling) = ceiling {
            // the lift lies between lowest − ceiling and highest − phi
            let size = S::dot(self.n.abs().to_array(), half, zero);
            let room = S::fma(S::splat(0.5), S::sub(ceiling, phi), size);
            let above = S::fma(S::splat(0.5), S::add(ceiling, phi), S::splat(-self.deepest));
            d = S::max(d, S::add(self.apart::<S>(S::sub(height, above)), room));
        }
        self.worth::<S>(d, self.weights::<S>(delta))
    }

    #[inline(always)]
    fn worth<S: Simd>(&self, d: S::V, weight: S::V) -> S::V {
        let d = S::max(S::splat(0.0), S::sub(d, S::splat(self.least)));
        S::mul(S::mul(d, S::sqrt(d)), weight)
    }

    /// Weighted distance of points `(a, b)` to the hull of the selected points. With `reach`, an
    /// upper bound over all points within that distance of `(a, b)` along the two axes.
    #[inline(always)]
    fn beyond<S: Simd>(&self, a: S::V, b: S::V, reach: Option<[S::V; 2]>) -> S::V {
        if self.sides.is_empty() {
            let (mut a, mut b) = (S::abs(a), S::abs(b));
            if let Some([reach_a, reach_b]) = reach {
                (a, b) = (S::add(a, reach_a), S::add(b, reach_b));
            }
            return S::sqrt(S::fma(a, a, S::mul(b, b)));
        }
        let mut d = S::splat(f64::NEG_INFINITY);
        for side in &self.sides {
            let (x, y) = (S::splat(side.normal[0]), S::splat(side.normal[1]));
            let mut height = S::fma(x, a, S::fma(y, b, S::splat(-side.offset)));
            if let Some([reach_a, reach_b]) = reach {
                height = S::fma(S::abs(x), reach_a, S::fma(S::abs(y), reach_b, height));
            }
            d = S::max(height, d);
        }
        d
    }

    /// Distance of the height `lift` from the range of heights of the selected points, in m.
    #[inline(always)]
    fn apart<S: Simd>(&self, lift: S::V) -> S::V {
        let mut d = S::splat(f64::INFINITY);
        for other in &self.lifts {
            d = S::min(d, S::abs(S::sub(lift, S::splat(*other))));
        }
        d
    }
}

/// Indices of the hull's corners, counter-clockwise. Only one or two if all points coincide or are
/// collinear.
fn ring(corners: &[[f64; 2]], ring: &mut Vec<usize>) {
    ring.clear();
    let n = corners.len();
    let start = (1..n).fold(0, |best, i| if corners[i] < corners[best] { i } else { best });
    let mut at = start;
    // gift wrapping: few corners are expected
    loop {
        ring.push(at);
        let o = corners[at];
        let mut next = at;
        for i in 0..n {
            let (x, y) = (corners[i][0] - o[0], corners[i][1] - o[1]);
            if x == 0.0 && y == 0.0 {
                continue;
            }
            let (nx, ny) = (corners[next][0] - o[0], corners[next][1] - o[1]);
            let turn = nx * y - ny * x;
            let farther = x * x + y * y > nx * nx + ny * ny;
            if next == at || turn < 0.0 || (turn == 0.0 && farther) {
                next = i;
            }
        }
        if next == at || corners[next] == corners[start] || ring.len() >= n {
            return;
        }
        at = next;
    }
}
