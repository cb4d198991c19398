//! Stage 3: near points × body Jacobians → contact rows.
//!
//! ```text
//! v_i = J_i v,   J_i = [n t1 t2]ᵀ (J_Cb − J_Ca),   relative velocity of B against A at the contact
//! w_i = W_i v,   W_i = [n r1 r2]ᵀ (W_B − W_A),     their relative angular velocity, Tracy (2)
//! ```
//!
//! `W` is stored only for contacts that resist turning.
//!
//! A flat contact with the friction law of an area has one normal row per point and one shared
//! friction force. The tangential rows of its points are those of the area's centre of pressure, at
//! the lever arm `d` along `t1`, `t2`. The spin radius is the area's. All points have the same cone
//! except for the normal force, so the sum of their cones is the cone of the total force:
//!
//! ```text
//! v_t1 − d_2 w_n,   v_t2 + d_1 w_n,   ‖(lambda_t/mu, lambda_spin/mu_spin)‖ ≤ Σ lambda_n
//! ```
//!
//! Rows are stored over all dofs; prescribed dofs move to the constant side when a formulation
//! assembles its problem (the ∂ψ/∂t terms of Trinkle05).

use crate::adhesion::Pulled;
use crate::anisotropy::Anisotropy;
use crate::area::{Area, Centre};
use crate::certificate::Certificate;
use crate::formulation::Cone;
use crate::foundation::Bed;
use crate::friction::Friction;
use crate::params::TangentAxes;
use crate::report::{ContactMode, ContactReport, StepReport};
use crate::scan::{NearPoint, PointKind, Scan};
use crate::system::System;
use quasistep_math::Vec3;
use std::ops::Range;

/// Share of the tangent Jacobian's squared norm below which a direction counts as motionless.
/// Rounding leaves about 1e-32; a real lever arm of a micrometre gives 1e-12.
pub(crate) const PLANAR_TOLERANCE: f64 = 1e-20;

/// Rounding of an entry of a Jacobian, relative to its terms: four units in the last place, for a
/// sum of three products. Without this threshold, flat boxes without mass and friction slide along
/// slopes of 1e-19.
const RATE_ROUNDING: f64 = 4.0 * f64::EPSILON;

/// Largest difference between the unit normals of the points of one area.
const FLAT: f64 = 1e-9;
/// If the distances between points are along their normal but for this share, the points do not
/// form an area.
const SPREAD: f64 = 1e-9;
/// Tolerance on the centre of friction of an area: its distance from the centre of pressure,
/// relative to the spin radius. The error of the motion is smaller than this share, since loads
/// depend on weight and pushes and hardly on the centre of friction.
const SETTLED: f64 = 1e-3;

/// Number of tangent directions along which a contact can move, or axes about which it can turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tangents {
    /// No tangent direction: motion along the normal only.
    None,
    /// Along `t1` only.
    Line,
    /// Along `t1` and `t2`.
    Plane,
}

/// One contact point with its Jacobian rows.
#[derive(Clone, Debug)]
pub(crate) struct ContactRow {
    pub near: NearPoint,
    /// Tangents: unit vectors across the normal and one another, or those of [`Anisotropy`]. The rows
    /// of the Jacobian are the velocities `t·u`, and impulses push along `t`.
    pub t1: Vec3,
    pub t2: Vec3,
    /// Friction that depends on the direction of sliding.
    pub anisotropy: Option<Box<Anisotropy>>,
    /// World axis to which `t1` is perpendicular, if the tangents are computed from the normal
    /// alone.
    pub fixed_by: Option<Vec3>,
    pub tangents: Tangents,
    pub friction: Friction,
    /// Axes about which the contact can turn, if it resists turning.
    pub turning: Option<Turning>,
    /// Index of the area to which the point belongs, if that area can spin.
    pub area: Option<u32>,
    /// Vector from the contact to the centre of its area, as [`place`](ContactRow::place) measures it,
    /// in m; 0 without an area.
    pub lever: [f64; 2],
    /// Range of this contact's columns in [`ContactRows`].
    pub first: u32,
    pub last: u32,
}

