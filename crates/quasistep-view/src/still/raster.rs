//! Rasterisation of triangles: projection, near plane, z-buffer.

use quasistep_math::Vec3;

/// Projection of the camera (perspective) or the sun (parallel).
pub(super) struct View {
    pub eye: Vec3,
    pub right: Vec3,
    pub up: Vec3,
    pub forward: Vec3,
    /// Samples per unit of slope (perspective), or per m (parallel).
    pub focal: f64,
    pub parallel: bool,
    pub width: usize,
    pub height: usize,
}

/// A corner in camera coordinates (right, down, forward), with the attributes to interpolate.
#[derive(Clone, Copy)]
struct Corner {
    seen: Vec3,
    n: Vec3,
}

/// Contribution of a triangle to one sample.
pub(super) struct Sample {
    /// Index of the sample, row by row from the top.
    pub index: usize,
    /// Depth along the line of sight, in m.
    pub depth: f64,
    /// Interpolated normal, not normalised.
    pub n: Vec3,
}

impl View {
    /// A perspective view from `eye` to `target`.
    pub fn look_at(eye: Vec3, target: Vec3, up: Vec3, [width, height]: [usize; 2]) -> Self {
        let forward = (target - eye).try_normalize().unwrap_or(Vec3::Y);
        let right = forward.cross(up).try_normalize().unwrap_or_else(|| forward.any_orthogonal());
        let up = right.cross(forward);
        Self { eye, right, up, forward, focal: 1.0, parallel: false, width, height }
    }

    fn see(&self, p: Vec3) -> Vec3 {
        let d = p - self.eye;
        Vec3::new(d.dot(self.right), -d.dot(self.up), d.dot(self.forward))
    }

    fn project(&self, seen: Vec3) -> [f64; 2] {
        let k = if self.parallel { self.focal } else { self.focal / seen.z };
        [0.5 * self.width as f64 + k * seen.x, 0.5 * self.height as f64 + k * seen.y]
    }

    /// Sample coordinates and depth (m) of a point; `None` behind the eye.
    pub fn locate(&self, p: Vec3) -> Option<([f64; 2], f64)> {
        let seen = self.see(p);
        (self.parallel || seen.z > 1e-9).then(|| (self.project(seen), seen.z))
    }

    /// Direction of the ray through the centre of a sample, scaled to 1 m of depth.
    pub fn ray(&self, x: usize, y: usize) -> Vec3 {
        let a = (x as f64 + 0.5 - 0.5 * self.width as f64) / self.focal;
        let b = (y as f64 + 0.5 - 0.5 * self.height as f64) / self.focal;
        self.forward + self.right * a - self.up * b
    }

    /// Calls `paint` for every sample that a triangle covers.
    pub fn cover(&self, p: [Vec3; 3], n: [Vec3; 3], mut paint: impl FnMut(Sample)) {
        let corners = [0, 1, 2].map(|i| Corner { seen: self.see(p[i]), n: n[i] });
        if self.parallel {
            self.fill(&corners, &mut paint);
            return;
        }
        // clip at a plane just in front of the eye, because points behind it cannot be projected
        let near = 1e-4 * corners.iter().map(|c| c.seen.max_abs()).fold(1e-6, f64::max);
        let mut cut: Vec<Corner> = Vec::with_capacity(4);
        for i in 0..3 {
            let (a, b) = (corners[i], corners[(i + 1) % 3]);
            if a.seen.z >= near {
                cut.push(a);
            }
            if (a.seen.z >= near) != (b.seen.z >= near) {
                let u = (near - a.seen.z) / (b.seen.z - a.seen.z);
                cut.push(Corner { seen: a.seen + (b.seen - a.seen) * u, n: a.n + (b.n - a.n) * u });
            }
        }
        for i in 2..cut.len() {
            self.fill(&[cut[0], cut[i - 1], cut[i]], &mut paint);
        }
    }

    /// Calls `paint` for every sample of a round dot that faces the camera, at least one. The given
    /// normal may have either sign. It is tilted outwards at the rim, so that neighbouring dots can
    /// be distinguished.
    pub fn dot(&self, p: Vec3, width: f64, n: Vec3, mut paint: impl FnMut(Sample)) {
        let Some(([x, y], depth)) = self.locate(p) else { return };
        let scale = if self.parallel { self.focal } else { self.focal / depth };
        let n = if n.dot(p - self.eye) > 0.0 { -n } else { n };
        // with this radius at least one sample centre is inside
        let radius = (0.5 * width * scale).clamp(0.71, 4096.0);
        let ends = |at: f64, count: usize| {
            let limit = count as f64;
            let first = (at - radius - 0.5).ceil().clamp(0.0, limit);
            (first as i64, (at + radius - 0.5).floor().clamp(-1.0, limit - 1.0) as i64)
        };
        let (x0, x1) = ends(x, self.width);
        let (y0, y1) = ends(y, self.height);
        for j in y0..=y1 {
            for i in x0..=x1 {
                let (dx, dy) = (i as f64 + 0.5 - x, j as f64 + 0.5 - y);
                if dx * dx + dy * dy <= radius * radius {
                    let lean = (self.right * dx - self.up * dy) * (0.4 / radius);
                    let index = j as usize * self.width + i as usize;
                    paint(Sample { index, depth, n: n + lean });
                }
            }
        }
    }

