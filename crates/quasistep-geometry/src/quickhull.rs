//! Quickhull: convex hull of points as triangles with adjacency.
//!
//! Barber, Dobkin, Huhdanpaa (1996): each outside point is assigned to one triangle that sees it.
//! The farthest point of a triangle joins the hull. The triangles that it sees are replaced by a
//! fan from it to their rim, which is found by walking over adjacent triangles. The cost is O(n log
//! n) for evenly spread points.

use quasistep_math::Vec3;

/// Points without a convex hull that has a volume.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HullError {
    /// Fewer than four points; the number given.
    #[error("{0} points were seen; a convex hull needs at least 4")]
    TooFew(usize),
    /// A coordinate is NaN or infinite.
    #[error("point {index} is ({}, {}, {}); every coordinate must be finite", point.x, point.y, point.z)]
    NotFinite {
        /// Index of the point.
        index: usize,
        /// Coordinates of the point, in m.
        point: Vec3,
    },
    /// All points lie nearly in a plane, on a line or in one spot.
    #[error(
        "the points are flat: {thickness:.1e} m thick over {extent:.1e} m; a solid needs a volume"
    )]
    Flat {
        /// Smallest extent, in m.
        thickness: f64,
        /// Largest extent, in m.
        extent: f64,
    },
}

/// Points count as flat if their thickness is below this share of their extent.
pub(crate) const FLAT: f64 = 1e-6;

/// A triangle of the hull, with its neighbours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triangle {
    /// Indices of its corners, counter-clockwise seen from outside.
    pub v: [u32; 3],
    /// Index of the triangle across the edge from corner `k` to corner `k + 1`.
    pub across: [u32; 3],
    /// Outward unit normal; zero if the corners are collinear.
    pub normal: Vec3,
    pub offset: f64,
    alive: bool,
}

/// An edge between a triangle that the point sees and one that it does not.
#[derive(Clone, Copy)]
struct RimEdge {
    /// Corner indices, in the order of the visible triangle.
    ends: [u32; 2],
    /// Index of the triangle that is not visible, and its edge.
    beyond: (u32, usize),
}

/// Convex hull of finite points. Points that stand out by at most `tolerance` (m) are left out.
pub(crate) fn quickhull(
    points: &[Vec3],
    extent: f64,
    tolerance: f64,
) -> Result<Vec<Triangle>, HullError> {
    let seed = seed(points, extent)?;
    let mut growth = Growth::new(points, seed, tolerance);
    let mut next = 0;
    while next < growth.triangles.len() {
        if !growth.add_farthest(next) {
            next += 1;
        }
    }
    Ok(growth.finish())
}

struct Growth<'a> {
    points: &'a [Vec3],
    /// Least height (m) above a triangle at which a point is considered.
    tolerance: f64,
    /// Least height (m) above a triangle at which a point that joins the hull sees it. Only
    /// rounding: if a visible triangle were left, the new fan would fold over it.
    rounding: f64,
    triangles: Vec<Triangle>,
    /// For each triangle, the points outside that are assigned to it.
    waiting: Vec<Vec<u32>>,
    /// For each triangle, the number of the last point that saw it.
    seen: Vec<u32>,
    mark: Vec<u32>,
    round: u32,
    rim: Vec<RimEdge>,
    orphans: Vec<u32>,
    /// For each point, the new triangle whose rim edge starts there; valid in the round that
    /// `of_start` names.
    starts: Vec<(u32, u32)>,
}

impl<'a> Growth<'a> {
    fn new(points: &'a [Vec3], [a, b, c, d]: [u32; 4], tolerance: f64) -> Self {
        // rounding error of a height, which is a sum of three products of coordinates
        let largest = points.iter().fold(0.0, |most: f64, p| most.max(p.max_abs()));
        let rounding = 4.0 * f64::EPSILON * largest;
        let mut growth = Self {
            points,
            tolerance,
            rounding,
            triangles: Vec::new(),
            waiting: Vec::new(),
            seen: Vec::new(),
            mark: Vec::new(),
            round: 0,
            rim: Vec::new(),
            orphans: Vec::new(),
            starts: vec![(0, 0); points.len()],
        };
        // the base is oriented so that d is above the counter-clockwise triangle a b c
        for (v, across) in [
            ([a, c, b], [3, 2, 1]),
            ([a, b, d], [0, 2, 3]),
            ([b, c, d], [0, 3, 1]),
            ([c, a, d], [0, 1, 2]),
        ] {
            growth.push(v, across);
        }
        for i in 0..points.len() as u32 {
            if ![a, b, c, d].contains(&i) {
                growth.assign(i, 0);
            }
        }
        growth
    }

    fn push(&mut self, v: [u32; 3], across: [u32; 3]) {
        let [p, q, r] = v.map(|i| self.points[i as usize]);
        let normal = (q - p).cross(r - p).try_normalize().unwrap_or(Vec3::ZERO);
        self.triangles.push(Triangle { v, across, normal, offset: normal.dot(p), alive: true });
        self.waiting.push(Vec::new());
        self.mark.push(0);
    }

    fn height(&self, triangle: usize, point: u32) -> f64 {
        let t = &self.triangles[triangle];
        self.points[point as usize].dot(t.normal) - t.offset
    }

    /// Assigns a point to the first triangle, from index `first` on, that sees it. Without one the
    /// point is inside.
    fn assign(&mut self, point: u32, first: usize) {
        let sees = |k: &usize| self.height(*k, point) > self.tolerance;
        if let Some(k) = (first..self.triangles.len()).find(sees) {
            self.waiting[k].push(point);
        }
    }

