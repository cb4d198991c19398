//! Convex decomposition of a mesh: the groups of its file, or parts made by cutting planes.
//!
//! A part whose hull stands out of the mesh by more than the tolerance is cut along a plane. The
//! plane is chosen so that the hulls of both sides have the least volume. For a body with flat
//! faces this is the plane of a face, and the parts are exact. The distance by which hulls stand
//! out is measured at sample points on and in them.
//!
//! (Voxel-based methods such as V-HACD bound a share of the volume and leave steps on flat faces.)

use crate::solid::{Key, Solid, key};
use quasistep_formats::mesh::Mesh;
use quasistep_geometry::{Polytope, Shape, signed_distance};
use quasistep_math::{Pose, Vec3};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Largest number of parts, because every pair of shapes is tested.
pub(crate) const MAX_PARTS: usize = 256;
/// Number of concave edges whose planes are tried for one cut.
const MAX_EDGES: usize = 6;
/// Number of directions whose support points represent a part while cuts are compared.
const DIRECTIONS: usize = 48;
/// Number of sample points: per hull while cutting, and on all hulls at the end.
const SAMPLES: [usize; 2] = [300, 4000];

/// Convex parts of a mesh.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub hulls: Vec<Arc<Polytope>>,
    /// Largest measured distance of a hull point outside the mesh, in m.
    pub excess: f64,
}

/// Triangles of a part over its corners. The surface is open where it was cut.
struct Surface {
    /// Corners without duplicates, sorted by their keys.
    corners: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
}

impl Surface {
    /// Merges identical corners and removes unused ones.
    fn new(corners: &[Vec3], mut triangles: Vec<[u32; 3]>) -> Self {
        let mut order: Vec<(Key, u32)> =
            corners.iter().enumerate().map(|(k, p)| (key(*p), k as u32)).collect();
        let mut used = vec![false; corners.len()];
        for &i in triangles.as_flattened() {
            used[i as usize] = true;
        }
        order.retain(|(_, k)| used[*k as usize]);
        // merges sorted runs at little cost
        #[allow(clippy::stable_sort_primitive)] // it merges sorted runs
        order.sort();
        let mut number = vec![0; corners.len()];
        let mut kept: Vec<Vec3> = Vec::with_capacity(order.len());
        for same in order.chunk_by(|a, b| a.0 == b.0) {
            for (_, k) in same {
                number[*k as usize] = kept.len() as u32;
            }
            kept.push(corners[same[0].1 as usize]);
        }
        for i in triangles.as_flattened_mut() {
            *i = number[*i as usize];
        }
        Self { corners: kept, triangles }
    }

    fn of(triangles: &[[Vec3; 3]]) -> Self {
        let corner = |k: usize| 3 * k as u32;
        let numbers = (0..triangles.len()).map(|k| [corner(k), corner(k) + 1, corner(k) + 2]);
        Self::new(triangles.as_flattened(), numbers.collect())
    }

    fn places(&self) -> impl Iterator<Item = [Vec3; 3]> {
        self.triangles.iter().map(|t| t.map(|i| self.corners[i as usize]))
    }

    /// Union of two surfaces.
    fn join(&self, other: &Self) -> Self {
        let first = self.corners.len() as u32;
        let corners: Vec<Vec3> = self.corners.iter().chain(&other.corners).copied().collect();
        let shifted = other.triangles.iter().map(|t| t.map(|i| i + first));
        Self::new(&corners, self.triangles.iter().copied().chain(shifted).collect())
    }
}

/// Takes every group of the file as one convex part.
pub(crate) fn of_groups(mesh: &Mesh, solid: &Solid) -> Result<Parts, String> {
    let mut hulls = Vec::new();
    for group in &mesh.groups {
        let corners: Vec<Vec3> = mesh.triangles[group.triangles.clone()]
            .iter()
            .flat_map(|t| t.map(|i| mesh.vertices[i as usize]))
            .collect();
        let hull =
            Polytope::from_points(&corners).map_err(|e| format!("group `{}`: {e}", group.name))?;
        hulls.push(Arc::new(hull));
    }
    finish(hulls, solid)
}

