//! A flat contact on an elastic foundation (Winkler 1867): pressure `k d` at indentation `d`.
//!
//! Integration points represent the area. Point `i` carries the part `a_i` of the area: its
//! compliance is `1/(k a_i)` and it has its own friction cone. Pressure follows load and tilt, and
//! friction follows pressure.
//!
//! The points are those of a rule of degree three on triangles between the corners and their mean
//! (centre 9/20, midpoints of sides 2/15 each, corners 1/20 each). Force, moments and tilt
//! stiffness are therefore exact as long as the whole area is loaded. Edges and corners on which a
//! body may stand are among the points. The limit `k → ∞` is the rigid contact with a pressure that
//! is linear over the area.
//!
//! Points are fixed linear combinations of the corners, so they move with the corners.

use crate::scan::{NearPoint, PointKind};
use quasistep_geometry::{ContactMotion, ContactPoint, MotionMap};
use quasistep_math::{Mat3, Vec3};
use std::f64::consts::PI;
use std::ops::Range;

/// A polygon with at least this many corners, all on a circle, is treated as a disc.
const RIM: usize = 12;
const ROUND: f64 = 1e-6;
/// Relative squared size below which an area counts as a line.
const THIN: f64 = 1e-9;

/// An integration point of a foundation.
#[derive(Clone, Debug)]
struct BedPoint {
    /// Corners and weights of which the point is a linear combination.
    of: Vec<(usize, f64)>,
    /// Area that the point carries, in m².
    share: f64,
    /// Share of each triangle that the point carries; a triangle is named by its first corner.
    triangles: Vec<(usize, f64)>,
}

/// A flat contact on a foundation: its integration points.
#[derive(Debug)]
pub(crate) struct Bed {
    /// Range of the corners among the near points of the scan.
    pub corners: Range<usize>,
    /// Range of its contact rows.
    pub rows: Range<usize>,
    points: Vec<BedPoint>,
    /// Corners in order around the area, seen against the normal.
    around: Vec<usize>,
    /// Ratio of a disc's area to its polygon's; 1 if not a disc. Distances from the mean scale with
    /// its square root.
    stretch: f64,
}

impl Bed {
    /// Foundation points of a flat contact with these corners; `None` if the corners do not span an
    /// area.
    pub fn new(corners: &[NearPoint], first: usize) -> Option<Self> {
        let n = corners.len();
        let is_patch = |c: &NearPoint| matches!(c.kind, PointKind::Patch | PointKind::Seam);
        if n < 3 || !corners.iter().all(is_patch) {
            return None;
        }
        let normal = corners[0].point.n_AB_W;
        let t1 = normal.any_orthogonal();
        let t2 = normal.cross(t1);
        let mean = mean(corners.iter().map(NearPoint::p_W), n);
        let place = |k: usize| {
            let r = corners[k].p_W() - mean;
            [r.dot(t1), r.dot(t2)]
        };
        let mut around: Vec<usize> = (0..n).collect();
        let angle = |k: usize| f64::atan2(place(k)[1], place(k)[0]);
        around.sort_by(|a, b| angle(*a).total_cmp(&angle(*b)));
        let double = |i: usize| {
            let ([x, y], [u, v]) = (place(around[i]), place(around[(i + 1) % n]));
            x * v - y * u
        };
        let triangles: Vec<f64> = (0..n).map(|i| 0.5 * double(i)).collect();
        let distances = || (0..n).map(|k| place(k)[0].hypot(place(k)[1]));
        let (area, size) = (triangles.iter().sum::<f64>(), distances().fold(0.0, f64::max));
        if area <= THIN * size * size || triangles.iter().any(|a| *a < -THIN * size * size) {
            return None;
        }
        let is_rim = n >= RIM && distances().all(|d| d >= (1.0 - ROUND) * size);
        let stretch = if is_rim { PI * size * size / area } else { 1.0 };
        let mut bed = Self {
            corners: first..first + n,
            rows: 0..0,
            points: Vec::with_capacity(4 * n + 1),
            around,
            stretch,
        };
        bed.fill(&triangles);
        Some(bed)
    }

