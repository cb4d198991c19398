//! Signed distance of two cylinders.
//!
//! As in [`crate::cylinder`], each pair of features has few candidate normals. They are the axes;
//! the common perpendicular of both; normals of an ellipse for one's side and the other's rim; and,
//! for two rims, the local minima of the distance of two circles. The last are roots of a function
//! of one angle, found by bracketing.

use crate::climb::{Disc, climb};
use crate::closest::segments;
use crate::cylinder::{Best, Witness, square_to_both};
use crate::distance::Distance;
use crate::picture::View;
use crate::tube::{Facing, LEVEL, Tube, square};
use quasistep_math::Vec3;
use std::f64::consts::TAU;

/// Number of arcs into which a rim is divided to bracket roots.
const ARCS: usize = 32;
/// Number of parts into which an arc near a root is divided.
const PARTS: usize = 8;
/// Sine of the angle between axes below which rims count as parallel.
const PARALLEL: f64 = 1e-9;
/// Witness points face one another if they are offset across the normal by less than this, in m.
const PROOF: f64 = 1e-11;
/// Most steps of the root search (Newton's method with bisection).
const MAX_STEPS: usize = 60;

/// Signed distance of two cylinders. May stop early at a lower bound that exceeds `enough` (m).
pub(crate) fn distance(a: &Tube, b: &Tube, enough: f64) -> Distance {
    let (n_AB_W, phi) = best_normal(a, b, enough);
    let (p_WCa, p_WCb, _) = witness(a, b, n_AB_W, phi);
    Distance { phi, p_WCa, p_WCb, n_AB_W }
}

/// Separation of the cylinders along the unit normal `n`, in m.
fn separation(a: &Tube, b: &Tube, n: Vec3) -> f64 {
    -b.reach(-n) - a.reach(n)
}

fn best_normal(a: &Tube, b: &Tube, enough: f64) -> (Vec3, f64) {
    let mut best = Best::new(a.radius + a.half_length + b.radius + b.half_length);
    let between = b.centre - a.centre;
    let offer = |best: &mut Best, n: Vec3| {
        let n = if n.dot(between) < 0.0 { -n } else { n };
        best.offer_flat(separation(a, b, n), n);
    };
    // along each axis, across each axis towards the other's centre, across both axes
    offer(&mut best, a.axis);
    offer(&mut best, b.axis);
    for tube in [a, b] {
        offer(&mut best, square(tube.axis, between).unwrap_or(tube.across));
    }
    if let Some(n) = square_to_both(a.axis, b.axis) {
        offer(&mut best, n);
    }
    if best.separation > enough {
        return (best.normal, best.separation);
    }
    let proof = best.choose_flat_normal(|n, s| witness(a, b, n, s));
    if proof.is_some() && best.separation >= 0.0 {
        return (best.normal, best.separation);
    }
    let is_in_both = |(pa, pb, _): Witness| a.nearest(pb).1 <= 0.0 || b.nearest(pa).1 <= 0.0;
    let mut overlap = proof.is_some_and(is_in_both);
    // overlapping shapes have no positive separation
    if overlap && !best.accepts(0.0) {
        return (best.normal, best.separation);
    }
    offer_side_on_rims(a, b, 1.0, overlap, &mut best);
    offer_side_on_rims(b, a, -1.0, overlap, &mut best);
    let found = witness(a, b, best.normal, best.separation);
    if found.2 <= PROOF {
        if best.separation >= 0.0 {
            return (best.normal, best.separation);
        }
        overlap |= is_in_both(found);
    }
    offer_rims(a, b, overlap, &mut best);
    climb_rims(a, b, &mut best);
    (best.normal, best.separation)
}

/// Refines the best normal by a local search. Where rims are nearly tangent, two minima of the
/// circles' distance lie so close together that the bracketing may miss one.
fn climb_rims(a: &Tube, b: &Tube, best: &mut Best) {
    let n = best.normal;
    if let (Facing::Rim(_), Facing::Rim(_)) = (a.facing(n), b.facing(-n)) {
        let rim = |tube: &Tube, n: Vec3| {
            let centre = tube.cap(n.dot(tube.axis));
            Disc { centre, axis: tube.axis, radius: tube.radius }
        };
        let n = climb(&rim(a, n), &rim(b, -n), n).normal;
        best.offer(separation(a, b, n), n);
    }
}

