//! End of stage 3: an overlap that no motion can open along its normal gets another normal.
//!
//! The nearest face of a box to a body deep in one of its corners may be the wrong one. If nothing
//! can move along that face's normal, as with a slider along the face, the gap row cannot be
//! satisfied and the step has no solution:
//!
//! ```text
//! J_n v = 0 for every v,      max(phi/h, −max_recovery_speed) + J_n v_known < 0
//! ```
//!
//! Such a pair gets the contact patch with the smallest separating translation along the relative
//! velocities that its bodies can have
//! ([`contact_patch_along`](quasistep_geometry::NarrowPhase::contact_patch_along)). All other pairs
//! keep their points bit for bit.
//!
//! Friction can also block a separation: an arm that swings along a face hardly moves along its
//! normal. If the rows have no solution, every overlap therefore gets the normal of a possible
//! separation before an error is returned.

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

/// Motion within a step below this, in m, is rounding. An overlap of this size, such as a cart on
/// its rails has, is not treated as deep.
const NONE: f64 = 1e-12;
/// Largest number of attempts for one pair. Relative velocities are those at one point of the
/// patch; if bodies rotate, a new patch has different ones.
const MAX_ROUNDS: usize = 4;

/// A pair of geoms that has to separate.
struct Deep {
    pair: (u32, u32),
    /// Relative velocities that the bodies can have at the contact.
    ways: Vec<Vec3>,
}

impl System {
    /// Solves the rows of the step. Overlaps that no motion opens get another normal first. If the
    /// rows still have no solution, all overlaps do. An overlap that no other normal opens stays as
    /// it is, with all other pairs, and the first error is returned.
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

    /// Gives another normal to overlaps that no motion of the variables can open along the present
    /// one.
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

    /// Overlapping pairs whose gap rows require a separation, each at the first point that requires
    /// one.
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
            // rows that one dof opens on one side and closes on the other
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

    /// Variables that open a contact.
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

    /// Columns of a contact over free dofs. Dependent dofs are replaced by the independent dofs
    /// that they follow.
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

    /// The pair of a contact, with its relative velocity for a unit rate of each variable, in m/s.
    fn deep(&self, contacts: &ContactRows, load: &Load, row: &ContactRow) -> Deep {
        let n = row.near.point.n_AB_W;
        let mut columns = Columns::new();
        self.free_columns(contacts, load, row, &mut columns);
        let [dual1, dual2] = row.duals();
        let ways =
            columns.into_iter().map(|(_, c)| n * c[0] + dual1 * c[1] + dual2 * c[2]).collect();
        Deep { pair: pair(row), ways }
    }
}

/// True if prescribed motion alone violates the gap row, so that other dofs must open the contact.
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

/// Restores the original contact points of all pairs.
fn close(system: &System, place: Where, work: &mut Workspace) {
    let Workspace { scan, scan_mid, meetings, timer, .. } = work;
    let scan = if place == Where::Start { scan } else { scan_mid };
    scan.close(system, meetings, timer);
}

/// Which variables open a contact.
enum Openers {
    None,
    One { dof: usize, forwards: bool },
    Many,
}

impl Openers {
    /// Finds the opening variables among columns over free dofs.
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
