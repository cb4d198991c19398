//! Stage 8: true distances along the motion of a step.
//!
//! A step's rows bound the linearised gaps of pairs that are near at its start. This module checks
//! the resulting motion against the shapes themselves, for every pair that it may bring together:
//!
//! ```text
//! phi(q ⊕ s δ) ≥ −max_overlap      for all s in [0, 1],      δ = q_next ⊖ q
//! ```
//!
//! An interval of `s` is clear by one of two bounds. Otherwise it is halved and the distance is
//! computed at its middle:
//!
//! ```text
//! travel:  phi(s) ≥ (phi(s0) + phi(s1) − T) / 2                            T: largest relative motion of a point of A and one of B
//! plane:   phi(s) ≥ max over n of the chord of sep(n) − bulge               sep(n, s) = min_B n·x − max_A n·x
//! ```
//!
//! If points move along straight lines, the separation along `n` is a minimum of linear functions
//! of `s`, hence concave, and its chord is a lower bound. `bulge` bounds the deviation of points
//! from their chords: an eighth of their largest acceleration.

use crate::certificate::Certificate;
use crate::params::StepParams;
use crate::report::{ContactReport, StepMethod, StepReport};
use crate::scan::{Meeting, Scan};
use crate::seams::reach;
use crate::system::System;
use quasistep_geometry::{Aabb, BroadPhase, ContactPoint, Distance, NarrowPhase, Shape};
use quasistep_math::{Pose, Vec3};
use quasistep_model::JointKind;

/// Largest number of halvings of a motion. The last interval is a millionth of the travel, shorter
/// than an allowed overlap.
const MAX_HALVINGS: u32 = 20;
/// Largest number of distances of one pair along one motion. An interval that is not clear by then
/// counts as an overlap, and the motion is followed up to it. This occurs for a pair that stays at
/// the limit for a thousandth of its travel.
const MOST_SAMPLES: u32 = 1000;
/// Number of halvings whose intermediate body poses are cached for the next pair, and the number of
/// these places.
const KEPT_HALVINGS: u32 = 4;
const KEPT_PLACES: usize = (1 << KEPT_HALVINGS) - 1;
/// Work charged for a distance between two shapes, and for the pose of a body, in multiply-adds of
/// equal duration: 0.8 µs for boxes that are apart to 5 µs for hulls that overlap, and 40 ns.
pub(crate) const DISTANCE_WORK: u64 = 30_000;
const POSE_WORK: u64 = 500;
/// Rounding error of a distance, in m, added to the allowed overlap.
const ROUNDING: f64 = 1e-9;

/// Bounds on speed and acceleration of a body over the step, in m and rad per unit of `s`.
#[derive(Clone, Copy, Debug, Default)]
struct BodyBound {
    /// Bounds of the body's origin.
    speed: f64,
    acceleration: f64,
    /// Bounds of the body's rotation.
    spin: f64,
    spin_change: f64,
}

impl BodyBound {
    /// Largest travel of a point within `reach` (m) of the body's origin, in m.
    fn travel(&self, reach: f64) -> f64 {
        self.speed + self.spin * reach
    }

    /// Largest deviation from its chord of a point within `reach` (m) of the body's origin, in m.
    fn bulge(&self, reach: f64) -> f64 {
        let turning = self.spin_change + self.spin * self.spin;
        (self.acceleration + turning * reach) / 8.0
    }
}

/// A pair that may come together, with its state at both ends of an interval of the motion.
#[derive(Clone, Copy, Debug)]
struct Check {
    a: u32,
    b: u32,
    /// Smallest permitted distance, in m, < 0.
    floor: f64,
    /// Permitted overlap of a pair that did not overlap before, in m.
    allowed: f64,
    /// Largest relative motion of a point of A and one of B, and largest deviation of their points
    /// from chords, over the whole motion, in m.
    travel: f64,
    bulge: f64,
    /// True if the step's program has rows for the pair.
    has_rows: bool,
    start: End,
    end: End,
}

/// State of a pair at one place of the motion.
#[derive(Clone, Copy, Debug)]
struct End {
    X_WA: Pose,
    X_WB: Pose,
    /// Signed distance, in m, and its unit normal from A into B.
    phi: f64,
    n_AB_W: Vec3,
}

