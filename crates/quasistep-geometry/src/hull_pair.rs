//! Distances of hulls with many corners: the same exact answer as from all pairs of features, from those that can be it.
//!
//! Closest points of shapes that are apart lie between the planes through their support points. So each is part of a
//! feature with a corner at such a plane. Where shapes meet, a point `c` of both bounds every separating axis:
//!
//! ```text
//! separation(n) = min_B n·p − max_A n·p ≤ (n·c − max_A n·p) + (min_B n·p − n·c),      neither term is positive
//! ```
//!
//! A term of a face is the depth of `c` under it; that of an edge is at most the lesser depth under its two faces.

use crate::closest::{Near, closest_among};
use crate::core::Core;
use crate::gjk::Stand;
use crate::narrow_phase::{Distance, Searches, TOUCH, at_least, core_distance, facing, overlap};
use crate::separating_axis::{Axis, BIAS, Features, edge_axis, edges_meet, lowest};
use quasistep_math::Vec3;

/// Corners this near to the plane through the farthest one count as on it, as a share of the shapes' sizes: those of one
/// face scatter by less.
const LEVEL: f64 = 1e-6;
/// A feature holds the closest point by its corners: one of three has a third of its weight.
const SHARE: f64 = 4.0;

/// Reusable memory of a search; holds no meaning.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    near: [Near; 2],
    /// Depths of a point under the faces of A and B, in m, negative.
    under: [Vec<f64>; 2],
    /// Faces by their bound, in m, and number: those of B follow those of A.
    faces: Vec<(f64, u32)>,
    /// Edges of A and B by their bound, in m, and number.
    edges: [Vec<(f64, u32)>; 2],
    /// Axes that may be the best.
    axes: Vec<(u64, Axis)>,
}

/// Signed distance of two cores of which at least one is solid; may stop at a lower bound once that exceeds
/// `enough`.
pub(crate) fn distance(
    a: &Core,
    b: &Core,
    stand: Option<Stand>,
    enough: f64,
    searches: &mut Searches,
) -> Distance {
    match stand {
        Some(Stand::Apart { n_AB_W, gap }) => apart(a, b, n_AB_W, gap, enough, searches)
            .unwrap_or_else(|| core_distance(a, b, enough, searches)),
        Some(Stand::Meet { p_W, off }) => match meeting_axis(a, b, p_W, off, &mut searches.hulls) {
            Some(axis) => overlap(a, b, &axis),
            None => core_distance(a, b, enough, searches),
        },
        Some(Stand::Beyond { .. }) | None => core_distance(a, b, enough, searches),
    }
}

fn size(a: &Core, b: &Core) -> f64 {
    (a.points[0] - a.centre).norm() + (b.points[0] - b.centre).norm()
}

/// The distance of shapes that are apart.
fn apart(
    a: &Core,
    b: &Core,
    n_AB_W: Vec3,
    gap: f64,
    enough: f64,
    searches: &mut Searches,
) -> Option<Distance> {
    let reach = SHARE * gap + LEVEL * size(a, b);
    let [near_a, near_b] = &mut searches.hulls.near;
    near_a.find(a, n_AB_W, reach);
    near_b.find(b, -n_AB_W, reach);
    // the best of the axes of faces that may hold the closest points
    let bias = BIAS * size(a, b);
    let mut best: Option<Axis> = None;
    for (core, other, sign, near) in [(a, b, 1.0, &*near_a), (b, a, -1.0, &*near_b)] {
        for &k in &near.faces {
            let face = &core.faces[k as usize];
            let separation = lowest(other, face.normal) - face.offset;
            if best.is_none_or(|best| separation > best.separation + bias) {
                let features = if sign > 0.0 { Features::FaceOfA(k) } else { Features::FaceOfB(k) };
                best = Some(Axis { separation, normal: face.normal * sign, features });
            }
        }
    }
    if let Some(axis) = best
        && axis.separation > 0.0
    {
        if axis.separation > enough {
            return Some(at_least(axis.separation, a, axis.normal));
        }
        if let Some(facing) = facing(a, b, &axis) {
            return Some(facing);
        }
    }
    let Some((p_WCa, p_WCb)) =
        closest_among(a, near_a, b, near_b, n_AB_W, enough, &mut searches.closest)
    else {
        return Some(at_least(enough, a, n_AB_W));
    };
    let difference = p_WCb - p_WCa;
    let phi = difference.norm();
    let n_AB_W = difference.try_normalize().filter(|_| phi > TOUCH)?;
    Some(Distance { phi, p_WCa, p_WCb, n_AB_W })
}

