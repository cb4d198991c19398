//! A flat contact patch as an area: where its friction acts, and its mean lever arm.
//!
//! Under uniform pressure a patch `E` resists spinning about its centroid with the torque `mu N c`.
//! Here `c` is the mean distance of the points of `E` from the centroid: 2/3 R for a disc, 0.3826 a
//! for a square, a/4 for a line. Slip and spin share one ellipsoid (Howe and Cutkosky 1996).
//!
//! Friction acts at the centre of pressure for any distribution of pressure, since in pure
//! translation each part rubs in proportion to its load. Rigid bodies do not determine the
//! pressure. Where its centre is off the centroid, the pressure is taken as uniform on the part of
//! the patch that is symmetric about the centre, as in the design of foundations (Meyerhof 1953).
//! For a rectangle, twice the eccentricity is cut off each side; at an edge a line remains, at a
//! corner a point.

/// Largest number of corners of an area, which includes corners that arise when it is cut.
const MAX_CORNERS: usize = 64;
/// Relative size below which an area counts as a line, and a line as a point.
const THIN: f64 = 1e-9;
/// Distance from an edge, relative to the area's size, within which a load counts as on the edge.
/// It is above [`THIN`], and above the rounding that moves a load across the edge.
const ON_EDGE: f64 = 1e-8;
/// Smallest spin radius of an area, relative to its size. A loaded corner has this radius, since a
/// friction cone needs one. It is too small to matter physically, and far above the rounding of
/// lever arms.
const LEAST: f64 = 1e-5;

/// A polygon with at least this many corners, all on a circle, is treated as a disc. The second
/// constant is the tolerance on the radius, relative to it.
const RIM: usize = 12;
const ROUND: f64 = 1e-6;

/// A convex polygon in the plane of a contact, counterclockwise. A line has two corners, a point
/// has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    corners: [[f64; 2]; MAX_CORNERS],
    n: usize,
    /// Twice the largest distance of a corner from the mean of the corners, in m.
    pub size: f64,
}

/// Point at which the friction of an area acts, and its spin radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Centre {
    /// Centre of friction in the plane of the contact, in m.
    pub at: [f64; 2],
    /// Mean distance of the loaded points from the centre, in m.
    pub spin_radius: f64,
}

impl Area {
    /// Convex hull of points in the plane of a contact, in m. Points beyond the capacity are
    /// dropped.
    pub fn around(points: impl Iterator<Item = [f64; 2]>) -> Self {
        let mut all = [[0.0; 2]; MAX_CORNERS / 2];
        let mut n = 0;
        for (place, point) in all.iter_mut().zip(points) {
            *place = point;
            n += 1;
        }
        let all = &mut all[..n];
        let mean = [0, 1].map(|k| all.iter().map(|p| p[k]).sum::<f64>() / n.max(1) as f64);
        let size = 2.0 * all.iter().fold(0.0_f64, |m, p| m.max(norm(minus(*p, mean))));
        all.sort_unstable_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
        let mut hull = Self { corners: [[0.0; 2]; MAX_CORNERS], n: 0, size };
        // lower side, then upper side
        for pass in 0..2 {
            let floor = hull.n;
            for k in 0..n {
                let p = all[if pass == 0 { k } else { n - 1 - k }];
                while hull.n >= floor + 2 {
                    let [a, b] = [hull.corners[hull.n - 2], hull.corners[hull.n - 1]];
                    if cross(minus(b, a), minus(p, a)) > THIN * size * size {
                        break;
                    }
                    hull.n -= 1;
                }
                hull.push(p);
            }
            // the last corner of this side is the first of the next side
            hull.n = hull.n.saturating_sub(1);
        }
        hull.n = hull.n.max(n.min(1));
        hull
    }

    fn push(&mut self, p: [f64; 2]) {
        if self.n < MAX_CORNERS {
            self.corners[self.n] = p;
            self.n += 1;
        }
    }

    fn corners(&self) -> &[[f64; 2]] {
        &self.corners[..self.n]
    }

    /// Iterates over the sides, each from corner to corner.
    fn sides(&self) -> impl Iterator<Item = ([f64; 2], [f64; 2])> {
        let next = self.corners().iter().cycle().skip(1);
        self.corners().iter().zip(next).map(|(a, b)| (*a, *b))
    }

    /// Twice the area, in m².
    fn double(&self) -> f64 {
        let first = self.corners[0];
        self.sides().map(|(a, b)| cross(minus(a, first), minus(b, first))).sum()
    }

    fn is_thin(&self) -> bool {
        self.n < 3 || self.double() <= THIN * self.size * self.size
    }

    /// Centre of friction under uniform pressure.
    pub fn uniform(&self) -> Centre {
        let first = self.corners[0];
        let mut at = [0.0; 2];
        if self.is_thin() {
            let far = self.farthest(first);
            at = [0, 1].map(|k| 0.5 * (first[k] + far[k]));
        } else {
            let mut sum = 0.0;
            for (a, b) in self.sides() {
                let weight = cross(minus(a, first), minus(b, first));
                sum += weight;
                for k in 0..2 {
                    at[k] += weight * (first[k] + a[k] + b[k]) / 3.0;
                }
            }
            at = at.map(|x| x / sum);
        }
        Centre { at, spin_radius: self.mean_distance(at) * self.bulge(at) }
    }

