//! Projection onto a polytope: in closed form for a segment or a cross-polytope, by a search over
//! sides for a polygon, else by Wolfe's algorithm.
//!
//! P. Wolfe, "Finding the nearest point in a polytope", Mathematical Programming 11 (1976) 128–149.
//! The algorithm ends after finitely many steps with a *corral*: affinely independent vertices
//! whose hull has the projection in its relative interior. This face determines the derivative for
//! Newton's method.

use crate::tolerances::friction::{DEPENDENT, INSIDE, PRODUCT_ROUNDING};

/// Largest dimension: a contact has at most seven tangential rows.
pub(crate) const MOST: usize = 7;

/// Vertices of the four-edge pyramid with edges along the tangents, in the units of their rows.
const DIAMOND: [f64; 8] = [1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, -1.0];

/// Memory of a projection, and the face that contains the result.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hull {
    /// Indices of the vertices that span the face.
    pub corral: [usize; MOST + 1],
    /// Number of vertices in the corral.
    pub size: usize,
    weights: [f64; MOST + 1],
    /// Orthonormal basis of the face: `dim` rows of `d` entries. Not set if `dim` is `d`.
    pub basis: [[f64; MOST]; MOST],
    pub dim: usize,
}

impl Hull {
    /// Writes the projection of `w` onto `r · conv(vertices)` to `point`.
    ///
    /// `vertices` is row-major with `d` columns. If `w` is inside, `dim` is `d`.
    pub fn project(&mut self, vertices: &[f64], d: usize, r: f64, w: &[f64], point: &mut [f64]) {
        match d {
            1 => self.segment(vertices, r, w[0]),
            2 if *vertices == DIAMOND => self.diamond(r, w),
            2 if self.polygon(vertices, r, w) => {}
            3.. if self.cross(vertices, d, r, w) => {}
            2 | 3 => self.wolfe::<3>(vertices, d, r, w),
            _ => self.wolfe::<MOST>(vertices, d, r, w),
        }
        // inside: any simplex that contains w will do
        let mut inside = self.size > d;
        if !inside {
            self.span(vertices, d);
            // from a vertex along the face: exact up to rounding, also for distant w
            let from = &vertices[self.corral[0] * d..][..d];
            for (point, from) in point.iter_mut().zip(from) {
                *point = r * from;
            }
            for q in &self.basis[..self.dim] {
                let along: f64 = (0..d).map(|i| q[i] * (w[i] - r * from[i])).sum();
                for (point, q) in point.iter_mut().zip(q) {
                    *point += along * q;
                }
            }
            let off: f64 = point.iter().zip(w).map(|(a, b)| (a - b) * (a - b)).sum();
            inside = off <= (INSIDE * r) * (INSIDE * r);
        }
        if inside {
            point.copy_from_slice(&w[..d]);
            self.dim = d;
        }
    }

    /// Finds the face of a segment: the whole segment, or an end.
    fn segment(&mut self, vertices: &[f64], r: f64, w: f64) {
        let end = |sign: f64| {
            let further = |a: usize, v: &f64| sign * v > sign * vertices[a];
            vertices.iter().enumerate().fold(0, |a, (b, v)| if further(a, v) { b } else { a })
        };
        let (low, high) = (end(-1.0), end(1.0));
        self.corral[..2].copy_from_slice(&[low, high]);
        self.size = 1;
        if w > r * vertices[high] {
            self.corral[0] = high;
        } else if w >= r * vertices[low] {
            self.size = 2;
        }
    }

    /// Finds the face of [`DIAMOND`]: the side or the vertex in the quadrant of `w`.
    fn diamond(&mut self, r: f64, w: &[f64]) {
        let (a, b) = (w[0].abs(), w[1].abs());
        let (along, across) = (if w[0] < 0.0 { 2 } else { 0 }, if w[1] < 0.0 { 3 } else { 1 });
        if a + b <= r {
            self.size = 3;
            self.corral[..3].copy_from_slice(&[0, 1, 2]);
        } else if a - b > r {
            (self.size, self.corral[0]) = (1, along);
        } else if b - a > r {
            (self.size, self.corral[0]) = (1, across);
        } else {
            // vertices in counter-clockwise order
            let first = if (along + 1) % 4 == across { along } else { across };
            (self.size, self.corral[0], self.corral[1]) = (2, first, (first + 1) % 4);
        }
    }