    fn fill(&mut self, triangles: &[f64]) {
        let n = triangles.len();
        let all: Vec<(usize, f64)> = (0..n).map(|i| (i, 1.0 / 20.0)).collect();
        self.push(triangles, &[], &all);
        for i in 0..n {
            let (before, next) = ((i + n - 1) % n, (i + 1) % n);
            self.push(triangles, &[(i, 1.0)], &[(before, 1.0 / 20.0), (i, 1.0 / 20.0)]);
            self.push(triangles, &[(i, 0.5)], &[(before, 2.0 / 15.0), (i, 2.0 / 15.0)]);
            self.push(triangles, &[(i, 0.5), (next, 0.5)], &[(i, 2.0 / 15.0)]);
            self.push(triangles, &[(i, 1.0 / 3.0), (next, 1.0 / 3.0)], &[(i, 9.0 / 20.0)]);
        }
    }

    /// Adds a point with the given weights of corners and shares of triangles. The remaining weight
    /// goes to the mean of the corners.
    fn push(&mut self, areas: &[f64], corners: &[(usize, f64)], triangles: &[(usize, f64)]) {
        let n = areas.len();
        let share: f64 = triangles.iter().map(|(i, share)| share * areas[*i]).sum();
        let total: f64 = areas.iter().sum();
        if share <= THIN * total {
            return;
        }
        let far = self.stretch.sqrt();
        let sum: f64 = corners.iter().map(|(_, weight)| far * weight).sum();
        let mut of: Vec<(usize, f64)> = (0..n).map(|k| (k, (1.0 - sum) / n as f64)).collect();
        for (i, weight) in corners {
            of[self.around[*i]].1 += far * weight;
        }
        of.retain(|(_, weight)| *weight != 0.0);
        let triangles = triangles.to_vec();
        self.points.push(BedPoint { of, share: share * self.stretch, triangles });
    }

    /// Integration points as near points of the pair, each with the area that it carries, in m².
    pub fn near<'a>(
        &'a self,
        corners: &'a [NearPoint],
    ) -> impl Iterator<Item = (NearPoint, f64)> + 'a {
        self.points.iter().zip(0..).map(|(point, feature)| {
            let sum = |part: fn(&ContactPoint) -> Vec3| {
                point.of.iter().fold(Vec3::ZERO, |s, (k, w)| s + part(&corners[*k].point) * *w)
            };
            let first = &corners[0];
            let phi = point.of.iter().map(|(k, w)| corners[*k].point.phi * w).sum();
            let (p_WCa, p_WCb) = (sum(|p| p.p_WCa), sum(|p| p.p_WCb));
            let n_AB_W = first.point.n_AB_W;
            let at = ContactPoint { phi, p_WCa, p_WCb, n_AB_W, feature };
            (NearPoint { point: at, kind: PointKind::Bed, ..first.clone() }, point.share)
        })
    }

    /// Motion of the integration points, and the change of the logarithms of their areas with a
    /// rotation and a translation at B's witness point, for a given motion of the corners. `p_WCb`
    /// is B's witness point of each.
    pub fn motions(
        &self,
        corners: &[NearPoint],
        of: &[ContactMotion],
        p_WCb: &[Vec3],
    ) -> Vec<(ContactMotion, [Vec3; 2])> {
        let n = corners.len();
        let normal = corners[0].point.n_AB_W;
        let mean = mean(corners.iter().map(NearPoint::p_W), n);
        let arm = |i: usize| corners[self.around[i % n]].p_W() - mean;
        self.points
            .iter()
            .zip(p_WCb)
            .map(|(point, &p_b)| {
                let seen: Vec<ContactMotion> = corners
                    .iter()
                    .zip(of)
                    .map(|(corner, of)| seen_from(of, corner.point.p_WCb - p_b))
                    .collect();
                let mut sum = ContactMotion::default();
                for (k, weight) in &point.of {
                    add(&mut sum, &seen[*k], *weight);
                }
                // ∂/∂arm of 1/2 n · (arm_i × arm_{i+1}), minus its mean
                let mut by_corner = vec![Vec3::ZERO; n];
                for (i, share) in &point.triangles {
                    let [a, b] = [*i, (*i + 1) % n].map(|k| self.around[k]);
                    let (to_a, to_b) = (arm(i + 1).cross(normal), normal.cross(arm(*i)));
                    by_corner[a] += to_a * (0.5 * share);
                    by_corner[b] += to_b * (0.5 * share);
                    let rest = (to_a + to_b) * (0.5 * share / n as f64);
                    for by in &mut by_corner {
                        *by += rest * -1.0;
                    }
                }
                let (mut turn, mut shift) = (Vec3::ZERO, Vec3::ZERO);
                for (by, of) in by_corner.iter().zip(&seen) {
                    let by = *by * (0.5 * self.stretch / point.share);
                    turn += (of.a.turn + of.b.turn).transpose() * by;
                    shift += (of.a.shift + of.b.shift).transpose() * by;
                }
                (sum, [turn, shift])
            })
            .collect()
    }
}

