//! Convex polytopes: the hull of a set of points, with planar faces as ordered loops.

use crate::mass::MassProperties;
use crate::planes::Planes;
use crate::quickhull::{FLAT, HullError, Triangle, quickhull};
use crate::triangle::unit_normal;
use quasistep_math::{Mat3, Vec3};

/// A convex polytope in its own frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Polytope {
    vertices: Vec<Vec3>,
    faces: Vec<Face>,
    edges: Vec<Edge>,
    /// Index in `neighbours` of each corner's first entry; one entry more than corners.
    first_neighbour: Vec<u32>,
    neighbours: Vec<u32>,
    /// Edges to the neighbours, in their order.
    edges_around: Vec<u32>,
    /// Index in `faces_around` of each corner's first entry; one entry more than corners.
    first_face: Vec<u32>,
    faces_around: Vec<u32>,
    /// Index in `edges_of` of each face's first entry; one entry more than faces.
    first_edge: Vec<u32>,
    edges_of: Vec<u32>,
    /// For each face, the offset of its farthest corner, in m.
    tops: Vec<f64>,
    planes: Planes,
    /// Mean of the corners, in m.
    middle: Vec3,
    /// Largest distance of a corner from the origin, in m.
    reach: f64,
    /// Corners at which walks start: those farthest along the middles of the squares into which
    /// each side of a cube of directions is cut. Empty if there are few corners.
    starts: Vec<u32>,
    /// Number of squares along an edge of that cube.
    squares: usize,
    /// Largest deviation of corners from their faces, in m.
    thickness: f64,
    /// False if a face, merged of triangles that only nearly lie in one plane, is not convex. A walk
    /// along edges may end too early then.
    can_walk: bool,
}

/// A planar face of a polytope.
#[derive(Clone, Debug, PartialEq)]
pub struct Face {
    normal: Vec3,
    offset: f64,
    vertices: Vec<u32>,
}

/// A face as plain data: outward unit normal, offset in m, and corner indices counter-clockwise
/// seen from outside.
pub type FaceParts = (Vec3, f64, Vec<u32>);

/// An edge with its two faces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Indices of its ends.
    pub vertices: [u32; 2],
    /// Indices of the faces that meet in it.
    pub faces: [u32; 2],
}

impl Face {
    /// Outward unit normal.
    pub fn normal(&self) -> Vec3 {
        self.normal
    }

    /// Offset in m: the face lies in the plane `normal · p = offset`.
    pub fn offset(&self) -> f64 {
        self.offset
    }

    /// Indices of its corners, counter-clockwise seen from outside.
    pub fn vertices(&self) -> &[u32] {
        &self.vertices
    }

    /// Sides of the face as pairs of corner indices, in the order of the corners.
    fn sides(&self) -> impl Iterator<Item = (u32, u32)> {
        let n = self.vertices.len();
        (0..n).map(move |k| (self.vertices[k], self.vertices[(k + 1) % n]))
    }
}

/// Points nearer to a plane than this share of the extent lie on it. Coordinates in single
/// precision deviate by 1e-7.
pub(crate) const PLANAR: f64 = 1e-7;
/// Number of corners up to which testing each is as fast as walking along edges.
const FEW_CORNERS: usize = 32;
/// Number of nearly equal corners after which the walk gives up and tests all corners.
pub(crate) const MOST_SEEN: usize = 64;
/// Shares of the usual thickness within which triangles are merged if merged faces are not convex.
const FINER: [f64; 3] = [0.1, 0.01, 0.0];
/// Corners for each direction at which a walk can start.
const CORNERS_PER_START: f64 = 0.5;
/// Where the half circle of a triangle's edge is divided: cosine and sine of the angle from the
/// triangle's plane. No direction of interest is there: those of upright edges are in the plane.
const SPLIT: (f64, f64) = (0.955_336_489_125_606, 0.295_520_206_661_339_6);

