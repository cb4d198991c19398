//! A sheet: triangles without thickness, solid from both sides.
//!
//! A flat plate, a bowl of a single surface, a tray, terrain: whatever a mesh is that encloses
//! nothing. Each triangle keeps other shapes on the side where most of them is: that of the smaller
//! overlap. A tree of boxes finds the triangles in reach.

use crate::broad_phase::Aabb;
use crate::distance::{Surface, TOUCH};
use crate::mass::MassProperties;
use crate::pieces::{Pieces, SAME};
use crate::polytope::Polytope;
use crate::triangle::{crosses, nearest_of_triangle, unit_normal};
use quasistep_math::{Mat3, Vec3};

/// Largest number of triangles of a sheet.
const MOST_TRIANGLES: usize = 1 << 24;
/// Most triangles of a leaf of the tree.
const LEAF: usize = 2;
/// A triangle lower than this share of its longest side has no area.
const SLIVER: f64 = 1e-9;

/// A sheet is not valid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct SheetError(String);

/// Boxes around the triangles from `first` up to `end`; the first child is the next node.
#[derive(Clone, Debug, PartialEq)]
struct Node {
    aabb: Aabb,
    first: u32,
    end: u32,
    /// Index of the second child; 0 for a leaf.
    second: u32,
}

/// Triangles without thickness, in their own frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    vertices: Vec<Vec3>,
    /// In the order of the tree.
    triangles: Vec<[u32; 3]>,
    nodes: Vec<Node>,
    /// Points nearer than this coincide, in m.
    near: f64,
}

impl Sheet {
    /// Builds a sheet of triangles, given by their corners' indices; vertices in m. Triangles without
    /// area are left out, and so are those whose corners are those of another one: both sides of a
    /// sheet are solid.
    ///
    /// # Errors
    ///
    /// A message that says which value was seen and what is valid.
    pub fn new(vertices: Vec<Vec3>, triangles: &[[u32; 3]]) -> Result<Self, SheetError> {
        let fail = |why: String| Err(SheetError(why));
        if triangles.len() > MOST_TRIANGLES {
            let n = triangles.len();
            return fail(format!("{n} triangles; give at most {MOST_TRIANGLES}"));
        }
        if let Some(k) = vertices.iter().position(|p| !p.is_finite()) {
            let Vec3 { x, y, z } = vertices[k];
            return fail(format!(
                "vertex {k} is ({x}, {y}, {z}); coordinates must be finite, in m"
            ));
        }
        let beyond = |t: &&[u32; 3]| t.iter().any(|&v| v as usize >= vertices.len());
        if let Some(t) = triangles.iter().find(beyond) {
            return fail(format!("triangle {t:?}; there are {} vertices", vertices.len()));
        }
        let mut own: Vec<([[u64; 3]; 3], [u32; 3])> = Vec::with_capacity(triangles.len());
        let (mut sides, mut count) = (0.0, 0.0);
        for t in triangles {
            let [a, b, c] = t.map(|v| vertices[v as usize]);
            let longest = (b - a).norm().max((c - b).norm()).max((a - c).norm());
            if (b - a).cross(c - a).norm() > SLIVER * longest * longest {
                let mut key =
                    t.map(|v| vertices[v as usize].to_array().map(|x| (x + 0.0).to_bits()));
                key.sort_unstable();
                own.push((key, *t));
                (sides, count) = (sides + longest, count + 1.0);
            }
        }
        own.sort_unstable();
        own.dedup_by_key(|(key, _)| *key);
        if own.is_empty() {
            return fail("no triangle has an area; give at least one that has".into());
        }
        let triangles = own.into_iter().map(|(_, t)| t).collect();
        let near = 2.0 * SAME * sides / count;
        let mut sheet = Self { vertices, triangles, nodes: Vec::new(), near };
        sheet.grow(0, sheet.triangles.len());
        Ok(sheet)
    }