    /// Adds the farthest point assigned to a triangle; false if there is none.
    fn add_farthest(&mut self, at: usize) -> bool {
        if !self.triangles[at].alive {
            return false;
        }
        let farthest =
            (0..self.waiting[at].len()).fold((usize::MAX, f64::NEG_INFINITY), |best, k| {
                let height = self.height(at, self.waiting[at][k]);
                if height > best.1 { (k, height) } else { best }
            });
        if farthest.0 == usize::MAX {
            return false;
        }
        let eye = self.waiting[at].swap_remove(farthest.0);
        if !self.find_rim(at as u32, eye) {
            // rounding made the rim not a simple loop: the point is within rounding of the hull,
            // skip it
            return true;
        }
        let first = self.triangles.len();
        self.orphans.clear();
        for k in 0..self.seen.len() {
            let t = self.seen[k] as usize;
            self.triangles[t].alive = false;
            self.orphans.append(&mut self.waiting[t]);
        }
        for k in 0..self.rim.len() {
            let RimEdge { ends: [p, q], beyond: (neighbour, edge) } = self.rim[k];
            let own = (first + k) as u32;
            self.triangles[neighbour as usize].across[edge] = own;
            let after = self.starts[q as usize].1;
            // sides q–eye and eye–p of the fan; the neighbour before is set after all rim edges are
            // known
            self.push([p, q, eye], [neighbour, first as u32 + after, u32::MAX]);
        }
        for k in first..self.triangles.len() {
            let after = self.triangles[k].across[1] as usize;
            self.triangles[after].across[2] = k as u32;
        }
        for k in 0..self.orphans.len() {
            self.assign(self.orphans[k], first);
        }
        true
    }

    /// Finds the triangles that a point sees, starting from one of them, and their rim. False if
    /// the rim is not one loop that visits each point once.
    fn find_rim(&mut self, start: u32, eye: u32) -> bool {
        self.round += 1;
        self.seen.clear();
        self.rim.clear();
        self.seen.push(start);
        self.mark[start as usize] = self.round;
        let mut next = 0;
        while next < self.seen.len() {
            let t = self.seen[next];
            next += 1;
            for neighbour in self.triangles[t as usize].across {
                let n = neighbour as usize;
                let is_line = self.triangles[n].normal == Vec3::ZERO;
                if self.mark[n] != self.round && (is_line || self.height(n, eye) > self.rounding) {
                    self.mark[n] = self.round;
                    self.seen.push(neighbour);
                }
            }
        }
        for &t in &self.seen {
            let Triangle { v, across, .. } = self.triangles[t as usize];
            for k in 0..3 {
                let beyond = across[k];
                if self.mark[beyond as usize] == self.round {
                    continue;
                }
                let edge = self.triangles[beyond as usize].across.iter().position(|&x| x == t);
                let (ends, edge) = ([v[k], v[(k + 1) % 3]], edge.unwrap_or(0));
                if self.starts[ends[0] as usize].0 == self.round {
                    return false;
                }
                self.starts[ends[0] as usize] = (self.round, self.rim.len() as u32);
                self.rim.push(RimEdge { ends, beyond: (beyond, edge) });
            }
        }
        // the rim is one loop if a walk along it has as many edges
        let Some(first) = self.rim.first().map(|e| e.ends[0]) else { return false };
        let (mut at, mut length) = (first, 0);
        loop {
            let (round, k) = self.starts[at as usize];
            if round != self.round || length > self.rim.len() {
                return false;
            }
            at = self.rim[k as usize].ends[1];
            length += 1;
            if at == first {
                return length == self.rim.len();
            }
        }
    }

    /// Returns the remaining triangles with new indices.
    fn finish(self) -> Vec<Triangle> {
        let mut number = vec![u32::MAX; self.triangles.len()];
        let alive = (0..self.triangles.len()).filter(|&k| self.triangles[k].alive);
        for (new, old) in alive.enumerate() {
            number[old] = new as u32;
        }
        let left = self.triangles.iter().filter(|t| t.alive);
        left.map(|t| Triangle { across: t.across.map(|k| number[k as usize]), ..*t }).collect()
    }
}

/// Four points that span a volume; the fourth is above the counter-clockwise triangle of the
/// others.
fn seed(points: &[Vec3], extent: f64) -> Result<[u32; 4], HullError> {
    let farthest = |measure: &dyn Fn(Vec3) -> f64| {
        (0..points.len()).fold((0, f64::NEG_INFINITY), |best, i| {
            let m = measure(points[i]);
            if m > best.1 { (i, m) } else { best }
        })
    };
    let flat = |thickness: f64| HullError::Flat { thickness, extent };
    let (a, _) = farthest(&|p| -p.x);
    let (b, length) = farthest(&|p| (p - points[a]).norm());
    if !(length > 0.0) {
        return Err(flat(0.0));
    }
    let along = (points[b] - points[a]) / length;
    let (c, width) = farthest(&|p| (p - points[a]).cross(along).norm());
    if width <= FLAT * extent {
        return Err(flat(width));
    }
    let normal = (points[b] - points[a]).cross(points[c] - points[a]);
    let Some(normal) = normal.try_normalize() else { return Err(flat(width)) };
    let (d, height) = farthest(&|p| (p - points[a]).dot(normal).abs());
    if height <= FLAT * extent {
        return Err(flat(height));
    }
    let below = (points[d] - points[a]).dot(normal) < 0.0;
    let [b, c] = if below { [c, b] } else { [b, c] };
    Ok([a as u32, b as u32, c as u32, d as u32])
}