impl ContactRow {
    /// Place of a vector in the plane of the tangents, in m: its parts along `t1` and `t2`. With
    /// anisotropic friction the plane is stretched such that friction is alike in all directions.
    pub fn place(&self, r: Vec3) -> [f64; 2] {
        match &self.anisotropy {
            None => [r.dot(self.t1), r.dot(self.t2)],
            Some(own) => own.conjugate.map(|t| t.dot(r)),
        }
    }

    /// The vector in the plane of the tangents with the given place, in m.
    pub fn at_place(&self, [x, y]: [f64; 2]) -> Vec3 {
        let r = self.t1 * x + self.t2 * y;
        self.anisotropy.as_ref().map_or(r, |own| r * (1.0 / own.area))
    }

    /// Parts `λ` of a vector in the plane of the tangents, `λ1 t1 + λ2 t2`.
    pub fn parts(&self, f: Vec3) -> [f64; 2] {
        self.duals().map(|t| t.dot(f))
    }

    /// Vectors `d` in the plane of the tangents with `d_i·t_j` = 1 for `i = j`, else 0. The tangential
    /// velocity of rates `r` is `r1 d1 + r2 d2`.
    pub fn duals(&self) -> [Vec3; 2] {
        match &self.anisotropy {
            None => [self.t1, self.t2],
            Some(own) => own.conjugate.map(|t| t * (1.0 / own.area)),
        }
    }
}

/// Axes about which a contact can turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turning {
    /// True if the bodies can turn about the normal.
    pub spins: bool,
    /// Axes across the normal about which the bodies can turn: none, `r1`, or both.
    pub rolls: Tangents,
    pub r1: Vec3,
    pub r2: Vec3,
    /// First column of `W` of this contact in [`ContactRows`]; there is one per column of `J`.
    first: u32,
}

/// A flat contact whose friction follows the law of an area.
#[derive(Clone, Debug)]
pub(crate) struct AreaAt {
    /// Rows of its points.
    pub points: Range<usize>,
    /// Centre of friction in the plane of the tangents, relative to the area's first point.
    pub centre: Centre,
    /// True if `centre` is the centre of pressure of the loads, false if it assumes uniform
    /// pressure.
    pub follows: bool,
}

/// Columns of one contact, each with its dof: rates in m/s along the normal and both tangents for a unit rate of that dof.
pub(crate) type Columns = Vec<(usize, [f64; 3])>;

/// All contact rows of a step, as sparse columns `(dof, [J_n, J_t1, J_t2])`.
#[derive(Debug, Default)]
pub(crate) struct ContactRows {
    pub rows: Vec<ContactRow>,
    /// Areas, in the order of their points.
    pub areas: Vec<AreaAt>,
    /// Flat contacts on a foundation, in the order of their points.
    pub beds: Vec<Bed>,
    /// Points that pads pull, ascending by row.
    pub pulls: Vec<Pulled>,
    pub dofs: Vec<u32>,
    /// Columns `[J_n, J_t1, J_t2]`, in m/s per unit rate of the dof.
    pub columns: Vec<[f64; 3]>,
    /// Scale of restitution in the current solve, from 0 to 1.
    pub rebound: f64,
    /// Columns `[W_n, W_r1, W_r2]` of contacts that resist turning, in rad/s per unit rate.
    turns: Vec<[f64; 3]>,
    /// Scratch: position of a dof's column in the current contact, or `u32::MAX`.
    slot: Vec<u32>,
}

impl ContactRows {
    /// Dofs and columns of one contact.
    pub fn columns_of(&self, row: &ContactRow) -> impl Iterator<Item = (usize, &[f64; 3])> {
        let range = row.first as usize..row.last as usize;
        self.dofs[range.clone()].iter().map(|&d| d as usize).zip(&self.columns[range])
    }

    /// `J v` of one contact: relative velocity along `n`, `t1`, `t2`, in m/s.
    pub fn velocity(&self, row: &ContactRow, v: &[f64]) -> [f64; 3] {
        let mut out = [0.0; 3];
        for (dof, column) in self.columns_of(row) {
            for k in 0..3 {
                out[k] += column[k] * v[dof];
            }
        }
        out
    }