impl Polytope {
    /// Convex hull of points, in m. Points inside, on edges and in faces are left out.
    ///
    /// # Errors
    ///
    /// See [`HullError`].
    pub fn from_points(points: &[Vec3]) -> Result<Self, HullError> {
        if points.len() < 4 {
            return Err(HullError::TooFew(points.len()));
        }
        if let Some(index) = points.iter().position(|p| !p.is_finite()) {
            return Err(HullError::NotFinite { index, point: points[index] });
        }
        let (low, high) = points
            .iter()
            .fold((points[0], points[0]), |(low, high), p| (low.min(*p), high.max(*p)));
        let extent = (high - low).max_abs();
        let triangles = quickhull(points, extent, PLANAR * extent)?;
        let thickness = 2.0 * PLANAR * extent;
        let merged = |within: f64| {
            let (vertices, faces) = planar_faces(points, &triangles, [thickness, within]);
            Self::new(vertices, faces)
        };
        let first = merged(thickness);
        if first.can_walk {
            return Ok(first);
        }
        // a flat dome: triangles that nearly lie in one plane make faces that are not convex
        let finer = FINER.into_iter().map(|share| merged(share * thickness));
        let is_convex = |hull: &Self| {
            let above = |face: &Face| {
                let height = |v: &Vec3| v.dot(face.normal) - face.offset;
                hull.vertices.iter().map(height).fold(f64::NEG_INFINITY, f64::max)
            };
            hull.can_walk && hull.faces.iter().all(|face| above(face) <= thickness)
        };
        Ok(finer.into_iter().find(is_convex).unwrap_or(first))
    }

    /// Builds a polytope from its corners, in m, and its faces: outward unit normal, offset in m,
    /// and corner indices counter-clockwise seen from outside. The data of another polytope give an
    /// identical copy, bit by bit.
    ///
    /// # Errors
    ///
    /// A message that says which condition fails: every edge has two faces that traverse it in
    /// opposite directions; the surface is connected; normals have unit length; corners lie in
    /// their faces and below the other planes, to 1e-6 of the extent.
    pub fn from_parts(vertices: Vec<Vec3>, faces: Vec<FaceParts>) -> Result<Self, String> {
        check_parts(&vertices, &faces)?;
        let face = |(normal, offset, vertices)| Face { normal, offset, vertices };
        Ok(Self::new(vertices, faces.into_iter().map(face).collect()))
    }

    /// Derives edges and neighbours from the faces.
    fn new(vertices: Vec<Vec3>, faces: Vec<Face>) -> Self {
        let mut sides: Vec<([u32; 2], u32)> = Vec::new();
        for (f, face) in faces.iter().enumerate() {
            for (a, b) in face.sides() {
                sides.push(([a.min(b), a.max(b)], f as u32));
            }
        }
        sides.sort_unstable();
        let edges: Vec<Edge> = sides
            .chunk_by(|x, y| x.0 == y.0)
            .map(|both| Edge { vertices: both[0].0, faces: [both[0].1, both[both.len() - 1].1] })
            .collect();
        Self::with_edges(vertices, faces, edges)
    }

    /// Derives neighbours from faces and edges. Edges are sorted by their ends.
    fn with_edges(vertices: Vec<Vec3>, faces: Vec<Face>, edges: Vec<Edge>) -> Self {
        let pairs = edges.iter().flat_map(|e| [e.vertices, [e.vertices[1], e.vertices[0]]]);
        let (first_neighbour, neighbours) = lists(pairs.collect(), vertices.len());
        // edges are sorted by their ends, so those of a corner are in the order of its neighbours
        let ends = edges.iter().zip(0..).flat_map(|(e, k)| e.vertices.map(|v| [v, k]));
        let (_, edges_around) = lists(ends.collect(), vertices.len());
        let mut meets: Vec<[u32; 2]> = Vec::new();
        for (f, face) in faces.iter().enumerate() {
            meets.extend(face.vertices.iter().map(|v| [*v, f as u32]));
        }
        let (first_face, faces_around) = lists(meets, vertices.len());
        let bounds = edges.iter().zip(0..).flat_map(|(e, k)| e.faces.map(|f| [f, k]));
        let (first_edge, edges_of) = lists(bounds.collect(), faces.len());
        let top = |face: &Face| {
            let heights = face.vertices.iter().map(|&v| vertices[v as usize].dot(face.normal));
            heights.fold(f64::NEG_INFINITY, f64::max)
        };
        let tops: Vec<f64> = faces.iter().map(top).collect();
        let middle = vertices.iter().fold(Vec3::ZERO, |sum, v| sum + *v) / vertices.len() as f64;
        let reach = vertices.iter().map(|v| v.norm_squared()).fold(0.0, f64::max).sqrt();
        let planes = Planes::new(faces.iter().zip(&tops).map(|(f, top)| {
            let corner = vertices[f.vertices[0] as usize] - middle;
            (f.normal, top - f.normal.dot(middle), corner)
        }));
        let (low, high) =
            vertices.iter().fold((middle, middle), |(low, high), v| (low.min(*v), high.max(*v)));
        let thickness = 4.0 * PLANAR * (high - low).max_abs();
        let mut hull = Self {
            vertices,
            faces,
            edges,
            first_neighbour,
            neighbours,
            edges_around,
            first_face,
            faces_around,
            first_edge,
            edges_of,
            tops,
            planes,
            middle,
            reach,
            starts: Vec::new(),
            squares: 0,
            thickness,
            can_walk: true,
        };
        hull.can_walk = hull.faces.iter().all(|face| hull.is_convex(face));
        hull.choose_starts();
        hull
    }

