//! Closest points of two convex shapes by support functions, after Gilbert, Johnson and Keerthi
//! (1988).
//!
//! Shapes that are a core with a radius are used without the radius. No state is kept between
//! calls, so the answer depends on the poses only. Supports of hulls begin near the answer, by a
//! table of directions and then at the last corner, so memory of the last call would save little.

use crate::shape::Shape;
use quasistep_math::{Mat3, Pose, Vec3};

/// Most iterations; a few are usual.
const MAX_ROUNDS: usize = 64;
/// Rounds after which directions change little.
const FAR_ROUNDS: usize = 2;
/// Relative accuracy of the distance at which the search ends.
const RELATIVE: f64 = 1e-12;
/// Relative error of squared distances from rounding.
const NEAREST: f64 = 1e-14;
/// Rounding error of points, relative to their coordinates.
const ROUNDING: f64 = 1e-15;

/// Relative position of two shapes A and B.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stand {
    /// Disjoint by more than asked: `n_AB_W` is a unit normal that separates them by `separation`
    /// (m).
    Beyond { separation: f64, n_AB_W: Vec3 },
    /// Disjoint: `p_WCa` is a point of A, and `p_WCa + way` a point of B, in m. The length of `way`
    /// exceeds the distance by at most `gap` (m).
    Apart { p_WCa: Vec3, way: Vec3, gap: f64 },
    /// Overlapping or touching: `p_W` is a point of A that is at most `off` (m) outside of B.
    Meet { p_W: Vec3, off: f64 },
}

/// Points of A, differences to points of B, and weights with which the differences give the point
/// nearest to the origin.
#[derive(Default)]
struct Simplex {
    p_WCa: [Vec3; 4],
    /// Vectors from A's points to B's points, in m.
    w: [Vec3; 4],
    weights: [f64; 4],
    n: usize,
}

impl Simplex {
    fn add(&mut self, p_WCa: Vec3, w: Vec3) {
        self.p_WCa[self.n] = p_WCa;
        self.w[self.n] = w;
        self.n += 1;
    }

    /// Keeps the corners of a subset, in ascending order, with these weights.
    fn keep(&mut self, subset: &[usize], weights: [f64; 4]) {
        for (to, from) in subset.iter().enumerate() {
            self.p_WCa[to] = self.p_WCa[*from];
            self.w[to] = self.w[*from];
        }
        (self.weights, self.n) = (weights, subset.len());
    }

    /// The point of A that belongs to the point nearest to the origin.
    fn on_a(&self) -> Vec3 {
        (0..self.n).fold(Vec3::ZERO, |sum, k| sum + self.p_WCa[k] * self.weights[k])
    }
}

/// Relative position of two shapes by the GJK algorithm.
///
/// The search ends early once the separation exceeds `enough` (m). Shapes nearer than `touch` (m)
/// count as touching. `known` receives the last support corners of hulls. `None` if the iteration
/// does not converge because of rounding.
pub(crate) fn stand(
    (a, X_WA): (&Shape, &Pose),
    (b, X_WB): (&Shape, &Pose),
    enough: f64,
    touch: f64,
    known: &mut [Option<u32>; 2],
) -> Option<Stand> {
    let [a, b] = [(a, X_WA), (b, X_WB)].map(|(shape, X)| Posed {
        shape,
        R: X.rotation.to_matrix(),
        p: X.translation,
    });
    let along = |n: Vec3, [known_a, known_b]: &mut [Option<u32>; 2]| {
        let p_WCa = a.support(n, known_a);
        (p_WCa, b.support(-n, known_b) - p_WCa)
    };
    let n_AB_W = (b.middle() - a.middle()).try_normalize().unwrap_or(Vec3::X);
    let (p_WCa, mut nearest) = along(n_AB_W, known);
    let separation = nearest.dot(n_AB_W);
    if separation > enough {
        return Some(Stand::Beyond { separation, n_AB_W });
    }
    let mut simplex = Simplex::default();
    simplex.add(p_WCa, nearest);
    simplex.weights[0] = 1.0;
    for round in 0..MAX_ROUNDS {
        if round < FAR_ROUNDS {
            *known = [None; 2];
        }
        let distance = nearest.norm();
        let rounding = ROUNDING * (p_WCa.max_abs() + distance);
        if distance <= touch.max(rounding) {
            return Some(Stand::Meet { p_W: simplex.on_a(), off: distance });
        }
        let n_AB_W = nearest / distance;
        let (p_WCa, w) = along(n_AB_W, known);
        let separation = w.dot(n_AB_W);
        if separation > enough {
            return Some(Stand::Beyond { separation, n_AB_W });
        }
        let gap = (distance - separation).max(0.0);
        let is_known = simplex.w[..simplex.n].contains(&w);
        if gap <= RELATIVE * distance + rounding || is_known {
            let gap = gap + rounding;
            return Some(Stand::Apart { p_WCa: simplex.on_a(), way: nearest, gap });
        }
        let before = simplex.on_a();
        simplex.add(p_WCa, w);
        let found = closest(&simplex.w[..simplex.n]);
        // without progress the accuracy of rounding is reached
        match found
            .filter(|f| f.subset.len() == 4 || f.point.norm_squared() < nearest.norm_squared())
        {
            Some(Nearest { subset, weights, point }) => {
                simplex.keep(subset, weights);
                nearest = point;
            }
            None => return Some(Stand::Apart { p_WCa: before, way: nearest, gap }),
        }
        if simplex.n == 4 {
            return Some(Stand::Meet { p_W: simplex.on_a(), off: nearest.norm() });
        }
    }
    None
}

