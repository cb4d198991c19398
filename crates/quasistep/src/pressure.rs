//! Normal forces on a rectangular array of pressure cells (taxels).
//!
//! A step knows the normal force at each contact point. A flat contact of two rigid bodies has
//! points at the corners of its area only, so the force between them is spread: over the convex
//! hull of the points of each pair of shapes as under an elastic layer (Winkler 1867) that cannot
//! pull,
//!
//! ```text
//! p(x, y) = max(0, a + b x + c y),    ∫ p = f,    ∫ p (x, y) = f (x_c, y_c)
//! ```
//!
//! with the force `f` and the centre of pressure `(x_c, y_c)` of the points. It is uniform where
//! the centre of pressure is at the centroid. Points on a line are spread along the line in the
//! same way, and a single point lies in one taxel.

use crate::report::ContactReport;
use quasistep_math::Pose;
use quasistep_model::Frame;

/// Least cosine of the angle between the normal of a contact and that of the pad, 45°.
const LEAST_COSINE: f64 = std::f64::consts::FRAC_1_SQRT_2;
/// Share of a taxel that a point without force may be apart and still belong to the area.
const TOUCH: f64 = 1e-3;
/// Share of the size of an area or array that counts as nothing.
const THIN: f64 = 1e-9;
/// Most iterations for the pressure on an area. A few suffice.
const MOST: usize = 50;

/// A point of the array's plane, in m.
type Point = [f64; 2];

/// A rectangular array of taxels on a body. Its frame has the origin in the middle of the
/// rectangle, x and y along its edges, and z out of the body.
#[derive(Clone, Debug, PartialEq)]
pub struct Taxels {
    /// Frame of the array.
    pub frame: Frame,
    /// Shapes whose contacts count, all of the frame's body. Of their contacts those count whose
    /// point is above or below the rectangle along z and whose normal is within 45° of z.
    pub geoms: Vec<usize>,
    /// Edges of the rectangle along x and y, in m, > 0.
    pub size: [f64; 2],
    /// Number of taxels along x and y. Reading `[i, j]` is that of taxel i along x and j along y.
    pub taxels: [usize; 2],
    /// True for pressures, in Pa; false for forces, in N.
    pub per_area: bool,
}

impl Taxels {
    /// Appends the readings, row by row: the taxels along y, for each taxel along x.
    pub(crate) fn read(&self, X_WF: &Pose, contacts: &[ContactReport], readings: &mut Vec<f64>) {
        let start = readings.len();
        readings.resize(start + self.taxels[0] * self.taxels[1], 0.0);
        let out = &mut readings[start..];
        let z_W = X_WF.rotation.rotate(quasistep_math::Vec3::Z);
        let own = |geom: u32| self.geoms.contains(&(geom as usize));
        for pair in contacts.chunk_by(|a, b| (a.geom_a, a.geom_b) == (b.geom_a, b.geom_b)) {
            let outward = match (own(pair[0].geom_a), own(pair[0].geom_b)) {
                (true, false) => 1.0,
                (false, true) => -1.0,
                _ => continue,
            };
            let near = TOUCH * (0..2).map(|k| self.edge(k)).fold(f64::INFINITY, f64::min);
            let counts = |c: &&ContactReport| {
                outward * c.n_AB_W.dot(z_W) >= LEAST_COSINE
                    && (c.normal_force > 0.0 || c.phi_next <= near)
            };
            let place = |c: &ContactReport| {
                let p = X_WF.inverse_transform_point(c.p_W);
                ([p.x, p.y], c.normal_force)
            };
            let points: Vec<(Point, f64)> = pair.iter().filter(counts).map(place).collect();
            self.spread(&points, out);
        }
        if self.per_area {
            let area = self.edge(0) * self.edge(1);
            for value in out {
                *value /= area;
            }
        }
    }

    /// Edge of a taxel along x (0) or y (1), in m.
    fn edge(&self, k: usize) -> f64 {
        self.size[k] / self.taxels[k] as f64
    }

    /// Adds the force of one contact area, given by points with their forces (N).
    fn spread(&self, points: &[(Point, f64)], out: &mut [f64]) {
        let force: f64 = points.iter().map(|(_, f)| f).sum();
        if force <= 0.0 {
            return;
        }
        let mean = |k: usize| points.iter().map(|(p, f)| p[k] * f).sum::<f64>() / force;
        let centre = [mean(0), mean(1)];
        let hull = hull(points.iter().map(|(p, _)| *p).collect());
        if let [a, b] = hull[..] {
            self.spread_on_line([a, b], force, centre, out);
        } else if let Some(pressure) = Pressure::new(&hull, force, centre) {
            self.spread_on_area(&hull, &pressure, out);
        } else {
            // the force is at an edge or a corner of the area
            for (p, f) in points {
                self.put(*p, *f, out);
            }
        }
    }