    /// True if no corner of the face is inside the line through its neighbours, beyond the scatter of
    /// corners.
    fn is_convex(&self, face: &Face) -> bool {
        let n = face.vertices.len();
        (0..n).all(|k| {
            let [a, b, c] = [k, k + 1, k + 2].map(|i| self.vertices[face.vertices[i % n] as usize]);
            face.normal.dot((b - a).cross(c - a)) >= -0.5 * self.thickness * (c - a).norm()
        })
    }

    /// Fills the table of corners at which walks start.
    fn choose_starts(&mut self) {
        let n = self.vertices.len();
        if n <= FEW_CORNERS || !self.can_walk {
            return;
        }
        let squares = (n as f64 / (6.0 * CORNERS_PER_START)).sqrt().ceil() as usize;
        let mut start = 0;
        self.starts = (0..6 * squares * squares)
            .map(|cell| {
                start = self.walk(start, direction(cell, squares));
                start
            })
            .collect();
        self.squares = squares;
    }

    /// A prism, whose corners [`set_prism`](Self::set_prism) moves.
    pub(crate) fn new_prism() -> Self {
        let top = [Vec3::Z, Vec3::X + Vec3::Z, Vec3::Y + Vec3::Z];
        let low = top.map(|p| p - Vec3::Z);
        let face =
            |vertices: &[u32]| Face { normal: Vec3::Z, offset: 0.0, vertices: vertices.to_vec() };
        let faces = [&[3, 4, 5][..], &[0, 2, 1], &[0, 1, 4, 3], &[1, 2, 5, 4], &[2, 0, 3, 5]];
        let mut prism = Self::new([low, top].concat(), faces.map(face).to_vec());
        prism.set_prism(&top, 0.0);
        prism
    }

    /// Moves the corners of a prism: of its top, in m, counter-clockwise seen from above, and the z of
    /// its bottom.
    pub(crate) fn set_prism(&mut self, top: &[Vec3; 3], bottom: f64) {
        for (k, p) in top.iter().enumerate() {
            self.vertices[k] = Vec3 { z: bottom, ..*p };
            self.vertices[k + 3] = *p;
        }
        let Self { vertices, .. } = self;
        self.middle = vertices.iter().fold(Vec3::ZERO, |sum, v| sum + *v) / 6.0;
        self.reach = vertices.iter().map(|v| v.norm_squared()).fold(0.0, f64::max).sqrt();
        let size = vertices.iter().map(|v| (*v - self.middle).max_abs()).fold(0.0, f64::max);
        self.thickness = 4.0 * PLANAR * size;
        let (mut planes, mut corners) = ([(Vec3::ZERO, 0.0); 5], [Vec3::ZERO; 5]);
        for (k, face) in self.faces.iter_mut().enumerate() {
            let [a, b, c] = [0, 1, 2].map(|i| vertices[face.vertices[i] as usize]);
            face.normal = (b - a).cross(c - a).try_normalize().unwrap_or(Vec3::Z);
            let heights = face.vertices.iter().map(|v| vertices[*v as usize].dot(face.normal));
            face.offset = heights.fold(f64::NEG_INFINITY, f64::max);
            self.tops[k] = face.offset;
            planes[k] = (face.normal, face.offset - face.normal.dot(self.middle));
            corners[k] = a - self.middle;
        }
        self.planes.renew(&planes, &corners);
    }

