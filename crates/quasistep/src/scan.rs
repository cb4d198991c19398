//! Stages 1 and 2: poses of all bodies at one configuration, and near points between their shapes.

use crate::error::StepError;
use crate::report::ContactReport;
use crate::seams::{self, Cut, Placed, Side};
use crate::system::System;
use crate::timer::{Stage, Timer};
use quasistep_geometry::{Aabb, BroadPhase, ContactMotion, ContactPoint, NarrowPhase};
use quasistep_math::{Pose, Vec3};
use quasistep_model::Kinematics;
use std::ops::Range;

/// Normals that differ by less than this are treated as equal.
const SAME_NORMAL: f64 = 1e-9;

/// Smallest cosine between normals of one surface before and after a step: an angle of 5 degrees.
const NEARLY: f64 = 0.996;

/// Largest number of near points at one configuration. A step takes about 6 kB for each.
const MOST_POINTS: usize = 500_000;

/// One contact point of two geoms within the margin.
#[derive(Clone, Debug)]
pub(crate) struct NearPoint {
    pub geom_a: u32,
    pub geom_b: u32,
    pub point: ContactPoint,
    pub kind: PointKind,
}

impl NearPoint {
    /// Position of the contact in the world, in m: halfway between its witness points, or the point
    /// at which they first meet.
    pub fn p_W(&self) -> Vec3 {
        match self.kind {
            PointKind::Meeting { p_W } => p_W,
            _ => (self.point.p_WCa + self.point.p_WCb) * 0.5,
        }
    }
}

/// Origin of a near point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PointKind {
    /// The pair's contact patch.
    Patch,
    /// A patch along another normal, since no motion was possible along the normal of least depth:
    /// see [`crate::deep`].
    Opened,
    /// A patch along the normal of a neighbouring shape, at a seam: see [`crate::seams`].
    Seam,
    /// A point of the foundation under a patch: see [`crate::foundation`].
    Bed,
    /// The patch of the first contact during the step's motion, moved back to this configuration:
    /// see [`crate::sweep`].
    Meeting {
        /// Point at which the witness points meet, in m.
        p_W: Vec3,
    },
}

/// A contact that a neighbouring shape overrides at a seam.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtSeam {
    pair: (u32, u32),
    /// Distance of the pair, in m, and its normal.
    phi: f64,
    n_AB_W: Vec3,
    /// Pair of the neighbouring shape, and its distance, in m.
    pub by: (u32, u32),
    pub phi_by: f64,
}

/// Contact points of a pair at its first contact, each in the frame of the geom that carries it.
#[derive(Clone, Debug)]
pub(crate) struct Meeting {
    pub pair: (u32, u32),
    /// Index in [`Trace`](crate::trace::Trace) of the motion during which the pair meets, and the
    /// share of it done by then.
    pub motion: usize,
    pub share: f64,
    points: Vec<MeetingPoint>,
}

#[derive(Clone, Copy, Debug)]
struct MeetingPoint {
    p_Ga: Vec3,
    p_Gb: Vec3,
    n_AB_W: Vec3,
    /// Point at which the two witness points meet, in m.
    p_W: Vec3,
    feature: u32,
}

impl Meeting {
    /// Builds a meeting from the points of the first contact, ascending by feature, with the geoms
    /// at the given poses.
    pub fn new(
        pair: (u32, u32),
        points: &[ContactPoint],
        [X_WA, X_WB]: [&Pose; 2],
        share: f64,
    ) -> Self {
        let points = points.iter().map(|p| MeetingPoint {
            p_Ga: X_WA.inverse_transform_point(p.p_WCa),
            p_Gb: X_WB.inverse_transform_point(p.p_WCb),
            n_AB_W: p.n_AB_W,
            p_W: (p.p_WCa + p.p_WCb) * 0.5,
            feature: p.feature,
        });
        Self { pair, motion: 0, share, points: points.collect() }
    }

    /// The contact points with their geoms at the given poses, ascending by feature. Each comes
    /// with its distance along the normal of the first contact and its meeting point.
    pub fn at(&self, X_WA: &Pose, X_WB: &Pose) -> impl Iterator<Item = (ContactPoint, Vec3)> {
        self.points.iter().map(|p| {
            let (p_WCa, p_WCb) = (X_WA.transform_point(p.p_Ga), X_WB.transform_point(p.p_Gb));
            let phi = (p_WCb - p_WCa).dot(p.n_AB_W);
            let point = ContactPoint { phi, p_WCa, p_WCb, n_AB_W: p.n_AB_W, feature: p.feature };
            (point, p.p_W)
        })
    }
}

