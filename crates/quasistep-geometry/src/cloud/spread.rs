//! Points that span a contact patch.
//!
//! On a dense scan the nearest points are neighbours, and five neighbours are one point: a body that
//! rests on them is free to tilt until others are deep. What holds a body is the hull of its
//! contact points, so a point matters if it lies outside of the hull of those that are chosen, and the
//! farther out and the deeper it is, the sooner it would touch. With `d` its distance to that hull in
//! the contact plane and `delta` how much higher it is than the deepest point, the next point chosen is
//! the one with the largest
//!
//! ```text
//! d √d / (delta + softness)
//! ```
//!
//! `delta / d` is the tilt after which the point touches; `√d` prefers the farther one of two points that
//! touch together. Resting points (`delta` = 0) come before all others, the widest first; a lower edge is
//! followed by the points opposite to it; inside the hull there is nothing to gain, and fewer than `k`
//! points may say it all. Of two directions the one in which the hull is narrow counts more.
//!
//! Where the other surface is not flat, `d` also counts how far a point's surface is from the contact
//! plane: the far side of a finger in a handle is as far away as the finger is thick.

#![allow(clippy::inline_always)] // see `simd`

use super::simd::{LANES, Portable, Simd};
use quasistep_math::Vec3;

/// Distances that differ by less are the same, in m.
pub(crate) const SAME: f64 = 1e-9;
/// Share of a cloud's half diagonal by which resting points may differ in height. Solvers are better; with
/// more, a scan rests on now these and now those of its highest grains.
const SOFTNESS: f64 = 1e-6;
/// Share of a cloud's half diagonal by which a point must widen the hull.
const LEAST: f64 = 1e-4;

/// Share of a cloud's half diagonal: a patch as wide as this in some direction counts a point that
/// widens it there by half.
const WIDE: f64 = 0.1;

/// A line around the chosen points in the contact plane, `normal · (a, b) = offset`, scaled by how much
/// a point beyond it counts.
#[derive(Clone, Copy, Debug)]
struct Side {
    normal: [f64; 2],
    offset: f64,
}

/// The points chosen so far, in the contact plane of the first one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patch {
    origin: Vec3,
    /// Contact normal.
    n: Vec3,
    /// Axes of the contact plane.
    u: Vec3,
    w: Vec3,
    pub deepest: f64,
    softness: f64,
    least: f64,
    wide: f64,
    corners: Vec<[f64; 2]>,
    /// How far each chosen point's surface is above the contact plane, in m.
    lifts: Vec<f64>,
    sides: Vec<Side>,
    ring: Vec<usize>,
}

impl Patch {
    /// Starts with a point `first` of a cloud, its contact normal and the distance of the deepest point.
    pub fn start(&mut self, first: Vec3, normal: Vec3, deepest: f64, half_diagonal: f64) {
        self.origin = first;
        self.n = normal;
        self.u = normal.any_orthogonal();
        self.w = normal.cross(self.u);
        self.deepest = deepest;
        // a lone point has no size
        self.softness = (SOFTNESS * half_diagonal).max(SAME);
        self.least = (LEAST * half_diagonal).max(SAME);
        self.wide = (WIDE * half_diagonal).max(SAME);
        self.corners.clear();
        self.corners.push([0.0; 2]);
        self.lifts.clear();
        self.lifts.push(0.0);
        self.enclose();
    }

    /// This patch with the gains that points would have if they were nearer, and farther out, by so much.
    pub fn shifted(&self, by: f64) -> Self {
        let mut to = self.clone();
        to.deepest += by;
        to.least -= by;
        to
    }

    /// Adds a chosen point.
    pub fn add(&mut self, p: Vec3, phi: f64) {
        let d = p - self.origin;
        self.corners.push([d.dot(self.u), d.dot(self.w)]);
        self.lifts.push(d.dot(self.n) - (phi - self.deepest));
        self.enclose();
    }

    /// Lines around all corners, so close that beyond a corner, too, the distance to the farthest line
    /// is at least 0.7 of the distance to the hull.
    fn enclose(&mut self) {
        self.sides.clear();
        ring(&self.corners, &mut self.ring);
        let (corners, ring, wide) = (&self.corners, &self.ring, self.wide);
        let mut push = |normal: [f64; 2], p: [f64; 2]| {
            let along = |p: &[f64; 2]| normal[0] * p[0] + normal[1] * p[1];
            let offset = along(&p);
            let width = corners.iter().fold(0.0, |w, c| f64::max(w, offset - along(c)));
            // a long patch needs breadth before length
            let scale = wide / (wide + width);
            self.sides.push(Side { normal: normal.map(|x| scale * x), offset: scale * offset });
        };
        let m = ring.len();
        // a lone point needs no lines
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
            // between the normals of two edges that meet in a sharp corner
            let cosine = before[0] * after[0] + before[1] * after[1];
            if cosine < 0.0 {
                let between = [before[0] - after[0], before[1] - after[1]];
                let scale = 1.0 / (between[0] * between[0] + between[1] * between[1]).sqrt();
                push(between.map(|x| x * scale), corners[ring[(i + 1) % m]]);
            }
        }
    }

    /// Coordinates in the contact plane and above it.
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

    /// Weights `1 / (delta + softness)` of points this far above the deepest one.
    #[inline(always)]
    pub fn weights<S: Simd>(&self, delta: S::V) -> S::V {
        let delta = S::max(S::splat(0.0), delta);
        S::div(S::splat(1.0), S::add(delta, S::splat(self.softness)))
    }

    /// Gain of points of some weight at `(a, b)` in the contact plane, whose surface is a lift above it.
    #[inline(always)]
    pub fn gain<S: Simd>(&self, flat: bool, a: S::V, b: S::V, lift: S::V, weight: S::V) -> S::V {
        let mut d = self.beyond::<S>(a, b, None);
        if !flat {
            d = S::max(d, self.apart::<S>(lift));
        }
        self.worth::<S>(d, weight)
    }

    /// Gain of one point.
    pub fn gain_of(&self, p: Vec3, phi: f64) -> f64 {
        let delta = [phi - self.deepest; LANES];
        let [a, b, height] =
            self.coordinates::<Portable>([[p.x; LANES], [p.y; LANES], [p.z; LANES]]);
        let weight = self.weights::<Portable>(delta);
        self.gain::<Portable>(false, a, b, Portable::sub(height, delta), weight)[0]
    }

    /// At least the gain of every point in boxes whose points are no nearer than `phi`; `ceiling` is how
    /// far they may be where the field is not flat.
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
            // the lift is between lowest − ceiling and highest − phi
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

    /// Distance to the hull of the chosen points of points at `(a, b)`, or at least that of all points
    /// within reach of them.
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

    /// How far a surface's lift is from those of the chosen points.
    #[inline(always)]
    fn apart<S: Simd>(&self, lift: S::V) -> S::V {
        let mut d = S::splat(f64::INFINITY);
        for other in &self.lifts {
            d = S::min(d, S::abs(S::sub(lift, S::splat(*other))));
        }
        d
    }
}

/// The corners of the hull, counter-clockwise; one or two of them if all are in a spot or on a line.
fn ring(corners: &[[f64; 2]], ring: &mut Vec<usize>) {
    ring.clear();
    let n = corners.len();
    let start = (1..n).fold(0, |best, i| if corners[i] < corners[best] { i } else { best });
    let mut at = start;
    // gift wrapping: there are few corners
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
