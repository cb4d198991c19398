//! Convex polytopes: the hull of a set of points, with planar faces as ordered loops.

use crate::mass::MassProperties;
use crate::quickhull::{FLAT, HullError, Triangle, quickhull};
use quasistep_math::{Mat3, Vec3};

/// A convex polytope in its own frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Polytope {
    vertices: Vec<Vec3>,
    faces: Vec<Face>,
    edges: Vec<Edge>,
    /// Where each corner's list begins in `neighbours`; one entry more than corners.
    first_neighbour: Vec<u32>,
    neighbours: Vec<u32>,
    /// Where each corner's list begins in `faces_around`; one entry more than corners.
    first_face: Vec<u32>,
    faces_around: Vec<u32>,
    /// Where each face's list begins in `edges_of`; one entry more than faces.
    first_edge: Vec<u32>,
    edges_of: Vec<u32>,
    /// Of each face the offset of its farthest corner, in m.
    tops: Vec<f64>,
    /// Farthest corners along x, −x, y, −y, z and −z.
    extremes: [u32; 6],
    /// Corners stand out of their faces by less, in m.
    thickness: f64,
}

/// A planar face.
#[derive(Clone, Debug, PartialEq)]
pub struct Face {
    normal: Vec3,
    offset: f64,
    vertices: Vec<u32>,
}

/// A face as plain data: outward unit normal, offset in m, and corners counter-clockwise from outside.
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

    /// The face lies where `normal · p = offset`, in m.
    pub fn offset(&self) -> f64 {
        self.offset
    }

    /// Indices of its corners, counter-clockwise from outside.
    pub fn vertices(&self) -> &[u32] {
        &self.vertices
    }

    /// Its sides: the corners at their two ends, in the order of the corners.
    fn sides(&self) -> impl Iterator<Item = (u32, u32)> {
        let n = self.vertices.len();
        (0..n).map(move |k| (self.vertices[k], self.vertices[(k + 1) % n]))
    }
}

/// Points nearer to a plane than this share of the extent count as on it. Meshes in single precision
/// scatter by 1e-7.
pub(crate) const PLANAR: f64 = 1e-7;
/// Up to so many corners a look at each is as fast as a way along edges.
const FEW_CORNERS: usize = 32;
/// Corners that are about equally far before all are looked at.
const MOST_SEEN: usize = 64;
impl Polytope {
    /// The convex hull of points, in m. Points inside, on edges and in faces are left out.
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
        let (vertices, faces) = planar_faces(points, &triangles, 2.0 * PLANAR * extent);
        Ok(Self::new(vertices, faces))
    }

    /// A polytope from its corners, in m, and its faces: for each the outward unit normal, the offset, in m, and the
    /// corners, counter-clockwise from outside. What another polytope gives is taken as it is, to the bit.
    ///
    /// # Errors
    ///
    /// What is wrong with them, in words: every edge has two faces that go through it in opposite ways, all parts
    /// hang together, normals are unit, corners lie in their faces and below the others to 1e-6 of the extent.
    pub fn from_parts(vertices: Vec<Vec3>, faces: Vec<FaceParts>) -> Result<Self, String> {
        check_parts(&vertices, &faces)?;
        let face = |(normal, offset, vertices)| Face { normal, offset, vertices };
        Ok(Self::new(vertices, faces.into_iter().map(face).collect()))
    }

    /// Edges and neighbours follow from the faces.
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
        let pairs = edges.iter().flat_map(|e| [e.vertices, [e.vertices[1], e.vertices[0]]]);
        let (first_neighbour, neighbours) = lists(pairs.collect(), vertices.len());
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
        let tops = faces.iter().map(top).collect();
        let farthest = |d: Vec3| {
            let first = |best: usize, k: usize| {
                if vertices[k].dot(d) > vertices[best].dot(d) { k } else { best }
            };
            (0..vertices.len()).fold(0, first) as u32
        };
        let [x, y, z] = Vec3::AXES;
        let extremes = [x, -x, y, -y, z, -z].map(farthest);
        let reach = |k: usize| {
            let [high, low] = [2 * k, 2 * k + 1].map(|i| vertices[extremes[i] as usize][k]);
            high - low
        };
        let thickness = 4.0 * PLANAR * (0..3).map(reach).fold(0.0, f64::max);
        Self {
            vertices,
            faces,
            edges,
            first_neighbour,
            neighbours,
            first_face,
            faces_around,
            first_edge,
            edges_of,
            tops,
            extremes,
            thickness,
        }
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

    /// Corners that share an edge with this one, ascending.
    ///
    /// # Panics
    ///
    /// If there is no such corner.
    pub fn neighbours(&self, vertex: u32) -> &[u32] {
        let at = vertex as usize;
        &self.neighbours[self.first_neighbour[at] as usize..self.first_neighbour[at + 1] as usize]
    }

    /// Faces that meet in a corner, ascending.
    pub(crate) fn faces_around(&self, vertex: u32) -> &[u32] {
        let at = vertex as usize;
        &self.faces_around[self.first_face[at] as usize..self.first_face[at + 1] as usize]
    }

    /// Edges of a face, ascending.
    pub(crate) fn edges_of(&self, face: u32) -> &[u32] {
        let at = face as usize;
        &self.edges_of[self.first_edge[at] as usize..self.first_edge[at + 1] as usize]
    }

    /// Of each face the offset of its farthest corner: corners scatter about their plane by rounding.
    pub(crate) fn tops(&self) -> &[f64] {
        &self.tops
    }

    /// A corner that is farthest along `d`.
    pub fn support(&self, d: Vec3) -> u32 {
        let height = |k: u32| self.vertices[k as usize].dot(d);
        if self.vertices.len() <= FEW_CORNERS {
            return self.highest(d);
        }
        let higher = |(best, high): (u32, f64), k: u32| {
            let h = height(k);
            if h > high { (k, h) } else { (best, high) }
        };
        let mut best = self.extremes.into_iter().fold((0, f64::NEG_INFINITY), higher);
        loop {
            let next = self.neighbours(best.0).iter().copied().fold(best, higher);
            if next.0 == best.0 {
                break;
            }
            best = next;
        }
        // Corners of one face scatter about its plane: a way up may lead over one that is lower by that. All that
        // are so near the top hang together.
        let band = 2.0 * self.thickness * d.norm();
        let mut seen = [best.0; MOST_SEEN];
        let (mut n, mut next) = (1, 0);
        while next < n {
            for &k in self.neighbours(seen[next]) {
                let h = height(k);
                if h < best.1 - band || seen[..n].contains(&k) {
                    continue;
                }
                if n == MOST_SEEN {
                    return self.highest(d);
                }
                seen[n] = k;
                n += 1;
                best = higher(best, k);
            }
            next += 1;
        }
        best.0
    }

    /// The first of the farthest corners along `d`.
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

    /// Mass properties at a density in kg/m³, exactly from the faces.
    pub fn mass_properties(&self, density: f64) -> MassProperties {
        // tetrahedra from one corner: signed volumes need no interior point
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

/// Pairs of an owner and an item as lists by owner: where each begins, and the items, ascending.
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

/// Joins coplanar triangles into faces: the corners that are left, and the faces.
///
/// A point is a corner of the polytope if three faces or more meet in it; one with fewer lies within a face or on an
/// edge. So all faces agree on their corners, and every edge has two.
fn planar_faces(points: &[Vec3], triangles: &[Triangle], thickness: f64) -> (Vec<Vec3>, Vec<Face>) {
    let (group, planes) = coplanar_groups(points, triangles, thickness);
    // groups at each point, each once
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
    // sides of each group: edges beyond which another group lies
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
        // begin with the smallest number: faces do not depend on how the hull grew
        let smallest = (0..vertices.len()).min_by_key(|&k| vertices[k]).unwrap_or(0);
        vertices.rotate_left(smallest);
        let height = |v: &u32| points[*v as usize].dot(normal);
        let offset = walk.iter().map(height).fold(f64::NEG_INFINITY, f64::max);
        faces.push(Face { normal, offset, vertices });
    }
    faces.sort_by(|a, b| a.vertices.cmp(&b.vertices));
    (vertices, faces)
}