/// Poses and near points at `q`. It depends only on `(q, margin)`, and is kept because the end of
/// one step is the start of the next.
#[derive(Debug)]
pub(crate) struct Scan {
    q: Vec<f64>,
    margin: f64,
    pub kin: Kinematics,
    /// Near points, sorted by geom pair, then by feature.
    pub points: Vec<NearPoint>,
    /// Number of geom pairs that the broad phase passed to the exact distance.
    pub n_candidates: usize,
    /// True if some points do not come from their pair's patch; these do not depend on `q` alone.
    altered: bool,
    X_WG: Vec<Pose>,
    boxes: Vec<Aabb>,
    broad: BroadPhase,
    pairs: Vec<(u32, u32)>,
    narrow: NarrowPhase,
    patch: Vec<ContactPoint>,
    sides: Vec<Side>,
    marked: Vec<(u32, u32)>,
    cuts: Vec<Cut>,
    /// Pairs whose contact a neighbouring shape overrides, ascending.
    at_seams: Vec<AtSeam>,
}

impl Scan {
    pub fn new(system: &System) -> Self {
        Self {
            q: Vec::new(),
            margin: -1.0,
            kin: system.model.create_kinematics(),
            points: Vec::new(),
            n_candidates: 0,
            altered: false,
            X_WG: Vec::new(),
            boxes: Vec::new(),
            broad: BroadPhase::new(),
            pairs: Vec::new(),
            narrow: NarrowPhase::new(),
            patch: Vec::new(),
            sides: Vec::new(),
            marked: Vec::new(),
            cuts: Vec::new(),
            at_seams: Vec::new(),
        }
    }

    /// Computes the scan of `q`, unless it is up to date.
    ///
    /// # Errors
    ///
    /// There are more than [`MOST_POINTS`] near points. The scan then holds those of the first
    /// pairs only.
    pub fn update(
        &mut self,
        system: &System,
        q: &[f64],
        margin: f64,
        timer: &mut Timer,
    ) -> Result<(), StepError> {
        if self.q == q && self.margin == margin && !self.altered {
            return Ok(());
        }
        timer.enter(Stage::Kinematics);
        self.q.clear();
        self.q.extend_from_slice(q);
        self.margin = margin;
        system.model.kinematics(q, &mut self.kin);

        timer.enter(Stage::Distance);
        self.altered = false;
        self.X_WG.clear();
        self.boxes.clear();
        for geom in &system.geoms {
            let X_WG = self.kin.X_WB[geom.body] * geom.X_BG;
            self.boxes.push(geom.shape.aabb(&X_WG));
            self.X_WG.push(X_WG);
        }
        self.pairs.clear();
        self.broad.pairs(&self.boxes, margin, |a, b| system.may_touch(a, b), &mut self.pairs);
        self.n_candidates = self.pairs.len();
        self.points.clear();
        for &(a, b) in &self.pairs {
            let (i, j) = (a as usize, b as usize);
            self.patch.clear();
            let (shape_a, shape_b) = (&system.geoms[i].shape, &system.geoms[j].shape);
            let (X_WA, X_WB) = (&self.X_WG[i], &self.X_WG[j]);
            self.narrow.contact_patch(shape_a, X_WA, shape_b, X_WB, margin, &mut self.patch);
            // sort by feature: the order of rows must not depend on the start vertex of the
            // clipping
            self.patch.sort_unstable_by_key(|p| p.feature);
            self.points.extend(self.patch.drain(..).map(|point| NearPoint {
                geom_a: a,
                geom_b: b,
                point,
                kind: PointKind::Patch,
            }));
            if self.points.len() > MOST_POINTS {
                self.altered = true;
                let why = format!(
                    "{} pairs of shapes are near one another and touch at more than {MOST_POINTS} points, which are \
                     the most of a step; move them apart, or make `contact_margin` smaller",
                    self.pairs.len()
                );
                return Err(StepError::Value { what: "state q".into(), why });
            }
        }
        self.close_seams(system);
        Ok(())
    }