/// Cuts the solid into parts whose hulls stand out of it by no more than `tolerance` (m).
pub(crate) fn by_planes(solid: &Solid, tolerance: f64) -> Result<Parts, String> {
    let mut open = components(&Surface::of(solid.surface.triangles()));
    let mut hulls = Vec::new();
    while let Some(part) = open.pop() {
        // skip slivers without a volume
        let Some(hull) = hull_of(&part) else { continue };
        let (farthest, excess) = excess(&hull, solid, SAMPLES[0]);
        let sides = if excess > tolerance { best_cut(&part, farthest) } else { None };
        match sides {
            Some(sides) => open.extend(sides),
            None => hulls.push(Arc::new(hull)),
        }
        if hulls.len() + open.len() > MAX_PARTS {
            return Err(format!(
                "more than {MAX_PARTS} convex parts are needed at a tolerance of {tolerance} m; \
                 give a larger one"
            ));
        }
    }
    finish(hulls, solid)
}

fn finish(hulls: Vec<Arc<Polytope>>, solid: &Solid) -> Result<Parts, String> {
    if hulls.is_empty() || hulls.len() > MAX_PARTS {
        return Err(format!("{} convex parts were seen; 1 to {MAX_PARTS} are valid", hulls.len()));
    }
    let each = SAMPLES[1] / hulls.len();
    let excess = hulls.iter().map(|h| excess(h, solid, each.max(100)).1).fold(0.0, f64::max);
    Ok(Parts { hulls, excess })
}

fn hull_of(part: &Surface) -> Option<Polytope> {
    Polytope::from_points(&part.corners).ok()
}

/// Pieces on both sides of the best plane: the one that leaves the least volume in their hulls.
///
/// If no plane clearly reduces the volume, the part is halved across its longest extent. This is
/// needed for a ring, whose halves have no smaller hulls but whose quarters do.
fn best_cut(part: &Surface, farthest: Vec3) -> Option<Vec<Surface>> {
    // rough hulls underestimate volumes by varying amounts
    let clear = if part.corners.len() <= DIRECTIONS { 1e-6 } else { 0.03 };
    let mut best = rough_volume(part) * (1.0 - clear);
    let mut chosen = None;
    for (normal, offset) in planes(part, farthest) {
        let Some(sides) = pieces_beside(part, normal, offset) else { continue };
        let volume: f64 = sides.iter().map(rough_volume).sum();
        // ties: the plane tried first wins
        if volume < best * (1.0 - 1e-9) {
            (best, chosen) = (volume, Some(sides));
        }
    }
    chosen.or_else(|| {
        let (low, high) = extent(part);
        let longest = Vec3::AXES
            .into_iter()
            .reduce(|a, b| if b.dot(high - low) > a.dot(high - low) { b } else { a })?;
        pieces_beside(part, longest, longest.dot((low + high) * 0.5))
    })
}

/// Pieces below and above a plane; `None` if all is on one side.
fn pieces_beside(part: &Surface, normal: Vec3, offset: f64) -> Option<Vec<Surface>> {
    let [below, above] = cut(part, normal, offset);
    if below.triangles.is_empty() || above.triangles.is_empty() {
        return None;
    }
    let mut sides = components(&below);
    sides.extend(components(&above));
    Some(sides)
}

fn extent(part: &Surface) -> (Vec3, Vec3) {
    let first = part.corners[0];
    part.corners.iter().fold((first, first), |(l, h), p| (l.min(*p), h.max(*p)))
}

/// Volume of the rough hull, in m³.
fn rough_volume(part: &Surface) -> f64 {
    rough_hull(part).map_or(0.0, |hull| hull.mass_properties(1.0).mass)
}

/// Hull of the support points in some directions; fast for parts with many corners.
fn rough_hull(part: &Surface) -> Option<Polytope> {
    let all = &part.corners;
    if all.len() <= DIRECTIONS {
        return Polytope::from_points(all).ok();
    }
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let farthest = |k: usize| {
        let z = 1.0 - (2.0 * k as f64 + 1.0) / DIRECTIONS as f64;
        let (sin, cos) = (golden * k as f64).sin_cos();
        let r = (1.0 - z * z).sqrt();
        let n = Vec3::new(r * cos, r * sin, z);
        let farther = |(far, most): (Vec3, f64), p: &Vec3| {
            let height = p.dot(n);
            if height > most { (*p, height) } else { (far, most) }
        };
        all.iter().fold((all[0], f64::NEG_INFINITY), farther).0
    };
    let few: Vec<Vec3> = (0..DIRECTIONS).map(farthest).collect();
    Polytope::from_points(&few).ok()
}

