//! Stage 3: near points × body Jacobians → contact rows.
//!
//! ```text
//! v_i = J_i v,   J_i = [n t1 t2]ᵀ (J_Cb − J_Ca),   relative velocity of B against A at the contact
//! w_i = W_i v,   W_i = [n r1 r2]ᵀ (W_B − W_A),     their relative angular velocity, Tracy (2)
//! ```
//!
//! `W` is kept for contacts that resist turning only.
//!
//! The points of a flat contact that rubs as an area have normal rows alone; the area's friction is a contact of its own, at
//! the centre of pressure, see [`crate::area`].
//!
//! Rows are stored over all dofs; prescribed dofs move to the constant side when a formulation
//! assembles its problem (the ∂ψ/∂t terms of Trinkle05).

use crate::area::{Area, Centre, even_shares};
use crate::friction::Friction;
use crate::report::{ContactMode, ContactReport};
use crate::scan::{NearPoint, PointKind, Scan};
use crate::system::System;
use quasistep_math::Vec3;
use std::ops::Range;

/// Share of the tangent Jacobian's squared norm below which a direction counts as motionless.
/// Rounding leaves about 1e-32; a real lever arm of a micrometre gives 1e-12.
pub(crate) const PLANAR_TOLERANCE: f64 = 1e-20;

/// Normals of an area differ by no more than this.
const FLAT: f64 = 1e-9;
/// Share of its spin radius by which the centre of an area may be off that of its loads. The motion is off by less than that
/// share, for the loads follow from weight and pushes and hardly from where friction acts.
const SETTLED: f64 = 1e-3;

/// Places of the points of an area in its plane, seen from the first one, in m.
fn places(rows: &[ContactRow]) -> Vec<[f64; 2]> {
    let first = &rows[0].near;
    let t1 = first.point.n_AB_W.any_orthogonal();
    let t2 = first.point.n_AB_W.cross(t1);
    let place = |row: &ContactRow| row.near.p_W() - first.p_W();
    rows.iter().map(|row| place(row)).map(|r| [r.dot(t1), r.dot(t2)]).collect()
}

fn mean(places: &[[f64; 2]], shares: &[f64]) -> [f64; 2] {
    let add = |sum: [f64; 2], (p, share): (&[f64; 2], &f64)| [0, 1].map(|k| sum[k] + p[k] * share);
    places.iter().zip(shares).fold([0.0; 2], add)
}

/// How many tangent directions a contact can move along, or turn about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tangents {
    /// None: motion along the normal only.
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
    pub t1: Vec3,
    pub t2: Vec3,
    pub tangents: Tangents,
    pub friction: Friction,
    /// How the contact can turn, if it resists that.
    pub turning: Option<Turning>,
    /// The area that it is a point of.
    pub area: Option<u32>,
    /// Range of this contact's columns in [`ContactRows`].
    pub first: u32,
    pub last: u32,
}

/// Directions that a contact can turn about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turning {
    /// Does it turn about its normal?
    pub spins: bool,
    /// Across the normal: about neither, `r1`, or both.
    pub rolls: Tangents,
    pub r1: Vec3,
    pub r2: Vec3,
    /// First of its columns of `W` in [`ContactRows`], one per column of `J`.
    first: u32,
}

/// The friction of a flat contact: a contact at the centre of pressure that is pressed by the sum of its points' normal forces.
#[derive(Clone, Debug)]
pub(crate) struct AreaRow {
    /// Where it rubs; its own normal row counts for nothing.
    pub row: ContactRow,
    /// Its points, as a range of rows.
    pub points: Range<usize>,
    /// Shares of the points in the centre.
    pub shares: Vec<f64>,
}