    fn fill(&self, c: &[Corner; 3], paint: &mut impl FnMut(Sample)) {
        let s = c.map(|c| self.project(c.seen));
        let area =
            (s[1][0] - s[0][0]) * (s[2][1] - s[0][1]) - (s[1][1] - s[0][1]) * (s[2][0] - s[0][0]);
        if area == 0.0 || !area.is_finite() {
            return;
        }
        // first and last sample whose centre may be inside
        let ends = |axis: usize, count: usize| {
            let low = s.iter().map(|p| p[axis]).fold(f64::INFINITY, f64::min);
            let high = s.iter().map(|p| p[axis]).fold(f64::NEG_INFINITY, f64::max);
            let limit = count as f64;
            ((low - 0.5).ceil().clamp(0.0, limit), (high - 0.5).floor().clamp(-1.0, limit - 1.0))
        };
        let (x0, x1) = ends(0, self.width);
        let (y0, y1) = ends(1, self.height);
        let weight = c.map(|c| if self.parallel { 1.0 } else { 1.0 / c.seen.z });
        for y in y0 as i64..=y1 as i64 {
            for x in x0 as i64..=x1 as i64 {
                let (px, py) = (x as f64 + 0.5, y as f64 + 0.5);
                let edge = |a: [f64; 2], b: [f64; 2]| {
                    ((b[0] - a[0]) * (py - a[1]) - (b[1] - a[1]) * (px - a[0])) / area
                };
                let b = [edge(s[1], s[2]), edge(s[2], s[0]), edge(s[0], s[1])];
                if b.iter().any(|b| *b < 0.0) {
                    continue;
                }
                // perspective-correct interpolation: convert barycentric coordinates on the screen
                // to those in space
                let k = [b[0] * weight[0], b[1] * weight[1], b[2] * weight[2]];
                let sum = k[0] + k[1] + k[2];
                let depth = (0..3).map(|i| k[i] / sum * c[i].seen.z).sum();
                let n = c[0].n * (k[0] / sum) + c[1].n * (k[1] / sum) + c[2].n * (k[2] / sum);
                paint(Sample { index: y as usize * self.width + x as usize, depth, n });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The depth of a sample is where its ray meets the triangle's plane.
    #[test]
    fn depth_is_right_in_perspective() {
        let mut view = View::look_at(Vec3::new(0.0, -2.0, 0.5), Vec3::ZERO, Vec3::Z, [64, 48]);
        view.focal = 60.0;
        let p = [Vec3::new(-3.0, 0.5, -1.0), Vec3::new(3.0, 4.0, -1.0), Vec3::new(0.0, 1.0, 2.0)];
        let n = (p[1] - p[0]).cross(p[2] - p[0]);
        let mut count = 0;
        view.cover(p, [n; 3], |s| {
            let ray = view.ray(s.index % 64, s.index / 64);
            let at = view.eye + ray * s.depth;
            assert!((at - p[0]).dot(n).abs() < 1e-9 * n.norm(), "off the plane");
            count += 1;
        });
        assert!(count > 100, "{count} samples");
    }

    /// A dot is a disc of its width; far away it covers one sample, and behind the eye none.
    #[test]
    fn dots_have_their_size() {
        let mut view = View::look_at(Vec3::ZERO, Vec3::Y, Vec3::Z, [64, 48]);
        view.focal = 100.0;
        let count = |p: Vec3, width: f64| {
            let mut count = 0;
            view.dot(p, width, Vec3::X, |s| {
                assert_eq!(s.depth, p.y);
                count += 1;
            });
            count
        };
        // the radius is 10 samples
        let area = f64::from(count(Vec3::new(0.0, 1.0, 0.0), 0.2)) / std::f64::consts::PI;
        assert!((area.sqrt() - 10.0).abs() < 0.2, "{area}");
        assert!((1..=4).contains(&count(Vec3::new(0.01, 100.0, 0.02), 1e-6)));
        assert_eq!(count(Vec3::new(0.0, -1.0, 0.0), 0.2), 0);
        assert_eq!(count(Vec3::new(9.0, 1.0, 0.0), 0.2), 0, "beside the picture");
    }

    /// A triangle that extends behind the eye covers only samples in front.
    #[test]
    fn the_near_plane_cuts() {
        let mut view = View::look_at(Vec3::ZERO, Vec3::Y, Vec3::Z, [32, 32]);
        view.focal = 16.0;
        let p =
            [Vec3::new(0.0, 5.0, -1.0), Vec3::new(-1.0, -5.0, -1.0), Vec3::new(1.0, -5.0, -1.0)];
        let mut rows = Vec::new();
        view.cover(p, [Vec3::Z; 3], |s| {
            assert!(s.depth > 0.0 && s.depth <= 5.0);
            rows.push(s.index / 32);
        });
        assert!(!rows.is_empty() && rows.iter().all(|r| *r >= 16), "only below the horizon");
    }
}