    /// Finds the face of a polygon whose vertices are in order. Returns false, without effect, if
    /// they are not.
    fn polygon(&mut self, vertices: &[f64], r: f64, w: &[f64]) -> bool {
        let (points, _) = vertices.as_chunks::<2>();
        let n = points.len();
        if n < 3 {
            return false;
        }
        let side = |j: usize| {
            let (a, b) = (points[j], points[(j + 1) % n]);
            [b[0] - a[0], b[1] - a[1]]
        };
        let cross = |a: [f64; 2], b: [f64; 2]| a[0] * b[1] - a[1] * b[0];
        if !(0..n).all(|j| cross(side(j), side((j + 1) % n)) > 0.0) {
            return false;
        }
        // the side that w is farthest outside of contains the projection, or ends at it
        let mut outside = false;
        for j in 0..n {
            let e = side(j);
            let to = [w[0] - r * points[j][0], w[1] - r * points[j][1]];
            if cross(e, to) >= 0.0 {
                continue;
            }
            outside = true;
            let along = e[0] * to[0] + e[1] * to[1];
            let before = side((j + n - 1) % n);
            if along > r * (e[0] * e[0] + e[1] * e[1]) {
                continue;
            }
            if along >= 0.0 {
                (self.size, self.corral[0], self.corral[1]) = (2, j, (j + 1) % n);
                return true;
            }
            // before the start of this side: the projection is the vertex, unless it lies on the
            // previous side
            let there = [to[0] + r * before[0], to[1] + r * before[1]];
            let past = before[0] * there[0] + before[1] * there[1];
            if past > r * (before[0] * before[0] + before[1] * before[1])
                || cross(before, there) >= 0.0
            {
                (self.size, self.corral[0]) = (1, j);
                return true;
            }
        }
        if outside {
            return false;
        }
        self.size = 3;
        self.corral[..3].copy_from_slice(&[0, 1, 2]);
        true
    }

    /// Finds the face of a cross-polytope, the hull of all `±e_i`, for example of a pyramid of four
    /// edges with spin. Returns false, without effect, for another set.
    ///
    /// Soft thresholding: the magnitudes of all entries of `w` shrink by a common amount, but not
    /// below zero, so that they sum to `r`.
    fn cross(&mut self, vertices: &[f64], d: usize, r: f64, w: &[f64]) -> bool {
        if vertices.len() != 2 * d * d {
            return false;
        }
        let mut ends = [usize::MAX; 2 * MOST];
        for (j, vertex) in vertices.chunks_exact(d).enumerate() {
            let mut axis = usize::MAX;
            for (i, v) in vertex.iter().enumerate() {
                if v.abs() == 1.0 && axis == usize::MAX {
                    axis = 2 * i + usize::from(*v < 0.0);
                } else if !(v.abs() <= f64::EPSILON) {
                    return false;
                }
            }
            if axis == usize::MAX {
                return false;
            }
            ends[axis] = j;
        }
        if ends[..2 * d].contains(&usize::MAX) {
            return false;
        }
        let mut order = [0, 1, 2, 3, 4, 5, 6];
        order[..d].sort_unstable_by(|a, b| w[*b].abs().total_cmp(&w[*a].abs()));
        let (mut sum, mut left) = (0.0, 0.0);
        self.size = 0;
        for i in &order[..d] {
            let size = w[*i].abs();
            if self.size > 0 && !(size > left) {
                break;
            }
            sum += size;
            self.corral[self.size] = ends[2 * i + usize::from(w[*i] < 0.0)];
            self.size += 1;
            left = (sum - r) / self.size as f64;
        }
        if left <= 0.0 {
            // inside: any simplex
            self.size = d + 1;
        }
        true
    }