    /// Adds a force at a point to its taxel, if it is on the array.
    fn put(&self, p: Point, force: f64, out: &mut [f64]) {
        let at = |k: usize| {
            let n = self.taxels[k] as f64;
            let place = p[k] / self.edge(k) + 0.5 * n;
            let inside = (-THIN * n..=n * (1.0 + THIN)).contains(&place);
            inside.then(|| (place.max(0.0) as usize).min(self.taxels[k] - 1))
        };
        if let (Some(i), Some(j)) = (at(0), at(1)) {
            out[i * self.taxels[1] + j] += force;
        }
    }

    /// Adds a force on a segment, spread as on an area. On its middle third the whole segment
    /// is loaded; else a part of thrice the distance to the nearer end.
    fn spread_on_line(&self, [a, b]: [Point; 2], force: f64, centre: Point, out: &mut [f64]) {
        let along = [b[0] - a[0], b[1] - a[1]];
        let square = along[0].powi(2) + along[1].powi(2);
        let s = ((centre[0] - a[0]) * along[0] + (centre[1] - a[1]) * along[1]) / square;
        // force up to a place, from 0 to 1 along the segment
        let up_to = |x: f64| {
            if s < 1.0 / 3.0 {
                1.0 - (1.0 - x / (3.0 * s)).max(0.0).powi(2)
            } else if s > 2.0 / 3.0 {
                (1.0 - (1.0 - x) / (3.0 * (1.0 - s))).max(0.0).powi(2)
            } else {
                x + 6.0 * (s - 0.5) * (x * x - x)
            }
        };
        let mut cuts = vec![0.0, 1.0];
        for k in 0..2 {
            let lines = (0..=self.taxels[k]).map(|i| i as f64 * self.edge(k) - 0.5 * self.size[k]);
            cuts.extend(lines.map(|x| (x - a[k]) / along[k]).filter(|x| (0.0..=1.0).contains(x)));
        }
        cuts.sort_by(f64::total_cmp);
        let loaded = |x: f64| if s * (1.0 - s) > 0.0 { up_to(x) } else { f64::from(x > s) };
        for pair in cuts.windows(2) {
            let middle = 0.5 * (pair[0] + pair[1]);
            let p = [a[0] + middle * along[0], a[1] + middle * along[1]];
            self.put(p, force * (loaded(pair[1]) - loaded(pair[0])), out);
        }
    }

    /// Adds a pressure on a polygon.
    fn spread_on_area(&self, hull: &[Point], pressure: &Pressure, out: &mut [f64]) {
        let loaded = clipped(hull, |p| pressure.at(p));
        for i in 0..self.taxels[0] {
            let from = i as f64 * self.edge(0) - 0.5 * self.size[0];
            let strip = clipped(&loaded, |p| p[0] - from);
            let strip = clipped(&strip, |p| from + self.edge(0) - p[0]);
            for j in 0..self.taxels[1] {
                let from = j as f64 * self.edge(1) - 0.5 * self.size[1];
                let cell = clipped(&strip, |p| p[1] - from);
                let cell = clipped(&cell, |p| from + self.edge(1) - p[1]);
                let force: f64 = triangles(&cell)
                    .map(|(area, corners)| {
                        area * corners.iter().map(|p| pressure.at(p)).sum::<f64>() / 3.0
                    })
                    .sum();
                out[i * self.taxels[1] + j] += force;
            }
        }
    }
}

/// A pressure that is linear over the plane: `w · (1, (x − x_0)/size, (y − y_0)/size)`, in Pa.
struct Pressure {
    origin: Point,
    size: f64,
    w: [f64; 3],
}

impl Pressure {
    /// The pressure with a force and a centre of pressure, positive on a part of the polygon. `None` if
    /// the centre is too near to the edge of the polygon, or beyond.
    ///
    /// It is the minimum of `1/2 ∫ max(0, p)² − f p(centre)`, by Newton's method.
    fn new(hull: &[Point], force: f64, centre: Point) -> Option<Self> {
        let area: f64 = triangles(hull).map(|(area, _)| area).sum();
        let n = hull.len() as f64;
        let origin = [0, 1].map(|k| hull.iter().map(|p| p[k]).sum::<f64>() / n);
        let mut found = Self { origin, size: area.sqrt(), w: [1.0, 0.0, 0.0] };
        let target = found.basis(&centre);
        // in units of f/area: the force is one, areas are shares
        let cost = |p: &Self| {
            let moments = p.moments(hull, area);
            let square: f64 = (0..3).map(|i| p.w[i] * dot(&moments[i], &p.w)).sum();
            (0.5 * square - dot(&p.w, &target), moments)
        };
        let (mut value, mut moments) = cost(&found);
        for _ in 0..MOST {
            let next = solve(moments, target)?;
            let change = [0, 1, 2].map(|k| next[k] - found.w[k]);
            let largest = next.iter().fold(0.0_f64, |most, w| most.max(w.abs()));
            if change.iter().all(|c| c.abs() <= 1e-10 * largest) {
                found.w = next.map(|w| w * force / area);
                return Some(found);
            }
            let mut share = 1.0;
            loop {
                let w = [0, 1, 2].map(|k| found.w[k] + share * change[k]);
                let tried = Self { w, ..found };
                let (new, at) = cost(&tried);
                if new <= value + 1e-15 * value.abs() {
                    (found, value, moments) = (tried, new, at);
                    break;
                }
                share *= 0.5;
                if share < 1e-6 {
                    return None;
                }
            }
        }
        None
    }