    /// Dofs and columns of `W` of a contact that resists turning.
    pub fn turns_of(
        &self,
        row: &ContactRow,
        turning: &Turning,
    ) -> impl Iterator<Item = (usize, &[f64; 3])> {
        let range = row.first as usize..row.last as usize;
        let turns = &self.turns[turning.first as usize..][..range.len()];
        self.dofs[range].iter().map(|&d| d as usize).zip(turns)
    }

    /// `W v` of one contact: relative angular velocity about `n`, `r1`, `r2`, in rad/s. Zero if the
    /// contact does not resist turning.
    pub fn angular_velocity(&self, row: &ContactRow, v: &[f64]) -> [f64; 3] {
        let mut out = [0.0; 3];
        let Some(turning) = &row.turning else { return out };
        for (dof, column) in self.turns_of(row, turning) {
            for k in 0..3 {
                out[k] += column[k] * v[dof];
            }
        }
        out
    }

    /// Rebuilds all rows from the near points of `scan`. Only round cones use the law of an area;
    /// pyramids have friction at each point.
    pub fn update(&mut self, system: &System, scan: &Scan, cone: Cone, axes: TangentAxes) {
        self.rebuild(system, scan, cone, axes, true);
    }

    /// Variant of [`update`](Self::update) that uses the corners of a contact on a foundation
    /// instead of its integration points.
    pub fn update_corners(&mut self, system: &System, scan: &Scan, cone: Cone) {
        self.rebuild(system, scan, cone, TangentAxes::Motion, false);
    }

    fn rebuild(
        &mut self,
        system: &System,
        scan: &Scan,
        cone: Cone,
        axes: TangentAxes,
        with_beds: bool,
    ) {
        self.rows.clear();
        self.areas.clear();
        self.beds.clear();
        self.dofs.clear();
        self.columns.clear();
        self.turns.clear();
        self.slot.clear();
        self.slot.resize(system.model.n_v(), u32::MAX);
        let mut end = 0;
        let is_one_contact = |x: &NearPoint, y: &NearPoint| {
            let is_flat = || (x.point.n_AB_W - y.point.n_AB_W).max_abs() <= FLAT;
            (x.geom_a, x.geom_b) == (y.geom_a, y.geom_b)
                && (is_flat() || !system.is_on_ground((x.geom_a, x.geom_b)))
        };
        for pair in scan.points.chunk_by(is_one_contact) {
            let at = end;
            end += pair.len();
            let friction = system.friction(pair[0].geom_a as usize, pair[0].geom_b as usize);
            let n = pair[0].point.n_AB_W;
            let is_flat = |p: &NearPoint| (p.point.n_AB_W - n).max_abs() <= FLAT;
            let is_flat = pair.len() > 1 && pair.iter().all(is_flat);
            let edges = if axes == TangentAxes::Normal { cone.edges() } else { None };
            if with_beds && is_flat && friction.foundation > 0.0 {
                if let Some(bed) = Bed::new(pair, at) {
                    self.push_bed(system, scan, pair, friction, bed, edges);
                    continue;
                }
                // a line at a seam carries nothing: the neighbour's area does
                if pair[0].kind == PointKind::Seam {
                    continue;
                }
            }
            let is_area =
                cone == Cone::Round && friction.is_of_area() && is_flat && is_spread(pair);
            let first = self.rows.len();
            self.push_pair(system, scan, pair, friction, is_area, edges);
            if is_area {
                self.press_evenly(first);
            }
        }
    }

    /// Adds the rows of the points of a foundation.
    fn push_bed(
        &mut self,
        system: &System,
        scan: &Scan,
        corners: &[NearPoint],
        friction: Friction,
        mut bed: Bed,
        edges: Option<u32>,
    ) {
        let first = self.rows.len();
        for (near, share) in bed.near(corners) {
            let compliance = 1.0 / (friction.foundation * share);
            let friction = Friction { compliance, ..friction };
            self.push_pair(system, scan, &[near], friction, false, edges);
        }
        bed.rows = first..self.rows.len();
        self.beds.push(bed);
    }

