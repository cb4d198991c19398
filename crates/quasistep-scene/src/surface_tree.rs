//! Bounding volume tree of triangles: distances and solid angles in logarithmic time.

use quasistep_math::Vec3;

/// Most triangles of a leaf.
const LEAF: usize = 8;
/// A group of triangles farther away than this multiple of its radius is approximated by one face.
/// The relative error of its solid angle is about (radius/distance)².
const FAR: f64 = 3.0;
/// Solid angles of a closed surface are 0 or 4π. If the approximation differs from 2π by less than
/// this share of 4π, it is recomputed exactly.
const UNSURE: f64 = 0.2;
const FULL: f64 = 2.0 * std::f64::consts::TAU;

#[derive(Clone, Debug)]
pub(crate) struct SurfaceTree {
    /// Triangles in tree order; every node owns a range.
    triangles: Vec<[Vec3; 3]>,
    nodes: Vec<Node>,
}

/// A group of triangles; its first child is the next node.
#[derive(Clone, Debug)]
struct Node {
    low: Vec3,
    high: Vec3,
    first: usize,
    end: usize,
    /// Index of its second child; 0 for a leaf.
    second: usize,
    /// Sum of the area vectors, in m²; area-weighted mean of the centroids, and distance of the
    /// farthest corner from it, in m.
    area: Vec3,
    middle: Vec3,
    radius: f64,
}

impl SurfaceTree {
    /// Builds the tree of at least one triangle.
    pub fn new(triangles: &[[Vec3; 3]]) -> Self {
        let mut tree = Self { triangles: triangles.to_vec(), nodes: Vec::new() };
        tree.grow(0, triangles.len());
        tree
    }

    fn grow(&mut self, first: usize, end: usize) {
        let own = &mut self.triangles[first..end];
        let corner = own[0][0];
        let (low, high) =
            own.iter().flatten().fold((corner, corner), |(l, h), p| (l.min(*p), h.max(*p)));
        let (mut area, mut moment, mut weight) = (Vec3::ZERO, Vec3::ZERO, 0.0);
        for [a, b, c] in own.iter() {
            let vector = (*b - *a).cross(*c - *a) * 0.5;
            area += vector;
            moment += (*a + *b + *c) * (vector.norm() / 3.0);
            weight += vector.norm();
        }
        let middle = if weight > 0.0 { moment / weight } else { corner };
        let radius = own.iter().flatten().map(|p| (*p - middle).norm()).fold(0.0, f64::max);
        let at = self.nodes.len();
        self.nodes.push(Node { low, high, first, end, second: 0, area, middle, radius });
        if end - first <= LEAF {
            return;
        }
        let extent = high - low;
        let axis = (1..3).fold(0, |a, k| if extent[k] > extent[a] { k } else { a });
        // a stable sort keeps the file's order at ties
        let place = |t: &[Vec3; 3]| t[0][axis] + t[1][axis] + t[2][axis];
        own.sort_by(|s, t| place(s).total_cmp(&place(t)));
        let half = usize::midpoint(first, end);
        self.grow(first, half);
        self.nodes[at].second = self.nodes.len();
        self.grow(half, end);
    }

    /// Corners of each triangle, counter-clockwise seen from outside.
    pub fn triangles(&self) -> &[[Vec3; 3]] {
        &self.triangles
    }

    /// Distance of a point from the enclosed solid, in m. Zero if the point is inside, or no
    /// farther than `enough`.
    pub fn distance_beyond(&self, enough: f64, p: Vec3) -> f64 {
        let nearest = self.distance(enough, p);
        if nearest <= enough || self.encloses(p) { 0.0 } else { nearest }
    }

    /// Distance of the nearest triangle, in m. If it is at most `enough`, any smaller number.
    fn distance(&self, enough: f64, p: Vec3) -> f64 {
        let mut nearest = f64::INFINITY;
        let mut open = vec![(0, self.box_distance(0, p))];
        while let Some((at, least)) = open.pop() {
            if least >= nearest {
                continue;
            }
            let node = &self.nodes[at];
            if node.second == 0 {
                for t in &self.triangles[node.first..node.end] {
                    let [a, b, c] = t.map(|corner| corner - p);
                    nearest = nearest.min(nearest_to_origin(a, b, c).norm());
                }
                if nearest <= enough {
                    break;
                }
                continue;
            }
            let halves = [at + 1, node.second].map(|k| (k, self.box_distance(k, p)));
            // visit the nearer child first
            let [near, far] =
                if halves[0].1 <= halves[1].1 { halves } else { [halves[1], halves[0]] };
            open.extend([far, near]);
        }
        nearest
    }

    fn box_distance(&self, node: usize, p: Vec3) -> f64 {
        let Node { low, high, .. } = &self.nodes[node];
        (*low - p).max(p - *high).max(Vec3::ZERO).norm()
    }