    /// A triangle without thickness, whose corners [`set_triangle`](Self::set_triangle) moves.
    ///
    /// It has two faces with opposite normals. The Gauss image of an edge is half a great circle, which
    /// is two arcs here: each edge stands twice, between either face and a third one that has no area.
    /// Those are the last three faces; no search for a face finds them.
    pub(crate) fn new_triangle() -> Self {
        let corners = [Vec3::ZERO, Vec3::X, Vec3::Y];
        let face =
            |vertices: &[u32]| Face { normal: Vec3::Z, offset: 0.0, vertices: vertices.to_vec() };
        let faces = [&[0, 1, 2][..], &[0, 2, 1], &[0, 1], &[1, 2], &[2, 0]].map(face);
        let sides = [([0, 1], 2), ([0, 2], 4), ([1, 2], 3)];
        let edge =
            |(vertices, side): ([u32; 2], u32)| [0, 1].map(|f| Edge { vertices, faces: [f, side] });
        let edges = sides.into_iter().flat_map(edge).collect();
        let mut triangle = Self::with_edges(corners.to_vec(), faces.to_vec(), edges);
        triangle.can_walk = true;
        triangle.set_triangle(&corners);
        triangle
    }

    /// Moves the corners of a triangle, in m.
    pub(crate) fn set_triangle(&mut self, corners: &[Vec3; 3]) {
        self.vertices.copy_from_slice(corners);
        self.middle = (corners[0] + corners[1] + corners[2]) / 3.0;
        self.reach = corners.iter().map(|v| v.norm_squared()).fold(0.0, f64::max).sqrt();
        let size = corners.iter().map(|v| (*v - self.middle).max_abs()).fold(0.0, f64::max);
        self.thickness = 4.0 * PLANAR * size;
        let normal = unit_normal(corners);
        for (k, face) in self.faces.iter_mut().enumerate() {
            face.normal = match k {
                0 => normal,
                1 => -normal,
                _ => {
                    let [u, w] = [k - 2, (k - 1) % 3].map(|i| corners[i]);
                    let out = (w - u).cross(normal).try_normalize().unwrap_or(normal);
                    out * SPLIT.0 + normal * SPLIT.1
                }
            };
            let heights = corners.iter().map(|v| v.dot(face.normal));
            face.offset = heights.fold(f64::NEG_INFINITY, f64::max);
            self.tops[k] = face.offset;
        }
        let plane = |face: &Face| (face.normal, face.offset - face.normal.dot(self.middle));
        let planes = [0, 1].map(|k| plane(&self.faces[k]));
        self.planes.renew(&planes, &[corners[0] - self.middle; 2]);
    }

    /// Corners, in m.
    pub fn vertices(&self) -> &[Vec3] {
        &self.vertices
    }

    /// Faces.
    pub fn faces(&self) -> &[Face] {
        &self.faces
    }

    /// Edges.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Indices of the corners that share an edge with this one, ascending.
    ///
    /// # Panics
    ///
    /// If there is no such corner.
    pub fn neighbours(&self, vertex: u32) -> &[u32] {
        let at = vertex as usize;
        &self.neighbours[self.first_neighbour[at] as usize..self.first_neighbour[at + 1] as usize]
    }

    /// Indices of the edges at a corner, in the order of its neighbours.
    pub(crate) fn edges_around(&self, vertex: u32) -> &[u32] {
        let at = vertex as usize;
        &self.edges_around[self.first_neighbour[at] as usize..self.first_neighbour[at + 1] as usize]
    }

    /// Indices of the faces that meet in a corner, ascending.
    pub(crate) fn faces_around(&self, vertex: u32) -> &[u32] {
        let at = vertex as usize;
        &self.faces_around[self.first_face[at] as usize..self.first_face[at + 1] as usize]
    }

    /// Indices of a face's edges, ascending.
    pub(crate) fn edges_of(&self, face: u32) -> &[u32] {
        let at = face as usize;
        &self.edges_of[self.first_edge[at] as usize..self.first_edge[at + 1] as usize]
    }

    /// For each face, the offset of its farthest corner, in m. Corners deviate from their plane by
    /// rounding.
    pub(crate) fn tops(&self) -> &[f64] {
        &self.tops
    }

    /// Planes of the faces, with their offsets measured from [`middle`](Self::middle).
    pub(crate) fn planes(&self) -> &Planes {
        &self.planes
    }

    /// Mean of the corners, in m.
    pub(crate) fn middle(&self) -> Vec3 {
        self.middle
    }

    /// Largest distance of a corner from the origin, in m.
    pub(crate) fn reach(&self) -> f64 {
        self.reach
    }