    /// Ratio of a disc's mean distance from its centre to that of this polygon, if the polygon
    /// stands for a disc; otherwise 1.
    fn bulge(&self, centre: [f64; 2]) -> f64 {
        if self.n < RIM {
            return 1.0;
        }
        let distances = || self.corners().iter().map(|p| norm(minus(*p, centre)));
        let radius = distances().fold(0.0, f64::max);
        let least = distances().fold(radius, f64::min);
        if least < (1.0 - ROUND) * radius {
            1.0
        } else {
            2.0 / 3.0 * radius / self.mean_distance(centre)
        }
    }

    /// Centre of friction when the centre of pressure is `at`, in m.
    pub fn pressed_at(&self, at: [f64; 2]) -> Centre {
        let uniform = self.uniform();
        let symmetric = self.symmetric_about(at);
        let mut spin_radius = symmetric.mean_distance(at) * self.bulge(uniform.at);
        if !self.is_thin() {
            // a load at the centroid presses on the whole area, even if the area is not symmetric
            // about it
            let about_centroid = self.symmetric_about(uniform.at);
            let of_symmetric = about_centroid.mean_distance(uniform.at) * self.bulge(uniform.at);
            let rest = uniform.spin_radius - of_symmetric;
            spin_radius += rest * (symmetric.double() / about_centroid.double()).clamp(0.0, 1.0);
        }
        Centre { at, spin_radius: spin_radius.max(LEAST * self.size) }
    }

    fn farthest(&self, from: [f64; 2]) -> [f64; 2] {
        let distance = |p: &[f64; 2]| norm(minus(*p, from));
        self.corners()
            .iter()
            .fold(from, |far, p| if distance(p) > distance(&far) { *p } else { far })
    }

    /// The edge that contains the point `p`, within [`ON_EDGE`]. For a thin area, the edge is the
    /// whole area.
    fn edge_at(&self, p: [f64; 2]) -> Option<[[f64; 2]; 2]> {
        if self.is_thin() {
            let first = self.corners[0];
            return Some([first, self.farthest(first)]);
        }
        let height = |a: [f64; 2], b: [f64; 2]| cross(minus(b, a), minus(p, a)) / norm(minus(b, a));
        let long = self.sides().filter(|(a, b)| norm(minus(*b, *a)) > THIN * self.size);
        let heights = long.map(|(a, b)| (height(a, b), [a, b]));
        let (height, edge) = heights.min_by(|x, y| x.0.total_cmp(&y.0))?;
        (height <= ON_EDGE * self.size).then_some(edge)
    }

    /// Part of the area that is symmetric about the point `p`.
    fn symmetric_about(&self, p: [f64; 2]) -> Self {
        let mirrored = |q: [f64; 2]| [2.0 * p[0] - q[0], 2.0 * p[1] - q[1]];
        // rounding may put a load on an edge outside the area, where the symmetric part is empty
        if let Some([first, far]) = self.edge_at(p) {
            let reach = norm(minus(first, p)).min(norm(minus(far, p)));
            let length = norm(minus(far, first));
            let mut line = Self { n: 0, ..*self };
            if length > 0.0 {
                let step = minus(far, first).map(|x| x / length * reach);
                line.push(minus(p, step));
                line.push([p[0] + step[0], p[1] + step[1]]);
            } else {
                line.push(p);
            }
            return line;
        }
        let mut part = *self;
        for (a, b) in self.sides() {
            // mirror image of the side; a point reflection keeps its orientation
            let (a, b) = (mirrored(a), mirrored(b));
            let along = minus(b, a);
            let height = |q: [f64; 2]| cross(along, minus(q, a));
            let old = part;
            part.n = 0;
            for (q, r) in old.sides() {
                let (h, g) = (height(q), height(r));
                if h >= 0.0 {
                    part.push(q);
                }
                if (h > 0.0 && g < 0.0) || (h < 0.0 && g > 0.0) {
                    let s = h / (h - g);
                    part.push([q[0] + s * (r[0] - q[0]), q[1] + s * (r[1] - q[1])]);
                }
            }
        }
        part
    }

    /// Mean distance of the area from a point inside it, in m: `∫ r dA / A`, or `∫ r dl / l` for a
    /// line.
    fn mean_distance(&self, p: [f64; 2]) -> f64 {
        if self.is_thin() {
            // for a line, the point is its middle
            return self.corners().iter().fold(0.0_f64, |m, q| m.max(0.5 * norm(minus(*q, p))));
        }
        let mut sum = 0.0;
        for (a, b) in self.sides() {
            let along = minus(b, a);
            let length = norm(along);
            if length <= THIN * self.size {
                continue;
            }
            // triangle with its tip at p: the side is at distance d, from s to t along its line
            let d = cross(minus(a, p), minus(b, p)) / length;
            let dot = |q: [f64; 2]| (along[0] * (q[0] - p[0]) + along[1] * (q[1] - p[1])) / length;
            let (s, t) = (dot(a), dot(b));
            if d.abs() > THIN * self.size {
                let part = |x: f64| x * x.hypot(d) + d * d * (x / d.abs()).asinh();
                sum += d / 6.0 * (part(t) - part(s));
            }
        }
        sum / (0.5 * self.double())
    }
}