/// Offers normals at the side of one cylinder and a rim of the other, found in the projection along
/// the first one's axis. `sign` is 1 if the first one is A, −1 if it is B.
fn offer_side_on_rims(side: &Tube, rimmed: &Tube, sign: f64, overlap: bool, best: &mut Best) {
    let view = View::along(side.axis, rimmed.axis, rimmed.radius);
    for (centre, _) in rimmed.rims() {
        // in this projection the side's axis is a point, and the rim is an ellipse about its centre
        let at = view.flat(side.centre - centre);
        for flat in view.normals(at, side.radius, overlap, best.separation) {
            // the ellipse's outward normal points from the rim to the side
            let n = view.world(flat) * -sign;
            let s =
                if sign > 0.0 { separation(side, rimmed, n) } else { separation(rimmed, side, n) };
            best.offer(s, n);
        }
    }
}

/// Two circles: a point on the first, given by its angle, and the nearest point on the second.
struct Circles {
    /// Vector from the second centre to the first, in m.
    between: Vec3,
    e1: Vec3,
    e2: Vec3,
    axis_b: Vec3,
    radius_a: f64,
    radius_b: f64,
}

/// A point on the first circle and its nearest point on the second.
struct Pair {
    /// Vector from the point on B to the point on A, in m.
    difference: Vec3,
    tangent_a: Vec3,
    tangent_b: Vec3,
    /// Half the derivative of the squared distance by the first circle's arc length, in m.
    slope: f64,
    /// Derivative of `slope` by the angle, in m.
    bend: f64,
}

impl Circles {
    fn new(
        (from, up): (Vec3, Vec3),
        radius_a: f64,
        (to, axis_b): (Vec3, Vec3),
        radius_b: f64,
    ) -> Self {
        let e1 = square(up, up.cross(axis_b)).unwrap_or_else(|| up.any_orthogonal());
        Self { between: from - to, e1, e2: up.cross(e1), axis_b, radius_a, radius_b }
    }

    /// Pairs at equally spaced angles of the first circle.
    fn samples(&self) -> [Sample; ARCS] {
        let (sin_step, cos_step) = (TAU / ARCS as f64).sin_cos();
        let (mut sin, mut cos) = (0.0, 1.0);
        std::array::from_fn(|_| {
            let sample = Sample::of(&self.pair_at(sin, cos));
            (sin, cos) = (sin * cos_step + cos * sin_step, cos * cos_step - sin * sin_step);
            sample
        })
    }

    /// False if no local minimum nearer than `reach` (m) can lie between two samples `step` (rad)
    /// apart.
    ///
    /// Uses that the distance changes at most as fast as the point moves, and the slope at most as
    /// fast as `bend` allows.
    fn may_hold(&self, p0: &Sample, p1: &Sample, step: f64, reach: f64) -> bool {
        let nearest = p0.distance.min(p1.distance) - 0.5 * step * self.radius_a;
        let steepest = p0.bend.abs().max(p1.bend.abs());
        let level = p0.slope.abs().min(p1.slope.abs()) <= step * steepest;
        nearest <= reach + LEVEL && (level || p0.slope * p1.slope <= 0.0)
    }

    /// The pair on the line of centres: the nearest pair of rims in parallel planes.
    fn towards_centre(&self) -> Pair {
        let (x, y) = (self.between.dot(self.e1), self.between.dot(self.e2));
        self.pair((-y).atan2(-x))
    }

    fn pair(&self, angle: f64) -> Pair {
        let (sin, cos) = angle.sin_cos();
        self.pair_at(sin, cos)
    }

    fn pair_at(&self, sin: f64, cos: f64) -> Pair {
        let out = self.e1 * cos + self.e2 * sin;
        let tangent = self.e2 * cos - self.e1 * sin;
        let r = self.between + out * self.radius_a;
        let z = self.axis_b;
        // projections onto the plane of the second circle
        let w = r - z * r.dot(z);
        let t = tangent - z * tangent.dot(z);
        let length = w.norm();
        let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
        let foot = w * scale;
        let along = foot.dot(t);
        let bend_w = (self.radius_a * (t.norm_squared() - along * along) - w.dot(out)) * scale;
        Pair {
            difference: r - foot * self.radius_b,
            tangent_a: tangent,
            tangent_b: z.cross(foot),
            slope: r.dot(tangent) - self.radius_b * along,
            bend: self.radius_a - r.dot(out) - self.radius_b * bend_w,
        }
    }
}

/// Circles of two rims. The smaller one is first, because the nearest point on the larger one moves
/// more evenly.
struct Rims {
    circles: Circles,
    /// At equally spaced angles around the first circle.
    samples: [Sample; ARCS],
}