    /// Index of the first of the farthest corners along `d`.
    pub fn support(&self, d: Vec3) -> u32 {
        match self.starts.get(cell(d, self.squares)) {
            Some(start) => self.walk(*start, d),
            None => self.highest(d),
        }
    }

    /// As [`support`](Self::support), for a direction near the one along which `known` is farthest.
    pub(crate) fn support_near(&self, known: u32, d: Vec3) -> u32 {
        if self.starts.is_empty() { self.highest(d) } else { self.walk(known, d) }
    }

    /// The support along `d`, by a walk uphill that begins at a corner. The answer does not depend
    /// on that corner.
    fn walk(&self, start: u32, d: Vec3) -> u32 {
        let height = |k: u32| self.vertices[k as usize].dot(d);
        // Corners of one face deviate from its plane, so a walk uphill may have to pass a slightly
        // lower corner. All corners this near to the maximum are connected by edges.
        let band = 2.0 * self.thickness * (d.x.abs() + d.y.abs() + d.z.abs());
        let mut best = (start, height(start));
        loop {
            let (here, mut second) = (best, f64::NEG_INFINITY);
            for &k in self.neighbours(here.0) {
                let h = height(k);
                second = if h > second { h } else { second };
                if h > best.1 {
                    best = (k, h);
                }
            }
            if best.0 == here.0 {
                if second < best.1 - band {
                    return best.0;
                }
                break;
            }
        }
        let mut seen = [0; MOST_SEEN];
        let Some(level) = self.level_with(best.0, d, best.1 - band, &mut seen) else {
            return self.highest(d);
        };
        for &k in level {
            let h = height(k);
            if h > best.1 || h == best.1 && k < best.0 {
                best = (k, h);
            }
        }
        best.0
    }

    /// Corners at least `floor` high along `d` that edges between such corners connect with corner
    /// `top`. `None` if they are more than fit into `seen`, and if edges do not lead to all.
    pub(crate) fn level_with<'a>(
        &self,
        top: u32,
        d: Vec3,
        floor: f64,
        seen: &'a mut [u32; MOST_SEEN],
    ) -> Option<&'a [u32]> {
        if !self.can_walk {
            return None;
        }
        seen[0] = top;
        let (mut n, mut next) = (1, 0);
        while next < n {
            for &k in self.neighbours(seen[next]) {
                if self.vertices[k as usize].dot(d) < floor || seen[..n].contains(&k) {
                    continue;
                }
                *seen.get_mut(n)? = k;
                n += 1;
            }
            next += 1;
        }
        Some(&seen[..n])
    }

    /// As [`level_with`](Self::level_with), for any number of corners up to `most`: fills `out`, in no
    /// order. Returns false, with `out` incomplete, if there are more.
    pub(crate) fn level_list(
        &self,
        (top, d, floor): (u32, Vec3, f64),
        most: usize,
        marks: &mut Vec<u64>,
        out: &mut Vec<u32>,
    ) -> bool {
        if !self.can_walk {
            out.clear();
            out.extend(
                (0..).zip(&self.vertices).filter(|(_, v)| v.dot(d) >= floor).map(|(k, _)| k),
            );
            return out.len() <= most;
        }
        marks.clear();
        marks.resize(self.vertices.len().div_ceil(64), 0);
        let mut mark = |k: u32| {
            let (word, bit) = (&mut marks[k as usize / 64], 1 << (k % 64));
            let is_new = *word & bit == 0;
            *word |= bit;
            is_new
        };
        out.clear();
        out.push(top);
        mark(top);
        let mut next = 0;
        while let Some(&k) = out.get(next) {
            for &j in self.neighbours(k) {
                if self.vertices[j as usize].dot(d) >= floor && mark(j) {
                    out.push(j);
                }
            }
            if out.len() > most {
                return false;
            }
            next += 1;
        }
        true
    }

    /// True if walks uphill along edges lead to the farthest corner.
    pub(crate) fn can_walk(&self) -> bool {
        self.can_walk
    }

    /// Corners of one face are this near to one another along its normal, in m; twice the largest
    /// deviation of a corner from its faces.
    pub(crate) fn scatter(&self) -> f64 {
        2.0 * self.thickness
    }

    /// Index of the first of the farthest corners along `d`.
    fn highest(&self, d: Vec3) -> u32 {
        let mut best = (0, f64::NEG_INFINITY);
        for (k, v) in self.vertices.iter().enumerate() {
            let h = v.dot(d);
            if h > best.1 {
                best = (k as u32, h);
            }
        }
        best.0
    }

    /// Mass properties at a density in kg/m³, exact, from the faces.
    pub fn mass_properties(&self, density: f64) -> MassProperties {
        // tetrahedra with a common corner: signed volumes, so no interior point is needed
        let o = self.vertices[0];
        let (mut volume, mut moment) = (0.0, Vec3::ZERO);
        let mut second = Mat3::ZERO;
        for face in &self.faces {
            for k in 1..face.vertices.len() - 1 {
                let corner = |i: usize| self.vertices[face.vertices[i] as usize] - o;
                let (a, b, c) = (corner(0), corner(k), corner(k + 1));
                let v = a.dot(b.cross(c)) / 6.0;
                let s = a + b + c;
                volume += v;
                moment += s * (0.25 * v);
                // ∫ x xᵀ over a tetrahedron with a corner at the origin
                let sum =
                    Mat3::outer(s, s) + Mat3::outer(a, a) + Mat3::outer(b, b) + Mat3::outer(c, c);
                second = second + sum * (v / 20.0);
            }
        }
        let com = moment / volume;
        let central = second + Mat3::outer(com, com) * -volume;
        let inertia = Mat3::IDENTITY * central.trace() + central * -1.0;
        MassProperties { mass: density * volume, com: o + com, inertia: inertia * density }
    }
}

