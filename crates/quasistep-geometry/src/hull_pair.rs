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
//! an edge normal it is at least as negative as that of the shallower of its two faces.

use crate::closest::{Near, closest_among, inside};
use crate::core::Core;
use crate::core_pair::{self, at_least, core_distance, overlap};
use crate::distance::{Distance, TOUCH};
use crate::gjk::Stand;
use crate::separating_axis::{Arc, Axis, BIAS, Features, edge_axis, edges_meet, lowest};
use quasistep_math::Vec3;

/// Corners count as level with the farthest one if they are this near to its plane, as a share of
/// the shapes' sizes. Corners of one face deviate from their plane by less.
const LEVEL: f64 = 1e-6;
/// Factor of the gap within which corners of the closest feature lie: one of a triangle's corners
/// has a weight of at least 1/3.
const SHARE: f64 = 4.0;

/// Rounding error of heights, as a share of the shapes' sizes.
const TIE: f64 = 1e-13;

/// Scratch memory of a search; its contents do not affect results.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub cores: core_pair::Memory,
    near: [Near; 2],
    /// Faces that may hold the closest point: separation (m), whether the other shape is B, and
    /// face index.
    facing: Vec<(f64, bool, u32)>,
    /// Height of a point above each face of A and of B, in m; negative.
    under: [Vec<f64>; 2],
    /// Faces that may have the best axis; indices of B's faces follow those of A.
    faces: Vec<u32>,
    /// Edges of one candidate face.
    around: Vec<u32>,
    /// For A and B, candidate edges: bound of the separation (m), edge index, and face normals.
    edges: [Vec<(f64, u32, Arc)>; 2],
    /// Candidate axes with their rank in the order of features.
    axes: Vec<(u64, Axis)>,
}

/// Signed distance of two cores, at least one of them solid. May stop early at a lower bound that
/// exceeds `enough` (m).
pub(crate) fn distance(
    a: &Core,
    b: &Core,
    stand: Option<Stand>,
    enough: f64,
    memory: &mut Memory,
) -> Distance {
    match stand {
        Some(Stand::Apart { p_WCa, way, gap }) => apart(a, b, p_WCa, way, gap, enough, memory)
            .unwrap_or_else(|| core_distance(a, b, enough, &mut memory.cores)),
        Some(Stand::Meet { p_W, off }) => match meeting_axis(a, b, p_W, off, memory) {
            Some(axis) => overlap(a, b, &axis),
            None => core_distance(a, b, enough, &mut memory.cores),
        },
        Some(Stand::Beyond { .. }) | None => core_distance(a, b, enough, &mut memory.cores),
    }
}

fn size(a: &Core, b: &Core) -> f64 {
    (a.points[0] - a.centre).norm() + (b.points[0] - b.centre).norm()
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
            let face = &core.faces[*k as usize];
            p_WC.dot(face.normal) - face.offset >= distance - gap - bias
        });
        for &k in &near.faces {
            let face = &core.faces[k as usize];
            let separation = lowest(other, face.normal) - face.offset;
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
        let face = &core.faces[k as usize];
        let low = |p: &Vec3| p.dot(face.normal) - face.offset <= separation + TIE * size(a, b);
        let corners = near.points.iter().map(|&k| other.points[k as usize]).filter(low);
        for p in corners {
            if inside(core, face, p) {
                let on_face = p - face.normal * separation;
                let (p_WCa, p_WCb, n_AB_W) =
                    if other_is_b { (on_face, p, face.normal) } else { (p, on_face, -face.normal) };
                return Some(Distance { phi: separation, p_WCa, p_WCb, n_AB_W });
            }
        }
    }
    let enough = enough.min(distance * (1.0 + TIE));
    let (p_WCa, p_WCb) =
        closest_among(a, near_a, b, near_b, n_AB_W, enough, &mut memory.cores.closest)?;
    let difference = p_WCb - p_WCa;
    let phi = difference.norm();
    let n_AB_W = difference.try_normalize().filter(|_| phi > TOUCH)?;
    Some(Distance { phi, p_WCa, p_WCb, n_AB_W })
}

/// Axis of least overlap of two cores that share the point `c`. `off` is how far `c` is outside B,
/// in m. `None` if `c` is not common to both up to rounding.
fn meeting_axis(a: &Core, b: &Core, c: Vec3, off: f64, memory: &mut Memory) -> Option<Axis> {
    let bias = BIAS * size(a, b);
    memory.axes.clear();
    let (depth, face) = memory.shallowest_face(a, b, c);
    if depth > off + bias {
        return None;
    }
    let mut best = f64::NEG_INFINITY;
    memory.try_faces(a, b, face, (off, bias), &mut best);
    memory.find_edges(a, b, |bound| bound + off > best - bias);
    memory.try_edges(a, b, (off, bias), &mut best);
    // ties: faces of A come first, then faces of B, then edges
    let equal = memory.axes.iter().filter(|(_, axis)| axis.separation >= best - bias);
    equal.min_by_key(|(order, _)| *order).map(|(_, axis)| *axis)
}