/// Distance, slope and bend of a [`Pair`].
#[derive(Clone, Copy, Default)]
struct Sample {
    distance: f64,
    slope: f64,
    bend: f64,
}

impl Sample {
    fn of(pair: &Pair) -> Self {
        Self { distance: pair.difference.norm(), slope: pair.slope, bend: pair.bend }
    }
}

/// Offers normals at two rims. `overlap` is true if the cylinders are known to share a point.
fn offer_rims(a: &Tube, b: &Tube, overlap: bool, best: &mut Best) {
    let (small, large, sign) = if a.radius <= b.radius { (a, b, 1.0) } else { (b, a, -1.0) };
    let parallel = small.axis.cross(large.axis).norm() < PARALLEL;
    // Upper bound of the distance between the two rim points: the depth of an overlap, or else also
    // the distance of any two rim points.
    let depth = (-best.separation).max(0.0);
    let mut reach = depth;
    let mut rims: [Option<Rims>; 4] = [const { None }; 4];
    let mut closest = f64::INFINITY;
    for (k, slot) in rims.iter_mut().enumerate() {
        let (from, to) = (small.rims()[k & 1], large.rims()[k >> 1]);
        let circles = Circles::new(from, small.radius, to, large.radius);
        // height of the first rim's points over the second's plane: `level + swing sin(angle)`
        let (level, swing) = (circles.between.dot(to.1), small.radius * circles.e2.dot(to.1));
        if overlap && level.abs() - swing.abs() > depth + LEVEL {
            continue;
        }
        if parallel {
            offer_pair(small, large, sign, &circles.towards_centre(), best);
            continue;
        }
        let samples = circles.samples();
        closest = samples.iter().map(|s| s.distance).fold(closest, f64::min);
        *slot = Some(Rims { circles, samples });
    }
    if !overlap {
        reach = reach.max(closest);
    }
    let step = TAU / ARCS as f64;
    for Rims { circles, samples } in rims.iter().flatten() {
        for (k, here) in samples.iter().enumerate() {
            let next = &samples[(k + 1) % ARCS];
            if circles.may_hold(here, next, step, reach) {
                minima(circles, k as f64 * step, step, reach, &mut |pair| {
                    closest = closest.min(pair.difference.norm());
                    offer_pair(small, large, sign, pair, best);
                });
                if !overlap {
                    reach = depth.max(closest);
                }
            }
        }
    }
}

/// Calls `found` with each local minimum of the distance below `reach` (m) in one arc of the first
/// circle, that is, where the slope crosses zero upwards.
///
/// Nearly tangent circles have two minima with a maximum between them, however close. Both are
/// found.
fn minima(circles: &Circles, start: f64, length: f64, reach: f64, found: &mut impl FnMut(&Pair)) {
    let step = length / PARTS as f64;
    let mut p0 = Sample::of(&circles.pair(start));
    for k in 0..PARTS {
        let (low, high) = (start + k as f64 * step, start + (k + 1) as f64 * step);
        let p1 = Sample::of(&circles.pair(high));
        let (rises, holds) =
            (p0.slope <= 0.0 && p1.slope > 0.0, circles.may_hold(&p0, &p1, step, reach));
        let (below, above) = (p0.slope <= 0.0, p1.slope > 0.0);
        p0 = p1;
        if !holds {
            continue;
        }
        let hollow = lowest_bend(circles, low, high);
        if circles.pair(hollow).bend >= 0.0 {
            if rises {
                found(&circles.pair(root(circles, low, high)));
            }
            continue;
        }
        // the slope rises to a local maximum, falls to a local minimum, and rises again
        let (top, bottom) = (turn(circles, low, hollow), turn(circles, hollow, high));
        if below && circles.pair(top).slope > 0.0 {
            found(&circles.pair(root(circles, low, top)));
        }
        if above && circles.pair(bottom).slope <= 0.0 {
            found(&circles.pair(root(circles, bottom, high)));
        }
    }
}