fn minus(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

fn cross(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] * b[1] - a[1] * b[0]
}

fn norm(a: [f64; 2]) -> f64 {
    a[0].hypot(a[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    fn square(a: f64) -> Area {
        Area::around([[0.0, 0.0], [a, a], [a, 0.0], [0.0, a]].into_iter())
    }

    #[test]
    fn a_square_and_a_disc_have_their_known_radii() {
        let a = 0.09;
        let c = square(a).uniform();
        assert!((c.at[0] - 0.5 * a).abs() < 1e-15 && (c.at[1] - 0.5 * a).abs() < 1e-15);
        // mean distance of a square from its centre, over its side: (√2 + ln(1 + √2))/6
        let exact = (2.0_f64.sqrt() + (1.0 + 2.0_f64.sqrt()).ln()) / 6.0;
        assert!((c.spin_radius - exact * a).abs() < 1e-15, "{}", c.spin_radius / a);
        let angles = (0..16).map(|k| TAU * f64::from(k) / 16.0);
        let disc = Area::around(angles.map(|t| [3.0 + t.cos(), t.sin()])).uniform();
        assert!((disc.at[0] - 3.0).abs() < 1e-12);
        assert!((disc.spin_radius / (2.0 / 3.0) - 1.0).abs() < 1e-6, "{}", disc.spin_radius);
    }

    #[test]
    fn a_triangle_that_is_loaded_at_its_centroid_presses_with_all_of_it() {
        let t = Area::around([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]].into_iter());
        let c = t.uniform();
        let loaded = t.pressed_at(c.at);
        assert!((loaded.spin_radius - c.spin_radius).abs() < 1e-12);
        // reference value by sampling
        let (mut sum, mut count) = (0.0, 0.0);
        for i in 0..600 {
            for j in 0..600 {
                let (x, y) = ((f64::from(i) + 0.5) / 200.0, (f64::from(j) + 0.5) / 200.0);
                if x + y < 3.0 {
                    sum += (x - 1.0).hypot(y - 1.0);
                    count += 1.0;
                }
            }
        }
        assert!((c.spin_radius - sum / count).abs() < 2e-3, "{} {}", c.spin_radius, sum / count);
    }

    #[test]
    fn load_off_the_centre_presses_on_less_down_to_a_line_and_a_point() {
        let s = square(2.0);
        // a rectangle of 1 × 2
        let half = Area::around([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]].into_iter());
        let off = s.pressed_at([0.5, 1.0]).spin_radius;
        assert!((off - half.uniform().spin_radius).abs() < 1e-14);
        for (at, radius) in [
            ([0.0, 1.0], 0.5),
            ([1e-12, 1.0], 0.5),
            ([2.0, 0.5], 0.25),
            ([0.0, 0.0], LEAST * 8.0_f64.sqrt()),
        ] {
            let c = s.pressed_at(at);
            assert!((c.spin_radius - radius).abs() < 1e-6, "{at:?}: {}", c.spin_radius);
        }
        // a load close to the edge has nearly the spin radius of the line
        let near = s.pressed_at([1e-5, 1.0]).spin_radius;
        assert!((near - 0.5).abs() < 1e-4, "{near}");
    }

    /// Rounding moves the centre of two loads on an edge to either side of that edge.
    #[test]
    fn a_load_on_an_edge_presses_on_that_edge_to_either_side_of_rounding() {
        let t = Area::around([[0.0, 0.0], [0.3, 0.1], [0.1, 0.4]].into_iter());
        let (along, length) = ([0.3, 0.1], 0.1_f64.sqrt());
        for beside in [-1e-12, -1e-17, 0.0, 1e-17, 1e-12, 1e-10] {
            let at = [0.4 * along[0] - 0.1 * beside, 0.4 * along[1] + 0.3 * beside];
            let c = t.pressed_at(at);
            assert!((c.spin_radius / (0.2 * length) - 1.0).abs() < 1e-7, "{beside}: {c:?}");
        }
    }

    #[test]
    fn lines_and_points_are_areas_too() {
        let line = Area::around([[1.0, 1.0], [1.0, 3.0]].into_iter());
        assert_eq!(line.uniform(), Centre { at: [1.0, 2.0], spin_radius: 0.5 });
        assert_eq!(line.pressed_at([1.0, 1.5]).spin_radius, 0.25);
        let three = Area::around([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]].into_iter());
        assert!((three.uniform().spin_radius - 0.5 * 2.0_f64.sqrt()).abs() < 1e-15);
        let point = Area::around(std::iter::once([4.0, 5.0]));
        assert_eq!(point.uniform(), Centre { at: [4.0, 5.0], spin_radius: 0.0 });
    }
}
