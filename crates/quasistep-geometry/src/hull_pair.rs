//! Distances of hulls with many corners: exact, but searching only the features that can hold the
//! answer.
//!
//! Closest points of disjoint shapes lie between the planes through their support points. So each
//! lies on a feature with a corner near such a plane. If the shapes share a point `c`, it bounds
//! every separating axis:
//!
//! ```text
//! separation(n) = min_B n·p − max_A n·p ≤ (n·c − max_A n·p) + (min_B n·p − n·c),      neither term is positive
//! ```
//!
//! For a face normal, the term of that face's shape is minus the depth of `c` under the face. For
//! an edge normal it is at least as negative as that of the shallower of its two faces. No term is
//! above minus the depth of `c` under the shallowest face of its shape. The nearer `c` is to the
//! middle of the contact, the fewer axes these bounds leave.

use crate::closest::{Near, closest_among, inside, segments};
use crate::core::Core;
use crate::core_pair::{self, at_least, overlap};
use crate::distance::{Distance, TOUCH};
use crate::gjk::Stand;
use crate::separating_axis::{Arc, Axis, BIAS, Features, edge_axis, edges_meet};
use quasistep_math::Vec3;

/// Corners count as level with the farthest one if they are this near to its plane, as a share of
/// the shapes' sizes. Corners of one face deviate from their plane by less.
const LEVEL: f64 = 1e-6;
/// Factor of the gap within which corners of the closest feature lie: one of a triangle's corners
/// has a weight of at least 1/3.
const SHARE: f64 = 4.0;

/// Rounding error of heights, as a share of the shapes' sizes.
const TIE: f64 = 1e-13;
/// Most moves of the common point towards the middle of the contact.
const MAX_MOVES: usize = 8;

/// Scratch memory of a search; its contents do not affect results.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub cores: core_pair::Memory,
    near: [Near; 2],
    /// Faces that may hold the closest point: separation (m), whether the other shape is B, and
    /// face index.
    facing: Vec<(f64, bool, u32)>,
    /// Faces of one shape that may have the best axis, with the height of the common point, in m.
    faces: Vec<(f64, u32)>,
    /// Edges of one candidate face.
    around: Vec<u32>,
    /// For A and B, candidate edges: bound of the separation (m), edge index, and face normals.
    edges: [Vec<(f64, u32, Arc)>; 2],
    /// Candidate axes with their rank in the order of features.
    axes: Vec<(u64, Axis)>,
}

/// Signed distance of two placed cores, at least one of them solid. May stop early at a lower bound
/// that exceeds `enough` (m). `None` if rounding leaves no answer.
pub(crate) fn distance(
    a: &Core,
    b: &Core,
    stand: Option<Stand>,
    enough: f64,
    memory: &mut Memory,
) -> Option<Distance> {
    match stand? {
        Stand::Apart { p_WCa, way, gap } => apart(a, b, p_WCa, way, gap, enough, memory),
        Stand::Meet { p_W, off } => {
            meeting_axis(a, b, p_W, off, memory).map(|axis| overlap(a, b, &axis))
        }
        Stand::Beyond { .. } => None,
    }
}

fn size(a: &Core, b: &Core) -> f64 {
    a.size() + b.size()
}