/// All contact rows of a step, as sparse columns `(dof, [J_n, J_t1, J_t2])`.
#[derive(Debug, Default)]
pub(crate) struct ContactRows {
    pub rows: Vec<ContactRow>,
    /// Frictions of areas, in the order of their points.
    pub areas: Vec<AreaRow>,
    pub dofs: Vec<u32>,
    /// Entries are in m/s per unit rate of the dof.
    pub columns: Vec<[f64; 3]>,
    /// Columns `[W_n, W_r1, W_r2]` of contacts that resist turning, in rad/s per unit rate.
    turns: Vec<[f64; 3]>,
    /// Scratch: position of a dof's column in the contact at hand, or `u32::MAX`.
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

    /// `W v` of one contact: relative angular velocity about `n`, `r1`, `r2`, in rad/s; zero for one
    /// that does not resist turning.
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

    /// Rebuilds all rows from the near points of `scan`.
    pub fn update(&mut self, system: &System, scan: &Scan) {
        self.rows.clear();
        self.areas.clear();
        self.dofs.clear();
        self.columns.clear();
        self.turns.clear();
        self.slot.clear();
        self.slot.resize(system.model.n_v(), u32::MAX);
        let mut areas = Vec::new();
        for pair in scan.points.chunk_by(|x, y| (x.geom_a, x.geom_b) == (y.geom_a, y.geom_b)) {
            let friction = system.friction(pair[0].geom_a as usize, pair[0].geom_b as usize);
            let n = pair[0].point.n_AB_W;
            let is_flat = |p: &NearPoint| (p.point.n_AB_W - n).max_abs() <= FLAT;
            let is_area = friction.is_of_area() && pair.len() > 1 && pair.iter().all(is_flat);
            let first = self.rows.len();
            for near in pair {
                self.push(system, scan, near, friction, is_area);
            }
            // one that cannot spin rubs alike wherever its friction acts
            let spins = |row: &ContactRow| row.turning.is_some_and(|t| t.spins);
            if is_area && self.rows[first..].iter().all(spins) {
                areas.push(first..self.rows.len());
            }
        }
        for points in areas {
            let area = Some(self.areas.len() as u32);
            self.rows[points.clone()].iter_mut().for_each(|row| row.area = area);
            let places = places(&self.rows[points.clone()]);
            let centre = Area::around(places.iter().copied()).uniform();
            let shares = even_shares(&places, centre.at);
            self.push_area(system, scan, points, shares, &centre);
        }
    }

    /// Appends the row of a near point; one that is part of an area may turn.
    fn push(
        &mut self,
        system: &System,
        scan: &Scan,
        near: &NearPoint,
        friction: Friction,
        is_area: bool,
    ) {
        let first = self.dofs.len();
        let n = near.point.n_AB_W;
        let a = system.geoms[near.geom_a as usize].body;
        let b = system.geoms[near.geom_b as usize].body;
        let mut t1 = n.any_orthogonal();
        let mut t2 = n.cross(t1);
        let turns = is_area || friction.resists_turning();
        let basis = Basis {
            axes: [n, t1, t2],
            columns_from: first,
            turns_from: turns.then_some(self.turns.len()),
        };
        self.push_columns(system, scan, a, near.point.p_WCa, -1.0, &basis);
        self.push_columns(system, scan, b, near.point.p_WCb, 1.0, &basis);
        for k in first..self.dofs.len() {
            self.slot[self.dofs[k] as usize] = u32::MAX;
        }
        let turning = basis.turns_from.map(|from| {
            let (mut r1, mut r2) = (t1, t2);
            let turns = &mut self.turns[from..];
            let rolls = align_tangents(turns, &mut r1, &mut r2);
            let size = |k: usize| turns.iter().map(|w| w[k] * w[k]).sum::<f64>();
            let spins = size(0) > PLANAR_TOLERANCE * (size(1) + size(2));
            Turning { spins, rolls, r1, r2, first: from as u32 }
        });
        let tangents = align_tangents(&mut self.columns[first..], &mut t1, &mut t2);
        self.rows.push(ContactRow {
            near: near.clone(),
            t1,
            t2,
            tangents,
            friction,
            turning,
            area: None,
            first: first as u32,
            last: self.dofs.len() as u32,
        });
    }