    /// For each pair whose contact a neighbouring shape overrides, replaces its points by the points
    /// that both shapes permit.
    fn close_seams(&mut self, system: &System) {
        self.sides.clear();
        self.at_seams.clear();
        let is_convex = |geom: u32| system.geoms[geom as usize].shape.is_convex();
        for near in self.points.chunk_by(|x, y| (x.geom_a, x.geom_b) == (y.geom_a, y.geom_b)) {
            let (a, b) = (near[0].geom_a, near[0].geom_b);
            if !(is_convex(a) && is_convex(b)) {
                continue;
            }
            let ContactPoint { phi, p_WCa, p_WCb, n_AB_W, .. } = nearest_of(near).point;
            self.sides.push(Side { own: b, other: a, p_W: p_WCa, n_W: n_AB_W, phi });
            self.sides.push(Side { own: a, other: b, p_W: p_WCb, n_W: -n_AB_W, phi });
        }
        let Self { X_WG, boxes, narrow, sides, marked, cuts, .. } = self;
        let world = Placed { system, X_WG, boxes };
        seams::find_cuts(&world, narrow, sides, marked, cuts);
        for k in 0..self.cuts.len() {
            let Cut { side, by, n_W } = self.cuts[k];
            let pair = side.pair();
            let range = self.range(pair);
            let nearest = nearest_of(&self.points[range.clone()]).point;
            self.at_seams.push(AtSeam {
                pair,
                phi: nearest.phi,
                n_AB_W: nearest.n_AB_W,
                by: by.pair(),
                phi_by: by.phi,
            });
            let [X, S] = [side.other, side.own].map(|geom| geom as usize);
            let [x, s] = [X, S].map(|geom| (&system.geoms[geom].shape, &self.X_WG[geom]));
            self.patch.clear();
            let (narrow, out) = (&mut self.narrow, &mut self.patch);
            let flip = pair.0 == side.own;
            let kind = if narrow.contact_patch_over(x.0, x.1, s.0, s.1, n_W, self.margin, out) {
                out.iter_mut().filter(|_| flip).for_each(|point| *point = point.flipped());
                out.sort_unstable_by_key(|p| p.feature);
                PointKind::Seam
            } else {
                let own = self.points[range.clone()].iter().map(|near| near.point);
                let at = |p: &ContactPoint| if flip { p.p_WCb } else { p.p_WCa };
                let geoms = [by.other, side.other];
                let world = Placed { system, X_WG: &self.X_WG, boxes: &self.boxes };
                let mut is_inside = |p: &ContactPoint| world.holds(narrow, side.own, geoms, at(p));
                out.extend(own.filter(|p| !is_inside(p)));
                PointKind::Patch
            };
            let near = |point| NearPoint { geom_a: pair.0, geom_b: pair.1, point, kind };
            self.points.splice(range, self.patch.drain(..).map(near));
        }
    }

    /// The overridden contact of a pair, if there is one.
    pub fn at_seam(&self, pair: (u32, u32)) -> Option<&AtSeam> {
        let known = self.at_seams.binary_search_by_key(&pair, |at| at.pair);
        known.ok().map(|k| &self.at_seams[k])
    }

    /// Poses of all bodies at `q`, if this scan was computed at `q`.
    pub fn poses_at(&self, q: &[f64]) -> Option<&[Pose]> {
        (self.q == q).then_some(&self.kin.X_WB)
    }

    /// Restores the original points of all pairs, and adds those of `meetings`.
    pub fn close(&mut self, system: &System, meetings: &[Meeting], timer: &mut Timer) {
        let q = std::mem::take(&mut self.q);
        // the number of points was within its limit before
        let _ = self.update(system, &q, self.margin, timer);
        self.join(meetings);
    }

    /// Replaces the points of a pair by those of the smallest translation along `ways` that ends
    /// its overlap. Returns false if there is none, or if its normal is unchanged.
    pub fn open(&mut self, system: &System, (a, b): (u32, u32), ways: &[Vec3]) -> bool {
        let (i, j) = (a as usize, b as usize);
        let (shape_a, shape_b) = (&system.geoms[i].shape, &system.geoms[j].shape);
        let (X_WA, X_WB) = (&self.X_WG[i], &self.X_WG[j]);
        self.patch.clear();
        let (margin, out) = (self.margin, &mut self.patch);
        if !self.narrow.contact_patch_along(shape_a, X_WA, shape_b, X_WB, ways, margin, out) {
            return false;
        }
        self.patch.sort_unstable_by_key(|p| p.feature);
        let range = self.range((a, b));
        let old = self.points[range.start].point.n_AB_W;
        if (old - self.patch[0].n_AB_W).max_abs() <= SAME_NORMAL {
            return false;
        }
        let points = self.patch.drain(..).map(|point| NearPoint {
            geom_a: a,
            geom_b: b,
            point,
            kind: PointKind::Opened,
        });
        self.points.splice(range, points);
        self.altered = true;
        true
    }

