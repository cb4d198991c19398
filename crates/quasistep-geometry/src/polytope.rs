//! Convex polytopes: the hull of a set of points, with planar faces as ordered loops.

use crate::MassProperties;
use quasistep_math::{Mat3, Vec3};

/// A convex polytope in its own frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Polytope {
    vertices: Vec<Vec3>,
    faces: Vec<Face>,
    edges: Vec<Edge>,
}

/// A planar face.
#[derive(Clone, Debug, PartialEq)]
pub struct Face {
    normal: Vec3,
    offset: f64,
    vertices: Vec<u32>,
}

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
}

/// Points have no convex hull with a volume.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HullError {
    /// Too few points.
    #[error("{0} points were seen; a convex hull needs at least 4")]
    TooFew(usize),
    /// A coordinate is NaN or infinite.
    #[error("point {index} is ({}, {}, {}); every coordinate must be finite", point.x, point.y, point.z)]
    NotFinite {
        /// Index of the point.
        index: usize,
        /// The point.
        point: Vec3,
    },
    /// All points lie in a plane, on a line or in one spot.
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

/// Points nearer to a plane than this share of the extent count as on it. Meshes in single precision
/// scatter by 1e-7.
const PLANAR: f64 = 1e-7;
/// A set of points thinner than this share of its extent is flat.
const FLAT: f64 = 1e-6;

/// A triangle while the hull grows.
#[derive(Clone, Copy)]
struct Triangle {
    v: [u32; 3],
    normal: Vec3,
    offset: f64,
    alive: bool,
}

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
        let seed = seed(points, extent)?;
        let triangles = grow(points, seed, PLANAR * extent);
        Ok(Self::merge(points, &triangles, extent))
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

    /// Joins coplanar triangles into faces and drops corners that lie on edges.
    fn merge(points: &[Vec3], triangles: &[Triangle], extent: f64) -> Self {
        let mut group: Vec<usize> = vec![usize::MAX; triangles.len()];
        let mut planes: Vec<(Vec3, f64)> = Vec::new();
        // largest triangles first: slivers have poor normals
        let area = |t: &Triangle| {
            let p = |i: usize| points[t.v[i] as usize];
            (p(1) - p(0)).cross(p(2) - p(0)).norm()
        };
        let mut order: Vec<usize> = (0..triangles.len()).collect();
        order.sort_by(|&i, &j| area(&triangles[j]).total_cmp(&area(&triangles[i])).then(i.cmp(&j)));
        for &i in &order {
            let t = &triangles[i];
            let fits = |(n, d): &(Vec3, f64)| {
                t.v.iter().all(|&v| (points[v as usize].dot(*n) - d).abs() <= 2.0 * PLANAR * extent)
                    && t.normal.dot(*n) > 0.0
            };
            group[i] = planes.iter().position(fits).unwrap_or_else(|| {
                planes.push((t.normal, t.offset));
                planes.len() - 1
            });
        }
        let mut faces = Vec::new();
        for (g, (normal, _)) in planes.iter().enumerate() {
            let mut corners: Vec<u32> = Vec::new();
            for (t, _) in triangles.iter().zip(&group).filter(|(_, k)| **k == g) {
                corners.extend(t.v);
            }
            corners.sort_unstable();
            corners.dedup();
            let ring = convex_ring(points, &corners, *normal, extent);
            if ring.len() >= 3 {
                let offset = ring
                    .iter()
                    .map(|&v| points[v as usize].dot(*normal))
                    .fold(f64::NEG_INFINITY, f64::max);
                faces.push(Face { normal: *normal, offset, vertices: ring });
            }
        }
        // keep corners that faces use, renumbered
        let mut used: Vec<u32> = faces.iter().flat_map(|f| f.vertices.iter().copied()).collect();
        used.sort_unstable();
        used.dedup();
        for face in &mut faces {
            for v in &mut face.vertices {
                *v = used.binary_search(v).map_or(0, |k| k as u32);
            }
        }
        let mut edges: Vec<Edge> = Vec::new();
        for (f, face) in faces.iter().enumerate() {
            let n = face.vertices.len();
            for k in 0..n {
                let (a, b) = (face.vertices[k], face.vertices[(k + 1) % n]);
                let key = [a.min(b), a.max(b)];
                match edges.iter_mut().find(|e| e.vertices == key) {
                    Some(edge) => edge.faces[1] = f as u32,
                    None => edges.push(Edge { vertices: key, faces: [f as u32; 2] }),
                }
            }
        }
        Self { vertices: used.iter().map(|&v| points[v as usize]).collect(), faces, edges }
    }
}

