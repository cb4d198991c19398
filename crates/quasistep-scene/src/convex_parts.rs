//! A mesh as convex parts: those its file names, or those that planes cut it into.
//!
//! A part whose hull stands out of the mesh by more than the tolerance is cut along the plane that leaves
//! the least volume in the hulls of both sides: on a body with flat faces that is a face's own plane, and
//! the parts are exact. How far hulls stand out is measured at points on and in them.

use crate::mesh::Mesh;
use crate::solid::{Key, Solid, key};
use quasistep_geometry::{Polytope, Shape, signed_distance};
use quasistep_math::{Pose, Vec3};
use std::collections::BTreeMap;
use std::sync::Arc;

/// More parts than this are refused: pairs of shapes are tried one by one.
pub(crate) const MAX_PARTS: usize = 256;
/// Concave edges whose planes are tried for one cut.
const MAX_EDGES: usize = 6;
/// Directions whose farthest corners stand for a part while cuts are compared.
const DIRECTIONS: usize = 48;
/// Points measured on one hull while cutting, and on all in the end; fewer on large meshes.
const SAMPLES: [usize; 2] = [300, 4000];
/// Points times triangles of one measurement.
const MAX_WORK: usize = 5_000_000;

/// Convex parts of a mesh.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub hulls: Vec<Arc<Polytope>>,
    /// The farthest that a point of the hulls was found to be outside of the mesh, in m.
    pub excess: f64,
}

/// Triangles of a part. Where it was cut the surface is open.
type Surface = Vec<[Vec3; 3]>;

/// Every group of the file as one convex part.
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