    /// Appends the friction of an area whose points have these shares in its centre.
    fn push_area(
        &mut self,
        system: &System,
        scan: &Scan,
        points: Range<usize>,
        shares: Vec<f64>,
        centre: &Centre,
    ) {
        let rows = &self.rows[points.clone()];
        let mut near = rows[0].near.clone();
        let mean = |of: fn(&NearPoint) -> Vec3| {
            let weighted = rows.iter().zip(&shares).map(|(row, share)| of(&row.near) * *share);
            weighted.fold(Vec3::ZERO, |sum, p| sum + p)
        };
        (near.point.p_WCa, near.point.p_WCb) = (mean(|p| p.point.p_WCa), mean(|p| p.point.p_WCb));
        if let PointKind::Meeting { p_W } = &mut near.kind {
            *p_W = mean(NearPoint::p_W);
        }
        let mut friction = rows[0].friction;
        if !friction.spin_is_given {
            friction.mu_spin = friction.mu * centre.spin_radius;
        }
        self.push(system, scan, &near, friction, true);
        let row = self.rows.pop().expect("it was just pushed");
        self.areas.push(AreaRow { row, points, shares });
    }

    /// Has areas rub about the centre of the loads that their points have in `contacts`, the answer to these rows; true if that
    /// may change the answer.
    pub fn follow_loads(
        &mut self,
        system: &System,
        scan: &Scan,
        contacts: &[ContactReport],
    ) -> bool {
        let centres: Vec<_> = self
            .areas
            .iter()
            .map(|area| {
                let contacts = &contacts[area.points.clone()];
                let loaded = self.loaded_centre(area, |k| contacts[k].normal_force)?;
                self.changes(area, contacts, &loaded).then_some(loaded)
            })
            .collect();
        self.move_centres(system, scan, centres)
    }

    /// Has areas rub about the centre of the loads that their points have in `contacts`, ascending by pair and feature.
    pub fn expect_loads(&mut self, system: &System, scan: &Scan, contacts: &[ContactReport]) {
        let load = |near: &NearPoint| {
            let key = (near.geom_a, near.geom_b, near.point.feature);
            let known = contacts.binary_search_by_key(&key, |c| (c.geom_a, c.geom_b, c.feature));
            known.map_or(0.0, |k| contacts[k].normal_force)
        };
        let centres = self
            .areas
            .iter()
            .map(|area| {
                let rows = &self.rows[area.points.clone()];
                self.loaded_centre(area, |k| load(&rows[k].near))
            })
            .collect();
        self.move_centres(system, scan, centres);
    }

    /// Shares of the points of an area in its centre of pressure and that centre, if it is loaded.
    fn loaded_centre(
        &self,
        area: &AreaRow,
        load: impl Fn(usize) -> f64,
    ) -> Option<(Vec<f64>, Centre)> {
        let places = places(&self.rows[area.points.clone()]);
        let loads: Vec<f64> = (0..places.len()).map(load).collect();
        let sum: f64 = loads.iter().sum();
        if sum <= 0.0 {
            return None;
        }
        let shares: Vec<f64> = loads.iter().map(|load| load / sum).collect();
        let centre = Area::around(places.iter().copied()).pressed_at(mean(&places, &shares));
        Some((shares, centre))
    }