/// The group of each triangle, and the plane of each group: its largest triangle's. Triangles join a group through
/// their neighbours if their corners lie in its plane. Slivers, whose own plane is rounding, join the neighbour in
/// whose plane they lie best.
fn coplanar_groups(
    points: &[Vec3],
    triangles: &[Triangle],
    thickness: f64,
) -> (Vec<u32>, Vec<(Vec3, f64)>) {
    let corners = |t: &Triangle| t.v.map(|i| points[i as usize]);
    let area = |t: &Triangle| {
        let [a, b, c] = corners(t);
        (b - a).cross(c - a).norm()
    };
    let areas: Vec<f64> = triangles.iter().map(area).collect();
    let is_sliver = |k: usize| {
        let [a, b, c] = corners(&triangles[k]);
        areas[k] <= thickness * (b - a).norm().max((c - b).norm()).max((a - c).norm())
    };
    let beside = |k: usize, (normal, offset): (Vec3, f64)| {
        corners(&triangles[k]).iter().map(|p| (p.dot(normal) - offset).abs()).fold(0.0, f64::max)
    };
    // large triangles have the best normals; equal ones by their corners
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
    // slivers that are left: the best pair of a sliver and a group beside it, until none is left
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

/// The points along directed sides, if these are one loop that meets each point once.
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

/// The ends of sides, by their angle about their middle: the ring where rounding leaves no single loop.
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

/// Whether corners and faces are those of a convex polytope; else what is wrong.
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
    // each side with its face
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
    // by side, the face across it
    let across = |[a, b]: [u32; 2]| {
        sides.binary_search_by_key(&[b, a], |side| side.0).ok().map(|at| sides[at].1 as usize)
    };
    let others: Option<Vec<usize>> = sides.iter().map(|(side, _)| across(*side)).collect();
    let Some(others) = others.filter(|_| !(twice || open || used.contains(&false))) else {
        return Err("the faces do not close".into());
    };
    // a corner is below the planes around it; with that and one sphere of faces the solid is convex
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
