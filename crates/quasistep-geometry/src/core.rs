//! A shape as a convex polyhedron in the world frame, plus a radius around it.

use crate::shape::Shape;
use quasistep_math::{Pose, Vec3};

/// A face: outward normal, offset along it, and where its loop of corners stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreFace {
    pub normal: Vec3,
    pub offset: f64,
    first: u32,
    len: u32,
}

/// An edge; `faces` are meaningful for solids only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreEdge {
    pub ends: [u32; 2],
    pub faces: [u32; 2],
}

/// Memory of one core: points, segments, boxes and hulls alike.
#[derive(Debug, Default)]
pub(crate) struct Core {
    pub points: Vec<Vec3>,
    pub faces: Vec<CoreFace>,
    pub edges: Vec<CoreEdge>,
    loops: Vec<u32>,
    pub centre: Vec3,
    pub radius: f64,
}

/// Corners of the faces +x, −x, +y, −y, +z, −z of a box; they are numbered by bits: 1 for +x, 2 for +y, 4 for +z.
const BOX_FACES: [[u32; 4]; 6] =
    [[1, 3, 7, 5], [0, 4, 6, 2], [2, 6, 7, 3], [0, 1, 5, 4], [4, 5, 7, 6], [0, 2, 3, 1]];
/// Ends and adjacent faces.
const BOX_EDGES: [([u32; 2], [u32; 2]); 12] = [
    ([0, 1], [3, 5]),
    ([2, 3], [2, 5]),
    ([4, 5], [3, 4]),
    ([6, 7], [2, 4]),
    ([0, 2], [1, 5]),
    ([1, 3], [0, 5]),
    ([4, 6], [1, 4]),
    ([5, 7], [0, 4]),
    ([0, 4], [1, 3]),
    ([1, 5], [0, 3]),
    ([2, 6], [1, 2]),
    ([3, 7], [0, 2]),
];

impl Core {
    /// Corners of a face, counter-clockwise from outside.
    pub fn corners(&self, face: &CoreFace) -> &[u32] {
        &self.loops[face.first as usize..(face.first + face.len) as usize]
    }

    /// True if it has a volume without its radius.
    pub fn is_solid(&self) -> bool {
        !self.faces.is_empty()
    }

    /// Becomes the core of a shape; cylinders, half-spaces and clouds have none and leave it empty.
    pub fn fill(&mut self, shape: &Shape, X: &Pose) {
        self.points.clear();
        self.faces.clear();
        self.edges.clear();
        self.loops.clear();
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
                self.edges.push(CoreEdge { ends: [0, 1], faces: [0, 0] });
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
                self.edges.extend(BOX_EDGES.map(|(ends, faces)| CoreEdge { ends, faces }));
            }
            Shape::Polytope(polytope) => {
                self.points.extend(polytope.vertices().iter().map(|v| X.transform_point(*v)));
                for face in polytope.faces() {
                    self.push_face(X.rotation.rotate(face.normal()), face.vertices());
                }
                self.edges.extend(
                    polytope.edges().iter().map(|e| CoreEdge { ends: e.vertices, faces: e.faces }),
                );
                let sum = self.points.iter().fold(Vec3::ZERO, |s, p| s + *p);
                self.centre = sum / self.points.len() as f64;
            }
            Shape::Cylinder { .. } | Shape::HalfSpace | Shape::Cloud(_) => {}
        }
    }

    fn push_face(&mut self, normal: Vec3, corners: &[u32]) {
        // the farthest corner: a hull's corners scatter about their plane by rounding
        let offset = corners
            .iter()
            .map(|&c| self.points[c as usize].dot(normal))
            .fold(f64::NEG_INFINITY, f64::max);
        let (first, len) = (self.loops.len() as u32, corners.len() as u32);
        self.loops.extend_from_slice(corners);
        self.faces.push(CoreFace { normal, offset, first, len });
    }
}