    /// True if friction about another centre is another one than that of `contacts`, the answer at the points of an area.
    fn changes(
        &self,
        area: &AreaRow,
        contacts: &[ContactReport],
        (shares, centre): &(Vec<f64>, Centre),
    ) -> bool {
        let friction = &area.row.friction;
        let places = places(&self.rows[area.points.clone()]);
        let old = mean(&places, &area.shares);
        let radius = friction.mu_spin / friction.mu;
        let new_radius = if friction.spin_is_given { radius } else { centre.spin_radius };
        let shift = (centre.at[0] - old[0]).hypot(centre.at[1] - old[1]);
        if shift.max((new_radius - radius).abs()) <= SETTLED * radius.max(new_radius) {
            return false;
        }
        if contacts.iter().any(|c| c.mode == ContactMode::Slide) {
            return true;
        }
        // what sticks goes on sticking if the new law holds its friction
        let (mut force, mut torque, mut load) = (Vec3::ZERO, Vec3::ZERO, 0.0);
        let points = || contacts.iter().zip(shares);
        let p = points().fold(Vec3::ZERO, |p, (c, share)| p + c.p_W * *share);
        for c in contacts {
            force += c.friction_force_W;
            torque += c.torque_W() + (c.p_W - p).cross(c.friction_force_W);
            load += c.normal_force;
        }
        let spin = torque.dot(contacts[0].n_AB_W) / (friction.mu * new_radius);
        (force.norm() / friction.mu).hypot(spin) > load * (1.0 - SETTLED)
    }

    /// Moves the centres that are given; false if none is.
    fn move_centres(
        &mut self,
        system: &System,
        scan: &Scan,
        centres: Vec<Option<(Vec<f64>, Centre)>>,
    ) -> bool {
        if centres.iter().all(Option::is_none) {
            return false;
        }
        // columns of areas stand behind those of all points
        let from = self.areas[0].row.first as usize;
        self.dofs.truncate(from);
        self.columns.truncate(from);
        let turns_from = self.areas[0].row.turning.map_or(0, |t| t.first);
        self.turns.truncate(turns_from as usize);
        for (old, centre) in std::mem::take(&mut self.areas).into_iter().zip(centres) {
            let (shares, centre) = centre.unwrap_or_else(|| {
                let Friction { mu, mu_spin, .. } = old.row.friction;
                (old.shares, Centre { at: [0.0; 2], spin_radius: mu_spin / mu })
            });
            self.push_area(system, scan, old.points, shares, &centre);
        }
        true
    }

    /// Takes the distances of rows built in the middle of a step back to its start: those of
    /// `start` where it has the same point, else back along the motion `v` of half a step.
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
        for &index in system.model.path(body) {
            let column = &scan.kin.columns[index as usize];
            let velocity = (column.v_Wo_W + column.w_W.cross(p_WC)) * sign;
            let entry = basis.axes.map(|axis| axis.dot(velocity));
            let turn = || basis.axes.map(|axis| axis.dot(column.w_W) * sign);
            let slot = &mut self.slot[column.dof as usize];
            if *slot == u32::MAX {
                *slot = (self.dofs.len() - basis.columns_from) as u32;
                self.dofs.push(column.dof);
                self.columns.push(entry);
                if basis.turns_from.is_some() {
                    self.turns.push(turn());
                }
            } else {
                // both bodies hang on this dof: their velocities subtract
                let slot = *slot as usize;
                add(&mut self.columns[basis.columns_from + slot], entry);
                if let Some(from) = basis.turns_from {
                    add(&mut self.turns[from + slot], turn());
                }
            }
        }
    }
}

/// Axes of a contact, and where its columns begin.
struct Basis {
    axes: [Vec3; 3],
    columns_from: usize,
    /// `None` for a contact that does not resist turning.
    turns_from: Option<usize>,
}

/// Turns the tangents of a contact that moves in one plane so that `t1` lies in that plane; alike the
/// axes of one that rolls about one line.
fn align_tangents(columns: &mut [[f64; 3]], t1: &mut Vec3, t2: &mut Vec3) -> Tangents {
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
    // the direction that moves, if there is only one, is the larger column of the Gram matrix
    let (mut c, mut s) = if g11 >= g22 { (g11, g12) } else { (g12, g22) };
    let norm = c.hypot(s);
    c /= norm;
    s /= norm;
    // motion across it, summed directly: a determinant would lose it in rounding
    let across: f64 = columns.iter().map(|k| (c * k[2] - s * k[1]).powi(2)).sum();
    if across > PLANAR_TOLERANCE * trace {
        return Tangents::Plane;
    }
    let direction = *t1 * c + *t2 * s;
    // one sense for good: the largest component is positive
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