    fn wolfe<const D: usize>(&mut self, vertices: &[f64], d: usize, r: f64, w: &[f64]) {
        let count = vertices.len() / d;
        // vertices relative to w
        let seen = |j: usize| {
            let mut p = [0.0; D];
            for (p, (v, w)) in p.iter_mut().zip(vertices[j * d..][..d].iter().zip(w)) {
                *p = r * v - w;
            }
            p
        };
        let dot = |a: &[f64; D], b: &[f64; D]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let (mut nearest, mut least, mut largest) = (0, f64::INFINITY, 0.0_f64);
        for j in 0..count {
            let p = seen(j);
            let size = dot(&p, &p);
            largest = largest.max(size);
            if size < least {
                (nearest, least) = (j, size);
            }
        }
        self.size = 1;
        self.corral[0] = nearest;
        self.weights[0] = 1.0;
        let rounding = PRODUCT_ROUNDING * largest;
        // every major cycle decreases the distance, so the loop ends; the bound guards against
        // rounding
        for _ in 0..10 * (count + d) {
            let x = self.mean(&seen);
            let size = dot(&x, &x);
            let (mut best, mut value) = (usize::MAX, size - rounding);
            for j in 0..count {
                let v = dot(&seen(j), &x);
                if v < value && !self.corral[..self.size].contains(&j) {
                    (best, value) = (j, v);
                }
            }
            if best == usize::MAX || self.size > d {
                break;
            }
            self.corral[self.size] = best;
            self.weights[self.size] = 0.0;
            self.size += 1;
            while !self.minor_cycle(&seen) {}
        }
    }

    fn mean<const D: usize>(&self, seen: &impl Fn(usize) -> [f64; D]) -> [f64; D] {
        let mut x = [0.0; D];
        for (j, weight) in self.corral[..self.size].iter().zip(&self.weights) {
            let p = seen(*j);
            for i in 0..D {
                x[i] += weight * p[i];
            }
        }
        x
    }

    /// Minor cycle: moves towards the point of the corral's affine hull nearest to `w`. Returns
    /// true if it gets there, false if a vertex left the corral.
    fn minor_cycle<const D: usize>(&mut self, seen: &impl Fn(usize) -> [f64; D]) -> bool {
        let n = self.size;
        let Some(target) = self.affine(seen) else {
            // the new vertex depends affinely on the others up to rounding
            self.size -= 1;
            let sum: f64 = self.weights[..self.size].iter().sum();
            self.weights[..self.size].iter_mut().for_each(|w| *w /= sum);
            return true;
        };
        let mut step = 1.0_f64;
        let mut leaves = usize::MAX;
        for s in 0..n {
            if target[s] <= 0.0 {
                let share = self.weights[s] / (self.weights[s] - target[s]).max(f64::MIN_POSITIVE);
                if share < step || leaves == usize::MAX {
                    (step, leaves) = (share.clamp(0.0, 1.0), s);
                }
            }
        }
        for s in 0..n {
            self.weights[s] += step * (target[s] - self.weights[s]);
        }
        if leaves == usize::MAX {
            return true;
        }
        self.corral.copy_within(leaves + 1..n, leaves);
        self.weights.copy_within(leaves + 1..n, leaves);
        self.size -= 1;
        self.size == 1 && {
            self.weights[0] = 1.0;
            true
        }
    }