    /// Adds the rows of one pair. `edges` is given for pyramids whose directions are computed from
    /// the normal alone.
    fn push_pair(
        &mut self,
        system: &System,
        scan: &Scan,
        pair: &[NearPoint],
        friction: Friction,
        is_area: bool,
        edges: Option<u32>,
    ) {
        for near in pair {
            let first = self.dofs.len();
            // the normals of an area's points are equal up to rounding
            let n = if is_area { pair[0].point.n_AB_W } else { near.point.n_AB_W };
            let a = system.geoms[near.geom_a as usize].body;
            let b = system.geoms[near.geom_b as usize].body;
            let fixed_by = edges.map(|edges| axis_for(n, edges));
            let r1 = fixed_by.map_or_else(|| n.any_orthogonal(), |a| unit_across(a, n));
            let r2 = n.cross(r1);
            let mut anisotropy = friction.axes.map(|axes| {
                let X_WF = &scan.kin.X_WB[if axes.of_second { b } else { a }];
                Box::new(Anisotropy::new(axes, X_WF, n, [r1, r2]))
            });
            let [mut t1, mut t2] = anisotropy.as_ref().map_or([r1, r2], |own| own.tangents(n));
            let basis = Basis {
                axes: [n, t1, t2],
                turns: [n, r1, r2],
                columns_from: first,
                turns_from: (is_area || friction.resists_turning()).then_some(self.turns.len()),
            };
            self.push_columns(system, scan, a, near.point.p_WCa, -1.0, &basis);
            self.push_columns(system, scan, b, near.point.p_WCb, 1.0, &basis);
            for k in first..self.dofs.len() {
                self.slot[self.dofs[k] as usize] = u32::MAX;
            }
            let turning = basis.turns_from.map(|from| {
                let (mut r1, mut r2) = (r1, r2);
                let turns = &mut self.turns[from..];
                let rolls = align_tangents(turns, &mut r1, &mut r2, fixed_by.is_some());
                let size = |k: usize| turns.iter().map(|w| w[k] * w[k]).sum::<f64>();
                let spins = size(0) > PLANAR_TOLERANCE * (size(1) + size(2));
                Turning { spins, rolls, r1, r2, first: from as u32 }
            });
            let tangents = if is_area && turning.is_some_and(|t| t.spins) {
                // the directions of motion depend on the centre, which may still change
                Tangents::Plane
            } else {
                let columns = &mut self.columns[first..];
                align_tangents(columns, &mut t1, &mut t2, fixed_by.is_some())
            };
            if let Some(own) = &mut anisotropy {
                own.turn_to([t1, t2], n);
            }
            self.rows.push(ContactRow {
                near: near.clone(),
                t1,
                t2,
                anisotropy,
                fixed_by,
                tangents,
                friction,
                turning,
                area: None,
                lever: [0.0; 2],
                first: first as u32,
                last: self.dofs.len() as u32,
            });
        }
    }

    /// Places the friction of an area, whose points are the rows from `first` on, at its centroid.
    /// An area that cannot spin is left unchanged, since its friction is the same for any centre.
    fn press_evenly(&mut self, first: usize) {
        let points = first..self.rows.len();
        if !self.rows[first..].iter().all(|row| row.turning.is_some_and(|t| t.spins)) {
            return;
        }
        let number = self.areas.len() as u32;
        self.rows[first..].iter_mut().for_each(|row| row.area = Some(number));
        let centre = self.outline(&points).uniform();
        self.areas.push(AreaAt { points, centre, follows: false });
        self.place_friction(self.areas.len() - 1);
    }

    /// Outline of an area in the plane of its tangents, relative to its first point, in m.
    pub fn outline(&self, points: &Range<usize>) -> Area {
        Area::around(points.clone().map(|k| self.place(points.start, k)))
    }

    /// Position of point `k` of an area in the plane of its tangents, relative to its first point,
    /// in m.
    pub fn place(&self, first: usize, k: usize) -> [f64; 2] {
        let row = &self.rows[first];
        row.place(self.rows[k].near.p_W() - row.near.p_W())
    }