    /// Adds contact points of pairs that meet during the step's motion and are not near at this
    /// configuration.
    pub fn join(&mut self, meetings: &[Meeting]) {
        for meeting in meetings {
            let (a, b) = meeting.pair;
            let range = self.range(meeting.pair);
            if !range.is_empty() {
                continue;
            }
            let (X_WA, X_WB) = (self.X_WG[a as usize], self.X_WG[b as usize]);
            let points = meeting.at(&X_WA, &X_WB).map(|(point, p_W)| NearPoint {
                geom_a: a,
                geom_b: b,
                point,
                kind: PointKind::Meeting { p_W },
            });
            self.points.splice(range, points);
            self.altered = true;
        }
    }

    /// Range of the points of a pair, empty at its place in the order if the pair has none.
    fn range(&self, pair: (u32, u32)) -> Range<usize> {
        let start = self.points.partition_point(|p| (p.geom_a, p.geom_b) < pair);
        let end = self.points.partition_point(|p| (p.geom_a, p.geom_b) <= pair);
        start..end
    }

    /// Configuration of the scan.
    pub fn q(&self) -> &[f64] {
        &self.q
    }

    /// World pose of a geom.
    pub fn X_WG(&self, geom: usize) -> Pose {
        self.X_WG[geom]
    }

    /// Axis-aligned bounding box of a geom, in W.
    pub fn aabb(&self, geom: usize) -> Aabb {
        self.boxes[geom]
    }

    /// Signed distance of a pair, in m, if it is near.
    pub fn distance(&self, pair: (u32, u32)) -> Option<f64> {
        self.points[self.range(pair)].iter().map(|p| p.point.phi).reduce(f64::min)
    }

    /// Signed distance (m) and normal of a pair, if its patch is known here.
    pub fn nearest(&self, pair: (u32, u32)) -> Option<(f64, Vec3)> {
        if let Some(known) = self.at_seam(pair) {
            return Some((known.phi, known.n_AB_W));
        }
        let range = self.range(pair);
        if range.is_empty() {
            return None;
        }
        let least = nearest_of(&self.points[range]);
        (least.kind == PointKind::Patch).then_some((least.point.phi, least.point.n_AB_W))
    }

    /// True if a pair has near points.
    pub fn has_points(&self, pair: (u32, u32)) -> bool {
        !self.range(pair).is_empty()
    }

    /// True if a pair is nearer than the margin, or was added as a meeting.
    pub fn is_near(&self, pair: (u32, u32)) -> bool {
        self.has_points(pair) || self.at_seam(pair).is_some()
    }

    /// All pairs that are near or were added as meetings, ascending, with a lower bound of their distance, in
    /// m; −∞ if unknown.
    pub fn distances(&self) -> impl Iterator<Item = ((u32, u32), f64)> {
        let pair = |p: &NearPoint| (p.geom_a, p.geom_b);
        let near = self.points.chunk_by(move |x, y| pair(x) == pair(y)).map(move |points| {
            let least = match points[0].kind {
                PointKind::Patch | PointKind::Bed | PointKind::Seam => {
                    points.iter().fold(f64::INFINITY, |m, p| m.min(p.point.phi))
                }
                PointKind::Opened => f64::NEG_INFINITY,
                // otherwise the pair would be near
                PointKind::Meeting { .. } => self.margin,
            };
            (pair(&points[0]), least)
        });
        let mut near = near.peekable();
        let mut at_seams = self.at_seams.iter().map(|at| (at.pair, at.phi)).peekable();
        std::iter::from_fn(move || {
            let Some((pair, _)) = at_seams.peek() else { return near.next() };
            match near.peek() {
                Some((other, _)) if other < pair => near.next(),
                Some((other, _)) if other == pair => {
                    near.next();
                    at_seams.next()
                }
                _ => at_seams.next(),
            }
        })
    }