    /// Barycentric coordinates of the point of the corral's affine hull nearest to the origin;
    /// `None` if the corral is affinely dependent.
    fn affine<const D: usize>(&self, seen: &impl Fn(usize) -> [f64; D]) -> Option<[f64; MOST + 1]> {
        let n = self.size;
        let first = seen(self.corral[0]);
        // differences S to the first vertex: (S Sᵀ) t = −S p
        let mut sides = [[0.0; D]; D];
        for s in 1..n {
            let p = seen(self.corral[s]);
            for i in 0..D {
                sides[s - 1][i] = p[i] - first[i];
            }
        }
        let m = n - 1;
        let mut G = [[0.0; MOST + 1]; D];
        for a in 0..m {
            for b in 0..m {
                G[a][b] = (0..D).map(|i| sides[a][i] * sides[b][i]).sum();
            }
            G[a][m] = -(0..D).map(|i| sides[a][i] * first[i]).sum::<f64>();
        }
        let size = (0..m).fold(0.0_f64, |size, a| size.max(G[a][a]));
        for k in 0..m {
            let pivot = (k..m).max_by(|a, b| G[*a][k].abs().total_cmp(&G[*b][k].abs()))?;
            G.swap(k, pivot);
            if !(G[k][k].abs() > PRODUCT_ROUNDING * size) {
                return None;
            }
            for a in k + 1..m {
                let f = G[a][k] / G[k][k];
                for b in k..=m {
                    G[a][b] -= f * G[k][b];
                }
            }
        }
        let mut weights = [0.0; MOST + 1];
        let mut rest = 1.0;
        for k in (0..m).rev() {
            let sum: f64 = (k + 1..m).map(|b| G[k][b] * weights[b + 1]).sum();
            weights[k + 1] = (G[k][m] - sum) / G[k][k];
            rest -= weights[k + 1];
        }
        weights[0] = rest;
        Some(weights)
    }

