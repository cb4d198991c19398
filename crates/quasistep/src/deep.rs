//! End of stage 3: overlaps that nothing can open along their normal are opened along another one.
//!
//! A body deep in the corner of a box is nearest to one of its faces. If nothing can move along that face's normal, as
//! with a slider along the face, its gap row demands what no motion gives, and the step would have no answer:
//!
//! ```text
//! J_n v = 0 for every v,      max(phi/h, −max_recovery_speed) + J_n v_known < 0
//! ```
//!
//! Such a pair gets the patch of the least shift along the velocities that its bodies can have against one another
//! ([`contact_patch_along`](quasistep_geometry::NarrowPhase::contact_patch_along)): geometry knows the ways out, only the
//! hall knows who can go them. All other pairs keep their points, to the bit.
//!
//! Friction can wedge what could part, too: an arm that swings along a face hardly moves along its normal. Where rows have
//! no answer every overlap is given its way out, before that is an error.

use crate::contact::{Columns, ContactRow, ContactRows, PLANAR_TOLERANCE};
use crate::error::StepError;
use crate::formulation::Where;
use crate::formulation::problem::gap_offset;
use crate::load::Load;
use crate::params::StepParams;
use crate::scan::Scan;
use crate::system::System;
use crate::workspace::Workspace;
use quasistep_math::Vec3;

/// Motion in a step that is none, in m: an overlap of rounding, as a cart on its rails has, is not deep.
const NONE: f64 = 1e-12;
/// Most times that a pair is asked for. Ways are those of a point of the patch; where bodies turn, another patch has others.
const MAX_ROUNDS: usize = 4;

/// A pair of geoms that is to be opened.
struct Deep {
    pair: (u32, u32),
    /// Relative velocities that its bodies can have at the contact.
    ways: Vec<Vec3>,
}

impl System {
    /// Solves the rows of the step: with what is stuck opened and, if they have no answer as they are, with all that
    /// overlaps opened. What no other normal opens stays as it is, with all others, and the error is that of before.
    pub(crate) fn solve_opened(
        &self,
        params: &StepParams,
        place: Where,
        work: &mut Workspace,
        solve: impl Fn(&mut Workspace) -> Result<(), StepError>,
    ) -> Result<(), StepError> {
        self.open_stuck(params, place, work);
        let solved = solve(work);
        if !matches!(
            solved,
            Err(StepError::Infeasible { .. }
                | StepError::Jammed { .. }
                | StepError::Undecided { limited: false, .. })
        ) {
            return solved;
        }
        let overlapping = self.overlapping(params, &work.contacts, &work.load);
        let scan = scan_at(place, work);
        let opened = overlapping.iter().filter(|s| scan.open(self, s.pair, &s.ways)).count();
        if opened == 0 {
            return solved;
        }
        self.update_contacts(params, place, work);
        solve(work).or_else(|_| {
            close(self, place, work);
            solved
        })
    }

    /// Opens what no motion of the variables can open along its normal.
    fn open_stuck(&self, params: &StepParams, place: Where, work: &mut Workspace) {
        let mut stuck = self.stuck(params, &work.contacts, &work.load, &mut work.columns);
        if stuck.is_empty() {
            return;
        }
        for _ in 0..MAX_ROUNDS {
            let scan = scan_at(place, work);
            if !stuck.iter().all(|s| scan.open(self, s.pair, &s.ways)) {
                break;
            }
            self.update_contacts(params, place, work);
            stuck = self.stuck(params, &work.contacts, &work.load, &mut work.columns);
            if stuck.is_empty() {
                return;
            }
        }
        close(self, place, work);
        self.update_contacts(params, place, work);
    }

    /// Pairs that must part, at the first of their points that must.
    fn overlapping(&self, params: &StepParams, contacts: &ContactRows, load: &Load) -> Vec<Deep> {
        let of_pair = contacts.rows.chunk_by(|x, y| pair(x) == pair(y));
        let first =
            of_pair.filter_map(|rows| rows.iter().find(|row| demands(params, contacts, load, row)));
        first.map(|row| self.deep(contacts, load, row)).collect()
    }