/// What a motion brings too near, or tears apart.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Broken {
    /// A pair of geoms.
    Pair(u32, u32),
    /// A constraint, given by its index.
    Constraint(usize),
}

/// First violation of the permitted distance of a pair, or of the error of a constraint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Breach {
    pub what: Broken,
    /// Share of the motion up to which it is clear.
    pub clear: f64,
    /// Share of the motion at which the pair is too near.
    pub broken: f64,
    /// Distance of the pair at `broken`, in m; minus the error of a constraint.
    pub phi: f64,
}

/// Violations along a motion.
#[derive(Clone, Debug, Default)]
pub(crate) struct Finding {
    /// Pairs without rows that meet along the motion.
    pub meetings: Vec<Meeting>,
    /// First violation by any pair, with rows or without; `None` if the motion is valid.
    pub first: Option<Breach>,
}

/// Scratch memory of the sweep; its contents do not affect results.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    /// `δ` in the tangent space, length `n_v`.
    delta: Vec<f64>,
    /// Configuration in the middle of an interval.
    q: Vec<f64>,
    /// Poses of all bodies at the places of the first halvings, place after place, and flags for
    /// those that are known.
    poses: Vec<Pose>,
    known: [bool; KEPT_PLACES],
    /// Multiply-adds spent on the present motion.
    spent: u64,
    bounds: Vec<BodyBound>,
    /// Largest travel of a point of each geom, in m.
    travel: Vec<f64>,
    boxes: Vec<Aabb>,
    broad: BroadPhase,
    pairs: Vec<(u32, u32)>,
    narrow: NarrowPhase,
    checks: Vec<Check>,
    /// Number of places at which the present pair was measured.
    samples: u32,
    patch: Vec<ContactPoint>,
    /// For each geom, a box around its motions since the list was emptied, if that is asked for.
    pub covered: Option<Vec<Aabb>>,
    /// Indentation of compliant pairs, in m, ascending by pair.
    pressed: Vec<((u32, u32), f64)>,
}

impl Sweep {
    /// Permits compliant pairs to overlap by the indentation of their contact forces.
    pub fn press(&mut self, contacts: &[ContactReport]) {
        self.pressed.clear();
        for contact in contacts.iter().filter(|c| c.friction.compliance > 0.0) {
            let pair = (contact.geom_a, contact.geom_b);
            let depth = contact.friction.compliance * contact.normal_force;
            match self.pressed.last_mut() {
                Some((last, deepest)) if *last == pair => *deepest = deepest.max(depth),
                _ => self.pressed.push((pair, depth)),
            }
        }
    }

    /// Permitted overlap of a pair, in m.
    fn allowed(&self, system: &System, (a, b): (u32, u32), params: &StepParams) -> f64 {
        let pressed = self.pressed.binary_search_by_key(&(a, b), |(pair, _)| *pair);
        let pressed = pressed.map_or(0.0, |k| self.pressed[k].1);
        system.allowed_overlap(a as usize, b as usize, params.max_overlap) + pressed
    }

    /// Checks the motion of a step with rates `v` from the scan `start` to the scan `end`. The work
    /// spent is subtracted from `work_left`; `None` if that is not enough.
    pub fn look(
        &mut self,
        system: &System,
        start: &Scan,
        end: &Scan,
        v: &[f64],
        params: &StepParams,
        work_left: &mut u64,
    ) -> Option<Finding> {
        self.set_motion(system, start, end, v, params.time_step);
        self.collect(system, start, end, params);
        let mut found = Finding::default();
        for k in 0..self.checks.len() {
            let check = self.checks[k];
            self.samples = 0;
            let breach = self.breach_of(system, start.q(), &check, 0.0, 1.0, 0);
            if self.spent > *work_left {
                *work_left = 0;
                return None;
            }
            let Some((breach, place)) = breach else { continue };
            if !check.has_rows {
                found.meetings.push(self.meeting(system, &check, (&place, breach.broken), params));
            }
            if found.first.is_none_or(|known| breach.clear < known.clear) {
                found.first = Some(breach);
            }
        }
        *work_left -= self.spent;
        Some(found)
    }

