//! Planes of a polytope's faces in a tree, for the faces that face a direction and for those under
//! which a point is least deep.
//!
//! Each node has the box of its planes' normals, a point `r` on one of its faces, and the least
//! offset from there. So it bounds over its planes from above:
//!
//! ```text
//! n·d                             cosine of the angle between a face and the unit vector d
//! n·p − o = n·(p − r) − (o − n·r)    height of the point p above a face, in m; negative inside
//! ```
//!
//! Offsets are measured from `r` because both terms of a height are small then, near the face.

use quasistep_math::Vec3;

/// Number of planes up to which a node is not split.
const LEAF: usize = 12;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Plane {
    normal: Vec3,
    /// In m.
    offset: f64,
    face: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Node {
    /// Middle of the box of the normals, and half of its size.
    middle: Vec3,
    half: Vec3,
    /// A point on a face of the node, and the least offset of the planes from there, in m.
    point: Vec3,
    offset: f64,
    /// Planes of the node: first one, and one beyond the last.
    planes: [u32; 2],
    /// Index of the second child; the first one follows its parent. Zero for a leaf.
    second: u32,
}

/// Planes of the faces of a polytope.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Planes {
    planes: Vec<Plane>,
    nodes: Vec<Node>,
}

impl Planes {
    /// Builds the tree from the unit normal, the offset (m) and a corner of each face, in the order
    /// of faces.
    pub fn new(faces: impl Iterator<Item = (Vec3, f64, Vec3)>) -> Self {
        let mut tree = Self { planes: Vec::new(), nodes: Vec::new() };
        let (planes, corners): (Vec<_>, Vec<_>) =
            faces.map(|(n, o, corner)| ((n, o), corner)).unzip();
        tree.renew(&planes, &corners);
        tree
    }

    /// Builds the tree anew from the unit normal and the offset (m) of each face, and from a corner of
    /// each.
    pub fn renew(&mut self, planes: &[(Vec3, f64)], corners: &[Vec3]) {
        self.planes.clear();
        self.nodes.clear();
        let plane = |((normal, offset), face): (&(Vec3, f64), u32)| Plane {
            normal: *normal,
            offset: *offset,
            face,
        };
        self.planes.extend(planes.iter().zip(0..).map(plane));
        self.split(0, planes.len(), corners);
    }

    fn split(&mut self, first: usize, end: usize, corners: &[Vec3]) {
        let planes = &self.planes[first..end];
        let normals = || planes.iter().map(|plane| plane.normal);
        let low = normals().fold(Vec3::new(1.0, 1.0, 1.0), Vec3::min);
        let high = normals().fold(Vec3::new(-1.0, -1.0, -1.0), Vec3::max);
        let half = (high - low) * 0.5;
        let point = corners[planes[planes.len() / 2].face as usize];
        let from_point = |plane: &Plane| plane.offset - plane.normal.dot(point);
        let node = Node {
            middle: (low + high) * 0.5,
            half,
            point,
            offset: planes.iter().map(from_point).fold(f64::INFINITY, f64::min),
            planes: [first as u32, end as u32],
            second: 0,
        };
        let at = self.nodes.len();
        self.nodes.push(node);
        if end - first <= LEAF {
            return;
        }
        let axis = (0..3).fold(0, |best, k| if half[k] > half[best] { k } else { best });
        let middle = usize::midpoint(first, end);
        let order = |p: &Plane, q: &Plane| {
            p.normal[axis].total_cmp(&q.normal[axis]).then(p.face.cmp(&q.face))
        };
        self.planes[first..end].select_nth_unstable_by(middle - first, order);
        self.split(first, middle, corners);
        self.nodes[at].second = self.nodes.len() as u32;
        self.split(middle, end, corners);
    }

    /// Calls `offer` with each face whose cosine to the unit vector `d` is at least `least`, and with
    /// that cosine. `offer` returns the least value of faces that still matter. The order depends on
    /// the arguments only.
    pub fn aligned(&self, d: Vec3, least: f64, offer: impl FnMut(u32, f64) -> f64) {
        let across = d.abs();
        let bound = |node: &Node| node.middle.dot(d) + node.half.dot(across);
        self.visit(bound, |plane| plane.normal.dot(d), least, offer);
    }

    /// As [`aligned`](Self::aligned), with the heights (m) of the point `p` above the faces.
    pub fn below(&self, p: Vec3, least: f64, offer: impl FnMut(u32, f64) -> f64) {
        let bound = |node: &Node| {
            let from_point = p - node.point;
            node.middle.dot(from_point) + node.half.dot(from_point.abs()) - node.offset
        };
        self.visit(bound, |plane| plane.normal.dot(p) - plane.offset, least, offer);
    }

    fn visit(
        &self,
        bound: impl Fn(&Node) -> f64,
        value: impl Fn(&Plane) -> f64,
        mut least: f64,
        mut offer: impl FnMut(u32, f64) -> f64,
    ) {
        let bound = |at: u32| (at, bound(&self.nodes[at as usize]));
        // a tree over 2³² planes has fewer levels
        let mut stack = [(0, 0.0); 32];
        stack[0] = bound(0);
        let mut n = 1;
        while n > 0 {
            n -= 1;
            let (at, highest) = stack[n];
            if highest < least {
                continue;
            }
            let node = &self.nodes[at as usize];
            if node.second == 0 {
                for plane in &self.planes[node.planes[0] as usize..node.planes[1] as usize] {
                    let value = value(plane);
                    if value >= least {
                        least = offer(plane.face, value);
                    }
                }
                continue;
            }
            let children = [bound(at + 1), bound(node.second)];
            let first = usize::from(children[1].1 > children[0].1);
            // the better child is taken first
            stack[n] = children[1 - first];
            stack[n + 1] = children[first];
            n += 2;
        }
    }
}
