//! Separating axes of two convex polyhedra: exact penetration depth, and exact normal at touch.
//!
//! The faces of the Minkowski difference come from faces of A, faces of B, and pairs of edges whose
//! arcs on the Gauss map cross. The axis of least overlap is the normal of the nearest of these
//! faces.

use crate::core::Core;
use quasistep_math::Vec3;

/// Margin, as a share of the shapes' size, by which an edge axis must beat a face axis, and a face
/// of B one of A. Without it rounding would choose between equally good axes, and the normal of a
/// box resting on a box would flip between steps.
pub(crate) const BIAS: f64 = 1e-9;
/// Sine of the angle below which edges count as parallel; face normals cover that case.
const PARALLEL: f64 = 1e-9;
/// Rounding error of the common normal of two edges, times the sine of the angle between them.
const NORMAL_ROUNDING: f64 = 8.0 * f64::EPSILON;
/// Rounding error of a separation, relative to its terms.
const ROUNDING: f64 = 1e-12;

/// The pair of features that defines an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Features {
    FaceOfA(u32),
    FaceOfB(u32),
    Edges(u32, u32),
}

/// A direction and its separation in m; negative for an overlap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    pub separation: f64,
    /// Unit vector from A to B.
    pub normal: Vec3,
    pub features: Features,
}

/// Scratch memory of a search; its contents do not affect results.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// For each face of B, the component of its normal along the arc of an edge of A.
    along: Vec<f64>,
    /// Normals of the arcs of B's edges.
    arcs: Vec<Vec3>,
}

/// The axis with the largest separation. At least one core must be solid.
///
/// Stops early with a lower bound once the separation exceeds `enough` (m).
pub(crate) fn best_axis(a: &Core, b: &Core, enough: f64, memory: &mut Memory) -> Axis {
    let bias = BIAS * (a.size() + b.size());
    let mut best =
        Axis { separation: f64::NEG_INFINITY, normal: Vec3::Z, features: Features::FaceOfA(0) };
    for (k, face) in a.faces.iter().enumerate() {
        let separation = lowest(b, face.normal) - face.offset;
        // the bias also applies among faces of one shape: ties go to the first
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
    let mut consider = |i: usize, j: usize| {
        if let Some((separation, normal)) = edge_axis(a, b, i, j, best.separation)
            && separation > best.separation + bias
        {
            let features = Features::Edges(i as u32, j as u32);
            best = Axis { separation, normal, features };
        }
    };
    if a.is_solid() && b.is_solid() {
        crossing_arcs(a, b, memory, consider);
    } else {
        for i in 0..a.edges().len() {
            for j in 0..b.edges().len() {
                if cross_circle(a, b, i, j) {
                    consider(i, j);
                }
            }
        }
    }
    best
}

/// Minus the support function along `−n`: the least `n · p` over the corners, in m.
#[inline]
pub(crate) fn lowest(core: &Core, n: Vec3) -> f64 {
    let less = |a: f64, b: f64| if b < a { b } else { a };
    // four independent minima, so that the loop can be vectorised
    let (fours, rest) = core.points.as_chunks::<4>();
    let mut low = [f64::INFINITY; 4];
    for four in fours {
        low = std::array::from_fn(|l| less(low[l], four[l].dot(n)));
    }
    let low = less(less(low[0], low[1]), less(low[2], low[3]));
    rest.iter().fold(low, |low, p| less(low, p.dot(n)))
}

/// Calls `consider` with each pair of edges of two solids whose arcs on the Gauss map cross in
/// their interior, with B's normals negated. Such a pair makes a face of the Minkowski difference.
fn crossing_arcs(a: &Core, b: &Core, memory: &mut Memory, mut consider: impl FnMut(usize, usize)) {
    let Memory { along, arcs } = memory;
    // negating both normals of an edge leaves the arc's normal unchanged
    let arc = |core: &Core, faces: [u32; 2]| {
        let [n1, n2] = faces.map(|f| core.faces[f as usize].normal);
        n2.cross(n1)
    };
    arcs.clear();
    arcs.extend(b.edges().iter().map(|e| arc(b, e.faces)));
    for (i, ea) in a.edges().iter().enumerate() {
        let n = arc(a, ea.faces);
        let [n1, n2] = ea.faces.map(|f| a.faces[f as usize].normal);
        along.clear();
        along.extend(b.faces.iter().map(|face| -face.normal.dot(n)));
        for (j, (eb, m)) in b.edges().iter().zip(&*arcs).enumerate() {
            let [m1n, m2n] = eb.faces.map(|f| along[f as usize]);
            if m1n * m2n < 0.0 {
                let (n1m, n2m) = (n1.dot(*m), n2.dot(*m));
                if n1m * n2m < 0.0 && m1n * n2m > 0.0 {
                    consider(i, j);
                }
            }
        }
    }
}

/// True if two edges make a face of the Minkowski difference.
pub(crate) fn edges_meet(a: &Core, b: &Core, i: usize, j: usize) -> bool {
    if !(a.is_solid() && b.is_solid()) {
        return cross_circle(a, b, i, j);
    }
    Arc::of(a, a.edges()[i].faces).meets(&Arc::of(b, b.edges()[j].faces))
}

/// Arc of an edge on the Gauss map: the normals of its two faces, and the normal of the great
/// circle through them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arc {
    ends: [Vec3; 2],
    across: Vec3,
}

