//! Core of a shape: the convex polyhedron whose offset by a radius is the shape. In the world
//! frame.

use crate::polytope::{Edge, Polytope};
use crate::shape::Shape;
use quasistep_math::{Mat3, Pose, Vec3};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A face: outward unit normal, offset along it in m, and index among the faces.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CoreFace {
    pub normal: Vec3,
    pub offset: f64,
    pub index: u32,
}

/// World-frame core: a point, segment, box or hull. Reusable memory.
#[derive(Debug, Default)]
pub(crate) struct Core {
    /// All corners and faces; empty for a hull that was [placed](Self::place).
    pub points: Vec<Vec3>,
    pub faces: Vec<CoreFace>,
    ties: Ties,
    /// Pose of a hull in the world.
    R_WH: Mat3,
    p_WH: Vec3,
    /// The last corner of a hull that was farthest in some direction; the next search begins there.
    top: AtomicU32,
    pub centre: Vec3,
    pub radius: f64,
}

/// Connectivity of a core, independent of its pose.
#[derive(Debug, Default)]
enum Ties {
    #[default]
    Point,
    Segment,
    Box,
    Hull(Arc<Polytope>),
}

/// The one edge of a segment; its face indices are not used.
const SEGMENT: [Edge; 1] = [Edge { vertices: [0, 1], faces: [0, 0] }];

/// Corner indices of the faces +x, −x, +y, −y, +z, −z of a box. A corner's index has bit 1 set for
/// +x, 2 for +y, 4 for +z.
const BOX_FACES: [[u32; 4]; 6] =
    [[1, 3, 7, 5], [0, 4, 6, 2], [2, 6, 7, 3], [0, 1, 5, 4], [4, 5, 7, 6], [0, 2, 3, 1]];
/// Ends and adjacent faces of a box's edges.
const BOX_EDGES: [Edge; 12] = [
    edge([0, 1], [3, 5]),
    edge([2, 3], [2, 5]),
    edge([4, 5], [3, 4]),
    edge([6, 7], [2, 4]),
    edge([0, 2], [1, 5]),
    edge([1, 3], [0, 5]),
    edge([4, 6], [1, 4]),
    edge([5, 7], [0, 4]),
    edge([0, 4], [1, 3]),
    edge([1, 5], [0, 3]),
    edge([2, 6], [1, 2]),
    edge([3, 7], [0, 2]),
];

const fn edge(vertices: [u32; 2], faces: [u32; 2]) -> Edge {
    Edge { vertices, faces }
}

impl Core {
    /// Indices of a face's corners, counter-clockwise seen from outside.
    pub fn corners(&self, face: &CoreFace) -> &[u32] {
        match &self.ties {
            Ties::Box => &BOX_FACES[face.index as usize],
            Ties::Hull(hull) => hull.faces()[face.index as usize].vertices(),
            Ties::Point | Ties::Segment => &[],
        }
    }

    /// Edges. Their face indices are valid for solid cores only.
    pub fn edges(&self) -> &[Edge] {
        match &self.ties {
            Ties::Point => &[],
            Ties::Segment => &SEGMENT,
            Ties::Box => &BOX_EDGES,
            Ties::Hull(hull) => hull.edges(),
        }
    }

    /// Appends the indices of the edges of a face; the core must be solid.
    pub fn edges_of(&self, face: u32, out: &mut Vec<u32>) {
        match &self.ties {
            Ties::Hull(hull) => out.extend_from_slice(hull.edges_of(face)),
            _ => out.extend(
                (0_u32..)
                    .zip(self.edges())
                    .filter_map(|(k, edge)| edge.faces.contains(&face).then_some(k)),
            ),
        }
    }

    /// The polytope of this core, if the shape is one.
    pub fn hull(&self) -> Option<&Polytope> {
        if let Ties::Hull(hull) = &self.ties { Some(hull) } else { None }
    }

    /// True if the core has faces: it has a volume, or is a triangle.
    pub fn is_solid(&self) -> bool {
        matches!(self.ties, Ties::Box | Ties::Hull(_))
    }

    /// True if the core is a triangle.
    pub fn is_flat(&self) -> bool {
        self.hull().is_some_and(|hull| hull.vertices().len() == 3)
    }

    /// A corner.
    #[inline]
    pub fn point(&self, k: u32) -> Vec3 {
        match (&self.ties, self.points.get(k as usize)) {
            (Ties::Hull(hull), None) => self.R_WH * hull.vertices()[k as usize] + self.p_WH,
            (_, known) => known.copied().unwrap_or_default(),
        }
    }

