//! Separating axes of two polyhedra: the exact depth of an overlap, and the exact normal at touch.
//!
//! The faces of the Minkowski difference come from faces of A, faces of B, and pairs of edges whose
//! arcs on the Gauss map cross. The axis of least overlap is the normal of its nearest face.

use crate::core::Core;
use quasistep_math::Vec3;

/// An edge axis must beat a face axis by this share of the shapes' size, and a face of B one of A:
/// rounding must not choose between axes that are equally good, or normals would flip from step to
/// step while a box rests on a box.
const BIAS: f64 = 1e-9;
/// Sine of the angle below which edges count as parallel; faces cover their axis.
const PARALLEL: f64 = 1e-9;

/// Features that face one another along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Features {
    FaceOfA(u32),
    FaceOfB(u32),
    Edges(u32, u32),
}

/// A direction and how far it separates: negative is an overlap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    pub separation: f64,
    /// Unit, from A to B.
    pub normal: Vec3,
    pub features: Features,
}

/// The axis along which the cores are farthest apart; at least one core must be solid.
///
/// Stops early, with a lower bound, once the separation exceeds `enough`.
pub(crate) fn best_axis(a: &Core, b: &Core, enough: f64) -> Axis {
    let size = (a.points[0] - a.centre).norm() + (b.points[0] - b.centre).norm();
    let bias = BIAS * size;
    let mut best =
        Axis { separation: f64::NEG_INFINITY, normal: Vec3::Z, features: Features::FaceOfA(0) };
    for (k, face) in a.faces.iter().enumerate() {
        let separation = lowest(b, face.normal) - face.offset;
        // the same bias among faces of one shape: the first of equals wins
        if separation > best.separation + bias {
            let features = Features::FaceOfA(k as u32);
            best = Axis { separation, normal: face.normal, features };
        }
    }
    if best.separation > enough {
        return best;
    }
    for (k, face) in b.faces.iter().enumerate() {
        let separation = lowest(a, face.normal) - face.offset;
        if separation > best.separation + bias {
            let features = Features::FaceOfB(k as u32);
            best = Axis { separation, normal: -face.normal, features };
        }
    }
    if best.separation > enough {
        return best;
    }
    for i in 0..a.edges.len() {
        for j in 0..b.edges.len() {
            if let Some((separation, normal)) = edge_axis(a, b, i, j)
                && separation > best.separation + bias
            {
                let features = Features::Edges(i as u32, j as u32);
                best = Axis { separation, normal, features };
            }
        }
    }
    best
}

/// The least `n · p` over the corners.
pub(crate) fn lowest(core: &Core, n: Vec3) -> f64 {
    core.points.iter().map(|p| p.dot(n)).fold(f64::INFINITY, f64::min)
}

/// Separation along the common normal of two edges, if they make a face of the difference.
fn edge_axis(a: &Core, b: &Core, i: usize, j: usize) -> Option<(f64, Vec3)> {
    let (ea, eb) = (&a.edges[i], &b.edges[j]);
    let end = |core: &Core, k: u32| core.points[k as usize];
    let pa = end(a, ea.ends[0]);
    let pb = end(b, eb.ends[0]);
    let da = end(a, ea.ends[1]) - pa;
    let db = end(b, eb.ends[1]) - pb;
    let normals = |core: &Core, faces: [u32; 2]| faces.map(|f| core.faces[f as usize].normal);
    let crosses = match (a.is_solid(), b.is_solid()) {
        (true, true) => {
            let [n1, n2] = normals(a, ea.faces);
            let [m1, m2] = normals(b, eb.faces).map(|m| -m);
            arcs_cross(n1, n2, m1, m2)
        }
        // the Gauss image of a segment is the great circle across it
        (true, false) => {
            let [n1, n2] = normals(a, ea.faces);
            n1.dot(db) * n2.dot(db) < 0.0
        }
        (false, true) => {
            let [m1, m2] = normals(b, eb.faces);
            m1.dot(da) * m2.dot(da) < 0.0
        }
        (false, false) => false,
    };
    if !crosses {
        return None;
    }
    let cross = da.cross(db);
    if cross.norm_squared() <= PARALLEL * PARALLEL * da.norm_squared() * db.norm_squared() {
        return None;
    }
    let normal = cross.try_normalize()?;
    // outwards from the solid that has this edge
    let outward = if a.is_solid() { pa - a.centre } else { b.centre - pb };
    let normal = if normal.dot(outward) < 0.0 { -normal } else { normal };
    Some((normal.dot(pb - pa), normal))
}

/// True if the arcs (n1, n2) and (m1, m2) cross on the unit sphere, away from their ends.
fn arcs_cross(n1: Vec3, n2: Vec3, m1: Vec3, m2: Vec3) -> bool {
    let n = n2.cross(n1);
    let m = m2.cross(m1);
    let (m1n, m2n) = (m1.dot(n), m2.dot(n));
    let (n1m, n2m) = (n1.dot(m), n2.dot(m));
    m1n * m2n < 0.0 && n1m * n2m < 0.0 && m1n * n2m > 0.0
}