    fn basis(&self, p: &Point) -> [f64; 3] {
        let [x, y] = [0, 1].map(|k| (p[k] - self.origin[k]) / self.size);
        [1.0, x, y]
    }

    fn at(&self, p: &Point) -> f64 {
        dot(&self.w, &self.basis(p))
    }

    /// Integral of `φ φᵀ` over the part of the polygon with positive pressure, divided by `area`.
    fn moments(&self, hull: &[Point], area: f64) -> [[f64; 3]; 3] {
        let mut sum = [[0.0; 3]; 3];
        for (part, corners) in triangles(&clipped(hull, |p| self.at(p))) {
            let at = corners.map(|p| self.basis(&p));
            for (i, row) in sum.iter_mut().enumerate() {
                for (j, entry) in row.iter_mut().enumerate() {
                    let all = |k: usize| at.iter().map(|f| f[k]).sum::<f64>();
                    let squares: f64 = at.iter().map(|f| f[i] * f[j]).sum();
                    *entry += part / area * (all(i) * all(j) + squares) / 12.0;
                }
            }
        }
        sum
    }
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Solution of a positive definite system; `None` if it is singular.
fn solve(mut m: [[f64; 3]; 3], mut b: [f64; 3]) -> Option<[f64; 3]> {
    for k in 0..3 {
        if m[k][k] <= 1e-14 {
            return None;
        }
        for i in k + 1..3 {
            let factor = m[i][k] / m[k][k];
            let row = m[k];
            m[i].iter_mut().zip(row).for_each(|(entry, other)| *entry -= factor * other);
            b[i] -= factor * b[k];
        }
    }
    let mut x = [0.0; 3];
    for k in (0..3).rev() {
        let known: f64 = (k + 1..3).map(|i| m[k][i] * x[i]).sum();
        x[k] = (b[k] - known) / m[k][k];
    }
    Some(x)
}

/// The part of a convex polygon where a linear function is not negative.
fn clipped(polygon: &[Point], f: impl Fn(&Point) -> f64) -> Vec<Point> {
    let mut out = Vec::with_capacity(polygon.len() + 1);
    for (k, p) in polygon.iter().enumerate() {
        let q = &polygon[(k + 1) % polygon.len()];
        let (at_p, at_q) = (f(p), f(q));
        if at_p >= 0.0 {
            out.push(*p);
        }
        if at_p * at_q < 0.0 {
            let s = at_p / (at_p - at_q);
            out.push([p[0] + s * (q[0] - p[0]), p[1] + s * (q[1] - p[1])]);
        }
    }
    out
}

/// Triangles of a convex polygon around its first corner, each with its area (m²).
fn triangles(polygon: &[Point]) -> impl Iterator<Item = (f64, [Point; 3])> {
    let around = polygon.get(1..).unwrap_or_default();
    around.windows(2).map(|pair| {
        let corners = [polygon[0], pair[0], pair[1]];
        (0.5 * double_area(corners[0], corners[1], corners[2]), corners)
    })
}

fn double_area(a: Point, b: Point, c: Point) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// Corners of the convex hull, counter-clockwise (monotone chains, Andrew 1979): one for a single
/// point, two for points on a line.
fn hull(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let extent = |k: usize| {
        let all = points.iter().map(|p| p[k]);
        all.clone().fold(f64::NEG_INFINITY, f64::max) - all.fold(f64::INFINITY, f64::min)
    };
    let size = extent(0).max(extent(1));
    let far = |a: &Point, b: &Point| (a[0] - b[0]).abs().max((a[1] - b[1]).abs()) > THIN * size;
    let mut corners: Vec<Point> = Vec::new();
    let backwards = points.clone().into_iter().rev();
    let mut floor = 0;
    for (k, p) in points.iter().copied().chain(backwards).enumerate() {
        if k == points.len() {
            floor = corners.len() - 1;
        }
        while corners.len() > floor + 1 {
            let [.., a, b] = corners[..] else { break };
            if double_area(a, b, p) > THIN * size * size {
                break;
            }
            corners.pop();
        }
        if corners.last().is_none_or(|last| far(last, &p)) {
            corners.push(p);
        }
    }
    if corners.len() > 1 && !far(&corners[0], &corners[corners.len() - 1]) {
        corners.pop();
    }
    corners
}