    fn grow(&mut self, first: usize, end: usize) {
        let at = self.nodes.len();
        let mut aabb = Aabb::EMPTY;
        for k in first..end {
            let [a, b, c] = self.corners(k as u32);
            aabb = aabb.joined(&Aabb { min: a.min(b).min(c), max: a.max(b).max(c) });
        }
        self.nodes.push(Node { aabb, first: first as u32, end: end as u32, second: 0 });
        if end - first <= LEAF {
            return;
        }
        let extent = aabb.max - aabb.min;
        let axis = (1..3).fold(0, |a, k| if extent[k] > extent[a] { k } else { a });
        let Self { vertices, triangles, .. } = self;
        let place = |t: &[u32; 3]| t.iter().map(|v| vertices[*v as usize][axis]).sum::<f64>();
        let half = usize::midpoint(first, end);
        triangles[first..end].select_nth_unstable_by(half - first, |s, t| {
            place(s).total_cmp(&place(t)).then(s.cmp(t))
        });
        self.grow(first, half);
        self.nodes[at].second = self.nodes.len() as u32;
        self.grow(half, end);
    }

    /// Corners of all triangles, in m.
    pub fn vertices(&self) -> &[Vec3] {
        &self.vertices
    }

    /// Indices of each triangle's corners.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Corners of one triangle, in m.
    fn corners(&self, k: u32) -> [Vec3; 3] {
        self.triangles[k as usize].map(|v| self.vertices[v as usize])
    }

    /// Box around the whole sheet, in m.
    pub(crate) fn bounds(&self) -> Aabb {
        self.nodes[0].aabb
    }

    /// Area in m², centre, and inertia about it, in m⁴: the mass properties at 1 kg/m².
    pub fn area_properties(&self) -> MassProperties {
        let o = self.vertices[self.triangles[0][0] as usize];
        let (mut area, mut moment, mut second) = (0.0, Vec3::ZERO, Mat3::ZERO);
        for k in 0..self.triangles.len() as u32 {
            let [a, b, c] = self.corners(k).map(|p| p - o);
            let own = 0.5 * (b - a).cross(c - a).norm();
            let s = a + b + c;
            area += own;
            moment += s * (own / 3.0);
            // ∫ x xᵀ over a triangle
            let sum = Mat3::outer(s, s) + Mat3::outer(a, a) + Mat3::outer(b, b) + Mat3::outer(c, c);
            second = second + sum * (own / 12.0);
        }
        let com = moment / area;
        let central = second + Mat3::outer(com, com) * -area;
        let inertia = Mat3::IDENTITY * central.trace() + central * -1.0;
        MassProperties { mass: area, com: o + com, inertia }
    }

    /// The farthest point along `d` of those triangles that are within the box `within`, in m. `None`
    /// if there are none.
    pub fn support_within(&self, d: Vec3, within: &Aabb) -> Option<Vec3> {
        let mut best: Option<(f64, Vec3)> = None;
        let farthest = |b: &Aabb| {
            let end = |k: usize| if d[k] < 0.0 { b.min[k] } else { b.max[k] };
            Vec3::new(end(0), end(1), end(2)).dot(d)
        };
        let mut wanted = |b: &Aabb| b.near(within, 0.0).then(|| -farthest(b));
        self.search(&mut wanted, &mut |k| {
            for p in self.corners(k) {
                let value = p.dot(d);
                if best.is_none_or(|(known, _)| value > known) {
                    best = Some((value, p));
                }
            }
            best.map(|(value, _)| -value)
        });
        best.map(|(_, p)| p)
    }

    /// True if the box around some triangle meets the box `aabb`.
    pub(crate) fn is_near(&self, aabb: &Aabb) -> bool {
        let mut found = false;
        let mut wanted = |b: &Aabb| b.near(aabb, 0.0).then_some(0.0);
        self.search(&mut wanted, &mut |_| {
            found = true;
            Some(-1.0)
        });
        found
    }