    /// Moves the friction rows of an area's points to its centre.
    fn place_friction(&mut self, area: usize) {
        let AreaAt { points, centre, .. } = self.areas[area].clone();
        for k in points.clone() {
            let place = self.place(points.start, k);
            let row = &mut self.rows[k];
            let lever = [centre.at[0] - place[0], centre.at[1] - place[1]];
            let [d1, d2] = [lever[0] - row.lever[0], lever[1] - row.lever[1]];
            row.lever = lever;
            if !row.friction.spin_is_given {
                row.friction.mu_spin = row.friction.mu * centre.spin_radius;
            }
            let turning = row.turning.expect("areas can spin");
            let range = row.first as usize..row.last as usize;
            let turns = &self.turns[turning.first as usize..][..range.len()];
            for (column, turn) in self.columns[range].iter_mut().zip(turns) {
                column[1] -= d2 * turn[0];
                column[2] += d1 * turn[0];
            }
        }
    }

    /// Moves the friction of areas to the centres of pressure of the solution `contacts`. Returns
    /// true if the solution may change.
    pub fn follow_loads(&mut self, contacts: &[ContactReport]) -> bool {
        let mut changed = false;
        for area in 0..self.areas.len() {
            if let Some(centre) = self.moved_centre(area, contacts) {
                self.follow(area, centre);
                changed = true;
            }
        }
        changed
    }

    /// True if [`follow_loads`](Self::follow_loads) would move the centre of an area.
    pub fn would_follow(&self, contacts: &[ContactReport]) -> bool {
        (0..self.areas.len()).any(|area| self.moved_centre(area, contacts).is_some())
    }

    /// Centre of pressure of an area, if its friction may differ from that about the present
    /// centre.
    fn moved_centre(&self, area: usize, contacts: &[ContactReport]) -> Option<Centre> {
        let points = &self.areas[area].points;
        let contacts = &contacts[points.clone()];
        let centre = self.loaded_centre(points, |k| contacts[k].normal_force)?;
        self.differs(area, &centre, contacts).then_some(centre)
    }

    /// Moves the friction of areas to the centres of pressure of `contacts`, which are sorted by
    /// pair and feature.
    pub fn expect_loads(&mut self, contacts: &[ContactReport]) {
        for area in 0..self.areas.len() {
            let points = self.areas[area].points.clone();
            let load = |k: usize| {
                let NearPoint { geom_a, geom_b, point, .. } = &self.rows[points.start + k].near;
                let key = (*geom_a, *geom_b, point.feature);
                let known =
                    contacts.binary_search_by_key(&key, |c| (c.geom_a, c.geom_b, c.feature));
                known.map_or(0.0, |k| contacts[k].normal_force)
            };
            if let Some(centre) = self.loaded_centre(&points, load) {
                self.follow(area, centre);
            }
        }
    }

    fn follow(&mut self, area: usize, centre: Centre) {
        (self.areas[area].centre, self.areas[area].follows) = (centre, true);
        self.place_friction(area);
    }

    /// Centre of pressure for the loads on the points of an area, where `load(0)` is that of the
    /// first point; `None` without load.
    fn loaded_centre(&self, points: &Range<usize>, load: impl Fn(usize) -> f64) -> Option<Centre> {
        let (mut at, mut sum) = ([0.0; 2], 0.0);
        for k in points.clone() {
            let (place, load) = (self.place(points.start, k), load(k - points.start));
            sum += load;
            at = [0, 1].map(|axis| at[axis] + load * place[axis]);
        }
        (sum > 0.0).then(|| self.outline(points).pressed_at(at.map(|x| x / sum)))
    }