/// Point of a simplex nearest to the origin: the corners between which it lies, their weights, and
/// the point.
struct Nearest {
    subset: &'static [usize],
    weights: [f64; 4],
    point: Vec3,
}

/// Subsets of the corners of a simplex with the last one, which has a positive weight because it was
/// just added. The largest come first.
const SUBSETS: [&[&[usize]]; 4] = [
    &[&[0]],
    &[&[0, 1], &[1]],
    &[&[0, 1, 2], &[0, 2], &[1, 2], &[2]],
    &[&[0, 1, 2, 3], &[0, 1, 3], &[0, 2, 3], &[1, 2, 3], &[0, 3], &[1, 3], &[2, 3], &[3]],
];

fn closest(w: &[Vec3]) -> Option<Nearest> {
    let mut best = None;
    let mut least = f64::INFINITY;
    for &subset in SUBSETS[w.len() - 1] {
        let found = match *subset {
            [i] => Some(([1.0, 0.0, 0.0, 0.0], w[i])),
            [i, j] => in_segment(w[i], w[j]),
            [i, j, k] => in_triangle(w[i], w[j], w[k]),
            [i, j, k, l] => in_tetrahedron(w[i], w[j], w[k], w[l]),
            _ => None,
        };
        let Some((weights, point)) = found else { continue };
        let square = point.norm_squared();
        if square < least {
            best = Some(Nearest { subset, weights, point });
            least = square;
            // no corner is on the near side of the plane through this point
            if w.iter().all(|w| w.dot(point) >= square * (1.0 - NEAREST)) {
                break;
            }
        }
    }
    best
}

/// Barycentric weights and place of the origin's projection onto a line; `None` unless all weights
/// are positive.
fn in_segment(a: Vec3, b: Vec3) -> Option<([f64; 4], Vec3)> {
    let d = b - a;
    let (x, y) = (b.dot(d), -a.dot(d));
    let sum = x + y;
    (sum > 0.0 && x > 0.0 && y > 0.0).then(|| {
        let (x, y) = (x / sum, y / sum);
        ([x, y, 0.0, 0.0], a * x + b * y)
    })
}

/// As [`in_segment`], onto a plane.
fn in_triangle(a: Vec3, b: Vec3, c: Vec3) -> Option<([f64; 4], Vec3)> {
    let n = (b - a).cross(c - a);
    let [x, y, z] = [b.cross(c).dot(n), c.cross(a).dot(n), a.cross(b).dot(n)];
    let sum = x + y + z;
    (sum > 0.0 && x > 0.0 && y > 0.0 && z > 0.0).then(|| {
        let [x, y, z] = [x / sum, y / sum, z / sum];
        ([x, y, z, 0.0], a * x + b * y + c * z)
    })
}

/// As [`in_segment`], of the origin itself.
fn in_tetrahedron(a: Vec3, b: Vec3, c: Vec3, d: Vec3) -> Option<([f64; 4], Vec3)> {
    let (ab, cd) = (a.cross(b), c.cross(d));
    let all = [b.dot(cd), -a.dot(cd), d.dot(ab), -c.dot(ab)];
    let sum: f64 = all.iter().sum();
    let is_within = sum != 0.0 && all.iter().all(|x| x * sum > 0.0);
    is_within.then(|| {
        let [x, y, z, w] = all.map(|x| x / sum);
        ([x, y, z, w], a * x + b * y + c * z + d * w)
    })
}

/// A shape at its pose.
struct Posed<'a> {
    shape: &'a Shape,
    R: Mat3,
    p: Vec3,
}

impl Posed<'_> {
    /// A point near the middle of the shape.
    fn middle(&self) -> Vec3 {
        match self.shape {
            Shape::Polytope(hull) => self.R * hull.middle() + self.p,
            _ => self.p,
        }
    }

    /// Support point along `d`, without the radius around the core if the shape has one. `known` is
    /// the corner of a hull that was the last one in a similar direction.
    fn support(&self, d: Vec3, known: &mut Option<u32>) -> Vec3 {
        let [x, y, z] = self.R.rows;
        let own = x * d.x + y * d.y + z * d.z;
        let sign = |x: f64, size: f64| if x < 0.0 { -size } else { size };
        let p = match self.shape {
            Shape::Box { half: [x, y, z] } => {
                Vec3::new(sign(own.x, *x), sign(own.y, *y), sign(own.z, *z))
            }
            Shape::Capsule { half_length, .. } => Vec3::Z * sign(own.z, *half_length),
            Shape::Polytope(hull) => {
                let corner = known.map_or_else(|| hull.support(own), |k| hull.support_near(k, own));
                *known = Some(corner);
                hull.vertices()[corner as usize]
            }
            Shape::Cylinder { .. } | Shape::Ellipsoid { .. } => {
                self.shape.support(own).unwrap_or_default()
            }
            Shape::Sphere { .. }
            | Shape::HalfSpace
            | Shape::HeightField(_)
            | Shape::Sheet(_)
            | Shape::Cloud(_) => return self.p,
        };
        self.R * p + self.p
    }
}