    /// A face.
    #[inline]
    pub fn face(&self, k: u32) -> CoreFace {
        match (&self.ties, self.faces.get(k as usize)) {
            (Ties::Hull(hull), None) => self.hull_face(hull, k),
            (_, known) => known.copied().unwrap_or_default(),
        }
    }

    fn hull_face(&self, hull: &Polytope, k: u32) -> CoreFace {
        let normal = self.R_WH * hull.faces()[k as usize].normal();
        CoreFace { normal, offset: hull.tops()[k as usize] + normal.dot(self.p_WH), index: k }
    }

    /// The corner of a hull that is farthest along `d`, in its own frame.
    pub fn top(&self, hull: &Polytope, d: Vec3) -> u32 {
        let top = hull.support_near(self.top.load(Ordering::Relaxed), d);
        self.top.store(top, Ordering::Relaxed);
        top
    }

    /// A vector of the world in the frame of the hull.
    pub fn in_hull(&self, v: Vec3) -> Vec3 {
        let [x, y, z] = self.R_WH.rows;
        x * v.x + y * v.y + z * v.z
    }

    /// A point of the world in the hull's frame, relative to the middle of its corners.
    pub fn about_middle(&self, p: Vec3) -> Vec3 {
        self.in_hull(p - self.centre)
    }

    /// Scale of the core, in m.
    pub fn size(&self) -> f64 {
        (self.point(0) - self.centre).norm()
    }

    /// As [`fill`](Self::fill), without the list of corners and faces if the shape is a polytope:
    /// those that are asked for are computed each time. `known` may be a corner that is farthest in
    /// the direction of interest.
    pub fn place(&mut self, shape: &Shape, X: &Pose, known: Option<u32>) {
        let Shape::Polytope(polytope) = shape else { return self.fill(shape, X) };
        self.points.clear();
        self.faces.clear();
        self.R_WH = X.rotation.to_matrix();
        self.p_WH = X.translation;
        self.centre = self.R_WH * polytope.middle() + self.p_WH;
        self.radius = 0.0;
        self.ties = Ties::Hull(polytope.clone());
        self.top = known.unwrap_or(0).into();
    }

    /// Computes the core of a shape at pose `X`. Cylinders, ellipsoids, half-spaces and clouds have
    /// none; the core is empty then.
    pub fn fill(&mut self, shape: &Shape, X: &Pose) {
        self.points.clear();
        self.faces.clear();
        self.ties = Ties::Point;
        self.centre = X.translation;
        self.radius = 0.0;
        match shape {
            Shape::Sphere { radius } => {
                self.points.push(X.translation);
                self.radius = *radius;
            }
            Shape::Capsule { radius, half_length } => {
                let axis = X.rotation.rotate(Vec3::Z) * *half_length;
                self.points.push(X.translation - axis);
                self.points.push(X.translation + axis);
                self.ties = Ties::Segment;
                self.radius = *radius;
            }
            Shape::Box { half } => {
                let ways = Vec3::AXES.map(|axis| X.rotation.rotate(axis));
                let axes = [0, 1, 2].map(|k| ways[k] * half[k]);
                for corner in 0..8 {
                    let mut p = X.translation;
                    for (bit, axis) in axes.iter().enumerate() {
                        p += if corner >> bit & 1 == 1 { *axis } else { -*axis };
                    }
                    self.points.push(p);
                }
                for (k, corners) in BOX_FACES.iter().enumerate() {
                    let way = ways[k / 2];
                    self.push_face(if k % 2 == 0 { way } else { -way }, corners);
                }
                self.ties = Ties::Box;
            }
            Shape::Polytope(hull) => {
                self.place(shape, X, None);
                let (R, p) = (self.R_WH, self.p_WH);
                self.points.extend(hull.vertices().iter().map(|v| R * *v + p));
                let mut faces = std::mem::take(&mut self.faces);
                faces.extend((0..hull.faces().len() as u32).map(|k| self.hull_face(hull, k)));
                self.faces = faces;
            }
            Shape::Cylinder { .. }
            | Shape::Ellipsoid { .. }
            | Shape::HalfSpace
            | Shape::HeightField(_)
            | Shape::Sheet(_)
            | Shape::Cloud(_) => {}
        }
    }

    /// Empties the core.
    pub fn clear(&mut self) {
        self.points.clear();
        self.faces.clear();
        self.ties = Ties::Point;
    }

    fn push_face(&mut self, normal: Vec3, corners: &[u32]) {
        // offset of the farthest corner: a hull's corners deviate from their plane by rounding
        let offset = corners
            .iter()
            .map(|&c| self.points[c as usize].dot(normal))
            .fold(f64::NEG_INFINITY, f64::max);
        let index = self.faces.len() as u32;
        self.faces.push(CoreFace { normal, offset, index });
    }
}