/// Angle between `low` and `high` at which `bend` is negative, or else smallest.
fn lowest_bend(circles: &Circles, mut low: f64, mut high: f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let at = |angle: f64| circles.pair(angle).bend;
    let middle = 0.5 * (low + high);
    let bends = [at(low), at(middle), at(high)];
    let least = bends.iter().copied().fold(f64::INFINITY, f64::min);
    let most = bends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // the bend varies too little to become negative
    if least > most - least {
        return middle;
    }
    let (mut x, mut y) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut fx, mut fy) = (at(x), at(y));
    // a dip narrower than 1e-4 of the arc: the two minima are equally good
    for _ in 0..20 {
        if fx.min(fy) < 0.0 {
            break;
        }
        if fx < fy {
            (high, y, fy) = (y, x, fx);
            x = high - GOLDEN * (high - low);
            fx = at(x);
        } else {
            (low, x, fx) = (x, y, fy);
            y = low + GOLDEN * (high - low);
            fy = at(y);
        }
    }
    if fx < fy { x } else { y }
}

/// The angle between `low` and `high` at which the bend changes its sign, by bisection.
fn turn(circles: &Circles, mut low: f64, mut high: f64) -> f64 {
    let falls = circles.pair(low).bend > 0.0;
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if (circles.pair(middle).bend > 0.0) == falls {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

fn offer_pair(a: &Tube, b: &Tube, sign: f64, pair: &Pair, best: &mut Best) {
    // the witness difference has no accuracy at touch, and the cross product has none if the
    // tangents are parallel: offer both
    let across = pair.tangent_a.cross(pair.tangent_b).try_normalize();
    for n in across.into_iter().chain(pair.difference.try_normalize()) {
        // cylinders are symmetric about their centres, so the opposite sign separates less
        let n = if n.dot(b.centre - a.centre) < 0.0 { -n } else { n };
        best.offer(separation(a, b, n), n * sign);
    }
}

/// The angle between `low` and `high` at which the slope crosses zero upwards.
fn root(circles: &Circles, mut low: f64, mut high: f64) -> f64 {
    let mut angle = 0.5 * (low + high);
    for _ in 0..MAX_STEPS {
        let pair = circles.pair(angle);
        if pair.slope > 0.0 {
            high = angle;
        } else {
            low = angle;
        }
        let newton = angle - pair.slope / pair.bend;
        let next = if newton >= low && newton <= high { newton } else { 0.5 * (low + high) };
        if !((next - angle).abs() > 1e-16) {
            break;
        }
        angle = next;
    }
    angle
}

/// Witness points of two cylinders along `n` at separation `phi` (m), and their offset from the
/// shapes across `n`, in m. The offset is zero if `phi` is the distance.
fn witness(a: &Tube, b: &Tube, n: Vec3, phi: f64) -> Witness {
    let shift = n * phi;
    let flat = |v: Vec3| v - n * v.dot(n);
    let with = |p: Vec3, miss: f64| (p, p + shift, miss);
    // distance of `p` from a disc, in the projection along n
    let in_disc = |p: Vec3, centre: Vec3, radius: f64| (flat(p - centre).norm() - radius).max(0.0);
    match (a.facing(n), b.facing(-n)) {
        (Facing::Rim(p), Facing::Rim(q)) => with(p, flat(q - p).norm()),
        (Facing::Rim(p), Facing::Side(q, r)) => {
            let (x, y) = segments(p + shift, p + shift, q, r);
            with(p, (y - x).norm())
        }
        (Facing::Rim(p), Facing::Cap(c)) => with(p, in_disc(p, c, b.radius)),
        (Facing::Side(p, q), Facing::Rim(r)) => {
            let (x, y) = segments(p + shift, q + shift, r, r);
            with(r - shift, (y - x).norm())
        }
        (Facing::Side(p, q), Facing::Side(r, s)) => {
            let (x, y) = segments(p + shift, q + shift, r, s);
            with(x - shift, (y - x).norm())
        }
        (Facing::Side(p, q), Facing::Cap(c)) => {
            let (x, y) = segments(p + shift, q + shift, c, c);
            with(x - shift, ((y - x).norm() - b.radius).max(0.0))
        }
        (Facing::Cap(c), Facing::Rim(q)) => with(q - shift, in_disc(q, c, a.radius)),
        (Facing::Cap(c), Facing::Side(q, r)) => {
            let (x, y) = segments(c + shift, c + shift, q, r);
            with(y - shift, ((y - x).norm() - a.radius).max(0.0))
        }
        (Facing::Cap(c), Facing::Cap(d)) => {
            let offset = flat(d - c);
            let apart = offset.norm();
            // on the line of centres, in the middle of the part that both discs share
            let along = 0.5 * (a.radius.min(apart + b.radius) + (apart - b.radius).max(-a.radius));
            let p = c + offset.try_normalize().unwrap_or(a.across) * along;
            with(p, (apart - a.radius - b.radius).max(0.0))
        }
    }
}
