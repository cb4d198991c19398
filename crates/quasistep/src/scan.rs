//! Stages 1 and 2: where everything is at one configuration, and what is near what.

use crate::error::StepError;
use crate::system::System;
use crate::timer::{Stage, Timer};
use quasistep_geometry::{Aabb, BroadPhase, ContactMotion, ContactPoint, NarrowPhase};
use quasistep_math::{Pose, Vec3};
use quasistep_model::Kinematics;
use std::ops::Range;

/// Normals that differ by less are one.
const SAME_NORMAL: f64 = 1e-9;

/// Points of one configuration. A step takes some 6 kB for each.
const MOST_POINTS: usize = 500_000;

/// One point where two geoms are within the margin.
#[derive(Clone, Debug)]
pub(crate) struct NearPoint {
    pub geom_a: u32,
    pub geom_b: u32,
    pub point: ContactPoint,
    pub kind: PointKind,
}

impl NearPoint {
    /// Where the contact is, in the world: halfway between its two points, or where they meet first.
    pub fn p_W(&self) -> Vec3 {
        match self.kind {
            PointKind::Meeting { p_W } => p_W,
            _ => (self.point.p_WCa + self.point.p_WCb) * 0.5,
        }
    }
}

/// Where a near point is from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PointKind {
    /// The pair's contact patch.
    Patch,
    /// The patch of another normal than that of the least depth, along which nothing could move: see [`crate::deep`].
    Opened,
    /// A point of the foundation under a patch: see [`crate::foundation`].
    Bed,
    /// The patch of the first contact along the step's motion, taken back to this configuration: see [`crate::sweep`].
    Meeting {
        /// Where they meet.
        p_W: Vec3,
    },
}

/// Points of a pair near its first contact, each in the frame of the geom that it moves with.
#[derive(Clone, Debug)]
pub(crate) struct Meeting {
    pub pair: (u32, u32),
    points: Vec<MeetingPoint>,
}

#[derive(Clone, Copy, Debug)]
struct MeetingPoint {
    p_Ga: Vec3,
    p_Gb: Vec3,
    n_AB_W: Vec3,
    /// Where the two points meet.
    p_W: Vec3,
    feature: u32,
}

impl Meeting {
    /// From the points of the first contact, ascending by feature, with the geoms at these poses.
    pub fn new(pair: (u32, u32), points: &[ContactPoint], X_WA: &Pose, X_WB: &Pose) -> Self {
        let points = points.iter().map(|p| MeetingPoint {
            p_Ga: X_WA.inverse_transform_point(p.p_WCa),
            p_Gb: X_WB.inverse_transform_point(p.p_WCb),
            n_AB_W: p.n_AB_W,
            p_W: (p.p_WCa + p.p_WCb) * 0.5,
            feature: p.feature,
        });
        Self { pair, points: points.collect() }
    }

    /// The points with their geoms at these poses, their distances along the normals of the first contact, and where they
    /// meet; ascending by feature.
    pub fn at(&self, X_WA: &Pose, X_WB: &Pose) -> impl Iterator<Item = (ContactPoint, Vec3)> {
        self.points.iter().map(|p| {
            let (p_WCa, p_WCb) = (X_WA.transform_point(p.p_Ga), X_WB.transform_point(p.p_Gb));
            let phi = (p_WCb - p_WCa).dot(p.n_AB_W);
            let point = ContactPoint { phi, p_WCa, p_WCb, n_AB_W: p.n_AB_W, feature: p.feature };
            (point, p.p_W)
        })
    }
}