/// Parts whose hulls stand out of the solid by no more than `tolerance` (m).
pub(crate) fn by_planes(solid: &Solid, tolerance: f64) -> Result<Parts, String> {
    let mut open = components(solid.triangles().to_vec());
    let mut hulls = Vec::new();
    while let Some(part) = open.pop() {
        // slivers without a volume hold nothing
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
    Polytope::from_points(&corners(part)).ok()
}

/// Corners, each once.
fn corners(part: &Surface) -> Vec<Vec3> {
    let all: BTreeMap<Key, Vec3> = part.iter().flatten().map(|p| (key(*p), *p)).collect();
    all.into_values().collect()
}

/// The pieces on both sides of the plane that leaves the least volume in their hulls; of the plane
/// across the middle of the longest extent if none leaves clearly less than there is: halves of a ring
/// have no smaller hulls, but their quarters do.
fn best_cut(part: &Surface, farthest: Vec3) -> Option<Vec<Surface>> {
    // rough hulls miss some volume, more or less of it
    let clear = if corners(part).len() <= DIRECTIONS { 1e-6 } else { 0.03 };
    let mut best = rough_volume(part) * (1.0 - clear);
    let mut chosen = None;
    for (normal, offset) in planes(part, farthest) {
        let Some(sides) = pieces_beside(part, normal, offset) else { continue };
        let volume: f64 = sides.iter().map(rough_volume).sum();
        // a plane tried earlier wins over one that is as good
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

/// The pieces below and above a plane; `None` if all is on one side.
fn pieces_beside(part: &Surface, normal: Vec3, offset: f64) -> Option<Vec<Surface>> {
    let [below, above] = cut(part, normal, offset);
    if below.is_empty() || above.is_empty() {
        return None;
    }
    let mut sides = components(below);
    sides.extend(components(above));
    Some(sides)
}

fn extent(part: &Surface) -> (Vec3, Vec3) {
    let first = part[0][0];
    part.iter().flatten().fold((first, first), |(l, h), p| (l.min(*p), h.max(*p)))
}

/// Volume of the rough hull.
fn rough_volume(part: &Surface) -> f64 {
    rough_hull(part).map_or(0.0, |hull| hull.mass_properties(1.0).mass)
}

/// The hull of the corners that are farthest in some directions: quick on parts of many corners.
fn rough_hull(part: &Surface) -> Option<Polytope> {
    let all = corners(part);
    if all.len() <= DIRECTIONS {
        return Polytope::from_points(&all).ok();
    }
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let farthest = |k: usize| {
        let z = 1.0 - (2.0 * k as f64 + 1.0) / DIRECTIONS as f64;
        let (sin, cos) = (golden * k as f64).sin_cos();
        let r = (1.0 - z * z).sqrt();
        let n = Vec3::new(r * cos, r * sin, z);
        all.iter().copied().reduce(|far, p| if p.dot(n) > far.dot(n) { p } else { far })
    };
    let few: Vec<Vec3> = (0..DIRECTIONS).filter_map(farthest).collect();
    Polytope::from_points(&few).ok()
}

/// Planes worth trying, as unit normal and offset: of the faces beside concave edges and between them,
/// and across the axes through the farthest point and through quarters of the part.
fn planes(part: &Surface, farthest: Vec3) -> Vec<(Vec3, f64)> {
    let mut planes = Vec::new();
    for (p, n1, n2) in concave_edges(part) {
        for n in [Some(n1), Some(n2), (n1 + n2).try_normalize(), (n1 - n2).try_normalize()] {
            planes.extend(n.map(|n| (n, n.dot(p))));
        }
    }
    let (low, high) = extent(part);
    // faces in one plane name it many times
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

/// The longest edges at which the surface bends inwards: a point and both outward normals.
fn concave_edges(part: &Surface) -> Vec<(Vec3, Vec3, Vec3)> {
    let mut waiting: BTreeMap<(Key, Key), (Vec3, Vec3)> = BTreeMap::new();
    let mut found: Vec<(f64, (Vec3, Vec3, Vec3))> = Vec::new();
    for t in part {
        let Some(normal) = (t[1] - t[0]).cross(t[2] - t[0]).try_normalize() else { continue };
        for k in 0..3 {
            let (p, q, apex) = (t[k], t[(k + 1) % 3], t[(k + 2) % 3]);
            let name = (key(p).min(key(q)), key(p).max(key(q)));
            match waiting.remove(&name) {
                None => {
                    waiting.insert(name, (normal, apex));
                }
                // the other triangle rises above this one's plane
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

/// The surface below a plane and above it. What lies in the plane goes to the side of its solid.
fn cut(part: &Surface, normal: Vec3, offset: f64) -> [Surface; 2] {
    let size = part.iter().flatten().map(|p| p.max_abs()).fold(0.0, f64::max);
    let level = 1e-9 * size;
    let height = |p: Vec3| {
        let h = p.dot(normal) - offset;
        if h.abs() <= level { 0.0 } else { h }
    };
    let mut sides = [Vec::new(), Vec::new()];
    for t in part {
        let h = t.map(height);
        if h == [0.0; 3] {
            let faces_up = (t[1] - t[0]).cross(t[2] - t[0]).dot(normal) > 0.0;
            sides[usize::from(!faces_up)].push(*t);
            continue;
        }
        for (side, sign) in [(0, -1.0), (1, 1.0)] {
            let mut ring: Vec<Vec3> = Vec::with_capacity(4);
            for k in 0..3 {
                let next = (k + 1) % 3;
                if sign * h[k] >= 0.0 {
                    ring.push(t[k]);
                }
                if h[k] * h[next] < 0.0 {
                    ring.push(crossing(t[k], h[k], t[next], h[next]));
                }
            }
            let has_area = h.iter().any(|x| sign * x > 0.0);
            for k in 1..ring.len().saturating_sub(1) {
                if has_area {
                    sides[side].push([ring[0], ring[k], ring[k + 1]]);
                }
            }
        }
    }
    sides
}

/// Where an edge crosses the plane: the same bits from both of its triangles.
fn crossing(p: Vec3, hp: f64, q: Vec3, hq: f64) -> Vec3 {
    let ((p, hp), (q, hq)) = if key(p) < key(q) { ((p, hp), (q, hq)) } else { ((q, hq), (p, hp)) };
    p + (q - p) * (hp / (hp - hq))
}

/// Connected pieces of a surface; pieces whose hulls overlap stay together, since the inner and the
/// outer surface of a cut wall do not meet.
fn components(surface: Surface) -> Vec<Surface> {
    let mut pieces = connected(surface);
    let shape = |piece: &Surface| rough_hull(piece).map(|h| Shape::Polytope(Arc::new(h)));
    let mut hulls: Vec<Option<Shape>> =
        if pieces.len() > 1 { pieces.iter().map(shape).collect() } else { vec![None] };
    let mut i = 0;
    while i < pieces.len() {
        let overlaps = |j: &usize| match (&hulls[i], &hulls[*j]) {
            (Some(a), Some(b)) => {
                let reach = corners(&pieces[i]).iter().map(|p| p.max_abs()).fold(0.0, f64::max);
                signed_distance(a, &Pose::IDENTITY, b, &Pose::IDENTITY).phi < -1e-6 * reach
            }
            // a flat piece is a wall of its neighbour
            _ => true,
        };
        match (i + 1..pieces.len()).find(overlaps) {
            Some(j) => {
                let other = pieces.remove(j);
                hulls.remove(j);
                pieces[i].extend(other);
                hulls[i] = shape(&pieces[i]);
                // what has grown may reach those before it
                i = 0;
            }
            None => i += 1,
        }
    }
    pieces
}

/// The first of those that are linked to `i`; shortens the way for the next call.
fn root(parent: &mut [usize], mut i: usize) -> usize {
    while parent[i] != i {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    i
}

/// Pieces of a surface that share corners.
fn connected(surface: Surface) -> Vec<Surface> {
    let mut numbers: BTreeMap<Key, usize> = BTreeMap::new();
    let mut parent: Vec<usize> = Vec::new();
    let mut first = Vec::with_capacity(surface.len());
    for t in &surface {
        let [a, b, c] = t.map(|p| {
            *numbers.entry(key(p)).or_insert_with(|| {
                parent.push(parent.len());
                parent.len() - 1
            })
        });
        for other in [b, c] {
            let (ra, rb) = (root(&mut parent, a), root(&mut parent, other));
            parent[ra.max(rb)] = ra.min(rb);
        }
        first.push(a);
    }
    let mut pieces: BTreeMap<usize, Surface> = BTreeMap::new();
    for (t, a) in surface.into_iter().zip(first) {
        pieces.entry(root(&mut parent, a)).or_default().push(t);
    }
    pieces.into_values().collect()
}

/// The point of a hull that is farthest outside of the solid, of about `count` on its faces and as many
/// between them and its middle; and how far.
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
    let count = count.min(MAX_WORK / solid.triangles().len().max(1)).max(50) as f64;
    let mut worst = (middle, 0.0);
    for t in &triangles {
        // even over each triangle: a net of as many rows as its share of the area asks for
        let share = area(t) / total.max(f64::MIN_POSITIVE);
        let rows = (2.0 * count * share).sqrt().ceil().max(1.0) as usize;
        for i in 0..rows {
            for j in 0..rows - i {
                let at = |k: usize| (k as f64 + 1.0 / 3.0) / rows as f64;
                let on_face = t[0] + (t[1] - t[0]) * at(i) + (t[2] - t[0]) * at(j);
                let within = on_face + (middle - on_face) * at((i + j) % rows);
                for p in [on_face, within] {
                    let d = solid.distance_beyond(worst.1, p);
                    if d > worst.1 {
                        worst = (p, d);
                    }
                }
            }
        }
    }
    worst
}