/// Index of the square of a cube of directions that `d` points to; each side of the cube has
/// `squares` times `squares` of them.
fn cell(d: Vec3, squares: usize) -> usize {
    let [x, y, z] = d.abs().to_array();
    let axis = if x >= y && x >= z { 0 } else { 1 + usize::from(z > y) };
    let side = 2 * axis + usize::from(d[axis] < 0.0);
    let half = 0.5 * squares as f64;
    let share = half / d[axis].abs();
    let place = |k: usize| {
        let at = half + d[(axis + k) % 3] * share;
        (at as usize).min(squares.saturating_sub(1))
    };
    (side * squares + place(1)) * squares + place(2)
}

/// Direction to the middle of a square; see [`cell`].
fn direction(cell: usize, squares: usize) -> Vec3 {
    let (side, axis) = (cell / (squares * squares), cell / (squares * squares) / 2);
    let middle = |k: usize| (2 * (k % squares) + 1) as f64 / squares as f64 - 1.0;
    let mut d = Vec3::ZERO;
    d[axis] = if side % 2 == 0 { 1.0 } else { -1.0 };
    d[(axis + 1) % 3] = middle(cell / squares);
    d[(axis + 2) % 3] = middle(cell);
    d
}

/// Groups pairs of owner and item by owner. Returns the index of each owner's first item, and all
/// items, ascending.
fn lists(mut pairs: Vec<[u32; 2]>, owners: usize) -> (Vec<u32>, Vec<u32>) {
    pairs.sort_unstable();
    let mut first = vec![0; owners + 1];
    for [owner, _] in &pairs {
        first[*owner as usize + 1] += 1;
    }
    for k in 0..owners {
        first[k + 1] += first[k];
    }
    (first, pairs.into_iter().map(|[_, item]| item).collect())
}