    /// True if friction about `centre` would differ from the friction in `contacts`, the solution
    /// at the points of an area.
    fn differs(&self, area: usize, centre: &Centre, contacts: &[ContactReport]) -> bool {
        let AreaAt { points, centre: old, .. } = &self.areas[area];
        let row = &self.rows[points.start];
        let Friction { mu, mu_spin, spin_is_given, .. } = row.friction;
        let radius = if spin_is_given { mu_spin / mu } else { centre.spin_radius };
        let change = if spin_is_given { 0.0 } else { centre.spin_radius - old.spin_radius };
        let shift = (centre.at[0] - old.at[0]).hypot(centre.at[1] - old.at[1]);
        if shift.max(change.abs()) <= SETTLED * radius.max(old.spin_radius) {
            return false;
        }
        if contacts.iter().any(|c| c.mode == ContactMode::Slide) {
            return true;
        }
        // a sticking area keeps sticking if its force and torque are within the new cone
        let (mut force, mut torque, mut load) = ([0.0; 2], 0.0, 0.0);
        for (k, c) in points.clone().zip(contacts) {
            let (place, [f1, f2]) = (self.place(points.start, k), row.parts(c.friction_force_W));
            let [x, y] = [place[0] - centre.at[0], place[1] - centre.at[1]];
            load += c.normal_force;
            force = [force[0] + f1, force[1] + f2];
            torque += c.spin_torque + x * f2 - y * f1;
        }
        (force[0].hypot(force[1]) / mu).hypot(torque / (mu * radius)) > load * (1.0 - SETTLED)
    }

    /// True if impacts with restitution add energy. `v_start` is the velocity before the impacts.
    pub fn gain_energy(&self, report: &StepReport, v_start: &[f64]) -> bool {
        if report.contacts.iter().all(|c| c.rebound == 0.0) {
            return false;
        }
        let (mut work, mut size) = (0.0, 0.0);
        for (row, contact) in self.rows.iter().zip(&report.contacts) {
            let f = contact.force_W();
            let torque = contact.torque_about_centre_W();
            // an impulse does work at the mean of the velocities before and after it
            for v in [v_start, &report.v] {
                let [v_n, v_1, v_2] = self.velocity(row, v);
                let [f_1, f_2] = row.parts(f);
                let slides = f_1 * v_1 + f_2 * v_2;
                let turns = row.turning.map_or(0.0, |turning| {
                    let w = self.angular_velocity(row, v);
                    let axes = [row.near.point.n_AB_W, turning.r1, turning.r2];
                    std::iter::zip(axes, w).map(|(axis, w)| torque.dot(axis) * w).sum()
                });
                work += contact.normal_force * v_n + slides + turns;
                size += (contact.normal_force * v_n).abs();
            }
        }
        work > Certificate::RELATIVE_TOLERANCE * size
    }

    /// Converts the distances of rows built in the middle of a step to the start of the step. A
    /// point that also exists in `start` takes its distance from there; others are moved back along
    /// the motion `v` for half a step.
    pub fn rewind(&mut self, start: &Scan, v: &[f64], half: f64) {
        let key = |p: &NearPoint| (p.geom_a, p.geom_b, p.point.feature);
        for k in 0..self.rows.len() {
            let near = &self.rows[k].near;
            let known = start.points.binary_search_by_key(&key(near), key);
            self.rows[k].near.point.phi = match known {
                Ok(i) if start.points[i].kind == near.kind => start.points[i].point.phi,
                _ => near.point.phi - half * self.velocity(&self.rows[k], v)[0],
            };
        }
    }

    fn push_columns(
        &mut self,
        system: &System,
        scan: &Scan,
        body: usize,
        p_WC: Vec3,
        sign: f64,
        basis: &Basis,
    ) {
        let add = |sum: &mut [f64; 3], entry: [f64; 3]| {
            for k in 0..3 {
                sum[k] += entry[k];
            }
        };
        let surfaces = system.model.surface_dofs();
        for &index in system.model.path(body) {
            let column = &scan.kin.columns[index as usize];
            let velocity = (column.v_Wo_W + column.w_W.cross(p_WC)) * sign;
            // rounding errors of a lever arm or a slope would move bodies without mass far
            let clear =
                |rate: f64, terms: f64| if rate.abs() > RATE_ROUNDING * terms { rate } else { 0.0 };
            let turns = column.w_W.max_abs();
            let terms = column.v_Wo_W.max_abs() + turns * p_WC.max_abs();
            let mut entry = basis.axes.map(|axis| clear(axis.dot(velocity), terms));
            if surfaces.binary_search(&column.dof).is_ok() {
                // a surface runs along itself
                entry[0] = 0.0;
            }
            let turn = || basis.turns.map(|axis| clear(axis.dot(column.w_W) * sign, turns));
            let slot = &mut self.slot[column.dof as usize];
            if *slot == u32::MAX {
                *slot = (self.dofs.len() - basis.columns_from) as u32;
                self.dofs.push(column.dof);
                self.columns.push(entry);
                if basis.turns_from.is_some() {
                    self.turns.push(turn());
                }
            } else {
                // if both bodies depend on this dof, their velocities are subtracted
                let slot = *slot as usize;
                add(&mut self.columns[basis.columns_from + slot], entry);
                if let Some(from) = basis.turns_from {
                    add(&mut self.turns[from + slot], turn());
                }
            }
        }
    }
}