/// Candidate planes (unit normal, offset): planes of faces at concave edges and between them, and
/// planes across the axes through the farthest point and at quarters of the part.
fn planes(part: &Surface, farthest: Vec3) -> Vec<(Vec3, f64)> {
    let mut planes = Vec::new();
    for (p, n1, n2) in concave_edges(part) {
        for n in [Some(n1), Some(n2), (n1 + n2).try_normalize(), (n1 - n2).try_normalize()] {
            planes.extend(n.map(|n| (n, n.dot(p))));
        }
    }
    let (low, high) = extent(part);
    // remove duplicates: many triangles share a plane
    let mut different: Vec<(Vec3, f64)> = Vec::new();
    for (n, offset) in planes {
        let same = |(m, o): &(Vec3, f64)| {
            (n - *m).max_abs() < 1e-9 && (offset - o).abs() < 1e-9 * (1.0 + offset.abs())
        };
        if !different.iter().any(same) {
            different.push((n, offset));
        }
    }
    let mut planes = different;
    for axis in Vec3::AXES {
        planes.push((axis, axis.dot(farthest)));
        for share in [0.5, 0.25, 0.75] {
            planes.push((axis, axis.dot(low + (high - low) * share)));
        }
    }
    planes
}

/// The longest concave edges: a point, and the outward normals of both triangles.
fn concave_edges(part: &Surface) -> Vec<(Vec3, Vec3, Vec3)> {
    let mut waiting: BTreeMap<[u32; 2], (Vec3, Vec3)> = BTreeMap::new();
    let mut found: Vec<(f64, (Vec3, Vec3, Vec3))> = Vec::new();
    for (t, numbers) in part.places().zip(&part.triangles) {
        let Some(normal) = (t[1] - t[0]).cross(t[2] - t[0]).try_normalize() else { continue };
        for k in 0..3 {
            let (p, q, apex) = (t[k], t[(k + 1) % 3], t[(k + 2) % 3]);
            let ends = [numbers[k], numbers[(k + 1) % 3]];
            let name = [ends[0].min(ends[1]), ends[0].max(ends[1])];
            match waiting.remove(&name) {
                None => {
                    waiting.insert(name, (normal, apex));
                }
                // concave: the other triangle rises above this one's plane
                Some((other, far)) if normal.dot(far - p) > 1e-6 * (far - p).norm() => {
                    found.push(((q - p).norm(), (p, normal, other)));
                }
                Some(_) => {}
            }
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.truncate(MAX_EDGES);
    found.into_iter().map(|(_, edge)| edge).collect()
}

/// Parts of the surface below and above a plane. Triangles in the plane go to the side of the solid
/// they bound.
fn cut(part: &Surface, normal: Vec3, offset: f64) -> [Surface; 2] {
    let size = part.corners.iter().map(|p| p.max_abs()).fold(0.0, f64::max);
    let level = 1e-9 * size;
    let height = |p: &Vec3| {
        let h = p.dot(normal) - offset;
        if h.abs() <= level { 0.0 } else { h }
    };
    let heights: Vec<f64> = part.corners.iter().map(height).collect();
    let mut corners = part.corners.clone();
    // intersections of edges with the plane, shared by both triangles of an edge
    let mut crossings: BTreeMap<[u32; 2], u32> = BTreeMap::new();
    let mut crossing = |a: u32, b: u32| {
        let [a, b] = [a.min(b), a.max(b)];
        *crossings.entry([a, b]).or_insert_with(|| {
            let (a, b) = (a as usize, b as usize);
            let share = heights[a] / (heights[a] - heights[b]);
            corners.push(part.corners[a] + (part.corners[b] - part.corners[a]) * share);
            corners.len() as u32 - 1
        })
    };
    let mut sides = [Vec::new(), Vec::new()];
    for (t, places) in part.triangles.iter().zip(part.places()) {
        let h = t.map(|i| heights[i as usize]);
        if h == [0.0; 3] {
            let [a, b, c] = places;
            let faces_up = (b - a).cross(c - a).dot(normal) > 0.0;
            sides[usize::from(!faces_up)].push(*t);
            continue;
        }
        for (side, sign) in [(0, -1.0), (1, 1.0)] {
            if h.iter().all(|x| sign * x <= 0.0) {
                continue;
            }
            let (mut ring, mut n) = ([0; 4], 0);
            for k in 0..3 {
                let next = (k + 1) % 3;
                if sign * h[k] >= 0.0 {
                    ring[n] = t[k];
                    n += 1;
                }
                if h[k] * h[next] < 0.0 {
                    ring[n] = crossing(t[k], t[next]);
                    n += 1;
                }
            }
            sides[side].extend((2..n).map(|k| [ring[0], ring[k - 1], ring[k]]));
        }
    }
    sides.map(|triangles| Surface::new(&corners, triangles))
}

/// Connected components of a surface. Components whose hulls overlap are merged, because the inner
/// and the outer surface of a cut wall are not connected.
fn components(surface: &Surface) -> Vec<Surface> {
    let mut pieces = connected(surface);
    if pieces.len() == 1 {
        return pieces;
    }
    let shape = |piece: &Surface| rough_hull(piece).map(|h| Shape::Polytope(Arc::new(h)));
    let mut hulls: Vec<(Option<Shape>, [Vec3; 2])> =
        pieces.iter().map(|piece| (shape(piece), extent(piece).into())).collect();
    let mut i = 0;
    while i < pieces.len() {
        let overlaps = |j: &usize| {
            let ((a, [low, high]), (b, [least, most])) = (&hulls[i], &hulls[*j]);
            let reach = low.max_abs().max(high.max_abs());
            // merge a flat component with its neighbour
            let (Some(a), Some(b)) = (a, b) else { return true };
            let gap = (*least - *high).max(*low - *most);
            gap.x.max(gap.y).max(gap.z) < 0.0
                && signed_distance(a, &Pose::IDENTITY, b, &Pose::IDENTITY).phi < -1e-6 * reach
        };
        match (i + 1..pieces.len()).find(overlaps) {
            Some(j) => {
                let other = pieces.remove(j);
                hulls.remove(j);
                pieces[i] = pieces[i].join(&other);
                hulls[i] = (shape(&pieces[i]), extent(&pieces[i]).into());
                // the merged component may overlap earlier ones: start again
                i = 0;
            }
            None => i += 1,
        }
    }
    pieces
}

/// Representative of `i` in the union-find structure, with path compression.
fn root(parent: &mut [usize], mut i: usize) -> usize {
    while parent[i] != i {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    i
}

/// Pieces of a surface that are connected by shared corners.
fn connected(surface: &Surface) -> Vec<Surface> {
    let mut parent: Vec<usize> = (0..surface.corners.len()).collect();
    for t in &surface.triangles {
        for other in [t[1], t[2]] {
            let (ra, rb) = (root(&mut parent, t[0] as usize), root(&mut parent, other as usize));
            parent[ra.max(rb)] = ra.min(rb);
        }
    }
    let mut pieces: BTreeMap<usize, Vec<[u32; 3]>> = BTreeMap::new();
    for t in &surface.triangles {
        pieces.entry(root(&mut parent, t[0] as usize)).or_default().push(*t);
    }
    pieces.into_values().map(|triangles| Surface::new(&surface.corners, triangles)).collect()
}

/// The sample point of a hull that is farthest outside of the solid, and its distance in m. There
/// are about `count` samples on the faces and as many inside.
fn excess(hull: &Polytope, solid: &Solid, count: usize) -> (Vec3, f64) {
    let corner = |i: u32| hull.vertices()[i as usize];
    let middle = hull.vertices().iter().fold(Vec3::ZERO, |s, p| s + *p)
        / hull.vertices().len().max(1) as f64;
    let triangles: Vec<[Vec3; 3]> = hull
        .faces()
        .iter()
        .flat_map(|face| {
            let at = |k: usize| corner(face.vertices()[k]);
            (1..face.vertices().len() - 1).map(move |k| [at(0), at(k), at(k + 1)])
        })
        .collect();
    let area = |t: &[Vec3; 3]| (t[1] - t[0]).cross(t[2] - t[0]).norm();
    let total: f64 = triangles.iter().map(area).sum();
    let mut worst = (middle, 0.0);
    for t in &triangles {
        // a triangular grid on each triangle, with a density proportional to area
        let share = area(t) / total.max(f64::MIN_POSITIVE);
        let rows = (2.0 * count as f64 * share).sqrt().ceil().max(1.0) as usize;
        for i in 0..rows {
            for j in 0..rows - i {
                let at = |k: usize| (k as f64 + 1.0 / 3.0) / rows as f64;
                let on_face = t[0] + (t[1] - t[0]) * at(i) + (t[2] - t[0]) * at(j);
                let within = on_face + (middle - on_face) * at((i + j) % rows);
                for p in [on_face, within] {
                    let d = solid.surface.distance_beyond(worst.1, p);
                    if d > worst.1 {
                        worst = (p, d);
                    }
                }
            }
        }
    }
    worst
}