    /// First pair with a force across an open gap at the end of the motion, and no neighbouring
    /// shape that closes it. A gap counts as open if it exceeds the permitted overlap and the
    /// height at which the step makes sliding contacts float. Half the motion has a quarter of the
    /// gap that a rotating normal causes.
    pub fn open_force(
        &mut self,
        system: &System,
        end: &Scan,
        report: &StepReport,
        params: &StepParams,
    ) -> Option<Breach> {
        // the forces of the step sum to zero up to this
        let none = Certificate::RELATIVE_TOLERANCE * report.certificate.force_scale;
        let lifts = matches!(report.method, StepMethod::Convex(_));
        let pair = |c: &ContactReport| (c.geom_a, c.geom_b);
        for contacts in report.contacts.chunk_by(|x, y| pair(x) == pair(y)) {
            let loaded = contacts.iter().filter(|c| c.normal_force > none);
            let Some(layer) = loaded.map(|c| c.boundary_layer).reduce(f64::max) else { continue };
            let (a, b) = pair(&contacts[0]);
            let (i, j) = (a as usize, b as usize);
            let allowed = self.allowed(system, (a, b), params);
            // an impact with restitution ends with a gap
            let bounced = contacts.iter().filter(|c| c.rebound > 0.0).map(|c| c.phi_next);
            let apart = bounced.fold(if lifts { layer } else { 0.0 }, f64::max);
            let closed = allowed + apart;
            let phi = end.distance((a, b)).unwrap_or_else(|| {
                let [A, B] = [i, j].map(|geom| &system.geoms[geom].shape);
                self.narrow.signed_distance(A, &end.X_WG(i), B, &end.X_WG(j)).phi
            });
            if phi > closed && !end.is_continued(system, &contacts[0], closed) {
                return Some(Breach { what: Broken::Pair(a, b), clear: 0.5, broken: 1.0, phi });
            }
        }
        None
    }

    /// Largest angle by which a body whose axis is free to move turns in the last motion, in rad.
    pub fn turn(&self, system: &System) -> f64 {
        let bodies = system.model.bodies().iter().zip(&self.bounds);
        let angle = |(body, bound): (&quasistep_model::Body, &BodyBound)| match body.joint {
            JointKind::Free | JointKind::Ball => bound.spin,
            _ => bound.spin_change.sqrt(),
        };
        bodies.map(angle).fold(0.0, f64::max)
    }

    /// `δ` of the last motion checked.
    pub fn delta(&self) -> &[f64] {
        &self.delta
    }

    /// Configuration `q ⊕ s δ` of the last motion checked, which began at `q`.
    pub fn place(&self, system: &System, q: &[f64], s: f64, out: &mut Vec<f64>) {
        out.resize(q.len(), 0.0);
        system.model.integrate(q, &self.delta, s, out);
    }

    /// Computes `δ`, and bounds on the travel and curvature of all points.
    fn set_motion(&mut self, system: &System, start: &Scan, end: &Scan, v: &[f64], h: f64) {
        let model = &system.model;
        self.known.fill(false);
        self.spent = 0;
        self.delta.resize(model.n_v(), 0.0);
        if system.n_cmd() > 0 {
            // prescribed joints end at their command, whatever rate the rows used
            model.difference(start.q(), end.q(), &mut self.delta);
        }
        for (dof, d) in self.delta.iter_mut().enumerate() {
            if system.variable_of_dof[dof].is_some() {
                *d = h * v[dof];
            }
        }
        let X_WB = &start.kin.X_WB;
        self.bounds.clear();
        self.bounds.resize(model.n_bodies(), BodyBound::default());
        for (i, body) in model.bodies().iter().enumerate().skip(1) {
            let (rates, scale) = match &body.mimic {
                Some(mimic) => (model.body(mimic.body).v.clone(), mimic.multiplier.abs()),
                None => (body.v.clone(), 1.0),
            };
            let still = [0.0];
            let rates = if body.surface { &still[..] } else { &self.delta[rates] };
            let size = |rates: &[f64]| scale * rates.iter().map(|r| r * r).sum::<f64>().sqrt();
            let (turn, slide) = match body.joint {
                JointKind::Fixed => (0.0, 0.0),
                JointKind::Revolute { .. } | JointKind::Continuous { .. } | JointKind::Ball => {
                    (size(rates), 0.0)
                }
                JointKind::Prismatic { .. } => (0.0, size(rates)),
                JointKind::Planar => (size(&rates[2..]), size(&rates[..2])),
                JointKind::Free => (size(&rates[..3]), size(&rates[3..])),
            };
            let parent = self.bounds[body.parent];
            let lever = if parent.spin == 0.0 {
                0.0
            } else {
                (X_WB[i].translation - X_WB[body.parent].translation).norm() + slide
            };
            let turning = parent.spin_change + parent.spin * parent.spin;
            self.bounds[i] = BodyBound {
                speed: parent.speed + parent.spin * lever + slide,
                acceleration: parent.acceleration + turning * lever + 2.0 * parent.spin * slide,
                spin: parent.spin + turn,
                spin_change: parent.spin_change + parent.spin * turn,
            };
        }
        self.travel.clear();
        let all = system.geoms.iter().zip(&system.sizes);
        self.travel.extend(all.map(|(geom, size)| self.bounds[geom.body].travel(size.reach)));
        if let Some(covered) = &mut self.covered {
            covered.resize(system.geoms.len(), Aabb::EMPTY);
            for (geom, (all, travel)) in covered.iter_mut().zip(&self.travel).enumerate() {
                *all = all.joined(&start.aabb(geom).grown(*travel));
            }
        }
    }