/// Merges coplanar triangles into faces. Returns the remaining corners and the faces.
///
/// A point is a corner of the polytope if at least three faces meet in it; otherwise it lies within
/// a face or on an edge. So all faces agree on their corners, and every edge has two faces.
///
/// `thickness` is that of slivers, and the distance from a plane within which triangles lie on it.
fn planar_faces(
    points: &[Vec3],
    triangles: &[Triangle],
    thickness: [f64; 2],
) -> (Vec<Vec3>, Vec<Face>) {
    let (group, planes) = coplanar_groups(points, triangles, thickness);
    // the groups that meet at each point, without duplicates
    let mut meets: Vec<[u32; 2]> = Vec::new();
    for (t, g) in triangles.iter().zip(&group) {
        meets.extend(t.v.map(|v| [v, *g]));
    }
    meets.sort_unstable();
    meets.dedup();
    let mut corner_number = vec![u32::MAX; points.len()];
    let mut vertices = Vec::new();
    for at in meets.chunk_by(|x, y| x[0] == y[0]).filter(|at| at.len() >= 3) {
        corner_number[at[0][0] as usize] = vertices.len() as u32;
        vertices.push(points[at[0][0] as usize]);
    }
    // boundary edges of each group: those with another group on the far side
    let mut sides: Vec<Vec<[u32; 2]>> = vec![Vec::new(); planes.len()];
    for (t, &g) in triangles.iter().zip(&group) {
        for k in 0..3 {
            if group[t.across[k] as usize] != g {
                sides[g as usize].push([t.v[k], t.v[(k + 1) % 3]]);
            }
        }
    }
    let mut faces: Vec<Face> = Vec::new();
    for (sides, (normal, _)) in sides.iter().zip(planes) {
        let walk = ring(sides).unwrap_or_else(|| around_centre(points, sides, normal));
        let corner = |v: &u32| Some(corner_number[*v as usize]).filter(|c| *c != u32::MAX);
        let mut vertices: Vec<u32> = walk.iter().filter_map(corner).collect();
        if vertices.len() < 3 {
            continue;
        }
        // begin with the smallest index, so that faces do not depend on the order of construction
        let smallest = (0..vertices.len()).min_by_key(|&k| vertices[k]).unwrap_or(0);
        vertices.rotate_left(smallest);
        let height = |v: &u32| points[*v as usize].dot(normal);
        let offset = walk.iter().map(height).fold(f64::NEG_INFINITY, f64::max);
        faces.push(Face { normal, offset, vertices });
    }
    faces.sort_by(|a, b| a.vertices.cmp(&b.vertices));
    (vertices, faces)
}

/// Assigns each triangle to a coplanar group; returns the group of each triangle and the plane of
/// each group, which is that of its largest triangle. Triangles join through their neighbours if
/// their corners lie in the group's plane. Slivers, whose own plane is inaccurate, join the
/// neighbouring group in whose plane they lie best.
fn coplanar_groups(
    points: &[Vec3],
    triangles: &[Triangle],
    [sliver, thickness]: [f64; 2],
) -> (Vec<u32>, Vec<(Vec3, f64)>) {
    let corners = |t: &Triangle| t.v.map(|i| points[i as usize]);
    let area = |t: &Triangle| {
        let [a, b, c] = corners(t);
        (b - a).cross(c - a).norm()
    };
    let areas: Vec<f64> = triangles.iter().map(area).collect();
    let is_sliver = |k: usize| {
        let [a, b, c] = corners(&triangles[k]);
        areas[k] <= sliver * (b - a).norm().max((c - b).norm()).max((a - c).norm())
    };
    let beside = |k: usize, (normal, offset): (Vec3, f64)| {
        corners(&triangles[k]).iter().map(|p| (p.dot(normal) - offset).abs()).fold(0.0, f64::max)
    };
    // large triangles first, for they have the most accurate normals; ties are ordered by corners
    let key = |k: usize| {
        let mut v = triangles[k].v;
        v.sort_unstable();
        v
    };
    let mut order: Vec<usize> = (0..triangles.len()).filter(|&k| !is_sliver(k)).collect();
    order.sort_by(|&i, &j| areas[j].total_cmp(&areas[i]).then_with(|| key(i).cmp(&key(j))));
    let mut group = vec![u32::MAX; triangles.len()];
    let mut planes: Vec<(Vec3, f64)> = Vec::new();
    let mut reached = Vec::new();
    for seed in order {
        if group[seed] != u32::MAX {
            continue;
        }
        let g = planes.len() as u32;
        let plane = (triangles[seed].normal, triangles[seed].offset);
        planes.push(plane);
        group[seed] = g;
        reached.clear();
        reached.push(seed);
        while let Some(t) = reached.pop() {
            for next in triangles[t].across.map(|k| k as usize) {
                let fits = || triangles[next].normal.dot(plane.0) > 0.0 || is_sliver(next);
                if group[next] == u32::MAX && beside(next, plane) <= thickness && fits() {
                    group[next] = g;
                    reached.push(next);
                }
            }
        }
    }
    // remaining slivers: repeatedly assign the best pair of a sliver and a neighbouring group
    let mut left: Vec<usize> = (0..triangles.len()).filter(|&k| group[k] == u32::MAX).collect();
    left.sort_by_key(|&k| key(k));
    while !left.is_empty() {
        let choice = |(at, &k): (usize, &usize)| {
            let groups = triangles[k].across.map(|n| group[n as usize]);
            let known = groups.into_iter().filter(|g| *g != u32::MAX);
            known.map(|g| (beside(k, planes[g as usize]), at, g)).min_by(|a, b| a.0.total_cmp(&b.0))
        };
        let best = left.iter().enumerate().filter_map(choice).min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, at, g)) = best else { break };
        group[left.remove(at)] = g;
    }
    (group, planes)
}