    /// True if the surface encloses a point; for a surface with holes, if it covers more than half
    /// of the point's view.
    pub fn encloses(&self, p: Vec3) -> bool {
        let rough = self.solid_angle(p, FAR);
        let is_sure = (rough - 0.5 * FULL).abs() > UNSURE * FULL;
        let angle = if is_sure { rough } else { self.solid_angle(p, f64::INFINITY) };
        angle > 0.5 * FULL
    }

    /// Solid angle of the surface seen from a point, positive from its back (Barill, Dickson,
    /// Schmidt, Levin, Jacobson 2018). Groups farther than `far` of their radii are approximated by
    /// one face.
    fn solid_angle(&self, p: Vec3, far: f64) -> f64 {
        let mut angle = 0.0;
        let mut open = vec![0];
        while let Some(at) = open.pop() {
            let node = &self.nodes[at];
            let to_middle = node.middle - p;
            let distance = to_middle.norm();
            if distance > far * node.radius {
                angle += node.area.dot(to_middle) / (distance * distance * distance);
            } else if node.second == 0 {
                let own = &self.triangles[node.first..node.end];
                angle += own.iter().map(|t| solid_angle(t.map(|corner| corner - p))).sum::<f64>();
            } else {
                open.extend([node.second, at + 1]);
            }
        }
        angle
    }
}

/// Solid angle of a triangle as seen from the origin, Van Oosterom and Strackee (1983).
fn solid_angle([a, b, c]: [Vec3; 3]) -> f64 {
    let (la, lb, lc) = (a.norm(), b.norm(), c.norm());
    let below = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
    2.0 * a.dot(b.cross(c)).atan2(below)
}

/// The point of a triangle nearest to the origin.
fn nearest_to_origin(a: Vec3, b: Vec3, c: Vec3) -> Vec3 {
    let normal = (b - a).cross(c - a);
    let size = normal.norm_squared();
    let foot = normal * (if size > 0.0 { a.dot(normal) / size } else { 0.0 });
    let on_left = |u: Vec3, w: Vec3| normal.dot((w - u).cross(foot - u)) >= 0.0;
    if size > 0.0 && on_left(a, b) && on_left(b, c) && on_left(c, a) {
        return foot;
    }
    let on_edge = |u: Vec3, w: Vec3| {
        let d = w - u;
        let length = d.norm_squared();
        let t = if length > 0.0 { (-u.dot(d) / length).clamp(0.0, 1.0) } else { 0.0 };
        u + d * t
    };
    [on_edge(a, b), on_edge(b, c), on_edge(c, a)]
        .into_iter()
        .fold(a, |best, p| if p.norm_squared() < best.norm_squared() { p } else { best })
}

#[cfg(test)]
mod tests {
    use super::{FAR, FULL, SurfaceTree, UNSURE, nearest_to_origin, solid_angle};
    use crate::replica::mix;
    use quasistep_math::Vec3;
    use std::f64::consts::TAU;

    /// Triangles of a torus: 2 n m of them.
    fn ring(n: usize, m: usize) -> Vec<[Vec3; 3]> {
        let at = |i: usize, j: usize| {
            let ((su, cu), (sv, cv)) = (
                (TAU * (i % n) as f64 / n as f64).sin_cos(),
                (TAU * (j % m) as f64 / m as f64).sin_cos(),
            );
            let r = 1.0 + 0.3 * cv;
            Vec3::new(r * cu, r * su, 0.3 * sv)
        };
        let mut all = Vec::new();
        for i in 0..n {
            for j in 0..m {
                let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
                all.extend([[a, b, c], [a, c, d]]);
            }
        }
        all
    }

    /// The tree agrees with a loop over all triangles.
    #[test]
    fn the_tree_answers_as_all_triangles_do() {
        let triangles = ring(40, 12);
        let tree = SurfaceTree::new(&triangles);
        let random = |k: u64| (mix(k) >> 11) as f64 / (1_u64 << 53) as f64;
        let (mut inside, mut rough_off) = (0, 0.0_f64);
        for k in 0..2000 {
            let p = Vec3::new(
                3.0 * random(3 * k) - 1.5,
                3.0 * random(3 * k + 1) - 1.5,
                random(3 * k + 2) - 0.5,
            );
            let seen = |t: &[Vec3; 3]| t.map(|corner| corner - p);
            let nearest = triangles.iter().map(seen).fold(f64::INFINITY, |least, [a, b, c]| {
                least.min(nearest_to_origin(a, b, c).norm())
            });
            let angle: f64 = triangles.iter().map(|t| solid_angle(seen(t))).sum();
            assert_eq!(tree.distance(0.0, p), nearest);
            assert_eq!(tree.encloses(p), angle > 0.5 * FULL, "{p:?}");
            rough_off = rough_off.max((tree.solid_angle(p, FAR) - angle).abs() / FULL);
            assert!((tree.solid_angle(p, f64::INFINITY) - angle).abs() < 1e-9);
            inside += usize::from(angle > 0.5 * FULL);
        }
        assert!((100..1900).contains(&inside), "{inside}");
        // the error of the approximation is far below the threshold at which it would be wrong
        assert!(rough_off < 0.25 * (0.5 - UNSURE), "{rough_off}");
    }
}