impl Arc {
    /// Arc of an edge between two faces; a zero arc for a core without faces.
    pub fn of(core: &Core, faces: [u32; 2]) -> Self {
        if !core.is_solid() {
            return Self::default();
        }
        let ends = faces.map(|f| core.face(f).normal);
        Self { ends, across: ends[1].cross(ends[0]) }
    }

    /// True if this arc crosses the negated other arc in their interior.
    #[inline]
    pub fn meets(&self, other: &Self) -> bool {
        let [m1n, m2n] = other.ends.map(|m| -m.dot(self.across));
        if m1n * m2n >= 0.0 {
            return false;
        }
        let [n1m, n2m] = self.ends.map(|n| n.dot(other.across));
        n1m * n2m < 0.0 && m1n * n2m > 0.0
    }
}

/// True if an edge of a solid and a segment make a face of the Minkowski difference. The Gauss
/// image of a segment is the great circle across it.
fn cross_circle(a: &Core, b: &Core, i: usize, j: usize) -> bool {
    let (ea, eb) = (a.edges()[i], b.edges()[j]);
    let along = |core: &Core, ends: [u32; 2]| {
        let [p, q] = ends.map(|k| core.point(k));
        q - p
    };
    let (solid, faces, direction) = if a.is_solid() {
        (a, ea.faces, along(b, eb.vertices))
    } else {
        (b, eb.faces, along(a, ea.vertices))
    };
    let [n1, n2] = faces.map(|f| solid.face(f).normal);
    n1.dot(direction) * n2.dot(direction) < 0.0
}

/// Separation (m) along the common normal of two edges that make a face of the Minkowski
/// difference, and that normal. `None` if they are parallel up to rounding, or if the separation is
/// below `least` up to rounding.
pub(crate) fn edge_axis(a: &Core, b: &Core, i: usize, j: usize, least: f64) -> Option<(f64, Vec3)> {
    let [pa, qa] = a.edges()[i].vertices.map(|k| a.point(k));
    let [pb, qb] = b.edges()[j].vertices.map(|k| b.point(k));
    let (da, db) = (qa - pa, qb - pb);
    let cross = da.cross(db);
    // orient the normal outwards from the solid that has this edge; the middle of a flat one does not
    // tell its sides apart
    let sides = |core: &Core, k: usize| {
        let [n1, n2] = core.edges()[k].faces.map(|f| core.face(f).normal);
        n1 + n2
    };
    let outward = match (a.is_solid(), b.is_solid()) {
        (true, _) if !a.is_flat() => pa - a.centre,
        (_, true) if !b.is_flat() => b.centre - pb,
        (true, _) => sides(a, i),
        (false, _) => -sides(b, j),
    };
    let cross = if cross.dot(outward) < 0.0 { -cross } else { cross };
    let (square, apart) = (cross.norm_squared(), pb - pa);
    // cheap test first: most pairs are far from the best
    if cross.dot(apart) < square.sqrt() * (least - ROUNDING * (apart.max_abs() + least.abs())) {
        return None;
    }
    let lengths = da.norm_squared() * db.norm_squared();
    if square <= PARALLEL * PARALLEL * lengths {
        return None;
    }
    let normal = cross.try_normalize()?;
    let separation = normal.dot(apart);
    // the normal of edges at a small angle has few digits
    let error = NORMAL_ROUNDING * (lengths / square).sqrt() * apart.max_abs();
    (separation - error >= least - ROUNDING * (apart.max_abs() + least.abs()))
        .then_some((separation, normal))
}
