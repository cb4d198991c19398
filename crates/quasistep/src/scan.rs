//! Stages 1 and 2: where everything is at one configuration, and what is near what.

use crate::report::Stage;
use crate::system::System;
use crate::workspace::Timer;
use quasistep_geometry::{Aabb, BroadPhase, ContactMotion, ContactPoint, NarrowPhase};
use quasistep_math::{Pose, Vec3};
use quasistep_model::Kinematics;

/// Normals that differ by less are one.
const SAME_NORMAL: f64 = 1e-9;

/// One point where two geoms are within the margin.
#[derive(Clone, Debug)]
pub(crate) struct NearPoint {
    pub geom_a: u32,
    pub geom_b: u32,
    pub point: ContactPoint,
    /// True if its normal is not that of the least depth, along which nothing could move: see [`crate::deep`].
    pub opened: bool,
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
    /// True if some points are opened: these hang on more than `q`.
    opened: bool,
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
            opened: false,
            X_WG: Vec::new(),
            boxes: Vec::new(),
            broad: BroadPhase::new(),
            pairs: Vec::new(),
            narrow: NarrowPhase::new(),
            patch: Vec::new(),
        }
    }

    /// Makes this the scan of `q`; nothing is computed if it already is.
    pub fn update(&mut self, system: &System, q: &[f64], margin: f64, timer: &mut Timer) {
        if self.q == q && self.margin == margin && !self.opened {
            return;
        }
        timer.enter(Stage::Kinematics);
        self.q.clear();
        self.q.extend_from_slice(q);
        self.margin = margin;
        system.model.kinematics(q, &mut self.kin);

        timer.enter(Stage::Distance);
        self.opened = false;
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
                opened: false,
            }));
        }
    }

    /// Poses of all bodies at `q`, if this is its scan.
    pub fn poses_at(&self, q: &[f64]) -> Option<&[Pose]> {
        (self.q == q).then_some(&self.kin.X_WB)
    }

    /// Gives all pairs their first points again.
    pub fn close(&mut self, system: &System, timer: &mut Timer) {
        let q = std::mem::take(&mut self.q);
        self.update(system, &q, self.margin, timer);
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
        let start = self.points.partition_point(|p| (p.geom_a, p.geom_b) < (a, b));
        let end = self.points.partition_point(|p| (p.geom_a, p.geom_b) <= (a, b));
        let old = self.points[start].point.n_AB_W;
        if (old - self.patch[0].n_AB_W).max_abs() <= SAME_NORMAL {
            return false;
        }
        let points = self.patch.drain(..).map(|point| NearPoint {
            geom_a: a,
            geom_b: b,
            point,
            opened: true,
        });
        self.points.splice(start..end, points);
        self.opened = true;
        true
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
            if near[0].opened {
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