/// Corners along directed sides, if these form one loop that visits each corner once.
fn ring(sides: &[[u32; 2]]) -> Option<Vec<u32>> {
    let mut sorted = sides.to_vec();
    sorted.sort_unstable();
    let mut ring = vec![sorted.first()?[0]];
    loop {
        let at = *ring.last()?;
        let from = sorted.partition_point(|s| s[0] < at);
        let next = sorted.get(from).filter(|s| s[0] == at)?[1];
        if sorted.get(from + 1).is_some_and(|s| s[0] == at) || ring.len() > sides.len() {
            return None;
        }
        if next == ring[0] {
            return (ring.len() == sides.len()).then_some(ring);
        }
        ring.push(next);
    }
}

/// Corners of sides, sorted by angle about their centroid. Used where rounding leaves no single
/// loop.
fn around_centre(points: &[Vec3], sides: &[[u32; 2]], normal: Vec3) -> Vec<u32> {
    let mut ring: Vec<u32> = sides.iter().map(|s| s[0]).collect();
    ring.sort_unstable();
    ring.dedup();
    let sum = ring.iter().fold(Vec3::ZERO, |s, &v| s + points[v as usize]);
    let centre = sum / ring.len() as f64;
    let u = normal.any_orthogonal();
    let w = normal.cross(u);
    let angle = |v: u32| {
        let r = points[v as usize] - centre;
        r.dot(w).atan2(r.dot(u))
    };
    ring.sort_by(|&a, &b| angle(a).total_cmp(&angle(b)).then(a.cmp(&b)));
    ring
}

/// Checks that corners and faces form a convex polytope; the error says what is wrong.
fn check_parts(vertices: &[Vec3], faces: &[FaceParts]) -> Result<(), String> {
    let n = vertices.len();
    if n < 4 || faces.len() < 4 {
        return Err(format!("{n} corners and {} faces; a solid has four of each", faces.len()));
    }
    if let Some(k) = vertices.iter().position(|p| !p.is_finite()) {
        return Err(format!("corner {k} is not finite"));
    }
    let (low, high) =
        vertices.iter().fold((vertices[0], vertices[0]), |(l, h), p| (l.min(*p), h.max(*p)));
    let tolerance = FLAT * (high - low).max_abs();
    // each directed side, with the index of its face
    let mut sides: Vec<([u32; 2], u32)> = Vec::new();
    let mut used = vec![false; n];
    for (k, (normal, offset, corners)) in faces.iter().enumerate() {
        let in_plane = |v: u32| (vertices[v as usize].dot(*normal) - offset).abs() <= tolerance;
        if corners.len() < 3 || corners.iter().any(|&v| v as usize >= n) {
            return Err(format!("face {k} has no three corners of the {n}"));
        }
        if !((normal.norm() - 1.0).abs() <= 1e-9 && corners.iter().all(|&v| in_plane(v))) {
            return Err(format!("face {k} does not lie in its plane"));
        }
        for j in 0..corners.len() {
            sides.push(([corners[j], corners[(j + 1) % corners.len()]], k as u32));
            used[corners[j] as usize] = true;
        }
    }
    sides.sort_unstable();
    let twice = sides.windows(2).any(|w| w[0].0 == w[1].0);
    let open = sides.iter().any(|([a, b], _)| a == b);
    // the face on the other side of a directed edge
    let across = |[a, b]: [u32; 2]| {
        sides.binary_search_by_key(&[b, a], |side| side.0).ok().map(|at| sides[at].1 as usize)
    };
    let others: Option<Vec<usize>> = sides.iter().map(|(side, _)| across(*side)).collect();
    let Some(others) = others.filter(|_| !(twice || open || used.contains(&false))) else {
        return Err("the faces do not close".into());
    };
    // if corners are below the planes of adjacent faces and the faces form a topological sphere,
    // the solid is convex
    if n + faces.len() != sides.len() / 2 + 2 {
        return Err("the faces are no sphere".into());
    }
    for ((_, k), other) in sides.iter().zip(others) {
        let (normal, offset, _) = &faces[*k as usize];
        if faces[other].2.iter().any(|&v| vertices[v as usize].dot(*normal) - offset > tolerance) {
            return Err(format!("face {k} is not convex with its neighbours"));
        }
    }
    Ok(())
}