/// Poses and near points at `q`. A pure function of `(q, margin)`, kept because the end of one
/// step is the start of the next.
#[derive(Debug)]
pub(crate) struct Scan {
    q: Vec<f64>,
    margin: f64,
    pub kin: Kinematics,
    /// Sorted by geom pair, then by feature.
    pub points: Vec<NearPoint>,
    /// Pairs of geoms that the broad phase handed to the exact distance.
    pub n_candidates: usize,
    /// True if some points are not of their pair's patch: these hang on more than `q`.
    altered: bool,
    X_WG: Vec<Pose>,
    boxes: Vec<Aabb>,
    broad: BroadPhase,
    pairs: Vec<(u32, u32)>,
    narrow: NarrowPhase,
    patch: Vec<ContactPoint>,
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
        }
    }

    /// Makes this the scan of `q`; nothing is computed if it already is.
    ///
    /// # Errors
    ///
    /// More than [`MOST_POINTS`]: those of the first pairs alone are there.
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
            // by feature: the order of rows must not depend on the clipping's start vertex
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
        Ok(())
    }

    /// Poses of all bodies at `q`, if this is its scan.
    pub fn poses_at(&self, q: &[f64]) -> Option<&[Pose]> {
        (self.q == q).then_some(&self.kin.X_WB)
    }

    /// Gives all pairs their first points again; `meetings` have joined.
    pub fn close(&mut self, system: &System, meetings: &[Meeting], timer: &mut Timer) {
        let q = std::mem::take(&mut self.q);
        // they had room before
        let _ = self.update(system, &q, self.margin, timer);
        self.join(meetings);
    }

    /// Gives a pair the points of the least shift along `ways` that ends its overlap; false if there is none, or it is
    /// along the same normal.
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

    /// Adds the points of pairs that meet along the step's motion and are not near here.
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

    /// Where the points of a pair are, or would be.
    fn range(&self, pair: (u32, u32)) -> Range<usize> {
        let start = self.points.partition_point(|p| (p.geom_a, p.geom_b) < pair);
        let end = self.points.partition_point(|p| (p.geom_a, p.geom_b) <= pair);
        start..end
    }

    /// The configuration.
    pub fn q(&self) -> &[f64] {
        &self.q
    }

    /// Pose of a geom.
    pub fn X_WG(&self, geom: usize) -> Pose {
        self.X_WG[geom]
    }

    /// Box around a geom.
    pub fn aabb(&self, geom: usize) -> Aabb {
        self.boxes[geom]
    }

    /// Distance of a pair, in m, if it is near.
    pub fn distance(&self, pair: (u32, u32)) -> Option<f64> {
        self.points[self.range(pair)].iter().map(|p| p.point.phi).reduce(f64::min)
    }

    /// Distance of a pair, in m, and its normal, if the pair's patch is known here.
    pub fn nearest(&self, pair: (u32, u32)) -> Option<(f64, Vec3)> {
        let points = &self.points[self.range(pair)];
        let least = points.iter().min_by(|x, y| x.point.phi.total_cmp(&y.point.phi))?;
        (least.kind == PointKind::Patch).then_some((least.point.phi, least.point.n_AB_W))
    }

    /// True if a pair has near points.
    pub fn is_near(&self, pair: (u32, u32)) -> bool {
        !self.range(pair).is_empty()
    }

    /// Every pair with near points, ascending, with the least that its distance is, in m; −∞ where that is not known.
    pub fn distances(&self) -> impl Iterator<Item = ((u32, u32), f64)> {
        let pair = |p: &NearPoint| (p.geom_a, p.geom_b);
        self.points.chunk_by(move |x, y| pair(x) == pair(y)).map(move |points| {
            let least = match points[0].kind {
                PointKind::Patch | PointKind::Bed => {
                    points.iter().fold(f64::INFINITY, |m, p| m.min(p.point.phi))
                }
                PointKind::Opened => f64::NEG_INFINITY,
                // else it were near
                PointKind::Meeting { .. } => self.margin,
            };
            (pair(&points[0]), least)
        })
    }

    /// Makes the next update compute, for `kin` is of another configuration.
    pub fn forget(&mut self) {
        self.q.clear();
    }

    /// How each near point changes as its geoms move against one another; in the order of `points`.
    pub fn motions(&mut self, system: &System, out: &mut Vec<ContactMotion>) {
        out.clear();
        let pair = |p: &NearPoint| (p.geom_a, p.geom_b);
        for near in self.points.chunk_by(|x, y| pair(x) == pair(y)) {
            let [i, j] = [near[0].geom_a, near[0].geom_b].map(|geom| geom as usize);
            self.patch.clear();
            self.patch.extend(near.iter().map(|p| p.point));
            if near[0].kind == PointKind::Opened {
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

    /// Number of pairs with a cloud of which other points may be chosen at the smallest motion.
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
