//! Contact of two clouds: the points of each against the surface that the other's normals describe.
//!
//! A point with a normal represents a round plate in its tangent plane. The plate's radius is the
//! spacing of the cloud's points. A query point beside all plates is outside, even if it is below
//! their planes. Where normals of neighbours differ by more than 45° the surface has an edge
//! between them, convex or concave depending on their positions.
//!
//! Points without normals have no inside. Their distance is that of two points, less the radii.

#![allow(clippy::inline_always)] // see `quasistep_linalg::simd`

use super::choice::Choice;
use super::field::{Field, Motion};
use super::memory::{CloudMemory, Meeting};
use super::points::PointCloud;
use super::search::{Found, neighbours};
use crate::distance::ContactPoint;
use crate::shape::Pair;
use quasistep_linalg::simd::{Isa, LANES, Simd};
use quasistep_math::{Pose, Vec3};

/// Cosine of the angle between normals of neighbours above which there is no edge between them:
/// 45°.
const SMOOTH: f64 = 0.7;
/// Flag of a feature that is a point of B.
const OF_B: u32 = 1 << 31;

/// Surface described by a cloud's points and normals.
struct PlateField<'a> {
    cloud: &'a PointCloud,
    /// Transform from the other cloud's tree frame to this cloud's tree frame.
    motion: Motion,
    isa: Isa,
}

/// Nearest point of a cloud's surface.
struct Plate {
    distance: f64,
    /// Outward unit normal in the cloud's frame.
    normal: Vec3,
    /// Index of the nearest point, and its distance, in m.
    slot: u32,
    reach: f64,
}

impl PlateField<'_> {
    /// Nearest surface point of `q`, which is relative to this cloud's tree origin. `None` if all
    /// distances are NaN.
    fn plate(&self, q: Vec3) -> Option<Plate> {
        let tree = &self.cloud.tree;
        let near = neighbours(self.isa, tree, q);
        let Found { slot, phi: reach } = *near.found().first()?;
        let away = q - tree.point(slot);
        let Some(normals) = &self.cloud.normals else {
            let normal = away.try_normalize().unwrap_or(Vec3::Z);
            return Some(Plate { distance: reach, normal, slot, reach });
        };
        let normal = |slot: u32| normals[tree.index[slot as usize] as usize];
        let (first, n_first) = (tree.point(slot), normal(slot));
        let (mut slot, mut n, mut height) = (slot, n_first, away.dot(n_first));
        for other in &near.found()[1..] {
            let (p, n_other) = (tree.point(other.slot), normal(other.slot));
            if n_other.dot(n_first) > SMOOTH {
                continue;
            }
            // at an edge: a convex body is below both planes, a concave one below either
            let above = (q - p).dot(n_other);
            let convex = (p - first).dot(n_first) <= 0.0 && (first - p).dot(n_other) <= 0.0;
            let outer = if convex { above > height } else { above < height };
            if outer {
                (slot, n, height) = (other.slot, n_other, above);
            }
        }
        let aside = q - tree.point(slot) - n * height;
        let beside = aside.norm() - self.cloud.spacing;
        // far below the plane and slightly beside the plate still counts as inside: scans have gaps
        if beside <= 0.0 || beside < -height {
            return Some(Plate { distance: height, normal: n, slot, reach });
        }
        let outside = n * height + aside * (beside / aside.norm());
        let normal = outside.try_normalize().unwrap_or(n);
        Some(Plate { distance: outside.norm(), normal, slot, reach })
    }

    /// Lower and upper bound of the signed distance in a ball about `q`, in m.
    fn range(&self, q: Vec3, radius: f64) -> [f64; 2] {
        let Some(plate) = self.plate(q) else { return [f64::INFINITY; 2] };
        let (near, far) = (plate.reach - radius, plate.reach + radius);
        if self.cloud.normals.is_none() {
            return [near, far];
        }
        // the ball contains no surface point: all of it is outside
        if plate.distance > 0.0 && near > self.cloud.spacing {
            [(near * near - self.cloud.spacing.powi(2)).sqrt(), far]
        } else {
            [-far, far]
        }
    }

    #[inline(always)]
    fn ranges<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3], side: usize) -> S::V {
        let (radius, mut out) = (S::to_array(S::norm(half)), [f64::NAN; LANES]);
        let [x, y, z] = [S::to_array(centre[0]), S::to_array(centre[1]), S::to_array(centre[2])];
        for l in 0..LANES {
            if !radius[l].is_nan() {
                let q = self.motion.point(Vec3::new(x[l], y[l], z[l]));
                out[l] = self.range(q, radius[l])[side];
            }
        }
        S::load(&out)
    }
}

impl Field for PlateField<'_> {
    #[inline(always)]
    fn distance<S: Simd>(&self, p: [S::V; 3], _: f64) -> S::V {
        let mut out = [f64::NAN; LANES];
        let [x, y, z] = [S::to_array(p[0]), S::to_array(p[1]), S::to_array(p[2])];
        for l in 0..LANES {
            if !x[l].is_nan() {
                let q = self.motion.point(Vec3::new(x[l], y[l], z[l]));
                out[l] = self.plate(q).map_or(f64::INFINITY, |plate| plate.distance);
            }
        }
        S::load(&out)
    }

    #[inline(always)]
    fn bound<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V {
        self.ranges::<S>(centre, half, 0)
    }

    #[inline(always)]
    fn ceiling<S: Simd>(&self, centre: [S::V; 3], half: [S::V; 3]) -> S::V {
        self.ranges::<S>(centre, half, 1)
    }

    fn normal(&self, p: Vec3) -> Vec3 {
        let plate = self.plate(self.motion.point(p));
        self.motion.direction(plate.map_or(Vec3::Z, |plate| plate.normal))
    }
}