impl Memory {
    /// Computes heights of `c` above all faces (`under`). Returns the largest, and the index of
    /// that face.
    fn shallowest_face(&mut self, a: &Core, b: &Core, c: Vec3) -> (f64, u32) {
        let mut shallowest = (f64::NEG_INFINITY, 0);
        let [under_a, under_b] = &mut self.under;
        for (core, under, first) in [(a, under_a, 0), (b, under_b, a.faces.len() as u32)] {
            under.clear();
            for (face, k) in core.faces.iter().zip(first..) {
                let depth = c.dot(face.normal) - face.offset;
                if depth > shallowest.0 {
                    shallowest = (depth, k);
                }
                under.push(depth);
            }
        }
        shallowest
    }

    /// Tries normals of faces as axes, beginning with face `first`, under which `c` is least deep.
    /// Keeps in `faces` those whose bound allows them to be the best.
    fn try_faces(
        &mut self,
        a: &Core,
        b: &Core,
        first: u32,
        (off, bias): (f64, f64),
        best: &mut f64,
    ) {
        let Self { under, faces, axes, .. } = self;
        let n_a = a.faces.len() as u32;
        // lowest corners along the last axes tried, as a quick test
        let mut low = [b.points[0], a.points[0]];
        let mut try_face = |k: u32, best: &mut f64| {
            let (core, other, sign, i) =
                if k < n_a { (a, b, 1.0, k) } else { (b, a, -1.0, k - n_a) };
            let face = &core.faces[i as usize];
            let known = &mut low[usize::from(k >= n_a)];
            if known.dot(face.normal) - face.offset <= *best - bias {
                return;
            }
            let (corner, height) = lowest_corner(other, face.normal);
            *known = corner;
            let separation = height - face.offset;
            if separation > *best - bias {
                let features = if sign > 0.0 { Features::FaceOfA(i) } else { Features::FaceOfB(i) };
                let axis = Axis { separation, normal: face.normal * sign, features };
                axes.push((u64::from(k), axis));
                *best = best.max(separation);
            }
        };
        try_face(first, best);
        faces.clear();
        for (bound, k) in under[0].iter().chain(&under[1]).zip(0_u32..) {
            if bound + off > *best - bias {
                faces.push(k);
                if k != first {
                    try_face(k, best);
                }
            }
        }
    }

    /// Collects in `edges` the edges of the candidate faces whose bound passes `may_be_best`,
    /// largest bound first.
    fn find_edges(&mut self, a: &Core, b: &Core, may_be_best: impl Fn(f64) -> bool) {
        let Self { under, faces, around, edges, .. } = self;
        for (of, core, first) in [(0, a, 0), (1, b, a.faces.len() as u32)] {
            let (list, under) = (&mut edges[of], &under[of]);
            list.clear();
            let mut push = |bound: f64, k: u32| {
                if may_be_best(bound) {
                    list.push((bound, k, Arc::of(core, core.edges()[k as usize].faces)));
                }
            };
            if !core.is_solid() {
                for k in 0..core.edges().len() as u32 {
                    push(0.0, k);
                }
            }
            for f in faces.iter().filter_map(|f| f.checked_sub(first)) {
                if f as usize >= core.faces.len() {
                    break;
                }
                around.clear();
                core.edges_of(f, around);
                for &k in &*around {
                    // take each edge once: from the face with the larger bound, or the first at a
                    // tie
                    let [g, h] = core.edges()[k as usize].faces;
                    let across = if g == f { h } else { g };
                    let (here, there) = (under[f as usize], under[across as usize]);
                    if there < here || there == here && f <= across {
                        push(here.min(0.0), k);
                    }
                }
            }
            list.sort_unstable_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
        }
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

/// The first corner with the least `n · p`, and that value in m.
fn lowest_corner(core: &Core, n: Vec3) -> (Vec3, f64) {
    let height = lowest(core, n);
    let corner = core.points.iter().find(|p| p.dot(n) == height);
    (corner.copied().unwrap_or(core.points[0]), height)
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
        let (mut core_a, mut core_b) = (Core::default(), Core::default());
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
            let stand = gjk::stand((&shapes[0], &X_WA), (&shapes[1], &X_WB), f64::INFINITY, TOUCH);
            let got = distance(&core_a, &core_b, stand, f64::INFINITY, &mut memory);
            let close = (got.phi - want.phi).abs() <= 1e-9 * size.max(1.0);
            assert!(close, "case {case}: {got:?} in place of {want:?} ({stand:?})");
            // the direction between points nearer than this is rounding noise
            if want.phi.abs() >= 1e-8 * size {
                assert!((got.n_AB_W - want.n_AB_W).norm() < 1e-6, "case {case}: {got:?} {want:?}");
            }
            let witness = (got.p_WCb - got.p_WCa) - got.n_AB_W * got.phi;
            assert!(witness.norm() <= 1e-9 * size.max(1.0), "case {case}: {got:?}");
        }
    }
}
