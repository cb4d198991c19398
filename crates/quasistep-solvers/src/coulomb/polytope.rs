//! The point of a polytope nearest to another: side by side of a polygon, else Wolfe's algorithm.
//!
//! P. Wolfe, "Finding the nearest point in a polytope", Mathematical Programming 11 (1976) 128–149.
//! It ends after finitely many steps with a *corral*: affinely independent vertices whose hull has
//! the point in its relative interior, which is what Newton's method needs to know of it.

/// Most dimensions: a contact has at most seven tangential rows.
pub(crate) const MOST: usize = 7;

/// Rounding of products of the points, as a share of the largest.
const ROUNDING: f64 = 1e-14;

/// Distance from the polytope that is none, as a share of its size.
const INSIDE: f64 = 1e-12;

/// Memory of a projection, and the face it ended on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hull {
    /// Vertices that span the face, by index.
    pub corral: [usize; MOST + 1],
    /// How many.
    pub size: usize,
    weights: [f64; MOST + 1],
    /// Orthonormal directions of the face: `dim` rows of `d` entries; none where `dim` is `d`.
    pub basis: [[f64; MOST]; MOST],
    pub dim: usize,
}

impl Hull {
    /// Writes the point of `r · conv(vertices)` nearest to `w` to `point`.
    ///
    /// `vertices` is row-major with `d` columns. Where `w` is inside, `dim` is `d`.
    pub fn project(&mut self, vertices: &[f64], d: usize, r: f64, w: &[f64], point: &mut [f64]) {
        if !(d == 2 && self.polygon(vertices, r, w)) {
            self.wolfe(vertices, d, r, w);
        }
        self.span(vertices, d);
        // from a vertex along the face: exact to rounding, also far outside
        let from = self.corral[0] * d;
        for i in 0..d {
            point[i] = r * vertices[from + i];
        }
        for q in &self.basis[..self.dim] {
            let along: f64 = (0..d).map(|i| q[i] * (w[i] - r * vertices[from + i])).sum();
            for i in 0..d {
                point[i] += along * q[i];
            }
        }
        let off = point.iter().zip(w).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        if off <= INSIDE * r {
            // inside, whatever simplex of vertices it was found in
            point.copy_from_slice(&w[..d]);
            self.dim = d;
        }
    }

    /// The face of a polygon whose vertices are in order; false, with nothing done, if they are not.
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
        // the side of which w is furthest outside has the nearest point, or ends at it
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
            // before the start of this side: the vertex, unless the side before has it
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

    fn wolfe(&mut self, vertices: &[f64], d: usize, r: f64, w: &[f64]) {
        let count = vertices.len() / d;
        // vertices as seen from w
        let seen = |j: usize| {
            let mut p = [0.0; MOST];
            for i in 0..d {
                p[i] = r * vertices[j * d + i] - w[i];
            }
            p
        };
        let dot =
            |a: &[f64; MOST], b: &[f64; MOST]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
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
        let rounding = ROUNDING * largest;
        // every major step lowers the distance, so it ends; the bound is for rounding
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
            while !self.settle(&seen) {}
        }
    }

    fn mean(&self, seen: &impl Fn(usize) -> [f64; MOST]) -> [f64; MOST] {
        let mut x = [0.0; MOST];
        for (j, weight) in self.corral[..self.size].iter().zip(&self.weights) {
            let p = seen(*j);
            for i in 0..MOST {
                x[i] += weight * p[i];
            }
        }
        x
    }

    /// Towards the nearest point of the corral's affine hull: there, true; else a vertex left, false.
    fn settle(&mut self, seen: &impl Fn(usize) -> [f64; MOST]) -> bool {
        let n = self.size;
        let Some(target) = self.affine(seen) else {
            // dependent to rounding: the newcomer adds nothing
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

    /// Weights of the point of the affine hull nearest to the origin; `None` if it is no simplex.
    fn affine(&self, seen: &impl Fn(usize) -> [f64; MOST]) -> Option<[f64; MOST + 1]> {
        let n = self.size;
        let first = seen(self.corral[0]);
        // differences to the first vertex: (D Dᵀ) t = −D p
        let mut D = [[0.0; MOST]; MOST];
        for s in 1..n {
            let p = seen(self.corral[s]);
            for i in 0..MOST {
                D[s - 1][i] = p[i] - first[i];
            }
        }
        let m = n - 1;
        let mut G = [[0.0; MOST + 1]; MOST];
        for a in 0..m {
            for b in 0..m {
                G[a][b] = (0..MOST).map(|i| D[a][i] * D[b][i]).sum();
            }
            G[a][m] = -(0..MOST).map(|i| D[a][i] * first[i]).sum::<f64>();
        }
        let size = (0..m).fold(0.0_f64, |size, a| size.max(G[a][a]));
        for k in 0..m {
            let pivot = (k..m).max_by(|a, b| G[*a][k].abs().total_cmp(&G[*b][k].abs()))?;
            G.swap(k, pivot);
            if !(G[k][k].abs() > 1e-14 * size) {
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

    /// Orthonormal directions of the face.
    fn span(&mut self, vertices: &[f64], d: usize) {
        self.dim = 0;
        let row = |j: usize| &vertices[j * d..(j + 1) * d];
        let first = row(self.corral[0]);
        for s in 1..self.size {
            let mut v = [0.0; MOST];
            for (v, (a, b)) in v.iter_mut().zip(row(self.corral[s]).iter().zip(first)) {
                *v = a - b;
            }
            let before: f64 = v.iter().map(|v| v * v).sum();
            // twice is enough
            for _ in 0..2 {
                for q in &self.basis[..self.dim] {
                    let along: f64 = q.iter().zip(&v).map(|(q, v)| q * v).sum();
                    for (v, q) in v.iter_mut().zip(q) {
                        *v -= along * q;
                    }
                }
            }
            let norm: f64 = v.iter().map(|v| v * v).sum();
            if norm > 1e-20 * before {
                let scale = norm.sqrt().recip();
                self.basis[self.dim] = v.map(|v| v * scale);
                self.dim += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The nearest point of a polygon's boundary or inside, by trying every side.
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
}