impl CloudMemory {
    /// Appends the contact points of two clouds.
    pub(super) fn clouds(
        &mut self,
        pair: &Pair<'_, PointCloud, PointCloud>,
        choice: Option<Choice>,
        margin: f64,
        out: &mut Vec<ContactPoint>,
    ) {
        let &Pair { a, X_WA, b, X_WB } = pair;
        let choice = choice.unwrap_or_else(|| a.choice.joined(b.choice));
        self.meetings.clear();
        // a cloud without normals is used as a surface only if neither cloud has normals
        let only_points = a.normals.is_none() && b.normals.is_none();
        if only_points || a.normals.is_some() {
            self.meet(&pair.exchanged(), choice, margin, true);
        }
        if only_points || b.normals.is_some() {
            self.meet(pair, choice, margin, false);
        }
        let middle =
            (X_WA.transform_point(a.tree.origin) + X_WB.transform_point(b.tree.origin)) * 0.5;
        let size = a.tree.half_diagonal.max(b.tree.half_diagonal);
        self.reduce(choice, middle, size);
        out.extend(self.meetings.iter().map(|m| m.point));
    }

    /// Collects the nearest points of the first cloud against the surface of the other.
    fn meet(
        &mut self,
        pair: &Pair<'_, PointCloud, PointCloud>,
        choice: Choice,
        margin: f64,
        other_is_a: bool,
    ) {
        let &Pair { a: cloud, X_WA: X_WC, b: other, X_WB: X_WO } = pair;
        let radii = cloud.radius + other.radius;
        let X_WT = Pose { translation: X_WO.transform_point(other.tree.origin), ..*X_WO };
        let motion = Motion::new(&X_WT, X_WC, cloud.tree.origin);
        let (isa, far) = (Isa::detect(), motion.point(Vec3::ZERO).norm());
        let field = PlateField { cloud: other, motion, isa };
        let chooser = &mut self.chooser;
        chooser.choose(isa, &cloud.tree, &field, far, choice, margin + radii);
        for found in &chooser.found {
            let index = cloud.tree.index[found.slot as usize];
            let p_W = X_WC.transform_point(cloud.points[index as usize]);
            let Some(plate) = field.plate(X_WT.inverse_transform_point(p_W)) else {
                continue;
            };
            let phi = plate.distance - radii;
            if !(phi < margin) {
                continue;
            }
            let n_W = X_WO.rotation.rotate(plate.normal);
            let on_other = p_W - n_W * (plate.distance - other.radius);
            let on_cloud = p_W - n_W * cloud.radius;
            let theirs = other.tree.index[plate.slot as usize];
            let (pair, p_WCa, p_WCb, n_AB_W, feature) = if other_is_a {
                ([theirs, index], on_other, on_cloud, n_W, index | OF_B)
            } else {
                ([index, theirs], on_cloud, on_other, -n_W, index)
            };
            let point = ContactPoint { phi, p_WCa, p_WCb, n_AB_W, feature };
            self.meetings.push(Meeting { pair, point });
        }
    }

    /// Selects the final contact points among those selected for either cloud.
    fn reduce(&mut self, choice: Choice, middle: Vec3, size: f64) {
        let meetings = &mut self.meetings;
        // mutual nearest neighbours were found from both sides: keep one
        meetings.sort_unstable_by(|x, y| {
            (x.pair.cmp(&y.pair))
                .then(x.point.phi.total_cmp(&y.point.phi))
                .then(x.point.feature.cmp(&y.point.feature))
        });
        meetings.dedup_by_key(|m| m.pair);
        meetings
            .sort_unstable_by(|x, y| x.point.phi.total_cmp(&y.point.phi).then(x.pair.cmp(&y.pair)));
        let k = choice.k() as usize;
        let (Choice::Spread { .. }, Some(&first)) = (choice, meetings.first()) else {
            meetings.truncate(k);
            return;
        };
        // select as for one cloud, but in the world frame and over these few points
        let at = |m: &Meeting| (m.point.p_WCa + m.point.p_WCb) * 0.5 - middle;
        let patch = &mut self.chooser.patch;
        // orient the plane the same way whichever cloud is A
        let n = first.point.n_AB_W;
        let up = [n.x, n.y, n.z].into_iter().max_by(|x, y| x.abs().total_cmp(&y.abs()));
        let n = if up < Some(0.0) { -n } else { n };
        patch.start(at(&first), n, first.point.phi, size);
        for have in 1..k.min(meetings.len()) {
            let gain = |m: &Meeting| patch.gain_of(at(m), m.point.phi);
            let next = (have..meetings.len()).fold((have, 0.0), |best, i| {
                let gain = gain(&meetings[i]);
                if gain > best.1 { (i, gain) } else { best }
            });
            if !(next.1 > 0.0) {
                meetings.truncate(have);
                return;
            }
            meetings.swap(have, next.0);
            patch.add(at(&meetings[have]), meetings[have].point.phi);
        }
        meetings.truncate(k);
    }
}