/// Converts motions of near points to motions of contact rows: points of foundations replace their
/// corners. Returns the change of the logarithm of each row's area, or an empty list without
/// foundations. `p_WCb` is B's witness point of each row.
pub(crate) fn to_rows(
    beds: &[Bed],
    p_WCb: &[Vec3],
    points: &[NearPoint],
    motions: &mut Vec<ContactMotion>,
) -> Vec<[Vec3; 2]> {
    if beds.is_empty() {
        return Vec::new();
    }
    let of_points = std::mem::take(motions);
    let mut grown = vec![[Vec3::ZERO; 2]; p_WCb.len()];
    let mut next = 0;
    for bed in beds {
        let corners = bed.corners.clone();
        motions.extend_from_slice(&of_points[next..corners.start]);
        next = corners.end;
        let p_WCb = &p_WCb[bed.rows.clone()];
        let own = bed.motions(&points[corners.clone()], &of_points[corners], p_WCb);
        for (k, (motion, grow)) in bed.rows.clone().zip(own) {
            motions.push(motion);
            grown[k] = grow;
        }
    }
    motions.extend_from_slice(&of_points[next..]);
    grown
}

fn mean(points: impl Iterator<Item = Vec3>, n: usize) -> Vec3 {
    points.fold(Vec3::ZERO, |sum, p| sum + p) * (1.0 / n as f64)
}

/// Expresses a contact motion, given by the translation of B at one point, at another point. `r` is
/// the contact's position relative to the latter.
fn seen_from(of: &ContactMotion, r: Vec3) -> ContactMotion {
    // the translation at the other point is v + w × r
    let carried = Mat3::from_columns(Vec3::AXES.map(|w| w.cross(r)));
    let map = |m: &MotionMap| MotionMap { turn: m.turn + m.shift * carried, shift: m.shift };
    ContactMotion {
        phi_turn: of.phi_turn + r.cross(of.phi_shift),
        n: map(&of.n),
        a: map(&of.a),
        b: map(&of.b),
        ..*of
    }
}

fn add(sum: &mut ContactMotion, of: &ContactMotion, weight: f64) {
    let map = |sum: &mut MotionMap, of: &MotionMap| {
        sum.turn = sum.turn + of.turn * weight;
        sum.shift = sum.shift + of.shift * weight;
    };
    sum.phi_turn += of.phi_turn * weight;
    sum.phi_shift += of.phi_shift * weight;
    map(&mut sum.n, &of.n);
    map(&mut sum.a, &of.a);
    map(&mut sum.b, &of.b);
    sum.kink |= of.kink;
    sum.on_edge |= of.on_edge;
    sum.by_differences |= of.by_differences;
}