    /// Pairs whose overlap no motion of the variables can open.
    fn stuck(
        &self,
        params: &StepParams,
        contacts: &ContactRows,
        load: &Load,
        memory: &mut Columns,
    ) -> Vec<Deep> {
        let mut stuck = Vec::new();
        for rows in contacts.rows.chunk_by(|x, y| pair(x) == pair(y)) {
            let mut demanding = rows.iter().filter(|row| demands(params, contacts, load, row));
            // rows that one and the same dof opens and closes
            let mut sole: Option<(usize, bool)> = None;
            let found = demanding.find(|row| match self.openers(contacts, load, row, memory) {
                Openers::None => true,
                Openers::Many => false,
                Openers::One { dof, forwards } => {
                    let (known, sense) = *sole.get_or_insert((dof, forwards));
                    known == dof && sense != forwards
                }
            });
            if let Some(row) = found {
                stuck.push(self.deep(contacts, load, row));
            }
        }
        stuck
    }

    /// The variables that open a contact.
    fn openers(
        &self,
        contacts: &ContactRows,
        load: &Load,
        row: &ContactRow,
        columns: &mut Columns,
    ) -> Openers {
        if !load.reduction.is_empty() {
            self.free_columns(contacts, load, row, columns);
            return Openers::among(|| columns.iter().map(|(dof, c)| (*dof, c)));
        }
        Openers::among(|| {
            let columns = contacts.columns_of(row);
            columns.filter(|(dof, _)| self.variable_of_dof[*dof].is_some())
        })
    }

    /// Columns of a contact over dofs that move as forces demand, those that follow from others in terms of these.
    fn free_columns(
        &self,
        contacts: &ContactRows,
        load: &Load,
        row: &ContactRow,
        out: &mut Columns,
    ) {
        let columns = contacts.columns_of(row);
        let variable = columns.filter(|(dof, _)| self.variable_of_dof[*dof].is_some());
        out.clear();
        out.extend(variable.map(|(dof, c)| (dof, *c)));
        load.reduction.put(out);
    }

    /// The pair of a contact, with its relative velocities for a unit rate of each variable, in m/s.
    fn deep(&self, contacts: &ContactRows, load: &Load, row: &ContactRow) -> Deep {
        let n = row.near.point.n_AB_W;
        let mut columns = Columns::new();
        self.free_columns(contacts, load, row, &mut columns);
        let ways =
            columns.into_iter().map(|(_, c)| n * c[0] + row.t1 * c[1] + row.t2 * c[2]).collect();
        Deep { pair: pair(row), ways }
    }
}

/// True if the gap row must have something move apart, whatever is prescribed.
fn demands(params: &StepParams, contacts: &ContactRows, load: &Load, row: &ContactRow) -> bool {
    if row.near.point.phi >= 0.0 || row.friction.compliance > 0.0 {
        return false;
    }
    let rate = |dof: usize| load.v_known[dof] + load.reduction.base(dof);
    let known: f64 = contacts.columns_of(row).map(|(dof, c)| c[0] * rate(dof)).sum();
    known + gap_offset(row.near.point.phi, params) < -NONE / params.time_step
}

fn pair(row: &ContactRow) -> (u32, u32) {
    (row.near.geom_a, row.near.geom_b)
}

fn scan_at(place: Where, work: &mut Workspace) -> &mut Scan {
    match place {
        Where::Start => &mut work.scan,
        Where::Middle => &mut work.scan_mid,
    }
}

/// Gives all pairs their first points again.
fn close(system: &System, place: Where, work: &mut Workspace) {
    let Workspace { scan, scan_mid, meetings, timer, .. } = work;
    let scan = if place == Where::Start { scan } else { scan_mid };
    scan.close(system, meetings, timer);
}

/// Variables that open a contact.
enum Openers {
    None,
    One { dof: usize, forwards: bool },
    Many,
}

impl Openers {
    /// Those among columns over dofs that move as forces demand.
    fn among<'a, I: Iterator<Item = (usize, &'a [f64; 3])>>(columns: impl Fn() -> I) -> Self {
        let all: f64 = columns().map(|(_, c)| c.iter().map(|x| x * x).sum::<f64>()).sum();
        let mut openers = columns()
            .filter(|(_, c)| c[0] * c[0] > PLANAR_TOLERANCE * all)
            .map(|(dof, c)| Self::One { dof, forwards: c[0] > 0.0 });
        match (openers.next(), openers.next()) {
            (None, _) => Self::None,
            (Some(one), None) => one,
            (Some(_), Some(_)) => Self::Many,
        }
    }
}