/// True if points are spread across their normal, not only along it as those of an upright edge
/// are.
fn is_spread(points: &[NearPoint]) -> bool {
    let (first, n) = (points[0].p_W(), points[0].point.n_AB_W);
    let apart = |p: &NearPoint| p.p_W() - first;
    let most =
        |size: &dyn Fn(Vec3) -> f64| points.iter().map(|p| size(apart(p))).fold(0.0, f64::max);
    most(&|r| (r - n * r.dot(n)).norm()) > SPREAD * most(&|r| r.norm())
}

/// Axes of a contact for `J` and `W`, and the positions of its first columns.
struct Basis {
    axes: [Vec3; 3],
    turns: [Vec3; 3],
    columns_from: usize,
    /// First column of `W`; `None` for a contact that does not resist turning.
    turns_from: Option<usize>,
}

/// Share of the normal's squared norm across the x axis below which x does not define a tangent.
const ALONG_X: f64 = 1e-12;

/// World axis `a` of [`TangentAxes::Normal`].
fn axis_for(n: Vec3, edges: u32) -> Vec3 {
    if edges == 2 && n.y * n.y + n.z * n.z > ALONG_X {
        return Vec3::X;
    }
    let [x, y, z] = n.to_array().map(f64::abs);
    match (x <= y && x <= z, y <= z) {
        (true, _) => Vec3::X,
        (_, true) => Vec3::Y,
        _ => Vec3::Z,
    }
}

/// `a × n / |a × n|`.
fn unit_across(a: Vec3, n: Vec3) -> Vec3 {
    a.cross(n).try_normalize().unwrap_or_else(|| n.any_orthogonal())
}

/// Rotates the tangents of a contact that moves in one plane so that `t1` lies in that plane,
/// unless they are `fixed`. The axes of a contact that rolls about one line are treated in this way
/// too.
fn align_tangents(columns: &mut [[f64; 3]], t1: &mut Vec3, t2: &mut Vec3, fixed: bool) -> Tangents {
    // Gram matrix of the two tangent rows
    let (mut g11, mut g12, mut g22) = (0.0, 0.0, 0.0);
    let mut normal = 0.0;
    for c in columns.iter() {
        normal += c[0] * c[0];
        g11 += c[1] * c[1];
        g12 += c[1] * c[2];
        g22 += c[2] * c[2];
    }
    let trace = g11 + g22;
    if trace <= PLANAR_TOLERANCE * normal {
        return Tangents::None;
    }
    if fixed {
        return Tangents::Plane;
    }
    // if only one direction moves, it is the larger column of the Gram matrix
    let (mut c, mut s) = if g11 >= g22 { (g11, g12) } else { (g12, g22) };
    let norm = c.hypot(s);
    c /= norm;
    s /= norm;
    // motion across this direction, summed directly: rounding would hide it in a determinant
    let across: f64 = columns.iter().map(|k| (c * k[2] - s * k[1]).powi(2)).sum();
    if across > PLANAR_TOLERANCE * trace {
        return Tangents::Plane;
    }
    let direction = *t1 * c + *t2 * s;
    // fix the sign: the largest component is positive
    let largest =
        (0..3).fold(0, |m, k| if direction[k].abs() > direction[m].abs() + 1e-9 { k } else { m });
    if direction[largest] < 0.0 {
        (c, s) = (-c, -s);
    }
    let (old1, old2) = (*t1, *t2);
    *t1 = old1 * c + old2 * s;
    *t2 = old2 * c - old1 * s;
    for column in columns {
        let [_, x, y] = *column;
        column[1] = c * x + s * y;
        column[2] = 0.0;
    }
    Tangents::Line
}