/// Four points that span a volume.
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
    let [b, c] = if below { [b, c] } else { [c, b] };
    Ok([a as u32, b as u32, c as u32, d as u32])
}

/// The hull as triangles, one point at a time, farthest first.
fn grow(points: &[Vec3], seed: [u32; 4], tolerance: f64) -> Vec<Triangle> {
    let centre = seed.iter().fold(Vec3::ZERO, |s, &i| s + points[i as usize]) * 0.25;
    let make = |v: [u32; 3]| {
        let p = v.map(|i| points[i as usize]);
        let normal = (p[1] - p[0]).cross(p[2] - p[0]).try_normalize().unwrap_or(Vec3::ZERO);
        let (v, normal) = if normal.dot(p[0] - centre) < 0.0 {
            ([v[0], v[2], v[1]], -normal)
        } else {
            (v, normal)
        };
        Triangle { v, normal, offset: normal.dot(p[0]), alive: true }
    };
    let [a, b, c, d] = seed;
    let mut triangles: Vec<Triangle> =
        [[a, b, c], [a, c, d], [a, d, b], [b, d, c]].map(make).into();
    // points outside of a triangle wait with it
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); 4];
    for i in 0..points.len() as u32 {
        if !seed.contains(&i) {
            assign(points, &triangles, &mut waiting, 0, i, tolerance);
        }
    }
    let mut next = 0;
    while next < triangles.len() {
        if !triangles[next].alive || waiting[next].is_empty() {
            next += 1;
            continue;
        }
        let t = triangles[next];
        let height = |i: u32| points[i as usize].dot(t.normal) - t.offset;
        let eye =
            waiting[next].iter().copied().fold((waiting[next][0], f64::NEG_INFINITY), |best, i| {
                if height(i) > best.1 { (i, height(i)) } else { best }
            });
        let p = points[eye.0 as usize];
        // everything the point sees goes; its rim becomes new triangles
        let mut rim: Vec<[u32; 2]> = Vec::new();
        let mut orphans: Vec<u32> = Vec::new();
        for k in 0..triangles.len() {
            if triangles[k].alive && p.dot(triangles[k].normal) - triangles[k].offset > tolerance {
                triangles[k].alive = false;
                orphans.append(&mut waiting[k]);
                let v = triangles[k].v;
                for edge in [[v[0], v[1]], [v[1], v[2]], [v[2], v[0]]] {
                    match rim.iter().position(|e| *e == [edge[1], edge[0]]) {
                        Some(twin) => {
                            rim.swap_remove(twin);
                        }
                        None => rim.push(edge),
                    }
                }
            }
        }
        let first = triangles.len();
        for edge in rim {
            triangles.push(make([edge[0], edge[1], eye.0]));
            waiting.push(Vec::new());
        }
        for i in orphans {
            if i != eye.0 {
                assign(points, &triangles, &mut waiting, first, i, tolerance);
            }
        }
        if next >= first {
            next += 1;
        }
    }
    triangles.retain(|t| t.alive);
    triangles
}

fn assign(
    points: &[Vec3],
    triangles: &[Triangle],
    waiting: &mut [Vec<u32>],
    first: usize,
    i: u32,
    tolerance: f64,
) {
    let p = points[i as usize];
    let sees = |t: &Triangle| t.alive && p.dot(t.normal) - t.offset > tolerance;
    if let Some(k) = (first..triangles.len()).find(|&k| sees(&triangles[k])) {
        waiting[k].push(i);
    }
}

/// Corners of the convex hull of points in a plane, counter-clockwise about `normal`.
fn convex_ring(points: &[Vec3], corners: &[u32], normal: Vec3, extent: f64) -> Vec<u32> {
    let u = normal.any_orthogonal();
    let w = normal.cross(u);
    let flat = |i: u32| {
        let p = points[i as usize];
        [p.dot(u), p.dot(w)]
    };
    let mut order = corners.to_vec();
    order.sort_by(|&i, &j| {
        let (a, b) = (flat(i), flat(j));
        a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1]))
    });
    // corners that stand out by less than this are on the edge
    let tolerance = PLANAR * extent * extent;
    let turn = |o: u32, a: u32, b: u32| {
        let (o, a, b) = (flat(o), flat(a), flat(b));
        (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])
    };
    let half = |order: &mut dyn Iterator<Item = u32>| {
        let mut chain: Vec<u32> = Vec::new();
        for i in order {
            while chain.len() >= 2
                && turn(chain[chain.len() - 2], chain[chain.len() - 1], i) <= tolerance
            {
                chain.pop();
            }
            chain.push(i);
        }
        chain.pop();
        chain
    };
    let mut ring = half(&mut order.iter().copied());
    ring.extend(half(&mut order.iter().rev().copied()));
    ring
}