    /// True if another geom that moves with one of the contact's geoms is nearer than `closed` (m)
    /// to the other geom, along nearly the contact's normal. This is the case for a body that has
    /// slid over a seam.
    pub fn is_continued(&self, system: &System, contact: &ContactReport, closed: f64) -> bool {
        let (a, b) = (contact.geom_a, contact.geom_b);
        let moves_with = |x: u32, y: u32| {
            let [x, y] = [x, y].map(|geom| system.moves_with[geom as usize]);
            x.is_some() && x == y
        };
        self.points.iter().filter(|p| p.point.phi <= closed).any(|p| {
            let along = p.point.n_AB_W.dot(contact.n_AB_W);
            [(p.geom_a, p.geom_b, along), (p.geom_b, p.geom_a, -along)].iter().any(
                |&(x, y, along)| {
                    along >= NEARLY && (x == a && moves_with(y, b) || y == b && moves_with(x, a))
                },
            )
        })
    }

    /// Forces the next update to compute everything, since `kin` or the pairs belong to another one.
    pub fn forget(&mut self) {
        self.q.clear();
    }

    /// Derivatives of each near point with the relative motion of its geoms, in the order of
    /// `points`.
    pub fn motions(&mut self, system: &System, out: &mut Vec<ContactMotion>) {
        out.clear();
        let pair = |p: &NearPoint| (p.geom_a, p.geom_b);
        for near in self.points.chunk_by(|x, y| pair(x) == pair(y)) {
            let [i, j] = [near[0].geom_a, near[0].geom_b].map(|geom| geom as usize);
            self.patch.clear();
            self.patch.extend(near.iter().map(|p| p.point));
            if matches!(near[0].kind, PointKind::Meeting { .. }) {
                // these are known only at the configuration of the meeting
                out.extend(near.iter().map(|_| ContactMotion::default()));
                continue;
            }
            if matches!(near[0].kind, PointKind::Opened | PointKind::Seam) {
                let [a, b] = [i, j].map(|geom| (&system.geoms[geom].shape, &self.X_WG[geom]));
                self.narrow.contact_motions_along(a.0, a.1, b.0, b.1, &self.patch, out);
                continue;
            }
            self.narrow.contact_motions(
                &system.geoms[i].shape,
                &self.X_WG[i],
                &system.geoms[j].shape,
                &self.X_WG[j],
                self.margin,
                &self.patch,
                out,
            );
        }
    }

    /// Points of a pair at its meeting, ascending by feature, with the bodies posed as in `kin`.
    /// Returns their derivatives with the relative motion of the geoms, and the poses of both
    /// bodies.
    pub fn motions_at(
        &mut self,
        system: &System,
        meeting: &Meeting,
        kin: &Kinematics,
        out: &mut Vec<ContactMotion>,
    ) -> Vec<ContactPoint> {
        let geoms = [meeting.pair.0, meeting.pair.1].map(|geom| &system.geoms[geom as usize]);
        let [X_WA, X_WB] = geoms.map(|geom| kin.X_WB[geom.body] * geom.X_BG);
        let points: Vec<_> = meeting.at(&X_WA, &X_WB).map(|(point, _)| point).collect();
        let [A, B] = geoms.map(|geom| &geom.shape);
        out.clear();
        self.narrow.contact_motions(A, &X_WA, B, &X_WB, self.margin, &points, out);
        points
    }

    /// Number of pairs with a point cloud whose choice of contact points may change under an
    /// infinitesimal motion.
    pub fn tied_choices(&mut self, system: &System) -> u32 {
        let pair = |p: &NearPoint| (p.geom_a, p.geom_b);
        let mut count = 0;
        for near in self.points.chunk_by(|x, y| pair(x) == pair(y)) {
            let [i, j] = [near[0].geom_a, near[0].geom_b].map(|geom| geom as usize);
            let [a, b] = [i, j].map(|geom| &system.geoms[geom].shape);
            let [X_WA, X_WB] = [i, j].map(|geom| &self.X_WG[geom]);
            count += u32::from(self.narrow.choice_is_tied(a, X_WA, b, X_WB, self.margin));
        }
        count
    }

    /// Smallest signed distance among the near points, in m; the margin if there are none.
    pub fn smallest_distance(&self) -> f64 {
        self.points.iter().fold(self.margin, |m, p| m.min(p.point.phi))
    }
}

/// The point of a pair with the smallest distance; the first if several are equal.
fn nearest_of(points: &[NearPoint]) -> &NearPoint {
    let nearer = |x: &NearPoint, y: &NearPoint| y.point.phi < x.point.phi;
    points.iter().fold(&points[0], |x, y| if nearer(x, y) { y } else { x })
}