    /// Collects the pairs that the motion may bring together and that a first bound does not clear.
    fn collect(&mut self, system: &System, start: &Scan, end: &Scan, params: &StepParams) {
        self.checks.clear();
        let margin = params.contact_margin;
        // distances of near pairs at both ends, ascending by pair
        let (mut from, mut to) = (start.distances().peekable(), end.distances().peekable());
        loop {
            let pair = match (from.peek(), to.peek()) {
                (None, None) => break,
                (Some((pair, _)), None) | (None, Some((pair, _))) => *pair,
                (Some((x, _)), Some((y, _))) => *x.min(y),
            };
            let phi_start = from.next_if(|(p, _)| *p == pair).map(|(_, phi)| phi);
            let phi_end = to.next_if(|(p, _)| *p == pair).map(|(_, phi)| phi);
            let phi = [phi_start.unwrap_or(margin), phi_end.unwrap_or(margin)];
            self.offer(system, [start, end], pair, phi, start.is_near(pair), params);
        }
        // pairs far at both ends can meet only if their travels add up to more than twice the
        // margin
        let [mut most, mut next] = [0.0_f64; 2];
        for &travel in &self.travel {
            (most, next) = (most.max(travel), next.max(most.min(travel)));
        }
        let plane_turns = |(geom, _): (&crate::Geom, &f64)| {
            matches!(geom.shape, Shape::HalfSpace) && self.bounds[geom.body].spin > 0.0
        };
        if most + next <= 2.0 * margin && !system.geoms.iter().zip(&self.travel).any(plane_turns) {
            return;
        }
        self.boxes.clear();
        for (k, geom) in system.geoms.iter().enumerate() {
            let bulge = self.bounds[geom.body].bulge(system.sizes[k].reach);
            let grown = Vec3::new(bulge, bulge, bulge);
            let (a, b) = (start.aabb(k), end.aabb(k));
            self.boxes.push(Aabb { min: a.min.min(b.min) - grown, max: a.max.max(b.max) + grown });
        }
        let mut pairs = std::mem::take(&mut self.pairs);
        pairs.clear();
        self.broad.pairs(&self.boxes, 0.0, |a, b| system.may_touch(a, b), &mut pairs);
        pairs.retain(|&pair| !start.is_near(pair) && !end.is_near(pair));
        for &pair in &pairs {
            self.offer(system, [start, end], pair, [margin; 2], false, params);
        }
        self.pairs = pairs;
    }