    /// Distance of the point `p` of a body whose middle is at `middle`, and the normal there. It is
    /// negative if the sheet is between the two.
    pub(crate) fn surface(&self, p: Vec3, middle: Vec3) -> Surface {
        let mut best = (Vec3::new(f64::INFINITY, 0.0, 0.0), Vec3::Z);
        let gap = |b: &Aabb| (p - p.max(b.min).min(b.max)).norm_squared();
        self.search(&mut |b| Some(gap(b)), &mut |k| {
            let corners = self.corners(k);
            let apart = p - nearest_of_triangle(p, &corners);
            if apart.norm_squared() < best.0.norm_squared() {
                best = (apart, unit_normal(&corners));
            }
            Some(best.0.norm_squared())
        });
        let (apart, out) = best;
        let distance = apart.norm();
        match apart.try_normalize() {
            // nearly touching points give a noisy normal; the face's normal is accurate
            Some(n) if distance > TOUCH => {
                let sign = if self.is_between(p, middle) { -1.0 } else { 1.0 };
                Surface { distance: distance * sign, normal: n * sign }
            }
            _ => {
                let out = if out.dot(middle - p) < 0.0 { -out } else { out };
                Surface { distance: apart.dot(out), normal: out }
            }
        }
    }

    /// True if the segment from `p` to `q` crosses the sheet an odd number of times.
    fn is_between(&self, p: Vec3, q: Vec3) -> bool {
        let (segment, mut odd) = (Aabb { min: p.min(q), max: p.max(q) }, false);
        let mut wanted = |b: &Aabb| b.near(&segment, 0.0).then_some(0.0);
        self.search(&mut wanted, &mut |k| {
            odd ^= crosses(p, q, &self.corners(k));
            None
        });
        odd
    }

    fn visit(
        &self,
        at: usize,
        least: &mut f64,
        wanted: &mut dyn FnMut(&Aabb) -> Option<f64>,
        leaf: &mut dyn FnMut(u32) -> Option<f64>,
    ) {
        let Node { first, end, second, .. } = self.nodes[at];
        if second == 0 {
            for k in first..end {
                if let Some(value) = leaf(k) {
                    *least = least.min(value);
                }
            }
            return;
        }
        let children = [at + 1, second as usize];
        let mut children = children.map(|child| (wanted(&self.nodes[child].aabb), child));
        if let [(Some(x), _), (Some(y), _)] = children
            && y < x
        {
            children.swap(0, 1);
        }
        for (value, child) in children {
            if value.is_some_and(|value| value <= *least) {
                self.visit(child, least, wanted, leaf);
            }
        }
    }
}

impl Pieces for Sheet {
    type Piece = u32;
    const SLOT: usize = 1;
    const GUARDS: usize = 2;

    fn near(&self) -> f64 {
        self.near
    }

    fn new_piece() -> Polytope {
        Polytope::new_triangle()
    }

    fn set(&self, hull: &mut Polytope, at: u32) {
        hull.set_triangle(&self.corners(at));
    }

    fn number(&self, at: u32) -> i64 {
        i64::from(at) + 1
    }

    fn corner(&self, at: u32) -> Vec3 {
        self.corners(at)[0]
    }

    fn for_each_corner(&self, at: u32, offer: impl FnMut(Vec3)) {
        self.corners(at).into_iter().for_each(offer);
    }

    fn open_faces(&self, at: u32) -> impl Iterator<Item = Vec3> {
        let n = unit_normal(&self.corners(at));
        [n, -n].into_iter()
    }

    /// The side on which most of the other shape is.
    fn face_towards(&self, at: u32, _: Vec3, mut separation: impl FnMut(Vec3) -> f64) -> Vec3 {
        let n = unit_normal(&self.corners(at));
        if separation(-n) > separation(n) { -n } else { n }
    }

    fn for_each_at(&self, p: Vec3, near: f64, offer: &mut dyn FnMut(u32)) {
        let around = Aabb { min: p, max: p };
        let mut wanted = |b: &Aabb| b.near(&around, near).then_some(0.0);
        self.search(&mut wanted, &mut |k| {
            if (p - nearest_of_triangle(p, &self.corners(k))).norm() <= near {
                offer(k);
            }
            None
        });
    }

    fn search(
        &self,
        wanted: &mut dyn FnMut(&Aabb) -> Option<f64>,
        leaf: &mut dyn FnMut(u32) -> Option<f64>,
    ) {
        if wanted(&self.nodes[0].aabb).is_some() {
            let mut least = f64::INFINITY;
            self.visit(0, &mut least, wanted, leaf);
        }
    }
}