/// Distance of disjoint cores. `way` leads from `p_WCa` on A to a point of B; its length exceeds
/// the distance by at most `gap` (m).
fn apart(
    a: &Core,
    b: &Core,
    p_WCa: Vec3,
    way: Vec3,
    gap: f64,
    enough: f64,
    memory: &mut Memory,
) -> Option<Distance> {
    let distance = way.norm();
    let n_AB_W = way / distance;
    let reach = SHARE * gap + LEVEL * size(a, b);
    let [near_a, near_b] = &mut memory.near;
    near_a.find(a, n_AB_W, reach, gap);
    near_b.find(b, -n_AB_W, reach, gap);
    // the largest separation along normals of faces that may hold a closest point
    let bias = BIAS * size(a, b);
    let facing = &mut memory.facing;
    facing.clear();
    let mut best = f64::NEG_INFINITY;
    for (core, other, p_WC, other_is_b, near) in
        [(a, b, p_WCa + way, true, &mut *near_a), (b, a, p_WCa, false, &mut *near_b)]
    {
        // if a face holds the closest point in its interior, `way` is perpendicular to it
        near.faces.retain(|k| {
            let face = core.face(*k);
            p_WC.dot(face.normal) - face.offset >= distance - gap - bias
        });
        for &k in &near.faces {
            let face = core.face(k);
            let separation = other.lowest(face.normal).1 - face.offset;
            best = best.max(separation);
            facing.push((separation, other_is_b, k));
        }
    }
    if best > enough {
        return Some(at_least(best, a, n_AB_W));
    }
    // this is the distance if a lowest corner projects inside the face
    for &(separation, other_is_b, k) in facing.iter().filter(|f| f.0 > 0.0 && f.0 >= best - bias) {
        let (core, other, near) = if other_is_b { (a, b, &*near_b) } else { (b, a, &*near_a) };
        let face = core.face(k);
        let low = |p: &Vec3| p.dot(face.normal) - face.offset <= separation + TIE * size(a, b);
        let corners = near.points.iter().map(|&k| other.point(k)).filter(low);
        for p in corners {
            if inside(core, &face, p) {
                let on_face = p - face.normal * separation;
                let (p_WCa, p_WCb, n_AB_W) =
                    if other_is_b { (on_face, p, face.normal) } else { (p, on_face, -face.normal) };
                return Some(Distance { phi: separation, p_WCa, p_WCb, n_AB_W });
            }
        }
    }
    let at_points = |p_WCa: Vec3, p_WCb: Vec3| {
        let difference = p_WCb - p_WCa;
        let phi = difference.norm();
        let n_AB_W = difference.try_normalize().filter(|_| phi > TOUCH)?;
        Some(Distance { phi, p_WCa, p_WCb, n_AB_W })
    };
    // mostly there is one corner or edge on either side
    if let (true, Some([p, q]), Some([r, s])) =
        (facing.is_empty(), near_a.segment(a), near_b.segment(b))
    {
        let (p_WCa, p_WCb) = segments(p, q, r, s);
        let d = p_WCb - p_WCa;
        if a.is_farthest(p_WCa, d, &near_a.points) && b.is_farthest(p_WCb, -d, &near_b.points) {
            return at_points(p_WCa, p_WCb);
        }
    }
    near_a.find_edges(a, n_AB_W, gap);
    near_b.find_edges(b, -n_AB_W, gap);
    let enough = distance * (1.0 + TIE);
    let (p_WCa, p_WCb) =
        closest_among(a, near_a, b, near_b, n_AB_W, enough, &mut memory.cores.closest)?;
    at_points(p_WCa, p_WCb)
}

/// Heights of a common point above the nearest face planes of A and of B, in m, negative inside, and
/// these faces. Zero for a shape without faces.
#[derive(Clone, Copy)]
struct Nearest([(f64, u32); 2]);

impl Nearest {
    /// The search begins with the faces `known`.
    fn to(c: Vec3, a: &Core, b: &Core, known: [u32; 2]) -> Self {
        let of = |core: &Core, known| {
            if core.is_solid() { core.highest_over(c, known) } else { (0.0, 0) }
        };
        Self([of(a, known[0]), of(b, known[1])])
    }

    /// Upper bound of every separation, in m.
    fn bound(&self) -> f64 {
        self.0[0].0.min(0.0) + self.0[1].0.min(0.0)
    }
}

/// Axis of least overlap of two cores that share the point `c`. `off` is how far `c` is outside B,
/// in m. `None` if `c` is not common to both up to rounding.
fn meeting_axis(
    a: &Core,
    b: &Core,
    mut c: Vec3,
    mut off: f64,
    memory: &mut Memory,
) -> Option<Axis> {
    let bias = BIAS * size(a, b);
    memory.axes.clear();
    let mut nearest = Nearest::to(c, a, b, [0; 2]);
    if nearest.0[0].0.max(nearest.0[1].0) > off + bias {
        return None;
    }
    let mut best = f64::NEG_INFINITY;
    for _ in 0..MAX_MOVES {
        let tried = [false, true].map(|of_b| {
            let core = if of_b { b } else { a };
            let face = nearest.0[usize::from(of_b)].1;
            core.is_solid().then(|| memory.try_face(a, b, (of_b, face), bias, &mut best))
        });
        let deeper = |x: Option<(f64, Vec3)>, y: Option<(f64, Vec3)>| match (x, y) {
            (Some(x), Some(y)) if y.0 > x.0 => Some(y),
            (x, y) => x.or(y),
        };
        let (_, middle) = deeper(tried[0], tried[1])?;
        if nearest.bound() <= best + bias {
            break;
        }
        let there = Nearest::to(middle, a, b, nearest.0.map(|(_, face)| face));
        let is_common = there.0[0].0.max(there.0[1].0) <= 0.0;
        if !is_common || there.bound() >= nearest.bound() - bias {
            break;
        }
        (c, off, nearest) = (middle, 0.0, there);
    }
    for of_b in [false, true] {
        memory.try_faces(a, b, of_b, (c, nearest, off + bias), &mut best);
    }
    for of_b in [false, true] {
        memory.find_edges(a, b, of_b, (c, nearest, off + bias), best);
    }
    memory.try_edges(a, b, (off, bias), &mut best);
    // ties: faces of A come first, then faces of B, then edges
    let equal = memory.axes.iter().filter(|(_, axis)| axis.separation >= best - bias);
    equal.min_by_key(|(order, _)| *order).map(|(_, axis)| *axis)
}