    /// Adds a pair to the checks, given lower bounds of its distances at both ends, unless the
    /// travel bound clears it.
    fn offer(
        &mut self,
        system: &System,
        ends: [&Scan; 2],
        (a, b): (u32, u32),
        phi: [f64; 2],
        has_rows: bool,
        params: &StepParams,
    ) {
        let (i, j) = (a as usize, b as usize);
        let mut allowed = self.allowed(system, (a, b), params);
        let mut phi_by = f64::INFINITY;
        // at a seam a shape overlaps both parts as deep as either
        if let Some(seam) = ends[0].at_seam((a, b)) {
            allowed = allowed.max(self.allowed(system, seam.by, params));
            phi_by = seam.phi_by;
        }
        // An overlap deeper than permitted is checked only at the end: its rows may lead it along a
        // curve that first goes deeper.
        let floor = |phi: f64| {
            let phi = phi.min(phi_by);
            let deep = phi < -allowed - 2.0 * ROUNDING;
            if deep { 2.0 * phi } else { -allowed - ROUNDING }
        };
        let travel = self.pair_travel(system, ends[0], i, j);
        // −∞: an overlap that is opened along another direction than the shortest is measured below
        let known = phi[0].is_finite();
        if known && phi[0] + phi[1] - travel >= 2.0 * floor(phi[0]) {
            return;
        }
        let [A, B] = [i, j].map(|geom| &system.geoms[geom].shape);
        let [start, end] = ends.map(|scan| {
            let (X_WA, X_WB) = (scan.X_WG(i), scan.X_WG(j));
            let (phi, n_AB_W) = scan.nearest((a, b)).unwrap_or_else(|| {
                let d = self.narrow.signed_distance(A, &X_WA, B, &X_WB);
                (d.phi, d.n_AB_W)
            });
            End { X_WA, X_WB, phi, n_AB_W }
        });
        let [bulge_a, bulge_b] =
            [i, j].map(|geom| self.bounds[system.geoms[geom].body].bulge(system.sizes[geom].reach));
        let floor = floor(start.phi);
        self.checks.push(Check {
            a,
            b,
            floor,
            allowed,
            travel,
            bulge: bulge_a + bulge_b,
            has_rows,
            start,
            end,
        });
    }

    /// Largest motion of a point of A relative to a point of B, in m.
    fn pair_travel(&self, system: &System, start: &Scan, a: usize, b: usize) -> f64 {
        // a half-space has no bounded reach: use the other geom's distance from its origin
        let of_plane = |plane: usize, other: usize| {
            let bound = &self.bounds[system.geoms[plane].body];
            if bound.spin == 0.0 || !matches!(system.geoms[plane].shape, Shape::HalfSpace) {
                return 0.0;
            }
            let [p, o] = [plane, other].map(|g| start.kin.X_WB[system.geoms[g].body].translation);
            let apart = (o - p).norm() + bound.speed;
            bound.spin * (apart + system.sizes[other].reach + self.travel[other])
        };
        self.travel[a] + self.travel[b] + of_plane(a, b) + of_plane(b, a)
    }

    /// First interval within `[from, to]` at whose end a pair is too near, and the pair's state
    /// there.
    fn breach_of(
        &mut self,
        system: &System,
        q: &[f64],
        check: &Check,
        from: f64,
        to: f64,
        halvings: u32,
    ) -> Option<(Breach, End)> {
        let width = to - from;
        let broken = !(check.end.phi >= check.floor);
        if !broken && is_clear(&mut self.narrow, system, check, width) {
            return None;
        }
        let fine = from > 0.0 && check.travel * width <= check.allowed;
        let tired = halvings == MAX_HALVINGS || self.samples >= MOST_SAMPLES;
        if broken && fine || tired {
            let (what, phi) = (Broken::Pair(check.a, check.b), check.end.phi);
            return Some((Breach { what, clear: from, broken: to, phi }, check.end));
        }
        self.samples += 1;
        let middle = 0.5 * (from + to);
        let (a, b) = (&system.geoms[check.a as usize], &system.geoms[check.b as usize]);
        let [X_WA, X_WB] = self.poses_at(system, q, [a.body, b.body], middle, halvings);
        let (X_WA, X_WB) = (X_WA * a.X_BG, X_WB * b.X_BG);
        self.spent += DISTANCE_WORK;
        let d = self.narrow.signed_distance(&a.shape, &X_WA, &b.shape, &X_WB);
        let there = End { X_WA, X_WB, phi: d.phi, n_AB_W: d.n_AB_W };
        let (left, right) = (Check { end: there, ..*check }, Check { start: there, ..*check });
        self.breach_of(system, q, &left, from, middle, halvings + 1)
            .or_else(|| self.breach_of(system, q, &right, middle, to, halvings + 1))
    }