/// The axis of least overlap of two cores that meet at `c`; `None` if that is not a point of both to rounding.
fn meeting_axis(a: &Core, b: &Core, c: Vec3, off: f64, memory: &mut Memory) -> Option<Axis> {
    let bias = BIAS * size(a, b);
    let Memory { under, faces, edges, axes, .. } = memory;
    axes.clear();
    faces.clear();
    let n_a = a.faces.len() as u32;
    for (core, under) in [a, b].into_iter().zip(&mut *under) {
        under.clear();
        under.extend(core.faces.iter().map(|face| c.dot(face.normal) - face.offset));
        let outside = under.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if outside > off + bias {
            return None;
        }
    }
    let mut best = f64::NEG_INFINITY;
    let mut try_face = |k: u32, best: &mut f64| {
        let (core, other, sign, i) = if k < n_a { (a, b, 1.0, k) } else { (b, a, -1.0, k - n_a) };
        let face = &core.faces[i as usize];
        let separation = lowest(other, face.normal) - face.offset;
        if separation > *best - bias {
            let features = if sign > 0.0 { Features::FaceOfA(i) } else { Features::FaceOfB(i) };
            axes.push((u64::from(k), Axis { separation, normal: face.normal * sign, features }));
            *best = best.max(separation);
        }
    };
    // the face that `c` is least under is a good one to begin with
    let bounds = || under[0].iter().chain(&under[1]).zip(0_u32..);
    let shallowest = bounds().fold(
        (f64::NEG_INFINITY, 0),
        |top: (f64, u32), (u, k)| {
            if *u > top.0 { (*u, k) } else { top }
        },
    );
    try_face(shallowest.1, &mut best);
    faces.extend(
        bounds()
            .map(|(u, k)| (*u, k))
            .filter(|(u, k)| *u + off > best - bias && *k != shallowest.1),
    );
    faces.sort_unstable_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
    for &(bound, k) in &*faces {
        if bound + off <= best - bias {
            break;
        }
        try_face(k, &mut best);
    }
    for ((core, under), list) in [a, b].into_iter().zip(&*under).zip(&mut *edges) {
        list.clear();
        let bound = |faces: [u32; 2]| {
            if under.is_empty() {
                0.0
            } else {
                under[faces[0] as usize].max(under[faces[1] as usize])
            }
        };
        let all = core.edges().iter().zip(0_u32..).map(|(e, k)| (bound(e.faces).min(0.0), k));
        list.extend(all.filter(|(bound, _)| bound + off > best - bias));
        list.sort_unstable_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
    }
    let [of_a, of_b] = &*edges;
    for &(bound_a, i) in of_a {
        for &(bound_b, j) in of_b {
            if bound_a + bound_b + off <= best - bias {
                break;
            }
            let (i, j) = (i as usize, j as usize);
            if edges_meet(a, b, i, j)
                && let Some((separation, normal)) = edge_axis(a, b, i, j, best - bias)
                && separation > best - bias
            {
                let features = Features::Edges(i as u32, j as u32);
                let order = 1 << 62 | (i as u64) << 31 | j as u64;
                axes.push((order, Axis { separation, normal, features }));
                best = best.max(separation);
            }
        }
    }
    // the first of equals: faces of A, faces of B, edges
    let equal = axes.iter().filter(|(_, axis)| axis.separation >= best - bias);
    equal.min_by_key(|(order, _)| *order).map(|(_, axis)| *axis)
}

#[cfg(test)]
mod tests {
    use super::distance;
    use crate::core::Core;
    use crate::gjk;
    use crate::narrow_phase::{Searches, TOUCH, core_distance};
    use crate::polytope::Polytope;
    use crate::shape::Shape;
    use quasistep_math::{Pose, Quat, Vec3};
    use std::sync::Arc;

    /// A stream of numbers from −1 to 1.
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

    /// Points on a ball, in a box, on a cylinder or on a grid: round, blocky, with level caps, with many equal faces.
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

    /// The search for the features that matter against all pairs of features: apart, at touch, in shallow and in deep
    /// overlaps, of small and large hulls, and of those that lie face on face.
    #[test]
    fn the_features_that_matter_give_what_all_give() {
        let mut random = Random(3);
        let (mut searches, mut slow) = (Searches::default(), Searches::default());
        let (mut core_a, mut core_b) = (Core::default(), Core::default());
        for case in 0..4000 {
            let size = [1e-3, 1.0, 1e3][case % 3];
            let shapes = [case % 4, case / 4 % 4].map(|kind| hull(kind, &mut random, size));
            let X_WA = Pose::new(random.turn(), random.vec3() * size);
            // every third pair lies face on face
            let turn = if case % 3 == 0 { X_WA.rotation } else { random.turn() };
            let mut X_WB = Pose::new(turn, X_WA.translation + random.vec3() * (2.0 * size));
            core_a.fill(&shapes[0], &X_WA);
            core_b.fill(&shapes[1], &X_WB);
            let first = core_distance(&core_a, &core_b, f64::INFINITY, &mut slow);
            // along the normal to where they are to stand
            let wanted =
                [None, Some(0.0), Some(1e-12), Some(1e-7), Some(-1e-7), Some(-0.01), Some(-0.3)];
            if let Some(gap) = wanted[case / 16 % 7] {
                X_WB.translation += first.n_AB_W * (gap * size - first.phi);
                core_b.fill(&shapes[1], &X_WB);
            }
            let want = core_distance(&core_a, &core_b, f64::INFINITY, &mut slow);
            let stand = gjk::stand((&shapes[0], &X_WA), (&shapes[1], &X_WB), f64::INFINITY, TOUCH);
            let got = distance(&core_a, &core_b, stand, f64::INFINITY, &mut searches);
            let close = (got.phi - want.phi).abs() <= 1e-9 * size.max(1.0);
            assert!(close, "case {case}: {got:?} in place of {want:?} ({stand:?})");
            // of points that are nearer than this the way between them is rounding
            if want.phi.abs() >= 1e-8 * size {
                assert!((got.n_AB_W - want.n_AB_W).norm() < 1e-6, "case {case}: {got:?} {want:?}");
            }
            let witness = (got.p_WCb - got.p_WCa) - got.n_AB_W * got.phi;
            assert!(witness.norm() <= 1e-9 * size.max(1.0), "case {case}: {got:?}");
        }
    }
}