impl Memory {
    /// Tries the normal of a face of A, or of B if `of_b`, as axis. Returns its separation (m) and
    /// the point halfway between the other shape's deepest corner and the face's plane.
    fn try_face(
        &mut self,
        a: &Core,
        b: &Core,
        (of_b, k): (bool, u32),
        bias: f64,
        best: &mut f64,
    ) -> (f64, Vec3) {
        let (core, other, sign) = if of_b { (b, a, -1.0) } else { (a, b, 1.0) };
        let face = core.face(k);
        let (corner, height) = other.lowest(face.normal);
        let separation = height - face.offset;
        if separation > *best - bias {
            let features = if of_b { Features::FaceOfB(k) } else { Features::FaceOfA(k) };
            let axis = Axis { separation, normal: face.normal * sign, features };
            self.axes.push((u64::from(of_b) << 32 | u64::from(k), axis));
            *best = best.max(separation);
        }
        (separation, corner - face.normal * (0.5 * separation))
    }

    /// Tries the normals of all faces of A, or of B if `of_b`, that may be the best axis. `room` is
    /// the error of their bounds, in m.
    fn try_faces(
        &mut self,
        a: &Core,
        b: &Core,
        of_b: bool,
        (c, nearest, room): (Vec3, Nearest, f64),
        best: &mut f64,
    ) {
        let bias = BIAS * size(a, b);
        let (core, other) = if of_b { (b, a) } else { (a, b) };
        let across = nearest.0[usize::from(!of_b)].0.min(0.0);
        let mut faces = std::mem::take(&mut self.faces);
        core.faces_below(c, *best - across - room, &mut faces);
        // the last lowest corner, as a quick test
        let mut low = other.point(0);
        for &(height, k) in &faces {
            let face = core.face(k);
            if height + across + room >= *best && low.dot(face.normal) - face.offset > *best - bias
            {
                let (separation, middle) = self.try_face(a, b, (of_b, k), bias, best);
                low = middle + face.normal * (0.5 * separation);
            }
        }
        self.faces = faces;
    }

    /// Collects in `edges` those edges of A, or of B if `of_b`, that may have the best axis, largest
    /// bound first.
    fn find_edges(
        &mut self,
        a: &Core,
        b: &Core,
        of_b: bool,
        (c, nearest, room): (Vec3, Nearest, f64),
        best: f64,
    ) {
        let Self { faces, around, edges, .. } = self;
        let core = if of_b { b } else { a };
        let across = nearest.0[usize::from(!of_b)].0.min(0.0);
        let list = &mut edges[usize::from(of_b)];
        list.clear();
        if !core.is_solid() {
            list.extend((0..core.edges().len() as u32).map(|k| (0.0, k, Arc::default())));
            return;
        }
        core.faces_below(c, best - across - room, faces);
        around.clear();
        for &(_, f) in &*faces {
            core.edges_of(f, around);
        }
        around.sort_unstable();
        around.dedup();
        let over = |f: u32| {
            let face = core.face(f);
            c.dot(face.normal) - face.offset
        };
        list.extend(around.iter().map(|&k| {
            let sides = core.edges()[k as usize].faces;
            let bound = over(sides[0]).max(over(sides[1])).min(0.0);
            (bound, k, Arc::of(core, sides))
        }));
        list.sort_unstable_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
    }