    /// Poses of two bodies at the middle of an interval that results from `halvings` halvings of
    /// the motion.
    fn poses_at(
        &mut self,
        system: &System,
        q: &[f64],
        bodies: [usize; 2],
        middle: f64,
        halvings: u32,
    ) -> [Pose; 2] {
        let n = system.model.n_bodies();
        // places of later halvings are stored after those of earlier ones
        let intervals = 1_usize << halvings.min(KEPT_HALVINGS);
        let place = intervals - 1 + (middle * intervals as f64) as usize;
        let keep = halvings < KEPT_HALVINGS;
        if !keep || !self.known[place] {
            let mut q_middle = std::mem::take(&mut self.q);
            self.place(system, q, middle, &mut q_middle);
            self.q = q_middle;
            self.spent += POSE_WORK * n as u64;
        }
        if !keep {
            return bodies.map(|body| system.model.pose(&self.q, body));
        }
        self.poses.resize(n * KEPT_PLACES, Pose::IDENTITY);
        let kept = &mut self.poses[place * n..][..n];
        if !std::mem::replace(&mut self.known[place], true) {
            system.model.poses(&self.q, kept);
        }
        bodies.map(|body| kept[body])
    }

    /// Contact points of a pair at its first contact, with the share of the motion done by then.
    fn meeting(
        &mut self,
        system: &System,
        check: &Check,
        (place, share): (&End, f64),
        params: &StepParams,
    ) -> Meeting {
        let [A, B] = [check.a, check.b].map(|geom| &system.geoms[geom as usize].shape);
        let End { X_WA, X_WB, .. } = place;
        self.patch.clear();
        let margin = params.contact_margin;
        self.narrow.contact_patch(A, X_WA, B, X_WB, margin, &mut self.patch);
        if self.patch.is_empty() {
            // the pair is nearer than the margin only by rounding
            let Distance { phi, p_WCa, p_WCb, n_AB_W } =
                self.narrow.signed_distance(A, X_WA, B, X_WB);
            self.patch.push(ContactPoint { phi, p_WCa, p_WCb, n_AB_W, feature: 0 });
        }
        self.patch.sort_unstable_by_key(|p| p.feature);
        Meeting::new((check.a, check.b), &self.patch, [X_WA, X_WB], share)
    }
}

/// True if the bounds exclude a violation within an interval that covers the share `width` of the
/// motion.
fn is_clear(narrow: &mut NarrowPhase, system: &System, check: &Check, width: f64) -> bool {
    let Check { start, end, floor, .. } = check;
    if start.phi + end.phi - check.travel * width >= 2.0 * floor {
        return true;
    }
    let [A, B] = [check.a, check.b].map(|geom| &system.geoms[geom as usize].shape);
    let over = system.is_on_ground((check.a, check.b)).then(|| {
        // ground beside the box around the other shape's motion is not in its way; ground that moves
        // sees the other shape move by both travels
        let over = |other: &Shape, from: [&Pose; 2], to: [&Pose; 2]| {
            let still = from[0] == to[0];
            let [from, to] = [from, to].map(|[X_WG, X_WO]| other.aabb(&(X_WG.inverse() * *X_WO)));
            from.joined(&to).grown(if still { check.bulge } else { check.travel * width })
        };
        let [(a, b), (c, d)] = [start, end].map(|at| (&at.X_WA, &at.X_WB));
        [over(B, [a, b], [c, d]), over(A, [b, a], [d, c])]
    });
    let top = |X: &Pose, n: Vec3, p: Option<Vec3>| {
        p.map_or(f64::NEG_INFINITY, |p| X.transform_point(p).dot(n))
    };
    let mut reach = |shape: &Shape, k: usize, X: &Pose, n: Vec3| match (shape, &over) {
        (Shape::HeightField(field), Some(over)) => {
            top(X, n, field.support_within(X.rotation.inverse().rotate(n), &over[k]))
        }
        (Shape::Sheet(sheet), Some(over)) => {
            top(X, n, sheet.support_within(X.rotation.inverse().rotate(n), &over[k]))
        }
        _ => reach(narrow, shape, X, n),
    };
    let mut chord =
        |n: Vec3| [start, end].map(|at| -reach(B, 1, &at.X_WB, -n) - reach(A, 0, &at.X_WA, n));
    let (f, g) = (chord(start.n_AB_W), chord(end.n_AB_W));
    // minimum of the maximum of two lines: at an end, or at their crossing
    let mut least = f[0].max(g[0]).min(f[1].max(g[1]));
    let (d0, d1) = (f[0] - g[0], f[1] - g[1]);
    if d0 * d1 < 0.0 {
        let s = d0 / (d0 - d1);
        least = least.min(f[0] + s * (f[1] - f[0]));
    }
    least - check.bulge * width * width >= *floor
}