    /// Computes an orthonormal basis of the face.
    fn span(&mut self, vertices: &[f64], d: usize) {
        self.dim = 0;
        let row = |j: usize| &vertices[j * d..(j + 1) * d];
        let first = row(self.corral[0]);
        for s in 1..self.size {
            let mut all = [0.0; MOST];
            let v = &mut all[..d];
            for (v, (a, b)) in v.iter_mut().zip(row(self.corral[s]).iter().zip(first)) {
                *v = a - b;
            }
            let before: f64 = v.iter().map(|v| v * v).sum();
            // twice is enough
            for _ in 0..2 {
                for q in &self.basis[..self.dim] {
                    let along: f64 = q.iter().zip(&*v).map(|(q, v)| q * v).sum();
                    for (v, q) in v.iter_mut().zip(q) {
                        *v -= along * q;
                    }
                }
            }
            let norm: f64 = v.iter().map(|v| v * v).sum();
            if norm > DEPENDENT * DEPENDENT * before {
                let scale = norm.sqrt().recip();
                self.basis[self.dim] = all.map(|v| v * scale);
                self.dim += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Projection onto a polygon by a search over all sides, for comparison.
    fn slow(vertices: &[[f64; 2]], w: [f64; 2]) -> [f64; 2] {
        let n = vertices.len();
        let mut inside = true;
        let mut best = (f64::INFINITY, [0.0; 2]);
        for j in 0..n {
            let (a, b) = (vertices[j], vertices[(j + 1) % n]);
            let side = [b[0] - a[0], b[1] - a[1]];
            let to = [w[0] - a[0], w[1] - a[1]];
            inside &= side[0] * to[1] - side[1] * to[0] >= 0.0;
            let t = (side[0] * to[0] + side[1] * to[1]) / (side[0] * side[0] + side[1] * side[1]);
            let p = [a[0] + t.clamp(0.0, 1.0) * side[0], a[1] + t.clamp(0.0, 1.0) * side[1]];
            let d = (p[0] - w[0]).powi(2) + (p[1] - w[1]).powi(2);
            if d < best.0 {
                best = (d, p);
            }
        }
        if inside { w } else { best.1 }
    }

    #[test]
    fn nearest_points_of_cross_polytopes_are_those_of_wolfe() {
        let mut seed = 3_u64;
        let mut draw = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        };
        let (mut hull, mut other) = (Hull::default(), Hull::default());
        for k in 0..4000 {
            let d = 3 + k % 4;
            let mut vertices = vec![0.0; 2 * d * d];
            for j in 0..2 * d {
                vertices[j * d + j / 2] = if j % 2 == 0 { 1.0 } else { -1.0 };
            }
            let r = 10f64.powf(2.0 * draw());
            let w: Vec<f64> = (0..d).map(|_| 2.0 * r * draw()).collect();
            let (mut point, mut expected) = ([0.0; MOST], [0.0; MOST]);
            hull.project(&vertices, d, r, &w, &mut point[..d]);
            assert!(other.cross(&vertices, d, r, &w));
            // an additional interior vertex selects the general algorithm
            vertices.extend(vec![0.0; d]);
            other.project(&vertices, d, r, &w, &mut expected[..d]);
            for (a, b) in point.iter().zip(&expected) {
                assert!((a - b).abs() < 1e-7 * r, "{k}: {point:?} {expected:?}");
            }
            assert_eq!(hull.dim == d, other.dim == d, "{k}");
            if hull.dim < d {
                let face = |h: &Hull| {
                    let mut face = h.corral[..h.size].to_vec();
                    face.sort_unstable();
                    face
                };
                assert_eq!(face(&hull), face(&other), "{k}");
            }
        }
    }

    #[test]
    fn nearest_points_of_segments_are_ends_or_the_point_itself() {
        let mut hull = Hull::default();
        for (w, expected, dim) in [(3.0, 2.0, 0), (-5.0, -1.0, 0), (0.7, 0.7, 1)] {
            let mut point = [0.0];
            hull.project(&[2.0, -1.0, 0.0], 1, 1.0, &[w], &mut point);
            assert_eq!((point[0], hull.dim), (expected, dim));
        }
    }

    #[test]
    fn nearest_points_of_polygons_agree_with_every_side_tried() {
        let mut seed = 7_u64;
        let mut draw = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        };
        let mut hull = Hull::default();
        for k in 0..4000 {
            let n = 3 + k % 9;
            let angle = |j: usize| std::f64::consts::TAU * j as f64 / n as f64;
            let polygon: Vec<[f64; 2]> = (0..n).map(|j| angle(j).sin_cos().into()).collect();
            let polygon: Vec<[f64; 2]> = polygon.iter().map(|v| [v[1], v[0]]).collect();
            let r = 10f64.powf(2.0 * draw());
            let w = [3.0 * r * draw(), 3.0 * r * draw()];
            let scaled: Vec<[f64; 2]> = polygon.iter().map(|v| [r * v[0], r * v[1]]).collect();
            let expected = slow(&scaled, w);
            let mut point = [0.0; 2];
            hull.project(polygon.as_flattened(), 2, r, &w, &mut point);
            // rounding of the products, and its square root where the point is inside
            for i in 0..2 {
                assert!((point[i] - expected[i]).abs() < 1e-7 * r, "{k}: {point:?} {expected:?}");
            }
            let inside = expected == w;
            assert!(!inside || hull.dim == 2, "{k}: inside, on a face of {}", hull.dim);
        }
    }

    #[test]
    fn the_diamond_is_the_polygon_that_it_is() {
        let (mut hull, mut other) = (Hull::default(), Hull::default());
        // the diamond with its vertices in another order
        let turned = [0.0, 1.0, -1.0, 0.0, 0.0, -1.0, 1.0, 0.0];
        for i in -12..=12_i32 {
            for j in -12..=12_i32 {
                let w = [0.25 * f64::from(i), 0.25 * f64::from(j)];
                let (mut point, mut expected) = ([0.0; 2], [0.0; 2]);
                hull.project(&DIAMOND, 2, 1.5, &w, &mut point);
                other.project(&turned, 2, 1.5, &w, &mut expected);
                assert_eq!(hull.dim, other.dim, "{w:?}");
                for (a, b) in point.iter().zip(expected) {
                    assert!((a - b).abs() < 1e-15, "{w:?}");
                }
                if hull.dim < 2 {
                    let face = |hull: &Hull, turn: usize| {
                        let mut face = hull.corral;
                        face[..hull.size].iter_mut().for_each(|j| *j = (*j + turn) % 4);
                        face[..hull.size].to_vec()
                    };
                    assert_eq!(face(&hull, 0), face(&other, 1), "{w:?}");
                }
            }
        }
    }
}