    /// Tries axes across an edge of A and an edge of B.
    fn try_edges(&mut self, a: &Core, b: &Core, (off, bias): (f64, f64), best: &mut f64) {
        let both_solid = a.is_solid() && b.is_solid();
        let [of_a, of_b] = &self.edges;
        for &(bound_a, i, arc_a) in of_a {
            for &(bound_b, j, arc_b) in of_b {
                if bound_a + bound_b + off <= *best - bias {
                    break;
                }
                let (i, j) = (i as usize, j as usize);
                let meet = if both_solid { arc_a.meets(&arc_b) } else { edges_meet(a, b, i, j) };
                if meet
                    && let Some((separation, normal)) = edge_axis(a, b, i, j, *best - bias)
                    && separation > *best - bias
                {
                    let features = Features::Edges(i as u32, j as u32);
                    let order = 1 << 62 | (i as u64) << 31 | j as u64;
                    self.axes.push((order, Axis { separation, normal, features }));
                    *best = best.max(separation);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Memory;
    use super::distance;
    use crate::core::Core;
    use crate::core_pair::core_distance;
    use crate::distance::TOUCH;
    use crate::gjk;
    use crate::polytope::Polytope;
    use crate::shape::Shape;
    use quasistep_math::{Pose, Quat, Vec3};
    use std::sync::Arc;

    /// Pseudo-random numbers from −1 to 1.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        }

        fn vec3(&mut self) -> Vec3 {
            Vec3::new(self.next(), self.next(), self.next())
        }

        fn turn(&mut self) -> Quat {
            Quat::from_rotation_vector(self.vec3() * 3.0)
        }
    }

    /// Hull of points on a ball, in a box, on a cylinder or on a grid, so that some have many equal
    /// faces.
    fn hull(kind: usize, random: &mut Random, size: f64) -> Shape {
        let points: Vec<Vec3> = (0..120)
            .map(|k| {
                let p = random.vec3();
                let on = match kind {
                    0 => p.try_normalize().unwrap_or(Vec3::X),
                    1 => p,
                    2 => {
                        let angle = f64::from(k / 2) * 0.1;
                        let z = if k % 2 == 0 { 0.7 } else { -0.7 };
                        Vec3::new(angle.cos(), angle.sin(), z)
                    }
                    _ => {
                        Vec3::new((p.x * 2.0).round(), (p.y * 2.0).round(), (p.z * 1.5).round())
                            * 0.5
                    }
                };
                on * size
            })
            .collect();
        Shape::Polytope(Arc::new(Polytope::from_points(&points).unwrap()))
    }

    /// The search over selected features agrees with the search over all pairs. Cases: disjoint,
    /// touching, shallow and deep overlaps; small and large hulls; hulls face on face.
    #[test]
    fn the_features_that_matter_give_what_all_give() {
        let mut random = Random(3);
        let mut memory = Memory::default();
        let mut slow = crate::core_pair::Memory::default();
        let [mut core_a, mut core_b, mut placed_a, mut placed_b] =
            std::array::from_fn(|_| Core::default());
        let mut given_up = 0;
        for case in 0..4000 {
            let size = [1e-3, 1.0, 1e3][case % 3];
            let shapes = [case % 4, case / 4 % 4].map(|kind| hull(kind, &mut random, size));
            let X_WA = Pose::new(random.turn(), random.vec3() * size);
            // every third pair is aligned, face on face
            let turn = if case % 3 == 0 { X_WA.rotation } else { random.turn() };
            let mut X_WB = Pose::new(turn, X_WA.translation + random.vec3() * (2.0 * size));
            core_a.fill(&shapes[0], &X_WA);
            core_b.fill(&shapes[1], &X_WB);
            let first = core_distance(&core_a, &core_b, f64::INFINITY, &mut slow);
            // signed distances to which the pair is moved along its normal
            let wanted =
                [None, Some(0.0), Some(1e-12), Some(1e-7), Some(-1e-7), Some(-0.01), Some(-0.3)];
            if let Some(gap) = wanted[case / 16 % 7] {
                X_WB.translation += first.n_AB_W * (gap * size - first.phi);
                core_b.fill(&shapes[1], &X_WB);
            }
            let want = core_distance(&core_a, &core_b, f64::INFINITY, &mut slow);
            let mut known = [None; 2];
            let pair = [(&shapes[0], &X_WA), (&shapes[1], &X_WB)];
            let stand = gjk::stand(pair[0], pair[1], f64::INFINITY, TOUCH, &mut known);
            placed_a.place(&shapes[0], &X_WA, known[0]);
            placed_b.place(&shapes[1], &X_WB, known[1]);
            let found = distance(&placed_a, &placed_b, stand, f64::INFINITY, &mut memory);
            given_up += usize::from(found.is_none());
            let got = found.unwrap_or(want);
            let close = (got.phi - want.phi).abs() <= 1e-9 * size.max(1.0);
            assert!(close, "case {case}: {got:?} in place of {want:?} ({stand:?})");
            // the direction between points nearer than this is rounding noise
            if want.phi.abs() >= 1e-8 * size {
                assert!((got.n_AB_W - want.n_AB_W).norm() < 1e-6, "case {case}: {got:?} {want:?}");
            }
            let witness = (got.p_WCb - got.p_WCa) - got.n_AB_W * got.phi;
            assert!(witness.norm() <= 1e-9 * size.max(1.0), "case {case}: {got:?}");
        }
        assert!(given_up < 40, "{given_up} given up");
    }
}
